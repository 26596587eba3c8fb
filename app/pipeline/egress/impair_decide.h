// SPDX-License-Identifier: BSD-3-Clause
// What becomes of a packet on an impaired link: a hash of {seed, flow, direction, sequence,
// transmission number} and nothing else. Neither time nor what other flows do has a part in it, so
// that two runs of the same transfer lose the same segments, whatever the gateway does with them.
//
// flow: addresses, protocol, VLAN and ports; of the ports of TCP, UDP and SCTP the higher one is
// left out (it is the client's, and another one in each run), unless whole_tuple asks for it.
// Fragments go by their addresses.
//
// sequence: of TCP with payload tcp_seq less the first one seen of the flow and direction, in
// blocks of IMPAIR_BLOCK: where a sender cuts its segments differs from run to run, and a stream of
// full segments has one in each block wherever they begin. Of SYN, FIN and RST without payload to
// the octet; of other segments, blocks of tcp_ack. Other packets are counted, by flow and
// direction.
//
// transmission: how often this sequence was seen of this connection before. Counted packets: 0.
//
// Gilbert-Elliott's chain advances with the sequence, by a hash of the step's number: its state at
// any step is found by looking back to where a step leads to the same state from both (1/(p+r)
// steps on average), so that it does not depend on the order in which packets come. Each
// transmission number has a chain of its own: a retransmission comes later, and must not meet the
// burst that took the first. Bursts are those of full segments.
//
// What has to be remembered (first sequences, counts) is in tables of fixed size where the least
// recently used makes room: 4,096 flows and directions, 65,536 segments. A segment that was
// forgotten counts as new.
#ifndef SLUICE_IMPAIR_FATE_H
#define SLUICE_IMPAIR_FATE_H

#include "pipeline/egress/impair.h"
#include "pipeline/wire/parse.h"

#define IMPAIR_BLOCK     1448 // a segment of 1,500 octets with timestamps
#define IMPAIR_FLOW_SETS 1024
#define IMPAIR_FLOW_WAYS 4
#define IMPAIR_SEEN_SETS 8192
#define IMPAIR_SEEN_WAYS 8

struct impair_flow { // one direction
	uint64_t tag;
	uint64_t decided_by; // the flow as chance knows it
	uint32_t connection; // number of the connection on this tuple, for `seen`
	uint32_t seq_first, ack_first;
	uint32_t pkts;
	uint32_t used; // impair_memory.clock
	bool has_seq, has_ack;
};

struct impair_memory {
	struct impair_flow flows[IMPAIR_FLOW_SETS][IMPAIR_FLOW_WAYS];
	// The upper 48 bits are the segment's tag, the lower ones a count; the last used is first.
	uint64_t seen[IMPAIR_SEEN_SETS][IMPAIR_SEEN_WAYS] __attribute__((aligned(64)));
	uint32_t clock;
	uint32_t connections;
};

struct impairment_of_packet {
	bool lost;
	bool duplicated;
	bool corrupted;
	bool reordered;
	int64_t jitter_ns;
	uint64_t bit; // which one flips: a number to take the remainder of
};

// `pkt` is parsed; `key`: of the flow, or NULL if it has none.
struct impairment_of_packet impair_decide(struct impair_memory *memory,
	const struct impair_settings *settings, enum impair_way way, const struct pkt *pkt,
	const union flow_key *key);

#endif
