// SPDX-License-Identifier: BSD-3-Clause
// The flow key and its hash: the same for both directions of a flow, for all fragments of a
// datagram, and for an ICMP error about a packet; spread well.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <cmocka.h>
#include "lib/packet/packet.h"
#include "pipeline/wire/parse.h"

static struct pkt parse_key(const struct packet *p, union flow_key *key)
{
	struct pkt pkt = {.link = p->link};

	parse_packet(&pkt, p->bytes, p->length, p->length);
	assert_int_equal(pkt.class, PKT_IP);
	memset(key, 0, sizeof(*key));
	parse_flow_key(&pkt, p->bytes, key);
	return pkt;
}

static uint64_t random_state = 0x2545f4914f6cdd1d;

static uint32_t random_below(uint32_t limit)
{
	random_state ^= random_state >> 12;
	random_state ^= random_state << 25;
	random_state ^= random_state >> 27;
	return (uint32_t)(random_state * 0x2545f4914f6cdd1d >> 33) % limit;
}

struct end {
	char v4[16];
	char v6[40];
	char outer[16];
	uint16_t port;
};

// Few distinct values, so that ends often agree in some part.
static void end_random(struct end *end)
{
	uint32_t word = random_below(4);

	snprintf(end->v4, sizeof(end->v4), "10.%u.0.%u", word * 80, 1 + random_below(3));
	snprintf(end->v6, sizeof(end->v6), "2001:db8:%x::%x", word * 0x4001, 1 + random_below(3));
	snprintf(end->outer, sizeof(end->outer), "192.0.2.%u", 1 + random_below(3));
	end->port = (uint16_t)(random_below(4) * 257);
}

static void build(struct packet *p, unsigned shape, const struct end *from, const struct end *to)
{
	bool reply = shape & 64;

	packet_begin(p);
	packet_ethernet(p);
	if (shape & 1)
		packet_vlan(p, 0x8100, shape & 2 ? 0 : 77);
	if (shape & 4)
		packet_ipv4(p, from->outer, to->outer);
	if (shape & 8)
		packet_ipv6(p, from->v6, to->v6);
	else
		packet_ipv4(p, from->v4, to->v4);
	switch (shape >> 4 & 3) {
	case 0: packet_tcp(p, from->port, to->port, 1, 2, TH_ACK); break;
	case 1: packet_udp(p, from->port, to->port); break;
	case 2: packet_icmp(p, shape & 8 ? 128 + reply : reply ? 0 : 8, 0); break;
	default: packet_protocol(p, IPPROTO_ESP); packet_fill(p, 8);
	}
	packet_finish(p);
}

static void test_symmetry(void **state)
{
	unsigned different_sides = 0;

	(void)state;
	for (unsigned i = 0; i < 20000; i++) {
		unsigned shape = random_below(64);
		union flow_key there_key, back_key;
		struct packet there, back;
		struct end a, b;

		end_random(&a);
		end_random(&b);
		build(&there, shape, &a, &b);
		build(&back, shape | 64, &b, &a);
		struct pkt one = parse_key(&there, &there_key), two = parse_key(&back, &back_key);

		if (memcmp(&there_key, &back_key, sizeof(there_key)))
			fail_msg("shape %u: %s %u, %s %u", shape, a.v4, a.port, b.v4, b.port);
		// who is side A agrees, unless both ends are one
		const char *x = shape & 8 ? a.v6 : a.v4, *y = shape & 8 ? b.v6 : b.v4;
		bool same = !strcmp(x, y) && one.sport == one.dport;

		if (!same)
			assert_int_not_equal(one.flags & PKT_A_TO_B, two.flags & PKT_A_TO_B);
		different_sides += !same;
	}
	assert_true(different_sides > 10000);
}

// Whatever tells flows apart is in the key.
static void test_distinct(void **state)
{
	static const struct end a = {"10.0.0.1", "2001:db8::1", "192.0.2.1", 1000};
	static const struct end b = {"10.0.0.2", "2001:db8::2", "192.0.2.2", 2000};
	struct end other = b;
	union flow_key key, changed;
	struct packet p;

	(void)state;
	for (unsigned shape = 0; shape < 32; shape += 4) {
		build(&p, shape, &a, &b);
		parse_key(&p, &key);
		build(&p, shape ^ 1, &a, &b); // VLAN 77
		parse_key(&p, &changed);
		assert_memory_not_equal(&key, &changed, sizeof(key));
		build(&p, shape ^ 4, &a, &b); // in a tunnel
		parse_key(&p, &changed);
		assert_memory_not_equal(&key, &changed, sizeof(key));
		build(&p, shape ^ 16, &a, &b); // UDP, not TCP
		parse_key(&p, &changed);
		assert_memory_not_equal(&key, &changed, sizeof(key));
		other = b;
		other.port++;
		build(&p, shape, &a, &other);
		parse_key(&p, &changed);
		assert_memory_not_equal(&key, &changed, sizeof(key));
		build(&p, shape | 3, &a, &b); // VLAN 0 is no VLAN
		parse_key(&p, &changed);
		assert_memory_equal(&key, &changed, sizeof(key));
	}
}

static void fragment(
	struct packet *p, bool v6, uint32_t id, unsigned offset, bool more, uint8_t proto)
{
	packet_begin(p);
	packet_ethernet(p);
	if (v6) {
		packet_ipv6(p, "2001:db8::9", "2001:db8::1");
		packet_ipv6_fragment(p, id, offset, more);
	} else {
		packet_ipv4(p, "10.0.0.9", "10.0.0.1");
		packet_ipv4_fragment(p, (uint16_t)id, offset, more);
	}
	if (offset == 0)
		packet_udp(p, 1000, 2000);
	else
		packet_protocol(p, proto);
	packet_fill(p, 16);
	packet_finish(p);
}

static void test_fragments(void **state)
{
	union flow_key first, key;
	struct packet p;

	(void)state;
	for (unsigned v6 = 0; v6 < 2; v6++) {
		fragment(&p, v6, 0x12345, 0, true, 0);
		struct pkt pkt = parse_key(&p, &first);

		assert_false(pkt.flags & PKT_A_TO_B);
		fragment(&p, v6, 0x12345, 24, true, IPPROTO_UDP);
		pkt = parse_key(&p, &key);
		assert_memory_equal(&first, &key, sizeof(key));
		// another datagram of the same ends
		fragment(&p, v6, 0x12346, 24, true, IPPROTO_UDP);
		parse_key(&p, &key);
		assert_memory_not_equal(&first, &key, sizeof(key));
		// IPv4 reassembles by protocol (RFC 791), IPv6 does not (RFC 8200)
		fragment(&p, v6, 0x12345, 24, true, IPPROTO_TCP);
		parse_key(&p, &key);
		assert_int_equal(!memcmp(&first, &key, sizeof(key)), v6);
	}
	assert_int_equal(first.v6.port_a, 1);
	assert_int_equal(first.v6.port_b, 0x2345);
}

static void sample(const char *name, struct packet_sample *s)
{
	for (unsigned i = 0; packet_sample(i, s); i++)
		if (!strcmp(s->name, name))
			return;
	fail_msg("no sample %s", name);
}

static void test_icmp_errors(void **state)
{
	static const char *const pairs[][2] = {
		{"error4", "udp4"}, {"error4_echo", "echo4"}, {"error6", "tcp6"}};
	union flow_key key, about;
	struct packet_sample s;

	(void)state;
	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		sample(pairs[i][1], &s);
		struct pkt flow = parse_key(&s.packet, &key);

		sample(pairs[i][0], &s);
		struct pkt error = parse_key(&s.packet, &about);

		if (memcmp(&key, &about, sizeof(key)))
			fail_msg("%s is not about %s", pairs[i][0], pairs[i][1]);
		assert_int_equal(error.flags & PKT_A_TO_B, flow.flags & PKT_A_TO_B);
	}
}

// What routers quote: the IP header and 8 bytes, with lengths and checksums of the whole. Hosts do
// not look at less.
static void test_icmp_quote(void **state)
{
	union flow_key key, about;
	struct packet_sample s;
	struct packet p;

	(void)state;
	sample("tcp4", &s);
	parse_key(&s.packet, &key);
	for (uint32_t quoted = 0; quoted <= 40; quoted++) {
		packet_begin(&p);
		packet_ethernet(&p);
		packet_ipv4(&p, "203.0.113.9", "192.0.2.1");
		packet_icmp(&p, 3, 4);
		packet_payload(&p, s.packet.bytes + 14, quoted);
		packet_finish(&p);
		struct pkt error = parse_key(&p, &about);

		assert_int_equal(!!(error.flags & PKT_ICMP_ERROR), quoted >= 28);
		if (quoted >= 28) {
			assert_memory_equal(&key, &about, sizeof(key));
			assert_int_equal(error.emb_off, 42);
		}
	}
}

// The low 9 bits choose the owner, all 32 the hash table's bucket.
static void test_spread(void **state)
{
	enum { FLOWS = 512 * 64 };
	static uint32_t hashes[FLOWS];
	unsigned buckets[512] = {0}, least = FLOWS, most = 0, collisions = 0;

	(void)state;
	for (uint32_t i = 0; i < FLOWS; i++) { // what one client behind one server makes
		union flow_key key = {.v4 = {
					      .addr_a = 0x0100000a,
					      .addr_b = 0x0200000a + (i >> 14 << 24),
					      .port_a = (uint16_t)(32768 + (i & 0x3fff)),
					      .port_b = 443,
					      .l4_proto = IPPROTO_TCP,
				      }};

		hashes[i] = parse_hash(&HASH_SEED_FIXED, &key, false);
		buckets[hashes[i] % 512]++;
	}
	for (unsigned i = 0; i < 512; i++) {
		least = buckets[i] < least ? buckets[i] : least;
		most = buckets[i] > most ? buckets[i] : most;
	}
	assert_true(least > 24 && most < 120); // 64 each, sigma 8
	for (unsigned i = 0; i < FLOWS; i += 64)
		for (unsigned k = i + 1; k < FLOWS; k++)
			collisions += hashes[i] == hashes[k];
	assert_true(collisions < 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_symmetry),
		cmocka_unit_test(test_distinct),
		cmocka_unit_test(test_fragments),
		cmocka_unit_test(test_icmp_errors),
		cmocka_unit_test(test_icmp_quote),
		cmocka_unit_test(test_spread),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
