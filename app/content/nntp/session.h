// SPDX-License-Identifier: BSD-3-Clause
// A connection of network news (RFC 3977, 4643, 8054): articles that a server sends (ARTICLE, HEAD,
// BODY), and those that a client or another server hands in (POST, IHAVE, TAKETHIS).
//
// Whether an answer has lines behind it depends on its command for a few codes (211, 221): answers
// are counted against commands. Where they cannot be the code alone decides.
#ifndef SLUICE_CONTENT_NNTP_SESSION_H
#define SLUICE_CONTENT_NNTP_SESSION_H

#include "content/content.h"
#include "content/dots.h"
#include "content/mime/mime.h"
#include "content/stream.h"

#define NNTP_LINE_BYTES 64 // of a line that are read: RFC 3977 asks for 512 of a command
#define NNTP_AWAITED    128

enum nntp_awaited {
	NNTP_GREETING,
	NNTP_OTHER,
	NNTP_GROUP,
	NNTP_FIELDS, // XHDR and the like: 221 is not a head
	NNTP_POST,   // an article may follow
	NNTP_STARTTLS,
	NNTP_COMPRESS,
};

enum nntp_mode {
	NNTP_LINES,
	NNTP_BLOCK, // that nobody reads
	NNTP_ARTICLE,
};

struct nntp_half {
	struct mime *article; // NULL: none, or nothing of it has come
	struct dots dots;
	struct mime_posting posting;
	uint64_t notes;  // a bit for each that was told
	uint64_t line64; // where the line begins
	uint8_t mode;    // enum nntp_mode
	bool headless;
	bool skip; // up to the end of the line
	uint8_t length;
	uint8_t line[NNTP_LINE_BYTES];
};

struct nntp_state {
	struct content_stream streams[2];
	struct nntp_half halves[2];
	uint32_t files;
	bool began, over;
	bool blind; // answers are counted no longer
	uint8_t awaited_at, n_awaited;
	uint8_t awaited[NNTP_AWAITED];
};

struct nntp_call {
	struct nntp_state *state;
	struct content_turn *turn;
	unsigned side; // of the bytes at hand
};

// Once for each half.
void nntp_note(const struct nntp_call *to, enum content_note note, uint64_t at64);

// line.c: lines that are whole, of the client and of the server.
void nntp_command(const struct nntp_call *to, struct content_text line);
// False: what follows is opaque, which was told.
bool nntp_answer(const struct nntp_call *to, struct content_text line);
void nntp_await(const struct nntp_call *to, enum nntp_awaited what);
void nntp_answers_forget(struct nntp_state *state);

// article.c
void nntp_article_begin(struct nntp_half *half, enum nntp_mode mode, bool headless);
enum content_fed nntp_block_take(
	const struct nntp_call *to, const uint8_t *bytes, uint32_t length, uint32_t *taken);
void nntp_block_lose(const struct nntp_call *to);
void nntp_article_drop(const struct nntp_call *to, unsigned side);
struct mime_about nntp_about(struct nntp_state *state, unsigned side);

#endif
