// SPDX-License-Identifier: BSD-3-Clause
// What the parts of the decoder share: the state of a connection of Soulseek.
#ifndef SLUICE_CONTENT_SOULSEEK_SESSION_H
#define SLUICE_CONTENT_SOULSEEK_SESSION_H

#include "content/coding.h"
#include "content/stream.h"
#include "content/transfer.h"

#define SOULSEEK_KEPT 4096u // of a message that is looked at, or of a text in a packed one
#define SOULSEEK_USER 64u
#define SOULSEEK_OUT  3800u // that is unpacked at a time

enum soulseek_kind {
	SOULSEEK_NEW,
	SOULSEEK_SERVER,  // a client and the server
	SOULSEEK_PIERCED, // two clients, of which it is not known yet what they do
	SOULSEEK_PEER,    // two clients: messages
	SOULSEEK_FILE,    // ... a file
	SOULSEEK_OTHER,   // the distributed network, or none of these
};

enum soulseek_field { // of a packed answer to a search
	SOULSEEK_FIELD_USER,
	SOULSEEK_FIELD_TOKEN,
	SOULSEEK_FIELD_COUNT,
	SOULSEEK_FIELD_CODE,
	SOULSEEK_FIELD_NAME,
	SOULSEEK_FIELD_SIZE,
	SOULSEEK_FIELD_EXTENSION,
	SOULSEEK_FIELD_ATTRIBUTES, // how many there are
	SOULSEEK_FIELD_ATTRIBUTE,
	SOULSEEK_FIELD_REST, // nothing of it is looked at
};

struct soulseek_results {
	struct coding *coding;
	uint64_t in, out_bytes;
	uint32_t records, attributes; // that are to come
	uint32_t length;              // of the text at hand; 0: its length is to come
	uint32_t have;                // of the field
	uint16_t name_length, user_length;
	uint16_t from, to; // of `out`, which was not read yet
	uint8_t field;     // enum soulseek_field
	bool in_text;
	bool ahead; // the next byte has been given to the coding
	bool over, broken;
	uint8_t user[SOULSEEK_USER];
	uint8_t text[SOULSEEK_KEPT];
	uint8_t out[SOULSEEK_OUT];
};

struct soulseek_half {
	uint8_t *kept;                    // SOULSEEK_KEPT bytes
	struct soulseek_results *results; // of a packed message; NULL: none
	uint64_t message64;               // where the message's length stands
	uint32_t length;                  // kept
	uint32_t left;                    // of the message; with `framed`
	uint32_t told;                    // of the text of a message: how much was reported
	bool open;                        // ... and more of it follows
	bool said;                        // all of it was
	bool framed;                      // its length is known
	bool too_long;
	bool lost;
};

struct soulseek_file {
	struct content_raw raw;
	uint64_t offset; // that the receiver wants it from
	uint32_t files;
	uint8_t have[2]; // of the token, of the offset
	uint8_t sender;  // half
	bool known, opened, ended;
	uint8_t words[8]; // the offset
};

struct soulseek_state {
	struct content_stream streams[2];
	struct soulseek_half halves[2];
	struct soulseek_file file;
	uint32_t files;
	uint8_t kind; // enum soulseek_kind
	uint8_t user_length;
	bool over;
	uint8_t user[SOULSEEK_USER]; // who is logged in
};

struct soulseek_turn {
	struct soulseek_state *state;
	struct content_turn *turn;
	unsigned half;
};

// A whole message, behind its length: to the server and from it, between clients.
// Also as much as has come of one, whose text is reported as it comes; `whole`: nothing more is
// read.
void soulseek_server_message(
	const struct soulseek_turn *turn, struct content_text message, bool whole);
void soulseek_peer_message(const struct soulseek_turn *turn, struct content_text message);
// A file that somebody has, or is about to send.
void soulseek_offer(const struct soulseek_turn *turn, struct content_text path,
	struct content_text user, uint64_t size);

// Bytes of a packed answer to a search. CONTENT_MORE: the budget has ended.
enum content_fed soulseek_results_put(
	const struct soulseek_turn *turn, const uint8_t *bytes, uint32_t length, uint32_t *taken);
// Nothing more of it is read.
void soulseek_results_stop(struct soulseek_half *half);
void soulseek_results_close(struct soulseek_half *half, struct content_memory *memory);

// Takes what stands at the text's beginning. False: it is not all there.
bool soulseek_number(struct content_text *rest, uint32_t *number);
bool soulseek_string(struct content_text *rest, struct content_text *string);

// A connection that carries a file.
enum content_fed soulseek_file_take(
	const struct soulseek_turn *turn, const uint8_t *bytes, uint32_t length, uint32_t *taken);
void soulseek_file_lose(const struct soulseek_turn *turn, uint64_t length);
void soulseek_file_end(const struct soulseek_turn *turn, enum content_end end);

#endif
