// SPDX-License-Identifier: BSD-3-Clause
// Packets in fragments, for tests on the packet path (pipe.h).
#ifndef SLUICE_TEST_PIECES_H
#define SLUICE_TEST_PIECES_H

#include "lib/pipeline/pipe.h"

#define MOST 130 // fragments of a packet

struct piece {
	uint8_t frame[2048];
	uint32_t length;
};

extern const uint8_t handshake[68]; // BitTorrent's

// One fragment of `size` bytes from `offset` on of the IP payload of a whole frame (no VLAN).
void cut(const uint8_t *whole, uint32_t length, uint32_t id, uint32_t offset, uint32_t size,
	bool last, struct piece *out);
// The packet in fragments of `step` bytes; how many.
unsigned cut_packet(
	const struct pipe_packet *packet, uint32_t id, uint32_t step, struct piece *pieces);
// Each returns how many frames came out. `order`: NULL is 0, 1, 2 ...
unsigned run_piece(struct pipe *pipe, unsigned lcore, const struct piece *piece, bool from_outside);
unsigned run_pieces(struct pipe *pipe, const struct piece *pieces, unsigned n,
	const unsigned *order, bool from_outside);
unsigned run_cut(struct pipe *pipe, const struct pipe_packet *packet, uint32_t id, uint32_t step);
// The frame that left as number `at` is this one.
void check_sent(const struct pipe *pipe, unsigned at, const struct piece *piece);
// A pipe whose policy resets BitTorrent.
struct pipe *blocking(unsigned n_lcores);

#endif
