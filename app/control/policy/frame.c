// SPDX-License-Identifier: BSD-3-Clause
// What frames say beside their addresses, in policy.json: "mac_sets", and "mac" and "dscp" of a
// match.
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "base/suggest.h"
#include "control/policy/fields.h"

#define DSCPS_MAX 64

static void report_mac(const struct json_at *at, const char *text, int error)
{
	switch (error) {
	case -ERANGE:
		json_at_error(at,
			"\"%s\" has bits beyond its prefix: write 0 for what is behind it, as in "
			"\"02:00:5e:00:00:00/24\"",
			text);
		break;
	case -EADDRNOTAVAIL:
		json_at_error(at, "\"%s\" is a group address: no station has it", text);
		break;
	case -EINVAL:
		json_at_error(at,
			"\"%.64s\" is not a MAC address: expected \"02:00:5e:10:00:01\", or its "
			"first "
			"bits as \"02:00:5e:00:00:00/24\"",
			text);
		break;
	default: json_at_error(at, "%s", strerror(-error));
	}
}

// A MAC address has colons, a name has none. With dashes it looks like either.
static bool is_name(const char *text)
{
	return isalpha((unsigned char)*text) && !strpbrk(text, ":/") &&
	       !(strlen(text) == 17 && strspn(text, "0123456789abcdefABCDEF-") == 17);
}

static void add_mac(const struct json_at *at, struct mac_set *set, const char *text)
{
	int rc = mac_set_add(set, text);

	if (rc < 0)
		report_mac(at, text, rc);
}

static void read_set(const struct json_at *at, struct mac_set *set)
{
	struct json_at item = {0};

	if (!at->value || !json_want_array(at, 0, POLICY_LIST_MAX))
		return;
	while (json_at_next(at, &item)) {
		const char *text;

		if (json_want_text(&item, 1, 63, &text))
			add_mac(&item, set, text);
	}
	mac_set_seal(set);
}

void policy_read_mac_sets(const struct json_at *at, struct policy_reader *reader)
{
	const char *name;
	json_t *value;

	if (!at->value || !json_want_object(at))
		return;
	reader->mac_sets = calloc(json_object_size(at->value) + 1, sizeof *reader->mac_sets);
	if (!reader->mac_sets) {
		json_at_error(at, "no memory");
		return;
	}
	json_object_foreach (at->value, name, value) {
		struct json_at child = json_at_key(at, name, value);
		struct named_macs *set = &reader->mac_sets[reader->n_mac_sets++];
		const char *comment;
		struct json_at entries = policy_set_entries(&child, &comment);

		policy_name_is_good(&child);
		set->name = name;
		read_set(&entries, &set->set);
		if (comment)
			policy_note_set(&child, reader->policy, comment, NULL, &set->set);
	}
}

void policy_mac_sets_free(struct policy_reader *reader)
{
	for (size_t i = 0; i < reader->n_mac_sets; i++)
		mac_set_free(&reader->mac_sets[i].set);
	free(reader->mac_sets);
	reader->mac_sets = NULL;
	reader->n_mac_sets = 0;
}

static const struct mac_set *find_set(
	const struct json_at *at, const struct policy_reader *reader, const char *name)
{
	struct suggestion suggestion = suggest_for(name);

	for (size_t i = 0; i < reader->n_mac_sets; i++) {
		if (strcmp(reader->mac_sets[i].name, name) == 0)
			return &reader->mac_sets[i].set;
		suggest_offer(&suggestion, reader->mac_sets[i].name);
	}
	policy_report_unnamed(at, "set of MAC addresses", &suggestion, "define it in $.mac_sets");
	return NULL;
}

void policy_read_match_mac(const struct json_at *at, void *ctx)
{
	struct json_at item = {0};
	struct rule_reader *reader = ctx;
	struct mac_set *set = &reader->rule->mac;

	reader->rule->has_mac = true;
	if (!json_want_array(at, 1, POLICY_LIST_MAX)) {
		reader->match_reported = true;
		return;
	}
	while (json_at_next(at, &item)) {
		const struct mac_set *named;
		const char *text;

		if (!json_want_text(&item, 1, 63, &text))
			continue;
		if (!is_name(text)) {
			add_mac(&item, set, text);
			continue;
		}
		named = find_set(&item, reader->reader, text);
		if (named && mac_set_merge(set, named) < 0)
			json_at_error(&item, "no memory");
	}
	mac_set_seal(set);
}

json_t *policy_macs_json(const struct mac_set *set)
{
	json_t *array = json_array();

	for (uint32_t i = 0; array && i < set->n; i++) {
		unsigned prefix = mac_block_prefix(&set->blocks[i]);
		uint64_t mac = set->blocks[i].first;
		char text[24];
		int n = snprintf(text, sizeof text, "%02x:%02x:%02x:%02x:%02x:%02x",
			(unsigned)(mac >> 40) & 0xff, (unsigned)(mac >> 32) & 0xff,
			(unsigned)(mac >> 24) & 0xff, (unsigned)(mac >> 16) & 0xff,
			(unsigned)(mac >> 8) & 0xff, (unsigned)mac & 0xff);

		if (prefix < MAC_BITS)
			snprintf(text + n, sizeof text - (size_t)n, "/%u", prefix);
		if (json_array_append_new(array, json_string(text)) < 0) {
			json_decref(array);
			return NULL;
		}
	}
	return array;
}

// IANA's DSCP pools 1 and 3 (RFC 2474, 2597, 3246, 5865, 8622), and BE, as nftables calls DF.
static const struct dscp_word {
	const char *word;
	uint8_t number;
} dscp_words[] = {
	{"DF", 0},
	{"BE", 0},
	{"LE", 1},
	{"CS0", 0},
	{"CS1", 8},
	{"CS2", 16},
	{"CS3", 24},
	{"CS4", 32},
	{"CS5", 40},
	{"CS6", 48},
	{"CS7", 56},
	{"AF11", 10},
	{"AF12", 12},
	{"AF13", 14},
	{"AF21", 18},
	{"AF22", 20},
	{"AF23", 22},
	{"AF31", 26},
	{"AF32", 28},
	{"AF33", 30},
	{"AF41", 34},
	{"AF42", 36},
	{"AF43", 38},
	{"VA", 44},
	{"EF", 46},
};
#define DSCP_WORDS (sizeof dscp_words / sizeof *dscp_words)

static bool read_dscp(const struct json_at *at, uint64_t *dscps)
{
	const char *text = json_string_value(at->value);
	uint64_t number;

	if (!text) {
		if (json_is_number(at->value) && !json_want_integer(at, 0, 63, &number))
			return false;
		if (json_is_number(at->value))
			*dscps |= 1ull << number;
		else
			json_want_text(at, 1, 4, &text); // tells
		return json_is_number(at->value);
	}
	for (size_t i = 0; i < DSCP_WORDS; i++) {
		if (strcasecmp(dscp_words[i].word, text) == 0) {
			*dscps |= 1ull << dscp_words[i].number;
			return true;
		}
	}
	json_at_error(at,
		"\"%.40s\" is no DSCP: expected EF, VA, AF11 to AF43, CS0 to CS7, LE, DF, or a "
		"number "
		"from 0 to 63",
		text);
	return false;
}

void policy_read_match_dscp(const struct json_at *at, void *ctx)
{
	struct json_at item = {0};
	struct rule_reader *reader = ctx;

	if (!json_want_array(at, 1, DSCPS_MAX)) {
		reader->match_reported = true;
		return;
	}
	while (json_at_next(at, &item))
		if (!read_dscp(&item, &reader->rule->dscps))
			reader->match_reported = true;
}

json_t *policy_dscps_json(uint64_t dscps)
{
	json_t *array = json_array();

	for (unsigned number = 0; array && number < 64; number++) {
		const char *word = NULL;

		for (size_t i = 0; i < DSCP_WORDS && !word; i++)
			if (dscp_words[i].number == number)
				word = dscp_words[i].word;
		if ((dscps >> number & 1) &&
			json_array_append_new(
				array, word ? json_string(word) : json_integer(number)) < 0) {
			json_decref(array);
			return NULL;
		}
	}
	return array;
}
