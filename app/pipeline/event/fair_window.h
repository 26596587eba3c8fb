// SPDX-License-Identifier: BSD-3-Clause
// How many records are written in a second, so that none of the sources hides what others do: half
// of the limit is for sources that have had few of them. Each side of the gateway has a limit of
// its own, as addresses cannot be forged from the other one. A source is an IPv4 address or an IPv6
// /64; counts are shared by a seeded hash, so never too low. One user: the lcore.
#ifndef SLUICE_FAIR_WINDOW_H
#define SLUICE_FAIR_WINDOW_H

#include <stdbool.h>
#include <stdint.h>
#include "pipeline/vocab/hash_seed.h"

#define FAIR_WINDOW_SLOTS 128 // a power of two
#define FAIR_WINDOW_FEW   8   // a source's part of the limit when half of it is used up

struct fair_window {
	uint64_t since_ns;
	uint16_t taken[2];                       // by side: inside or not
	uint8_t of_source[2][FAIR_WINDOW_SLOTS]; // saturating
};

// Begins the next second when it is time. True: nothing is left of this one, whoever asks.
bool fair_window_is_full(struct fair_window *window, bool inside, unsigned limit, uint64_t now_ns);
// Then, of this source (v4-mapped for IPv4). False: it has had its part.
bool fair_window_take(struct fair_window *window, const struct hash_seed *seed,
	const uint8_t source[16], bool inside, unsigned limit);

#endif
