// SPDX-License-Identifier: BSD-3-Clause
// Payload that ends where mapped memory ends, and payload that begins where it begins: no engine of
// Hyperscan may leave it, whatever extension of the CPU its database is built for. What it loads
// beyond is read, not matched, so that only a guard page shows it.
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cmocka.h>
#include "lib/classify/classify_rig.h"
#include "classify/sigdb.h"

#define ROOM 4096u // of two pages' size or more, and of no fraction of one

static struct rig *rig;    // the repository's own signatures
static uint8_t *room_ends; // a page that nobody may read follows, and precedes room_begins
static uint8_t *room_begins;
static size_t room_bytes;

static int begin(void **state)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	(void)state;

	room_bytes = page > ROOM ? page : 2 * page;
	uint8_t *map = mmap(NULL, room_bytes + 2 * page, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (map == MAP_FAILED || mprotect(map, page, PROT_NONE) ||
		mprotect(map + page + room_bytes, page, PROT_NONE))
		return -1;
	room_begins = map + page;
	room_ends = room_begins + room_bytes;
	rig = rig_new();
	return 0;
}

static int end(void **state)
{
	(void)state;
	rig_free(rig);
	return 0;
}

// What the engines look at most: nothing, noise, and what signatures look for, cut anywhere.
enum filling { FILL_ZERO, FILL_ONES, FILL_NOISE, FILL_WORDS, FILLINGS };

static void fill(uint8_t *bytes, uint32_t length, enum filling how, uint64_t seed)
{
	static const char words[] = "GET /announce?info_hash=d1:ad2:id20:\x13"
				    "BitTorrent protocol"
				    "\xe3\x29\0\0\0\x01\x10"
				    "GNUTELLA CONNECT/0.6\r\n220 SSH-2.0-"
				    "\xe4\x21"
				    "BEGIN IMAGE $MyNick \r\n\r\nHTTP/1.1 200 OK\r\n";
	uint32_t at = (uint32_t)(seed % sizeof(words));

	for (uint32_t i = 0; i < length; i++) {
		seed = seed * 6364136223846793005ull + 1442695040888963407ull;
		switch (how) {
		case FILL_ZERO: bytes[i] = 0; break;
		case FILL_ONES: bytes[i] = 0xff; break;
		case FILL_NOISE: bytes[i] = (uint8_t)(seed >> 40); break;
		case FILL_WORDS: bytes[i] = (uint8_t)words[(at + i) % sizeof(words)]; break;
		case FILLINGS: break;
		}
	}
}

static int by_signature(const void *a, const void *b)
{
	const struct sigdb_hit *x = a, *y = b;

	return x->signature - y->signature;
}

struct part {
	uint8_t l4;
	uint8_t half;
};

// The hits there are those of the same payload in the midst of a page.
static void scan_at(struct sigdb_scratch *scratch, const struct sigdb *db, struct part part,
	uint8_t *at, const uint8_t *payload, uint32_t length)
{
	static struct sigdb_hit expected[4096];

	assert_true(sigdb_scan(db, scratch, part.l4, part.half, payload, length));
	unsigned n = scratch->n_hits;

	assert_true(n <= sizeof(expected) / sizeof(expected[0]));
	memcpy(expected, scratch->hits, n * sizeof(expected[0]));
	memcpy(at, payload, length);
	assert_true(sigdb_scan(db, scratch, part.l4, part.half, at, length));
	assert_int_equal(scratch->n_hits, n);
	qsort(expected, n, sizeof(expected[0]), by_signature);
	qsort(scratch->hits, n, sizeof(expected[0]), by_signature);
	for (unsigned i = 0; i < n; i++) {
		assert_int_equal(scratch->hits[i].signature, expected[i].signature);
		assert_int_equal(scratch->hits[i].to, expected[i].to);
	}
}

static void every_length(struct sigdb *db)
{
	static const struct part parts[] = {
		{IPPROTO_TCP, 0}, {IPPROTO_TCP, 1}, {IPPROTO_UDP, 0}, {IPPROTO_UDP, 1}};
	static _Alignas(4096) uint8_t middle[2 * CLASSIFY_PREFIX_BYTES];
	uint8_t *payload = middle + 512;
	struct sigdb_scratch *scratch;

	assert_int_equal(sigdb_scratch_new(db, &scratch), 0);
	for (unsigned p = 0; p < 4; p++)
		for (uint32_t length = 1; length <= CLASSIFY_PREFIX_BYTES; length++)
			for (unsigned how = length <= 256 ? 0 : FILL_NOISE; how < FILLINGS; how++) {
				fill(payload, length, how, length * 4u + p);
				for (unsigned back = 0; back < 2; back++)
					scan_at(scratch, db, parts[p], room_ends - length - back,
						payload, length);
				scan_at(scratch, db, parts[p], room_begins, payload, length);
			}
	assert_true(scratch->copied > 0);
	sigdb_scratch_free(scratch);
}

// The repository's signatures for a CPU that has these.
static struct sigdb *database_for(unsigned long long features)
{
	const hs_platform_info_t platform = {
		.tune = HS_TUNE_FAMILY_GENERIC, .cpu_features = features};
	struct sigdb *db = calloc(1, sizeof(*db));

	assert_non_null(db);
	db->signatures = calloc(rig->n_signatures + 1, sizeof(*db->signatures));
	assert_non_null(db->signatures);
	memcpy(db->signatures, rig->signatures, rig->n_signatures * sizeof(*db->signatures));
	db->n = rig->n_signatures;
	for (unsigned part = 0; part < SIGDB_PARTS; part++) {
		static const char *patterns[4096];
		static unsigned flags[4096], ids[4096];
		hs_compile_error_t *error = NULL;
		unsigned n = 0;

		for (unsigned i = 0; i < db->n; i++) {
			const struct signature *s = &db->signatures[i];

			if (part / 2 != (s->l4 == IPPROTO_UDP) || !(s->halves >> part % 2 & 1))
				continue;
			patterns[n] = s->pattern;
			flags[n] = HS_FLAG_SINGLEMATCH | (s->caseless ? HS_FLAG_CASELESS : 0) |
				   (s->dotall ? HS_FLAG_DOTALL : 0);
			ids[n++] = i;
		}
		assert_int_equal(hs_compile_multi(patterns, flags, ids, n, HS_MODE_BLOCK, &platform,
					 &db->parts[part], &error),
			HS_SUCCESS);
	}
	return db;
}

static void with_database_for(const char *extension, bool has, unsigned long long features)
{
	if (!has) {
		print_message("NOT TESTED: this CPU has no %s\n", extension);
		skip();
	}
	struct sigdb *db = database_for(features);

	every_length(db);
	sigdb_free(db);
}

static void payload_ends_with_its_page_no_extension(void **state)
{
	(void)state;
	with_database_for("SSSE3", __builtin_cpu_supports("ssse3"), 0);
}

static void payload_ends_with_its_page_avx2(void **state)
{
	(void)state;
	with_database_for("AVX2", __builtin_cpu_supports("avx2"), HS_CPU_FEATURES_AVX2);
}

static void payload_ends_with_its_page_avx512(void **state)
{
	(void)state;
	with_database_for("AVX512",
		__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw"),
		HS_CPU_FEATURES_AVX2 | HS_CPU_FEATURES_AVX512);
}

static void payload_ends_with_its_page_avx512vbmi(void **state)
{
	(void)state;
	with_database_for("AVX512VBMI",
		__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
			__builtin_cpu_supports("avx512vbmi"),
		HS_CPU_FEATURES_AVX2 | HS_CPU_FEATURES_AVX512 | HS_CPU_FEATURES_AVX512VBMI);
}

// Copying is the exception: of 4,096 places of an input, 64 are near the end of a page.
static void few_inputs_are_copied(void **state)
{
	static _Alignas(4096) uint8_t pages[3 * 4096];
	struct sigdb_scratch *scratch;
	(void)state;

	assert_int_equal(sigdb_scratch_new(rig->db, &scratch), 0);
	for (unsigned at = 0; at < 4096; at++)
		assert_true(sigdb_scan(rig->db, scratch, IPPROTO_TCP, 0, pages + at, 100));
	assert_int_equal(scratch->copied, SIGDB_SLACK);
	// and no more of an input is looked at than the prefix that may be copied
	assert_true(sigdb_scan(rig->db, scratch, IPPROTO_TCP, 0,
		pages + 4096 - CLASSIFY_PREFIX_BYTES, sizeof(pages) - CLASSIFY_PREFIX_BYTES));
	assert_int_equal(scratch->copied, SIGDB_SLACK + 1);
	sigdb_scratch_free(scratch);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(payload_ends_with_its_page_no_extension),
		cmocka_unit_test(payload_ends_with_its_page_avx2),
		cmocka_unit_test(payload_ends_with_its_page_avx512),
		cmocka_unit_test(payload_ends_with_its_page_avx512vbmi),
		cmocka_unit_test(few_inputs_are_copied),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
