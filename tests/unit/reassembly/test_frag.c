// SPDX-License-Identifier: BSD-3-Clause
// The table of fragments: what is whole, what is given up and why, what is forgotten when, and that
// memory and packets are as many as before. (Random fragments against a reference: model_frag.c.)
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "reassembly/frag.h"
#include "lib/packet/packet.h"
#include "pipeline/vocab/tick.h"

#define HEADER  14 // bytes of a frame before its piece
#define TIMEOUT (30 * NS_PER_S)

struct fixture {
	struct frag_table *table;
	struct rte_mempool *pool;
	uint64_t now_ns;
	unsigned ended[FRAG_END_MAX];   // packets that the sink got
	unsigned endings[FRAG_END_MAX]; // and in how many calls
	uint32_t last_ended[64];        // serial numbers of the last call
	unsigned n_last;
};

static uint32_t serial; // of packets, in the private area

static void sink(void *ctx, enum frag_end why, struct rte_mbuf **mbufs, unsigned n)
{
	struct fixture *f = ctx;

	f->ended[why] += n;
	f->endings[why]++;
	f->n_last = 0;
	for (unsigned i = 0; i < n; i++) {
		if (f->n_last < RTE_DIM(f->last_ended))
			f->last_ended[f->n_last++] = pkt_of(mbufs[i])->flow_gen;
		rte_pktmbuf_free(mbufs[i]);
	}
}

static const struct frag_limits ordinary = {
	.datagrams = 8, .packets = 32, .per_datagram = 12, .timeout_ns = TIMEOUT};

static void begin_with(struct fixture *f, const struct frag_limits *limits)
{
	*f = (struct fixture){.pool = packet_pool(), .now_ns = 1000 * NS_PER_S};
	f->table = frag_table_new(limits, &HASH_SEED_FIXED, sink, f, SOCKET_ID_ANY);
	assert_non_null(f->table);
}

static void begin(struct fixture *f)
{
	begin_with(f, &ordinary);
}

static void finish(struct fixture *f)
{
	frag_drain(f->table);
	assert_int_equal(frag_held(f->table), 0);
	assert_int_equal(frag_packets(f->table), 0);
	assert_int_equal(frag_datagrams(f->table), 0);
	frag_table_free(f->table);
	assert_int_equal(rte_mempool_in_use_count(f->pool), 0);
}

static struct frag_key key_of(uint32_t id, bool v6)
{
	struct frag_key key = {.id = id, .v6 = v6, .proto = v6 ? 0 : 17};

	key.source[0] = 10;
	key.destination[0] = 11;
	return key;
}

// Bytes of the datagram: what is at an offset, unless `other`.
static uint8_t byte_at(uint32_t offset, bool other)
{
	return (uint8_t)(offset * 7 + offset / 251 + other);
}

static struct frag_piece piece_of(
	uint32_t offset, uint32_t length, bool more, bool other, unsigned segments)
{
	static uint8_t frame[HEADER + 4096];

	for (uint32_t i = 0; i < length; i++)
		frame[HEADER + i] = byte_at(offset + i, other);
	struct rte_mbuf *m =
		packet_mbuf(packet_pool(), frame, HEADER + length, LINK_ETHERNET, segments);

	pkt_of(m)->flow_gen = ++serial;
	return (struct frag_piece){.m = m,
		.offset = offset,
		.length = length,
		.have = length,
		.at = HEADER,
		.more = more};
}

struct given {
	uint32_t id, offset, length;
	bool more, other, v6;
	unsigned segments; // 0: 1
};

static enum frag_end last_why;

// What the table leaves to the caller is freed here.
static enum frag_verdict give(struct fixture *f, const struct given *g)
{
	struct frag_key key = key_of(g->id, g->v6);
	struct frag_piece piece =
		piece_of(g->offset, g->length, g->more, g->other, g->segments ? g->segments : 1);
	enum frag_verdict verdict = frag_add(f->table, &key, &piece, f->now_ns, &last_why);

	if (verdict == FRAG_DUPLICATE || verdict == FRAG_REFUSED)
		rte_pktmbuf_free(piece.m);
	return verdict;
}
#define GIVE(...) give(&f, &(struct given){__VA_ARGS__})

// The datagram that is whole has these bytes, and its packets are in both orders; frees it.
static void check_whole(struct fixture *f, uint32_t length, unsigned n)
{
	const struct frag_whole *whole = frag_whole(f->table);
	uint32_t at = 0, before = 0;

	assert_int_equal(whole->length, length);
	assert_int_equal(whole->n, n);
	for (unsigned i = 0; i < n; i++) {
		const struct frag_piece *piece = &whole->pieces[i];
		uint8_t bytes[4096];
		const uint8_t *p = rte_pktmbuf_read(piece->m, piece->at, piece->length, bytes);

		assert_int_equal(piece->offset, at);
		assert_non_null(p);
		for (uint32_t k = 0; k < piece->length; k++)
			assert_int_equal(p[k], byte_at(at + k, false));
		at += piece->length;
	}
	assert_int_equal(at, length);
	for (unsigned i = 0; i < n; i++) {
		assert_true(pkt_of(whole->arrived[i])->flow_gen > before);
		before = pkt_of(whole->arrived[i])->flow_gen;
		rte_pktmbuf_free(whole->arrived[i]);
	}
}

static void whole_in_every_order(void **state)
{
	static const struct given parts[4] = {
		{.id = 1, .offset = 0, .length = 24, .more = true},
		{.id = 1, .offset = 24, .length = 8, .more = true, .segments = 3},
		{.id = 1, .offset = 32, .length = 1000, .more = true, .segments = 2},
		{.id = 1, .offset = 1032, .length = 5},
	};
	struct fixture f;
	(void)state;

	begin(&f);
	for (unsigned v6 = 0; v6 < 2; v6++)
		for (unsigned order = 0; order < 256; order++) {
			unsigned used = 0;

			for (unsigned i = 0; i < 4; i++)
				used |= 1u << (order >> 2 * i & 3);
			if (used != 15)
				continue;
			for (unsigned i = 0; i < 4; i++) {
				struct given g = parts[order >> 2 * i & 3];

				g.v6 = v6;
				assert_int_equal(give(&f, &g), i < 3 ? FRAG_HELD : FRAG_WHOLE);
			}
			check_whole(&f, 1037, 4);
			assert_int_equal(frag_datagrams(f.table), 0); // forgotten at once
		}
	finish(&f);
}

static void one_that_is_first_and_last_is_whole(void **state)
{
	struct fixture f;
	(void)state;

	begin(&f); // parse leaves none such, but the table holds without it
	assert_int_equal(GIVE(.id = 1, .length = 30), FRAG_WHOLE);
	check_whole(&f, 30, 1);
	finish(&f);
}

static void an_identification_comes_again_at_once(void **state)
{
	struct fixture f;
	(void)state;

	begin(&f);
	for (unsigned i = 0; i < 100; i++) { // CVE-2024-37151
		uint32_t length = 8 + 8 * (i % 3);

		assert_int_equal(GIVE(.id = 5, .length = length, .more = true), FRAG_HELD);
		assert_int_equal(GIVE(.id = 5, .offset = length, .length = 3), FRAG_WHOLE);
		check_whole(&f, length + 3, 2);
	}
	finish(&f);
}

static void keys_differ_in_every_member(void **state)
{
	struct frag_key base = key_of(1, false), keys[10];
	enum frag_end why;
	struct fixture f;
	struct frag_limits limits = ordinary;
	(void)state;

	limits.datagrams = 16;
	begin_with(&f, &limits);
	for (unsigned i = 0; i < RTE_DIM(keys); i++)
		keys[i] = base;
	keys[1].source[3] ^= 1;
	keys[2].destination[3] ^= 1;
	keys[3].id++;
	keys[4].proto = 6;
	keys[5].v6 = 1;
	keys[6].realm = 1;
	keys[7].realm = 1u << 12;
	keys[8].realm = 1u << 31;
	keys[9].from_inside = 1;
	for (unsigned i = 0; i < RTE_DIM(keys); i++) {
		struct frag_piece piece = piece_of(0, 8, true, false, 1);

		assert_int_equal(frag_add(f.table, &keys[i], &piece, f.now_ns, &why), FRAG_HELD);
	}
	assert_int_equal(frag_datagrams(f.table), RTE_DIM(keys));
	for (unsigned i = 0; i < RTE_DIM(keys); i++) {
		struct frag_piece piece = piece_of(8, 8, false, false, 1);

		assert_int_equal(frag_add(f.table, &keys[i], &piece, f.now_ns, &why), FRAG_WHOLE);
		check_whole(&f, 16, 2);
	}
	finish(&f);
}

static void exact_duplicates_are_not_taken(void **state)
{
	struct fixture f;
	(void)state;

	begin(&f);
	for (uint32_t v6 = 0; v6 < 2; v6++) {
		assert_int_equal(GIVE(.length = 16, .more = true, .v6 = v6), FRAG_HELD);
		assert_int_equal(GIVE(.length = 16, .more = true, .v6 = v6), FRAG_DUPLICATE);
		assert_int_equal(
			GIVE(.length = 16, .more = true, .v6 = v6, .segments = 5), FRAG_DUPLICATE);
		assert_int_equal(GIVE(.offset = 24, .length = 4, .v6 = v6), FRAG_HELD);
		assert_int_equal(GIVE(.offset = 24, .length = 4, .v6 = v6), FRAG_DUPLICATE);
		assert_int_equal(frag_packets(f.table), 2);
		assert_int_equal(
			GIVE(.offset = 16, .length = 8, .more = true, .v6 = v6), FRAG_WHOLE);
		check_whole(&f, 28, 3);
	}
	finish(&f);
}

// Held: 16..32 of a datagram whose end is or is not known; then what overlaps it.
static void any_other_overlap_gives_the_datagram_up(void **state)
{
	static const struct given overlaps[] = {
		{.offset = 16,
			.length = 16,
			.more = true,
			.other = true},                    // same place, other bytes
		{.offset = 16, .length = 8, .more = true}, // a part, same bytes
		{.offset = 24, .length = 8, .more = true},
		{.offset = 8, .length = 16, .more = true},  // its beginning
		{.offset = 24, .length = 16, .more = true}, // its end
		{.offset = 8, .length = 32, .more = true},  // around it
		{.offset = 0, .length = 40, .more = true},
		{.offset = 16, .length = 24, .more = true},
		{.offset = 0, .length = 24, .more = true, .segments = 2},
	};
	struct fixture f;
	(void)state;

	begin(&f);
	for (unsigned i = 0; i < RTE_DIM(overlaps); i++)
		for (unsigned way = 0; way < 4; way++) {
			struct given g = overlaps[i];
			unsigned before = f.ended[FRAG_END_OVERLAP], held = way & 1 ? 2 : 1;

			g.v6 = way & 2;
			if (way & 1)
				assert_int_equal(
					GIVE(.offset = 64, .length = 8, .v6 = g.v6), FRAG_HELD);
			assert_int_equal(GIVE(.offset = 16, .length = 16, .more = true, .v6 = g.v6),
				FRAG_HELD);
			assert_int_equal(give(&f, &g), FRAG_GIVEN_UP);
			assert_int_equal(f.ended[FRAG_END_OVERLAP] - before, held + 1);
			assert_int_equal(f.last_ended[held], serial); // the guilty one last
			// what comes later is known, whatever it is
			assert_int_equal(GIVE(.offset = 32, .length = 8, .more = true, .v6 = g.v6),
				FRAG_REFUSED);
			assert_int_equal(last_why, FRAG_END_OVERLAP);
			assert_int_equal(
				GIVE(.length = 16, .more = true, .v6 = g.v6), FRAG_REFUSED);
			assert_int_equal(frag_packets(f.table), 0);
			f.now_ns += TIMEOUT; // then it is over
			frag_age(f.table, f.now_ns, 8);
			assert_int_equal(frag_datagrams(f.table), 0);
		}
	assert_int_equal(f.endings[FRAG_END_TIMEOUT], 0); // nothing was left to tell of
	finish(&f);
}

static void the_last_fragment_may_overlap_neither(void **state)
{
	struct fixture f;
	(void)state;

	begin(&f);
	GIVE(.id = 1, .offset = 8, .length = 8, .more = true);
	assert_int_equal(GIVE(.id = 1, .offset = 8, .length = 12), FRAG_GIVEN_UP);
	assert_int_equal(f.ended[FRAG_END_OVERLAP], 2);
	GIVE(.id = 2, .offset = 8, .length = 8); // the same place, but one of them is no last
	assert_int_equal(GIVE(.id = 2, .offset = 8, .length = 8, .more = true), FRAG_GIVEN_UP);
	assert_int_equal(f.ended[FRAG_END_OVERLAP], 4);
	finish(&f);
}

static void lengths_that_contradict_give_the_datagram_up(void **state)
{
	static const struct {
		struct given before, then;
	} cases[] = {
		{{.offset = 8, .length = 8, .more = true}, {.length = 0, .more = true}},
		{{.offset = 8, .length = 8, .more = true}, {.offset = 16, .length = 0}},
		{{.offset = 8, .length = 8, .more = true}, {.length = 7, .more = true}},
		{{.offset = 8, .length = 8, .more = true}, {.length = 1, .more = true}},
		{{.offset = 8, .length = 8, .more = true}, {.offset = 65528, .length = 8}},
		{{.offset = 8, .length = 8, .more = true},
			{.offset = 65528, .length = 16, .more = true}},
		// two ends, in both orders
		{{.offset = 16, .length = 8}, {.offset = 24, .length = 8}},
		{{.offset = 24, .length = 8}, {.offset = 8, .length = 8}},
		{{.offset = 16, .length = 8}, {.offset = 8, .length = 9}},
		// behind the end
		{{.offset = 16, .length = 8}, {.offset = 24, .length = 8, .more = true}},
		{{.offset = 16, .length = 8}, {.offset = 8000, .length = 8, .more = true}},
		{{.offset = 16, .length = 8, .more = true}, {.length = 9}},
		{{.offset = 160, .length = 8, .more = true}, {.offset = 16, .length = 9}},
	};
	struct fixture f;
	(void)state;

	begin(&f);
	for (unsigned i = 0; i < RTE_DIM(cases); i++)
		for (unsigned v6 = 0; v6 < 2; v6++) {
			struct given before = cases[i].before, then = cases[i].then;

			before.v6 = then.v6 = v6;
			before.id = then.id = i;
			assert_int_equal(give(&f, &before), FRAG_HELD);
			assert_int_equal(give(&f, &then), FRAG_GIVEN_UP);
			assert_int_equal(f.ended[FRAG_END_INVALID], 4 * i + 2 * v6 + 2);
			assert_int_equal(give(&f, &before), FRAG_REFUSED);
			assert_int_equal(last_why, FRAG_END_INVALID);
		}
	finish(&f);
}

static void the_longest_datagram_is_taken(void **state)
{
	struct fixture f;
	struct frag_limits limits = ordinary;
	(void)state;

	limits.per_datagram = 64;
	limits.packets = 64;
	begin_with(&f, &limits);
	for (uint32_t at = 0; at < 61440; at += 2048)
		assert_int_equal(GIVE(.offset = at, .length = 2048, .more = true), FRAG_HELD);
	assert_int_equal(GIVE(.offset = 61440, .length = 4088, .more = true), FRAG_HELD);
	assert_int_equal(GIVE(.offset = 65528, .length = 7), FRAG_WHOLE);
	check_whole(&f, 65535, 32);
	finish(&f);
}

static void time_is_over_for_the_oldest_only(void **state)
{
	struct fixture f;
	(void)state;

	begin(&f);
	GIVE(.id = 1, .length = 8, .more = true);
	f.now_ns += NS_PER_S;
	GIVE(.id = 1, .offset = 8, .length = 8, .more = true); // does not prolong it
	GIVE(.id = 2, .length = 8, .more = true);
	f.now_ns += TIMEOUT - NS_PER_S - 1;
	assert_int_equal(frag_age(f.table, f.now_ns, 8), 0);
	f.now_ns++;
	assert_int_equal(frag_age(f.table, f.now_ns, 8), 1);
	assert_int_equal(f.ended[FRAG_END_TIMEOUT], 2);
	assert_true(f.last_ended[0] < f.last_ended[1]);
	assert_int_equal(frag_datagrams(f.table), 1);
	f.now_ns += NS_PER_S;
	// nobody looked, and its other half comes: too late
	assert_int_equal(GIVE(.id = 2, .offset = 8, .length = 8), FRAG_HELD);
	assert_int_equal(f.ended[FRAG_END_TIMEOUT], 3);
	assert_int_equal(GIVE(.id = 2, .length = 8, .more = true), FRAG_WHOLE);
	check_whole(&f, 16, 2);
	// the budget
	for (uint32_t id = 10; id < 16; id++)
		GIVE(.id = id, .length = 8, .more = true);
	f.now_ns += TIMEOUT;
	assert_int_equal(frag_age(f.table, f.now_ns, 4), 4);
	assert_int_equal(frag_age(f.table, f.now_ns, 4), 2);
	finish(&f);
}

static void more_fragments_than_allowed_give_the_datagram_up(void **state)
{
	struct fixture f;
	(void)state;

	begin(&f);
	for (uint32_t i = 0; i < 12; i++)
		assert_int_equal(GIVE(.offset = 8 * i, .length = 8, .more = true), FRAG_HELD);
	assert_int_equal(GIVE(.offset = 96, .length = 8), FRAG_GIVEN_UP);
	assert_int_equal(f.ended[FRAG_END_LIMIT], 13);
	assert_int_equal(GIVE(.offset = 104, .length = 8), FRAG_REFUSED);
	assert_int_equal(last_why, FRAG_END_LIMIT);
	finish(&f);
}

static void the_oldest_makes_room(void **state)
{
	struct fixture f;
	(void)state;

	begin(&f);
	for (uint32_t id = 0; id < 8; id++)
		GIVE(.id = id, .length = 8, .more = true);
	assert_int_equal(GIVE(.id = 8, .length = 8, .more = true), FRAG_HELD); // 0 goes
	assert_int_equal(f.ended[FRAG_END_LIMIT], 1);
	assert_int_equal(frag_datagrams(f.table), 8);
	assert_int_equal(GIVE(.id = 1, .offset = 8, .length = 8), FRAG_WHOLE); // 1 is still here
	check_whole(&f, 16, 2);
	assert_int_equal(GIVE(.id = 0, .offset = 8, .length = 8), FRAG_HELD); // a new one
	finish(&f);
}

static void packets_are_limited_by_mbufs(void **state)
{
	struct fixture f;
	(void)state;

	begin(&f);
	for (uint32_t id = 0; id < 4; id++)
		assert_int_equal(
			GIVE(.id = id, .length = 800, .more = true, .segments = 8), FRAG_HELD);
	assert_int_equal(frag_held(f.table), 32);
	assert_int_equal(GIVE(.id = 9, .length = 8, .more = true), FRAG_HELD);
	assert_int_equal(f.ended[FRAG_END_LIMIT], 1); // one of eight
	assert_int_equal(frag_held(f.table), 25);
	// the oldest itself wants more than there is: it goes, and nobody for it
	assert_int_equal(GIVE(.id = 1, .offset = 800, .length = 800, .more = true, .segments = 8),
		FRAG_GIVEN_UP);
	assert_int_equal(f.ended[FRAG_END_LIMIT], 3);
	assert_int_equal(frag_held(f.table), 17);
	finish(&f);
}

static void what_was_given_up_makes_room_too(void **state)
{
	struct fixture f;
	(void)state;

	begin(&f);
	for (uint32_t id = 0; id < 100; id++) { // tombstones alone fill the table
		GIVE(.id = id, .length = 8, .more = true);
		assert_int_equal(GIVE(.id = id, .length = 16, .more = true), FRAG_GIVEN_UP);
	}
	assert_int_equal(frag_datagrams(f.table), 8);
	assert_int_equal(GIVE(.id = 200, .length = 8, .more = true), FRAG_HELD);
	assert_int_equal(GIVE(.id = 200, .offset = 8, .length = 8), FRAG_WHOLE);
	check_whole(&f, 16, 2);
	assert_int_equal(f.ended[FRAG_END_LIMIT], 0);
	finish(&f);
}

static void a_cut_capture_is_compared_as_far_as_it_goes(void **state)
{
	struct frag_key key = key_of(1, false);
	struct fixture f;
	enum frag_end why;
	(void)state;

	begin(&f);
	struct frag_piece piece = piece_of(0, 64, true, false, 1), again = piece;

	piece.length = 1480;
	again.m = piece_of(0, 32, true, false, 1).m;
	again.length = 1480;
	again.have = 32;
	assert_int_equal(frag_add(f.table, &key, &piece, f.now_ns, &why), FRAG_HELD);
	assert_int_equal(frag_add(f.table, &key, &again, f.now_ns, &why), FRAG_DUPLICATE);
	rte_pktmbuf_free(again.m);
	// segments that hold less than they promise are never read beyond
	again = piece_of(0, 32, true, false, 1);
	again.length = 1480;
	again.have = 64;
	assert_int_equal(frag_add(f.table, &key, &again, f.now_ns, &why), FRAG_GIVEN_UP);
	finish(&f);
}

// A fragment whose packet stands for three, of five mbufs.
static void what_stands_for_several_counts_as_many(void **state)
{
	struct frag_limits limits = ordinary;
	struct frag_key key = key_of(1, false);
	enum frag_end why;
	struct fixture f;
	(void)state;

	limits.per_datagram = 7;
	begin_with(&f, &limits);
	for (unsigned i = 0; i < 3; i++) { // two of them are 6 packets
		struct frag_piece piece = piece_of(8 * i, 8, true, false, 1);

		piece.more_packets = 2;
		piece.more_mbufs = 5;
		assert_int_equal(frag_add(f.table, &key, &piece, f.now_ns, &why),
			i < 2 ? FRAG_HELD : FRAG_GIVEN_UP);
		assert_int_equal(frag_packets(f.table), i < 2 ? 3 * (i + 1) : 0);
		assert_int_equal(frag_held(f.table), i < 2 ? 6 * (i + 1) : 0);
	}
	assert_int_equal(f.ended[FRAG_END_LIMIT], 3);
	finish(&f);
	// 6 mbufs each: with the sixth of 32 the oldest goes
	begin(&f);
	for (uint32_t i = 0; i < 6; i++) {
		struct frag_piece piece = piece_of(0, 8, true, false, 1);

		key = key_of(10 + i, false);
		piece.more_mbufs = 5;
		assert_int_equal(frag_add(f.table, &key, &piece, f.now_ns + i, &why), FRAG_HELD);
		assert_int_equal(frag_held(f.table), i < 5 ? 6 * (i + 1) : 30);
	}
	assert_int_equal(f.ended[FRAG_END_LIMIT], 1);
	finish(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whole_in_every_order),
		cmocka_unit_test(one_that_is_first_and_last_is_whole),
		cmocka_unit_test(an_identification_comes_again_at_once),
		cmocka_unit_test(keys_differ_in_every_member),
		cmocka_unit_test(exact_duplicates_are_not_taken),
		cmocka_unit_test(any_other_overlap_gives_the_datagram_up),
		cmocka_unit_test(the_last_fragment_may_overlap_neither),
		cmocka_unit_test(lengths_that_contradict_give_the_datagram_up),
		cmocka_unit_test(the_longest_datagram_is_taken),
		cmocka_unit_test(time_is_over_for_the_oldest_only),
		cmocka_unit_test(more_fragments_than_allowed_give_the_datagram_up),
		cmocka_unit_test(the_oldest_makes_room),
		cmocka_unit_test(packets_are_limited_by_mbufs),
		cmocka_unit_test(what_stands_for_several_counts_as_many),
		cmocka_unit_test(what_was_given_up_makes_room_too),
		cmocka_unit_test(a_cut_capture_is_compared_as_far_as_it_goes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
