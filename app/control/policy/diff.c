// SPDX-License-Identifier: BSD-3-Clause
// Compares the dumps of two policies, key by key and rule by rule.
#include "control/policy/diff.h"
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PATH_MAX_BYTES 256

// What is compared on its own, and what only the dump needs.
static bool is_apart(const char *key)
{
	static const char *const apart[] = {
		"schema_version", "address_sets", "mac_sets", "rules", "applications", "users"};

	for (size_t i = 0; i < sizeof apart / sizeof *apart; i++)
		if (strcmp(key, apart[i]) == 0)
			return true;
	return false;
}

// A value to show: a long list is cut, and says so.
static json_t *shown(const json_t *value)
{
	size_t n = json_is_array(value) ? json_array_size(value) : 0;
	json_t *list;
	int rc = 0;

	if (!value)
		return json_null();
	if (n <= POLICY_DIFF_LIST_MAX)
		return json_deep_copy(value);
	list = json_array();
	for (size_t i = 0; i < POLICY_DIFF_LIST_MAX; i++)
		rc |= json_array_append(list, json_array_get(value, i));
	rc |= json_array_append_new(
		list, json_sprintf("... and %zu more", n - POLICY_DIFF_LIST_MAX));
	if (!rc)
		return list;
	json_decref(list);
	return NULL;
}

static int key_add(json_t *out, const char *path, const json_t *old, const json_t *new)
{
	return json_array_append_new(out,
		json_pack("{s:s, s:o, s:o}", "key", path, "old", shown(old), "new", shown(new)));
}

// Appends to `out` every key below that differs. `top`: those that stand apart are left out.
static int keys_compare(
	json_t *out, const char *prefix, const json_t *old, const json_t *new, bool top);

static int key_compare(
	json_t *out, const char *prefix, const char *key, const json_t *old, const json_t *new)
{
	char path[PATH_MAX_BYTES];

	snprintf(path, sizeof path, "%s%s%s", prefix, *prefix ? "." : "", key);
	if (json_is_object(old) && json_is_object(new))
		return keys_compare(out, path, old, new, false);
	return json_equal(old, new) ? 0 : key_add(out, path, old, new);
}

static int keys_compare(
	json_t *out, const char *prefix, const json_t *old, const json_t *new, bool top)
{
	const char *key;
	json_t *value;
	int rc = 0;

	json_object_foreach ((json_t *)(uintptr_t)old, key, value) {
		if (!(top && is_apart(key)))
			rc |= key_compare(out, prefix, key, value, json_object_get(new, key));
	}
	json_object_foreach ((json_t *)(uintptr_t) new, key, value) {
		if (!(top && is_apart(key)) && !json_object_get(old, key))
			rc |= key_compare(out, prefix, key, NULL, value);
	}
	return rc;
}

// Lists of objects with an id

static const char *id_of(const json_t *list, size_t i)
{
	const char *id = json_string_value(json_object_get(json_array_get(list, i), "id"));

	return id ? id : "";
}

// {id: position}
static json_t *positions(const json_t *list)
{
	json_t *object = json_object();
	int rc = object ? 0 : -1;

	for (size_t i = 0; !rc && i < json_array_size(list); i++)
		rc = json_object_set_new(object, id_of(list, i), json_integer((json_int_t)i));
	if (!rc)
		return object;
	json_decref(object);
	return NULL;
}

static int entry_add(json_t *out, const char *noun, const json_t *list, size_t i)
{
	return json_array_append_new(
		out, json_pack("{s:s, s:I, s:O}", "id", id_of(list, i), "position", (json_int_t)i,
			     noun, json_array_get(list, i)));
}

struct kept { // an entry of both lists, in the old one's order
	size_t old;
	size_t new;
	size_t before; // the one before it in the longest rising run, or itself
	bool stays;
};

// Marks a longest run of entries whose order is the same in both lists: all others have moved.
static int mark_stays(struct kept *both, size_t n)
{
	size_t *tail = calloc(n + 1, sizeof *tail), length = 0; // ends of the best runs by length

	if (!tail)
		return -1;
	for (size_t i = 0; i < n; i++) {
		size_t low = 0, high = length;

		while (low < high) {
			size_t middle = low + (high - low) / 2;

			if (both[tail[middle]].new < both[i].new)
				low = middle + 1;
			else
				high = middle;
		}
		both[i].before = low ? tail[low - 1] : i;
		tail[low] = i;
		length += low == length;
	}
	for (size_t i = length ? tail[length - 1] : 0; length; length--) {
		both[i].stays = true;
		i = both[i].before;
	}
	free(tail);
	return 0;
}

static int moved_add(json_t *out, const json_t *list, struct kept *both, size_t n)
{
	int rc = mark_stays(both, n);

	for (size_t i = 0; i < n && !rc; i++) {
		if (both[i].stays)
			continue;
		rc = json_array_append_new(
			out, json_pack("{s:s, s:I, s:I}", "id", id_of(list, both[i].old), "old",
				     (json_int_t)both[i].old, "new", (json_int_t)both[i].new));
	}
	return rc;
}

static int changed_add(json_t *out, const char *id, const json_t *old, const json_t *new)
{
	json_t *keys = json_array();
	int rc = keys_compare(keys, "", old, new, false);

	if (!rc && json_array_size(keys))
		return json_array_append_new(out, json_pack("{s:s, s:o}", "id", id, "keys", keys));
	json_decref(keys);
	return rc;
}

static int lists_compare(json_t *out, const char *noun, const json_t *old, const json_t *new)
{
	json_t *in_old = positions(old), *in_new = positions(new), *at;
	struct kept *both = calloc(json_array_size(old) + 1, sizeof(struct kept));
	size_t n = 0;
	int rc = both && in_old && in_new ? 0 : -1;

	for (size_t i = 0; i < json_array_size(old) && !rc; i++) {
		const char *id = id_of(old, i);

		at = json_object_get(in_new, id);
		if (!at) {
			rc = entry_add(json_object_get(out, "removed"), noun, old, i);
			continue;
		}
		both[n] = (struct kept){.old = i, .new = (size_t)json_integer_value(at)};
		rc = changed_add(json_object_get(out, "changed"), id, json_array_get(old, i),
			json_array_get(new, both[n].new));
		n++;
	}
	for (size_t i = 0; i < json_array_size(new) && !rc; i++)
		if (!json_object_get(in_old, id_of(new, i)))
			rc = entry_add(json_object_get(out, "added"), noun, new, i);
	if (!rc)
		rc = moved_add(json_object_get(out, "moved"), old, both, n);
	json_decref(in_old);
	json_decref(in_new);
	free(both);
	return rc;
}

static bool is_empty(const json_t *part)
{
	const char *key;
	json_t *list;

	json_object_foreach ((json_t *)(uintptr_t)part, key, list) {
		if (json_array_size(list) || json_integer_value(list))
			return false;
	}
	return true;
}

static json_t *list_part(const char *noun, const json_t *old, const json_t *new)
{
	json_t *out = json_pack("{s:[], s:[], s:[], s:[]}", "added", "removed", "changed", "moved");

	if (out && lists_compare(out, noun, old, new) == 0)
		return out;
	json_decref(out);
	return NULL;
}

// Users

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static json_t *users_part(const json_t *old, const json_t *new)
{
	size_t room = json_object_size(old) + json_object_size(new) + 1, n = 0;
	const char **names = calloc(room, sizeof *names);
	json_int_t added = 0, removed = 0, changed = 0;
	json_t *list = json_array(), *value;
	const char *name;
	int rc = 0;

	if (!names || !list) {
		free(names);
		json_decref(list);
		return NULL;
	}
	json_object_foreach ((json_t *)(uintptr_t)old, name, value) {
		const json_t *other = json_object_get(new, name);

		removed += !other;
		changed += other && !json_equal(value, other);
		if (!other || !json_equal(value, other))
			names[n++] = name;
	}
	json_object_foreach ((json_t *)(uintptr_t) new, name, value) {
		if (json_object_get(old, name))
			continue;
		added++;
		names[n++] = name;
	}
	qsort(names, n, sizeof *names, compare_names);
	for (size_t i = 0; i < n && i < POLICY_DIFF_NAMES_MAX; i++)
		rc |= json_array_append_new(list, json_string(names[i]));
	free(names);
	if (rc) {
		json_decref(list);
		return NULL;
	}
	return json_pack("{s:I, s:I, s:I, s:o}", "added", added, "removed", removed, "changed",
		changed, "names", list);
}

// Of sets, which the rules hold written out, only the comments.
static json_t *comments_of(const json_t *dump, const char *key)
{
	json_t *comments = json_object(), *set;
	const char *name;
	int rc = comments ? 0 : -1;

	json_object_foreach (json_object_get(dump, key), name, set) {
		json_t *comment = json_object_get(set, "comment");

		if (comment && !rc)
			rc = json_object_set_new(
				comments, name, json_pack("{s:O}", "comment", comment));
	}
	if (!rc)
		return comments;
	json_decref(comments);
	return NULL;
}

static int comments_compare(json_t *out, const json_t *old, const json_t *new)
{
	static const char *const kinds[] = {"address_sets", "mac_sets"};
	int rc = 0;

	for (unsigned i = 0; i < 2 && !rc; i++) {
		json_t *before = comments_of(old, kinds[i]), *after = comments_of(new, kinds[i]);

		rc = before && after ? keys_compare(out, kinds[i], before, after, false) : -1;
		json_decref(before);
		json_decref(after);
	}
	return rc;
}

json_t *policy_diff(const json_t *old, const json_t *new)
{
	json_t *keys = json_array(), *rules, *applications, *users;
	bool same;

	rules = list_part("rule", json_object_get(old, "rules"), json_object_get(new, "rules"));
	applications = list_part("application", json_object_get(old, "applications"),
		json_object_get(new, "applications"));
	users = users_part(json_object_get(old, "users"), json_object_get(new, "users"));
	if (!keys || !rules || !applications || !users ||
		keys_compare(keys, "", old, new, true) != 0 ||
		comments_compare(keys, old, new) != 0) {
		json_decref(keys);
		json_decref(rules);
		json_decref(applications);
		json_decref(users);
		return NULL;
	}
	same = !json_array_size(keys) && is_empty(rules) && is_empty(applications) &&
	       is_empty(users);
	return json_pack("{s:b, s:o, s:o, s:o, s:o}", "same", same, "keys", keys, "rules", rules,
		"applications", applications, "users", users);
}
