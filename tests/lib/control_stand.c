// SPDX-License-Identifier: BSD-3-Clause
// A control socket at the path of the first argument, with fake lcores behind it, for the tests of
// sluicectl. "bad" in a policy's path makes it a bad policy. Ends with its standard input.
#include "control_world.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "fake_control.h"

static uint64_t stand_now_ns(void)
{
	return 1695017621532140000;
}

static void port_counters(void *ctx, struct port_counters *out)
{
	(void)ctx;
	*out = (struct port_counters){.rx_pkts = 1234567, .rx_bytes = 99, .link_up = true};
}

int main(int argc, char **argv)
{
	struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
	struct world w = {.lcores = {.n_flows = FLOWS, .now_ns = stand_now_ns}};
	struct config_errors errors = {0};
	char err[256] = "";

	if (argc != 2)
		return 2;
	signal(SIGPIPE, SIG_IGN);
	w.context.dp = w.lcores.dp = fake_dataplane_new(2, true);
	w.context.dp->ports[0].counters = port_counters;
	w.context.dp->lcores[0]->stats.dropped_pkts[DROP_CONN_CACHE] = 4321;
	w.context.dp->lcores[1]->stats.received_pkts = 4321;
	w.context.dp->lcores[1]->stats.bad_checksum_pkts = 7;
	w.context.names = rule_names_new();
	w.context.base = event_base_new();
	w.context.now_ns = stand_now_ns;
	w.context.started_ns = stand_now_ns() - 200000000000;
	if (reload_new(w.context.dp, w.context.names, "signatures", NULL, &w.context.reload) ||
		reload_load(w.context.reload, "/etc/policy.json", stand_now_ns(), &errors))
		return 1;
	if (control_socket_new(&w.context, argv[1], NULL, &w.socket, err, sizeof err)) {
		fprintf(stderr, "%s\n", err);
		return 1;
	}
	puts("ready");
	fflush(stdout);
	while (poll(&input, 1, 1) == 0) {
		event_base_loop(w.context.base, EVLOOP_NONBLOCK);
		fake_lcore_turn(&w.lcores, 0);
		fake_lcore_turn(&w.lcores, 1);
	}
	control_socket_free(w.socket);
	reload_free(w.context.reload);
	rule_names_free(w.context.names);
	event_base_free(w.context.base);
	fake_dataplane_free(w.context.dp);
	return 0;
}
