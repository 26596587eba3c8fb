// SPDX-License-Identifier: BSD-3-Clause
// Runs attack captures in process, each through a gateway of its own with real policies and
// signatures, and prints what became of every packet (README.md).
//
//   attack_run TABLE      a line per row, with tabs: NAME CAPTURE LIMITS POLICY
//
// A packet comes in by the outside port if the last octet of its source MAC is 2. LIMITS are
// NAME=NUMBER, separated by commas, or "-". POLICY: members of policy.json with ' for ".
// Output, per row: "row NAME"; "in N" for packet N, then its "same" (it left as it came), "out PORT
// HEX" (another frame left) and "drop REASON"; "event JSON"; "end". A row whose process ends
// otherwise has "crash WHY" instead; the rows behind it run in a new process.
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>
#include "replay/capture.h"
#include "pipeline/content/flow_content.h"
#include "pipeline/flow/table.h"
#include "lib/pipeline/pipe_control.h"

#define ROW_BYTES   16384
#define ROW_SECONDS 60
#define MAC_ZONE    11 // place of the last octet of the source MAC
#define MAC_OUTSIDE 2

struct row {
	char text[ROW_BYTES];
	const char *name, *capture, *limits, *policy;
};

static bool row_read(FILE *table, struct row *row)
{
	char *rest;

	if (!fgets(row->text, sizeof(row->text), table))
		return false;
	row->text[strcspn(row->text, "\n")] = 0;
	row->name = strtok_r(row->text, "\t", &rest);
	row->capture = strtok_r(NULL, "\t", &rest);
	row->limits = strtok_r(NULL, "\t", &rest);
	row->policy = strtok_r(NULL, "\t", &rest);
	assert_non_null(row->policy);
	return true;
}

static struct lcore_limits limits_of(const struct row *row)
{
	struct lcore_limits limits = pipe_limits();
	const struct {
		const char *name;
		uint32_t *value;
	} known[] = {
		{"flows", &limits.flows},
		{"embryos", &limits.embryos},
		{"classifying", &limits.classifying},
		{"conn_cache", &limits.conn_cache},
		{"endpoints", &limits.endpoints},
		{"names", &limits.names},
		{"heads", &limits.heads},
		{"tracks", &limits.tracker.tracks},
		{"blocks", &limits.tracker.blocks},
		{"fragments", &limits.fragments.packets},
		{"per_datagram", &limits.fragments.per_datagram},
	};
	char text[256], *rest, *word;

	limits.flows = limits.embryos = 256;
	limits.tracker.tracks = 256;
	limits.greetings = 0;
	limits.content = (struct content_limits){.flows = 256,
		.turn_bytes = 64u << 10,
		.memory_bytes = 8u << 20,
		.arena_bytes = 8u << 20,
		.refused = 64,
		.refused_s = 3600};
	snprintf(text, sizeof(text), "%s", row->limits);
	for (word = strtok_r(text, ",", &rest); word; word = strtok_r(NULL, ",", &rest))
		for (unsigned i = 0; i < sizeof(known) / sizeof(*known); i++) {
			size_t length = strlen(known[i].name);

			if (!strncmp(word, known[i].name, length) && word[length] == '=')
				*known[i].value = (uint32_t)strtoul(word + length + 1, NULL, 10);
		}
	return limits;
}

static void time_pass(struct pipe *pipe, uint64_t to_ns)
{
	const uint64_t from_ns = pipe->now_ns;

	while (pipe->now_ns < to_ns) {
		uint64_t step_ns = RTE_MAX(NS_PER_S, (pipe->now_ns - from_ns) / 16);

		pipe->now_ns = RTE_MIN(to_ns, pipe->now_ns + step_ns);
		pipe_turns(pipe);
	}
}

static void sent_print(struct pipe *pipe, const struct capture_record *record)
{
	for (unsigned i = 0; i < pipe->n_sent; i++) {
		const struct pipe_sent *sent = &pipe->sent[i];

		if (record && sent->length == record->caplen &&
			!memcmp(sent->frame, record->bytes, sent->length)) {
			puts("same");
			continue;
		}
		printf("out %u ", sent->port);
		for (uint32_t at = 0; at < sent->length; at++)
			printf("%02x", sent->frame[at]);
		putchar('\n');
	}
	pipe->n_sent = 0;
}

static void drops_print(const struct stats *before, const struct stats *now)
{
	for (unsigned reason = 0; reason < DROP_REASONS_MAX; reason++)
		for (uint64_t n = before->dropped_pkts[reason]; n < now->dropped_pkts[reason]; n++)
			printf("drop %s\n", drop_reason_word((enum drop_reason)reason));
}

// What is recorded of files and messages is nobody's.
static void records_drain(const struct pipe *pipe)
{
	struct content_channel *channel = content_channel_of(pipe->dp.lcores[0]);
	const struct content_record *record;

	while ((record = content_channel_next(channel)))
		content_channel_done(channel, record);
}

static void packet_run(struct gate *gate, const struct capture_record *record, struct stats *before)
{
	struct pipe *pipe = gate->pipe;
	struct stats now;

	if (record->ts_ns > pipe->now_ns) {
		time_pass(pipe, record->ts_ns);
		sent_print(pipe, NULL);
	}
	pipe_run_frame(
		pipe, 0, record->bytes, record->caplen, record->bytes[MAC_ZONE] == MAC_OUTSIDE, 1);
	pipe_turns(pipe);
	sent_print(pipe, record);
	now = pipe_stats(pipe);
	drops_print(before, &now);
	*before = now;
	sink_drain(gate->context.sink, 0);
	records_drain(pipe);
}

static void events_print(const struct gate *gate)
{
	char path[64], line[16384];
	FILE *file;

	snprintf(path, sizeof(path), "%s/eve.json", gate->dir);
	file = fopen(path, "r");
	assert_non_null(file);
	while (fgets(line, sizeof(line), file))
		printf("event %s", line);
	fclose(file);
}

// What has counted, "count NAME VALUE".
static void counts_print(const struct stats *stats)
{
#define X(name, help)    \
	if (stats->name) \
		printf("count %s %llu\n", #name, (unsigned long long)stats->name);
	STATS_COUNTERS(X)
#undef X
}

static void row_run(const struct row *row)
{
	struct lcore_limits limits = limits_of(row);
	struct capture_record record;
	char err[CAPTURE_ERROR_LEN];
	struct capture *capture;
	struct stats before;
	struct gate *gate;

	printf("row %s\n", row->name);
	fflush(stdout);
	alarm(ROW_SECONDS);
	if (capture_open(row->capture, &capture, err, sizeof(err)))
		fail_msg("%s", err);
	gate = gate_new_with(1, &limits, row->policy);
	before = pipe_stats(gate->pipe);
	for (unsigned n = 1; capture_next(capture, &record) > 0; n++) {
		if (n == 1 && record.ts_ns > gate->pipe->now_ns)
			gate->pipe->now_ns = record.ts_ns;
		printf("in %u\n", n);
		packet_run(gate, &record, &before);
	}
	while (flow_end_some(gate->pipe->dp.lcores[0], FLOW_STEP_SHUTDOWN, 64))
		sink_drain(gate->context.sink, 0);
	sink_drain(gate->context.sink, 0);
	sink_flush(gate->context.sink);
	sent_print(gate->pipe, NULL);
	events_print(gate);
	before = pipe_stats(gate->pipe);
	counts_print(&before);
	capture_close(capture);
	gate_free(gate);
	puts("end");
	fflush(stdout);
}

// Runs the rows from `first` on in a child; returns how many it has begun, and its status.
static unsigned rows_run(const char *path, unsigned first, int *status)
{
	FILE *table = fopen(path, "r");
	struct row row;
	int begun[2];
	unsigned n = 0;
	pid_t child;
	char octet;

	assert_non_null(table);
	assert_int_equal(pipe(begun), 0);
	fflush(stdout);
	child = fork();
	if (child == 0) {
		while (row_read(table, &row))
			if (n++ >= first) {
				assert_int_equal(write(begun[1], "", 1), 1);
				row_run(&row);
			}
		_exit(0);
	}
	close(begun[1]);
	while (read(begun[0], &octet, 1) == 1)
		n++;
	close(begun[0]);
	fclose(table);
	assert_int_equal(waitpid(child, status, 0), child);
	return n;
}

int main(int argc, char **argv)
{
	unsigned done = 0;
	int status = 1;

	if (argc != 2)
		return 2;
	while (status) {
		done += rows_run(argv[1], done, &status);
		if (status)
			printf("\ncrash %s %d\n", WIFSIGNALED(status) ? "signal" : "exit",
				WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
	}
	return 0;
}
