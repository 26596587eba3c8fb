// SPDX-License-Identifier: BSD-3-Clause
// The content decoder of BitTorrent's peer wire (BEP 3, 6, 10, 52): the torrent that each end's
// handshake names, and the messages behind it. What is in uTP is not followed; the torrent that a
// handshake names there is a datagram's (app/classify/proto/bittorrent/ids.c).
#include "content/bittorrent/peer.h"

#include <string.h>
#include "content/decoders.h"
#include "content/memory.h"
#include "pipeline/vocab/octets.h"

#define LEAD   \
	"\x13" \
	"BitTorrent protocol"
#define LEAD_BYTES (sizeof(LEAD) - 1)
#define HASH_FROM  8 // behind the reserved bytes
#define HASH_BYTES (HASH_FROM + CONTENT_ID_BT_WIRE)
#define ID_BYTES   20 // a peer's

// An encrypted handshake (MSE) that agrees on plaintext has the plain one of who answers behind at
// most 96 + 512 + 14 + 512 bytes.
#define SEARCH_BYTES 2048

// libtorrent refuses longer messages, Transmission and libTorrent shorter ones.
#define MESSAGE_MAX (1u << 20)

enum { MESSAGE_PIECE = 7, MESSAGE_EXTENDED = 20 };

static void give_up(struct peer *peer, unsigned half, struct content_turn *turn,
	enum content_note note, uint64_t at64)
{
	peer->halves[half].phase = PEER_OVER;
	turn->sink->note(turn->sink->ctx, note, half, at64);
}

static struct peer_half *next_message(struct peer_half *half)
{
	half->phase = PEER_LENGTH;
	half->have = 0;
	return half;
}

static void skip(struct peer_half *half)
{
	half->phase = PEER_SKIP;
	if (!half->left)
		next_message(half);
}

// ---- the handshake ----

// What does not begin as one is encrypted, as what follows is in the same half, but where both ends
// agree on plaintext.
static enum content_fed take_lead(struct peer *peer, unsigned half, struct content_turn *turn,
	const uint8_t *bytes, uint32_t length, uint32_t *taken)
{
	struct peer_half *mine = &peer->halves[half];

	while (*taken < length && mine->have < LEAD_BYTES) {
		uint8_t byte = bytes[(*taken)++];
		bool fits = byte == (uint8_t)LEAD[mine->have];

		mine->searched++;
		if (!fits && !peer->encrypted_noted) {
			peer->encrypted_noted = true;
			turn->sink->note(turn->sink->ctx, CONTENT_NOTE_OPAQUE_ENCRYPTED, half, 0);
		}
		mine->have = fits ? mine->have + 1 : byte == (uint8_t)LEAD[0];
		if (mine->searched == SEARCH_BYTES && mine->have < LEAD_BYTES) {
			mine->phase = PEER_OVER;
			return CONTENT_FED;
		}
	}
	if (mine->have == LEAD_BYTES) {
		mine->phase = PEER_HASH;
		mine->have = 0;
	}
	return CONTENT_FED;
}

static void tell_id(const struct content_turn *turn, const struct content_id *id, unsigned half)
{
	turn->sink->id(turn->sink->ctx, id, half);
}

static void take_hash(struct peer *peer, unsigned half, const struct content_turn *turn)
{
	struct peer_half *mine = &peer->halves[half];

	mine->id = content_id_of(CONTENT_ID_BTIH, mine->head + HASH_FROM);
	mine->has_id = true;
	mine->left = ID_BYTES;
	mine->phase = PEER_SKIP;
	tell_id(turn, &mine->id, half);
}

// The torrent as one half names it, or the other: where both versions of a hybrid are known the one
// who answers may name the other one (BEP 52).
void peer_learn_torrent(struct peer *peer, unsigned half, struct content_turn *turn)
{
	struct peer_work *work = peer->work;
	const struct content_torrents *torrents = turn->torrents;

	for (unsigned i = 0; i < 2 && torrents && !work->torrent; i++) {
		const struct peer_half *names = &peer->halves[half ^ i];

		if (names->has_id)
			work->torrent = torrents->hold(torrents->ctx, &names->id);
	}
	if (!work->torrent || work->told)
		return;
	work->told = true;
	const struct content_id *id = &peer->halves[half].id;
	const struct content_id also = content_id_key(&work->torrent->also);

	if (work->torrent->has_also)
		tell_id(turn, content_id_same(&also, id) ? &work->torrent->id : &also, half);
	if (work->torrent->ambiguous)
		turn->sink->note(turn->sink->ctx, CONTENT_NOTE_TWO_NAMES, half,
			peer->halves[half].message64);
}

// ---- messages ----

static enum content_fed take_length(struct peer *peer, unsigned half, struct content_turn *turn,
	const uint8_t *bytes, uint32_t length, uint32_t *taken)
{
	struct peer_half *mine = &peer->halves[half];

	if (!content_gather(mine->head, &mine->have, 4, bytes, length, taken))
		return CONTENT_FED;
	mine->left = octets_be32(mine->head);
	mine->have = 0;
	mine->message64 = peer_at64(peer, half, *taken) - 4;
	if (mine->left > MESSAGE_MAX)
		give_up(peer, half, turn, CONTENT_NOTE_BAD_LENGTH, mine->message64);
	else if (mine->left) // else it is sent to keep the connection
		mine->phase = PEER_ID;
	return CONTENT_FED;
}

static void take_kind(struct peer_half *half, uint8_t kind)
{
	half->left--;
	if (kind == MESSAGE_PIECE && half->left >= 8)
		half->phase = PEER_BLOCK_HEAD;
	else if (kind == MESSAGE_EXTENDED && half->left)
		half->phase = PEER_EXTENDED_ID;
	else
		skip(half);
}

static bool have_work(struct peer *peer, const struct content_turn *turn)
{
	if (peer->work)
		return true;
	peer->work = content_take(turn->memory, sizeof(*peer->work));
	if (peer->work)
		memset(peer->work, 0, sizeof(*peer->work));
	return peer->work;
}

static enum content_fed take_block_head(struct peer *peer, unsigned half, struct content_turn *turn,
	const uint8_t *bytes, uint32_t length, uint32_t *taken)
{
	struct peer_half *mine = &peer->halves[half];
	uint32_t before = *taken;

	if (!have_work(peer, turn))
		return CONTENT_NO_MEMORY;
	bool whole = content_gather(mine->head, &mine->have, 8, bytes, length, taken);

	mine->left -= *taken - before;
	if (!whole)
		return CONTENT_FED;
	peer_block_begin(peer, half, turn, octets_be32(mine->head), octets_be32(mine->head + 4));
	mine->phase = PEER_BLOCK;
	if (!mine->left)
		next_message(mine);
	return CONTENT_FED;
}

static enum content_fed take_block(struct peer *peer, unsigned half, struct content_turn *turn,
	const uint8_t *bytes, uint32_t length, uint32_t *taken)
{
	struct peer_half *mine = &peer->halves[half];
	uint32_t before = *taken, n = length < mine->left ? length : mine->left;
	enum content_fed fed = peer_block_take(peer, half, turn, bytes, n, taken);

	mine->left -= *taken - before;
	if (mine->left)
		return fed;
	peer_block_end(peer, half, turn);
	next_message(mine);
	return fed;
}

static enum content_fed take_extended_id(struct peer *peer, unsigned half,
	struct content_turn *turn, const uint8_t *bytes, uint32_t *taken)
{
	struct peer_half *mine = &peer->halves[half];

	if (!have_work(peer, turn))
		return CONTENT_NO_MEMORY;
	mine->left--;
	enum content_fed fed = peer_extended_begin(peer, half, turn, bytes[0]);

	if (fed == CONTENT_NO_MEMORY) {
		mine->left++;
		return fed;
	}
	++*taken;
	if (mine->phase != PEER_EXTENDED)
		skip(mine);
	return CONTENT_FED;
}

static enum content_fed take_extended(struct peer *peer, unsigned half, struct content_turn *turn,
	const uint8_t *bytes, uint32_t length, uint32_t *taken)
{
	struct peer_half *mine = &peer->halves[half];
	uint32_t n = length < mine->left ? length : mine->left;
	enum content_fed fed = peer_extended_take(peer, half, turn, bytes, n, taken);

	if (!mine->left && fed == CONTENT_FED)
		next_message(mine);
	return fed;
}

static enum content_fed take_step(struct peer *peer, unsigned half, struct content_turn *turn,
	const uint8_t *bytes, uint32_t length, uint32_t *taken)
{
	struct peer_half *mine = &peer->halves[half];
	uint32_t n;

	switch (mine->phase) {
	case PEER_LEAD: return take_lead(peer, half, turn, bytes, length, taken);
	case PEER_HASH:
		if (content_gather(mine->head, &mine->have, HASH_BYTES, bytes, length, taken))
			take_hash(peer, half, turn);
		return CONTENT_FED;
	case PEER_LENGTH: return take_length(peer, half, turn, bytes, length, taken);
	case PEER_ID: take_kind(mine, bytes[(*taken)++]); return CONTENT_FED;
	case PEER_BLOCK_HEAD: return take_block_head(peer, half, turn, bytes, length, taken);
	case PEER_BLOCK: return take_block(peer, half, turn, bytes, length, taken);
	case PEER_EXTENDED_ID: return take_extended_id(peer, half, turn, bytes, taken);
	case PEER_EXTENDED: return take_extended(peer, half, turn, bytes, length, taken);
	case PEER_SKIP:
		n = length < mine->left ? length : mine->left;
		mine->left -= n;
		*taken += n;
		skip(mine);
		return CONTENT_FED;
	default: *taken += length; return CONTENT_FED;
	}
}

// ---- the decoder ----

static void end_all(struct peer *peer, struct content_turn *turn)
{
	struct peer_work *work = peer->work;

	if (!work)
		return;
	peer_files_end(peer, turn);
	for (unsigned half = 0; half < 2; half++) {
		peer_extended_drop(peer, half, turn);
		peer_metadata_drop(peer, half, turn);
	}
	if (work->torrent)
		turn->torrents->release(turn->torrents->ctx, work->torrent);
	content_give(turn->memory, work);
	peer->work = NULL;
}

static enum content_fed finish(struct peer *peer, struct content_turn *turn)
{
	end_all(peer, turn);
	peer->halves[0].phase = peer->halves[1].phase = PEER_OVER;
	return CONTENT_OVER;
}

static enum content_fed go_on(struct peer *peer, struct content_turn *turn)
{
	if (peer->halves[0].phase != PEER_OVER || peer->halves[1].phase != PEER_OVER)
		return CONTENT_FED;
	return finish(peer, turn);
}

static enum content_fed take(void *state, unsigned half, struct content_turn *turn,
	const uint8_t *bytes, uint32_t length, uint32_t *taken)
{
	struct peer *peer = state;
	struct peer_half *mine = &peer->halves[half];

	if (peer->streams[half].joined && mine->phase == PEER_LEAD)
		give_up(peer, half, turn, CONTENT_NOTE_LOST, peer->streams[half].at64);
	enum content_fed fed = take_step(peer, half, turn, bytes, length, taken);

	return fed == CONTENT_FED && mine->phase == PEER_OVER ? go_on(peer, turn) : fed;
}

static enum content_fed lose(void *state, unsigned half, struct content_turn *turn, uint64_t length)
{
	struct peer *peer = state;
	struct peer_half *mine = &peer->halves[half];
	bool in_body = mine->phase == PEER_SKIP || mine->phase == PEER_BLOCK ||
		       mine->phase == PEER_EXTENDED;

	if (mine->phase == PEER_OVER)
		return CONTENT_FED;
	if (!in_body || length > mine->left) { // where messages begin is not known any more
		if (mine->phase == PEER_BLOCK)
			peer_block_lose(peer, half, turn, mine->left);
		give_up(peer, half, turn, CONTENT_NOTE_LOST,
			peer->streams[half].at64 + (in_body ? mine->left : 0));
		return go_on(peer, turn);
	}
	if (mine->phase == PEER_EXTENDED)
		peer_extended_drop(peer, half, turn);
	if (mine->phase == PEER_BLOCK)
		peer_block_lose(peer, half, turn, length);
	else
		mine->phase = PEER_SKIP;
	mine->left -= (uint32_t)length;
	if (!mine->left)
		next_message(mine);
	return CONTENT_FED;
}

static enum content_fed fin(void *state, unsigned half, struct content_turn *turn)
{
	struct peer *peer = state;

	if (peer->halves[half].phase == PEER_BLOCK)
		peer_block_end(peer, half, turn);
	peer->halves[half].phase = PEER_OVER;
	return go_on(peer, turn);
}

// ---- datagrams ----

#define UTP_HEADER    20
#define UTP_SYN       4
#define UTP_EXTENSION 3
#define UTP_ENOUGH    3 // datagrams of its form; one may have it by chance

// uTP's header (BEP 29): version 1, a type, and which extension follows.
static bool is_utp(const struct span *span)
{
	const uint8_t *at = span_is_gap(span) ? span_nothing() : span_bytes(span);

	return span_length(span) >= UTP_HEADER && (at[0] & 15) == 1 && at[0] >> 4 <= UTP_SYN &&
	       at[1] <= UTP_EXTENSION;
}

// There are very many flows of the DHT and of trackers: one that is none of uTP is followed no
// longer, unless uTP is refused, which may come over the same ports.
static enum content_fed take_datagram(
	struct peer *peer, const struct span *span, struct content_turn *turn)
{
	turn->taken = span->extent;
	if (!is_utp(span))
		return peer->utp_datagrams || turn->asks_opaque ? CONTENT_FED : finish(peer, turn);
	if (++peer->utp_datagrams < UTP_ENOUGH)
		return CONTENT_FED;
	turn->sink->note(turn->sink->ctx, CONTENT_NOTE_OPAQUE_UTP, span->half & 1, span->offset64);
	return finish(peer, turn);
}

static enum content_fed feed(void *state, const struct span *span, struct content_turn *turn)
{
	static const struct content_reader reader = {.take = take, .lose = lose, .fin = fin};
	struct peer *peer = state;

	return span->flags & SPAN_DATAGRAM
		       ? take_datagram(peer, span, turn)
		       : content_stream_feed(peer->streams, &reader, peer, span, turn);
}

static void over(void *state, struct content_turn *turn)
{
	end_all(state, turn);
}

const struct content_decoder content_bittorrent = {
	.app = "bittorrent",
	.rides_http = true, // trackers
	.state_bytes = sizeof(struct peer),
	.finds = CONTENT_FINDS_FILES | CONTENT_FINDS_IDS | CONTENT_FINDS_OPAQUE,
	.feed = feed,
	.over = over,
};
