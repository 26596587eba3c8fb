// SPDX-License-Identifier: BSD-3-Clause
// What the parts of the decoder of mails share: the state of one mail.
//
// A step takes bytes of one line at most, and leaves what they decode to in `decoded`. Before the
// next step that is told, as far as the turn's budget goes, so that nothing is decoded ahead of it.
#ifndef SLUICE_CONTENT_MIME_WORK_H
#define SLUICE_CONTENT_MIME_WORK_H

#include <stddef.h>
#include "content/base64.h"
#include "content/charset.h"
#include "content/mime/mime.h"
#include "content/transfer.h"

#define MIME_DEPTH          100  // multiparts inside of each other, as Postfix allows
#define MIME_BOUNDARY_BYTES 200  // RFC 2046 allows 70
#define MIME_BOUNDARIES     3072 // bytes of all boundaries of a place
#define MIME_FIELD_BYTES    6144 // of a field that is read
#define MIME_FIELD_NAME     128
#define MIME_NAMES          (CONTENT_ALIASES_MAX + 1)
#define MIME_NAMES_BYTES    4096
#define MIME_TO_BYTES       1024 // receivers that the mail itself names
#define MIME_STEP           1024 // bytes of a line that are taken at once
#define MIME_STEP_QUOTED    160  // ... of quoted-printable: each escape is a run of its own
#define MIME_DECODED        (MIME_STEP + MIME_BOUNDARY_BYTES + 64)
#define MIME_RUNS           112
#define MIME_INLINE_LINE    1152 // of uuencode and yEnc: a name, and what is before it
#define MIME_INLINE_OUT     1088
#define MIME_BLANKS         64

struct mime_call {
	struct mime *mime;
	struct content_turn *turn;
	const struct mime_about *about;
};

enum mime_encoding {
	MIME_AS_IS, // 7bit, 8bit, binary
	MIME_BASE64,
	MIME_QUOTED,
	MIME_UU,
};

struct mime_name {
	uint16_t at, length; // in `text`
	uint8_t source;      // enum content_name_source
	bool cut;
};

// Names of one part; none twice. The first is the one that is shown.
struct mime_names {
	struct mime_name names[MIME_NAMES];
	uint8_t n;
	bool more; // there are others, or some that cannot be read
	uint16_t used;
	uint8_t text[MIME_NAMES_BYTES];
};

// What the fields of a head say of the part behind it.
struct mime_head {
	uint32_t type_hash, encoding_hash;
	uint8_t encoding; // enum mime_encoding
	uint8_t charset;  // enum text_charset; CHARSET_UNKNOWN: bytes as they are
	bool has_type, has_encoding;
	bool attached; // Content-Disposition: attachment
	uint8_t type_length, boundary_length;
	uint8_t type[CONTENT_TYPE_BYTES]; // in lower case
	uint8_t boundary[MIME_BOUNDARY_BYTES];
	struct mime_names names;
};

enum mime_head_of {
	MIME_HEAD_MAIL,
	MIME_HEAD_WITHIN, // of a mail that is a part
	MIME_HEAD_PART,
};

enum mime_field_part {
	MIME_FIELD_START, // a field may begin, or go on
	MIME_FIELD_NAMED, // in its name
	MIME_FIELD_COLON, // blanks before its colon
	MIME_FIELD_VALUE,
};

// The field at hand: name, colon, value, with its line ends taken out.
struct mime_field {
	uint64_t value64, value_ends64; // in the half, without blanks around
	uint16_t length, value_at;
	uint8_t part; // enum mime_field_part
	bool cut, said;
	bool torn; // as of a text
	uint8_t bytes[MIME_FIELD_BYTES];
};

// It lies in the text's bytes while there is no text.
struct mime_subject {
	uint64_t begins64, ends64;
	uint32_t length; // 0: none
	bool verbatim, torn;
};

struct mime_boundary {
	uint16_t at; // in `boundaries`
	uint8_t length;
	bool closed; // its last delimiter has come
	bool digest;
};

enum mime_line {
	MIME_LINE_BEGINS,
	MIME_LINE_HELD, // it may be a delimiter
	MIME_LINE_GOES_ON,
	MIME_LINE_DELIMITER, // behind it
};

enum mime_eol {
	MIME_EOL_NONE,
	MIME_EOL_LF,
	MIME_EOL_CRLF,
};

struct mime_lines {
	uint64_t eol64, cr64, held64;
	uint64_t alive[2]; // levels whose boundary the held bytes may be
	uint8_t line;      // enum mime_line
	uint8_t eol;       // enum mime_eol: before this line, and not told yet
	uint8_t held_length;
	uint8_t full, full_length; // level + 1 of the longest boundary that the held bytes have
	uint8_t tail;              // of a delimiter: dashes, and then
	bool cr, tail_over, tail_bad;
	uint8_t held[MIME_BOUNDARY_BYTES + 4];
};

struct mime_quoted {
	uint64_t escape64, blanks64;
	uint8_t escape; // characters of an escape that were seen
	uint8_t first;
	uint8_t n_blanks; // that may end the line
	uint8_t blanks[MIME_BLANKS];
};

enum mime_inline_mode {
	MIME_INLINE_TEXT,
	MIME_INLINE_UU,
	MIME_INLINE_PART, // yEnc of several parts: behind =ybegin
	MIME_INLINE_YENC,
};

// A file that stands within a text.
struct mime_inline {
	struct content_raw file;
	uint64_t size;   // that was said of the file; CONTENT_SIZE_UNKNOWN
	uint64_t due;    // bytes that this part of it has; CONTENT_SIZE_UNKNOWN
	uint64_t got;    // that were decoded
	uint64_t ends64; // where it ends, once that is due
	uint8_t mode;    // enum mime_inline_mode
	bool begins;     // the next byte begins a line
	bool escaped;
	bool posted;  // it is a part of the flow's posting
	bool control; // the line at hand may be one of yEnc's keywords
	bool ends;
	uint8_t end;     // enum content_end: then
	bool done;       // uuencode: its last line has come
	bool anew;       // the line at hand begins another one then
	uint16_t length; // of `line`
	uint16_t base;   // ... where the line at hand begins; before it the one that says the name
	uint16_t name, n_name; // in `line`
	uint16_t told, n_out;
	uint8_t line[MIME_INLINE_LINE];
	uint8_t out[MIME_INLINE_OUT];
};

enum mime_html {
	MIME_HTML_NOT,
	MIME_HTML_TEXT,
	MIME_HTML_OPEN, // behind '<'
	MIME_HTML_TAG,
	MIME_HTML_QUOTE, // a value in it
	MIME_HTML_DECLARATION,
	MIME_HTML_COMMENT,
	MIME_HTML_ENTITY,
};

// A text that is told as messages.
struct mime_text {
	struct charset_decoder decoder;
	uint64_t begins64, ends64, unit64;
	uint64_t mark64; // of '<' or '&'
	uint32_t length;
	bool on;
	bool converts; // by the decoder
	bool any;      // something else than blanks was there
	bool told, decoded;
	bool torn;    // bytes of another protocol stand within it
	uint8_t html; // enum mime_html
	bool named;   // the name of the tag is over
	bool equals;
	bool breaks; // a tag has ended the line
	uint8_t quote, dashes, tag_length, entity_length;
	uint8_t tag[8], entity[20];
	uint8_t bytes[CONTENT_TEXT_BYTES];
};

enum mime_part_kind {
	MIME_SKIPPED, // preambles, epilogues
	MIME_FILE,
	MIME_TEXT,
	MIME_BOTH, // readers show it, and store it
};

// The bytes of `decoded` from `at` on come from [from64, to64).
struct mime_run {
	uint64_t from64, to64;
	uint16_t at;
	bool as_is;
};

struct mime {
	struct mime_lines lines;
	uint64_t notes;   // that were told
	uint64_t next64;  // behind what was fed
	uint64_t part64;  // where the part's body begins
	uint64_t ends64;  // where it ends, once that is due
	uint8_t kind;     // enum mime_part_kind
	uint8_t encoding; // enum mime_encoding
	uint8_t head_of;  // enum mime_head_of
	bool in_head;
	bool fed;
	bool again;  // the first byte of the next feed was taken already
	bool ends;   // the part has ended, and was not told to
	bool ending; // so has the mail
	bool over;   // ... and its last part was ended
	bool truncated;
	bool headless; // its body is to begin
	uint8_t n_levels;
	uint16_t boundaries_length;
	uint8_t n_runs;
	uint16_t n_decoded, decoded_at;
	struct content_raw file;
	struct base64_stream base64;
	struct mime_quoted quoted;
	struct mime_inline within;
	struct mime_text text;
	struct mime_head head;
	struct mime_field field;
	struct mime_subject subject;
	struct mime_boundary levels[MIME_DEPTH];
	struct mime_run runs[MIME_RUNS];
	uint8_t from_length;
	bool to_full;
	uint16_t to_length;
	uint8_t from[CONTENT_PARTY_BYTES];
	uint8_t to[MIME_TO_BYTES];
	uint8_t decoded[MIME_DECODED];
	uint8_t boundaries[MIME_BOUNDARIES];
};

// Once for each mail. `at64`: in the half.
void mime_note(const struct mime_call *to, enum content_note note, uint64_t at64);

// lines.c: one step. Bytes that were taken: none only where the next step takes some. `at64`: of
// the first.
uint32_t mime_step(
	const struct mime_call *to, const uint8_t *bytes, uint32_t length, uint64_t at64);
// What is held back at the end of the mail, or of what is here.
void mime_lines_finish(const struct mime_call *to, uint64_t at64);
// False: too deep, or too long together.
bool mime_level_push(const struct mime_call *to, struct content_text boundary, bool digest);

// head.c
void mime_head_begin(const struct mime_call *to, enum mime_head_of of);
// How many were taken; what follows is of the body where the head has ended.
uint32_t mime_head_put(
	const struct mime_call *to, const uint8_t *bytes, uint32_t length, uint64_t at64);
// A line ends at `at64`; `next64`: behind its end.
void mime_head_eol(const struct mime_call *to, enum mime_eol eol, uint64_t at64, uint64_t next64);
void mime_head_leave(const struct mime_call *to);

// field.c: a field that is whole.
void mime_field_take(const struct mime_call *to);
// address.c: who a field names, added to `out` behind a comma; how many bytes it has then. *full:
// there was no room for all.
uint32_t mime_addresses(
	struct content_text value, uint8_t *out, uint32_t length, uint32_t size, bool *full);

// parameter.c: the next parameter of a field's value. `value` is what stands between quotes, with
// its backslashes.
struct mime_parameter {
	struct content_text name, value;
	bool quoted;
};
bool mime_parameter_next(struct content_text *rest, struct mime_parameter *out);
// Backslashes undone; `out` has room for the value.
uint32_t mime_unquote(struct content_text value, uint8_t *out);

// names.c: the names that a value has by the parameter `key`, added.
void mime_names_find(struct mime_names *names, struct content_text value, const char *key);

// part.c
void mime_part_open(const struct mime_call *to, uint64_t begins64);
void mime_part_put(
	const struct mime_call *to, const uint8_t *bytes, uint32_t length, uint64_t at64);
void mime_part_eol(const struct mime_call *to, enum mime_eol eol, uint64_t at64);
// It ends at `at64`: told when what it decoded to is.
void mime_part_finish(const struct mime_call *to, uint64_t at64);
// Adds to `decoded`.
void mime_decoded(const struct mime_call *to, const uint8_t *bytes, uint32_t length,
	const struct mime_run *run);
// Tells what was decoded, and ends that are due. False: the budget ended.
bool mime_tell(const struct mime_call *to);

// quoted.c
void mime_quoted_put(
	const struct mime_call *to, const uint8_t *bytes, uint32_t length, uint64_t at64);
void mime_quoted_eol(const struct mime_call *to, enum mime_eol eol, uint64_t at64);
void mime_quoted_finish(const struct mime_call *to);

// inline.c: uuencode and yEnc in a text.
void mime_inline_begin(const struct mime_call *to);
// How many of the bytes were taken; fewer where something is to be told first.
uint32_t mime_inline_put(const struct mime_call *to, const uint8_t *bytes, uint32_t length,
	const struct mime_run *run);
// False: the budget ended.
bool mime_inline_tell(const struct mime_call *to);
// The text ends, and with it what is in it.
void mime_inline_finish(const struct mime_call *to);
// What was decoded and not told, and the line at hand.
void mime_inline_lose(struct mime_inline *within);
static inline bool mime_inline_waits(const struct mime_inline *within)
{
	return within->told < within->n_out || within->ends;
}

// uu.c: bytes that the line says; -1: it is no line of uuencode.
int mime_uu_line(const uint8_t *line, uint32_t length, uint8_t out[64]);
// "begin MODE NAME". False: it is none.
bool mime_uu_begins(struct content_text line, struct content_text *name);
// yEnc's keywords, "=yWORD KEY=NUMBER ... name=NAME".
bool mime_yenc_is(struct content_text line, const char *word);
bool mime_yenc_number(struct content_text line, const char *key, uint64_t *out);
struct content_text mime_yenc_name(struct content_text line);

// text.c
void mime_text_begin(const struct mime_call *to, bool html);
void mime_text_put(const struct mime_call *to, const uint8_t *bytes, uint32_t length,
	const struct mime_run *run);
void mime_text_flush(const struct mime_call *to);
// `ends64`: of the part, where it is that which ends it; else 0.
void mime_text_end(const struct mime_call *to, uint64_t ends64);
// entity.c: the character that the entity stands for; -1: none that is known.
int32_t mime_entity(const uint8_t *name, uint32_t length);
// The subject of the head at hand, once; nothing, where it has none.
void mime_subject_tell(const struct mime_call *to);

static inline struct content_text mime_from(const struct mime_call *to)
{
	return to->about->from.length
		       ? to->about->from
		       : (struct content_text){to->mime->from, to->mime->from_length};
}

// Bytes of the half behind each other, or all at one place.
static inline uint64_t mime_place(const struct mime_call *to, uint64_t at64, uint32_t offset)
{
	return to->about->coded ? at64 : at64 + offset;
}

#endif
