// SPDX-License-Identifier: BSD-3-Clause
// Decides what a message is, once its head is there.
#include "content/http/message.h"

static enum http_head_kind kind_of(unsigned half)
{
	return half == HALF_C2S ? HTTP_HEAD_REQUEST : HTTP_HEAD_RESPONSE;
}

static bool is_between(const struct http_half *half)
{
	return half->phase == HTTP_PHASE_HEAD && half->reader.state == HTTP_LINE_BLANK &&
	       !half->reader.searching && !half->matched;
}

void http_message_next(struct http_state *state, unsigned half)
{
	struct http_half *of = &state->halves[half];

	of->phase = HTTP_PHASE_HEAD;
	of->matched = of->held = 0;
	http_head_reader_begin(&of->reader, of->simple ? HTTP_HEAD_BEHIND : kind_of(half));
	of->simple = false;
}

void http_message_search(struct http_state *state, unsigned half, struct content_memory *memory)
{
	struct http_head_reader *reader = &state->halves[half].reader;

	content_give(memory, reader->head);
	reader->head = NULL;
	http_head_reader_search(reader, kind_of(half));
	reader->unsure = true;
	state->halves[half].phase = HTTP_PHASE_HEAD;
	state->halves[half].matched = state->halves[half].held = 0;
	state->unmatched = true;
	http_requests_clear(&state->requests, memory);
}

// curl -O stores what comes with any status under the path's name, so that it is a file of that
// name. What servers say for themselves with a redirect, a challenge or an error is not, as far as
// it can be no more: programs go on by it, and must get it.
static bool is_refusal(const struct http_head *head, enum http_framing framing)
{
	return head->status >= 300 && framing == HTTP_FRAMING_LENGTH &&
	       head->length <= HTTP_REFUSAL_BYTES && !head->n_coded && !head->n_transfer &&
	       !head->coding_unknown;
}

// The head belongs to the body from here on.
static void begin_body(struct http_half *half, const struct http_turn *turn,
	enum http_framing framing, enum http_body_shape shape)
{
	struct http_head *head = half->reader.head;

	half->body = (struct http_body){.head = head,
		.refusal = turn->half == HALF_S2C && is_refusal(head, framing),
		.begins64 = half->at64,
		.notes = half->reader.notes,
		.answers = turn->half == HALF_S2C,
		.framing = (uint8_t)framing,
		.shape = (uint8_t)(framing == HTTP_FRAMING_NONE ? HTTP_BODY_SKIPPED : shape)};
	half->reader.head = NULL;
	half->remaining = head->length;
	half->chunks = (struct http_chunks){.state = HTTP_CHUNK_SIZE};
	half->phase = HTTP_PHASE_BODY_OPEN;
}

static void drop_head(struct http_half *half, const struct http_turn *turn)
{
	content_give(turn->turn->memory, half->reader.head);
	half->reader.head = NULL;
}

static enum http_body_shape request_shape(const struct http_head *head)
{
	if (head->media == HTTP_MEDIA_FORM_PARTS)
		return HTTP_BODY_FORM;
	if (head->method == HTTP_METHOD_PUT || head->name.length)
		return HTTP_BODY_FILE;
	return head->media == HTTP_MEDIA_FORM ? HTTP_BODY_FIELDS : HTTP_BODY_FILE;
}

// A file is asked for; that it exists only the answer says.
static void tell_asked(const struct http_turn *turn, const struct http_head *head)
{
	const struct content_sink *sink = turn->turn->sink;
	const struct http_subject subject = http_subject_of_head(head);
	struct content_text name = subject.texts[HTTP_SUBJECT_NAME];
	const struct content_file file = {.half = HALF_S2C,
		.path = subject.texts[HTTP_SUBJECT_PATH],
		.host = subject.texts[HTTP_SUBJECT_HOST],
		.is_http = true,
		.method = subject.texts[HTTP_SUBJECT_VERB],
		.agent = subject.texts[HTTP_SUBJECT_AGENT],
		.name = name,
		.name_source = name.length ? CONTENT_NAME_PATH : CONTENT_NAME_NONE,
		.name_cut = subject.name_cut,
		.by_path = true,
		.partial = head->asks_part,
		.range_from = head->has_range ? head->range_from : 0,
		.size = CONTENT_SIZE_UNKNOWN};

	if (head->method != HTTP_METHOD_GET)
		return;
	bool whole;
	struct urn_ids urns = http_requests_urns(head, &whole);

	urn_report(&urns, sink, HALF_C2S);
	sink->asked(sink->ctx, &file);
}

enum http_step http_message_request(struct http_state *state, const struct http_turn *turn)
{
	struct http_half *half = &state->halves[HALF_C2S];
	const struct http_head *head = half->reader.head;
	uint64_t notes = 0;
	enum http_framing framing = http_framing_request(head, &notes);

	if (head->method == HTTP_METHOD_PRI) {
		http_note(turn, CONTENT_NOTE_OPAQUE_H2C, half->reader.begins64);
		return HTTP_OVER;
	}
	if (state->ahead) // what answers it has come, or its answer is taken for another's
		notes |= CONTENT_NOTE_BIT(CONTENT_NOTE_BAD_LINE);
	http_notes_once(turn, &half->reader.notes, notes, half->reader.begins64);
	if (state->unmatched && is_between(&state->halves[HALF_S2C]))
		state->unmatched = false;
	if (!state->unmatched && http_requests_are_full(&state->requests)) {
		http_note(turn, CONTENT_NOTE_TOO_MANY_REQUESTS, half->reader.begins64);
		return HTTP_OVER;
	}
	if (!state->unmatched && !http_requests_add(&state->requests, turn->turn->memory, head))
		return HTTP_NO_MEMORY;
	tell_asked(turn, head);
	half->simple = head->simple;
	if (head->method == HTTP_METHOD_CONNECT) {
		drop_head(half, turn);
		half->phase = HTTP_PHASE_TUNNEL;
		half->passed = false;
		return HTTP_ON;
	}
	begin_body(half, turn, framing, request_shape(head));
	return HTTP_ON;
}

static enum content_note upgrade_note(enum http_upgrade upgrade)
{
	switch (upgrade) {
	case HTTP_UPGRADE_WEBSOCKET: return CONTENT_NOTE_OPAQUE_WEBSOCKET;
	case HTTP_UPGRADE_H2C: return CONTENT_NOTE_OPAQUE_H2C;
	case HTTP_UPGRADE_TLS: return CONTENT_NOTE_OPAQUE_TLS;
	default: return CONTENT_NOTE_OPAQUE_UPGRADE;
	}
}

// 1xx, RFC 9110 section 15.2: others follow. A 101 that nobody asked for is one of them: a client
// goes on with HTTP (section 15.2.2: it answers an Upgrade field).
static enum http_step interim(struct http_state *state, const struct http_turn *turn)
{
	struct http_half *half = &state->halves[HALF_S2C];
	const struct http_request *request = state->requests.first;
	enum http_upgrade upgrade = half->reader.head->upgrade;
	bool asked = !request || request->upgrade;

	if (half->reader.head->status == 101 && asked) {
		if (upgrade == HTTP_UPGRADE_NONE && request)
			upgrade = request->upgrade;
		http_note(turn, upgrade_note(upgrade), half->at64);
		return HTTP_OVER;
	}
	if (half->reader.head->status == 101)
		http_note_once(
			turn, &half->reader.notes, CONTENT_NOTE_BAD_LINE, half->reader.begins64);
	drop_head(half, turn);
	http_message_next(state, HALF_S2C);
	return HTTP_ON;
}

// Parts are of a file of which parts were asked for: else who asked has all of the body.
static enum http_body_shape response_shape(
	const struct http_head *head, const struct http_request *request)
{
	return head->status == 206 && head->media == HTTP_MEDIA_RANGES &&
			       (!request || request->asks_part)
		       ? HTTP_BODY_RANGES
		       : HTTP_BODY_FILE;
}

// The client's half behind CONNECT, where the server has refused: requests go on.
static void refuse_tunnel(struct http_state *state, struct content_memory *memory)
{
	struct http_half *half = &state->halves[HALF_C2S];

	if (half->phase != HTTP_PHASE_TUNNEL)
		return;
	if (half->passed)
		http_message_search(state, HALF_C2S, memory);
	else
		http_message_next(state, HALF_C2S);
}

// What was asked for is not known: nothing was, or not to the end of its head, where some servers
// answer all the same (Python, once the client has closed its half). Errors come so, too.
// Where the client's half is not seen, or says nothing yet, and behind an error, the next request
// shows that answers and requests are out of step.
static bool is_unasked(struct http_state *state, const struct http_head *head)
{
	if (state->unmatched)
		return false;
	state->ahead = true;
	return state->halves[HALF_C2S].started && head->status < 400;
}

enum http_step http_message_response(struct http_state *state, const struct http_turn *turn)
{
	struct http_half *half = &state->halves[HALF_S2C];
	const struct http_head *head = half->reader.head;
	struct content_memory *memory = turn->turn->memory;

	if (head->status < 200)
		return interim(state, turn);
	struct http_request *request = http_requests_take(&state->requests);
	enum http_method method = request ? request->method : HTTP_METHOD_OTHER;

	if (state->unmatched && state->halves[HALF_C2S].phase == HTTP_PHASE_TUNNEL)
		method = HTTP_METHOD_CONNECT;
	if (method == HTTP_METHOD_CONNECT && head->status < 300) {
		content_give(memory, request);
		http_note(turn, CONTENT_NOTE_OPAQUE_CONNECT, half->at64);
		return HTTP_OVER;
	}
	if (method == HTTP_METHOD_CONNECT)
		refuse_tunnel(state, memory);
	uint64_t notes = 0;
	enum http_framing framing = http_framing_response(head, method, &notes);

	if (!request && is_unasked(state, head))
		notes |= CONTENT_NOTE_BIT(CONTENT_NOTE_BAD_LINE);
	// RFC 9110 section 15.3.7: a part answers a Range field
	if (head->status == 206 && request && !request->asks_part)
		notes |= CONTENT_NOTE_BIT(CONTENT_NOTE_BAD_LENGTH);
	http_notes_once(turn, &half->reader.notes, notes, half->reader.begins64);
	half->disputed = http_framing_is_disputed(head, method);
	half->head64 = half->reader.begins64;
	begin_body(half, turn, framing, response_shape(head, request));
	half->body.request = request;
	// who wants no head has all of it as what was asked for
	half->body.refusal &= !(request && request->bare);
	return HTTP_ON;
}

bool http_message_may_be_bare(const struct http_state *state)
{
	const struct http_half *half = &state->halves[HALF_S2C];

	return half->phase == HTTP_PHASE_HEAD && half->reader.state == HTTP_LINE_BLANK &&
	       !half->reader.searching && state->requests.first && state->requests.first->bare;
}

enum http_step http_message_bare(struct http_state *state, const struct http_turn *turn)
{
	struct http_half *half = &state->halves[HALF_S2C];

	if (!http_head_reserve(&half->reader.head, turn->turn->memory, 0))
		return HTTP_NO_MEMORY;
	begin_body(half, turn, HTTP_FRAMING_CLOSE, HTTP_BODY_FILE);
	half->body.begins64 = half->at64 - half->held;
	half->body.request = http_requests_take(&state->requests);
	return HTTP_ON;
}

bool http_message_answer(
	const struct http_state *state, unsigned half, struct content_answer *answer)
{
	const struct http_half *server = &state->halves[HALF_S2C];
	const struct http_request *request =
		half == HALF_S2C ? server->body.request : state->requests.first;

	// what is asked for without a version is answered without a head
	if (state->unmatched || state->ahead || !request || request->bare)
		return false;
	if (half == HALF_C2S && (request->next || !is_between(server)))
		return false;
	*answer = (struct content_answer){
		.from64 = half == HALF_S2C ? server->head64 : server->at64,
		.no_body = request->method == HTTP_METHOD_HEAD,
		.known = true,
	};
	return true;
}
