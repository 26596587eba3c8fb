// SPDX-License-Identifier: BSD-3-Clause
// A child's side of its file socket (child.c), with an engine that reads every byte: what is shown
// to the engine are the bytes of the request's extents, in their order, and behind their last page
// nothing; each sound request has one verdict, which is sound, too; one that is not sound ends the
// child before anything is looked at; and after each answer nothing is mapped.
//
// The input is records of 4 octets: what is sent (as it should be, with one octet changed, raw),
// how many extents, two numbers; then what these need.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>
#include "scan/arena.h"
#include "scan/program/child.h"
#include "scan/wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

#define PAGES   32u
#define RECORD  4
#define RUN_MAX 16 // requests

static struct scan_arena arena;
static uint8_t *range;
static const struct scan_wire_request *asked; // sound, in their order
static unsigned n_looks;
static uint8_t say; // what the engine says

static void check(bool holds, const char *what)
{
	if (holds)
		return;
	fprintf(stderr, "fuzz_scan_child: %s\n", what);
	abort();
}

static void begin(void)
{
	char err[200];

	if (arena.base)
		return;
	check(scan_arena_new(&arena, PAGES * SCAN_PAGE, SCAN_PAGE, 1, err, sizeof(err)) == 0, err);
	for (size_t i = 0; i < arena.bytes; i++) // no two pages are alike
		arena.base[i] = (uint8_t)(i / SCAN_PAGE * 7 + i % 251);
	range = mmap(NULL, SCAN_CHILD_RANGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
		-1, 0);
	check(range != MAP_FAILED, "memory");
}

// What of the program is not under test.
int scan_clam_set_tmp(struct scan_clam *clam, const char *folder)
{
	(void)clam;
	(void)folder;
	return 0;
}

int scan_jail_close(const struct scan_jail *jail, const char *folder, pid_t parent, int jail_arena,
	int files, int *ready, char *err, size_t len)
{
	(void)jail;
	(void)folder;
	(void)parent;
	(void)jail_arena;
	(void)files;
	(void)ready;
	(void)err;
	(void)len;
	return 0;
}

static bool is_readable(const uint8_t *at)
{
	uint8_t byte;

	return process_vm_readv(getpid(), &(struct iovec){&byte, 1}, 1,
		       &(struct iovec){(void *)(uintptr_t)at, 1}, 1, 0) == 1;
}

static void look(struct scan_clam *clam, const uint8_t *bytes, size_t n, struct scan_outcome *out)
{
	const struct scan_wire_request *request = &asked[n_looks++];
	size_t at = 0;

	(void)clam;
	check(bytes == range && n == request->bytes, "not the file of the request");
	for (uint32_t i = 0; i < request->n_extents; i++) {
		const struct scan_extent *extent = &request->extents[i];

		check(!memcmp(bytes + at, arena.base + (size_t)extent->page * SCAN_PAGE,
			      extent->bytes),
			"not the bytes of the extent");
		at += extent->bytes;
	}
	check(at == n, "bytes of no extent");
	check(!is_readable(range + (n + SCAN_PAGE - 1) / SCAN_PAGE * SCAN_PAGE),
		"something lies behind the file");
	*out = (struct scan_outcome){.value = say % 3 == 0   ? SCAN_CLEAN
					      : say % 3 == 1 ? SCAN_INFECTED
							     : SCAN_UNSCANNED};
	if (out->value == SCAN_INFECTED)
		scan_wire_text(out->name, sizeof(out->name), "Eicar-Test");
	if (out->value == SCAN_UNSCANNED)
		out->reason = SCAN_REASON_FORMAT;
}

// `n` extents, mostly side by side, so that neighbours are one mapping.
static void make(struct scan_wire_request *request, uint64_t id, const uint8_t *record,
	const uint8_t *pages, size_t n)
{
	*request = (struct scan_wire_request){
		.flags = record[2] & SCAN_WIRE_WHOLE, .n_extents = (uint32_t)n};
	scan_wire_head_set(&request->head, SCAN_WIRE_REQUEST, id);
	for (size_t i = 0; i < n && i < SCAN_EXTENTS_MAX; i++) {
		uint32_t page = pages[i] % PAGES, size = (1u + pages[i] / PAGES % 4) * SCAN_PAGE;

		if (i && pages[i] & 128)
			page = request->extents[i - 1].page +
			       request->extents[i - 1].bytes / SCAN_PAGE;
		if (i + 1 == n)
			size -= record[3] * 16u;
		request->extents[i] = (struct scan_extent){.page = page, .bytes = size};
		request->bytes += size;
	}
}

// How many octets of the input it took.
static size_t next(const uint8_t *bytes, size_t len, uint64_t id, uint8_t *out, size_t *out_len)
{
	struct scan_wire_request request;
	size_t n = bytes[1], used = RECORD;

	if (n > len - used)
		n = len - used;
	if (bytes[0] % 4 == 3) { // raw
		memcpy(out, bytes + used, n);
		*out_len = n;
		return used + n;
	}
	n = n > SCAN_EXTENTS_MAX ? SCAN_EXTENTS_MAX : n;
	make(&request, id, bytes, bytes + used, n);
	used += n;
	memcpy(out, &request, sizeof(request));
	*out_len = sizeof(request);
	if (bytes[0] % 4 == 2) {
		out[(bytes[2] + bytes[0] / 4 * 256u) % (sizeof(request) - 1)] ^=
			(uint8_t)(bytes[3] | 1);
		*out_len += (size_t)(bytes[2] % 3) - 1;
	}
	return used;
}

static void check_answers(int socket, const struct scan_wire_request *requests, unsigned n)
{
	struct scan_wire_verdict verdict;
	int fd;

	for (unsigned i = 0; i < n; i++) {
		ssize_t got = scan_wire_receive(socket, &verdict, sizeof(verdict), &fd);

		check(got == sizeof(verdict) && fd < 0, "no answer");
		check(!scan_wire_check_verdict(&verdict, sizeof(verdict), requests[i].head.id),
			"an answer that is not sound");
	}
	check(scan_wire_receive(socket, &verdict, sizeof(verdict), &fd) == -EAGAIN,
		"an answer that nobody asked for");
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	static struct scan_wire_request sound[RUN_MAX];
	uint8_t message[sizeof(sound[0]) + 1] = {0};
	bool all_sound = true;
	unsigned n = 0;
	int ends[2];

	begin();
	check(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends) == 0, "sockets");
	setsockopt(ends[0], SOL_SOCKET, SO_SNDBUF, &(int){1 << 20}, sizeof(int));
	say = len ? bytes[len - 1] : 0;
	for (unsigned run = 0; run < RUN_MAX && len >= RECORD; run++) {
		size_t size, used = next(bytes, len, run + 1, message, &size);

		bytes += used;
		len -= used;
		if (!size) // that would be the end
			continue;
		check(scan_wire_send(ends[0], message, size, -1) == 0, "it cannot be sent");
		all_sound = all_sound && !scan_wire_check_request(message, size, arena.bytes);
		if (all_sound)
			memcpy(&sound[n++], message, sizeof(sound[0]));
	}
	shutdown(ends[0], SHUT_WR);
	asked = sound;
	n_looks = 0;
	const struct scan_child child = {.look = look,
		.arena = arena.fd,
		.files = ends[1],
		.arena_bytes = arena.bytes,
		.jobs = RUN_MAX};

	check(scan_child_serve(&child, range) == (all_sound ? SCAN_EXIT_DONE : SCAN_EXIT_INVALID),
		"another exit code");
	check(n_looks == n, "looks");
	check(!is_readable(range), "a file is left mapped");
	check_answers(ends[0], sound, n);
	close(ends[0]);
	close(ends[1]);
	return 0;
}
