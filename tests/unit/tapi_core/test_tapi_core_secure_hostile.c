// SPDX-License-Identifier: BSD-3-Clause
// Who sits on the way between two peers that encrypt (TA26), keeps what passes, and sends it again,
// altered, back, or words of its own in a peer's name; who drops handshakes so that they may go on
// in clear; who has them compute. Nothing of it reaches an application, each is counted, and what
// the peers say goes on.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <zlib.h>

#include "lib/tapi/tapi_wire.h"

#include "transportapi/proto/secure.h"
#include "transportapi/base/wire.h"

#define S  1000000u
#define MS 1000u
#define QUICK                                                                         \
	"\"ping_address_s\": 1, \"ping_prefix_per_min\": 1000, \"ping_per_s\": 100, " \
	"\"retry_max_s\": 5"
#define PREFER QUICK ", \"encryption\": \"prefer\""
#define NEEDED QUICK ", \"encryption\": \"require\""

enum { KEPT = 400 };

struct kept {
	uint32_t from_ip, size;
	uint16_t type;
	uint8_t octets[1500];
};

struct tap {
	struct kept kept[KEPT];
	unsigned n;
	bool deaf;             // nothing is kept
	bool drops_handshakes; // (they arrive broken)
	uint32_t drops_of;     // those from here
	uint64_t clear;
};

static struct tap tap;

static void watch(void *context, enum wire_kind kind, uint32_t from_ip, uint32_t to_ip,
	uint8_t *message, uint32_t size)
{
	uint16_t type = size >= 4 ? tapi_get16(&message[2]) : 0;

	(void)context;
	(void)kind;
	(void)to_ip;
	for (uint32_t at = 0, n; at + 4 <= size && (n = tapi_get16(&message[at])) >= 4; at += n)
		tap.clear += tapi_get16(&message[at + 2]) >= TAPI_TYPE_USER ||
			     tapi_get16(&message[at + 2]) == TAPI_TYPE_FRAGMENT;
	if ((tap.drops_handshakes || (tap.drops_of != 0 && from_ip == tap.drops_of)) &&
		(type == TAPI_TYPE_INITIATE || type == TAPI_TYPE_RESPOND))
		message[20] ^= 1;
	else if (!tap.deaf && type >= TAPI_TYPE_INITIATE && tap.n < KEPT &&
		 size <= sizeof(tap.kept[0].octets)) {
		struct kept *kept = &tap.kept[tap.n++];

		kept->from_ip = from_ip;
		kept->size = size;
		kept->type = type;
		memcpy(kept->octets, message, size);
	}
}

static void forge(struct wire *wire, uint32_t from_ip, struct wire_node *to,
	const struct wire_node *sender, const uint8_t *octets, uint32_t size)
{
	uint32_t crc = (uint32_t)crc32(0, octets, size);
	bool deaf = tap.deaf;

	tap.deaf = true;
	wire_forge(wire, WIRE_UDP, from_ip, to, &sender->identity.id, octets, size, false, &crc);
	wire_run(wire, 5 * MS);
	tap.deaf = deaf;
}

struct stand {
	struct wire *wire;
	struct wire_node *a, *b;
};

static struct stand stand_new(uint64_t seed, const char *core_a, const char *core_b)
{
	struct wire_node_options a = {.core = core_a, .transports = "\"vudp\""};
	struct wire_node_options b = {.core = core_b, .transports = "\"vudp\""};
	struct stand stand = {.wire = wire_new(seed)};

	memset(&tap, 0, sizeof(tap));
	stand.a = wire_node_add(stand.wire, &a);
	stand.b = wire_node_add(stand.wire, &b);
	wire_tap(stand.wire, watch, NULL);
	wire_introduce(stand.a, stand.b, WIRE_ANY);
	return stand;
}

static void talk(struct stand *stand, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		wire_send(stand->a, stand->b, 64, &i, sizeof(i));
		wire_run(stand->wire, 50 * MS);
		wire_send(stand->b, stand->a, 64, &i, sizeof(i));
		wire_run(stand->wire, 50 * MS);
	}
}

// What passed comes again, from the same source and from another; and what passes is answered all
// the same after it.
static void test_replayed(void **state)
{
	struct stand stand = stand_new(1, PREFER, PREFER);
	uint64_t got_a, got_b, made;
	unsigned sealed = 0;

	(void)state;
	talk(&stand, 40);
	got_a = stand.a->inbox.messages;
	got_b = stand.b->inbox.messages;
	made = wire_counter(stand.b, "secure_made");
	assert_int_equal(got_b, 40);
	assert_true(tap.n > 80);
	tap.deaf = true;
	for (unsigned i = 0; i < tap.n; i++) {
		const struct kept *kept = &tap.kept[i];
		bool from_a = kept->from_ip == stand.a->ip;
		struct wire_node *to = from_a ? stand.b : stand.a;
		struct wire_node *sender = from_a ? stand.a : stand.b;

		forge(stand.wire, kept->from_ip, to, sender, kept->octets, kept->size);
		forge(stand.wire, 0x0a500001, to, sender, kept->octets, kept->size);
		sealed += kept->type == TAPI_TYPE_SEALED;
	}
	assert_true(sealed >= 80);
	assert_int_equal(stand.a->inbox.messages, got_a);
	assert_int_equal(stand.b->inbox.messages, got_b);
	assert_int_equal(
		wire_counter(stand.a, "sealed_replayed") + wire_counter(stand.b, "sealed_replayed"),
		2 * sealed);
	assert_int_equal(wire_counter(stand.b, "secure_repeated"), 2);
	// known by its first octets: it costs no look, and nobody's share of handshakes
	assert_int_equal(wire_counter(stand.b, "secure_replayed"), 0);
	assert_int_equal(wire_counter(stand.b, "secure_limited"), 0);
	assert_int_equal(wire_counter(stand.a, "secure_stale"), 2);
	talk(&stand, 10);
	assert_int_equal(stand.b->inbox.messages, got_b + 10);
	assert_int_equal(wire_counter(stand.b, "secure_made"), made);
	// An older handshake, when newer ones have come: known by its stamp.
	tap.deaf = false;
	tap.n = 0;
	wire_run(stand.wire, 150 * S);
	talk(&stand, 5);
	wire_run(stand.wire, 150 * S);
	talk(&stand, 5);
	made = wire_counter(stand.b, "secure_made");
	assert_true(made >= 3);
	tap.deaf = true;
	for (unsigned i = 0; i < tap.n; i++)
		if (tap.kept[i].type == TAPI_TYPE_INITIATE) {
			bool from_a = tap.kept[i].from_ip == stand.a->ip;

			forge(stand.wire, tap.kept[i].from_ip, from_a ? stand.b : stand.a,
				from_a ? stand.a : stand.b, tap.kept[i].octets, tap.kept[i].size);
		}
	assert_true(wire_counter(stand.a, "secure_replayed") +
			    wire_counter(stand.b, "secure_replayed") >
		    0);
	assert_int_equal(wire_counter(stand.b, "secure_made"), made);
	got_b = stand.b->inbox.messages;
	talk(&stand, 5);
	assert_int_equal(stand.b->inbox.messages, got_b + 5);
	assert_int_equal(tap.clear, 0);
	wire_free(stand.wire);
}

// Each kind with a bit changed, with a sum that fits; each sent back to who wrote it, in the
// other's name and in its own.
static void test_altered_and_reflected(void **state)
{
	struct stand stand = stand_new(2, PREFER, PREFER);
	uint64_t got_a, got_b, bad, unknown;
	unsigned n;

	(void)state;
	talk(&stand, 20);
	got_a = stand.a->inbox.messages;
	got_b = stand.b->inbox.messages;
	tap.deaf = true;
	n = tap.n;
	assert_true(n > 40);
	for (unsigned i = 0; i < n; i++) {
		struct kept *kept = &tap.kept[i];
		bool from_a = kept->from_ip == stand.a->ip;
		struct wire_node *to = from_a ? stand.b : stand.a;
		struct wire_node *sender = from_a ? stand.a : stand.b;

		forge(stand.wire, to->ip, sender, to, kept->octets, kept->size);
		forge(stand.wire, to->ip, sender, sender, kept->octets, kept->size);
		if (kept->type == TAPI_TYPE_SEALED)
			tapi_put64(&kept->octets[8], 5000 + i); // a counter that is new
		else
			kept->octets[8 + i % 50] ^= 4;
		forge(stand.wire, kept->from_ip, to, sender, kept->octets, kept->size);
	}
	assert_int_equal(stand.a->inbox.messages, got_a);
	assert_int_equal(stand.b->inbox.messages, got_b);
	bad = wire_counter(stand.a, "sealed_bad") + wire_counter(stand.b, "sealed_bad");
	assert_true(bad >= 40);
	assert_true(wire_counter(stand.a, "secure_bad") + wire_counter(stand.b, "secure_bad") >= 2);
	unknown = wire_counter(stand.a, "sealed_unknown") + wire_counter(stand.b, "sealed_unknown");
	assert_true(unknown >= 40); // the index is another's
	assert_true(wire_counter(stand.a, "received_mine") >= 20);
	talk(&stand, 10);
	assert_int_equal(stand.a->inbox.messages, got_a + 10);
	assert_int_equal(stand.b->inbox.messages, got_b + 10);
	assert_int_equal(tap.clear, 0);
	wire_free(stand.wire);
}

// Words in clear in a peer's name, from where the peer is: before its first message, and after.
static void test_clear_injected(void **state)
{
	static const uint8_t words[] = {0, 9, 0, 64, 'f', 'a', 'l', 's', 'e'};
	static const uint8_t part[] = {
		0, 21, 0, 5, 0, 0, 0, 1, 0, 0, 0, 9, 0, 0, 0, 0, 0, 9, 0, 64, 'f'};
	struct stand stand = stand_new(3, PREFER, PREFER);

	(void)state;
	// b knows a's HELO by its PING, and takes nothing in clear from then on.
	wire_send(stand.a, stand.b, 64, "x", 1);
	wire_run(stand.wire, 1500);
	forge(stand.wire, stand.a->ip, stand.b, stand.a, words, sizeof(words));
	wire_run(stand.wire, 2 * S);
	forge(stand.wire, stand.a->ip, stand.b, stand.a, words, sizeof(words));
	forge(stand.wire, stand.a->ip, stand.b, stand.a, part, sizeof(part));
	forge(stand.wire, stand.b->ip, stand.a, stand.b, words, sizeof(words));
	assert_int_equal(stand.b->inbox.messages, 1);
	assert_int_equal(stand.b->inbox.sealed, 1);
	assert_int_equal(stand.a->inbox.messages, 0);
	assert_int_equal(wire_counter(stand.b, "clear_dropped"), 3);
	assert_int_equal(wire_counter(stand.a, "clear_dropped"), 1);
	wire_free(stand.wire);
}

// Handshakes are dropped: messages wait and expire, none goes in clear, by "prefer" as by
// "require"; the log says so, and when it is over they go on.
static void test_downgrade(void **state)
{
	static const char *const cores[] = {PREFER, NEEDED};

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		struct stand stand = stand_new(10 + i, cores[i], PREFER);
		struct tapi_peer_info info;

		stand.a->hark = "handshake";
		tap.drops_handshakes = true;
		talk(&stand, 600);
		assert_int_equal(stand.a->inbox.messages + stand.b->inbox.messages, 0);
		assert_int_equal(tap.clear, 0);
		assert_true(wire_counter(stand.a, "secure_timed_out") >= 1);
		assert_int_not_equal(stand.a->heard[0], 0);
		assert_int_equal(
			tapi_core_peer(stand.a->core, &stand.b->identity.id, &info), TAPI_OK);
		assert_int_equal(info.secure, TAPI_SECURE_PENDING);
		assert_true(info.dropped_msgs > 100);
		tap.drops_handshakes = false;
		talk(&stand, 300);
		assert_true(stand.b->inbox.sealed > 100);
		assert_int_equal(stand.b->inbox.messages, stand.b->inbox.sealed);
		assert_int_equal(tap.clear, 0);
		wire_free(stand.wire);
	}
}

// A HELO from before b encrypted, good for hours yet, shown again by anybody: the newest one
// counts.
static void test_old_helo(void **state)
{
	struct stand stand = stand_new(20, PREFER, QUICK);
	struct wire_node_options on = {.core = PREFER, .transports = "\"vudp\""};
	struct tapi_helo helo = {.protocol = WIRE_PROTOCOL + WIRE_UDP,
		.mtu = 1432,
		.expires_us = UINT64_C(1800003600000000),
		.seq = UINT64_C(1800000000000000),
		.address_size = 6};
	uint8_t octets[TAPI_HELO_BYTES_MAX];
	struct tapi_error error;
	uint64_t got;
	size_t n;

	(void)state;
	assert_int_equal(wire_node_reload(stand.b, &on, &error), TAPI_OK);
	wire_introduce(stand.a, stand.b, WIRE_ANY);
	talk(&stand, 20);
	assert_true(stand.b->inbox.sealed > 15);
	tapi_put16(tapi_put32(helo.address, 0x0a550001), WIRE_PORT); // another address: as if new
	tapi_helo_sign(&helo, &stand.b->identity);
	n = tapi_helo_encode(&helo, octets, sizeof(octets));
	forge(stand.wire, stand.b->ip, stand.a, stand.b, octets, (uint32_t)n);
	assert_int_equal(wire_counter(stand.a, "helo_bad_signature"), 0);
	got = stand.b->inbox.sealed;
	tap.clear = 0;
	talk(&stand, 20);
	assert_int_equal(stand.b->inbox.sealed, got + 20);
	assert_int_equal(tap.clear, 0);
	wire_free(stand.wire);
}

// Strangers who have b compute: no more than its rate, half of it kept for those who are known.
static void test_flood(void **state)
{
	struct stand stand = stand_new(30, PREFER, PREFER ", \"handshakes_per_s\": 20");
	uint8_t junk[TAPI_INITIATE_BYTES] = {0, TAPI_INITIATE_BYTES, 0, TAPI_TYPE_INITIATE};
	struct wire_node nobody = {.ip = 0};
	uint64_t looked;

	(void)state;
	tap.deaf = true;
	for (unsigned i = 0; i < 4000; i++) {
		nobody.identity.id.octets[0] = (uint8_t)i;
		nobody.identity.id.octets[1] = (uint8_t)(i >> 8);
		memset(&junk[8], (int)(i % 251 + 1), sizeof(junk) - 8);
		forge(stand.wire, 0x0a600000 + i % 256, stand.b, &nobody, junk, sizeof(junk));
		if (i % 100 == 50)
			wire_send(stand.a, stand.b, 64, "x", 1);
	}
	looked = wire_counter(stand.b, "secure_bad");
	assert_in_range(looked, 20, 10 + 21 * 21); // in 20 s
	assert_true(wire_counter(stand.b, "secure_limited") > 3000);
	assert_int_equal(wire_counter(stand.b, "secure_made"), 1);
	assert_int_equal(stand.b->inbox.sealed, 40);
	// Answers to nothing, and sealed octets of nobody's keys, cost no computing at all.
	junk[1] = TAPI_RESPOND_BYTES;
	junk[3] = TAPI_TYPE_RESPOND;
	forge(stand.wire, stand.a->ip, stand.b, stand.a, junk, TAPI_RESPOND_BYTES);
	assert_int_equal(wire_counter(stand.b, "secure_stale"), 1);
	wire_free(stand.wire);
}

// A handshake whose answer is not used yet, shown again and again: it costs no computing, but the
// answers go where the source says that it came from.
static void test_repeated(void **state)
{
	struct stand stand = stand_new(31, PREFER, PREFER ", \"handshakes_per_s\": 20");
	const struct kept *first = NULL;
	uint32_t crc;

	(void)state;
	wire_send(stand.a, stand.b, 64, "x", 1);
	while (first == NULL) {
		wire_run(stand.wire, 1 * MS);
		for (unsigned i = 0; i < tap.n && first == NULL; i++)
			first = tap.kept[i].type == TAPI_TYPE_INITIATE ? &tap.kept[i] : NULL;
	}
	tap.deaf = true;
	tap.drops_handshakes = true; // its answer, so that it stays in need of one
	wire_run(stand.wire, 100 * MS);
	assert_int_equal(wire_counter(stand.b, "secure_answered"), 1);
	tap.drops_handshakes = false;
	crc = (uint32_t)crc32(0, first->octets, first->size);
	for (unsigned i = 0; i < 1000; i++)
		wire_forge(stand.wire, WIRE_UDP, 0x0a500001 + i % 4, stand.b, &stand.a->identity.id,
			first->octets, first->size, false, &crc);
	wire_run(stand.wire, 50 * MS);
	assert_true(wire_counter(stand.b, "secure_repeated") >= 1000);
	assert_true(wire_counter(stand.b, "secure_answered") <= 22);
	wire_run(stand.wire, 5 * S); // who is known is not kept from it
	assert_int_equal(stand.b->inbox.sealed, 1);
	wire_free(stand.wire);
}

// One that is validated has b compute: another one's handshake is not dropped for it.
static void test_greedy(void **state)
{
	struct stand stand = stand_new(32, PREFER, PREFER ", \"handshakes_per_s\": 40");
	struct wire_node_options options = {.core = PREFER, .transports = "\"vudp\""};
	struct wire_node *c = wire_node_add(stand.wire, &options);
	uint8_t junk[TAPI_INITIATE_BYTES] = {0, TAPI_INITIATE_BYTES, 0, TAPI_TYPE_INITIATE};
	uint32_t crc;

	(void)state;
	tap.deaf = true;
	wire_introduce(c, stand.b, WIRE_ANY);
	wire_send(c, stand.b, 64, "x", 1);
	wire_run(stand.wire, 3 * S);
	assert_int_equal(stand.b->inbox.sealed, 1);
	for (unsigned i = 0; i < 1000; i++) {
		memset(&junk[8], (int)(i % 251 + 1), sizeof(junk) - 8);
		crc = (uint32_t)crc32(0, junk, sizeof(junk));
		for (unsigned each = 0; each < 4; each++)
			wire_forge(stand.wire, WIRE_UDP, c->ip, stand.b, &c->identity.id, junk,
				sizeof(junk), false, &crc);
		if (i == 200)
			wire_send(stand.a, stand.b, 64, "x", 1);
		wire_run(stand.wire, 1 * MS);
	}
	assert_true(wire_counter(stand.b, "secure_limited") > 3000);
	assert_int_equal(stand.b->inbox.sealed, 2);
	assert_int_equal(wire_counter(stand.a, "secure_again"), 0);
	wire_free(stand.wire);
}

// The same by wrong answers to a handshake of b's.
static void test_greedy_answers(void **state)
{
	struct stand stand = stand_new(34, PREFER, PREFER ", \"handshakes_per_s\": 40");
	struct wire_node_options options = {.core = PREFER, .transports = "\"vudp\""};
	struct wire_node *c = wire_node_add(stand.wire, &options);
	uint8_t junk[TAPI_RESPOND_BYTES] = {0, TAPI_RESPOND_BYTES, 0, TAPI_TYPE_RESPOND};
	const struct kept *first = NULL;
	uint32_t crc;

	(void)state;
	tap.drops_of = c->ip;
	wire_introduce(stand.b, c, WIRE_ANY);
	wire_send(stand.b, c, 64, "x", 1);
	for (unsigned ms = 0; first == NULL; ms++) {
		assert_true(ms < 5000);
		wire_run(stand.wire, 1 * MS);
		for (unsigned i = 0; i < tap.n && first == NULL; i++)
			first = tap.kept[i].type == TAPI_TYPE_INITIATE ? &tap.kept[i] : NULL;
	}
	wire_run(stand.wire, 50 * MS); // until c's answer came, broken
	tap.deaf = true;
	tap.drops_of = 0;
	memcpy(&junk[8], &first->octets[4], 4); // the index
	for (unsigned i = 0; i < 300; i++) {
		memset(&junk[12], (int)(i % 251 + 1), sizeof(junk) - 12);
		crc = (uint32_t)crc32(0, junk, sizeof(junk));
		for (unsigned each = 0; each < 4; each++)
			wire_forge(stand.wire, WIRE_UDP, c->ip, stand.b, &c->identity.id, junk,
				sizeof(junk), false, &crc);
		if (i == 100)
			wire_send(stand.a, stand.b, 64, "x", 1);
		wire_run(stand.wire, 1 * MS);
	}
	assert_true(wire_counter(stand.b, "secure_bad") >= 4);
	assert_true(wire_counter(stand.b, "secure_limited") > 500);
	wire_run(stand.wire, 2 * S);
	assert_int_equal(wire_counter(stand.a, "secure_again"), 0);
	assert_int_equal(stand.b->inbox.sealed, 1);
	assert_int_equal(c->inbox.sealed, 1); // and the right answer is still taken
	wire_free(stand.wire);
}

// After a handshake that nobody answered there is a rest; what is sent in it leaves when it ends.
static void test_rest(void **state)
{
	struct stand stand = stand_new(33, PREFER, PREFER);
	unsigned waited = 0;

	(void)state;
	wire_send(stand.a, stand.b, 64, "x", 1);
	tap.deaf = true;
	tap.drops_handshakes = true;
	for (; wire_counter(stand.a, "secure_timed_out") == 0; waited++) {
		if (waited % 50 == 0)
			wire_send(stand.a, stand.b, 64, "x", 1);
		wire_run(stand.wire, 100 * MS);
		assert_true(waited < 1000);
	}
	tap.drops_handshakes = false;
	wire_run(stand.wire, 100 * MS);
	wire_send(stand.a, stand.b, 64, "y", 1);
	wire_run(stand.wire, 9 * S); // it expires after 10
	assert_true(stand.b->inbox.sealed >= 1);
	assert_int_equal(stand.b->inbox.last[0], 'y');
	wire_free(stand.wire);
}

// a spoke last when its clock was an hour ahead. b takes no older handshake, which may be shown
// again, but begins one of its own: once in 5 s, and not while its keys are in use.
static void test_clock_set_back(void **state)
{
	struct stand stand = stand_new(35, PREFER, PREFER);
	uint8_t ephemeral[TAPI_KEY_BYTES] = {1, 2, 3};
	struct tapi_initiation ahead;
	struct tapi_static mine;
	uint64_t begun;

	(void)state;
	wire_send(stand.b, stand.a, 64, "x", 1); // which goes nowhere
	wire_introduce(stand.b, stand.a, WIRE_ANY);
	assert_true(tapi_static_of(&mine, &stand.a->identity));
	assert_int_equal(tapi_secure_initiate(&ahead, &stand.a->identity, &mine,
				 stand.b->identity.public_key, ephemeral, 77,
				 UINT64_C(1800003600000000) + wire_now(stand.wire)),
		TAPI_OK);
	forge(stand.wire, stand.a->ip, stand.b, stand.a, ahead.message, sizeof(ahead.message));
	wire_send(stand.a, stand.b, 64, "x", 1);
	wire_run(stand.wire, 8 * S); // it expires after 10
	assert_true(wire_counter(stand.b, "secure_replayed") >= 1);
	assert_int_equal(stand.b->inbox.sealed, 1);
	begun = wire_counter(stand.b, "secure_begun");
	assert_int_equal(begun, 1);
	tap.deaf = true;
	for (unsigned i = 0; i < tap.n; i++) // in use: who shows it again changes nothing
		if (tap.kept[i].type == TAPI_TYPE_INITIATE && tap.kept[i].from_ip == stand.a->ip) {
			talk(&stand, 60);
			forge(stand.wire, stand.a->ip, stand.b, stand.a, tap.kept[i].octets,
				tap.kept[i].size);
		}
	wire_run(stand.wire, 1 * S);
	assert_int_equal(wire_counter(stand.b, "secure_begun"), begun);
	wire_free(stand.wire);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_replayed),
		cmocka_unit_test(test_altered_and_reflected),
		cmocka_unit_test(test_clear_injected),
		cmocka_unit_test(test_downgrade),
		cmocka_unit_test(test_old_helo),
		cmocka_unit_test(test_flood),
		cmocka_unit_test(test_repeated),
		cmocka_unit_test(test_greedy),
		cmocka_unit_test(test_greedy_answers),
		cmocka_unit_test(test_rest),
		cmocka_unit_test(test_clock_set_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
