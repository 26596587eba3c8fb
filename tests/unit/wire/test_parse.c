// SPDX-License-Identifier: BSD-3-Clause
// The parser: what it says of every kind of packet, at every length, in both directions.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <cmocka.h>
#include "lib/packet/packet.h"
#include "pipeline/wire/parse.h"

#define EITHER_SIDE ((uint16_t)~PKT_A_TO_B)

// A copy in a heap block of `length` bytes, of which parse believes `frame_length` to exist.
static struct pkt parse_heap(const struct packet *p, uint32_t length, uint32_t frame_length,
	uint16_t flags, union flow_key *key)
{
	struct pkt pkt = {.link = p->link, .flags = flags};
	uint8_t *frame = malloc(length ? length : 1);

	assert_non_null(frame);
	memcpy(frame, p->bytes, length);
	parse_packet(&pkt, frame, length, frame_length);
	if (key) {
		memset(key, 0, sizeof(*key));
		if (pkt.class == PKT_IP)
			parse_flow_key(&pkt, frame, key);
	}
	free(frame);
	return pkt;
}

static struct pkt parse_whole(const struct packet *p, union flow_key *key)
{
	return parse_heap(p, p->length, p->length, 0, key);
}

static void check_bounds(const struct pkt *pkt, uint32_t length)
{
	if (pkt->class != PKT_IP)
		return;
	assert_true(pkt->outer_l3_off <= pkt->l3_off && pkt->l3_off < length);
	assert_true(pkt->l4_off > pkt->l3_off && pkt->payload_off >= pkt->l4_off);
	assert_true((uint32_t)pkt->payload_off + pkt->payload_len <= length);
}

static void check_as_told(const struct packet_sample *s, const struct pkt *pkt)
{
	if (pkt->class != s->class)
		fail_msg("%s: class %u", s->name, pkt->class);
	check_bounds(pkt, s->packet.length);
	if (s->class == PKT_LINK)
		assert_int_equal(pkt->flags, s->flags);
	if (s->class != PKT_IP)
		return;
	if ((pkt->flags & EITHER_SIDE) != s->flags)
		fail_msg("%s: flags %x, not %x", s->name, pkt->flags & EITHER_SIDE, s->flags);
	if (pkt->l4_proto != s->proto)
		fail_msg("%s: protocol %u", s->name, pkt->l4_proto);
	if (pkt->sport != s->sport || pkt->dport != s->dport)
		fail_msg("%s: ports %u, %u", s->name, pkt->sport, pkt->dport);
	if (pkt->payload_len != s->payload_length)
		fail_msg("%s: payload %u", s->name, pkt->payload_len);
	if (pkt->flags & PKT_TUNNEL)
		assert_true(pkt->realm & REALM_HASHED);
	assert_int_equal(pkt->ethertype, pkt->flags & PKT_V6 ? 0x86dd : 0x0800);
}

static void test_samples(void **state)
{
	struct packet_sample s;

	(void)state;
	for (unsigned i = 0; packet_sample(i, &s); i++) {
		struct pkt pkt = parse_whole(&s.packet, NULL);

		check_as_told(&s, &pkt);
		if (s.class == PKT_IP)
			assert_int_equal(pkt.payload_off + pkt.payload_len, s.packet.length);
		packet_padding(&s.packet, 13); // behind the packet: nobody's
		pkt = parse_whole(&s.packet, NULL);
		check_as_told(&s, &pkt);
	}
}

static void test_tcp_fields(void **state)
{
	struct packet p;

	(void)state;
	packet_begin(&p);
	packet_ethernet(&p);
	packet_ipv6(&p, "2001:db8::1", "2001:db8::2");
	packet_tcp(&p, 1, 2, 0xfffffffe, 0x80000001, TH_FIN | TH_URG);
	packet_tcp_options(&p, 3);
	packet_text(&p, "bytes");
	packet_finish(&p);
	p.bytes[packet_at(&p, IPPROTO_IPV6, 0) + 7] = 3;
	struct pkt pkt = parse_whole(&p, NULL);

	assert_int_equal(pkt.tcp_seq, 0xfffffffe);
	assert_int_equal(pkt.tcp_ack, 0x80000001);
	assert_int_equal(pkt.tcp_flags, TH_FIN | TH_URG);
	assert_int_equal(pkt.tcp_win, 65000);
	assert_int_equal(pkt.ttl, 3);
	assert_int_equal(pkt.l4_off, 54);
	assert_int_equal(pkt.payload_off, 54 + 32);
	assert_int_equal(pkt.payload_len, 5);
}

// On a port, a packet that was cut anywhere is malformed: no receiver takes it.
static void test_cut_live(void **state)
{
	struct packet_sample s;

	(void)state;
	for (unsigned i = 0; packet_sample(i, &s); i++) {
		for (uint32_t n = 0; n < s.packet.length; n++) {
			struct pkt pkt = parse_heap(&s.packet, n, n, 0, NULL);

			check_bounds(&pkt, n);
			if (s.class == PKT_IP && pkt.class != PKT_MALFORMED)
				fail_msg("%s cut at %u: class %u", s.name, n, pkt.class);
		}
	}
}

// In a capture its headers count as far as they are there.
static void test_cut_captured(void **state)
{
	union flow_key whole_key, key;
	struct packet_sample s;

	(void)state;
	for (unsigned i = 0; packet_sample(i, &s); i++) {
		struct pkt whole = parse_whole(&s.packet, &whole_key);
		uint32_t need = whole.payload_off;

		if (whole.flags & PKT_ICMP_ERROR)
			need = s.packet.length; // the embedded one, too
		for (uint32_t n = 0; n < s.packet.length; n++) {
			struct pkt pkt = parse_heap(&s.packet, n, n, PKT_CAPTURED, &key);

			check_bounds(&pkt, n);
			if (s.class != PKT_IP || n < need)
				continue;
			assert_int_equal(pkt.class, PKT_IP);
			assert_int_equal(pkt.flags, whole.flags | PKT_CAPTURED);
			if (pkt.payload_len != n - whole.payload_off)
				fail_msg("%s cut at %u: %u", s.name, n, pkt.payload_len);
			assert_memory_equal(&key, &whole_key, sizeof(key));
		}
	}
}

// Only a part of the frame can be read: then it is unsupported or the same, never malformed.
static void test_window(void **state)
{
	union flow_key whole_key, key;
	struct packet_sample s;

	(void)state;
	for (unsigned i = 0; packet_sample(i, &s); i++) {
		struct pkt whole = parse_whole(&s.packet, &whole_key);

		for (uint32_t n = 0; n < s.packet.length; n++) {
			struct pkt pkt = parse_heap(&s.packet, n, s.packet.length, 0, &key);

			if (s.class != PKT_IP || pkt.class == PKT_UNSUPPORTED)
				continue;
			if (whole.flags & PKT_ICMP_ERROR && !(pkt.flags & PKT_ICMP_ERROR))
				continue; // the embedded packet is out of reach
			if (memcmp(&pkt, &whole, sizeof(pkt)))
				fail_msg("%s with %u bytes: class %u", s.name, n, pkt.class);
			assert_memory_equal(&key, &whole_key, sizeof(key));
		}
	}
}

struct damage {
	const char *what;
	const char *sample;
	uint8_t layer; // offset is from the first header of this protocol
	uint16_t offset;
	uint8_t value;
	uint8_t class;
};

static void find_sample(const char *name, struct packet_sample *s)
{
	for (unsigned i = 0; packet_sample(i, s); i++)
		if (!strcmp(s->name, name))
			return;
	fail_msg("no sample %s", name);
}

static void test_damages(void **state)
{
	static const struct damage all[] = {
		{"version 6 by type 0x0800", "tcp4", IPPROTO_IPIP, 0, 0x65, PKT_MALFORMED},
		{"version 4 by type 0x86dd", "tcp6", IPPROTO_IPV6, 0, 0x40, PKT_MALFORMED},
		{"IPv4 header of 16 bytes", "tcp4", IPPROTO_IPIP, 0, 0x44, PKT_MALFORMED},
		{"IPv4 header beyond its total", "echo4", IPPROTO_IPIP, 0, 0x4f, PKT_MALFORMED},
		{"IPv4 longer than the frame", "tcp4", IPPROTO_IPIP, 3, 57, PKT_MALFORMED},
		{"IPv4 shorter than its header", "tcp4", IPPROTO_IPIP, 3, 19, PKT_MALFORMED},
		{"IPv4 without L4 header", "tcp4", IPPROTO_IPIP, 3, 20, PKT_MALFORMED},
		{"IPv4 with half a TCP header", "tcp4", IPPROTO_IPIP, 3, 39, PKT_MALFORMED},
		{"IPv4 with all of a TCP header", "tcp4", IPPROTO_IPIP, 3, 40, PKT_IP},
		{"TCP header of 16 bytes", "tcp4", IPPROTO_TCP, 12, 0x40, PKT_MALFORMED},
		{"TCP header beyond the packet", "tcp4", IPPROTO_TCP, 12, 0xa0, PKT_MALFORMED},
		{"TCP header to the packet's end", "tcp4", IPPROTO_TCP, 12, 0x90, PKT_IP},
		{"UDP length 0", "udp4", IPPROTO_UDP, 5, 0, PKT_MALFORMED},
		{"UDP length 7", "udp4", IPPROTO_UDP, 5, 7, PKT_MALFORMED},
		{"UDP length 8", "udp4", IPPROTO_UDP, 5, 8, PKT_IP},
		{"UDP longer than IP", "udp4", IPPROTO_UDP, 5, 20, PKT_MALFORMED},
		{"IPv6 longer than the frame", "tcp6", IPPROTO_IPV6, 5, 37, PKT_MALFORMED},
		{"IPv6 with half a TCP header", "tcp6", IPPROTO_IPV6, 5, 19, PKT_MALFORMED},
		{"extension beyond the packet", "udp6_extensions", IPPROTO_DSTOPTS, 1, 40,
			PKT_MALFORMED},
		{"AH beyond the packet", "udp6_extensions", IPPROTO_AH, 1, 30, PKT_MALFORMED},
		{"segments left", "udp6_extensions", IPPROTO_ROUTING, 3, 1, PKT_UNSUPPORTED},
		{"IPv6 fragment of odd length", "fragment6_first", IPPROTO_IPV6, 5, 55,
			PKT_MALFORMED},
		{"inner longer than outer", "gre4", IPPROTO_IPIP, 3, 50, PKT_MALFORMED},
	};
	struct packet_sample s;

	(void)state;
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		const struct damage *d = &all[i];

		find_sample(d->sample, &s);
		s.packet.bytes[packet_at(&s.packet, d->layer, 0) + d->offset] = d->value;
		struct pkt pkt = parse_whole(&s.packet, NULL);

		if (pkt.class != d->class)
			fail_msg("%s: class %u", d->what, pkt.class);
		check_bounds(&pkt, s.packet.length);
	}
}

static void test_datagram_end(void **state)
{
	struct packet_sample s;

	(void)state;
	find_sample("fragment4_later", &s);
	uint32_t ip = packet_at(&s.packet, IPPROTO_IPIP, 0);

	// 30 bytes at 65504 end at 65534, at 65512 beyond 65535
	s.packet.bytes[ip + 6] = 0x1f;
	s.packet.bytes[ip + 7] = 0xfc;
	assert_int_equal(parse_whole(&s.packet, NULL).class, PKT_IP);
	s.packet.bytes[ip + 7] = 0xfd;
	assert_int_equal(parse_whole(&s.packet, NULL).class, PKT_MALFORMED);

	find_sample("fragment6_later", &s); // 40 bytes
	uint8_t *fragment = s.packet.bytes + packet_at(&s.packet, IPPROTO_FRAGMENT, 0);

	fragment[2] = 0xff;
	fragment[3] = 0xd0;
	assert_int_equal(parse_whole(&s.packet, NULL).class, PKT_IP);
	fragment[3] = 0xd8;
	assert_int_equal(parse_whole(&s.packet, NULL).class, PKT_MALFORMED);
}

static void test_pppoe(void **state)
{
	struct packet_sample s;

	(void)state;
	find_sample("pppoe4", &s);
	uint8_t *session = s.packet.bytes + 18;

	assert_int_equal(session[0], 0x11);
	session[5]++; // longer than the frame
	assert_int_equal(parse_whole(&s.packet, NULL).class, PKT_MALFORMED);
	session[5] = (uint8_t)(session[5] - 2); // shorter than the IP packet in it
	assert_int_equal(parse_whole(&s.packet, NULL).class, PKT_MALFORMED);
	session[5] = 1; // without the protocol field
	assert_int_equal(parse_whole(&s.packet, NULL).class, PKT_MALFORMED);
	find_sample("pppoe4", &s);
	session[1] = 0x07; // no host looks at it
	assert_int_equal(parse_whole(&s.packet, NULL).class, PKT_IP);
	session[6] = 0xc0; // LCP
	struct pkt pkt = parse_whole(&s.packet, NULL);

	assert_int_equal(pkt.class, PKT_LINK);
	assert_int_equal(pkt.ethertype, 0x8864);
}

static void test_zero_length(void **state)
{
	struct packet_sample s;
	uint8_t *bytes = s.packet.bytes;

	(void)state;
	find_sample("tcp4", &s);
	bytes[16] = bytes[17] = 0;
	assert_int_equal(parse_whole(&s.packet, NULL).class, PKT_MALFORMED);
	struct pkt pkt =
		parse_heap(&s.packet, s.packet.length, s.packet.length, PKT_CAPTURED, NULL);

	assert_int_equal(pkt.class, PKT_IP);
	assert_int_equal(pkt.payload_len, s.payload_length);

	find_sample("tcp6", &s);
	bytes[18] = bytes[19] = 0;
	assert_int_equal(parse_whole(&s.packet, NULL).class, PKT_MALFORMED);
	pkt = parse_heap(&s.packet, s.packet.length, s.packet.length, PKT_CAPTURED, NULL);
	assert_int_equal(pkt.class, PKT_IP);
	assert_int_equal(pkt.payload_len, s.payload_length);

	find_sample("udp6_extensions", &s); // hop-by-hop first: a jumbogram, as long as its frame
	bytes[18] = bytes[19] = 0;
	pkt = parse_whole(&s.packet, NULL);
	assert_int_equal(pkt.class, PKT_IP);
	assert_int_equal(pkt.payload_len, s.payload_length);
}

static void test_first_fragment_short(void **state)
{
	struct packet p;

	(void)state;
	packet_begin(&p);
	packet_ethernet(&p);
	packet_ipv4(&p, "192.0.2.1", "192.0.2.2");
	packet_ipv4_fragment(&p, 5, 0, true);
	packet_protocol(&p, IPPROTO_TCP);
	packet_fill(&p, 8);
	packet_finish(&p);
	struct pkt pkt = parse_whole(&p, NULL);

	assert_int_equal(pkt.class, PKT_IP);
	assert_int_equal(pkt.flags & EITHER_SIDE, PKT_FRAGMENT | PKT_FRAG_FIRST);
	assert_int_equal(pkt.payload_len, 8);

	packet_begin(&p); // RFC 7112
	packet_ethernet(&p);
	packet_ipv6(&p, "2001:db8::1", "2001:db8::2");
	packet_ipv6_fragment(&p, 5, 0, true);
	packet_protocol(&p, IPPROTO_TCP);
	packet_fill(&p, 8);
	packet_finish(&p);
	assert_int_equal(parse_whole(&p, NULL).class, PKT_MALFORMED);
}

static void test_vlans(void **state)
{
	struct packet_sample s;
	struct packet p;

	(void)state;
	find_sample("vlan4", &s);
	struct pkt pkt = parse_whole(&s.packet, NULL);

	assert_int_equal(pkt.n_vlan, 1);
	assert_int_equal(pkt.vlan[0], 0x123); // without its priority
	find_sample("qinq6", &s);
	pkt = parse_whole(&s.packet, NULL);
	assert_int_equal(pkt.n_vlan, 2);
	assert_int_equal(pkt.vlan[0], 100);
	assert_int_equal(pkt.vlan[1], 200);
	for (unsigned tags = 5; tags < 29; tags++) {
		packet_begin(&p);
		packet_ethernet(&p);
		for (unsigned i = 0; i < tags; i++)
			packet_vlan(&p, 0x8100, (uint16_t)(i + 1));
		packet_ipv4(&p, "192.0.2.1", "192.0.2.2");
		packet_udp(&p, 1, 2);
		packet_finish(&p);
		assert_int_equal(parse_whole(&p, NULL).class, PKT_IP);
	}
}

static void test_mbufs(void **state)
{
	struct rte_mempool *pool = packet_pool();
	union flow_key whole_key, key;
	struct packet_sample s;

	(void)state;
	for (unsigned i = 0; packet_sample(i, &s); i++) {
		struct pkt whole = parse_whole(&s.packet, &whole_key);

		whole.flow = PKT_FLOW_NONE;
		for (unsigned segments = 1; segments <= 40; segments += 3) {
			struct rte_mbuf *m = packet_mbuf(
				pool, s.packet.bytes, s.packet.length, s.packet.link, segments);

			memset(&key, 0, sizeof(key));
			assert_int_equal(
				parse_mbuf(m, &PARSE_SETTINGS_FIXED, &key), whole.class == PKT_IP);
			if (memcmp(pkt_of(m), &whole, sizeof(whole)))
				fail_msg("%s in %u segments", s.name, segments);
			if (whole.class == PKT_IP) {
				assert_memory_equal(&key, &whole_key, sizeof(key));
				memset(&key, 0, sizeof(key));
				parse_mbuf_key(m, &key);
				assert_memory_equal(&key, &whole_key, sizeof(key));
			}
			rte_pktmbuf_free(m);
		}
	}
	assert_int_equal(rte_mempool_in_use_count(pool), 0);
}

static void test_kept(void **state)
{
	static const uint16_t kept = PKT_FROM_INSIDE | PKT_TRACE | PKT_INJECTED | PKT_CSUM_GOOD |
				     PKT_CSUM_BAD | PKT_CSUM_IGNORE | PKT_CAPTURED;
	struct packet_sample s;

	(void)state;
	find_sample("arp", &s);
	struct pkt pkt;

	memset(&pkt, 0xff, sizeof(pkt));
	pkt.link = LINK_ETHERNET;
	parse_packet(&pkt, s.packet.bytes, s.packet.length, s.packet.length);
	assert_int_equal(pkt.rx_ns, UINT64_MAX);
	assert_int_equal(pkt.flow, UINT32_MAX);
	assert_int_equal(pkt.flow_gen, UINT32_MAX);
	assert_int_equal(pkt.in_port, 0xff);
	assert_int_equal(pkt.flags, kept | PKT_MULTICAST);
	assert_int_equal(pkt.tcp_seq | pkt.l3_off | pkt.payload_len | pkt.n_vlan, 0);
}

static void test_link_protocols(void **state)
{
	static const struct {
		uint8_t mac_last; // 0xff: no reserved address
		uint16_t type;
		uint8_t protocol;
	} all[] = {
		{0xff, 0x0806, 0},
		{0x00, 38, 1},
		{0x08, 38, 1},
		{0x00, 0x9999, 6},
		{0x01, 0x8808, 2},
		{0x01, 0x1234, 2},
		{0x02, 0x8809, 3},
		{0xff, 0x8809, 3},
		{0x03, 0x888e, 4},
		{0xff, 0x888e, 4},
		{0x0e, 0x88cc, 5},
		{0x00, 0x88cc, 5},
		{0x05, 0x1234, 6},
		{0xff, 0x1234, 6},
		{0xff, 100, 6},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		uint8_t frame[14] = {0x01, 0x80, 0xc2, 0, 0, all[i].mac_last};
		struct pkt pkt = {.link = LINK_ETHERNET};

		frame[0] = all[i].mac_last == 0xff ? 0x02 : 0x01;
		frame[12] = (uint8_t)(all[i].type >> 8);
		frame[13] = (uint8_t)all[i].type;
		parse_packet(&pkt, frame, sizeof(frame), sizeof(frame));
		assert_int_equal(pkt.class, PKT_LINK);
		assert_int_equal(parse_link_protocol(frame, sizeof(frame), &pkt), all[i].protocol);
	}
}

static void test_link_types(void **state)
{
	struct pkt pkt = {.link = LINK_UNKNOWN};

	(void)state;
	parse_packet(&pkt, (const uint8_t *)"E", 1, 1);
	assert_int_equal(pkt.class, PKT_LINKTYPE);
	assert_int_equal(parse_link_of(1), LINK_ETHERNET);
	assert_int_equal(parse_link_of(229), LINK_RAW);
	assert_int_equal(parse_link_of(108), LINK_NULL);
	assert_int_equal(parse_link_of(276), LINK_SLL2);
	assert_int_equal(parse_link_of(147), LINK_UNKNOWN);
	assert_int_equal(parse_link_of(105), LINK_UNKNOWN); // 802.11
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_samples),
		cmocka_unit_test(test_tcp_fields),
		cmocka_unit_test(test_cut_live),
		cmocka_unit_test(test_cut_captured),
		cmocka_unit_test(test_window),
		cmocka_unit_test(test_damages),
		cmocka_unit_test(test_datagram_end),
		cmocka_unit_test(test_pppoe),
		cmocka_unit_test(test_zero_length),
		cmocka_unit_test(test_first_fragment_short),
		cmocka_unit_test(test_vlans),
		cmocka_unit_test(test_mbufs),
		cmocka_unit_test(test_kept),
		cmocka_unit_test(test_link_protocols),
		cmocka_unit_test(test_link_types),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
