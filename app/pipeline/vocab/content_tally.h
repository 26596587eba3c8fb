// SPDX-License-Identifier: BSD-3-Clause
// What has been seen of the files and messages of a flow: by half, kept as long as the flow lives,
// also when its decoder has gone; and in which state it is, for whoever asks. Numbers saturate.
#ifndef SLUICE_CONTENT_TALLY_H
#define SLUICE_CONTENT_TALLY_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

// The three states of kP2PADM. X(symbol, word).
#define CONTENT_STATES(X)                                                                   \
	X(INITIAL, "initial")       /* its application is not known, or nothing came yet */ \
	X(RECEIVING, "receiving")   /* files or messages are decoded */                     \
	X(PROCESSING, "processing") /* a verdict is pending: it waits for more, or a scan */

enum content_state {
#define X(symbol, word) CONTENT_STATE_##symbol,
	CONTENT_STATES(X)
#undef X
		CONTENT_STATES_MAX
};

// What an operator should know of it. X(symbol, word).
#define CONTENT_MARKS(X)                                                           \
	X(AMBIGUOUS, "ambiguous")   /* hosts may read it differently */            \
	X(LIMIT, "limit")           /* a limit was met */                          \
	X(OPAQUE, "opaque")         /* it went on in a form that is not decoded */ \
	X(LOST, "lost")             /* behind a gap its decoder did not go on */   \
	X(MISSED, "missed")         /* there was no room for its decoder */        \
	X(ENDED, "ended")           /* nothing of it was wanted any more */        \
	X(EDITED, "edited")         /* its requests were changed on their way */   \
	X(UNRECORDED, "unrecorded") /* a record of it found no room */

enum content_mark {
#define X(symbol, word) CONTENT_MARK_##symbol,
	CONTENT_MARKS(X)
#undef X
		CONTENT_MARKS_MAX
};
static_assert(CONTENT_MARKS_MAX <= 8, "struct content_tally has a bit for each");

struct content_tally {     // of one half
	uint16_t files;    // whose transfer was seen
	uint16_t messages; // chat
	uint8_t refused;   // of these, by a rule
	uint8_t monitored; // that a rule would have refused, were it not in monitor mode
	uint8_t marks;     // bits, by enum content_mark
	uint8_t note;      // 1 + the last enum content_note (content/content.h); 0: none
};
static_assert(sizeof(struct content_tally) == 8, "struct content_tally");

struct content_summary {   // of a flow that ends
	uint64_t began_ns; // its decoder; 0: there was none
	uint64_t spent_ns[CONTENT_STATES_MAX];
	struct content_tally seen[2]; // by half
	uint8_t state;                // enum content_state
	bool is;                      // there is something to say
};

static inline const char *content_state_word(unsigned state)
{
	static const char *const words[] = {
#define X(symbol, word) word,
		CONTENT_STATES(X)
#undef X
	};
	return state < CONTENT_STATES_MAX ? words[state] : "?";
}

static inline const char *content_mark_word(unsigned mark)
{
	static const char *const words[] = {
#define X(symbol, word) word,
		CONTENT_MARKS(X)
#undef X
	};
	return mark < CONTENT_MARKS_MAX ? words[mark] : "?";
}

#endif
