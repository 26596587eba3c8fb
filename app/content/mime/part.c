// SPDX-License-Identifier: BSD-3-Clause
// What a part is by its head: more parts, a mail, a file, a text; and its body through its
// encoding.
#include "content/http/text.h"
#include "content/mime/work.h"

static bool type_is(const struct mime_head *head, const char *type)
{
	return http_is((struct content_text){head->type, head->type_length}, type);
}

static bool type_begins(const struct mime_head *head, const char *type)
{
	return http_begins((struct content_text){head->type, head->type_length}, type);
}

static struct content_file file_of(const struct mime_call *to)
{
	const struct mime_head *head = &to->mime->head;
	const struct mime_names *names = &head->names;
	struct content_file file = {.half = to->about->half,
		.user = mime_from(to),
		.type = {head->type, head->type_length},
		.size = CONTENT_SIZE_UNKNOWN};

	for (unsigned i = 0; i < names->n; i++) {
		const struct mime_name *name = &names->names[i];
		const struct content_text text = {names->text + name->at, name->length};

		if (i)
			file.aliases[file.n_aliases++] = (struct content_alias){text, name->source};
	}
	if (names->n) {
		file.name = (struct content_text){
			names->text + names->names[0].at, names->names[0].length};
		file.name_source = names->names[0].source;
		file.name_cut = names->names[0].cut;
	}
	return file;
}

static void open_file(const struct mime_call *to, uint64_t begins64)
{
	struct content_file file = file_of(to);

	content_raw_open(&to->mime->file, to->turn, &file, to->about->files, begins64);
}

// Readers show it as a mail, and some store it as a file: its parts are told, and its name.
static void open_mail(const struct mime_call *to)
{
	struct mime *mime = to->mime;

	if (mime->head.names.n) {
		struct content_file file = file_of(to);

		file.id = ++*to->about->files;
		file.elsewhere = true;
		to->turn->sink->file(to->turn->sink->ctx, &file);
	}
	mime_head_begin(to, MIME_HEAD_WITHIN);
}

// False: it cannot be taken apart.
static bool open_multipart(const struct mime_call *to)
{
	struct mime *mime = to->mime;
	struct mime_head *head = &mime->head;
	const struct content_text boundary = {head->boundary, head->boundary_length};

	if (head->encoding != MIME_AS_IS) // RFC 2045 section 6.4
		mime_note(to, CONTENT_NOTE_BAD_MULTIPART, mime->part64);
	head->encoding = MIME_AS_IS;
	if (!boundary.length) {
		mime_note(to, CONTENT_NOTE_BAD_MULTIPART, mime->part64);
		return false;
	}
	mime->kind = MIME_SKIPPED;
	mime_level_push(to, boundary, type_is(head, "multipart/digest"));
	return true;
}

static enum mime_part_kind kind_of(const struct mime_call *to)
{
	const struct mime_head *head = &to->mime->head;
	bool shown = !type_begins(head, "text/")
			     ? !memchr(head->type, '/', head->type_length)
			     : type_is(head, "text/plain") || type_is(head, "text/html");

	// RFC 2045 section 5.2: what has no type that is one is text/plain
	shown |= type_begins(head, "multipart/");
	if (!shown || head->attached)
		return MIME_FILE;
	return head->names.n ? MIME_BOTH : MIME_TEXT;
}

static void open_body(const struct mime_call *to)
{
	struct mime *mime = to->mime;

	mime->encoding = mime->head.encoding;
	mime->kind = (uint8_t)kind_of(to);
	mime->base64 = (struct base64_stream){0};
	mime->quoted = (struct mime_quoted){0};
	if (type_is(&mime->head, "message/partial"))
		mime_note(to, CONTENT_NOTE_MAIL_IN_PARTS, mime->part64);
	if (mime->kind != MIME_TEXT && mime->encoding != MIME_UU)
		open_file(to, mime->part64);
	if (mime->kind != MIME_FILE)
		mime_text_begin(to, type_is(&mime->head, "text/html"));
	if (mime->encoding == MIME_UU)
		mime->kind = MIME_TEXT;
	if (mime->kind == MIME_TEXT)
		mime_inline_begin(to);
}

void mime_part_open(const struct mime_call *to, uint64_t begins64)
{
	struct mime *mime = to->mime;
	struct mime_head *head = &mime->head;
	bool in_digest = mime->head_of == MIME_HEAD_PART && mime->n_levels &&
			 mime->levels[mime->n_levels - 1].digest;

	mime->part64 = begins64;
	mime_subject_tell(to);
	if (head->names.more)
		mime_note(to, CONTENT_NOTE_TWO_NAMES, begins64);
	if (type_begins(head, "multipart/") && open_multipart(to))
		return;
	if (head->encoding == MIME_AS_IS &&
		(type_is(head, "message/rfc822") || type_is(head, "message/global") ||
			type_is(head, "message/news") || (in_digest && !head->has_type))) {
		open_mail(to);
		return;
	}
	open_body(to);
}

void mime_decoded(const struct mime_call *to, const uint8_t *bytes, uint32_t length,
	const struct mime_run *run)
{
	struct mime *mime = to->mime;
	struct mime_run *last = mime->n_runs ? &mime->runs[mime->n_runs - 1] : NULL;

	if (length > sizeof(mime->decoded) - mime->n_decoded)
		length = (uint32_t)(sizeof(mime->decoded) - mime->n_decoded);
	if (!length)
		return;
	if (last && last->as_is && run->as_is && last->to64 == run->from64) {
		last->to64 = run->to64;
	} else if (mime->n_runs == MIME_RUNS) {
		last->to64 = run->to64;
		last->as_is = false;
	} else {
		mime->runs[mime->n_runs] = *run;
		mime->runs[mime->n_runs++].at = mime->n_decoded;
	}
	memcpy(mime->decoded + mime->n_decoded, bytes, length);
	mime->n_decoded += (uint16_t)length;
}

static void put_as_is(
	const struct mime_call *to, const uint8_t *bytes, uint32_t length, uint64_t at64)
{
	const struct mime_run run = {
		.from64 = at64, .to64 = mime_place(to, at64, length), .as_is = !to->about->coded};

	mime_decoded(to, bytes, length, &run);
}

static void put_base64(
	const struct mime_call *to, const uint8_t *bytes, uint32_t length, uint64_t at64)
{
	struct mime *mime = to->mime;
	const struct mime_run run = {.from64 = at64, .to64 = mime_place(to, at64, length)};
	uint8_t out[MIME_STEP];

	while (length) {
		uint32_t taken,
			n = base64_decode(&mime->base64, bytes, length, &taken, out, sizeof(out));

		mime_decoded(to, out, n, &run);
		bytes += taken;
		length -= taken;
	}
	if (mime->base64.foreign || mime->base64.behind)
		mime_note(to, CONTENT_NOTE_BAD_ENCODING, mime->part64);
}

// Whether anybody wants what the part decodes to.
static bool is_read(const struct mime *mime)
{
	return mime->kind != MIME_SKIPPED && !(mime->kind == MIME_FILE && !mime->file.wanted);
}

void mime_part_put(const struct mime_call *to, const uint8_t *bytes, uint32_t length, uint64_t at64)
{
	if (!is_read(to->mime))
		return;
	switch (to->mime->encoding) {
	case MIME_BASE64: put_base64(to, bytes, length, at64); break;
	case MIME_QUOTED: mime_quoted_put(to, bytes, length, at64); break;
	default: put_as_is(to, bytes, length, at64); break;
	}
}

void mime_part_eol(const struct mime_call *to, enum mime_eol eol, uint64_t at64)
{
	static const uint8_t crlf[] = {'\r', '\n'};

	if (!is_read(to->mime))
		return;
	switch (to->mime->encoding) {
	case MIME_BASE64: break;
	case MIME_QUOTED: mime_quoted_eol(to, eol, at64); break;
	default:
		put_as_is(to, eol == MIME_EOL_CRLF ? crlf : crlf + 1, eol == MIME_EOL_CRLF ? 2 : 1,
			at64);
		break;
	}
}

void mime_part_finish(const struct mime_call *to, uint64_t at64)
{
	struct mime *mime = to->mime;
	const struct mime_run run = {.from64 = at64, .to64 = at64};
	uint8_t last[2];

	mime->ends = true;
	mime->ends64 = at64;
	if (!is_read(mime))
		return;
	if (mime->encoding == MIME_BASE64) {
		if (mime->base64.digits) // no padding ends it
			mime_note(to, CONTENT_NOTE_BAD_ENCODING, mime->part64);
		mime_decoded(to, last, base64_finish(&mime->base64, last), &run);
	} else if (mime->encoding == MIME_QUOTED) {
		mime_quoted_finish(to);
	}
}

static const struct mime_run *run_at(const struct mime *mime, struct mime_run *out)
{
	unsigned i = mime->n_runs;

	while (i > 1 && mime->runs[i - 1].at > mime->decoded_at)
		i--;
	*out = mime->runs[i - 1];
	if (out->as_is)
		out->from64 += mime->decoded_at - out->at;
	return out;
}

static uint32_t run_length(const struct mime *mime, const struct mime_run *run)
{
	for (unsigned i = 0; i < mime->n_runs; i++)
		if (mime->runs[i].at > run->at)
			return mime->runs[i].at - mime->decoded_at;
	return mime->n_decoded - (uint32_t)mime->decoded_at;
}

// One run of what was decoded, or a part of it. How much was told.
static uint32_t tell_run(const struct mime_call *to)
{
	struct mime *mime = to->mime;
	const uint8_t *bytes = mime->decoded + mime->decoded_at;
	struct mime_run run;
	uint32_t length = run_length(mime, run_at(mime, &run));

	if (mime->kind == MIME_TEXT)
		return mime_inline_put(to, bytes, length, &run);
	length = content_raw_put(&mime->file, to->turn, bytes, length);
	if (mime->kind == MIME_BOTH && length)
		mime_text_put(to, bytes, length, &run);
	return length;
}

// All that it decoded to was told. False: there was more in it, and the budget ended.
static bool end_part(const struct mime_call *to)
{
	struct mime *mime = to->mime;
	enum content_end end = mime->truncated ? CONTENT_END_TRUNCATED : CONTENT_END_CLOSED;

	if (mime->kind == MIME_TEXT)
		mime_inline_finish(to);
	if (!mime_inline_tell(to))
		return false;
	content_raw_end(&mime->file, to->turn, end, mime->ends64);
	if (mime->kind == MIME_TEXT || mime->kind == MIME_BOTH)
		mime_text_end(to, mime->ends64);
	mime->kind = MIME_SKIPPED;
	mime->encoding = MIME_AS_IS;
	mime->ends = false;
	return true;
}

bool mime_tell(const struct mime_call *to)
{
	struct mime *mime = to->mime;

	while (mime_inline_tell(to) && mime->decoded_at < mime->n_decoded) {
		uint32_t n = tell_run(to);

		mime->decoded_at += (uint16_t)n;
		if (!n && !mime_inline_waits(&mime->within))
			return false;
	}
	if (mime->decoded_at < mime->n_decoded || mime_inline_waits(&mime->within))
		return false;
	mime->decoded_at = mime->n_decoded = mime->n_runs = 0;
	return !mime->ends || end_part(to);
}
