// SPDX-License-Identifier: BSD-3-Clause
#include "operations.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

uint32_t operations_below(uint64_t *random, uint32_t limit)
{
	*random ^= *random >> 12; // xorshift64*: the same everywhere
	*random ^= *random << 25;
	*random ^= *random >> 27;
	return (uint32_t)((*random * 0x2545f4914f6cdd1d >> 33) % limit);
}

static void told(const struct operations *kind, const uint8_t *all, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		fprintf(stderr, "  %3u ", i);
		kind->print(&all[i * kind->size]);
		fputc('\n', stderr);
	}
}

// Leaves out what is not needed to fail, in ever smaller pieces.
static unsigned cut_down(const struct operations *kind, uint8_t *all, unsigned n)
{
	uint8_t *fewer = malloc(kind->most * kind->size);
	char why[WHY_BYTES];

	if (!fewer)
		abort();
	for (unsigned piece = n / 2; piece > 0; piece /= 2)
		for (unsigned at = 0; at + piece <= n;) {
			memcpy(fewer, all, at * kind->size);
			memcpy(&fewer[at * kind->size], &all[(at + piece) * kind->size],
				(n - at - piece) * kind->size);
			if (kind->run(fewer, n - piece, why)) {
				at += piece;
				continue;
			}
			n -= piece;
			memcpy(all, fewer, n * kind->size);
		}
	free(fewer);
	return n;
}

unsigned operations_campaign(const struct operations *kind, unsigned seeds)
{
	const char *one = getenv("SLUICE_SEED");
	uint64_t first = one ? strtoull(one, NULL, 0) : 1;
	uint8_t *all = malloc(kind->most * kind->size);
	unsigned failed = 0;

	if (!all)
		abort();
	seeds = one ? 1 : getenv("SLUICE_LONG") ? seeds * 100 : seeds;
	printf("%s: seeds %llu to %llu, %u operations each\n", kind->name,
		(unsigned long long)first, (unsigned long long)(first + seeds - 1), kind->most);
	for (uint64_t seed = first; seed < first + seeds && !failed; seed++) {
		uint64_t random = seed * 0x9e3779b97f4a7c15 | 1;
		char why[WHY_BYTES] = "";
		unsigned n = kind->most;

		memset(all, 0, kind->most * kind->size);
		for (unsigned i = 0; i < n; i++)
			kind->make(&all[i * kind->size], i, &random);
		if (kind->run(all, n, why))
			continue;
		failed++;
		fprintf(stderr, "%s: SLUICE_SEED=%llu: %s\ncut down:\n", kind->name,
			(unsigned long long)seed, why);
		n = cut_down(kind, all, n);
		told(kind, all, n);
		kind->run(all, n, why);
		fprintf(stderr, "%s\n", why);
	}
	free(all);
	return failed;
}
