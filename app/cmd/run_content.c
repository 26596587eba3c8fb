// SPDX-License-Identifier: BSD-3-Clause
// Opens the store and the audit log, and starts and ends their thread.
#include "cmd/run_content.h"

#include <inttypes.h>
#include <stdio.h>
#include <rte_random.h>
#include <string.h>
#include <time.h>
#include "base/log.h"
#include "cmd/build_info.h"
#include "cmd/run_limits.h"

#define LOG_FILE_BYTES (UINT64_C(256) << 20)
#define LOG_SYNC_LINES 256
#define LOG_SYNC_US    1000000
#define OPEN_FILES     1024
#define DAY_S          86400u
#define END_MS         1500 // that a disk is waited for, in the end

static uint64_t wall_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

int run_content_begin(
	const struct gateway *gateway, struct control_context *context, char *err, size_t err_len)
{
	struct content_reader_options options = {
		.recent = gateway->content.recent,
		.folder = gateway->paths.files,
		.store = {.bytes = (uint64_t)gateway->content.store_mb << 20,
			.files = gateway->content.store_files,
			.age_s = (uint64_t)gateway->content.store_days * DAY_S,
			.open_files = OPEN_FILES,
			.full = gateway->content.store_full},
		.quarantine = gateway->paths.quarantine,
		.quarantined = {.bytes = (uint64_t)gateway->content.quarantine_mb << 20,
			.files = gateway->content.store_files,
			.age_s = (uint64_t)gateway->content.store_days * DAY_S,
			.full = gateway->content.store_full,
			.owner_only = true},
		.log = {.path = gateway->paths.audit,
			.software = "sluice " BUILD_VERSION,
			.file_bytes = LOG_FILE_BYTES,
			.sync_records = LOG_SYNC_LINES,
			.sync_us = LOG_SYNC_US},
		.redact = run_redact(gateway),
		.evidence = gateway->paths.evidence,
		.evidence_bytes = (uint64_t)gateway->content.evidence_mb << 20,
	};
	int rc;

	for (unsigned i = 0; i < sizeof(options.log.id); i++)
		options.log.id[i] = (uint8_t)rte_rand();
	rc = content_reader_new(&options, context->dp, wall_us(), &context->content, err, err_len);
	if (rc < 0)
		return rc;
	context->content_look = content_reader_look;
	context->recent = content_reader_recent(context->content);
	rc = content_reader_start(context->content);
	if (rc < 0)
		snprintf(err, err_len, "the reader of content cannot start: %s", strerror(-rc));
	return rc;
}

// What is in the system's log cannot be changed by who changes the audit log.
static void log_head(const struct content_reader_counters *counters)
{
	log_notice("audit: head %s of record %" PRIu64 ", %" PRIu64 " lost", counters->head,
		counters->head_seq, counters->log.lost);
}

void run_content_tick(
	struct run_content *content, const struct control_context *context, uint64_t now_ns)
{
	const struct gateway *gateway = context->gateway;
	struct content_reader_counters counters;

	content_news_drain(context->content, context->sink);
	if (!gateway->paths.audit || !gateway->content.head_s || now_ns < content->head_due_ns)
		return;
	content_reader_look(context->content, &counters);
	if (!counters.head_seq || counters.head_seq == content->head_seq)
		return;
	content->head_seq = counters.head_seq;
	content->head_due_ns = now_ns + gateway->content.head_s * NS_PER_S;
	log_head(&counters);
}

bool run_content_end(struct control_context *context)
{
	struct content_reader *reader = context->content;
	struct content_reader_counters counters;

	if (!reader)
		return true;
	if (!content_reader_stop(reader, END_MS)) {
		content_reader_look(reader, &counters);
		log_error("audit: a disk (paths.audit, files, quarantine) hangs: what came after "
			  "record %" PRIu64 " is lost",
			counters.head_seq);
		return false;
	}
	// what it has told becomes lines, which it writes
	while (content_news_drain(reader, context->sink) + content_reader_poll(reader, wall_us()) ||
		!sink_has_room(context->sink))
		sink_settle(context->sink, END_MS);
	content_reader_look(reader, &counters);
	if (counters.head_seq)
		log_head(&counters);
	context->content = NULL;
	context->recent = NULL;
	content_reader_free(reader);
	return true;
}
