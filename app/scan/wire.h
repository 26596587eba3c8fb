// SPDX-License-Identifier: BSD-3-Clause
// What the gateway and the scanner (sluice-scan) say to each other, over SOCK_SEQPACKET sockets: a
// message of a fixed size each, in the machine's byte order, since both run on one machine and were
// built together. Every field is checked by whoever receives it, and nothing in a message is
// believed beyond these checks: the scanner reads hostile files, so that what it says may be what a
// file made it say.
//
// The *file socket* joins one scan lcore and its child: a request, then its verdict, one at a time.
// The *control socket* joins that scan lcore and the scan parent, which forks and reaps the child.
#ifndef SLUICE_SCAN_WIRE_H
#define SLUICE_SCAN_WIRE_H

#include <stddef.h>
#include <sys/types.h>
#include "scan/job.h"

#define SCAN_WIRE_MAGIC   0x6c737363u
#define SCAN_WIRE_VERSION 2
#define SCAN_WIRE_TEXT    192
#define SCAN_WIRE_DIGEST  32

enum scan_wire_kind {
	// file socket
	SCAN_WIRE_REQUEST = 1, // gateway: look at this file
	SCAN_WIRE_VERDICT,     // child
	// control socket
	SCAN_WIRE_BORN,    // parent: a child waits for files; with its file socket (SCM_RIGHTS)
	SCAN_WIRE_REPLACE, // gateway: kill child `id`
	SCAN_WIRE_GONE,    // parent: child `id` is reaped, and what it unpacked removed
	SCAN_WIRE_FAILED,  // parent: no child can be had; `text` says why
	SCAN_WIRE_FOLDER,  // parent: the signatures' folder has changed; `text`: what is wrong with
			   // it
	SCAN_WIRE_KINDS_MAX
};

struct scan_wire_head {
	uint32_t magic;
	uint8_t version;
	uint8_t kind;
	uint16_t zero;
	uint64_t id; // of the request, or of the child: 1, 2, ...
};

#define SCAN_WIRE_WHOLE 1 // the file ends with these bytes

struct scan_wire_request {
	struct scan_wire_head head;
	uint64_t bytes;
	uint32_t flags; // SCAN_WIRE_*
	uint32_t n_extents;
	uint32_t lead; // bytes of the first extent that are skipped
	uint32_t zero;
	struct scan_extent extents[SCAN_EXTENTS_MAX]; // those behind n_extents are zero
};

struct scan_wire_verdict {
	struct scan_wire_head head;
	uint64_t scan_ns; // of the child's time, inside the engine
	uint8_t value;    // enum scan_value; not SCAN_TIMEOUT
	uint8_t reason;   // enum scan_reason; of SCAN_UNSCANNED alone
	uint8_t last;     // 1: the child has done its jobs, and takes no request any more
	uint8_t zero[5];
	char name[SCAN_NAME_MAX]; // of SCAN_INFECTED alone: printable ASCII, ended and filled by 0
};

struct scan_wire_control {
	struct scan_wire_head head;
	int32_t pid; // BORN
	uint32_t signatures;
	uint64_t db_version;              // highest of its files; 0: custom files alone
	uint64_t db_time_s;               // of its newest file, since 1970
	uint8_t digest[SCAN_WIRE_DIGEST]; // SHA-256 over database, limits and options
	char text[SCAN_WIRE_TEXT];        // FAILED, GONE: why; FOLDER; printable ASCII, filled by 0
};

void scan_wire_head_set(struct scan_wire_head *head, enum scan_wire_kind kind, uint64_t id);
// Copies what of `text` fits, printable: everything else becomes '?'. Fills with 0.
void scan_wire_text(char *out, size_t out_len, const char *text);

// NULL: the message is sound. Otherwise what is wrong with it, in words.
// `bytes` of `message` were received.
const char *scan_wire_check_request(const void *message, size_t bytes, uint64_t arena_bytes);
// `id`: of the request that is out; 0: none is.
const char *scan_wire_check_verdict(const void *message, size_t bytes, uint64_t id);
// From the parent (`to_parent` false), or to it.
const char *scan_wire_check_control(const void *message, size_t bytes, bool to_parent);

// One message over a socket of the wire, without waiting. `fd`: goes with it; -1: none.
// 0 or -errno; -EAGAIN: no room now.
int scan_wire_send(int socket, const void *message, size_t bytes, int fd);
// At most `room` bytes of one message; of a longer one room + 1 is returned, so that no check takes
// it. Returns its bytes; 0: the other end is closed; -EAGAIN: there is none; -errno. `*fd`: the
// descriptor that came with it, the caller's now; -1: none, or not exactly one.
ssize_t scan_wire_receive(int socket, void *message, size_t room, int *fd);

#endif
