// SPDX-License-Identifier: BSD-3-Clause
// Files that stand within a text: uuencode, yEnc. The line that begins one is a part of the text,
// as a person reads it; what follows, up to its end, is not.
#include "content/http/text.h"
#include "content/mime/work.h"

#define YENC_SHIFT  42u
#define YENC_ESCAPE 64u // further, of what was escaped
#define OUT_ROOM    64u // a line of uuencode

void mime_inline_begin(const struct mime_call *to)
{
	struct mime_inline *within = &to->mime->within;

	memset(within, 0, offsetof(struct mime_inline, line));
	within->begins = true;
}

static struct content_text line_of(const struct mime_inline *within)
{
	struct content_text line = {
		within->line + within->base, (uint32_t)within->length - within->base};

	while (line.length &&
		(line.bytes[line.length - 1] == '\n' || line.bytes[line.length - 1] == '\r'))
		line.length--;
	return line;
}

// What is longer than there is room for is no line of ours.
static void keep(struct mime_inline *within, const uint8_t *bytes, uint32_t length)
{
	uint32_t room = (uint32_t)sizeof(within->line) - within->length;

	if (length > room)
		length = room;
	memcpy(within->line + within->length, bytes, length);
	within->length += (uint16_t)length;
}

static void forget_line(struct mime_inline *within)
{
	within->length = within->base;
}

// Where a byte of base64 stands is not known.
static uint64_t place_of(const struct mime_call *to, uint64_t at64)
{
	return to->mime->encoding == MIME_BASE64 ? to->mime->part64 : at64;
}

static struct content_file file_of(const struct mime_call *to)
{
	const struct mime_inline *within = &to->mime->within;
	const struct mime_names *names = &to->mime->head.names;
	struct content_file file = {.half = to->about->half,
		.user = mime_from(to),
		.name = {within->line + within->name, within->n_name},
		.size = within->size};

	if (file.name.length > CONTENT_NAME_BYTES) {
		file.name = http_text_from(file.name, file.name.length - CONTENT_NAME_BYTES);
		file.name_cut = true;
	}
	if (file.name.length)
		file.name_source = CONTENT_NAME_HEADER;
	for (unsigned i = 0; i < names->n && i < CONTENT_ALIASES_MAX; i++)
		file.aliases[file.n_aliases++] = (struct content_alias){
			{names->text + names->names[i].at, names->names[i].length},
			names->names[i].source};
	return file;
}

static void begin_file(struct mime_inline *within)
{
	within->got = 0;
	within->done = within->escaped = within->control = within->posted = false;
	within->base = within->length = 0;
}

static void open(const struct mime_call *to, uint64_t begins64, uint64_t from, bool partial)
{
	struct mime_inline *within = &to->mime->within;
	struct content_file file = file_of(to);

	file.range_from = from;
	file.partial = partial;
	content_raw_open(&within->file, to->turn, &file, to->about->files, place_of(to, begins64));
	begin_file(within);
}

static void end_posting(const struct mime_call *to, enum content_end end)
{
	content_placed_end(&to->about->posting->placed, to->turn, end);
}

// The part goes to the file that the parts before it have begun, or begins another one.
static void open_posting(const struct mime_call *to, uint64_t begins64, uint64_t from)
{
	struct mime_inline *within = &to->mime->within;
	struct mime_posting *posting = to->about->posting;
	struct content_file file = file_of(to);
	uint32_t name = 2166136261u;

	for (uint32_t i = 0; i < file.name.length; i++)
		name = (name ^ file.name.bytes[i]) * 16777619u;
	if (posting->name != name || posting->size != within->size ||
		!content_placed_takes(&posting->placed, from, within->due)) {
		end_posting(to, CONTENT_END_TRUNCATED);
		posting->name = name;
		posting->size = within->size;
		content_placed_open(&posting->placed, to->turn, &file, to->about->files,
			place_of(to, begins64), from);
	}
	content_placed_begin(&posting->placed, from, within->due);
	begin_file(within);
	within->posted = true;
}

static void begin_yenc(const struct mime_call *to, struct content_text line, uint64_t next64)
{
	struct mime_inline *within = &to->mime->within;
	const struct content_text name = mime_yenc_name(line);
	uint64_t number;

	within->name = name.length ? (uint16_t)(name.bytes - within->line) : 0;
	within->n_name = (uint16_t)name.length;
	if (mime_yenc_number(line, "size=", &number))
		within->size = within->due = number;
	if (mime_yenc_number(line, "part=", &number)) {
		within->mode = MIME_INLINE_PART;
		within->base = within->length;
		return;
	}
	within->mode = MIME_INLINE_YENC;
	open(to, next64, 0, false);
}

// A line of the text has ended; `next64`: behind it.
static void look_at_line(const struct mime_call *to, uint64_t next64)
{
	struct mime_inline *within = &to->mime->within;
	const struct content_text line = line_of(within);
	struct content_text name;

	within->size = within->due = CONTENT_SIZE_UNKNOWN;
	within->begins = true;
	if (mime_uu_begins(line, &name)) {
		within->name = (uint16_t)(name.bytes - within->line);
		within->n_name = (uint16_t)name.length;
		mime_text_end(to, 0);
		within->mode = MIME_INLINE_UU;
		open(to, next64, 0, false);
	} else if (mime_yenc_is(line, "=ybegin")) {
		mime_text_end(to, 0);
		begin_yenc(to, line, next64);
	} else {
		forget_line(within);
	}
}

static void end_file(const struct mime_call *to, enum content_end end, uint64_t ends64)
{
	struct mime_inline *within = &to->mime->within;

	within->ends = true;
	within->end = (uint8_t)end;
	within->ends64 = place_of(to, ends64);
}

static void take_uu_line(const struct mime_call *to, uint64_t next64)
{
	struct mime_inline *within = &to->mime->within;
	const struct content_text line = line_of(within);

	forget_line(within);
	if (http_is(line, "end")) {
		end_file(to, CONTENT_END_CLOSED, next64);
		return;
	}
	int n = mime_uu_line(line.bytes, line.length, within->out + within->n_out);
	bool bad = n < 0 || (n && within->done);

	if (bad && !(within->done && !http_trim(line).length))
		mime_note(to, CONTENT_NOTE_BAD_ENCODING, place_of(to, next64));
	within->done |= !n;
	if (n > 0)
		within->n_out += (uint16_t)n;
}

// Up to the end of the line, which is kept. *ended: it is here.
static uint32_t take_line(
	struct mime_inline *within, const uint8_t *bytes, uint32_t length, bool *ended)
{
	const uint8_t *lf = memchr(bytes, '\n', length);
	uint32_t n = lf ? (uint32_t)(lf - bytes) + 1 : length;

	keep(within, bytes, n);
	*ended = lf;
	return n;
}

static struct mime_run run_from(const struct mime_run *run, uint32_t offset)
{
	struct mime_run rest = *run;

	if (rest.as_is)
		rest.from64 += offset;
	return rest;
}

static uint64_t behind(const struct mime_run *run, uint32_t n)
{
	return run->as_is ? run->from64 + n : run->to64;
}

static void end_yenc(const struct mime_call *to, uint64_t next64)
{
	const struct mime_inline *within = &to->mime->within;
	bool as_said = within->due == CONTENT_SIZE_UNKNOWN || within->got == within->due;

	end_file(to, as_said ? CONTENT_END_CLOSED : CONTENT_END_ERROR, next64);
}

// One of yEnc's keywords, inside of a file.
static void take_keyword(const struct mime_call *to, uint64_t next64)
{
	struct mime_inline *within = &to->mime->within;
	const struct content_text line = line_of(within);

	within->control = false;
	within->begins = true;
	if (mime_yenc_is(line, "=yend")) {
		end_yenc(to, next64);
	} else if (mime_yenc_is(line, "=ybegin")) {
		end_file(to, CONTENT_END_TRUNCATED, next64);
		within->anew = true;
		return;
	}
	forget_line(within);
}

// What follows =ybegin of a part says where it lies; what is something else is its first line.
static void take_part_line(const struct mime_call *to, uint64_t next64)
{
	struct mime_inline *within = &to->mime->within;
	const struct content_text line = line_of(within);
	uint64_t begin = 0, end = 0;

	within->mode = MIME_INLINE_YENC;
	within->begins = true;
	if (mime_yenc_is(line, "=ypart") && mime_yenc_number(line, "begin=", &begin) && begin &&
		mime_yenc_number(line, "end=", &end) && end >= begin - 1) {
		bool all = begin == 1 && end == within->size;

		within->due = end - (begin - 1);
		if (!all && to->about->posting && within->size != CONTENT_SIZE_UNKNOWN)
			open_posting(to, next64, begin - 1);
		else
			open(to, next64, begin - 1, !all);
		return;
	}
	bool ends = mime_yenc_is(line, "=yend");

	within->due = CONTENT_SIZE_UNKNOWN;
	mime_note(to, CONTENT_NOTE_BAD_ENCODING, place_of(to, next64));
	open(to, next64, 0, true);
	if (ends)
		end_yenc(to, next64);
}

static uint32_t put_part(const struct mime_call *to, const uint8_t *bytes, uint32_t length,
	const struct mime_run *run)
{
	struct mime_inline *within = &to->mime->within;
	bool ended;
	uint32_t n = take_line(within, bytes, length, &ended);

	if (ended)
		take_part_line(to, behind(run, n));
	return n;
}

static void put_yenc_byte(struct mime_inline *within, uint8_t byte)
{
	uint8_t shift = (uint8_t)(YENC_SHIFT + (within->escaped ? YENC_ESCAPE : 0));

	if (byte == '\n')
		within->begins = true;
	if (byte == '\r' || byte == '\n')
		return;
	within->begins = false;
	if (byte == '=' && !within->escaped) {
		within->escaped = true;
		return;
	}
	within->escaped = false;
	// what is more than was said has no place in the file
	if (!within->posted || within->got < within->due)
		within->out[within->n_out++] = (uint8_t)(byte - shift);
	within->got++;
}

// The second byte of a line that begins with '='.
static bool is_keyword(struct mime_inline *within, uint8_t byte)
{
	if (byte == 'y')
		return true;
	within->control = false;
	within->begins = false;
	within->escaped = true;
	forget_line(within);
	return false;
}

static uint32_t put_yenc(const struct mime_call *to, const uint8_t *bytes, uint32_t length,
	const struct mime_run *run)
{
	struct mime_inline *within = &to->mime->within;
	bool ended;
	uint32_t i = 0;

	if (within->control &&
		(within->length > within->base + 1u || is_keyword(within, bytes[0]))) {
		i = take_line(within, bytes, length, &ended);
		if (ended)
			take_keyword(to, behind(run, i));
		return i;
	}
	for (; i < length && within->n_out + OUT_ROOM <= sizeof(within->out); i++) {
		if (within->begins && bytes[i] == '=' && !within->escaped) {
			within->control = true;
			keep(within, bytes + i, 1);
			return i + 1;
		}
		put_yenc_byte(within, bytes[i]);
	}
	return i;
}

static uint32_t put_uu(const struct mime_call *to, const uint8_t *bytes, uint32_t length,
	const struct mime_run *run)
{
	bool ended;
	uint32_t n = take_line(&to->mime->within, bytes, length, &ended);

	if (ended)
		take_uu_line(to, behind(run, n));
	return n;
}

static uint32_t put_text(const struct mime_call *to, const uint8_t *bytes, uint32_t length,
	const struct mime_run *run)
{
	bool ended;
	uint32_t n = take_line(&to->mime->within, bytes, length, &ended);

	mime_text_put(to, bytes, n, run);
	if (ended)
		look_at_line(to, behind(run, n));
	return n;
}

uint32_t mime_inline_put(const struct mime_call *to, const uint8_t *bytes, uint32_t length,
	const struct mime_run *run)
{
	static uint32_t (*const puts[])(const struct mime_call *to, const uint8_t *bytes,
		uint32_t length, const struct mime_run *run) = {
		[MIME_INLINE_TEXT] = put_text,
		[MIME_INLINE_UU] = put_uu,
		[MIME_INLINE_PART] = put_part,
		[MIME_INLINE_YENC] = put_yenc,
	};
	struct mime_inline *within = &to->mime->within;
	uint32_t n = 0;

	while (n < length && !within->ends && within->n_out + OUT_ROOM <= sizeof(within->out)) {
		const struct mime_run rest = run_from(run, n);

		n += puts[within->mode](to, bytes + n, length - n, &rest);
	}
	return n;
}

// What was decoded, or as much as the budget allows.
static void put_out(const struct mime_call *to)
{
	struct mime_inline *within = &to->mime->within;
	const uint8_t *bytes = within->out + within->told;
	uint32_t length = (uint32_t)within->n_out - within->told;
	struct content_raw *raw = within->posted ? &to->about->posting->placed.raw : &within->file;

	within->told += (uint16_t)content_raw_put(raw, to->turn, bytes, length);
}

static void tell_end(const struct mime_call *to)
{
	struct mime_inline *within = &to->mime->within;
	struct mime_posting *posting = to->about->posting;

	if (!within->posted) {
		content_raw_end(&within->file, to->turn, within->end, within->ends64);
		return;
	}
	within->posted = false;
	posting->placed.ends64 = within->ends64;
	if (within->end != CONTENT_END_CLOSED || content_placed_is_whole(&posting->placed))
		end_posting(to, within->end);
}

bool mime_inline_tell(const struct mime_call *to)
{
	struct mime_inline *within = &to->mime->within;

	if (within->told < within->n_out)
		put_out(to);
	if (within->told < within->n_out)
		return false;
	within->told = within->n_out = 0;
	if (!within->ends)
		return true;
	tell_end(to);
	within->ends = false;
	within->mode = MIME_INLINE_TEXT;
	if (within->anew)
		look_at_line(to, within->ends64);
	else
		forget_line(within);
	within->anew = false;
	return true;
}

void mime_inline_finish(const struct mime_call *to)
{
	struct mime_inline *within = &to->mime->within;
	uint64_t ends64 = to->mime->ends64;

	if (within->ends)
		return;
	if (within->mode == MIME_INLINE_UU && within->length)
		take_uu_line(to, ends64);
	else if (within->mode == MIME_INLINE_YENC && within->control && within->length > 1)
		take_keyword(to, ends64);
	within->anew = false;
	if (within->mode == MIME_INLINE_PART)
		within->mode = MIME_INLINE_TEXT;
	if (within->mode != MIME_INLINE_TEXT && !within->ends)
		end_file(to, CONTENT_END_TRUNCATED, ends64);
}

void mime_inline_lose(struct mime_inline *within)
{
	if (within->told < within->n_out)
		within->end = CONTENT_END_TRUNCATED;
	within->told = within->n_out = 0;
	within->control = within->anew = false;
	forget_line(within);
}
