// SPDX-License-Identifier: BSD-3-Clause
// A data lcore and what it may touch. `struct lcore *` is the first argument of every stage; no
// thread-local state, no mutable globals. Members say who writes and who reads.
#ifndef SLUICE_LCORE_H
#define SLUICE_LCORE_H

#include <stdatomic.h>
#include <rte_mbuf.h>
#include <rte_pause.h>
#include <rte_ring.h>
#include "pipeline/lcore/dataplane.h"
#include "pipeline/lcore/lease.h"
#include "pipeline/lcore/stage_meter.h"
#include "pipeline/vocab/app_id.h"
#include "pipeline/vocab/histogram.h"
#include "pipeline/vocab/stats.h"
#include "pipeline/vocab/tick.h"

#define BURST        32
#define HANDOFF_RING 2048

struct allowance;
struct classifier;
struct conn_cache;
struct content;
struct endpoint_cache;
struct event_windows;
struct evidence_log;
struct expect_table;
struct flow_table;
struct fragments;
struct hold;
struct impair;
struct name_heads;
struct notices;
struct query;
struct stream_tap;
struct tracker;

// Flows that the operator lets pass for a while (operator.h).
#define ALLOWANCES_MAX 1024
struct allowances {
	unsigned n;
	uint64_t next_ns; // the first to end
	struct allowance *at;
};

struct lcore {
	// constant after start
	unsigned index; // 0 .. dataplane.n_lcores - 1
	int socket;
	struct parse_settings parse; // of the process; its seed is that of all tables
	bool reads_handshakes;       // limits.greetings is not 0
	struct dataplane *dp;
	struct rte_mempool *pool; // for packets that we make, and for rx of this lcore's queues
	struct rx_queue rx[RX_QUEUES_MAX];
	unsigned n_rx;
	struct rte_ring *events;  // struct event; consumer: control core
	struct rte_ring *queries; // struct query *; producer: control core
	struct rte_ring *inject;  // mbufs from the control core, in_port set; sent to its peer
	struct rte_ring *handoff_in[LCORES_MAX]; // mbufs; producer: lcore i; NULL for itself
	struct rte_ring *tx_in[LCORES_MAX];      // mbufs to send, out port in pkt.in_port's peer
	struct rte_ring *hints_in[LCORES_MAX];   // struct hint
	bool inside_is_initiator;                // replay without --inside
	uint64_t pcap_cnt;                       // replay: number of the packet at hand
	const struct stream_tap *tap;            // replay --streams; NULL: nobody looks on
	uint32_t traced_pkts;                    // packets whose stages were reported (trace.h)
	// A debug hook of the control core (gateway.json: debug): ns to stand still, taken by the
	// lcore in its next turn, or when it next inspects a burst.
	_Atomic uint64_t stall_turn_ns, stall_inspect_ns;
	// Packets of this lcore's flows may have passed unseen until then (bypass.h): what is known
	// of their sequence numbers from before is out of date. Written by whoever forwarded.
	_Atomic uint64_t unseen_until_ns;
	struct lease lease;
	// read once per loop
	const struct policy *policy;
	const struct content_id_set *blocked_ids; // dataplane.h
	bool asks_content; // what flows carry is asked for (content/flow_content.h)
	bool asks_ids;     // ... content ids of datagrams are
	uint64_t now_ns;
	uint64_t began_ns; // of its first loop
	uint64_t windows;  // time windows that are open, bits of policy->times
	uint32_t epoch;    // policy_epoch of the two
	uint64_t epoch_ns; // until then, and under this generation, it holds
	uint64_t epoch_generation;
	// own
	struct flow_table *flows;
	struct classifier *classifier;
	struct name_heads *name_heads;
	struct tracker *tracker;
	struct conn_cache *conn_cache;
	struct expect_table *expect;
	struct endpoint_cache *endpoints, *names; // endpoint_cache.h
	struct fragments *fragments;              // NULL: a standby's
	struct evidence_log *evidence;
	struct allowances allowances;
	struct content *content; // decoders of files and messages (flow_content.h); NULL: none
	struct hold *hold;       // flows under scan (hold.h); NULL: there is no engine
	struct notices *notices; // pages that clients are shown (notice.h)
	struct scan_files *scan_files; // files under scan; NULL: the engine takes none
	uint64_t
		scan_wakes; // scan lcores that sleep and have a job; the loop around the turn wakes
	struct query *query;                 // in work
	bool was_busy;                       // the last turn took packets
	uint64_t busy_mark_ns, loop_mark_ns; // stats.busy_ns, loop_ns when the window began
	unsigned in_hand; // packets of the burst at hand that no stage has seen the end of
	struct tx_buffer tx[PORTS_MAX];
	struct impair *impair_rx, *impair_tx; // one of them where the impairment is on (impair.h)
	uint64_t wake_ns; // idle, it may sleep until then: a packet of a keeper is due; 0: for ever
	uint64_t icmp_window_ns; // start of the current second of the reject limit
	uint32_t icmp_in_window;
	uint64_t icmp_error_window_ns; // the same for ICMP errors that pass
	uint32_t icmp_errors_in_window;
	uint64_t resets_window_ns; // the same for RSTs
	uint32_t resets_in_window;
	struct event_windows *event_windows; // records of a kind in a second; NULL: a standby's
	struct stats stats;                  // read by the control core
	struct stage_meter meter;            // the same
	// By out port, from the turn that received a packet (handoff and waiting in tx buffers
	// included) until it was handed to the driver. Read by the control core.
	struct histogram latency[PORTS_MAX];
	struct histogram scan_hold;          // from a job to its verdict; the same
	struct app_usage apps[APPS_MAX + 1]; // the same; the last one is APP_USAGE_PENDING
} __attribute__((aligned(64)));

// Takes its lease; while the standby has it, waits until that has sent what it had (it asks for
// this between two bursts), and sets the heartbeat meanwhile. The lcore.
static inline void lcore_lease_take(struct lcore *lcore)
{
	while (unlikely(!lease_take(&lcore->lease, LEASE_LCORE))) {
		lease_want(&lcore->lease);
		if (lcore->dp->clock_ns)
			__atomic_store_n(&lcore->stats.heartbeat_ns, lcore->dp->clock_ns(),
				__ATOMIC_RELAXED);
		rte_pause();
	}
}

#endif
