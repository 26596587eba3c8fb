// SPDX-License-Identifier: BSD-3-Clause
// The files of an audit log, for log.c: opened and locked, and where the chain stands in them.
#ifndef SLUICE_AUDIT_LOG_FILE_H
#define SLUICE_AUDIT_LOG_FILE_H

#include <limits.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "audit/record.h"

struct audit_place {
	int folder;              // opened
	int follow;              // O_NOFOLLOW or 0, for the file
	char name[NAME_MAX + 1]; // of the newest file, in the folder
};

#define AUDIT_LOG_ID_BYTES 33 // 16 octets in hex, with NUL

// Where a chain stands: its last whole line.
struct audit_tail {
	uint64_t seq; // 0: there is none
	char head[AUDIT_HEX_BYTES];
	char id[AUDIT_LOG_ID_BYTES]; // of the log; "": not found
	off_t end;                   // behind that line's newline
	off_t size;                  // of the file: what is between them is torn
};

// Names are relative to a folder, which is opened. 0 or -errno.
int audit_place_open(struct audit_place *place, const char *path);
// The file PATH, for appending, locked; 0640. The file descriptor or -errno; -EBUSY: it is locked,
// -EINVAL: no regular file. `flags` are more of open(2).
int audit_file_open(const struct audit_place *place, int flags);
// -EINVAL: there is something in the file, but nothing of a log.
int audit_file_tail(int fd, struct audit_tail *tail);
// The tail of the newest of the files that were renamed by the log; seq 0 if there is none.
int audit_file_before(const struct audit_place *place, struct audit_tail *tail);
// Bytes of a side file for line `seq`, 0 if there is none.
uint64_t audit_side_bytes(const struct audit_place *place, uint64_t seq);
// Moves what is torn off to the side file of line `seq`.
int audit_side_save(
	const struct audit_place *place, int fd, const struct audit_tail *tail, uint64_t seq);
void audit_side_name(const struct audit_place *place, uint64_t seq, char *out, size_t out_len);

#endif
