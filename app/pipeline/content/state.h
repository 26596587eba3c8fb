// SPDX-License-Identifier: BSD-3-Clause
// What is kept of flows whose content is decoded; inside pipeline/content.
#ifndef SLUICE_CONTENT_STATE_H
#define SLUICE_CONTENT_STATE_H

#include "content/decoders.h"
#include "content/memory.h"
#include "content/torrents.h"
#include "pipeline/content/flow_content.h"
#include "pipeline/flow/table.h"
#include "pipeline/content/incident.h"
#include "pipeline/scan/files.h"

#define CONTENT_OPEN_MAX  8   // files of a flow at a time; more are not recorded
#define CONTENT_HOST_KEPT 255 // bytes of a server's name, of a file that is not recorded yet

// Texts of a file that is not recorded yet.
enum kept_text { KEPT_NAME, KEPT_PATH, KEPT_HOST, KEPT_METHOD, KEPT_AGENT, KEPT_TEXTS };

// What a file may list of torrents is learned.
enum learns {
	LEARNS_BY_TYPE, // if its first bytes say that it is a .torrent
	LEARNS,
	LEARNS_NOT,
};

// A file that is transferred and looked at: its bytes are wanted, or its end is to be reported.
struct open_file {
	struct open_file *next;
	uint64_t number;  // of its records; 0: it is not recorded
	uint64_t bytes;   // told by the decoder
	uint64_t reached; // behind the last of them, in what this transfer brings
	uint64_t lost;
	uint64_t size, range_from; // as the decoder said
	uint64_t ended_ns;
	uint64_t since_ns;
	struct item_id item; // in records
	uint32_t id;
	uint32_t rule_uid; // of the last verdict; 0: no rule
	uint8_t action;    // ... enum content_action
	uint8_t mode;      // ... enum mode of the rule
	uint32_t head_length;
	uint16_t kept[KEPT_TEXTS]; // lengths of `texts`
	uint16_t status;           // of HTTP
	struct refused_marks marks;
	struct content_id content_id; // has_id: by which its protocol names it
	struct content_answer answer; // that brings it: of HALF_S2C
	file_type type;
	uint8_t half, name_source;
	bool name_cut, partial, is_http, scattered, has_id;
	bool is_part; // known at its end: bytes of it are before or behind those that came
	bool type_known, upload;
	bool undecided, stored;
	bool asks;             // what is not known yet may make more of the verdict than it is now
	bool doubtful;         // its receiver may have read another file: it is never clean
	uint8_t end;           // enum content_end
	bool in_parts;         // ... by this flow and others (scan/parts.h)
	uint32_t scan;         // number of what is scanned (scan/files.h); 0: it is not
	struct scan_result av; // what is known by that
	struct content_record *page; // being filled
	uint8_t *gathered;           // of a .torrent: what came so far; NULL: nothing
	uint32_t gathered_bytes, gathered_room;
	uint8_t learns; // enum learns
	// Other names; they lie behind `texts`.
	struct content_alias aliases[CONTENT_ALIASES_MAX];
	uint8_t n_aliases;
	uint8_t head[FILE_TYPE_BYTES];
	uint8_t texts[]; // as they were sent, as far as they are kept, behind each other
};

// What a decoder has read of a segment that was not taken (untaken.h).
struct untaken {
	uint64_t hash; // 0: nothing
	uint64_t begins64;
	uint32_t length;
};

// The client's half, while the application of its flow was not known.
struct scouted {
	uint64_t until64; // behind what was looked at
	bool late;        // a word of it that asks for a part was not changed
};

struct flow_content {
	const struct content_decoder *decoder;
	void *state; // its own
	struct open_file *files;
	uint8_t *text[2];  // of a message that goes on, by half: CONTENT_TEXT_BYTES; NULL: none
	uint64_t fed64[2]; // behind what the decoder took; FED_UNKNOWN: it has had nothing
	struct untaken untaken[2];
	uint64_t began_ns, since_ns;           // its decoder; its state
	uint64_t spent_ns[CONTENT_STATES_MAX]; // in states that it has left
	uint32_t text_length[2];
	uint32_t ref; // flow
	uint32_t next_free;
	struct flow_share share;     // of its source, in places
	uint32_t epoch;              // of `asks`, as are the application and how sure that is
	uint32_t rule;               // refused: that refuses it, or RULE_DEFAULT
	struct item_id item;         // of the file, message or id at hand
	struct item_id refused_item; // refused: for which, if any
	uint16_t n_files;
	uint16_t app;
	uint8_t sure;
	uint16_t data_app;             // of flows that it announces; APP_NONE: its own
	uint8_t action;                // refused: enum action
	uint8_t phase;                 // enum content_state
	uint8_t n_grounds;             // that became evidence (grounds.h)
	uint8_t notice;                // refused: enum content_notice_why, or none is shown
	struct content_answer noticed; // ... instead of that
	char notice_id[POLICY_ID_MAX]; // of the rule
	bool told;                     // refused: by a verdict without a job, with its alert
	bool refused;
	bool early;        // its application is not final, and may want another decoder
	bool speaks;       // ... but its ends speak as this one's application does
	bool file_to_come; // refused: for the file that the decoder tells next, of noted_half
	uint8_t noted_half;
	bool each_for_itself; // it stands for one datagram of the flow alone
	bool others_over;     // what app/classify learns of others is over (decodes_for_others)
	bool more[2];         // it has more to report of what it took, or had no memory for it
	bool drops_datagram;  // the one at hand
	bool scouts;          // it looks for words alone, as its application is not known
	struct scouted scouted;
	struct content_asks asks;
};
#define FED_UNKNOWN UINT64_MAX

struct content {
	struct content_memory *memory;
	struct content_channel *channel; // NULL: nobody reads
	struct refused_files *refused;
	struct incident_ring *incidents; // NULL: packets are not kept
	uint16_t overheard;              // application that ends may show to speak, or APP_NONE
	const struct app_proto *ids;     // that finds the content ids of datagrams
	const struct content_decoder *decoder_of[APPS_MAX];
	struct content_torrents torrents; // hold NULL: none are kept
	file_type torrent_type;
	struct open_file *owed; // ended, and not recorded, as there was no room
	uint64_t files;         // numbers so far
	uint32_t items;         // ... of files, messages and ids that were named
	uint64_t left;          // bytes that may be reported in this turn
	uint64_t left_at_once;  // ... of flows that nobody can make wait
	uint32_t turn_bytes;
	struct flow_shares shares;   // of the places
	uint32_t n_flows, n_touched; // places; those that were ever taken
	uint32_t n_taken;
	uint32_t first_free;         // of those that were given back; CONTENT_NONE: none
	struct flow_content flows[]; // from 1 on
};

// A call of a decoder.
struct feeding {
	struct lcore *lcore;
	struct content *content;
	struct flow_content *flow;
	bool decodes; // the decoder is called: what it says of a file, and then the file
};

static inline struct content_tally *content_tally_of(
	const struct lcore *lcore, uint32_t ref, unsigned half)
{
	return &flow_cold_at(lcore->flows, ref)->half[half & 1].content;
}

static inline void content_mark(
	const struct lcore *lcore, uint32_t ref, unsigned half, enum content_mark mark)
{
	struct content_tally *seen = content_tally_of(lcore, ref, half);

	seen->marks = (uint8_t)(seen->marks | 1u << mark);
}

// The place of the flow; NULL: it has none.
static inline struct flow_content *content_flow_of(const struct lcore *lcore, uint32_t ref)
{
	uint16_t at = flow_cold_at(lcore->flows, ref)->content;

	return content_has_place(at) ? &lcore->content->flows[at] : NULL;
}
// A place, with the decoder's state, that is no flow's yet. NULL: no room.
struct flow_content *content_flow_take(
	struct lcore *lcore, uint32_t ref, const struct content_decoder *decoder);

// What decoders report (report.c).
extern const struct content_sink content_report;
// Changes a message on its way as the verdict says (drop-message, mask). False: it cannot be, as
// some of it has left, or is yet to come.
bool content_message_edit(struct feeding *feeding, const struct content_message *message,
	const struct content_verdict *verdict, const struct message_facts *facts,
	const struct content_hits *hits);
// Nothing more comes of its files and messages.
void content_report_over(struct lcore *lcore, struct flow_content *flow);
// The file has ended, and nothing is awaited of it: its end is recorded, and it is gone.
void content_file_over(struct content *content, struct open_file *file);
// A turn begins: ends that found no room for their record.
void content_report_owed(struct content *content);
// What the policy in force says of the flow (wanted.c).
struct content_asks content_asks_of(const struct lcore *lcore, uint32_t ref);
// What the decoder finds, or tells, is asked for: when a flow gets it, and whenever the policy or
// what is known of the flow has changed.
bool content_is_wanted(const struct lcore *lcore, const struct content_decoder *decoder,
	const struct content_asks *asks);
// Some decoder of the flow may be wanted, of which no first bytes are at hand: what could be HTTP
// counts as HTTP.
bool content_may_be_wanted(
	const struct lcore *lcore, uint32_t ref, const struct content_asks *asks);

#endif
