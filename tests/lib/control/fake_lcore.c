// SPDX-License-Identifier: BSD-3-Clause
#include "fake_lcore.h"

#include <netinet/in.h>
#include <string.h>

#include "fake_control.h"
#include "pipeline/vocab/tick.h"
#include "pipeline/cache/conn_cache.h"
#include "pipeline/cache/endpoint_cache.h"
#include "pipeline/query.h"

static void answer_flows(struct fake_lcores *lcores, unsigned lcore, struct query *query)
{
	struct flow_record *out = query->out;

	for (; query->cursor < lcores->n_flows; query->cursor++) {
		uint64_t id = lcore * 10000 + query->cursor + 1;

		if (query->n == query->max)
			return;
		if (query->flow_id && query->flow_id != id)
			continue;
		query->total++;
		if (lcores->flow) {
			lcores->flow(lcore, query->cursor, &out[query->n++]);
			continue;
		}
		out[query->n++] = (struct flow_record){
			.flow_id = id,
			.start_ns = lcores->now_ns() - 5 * NS_PER_S,
			.last_ns = lcores->now_ns(),
			.pkts = {3, 4},
			.bytes = {300, 4000000000},
			.ends = fake_ends(query->cursor % 10 ? "10.0.0.1" : "2001:db8::5", 1000,
				"192.0.2.1", 80),
			.rule_uid = 1,
			.realm = lcores->realm,
			.app = query->cursor % 100 ? APP_NONE : 1,
			.signature = 0,
			.confidence = lcore ? CONFIDENCE_DPI : CONFIDENCE_NONE,
			.action = ACTION_RESET,
			.l4_proto = 6,
			.lcore = (uint8_t)lcore,
			.lru_class = FLOW_CLASS_TCP,
		};
	}
}

// 40 entries on each lcore, 20 of them the same; the last one is of no application.
static void answer_learned(struct fake_lcores *lcores, unsigned lcore, struct query *query)
{
	struct endpoint_entry *out = query->out;
	bool names = query->type == QUERY_NAMES;

	for (; query->n < query->max && query->cursor < 40; query->cursor++) {
		uint16_t number = (uint16_t)(20 * lcore + query->cursor);

		out[query->n++] = (struct endpoint_entry){
			.key = {.address = {[10] = 0xff, 0xff, 192, 0, 2, (uint8_t)number},
				.client = {names && number % 2 ? 0x20 : 0},
				.port = names ? 0 : (uint16_t)(6881 + number),
				.l4_proto = names ? 0 : IPPROTO_UDP},
			.created_ns = lcores->now_ns(),
			.expires_ns = lcores->now_ns() + (100u + number) * NS_PER_S,
			.flow_id = 77,
			.hits = 2,
			.app = number == 59 ? APP_NONE : app_find("bittorrent"),
			.from = names ? LEARNED_DNS : LEARNED_DHT,
		};
	}
}

static void answer_cache(struct fake_lcores *lcores, unsigned lcore, struct query *query)
{
	struct conn_entry *out = query->out;

	// Lcore 0 knows entries 0..599, lcore 1 300..899: 900 different ones.
	for (; query->cursor < 600 && query->n < query->max; query->cursor++) {
		unsigned number = (unsigned)query->cursor + lcore * 300;
		struct flow_ends ends = fake_ends("10.0.0.1", 0, "192.0.2.7", 0);
		struct conn_entry *entry = &out[query->n++];

		*entry = (struct conn_entry){.created_ns = number + 1,
			.expires_ns = lcores->now_ns() + 60 * NS_PER_S,
			.hits = 2,
			.saved_bytes = 100,
			.rule_uid = 1,
			.app = 1};
		memcpy(entry->key.initiator, ends.address[0], 16);
		memcpy(entry->key.responder, ends.address[1], 16);
		entry->key.port = (uint16_t)number;
		entry->key.l4_proto = 6;
		entry->key.mode = CACHE_TUPLE;
	}
	query->total = 600;
}

static void answer_trace(struct fake_lcores *lcores, unsigned lcore, struct query *query)
{
	if (query->flow_id != 77 || lcore != 1)
		return;
	query->total = 1;
	lcores->traced++;
	lcores->tracing = query->trace_on;
}

void fake_lcore_turn(struct fake_lcores *lcores, unsigned lcore)
{
	struct query *query = lcores->held[lcore];
	void *next;

	if (lcores->stalled[lcore]) {
		if (!query && rte_ring_dequeue(lcores->dp->lcores[lcore]->queries, &next) == 0)
			lcores->held[lcore] = next; // taken, and then nothing
		return;
	}
	rte_rcu_qsbr_quiescent(lcores->dp->qsbr, lcore);
	if (!query) {
		if (rte_ring_dequeue(lcores->dp->lcores[lcore]->queries, &next))
			return;
		query = next;
	}
	lcores->held[lcore] = NULL;
	if (query->type == QUERY_FLOWS)
		answer_flows(lcores, lcore, query);
	else if (query->type == QUERY_CACHE)
		answer_cache(lcores, lcore, query);
	else if (query->type == QUERY_ENDPOINTS || query->type == QUERY_NAMES)
		answer_learned(lcores, lcore, query);
	else if (query->type == QUERY_TRACE)
		answer_trace(lcores, lcore, query);
	else
		query->total = 600, lcores->flushes++;
	atomic_store(&query->done, true);
}
