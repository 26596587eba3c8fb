// SPDX-License-Identifier: BSD-3-Clause
// The state of an HTTP/1.x connection, and what follows when the head of a message is there: what a
// response answers, whether its body is a file, whether HTTP ends with it.
//
// Files are: the body of a request, but for application/x-www-form-urlencoded without a name of its
// own; of multipart/form-data the parts that have a file's name; the body of a response 2xx; that
// of another response if it names itself by Content-Disposition. A body that its head says is empty
// is none.
#ifndef SLUICE_CONTENT_HTTP_MESSAGE_H
#define SLUICE_CONTENT_HTTP_MESSAGE_H

#include "content/http/body.h"
#include "pipeline/vocab/span.h"

enum http_phase {
	HTTP_PHASE_HEAD, // before a message, in its head, or looking for one
	HTTP_PHASE_HEAD_DONE,
	HTTP_PHASE_BARE, // there is no head: the file is all that comes
	HTTP_PHASE_BODY_OPEN,
	HTTP_PHASE_BODY,
	HTTP_PHASE_BODY_END,
	HTTP_PHASE_TUNNEL, // behind CONNECT: nobody knows what it is before it is answered
};

struct http_half {
	struct http_head_reader reader;
	struct http_body body;
	struct http_chunks chunks;
	uint64_t at64;      // of the next byte
	uint64_t remaining; // of a body whose length is known
	uint64_t head64;    // where the message in progress, or the last one, began
	uint32_t searched;  // bytes, since a message is looked for
	uint8_t phase;      // enum http_phase
	bool started, over; // its first byte came; its last one
	bool passed;        // bytes of a tunnel that may be none
	bool disputed;      // for some hosts the message before goes on
	bool simple;        // the request in progress is one line
	// Of what may be a head, or a file without one: bytes of a status line's beginning that
	// came; and those of them that were not given to who they are for.
	uint8_t matched, held;
};

struct http_state {
	struct http_half halves[2];
	struct http_requests requests;
	uint32_t files;
	// Messages were lost: which request a response answers is not known, until a request comes
	// while no response is in progress.
	bool unmatched;
	bool ahead; // a response came that answers no request
	bool over;
};

// HTTP_ON: the half is in another phase. HTTP_NO_MEMORY: ask again. HTTP_OVER.
enum http_step http_message_request(struct http_state *state, const struct http_turn *turn);
enum http_step http_message_response(struct http_state *state, const struct http_turn *turn);

// Whether what comes next of the server may be a file without a head.
bool http_message_may_be_bare(const struct http_state *state);
// It is one: `held` bytes of it came.
enum http_step http_message_bare(struct http_state *state, const struct http_turn *turn);

// As struct content_decoder has it.
bool http_message_answer(
	const struct http_state *state, unsigned half, struct content_answer *answer);

// The half waits for its next message.
void http_message_next(struct http_state *state, unsigned half);
// ... which has to be looked for: messages may be lost.
void http_message_search(struct http_state *state, unsigned half, struct content_memory *memory);

#endif
