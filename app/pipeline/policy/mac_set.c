// SPDX-License-Identifier: BSD-3-Clause
// Sorts and searches blocks of MAC addresses.
#include "pipeline/policy/mac_set.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define GROUP_BIT (1ull << 40) // of the first octet on the wire

static int digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

// "xx:xx:xx:xx:xx:xx" at the beginning of `text`.
static bool parse(const char *text, uint64_t *out)
{
	*out = 0;
	for (unsigned i = 0; i < 6; i++, text += 3) {
		int high = digit(text[0]), low = high < 0 ? -1 : digit(text[1]);

		if (low < 0 || (i < 5 && text[2] != ':'))
			return false;
		*out = *out << 8 | (uint64_t)(high * 16 + low);
	}
	return true;
}

// "/24", or nothing.
static bool parse_prefix(const char *text, unsigned *bits)
{
	*bits = MAC_BITS;
	if (!*text)
		return true;
	if (*text++ != '/' || *text < '1' || *text > '9')
		return false;
	for (*bits = 0; *text >= '0' && *text <= '9' && *bits <= MAC_BITS; text++)
		*bits = *bits * 10 + (unsigned)(*text - '0');
	return !*text && *bits <= MAC_BITS;
}

static int put(struct mac_set *set, struct mac_block block)
{
	// the capacity is the next power of two
	if (!(set->n & (set->n - 1))) {
		struct mac_block *grown =
			reallocarray(set->blocks, set->n ? (size_t)set->n * 2 : 1, sizeof *grown);

		if (!grown)
			return -ENOMEM;
		set->blocks = grown;
	}
	set->blocks[set->n++] = block;
	return 0;
}

int mac_set_add(struct mac_set *set, const char *text)
{
	unsigned bits;
	uint64_t mac, below;

	if (strlen(text) < 17 || !parse(text, &mac) || !parse_prefix(text + 17, &bits))
		return -EINVAL;
	below = (1ull << (MAC_BITS - bits)) - 1;
	if (mac & below)
		return -ERANGE;
	if (bits > 7 && mac & GROUP_BIT)
		return -EADDRNOTAVAIL;
	return put(set, (struct mac_block){mac, mac | below});
}

int mac_set_merge(struct mac_set *set, const struct mac_set *from)
{
	int rc = 0;

	for (uint32_t i = 0; i < from->n && !rc; i++)
		rc = put(set, from->blocks[i]);
	return rc;
}

static int compare(const void *a, const void *b)
{
	const struct mac_block *x = a, *y = b;

	if (x->first != y->first)
		return x->first < y->first ? -1 : 1;
	return (x->last < y->last) - (x->last > y->last); // the larger one first
}

// Blocks lie within one another or apart: what lies within the one before it is nothing new.
void mac_set_seal(struct mac_set *set)
{
	uint32_t n = 0;

	if (!set->n)
		return;
	qsort(set->blocks, set->n, sizeof *set->blocks, compare);
	for (uint32_t i = 0; i < set->n; i++)
		if (!n || set->blocks[i].first > set->blocks[n - 1].last)
			set->blocks[n++] = set->blocks[i];
	set->n = n;
}

bool mac_set_has(const struct mac_set *set, const uint8_t mac[6])
{
	uint32_t low = 0, high = set->n;
	uint64_t number = 0;

	for (unsigned i = 0; i < 6; i++)
		number = number << 8 | mac[i];
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (set->blocks[middle].last < number)
			low = middle + 1;
		else
			high = middle;
	}
	return low < set->n && set->blocks[low].first <= number;
}

unsigned mac_block_prefix(const struct mac_block *block)
{
	return MAC_BITS - (unsigned)__builtin_popcountll(block->last - block->first);
}

void mac_set_free(struct mac_set *set)
{
	free(set->blocks);
	*set = (struct mac_set){0};
}
