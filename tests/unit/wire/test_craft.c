// SPDX-License-Identifier: BSD-3-Clause
// Packets that we make: parsed again, their fields compared with what the RFCs say, their
// checksums verified by a reference.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <arpa/inet.h>
#include <cmocka.h>
#include "pipeline/wire/craft.h"
#include "lib/packet/packet.h"
#include "pipeline/wire/parse.h"

static struct rte_mbuf *out_new(uint8_t link)
{
	struct rte_mbuf *out = rte_pktmbuf_alloc(packet_pool());

	assert_non_null(out);
	memset(rte_pktmbuf_mtod(out, void *), 0xaa, rte_pktmbuf_tailroom(out));
	*pkt_of(out) = (struct pkt){.link = link};
	return out;
}

static const uint8_t *bytes_of(const struct rte_mbuf *m)
{
	return rte_pktmbuf_mtod(m, const uint8_t *);
}

// They are of one flow.
static void assert_same_key(struct rte_mbuf *a, struct rte_mbuf *b)
{
	union flow_key key_a = {0}, key_b = {0};

	parse_mbuf_key(a, &key_a);
	parse_mbuf_key(b, &key_b);
	assert_memory_equal(&key_a, &key_b, sizeof(key_a));
}

// Parses what was made; every one is whole, and its checksums are good.
static const struct pkt *check_made(struct rte_mbuf *out)
{
	union flow_key key;
	struct pkt *pkt = pkt_of(out);

	assert_int_equal(out->nb_segs, 1);
	assert_int_equal(out->pkt_len, out->data_len);
	parse_mbuf(out, &PARSE_SETTINGS_FIXED, &key);
	assert_int_equal(pkt->class, PKT_IP);
	assert_true(pkt->flags & PKT_L4_OK);
	assert_int_equal(pkt->ttl, 64);
	uint32_t end = (uint32_t)pkt->payload_off + pkt->payload_len;

	assert_true(packet_sums_good(bytes_of(out), pkt->l3_off, pkt->l4_off, end, pkt->l4_proto));
	if (pkt->link == LINK_ETHERNET)
		assert_true(out->pkt_len >= 60);
	for (uint32_t i = end; i < out->pkt_len; i++)
		assert_int_equal(bytes_of(out)[i], 0);
	const uint8_t *ip = bytes_of(out) + pkt->l3_off;

	if (!(pkt->flags & PKT_V6)) {
		assert_int_equal(ip[4] | ip[5], 0);
		assert_int_equal(ip[6], 0x40); // DF
	}
	return pkt;
}

static void find(const char *name, struct packet_sample *s)
{
	for (unsigned i = 0; packet_sample(i, s); i++)
		if (!strcmp(s->name, name))
			return;
	fail_msg("no sample %s", name);
}

static struct rte_mbuf *parsed(const struct packet *p, unsigned segments)
{
	union flow_key key;
	struct rte_mbuf *m = packet_mbuf(packet_pool(), p->bytes, p->length, p->link, segments);

	parse_mbuf(m, &PARSE_SETTINGS_FIXED, &key);
	assert_int_equal(pkt_of(m)->class, PKT_IP);
	return m;
}

static const uint8_t *address(struct rte_mbuf *m, bool destination)
{
	const struct pkt *pkt = pkt_of(m);
	bool v6 = pkt->flags & PKT_V6;

	return bytes_of(m) + pkt->l3_off + (v6 ? 8 : 12) + (destination ? v6 ? 16 : 4 : 0);
}

// The link layers that a template can have, by samples that carry TCP.
static const char *const tcp_samples[] = {
	"tcp4", "tcp6", "vlan4", "qinq6", "pppoe4", "null6", "sll4", "ppp4"};

static void test_reset(void **state)
{
	struct packet_sample s;

	(void)state;
	for (size_t i = 0; i < sizeof(tcp_samples) / sizeof(tcp_samples[0]); i++) {
		find(tcp_samples[i], &s);
		struct rte_mbuf *m = parsed(&s.packet, 1), *out = out_new(s.packet.link);
		bool v6 = s.flags & PKT_V6;
		struct craft_segment spec = {
			.l2 = s.packet.bytes,
			.l2_length = (uint8_t)pkt_of(m)->l3_off,
			.link = s.packet.link,
			.pppoe = s.flags & PKT_PPPOE,
			.v6 = v6,
			.source = {[10] = 0xff, [11] = 0xff},
			.destination = {[10] = 0xff, [11] = 0xff},
			.sport = 40000,
			.dport = 80,
			.seq = 0xfedcba98,
			.ack = 0x01234567,
			.tcp_flags = TH_RST | TH_ACK,
			.ttl = 64,
		};

		memcpy(spec.source + (v6 ? 0 : 12), address(m, false), v6 ? 16 : 4);
		memcpy(spec.destination + (v6 ? 0 : 12), address(m, true), v6 ? 16 : 4);
		assert_int_equal(craft_segment(out, &spec), 0);
		const struct pkt *pkt = check_made(out);

		// same link header (but for the PPPoE length), same flow, same direction
		assert_int_equal(pkt->l3_off, pkt_of(m)->l3_off);
		uint32_t same = pkt->l3_off - (spec.pppoe ? 4u : 0u);

		assert_memory_equal(bytes_of(out), s.packet.bytes, same);
		assert_same_key(out, m);
		assert_int_equal(pkt->flags, pkt_of(m)->flags);
		assert_int_equal(pkt->tcp_seq, 0xfedcba98);
		assert_int_equal(pkt->tcp_ack, 0x01234567);
		assert_int_equal(pkt->tcp_flags, TH_RST | TH_ACK);
		assert_int_equal(pkt->payload_len, 0);
		assert_int_equal(pkt->tcp_win, 0);
		rte_pktmbuf_free(out);

		out = out_new(s.packet.link);
		spec.tcp_flags = TH_RST;
		assert_int_equal(craft_segment(out, &spec), 0);
		assert_int_equal(check_made(out)->tcp_ack, 0); // without ACK the field says nothing
		rte_pktmbuf_free(out);
		rte_pktmbuf_free(m);
	}
}

static void test_no_room(void **state)
{
	struct packet_sample s;

	(void)state;
	find("tcp6", &s);
	struct rte_mbuf *m = parsed(&s.packet, 1), *out = out_new(LINK_ETHERNET);
	uint16_t room = 14 + 60;

	rte_pktmbuf_append(out, (uint16_t)(rte_pktmbuf_tailroom(out) - room + 1));
	uint32_t length = out->pkt_len;

	assert_int_equal(craft_reset_reply(out, m), -EMSGSIZE);
	assert_int_equal(out->pkt_len, length);
	rte_pktmbuf_free(out);
	rte_pktmbuf_free(m);
}

// RFC 9293 section 3.10.7.1
static void test_reply(void **state)
{
	struct packet_sample s;

	(void)state;
	for (size_t i = 0; i < sizeof(tcp_samples) / sizeof(tcp_samples[0]); i++)
		for (unsigned segments = 1; segments < 30; segments += 7) {
			find(tcp_samples[i], &s);
			struct rte_mbuf *m = parsed(&s.packet, segments);
			struct rte_mbuf *out = out_new(s.packet.link);

			assert_int_equal(craft_reset_reply(out, m), 0);
			const struct pkt *pkt = check_made(out), *was = pkt_of(m);

			assert_same_key(out, m);
			assert_int_not_equal(pkt->flags & PKT_A_TO_B, was->flags & PKT_A_TO_B);
			assert_int_equal(pkt->sport, was->dport);
			assert_int_equal(pkt->n_vlan, was->n_vlan);
			assert_memory_equal(pkt->vlan, was->vlan, sizeof(pkt->vlan));
			assert_int_equal(pkt->tcp_flags, TH_RST);
			assert_int_equal(pkt->tcp_seq, was->tcp_ack);
			assert_int_equal(pkt->tcp_ack, 0);
			if (s.packet.link == LINK_ETHERNET) {
				assert_memory_equal(bytes_of(out), s.packet.bytes + 6, 6);
				assert_memory_equal(bytes_of(out) + 6, s.packet.bytes, 6);
			}
			rte_pktmbuf_free(out);
			rte_pktmbuf_free(m);
		}
}

static void test_reply_without_ack(void **state)
{
	static const struct {
		uint8_t flags;
		uint32_t payload, ack;
	} all[] = {{TH_SYN, 0, 1001}, {TH_SYN, 10, 1011}, {TH_FIN, 3, 1004}, {TH_PUSH, 7, 1007},
		{0, 0, 1000}};
	struct packet p;

	(void)state;
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		packet_begin(&p);
		packet_ethernet(&p);
		packet_ipv4(&p, "192.0.2.1", "192.0.2.2");
		packet_tcp(&p, 1, 2, 1000, 5555, all[i].flags);
		packet_fill(&p, all[i].payload);
		packet_finish(&p);
		packet_padding(&p, 6);
		struct rte_mbuf *m = parsed(&p, 1), *out = out_new(LINK_ETHERNET);

		assert_int_equal(craft_reset_reply(out, m), 0);
		const struct pkt *pkt = check_made(out);

		assert_int_equal(pkt->tcp_flags, TH_RST | TH_ACK);
		assert_int_equal(pkt->tcp_seq, 0);
		assert_int_equal(pkt->tcp_ack, all[i].ack);
		rte_pktmbuf_free(out);
		rte_pktmbuf_free(m);
	}
}

static void check_refused(const struct packet *p)
{
	struct rte_mbuf *m = parsed(p, 1), *out = out_new(p->link);

	assert_int_equal(craft_reset_reply(out, m), -EINVAL);
	assert_int_equal(craft_unreachable(out, m), -EINVAL);
	assert_int_equal(out->pkt_len, 0);
	rte_pktmbuf_free(out);
	rte_pktmbuf_free(m);
}

static void test_refused(void **state)
{
	static const char *const samples[] = {"gre4", "ipip_6in4", "tunnel6_4", "gre_pptp",
		"fragment4_first", "fragment4_later", "fragment6_first", "multicast4", "error4",
		"error6", "echo4", "echo6", "mpls4", "esp4"};
	static const char *const addresses[][2] = {{"0.0.0.0", "192.0.2.1"},
		{"127.0.0.1", "192.0.2.1"}, {"192.0.2.1", "127.0.0.1"}, {"224.0.0.1", "192.0.2.1"},
		{"192.0.2.1", "224.0.0.1"}, {"192.0.2.1", "255.255.255.255"},
		{"240.0.0.1", "192.0.2.1"}, {"::", "2001:db8::1"}, {"::1", "2001:db8::1"},
		{"ff02::1", "2001:db8::1"}, {"2001:db8::1", "ff02::1"}};
	struct packet_sample s;
	struct packet p;

	(void)state;
	for (size_t i = 0; i < sizeof(samples) / sizeof(samples[0]); i++) {
		find(samples[i], &s);
		check_refused(&s.packet);
	}
	for (size_t i = 0; i < sizeof(addresses) / sizeof(addresses[0]); i++)
		for (unsigned tcp = 0; tcp < 2; tcp++) {
			packet_begin(&p);
			packet_ethernet(&p);
			if (strchr(addresses[i][0], ':'))
				packet_ipv6(&p, addresses[i][0], addresses[i][1]);
			else
				packet_ipv4(&p, addresses[i][0], addresses[i][1]);
			if (tcp)
				packet_tcp(&p, 1, 2, 3, 4, TH_ACK);
			else
				packet_udp(&p, 1, 2);
			packet_finish(&p);
			check_refused(&p);
		}
	find("udp4", &s); // a broadcast frame
	memset(s.packet.bytes, 0xff, 6);
	check_refused(&s.packet);

	find("tcp4", &s); // never a RST for a RST
	s.packet.bytes[packet_at(&s.packet, IPPROTO_TCP, 0) + 13] = TH_RST;
	struct rte_mbuf *m = parsed(&s.packet, 1), *out = out_new(LINK_ETHERNET);

	assert_int_equal(craft_reset_reply(out, m), -EINVAL);
	rte_pktmbuf_free(out);
	rte_pktmbuf_free(m);
}

// RFC 1812 section 4.3.2.3, RFC 4443 section 3.1
static void check_unreachable(const struct packet *p, unsigned segments)
{
	struct rte_mbuf *m = parsed(p, segments), *out = out_new(p->link);
	const struct pkt *was = pkt_of(m);
	bool v6 = was->flags & PKT_V6;
	uint32_t limit = v6 ? 1280 : 576;

	assert_int_equal(craft_unreachable(out, m), 0);
	const struct pkt *pkt = check_made(out);
	const uint8_t *icmp = bytes_of(out) + pkt->l4_off;

	assert_int_equal(pkt->l4_proto, v6 ? IPPROTO_ICMPV6 : IPPROTO_ICMP);
	assert_int_equal(icmp[0], v6 ? 1 : 3);
	assert_int_equal(icmp[1], v6 ? 4 : 3);
	assert_int_equal(icmp[4] | icmp[5] | icmp[6] | icmp[7], 0);
	// it is about the packet, and goes back
	assert_true(pkt->flags & PKT_ICMP_ERROR);
	assert_same_key(out, m);
	assert_int_equal(pkt->flags & PKT_A_TO_B, was->flags & PKT_A_TO_B);
	size_t size = v6 ? 16 : 4;
	const uint8_t *ip = bytes_of(out) + pkt->l3_off, *of = p->bytes + was->l3_off;

	assert_memory_equal(ip + (v6 ? 8 : 12), of + (v6 ? 24 : 16), size);
	assert_memory_equal(ip + (v6 ? 24 : 16), of + (v6 ? 8 : 12), size);
	assert_memory_equal(pkt->vlan, was->vlan, sizeof(pkt->vlan));
	// as much of it as fits, and not the padding
	uint32_t whole = (uint32_t)(was->payload_off + was->payload_len - was->l3_off);
	uint32_t fits = limit - (v6 ? 48 : 28), quoted = whole < fits ? whole : fits;

	assert_int_equal(pkt->payload_len, quoted);
	assert_memory_equal(icmp + 8, of, quoted);
	rte_pktmbuf_free(out);
	rte_pktmbuf_free(m);
}

static void test_unreachable(void **state)
{
	static const char *const samples[] = {"udp4", "udp6_extensions", "pppoe6", "raw4",
		"sll2_vlan6", "hdlc4", "vlan4", "sctp4"};
	static const uint32_t lengths[] = {0, 1, 519, 520, 521, 1231, 1232, 1233, 1400};
	struct packet_sample s;
	struct packet p;

	(void)state;
	for (size_t i = 0; i < sizeof(samples) / sizeof(samples[0]); i++) {
		find(samples[i], &s);
		packet_padding(&s.packet, 9);
		check_unreachable(&s.packet, 1);
		check_unreachable(&s.packet, 5);
	}
	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++)
		for (unsigned v6 = 0; v6 < 2; v6++) {
			packet_begin(&p);
			packet_ethernet(&p);
			packet_vlan(&p, 0x8100, 9);
			if (v6)
				packet_ipv6(&p, "2001:db8::1", "2001:db8::2");
			else
				packet_ipv4(&p, "192.0.2.1", "192.0.2.2");
			packet_udp(&p, 5, 6);
			packet_fill(&p, lengths[i]);
			packet_finish(&p);
			check_unreachable(&p, 1);
			check_unreachable(&p, 3);
		}
}

static int all_back(void **state)
{
	(void)state;
	assert_int_equal(rte_mempool_in_use_count(packet_pool()), 0);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_reset, all_back),
		cmocka_unit_test_teardown(test_no_room, all_back),
		cmocka_unit_test_teardown(test_reply, all_back),
		cmocka_unit_test_teardown(test_reply_without_ack, all_back),
		cmocka_unit_test_teardown(test_refused, all_back),
		cmocka_unit_test_teardown(test_unreachable, all_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
