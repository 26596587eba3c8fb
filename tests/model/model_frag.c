// SPDX-License-Identifier: BSD-3-Clause
// Random fragments of a few datagrams against a reference: what is whole when, a duplicate, given
// up or refused. 200,000 fragments, SLUICE_LONG=1 a hundred times as many, SLUICE_SEED=N others.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>
#include "reassembly/frag.h"
#include "lib/packet/packet.h"
#include "pipeline/vocab/tick.h"

#define TIMEOUT (30 * NS_PER_S)

struct given {
	uint32_t id, offset, length;
	bool more, other, v6;
	unsigned segments;
};

static void sink(void *ctx, enum frag_end why, struct rte_mbuf **mbufs, unsigned n)
{
	(void)ctx;
	(void)why;
	rte_pktmbuf_free_bulk(mbufs, n);
}

// The reference: all fragments of a key since it was last empty, without any cleverness.
#define KEYS 6
#define MOST 12

struct model {
	struct given held[KEYS][MOST + 1];
	unsigned n[KEYS];
	uint64_t since[KEYS];
	uint32_t gone[KEYS]; // 1 + enum frag_end
};

static bool overlaps(const struct given *a, const struct given *b)
{
	return a->offset < b->offset + b->length && b->offset < a->offset + a->length;
}

static enum frag_verdict expected(struct model *m, const struct given *g, uint64_t now_ns)
{
	struct given *held = m->held[g->id];
	unsigned n = m->n[g->id], bytes = g->length;
	uint32_t end = g->offset + g->length, known = 0, furthest = 0, why = 0;

	if ((n || m->gone[g->id]) && now_ns - m->since[g->id] >= TIMEOUT)
		n = m->n[g->id] = m->gone[g->id] = 0;
	if (m->gone[g->id])
		return FRAG_REFUSED;
	if (!n)
		m->since[g->id] = now_ns;
	for (unsigned i = 0; i < n; i++) {
		bytes += held[i].length;
		if (!held[i].more)
			known = held[i].offset + held[i].length;
		if (held[i].offset + held[i].length > furthest)
			furthest = held[i].offset + held[i].length;
	}
	if (!g->length || end > 65535 || (g->more && g->length % 8) || (known && end > known) ||
		(!g->more && ((known && end != known) || furthest > end)))
		why = 1 + FRAG_END_INVALID;
	for (unsigned i = 0; i < n && !why; i++) {
		if (!overlaps(&held[i], g))
			continue;
		if (held[i].offset == g->offset && held[i].length == g->length &&
			held[i].more == g->more && held[i].other == g->other)
			return FRAG_DUPLICATE;
		why = 1 + FRAG_END_OVERLAP;
	}
	if (!why && n == MOST)
		why = 1 + FRAG_END_LIMIT;
	if (why) {
		m->gone[g->id] = why;
		m->n[g->id] = 0;
		return FRAG_GIVEN_UP;
	}
	held[m->n[g->id]++] = *g;
	if (!g->more)
		known = end;
	if (!known || bytes != known)
		return FRAG_HELD;
	m->n[g->id] = 0;
	return FRAG_WHOLE;
}

static uint64_t random_state;

static uint32_t below(uint32_t limit)
{
	random_state ^= random_state >> 12;
	random_state ^= random_state << 25;
	random_state ^= random_state >> 27;
	return (uint32_t)(random_state * 0x2545f4914f6cdd1d >> 33) % limit;
}

// Mostly pieces of datagrams of 8 to 64 bytes, so that many come together, and many do not.
static struct given random_piece(void)
{
	struct given g = {.id = below(KEYS), .segments = 1 + below(3)};
	uint32_t total = 8 * (1 + (g.id * 5 + 2) % 8) + g.id % 3;

	g.v6 = g.id & 1;
	g.other = below(200) == 0;
	g.offset = 8 * below(total / 8 + 1);
	g.length = total > g.offset ? total - g.offset : 8;
	g.more = g.length > 8 && below(3);
	if (g.more)
		g.length = RTE_MIN(8 * (1 + below(2)), g.length / 8 * 8);
	if (below(100) == 0)
		g.length = below(40);
	if (below(100) == 0)
		g.more = !g.more;
	if (below(100) == 0)
		g.offset = 65528 - 8 * below(4);
	return g;
}

// What the table leaves to the caller is freed here.
static enum frag_verdict give(
	struct frag_table *table, const struct given *g, uint64_t now_ns, enum frag_end *why)
{
	const struct frag_key key = {.id = g->id, .v6 = g->v6};
	uint8_t bytes[128];

	for (uint32_t i = 0; i < g->length; i++)
		bytes[i] = (uint8_t)(g->offset + i + g->other);
	const struct frag_piece piece = {
		.m = packet_mbuf(packet_pool(), bytes, g->length, LINK_ETHERNET, g->segments),
		.offset = g->offset,
		.length = g->length,
		.have = g->length,
		.more = g->more,
	};
	enum frag_verdict verdict = frag_add(table, &key, &piece, now_ns, why);

	if (verdict == FRAG_DUPLICATE || verdict == FRAG_REFUSED)
		rte_pktmbuf_free(piece.m);
	return verdict;
}

static void random_fragments_against_a_reference(void **state)
{
	uint64_t seed = getenv("SLUICE_SEED") ? strtoull(getenv("SLUICE_SEED"), NULL, 0) : 1;
	unsigned rounds = getenv("SLUICE_LONG") ? 20000000 : 200000;
	// room for all: the limits have tests of their own
	const struct frag_limits limits = {.datagrams = KEYS,
		.packets = 3 * KEYS * MOST,
		.per_datagram = MOST,
		.timeout_ns = TIMEOUT};
	struct hash_seed keyed = HASH_SEED_FIXED;
	struct frag_table *table;
	unsigned seen[FRAG_REFUSED + 1] = {0};
	uint64_t now_ns = 1000 * NS_PER_S;
	struct model model = {0};
	(void)state;

	packet_pool(); // starts EAL
	keyed.words[0] ^= seed;
	table = frag_table_new(&limits, &keyed, sink, NULL, SOCKET_ID_ANY);
	random_state = seed * 0x9e3779b97f4a7c15 | 1;
	for (unsigned i = 0; i < rounds; i++) {
		struct given g = random_piece();
		enum frag_end why = FRAG_END_MAX;

		now_ns += NS_PER_MS * below(3000);
		if (below(8) == 0) // or nobody looks after it for long
			frag_age(table, now_ns, 2);
		enum frag_verdict want = expected(&model, &g, now_ns);
		enum frag_verdict is = give(table, &g, now_ns, &why);

		if (is != want)
			fail_msg("seed %llu, fragment %u: id %u, %u+%u%s: %u, not %u",
				(unsigned long long)seed, i, g.id, g.offset, g.length,
				g.more ? "" : " last", is, want);
		if (is == FRAG_REFUSED)
			assert_int_equal(why, model.gone[g.id] - 1);
		seen[is]++;
		if (is != FRAG_WHOLE)
			continue;
		const struct frag_whole *whole = frag_whole(table);
		uint32_t at = 0;

		for (unsigned k = 0; k < whole->n; k++) {
			const struct frag_piece *piece = &whole->pieces[k];
			uint8_t buffer[128];
			const uint8_t *p = rte_pktmbuf_read(piece->m, 0, piece->length, buffer);

			assert_int_equal(piece->offset, at);
			for (uint32_t b = 0; b < piece->length; b++) // the first that came
				assert_int_equal((uint8_t)(p[b] - p[0]), (uint8_t)b);
			at += piece->length;
		}
		assert_int_equal(at, whole->length);
		rte_pktmbuf_free_bulk(whole->arrived, whole->n);
	}
	for (unsigned i = 0; i < RTE_DIM(seen); i++)
		assert_true(seen[i] > rounds / 1000); // each was met
	printf("seed %llu: %u held, %u whole, %u duplicates, %u given up, %u refused\n",
		(unsigned long long)seed, seen[0], seen[1], seen[2], seen[3], seen[4]);
	frag_drain(table);
	assert_int_equal(frag_held(table) + frag_datagrams(table), 0);
	frag_table_free(table);
	assert_int_equal(rte_mempool_in_use_count(packet_pool()), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_fragments_against_a_reference),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
