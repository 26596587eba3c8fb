// SPDX-License-Identifier: BSD-3-Clause
// Divides the limits of gateway.json among the data lcores.
#include "cmd/run_limits.h"

#include <errno.h>
#include <sys/random.h>
#include <rte_random.h>
#include "pipeline/flow/rate.h"
#include "pipeline/flow/table.h"
#include "base/log.h"
#include "pipeline/limits.h"

// In an emergency no class lives longer than it is told to live anyway.
static struct flow_timeouts timeouts_of(const struct gateway *gateway)
{
	const uint32_t seconds[FLOW_CLASS_MAX] = {
		[FLOW_CLASS_STUB_CROWD] = gateway->limits.embryonic_s,
		[FLOW_CLASS_EMBRYONIC] = gateway->limits.embryonic_s,
		[FLOW_CLASS_OPEN] = gateway->limits.tcp_s,
		[FLOW_CLASS_STATELESS] = gateway->limits.stateless_s,
		[FLOW_CLASS_BLOCKED] = gateway->limits.condemned_s,
		[FLOW_CLASS_FLOW_CROWD] = gateway->limits.udp_one_way_s,
		[FLOW_CLASS_TCP_UNHEARD] = gateway->limits.tcp_unheard_s,
		[FLOW_CLASS_UDP_ONE_WAY] = gateway->limits.udp_one_way_s,
		[FLOW_CLASS_TCP_CLOSING] = gateway->limits.tcp_closing_s,
		[FLOW_CLASS_TCP_UNDECIDED] = gateway->limits.tcp_s,
		[FLOW_CLASS_UDP_UNDECIDED] = gateway->limits.udp_s,
		[FLOW_CLASS_TCP] = gateway->limits.tcp_s,
		[FLOW_CLASS_UDP] = gateway->limits.udp_s,
	};
	struct flow_timeouts timeouts = flow_timeouts_default;

	for (unsigned i = 0; i < FLOW_CLASS_MAX; i++) {
		if (seconds[i])
			timeouts.normal_ns[i] = seconds[i] * NS_PER_S;
		if (timeouts.emergency_ns[i] > timeouts.normal_ns[i])
			timeouts.emergency_ns[i] = timeouts.normal_ns[i];
	}
	return timeouts;
}

static uint64_t share(double of_one)
{
	return (uint64_t)(of_one * (double)IMPAIR_ALWAYS + 0.5);
}

static uint64_t ns_of(double ms)
{
	return (uint64_t)(ms * (double)NS_PER_MS + 0.5);
}

static struct impair_link impaired(const struct gateway_link *link)
{
	struct impair_link out = {
		.delay_ns = ns_of(link->delay_ms),
		.jitter_ns = ns_of(link->jitter_ms),
		// 1 Mbit/s is 8 us a byte
		.ps_per_byte = link->rate_mbit > 0 ? (uint64_t)(8e6 / link->rate_mbit + 0.5) : 0,
		.queue_ns = ns_of(link->queue_ms),
		.loss = IMPAIR_BERNOULLI,
		.lost_good = share(link->loss.p),
		.reorder = share(link->reorder),
		.duplicate = share(link->duplicate),
		.corrupt = share(link->corrupt),
	};

	if (link->loss.model == GATEWAY_LOSS_GILBERT_ELLIOTT) {
		out.loss = IMPAIR_GILBERT_ELLIOTT;
		out.to_bad = share(link->loss.p);
		out.to_good = share(link->loss.r);
		out.lost_good = share(1 - link->loss.k);
		out.lost_bad = share(1 - link->loss.h);
	}
	return out;
}

static struct impair_settings impairment(const struct gateway *gateway)
{
	return (struct impair_settings){
		.on = gateway_impairs(gateway),
		.whole_tuple = gateway->impairment.flow_key == GATEWAY_FLOW_KEY_TUPLE,
		.at = gateway->impairment.at == GATEWAY_IMPAIR_TX ? IMPAIR_TX : IMPAIR_RX,
		.seed = gateway->impairment.seed,
		.limit = gateway->impairment.limit,
		.links = {[IMPAIR_TO_INSIDE] = impaired(&gateway->impairment.to_inside),
			[IMPAIR_TO_OUTSIDE] = impaired(&gateway->impairment.to_outside)},
	};
}

int run_seed(struct hash_seed *seed)
{
	ssize_t n = getrandom(seed, sizeof *seed, 0);

	if (n < 0)
		return -errno;
	return n == sizeof *seed ? 0 : -EIO;
}

struct lcore_limits run_limits(const struct gateway *gateway, const struct hash_seed *seed)
{
	uint32_t n = gateway->n_data;

	return (struct lcore_limits){
		// The owner table spreads flows evenly; hash noise is what the rounding up is for.
		.parse = {.seed = *seed, .vlan_shared = gateway->vlan == GATEWAY_VLAN_SHARED},
		.flows = (gateway->limits.flows + n - 1) / n,
		.embryos = (gateway->limits.embryos + n - 1) / n,
		.source_pct = gateway->limits.source_pct,
		.classifying = (gateway->limits.classifying + n - 1) / n,
		.heads = (gateway->limits.heads + n - 1) / n,
		.conn_cache = gateway->limits.conn_cache, // replicas: each lcore has all
		.expectations = gateway->limits.expectations,
		.endpoints = gateway->limits.endpoints,
		.names = gateway->limits.names,
		.evidence = gateway->limits.evidence,
		.greetings = gateway->limits.greetings,
		.fragments =
			{
				.datagrams = gateway->fragments.datagrams,
				.packets = gateway->fragments.packets,
				.per_datagram = gateway->fragments.per_datagram,
				.timeout_ns = gateway->fragments.timeout_ms * NS_PER_MS,
			},
		.content =
			{
				.flows = (gateway->content.flows + n - 1) / n,
				.source_pct = gateway->limits.source_pct,
				.turn_bytes = gateway->content.turn_kb << 10,
				.memory_bytes = (uint64_t)gateway->content.memory_mb << 20,
				.arena_bytes = (uint64_t)gateway->content.records_mb << 20,
				.torrents_bytes = (uint64_t)gateway->content.torrents_mb << 20,
				.refused = gateway->content.refused_files,
				.refused_s = gateway->content.refused_s,
				.packet_bytes = gateway->paths.evidence
							? (uint64_t)gateway->content.packets_kb
								  << 10
							: 0,
			},
		.elephant =
			flow_elephant_limits(gateway->elephant.mbit_s, gateway->elephant.seconds),
		.timeouts = timeouts_of(gateway),
		.tracker =
			{
				.tracks = (gateway->reassembly.tracked + n - 1) / n,
				.blocks = gateway->reassembly.memory_mb * TRACKER_BLOCKS_PER_MB / n,
				.half_blocks = gateway->reassembly.half_kb / (SLAB_BLOCK / 1024),
				.held = gateway->reassembly.held,
				.half_held = gateway->reassembly.half_held,
				.hold_ns = gateway->reassembly.hold_ms * NS_PER_MS,
				.fast_pass = gateway->reassembly.fast_pass,
			},
		.impair = impairment(gateway),
	};
}

struct redact_rules run_redact(const struct gateway *gateway)
{
	return (struct redact_rules){.text = (enum redact)gateway->content.redact_text,
		.names = (enum redact)gateway->content.redact_names,
		.users = (enum redact)gateway->content.redact_users};
}

struct sink_options run_sink_options(const struct gateway *gateway)
{
	return (struct sink_options){.path = gateway->paths.events,
		.source = "wire/pcap",
		.live = true,
		.flow_events = gateway->flow_events,
		.drop_events = gateway->drop_events,
		.greeting_events = gateway->greeting_events,
		.redact = run_redact(gateway),
		.limits = {.per_s = gateway->events.per_s,
			.source_per_s = gateway->events.source_per_s,
			.seed = rte_rand()},
		.file_mb = gateway->events.file_mb,
		.files = gateway->events.files,
		.greetings = gateway->limits.greetings};
}

void run_warn_impaired(const struct gateway *gateway)
{
	char text[512];

	if (!gateway_impairs(gateway))
		return;
	gateway_impairment_text(gateway, text, sizeof(text));
	log_warning("IMPAIRMENT IS ON at %s: packets are disturbed on purpose (%s). For ordinary "
		    "operation remove \"impairment\" from gateway.json and restart",
		gateway->impairment.at == GATEWAY_IMPAIR_TX ? "tx" : "rx", text);
}

bool run_shares_cpu(const struct gateway *gateway, unsigned index)
{
	unsigned cpu = gateway->data_cpus[index];

	for (unsigned i = 0; i < gateway->n_data; i++) {
		if (i != index && gateway->data_cpus[i] == cpu)
			return true;
	}
	return cpu == gateway->control_cpu;
}
