// SPDX-License-Identifier: BSD-3-Clause
// Suggests what was meant by a key or word that gateway.json or policy.json does not know.
#include "config/json_hint.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "config/json_strict.h"
#include "base/suggest.h"

#define LIST_MAX 64 // CPUs of a range that are written out

// What others call it.
static const struct {
	const char *given, *meant;
} synonyms[] = {
	{"block", "drop"},
	{"deny", "drop"},
	{"discard", "drop"},
	{"refuse", "reset"},
	{"reject", "reset"},
	{"allow", "pass"},
	{"accept", "pass"},
	{"permit", "pass"},
	{"in", "inbound"},
	{"ingress", "inbound"},
	{"out", "outbound"},
	{"egress", "outbound"},
	{"both", "any"},
	{"high", "dpi"},
	{"certain", "verified"},
	{"low", "partial"},
	{"off", "none"},
	{"no", "none"},
	{"true", "tuple"},
	{"yes", "tuple"},
	{"host", "peer"},
	{"block", "enforce"},
	{"log", "monitor"},
	{"alert", "monitor"},
	{"detect", "monitor"},
	{"permissive", "monitor"},
	{"on", "enforce"},
	{"prevent", "enforce"},
	// keys
	{"name", "id"},
	{"when", "time"},
	{"schedule", "time"},
	{"src", "source"},
	{"from", "source"},
	{"dst", "destination"},
	{"dest", "destination"},
	{"to", "destination"},
	{"port", "ports"},
	{"proto", "protocol"},
	{"application", "app"},
	{"condition", "match"},
	{"then", "action"},
	{"verdict", "action"},
	{"policy", "rules"},
	{"sets", "address_sets"},
	{"aliases", "address_sets"},
	{"interfaces", "ports"},
	{"cores", "lcores"},
	{"cpus", "lcores"},
	{"version", "schema_version"},
};

static const char *synonym_among(
	const char *given, bool (*has)(const void *ctx, const char *word), const void *ctx)
{
	for (size_t i = 0; i < sizeof synonyms / sizeof synonyms[0]; i++) {
		if (strcasecmp(given, synonyms[i].given) == 0 && has(ctx, synonyms[i].meant))
			return synonyms[i].meant;
	}
	return NULL;
}

static bool has_word(const void *ctx, const char *word)
{
	const char *const *words = ctx;

	for (; *words; words++) {
		if (strcmp(*words, word) == 0)
			return true;
	}
	return false;
}

const char *json_hint_word(const char *text, const char *const *words, char *out, size_t out_len)
{
	struct suggestion suggestion = suggest_for(text);
	const char *meant = synonym_among(text, has_word, words);

	for (unsigned i = 0; words[i]; i++)
		suggest_offer(&suggestion, words[i]);
	if (!meant)
		meant = suggest_get(&suggestion);
	out[0] = '\0';
	if (has_word(words, "reset") &&
		has_word((const char *const[]){"mask", "drop-message", NULL}, text))
		snprintf(out, out_len, "; it is an action for messages, of entries of \"chat\"");
	else if (meant)
		snprintf(out, out_len, "; did you mean \"%s\"?", meant);
	else if (has_word(words, "drop") && !has_word(words, "monitor") &&
		 has_word((const char *const[]){"monitor", "log", "alert", "warn", "report", NULL},
			 text))
		snprintf(out, out_len,
			"; what only reports has \"mode\": \"monitor\" beside the action that it "
			"would "
			"take");
	return out;
}

static bool has_key(const void *ctx, const char *word)
{
	for (const struct json_field *field = ctx; field->name; field++) {
		if (strcmp(json_field_key(field), word) == 0)
			return true;
	}
	return false;
}

const char *json_hint_key(
	const char *key, const struct json_field *fields, char *out, size_t out_len)
{
	static const char *const of_match[] = {"app", "category", "group", "min_confidence",
		"direction", "source", "destination", "host", "ports", "vlan", "protocol", "user",
		"time", "not_time", NULL};
	struct suggestion suggestion = suggest_for(key);

	for (const struct json_field *field = fields; field->name; field++)
		suggest_offer(&suggestion, json_field_key(field));
	const char *meant = synonym_among(key, has_key, fields);
	if (!meant)
		meant = suggest_get(&suggestion);
	out[0] = '\0';
	if (has_key(fields, "match") && has_word(of_match, key))
		snprintf(out, out_len, "; put it into \"match\"");
	else if (has_key(fields, "match") && strcmp(key, "redact") == 0)
		snprintf(out, out_len, "; put it into \"audit\"");
	else if (meant)
		snprintf(out, out_len, "; did you mean \"%s\"?", meant);
	else if (strcmp(key, "enabled") == 0 && has_key(fields, "match"))
		snprintf(out, out_len,
			"; a rule is switched off by \"mode\": \"monitor\", or by taking it out");
	else if (has_key(fields, "rules") &&
		 has_word((const char *const[]){"ports", "pairs", "lcores", "eal", "paths", NULL},
			 key))
		snprintf(out, out_len, "; it belongs into gateway.json, which -c names, not -p");
	else if (has_key(fields, "lcores") &&
		 has_word((const char *const[]){"rules", "default", "address_sets", "mode",
				  "applications", "conn_cache", NULL},
			 key))
		snprintf(out, out_len, "; it belongs into policy.json, which -p names, not -c");
	return out;
}

// "1,2" and "0-3", as other programs take CPUs.
static bool numbers_of(const char *text, char *out, size_t out_len)
{
	size_t used = 0;
	unsigned n = 0;

	if (!isdigit((unsigned char)text[0]) || text[strspn(text, "0123456789,-")])
		return false;
	out[0] = '\0';
	while (*text) {
		char *end;
		unsigned long first = strtoul(text, &end, 10), last = first;

		if (end == text)
			return false;
		if (*end == '-')
			last = strtoul(end + 1, &end, 10);
		if (last < first || last - first >= LIST_MAX || (*end && *end != ','))
			return false;
		for (; first <= last && n < LIST_MAX && used < out_len; first++, n++)
			used += (size_t)snprintf(
				out + used, out_len - used, "%s%lu", used ? "," : "", first);
		text = *end ? end + 1 : end;
	}
	return used < out_len;
}

const char *json_hint_array(const json_t *value, char *out, size_t out_len)
{
	const char *text = json_string_value(value);
	char numbers[160];

	out[0] = '\0';
	if (json_is_integer(value))
		snprintf(out, out_len, "; write [%" JSON_INTEGER_FORMAT "]",
			json_integer_value(value));
	else if (text && numbers_of(text, numbers, sizeof numbers))
		snprintf(out, out_len, "; write [%s]", numbers);
	else if (text && text[0] != '[')
		snprintf(out, out_len, "; write [\"%.64s\"]", text);
	return out;
}

const char *json_hint_integer(const json_t *value, char *out, size_t out_len)
{
	const char *text = json_string_value(value);
	char *end = NULL;

	out[0] = '\0';
	if (!text || !isdigit((unsigned char)text[0]))
		return out;
	uint64_t n = strtoull(text, &end, 10);
	const char *units = "kKmMgG", *unit = *end ? strchr(units, *end) : NULL;

	if (n > 1000000000ull || (*end && (!unit || end[1])))
		return out;
	for (int power = unit ? (int)(unit - units) / 2 + 1 : 0; power; power--)
		n *= 1000;
	snprintf(out, out_len, "; write %" PRIu64, n);
	return out;
}
