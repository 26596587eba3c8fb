// SPDX-License-Identifier: BSD-3-Clause
// Fills, seals and searches sets of addresses.
#include "pipeline/policy/address_set.h"
#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "pipeline/vocab/address.h"

#define ADDRESS_TEXT_MAX 64 // longer than any address with its prefix

static uint32_t host32(const uint8_t bytes[4])
{
	return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 |
	       bytes[3];
}

static bool has4(const struct address_set *set, uint32_t address)
{
	uint32_t low = 0, high = set->n_v4;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (set->v4[middle].last < address)
			low = middle + 1;
		else
			high = middle;
	}
	return low < set->n_v4 && set->v4[low].first <= address;
}

static bool has6(const struct address_set *set, const uint8_t address[16])
{
	uint32_t low = 0, high = set->n_v6;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (memcmp(set->v6[middle].last, address, 16) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low < set->n_v6 && memcmp(set->v6[low].first, address, 16) <= 0;
}

bool address_set_has(const struct address_set *set, const uint8_t address[16])
{
	if (address_is_mapped(address))
		return has4(set, host32(address + 12));
	return has6(set, address);
}

// Room for one more. The capacity is the next power of two from 8 on, so it need not be stored;
// after a seal it may be larger than that, and what realloc keeps still holds all entries.
static void *room(void *array, uint32_t n, size_t size)
{
	if (n < 8 ? n != 0 : (n & (n - 1)) != 0)
		return array;
	return realloc(array, (n < 8 ? 8 : (size_t)n * 2) * size);
}

static int put4(struct address_set *set, struct address_range4 range)
{
	struct address_range4 *grown = room(set->v4, set->n_v4, sizeof *grown);

	if (!grown)
		return -ENOMEM;
	set->v4 = grown;
	set->v4[set->n_v4++] = range;
	return 0;
}

static int put6(struct address_set *set, struct address_range6 range)
{
	struct address_range6 *grown = room(set->v6, set->n_v6, sizeof *grown);

	if (!grown)
		return -ENOMEM;
	set->v6 = grown;
	set->v6[set->n_v6++] = range;
	return 0;
}

int address_set_merge(struct address_set *set, const struct address_set *from)
{
	int rc = 0;

	for (uint32_t i = 0; i < from->n_v4 && !rc; i++)
		rc = put4(set, from->v4[i]);
	for (uint32_t i = 0; i < from->n_v6 && !rc; i++)
		rc = put6(set, from->v6[i]);
	return rc;
}

static int add4(struct address_set *set, uint32_t address, unsigned prefix)
{
	uint32_t host = prefix ? (uint32_t)((1ull << (32 - prefix)) - 1) : UINT32_MAX;

	if (address & host)
		return -ERANGE;
	return put4(set, (struct address_range4){address, address | host});
}

static int add6(struct address_set *set, const uint8_t address[16], unsigned prefix)
{
	struct address_range6 range;

	for (unsigned i = 0; i < 16; i++) {
		unsigned bits = prefix >= 8 * (i + 1) ? 8 : prefix <= 8 * i ? 0 : prefix - 8 * i;
		uint8_t host = (uint8_t)(0xff >> bits);

		if (address[i] & host)
			return -ERANGE;
		range.first[i] = address[i];
		range.last[i] = address[i] | host;
	}
	return put6(set, range);
}

// "/24": decimal digits without a leading zero, at most `max`.
static int prefix_parse(const char *text, unsigned max, unsigned *out)
{
	unsigned value = 0;

	if (!*text || strlen(text) > 3 || (text[0] == '0' && text[1]))
		return -EINVAL;
	for (; *text; text++) {
		if (*text < '0' || *text > '9')
			return -EINVAL;
		value = value * 10 + (unsigned)(*text - '0');
	}
	if (value > max)
		return -EINVAL;
	*out = value;
	return 0;
}

int address_set_add(struct address_set *set, const char *text)
{
	char host[ADDRESS_TEXT_MAX];
	const char *slash = strchr(text, '/');
	size_t len = slash ? (size_t)(slash - text) : strlen(text);
	uint8_t bytes[16];
	unsigned prefix;

	if (!len || len >= sizeof host)
		return -EINVAL;
	memcpy(host, text, len);
	host[len] = 0;
	if (inet_pton(AF_INET, host, bytes) == 1) {
		prefix = 32;
		if (slash && prefix_parse(slash + 1, 32, &prefix) < 0)
			return -EINVAL;
		return add4(set, host32(bytes), prefix);
	}
	if (inet_pton(AF_INET6, host, bytes) != 1)
		return -EINVAL;
	prefix = 128;
	if (slash && prefix_parse(slash + 1, 128, &prefix) < 0)
		return -EINVAL;
	// A flow's IPv4 address is v4-mapped: what is written so means IPv4.
	if (address_is_mapped(bytes) && prefix >= 96)
		return add4(set, host32(bytes + 12), prefix - 96);
	return add6(set, bytes, prefix);
}

static int compare4(const void *a, const void *b)
{
	const struct address_range4 *x = a, *y = b;

	return x->first != y->first ? (x->first < y->first ? -1 : 1)
				    : (x->last > y->last) - (x->last < y->last);
}

static int compare6(const void *a, const void *b)
{
	const struct address_range6 *x = a, *y = b;
	int order = memcmp(x->first, y->first, 16);

	return order ? order : memcmp(x->last, y->last, 16);
}

// True if `next` is at most one after `last`: the ranges overlap or touch.
static bool joins6(const uint8_t last[16], const uint8_t next[16])
{
	uint8_t after[16];
	int i = 15;

	memcpy(after, last, 16);
	while (i >= 0 && ++after[i] == 0)
		i--;
	return i < 0 || memcmp(next, after, 16) <= 0;
}

void address_set_seal(struct address_set *set)
{
	uint32_t n = 0;

	if (set->n_v4)
		qsort(set->v4, set->n_v4, sizeof *set->v4, compare4);
	for (uint32_t i = 0; i < set->n_v4; i++) {
		struct address_range4 *top = n ? &set->v4[n - 1] : NULL;

		if (top && (top->last == UINT32_MAX || set->v4[i].first <= top->last + 1)) {
			if (set->v4[i].last > top->last)
				top->last = set->v4[i].last;
		} else {
			set->v4[n++] = set->v4[i];
		}
	}
	set->n_v4 = n;

	n = 0;
	if (set->n_v6)
		qsort(set->v6, set->n_v6, sizeof *set->v6, compare6);
	for (uint32_t i = 0; i < set->n_v6; i++) {
		struct address_range6 *top = n ? &set->v6[n - 1] : NULL;

		if (top && joins6(top->last, set->v6[i].first)) {
			if (memcmp(set->v6[i].last, top->last, 16) > 0)
				memcpy(top->last, set->v6[i].last, 16);
		} else {
			set->v6[n++] = set->v6[i];
		}
	}
	set->n_v6 = n;
}

void address_set_free(struct address_set *set)
{
	free(set->v4);
	free(set->v6);
	*set = (struct address_set){0};
}
