// SPDX-License-Identifier: BSD-3-Clause
// What need not be scanned: files that came before, the same file in flight, and files that a list
// names. The engine behind is the one that asks sluice-scan, and the scanner a script.
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "peer_rig.h"
#include "scan/cache.h"
#include "scan/front.h"
#include "scan/hash_list.h"

// SHA-256 of 100, 101 and 102 zeros.
#define ZEROS_100 "cd00e292c5970d3c5e2f0ffa5171e555bc46bfc4faddfb4a418b6840b86e79a3"
#define ZEROS_101 "e08dd9962eedb16e12840ea2a977cc07bc5fa8d96259682edaa080573d525e4c"
#define ZEROS_102 "c419a92c7dce5225606f604f79d0d07009ebd882b5d5d41d234b71617b691774"

static struct scan_config inner; // what the fronts have: the engine itself, cache and lists

// The rig's engine is a front.
static struct scan_front *front_of(struct scan_engine *of)
{
	return (struct scan_front *)(void *)of;
}

static int make(const struct scan_config *unused, int socket, struct scan_engine **out, char *err,
	size_t err_len)
{
	(void)unused;
	return scan_front_new(&inner, socket, (struct scan_front **)(void *)out, err, err_len);
}

static void destroy(struct scan_engine *of)
{
	scan_front_free(front_of(of));
}

static int put(struct scan_engine *of, const struct scan_job *job, uint64_t at_ns)
{
	return scan_front_submit(front_of(of), job, at_ns);
}

static unsigned ask(struct scan_engine *of, uint64_t at_ns, struct scan_verdict *out, unsigned max)
{
	return scan_front_poll(front_of(of), at_ns, out, max);
}

static uint64_t next_ns(const struct scan_engine *of)
{
	return scan_front_next_ns((const struct scan_front *)(const void *)of);
}

static void adopt(struct scan_engine *of, const struct scan_news *news, uint64_t at_ns)
{
	scan_front_adopt(front_of(of), news, at_ns);
}

static void look(struct scan_engine *of, struct scan_status *out)
{
	assert_true(scan_front_status(front_of(of), out));
}

static const struct scan_engine_ops as_front = {
	.name = "front",
	.make = make,
	.destroy = destroy,
	.submit = put,
	.poll = ask,
	.next_ns = next_ns,
	.adopt = adopt,
	.status = look,
};

static int begin(void **state)
{
	int rc = rig_begin(state);

	inner = config;
	config.ops = &as_front;
	return rc;
}

static int setup(void **state)
{
	inner.cache = scan_cache_new(1024, 3600 * NS_PER_S);
	inner.lists = NULL;
	return !inner.cache || rig_setup(state);
}

static int teardown(void **state)
{
	rig_teardown(state);
	scan_cache_free(inner.cache);
	scan_lists_free(inner.lists);
	return 0;
}

static void comes(uint64_t id, enum scan_value value, enum scan_source source)
{
	struct scan_verdict verdict = turn();

	assert_int_equal(verdict.job.id, id);
	assert_int_equal(verdict.value, value);
	assert_int_equal(verdict.source, source);
	assert_int_equal(verdict.job.trigger, 0); // as it was submitted
	if (value == SCAN_INFECTED)
		assert_int_not_equal(verdict.name[0], 0);
}

static void no_request(const struct peer *peer)
{
	assert_false(peer_hears(peer, &(struct scan_wire_request){0}));
}

// A file of that size is scanned.
static void is_scanned(struct peer *peer, uint64_t id, uint32_t bytes, enum scan_value value)
{
	assert_true(submit(id, bytes));
	tells_nothing();
	peer_answers(peer, peer_must_hear(peer), value);
	comes(id, value, SCAN_SOURCE_ENGINE);
	no_request(peer);
}

// The first of 1,000 identical files is scanned, and no other.
static void a_repeated_file_costs_no_request(void **state)
{
	static const enum scan_value values[] = {SCAN_CLEAN, SCAN_INFECTED, SCAN_UNSCANNED};
	struct peer peer = peer_ready(1);

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		is_scanned(&peer, 1, 100 + i, values[i]);
		for (uint64_t id = 2; id <= 1000; id++) {
			now_ns += NS_PER_MS;
			assert_true(submit(id, 100 + i));
			comes(id, values[i], SCAN_SOURCE_CACHE);
			no_request(&peer);
		}
	}
	assert_int_equal(status().known.misses, 3);
	assert_int_equal(status().known.hits, 3 * 999);
	assert_int_equal(status().known.entries, 3);
	assert_int_equal(status().known.limit, 1024);
	peer_close(&peer);
}

// The reason and the name are remembered, too.
static void what_it_was_is_remembered(void **state)
{
	struct peer peer = peer_ready(1);
	struct scan_verdict verdict;

	(void)state;
	is_scanned(&peer, 1, 100, SCAN_INFECTED);
	is_scanned(&peer, 2, 101, SCAN_UNSCANNED);
	assert_true(submit(3, 100));
	verdict = turn();
	assert_string_equal(verdict.name, "Eicar-Test.UNOFFICIAL");
	assert_int_equal(verdict.taken_ns, now_ns);
	assert_int_equal(verdict.done_ns, now_ns);
	assert_true(submit(4, 101));
	verdict = turn();
	assert_int_equal(verdict.reason, SCAN_REASON_ENCRYPTED);
	assert_string_equal(verdict.name, "");
	peer_close(&peer);
}

#define SHA1_ZEROS_100 "ed4a77d1b56a118938788fc53037759b6c501e3d"

static void is_hex(const uint8_t *bytes, unsigned n, const char *hex)
{
	char text[65] = "";

	for (unsigned i = 0; i < n; i++)
		snprintf(text + 2 * i, 3, "%02x", bytes[i]);
	assert_string_equal(text, hex);
}

// Digests of the bytes, for whoever asks for them by their hash; of what is clean nobody needs any.
static void what_is_infected_is_told_with_its_digests(void **state)
{
	struct peer peer = peer_ready(1);

	(void)state;
	for (unsigned i = 0; i < 2; i++) { // by the engine, and by the cache
		assert_true(submit(1, 100));
		if (!i) {
			tells_nothing();
			peer_answers(&peer, peer_must_hear(&peer), SCAN_INFECTED);
		}
		struct scan_verdict verdict = turn();

		assert_int_equal(verdict.source, i ? SCAN_SOURCE_CACHE : SCAN_SOURCE_ENGINE);
		assert_true(verdict.hashed);
		is_hex(verdict.sha256, 32, ZEROS_100);
		is_hex(verdict.sha1, 20, SHA1_ZEROS_100);
	}
	assert_true(submit(2, 101));
	tells_nothing();
	peer_answers(&peer, peer_must_hear(&peer), SCAN_CLEAN);
	assert_false(turn().hashed);
	peer_close(&peer);
}

// A part of a file is, though all of it is known.
static void what_is_not_whole_is_scanned_each_time(void **state)
{
	struct peer peer = peer_ready(1);
	const struct scan_job job = {.to64 = 100,
		.submitted_ns = now_ns,
		.deadline_ns = now_ns + TIMEOUT,
		.trigger = 9,
		.flags = SCAN_JOB_FILE};

	(void)state;
	is_scanned(&peer, 32, 100, SCAN_CLEAN); // its extents lie where the job says, too
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(config.ops->submit(engine, &job, now_ns), 0);
		tells_nothing();
		peer_answers(&peer, peer_must_hear(&peer), SCAN_CLEAN);
		struct scan_verdict verdict = turn();

		assert_int_equal(verdict.job.trigger, 9);
		assert_int_equal(verdict.source, SCAN_SOURCE_ENGINE);
	}
	peer_close(&peer);
}

static void identical_files_in_flight_are_scanned_once(void **state)
{
	struct peer peer = peer_ready(1);

	(void)state;
	for (uint64_t id = 1; id <= 1000; id++)
		assert_true(submit(id, 100));
	tells_nothing();
	assert_true(submit(1001, 101)); // another one is next
	uint64_t request = peer_must_hear(&peer);

	no_request(&peer);
	now_ns += NS_PER_S;
	peer_answers(&peer, request, SCAN_INFECTED);
	comes(1, SCAN_INFECTED, SCAN_SOURCE_ENGINE);
	for (uint64_t id = 1000; id >= 2; id--)
		comes(id, SCAN_INFECTED, SCAN_SOURCE_CACHE);
	peer_answers(&peer, peer_must_hear(&peer), SCAN_CLEAN);
	comes(1001, SCAN_CLEAN, SCAN_SOURCE_ENGINE);
	no_request(&peer);
	assert_int_equal(status().known.joined, 999);
	assert_int_equal(status().known.misses, 2);
	assert_int_equal(status().verdicts[SCAN_INFECTED], 1); // of the engine
	peer_close(&peer);
}

static void each_that_waits_has_its_own_deadline(void **state)
{
	struct peer peer = peer_ready(1);

	(void)state;
	assert_true(submit(1, 100));
	tells_nothing();
	assert_true(submit_until(2, 100, T0 + 5 * NS_PER_S));
	assert_true(submit_until(3, 100, T0 + 2 * NS_PER_S));
	assert_true(submit_until(4, 100, T0 + 8 * NS_PER_S));
	tells_nothing();
	assert_int_equal(config.ops->next_ns(engine), T0 + 2 * NS_PER_S);
	now_ns = T0 + 2 * NS_PER_S;
	comes(3, SCAN_TIMEOUT, SCAN_SOURCE_NONE);
	tells_nothing();
	assert_int_equal(config.ops->next_ns(engine), T0 + 5 * NS_PER_S);
	now_ns = T0 + 5 * NS_PER_S;
	comes(2, SCAN_TIMEOUT, SCAN_SOURCE_NONE);
	tells_nothing();
	peer_answers(&peer, peer_must_hear(&peer), SCAN_CLEAN);
	comes(1, SCAN_CLEAN, SCAN_SOURCE_ENGINE);
	comes(4, SCAN_CLEAN, SCAN_SOURCE_CACHE);
	tells_nothing();
	assert_int_equal(config.ops->next_ns(engine), SCAN_NEVER);
	peer_close(&peer);
}

static void child_dies(struct peer *peer)
{
	peer_must_hear(peer);
	peer_gone(peer);
	peer_born(peer);
}

// The one that scans is lost with its child: the others are not told so, one of them is scanned.
static void the_owners_death_is_its_own(void **state)
{
	struct peer peer = peer_ready(1);

	(void)state;
	for (uint64_t id = 1; id <= 4; id++)
		assert_true(submit(id, 100));
	tells_nothing();
	child_dies(&peer);
	comes(1, SCAN_ERROR, SCAN_SOURCE_NONE);
	tells_nothing();
	peer_answers(&peer, peer_must_hear(&peer), SCAN_CLEAN);
	comes(4, SCAN_CLEAN, SCAN_SOURCE_ENGINE); // the youngest: it has the most time
	comes(3, SCAN_CLEAN, SCAN_SOURCE_CACHE);
	comes(2, SCAN_CLEAN, SCAN_SOURCE_CACHE);
	no_request(&peer);
	assert_int_equal(status().died, 1);
	peer_close(&peer);
}

// A file that kills whoever reads it costs some children, and not one for each who asks.
static void a_killer_is_not_tried_for_ever(void **state)
{
	struct peer peer = peer_ready(1);
	uint64_t owner = 1;

	(void)state;
	for (uint64_t id = 1; id <= 100; id++)
		assert_true(submit(id, 100));
	for (unsigned i = 0; i < SCAN_CACHE_TRIES; i++) {
		tells_nothing();
		child_dies(&peer);
		comes(owner, SCAN_ERROR, SCAN_SOURCE_NONE);
		owner = 100 - i;
	}
	for (uint64_t id = owner; id >= 2; id--)
		comes(id, SCAN_ERROR, SCAN_SOURCE_CACHE);
	tells_nothing();
	no_request(&peer);
	assert_int_equal(status().died, SCAN_CACHE_TRIES);
	is_scanned(&peer, 200, 101, SCAN_CLEAN);
	peer_close(&peer);
}

static void a_timeout_is_the_owners(void **state)
{
	struct peer peer = peer_ready(1);

	(void)state;
	assert_true(submit_until(1, 100, T0 + 2 * NS_PER_S));
	assert_true(submit(2, 100));
	tells_nothing();
	peer_must_hear(&peer);
	now_ns = T0 + 2 * NS_PER_S;
	tells_nothing(); // its child is to be replaced first
	peer_is_asked_to_replace(&peer);
	peer_gone(&peer);
	comes(1, SCAN_TIMEOUT, SCAN_SOURCE_NONE);
	peer_born(&peer);
	tells_nothing();
	peer_answers(&peer, peer_must_hear(&peer), SCAN_INFECTED);
	comes(2, SCAN_INFECTED, SCAN_SOURCE_ENGINE);
	peer_close(&peer);
}

// Two scan lcores: a file in flight at one is not scanned by the other, which is woken.
static void files_in_flight_are_shared_between_lcores(void **state)
{
	struct peer peers[2];
	struct scan_engine *engines[2] = {engine, NULL};
	struct pollfd fds[SCAN_FDS_MAX];
	char err[200];

	(void)state;
	assert_int_equal(make(NULL, SOCKET_ID_ANY, &engines[1], err, sizeof(err)), 0);
	for (unsigned i = 0; i < 2; i++) {
		engine = engines[i];
		peers[i] = peer_ready(1);
	}
	engine = engines[0];
	assert_true(submit(1, 100));
	tells_nothing();
	engine = engines[1];
	assert_true(submit(2, 100));
	tells_nothing();
	no_request(&peers[1]);
	unsigned n = scan_front_descriptors(front_of(engine), fds);

	assert_int_equal(poll(fds, n, 0), 0);
	engine = engines[0];
	peer_answers(&peers[0], peer_must_hear(&peers[0]), SCAN_INFECTED);
	comes(1, SCAN_INFECTED, SCAN_SOURCE_ENGINE);
	engine = engines[1];
	assert_int_equal(poll(fds, n, 0), 1);
	comes(2, SCAN_INFECTED, SCAN_SOURCE_CACHE);
	assert_int_equal(poll(fds, n, 0), 0);
	assert_int_equal(status().known.joined, 1);
	destroy(engines[1]);
	engine = engines[0];
	for (unsigned i = 0; i < 2; i++)
		peer_close(&peers[i]);
}

// A lcore that ends has nothing in flight any more: the others scan what they wait for.
static void what_an_lcore_leaves_is_scanned_by_another(void **state)
{
	struct scan_engine *leaves = NULL, *stays = engine;
	char err[200];

	(void)state;
	assert_int_equal(make(NULL, SOCKET_ID_ANY, &leaves, err, sizeof(err)), 0);
	struct peer peer = peer_ready(1);

	engine = leaves;
	struct peer other = peer_ready(1);

	assert_true(submit(1, 100));
	tells_nothing();
	engine = stays;
	assert_true(submit(2, 100));
	tells_nothing();
	destroy(leaves);
	tells_nothing();
	peer_answers(&peer, peer_must_hear(&peer), SCAN_CLEAN);
	comes(2, SCAN_CLEAN, SCAN_SOURCE_ENGINE);
	peer_close(&peer);
	peer_close(&other);
}

// A new database: what was clean is looked at again. One that comes while the file is looked at
// does not have the old one's verdict.
static void a_new_database_makes_files_unknown(void **state)
{
	struct peer old = peer_ready(1), new;

	(void)state;
	is_scanned(&old, 1, 100, SCAN_CLEAN);
	assert_true(submit(2, 101));
	tells_nothing();
	uint64_t request = peer_must_hear(&old);

	new = peer_new(2);
	peer_born(&new);
	tells_nothing();
	peer_answers(&old, request, SCAN_CLEAN);
	comes(2, SCAN_CLEAN, SCAN_SOURCE_ENGINE);
	tells_nothing();
	is_scanned(&new, 3, 100, SCAN_INFECTED);
	is_scanned(&new, 4, 101, SCAN_INFECTED);
	assert_true(submit(5, 100));
	comes(5, SCAN_INFECTED, SCAN_SOURCE_CACHE);
	peer_close(&old);
	peer_close(&new);
}

// It was queued under the old database, and scanned with the new one: it is the new one's verdict.
static void a_file_that_waited_for_a_new_database_is_known_by_that(void **state)
{
	struct peer old = peer_ready(1), new;

	(void)state;
	assert_true(submit(1, 100));
	assert_true(submit(2, 101));
	tells_nothing();
	new = peer_new(2);
	peer_born(&new);
	tells_nothing();
	peer_answers(&old, peer_must_hear(&old), SCAN_CLEAN);
	comes(1, SCAN_CLEAN, SCAN_SOURCE_ENGINE);
	tells_nothing();
	peer_answers(&new, peer_must_hear(&new), SCAN_INFECTED);
	comes(2, SCAN_INFECTED, SCAN_SOURCE_ENGINE);
	assert_true(submit(3, 101));
	comes(3, SCAN_INFECTED, SCAN_SOURCE_CACHE);
	no_request(&new);
	peer_close(&old);
	peer_close(&new);
}

// Nothing is remembered where there is no engine, and what was is not used.
static void without_an_engine_nothing_is_known(void **state)
{
	struct peer peer;

	(void)state;
	assert_true(submit(1, 100));
	tells(1, SCAN_UNSCANNED, SCAN_REASON_NO_ENGINE);
	peer = peer_ready(1);
	is_scanned(&peer, 2, 100, SCAN_CLEAN);
	peer_close(&peer);
	tells_nothing();
	assert_int_equal(status().state, SCAN_STATE_ABSENT);
	assert_true(submit(3, 100));
	tells(3, SCAN_UNSCANNED, SCAN_REASON_NO_ENGINE);
}

// Those that wait for one that is lost with its parent are told at once that there is no engine.
static void an_engine_that_is_lost_leaves_nobody_waiting(void **state)
{
	struct peer peer = peer_ready(1);

	(void)state;
	for (uint64_t id = 1; id <= 3; id++)
		assert_true(submit(id, 100));
	tells_nothing();
	peer_close(&peer);
	tells_nothing();
	peer_is_dead(1);
	comes(1, SCAN_ERROR, SCAN_SOURCE_NONE);
	tells(3, SCAN_UNSCANNED, SCAN_REASON_NO_ENGINE);
	tells(2, SCAN_UNSCANNED, SCAN_REASON_NO_ENGINE);
	tells_nothing();
}

static void the_queue_has_an_end(void **state)
{
	struct peer peer = peer_ready(1);

	(void)state;
	for (uint64_t id = 1; id <= SCAN_JOBS_MAX; id++)
		assert_true(submit(id, 100));
	assert_false(submit(SCAN_JOBS_MAX + 1, 100));
	tells_nothing();
	peer_answers(&peer, peer_must_hear(&peer), SCAN_CLEAN);
	comes(1, SCAN_CLEAN, SCAN_SOURCE_ENGINE);
	assert_true(submit(SCAN_JOBS_MAX + 1, 100));
	for (uint64_t id = 2; id <= SCAN_JOBS_MAX + 1; id++)
		assert_int_equal(turn().value, SCAN_CLEAN);
	tells_nothing();
	peer_close(&peer);
}

// ---- lists ----

static void with_lists(const char *allow, const char *deny)
{
	char names[2][40] = {"/tmp/test_scan_front.XXXXXX", "/tmp/test_scan_front.XXXXXX"},
	     err[200];
	const char *const texts[] = {allow, deny};

	for (unsigned i = 0; i < 2; i++) {
		int fd = mkstemp(names[i]);

		assert_true(fd >= 0);
		assert_true(write(fd, texts[i], strlen(texts[i])) >= 0);
		close(fd);
	}
	assert_int_equal(scan_lists_new(names[0], names[1], &inner.lists, err, sizeof(err)), 0);
	unlink(names[0]);
	unlink(names[1]);
}

// Also where there is no engine, and before what the cache remembers.
static void what_a_list_names_is_not_scanned(void **state)
{
	struct peer peer;

	(void)state;
	with_lists(ZEROS_101 "  known good\n", ZEROS_100 "  known bad\n");
	for (unsigned i = 0; i < 2; i++) {
		assert_true(submit(1, 100));
		struct scan_verdict verdict = turn();

		assert_int_equal(verdict.value, SCAN_INFECTED);
		assert_string_equal(verdict.name, "known bad");
		assert_int_equal(verdict.source, SCAN_SOURCE_LIST);
		assert_true(submit(2, 101));
		comes(2, SCAN_CLEAN, SCAN_SOURCE_LIST);
		assert_int_equal(status().known.listed, 2 * i + 2);
		assert_true(submit(3, 102));
		if (!i)
			tells(3, SCAN_UNSCANNED, SCAN_REASON_NO_ENGINE);
		else
			tells_nothing();
		if (!i)
			peer = peer_ready(1);
	}
	peer_answers(&peer, peer_must_hear(&peer), SCAN_CLEAN);
	comes(3, SCAN_CLEAN, SCAN_SOURCE_ENGINE);
	scan_lists_free(inner.lists);
	with_lists("", ZEROS_102); // what the cache remembers as clean
	assert_true(submit(4, 102));
	comes(4, SCAN_INFECTED, SCAN_SOURCE_LIST);
	peer_close(&peer);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(a_repeated_file_costs_no_request),
		TEST(what_it_was_is_remembered),
		TEST(what_is_infected_is_told_with_its_digests),
		TEST(what_is_not_whole_is_scanned_each_time),
		TEST(identical_files_in_flight_are_scanned_once),
		TEST(each_that_waits_has_its_own_deadline),
		TEST(the_owners_death_is_its_own),
		TEST(a_killer_is_not_tried_for_ever),
		TEST(a_timeout_is_the_owners),
		TEST(files_in_flight_are_shared_between_lcores),
		TEST(what_an_lcore_leaves_is_scanned_by_another),
		TEST(a_new_database_makes_files_unknown),
		TEST(a_file_that_waited_for_a_new_database_is_known_by_that),
		TEST(without_an_engine_nothing_is_known),
		TEST(an_engine_that_is_lost_leaves_nobody_waiting),
		TEST(the_queue_has_an_end),
		TEST(what_a_list_names_is_not_scanned),
	};

	return cmocka_run_group_tests(tests, begin, rig_end);
}
