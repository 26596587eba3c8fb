// SPDX-License-Identifier: BSD-3-Clause
// Files in parts, for tests: a swarm in an arena of its own, a payload, and what it is named by.
#ifndef SLUICE_SWARM_RIG_H
#define SLUICE_SWARM_RIG_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <openssl/evp.h>
#include "content/edonkey/md4.h"
#include "pipeline/swarm/swarm.h"
#include "pipeline/vocab/tick.h"

#define RIG_MB    32
#define RIG_AGE_S 300

struct rig {
	struct scan_arena arena;
	struct swarm *swarm;
	struct hash_seed seed;
	uint64_t now_ns;
	// a payload and digests of its pieces
	uint8_t *bytes, *digests;
	uint64_t size;
	struct content_whole whole;
};

static inline struct rig *rig_with(uint32_t files, uint32_t mb)
{
	struct rig *rig = calloc(1, sizeof(*rig));
	char err[200];

	assert_non_null(rig);
	rig->seed = HASH_SEED_FIXED;
	rig->now_ns = NS_PER_S;
	assert_int_equal(scan_arena_new_of(&rig->arena,
				 &(struct scan_arena_room){.bytes = CONTENT_BLOCK_MAX,
					 .unit = CONTENT_BLOCK_MAX,
					 .n_parts = 1,
					 .shared = (size_t)mb << 20},
				 err, sizeof(err)),
		0);
	rig->swarm = swarm_new(&rig->arena, &(struct swarm_limits){.seed = &rig->seed,
						    .files = files,
						    .age_ns = RIG_AGE_S * NS_PER_S,
						    .n_workers = 2});
	assert_non_null(rig->swarm);
	return rig;
}

static inline struct rig *rig_new(void)
{
	return rig_with(64, RIG_MB);
}

// All room comes back when everything has aged.
static inline void rig_free(struct rig *rig)
{
	struct swarm_use use;

	while (swarm_work(rig->swarm, 0, 0))
		;
	for (unsigned i = 0; i < 1000; i++) {
		rig->now_ns += RIG_AGE_S * NS_PER_S;
		swarm_turn(rig->swarm, rig->now_ns);
	}
	swarm_use(rig->swarm, &use);
	assert_int_equal(use.used, 0);
	assert_int_equal(use.files, 0);
	swarm_free(rig->swarm);
	scan_arena_free(&rig->arena);
	free(rig->bytes);
	free(rig->digests);
	free(rig);
}

static inline uint64_t rig_random(uint64_t *state)
{
	*state = *state * 6364136223846793005ull + 1442695040888963407ull;
	return *state >> 33;
}

// Bytes of a torrent of pieces of that size (0: they have no digests).
static inline void rig_payload(struct rig *rig, uint64_t size, uint32_t piece, uint64_t seed)
{
	static const uint8_t name[20] = "the info hash of it";
	uint32_t n = piece ? (uint32_t)((size - 1) / piece + 1) : 0;

	rig->size = size;
	rig->bytes = malloc(size);
	rig->digests = malloc(n * 20 + 1);
	for (uint64_t i = 0; i < size; i++)
		rig->bytes[i] = (uint8_t)rig_random(&seed);
	for (uint32_t i = 0; i < n; i++) {
		uint64_t at = (uint64_t)i * piece, length = size - at < piece ? size - at : piece;

		assert_int_equal(EVP_Digest(rig->bytes + at, length, rig->digests + i * 20, NULL,
					 EVP_sha1(), NULL),
			1);
	}
	rig->whole = (struct content_whole){.id = content_id_of(CONTENT_ID_BTIH, name),
		.size = size,
		.piece_bytes = piece,
		.pieces = piece ? rig->digests : NULL,
		.n_pieces = n,
		.digest = CONTENT_DIGEST_SHA1};
}

// A file of it.
static inline uint32_t rig_open(struct rig *rig, uint64_t from, uint64_t size)
{
	struct content_whole whole = rig->whole;
	uint32_t number;

	whole.file_from = from;
	const struct swarm_file what = {.whole = &whole, .size = size, .max_bytes = 16u << 20};

	assert_int_equal(swarm_open(rig->swarm, &what, rig->now_ns, &number), SCAN_REASON_NONE);
	return number;
}

static inline enum swarm_taken rig_add_bytes(
	struct rig *rig, uint32_t number, uint64_t at, const uint8_t *bytes, uint32_t length)
{
	struct swarm_due due;

	return swarm_add(rig->swarm, number,
		&(struct swarm_bytes){
			.at = at, .bytes = bytes, .length = length, .now_ns = rig->now_ns},
		&due);
}

// What the payload has there; `file_from`: of the file.
static inline enum swarm_taken rig_add(
	struct rig *rig, uint32_t number, uint64_t file_from, uint64_t at, uint32_t length)
{
	return rig_add_bytes(rig, number, at, rig->bytes + file_from + at, length);
}

static inline void rig_prove(struct rig *rig)
{
	while (swarm_work(rig->swarm, 0, rig->now_ns))
		;
}

// What the scanner would see of the job is what the payload has from there on.
static inline void rig_job_is(struct rig *rig, const struct scan_job *job, uint64_t payload_from)
{
	const struct scan_extents *extents = scan_arena_extents(&rig->arena, job);
	uint64_t at = payload_from + job->from64;
	uint32_t skip;

	assert_non_null(extents);
	skip = extents->lead;
	for (uint32_t i = 0; i < extents->n; i++, skip = 0) {
		const uint8_t *page = rig->arena.base + (size_t)extents->extent[i].page * SCAN_PAGE;
		uint32_t length = extents->extent[i].bytes - skip;

		if (memcmp(page + skip, rig->bytes + at, length) != 0)
			fail_msg("extent %u has other bytes", i);
		at += length;
	}
	assert_int_equal(at, payload_from + job->to64);
}

// True: its id is condemned by it.
static inline bool rig_verdict(struct rig *rig, const struct scan_job *job, enum scan_value value)
{
	struct scan_verdict verdict = {.job = *job, .value = (uint8_t)value};
	struct content_id id;
	uint32_t flow;

	if (value == SCAN_UNSCANNED)
		verdict.reason = SCAN_REASON_ENCRYPTED;
	swarm_job_over(rig->swarm, job, &verdict);
	return swarm_condemned(rig->swarm, &id, &flow);
}

static inline struct swarm_look rig_look(struct rig *rig, uint32_t number)
{
	struct swarm_look look;

	swarm_look(rig->swarm, number, &look);
	return look;
}

static inline struct swarm_tally rig_tally(struct rig *rig)
{
	struct swarm_tally tally;

	swarm_tally(rig->swarm, &tally);
	return tally;
}

#endif
