// SPDX-License-Identifier: BSD-3-Clause
// Files in parts at their limits: places, memory, shares, ages; what is said of them that cannot
// be; and two data lcores and a scan lcore at once.
#include <pthread.h>
#include <stdatomic.h>
#include "unit/scan/swarm_rig.h"

#define KIB 1024u

// A file by an id of its own, of that size.
static enum scan_reason open_as(struct rig *rig, uint8_t id, uint64_t size, uint32_t *number)
{
	uint8_t name[20] = {id};
	const struct content_whole whole = {
		.id = content_id_of(CONTENT_ID_BTIH, name), .size = size};
	const struct swarm_file what = {.whole = &whole, .size = size, .max_bytes = 32u << 20};

	return swarm_open(rig->swarm, &what, rig->now_ns, number);
}

static enum swarm_taken add_as(
	struct rig *rig, uint32_t number, uint64_t at, uint32_t length, struct flow_share share)
{
	static uint8_t zeros[1u << 20];
	struct swarm_due due;

	return swarm_add(rig->swarm, number,
		&(struct swarm_bytes){.at = at,
			.bytes = zeros,
			.length = length,
			.share = share,
			.now_ns = rig->now_ns},
		&due);
}

static void places_end_and_come_back(void **state)
{
	struct rig *rig = rig_with(4, RIG_MB);
	uint32_t numbers[4], more;

	(void)state;
	for (uint8_t i = 0; i < 4; i++)
		assert_int_equal(open_as(rig, i, 1000, &numbers[i]), SCAN_REASON_NONE);
	assert_int_equal(open_as(rig, 9, 1000, &more), SCAN_REASON_BUSY);
	swarm_close(rig->swarm, numbers[2]); // nobody has it open: it makes room
	assert_int_equal(open_as(rig, 9, 1000, &more), SCAN_REASON_NONE);
	assert_int_equal(more, numbers[2]);
	numbers[2] = more;
	for (unsigned i = 0; i < 4; i++)
		swarm_close(rig->swarm, numbers[i]);
	rig_free(rig);
}

// What nobody has open goes for those who have; then there is no room, and nothing is taken.
static void memory_ends_and_comes_back(void **state)
{
	const struct flow_share one = {{1, 1}}, two = {{2, 2}};
	struct rig *rig = rig_with(16, 16);
	uint32_t old, number, last;
	struct swarm_use use;

	(void)state;
	assert_int_equal(open_as(rig, 1, 6u << 20, &old), SCAN_REASON_NONE);
	for (uint32_t at = 0; at < 5u << 20; at += 1u << 20)
		assert_int_equal(add_as(rig, old, at, 1u << 20, one), SWARM_TAKEN);
	swarm_close(rig->swarm, old);
	assert_int_equal(open_as(rig, 2, 16u << 20, &number), SCAN_REASON_NONE);
	enum swarm_taken taken = SWARM_TAKEN;
	uint32_t at = 0;

	while ((taken = add_as(rig, number, at, 1u << 20, two)) == SWARM_TAKEN)
		at += 1u << 20;
	assert_int_equal(taken, SWARM_FULL);
	assert_true(at >= 10u << 20); // the first one has gone
	assert_int_equal(rig_tally(rig).forgotten, 1);
	swarm_use(rig->swarm, &use);
	assert_true(use.used <= use.bytes);
	assert_int_equal(open_as(rig, 3, 1000, &last), SCAN_REASON_NONE); // small ones find some
	swarm_close(rig->swarm, number);
	swarm_close(rig->swarm, last);
	rig_free(rig);
}

// While memory is scarce one id, and one source, have a quarter.
static void shares_while_memory_is_scarce(void **state)
{
	const struct flow_share one = {{1, 1}}, two = {{2, 2}};
	struct rig *rig = rig_with(16, 32);
	uint32_t big, small;
	uint32_t at = 0;

	(void)state;
	assert_int_equal(open_as(rig, 1, 32u << 20, &big), SCAN_REASON_NONE);
	while (add_as(rig, big, at, 1u << 20, one) == SWARM_TAKEN)
		at += 1u << 20;
	// three quarters, with an eighth for what has come: more than its quarter then
	assert_true(at >= 20u << 20 && at <= 23u << 20);
	assert_int_equal(open_as(rig, 2, 4u << 20, &small), SCAN_REASON_NONE);
	assert_int_equal(add_as(rig, small, 0, 1000, one), SWARM_FULL); // of the same source
	assert_int_equal(add_as(rig, small, 0, 1000, two), SWARM_TAKEN);
	assert_int_equal(add_as(rig, big, at, 1u << 20, two), SWARM_FULL); // the same id
	swarm_close(rig->swarm, big);
	swarm_close(rig->swarm, small);
	rig_free(rig);
}

// To which nothing comes is forgotten, also while somebody has it open: it begins anew.
static void what_rests_is_forgotten(void **state)
{
	struct rig *rig = rig_new();
	struct scan_job job;

	(void)state;
	rig_payload(rig, 60 * KIB, 20 * KIB, 1);
	uint32_t number = rig_open(rig, 0, 60 * KIB);

	rig_add(rig, number, 0, 0, 40 * KIB);
	rig_prove(rig);
	rig->now_ns += (RIG_AGE_S - 1) * NS_PER_S;
	swarm_turn(rig->swarm, rig->now_ns);
	assert_int_equal(rig_tally(rig).forgotten, 0);
	rig->now_ns += 2 * NS_PER_S;
	swarm_turn(rig->swarm, rig->now_ns);
	assert_int_equal(rig_tally(rig).forgotten, 1);
	assert_int_equal(rig_add(rig, number, 0, 40 * KIB, 20 * KIB), SWARM_TAKEN);
	assert_int_equal(rig_add(rig, number, 0, 0, 40 * KIB), SWARM_WAITS);
	rig_prove(rig);
	assert_true(swarm_job(rig->swarm, number, &job));
	rig_job_is(rig, &job, 0);
	rig->now_ns += RIG_AGE_S * NS_PER_S; // not while its job is out
	swarm_turn(rig->swarm, rig->now_ns);
	rig_job_is(rig, &job, 0);
	rig_verdict(rig, &job, SCAN_CLEAN);
	swarm_close(rig->swarm, number);
	rig_free(rig);
}

static void what_cannot_be_is_refused(void **state)
{
	struct rig *rig = rig_new();
	uint32_t number;

	(void)state;
	rig_payload(rig, 50 * KIB, 16 * KIB, 2);
	const struct {
		uint64_t size, from, file;
		enum scan_reason reason;
	} rows[] = {
		{0, 0, 0, SCAN_REASON_PROTOCOL},
		{100, 0, 101, SCAN_REASON_PROTOCOL},
		{100, 50, 51, SCAN_REASON_PROTOCOL},
		{100, UINT64_MAX - 5, 100, SCAN_REASON_PROTOCOL},
		{UINT64_MAX - 1, UINT64_MAX - 3, 2, SCAN_REASON_BUSY},
		{1ull << 60, 0, 100, SCAN_REASON_BUSY},
		{1ull << 60, 0, 1ull << 59, SCAN_REASON_TOO_BIG},
		{CONTENT_SIZE_UNKNOWN, 5, CONTENT_SIZE_UNKNOWN, SCAN_REASON_PROTOCOL},
	};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct content_whole whole = {
			.id = rig->whole.id, .size = rows[i].size, .file_from = rows[i].from};
		const struct swarm_file what = {
			.whole = &whole, .size = rows[i].file, .max_bytes = 1u << 20};

		if (swarm_open(rig->swarm, &what, 1, &number) != rows[i].reason || number)
			fail_msg("row %u", i);
	}
	// digests that do not fit the size prove nothing, and no file has two sizes
	rig->whole.n_pieces--;
	number = rig_open(rig, 0, 50 * KIB);
	struct content_whole same = rig->whole;
	const struct swarm_file other = {.whole = &same, .size = 49 * KIB, .max_bytes = 1u << 20};
	uint32_t none;

	assert_int_equal(swarm_open(rig->swarm, &other, 1, &none), SCAN_REASON_PROTOCOL);
	rig_add(rig, number, 0, 0, 50 * KIB);
	rig_prove(rig);
	assert_int_equal(rig_tally(rig).proven, 0);
	assert_int_equal(rig_add_bytes(rig, number, 50 * KIB, rig->bytes, 1), SWARM_BEYOND);
	assert_int_equal(rig_add_bytes(rig, number, UINT64_MAX, rig->bytes, 1), SWARM_BEYOND);
	swarm_close(rig->swarm, number);
	rig_free(rig);
}

// ---- lcores ----

#define ROUNDS 300

struct lcore_of {
	struct rig *rig;
	uint64_t random;
	uint32_t number;
	_Atomic uint64_t *missing; // bytes that nobody has brought
	uint8_t *has;
	pthread_mutex_t *has_mutex;
};

static _Atomic bool is_over;

static void *brings(void *arg)
{
	struct lcore_of *own = arg;
	struct rig *rig = own->rig;

	while (atomic_load(own->missing)) {
		uint32_t length = (uint32_t)(1 + rig_random(&own->random) % 1460);
		uint64_t at = rig_random(&own->random) % rig->size, fresh = 0;
		uint8_t bad[1460];

		if (length > rig->size - at)
			length = (uint32_t)(rig->size - at);
		if (rig_random(&own->random) % 16 == 0) { // a poisoned one before
			memset(bad, 0x5a, length);
			rig_add_bytes(rig, own->number, at, bad, length);
		}
		rig_add(rig, own->number, 0, at, length);
		pthread_mutex_lock(own->has_mutex);
		for (uint64_t i = at; i < at + length; i++) {
			fresh += !own->has[i];
			own->has[i] = 1;
		}
		pthread_mutex_unlock(own->has_mutex);
		atomic_fetch_sub(own->missing, fresh);
	}
	return NULL;
}

static void *proves(void *arg)
{
	struct rig *rig = arg;

	while (!atomic_load(&is_over))
		swarm_work(rig->swarm, 1, 0);
	return NULL;
}

// Two data lcores bring a file, with wrong bytes among theirs, while a scan lcore proves it: what
// is whole in the end is the file.
static void two_data_lcores_and_a_scan_lcore(void **state)
{
	struct rig *rig = rig_new();
	pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	pthread_t threads[3];
	struct scan_job job;

	(void)state;
	rig_payload(rig, 200 * KIB, 16 * KIB, 3);
	uint8_t *has = calloc(rig->size, 1);
	_Atomic uint64_t missing = rig->size;
	struct lcore_of own[2];

	atomic_store(&is_over, false);
	pthread_create(&threads[2], NULL, proves, rig);
	for (unsigned i = 0; i < 2; i++) {
		own[i] = (struct lcore_of){.rig = rig,
			.random = i + 1,
			.number = rig_open(rig, 0, rig->size),
			.missing = &missing,
			.has = has,
			.has_mutex = &mutex};
		pthread_create(&threads[i], NULL, brings, &own[i]);
	}
	for (unsigned i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	// pieces that were thrown away for their wrong bytes come again
	for (unsigned i = 0; i < ROUNDS && !rig_look(rig, own[0].number).known; i++) {
		for (uint64_t at = 0; at < rig->size; at += 1000)
			rig_add(rig, own[i % 2].number, 0, at,
				(uint32_t)(rig->size - at < 1000 ? rig->size - at : 1000));
		rig_prove(rig);
		if (swarm_job(rig->swarm, own[0].number, &job)) {
			rig_job_is(rig, &job, 0);
			rig_verdict(rig, &job, SCAN_CLEAN);
		}
	}
	atomic_store(&is_over, true);
	pthread_join(threads[2], NULL);
	assert_true(rig_look(rig, own[0].number).known);
	assert_int_equal(rig_look(rig, own[0].number).verdict.value, SCAN_CLEAN);
	swarm_close(rig->swarm, own[0].number);
	swarm_close(rig->swarm, own[1].number);
	free(has);
	rig_free(rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(places_end_and_come_back),
		cmocka_unit_test(memory_ends_and_comes_back),
		cmocka_unit_test(shares_while_memory_is_scarce),
		cmocka_unit_test(what_rests_is_forgotten),
		cmocka_unit_test(what_cannot_be_is_refused),
		cmocka_unit_test(two_data_lcores_and_a_scan_lcore),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
