// SPDX-License-Identifier: BSD-3-Clause
// The bytes of files under scan, in a data lcore's part of the arena: each is copied there once, as
// it is decoded, and read there by the scanner. A file's bytes lie in extents that grow with it,
// from STORE_EXTENT_MIN to STORE_EXTENT_MAX, so that a small file takes little and a large one few.
//
// What a job is about stays as it is until the job is over: bytes may be added behind it meanwhile,
// and a file may be given up; its extents are free when the last of its jobs is over.
// The owning data lcore only, but for scan_store_init, scan_store_fini and scan_store_look.
#ifndef SLUICE_SCAN_BYTES_H
#define SLUICE_SCAN_BYTES_H

#include "content/memory.h"
#include "scan/arena.h"

#define STORE_EXTENT_MIN (16u << 10)
#define STORE_EXTENT_MAX (4u << 20)

struct scan_store {
	struct content_memory *memory; // over the part; NULL: there is none
	uint8_t *arena;
};
struct scan_bytes; // of one file

// `part` of the `n_parts` of the arena, whose parts are of whole CONTENT_BLOCK_MAX. False: no
// memory.
bool scan_store_init(
	struct scan_store *store, const struct scan_arena *arena, unsigned part, unsigned n_parts);
void scan_store_fini(struct scan_store *store); // no file is left
void scan_store_look(const struct scan_store *store, struct content_memory_use *use); // any core

// NULL: there is no room.
struct scan_bytes *scan_bytes_new(struct scan_store *store);
// The next bytes of the file; nothing is added in part. False: there is no room, or they would be
// more than SCAN_FILE_MAX or SCAN_EXTENTS_MAX extents.
bool scan_bytes_add(
	struct scan_store *store, struct scan_bytes *bytes, const uint8_t *from, uint32_t length);
// Offset behind the last byte, and of the first one that is kept.
uint64_t scan_bytes_end(const struct scan_bytes *bytes);
uint64_t scan_bytes_begin(const struct scan_bytes *bytes);
// Bytes before that offset are not needed any more: whole extents before it are given back, none
// while a job is out.
void scan_bytes_forget(struct scan_store *store, struct scan_bytes *bytes, uint64_t before64);
// A job about all bytes from `from64` on (or from a page before it, so that the extents lie side by
// side): sets its `extents`, `from64`, `to64` and SCAN_JOB_FILE. False: there is no room, or
// nothing to look at.
bool scan_bytes_job(
	struct scan_store *store, struct scan_bytes *bytes, uint64_t from64, struct scan_job *job);
// Its verdict has come, or nobody was asked.
void scan_bytes_job_over(
	struct scan_store *store, struct scan_bytes *bytes, const struct scan_job *job);
// The file is given up: not to be used again, but for jobs that are out.
void scan_bytes_free(struct scan_store *store, struct scan_bytes *bytes); // NULL is allowed

#endif
