// SPDX-License-Identifier: BSD-3-Clause
// HELOs that are believed (TA7), PINGs that are sent, and PONGs that are (TA8, TA9): nothing but
// PINGs goes to an address that was not validated, one per HELO received at the most, counted at
// the socket of the third party whom somebody named.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <zlib.h>

#include "lib/tapi/tapi_wire.h"

#include "transportapi/proto/ping.h"
#include "transportapi/base/wire.h"

#define S     1000000u
#define MS    1000u
#define EPOCH UINT64_C(1800000000000000) // wall clock at virtual time 0 (tapi_wire)
#define THIRD 0x0a630001u                // 10.99.0.1
#define HOUR  (UINT64_C(3600) * S)

static const struct wire_node_options EAGER = {.core = "\"validate\": \"eager\""};

// Somebody's HELO for any address, as only the holder of the key can make it.
static size_t make_helo(const struct wire *wire, const struct tapi_identity *identity, int kind,
	uint32_t ip, uint64_t lifetime_us, uint8_t *out)
{
	struct tapi_helo helo = {
		.protocol = (uint16_t)(WIRE_PROTOCOL + kind),
		.mtu = 1432,
		.expires_us = EPOCH + wire_now(wire) + lifetime_us,
		.seq = EPOCH + wire_now(wire),
		.address_size = 6,
	};

	tapi_put16(tapi_put32(helo.address, ip), WIRE_PORT);
	tapi_helo_sign(&helo, identity);
	return tapi_helo_encode(&helo, out, TAPI_HELO_BYTES_MAX);
}

static void plain(struct wire *wire, uint32_t from_ip, struct wire_node *to,
	const struct tapi_identity *sender, const uint8_t *message, size_t size)
{
	uint32_t crc = (uint32_t)crc32(0, message, (unsigned)size);

	wire_forge(wire, WIRE_UDP, from_ip, to, &sender->id, message, (uint32_t)size, false, &crc);
	wire_run(wire, 10 * MS);
}

static struct tapi_identity mallory(uint8_t number)
{
	uint8_t seed[TAPI_SEED_BYTES] = {number, 1, 2};
	struct tapi_identity identity;

	tapi_identity_from_seed(&identity, seed);
	return identity;
}

// TA7.
static void test_helos_refused(void **state)
{
	struct wire *wire = wire_new(4);
	struct wire_node *a = wire_node_add(wire, NULL), *b = wire_node_add(wire, NULL);
	struct tapi_identity m = mallory(1);
	uint8_t octets[TAPI_HELO_BYTES_MAX];
	struct tapi_peer_info info;
	size_t size;

	(void)state;
	size = make_helo(wire, &m, WIRE_UDP, b->ip, HOUR, octets);
	octets[size - 3] ^= 1; // another address than was signed
	assert_int_equal(tapi_core_add_helo(a->core, octets, size), TAPI_ESIG);
	assert_int_equal(wire_counter(a, "helo_bad_signature"), 1);
	size = make_helo(wire, &m, WIRE_UDP, b->ip, HOUR, octets);
	wire_run(wire, HOUR + 11 * 60 * (uint64_t)S);
	assert_int_equal(tapi_core_add_helo(a->core, octets, size), TAPI_EEXPIRED);
	size = make_helo(wire, &m, WIRE_UDP, b->ip, 48 * HOUR, octets);
	assert_int_equal(tapi_core_add_helo(a->core, octets, size), TAPI_EEXPIRED);
	assert_int_equal(wire_counter(a, "helo_expired"), 2);
	assert_int_equal(tapi_core_add_helo(a->core, octets, 20), TAPI_EFORMAT);
	assert_int_equal(wire_counter(a, "helo_malformed"), 1);
	size = make_helo(wire, &m, WIRE_UDP, 0x7f000001, HOUR, octets);
	assert_int_equal(tapi_core_add_helo(a->core, octets, size), TAPI_EACL);
	assert_int_equal(wire_counter(a, "helo_denied"), 1);
	size = make_helo(wire, &m, WIRE_RAW, b->ip, HOUR, octets); // does not run here
	assert_int_equal(tapi_core_add_helo(a->core, octets, size), TAPI_EADDR);
	assert_int_equal(tapi_core_peer(a->core, &m.id, &info), TAPI_ENOADDR);
	// From the wire: the same.
	size = make_helo(wire, &m, WIRE_UDP, b->ip, HOUR, octets);
	octets[50] ^= 1;
	plain(wire, THIRD, a, &m, octets, size);
	assert_int_equal(wire_counter(a, "helo_bad_signature"), 2);
	assert_int_equal(wire_counter(a, "helo_stored"), 0);
	// An address is forgotten when its HELO expires.
	size = make_helo(wire, &m, WIRE_UDP, b->ip, HOUR, octets);
	assert_int_equal(tapi_core_add_helo(a->core, octets, size), TAPI_OK);
	wire_poke(a);
	assert_int_equal(tapi_core_peer(a->core, &m.id, &info), TAPI_OK);
	assert_int_equal(info.addresses, 1);
	wire_run(wire, HOUR + S);
	assert_int_equal(tapi_core_peer(a->core, &m.id, &info), TAPI_OK);
	assert_int_equal(info.addresses, 0);
	wire_free(wire);
}

// A flood of keys that nobody knows costs so many checks a second; what a friend gives is taken.
static void test_helo_flood(void **state)
{
	struct wire *wire = wire_new(14);
	struct wire_node_options options = {.core = "\"helos_per_s\": 20"};
	struct wire_node *a = wire_node_add(wire, &options);
	struct tapi_identity m;
	uint8_t octets[TAPI_HELO_BYTES_MAX];
	size_t size;

	(void)state;
	for (unsigned i = 0; i < 100; i++) { // in a second
		m = mallory((uint8_t)i);
		size = make_helo(wire, &m, WIRE_UDP, THIRD + i, HOUR, octets);
		plain(wire, THIRD, a, &m, octets, size);
	}
	assert_in_range(
		wire_counter(a, "helo_stored"), 28, 32); // and half of a second's worth at once
	assert_int_equal(wire_counter(a, "helo_stored") + wire_counter(a, "helo_limited"), 100);
	assert_int_equal(tapi_core_add_helo(a->core, octets, size), TAPI_OK);
	wire_free(wire);
}

static void test_newer_replaces(void **state)
{
	struct wire *wire = wire_new(5);
	struct wire_node *a = wire_node_add(wire, NULL);
	struct tapi_identity m = mallory(1);
	uint8_t old[TAPI_HELO_BYTES_MAX], fresh[TAPI_HELO_BYTES_MAX];
	struct tapi_peer_info info;
	size_t size = make_helo(wire, &m, WIRE_UDP, THIRD, HOUR, old);

	(void)state;
	wire_run(wire, 60 * S);
	make_helo(wire, &m, WIRE_UDP, THIRD, 2 * HOUR, fresh);
	assert_int_equal(tapi_core_add_helo(a->core, fresh, size), TAPI_OK);
	assert_int_equal(tapi_core_add_helo(a->core, old, size), TAPI_OK);
	assert_int_equal(wire_counter(a, "helo_old"), 1);
	wire_poke(a);
	wire_run(wire, HOUR + 60 * (uint64_t)S); // the older one is over
	tapi_core_peer(a->core, &m.id, &info);
	assert_int_equal(info.addresses, 1);
	wire_free(wire);
}

// TA8, TA9: what the third party gets, over either medium: one PING per HELO received, however much
// the application wants to send; never a message.
static void third_party(int kind)
{
	struct wire *wire = wire_new(6);
	struct wire_node *a = wire_node_add(wire, &EAGER);
	const struct wire_seen *seen = wire_third_party(wire, kind, THIRD);
	struct tapi_identity m = mallory(1);
	uint8_t octets[TAPI_HELO_BYTES_MAX];
	size_t size = make_helo(wire, &m, kind, THIRD, 12 * HOUR, octets);
	struct tapi_outgoing outgoing = {.type = 64, .body = "secret", .length = 6};

	plain(wire, 0x0a620001, a, &m, octets, size);
	wire_run(wire, 1 * S);
	assert_int_equal(seen->messages, 1);
	assert_int_equal(seen->pings, 1);
	for (int i = 0; i < 600; i++) {
		tapi_core_send(a->core, &m.id, &outgoing);
		wire_poke(a);
		wire_run(wire, 1 * S);
	}
	assert_int_equal(seen->pings, 1);
	assert_int_equal(seen->others, 0);
	// The same HELO again is another trigger; ten of them in a minute are one.
	for (int i = 0; i < 10; i++)
		plain(wire, 0x0a620001, a, &m, octets, size);
	wire_run(wire, 600 * (uint64_t)S);
	assert_in_range(seen->pings, 2, 3);
	assert_int_equal(seen->others, 0);
	assert_true(wire_counter(a, "ping_unanswered") >= 1);
	wire_run(wire, 100 * S);
	assert_int_equal(wire_sessions(a, kind == WIRE_TCP ? WIRE_TCP : WIRE_UDP), 0); // closed
	wire_free(wire);
}

static void test_third_party_udp(void **state)
{
	(void)state;
	third_party(WIRE_UDP);
}

// Mallory writes the third party's address on messages of its own as well, while the PING is out.
static void test_third_party_forged(void **state)
{
	struct wire *wire = wire_new(7);
	struct wire_node *a = wire_node_add(wire, &EAGER);
	const struct wire_seen *seen = wire_third_party(wire, WIRE_UDP, THIRD);
	struct tapi_identity m = mallory(1);
	static const uint8_t message[] = {0, 5, 0, 64, 'x'};
	uint8_t octets[TAPI_HELO_BYTES_MAX];
	size_t size = make_helo(wire, &m, WIRE_UDP, THIRD, 12 * HOUR, octets);

	(void)state;
	plain(wire, 0x0a620001, a, &m, octets, size);
	wire_run(wire, 1 * S);
	assert_int_equal(seen->pings, 1);
	for (int i = 0; i < 8; i++) {
		plain(wire, THIRD, a, &m, message, sizeof(message));
		plain(wire, THIRD, a, &m, octets, size);
		wire_run(wire, 1 * S);
	}
	assert_int_equal(seen->pings, 1);
	assert_int_equal(seen->others, 0);
	wire_free(wire);
}

static void test_third_party_tcp(void **state)
{
	(void)state;
	third_party(WIRE_TCP);
}

// A thousand identities name a thousand sockets of one network: 4 PINGs a minute to one /24, 8 a
// second to all.
static void test_rates(void **state)
{
	struct wire *wire = wire_new(7);
	struct wire_node *a = wire_node_add(wire, &EAGER);
	const struct wire_seen *seen[10];
	uint8_t octets[TAPI_HELO_BYTES_MAX];
	uint64_t before, sum = 0;

	(void)state;
	for (unsigned i = 0; i < 10; i++)
		seen[i] = wire_third_party(wire, WIRE_UDP, THIRD + i);
	for (unsigned i = 0; i < 100; i++) {
		struct tapi_identity m = mallory((uint8_t)i);
		size_t size = make_helo(wire, &m, WIRE_UDP, THIRD + i % 10, HOUR, octets);

		assert_int_equal(tapi_core_add_helo(a->core, octets, size), TAPI_OK);
	}
	wire_poke(a);
	wire_run(wire, 59 * S);
	for (unsigned i = 0; i < 10; i++) {
		assert_true(seen[i]->pings <= 1);
		sum += seen[i]->pings;
	}
	assert_int_equal(sum, 4);
	assert_true(wire_counter(a, "ping_limited") > 0);
	// Far apart: the total.
	before = wire_counter(a, "ping_sent");
	for (unsigned i = 0; i < 200; i++) {
		struct tapi_identity m = mallory((uint8_t)i);
		size_t size = make_helo(wire, &m, WIRE_UDP, 0x0a700001 + (i << 8), HOUR, octets);

		assert_int_equal(tapi_core_add_helo(a->core, octets, size), TAPI_OK);
	}
	wire_poke(a);
	wire_run(wire, 10 * S);
	assert_in_range(wire_counter(a, "ping_sent") - before, 80, 92);
	wire_free(wire);
}

struct last_ping {
	struct tapi_ping ping;
	unsigned seen;
	bool drop_answers;
};

static void keep_ping(void *context, enum wire_kind kind, uint32_t from_ip, uint32_t to_ip,
	uint8_t *message, uint32_t size)
{
	struct last_ping *last = context;

	(void)kind;
	(void)from_ip;
	if (size < 4)
		return;
	if (tapi_get16(&message[2]) == TAPI_TYPE_PING && to_ip == THIRD)
		last->seen += tapi_ping_decode(&last->ping, message, size) == TAPI_OK;
	if (last->drop_answers && tapi_get16(&message[2]) == TAPI_TYPE_PONG)
		message[40] ^= 1;
}

static size_t make_pong(const struct tapi_ping *ping, const struct tapi_peer_id *pinger,
	uint64_t valid_until_us, const struct tapi_identity *by, uint8_t out[TAPI_PONG_BYTES])
{
	struct tapi_source observed = {.family = 4, .address = {10, 0, 0, 1}, .port = WIRE_PORT};
	struct tapi_pong pong;

	tapi_pong_sign(&pong, ping, pinger, &observed, valid_until_us, by);
	return tapi_pong_encode(&pong, out, TAPI_PONG_BYTES);
}

// TA9: PONGs without challenge, with an old one, of the wrong peer, for another pinger, of the
// past: none is believed. The right one is, by whatever way it comes.
static void test_fabricated_pongs(void **state)
{
	struct wire *wire = wire_new(8);
	struct wire_node *a = wire_node_add(wire, &EAGER), *b = wire_node_add(wire, NULL);
	struct tapi_identity m = mallory(1), n = mallory(2);
	uint8_t octets[TAPI_HELO_BYTES_MAX], pong[TAPI_PONG_BYTES];
	uint8_t hash[TAPI_ADDRESS_HASH_BYTES];
	struct last_ping last = {.seen = 0};
	struct tapi_peer_info info;
	struct tapi_ping wrong;
	struct tapi_helo helo;
	uint64_t wall_us;
	size_t size, used;

	(void)state;
	wire_third_party(wire, WIRE_UDP, THIRD);
	wire_tap(wire, keep_ping, &last);
	size = make_helo(wire, &m, WIRE_UDP, THIRD, HOUR, octets);
	tapi_core_add_helo(a->core, octets, size);
	wire_poke(a);
	wire_run(wire, 100 * MS);
	assert_int_equal(last.seen, 1);
	assert_int_equal(last.ping.protocol, WIRE_PROTOCOL + WIRE_UDP);
	assert_true(last.ping.n_helos >= 1); // where to answer
	assert_int_equal(tapi_helo_decode(&helo, octets, size, &used), TAPI_OK);
	tapi_helo_address_hash(&helo, hash); // what is signed is this address's answer
	assert_memory_equal(last.ping.address_hash, hash, sizeof(hash));
	wall_us = EPOCH + wire_now(wire);

	wrong = last.ping;
	memset(wrong.challenge, 7, sizeof(wrong.challenge));
	make_pong(&wrong, &a->identity.id, wall_us + HOUR, &m, pong);
	plain(wire, THIRD, a, &m, pong, sizeof(pong));
	assert_int_equal(wire_counter(a, "pong_unknown"), 1);

	make_pong(&last.ping, &a->identity.id, wall_us + HOUR, &n, pong);
	plain(wire, THIRD, a, &m, pong, sizeof(pong));
	make_pong(&last.ping, &b->identity.id, wall_us + HOUR, &m, pong);
	plain(wire, THIRD, a, &m, pong, sizeof(pong));
	make_pong(&last.ping, &a->identity.id, wall_us + HOUR, &m, pong);
	pong[sizeof(pong) - 1] ^= 1;
	plain(wire, THIRD, a, &m, pong, sizeof(pong));
	wrong = last.ping;
	wrong.address_hash[0] ^= 1;
	make_pong(&wrong, &a->identity.id, wall_us + HOUR, &m, pong);
	plain(wire, THIRD, a, &m, pong, sizeof(pong));
	assert_int_equal(wire_counter(a, "pong_wrong"), 4);
	make_pong(&last.ping, &a->identity.id, wall_us - HOUR, &m, pong);
	plain(wire, THIRD, a, &m, pong, sizeof(pong));
	assert_int_equal(wire_counter(a, "pong_expired"), 1);
	tapi_core_peer(a->core, &m.id, &info);
	assert_int_equal(info.validated, 0);
	assert_int_equal(wire_counter(a, "pong_received"), 0);

	make_pong(&last.ping, &a->identity.id, wall_us + 30 * S, &m, pong);
	plain(wire, 0x0a620009, a, &n, pong, sizeof(pong)); // from elsewhere, by another
	tapi_core_peer(a->core, &m.id, &info);
	assert_int_equal(info.validated, 1);
	assert_int_equal(wire_counter(a, "pong_received"), 1);
	// Again: the challenge is spent.
	plain(wire, THIRD, a, &m, pong, sizeof(pong));
	assert_int_equal(wire_counter(a, "pong_unknown"), 2);
	// It stands as long as it says.
	wire_run(wire, 31 * S);
	tapi_core_peer(a->core, &m.id, &info);
	assert_int_equal(info.validated, 0);
	wire_free(wire);
}

// A challenge is over when the PING was unanswered for ping_wait_ms.
static void test_late_pong(void **state)
{
	struct wire *wire = wire_new(9);
	struct wire_node *a = wire_node_add(wire, &EAGER);
	struct tapi_identity m = mallory(1);
	uint8_t octets[TAPI_HELO_BYTES_MAX], pong[TAPI_PONG_BYTES];
	struct last_ping last = {.seen = 0};
	struct tapi_peer_info info;

	(void)state;
	wire_third_party(wire, WIRE_UDP, THIRD);
	wire_tap(wire, keep_ping, &last);
	tapi_core_add_helo(a->core, octets, make_helo(wire, &m, WIRE_UDP, THIRD, HOUR, octets));
	wire_poke(a);
	wire_run(wire, 11 * S);
	assert_int_equal(last.seen, 1);
	make_pong(&last.ping, &a->identity.id, EPOCH + wire_now(wire) + HOUR, &m, pong);
	plain(wire, THIRD, a, &m, pong, sizeof(pong));
	assert_int_equal(wire_counter(a, "pong_unknown"), 1);
	tapi_core_peer(a->core, &m.id, &info);
	assert_int_equal(info.validated, 0);
	wire_free(wire);
}

struct amplification {
	uint64_t to_third, pongs;
	uint32_t largest;
};

static void count_third(void *context, enum wire_kind kind, uint32_t from_ip, uint32_t to_ip,
	uint8_t *message, uint32_t size)
{
	struct amplification *seen = context;

	(void)kind;
	(void)from_ip;
	if (to_ip != THIRD)
		return;
	seen->to_third++;
	seen->pongs += tapi_get16(&message[2]) == TAPI_TYPE_PONG;
	seen->largest = size > seen->largest ? size : seen->largest;
}

// A PING with a forged source: what goes to that source is one PONG, no longer than the PING. A
// message with a forged source: one PING of ours. Never the application's answers.
static void test_forged_ping(void **state)
{
	struct wire *wire = wire_new(10);
	struct wire_node *a = wire_node_add(wire, NULL);
	struct tapi_identity m = mallory(1);
	struct tapi_ping ping = {.target = a->identity.id};
	uint8_t octets[TAPI_PING_BYTES_MAX], chat[8] = {0, 8, 0, 64, 'h', 'i', '!', '!'};
	struct amplification seen = {.to_third = 0};
	struct tapi_outgoing outgoing = {.type = 64, .body = "secret", .length = 6};
	size_t size;

	(void)state;
	wire_tap(wire, count_third, &seen);
	size = tapi_ping_encode(&ping, octets, sizeof(octets));
	plain(wire, THIRD, a, &m, octets, size);
	wire_run(wire, 1 * S);
	assert_int_equal(seen.pongs, 1);
	assert_true(seen.largest <= size);
	assert_int_equal(seen.to_third, 1);
	tapi_core_send(a->core, &m.id, &outgoing); // wanting it makes no second trigger of it
	wire_poke(a);
	wire_run(wire, 1 * S);
	assert_int_equal(seen.to_third, 1);
	for (int i = 0; i < 20; i++) {
		plain(wire, THIRD, a, &m, chat, sizeof(chat));
		tapi_core_send(a->core, &m.id, &outgoing);
		wire_poke(a);
	}
	wire_run(wire, 5 * S);
	assert_int_equal(a->inbox.messages, 20); // delivered, and marked
	assert_int_equal(a->inbox.unvalidated, 20);
	assert_int_equal(wire_counter(a, "received_unvalidated"), 20);
	assert_int_equal(seen.to_third, 2);
	// For another peer: not answered.
	ping.target = m.id;
	size = tapi_ping_encode(&ping, octets, sizeof(octets));
	plain(wire, THIRD + 1, a, &m, octets, size);
	assert_int_equal(wire_counter(a, "ping_not_ours"), 1);
	wire_free(wire);
}

// PINGs by the hundred: so many are answered in a second.
static void test_ping_flood(void **state)
{
	struct wire *wire = wire_new(15);
	struct wire_node_options options = {.core = "\"pongs_per_s\": 10"};
	struct wire_node *a = wire_node_add(wire, &options);
	struct tapi_identity m = mallory(1);
	struct tapi_ping ping = {.target = a->identity.id};
	uint8_t octets[TAPI_PING_BYTES_MAX];
	size_t size = tapi_ping_encode(&ping, octets, sizeof(octets));

	(void)state;
	for (int i = 0; i < 200; i++) // in two seconds
		plain(wire, THIRD, a, &m, octets, size);
	assert_in_range(wire_counter(a, "pong_sent"), 23, 27); // a stranger has half of the burst
	assert_int_equal(wire_counter(a, "pong_sent") + wire_counter(a, "ping_limited_in"), 200);
	wire_free(wire);
}

// A message on a session that was validated for another peer is a stranger's.
static void test_sender_conflict(void **state)
{
	struct wire *wire = wire_new(11);
	struct wire_node_options udp = {.transports = "\"vudp\""};
	struct wire_node *a = wire_node_add(wire, &udp), *b = wire_node_add(wire, &udp);
	struct tapi_identity m = mallory(1);
	uint8_t chat[8] = {0, 8, 0, 64, 'h', 'i', '!', '!'};

	(void)state;
	wire_introduce(a, b, WIRE_ANY);
	wire_send(a, b, 64, "x", 1);
	wire_run(wire, 1 * S);
	plain(wire, b->ip, a, &m, chat, sizeof(chat));
	assert_int_equal(a->inbox.messages, 1);
	assert_int_equal(a->inbox.unvalidated, 1);
	assert_int_equal(wire_counter(a, "sender_conflict"), 1);
	plain(wire, b->ip, a, &b->identity, chat, sizeof(chat));
	assert_int_equal(a->inbox.messages, 2);
	assert_int_equal(a->inbox.unvalidated, 1);
	// Who says he is we.
	plain(wire, b->ip, a, &a->identity, chat, sizeof(chat));
	assert_int_equal(wire_counter(a, "received_mine"), 1);
	assert_int_equal(a->inbox.messages, 2);
	wire_free(wire);
}

// Without sessions (raw-ip): the PONG goes to a HELO in the PING that leads to where it came from;
// to no other.
static void test_session_less(void **state)
{
	struct wire *wire = wire_new(12);
	struct wire_node_options raw = {.transports = "\"vraw\""};
	struct wire_node *a = wire_node_add(wire, &raw), *b = wire_node_add(wire, &raw);
	const struct wire_seen *seen = wire_third_party(wire, WIRE_RAW, THIRD);
	struct tapi_identity m = mallory(1);
	struct tapi_ping ping = {.target = a->identity.id, .n_helos = 1};
	uint8_t octets[TAPI_PING_BYTES_MAX];
	uint32_t crc;
	size_t size, used;

	(void)state;
	wire_introduce(a, b, WIRE_ANY);
	wire_send(a, b, 64, "over raw", 8);
	wire_run(wire, 1 * S);
	assert_int_equal(b->inbox.messages, 1);
	wire_send(b, a, 64, "back", 4); // b has a's address from the PING
	wire_run(wire, 1 * S);
	assert_int_equal(a->inbox.messages, 1);
	assert_int_equal(a->inbox.unvalidated, 0);
	// A PING from elsewhere with the third party's address in it.
	size = make_helo(wire, &m, WIRE_RAW, THIRD, HOUR, octets);
	assert_int_equal(tapi_helo_decode(&ping.helos[0], octets, size, &used), TAPI_OK);
	size = tapi_ping_encode(&ping, octets, sizeof(octets));
	crc = (uint32_t)crc32(0, octets, (unsigned)size);
	wire_forge(wire, WIRE_RAW, THIRD + 1, a, &m.id, octets, (uint32_t)size, false, &crc);
	wire_run(wire, 1 * S);
	assert_int_equal(wire_counter(a, "pong_no_way"), 1);
	assert_int_equal(seen->messages, 0);
	wire_free(wire);
}

// Validated for a time only; what is in use is asked again at half of it.
static void test_validity_ends(void **state)
{
	struct wire *wire = wire_new(13);
	struct wire_node_options options = {
		.transports = "\"vudp\"", .core = "\"pong_valid_s\": 600"};
	struct wire_node *a = wire_node_add(wire, &options), *b = wire_node_add(wire, &options);
	struct tapi_peer_info info;

	(void)state;
	wire_introduce(a, b, WIRE_ANY);
	wire_send(a, b, 64, "x", 1);
	wire_run(wire, 5 * S);
	for (int i = 0; i < 30; i++) {
		wire_send(a, b, 64, "x", 1);
		wire_run(wire, 60 * S);
		tapi_core_peer(a->core, &b->identity.id, &info);
		assert_int_equal(info.validated, 1);
	}
	assert_int_equal(b->inbox.messages, 31);
	assert_int_equal(a->inbox.reachable, 1);
	assert_int_equal(a->inbox.lost, 0);
	// b is gone for good: when the time is over, so is the path.
	wire_block(wire, WIRE_ANY, b->ip, 0, true);
	wire_run(wire, 2 * HOUR);
	tapi_core_peer(a->core, &b->identity.id, &info);
	assert_int_equal(info.validated, 0);
	assert_int_equal(a->inbox.lost, 1);
	wire_free(wire);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_helos_refused),
		cmocka_unit_test(test_helo_flood),
		cmocka_unit_test(test_newer_replaces),
		cmocka_unit_test(test_third_party_udp),
		cmocka_unit_test(test_third_party_forged),
		cmocka_unit_test(test_third_party_tcp),
		cmocka_unit_test(test_rates),
		cmocka_unit_test(test_fabricated_pongs),
		cmocka_unit_test(test_late_pong),
		cmocka_unit_test(test_forged_ping),
		cmocka_unit_test(test_ping_flood),
		cmocka_unit_test(test_sender_conflict),
		cmocka_unit_test(test_session_less),
		cmocka_unit_test(test_validity_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
