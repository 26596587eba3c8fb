// SPDX-License-Identifier: BSD-3-Clause
// Builds a `struct policy` from policy.json.
#include "control/policy/load.h"
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "control/policy/fields.h"
#include "pipeline/policy/content_rules.h"

void policy_default(struct policy *policy)
{
	*policy = (struct policy){0};
	json_fields_default(policy_fields, policy);
	json_fields_default(policy_invalid_fields, policy);
	json_fields_default(policy_link_fields, policy);
	json_fields_default(policy_tcp_fields, policy);
	json_fields_default(policy_icmp_fields, policy);
	json_fields_default(policy_conn_cache_fields, policy);
}

void policy_read_invalid(const struct json_at *at, void *ctx)
{
	struct policy_reader *reader = ctx;

	json_fields_read(at, policy_invalid_fields, NULL, reader->policy, reader);
}

void policy_read_link(const struct json_at *at, void *ctx)
{
	struct policy_reader *reader = ctx;

	json_fields_read(at, policy_link_fields, NULL, reader->policy, reader);
}

void policy_read_tcp(const struct json_at *at, void *ctx)
{
	struct policy_reader *reader = ctx;

	json_fields_read(at, policy_tcp_fields, NULL, reader->policy, reader);
}

void policy_read_icmp(const struct json_at *at, void *ctx)
{
	struct policy_reader *reader = ctx;

	json_fields_read(at, policy_icmp_fields, NULL, reader->policy, reader);
}

void policy_read_exempt(const struct json_at *at, void *ctx)
{
	struct policy_reader *reader = ctx;

	if (json_want_array(at, 0, POLICY_LIST_MAX))
		policy_read_addresses(at, reader, &reader->policy->conn_cache.exempt);
}

void policy_read_conn_cache(const struct json_at *at, void *ctx)
{
	struct policy_reader *reader = ctx;
	struct conn_cache_policy *cache = &reader->policy->conn_cache;

	json_fields_read(at, policy_conn_cache_fields, NULL, reader->policy, reader);
	if (cache->max_lifetime_s < cache->ttl_s)
		json_at_error(at, "max_lifetime_s (%u) is shorter than ttl_s (%u)",
			cache->max_lifetime_s, cache->ttl_s);
}

void policy_read_rule_id(const struct json_at *at, void *ctx)
{
	struct rule_reader *reader = ctx;
	const char *text;

	if (json_want_name(at, POLICY_ID_MAX - 1, "-_.", true, &text))
		snprintf(reader->rule->id, sizeof reader->rule->id, "%s", text);
}

void policy_read_rule_match(const struct json_at *at, void *ctx)
{
	struct rule_reader *reader = ctx;
	struct rule *rule = reader->rule;
	bool has_ports;

	json_fields_read(at, policy_match_fields, policy_match_later, rule, reader);
	if (!json_is_object(at->value)) {
		reader->match_reported = true;
		return;
	}
	if (rule->windows & rule->not_windows)
		json_at_error(at,
			"a window stands in time and in not_time: the rule would wait for "
			"it and never match in it, remove it from one");
	if (reader->has_confidence && !rule->has_app)
		json_at_error(at, "min_confidence needs app, category or group: add one, or "
				  "remove it");
	has_ports = !rule->l4_proto || rule->l4_proto == IPPROTO_TCP ||
		    rule->l4_proto == IPPROTO_UDP || rule->l4_proto == IPPROTO_SCTP;
	if (rule->n_ports && !has_ports)
		json_at_error(at, "this protocol has no ports: use tcp, udp or sctp, or remove "
				  "ports");
}

static bool is_later_action(const char *text)
{
	static const char *const later[] = {"shape", "nat"};

	for (size_t i = 0; i < sizeof later / sizeof *later; i++)
		if (text && strcmp(text, later[i]) == 0)
			return true;
	return false;
}

void policy_read_rule_action(const struct json_at *at, void *ctx)
{
	struct rule_reader *reader = ctx;
	const char *text = json_string_value(at->value);
	unsigned word;

	if (is_later_action(text)) {
		json_at_error(at,
			"action \"%s\" is not supported by this version: use pass, drop, reset or "
			"scan",
			text);
	} else if (json_want_word(at, policy_action_words, &word)) {
		reader->rule->action = (uint8_t)word;
		reader->has_action = true;
	}
}

void policy_read_rule_cache(const struct json_at *at, void *ctx)
{
	struct rule_reader *reader = ctx;
	unsigned word;

	reader->has_cache = true;
	if (json_want_word(at, policy_cache_words, &word))
		reader->rule->cache = (uint8_t)word;
}

// Only what was seen in payload, and what is refused by address, makes
// entries by itself: one wrong guess must not refuse a whole server.
static uint8_t default_cache(const struct rule *rule)
{
	if (!action_blocks(rule->action) || rule->asks_frame)
		return CACHE_NONE;
	if (rule->has_app)
		return rule->min_confidence >= CONFIDENCE_DPI ? CACHE_TUPLE : CACHE_NONE;
	return rule->has_source || rule->has_destination || rule->has_host || rule->has_user
		       ? CACHE_TUPLE
		       : CACHE_NONE;
}

// What is known by its network, say, is never as sure as dpi: such a rule is a mistake.
static void check_confidence(
	const struct json_at *at, const struct policy *policy, const struct rule *rule)
{
	struct app_view view, best = {0};

	if (at->doc->errors->n) // its definition may be what is wrong
		return;
	for (unsigned i = 0; policy_app_at(policy, i, &view); i++)
		if (app_set_has(&rule->apps, view.app) && view.confidence > best.confidence)
			best = view;
	if (best.confidence && best.confidence < rule->min_confidence)
		json_at_error(at,
			"can never match: \"%s\" is known with confidence %s at best, and "
			"min_confidence is %s; write \"min_confidence\": \"%s\"",
			best.name, confidence_word(best.confidence),
			confidence_word(rule->min_confidence), confidence_word(best.confidence));
}

// An entry of the cache knows neither MAC address nor DSCP: it would refuse others, too.
static void check_cache(const struct json_at *at, struct rule_reader *ctx)
{
	struct policy_reader *reader = ctx->reader;
	struct rule *rule = ctx->rule;

	if (!ctx->has_cache)
		rule->cache = reader->frame_passer ? CACHE_NONE : default_cache(rule);
	else if ((ctx->has_action || rule->only_content) && !action_blocks(rule->action) &&
		 rule->cache != CACHE_NONE)
		json_at_error(at, "cache is for rules that drop or reset: nothing is refused here, "
				  "remove it");
	else if (rule->cache != CACHE_NONE && rule->asks_frame)
		json_at_error(at,
			"the connection cache does not know mac and dscp, and would refuse "
			"more than this rule: remove cache");
	else if (rule->cache != CACHE_NONE && reader->frame_passer)
		json_at_error(at,
			"rule \"%s\" before it passes by mac or dscp, which the connection cache "
			"does not know: it would refuse what that passes; remove cache",
			reader->frame_passer);
	if (rule->asks_frame && ctx->has_action && !action_blocks(rule->action))
		reader->frame_passer = rule->id;
}

// A rule that refuses its flows has no files and messages to say anything of.
static void check_action(const struct json_at *at, const struct rule_reader *ctx)
{
	bool has_action = json_object_get(at->value, "action");

	if (!has_action && !ctx->has_content && json_is_object(at->value))
		json_at_error(at, "key \"action\" is missing");
	else if (ctx->has_content && ctx->has_action && action_blocks(ctx->rule->action))
		json_at_error(at,
			"action %s refuses the whole flow: remove transfers, chat, audit, opaque, "
			"ranges, scan and notice, or the action, so that they decide",
			action_word(ctx->rule->action));
	const struct rule_content *content = ctx->rule->content;

	if (content && content->has_notice && !content->n_transfers && !content->has_scan)
		json_at_error(at,
			"notice is of files that the rule refuses: write transfers or scan beside "
			"it, or remove it");
	ctx->rule->only_content = !has_action && ctx->has_content;
}

static void read_rule(const struct json_at *at, struct policy_reader *reader, struct rule *rule)
{
	struct rule_reader ctx = {.reader = reader, .rule = rule};

	json_fields_default(policy_rule_fields, rule);
	json_fields_default(policy_match_fields, rule);
	json_fields_read(at, policy_rule_fields, policy_rule_later, rule, &ctx);
	check_action(at, &ctx);
	if (rule->has_app && !ctx.has_confidence)
		rule->min_confidence = CONFIDENCE_DPI;
	if (rule->has_app && !ctx.match_reported) {
		struct json_at match =
			json_at_key(at, "match", json_object_get(at->value, "match"));

		check_confidence(&match, reader->policy, rule);
	}
	rule->asks_frame = rule->has_mac || rule->dscps;
	check_cache(at, &ctx);
	// What has lost its conditions to errors must not seem to take everything.
	if (ctx.match_reported || !json_object_get(at->value, "match"))
		rule->has_app = true;
}

// True if no packet passes this rule by. A monitor rule that would block is passed over.
static bool takes_all(const struct rule *rule)
{
	return !rule->only_content && !rule->has_app && !rule->has_source &&
	       !rule->has_destination && !rule->has_host && !rule->n_ports && !rule->n_vlans &&
	       !rule->l4_proto && rule->direction == DIRECTION_ANY && !rule->has_time &&
	       !rule->not_windows && !rule->has_user && !rule->asks_frame &&
	       (rule->mode == MODE_ENFORCE || rule->action == ACTION_PASS);
}

static void check_rules(const struct json_at *at, const struct policy *policy)
{
	uint32_t taker = UINT32_MAX;

	for (uint32_t i = 0; i < policy->n_rules; i++) {
		const struct rule *rule = &policy->rules[i];
		struct json_at item = json_at_index(at, i);

		for (uint32_t k = 0; k < i && rule->id[0]; k++) {
			if (strcmp(policy->rules[k].id, rule->id) == 0) {
				json_at_error(&item,
					"rule id \"%s\" is taken by $.rules[%u]: choose another",
					rule->id, k);
				break;
			}
		}
		if (taker != UINT32_MAX)
			json_at_error(&item,
				"rule \"%s\" can never match: \"%s\" ($.rules[%u]) has no "
				"condition "
				"and takes everything; move it up, or remove it",
				rule->id, policy->rules[taker].id, taker);
		else if (takes_all(rule))
			taker = i;
	}
}

void policy_read_rules(const struct json_at *at, void *ctx)
{
	struct json_at item = {0};
	struct policy_reader *reader = ctx;
	struct policy *policy = reader->policy;
	size_t n;

	if (!json_want_array(at, 0, POLICY_RULES_MAX))
		return;
	n = json_array_size(at->value);
	policy->rules = calloc(n + 1, sizeof *policy->rules);
	if (!policy->rules) {
		json_at_error(at, "no memory");
		return;
	}
	policy->n_rules = (uint32_t)n;
	while (json_at_next(at, &item))
		read_rule(&item, reader, &policy->rules[item.index]);
	check_rules(at, policy);
}

static int compare_uid(const void *a, const void *b)
{
	const struct rule *const *x = a, *const *y = b;

	return ((*x)->uid > (*y)->uid) - ((*x)->uid < (*y)->uid);
}

int policy_intern(struct policy *policy, struct rule_names *names)
{
	for (uint32_t i = 0; i < policy->n_rules; i++) {
		struct rule *rule = &policy->rules[i];

		rule->uid = rule_names_intern(names, rule->id);
		if (!rule->uid)
			return -ENOMEM;
		policy->by_uid[i] = rule;
	}
	for (uint32_t i = 0; i < policy->users.n_users; i++) { // after the rules: those keep theirs
		struct user *user = &policy->users.users[i];

		user->uid = rule_names_intern(names, user->name);
		if (!user->uid)
			return -ENOMEM;
	}
	qsort(policy->by_uid, policy->n_rules, sizeof *policy->by_uid, compare_uid);
	return 0;
}

// What is derived from a policy without errors.
static int policy_finish(struct policy *policy, struct rule_names *names)
{
	policy->by_uid = calloc(policy->n_rules + 1, sizeof(const struct rule *));
	if (!policy->by_uid)
		return -ENOMEM;
	bool asks_app = false;

	policy->enforces = policy->mode == MODE_ENFORCE && policy->default_action != ACTION_PASS;
	for (uint32_t i = 0; i < policy->n_rules; i++) {
		struct rule *rule = &policy->rules[i];

		policy->by_uid[i] = rule;
		if (policy->mode == MODE_MONITOR)
			rule->mode = MODE_MONITOR;
		if (rule->mode == MODE_ENFORCE && rule->action != ACTION_PASS)
			policy->enforces = true; // a scanned flow is held, too
		rule_content_settle(rule);
		policy->enforces |=
			rule->content && (rule->content->enforces || rule->content->closes);
		policy->edits_content |= rule->content && rule_content_edits(rule->content);
		policy->asks_ids |= rule->content && rule->content->asks_ids;
		asks_app |= rule->has_app;
		policy->asks_user |= rule->has_user;
		policy->asks_mac |= rule->has_mac;
		policy->asks_frame |= rule->asks_frame;
	}
	policy->enforces_app = policy->enforces && asks_app;
	return policy_intern(policy, names);
}

static void policy_read(const struct json_doc *doc, struct policy *policy, struct app_names *apps)
{
	struct policy_reader reader = {.doc = doc, .policy = policy, .apps = apps};
	struct json_at root = json_at_root(doc), sets, windows, applications, users, macs, ids;

	policy_default(policy);
	if (json_want_object(&root)) {
		sets = json_at_key(
			&root, "address_sets", json_object_get(doc->root, "address_sets"));
		policy_read_address_sets(&sets, &reader);
		macs = json_at_key(&root, "mac_sets", json_object_get(doc->root, "mac_sets"));
		policy_read_mac_sets(&macs, &reader);
		applications = json_at_key(
			&root, "applications", json_object_get(doc->root, "applications"));
		policy_read_applications(&applications, &reader);
		windows = json_at_key(
			&root, "time_windows", json_object_get(doc->root, "time_windows"));
		policy_read_time_windows(&windows, &reader);
		users = json_at_key(&root, "users", json_object_get(doc->root, "users"));
		policy_read_users(&users, &reader);
		ids = json_at_key(&root, "content_ids", json_object_get(doc->root, "content_ids"));
		policy_read_content_ids(&ids, &reader);
		json_fields_read(&root, policy_fields, policy_later, policy, &reader);
		policy_seal_times(&windows, &reader);
		policy_seal_content(&reader);
	}
	policy_sets_free(&reader);
	policy_mac_sets_free(&reader);
}

static int policy_from(
	struct json_doc *doc, size_t before, struct rule_names *names, struct policy **out)
{
	struct app_names *apps = app_names_copy(rule_names_apps(names));
	struct policy *policy = calloc(1, sizeof *policy);
	int rc = 0;

	if (!policy || !apps) {
		config_error_add(doc->errors, doc->file, "", "no memory");
		json_doc_free(doc);
		app_names_free(apps);
		free(policy);
		return -ENOMEM;
	}
	policy_read(doc, policy, apps);
	json_doc_free(doc);
	if (doc->errors->n + doc->errors->dropped != before) {
		rc = -EINVAL;
	} else {
		rc = policy_finish(policy, names);
		if (rc < 0)
			config_error_add(doc->errors, doc->file, "", "%s", strerror(-rc));
	}
	if (rc < 0) {
		policy_free(policy);
		app_names_free(apps);
		return rc;
	}
	app_names_adopt_take(rule_names_apps(names), apps);
	*out = policy;
	return 0;
}

int policy_load(const char *path, struct rule_names *names, struct policy **out,
	struct config_errors *errors)
{
	size_t before = errors->n + errors->dropped;
	struct json_doc doc;
	int rc = json_doc_read(&doc, path, errors);

	*out = NULL;
	return rc < 0 ? rc : policy_from(&doc, before, names, out);
}

int policy_parse(const char *text, const char *file, struct rule_names *names, struct policy **out,
	struct config_errors *errors)
{
	size_t before = errors->n + errors->dropped;
	struct json_doc doc;
	int rc = json_doc_parse(&doc, text, strlen(text), file, errors);

	*out = NULL;
	return rc < 0 ? rc : policy_from(&doc, before, names, out);
}
