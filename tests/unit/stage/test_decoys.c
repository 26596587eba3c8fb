// SPDX-License-Identifier: BSD-3-Clause
// Decoys over UDP: one end sends what looks like something else, which never arrives, and then
// BitTorrent. A verdict that the other side has not confirmed is looked at again.
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "lib/classify/classify_rig.h"
#include "lib/pipeline/pipe.h"
#include "pipeline/flow/table.h"
#include "pipeline/stage/inspect_again.h"

#define ID "abcdefghij0123456789"

static struct rig *rig; // the repository's signatures

struct decoy {
	const char *name;
	const char *bytes; // then noise
	uint16_t known, length;
	uint16_t times, dport;
	bool bad_checksum;
};

static const struct decoy decoys[] = {
	{"none", "", 0, 0, 0, 6881, false},
	{"WireGuard", "\1\0\0\0", 4, 148, 1, 51820, false},
	{"syslog", LITERAL("<34>Oct 11 22:14:15 host su: 'su root' failed for user on /dev/pts/8"),
		0, 1, 514, false},
	{"DNS", LITERAL("\x12\x34\1\0\0\1\0\0\0\0\0\0\3www\7example\0\0\1\0\1"), 0, 1, 53, false},
	{"STUN",
		LITERAL("\0\1\0\0\x21\x12\xa4\x42"
			"abcdefghijkl"),
		0, 1, 3478, false},
	{"ten of one octet", "x", 1, 1, 10, 6881, false},
	// with these the answer ends the classification
	{"eight of one octet", "x", 1, 1, 8, 6881, false},
	{"nine of noise", "\x99", 1, 60, 9, 6881, false},
	{"ten of noise", "\x99", 1, 60, 10, 6881, false},
	{"empty ones", "", 0, 0, 12, 6881, false},
	{"a wrong checksum", "\1\0\0\0", 4, 148, 1, 51820, true},
};
#define N_DECOYS (sizeof(decoys) / sizeof(decoys[0]))

static const char ping[] = "d1:ad2:id20:" ID "e1:q4:ping1:t2:aa1:y1:qe";
static const char pong[] = "d1:rd2:id20:" ID "e1:t2:aa1:y1:re";

struct talk {
	struct pipe *pipe;
	struct pipe_packet packet;
	bool from_outside; // the initiator
	unsigned sent;
};

static struct talk talk_begin(const struct decoy *decoy, bool from_outside)
{
	struct pipe *pipe = pipe_new(1, NULL);
	struct policy *policy;

	pipe_signatures(pipe, rig->db);
	policy = pipe_policy(pipe);
	pipe_rule_app(policy, 7, ACTION_DROP, "bittorrent");
	pipe_publish(pipe, policy);
	return (struct talk){.pipe = pipe,
		.from_outside = from_outside,
		.packet = {.proto = IPPROTO_UDP, .sport = 40001, .dport = decoy->dport}};
}

// True: it was forwarded.
static bool say(struct talk *talk, unsigned half, const void *bytes, size_t length)
{
	struct pipe_packet packet = talk->packet;

	packet.from_outside = (half == HALF_S2C) != talk->from_outside;
	packet.payload = length ? bytes : NULL;
	packet.payload_length = (uint16_t)length;
	talk->sent++;
	talk->pipe->n_sent = 0;
	return pipe_run(talk->pipe, 0, &packet) > 0;
}

static void send_decoys(struct talk *talk, const struct decoy *decoy, unsigned half)
{
	uint8_t bytes[200];

	for (unsigned n = 0; n < decoy->times; n++) {
		for (unsigned i = 0; i < decoy->length; i++)
			bytes[i] = (uint8_t)((i + n * 7) * 2654435761u >> 11);
		memcpy(bytes, decoy->bytes, decoy->known);
		talk->packet.ttl = 1;
		talk->packet.bad_checksum = decoy->bad_checksum;
		say(talk, half, bytes, decoy->length ? decoy->length : decoy->known);
	}
	talk->packet.ttl = 0;
	talk->packet.bad_checksum = false;
}

// type, connection, sequence, acknowledgement; a peer's handshake in it
static bool utp(
	struct talk *talk, unsigned half, unsigned type, unsigned conn, unsigned seq, unsigned ack)
{
	uint8_t bytes[120] = {(uint8_t)(type << 4 | 1), 0, (uint8_t)(conn >> 8), (uint8_t)conn, 0,
		0, (uint8_t)seq, (uint8_t)ack, 0, 0, 0, (uint8_t)(type == 4 ? 0 : 9), 0, 4, 0, 0,
		(uint8_t)(seq >> 8), (uint8_t)seq, (uint8_t)(ack >> 8), (uint8_t)ack};

	memcpy(bytes + 20,
		"\x13"
		"BitTorrent protocol",
		20);
	return say(talk, half, bytes, type ? 20 : sizeof(bytes));
}

// The other side's answer, which is its first datagram, does not pass, nor what follows.
static void dht_behind_a_decoy_is_blocked(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 2 * N_DECOYS; i++) {
		const struct decoy *decoy = &decoys[i / 2];
		struct talk talk = talk_begin(decoy, i & 1);

		send_decoys(&talk, decoy, HALF_C2S);
		say(&talk, HALF_C2S, ping, sizeof(ping) - 1);
		if (say(&talk, HALF_S2C, pong, sizeof(pong) - 1))
			fail_msg("%s, initiator %u: the answer has passed", decoy->name, i & 1);
		for (unsigned n = 0; n < 20; n++) {
			assert_false(say(&talk, HALF_C2S, ping, sizeof(ping) - 1));
			assert_false(say(&talk, HALF_S2C, pong, sizeof(pong) - 1));
		}
		pipe_free(talk.pipe);
	}
}

static void utp_behind_a_decoy_is_blocked(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 2 * N_DECOYS; i++) {
		const struct decoy *decoy = &decoys[i / 2];
		struct talk talk = talk_begin(decoy, i & 1);

		send_decoys(&talk, decoy, HALF_C2S);
		utp(&talk, HALF_C2S, 4, 700, 1, 0);
		utp(&talk, HALF_S2C, 2, 700, 9000, 1);
		if (utp(&talk, HALF_C2S, 0, 701, 2, 8999))
			fail_msg("%s, initiator %u: content has passed", decoy->name, i & 1);
		pipe_free(talk.pipe);
	}
}

// The one that answers sends the decoy, before any content.
static void decoys_of_the_other_side(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 2 * N_DECOYS; i++) {
		const struct decoy *decoy = &decoys[i / 2];
		struct talk talk = talk_begin(decoy, i & 1);

		send_decoys(&talk, decoy, HALF_S2C);
		say(&talk, HALF_C2S, ping, sizeof(ping) - 1);
		if (say(&talk, HALF_S2C, pong, sizeof(pong) - 1))
			fail_msg("%s, initiator %u: the answer has passed", decoy->name, i & 1);
		pipe_free(talk.pipe);
	}
}

// Where nobody answers, datagrams 16, 64, 256 ... are looked at.
static void one_way_is_looked_at_by_powers_of_four(void **state)
{
	(void)state;
	for (unsigned i = 1; i < N_DECOYS; i++) {
		struct talk talk = talk_begin(&decoys[i], false);

		send_decoys(&talk, &decoys[i], HALF_C2S);
		while (talk.sent < 15)
			say(&talk, HALF_C2S, ping, sizeof(ping) - 1);
		if (say(&talk, HALF_C2S, ping, sizeof(ping) - 1))
			fail_msg("%s: the sixteenth has passed", decoys[i].name);
		pipe_free(talk.pipe);
	}
}

static const struct flow *only_flow(const struct talk *talk)
{
	struct flow_table *flows = talk->pipe->dp.lcores[0]->flows;

	for (uint32_t i = 0; i < flow_table_usage(flows).flows_max; i++)
		if (flow_at(flows, i)->gen)
			return flow_at(flows, i);
	fail_msg("no flow");
	return NULL;
}

// What is one way by nature passes, and costs four looks in a thousand datagrams; what is answered
// by its own application is final.
static void honest_flows_pass(void **state)
{
	static const char answer[] = "\x12\x34\x81\x80\0\1\0\0\0\0\0\0\3www\7example\0\0\1\0\1";
	uint8_t response[92] = {2};
	(void)state;

	for (unsigned i = 1; i < N_DECOYS; i++) {
		const struct decoy *honest = &decoys[i];
		struct talk talk = talk_begin(honest, false);
		struct decoy one = *honest;

		if (honest->bad_checksum || !(honest->known | honest->length)) {
			pipe_free(talk.pipe);
			continue;
		}
		one.times = 1;
		for (unsigned n = 1; n <= 1100; n++) {
			uint64_t before = pipe_stats(talk.pipe).sent_pkts;

			send_decoys(&talk, &one, HALF_C2S);
			assert_int_equal(pipe_stats(talk.pipe).sent_pkts, before + 1);
		}
		assert_int_equal(pipe_stats(talk.pipe).classify_again, 4); // 16, 64, 256, 1024
		assert_int_equal(pipe_stats(talk.pipe).classify_changed, 0);
		pipe_free(talk.pipe);
	}
	for (unsigned i = 1; i <= 3; i += 2) { // WireGuard, DNS
		struct talk talk = talk_begin(&decoys[i], false);

		send_decoys(&talk, &decoys[i], HALF_C2S);
		assert_int_not_equal(only_flow(&talk)->look_at, AGAIN_NEVER);
		assert_true(i == 1 ? say(&talk, HALF_S2C, response, sizeof(response))
				   : say(&talk, HALF_S2C, answer, sizeof(answer) - 1));
		assert_int_equal(only_flow(&talk)->look_at, AGAIN_NEVER);
		for (unsigned n = 0; n < 100; n++)
			assert_true(say(&talk, n & 1, "\4\0\0\0 encrypted, or so", 20));
		assert_int_equal(pipe_stats(talk.pipe).classify_again, 1);
		assert_true(i != 1 || only_flow(&talk)->flags & FLOW_FINAL);
		pipe_free(talk.pipe);
	}
}

// A datagram that no host accepts is no look.
static void wrong_checksums_use_no_look(void **state)
{
	struct talk talk = talk_begin(&decoys[1], false);
	(void)state;

	send_decoys(&talk, &decoys[1], HALF_C2S);
	talk.packet.bad_checksum = true;
	for (unsigned n = 0; n < 20; n++)
		say(&talk, HALF_S2C, "junk", 4);
	talk.packet.bad_checksum = false;
	say(&talk, HALF_C2S, ping, sizeof(ping) - 1);
	assert_false(say(&talk, HALF_S2C, pong, sizeof(pong) - 1));
	pipe_free(talk.pipe);
}

static int end(void **state)
{
	(void)state;
	rig_free(rig);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(dht_behind_a_decoy_is_blocked),
		cmocka_unit_test(utp_behind_a_decoy_is_blocked),
		cmocka_unit_test(decoys_of_the_other_side),
		cmocka_unit_test(one_way_is_looked_at_by_powers_of_four),
		cmocka_unit_test(honest_flows_pass),
		cmocka_unit_test(wrong_checksums_use_no_look),
	};

	rig = rig_new();
	return cmocka_run_group_tests(tests, NULL, end);
}
