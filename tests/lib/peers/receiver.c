// SPDX-License-Identifier: BSD-3-Clause
#include "receiver.h"
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include "pipeline/wire/checksum.h"

#define FAR_TTL  5
#define IN_FRONT 0x40000000 // offsets beyond this are before the first byte

static uint32_t be32(const uint8_t *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static uint16_t be16(const uint8_t *p)
{
	return (uint16_t)(p[0] << 8 | p[1]);
}

static bool checksum_is_good(const uint8_t *frame, uint32_t length, bool v6, unsigned l4)
{
	uint8_t copy[2048];

	memcpy(copy, frame, length);
	checksum_fill(copy + 14, copy + l4, (uint16_t)(length - l4), IPPROTO_TCP, v6);
	uint16_t is = be16(frame + l4 + 16), should = be16(copy + l4 + 16);

	return is == should || (is % 0xffff == 0 && should % 0xffff == 0);
}

struct wire_segment wire_segment(const uint8_t *frame, uint32_t length)
{
	bool v6 = be16(frame + 12) == 0x86dd;
	unsigned l4 = v6 ? 54 : 34, header = (unsigned)(frame[l4 + 12] >> 4) * 4;
	const uint8_t *tcp = frame + l4;
	struct wire_segment segment = {
		.seq = be32(tcp + 4),
		.ack = be32(tcp + 8),
		.flags = tcp[13],
		.window = be16(tcp + 14),
		.ttl = v6 ? frame[21] : frame[22],
		.good_checksum = checksum_is_good(frame, length, v6, l4),
		.payload = tcp + header,
		.length = length - l4 - header,
	};

	// as all that a story sends: NOP, NOP, timestamps
	if (header >= 32 && tcp[22] == TCPOPT_TIMESTAMP) {
		segment.has_time = true;
		segment.time = be32(tcp + 24);
		segment.echo = be32(tcp + 28);
	}
	return segment;
}

void receiver_begin(struct receiver *receiver, unsigned traits, uint32_t first, bool takes_syn_data)
{
	memset(receiver, 0, sizeof(*receiver));
	receiver->traits = traits;
	receiver->first = first;
	receiver->takes_syn_data = takes_syn_data;
	receiver->window = 65000;
}

static bool is_old(const struct receiver *receiver, const struct wire_segment *segment)
{
	return receiver->traits & RECEIVER_PAWS && receiver->has_time && segment->has_time &&
	       (int32_t)(segment->time - receiver->time) < 0;
}

static void take_reset(struct receiver *receiver, uint32_t at)
{
	uint32_t ahead = at - receiver->next;

	if (!ahead || (receiver->traits & RECEIVER_RESET && ahead < 65000))
		receiver->gone = true;
}

static void put(struct receiver *receiver, uint32_t at, uint32_t begun, uint8_t byte)
{
	if (at < receiver->next || at >= RECEIVER_ROOM)
		return;
	if (receiver->traits & RECEIVER_NARROW && at >= receiver->window)
		return;
	if (receiver->has[at]) {
		bool wins = receiver->traits & RECEIVER_BSD ? begun < receiver->begun[at]
							    : receiver->traits & RECEIVER_LAST;

		if (!wins)
			return;
	}
	receiver->has[at] = true;
	receiver->begun[at] = begun;
	receiver->bytes[at] = byte;
}

void receiver_take(struct receiver *receiver, const struct wire_segment *segment)
{
	bool syn = segment->flags & TH_SYN;
	uint32_t at = segment->seq + syn - receiver->first;
	uint32_t skip = at >= IN_FRONT ? -at : 0;

	if (receiver->gone || !segment->good_checksum ||
		(receiver->traits & RECEIVER_FAR && segment->ttl < FAR_TTL))
		return;
	if (segment->flags & TH_RST) {
		take_reset(receiver, at);
		return;
	}
	if (is_old(receiver, segment))
		return;
	if (segment->has_time && at <= receiver->next) {
		receiver->has_time = true;
		receiver->time = segment->time;
	}
	if (!segment->length || (syn && (at || !receiver->takes_syn_data)))
		return;
	if (!syn && !(segment->flags & TH_ACK) && !(receiver->traits & RECEIVER_LAX))
		return;
	if (segment->flags & TH_URG && receiver->traits & RECEIVER_URGENT)
		receiver->misled = true;
	for (uint32_t i = skip; i < segment->length; i++)
		put(receiver, at + i, skip ? 0 : at, segment->payload[i]);
	while (receiver->next < RECEIVER_ROOM && receiver->has[receiver->next])
		receiver->next++;
}
