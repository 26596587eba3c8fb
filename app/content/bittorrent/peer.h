// SPDX-License-Identifier: BSD-3-Clause
// Inside app/content/bittorrent: what is kept of a connection between two peers. The lcore that
// owns the flow.
#ifndef SLUICE_BITTORRENT_PEER_H
#define SLUICE_BITTORRENT_PEER_H

#include "content/stream.h"
#include "content/torrents.h"

#define PEER_OPEN_MAX    8          // files of both halves; of more the one that rests longest ends
#define PEER_SEEN_MAX    32         // files that have ended, whose numbers are kept
#define PEER_BLOCK_FILES 512        // that one block may touch
#define PEER_UNNAMED     UINT32_MAX // the file of a torrent whose files are not known
#define METADATA_PIECE   16384u     // BEP 9
#define METADATA_PIECES  (TORRENT_INFO_MAX / METADATA_PIECE)

enum peer_phase {        // of a half: what comes next
	PEER_LEAD,       // the handshake's first bytes
	PEER_HASH,       // its reserved bytes and the info hash
	PEER_LENGTH,     // of a message
	PEER_ID,         // ... its kind
	PEER_BLOCK_HEAD, // of a piece: its index, and where the block begins
	PEER_BLOCK,
	PEER_EXTENDED_ID, // of an extended message
	PEER_EXTENDED,    // ... gathered
	PEER_SKIP,
	PEER_OVER, // it cannot be followed
};

struct peer_half {
	uint32_t left; // of the message at hand, not taken yet
	uint32_t have; // bytes of `head`
	uint32_t searched;
	uint32_t metadata_size; // as its sender said; 0: it has not
	uint64_t message64;     // where the message at hand begins
	uint64_t at;            // of the block: offset in the payload of the next byte
	uint64_t run_from;      // what came of it without a gap
	struct content_id id;
	uint16_t block_files; // that the block has touched
	uint8_t phase;        // enum peer_phase
	bool has_id;
	bool mapped;  // the block lies in the torrent's files; else in its first piece
	bool by_form; // the extended message may be metadata; else it is the handshake
	uint8_t head[28];
};

// A file that is being told.
struct peer_file {
	uint64_t ends64;  // behind the last byte, in the half
	uint64_t used;    // the larger, the later
	uint64_t few;     // units that are whole, one a bit, where 64 are enough
	uint64_t *units;  // ... or the bits of more; NULL: `few`
	uint32_t missing; // units; 0: it is whole, or nobody counts
	uint32_t index;   // in the torrent, or PEER_UNNAMED
	uint32_t id;      // 0: none
	uint32_t item;
	uint8_t half;
	bool wanted;
};

// One that has ended, or is open: its number in records.
struct peer_seen {
	uint32_t index, item; // 0: none
};

struct peer_metadata { // of one half
	uint64_t received,
		guessed; // bytes; those that were digested for a size that nobody must keep to
	uint32_t n;      // pieces that are kept
	uint8_t *pieces[METADATA_PIECES];
	uint16_t lengths[METADATA_PIECES];
};

// Taken with the first message that needs it.
struct peer_work {
	const struct torrent *torrent; // held; NULL: not known
	bool told;                     // what is to be said of it was said
	bool too_long;                 // that its metadata are longer than is read was said
	bool no_room;                  // ... that there is no room for them
	bool padded;                   // ... and that its padding is something else than zeros
	uint32_t files, n_seen;
	uint64_t clock;
	struct peer_metadata *metadata[2];
	uint8_t *message[2]; // extended, being gathered
	uint32_t gathered[2], message_bytes[2];
	struct peer_file open[PEER_OPEN_MAX];
	struct peer_seen seen[PEER_SEEN_MAX];
};

struct peer {
	struct content_stream streams[2];
	struct peer_half halves[2];
	struct peer_work *work;
	uint8_t utp_datagrams;
	bool encrypted_noted;
};

static inline uint64_t peer_at64(const struct peer *peer, unsigned half, uint32_t taken)
{
	return peer->streams[half].at64 + taken;
}

// bittorrent.c: the torrent, once it is known.
void peer_learn_torrent(struct peer *peer, unsigned half, struct content_turn *turn);

// pieces.c: a block begins (its head is there), goes on, loses bytes, is over.
void peer_block_begin(struct peer *peer, unsigned half, struct content_turn *turn, uint32_t index,
	uint32_t begin);
enum content_fed peer_block_take(struct peer *peer, unsigned half, struct content_turn *turn,
	const uint8_t *bytes, uint32_t length, uint32_t *taken);
void peer_block_lose(
	struct peer *peer, unsigned half, const struct content_turn *turn, uint64_t length);
void peer_block_end(struct peer *peer, unsigned half, const struct content_turn *turn);
// All files end.
void peer_files_end(struct peer *peer, const struct content_turn *turn);

// metadata.c: an extended message begins (its kind is there), goes on, is dropped.
enum content_fed peer_extended_begin(
	struct peer *peer, unsigned half, struct content_turn *turn, uint8_t id);
enum content_fed peer_extended_take(struct peer *peer, unsigned half, struct content_turn *turn,
	const uint8_t *bytes, uint32_t length, uint32_t *taken);
void peer_extended_drop(struct peer *peer, unsigned half, const struct content_turn *turn);
void peer_metadata_drop(struct peer *peer, unsigned half, const struct content_turn *turn);

#endif
