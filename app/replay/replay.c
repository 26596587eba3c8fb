// SPDX-License-Identifier: BSD-3-Clause
// The loop of `sluice replay`: feeds captures to the pipeline and writes its output.
#include "replay/replay.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "replay/capture.h"
#include "machine/eal.h"
#include "pipeline/flow/table.h"
#include "pipeline/loop.h"
#include "pipeline/wire/parse.h"
#include "control/policy/reload.h"
#include "replay/against.h"
#include "replay/extract.h"
#include "replay/output.h"
#include "replay/packet.h"
#include "replay/plane.h"
#include "replay/scan.h"
#include "replay/streams.h"
#include "replay/summary.h"
#include "control/content/reader.h"
#include "control/event/sink.h"
#include "control/stats/sum.h"
#include "pipeline/vocab/tick.h"

#define EXIT_FAILED  1
#define EXIT_TROUBLE 2 // of a comparison, where 1 has a meaning of its own
#define EXIT_CONFIG  78

#define LINKTYPE_ETHERNET 1 // of an output without packets

#define TURNS_MAX 100000u

struct replay {
	struct replay_options options;
	struct replay_plane plane;
	struct dataplane *dp; // the plane's
	struct replay_output output;
	struct replay_sides *sides;
	struct replay_offload *offload;
	struct rule_names *names;
	struct sink *sink;
	struct reload *reload;
	struct streams *streams;  // NULL: nobody asked
	struct extract *extract;  // the same
	struct replay_scan *scan; // NULL: files are not scanned; the caller's
	struct content_reader *content;
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

static unsigned content_take(struct replay *r)
{
	const struct replay_options *options = &r->options;
	uint64_t s = (r->now_ns - r->start_ns) / NS_PER_S;

	if (s >= options->audit_pause_from_s && s < options->audit_pause_to_s)
		return 0;
	return content_reader_poll(r->content, r->now_ns / 1000) +
	       content_news_drain(r->content, r->sink);
}

// Turns until nothing moves between the lcores any more, with the events drained in between.
static void settle(struct replay *r)
{
	unsigned moved = 1;

	for (unsigned n = 0; moved && n < TURNS_MAX; n++)
		moved = turn(r) + sink_drain(r->sink, 0) + content_take(r) +
			replay_scan_is_due(r->scan, r->now_ns);
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
		.greeting_events = true,
		.greetings = options->events ? REPLAY_GREETINGS : 0,
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
	if (!r->scan)
		reload_set_unscanned(r->reload);
	sink_follow(r->sink, r->reload);
	if (replay_plane_reader(&r->plane, options, r->extract, r->now_ns / 1000, &r->content, err,
		    sizeof err) < 0)
		return fail("content", err);
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
		uint64_t passed_ns = r->now_ns - from_ns;
		uint64_t step_ns = replay_scan_step(
			r->scan, r->now_ns, passed_ns, RTE_MAX(NS_PER_S, passed_ns / 16));

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

static int scan_check(const struct replay *r)
{
	const char *why = replay_scan_failed(r->scan);

	return why ? fail(why, NULL) : 0;
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
	m = replay_mbuf_new(&r->plane.feed, rec);
	if (!m)
		return fail("the packet pool is empty", NULL);
	r->output.now_ns = r->now_ns;
	r->output.linktype = rec->linktype;
	for (unsigned i = 0; i < r->dp->n_lcores; i++)
		r->dp->lcores[i]->pcap_cnt = r->packets;
	pipeline_receive(lcore, m, inside ? REPLAY_PORT_INSIDE : REPLAY_PORT_OUTSIDE, link,
		r->now_ns, flags);
	pipeline_run(lcore, &m, 1, r->now_ns);
	if (r->scan || !pipeline_settled(lcore))
		settle(r);
	content_take(r);
	return scan_check(r);
}

static int input_run(struct replay *r, unsigned index)
{
	struct capture *cap = r->captures[index];
	struct capture_counters counters;
	struct capture_record rec;
	int rc = 0, got = 0;

	if (r->options.checksum == REPLAY_CHECKSUM_AUTO &&
		replay_offload_survey(r->offload, cap, &r->plane.feed) < 0)
		return fail(r->options.inputs[index], "no memory to look at its checksums");
	if (r->streams)
		streams_input(r->streams, r->options.inputs[index]);
	if (r->extract)
		extract_input(r->extract, r->options.inputs[index]);
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
	// All at once: a wrong name is reported before the first of many captures has run.
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

static json_t *audit_json(struct replay *r)
{
	struct content_reader_counters counters;

	content_reader_look(r->content, &counters);
	return json_pack("{s:I, s:I, s:I, s:i, s:I, s:I, s:I, s:s}", "offered",
		(json_int_t)counters.offered, "written", (json_int_t)counters.log.records, "lost",
		(json_int_t)counters.log.lost, "torn", (int)counters.log.waiting, "stored",
		(json_int_t)counters.store.stored, "store_errors",
		(json_int_t)counters.store.errors, "seq", (json_int_t)counters.head_seq, "head",
		counters.head);
}

static int stats_write(struct replay *r)
{
	const char *path = r->options.stats;
	json_t *stats = stats_json(r->dp, r->now_ns - r->start_ns), *own;
	FILE *out;
	int rc;

	if (r->options.audit)
		json_object_set_new(stats, "audit", audit_json(r));
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

// Records that the log lacks, although nobody asked for it.
static bool audit_holes(struct replay *r)
{
	struct content_reader_counters counters;

	content_reader_look(r->content, &counters);
	return r->options.audit && !r->options.audit_pause_from_s && counters.log.lost;
}

// Every run ends by checking the ledger and the pools.
static int ledger_check(struct replay *r)
{
	unsigned mbufs, missing = replay_plane_missing(&r->plane, &mbufs);
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
	if (missing) {
		fprintf(stderr, "sluice replay: %u of %u packets did not come back to the pool\n",
			missing, mbufs);
		rc = EXIT_FAILED;
	}
	if (audit_holes(r))
		rc = fail(r->options.audit, "some records could not be written to the audit log");
	if (sink_failed(r->sink) > 0)
		rc = fail(r->options.events ? r->options.events : "events",
			"some events could not be written");
	return rc;
}

static bool has_no_output(const struct replay_options *options)
{
	return !options->events && !options->stats && !options->streams && !options->extract &&
	       !options->write;
}

static int extract_finish(struct replay *r)
{
	const char *why;
	int rc = r->extract ? extract_end(r->extract, &why) : 0;

	if (rc < 0)
		fail(r->options.extract, why);
	r->extract = NULL;
	return rc;
}

static int finish(struct replay *r)
{
	const char *why;
	int rc = 0;

	r->options.audit_pause_to_s = 0; // who writes goes on
	settle(r);
	time_pass(r, r->now_ns + replay_scan_patience(r->scan));
	for (unsigned i = 0; i < r->dp->n_lcores; i++) {
		// In pieces: the records of all flows may be more than the event ring holds.
		while (flow_end_some(r->dp->lcores[i], FLOW_STEP_SHUTDOWN, EVENT_RING_SIZE / 4))
			sink_drain(r->sink, 0);
		content_take(r);
		pipeline_drain(r->dp->lcores[i], r->now_ns);
		sink_drain(r->sink, 0);
	}
	settle(r);
	// Of files that ended with their flows.
	time_pass(r, r->now_ns + replay_scan_patience(r->scan));
	rc = scan_check(r);
	sink_flush(r->sink);
	if (replay_output_close(&r->output, &r->written) < 0)
		rc = fail(r->output.message, NULL);
	if (ledger_check(r))
		rc = EXIT_FAILED;
	if (r->options.stats && stats_write(r))
		rc = EXIT_FAILED;
	if (has_no_output(&r->options) && !r->against && replay_summary(stdout, r->dp, r->reload))
		rc = fail("the summary cannot be written", NULL);
	if (extract_finish(r) < 0)
		rc = EXIT_FAILED;
	if (r->streams && streams_save(r->streams, r->options.streams, &why) < 0)
		rc = fail(r->options.streams, why);
	return rc;
}

static int plane_new(struct replay *r)
{
	const struct replay_options *options = &r->options;
	char err[CAPTURE_ERROR_LEN] = "";
	int rc;

	if (options->streams) {
		r->streams = streams_new(options->lcores, options->flows);
		if (!r->streams)
			return fail("no memory for the streams", NULL);
	}
	if (options->extract) {
		r->extract = extract_new(options->extract, err, sizeof err);
		if (!r->extract)
			return fail(err, NULL);
	}
	r->output = (struct replay_output){.path = options->write, .feed = &r->plane.feed};
	rc = replay_plane_new(&r->plane, options, &r->output, r->streams, err, sizeof err);
	r->dp = r->plane.dp;
	if (rc == 0 && r->scan)
		rc = replay_scan_begin(r->scan, r->dp, err, sizeof err);
	return rc < 0 ? fail(err, NULL) : 0;
}

static int run(struct replay *r)
{
	int rc = inputs_open(r);

	if (rc == 0)
		rc = plane_new(r);
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

static void replay_fini(struct replay *r, bool another)
{
	replay_plane_offline(&r->plane);
	if (r->sink)
		sink_free(r->sink);
	content_reader_free(r->content);
	replay_scan_end(r->scan);
	if (r->reload)
		reload_free(r->reload);
	if (!r->against)
		rule_names_free(r->names);
	replay_plane_free(&r->plane, another);
	for (unsigned i = 0; r->captures && i < r->options.n_inputs; i++)
		capture_close(r->captures[i]);
	free(r->captures);
	streams_free(r->streams);
	replay_sides_free(r->sides);
	replay_offload_free(r->offload);
}

// --against: a pass for each policy, and what differs. As diff(1) ends: 0, 1, or 2 for trouble.
static int compare(const struct replay_options *options, struct replay_scan *scan)
{
	struct rule_names *names = rule_names_new();
	struct against *against = names ? against_new(names, options->has_inside) : NULL;
	struct against_sum sum = {0};
	int rc = against ? 0 : fail("no memory", NULL);

	for (unsigned side = AGAINST_OLD; side <= AGAINST_NEW && rc == 0; side++) {
		struct replay r = {.options = *options,
			.names = names,
			.against = against,
			.side = side,
			.scan = scan};

		if (side == AGAINST_OLD)
			r.options.policy = options->against;
		rc = run(&r);
		replay_fini(&r, true);
	}
	if (rc == 0) {
		rc = against_report(against, stdout, options->json, &sum);
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

static int run_all(struct replay *r)
{
	char err[CAPTURE_ERROR_LEN] = "";
	unsigned mb = replay_plane_mb(&r->options) + replay_scan_mb(r->scan);

	if (eal_start_private(mb, err, sizeof err) != 0)
		return fail("cannot start DPDK", err);
	int rc = r->options.against ? compare(&r->options, r->scan) : run(r);

	if (!r->options.against)
		replay_fini(r, false);
	eal_stop();
	return rc;
}

int replay_main(int argc, char **argv)
{
	struct replay r = {0};
	int rc = replay_options_parse(&r.options, argc, argv);

	if (rc < 0 && r.options.scan)
		rc = replay_scan_read(&r.options, &r.scan);
	if (rc < 0)
		rc = run_all(&r);
	replay_scan_free(r.scan);
	replay_options_fini(&r.options);
	return rc;
}
