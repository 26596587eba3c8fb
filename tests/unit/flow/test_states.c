// SPDX-License-Identifier: BSD-3-Clause
// The table of a flow's life: every pair of a state and a step, held against a list of edges that
// is written once more here; what a pair outside of it does; which flags each step writes.
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <netinet/tcp.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>
#include "lib/pipeline/pipe.h"
#include "pipeline/flow/states.h"
#include "pipeline/flow/table.h"

static const char *const lives[] = {
#define X(state, what) #state,
	FLOW_LIVES(X)
#undef X
};
static const char *const steps[] = {
#define X(step, set, clear) #step,
	FLOW_STEPS(X)
#undef X
};

#define STUBS   "STUB UNCONFIRMED "
#define FLOWS   "UNDECIDED CLASSIFIED FINAL "
#define BLOCKED "BLOCKED LATE "

// By step: the states that it begins in, with a space behind each, and where it leads.
static const struct {
	const char *step, *from, *to;
} expected[] = {
	{"ADMIT", "FREE ", "STUB"},
	{"DOUBT", "STUB ", "UNCONFIRMED"},
	{"CONFIRM", "UNCONFIRMED ", "STUB"},
	{"PROMOTE", STUBS, "UNDECIDED"},
	{"CLASSIFY", "UNDECIDED ", "CLASSIFIED"},
	{"SETTLE", "CLASSIFIED ", "FINAL"},
	{"LOOK_AGAIN", "FINAL ", "CLASSIFIED"},
	{"REVIEW", "FINAL ", "CLASSIFIED"},
	{"ANEW", FLOWS, "UNDECIDED"},
	{"BLOCK", STUBS FLOWS, "BLOCKED"},
	{"NOTE_LATE", "BLOCKED ", "LATE"},
	{"TIMEOUT", STUBS FLOWS BLOCKED, "FREE"},
	{"CLOSE", FLOWS, "FREE"},
	{"EVICT", STUBS FLOWS BLOCKED, "FREE"},
	{"SHUTDOWN", STUBS FLOWS BLOCKED, "FREE"},
	{"REUSE", FLOWS, "FREE"},
	{"REFUSE", STUBS FLOWS, "FREE"},
	{"REPRIEVE", BLOCKED, "FREE"},
	{"LAPSE", BLOCKED, "FREE"},
	{"NEW_SYN", BLOCKED, "FREE"},
	{"RELEASE", BLOCKED, "FREE"},
	{"ALLOW", "POLICY ALLOWED OPERATOR ", "ALLOWED"},
	{"EXPIRE", "ALLOWED ", "OPERATOR"},
	{"RESUME", "ALLOWED OPERATOR ", "POLICY"},
	{"RESET", "POLICY ALLOWED OPERATOR ", "OPERATOR"},
	{"FIND", "POLICY OPERATOR ", "FOUND"},
};

static bool has_word(const char *words, const char *word)
{
	size_t length = strlen(word);

	for (const char *at = words; (at = strstr(at, word)); at += length)
		if ((at == words || at[-1] == ' ') && at[length] == ' ')
			return true;
	return false;
}

static void each_pair_is_an_edge_or_none(void **state)
{
	(void)state;

	assert_int_equal(sizeof(expected) / sizeof(expected[0]), FLOW_STEPS_MAX);
	for (unsigned step = 0; step < FLOW_STEPS_MAX; step++) {
		assert_string_equal(expected[step].step, steps[step]);
		for (unsigned from = 0; from < FLOW_LIFE_MAX; from++) {
			enum flow_life to = flow_life_next(from, step);

			if (!has_word(expected[step].from, lives[from])) {
				if (to != FLOW_LIFE_MAX)
					fail_msg("%s has a step %s", lives[from], steps[step]);
				continue;
			}
			if (to == FLOW_LIFE_MAX)
				fail_msg("%s has no step %s", lives[from], steps[step]);
			assert_string_equal(lives[to], expected[step].to);
		}
	}
}

// As many rows as edges, each with its reason.
static void no_pair_is_said_twice(void **state)
{
	static const char *const reasons[] = {
#define X(from, step, to, reason) reason,
		FLOW_EDGES(X)
#undef X
	};
	unsigned rows = sizeof(reasons) / sizeof(reasons[0]), edges = 0;
	(void)state;

	for (unsigned from = 0; from < FLOW_LIFE_MAX; from++)
		for (unsigned step = 0; step < FLOW_STEPS_MAX; step++)
			edges += flow_life_next(from, step) != FLOW_LIFE_MAX;
	assert_int_equal(rows, edges);
	for (unsigned i = 0; i < rows; i++)
		assert_true(*reasons[i]);
}

static void what_is_no_edge_ends_a_build_with_assertions(void **state)
{
	uint16_t flags = FLOW_V6;
	(void)state;

#ifdef NDEBUG
	assert_int_equal(
		flow_life_move(FLOW_LIFE_FREE, FLOW_STEP_NOTE_LATE, &flags), FLOW_LIFE_MAX);
	assert_int_equal(flags, FLOW_V6);
#else
	int status;
	pid_t child = fork();

	assert_true(child >= 0);
	if (!child) {
		setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
		signal(SIGABRT, SIG_DFL);
		fclose(stderr);
		flow_life_move(FLOW_LIFE_FREE, FLOW_STEP_NOTE_LATE, &flags);
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
#endif
}

static void the_flags_say_the_state(void **state)
{
	static const struct {
		enum flow_life from;
		enum flow_step step;
		uint16_t before, after;
	} cases[] = {
		{FLOW_LIFE_STUB, FLOW_STEP_DOUBT, 0, FLOW_UNCONFIRMED},
		{FLOW_LIFE_UNCONFIRMED, FLOW_STEP_CONFIRM, FLOW_UNCONFIRMED, 0},
		{FLOW_LIFE_UNDECIDED, FLOW_STEP_CLASSIFY, 0, FLOW_APP_FINAL},
		{FLOW_LIFE_CLASSIFIED, FLOW_STEP_SETTLE, FLOW_APP_FINAL,
			FLOW_APP_FINAL | FLOW_FINAL},
		{FLOW_LIFE_FINAL, FLOW_STEP_REVIEW, FLOW_APP_FINAL | FLOW_FINAL, FLOW_APP_FINAL},
		{FLOW_LIFE_FINAL, FLOW_STEP_LOOK_AGAIN, FLOW_APP_FINAL | FLOW_FINAL,
			FLOW_APP_FINAL},
		{FLOW_LIFE_FINAL, FLOW_STEP_ANEW, FLOW_APP_FINAL | FLOW_FINAL, 0},
		{FLOW_LIFE_BLOCKED, FLOW_STEP_NOTE_LATE, 0, FLOW_LATE},
		{FLOW_LIFE_POLICY, FLOW_STEP_ALLOW, 0, FLOW_ALLOWED},
		{FLOW_LIFE_OPERATOR, FLOW_STEP_ALLOW, FLOW_OPERATOR, FLOW_ALLOWED},
		{FLOW_LIFE_ALLOWED, FLOW_STEP_EXPIRE, FLOW_ALLOWED, FLOW_OPERATOR},
		{FLOW_LIFE_OPERATOR, FLOW_STEP_RESUME, FLOW_OPERATOR, 0},
		{FLOW_LIFE_ALLOWED, FLOW_STEP_RESUME, FLOW_ALLOWED, 0},
		{FLOW_LIFE_ALLOWED, FLOW_STEP_RESET, FLOW_ALLOWED, FLOW_OPERATOR},
		{FLOW_LIFE_POLICY, FLOW_STEP_FIND, 0, FLOW_FOUND},
		{FLOW_LIFE_STUB, FLOW_STEP_BLOCK, FLOW_FROM_RESPONDER, FLOW_FROM_RESPONDER},
		{FLOW_LIFE_STUB, FLOW_STEP_EVICT, FLOW_FROM_RESPONDER, FLOW_FROM_RESPONDER},
	};
	(void)state;

	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint16_t flags = cases[i].before | FLOW_V6 | FLOW_TRACE;

		flow_life_move(cases[i].from, cases[i].step, &flags);
		assert_int_equal(flags, cases[i].after | FLOW_V6 | FLOW_TRACE);
	}
}

static void an_entry_is_what_its_flags_and_class_say(void **state)
{
	struct flow flow = {0};
	struct flow_stub stub = {.lru_class = FLOW_CLASS_EMBRYONIC};
	(void)state;

	assert_int_equal(flow_life_of(&flow, FLOW_STEP_BLOCK), FLOW_LIFE_FREE);
	assert_int_equal(flow_life_of_stub(&stub, FLOW_STEP_BLOCK), FLOW_LIFE_FREE);
	flow.gen = stub.gen = 1;
	assert_int_equal(flow_life_of(&flow, FLOW_STEP_BLOCK), FLOW_LIFE_UNDECIDED);
	flow_life_step(&flow, FLOW_STEP_CLASSIFY);
	flow_life_settle(&flow);
	flow_life_settle(&flow);
	assert_int_equal(flow_life_of(&flow, FLOW_STEP_BLOCK), FLOW_LIFE_FINAL);
	flow_life_step(&flow, FLOW_STEP_ALLOW);
	assert_int_equal(flow_life_of(&flow, FLOW_STEP_BLOCK), FLOW_LIFE_FINAL);
	assert_int_equal(flow_life_of(&flow, FLOW_STEP_RESET), FLOW_LIFE_ALLOWED);
	// these are other flags of an entry that is not blocked
	stub.flags = FLOW_FROM_RESPONDER | FLOW_FOUND;
	assert_int_equal(flow_life_of_stub(&stub, FLOW_STEP_BLOCK), FLOW_LIFE_STUB);
	assert_int_equal(flow_life_of_stub(&stub, FLOW_STEP_RESET), FLOW_LIFE_POLICY);
	stub = (struct flow_stub){.gen = 1, .lru_class = FLOW_CLASS_BLOCKED};
	flow_life_step_stub(&stub, FLOW_STEP_NOTE_LATE);
	flow_life_step_stub(&stub, FLOW_STEP_FIND);
	assert_int_equal(flow_life_of_stub(&stub, FLOW_STEP_BLOCK), FLOW_LIFE_LATE);
	assert_int_equal(flow_life_of_stub(&stub, FLOW_STEP_RESET), FLOW_LIFE_FOUND);
}

static void a_step_says_how_a_record_ends(void **state)
{
	(void)state;
	assert_int_equal(flow_end_of(FLOW_STEP_TIMEOUT), FLOW_END_TIMEOUT);
	assert_int_equal(flow_end_of(FLOW_STEP_CLOSE), FLOW_END_CLOSED);
	assert_int_equal(flow_end_of(FLOW_STEP_REUSE), FLOW_END_CLOSED);
	assert_int_equal(flow_end_of(FLOW_STEP_EVICT), FLOW_END_FORCED);
	assert_int_equal(flow_end_of(FLOW_STEP_REFUSE), FLOW_END_FORCED);
	assert_int_equal(flow_end_of(FLOW_STEP_SHUTDOWN), FLOW_END_SHUTDOWN);
}

// A generation is never 0, which is of a slot without an entry: also behind the last one.
static void generations_begin_anew(void **state)
{
	struct pipe *pipe = pipe_new(1, NULL);
	struct flow_table *table = pipe->dp.lcores[0]->flows;
	unsigned n = 0;
	(void)state;

	table->next_gen = UINT32_MAX;
	for (uint16_t i = 0; i < 3; i++)
		pipe_run(pipe, 0,
			&(struct pipe_packet){.sport = (uint16_t)(40000 + i), .tcp_flags = TH_SYN});
	for (uint32_t i = 0; i < flow_table_usage(table).stubs_max; i++)
		n += table->stubs[i].gen != 0;
	assert_int_equal(n, 3);
	assert_int_equal(table->next_gen, 3);
	pipe_free(pipe);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(generations_begin_anew),
		cmocka_unit_test(each_pair_is_an_edge_or_none),
		cmocka_unit_test(no_pair_is_said_twice),
		cmocka_unit_test(what_is_no_edge_ends_a_build_with_assertions),
		cmocka_unit_test(the_flags_say_the_state),
		cmocka_unit_test(an_entry_is_what_its_flags_and_class_say),
		cmocka_unit_test(a_step_says_how_a_record_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
