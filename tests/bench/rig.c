// SPDX-License-Identifier: BSD-3-Clause
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <rte_cycles.h>
#include <rte_eal.h>
#include "pipeline/lcores.h"
#include "pipeline/wire/checksum.h"
#include "pipeline/flow/table.h"
#include "control/policy/load.h"
#include "rig.h"
#include "control/policy/app_tables.h"
#include "control/policy/signature_load.h"
#include "pipeline/egress/tx.h"
#include "pipeline/event/event.h"
#include "pipeline/lcore/port.h"
#include "pipeline/limits.h"
#include "pipeline/policy/content_rules.h"
#include "pipeline/policy/policy.h"
#include "pipeline/loop.h"

#define POOL_SIZE  8191
#define POOL_CACHE 256

void rig_die(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	fputs("bench_stages: ", stderr);
	vfprintf(stderr, format, args);
	fputc('\n', stderr);
	va_end(args);
	exit(1);
}

static unsigned hugepages_free(void)
{
	FILE *file = fopen("/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages", "r");
	unsigned n = 0;

	if (!file)
		return 0;
	if (fscanf(file, "%u", &n) != 1)
		n = 0;
	fclose(file);
	return n;
}

static bool hugepages_mounted(void)
{
	FILE *file = fopen("/proc/mounts", "r");
	char line[512];
	bool found = false;

	while (file && !found && fgets(line, sizeof(line), file))
		found = strstr(line, " hugetlbfs ") != NULL;
	if (file)
		fclose(file);
	return found;
}

static bool eal_begin(unsigned mb)
{
	bool huge = hugepages_mounted() && hugepages_free() * 2 >= mb;
	char memory[16], prefix[64], *argv[12];
	int argc = 0;

	snprintf(memory, sizeof(memory), "%u", mb);
	snprintf(prefix, sizeof(prefix), "--file-prefix=bench%d", (int)getpid());
	argv[argc++] = (char[]){"bench"};
	argv[argc++] = (char[]){"--no-shconf"};
	argv[argc++] = (char[]){"--no-pci"};
	argv[argc++] = (char[]){"--no-telemetry"};
	argv[argc++] = (char[]){"--log-level=3"};
	argv[argc++] = (char[]){"-m"};
	argv[argc++] = memory;
	argv[argc++] = prefix;
	argv[argc++] = huge ? (char[]){"--huge-unlink"} : (char[]){"--no-huge"};
	argv[argc] = NULL;
	if (rte_eal_init(argc, argv) < 0)
		rig_die("EAL did not start with %u MB %s", mb,
			huge ? "of hugepages" : "without hugepages");
	return huge;
}

uint32_t rig_tail_of(uint32_t index)
{
	return index * 2654435761u >> 20; // 12 bits: RIG_TAILS
}

static void wire_fill(struct rig *rig, struct rte_mbuf *m, uint32_t index)
{
	const struct rig_wire *wire = &rig->wire;
	uint8_t *to = rte_pktmbuf_mtod(m, uint8_t *);

	memcpy(to, wire->heads[index].bytes, RIG_HEAD);
	if (wire->advanced) {
		uint32_t seq;

		memcpy(&seq, to + 38, 4);
		seq = htonl(ntohl(seq) + wire->advanced);
		memcpy(to + 38, &seq, 4);
	}
	if (wire->length > RIG_HEAD)
		memcpy(to + RIG_HEAD, rig->tails[rig_tail_of(index)],
			(size_t)wire->length - RIG_HEAD);
	m->data_len = wire->length;
	m->pkt_len = wire->length;
}

static uint16_t wire_receive(void *ctx, uint16_t queue, struct rte_mbuf **pkts, uint16_t n)
{
	struct rig *rig = ctx;
	struct rig_wire *wire = &rig->wire;

	(void)queue;
	if (n > wire->left)
		n = (uint16_t)wire->left;
	if (!n || rte_pktmbuf_alloc_bulk(rig->pool, pkts, n))
		return 0;
	for (uint16_t i = 0; i < n; i++) {
		rte_prefetch0(
			&wire->heads[wire->cursor + 8 < wire->n_heads ? wire->cursor + 8 : 0]);
		wire_fill(rig, pkts[i], wire->cursor);
		if (++wire->cursor == wire->n_heads) {
			wire->cursor = 0;
			wire->advanced += wire->advance;
		}
	}
	wire->left -= n;
	return n;
}

static uint16_t wire_send(void *ctx, uint16_t queue, struct rte_mbuf **pkts, uint16_t n)
{
	struct rig *rig = ctx;

	(void)queue;
	rte_pktmbuf_free_bulk(pkts, n);
	rig->wire.freed += n;
	return n;
}

static void read_policy(struct rig *rig, const char *path)
{
	struct config_errors errors = {0};
	uint64_t generation = rig->policy ? rig->policy->generation : 0;

	if (policy_load(path, rig->names, &rig->policy, &errors) < 0)
		rig_die("%s", errors.n ? errors.lines[0] : "the policy could not be read");
	if (app_tables_apply(rig->tables, rig->policy) < 0)
		rig_die("no memory for the tables");
	if (rig->policy->content && content_rules_scratch(rig->policy->content, 1) < 0)
		rig_die("no memory for the scratch of content");
	rig->policy->generation = generation + 1;
	rig->policy->edition = rig->edition;
	atomic_store(&rig->dp.policy, rig->policy);
}

static void load_policy(struct rig *rig, const struct rig_options *options)
{
	struct config_errors errors = {0};
	struct signature *signatures = NULL;
	unsigned n = 0;
	char err[512] = "";

	if (signature_load_dir(options->signatures, &signatures, &n, &rig->tables, &errors) < 0)
		rig_die("%s", errors.n ? errors.lines[0] : "signatures could not be read");
	if (sigdb_new(signatures, n, options->cache, &rig->sigdb, NULL, err, sizeof(err)))
		rig_die("%s", err);
	free(signatures);
	rig->names = rule_names_new();
	if (edition_new(rig->sigdb, 1, &rig->edition))
		rig_die("no memory for Hyperscan's scratch");
	rig->edition->number = 1;
	read_policy(rig, options->policy);
}

void rig_policy(struct rig *rig, const char *json)
{
	char path[] = "/tmp/bench_policy.XXXXXX";
	int fd = mkstemp(path);
	struct policy *before = rig->policy;

	if (fd < 0 || write(fd, json, strlen(json)) != (ssize_t)strlen(json))
		rig_die("no file for a policy");
	close(fd);
	read_policy(rig, path);
	unlink(path);
	policy_free(before);
}

// Random bytes from a fixed seed: the same in every run, on every machine.
static void fill_tails(struct rig *rig)
{
	uint64_t x = 0x9e3779b97f4a7c15ull;

	rig->tails = malloc(sizeof(*rig->tails) * RIG_TAILS);
	if (!rig->tails)
		rig_die("no memory for payloads");
	for (size_t i = 0; i < sizeof(*rig->tails) * RIG_TAILS; i++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		((uint8_t *)rig->tails)[i] = (uint8_t)(x >> 32);
	}
}

// Within a turn the gateway reads the TSC; how long the packets of a bench were here means nothing.
static uint64_t rig_clock(void)
{
	return 1700000000 * NS_PER_S + (rte_rdtsc() >> 1);
}

struct rig *rig_new(const struct rig_options *options)
{
	struct rig *rig = aligned_alloc(64, RTE_ALIGN_CEIL(sizeof(*rig), 64));
	char err[256];

	if (!rig)
		rig_die("no memory");
	memset(rig, 0, sizeof(*rig));
	rig->hugepages = eal_begin(options->mb);
	fill_tails(rig);
	rig->now_ns = 1700000000 * NS_PER_S;
	rig->pool = rte_pktmbuf_pool_create("bench", POOL_SIZE, POOL_CACHE, PKT_PRIV_SIZE,
		RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY);
	if (!rig->pool)
		rig_die("no memory for mbufs");
	rig->dp.n_lcores = 1;
	rig->dp.n_ports = 2;
	rig->dp.clock_ns = rig_clock;
	rig->dp.limits = &rig->limits;
	rig->limits = (struct lcore_limits){
		.parse = PARSE_SETTINGS_FIXED,
		.flows = options->flows,
		.embryos = options->flows,
		.source_pct = 10,
		.classifying = 65536, // the gateway's default
		.heads = 4096,
		.tracker =
			{
				.tracks = 65536, // the gateway's default, too
				.blocks = 32768,
				.half_blocks = 4096,
				.held = 4096,
				.half_held = 512,
				.hold_ns = 30 * NS_PER_S,
				.fast_pass = true,
			},
		.conn_cache = options->flows,
		.expectations = 16384,
		.endpoints = 32768,
		.names = 32768,
		.evidence = 65536,
		.fragments = {.datagrams = 1024,
			.packets = 4096,
			.per_datagram = 128,
			.timeout_ns = 30 * NS_PER_S},
		.timeouts = flow_timeouts_default,
		.content = {.flows = 1024,
			.source_pct = 10,
			.turn_bytes = 64u << 10,
			.memory_bytes = 128u << 20,
			.arena_bytes = 128u << 20},
	};
	for (uint8_t i = 0; i < 2; i++) {
		struct port *port = &rig->dp.ports[i];

		port->index = i;
		port->peer = !i;
		port->inside = i == RIG_INSIDE;
		port->max_frame = 2000;
		port->receive = wire_receive;
		port->send = wire_send;
		port->ctx = rig;
	}
	dataplane_owner_fill(&rig->dp);
	if (lcore_new(&rig->dp, 0, SOCKET_ID_ANY, rig->pool, &rig->lcore, err, sizeof(err)))
		rig_die("%s", err);
	load_policy(rig, options);
	rig->lcore->n_rx = 1;
	return rig;
}

void rig_drain_events(struct rig *rig)
{
	static struct event events[64];

	while (rte_ring_sc_dequeue_burst_elem(
		rig->lcore->events, events, sizeof(events[0]), 64, NULL))
		;
}

static int64_t unaccounted(const struct stats *stats)
{
	uint64_t out = stats->sent_pkts + stats->held_pkts + stats->consumed_pkts;

	for (unsigned reason = 0; reason < DROP_REASONS_MAX; reason++)
		out += stats->dropped_pkts[reason];
	return (int64_t)(stats->received_pkts + stats->injected_pkts - out);
}

void rig_free(struct rig *rig)
{
	pipeline_drain(rig->lcore, rig->now_ns);
	if (unaccounted(&rig->lcore->stats) || rte_mempool_in_use_count(rig->pool))
		rig_die("the ledger does not close: %lld packets, %u mbufs",
			(long long)unaccounted(&rig->lcore->stats),
			rte_mempool_in_use_count(rig->pool));
	lcore_free(rig->lcore);
	rte_mempool_free(rig->pool);
	policy_free(rig->policy);
	app_tables_free(rig->tables);
	edition_free(rig->edition);
	sigdb_free(rig->sigdb);
	rule_names_free(rig->names);
	free(rig->tails);
	free(rig->wire.heads);
	free(rig);
	rte_eal_cleanup();
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

void rig_build(const struct rig *rig, const struct rig_packet *packet, struct rig_head *head,
	uint8_t *frame)
{
	uint8_t whole[2048];
	uint8_t *out = frame ? frame : whole, *ip = out + 14, *l4 = ip + 20;
	bool tcp = packet->l4_proto == IPPROTO_TCP, back = packet->from_responder;
	unsigned header = tcp ? 20 : 8;
	uint16_t length = packet->length;
	// 2^20 flows: 2^16 clients of a /16, 16 ports each
	uint32_t client = 0x0a000000u | (packet->flow & 0xffff);
	uint32_t server = 0xc6120000u | (packet->flow * 40503u & 0xffff);
	uint16_t sport = (uint16_t)((packet->sport ? packet->sport : 20000) + (packet->flow >> 16));
	uint16_t dport = packet->dport ? packet->dport : 22;

	// with a payload and no length the frame is as long as that makes it
	if (!length)
		length = (uint16_t)(34 + header + packet->payload_length);
	memset(out, 0, RIG_HEAD);
	memcpy(out, back ? "\2\0\0\0\0\1\2\0\0\0\0\2\10" : "\2\0\0\0\0\2\2\0\0\0\0\1\10", 13);
	if (length > RIG_HEAD)
		memcpy(out + RIG_HEAD, rig->tails[packet->tail], (size_t)length - RIG_HEAD);
	memcpy(l4 + header, rig->tails[packet->tail] + 1200,
		RIG_HEAD - 34 - header); // inside the head
	if (packet->payload_length)
		memcpy(l4 + header, packet->payload, packet->payload_length);
	uint16_t end = packet->payload_length && !packet->length
			       ? (uint16_t)(34 + header + packet->payload_length)
			       : length;
	if (tcp && (packet->tcp_flags & TH_SYN || packet->bare))
		end = 54; // the rest is padding
	memset(l4, 0, header);
	ip[0] = 0x45;
	put16(ip + 2, (uint32_t)end - 14);
	ip[8] = 63;
	ip[9] = packet->l4_proto;
	put32(ip + 12, back ? server : client);
	put32(ip + 16, back ? client : server);
	put16(l4, back ? dport : sport);
	put16(l4 + 2, back ? sport : dport);
	if (tcp) {
		put32(l4 + 4, packet->seq);
		put32(l4 + 8, packet->ack);
		l4[12] = 5 << 4;
		l4[13] = packet->tcp_flags ? packet->tcp_flags : TH_ACK;
		put16(l4 + 14, 65000);
	} else {
		put16(l4 + 4, (uint32_t)end - 34);
	}
	checksum_fill(ip, l4, (uint16_t)(end - 34), packet->l4_proto, false);
	if (head)
		memcpy(head->bytes, out, RIG_HEAD);
}

void rig_send(struct rig *rig, uint8_t port, const uint8_t *frame, uint16_t length)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(rig->pool);

	if (!m)
		rig_die("no mbuf");
	memcpy(rte_pktmbuf_append(m, length), frame, length);
	pipeline_receive(rig->lcore, m, port, LINK_ETHERNET, rig->now_ns, 0);
	pipeline_run(rig->lcore, &m, 1, rig->now_ns);
	tx_flush(rig->lcore);
}

static uint64_t turns(struct rig *rig, uint32_t n)
{
	rig->wire.left = n;
	rig->lcore->rx[0].port = rig->wire.port;
	uint64_t start = rte_rdtsc_precise();

	while (rig->wire.left) {
		rig->now_ns += 2 * NS_PER_US;
		pipeline_turn(rig->lcore, rig->now_ns);
	}
	return rte_rdtsc_precise() - start;
}

// Named for callgrind's --toggle-collect (tools/bench): what lies between entry and return is
// counted, nothing else. So they must stay functions, also under link-time optimization.
#if defined(__has_attribute) && __has_attribute(noipa)
#define APART __attribute__((noipa))
#else
#define APART __attribute__((noinline))
#endif
APART uint64_t rig_round(struct rig *rig, uint32_t n)
{
	return turns(rig, n);
}

APART uint64_t rig_warm(struct rig *rig, uint32_t n)
{
	return turns(rig, n);
}

APART uint64_t rig_round_wire(struct rig *rig, uint32_t n)
{
	struct rte_mbuf *pkts[BURST];

	rig->wire.left = n;
	uint64_t start = rte_rdtsc_precise();

	while (rig->wire.left) {
		uint16_t got = wire_receive(rig, 0, pkts, BURST);

		wire_send(rig, 0, pkts, got);
	}
	return rte_rdtsc_precise() - start;
}
