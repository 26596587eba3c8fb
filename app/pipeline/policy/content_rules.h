// SPDX-License-Identifier: BSD-3-Clause
// What rules say of the files and messages of the flows that they match ("transfers", "chat",
// "audit", "opaque", "ranges"), and pure functions that a data lcore asks. What applies to a flow
// are the attributes of every rule that matches it, in order, up to and including the first that
// decides.
//
// A file (message) is held against patterns once (content_file_hits, content_message_hits: one call
// of Hyperscan, and one each for who writes and who is written to); what it has is in the scratch
// of that lcore until the next of its kind. Then content_file_verdict (content_message_verdict)
// says what to do, and may be asked again when more is known. Nothing here allocates after the
// load.
#ifndef SLUICE_CONTENT_RULES_H
#define SLUICE_CONTENT_RULES_H

#include <stdbool.h>
#include <stdint.h>

#include "content/content.h"
#include "content/file_type_list.h"
#include "content/name_text.h"
#include "classify/text_set.h"
#include "pipeline/policy/decide.h"
#include "pipeline/vocab/sizes.h"
#include "scan/job.h"

#define CONTENT_ENTRIES_MAX  4096               // of all rules; of each kind
#define CONTENT_KEYWORDS_MAX 10000              // of all rules
#define CONTENT_KEYWORD_MAX  255                // bytes of one, in its normal form
#define CONTENT_PATTERN_MAX  1023               // bytes of a glob or regex
#define CONTENT_SIZE_MAX     ((1ull << 53) - 1) // of a file, as a bound: JSON's whole numbers
#define CONTENT_NORMAL_ROOM  12                 // bytes of the normal form of one byte, at most

// What is done with a file or message. X(symbol, word of policies and events).
#define CONTENT_ACTIONS(X)                                                               \
	X(PASS, "pass")                                                                  \
	X(DROP, "drop")                 /* a file: its flow is dropped, without RST */   \
	X(RESET, "reset")               /* the flow is reset */                          \
	X(MONITOR, "monitor")           /* passes, and is reported */                    \
	X(DROP_MESSAGE, "drop-message") /* a message: it is blanked, the flow goes on */ \
	X(MASK, "mask")                 /* a message: what matches is blanked */

enum content_action {
#define X(symbol, word) CONTENT_ACTION_##symbol,
	CONTENT_ACTIONS(X)
#undef X
		CONTENT_ACTIONS_MAX
};

static inline bool content_action_enforces(unsigned action)
{
	return action != CONTENT_ACTION_PASS && action != CONTENT_ACTION_MONITOR;
}

static inline bool content_action_edits(unsigned action)
{
	return action == CONTENT_ACTION_DROP_MESSAGE || action == CONTENT_ACTION_MASK;
}

enum content_direction {
	CONTENT_ANY,
	CONTENT_DOWNLOAD, // to the inside end of the flow
	CONTENT_UPLOAD,   // from it
};

// A key that a rule may leave out.
enum content_flag { CONTENT_UNSET, CONTENT_NO, CONTENT_YES };

// The keys of an entry that patterns stand behind: bits. The owner of a pattern is its entry's
// index and its key.
#define CONTENT_OWNER(index, key) ((uint32_t)(index) << 8 | (key))
enum content_key {
	CONTENT_KEY_NAME = 1,
	CONTENT_KEY_REGEX = 2, // of a file's name, or of a message
	CONTENT_KEY_EXTENSION = 4,
	CONTENT_KEY_KEYWORD = 8,
	CONTENT_KEY_FROM = 16,
	CONTENT_KEY_TO = 32,
};

// What the document says, for the dump: strings are the document's own.
struct content_words {
	char **words;
	uint32_t n;
};

#define CONTENT_TYPES_ROOM 256
static_assert(TYPE_WAIT <= CONTENT_TYPES_ROOM, "a bit for each type");

// An entry of "transfers".
struct transfer_entry {
	uint32_t index;    // among those of all rules
	uint8_t action;    // enum content_action, monitor mode of its rule included
	uint8_t written;   // ... as the document has it
	uint8_t direction; // enum content_direction
	uint8_t store;     // enum content_flag
	uint8_t keys;      // patterns: enum content_key
	bool has_type, has_size, has_id;
	uint64_t types[CONTENT_TYPES_ROOM / 64]; // bits by file_type; 0: known to be none of ours
	uint64_t size_min, size_max;             // UINT64_MAX: no bound
	struct content_words name, regex, extension, type;
	uint32_t *id_sets; // has_id: in policy->ids, any of them; owned
	uint32_t n_id_sets;
};

// An entry of "chat".
struct chat_entry {
	uint32_t index;
	uint8_t action, written, direction, store, keys;
	struct content_words keyword, regex, from, to;
};

// How texts that people sent stand in records, as a rule says it.
enum content_redact {
	CONTENT_REDACT_UNSET, // as gateway.json says
	CONTENT_REDACT_KEEP,
	CONTENT_REDACT_MASK,
	CONTENT_REDACT_OMIT,
};
struct content_redaction {
	uint8_t text, names, users; // enum content_redact
	// Which rules apply is not sure: it is at least as strict as gateway.json.
	bool at_least;
};

// What becomes of a file by its verdict.
enum scan_policy { SCAN_POLICY_PASS, SCAN_POLICY_AUDIT, SCAN_POLICY_RESET };

// "scan" of a rule: its files are looked at by the virus engine.
struct rule_scan {
	bool windows;           // a file is looked at by windows, not as a whole
	uint8_t direction;      // enum content_direction
	uint32_t max_bytes;     // of a file; what is larger is unscanned (too_big), but by windows
	uint32_t window_bytes;  // new ones in each window
	uint32_t overlap_bytes; // of the window before, that one begins with
	uint8_t on[SCAN_VALUES_MAX];            // enum scan_policy; of SCAN_UNSCANNED below
	uint8_t on_unscanned[SCAN_REASONS_MAX]; // by enum scan_reason
};
#define SCAN_MAX_BYTES     (32u << 20) // unless a rule says otherwise
#define SCAN_WINDOW_BYTES  (256u << 10)
#define SCAN_OVERLAP_BYTES (4u << 10)

// What a rule says of content.
struct rule_content {
	struct transfer_entry *transfers;
	uint32_t n_transfers;
	struct chat_entry *chats;
	uint32_t n_chats;
	uint8_t audit_transfers, audit_chat, audit_files; // enum content_flag
	uint8_t audit_closes; // on_lost: CONTENT_YES close, CONTENT_NO lose
	struct content_redaction redact;
	bool has_opaque;
	uint8_t opaque; // ACTION_PASS, ACTION_DROP, ACTION_RESET
	bool has_ranges;
	bool whole; // requests for parts of files become requests for all of them
	bool has_scan;
	struct rule_scan scan;
	bool has_notice;
	bool notice; // clients of HTTP/1 are shown a page where an answer is refused
	// of its entries, `opaque` and `whole`, under the rule's mode:
	bool asks_type;    // what files are
	bool asks_ids;     // their content ids
	bool enforces;     // may refuse or change something
	bool stores_files; // may keep one
	bool edits;        // may change a message
	bool asks_whole;   // requests for parts are to be changed, said or by default
	bool edits_parts;  // they are
	bool needs_bytes;  // may refuse something for what its bytes, decoded, are
	bool closes;       // a flow that cannot be recorded
};

// What all rules of a policy need together; policy->content, NULL if no rule asks for content.
struct content_rules {
	struct text_set *names;   // globs, regexes and extensions of files; NULL: no entry has any
	struct text_set *texts;   // keywords and regexes of chat
	struct text_set *parties; // "from" and "to"
	// Of the first two, by pattern: as the document has it. The array is owned, the words are
	// the entries'.
	const char **name_words, **text_words;
	uint32_t n_transfers, n_chats; // entries of all rules
	struct content_scratch *scratch[LCORES_MAX];
};

// What is known of a file.
struct file_facts {
	const uint8_t *name; // name or path, as it was told (struct content_file), not normalised
	uint32_t length;
	uint64_t size;   // CONTENT_SIZE_UNKNOWN: nobody has said it; at its end, what it had
	uint64_t so_far; // bytes of it that are known to be there (range_from included)
	uint16_t type;   // as file_type_find said
	bool type_known; // ... and it will say no other: 0 is none of ours
	bool upload;     // the inside end sends it
	const struct content_id *id; // NULL: not known
	// Somebody names the id; which file comes, and in which direction, is not said: only
	// entries with ids apply.
	bool claim;
};

// What is known of a message. Of one in parts `text` is what the caller has put together.
struct message_facts {
	const uint8_t *text; // as it was told (struct content_message), not normalised
	uint32_t length;     // at most CONTENT_TEXT_BYTES
	bool upload;         // the inside end sends it
	bool to_is_list;     // struct content_message: an entry's `to` is held against each
	struct content_text from, to;
};

// What a file's name, or a message, has of the patterns. In the scratch of the lcore.
struct content_hits {
	bool failed; // nothing is known: no entry with patterns matches
	// What is not valid UTF-8 is held against the patterns in two readings (twice Hyperscan):
	// with U+FFFD for what is invalid, and as its charset is guessed. An entry matches by
	// either.
	bool two_readings;
	struct text_hits
		found; // in the normal form of the name's last component, or of the message
	const struct content_keys *keys; // of each entry
	uint32_t scans;                  // calls of Hyperscan that it took
	uint32_t mark;                   // those with another mark are none of this scan
};

// Makes what each of `n_lcores` data lcores needs. -ENOMEM.
int content_rules_scratch(struct content_rules *content, unsigned n_lcores);
void content_rules_free(struct content_rules *content); // NULL is allowed
// What follows from the rule's mode, and what its entries ask for together: once they are read, and
// again where the mode changes.
void rule_content_settle(struct rule *rule);
void rule_content_free(struct rule_content *content); // NULL is allowed
// Something of its flows may be changed on its way.
static inline bool rule_content_edits(const struct rule_content *content)
{
	return content->edits || content->edits_parts || content->needs_bytes;
}

// `lcore`: number of the data lcore, below what content_rules_scratch was given. NULL: the policy
// asks for no content.
const struct content_hits *content_file_hits(
	const struct policy *policy, unsigned lcore, const struct file_facts *facts);
const struct content_hits *content_message_hits(
	const struct policy *policy, unsigned lcore, const struct message_facts *facts);

// What a decoder is to look for in a flow.
struct content_asks {
	// An application that is not final may make other rules apply; then what follows is the
	// most that may be asked for.
	bool undecided;
	bool transfers, chat; // some entry, or audit, asks for files, messages
	bool type;            // some entry asks what files are
	bool ids;             // some entry asks for content ids
	bool enforces;        // some entry, `opaque` or `ranges`, may refuse or change something
	bool edits;           // some entry may change a message
	bool whole;           // requests for parts are to be changed
	bool plain;           // codings that are not decoded are not to be asked for
	bool store_files;     // audit.files, or some entry's `store`
	bool audit_transfers, audit_chat;
	bool closes;               // the flow, where a record of it finds no room
	uint32_t closing_rule;     // that says so, or RULE_DEFAULT
	uint32_t enforcing_rule;   // the first that may, or RULE_DEFAULT
	uint8_t opaque;            // ACTION_PASS, ACTION_DROP, ACTION_RESET, after monitor mode
	uint32_t opaque_rule;      // that says so, or RULE_DEFAULT
	uint32_t opaque_monitored; // the first that would have refused, but for monitor mode, or
				   // RULE_DEFAULT
	uint32_t ranges_rule;      // `whole`: that says so
	uint32_t scan_rule;        // whose `scan` holds, or RULE_DEFAULT: no file is scanned
};

// Nothing of the flow may pass undecoded.
static inline bool content_asks_all(const struct content_asks *asks)
{
	return asks->enforces || asks->closes;
}

static inline struct content_asks content_asks_nothing(void)
{
	return (struct content_asks){.enforcing_rule = RULE_DEFAULT,
		.closing_rule = RULE_DEFAULT,
		.opaque = ACTION_PASS,
		.opaque_rule = RULE_DEFAULT,
		.opaque_monitored = RULE_DEFAULT,
		.ranges_rule = RULE_DEFAULT,
		.scan_rule = RULE_DEFAULT};
}

struct content_asks content_asks(const struct policy *policy, const struct decide_input *input);

struct content_verdict {
	uint8_t action; // enum content_action, after monitor mode; PASS while it is undecided
	bool undecided; // what is not known yet may make the action another
	bool ask_again; // ... or anything else of this
	bool store;     // the file or text is to be kept: the entry's `store`, else audit's word
	bool audit;     // it is to be recorded: audit.transfers, audit.chat
	uint32_t rule;  // of the entry that decides, or RULE_DEFAULT: none does
	uint32_t entry; // in that rule's list
	uint32_t monitored; // the first rule with an entry in monitor mode that matches, before the
			    // one that decides, or RULE_DEFAULT
	uint32_t monitored_entry;
	uint8_t monitored_action;        // what that entry would have done: as it is written
	struct content_redaction redact; // of its record
};
struct content_verdict content_file_verdict(const struct policy *policy,
	const struct decide_input *input, const struct file_facts *facts,
	const struct content_hits *hits);
struct content_verdict content_message_verdict(const struct policy *policy,
	const struct decide_input *input, const struct message_facts *facts,
	const struct content_hits *hits);

// Where the verdict's entry of "chat" found keywords in facts->text: what to blank, by order, apart
// from each other. Returns how many, at most `room` and CONTENT_MASKS_MAX; 1, the whole text, where
// the entry matched by anything but keywords in one reading, or at more places. 0: no entry
// decides.
#define CONTENT_MASKS_MAX 64
unsigned content_mask(const struct policy *policy, const struct content_verdict *verdict,
	const struct message_facts *facts, const struct content_hits *hits,
	struct content_range *ranges, unsigned room);
// The keys (enum content_key) that an entry has, by its index.
uint8_t content_hits_keys(const struct content_hits *hits, uint32_t entry);
// The keyword, glob, extension or regex (as the document has it) by which an entry of these hits
// matched; NULL: by none.
const char *content_file_matched(const struct policy *policy, const struct content_hits *hits,
	uint32_t rule, uint32_t entry);
const char *content_message_matched(const struct policy *policy, const struct content_hits *hits,
	uint32_t rule, uint32_t entry);

static inline const char *content_action_word(unsigned action)
{
	static const char *const words[] = {
#define X(symbol, word) word,
		CONTENT_ACTIONS(X)
#undef X
	};
	return action < CONTENT_ACTIONS_MAX ? words[action] : "?";
}

#endif
