// SPDX-License-Identifier: BSD-3-Clause
// Which halves of flows have files under scan that they wait for: how many of these have a job, how
// many stand with their newest bytes, and what is new since the last call. Found by a hash, so that
// no list of files is walked for a packet or a verdict. The owning data lcore only.
#ifndef SLUICE_SCAN_HALVES_H
#define SLUICE_SCAN_HALVES_H

#include <stdbool.h>
#include <stdint.h>

struct scan_half {
	uint32_t flow, generation;
	uint32_t n_files;
	uint32_t n_waits;  // of these, have a job that is awaited
	uint32_t n_stands; // have newest bytes that wait for what comes behind them
	uint32_t next;     // of its bucket, or free
	uint8_t half;
	uint8_t since; // enum scan_since
};

struct scan_halves;

// For `n` files. NULL: no memory.
struct scan_halves *scan_halves_new(uint32_t n, int socket);
void scan_halves_free(struct scan_halves *halves); // NULL is allowed

// The half of one more file, and of one less; numbers begin at 1.
uint32_t scan_half_take(
	struct scan_halves *halves, uint32_t flow, uint32_t generation, unsigned half);
void scan_half_give(struct scan_halves *halves, uint32_t number);
struct scan_half *scan_half_at(struct scan_halves *halves, uint32_t number);
// 0: it has no file.
uint32_t scan_half_find(
	const struct scan_halves *halves, uint32_t flow, uint32_t generation, unsigned half);

#endif
