// SPDX-License-Identifier: BSD-3-Clause
// A change of scan parents: which steps it takes, and how it ends whatever the two parents, the
// launcher and the scan lcores do.
#include "scan/reload.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "pipeline/vocab/tick.h"

#define T0  (1000 * NS_PER_S)
#define JOB (3 * NS_PER_S)
#define N   2

static struct scan_reload reload;
static struct scan_status lcores[N];
static uint64_t now_ns;

static int setup(void **state)
{
	(void)state;
	now_ns = T0;
	reload = (struct scan_reload){.job_ns = JOB};
	for (unsigned i = 0; i < N; i++)
		lcores[i] = (struct scan_status){.parent = 1, .state = SCAN_STATE_READY};
	return 0;
}

static void does(enum scan_reload_step step, uint32_t parent)
{
	assert_int_equal(scan_reload_turn(&reload, lcores, N, now_ns), step);
	if (parent)
		assert_int_equal(reload.parent, parent);
}

static void does_nothing(void)
{
	does(SCAN_RELOAD_NOTHING, 0);
}

static void is_done(void)
{
	does_nothing();
	assert_int_equal(reload.state, SCAN_RELOAD_IDLE);
	assert_true(scan_reload_ask(&reload));
}

static void loads_aside(void)
{
	assert_true(scan_reload_ask(&reload));
	does(SCAN_RELOAD_ASIDE, 0);
	does_nothing();
	scan_reload_started(&reload, 2, now_ns);
	does_nothing();
	assert_false(scan_reload_ask(&reload)); // one at a time
}

static void has(unsigned lcore, uint32_t parent, enum scan_state state)
{
	lcores[lcore].parent = parent;
	lcores[lcore].state = (uint8_t)state;
}

static void refuses(unsigned lcore, uint32_t parent, const char *why)
{
	lcores[lcore].refused = parent;
	scan_wire_text(lcores[lcore].refusal, sizeof(lcores[lcore].refusal), why);
}

static void the_next_is_taken_when_every_lcore_has_it(void **state)
{
	(void)state;
	loads_aside();
	has(0, 2, SCAN_STATE_READY);
	does_nothing();
	has(1, 2, SCAN_STATE_READY);
	does(SCAN_RELOAD_TAKEN, 0);
	does_nothing(); // the old one ends by itself
	assert_false(scan_reload_ask(&reload));
	scan_reload_dead(&reload, 1);
	is_done();
}

static void an_old_one_that_does_not_end_is_killed(void **state)
{
	(void)state;
	loads_aside();
	has(0, 2, SCAN_STATE_READY);
	has(1, 2, SCAN_STATE_WAITING);
	does(SCAN_RELOAD_TAKEN, 0);
	now_ns += SCAN_RELOAD_LEAVE_NS - 1;
	does_nothing();
	now_ns++;
	does(SCAN_RELOAD_KILL, 1);
	does_nothing();
	now_ns += SCAN_RELOAD_LEAVE_NS;
	does(SCAN_RELOAD_KILL, 1);
	scan_reload_dead(&reload, 1);
	is_done();
}

static void one_that_is_refused_leaves_the_old_one(void **state)
{
	(void)state;
	loads_aside();
	refuses(0, 2, "broken");
	does_nothing();
	refuses(1, 2, "broken");
	does(SCAN_RELOAD_REFUSED, 0);
	assert_string_equal(reload.text, "broken");
	does_nothing();
	now_ns += SCAN_RELOAD_LEAVE_NS;
	does(SCAN_RELOAD_KILL, 2); // not the old one
	scan_reload_dead(&reload, 2);
	is_done();
}

static void one_that_dies_leaves_the_old_one(void **state)
{
	(void)state;
	loads_aside();
	scan_reload_dead(&reload, 2);
	refuses(0, 2, "the scanner has closed its socket"); // the other lcore is slow
	for (unsigned i = 0; i < 4; i++)
		does_nothing();
	does(SCAN_RELOAD_REFUSED, 0);
	assert_string_equal(reload.text, "the scanner has closed its socket");
	is_done();
}

static void one_that_loads_for_ever_is_killed(void **state)
{
	(void)state;
	loads_aside();
	now_ns += SCAN_RELOAD_LOAD_NS + JOB - 1;
	does_nothing();
	now_ns++;
	does(SCAN_RELOAD_KILL, 2);
	does_nothing();
	scan_reload_dead(&reload, 2);
	refuses(0, 2, "the scanner has closed its socket");
	refuses(1, 2, "the scanner has closed its socket");
	for (unsigned i = 0; i < 4; i++)
		does_nothing();
	does(SCAN_RELOAD_REFUSED, 0);
	assert_non_null(strstr(reload.text, "in time"));
	is_done();
}

static void a_launcher_that_does_not_tell_of_a_death_holds_up_nothing(void **state)
{
	(void)state;
	loads_aside();
	now_ns += SCAN_RELOAD_LOAD_NS + JOB;
	does(SCAN_RELOAD_KILL, 2);
	now_ns += SCAN_RELOAD_LEAVE_NS;
	does(SCAN_RELOAD_REFUSED, 0);
	now_ns += SCAN_RELOAD_LEAVE_NS;
	does(SCAN_RELOAD_KILL, 2);
}

// A scan lcore cannot go back to a parent whose socket it has closed.
static void one_for_some_lcores_only_ends_both(void **state)
{
	(void)state;
	loads_aside();
	has(0, 2, SCAN_STATE_READY);
	refuses(1, 2, "the jail did not close");
	now_ns += SCAN_RELOAD_LOAD_NS + JOB;
	does(SCAN_RELOAD_KILL, 2);
	scan_reload_dead(&reload, 2);
	has(0, 0, SCAN_STATE_ABSENT);
	for (unsigned i = 0; i < 4; i++)
		does_nothing();
	does(SCAN_RELOAD_REFUSED, 0);
	assert_non_null(strstr(reload.text, "some of the scan lcores"));
	does(SCAN_RELOAD_KILL, 1);
	scan_reload_dead(&reload, 1);
	is_done();
}

// It is the engine then, and goes on alone.
static void the_old_one_may_die_meanwhile(void **state)
{
	(void)state;
	loads_aside();
	scan_reload_dead(&reload, 1);
	has(0, 2, SCAN_STATE_LOADING);
	has(1, 2, SCAN_STATE_LOADING);
	does_nothing();
	has(0, 2, SCAN_STATE_FAILED);
	has(1, 2, SCAN_STATE_FAILED);
	scan_wire_text(lcores[1].text, sizeof(lcores[1].text), "broken");
	does(SCAN_RELOAD_REFUSED, 0);
	assert_string_equal(reload.text, "broken");
	is_done();
}

static void a_launcher_that_starts_none_says_so(void **state)
{
	(void)state;
	assert_true(scan_reload_ask(&reload));
	does(SCAN_RELOAD_ASIDE, 0);
	scan_reload_none(&reload);
	does(SCAN_RELOAD_REFUSED, 0);
	assert_non_null(strstr(reload.text, "launcher"));
	is_done();
	does(SCAN_RELOAD_ASIDE, 0);
	now_ns += SCAN_RELOAD_WISH_NS; // or does not
	does(SCAN_RELOAD_REFUSED, 0);
	is_done();
}

static void is_let_go(void)
{
	reload.is_sequential = true;
	assert_true(scan_reload_ask(&reload));
	does(SCAN_RELOAD_LET_GO, 1);
	does_nothing();
	assert_false(scan_reload_ask(&reload));
}

static void one_after_the_other(void **state)
{
	(void)state;
	is_let_go();
	has(0, 0, SCAN_STATE_ABSENT);
	has(1, 0, SCAN_STATE_ABSENT);
	scan_reload_dead(&reload, 1);
	does_nothing();
	scan_reload_started(&reload, 2, now_ns);
	has(0, 2, SCAN_STATE_LOADING);
	has(1, 2, SCAN_STATE_LOADING);
	does_nothing();
	has(0, 2, SCAN_STATE_READY);
	has(1, 2, SCAN_STATE_READY);
	does(SCAN_RELOAD_TAKEN, 0);
	is_done();
}

static void one_that_holds_on_to_its_file_is_killed(void **state)
{
	(void)state;
	is_let_go();
	now_ns += JOB + SCAN_RELOAD_LEAVE_NS;
	does(SCAN_RELOAD_KILL, 1);
	does_nothing();
	scan_reload_dead(&reload, 1);
	scan_reload_started(&reload, 2, now_ns);
	has(0, 2, SCAN_STATE_FAILED);
	has(1, 2, SCAN_STATE_FAILED);
	scan_wire_text(lcores[0].text, sizeof(lcores[0].text), "broken");
	does(SCAN_RELOAD_REFUSED, 0);
	is_done(); // it stays, and looks for better ones
}

static void where_none_is_left_the_next_is_wished_for(void **state)
{
	(void)state;
	reload.is_sequential = true;
	has(0, 0, SCAN_STATE_ABSENT);
	has(1, 0, SCAN_STATE_ABSENT);
	assert_true(scan_reload_ask(&reload));
	does(SCAN_RELOAD_ASIDE, 0);
	scan_reload_started(&reload, 4, now_ns);
	has(0, 4, SCAN_STATE_READY);
	has(1, 4, SCAN_STATE_READY);
	does(SCAN_RELOAD_TAKEN, 0);
	is_done();
}

// Whatever is said, in whatever order: in the end it is over, and told exactly once.
static void any_order_comes_to_an_end(void **state)
{
	static const enum scan_state states[] = {SCAN_STATE_ABSENT, SCAN_STATE_LOADING,
		SCAN_STATE_READY, SCAN_STATE_WAITING, SCAN_STATE_FAILED};
	unsigned taken = 0, refused = 0;

	for (unsigned seed = 0; seed < 20000; seed++) {
		unsigned told = 0;

		srand(seed);
		setup(state);
		reload.is_sequential = seed % 2;
		assert_true(scan_reload_ask(&reload));
		for (unsigned i = 0; i < 300 && reload.state != SCAN_RELOAD_IDLE; i++) {
			bool late = i > 40;

			now_ns += (unsigned)(rand() % 3) * 20 * NS_PER_S;
			if (rand() % 4 == 0)
				scan_reload_started(&reload, 2, now_ns);
			if (rand() % 8 == 0)
				scan_reload_none(&reload);
			if (late || rand() % 8 == 0)
				scan_reload_dead(&reload, 1 + (uint32_t)rand() % 2);
			if (rand() % 3 == 0)
				has((unsigned)rand() % N, (uint32_t)rand() % 3, states[rand() % 5]);
			if (rand() % 5 == 0)
				refuses((unsigned)rand() % N, 2, "broken");
			enum scan_reload_step step = scan_reload_turn(&reload, lcores, N, now_ns);

			told += step == SCAN_RELOAD_TAKEN || step == SCAN_RELOAD_REFUSED;
			taken += step == SCAN_RELOAD_TAKEN;
			refused += step == SCAN_RELOAD_REFUSED;
		}
		assert_int_equal(reload.state, SCAN_RELOAD_IDLE);
		assert_int_equal(told, 1);
	}
	assert_true(taken > 100 && refused > 100);
}

#define TEST(name) cmocka_unit_test_setup(name, setup)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_next_is_taken_when_every_lcore_has_it),
		TEST(an_old_one_that_does_not_end_is_killed),
		TEST(one_that_is_refused_leaves_the_old_one),
		TEST(one_that_dies_leaves_the_old_one),
		TEST(one_that_loads_for_ever_is_killed),
		TEST(a_launcher_that_does_not_tell_of_a_death_holds_up_nothing),
		TEST(one_for_some_lcores_only_ends_both),
		TEST(the_old_one_may_die_meanwhile),
		TEST(a_launcher_that_starts_none_says_so),
		TEST(one_after_the_other),
		TEST(one_that_holds_on_to_its_file_is_killed),
		TEST(where_none_is_left_the_next_is_wished_for),
		TEST(any_order_comes_to_an_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
