// SPDX-License-Identifier: BSD-3-Clause
// Large tables of a data lcore, outside of the heap: zeroed pages, of which those that nobody ever
// touched cost nothing. Control core. Given back by munmap().
#ifndef SLUICE_PAGES_H
#define SLUICE_PAGES_H

#include <stddef.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

// Pages come from the lcore's socket where there are several (-1: from any); a kernel without NUMA
// says no, and that is fine.
static inline void pages_prefer(void *at, size_t bytes, int socket)
{
	enum { MPOL_PREFERRED = 1 };
	unsigned long nodes;

	if (socket < 0 || socket >= (int)(8 * sizeof(nodes)))
		return;
	nodes = 1ul << socket;
	(void)!syscall(SYS_mbind, at, bytes, MPOL_PREFERRED, &nodes, 8 * sizeof(nodes), 0);
}

// NULL: no memory.
static inline void *pages_new(size_t bytes, int socket)
{
	void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (at == MAP_FAILED)
		return NULL;
	pages_prefer(at, bytes, socket);
	return at;
}

#endif
