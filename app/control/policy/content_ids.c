// SPDX-License-Identifier: BSD-3-Clause
// "content_ids" of policy.json: sets of content ids by name, in it or in files of lines beside it;
// and "content_id" of an entry of "transfers", which names sets or ids.
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include "base/suggest.h"
#include "content/content_id.h"
#include "control/policy/fields.h"
#include "control/policy/id_lines.h"
#include "pipeline/policy/content_rules.h"

#define FILE_ERRORS_MAX 20 // of one file

// Ids on their way into a set.
struct id_list {
	struct content_id *ids;
	size_t n, room;
};

static bool list_add(struct id_list *list, const struct content_id *ids, unsigned n)
{
	if (list->n + n > list->room) {
		size_t room = list->room ? 2 * list->room : 64;
		struct content_id *grown = reallocarray(list->ids, room, sizeof *grown);

		if (!grown)
			return false;
		list->ids = grown;
		list->room = room;
	}
	memcpy(&list->ids[list->n], ids, n * sizeof *ids);
	list->n += n;
	return true;
}

static void add_text(const struct json_at *at, struct id_list *list, const char *text)
{
	struct content_id ids[CONTENT_ID_LINK_IDS];
	const char *why;
	unsigned n = content_id_parse(text, (uint32_t)strlen(text), ids, &why);

	if (!n)
		json_at_error(at, "\"%.100s\" %s", text, why);
	else if (!list_add(list, ids, n))
		json_at_error(at, "no memory");
}

// Takes the list. The set's index in policy->ids; UINT32_MAX: reported.
static uint32_t set_take(const struct json_at *at, struct policy_reader *reader, const char *name,
	struct id_list *list)
{
	struct policy *policy = reader->policy;
	struct named_ids *sets;
	struct hash_seed seed;
	uint32_t index = UINT32_MAX;

	reader->n_content_ids += list->n;
	if (reader->n_content_ids > CONTENT_IDS_MAX) {
		json_at_error(at, "more than %d content ids in all sets", CONTENT_IDS_MAX);
		free(list->ids);
		return index;
	}
	sets = reallocarray(policy->ids, policy->n_ids + 1, sizeof *sets);
	if (sets) {
		policy->ids = sets;
		sets[policy->n_ids] = (struct named_ids){.name = name ? strdup(name) : NULL};
		if (getrandom(&seed, sizeof seed, 0) != sizeof seed)
			seed = HASH_SEED_FIXED;
		sets[policy->n_ids].set = content_id_set_new(list->ids, (uint32_t)list->n, &seed);
		if (sets[policy->n_ids].set && (!name || sets[policy->n_ids].name))
			index = policy->n_ids++;
		else
			free(sets[policy->n_ids].name);
	}
	if (index == UINT32_MAX)
		json_at_error(at, "no memory");
	free(list->ids);
	return index;
}

// ---- files ----

struct file_reading {
	const struct json_at *at;
	const char *path;
	struct id_list *list;
	unsigned errors;
};

static bool take_line(
	void *ctx, unsigned line, const struct content_id *ids, unsigned n, const char *wrong)
{
	struct file_reading *reading = ctx;
	char where[32];

	if (wrong) {
		snprintf(where, sizeof where, "line %u", line);
		config_error_add(reading->at->doc->errors, reading->path, where, "%s", wrong);
		return ++reading->errors < FILE_ERRORS_MAX;
	}
	if (reading->list->n + n > CONTENT_IDS_MAX || !list_add(reading->list, ids, n)) {
		config_error_add(reading->at->doc->errors, reading->path, "", "more than %d ids",
			CONTENT_IDS_MAX);
		return false;
	}
	return true;
}

// A name beside the policy, unless it is absolute.
static void file_path(const char *policy_file, const char *name, char *out, size_t out_len)
{
	const char *slash = strrchr(policy_file, '/');
	int len = slash && name[0] != '/' ? (int)(slash - policy_file) + 1 : 0;

	snprintf(out, out_len, "%.*s%s", len, policy_file, name);
}

static void read_file(const struct json_at *at, struct id_list *list)
{
	char path[PATH_MAX];
	struct file_reading reading = {.at = at, .path = path, .list = list};
	const char *name;

	if (!json_want_text(at, 1, 1023, &name))
		return;
	file_path(at->doc->file, name, path, sizeof path);
	int rc = id_lines_read(path, take_line, &reading);

	if (rc < 0)
		json_at_error(
			at, "the file of content ids %s cannot be read: %s", path, strerror(-rc));
}

static void read_list(const struct json_at *at, struct id_list *list)
{
	struct json_at item = {0};

	if (!json_want_array(at, 0, CONTENT_IDS_MAX))
		return;
	while (json_at_next(at, &item)) {
		const char *text;

		if (json_want_text(&item, 1, CONTENT_ID_LINK_MAX, &text))
			add_text(&item, list, text);
	}
}

void policy_read_content_ids(const struct json_at *at, struct policy_reader *reader)
{
	const char *name;
	json_t *value;

	if (!at->value || !json_want_object(at))
		return;
	json_object_foreach (at->value, name, value) {
		struct json_at child = json_at_key(at, name, value);
		struct id_list list = {0};

		policy_name_is_good(&child);
		if (json_is_string(value))
			read_file(&child, &list);
		else
			read_list(&child, &list);
		set_take(&child, reader, name, &list);
	}
}

// ---- of an entry ----

// An id has a colon, a name of a set none.
static bool is_name(const char *text)
{
	return !strchr(text, ':');
}

static bool is_bare_hash(const char *name)
{
	char id[sizeof("btih:") + 40];
	struct content_id ids[CONTENT_ID_LINK_IDS];
	const char *why;
	int n = snprintf(id, sizeof(id), "btih:%s", name);

	return n > 0 && (size_t)n < sizeof(id) && content_id_parse(id, (uint32_t)n, ids, &why);
}

static uint32_t find_set(
	const struct json_at *at, const struct policy_reader *reader, const char *name)
{
	const struct policy *policy = reader->policy;
	struct suggestion suggestion = suggest_for(name);

	for (uint32_t i = 0; i < policy->n_ids; i++) {
		if (!policy->ids[i].name)
			continue;
		if (strcmp(policy->ids[i].name, name) == 0)
			return i;
		suggest_offer(&suggestion, policy->ids[i].name);
	}
	if (is_bare_hash(name)) {
		json_at_error(at,
			"no set of content ids is named \"%.64s\": if it is a torrent's hash, "
			"write "
			"btih:%.64s",
			name, name);
		return UINT32_MAX;
	}
	policy_report_unnamed(at, "set of content ids", &suggestion,
		"define it in $.content_ids, or write an id (btih:...)");
	return UINT32_MAX;
}

void policy_read_entry_ids(
	const struct json_at *at, struct policy_reader *reader, struct transfer_entry *entry)
{
	struct json_at item = {0};
	struct id_list list = {0};
	uint32_t set;

	entry->has_id = true;
	if (!json_want_array(at, 1, POLICY_CONTENT_ID_LIST_MAX))
		return;
	entry->id_sets = calloc(json_array_size(at->value) + 1, sizeof *entry->id_sets);
	if (!entry->id_sets) {
		json_at_error(at, "no memory");
		return;
	}
	while (json_at_next(at, &item)) {
		const char *text;

		if (!json_want_text(&item, 1, CONTENT_ID_LINK_MAX, &text))
			continue;
		if (!is_name(text)) {
			add_text(&item, &list, text);
			continue;
		}
		set = find_set(&item, reader, text);
		if (set != UINT32_MAX)
			entry->id_sets[entry->n_id_sets++] = set;
	}
	if (!list.n)
		return;
	set = set_take(at, reader, NULL, &list);
	if (set != UINT32_MAX)
		entry->id_sets[entry->n_id_sets++] = set;
}

// ---- as JSON ----

static int put_ids(json_t *array, const struct content_id_set *set)
{
	char text[CONTENT_ID_TEXT];
	int rc = array ? 0 : -1;

	for (uint32_t i = 0; i < set->n && !rc; i++)
		rc = json_array_append_new(
			array, json_string(content_id_print(&set->ids[i], text)));
	return rc;
}

json_t *policy_content_ids_json(const struct policy *policy)
{
	json_t *object = json_object();
	int rc = object ? 0 : -1;

	for (uint32_t i = 0; i < policy->n_ids && !rc; i++) {
		json_t *array;

		if (!policy->ids[i].name)
			continue;
		array = json_array();
		rc = put_ids(array, policy->ids[i].set);
		if (rc)
			json_decref(array);
		else
			rc = json_object_set_new(object, policy->ids[i].name, array);
	}
	if (!rc)
		return object;
	json_decref(object);
	return NULL;
}

json_t *policy_entry_ids_json(const struct policy *policy, const struct transfer_entry *entry)
{
	json_t *array = json_array();
	int rc = array ? 0 : -1;

	for (uint32_t i = 0; i < entry->n_id_sets && !rc; i++) {
		const struct named_ids *ids = &policy->ids[entry->id_sets[i]];

		rc = ids->name ? json_array_append_new(array, json_string(ids->name))
			       : put_ids(array, ids->set);
	}
	if (!rc)
		return array;
	json_decref(array);
	return NULL;
}
