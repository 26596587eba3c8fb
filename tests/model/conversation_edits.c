// SPDX-License-Identifier: BSD-3-Clause
// What a rule that masks a keyword makes of a capture, told from its packets alone: where the
// keyword stands in the bytes of a half, over however many segments, there are blanks. Only
// captures in which it stands nowhere but in messages are judged by it.
#include <netinet/in.h>
#include <string.h>
#include "conversation_judge.h"

#define KEYWORD_LENGTH (sizeof(CONVERSATION_KEYWORD) - 1)

static bool payload_of(const struct conversation_packet *packet, struct frame_view *view)
{
	return frame_view(packet->frame, packet->length, view) && view->proto == IPPROTO_TCP &&
	       view->end > view->payload;
}

static bool same_half(const struct conversation_packet *a, const struct conversation_packet *b)
{
	return a->outside == b->outside && judge_same_connection(a, b);
}

// The byte of the packet's half at this number, if the packet has it; NULL: it has not.
static uint8_t *byte_at(struct conversation_packet *packet, uint32_t seq)
{
	struct frame_view view;

	if (!payload_of(packet, &view))
		return NULL;
	uint32_t at = seq - get32(packet->frame + view.l4 + 4);

	return at < view.end - view.payload ? packet->frame + view.payload + at : NULL;
}

// Some packet of the half has that byte there.
static bool has_byte(struct conversation *talk, const struct conversation_packet *of, uint32_t seq,
	uint8_t value)
{
	for (unsigned i = 0; i < talk->n; i++) {
		const uint8_t *byte = byte_at(&talk->packets[i], seq);

		if (byte && *byte == value && same_half(of, &talk->packets[i]))
			return true;
	}
	return false;
}

static bool has_keyword(
	struct conversation *talk, const struct conversation_packet *of, uint32_t seq)
{
	for (uint32_t i = 0; i < KEYWORD_LENGTH; i++)
		if (!has_byte(talk, of, seq + i, (uint8_t)CONVERSATION_KEYWORD[i]))
			return false;
	return true;
}

static void blank(struct conversation *talk, const struct conversation_packet *of, uint32_t seq)
{
	for (unsigned i = 0; i < talk->n; i++) {
		struct conversation_packet *packet = &talk->packets[i];
		struct frame_view view;

		if (!same_half(of, packet))
			continue;
		for (uint32_t k = 0; k < KEYWORD_LENGTH; k++) {
			uint8_t *byte = byte_at(packet, seq + k);

			if (byte)
				*byte = ' ';
		}
		if (payload_of(packet, &view))
			frame_sum(packet, &view);
	}
}

// Each place of the keyword in a capture: the packet that has its first byte, and its number.
typedef bool place_fn(void *ctx, const struct conversation_packet *first, uint32_t seq);

static bool each_place(struct conversation *plain, place_fn *place, void *ctx)
{
	for (unsigned i = 0; i < plain->n; i++) {
		const struct conversation_packet *packet = &plain->packets[i];
		struct frame_view view;

		if (!payload_of(packet, &view))
			continue;
		uint32_t seq = get32(packet->frame + view.l4 + 4);

		for (uint32_t k = 0; k < view.end - view.payload; k++)
			if (packet->frame[view.payload + k] == CONVERSATION_KEYWORD[0] &&
				has_keyword(plain, packet, seq + k) && !place(ctx, packet, seq + k))
				return false;
	}
	return true;
}

static bool blank_it(void *ctx, const struct conversation_packet *first, uint32_t seq)
{
	blank(ctx, first, seq);
	return true;
}

void edits_expect(struct conversation *plain, struct conversation *edited)
{
	*edited = *plain;
	each_place(plain, blank_it, edited);
}

struct looked_for {
	const struct sent *sent;
	int packet; // that has it
};

static bool byte_left(const struct sent *sent, const struct conversation_packet *first,
	uint32_t seq, uint8_t value)
{
	struct conversation_packet packet = {0};

	for (unsigned i = 0; i < sent->n; i++) {
		if (sent->frames[i].to_outside == first->outside)
			continue;
		packet.outside = first->outside;
		packet.length = sent->frames[i].length;
		memcpy(packet.frame, sent->frames[i].frame, packet.length);
		const uint8_t *byte = byte_at(&packet, seq);

		if (byte && *byte == value && same_half(first, &packet))
			return true;
	}
	return false;
}

static bool is_kept_back(void *ctx, const struct conversation_packet *first, uint32_t seq)
{
	struct looked_for *looked_for = ctx;

	for (uint32_t i = 0; i < KEYWORD_LENGTH; i++)
		if (!byte_left(looked_for->sent, first, seq + i, (uint8_t)CONVERSATION_KEYWORD[i]))
			return true;
	looked_for->packet = first->honest;
	return false;
}

int edits_left_whole(struct conversation *plain, const struct sent *sent)
{
	struct looked_for looked_for = {.sent = sent, .packet = -1};

	each_place(plain, is_kept_back, &looked_for);
	return looked_for.packet;
}

bool edits_left_otherwise(
	struct conversation *plain, struct conversation *edited, const struct sent *sent)
{
	struct conversation_packet packet = {0};
	struct frame_view view;

	for (unsigned i = 0; i < sent->n; i++) {
		packet.outside = !sent->frames[i].to_outside;
		packet.length = sent->frames[i].length;
		memcpy(packet.frame, sent->frames[i].frame, packet.length);
		if (!payload_of(&packet, &view))
			continue;
		uint32_t seq = get32(packet.frame + view.l4 + 4);

		for (uint32_t k = 0; k < view.end - view.payload; k++) {
			uint8_t byte = packet.frame[view.payload + k];

			if (!has_byte(edited, &packet, seq + k, byte) &&
				!has_byte(plain, &packet, seq + k, byte))
				return true;
		}
	}
	return false;
}
