// SPDX-License-Identifier: BSD-3-Clause
// The form of texts and names. Code points go through two buffers, each of a base character and
// its marks: `marks` orders those of the canonical decomposition; what they fold to is ordered and
// composed in `run`. (In one step U+0345, a mark that folds to the letter iota, would make one form
// of "alpha, acute, iota subscript" and another of "alpha, iota subscript, acute".)
#include "content/name_text.h"

#include <utf8proc.h>

#define MARKS_MAX     30
#define CANONICAL_MAX 8  // code points of a canonical decomposition; 4 is the most
#define FOLDED_MAX    32 // of a compatibility decomposition; 18 is the most

// A base character, or none, and combining marks by class.
struct run {
	int32_t points[1 + MARKS_MAX];
	uint8_t classes[1 + MARKS_MAX]; // of a base: 0
	uint8_t n, n_marks;
	struct content_range at; // what it was made of
};

struct form {
	struct run marks, run;
	struct content_range at; // in the source, of what is being added
	void (*put)(void *ctx, int32_t point);
	void *ctx;
};

static bool is_white(int32_t point)
{
	return (point >= 9 && point <= 0xd) || point == ' ' || point == 0x85 || point == 0xa0 ||
	       point == 0x1680 || (point >= 0x2000 && point <= 0x200a) || point == 0x2028 ||
	       point == 0x2029 || point == 0x202f || point == 0x205f || point == 0x3000;
}

// Default_Ignorable_Code_Point, of unassigned code points, too; and Cc.
static bool is_left_out(int32_t point)
{
	const utf8proc_property_t *property;

	if (point < 0x80)
		return point < ' ' || point == 0x7f;
	property = utf8proc_get_property(point);
	return property->ignorable || property->category == UTF8PROC_CATEGORY_CC ||
	       point == 0x2065 || (point >= 0xfff0 && point <= 0xfff8) ||
	       (point >= 0xe0000 && point <= 0xe0fff);
}

static uint8_t class_of(int32_t point)
{
	return point < 0x80 ? 0 : (uint8_t)utf8proc_get_property(point)->combining_class;
}

// At its place by class, behind those of the same.
static void insert_mark(
	struct run *run, int32_t point, uint8_t class, const struct content_range *bytes)
{
	unsigned at = run->n;

	if (!run->n)
		run->at.from = bytes->from;
	run->at.to = bytes->to;
	if (run->n_marks == MARKS_MAX)
		return;
	for (; at > 0 && run->classes[at - 1] > class; at--) {
		run->points[at] = run->points[at - 1];
		run->classes[at] = run->classes[at - 1];
	}
	run->points[at] = point;
	run->classes[at] = class;
	run->n++;
	run->n_marks++;
}

static void begin_run(struct run *run, int32_t base, const struct content_range *bytes)
{
	run->at = *bytes;
	run->points[0] = base;
	run->classes[0] = 0;
	run->n = 1;
	run->n_marks = 0;
}

static unsigned compose(int32_t *points, unsigned n)
{
	const utf8proc_option_t options = UTF8PROC_COMPOSE | UTF8PROC_STABLE;

	return n < 2 ? n : (unsigned)utf8proc_normalize_utf32(points, n, options);
}

static void end_run(struct form *form)
{
	unsigned n = compose(form->run.points, form->run.n);

	for (unsigned i = 0; i < n; i++)
		form->put(form->ctx, form->run.points[i]);
	form->run.n = form->run.n_marks = 0;
}

// A folded code point behind those before it.
static void add_folded(struct form *form, int32_t point)
{
	struct run *run = &form->run;
	uint8_t class = class_of(point);

	if (class) {
		insert_mark(run, point, class, &form->at);
		return;
	}
	if (point == ' ' && run->n == 1 && run->points[0] == ' ') {
		run->at.to = form->at.to;
		return;
	}
	// two bases that compose: vowels of Indic scripts, Hangul
	if (point >= 0x300 && run->n) {
		run->n = (uint8_t)compose(run->points, run->n);
		int32_t pair[2] = {run->points[0], point};

		if (run->n == 1 && compose(pair, 2) == 1) {
			begin_run(run, pair[0], &(struct content_range){run->at.from, form->at.to});
			return;
		}
	}
	end_run(form);
	begin_run(run, point, &form->at);
}

static void fold(struct form *form, int32_t point)
{
	const utf8proc_option_t options = UTF8PROC_COMPAT | UTF8PROC_CASEFOLD | UTF8PROC_DECOMPOSE |
					  UTF8PROC_IGNORE | UTF8PROC_STABLE;
	int32_t points[FOLDED_MAX];
	int boundary = 0;

	if (point < 0x80) {
		add_folded(form, point >= 'A' && point <= 'Z' ? point | 0x20 : point);
		return;
	}
	long n = utf8proc_decompose_char(point, points, FOLDED_MAX, options, &boundary);

	for (long i = 0; i < n && i < FOLDED_MAX; i++)
		add_folded(form, points[i]);
}

static void end_marks(struct form *form)
{
	struct content_range at = form->at;

	form->at = form->marks.at;
	for (unsigned i = 0; i < form->marks.n; i++)
		fold(form, form->marks.points[i]);
	form->marks.n = form->marks.n_marks = 0;
	form->at = at;
}

static void form_point(struct form *form, int32_t point)
{
	const utf8proc_option_t options = UTF8PROC_DECOMPOSE | UTF8PROC_STABLE;
	int32_t points[CANONICAL_MAX] = {point};
	int boundary = 0;
	long n = 1;

	if (is_white(point))
		points[0] = point = ' ';
	else if (is_left_out(point))
		return;
	if (point >= 0x80)
		n = utf8proc_decompose_char(point, points, CANONICAL_MAX, options, &boundary);
	for (long i = 0; i < n && i < CANONICAL_MAX; i++) {
		uint8_t class = class_of(points[i]);

		if (class) {
			insert_mark(&form->marks, points[i], class, &form->at);
		} else {
			end_marks(form);
			fold(form, points[i]);
		}
	}
}

// All of `source` into the form, until *stop.
static void form_all(
	struct form *form, enum text_charset charset, struct text_source *source, const bool *stop)
{
	struct charset_decoder decoder;
	int32_t points[2];
	unsigned n;
	int byte;

	charset_begin(&decoder, charset == CHARSET_GUESS ? charset_guess(source) : charset);
	while (!*stop && (byte = text_source_next(source)) >= 0) {
		n = charset_push(&decoder, (uint8_t)byte, points);
		form->at.to = source->at;
		for (unsigned i = 0; i < n; i++)
			form_point(form, points[i]);
		if (n)
			form->at.from = source->at;
	}
	n = charset_end(&decoder, points);
	for (unsigned i = 0; i < n; i++)
		form_point(form, points[i]);
	end_marks(form);
	end_run(form);
}

struct text_writer {
	struct text_out out;
	bool cut;
};

static void put_text(void *ctx, int32_t point)
{
	struct text_writer *writer = ctx;

	text_out_put(&writer->out, point);
	writer->cut = text_is_cut(&writer->out);
}

uint32_t text_normalize(enum text_charset charset, const uint8_t *bytes, uint32_t length,
	uint8_t *out, uint32_t size, bool *cut)
{
	struct text_writer writer = {.out = {.bytes = out, .size = size}};
	struct text_source source = {.bytes = bytes, .length = length};
	struct form form = {.put = put_text, .ctx = &writer};

	form_all(&form, charset, &source, &writer.cut);
	*cut = writer.cut;
	return writer.out.written;
}

struct origin_writer {
	const struct form *writes;
	const struct content_range *form;
	struct content_range *raw;
	unsigned at, n; // ranges; those before `at` have ended
	uint32_t length;
	bool done;
};

static void put_origin(void *ctx, int32_t point)
{
	struct origin_writer *writer = ctx;
	const struct content_range *bytes = &writer->writes->run.at;
	uint32_t from = writer->length;

	writer->length += point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
	for (unsigned i = writer->at; i < writer->n && writer->form[i].from < writer->length; i++) {
		if (writer->form[i].from >= from)
			writer->raw[i].from = bytes->from;
		writer->raw[i].to = bytes->to;
		if (writer->form[i].to <= writer->length)
			writer->at = i + 1;
	}
	writer->done = writer->at == writer->n;
}

void text_origin(enum text_charset charset, const uint8_t *bytes, uint32_t length,
	const struct content_range *form, struct content_range *raw, unsigned n)
{
	struct origin_writer writer = {.form = form, .raw = raw, .n = n, .done = !n};
	struct text_source source = {.bytes = bytes, .length = length};
	struct form all = {.put = put_origin, .ctx = &writer};

	writer.writes = &all;
	for (unsigned i = 0; i < n; i++)
		raw[i] = (struct content_range){length, length};
	form_all(&all, charset, &source, &writer.done);
}

static const char stream[] = "::$data";

// What may have to go from a component's end is written, and taken back when the end comes. While
// only such characters are beyond the room nothing is known to be missing.
struct name_writer {
	struct text_out out;
	uint64_t kept;    // of out.length: what no end of the component can take back
	unsigned matched; // characters of `stream` at the end
	bool cut;
};

static void end_component(struct name_writer *writer)
{
	struct text_out *out = &writer->out;

	if (writer->matched) // a part of it is a part of the name
		writer->kept = out->length;
	writer->matched = 0;
	writer->cut = writer->kept > out->size;
	if (writer->cut)
		return;
	out->length = writer->kept;
	out->written = (uint32_t)writer->kept;
}

static void put_name(void *ctx, int32_t point)
{
	struct name_writer *writer = ctx;
	struct text_out *out = &writer->out;

	if (writer->cut)
		return;
	if (point == '/' || point == '\\') {
		end_component(writer);
		text_out_put(out, '/');
		writer->kept = out->length;
	} else if (point == stream[writer->matched]) {
		text_out_put(out, point);
		writer->matched = (writer->matched + 1) % (sizeof(stream) - 1);
	} else if (point == ':' && writer->matched == 2) { // the last two of three
		writer->kept = out->length - 1;
		text_out_put(out, point);
	} else {
		if (writer->matched)
			writer->kept = out->length;
		text_out_put(out, point);
		writer->matched = point == ':';
		if (point != ':' && point != ' ' && point != '.')
			writer->kept = out->length;
	}
	writer->cut |= writer->kept > out->size;
}

uint32_t name_normalize(enum text_charset charset, const uint8_t *bytes, uint32_t length,
	uint8_t *out, uint32_t size, bool *cut)
{
	struct name_writer writer = {.out = {.bytes = out, .size = size}};
	struct text_source source = {.bytes = bytes, .length = length};
	struct form form = {.put = put_name, .ctx = &writer};
	bool is_wide;

	if (charset == CHARSET_GUESS) {
		source.percent = true;
		charset = charset_guess(&source);
	}
	is_wide = charset == CHARSET_UTF16 || charset == CHARSET_UTF16LE ||
		  charset == CHARSET_UTF16BE;
	source.percent = !is_wide;
	form_all(&form, charset, &source, &writer.cut);
	if (!writer.cut)
		end_component(&writer);
	*cut = writer.cut;
	return writer.out.written;
}

struct name_parts name_split(const uint8_t *name, uint32_t length)
{
	struct name_parts parts = {0};
	uint32_t at = length;

	while (at > 0 && name[at - 1] != '/')
		at--;
	parts.base = at;
	parts.base_length = length - at;
	parts.extension = length;
	for (at = length; at > parts.base; at--)
		if (name[at - 1] == '.') {
			parts.extension = at;
			parts.extension_length = length - at;
			break;
		}
	return parts;
}
