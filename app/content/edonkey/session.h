// SPDX-License-Identifier: BSD-3-Clause
// What the parts of the decoder of eDonkey share: the state of a connection, of its halves, of the
// message at hand. Bounds of all of it stand here.
#ifndef SLUICE_CONTENT_EDONKEY_SESSION_H
#define SLUICE_CONTENT_EDONKEY_SESSION_H

#include "content/coding.h"
#include "content/stream.h"
#include "pipeline/vocab/edonkey_wire.h"

#define ED2K_NAME_BYTES   960        // of a name that is kept; of a longer one its end
#define ED2K_KNOWN        8          // files of which name or size are kept
#define ED2K_RECENT       8          // ids that were named last
#define ED2K_BLOCKS       3          // that come compressed at a time: eMule asks for so many
#define ED2K_UNPACKED_MAX (1u << 20) // of a compressed frame; eMule takes 250,000
#define ED2K_HASHES_MAX   28257u     // digests of the parts of the largest file
#define ED2K_FIELD_BYTES  40         // of a message, as they are gathered
#define ED2K_WINDOW_BYTES 38         // a frame that brings a part, with what proves it
#define ED2K_REST_UNKNOWN UINT32_MAX

// A file of which something is known.
struct ed2k_known {
	uint8_t hash[EDONKEY_HASH];
	uint64_t size; // CONTENT_SIZE_UNKNOWN
	uint32_t item; // its number in records
	uint32_t used; // the later, the higher; 0: the place is free
	uint16_t name_length;
	uint8_t half; // of who has it, as far as is known
	bool name_cut;
	bool listed; // it stood in a list: others come first
	bool told;   // by its name
	uint8_t name[ED2K_NAME_BYTES];
};

// Digests of the parts of a file, which its id proves.
struct ed2k_hashes {
	uint8_t hash[EDONKEY_HASH];
	uint8_t *digests; // NULL: none
	uint32_t n;
};

// A block that comes compressed, over several frames.
struct ed2k_block {
	struct coding *coding; // NULL: what follows of it cannot be read
	uint64_t from;         // in the file
	uint32_t told;         // bytes that came of it
	uint32_t used;         // the later, the higher; 0: there is none
	bool ahead;            // the next byte has been given to the coding
};

// What one half brings of a file.
struct ed2k_transfer {
	uint8_t hash[EDONKEY_HASH];
	uint32_t id; // 0: it is not open
	bool wanted, damaged;
	bool closing; // its receiver is through with it
	uint64_t size;
	uint64_t bytes, reached; // of all parts; behind the last of them
	uint64_t ends64;         // in the half
	uint32_t blocks_used;
	struct ed2k_block blocks[ED2K_BLOCKS];
};

enum ed2k_step {
	ED2K_STEP_REST, // nothing more of it is of interest
	ED2K_STEP_SKIP, // `left` bytes, then `then`
	ED2K_STEP_NAME, // of a file
	ED2K_STEP_NICK,
	ED2K_STEP_CHAT,
	ED2K_STEP_HASHES,
	ED2K_STEP_DATA,
	ED2K_STEP_BLOCK,
	// fields
	ED2K_STEP_FIRST,         // of the message's row
	ED2K_STEP_HELLO,         // behind its first byte
	ED2K_STEP_NESTED,        // an opcode among several of a message
	ED2K_STEP_NESTED_NAME,   // length of a name
	ED2K_STEP_NESTED_STATUS, // how many parts
	ED2K_STEP_IDENTIFIER,    // behind its first byte
	ED2K_STEP_HASHES_OF,     // which digests follow
	ED2K_STEP_HASHES_HEAD,
	ED2K_STEP_COUNT, // of a list
	ED2K_STEP_ENTRY, // file, client, port, how many tags
	ED2K_STEP_TAG,   // its type
	ED2K_STEP_TAG_NAME,
	ED2K_STEP_TAG_NAME_LENGTH,
	ED2K_STEP_TAG_LENGTH,
	ED2K_STEP_TAG_NUMBER,
};

// What follows what was passed over.
enum ed2k_then {
	ED2K_THEN_NESTED,
	ED2K_THEN_COUNT,
	ED2K_THEN_HASHES,
	ED2K_THEN_TAG,       // the next tag, or entry
	ED2K_THEN_TAG_VALUE, // whose name nobody looks at
};

struct ed2k_row;

// The message at hand.
struct ed2k_reader {
	const struct ed2k_row *row;
	uint8_t *text;   // of a name that goes on: CONTENT_NAME_BYTES; NULL: none
	uint8_t *hashes; // that are gathered; NULL: none
	uint64_t at;     // of the next byte of a part, in the file
	uint64_t size;
	uint32_t left;          // bytes of a part, of a text, of digests, of what is passed over
	uint32_t entries, tags; // that are yet to come
	uint32_t have, want;    // of a field
	uint32_t text_length;
	uint8_t step; // enum ed2k_step
	uint8_t then; // enum ed2k_then
	uint8_t tag_type, tag_name;
	uint8_t has; // bits of an identifier
	bool text_cut;
	bool chat_told; // some of it, and not its end
	uint8_t hash[EDONKEY_HASH];
	uint8_t field[ED2K_FIELD_BYTES];
};

enum ed2k_mode {
	ED2K_HEAD,   // of a frame
	ED2K_BODY,   // `left` bytes of it follow
	ED2K_SEARCH, // where a frame begins is not known
	ED2K_DEAF,   // no frames follow
};

struct ed2k_packed;
struct ed2k_cloak;

struct ed2k_half {
	struct ed2k_reader reader;
	struct ed2k_transfer transfer;
	struct ed2k_hashes hashes;
	struct ed2k_packed *packed; // what is inside of a frame; NULL: it is as it stands
	uint64_t frame64;
	uint32_t left;
	uint32_t head_length;
	uint64_t noted; // bits of notes
	uint8_t mode;   // enum ed2k_mode
	bool unsure;    // what comes next may be no frame
	bool heard;     // some of it
	uint8_t nick_length, n_recent;
	uint8_t head[ED2K_WINDOW_BYTES];
	uint8_t nick[CONTENT_PARTY_BYTES];
	uint8_t recent[ED2K_RECENT][EDONKEY_HASH];
};

struct ed2k_session {
	struct content_stream streams[2];
	struct ed2k_half halves[2];
	struct ed2k_known *known; // ED2K_KNOWN of them; NULL: none
	struct ed2k_cloak *cloak; // what opens the connection's disguise; NULL: it has none
	uint32_t uses, files;
	bool over;
};

// A call, for one half.
struct ed2k_turn {
	struct ed2k_session *session;
	struct ed2k_half *half;
	struct content_turn *turn;
	uint64_t at64; // of the next byte, or of the frame that packs it
	uint32_t rest; // of the message, as far as is known
	unsigned side;
	bool plain; // bytes are those of the stream, one for one
	bool clear; // ... and not in disguise
};

// Once for each half.
void ed2k_note(const struct ed2k_turn *to, enum content_note note);
// The half's sender names a file.
void ed2k_id(const struct ed2k_turn *to, const uint8_t *hash);

#endif
