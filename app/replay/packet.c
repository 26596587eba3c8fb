// SPDX-License-Identifier: BSD-3-Clause
// Turns records of a capture into packet buffers with a side and a checksum policy.
#include "replay/packet.h"

#include <errno.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <rte_errno.h>
#include <rte_mbuf_dyn.h>
#include "pipeline/wire/checksum.h"
#include "pipeline/wire/parse.h"
#include "pipeline/vocab/pkt.h"
#include "replay/table.h"

#define TCP_SYN 0x02
#define TCP_ACK 0x10

// mbufs

struct heap_block {
	struct rte_mbuf_ext_shared_info shared;
	void *bytes;
};

static void heap_block_free(void *address, void *opaque)
{
	struct heap_block *block = opaque;

	(void)address;
	free(block->bytes);
	free(block);
}

int replay_feed_init(
	struct replay_feed *feed, struct rte_mempool *pool, bool heap, uint32_t segment_bytes)
{
	const struct rte_mbuf_dynfield field = {
		.name = "sluice_replay_meta",
		.size = sizeof(struct replay_meta),
		.align = _Alignof(struct replay_meta),
	};

	if (!segment_bytes)
		segment_bytes = heap ? UINT16_MAX : REPLAY_SEGMENT_BYTES;
	*feed = (struct replay_feed){.pool = pool, .heap = heap, .segment_bytes = segment_bytes};
	feed->meta_offset = rte_mbuf_dynfield_register(&field);
	return feed->meta_offset < 0 ? -rte_errno : 0;
}

static struct replay_meta *meta_of(const struct replay_feed *feed, struct rte_mbuf *m)
{
	return RTE_MBUF_DYNFIELD(m, (size_t)feed->meta_offset, struct replay_meta *);
}

const struct replay_meta *replay_meta_of(const struct replay_feed *feed, struct rte_mbuf *m)
{
	return meta_of(feed, m);
}

static void nothing_to_free(void *address, void *opaque)
{
	(void)address;
	(void)opaque;
}

// The segment is these bytes of the capture. What it is counted by is in its own, empty buffer.
static void attach_in_place(struct rte_mbuf *m, const uint8_t *bytes, uint16_t n)
{
	struct rte_mbuf_ext_shared_info *shared = m->buf_addr;

	*shared = (struct rte_mbuf_ext_shared_info){.free_cb = nothing_to_free};
	rte_mbuf_ext_refcnt_set(shared, 1);
	rte_pktmbuf_attach_extbuf(m, (void *)(uintptr_t)bytes, RTE_BAD_IOVA, n, shared);
}

static bool attach_heap(struct rte_mbuf *m, const uint8_t *bytes, uint16_t n)
{
	struct heap_block *block = calloc(1, sizeof *block);

	if (block)
		block->bytes = malloc(n ? n : 1);
	if (!block || !block->bytes) {
		free(block);
		return false;
	}
	block->shared.free_cb = heap_block_free;
	block->shared.fcb_opaque = block;
	rte_mbuf_ext_refcnt_set(&block->shared, 1);
	if (n > 0)
		memcpy(block->bytes, bytes, n);
	rte_pktmbuf_attach_extbuf(m, block->bytes, RTE_BAD_IOVA, n, &block->shared);
	return true;
}

static struct rte_mbuf *segment_new(
	const struct replay_feed *feed, const uint8_t *bytes, uint16_t n)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(feed->pool);

	if (!m)
		return NULL;
	if (!feed->heap) {
		attach_in_place(m, bytes, n);
	} else if (!attach_heap(m, bytes, n)) {
		rte_pktmbuf_free(m);
		return NULL;
	}
	m->data_len = n;
	m->pkt_len = n;
	return m;
}

struct rte_mbuf *replay_mbuf_new(const struct replay_feed *feed, const struct capture_record *rec)
{
	uint32_t left = RTE_MIN(rec->caplen, CAPTURE_RECORD_MAX_BYTES), at = 0;
	struct rte_mbuf *first = NULL, *last = NULL;

	do {
		uint16_t n = (uint16_t)RTE_MIN(left, feed->segment_bytes);
		struct rte_mbuf *m = segment_new(feed, rec->bytes + at, n);

		if (!m) {
			rte_pktmbuf_free(first);
			return NULL;
		}
		if (first) {
			last->next = m;
			first->nb_segs++;
			first->pkt_len += n;
		} else {
			first = m;
		}
		last = m;
		at += n;
		left -= n;
	} while (left > 0);
	*meta_of(feed, first) = (struct replay_meta){
		.ts_ns = rec->ts_ns,
		.len = rec->len,
		.caplen = first->pkt_len,
		.linktype = rec->linktype,
	};
	return first;
}

// Who sent it

// A record as the pipeline will see it: its one segment is the record's bytes.
struct seen {
	struct rte_mbuf m;
	struct pkt pkt; // the mbuf's private part
	union flow_key key;
};
static_assert(offsetof(struct seen, pkt) == sizeof(struct rte_mbuf), "where pkt_of() looks");

// False: nothing with addresses, and no key.
static bool record_parse(struct seen *seen, const struct capture_record *rec, uint8_t link)
{
	uint32_t length = RTE_MIN(rec->caplen, CAPTURE_RECORD_MAX_BYTES);

	if (link == LINK_UNKNOWN || length == 0)
		return false;
	seen->pkt = (struct pkt){.link = link, .flags = PKT_CAPTURED};
	memset(&seen->key, 0, sizeof seen->key);
	if (length > UINT16_MAX) { // than a segment holds
		parse_packet(&seen->pkt, rec->bytes, length, length);
		if (seen->pkt.class == PKT_IP)
			parse_flow_key(&seen->pkt, rec->bytes, &seen->key);
		return seen->pkt.class == PKT_IP;
	}
	seen->m.buf_addr = (void *)(uintptr_t)rec->bytes;
	seen->m.data_off = 0;
	seen->m.nb_segs = 1;
	seen->m.next = NULL;
	seen->m.data_len = (uint16_t)length;
	seen->m.pkt_len = length;
	return parse_mbuf(&seen->m, &PARSE_SETTINGS_FIXED, &seen->key);
}

static void address_of(
	const struct pkt *pkt, const uint8_t *frame, bool destination, uint8_t out[16])
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
	const uint8_t *ip =
		frame + pkt->l3_off + (destination ? (pkt->flags & PKT_V6 ? 16 : 4) : 0);

	if (pkt->flags & PKT_V6) {
		memcpy(out, ip + 8, 16);
	} else {
		memcpy(out, mapped, sizeof mapped);
		memcpy(out + 12, ip + 12, 4);
	}
}

struct replay_sides {
	const struct address_set *inside; // borrowed; NULL: per flow
	struct replay_table flows;        // value[0]: 1 when side A of the key is inside, else 2
};

struct replay_sides *replay_sides_new(const struct address_set *inside)
{
	struct replay_sides *sides = calloc(1, sizeof *sides);

	if (!sides)
		return NULL;
	sides->inside = inside;
	if (replay_table_init(&sides->flows) < 0) {
		free(sides);
		return NULL;
	}
	return sides;
}

void replay_sides_free(struct replay_sides *sides)
{
	if (!sides)
		return;
	replay_table_fini(&sides->flows);
	free(sides);
}

// The flow key in the table's form. `hosts_only`: addresses and VLAN, for fragments, which have no
// ports to be recognised by.
static void table_key(
	const union flow_key *key, bool v6, bool hosts_only, uint8_t out[REPLAY_KEY_BYTES])
{
	union flow_key k = *key;

	if (hosts_only && v6) {
		k.v6.port_a = k.v6.port_b = k.v6.l4_proto = 0;
		k.v6.flags &= (uint16_t)~KEY_FRAGMENT;
	} else if (hosts_only) {
		k.v4.port_a = k.v4.port_b = k.v4.l4_proto = 0;
		k.v4.flags &= (uint16_t)~KEY_FRAGMENT;
	}
	memset(out, 0, REPLAY_KEY_BYTES);
	memcpy(out, &k, v6 ? sizeof k.v6 : sizeof k.v4);
	// The last octet, padding even in an IPv6 key, keeps the four kinds apart.
	out[REPLAY_KEY_BYTES - 1] = (uint8_t)(v6 << 1 | hosts_only);
}

// The flow's side is not known, or it begins anew.
static bool flow_begins(struct replay_sides *sides, const struct pkt *pkt, bool from_a,
	struct replay_entry *entry, const uint8_t hosts[REPLAY_KEY_BYTES])
{
	bool inside_is_a = from_a, made;
	struct replay_entry *pair;

	if (pkt->flags & PKT_FRAGMENT) {
		pair = replay_table_find(&sides->flows, hosts);
		if (pair)
			inside_is_a = pair->value[0] == 1;
	} else if (pkt->l4_proto == IPPROTO_TCP && (pkt->flags & PKT_L4_OK) &&
		   (pkt->tcp_flags & (TCP_SYN | TCP_ACK)) == (TCP_SYN | TCP_ACK)) {
		inside_is_a = !from_a; // the capture began between a SYN and its answer
	}
	entry->value[0] = inside_is_a ? 1 : 2;
	pair = replay_table_get(&sides->flows, hosts, &made); // moves `entry`
	if (pair && made)
		pair->value[0] = inside_is_a ? 1 : 2;
	return from_a == inside_is_a;
}

// False: both ends are inside, or neither is. Then they have sides all the same, per flow: a packet
// crosses the gateway only between two.
static bool one_is_inside(
	const struct replay_sides *sides, const struct pkt *pkt, const uint8_t *frame, bool *source)
{
	uint8_t from[16], to[16];

	address_of(pkt, frame, false, from);
	address_of(pkt, frame, true, to);
	*source = address_set_has(sides->inside, from);
	return *source != address_set_has(sides->inside, to);
}

bool replay_from_inside(struct replay_sides *sides, const struct capture_record *rec, uint8_t link)
{
	uint8_t name[REPLAY_KEY_BYTES], hosts[REPLAY_KEY_BYTES];
	struct replay_entry *entry;
	bool from_a, made, v6, inside;
	struct seen seen;
	const struct pkt *pkt = &seen.pkt;

	if (!record_parse(&seen, rec, link))
		return true;
	if (sides->inside && one_is_inside(sides, pkt, rec->bytes, &inside))
		return inside;
	v6 = pkt->flags & PKT_V6;
	from_a = pkt->flags & PKT_A_TO_B;
	if (pkt->flags & PKT_ICMP_ERROR)
		from_a = !from_a; // the key is of the packet that it answers
	table_key(&seen.key, v6, false, name);
	entry = replay_table_get(&sides->flows, name, &made);
	if (!entry)
		return true;
	if (!made && !(pkt->l4_proto == IPPROTO_TCP && (pkt->flags & PKT_L4_OK) &&
			     (pkt->tcp_flags & (TCP_SYN | TCP_ACK)) == TCP_SYN))
		return from_a == (entry->value[0] == 1);
	table_key(&seen.key, v6, true, hosts);
	return flow_begins(sides, pkt, from_a, entry, hosts);
}

// Whose checksums are true

// What carries payload counts: bare segments are judged only where a sender has no other. (Some
// captures were anonymized: their payload is other, its checksum is not.)
enum {
	OFFLOAD_BARE,    // wrong checksums less right ones, as two's complement
	OFFLOAD_PAYLOAD, // the same of packets with payload
	OFFLOAD_SEEN,    // packets with payload
};

struct replay_offload {
	struct replay_table senders; // value[]: by the names above
};

struct replay_offload *replay_offload_new(void)
{
	struct replay_offload *offload = calloc(1, sizeof *offload);

	if (offload && replay_table_init(&offload->senders) < 0) {
		free(offload);
		return NULL;
	}
	return offload;
}

void replay_offload_free(struct replay_offload *offload)
{
	if (!offload)
		return;
	replay_table_fini(&offload->senders);
	free(offload);
}

static int survey_record(struct replay_offload *offload, const struct capture_record *rec,
	const struct replay_feed *feed)
{
	uint8_t key[REPLAY_KEY_BYTES] = {0}, link = parse_link_of(rec->linktype);
	struct replay_entry *entry;
	struct rte_mbuf *m;
	struct seen seen;
	bool made;
	int rc = 0;

	// What a snap length has cut cannot be summed up.
	if (rec->caplen < rec->len || !record_parse(&seen, rec, link) ||
		!(seen.pkt.flags & PKT_L4_OK) || (seen.pkt.flags & PKT_FRAGMENT))
		return 0;
	m = replay_mbuf_new(feed, rec);
	if (!m)
		return -ENOMEM;
	*pkt_of(m) = seen.pkt;
	if (checksum_verify(m)) {
		address_of(&seen.pkt, rec->bytes, false, key);
		entry = replay_table_get(&offload->senders, key, &made);
		if (entry) {
			entry->value[seen.pkt.payload_len ? OFFLOAD_PAYLOAD : OFFLOAD_BARE] +=
				pkt_of(m)->flags & PKT_CSUM_BAD ? 1 : UINT32_MAX;
			entry->value[OFFLOAD_SEEN] += seen.pkt.payload_len != 0;
		} else {
			rc = -ENOMEM;
		}
	}
	rte_pktmbuf_free(m);
	return rc;
}

int replay_offload_survey(
	struct replay_offload *offload, struct capture *cap, const struct replay_feed *feed)
{
	struct capture_record rec;
	int rc = 0;

	replay_table_clear(&offload->senders);
	while (rc == 0 && capture_next(cap, &rec) > 0)
		rc = survey_record(offload, &rec, feed);
	return rc < 0 ? rc : capture_rewind(cap);
}

bool replay_offload_sender(
	const struct replay_offload *offload, const struct capture_record *rec, uint8_t link)
{
	uint8_t key[REPLAY_KEY_BYTES] = {0};
	const struct replay_entry *entry;
	struct seen seen;

	if (!record_parse(&seen, rec, link))
		return false;
	address_of(&seen.pkt, rec->bytes, false, key);
	entry = replay_table_find(&offload->senders, key);
	if (!entry)
		return false;
	return (int32_t)entry->value[entry->value[OFFLOAD_SEEN] ? OFFLOAD_PAYLOAD : OFFLOAD_BARE] >
	       0;
}
