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
#include <rte_eal.h>
#include <rte_malloc.h>
#include "pipeline/egress/egress.h"
#include "pipeline/lcores.h"
#include "pipeline/wire/checksum.h"
#include "pipe.h"
#include "pipeline/egress/tx.h"
#include "pipeline/event/event.h"
#include "pipeline/lcore/lcore.h"
#include "pipeline/lcore/port.h"
#include "pipeline/stage/fragments.h"
#include "pipeline/cache/conn_cache.h"
#include "classify/classify.h"
#include "pipeline/limits.h"
#include "pipeline/policy/content_rules.h"
#include "pipeline/policy/policy.h"
#include "pipeline/loop.h"

const char *pipe_eal_mb = "256";
unsigned pipe_mbufs = 1023;

static void eal_once(void)
{
	static bool started;
	char megabytes[16];
	char *argv[] = {(char[]){"test"}, (char[]){"--no-shconf"}, (char[]){"--no-huge"},
		(char[]){"-m"}, megabytes, (char[]){"--no-pci"}, (char[]){"--no-telemetry"},
		(char[]){"--log-level=3"}};

	if (started)
		return;
	started = true;
	snprintf(megabytes, sizeof(megabytes), "%s", pipe_eal_mb);
	assert_true(rte_eal_init(8, argv) >= 0);
}

// The row of every pipe: sees each packet that passes the entry point.
static enum egress_verdict tag(struct lcore *lcore, struct rte_mbuf *m, uint32_t ref,
	enum egress_kind kind, enum drop_reason *reason)
{
	struct pipe *pipe = lcore->dp->ports[0].ctx;

	(void)ref;
	(void)reason;
	assert_int_equal(pkt_of(m)->egress, kind);
	pipe->tagged[kind]++;
	return EGRESS_PASS;
}

const struct egress_row pipe_rows[] = {
	{.name = "tag", .kinds = EGRESS_ALL, .run = tag},
	{.name = NULL},
};

static uint16_t wire_send(void *ctx, uint16_t queue, struct rte_mbuf **pkts, uint16_t n)
{
	struct pipe *pipe = ctx;
	uint16_t accepted = 0;

	(void)queue;
	for (; accepted < n; accepted++) {
		struct rte_mbuf *m = pkts[accepted];

		if (pipe->refuse && !pipe->accept) {
			pipe->refuse--;
			break;
		}
		if (pipe->refuse)
			pipe->accept--;
		assert_int_not_equal(
			pkt_of(m)->egress, EGRESS_NONE); // it went around the entry point
		assert_true(pipe->n_sent < PIPE_SENT_MAX);
		struct pipe_sent *sent = &pipe->sent[pipe->n_sent++];

		sent->port = pipe->dp.ports[pkt_of(m)->in_port].peer;
		sent->length = m->pkt_len;
		assert_true(m->pkt_len <= sizeof(sent->frame));
		const void *bytes = rte_pktmbuf_read(m, 0, m->pkt_len, sent->frame);

		if (bytes != sent->frame)
			memcpy(sent->frame, bytes, m->pkt_len);
		rte_pktmbuf_free(m);
	}
	return accepted;
}

struct lcore_limits pipe_limits(void)
{
	return (struct lcore_limits){
		.parse = PARSE_SETTINGS_FIXED,
		.flows = 64,
		.embryos = 64,
		.source_pct = 10,
		.classifying = 32,
		.heads = 8,
		.conn_cache = 64,
		.expectations = 64,
		.endpoints = 256,
		.names = 256,
		.evidence = 4096,
		.fragments = {.datagrams = 16,
			.packets = 256,
			.per_datagram = 128,
			.timeout_ns = 30 * NS_PER_S},
		.timeouts = flow_timeouts_default,
		.tracker =
			{
				.tracks = 64,
				.blocks = 512,
				.half_blocks = 128,
				.held = 64,
				.half_held = 16,
				.hold_ns = 30 * NS_PER_S,
				.fast_pass = true,
			},
	};
}

// What EAL's heap has given out.
static size_t eal_bytes(void)
{
	size_t bytes = 0;

	for (int socket = 0; socket < RTE_MAX_NUMA_NODES; socket++) {
		struct rte_malloc_socket_stats stats;

		if (rte_malloc_get_socket_stats(socket, &stats) == 0)
			bytes += stats.heap_allocsz_bytes;
	}
	return bytes;
}

static unsigned n_pipes;
static size_t bytes_before; // the first of them

struct pipe *pipe_new(unsigned n_lcores, const struct lcore_limits *limits)
{
	static unsigned serial;
	char err[200], name[32];

	eal_once();
	if (!n_pipes++)
		bytes_before = eal_bytes();
	struct pipe *pipe = calloc(1, sizeof(*pipe));

	assert_non_null(pipe);
	snprintf(name, sizeof(name), "pipe%u", serial++);
	pipe->pool = rte_pktmbuf_pool_create(
		name, pipe_mbufs, 0, PKT_PRIV_SIZE, RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY);
	assert_non_null(pipe->pool);
	pipe->now_ns = 1700000000 * NS_PER_S;
	pipe->dp.n_lcores = n_lcores;
	pipe->dp.n_ports = 2;
	pipe->limits = limits ? *limits : pipe_limits();
	pipe->dp.limits = &pipe->limits;
	pipe->dp.egress_rows = pipe_rows;
	for (uint8_t i = 0; i < 2; i++) {
		struct port *port = &pipe->dp.ports[i];

		port->index = i;
		port->peer = !i;
		port->inside = i == PIPE_INSIDE;
		port->max_frame = 2048;
		port->send = wire_send;
		port->ctx = pipe;
	}
	dataplane_owner_fill(&pipe->dp);
	for (unsigned i = 0; i < n_lcores; i++) {
		struct lcore *lcore;

		assert_int_equal(lcore_new(&pipe->dp, i, SOCKET_ID_ANY, pipe->pool, &lcore, err,
					 sizeof(err)),
			0);
	}
	assert_int_equal(lcores_connect(&pipe->dp, err, sizeof(err)), 0);
	static struct signature signature = {
		.id = "bittorrent-handshake",
		.l4 = IPPROTO_TCP,
		.halves = 3,
		.confidence = CONFIDENCE_DPI,
		.min_length = 20,
		.pattern = "^\\x13BitTorrent protocol",
	};
	static struct signature dht = {
		.id = "bittorrent-dht",
		.l4 = IPPROTO_UDP,
		.halves = 3,
		.confidence = CONFIDENCE_DPI,
		.min_length = 12,
		.pattern = "^d1:[ar]d2:id20:",
	};

	signature.app = dht.app = app_find("bittorrent");
	struct signature both[2] = {signature, dht};

	if (sigdb_new(both, 2, NULL, &pipe->sigdb, NULL, err, sizeof(err)))
		fail_msg("%s", err);
	pipe_publish(pipe, pipe_policy(pipe));
	return pipe;
}

void pipe_signatures(struct pipe *pipe, struct sigdb *db)
{
	struct edition *before = pipe->edition;
	struct sigdb *own = pipe->sigdb_borrowed ? NULL : pipe->sigdb;

	pipe->sigdb = db;
	pipe->sigdb_borrowed = true;
	pipe->edition = NULL;
	pipe_publish(pipe, pipe_policy(pipe));
	edition_free(before);
	sigdb_free(own);
}

struct policy *pipe_policy(struct pipe *pipe)
{
	struct policy *policy = calloc(1, sizeof(*policy));

	assert_non_null(policy);
	policy->rules = calloc(8, sizeof(struct rule));
	policy->by_uid = calloc(8, sizeof(*policy->by_uid));
	policy->generation = pipe->policy ? pipe->policy->generation + 1 : 1;
	policy->icmp_rejects_per_s = 2;
	policy->resets_per_s = 1000;
	policy->conn_cache.ttl_s = 300;
	policy->conn_cache.max_lifetime_s = 3600;
	if (!pipe->edition) {
		assert_int_equal(edition_new(pipe->sigdb, pipe->dp.n_lcores, &pipe->edition), 0);
		pipe->edition->number = 1;
	}
	policy->edition = pipe->edition;
	return policy;
}

struct rule *pipe_rule(struct policy *policy, uint32_t uid, enum action action)
{
	struct rule *rule = &policy->rules[policy->n_rules];

	assert_true(policy->n_rules < 8);
	rule->uid = uid; // tests add rules by rising uid
	rule->action = (uint8_t)action;
	policy->by_uid[policy->n_rules++] = rule;
	policy->enforces |= action != ACTION_PASS;
	return rule;
}

struct rule *pipe_rule_app(struct policy *policy, uint32_t uid, enum action action, const char *app)
{
	struct rule *rule = pipe_rule(policy, uid, action);

	rule->has_app = true;
	policy->enforces_app = policy->enforces;
	rule->min_confidence = CONFIDENCE_DPI;
	rule->cache = CACHE_TUPLE;
	app_set_add(&rule->apps, app_find(app));
	return rule;
}

void pipe_rule_edits(struct policy *policy, uint32_t uid)
{
	struct rule *rule = pipe_rule(policy, uid, ACTION_PASS);
	struct rule_content *content = calloc(1, sizeof(*content));

	assert_non_null(content);
	content->chats = calloc(1, sizeof(*content->chats));
	assert_non_null(content->chats);
	content->n_chats = 1;
	content->chats[0].written = CONTENT_ACTION_MASK;
	content->chats[0].keys = CONTENT_KEY_KEYWORD;
	rule->only_content = true;
	rule->content = content;
	rule_content_settle(rule);
	policy->content = calloc(1, sizeof(*policy->content));
	assert_non_null(policy->content);
	policy->content->n_chats = 1;
	assert_int_equal(content_rules_scratch(policy->content, 1), 0);
	policy->asks_content = true;
	policy->edits_content = content->edits;
	policy->enforces = true;
}

struct lcore_limits pipe_limits_edits(void)
{
	struct lcore_limits limits = pipe_limits();

	limits.content = (struct content_limits){
		.flows = 8, .turn_bytes = 64u << 10, .memory_bytes = 1, .arena_bytes = 1};
	return limits;
}

void pipe_publish(struct pipe *pipe, struct policy *policy)
{
	atomic_store(&pipe->dp.policy, policy);
	policy_free(pipe->policy);
	pipe->policy = policy;
}

void pipe_egress_closes(struct pipe *pipe)
{
	struct stats sum = pipe_stats(pipe);

	assert_int_equal(sum.egress_entered[EGRESS_NONE], 0);
	assert_int_equal(sum.egress_sent[EGRESS_NONE], 0);
	for (unsigned kind = EGRESS_NONE + 1; kind < EGRESS_KINDS_MAX; kind++) {
		assert_int_equal(
			sum.egress_entered[kind], sum.egress_sent[kind] + sum.egress_dropped[kind]);
		if (!sum.impaired_duplicated) // copies are made behind the rows
			assert_int_equal(pipe->tagged[kind], sum.egress_entered[kind]);
		pipe->tagged[kind] = 0;
	}
}

void pipe_free(struct pipe *pipe)
{
	for (unsigned i = 0; i < pipe->dp.n_lcores; i++)
		pipeline_drain(pipe->dp.lcores[i], pipe->now_ns);
	assert_int_equal(pipe_unaccounted(pipe), 0);
	pipe_egress_closes(pipe);
	pipe_scan_free(pipe);
	for (unsigned i = 0; i < pipe->dp.n_lcores; i++) {
		struct lcore *lcore = pipe->dp.lcores[i];

		assert_int_equal(classifier_states_free(lcore->classifier),
			classifier_states_max(lcore->classifier));
		for (unsigned app = 0; app <= APPS_MAX; app++)
			assert_int_equal(lcore->apps[app].flows_active, 0);
		lcore_free(lcore);
	}
	assert_int_equal(rte_mempool_in_use_count(pipe->pool), 0);
	rte_mempool_free(pipe->pool);
	policy_free(pipe->policy);
	edition_free(pipe->edition);
	if (!pipe->sigdb_borrowed)
		sigdb_free(pipe->sigdb);
	free(pipe);
	if (!--n_pipes)
		assert_int_equal(eal_bytes(), bytes_before);
}

static void put16(uint8_t *p, uint32_t v)
{
	p[0] = (uint8_t)(v >> 8);
	p[1] = (uint8_t)v;
}

static void put32(uint8_t *p, uint32_t v)
{
	put16(p, v >> 16);
	put16(p + 2, v);
}

static unsigned build_l2(const struct pipe_packet *packet, uint8_t *frame)
{
	static const uint8_t inside[6] = {2, 0, 0, 0, 0, 1}, outside[6] = {2, 0, 0, 0, 0, 2};
	unsigned offset = 12;

	memcpy(frame, packet->from_outside ? inside : outside, 6);
	memcpy(frame + 6, packet->from_outside ? outside : inside, 6);
	for (unsigned i = 0; i < packet->n_vlan; i++, offset += 4) {
		put16(frame + offset, packet->n_vlan == 2 && i == 0 ? 0x88a8 : 0x8100);
		put16(frame + offset + 2, packet->vlan[i]);
	}
	put16(frame + offset, packet->v6 ? 0x86dd : 0x0800);
	return offset + 2;
}

static unsigned build_l4(const struct pipe_packet *packet, uint8_t *l4, uint8_t proto)
{
	uint16_t sport = packet->sport ? packet->sport : 40000;
	uint16_t dport = packet->dport ? packet->dport : 80;
	unsigned header = proto == IPPROTO_TCP ? 20u + packet->options_length : 8;

	memset(l4, 0, header);
	if (proto == IPPROTO_ICMP) {
		l4[0] = packet->from_outside ? 0 : 8;
	} else {
		put16(l4, packet->from_outside ? dport : sport);
		put16(l4 + 2, packet->from_outside ? sport : dport);
	}
	if (proto == IPPROTO_TCP) {
		put32(l4 + 4, packet->seq);
		put32(l4 + 8, packet->ack);
		l4[12] = (uint8_t)(header / 4 << 4);
		if (packet->options_length)
			memcpy(l4 + 20, packet->options, packet->options_length);
		l4[13] = packet->tcp_flags        ? packet->tcp_flags
			 : packet->payload_length ? TH_PUSH | TH_ACK
						  : TH_ACK;
		put16(l4 + 14, packet->window ? packet->window : 65000);
		put16(l4 + 18, packet->urgent);
	} else if (proto == IPPROTO_UDP) {
		put16(l4 + 4, 8u + packet->payload_length);
	}
	if (packet->payload_length)
		memcpy(l4 + header, packet->payload, packet->payload_length);
	return header + packet->payload_length;
}

static uint32_t address_word(uint32_t given, uint32_t otherwise)
{
	return 0x0a000000u + (given ? given : otherwise);
}

unsigned pipe_build(const struct pipe_packet *packet, uint8_t *frame, size_t size)
{
	uint8_t proto = packet->proto ? packet->proto : IPPROTO_TCP;
	unsigned l2 = build_l2(packet, frame);
	uint8_t *ip = frame + l2;
	unsigned header = packet->v6 ? 40 : 20;
	uint8_t *l4 = ip + header;

	assert_true(packet->options_length <= 40 && packet->options_length % 4 == 0);
	assert_true(size >= l2 + header + 20u + packet->options_length + packet->payload_length);
	unsigned l4_length = build_l4(packet, l4, proto);
	uint32_t client = address_word(packet->client, 1), server = address_word(packet->server, 2);
	uint32_t source = packet->from_outside ? server : client;
	uint32_t destination = packet->from_outside ? client : server;

	memset(ip, 0, header);
	if (packet->v6) {
		ip[0] = 0x60;
		put16(ip + 4, l4_length);
		ip[6] = proto;
		ip[7] = packet->ttl ? packet->ttl : 63;
		ip[8] = ip[24] = 0xfd;
		put32(ip + 20, source);
		put32(ip + 36, destination);
	} else {
		ip[0] = 0x45;
		put16(ip + 2, header + l4_length);
		put16(ip + 4, packet->ip_id);
		put16(ip + 6, packet->fragment);
		ip[8] = packet->ttl ? packet->ttl : 63;
		ip[9] = proto;
		put32(ip + 12, source);
		put32(ip + 16, destination);
	}
	checksum_fill(ip, l4, (uint16_t)l4_length, proto, packet->v6);
	if (packet->bad_checksum)
		l4[proto == IPPROTO_TCP ? 16 : 6] ^= 0x55;
	return l2 + header + l4_length;
}

static void heap_free(void *addr, void *opaque)
{
	(void)addr;
	free(opaque);
}

// One segment in a heap block of exactly its size; the free callback's state lies before it.
static struct rte_mbuf *heap_segment(struct pipe *pipe, const uint8_t *bytes, uint16_t length)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(pipe->pool);
	struct rte_mbuf_ext_shared_info *shared = malloc(sizeof(*shared) + length);

	assert_non_null(m);
	assert_non_null(shared);
	uint8_t *place = (uint8_t *)(shared + 1);

	memcpy(place, bytes, length);
	*shared = (struct rte_mbuf_ext_shared_info){.free_cb = heap_free, .fcb_opaque = shared};
	rte_mbuf_ext_refcnt_set(shared, 1);
	rte_pktmbuf_attach_extbuf(m, place, 0, length, shared);
	m->data_off = 0;
	m->data_len = length;
	m->pkt_len = length;
	return m;
}

unsigned pipe_run_frame(struct pipe *pipe, unsigned lcore, const uint8_t *frame, uint32_t length,
	bool from_outside, unsigned segments)
{
	struct rte_mbuf *head = NULL;
	unsigned before = pipe->n_sent;
	uint32_t step = segments > 1 ? (length + segments - 1) / segments : length;

	for (uint32_t done = 0; done < length; done += step) {
		uint32_t here = length - done < step ? length - done : step;
		struct rte_mbuf *m = heap_segment(pipe, frame + done, (uint16_t)here);

		if (!head)
			head = m;
		else
			assert_int_equal(rte_pktmbuf_chain(head, m), 0);
	}
	pipeline_receive(pipe->dp.lcores[lcore], head, from_outside ? PIPE_OUTSIDE : PIPE_INSIDE,
		LINK_ETHERNET, pipe->now_ns, pipe->rx_flags);
	pipeline_run(pipe->dp.lcores[lcore], &head, 1, pipe->now_ns);
	tx_flush(pipe->dp.lcores[lcore]);
	return pipe->n_sent - before;
}

unsigned pipe_run(struct pipe *pipe, unsigned lcore, const struct pipe_packet *packet)
{
	uint8_t frame[2048];
	unsigned length = pipe_build(packet, frame, sizeof(frame));

	return pipe_run_frame(pipe, lcore, frame, length, packet->from_outside, packet->segments);
}

unsigned pipe_turns(struct pipe *pipe)
{
	unsigned before = pipe->n_sent;

	for (unsigned i = 0; i < pipe->dp.n_lcores; i++)
		pipeline_turn(pipe->dp.lcores[i], pipe->now_ns);
	return pipe->n_sent - before;
}

void pipe_advance(struct pipe *pipe, double seconds)
{
	pipe->now_ns += (uint64_t)(seconds * 1e9);
	pipe_turns(pipe);
}

struct stats pipe_stats(const struct pipe *pipe)
{
	struct stats sum = {0};

	for (unsigned i = 0; i < 2 * pipe->dp.n_lcores; i++) {
		const struct lcore *lcore =
			i & 1 ? pipe->dp.standbys[i / 2] : pipe->dp.lcores[i / 2];

		if (!lcore)
			continue;
		const struct stats *stats = &lcore->stats;
#define X(name, help) sum.name += stats->name;
		STATS_COUNTERS(X)
#undef X
		for (unsigned reason = 0; reason < DROP_REASONS_MAX; reason++)
			sum.dropped_pkts[reason] += stats->dropped_pkts[reason];
		for (unsigned kind = 0; kind < EGRESS_KINDS_MAX; kind++) {
			sum.egress_entered[kind] += stats->egress_entered[kind];
			sum.egress_sent[kind] += stats->egress_sent[kind];
			sum.egress_dropped[kind] += stats->egress_dropped[kind];
		}
		sum.held_pkts += stats->held_pkts;
		sum.fragments_held += stats->fragments_held;
		sum.datagrams_held += stats->datagrams_held;
		sum.flows_active += stats->flows_active;
		sum.embryos_active += stats->embryos_active;
		sum.elephants_active += stats->elephants_active;
		sum.cache_entries += stats->cache_entries;
#define X(name, help) uint64_t name = RTE_MAX(sum.name, stats->name);
		STATS_LONGEST(X)
#undef X
#define X(name, help) sum.name += stats->name;
		STATS_GAUGES(X)
#undef X
#define X(name, help) sum.name = name;
		STATS_LONGEST(X)
#undef X
	}
	return sum;
}

int64_t pipe_unaccounted(const struct pipe *pipe)
{
	struct stats sum = pipe_stats(pipe);
	uint64_t in = sum.received_pkts + sum.injected_pkts;
	uint64_t out = sum.sent_pkts + sum.held_pkts + sum.consumed_pkts;

	for (unsigned reason = 0; reason < DROP_REASONS_MAX; reason++)
		out += sum.dropped_pkts[reason];
	return (int64_t)(in - out);
}

bool pipe_event(struct pipe *pipe, unsigned lcore, enum event_type type, struct event *event)
{
	struct rte_ring *ring = pipe->dp.lcores[lcore]->events;

	while (!rte_ring_sc_dequeue_elem(ring, event, sizeof(*event)))
		if (event->type == type)
			return true;
	return false;
}
