// SPDX-License-Identifier: BSD-3-Clause
#include "replay.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <rte_errno.h>
#include <rte_malloc.h>
#include "capture.h"
#include "eal.h"
#include "flow_rate.h"
#include "flow_table.h"
#include "loop.h"
#include "parse.h"
#include "reload.h"
#include "replay_against.h"
#include "replay_output.h"
#include "replay_packet.h"
#include "replay_streams.h"
#include "sink.h"
#include "stats_sum.h"
#include "tick.h"

#define EXIT_FAILED  1
#define EXIT_TROUBLE 2 // of a comparison, where 1 has a meaning of its own
#define EXIT_CONFIG  78

#define LINKTYPE_ETHERNET 1 // of an output without packets

#define PORT_INSIDE  0
#define PORT_OUTSIDE 1

#define MBUFS             8191u // 2^n - 1 fits a mempool best; a packet may be of 128 segments
#define MBUFS_MADE        2047u // for the packets that the gateway makes
#define MBUF_CACHE        32u
#define MEMORY_MB         64u   // EAL clears a hundredth of it at its start
#define LCORE_MB          112u  // what its limits cost, beside its flows
#define FLOW_MEMORY_BYTES 1536u // of one flow: both pools, cold part, both hash tables
#define CLASSIFYING       4096u
#define CONN_CACHE        16384u
#define EXPECTATIONS      4096u
#define ENDPOINTS         32768u // and names; gateway.json's defaults
#define EVIDENCE          1024u
#define TURNS_MAX         100000u

struct replay {
	struct replay_options options;
	struct dataplane *dp;
	struct rte_mempool *pool; // of what the gateway makes
	struct replay_feed feed;  // has one for what the captures hold
	struct replay_output output;
	struct replay_sides *sides;
	struct replay_offload *offload;
	struct rule_names *names;
	struct sink *sink;
	struct reload *reload;
	struct streams *streams; // NULL: nobody asked
	enum against_side side;
	struct against *against;   // NULL: no comparison; else the caller's, with names
	struct capture **captures; // one per input
	uint64_t now_ns;
	uint64_t start_ns;
	uint64_t packets;
	unsigned reloads_done;
	// What the reader knows
	uint64_t clamped; // time ran backwards
	uint64_t checksum_ignored;
	uint64_t oversize; // cut to what a capture may hold
	unsigned broken;   // inputs that end in the middle of something
	struct capture_counters read;
	struct capture_writer_counters written;
};

static int fail(const char *what, const char *why)
{
	fprintf(stderr, "sluice replay: %s%s%s\n", what, why && *why ? ": " : "", why ? why : "");
	return EXIT_FAILED;
}

// The data plane

static void port_init(struct replay *r, uint8_t index, const char *name)
{
	struct port *port = &r->dp->ports[index];

	snprintf(port->name, sizeof port->name, "%s", name);
	port->port_id = index;
	port->index = index;
	port->peer = index == PORT_INSIDE ? PORT_OUTSIDE : PORT_INSIDE;
	port->inside = index == PORT_INSIDE;
	port->n_txq = 1;
	port->max_frame = UINT32_MAX; // captures hold what no wire of ours carries
	port->send = replay_output_send;
	port->ctx = &r->output;
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

static int pools_new(struct replay *r)
{
	struct rte_mempool *records = rte_pktmbuf_pool_create("replay_records", MBUFS, MBUF_CACHE,
		PKT_PRIV_SIZE, REPLAY_FEED_ROOM, SOCKET_ID_ANY);

	r->feed.pool = records;
	r->pool = rte_pktmbuf_pool_create("replay", MBUFS_MADE, MBUF_CACHE, PKT_PRIV_SIZE,
		RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY);
	if (!records || !r->pool)
		return -1;
	return replay_feed_init(&r->feed, records, r->options.heap_mbufs, r->options.segment_bytes);
}

static int dataplane_new(struct replay *r)
{
	const struct replay_options *options = &r->options;
	struct dataplane *dp = calloc(1, sizeof *dp);
	char err[CAPTURE_ERROR_LEN] = "";

	if (!dp)
		return fail("no memory", NULL);
	r->dp = dp;
	if (pools_new(r) < 0)
		return fail("cannot make the packet pools", rte_strerror(rte_errno));
	r->output = (struct replay_output){.path = options->write, .feed = &r->feed};
	dp->n_lcores = options->lcores;
	dp->n_ports = 2;
	port_init(r, PORT_INSIDE, "inside");
	port_init(r, PORT_OUTSIDE, "outside");
	dp->limits = (struct lcore_limits){
		.elephant = flow_elephant_limits(100, 5), // gateway.json's defaults
		.flows = options->flows,
		.embryos = options->flows,
		.classifying = RTE_MIN(CLASSIFYING, options->flows),
		.conn_cache = CONN_CACHE,
		.expectations = EXPECTATIONS,
		.endpoints = ENDPOINTS,
		.names = ENDPOINTS,
		.evidence = EVIDENCE,
		.fragments = {.datagrams = 1024,
			.packets = 2048, // mbufs; a quarter of the pool
			.per_datagram = 64,
			.timeout_ns = 30 * NS_PER_S},
		.timeouts = flow_timeouts_default,
		.tracker = replay_tracker_limits(options),
	};
	dataplane_owner_fill(dp);
	if (options->streams) {
		r->streams = streams_new(dp->n_lcores, options->flows);
		if (!r->streams)
			return fail("no memory for the streams", NULL);
	}
	for (unsigned i = 0; i < dp->n_lcores; i++) {
		if (lcore_new(dp, i, SOCKET_ID_ANY, r->pool, &dp->lcores[i], err, sizeof err) < 0)
			return fail("cannot make a data lcore", err);
		dp->lcores[i]->inside_is_initiator = !options->has_inside;
		dp->lcores[i]->tap = r->streams ? streams_tap(r->streams) : NULL;
		dp->lcores[i]->tracker->keep_acked = r->streams;
	}
	if (lcores_connect(dp, err, sizeof err) < 0)
		return fail("cannot connect the data lcores", err);
	if (qsbr_new(dp) < 0)
		return fail("no memory for reloads", NULL);
	return 0;
}

// Control steps

static void errors_print(struct config_errors *errors)
{
	for (size_t i = 0; i < errors->n; i++)
		fprintf(stderr, "%s\n", errors->lines[i]);
	if (errors->dropped)
		fprintf(stderr, "... and %zu more\n", errors->dropped);
	config_errors_free(errors);
}

// A turn of every lcore, one after the other; returns the packets that moved.
static unsigned turn(struct replay *r)
{
	unsigned moved = 0;

	for (unsigned i = 0; i < r->dp->n_lcores; i++) {
		moved += pipeline_turn(r->dp->lcores[i], r->now_ns);
		rte_rcu_qsbr_quiescent(r->dp->qsbr, i);
	}
	return moved;
}

// Turns until nothing moves between the lcores any more, with the events drained in between.
static void settle(struct replay *r)
{
	unsigned moved = 1;

	for (unsigned n = 0; moved && n < TURNS_MAX; n++)
		moved = turn(r) + sink_drain(r->sink, 0);
}

static int policy_publish(struct replay *r, const char *path)
{
	struct config_errors errors = {0};
	int rc = reload_load(r->reload, path, r->now_ns, &errors);

	errors_print(&errors);
	if (rc < 0)
		return EXIT_CONFIG;
	for (unsigned n = 0; !reload_step(r->reload, r->now_ns) && n < TURNS_MAX; n++)
		turn(r);
	sink_set_sigdb(r->sink, reload_sigdb(r->reload));
	return 0;
}

static int control_new(struct replay *r)
{
	const struct replay_options *options = &r->options;
	const struct sink_options sink = {
		.path = options->events,
		.source = "pcap",
		.flow_events = true,
		.drop_events = true,
	};
	char err[CAPTURE_ERROR_LEN] = "";

	if (!r->names)
		r->names = rule_names_new();
	if (!r->names)
		return fail("no memory", NULL);
	if (sink_new(&sink, r->dp, r->names, &r->sink, err, sizeof err) < 0)
		return fail(options->events ? options->events : "events", err);
	if (reload_new(r->dp, r->names, options->signatures, options->cache, &r->reload) < 0)
		return fail("no memory for the policy", NULL);
	reload_set_unscanned(r->reload);
	reload_set_sink(r->reload, r->sink);
	if (!r->against)
		return 0;
	reload_set_adjust(r->reload, against_adjust);
	return sink_listen(r->sink, against_see, r->against) < 0 ? fail("no memory", NULL) : 0;
}

// The run

// Lets the time up to `to_ns` pass in steps, so that what expires does so in its order: of a
// second, and in a long silence of a sixteenth of what has passed of it.
static void time_pass(struct replay *r, uint64_t to_ns)
{
	uint64_t from_ns = r->now_ns;

	while (r->now_ns < to_ns) {
		uint64_t step_ns = RTE_MAX(NS_PER_S, (r->now_ns - from_ns) / 16);

		r->now_ns = to_ns - r->now_ns > step_ns ? r->now_ns + step_ns : to_ns;
		settle(r);
	}
}

static void reloads_due(struct replay *r)
{
	const struct replay_options *options = &r->options;

	while (r->reloads_done < options->n_reloads &&
		options->reloads[r->reloads_done].before <= r->packets) {
		// A bad policy leaves the old one in force: replay goes on, as a gateway does.
		policy_publish(r, options->reloads[r->reloads_done].path);
		r->reloads_done++;
	}
}

static bool checksum_is_ignored(struct replay *r, const struct capture_record *rec, uint8_t link)
{
	// What a snap length has cut cannot be summed up.
	if (r->options.checksum == REPLAY_CHECKSUM_IGNORE || rec->caplen < rec->len)
		return true;
	return r->options.checksum == REPLAY_CHECKSUM_AUTO &&
	       replay_offload_sender(r->offload, rec, link);
}

static int record_run(struct replay *r, const struct capture_record *rec)
{
	struct lcore *lcore = r->dp->lcores[0];
	uint8_t link = parse_link_of(rec->linktype);
	bool inside = replay_from_inside(r->sides, rec, link);
	uint16_t flags = (uint16_t)(PKT_CAPTURED | (inside ? PKT_FROM_INSIDE : 0));
	struct rte_mbuf *m;

	if (rec->ts_ns < r->now_ns)
		r->clamped++;
	else
		time_pass(r, rec->ts_ns);
	r->packets++;
	reloads_due(r);
	if (checksum_is_ignored(r, rec, link)) {
		flags |= PKT_CSUM_IGNORE;
		r->checksum_ignored++;
	}
	r->oversize += rec->caplen > CAPTURE_RECORD_MAX_BYTES;
	m = replay_mbuf_new(&r->feed, rec);
	if (!m)
		return fail("the packet pool is empty", NULL);
	r->output.now_ns = r->now_ns;
	r->output.linktype = rec->linktype;
	for (unsigned i = 0; i < r->dp->n_lcores; i++)
		r->dp->lcores[i]->pcap_cnt = r->packets;
	pipeline_receive(lcore, m, inside ? PORT_INSIDE : PORT_OUTSIDE, link, r->now_ns, flags);
	pipeline_run(lcore, &m, 1, r->now_ns);
	settle(r);
	return 0;
}

static int input_run(struct replay *r, unsigned index)
{
	struct capture *cap = r->captures[index];
	struct capture_counters counters;
	struct capture_record rec;
	int rc = 0, got = 0;

	if (r->options.checksum == REPLAY_CHECKSUM_AUTO &&
		replay_offload_survey(r->offload, cap, &r->feed) < 0)
		return fail(r->options.inputs[index], "no memory to look at its checksums");
	if (r->streams)
		streams_input(r->streams, r->options.inputs[index]);
	while (rc == 0 && (got = capture_next(cap, &rec)) > 0) {
		rc = record_run(r, &rec);
	}
	if (got < 0) {
		fprintf(stderr, "sluice replay: warning: %s\n", capture_error(cap));
		r->broken++;
	}
	capture_counters_get(cap, &counters);
	r->read.records += counters.records;
	r->read.orphans += counters.orphans;
	r->read.untimed += counters.untimed;
	return rc;
}

static int inputs_open(struct replay *r)
{
	char err[CAPTURE_ERROR_LEN] = "";

	r->captures = calloc(r->options.n_inputs, sizeof(struct capture *));
	if (!r->captures)
		return fail("no memory", NULL);
	// All at once: a wrong name is told before the first of many captures has run.
	for (unsigned i = 0; i < r->options.n_inputs; i++) {
		if (capture_open(r->options.inputs[i], &r->captures[i], err, sizeof err) < 0)
			return fail(err, NULL);
	}
	r->sides = replay_sides_new(r->options.has_inside ? &r->options.inside : NULL);
	r->offload = replay_offload_new();
	if (!r->sides || !r->offload)
		return fail("no memory", NULL);
	return 0;
}

// The first record gives the clock its start and the output its form.
static int clock_start(struct replay *r)
{
	struct capture_record rec;
	int got = 0;

	r->now_ns = 1; // the stages take 0 for never
	r->output.linktype = LINKTYPE_ETHERNET;
	for (unsigned i = 0; got <= 0 && i < r->options.n_inputs; i++) {
		got = capture_next(r->captures[i], &rec);
		if (got > 0) {
			r->now_ns = RTE_MAX(rec.ts_ns, r->now_ns);
			r->output.linktype = rec.linktype;
			r->output.nano = capture_is_nano(r->captures[i]);
		}
		if (capture_rewind(r->captures[i]) < 0)
			return fail(capture_error(r->captures[i]), NULL);
	}
	r->start_ns = r->now_ns;
	if (replay_output_open(&r->output) < 0)
		return fail(r->output.message, NULL);
	return 0;
}

// The end

static int stats_write(struct replay *r)
{
	const char *path = r->options.stats;
	json_t *stats = stats_json(r->dp, r->now_ns - r->start_ns), *own;
	FILE *out;
	int rc;

	own = json_pack("{s:i, s:I, s:I, s:I, s:I, s:i, s:I, s:I, s:I, s:I, s:I}", "inputs",
		(int)r->options.n_inputs, "records", (json_int_t)r->read.records, "clamped",
		(json_int_t)r->clamped, "untimed", (json_int_t)r->read.untimed, "orphans",
		(json_int_t)r->read.orphans, "broken", (int)r->broken, "oversize",
		(json_int_t)r->oversize, "checksum_ignored", (json_int_t)r->checksum_ignored,
		"written", (json_int_t)r->written.records, "not_written",
		(json_int_t)r->written.other_linktype, "events", (json_int_t)sink_written(r->sink));
	if (!stats || json_object_set_new(stats, "replay", own) < 0) {
		json_decref(stats);
		return fail("no memory for the statistics", NULL);
	}
	out = strcmp(path, "-") == 0 ? stdout : fopen(path, "w");
	if (!out) {
		json_decref(stats);
		return fail(path, strerror(errno));
	}
	rc = json_dumpf(stats, out, JSON_INDENT(1) | JSON_SORT_KEYS);
	if (fputc('\n', out) == EOF || (out == stdout ? fflush(out) : fclose(out)) != 0)
		rc = -1;
	json_decref(stats);
	return rc < 0 ? fail(path, "cannot write") : 0;
}

// Every run ends by checking the ledger and the pools (ARCHITECTURE section 6).
static int ledger_check(struct replay *r)
{
	unsigned mbufs = r->pool->size + r->feed.pool->size;
	unsigned free_mbufs =
		rte_mempool_avail_count(r->pool) + rte_mempool_avail_count(r->feed.pool);
	struct ledger ledger;
	struct stats sum;
	int rc = 0;

	stats_sum(r->dp, &sum, &ledger);
	if (r->options.verbose)
		fprintf(stderr,
			"received %" PRIu64 ", injected %" PRIu64 ", sent %" PRIu64
			", dropped %" PRIu64 ", held %" PRIu64 ", consumed %" PRIu64
			", events %" PRIu64 "\n",
			ledger.received, ledger.injected, ledger.sent, ledger.dropped, ledger.held,
			ledger.consumed, sink_written(r->sink));
	if (ledger.unaccounted != 0 || ledger.received != r->packets) {
		fprintf(stderr,
			"sluice replay: %" PRId64 " packets unaccounted for; %" PRIu64
			" read, %" PRIu64 " received\n",
			ledger.unaccounted, r->packets, ledger.received);
		rc = EXIT_FAILED;
	}
	if (free_mbufs != mbufs) {
		fprintf(stderr, "sluice replay: %u of %u packets did not come back to the pool\n",
			mbufs - free_mbufs, mbufs);
		rc = EXIT_FAILED;
	}
	if (sink_failed(r->sink) > 0)
		rc = fail(r->options.events ? r->options.events : "events",
			"some events could not be written");
	return rc;
}

static int finish(struct replay *r)
{
	const char *why;
	int rc = 0;

	settle(r);
	for (unsigned i = 0; i < r->dp->n_lcores; i++) {
		// In pieces: the records of all flows may be more than the event ring holds.
		while (flow_end_some(r->dp->lcores[i], FLOW_END_SHUTDOWN, EVENT_RING_SIZE / 4))
			sink_drain(r->sink, 0);
		pipeline_drain(r->dp->lcores[i], r->now_ns);
		sink_drain(r->sink, 0);
	}
	settle(r);
	sink_flush(r->sink);
	if (replay_output_close(&r->output, &r->written) < 0)
		rc = fail(r->output.message, NULL);
	if (ledger_check(r))
		rc = EXIT_FAILED;
	if (r->options.stats && stats_write(r))
		rc = EXIT_FAILED;
	if (r->streams && streams_save(r->streams, r->options.streams, &why) < 0)
		rc = fail(r->options.streams, why);
	return rc;
}

static int run(struct replay *r)
{
	int rc = inputs_open(r);

	if (rc == 0)
		rc = dataplane_new(r);
	if (rc == 0)
		rc = control_new(r);
	if (rc == 0 && r->against)
		against_begin(r->against, r->side, r->dp);
	if (rc == 0)
		rc = clock_start(r);
	if (rc == 0)
		rc = policy_publish(r, r->options.policy);
	for (unsigned i = 0; rc == 0 && i < r->options.n_inputs; i++)
		rc = input_run(r, i);
	return rc == 0 ? finish(r) : rc;
}

// Clears all that it gives back, also what nobody ever touched: a tenth of a second.
static void dataplane_free(struct replay *r)
{
	struct dataplane *dp = r->dp;

	for (unsigned i = 0; dp && i < dp->n_lcores; i++) {
		if (dp->lcores[i])
			lcore_free(dp->lcores[i]);
	}
	if (dp)
		rte_free(dp->qsbr);
	rte_mempool_free(r->pool);
	rte_mempool_free(r->feed.pool);
}

// `another`: run follows in this process; else DPDK's memory goes with it.
static void replay_fini(struct replay *r, bool another)
{
	struct dataplane *dp = r->dp;

	if (dp && dp->qsbr) {
		for (unsigned i = 0; i < dp->n_lcores; i++) {
			rte_rcu_qsbr_thread_offline(dp->qsbr, i);
			rte_rcu_qsbr_thread_unregister(dp->qsbr, i);
		}
	}
	if (r->sink)
		sink_free(r->sink);
	if (r->reload)
		reload_free(r->reload);
	if (!r->against)
		rule_names_free(r->names);
	if (another)
		dataplane_free(r);
	free(dp);
	for (unsigned i = 0; r->captures && i < r->options.n_inputs; i++)
		capture_close(r->captures[i]);
	free(r->captures);
	streams_free(r->streams);
	replay_sides_free(r->sides);
	replay_offload_free(r->offload);
}

// --against: a pass for each policy, and what differs. As diff(1) ends: 0, 1, or 2 for trouble.
static int compare(const struct replay_options *options)
{
	struct rule_names *names = rule_names_new();
	struct against *against = names ? against_new(names, options->has_inside) : NULL;
	struct against_sum sum = {0};
	int rc = against ? 0 : fail("no memory", NULL);

	for (unsigned side = AGAINST_OLD; side <= AGAINST_NEW && rc == 0; side++) {
		struct replay r = {
			.options = *options, .names = names, .against = against, .side = side};

		if (side == AGAINST_OLD)
			r.options.policy = options->against;
		rc = run(&r);
		replay_fini(&r, true);
	}
	if (rc == 0) {
		rc = against_tell(against, stdout, options->json, &sum);
		if (rc < 0)
			rc = fail("cannot write what differs", strerror(-rc));
	}
	if (rc == 0)
		fprintf(stderr, "%" PRIu64 " of %" PRIu64 " flows would be decided otherwise\n",
			sum.differ, sum.flows);
	against_free(against);
	rule_names_free(names);
	if (rc == EXIT_FAILED)
		return EXIT_TROUBLE;
	return rc ? rc : sum.differ != 0;
}

int replay_main(int argc, char **argv)
{
	char err[CAPTURE_ERROR_LEN] = "";
	struct replay r = {0};
	uint64_t memory;
	int rc;

	rc = replay_options_parse(&r.options, argc, argv);
	if (rc < 0) {
		memory = (uint64_t)r.options.flows * r.options.lcores * FLOW_MEMORY_BYTES;
		rc = eal_start_private(
			MEMORY_MB + LCORE_MB * r.options.lcores + (unsigned)(memory >> 20), err,
			sizeof err);
		if (rc != 0) {
			fail("cannot start DPDK", err);
		} else {
			if (r.options.against) {
				rc = compare(&r.options);
			} else {
				rc = run(&r);
				replay_fini(&r, false);
			}
			eal_stop();
		}
	}
	replay_options_fini(&r.options);
	return rc;
}
