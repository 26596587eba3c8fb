// SPDX-License-Identifier: BSD-3-Clause
// Checksums, held against a byte-by-byte reference (lib/packet/packet.c).
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <cmocka.h>
#include "pipeline/wire/checksum.h"
#include "lib/packet/packet.h"
#include "pipeline/wire/parse.h"

// What checksum_verify says of these bytes, in so many segments.
static uint16_t verdict(
	const struct packet *p, unsigned segments, uint64_t ol_flags, bool *computed)
{
	union flow_key key;
	struct rte_mbuf *m = packet_mbuf(packet_pool(), p->bytes, p->length, p->link, segments);

	parse_mbuf(m, &PARSE_SETTINGS_FIXED, &key);
	assert_int_equal(pkt_of(m)->class, PKT_IP);
	m->ol_flags |= ol_flags;
	bool here = checksum_verify(m);
	uint16_t flags = pkt_of(m)->flags & (PKT_CSUM_GOOD | PKT_CSUM_BAD);

	assert_false(checksum_verify(m)); // known from now on
	assert_int_equal(pkt_of(m)->flags & (PKT_CSUM_GOOD | PKT_CSUM_BAD), flags);
	if (computed)
		*computed = here;
	rte_pktmbuf_free(m);
	return flags;
}

static bool covered(const struct packet_sample *s)
{
	return s->flags & PKT_L4_OK && !(s->flags & PKT_FRAGMENT) && s->proto != IPPROTO_SCTP;
}

static void test_samples(void **state)
{
	struct packet_sample s;
	bool computed;

	(void)state;
	for (unsigned i = 0; packet_sample(i, &s); i++) {
		if (s.class != PKT_IP)
			continue;
		packet_padding(&s.packet, 3);
		for (unsigned segments = 1; segments < 60; segments++) { // ends at odd bytes, too
			if (verdict(&s.packet, segments, 0, &computed) != PKT_CSUM_GOOD)
				fail_msg("%s in %u segments", s.name, segments);
			assert_true(computed);
		}
	}
}

// Every byte that is covered counts.
static void test_damage(void **state)
{
	struct packet_sample s;
	struct pkt pkt;

	(void)state;
	for (unsigned i = 0; packet_sample(i, &s); i++) {
		if (s.class != PKT_IP)
			continue;
		pkt = (struct pkt){.link = s.packet.link};
		parse_packet(&pkt, s.packet.bytes, s.packet.length, s.packet.length);
		if (!covered(&s))
			continue;
		uint8_t *payload = s.packet.bytes + pkt.payload_off;

		if (!pkt.payload_len) // land4 and the like: a byte of the header
			payload = s.packet.bytes + pkt.l4_off + (s.proto == IPPROTO_UDP ? 1 : 5);
		*payload ^= 0x40;
		if (verdict(&s.packet, 1, 0, NULL) != PKT_CSUM_BAD)
			fail_msg("%s with a wrong byte", s.name);
		assert_int_equal(verdict(&s.packet, 3, 0, NULL), PKT_CSUM_BAD);
		*payload ^= 0x40;
		if (pkt.flags & PKT_V6) {
			s.packet.bytes[pkt.l3_off + 15] ^= 1; // the pseudo header
		} else {
			s.packet.bytes[pkt.l3_off +
				       8]--; // a TTL that the header does not sum up to
		}
		assert_int_equal(verdict(&s.packet, 1, 0, NULL), PKT_CSUM_BAD);
	}
}

static void find(const char *name, struct packet_sample *s)
{
	for (unsigned i = 0; packet_sample(i, s); i++)
		if (!strcmp(s->name, name))
			return;
	fail_msg("no sample %s", name);
}

static void test_outer_header(void **state)
{
	struct packet_sample s;

	(void)state;
	find("gre4", &s);
	s.packet.bytes[14 + 8]--;
	assert_int_equal(verdict(&s.packet, 1, 0, NULL), PKT_CSUM_BAD);
	find("fragment4_later", &s); // nothing to sum but its header
	assert_int_equal(verdict(&s.packet, 1, 0, NULL), PKT_CSUM_GOOD);
	s.packet.bytes[14 + 8]--;
	assert_int_equal(verdict(&s.packet, 1, 0, NULL), PKT_CSUM_BAD);
}

static void test_udp_zero(void **state)
{
	struct packet_sample s;

	(void)state;
	find("udp4", &s);
	memset(s.packet.bytes + packet_at(&s.packet, IPPROTO_UDP, 0) + 6, 0, 2);
	assert_int_equal(verdict(&s.packet, 1, 0, NULL), PKT_CSUM_GOOD);
	// some drivers say bad to that
	assert_int_equal(verdict(&s.packet, 1, RTE_MBUF_F_RX_L4_CKSUM_BAD, NULL), PKT_CSUM_GOOD);
	find("udp6_extensions", &s);
	memset(s.packet.bytes + packet_at(&s.packet, IPPROTO_UDP, 0) + 6, 0, 2);
	assert_int_equal(verdict(&s.packet, 1, 0, NULL), PKT_CSUM_BAD);
	assert_int_equal(verdict(&s.packet, 1, RTE_MBUF_F_RX_L4_CKSUM_GOOD, NULL), PKT_CSUM_BAD);
}

// A UDP payload that is shorter than the IP payload: what is behind it does not count.
static void test_udp_short(void **state)
{
	struct packet p;

	(void)state;
	packet_begin(&p);
	packet_ethernet(&p);
	packet_ipv4(&p, "192.0.2.1", "192.0.2.2");
	packet_udp(&p, 1, 2);
	packet_fill(&p, 10);
	packet_finish(&p);
	uint32_t l4 = packet_at(&p, IPPROTO_UDP, 0);

	p.bytes[l4 + 5] = 8 + 6;
	p.bytes[l4 + 6] = p.bytes[l4 + 7] = 0;
	checksum_fill(p.bytes + 14, p.bytes + l4, 14, IPPROTO_UDP, false);
	assert_true(packet_sums_good(p.bytes, 14, l4, l4 + 14, IPPROTO_UDP));
	assert_int_equal(verdict(&p, 1, 0, NULL), PKT_CSUM_GOOD);
	p.bytes[l4 + 15] ^= 1; // behind
	assert_int_equal(verdict(&p, 1, 0, NULL), PKT_CSUM_GOOD);
	p.bytes[l4 + 13] ^= 1; // in it
	assert_int_equal(verdict(&p, 1, 0, NULL), PKT_CSUM_BAD);
}

static void test_driver(void **state)
{
	const uint64_t good = RTE_MBUF_F_RX_L4_CKSUM_GOOD | RTE_MBUF_F_RX_IP_CKSUM_GOOD;
	const uint64_t bad = RTE_MBUF_F_RX_L4_CKSUM_BAD | RTE_MBUF_F_RX_IP_CKSUM_GOOD;
	struct packet_sample s;
	bool computed;

	(void)state;
	find("tcp4", &s);
	assert_int_equal(verdict(&s.packet, 1, bad, &computed), PKT_CSUM_GOOD);
	assert_true(computed); // it is not believed when it says bad
	s.packet.bytes[s.packet.length - 1] ^= 1;
	assert_int_equal(verdict(&s.packet, 1, good, &computed), PKT_CSUM_GOOD);
	assert_false(computed);
	assert_int_equal(verdict(&s.packet, 1, RTE_MBUF_F_RX_L4_CKSUM_GOOD, NULL), PKT_CSUM_BAD);
	assert_int_equal(verdict(&s.packet, 1, bad, NULL), PKT_CSUM_BAD);
	find("gre4", &s);
	s.packet.bytes[s.packet.length - 1] ^= 1; // it spoke of the outer header
	assert_int_equal(verdict(&s.packet, 1, good, NULL), PKT_CSUM_BAD);
}

static void test_captured(void **state)
{
	union flow_key key;
	struct packet_sample s;

	(void)state;
	find("tcp4", &s);
	struct rte_mbuf *m =
		packet_mbuf(packet_pool(), s.packet.bytes, s.packet.length - 1, LINK_ETHERNET, 1);

	pkt_of(m)->flags = PKT_CAPTURED;
	parse_mbuf(m, &PARSE_SETTINGS_FIXED, &key);
	assert_int_equal(pkt_of(m)->class, PKT_IP);
	checksum_verify(m);
	assert_true(pkt_of(m)->flags & PKT_CSUM_BAD);
	rte_pktmbuf_free(m);
}

static void test_fill(void **state)
{
	struct packet_sample s;

	(void)state;
	for (unsigned i = 0; packet_sample(i, &s); i++) {
		struct pkt pkt = {.link = s.packet.link};
		uint8_t *bytes = s.packet.bytes, was[PACKET_MAX];

		parse_packet(&pkt, bytes, s.packet.length, s.packet.length);
		if (s.class != PKT_IP || !covered(&s))
			continue;
		memcpy(was, bytes, s.packet.length);
		checksum_fill(bytes + pkt.l3_off, bytes + pkt.l4_off,
			(uint16_t)(s.packet.length - pkt.l4_off), pkt.l4_proto, pkt.flags & PKT_V6);
		assert_memory_equal(was, bytes, s.packet.length);
	}
	find("esp4", &s); // only the IPv4 header
	uint8_t *ip = s.packet.bytes + 14, was[64];

	memcpy(was, ip, 44);
	ip[10] ^= 0xff;
	checksum_fill(ip, ip + 20, 24, IPPROTO_ESP, false);
	assert_memory_equal(was, ip, 44);
}

// RFC 768: a sum of 0 is sent as all ones.
static void test_fill_udp_ones(void **state)
{
	struct packet p;
	uint8_t *udp;

	(void)state;
	packet_begin(&p);
	packet_ethernet(&p);
	packet_ipv4(&p, "192.0.2.1", "192.0.2.2");
	packet_udp(&p, 1, 2);
	packet_payload(&p, "\0\0", 2);
	packet_finish(&p);
	udp = p.bytes + packet_at(&p, IPPROTO_UDP, 0);
	memcpy(udp + 8, udp + 6, 2); // now all else sums up to ones
	packet_finish(&p);
	assert_int_equal(udp[6] << 8 | udp[7], 0xffff);
	checksum_fill(p.bytes + 14, udp, 10, IPPROTO_UDP, false);
	assert_int_equal(udp[6] << 8 | udp[7], 0xffff);
	assert_int_equal(verdict(&p, 1, 0, NULL), PKT_CSUM_GOOD);
}

static void test_bytes(void **state)
{
	static uint8_t ones[65535];

	(void)state;
	assert_int_equal(checksum_fold(checksum_bytes("", 0, 0)), 0);
	memset(ones, 0xff, sizeof(ones));
	assert_int_equal(checksum_fold(checksum_bytes(ones, 65534, UINT32_MAX)), 0xffff);
	// RFC 1071 section 3: 0001 f203 f4f5 f6f7 sum up to ddf2
	uint16_t sum = checksum_fold(checksum_bytes("\x00\x01\xf2\x03\xf4\xf5\xf6\xf7", 8, 0));

	assert_int_equal(ntohs(sum), 0xddf2);
	sum = checksum_fold(
		checksum_bytes("\xf4\xf5\xf6\xf7", 4, checksum_bytes("\0\1\xf2\3", 4, 0)));
	assert_int_equal(ntohs(sum), 0xddf2);
	assert_int_equal(ntohs(checksum_fold(checksum_bytes("\x12\x34\x56", 3, 0))), 0x6834);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_samples),
		cmocka_unit_test(test_damage),
		cmocka_unit_test(test_outer_header),
		cmocka_unit_test(test_udp_zero),
		cmocka_unit_test(test_udp_short),
		cmocka_unit_test(test_driver),
		cmocka_unit_test(test_captured),
		cmocka_unit_test(test_fill),
		cmocka_unit_test(test_fill_udp_ones),
		cmocka_unit_test(test_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
