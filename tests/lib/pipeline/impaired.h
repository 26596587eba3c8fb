// SPDX-License-Identifier: BSD-3-Clause
// A gateway of one lcore whose inside port has a bad link (impair.h), in virtual time.
#ifndef SLUICE_TEST_IMPAIRED_H
#define SLUICE_TEST_IMPAIRED_H

#include "pipe.h"

// The outward direction is `outward`, the other one is good.
struct impair_settings impaired_settings(enum impair_place at, struct impair_link outward);
struct pipe *impaired_new(struct impair_settings settings);
// A turn with this packet on the inside wire, or without one; returns how many frames left, which
// are in pipe->sent. The ledger is asked.
unsigned impaired_turn(struct pipe *pipe, const struct pipe_packet *packet);
// 64 bytes of UDP that begin with a number.
struct pipe_packet impaired_datagram(uint16_t number);
void impaired_syn(struct pipe *pipe, uint16_t sport, uint32_t isn);

#endif
