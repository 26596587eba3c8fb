// SPDX-License-Identifier: BSD-3-Clause
#include "wire.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

struct wire wire;

static void wire_enter(void)
{
	if (atomic_fetch_add(&wire.users, 1))
		atomic_fetch_add(&wire.clashes, 1);
}

static void wire_leave(void)
{
	atomic_fetch_sub(&wire.users, 1);
}

void wire_put(const uint8_t *frame, unsigned length)
{
	assert_true(wire.n < 64 && length <= sizeof(wire.frames[0]));
	memcpy(wire.frames[wire.n], frame, length);
	wire.lengths[wire.n++] = length;
}

void wire_put_packet(const struct pipe_packet *packet)
{
	uint8_t frame[256];

	wire_put(frame, pipe_build(packet, frame, sizeof(frame)));
}

uint16_t wire_receive(void *ctx, uint16_t queue, struct rte_mbuf **pkts, uint16_t n)
{
	struct pipe *pipe = ctx;
	uint16_t got = 0;

	(void)queue;
	wire_enter();
	while (got < n && wire.n && (wire.taken < wire.n || wire.endless)) {
		unsigned i = wire.taken++ % wire.n;
		struct rte_mbuf *m = rte_pktmbuf_alloc(pipe->pool);

		if (!m)
			break;
		memcpy(rte_pktmbuf_append(m, (uint16_t)wire.lengths[i]), wire.frames[i],
			wire.lengths[i]);
		pkts[got++] = m;
	}
	wire_leave();
	return got;
}

uint16_t wire_send(void *ctx, uint16_t queue, struct rte_mbuf **pkts, uint16_t n)
{
	(void)ctx;
	(void)queue;
	wire_enter();
	for (unsigned i = 0; i < n; i++)
		rte_pktmbuf_free(pkts[i]);
	atomic_fetch_add(&wire.sent, n);
	wire_leave();
	return n;
}
