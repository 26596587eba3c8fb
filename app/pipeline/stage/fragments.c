// SPDX-License-Identifier: BSD-3-Clause
// Holds fragments until their datagram is complete, then runs it through the stages.
#include "pipeline/stage/fragments.h"

#include <netinet/in.h>
#include <string.h>
#include <rte_malloc.h>
#include "pipeline/wire/checksum.h"
#include "pipeline/vocab/fault.h"
#include "pipeline/event/flow_event.h"
#include "pipeline/stage/fragments_bundle.h"
#include "pipeline/stage/packet_invalid.h"
#include "pipeline/wire/owner.h"
#include "pipeline/wire/parse_layers.h"
#include "pipeline/egress/egress.h"
#include "pipeline/egress/tx.h"

// A view: room for what a stage may put in front, headers, and the longest datagram.
#define VIEW_BYTES   (RTE_PKTMBUF_HEADROOM + PARSE_WINDOW + FRAG_DATAGRAM_MAX + 1)
#define VIEW_SEGMENT (UINT16_MAX - RTE_PKTMBUF_HEADROOM) // what one mbuf can tell of

struct fragments {
	struct frag_table *table;
	struct rte_mbuf_ext_shared_info shared; // of `view`, which is never freed
	uint8_t *view;
	struct rte_mbuf **packets; // of the datagram at hand, in order of arrival
	unsigned n_packets;
	bool nested;     // a fragment of it came in fragments
	struct pkt gone; // in place of a packet's that went within its stage
};

static const enum drop_reason end_reasons[FRAG_END_MAX] = {
	[FRAG_END_OVERLAP] = DROP_FRAGMENT_OVERLAP,
	[FRAG_END_INVALID] = DROP_FRAGMENT_INVALID,
	[FRAG_END_TIMEOUT] = DROP_FRAGMENT_TIMEOUT,
	[FRAG_END_LIMIT] = DROP_FRAGMENT_LIMIT,
	[FRAG_END_DRAIN] = DROP_SHUTDOWN,
};

// Sends more than a burst: where the buffer is full it is offered to the driver, for which the
// lcore needs its lease; while the stages run it has not.
static void send_all(struct lcore *lcore, struct rte_mbuf **mbufs, unsigned n, uint32_t ref,
	enum egress_kind kind)
{
	for (unsigned i = 0; i < n; i++) {
		if (egress_is_full(lcore, mbufs[i])) {
			bool ours = lease_holder(&lcore->lease) == LEASE_LCORE;

			if (!ours)
				lcore_lease_take(lcore);
			tx_flush_full(lcore);
			if (!ours)
				lease_give(&lcore->lease);
		}
		egress_packet(lcore, mbufs[i], ref, kind);
	}
}

static void count_end(struct lcore *lcore, enum frag_end why)
{
	struct stats *stats = &lcore->stats;

	switch (why) {
	case FRAG_END_OVERLAP: stats->datagrams_overlap++; break;
	case FRAG_END_INVALID: stats->datagrams_invalid++; break;
	case FRAG_END_TIMEOUT: stats->datagrams_timeout++; break;
	case FRAG_END_LIMIT: stats->datagrams_limit++; break;
	case FRAG_END_DRAIN:
	case FRAG_END_MAX: break;
	}
}

// What became of a packet that no flow tells of; one record for a datagram.
static void report_drop(struct lcore *lcore, struct rte_mbuf *m, enum drop_reason reason)
{
	struct evidence *evidence = evidence_add_loose(lcore, EVIDENCE_DROPPED);

	flow_event_drop_limited(lcore, FLOW_REF_NONE, m, reason, 0);
	if (!evidence)
		return;
	evidence->detail = (uint8_t)reason;
	evidence_set_packet(evidence, m);
}

// From the headers as parse saw them: they lie in the frame's first PARSE_WINDOW bytes. False: the
// segments hold less than pkt_len promises.
static bool read_fragment(struct rte_mbuf *m, struct frag_key *key, struct frag_piece *piece)
{
	const struct pkt *pkt = pkt_of(m);
	bool v6 = pkt->flags & PKT_V6;
	uint8_t buffer[60];
	const uint8_t *ip = rte_pktmbuf_read(m, pkt->l3_off, v6 ? 40 : 20, buffer);
	uint32_t stated;
	uint16_t word;

	if (!ip)
		return false;
	*key = (struct frag_key){
		.realm = pkt->realm,
		.v6 = v6,
		.from_inside = !!(pkt->flags & PKT_FROM_INSIDE),
	};
	*piece = (struct frag_piece){.m = m};
	if (v6) {
		uint8_t header[8];

		memcpy(key->source, ip + 8, 16);
		memcpy(key->destination, ip + 24, 16);
		stated = 40u + be16(ip + 4);
		const uint8_t *p = rte_pktmbuf_read(m, pkt->emb_off, 8, header);

		if (!p)
			return false;
		key->id = be32(p + 4);
		word = be16(p + 2);
		piece->offset = word & 0xfff8u;
		piece->more = word & 1;
		piece->at = (uint16_t)(pkt->emb_off + 8);
	} else {
		memcpy(key->source, ip + 12, 4);
		memcpy(key->destination, ip + 16, 4);
		stated = be16(ip + 2);
		key->id = be16(ip + 4);
		key->proto = ip[9];
		word = be16(ip + 6);
		piece->offset = (word & 0x1fffu) * 8;
		piece->more = word & 0x2000;
		piece->at = (uint16_t)(pkt->l3_off + (ip[0] & 15) * 4);
	}
	uint32_t before = (uint32_t)(piece->at - pkt->l3_off), here = m->pkt_len - piece->at;

	if (piece->at > m->pkt_len)
		return false;
	// a length of 0, in a capture, is what large offload leaves: all that is there
	piece->length = stated > (v6 ? 40u : 0u) ? stated - RTE_MIN(stated, before) : here;
	piece->have = RTE_MIN(piece->length, here);
	return true;
}

// What it is reported: the fragment at which it ended, the last that came; of one that was not
// whole in time, how much of it did come.
static void report_end(struct lcore *lcore, enum frag_end why, struct rte_mbuf **mbufs, unsigned n)
{
	static const enum anomaly anomalies[FRAG_END_DRAIN] = {
		[FRAG_END_OVERLAP] = ANOMALY_FRAGMENT_OVERLAP,
		[FRAG_END_INVALID] = ANOMALY_FRAGMENT_INVALID,
		[FRAG_END_TIMEOUT] = ANOMALY_FRAGMENT_TIMEOUT,
		[FRAG_END_LIMIT] = ANOMALY_FRAGMENT_LIMIT,
	};
	uint32_t offset = 0, bytes = 0;
	struct frag_piece piece;
	struct frag_key key;

	if (why >= FRAG_END_DRAIN)
		return;
	for (unsigned i = why == FRAG_END_TIMEOUT ? 0 : n - 1; i < n; i++) {
		if (!read_fragment(mbufs[i], &key, &piece))
			continue;
		offset = why == FRAG_END_TIMEOUT ? 0 : piece.offset;
		bytes += piece.length;
	}
	flow_event_anomaly(
		lcore, FLOW_REF_NONE, mbufs[n - 1], anomalies[why], offset, bytes, HALF_C2S);
}

// The packets that these stand for become those at hand.
static void unpack(struct fragments *f, struct rte_mbuf **mbufs, unsigned n)
{
	f->n_packets = 0;
	f->nested = false;
	for (unsigned i = 0; i < n; i++) {
		f->n_packets += bundle_packets(mbufs[i], f->packets + f->n_packets);
		f->nested |= bundle_is(mbufs[i]);
	}
}

static void free_bundles(struct rte_mbuf **mbufs, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		bundle_free(mbufs[i]);
}

static void end_packets(
	struct lcore *lcore, struct rte_mbuf **mbufs, unsigned n, enum drop_reason reason)
{
	struct fragments *f = lcore->fragments;

	unpack(f, mbufs, n);
	free_bundles(mbufs, n);
	if (!lcore->policy || !lcore->policy->enforces) {
		send_all(lcore, f->packets, f->n_packets, FLOW_REF_NONE, EGRESS_BYPASS);
		return;
	}
	report_drop(lcore, f->packets[0], reason);
	packets_drop(lcore, f->packets, f->n_packets, reason);
}

// A datagram ends unfinished.
static void ended(void *ctx, enum frag_end why, struct rte_mbuf **mbufs, unsigned n)
{
	struct lcore *lcore = ctx;

	count_end(lcore, why);
	report_end(lcore, why, mbufs, n);
	end_packets(lcore, mbufs, n, end_reasons[why]);
}

struct fragments *fragments_new(struct lcore *lcore, const struct frag_limits *limits,
	const struct hash_seed *seed, int socket)
{
	struct fragments *f = rte_zmalloc_socket("fragments", sizeof(*f), 64, socket);

	if (!f)
		return NULL;
	f->table = frag_table_new(limits, seed, ended, lcore, socket);
	f->view = rte_zmalloc_socket("view", VIEW_BYTES, 64, socket);
	// those that are held, and those of the one that is too many
	f->packets = rte_zmalloc_socket(
		"fragments", 2 * (limits->per_datagram + 1) * sizeof(f->packets[0]), 64, socket);
	if (f->table && f->view && f->packets)
		return f;
	fragments_free(f);
	return NULL;
}

void fragments_free(struct fragments *f)
{
	if (!f)
		return;
	frag_table_free(f->table);
	rte_free(f->view);
	rte_free(f->packets);
	rte_free(f);
}

static enum verdict refuse(struct lcore *lcore, struct packet_ctx *ctx, enum drop_reason reason)
{
	if (!lcore->policy->enforces)
		return VERDICT_SEND;
	ctx->reason = reason;
	ctx->flags |= CTX_REPORTED; // with its datagram
	return VERDICT_DROP;
}

static const struct frag_whole *whole_of(const struct lcore *lcore)
{
	return frag_whole(lcore->fragments->table);
}

static void found_whole(struct lcore *lcore, struct packet_ctx *ctx)
{
	const struct frag_whole *whole = whole_of(lcore);

	unpack(lcore->fragments, whole->arrived, whole->n);
	ctx->flags |= CTX_WHOLE;
}

// The view of a datagram that is a fragment itself: its packets wait for the others.
static enum verdict take_nested(struct lcore *lcore, struct packet_ctx *ctx,
	const struct frag_key *key, struct frag_piece *piece)
{
	struct fragments *f = lcore->fragments;
	struct rte_mbuf *bundle = bundle_new(lcore->pool, ctx->m, f->packets, f->n_packets);
	enum frag_end why = FRAG_END_MAX;

	if (!bundle) {
		lcore->stats.datagrams_limit++;
		return refuse(lcore, ctx, DROP_FRAGMENT_LIMIT);
	}
	lcore->stats.datagrams_whole++;
	piece->m = bundle;
	piece->more_packets = (uint16_t)(f->n_packets - 1);
	piece->more_mbufs = bundle_mbufs(bundle);
	f->gone = *ctx->pkt;
	f->gone.flags &= (uint16_t)~PKT_TRACE;
	rte_pktmbuf_free(ctx->m);
	ctx->m = bundle;
	ctx->pkt = &f->gone;
	ctx->flags &= ~(uint32_t)CTX_VIEW;
	switch (frag_add(f->table, key, piece, lcore->now_ns, &why)) {
	case FRAG_WHOLE:
		found_whole(lcore, ctx);
		ctx->pkt = pkt_of(bundle);
		break;
	case FRAG_HELD: ctx->pkt = pkt_of(bundle); break;
	case FRAG_DUPLICATE:
		lcore->stats.fragment_duplicates += piece->more_packets + 1u;
		end_packets(lcore, &bundle, 1, DROP_FRAGMENT_DUPLICATE);
		break;
	case FRAG_REFUSED: end_packets(lcore, &bundle, 1, end_reasons[why]); break;
	case FRAG_GIVEN_UP: break;
	}
	return VERDICT_TAKEN;
}

bool fragments_can_nest(const struct lcore *lcore, const struct pkt *view)
{
	return !lcore->fragments->nested && view->l3_off != view->outer_l3_off;
}

enum verdict fragments_take(struct lcore *lcore, struct packet_ctx *ctx)
{
	struct frag_table *table = lcore->fragments->table;
	enum frag_end why = FRAG_END_MAX;
	struct frag_piece piece;
	struct frag_key key;

	if (!read_fragment(ctx->m, &key, &piece)) {
		lcore->stats.malformed_pkts++;
		return packet_invalid(lcore, ctx, DROP_MALFORMED, lcore->policy->malformed);
	}
	if (ctx->flags & CTX_VIEW)
		return take_nested(lcore, ctx, &key, &piece);
	switch (frag_add(table, &key, &piece, lcore->now_ns, &why)) {
	case FRAG_WHOLE: found_whole(lcore, ctx); break;
	case FRAG_DUPLICATE:
		lcore->stats.fragment_duplicates++;
		return refuse(lcore, ctx, DROP_FRAGMENT_DUPLICATE);
	case FRAG_REFUSED: return refuse(lcore, ctx, end_reasons[why]);
	case FRAG_HELD:
	case FRAG_GIVEN_UP: break;
	}
	return VERDICT_TAKEN;
}

bool fragments_settled(const struct lcore *lcore)
{
	return pkt_of(lcore->fragments->packets[0])->owner_slot & PKT_SETTLED;
}

unsigned fragments_in_hand(const struct lcore *lcore)
{
	return lcore->fragments->n_packets;
}

unsigned fragments_owner(const struct lcore *lcore, const struct pkt *view)
{
	uint16_t moved = PKT_SETTLED | PKT_MOVED;

	if (view->class != PKT_IP || !(view->flags & PKT_FRAGMENT) ||
		!fragments_can_nest(lcore, view) ||
		pkt_of(lcore->fragments->packets[0])->owner_slot & moved)
		return lcore->index;
	return flow_owner(lcore->dp, view);
}

static bool copy(uint8_t *to, const struct rte_mbuf *m, uint32_t at, uint32_t length)
{
	if (!length) // at the end of a chain rte_pktmbuf_read looks for it in the segment behind
		return at <= m->pkt_len;
	const void *from = rte_pktmbuf_read(m, at, length, to);

	if (!from)
		return false;
	if (from != to)
		memcpy(to, from, length);
	return true;
}

// The IP header of a first fragment at `ip`, `length` bytes without a fragment header, becomes that
// of the whole datagram. False: the datagram is too long for its header.
static bool make_header(
	uint8_t *ip, uint32_t length, uint8_t next_header, const struct frag_whole *whole)
{
	uint32_t total = length + whole->length;

	if (ip[0] >> 4 == 4) {
		if (total > FRAG_DATAGRAM_MAX)
			return false;
		ip[2] = (uint8_t)(total >> 8);
		ip[3] = (uint8_t)total;
		ip[6] &= 0xc0; // no offset, nothing more to come
		ip[7] = 0;
		checksum_fill(ip, NULL, 0, 0, false);
		return true;
	}
	total -= 40;
	if (total > FRAG_DATAGRAM_MAX)
		return false;
	ip[4] = (uint8_t)(total >> 8);
	ip[5] = (uint8_t)total;
	// the header before that of the fragment names what comes instead of it
	uint8_t *next = ip + 6;

	for (uint32_t at = 40; at < length;) {
		uint32_t step = parse_extension_length(*next, ip + at);

		next = ip + at;
		at += step;
	}
	*next = next_header;
	return true;
}

// The bytes of the view; returns how many, 0: it cannot be made. In a capture that was cut the view
// ends at the first byte that is missing, and parse takes it for a packet that was.
static uint32_t fill(uint8_t *view, const struct frag_whole *whole)
{
	const struct frag_piece *first = &whole->pieces[0];
	const struct pkt *pkt = pkt_of(first->m);
	uint32_t l2 = pkt->outer_l3_off, end = first->at;
	uint8_t next_header = 0;

	if (pkt->flags & PKT_V6) {
		end = pkt->emb_off;
		if (!copy(&next_header, first->m, end, 1))
			return 0;
	}
	uint32_t at = l2 + end - pkt->l3_off;

	if (!copy(view, first->m, 0, l2) ||
		!copy(view + l2, first->m, pkt->l3_off, end - pkt->l3_off) ||
		!make_header(view + l2, end - pkt->l3_off, next_header, whole))
		return 0;
	for (unsigned i = 0; i < whole->n; i++) {
		const struct frag_piece *piece = &whole->pieces[i];

		if (!copy(view + at, piece->m, piece->at, piece->have))
			return 0;
		at += piece->have;
		if (piece->have < piece->length)
			break;
	}
	return at;
}

static void attach(struct fragments *f, struct rte_mbuf *m, uint32_t at, uint32_t length)
{
	rte_pktmbuf_attach_extbuf(m, f->view + at, RTE_BAD_IOVA,
		(uint16_t)RTE_MIN(length + RTE_PKTMBUF_HEADROOM, (uint32_t)UINT16_MAX), &f->shared);
	m->data_len = (uint16_t)length;
	m->pkt_len = length;
}

static void never_freed(void *addr, void *opaque)
{
	(void)addr;
	(void)opaque;
}

static struct rte_mbuf *mbufs_over(struct lcore *lcore, uint32_t length)
{
	struct fragments *f = lcore->fragments;
	struct rte_mbuf *mbufs[2];
	unsigned n = length > VIEW_SEGMENT ? 2 : 1;

	if (rte_pktmbuf_alloc_bulk(lcore->pool, mbufs, n))
		return NULL;
	f->shared = (struct rte_mbuf_ext_shared_info){.free_cb = never_freed};
	rte_mbuf_ext_refcnt_set(&f->shared, (uint16_t)n);
	attach(f, mbufs[0], 0, RTE_MIN(length, (uint32_t)VIEW_SEGMENT));
	mbufs[0]->data_off = RTE_PKTMBUF_HEADROOM;
	if (n == 2) {
		attach(f, mbufs[1], RTE_PKTMBUF_HEADROOM + VIEW_SEGMENT, length - VIEW_SEGMENT);
		mbufs[1]->data_off = 0;
		rte_pktmbuf_chain(mbufs[0], mbufs[1]);
	}
	return mbufs[0];
}

// A datagram that was whole, but cannot be walked.
static void fail(struct lcore *lcore, enum frag_end why)
{
	const struct frag_whole *whole = whole_of(lcore);

	ended(lcore, why, whole->arrived, whole->n);
}

struct rte_mbuf *fragments_view(struct lcore *lcore, union flow_key *key, bool *keyed)
{
	const struct frag_whole *whole = whole_of(lcore);
	const struct pkt *first = pkt_of(whole->pieces[0].m);
	uint32_t length = fill(lcore->fragments->view + RTE_PKTMBUF_HEADROOM, whole);
	struct rte_mbuf *view = length ? mbufs_over(lcore, length) : NULL;

	if (!view) {
		fail(lcore, length ? FRAG_END_LIMIT : FRAG_END_INVALID);
		return NULL;
	}
	struct pkt *pkt = pkt_of(view);

	*pkt = *first;
	pkt->flow = PKT_FLOW_NONE;
	pkt->rx_ns = lcore->now_ns;
	pkt->flags &= (uint16_t) ~(PKT_CSUM_GOOD | PKT_CSUM_BAD);
	for (unsigned i = 0; i < whole->n; i++) // what a snap length has cut cannot be summed up
		pkt->flags |= pkt_of(whole->arrived[i])->flags & (PKT_CSUM_IGNORE | PKT_TRACE);
	*keyed = parse_datagram(view, first, first->outer_l3_off, &lcore->parse, key) &&
		 !(pkt->flags & PKT_FRAGMENT);
	free_bundles(whole->arrived, whole->n);
	return view;
}

void fragments_send(struct lcore *lcore, struct rte_mbuf *view)
{
	const struct fragments *f = lcore->fragments;
	const struct pkt *pkt = pkt_of(view);

	lcore->stats.datagrams_whole++;
	for (unsigned i = 0; i < f->n_packets; i++) {
		pkt_of(f->packets[i])->flow = pkt->flow;
		pkt_of(f->packets[i])->flow_gen = pkt->flow_gen;
	}
	uint32_t ref = pkt->flow == PKT_FLOW_NONE ? FLOW_REF_NONE : pkt->flow;

	rte_pktmbuf_free(view);
	send_all(lcore, f->packets, f->n_packets, ref, EGRESS_FRAGMENT);
}

void fragments_drop(struct lcore *lcore, struct rte_mbuf *view, enum drop_reason reason)
{
	const struct fragments *f = lcore->fragments;

	lcore->stats.datagrams_whole++;
	if (!FAULT(VIEW_KEPT))
		rte_pktmbuf_free(view);
	packets_drop(lcore, f->packets, f->n_packets, reason);
}

// All or none: a part is of no use to the owner.
void fragments_hand_off(struct lcore *lcore, struct rte_mbuf *view, unsigned owner)
{
	const struct fragments *f = lcore->fragments;
	struct rte_ring *ring = lcore->dp->lcores[owner]->handoff_in[lcore->index];
	uint16_t mark = pkt_of(view)->flags & PKT_FRAGMENT ? PKT_MOVED : PKT_SETTLED;

	rte_pktmbuf_free(view);
	if (unlikely(is_bypassed(lcore->dp, owner))) {
		for (unsigned i = 0; i < f->n_packets; i++) {
			lcore->stats.bypassed_pkts++;
			lcore->stats.bypassed_bytes += f->packets[i]->pkt_len;
		}
		send_all(lcore, f->packets, f->n_packets, FLOW_REF_NONE, EGRESS_BYPASS);
		return;
	}
	for (unsigned i = 0; i < f->n_packets; i++)
		pkt_of(f->packets[i])->owner_slot |= mark;
	lcore_lease_take(lcore); // the stages' caller has given it
	unsigned done = rte_ring_sp_enqueue_bulk(ring, (void **)f->packets, f->n_packets, NULL);

	lease_give(&lcore->lease);
	if (!done) {
		packets_drop(lcore, f->packets, f->n_packets, DROP_HANDOFF_FULL);
		return;
	}
	lcore->stats.handoff_out_pkts += done;
	lcore->stats.datagrams_handoff++;
}

void fragments_age(struct lcore *lcore, unsigned budget)
{
	frag_age(lcore->fragments->table, lcore->now_ns, budget);
}

void fragments_drain(struct lcore *lcore)
{
	frag_drain(lcore->fragments->table);
}

unsigned fragments_held(const struct lcore *lcore)
{
	return lcore->fragments ? frag_packets(lcore->fragments->table) : 0;
}

unsigned fragments_datagrams(const struct lcore *lcore)
{
	return frag_datagrams(lcore->fragments->table);
}

unsigned fragments_longest_chain(const struct lcore *lcore)
{
	return frag_longest_chain(lcore->fragments->table);
}
