// SPDX-License-Identifier: BSD-3-Clause
// Takes the bytes of a body through its codings to its files.
#include "content/http/body.h"

#include "pipeline/vocab/span.h"

#define STEP_BYTES (1u << 20) // of output between two looks at how much it is

// What is needed of head and request to name files, and what undoes the body.
static void give_texts(struct http_body *body, struct content_memory *memory)
{
	content_give(memory, body->head);
	content_give(memory, body->request);
	body->head = NULL;
	body->request = NULL;
}

static void give_work(struct http_body *body, struct content_memory *memory)
{
	http_codings_close(body->codings, memory);
	http_multipart_close(body->multipart, memory);
	body->codings = NULL;
	body->multipart = NULL;
	body->waits = false;
}

static void skip_rest(struct http_body *body, const struct http_turn *turn)
{
	body->skip = true;
	give_work(body, turn->turn->memory);
}

// False: there is no room for it.
static bool add_path_alias(struct content_file *file, struct content_text name)
{
	if (!name.length || http_same(file->name, name))
		return true;
	for (unsigned i = 0; i < file->n_aliases; i++)
		if (http_same(file->aliases[i].name, name))
			return true;
	if (file->n_aliases == CONTENT_ALIASES_MAX)
		return false;
	file->aliases[file->n_aliases++] = (struct content_alias){name, CONTENT_NAME_PATH};
	return true;
}

// The names that programs which look at nothing but the path give the file: wget, and curl without
// -J. A server stores what it is sent without the query. False: there is no room for all.
static bool name_by_path(
	const struct http_body *body, const struct http_subject *subject, struct content_file *file)
{
	const struct content_text *texts = subject->texts;
	struct content_text name = texts[HTTP_SUBJECT_NAME];

	if (body->refusal || body->shape == HTTP_BODY_FIELDS)
		return true;
	if (!file->name.length && name.length) {
		file->name = name;
		file->name_source = CONTENT_NAME_PATH;
		file->name_cut = subject->name_cut;
	}
	return add_path_alias(file, name) && add_path_alias(file, texts[HTTP_SUBJECT_BARE]) &&
	       (!body->answers || add_path_alias(file, texts[HTTP_SUBJECT_QUERY]));
}

// Texts and numbers that all files of the body have. *all: so are its names.
static struct content_file describe(const struct http_body *body, bool *all)
{
	const struct http_head *head = body->head;
	struct content_file file = {.size = CONTENT_SIZE_UNKNOWN, .begins64 = body->begins64};
	struct http_subject subject = {.name_cut = false};

	*all = true;
	if (!head)
		return file;
	if (!body->answers)
		subject = http_subject_of_head(head);
	else if (body->request)
		subject = http_subject_of_request(body->request);
	file.path = subject.texts[HTTP_SUBJECT_PATH];
	file.host = subject.texts[HTTP_SUBJECT_HOST];
	file.is_http = true;
	file.method = subject.texts[HTTP_SUBJECT_VERB];
	file.agent = subject.texts[HTTP_SUBJECT_AGENT];
	file.status = body->answers ? head->status : 0;
	file.by_path = body->answers ? body->request && body->request->method == HTTP_METHOD_GET
				     : head->method == HTTP_METHOD_PUT;
	if (head->name.length)
		http_head_name(head, &file);
	*all = name_by_path(body, &subject, &file);
	file.validator = http_head_text(head, head->validator);
	return file;
}

// RFC 9110 sections 14.5 and 15.3.7: of a request by Content-Range, of a response by its status,
// if a part was asked for: a client that asked for none keeps the body as the whole file. Of
// requests PUT alone sends parts.
static bool is_partial(const struct http_body *body)
{
	if (!body->answers)
		return body->head->has_range && body->head->method == HTTP_METHOD_PUT;
	return body->head->status == 206 && (!body->request || body->request->asks_part);
}

// Where a part begins is believed where both ends say the same, as far as the request says it; a
// part of which nobody says it is taken for the beginning, and is looked at as such.
static uint64_t range_from(const struct http_body *body)
{
	const struct http_request *request = body->answers ? body->request : NULL;

	if (!is_partial(body) || !body->head->has_range)
		return 0;
	if (request && request->has_range && request->range_from != body->head->range_from)
		return 0;
	return body->head->range_from;
}

// The file's id, as the answer or what it answers names it.
static const struct content_id *id_of(const struct http_body *body)
{
	const struct content_id *id = urn_main(&body->head->urns);

	if (!body->answers || body->head->status >= 300)
		return NULL;
	return id || !body->request ? id : urn_main(&body->request->urns);
}

static void tell_file(struct http_body *body, const struct http_turn *turn)
{
	const struct http_head *head = body->head;
	bool all, coded = head->n_coded || head->n_transfer || head->coding_unknown;

	struct content_file file = describe(body, &all);

	if (!all)
		http_note_once(turn, &body->notes, CONTENT_NOTE_TWO_NAMES, body->begins64);
	file.type = http_head_text(head, head->type);
	file.fields = body->shape == HTTP_BODY_FIELDS;
	file.partial = is_partial(body);
	if (file.partial) {
		file.range_from = range_from(body);
		if (!coded)
			file.size = head->range_total;
	} else if (body->framing == HTTP_FRAMING_LENGTH && !coded) {
		file.size = head->length;
	}
	const struct content_id *id = id_of(body);
	struct content_whole whole = {.size = file.size};

	if (id) {
		whole.id = *id;
		file.whole = &whole;
	}
	http_file_open(&body->file, turn, &file);
}

// The last that was applied is undone first; Transfer-Encoding was applied behind Content-Encoding.
// Where one of them is unknown, none is undone: the file is told as it is on the wire. A range that
// is not the beginning of what is coded cannot be decoded (RFC 9110 section 14.1: ranges are of the
// coded bytes).
static void choose_codings(struct http_body *body)
{
	const struct http_head *head = body->head;
	bool range = is_partial(body) && (body->shape == HTTP_BODY_RANGES || range_from(body));

	body->n_kinds = 0;
	body->partial = is_partial(body);
	body->stays_coded = head->content_unknown;
	if (head->coding_unknown)
		return;
	for (unsigned i = head->n_transfer; i > 0; i--)
		body->kinds[body->n_kinds++] = head->transfer[i - 1];
	body->stays_coded = range && head->n_coded;
	for (unsigned i = range ? 0 : head->n_coded; i > 0; i--)
		body->kinds[body->n_kinds++] = head->coded[i - 1];
}

static enum http_step open_parts(struct http_body *body, const struct http_turn *turn)
{
	struct content_text boundary = http_head_text(body->head, body->head->boundary);

	if (body->multipart)
		return HTTP_ON;
	body->multipart = http_multipart_open(turn->turn->memory, boundary);
	return body->multipart ? HTTP_ON : HTTP_NO_MEMORY;
}

static void name_it(struct http_body *body, const struct http_turn *turn, bool parts)
{
	choose_codings(body);
	if (!parts)
		tell_file(body, turn);
	// who asks for names alone has all that the message says
	if (body->stays_coded && (parts || body->file.wanted))
		http_note_once(turn, &body->notes, CONTENT_NOTE_CODING_UNKNOWN, body->begins64);
	body->named = true;
}

enum http_step http_body_open(struct http_body *body, const struct http_turn *turn)
{
	bool parts = body->shape == HTTP_BODY_FORM || body->shape == HTTP_BODY_RANGES;

	if (body->shape == HTTP_BODY_SKIPPED) {
		give_texts(body, turn->turn->memory);
		body->skip = true;
		return HTTP_ON;
	}
	// parts that are coded as nobody knows cannot be found: all of it is one file then
	if (parts && (!body->head->boundary.length || body->head->coding_unknown)) {
		body->shape = HTTP_BODY_FILE;
		parts = false;
	}
	if (!body->named)
		name_it(body, turn, parts);
	if (parts && open_parts(body, turn) != HTTP_ON)
		return HTTP_NO_MEMORY;
	body->skip = !parts && !body->file.wanted;
	if (!parts)
		give_texts(body, turn->turn->memory);
	if (!body->n_kinds || body->skip)
		return HTTP_ON;
	body->codings = http_codings_open(turn->turn->memory, body->kinds, body->n_kinds);
	return body->codings ? HTTP_ON : HTTP_NO_MEMORY;
}

// Parts of a form have names of their own.
static struct content_file describe_parts(struct http_body *body, const struct http_turn *turn)
{
	bool all;
	struct content_file shared = describe(body, &all);

	if (!all && body->shape == HTTP_BODY_RANGES)
		http_note_once(turn, &body->notes, CONTENT_NOTE_TWO_NAMES, body->begins64);
	return shared;
}

// What is decoded.
static enum http_step consume(struct http_body *body, const struct http_turn *turn,
	const struct http_input *input, uint32_t *taken)
{
	if (!body->multipart)
		return http_file_put(&body->file, turn, input->bytes, input->length, taken);
	struct content_file shared = describe_parts(body, turn);
	const struct http_parts parts = {
		&shared, &body->file, &body->notes, body->shape == HTTP_BODY_RANGES};

	return http_multipart_put(body->multipart, turn, &parts, input, taken);
}

static enum http_step drain(struct http_body *body, const struct http_turn *turn)
{
	struct content_text out = http_codings_out(body->codings);
	const struct http_input input = {out.bytes, body->begins64, out.length, true};
	uint32_t taken = 0;
	enum http_step step = out.length ? consume(body, turn, &input, &taken) : HTTP_ON;

	http_codings_take(body->codings, taken);
	return step;
}

static void stop(struct http_body *body, const struct http_turn *turn, enum content_note note)
{
	http_note_once(turn, &body->notes, note, body->begins64);
	http_file_end(&body->file, turn, CONTENT_END_ERROR, body->begins64);
	skip_rest(body, turn);
}

static bool is_bomb(const struct http_body *body)
{
	if (!body->out || body->out % STEP_BYTES)
		return false;
	return body->out >= HTTP_BODY_BYTES_MAX ||
	       (body->out >= HTTP_BODY_RATIO_FROM && body->out / HTTP_BODY_RATIO_MAX > body->in);
}

// A body without a byte is an empty file, however coded. A coding that ends before its own end is
// cut off: in a range, where the body ends with the connection, and behind what could be decoded
// (servers that only flush, and never finish).
static void stop_broken(struct http_body *body, const struct http_turn *turn, bool last)
{
	bool cut = body->in && (body->framing == HTTP_FRAMING_CLOSE || body->partial || body->out);

	if (last && (cut || !body->in)) {
		http_file_end(&body->file, turn, cut ? CONTENT_END_TRUNCATED : CONTENT_END_CLOSED,
			body->begins64);
		skip_rest(body, turn);
		return;
	}
	stop(body, turn, CONTENT_NOTE_CODING_LIES);
}

// Input goes to the codings as they ask for it, and what they give is told, until they give no
// more: what waits for the next turn is in them, and in `bytes` behind *taken.
static enum http_step pump(struct http_body *body, const struct http_turn *turn,
	const uint8_t *bytes, uint32_t length, uint32_t *taken, bool last)
{
	*taken = 0;
	for (;;) {
		enum http_step step = drain(body, turn);

		body->waits = step != HTTP_ON;
		if (step != HTTP_ON || body->over)
			return step;
		if (body->broken || is_bomb(body)) {
			if (body->broken)
				stop_broken(body, turn, last);
			else
				stop(body, turn, CONTENT_NOTE_BOMB);
			*taken = length;
			return HTTP_ON;
		}
		uint32_t in = length - *taken;
		enum coding_state state = http_codings_fill(body->codings, bytes + *taken, &in,
			STEP_BYTES - body->out % STEP_BYTES, last);
		uint32_t out = http_codings_out(body->codings).length;

		*taken += in;
		body->in += in;
		body->out += out;
		body->broken = state == CODING_BROKEN;
		body->over = state == CODING_END;
		if (state == CODING_STARVED && !out) {
			body->waits = true;
			return HTTP_NO_MEMORY;
		}
		if (state == CODING_GOES_ON && !out && !in && !last)
			return HTTP_ON;
	}
}

enum http_step http_body_put(struct http_body *body, const struct http_turn *turn,
	const uint8_t *bytes, uint64_t at64, uint32_t length, uint32_t *taken)
{
	const struct http_input input = {bytes, at64, length, false};

	*taken = length;
	if (body->skip)
		return HTTP_ON;
	if (body->codings)
		return pump(body, turn, bytes, length, taken, false);
	return length ? consume(body, turn, &input, taken) : HTTP_ON;
}

static enum http_step finish_parts(
	struct http_body *body, const struct http_turn *turn, uint64_t at64)
{
	struct content_file shared = describe_parts(body, turn);
	const struct http_parts parts = {
		&shared, &body->file, &body->notes, body->shape == HTTP_BODY_RANGES};

	return http_multipart_finish(
		body->multipart, turn, &parts, body->codings ? body->begins64 : at64);
}

enum http_step http_body_finish(struct http_body *body, const struct http_turn *turn, uint64_t at64)
{
	enum http_step step = HTTP_ON;
	uint32_t taken;

	if (body->codings)
		step = pump(body, turn, span_nothing(), 0, &taken, true);
	if (step == HTTP_ON && body->multipart)
		step = finish_parts(body, turn, at64);
	if (step == HTTP_ON)
		http_body_abort(body, turn, CONTENT_END_CLOSED, at64);
	return step;
}

void http_body_lose(
	struct http_body *body, const struct http_turn *turn, uint64_t at64, uint64_t length)
{
	if (body->codings || body->multipart)
		http_file_end(&body->file, turn, CONTENT_END_TRUNCATED, at64);
	else
		http_file_lose(&body->file, length);
	if (body->codings)
		skip_rest(body, turn);
	else if (body->multipart)
		http_multipart_lose(body->multipart, turn->turn->memory);
}

void http_body_abort(
	struct http_body *body, const struct http_turn *turn, enum content_end end, uint64_t at64)
{
	http_file_end(&body->file, turn, end, at64);
	give_work(body, turn->turn->memory);
	give_texts(body, turn->turn->memory);
	*body = (struct http_body){0};
}
