// SPDX-License-Identifier: BSD-3-Clause
// What reassembly changes of a TCP packet, and the ACK it makes in place of a held one. Pure; any
// lcore. The packet is parsed, and nobody else has it.
#ifndef SLUICE_RESEGMENT_H
#define SLUICE_RESEGMENT_H

#include <stdbool.h>
#include "pipeline/vocab/pkt.h"

struct segment_times {
	bool present;
	uint32_t value; // RFC 7323 section 3.2
	uint32_t echo;
};
struct segment_times segment_times(const struct rte_mbuf *m, const struct pkt *pkt);

#define WINDOW_SCALE_MAX  14  // RFC 7323 section 2.3; also of a half whose SYN was not seen
#define WINDOW_SCALE_NONE 255 // the SYN has no such option: neither end scales
// How far a SYN says that windows of its sender are to be shifted; WINDOW_SCALE_MAX if its
// headers are not in one piece.
uint8_t segment_scale(const struct rte_mbuf *m, const struct pkt *pkt);

// Its payload was changed: the checksum again.
void segment_rewritten(struct rte_mbuf *m);

// What its sender says meanwhile, for a packet that was held. SACK blocks that were said with an
// older acknowledgement become NOPs: below the newer one they would read as duplicates (RFC 2883).
struct segment_newest {
	uint32_t ack;
	bool stamped; // value and echo are known
	uint32_t value;
	uint32_t echo;
	uint16_t window;
};
void segment_refresh(struct rte_mbuf *m, const struct segment_newest *newest);

// The held packet `m` without its payload and with this number: its acknowledgement, window and
// options. `out`: an empty mbuf; its struct pkt is the caller's to set. -EMSGSIZE: no room;
// -EINVAL: no TCP header, or one in a tunnel.
int segment_ack(struct rte_mbuf *out, const struct rte_mbuf *m, uint32_t seq);

#endif
