// SPDX-License-Identifier: BSD-3-Clause
// A session of FTP's control connection: what commands and replies say, and what is told of it.
// RFC 959, 2228 (AUTH), 2428 (EPRT, EPSV), 3659 (SIZE, REST, MLSD), 4217.
#ifndef SLUICE_CONTENT_FTP_SESSION_H
#define SLUICE_CONTENT_FTP_SESSION_H

#include "content/content.h"
#include "pipeline/vocab/ftp_place.h"

#define FTP_SIZE_OF_BYTES 255 // of the name that SIZE asks for; longer ones are not remembered

enum ftp_rest {
	FTP_REST_NONE,
	FTP_REST_ASKED,
	FTP_REST_GRANTED, // 350
};

enum ftp_auth {
	FTP_AUTH_NONE,
	FTP_AUTH_TLS,
	FTP_AUTH_OTHER,
};

struct ftp_session {
	uint32_t files;
	uint32_t unanswered; // commands
	bool lost;           // some answers were
	// The data connection that was announced last; port 0: there is none.
	uint16_t port;
	uint8_t listens; // the half whose sender listens there
	uint8_t sender;  // ... and whose sender sends, where `label` says what
	bool elsewhere;  // ... who has named another's address, `other`
	uint8_t other[16];
	uint32_t passive; // how often the client has asked the server to listen, unanswered
	// A reply of the server of which more lines follow, and the place that it has named so far.
	bool goes_on;
	struct ftp_place so_far;
	struct transfer_label label; // of it
	uint32_t item;               // number of its file in records; 0: none
	// `label` is of a command that is not answered yet: what the client sends meanwhile cannot
	// make a file a listing. `before`: so many answers come before its own.
	bool held;
	uint32_t before;
	uint32_t since; // commands, from its own on

	uint8_t size_asked; // the next 213 is one
	uint8_t rest_state; // enum ftp_rest
	uint8_t auth;       // enum ftp_auth: what was asked for
	uint8_t mode_asked; // letter of MODE, until the reply; 0: it was not
	bool unnamed;       // STOU without a name: the reply has it
	uint64_t rest;
	uint64_t size; // of `size_of`; 0: not known
	uint16_t size_of_length;
	uint8_t size_of[FTP_SIZE_OF_BYTES];
	uint8_t user_length;
	uint8_t user[CONTENT_PARTY_BYTES];
};

// Who tells, and where in the stream: `line64` is behind the line.
struct ftp_turn {
	struct ftp_session *session;
	const struct content_turn *turn;
	uint64_t line64;
	uint8_t half;
};

static inline void ftp_note(const struct ftp_turn *turn, enum content_note note)
{
	const struct content_sink *sink = turn->turn->sink;

	sink->note(sink->ctx, note, turn->half, turn->line64);
}

// A line of the client has ended, whatever it says: the server will answer it.
static inline void ftp_count_command(struct ftp_session *session)
{
	session->unanswered += session->unanswered < UINT32_MAX;
	session->since += session->since < UINT32_MAX;
}

// Answers were lost, nobody knows how many.
static inline void ftp_lose_answers(struct ftp_session *session)
{
	session->unanswered = session->before = 0;
	session->lost = true;
}

// A line without its end. False: what follows is opaque.
bool ftp_take_line(const struct ftp_turn *turn, struct content_text line);

// The data connection that was announced last, and what is known of it by now. `amends`: nothing
// but that is new.
void ftp_report(const struct ftp_turn *turn, bool amends);
// Where the sender of half `listens` will listen: at its own address, as the control connection has
// it, and at the one that it has named, if that is another's. By what the line says, or by EPRT:
// "|1|132.235.1.2|6275|" (RFC 2428 2).
void ftp_expect_place(const struct ftp_turn *turn, unsigned listens, const struct ftp_place *place);
void ftp_expect_extended(const struct ftp_turn *turn, unsigned listens, struct content_text rest);

#endif
