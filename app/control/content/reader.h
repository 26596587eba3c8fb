// SPDX-License-Identifier: BSD-3-Clause
// Reads what data lcores record of content (pipeline/content/channel.h): files are digested and
// stored, and what is told of files and messages becomes news for the event sink and the audit log.
//
// Two sides: content_reader_poll() and what it calls waits for the disk, and is called by one
// thread of its own (content_reader_start) or, in replay, inline; content_reader_take() gives the
// news to the control core. A disk that stands still costs records, which the channels count.
#ifndef SLUICE_CONTENT_READER_H
#define SLUICE_CONTENT_READER_H

#include <stdbool.h>
#include <stddef.h>
#include "audit/packet_file.h"
#include "audit/log.h"
#include "audit/store.h"
#include "base/redact.h"
#include "control/content/recent.h"
#include "pipeline/content/record.h"

struct content_reader;
struct dataplane;
struct sink;

struct content_reader_options {
	const char *folder; // of stored files; NULL: they are only digested
	struct store_limits store;
	const char *quarantine; // of stored files that are infected; NULL: they are removed
	struct store_limits quarantined;
	struct audit_log_options log; // path NULL: there is none
	const char *evidence;         // folder for packets of incidents; NULL: none
	uint64_t evidence_bytes;      // that they may take; 0: no limit
	struct redact_rules redact;   // of what is told
	uint32_t recent;              // transfers, and messages, that are kept to be looked at
	// Who sees each record before anything comes of it; NULL: nobody.
	void (*see)(void *ctx, unsigned lcore, const struct content_record *record);
	void *ctx;
};

// -errno with a message.
int content_reader_new(const struct content_reader_options *options, struct dataplane *dp,
	uint64_t wall_us, struct content_reader **out, char *err, size_t err_len);
void content_reader_free(struct content_reader *reader); // its thread was stopped
// A thread that polls. -errno.
int content_reader_start(struct content_reader *reader);
// Takes what is left, and ends the thread. False: it hangs in the disk, and goes on to use all that
// it was given until the process ends; then content_reader_free does nothing.
bool content_reader_stop(struct content_reader *reader, unsigned timeout_ms);
// The audit log was renamed by somebody else (logrotate): its thread begins another file.
void content_reader_reopen(struct content_reader *reader);
// Takes what there is; the records.
unsigned content_reader_poll(struct content_reader *reader, uint64_t wall_us);

// What happened: an event of type EVENT_FILE, EVENT_FILEINFO, EVENT_CHAT or EVENT_EVIDENCE, and
// its object as JSON.
struct content_news {
	struct event event;
	bool audit; // the line belongs into the audit log, too
	struct content_item item;
	size_t length;
	char json[];
};
// The control core: the next, to be freed with free(); NULL: there is none.
struct content_news *content_reader_take(struct content_reader *reader);
// ... and a line of the audit log, one JSON object. Lost, and counted, where the thread is behind.
void content_reader_log(struct content_reader *reader, const char *json, size_t length);

// ... all of them, to the event sink, the audit log and what is kept as recent; how many.
unsigned content_news_drain(struct content_reader *reader, struct sink *sink);

// The control core's alone.
struct content_recent *content_reader_recent(struct content_reader *reader);

struct content_reader_counters {
	uint64_t offered;                        // by the lcores: files, ends and messages
	uint64_t unread;                         // of these, those that found no room on their way
	uint64_t records, files, messages;       // read; `records` with those of bytes
	uint64_t lost;                           // news and lines that found no room or memory
	struct store_counters store, quarantine; // `quarantine`: zeros without a folder
	struct audit_log_counters log;
	struct packet_folder_counters evidence;
	uint64_t head_seq;
	char head[AUDIT_HEX_BYTES]; // of the audit log
};
// Any thread; figures of the last poll.
void content_reader_look(struct content_reader *reader, struct content_reader_counters *counters);

#endif
