// SPDX-License-Identifier: BSD-3-Clause
// Creates the lcores, pools and ports that replay runs the pipeline with.
#include "replay/plane.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <rte_errno.h>
#include <rte_malloc.h>
#include "control/content/reader.h"
#include "pipeline/lcores.h"
#include "replay/extract.h"
#include "pipeline/flow/rate.h"
#include "pipeline/flow/table.h"
#include "pipeline/vocab/tick.h"
#include "reassembly/tcp_track.h"
#include "pipeline/limits.h"

#define MBUFS              8191u // 2^n - 1 fits a mempool best; a packet may be of 128 segments
#define MBUFS_MADE         2047u // for the packets that the gateway makes
#define MBUF_CACHE         32u
#define MEMORY_MB          64u   // EAL clears a hundredth of it at its start
#define LCORE_MB           112u  // what its limits cost, beside its flows
#define FLOW_MEMORY_BYTES  1536u // of one flow: both pools, cold part, both hash tables
#define CLASSIFYING        4096u
#define CONN_CACHE         16384u
#define EXPECTATIONS       4096u
#define ENDPOINTS          32768u // and names; gateway.json's defaults
#define EVIDENCE           1024u
#define CONTENT_FLOWS      4096u // gateway.json's defaults
#define CONTENT_TURN_BYTES (64u << 10)
#define CONTENT_BYTES      (64u << 20)
#define REFUSED_FILES      4096u
#define REFUSED_S          3600u
#define PACKET_BYTES       (4u << 20)
#define OPEN_FILES         256

unsigned replay_plane_mb(const struct replay_options *options)
{
	uint64_t flows = (uint64_t)options->flows * options->lcores * FLOW_MEMORY_BYTES;

	return MEMORY_MB + LCORE_MB * options->lcores + (unsigned)(flows >> 20);
}

static void port_init(
	struct dataplane *dp, uint8_t index, const char *name, struct replay_output *output)
{
	struct port *port = &dp->ports[index];

	snprintf(port->name, sizeof port->name, "%s", name);
	port->port_id = index;
	port->index = index;
	port->peer = index == REPLAY_PORT_INSIDE ? REPLAY_PORT_OUTSIDE : REPLAY_PORT_INSIDE;
	port->inside = index == REPLAY_PORT_INSIDE;
	port->n_txq = 1;
	port->max_frame = UINT32_MAX; // captures hold what no wire of ours carries
	port->send = replay_output_send;
	port->ctx = output;
	for (unsigned i = 0; i < LCORES_MAX; i++)
		port->tx_lcore[i] = (uint8_t)i;
}

static int qsbr_new(struct dataplane *dp)
{
	size_t size = rte_rcu_qsbr_get_memsize(LCORES_MAX);

	dp->qsbr = rte_zmalloc("replay_qsbr", size, RTE_CACHE_LINE_SIZE);
	if (!dp->qsbr || rte_rcu_qsbr_init(dp->qsbr, LCORES_MAX) != 0)
		return -ENOMEM;
	for (unsigned i = 0; i < dp->n_lcores; i++) {
		rte_rcu_qsbr_thread_register(dp->qsbr, i);
		rte_rcu_qsbr_thread_online(dp->qsbr, i);
	}
	return 0;
}

// gateway.json's defaults.
static struct tracker_limits replay_tracker_limits(const struct replay_options *options)
{
	return (struct tracker_limits){
		.tracks = options->flows,
		.blocks = 64 * TRACKER_BLOCKS_PER_MB,
		.half_blocks = 16 * TRACKER_BLOCKS_PER_MB,
		.held = 4096,
		.half_held = 512,
		.hold_ns = 30 * NS_PER_S,
		.fast_pass = true,
	};
}

static int pools_new(struct replay_plane *plane, const struct replay_options *options)
{
	struct rte_mempool *records = rte_pktmbuf_pool_create("replay_records", MBUFS, MBUF_CACHE,
		PKT_PRIV_SIZE, REPLAY_FEED_ROOM, SOCKET_ID_ANY);

	plane->feed.pool = records;
	plane->made = rte_pktmbuf_pool_create("replay", MBUFS_MADE, MBUF_CACHE, PKT_PRIV_SIZE,
		RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY);
	if (!records || !plane->made)
		return -1;
	return replay_feed_init(&plane->feed, records, options->heap_mbufs, options->segment_bytes);
}

static void limits_fill(struct lcore_limits *limits, const struct replay_options *options)
{
	*limits = (struct lcore_limits){
		.elephant = flow_elephant_limits(100, 5), // gateway.json's defaults
		.parse = PARSE_SETTINGS_FIXED,            // replay repeats exactly
		.flows = options->flows,
		.embryos = options->flows,
		.source_pct = 10, // gateway.json's default
		.classifying = RTE_MIN(CLASSIFYING, options->flows),
		.heads = RTE_MIN(CLASSIFYING, options->flows),
		.conn_cache = CONN_CACHE,
		.expectations = EXPECTATIONS,
		.endpoints = ENDPOINTS,
		.names = ENDPOINTS,
		.evidence = EVIDENCE,
		.greetings = options->events ? REPLAY_GREETINGS : 0,
		.fragments = {.datagrams = 1024,
			.packets = 2048, // mbufs; a quarter of the pool
			.per_datagram = 128,
			.timeout_ns = 30 * NS_PER_S},
		.timeouts = flow_timeouts_default,
		.content = {.flows = CONTENT_FLOWS,
			.source_pct = 10,
			.turn_bytes = CONTENT_TURN_BYTES,
			.memory_bytes = CONTENT_BYTES,
			.arena_bytes = CONTENT_BYTES,
			.torrents_bytes = CONTENT_BYTES,
			.refused = REFUSED_FILES,
			.refused_s = REFUSED_S,
			.packet_bytes = options->audit ? PACKET_BYTES : 0},
		.tracker = replay_tracker_limits(options),
	};
}

static int plane_fail(char *err, size_t err_len, const char *what, const char *why)
{
	snprintf(err, err_len, "%s%s%s", what, why ? ": " : "", why ? why : "");
	return -1;
}

int replay_plane_new(struct replay_plane *plane, const struct replay_options *options,
	struct replay_output *output, struct streams *streams, char *err, size_t err_len)
{
	struct dataplane *dp = calloc(1, sizeof *dp);
	char why[256] = "";

	plane->dp = dp;
	if (!dp)
		return plane_fail(err, err_len, "no memory", NULL);
	if (pools_new(plane, options) < 0)
		return plane_fail(
			err, err_len, "cannot make the packet pools", rte_strerror(rte_errno));
	dp->n_lcores = options->lcores;
	dp->n_ports = 2;
	port_init(dp, REPLAY_PORT_INSIDE, "inside", output);
	port_init(dp, REPLAY_PORT_OUTSIDE, "outside", output);
	limits_fill(&plane->limits, options);
	dp->limits = &plane->limits;
	dp->all_stages = options->all_stages;
	dp->extracts = options->extract;
	dataplane_owner_fill(dp);
	for (unsigned i = 0; i < dp->n_lcores; i++) {
		if (lcore_new(dp, i, SOCKET_ID_ANY, plane->made, &dp->lcores[i], why, sizeof why) <
			0)
			return plane_fail(err, err_len, "cannot make a data lcore", why);
		dp->lcores[i]->inside_is_initiator = !options->has_inside;
		dp->lcores[i]->tap = streams ? streams_tap(streams) : NULL;
		dp->lcores[i]->tracker->keep_acked = streams;
	}
	if (lcores_connect(dp, why, sizeof why) < 0)
		return plane_fail(err, err_len, "cannot connect the data lcores", why);
	if (qsbr_new(dp) < 0)
		return plane_fail(err, err_len, "no memory for reloads", NULL);
	return 0;
}

// The same capture gives the same audit log: its name is no random number, and time is the
// capture's.
int replay_plane_reader(struct replay_plane *plane, const struct replay_options *replay,
	struct extract *extract, uint64_t now_us, struct content_reader **out, char *err,
	size_t err_len)
{
	static char folder[4096], log[4096], evidence[4096];
	struct content_reader_options options = {
		.see = extract ? extract_see : NULL, .ctx = extract};

	if (replay->audit) {
		if (mkdir(replay->audit, 0750) < 0 && errno != EEXIST) {
			snprintf(err, err_len, "%s: %s", replay->audit, strerror(errno));
			return -errno;
		}
		snprintf(folder, sizeof folder, "%s/files", replay->audit);
		snprintf(log, sizeof log, "%s/audit.log", replay->audit);
		snprintf(evidence, sizeof evidence, "%s/evidence", replay->audit);
		options.folder = folder;
		options.evidence = evidence;
		options.store.open_files = OPEN_FILES;
		options.log = (struct audit_log_options){.path = log, .software = "sluice replay"};
	}
	return content_reader_new(&options, plane->dp, now_us, out, err, err_len);
}

unsigned replay_plane_missing(const struct replay_plane *plane, unsigned *mbufs)
{
	*mbufs = plane->made->size + plane->feed.pool->size;
	return *mbufs - rte_mempool_avail_count(plane->made) -
	       rte_mempool_avail_count(plane->feed.pool);
}

void replay_plane_offline(struct replay_plane *plane)
{
	struct dataplane *dp = plane->dp;

	for (unsigned i = 0; dp && dp->qsbr && i < dp->n_lcores; i++) {
		rte_rcu_qsbr_thread_offline(dp->qsbr, i);
		rte_rcu_qsbr_thread_unregister(dp->qsbr, i);
	}
}

void replay_plane_free(struct replay_plane *plane, bool another)
{
	struct dataplane *dp = plane->dp;

	for (unsigned i = 0; another && dp && i < dp->n_lcores; i++) {
		if (dp->lcores[i])
			lcore_free(dp->lcores[i]);
	}
	if (another && dp)
		rte_free(dp->qsbr);
	if (another) {
		rte_mempool_free(plane->made);
		rte_mempool_free(plane->feed.pool);
	}
	free(dp);
	plane->dp = NULL;
}
