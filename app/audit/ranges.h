// SPDX-License-Identifier: BSD-3-Clause
// Which bytes of a file came: ranges in order that do not touch. Pure.
#ifndef SLUICE_AUDIT_RANGES_H
#define SLUICE_AUDIT_RANGES_H

#include <stdint.h>

#define RANGES_MAX 65536 // 1 MiB; a file of 1 GiB in blocks of 16 KiB has no more

struct range {
	uint64_t from, to;
};

struct ranges { // {0} is without any
	struct range *at;
	unsigned n, room;
	uint64_t bytes; // in all of them
};

// Adds [from, to). 0, or -ENOMEM, -E2BIG (more than RANGES_MAX), and nothing was added.
int ranges_add(struct ranges *ranges, uint64_t from, uint64_t to);
// Behind the last one, 0 without any.
uint64_t ranges_end(const struct ranges *ranges);
void ranges_free(struct ranges *ranges);

#endif
