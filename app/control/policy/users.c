// SPDX-License-Identifier: BSD-3-Clause
// Users of policy.json: "users", inline or in a file beside the policy, and "user" of a match.
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include "base/suggest.h"
#include "control/policy/fields.h"

#define USER_ADDRESSES_MAX 65536 // of one user

static int compare_users(const void *a, const void *b)
{
	return strcmp(((const struct user *)a)->name, ((const struct user *)b)->name);
}

// Printable text, with nothing that would look like another name in a log.
static bool name_is_good(const struct json_at *at)
{
	size_t len = strlen(at->key);
	bool good = len > 0 && len < USER_NAME_SIZE && at->key[0] != ' ' && at->key[len - 1] != ' ';

	for (const char *c = at->key; *c && good; c++)
		good = (unsigned char)*c >= ' ' && *c != 0x7f;
	if (!good)
		json_at_error(at,
			"no name of a user: 1 to %d bytes, no control characters, no blank at an "
			"end",
			USER_NAME_SIZE - 1);
	return good;
}

static void read_user(const struct json_at *at, struct user_map *map)
{
	struct json_at item = {0};
	uint32_t user = user_map_named(map, at->key);

	if (!json_want_array(at, 0, USER_ADDRESSES_MAX))
		return;
	while (json_at_next(at, &item)) {
		const char *text;
		int rc;

		if (!json_want_text(&item, 1, POLICY_ADDRESS_TEXT - 1, &text))
			continue;
		rc = user_map_add(map, user, (uint32_t)item.index, text);
		if (rc < 0)
			policy_address_error(&item, text, rc);
	}
}

static void report_clash(
	const struct json_at *at, const struct user_map *map, const struct user_clash *clash)
{
	const char *name[2], *text[2];

	for (unsigned i = 0; i < 2; i++) {
		json_t *list;

		name[i] = map->users[clash->user[i]].name;
		list = json_object_get(at->value, name[i]);
		text[i] = json_string_value(json_array_get(list, clash->entry[i]));
	}
	struct json_at child = json_at_key(at, name[1], json_object_get(at->value, name[1]));
	struct json_at item = json_at_index(&child, clash->entry[1]);

	json_at_error(&item,
		"\"%s\" of user \"%s\" overlaps \"%s\" of user \"%s\": an address belongs to one "
		"user",
		text[1], name[1], text[0], name[0]);
}

static void read_map(const struct json_at *at, struct user_map *map)
{
	struct user_clash clash;
	bool good = true;
	const char *name;
	json_t *value;

	if (!json_want_object(at))
		return;
	if (json_object_size(at->value) > USERS_MAX) {
		json_at_error(at, "%zu users: at most %d", json_object_size(at->value), USERS_MAX);
		return;
	}
	map->users = calloc(json_object_size(at->value) + 1, sizeof *map->users);
	if (!map->users) {
		json_at_error(at, "no memory");
		return;
	}
	json_object_foreach (at->value, name, value) {
		struct json_at child = json_at_key(at, name, value);

		good &= name_is_good(&child);
		snprintf(map->users[map->n_users++].name, USER_NAME_SIZE, "%s", name);
	}
	if (!good)
		return; // a name that was cut is not to be found again
	qsort(map->users, map->n_users, sizeof *map->users, compare_users);
	json_object_foreach (at->value, name, value) {
		struct json_at child = json_at_key(at, name, value);

		read_user(&child, map);
	}
	if (user_map_seal(map, &clash) < 0)
		report_clash(at, map, &clash);
}

// A name beside the policy, unless it is absolute.
static void file_path(const char *policy_file, const char *name, char *out, size_t out_len)
{
	const char *slash = strrchr(policy_file, '/');
	int len = slash && name[0] != '/' ? (int)(slash - policy_file) + 1 : 0;

	snprintf(out, out_len, "%.*s%s", len, policy_file, name);
}

static void read_file(const struct json_at *at, struct policy_reader *reader)
{
	char path[PATH_MAX];
	struct json_doc doc;
	struct json_at root;
	const char *name;

	if (!json_want_text(at, 1, 1023, &name))
		return;
	file_path(reader->doc->file, name, path, sizeof path);
	if (json_doc_read(&doc, path, reader->doc->errors) < 0) {
		json_at_error(at, "the users' file %s cannot be used", path);
		return;
	}
	root = json_at_root(&doc);
	read_map(&root, &reader->policy->users);
	json_doc_free(&doc);
}

void policy_read_users(const struct json_at *at, struct policy_reader *reader)
{
	const struct config_errors *errors = reader->doc->errors;
	size_t before = errors->n + errors->dropped;

	if (!at->value)
		return;
	if (json_is_object(at->value)) {
		read_map(at, &reader->policy->users);
	} else if (json_is_string(at->value)) {
		read_file(at, reader);
	} else {
		char got[80];

		json_at_error(at,
			"expected an object of users and their addresses, or the name of a file "
			"that holds one, got %s",
			json_describe(at->value, got, sizeof got));
	}
	reader->users_told = errors->n + errors->dropped != before;
}

// match

static int compare_index(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

static bool find_user(const struct json_at *at, const struct policy_reader *reader, uint32_t *out)
{
	const struct user_map *map = &reader->policy->users;
	struct suggestion suggestion;
	const char *text;

	if (!json_want_text(at, 1, USER_NAME_SIZE - 1, &text))
		return false;
	*out = user_map_named(map, text);
	if (*out != USER_NONE)
		return true;
	if (reader->users_told)
		return false;
	suggestion = suggest_for(text);
	if (!reader->doc->errors->dropped) // beyond what is reported, no look at every name
		for (uint32_t i = 0; i < map->n_users; i++)
			suggest_offer(&suggestion, map->users[i].name);
	policy_report_unnamed(at, "user", &suggestion, "put the name into $.users");
	return false;
}

void policy_read_match_user(const struct json_at *at, void *ctx)
{
	struct json_at item = {0};
	struct rule_reader *reader = ctx;
	struct rule *rule = reader->rule;

	rule->has_user = true;
	if (!json_want_array(at, 1, POLICY_USERS_MAX)) {
		reader->match_reported = true;
		return;
	}
	rule->users = calloc(json_array_size(at->value), sizeof *rule->users);
	if (!rule->users) {
		json_at_error(at, "no memory");
		return;
	}
	while (json_at_next(at, &item)) {
		if (find_user(&item, reader->reader, &rule->users[rule->n_users]))
			rule->n_users++;
		else
			reader->match_reported = true;
	}
	qsort(rule->users, rule->n_users, sizeof *rule->users, compare_index);
}

// The dump

json_t *policy_users_json(const struct policy *policy)
{
	const struct user_map *map = &policy->users;
	json_t *object = json_object();
	int rc = object ? 0 : -1;

	for (uint32_t i = 0; i < map->n_users && !rc; i++)
		rc = json_object_set_new(object, map->users[i].name, json_array());
	for (uint32_t i = 0; i < map->n_v4 && !rc; i++)
		rc = policy_range4_json(json_object_get(object, map->users[map->v4[i].user].name),
			map->v4[i].first, map->v4[i].last);
	for (uint32_t i = 0; i < map->n_v6 && !rc; i++)
		rc = policy_range6_json(json_object_get(object, map->users[map->v6[i].user].name),
			map->v6[i].first, map->v6[i].last);
	if (!rc)
		return object;
	json_decref(object);
	return NULL;
}

json_t *policy_rule_users_json(const struct policy *policy, const struct rule *rule)
{
	json_t *array = json_array();

	for (uint32_t i = 0; array && i < rule->n_users; i++) {
		const char *name = policy->users.users[rule->users[i]].name;

		if (json_array_append_new(array, json_string(name)) < 0) {
			json_decref(array);
			return NULL;
		}
	}
	return array;
}
