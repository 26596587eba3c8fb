// SPDX-License-Identifier: BSD-3-Clause
// "match" of a rule: what traffic it is for.
#include <string.h>
#include "base/suggest.h"
#include "control/policy/fields.h"

// Runs `one` for each string of the list.
static void each_word(const struct json_at *at, struct rule_reader *reader,
	bool (*one)(const struct json_at *at, struct rule_reader *reader, const char *text))
{
	struct json_at item = {0};

	reader->rule->has_app = true;
	if (!json_want_array(at, 1, APPS_MAX)) {
		reader->match_reported = true;
		return;
	}
	while (json_at_next(at, &item)) {
		const char *text;

		if (!json_want_text(&item, 1, 64, &text) || !one(&item, reader, text))
			reader->match_reported = true;
	}
}

static bool is_group(const struct policy *policy, const char *word)
{
	struct app_view view;

	for (unsigned i = 0; policy_app_at(policy, i, &view); i++)
		if (view.group && strcmp(view.group, word) == 0)
			return true;
	return false;
}

static bool report_unknown(
	const struct json_at *at, const char *what, const struct suggestion *suggestion)
{
	if (suggest_get(suggestion))
		json_at_error(at,
			"unknown %s \"%s\"; did you mean \"%s\"? `sluice apps` lists them", what,
			suggestion->word, suggest_get(suggestion));
	else if (strchr(suggestion->word, '.'))
		json_at_error(at,
			"unknown %s \"%s\"; `sluice apps` lists them; for a host of yours write "
			"\"applications\": [{\"id\": \"...\", \"sni\": [\"%s\"]}]",
			what, suggestion->word, suggestion->word);
	else
		json_at_error(
			at, "unknown %s \"%s\"; `sluice apps` lists them", what, suggestion->word);
	return false;
}

static bool one_app(const struct json_at *at, struct rule_reader *reader, const char *text)
{
	const struct policy *policy = reader->reader->policy;
	struct suggestion suggestion = suggest_for(text);
	struct app_view view;

	for (unsigned i = 0; policy_app_at(policy, i, &view); i++) {
		suggest_offer(&suggestion, view.name);
		if (strcmp(view.name, text) == 0) {
			app_set_add(&reader->rule->apps, view.app);
			return view.app != APP_NONE; // else its definition was told to be wrong
		}
	}
	if (app_category_find(text) >= 0 || is_group(policy, text)) {
		json_at_error(at, "\"%s\" is a %s: write \"%s\": [\"%s\"]", text,
			app_category_find(text) >= 0 ? "category" : "group",
			app_category_find(text) >= 0 ? "category" : "group", text);
		return false;
	}
	return report_unknown(at, "application", &suggestion);
}

static bool one_category(const struct json_at *at, struct rule_reader *reader, const char *text)
{
	int category = app_category_find(text);
	struct suggestion suggestion = suggest_for(text);
	struct app_view view;

	for (unsigned i = 0; policy_app_at(reader->reader->policy, i, &view); i++)
		if (category == (int)view.category)
			app_set_add(&reader->rule->apps, view.app);
	if (category >= 0)
		return true;
	for (unsigned i = 0; i <= APP_CATEGORY_OTHER; i++)
		suggest_offer(&suggestion, app_category_word((enum app_category)i));
	return report_unknown(at, "category", &suggestion);
}

static bool one_group(const struct json_at *at, struct rule_reader *reader, const char *text)
{
	struct suggestion suggestion = suggest_for(text);
	struct app_view view;
	bool known = false;

	for (unsigned i = 0; policy_app_at(reader->reader->policy, i, &view); i++) {
		if (!view.group)
			continue;
		suggest_offer(&suggestion, view.group);
		if (strcmp(view.group, text) == 0) {
			app_set_add(&reader->rule->apps, view.app);
			known = true;
		}
	}
	return known || report_unknown(at, "group", &suggestion);
}

void policy_read_match_app(const struct json_at *at, void *ctx)
{
	each_word(at, ctx, one_app);
}

void policy_read_match_category(const struct json_at *at, void *ctx)
{
	each_word(at, ctx, one_category);
}

void policy_read_match_group(const struct json_at *at, void *ctx)
{
	each_word(at, ctx, one_group);
}

void policy_read_match_confidence(const struct json_at *at, void *ctx)
{
	struct rule_reader *reader = ctx;
	unsigned word;

	reader->has_confidence = true;
	if (json_want_word(at, policy_confidence_words, &word))
		reader->rule->min_confidence = (uint8_t)(word + 1);
}

static void read_addresses(
	const struct json_at *at, struct rule_reader *reader, bool *has, struct address_set *set)
{
	*has = true;
	if (json_want_array(at, 1, POLICY_LIST_MAX))
		policy_read_addresses(at, reader->reader, set);
	else
		reader->match_reported = true;
}

void policy_read_match_source(const struct json_at *at, void *ctx)
{
	struct rule_reader *reader = ctx;

	read_addresses(at, reader, &reader->rule->has_source, &reader->rule->source);
}

void policy_read_match_destination(const struct json_at *at, void *ctx)
{
	struct rule_reader *reader = ctx;

	read_addresses(at, reader, &reader->rule->has_destination, &reader->rule->destination);
}

void policy_read_match_host(const struct json_at *at, void *ctx)
{
	struct rule_reader *reader = ctx;

	read_addresses(at, reader, &reader->rule->has_host, &reader->rule->host);
}

// Digits up to `end`, at most 65535.
static bool port_number(const char *text, const char *end, uint16_t *out)
{
	uint32_t value = 0;

	if (text == end || end - text > 5)
		return false;
	for (; text < end; text++) {
		if (*text < '0' || *text > '9')
			return false;
		value = value * 10 + (uint32_t)(*text - '0');
	}
	*out = (uint16_t)value;
	return value <= UINT16_MAX;
}

bool policy_read_port_range(const struct json_at *at, struct port_range *range)
{
	const char *text = json_string_value(at->value), *dash, *end;
	uint64_t number;

	if (json_is_number(at->value)) {
		if (!json_want_integer(at, 0, UINT16_MAX, &number))
			return false;
		*range = (struct port_range){(uint16_t)number, (uint16_t)number};
		return true;
	}
	if (!text) {
		char got[80];

		json_at_error(at, "expected a port (443) or a range (\"6881-6889\"), got %s",
			json_describe(at->value, got, sizeof got));
		return false;
	}
	end = text + strlen(text);
	dash = strchr(text, '-');
	if (!port_number(text, dash ? dash : end, &range->first) ||
		!port_number(dash ? dash + 1 : text, end, &range->last)) {
		json_at_error(at,
			"\"%.32s\" is no port range: expected \"6881-6889\", from 0 to 65535",
			text);
		return false;
	}
	if (range->first > range->last) {
		json_at_error(at, "\"%s\" ends before it begins: write \"%u-%u\"", text,
			range->last, range->first);
		return false;
	}
	return true;
}

void policy_read_match_ports(const struct json_at *at, void *ctx)
{
	struct json_at item = {0};
	struct rule_reader *reader = ctx;

	if (!json_want_array(at, 1, POLICY_PORTS_MAX)) {
		reader->match_reported = true;
		return;
	}
	while (json_at_next(at, &item)) {
		struct port_range range;

		if (policy_read_port_range(&item, &range))
			reader->rule->ports[reader->rule->n_ports++] = range;
		else
			reader->match_reported = true;
	}
}

void policy_read_match_vlan(const struct json_at *at, void *ctx)
{
	struct json_at item = {0};
	struct rule_reader *reader = ctx;

	if (!json_want_array(at, 1, POLICY_VLANS_MAX)) {
		reader->match_reported = true;
		return;
	}
	while (json_at_next(at, &item)) {
		uint64_t vlan;

		// 802.1Q: 0 is no VLAN but a priority, 4095 is reserved
		if (json_want_integer(&item, 1, 4094, &vlan))
			reader->rule->vlans[reader->rule->n_vlans++] = (uint16_t)vlan;
		else
			reader->match_reported = true;
	}
}

void policy_read_match_protocol(const struct json_at *at, void *ctx)
{
	struct rule_reader *reader = ctx;
	const char *words[32];
	uint64_t number;
	unsigned n = 0, word;

	if (json_is_number(at->value)) {
		if (json_want_integer(at, 1, 255, &number))
			reader->rule->l4_proto = (uint8_t)number;
		else
			reader->match_reported = true;
		return;
	}
	while (policy_protocols[n].word && n < sizeof words / sizeof *words - 1) {
		words[n] = policy_protocols[n].word;
		n++;
	}
	words[n] = NULL;
	if (json_want_word(at, words, &word))
		reader->rule->l4_proto = policy_protocols[word].number;
	else
		reader->match_reported = true;
}
