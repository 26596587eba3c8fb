// SPDX-License-Identifier: BSD-3-Clause
// Two cores: HELO, PING, PONG, messages both ways (TA3); what travels together, what in parts
// (TA16); what is carried and what is looked at (TA12).
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <zlib.h>

#include "lib/tapi/tapi_wire.h"

#include "transportapi/base/wire.h"

#define S  1000000u
#define MS 1000u

static void test_two_cores(void **state)
{
	struct wire *wire = wire_new(1);
	struct wire_node *a = wire_node_add(wire, NULL), *b = wire_node_add(wire, NULL);
	struct tapi_peer_info info;

	(void)state;
	assert_int_equal(wire_send(a, b, 64, "early", 5), TAPI_ENOADDR);
	wire_introduce(a, b, WIRE_ANY);
	assert_int_equal(tapi_core_peer(a->core, &b->identity.id, &info), TAPI_OK);
	assert_int_equal(info.addresses, 2);
	assert_int_equal(info.validated, 0);
	wire_run(wire, 2 * S);
	// Lazy: nothing moves before somebody wants to send.
	assert_int_equal(wire_counter(a, "ping_sent"), 0);
	assert_int_equal(wire_send(a, b, 64, "hello", 5), TAPI_OK);
	wire_run(wire, 2 * S);
	assert_int_equal(b->inbox.messages, 1);
	assert_in_range(wire_counter(a, "sent_msgs"), 1, 20);
	assert_in_range(wire_counter(a, "sent_bytes"), 5, 5000);
	assert_memory_equal(b->inbox.last, "hello", 5);
	assert_int_equal(a->inbox.reachable, 1);
	assert_int_equal(tapi_core_peer(a->core, &b->identity.id, &info), TAPI_OK);
	assert_int_equal(info.validated, 2);
	assert_string_equal(info.transport, "vudp");
	assert_string_equal(info.address, "vudp://10.0.0.2:2086");
	assert_non_null(strstr(info.reason, "cheapest of"));
	assert_in_range(info.rtt_us, 2 * MS, 4 * MS);
	// The other way, over the session that came in, once it was validated itself.
	assert_int_equal(wire_send(b, a, 65, "answer", 6), TAPI_OK);
	wire_run(wire, 2 * S);
	assert_int_equal(a->inbox.messages, 1);
	assert_int_equal(a->inbox.last_type, 65);
	assert_memory_equal(a->inbox.last, "answer", 6);
	assert_int_equal(a->inbox.unvalidated, 0);
	wire_free(wire);
}

// Without a message of an application: who validates is validated in turn.
static void test_eager(void **state)
{
	struct wire *wire = wire_new(5);
	struct wire_node_options eager = {
		.transports = "\"vudp\"", .core = "\"validate\": \"eager\""};
	struct wire_node_options lazy = {.transports = "\"vudp\""};
	struct wire_node *a = wire_node_add(wire, &eager), *b = wire_node_add(wire, &lazy);

	(void)state;
	wire_introduce(a, b, WIRE_ANY);
	wire_run(wire, 1 * S);
	assert_int_equal(a->inbox.reachable, 1);
	assert_int_equal(b->inbox.reachable, 1);
	wire_introduce(a, a, WIRE_ANY);
	assert_int_equal(wire_counter(a, "helo_own"), 1);
	wire_free(wire);
}

struct pair {
	struct wire *wire;
	struct wire_node *a, *b;
	uint32_t longest; // that went to b
};

static void longest(void *context, enum wire_kind kind, uint32_t from_ip, uint32_t to_ip,
	uint8_t *message, uint32_t size)
{
	struct pair *pair = context;

	(void)kind;
	(void)from_ip;
	(void)message;
	if (to_ip == pair->b->ip && size > pair->longest)
		pair->longest = size;
}

// Both reachable for one another over vudp alone, and silent for a while.
static struct pair pair_up(const struct wire_node_options *options)
{
	struct pair pair = {.wire = wire_new(2)};

	pair.a = wire_node_add(pair.wire, options);
	pair.b = wire_node_add(pair.wire, options);
	wire_introduce(pair.a, pair.b, WIRE_ANY);
	assert_int_equal(wire_send(pair.a, pair.b, 64, "x", 1), TAPI_OK);
	wire_run(pair.wire, 1 * S);
	assert_int_equal(wire_send(pair.b, pair.a, 64, "x", 1), TAPI_OK);
	wire_run(pair.wire, 1 * S);
	assert_int_equal(pair.a->inbox.messages, 1);
	assert_int_equal(pair.b->inbox.messages, 1);
	return pair;
}

static const struct wire_node_options UDP_ONLY = {.transports = "\"vudp\""};

// A small message on an idle path goes at once; so does each answer; many in a row travel
// together, and none waits longer than flush_us.
static void test_small_messages(void **state)
{
	struct pair pair = pair_up(&UDP_ONLY);
	uint64_t batches = wire_counter(pair.a, "sent_batches"), began_us;

	(void)state;
	wire_send(pair.a, pair.b, 64, "now", 3);
	assert_int_equal(wire_counter(pair.a, "sent_batches"), batches + 1); // within the call
	wire_run(pair.wire, 10 * MS);
	assert_int_equal(pair.b->inbox.messages, 2);

	batches = wire_counter(pair.a, "sent_batches");
	for (int i = 0; i < 20; i++)
		assert_int_equal(wire_send(pair.a, pair.b, 64, "one of many", 11), TAPI_OK);
	began_us = wire_now(pair.wire);
	wire_run(pair.wire, 1 * MS + 501); // the latency, and flush_us
	assert_int_equal(pair.b->inbox.messages, 22);
	assert_int_equal(wire_counter(pair.a, "sent_batches"), batches + 2);
	assert_true(wire_now(pair.wire) - began_us < 2 * MS);

	// Question and answer: no flush_us in it, though the next question comes sooner than that.
	wire_latency(pair.wire, WIRE_UDP, 100, 0);
	wire_run(pair.wire, 10 * MS);
	for (int i = 0; i < 10; i++) {
		uint64_t got = pair.b->inbox.messages;

		began_us = wire_now(pair.wire);
		wire_send(pair.a, pair.b, 64, "question", 8);
		wire_run(pair.wire, 100);
		assert_int_equal(pair.b->inbox.messages, got + 1);
		wire_send(pair.b, pair.a, 64, "answer", 6);
		wire_run(pair.wire, 100);
	}
	assert_int_equal(pair.a->inbox.messages, 11);
	wire_free(pair.wire);
}

static void test_full_payloads(void **state)
{
	struct wire_node_options options = {
		.transports = "\"vudp\"", .core = "\"queue_msgs\": 200, \"flush_us\": 1000000"};
	struct pair pair = pair_up(&options);
	uint64_t batches = wire_counter(pair.a, "sent_batches");
	static uint8_t body[300];

	(void)state;
	// 4 of 304 octets make a payload of 1432, which does not wait for flush_us.
	for (int i = 0; i < 41; i++)
		assert_int_equal(wire_send(pair.a, pair.b, 64, body, sizeof(body)), TAPI_OK);
	wire_run(pair.wire, 10 * MS);
	assert_in_range(wire_counter(pair.a, "sent_batches") - batches, 10, 11);
	wire_run(pair.wire, 2 * S);
	assert_int_equal(pair.b->inbox.messages, 42);
	wire_free(pair.wire);
}

// Small messages in a burst: a payload of a stream is far from full when the queue is; it does not
// wait for that.
static void test_queue_half_full(void **state)
{
	struct wire_node_options tcp = {.transports = "\"vtcp\""};
	struct pair pair = pair_up(&tcp);

	(void)state;
	for (int i = 0; i < 200; i++)
		assert_int_equal(wire_send(pair.a, pair.b, 64, "small", 5), TAPI_OK);
	wire_run(pair.wire, 10 * MS);
	assert_int_equal(pair.b->inbox.messages, 201);
	assert_true(wire_counter(pair.a, "sent_batches") < 20);
	wire_free(pair.wire);
}

static void test_long_messages(void **state)
{
	struct pair pair = pair_up(&UDP_ONLY);
	struct wire_node_options whole = {.transports = "\"vudp\"", .core = "\"fragment\": false"};
	static uint8_t body[60000];

	(void)state;
	for (size_t i = 0; i < sizeof(body); i++)
		body[i] = (uint8_t)(i * 7 + i / 251);
	assert_int_equal(wire_send(pair.a, pair.b, 66, body, sizeof(body)), TAPI_OK);
	wire_run(pair.wire, 100 * MS);
	assert_int_equal(pair.b->inbox.last_length, sizeof(body));
	assert_memory_equal(pair.b->inbox.last, body, sizeof(body));
	assert_in_range(wire_counter(pair.a, "sent_fragments"), 42, 44);
	// Parts arrive in any order.
	wire_latency(pair.wire, WIRE_UDP, 1 * MS, 50 * MS);
	memset(pair.b->inbox.last, 0, sizeof(body));
	wire_send(pair.a, pair.b, 66, body, sizeof(body));
	wire_run(pair.wire, 1 * S);
	assert_int_equal(pair.b->inbox.messages, 3);
	assert_memory_equal(pair.b->inbox.last, body, sizeof(body));
	// Longer than any.
	assert_int_equal(wire_send(pair.a, pair.b, 66, body, 256 * 1024), TAPI_ETOOBIG);
	wire_free(pair.wire);

	pair = pair_up(&whole);
	assert_int_equal(wire_send(pair.a, pair.b, 66, body, 1428), TAPI_OK);
	assert_int_equal(wire_send(pair.a, pair.b, 66, body, 1429), TAPI_ETOOBIG);
	wire_free(pair.wire);
}

// Where nothing is cut, what udp's mtu does not take goes by tcp, which nothing else does; and not
// into a hole for ever, when tcp is blocked.
static void test_by_size(void **state)
{
	struct wire_node_options whole = {.core = "\"fragment\": false, \"linger_s\": 1"};
	struct pair pair = pair_up(&whole);
	struct tapi_peer_info info;
	static uint8_t body[40000];

	(void)state;
	wire_send(pair.a, pair.b, 66, body, 100);
	wire_run(pair.wire, 1 * S);
	assert_int_equal(tapi_core_peer(pair.a->core, &pair.b->identity.id, &info), TAPI_OK);
	assert_string_equal(info.transport, "vudp");
	assert_int_equal(tapi_core_best(pair.a->core, &pair.b->identity.id, 100, &info), TAPI_OK);
	assert_string_equal(info.transport, "vudp");
	assert_int_equal(tapi_core_best(pair.a->core, &pair.b->identity.id, 20000, &info), TAPI_OK);
	assert_string_equal(info.transport, "vtcp");
	assert_int_equal(wire_send(pair.a, pair.b, 66, body, 20000), TAPI_OK);
	assert_int_equal(wire_send(pair.a, pair.b, 66, body, 40000), TAPI_ETOOBIG);
	wire_run(pair.wire, 1 * S);
	assert_int_equal(pair.b->inbox.last_length, 20000);
	assert_int_equal(wire_counter(pair.a, "sent_by_size"), 1);
	assert_int_equal(wire_counter(pair.a, "sent_fragments"), 0);
	wire_send(pair.a, pair.b, 66, body, 100);
	wire_run(pair.wire, 10 * MS);
	assert_int_equal(tapi_core_peer(pair.a->core, &pair.b->identity.id, &info), TAPI_OK);
	assert_string_equal(info.transport, "vudp"); // as before
	wire_block(pair.wire, WIRE_TCP, 0, 0, true);
	for (int i = 0; i < 30; i++) {
		wire_send(pair.a, pair.b, 66, body, 20000);
		wire_run(pair.wire, 500 * MS);
	}
	assert_int_equal(wire_send(pair.a, pair.b, 66, body, 20000), TAPI_ETOOBIG);
	assert_int_equal(wire_send(pair.a, pair.b, 66, body, 100), TAPI_OK);
	wire_free(pair.wire);
}

// The mtu of a path is the least of the transport's, the HELO's, and what the medium then takes.
static void test_mtu_of_path(void **state)
{
	struct wire_node_options small = {.transports = "\"vudp\"", .helo_mtu = 600};
	struct pair pair = {.wire = wire_new(4)};
	struct tapi_peer_info info;
	static uint8_t body[5000];

	(void)state;
	pair.a = wire_node_add(pair.wire, &UDP_ONLY);
	pair.b = wire_node_add(pair.wire, &small);
	wire_introduce(pair.a, pair.b, WIRE_ANY);
	wire_tap(pair.wire, longest, &pair);
	for (size_t i = 0; i < sizeof(body); i++)
		body[i] = (uint8_t)(i % 251);
	wire_send(pair.a, pair.b, 64, body, sizeof(body));
	wire_run(pair.wire, 1 * S);
	assert_int_equal(pair.b->inbox.messages, 1);
	assert_memory_equal(pair.b->inbox.last, body, sizeof(body));
	assert_in_range(pair.longest, 590, 600);
	tapi_core_peer(pair.a->core, &pair.b->identity.id, &info);
	assert_int_equal(info.mtu, 600);
	// The medium takes less yet: found out, nothing lost, nothing held up.
	wire_narrow(pair.a, WIRE_UDP, 500);
	for (int i = 0; i < 3; i++)
		assert_int_equal(wire_send(pair.a, pair.b, 64, body, 590), TAPI_OK);
	wire_send(pair.a, pair.b, 64, body, sizeof(body));
	wire_run(pair.wire, 1 * S);
	assert_int_equal(pair.b->inbox.messages, 5);
	assert_int_equal(pair.b->inbox.last_length, sizeof(body));
	tapi_core_peer(pair.a->core, &pair.b->identity.id, &info);
	assert_in_range(info.mtu, 460, 500);
	// Less than is of use: dropped and counted, and what is small goes on.
	wire_narrow(pair.a, WIRE_UDP, 200);
	wire_send(pair.a, pair.b, 64, body, 400);
	wire_run(pair.wire, 1 * S);
	wire_send(pair.a, pair.b, 64, body, 100);
	wire_run(pair.wire, 1 * S);
	assert_int_equal(pair.b->inbox.messages, 6);
	assert_int_equal(pair.b->inbox.last_length, 100);
	assert_int_equal(wire_counter(pair.a, "dropped_too_big"), 1);
	wire_free(pair.wire);
}

// Encrypted or not, and the sum of the plain text: carried; the core looks at the sum of what is in
// plain alone.
static void test_crc(void **state)
{
	struct pair pair = pair_up(&UDP_ONLY);
	struct tapi_outgoing outgoing = {
		.type = 67, .body = "cipher", .length = 6, .is_encrypted = true, .crc = 0xdeadbeef};
	uint8_t message[8] = {0, 8, 0, 67, 1, 2, 3, 4};
	uint32_t right = (uint32_t)crc32(0, message, 8), wrong = right ^ 1;

	(void)state;
	assert_int_equal(tapi_core_send(pair.a->core, &pair.b->identity.id, &outgoing), TAPI_OK);
	wire_run(pair.wire, 10 * MS);
	assert_int_equal(pair.b->inbox.messages, 2);
	assert_true(pair.b->inbox.last_encrypted);
	assert_int_equal(pair.b->inbox.last_crc, 0xdeadbeef);
	assert_int_equal(wire_counter(pair.b, "crc_bad"), 0);
	wire_forge(pair.wire, WIRE_UDP, pair.a->ip, pair.b, &pair.a->identity.id, message, 8, false,
		&wrong);
	wire_run(pair.wire, 10 * MS);
	assert_int_equal(pair.b->inbox.messages, 2);
	assert_int_equal(wire_counter(pair.b, "crc_bad"), 1);
	wire_forge(pair.wire, WIRE_UDP, pair.a->ip, pair.b, &pair.a->identity.id, message, 8, false,
		&right);
	wire_run(pair.wire, 10 * MS);
	assert_int_equal(pair.b->inbox.messages, 3);
	assert_false(pair.b->inbox.last_encrypted);
	// Nobody's type, a size that lies, a type of the core in disguise: counted, each.
	message[3] = 200;
	right = (uint32_t)crc32(0, message, 8);
	wire_forge(pair.wire, WIRE_UDP, pair.a->ip, pair.b, &pair.a->identity.id, message, 8, false,
		&right);
	message[1] = 9;
	right = (uint32_t)crc32(0, message, 8);
	wire_forge(pair.wire, WIRE_UDP, pair.a->ip, pair.b, &pair.a->identity.id, message, 8, false,
		&right);
	message[1] = 8;
	message[3] = TAPI_TYPE_PONG;
	wire_forge(pair.wire, WIRE_UDP, pair.a->ip, pair.b, &pair.a->identity.id, message, 8, true,
		&wrong);
	wire_run(pair.wire, 10 * MS);
	assert_int_equal(wire_counter(pair.b, "unknown_type"), 1);
	assert_int_equal(wire_counter(pair.b, "malformed"), 2);
	assert_int_equal(pair.b->inbox.messages, 3);
	wire_free(pair.wire);
}

// A medium without room: nothing is lost but by the queue's own bounds, and the caller is reported.
static void test_medium_full(void **state)
{
	struct pair pair = pair_up(&UDP_ONLY);
	uint64_t got = pair.b->inbox.messages, taken = 0;

	(void)state;
	wire_no_room(pair.a, WIRE_UDP, true);
	for (int i = 0; i < 100; i++)
		taken += wire_send(pair.a, pair.b, 64, "patience", 8) == TAPI_OK;
	assert_int_equal(taken, 64);
	assert_int_equal(wire_counter(pair.a, "send_full"), 36);
	wire_run(pair.wire, 1 * S);
	assert_int_equal(pair.b->inbox.messages, got);
	assert_true(wire_counter(pair.a, "send_refused") < 1200); // not without pause
	// it refused one: after that it was asked for room, and given nothing while it had none
	struct tapi_transport_api *udp = tapi_core_transport(pair.a->core, "vudp");

	assert_int_equal(udp->stats(udp)->dropped_block, 1);
	wire_no_room(pair.a, WIRE_UDP, false);
	wire_run(pair.wire, 10 * MS);
	assert_int_equal(pair.b->inbox.messages, got + 64);
	// A deadline stands, whatever the medium.
	wire_no_room(pair.a, WIRE_UDP, true);
	wire_send(pair.a, pair.b, 64, "late", 4);
	wire_run(pair.wire, 11 * S);
	wire_no_room(pair.a, WIRE_UDP, false);
	wire_run(pair.wire, 1 * S);
	assert_int_equal(pair.b->inbox.messages, got + 64);
	wire_free(pair.wire);
}

// The table of transports: a wrong version, or none that can be had (TA1, TA3).
static void test_transports_refused(void **state)
{
	struct wire *wire = wire_new(3);
	struct wire_node_options options = {.transports = "\"vudp\", \"pigeon\""};
	struct tapi_error error;
	struct wire_node *node;

	(void)state;
	node = wire_node_add(wire, &options); // the others run
	assert_non_null(tapi_core_transport(node->core, "vudp"));
	assert_null(tapi_core_transport(node->core, "pigeon"));
	options.transports = "\"pigeon\"";
	assert_int_equal(wire_node_try(wire, &options, &node, &error), TAPI_ECONF);
	assert_non_null(strstr(error.text, "no transport can be had"));
	options.transports = "\"vudp\"";
	options.core = "\"mtu\": 3";
	assert_int_equal(wire_node_try(wire, &options, &node, &error), TAPI_ECONF);
	assert_non_null(strstr(error.text, "mtu"));
	options.core = "\"selection\": \"measured\"";
	assert_int_equal(wire_node_try(wire, &options, &node, &error), TAPI_ECONF);
	options.core = NULL;
	options.sections = "\"pigeon\": {}";
	assert_int_equal(wire_node_try(wire, &options, &node, &error), TAPI_ECONF);
	assert_non_null(strstr(error.text, "pigeon"));
	wire_free(wire);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_two_cores),
		cmocka_unit_test(test_eager),
		cmocka_unit_test(test_small_messages),
		cmocka_unit_test(test_full_payloads),
		cmocka_unit_test(test_queue_half_full),
		cmocka_unit_test(test_long_messages),
		cmocka_unit_test(test_by_size),
		cmocka_unit_test(test_mtu_of_path),
		cmocka_unit_test(test_crc),
		cmocka_unit_test(test_medium_full),
		cmocka_unit_test(test_transports_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
