// SPDX-License-Identifier: BSD-3-Clause
// A wire for tests that let lcores receive by themselves: frames that the test puts on it, once or
// for ever. It tells when two threads are in its driver at once.
#ifndef SLUICE_TEST_WIRE_H
#define SLUICE_TEST_WIRE_H

#include <stdatomic.h>
#include "pipe.h"

struct wire {
	uint8_t frames[64][256];
	unsigned lengths[64];
	unsigned n, taken;
	bool endless;          // begins anew when all were taken
	_Atomic unsigned sent; // by wire_send
	_Atomic unsigned clashes;
	_Atomic unsigned users; // threads inside the driver
};
extern struct wire wire;

void wire_put(const uint8_t *frame, unsigned length);
void wire_put_packet(const struct pipe_packet *packet);
// struct port.receive; the context is the pipe, whose pool it takes from.
uint16_t wire_receive(void *ctx, uint16_t queue, struct rte_mbuf **pkts, uint16_t n);
// struct port.send: frees them. (pipe.h's own keeps what was sent, for one thread.)
uint16_t wire_send(void *ctx, uint16_t queue, struct rte_mbuf **pkts, uint16_t n);

#endif
