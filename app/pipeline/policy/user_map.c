// SPDX-License-Identifier: BSD-3-Clause
// Finds the user of an address by binary search over ranges.
#include "pipeline/policy/user_map.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "pipeline/policy/address_set.h"
#include "pipeline/vocab/address.h"

// Room for one more; the capacity is the next power of two from 8 on.
static void *room(void *array, uint32_t n, size_t size)
{
	if (n < 8 ? n != 0 : (n & (n - 1)) != 0)
		return array;
	return reallocarray(array, n < 8 ? 8 : (size_t)n * 2, size);
}

int user_map_add(struct user_map *map, uint32_t user, uint32_t entry, const char *text)
{
	struct address_set one = {0}; // there is one parser of addresses
	int rc = address_set_add(&one, text);

	if (!rc && one.n_v4) {
		struct user_range4 *grown = room(map->v4, map->n_v4, sizeof *grown);

		if (grown) {
			map->v4 = grown;
			grown[map->n_v4++] = (struct user_range4){.first = one.v4->first,
				.last = one.v4->last,
				.user = user,
				.entry = entry};
		} else {
			rc = -ENOMEM;
		}
	} else if (!rc) {
		struct user_range6 *grown = room(map->v6, map->n_v6, sizeof *grown);

		if (grown) {
			map->v6 = grown;
			memcpy(grown[map->n_v6].first, one.v6->first, 16);
			memcpy(grown[map->n_v6].last, one.v6->last, 16);
			grown[map->n_v6].user = user;
			grown[map->n_v6++].entry = entry;
		} else {
			rc = -ENOMEM;
		}
	}
	address_set_free(&one);
	return rc;
}

static int compare4(const void *a, const void *b)
{
	const struct user_range4 *x = a, *y = b;

	if (x->first != y->first)
		return x->first < y->first ? -1 : 1;
	return (x->last > y->last) - (x->last < y->last);
}

static int compare6(const void *a, const void *b)
{
	const struct user_range6 *x = a, *y = b;
	int order = memcmp(x->first, y->first, 16);

	return order ? order : memcmp(x->last, y->last, 16);
}

static int clashes(struct user_clash *clash, uint32_t user_a, uint32_t entry_a, uint32_t user_b,
	uint32_t entry_b)
{
	*clash = (struct user_clash){.user = {user_a, user_b}, .entry = {entry_a, entry_b}};
	return -EEXIST;
}

static int seal4(struct user_map *map, struct user_clash *clash)
{
	uint32_t n = 0;

	if (map->n_v4)
		qsort(map->v4, map->n_v4, sizeof *map->v4, compare4);
	for (uint32_t i = 0; i < map->n_v4; i++) {
		struct user_range4 *top = n ? &map->v4[n - 1] : NULL, *next = &map->v4[i];

		if (!top || next->first > top->last) {
			map->v4[n++] = *next;
		} else if (top->user != next->user) {
			return clashes(clash, top->user, top->entry, next->user, next->entry);
		} else if (next->last > top->last) {
			top->last = next->last;
		}
	}
	map->n_v4 = n;
	return 0;
}

static int seal6(struct user_map *map, struct user_clash *clash)
{
	uint32_t n = 0;

	if (map->n_v6)
		qsort(map->v6, map->n_v6, sizeof *map->v6, compare6);
	for (uint32_t i = 0; i < map->n_v6; i++) {
		struct user_range6 *top = n ? &map->v6[n - 1] : NULL, *next = &map->v6[i];

		if (!top || memcmp(next->first, top->last, 16) > 0) {
			map->v6[n++] = *next;
		} else if (top->user != next->user) {
			return clashes(clash, top->user, top->entry, next->user, next->entry);
		} else if (memcmp(next->last, top->last, 16) > 0) {
			memcpy(top->last, next->last, 16);
		}
	}
	map->n_v6 = n;
	return 0;
}

int user_map_seal(struct user_map *map, struct user_clash *clash)
{
	int rc = seal4(map, clash);

	return rc ? rc : seal6(map, clash);
}

void user_map_free(struct user_map *map)
{
	free(map->users);
	free(map->v4);
	free(map->v6);
	*map = (struct user_map){0};
}

static uint32_t find4(const struct user_map *map, uint32_t address)
{
	uint32_t low = 0, high = map->n_v4;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (map->v4[middle].last < address)
			low = middle + 1;
		else
			high = middle;
	}
	return low < map->n_v4 && map->v4[low].first <= address ? map->v4[low].user : USER_NONE;
}

static uint32_t find6(const struct user_map *map, const uint8_t address[16])
{
	uint32_t low = 0, high = map->n_v6;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (memcmp(map->v6[middle].last, address, 16) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low < map->n_v6 && memcmp(map->v6[low].first, address, 16) <= 0 ? map->v6[low].user
									       : USER_NONE;
}

uint32_t user_map_find(const struct user_map *map, const uint8_t address[16])
{
	const uint8_t *a = address + 12;

	if (!map->n_users)
		return USER_NONE;
	if (!address_is_mapped(address))
		return find6(map, address);
	return find4(map, (uint32_t)a[0] << 24 | (uint32_t)a[1] << 16 | (uint32_t)a[2] << 8 | a[3]);
}

uint32_t user_map_named(const struct user_map *map, const char *name)
{
	uint32_t low = 0, high = map->n_users;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (strcmp(map->users[middle].name, name) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low < map->n_users && strcmp(map->users[low].name, name) == 0 ? low : USER_NONE;
}
