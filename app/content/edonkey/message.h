// SPDX-License-Identifier: BSD-3-Clause
// One message: behind its opcode fields, of which the row of its kind says how many bytes are
// looked at first, then texts, lists, digests or a part of a file. Bytes come in any pieces, from
// the stream or out of a compressed frame.
#ifndef SLUICE_CONTENT_EDONKEY_MESSAGE_H
#define SLUICE_CONTENT_EDONKEY_MESSAGE_H

#include "content/edonkey/session.h"

enum ed2k_what {
	ED2K_WHAT_ID, // a file, and nothing more that is looked at
	ED2K_WHAT_NAME,
	ED2K_WHAT_ANSWERS,            // to several requests about a file
	ED2K_WHAT_SIZED,              // several requests, with the file's size
	ED2K_WHAT_IDENTIFIER,         // a file identifier of eMule 0.50
	ED2K_WHAT_IDENTIFIER_ANSWERS, // ... and answers behind it
	ED2K_WHAT_IDENTIFIER_HASHES,  // ... and digests
	ED2K_WHAT_LIST,               // files of others
	ED2K_WHAT_SHARED,             // files of the sender
	ED2K_WHAT_SHARED_FOLDER,
	ED2K_WHAT_HELLO, // or a server's login
	ED2K_WHAT_HELLO_ANSWER,
	ED2K_WHAT_PART,
	ED2K_WHAT_BLOCK,
	ED2K_WHAT_CHAT,
	ED2K_WHAT_COMMENT, // on a file
	ED2K_WHAT_HASHES,
	ED2K_WHAT_SENT, // the sender has no more parts for now
	ED2K_WHAT_DONE, // the receiver wants no more
};

struct ed2k_row {
	uint8_t proto, opcode;
	uint8_t what;    // enum ed2k_what
	uint8_t fixed;   // bytes of its first field
	uint8_t hash_at; // where the file's id stands in it, that it names; ED2K_NO_HASH
	bool wide;       // offsets have 64 bits
};
#define ED2K_NO_HASH 0xff

// NULL: nothing is known of such messages, or of interest.
const struct ed2k_row *ed2k_row_of(uint8_t proto, uint8_t opcode);

// A message of that row begins; NULL: it is skipped.
void ed2k_message_begin(const struct ed2k_turn *to, const struct ed2k_row *row);
// Bytes of it. Adds to *used; with CONTENT_FED all of them.
enum content_fed ed2k_message_take(
	struct ed2k_turn *to, const uint8_t *bytes, uint32_t length, uint32_t *used);
// So many bytes of it will never come; where `more` is false, it ends with them.
void ed2k_message_lose(const struct ed2k_turn *to, uint32_t length);
// Its end, wherever it is: what is not whole counts as far as it came.
void ed2k_message_end(const struct ed2k_turn *to);

#endif
