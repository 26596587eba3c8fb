// SPDX-License-Identifier: BSD-3-Clause
// A tunnel's packets in fragments, whose inner packets are fragments: the inner datagram is
// inspected whole, and all packets that it came in leave as they came, or none does.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <netinet/in.h>
#include <cmocka.h>
#include "lib/packet/pieces.h"
#include "pipeline/wire/checksum.h"

#define ETHERNET 14
#define INNER    64 // bytes of IP payload in a fragment
#define OUTER    48
#define EACH     3 // fragments of a tunnel's packet, at most

static const char clean[] = "nothing that anybody knows, in so many words: ----------------------"
			    "--------------------------------------------------------------";
static const char dht[] = "d1:ad2:id20:aaaaaaaaaaaaaaaaaaaae1:x64:"
			  "----------------------------------------------------------------"
			  "1:q4:ping1:t4:abcd1:y1:qe";

// The packet of `piece` in GRE between two ends.
static uint32_t wrap(const struct piece *piece, bool outer_v6, uint8_t *out)
{
	uint32_t inner = piece->length - ETHERNET, header = outer_v6 ? 40 : 20;
	uint8_t *ip = out + ETHERNET, *gre = ip + header;

	memset(out, 0, ETHERNET + header + 4);
	memcpy(out, piece->frame, 12);
	out[12] = outer_v6 ? 0x86 : 0x08;
	out[13] = outer_v6 ? 0xdd : 0x00;
	memcpy(gre + 2, piece->frame + 12, 2);
	memcpy(gre + 4, piece->frame + ETHERNET, inner);
	inner += 4;
	if (outer_v6) {
		ip[0] = 0x60;
		ip[4] = (uint8_t)(inner >> 8);
		ip[5] = (uint8_t)inner;
		ip[6] = IPPROTO_GRE;
		ip[7] = 64;
		ip[8] = ip[24] = 0xfd;
		ip[23] = 5;
		ip[39] = 6;
	} else {
		memcpy(ip, "\x45\0\0\0\0\0\0\0\x40\x2f\0\0\xc6\x33\x64\1\xc6\x33\x64\2", 20);
		ip[2] = (uint8_t)((inner + 20) >> 8);
		ip[3] = (uint8_t)(inner + 20);
		checksum_fill(ip, NULL, 0, 0, false);
	}
	return ETHERNET + header + inner;
}

static unsigned cut_frame(
	const uint8_t *frame, uint32_t length, uint32_t id, uint32_t step, struct piece *pieces)
{
	uint32_t total = length - ETHERNET - (frame[12] == 0x86 ? 40 : 20);
	unsigned n = 0;

	for (uint32_t at = 0; at < total; at += step, n++) {
		bool last = at + step >= total;

		cut(frame, length, id, at, last ? total - at : step, last, &pieces[n]);
	}
	return n;
}

struct nest {
	struct piece pieces[MOST];
	unsigned n;         // pieces
	unsigned begin[32]; // where the fragments of a tunnel's packet begin
	unsigned n_packets; // of the tunnel
	unsigned n_cut;     // of these, in fragments
};

// `packet` in fragments of INNER, each in a tunnel's packet, in fragments of OUTER.
static void nest(struct nest *nest, const struct pipe_packet *packet, bool outer_v6)
{
	struct piece inner[MOST];
	uint8_t frame[2048];

	nest->n = nest->n_cut = 0;
	nest->n_packets = cut_packet(packet, 7, INNER, inner);
	for (unsigned i = 0; i < nest->n_packets; i++) {
		uint32_t length = wrap(&inner[i], outer_v6, frame);

		nest->begin[i] = nest->n;
		nest->n += cut_frame(frame, length, 100 + i, OUTER, nest->pieces + nest->n);
		nest->n_cut += nest->n - nest->begin[i] > 1;
	}
	nest->begin[nest->n_packets] = nest->n;
}

static struct pipe_packet udp(bool v6, const char *payload)
{
	return (struct pipe_packet){.v6 = v6,
		.proto = IPPROTO_UDP,
		.sport = 6881,
		.dport = 6882,
		.payload = payload,
		.payload_length = (uint16_t)strlen(payload)};
}

static unsigned run_all(struct pipe *pipe, const struct nest *nest)
{
	return run_pieces(pipe, nest->pieces, nest->n, NULL, false);
}

static void honest_ones_pass(void **state)
{
	static struct nest nested;
	(void)state;

	for (unsigned i = 0; i < 24; i++) {
		struct pipe *pipe = i & 4 ? blocking(1) : pipe_new(1, NULL);
		struct pipe_packet packet = udp(i & 1, clean);
		unsigned n, at,
			order = i >> 3; // as they were sent, backwards, one end and the other

		nest(&nested, &packet, i & 2);
		n = nested.n;
		for (unsigned k = 0; k < n; k++) {
			at = order == 1 ? n - 1 - k : order == 2 && k & 1 ? n - 1 - k / 2 : k;
			if (order == 2 && !(k & 1))
				at = k / 2;
			assert_int_equal(
				run_piece(pipe, 0, &nested.pieces[at], false), k < n - 1 ? 0 : n);
			pipe_turns(pipe);
			assert_int_equal(pipe_unaccounted(pipe), 0);
			assert_int_equal(pipeline_held(pipe->dp.lcores[0]), k < n - 1 ? k + 1 : 0);
		}
		assert_int_equal(pipe_stats(pipe).flows_created, 1);
		assert_int_equal(pipe_stats(pipe).fragment_pkts, n);
		assert_int_equal(pipe_stats(pipe).unsupported_fragments, 0);
		assert_int_equal(pipe_stats(pipe).datagrams_whole, nested.n_cut + 1);
		for (unsigned k = 0; !order && k < n; k++)
			check_sent(pipe, k, &nested.pieces[k]);
		pipe_free(pipe);
	}
}

// The last fragment is small, and its packet needs none.
static void others_of_the_datagram_came_whole(void **state)
{
	static struct nest nested;
	(void)state;

	for (unsigned i = 0; i < 8; i++)
		for (unsigned bad = 0; bad < 2; bad++) {
			struct pipe *pipe = blocking(1);
			struct pipe_packet packet = udp(i & 1, bad ? dht : clean);
			struct piece inner[MOST], whole;
			unsigned n_inner = cut_packet(&packet, 7, INNER, inner), sent = 0, n;

			nest(&nested, &packet, i & 2);
			n = nested.begin[n_inner - 1];
			whole.length = wrap(&inner[n_inner - 1], i & 2, whole.frame);
			if (i & 4)
				sent += run_piece(pipe, 0, &whole, false);
			sent += run_pieces(pipe, nested.pieces, n, NULL, false);
			if (!(i & 4))
				sent += run_piece(pipe, 0, &whole, false);
			assert_int_equal(sent, bad ? 0 : n + 1);
			assert_int_equal(pipe_stats(pipe).dropped_pkts[DROP_RULE], bad ? n + 1 : 0);
			pipe_free(pipe);
		}
}

static void what_stands_in_the_tail_is_blocked(void **state)
{
	static struct nest nested;
	(void)state;

	for (unsigned i = 0; i < 4; i++) {
		struct pipe *pipe = blocking(1);
		struct pipe_packet packet = udp(i & 1, dht);

		nest(&nested, &packet, i & 2);
		assert_true(nested.n_packets > 2); // none of them has all words
		assert_int_equal(run_all(pipe, &nested), 0);
		assert_int_equal(pipe_stats(pipe).dropped_pkts[DROP_RULE], nested.n);
		pipe_free(pipe);
	}
}

// A fragment of the tunnel's, or all of one packet of it, is lost.
static void what_is_not_whole_in_time_ends(void **state)
{
	static struct nest nested;
	(void)state;

	for (unsigned i = 0; i < 8; i++) {
		struct pipe *pipe = i & 4 ? blocking(1) : pipe_new(1, NULL);
		struct pipe_packet packet = udp(i & 1, clean);
		unsigned lost = 0, sent;

		nest(&nested, &packet, false);
		for (unsigned k = 0; k < nested.n; k++) {
			if (i & 2 ? k >= nested.begin[1] && k < nested.begin[2] : k == 1)
				lost++;
			else
				run_piece(pipe, 0, &nested.pieces[k], false);
		}
		assert_int_equal(pipe->n_sent, 0);
		assert_int_equal(pipeline_held(pipe->dp.lcores[0]), nested.n - lost);
		pipe_advance(pipe, 31);
		pipe_turns(pipe);
		sent = pipe->n_sent;
		assert_int_equal(pipeline_held(pipe->dp.lcores[0]), 0);
		assert_int_equal(sent, i & 4 ? 0 : nested.n - lost);
		assert_int_equal(pipe_stats(pipe).dropped_pkts[DROP_FRAGMENT_TIMEOUT],
			i & 4 ? nested.n - lost : 0);
		pipe_free(pipe);
	}
}

static void what_is_held_is_given_back_at_the_end(void **state)
{
	static struct nest nested;
	struct pipe *pipe = blocking(1);
	struct pipe_packet packet = udp(false, clean);
	(void)state;

	nest(&nested, &packet, false);
	run_pieces(pipe, nested.pieces, nested.n - 1, NULL, false);
	assert_int_equal(pipeline_held(pipe->dp.lcores[0]), nested.n - 1);
	pipeline_drain(pipe->dp.lcores[0], pipe->now_ns);
	assert_int_equal(pipeline_held(pipe->dp.lcores[0]), 0);
	assert_int_equal(pipe_stats(pipe).dropped_pkts[DROP_SHUTDOWN], nested.n - 1);
	pipe_free(pipe);
}

// The second packet of the tunnel again, as it was or with another octet.
static void two_of_one_place(void **state)
{
	static struct nest nested;
	(void)state;

	for (unsigned differs = 0; differs < 2; differs++) {
		struct pipe *pipe = blocking(1);
		struct pipe_packet packet = udp(false, clean);
		struct piece inner[MOST], again[EACH];
		uint8_t frame[2048];
		unsigned n, first;

		nest(&nested, &packet, false);
		first = nested.begin[2];
		cut_packet(&packet, 7, INNER, inner);
		inner[1].frame[inner[1].length - 1] ^= (uint8_t)differs;
		n = cut_frame(frame, wrap(&inner[1], false, frame), 200, OUTER, again);
		assert_int_equal(run_pieces(pipe, nested.pieces, first, NULL, false), 0);
		assert_int_equal(run_pieces(pipe, again, n, NULL, false), 0);
		struct stats stats = pipe_stats(pipe);

		assert_int_equal(stats.dropped_pkts[DROP_FRAGMENT_DUPLICATE], differs ? 0 : n);
		assert_int_equal(
			stats.dropped_pkts[DROP_FRAGMENT_OVERLAP], differs ? first + n : 0);
		assert_int_equal(stats.fragment_duplicates, differs ? 0 : n);
		assert_int_equal(
			run_pieces(pipe, nested.pieces + first, nested.n - first, NULL, false),
			differs ? 0 : nested.n);
		stats = pipe_stats(pipe);
		assert_int_equal(stats.dropped_pkts[DROP_FRAGMENT_OVERLAP],
			differs ? nested.n + n : 0); // the rest is refused
		pipe_free(pipe);
	}
}

// Of an inner datagram no more packets are held than of any.
static void the_limit_counts_all_packets(void **state)
{
	static const uint8_t payload[40 * 8];
	static struct piece inner[MOST], pieces[MOST];
	struct pipe *pipe = blocking(1);
	struct pipe_packet packet = {
		.proto = IPPROTO_UDP, .payload = payload, .payload_length = sizeof(payload)};
	unsigned n_inner = cut_packet(&packet, 7, 8, inner), n = 0;
	(void)state;

	assert_int_equal(n_inner, 41); // of 20 + 8 bytes in 4 packets each
	for (unsigned i = 0; i < n_inner && !pipe_stats(pipe).datagrams_limit; i++) {
		uint8_t frame[2048];
		uint32_t length = wrap(&inner[i], false, frame);
		unsigned more = cut_frame(frame, length, 100 + i, 8, pieces);

		assert_int_equal(more, 4);
		assert_int_equal(run_pieces(pipe, pieces, more, NULL, false), 0);
		n += more;
	}
	assert_int_equal(n, 132);
	assert_int_equal(pipe_stats(pipe).dropped_pkts[DROP_FRAGMENT_LIMIT], n);
	assert_int_equal(pipeline_held(pipe->dp.lcores[0]), 0);
	pipe_free(pipe);
}

// A tunnel in a tunnel, all three of them in fragments: not followed.
static void one_level_is_followed(void **state)
{
	static struct nest nested;
	static struct piece pieces[MOST];
	(void)state;

	for (unsigned refuse = 0; refuse < 2; refuse++) {
		struct pipe *pipe = blocking(1);
		struct pipe_packet packet = udp(false, clean);
		unsigned n = 0, sent;

		pipe->policy->unsupported = refuse ? INVALID_DROP : INVALID_OBSERVE;
		nest(&nested, &packet, true);
		for (unsigned i = 0; i < nested.n; i++) {
			uint8_t frame[2048];
			uint32_t length = wrap(&nested.pieces[i], false, frame);

			n += cut_frame(frame, length, 300 + i, OUTER, pieces + n);
		}
		sent = run_pieces(pipe, pieces, n, NULL, false);
		struct stats stats = pipe_stats(pipe);

		assert_int_equal(stats.unsupported_fragments, 2);
		assert_int_equal(stats.unsupported_pkts, 2);
		assert_int_equal(stats.flows_created, 0);
		// the last one, whose middle packet is in no fragments, waits for the others
		assert_int_equal(pipeline_held(pipe->dp.lcores[0]), 2);
		assert_int_equal(sent, refuse ? 0 : n - 2);
		assert_int_equal(stats.dropped_pkts[DROP_UNSUPPORTED], refuse ? n - 2 : 0);
		pipe_free(pipe);
	}
}

// On their way they come by the lcores of the tunnel's ends, of the inner ends, and of the flow.
static void lcores_pass_them_on(void **state)
{
	static struct nest nested;
	unsigned moved = 0;
	(void)state;

	for (unsigned i = 0; i < 48; i++) {
		struct pipe *pipe = blocking(3);
		bool bad = i & 1;
		struct pipe_packet packet = udp(i & 2, bad ? dht : clean);
		struct piece inner[MOST], whole;
		unsigned sent = 0, n_inner = cut_packet(&packet, 7, INNER, inner), n;

		packet.client = 1 + i;
		packet.sport = (uint16_t)(6000 + 7 * i);
		n_inner = cut_packet(&packet, 7, INNER, inner);
		nest(&nested, &packet, i & 4);
		n = nested.begin[n_inner - 1];
		whole.length = wrap(&inner[n_inner - 1], i & 4, whole.frame);
		for (unsigned k = 0; k < n; k++)
			sent += run_piece(pipe, k % 3, &nested.pieces[k], false);
		sent += run_piece(pipe, 1, &whole, false);
		for (unsigned turn = 0; turn < 12; turn++)
			sent += pipe_turns(pipe);
		struct stats stats = pipe_stats(pipe);

		moved += stats.datagrams_handoff > 0;
		assert_int_equal(sent, bad ? 0 : n + 1);
		assert_int_equal(stats.dropped_pkts[DROP_RULE], bad ? n + 1 : 0);
		assert_int_equal(stats.fragment_pkts, n + 1);
		assert_int_equal(stats.flows_created, 1);
		pipe_free(pipe);
	}
	assert_true(moved > 24);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(honest_ones_pass),
		cmocka_unit_test(others_of_the_datagram_came_whole),
		cmocka_unit_test(what_stands_in_the_tail_is_blocked),
		cmocka_unit_test(what_is_not_whole_in_time_ends),
		cmocka_unit_test(what_is_held_is_given_back_at_the_end),
		cmocka_unit_test(two_of_one_place),
		cmocka_unit_test(the_limit_counts_all_packets),
		cmocka_unit_test(one_level_is_followed),
		cmocka_unit_test(lcores_pass_them_on),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
