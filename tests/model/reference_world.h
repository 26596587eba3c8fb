// SPDX-License-Identifier: BSD-3-Clause
// What the reference of the pipeline model knows: each packet's fate, each connection as its ends
// see it.
#ifndef SLUICE_REFERENCE_WORLD_H
#define SLUICE_REFERENCE_WORLD_H

#include "reference.h"

#define EDGES_MAX 128

struct packet_impairment {
	bool in, out;
	uint8_t port; // where it has to leave
	uint8_t conn, half;
	unsigned length;
	uint8_t frame[1024];
	bool bad_checksum, fragment, blocked; // when it came in
	bool unblocked;                       // no policy blocked while it was here
	bool untaken;
};

struct half_view { // what the far end has received
	uint32_t start[EDGES_MAX], end[EDGES_MAX];
	unsigned n;
	uint32_t last_out; // number of the last packet that left
};

struct conn_view {
	struct half_view half[2];
	uint64_t blocked_ns;
	bool alerted, blocked, odd; // odd: something but packets happened to it
	bool syn_seen, payload_seen;
	bool early_fin;  // before any payload: a stub does not keep where it stood
	bool forged;     // a wrong checksum: on a final flow, nobody looks, and its edges may move
	bool due;        // the handshake came in as it has to be seen
	bool must_block; // ... and nothing odd before the flow's lcore has seen it
	unsigned data_pkts;
	uint32_t next;                // of the client's bytes, in order
	uint32_t acked[2];            // of each half's numbers, its SYN included
	uint32_t said[2];             // end of what came of each half, in the same numbers
	uint32_t settled[2];          // of that, what the flow's lcore has seen
	uint64_t learned_ns, last_ns; // cache entry; its last packet
	bool learned, healed;
	uint8_t shaken; // parts of a handshake that came in order
	bool rested;    // for so long that its entry may have ended
};

struct world {
	const struct schedule *s;
	enum mutation mutation;
	struct pipe *pipe;
	enum model_policy policy;
	uint64_t cache_learned[LCORES_MAX];
	bool unforeseen; // a reload or a jump in time: what must be blocked is not known any more
	bool received;
	bool forgetful; // entries have timed out
	struct packet_impairment fates[OPS_MAX + 1];
	struct conn_view conns[CONNS_MAX];
	uint64_t injected;
	unsigned mutated;
	char problem[300];
};

// Before a packet is sent.
void reference_follow_handshake(struct conn_view *view, const struct op *op);
void reference_follow(struct world *w, const struct op *op);

#endif
