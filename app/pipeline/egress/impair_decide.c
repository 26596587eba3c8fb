// SPDX-License-Identifier: BSD-3-Clause
// Draws the fate of a packet on an impaired link from a hash.
#include "pipeline/egress/impair_decide.h"

#include <netinet/in.h>
#include <netinet/tcp.h>

#define CHAIN_LOOK_BACK 65536 // steps: r is at least 0.001 (gateway.json)

// What a draw is for.
enum {
	DRAW_LOSS = 1,
	DRAW_STATE,
	DRAW_DUPLICATE,
	DRAW_CORRUPT,
	DRAW_BIT,
	DRAW_REORDER,
	DRAW_JITTER
};
// What a sequence counts; segments of both kinds may bear the same number.
enum { COUNTS_SEQ = 1, COUNTS_ACK, COUNTS_FLAGS, COUNTS_PKTS };

// A packet as chance sees it.
struct subject {
	uint64_t decided_by;
	uint32_t sequence;
	uint32_t transmission;
	uint32_t counts;
};

static uint64_t mix(uint64_t a, uint64_t b)
{
	uint64_t x = a ^ (b + 0x9e3779b97f4a7c15ull + (a << 6) + (a >> 2));

	x = (x ^ x >> 33) * 0xff51afd7ed558ccdull;
	x = (x ^ x >> 33) * 0xc4ceb9fe1a85ec53ull;
	return x ^ x >> 33;
}

static bool happens(uint64_t draw, uint64_t share)
{
	return draw >> 32 < share;
}

static uint64_t hash_key(const union flow_key *key, bool v6)
{
	uint64_t words[sizeof(union flow_key) / 8];
	size_t n = (v6 ? sizeof(struct flow_key6) : sizeof(struct flow_key4)) / 8;
	uint64_t hash = v6;

	memcpy(words, key, n * 8);
	n -= !v6 && !key->v4.realm; // the word of the realm
	for (unsigned i = 0; i < n; i++)
		hash = mix(hash, words[i]);
	return hash;
}

static bool has_ports(const struct pkt *pkt)
{
	return pkt->l4_proto == IPPROTO_TCP || pkt->l4_proto == IPPROTO_UDP ||
	       pkt->l4_proto == IPPROTO_SCTP;
}

// Of a fragment the ports of its key are the datagram's identification.
static void strip_ports(const struct pkt *pkt, union flow_key *key, bool both)
{
	uint16_t *a = pkt->flags & PKT_V6 ? &key->v6.port_a : &key->v4.port_a;
	uint16_t *b = pkt->flags & PKT_V6 ? &key->v6.port_b : &key->v4.port_b;

	if (both || *a > *b)
		*a = 0;
	if (both || *b > *a)
		*b = 0;
}

static struct impair_flow *flow_find(struct impair_memory *memory,
	const struct impair_settings *settings, enum impair_way way, const struct pkt *pkt,
	const union flow_key *key)
{
	union flow_key plain = {0};
	bool v6 = pkt->flags & PKT_V6;
	uint64_t tag = mix(pkt->class, pkt->ethertype);

	if (key) {
		plain = *key;
		if (pkt->flags & PKT_FRAGMENT)
			strip_ports(pkt, &plain, true);
		tag = hash_key(&plain, v6);
	}
	tag = mix(tag, way) | 1; // 0 is an empty place
	struct impair_flow *set = memory->flows[(tag >> 32) % IMPAIR_FLOW_SETS], *place = set;

	memory->clock++;
	for (unsigned i = 0; i < IMPAIR_FLOW_WAYS; i++) {
		if (set[i].tag == tag) {
			set[i].used = memory->clock;
			return &set[i];
		}
		if (memory->clock - set[i].used > memory->clock - place->used)
			place = &set[i];
	}
	if (key && has_ports(pkt) && !settings->whole_tuple)
		strip_ports(pkt, &plain, false);
	uint64_t by = key ? mix(hash_key(&plain, v6), way) : tag;

	*place = (struct impair_flow){.tag = tag,
		.used = memory->clock,
		.decided_by = mix(by, settings->seed),
		.connection = memory->connections++};
	return place;
}

// How often it was seen before.
static uint32_t seen(struct impair_memory *memory, uint64_t what)
{
	uint64_t *set = memory->seen[what % IMPAIR_SEEN_SETS], tag = what & ~UINT64_C(0xffff);
	uint32_t count = 0;
	unsigned i = 0;

	while (i < IMPAIR_SEEN_WAYS - 1 && (set[i] & ~UINT64_C(0xffff)) != tag)
		i++;
	if ((set[i] & ~UINT64_C(0xffff)) == tag)
		count = set[i] & 0xffff;
	memmove(set + 1, set, i * sizeof(*set));
	set[0] = tag | (count < 0xffff ? count + 1 : count);
	return count;
}

static struct subject subject_tcp(
	struct impair_memory *memory, struct impair_flow *flow, const struct pkt *pkt)
{
	struct subject subject = {.counts = COUNTS_SEQ};

	// A connection begins, on a tuple that had one.
	if (pkt->tcp_flags & TH_SYN && flow->has_seq && flow->seq_first != pkt->tcp_seq) {
		flow->connection = memory->connections++;
		flow->has_seq = flow->has_ack = false;
	}
	if (!flow->has_seq) {
		flow->has_seq = true;
		flow->seq_first = pkt->tcp_seq;
	}
	if (!flow->has_ack && pkt->tcp_flags & TH_ACK) {
		flow->has_ack = true;
		flow->ack_first = pkt->tcp_ack;
	}
	if (pkt->payload_len) {
		subject.sequence = (pkt->tcp_seq - flow->seq_first) / IMPAIR_BLOCK;
	} else if (pkt->tcp_flags & (TH_SYN | TH_FIN | TH_RST)) {
		subject.counts = COUNTS_FLAGS;
		subject.sequence = pkt->tcp_seq - flow->seq_first;
	} else {
		subject.counts = COUNTS_ACK;
		subject.sequence = (pkt->tcp_ack - flow->ack_first) / IMPAIR_BLOCK;
	}
	subject.transmission =
		seen(memory, mix(mix(flow->tag, flow->connection),
				     (uint64_t)subject.counts << 32 | subject.sequence));
	return subject;
}

static uint64_t draw(const struct subject *subject, unsigned what)
{
	uint64_t of = mix((uint64_t)subject->counts << 32 | subject->transmission,
		(uint64_t)what << 32 | subject->sequence);

	return mix(subject->decided_by, of);
}

// What a step of the chain does: a draw is below p, above 1 - r, both, or neither.
static bool is_bad(const struct subject *subject, const struct impair_link *link)
{
	struct subject at = *subject;
	bool odd = false; // number of flips on the way back

	if (at.counts == COUNTS_FLAGS) { // on their way with the payload
		at.counts = COUNTS_SEQ;
		at.sequence /= IMPAIR_BLOCK;
	}
	for (unsigned i = 0; i < CHAIN_LOOK_BACK; i++, at.sequence--) {
		uint64_t u = draw(&at, DRAW_STATE) >> 32;
		bool goes_bad = u < link->to_bad, goes_good = u >= IMPAIR_ALWAYS - link->to_good;

		if (goes_bad && goes_good)
			odd = !odd;
		else if (goes_bad || goes_good)
			return goes_bad != odd;
		if (!at.sequence)
			break;
	}
	return odd; // good before the first step
}

static bool is_lost(const struct subject *subject, const struct impair_link *link)
{
	uint64_t share = link->lost_good;

	if (link->loss == IMPAIR_GILBERT_ELLIOTT && is_bad(subject, link))
		share = link->lost_bad;
	return happens(draw(subject, DRAW_LOSS), share);
}

static int64_t jitter(const struct subject *subject, uint64_t jitter_ns)
{
	uint64_t width = 2 * jitter_ns + 1, u = draw(subject, DRAW_JITTER);

	return (int64_t)(uint64_t)((unsigned __int128)u * width >> 64) - (int64_t)jitter_ns;
}

struct impairment_of_packet impair_decide(struct impair_memory *memory,
	const struct impair_settings *settings, enum impair_way way, const struct pkt *pkt,
	const union flow_key *key)
{
	const struct impair_link *link = &settings->links[way];
	struct impair_flow *flow = flow_find(memory, settings, way, pkt, key);
	struct subject subject = {.counts = COUNTS_PKTS};

	if (key && pkt->l4_proto == IPPROTO_TCP && pkt->flags & PKT_L4_OK &&
		!(pkt->flags & PKT_FRAGMENT)) {
		subject = subject_tcp(memory, flow, pkt);
	} else {
		subject.sequence = flow->pkts++;
	}
	subject.decided_by = flow->decided_by;
	return (struct impairment_of_packet){
		.lost = is_lost(&subject, link),
		.duplicated = happens(draw(&subject, DRAW_DUPLICATE), link->duplicate),
		.corrupted = happens(draw(&subject, DRAW_CORRUPT), link->corrupt),
		.reordered = happens(draw(&subject, DRAW_REORDER), link->reorder),
		.jitter_ns = jitter(&subject, link->jitter_ns),
		.bit = draw(&subject, DRAW_BIT),
	};
}
