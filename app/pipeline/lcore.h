// SPDX-License-Identifier: BSD-3-Clause
// A data lcore and what it may touch. `struct lcore *` is the first argument of every stage; no
// thread-local state, no mutable globals. Members say who writes and who reads.
#ifndef SLUICE_LCORE_H
#define SLUICE_LCORE_H

#include <stdatomic.h>
#include <rte_mbuf.h>
#include <rte_pause.h>
#include <rte_rcu_qsbr.h>
#include <rte_ring.h>
#include "pipeline/flow/app_usage.h"
#include "pipeline/event/event.h"
#include "pipeline/event/evidence.h"
#include "pipeline/event/fair_window.h"
#include "pipeline/flow/flow.h"
#include "reassembly/frag.h"
#include "pipeline/hints.h"
#include "pipeline/vocab/histogram.h"
#include "pipeline/egress/impair.h"
#include "pipeline/lease.h"
#include "pipeline/wire/owner.h"
#include "pipeline/stage_meter.h"
#include "pipeline/vocab/stats.h"
#include "pipeline/event/stream_tap.h"
#include "reassembly/tcp_track.h"
#include "pipeline/vocab/tick.h"

#define LCORES_MAX    POLICY_LCORES_MAX
#define PORTS_MAX     32
#define RX_QUEUES_MAX 32 // polled by one lcore
#define BURST         32
#define TX_BUFFER     256 // packets that a port has not accepted yet
#define HANDOFF_RING  2048
#define PORT_NONE     UINT8_MAX

struct again;
struct dataplane;
struct hold;
struct scan_config;

// What becomes of what is sent to a port; of what its driver, or the kernel, says.
enum port_link {
	PORT_LINK_UNKNOWN, // nobody has asked yet
	PORT_LINK_UP,
	PORT_LINK_DOWN,     // no carrier
	PORT_LINK_DISABLED, // the kernel's interface is set down
	PORT_LINK_GONE,     // the interface, or the device, is not there any more
};
static inline const char *port_link_word(enum port_link link)
{
	static const char *const words[] = {"unknown", "up", "no_carrier", "disabled", "gone"};
	return words[link];
}

// A driver's own counters and the link, as `sluicectl stats` shows them per port.
struct port_counters {
	uint64_t rx_pkts, rx_bytes, tx_pkts, tx_bytes;
	uint64_t rx_missed; // the device had no descriptor: the lcore is too slow
	uint64_t rx_nombuf; // the receive pool was empty
	uint64_t rx_errors;
	uint64_t tx_errors;
	uint32_t speed_mbps; // 0: unknown
	bool link_up;
	enum port_link link;
	bool restart;          // it is gone, and only a restart mends it
	uint64_t link_changes; // between up and one of the others
};

typedef uint16_t port_send_fn(void *ctx, uint16_t queue, struct rte_mbuf **pkts, uint16_t n);
typedef uint16_t port_receive_fn(void *ctx, uint16_t queue, struct rte_mbuf **pkts, uint16_t n);

// A port as the data path sees it. Written by app/machine/port.c before the lcores start, then
// constant, but for `send`, `receive`, which the control core changes with the link (port_link.h).
// Replay's two "ports" write captures.
struct port {
	char name[32];
	uint16_t port_id; // ethdev
	uint8_t index;    // in dataplane.ports
	uint8_t peer;     // out port of packets that come in here, or PORT_NONE
	bool inside;
	bool one_way; // of flows that come in here the other direction takes another path
	uint16_t n_rxq;
	uint16_t n_txq;
	uint32_t max_frame;            // bytes, without CRC
	bool tx_ip_cksum, tx_l4_cksum; // offloads that the driver has; else in software
	// Sends n packets; returns how many were accepted (those are no longer ours).
	port_send_fn *send;
	port_receive_fn *receive;
	// What the driver says; control core only. NULL: nothing (replay).
	void (*counters)(void *ctx, struct port_counters *out);
	int lost_fd;         // af_xdp: where the kernel counts what found the ring full; or -1
	uint64_t lost_start; // and what it had counted before us
	uint64_t
		lost_most; // the most that it has counted: an interface that is gone counts nothing
	enum port_link link; // control core only, as the next two
	uint64_t link_changes;
	bool restart;             // PORT_LINK_GONE: only a restart gives it a link again
	struct again *again;      // what receive and send go by when the driver is dead (again.h)
	struct rte_mempool *pool; // that its driver receives into
	void *ctx;
	// Per lcore: the tx queue it owns, or UINT16_MAX and then the lcore that sends for it.
	uint16_t tx_queue[LCORES_MAX];
	uint8_t tx_lcore[LCORES_MAX];
};

struct rx_queue {
	uint8_t port; // index
	uint16_t queue;
};

struct tx_buffer {
	uint16_t n;
	struct rte_mbuf *pkts[TX_BUFFER];
};

// A question of the control core to one lcore. The control core owns the memory and waits for
// `done`; the lcore works on it a bounded number of entries per loop.
enum query_type {
	QUERY_FLOWS, // flows and stubs -> struct flow_record
	QUERY_CACHE, // connection cache -> struct conn_entry
	QUERY_CACHE_FLUSH,
	QUERY_TRACE,    // flow_id: set or clear its trace bit
	QUERY_EVIDENCE, // evidence that `filter` matches -> struct evidence, oldest first
	// Of the operator. The first two act on flow_id, if it is here -> struct flow_record, as it
	// was before; `aside`: resets sent.
	QUERY_FLOW_RESET, // `cache`
	QUERY_FLOW_ALLOW, // `ttl_ns`; n 1 and total 0: too many allowances have an end
	QUERY_CACHE_PUT,  // `entry`; total: 1, or 0 if an end is exempt
	QUERY_CACHE_TAKE, // `match`; total: entries that went
	QUERY_EXEMPT,     // `exemptions`; total: entries that went for them
	QUERY_ENDPOINTS,  // endpoint cache -> struct endpoint_entry
	QUERY_NAMES,      // name cache -> struct endpoint_entry
};
struct flow_record { // a flow as `sluicectl flow list` shows it
	uint64_t flow_id;
	uint64_t start_ns;
	uint64_t last_ns;
	uint64_t pkts[2];
	uint64_t bytes[2];
	uint64_t rate_bytes_s; // both halves, over about the last second
	struct flow_ends ends;
	uint32_t rule_uid;
	uint32_t user_uid;
	uint32_t generation;
	uint16_t app;
	uint16_t signature;
	uint16_t flags; // FLOW_*
	uint16_t vlan[2];
	uint32_t realm; // realm.h
	uint8_t n_vlan;
	uint8_t confidence;
	uint8_t action;
	uint8_t l4_proto;
	uint8_t lcore;
	uint8_t lru_class; // enum flow_class
	uint8_t decided_pkts;
	uint8_t n_data_pkts;
	uint8_t tcp_flags[2];
	uint8_t dscp;  // of its first packet
	uint8_t heard; // enum event_heard
	bool has_mac;  // stubs keep none
	uint8_t mac[6];
	uint32_t next[2], released[2], acked[2]; // TCP flows
};
struct flow_look { // how the flow of flow_id stands, beside its record
	bool tracked;
	struct stream_look half[2];
	struct stream_report report;
	struct expected expected; // parent 0: nothing is known of what announced it
};
struct query {
	uint8_t type; // enum query_type
	bool trace_on;
	bool page; // QUERY_FLOWS: done when `out` is full; posted again with its cursor, goes on
	bool filtered;    // QUERY_FLOWS, QUERY_CACHE: only what `filter` matches
	uint64_t flow_id; // QUERY_TRACE; QUERY_FLOWS: only this one if not 0
	struct evidence_filter filter;
	uint8_t cache; // enum cache_mode
	uint64_t ttl_ns;
	struct conn_entry entry;
	struct conn_match match;
	const struct exemption *exemptions; // the asker's until `done`
	unsigned n_exemptions;
	void *out; // array of records, owned by the asker
	uint32_t max;
	uint32_t n;            // records written
	uint64_t cursor;       // lcore's own; 0 at first
	uint64_t total;        // entries that there were
	struct flow_look look; // QUERY_FLOWS of a flow_id that is here
	uint64_t aside;        // QUERY_EVIDENCE: records overwritten so far
	_Atomic bool done;
};

// Flows that the operator lets pass for a while (operator.h).
#define ALLOWANCES_MAX 1024
struct allowance {
	union flow_key key;
	uint64_t flow_id;
	uint64_t expires_ns;
	bool v6;
};
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
	struct evidence_log evidence;
	struct allowances allowances;
	struct hold *hold; // flows under scan (hold.h); NULL: there is no engine
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
	// Records: alerts of flows of which one end is heard (refuse.c), EVENT_INVALID, and
	// EVENT_ANOMALY by kind.
	struct fair_window refused_in_window;
	struct fair_window invalid_in_window[EVENT_HEARD_MAX];
	struct fair_window anomaly_in_window[EVENT_HEARD_MAX][ANOMALIES_MAX];
	struct stats stats;       // read by the control core
	struct stage_meter meter; // the same
	// By out port, from the turn that received a packet (handoff and waiting in tx buffers
	// included) until it was handed to the driver. Read by the control core.
	struct histogram latency[PORTS_MAX];
	struct histogram scan_hold;          // from a job to its verdict; the same
	struct app_usage apps[APPS_MAX + 1]; // the same; the last one is APP_USAGE_PENDING
} __attribute__((aligned(64)));

static_assert(LCORES_MAX <= 64, "dataplane.bypassed has a bit for each");

struct lcore_limits {
	struct parse_settings parse; // the same for all lcores, as hints carry realms and hashes
	uint32_t flows;              // per lcore, IPv4 and IPv6 together
	uint32_t embryos;            // stubs, per lcore
	uint32_t source_pct;  // of either pool, for one source's unheard entries (flow/share.h)
	uint32_t classifying; // classifier states
	uint32_t heads;       // of requests and hellos that are not here to their end
	uint32_t conn_cache;
	uint32_t expectations;
	uint32_t endpoints, names;       // entries of these caches; 0: they are off
	uint32_t evidence;               // records, per lcore
	uint32_t greetings;              // that the control core keeps; 0: none are read
	struct tracker_limits tracker;   // tcp_track.h
	struct frag_limits fragments;    // per lcore
	struct elephant_limits elephant; // pipeline/flow/rate.h
	struct flow_timeouts timeouts;
	struct impair_settings impair;
};

// Everything the lcores share; constant after start but for `policy`.
struct dataplane {
	unsigned n_lcores;
	unsigned n_ports;
	struct port ports[PORTS_MAX];
	uint16_t reta_size;         // of the NICs' redirection tables; 0: no RSS
	uint8_t owner[OWNER_TABLE]; // slot -> lcore index (owner.h)
	struct lcore *lcores[LCORES_MAX];
	struct lcore *standbys[LCORES_MAX]; // NULL unless inspection fails open (bypass.h)
	_Atomic uint64_t bypassed; // lcores whose flows' packets pass uninspected for now, as bits
	_Atomic(const struct policy *) policy; // written by the control core only
	_Atomic uint32_t oldest_edition;       // classifier_retire; control core only
	struct rte_rcu_qsbr *qsbr;             // reader id = lcore index; n_lcores is the standby's
	// Wall clock less the lcores' clock, which runs by the TSC from the start on. Written by
	// the control core now and then: time windows follow the wall clock. 0 in replay.
	_Atomic int64_t wall_error_ns;
	_Atomic uint32_t meter_every; // one burst in so many is measured; 0: none. Control core
	_Atomic int stopping;         // 1: stop receiving, empty the rings; 2: drain and leave
	// Stands still for so long, where the debug hook wants it; NULL: there is no such hook.
	void (*stand_still)(uint64_t ns);
	uint64_t (*clock_ns)(void); // what time it is within a turn; NULL: its now_ns (replay)
	struct lcore_limits limits;
	const struct scan_config *scan; // NULL: no engine; set before the lcores' holds are made
};

// Rings, tables and states of lcore `index` (dp->ports, n_lcores and limits are set). Called for
// every lcore before any starts; `lcores_connect` then makes the ring matrix. -ENOMEM, message.
int lcore_new(struct dataplane *dp, unsigned index, int socket, struct rte_mempool *pool,
	struct lcore **out, char *err, size_t err_len);
// What is read once per loop: the time, the policy in force, its open time windows. The lcore.
void lcore_begin(struct lcore *lcore, const struct policy *policy, uint64_t now_ns);
int lcores_connect(struct dataplane *dp, char *err, size_t err_len);
void lcore_free(struct lcore *lcore);

// Takes its lease; while the standby has it, waits until that has sent what it had (it asks for
// this between two bursts), and beats the heart meanwhile. The lcore.
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
