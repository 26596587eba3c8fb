// SPDX-License-Identifier: BSD-3-Clause
#include "impaired.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <cmocka.h>
#include "wire.h"

struct impair_settings impaired_settings(enum impair_place at, struct impair_link outward)
{
	return (struct impair_settings){.on = true,
		.at = at,
		.seed = 7,
		.limit = 256,
		.links = {[IMPAIR_TO_OUTSIDE] = outward}};
}

struct pipe *impaired_new(struct impair_settings settings)
{
	struct lcore_limits limits = pipe_limits();

	limits.impair = settings;
	limits.flows = limits.embryos = 256;
	struct pipe *pipe = pipe_new(1, &limits);
	struct lcore *lcore = pipe->dp.lcores[0];

	memset(&wire, 0, sizeof(wire));
	pipe->dp.ports[PIPE_INSIDE].receive = wire_receive;
	lcore->rx[0] = (struct rx_queue){.port = PIPE_INSIDE};
	lcore->n_rx = 1;
	return pipe;
}

unsigned impaired_turn(struct pipe *pipe, const struct pipe_packet *packet)
{
	wire.n = wire.taken = 0;
	if (packet)
		wire_put_packet(packet);
	pipe->n_sent = 0;
	pipeline_turn(pipe->dp.lcores[0], pipe->now_ns);
	assert_int_equal(pipe_unaccounted(pipe), 0);
	return pipe->n_sent;
}

struct pipe_packet impaired_datagram(uint16_t number)
{
	static uint8_t payload[64];

	payload[0] = (uint8_t)(number >> 8);
	payload[1] = (uint8_t)number;
	return (struct pipe_packet){
		.proto = IPPROTO_UDP, .payload = payload, .payload_length = sizeof(payload)};
}

void impaired_syn(struct pipe *pipe, uint16_t sport, uint32_t isn)
{
	impaired_turn(pipe, &(struct pipe_packet){.tcp_flags = TH_SYN, .seq = isn, .sport = sport});
}
