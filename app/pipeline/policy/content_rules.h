// SPDX-License-Identifier: BSD-3-Clause
// What rules say of the files and messages of the flows that they match ("transfers", "chat",
// "audit", "opaque"), and pure functions that a data lcore asks. What applies to a flow are the
// attributes of every rule that matches it, in order, up to and including the first that decides.
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
#include "classify/text_set.h"
#include "pipeline/policy/decide.h"
#include "pipeline/vocab/sizes.h"

#define CONTENT_ENTRIES_MAX  4096  // of all rules; of each kind
#define CONTENT_KEYWORDS_MAX 10000 // of all rules
#define CONTENT_KEYWORD_MAX  255   // bytes of one, in its normal form
#define CONTENT_PATTERN_MAX  1023  // bytes of a glob or regex
#define CONTENT_NORMAL_ROOM  12    // bytes of the normal form of one byte, at most

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

enum content_direction {
	CONTENT_ANY,
	CONTENT_DOWNLOAD, // to the inside end of the flow
	CONTENT_UPLOAD,   // from it
};

// A key that a rule may leave out.
enum content_flag { CONTENT_UNSET, CONTENT_NO, CONTENT_YES };

// The keys of an entry that patterns stand behind: bits.
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
	bool has_type, has_size;
	uint64_t types[CONTENT_TYPES_ROOM / 64]; // bits by file_type; 0: known to be none of ours
	uint64_t size_min, size_max;             // UINT64_MAX: no bound
	struct content_words name, regex, extension, type;
};

// An entry of "chat".
struct chat_entry {
	uint32_t index;
	uint8_t action, written, direction, store, keys;
	struct content_words keyword, regex, from, to;
};

// What a rule says of content.
struct rule_content {
	struct transfer_entry *transfers;
	uint32_t n_transfers;
	struct chat_entry *chats;
	uint32_t n_chats;
	uint8_t audit_transfers, audit_chat, audit_files; // enum content_flag
	bool has_audit;
	bool has_opaque;
	uint8_t opaque;      // ACTION_PASS, ACTION_DROP, ACTION_RESET
	bool asks_transfers; // it has entries, or audits transfers or files
	bool asks_chat;
	bool asks_type; // some entry does
};

// What all rules of a policy need together; policy->content, NULL if no rule asks for content.
struct content_rules {
	struct text_set *names;   // globs, regexes and extensions of files; NULL: no entry has any
	struct text_set *texts;   // keywords and regexes of chat
	struct text_set *parties; // "from" and "to"
	char **pattern_words[3];  // of these sets, by pattern: as the document has them, borrowed
	uint32_t n_transfers, n_chats;
	struct content_scratch *scratch[LCORES_MAX];
};

// What is known of a file.
struct file_facts {
	const uint8_t *name; // as it was told (struct content_file): path or name, not normalised
	uint32_t length;
	uint64_t size;   // CONTENT_SIZE_UNKNOWN: nobody has said it; at its end what it had
	uint64_t so_far; // bytes of it that are known to be there (range_from included)
	uint16_t type;   // file_type, as file_type_find said
	bool type_known; // ... and it will say no other; so 0 is none of ours
	bool upload;     // the inside end sends it
};

// What is known of a message.
struct message_facts {
	const uint8_t
		*text; // as it was told (struct content_message), not normalised; of a message in
		       // parts as much as is to be looked at: CONTENT_TEXT_BYTES at most
	uint32_t length;
	struct content_text from, to;
	bool upload; // the inside end sends it
};

// What a file's name, or a message, has of the patterns. In the scratch of the lcore.
struct content_hits {
	uint32_t mark;          // keys of entries are those of this scan if theirs is the same
	bool failed;            // nothing is known: no entry with patterns matches
	struct text_hits found; // in the normal form of the name or message
};

// Makes what each of `n_lcores` data lcores needs. -ENOMEM.
int content_rules_scratch(struct content_rules *content, unsigned n_lcores);
void content_rules_free(struct content_rules *content); // NULL is allowed
void rule_content_free(struct rule_content *content);   // NULL is allowed

// `lcore`: number of the data lcore, below what content_rules_scratch was given. NULL: the policy
// asks for no content.
const struct content_hits *content_file_hits(
	const struct policy *policy, unsigned lcore, const struct file_facts *facts);
const struct content_hits *content_message_hits(
	const struct policy *policy, unsigned lcore, const struct message_facts *facts);

// What a decoder is to look for in a flow. `undecided`: an application that is not final may make
// other rules match; what is asked for is then the most that may be.
struct content_asks {
	bool transfers, chat; // some rule that applies asks for files, messages
	bool type;            // some entry asks what files are
	bool enforces;        // some entry, or `opaque`, may refuse or change something
	bool store_files;     // audit.files, or some entry's `store`
	bool audit_transfers, audit_chat;
	bool undecided;
	uint8_t opaque;            // ACTION_PASS, ACTION_DROP, ACTION_RESET, after monitor mode
	uint32_t opaque_rule;      // or RULE_DEFAULT
	uint32_t opaque_monitored; // the first rule that would have refused, or RULE_DEFAULT
};
struct content_asks content_asks(const struct policy *policy, const struct decide_input *input);

struct content_verdict {
	uint8_t action;     // enum content_action: of `entry`; CONTENT_ACTION_PASS while undecided
	bool undecided;     // what is not known yet may change the action: ask again
	bool store;         // the file or text is to be kept
	bool audit;         // it is to be recorded
	uint32_t rule;      // of the entry that decides, or RULE_DEFAULT: none does
	uint32_t entry;     // in that rule's list
	uint32_t monitored; // the first rule with an entry that would have refused, but for monitor
			    // mode; or RULE_DEFAULT
	uint32_t monitored_entry;
	uint8_t monitored_action; // ... as it is written
};
struct content_verdict content_file_verdict(const struct policy *policy, unsigned lcore,
	const struct decide_input *input, const struct file_facts *facts,
	const struct content_hits *hits);
struct content_verdict content_message_verdict(const struct policy *policy, unsigned lcore,
	const struct decide_input *input, const struct message_facts *facts,
	const struct content_hits *hits);

// Where an entry of "chat" that masks found something, in facts->text, by order, apart from each
// other: what to blank. Returns how many; 1 with the whole text where a regex matched, or there are
// more than `room` or than are known.
struct content_range {
	uint32_t from, to;
};
unsigned content_mask(const struct policy *policy, const struct content_verdict *verdict,
	const struct message_facts *facts, const struct content_hits *hits,
	struct content_range *ranges, unsigned room);
// The keyword, glob or regex (as the document has it) by which the verdict's entry matched first;
// NULL: by none.
const char *content_matched(const struct policy *policy, const struct content_verdict *verdict,
	const struct content_hits *hits);

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
