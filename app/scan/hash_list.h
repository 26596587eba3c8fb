// SPDX-License-Identifier: BSD-3-Clause
// Lists of SHA-256 hashes of files that are let pass, or refused, whatever an engine says: files
// of lines as sha256sum(1) prints them, "HASH  NAME". Of a hash in both, the one that refuses
// counts. '#' begins a line that is not read; so does nothing.
//
// Read as a whole or not at all: at the start, and again by scan_lists_read while scan lcores ask.
#ifndef SLUICE_SCAN_HASH_LIST_H
#define SLUICE_SCAN_HASH_LIST_H

#include <stddef.h>
#include "scan/cache.h"

#define SCAN_LIST_MAX  1000000 // hashes of one file
#define SCAN_LIST_LINE 4400    // bytes: a hash and a path

struct scan_lists;

// NULL, or "": none. 0; -ENOMEM; what scan_lists_read says.
int scan_lists_new(
	const char *allow, const char *deny, struct scan_lists **out, char *err, size_t err_len);
void scan_lists_free(struct scan_lists *lists); // NULL is allowed; nobody asks any more

// Reads both files again. One that has an error leaves both as they were: -EINVAL, -errno, -E2BIG
// with a message that names file and line, and what to do. One thread at a time; others may ask.
int scan_lists_read(struct scan_lists *lists, char *err, size_t err_len);
// The same, but nothing is taken: whether they could be read.
int scan_lists_check(const struct scan_lists *lists, char *err, size_t err_len);
// How many hashes each list has. Any thread.
void scan_lists_count(struct scan_lists *lists, uint32_t *allow, uint32_t *deny);

// Whether a list names the file: clean, or infected by the name in its line ("listed", if it has
// none). Any thread.
bool scan_lists_find(
	struct scan_lists *lists, const uint8_t sha256[SCAN_SHA256], struct scan_known *out);
// No file need be hashed for them.
bool scan_lists_are_empty(struct scan_lists *lists);

#endif
