// SPDX-License-Identifier: BSD-3-Clause
// Reads and changes frames without the gateway's own code.
#include <netinet/in.h>
#include <string.h>
#include "conversation.h"

uint32_t get32(const uint8_t *at)
{
	return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

void put32(uint8_t *at, uint32_t value)
{
	at[0] = (uint8_t)(value >> 24);
	at[1] = (uint8_t)(value >> 16);
	at[2] = (uint8_t)(value >> 8);
	at[3] = (uint8_t)value;
}

uint16_t get16(const uint8_t *at)
{
	return (uint16_t)(at[0] << 8 | at[1]);
}

void put16(uint8_t *at, uint16_t value)
{
	at[0] = (uint8_t)(value >> 8);
	at[1] = (uint8_t)value;
}

// IPv6 options ahead of what is carried are stepped over.
static bool view_options(const uint8_t *frame, struct frame_view *view)
{
	while (view->proto == IPPROTO_HOPOPTS || view->proto == IPPROTO_DSTOPTS) {
		if (view->l4 + 8 > view->end)
			return false;
		view->proto = frame[view->l4];
		view->l4 += 8 + frame[view->l4 + 1] * 8u;
	}
	return true;
}

static bool view_l4(const uint8_t *frame, struct frame_view *view)
{
	if (view->proto == IPPROTO_UDP)
		view->payload = view->l4 + 8;
	else if (view->proto == IPPROTO_TCP && view->l4 + 20 <= view->end)
		view->payload = view->l4 + (frame[view->l4 + 12] >> 4) * 4u;
	else
		return false;
	return view->payload >= view->l4 + 8 && view->payload <= view->end;
}

bool frame_view(const uint8_t *frame, uint32_t length, struct frame_view *view)
{
	unsigned at = 12;

	while (at + 6 <= length && (get16(frame + at) == 0x8100 || get16(frame + at) == 0x88a8))
		at += 4;
	view->l3 = at + 2;
	if (view->l3 + 40 > length)
		return false;
	const uint8_t *ip = frame + view->l3;

	if (get16(frame + at) == 0x0800 && ip[0] == 0x45 && !(get16(ip + 6) & 0x3fff)) {
		view->v6 = false;
		view->proto = ip[9];
		view->l4 = view->l3 + 20;
		view->end = view->l3 + get16(ip + 2);
	} else if (get16(frame + at) == 0x86dd && ip[0] >> 4 == 6) {
		view->v6 = true;
		view->proto = ip[6];
		view->l4 = view->l3 + 40;
		view->end = view->l4 + get16(ip + 4);
		if (view->end > length || !view_options(frame, view))
			return false;
	} else {
		return false;
	}
	return view->end <= length && view->l4 + 8 <= view->end && view_l4(frame, view);
}

static uint32_t sum_add(uint32_t sum, const uint8_t *at, unsigned length)
{
	for (unsigned i = 0; i < length; i++)
		sum += i & 1 ? at[i] : (uint32_t)at[i] << 8;
	return sum;
}

static uint16_t sum_end(uint32_t sum)
{
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)~sum;
}

static void l4_sum(uint8_t *frame, const struct frame_view *view, unsigned field, bool pseudo)
{
	const uint8_t *ip = frame + view->l3;
	unsigned length = view->end - view->l4;
	uint32_t sum = pseudo ? length + view->proto : 0;

	put16(frame + view->l4 + field, 0);
	if (pseudo)
		sum = sum_add(sum, ip + (view->v6 ? 8 : 12), view->v6 ? 32 : 8);
	sum = sum_add(sum, frame + view->l4, length);
	put16(frame + view->l4 + field, sum_end(sum));
}

void frame_sum(struct conversation_packet *packet, const struct frame_view *view)
{
	if (view->proto == IPPROTO_UDP && !get16(packet->frame + view->l4 + 6))
		return; // has none
	if (!view->v6) {
		put16(packet->frame + view->l3 + 10, 0);
		put16(packet->frame + view->l3 + 10,
			sum_end(sum_add(0, packet->frame + view->l3, 20)));
	}
	l4_sum(packet->frame, view, view->proto == IPPROTO_TCP ? 16 : 6, true);
}

void frame_fix(struct conversation_packet *packet, const struct frame_view *view)
{
	uint8_t *frame = packet->frame, *ip = frame + view->l3;

	if (view->v6) {
		put16(ip + 4, (uint16_t)(view->end - view->l3 - 40));
	} else {
		put16(ip + 2, (uint16_t)(view->end - view->l3));
		put16(ip + 10, 0);
		put16(ip + 10, sum_end(sum_add(0, ip, 20)));
	}
	if (view->proto == IPPROTO_UDP)
		put16(frame + view->l4 + 4, (uint16_t)(view->end - view->l4));
	packet->length = view->end < 60 ? 60 : view->end;
	if (view->end < 60)
		memset(frame + view->end, 0, 60 - view->end);
	if (view->proto == IPPROTO_TCP)
		l4_sum(frame, view, 16, true);
	else if (view->proto == IPPROTO_UDP)
		l4_sum(frame, view, 6, true);
	else
		l4_sum(frame, view, 2, view->v6);
}

void frame_turn(struct conversation_packet *packet, const struct frame_view *view)
{
	uint8_t *ip = packet->frame + view->l3, *l4 = packet->frame + view->l4, kept[16];
	unsigned size = view->v6 ? 16 : 4, at = view->v6 ? 8 : 12;

	memcpy(kept, ip + at, size);
	memmove(ip + at, ip + at + size, size);
	memcpy(ip + at + size, kept, size);
	memcpy(kept, l4, 2);
	memmove(l4, l4 + 2, 2);
	memcpy(l4 + 2, kept, 2);
}

bool frame_payload(struct conversation_packet *packet, struct frame_view *view, const void *payload,
	unsigned length)
{
	if (view->payload + length > CONVERSATION_FRAME)
		return false;
	memcpy(packet->frame + view->payload, payload, length);
	view->end = view->payload + length;
	frame_fix(packet, view);
	return true;
}

bool frame_tag(struct conversation_packet *packet, uint16_t tag)
{
	struct frame_view view;

	if (!frame_view(packet->frame, packet->length, &view) ||
		packet->length + 4 > CONVERSATION_FRAME)
		return false;
	uint8_t *type = packet->frame + view.l3 - 2;

	memmove(type + 4, type, packet->length - (view.l3 - 2));
	put16(type, 0x8100);
	put16(type + 2, tag);
	packet->length += 4;
	return true;
}

bool frame_icmp_error(struct conversation_packet *packet, const struct frame_view *view,
	const uint8_t *source, uint8_t type, uint8_t code)
{
	struct frame_view made = *view;
	uint8_t quoted[128], *ip = packet->frame + view->l3;
	unsigned header = view->v6 ? 40 : 20, size = view->v6 ? 16 : 4, at = view->v6 ? 8 : 12;
	unsigned n = view->end - view->l3;

	made.l4 = view->l3 + header;
	n = n > header + 20 ? header + 20 : n;
	memcpy(quoted, ip, n);
	memcpy(ip + at, source ? source : quoted + at + size, size);
	memcpy(ip + at + size, quoted + at, size);
	made.proto = view->v6 ? IPPROTO_ICMPV6 : IPPROTO_ICMP;
	ip[view->v6 ? 6 : 9] = made.proto;
	memset(packet->frame + made.l4, 0, 8);
	packet->frame[made.l4] = type;
	packet->frame[made.l4 + 1] = code;
	if (made.l4 + 8 + n > CONVERSATION_FRAME)
		return false;
	memcpy(packet->frame + made.l4 + 8, quoted, n);
	made.end = made.l4 + 8 + n;
	frame_fix(packet, &made);
	return true;
}
