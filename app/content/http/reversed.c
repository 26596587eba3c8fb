// SPDX-License-Identifier: BSD-3-Clause
// Feeds the decoder of HTTP with halves in each other's place, and puts what it reports back.
#include "content/http/reversed.h"

#include "content/decoders.h"
#include "content/http/text.h"
#include "content/memory.h"

struct view {
	const struct content_sink *sink;
	struct http_reversed *reversed;
};

static void on_asked(void *ctx, const struct content_file *file)
{
	const struct view *view = ctx;
	struct content_file turned = *file;

	turned.half = !file->half;
	view->sink->asked(view->sink->ctx, &turned);
}

// The name that was announced is one more: clients choose between it and the path's.
static void add_name(const struct http_reversed *reversed, struct content_file *file)
{
	struct content_text name = {reversed->name, reversed->name_length};

	if (!name.length || http_same(name, file->name))
		return;
	for (unsigned i = 0; i < file->n_aliases; i++)
		if (http_same(name, file->aliases[i].name))
			return;
	if (!file->name.length) {
		file->name = name;
		file->name_source = CONTENT_NAME_OFFER;
		file->name_cut = reversed->name_cut;
	} else if (file->n_aliases < CONTENT_ALIASES_MAX) {
		file->aliases[file->n_aliases++] = (struct content_alias){name, CONTENT_NAME_OFFER};
	}
}

static enum content_want on_file(void *ctx, const struct content_file *file)
{
	const struct view *view = ctx;
	struct http_reversed *reversed = view->reversed;
	struct content_file turned = *file;

	turned.half = !file->half;
	turned.begins64 += reversed->from64[turned.half];
	if (turned.half == HALF_C2S && turned.status < 300)
		add_name(reversed, &turned);
	reversed->open[turned.half] = file->id;
	return view->sink->file(view->sink->ctx, &turned);
}

static void on_id(void *ctx, const struct content_id *id, unsigned half)
{
	const struct view *view = ctx;

	view->sink->id(view->sink->ctx, id, !half);
}

static void on_bytes(void *ctx, uint32_t id, uint64_t at, const uint8_t *bytes, uint32_t length)
{
	const struct view *view = ctx;

	view->sink->bytes(view->sink->ctx, id, at, bytes, length);
}

static void on_end(void *ctx, uint32_t id, enum content_end end, uint64_t ends64)
{
	const struct view *view = ctx;
	const struct http_reversed *reversed = view->reversed;
	unsigned half = reversed->open[HALF_S2C] == id ? HALF_S2C : HALF_C2S;

	view->sink->end(view->sink->ctx, id, end, ends64 + reversed->from64[half]);
}

static void on_message(void *ctx, const struct content_message *message)
{
	(void)ctx; // HTTP has none
	(void)message;
}

static bool on_word(void *ctx, const struct content_word *word)
{
	const struct view *view = ctx;
	struct content_word turned = *word;

	turned.half = !word->half;
	turned.last64 += view->reversed->from64[turned.half];
	return view->sink->word(view->sink->ctx, &turned);
}

static void on_note(void *ctx, enum content_note note, unsigned half, uint64_t at64)
{
	const struct view *view = ctx;

	view->sink->note(view->sink->ctx, note, !half, at64 + view->reversed->from64[!half]);
}

static struct content_sink sink_of(struct view *view)
{
	return (struct content_sink){.asked = on_asked,
		.file = on_file,
		.id = on_id,
		.bytes = on_bytes,
		.end = on_end,
		.message = on_message,
		.word = on_word,
		.note = on_note,
		.ctx = view};
}

bool http_reversed_begin(struct http_reversed *reversed, struct content_memory *memory)
{
	if (!reversed->http) {
		reversed->http = content_take(memory, content_http.state_bytes);
		if (reversed->http)
			memset(reversed->http, 0, content_http.state_bytes);
	}
	return reversed->http;
}

void http_reversed_name(struct http_reversed *reversed, struct content_text name)
{
	reversed->name_cut = name.length > HTTP_REVERSED_NAME;
	if (reversed->name_cut)
		name = http_text_from(name, name.length - HTTP_REVERSED_NAME);
	if (name.length)
		memcpy(reversed->name, name.bytes, name.length);
	reversed->name_length = (uint16_t)name.length;
}

enum content_fed http_reversed_feed(
	struct http_reversed *reversed, const struct span *span, struct content_turn *turn)
{
	uint64_t from64 = reversed->from64[span->half & 1];
	uint32_t before = from64 > span->offset64 ? (uint32_t)(from64 - span->offset64) : 0;
	struct view view = {turn->sink, reversed};
	const struct content_sink sink = sink_of(&view);
	struct content_turn inner = *turn;
	struct span part = *span;

	part.half = !(span->half & 1);
	part.offset64 = span->offset64 + before - from64;
	part.extent -= before;
	if (part.unchecked)
		part.unchecked += before;
	inner.sink = &sink;
	inner.taken -= before;
	enum content_fed fed = content_http.feed(reversed->http, &part, &inner);

	turn->taken = inner.taken + before;
	turn->output = inner.output;
	return fed;
}

void http_reversed_over(struct http_reversed *reversed, struct content_turn *turn)
{
	struct view view = {turn->sink, reversed};
	const struct content_sink sink = sink_of(&view);
	struct content_turn inner = *turn;

	if (!reversed->http)
		return;
	inner.sink = &sink;
	content_http.over(reversed->http, &inner);
	content_give(turn->memory, reversed->http);
	reversed->http = NULL;
}
