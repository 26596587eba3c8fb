// SPDX-License-Identifier: BSD-3-Clause
// The HTTP server and the control socket on one loop, as in the gateway, with made-up lcores, for
// the tests of the server: http_stand CONTROL LISTEN [LCORES [POLICY [TOKEN_FILE]]]. Lines on its
// standard input:
//
//   alert N     N flows of BitTorrent are reset, and one would be (monitor)
//   learn       the connection cache learns a peer; "again": it came back
//   traffic N   N packets of 1,000 bytes each way
//   missed N    the port wan loses N packets
//   down        its link goes
//   fail        a reload is refused
//   files       four transfers and a chat message are recorded, as a hostile sender writes
//   slow        a file named slow.exe was scanned for 0.9 s, and found infected
//   still       the lcores' hearts rest from now on
//   realm N     all flows, and what the cache learns, are of that one
//   hold        the lcores work on questions without an end; "go": and have found nothing
//
// With STAND_WITHOUT_NAMES in the environment http.names is false. Each is answered with "done".
// Ends with its standard input.
#include "pipeline/limits.h"
#include "control_world.h"

#include <poll.h>
#include <rte_mempool.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "pipeline/vocab/app_id.h"
#include "fake_control.h"
#include "fake_desk.h"
#include "control/http/server.h"
#include "base/log.h"
#include "pipeline/vocab/tick.h"
#include "pipeline/event/event.h"
#include "pipeline/lcore/lcore.h"
#include "pipeline/lcore/port.h"
#include "pipeline/cache/conn_cache.h"
#include "pipeline/policy/content_rules.h"
#include "pipeline/query.h"

struct stand {
	struct world world;
	struct http_server *http;
	struct port_counters ports[2];
	bool still, hold;
	struct query *held[2][64]; // of each lcore
	unsigned n_held[2];
};

static uint64_t stand_now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return (uint64_t)ts.tv_sec * NS_PER_S + (uint64_t)ts.tv_nsec;
}

static void port_counters(void *ctx, struct port_counters *out)
{
	*out = *(struct port_counters *)ctx;
}

// A pool without EAL: half of it is free.
static int pool_alloc(struct rte_mempool *pool)
{
	(void)pool;
	return 0;
}
static int pool_enqueue(struct rte_mempool *pool, void *const *objects, unsigned n)
{
	(void)pool;
	(void)objects;
	(void)n;
	return -1;
}
static int pool_dequeue(struct rte_mempool *pool, void **objects, unsigned n)
{
	(void)pool;
	(void)objects;
	(void)n;
	return -1;
}
static unsigned pool_count(const struct rte_mempool *pool)
{
	return pool->size / 2;
}

static struct rte_mempool *pool_new(void)
{
	static const struct rte_mempool_ops ops = {.name = "stand",
		.alloc = pool_alloc,
		.enqueue = pool_enqueue,
		.dequeue = pool_dequeue,
		.get_count = pool_count};
	static struct rte_mempool pool = {.name = "mbufs_0", .size = 1000};

	pool.ops_index = rte_mempool_register_ops(&ops);
	return &pool;
}

static void send_event(struct stand *stand, struct event event)
{
	event.now_ns = stand_now_ns();
	event.generation = 1;
	event.app = 1;
	event.confidence = CONFIDENCE_VERIFIED;
	event.rule_uid = 1;
	event.l4_proto = 6;
	event.ends = fake_ends("10.0.0.1", 40000, "192.0.2.7", 6881);
	fake_event_send(stand->world.context.dp, 0, &event);
}

static void alerts(struct stand *stand, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		send_event(stand, (struct event){.type = EVENT_ALERT, .action = ACTION_RESET});
	send_event(stand,
		(struct event){.type = EVENT_ALERT, .action = ACTION_DROP, .mode = MODE_MONITOR});
	stand->world.context.dp->lcores[0]->stats.flows_condemned += n;
	stand->world.context.dp->lcores[0]->apps[1].flows_blocked += n;
}

static void conn_cache(struct stand *stand, enum event_conncache what)
{
	send_event(stand, (struct event){.type = EVENT_CONNCACHE,
				  .reason = (uint8_t)what,
				  .conncache = {.realm = stand->world.lcores.realm,
					  .from_inside = 1,
					  .expires_ns = stand_now_ns() + 300 * NS_PER_S,
					  .hits = what == CONNCACHE_HIT,
					  .cache_mode = CACHE_TUPLE}});
	stand->world.context.dp->lcores[0]->stats.cache_entries = 1;
}

static void traffic(struct stand *stand, unsigned n)
{
	struct lcore *lcore = stand->world.context.dp->lcores[0];

	for (unsigned i = 0; i < 2; i++) {
		stand->ports[i].rx_pkts += n;
		stand->ports[i].rx_bytes += (uint64_t)n * 1000;
		lcore->apps[2].pkts[i] += n;
		lcore->apps[2].bytes[i] += (uint64_t)n * 1000;
	}
	lcore->apps[2].flows = lcore->apps[2].flows_active = 1;
	lcore->stats.received_pkts += 2 * (uint64_t)n;
	lcore->stats.sent_pkts += 2 * (uint64_t)n;
	lcore->latency[1].counts[100] += n;
	lcore->latency[1].sum_ns += n * histogram_bound_ns(99);
}

static void record(
	struct stand *stand, uint8_t type, const char *name, uint8_t action, enum mode mode)
{
	struct content_item item = {.file = type == EVENT_FILE,
		.size = 1000,
		.half = HALF_S2C,
		.action = action,
		.mode = (uint8_t)mode,
		.refused = action && mode == MODE_ENFORCE};
	struct event event = {.type = type,
		.now_ns = stand_now_ns(),
		.flow_id = 77,
		.app = 1,
		.rule_uid = action ? 1 : 0,
		.l4_proto = 6,
		.ends = fake_ends("10.0.0.1", 40000, "192.0.2.7", 80)};

	item.name.length = item.text.length = (uint16_t)strlen(name);
	memcpy(item.name_bytes, name, item.name.length);
	memcpy(item.text_bytes, name, item.text.length);
	content_recent_add(stand->world.context.recent, &event, &item);
}

static void files(struct stand *stand)
{
	record(stand, EVENT_FILE, "paper.pdf", CONTENT_ACTION_PASS, MODE_ENFORCE);
	record(stand, EVENT_FILE, "setup.exe", CONTENT_ACTION_RESET, MODE_ENFORCE);
	record(stand, EVENT_FILE, "watched.exe", CONTENT_ACTION_RESET, MODE_MONITOR);
	record(stand, EVENT_FILE, "<img src=x onerror=alert(1)>\"\x1b\xe2\x80\xae\xff.exe",
		CONTENT_ACTION_DROP, MODE_ENFORCE);
	record(stand, EVENT_CHAT, "</script><script>alert(2)</script>", CONTENT_ACTION_DROP_MESSAGE,
		MODE_ENFORCE);
}

static void slow(struct stand *stand)
{
	struct content_item item = {.file = 1, .bytes = 5000, .half = HALF_S2C};
	struct event event = {.type = EVENT_FILEINFO,
		.now_ns = stand_now_ns(),
		.flow_id = 78,
		.app = 1,
		.rule_uid = 1,
		.l4_proto = 6};

	item.name.length = 8;
	memcpy(item.name_bytes, "slow.exe", 8);
	item.av = (struct scan_result){
		.known = true, .value = SCAN_INFECTED, .name = "Test.Eicar", .run_ns = 900000000};
	content_recent_add(stand->world.context.recent, &event, &item);
}

static void fill_reassembly(const struct dataplane *dp)
{
	dp->lcores[0]->stats.slab_blocks = dp->lcores[1]->stats.slab_blocks = 100;
	dp->lcores[0]->stats.slab_blocks_used = 7;
	dp->lcores[1]->stats.slab_blocks_used = 91;
	dp->lcores[1]->stats.tcp_memory_drops += 7;
	dp->lcores[1]->stats.flows_law_waived += 3;
}

static void fail_reload(struct stand *stand)
{
	struct config_errors errors = {0};

	reload_load(stand->world.context.reload, "/etc/bad.json", stand_now_ns(), &errors);
	config_errors_free(&errors);
}

static void hold(struct stand *stand, unsigned lcore)
{
	struct rte_ring *queries = stand->world.context.dp->lcores[lcore]->queries;
	void *next = NULL;

	while (stand->n_held[lcore] < 64 && rte_ring_dequeue(queries, &next) == 0)
		stand->held[lcore][stand->n_held[lcore]++] = next;
	for (unsigned i = 0; i < stand->n_held[lcore]; i++)
		stand->held[lcore][i]->cursor++;
}

static void let_go(struct stand *stand)
{
	stand->hold = false;
	for (unsigned lcore = 0; lcore < 2; lcore++) {
		for (unsigned i = 0; i < stand->n_held[lcore]; i++)
			atomic_store(&stand->held[lcore][i]->done, true);
		stand->n_held[lcore] = 0;
	}
}

static void obey(struct stand *stand, const char *line)
{
	unsigned n = 0;
	char word[16] = "";

	if (sscanf(line, "%15s %u", word, &n) < 1)
		return;
	if (!strcmp(word, "alert"))
		alerts(stand, n);
	else if (!strcmp(word, "learn"))
		conn_cache(stand, CONNCACHE_ADD);
	else if (!strcmp(word, "again"))
		conn_cache(stand, CONNCACHE_HIT);
	else if (!strcmp(word, "traffic"))
		traffic(stand, n);
	else if (!strcmp(word, "missed"))
		stand->ports[1].rx_missed += n;
	else if (!strcmp(word, "down"))
		stand->ports[1].link_up = false;
	else if (!strcmp(word, "fail"))
		fail_reload(stand);
	else if (!strcmp(word, "full"))
		fill_reassembly(stand->world.context.dp);
	else if (!strcmp(word, "files"))
		files(stand);
	else if (!strcmp(word, "slow"))
		slow(stand);
	else if (!strcmp(word, "still"))
		stand->still = true;
	else if (!strcmp(word, "realm"))
		stand->world.lcores.realm = n;
	else if (!strcmp(word, "hold"))
		stand->hold = true;
	else if (!strcmp(word, "go"))
		let_go(stand);
	else
		abort();
	puts("done");
	fflush(stdout);
}

static void make(struct stand *stand, unsigned n_lcores, const char *policy, const char *events)
{
	struct control_context *context = &stand->world.context;
	const struct sink_options options = {.live = true, .path = events, .source = "wire/pcap"};
	struct config_errors errors = {0};
	char err[256];

	context->dp = stand->world.lcores.dp = fake_dataplane_new(n_lcores, true);
	struct rte_mempool *pool = pool_new();

	for (unsigned i = 0; i < n_lcores; i++) // as lcores of a socket do
		context->dp->lcores[i]->pool = pool;
	for (unsigned i = 0; i < 2; i++) {
		stand->ports[i] = (struct port_counters){.link_up = true, .speed_mbps = 10000};
		context->dp->ports[i].counters = port_counters;
		context->dp->ports[i].ctx = &stand->ports[i];
	}
	static struct fake_desk desk;
	static const struct lcore_limits limits = {
		.flows = 1000, .embryos = 1000, .conn_cache = 1000};

	context->dp->limits = &limits;
	context->names = rule_names_new();
	context->base = event_base_new();
	context->now_ns = stand_now_ns;
	fake_desk_init(&desk);
	context->scan = &desk.desk;
	context->scan_reloads = &desk.reloads;
	context->recent = content_recent_new(60);
	context->started_ns = stand_now_ns();
	if (reload_new(context->dp, context->names, "signatures", NULL, &context->reload) ||
		reload_load(context->reload, policy, stand_now_ns(), &errors) ||
		sink_new(&options, context->dp, context->names, &context->sink, err, sizeof err))
		exit(1);
}

static void turn_all(struct stand *stand)
{
	struct dataplane *dp = stand->world.context.dp;

	event_base_loop(stand->world.context.base, EVLOOP_NONBLOCK);
	sink_drain(stand->world.context.sink, 0);
	for (unsigned i = 0; i < 2 && i < dp->n_lcores; i++) {
		if (stand->hold)
			hold(stand, i);
		else
			fake_lcore_turn(&stand->world.lcores, i);
	}
	for (unsigned i = 0; i < dp->n_lcores && !stand->still; i++)
		dp->lcores[i]->stats.heartbeat_ns = stand_now_ns();
}

int main(int argc, char **argv)
{
	static struct stand stand;
	struct gateway gateway = {.http = {.hosts = 64, .names = !getenv("STAND_WITHOUT_NAMES")}};
	struct world *world = &stand.world;
	char err[256] = "", line[64];
	struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};

	if (argc < 3)
		return 2;
	gateway.http.listen = argv[2];
	gateway.http.token_file = argc > 5 ? argv[5] : NULL;
	signal(SIGPIPE, SIG_IGN);
	setvbuf(stdin, NULL, _IONBF, 0);
	world->lcores = (struct fake_lcores){.n_flows = FLOWS, .now_ns = stand_now_ns};
	make(&stand, argc > 3 ? (unsigned)strtoul(argv[3], NULL, 10) : 2,
		argc > 4 ? argv[4] : "/etc/policy.json", argc > 6 ? argv[6] : NULL);
	if (control_socket_new(&world->context, argv[1], NULL, &world->socket, err, sizeof err) ||
		http_server_new(&world->context, &gateway, &stand.http, err, sizeof err)) {
		fprintf(stderr, "%s\n", err);
		return 1;
	}
	puts("ready");
	fflush(stdout);
	for (;;) {
		if (poll(&input, 1, 1) > 0) {
			if (!fgets(line, sizeof line, stdin))
				break;
			obey(&stand, line);
		}
		turn_all(&stand);
	}
	control_socket_free(world->socket);
	http_server_free(stand.http);
	sink_free(world->context.sink);
	reload_free(world->context.reload);
	rule_names_free(world->context.names);
	content_recent_free(world->context.recent);
	event_base_free(world->context.base);
	fake_dataplane_free(world->context.dp);
	return 0;
}
