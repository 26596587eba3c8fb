// SPDX-License-Identifier: BSD-3-Clause
// A control socket at the path of the first argument, with fake lcores behind it, for the tests of
// sluicectl. "bad" in a policy's path makes it a bad policy. Ends with its standard input.
#include "control_world.h"

#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "fake_control.h"
#include "fake_desk.h"
#include "control/event/trace_log.h"

static uint64_t stand_now_ns(void)
{
	return 1695017621532140000;
}

static void port_counters(void *ctx, struct port_counters *out)
{
	(void)ctx;
	*out = (struct port_counters){.rx_pkts = 1234567, .rx_bytes = 99, .link_up = true};
}

// Flow 77, while it is traced: a packet of two stages, every 16th dropped, about 30 in a second.
static void packet_traced(struct world *w)
{
	static unsigned turns, packets;
	struct event event = {.type = EVENT_TRACE, .flow_id = 77, .l4_proto = IPPROTO_TCP};

	if (!w->lcores.tracing || turns++ % 32)
		return;
	event.now_ns = stand_now_ns() + ++packets * 1000000;
	event.half = packets % 2;
	event.tcp_flags = 0x18;
	event.lcore = 1;
	event.trace.packet = packets;
	event.trace.frame_length = 60 + packets;
	event.trace.payload_len = (uint16_t)packets;
	event.trace.tcp_seq = 1000 + packets;
	snprintf(event.trace.text, sizeof event.trace.text, "account: next");
	trace_log_take(w->trace_log, &event);
	snprintf(event.trace.text, sizeof event.trace.text, "final: %s",
		packets % 16 ? "send" : "drop rule");
	trace_log_take(w->trace_log, &event);
}

int main(int argc, char **argv)
{
	struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
	static struct fake_desk desk;
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
	fake_desk_init(&desk);
	w.context.scan = &desk.desk;
	w.context.scan_reloads = &desk.reloads;
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
	if (sink_new(&(struct sink_options){.source = "pcap"}, w.context.dp, w.context.names,
		    &w.sink, err, sizeof err) ||
		trace_log_new(w.sink, &w.trace_log))
		return 1;
	w.context.trace_log = w.trace_log;
	puts("ready");
	fflush(stdout);
	while (poll(&input, 1, 1) == 0) {
		event_base_loop(w.context.base, EVLOOP_NONBLOCK);
		fake_lcore_turn(&w.lcores, 0);
		fake_lcore_turn(&w.lcores, 1);
		packet_traced(&w);
	}
	control_socket_free(w.socket);
	reload_free(w.context.reload);
	sink_free(w.sink);
	trace_log_free(w.trace_log);
	rule_names_free(w.context.names);
	event_base_free(w.context.base);
	fake_dataplane_free(w.context.dp);
	return 0;
}
