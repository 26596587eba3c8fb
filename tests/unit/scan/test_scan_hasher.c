// SPDX-License-Identifier: BSD-3-Clause
// Digests of files in the arena: known ones, over one extent and over several, in slices of any
// size.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "scan/hasher.h"

#define FIRST 5u // pages of the extents; they need not lie side by side
#define NEXT  2u
#define LAST  9u

#define SHA256_A "27dd1f61b867b6a0f6e9d8a41c43231de52107e53ae424de8f847b821db4b711"
#define SHA1_A   "a080cbda64850abb7b7f67ee875ba068074ff6fe"

static struct scan_arena arena;
static struct scan_hasher *hasher;

static int begin(void **state)
{
	char err[200];

	(void)state;
	return scan_arena_new(&arena, 1 << 20, SCAN_PAGE, 1, err, sizeof(err)) < 0 ||
	       !(hasher = scan_hasher_new(&arena));
}

static int end(void **state)
{
	(void)state;
	scan_hasher_free(hasher);
	scan_arena_free(&arena);
	return 0;
}

static struct scan_job job_of(const struct scan_extents *extents, uint64_t bytes)
{
	memcpy(arena.base, extents, sizeof(*extents));
	return (struct scan_job){
		.to64 = bytes, .flags = SCAN_JOB_FILE | SCAN_JOB_WHOLE, .extents = 0};
}

static void digest_is(
	enum scan_hash hash, const struct scan_job *job, size_t slice, const char *hex)
{
	uint8_t out[32] = {0};
	char text[65] = "";
	size_t all = 0, bytes = slice;
	int rc;

	assert_true(scan_hasher_begin(hasher, hash, job));
	while (!(rc = scan_hasher_go(hasher, &bytes, out))) {
		assert_int_equal(bytes, slice);
		all += bytes;
	}
	assert_int_equal(rc, 1);
	assert_true(bytes <= slice);
	assert_int_equal(all + bytes, job->to64);
	for (unsigned i = 0; i < (hash == SCAN_HASH_SHA1 ? 20 : 32); i++)
		snprintf(text + 2 * i, 3, "%02x", out[i]);
	assert_string_equal(text, hex);
}

// FIPS 180-2, appendices A and B.
static void known_ones(void **state)
{
	static const char two[] = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
	struct scan_extents extents = {.n = 1, .extent[0] = {.page = NEXT, .bytes = 3}};
	struct scan_job job = job_of(&extents, 3);

	(void)state;
	memcpy(arena.base + NEXT * SCAN_PAGE, "abc", 3);
	for (size_t slice = 1; slice <= 4; slice++) {
		digest_is(SCAN_HASH_SHA256, &job, slice,
			"ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
		digest_is(SCAN_HASH_SHA1, &job, slice, "a9993e364706816aba3e25717850c26c9cd0d89d");
	}
	memcpy(arena.base + NEXT * SCAN_PAGE, two, sizeof(two) - 1);
	extents.extent[0].bytes = sizeof(two) - 1;
	job = job_of(&extents, sizeof(two) - 1);
	digest_is(SCAN_HASH_SHA256, &job, 7,
		"248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
	digest_is(SCAN_HASH_SHA1, &job, 7, "84983e441c3bd26ebaae4aa1f95129e5e54670f1");
}

// 10,000 times 'a' (sha256sum and sha1sum say the same), in pieces that lie apart and out of order.
static void over_several_extents(void **state)
{
	static const struct scan_extents extents = {.n = 3,
		.extent = {{FIRST, SCAN_PAGE}, {NEXT, SCAN_PAGE}, {LAST, 10000 - 2 * SCAN_PAGE}}};
	static const size_t slices[] = {1, 4095, 4096, 4097, 9999, 10000, 1 << 20};
	struct scan_job job = job_of(&extents, 10000);

	(void)state;
	for (uint32_t i = 0; i < extents.n; i++)
		memset(arena.base + extents.extent[i].page * SCAN_PAGE, 'a',
			extents.extent[i].bytes);
	for (unsigned i = 0; i < sizeof(slices) / sizeof(slices[0]); i++) {
		digest_is(SCAN_HASH_SHA256, &job, slices[i], SHA256_A);
		digest_is(SCAN_HASH_SHA1, &job, slices[i], SHA1_A);
	}
}

// A file of a torrent does not begin at a page.
static void behind_its_lead(void **state)
{
	static const struct scan_extents extents = {
		.n = 2, .lead = 4094, .extent = {{FIRST, SCAN_PAGE}, {NEXT, 1}}};
	struct scan_job job = job_of(&extents, 3);

	(void)state;
	memcpy(arena.base + FIRST * SCAN_PAGE + 4094, "ab", 2);
	memcpy(arena.base + NEXT * SCAN_PAGE, "c", 1);
	digest_is(SCAN_HASH_SHA1, &job, 2, "a9993e364706816aba3e25717850c26c9cd0d89d");
}

static void what_is_no_file_is_not_begun(void **state)
{
	struct scan_extents extents = {.n = 1, .extent[0] = {.page = 1 << 20, .bytes = 3}};
	struct scan_job job = job_of(&extents, 3);

	(void)state;
	assert_false(scan_hasher_begin(hasher, SCAN_HASH_SHA256, &job));
	extents.extent[0].page = 1;
	job = job_of(&extents, 4);
	assert_false(scan_hasher_begin(hasher, SCAN_HASH_SHA256, &job));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(known_ones),
		cmocka_unit_test(over_several_extents),
		cmocka_unit_test(behind_its_lead),
		cmocka_unit_test(what_is_no_file_is_not_begun),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
