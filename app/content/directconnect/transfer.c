// SPDX-License-Identifier: BSD-3-Clause
// Transfers between clients: what is asked for, what is about to come, and its bytes.
//
// A request names a file by the root of its hash tree ("TTH/..."), or by its path; the answer to
// $ADCGET and GET repeats it with the length that follows, $FileLength and $Sending do not. What
// comes is a part of the file unless it is known to reach from its beginning to its end: programs
// ask for parts whose ends are multiples of 64 KiB (leaves of the tree), or with -1 for the rest.
#include "content/directconnect/session.h"
#include "content/http/text.h"

#define PART_BYTES   (64u << 10)
#define UNPACK_BYTES 4096u

struct dc_parameters {
	struct content_text type, name; // unescaped, in `buffer`
	struct content_text tth;        // digits behind "TTH/"
	uint64_t from, bytes;
	bool packed;
	bool good;
	uint8_t buffer[DC_LINE_BYTES];
};

static void read_parameters(struct content_text rest, struct dc_parameters *read)
{
	struct content_text from = {NULL, 0}, bytes = {NULL, 0}, word;

	read->tth = (struct content_text){NULL, 0};
	read->packed = false;
	read->good = dc_word(&rest, &read->type) && dc_word(&rest, &read->name) &&
		     dc_word(&rest, &from) && dc_word(&rest, &bytes);
	if (!read->good)
		return;
	read->name = (struct content_text){read->buffer, dc_unescape(read->name, read->buffer)};
	if (http_begins(read->name, "tth/"))
		read->tth = http_text_from(read->name, 4);
	read->good = http_number(from, &read->from) && dc_number(bytes, &read->bytes);
	while (dc_word(&rest, &word))
		read->packed |= http_is(word, "zl1");
}

static bool is_file(const struct dc_parameters *read)
{
	return http_is(read->type, "file") || http_is(read->type, "list");
}

// A root is no name.
static struct content_file describe(const struct dc_parameters *read)
{
	struct content_text none = {NULL, 0};
	struct content_file file = content_file_of_path(read->name, none);

	if (read->tth.length) {
		file.name = none;
		file.name_source = CONTENT_NAME_NONE;
		file.path = read->name;
	}
	return file;
}

void dc_asked(const struct dc_line *line, struct content_text parameters)
{
	struct dc_half *half = &line->state->halves[line->half];
	const struct content_sink *sink = line->turn->sink;
	struct dc_parameters read;
	struct content_whole whole = {.size = CONTENT_SIZE_UNKNOWN};

	half->to_end = false;
	read_parameters(parameters, &read);
	if (!read.good || !is_file(&read))
		return;
	struct content_file file = describe(&read);
	bool has_tth = dc_tth(read.tth, &whole.id);

	half->to_end = read.bytes == CONTENT_SIZE_UNKNOWN;
	half->asked = read.from;
	if (has_tth)
		sink->id(sink->ctx, &whole.id, line->half);
	file.half = (uint8_t)!line->half;
	file.whole = has_tth ? &whole : NULL;
	file.range_from = read.from;
	file.partial = read.from;
	sink->asked(sink->ctx, &file);
}

// The file that the half is about to send; its bytes begin behind the line.
static enum content_fed open_file(const struct dc_line *line, unsigned sender,
	struct content_file *file, uint64_t bytes, bool packed)
{
	struct dc_half *half = &line->state->halves[sender];
	uint64_t at64 = sender == line->half ? line->next64 : line->state->streams[sender].at64;
	struct coding *coding = NULL;

	if (packed) {
		coding = coding_open(line->turn->memory, CODING_DEFLATE);
		if (!coding)
			return CONTENT_NO_MEMORY;
	}
	half->file = (struct dc_file){.coding = coding, .begins64 = at64, .left = bytes};
	half->mode = packed ? DC_PACKED : DC_BYTES;
	if (file) {
		file->half = (uint8_t)sender;
		content_raw_open(&half->file.raw, line->turn, file, &line->state->files, at64);
	}
	if (!packed && !bytes) {
		dc_file_end(line->state, sender, line->turn, CONTENT_END_CLOSED, at64);
		half->mode = DC_LINES;
	}
	return CONTENT_FED;
}

// The file's end is known by the request for all of it, or as no part ends there.
static uint64_t size_of(const struct dc_line *line, const struct dc_parameters *read)
{
	const struct dc_half *asks = &line->state->halves[!line->half];
	uint64_t end = read->from + read->bytes;

	return (asks->to_end && asks->asked == read->from) || end % PART_BYTES
		       ? end
		       : CONTENT_SIZE_UNKNOWN;
}

enum content_fed dc_sends(const struct dc_line *line, struct content_text parameters)
{
	struct dc_half *half = &line->state->halves[line->half];
	struct dc_parameters read;
	struct content_whole whole;

	read_parameters(parameters, &read);
	// RFC 9110's bound: nobody has a file that is longer
	if (!read.good || read.bytes > INT64_MAX - read.from) {
		dc_note(line, CONTENT_NOTE_BAD_LENGTH);
		half->mode = DC_LOST;
		return CONTENT_FED;
	}
	struct content_file file = describe(&read);

	file.size = http_is(read.type, "list") ? read.from + read.bytes : size_of(line, &read);
	file.range_from = read.from;
	file.partial = read.from || file.size == CONTENT_SIZE_UNKNOWN;
	// Only the last part knows the size: the parts of a file are the same one's without it.
	whole = (struct content_whole){.size = file.partial ? CONTENT_SIZE_UNKNOWN : file.size};
	if (dc_tth(read.tth, &whole.id))
		file.whole = &whole;
	return open_file(line, line->half, is_file(&read) ? &file : NULL, read.bytes, read.packed);
}

void dc_wish_drop(struct dc_half *half, struct content_memory *memory)
{
	content_give(memory, half->wish.name);
	half->wish = (struct dc_wish){0};
}

enum content_fed dc_wishes(const struct dc_line *line, const struct dc_wanted *wanted)
{
	struct dc_half *half = &line->state->halves[line->half];
	const struct content_sink *sink = line->turn->sink;
	struct content_text name = wanted->name, none = {NULL, 0};

	if (!half->wish.name)
		half->wish.name = content_take(line->turn->memory, CONTENT_NAME_BYTES);
	if (!half->wish.name)
		return CONTENT_NO_MEMORY;
	half->wish.name_cut = name.length > CONTENT_NAME_BYTES;
	if (half->wish.name_cut)
		name = http_text_from(name, name.length - CONTENT_NAME_BYTES);
	if (name.length)
		memcpy(half->wish.name, name.bytes, name.length);
	half->wish.length = name.length;
	half->wish.from = wanted->from;
	half->wish.bytes = wanted->bytes;
	half->wish.packed = wanted->packed;
	struct content_file file = content_file_of_path(name, none);

	file.half = (uint8_t)!line->half;
	file.partial = wanted->from;
	file.range_from = wanted->from;
	sink->asked(sink->ctx, &file);
	return CONTENT_FED;
}

enum content_fed dc_grants(
	const struct dc_line *line, unsigned sender, uint64_t bytes, uint64_t size)
{
	struct dc_half *asks = &line->state->halves[!sender];
	const struct dc_wish *wish = &asks->wish;
	struct content_text none = {NULL, 0};
	struct content_file file =
		content_file_of_path((struct content_text){wish->name, wish->length}, none);

	file.name_cut |= wish->name_cut && !file.path.length;
	file.size = size;
	file.range_from = wish->from;
	file.partial = wish->from || size == CONTENT_SIZE_UNKNOWN;
	enum content_fed fed = open_file(line, sender, &file, bytes, wish->packed);

	if (fed == CONTENT_FED)
		dc_wish_drop(asks, line->turn->memory);
	return fed;
}

void dc_file_end(struct dc_state *state, unsigned half, struct content_turn *turn,
	enum content_end end, uint64_t ends64)
{
	struct dc_file *file = &state->halves[half].file;

	content_raw_end(&file->raw, turn, end, ends64);
	coding_close(file->coding);
	*file = (struct dc_file){0};
}

static enum content_fed put_plain(struct dc_state *state, unsigned half, struct content_turn *turn,
	const uint8_t *bytes, uint32_t length, uint32_t *taken)
{
	struct dc_file *file = &state->halves[half].file;
	uint32_t here = file->left < length ? (uint32_t)file->left : length;
	uint32_t n = content_raw_put(&file->raw, turn, bytes, here);

	*taken += n;
	file->left -= n;
	if (n < here)
		return CONTENT_MORE;
	if (!file->left) {
		dc_file_end(
			state, half, turn, CONTENT_END_CLOSED, state->streams[half].at64 + *taken);
		state->halves[half].mode = DC_LINES;
	}
	return CONTENT_FED;
}

// What was unpacked; more than was to come is nobody's.
static void put_unpacked(
	struct dc_file *file, struct content_turn *turn, const uint8_t *bytes, uint32_t length)
{
	const struct content_sink *sink = turn->sink;

	if (file->raw.wanted && length) {
		sink->bytes(sink->ctx, file->raw.id, file->raw.at, bytes, length);
		turn->output -= length;
	}
	file->raw.at += length;
	file->left -= length;
}

// The stream has ended, or is not what was announced.
static void end_packed(struct dc_state *state, unsigned half, struct content_turn *turn, bool good,
	uint64_t ends64)
{
	const struct content_sink *sink = turn->sink;
	uint64_t begins64 = state->halves[half].file.begins64;

	if (!good)
		sink->note(sink->ctx, CONTENT_NOTE_CODING_LIES, half, begins64);
	dc_file_end(state, half, turn, good ? CONTENT_END_CLOSED : CONTENT_END_ERROR,
		good ? ends64 : begins64);
	state->halves[half].mode = good ? DC_LINES : DC_LOST;
}

static enum content_fed put_packed(struct dc_state *state, unsigned half, struct content_turn *turn,
	const uint8_t *bytes, uint32_t length, uint32_t *taken)
{
	struct dc_file *file = &state->halves[half].file;
	uint8_t out[UNPACK_BYTES];
	uint32_t from = 0;

	for (;;) {
		// one byte more than is to come shows a stream that goes on
		uint64_t most = file->left < UNPACK_BYTES ? file->left + 1 : UNPACK_BYTES;
		bool all = !file->raw.wanted || most < turn->output;
		uint32_t room = all ? (uint32_t)most : turn->output;
		uint32_t in = length - from, told = room;

		file->waits = !room;
		if (!room)
			return CONTENT_MORE;
		enum coding_state now =
			coding_feed(file->coding, bytes + from, &in, out, &told, false);
		bool more = told > file->left;

		from += in;
		*taken += in;
		put_unpacked(file, turn, out, more ? (uint32_t)file->left : told);
		if (more || now == CODING_END || now != CODING_GOES_ON) {
			end_packed(state, half, turn, !more && now == CODING_END && !file->left,
				state->streams[half].at64 + *taken);
			return CONTENT_FED;
		}
		if (told < room && from == length)
			return CONTENT_FED;
	}
}

enum content_fed dc_file_put(struct dc_state *state, unsigned half, struct content_turn *turn,
	const uint8_t *bytes, uint32_t length, uint32_t *taken)
{
	if (state->halves[half].mode == DC_PACKED)
		return put_packed(state, half, turn, bytes, length, taken);
	return put_plain(state, half, turn, bytes, length, taken);
}

uint64_t dc_file_lose(
	struct dc_state *state, unsigned half, struct content_turn *turn, uint64_t length)
{
	struct dc_half *of = &state->halves[half];
	uint64_t lost = length < of->file.left ? length : of->file.left;

	if (of->mode == DC_PACKED) {
		dc_file_end(state, half, turn, CONTENT_END_TRUNCATED, of->file.begins64);
		of->mode = DC_LOST;
		return length;
	}
	content_raw_lose(&of->file.raw, lost);
	of->file.left -= lost;
	if (!of->file.left) {
		dc_file_end(
			state, half, turn, CONTENT_END_CLOSED, state->streams[half].at64 + lost);
		of->mode = DC_LINES;
	}
	return lost;
}

// ---- results of searches ----

void dc_found(const struct dc_line *line, const struct dc_result *result)
{
	const struct content_sink *sink = line->turn->sink;
	struct content_whole whole = {.size = result->size};
	struct content_file file = content_file_of_path(result->path, result->user);

	if (!file.name.length) // a folder
		return;
	if (dc_tth(result->tth, &whole.id)) {
		file.whole = &whole;
		sink->id(sink->ctx, &whole.id, line->half);
	}
	file.id = ++line->state->files;
	file.half = (uint8_t)line->half;
	file.name_source = CONTENT_NAME_OFFER;
	file.elsewhere = true;
	file.size = result->size;
	file.begins64 = line->begins64;
	sink->file(sink->ctx, &file);
}

void dc_sought(const struct dc_line *line, struct content_text tth)
{
	const struct content_sink *sink = line->turn->sink;
	struct content_id id;

	if (dc_tth(tth, &id))
		sink->id(sink->ctx, &id, line->half);
}
