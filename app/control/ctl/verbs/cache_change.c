// SPDX-License-Identifier: BSD-3-Clause
// The commands cache-add, cache-del and cache-exempt: what is changed is changed in the replica of
// every lcore before it is answered, and reported as an event.
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "control/ctl/arguments.h"
#include "control/ctl/cache_json.h"
#include "control/cache/conn_list.h"
#include "control/policy/exemptions.h"
#include "control/ctl/list_filter.h"
#include "pipeline/vocab/tick.h"
#include "pipeline/cache/conn_cache.h"
#include "pipeline/query.h"
#include "pipeline/policy/policy.h"

#define TTL_MAX_S 604800

static const char *const zone_words[] = {"outside", "inside", NULL};

struct change {
	struct conn_entry entry; // to be made; its key says what is to go
	struct conn_match match;
	struct conn_list list; // what is to go
	unsigned refused;      // lcores
	uint64_t gone;         // entries of the lcore with the most
	struct exemption exemption;
	uint64_t ttl_s;
	char text[EXEMPTION_TEXT_MAX];
	bool on;
};

static void change_free(void *state)
{
	struct change *change = state;

	conn_list_free(&change->list);
	free(change);
}

static struct change *change_new(struct request *request)
{
	struct change *change = calloc(1, sizeof *change);

	if (!change) {
		request_fail(request, "no memory");
		return NULL;
	}
	request->state = change;
	request->state_free = change_free;
	return change;
}

static void report_entry(
	struct request *request, const struct conn_entry *entry, enum event_conncache what)
{
	struct event event = {
		.now_ns = request->context->now_ns(),
		.flow_id = 0,
		.generation = reload_generation(request->context->reload),
		.type = EVENT_CONNCACHE,
		.reason = (uint8_t)what,
		.in_port = PORT_NONE,
		.l4_proto = entry->key.l4_proto,
		.app = entry->app,
		.confidence = entry->confidence,
		.signature = UINT16_MAX,
		.rule_uid = entry->rule_uid,
		.ends = {.port = {0, entry->key.port}},
		.conncache = {.created_ns = entry->created_ns,
			.expires_ns = entry->expires_ns,
			.hits = entry->hits,
			.saved_bytes = entry->saved_bytes,
			.cache_mode = entry->key.mode,
			.from_inside = entry->key.from_inside,
			.by_hand = true,
			.fixed = !!(entry->flags & CONN_ENTRY_FIXED)},
	};

	event.n_vlan = (uint8_t)realm_tags(entry->key.realm, event.vlan);
	event.conncache.realm = entry->key.realm;
	memcpy(event.ends.address[HALF_C2S], entry->key.initiator, 16);
	memcpy(event.ends.address[HALF_S2C], entry->key.responder, 16);
	if (request->context->sink)
		sink_event(request->context->sink, &event);
}

// The parts of a key. `given` says which.
static bool read_key(struct request *request, const json_t *arguments, struct conn_match *match)
{
	static const char *const modes[] = {"tuple", "peer", NULL};
	struct conn_key *key = &match->key;
	uint64_t port = 0, vlan = 0;
	unsigned zone = 1, mode = 0;

	if (!argument_given(arguments, "src_ip") || !argument_given(arguments, "dest_ip")) {
		request_fail_arguments(request, "src_ip and dest_ip are needed");
		return false;
	}
	if (!argument_address(request, arguments, "src_ip", key->initiator) ||
		!argument_address(request, arguments, "dest_ip", key->responder) ||
		!argument_number(request, arguments, "dest_port", 1, UINT16_MAX, &port) ||
		!argument_proto(request, arguments, "proto", &key->l4_proto) ||
		!argument_word(request, arguments, "mode", modes, &mode) ||
		!argument_word(request, arguments, "zone", zone_words, &zone) ||
		!argument_number(request, arguments, "vlan", 0, 4095, &vlan))
		return false;
	key->port = (uint16_t)port;
	key->from_inside = (uint8_t)zone;
	key->mode = mode ? CACHE_PEER : CACHE_TUPLE;
	key->realm = (uint32_t)vlan;
	match->given =
		(uint8_t)((port ? CONN_MATCH_PORT : 0) | (key->l4_proto ? CONN_MATCH_PROTO : 0) |
			  (argument_given(arguments, "mode") ? CONN_MATCH_MODE : 0) |
			  (argument_given(arguments, "zone") ? CONN_MATCH_ZONE : 0) |
			  (argument_given(arguments, "vlan") ? CONN_MATCH_VLAN : 0));
	return true;
}

static void add_page(void *ctx, unsigned lcore, const struct query *query, bool last)
{
	struct change *change = ((struct request *)ctx)->state;

	(void)lcore;
	(void)last;
	change->refused += !query->total;
}

static void add_end(struct request *request, const char *error)
{
	struct change *change = request->state;
	json_t *message;

	if (error) {
		request_fail(request, "%s; the other lcores have the entry", error);
		return;
	}
	if (change->refused) {
		request_fail(request,
			"one of the addresses is exempt (conn_cache.exempt of the policy, or "
			"cache-exempt): nothing was added");
		return;
	}
	report_entry(request, &change->entry, CONNCACHE_ADD);
	message = json_object();
	put_json(&message, "entry", cache_entry_json(request->context, &change->entry));
	put_number(&message, "lcores", request->context->dp->n_lcores);
	request_ok(request, message);
}

// What the lcores will make of it, for the answer and the event.
static void set_life(struct request *request, struct conn_entry *entry, uint64_t ttl_s)
{
	const struct policy *policy = reload_policy(request->context->reload);
	uint64_t now_ns = request->context->now_ns();
	uint64_t life_s = policy ? policy->conn_cache.ttl_s : 0;

	if (policy && policy->conn_cache.max_lifetime_s < life_s)
		life_s = policy->conn_cache.max_lifetime_s;
	entry->created_ns = now_ns;
	entry->expires_ns = now_ns + (ttl_s ? ttl_s : life_s) * NS_PER_S;
	entry->flags = (uint8_t)(CONN_ENTRY_OPERATOR | (ttl_s ? CONN_ENTRY_FIXED : 0));
}

static bool read_rule(struct request *request, const json_t *arguments, struct conn_entry *entry)
{
	const struct policy *policy = reload_policy(request->context->reload);
	const char *id = NULL;

	if (!argument_text(request, arguments, "rule", &id))
		return false;
	if (!id)
		return true;
	entry->rule_uid = rule_names_find(request->context->names, id);
	if (entry->rule_uid && policy && policy_rule_by_uid(policy, entry->rule_uid))
		return true;
	request_fail(request, "rule: the policy in force has no rule \"%.64s\"", id);
	return false;
}

static bool read_entry(struct request *request, const json_t *arguments, struct change *change)
{
	struct conn_entry *entry = &change->entry;
	struct conn_key *key = &change->match.key;

	if (!read_key(request, arguments, &change->match) ||
		!argument_app(request, arguments, "app", &entry->app) ||
		!read_rule(request, arguments, entry) ||
		!argument_number(request, arguments, "ttl_s", 1, TTL_MAX_S, &change->ttl_s))
		return false;
	if (!(change->match.given & CONN_MATCH_MODE))
		key->mode = key->port ? CACHE_TUPLE : CACHE_PEER;
	if (key->mode == CACHE_TUPLE && !key->port && key->l4_proto != IPPROTO_ICMP) {
		request_fail(request, "mode tuple needs dest_port; or say \"mode\": \"peer\"");
		return false;
	}
	if (key->mode == CACHE_PEER && (key->port || key->l4_proto)) {
		request_fail(request, "mode peer is any port and protocol: leave out dest_port and "
				      "proto, or say \"mode\": \"tuple\"");
		return false;
	}
	if (key->mode == CACHE_TUPLE && !key->l4_proto)
		key->l4_proto = IPPROTO_TCP;
	entry->key = *key;
	set_life(request, entry, change->ttl_s);
	return true;
}

COMMAND(cache_add, "cache-add",
	"src_ip, dest_ip, dest_port, proto, mode, zone, vlan, app, rule, ttl_s",
	"blocks connections of these ends at their first packet")
{
	struct change read = {0}, *change;

	if (!arguments_known(request, arguments) || !read_entry(request, arguments, &read))
		return;
	change = change_new(request);
	if (!change)
		return;
	*change = read;
	request_ask(request,
		&(struct inquiry_question){
			.type = QUERY_CACHE_PUT, .entry = change->entry, .page = add_page},
		add_end);
}

static void gone_page(void *ctx, unsigned lcore, const struct query *query, bool last)
{
	struct change *change = ((struct request *)ctx)->state;

	(void)lcore;
	(void)last;
	// the replicas hold about the same
	if (query->total > change->gone)
		change->gone = query->total;
}

static void del_end(struct request *request, const char *error)
{
	struct change *change = request->state;
	json_t *message, *entries;

	request->context->cache_removals++;
	if (error) {
		request_fail(request, "%s; the other lcores have removed theirs", error);
		return;
	}
	message = json_object();
	entries = json_array();
	for (uint32_t i = 0; i < change->list.n; i++) {
		const struct conn_entry *entry = &change->list.entries[i];

		report_entry(request, entry, CONNCACHE_REMOVE);
		put_item(&entries, cache_entry_json(request->context, entry));
	}
	put_number(&message, "deleted", change->list.n);
	put_json(&message, "entries", entries);
	request_ok(request, message);
}

static bool is_meant(const struct conn_match *match, const struct conn_entry *entry)
{
	const struct conn_key *key = &entry->key, *wanted = &match->key;

	return memcmp(key->initiator, wanted->initiator, 16) == 0 &&
	       memcmp(key->responder, wanted->responder, 16) == 0 &&
	       (!(match->given & CONN_MATCH_PORT) || key->port == wanted->port) &&
	       (!(match->given & CONN_MATCH_PROTO) || key->l4_proto == wanted->l4_proto) &&
	       (!(match->given & CONN_MATCH_MODE) || key->mode == wanted->mode) &&
	       (!(match->given & CONN_MATCH_ZONE) || key->from_inside == wanted->from_inside) &&
	       (!(match->given & CONN_MATCH_VLAN) || conn_key_has_tag(key, wanted));
}

static void meant_page(void *ctx, unsigned lcore, const struct query *query, bool last)
{
	struct change *change = ((struct request *)ctx)->state;
	const struct conn_entry *entries = query->out;

	(void)lcore;
	(void)last;
	for (uint32_t i = 0; i < query->n; i++) {
		if (is_meant(&change->match, &entries[i]))
			conn_list_add(&change->list, &entries[i]);
	}
}

static void meant_end(struct request *request, const char *error)
{
	struct change *change = request->state;

	conn_list_merge(&change->list);
	if (error || change->list.no_memory)
		request_fail(request, "%s", error ? error : "no memory for the entries");
	else if (!change->list.n)
		request_fail(request, "no such entry; cache-list shows those that there are");
	else
		request_ask(request,
			&(struct inquiry_question){.type = QUERY_CACHE_TAKE,
				.match = change->match,
				.page = gone_page},
			del_end);
}

COMMAND(cache_del, "cache-del", "src_ip, dest_ip, dest_port, proto, mode, zone, vlan",
	"takes entries of these ends out")
{
	struct evidence_filter filter = {0};
	struct change read = {0}, *change;

	if (!arguments_known(request, arguments) || !read_key(request, arguments, &read.match))
		return;
	change = change_new(request);
	if (!change)
		return;
	*change = read;
	memcpy(filter.ends.address[HALF_C2S], read.match.key.initiator, 16);
	memcpy(filter.ends.address[HALF_S2C], read.match.key.responder, 16);
	request_ask(request,
		&(struct inquiry_question){.type = QUERY_CACHE,
			.filtered = true,
			.filter = filter,
			.page = meant_page},
		meant_end);
}

static json_t *exemptions_json(struct request *request)
{
	const struct exemptions *exemptions = &request->context->exemptions;
	uint64_t now_ns = request->context->now_ns();
	json_t *list = json_array();

	for (unsigned i = 0; i < exemptions->n; i++) {
		uint64_t expires_ns = exemptions->ranges[i].expires_ns;
		json_t *object = json_object();

		put_text(&object, "address", exemptions->texts[i]);
		if (expires_ns != UINT64_MAX) {
			put_time(&object, "expires", expires_ns);
			put_number(&object, "ttl_s",
				expires_ns > now_ns ? (expires_ns - now_ns) / NS_PER_S : 0);
		}
		put_item(&list, object);
	}
	return list;
}

static void exempt_end(struct request *request, const char *error)
{
	struct change *change = request->state;
	json_t *message;

	request->context->cache_removals += change->gone != 0;
	struct event event = {
		.now_ns = request->context->now_ns(),
		.generation = reload_generation(request->context->reload),
		.type = EVENT_OPERATOR,
		.in_port = PORT_NONE,
		.signature = UINT16_MAX,
		.operation = {.command = OPERATOR_CACHE_EXEMPT,
			.on = change->on,
			.ttl_s = change->ttl_s},
	};

	memcpy(event.operation.text, change->text, sizeof change->text);
	if (request->context->sink)
		sink_event(request->context->sink, &event);
	if (error) {
		request_fail(request, "%s; the other lcores obey, that one will not", error);
		return;
	}
	message = json_object();
	put_json(&message, "exempt", exemptions_json(request));
	put_number(&message, "deleted", change->gone);
	request_ok(request, message);
}

static bool read_exemption(struct request *request, const json_t *arguments, struct change *change)
{
	const char *address = NULL;

	change->on = true;
	if (!argument_text(request, arguments, "address", &address) ||
		!argument_flag(request, arguments, "on", &change->on) ||
		!argument_number(request, arguments, "ttl_s", 1, TTL_MAX_S, &change->ttl_s))
		return false;
	if (!address) {
		request_fail_arguments(request, "address is missing");
		return false;
	}
	if (!change->on && change->ttl_s) {
		request_fail(request, "ttl_s: what is taken back has no end");
		return false;
	}
	int rc = exemption_read(address, &change->exemption);

	if (rc == -ERANGE)
		request_fail(request, "address: \"%.64s\" has bits beyond its prefix", address);
	else if (rc)
		request_fail(request,
			"address: \"%.64s\" is neither an address nor a network (10.0.0.1, "
			"10.0.0.0/8, 2001:db8::/32)",
			address);
	if (rc)
		return false;
	snprintf(change->text, sizeof change->text, "%s", address);
	if (change->ttl_s)
		change->exemption.expires_ns =
			request->context->now_ns() + change->ttl_s * NS_PER_S;
	return true;
}

static bool apply_exemption(
	struct request *request, struct exemptions *exemptions, const struct change *change)
{
	int rc = change->on ? exemptions_add(exemptions, &change->exemption, change->text)
			    : exemptions_remove(exemptions, &change->exemption);

	if (rc == -ENOSPC)
		request_fail(request,
			"%d addresses are exempt already; put them into conn_cache.exempt of the "
			"policy",
			EXEMPTIONS_MAX);
	else if (rc)
		request_fail(request, "%s is not exempt by cache-exempt", change->text);
	return !rc;
}

COMMAND(cache_exempt, "cache-exempt", "address, on, ttl_s", "addresses for which no entry is made")
{
	struct exemptions *exemptions = &request->context->exemptions, *next;
	struct change read = {0}, *change;
	json_t *message;

	exemptions_age(exemptions, request->context->now_ns());
	if (!json_object_size(arguments)) {
		message = json_object();
		put_json(&message, "exempt", exemptions_json(request));
		put_number(&message, "deleted", 0);
		request_ok(request, message);
		return;
	}
	if (!arguments_known(request, arguments) || !read_exemption(request, arguments, &read))
		return;
	next = malloc(sizeof *next);
	if (!next) {
		request_fail(request, "no memory");
		return;
	}
	*next = *exemptions;
	change = apply_exemption(request, next, &read) ? change_new(request) : NULL;
	if (change) {
		*change = read;
		request_ask(request,
			&(struct inquiry_question){.type = QUERY_EXEMPT,
				.exemptions = next->ranges,
				.n_exemptions = next->n,
				.page = gone_page},
			exempt_end);
		if (request_is_open(request)) // the lcores will hear of it
			*exemptions = *next;
	}
	free(next);
}
