// SPDX-License-Identifier: BSD-3-Clause
// Inside app/classify: what the parts of the reader of HTTP share (classify/names/follow.h):
// classify/names/http.c reads requests line by line, classify/names/lines.c puts lines together,
// classify/names/inner.c looks within them, classify/names/answer.c reads answers.
#ifndef SLUICE_NAMES_LINES_H
#define SLUICE_NAMES_LINES_H

#include "classify/names/feed.h"

enum head_bits {               // of a request
	HEAD_OPEN = 1 << 0,    // its header has begun, and has not ended
	HEAD_NAMED = 1 << 1,   // it gave a name
	HEAD_FOLDS = 1 << 2,   // the line before is a Host without a name
	HEAD_LENGTH = 1 << 3,  // Content-Length
	HEAD_CHUNKED = 1 << 4, // Transfer-Encoding
	HEAD_CARRIES = 1 << 5, // all servers take a body of it
	HEAD_OLD = 1 << 6,     // HTTP/1.0
	HEAD_EXPECT = 1 << 7,
	HEAD_TRAILER = 1 << 8,   // no header, but what stands behind chunks
	HEAD_CR = 1 << 9,        // the octet before is a CR that ended a line
	HEAD_SQUEEZED = 1 << 10, // what is kept has no two blanks in a row
	HEAD_INNER = 1 << 11,    // what is kept stood within a line, behind a method

	HEAD_OF_KEPT = HEAD_SQUEEZED | HEAD_INNER,
};

static inline bool http_is_unclear(const struct names_follow *follow)
{
	return follow->http == NAMES_UNCLEAR;
}

// From here on each line may be a request's.
void http_unclear(struct names_follow *follow);

// A line with its LF. `kept`: what stands in front of CRs in it was taken before (http_take_bare).
void http_take_line(struct feed *feed, struct text line, bool kept);
// As much of a line as is kept, but for what may go on. `taken`: it ends in front of a CR.
void http_take_cut(struct feed *feed, struct text line, bool taken);
// classify/names/inner.c: names of requests that begin within a line; but for that which the line
// itself is
// (`whole`). `behind`: what stands before it may be a method.
void http_take_inner(struct feed *feed, struct text line, bool whole, bool behind);
// A line that is longer than what is kept: takes what is whole in it, and leaves of it what may go
// on behind: in short, at most half of NAME_HEAD_BYTES. False: nothing of it is kept.
bool http_cut(struct feed *feed);
// What stands in front of a CR that no LF follows, in a line of which the end is not here.
void http_take_bare(struct feed *feed, struct text part);

// In phase NAMES_HEAD. False: no place is free.
bool http_feed_line(struct feed *feed, struct text *rest);
// In phase NAMES_LOST. False: no place is free.
bool http_pass_line(struct feed *feed, struct text *rest);

#endif
