// SPDX-License-Identifier: BSD-3-Clause
// Rule ids and their numbers. A number is never given twice, so that a counter or a cache entry of
// a rule that went away is never taken for another's.
#include <stdlib.h>
#include <string.h>
#include "control/policy/load.h"

struct rule_names {
	struct app_names *apps;
	char **ids; // by uid - 1
	uint32_t n;
	uint32_t room;
	uint32_t *slots;  // open addressing: uid, or 0
	uint32_t n_slots; // a power of two, at least twice n
};

struct rule_names *rule_names_new(void)
{
	struct rule_names *names = calloc(1, sizeof *names);

	if (names)
		names->apps = app_names_new();
	if (names && names->apps)
		return names;
	free(names);
	return NULL;
}

void rule_names_free(struct rule_names *names)
{
	if (!names)
		return;
	for (uint32_t i = 0; i < names->n; i++)
		free(names->ids[i]);
	free(names->ids);
	free(names->slots);
	app_names_free(names->apps);
	free(names);
}

// FNV-1a.
static uint32_t hash(const char *text)
{
	uint32_t h = 2166136261u;

	for (; *text; text++)
		h = (h ^ (unsigned char)*text) * 16777619u;
	return h;
}

// The slot of `id`, or the empty one where it belongs.
static uint32_t *slot_of(const struct rule_names *names, const char *id)
{
	uint32_t at = hash(id) & (names->n_slots - 1);

	while (names->slots[at] && strcmp(names->ids[names->slots[at] - 1], id) != 0)
		at = (at + 1) & (names->n_slots - 1);
	return &names->slots[at];
}

static bool grow(struct rule_names *names)
{
	if (names->n == names->room) {
		uint32_t room = names->room ? names->room * 2 : 64;
		char **ids = reallocarray(names->ids, room, sizeof *ids);

		if (!ids)
			return false;
		names->ids = ids;
		names->room = room;
	}
	if (names->n_slots < (names->n + 1) * 2) {
		uint32_t n_slots = names->n_slots ? names->n_slots * 2 : 128;
		uint32_t *slots = calloc(n_slots, sizeof *slots);

		if (!slots)
			return false;
		free(names->slots);
		names->slots = slots;
		names->n_slots = n_slots;
		for (uint32_t i = 0; i < names->n; i++)
			*slot_of(names, names->ids[i]) = i + 1;
	}
	return true;
}

uint32_t rule_names_intern(struct rule_names *names, const char *id)
{
	uint32_t *slot;

	if (!grow(names))
		return 0;
	slot = slot_of(names, id);
	if (!*slot) {
		char *copy = strdup(id);

		if (!copy)
			return 0;
		names->ids[names->n++] = copy;
		*slot = names->n;
	}
	return *slot;
}

uint32_t rule_names_find(const struct rule_names *names, const char *id)
{
	return names->n_slots ? *slot_of(names, id) : 0;
}

const char *rule_names_get(const struct rule_names *names, uint32_t uid)
{
	return uid && uid <= names->n ? names->ids[uid - 1] : NULL;
}

struct app_names *rule_names_apps(const struct rule_names *names)
{
	return names->apps;
}
