// SPDX-License-Identifier: BSD-3-Clause
// Creates and frees a data lcore with all of its tables.
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <rte_malloc.h>
#include "pipeline/flow/table.h"
#include "pipeline/stage/fragments.h"
#include "pipeline/stage/inspect_report.h"
#include "pipeline/content/flow_content.h"
#include "pipeline/cache/conn_cache.h"
#include "pipeline/cache/endpoint_cache.h"
#include "pipeline/egress/drop.h"
#include "pipeline/event/evidence.h"
#include "pipeline/event/windows.h"
#include "pipeline/flow/expect.h"
#include "pipeline/lcore/hints.h"
#include "pipeline/lcores.h"
#include "pipeline/limits.h"
#include "pipeline/operator.h"
#include "pipeline/stage/flow_hooks.h"
#include "pipeline/stage/notice.h"

static struct rte_ring *ring_new(const char *kind, unsigned a, unsigned b, unsigned element,
	unsigned size, int socket, unsigned flags)
{
	char name[RTE_RING_NAMESIZE];

	snprintf(name, sizeof(name), "sl_%s_%u_%u", kind, a, b);
	return rte_ring_create_elem(name, element, size, socket, flags);
}

// A packet that the tracker held.
static void drop_held(void *ctx, struct rte_mbuf *m, enum drop_reason reason)
{
	inspect_dropped(ctx, m, reason);
	packet_drop(ctx, m, reason);
}

int lcore_new(struct dataplane *dp, unsigned index, int socket, struct rte_mempool *pool,
	struct lcore **out, char *err, size_t err_len)
{
	const struct lcore_limits *limits = dp->limits;
	struct lcore *lcore = rte_zmalloc_socket("lcore", sizeof(*lcore), 64, socket);
	const char *missing = "its state";

	if (!lcore)
		goto fail;
	lcore->index = index;
	lcore->socket = socket;
	lcore->parse = limits->parse;
	lcore->reads_handshakes = limits->greetings;
	lcore->dp = dp;
	lcore->pool = pool;
	missing = "the flow table (limits.flows, limits.embryos)";
	const struct flow_table_limits of_flows = {
		.flows = limits->flows,
		.stubs = limits->embryos,
		.source_pct = limits->source_pct,
		.seed = limits->parse.seed,
		.times = limits->timeouts,
		.elephant = limits->elephant,
		.hooks = &flow_hooks,
	};

	lcore->flows = flow_table_new(&of_flows, socket);
	if (!lcore->flows)
		goto fail;
	missing = "the classifier's states (limits.classifying)";
	lcore->classifier = classifier_new(limits->classifying, index, socket);
	if (!lcore->classifier)
		goto fail;
	missing = "heads of requests (limits.heads)";
	lcore->name_heads = name_heads_new(limits->heads, &limits->parse.seed);
	if (!lcore->name_heads)
		goto fail;
	missing = "reassembly (reassembly.memory_mb, reassembly.tracked)";
	lcore->tracker = tracker_new(&limits->tracker, socket);
	if (!lcore->tracker)
		goto fail;
	lcore->tracker->drop = drop_held;
	lcore->tracker->ctx = lcore;
	missing = "the connection cache (limits.conn_cache)";
	lcore->conn_cache = conn_cache_new(limits->conn_cache, &limits->parse.seed, socket);
	if (!lcore->conn_cache)
		goto fail;
	missing = "expectations (limits.expectations)";
	lcore->expect = expect_table_new(limits->expectations, &limits->parse.seed, socket);
	if (!lcore->expect)
		goto fail;
	missing = "the endpoint cache (limits.endpoints)";
	lcore->endpoints = endpoint_cache_new(limits->endpoints, &limits->parse.seed, socket);
	if (!lcore->endpoints)
		goto fail;
	missing = "the name cache (limits.names)";
	lcore->names = endpoint_cache_new(limits->names, &limits->parse.seed, socket);
	if (!lcore->names)
		goto fail;
	missing = "fragments (fragments.datagrams, fragments.packets)";
	lcore->fragments = fragments_new(lcore, &limits->fragments, &limits->parse.seed, socket);
	if (!lcore->fragments)
		goto fail;
	missing = "evidence (limits.evidence)";
	lcore->evidence = evidence_log_new(limits->evidence, socket);
	if (!lcore->evidence)
		goto fail;
	missing = "counts of events";
	lcore->event_windows =
		rte_zmalloc_socket("event_windows", sizeof(struct event_windows), 64, socket);
	if (!lcore->event_windows)
		goto fail;
	missing = "its operator's allowances";
	lcore->allowances.at = rte_zmalloc_socket(
		"allowances", sizeof(struct allowance) * ALLOWANCES_MAX, 64, socket);
	if (!lcore->allowances.at)
		goto fail;
	missing = "the impairment (impairment.limit)";
	struct impair *impair;

	if (impair_new(&limits->impair, socket, &impair))
		goto fail;
	if (limits->impair.at == IMPAIR_RX)
		lcore->impair_rx = impair;
	else
		lcore->impair_tx = impair;
	missing = "decoders of content (content.flows, content.memory_mb, content.records_mb, "
		  "content.torrents_mb)";
	if (!content_new(lcore, &limits->content))
		goto fail;
	missing = "pages for clients whose answer is refused (of a fixed number)";
	if (!notices_new(lcore))
		goto fail;
	missing = "its rings";
	unsigned one_to_one = RING_F_SP_ENQ | RING_F_SC_DEQ;

	lcore->events =
		ring_new("ev", index, 0, sizeof(struct event), EVENT_RING_SIZE, socket, one_to_one);
	lcore->queries = ring_new("qu", index, 0, sizeof(void *), 64, socket, one_to_one);
	lcore->inject = ring_new("in", index, 0, sizeof(void *), 256, socket, one_to_one);
	if (!lcore->events || !lcore->queries || !lcore->inject)
		goto fail;
	atomic_store(&lcore->lease.holder, LEASE_LCORE);
	dp->lcores[index] = lcore;
	*out = lcore;
	return 0;
fail:
	snprintf(err, err_len,
		"data lcore %u: no memory for %s; lower the limit or give EAL more memory "
		"(hugepages, or memory.mb without them)",
		index, missing);
	lcore_free(lcore);
	return -ENOMEM;
}

// A second at most, so that a wall clock that was set is followed.
static void epoch_renew(struct lcore *lcore)
{
	const struct policy *policy = lcore->policy;
	int64_t error = atomic_load_explicit(&lcore->dp->wall_error_ns, memory_order_relaxed);
	uint64_t wall_ns = lcore->now_ns + (uint64_t)error;
	struct windows_open open = timetable_at(&policy->times, wall_ns);

	lcore->windows = open.active;
	lcore->epoch = policy_epoch(policy->generation, open.set);
	lcore->epoch_generation = policy->generation;
	lcore->epoch_ns = UINT64_MAX;
	if (policy->times.n_windows)
		lcore->epoch_ns = open.until_ns - wall_ns < NS_PER_S
					  ? lcore->now_ns + (open.until_ns - wall_ns)
					  : lcore->now_ns + NS_PER_S;
}

// The questions of content that each packet asks, answered once.
static void content_ask(struct lcore *lcore)
{
	const struct policy *policy = lcore->policy;
	const struct content_id_set *ids =
		atomic_load_explicit(&lcore->dp->blocked_ids, memory_order_acquire);

	lcore->blocked_ids = ids;
	lcore->asks_content = policy && (policy->asks_content || lcore->dp->extracts || ids);
	lcore->asks_ids = policy && (policy->asks_ids || ids);
}

void lcore_begin(struct lcore *lcore, const struct policy *policy, uint64_t now_ns)
{
	lcore->now_ns = now_ns;
	if (unlikely(!lcore->began_ns))
		lcore->began_ns = now_ns;
	classifier_retire(lcore->classifier,
		atomic_load_explicit(&lcore->dp->oldest_edition, memory_order_relaxed));
	lcore->policy = policy;
	if (lcore->content) {
		content_ask(lcore);
		content_turn_begin(lcore);
	}
	if (policy && (now_ns >= lcore->epoch_ns || lcore->epoch_generation != policy->generation))
		epoch_renew(lcore);
}

int lcores_connect(struct dataplane *dp, char *err, size_t err_len)
{
	unsigned flags = RING_F_SP_ENQ | RING_F_SC_DEQ;

	for (unsigned to = 0; to < dp->n_lcores; to++) {
		struct lcore *lcore = dp->lcores[to];

		for (unsigned from = 0; from < dp->n_lcores; from++) {
			if (from == to)
				continue;
			lcore->handoff_in[from] = ring_new(
				"ho", from, to, sizeof(void *), HANDOFF_RING, lcore->socket, flags);
			lcore->tx_in[from] = ring_new(
				"tx", from, to, sizeof(void *), HANDOFF_RING, lcore->socket, flags);
			lcore->hints_in[from] = ring_new("hi", from, to, sizeof(struct hint),
				HINT_RING_SIZE, lcore->socket, flags);
			if (!lcore->handoff_in[from] || !lcore->tx_in[from] ||
				!lcore->hints_in[from]) {
				snprintf(err, err_len,
					"no memory for the rings from data lcore %u to %u", from,
					to);
				return -ENOMEM;
			}
		}
	}
	return 0;
}

void lcore_free(struct lcore *lcore)
{
	if (!lcore)
		return;
	lcore->dp->lcores[lcore->index] = NULL;
	rte_free(lcore->dp->standbys[lcore->index]);
	lcore->dp->standbys[lcore->index] = NULL;
	for (unsigned from = 0; from < LCORES_MAX; from++) {
		rte_ring_free(lcore->handoff_in[from]);
		rte_ring_free(lcore->tx_in[from]);
		rte_ring_free(lcore->hints_in[from]);
	}
	rte_ring_free(lcore->events);
	rte_ring_free(lcore->queries);
	rte_ring_free(lcore->inject);
	flow_table_free(lcore->flows);
	classifier_free(lcore->classifier);
	name_heads_free(lcore->name_heads);
	tracker_free(lcore->tracker);
	conn_cache_free(lcore->conn_cache);
	expect_table_free(lcore->expect);
	endpoint_cache_free(lcore->endpoints);
	endpoint_cache_free(lcore->names);
	fragments_free(lcore->fragments);
	content_free(lcore);
	evidence_log_free(lcore->evidence);
	notices_free(lcore);
	rte_free(lcore->event_windows);
	rte_free(lcore->allowances.at);
	impair_free(lcore->impair_rx);
	impair_free(lcore->impair_tx);
	rte_free(lcore);
}

void dataplane_owner_fill(struct dataplane *dp)
{
	unsigned size = dp->reta_size && dp->reta_size < OWNER_TABLE ? dp->reta_size : OWNER_TABLE;

	for (unsigned i = 0; i < OWNER_TABLE; i++)
		dp->owner[i] = (uint8_t)(i % size % dp->n_lcores);
}
