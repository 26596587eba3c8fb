// SPDX-License-Identifier: BSD-3-Clause
// Finds rules that ask for files or messages of applications that no decoder reads.
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
	uint8_t finds; // one of enum content_find
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
	return decoder && decoder->finds & asked->finds;
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

void policy_check_content(const struct policy *policy, const struct app_tables *tables,
	const char *file, struct config_errors *errors)
{
	const struct checking checking = {policy, tables, file, errors};

	for (uint32_t i = 0; i < policy->n_rules; i++) {
		const struct rule *rule = &policy->rules[i];
		const struct rule_content *content = rule->content;

		if (!content || !rule->has_app)
			continue;
		check_entries(&checking, i);
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
