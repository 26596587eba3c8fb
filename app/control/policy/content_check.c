// SPDX-License-Identifier: BSD-3-Clause
// Finds rules whose keys on files and messages do not do what their author thinks.
#include "control/policy/content_check.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "content/decoders.h"
#include "control/policy/fields.h"
#include "pipeline/policy/content_rules.h"

#define NAMES_MAX  6 // of a list that is told; more are counted
#define NAMES_ROOM (NAMES_MAX * (POLICY_ID_MAX + 2) + 32)

struct names {
	char text[NAMES_ROOM];
	unsigned n;
};

// One key of a rule, and what must be found for it to act.
struct demand {
	const struct rule *rule;
	const char *path; // of the key
	const char *key;
	uint8_t finds; // one of enum content_find; 0: words of requests, which it changes
	const char *what;
};

struct checking {
	const struct policy *policy;
	const struct app_tables *tables;
	const char *file;
	struct config_errors *errors;
};

// The rule's applications, by what can be found of them.
struct found {
	unsigned acts;           // of which it is found
	struct names over_http;  // ... where they speak HTTP/1, and only there
	struct names not_at_all; // no decoder finds it
	struct names unsure;     // a decoder does, but the rule asks for more confidence
};

static void name_add(struct names *names, const char *name)
{
	size_t at = strlen(names->text);

	if (names->n++ < NAMES_MAX)
		snprintf(names->text + at, sizeof names->text - at, "%s%.*s", at ? ", " : "",
			POLICY_ID_MAX, name);
}

static const char *names_end(struct names *names)
{
	size_t at = strlen(names->text);

	if (names->n > NAMES_MAX)
		snprintf(names->text + at, sizeof names->text - at, " and %u more",
			names->n - NAMES_MAX);
	return names->text;
}

static bool finds(const struct content_decoder *decoder, const struct demand *asked)
{
	return decoder && (asked->finds ? decoder->finds & asked->finds : decoder->words);
}

// Its flows exist only because another one announces them: FTP's data connections.
static bool is_announced(const char *app)
{
	const struct content_decoder *decoder;

	for (unsigned i = 0; (decoder = content_decoder_at(i)); i++)
		if (decoder->data_app && strcmp(decoder->data_app, decoder->app) != 0 &&
			strcmp(decoder->data_app, app) == 0)
			return true;
	return false;
}

// What has hosts is known by the Host of a request, too.
static bool has_hosts(const struct app_tables *tables, uint16_t app)
{
	for (uint32_t i = 0; i < tables->n_tables; i++)
		if (tables->tables[i].app == app && tables->tables[i].n_hosts)
			return true;
	return false;
}

static bool may_speak_http(
	const struct checking *checking, const struct app_view *view, const struct demand *asked)
{
	const struct content_decoder *own = content_decoder_of(view->name);
	const struct app_proto *proto = app_get(view->app);

	if (!finds(content_decoder_of("http"), asked))
		return false;
	return !proto || proto->speaks_http || (own && own->rides_http) ||
	       has_hosts(checking->tables, view->app);
}

static void look(const struct checking *checking, const struct demand *asked, struct found *found)
{
	struct app_view view;

	for (unsigned i = 0; policy_app_at(checking->policy, i, &view); i++) {
		bool own = view.app > app_count();

		if (!app_set_has(&asked->rule->apps, view.app))
			continue;
		if (!own && finds(content_decoder_of(view.name), asked)) {
			if (is_announced(view.name) &&
				asked->rule->min_confidence > CONFIDENCE_CACHE)
				name_add(&found->unsure, view.name);
			else
				found->acts++;
		} else if (!may_speak_http(checking, &view, asked)) {
			name_add(&found->not_at_all, view.name);
		} else if (own) {
			found->acts++; // what it is, only its owner knows
		} else {
			name_add(&found->over_http, view.name);
		}
	}
}

static const char *deciders(const struct demand *asked, struct names *names)
{
	const struct content_decoder *decoder;

	for (unsigned i = 0; (decoder = content_decoder_at(i)); i++)
		if (finds(decoder, asked))
			name_add(names, decoder->app);
	return names_end(names);
}

static void report_dead(
	const struct checking *checking, const struct demand *asked, struct found *found)
{
	struct names decoded = {0};

	if (found->unsure.n)
		config_error_add(checking->errors, checking->file, asked->path,
			"rule \"%s\" can never act: flows of %s are known with confidence cache at "
			"most; write \"min_confidence\": \"cache\"",
			asked->rule->id, names_end(&found->unsure));
	else
		config_error_add(checking->errors, checking->file, asked->path,
			"rule \"%s\" can never act: %s of %s are not decoded, those of %s are: "
			"name one of these in match, or remove %s",
			asked->rule->id, asked->what, names_end(&found->not_at_all),
			deciders(asked, &decoded), asked->key);
}

static void report_holes(
	const struct checking *checking, const struct demand *asked, struct found *found)
{
	struct names decoded = {0};

	if (found->not_at_all.n)
		config_warning_add(checking->errors, checking->file, asked->path,
			"rule \"%s\": %s of %s are not decoded, and pass; those of %s are",
			asked->rule->id, asked->what, names_end(&found->not_at_all),
			deciders(asked, &decoded));
	if (found->over_http.n)
		config_warning_add(checking->errors, checking->file, asked->path,
			"rule \"%s\": %s of %s are decoded only where they come over HTTP/1 in "
			"clear",
			asked->rule->id, asked->what, names_end(&found->over_http));
	if (found->unsure.n)
		config_warning_add(checking->errors, checking->file, asked->path,
			"rule \"%s\" does not match %s, whose flows are known with confidence "
			"cache at most; write \"min_confidence\": \"cache\"",
			asked->rule->id, names_end(&found->unsure));
}

__attribute__((format(printf, 6, 7))) static void check(const struct checking *checking,
	const struct rule *rule, uint8_t of, const char *what, const char *key, const char *path,
	...)
{
	struct found found = {0};
	struct demand asked = {.rule = rule, .key = key, .finds = of, .what = what};
	char place[64];
	va_list args;

	va_start(args, path);
	vsnprintf(place, sizeof place, path, args);
	va_end(args);
	asked.path = place;
	look(checking, &asked, &found);
	if (found.acts || found.over_http.n)
		report_holes(checking, &asked, &found);
	else if (found.not_at_all.n || found.unsure.n)
		report_dead(checking, &asked, &found);
}

static void check_entries(const struct checking *checking, uint32_t index)
{
	const struct rule *rule = &checking->policy->rules[index];
	const struct rule_content *content = rule->content;
	bool names = false, ids = false;

	for (uint32_t i = 0; i < content->n_transfers; i++) { // one line of each kind is enough
		bool *told = content->transfers[i].has_id ? &ids : &names;

		if (!*told)
			check(checking, rule,
				content->transfers[i].has_id ? CONTENT_FINDS_IDS
							     : CONTENT_FINDS_FILES,
				content->transfers[i].has_id ? "content ids" : "files", "the entry",
				"$.rules[%u].transfers[%u]", index, i);
		*told = true;
	}
	if (content->n_chats)
		check(checking, rule, CONTENT_FINDS_CHAT, "messages", "chat", "$.rules[%u].chat",
			index);
}

// FTP's files are announced on one connection and come on another, which has an application of its
// own. NULL: the rule names both, or neither.
static const struct content_decoder *left_out(const struct rule *rule)
{
	const struct content_decoder *decoder;

	for (unsigned i = 0; (decoder = content_decoder_at(i)); i++) {
		uint16_t app = app_find(decoder->app);
		uint16_t data_app = decoder->data_app ? app_find(decoder->data_app) : APP_NONE;

		if (app != APP_NONE && data_app != APP_NONE && app_set_has(&rule->apps, app) &&
			!app_set_has(&rule->apps, data_app))
			return decoder;
	}
	return NULL;
}

static void check_data(const struct checking *checking, uint32_t index)
{
	const struct rule *rule = &checking->policy->rules[index];
	const struct rule_content *content = rule->content;
	const struct content_decoder *decoder = left_out(rule);
	uint32_t i = 0;
	char place[64];

	if (!decoder)
		return;
	while (i < content->n_transfers && !content->transfers[i].has_type &&
		content->transfers[i].store != CONTENT_YES)
		i++;
	if (i < content->n_transfers)
		snprintf(place, sizeof place, "$.rules[%u].transfers[%u].%s", index, i,
			content->transfers[i].has_type ? "type" : "store");
	else if (content->audit_files == CONTENT_YES)
		snprintf(place, sizeof place, "$.rules[%u].audit.files", index);
	else
		return;
	config_warning_add(checking->errors, checking->file, place,
		"rule \"%s\": what files of %s are is seen on their data connections alone, which "
		"it does not match: add \"%s\" to its app, and \"min_confidence\": \"cache\"",
		rule->id, decoder->app, decoder->data_app);
}

static bool is_named(const struct content_id_set *set)
{
	for (uint32_t i = 0; i < set->n; i++)
		if (set->ids[i].kind != CONTENT_ID_SHA256)
			return true;
	return !set->n; // lists that are filled later
}

// No protocol that is decoded names files by SHA-256 but by chance (urn:sha256 in a path of HTTP).
static void check_ids(const struct checking *checking, uint32_t index)
{
	const struct rule *rule = &checking->policy->rules[index];
	const struct rule_content *content = rule->content;

	for (uint32_t i = 0; i < content->n_transfers; i++) {
		const struct transfer_entry *entry = &content->transfers[i];
		bool named = !entry->has_id;
		char place[64];

		for (uint32_t n = 0; n < entry->n_id_sets; n++)
			named |= is_named(checking->policy->ids[entry->id_sets[n]].set);
		if (named)
			continue;
		snprintf(place, sizeof place, "$.rules[%u].transfers[%u].content_id", index, i);
		config_warning_add(checking->errors, checking->file, place,
			"rule \"%s\": no decoder names files by these ids yet, so the entry never "
			"acts; btih, btmh, ed2k, sha1, tth and kzhash are found",
			rule->id);
	}
}

static bool ranges4_within(const struct address_set *all, const struct address_set *set)
{
	for (uint32_t i = 0, n = 0; i < set->n_v4; i++) {
		while (n < all->n_v4 && all->v4[n].last < set->v4[i].last)
			n++;
		if (n == all->n_v4 || all->v4[n].first > set->v4[i].first)
			return false;
	}
	return true;
}

static bool ranges6_within(const struct address_set *all, const struct address_set *set)
{
	for (uint32_t i = 0, n = 0; i < set->n_v6; i++) {
		while (n < all->n_v6 && memcmp(all->v6[n].last, set->v6[i].last, 16) < 0)
			n++;
		if (n == all->n_v6 || memcmp(all->v6[n].first, set->v6[i].first, 16) > 0)
			return false;
	}
	return true;
}

// `has`: the later rule asks for addresses of `set`.
static bool addresses_within(const struct address_set *all, bool has, const struct address_set *set)
{
	return has && ranges4_within(all, set) && ranges6_within(all, set);
}

static bool ends_within(const struct rule *first, const struct rule *rule)
{
	bool source = rule->has_source, destination = rule->has_destination;

	if (first->has_source && !addresses_within(&first->source, source, &rule->source))
		return false;
	if (first->has_destination &&
		!addresses_within(&first->destination, destination, &rule->destination))
		return false;
	return !first->has_host || addresses_within(&first->host, rule->has_host, &rule->host) ||
	       addresses_within(&first->host, source, &rule->source) ||
	       addresses_within(&first->host, destination, &rule->destination);
}

static bool ports_within(const struct rule *first, const struct rule *rule)
{
	for (unsigned i = 0; i < rule->n_ports; i++) {
		unsigned n = 0;

		while (n < first->n_ports && (first->ports[n].first > rule->ports[i].first ||
						     first->ports[n].last < rule->ports[i].last))
			n++;
		if (n == first->n_ports)
			return false;
	}
	return rule->n_ports;
}

static bool apps_within(const struct rule *first, const struct rule *rule)
{
	if (!rule->has_app || rule->min_confidence < first->min_confidence)
		return false;
	for (unsigned i = 0; i < APPS_MAX / 64; i++)
		if (rule->apps.words[i] & ~first->apps.words[i])
			return false;
	return true;
}

// A rule that would block in monitor mode is passed over.
static bool decides(const struct rule *rule)
{
	return !rule->only_content && (rule->mode == MODE_ENFORCE || rule->action == ACTION_PASS);
}

// Conditions of which it is not plain whether they hold for all flows of another rule.
static bool is_special(const struct rule *rule)
{
	return rule->has_time || rule->not_windows || rule->asks_frame || rule->has_user ||
	       rule->n_vlans;
}

// Whether `first` takes every flow that `rule` matches, as far as that is plain.
static bool takes_all_of(const struct rule *first, const struct rule *rule)
{
	if (is_special(first))
		return false;
	if (first->direction != DIRECTION_ANY && first->direction != rule->direction)
		return false;
	if (first->l4_proto && first->l4_proto != rule->l4_proto)
		return false;
	if (first->n_ports && !ports_within(first, rule))
		return false;
	return ends_within(first, rule) && (!first->has_app || apps_within(first, rule));
}

static void check_order(const struct checking *checking, uint32_t index)
{
	const struct rule *rules = checking->policy->rules, *rule = &rules[index];
	char place[64];

	for (uint32_t i = 0; i < index; i++) {
		if (!decides(&rules[i]) || !takes_all_of(&rules[i], rule))
			continue;
		snprintf(place, sizeof place, "$.rules[%u]", index);
		config_warning_add(checking->errors, checking->file, place,
			"what rule \"%s\" says of files and messages never applies: rule \"%s\" "
			"decides all flows that it matches; move it before that one ($.rules[%u])",
			rule->id, rules[i].id, i);
		return;
	}
}

static void check_lost(const struct checking *checking, uint32_t index)
{
	const struct rule *rule = &checking->policy->rules[index];
	char place[64];

	if (rule->content->audit_closes != CONTENT_YES)
		return;
	snprintf(place, sizeof place, "$.rules[%u].audit.on_lost", index);
	config_warning_add(checking->errors, checking->file, place,
		"rule \"%s\": without paths.audit of gateway.json a full disk closes no flow: set "
		"it, or remove on_lost",
		rule->id);
}

static void check_stored(const struct checking *checking, uint32_t index)
{
	const struct rule *rule = &checking->policy->rules[index];
	const struct rule_content *content = rule->content;
	uint32_t i = 0;
	char place[64];

	while (i < content->n_transfers && content->transfers[i].store != CONTENT_YES)
		i++;
	if (i < content->n_transfers)
		snprintf(place, sizeof place, "$.rules[%u].transfers[%u].store", index, i);
	else if (content->audit_files == CONTENT_YES)
		snprintf(place, sizeof place, "$.rules[%u].audit.files", index);
	else
		return;
	config_warning_add(checking->errors, checking->file, place,
		"rule \"%s\": without paths.files of gateway.json no file is kept, only its "
		"digests "
		"are: set it",
		rule->id);
}

void policy_check_kept(const struct policy *policy, const struct content_kept *kept,
	const char *file, struct config_errors *errors)
{
	const struct checking checking = {policy, NULL, file, errors};

	for (uint32_t i = 0; kept->known && i < policy->n_rules; i++) {
		if (!policy->rules[i].content)
			continue;
		if (!kept->audit)
			check_lost(&checking, i);
		if (!kept->files)
			check_stored(&checking, i);
	}
}

void policy_check_content(const struct policy *policy, const struct app_tables *tables,
	const char *file, struct config_errors *errors)
{
	const struct checking checking = {policy, tables, file, errors};

	for (uint32_t i = 0; i < policy->n_rules; i++) {
		const struct rule *rule = &policy->rules[i];
		const struct rule_content *content = rule->content;

		if (!content)
			continue;
		check_order(&checking, i);
		check_ids(&checking, i);
		if (!rule->has_app)
			continue;
		check_entries(&checking, i);
		check_data(&checking, i);
		if (content->whole)
			check(&checking, rule, 0, "requests for parts of files", "ranges",
				"$.rules[%u].ranges", i);
		if (content->audit_transfers == CONTENT_YES || content->audit_files == CONTENT_YES)
			check(&checking, rule, CONTENT_FINDS_FILES, "files",
				"audit of transfers and files", "$.rules[%u].audit", i);
		if (content->audit_chat == CONTENT_YES)
			check(&checking, rule, CONTENT_FINDS_CHAT, "messages", "audit.chat",
				"$.rules[%u].audit.chat", i);
		if (content->has_opaque && content->opaque != ACTION_PASS)
			check(&checking, rule, CONTENT_FINDS_OPAQUE,
				"switches to TLS, CONNECT or Upgrade", "opaque",
				"$.rules[%u].opaque", i);
	}
}
