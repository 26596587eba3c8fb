// SPDX-License-Identifier: BSD-3-Clause
// The tracker of a TCP connection under inspection: two halves, what a receiver takes of each, and
// the bytes in order as consumers see them. Its law: bytes inspected == bytes delivered
// (docs/architecture.md).
//
// Each segment is first checked (RFC 9293 section 3.10.7.4 for the window, RFC 7323 section 5 for
// PAWS), then sorted: in order (to the consumer, together with the copies behind it), ahead
// (fast pass: forwarded and copied), old (compared with what came first), or, while the half waits
// for a verdict, held. What does not enter our stream does not leave.
//
// One user: the lcore that owns the flow. No heap, no clock: `now_ns` is an argument. Offsets are
// bytes of the half from its first one, 64 bits; `base` is the sequence number of offset 0.
#ifndef SLUICE_TCP_TRACK_H
#define SLUICE_TCP_TRACK_H

#include "reassembly/edit.h"
#include "pipeline/vocab/span.h"
#include "pipeline/vocab/stream_look.h"
#include "pipeline/vocab/stream_report.h"
#include "pipeline/vocab/verdict.h"

#define TRACK_NONE         0  // no state: indices begin at 1
#define TRACK_DRAIN_BUDGET 32 // copies consumed with one packet, or in one step of track_work
#define TRACK_WINDOW_MAX   (UINT32_C(65535) << 14) // RFC 7323 section 2.3

enum {                            // struct tcp_half.flags
	HALF_STARTED = 1 << 0,    // base is valid
	HALF_MIDSTREAM = 1 << 1,  // its first byte was not seen
	HALF_TAKEN = 1 << 2,      // a byte was taken
	HALF_UNSEEN = 1 << 3,     // segments may have passed unseen since the last one
	HALF_EDGE = 1 << 4,       // edge is valid: the receiver has spoken
	HALF_TIMESTAMP = 1 << 5,  // ts_recent is valid
	HALF_FIN = 1 << 6,        // the byte behind the last is at `fin`
	HALF_CLOSING = 1 << 7,    // a RST was believed: what is held is never released
	HALF_PROCESSING = 1 << 8, // a job of ours is pending on it
	HALF_RESUMING = 1 << 9,   // copies or held packets are being worked off
	HALF_FREE = 1 << 10,      // inspection is over: bytes from `free_from` on are not looked at
	HALF_DIFFER = 1 << 11,    // several SYNs of it came, with different numbers
	HALF_PACKET = 1 << 12,    // newest_ack and newest_window are valid
	HALF_STAMPED = 1 << 15,   // newest_tsval and newest_tsecr are
	HALF_KNOWN = 1 << 14,     // its receiver has said where it begins
	HALF_BEHIND_SYN = 1 << 13, // bytes or a FIN left in a packet that is no SYN
	HALF_FIN_TOLD = 1 << 16,   // the consumer knows that nothing follows
	HALF_GATED = 1 << 17,      // nothing from `gate` on leaves, though it is inspected
	HALF_RELEASING = 1 << 18,  // held packets before the gate, or not inspected, are worked off
};

struct tcp_half {
	struct q2 q2;
	uint64_t next;    // first byte that the consumer has not seen
	uint64_t sent;    // all below has left; at most `next`
	uint64_t unsent;  // above `sent`: bytes from there to here were consumed and did not leave
	uint64_t acked;   // the receiver has all below
	uint64_t edge;    // the receiver takes no byte from here on (HALF_EDGE)
	uint64_t top;     // end of what was forwarded or held
	uint64_t fin;     // HALF_FIN
	uint64_t fin_due; // offset + 1 of a FIN that the consumer awaits; 0: none, or it was told
	uint64_t left;    // end of what was forwarded, the number of a FIN included
	uint64_t free_from; // HALF_FREE
	uint64_t held_ns;   // since when the first held packet waits
	uint64_t gate;      // HALF_GATED
	uint32_t base;
	uint32_t ts_recent;
	uint32_t newest_ack; // of this half's segments: what its sender says of the other half
	uint32_t newest_tsval;
	uint32_t newest_tsecr;
	uint32_t flags;
	uint16_t newest_window;
};

struct tcp_track {
	struct tcp_half half[2];
	struct stream_report *report; // of the flow that has it
	uint32_t flow;                // its index
	// lists of the tracker; `which` half is worked off comes from its flags
	TAILQ_ENTRY(tcp_track) resuming;
	TAILQ_ENTRY(tcp_track) holding;
	TAILQ_ENTRY(tcp_track) age;
	uint8_t rank;
	uint8_t edits;    // halves of which consumers may ask for edits (track_edits): no fast pass
	uint8_t edited;   // ... of which they have: bytes that were edited may come again
	uint8_t may_edit; // the user's: what the policy said of it when ...
	bool of_final;    // ... its application was this, and settled or not
	uint16_t of_app;
	uint32_t of_epoch; // 0: not asked
	bool undecided;    // the user's: what was consumed changed something that is to be decided
	bool on_resuming;
	bool on_holding;
};
TAILQ_HEAD(track_list, tcp_track);

struct tracker_limits {
	uint32_t tracks;
	uint32_t blocks;      // of the slab
	uint32_t half_blocks; // COPY and SENT of one half
	uint32_t held;        // packets
	uint32_t half_held;
	uint64_t hold_ns; // held packets leave by time-out
	bool fast_pass;
};

// What goes first where room ends; the user's words for how much it knows of a connection.
#define TRACK_RANKS           4
#define TRACKER_BLOCKS_PER_MB (1048576 / SLAB_BLOCK)

struct tracker {
	struct tracker_limits limits;
	struct slab slab;
	uint32_t n_held;
	uint32_t n_free;
	uint32_t *free; // indices
	struct tcp_track *tracks;
	struct track_list resuming; // halves to be worked off
	struct track_list holding;  // have held packets, or had; looked at in turn (track_age)
	struct track_list of_rank[TRACK_RANKS]; // the oldest first
	const struct tcp_segment *at_hand;      // being sorted; NULL: none
	bool keep_acked; // replay --streams: compare with acknowledged bytes, too
	void (*drop)(void *ctx, struct rte_mbuf *m, enum drop_reason reason); // of held packets
	void *ctx;
	void *memory;
};

// NULL: no memory.
struct tracker *tracker_new(const struct tracker_limits *limits, int socket);
void tracker_free(struct tracker *tracker);

// TRACK_NONE: no state is free. Its rank is 0 at first.
uint32_t track_take(struct tracker *tracker, uint32_t flow, struct stream_report *report);
// What it holds is dropped with `reason`.
void track_give(struct tracker *tracker, uint32_t index, enum drop_reason reason);
// The connection has another rank now, or is to be the youngest of its rank.
void track_rank(struct tracker *tracker, struct tcp_track *track, unsigned rank);
// The flow of the one that has been tracked for longest among those of that rank; false: none is.
static inline bool track_oldest(const struct tracker *tracker, unsigned rank, uint32_t *flow)
{
	const struct tcp_track *oldest = TAILQ_FIRST(&tracker->of_rank[rank]);

	if (!oldest)
		return false;
	*flow = oldest->flow;
	return true;
}
// An eighth of the slab's blocks is kept free of what was not heard.
static inline bool track_is_scarce(const struct tracker *tracker)
{
	return slab_free(&tracker->slab) < tracker->slab.n / 8;
}
static inline struct tcp_track *track_at(const struct tracker *tracker, uint32_t index)
{
	return &tracker->tracks[index];
}

// A FIN in the place of the half's first octet has left before it was tracked.
void track_fin_first(struct tcp_half *half);

// A SYN of this half. Another SYN with another number starts over while no byte was taken; later
// ones change nothing (a challenge, RFC 5961 section 4).
void track_syn(struct tcp_half *half, uint32_t seq);
// The half begins again behind this SYN: its receiver left the payload that was on it
// (RFC 7413 section 4.2.2). False: bytes have left behind it meanwhile, which the receiver may take
// by now: what came first stays, and what comes again becomes it.
bool track_restart(struct tracker *tracker, struct tcp_track *track, unsigned half, uint32_t seq);
// Segments may have passed unseen: wherever the halves go on is taken, as midstream; what lies
// between is reported as a gap.
void track_unseen(struct tcp_track *track);

struct tcp_segment {
	struct rte_mbuf *m;
	uint64_t now_ns;
	uint32_t seq, ack;
	uint32_t payload_at; // from the start of the frame
	uint32_t length;     // of the payload
	uint32_t cut;        // octets behind it that a capture has left out; only if !enforces
	uint32_t tsval, tsecr;
	uint16_t window; // as on the wire
	uint8_t tcp_flags;
	uint8_t half;
	uint8_t scale; // of its sender's window
	bool has_timestamp;
	bool one_sided;     // the other half was never seen
	bool astray;        // came in on the other end's side: nothing that it says is believed
	bool enforces;      // else every packet leaves as it came
	bool rewrites;      // what differs from the first bytes is overwritten, else dropped
	bool resumed;       // was held before
	bool passes_limits; // a cap lets it pass uninspected, else it is dropped
	bool keep_whole;    // cannot be held (a view of fragments)
	bool unheard;       // anybody may have sent it: half of what can be held is not for it
};

enum consumed {
	CONSUMED,      // go on
	CONSUMED_HOLD, // nothing from the span's last byte on leaves before a verdict
	// From here on: not taken.
	CONSUMED_NOTHING, // it could not be looked at: not taken
	// The same, for want of time alone: it comes again as soon as work goes on, without its
	// sender. Only where packets can be held (tcp_segment.enforces).
	CONSUMED_LATER,
};
struct stream_consumer {
	// A gap, bytes in one piece, or a FIN behind all that was consumed: SPAN_FIN, no bytes. It
	// is told once, also where nothing of it or behind it leaves in the end.
	enum consumed (*take)(void *ctx, const struct span *span);
	// Bytes of the packet at hand: of the span nothing can be read.
	enum consumed (*take_packet)(void *ctx, const struct span *span, struct payload bytes);
	void *ctx;
};

enum track_verdict {
	TRACK_FORWARD,
	TRACK_DROP,     // `reason`
	TRACK_HELD,     // the packet is the tracker's now
	TRACK_ABSORBED, // has nothing that a held packet does not say: consumed
};

struct track_result {
	enum track_verdict verdict;
	enum drop_reason reason;
	uint64_t differ_at; // offset of the first byte that differed
	uint32_t differ;    // bytes that differed from the first ones
	uint32_t old;       // bytes that had been taken, or were kept, before
	uint32_t known;     // bytes that were kept already
	bool refused;       // no receiver takes it
	bool paws;          // for its timestamp
	bool ahead;         // of a hole
	bool copied;
	bool rewritten;
	uint32_t edited;  // bytes that were blanked in it: now, or of an edit that it repeats
	bool taken;       // brought bytes to the consumer
	bool waived;      // left uninspected for a cap
	bool full;        // a cap was met: `target`
	uint8_t target;   // enum stream_target
	bool ack_due;     // held, but what it says of the other half must be reported
	uint32_t ack_seq; // with this number
};

// Every segment of a tracked connection that is not a SYN. May feed the consumer.
struct track_result track_segment(struct tracker *tracker, struct tcp_track *track,
	const struct tcp_segment *segment, const struct stream_consumer *consumer);

// The connection's consumers may ask for edits of these halves (bits, by enum half), and no longer
// of others. While they may, nothing of the half leaves ahead of a hole (it is held): what has left
// cannot be edited. Every packet of it that is given to track_segment meanwhile, and once it is
// `edited`, is to be the caller's alone.
#define TRACK_EDITS_BOTH 3u
void track_edits(struct tracker *tracker, struct tcp_track *track, unsigned halves);
// All or none of these edits, which are of bytes that the consumer was given; called by a consumer,
// of the half that it is given bytes of. The packet at hand is changed before it leaves, as is
// whatever repeats the bytes until they are acknowledged; consumers never see what was changed.
enum edit_answer track_edit(struct tracker *tracker, struct tcp_track *track, unsigned half,
	const struct stream_edit *edits, unsigned n);

// A job begins on the half: from here on its packets are held.
static inline void track_process(struct tcp_track *track, unsigned half)
{
	track->half[half].flags |= HALF_PROCESSING;
}
// The job is done: what waits is worked off by track_work.
void track_resume(struct tracker *tracker, struct tcp_track *track, unsigned half);

// While the half has a gate, what comes in order is inspected at once, and no packet with a byte
// (or a FIN) at `gate64` or behind it leaves: it is held behind what is held already. Where the
// gate moves on, what lies before it leaves by track_work, in order. TRACK_GATE_NONE: there is none
// (any more). Only of connections whose segments are given with tcp_segment.enforces. A consumer
// may call it, of the half that it is given bytes of; so may others.
#define TRACK_GATE_NONE UINT64_MAX
void track_gate(struct tracker *tracker, struct tcp_track *track, unsigned half, uint64_t gate64);

// One step of working off a half that resumes, or whose gate has moved. NULL, *more: copies were
// consumed, and more wait. NULL, not *more: nothing waits (any more), a new job has begun, or the
// consumer takes nothing now (track_has_work tells). Else the next held packet, the caller's now,
// to be processed again.
struct rte_mbuf *track_work(struct tracker *tracker, struct tcp_track *track, unsigned half,
	uint64_t now_ns, const struct stream_consumer *consumer, bool *more);

// The holes of the half are given up, as nothing comes any more; what lies behind is consumed.
// Of a flow that ends.
void track_finish(struct tracker *tracker, struct tcp_track *track, unsigned half,
	const struct stream_consumer *consumer);

// Drops what is held for longer than the limit; at most `budget` connections. The number of
// packets.
unsigned track_age(struct tracker *tracker, uint64_t now_ns, unsigned budget);

// No more bytes are looked at; what was inspected is still compared until it is acknowledged.
void track_set_free(struct tracker *tracker, struct tcp_track *track);
// track_work would do something.
bool track_has_work(const struct tcp_track *track);
// Nothing of it is needed any more.
bool track_is_idle(const struct tcp_track *track);

// How the half stands, for a person; at most STREAM_LOOK_MAX segments of each kind are counted.
// job_ns is the caller's.
void track_look(struct tcp_half *half, struct stream_look *look);

static inline uint32_t half_seq(const struct tcp_half *half, uint64_t offset)
{
	return half->base + (uint32_t)offset;
}

#endif
