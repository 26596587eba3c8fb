// SPDX-License-Identifier: BSD-3-Clause
// The table of fragments on hostile sequences: no report of a sanitizer, never more than its
// limits, pieces of a whole datagram lie side by side, and every packet comes back once. The input
// is records of 8 octets: datagram and flags, offset and length in the datagram (two each), mbufs,
// seconds that pass, fill.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "lib/packet/packet.h"
#include "reassembly/frag.h"
#include "pipeline/vocab/tick.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

enum { MORE = 0x80, V6 = 0x40, OUTSIDE = 0x20, ID = 0x0f };

static const struct frag_limits limits = {
	.datagrams = 5, .packets = 24, .per_datagram = 9, .timeout_ns = 30 * NS_PER_S};
static unsigned back; // packets that the sink got

static void check(bool holds, const char *what)
{
	if (holds)
		return;
	fprintf(stderr, "fuzz_frag: %s\n", what);
	abort();
}

static void sink(void *ctx, enum frag_end why, struct rte_mbuf **mbufs, unsigned n)
{
	(void)ctx;
	check(why < FRAG_END_MAX, "an end without a reason");
	check(n > 0 && n <= limits.per_datagram + 1, "more packets than a datagram may have");
	back += n;
	rte_pktmbuf_free_bulk(mbufs, n);
}

static unsigned check_whole(const struct frag_whole *whole)
{
	uint32_t at = 0;
	uint8_t buffer[512];

	check(whole->n > 0 && whole->n <= limits.per_datagram, "a datagram of too many packets");
	for (unsigned i = 0; i < whole->n; i++) {
		const struct frag_piece *piece = &whole->pieces[i];

		check(piece->offset == at, "a hole or an overlap in a whole datagram");
		check(piece->more == (i + 1 < whole->n), "the last fragment is not the last");
		check(piece->have == 0 ||
				rte_pktmbuf_read(piece->m, piece->at, piece->have, buffer),
			"a piece beyond its packet");
		at += piece->length;
	}
	check(at == whole->length && at <= FRAG_DATAGRAM_MAX, "a wrong length");
	rte_pktmbuf_free_bulk(whole->arrived, whole->n);
	return whole->n;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	struct rte_mempool *pool = packet_pool();
	struct frag_table *table =
		frag_table_new(&limits, &HASH_SEED_FIXED, sink, NULL, SOCKET_ID_ANY);
	uint64_t now_ns = 1000 * NS_PER_S;
	unsigned in = 0, out = 0;

	check(table != NULL, "no memory");
	back = 0;
	for (size_t at = 0; at + 8 <= len; at += 8) {
		const uint8_t *r = bytes + at;
		const struct frag_key key = {
			.id = r[0] & ID, .v6 = !!(r[0] & V6), .from_inside = !(r[0] & OUTSIDE)};
		uint8_t frame[256];
		uint32_t length = (uint32_t)(r[3] << 8 | r[4]);
		struct frag_piece piece = {
			.offset = (uint32_t)(r[1] << 8 | r[2]) & 0xfff8u,
			.length = length,
			.have = RTE_MIN(length, 200u), // a capture may be cut
			.at = r[5] >> 4,
			.more = r[0] & MORE,
		};
		enum frag_end why = FRAG_END_MAX;

		memset(frame, r[7], sizeof(frame));
		piece.m = packet_mbuf(
			pool, frame, piece.at + piece.have, LINK_ETHERNET, 1 + (r[5] & 3));
		now_ns += r[6] / 8 * NS_PER_S;
		in++;
		switch (frag_add(table, &key, &piece, now_ns, &why)) {
		case FRAG_WHOLE: out += check_whole(frag_whole(table)); break;
		case FRAG_REFUSED:
			check(why < FRAG_END_MAX, "refused without a reason"); // fall through
		case FRAG_DUPLICATE:
			rte_pktmbuf_free(piece.m);
			out++;
			break;
		case FRAG_HELD:
		case FRAG_GIVEN_UP: break;
		}
		if (r[6] & 1)
			frag_age(table, now_ns, 2);
		check(frag_held(table) <= limits.packets, "more mbufs than allowed");
		check(frag_datagrams(table) <= limits.datagrams, "more datagrams than allowed");
		check(frag_packets(table) == in - out - back, "a packet was lost or came twice");
		check(frag_held(table) == rte_mempool_in_use_count(pool), "an mbuf was lost");
	}
	frag_drain(table);
	check(in == out + back && !frag_held(table) && !frag_datagrams(table), "not all came back");
	frag_table_free(table);
	check(rte_mempool_in_use_count(pool) == 0, "an mbuf was lost");
	return 0;
}
