// SPDX-License-Identifier: BSD-3-Clause
// What is left behind in malloc's heap, by programs without AddressSanitizer. With it the numbers
// are 0: it looks for leaks itself, once, at the end.
#ifndef SLUICE_TEST_HEAP_H
#define SLUICE_TEST_HEAP_H

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// A chunk that malloc gives may be 16 bytes longer than the one before, by what happens to be free:
// a few runs in a row can each seem to leave that. A leak does in all of them.
#define HEAP_REPEATS 24

// First in main(): what malloc keeps for its thread counts as used, so that what is free would be
// reported as a leak. Begins the program again without that.
static inline void heap_begin(char **argv)
{
	static const char wanted[] = "glibc.malloc.tcache_count=0";
	const char *now = getenv("GLIBC_TUNABLES");

	if (now && strcmp(now, wanted) == 0)
		return;
	setenv("GLIBC_TUNABLES", wanted, 1);
	execv("/proc/self/exe", argv);
	perror("/proc/self/exe");
	exit(2);
}

static inline size_t heap_bytes(void)
{
	struct mallinfo2 now = mallinfo2();

	return now.uordblks + now.hblkhd;
}

// Bytes that the last of some runs has left, if each left some: what is made once, and tables that
// stay, grow once. 0: none.
static inline size_t heap_leak(void (*run)(void *ctx), void *ctx)
{
	size_t before, after = heap_bytes();

	for (unsigned i = 0; i < HEAP_REPEATS; i++) {
		before = after;
		run(ctx);
		after = heap_bytes();
		if (after <= before)
			return 0;
	}
	return after - before;
}

#endif
