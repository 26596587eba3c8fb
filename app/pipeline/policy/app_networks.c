// SPDX-License-Identifier: BSD-3-Clause
// Finds the application of an address by binary search over ranges.
#include "pipeline/policy/app_networks.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "pipeline/policy/policy.h"

static const uint8_t v4_mapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

static unsigned family_of(const uint8_t address[16])
{
	return memcmp(address, v4_mapped, sizeof v4_mapped) != 0;
}

// One more, or one less; false when it wraps.
static bool next(uint8_t address[16])
{
	for (int i = 15; i >= 0; i--)
		if (++address[i])
			return true;
	return false;
}

static void previous(uint8_t address[16])
{
	for (int i = 15; i >= 0; i--)
		if (address[i]--)
			return;
}

static void range_of(
	const struct address_set *set, unsigned family, uint32_t index, struct app_network *out)
{
	const uint32_t ends[2] = {
		family ? 0 : set->v4[index].first, family ? 0 : set->v4[index].last};

	if (family) {
		memcpy(out->first, set->v6[index].first, 16);
		memcpy(out->last, set->v6[index].last, 16);
		return;
	}
	memcpy(out->first, v4_mapped, 12);
	memcpy(out->last, v4_mapped, 12);
	for (unsigned i = 0; i < 4; i++) {
		out->first[12 + i] = (uint8_t)(ends[0] >> (24 - 8 * i));
		out->last[12 + i] = (uint8_t)(ends[1] >> (24 - 8 * i));
	}
}

// Puts what of `range` the known ranges leave into `out`, and those that it passes. `*known` is the
// first that was not put yet; `*covered` ends the last that was.
static uint32_t lay(struct app_network range, const struct app_network *ranges, uint32_t n,
	uint32_t *known, struct app_network *out, uint32_t n_out)
{
	bool open = true;

	if (n_out && memcmp(out[n_out - 1].last, range.first, 16) >= 0) {
		if (memcmp(out[n_out - 1].last, range.last, 16) >= 0)
			return n_out;
		memcpy(range.first, out[n_out - 1].last, 16);
		open = next(range.first);
	}
	while (open && *known < n && memcmp(ranges[*known].first, range.last, 16) <= 0) {
		const struct app_network *there = &ranges[(*known)++];

		if (memcmp(there->last, range.first, 16) < 0) {
			out[n_out++] = *there;
			continue;
		}
		if (memcmp(range.first, there->first, 16) < 0) {
			out[n_out] = range;
			memcpy(out[n_out].last, there->first, 16);
			previous(out[n_out++].last);
		}
		out[n_out++] = *there;
		memcpy(range.first, there->last, 16);
		open = next(range.first) && memcmp(range.first, range.last, 16) <= 0;
	}
	if (open)
		out[n_out++] = range;
	return n_out;
}

static int add_family(
	struct app_networks *networks, const struct address_set *set, unsigned family, uint16_t app)
{
	const struct app_network *ranges = networks->ranges[family];
	uint32_t n = networks->n[family], n_set = family ? set->n_v6 : set->n_v4, known = 0;
	uint32_t n_out = 0;

	if (!n_set)
		return 0;
	// each known range stands for itself, and ends a gap before it
	struct app_network *out = calloc((size_t)2 * n + n_set, sizeof *out);

	if (!out)
		return -ENOMEM;
	for (uint32_t i = 0; i < n_set; i++) {
		struct app_network range = {.app = app};

		range_of(set, family, i, &range);
		n_out = lay(range, ranges, n, &known, out, n_out);
	}
	while (known < n)
		out[n_out++] = ranges[known++];
	free(networks->ranges[family]);
	networks->ranges[family] = out;
	networks->n[family] = n_out;
	return 0;
}

int app_networks_add(struct app_networks *networks, const struct address_set *set, uint16_t app)
{
	int rc = add_family(networks, set, 0, app);

	return rc ? rc : add_family(networks, set, 1, app);
}

uint16_t app_networks_find(const struct app_networks *networks, const uint8_t address[16])
{
	unsigned family = family_of(address);
	const struct app_network *ranges = networks->ranges[family];
	uint32_t low = 0, high = networks->n[family];

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (memcmp(ranges[middle].last, address, 16) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low < networks->n[family] && memcmp(ranges[low].first, address, 16) <= 0
		       ? ranges[low].app
		       : APP_NONE;
}

void app_networks_free(struct app_networks *networks)
{
	free(networks->ranges[0]);
	free(networks->ranges[1]);
	*networks = (struct app_networks){0};
}
