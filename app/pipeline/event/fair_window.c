// SPDX-License-Identifier: BSD-3-Clause
// Shares the records of a second among sources by counting those of each.
#include "pipeline/event/fair_window.h"
#include <string.h>
#include "pipeline/vocab/address.h"
#include "pipeline/vocab/tick.h"

bool fair_window_is_full(struct fair_window *window, bool inside, unsigned limit, uint64_t now_ns)
{
	if (now_ns - window->since_ns >= NS_PER_S) {
		memset(window, 0, sizeof(*window));
		window->since_ns = now_ns;
	}
	return window->taken[inside] >= limit;
}

static uint8_t *count_of(struct fair_window *window, const struct hash_seed *seed,
	const uint8_t source[16], bool inside)
{
	uint64_t words[2];

	address_source(source, words);
	return &window->of_source[inside][hash_words(seed, words, 2) % FAIR_WINDOW_SLOTS];
}

bool fair_window_take(struct fair_window *window, const struct hash_seed *seed,
	const uint8_t source[16], bool inside, unsigned limit)
{
	uint8_t *count = count_of(window, seed, source, inside);
	unsigned few = limit > FAIR_WINDOW_FEW ? limit / FAIR_WINDOW_FEW : 1;

	if (window->taken[inside] >= limit || (window->taken[inside] >= limit / 2 && *count >= few))
		return false;
	if (*count < UINT8_MAX)
		++*count;
	window->taken[inside]++;
	return true;
}
