// SPDX-License-Identifier: BSD-3-Clause
// The reader of content: open files, their digests, and what is told of them.
#include "control/content/reader.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <rte_ring.h>
#include "base/json_out.h"
#include "base/log.h"
#include "control/content/incidents.h"
#include "control/content/news_json.h"
#include "control/event/eve.h"
#include "pipeline/content/flow_content.h"
#include "pipeline/lcore/lcore.h"

static_assert(CONTENT_REDACT_MASK - CONTENT_REDACT_KEEP == (int)REDACT_MASK &&
		      CONTENT_REDACT_OMIT - CONTENT_REDACT_KEEP == (int)REDACT_OMIT,
	"the words of policies are those of gateway.json");

#define NEWS_RING  4096 // power of two
#define LOG_RING   4096
#define OPEN_MAX   65536
#define BUCKETS    8192
#define BATCH      256 // records of one lcore before the next one's turn
#define IDLE_US    20000
#define STORE_WORK 64 // files of the store that are looked at in one turn
#define JSON_BYTES (64u << 10)

struct open_file {
	struct open_file *next;
	unsigned lcore;
	struct store_file *stored;     // NULL: not looked at
	struct content_record *record; // the one that began it
};

struct line {
	size_t length;
	char json[];
};

struct content_reader {
	struct content_reader_options options;
	struct dataplane *dp;
	struct store *store;
	struct store *quarantine;    // NULL: none
	struct audit_log *log;       // NULL: none
	struct incidents *incidents; // the same
	uint64_t incidents_told;
	struct content_recent *recent;
	struct rte_ring *news, *lines;
	struct open_file *open[BUCKETS];
	unsigned n_open;
	uint64_t ids; // of stored files
	pthread_t thread;
	bool is_threaded;
	int stopping, reopens; // asked of the thread
	pthread_mutex_t lock;  // of `counters`
	struct content_reader_counters counters;
	// news_lost: of the reader; lines_lost: of the control core; told_lost: of these and of the
	// lcores', those that the log was told of
	uint64_t news_lost, lines_lost, told_lost;
	uint64_t seen_lost; // of the reader and the control core, at the last poll
	char buffer[JSON_BYTES];
	char sidecar[JSON_BYTES + 1024];
};

static struct rte_ring *ring_new(const char *name, unsigned size)
{
	rte_ring_free(rte_ring_lookup(name));
	return rte_ring_create(name, size, SOCKET_ID_ANY, RING_F_SP_ENQ | RING_F_SC_DEQ);
}

int content_reader_new(const struct content_reader_options *options, struct dataplane *dp,
	uint64_t wall_us, struct content_reader **out, char *err, size_t err_len)
{
	struct content_reader *reader = calloc(1, sizeof *reader);
	int rc = -ENOMEM;

	snprintf(err, err_len, "no memory for the reader of content");
	if (!reader)
		return rc;
	reader->options = *options;
	reader->dp = dp;
	pthread_mutex_init(&reader->lock, NULL);
	reader->news = ring_new("sl_content_news", NEWS_RING);
	reader->lines = ring_new("sl_content_lines", LOG_RING);
	reader->recent = content_recent_new(options->recent);
	if (!reader->news || !reader->lines || !reader->recent)
		goto failed;
	rc = store_open(options->folder, &options->store, &reader->store, err, err_len);
	if (!rc && options->quarantine)
		rc = store_open(options->quarantine, &options->quarantined, &reader->quarantine,
			err, err_len);
	if (!rc && options->log.path)
		rc = audit_log_open(&options->log, wall_us, &reader->log, err, err_len);
	if (!rc && options->evidence)
		rc = incidents_new(options->evidence, options->evidence_bytes,
			options->log.software, &reader->incidents, err, err_len);
	if (rc)
		goto failed;
	*out = reader;
	return 0;
failed:
	content_reader_free(reader);
	return rc;
}

static uint64_t wall_us_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

// News

// What a rule says of the texts of a record stands above what gateway.json says of all.
static enum redact redact_of(enum redact gateway, uint8_t rule, bool at_least)
{
	enum redact how = rule ? (enum redact)(rule - CONTENT_REDACT_KEEP) : gateway;

	return at_least && how < gateway ? gateway : how;
}

static struct redact_rules redact_record(
	const struct content_reader *reader, const struct content_record *record)
{
	const struct content_redaction *rule = &record->redact;
	struct redact_rules rules = reader->options.redact;

	rules.text = redact_of(rules.text, rule->text, rule->at_least);
	rules.names = redact_of(rules.names, rule->names, rule->at_least);
	rules.users = redact_of(rules.users, rule->users, rule->at_least);
	return rules;
}

// `item`: redacted, or NULL.
static void tell(struct content_reader *reader, const struct event *event, uint8_t type, bool audit,
	const struct json_out *json, const struct content_item *item)
{
	size_t length = json_out_length(json);
	struct content_news *news = json->full ? NULL : malloc(sizeof *news + length);

	if (!news) {
		reader->news_lost++;
		return;
	}
	news->event = *event;
	news->event.type = type;
	news->audit = audit;
	news->item = item ? *item : (struct content_item){0};
	news->length = length;
	memcpy(news->json, json->start, length);
	if (!rte_ring_sp_enqueue(reader->news, news))
		return;
	reader->news_lost++;
	free(news);
}

struct content_recent *content_reader_recent(struct content_reader *reader)
{
	return reader->recent;
}

struct content_news *content_reader_take(struct content_reader *reader)
{
	void *news;

	return rte_ring_sc_dequeue(reader->news, &news) ? NULL : news;
}

void content_reader_log(struct content_reader *reader, const char *json, size_t length)
{
	struct line *line = malloc(sizeof *line + length);

	if (line) {
		line->length = length;
		memcpy(line->json, json, length);
		if (!rte_ring_sp_enqueue(reader->lines, line))
			return;
	}
	free(line);
	__atomic_fetch_add(&reader->lines_lost, 1, __ATOMIC_RELAXED);
}

// Files

static struct open_file **place_of(struct content_reader *reader, unsigned lcore, uint64_t number)
{
	struct open_file **at = &reader->open[(number * LCORES_MAX + lcore) % BUCKETS];

	while (*at && ((*at)->record->file != number || (*at)->lcore != lcore))
		at = &(*at)->next;
	return at;
}

static void open_free(struct open_file *file)
{
	if (file->stored)
		store_abort(file->stored);
	free(file->record);
	free(file);
}

static void begin(
	struct content_reader *reader, unsigned lcore, const struct content_record *record)
{
	struct open_file **at = place_of(reader, lcore, record->file), *file;
	size_t bytes = sizeof *record + record->length;
	struct redact_rules redact = redact_record(reader, record);
	struct content_item item;
	struct json_out json;

	json_out_init(&json, reader->buffer, sizeof reader->buffer);
	news_put_transfer(record, &redact, &json);
	content_item_of(record, &item);
	content_item_redact(&item, &redact);
	tell(reader, &record->event, EVENT_FILE, true, &json, &item);
	reader->counters.files++;
	if (record->elsewhere || record->requested || *at)
		return;
	file = reader->n_open < OPEN_MAX ? calloc(1, sizeof *file) : NULL;
	if (!file || !(file->record = malloc(bytes))) {
		free(file);
		reader->news_lost++;
		return;
	}
	memcpy(file->record, record, bytes);
	file->lcore = lcore;
	if (record->stored)
		file->stored = store_begin(reader->store);
	reader->n_open++;
	*at = file;
}

// Beside the file: whose it was and what became known of it, as eve.json has it.
static void note(struct content_reader *reader, const struct store_result *result,
	const struct event *event, const struct json_out *fileinfo, uint64_t wall_s)
{
	struct json_out out;

	json_out_init(&out, reader->sidecar, sizeof reader->sidecar);
	eve_head_of_flow(&out, event, "fileinfo");
	json_out_raw(&out, "fileinfo", fileinfo->start, json_out_length(fileinfo));
	json_out_close(&out, '}');
	if (!out.full)
		store_note(result->quarantined ? reader->quarantine : reader->store, result, wall_s,
			++reader->ids, out.start, json_out_length(&out));
}

// The store has it, the quarantine, or nobody: the record that ends a file has its last verdict.
static void end_stored(struct content_reader *reader, struct store_file *stored,
	const struct content_record *record, uint64_t wall_s, struct store_result *result)
{
	static const enum store_state states[] = {
		[CONTENT_END_CLOSED] = STORE_CLOSED,
		[CONTENT_END_TRUNCATED] = STORE_TRUNCATED,
		[CONTENT_END_ERROR] = STORE_ERROR,
	};
	enum store_state state = record->lost ? STORE_ERROR : states[record->end];

	if (record->av.known && record->av.value == SCAN_INFECTED)
		store_end_infected(stored, state, wall_s, reader->quarantine, result);
	else
		store_end(stored, state, wall_s, result);
}

static void end(struct content_reader *reader, unsigned lcore, const struct content_record *record,
	uint64_t wall_us)
{
	struct open_file **at = place_of(reader, lcore, record->file), *file = *at;
	struct store_result result = {0};
	struct content_item item;
	struct json_out json;

	if (!file)
		return;
	struct redact_rules redact = redact_record(reader, file->record);

	*at = file->next;
	reader->n_open--;
	if (file->stored)
		end_stored(reader, file->stored, record, wall_us / 1000000, &result);
	json_out_init(&json, reader->buffer, sizeof reader->buffer);
	news_put_fileinfo(file->record, record, file->stored ? &result : NULL, &redact, &json);
	content_item_end(file->record, record, file->stored ? &result : NULL, &item);
	content_item_redact(&item, &redact);
	file->stored = NULL;
	file->record->event.now_ns = record->at; // when it ended
	file->record->event.type = EVENT_FILEINFO;
	if ((result.stored || result.quarantined) && !json.full)
		note(reader, &result, &file->record->event, &json, wall_us / 1000000);
	if (record->rule_uid)
		file->record->event.rule_uid = record->rule_uid; // of the verdict at last
	tell(reader, &file->record->event, EVENT_FILEINFO, true, &json, &item);
	open_free(file);
}

static void message(struct content_reader *reader, const struct content_record *record)
{
	struct redact_rules redact = redact_record(reader, record);
	struct content_item item;
	struct json_out json;

	reader->counters.messages++;
	content_item_of(record, &item);
	content_item_redact(&item, &redact);
	json_out_init(&json, reader->buffer, sizeof reader->buffer);
	news_put_chat(record, &redact, &json);
	tell(reader, &record->event, EVENT_CHAT, true, &json, &item);
}

static void packet(
	struct content_reader *reader, unsigned lcore, const struct content_record *record)
{
	struct packet_file_result result;
	struct json_out json;
	struct event event;

	if (!reader->incidents ||
		!incidents_take(reader->incidents, lcore, record, &event, &result))
		return;
	reader->incidents_told++;
	json_out_init(&json, reader->buffer, sizeof reader->buffer);
	news_put_evidence(&result, &json);
	tell(reader, &event, EVENT_EVIDENCE, true, &json, NULL);
}

static void content_look(
	const struct dataplane *dp, unsigned lcore, struct content_channel_use *use)
{
	const struct content_channel *channel = content_channel_of(dp->lcores[lcore]);

	*use = (struct content_channel_use){0};
	if (channel)
		content_channel_look(channel, use);
}

static unsigned poll_lcore(struct content_reader *reader, unsigned index, uint64_t wall_us)
{
	struct content_channel *channel = content_channel_of(reader->dp->lcores[index]);
	const struct content_record *record;
	struct open_file *file;
	unsigned n = 0;

	while (channel && n < BATCH && (record = content_channel_next(channel))) {
		if (reader->options.see)
			reader->options.see(reader->options.ctx, index, record);
		switch (record->kind) {
		case CONTENT_RECORD_FILE: begin(reader, index, record); break;
		case CONTENT_RECORD_BYTES:
			file = *place_of(reader, index, record->file);
			if (file && !file->stored &&
				!record->at) // it is wanted since its type is known
				file->stored = store_begin(reader->store);
			if (file && file->stored)
				store_write(
					file->stored, record->at, record->bytes, record->length);
			break;
		case CONTENT_RECORD_END: end(reader, index, record, wall_us); break;
		case CONTENT_RECORD_MESSAGE: message(reader, record); break;
		case CONTENT_RECORD_PACKET: packet(reader, index, record); break;
		}
		content_channel_done(channel, record);
		n++;
	}
	return n;
}

static void reopen(struct content_reader *reader, uint64_t wall_us)
{
	int rc = audit_log_reopen(reader->log, wall_us);

	if (rc < 0)
		log_error("audit: %s cannot be begun anew: %s; going on with the old file",
			reader->options.log.path, strerror(-rc));
}

// Records that never came to the log, wherever they were lost.
static void tell_lost(struct content_reader *reader)
{
	uint64_t lost = reader->news_lost + __atomic_load_n(&reader->lines_lost, __ATOMIC_RELAXED);
	struct content_channel_use use = {0};

	for (unsigned i = 0; i < reader->dp->n_lcores; i++) {
		content_look(reader->dp, i, &use);
		lost += use.lost;
	}
	if (lost != reader->told_lost)
		audit_log_lose(reader->log, lost - reader->told_lost);
	reader->told_lost = lost;
}

static unsigned write_lines(struct content_reader *reader, uint64_t wall_us)
{
	void *taken;
	unsigned n = 0;

	for (; n < BATCH && !rte_ring_sc_dequeue(reader->lines, &taken); n++) {
		struct line *line = taken;

		if (reader->log)
			audit_log_append(reader->log, line->json, line->length, wall_us);
		free(line);
	}
	if (!reader->log)
		return n;
	tell_lost(reader);
	if (__atomic_exchange_n(&reader->reopens, 0, __ATOMIC_ACQ_REL))
		reopen(reader, wall_us);
	audit_log_tick(reader->log, wall_us);
	return n;
}

static void publish(struct content_reader *reader, unsigned records)
{
	struct content_reader_counters *counters = &reader->counters;

	pthread_mutex_lock(&reader->lock);
	counters->records += records;
	counters->lost = reader->news_lost + __atomic_load_n(&reader->lines_lost, __ATOMIC_RELAXED);
	counters->offered = reader->incidents_told;
	counters->unread = 0;
	for (unsigned i = 0; i < reader->dp->n_lcores; i++) {
		struct content_channel_use use;

		content_look(reader->dp, i, &use);
		counters->offered += use.sent + use.lost;
		counters->unread += use.lost;
	}
	store_look(reader->store, &counters->store);
	if (reader->quarantine)
		store_look(reader->quarantine, &counters->quarantine);
	if (reader->incidents)
		incidents_look(reader->incidents, &counters->evidence);
	if (reader->log) {
		audit_log_look(reader->log, &counters->log);
		counters->head_seq = audit_log_head(reader->log, counters->head);
	}
	pthread_mutex_unlock(&reader->lock);
}

// Whether what lcores record now would be lost. A log that is full tries what it owes with each
// tick.
static void tell_lcores(struct content_reader *reader)
{
	uint64_t lost = reader->news_lost + __atomic_load_n(&reader->lines_lost, __ATOMIC_RELAXED);
	struct audit_log_counters log = {0};

	if (reader->log)
		audit_log_look(reader->log, &log);
	for (unsigned i = 0; i < reader->dp->n_lcores; i++) {
		struct content_channel *channel = content_channel_of(reader->dp->lcores[i]);

		if (channel)
			content_channel_fail(channel, log.error || lost != reader->seen_lost);
	}
	reader->seen_lost = lost;
}

unsigned content_reader_poll(struct content_reader *reader, uint64_t wall_us)
{
	unsigned n = 0;

	for (unsigned i = 0; i < reader->dp->n_lcores; i++)
		n += poll_lcore(reader, i, wall_us);
	store_step(reader->store, wall_us / 1000000, STORE_WORK);
	if (reader->quarantine)
		store_step(reader->quarantine, wall_us / 1000000, STORE_WORK);
	n += write_lines(reader, wall_us);
	tell_lcores(reader);
	publish(reader, n);
	return n;
}

void content_reader_look(struct content_reader *reader, struct content_reader_counters *counters)
{
	pthread_mutex_lock(&reader->lock);
	*counters = reader->counters;
	pthread_mutex_unlock(&reader->lock);
}

// The thread

static void *run(void *arg)
{
	struct content_reader *reader = arg;

	while (!__atomic_load_n(&reader->stopping, __ATOMIC_ACQUIRE))
		if (!content_reader_poll(reader, wall_us_now()))
			usleep(IDLE_US);
	while (content_reader_poll(reader, wall_us_now()))
		;
	return NULL;
}

int content_reader_start(struct content_reader *reader)
{
	int rc = pthread_create(&reader->thread, NULL, run, reader);

	if (!rc)
		pthread_setname_np(reader->thread, "sl-content");
	reader->is_threaded = !rc;
	return -rc;
}

void content_reader_reopen(struct content_reader *reader)
{
	__atomic_store_n(&reader->reopens, 1, __ATOMIC_RELEASE);
}

bool content_reader_stop(struct content_reader *reader, unsigned timeout_ms)
{
	struct timespec until;

	if (!reader->is_threaded)
		return true;
	__atomic_store_n(&reader->stopping, 1, __ATOMIC_RELEASE);
	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_nsec += (long)(timeout_ms % 1000) * 1000000;
	until.tv_sec += timeout_ms / 1000 + until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	if (pthread_clockjoin_np(reader->thread, NULL, CLOCK_MONOTONIC, &until))
		return false;
	reader->is_threaded = false;
	return true;
}

void content_reader_free(struct content_reader *reader)
{
	void *taken;

	if (!reader || reader->is_threaded)
		return;
	for (unsigned i = 0; i < BUCKETS; i++)
		for (struct open_file *file; (file = reader->open[i]);) {
			reader->open[i] = file->next;
			open_free(file);
		}
	while (reader->news && !rte_ring_sc_dequeue(reader->news, &taken))
		free(taken);
	while (reader->lines && !rte_ring_sc_dequeue(reader->lines, &taken))
		free(taken);
	incidents_free(reader->incidents);
	rte_ring_free(reader->news);
	rte_ring_free(reader->lines);
	if (reader->log)
		audit_log_close(reader->log, wall_us_now());
	store_close(reader->store);
	store_close(reader->quarantine);
	content_recent_free(reader->recent);
	pthread_mutex_destroy(&reader->lock);
	free(reader);
}
