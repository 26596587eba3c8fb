// SPDX-License-Identifier: BSD-3-Clause
// Maps a request's extents side by side, has the engine look at them, and answers.
#include "scan/program/child.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>
#include "scan/wire.h"

static uint64_t cpu_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static bool nothing_at(uint8_t *range, size_t bytes)
{
	return mmap(range, bytes, PROT_NONE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1,
		       0) != MAP_FAILED;
}

static size_t whole_pages(size_t bytes)
{
	return (bytes + SCAN_PAGE - 1) / SCAN_PAGE * SCAN_PAGE;
}

// Extents that are neighbours in the arena are one mapping.
static bool map(int arena, uint8_t *range, const struct scan_wire_request *request)
{
	size_t done = 0;

	for (uint32_t i = 0; i < request->n_extents;) {
		const struct scan_extent *first = &request->extents[i];
		size_t bytes = 0;

		do
			bytes += request->extents[i++].bytes;
		while (i < request->n_extents &&
			request->extents[i].page == first->page + bytes / SCAN_PAGE);
		if (mmap(range + done, whole_pages(bytes), PROT_READ, MAP_SHARED | MAP_FIXED, arena,
			    (off_t)first->page * SCAN_PAGE) == MAP_FAILED)
			return false;
		done += bytes;
	}
	return true;
}

// False: the range cannot be made empty again.
static bool answer(const struct scan_child *child, uint8_t *range,
	const struct scan_wire_request *request, struct scan_wire_verdict *verdict)
{
	struct scan_outcome out = {.value = SCAN_ERROR};
	uint64_t begin = cpu_ns();

	if (map(child->arena, range, request)) {
		begin = cpu_ns();
		child->look(child->clam, range + request->lead, request->bytes, &out);
	}
	memset(verdict, 0, sizeof(*verdict));
	verdict->scan_ns = cpu_ns() - begin;
	if (!nothing_at(range, whole_pages(request->lead + request->bytes)))
		return false;
	scan_wire_head_set(&verdict->head, SCAN_WIRE_VERDICT, request->head.id);
	verdict->value = (uint8_t)out.value;
	verdict->reason = (uint8_t)out.reason;
	memcpy(verdict->name, out.name, sizeof(verdict->name));
	return true;
}

int scan_child_serve(const struct scan_child *child, uint8_t *range)
{
	static struct {
		struct scan_wire_request request;
		uint8_t beyond; // one that is longer is seen
	} in;
	struct scan_wire_verdict verdict;

	for (uint64_t done = 0; done < child->jobs; done++) {
		ssize_t n = read(child->files, &in, sizeof(in));

		if (n == 0 || (n < 0 && errno == ECONNRESET))
			break;
		if (n < 0 || scan_wire_check_request(&in, (size_t)n, child->arena_bytes) ||
			!answer(child, range, &in.request, &verdict))
			return SCAN_EXIT_INVALID;
		// Else the next request could be on its way to one that has ended.
		verdict.last = done + 1 == child->jobs;
		if (write(child->files, &verdict, sizeof(verdict)) != sizeof(verdict))
			break;
	}
	return SCAN_EXIT_DONE;
}

_Noreturn void scan_child_run(const struct scan_child *child)
{
	char err[SCAN_WIRE_TEXT] = "memory for its files";
	struct scan_child inside = *child;
	// Before the limit of memory is counted.
	uint8_t *range = mmap(NULL, SCAN_CHILD_RANGE, PROT_NONE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	int ready = child->ready;

	prctl(PR_SET_NAME, "sluice-scan-file");
	if (range == MAP_FAILED || scan_clam_set_tmp(child->clam, ".") ||
		scan_jail_close(child->jail, child->folder, child->parent, child->arena,
			child->files, &ready, err, sizeof(err))) {
		(void)!write(ready, err, strlen(err));
		_exit(SCAN_EXIT_JAIL);
	}
	if (write(ready, "", 1) != 1 || close(ready))
		_exit(SCAN_EXIT_JAIL);
	inside.arena = SCAN_FD_ARENA;
	inside.files = SCAN_FD_FILES;
	_exit(scan_child_serve(&inside, range));
}
