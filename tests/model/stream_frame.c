// SPDX-License-Identifier: BSD-3-Clause
// Frames of the streams' model: written and read without the gateway's code.
#include <string.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include "stream_schedule.h"

static void put16(uint8_t *p, uint32_t v)
{
	p[0] = (uint8_t)(v >> 8);
	p[1] = (uint8_t)v;
}

static void put32(uint8_t *p, uint32_t v)
{
	put16(p, v >> 16);
	put16(p + 2, v);
}

static uint16_t get16(const uint8_t *p)
{
	return (uint16_t)(p[0] << 8 | p[1]);
}

static uint32_t get32(const uint8_t *p)
{
	return (uint32_t)get16(p) << 16 | get16(p + 2);
}

// RFC 1071, over 64-bit words of the machine's order: the sum is the same but for a swap.
static uint64_t add(uint64_t sum, const uint8_t *p, unsigned length)
{
	for (; length >= 4; length -= 4, p += 4) {
		uint32_t word;

		memcpy(&word, p, 4);
		sum += word;
	}
	if (length) {
		uint32_t word = 0;

		memcpy(&word, p, length);
		sum += word;
	}
	return sum;
}

static uint16_t fold(uint64_t sum)
{
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)~sum;
}

static uint16_t sum_of(const uint8_t *ip, bool v6, const uint8_t *tcp, unsigned length)
{
	uint64_t sum = v6 ? add(0, ip + 8, 32) : add(0, ip + 12, 8);
	uint8_t rest[4] = {0, IPPROTO_TCP};

	put16(rest + 2, length);
	return fold(add(add(sum, rest, 4), tcp, length));
}

static unsigned put_options(const struct stream_frame *frame, uint8_t *options)
{
	unsigned n = 0;

	if (frame->syn_options) {
		static const uint8_t begin[] = {2, 4, 5, 180, 4, 2, 1, 3, 3};

		memcpy(options, begin, sizeof(begin));
		options[sizeof(begin)] = frame->scale;
		n = sizeof(begin) + 1;
		options[n++] = 1;
		options[n++] = 1;
	}
	if (frame->stamped) {
		options[n] = options[n + 1] = 1;
		options[n + 2] = 8;
		options[n + 3] = 10;
		put32(options + n + 4, frame->stamp);
		put32(options + n + 8, frame->echo);
		n += 12;
	}
	return n;
}

unsigned stream_frame_build(const struct stream_frame *frame, uint8_t *out)
{
	static const uint8_t macs[2][12] = {
		{2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1}, {2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2}};
	uint8_t *ip = out + 14;
	unsigned header = frame->v6 ? 40 : 20;
	uint8_t *tcp = ip + header;
	uint32_t client = 0x0a000000u + frame->client, server = 0x0b000001u;
	uint32_t ends[2] = {frame->half ? server : client, frame->half ? client : server};

	memcpy(out, macs[frame->half], 12);
	put16(out + 12, frame->v6 ? 0x86dd : 0x0800);
	memset(ip, 0, header + 20);
	unsigned n_options = put_options(frame, tcp + 20);
	unsigned length = 20 + n_options + frame->length;

	if (frame->v6) {
		ip[0] = 0x60;
		put16(ip + 2, frame->id);
		put16(ip + 4, length);
		ip[6] = IPPROTO_TCP;
		ip[7] = 63;
		ip[8] = ip[24] = 0xfd;
		put32(ip + 20, ends[0]);
		put32(ip + 36, ends[1]);
	} else {
		ip[0] = 0x45;
		put16(ip + 2, header + length);
		put16(ip + 4, frame->id);
		ip[8] = 63;
		ip[9] = IPPROTO_TCP;
		put32(ip + 12, ends[0]);
		put32(ip + 16, ends[1]);
		uint16_t sum = fold(add(0, ip, 20));

		memcpy(ip + 10, &sum, 2);
	}
	put16(tcp, frame->half ? 80 : 40000);
	put16(tcp + 2, frame->half ? 40000 : 80);
	put32(tcp + 4, frame->seq);
	put32(tcp + 8, frame->ack);
	tcp[12] = (uint8_t)((20 + n_options) << 2);
	tcp[13] = frame->tcp_flags;
	put16(tcp + 14, frame->window);
	memcpy(tcp + 20 + n_options, frame->payload, frame->length);
	uint16_t sum = sum_of(ip, frame->v6, tcp, length);

	memcpy(tcp + 16, &sum, 2);
	if (frame->bad_checksum)
		tcp[16] ^= 0x55;
	return 14 + header + length;
}

static void read_options(struct stream_read *read, const uint8_t *options, unsigned n)
{
	for (unsigned i = 0; i < n && options[i];) {
		if (options[i] == 1) {
			i++;
			continue;
		}
		if (i + 1 >= n || options[i + 1] < 2 || i + options[i + 1] > n)
			return;
		if (options[i] == 8 && options[i + 1] == 10) {
			read->stamped = true;
			read->stamp = get32(options + i + 2);
		}
		i += options[i + 1];
	}
}

bool stream_frame_read(const uint8_t *frame, unsigned length, struct stream_read *read)
{
	memset(read, 0, sizeof(*read));
	if (length < 54)
		return false;
	bool v6 = get16(frame + 12) == 0x86dd;
	const uint8_t *ip = frame + 14, *tcp = ip + (v6 ? 40 : 20);
	unsigned total = v6 ? 40u + get16(ip + 4) : get16(ip + 2);

	if (v6 ? length < 74 || ip[6] != IPPROTO_TCP : ip[0] != 0x45 || ip[9] != IPPROTO_TCP)
		return false;
	if (14 + total > length || total < (v6 ? 60 : 40))
		return false;
	unsigned l4 = total - (v6 ? 40 : 20), header = (unsigned)tcp[12] >> 4 << 2;

	if (header < 20 || header > l4)
		return false;
	read->id = get16(ip + (v6 ? 2 : 4));
	read->seq = get32(tcp + 4);
	read->ack = get32(tcp + 8);
	read->tcp_flags = tcp[13];
	read->window = get16(tcp + 14);
	read->payload = tcp + header;
	read->length = l4 - header;
	read->header = (unsigned)(read->payload - frame);
	read->checksum_good = !sum_of(ip, v6, tcp, l4) && (v6 || !fold(add(0, ip, 20)));
	read_options(read, tcp + 20, header - 20);
	return true;
}
