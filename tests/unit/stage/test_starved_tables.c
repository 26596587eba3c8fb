// SPDX-License-Identifier: BSD-3-Clause
// What is made at the start, with memory refused at each place where it is asked for: it is there,
// or whoever asked is told, and what it consisted of by then is given back.
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>
#include "control/cache/inquiry.h"
#include "control/event/handshake_store.h"
#include "control/event/sink.h"
#include "control/event/trace_log.h"
#include "control/policy/load.h"
#include "control/policy/reload.h"
#include "lib/pipeline/pipe.h"
#include "lib/rig/starved.h"
#include "pipeline/lcores.h"
#include "pipeline/limits.h"

static struct pipe *pipe_at_hand;

static uint64_t now_ns(void)
{
	return NS_PER_S;
}

// `made`: it is there. Then nothing was refused on the way.
static enum starved_outcome outcome_of(int rc, const void *made)
{
	if (rc == 0) {
		assert_non_null(made);
		return STARVED_DONE;
	}
	assert_true(starved_now());
	assert_int_equal(rc, -ENOMEM);
	assert_null(made);
	return STARVED_TOLD;
}

static enum starved_outcome lcore_step(void *ctx)
{
	struct pipe *pipe = pipe_at_hand;
	struct lcore_limits limits = pipe->limits;
	struct dataplane dp = {.n_lcores = 2, .n_ports = 2, .limits = &limits};
	const char *const *words = ctx;
	struct lcore *lcore = NULL;
	char err[256] = "";
	int rc;

	limits.impair = (struct impair_settings){.on = true, .limit = 16, .at = IMPAIR_TX};
	rc = lcore_new(&dp, 1, SOCKET_ID_ANY, pipe->pool, &lcore, err, sizeof(err));
	if (rc == 0) {
		assert_ptr_equal(dp.lcores[1], lcore);
		lcore_free(lcore);
		return STARVED_DONE;
	}
	assert_true(starved_now());
	assert_null(dp.lcores[1]);
	for (unsigned i = 0; words[i]; i++) // what to make smaller
		if (strstr(err, words[i]))
			return STARVED_TOLD;
	fail_msg("\"%s\"", err);
	return STARVED_TOLD;
}

static void an_lcore_is_whole_or_not(void **state)
{
	static const char *const words[] = {"its state", "counts of events", "limits.flows",
		"limits.classifying", "limits.heads", "reassembly.memory_mb", "limits.conn_cache",
		"limits.expectations", "limits.endpoints", "limits.names", "fragments.datagrams",
		"limits.evidence", "allowances", "impairment.limit", "pages for clients",
		"its rings", NULL};

	(void)state;
	// tables that have several parts
	assert_true(starved_run(lcore_step, (void *)(uintptr_t)words) > 25);
}

static enum starved_outcome sink_step(void *ctx)
{
	struct sink_options options = {.path = ctx, .source = "pcap", .flow_events = true};
	struct rule_names *names = rule_names_new();
	struct sink *sink = NULL;
	struct trace_log *log = NULL;
	enum starved_outcome outcome = STARVED_TOLD;
	char err[256] = "";
	int rc = names ? sink_new(&options, &pipe_at_hand->dp, names, &sink, err, sizeof(err)) : 0;

	if (names) {
		outcome = outcome_of(rc, sink);
		assert_true(rc == 0 || strstr(err, "memory"));
	}
	if (sink) {
		rc = trace_log_new(sink, &log);
		outcome = outcome_of(rc, log);
		sink_free(sink);
		trace_log_free(log);
	}
	rule_names_free(names);
	return outcome;
}

static void a_sink_is_whole_or_not(void **state)
{
	char path[] = "/tmp/test_starved_XXXXXX";
	int fd = mkstemp(path);

	(void)state;
	assert_true(fd >= 0);
	close(fd);
	assert_true(starved_run(sink_step, path) >= 3);
	unlink(path);
}

static void told(void *ctx, const struct handshake_record *record)
{
	(void)ctx;
	(void)record;
}

static enum starved_outcome handshakes_step(void *ctx)
{
	struct handshake_store *store = NULL;
	int rc = handshake_store_new(64, told, ctx, &store);
	enum starved_outcome outcome = outcome_of(rc, store);

	handshake_store_free(store);
	return outcome;
}

static enum starved_outcome inquiries_step(void *ctx)
{
	struct inquiries *inquiries = NULL;
	int rc = inquiries_new(ctx, &pipe_at_hand->dp, now_ns, &inquiries);
	enum starved_outcome outcome = outcome_of(rc, inquiries);

	inquiries_free(inquiries);
	return outcome;
}

static enum starved_outcome start_reload(void *ctx)
{
	struct rule_names *names = rule_names_new();
	struct reload *reload = NULL;
	enum starved_outcome outcome = STARVED_TOLD;
	int rc;

	(void)ctx;
	if (names) {
		rc = reload_new(&pipe_at_hand->dp, names, "/nonexistent", NULL, &reload);
		outcome = outcome_of(rc, reload);
	}
	reload_free(reload);
	rule_names_free(names);
	return outcome;
}

static void what_the_control_core_starts_is_whole_or_not(void **state)
{
	struct event_base *base = event_base_new();

	(void)state;
	assert_true(starved_run(handshakes_step, NULL) >= 2);
	assert_true(starved_run(inquiries_step, base) >= 1);
	assert_true(starved_run(start_reload, NULL) >= 2);
	event_base_free(base);
}

static int begin(void **state)
{
	(void)state;
	pipe_at_hand = pipe_new(1, NULL);
	return 0;
}

static int end(void **state)
{
	(void)state;
	pipe_free(pipe_at_hand);
	return 0;
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_lcore_is_whole_or_not),
		cmocka_unit_test(a_sink_is_whole_or_not),
		cmocka_unit_test(what_the_control_core_starts_is_whole_or_not),
	};

	starved_begin();
	return cmocka_run_group_tests(tests, begin, end);
}
