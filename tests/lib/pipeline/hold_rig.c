// SPDX-License-Identifier: BSD-3-Clause
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <cmocka.h>
#include "hold_rig.h"

uint8_t file[64 * MSS]; // what the server sends

const struct scan_config clean = {
	.timeout_ns = 10 * NS_PER_S,
	.flows = 16,
	.on_timeout = SCAN_FAILURE_RESET,
	.on_error = SCAN_FAILURE_RESET,
	.n_script = 1,
	.script = {{.half = HALF_S2C, .after_bytes = 2 * MSS, .delay_ms = 3000}},
};

struct pipe *world(const struct scan_config *config)
{
	struct pipe *pipe = pipe_new(1, NULL);
	struct policy *policy = pipe_policy(pipe);

	pipe_rule(policy, RULE, ACTION_SCAN)->l4_proto = 0;
	pipe_publish(pipe, policy);
	if (config)
		pipe_scan_new(pipe, config);
	for (size_t i = 0; i < sizeof(file); i++)
		file[i] = (uint8_t)(i * 7 + i / 251);
	return pipe;
}

struct scan_config says(enum scan_script_verdict verdict, enum scan_failure failure)
{
	struct scan_config config = clean;

	config.script[0].verdict = (uint8_t)verdict;
	config.on_error = config.on_timeout = (uint8_t)failure;
	return config;
}

unsigned client(struct pipe *pipe, uint16_t sport, uint32_t seq, uint32_t ack, uint8_t flags,
	uint16_t length)
{
	return pipe_run(pipe, 0,
		&(struct pipe_packet){.sport = sport,
			.seq = C_ISN + seq,
			.ack = S_ISN + ack,
			.tcp_flags = flags,
			.payload = file,
			.payload_length = length});
}

// The part of the file that begins at `at`.
unsigned server(struct pipe *pipe, uint16_t sport, uint32_t at, uint32_t ack)
{
	return pipe_run(pipe, 0,
		&(struct pipe_packet){.from_outside = true,
			.sport = sport,
			.seq = S_ISN + 1 + at,
			.ack = C_ISN + ack,
			.payload = file + at,
			.payload_length = MSS});
}

// A connection with its request; the flow is decided.
void open_flow(struct pipe *pipe, uint16_t sport)
{
	client(pipe, sport, 0, 0, TH_SYN, 0);
	pipe_run(pipe, 0,
		&(struct pipe_packet){.from_outside = true,
			.sport = sport,
			.seq = S_ISN,
			.ack = C_ISN + 1,
			.tcp_flags = TH_SYN | TH_ACK});
	client(pipe, sport, 1, 1, TH_ACK, 0);
	assert_int_equal(client(pipe, sport, 1, 1, TH_PUSH | TH_ACK, 100), 1);
}

// ... whose server has sent three segments, of which two are held.
void hold_flow(struct pipe *pipe, uint16_t sport)
{
	open_flow(pipe, sport);
	assert_int_equal(server(pipe, sport, 0, 101), 1);
	client(pipe, sport, 101, 1 + MSS, TH_ACK, 0);
	assert_int_equal(server(pipe, sport, MSS, 101), 0);
	assert_int_equal(server(pipe, sport, 2 * MSS, 101), 0);
	assert_int_equal(pipe_stats(pipe).scan_pending, 1);
}

const uint8_t *tcp_of(const struct pipe_sent *sent)
{
	return sent->frame + 14 + 20;
}

uint32_t get32(const uint8_t *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

// A data segment of the file left, whole.
void assert_part(const struct pipe_sent *sent, uint32_t at)
{
	const uint8_t *tcp = tcp_of(sent);
	unsigned header = (tcp[12] >> 4) * 4u;

	assert_int_equal(sent->port, PIPE_INSIDE);
	assert_int_equal(get32(tcp + 4), S_ISN + 1 + at);
	assert_int_equal(sent->length, 14 + 20 + header + MSS);
	assert_memory_equal(tcp + header, file + at, MSS);
}

unsigned resets(const struct pipe *pipe, unsigned from)
{
	unsigned n = 0;

	for (unsigned i = from; i < pipe->n_sent; i++)
		n += !!(tcp_of(&pipe->sent[i])[13] & TH_RST);
	return n;
}
