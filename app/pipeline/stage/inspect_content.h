// SPDX-License-Identifier: BSD-3-Clause
// Files and messages of a flow under inspection (pipeline/content/flow_content.h): when its decoder
// begins, and what comes of what it was fed. The owning lcore only.
#ifndef SLUICE_INSPECT_CONTENT_H
#define SLUICE_INSPECT_CONTENT_H

#include "pipeline/content/flow_content.h"
#include "pipeline/stage/inspect.h"

// A copy of what classification has seen of the flow before the span at hand: its state may be
// gone when the application is known.
struct content_seen {
	struct content_prefix prefix;
	uint8_t bytes[2][CLASSIFY_PREFIX_BYTES];
};
void inspect_content_seen(const struct inspection *in, struct content_seen *seen);

// ... is not, behind the span, and the policy may change requests. `seen`: before the span.
void inspect_content_scout(
	struct inspection *in, const struct span *span, const struct content_seen *seen);
// The application of a flow is final. True: its content is asked for, and was begun with `seen`;
// the span at hand is to be fed. What was begun as announced goes on, unless it is contradicted.
bool inspect_content_begin(struct inspection *in, const struct span *span,
	const struct content_seen *seen, const struct decoder_sink *others);
// The application of a flow is not final. True: the span at hand makes it one whose answer may be a
// file at once (HTTP/0.9), answers what begins as a request, or is a part of a request that is not
// kept until the application is final; its content was begun with `seen`, and the span is to be
// fed.
bool inspect_content_early(struct inspection *in, const struct span *span,
	const struct content_seen *seen, const struct decoder_sink *others);
// A flow that another one has announced, whose application is not final, may be something else, as
// who sends the span shows: it is classified before it is fed to what was announced. A claim that
// it cannot be is forgotten.
bool inspect_content_doubts(struct inspection *in, const struct span *span);
// Before the first span of a flow that another one has announced: whatever it looks like, it is
// decoded as what it was announced as.
void inspect_content_announced(struct inspection *in, const struct decoder_sink *others);
// A span of a flow that has such a decoder. The context says what came of it: undecided, starved,
// later, decoded.
void inspect_content(
	struct inspection *in, const struct span *span, const struct decoder_sink *others);
// A flow is decided again: its content may be asked for now. True: it has a decoder.
bool inspect_content_late(struct lcore *lcore, uint32_t ref);

// Before a segment is given to its track, under a policy that changes messages or requests and of a
// track that was edited before: a half that may be changed leaves in order, and its packets are
// ours alone. False: the packet cannot be made ours; it is to be dropped, and comes
// again.
bool inspect_edits(struct inspection *in, struct tcp_track *track);

// Overhearing: to how both ends of a TCP connection begin, whatever classification takes it for. A
// server of IRC ignores a line that it does not know: a client whose first line is one of SSH or
// SMTP would be known as that, and what it says then not be read. Done where the policy asks for
// messages, until the server has said its first line; so a flow is inspected for one packet of its
// server more, at most.
#define OVERHEAR_BYTES        4096  // of the server
#define OVERHEAR_CLIENT_BYTES 65536 // of the client

enum overhear {
	OVERHEAR_NOT,    // begun
	OVERHEAR_CLIENT, // the server is silent yet
	OVERHEAR_SERVER, // its first line
	OVERHEAR_OVER,
};

static inline bool overhear_goes_on(uint8_t overhear)
{
	return overhear == OVERHEAR_CLIENT || overhear == OVERHEAR_SERVER;
}

// The first span of a TCP flow, before classification.
void inspect_overhear_begin(struct inspection *in, const struct span *span);
// A span that was taken, behind classification. True: its ends speak another application than the
// flow was taken for.
bool inspect_overhear(struct inspection *in, const struct span *span);
// The flow is of that one from here on.
void inspect_overhear_take(struct inspection *in);

#endif
