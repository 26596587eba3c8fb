// SPDX-License-Identifier: BSD-3-Clause
// What a data lcore reports of content, in a block of the arena: files, their bytes, their ends,
// messages. Written by the lcore, then read by the one reader of its channel (channel.h); nobody
// changes it meanwhile.
#ifndef SLUICE_CONTENT_RECORD_H
#define SLUICE_CONTENT_RECORD_H

#include "content/content.h"
#include "content/file_type.h"
#include "pipeline/event/event.h"
#include "pipeline/policy/content_rules.h"
#include "pipeline/scan/files.h"

enum content_record_kind {
	CONTENT_RECORD_FILE,    // a transfer, before its first byte
	CONTENT_RECORD_BYTES,   // of a file whose data is wanted
	CONTENT_RECORD_END,     // of a file; nothing follows of it
	CONTENT_RECORD_MESSAGE, // a chat message, or a part of one
	CONTENT_RECORD_PACKET,  // of a flow that is refused; the oldest first
};

// The texts of a record lie behind each other in `bytes`, in this order.
enum content_record_text {
	// of a file
	RECORD_NAME,
	RECORD_PATH,
	RECORD_HOST,
	RECORD_TYPE,
	RECORD_USER,
	RECORD_VALIDATOR,
	RECORD_METHOD,
	RECORD_AGENT,
	// of a message
	RECORD_FROM = 0,
	RECORD_TO,
	RECORD_TEXT,
	RECORD_MATCHED, // the keyword or regex by which an entry of a rule matched
	RECORD_TEXTS_MAX = RECORD_AGENT + 1,
};

struct content_record {
	uint8_t kind;      // enum content_record_kind
	uint8_t half;      // that carries the file's bytes; the message's sender's; the packet's
	uint8_t rule_mode; // enum mode of the rule
	uint8_t action;    // enum content_action: what was done. END: the verdict at last
	uint32_t length;   // of `bytes`
	uint64_t file;     // its number: of this lcore, from 1; 0: a message
	uint64_t at;       // BYTES: offset of the first one in what this transfer brings. END: the
			   // lcore's time. PACKET: when it came
	uint64_t size;     // FILE: of the whole file, or CONTENT_SIZE_UNKNOWN. END: bytes reported.
			   // PACKET: its length on the wire
	uint64_t range_from;
	uint64_t reached; // END: offset behind the last byte reported, in what this transfer brings
	uint64_t lost;    // END: bytes that were reported and not recorded, as there was no room
	uint64_t id;      // FILE: of the flow's files, from 1. PACKET: of the incident's, from 1
	uint32_t rule_uid;  // that decided; 0: none
	uint16_t file_type; // END
	uint8_t end;        // END: enum content_end
	uint8_t name_source;
	bool is_http;                 // FILE
	uint16_t status;              // ... of the response that brings it; 0: none does
	uint8_t link;                 // PACKET: enum pkt_link
	struct content_id content_id; // FILE, with `has_id`
	bool has_id;
	bool name_cut, partial, elsewhere;
	bool requested;                   // FILE: refused when it was asked for; none of it came
	bool again;                       // FILE: as it was refused before
	bool stored;                      // FILE: its bytes are to be kept
	struct scan_result av;            // END
	bool goes_on, continued;          // MESSAGE; goes_on: PACKET, more of the incident follow
	struct content_redaction redact;  // FILE, MESSAGE: of its texts
	uint16_t texts[RECORD_TEXTS_MAX]; // lengths
	struct event event;               // FILE, MESSAGE, PACKET: whose it is, with alert.item
	uint8_t bytes[];
};

static inline struct content_text content_record_text(
	const struct content_record *record, enum content_record_text which)
{
	uint32_t at = 0;

	for (unsigned i = 0; i < which; i++)
		at += record->texts[i];
	return (struct content_text){record->bytes + at, record->texts[which]};
}

#endif
