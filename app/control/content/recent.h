// SPDX-License-Identifier: BSD-3-Clause
// The latest transfers and chat verdicts, for `sluicectl transfers`, `sluicectl chat` and the live
// page, and the files that the virus engine took longest for. Of fixed size: so many of each
// (content.recent of gateway.json), their texts cut. The
// reader's thread makes an item of a record; the ring and whoever looks at it are the control
// core's.
#ifndef SLUICE_CONTENT_RECENT_H
#define SLUICE_CONTENT_RECENT_H

#include "audit/store.h"
#include "base/redact.h"
#include "pipeline/content/record.h"

#define RECENT_NAME_BYTES  255 // of a file: its end
#define RECENT_PARTY_BYTES 63  // who, whom, which server
#define RECENT_TEXT_BYTES  400 // of a message: its beginning

struct recent_text {
	uint16_t length;
	bool cut;
};

struct content_item {
	uint64_t file;         // of its flow, from 1; 0: a message
	uint64_t size;         // of the file, or CONTENT_SIZE_UNKNOWN
	uint64_t bytes;        // at its end: that came
	uint64_t not_recorded; // ... that found no room
	uint64_t ended_ns;     // 0: it goes on, or is not followed
	uint16_t type;         // file_type, at its end
	uint8_t end;           // enum content_end
	uint8_t half, action, mode;
	bool refused; // by an entry of a rule that is in force
	bool elsewhere, partial, stored, quarantined, goes_on, has_sha256;
	char sha256[65];
	struct scan_result av;             // at its end
	struct recent_text name, from, to; // a file's: name, user, host
	struct recent_text text;
	uint8_t name_bytes[RECENT_NAME_BYTES];
	uint8_t from_bytes[RECENT_PARTY_BYTES], to_bytes[RECENT_PARTY_BYTES];
	uint8_t text_bytes[RECENT_TEXT_BYTES];
};

// Of a file that begins, and of a message.
void content_item_of(const struct content_record *record, struct content_item *item);
// Of a file that began as `began`, and has ended; `result` NULL: its bytes were not looked at.
void content_item_end(const struct content_record *began, const struct content_record *ended,
	const struct store_result *result, struct content_item *item);

// Its texts as the rules of gateway.json have them in records (content.redact_*).
void content_item_redact(struct content_item *item, const struct redact_rules *rules);

struct recent_entry {
	uint64_t seq; // of its kind, from 1
	struct event event;
	struct content_item item;
};

enum recent_kind { RECENT_TRANSFERS, RECENT_CHAT, RECENT_KINDS };

struct content_recent;
// Room for `max` of each kind, at most CONTENT_RECENT_MAX. NULL: no memory.
#define CONTENT_RECENT_MAX 10000
struct content_recent *content_recent_new(uint32_t max);
void content_recent_free(struct content_recent *recent); // NULL is allowed
// An event of type EVENT_FILE, EVENT_CHAT; or EVENT_FILEINFO: the end of a file that is kept, else
// nothing.
void content_recent_add(
	struct content_recent *recent, const struct event *event, const struct content_item *item);
// How many there have been since the start.
uint64_t content_recent_seen(const struct content_recent *recent, enum recent_kind kind);
// The i-th newest, from 0; NULL behind the last.
const struct recent_entry *content_recent_at(
	const struct content_recent *recent, enum recent_kind kind, uint32_t i);

// Files whose scan took longest, or never ended, of those that ended in the last RECENT_SLOW_NS;
// also if nothing else is kept.
#define RECENT_SLOW_MAX 16
#define RECENT_SLOW_NS  (UINT64_C(3600) * 1000000000)
// The i-th slowest, from 0; NULL behind the last.
const struct recent_entry *content_recent_slow(
	const struct content_recent *recent, uint64_t now_ns, unsigned i);

#endif
