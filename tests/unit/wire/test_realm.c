// SPDX-License-Identifier: BSD-3-Clause
// Networks that have the same addresses: behind VLAN tags, PPPoE sessions, tunnels. Each key is
// asked with each pair of them: what is made in one realm has no effect in another, and both
// directions of one are one.
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
#include "lib/pipeline/pipe.h"
#include "pipeline/flow/table.h"
#include "pipeline/stage/fragments.h"
#include "pipeline/flow/expect.h"
#include "pipeline/cache/conn_cache.h"
#include "pipeline/cache/endpoint_cache.h"

#define HERE  "10.0.0.1"
#define THERE "10.0.0.2"
#define PORT  4500

enum tunnel { NONE, GRE, GRE_KEY, IPIP, GRE_IN_IPIP, GRE_OVER_V6 };

struct form {
	const char *name;
	unsigned group; // of those that are the same realm
	unsigned n_tags;
	uint16_t tags[3];
	uint16_t session; // of PPPoE; 0: none
	enum tunnel tunnel;
	const char *outer[2];
	uint32_t key;
};
static const struct form forms[] = {
	{"untagged", 0, 0, {0}, 0, NONE, {0}, 0},
	{"priority", 0, 1, {0xe000}, 0, NONE, {0}, 0},
	{"5", 1, 1, {5}, 0, NONE, {0}, 0},
	{"5 with a priority", 1, 1, {0xa005}, 0, NONE, {0}, 0},
	{"0/5", 1, 2, {0, 5}, 0, NONE, {0}, 0},
	{"5/10", 2, 2, {5, 10}, 0, NONE, {0}, 0},
	{"5/0/10", 2, 3, {5, 0, 10}, 0, NONE, {0}, 0},
	{"5/20", 3, 2, {5, 20}, 0, NONE, {0}, 0},
	{"10/5", 4, 2, {10, 5}, 0, NONE, {0}, 0},
	{"5/10/7", 5, 3, {5, 10, 7}, 0, NONE, {0}, 0},
	{"5/10/8", 6, 3, {5, 10, 8}, 0, NONE, {0}, 0},
	{"session 1", 7, 0, {0}, 1, NONE, {0}, 0},
	{"session 2", 8, 0, {0}, 2, NONE, {0}, 0},
	{"session 1 behind 5", 9, 1, {5}, 1, NONE, {0}, 0},
	{"session 1 behind 5/10", 10, 2, {5, 10}, 1, NONE, {0}, 0},
	{"session 2 behind 5/10", 11, 2, {5, 10}, 2, NONE, {0}, 0},
	{"GRE", 12, 0, {0}, 0, GRE, {"192.0.2.1", "192.0.2.9"}, 0},
	{"GRE, other end", 13, 0, {0}, 0, GRE, {"192.0.2.1", "192.0.2.8"}, 0},
	{"GRE behind 5", 14, 1, {5}, 0, GRE, {"192.0.2.1", "192.0.2.9"}, 0},
	{"GRE key 0", 15, 0, {0}, 0, GRE_KEY, {"192.0.2.1", "192.0.2.9"}, 0},
	{"GRE key 1", 16, 0, {0}, 0, GRE_KEY, {"192.0.2.1", "192.0.2.9"}, 1},
	{"GRE key 2", 17, 0, {0}, 0, GRE_KEY, {"192.0.2.1", "192.0.2.9"}, 2},
	{"IPIP", 18, 0, {0}, 0, IPIP, {"192.0.2.1", "192.0.2.9"}, 0},
	{"GRE key 1 in IPIP", 19, 0, {0}, 0, GRE_IN_IPIP, {"192.0.2.1", "192.0.2.9"}, 1},
	{"GRE key 2 in IPIP", 20, 0, {0}, 0, GRE_IN_IPIP, {"192.0.2.1", "192.0.2.9"}, 2},
	{"GRE over IPv6", 21, 0, {0}, 0, GRE_OVER_V6, {"2001:db8::1", "2001:db8::9"}, 1},
	{"GRE over IPv6, other end", 22, 0, {0}, 0, GRE_OVER_V6, {"2001:db8::1", "2001:db8::8"}, 1},
};
#define FORMS  (sizeof(forms) / sizeof(forms[0]))
#define GROUPS 23

static void put_gre(struct packet *p, const struct form *form, bool keyed)
{
	packet_gre(p, keyed ? 0x2000 : 0, 0);
	if (!keyed)
		return;
	uint8_t *at = p->bytes + packet_at(p, IPPROTO_GRE, 0) + 4;

	for (unsigned i = 0; i < 4; i++)
		at[i] = (uint8_t)(form->key >> (24 - 8 * i));
}

// All up to the inner IPv4 header, which is not there yet.
static void wrap(struct packet *p, const struct form *form, bool back)
{
	const char *from = form->outer[back], *to = form->outer[!back];

	packet_begin(p);
	packet_ethernet(p);
	for (unsigned i = 0; i < form->n_tags; i++)
		packet_vlan(p, i ? 0x8100 : 0x88a8, form->tags[i]);
	if (form->session)
		packet_pppoe(p, form->session);
	switch (form->tunnel) {
	case NONE: return;
	case GRE_IN_IPIP:
		packet_ipv4(p, from, to);
		packet_ipv4(p, back ? "198.51.100.2" : "198.51.100.1",
			back ? "198.51.100.1" : "198.51.100.2");
		break;
	case GRE_OVER_V6: packet_ipv6(p, from, to); break;
	default: packet_ipv4(p, from, to); break;
	}
	if (form->tunnel != IPIP)
		put_gre(p, form, form->tunnel != GRE);
}

static void inner(struct packet *p, bool back)
{
	packet_ipv4(p, back ? THERE : HERE, back ? HERE : THERE);
}

static void datagram(struct packet *p, const struct form *form, bool back)
{
	wrap(p, form, back);
	inner(p, back);
	packet_udp(p, back ? PORT : 40000, back ? 40000 : PORT);
	packet_text(p, "nothing that anybody knows");
	packet_finish(p);
}

static void syn(struct packet *p, const struct form *form)
{
	wrap(p, form, false);
	inner(p, false);
	packet_tcp(p, 40000, 443, 1000, 0, TH_SYN);
	packet_finish(p);
}

static unsigned run(struct pipe *pipe, const struct packet *p, bool back)
{
	pipe->n_sent = 0;
	unsigned sent = pipe_run_frame(pipe, 0, p->bytes, p->length, back, 1);

	pipe_turns(pipe);
	return sent;
}

static uint32_t realm_with(const struct packet *p, const struct parse_settings *settings)
{
	struct pkt pkt = {.link = p->link};
	union flow_key key;

	parse_packet_with(&pkt, p->bytes, p->length, p->length, settings);
	assert_int_equal(pkt.class, PKT_IP);
	parse_flow_key(&pkt, p->bytes, &key);
	assert_int_equal(parse_key_realm(&key, false), pkt.realm);
	return pkt.realm;
}

static uint32_t realm_of(const struct form *form, bool back)
{
	struct packet p;

	datagram(&p, form, back);
	return realm_with(&p, &PARSE_SETTINGS_FIXED);
}

static void realms_are_told_apart_in_both_directions(void **state)
{
	(void)state;
	for (unsigned i = 0; i < FORMS; i++) {
		const uint32_t realm = realm_of(&forms[i], false);

		if (realm_of(&forms[i], true) != realm)
			fail_msg("%s: the way back is another realm", forms[i].name);
		for (unsigned k = 0; k < FORMS; k++)
			if ((realm == realm_of(&forms[k], false)) !=
				(forms[i].group == forms[k].group))
				fail_msg("%s, %s", forms[i].name, forms[k].name);
	}
	assert_int_equal(realm_of(&forms[0], false), 0);
}

// Nobody who does not know the seed can make a tunnel that shares the realm of another.
static void tunnels_are_hashed_with_the_seed(void **state)
{
	struct parse_settings settings = PARSE_SETTINGS_FIXED;
	struct packet p;
	(void)state;

	datagram(&p, &forms[16], false);
	const uint32_t fixed = realm_with(&p, &settings);

	settings.seed.words[2] ^= 0x5555;
	assert_int_not_equal(realm_with(&p, &settings), fixed);
	assert_true(realm_with(&p, &settings) & REALM_HASHED);
}

static void tags_and_sessions_can_be_read_from_a_realm(void **state)
{
	uint16_t tags[2];
	(void)state;

	assert_int_equal(realm_tags(realm_of(&forms[5], false), tags), 2);
	assert_int_equal(tags[0], 5);
	assert_int_equal(tags[1], 10);
	assert_int_equal(realm_session(realm_of(&forms[5], false)), -1);
	assert_int_equal(realm_tags(realm_of(&forms[13], false), tags), 1);
	assert_int_equal(tags[0], 5);
	assert_int_equal(realm_session(realm_of(&forms[13], false)), 1);
	assert_int_equal(realm_tags(realm_of(&forms[16], false), tags), 0);
}

static struct pipe *roomy(bool shared)
{
	struct lcore_limits limits = pipe_limits();

	limits.parse.vlan_shared = shared;
	limits.flows = limits.embryos = limits.conn_cache = 256;
	return pipe_new(1, &limits);
}

static void flows_of_two_realms_are_two(void **state)
{
	struct pipe *pipe = roomy(false);
	struct packet p;
	(void)state;

	for (unsigned back = 0; back < 2; back++)
		for (unsigned i = 0; i < FORMS; i++) {
			datagram(&p, &forms[i], back);
			assert_int_equal(run(pipe, &p, back), 1);
		}
	assert_int_equal(pipe_stats(pipe).flows_active, GROUPS);
	pipe_free(pipe);
}

static void entry_of_the_connection_cache_blocks_in_its_realm_alone(void **state)
{
	struct packet p;
	(void)state;

	for (unsigned i = 0; i < FORMS; i++) {
		struct pipe *pipe = roomy(false);
		struct lcore *lcore = pipe->dp.lcores[0];
		struct conn_entry entry = {
			.key = {.port = 443,
				.l4_proto = IPPROTO_TCP,
				.from_inside = 1,
				.mode = CACHE_TUPLE,
				.realm = realm_of(&forms[i], false)},
			.created_ns = pipe->now_ns,
			.expires_ns = pipe->now_ns + 60 * NS_PER_S,
			.flags = CONN_ENTRY_OPERATOR | CONN_ENTRY_FIXED,
		};

		pipe_publish(pipe, pipe_policy(pipe));
		pipe_turns(pipe);
		memcpy(entry.key.initiator, "\0\0\0\0\0\0\0\0\0\0\xff\xff\x0a\0\0\x01", 16);
		memcpy(entry.key.responder, "\0\0\0\0\0\0\0\0\0\0\xff\xff\x0a\0\0\x02", 16);
		assert_true(conn_cache_put(lcore, &entry));
		for (unsigned k = 0; k < FORMS; k++) {
			const bool same = forms[i].group == forms[k].group;

			syn(&p, &forms[k]);
			if (run(pipe, &p, false) != !same)
				fail_msg("%s, %s", forms[i].name, forms[k].name);
		}
		pipe_free(pipe);
	}
}

static struct flow_cold *only_flow(const struct pipe *pipe)
{
	struct flow_table *flows = pipe->dp.lcores[0]->flows;

	for (uint32_t i = 0; i < flow_table_usage(flows).flows_max; i++)
		if (flow_at(flows, i)->gen)
			return flow_cold_at(flows, i);
	fail_msg("no flow");
	return NULL;
}

static void put_endpoint(struct lcore *lcore, uint32_t realm)
{
	struct endpoint_entry entry = {
		.key = {.port = PORT, .l4_proto = IPPROTO_UDP, .realm = realm},
		.expires_ns = lcore->now_ns + 60 * NS_PER_S,
		.app = 1};

	memcpy(entry.key.address, "\0\0\0\0\0\0\0\0\0\0\xff\xff\x0a\0\0\x02", 16);
	assert_true(endpoint_cache_learn(lcore, lcore->endpoints, &entry));
}

static void put_name(struct lcore *lcore, uint32_t realm)
{
	struct endpoint_entry entry = {.key = {.realm = realm},
		.expires_ns = lcore->now_ns + 60 * NS_PER_S,
		.app = 1,
		.from = LEARNED_DNS};

	memcpy(entry.key.address, "\0\0\0\0\0\0\0\0\0\0\xff\xff\x0a\0\0\x02", 16);
	assert_true(endpoint_cache_learn(lcore, lcore->names, &entry));
}

static void put_expectation(struct lcore *lcore, uint32_t realm)
{
	struct expected expected = {
		.what = {.port = PORT, .l4_proto = IPPROTO_UDP, .ttl_s = 60, .app = 1},
		.realm = realm};

	memcpy(expected.what.address, "\0\0\0\0\0\0\0\0\0\0\xff\xff\x0a\0\0\x02", 16);
	expect_add(lcore, &expected, false);
}

static bool learned(const struct flow_cold *cold)
{
	return cold->learned_app == 1;
}

static bool announced(const struct flow_cold *cold)
{
	return cold->expected != EXPECT_NONE;
}

static void what_is_learned_holds_in_its_realm_alone(void **state)
{
	static const struct {
		const char *name;
		void (*put)(struct lcore *lcore, uint32_t realm);
		bool (*found)(const struct flow_cold *cold);
	} kinds[] = {
		{"endpoint", put_endpoint, learned},
		{"name", put_name, learned},
		{"announced flow", put_expectation, announced},
	};
	(void)state;

	for (unsigned kind = 0; kind < 3; kind++)
		for (unsigned i = 0; i < FORMS; i++)
			for (unsigned k = 0; k < FORMS; k++) {
				if (i && k && i != k && (i * FORMS + k) % 5)
					continue; // enough of them
				struct pipe *pipe = roomy(false);
				struct packet p;

				pipe_turns(pipe);
				kinds[kind].put(pipe->dp.lcores[0], realm_of(&forms[i], false));
				datagram(&p, &forms[k], false);
				run(pipe, &p, false);
				if (kinds[kind].found(only_flow(pipe)) !=
					(forms[i].group == forms[k].group))
					fail_msg("%s: %s, %s", kinds[kind].name, forms[i].name,
						forms[k].name);
				pipe_free(pipe);
			}
}

static void piece(struct packet *p, const struct form *form, bool last)
{
	wrap(p, form, false);
	inner(p, false);
	packet_ipv4_fragment(p, 77, last ? 16 : 0, !last);
	if (last) {
		packet_protocol(p, IPPROTO_UDP);
		packet_fill(p, 8);
	} else {
		packet_udp(p, 40000, PORT);
		packet_fill(p, 8);
	}
	packet_finish(p);
}

static void fragments_of_two_realms_are_of_two_datagrams(void **state)
{
	struct packet first, last;
	(void)state;

	for (unsigned i = 0; i < FORMS; i++)
		for (unsigned k = 0; k < FORMS; k += 1 + (k + i) % 3) {
			struct pipe *pipe = roomy(false);

			piece(&first, &forms[i], false);
			piece(&last, &forms[k], true);
			run(pipe, &first, false);
			assert_int_equal(pipe_stats(pipe).fragments_held, 1);
			run(pipe, &last, false);
			if ((pipe_stats(pipe).fragments_held == 0) !=
				(forms[i].group == forms[k].group))
				fail_msg("%s, %s", forms[i].name, forms[k].name);
			pipe_advance(pipe, 31);
			pipe_turns(pipe);
			pipe_free(pipe);
		}
}

// gateway.json: vlan: shared.
static void shared_tags_tell_nothing_apart(void **state)
{
	const struct parse_settings shared = {.seed = HASH_SEED_FIXED, .vlan_shared = true};
	struct pipe *pipe = roomy(true);
	struct packet p;
	(void)state;

	for (unsigned i = 0; i < FORMS; i++) {
		const struct form bare = {.session = forms[i].session,
			.tunnel = forms[i].tunnel,
			.outer = {forms[i].outer[0], forms[i].outer[1]},
			.key = forms[i].key};
		struct packet without;

		datagram(&p, &forms[i], false);
		datagram(&without, &bare, true);
		assert_int_equal(realm_with(&p, &shared), realm_with(&without, &shared));
	}
	datagram(&p, &forms[5], false); // 5/10 there, 5/20 back
	assert_int_equal(run(pipe, &p, false), 1);
	datagram(&p, &forms[7], true);
	assert_int_equal(run(pipe, &p, true), 1);
	assert_int_equal(pipe_stats(pipe).flows_active, 1);
	datagram(&p, &forms[11], false);
	run(pipe, &p, false);
	assert_int_equal(pipe_stats(pipe).flows_active, 2);
	pipe_free(pipe);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(realms_are_told_apart_in_both_directions),
		cmocka_unit_test(tunnels_are_hashed_with_the_seed),
		cmocka_unit_test(tags_and_sessions_can_be_read_from_a_realm),
		cmocka_unit_test(flows_of_two_realms_are_two),
		cmocka_unit_test(entry_of_the_connection_cache_blocks_in_its_realm_alone),
		cmocka_unit_test(what_is_learned_holds_in_its_realm_alone),
		cmocka_unit_test(fragments_of_two_realms_are_of_two_datagrams),
		cmocka_unit_test(shared_tags_tell_nothing_apart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
