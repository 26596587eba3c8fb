// SPDX-License-Identifier: BSD-3-Clause
// Keeps packets in a ring, and records those of a flow.
#include "pipeline/content/incident.h"

#include <string.h>
#include "pipeline/content/state.h"
#include "pipeline/event/flow_event.h"
#include "pipeline/flow/ends.h"
#include "pipeline/flow/table.h"
#include "pipeline/vocab/pages.h"

#define BUCKETS   1024u // power of two; flows that share one are told apart by their numbers
#define STEPS_MAX 512u  // packets of a bucket that are looked at

struct kept {
	uint64_t flow_id;
	uint64_t before; // of the packet before it in its bucket: where it is, + 1; 0: none
	uint64_t at_ns;
	uint32_t length, bytes; // on the wire; kept
	uint8_t half, link;
	uint8_t frame[];
};

// A packet lies at its place modulo the size, in one piece. It is there until the ring has come
// around to it: as long as `head` is not beyond its place + size.
struct incident_ring {
	uint64_t size; // power of two
	uint64_t head; // behind the newest packet
	uint64_t last[BUCKETS];
	uint8_t memory[];
};

static uint64_t round_up(uint64_t bytes)
{
	uint64_t size = INCIDENT_RING_MIN;

	while (size < bytes)
		size <<= 1;
	return size;
}

struct incident_ring *incident_ring_new(uint64_t bytes, int socket)
{
	uint64_t size = round_up(bytes);
	struct incident_ring *ring = pages_new(sizeof(*ring) + size, socket);

	if (ring)
		ring->size = size;
	return ring;
}

void incident_ring_free(struct incident_ring *ring)
{
	if (ring)
		munmap(ring, sizeof(*ring) + ring->size);
}

static struct kept *kept_at(struct incident_ring *ring, uint64_t at)
{
	return (struct kept *)(void *)(ring->memory + (at & (ring->size - 1)));
}

static uint64_t *bucket_of(struct incident_ring *ring, uint64_t flow_id)
{
	return &ring->last[(flow_id ^ flow_id >> 32) & (BUCKETS - 1)];
}

uint64_t incident_flow_id(const struct lcore *lcore, uint32_t ref)
{
	bool stub = ref & FLOW_REF_STUB;
	const struct flow_stub *of_stub = stub ? flow_stub_at(lcore->flows, ref) : NULL;
	const struct flow *flow = stub ? NULL : flow_at(lcore->flows, ref);
	bool v6 = (stub ? of_stub->flags : flow->flags) & FLOW_V6;
	const union flow_key *key =
		flow_key_of(lcore->flows, stub ? of_stub->key_pos : flow->key_pos, v6);

	return key ? flow_id_of(key, v6, stub ? of_stub->start_ns : flow->start_ns) : 0;
}

// Where a packet of so many bytes goes, in one piece.
static struct kept *place(struct incident_ring *ring, uint32_t bytes, uint64_t *at)
{
	uint64_t need = (sizeof(struct kept) + bytes + 7) & ~UINT64_C(7);
	uint64_t left = ring->size - (ring->head & (ring->size - 1));

	*at = ring->head + (left < need ? left : 0);
	ring->head = *at + need;
	return kept_at(ring, *at);
}

void incident_note(struct lcore *lcore, uint32_t ref, const struct rte_mbuf *m, unsigned half)
{
	struct incident_ring *ring = lcore->content->incidents;
	uint32_t bytes = RTE_MIN(m->pkt_len, INCIDENT_SNAP_BYTES);
	uint64_t id, at;

	if (!ring || !(id = incident_flow_id(lcore, ref)))
		return;
	uint64_t *last = bucket_of(ring, id);
	struct kept *kept = place(ring, bytes, &at);

	*kept = (struct kept){.flow_id = id,
		.before = *last,
		.at_ns = lcore->now_ns,
		.length = m->pkt_len,
		.bytes = bytes,
		.half = (uint8_t)half,
		.link = pkt_of((struct rte_mbuf *)(uintptr_t)m)->link};
	const void *frame = rte_pktmbuf_read(m, 0, bytes, kept->frame);
	if (frame && frame != kept->frame)
		memcpy(kept->frame, frame, bytes);
	*last = at + 1;
}

// The newest packets of the flow, newest first; how many.
static unsigned find(struct incident_ring *ring, uint64_t id, struct kept *found[INCIDENT_PKTS_MAX])
{
	uint64_t next = *bucket_of(ring, id), newer = UINT64_MAX;
	unsigned n = 0;

	for (unsigned step = 0; step < STEPS_MAX && n < INCIDENT_PKTS_MAX && next; step++) {
		uint64_t at = next - 1;

		if (at >= newer || at + ring->size < ring->head)
			break; // overwritten
		struct kept *kept = kept_at(ring, at);

		if (kept->flow_id == id)
			found[n++] = kept;
		next = kept->before;
		newer = at;
	}
	return n;
}

void incident_tell(struct lcore *lcore, uint32_t ref, uint32_t rule_uid, const struct item_id *item)
{
	struct content *content = lcore->content;
	struct kept *found[INCIDENT_PKTS_MAX];
	struct event event = {0};
	unsigned n;

	if (!content->incidents)
		return;
	n = find(content->incidents, incident_flow_id(lcore, ref), found);
	flow_event_identify(lcore, ref, &event);
	event_stamp(lcore, &event);
	event.alert.item = *item;
	if (rule_uid)
		event.rule_uid = rule_uid;
	for (unsigned i = 0; i < n; i++) {
		const struct kept *kept = found[n - 1 - i];
		struct content_record *record = content_part_new(content->channel, kept->bytes);

		if (!record)
			return;
		record->kind = CONTENT_RECORD_PACKET;
		record->half = kept->half;
		record->link = kept->link;
		record->length = kept->bytes;
		record->at = kept->at_ns;
		record->size = kept->length;
		record->id = i + 1;
		record->goes_on = i + 1 < n;
		record->event = event;
		memcpy(record->bytes, kept->frame, kept->bytes);
		content_record_send(content->channel, record);
	}
}
