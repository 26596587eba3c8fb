// SPDX-License-Identifier: BSD-3-Clause
// What is kept of a connection of IMAP (RFC 3501, 9051): lines with literals in either half, the
// mail that comes, commands whose answers change what follows.
#ifndef SLUICE_CONTENT_IMAP_SESSION_H
#define SLUICE_CONTENT_IMAP_SESSION_H

#include "content/coding.h"
#include "content/content.h"
#include "content/imap/structure.h"
#include "content/mail.h"
#include "content/stream.h"

#define IMAP_WORD_BYTES    128 // of a word, or the name of an item
#define IMAP_TAG_BYTES     32
#define IMAP_SECTION_BYTES 48
#define IMAP_HEAD_BYTES    8192 // of the head of a mail or part, for what is fetched without it
#define IMAP_ASKED         8    // parts of mails that were asked for
#define IMAP_PIECE_BYTES   4096 // that are decompressed at a time

// Where in a line the next byte stands, as far as literals go: "{12}", "{12+}", "~{12}".
enum imap_brace {
	IMAP_NO_BRACE,
	IMAP_BRACE,      // behind "{"
	IMAP_DIGITS,     // ... and digits
	IMAP_PLUS,       // ... and "+" or "-"
	IMAP_BRACE_ENDS, // ... and "}": a literal follows the line
};

struct imap_line {
	uint64_t literal;   // bytes that follow of one
	uint64_t size;      // of the literal that is announced
	uint8_t brace;      // enum imap_brace
	bool synchronizing; // who sends it waits for "+"
	bool in_literal;
	bool in_quotes, escaped;
	bool in_value; // that is quoted, and read
	uint8_t words; // that ended
	uint8_t n_word;
	uint8_t word[IMAP_WORD_BYTES];
};

enum imap_verb {
	IMAP_OTHER,
	IMAP_APPEND,
	IMAP_COMPRESS,
	IMAP_LOGIN,
	IMAP_SELECT, // numbers are those of another mailbox behind it
	IMAP_STARTTLS,
};

enum imap_response {
	IMAP_SKIPPED,
	IMAP_UNTAGGED, // its second word is to come
	IMAP_NUMBERED, // ... was a number
	IMAP_TAGGED,
	IMAP_FETCH,
	IMAP_STATUS, // its text is for people
};

// What becomes of a value.
enum imap_value {
	IMAP_VALUE_SKIP,
	IMAP_VALUE_MAIL,
	IMAP_VALUE_HEAD, // kept, for what comes without it
	IMAP_VALUE_STRUCTURE,
};

// A section of a message: "", "TEXT", "2.1".
struct imap_section {
	uint32_t number; // of the message
	uint8_t length;
	uint8_t bytes[IMAP_SECTION_BYTES];
};

// A part of one: "<origin.count>".
struct imap_asked {
	uint64_t origin, count;
};

// How a mail is read that begins.
struct imap_mail {
	struct content_text prefix; // that is read before it
	bool headless;
	bool made;   // ... the prefix, of the structure
	bool quoted; // with escapes between its bytes
};

struct imap_half {
	struct imap_line line;
	struct content_mail mail;
	struct imap_mail how, next; // of the mail at hand; of one that is to be opened
	bool coded;                 // of the mail at hand
	bool opens;                 // one is to be opened
	bool compresses;            // what follows is compressed
	bool lost;                  // what follows cannot be read, from `lost64` on
	uint64_t lost64;
	struct coding *coding; // NULL: none
	bool broken;
	uint8_t *piece; // decompressed, IMAP_PIECE_BYTES; NULL: none
	uint32_t piece_at, piece_n;
	uint64_t in, out;  // of the coding
	uint64_t coding64; // where it began
	uint64_t mail64;   // ... the mail at hand
	uint32_t prefix_at;
	uint8_t value; // enum imap_value, of the literal at hand
};

struct imap_fetch {
	uint8_t depth;
	bool in_brackets, in_value;
	bool ends;      // the mail ends with the value
	bool structure; // the item is one
	uint8_t n_name;
	uint8_t name[IMAP_WORD_BYTES];
};

struct imap_state {
	struct content_stream streams[2];
	struct imap_half halves[2];
	struct imap_fetch fetch;
	struct imap_asked asked[IMAP_ASKED];
	uint32_t files;
	uint32_t number;          // of the message that is fetched
	struct imap_section open; // of the mail that goes on, number 0: none
	uint64_t next;            // octet of it that comes next
	struct imap_section kept; // whose head is `head`
	uint8_t *head;            // NULL: none
	uint8_t *made;            // a head of IMAP_MADE_BYTES; NULL: none was needed yet
	struct imap_structures structures;
	uint32_t head_length;
	bool head_whole;
	uint8_t n_asked;
	uint8_t response; // enum imap_response
	uint8_t verb;     // enum imap_verb, of the client's line
	uint8_t awaited;  // ... whose answer changes what follows
	uint8_t tag_length, awaited_length, user_length;
	bool answers; // the server's line has the awaited tag
	bool agrees;  // ... and OK
	bool over;
	uint64_t noted; // a bit for each note that was told
	uint8_t tag[IMAP_TAG_BYTES], awaited_tag[IMAP_TAG_BYTES];
	uint8_t user[CONTENT_PARTY_BYTES];
};

// What a call of take() is about: bytes as the protocol has them.
struct imap_input {
	struct imap_state *state;
	struct content_turn *turn;
	const uint8_t *bytes;
	uint32_t length, taken;
	uint64_t at64; // of bytes[0]; of what was compressed, where the coding began
	bool coded;
	bool stops; // nothing follows that can be read
	uint8_t side;
};

static inline uint64_t imap_at(const struct imap_input *in)
{
	return in->coded ? in->at64 : in->at64 + in->taken;
}

void imap_note(struct imap_input *in, enum content_note note);
// A mail begins on that half, in the place of one that is open.
void imap_begin_mail(struct imap_input *in, struct imap_mail how);

// Nothing is known of messages any more.
void imap_forget(struct imap_state *state);

// ---- what the client says (command.c) ----
// A word has ended; `ended`: so has the line.
void imap_take_command(struct imap_input *in, bool ended);
// What becomes of a literal.
enum imap_value imap_command_literal(struct imap_input *in);

// ---- what the server says (response.c) ----
void imap_take_answer(struct imap_input *in, bool ended);
// A byte of a response, outside of literals. True: with it a quoted value begins that is read.
bool imap_take_response(struct imap_input *in, uint8_t byte);
// ... a literal of that size, or CONTENT_SIZE_UNKNOWN: quoted.
enum imap_value imap_response_literal(struct imap_input *in, uint64_t size);
// It has ended.
void imap_response_literal_over(struct imap_input *in);

#endif
