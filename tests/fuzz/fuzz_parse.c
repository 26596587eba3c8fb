// SPDX-License-Identifier: BSD-3-Clause
// parse, the flow key, checksum and craft on one frame. Byte 0: link type and whether it is from a
// capture; byte 1: how much of the frame is readable, in 256ths (0: all). Whatever the frame, the
// offsets lie inside it, the key has one hash, and what is made in answer is whole.
#include <stdlib.h>
#include <string.h>
#include <netinet/in.h>
#include <rte_mbuf.h>
#include "pipeline/wire/checksum.h"
#include "pipeline/wire/craft.h"
#include "pipeline/wire/parse.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static void must(bool holds)
{
	if (!holds)
		abort();
}

static void check_parsed(
	const struct pkt *pkt, const uint8_t *frame, uint32_t readable, uint32_t frame_length)
{
	union flow_key key = {0};
	bool v6 = pkt->flags & PKT_V6;

	must(pkt->n_vlan <= PKT_VLANS_MAX);
	if (pkt->class != PKT_IP) {
		must(!(pkt->flags & PKT_L4_OK));
		parse_link_protocol(frame, readable, pkt);
		return;
	}
	must(pkt->outer_l3_off <= pkt->l3_off);
	must(pkt->l3_off + (v6 ? 40u : 20u) <= readable);
	must(pkt->l4_off >= pkt->l3_off + (v6 ? 40u : 20u) && pkt->payload_off >= pkt->l4_off);
	must((uint32_t)pkt->payload_off + pkt->payload_len <= frame_length);
	must(!(pkt->flags & PKT_FRAG_FIRST) || pkt->flags & PKT_FRAGMENT);
	must(!(pkt->flags & PKT_TUNNEL) || pkt->realm & REALM_HASHED);
	if (pkt->flags & PKT_ICMP_ERROR)
		must(pkt->emb_off >= pkt->l4_off + 8 && pkt->emb_off + 20u <= readable);
	parse_flow_key(pkt, frame, &key);
	must(memcmp(v6 ? key.v6.addr_a : (uint8_t *)&key.v4.addr_a,
		     v6 ? key.v6.addr_b : (uint8_t *)&key.v4.addr_b, v6 ? 16 : 4) <= 0);
}

// An mbuf that no pool owns: nothing frees it here, and EAL need not run.
struct loose_mbuf {
	struct rte_mbuf m;
	struct pkt pkt;
};
static_assert(offsetof(struct loose_mbuf, pkt) == sizeof(struct rte_mbuf), "pkt_of finds it");

static void loose_init(struct loose_mbuf *loose, uint8_t *place, uint16_t size, uint16_t length)
{
	*loose = (struct loose_mbuf){.m = {
					     .buf_addr = place,
					     .buf_len = size,
					     .data_len = length,
					     .pkt_len = length,
					     .nb_segs = 1,
					     .refcnt = 1,
					     .priv_size = sizeof(struct pkt),
				     }};
}

static void check_answer(struct rte_mbuf *m, int (*craft)(struct rte_mbuf *, struct rte_mbuf *))
{
	uint8_t place[1600];
	struct loose_mbuf out;
	union flow_key key = {0};

	loose_init(&out, place, sizeof(place), 0);
	if (craft(&out.m, m)) {
		must(out.m.pkt_len == 0);
		return;
	}
	struct pkt *pkt = &out.pkt;

	pkt->link = pkt_of(m)->link;
	parse_mbuf(&out.m, &PARSE_SETTINGS_FIXED, &key);
	must(pkt->class == PKT_IP && pkt->flags & PKT_L4_OK);
	checksum_verify(&out.m);
	must(pkt->flags & PKT_CSUM_GOOD);
	union flow_key of = {0};

	parse_mbuf_key(m, &of);
	must(!memcmp(&key, &of, sizeof(key))); // also of an ICMP error: it is about that flow
}

// parse_mbuf has a short way for plain frames: it must come to the same.
static void check_short_way(const struct pkt *parsed, uint8_t *frame, uint32_t length)
{
	struct loose_mbuf again;
	union flow_key key = {0}, expected = {0};

	loose_init(&again, frame, (uint16_t)length, (uint16_t)length);
	again.pkt.link = parsed->link;
	again.pkt.flags = parsed->flags & PKT_CAPTURED;
	must(parse_mbuf(&again.m, &PARSE_SETTINGS_FIXED, &key) == (parsed->class == PKT_IP));
	must(!memcmp(&again.pkt, parsed, sizeof(*parsed)));
	if (parsed->class != PKT_IP)
		return;
	parse_flow_key(parsed, frame, &expected);
	must(!memcmp(&key, &expected, sizeof(key)));
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	struct loose_mbuf in;

	if (len < 2 || len > 9000)
		return 0;
	uint32_t frame_length = (uint32_t)len - 2;
	uint32_t readable = bytes[1] ? frame_length * bytes[1] / 256 : frame_length;
	uint8_t *frame = malloc(readable ? readable : 1);

	if (!frame)
		abort();
	memcpy(frame, bytes + 2, readable);
	loose_init(&in, frame, (uint16_t)readable, (uint16_t)readable);
	in.pkt.link = bytes[0] & 7;
	in.pkt.flags = bytes[0] & 8 ? PKT_CAPTURED : 0;
	parse_packet(&in.pkt, frame, readable, frame_length);
	check_parsed(&in.pkt, frame, readable, frame_length);
	if (readable == frame_length)
		check_short_way(&in.pkt, frame, readable);
	if (readable == frame_length && in.pkt.class == PKT_IP) {
		checksum_verify(&in.m);
		must(!(in.pkt.flags & PKT_CSUM_GOOD) != !(in.pkt.flags & PKT_CSUM_BAD));
		if (!(in.pkt.flags & PKT_CAPTURED)) {
			check_answer(&in.m, craft_reset_reply);
			check_answer(&in.m, craft_unreachable);
		}
	}
	free(frame);
	return 0;
}
