// SPDX-License-Identifier: BSD-3-Clause
// The sink that writes a transcript, and holds what every decoder must keep: a file is named before
// its bytes, numbers rise, nothing follows an end, bytes rise.
#include "lib/content/transcript.h"
#include "content/content_id.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void check(bool holds, const char *what)
{
	if (holds)
		return;
	fprintf(stderr, "transcript: %s\n", what);
	abort();
}

__attribute__((format(printf, 2, 3))) static void put(
	struct transcript *transcript, const char *format, ...)
{
	size_t room = sizeof(transcript->text) - transcript->length;
	va_list list;

	va_start(list, format);
	int n = vsnprintf(transcript->text + transcript->length, room, format, list);

	va_end(list);
	if (n > 0) // what does not fit is left out
		transcript->length += (uint32_t)((size_t)n < room ? (size_t)n : room - 1);
}

static void put_bytes(struct transcript *transcript, const uint8_t *bytes, uint64_t length)
{
	for (uint64_t i = 0; i < length; i++) {
		if (bytes[i] >= ' ' && bytes[i] < 0x7f && bytes[i] != '\\')
			put(transcript, "%c", bytes[i]);
		else
			put(transcript, "\\%02x", bytes[i]);
	}
}

static void put_text(struct transcript *transcript, const char *key, struct content_text text)
{
	if (!text.length)
		return;
	put(transcript, " %s=", key);
	if (text.length <= TRANSCRIPT_SHOWN)
		put_bytes(transcript, text.bytes, text.length);
	else
		put(transcript, "(%u)..%.*s", text.length, 8, text.bytes + text.length - 8);
}

static const char *half_word(unsigned half)
{
	return half == HALF_C2S ? "c2s" : "s2c";
}

static void on_asked(void *ctx, const struct content_file *file)
{
	(void)ctx;
	check(file->path.length <= CONTENT_PATH_BYTES, "a path that is asked for is bounded");
}

// What the file is a part of, its size where it is not the file's own, and pieces that are proved.
static void put_whole(struct transcript *transcript, const struct content_file *file)
{
	const struct content_whole *whole = file->whole;
	char text[CONTENT_ID_TEXT];

	if (!whole)
		return;
	check(!whole->n_pieces || (whole->pieces && whole->piece_bytes), "pieces are there");
	put(transcript, " whole=%s", content_id_print(&whole->id, text));
	if (whole->file_from)
		put(transcript, "+%llu", (unsigned long long)whole->file_from);
	if (whole->size != file->size && whole->size == CONTENT_SIZE_UNKNOWN)
		put(transcript, "/unknown");
	else if (whole->size != file->size)
		put(transcript, "/%llu", (unsigned long long)whole->size);
	if (whole->n_pieces)
		put(transcript, " pieces=%u", whole->n_pieces);
	if (whole->padding)
		put(transcript, " padding=%llu", (unsigned long long)whole->padding);
}

static enum content_want on_file(void *ctx, const struct content_file *file)
{
	struct transcript *transcript = ctx;
	struct transcript_file *kept = &transcript->files[file->id % TRANSCRIPT_FILES];

	check(file->id == ++transcript->n_files, "numbers of files rise by one");
	check(file->name.length <= CONTENT_NAME_BYTES && file->path.length <= CONTENT_PATH_BYTES &&
			file->type.length <= CONTENT_TYPE_BYTES,
		"texts have bounds");
	check(!file->name.length == (file->name_source == CONTENT_NAME_NONE),
		"a name has a source");
	*kept = (struct transcript_file){.named = true,
		.ended = file->elsewhere,
		.begins64 = file->begins64,
		.scattered = file->scattered,
		.hash = 14695981039346656037u,
		.wanted = transcript->want == CONTENT_WANT_DATA};
	put(transcript, "file %u %s %s%s", file->id, half_word(file->half),
		content_name_source_word(file->name_source),
		file->elsewhere ? " elsewhere"
		: file->fields  ? " fields"
				: "");
	put_text(transcript, "name", file->name);
	put(transcript, "%s", file->name_cut ? " cut" : "");
	check(file->n_aliases <= CONTENT_ALIASES_MAX, "aliases have a bound");
	for (unsigned i = 0; i < file->n_aliases; i++) {
		check(file->aliases[i].name.length &&
				file->aliases[i].name.length <= CONTENT_NAME_BYTES,
			"an alias is a name");
		put_text(transcript, "or", file->aliases[i].name);
	}
	put_text(transcript, "path", file->path);
	put_text(transcript, "host", file->host);
	put_text(transcript, "type", file->type);
	put_text(transcript, "user", file->user);
	put_text(transcript, "validator", file->validator);
	check(file->method.length <= CONTENT_METHOD_BYTES &&
			file->agent.length <= CONTENT_AGENT_BYTES,
		"texts of HTTP have bounds");
	put_text(transcript, "agent", file->agent);
	if (file->agent.length && file->method.length) // what says one, says the other
		put(transcript, " %.*s %u", (int)file->method.length, file->method.bytes,
			file->status);
	if (file->size != CONTENT_SIZE_UNKNOWN)
		put(transcript, " size=%llu", (unsigned long long)file->size);
	put_whole(transcript, file);
	if (file->partial)
		put(transcript, " from=%llu", (unsigned long long)file->range_from);
	put(transcript, "\n");
	return transcript->want;
}

// In any order: the sum does not depend on it, nor on how the bytes were cut.
static void put_scattered(
	struct transcript_file *kept, uint64_t at, const uint8_t *bytes, uint32_t length)
{
	for (uint64_t i = kept->end; i < at + length && i < TRANSCRIPT_SHOWN; i++)
		kept->shown[i] = '_';
	for (uint32_t i = 0; i < length; i++) {
		if (at + i < TRANSCRIPT_SHOWN)
			kept->shown[at + i] = bytes[i];
		kept->hash += (at + i + 1) * 1099511628211u * (bytes[i] + 1u);
	}
	kept->came += length;
	if (at + length > kept->end)
		kept->end = at + length;
	kept->lost = kept->came < kept->end ? kept->end - kept->came : 0;
}

static void on_bytes(void *ctx, uint32_t id, uint64_t at, const uint8_t *bytes, uint32_t length)
{
	struct transcript *transcript = ctx;
	struct transcript_file *kept = &transcript->files[id % TRANSCRIPT_FILES];

	check(kept->named && kept->wanted && !kept->ended, "bytes are those of an open file");
	check(length && length <= transcript->budget, "bytes are within the budget");
	check(at >= kept->end || kept->scattered, "offsets rise");
	transcript->budget -= length;
	transcript->told += length;
	if (kept->scattered) {
		put_scattered(kept, at, bytes, length);
		return;
	}
	for (uint64_t i = kept->end; i < at && i < TRANSCRIPT_SHOWN; i++)
		kept->shown[i] = '_';
	kept->lost += at - kept->end;
	for (uint32_t i = 0; i < length; i++) {
		if (at + i < TRANSCRIPT_SHOWN)
			kept->shown[at + i] = bytes[i];
		kept->hash = (kept->hash ^ bytes[i]) * 1099511628211u;
	}
	kept->end = at + length;
}

static void on_id(void *ctx, const struct content_id *id, unsigned half)
{
	char text[CONTENT_ID_TEXT];

	put(ctx, "id %s %s\n", half_word(half), content_id_print(id, text));
}

static void on_end(void *ctx, uint32_t id, enum content_end end, uint64_t ends64)
{
	struct transcript *transcript = ctx;
	struct transcript_file *kept = &transcript->files[id % TRANSCRIPT_FILES];

	check(kept->named && !kept->ended, "a file ends once");
	check(ends64 >= kept->begins64, "a file ends behind its beginning");
	kept->ended = true;
	put(transcript, "end %u %s %llu+%llu", id, content_end_word(end),
		(unsigned long long)kept->begins64, (unsigned long long)(ends64 - kept->begins64));
	if (kept->lost)
		put(transcript, " lost=%llu", (unsigned long long)kept->lost);
	if (kept->end) {
		put(transcript, " ");
		if (kept->end <= TRANSCRIPT_SHOWN)
			put_bytes(transcript, kept->shown, kept->end);
		else
			put(transcript, "(%llu) %016llx", (unsigned long long)kept->end,
				(unsigned long long)kept->hash);
	}
	put(transcript, "\n");
}

// A message stands in one line, however many parts it comes in: its text, where that lies, and
// where its unit does.
static void on_message(void *ctx, const struct content_message *message)
{
	struct transcript *transcript = ctx;
	struct transcript_message *kept = &transcript->messages[message->half];

	check(message->continued == kept->open, "parts of a message follow each other");
	check(message->begins64 <= message->ends64 && message->unit64 <= message->begins64 &&
			message->ends64 <= message->unit_ends64,
		"a text lies in its unit");
	check(!message->verbatim || message->text.length == message->ends64 - message->begins64,
		"a text that is verbatim has its length");
	check(!kept->open || (message->begins64 >= kept->ends64 && message->unit64 == kept->unit64),
		"parts of a message lie behind each other");
	if (!kept->open)
		*kept = (struct transcript_message){
			.begins64 = message->begins64, .unit64 = message->unit64};
	kept->open = message->goes_on;
	kept->ends64 = message->ends64;
	check(message->text.length <= sizeof(kept->text), "a part of a text has a bound");
	// of a text that is longer its beginning is shown
	uint32_t room = (uint32_t)sizeof(kept->text) - kept->length;
	uint32_t here = message->text.length < room ? message->text.length : room;

	if (here)
		memcpy(kept->text + kept->length, message->text.bytes, here);
	kept->length += here;
	if (message->goes_on)
		return;
	put(transcript, "message %s", half_word(message->half));
	put_text(transcript, "from", message->from);
	put_text(transcript, message->to_is_list ? "to*" : "to", message->to);
	put(transcript, " %llu+%llu of %llu+%llu", (unsigned long long)kept->begins64,
		(unsigned long long)(kept->ends64 - kept->begins64),
		(unsigned long long)kept->unit64,
		(unsigned long long)(message->unit_ends64 - kept->unit64));
	if (message->blank != ' ')
		put(transcript, " blank=%02x", message->blank);
	put_text(transcript, "text", (struct content_text){kept->text, kept->length});
	put(transcript, "\n");
}

// Where a word is reported depends on how bytes were cut
// (tests/unit/content/test_content_http_words.c).
static bool on_word(void *ctx, const struct content_word *word)
{
	(void)ctx;
	check(word->half <= HALF_S2C, "words are of a half");
	check(word->kind <= CONTENT_WORD_CODING && word->other, "words are in range");
	return false;
}

static void on_note(void *ctx, enum content_note note, unsigned half, uint64_t at64)
{
	put(ctx, "note %s %s @%llu\n", half_word(half), content_note_word(note),
		(unsigned long long)at64);
}

static void put_address(struct transcript *transcript, const uint8_t address[16])
{
	static const uint8_t any[16], mapped[12] = {[10] = 0xff, 0xff};

	if (!memcmp(address, any, 16))
		put(transcript, "any");
	else if (!memcmp(address, mapped, 12))
		put(transcript, "%u.%u.%u.%u", address[12], address[13], address[14], address[15]);
	else
		for (unsigned i = 0; i < 16; i += 2)
			put(transcript, "%s%x", i ? ":" : "", address[i] << 8 | address[i + 1]);
}

static void put_label(struct transcript *transcript, const struct transfer_label *label)
{
	static const char *const hows[] = {"", " file", " listing", " chat"};
	const char *file = label->file, *user = label->user;

	check(label->what < TRANSFER_WHAT_MAX && label->half <= HALF_S2C, "labels are in range");
	check(!file[TRANSFER_FILE_BYTES - 1] && !user[TRANSFER_USER_BYTES - 1], "texts end");
	put(transcript, "%s", hows[label->what]);
	if (label->what)
		put(transcript, " %s", half_word(label->half));
	put_text(transcript, label->begins_cut ? "..name" : "name",
		(struct content_text){(const uint8_t *)file, (uint32_t)strlen(file)});
	put_text(transcript, "user",
		(struct content_text){(const uint8_t *)user, (uint32_t)strlen(user)});
	if (label->size)
		put(transcript, " size=%llu", (unsigned long long)label->size);
	if (label->range_from)
		put(transcript, " from=%llu", (unsigned long long)label->range_from);
	put(transcript, "%s\n", label->coded ? " coded" : "");
}

static void on_expect(void *ctx, const struct expectation *expectation)
{
	struct transcript *transcript = ctx;

	check(expectation->ttl_s > 0 && expectation->ttl_s <= 300, "an announcement is soon over");
	put(transcript, "%s%s ", expectation->claimed ? "claim " : "",
		expectation->amends ? "amend" : "expect");
	put_address(transcript, expectation->address);
	put(transcript, ":%u from ", expectation->port);
	put_address(transcript, expectation->peer);
	put(transcript, " as %s l4=%u app=%u", expected_as_word(expectation->as),
		expectation->l4_proto, expectation->app);
	put_label(transcript, &expectation->label);
}

static void on_endpoint(void *ctx, const struct learned_endpoint *endpoint)
{
	put(ctx, "endpoint ");
	put_address(ctx, endpoint->address);
	put(ctx, ":%u l4=%u from %s\n", endpoint->port, endpoint->l4_proto,
		learned_from_word(endpoint->from));
}

void transcript_begin(struct transcript *transcript, enum content_want want)
{
	memset(transcript, 0, sizeof(*transcript));
	transcript->want = want;
}

struct content_sink transcript_sink(struct transcript *transcript)
{
	return (struct content_sink){on_asked, on_file, on_id, on_bytes, on_end, on_message,
		on_word, on_note, transcript};
}

struct decoder_sink transcript_others(struct transcript *transcript)
{
	return (struct decoder_sink){
		.expect = on_expect, .endpoint = on_endpoint, .ctx = transcript};
}
