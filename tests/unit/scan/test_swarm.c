// SPDX-License-Identifier: BSD-3-Clause
// Files that come in parts: in any order, more than once, with other bytes, with pieces that are
// wrong; how they stand, what a job names, and what becomes of who is infected.
#include "unit/scan/swarm_rig.h"

#define KIB 1024u

static void parts_in_any_order_are_one_file(void **state)
{
	(void)state;
	for (unsigned known = 0; known < 2; known++) {
		struct rig *rig = rig_new();
		const uint64_t from = 5000, size = 300 * KIB + 77; // it begins within a page
		const uint32_t part = 1448, n = (uint32_t)(size / part) + 1;
		struct scan_job job = {0};

		rig_payload(rig, from + size + 3, known ? 32 * KIB : 0, 1);
		uint32_t before = rig_open(rig, 0, from), behind = rig_open(rig, from + size, 3);
		uint32_t number = rig_open(rig, from, size);

		for (uint32_t i = 0; i < n; i++) {
			uint64_t at = (uint64_t)(i * 7919 % n) * part;
			uint32_t length = size - at < part ? (uint32_t)(size - at) : part;

			if (!length)
				continue;
			assert_false(rig_look(rig, number).waits);
			rig_add(rig, number, from, at, length);
		}
		assert_true(rig_look(rig, number).waits);
		// it waits for what proves it, as far as that can be proven
		assert_int_equal(swarm_job(rig->swarm, number, &job), !known);
		if (known) {
			rig_add(rig, before, 0, 0, (uint32_t)from);
			rig_add(rig, behind, from + size, 0, 3);
			rig_prove(rig);
			assert_int_equal(rig_tally(rig).proven, rig->whole.n_pieces);
			assert_true(swarm_job(rig->swarm, number, &job));
		}
		assert_int_equal(job.flags, SCAN_JOB_FILE | SCAN_JOB_WHOLE | SCAN_JOB_SWARM);
		assert_true(job.from64 == 0 && job.to64 == size);
		rig_job_is(rig, &job, from);
		struct scan_job other;

		assert_false(swarm_job(rig->swarm, number, &other));               // one at a time
		assert_int_equal(rig_add(rig, number, from, 0, 100), SWARM_WAITS); // it came before
		assert_false(rig_verdict(rig, &job, SCAN_CLEAN));
		assert_true(rig_look(rig, number).known);
		assert_int_equal(rig_look(rig, number).verdict.value, SCAN_CLEAN);
		assert_int_equal(rig_add(rig, number, from, 0, 100), SWARM_KNOWN);
		swarm_close(rig->swarm, before);
		swarm_close(rig->swarm, behind);
		assert_false(swarm_is_shared(rig->swarm, number));
		swarm_close(rig->swarm, number);
		rig_free(rig);
	}
}

// Against a file that is one array: seeded pieces of any length and order, also twice.
static void as_an_array_would_have_it(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 16; seed++) {
		struct rig *rig = rig_new();
		uint64_t random = seed, size = 1 + rig_random(&random) % (100 * KIB);
		uint64_t from = rig_random(&random) % 9000, left = size;
		bool *has = calloc(size, 1);

		rig_payload(rig, from + size, seed % 2 ? 16 * KIB : 0, seed);
		uint32_t head = from ? rig_open(rig, 0, from) : 0;
		uint32_t number = rig_open(rig, from, size);

		if (head)
			rig_add(rig, head, 0, 0, (uint32_t)from);
		while (left) {
			uint64_t at = rig_random(&random) % size;
			uint32_t length = (uint32_t)(1 + rig_random(&random) % (8 * KIB));

			if (length > size - at)
				length = (uint32_t)(size - at);
			for (uint64_t i = at; i < at + length; i++) {
				left -= !has[i];
				has[i] = true;
			}
			enum swarm_taken taken = rig_add(rig, number, from, at, length);

			if ((taken == SWARM_WAITS) != !left)
				fail_msg("seed %lu: %lu bytes are missing, and it is %d",
					(unsigned long)seed, (unsigned long)left, taken);
			if (rig_random(&random) % 4 == 0)
				rig_prove(rig);
		}
		struct scan_job job;

		rig_prove(rig);
		assert_true(swarm_job(rig->swarm, number, &job));
		rig_job_is(rig, &job, from);
		assert_false(rig_verdict(rig, &job, SCAN_CLEAN));
		assert_int_equal(rig_look(rig, number).verdict.value, SCAN_CLEAN);
		if (head)
			swarm_close(rig->swarm, head);
		swarm_close(rig->swarm, number);
		free(has);
		rig_free(rig);
	}
}

// A piece that fails is missing again, and what waited goes on; the right one makes it whole.
static void a_piece_that_fails_is_thrown_away(void **state)
{
	struct rig *rig = rig_new();
	uint8_t *bad = calloc(1, 16 * KIB);
	struct scan_job job;

	(void)state;
	rig_payload(rig, 64 * KIB, 16 * KIB, 3);
	uint32_t number = rig_open(rig, 0, 64 * KIB);

	assert_int_equal(rig_add(rig, number, 0, 0, 48 * KIB), SWARM_TAKEN);
	assert_int_equal(rig_add_bytes(rig, number, 48 * KIB, bad, 16 * KIB), SWARM_WAITS);
	uint64_t changes = rig_look(rig, number).changes;

	assert_false(swarm_job(rig->swarm, number, &job)); // not before it is proven
	rig_prove(rig);
	assert_false(rig_look(rig, number).waits);
	assert_true(rig_look(rig, number).changes != changes);
	assert_false(swarm_job(rig->swarm, number, &job));
	struct swarm_tally tally = rig_tally(rig);

	assert_int_equal(tally.proven, 3);
	assert_int_equal(tally.bad, 1);
	// proven bytes stay, whoever sends others
	assert_int_equal(rig_add_bytes(rig, number, 0, bad, 16 * KIB), SWARM_TAKEN);
	assert_int_equal(rig_tally(rig).poisoned, 1);
	assert_int_equal(rig_add(rig, number, 0, 48 * KIB, 16 * KIB), SWARM_WAITS);
	rig_prove(rig);
	assert_true(swarm_job(rig->swarm, number, &job));
	rig_job_is(rig, &job, 0);
	rig_verdict(rig, &job, SCAN_CLEAN);
	assert_int_equal(rig_look(rig, number).verdict.value, SCAN_CLEAN);
	swarm_close(rig->swarm, number);
	free(bad);
	rig_free(rig);
}

// Bytes that nobody can prove are replaced by the newer ones, and the file is never clean then:
// some receiver may have the others.
static void other_bytes_replace_what_is_not_proven(void **state)
{
	struct rig *rig = rig_new();
	uint8_t other[100] = "other bytes";
	struct scan_job job;

	(void)state;
	rig_payload(rig, 20 * KIB, 0, 4);
	uint32_t number = rig_open(rig, 0, 20 * KIB);

	rig_add_bytes(rig, number, 500, other, sizeof(other));
	assert_int_equal(rig_add(rig, number, 0, 0, 20 * KIB), SWARM_WAITS);
	assert_int_equal(rig_tally(rig).differs, 1);
	assert_true(swarm_job(rig->swarm, number, &job));
	rig_job_is(rig, &job, 0); // the newer ones
	// what a job names stays as it is
	assert_int_equal(rig_add_bytes(rig, number, 0, other, sizeof(other)), SWARM_WAITS);
	rig_job_is(rig, &job, 0);
	rig_verdict(rig, &job, SCAN_CLEAN);
	assert_int_equal(rig_look(rig, number).verdict.value, SCAN_UNSCANNED);
	assert_int_equal(rig_look(rig, number).verdict.reason, SCAN_REASON_PROTOCOL);
	// then others come: it is looked at again
	assert_int_equal(rig_add_bytes(rig, number, 0, other, sizeof(other)), SWARM_WAITS);
	assert_true(swarm_job(rig->swarm, number, &job));
	memcpy(rig->bytes, other, sizeof(other));
	rig_job_is(rig, &job, 0);
	rig_verdict(rig, &job, SCAN_CLEAN);
	swarm_close(rig->swarm, number);
	rig_free(rig);
}

// A torrent is condemned by what is proven of it, for all of its files.
static void a_proven_id_is_condemned(void **state)
{
	struct rig *rig = rig_new();
	struct scan_job job;

	(void)state;
	rig_payload(rig, 96 * KIB, 16 * KIB, 5);
	uint32_t evil = rig_open(rig, 0, 40 * KIB), other = rig_open(rig, 40 * KIB, 56 * KIB);

	rig_add(rig, evil, 0, 0, 40 * KIB);
	rig_add(rig, other, 40 * KIB, 0, 20 * KIB);
	rig_prove(rig);
	assert_true(swarm_job(rig->swarm, evil, &job));
	assert_true(rig_verdict(rig, &job, SCAN_INFECTED));
	assert_true(rig_look(rig, evil).condemned && rig_look(rig, other).condemned);
	assert_int_equal(rig_look(rig, other).verdict.value, SCAN_INFECTED);
	assert_int_equal(rig_add(rig, other, 40 * KIB, 0, 1), SWARM_KNOWN);
	uint32_t next = rig_open(rig, 40 * KIB, 56 * KIB); // whoever comes then finds it so

	assert_int_equal(next, other);
	assert_int_equal(rig_tally(rig).condemned, 1);
	swarm_close(rig->swarm, evil);
	swarm_close(rig->swarm, other);
	swarm_close(rig->swarm, next);
	rig_free(rig);
}

// A file ends within a piece, of which the rest has not come: what was found is the id's when that
// piece is proven, and nobody's if it is wrong.
static void what_is_found_waits_for_its_proof(void **state)
{
	(void)state;
	for (unsigned wrong = 0; wrong < 2; wrong++) {
		struct rig *rig = rig_new();
		uint8_t bad[100] = "of somebody else";
		struct content_id id;
		struct scan_job job;
		uint32_t flow;

		rig_payload(rig, 48 * KIB, 16 * KIB, 12);
		uint32_t first = rig_open(rig, 0, 20 * KIB);
		uint32_t rest = rig_open(rig, 20 * KIB, 28 * KIB);

		assert_int_equal(rig_add(rig, first, 0, 0, 20 * KIB - 100), SWARM_TAKEN);
		if (wrong)
			rig_add_bytes(rig, first, 20 * KIB - 100, bad, 100);
		else
			rig_add(rig, first, 0, 20 * KIB - 100, 100);
		rig_prove(rig);
		assert_true(swarm_job(rig->swarm, first, &job));
		assert_false(rig_verdict(rig, &job, SCAN_INFECTED));
		assert_int_equal(rig_look(rig, first).verdict.value, SCAN_INFECTED);
		assert_int_equal(rig_add(rig, first, 0, 0, 1), SWARM_KNOWN);
		assert_int_equal(rig_add(rig, rest, 20 * KIB, 0, 20 * KIB), SWARM_TAKEN);
		rig_prove(rig);
		assert_int_equal(swarm_condemned(rig->swarm, &id, &flow), !wrong);
		assert_int_equal(rig_look(rig, rest).condemned, !wrong);
		assert_int_equal(rig_look(rig, first).known, !wrong);
		assert_int_equal(rig_add(rig, first, 0, 0, 1), wrong ? SWARM_TAKEN : SWARM_KNOWN);
		swarm_close(rig->swarm, first);
		swarm_close(rig->swarm, rest);
		rig_free(rig);
	}
}

// Who serves other bytes under an id has those refused that bring them, and nobody later.
static void an_id_that_is_not_proven_is_not_condemned(void **state)
{
	struct rig *rig = rig_new();
	struct scan_job job;

	(void)state;
	rig_payload(rig, 10 * KIB, 0, 6);
	uint32_t number = rig_open(rig, 0, 10 * KIB);

	assert_int_equal(rig_add(rig, number, 0, 0, 10 * KIB), SWARM_WAITS);
	assert_true(swarm_job(rig->swarm, number, &job));
	assert_false(rig_verdict(rig, &job, SCAN_INFECTED));
	assert_false(rig_look(rig, number).condemned);
	assert_int_equal(rig_add(rig, number, 0, 0, 1), SWARM_KNOWN);
	uint32_t later = rig_open(rig, 0, 10 * KIB);

	assert_int_not_equal(later, number);
	assert_int_equal(rig_add(rig, later, 0, 0, 1), SWARM_TAKEN);
	swarm_close(rig->swarm, number);
	swarm_close(rig->swarm, later);
	rig_free(rig);
}

static void digest_of(struct rig *rig, enum content_id_kind kind, uint8_t out[32])
{
	const uint64_t part = 9728000;
	struct md4 md4, parts;

	memset(out, 0, 32);
	if (kind != CONTENT_ID_ED2K) {
		assert_int_equal(EVP_Digest(rig->bytes, rig->size, out, NULL,
					 kind == CONTENT_ID_SHA1 ? EVP_sha1() : EVP_sha256(), NULL),
			1);
		return;
	}
	md4_begin(&parts);
	for (uint64_t at = 0; at < rig->size; at += part) {
		uint64_t length = rig->size - at < part ? rig->size - at : part;

		md4_begin(&md4);
		md4_add(&md4, rig->bytes + at, length);
		md4_end(&md4, out);
		md4_add(&parts, out, 16);
	}
	if (rig->size > part)
		md4_end(&parts, out);
}

// An id that is a digest of the file proves it, or shows that it is another.
static void an_id_that_is_a_digest_proves_the_file(void **state)
{
	static const struct {
		enum content_id_kind kind;
		uint64_t size;
	} rows[] = {
		{CONTENT_ID_SHA1, 70000},
		{CONTENT_ID_SHA256, 70000},
		{CONTENT_ID_ED2K, 70000},
		{CONTENT_ID_ED2K, 9728000},
		{CONTENT_ID_ED2K, 9728001},
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		for (unsigned evil = 0; evil < 4; evil++) {
			struct rig *rig = rig_new();
			bool wrong = evil & 1;
			uint8_t digest[32];
			struct scan_job job;

			rig_payload(rig, rows[i].size, 0, 7);
			digest_of(rig, rows[i].kind, digest);
			rig->bytes[1000] ^= wrong;
			rig->whole.id = content_id_of(rows[i].kind, digest);
			uint32_t number = rig_open(rig, 0, rows[i].size);

			assert_int_equal(
				rig_add(rig, number, 0, 0, (uint32_t)rows[i].size), SWARM_WAITS);
			assert_false(swarm_job(rig->swarm, number, &job));
			rig_prove(rig);
			assert_int_equal(rig_tally(rig).proven, !wrong);
			assert_true(swarm_job(rig->swarm, number, &job));
			bool condemned =
				rig_verdict(rig, &job, evil & 2 ? SCAN_INFECTED : SCAN_CLEAN);

			assert_int_equal(condemned, !wrong && evil & 2);
			if (!(evil & 2))
				assert_int_equal(rig_look(rig, number).verdict.value,
					wrong ? SCAN_UNSCANNED : SCAN_CLEAN);
			swarm_close(rig->swarm, number);
			rig_free(rig);
		}
	}
}

// Where receivers may hold nothing against the id, other bytes than the proven ones are not known
// to be clean, nor are those that came before them.
static void receivers_that_check_nothing(void **state)
{
	struct rig *rig = rig_new();
	uint8_t digest[32], other = 0;
	uint32_t number, checked;
	struct scan_job job;

	(void)state;
	rig_payload(rig, 70000, 0, 7);
	digest_of(rig, CONTENT_ID_SHA1, digest);
	rig->whole.id = content_id_of(CONTENT_ID_SHA1, digest);
	const struct swarm_file what = {
		.whole = &rig->whole, .size = 70000, .max_bytes = 1u << 20, .trusting = true};

	for (unsigned doubted = 0; doubted < 2; doubted++) {
		other = (uint8_t)~rig->bytes[5];
		assert_int_equal(
			swarm_open(rig->swarm, &what, rig->now_ns, &number), SCAN_REASON_NONE);
		if (doubted)
			assert_int_equal(rig_add_bytes(rig, number, 5, &other, 1), SWARM_TAKEN);
		assert_int_equal(rig_add(rig, number, 0, 0, 70000), SWARM_WAITS);
		rig_prove(rig);
		assert_int_equal(rig_tally(rig).proven, 1);
		assert_true(swarm_job(rig->swarm, number, &job));
		rig_verdict(rig, &job, SCAN_CLEAN);
		assert_int_equal(
			rig_look(rig, number).verdict.value, doubted ? SCAN_UNSCANNED : SCAN_CLEAN);
		assert_int_equal(rig_add(rig, number, 0, 0, 70000), SWARM_KNOWN);
		assert_int_equal(rig_add_bytes(rig, number, 5, &other, 1), SWARM_DIFFERS);
		assert_int_equal(rig_tally(rig).poisoned, 1);
		// those who check have an object of their own
		checked = rig_open(rig, 0, 70000);
		assert_int_not_equal(checked, number);
		assert_false(rig_look(rig, checked).known);
		swarm_close(rig->swarm, checked);
		swarm_close(rig->swarm, number);
		rig->now_ns += RIG_AGE_S * NS_PER_S;
		swarm_turn(rig->swarm, rig->now_ns);
	}
	rig_free(rig);
}

// Two files can be made that have one MD4: what differs from the one that is known is not clean.
static void another_file_of_one_md4(void **state)
{
	struct rig *rig = rig_new();
	uint8_t digest[32], other;
	struct scan_job job;

	(void)state;
	rig_payload(rig, 70000, 0, 7);
	digest_of(rig, CONTENT_ID_ED2K, digest);
	rig->whole.id = content_id_of(CONTENT_ID_ED2K, digest);
	rig->whole.piece_bytes = 9728000;
	rig->whole.pieces = digest;
	rig->whole.n_pieces = 1;
	rig->whole.digest = CONTENT_DIGEST_MD4;
	uint32_t number = rig_open(rig, 0, 70000);

	assert_int_equal(rig_add(rig, number, 0, 0, 70000), SWARM_WAITS);
	rig_prove(rig);
	assert_int_equal(rig_tally(rig).proven, 1);
	assert_true(swarm_job(rig->swarm, number, &job));
	rig_verdict(rig, &job, SCAN_CLEAN);
	other = (uint8_t)~rig->bytes[5];
	assert_int_equal(rig_add(rig, number, 0, 0, 70000), SWARM_KNOWN);
	assert_int_equal(rig_add_bytes(rig, number, 5, &other, 1), SWARM_DIFFERS);
	assert_int_equal(rig_look(rig, number).verdict.value, SCAN_CLEAN); // of those before
	swarm_close(rig->swarm, number);
	rig_free(rig);
}

// What was forgotten while somebody has it open cannot be compared with what comes then.
static void what_was_forgotten_is_in_doubt(void **state)
{
	struct rig *rig = rig_new();
	uint32_t number, later;
	struct scan_job job;

	(void)state;
	rig_payload(rig, 30 * KIB, 0, 9);
	number = rig_open(rig, 0, 30 * KIB);
	assert_int_equal(rig_add(rig, number, 0, 10 * KIB, 10 * KIB), SWARM_TAKEN);
	rig->now_ns += RIG_AGE_S * NS_PER_S;
	swarm_turn(rig->swarm, rig->now_ns);
	assert_int_equal(rig_tally(rig).forgotten, 1);
	later = rig_open(rig, 0, 30 * KIB);
	assert_int_not_equal(later, number);
	for (unsigned i = 0; i < 2; i++) {
		uint32_t at = i ? later : number;

		assert_int_equal(rig_add(rig, at, 0, 0, 30 * KIB), SWARM_WAITS);
		assert_true(swarm_job(rig->swarm, at, &job));
		rig_verdict(rig, &job, SCAN_CLEAN);
		assert_int_equal(rig_look(rig, at).verdict.value, i ? SCAN_CLEAN : SCAN_UNSCANNED);
		swarm_close(rig->swarm, at);
	}
	rig_free(rig);
}

// Its first bytes are looked at before the rest has come, once they are proven.
static void a_beginning_is_looked_at_early(void **state)
{
	(void)state;
	for (unsigned known = 0; known < 2; known++) {
		struct rig *rig = rig_new();
		struct scan_job job;

		rig_payload(rig, 400 * KIB, known ? 128 * KIB : 0, 8);
		uint32_t number = rig_open(rig, 0, 400 * KIB);

		rig_add(rig, number, 0, 200 * KIB, 100 * KIB);
		rig_add(rig, number, 0, 10 * KIB, 54 * KIB);
		assert_false(swarm_job(rig->swarm, number, &job));
		assert_int_equal(rig_add(rig, number, 0, 0, 10 * KIB), SWARM_TAKEN);
		assert_int_equal(swarm_job(rig->swarm, number, &job), !known);
		if (known) {
			rig_add(rig, number, 0, 64 * KIB, 64 * KIB);
			rig_prove(rig);
			assert_true(swarm_job(rig->swarm, number, &job));
		}
		assert_int_equal(job.to64, SWARM_EARLY_BYTES);
		assert_int_equal(job.flags & SCAN_JOB_WHOLE, 0);
		rig_job_is(rig, &job, 0);
		assert_int_equal(rig_verdict(rig, &job, SCAN_INFECTED), known);
		assert_int_equal(rig_add(rig, number, 0, 70 * KIB, 1), SWARM_KNOWN);
		swarm_close(rig->swarm, number);
		rig_free(rig);
	}
}

// Nobody says how long it is: what stands there counts as all of it, until more comes.
static void a_file_of_no_size_is_sealed(void **state)
{
	struct rig *rig = rig_new();
	struct scan_job job;

	(void)state;
	rig_payload(rig, 30 * KIB, 0, 9);
	rig->whole.size = CONTENT_SIZE_UNKNOWN;
	uint32_t number = rig_open(rig, 0, CONTENT_SIZE_UNKNOWN);

	assert_int_equal(rig_add(rig, number, 0, 10 * KIB, 10 * KIB), SWARM_TAKEN);
	assert_false(swarm_seal(rig->swarm, number)); // there is a hole
	assert_int_equal(rig_add(rig, number, 0, 0, 10 * KIB), SWARM_STANDS);
	assert_false(swarm_job(rig->swarm, number, &job));
	assert_true(swarm_seal(rig->swarm, number));
	assert_true(rig_look(rig, number).waits);
	assert_true(swarm_job(rig->swarm, number, &job));
	assert_int_equal(job.to64, 20 * KIB);
	assert_int_equal(rig_add(rig, number, 0, 20 * KIB, 10 * KIB), SWARM_STANDS);
	rig_verdict(rig, &job, SCAN_CLEAN); // of a beginning, as it turns out
	assert_false(rig_look(rig, number).known);
	assert_true(swarm_seal(rig->swarm, number));
	assert_true(swarm_job(rig->swarm, number, &job));
	rig_job_is(rig, &job, 0);
	rig_verdict(rig, &job, SCAN_CLEAN);
	assert_true(rig_look(rig, number).known);
	assert_int_equal(rig_add_bytes(rig, number, 16u << 20, rig->bytes, 1), SWARM_TOO_BIG);
	swarm_close(rig->swarm, number);
	rig_free(rig);
}

// Of a file that is too big, what proves the first and last pieces of its neighbours is kept.
static void neighbours_of_a_large_file_are_proven(void **state)
{
	struct rig *rig = rig_new();
	const uint64_t first = 5 * KIB, large = 300 * KIB, last = 9 * KIB;
	struct content_whole whole;
	struct scan_job job;
	uint32_t edges;

	(void)state;
	rig_payload(rig, first + large + last, 16 * KIB, 10);
	whole = rig->whole;
	whole.file_from = first;
	const struct swarm_file what = {.whole = &whole, .size = large, .max_bytes = 100 * KIB};

	assert_int_equal(swarm_open(rig->swarm, &what, 1, &edges), SCAN_REASON_TOO_BIG);
	assert_int_not_equal(edges, 0);
	uint32_t small[2] = {rig_open(rig, 0, first), rig_open(rig, first + large, last)};

	rig_add(rig, small[0], 0, 0, (uint32_t)first);
	rig_add(rig, small[1], first + large, 0, (uint32_t)last);
	for (uint64_t at = 0; at < large; at += 1000)
		assert_int_equal(rig_add(rig, edges, first, at,
					 (uint32_t)(large - at < 1000 ? large - at : 1000)),
			SWARM_TAKEN);
	rig_prove(rig);
	for (unsigned i = 0; i < 2; i++) {
		assert_true(swarm_job(rig->swarm, small[i], &job));
		rig_job_is(rig, &job, i ? first + large : 0);
		assert_int_equal(rig_verdict(rig, &job, i ? SCAN_INFECTED : SCAN_CLEAN), i);
	}
	swarm_close(rig->swarm, small[0]);
	swarm_close(rig->swarm, small[1]);
	swarm_close(rig->swarm, edges);
	rig_free(rig);
}

// Zeros between files, which nobody sends, are a part of the pieces.
static void padding_is_not_waited_for(void **state)
{
	struct rig *rig = rig_new();
	struct scan_job job;
	uint32_t number;

	(void)state;
	rig_payload(rig, 64 * KIB, 0, 11);
	memset(rig->bytes + 20 * KIB, 0, 12 * KIB);
	struct rig *same = rig;

	rig->digests = realloc(rig->digests, 4 * 20);
	for (unsigned i = 0; i < 4; i++)
		EVP_Digest(same->bytes + i * 16 * KIB, 16 * KIB, rig->digests + i * 20, NULL,
			EVP_sha1(), NULL);
	rig->whole.piece_bytes = 16 * KIB;
	rig->whole.n_pieces = 4;
	rig->whole.pieces = rig->digests;
	struct content_whole whole = rig->whole;

	whole.padding = 12 * KIB;
	const struct swarm_file what = {.whole = &whole, .size = 20 * KIB, .max_bytes = 16u << 20};

	assert_int_equal(swarm_open(rig->swarm, &what, 1, &number), SCAN_REASON_NONE);
	rig_add(rig, number, 0, 0, 20 * KIB);
	rig_prove(rig);
	assert_int_equal(rig_tally(rig).proven, 2);
	assert_true(swarm_job(rig->swarm, number, &job));
	assert_true(rig_verdict(rig, &job, SCAN_INFECTED));
	swarm_close(rig->swarm, number);
	rig_free(rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parts_in_any_order_are_one_file),
		cmocka_unit_test(as_an_array_would_have_it),
		cmocka_unit_test(a_piece_that_fails_is_thrown_away),
		cmocka_unit_test(other_bytes_replace_what_is_not_proven),
		cmocka_unit_test(a_proven_id_is_condemned),
		cmocka_unit_test(what_is_found_waits_for_its_proof),
		cmocka_unit_test(an_id_that_is_not_proven_is_not_condemned),
		cmocka_unit_test(an_id_that_is_a_digest_proves_the_file),
		cmocka_unit_test(receivers_that_check_nothing),
		cmocka_unit_test(another_file_of_one_md4),
		cmocka_unit_test(what_was_forgotten_is_in_doubt),
		cmocka_unit_test(a_beginning_is_looked_at_early),
		cmocka_unit_test(a_file_of_no_size_is_sealed),
		cmocka_unit_test(neighbours_of_a_large_file_are_proven),
		cmocka_unit_test(padding_is_not_waited_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
