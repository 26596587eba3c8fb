// SPDX-License-Identifier: BSD-3-Clause
#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "policy.h"

static bool is_mapped(const uint8_t address[16])
{
	static const uint8_t prefix[12] = {[10] = 0xff, [11] = 0xff};

	return !memcmp(address, prefix, sizeof(prefix));
}

static bool has_v4(const struct address_set *set, uint32_t address)
{
	uint32_t low = 0, high = set->n_v4;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (address < set->v4[middle].first)
			high = middle;
		else if (address > set->v4[middle].last)
			low = middle + 1;
		else
			return true;
	}
	return false;
}

static bool has_v6(const struct address_set *set, const uint8_t address[16])
{
	uint32_t low = 0, high = set->n_v6;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (memcmp(address, set->v6[middle].first, 16) < 0)
			high = middle;
		else if (memcmp(address, set->v6[middle].last, 16) > 0)
			low = middle + 1;
		else
			return true;
	}
	return false;
}

bool address_set_has(const struct address_set *set, const uint8_t address[16])
{
	if (is_mapped(address)) {
		uint32_t v4;

		memcpy(&v4, address + 12, 4);
		return has_v4(set, ntohl(v4));
	}
	return has_v6(set, address);
}

static int add_v4(struct address_set *set, uint32_t address, unsigned length)
{
	uint32_t host = length ? (uint32_t)((1ull << (32 - length)) - 1) : UINT32_MAX;

	if (address & host)
		return -ERANGE;
	struct address_range4 *grown =
		reallocarray(set->v4, set->n_v4 + 1, sizeof(struct address_range4));

	if (!grown)
		return -ENOMEM;
	set->v4 = grown;
	set->v4[set->n_v4++] = (struct address_range4){address, address | host};
	return 0;
}

static int add_v6(struct address_set *set, const uint8_t address[16], unsigned length)
{
	struct address_range6 range;

	for (unsigned i = 0; i < 16; i++) {
		unsigned bits = length > 8 * i ? length - 8 * i : 0;
		uint8_t host = bits >= 8 ? 0 : (uint8_t)(0xff >> bits);

		if (address[i] & host)
			return -ERANGE;
		range.first[i] = address[i];
		range.last[i] = address[i] | host;
	}
	struct address_range6 *grown =
		reallocarray(set->v6, set->n_v6 + 1, sizeof(struct address_range6));

	if (!grown)
		return -ENOMEM;
	set->v6 = grown;
	set->v6[set->n_v6++] = range;
	return 0;
}

int address_set_add(struct address_set *set, const char *text)
{
	char copy[INET6_ADDRSTRLEN + 5];
	uint8_t address[16];
	size_t size = strlen(text);

	if (size >= sizeof(copy))
		return -EINVAL;
	memcpy(copy, text, size + 1);
	char *slash = strchr(copy, '/');
	long length = -1;

	if (slash) {
		char *end;

		*slash++ = '\0';
		if (*slash < '0' || *slash > '9')
			return -EINVAL;
		length = strtol(slash, &end, 10);
		if (*end || length > 128)
			return -EINVAL;
	}
	if (inet_pton(AF_INET, copy, address) == 1) {
		uint32_t v4;

		if (length > 32)
			return -EINVAL;
		memcpy(&v4, address, 4);
		return add_v4(set, ntohl(v4), length < 0 ? 32 : (unsigned)length);
	}
	if (inet_pton(AF_INET6, copy, address) == 1)
		return add_v6(set, address, length < 0 ? 128 : (unsigned)length);
	return -EINVAL;
}

static int compare_v4(const void *a, const void *b)
{
	const struct address_range4 *x = a, *y = b;

	return x->first < y->first ? -1 : x->first > y->first;
}

static int compare_v6(const void *a, const void *b)
{
	return memcmp(a, b, 16);
}

// CIDR blocks either nest or are disjoint: a range that begins inside its predecessor ends there.
void address_set_seal(struct address_set *set)
{
	uint32_t kept = 0;

	if (set->n_v4)
		qsort(set->v4, set->n_v4, sizeof(set->v4[0]), compare_v4);
	for (uint32_t i = 0; i < set->n_v4; i++) {
		if (kept && set->v4[i].first <= set->v4[kept - 1].last) {
			if (set->v4[i].last > set->v4[kept - 1].last)
				set->v4[kept - 1].last = set->v4[i].last;
			continue;
		}
		set->v4[kept++] = set->v4[i];
	}
	set->n_v4 = kept;
	kept = 0;
	if (set->n_v6)
		qsort(set->v6, set->n_v6, sizeof(set->v6[0]), compare_v6);
	for (uint32_t i = 0; i < set->n_v6; i++) {
		struct address_range6 *before = kept ? &set->v6[kept - 1] : NULL;

		if (before && memcmp(set->v6[i].first, before->last, 16) <= 0) {
			if (memcmp(set->v6[i].last, before->last, 16) > 0)
				memcpy(before->last, set->v6[i].last, 16);
			continue;
		}
		set->v6[kept++] = set->v6[i];
	}
	set->n_v6 = kept;
}

void address_set_free(struct address_set *set)
{
	free(set->v4);
	free(set->v6);
	*set = (struct address_set){0};
}

const struct rule *policy_rule_by_uid(const struct policy *policy, uint32_t uid)
{
	uint32_t low = 0, high = policy->n_rules;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (policy->by_uid[middle]->uid == uid)
			return policy->by_uid[middle];
		if (policy->by_uid[middle]->uid < uid)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}

void policy_free(struct policy *policy)
{
	if (!policy)
		return;
	for (uint32_t i = 0; i < policy->n_rules; i++) {
		address_set_free(&policy->rules[i].source);
		address_set_free(&policy->rules[i].destination);
	}
	address_set_free(&policy->conn_cache.exempt);
	for (unsigned i = 0; i < policy->n_scratch; i++)
		sigdb_scratch_free(policy->scratch[i]);
	free(policy->rules);
	free(policy->by_uid);
	free(policy);
}
