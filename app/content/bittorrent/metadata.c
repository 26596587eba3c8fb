// SPDX-License-Identifier: BSD-3-Clause
// Extended messages (BEP 10), and the pieces of an info dictionary in them (BEP 9). Each peer
// numbers its extensions as it likes, and tells the other alone, perhaps before we listen: a piece
// is known by its form. What both ends send is put together apart, so that neither can spoil what
// the other sends; the info hash proves it. Receivers go by the size that a handshake says, or by
// that of the message: where these differ, both are tried.
#include "content/bittorrent/peer.h"

#include <string.h>
#include "content/memory.h"
#include "pipeline/vocab/bencode.h"

// Longer ones are no pieces: libtorrent takes none beyond 17 KiB.
#define EXTENDED_MAX (32u << 10)
#define HANDSHAKE    0
#define TYPE_DATA    1
#define GUESSES      4
#define FREE_PIECES  4 // that are kept also while memory is scarce

// ---- pieces that have come ----

static void drop_pieces(struct peer_metadata *metadata, const struct content_turn *turn)
{
	for (unsigned i = 0; i < METADATA_PIECES; i++) {
		content_give(turn->memory, metadata->pieces[i]);
		metadata->pieces[i] = NULL;
		metadata->lengths[i] = 0;
	}
	metadata->n = 0;
}

void peer_metadata_drop(struct peer *peer, unsigned half, const struct content_turn *turn)
{
	struct peer_metadata **metadata = &peer->work->metadata[half];

	if (!*metadata)
		return;
	drop_pieces(*metadata, turn);
	content_give(turn->memory, *metadata);
	*metadata = NULL;
}

static bool is_whole(const struct peer_metadata *metadata, uint32_t total)
{
	uint32_t at = 0;

	if (!total || total > TORRENT_INFO_MAX)
		return false;
	for (unsigned i = 0; at < total; i++, at += METADATA_PIECE) {
		uint32_t left = total - at;

		if (metadata->lengths[i] != (left < METADATA_PIECE ? left : METADATA_PIECE))
			return false;
	}
	return true;
}

// False: there is no memory.
static bool keep(struct peer *peer, unsigned half, const struct content_turn *turn, uint32_t piece,
	struct content_text bytes)
{
	struct peer_metadata **metadata = &peer->work->metadata[half];

	if (!*metadata) {
		*metadata = content_take(turn->memory, sizeof(**metadata));
		if (!*metadata)
			return false;
		memset(*metadata, 0, sizeof(**metadata));
	}
	uint8_t **place = &(*metadata)->pieces[piece];

	if (!*place) {
		*place = content_take(turn->memory, METADATA_PIECE);
		(*metadata)->n += *place != NULL;
	}
	if (!*place)
		return false;
	memcpy(*place, bytes.bytes, bytes.length);
	(*metadata)->lengths[piece] = (uint16_t)bytes.length;
	(*metadata)->received += bytes.length;
	return true;
}

// ---- all of it ----

static void say(
	struct peer *peer, unsigned half, const struct content_turn *turn, enum content_note note)
{
	turn->sink->note(turn->sink->ctx, note, half, peer->halves[half].message64);
}

static void too_long(struct peer *peer, unsigned half, const struct content_turn *turn)
{
	if (!peer->work->too_long)
		say(peer, half, turn, CONTENT_NOTE_HEAD_TOO_LONG);
	peer->work->too_long = true;
}

static enum torrent_learned learn(struct peer *peer, unsigned half, struct content_turn *turn,
	const uint8_t *info, uint32_t n)
{
	const struct content_torrents *torrents = turn->torrents;
	enum torrent_learned learned = TORRENT_OTHER;

	for (unsigned i = 0; i < 2 && learned == TORRENT_OTHER; i++) {
		const struct peer_half *names = &peer->halves[half ^ i];
		bool same = i && content_id_same(&names->id, &peer->halves[half].id);

		if (names->has_id && !same)
			learned = torrents->learn(torrents->ctx, &names->id, info, n);
	}
	return learned;
}

// The info dictionary, if it has that many bytes. CONTENT_NO_MEMORY: ask again.
static enum content_fed try_size(struct peer *peer, unsigned half, struct content_turn *turn,
	uint32_t total, enum torrent_learned *learned)
{
	const struct peer_metadata *metadata = peer->work->metadata[half];
	uint8_t *info = content_take(turn->memory, total);

	if (!info)
		return CONTENT_NO_MEMORY;
	for (uint32_t at = 0; at < total; at += METADATA_PIECE)
		memcpy(info + at, metadata->pieces[at / METADATA_PIECE],
			metadata->lengths[at / METADATA_PIECE]);
	*learned = learn(peer, half, turn, info, total);
	content_give(turn->memory, info);
	return CONTENT_FED;
}

static void conclude(
	struct peer *peer, unsigned half, struct content_turn *turn, enum torrent_learned learned)
{
	switch (learned) {
	case TORRENT_LEARNED:
		peer_learn_torrent(peer, half, turn);
		peer_metadata_drop(peer, !half, turn);
		break;
	case TORRENT_BROKEN: say(peer, half, turn, CONTENT_NOTE_BAD_LINE); break;
	case TORRENT_TOO_BIG: too_long(peer, half, turn); break;
	case TORRENT_FULL: say(peer, half, turn, CONTENT_NOTE_NO_MEMORY); break;
	case TORRENT_OTHER: break;
	}
	peer_metadata_drop(peer, half, turn);
}

// Where the last piece that is here ends.
static uint32_t end_of(const struct peer_metadata *metadata)
{
	unsigned i = METADATA_PIECES;

	while (i && !metadata->lengths[i - 1])
		i--;
	return i ? (i - 1) * METADATA_PIECE + metadata->lengths[i - 1] : 0;
}

// Bytes are digested but a few times, however many sizes are said.
static bool may_guess(struct peer_metadata *metadata, uint32_t total)
{
	if (metadata->guessed + total > GUESSES * metadata->received)
		return false;
	metadata->guessed += total;
	return true;
}

// What is whole by the size that its receivers go by, and is of another torrent, they ask for anew.
static enum content_fed try_all(
	struct peer *peer, unsigned half, struct content_turn *turn, uint32_t said)
{
	struct peer_metadata *metadata = peer->work->metadata[half];
	uint32_t first = peer->halves[half].metadata_size, ends = end_of(metadata);
	const uint32_t sizes[] = {first, said, ends};
	enum torrent_learned learned = TORRENT_OTHER;
	bool anew = false;

	for (unsigned i = 0; i < 3 && learned == TORRENT_OTHER; i++) {
		bool tried = (i && sizes[i] == sizes[0]) || (i == 2 && sizes[2] == sizes[1]);
		bool sure = first ? sizes[i] == first : sizes[i] == ends;

		if (tried || !is_whole(metadata, sizes[i]))
			continue;
		// the last piece is shorter than others, but where its size says otherwise
		if (i == 2 && ends % METADATA_PIECE == 0)
			continue;
		if (!sure && !may_guess(metadata, sizes[i]))
			continue;
		if (try_size(peer, half, turn, sizes[i], &learned) == CONTENT_NO_MEMORY)
			return CONTENT_NO_MEMORY;
		anew |= sure;
	}
	if (learned != TORRENT_OTHER)
		conclude(peer, half, turn, learned);
	else if (anew)
		drop_pieces(metadata, turn);
	return CONTENT_FED;
}

// ---- messages ----

static bool number_at(struct bencode in, const char *key, int64_t *number)
{
	struct bencode value;

	return bencode_find(in, key, &value) && bencode_number(&value, number);
}

static void take_handshake(struct peer_half *half, struct bencode in)
{
	int64_t size;

	if (number_at(in, "metadata_size", &size) && size > 0 && size <= UINT32_MAX)
		half->metadata_size = (uint32_t)size;
}

// One flow may send as much as many others need: it is not kept while these take half of the
// memory.
static bool has_room(
	const struct peer *peer, unsigned half, const struct content_turn *turn, uint32_t piece)
{
	const struct peer_metadata *metadata = peer->work->metadata[half];

	return !metadata || metadata->pieces[piece] || metadata->n < FREE_PIECES ||
	       !content_memory_is_scarce(turn->memory);
}

static void give_up(struct peer *peer, unsigned half, const struct content_turn *turn)
{
	if (!peer->work->no_room)
		say(peer, half, turn, CONTENT_NOTE_NO_MEMORY);
	peer->work->no_room = true;
	peer_metadata_drop(peer, half, turn);
}

// A dictionary, and behind it a piece.
static enum content_fed take_data(
	struct peer *peer, unsigned half, struct content_turn *turn, struct bencode in)
{
	struct bencode behind = in;
	int64_t type, piece, total = 0;

	if (!bencode_skip(&behind) || !number_at(in, "msg_type", &type) || type != TYPE_DATA ||
		!number_at(in, "piece", &piece) || piece < 0)
		return CONTENT_FED;
	const struct content_text bytes = {behind.at, (uint32_t)(behind.end - behind.at)};

	number_at(in, "total_size", &total);
	if (piece >= METADATA_PIECES || total > TORRENT_INFO_MAX) {
		too_long(peer, half, turn);
		return CONTENT_FED;
	}
	if (!bytes.length || bytes.length > METADATA_PIECE)
		return CONTENT_FED;
	if (!has_room(peer, half, turn, (uint32_t)piece)) {
		give_up(peer, half, turn);
		return CONTENT_FED;
	}
	if (!keep(peer, half, turn, (uint32_t)piece, bytes))
		return CONTENT_NO_MEMORY;
	struct peer_metadata *metadata = peer->work->metadata[half];
	uint64_t received = metadata->received, guessed = metadata->guessed;
	enum content_fed fed = try_all(peer, half, turn, total > 0 ? (uint32_t)total : 0);

	if (fed == CONTENT_NO_MEMORY) { // it comes again
		metadata->received = received - bytes.length;
		metadata->guessed = guessed;
	}
	return fed;
}

static enum content_fed take_message(struct peer *peer, unsigned half, struct content_turn *turn)
{
	const uint8_t *bytes = peer->work->message[half];
	const struct bencode in = {bytes, bytes + peer->work->message_bytes[half]};

	if (peer->halves[half].by_form)
		return take_data(peer, half, turn, in);
	take_handshake(&peer->halves[half], in);
	return CONTENT_FED;
}

enum content_fed peer_extended_begin(
	struct peer *peer, unsigned half, struct content_turn *turn, uint8_t id)
{
	struct peer_half *mine = &peer->halves[half];
	struct peer_work *work = peer->work;

	if (work->torrent || !turn->torrents || !mine->left || mine->left > EXTENDED_MAX)
		return CONTENT_FED;
	work->message[half] = content_take(turn->memory, mine->left);
	if (!work->message[half])
		return CONTENT_NO_MEMORY;
	work->message_bytes[half] = mine->left;
	work->gathered[half] = 0;
	mine->by_form = id != HANDSHAKE;
	mine->phase = PEER_EXTENDED;
	return CONTENT_FED;
}

// The last byte is taken when all that follows from it is done.
enum content_fed peer_extended_take(struct peer *peer, unsigned half, struct content_turn *turn,
	const uint8_t *bytes, uint32_t length, uint32_t *taken)
{
	struct peer_half *mine = &peer->halves[half];
	struct peer_work *work = peer->work;
	uint32_t last = work->message_bytes[half] - 1;
	uint32_t before = *taken;

	content_gather(work->message[half], &work->gathered[half], last, bytes, length, taken);
	mine->left -= *taken - before;
	if (*taken - before == length)
		return CONTENT_FED;
	work->message[half][last] = bytes[*taken - before];
	enum content_fed fed = take_message(peer, half, turn);

	if (fed != CONTENT_FED)
		return fed;
	++*taken;
	mine->left = 0;
	peer_extended_drop(peer, half, turn);
	return CONTENT_FED;
}

void peer_extended_drop(struct peer *peer, unsigned half, const struct content_turn *turn)
{
	content_give(turn->memory, peer->work->message[half]);
	peer->work->message[half] = NULL;
}
