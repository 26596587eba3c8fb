// SPDX-License-Identifier: BSD-3-Clause
// What the service manager hears in a gateway's life, and the line that tells how it is.
#include "process/service.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#include "control/cache/store.h"
#include "lib/control/fake_control.h"
#include "base/options.h"
#include "pipeline/vocab/tick.h"

struct world {
	struct dataplane *dp;
	struct rule_names *names;
	struct reload *reload;
	struct control_context context;
	struct service service;
	struct launcher launcher; // none
	int fd;
	char heard[1200];
};

static struct world *world_new(void)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	struct world *w = calloc(1, sizeof *w);

	w->dp = fake_dataplane_new(2, true);
	w->names = rule_names_new();
	fake_signatures = "ab";
	assert_int_equal(reload_new(w->dp, w->names, "signatures", NULL, &w->reload), 0);
	w->context = (struct control_context){.dp = w->dp, .reload = w->reload};
	w->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0);
	snprintf(at.sun_path + 1, sizeof at.sun_path - 1, "sluice-service.%d", (int)getpid());
	assert_int_equal(bind(w->fd, (struct sockaddr *)&at,
				 (socklen_t)(sizeof at.sun_family + 1 + strlen(at.sun_path + 1))),
		0);
	at.sun_path[0] = '@';
	setenv("NOTIFY_SOCKET", at.sun_path, 1);
	setenv("WATCHDOG_USEC", "1000000", 1);
	service_open(&w->service);
	return w;
}

static void world_free(struct world *w)
{
	service_close(&w->service);
	close(w->fd);
	reload_free(w->reload);
	rule_names_free(w->names);
	fake_dataplane_free(w->dp);
	unsetenv("NOTIFY_SOCKET");
	unsetenv("WATCHDOG_USEC");
	free(w);
}

// The next datagram; "" if there is none.
static const char *next(struct world *w)
{
	ssize_t n = recv(w->fd, w->heard, sizeof w->heard - 1, 0);

	w->heard[n > 0 ? n : 0] = '\0';
	return w->heard;
}

static void beat(struct world *w, uint64_t now_ns)
{
	for (unsigned i = 0; i < 2; i++)
		w->dp->lcores[i]->stats.heartbeat_ns = now_ns;
}

static void ready_when_every_heart_has_beaten(void **state)
{
	struct world *w = world_new();
	struct config_errors errors = {0};

	(void)state;
	service_patience(&w->service, 60, "compiling");
	assert_string_equal(next(w), "EXTEND_TIMEOUT_USEC=60000000\nSTATUS=compiling");
	assert_int_equal(reload_load(w->reload, "first", 1, &errors), 0);
	service_forwarding(&w->service, &w->context, &w->launcher);
	service_tick(&w->service, 10 * NS_PER_S, true);
	w->dp->lcores[0]->stats.heartbeat_ns = 10 * NS_PER_S;
	service_tick(&w->service, 10 * NS_PER_S, true);
	assert_string_equal(next(w), ""); // one lcore has not begun
	beat(w, 10 * NS_PER_S);
	service_tick(&w->service, 10 * NS_PER_S, true);
	assert_string_equal(next(w), "READY=1\nSTATUS=forwarding; 0 flows; policy generation 1");
	world_free(w);
}

static void the_watchdog_is_fed_only_in_health(void **state)
{
	struct world *w = world_new();
	struct config_errors errors = {0};
	uint64_t now = 100 * NS_PER_S;
	unsigned fed = 0;

	(void)state;
	assert_int_equal(reload_load(w->reload, "first", 1, &errors), 0);
	service_forwarding(&w->service, &w->context, &w->launcher);
	beat(w, now);
	service_tick(&w->service, now, true);
	assert_non_null(strstr(next(w), "READY=1"));
	for (unsigned i = 0; i < 20; i++) // 2 s in health: every half second
		service_tick(&w->service, now += 100 * NS_PER_MS, true);
	while (*next(w))
		fed += strcmp(w->heard, "WATCHDOG=1") == 0;
	assert_in_range(fed, 4, 5);
	service_tick(&w->service, now += 100 * NS_PER_MS, false);
	assert_non_null(strstr(next(w), "STATUS=A DATA LCORE STANDS STILL; "));
	for (unsigned i = 0; i < 50; i++)
		service_tick(&w->service, now += 100 * NS_PER_MS, false);
	for (fed = 0; *next(w);)
		fed += strstr(w->heard, "WATCHDOG") != NULL;
	assert_int_equal(fed, 0);
	service_tick(&w->service, now += 100 * NS_PER_MS, true);
	assert_string_equal(next(w), "WATCHDOG=1");
	assert_non_null(strstr(next(w), "STATUS=forwarding; "));
	world_free(w);
}

static void a_reload_is_told_with_its_end(void **state)
{
	struct world *w = world_new();
	struct config_errors errors = {0};

	(void)state;
	assert_int_equal(reload_load(w->reload, "first", 1, &errors), 0);
	service_forwarding(&w->service, &w->context, &w->launcher);
	beat(w, NS_PER_S);
	service_tick(&w->service, NS_PER_S, true);
	next(w);
	assert_int_equal(reload_load(w->reload, "second", 1, &errors), 0);
	assert_ptr_equal(strstr(next(w), "RELOADING=1\nMONOTONIC_USEC="), w->heard);
	assert_string_equal(next(w), "WATCHDOG_USEC=120000000\nWATCHDOG=1");
	assert_string_equal(next(w), "");
	service_tick(&w->service, 9 * NS_PER_S, true); // no STATUS= of everyday meanwhile
	assert_string_equal(next(w), "WATCHDOG_USEC=1000000\nWATCHDOG=1"); // compiled: as before
	while (*next(w))
		assert_string_equal(w->heard, "WATCHDOG=1");
	assert_false(reload_step(w->reload, 1));
	for (unsigned i = 0; i < 2; i++)
		rte_rcu_qsbr_quiescent(w->dp->qsbr, i);
	assert_string_equal(next(w), "");
	assert_true(reload_step(w->reload, 1));
	assert_string_equal(next(w), "READY=1\nSTATUS=forwarding; policy generation 2");
	assert_int_equal(reload_load(w->reload, "bad", 1, &errors), -EINVAL);
	assert_non_null(strstr(next(w), "RELOADING=1"));
	assert_non_null(strstr(next(w), "WATCHDOG_USEC=120000000"));
	assert_ptr_equal(strstr(next(w), "READY=1\nSTATUS=reload refused"), w->heard);
	assert_non_null(strstr(w->heard, "generation 2"));
	service_stopping(&w->service);
	assert_string_equal(next(w), "STOPPING=1\nSTATUS=stopping");
	config_errors_free(&errors);
	world_free(w);
}

static void a_failure_has_a_number_and_one_line(void **state)
{
	struct world *w = world_new();

	(void)state;
	service_failed(&w->service, EXIT_CODE_PERMISSION, "port \"lan\": no\nREADY=1");
	assert_string_equal(next(w), "ERRNO=1\nSTATUS=port \"lan\": no");
	service_failed(&w->service, EXIT_CODE_CONFIG, "x");
	assert_string_equal(next(w), "ERRNO=22\nSTATUS=x");
	world_free(w);
}

static void rates_and_troubles_are_those_of_now(void **state)
{
	struct dataplane *dp = fake_dataplane_new(2, false);
	struct control_context context = {.dp = dp};
	struct cache_store_stats state_of_cache = {0};
	struct status_line line = {0};
	char text[768];

	(void)state;
	status_line_render(&line, &context, 3, NS_PER_S, text, sizeof text);
	assert_string_equal(text, "0 flows; policy generation 3");
	dp->lcores[0]->stats.received_pkts = 1000000;
	dp->lcores[1]->stats.received_pkts = 1500000;
	dp->lcores[0]->stats.received_bytes = 1000000000;
	dp->lcores[1]->stats.flows_active = 7;
	dp->lcores[1]->stats.flows_evicted = 1;
	dp->lcores[0]->stats.dropped_pkts[DROP_TX_FULL] = 1;
	status_line_render(&line, &context, 3, 3 * NS_PER_S, text, sizeof text);
	assert_string_equal(text, "1.2 Mpps, 4.0 Gbit/s received; 7 flows; policy generation 3; "
				  "look into: tx_full, flows_evicted");
	// What does not grow any more is forgotten.
	status_line_render(&line, &context, 3, 62 * NS_PER_S, text, sizeof text);
	assert_non_null(strstr(text, "look into: tx_full, flows_evicted"));
	status_line_render(&line, &context, 3, 64 * NS_PER_S, text, sizeof text);
	assert_string_equal(text, "0 pps, 0 bit/s received; 7 flows; policy generation 3");
	context.lcore_stalls = 1;
	dp->lcores[0]->stats.bypassed_pkts = 1;
	status_line_render(&line, &context, 3, 66 * NS_PER_S, text, sizeof text);
	assert_non_null(strstr(text, "look into: lcore_stalls, bypassed_pkts"));
	// What stands is reported for as long as it does.
	context.state = &state_of_cache;
	state_of_cache.failing = true;
	for (unsigned i = 1; i < 4; i++) {
		status_line_render(
			&line, &context, 3, (66 + i * 100) * NS_PER_S, text, sizeof text);
		assert_non_null(strstr(text, "look into: state_stuck"));
	}
	state_of_cache.failing = false;
	status_line_render(&line, &context, 3, 367 * NS_PER_S, text, sizeof text);
	assert_null(strstr(text, "look into"));
	fake_dataplane_free(dp);
}

static void amounts_have_two_digits_or_more(void **state)
{
	static const struct {
		uint64_t value;
		const char *text;
	} rows[] = {{0, "0 "}, {999, "999 "}, {1000, "1.0 k"}, {999949, "999.9 k"},
		{1000000, "1.0 M"}, {9876543210, "9.8 G"}, {UINT64_MAX, "1.8 E"}};
	char text[16];

	(void)state;
	for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++) {
		status_amount(rows[i].value, text, sizeof text);
		assert_string_equal(text, rows[i].text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ready_when_every_heart_has_beaten),
		cmocka_unit_test(the_watchdog_is_fed_only_in_health),
		cmocka_unit_test(a_reload_is_told_with_its_end),
		cmocka_unit_test(a_failure_has_a_number_and_one_line),
		cmocka_unit_test(rates_and_troubles_are_those_of_now),
		cmocka_unit_test(amounts_have_two_digits_or_more),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
