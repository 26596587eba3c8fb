// SPDX-License-Identifier: BSD-3-Clause
// Prints what the parser makes of packets, for comparisons.
// stdin, little-endian: per packet u16 link type, u32 length, the bytes. stdout: a line each,
//   class depth flags l4_proto l3_off payload_off payload_len sport dport tcp_flags seq ack hash
//   source destination      (addresses in hex; "-" where there is no IP header)
// `flags` in hex. Every packet lies in a heap block of its exact size.
#include <stdio.h>
#include <stdlib.h>
#include "pipeline/wire/parse.h"

static void print_address(const uint8_t *bytes, unsigned n)
{
	putchar(' ');
	for (unsigned i = 0; i < n; i++)
		printf("%02x", bytes[i]);
}

static uint32_t key_hash(const struct pkt *pkt, const uint8_t *frame)
{
	union flow_key key;

	if (pkt->class != PKT_IP)
		return 0;
	parse_flow_key(pkt, frame, &key);
	return parse_hash(&HASH_SEED_FIXED, &key, pkt->flags & PKT_V6);
}

static void print_packet(uint16_t linktype, const uint8_t *frame, uint32_t length)
{
	struct pkt pkt = {.link = parse_link_of(linktype), .flags = PKT_CAPTURED};

	parse_packet(&pkt, frame, length, length);
	printf("%u %u %x %u %u %u %u %u %u %u %u %u %u", pkt.class, !!(pkt.flags & PKT_TUNNEL),
		pkt.flags, pkt.l4_proto, pkt.l3_off, pkt.payload_off, pkt.payload_len, pkt.sport,
		pkt.dport, pkt.tcp_flags, pkt.tcp_seq, pkt.tcp_ack, key_hash(&pkt, frame));
	if (pkt.class == PKT_IP && pkt.flags & PKT_V6) {
		print_address(frame + pkt.l3_off + 8, 16);
		print_address(frame + pkt.l3_off + 24, 16);
	} else if (pkt.class == PKT_IP) {
		print_address(frame + pkt.l3_off + 12, 4);
		print_address(frame + pkt.l3_off + 16, 4);
	} else {
		fputs(" - -", stdout);
	}
	putchar('\n');
}

int main(void)
{
	struct __attribute__((packed)) {
		uint16_t linktype;
		uint32_t length;
	} head;

	while (fread(&head, sizeof(head), 1, stdin) == 1) {
		uint8_t *frame = malloc(head.length ? head.length : 1);

		if (!frame || fread(frame, 1, head.length, stdin) != head.length)
			return 1;
		print_packet(head.linktype, frame, head.length);
		free(frame);
	}
	return 0;
}
