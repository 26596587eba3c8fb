// SPDX-License-Identifier: BSD-3-Clause
// Addresses of policy.json: CIDRs, and names of sets of them.
#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/suggest.h"
#include "control/policy/fields.h"

// "10.1.2.3/8" -> "10.0.0.0/8": what was probably meant.
static void network_of(const char *text, char *out, size_t out_len)
{
	const char *slash = strchr(text, '/');
	char host[POLICY_ADDRESS_TEXT], network[INET6_ADDRSTRLEN];
	size_t len = (size_t)(slash - text);
	uint8_t bytes[16];
	unsigned prefix = (unsigned)strtoul(slash + 1, NULL, 10);
	int family = strchr(text, ':') ? AF_INET6 : AF_INET;

	memcpy(host, text, len);
	host[len] = 0;
	if (inet_pton(family, host, bytes) != 1) // it was parsed already
		return;
	for (unsigned i = 0; i < (family == AF_INET ? 4u : 16u); i++) {
		unsigned bits = prefix > 8 * i ? prefix - 8 * i : 0;

		bytes[i] = (uint8_t)(bytes[i] & (bits >= 8 ? 0xffu : ~(0xffu >> bits)));
	}
	snprintf(out, out_len, "%s/%u", inet_ntop(family, bytes, network, sizeof network), prefix);
}

// What begins as a name is one: no address begins with a letter and has no colon.
static bool is_name(const char *text)
{
	return isalpha((unsigned char)*text) && !strpbrk(text, ":/");
}

void policy_address_error(const struct json_at *at, const char *text, int error)
{
	char network[INET6_ADDRSTRLEN + 5] = "";

	if (error == -ERANGE) {
		network_of(text, network, sizeof network);
		json_at_error(at,
			"\"%s\" has bits beyond its prefix: write \"%s\", or a longer prefix", text,
			network);
	} else if (error == -EINVAL) {
		json_at_error(at,
			"\"%.64s\" is not an address: expected \"192.0.2.7\", \"10.0.0.0/8\" or "
			"\"2001:db8::/32\"",
			text);
	} else {
		json_at_error(at, "%s", strerror(-error));
	}
}

static void add_text(const struct json_at *at, struct address_set *set, const char *text)
{
	int rc = address_set_add(set, text);

	if (rc < 0)
		policy_address_error(at, text, rc);
}

static void read_set(const struct json_at *at, struct address_set *set)
{
	struct json_at item = {0};

	if (!at->value || !json_want_array(at, 0, POLICY_LIST_MAX))
		return;
	while (json_at_next(at, &item)) {
		const char *text;

		if (!json_want_text(&item, 1, POLICY_ADDRESS_TEXT - 1, &text))
			continue;
		if (is_name(text))
			json_at_error(&item,
				"\"%.64s\" is not an address: a set holds addresses, not names",
				text);
		else
			add_text(&item, set, text);
	}
	address_set_seal(set);
}

bool policy_name_is_good(const struct json_at *at)
{
	size_t len =
		strspn(at->key, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-");

	if (isalpha((unsigned char)at->key[0]) && !at->key[len] && len <= 63)
		return true;
	json_at_error(at,
		"\"%.64s\" is not a name: letters, digits, - and _, the first a letter, at most 63",
		at->key);
	return false;
}

void policy_report_unnamed(const struct json_at *at, const char *what,
	const struct suggestion *suggestion, const char *mend)
{
	if (suggest_get(suggestion))
		json_at_error(at, "no %s is named \"%.64s\"; did you mean \"%s\"?", what,
			suggestion->word, suggest_get(suggestion));
	else
		json_at_error(at, "no %s is named \"%.64s\": %s", what, suggestion->word, mend);
}

void policy_read_address_sets(const struct json_at *at, struct policy_reader *reader)
{
	const char *name;
	json_t *value;

	if (!at->value || !json_want_object(at))
		return;
	reader->sets = calloc(json_object_size(at->value) + 1, sizeof *reader->sets);
	if (!reader->sets) {
		json_at_error(at, "no memory");
		return;
	}
	json_object_foreach (at->value, name, value) {
		struct json_at child = json_at_key(at, name, value);
		struct named_set *set = &reader->sets[reader->n_sets++];

		const char *comment;
		struct json_at entries = policy_set_entries(&child, &comment);

		policy_name_is_good(&child);
		set->name = name;
		read_set(&entries, &set->set);
		if (comment)
			policy_note_set(&child, reader->policy, comment, &set->set, NULL);
	}
}

static const struct address_set *find_set(
	const struct json_at *at, const struct policy_reader *reader, const char *name)
{
	struct suggestion suggestion = suggest_for(name);

	for (size_t i = 0; i < reader->n_sets; i++) {
		if (strcmp(reader->sets[i].name, name) == 0)
			return &reader->sets[i].set;
		suggest_offer(&suggestion, reader->sets[i].name);
	}
	policy_report_unnamed(at, "address set", &suggestion,
		strchr(name, '.')
			? "define it in $.address_sets, or write its addresses, if it is a host"
			: "define it in $.address_sets");
	return NULL;
}

void policy_read_addresses(
	const struct json_at *at, const struct policy_reader *reader, struct address_set *set)
{
	struct json_at item = {0};

	while (json_at_next(at, &item)) {
		const struct address_set *named;
		const char *text;

		if (!json_want_text(&item, 1, POLICY_ADDRESS_TEXT - 1, &text))
			continue;
		if (!is_name(text)) {
			add_text(&item, set, text);
			continue;
		}
		named = find_set(&item, reader, text);
		if (named && address_set_merge(set, named) < 0)
			json_at_error(&item, "no memory");
	}
	address_set_seal(set);
}

void policy_sets_free(struct policy_reader *reader)
{
	for (size_t i = 0; i < reader->n_sets; i++)
		address_set_free(&reader->sets[i].set);
	free(reader->sets);
	reader->sets = NULL;
	reader->n_sets = 0;
}
