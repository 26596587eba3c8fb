// SPDX-License-Identifier: BSD-3-Clause
// An lcore's turn: receives, parses, looks up, and runs the stages (stage/stages.h) or a fast path.
#include <rte_prefetch.h>
#include "pipeline/vocab/fault.h"
#include "pipeline/stage/fragments.h"
#include "pipeline/stage/hold_verdict.h"
#include "pipeline/stage/notice.h"
#include "pipeline/egress/egress.h"
#include "pipeline/egress/impair.h"
#include "pipeline/stage/inspect_learned.h"
#include "pipeline/stage/inspect_report.h"
#include "pipeline/stage/inspect_tcp.h"
#include "pipeline/stage/inspect_track.h"
#include "pipeline/hints_apply.h"
#include "pipeline/lcores.h"
#include "pipeline/loop.h"
#include "pipeline/operator.h"
#include "pipeline/parse_counts.h"
#include "pipeline/query.h"
#include "pipeline/stage/packet_ctx.h"
#include "pipeline/stage/stages.h"

#define AGE_BUDGET        128 // entries ended per turn and table
#define IMPAIRED_BURSTS   16  // per turn
#define BUSY_WINDOW_SHIFT 30  // busy_permille is of windows of 1.07 s

#define NO_LOOKUP UINT8_MAX // in place of a packet's lookup: it has no key

static bool has_key(const struct pkt *pkt)
{
	return pkt->class == PKT_IP && !(pkt->flags & PKT_FRAGMENT);
}

// Where there are no zones, the initiator's is the inside, whichever it is.
static inline void set_zones(const struct lcore *lcore, const struct pkt *pkt, union flow_key *key)
{
	if (likely(!lcore->inside_is_initiator && !FAULT(ZONES)))
		parse_key_zones(pkt, key);
}

// Fragments go to lcores by addresses alone; now it is known whose flow theirs is. Returns whether
// with this one another datagram is whole, of which it was a fragment.
static bool packet_datagram(struct lcore *lcore)
{
	union flow_key key;
	bool keyed;
	struct rte_mbuf *view = fragments_view(lcore, &key, &keyed);

	if (!view)
		return false;
	struct packet_ctx ctx = {
		.m = view, .pkt = pkt_of(view), .ref = FLOW_REF_NONE, .flags = CTX_VIEW};
	unsigned owner = keyed ? flow_owner(lcore->dp, ctx.pkt) : fragments_owner(lcore, ctx.pkt);

	if (owner != lcore->index && !fragments_settled(lcore)) {
		fragments_hand_off(lcore, view, owner);
		return false;
	}
	if (keyed) {
		set_zones(lcore, ctx.pkt, &key);
		ctx.key = &key;
		packet_flag_if(&ctx, CTX_V6, ctx.pkt->flags & PKT_V6);
		ctx.ref = flow_find(lcore->flows, &key, ctx.flags & CTX_V6);
	}
	unsigned in_hand = lcore->in_hand;

	lcore->in_hand += fragments_in_hand(lcore) - 1; // the last one is counted
	stages_run(lcore, &ctx, 0);
	lcore->in_hand = in_hand;
	return ctx.flags & CTX_WHOLE;
}

static void packet_any(struct lcore *lcore, struct rte_mbuf *m, const struct flow_lookup *lookup)
{
	struct packet_ctx ctx = {
		.m = m,
		.pkt = pkt_of(m),
		.ref = FLOW_REF_NONE,
	};

	if (lookup) {
		ctx.key = lookup->key;
		packet_flag_if(&ctx, CTX_V6, lookup->v6);
		ctx.ref = lookup->ref;
	}
	stages_run(lcore, &ctx, 0);
	if (unlikely(ctx.flags & CTX_WHOLE))
		while (packet_datagram(lcore))
			;
}

// Of packets without a flow: would the connection cache have them? All lines are fetched before any
// is needed.
static void ask_cache(const struct lcore *lcore, struct rte_mbuf **mbufs,
	const struct flow_lookup *lookups, const uint8_t *of, unsigned n,
	struct cache_question *questions)
{
	for (unsigned i = 0; i < n; i++)
		if (of[i] != NO_LOOKUP && lookups[of[i]].ref == FLOW_REF_NONE)
			packet_cache_ask(
				lcore, pkt_of(mbufs[i]), lookups[of[i]].key, &questions[of[i]]);
	for (unsigned i = 0; i < n; i++)
		if (of[i] != NO_LOOKUP && lookups[of[i]].ref == FLOW_REF_NONE)
			conn_cache_prefetch_entry(lcore->conn_cache, questions[of[i]].hash);
}

// The debug hook. Cleared first: it stands still once.
static void stall_if_ordered(struct lcore *lcore, _Atomic uint64_t *stall_ns)
{
	if (unlikely(atomic_load_explicit(stall_ns, memory_order_relaxed)) &&
		lcore->dp->stand_still)
		lcore->dp->stand_still(atomic_exchange(stall_ns, 0));
}

// Where a stall may be: the standby can do this lcore's input and output meanwhile.
static void stages_begin(struct lcore *lcore)
{
	lease_give(&lcore->lease);
	stall_if_ordered(lcore, &lcore->stall_inspect_ns);
}

static void stages_end(struct lcore *lcore)
{
	lcore_lease_take(lcore);
	tx_flush_full(lcore);
}

// Where an earlier packet of this burst changed the table. NULL: the packet has no lookup.
static inline void look_up_again(
	const struct lcore *lcore, struct flow_lookup *lookup, uint32_t version)
{
	if (lookup && unlikely(version != flow_table_version(lcore->flows)))
		lookup->ref = flow_lookup(lcore->flows, lookup->key, lookup->hash, lookup->v6);
}

// In place of the fast paths, where dp->all_stages asks for it.
static __rte_noinline void run_all_stages(struct lcore *lcore, struct rte_mbuf **mbufs,
	struct flow_lookup *lookups, const uint8_t *of, unsigned n)
{
	uint32_t version = flow_table_version(lcore->flows);

	for (unsigned i = 0; i < n; i++) {
		struct flow_lookup *lookup = of[i] == NO_LOOKUP ? NULL : &lookups[of[i]];

		lcore->in_hand = n - i;
		look_up_again(lcore, lookup, version);
		packet_any(lcore, mbufs[i], lookup);
	}
}

// A datagram that only the decoder of its flow wants. False: it is none.
static bool follow(struct lcore *lcore, struct rte_mbuf *m, const struct flow_lookup *lookup)
{
	struct packet_ctx ctx;

	if (!packet_followed(lcore, m, lookup, &ctx))
		return false;
	if (unlikely(ctx.flags & (CTX_UNDECIDED | CTX_DECODED)))
		stages_decide(lcore, &ctx);
	else
		egress_packet(lcore, m, ctx.ref, EGRESS_FLOW);
	return true;
}

// A burst of packets that are ours: bulk lookup, then each to completion. The keys of those that
// have one are in keys[].
static void run_owned(
	struct lcore *lcore, struct rte_mbuf **mbufs, const union flow_key *keys, unsigned n)
{
	struct flow_lookup lookups[BURST];
	struct cache_question questions[BURST];
	struct rte_mbuf *refused[BURST];
	uint8_t of[BURST]; // packet -> lookup
	unsigned n_lookups = 0, n_missed = 0, n_refused = 0;

	for (unsigned i = 0; i < n; i++) {
		const struct pkt *pkt = pkt_of(mbufs[i]);

		of[i] = NO_LOOKUP;
		if (!has_key(pkt))
			continue;
		of[i] = (uint8_t)n_lookups;
		lookups[n_lookups].key = &keys[i];
		lookups[n_lookups].v6 = pkt->flags & PKT_V6;
		n_lookups++;
	}
	if (n_lookups)
		n_missed = n_lookups - flow_lookup_bulk(lcore->flows, lookups, n_lookups);
	bool cached = n_missed && conn_cache_count(lcore->conn_cache);
	uint32_t version = flow_table_version(lcore->flows);

	if (cached)
		ask_cache(lcore, mbufs, lookups, of, n, questions);
	stage_meter_add(&lcore->meter, METER_LOOKUP, n_lookups);
	lcore->in_hand = n;
	stages_begin(lcore);
	if (unlikely(lcore->dp->all_stages)) {
		run_all_stages(lcore, mbufs, lookups, of, n);
		n = 0;
	}
	for (unsigned i = 0; i < n; i++) {
		struct flow_lookup *lookup = of[i] == NO_LOOKUP ? NULL : &lookups[of[i]];
		bool asked = cached && lookup && lookup->ref == FLOW_REF_NONE;

		lcore->in_hand = n - i + n_refused;
		inspect_fetch(lcore, lookups, n_lookups, i);
		look_up_again(lcore, lookup, version);
		if (asked && lookup->ref == FLOW_REF_NONE &&
			packet_refused(lcore, mbufs[i], &questions[of[i]])) {
			refused[n_refused++] = mbufs[i];
			stage_meter_add(&lcore->meter, METER_REFUSED, 1);
		} else if (lookup && packet_fast_path(lcore, mbufs[i], lookup->ref)) {
			stage_meter_add(&lcore->meter, METER_FINAL, 1);
		} else if (lookup && follow(lcore, mbufs[i], lookup)) {
			stage_meter_add(&lcore->meter, METER_FOLLOWED, 1);
		} else {
			packet_any(lcore, mbufs[i], lookup);
		}
	}
	if (n_refused) {
		packets_drop(lcore, refused, n_refused, DROP_CONN_CACHE);
		stage_meter_add(&lcore->meter, METER_REFUSED, 0);
	}
	lcore->in_hand = 0;
	stages_end(lcore);
}

static void hand_off(struct lcore *lcore, unsigned owner, struct rte_mbuf **mbufs, unsigned n)
{
	if (unlikely(is_bypassed(lcore->dp, owner))) {
		for (unsigned i = 0; i < n; i++)
			egress_bypass(lcore, mbufs[i]);
		return;
	}
	struct rte_ring *ring = lcore->dp->lcores[owner]->handoff_in[lcore->index];
	unsigned done = rte_ring_sp_enqueue_burst(ring, (void **)mbufs, n, NULL);

	lcore->stats.handoff_out_pkts += done;
	for (unsigned i = done; i < n; i++)
		packet_drop(lcore, mbufs[i], DROP_HANDOFF_FULL);
}

// In runs of one owner: order within a flow is kept, as it has one owner.
static void hand_off_all(struct lcore *lcore, struct rte_mbuf **theirs, unsigned n)
{
	for (unsigned done = 0; done < n;) {
		unsigned owner = flow_owner(lcore->dp, pkt_of(theirs[done])), run = 1;

		while (done + run < n && flow_owner(lcore->dp, pkt_of(theirs[done + run])) == owner)
			run++;
		hand_off(lcore, owner, theirs + done, run);
		done += run;
	}
}

#define PARSE_AHEAD 4 // packets whose lines are on their way while one is parsed

static void prefetch_packet(struct rte_mbuf *m)
{
	rte_prefetch0(rte_pktmbuf_mtod(m, void *));
	rte_prefetch0(pkt_of(m));
}

// `counted`: as received, by the impairment stage, which had them since.
static void run_burst(struct lcore *lcore, struct rte_mbuf **mbufs, unsigned n, bool counted)
{
	struct rte_mbuf *own[BURST], *theirs[BURST];
	union flow_key keys[BURST]; // of own[]
	struct parsed parsed = {0};
	unsigned n_own = 0, n_theirs = 0;

	stage_meter_start(
		&lcore->meter, atomic_load_explicit(&lcore->dp->meter_every, memory_order_relaxed));
	for (unsigned i = 0; i < n && i < PARSE_AHEAD; i++)
		prefetch_packet(mbufs[i]);
	for (unsigned i = 0; i < n; i++) {
		struct pkt *pkt = pkt_of(mbufs[i]);

		if (i + PARSE_AHEAD < n)
			prefetch_packet(mbufs[i + PARSE_AHEAD]);
		bool has_owner = parse_mbuf(mbufs[i], &lcore->parse, &keys[n_own]);

		count_parsed(&parsed, mbufs[i], pkt);
		if (has_owner && flow_owner(lcore->dp, pkt) != lcore->index) {
			theirs[n_theirs++] = mbufs[i];
			continue;
		}
		if (has_owner)
			set_zones(lcore, pkt, &keys[n_own]);
		own[n_own++] = mbufs[i];
	}
	if (likely(!counted)) {
		lcore->stats.received_pkts += n;
		lcore->stats.received_bytes += parsed.bytes;
	}
	add_parsed(lcore, &parsed);
	stage_meter_add(&lcore->meter, METER_PARSE, n);
	hand_off_all(lcore, theirs, n_theirs);
	if (n_own)
		run_owned(lcore, own, keys, n_own);
}

// What another lcore has parsed.
static void run_handed(struct lcore *lcore, struct rte_mbuf **mbufs, unsigned n)
{
	union flow_key keys[BURST];

	lcore->meter.on = false; // its parse was another lcore's
	for (unsigned i = 0; i < n; i++)
		if (has_key(pkt_of(mbufs[i]))) {
			parse_mbuf_key(mbufs[i], &keys[i]);
			set_zones(lcore, pkt_of(mbufs[i]), &keys[i]);
		}
	run_owned(lcore, mbufs, keys, n);
}

static void begin(struct lcore *lcore, uint64_t now_ns)
{
	lcore_begin(lcore, atomic_load_explicit(&lcore->dp->policy, memory_order_acquire), now_ns);
}

void pipeline_receive(struct lcore *lcore, struct rte_mbuf *m, uint8_t in_port, uint8_t link,
	uint64_t now_ns, uint16_t flags)
{
	struct pkt *pkt = pkt_of(m);

	if (lcore->dp->ports[in_port].inside)
		flags |= PKT_FROM_INSIDE;
	pkt->rx_ns = now_ns;
	pkt->flow = PKT_FLOW_NONE;
	pkt->flow_gen = 0;
	pkt->flags = flags;
	pkt->in_port = in_port;
	pkt->egress = EGRESS_NONE;
	pkt->link = link;
}

void pipeline_run(struct lcore *lcore, struct rte_mbuf **mbufs, unsigned n, uint64_t now_ns)
{
	begin(lcore, now_ns);
	for (unsigned done = 0; done < n; done += BURST)
		run_burst(lcore, mbufs + done, n - done < BURST ? n - done : BURST, false);
}

static unsigned turn_receive(struct lcore *lcore)
{
	struct rte_mbuf *mbufs[BURST];
	unsigned taken = 0;

	for (unsigned i = 0; i < lcore->n_rx; i++) {
		const struct rx_queue *rx = &lcore->rx[i];
		const struct port *port = &lcore->dp->ports[rx->port];
		port_receive_fn *take = __atomic_load_n(&port->receive, __ATOMIC_ACQUIRE);
		unsigned n = take(port->ctx, rx->queue, mbufs, BURST);

		for (unsigned k = 0; k < n; k++)
			pipeline_receive(
				lcore, mbufs[k], rx->port, LINK_ETHERNET, lcore->now_ns, 0);
		if (unlikely(lcore->impair_rx))
			impair_receive(lcore, mbufs, n);
		else if (n)
			run_burst(lcore, mbufs, n, false);
		taken += n;
	}
	return taken;
}

// What has come to the end of an impaired link. What is left after so many bursts is due next turn.
static unsigned turn_impaired(struct lcore *lcore)
{
	struct rte_mbuf *mbufs[BURST];
	unsigned taken = 0, n = BURST;

	for (unsigned i = 0; i < IMPAIRED_BURSTS && n == BURST; i++) {
		n = impair_received(lcore, mbufs, BURST);
		if (n)
			run_burst(lcore, mbufs, n, true);
		taken += n;
	}
	return taken;
}

static unsigned turn_rings(struct lcore *lcore)
{
	struct rte_mbuf *mbufs[BURST];
	unsigned n, taken = 0;

	for (unsigned i = 0; i < lcore->dp->n_lcores; i++) {
		if (!lcore->handoff_in[i])
			continue;
		n = rte_ring_sc_dequeue_burst(lcore->handoff_in[i], (void **)mbufs, BURST, NULL);
		lcore->stats.handoff_in_pkts += n;
		if (n)
			run_handed(lcore, mbufs, n);
		taken += n;
		n = rte_ring_sc_dequeue_burst(lcore->tx_in[i], (void **)mbufs, BURST, NULL);
		for (unsigned k = 0; k < n; k++)
			egress_handed(lcore, mbufs[k]);
		tx_flush_full(lcore);
		taken += n;
	}
	n = rte_ring_sc_dequeue_burst(lcore->inject, (void **)mbufs, BURST, NULL);
	for (unsigned k = 0; k < n; k++)
		egress_inject(lcore, mbufs[k], FLOW_REF_NONE, EGRESS_INJECTED_OWN);
	return taken + n;
}

// What was held and comes free. Not inline: its registers would cost each packet received.
static __rte_noinline unsigned turn_resumed(struct lcore *lcore)
{
	struct inspect_work work = {.budget = INSPECT_WORK_BUDGET};

	lcore->meter.on = false; // of no burst
	for (struct rte_mbuf *m; (m = inspect_release(lcore, &work));)
		stages_resume(lcore, m, work.ref, work.half);
	return INSPECT_WORK_BUDGET - work.budget;
}

static unsigned rings_held(const struct lcore *lcore)
{
	unsigned held = 0;

	for (unsigned i = 0; i < lcore->dp->n_lcores; i++)
		if (lcore->handoff_in[i])
			held += rte_ring_count(lcore->handoff_in[i]) +
				rte_ring_count(lcore->tx_in[i]);
	return held;
}

unsigned pipeline_held(const struct lcore *lcore)
{
	return tx_held(lcore) + rings_held(lcore) + inspect_held(lcore) + fragments_held(lcore) +
	       impair_held(lcore) + lcore->in_hand;
}

static void publish(struct lcore *lcore, unsigned taken)
{
	struct flow_usage usage = flow_table_usage(lcore->flows);

	lcore->stats.held_pkts = pipeline_held(lcore);
	lcore->stats.fragments_held = fragments_held(lcore);
	lcore->stats.datagrams_held = fragments_datagrams(lcore);
	lcore->stats.flows_active = usage.flows;
	lcore->stats.embryos_active = usage.stubs;
	lcore->stats.cache_entries = conn_cache_count(lcore->conn_cache);
	lcore->stats.endpoints_active = endpoint_cache_count(lcore->endpoints);
	lcore->stats.names_active = endpoint_cache_count(lcore->names);
	lcore->stats.chain_flows = usage.longest_chain;
	lcore->stats.chain_conn_cache = conn_cache_longest(lcore->conn_cache);
	lcore->stats.chain_endpoints = endpoint_cache_longest(lcore->endpoints);
	lcore->stats.chain_names = endpoint_cache_longest(lcore->names);
	lcore->stats.chain_expectations = expect_longest(lcore->expect);
	lcore->stats.chain_fragments = fragments_longest_chain(lcore);
	inspect_publish(lcore);
	lcore->stats.loops++;
	lcore->stats.busy_loops += taken > 0;
	lcore->was_busy = taken > 0;
	lcore->wake_ns = impair_next_ns(lcore);
	lcore->stats.heartbeat_ns = lcore->now_ns;
}

// A turn lasts until the next begins: one reading of the clock is enough to part work from waiting.
static void count_time(struct lcore *lcore, uint64_t now_ns)
{
	struct stats *stats = &lcore->stats;
	uint64_t since = stats->heartbeat_ns, elapsed = now_ns > since ? now_ns - since : 0;

	if (!since)
		return;
	stats->loop_ns += elapsed;
	if (lcore->was_busy)
		stats->busy_ns += elapsed;
	if (likely(!((since ^ now_ns) >> BUSY_WINDOW_SHIFT)))
		return;
	stats->busy_permille = 1000 * (stats->busy_ns - lcore->busy_mark_ns) /
			       (stats->loop_ns - lcore->loop_mark_ns);
	lcore->busy_mark_ns = stats->busy_ns;
	lcore->loop_mark_ns = stats->loop_ns;
}

unsigned pipeline_turn(struct lcore *lcore, uint64_t now_ns)
{
	unsigned taken = 0;

	count_time(lcore, now_ns);
	begin(lcore, now_ns);
	stall_if_ordered(lcore, &lcore->stall_turn_ns);
	if (!atomic_load_explicit(&lcore->dp->stopping, memory_order_relaxed))
		taken = turn_receive(lcore);
	if (unlikely(lcore->impair_rx))
		taken += turn_impaired(lcore);
	hints_apply(lcore);
	taken += turn_rings(lcore);
	hold_poll(lcore);
	notices_turn(lcore);
	if (unlikely(!TAILQ_EMPTY(&lcore->tracker->resuming)))
		taken += turn_resumed(lcore);
	inspect_age(lcore);
	query_step(lcore);
	operator_age(lcore);
	flow_age(lcore, AGE_BUDGET);
	fragments_age(lcore, AGE_BUDGET);
	conn_cache_age(lcore, AGE_BUDGET);
	learned_age(lcore, AGE_BUDGET);
	tx_flush(lcore);
	publish(lcore, taken);
	return taken;
}

void pipeline_drain(struct lcore *lcore, uint64_t now_ns)
{
	begin(lcore, now_ns);
	while (turn_rings(lcore))
		tx_flush(lcore);
	fragments_drain(lcore);
	flow_end_all(lcore, FLOW_STEP_SHUTDOWN);
	tx_flush(lcore);
	tx_discard(lcore, DROP_SHUTDOWN);
	impair_discard(lcore, DROP_SHUTDOWN);
	publish(lcore, 0);
}
