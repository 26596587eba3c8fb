// SPDX-License-Identifier: BSD-3-Clause
// Digests of files in the arena, made in slices, so that whoever makes them can do other things in
// between. The gateway makes them, never the scanner: what has read a hostile file may say
// anything about which file that was. One scan lcore's.
#ifndef SLUICE_SCAN_HASHER_H
#define SLUICE_SCAN_HASHER_H

#include <stddef.h>
#include "scan/arena.h"

struct scan_hasher;

enum scan_hash { SCAN_HASH_SHA1, SCAN_HASH_SHA256 };

// NULL: no memory, or libcrypto has them not.
struct scan_hasher *scan_hasher_new(const struct scan_arena *arena);
void scan_hasher_free(struct scan_hasher *hasher); // NULL is allowed
// The file of this job, from its first byte on; the one before is given up. False: its extents are
// not those of a file in the arena, or libcrypto fails.
bool scan_hasher_begin(struct scan_hasher *hasher, enum scan_hash hash, const struct scan_job *job);
// At most `bytes` of it, and says how many these were. 1: the digest is in `out` (20 or 32 bytes);
// 0: there is more; -EIO: libcrypto fails.
int scan_hasher_go(struct scan_hasher *hasher, size_t *bytes, uint8_t *out);

#endif
