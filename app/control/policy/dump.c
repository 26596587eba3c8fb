// SPDX-License-Identifier: BSD-3-Clause
// A policy as JSON text that policy_parse reads back to the same policy: effective values, sets
// and application families written out.
#include <arpa/inet.h>
#include <string.h>
#include "config/json_put.h"
#include "control/policy/fields.h"
#include "pipeline/policy/content_rules.h"

static void put_words(json_t **object, const char *key, const struct content_words *words)
{
	json_t *list;

	if (!words->n)
		return;
	list = json_array();
	for (uint32_t i = 0; i < words->n; i++)
		put_item(&list, json_string(words->words[i]));
	put_json(object, key, list);
}

static void put_flag(json_t **object, const char *key, uint8_t flag)
{
	if (flag != CONTENT_UNSET)
		put_bool(object, key, flag == CONTENT_YES);
}

static void put_rest(json_t **object, uint8_t direction, uint8_t action, uint8_t store)
{
	if (direction != CONTENT_ANY)
		put_text(object, "direction", policy_content_direction_words[direction]);
	put_text(object, "action", content_action_word(action));
	put_flag(object, "store", store);
}

static json_t *transfer_json(const struct policy *policy, const struct transfer_entry *entry)
{
	json_t *object = json_object(), *size;

	put_words(&object, "name", &entry->name);
	put_words(&object, "regex", &entry->regex);
	put_words(&object, "extension", &entry->extension);
	put_words(&object, "type", &entry->type);
	if (entry->has_size) {
		size = json_object();
		if (entry->size_min)
			put_number(&size, "min", entry->size_min);
		if (entry->size_max != UINT64_MAX)
			put_number(&size, "max", entry->size_max);
		else if (!entry->size_min)
			put_number(&size, "min", 0);
		put_json(&object, "size", size);
	}
	if (entry->has_id)
		put_json(&object, "content_id", policy_entry_ids_json(policy, entry));
	put_rest(&object, entry->direction, entry->written, entry->store);
	return object;
}

static json_t *chat_json(const struct chat_entry *entry)
{
	json_t *object = json_object();

	put_words(&object, "keyword", &entry->keyword);
	put_words(&object, "regex", &entry->regex);
	put_words(&object, "from", &entry->from);
	put_words(&object, "to", &entry->to);
	put_rest(&object, entry->direction, entry->written, entry->store);
	return object;
}

static void put_redact(json_t **audit, const struct content_redaction *redact)
{
	static const char *const words[] = {NULL, "keep", "mask", "omit"};
	json_t *object = json_object();

	if (redact->text)
		put_text(&object, "text", words[redact->text]);
	if (redact->names)
		put_text(&object, "names", words[redact->names]);
	if (redact->users)
		put_text(&object, "users", words[redact->users]);
	if (redact->text || redact->names || redact->users)
		put_json(audit, "redact", object);
	else
		json_decref(object);
}

static json_t *audit_json(const struct rule_content *content)
{
	json_t *object = json_object();

	put_flag(&object, "transfers", content->audit_transfers);
	put_flag(&object, "chat", content->audit_chat);
	put_flag(&object, "files", content->audit_files);
	if (content->audit_closes)
		put_text(&object, "on_lost",
			content->audit_closes == CONTENT_YES ? "close" : "lose");
	put_redact(&object, &content->redact);
	return object;
}

int policy_put_content(
	json_t *object, const struct policy *policy, const struct rule_content *content)
{
	json_t *list, *audit = audit_json(content);
	int rc = audit ? 0 : -1;

	if (content->n_transfers) {
		list = json_array();
		for (uint32_t i = 0; i < content->n_transfers; i++)
			put_item(&list, transfer_json(policy, &content->transfers[i]));
		rc |= json_object_set_new(object, "transfers", list);
	}
	if (content->n_chats) {
		list = json_array();
		for (uint32_t i = 0; i < content->n_chats; i++)
			put_item(&list, chat_json(&content->chats[i]));
		rc |= json_object_set_new(object, "chat", list);
	}
	if (json_object_size(audit))
		rc |= json_object_set(object, "audit", audit);
	json_decref(audit);
	if (content->has_opaque)
		rc |= json_object_set_new(
			object, "opaque", json_string(action_word(content->opaque)));
	if (content->has_ranges)
		rc |= json_object_set_new(
			object, "ranges", json_string(content->whole ? "whole" : "pass"));
	if (content->has_notice)
		rc |= json_object_set_new(object, "notice", json_boolean(content->notice));
	if (content->has_scan)
		rc |= json_object_set_new(object, "scan", policy_scan_json(&content->scan));
	return rc;
}

static int append_text(json_t *array, int family, const uint8_t *bytes, unsigned prefix)
{
	char host[INET6_ADDRSTRLEN], text[INET6_ADDRSTRLEN + 5];

	inet_ntop(family, bytes, host, sizeof host);
	snprintf(text, sizeof text, "%s/%u", host, prefix);
	return json_array_append_new(array, json_string(text));
}

// The CIDRs that make up first..last: each time the largest block that begins there and fits.
int policy_range4_json(json_t *array, uint32_t first, uint32_t last)
{
	uint64_t at = first;
	int rc = 0;

	while (at <= last && !rc) {
		unsigned bits = at ? (unsigned)__builtin_ctzll(at) : 32;
		uint32_t be = htonl((uint32_t)at);

		while (bits > 32 || at + ((1ull << bits) - 1) > last)
			bits--;
		rc = append_text(array, AF_INET, (const uint8_t *)&be, 32 - bits);
		at += 1ull << bits;
	}
	return rc;
}

// Big-endian arithmetic on 16 bytes: out = at | (2^bits - 1).
static void block_last(const uint8_t at[16], unsigned bits, uint8_t out[16])
{
	for (unsigned i = 0; i < 16; i++) {
		unsigned below = 8 * (15 - i); // bits to the right of this byte

		unsigned mask = bits >= below + 8 ? 0xffu
				: bits > below    ? (1u << (bits - below)) - 1
						  : 0;

		out[i] = (uint8_t)(at[i] | mask);
	}
}

static unsigned trailing_zeros(const uint8_t at[16])
{
	unsigned n = 0;

	for (int i = 15; i >= 0; i--, n += 8)
		if (at[i])
			return n + (unsigned)__builtin_ctz(at[i]);
	return 128;
}

// One more; false when it wraps.
static bool increment(uint8_t at[16])
{
	for (int i = 15; i >= 0; i--)
		if (++at[i])
			return true;
	return false;
}

int policy_range6_json(json_t *array, const uint8_t first[16], const uint8_t end[16])
{
	uint8_t at[16], last[16];
	int rc;

	memcpy(at, first, 16);
	do {
		unsigned bits = trailing_zeros(at);

		block_last(at, bits, last);
		while (memcmp(last, end, 16) > 0)
			block_last(at, --bits, last);
		rc = append_text(array, AF_INET6, at, 128 - bits);
		memcpy(at, last, 16);
	} while (!rc && memcmp(last, end, 16) < 0 && increment(at));
	return rc;
}

json_t *policy_addresses_json(const struct address_set *set)
{
	json_t *array = json_array();
	int rc = array ? 0 : -1;

	for (uint32_t i = 0; i < set->n_v4 && !rc; i++)
		rc = policy_range4_json(array, set->v4[i].first, set->v4[i].last);
	for (uint32_t i = 0; i < set->n_v6 && !rc; i++)
		rc = policy_range6_json(array, set->v6[i].first, set->v6[i].last);
	if (!rc)
		return array;
	json_decref(array);
	return NULL;
}

static json_t *apps_json(const struct policy *policy, const struct app_set *apps)
{
	json_t *array = json_array();
	struct app_view view;

	for (unsigned i = 0; array && policy_app_at(policy, i, &view); i++) {
		if (app_set_has(apps, view.app) &&
			json_array_append_new(array, json_string(view.name)) < 0) {
			json_decref(array);
			return NULL;
		}
	}
	return array;
}

json_t *policy_ports_json(const struct port_range *ports, uint32_t n)
{
	json_t *array = json_array();

	for (uint32_t i = 0; array && i < n; i++) {
		if (json_array_append_new(array,
			    ports[i].first == ports[i].last
				    ? json_integer(ports[i].first)
				    : json_sprintf("%u-%u", ports[i].first, ports[i].last)) < 0) {
			json_decref(array);
			return NULL;
		}
	}
	return array;
}

static json_t *vlans_json(const struct rule *rule)
{
	json_t *array = json_array();

	for (unsigned i = 0; array && i < rule->n_vlans; i++) {
		if (json_array_append_new(array, json_integer(rule->vlans[i])) < 0) {
			json_decref(array);
			return NULL;
		}
	}
	return array;
}

static json_t *protocol_json(uint8_t number)
{
	for (const struct protocol_word *p = policy_protocols; p->word; p++)
		if (p->number == number)
			return json_string(p->word);
	return json_integer(number);
}

static bool is_empty(const struct address_set *set)
{
	return !set->n_v4 && !set->n_v6;
}

// The set that stands for an empty one: "nobody", or "nobody-1" and so on where a set with a
// comment, which is written out too, has that name.
static bool has_note(const struct policy *policy, const char *name)
{
	for (uint32_t i = 0; i < policy->n_notes; i++)
		if (strcmp(policy->notes[i].name, name) == 0)
			return true;
	return false;
}

static json_t *empty_set_name(const struct policy *policy)
{
	char name[32] = "nobody";

	for (uint32_t n = 1; has_note(policy, name); n++)
		snprintf(name, sizeof name, "nobody-%u", n);
	return json_string(name);
}

json_t *policy_list_json(const struct policy *policy, const struct address_set *set)
{
	return is_empty(set) ? json_pack("[o]", empty_set_name(policy))
			     : policy_addresses_json(set);
}

static bool has_empty_set(const struct policy *policy)
{
	for (uint32_t i = 0; i < policy->n_applications; i++) {
		const struct user_app *user = &policy->applications[i];

		if (user->has_networks && is_empty(&user->networks))
			return true;
	}
	for (uint32_t i = 0; i < policy->n_rules; i++) {
		const struct rule *rule = &policy->rules[i];

		if ((rule->has_source && is_empty(&rule->source)) ||
			(rule->has_destination && is_empty(&rule->destination)) ||
			(rule->has_host && is_empty(&rule->host)))
			return true;
	}
	return false;
}

static bool has_empty_macs(const struct policy *policy)
{
	for (uint32_t i = 0; i < policy->n_rules; i++)
		if (policy->rules[i].has_mac && !policy->rules[i].mac.n)
			return true;
	return false;
}

// The application condition. One that holds nothing comes from a category without applications.
static int put_apps(json_t *match, const struct policy *policy, const struct app_set *apps)
{
	struct app_view view;
	unsigned used = 0;

	for (unsigned i = 0; policy_app_at(policy, i, &view); i++) {
		if (app_set_has(apps, view.app))
			return json_object_set_new(match, "app", apps_json(policy, apps));
		used |= 1u << view.category;
	}
	for (unsigned i = 0; i <= APP_CATEGORY_OTHER; i++)
		if (!(used >> i & 1))
			return json_object_set_new(match, "category",
				json_pack("[s]", app_category_word((enum app_category)i)));
	return -1;
}

static json_t *match_json(const struct policy *policy, const struct rule *rule)
{
	json_t *match = json_object();
	int rc = 0;

	if (rule->has_app) {
		rc |= put_apps(match, policy, &rule->apps);
		rc |= json_object_set_new(match, "min_confidence",
			json_string(confidence_word((enum confidence)rule->min_confidence)));
	}
	if (rule->direction != DIRECTION_ANY)
		rc |= json_object_set_new(
			match, "direction", json_string(policy_direction_words[rule->direction]));
	if (rule->has_source)
		rc |= json_object_set_new(match, "source", policy_list_json(policy, &rule->source));
	if (rule->has_destination)
		rc |= json_object_set_new(
			match, "destination", policy_list_json(policy, &rule->destination));
	if (rule->has_host)
		rc |= json_object_set_new(match, "host", policy_list_json(policy, &rule->host));
	if (rule->has_mac)
		rc |= json_object_set_new(match, "mac",
			rule->mac.n ? policy_macs_json(&rule->mac)
				    : json_pack("[o]", empty_set_name(policy)));
	if (rule->n_ports)
		rc |= json_object_set_new(
			match, "ports", policy_ports_json(rule->ports, rule->n_ports));
	if (rule->n_vlans)
		rc |= json_object_set_new(match, "vlan", vlans_json(rule));
	if (rule->dscps)
		rc |= json_object_set_new(match, "dscp", policy_dscps_json(rule->dscps));
	if (rule->l4_proto)
		rc |= json_object_set_new(match, "protocol", protocol_json(rule->l4_proto));
	if (rule->has_user)
		rc |= json_object_set_new(match, "user", policy_rule_users_json(policy, rule));
	if (rule->has_time)
		rc |= json_object_set_new(
			match, "time", policy_windows_json(policy, rule->windows));
	if (rule->not_windows)
		rc |= json_object_set_new(
			match, "not_time", policy_windows_json(policy, rule->not_windows));
	if (!rc)
		return match;
	json_decref(match);
	return NULL;
}

static json_t *rule_json(
	const struct policy *policy, const struct rule *rule, const struct rule_names *names)
{
	const char *id = rule_names_get(names, rule->uid);
	json_t *object = json_object();
	int rc = json_object_set_new(object, "id", json_string(id ? id : rule->id));

	if (rule->comment)
		rc |= json_object_set_new(object, "comment", json_string(rule->comment));
	rc |= json_object_set_new(object, "match", match_json(policy, rule));
	if (!rule->only_content)
		rc |= json_object_set_new(
			object, "action", json_string(policy_action_words[rule->action]));
	rc |= json_object_set_new(object, "mode", json_string(policy_mode_words[rule->mode]));
	rc |= json_object_set_new(object, "cache", json_string(policy_cache_words[rule->cache]));
	if (rule->content)
		rc |= policy_put_content(object, policy, rule->content);
	if (!rc)
		return object;
	json_decref(object);
	return NULL;
}

static json_t *rules_json(const struct policy *policy, const struct rule_names *names)
{
	json_t *array = json_array();

	for (uint32_t i = 0; array && i < policy->n_rules; i++) {
		if (json_array_append_new(array, rule_json(policy, &policy->rules[i], names)) < 0) {
			json_decref(array);
			return NULL;
		}
	}
	return array;
}

// Adds the scalar rows of `fields`.
static int add_fields(json_t *object, const struct json_field *fields, const struct policy *policy)
{
	json_t *rest = json_fields_dump(fields, policy);
	int rc = rest ? json_object_update(object, rest) : -1;

	json_decref(rest);
	return rc;
}

// Sets are written out in the rules. Kept are those with a comment, and what stands for an empty
// one.
static int put_sets(json_t *root, const struct policy *policy)
{
	json_t *addresses = json_object(), *macs = json_object(), *empty = empty_set_name(policy);
	int rc =
		policy_notes_json(addresses, policy, false) | policy_notes_json(macs, policy, true);

	if (!rc && has_empty_set(policy))
		rc = json_object_set_new(addresses, json_string_value(empty), json_array());
	if (!rc && has_empty_macs(policy))
		rc = json_object_set_new(macs, json_string_value(empty), json_array());
	json_decref(empty);
	if (json_object_size(addresses))
		rc |= json_object_set(root, "address_sets", addresses);
	if (json_object_size(macs))
		rc |= json_object_set(root, "mac_sets", macs);
	json_decref(addresses);
	json_decref(macs);
	return rc;
}

char *policy_dump(const struct policy *policy, const struct rule_names *names)
{
	json_t *root = json_object(), *cache = json_object();
	char *text = NULL;
	int rc;

	rc = json_object_set_new(root, "schema_version", json_integer(1));
	rc |= add_fields(root, policy_fields, policy);
	rc |= put_sets(root, policy);
	rc |= json_object_set_new(root, "applications", policy_applications_json(policy));
	rc |= json_object_set_new(root, "time_zone", policy_time_zone_json(policy));
	rc |= json_object_set_new(root, "time_windows", policy_time_windows_json(policy));
	rc |= json_object_set_new(root, "users", policy_users_json(policy));
	rc |= json_object_set_new(root, "content_ids", policy_content_ids_json(policy));
	rc |= json_object_set_new(root, "rules", rules_json(policy, names));
	rc |= json_object_set_new(root, "icmp", json_fields_dump(policy_icmp_fields, policy));
	rc |= json_object_set_new(root, "invalid", json_fields_dump(policy_invalid_fields, policy));
	rc |= json_object_set_new(root, "link", json_fields_dump(policy_link_fields, policy));
	rc |= json_object_set_new(root, "tcp", json_fields_dump(policy_tcp_fields, policy));
	rc |= add_fields(cache, policy_conn_cache_fields, policy);
	rc |= json_object_set_new(
		cache, "exempt", policy_addresses_json(&policy->conn_cache.exempt));
	rc |= json_object_set_new(root, "conn_cache", cache);
	if (!rc)
		text = json_dumps(root, JSON_INDENT(2));
	json_decref(root);
	return text;
}
