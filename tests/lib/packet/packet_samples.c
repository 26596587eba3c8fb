// SPDX-License-Identifier: BSD-3-Clause
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include "packet.h"

#define A4 "192.0.2.1"
#define B4 "198.51.100.2"
#define A6 "2001:db8::1"
#define B6 "2001:db8:1::2"

// What parse must say of a sample that it takes.
static void expect(struct packet_sample *s, uint16_t flags, uint8_t proto, uint16_t sport,
	uint16_t dport, uint16_t payload_length)
{
	s->class = PKT_IP;
	s->flags = flags;
	s->proto = proto;
	s->sport = sport;
	s->dport = dport;
	s->payload_length = payload_length;
}

static void eth4(struct packet *p)
{
	packet_ethernet(p);
	packet_ipv4(p, A4, B4);
}

static void eth6(struct packet *p)
{
	packet_ethernet(p);
	packet_ipv6(p, A6, B6);
}

static void tcp(struct packet_sample *s, uint16_t flags)
{
	packet_tcp(&s->packet, 40000, 80, 1000, 2000, TH_PUSH | TH_ACK);
	packet_text(&s->packet, "GET / HTTP/1.1\r\n");
	expect(s, flags | PKT_L4_OK, IPPROTO_TCP, 40000, 80, 16);
}

static void udp(struct packet_sample *s, uint16_t flags)
{
	packet_udp(&s->packet, 5353, 53);
	packet_fill(&s->packet, 11);
	expect(s, flags | PKT_L4_OK, IPPROTO_UDP, 5353, 53, 11);
}

static void tcp4(struct packet_sample *s)
{
	eth4(&s->packet);
	tcp(s, 0);
}

static void tcp4_options(struct packet_sample *s)
{
	eth4(&s->packet);
	packet_ipv4_options(&s->packet, 10);
	packet_tcp(&s->packet, 1, 65535, 5, 6, TH_SYN);
	packet_tcp_options(&s->packet, 10);
	packet_fill(&s->packet, 3);
	expect(s, PKT_L4_OK, IPPROTO_TCP, 1, 65535, 3);
}

static void udp4(struct packet_sample *s)
{
	eth4(&s->packet);
	udp(s, 0);
}

static void land4(struct packet_sample *s)
{
	packet_ethernet(&s->packet);
	packet_ipv4(&s->packet, A4, A4);
	packet_udp(&s->packet, 7, 7);
	expect(s, PKT_L4_OK, IPPROTO_UDP, 7, 7, 0);
}

static void echo4(struct packet_sample *s)
{
	eth4(&s->packet);
	packet_icmp(&s->packet, 8, 0);
	packet_fill(&s->packet, 4);
	expect(s, PKT_L4_OK, IPPROTO_ICMP, 8, 0, 4);
}

static void sctp4(struct packet_sample *s)
{
	eth4(&s->packet);
	packet_protocol(&s->packet, IPPROTO_SCTP);
	packet_payload(&s->packet, "\x0b\xb8\x0b\xb9\0\0\0\1\0\0\0\0chunk", 17);
	expect(s, PKT_L4_OK, IPPROTO_SCTP, 3000, 3001, 5);
}

static void esp4(struct packet_sample *s)
{
	eth4(&s->packet);
	packet_protocol(&s->packet, IPPROTO_ESP);
	packet_fill(&s->packet, 24);
	expect(s, 0, IPPROTO_ESP, 0, 0, 24);
}

static void multicast4(struct packet_sample *s)
{
	packet_ethernet(&s->packet);
	s->packet.bytes[0] = 1;
	packet_ipv4(&s->packet, A4, "239.192.152.143");
	udp(s, PKT_MULTICAST);
}

static void fragment4_first(struct packet_sample *s)
{
	eth4(&s->packet);
	packet_ipv4_fragment(&s->packet, 77, 0, true);
	udp(s, PKT_FRAGMENT | PKT_FRAG_FIRST);
}

static void fragment4_later(struct packet_sample *s)
{
	eth4(&s->packet);
	packet_ipv4_fragment(&s->packet, 77, 64, false);
	packet_protocol(&s->packet, IPPROTO_UDP);
	packet_fill(&s->packet, 30);
	expect(s, PKT_FRAGMENT, IPPROTO_UDP, 0, 0, 30);
}

static void tcp6(struct packet_sample *s)
{
	eth6(&s->packet);
	tcp(s, PKT_V6);
}

static void udp6_extensions(struct packet_sample *s)
{
	eth6(&s->packet);
	packet_extension(&s->packet, IPPROTO_HOPOPTS, 8);
	packet_extension(&s->packet, IPPROTO_DSTOPTS, 24);
	packet_extension(&s->packet, IPPROTO_ROUTING, 24);
	packet_ipv6_fragment(&s->packet, 9, 0, false); // atomic
	packet_extension(&s->packet, IPPROTO_AH, 24);
	packet_extension(&s->packet, IPPROTO_DSTOPTS, 8);
	udp(s, PKT_V6);
}

static void echo6(struct packet_sample *s)
{
	eth6(&s->packet);
	packet_icmp(&s->packet, 129, 0);
	expect(s, PKT_V6 | PKT_L4_OK, IPPROTO_ICMPV6, 129, 128, 0);
}

static void nothing6(struct packet_sample *s)
{
	eth6(&s->packet);
	packet_protocol(&s->packet, IPPROTO_NONE);
	expect(s, PKT_V6, IPPROTO_NONE, 0, 0, 0);
}

static void fragment6_first(struct packet_sample *s)
{
	eth6(&s->packet);
	packet_extension(&s->packet, IPPROTO_DSTOPTS, 8);
	packet_ipv6_fragment(&s->packet, 0x12345678, 0, true);
	packet_extension(&s->packet, IPPROTO_DSTOPTS, 16);
	packet_udp(&s->packet, 5000, 6000);
	packet_fill(&s->packet, 16);
	expect(s, PKT_V6 | PKT_FRAGMENT | PKT_FRAG_FIRST | PKT_L4_OK, IPPROTO_UDP, 5000, 6000, 16);
}

static void fragment6_later(struct packet_sample *s)
{
	eth6(&s->packet);
	packet_ipv6_fragment(&s->packet, 0x12345678, 1024, false);
	packet_protocol(&s->packet, IPPROTO_DSTOPTS); // as the first fragment says
	packet_fill(&s->packet, 40);
	expect(s, PKT_V6 | PKT_FRAGMENT, IPPROTO_DSTOPTS, 0, 0, 40);
}

static void error4(struct packet_sample *s)
{
	packet_ethernet(&s->packet);
	packet_ipv4(&s->packet, "203.0.113.9", A4);
	packet_icmp(&s->packet, 11, 0);
	packet_ipv4(&s->packet, A4, B4);
	packet_udp(&s->packet, 5353, 53); // 8 bytes: the least
	expect(s, PKT_L4_OK | PKT_ICMP_ERROR, IPPROTO_ICMP, 11, 0, 28);
}

static void error4_echo(struct packet_sample *s)
{
	packet_ethernet(&s->packet);
	packet_ipv4(&s->packet, "203.0.113.9", A4);
	packet_icmp(&s->packet, 3, 1);
	packet_ipv4(&s->packet, A4, B4);
	packet_icmp(&s->packet, 8, 0);
	expect(s, PKT_L4_OK | PKT_ICMP_ERROR, IPPROTO_ICMP, 3, 1, 28);
}

static void error4_error(struct packet_sample *s)
{
	packet_ethernet(&s->packet);
	packet_ipv4(&s->packet, "203.0.113.9", A4);
	packet_icmp(&s->packet, 3, 1);
	packet_ipv4(&s->packet, A4, B4);
	packet_icmp(&s->packet, 3, 3);
	expect(s, PKT_L4_OK, IPPROTO_ICMP, 3, 1, 28);
}

static void error6(struct packet_sample *s)
{
	packet_ethernet(&s->packet);
	packet_ipv6(&s->packet, "2001:db8:9::9", A6);
	packet_icmp(&s->packet, 1, 4);
	packet_ipv6(&s->packet, A6, B6);
	packet_extension(&s->packet, IPPROTO_DSTOPTS, 16);
	packet_tcp(&s->packet, 40000, 80, 1, 2, TH_ACK);
	expect(s, PKT_V6 | PKT_L4_OK | PKT_ICMP_ERROR, IPPROTO_ICMPV6, 1, 4, 76);
}

static void vlan4(struct packet_sample *s)
{
	packet_ethernet(&s->packet);
	packet_vlan(&s->packet, 0x8100, 0xe123);
	packet_ipv4(&s->packet, A4, B4);
	tcp(s, 0);
}

static void qinq6(struct packet_sample *s)
{
	packet_ethernet(&s->packet);
	packet_vlan(&s->packet, 0x88a8, 100);
	packet_vlan(&s->packet, 0x9100, 200);
	packet_vlan(&s->packet, 0x8100, 300);
	packet_ipv6(&s->packet, A6, B6);
	tcp(s, PKT_V6);
}

static void mpls4(struct packet_sample *s)
{
	packet_ethernet(&s->packet);
	packet_mpls(&s->packet, 17, false);
	packet_mpls(&s->packet, 18, true);
	packet_ipv4(&s->packet, A4, B4);
	udp(s, 0);
}

static void pppoe4(struct packet_sample *s)
{
	packet_ethernet(&s->packet);
	packet_vlan(&s->packet, 0x8100, 7);
	packet_pppoe(&s->packet, 4);
	packet_ipv4(&s->packet, A4, B4);
	tcp(s, PKT_PPPOE);
}

static void pppoe6(struct packet_sample *s)
{
	packet_ethernet(&s->packet);
	packet_pppoe(&s->packet, 4);
	packet_ipv6(&s->packet, A6, B6);
	udp(s, PKT_V6 | PKT_PPPOE);
}

static void gre4(struct packet_sample *s)
{
	eth4(&s->packet);
	packet_gre(&s->packet, 0, 0);
	packet_ipv4(&s->packet, "10.0.0.1", "10.0.0.2");
	tcp(s, PKT_TUNNEL);
}

static void gre6_options(struct packet_sample *s)
{
	eth4(&s->packet);
	packet_gre(&s->packet, 0xb000, 0);
	packet_ipv6(&s->packet, A6, B6);
	udp(s, PKT_V6 | PKT_TUNNEL);
}

static void gre_pptp(struct packet_sample *s)
{
	eth4(&s->packet);
	packet_gre(&s->packet, 0x2001, 0x880b);
	packet_fill(&s->packet, 20);
	expect(s, 0, IPPROTO_GRE, 0, 0, 28);
}

static void gre_ethernet(struct packet_sample *s)
{
	eth4(&s->packet);
	packet_gre(&s->packet, 0, 0x6558);
	packet_fill(&s->packet, 40);
	expect(s, 0, IPPROTO_GRE, 0, 0, 44);
}

static void ipip_6in4(struct packet_sample *s)
{
	eth4(&s->packet);
	packet_ipv4(&s->packet, "10.0.0.1", "10.0.0.2");
	packet_ipv6(&s->packet, A6, B6);
	tcp(s, PKT_V6 | PKT_TUNNEL);
}

static void tunnel6_4(struct packet_sample *s)
{
	eth6(&s->packet);
	packet_ipv6(&s->packet, "fd00::1", "fd00::2");
	packet_ipv4(&s->packet, A4, B4);
	udp(s, PKT_TUNNEL);
}

static void raw4(struct packet_sample *s)
{
	packet_link(&s->packet, LINK_RAW);
	packet_ipv4(&s->packet, A4, B4);
	udp(s, 0);
}

static void null6(struct packet_sample *s)
{
	packet_link(&s->packet, LINK_NULL);
	packet_ipv6(&s->packet, A6, B6);
	tcp(s, PKT_V6);
}

static void sll4(struct packet_sample *s)
{
	packet_link(&s->packet, LINK_SLL);
	packet_ipv4(&s->packet, A4, B4);
	tcp(s, 0);
}

static void sll2_vlan6(struct packet_sample *s)
{
	packet_link(&s->packet, LINK_SLL2);
	packet_vlan(&s->packet, 0x8100, 5);
	packet_ipv6(&s->packet, A6, B6);
	udp(s, PKT_V6);
}

static void ppp4(struct packet_sample *s)
{
	packet_link(&s->packet, LINK_PPP);
	packet_ipv4(&s->packet, A4, B4);
	tcp(s, 0);
}

static void hdlc4(struct packet_sample *s)
{
	packet_link(&s->packet, LINK_C_HDLC);
	packet_ipv4(&s->packet, A4, B4);
	udp(s, 0);
}

static void arp(struct packet_sample *s)
{
	packet_ethernet(&s->packet);
	memset(s->packet.bytes, 0xff, 6);
	s->packet.bytes[12] = 0x08;
	s->packet.bytes[13] = 0x06;
	packet_fill(&s->packet, 28);
	s->class = PKT_LINK;
	s->flags = PKT_MULTICAST;
}

static void stp(struct packet_sample *s)
{
	packet_ethernet(&s->packet);
	memcpy(s->packet.bytes, "\x01\x80\xc2\0\0\0", 6);
	s->packet.bytes[13] = 38;
	packet_payload(&s->packet, "\x42\x42\x03", 3);
	packet_fill(&s->packet, 43);
	s->class = PKT_LINK;
	s->flags = PKT_MULTICAST;
}

static void lcp(struct packet_sample *s)
{
	packet_ethernet(&s->packet);
	packet_pppoe(&s->packet, 4);
	packet_fill(&s->packet, 10);
	s->packet.bytes[20] = 0xc0;
	s->packet.bytes[21] = 0x21;
	s->class = PKT_LINK;
	s->flags = PKT_PPPOE;
}

static void tunnels3(struct packet_sample *s)
{
	eth4(&s->packet);
	packet_ipv4(&s->packet, "10.0.0.1", "10.0.0.2");
	packet_ipv4(&s->packet, "10.0.1.1", "10.0.1.2");
	packet_ipv4(&s->packet, "10.0.2.1", "10.0.2.2");
	tcp(s, PKT_TUNNEL);
}

static void tunnels9(struct packet_sample *s)
{
	eth4(&s->packet);
	for (unsigned i = 0; i < 9; i++)
		packet_ipv4(&s->packet, "10.0.0.1", "10.0.0.2");
	tcp(s, 0);
	s->class = PKT_UNSUPPORTED;
}

static void extensions9(struct packet_sample *s)
{
	eth6(&s->packet);
	for (unsigned i = 0; i < 9; i++)
		packet_extension(&s->packet, IPPROTO_DSTOPTS, 8);
	tcp(s, PKT_V6);
}

static void routing_left(struct packet_sample *s)
{
	eth6(&s->packet);
	packet_extension(&s->packet, IPPROTO_ROUTING, 24);
	s->packet.bytes[14 + 40 + 3] = 1;
	tcp(s, 0);
	s->class = PKT_UNSUPPORTED;
}

static void far_away(struct packet_sample *s)
{
	eth6(&s->packet);
	packet_extension(&s->packet, IPPROTO_DSTOPTS, 600);
	tcp(s, PKT_V6);
}

static void hop_by_hop_later(struct packet_sample *s)
{
	eth6(&s->packet);
	packet_extension(&s->packet, IPPROTO_DSTOPTS, 8);
	packet_extension(&s->packet, IPPROTO_HOPOPTS, 8);
	tcp(s, 0);
	s->class = PKT_MALFORMED;
}

bool packet_sample(unsigned i, struct packet_sample *sample)
{
	static const struct {
		const char *name;
		void (*build)(struct packet_sample *s);
	} all[] = {
#define SAMPLE(name) {#name, name}
		SAMPLE(tcp4),
		SAMPLE(tcp4_options),
		SAMPLE(udp4),
		SAMPLE(land4),
		SAMPLE(echo4),
		SAMPLE(sctp4),
		SAMPLE(esp4),
		SAMPLE(multicast4),
		SAMPLE(fragment4_first),
		SAMPLE(fragment4_later),
		SAMPLE(tcp6),
		SAMPLE(udp6_extensions),
		SAMPLE(echo6),
		SAMPLE(nothing6),
		SAMPLE(fragment6_first),
		SAMPLE(fragment6_later),
		SAMPLE(error4),
		SAMPLE(error4_echo),
		SAMPLE(error4_error),
		SAMPLE(error6),
		SAMPLE(vlan4),
		SAMPLE(qinq6),
		SAMPLE(mpls4),
		SAMPLE(pppoe4),
		SAMPLE(pppoe6),
		SAMPLE(gre4),
		SAMPLE(gre6_options),
		SAMPLE(gre_pptp),
		SAMPLE(gre_ethernet),
		SAMPLE(ipip_6in4),
		SAMPLE(tunnel6_4),
		SAMPLE(raw4),
		SAMPLE(null6),
		SAMPLE(sll4),
		SAMPLE(sll2_vlan6),
		SAMPLE(ppp4),
		SAMPLE(hdlc4),
		SAMPLE(arp),
		SAMPLE(stp),
		SAMPLE(lcp),
		SAMPLE(tunnels3),
		SAMPLE(tunnels9),
		SAMPLE(extensions9),
		SAMPLE(routing_left),
		SAMPLE(far_away),
		SAMPLE(hop_by_hop_later),
#undef SAMPLE
	};

	if (i >= sizeof(all) / sizeof(all[0]))
		return false;
	memset(sample, 0, sizeof(*sample));
	sample->name = all[i].name;
	packet_begin(&sample->packet);
	all[i].build(sample);
	packet_finish(&sample->packet);
	return true;
}
