// SPDX-License-Identifier: BSD-3-Clause
// The content decoder of BitTorrent's peer wire (BEP 3): the torrent that each end's handshake
// names. What it transfers carries no names. The same handshake over uTP is a datagram's
// (app/classify/proto/bittorrent/ids.c).
#include <string.h>
#include "content/decoders.h"

#define LEAD   \
	"\x13" \
	"BitTorrent protocol"
#define LEAD_BYTES (sizeof(LEAD) - 1)
#define HASH_FROM  (LEAD_BYTES + 8) // behind the reserved bytes
#define HEAD_BYTES (HASH_FROM + CONTENT_ID_BT_WIRE)

struct bittorrent_state {
	uint64_t at64[2]; // of the next byte
	uint8_t head[2][HEAD_BYTES];
	uint8_t kept[2];
	bool over[2]; // told, or it is no handshake that can be read
};

static void give_up(struct bittorrent_state *state, unsigned half)
{
	state->over[half] = true;
}

static void take(struct bittorrent_state *state, unsigned half, const struct content_turn *turn,
	const uint8_t *bytes, uint32_t length)
{
	uint32_t room = HEAD_BYTES - state->kept[half], here = length < room ? length : room;
	uint32_t lead;

	memcpy(state->head[half] + state->kept[half], bytes, here);
	state->kept[half] = (uint8_t)(state->kept[half] + here);
	lead = state->kept[half] < LEAD_BYTES ? state->kept[half] : (uint32_t)LEAD_BYTES;
	if (memcmp(state->head[half], LEAD, lead) != 0) {
		give_up(state, half); // encrypted, or another protocol
		return;
	}
	if (state->kept[half] < HEAD_BYTES)
		return;
	const struct content_id id = content_id_of(CONTENT_ID_BTIH, state->head[half] + HASH_FROM);

	give_up(state, half);
	turn->sink->id(turn->sink->ctx, &id, half);
}

static enum content_fed feed(void *of, const struct span *span, struct content_turn *turn)
{
	struct bittorrent_state *state = of;
	unsigned half = span->half & 1;

	if (span->flags & SPAN_MIDSTREAM || span->offset64 + turn->taken != state->at64[half] ||
		(span->extent && !span_length(span)))
		give_up(state, half);
	if (!state->over[half] && span_length(span) > turn->taken)
		take(state, half, turn, span_bytes(span) + turn->taken,
			span_length(span) - turn->taken);
	turn->taken = span->extent;
	state->at64[half] = span->offset64 + span->extent;
	if (span->flags & SPAN_FIN)
		give_up(state, half);
	return state->over[HALF_C2S] && state->over[HALF_S2C] ? CONTENT_OVER : CONTENT_FED;
}

static void over(void *of, struct content_turn *turn)
{
	(void)of;
	(void)turn;
}

const struct content_decoder content_bittorrent = {
	.app = "bittorrent",
	.state_bytes = sizeof(struct bittorrent_state),
	.finds = CONTENT_FINDS_IDS,
	.feed = feed,
	.over = over,
};
