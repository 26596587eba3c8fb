// SPDX-License-Identifier: BSD-3-Clause
// Accounting of a packet on its stub or flow: direction, counters, time-out class, TCP edges, and
// the step from stub to flow when the first payload is seen, or a FIN ahead of it.
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include "flow_event.h"
#include "flow_rate.h"
#include "hold.h"
#include "inspect.h"
#include "inspect_learned.h"
#include "resegment.h"
#include "seq.h"
#include "tcp_state.h"
#include "tx.h"
#include "walk.h"

// A RST, FIN or acknowledgement further than this from the edge is not believed: it may be forged.
#define EDGE_TOLERANCE (1u << 20)

static bool is_tcp(const struct pkt *pkt)
{
	return pkt->l4_proto == IPPROTO_TCP && pkt->flags & PKT_L4_OK;
}

static bool has_payload(const struct pkt *pkt)
{
	return pkt->flags & PKT_L4_OK && pkt->payload_len &&
	       (pkt->l4_proto == IPPROTO_TCP || pkt->l4_proto == IPPROTO_UDP);
}

static uint32_t sat_add(uint32_t a, uint32_t b)
{
	return a > UINT32_MAX - b ? UINT32_MAX : a + b;
}

// A FIN before had its place by another number.
static void begin_at(struct flow_stub *stub, unsigned half, uint32_t isn)
{
	if (stub->isn[half] != isn)
		stub->tcp_flags[half] &= (uint8_t)~TH_FIN;
	stub->isn[half] = isn;
}

// Where the halves begin. A SYN-ACK says which of the other side's SYNs was taken; until then the
// last one holds, afterwards another SYN changes nothing.
static void account_syn(struct flow_stub *stub, struct rte_mbuf *m, unsigned half)
{
	const struct pkt *pkt = pkt_of(m);

	// the first acknowledgement says which of several SYN-ACKs was taken; or it is of a FIN,
	// too
	bool of_fin = stub->tcp_flags[!half] & TH_FIN && pkt->tcp_ack == stub->isn[!half] + 2;

	if ((pkt->tcp_flags & (TH_SYN | TH_ACK | TH_RST)) == TH_ACK &&
		stub->tcp_flags[half] & stub->tcp_flags[!half] & TH_SYN &&
		!(stub->tcp_flags[half] & TH_ACK) && pkt->tcp_seq == stub->isn[half] + 1 &&
		pkt->tcp_ack != stub->isn[!half] + 1 && !of_fin) {
		begin_at(stub, !half, pkt->tcp_ack - 1);
		stub->window_scale[!half] = WINDOW_SCALE_MAX; // of a SYN before the last
	}
	if (!(pkt->tcp_flags & TH_SYN))
		return;
	bool other = stub->tcp_flags[!half] & TH_SYN;

	if (other && pkt->tcp_flags & TH_ACK) {
		bool same = pkt->tcp_ack == stub->isn[!half] + 1;

		// one that was acknowledged stays, whatever another says, unless a SYN came since
		if (stub->tcp_flags[half] & TH_SYN &&
			(stub->tcp_flags[!half] & TH_ACK || half == HALF_C2S))
			return;
		if (same)
			stub->flags &= (uint16_t)~FLOW_UNCONFIRMED;
		else
			stub->window_scale[!half] = WINDOW_SCALE_MAX; // of a SYN before the last
		begin_at(stub, !half, pkt->tcp_ack - 1);
		begin_at(stub, half, pkt->tcp_seq);
		stub->window_scale[half] = segment_scale(m, pkt);
	} else if (!other || !(stub->tcp_flags[half] & TH_SYN)) {
		begin_at(stub, half, pkt->tcp_seq);
		stub->window_scale[half] = segment_scale(m, pkt);
	} else if (pkt->tcp_seq != stub->isn[half]) {
		stub->tcp_flags[half] &= (uint8_t)~TH_ACK;
	}
}

// A FIN that is not the first octet of its half is ahead of payload that comes later: where it lies
// is known to a flow only, and by it what its receiver may acknowledge.
static bool is_fin_ahead(const struct lcore *lcore, const struct walk *walk)
{
	const struct flow_stub *stub = flow_stub_at(lcore->flows, walk->ref);
	const struct pkt *pkt = walk->pkt;

	return is_tcp(pkt) && (pkt->tcp_flags & (TH_SYN | TH_RST | TH_FIN)) == TH_FIN &&
	       stub->tcp_flags[walk->half] & TH_SYN && pkt->tcp_seq != stub->isn[walk->half] + 1 &&
	       !(stub->flags & FLOW_UNCONFIRMED);
}

static void account_stub(struct lcore *lcore, struct walk *walk)
{
	struct flow_stub *stub = flow_stub_at(lcore->flows, walk->ref);
	const struct pkt *pkt = walk->pkt;
	unsigned half = walk->half;

	if (stub->pkts[half] < UINT16_MAX)
		stub->pkts[half]++;
	stub->bytes[half] = sat_add(stub->bytes[half], walk->m->pkt_len);
	if (is_tcp(pkt)) {
		account_syn(stub, walk->m, half);
		stub->tcp_flags[half] |= pkt->tcp_flags;
	}
	flow_touch(lcore->flows, walk->ref, stub->lru_class, lcore->now_ns);
}

static uint64_t unseen_until(const struct lcore *lcore)
{
	return atomic_load_explicit(&lcore->unseen_until_ns, memory_order_relaxed);
}

// Packets may have passed unseen since the stub's last one, which is known to a tick.
static bool stub_is_out_of_date(const struct lcore *lcore, const struct flow_stub *stub)
{
	uint64_t until = unseen_until(lcore);

	return until && (int32_t)((uint32_t)(until >> STUB_TICK_SHIFT) - stub->last_tick) > 0;
}

uint16_t walk_app_by_network(const struct lcore *lcore, const struct flow_ends *ends)
{
	return app_networks_find(&lcore->policy->app_networks, ends->address[HALF_S2C]);
}

static void know_by_network(struct flow *flow, uint16_t app)
{
	flow->app = app;
	flow->confidence = app ? CONFIDENCE_IP : CONFIDENCE_NONE;
	flow->decided_pkts = app ? 1 : 0;
}

static bool passes_midstream(const struct lcore *lcore, const struct flow *flow)
{
	return lcore->policy->tcp.midstream == TCP_MIDSTREAM_PASS && lcore->policy->enforces &&
	       !(flow->flags & FLOW_ALLOWED);
}

// tcp.midstream is pass: what it carries is not looked at, only its ends are. Decided for good when
// nothing before it is under inspection.
static void pass_midstream(struct lcore *lcore, uint32_t ref)
{
	struct flow *flow = flow_at(lcore->flows, ref);

	flow->flags |= FLOW_APP_FINAL;
	app_usage_settle(lcore->apps, flow);
	flow_cold_at(lcore->flows, ref)->report.passed |= 1 << STREAM_TARGET_MIDSTREAM;
	lcore->stats.flows_midstream_passed++;
}

// The stub's first payload, or a FIN ahead of it: a flow takes over its key and what it knows.
static bool promote(struct lcore *lcore, struct walk *walk)
{
	const struct pkt *pkt = walk->pkt;
	struct flow_stub stub = *flow_stub_at(lcore->flows, walk->ref);
	enum flow_class class =
		stub.l4_proto == IPPROTO_TCP ? FLOW_CLASS_TCP : FLOW_CLASS_UDP_ONE_WAY;
	uint32_t ref = flow_add(lcore, walk->key, pkt->hash, walk->v6, walk->ref, class);

	if (ref == FLOW_REF_NONE)
		return false;
	walk->ref = ref;
	bool unseen = stub_is_out_of_date(lcore, &stub);
	struct flow *flow = flow_at(lcore->flows, ref);
	struct flow_cold *cold = flow_cold_at(lcore->flows, ref);

	flow->flags |= stub.flags;
	flow->l4_proto = stub.l4_proto;
	flow->in_port = stub.in_port;
	flow->tcp_state =
		(uint8_t)tcp_state_next(tcp_state_of_flags(stub.tcp_flags), TCP_EVENT_USED);
	flow->policy_epoch = stub.policy_epoch;
	flow->n_vlan = pkt->n_vlan;
	memcpy(flow->vlan, pkt->vlan, sizeof(flow->vlan));
	flow_ends_of(walk->key, flow->flags, &cold->ends);
	for (unsigned half = 0; half < 2; half++) {
		flow->pkts[half] = stub.pkts[half];
		flow->bytes[half] = stub.bytes[half];
		flow->tcp_flags[half] = stub.tcp_flags[half];
		cold->half[half].window_scale = stub.window_scale[half];
		if (stub.tcp_flags[half] & TH_SYN && stub.l4_proto == IPPROTO_TCP && !unseen) {
			cold->half[half].start_seq = stub.isn[half] + 1;
			cold->half[half].has_start = true;
			flow->released[half] = stub.isn[half] + 1;
			flow->seen[half] |= SEEN_RELEASED;
			if (stub.tcp_flags[!half] & TH_ACK) {
				flow->acked[half] = stub.isn[half] + 1;
				flow->seen[half] |= SEEN_ACKED;
			}
			if (stub.tcp_flags[half] & TH_FIN)
				flow->seen[half] |= SEEN_FIN_FIRST;
		}
	}
	if (is_tcp(pkt) && pkt->tcp_flags & TH_SYN)
		flow->seen[walk->half] |= SEEN_SYN_DATA;
	bool is_midstream =
		stub.l4_proto == IPPROTO_TCP && !((stub.tcp_flags[0] | stub.tcp_flags[1]) & TH_SYN);

	if (is_midstream || (unseen && stub.l4_proto == IPPROTO_TCP)) {
		flow->flags |= FLOW_MIDSTREAM;
		lcore->stats.flows_midstream++;
	}
	cold->expected = expect_take(lcore, &cold->ends, flow->l4_proto, &flow->app);
	if (cold->expected != EXPECT_NONE)
		flow->confidence = CONFIDENCE_CACHE;
	else if (stub.app)
		know_by_network(flow, stub.app);
	learned_ask(lcore, cold, flow->l4_proto);
	if (unlikely(is_midstream && passes_midstream(lcore, flow)))
		pass_midstream(lcore, ref);
	walk->made = true;
	if (!(stub.flags & FLOW_MONITORED)) // else its stub has said so
		walk_evidence_made(lcore, walk);
	if (flow->app) {
		bool expected = flow->confidence == CONFIDENCE_CACHE;
		struct evidence *evidence = walk_evidence(
			lcore, walk, expected ? EVIDENCE_EXPECTED : EVIDENCE_USER_APP);

		flow->decided_pkts = 1;
		lcore->stats.classify_cache += expected;
		evidence->app = flow->app;
		evidence->confidence = flow->confidence;
		if (!expected)
			evidence->detail = EVIDENCE_BY_ADDRESS;
		else
			learned_expected(lcore, walk->ref, evidence);
	}
	walk->undecided = true;
	return true;
}

// The L2 header of the half's first packet. One that is too long leaves the half without: its
// teardown is by drop.
static void keep_template(
	struct flow *flow, struct flow_half *half, unsigned which, struct rte_mbuf *m)
{
	const struct pkt *pkt = pkt_of(m);

	if (pkt->outer_l3_off > sizeof(half->l2))
		return;
	const uint8_t *l2 = rte_pktmbuf_read(m, 0, pkt->outer_l3_off, half->l2);

	if (!l2)
		return;
	if (l2 != half->l2)
		memcpy(half->l2, l2, pkt->outer_l3_off);
	flow->seen[which] |= SEEN_TEMPLATE;
	half->l2_length = (uint8_t)pkt->outer_l3_off;
	half->port = pkt->in_port;
	half->ttl = pkt->ttl;
	half->window = pkt->tcp_win;
	half->link = pkt->link;
	half->l2_flags = pkt->flags & (PKT_PPPOE | PKT_TUNNEL);
}

static bool near_edge(const struct flow *flow, unsigned half, uint32_t seq)
{
	return !(flow->seen[half] & SEEN_RELEASED) ||
	       seq - flow->released[half] + EDGE_TOLERANCE <= 2 * EDGE_TOLERANCE;
}

// A receiver may leave the payload of a SYN (RFC 7413 section 4.2.2): what comes in its place later
// is then the first that counts, and may be something else.
static void forget_syn_data(struct lcore *lcore, struct walk *walk, unsigned half)
{
	struct flow *flow = flow_at(lcore->flows, walk->ref);
	struct flow_cold *cold = flow_cold_at(lcore->flows, walk->ref);
	uint32_t start = cold->half[half].start_seq;
	struct tcp_track *track = cold->track ? track_at(lcore->tracker, cold->track) : NULL;

	flow->seen[half] &= (uint8_t)~SEEN_SYN_DATA;
	if (!cold->half[half].has_start || walk->pkt->tcp_ack != start)
		return;
	if (track ? !track->half[half].next : !cold->half[half].late)
		return; // nothing of it was taken
	if (track && !track_restart(lcore->tracker, track, half, start - 1))
		return;
	hold_anew(lcore, walk->ref, half);
	cold->half[half].late = false;
	flow->taken_pkts = flow->taken_small = cold->half[half].taken_bytes = 0;
	flow->released[half] = start;
	classify_end(lcore->classifier, &flow->classify_state);
	classify_end(lcore->classifier, &flow->decoder_state);
	cold->greeting = GREETING_AWAITED;
	know_by_network(flow, walk_app_by_network(lcore, &cold->ends));
	learned_expected_again(lcore, flow, cold);
	flow->signature = UINT16_MAX;
	flow->flags &=
		(uint16_t) ~(FLOW_APP_FINAL | FLOW_FINAL | FLOW_GAVEUP | FLOW_DECODED | FLOW_NOMEM);
}

// A SYN in a connection that lives is a challenge (RFC 5961 section 4) unless a SYN-ACK takes it:
// then both ends have begun anew on the same tuple.
static void account_syn_again(struct lcore *lcore, struct walk *walk)
{
	struct flow *flow = flow_at(lcore->flows, walk->ref);
	unsigned half = walk->half;

	if (walk->pkt->tcp_flags & TH_ACK) {
		if (flow->seen[!half] & SEEN_SYN_DATA) {
			flow_cold_at(lcore->flows, walk->ref)->half[half].window_scale =
				segment_scale(walk->m, walk->pkt);
			forget_syn_data(lcore, walk, !half);
		}
		return;
	}
	const struct flow_half *of = &flow_cold_at(lcore->flows, walk->ref)->half[half];

	if (of->has_start && of->start_seq == walk->pkt->tcp_seq + 1)
		return; // the same SYN again
	flow->syn_seq = walk->pkt->tcp_seq;
	flow->seen[half] |= SEEN_SYN_AGAIN;
	flow->seen[!half] &= (uint8_t)~SEEN_SYN_AGAIN;
}

static void move(struct flow *flow, enum tcp_event event)
{
	flow->tcp_state = (uint8_t)tcp_state_next(flow->tcp_state, event);
}

// Of a connection that ends, or is said to: what an acknowledgement says goes before what comes
// with it.
static void move_state(struct flow *flow, uint8_t flags, unsigned half, bool acked)
{
	bool all = flow->seen[!half] & SEEN_RELEASED && flow->seen[!half] & SEEN_ACKED &&
		   !seq_lt(flow->acked[!half], flow->released[!half]);

	if (flow->tcp_flags[!half] & TH_FIN && all)
		move(flow, half == HALF_S2C ? TCP_EVENT_ACKED_C2S : TCP_EVENT_ACKED_S2C);
	else if (acked)
		move(flow, TCP_EVENT_GOES_ON);
	if (flags & TH_FIN)
		move(flow, half == HALF_C2S ? TCP_EVENT_FIN_C2S : TCP_EVENT_FIN_S2C);
	if (flags & TH_RST)
		move(flow, TCP_EVENT_RST);
}

static enum flow_class account_tcp(struct flow *flow, const struct pkt *pkt, unsigned half)
{
	uint8_t flags = pkt->tcp_flags;
	bool ends = (flow->tcp_flags[0] | flow->tcp_flags[1]) & (TH_FIN | TH_RST), acked = false;

	if (flags & (TH_RST | TH_FIN) && !near_edge(flow, half, pkt->tcp_seq))
		flags &= (uint8_t) ~(TH_RST | TH_FIN);
	flow->tcp_flags[half] |= flags;
	if (flags & TH_ACK && near_edge(flow, !half, pkt->tcp_ack) &&
		(!(flow->seen[!half] & SEEN_ACKED) || seq_lt(flow->acked[!half], pkt->tcp_ack))) {
		flow->acked[!half] = pkt->tcp_ack;
		flow->seen[!half] |= SEEN_ACKED;
		acked = true;
		// acknowledged, so it was delivered, whether or not it passed here
		if (flow->seen[!half] & SEEN_RELEASED &&
			seq_lt(flow->released[!half], pkt->tcp_ack))
			flow->released[!half] = pkt->tcp_ack;
	}
	if (unlikely(ends || flags & (TH_RST | TH_FIN)))
		move_state(flow, flags, half, acked);
	return tcp_state_is_closing(flow->tcp_state) ? FLOW_CLASS_TCP_CLOSING : FLOW_CLASS_TCP;
}

// Packets of the flow may have passed unseen since its last one (bypass.h): what is known of its
// edges is out of date, and taken anew from what comes. An inspection goes on as midstream.
static void forget_edges(struct lcore *lcore, uint32_t ref)
{
	struct flow *flow = flow_at(lcore->flows, ref);
	struct flow_cold *cold = flow_cold_at(lcore->flows, ref);

	for (unsigned half = 0; half < 2; half++)
		flow->seen[half] &= SEEN_TEMPLATE;
	if (cold->track)
		track_unseen(track_at(lcore->tracker, cold->track));
}

// What every packet of a flow moves, whether or not the flow is still looked at.
static void account_packet(struct lcore *lcore, uint32_t ref, struct rte_mbuf *m, unsigned half)
{
	struct flow *flow = flow_at(lcore->flows, ref);
	const struct pkt *pkt = pkt_of(m);
	enum flow_class class = flow->lru_class;

	if (unlikely(flow_rate_due(flow, lcore->now_ns)))
		flow_rate_close(lcore, ref);
	if (unlikely(flow->last_ns < unseen_until(lcore)))
		forget_edges(lcore, ref);
	flow->pkts[half]++;
	flow->bytes[half] += m->pkt_len;
	app_usage_count(lcore->apps, flow, half, m->pkt_len);
	if (has_payload(pkt) && flow->n_data_pkts < UINT8_MAX)
		flow->n_data_pkts++;
	if (is_tcp(pkt))
		class = account_tcp(flow, pkt, half);
	else if (flow->pkts[HALF_C2S] && flow->pkts[HALF_S2C])
		class = FLOW_CLASS_UDP;
	if (unlikely(!(flow->seen[half] & SEEN_TEMPLATE)))
		keep_template(flow, &flow_cold_at(lcore->flows, ref)->half[half], half, m);
	flow_touch(lcore->flows, ref, class, lcore->now_ns);
}

static void account_flow(struct lcore *lcore, struct walk *walk)
{
	if (is_tcp(walk->pkt) && walk->pkt->tcp_flags & TH_SYN)
		account_syn_again(lcore, walk);
	account_packet(lcore, walk->ref, walk->m, walk->half);
}

static unsigned half_by(uint16_t flow_flags, const struct pkt *pkt)
{
	bool from_a = pkt->flags & PKT_A_TO_B;

	return from_a == !!(flow_flags & FLOW_INITIATOR_IS_A) ? HALF_C2S : HALF_S2C;
}

static unsigned half_of(const struct lcore *lcore, const struct walk *walk)
{
	uint16_t flags = walk_has_flow(walk) ? flow_at(lcore->flows, walk->ref)->flags
					     : flow_stub_at(lcore->flows, walk->ref)->flags;

	return half_by(flags, walk->pkt);
}

static bool is_syn(const struct pkt *pkt, uint8_t flags)
{
	return is_tcp(pkt) &&
	       (pkt->tcp_flags & (TH_SYN | TH_ACK | TH_RST | TH_FIN)) == (TH_SYN | flags);
}

// A SYN-ACK that takes a SYN seen on this flow: its ends have a new connection, the old is over.
static enum verdict begin_anew(struct lcore *lcore, struct walk *walk)
{
	flow_end_entry(lcore, walk->ref, FLOW_END_CLOSED);
	walk->ref = FLOW_REF_NONE;
	walk->flow_id = 0;
	enum verdict verdict = stage_admit(lcore, walk);

	if (verdict != VERDICT_PASS)
		return verdict;
	struct flow_stub *stub = flow_stub_at(lcore->flows, walk->ref);

	walk->half = half_of(lcore, walk);
	stub->tcp_flags[!walk->half] = TH_SYN;
	stub->isn[!walk->half] = walk->pkt->tcp_ack - 1;
	return VERDICT_PASS;
}

// The tuple of a flow is used again.
static enum verdict account_reuse(struct lcore *lcore, struct walk *walk)
{
	const struct flow *flow = flow_at(lcore->flows, walk->ref);

	if (is_syn(walk->pkt, TH_ACK) && flow->seen[!walk->half] & SEEN_SYN_AGAIN &&
		walk->pkt->tcp_ack == flow->syn_seq + 1)
		return begin_anew(lcore, walk);
	// the SYN is believed when it is taken, but a blocked peer shall not get so far
	if (is_syn(walk->pkt, 0) && flow->lru_class == FLOW_CLASS_TCP_CLOSING &&
		walk_cached(lcore, walk, true)) {
		walk->told = true;
		walk->reason = DROP_CONN_CACHE;
		return VERDICT_DROP;
	}
	return VERDICT_PASS;
}

// On the tuple of a condemned flow: what is not of a new connection is of the old one.
static bool is_unconfirmed(const struct lcore *lcore, const struct walk *walk)
{
	if (!lcore->policy->enforces || walk_has_flow(walk) || !has_payload(walk->pkt) ||
		!is_tcp(walk->pkt))
		return false;
	const struct flow_stub *stub = flow_stub_at(lcore->flows, walk->ref);

	return stub->flags & FLOW_UNCONFIRMED && !stub_is_out_of_date(lcore, stub);
}

enum verdict stage_account(struct lcore *lcore, struct walk *walk)
{
	walk->half = half_of(lcore, walk);
	if (walk_has_flow(walk)) {
		enum verdict verdict = account_reuse(lcore, walk);

		if (verdict != VERDICT_PASS)
			return verdict;
	}
	if (is_unconfirmed(lcore, walk)) {
		walk->reason = DROP_NOT_TAKEN;
		return VERDICT_DROP;
	}
	uint16_t flags = walk_has_flow(walk) ? flow_at(lcore->flows, walk->ref)->flags
					     : flow_stub_at(lcore->flows, walk->ref)->flags;

	if (lcore->inside_is_initiator && walk->half == HALF_C2S)
		walk->pkt->flags |= PKT_FROM_INSIDE;
	if (flags & FLOW_TRACE)
		walk->pkt->flags |= PKT_TRACE;
	if (!walk_has_flow(walk)) {
		if (!has_payload(walk->pkt) && !is_fin_ahead(lcore, walk)) {
			account_stub(lcore, walk);
			return VERDICT_PASS;
		}
		struct flow_stub *stub = flow_stub_at(lcore->flows, walk->ref);

		if (is_tcp(walk->pkt) && walk->pkt->tcp_flags & TH_SYN) {
			account_syn(stub, walk->m, walk->half);
			stub->tcp_flags[walk->half] |=
				walk->pkt->tcp_flags & (uint8_t)~TH_FIN; // behind payload
		}
		if (!promote(lcore, walk)) {
			lcore->stats.flow_table_full++;
			walk->reason = DROP_FLOW_TABLE_FULL;
			return lcore->policy->enforces ? VERDICT_DROP : VERDICT_SEND;
		}
	}
	account_flow(lcore, walk);
	// by these whoever keeps the packet beyond this walk finds its flow again, or sees it gone
	walk->pkt->flow = walk->ref;
	walk->pkt->flow_gen = flow_at(lcore->flows, walk->ref)->gen;
	return VERDICT_PASS;
}

// What leaves moves the edge of its half. TCP only.
static void release(struct flow *flow, const struct pkt *pkt, unsigned half)
{
	uint32_t end = pkt->tcp_seq + pkt->payload_len + !!(pkt->tcp_flags & TH_SYN) +
		       !!(pkt->tcp_flags & TH_FIN);

	if (pkt->tcp_flags & TH_RST)
		return; // its number takes no place in the stream
	if (!(flow->seen[half] & SEEN_RELEASED)) {
		flow->seen[half] |= SEEN_RELEASED;
		flow->released[half] = end;
	} else if (end != pkt->tcp_seq && seq_lt(flow->released[half], end) &&
		   near_edge(flow, half, pkt->tcp_seq)) {
		flow->released[half] = end;
	}
}

void walk_released(struct lcore *lcore, struct walk *walk)
{
	const struct pkt *pkt = walk->pkt;

	// a wrong checksum: its half is not known, and no receiver takes it
	if (!walk_has_flow(walk) || !is_tcp(pkt) ||
		(pkt->flags & PKT_CSUM_BAD && !(pkt->flags & PKT_CSUM_IGNORE)) ||
		pkt->flags & (PKT_FRAGMENT | PKT_ICMP_ERROR))
		return;
	struct flow *flow = flow_at(lcore->flows, walk->ref);

	release(flow, pkt, walk->half);
	inspect_released(lcore, walk->ref, walk->half, pkt);
}

// What opens or ends a connection counts on a final flow, too, and takes the long way; so does what
// is traced, and the first packet under a new policy.
bool walk_final(struct lcore *lcore, struct rte_mbuf *m, uint32_t ref)
{
	struct pkt *pkt = pkt_of(m);

	if (ref & FLOW_REF_STUB) // or FLOW_REF_NONE, which has that bit, too
		return false;
	struct flow *flow = flow_at(lcore->flows, ref);

	if ((flow->flags & (FLOW_FINAL | FLOW_TRACE)) != FLOW_FINAL ||
		flow->policy_epoch != lcore->epoch ||
		pkt->flags & (PKT_TRACE | PKT_ICMP_ERROR | PKT_CSUM_BAD))
		return false;
	bool tcp = pkt->l4_proto == IPPROTO_TCP;

	if (tcp && pkt->tcp_flags & (TH_SYN | TH_FIN | TH_RST))
		return false;
	unsigned half = half_by(flow->flags, pkt);

	if (lcore->inside_is_initiator && half == HALF_C2S)
		pkt->flags |= PKT_FROM_INSIDE;
	account_packet(lcore, ref, m, half);
	pkt->flow = ref;
	pkt->flow_gen = flow->gen;
	if (tcp && pkt->flags & PKT_L4_OK)
		release(flow, pkt, half);
	tx_packet(lcore, m);
	return true;
}
