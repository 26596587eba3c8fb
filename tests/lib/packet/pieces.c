// SPDX-License-Identifier: BSD-3-Clause
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <netinet/in.h>
#include <cmocka.h>
#include "pipeline/wire/checksum.h"
#include "pieces.h"

const uint8_t handshake[68] = "\x13"
			      "BitTorrent protocol\0\0\0\0\0\0\0\0"
			      "abcdefghijklmnopqrst-XX0000-123456789012";

void cut(const uint8_t *whole, uint32_t length, uint32_t id, uint32_t offset, uint32_t size,
	bool last, struct piece *out)
{
	bool v6 = whole[12] == 0x86;
	uint32_t header = v6 ? 54 : 34, at = v6 ? 62 : 34;
	uint8_t *ip = out->frame + 14;

	assert_true(header + offset + size <= length && at + size <= sizeof(out->frame));
	memcpy(out->frame, whole, header);
	memcpy(out->frame + at, whole + header + offset, size);
	out->length = at + size;
	if (v6) {
		uint8_t next = ip[6], *fragment = ip + 40;

		ip[6] = IPPROTO_FRAGMENT;
		ip[4] = (uint8_t)((size + 8) >> 8);
		ip[5] = (uint8_t)(size + 8);
		fragment[0] = next;
		fragment[1] = 0;
		fragment[2] = (uint8_t)(offset >> 8);
		fragment[3] = (uint8_t)(offset | !last);
		memcpy(fragment + 4, &id, 4);
		return;
	}
	ip[2] = (uint8_t)((size + 20) >> 8);
	ip[3] = (uint8_t)(size + 20);
	memcpy(ip + 4, &id, 2);
	ip[6] = (uint8_t)((last ? 0 : 0x20) | offset >> 11);
	ip[7] = (uint8_t)(offset >> 3);
	checksum_fill(ip, NULL, 0, 0, false);
}

unsigned cut_packet(
	const struct pipe_packet *packet, uint32_t id, uint32_t step, struct piece *pieces)
{
	uint8_t whole[2048];
	uint32_t length = pipe_build(packet, whole, sizeof(whole));
	uint32_t total = length - (packet->v6 ? 54 : 34);
	unsigned n = 0;

	for (uint32_t at = 0; at < total; at += step, n++) {
		bool last = at + step >= total;

		assert_true(n < MOST);
		cut(whole, length, id, at, last ? total - at : step, last, &pieces[n]);
	}
	return n;
}

unsigned run_piece(struct pipe *pipe, unsigned lcore, const struct piece *piece, bool from_outside)
{
	return pipe_run_frame(pipe, lcore, piece->frame, piece->length, from_outside, 1);
}

unsigned run_pieces(struct pipe *pipe, const struct piece *pieces, unsigned n,
	const unsigned *order, bool from_outside)
{
	unsigned out = 0;

	for (unsigned i = 0; i < n; i++)
		out += run_piece(pipe, 0, &pieces[order ? order[i] : i], from_outside);
	return out;
}

unsigned run_cut(struct pipe *pipe, const struct pipe_packet *packet, uint32_t id, uint32_t step)
{
	struct piece pieces[MOST];

	return run_pieces(
		pipe, pieces, cut_packet(packet, id, step, pieces), NULL, packet->from_outside);
}

void check_sent(const struct pipe *pipe, unsigned at, const struct piece *piece)
{
	assert_int_equal(pipe->sent[at].length, piece->length);
	assert_memory_equal(pipe->sent[at].frame, piece->frame, piece->length);
}

static void publish_block(struct pipe *pipe, enum action action)
{
	struct policy *policy = pipe_policy(pipe);

	pipe_rule_app(policy, 7, action, "bittorrent")->cache = CACHE_NONE;
	pipe_publish(pipe, policy);
}

struct pipe *blocking(unsigned n_lcores)
{
	struct pipe *pipe = pipe_new(n_lcores, NULL);

	publish_block(pipe, ACTION_RESET);
	return pipe;
}
