// SPDX-License-Identifier: BSD-3-Clause
// What the parts of the decoder share: the state of a connection, and of a line that is read.
#ifndef SLUICE_CONTENT_DC_SESSION_H
#define SLUICE_CONTENT_DC_SESSION_H

#include "content/coding.h"
#include "content/stream.h"
#include "content/transfer.h"

#define DC_LINE_BYTES CONTENT_TEXT_BYTES // of a line that is looked at
#define DC_NICKS      64                 // of a hub of ADC that are remembered
#define DC_NICK_BYTES 27

// What its lines look like.
enum dc_dialect {
	DC_UNKNOWN,
	DC_NMDC, // "$Command parameters|", "<nick> text|"
	DC_ADC,  // "FCMD parameters\n"
};

// What a half's sender takes the connection for, by its own words: an end that would have another
// one's files or messages passed over can say nothing for it.
enum dc_role {
	DC_ROLE_UNKNOWN,
	DC_ROLE_HUB,    // a client and a hub: chat, searches
	DC_ROLE_CLIENT, // two clients: transfers
};

enum dc_mode {
	DC_LINES,
	DC_AWAITS, // the other end is to say $Send
	DC_BYTES,  // of a file
	DC_PACKED, // of a file, in one stream of zlib
	DC_LOST,   // where its lines go on is not known
};

// What a half is sending.
struct dc_file {
	struct content_raw raw; // raw.id 0: nobody's file
	struct coding *coding;
	uint64_t begins64; // where it begins
	uint64_t left;     // bytes of it that are to come, unpacked
	bool waits;        // the coding holds more than it could give
};

// What a half has asked for in the way that the answer does not repeat.
struct dc_wish {
	uint8_t *name; // a block of CONTENT_NAME_BYTES; NULL: it has asked for nothing
	uint32_t length;
	uint64_t from;
	uint64_t bytes; // CONTENT_SIZE_UNKNOWN: to the end
	bool packed;
	bool name_cut;
};

struct dc_half {
	uint8_t *line; // as much as is here of a line that goes on; NULL: nothing
	uint64_t line64;
	uint32_t length;
	uint32_t told;        // bytes of its text that were told
	bool open;            // ... of a message that goes on
	uint8_t mode;         // enum dc_mode
	uint8_t role;         // enum dc_role
	bool skip;            // up to the end of a line that has a gap, or is too long
	bool has_gap;         // what it skips lacks its beginning
	bool to_end;          // what it asked for last goes to the file's end ...
	uint64_t asked;       // ... from there
	uint64_t length_said; // of $FileLength
	struct dc_wish wish;
	struct dc_file file; // that it sends
};

struct dc_nick {
	uint8_t sid[4];
	uint8_t length;
	uint8_t nick[DC_NICK_BYTES];
};

struct dc_state {
	struct content_stream streams[2];
	struct dc_half halves[2];
	struct dc_nick *nicks; // DC_NICKS of them; NULL: none was said
	uint32_t files;
	uint8_t dialect; // enum dc_dialect
	bool has_gap;    // roles may have been said there
	bool over;
};

// How much of a line is here.
enum dc_stage {
	DC_WHOLE,
	DC_GOES_ON, // its beginning: only what people write is read
	DC_BROKEN,  // ... and no more comes
};

// A line without its end.
struct dc_line {
	struct dc_state *state;
	struct content_turn *turn;
	struct content_text text;
	uint64_t begins64; // of it, in the half
	uint64_t next64;   // behind its end
	unsigned half;
	uint8_t stage; // enum dc_stage
};

// CONTENT_FED, or CONTENT_NO_MEMORY: nothing of it was reported, and it can be read again.
enum content_fed dc_nmdc_line(const struct dc_line *line);
enum content_fed dc_adc_line(const struct dc_line *line);
// What people write, of a line that is not whole.
void dc_nmdc_begins(const struct dc_line *line);
void dc_adc_begins(const struct dc_line *line);

static inline void dc_note(const struct dc_line *line, enum content_note note)
{
	line->turn->sink->note(line->turn->sink->ctx, note, line->half, line->begins64);
}

// What the line's receiver takes the connection for.
static inline unsigned dc_receiver(const struct dc_line *line)
{
	return line->state->halves[!line->half].role;
}

static inline void dc_says(const struct dc_line *line, enum dc_role role)
{
	uint8_t *said = &line->state->halves[line->half].role;

	if (*said == DC_ROLE_UNKNOWN)
		*said = (uint8_t)role;
}

// A message: `text` lies in the line. Of one that goes on what was told is not told again.
void dc_message(const struct dc_line *line, struct content_text from, struct content_text to,
	struct content_text text, bool escaped, uint8_t blank);

// ---- transfers (transfer.c) ----

// "file TTH/... 0 -1 ZL1", behind the command: what is asked for, and what comes.
void dc_asked(const struct dc_line *line, struct content_text parameters);
enum content_fed dc_sends(const struct dc_line *line, struct content_text parameters);

// $Get and $UGetBlock: nothing but the request names the file.
struct dc_wanted {
	struct content_text name;
	uint64_t from, bytes;
	bool packed;
};
enum content_fed dc_wishes(const struct dc_line *line, const struct dc_wanted *wanted);
// The half sends what the other one wishes: `bytes` of it, of a file of `size`.
enum content_fed dc_grants(
	const struct dc_line *line, unsigned sender, uint64_t bytes, uint64_t size);
void dc_wish_drop(struct dc_half *half, struct content_memory *memory);

// Bytes of the file. CONTENT_MORE at *taken: the budget has ended.
enum content_fed dc_file_put(struct dc_state *state, unsigned half, struct content_turn *turn,
	const uint8_t *bytes, uint32_t length, uint32_t *taken);
// How much of a gap was the file's.
uint64_t dc_file_lose(
	struct dc_state *state, unsigned half, struct content_turn *turn, uint64_t length);
void dc_file_end(struct dc_state *state, unsigned half, struct content_turn *turn,
	enum content_end end, uint64_t ends64);

// ---- results of searches ----

struct dc_result {
	struct content_text path; // as it was sent, escapes undone
	struct content_text user;
	struct content_text tth; // its digits; may be empty
	uint64_t size;
};
void dc_found(const struct dc_line *line, const struct dc_result *result);
// The digits of a root are looked for.
void dc_sought(const struct dc_line *line, struct content_text tth);

// ---- text (text.c) ----

// The next parameter: up to a blank that is not escaped. False: there is none.
bool dc_word(struct content_text *rest, struct content_text *word);
// "\s", "\n" and "\\" of ADC, "\ " of NMDC. At most `text.length` bytes.
uint32_t dc_unescape(struct content_text text, uint8_t *out);
// "&#36;", "&#124;", "&amp;" and "&#96;" of NMDC.
uint32_t dc_undo_entities(struct content_text text, uint8_t *out);
// 39 digits of base32. False: they are none.
bool dc_tth(struct content_text digits, struct content_id *id);
// A count of bytes; "-1": CONTENT_SIZE_UNKNOWN. False: neither.
bool dc_number(struct content_text text, uint64_t *out);

#endif
