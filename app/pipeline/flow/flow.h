// SPDX-License-Identifier: BSD-3-Clause
// The flow table of one data lcore: private, one writer, no locks. Separate hash tables for IPv4
// (16-byte keys) and IPv6 (48); values are indices into two pools:
//
//   stub  64 bytes  embryonic (no payload yet; ICMP and other protocols stay so), or blocked
//   flow  128 bytes two hot lines, made when the first payload is seen, or a FIN ahead of it; cold
//         parts apart
//
// so that a SYN flood costs 64 bytes an entry and nothing deep.
// Ageing: one LRU list per time-out class; an entry moves to the tail when it is touched, so a
// list is sorted by time and ageing only looks at heads. Past 90 % of a pool the emergency
// time-outs hold until it is below 80 %, and what a source adds beyond its share
// (pipeline/flow/share.h) goes first. When a pool is full the oldest entry of the lowest class is
// evicted (counted, flow event with reason "forced"), never for one of a lower class: what forged
// packets can make displaces nothing of connections whose both ends were heard. docs/state.md lists
// what packets can make.
#ifndef SLUICE_FLOW_H
#define SLUICE_FLOW_H

#include "classify/app_proto.h"
#include "classify/media_memo.h"
#include "classify/names/follow.h"
#include "pipeline/wire/parse.h"
#include "pipeline/policy/policy.h"
#include "pipeline/vocab/content_tally.h"
#include "pipeline/vocab/stream_report.h"
#include "pipeline/vocab/tick.h"
#include "pipeline/wire/resegment.h"

struct lcore;

// X(symbol, word of `sluicectl flow list`, rank). Time-out classes; the order is that of enum
// values in flow_timeouts. Stubs are up to CONDEMNED, flows that are settled from TCP on. Rank:
// what is evicted for what, the lowest first: 0 of a source over its share, 1 not heard, 2 heard,
// without payload or not decided, 3 decided.
#define FLOW_CLASSES(X)                                                              \
	X(STUB_CROWD, "embryonic", 0)    /* not heard, of a source over its share */ \
	X(EMBRYONIC, "embryonic", 1)     /* TCP before its handshake is complete */  \
	X(OPEN, "embryonic", 2)          /* TCP behind it, before payload */         \
	X(STATELESS, "stateless", 1)     /* ICMP and others, empty datagrams */      \
	X(BLOCKED, "condemned", 3)       /* drops everything */                      \
	X(FLOW_CROWD, "unheard", 0)      /* as STUB_CROWD, with payload */           \
	X(TCP_UNHEARD, "unheard", 1)     /* an end was not heard */                  \
	X(UDP_ONE_WAY, "udp_one_way", 1) /* datagrams in one direction only */       \
	X(TCP_CLOSING, "tcp_closing", 1) /* FIN on both halves, or RST */            \
	X(TCP_UNDECIDED, "tcp", 2)       /* both ends heard */                       \
	X(UDP_UNDECIDED, "udp", 2)       /* both directions */                       \
	X(TCP, "tcp", 3)                 /* the same, classified */                  \
	X(UDP, "udp", 3)

enum flow_class {
#define X(symbol, word, rank) FLOW_CLASS_##symbol,
	FLOW_CLASSES(X)
#undef X
		FLOW_CLASS_MAX
};
#define FLOW_RANK_CROWD     0
#define FLOW_RANK_UNHEARD   1
#define FLOW_RANK_UNDECIDED 2
#define FLOW_RANK_DECIDED   3
#define FLOW_RANKS          4
extern const uint8_t flow_class_rank[FLOW_CLASS_MAX];

enum flow_end { // why a flow's record was written
	FLOW_END_TIMEOUT,
	FLOW_END_FORCED, // evicted
	FLOW_END_SHUTDOWN,
	FLOW_END_CLOSED, // FIN or RST both seen, short time-out over
};

struct flow_timeouts {
	uint64_t normal_ns[FLOW_CLASS_MAX];
	uint64_t emergency_ns[FLOW_CLASS_MAX];
};
extern const struct flow_timeouts flow_timeouts_default;

struct elephant_limits {
	uint32_t rate;   // in units of struct flow.rate, both halves together; 0: none is one
	uint8_t windows; // in a row; at least 1
};

enum { // struct flow.flags and struct flow_stub.flags
	FLOW_V6 = 1 << 0,
	FLOW_INITIATOR_IS_A = 1 << 1, // the initiator is side A of the key
	FLOW_C2S_INSIDE = 1 << 2,     // the initiator is on the inside
	FLOW_MIDSTREAM = 1 << 3,      // no SYN was seen
	FLOW_APP_FINAL = 1 << 4,      // classification is over
	FLOW_FINAL = 1 << 5, // the decision is final: steps 1-5, counters, tx, nothing else
	FLOW_TRACE = 1 << 6,
	FLOW_GAVEUP = 1 << 7,
	FLOW_MONITORED = 1 << 8,       // a monitor rule's alert was written for this generation
	FLOW_DECODED = 1 << 9,         // flow: the application has a decoder that is being fed
	FLOW_FOUND = 1 << 9,           // blocked stub: by a verdict; no reload reprieves it
	FLOW_NOMEM = 1 << 10,          // passed unlooked at: no classifier state was free
	FLOW_SYNS_DIFFER = 1 << 10,    // stub: SYNs of one half had different numbers
	FLOW_ELEPHANT = 1 << 12,       // has been fast for long; stays so for its life
	FLOW_ANSWERS_DIFFER = 1 << 12, // stub: SYN-ACKs of one half had different numbers
	FLOW_UNCONFIRMED = 1 << 11,    // stub on a blocked tuple: no SYN-ACK has taken its SYN yet
	FLOW_ALLOWED = 1 << 13,        // by the operator: passes whatever the policy says
	FLOW_OPERATOR = 1 << 14, // blocked by the operator: no reload reprieves it; of a flow:
				 // its allowance is over, it is to be decided again
	FLOW_LATE = 1 << 15,     // blocked stub: that packets still came was noted
	FLOW_FROM_RESPONDER = 1 << 15, // else: its first packet was the responder's
};

// By whom an entry was made, and which of a key's sides that is.
#define FLOW_WHOSE (FLOW_INITIATOR_IS_A | FLOW_C2S_INSIDE | FLOW_FROM_RESPONDER)

enum {                           // struct flow.seen, by half
	SEEN_RELEASED = 1 << 0,  // released is valid
	SEEN_ACKED = 1 << 1,     // acked is valid
	SEEN_TEMPLATE = 1 << 2,  // the half's L2 template is set
	SEEN_SYN_AGAIN = 1 << 3, // a SYN-ACK has taken a later SYN of this half (reuse.h)
	SEEN_SYN_DATA = 1 << 4,  // payload on its SYN, of which the receiver may take nothing
	SEEN_FIN_FIRST = 1 << 5, // a FIN left in the place of its first octet, before any payload
	SEEN_HEARD = 1 << 6,     // its end has shown that it takes part (both_ends.h)
	SEEN_MACS = 1 << 7,      // the L2 header was too long for a template: its addresses alone
};
#define STUB_HEARD(half)   (1u << (half))       // struct flow_stub.heard: as SEEN_HEARD
#define STUB_OWN_ISN(half) (1u << (2 + (half))) // isn[half] is from a SYN of that half itself
#define STUB_BOTH_HEARD    (STUB_HEARD(0) | STUB_HEARD(1))

// Payload of a half that counts against the budget of classification as a data packet: who sends
// it in small pieces shall win nothing by it. Ten of these are more than what most openings need
// (a handshake of 68 octets, a request line); 255 packets of any size end the budget, too.
#define TAKEN_BYTES 64

// Two cache lines, one writer: the owning lcore. Indices are into the owner's pools.
struct flow {
	// line 0: lookup and decision
	uint64_t last_ns;
	uint32_t gen;    // of this entry; changes each time the entry is made anew
	int32_t key_pos; // the key itself lives in the table
	uint32_t lru_prev;
	uint32_t lru_next;
	uint32_t policy_epoch; // under which it was decided
	uint32_t rule_uid;
	uint32_t classify_state;
	uint32_t decoder_state;
	uint16_t app;
	uint16_t signature;
	uint16_t flags;
	uint8_t confidence;
	uint8_t action;    // enum action
	uint8_t lru_class; // enum flow_class
	uint8_t l4_proto;
	uint8_t n_data_pkts;  // data packets so far, saturating
	uint8_t decided_pkts; // n_data_pkts when the application was decided
	uint8_t in_port;      // of the initiator
	uint8_t n_vlan;
	uint8_t fast_windows; // over the elephants' rate, in a row (pipeline/flow/rate.h)
	uint8_t taken_pkts;   // data packets that the stream has taken, saturating
	uint32_t rate;        // of the last whole window (pipeline/flow/rate.h)
	uint16_t usage_app;   // where its packets are counted (app_usage.h)
	uint8_t tcp_state;    // enum tcp_state
	uint8_t taken_small;  // of taken_pkts, too small to count alone (TAKEN_BYTES), saturating
	// line 1: counters and sequence edges, by half
	uint64_t start_ns;
	uint64_t bytes[2];
	uint32_t pkts[2];
	uint32_t released[2]; // TCP: end of what was forwarded in this half (sequence number)
	uint32_t acked[2];    // TCP: highest acknowledgement of this half's bytes, from the other
	uint16_t vlan[2];
	uint8_t tcp_flags[2]; // all seen
	uint8_t seen[2];      // SEEN_*
	uint32_t look_at;     // UDP: which of its datagrams is classified again (inspect_again.h)
	uint32_t rate_mark;   // bytes of both halves when the window at hand began
			      // (pipeline/flow/rate.h)
} __attribute__((aligned(64)));
static_assert(sizeof(struct flow) == 128, "struct flow is two cache lines");
static_assert(offsetof(struct flow, start_ns) == 64, "counters start the second line");

// What one end says is a claim, which anybody can send in its name. Only when both have shown that
// they take part may what was seen of the flow have consequences for other packets (both_ends.h).
static inline bool flow_both_heard(const struct flow *flow)
{
	return flow->seen[0] & flow->seen[1] & SEEN_HEARD;
}

// Of a packet of the flow or stub with these flags.
static inline unsigned flow_half_by(uint16_t flags, const struct pkt *pkt)
{
	bool from_a = pkt->flags & PKT_A_TO_B;

	return from_a == !!(flags & FLOW_INITIATOR_IS_A) ? HALF_C2S : HALF_S2C;
}

// Its responder has an address that an application of the policy has; APP_NONE: it has not.
static inline void flow_know_by_network(struct flow *flow, uint16_t app)
{
	flow->app = app;
	flow->confidence = app ? CONFIDENCE_IP : CONFIDENCE_NONE;
	flow->decided_pkts = app ? 1 : 0;
}

// A RST, FIN or acknowledgement further than this from the edge is not believed: it may be forged.
#define EDGE_TOLERANCE (1u << 20)

#define FLOW_L2_MAX 48 // longest L2 header that a teardown can copy

// Cold: parallel to the flow pool (same index).
struct flow_half {
	// What is read for each packet under inspection comes first: of both halves in the first
	// two cache lines.
	uint64_t offset64;            // of datagrams: bytes so far
	uint32_t start_seq;           // TCP: number of the first byte, if has_start
	uint32_t first_seq;           // has_first: number of its SYN, or of the first packet seen
	struct content_tally content; // files and messages that it carried
	uint16_t window;              // unscaled, of the last packet
	uint8_t window_scale;         // as its SYN says
	bool has_start;
	bool late : 1;        // its tracking begins where it is then
	bool syns_differ : 1; // SYNs, or SYN-ACKs, of different numbers came
	uint8_t taken_bytes;  // in small segments since the last that counts (TAKEN_BYTES)
	bool has_first;
	uint8_t anew; // ANEW_*: of a handshake that it begins on the tuple of a flow that lives
	uint8_t l2[FLOW_L2_MAX]; // L2 header of a packet of this half: the teardown template
	uint8_t l2_length;
	uint8_t ttl;
	uint8_t port;         // that packets of this half came in on
	uint8_t link;         // enum pkt_link
	uint16_t l2_flags;    // PKT_PPPOE, PKT_TUNNEL of that packet
	uint8_t anew_scale;   // window scale of its last SYN in such a handshake
	uint8_t answer_scale; // and of the SYN-ACK that took one
	uint32_t anew_isn;    // number of that SYN
	uint32_t answer_isn;  // and of that SYN-ACK
};
static_assert(offsetof(struct flow_half, l2) == 32, "the second half's begins 96 octets on");
static_assert(sizeof(struct flow_half) == 96, "a half's cold part");

// UDP: a flow that is known is classified again (inspect_again.h).
struct flow_again {
	uint32_t state; // of the classifier
	uint16_t app, signature;
	uint8_t confidence;
	uint8_t n_pkts; // data packets of this time
	bool on;
	uint8_t confirmed; // 1 << half of each that has sent the flow's application
};

enum {                        // struct flow_half.anew
	ANEW_SYN = 1 << 0,    // its SYN came
	ANEW_DIFFER = 1 << 1, // SYNs of other numbers, too: all but one may be forged
	ANEW_TAKEN = 1 << 2,  // a SYN-ACK took what was the last of them then
};

// The rest of such handshakes, by the half that began each.
struct flow_anew {
	uint32_t taken[2]; // SEEN_SYN_AGAIN: number of the SYN that the SYN-ACK took
	uint16_t tick[2];  // of the last SYN or SYN-ACK, in seconds of 2^30 ns
};

// A packet of the flow was refused before both its ends were heard (refuse.h).
struct flow_refused {
	bool is;
	bool stands;       // what is like it is refused, too
	uint8_t half;      // whose it was
	uint8_t halves;    // UDP: 1 << half of each whose datagrams were of no application
	uint16_t app;      // as what
	uint32_t rule_uid; // by which rule
	union {
		struct { // TCP: sequence numbers of its first byte, and behind its last
			uint32_t from, to;
		};
		struct { // UDP: whose hello it completed (datagram_hello_connection); 0: none's
			uint32_t connection, random;
		};
	};
};

struct flow_cold {
	struct flow_half half[2];
	struct flow_ends ends;
	struct asked asked; // requests that its answers are held against
	struct flow_anew anew;
	uint32_t hold;     // place under scan, from 1 (hold.c); 0: none
	uint32_t realm;    // of its key (realm.h)
	uint32_t expected; // what announced it (expect.h), EXPECT_NONE
	// What reassembly has seen of it (TCP). Of a flow that is tracked: what its tracker does
	// not know itself; all of it when its tracker state was given back.
	struct stream_report report;
	uint16_t heard_app;   // UDP: as what its ends were heard (both_ends.h)
	uint16_t learned_app; // what the caches know of its ends (inspect_learned.h); APP_NONE
	uint16_t carrier;     // of its application, or it itself, where payload proves it; APP_NONE
	uint8_t learned_from; // enum learned_from
	bool named : 1;       // it gave a name of its own
	uint8_t serves : 2;   // UDP: 1 << half of each that has answered a hello of QUIC
	bool shaped : 1;      // named by the endpoint cache, and of its application's shape, too
	bool alerted : 1;     // a monitor rule would have blocked it, under any policy so far
	uint8_t carrier_confidence;     // with a carrier: CONFIDENCE_DPI or more
	uint8_t dscp;                   // of its first packet
	struct app_overheard overheard; // TCP (inspect_content.h)
	struct media_memo media;        // UDP: what was seen of media so far
	// What is read for each packet under inspection lies in one cache line, the last.
	struct names_follow names; // TCP: requests that are looked at (inspect_names.h)
	struct flow_again again;
	struct flow_refused refused;
	uint32_t track;   // state of the tracker (tcp_track.h), or TRACK_NONE
	uint8_t meta;     // enum handshake_meta_phase
	uint8_t overhear; // enum overhear (inspect_content.h)
	uint16_t content; // decoder of files and messages (flow_content.h); CONTENT_NONE
};
#define COLD_LINE(member) (offsetof(struct flow_cold, member) / 64)
static_assert(COLD_LINE(names.phase) == COLD_LINE(meta) && COLD_LINE(again.on) == COLD_LINE(meta) &&
		      COLD_LINE(refused.is) == COLD_LINE(meta) &&
		      COLD_LINE(track) == COLD_LINE(meta) && COLD_LINE(content) == COLD_LINE(meta),
	"one line for each packet");
#undef COLD_LINE
static_assert(sizeof(struct flow_cold) % 64 == 0, "the lines of one are those of all");

// A stub counts time in ticks of 2^26 ns (67 ms): its time-outs are seconds.
#define STUB_TICK_SHIFT 26

// 64 bytes.
struct flow_stub {
	uint64_t start_ns;
	uint32_t last_tick;
	uint32_t gen;
	int32_t key_pos;
	uint32_t lru_prev;
	uint32_t lru_next;
	uint32_t policy_epoch;
	uint32_t bytes[2]; // saturating; blocked: until then
	union {
		uint32_t isn[2]; // embryonic: initial sequence numbers, by half
		struct {         // blocked
			uint32_t rule_uid;
			uint32_t answer_tick; // of the last answer, in stub ticks
		};
	};
	uint16_t pkts[2]; // the same
	uint16_t flags;   // FLOW_*
	uint16_t app;     // by its network, CONFIDENCE_IP; blocked: what it was known as
	uint8_t lru_class;
	uint8_t l4_proto;
	uint8_t in_port; // of the initiator
	uint8_t tcp_flags[2];
	union {
		uint8_t scales;     // as the SYNs say, 4 bits a half (stub_scale)
		uint8_t confidence; // blocked: of app
	};
	uint8_t dscp : 6;     // of its first packet
	uint8_t answered : 2; // by half: its SYN acknowledges one (1 << half)
	uint8_t action : 4;   // enum action
	uint8_t heard : 4;    // STUB_HEARD, STUB_OWN_ISN
};
static_assert(sizeof(struct flow_stub) == 64, "struct flow_stub is one cache line");

// WINDOW_SCALE_NONE is kept as the one number of four bits that is no scale.
static inline uint8_t stub_scale(const struct flow_stub *stub, unsigned half)
{
	uint8_t scale = stub->scales >> (4 * half) & 0xf;

	return scale > WINDOW_SCALE_MAX ? WINDOW_SCALE_NONE : scale;
}

static inline void stub_scale_set(struct flow_stub *stub, unsigned half, uint8_t scale)
{
	unsigned bits = scale > WINDOW_SCALE_MAX ? 0xf : scale;

	stub->scales = (uint8_t)((stub->scales & 0xf0u >> (4 * half)) | bits << (4 * half));
}

static inline bool stub_both_heard(const struct flow_stub *stub)
{
	return (stub->heard & STUB_BOTH_HEARD) == STUB_BOTH_HEARD;
}

#endif
