// SPDX-License-Identifier: BSD-3-Clause
// What data lcores tell the control core: fixed-size records over one SP/SC ring per lcore. A full
// ring loses the record and counts it (stats.events_lost); the data path never waits. What anybody
// can make by forged packets is left out before that (enum event_room). The event
// sink (app/control/event/sink) turns them into EVE JSON lines (docs/events.md).
#ifndef SLUICE_EVENT_H
#define SLUICE_EVENT_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include "classify/classify.h"
#include "pipeline/flow/flow.h"
#include "pipeline/vocab/content_id.h"
#include "pipeline/vocab/item_id.h"
#include "pipeline/vocab/stream_report.h"
#include "pipeline/vocab/verdict.h"

enum event_type {
	EVENT_FLOW,      // a flow ended
	EVENT_ALERT,     // a rule blocked a flow, or would have (monitor)
	EVENT_DROP,      // first packet of a flow dropped for a reason (one per flow and reason)
	EVENT_CONNCACHE, // an entry was learned, hit the first time, or went
	EVENT_INVALID,  // first malformed/unsupported/bad checksum of a flow or (rate-limited) link
	EVENT_ANOMALY,  // what a stream or a datagram in fragments should not do (enum anomaly)
	EVENT_ELEPHANT, // a flow was flagged; it goes on
	EVENT_TRACE,    // a stage of a traced flow
	EVENT_OPERATOR, // what the operator did; of the control core
	EVENT_TRANSFER, // a flow came that another one had announced
	EVENT_FILE,     // a file that is transferred; of the control core, as are these:
	EVENT_FILEINFO, // ... was transferred
	EVENT_CHAT,     // a chat message
	EVENT_EVIDENCE, // packets of a refused flow were written to a file
	EVENT_HANDSHAKE_META,      // what an end of a flow says of itself: the first part
	EVENT_HANDSHAKE_META_MORE, // of the same lcore, at once behind the first: the others
	EVENT_TYPES_MAX,
};

enum event_conncache {
	CONNCACHE_ADD,
	CONNCACHE_HIT,    // first hit of an entry
	CONNCACHE_EXPIRE, // with its hits and saved bytes
	CONNCACHE_HEAL,   // removed: the policy no longer blocks
	CONNCACHE_EVICT,
	CONNCACHE_REMOVE, // by the operator
};

// X(symbol, EVE anomaly.type, anomaly.event). What `offset` and `bytes` are is said beside each;
// offsets are of the half, of fragments within the datagram.
#define ANOMALIES(X)                                                                            \
	X(OVERLAP_CONFLICT, "stream", "overlap_conflict") /* first that differs; how many do */ \
	X(GAP, "stream", "gap")                           /* of the gap; its length */          \
	X(MIDSTREAM, "stream", "midstream")               /* 0; payload bytes */                \
	X(PAWS, "stream", "paws")                         /* where it lies; payload bytes */    \
	X(WINDOW, "stream", "window")                     /* the same */                        \
	X(RESET_CHALLENGE, "stream", "reset_challenge")   /* where the RST lies */              \
	X(HELD_TIMEOUT, "stream", "held_timeout")         /* of the held bytes; their number */ \
	X(LIMIT, "stream", "limit")                       /* what found no room; its bytes */   \
	X(FRAGMENT_OVERLAP, "defrag", "fragment_overlap") /* of the later one; its bytes */     \
	X(FRAGMENT_INVALID, "defrag", "fragment_invalid") /* of the fragment; its bytes */      \
	X(FRAGMENT_TIMEOUT, "defrag", "fragment_timeout") /* 0; bytes that had come */          \
	X(FRAGMENT_LIMIT, "defrag", "fragment_limit")     /* of the fragment; its bytes */

enum anomaly {
#define X(symbol, type, word) ANOMALY_##symbol,
	ANOMALIES(X)
#undef X
		ANOMALIES_MAX
};

enum operator_command {
	OPERATOR_FLOW_RESET,
	OPERATOR_FLOW_ALLOW,
	OPERATOR_CACHE_EXEMPT,
	OPERATOR_CONTENT_ADD,
	OPERATOR_CONTENT_DEL,
	OPERATOR_CONTENT_FLUSH,
	OPERATOR_COMMANDS_MAX,
};

enum flow_operator { // what the operator did to a flow
	FLOW_OPERATOR_NONE,
	FLOW_OPERATOR_RESET,
	FLOW_OPERATOR_ALLOW,
};

enum flow_scan { // of a flow that a rule of action scan matched
	FLOW_SCAN_NONE,
	FLOW_SCAN_DONE,       // at least one verdict came
	FLOW_SCAN_PROTOCOL,   // these were not scanned: not TCP
	FLOW_SCAN_NO_ENGINE,  // the gateway has none
	FLOW_SCAN_NO_ROOM,    // scan.flows
	FLOW_SCAN_NOT_ASKED,  // the engine wanted nothing of it
	FLOW_SCAN_NO_VERDICT, // it ended before
	FLOW_SCAN_MAX
};

enum flow_state_word { // EVE flow.state
	FLOW_STATE_NEW,
	FLOW_STATE_ESTABLISHED,
	FLOW_STATE_CLOSED,
	FLOW_STATE_BLOCKED,
};

enum event_heard {      // by whom the flow is borne out that a record is of (both_ends.h)
	EVENT_OF_BOTH,  // both ends were heard; of the control core
	EVENT_ANSWERED, // datagrams in both directions: a forged one may be answered, too
	EVENT_UNHEARD,  // one end alone, or a packet of no flow: anybody may have sent it
	EVENT_HEARD_MAX,
};

#define EVENT_HANDSHAKE_META_BYTES     142
#define EVENT_HANDSHAKE_META_PARTS_MAX (HANDSHAKE_META_BYTES / EVENT_HANDSHAKE_META_BYTES + 1)

struct event {
	uint64_t now_ns;     // of the packet or the tick that caused it
	uint64_t flow_id;    // EVE flow_id: stable for the flow's life; 0: none
	uint64_t generation; // policy generation in force
	uint64_t pcap_cnt;   // replay: number of the packet, from 1; else 0
	uint8_t type;        // enum event_type
	uint8_t lcore;
	uint8_t in_port; // of the packet, or of the initiator
	uint8_t l4_proto;
	uint8_t half;   // direction of the packet (alert, drop, anomaly)
	uint8_t action; // enum action that was taken (alert: what the rule says)
	uint8_t mode;   // enum mode of that rule
	uint8_t reason; // enum drop_reason (drop), event_conncache, flow_end, anomaly
	uint8_t confidence;
	uint8_t n_vlan;
	uint8_t n_data_pkts; // when the application was decided
	uint8_t tcp_flags;   // of the packet (drop)
	uint16_t vlan[2];
	uint16_t app;
	uint16_t signature;    // UINT16_MAX: none
	uint32_t rule_uid;     // 0: none (default, or not a rule)
	uint32_t user_uid;     // of the inside end; 0: nobody's address
	uint8_t learned;       // enum learned_from + 1 of a cache that named it; 0: none did
	uint8_t shaped;        // and its shape was seen
	uint8_t expected_as;   // enum expected_as + 1, if `parent` had announced it; 0
	uint8_t heard;         // enum event_heard
	uint64_t parent;       // flow id
	struct flow_ends ends; // initiator = HALF_C2S; addresses v4-mapped for IPv4
	uint8_t mac[6];        // has_mac: of the inside end
	bool has_mac;
	uint8_t dscp;     // of the flow's first packet
	uint16_t carrier; // of `app`; APP_NONE: none is proven, or it is one itself
	union {
		struct {
			uint64_t start_ns;
			uint64_t end_ns;
			uint64_t pkts[2];     // by half
			uint64_t bytes[2];    // frames, as received
			uint8_t tcp_flags[2]; // all seen, by half
			uint8_t tcp_state;    // enum tcp_state
			uint8_t state;        // enum flow_state_word
			bool v6;
			bool midstream;
			bool gaveup;
			bool bypassed;
			bool elephant;
			bool alerted;          // a monitor rule would have blocked it
			uint8_t by_hand;       // enum flow_operator
			uint64_t rate_bytes_s; // EVENT_ELEPHANT
			struct stream_report stream;
			uint32_t scan_jobs;
			uint32_t hold_ms;    // the longest that a half waited for a verdict
			uint8_t scan;        // enum flow_scan
			uint8_t scan_worst;  // enum scan_value of all verdicts; FLOW_SCAN_DONE
			uint32_t aggregated; // flows of one packet that it tells of; of the sink
			struct content_summary content;
		} flow;
		struct transfer_label transfer;
		struct {
			uint64_t offset;
			uint32_t bytes;
		} anomaly;
		struct {
			char name[48];         // of what was found (job.h)
			uint64_t from64, to64; // the part of the half that was scanned
			uint64_t held_ns;      // for how long the verdict was waited for
			uint8_t value;         // enum scan_value
			uint8_t reason;        // enum scan_reason, of SCAN_UNSCANNED
			uint8_t scanned;       // not 0: the rest is of a verdict of the scan engine
			struct item_id item;   // of a file or message, also in its own events
			bool has_id;
			struct content_id id; // that names the file
		} alert;
		struct {
			uint32_t frame_length;
			uint32_t tcp_seq;
			uint32_t tcp_ack;
			uint16_t ip_id;
			uint16_t tcp_win;
			uint16_t udp_length;
			uint8_t ttl;
			uint8_t tos;
			uint8_t cause; // EVENT_INVALID, unsupported: enum unsupported_cause
		} drop;
		struct {
			uint64_t created_ns;
			uint64_t expires_ns;
			uint64_t hits;
			uint64_t saved_bytes;
			uint32_t realm;      // realm.h
			uint8_t cache_mode;  // enum cache_mode
			uint8_t from_inside; // 0 or 1, as the rest: the initiator
			uint8_t by_hand;     // made or removed by hand; of the control core
			uint8_t fixed;       // ends when it says, whatever hits it
		} conncache;
		struct {
			char text[80];         // "STAGE: VERDICT [REASON]"
			uint32_t packet;       // number of this traced packet on its lcore
			uint32_t frame_length; // bytes
			uint32_t tcp_seq;      // tcp_flags beside it; 0 for other protocols
			uint16_t payload_len;  // bytes
		} trace;
		struct {
			uint16_t total; // bytes of the whole greeting; of the first part
			uint8_t length; // in `bytes`
			uint8_t kind;   // enum handshake_meta_kind
			uint8_t of_server;
			uint8_t awaits; // 1: the server's is to come
			uint8_t bytes[EVENT_HANDSHAKE_META_BYTES];
		} meta;
		struct {
			char text[80];      // OPERATOR_CACHE_EXEMPT: the network;
					    // OPERATOR_CONTENT_ADD, _DEL: the content id
			uint64_t ttl_s;     // 0: no end
			uint32_t resets;    // that were sent
			uint8_t command;    // enum operator_command
			uint8_t cache_mode; // enum cache_mode
			bool on;
			bool blocked; // it was blocked before
		} operation;
	};
};
static_assert(sizeof(struct event) <= 320, "an event is at most five cache lines");
static_assert(sizeof(struct event) % 4 == 0, "rte_ring_elem wants multiples of 4");

#define EVENT_RING_SIZE 8192 // power of two

// How much of the ring may be in use before a record is left out. So no flood of forged packets
// takes the place of what is said of flows whose both ends take part.
enum event_room {
	EVENT_ROOM_UNHEARD, // a quarter: flows that were not heard, their hellos; cache entries
			    // that one packet made (stats.events_unheard_lost, greetings_lost)
	EVENT_ROOM_LIMITED, // three eighths: of such flows and of packets, what has a limit per
			    // second of its own (stats.events_unheard_lost)
	EVENT_ROOM_SPARE,   // a half: hellos, steps of a trace (stats.greetings_lost, trace_lost)
	EVENT_ROOM_ANY,
};

#endif
