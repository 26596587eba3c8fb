// SPDX-License-Identifier: BSD-3-Clause
// A connection of SMTP (RFC 5321), submission, or LMTP (RFC 2033): commands and their replies, and
// the mails between them by DATA or BDAT (RFC 3030).
//
// Replies are counted against commands (RFC 2920, pipelining): DATA is followed by a mail where it
// is answered 354, and what the server refuses is none. Where its answer was not heard it is taken
// for granted, as the client would not send on otherwise.
#ifndef SLUICE_CONTENT_SMTP_SESSION_H
#define SLUICE_CONTENT_SMTP_SESSION_H

#include "content/content.h"
#include "content/dots.h"
#include "content/mime/mime.h"
#include "content/stream.h"

#define SMTP_LINE_BYTES 1024 // of a command; RFC 5321 asks for 512
#define SMTP_AWAITED    128  // commands whose replies are to come
#define SMTP_TO_BYTES   1024 // receivers that are compared

enum smtp_awaited {
	SMTP_GREETING,
	SMTP_OTHER,
	SMTP_AUTH,
	SMTP_RCPT,
	SMTP_DATA,
	SMTP_BDAT,
	SMTP_BDAT_LAST,
	SMTP_STARTTLS,
	SMTP_MAIL_ENDS, // the reply to a mail by DATA
};

enum smtp_mode {
	SMTP_COMMANDS,
	SMTP_IN_DATA,
	SMTP_IN_BDAT,
};

struct smtp_line {
	uint16_t length;
	bool cut;  // it is longer
	bool skip; // its beginning is lost
	bool cr;
	uint8_t bytes[SMTP_LINE_BYTES];
};

struct smtp_state {
	struct content_stream halves[2];
	struct mime *mail; // NULL: none, or nothing of it has come
	uint64_t left;     // of a chunk
	struct dots dots;
	uint64_t line64;  // where the client's line begins
	uint64_t reply64; // ... and the server's
	uint32_t files;
	uint64_t notes[2]; // by half: a bit for each that was told
	uint8_t mode;      // enum smtp_mode
	bool last;         // of the chunks of a mail
	bool unsure;       // DATA was not answered yet
	bool taken;        // bytes of it were taken
	bool auth;         // lines are answers to the server's challenges
	bool challenged;   // ... of which one has come, and no answer yet
	bool lmtp;
	bool blind; // replies are counted no longer
	bool more;  // of a reply: lines before its last one
	bool began, over;
	uint8_t n_receivers; // that the server has accepted
	uint8_t n_to;
	uint8_t awaited_at, n_awaited;
	uint8_t awaited[SMTP_AWAITED];
	uint8_t reply[4], reply_length; // code of the server's line, and what stands behind it
	bool reply_skip;
	uint8_t from_length;
	uint16_t to_length;
	uint8_t from[CONTENT_PARTY_BYTES];
	uint8_t to[SMTP_TO_BYTES];
	struct smtp_line line;
};

struct smtp_call {
	struct smtp_state *state;
	struct content_turn *turn;
};

// Once for each half.
void smtp_note(const struct smtp_call *to, enum content_note note, unsigned half, uint64_t at64);

// command.c: a line of the client, without its end.
void smtp_command(const struct smtp_call *to, struct content_text line);
void smtp_envelope_clear(struct smtp_state *state);

// reply.c: a reply is to come; bytes of the server.
void smtp_await(const struct smtp_call *to, enum smtp_awaited what);
enum content_fed smtp_reply_take(
	const struct smtp_call *to, const uint8_t *bytes, uint32_t length, uint32_t *taken);
// They are counted no longer.
void smtp_replies_forget(struct smtp_state *state);
void smtp_reply_lose(const struct smtp_call *to);

// mail.c
void smtp_mail_begin(struct smtp_state *state, enum smtp_mode mode);
enum content_fed smtp_data_take(
	const struct smtp_call *to, const uint8_t *bytes, uint32_t length, uint32_t *taken);
enum content_fed smtp_bdat_take(
	const struct smtp_call *to, const uint8_t *bytes, uint32_t length, uint32_t *taken);
// The chunk at hand is over at `at64`: the mail, too, if it was the last one.
enum content_fed smtp_chunk_end(const struct smtp_call *to, uint64_t at64);
void smtp_mail_lose(const struct smtp_call *to, uint64_t length);
// It is none, or breaks off.
void smtp_mail_drop(const struct smtp_call *to);
struct mime_about smtp_about(struct smtp_state *state);

#endif
