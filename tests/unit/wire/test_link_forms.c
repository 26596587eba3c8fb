// SPDX-License-Identifier: BSD-3-Clause
// Each form of frame that a host takes an IP packet from is one to the rules, and each frame that
// no host does so with passes by `link` of the policy: one row for each `return PKT_LINK` of the
// parser, and the forms that were mistaken for one.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <netinet/in.h>
#include <cmocka.h>
#include "pipeline/wire/craft.h"
#include "lib/packet/packet.h"
#include "pipeline/wire/parse.h"
#include "lib/pipeline/pipe.h"

#define MACS   "020000000002020000000001"
#define BRIDGE "0180c2000000020000000001" // to all bridges
#define VLAN0  "81000000"
#define SNAP   "aaaa03000000"
#define TUNNEL "aaaa030000f8"

static const struct form {
	const char *name;
	const char *l2; // in hex; "LL" is the length of what follows
	bool ip;        // hosts take the packet behind it
} forms[] = {
	{"Ethernet II", MACS "0800", true},
	{"VLAN 0", MACS VLAN0 "0800", true},
	{"7 times VLAN 0", MACS VLAN0 VLAN0 VLAN0 VLAN0 VLAN0 VLAN0 VLAN0 "0800", true},
	{"VLAN 0 and a tag",
		MACS VLAN0 "81000005"
			   "0800",
		true},
	{"RFC 1042", MACS "LLLL" SNAP "0800", true},
	{"802.1H", MACS "LLLL" TUNNEL "0800", true},
	{"RFC 1042 behind VLAN 0 (CVE-2021-27853)", MACS VLAN0 "LLLL" SNAP "0800", true},
	{"802.1H behind VLAN 0 twice", MACS VLAN0 VLAN0 "LLLL" TUNNEL "0800", true},
	{"VLAN 0 in RFC 1042 (CVE-2021-27854)", MACS "LLLL" SNAP VLAN0 "0800", true},
	{"RFC 1042 in VLAN 0 in RFC 1042", MACS "LLLL" SNAP VLAN0 "LLLL" SNAP "0800", true},
	{"RFC 1042, length 0 (CVE-2021-27861)", MACS "0000" SNAP "0800", true},
	{"RFC 1042, length 8", MACS "0008" SNAP "0800", true},
	{"RFC 1042, length 1500 (CVE-2021-27862)", MACS "05dc" SNAP "0800", true},
	{"RFC 1042, length 1535", MACS "05ff" SNAP "0800", true},
	{"RFC 1042, an answer",
		MACS "LLLL"
		     "aaab03000000"
		     "0800",
		true},
	{"RFC 1042, polled",
		MACS "LLLL"
		     "aaaa13000000"
		     "0800",
		true},
	{"LLC, SAP 6 (RFC 948)",
		MACS "LLLL"
		     "060603",
		true},
	{"MPLS",
		MACS "8847"
		     "00011140",
		true},
	{"PPPoE",
		MACS "8864"
		     "11000004LLLL0021",
		true},
	{"PPPoE, compressed protocol",
		MACS "8864"
		     "11000004LLLL21",
		true},
	{"PPPoE, another version",
		MACS "8864"
		     "21000004LLLL0021",
		true},
	{"PPPoE, another code",
		MACS "8864"
		     "11070004LLLL21",
		true},
	{"PPPoE in RFC 1042 behind VLAN 0",
		MACS VLAN0 "LLLL" SNAP "8864"
			   "11000004LLLL21",
		true},
	{"spanning tree",
		BRIDGE "LLLL"
		       "424203",
		false},
	{"spanning tree behind VLAN 0",
		BRIDGE VLAN0 "LLLL"
			     "424203",
		false},
	{"IS-IS",
		MACS "LLLL"
		     "fefe03",
		false},
	{"NetBIOS",
		MACS "LLLL"
		     "f0f003",
		false},
	{"IPX, raw",
		MACS "LLLL"
		     "ffff00",
		false},
	{"SNAP of another organization: CDP",
		MACS "LLLL"
		     "aaaa0300000c2000",
		false},
	{"SNAP, XID",
		MACS "LLLL"
		     "aaaabf0000000800",
		false},
	{"SNAP with another EtherType", MACS "LLLL" SNAP "88b5", false},
	{"another EtherType", MACS "88b5", false},
	{"PPPoE, LCP",
		MACS "8864"
		     "11000004LLLLc021",
		false},
	{"PPPoE, compressed TCP header",
		MACS "8864"
		     "11000004LLLL2d",
		false},
	{"MPLS, a pseudowire",
		MACS "8847"
		     "00011140"
		     "00000000",
		false},
};

static unsigned nibble(char c)
{
	return (unsigned)(c <= '9' ? c - '0' : c - 'a' + 10);
}

// The header, then `packet`; returns the header's length.
static uint32_t build(
	const struct form *form, const uint8_t *packet, uint32_t length, uint8_t frame[256])
{
	uint32_t n = (uint32_t)strlen(form->l2) / 2, end = n + length;

	memcpy(frame + n, packet, length);
	for (uint32_t i = 0; i < n; i++) {
		const char *p = form->l2 + 2 * i;

		if (*p != 'L') {
			frame[i] = (uint8_t)(nibble(p[0]) << 4 | nibble(p[1]));
			continue;
		}
		frame[i] = (uint8_t)((end - i - 2) >> 8);
		frame[i + 1] = (uint8_t)(end - i - 2);
		i++;
	}
	return n;
}

static void quarantine(struct pipe *pipe)
{
	struct policy *policy = pipe_policy(pipe);
	struct rule *rule = pipe_rule(policy, 7, ACTION_DROP);

	rule->has_source = true;
	assert_int_equal(address_set_add(&rule->source, "192.0.2.1"), 0);
	address_set_seal(&rule->source);
	pipe_publish(pipe, policy);
}

// 65 bytes of payload make a frame that no test length fits by chance.
static void datagram(struct packet *p, const char *source)
{
	packet_begin(p);
	packet_link(p, LINK_RAW);
	packet_ipv4(p, source, "192.0.2.2");
	packet_udp(p, 5353, 53);
	packet_fill(p, 65);
	packet_finish(p);
}

static void hosts_and_rules_take_the_same_frames_for_ip(void **state)
{
	(void)state;
	for (unsigned i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		struct pipe *pipe = pipe_new(1, NULL);
		uint8_t frame[256];
		struct packet p;

		quarantine(pipe);
		datagram(&p, "192.0.2.1");
		uint32_t l2 = build(&forms[i], p.bytes, p.length, frame);
		unsigned sent = pipe_run_frame(pipe, 0, frame, l2 + p.length, false, 1);

		if (sent != !forms[i].ip)
			fail_msg("%s: %u left", forms[i].name, sent);
		assert_int_equal(pipe_stats(pipe).link_pkts, !forms[i].ip);
		assert_int_equal(pipe_stats(pipe).dropped_pkts[DROP_RULE], forms[i].ip);
		datagram(&p, "192.0.2.3"); // the control: another host passes, as it came
		l2 = build(&forms[i], p.bytes, p.length, frame);
		assert_int_equal(pipe_run_frame(pipe, 0, frame, l2 + p.length, false, 1), 1);
		assert_memory_equal(pipe->sent[pipe->n_sent - 1].frame, frame, l2 + p.length);
		pipe_free(pipe);
	}
}

// VLAN 0 is no tag: rules see the one behind it.
static void a_tag_behind_vlan_0_counts(void **state)
{
	struct pipe *pipe = pipe_new(1, NULL);
	struct policy *policy = pipe_policy(pipe);
	struct rule *rule = pipe_rule(policy, 7, ACTION_DROP);
	static const struct form form = {"",
		MACS VLAN0 VLAN0 VLAN0 "81000005"
				       "0800",
		true};
	uint8_t frame[256];
	struct packet p;
	(void)state;

	rule->vlans[rule->n_vlans++] = 5;
	pipe_publish(pipe, policy);
	datagram(&p, "192.0.2.1");
	uint32_t l2 = build(&form, p.bytes, p.length, frame);

	assert_int_equal(pipe_run_frame(pipe, 0, frame, l2 + p.length, false, 1), 0);
	pipe_free(pipe);
}

// Tags of VLAN 0, any number of which hosts take: too many for the flow to keep the whole header.
static void a_mac_address_counts_behind_any_header(void **state)
{
	static const char *const senders[] = {"02:00:00:00:00:01", "02:00:00:00:00:07"};
	(void)state;

	for (unsigned i = 0; i < 2 * 15; i++) {
		struct pipe *pipe = pipe_new(1, NULL);
		struct policy *policy = pipe_policy(pipe);
		struct rule *rule = pipe_rule(policy, 7, ACTION_DROP);
		char l2[200];
		struct form form = {"", l2, true};
		uint8_t frame[256];
		struct packet p;

		rule->has_mac = rule->asks_frame = policy->asks_mac = policy->asks_frame = true;
		assert_int_equal(mac_set_add(&rule->mac, senders[i % 2]), 0);
		mac_set_seal(&rule->mac);
		pipe_publish(pipe, policy);
		int n_l2 = snprintf(l2, sizeof(l2), MACS);

		for (unsigned n = 0; n < i / 2; n++)
			n_l2 += snprintf(l2 + n_l2, sizeof(l2) - (size_t)n_l2, VLAN0);
		snprintf(l2 + n_l2, sizeof(l2) - (size_t)n_l2, "0800");
		datagram(&p, "192.0.2.1");
		uint32_t length = build(&form, p.bytes, p.length, frame) + p.length;

		for (unsigned n = 0; n < 3; n++) {
			pipe->n_sent = 0;
			if (pipe_run_frame(pipe, 0, frame, length, false, 1) != i % 2)
				fail_msg("%u tags: %s", i / 2, i % 2 ? "refused" : "passed");
		}
		pipe_free(pipe);
	}
}

// What is made in answer has a header of the same form, its lengths set.
static void answers_have_lengths_of_their_own(void **state)
{
	struct pipe *pipe = pipe_new(1, NULL);
	(void)state;

	for (unsigned i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		uint8_t frame[256], expected[256];
		union flow_key key;
		struct packet p;

		if (!forms[i].ip || strchr(forms[i].name, ',') || strstr(forms[i].l2, "8847"))
			continue;
		packet_begin(&p);
		packet_link(&p, LINK_RAW);
		packet_ipv4(&p, "192.0.2.1", "192.0.2.2");
		packet_tcp(&p, 40000, 80, 1, 2, 0x10);
		packet_fill(&p, 65);
		packet_finish(&p);
		uint32_t l2 = build(&forms[i], p.bytes, p.length, frame);
		struct rte_mbuf *m =
			packet_mbuf(pipe->pool, frame, l2 + p.length, LINK_ETHERNET, 1);
		struct rte_mbuf *out = rte_pktmbuf_alloc(pipe->pool);

		assert_true(parse_mbuf(m, &PARSE_SETTINGS_FIXED, &key));
		assert_int_equal(craft_reset_reply(out, m), 0);
		build(&forms[i], p.bytes, 40, expected); // a header and 40 bytes
		const uint8_t *made = rte_pktmbuf_mtod(out, const uint8_t *);

		if (memcmp(made + 12, expected + 12, l2 - 12))
			fail_msg("%s", forms[i].name);
		rte_pktmbuf_free(m);
		rte_pktmbuf_free(out);
	}
	pipe_free(pipe);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hosts_and_rules_take_the_same_frames_for_ip),
		cmocka_unit_test(a_tag_behind_vlan_0_counts),
		cmocka_unit_test(a_mac_address_counts_behind_any_header),
		cmocka_unit_test(answers_have_lengths_of_their_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
