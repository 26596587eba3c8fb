// SPDX-License-Identifier: BSD-3-Clause
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <cmocka.h>
#include "reference_world.h"
#include "pipeline/lcores.h"
#include "pipeline/egress/tx.h"
#include "pipeline/event/event.h"
#include "pipeline/lcore/lcore.h"
#include "pipeline/lcore/port.h"
#include "pipeline/cache/conn_cache.h"
#include "classify/classify.h"
#include "pipeline/limits.h"
#include "pipeline/policy/policy.h"
#include "pipeline/loop.h"

#define TTL_S         300
#define LIFETIME_S    3600
#define BLOCKED_UDP_S 29
#define BLOCKED_S     119 // a stub's time is kept to 67 ms
#define FORGOTTEN_S   15  // and more: an entry without packets may have ended

static void __attribute__((format(printf, 2, 3))) problem(struct world *w, const char *format, ...)
{
	va_list args;

	if (w->problem[0])
		return;
	va_start(args, format);
	vsnprintf(w->problem, sizeof(w->problem), format, args);
	va_end(args);
}

static uint32_t be32(const uint8_t *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static bool blocks(enum model_policy policy)
{
	return policy == MODEL_RESET || policy == MODEL_DROP;
}

static bool is_bad(const struct world *w, unsigned conn)
{
	return w->s->conns[conn].bad || w->mutation == MUTATE_APPLICATION;
}

static void publish(struct world *w, enum model_policy kind)
{
	static const enum action actions[] = {ACTION_PASS, ACTION_RESET, ACTION_DROP, ACTION_RESET};
	struct policy *policy = pipe_policy(w->pipe);

	if (kind != MODEL_PASS) {
		struct rule *rule = pipe_rule_app(policy, 7, actions[kind], "bittorrent");

		if (kind == MODEL_MONITOR) {
			rule->mode = MODE_MONITOR;
			policy->enforces = policy->enforces_app = false;
		}
	}
	policy->conn_cache.ttl_s = TTL_S;
	policy->conn_cache.max_lifetime_s = LIFETIME_S;
	pipe_publish(w->pipe, policy);
	w->policy = kind;
	if (blocks(kind)) {
		for (unsigned i = 0; i <= OPS_MAX; i++)
			w->fates[i].unblocked = false;
		return;
	}
	for (unsigned i = 0; i <= OPS_MAX; i++) // some wait in a ring
		w->fates[i].blocked = false;
	for (unsigned i = 0; i < w->s->n_conns; i++) {
		w->conns[i].blocked = false;
		w->conns[i].healed = w->conns[i].learned;
	}
}

// The far end's next number, from what left; `*whole`: nothing is missing before the highest.
static uint32_t edge(const struct half_view *half, uint32_t first, uint32_t *highest)
{
	uint32_t next = first;
	bool moved = true;

	*highest = first;
	while (moved) {
		moved = false;
		for (unsigned i = 0; i < half->n; i++) {
			if ((int32_t)(half->end[i] - *highest) > 0)
				*highest = half->end[i];
			if ((int32_t)(half->start[i] - next) <= 0 &&
				(int32_t)(half->end[i] - next) > 0) {
				next = half->end[i];
				moved = true;
			}
		}
	}
	return next;
}

static void packet_left(struct world *w, const struct pipe_sent *sent, uint32_t number)
{
	struct packet_impairment *fate = &w->fates[number];
	const struct conn *conn = &w->s->conns[fate->conn];
	struct half_view *half = &w->conns[fate->conn].half[fate->half];

	if (number > OPS_MAX || !fate->in) {
		problem(w, "a frame left that never came in (%u)", number);
		return;
	}
	if (fate->out)
		problem(w, "packet %u left twice", number);
	fate->out = true;
	if (sent->length != fate->length || memcmp(sent->frame, fate->frame, fate->length) != 0)
		problem(w, "packet %u was changed", number);
	if (sent->port != fate->port)
		problem(w, "packet %u left by port %u", number, sent->port);
	if (fate->blocked && !w->s->small)
		problem(w, "packet %u left after its connection was blocked", number);
	if (fate->fragment)
		return; // kept back for the rest of its datagram, which never comes
	if (number < half->last_out)
		problem(w, "packet %u left behind %u", number, half->last_out);
	half->last_out = number;
	unsigned l4 = 14u + 4 * conn->n_vlan + (conn->v6 ? 40 : 20);
	const uint8_t *tcp = fate->frame + l4;

	if (conn->proto != IPPROTO_TCP || half->n == EDGES_MAX || fate->bad_checksum ||
		tcp[13] & TH_RST)
		return;
	uint32_t seq = be32(tcp + 4), payload = fate->length - l4 - 20;

	half->start[half->n] = seq;
	half->end[half->n++] = seq + payload + !!(tcp[13] & TH_SYN) + !!(tcp[13] & TH_FIN);
}

static int conn_of_frame(const struct world *w, const struct pipe_sent *sent, unsigned *l4)
{
	for (unsigned i = 0; i < w->s->n_conns; i++) {
		const struct conn *conn = &w->s->conns[i];
		unsigned at = 14u + 4 * conn->n_vlan;
		bool v6 = sent->frame[at - 2] == 0x86;
		bool to_client = sent->port == PIPE_INSIDE;

		if (conn->proto != IPPROTO_TCP || v6 != conn->v6 ||
			(sent->frame[at] >> 4) != (v6 ? 6 : 4))
			continue;
		*l4 = at + (v6 ? 40 : 20);
		const uint8_t *tcp = sent->frame + *l4;
		unsigned port = (unsigned)(to_client ? tcp[2] << 8 | tcp[3] : tcp[0] << 8 | tcp[1]);
		const uint8_t *address = sent->frame + (v6 ? at + (to_client ? 36 : 20)
							   : at + (to_client ? 16 : 12));

		if (be32(address) != 0x0a000000u + conn->client || port != conn->sport)
			continue;
		return (int)i;
	}
	return -1;
}

static uint32_t number_of(const struct pipe_sent *sent)
{
	unsigned at = 12;

	while (sent->frame[at] == 0x81 || sent->frame[at] == 0x88)
		at += 4;
	at += 2;
	return sent->frame[at - 2] == 0x86 ? be32(sent->frame + at) & 0xffff
					   : be32(sent->frame + at + 4) >> 16;
}

// The number that the far end expects is among those of the resets that it gets at the teardown.
static void check_resets(struct world *w, unsigned conn_index)
{
	const struct conn *conn = &w->s->conns[conn_index];
	const struct conn_view *view = &w->conns[conn_index];

	if (w->forgetful || pipe_stats(w->pipe).flows_evicted)
		return; // an entry that was made anew does not know what left before
	if (view->early_fin || (view->forged && w->unforeseen))
		return; // what the ends send next is answered at their own edges
	for (unsigned half = 0; half < 2; half++) {
		uint32_t highest, first = conn->isn[half];
		uint32_t expected = edge(&view->half[half], first, &highest);
		bool any = false, right = false;

		// an acknowledgement tells of what did not pass here; how many were seen by then is
		// not known, as some wait in a ring
		uint32_t acked = conn->isn[half] + view->acked[half];

		if ((int32_t)(acked - expected) < 0)
			acked = expected;

		if (!view->half[half].n || expected != highest)
			continue; // a hole: the end answers, and is answered
		for (unsigned i = 0; i < w->pipe->n_sent; i++) {
			const struct pipe_sent *sent = &w->pipe->sent[i];
			unsigned l4;

			if (number_of(sent) || sent->port != (half ? PIPE_INSIDE : PIPE_OUTSIDE) ||
				conn_of_frame(w, sent, &l4) != (int)conn_index)
				continue;
			uint32_t seq = be32(sent->frame + l4 + 4) - (w->mutation == MUTATE_EDGE);

			any = true;
			right |= seq - expected <= acked - expected;
		}
		if (any && !right)
			problem(w, "connection %u, half %u: no reset at %u", conn_index, half,
				expected - conn->isn[half]);
	}
}

// What the wires got since `from`.
static void collect(struct world *w)
{
	struct pipe *pipe = w->pipe;

	if (w->mutation == MUTATE_OCTET && pipe->n_sent && ++w->mutated == 10)
		pipe->sent[0].frame[pipe->sent[0].length - 1] ^= 1;
	if (w->mutation == MUTATE_ORDER && pipe->n_sent > 1)
		for (unsigned i = 0; i + 1 < pipe->n_sent; i++) {
			struct pipe_sent swap = pipe->sent[i];

			pipe->sent[i] = pipe->sent[i + 1];
			pipe->sent[i + 1] = swap;
		}
	for (unsigned i = 0; i < pipe->n_sent; i++) {
		uint32_t number = number_of(&pipe->sent[i]);

		if (!number)
			w->injected++;
		else if (w->mutation != MUTATE_LOSS || ++w->mutated != 10)
			packet_left(w, &pipe->sent[i], number);
	}
}

static int conn_of_event(const struct world *w, const struct event *event)
{
	for (unsigned i = 0; i < w->s->n_conns; i++) {
		const struct conn *conn = &w->s->conns[i];

		for (unsigned half = 0; half < 2; half++)
			if (be32(event->ends.address[half] + 12) == 0x0a000000u + conn->client &&
				event->ends.port[half] == conn->sport)
				return (int)i;
	}
	return -1;
}

// `both`: its two ends were heard; else only the packet is dropped.
static void blocked(struct world *w, unsigned index, bool quiet, bool both)
{
	struct conn_view *view = &w->conns[index];

	if (!is_bad(w, index))
		problem(w, "connection %u was blocked", index);
	view->alerted = true;
	if (!both || w->s->conns[index].proto != IPPROTO_TCP) // no server speaks as peers do
		return;
	view->blocked_ns = w->pipe->now_ns;
	if (w->policy == MODEL_RESET && !quiet && w->s->conns[index].proto == IPPROTO_TCP)
		check_resets(w, index);
	view->alerted = view->blocked = true;
	for (unsigned i = 0; i < w->s->n_conns; i++) {
		if (!schedule_same_entry(&w->s->conns[i], &w->s->conns[index]))
			continue;
		w->conns[i].learned = true;
		w->conns[i].healed = false;
		w->conns[i].learned_ns = w->pipe->now_ns;
	}
}

// `flow_id`: that of a flow which has made it; 0: any.
static bool has_entry(const struct lcore *lcore, uint32_t client, uint64_t flow_id)
{
	struct conn_entry entries[64];
	uint32_t cursor = 0;
	unsigned n = conn_cache_read(lcore->conn_cache, &cursor, entries, 64);

	for (unsigned i = 0; i < n; i++)
		if ((!flow_id || entries[i].flow_id == flow_id) &&
			(be32(entries[i].key.initiator + 12) == 0x0a000000u + client ||
				be32(entries[i].key.responder + 12) == 0x0a000000u + client))
			return true;
	return false;
}

static void read_events(struct world *w, bool quiet)
{
	struct event event;

	for (unsigned i = 0; i < w->s->n_lcores; i++) {
		uint64_t learned = w->pipe->dp.lcores[i]->stats.cache_learned;
		bool some = learned != w->cache_learned[i];

		w->cache_learned[i] = learned;
		while (pipe_event(w->pipe, i, EVENT_ALERT, &event)) {
			int index = conn_of_event(w, &event);

			if (index < 0)
				problem(w, "an alert of no connection");
			else if (event.mode == MODE_ENFORCE)
				blocked(w, (unsigned)index, quiet,
					some && (w->s->small || // its entry may be gone
							has_entry(w->pipe->dp.lcores[i],
								w->s->conns[index].client,
								event.flow_id)));
		}
	}
}

// Where a connection was refused before both ends were heard, its entry comes later, in silence.
static bool blocked_already(const struct world *w, unsigned index)
{
	for (unsigned i = 0; i < w->s->n_conns; i++)
		if (schedule_same_entry(&w->s->conns[i], &w->s->conns[index]) &&
			(w->conns[i].learned ||
				(w->conns[i].alerted && has_entry(w->pipe->dp.lcores[0],
								w->s->conns[i].client, 0))))
			return true;
	return false;
}

static void before_packet(struct world *w, const struct op *op, struct packet_impairment *fate)
{
	struct conn_view *view = &w->conns[op->conn];
	bool syn = (op->tcp_flags & (TH_SYN | TH_ACK)) == TH_SYN && !op->bad_checksum;

	uint64_t lasts = w->s->conns[op->conn].proto == IPPROTO_TCP ? BLOCKED_S : BLOCKED_UDP_S;

	if (syn || w->pipe->now_ns - view->blocked_ns > lasts * NS_PER_S)
		view->blocked = false;
	view->rested |= w->pipe->now_ns - view->last_ns >= FORGOTTEN_S * NS_PER_S;
	if (op->tcp_flags & TH_SYN && !op->bad_checksum &&
		view->rested) { // of a flow that knows nothing of what came before
		memset(view->said, 0, sizeof(view->said));
		memset(view->settled, 0, sizeof(view->settled));
		view->rested = false;
	}
	reference_follow_handshake(view, op);
	fate->bad_checksum = op->bad_checksum;
	// it acknowledges what was never sent, or not yet: halves may come over different rings
	fate->untaken = w->s->conns[op->conn].proto == IPPROTO_TCP && op->tcp_flags & TH_ACK &&
			op->ack > view->settled[!op->half];
	view->odd |= fate->untaken;
	if (!op->bad_checksum && !fate->untaken)
		view->said[op->half] = RTE_MAX(view->said[op->half], schedule_end(op));
	view->forged |= op->bad_checksum;
	fate->fragment = op->fragment;
	fate->unblocked = !blocks(w->policy);
	fate->blocked = view->blocked && !op->bad_checksum;
	if (!op->bad_checksum)
		view->last_ns = w->pipe->now_ns;
	reference_follow(w, op);
}

static void take_turns(struct world *w)
{
	for (unsigned i = 0; i < 2; i++)
		pipe_turns(w->pipe);
	for (unsigned i = 0; i < w->s->n_conns; i++) {
		struct conn_view *view = &w->conns[i];

		memcpy(view->settled, view->said, sizeof(view->said));
		view->must_block |= view->due && !view->odd;
	}
}

static void run_packet(struct world *w, const struct op *op)
{
	const struct conn *conn = &w->s->conns[op->conn];
	struct packet_impairment *fate = &w->fates[op->number];
	struct rte_mbuf *hostages[1023];
	unsigned n = 0;

	fate->in = w->received = true;
	fate->conn = op->conn;
	fate->half = op->half;
	fate->port = op->half ? PIPE_INSIDE : PIPE_OUTSIDE;
	fate->length = schedule_frame(conn, op, fate->frame, sizeof(fate->frame));
	before_packet(w, op, fate);
	if (op->starve) // only what it needs itself is left
		while (rte_mempool_avail_count(w->pipe->pool) > op->segments)
			hostages[n++] = rte_pktmbuf_alloc(w->pipe->pool);
	bool quiet = op->starve || w->pipe->refuse;

	pipe_run_frame(
		w->pipe, conn->lcore[op->half], fate->frame, fate->length, op->half, op->segments);
	rte_pktmbuf_free_bulk(hostages, n);
	if (op->turn)
		take_turns(w);
	collect(w);
	read_events(w, quiet);
	w->pipe->n_sent = 0;
}

static void run_world(struct world *w, const struct op *op)
{
	switch (op->type) {
	case OP_TIME:
		for (unsigned i = 0; i <= OPS_MAX; i++) // some wait in a ring
			w->fates[i].blocked = false;
		w->unforeseen = true;
		w->forgetful |= op->value >= FORGOTTEN_S;
		pipe_advance(w->pipe, op->value);
		break;
	case OP_POLICY:
		w->unforeseen |= w->received;
		publish(w, (enum model_policy)op->value);
		break;
	case OP_REFUSE:
		w->pipe->refuse += op->value;
		w->pipe->accept = op->at;
		break;
	default: pipe_turns(w->pipe); break;
	}
	collect(w);
	read_events(w, true);
	w->pipe->n_sent = 0;
}

static void check_cache(struct world *w)
{
	uint64_t now = w->pipe->now_ns, ttl = TTL_S * NS_PER_S;

	for (unsigned i = 0; i < w->s->n_conns; i++) {
		const struct conn_view *view = &w->conns[i];
		uint64_t last = view->learned_ns;

		bool told = view->learned; // a refusal was; its end may be blocked for good since

		for (unsigned k = 0; k < w->s->n_conns; k++) {
			if (!schedule_same_entry(&w->s->conns[i], &w->s->conns[k]))
				continue;
			told |= w->conns[k].alerted;
			if (w->conns[k].last_ns > last)
				last = w->conns[k].last_ns;
		}
		bool must = view->learned && !view->healed && now - view->learned_ns < ttl;
		bool may = told && now - last < ttl && w->mutation != MUTATE_CACHE;

		for (unsigned k = 0; k < w->s->n_lcores; k++) {
			bool has = has_entry(w->pipe->dp.lcores[k], w->s->conns[i].client, 0);

			if (must && !has && !w->s->small)
				problem(w, "connection %u: lcore %u has no cache entry", i, k);
			if (has && !may)
				problem(w, "connection %u: lcore %u has a cache entry", i, k);
		}
	}
}

static void check_fates(struct world *w, const struct stats *stats)
{
	uint64_t missing = stats->injected_pkts - w->injected, dropped = 0;
	bool wire_lost = stats->dropped_pkts[DROP_TX_FULL] ||
			 stats->dropped_pkts[DROP_HANDOFF_FULL] ||
			 (w->s->small && (stats->dropped_pkts[DROP_UNCLASSIFIED] ||
						 stats->dropped_pkts[DROP_FLOW_TABLE_FULL]));
	// what was evicted begins anew with any of its packets, if need be with a late SYN-ACK
	wire_lost |= w->s->small && stats->flows_evicted && stats->dropped_pkts[DROP_NOT_TAKEN];

	for (unsigned i = 0; i < DROP_REASONS_MAX; i++)
		dropped += stats->dropped_pkts[i];
	for (uint32_t number = 1; number <= OPS_MAX; number++) {
		const struct packet_impairment *fate = &w->fates[number];

		if (!fate->in || fate->out)
			continue;
		missing++;
		bool clean = !w->s->conns[fate->conn].bad || fate->unblocked;

		if (fate->untaken || fate->fragment) // no receiver takes it, or not whole
			clean = fate->unblocked;

		if ((clean || (fate->blocked && w->mutation == MUTATE_LEAK)) && !wire_lost)
			problem(w, "packet %u did not leave", number);
	}
	if (missing != dropped)
		problem(w, "%llu packets did not leave, %llu drops", (unsigned long long)missing,
			(unsigned long long)dropped);
}

static void check_end(struct world *w)
{
	struct pipe *pipe = w->pipe;

	pipe->refuse = 0;
	for (unsigned i = 0; i < 2; i++)
		take_turns(w);
	collect(w);
	read_events(w, true);
	pipe->n_sent = 0;
	check_cache(w);
	for (unsigned i = 0; i < w->s->n_conns; i++) {
		const struct conn_view *view = &w->conns[i];

		if (is_bad(w, i) && view->must_block && !w->unforeseen && !w->s->small &&
			blocks(w->policy) && !view->alerted && !blocked_already(w, i))
			problem(w, "connection %u was not blocked", i);
	}
	for (unsigned i = 0; i < pipe->dp.n_lcores; i++)
		pipeline_drain(pipe->dp.lcores[i], pipe->now_ns);
	collect(w);
	struct stats stats = pipe_stats(pipe);

	check_fates(w, &stats);
	if (pipe_unaccounted(pipe))
		problem(w, "%lld packets are unaccounted for", (long long)pipe_unaccounted(pipe));
	if (rte_mempool_in_use_count(pipe->pool))
		problem(w, "%u mbufs are lost", rte_mempool_in_use_count(pipe->pool));
	if (stats.flows_embryonic != stats.flows_ended)
		problem(w, "%llu entries made, %llu ended",
			(unsigned long long)stats.flows_embryonic,
			(unsigned long long)stats.flows_ended);
	for (unsigned i = 0; i < pipe->dp.n_lcores; i++) {
		const struct classifier *classifier = pipe->dp.lcores[i]->classifier;

		if (classifier_states_free(classifier) != classifier_states_max(classifier))
			problem(w, "a classifier state is lost");
	}
}

// As pipe_free, but what is wrong was reported already.
static void forget_pipe(struct pipe *pipe)
{
	for (unsigned i = 0; i < pipe->dp.n_lcores; i++)
		lcore_free(pipe->dp.lcores[i]);
	rte_mempool_free(pipe->pool);
	policy_free(pipe->policy);
	sigdb_free(pipe->sigdb);
	free(pipe);
}

const char *reference_run(const struct schedule *schedule, enum mutation mutation)
{
	static struct world world;
	struct world *w = &world;
	struct lcore_limits limits = pipe_limits();

	memset(w, 0, sizeof(*w));
	if (schedule->small) {
		limits.flows = 4;
		limits.embryos = 6;
		limits.classifying = 2;
		limits.conn_cache = 2;
	}
	w->s = schedule;
	w->mutation = mutation;
	w->pipe = pipe_new(schedule->n_lcores, &limits);
	for (unsigned i = 0; i < schedule->n_ops; i++) {
		if (schedule->ops[i].type == OP_PACKET)
			run_packet(w, &schedule->ops[i]);
		else
			run_world(w, &schedule->ops[i]);
	}
	check_end(w);
	forget_pipe(w->pipe);
	return w->problem[0] ? w->problem : NULL;
}
