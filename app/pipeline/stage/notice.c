// SPDX-License-Identifier: BSD-3-Clause
// Pages for clients whose answer was refused, until they have them.
#include "pipeline/stage/notice.h"

#include <netinet/tcp.h>
#include <string.h>
#include <rte_malloc.h>
#include "pipeline/content/notice.h"
#include "pipeline/egress/egress.h"
#include "pipeline/flow/table.h"
#include "pipeline/stage/inspect_track.h"
#include "pipeline/stage/teardown.h"
#include "pipeline/wire/craft.h"
#include "pipeline/wire/resegment.h"
#include "reassembly/seq.h"
#include "reassembly/tcp_track.h"

#define BUCKETS    NOTICES_MAX
#define LOOK_MAX   16    // places that are looked at in a turn
#define OUR_WINDOW 65535 // bytes that a client may send before it hears of us again

struct notice {
	struct craft_segment
		spec; // seq: the page's first byte; ack: behind what the client has sent
	uint8_t l2[FLOW_L2_MAX];
	struct content_notice page;
	uint64_t paged_ns; // when it was sent last
	uint64_t due_ns;
	uint32_t stub, gen;
	uint32_t heard; // the client's highest acknowledgement
	uint16_t next;  // in its bucket, or of the free ones; from 1, 0: none
	uint16_t answers;
	uint8_t port, pages;
	bool taken, read, closed;
};

struct notices {
	uint16_t bucket[BUCKETS]; // by stub
	uint16_t free, n;
	uint16_t looked_at;
	struct notice at[NOTICES_MAX];
};

bool notices_new(struct lcore *lcore)
{
	struct notices *notices =
		rte_zmalloc_socket("notices", sizeof(*notices), 64, lcore->socket);

	if (!notices)
		return false;
	for (uint16_t i = 1; i < NOTICES_MAX; i++)
		notices->at[i - 1].next = i + 1;
	notices->free = 1;
	lcore->notices = notices;
	return true;
}

void notices_free(struct lcore *lcore)
{
	rte_free(lcore->notices);
	lcore->notices = NULL;
}

static uint16_t *bucket_of(struct notices *notices, uint32_t stub)
{
	return &notices->bucket[stub % BUCKETS];
}

static void give(struct notices *notices, struct notice *notice)
{
	uint16_t number = (uint16_t)(notice - notices->at + 1);
	uint16_t *at = bucket_of(notices, notice->stub);

	while (*at && *at != number)
		at = &notices->at[*at - 1].next;
	if (*at)
		*at = notice->next;
	notice->taken = false;
	notice->next = notices->free;
	notices->free = number;
	notices->n--;
}

static bool is_alive(const struct lcore *lcore, const struct notice *notice)
{
	const struct flow_stub *stub = flow_stub_at(lcore->flows, notice->stub);

	return stub->gen == notice->gen && stub->lru_class == FLOW_CLASS_BLOCKED;
}

static struct notice *find(const struct lcore *lcore, uint32_t stub)
{
	struct notices *notices = lcore->notices;

	for (uint16_t at = *bucket_of(notices, stub); at; at = notices->at[at - 1].next)
		if (notices->at[at - 1].stub == stub && is_alive(lcore, &notices->at[at - 1]))
			return &notices->at[at - 1];
	return NULL;
}

// ---- segments ----

static uint32_t page_end(const struct notice *notice)
{
	return notice->spec.seq + notice->page.length + 1; // and the FIN
}

static bool put(struct lcore *lcore, const struct notice *notice, const struct craft_segment *spec)
{
	struct rte_mbuf *m = teardown_packet(lcore, notice->port, spec->link);

	if (!m)
		return false;
	if (craft_segment(m, spec)) {
		rte_pktmbuf_free(m);
		return false;
	}
	egress_inject(lcore, m, FLOW_REF_NONE, EGRESS_INJECTED_FLOW);
	return true;
}

static bool send_page(struct lcore *lcore, struct notice *notice)
{
	struct craft_segment spec = notice->spec;

	spec.tcp_flags = TH_ACK | TH_PUSH | TH_FIN;
	spec.l2 = notice->l2;
	spec.payload = notice->page.bytes;
	spec.length = notice->page.length;
	if (!put(lcore, notice, &spec))
		return false;
	lcore->stats.notices_sent++;
	lcore->stats.notices_again += notice->pages > 0;
	notice->due_ns = lcore->now_ns + (NS_PER_S << notice->pages);
	notice->paged_ns = lcore->now_ns;
	if (++notice->pages == NOTICE_PAGES_MAX)
		notice->due_ns = lcore->now_ns + NOTICE_GIVE_UP_NS;
	return true;
}

static void send_ack(struct lcore *lcore, const struct notice *notice)
{
	struct craft_segment spec = notice->spec;

	spec.tcp_flags = TH_ACK;
	spec.l2 = notice->l2;
	if (notice->read)
		spec.seq = page_end(notice);
	put(lcore, notice, &spec);
}

// At the number that the client expects next.
static void send_reset(struct lcore *lcore, const struct notice *notice)
{
	struct craft_segment spec = notice->spec;

	if (!teardown_may_reset(lcore))
		return;
	spec.tcp_flags = TH_RST | TH_ACK;
	spec.l2 = notice->l2;
	spec.stamped = false;
	spec.window = 0;
	spec.seq = notice->heard;
	lcore->stats.resets_sent += put(lcore, notice, &spec);
}

// ---- a page ----

static uint8_t scale_of(const struct flow_cold *cold, unsigned half)
{
	uint8_t own = cold->half[half].window_scale, other = cold->half[!half].window_scale;

	return own == WINDOW_SCALE_NONE || other == WINDOW_SCALE_NONE ? 0 : own;
}

static void raise_time(struct craft_segment *spec, uint32_t value)
{
	if (seq_lt(spec->ts_value, value))
		spec->ts_value = value;
}

// What both ends have said of time. The client takes nothing older than what it had of its server,
// also in segments without bytes (RFC 7323 section 5).
static void stamp(struct craft_segment *spec, const struct tcp_track *track)
{
	const struct tcp_half *client = &track->half[HALF_C2S], *server = &track->half[HALF_S2C];

	if (!(client->flags & HALF_STAMPED))
		return;
	spec->stamped = true;
	spec->ts_echo = client->newest_tsval;
	spec->ts_value = client->newest_tsecr;
	if (server->flags & HALF_TIMESTAMP)
		raise_time(spec, server->ts_recent);
	if (server->flags & HALF_STAMPED)
		raise_time(spec, server->newest_tsval);
}

// Behind what has left of the client's half, and what is at hand of it. False: not known.
static bool ack_of(const struct flow *flow, const struct pkt *pkt, uint32_t *ack)
{
	if (flow->seen[HALF_C2S] & SEEN_RELEASED)
		*ack = flow->released[HALF_C2S];
	else if (pkt)
		*ack = pkt->tcp_seq;
	else
		return false;
	if (!pkt || seq_lt(*ack, pkt->tcp_seq))
		return true;
	uint32_t end = pkt->tcp_seq + pkt->payload_len + !!(pkt->tcp_flags & TH_FIN);

	if (seq_lt(*ack, end))
		*ack = end;
	return true;
}

static bool fits(const struct flow_cold *cold, uint16_t length)
{
	return (uint64_t)cold->half[HALF_C2S].window << scale_of(cold, HALF_C2S) >= length;
}

// It travels as packets of the server do or, where none was seen since the handshake, as an answer
// to the one at hand. False: neither is known.
static bool route(struct lcore *lcore, struct notice *notice, const struct flow *flow,
	const struct flow_half *from, struct rte_mbuf *m)
{
	struct craft_segment *spec = &notice->spec;

	if (flow->seen[HALF_S2C] & SEEN_TEMPLATE) {
		spec->l2_length = from->l2_length;
		spec->link = from->link;
		spec->pppoe = from->l2_flags & PKT_PPPOE;
		spec->ttl = from->ttl;
		memcpy(notice->l2, from->l2, sizeof(notice->l2));
		notice->port = from->port;
		return !(from->l2_flags & PKT_TUNNEL);
	}
	if (!m)
		return false;
	spec->link = pkt_of(m)->link;
	spec->pppoe = pkt_of(m)->flags & PKT_PPPOE;
	notice->port = lcore->dp->ports[pkt_of(m)->in_port].peer;
	return notice->port != PORT_NONE &&
	       !craft_l2_back(m, notice->l2, sizeof(notice->l2), &spec->l2_length);
}

static bool fill(struct lcore *lcore, struct notice *notice, uint32_t ref, struct rte_mbuf *m,
	const struct tcp_track *track)
{
	const struct flow *flow = flow_at(lcore->flows, ref);
	const struct flow_cold *cold = flow_cold_at(lcore->flows, ref);
	struct craft_segment *spec = &notice->spec;

	*spec = (struct craft_segment){
		.v6 = flow->flags & FLOW_V6,
		.sport = cold->ends.port[HALF_S2C],
		.dport = cold->ends.port[HALF_C2S],
		.seq = half_seq(&track->half[HALF_S2C], notice->page.from64),
		.window = (uint16_t)(OUR_WINDOW >> scale_of(cold, HALF_S2C)),
	};
	memcpy(spec->source, cold->ends.address[HALF_S2C], 16);
	memcpy(spec->destination, cold->ends.address[HALF_C2S], 16);
	stamp(spec, track);
	notice->heard = spec->seq;
	return fits(cold, notice->page.length) && ack_of(flow, m ? pkt_of(m) : NULL, &spec->ack) &&
	       route(lcore, notice, flow, &cold->half[HALF_S2C], m);
}

struct notice *notice_show(struct lcore *lcore, uint32_t ref, struct rte_mbuf *m)
{
	struct notices *notices = lcore->notices;
	const struct tcp_track *track = inspect_track(lcore, flow_cold_at(lcore->flows, ref));
	struct content_notice page;

	if (likely(!flow_content_notice(lcore, ref, &page)) || !track)
		return NULL;
	if (!notices || !notices->free) {
		lcore->stats.notices_full++;
		return NULL;
	}
	struct notice *notice = &notices->at[notices->free - 1];
	uint16_t next = notice->next;

	*notice = (struct notice){.page = page, .stub = FLOW_REF_NONE};
	if (!fill(lcore, notice, ref, m, track) || !teardown_may_reset(lcore) ||
		!send_page(lcore, notice)) {
		lcore->stats.notices_late++;
		notice->next = next;
		return NULL;
	}
	notices->free = next;
	notices->n++;
	notice->taken = true;
	return notice;
}

void notice_keep(struct lcore *lcore, struct notice *notice, uint32_t stub)
{
	struct notices *notices = lcore->notices;

	if (!notice)
		return;
	if (stub == FLOW_REF_NONE) {
		give(notices, notice);
		return;
	}
	uint16_t *bucket = bucket_of(notices, stub);

	notice->stub = stub;
	notice->gen = flow_stub_at(lcore->flows, stub)->gen;
	notice->next = *bucket;
	*bucket = (uint16_t)(notice - notices->at + 1);
}

// ---- the client ----

// What the client says of the page, and sends. False: it cannot be its own.
static bool hear(struct lcore *lcore, struct notice *notice, const struct packet_ctx *ctx)
{
	const struct pkt *pkt = ctx->pkt;
	struct segment_times times = segment_times(ctx->m, pkt);
	uint32_t end = pkt->tcp_seq + pkt->payload_len + !!(pkt->tcp_flags & TH_FIN);

	if (!(pkt->tcp_flags & TH_ACK) || seq_lt(page_end(notice), pkt->tcp_ack))
		return false;
	if (seq_lt(notice->heard, pkt->tcp_ack))
		notice->heard = pkt->tcp_ack;
	if (!notice->read && pkt->tcp_ack == page_end(notice)) {
		notice->read = true;
		notice->due_ns = lcore->now_ns + NOTICE_LINGER_NS;
	}
	if (seq_lt(notice->spec.ack, end) && end - notice->spec.ack <= NOTICE_BEHIND_MAX)
		notice->spec.ack = end;
	if (times.present) {
		notice->spec.ts_echo = times.value;
		raise_time(&notice->spec, times.echo);
	}
	return true;
}

static void answer(struct lcore *lcore, struct notice *notice, const struct pkt *pkt)
{
	bool fin = pkt->tcp_flags & TH_FIN;

	if (!pkt->payload_len && !fin)
		return;
	if (++notice->answers > NOTICE_ANSWERS_MAX) {
		send_reset(lcore, notice);
		give(lcore->notices, notice);
		return;
	}
	if (!notice->read && notice->pages < NOTICE_PAGES_MAX &&
		lcore->now_ns - notice->paged_ns >= NOTICE_AGAIN_NS)
		send_page(lcore, notice);
	else
		send_ack(lcore, notice);
	if (fin && notice->read && !notice->closed) {
		notice->closed = true;
		notice->due_ns = lcore->now_ns + NOTICE_CLOSED_NS;
	}
}

bool notice_takes(struct lcore *lcore, const struct packet_ctx *ctx)
{
	const struct notices *notices = lcore->notices;
	const struct pkt *pkt = ctx->pkt;

	if (likely(!notices || !notices->n))
		return false;
	const struct flow_stub *stub = flow_stub_at(lcore->flows, ctx->ref);

	if (flow_half_by(stub->flags, pkt) != HALF_C2S)
		return false;
	struct notice *notice = find(lcore, ctx->ref);

	if (!notice)
		return false;
	if (pkt->tcp_flags & TH_RST) {
		if (pkt->tcp_seq == notice->spec.ack)
			give(lcore->notices, notice);
		return true;
	}
	if (hear(lcore, notice, ctx))
		answer(lcore, notice, pkt);
	return true;
}

// ---- time ----

static void look(struct lcore *lcore, struct notice *notice)
{
	if (lcore->now_ns < notice->due_ns && is_alive(lcore, notice))
		return;
	if (is_alive(lcore, notice) && !notice->read && notice->pages < NOTICE_PAGES_MAX) {
		if (!send_page(lcore, notice))
			notice->due_ns = lcore->now_ns + NS_PER_S;
		return;
	}
	if (is_alive(lcore, notice) && !notice->closed) {
		lcore->stats.notices_unread += !notice->read;
		send_reset(lcore, notice);
	}
	give(lcore->notices, notice);
}

void notices_turn(struct lcore *lcore)
{
	struct notices *notices = lcore->notices;

	if (likely(!notices || !notices->n))
		return;
	for (unsigned i = 0; i < LOOK_MAX; i++) {
		struct notice *notice = &notices->at[notices->looked_at];

		notices->looked_at = (uint16_t)((notices->looked_at + 1) % NOTICES_MAX);
		if (notice->taken)
			look(lcore, notice);
	}
}
