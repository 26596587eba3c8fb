// SPDX-License-Identifier: BSD-3-Clause
// Two behind NATs that let in only whom they went to find one another through a third (TA28), and
// what that must not become: a way to have somebody PING who is no peer (TA9).
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <zlib.h>

#include <cmocka.h>

#include "lib/tapi/tapi_wire.h"

#include "transportapi/base/wire.h"

#define S UINT64_C(1000000)

// As they are by default, but for transports: one PING to an address in 60 s.
static const struct wire_node_options OPEN = {.transports = "\"vudp\""};
static const struct wire_node_options CONE = {.transports = "\"vudp\"", .cone = {true, true, true}};
static const struct wire_node_options ALONE = {
	.transports = "\"vudp\"", .core = "\"introduce\": false", .cone = {true, true, true}};

static const struct wire_node_options OPEN_SEALED = {
	.transports = "\"vudp\"", .core = "\"encryption\": \"require\""};
static const struct wire_node_options CONE_SEALED = {.transports = "\"vudp\"",
	.core = "\"encryption\": \"require\"",
	.cone = {true, true, true}};

static void meet(struct wire *wire, struct wire_node *a, struct wire_node *hub)
{
	wire_introduce(a, hub, WIRE_ANY);
	assert_int_equal(wire_send(a, hub, 64, "x", 1), TAPI_OK);
	wire_run(wire, 2 * S);
}

static bool reaches(struct wire_node *a, struct wire_node *b)
{
	struct tapi_peer_info info;

	return tapi_core_peer(a->core, &b->identity.id, &info) == TAPI_OK && info.validated != 0 &&
	       info.transport[0] != '\0';
}

static void punch(const struct wire_node_options *open, const struct wire_node_options *cone)
{
	struct wire *wire = wire_new(60);
	struct wire_node *hub = wire_node_add(wire, open), *a = wire_node_add(wire, cone),
			 *b = wire_node_add(wire, cone);

	meet(wire, a, hub);
	meet(wire, b, hub);
	wire_run(wire, 300 * S); // paths to the hub are kept open meanwhile
	wire_introduce(b, a, WIRE_ANY);
	assert_int_equal(wire_send(b, a, 64, "through both", 12), TAPI_OK);
	wire_run(wire, 5 * S);
	assert_int_equal(wire_counter(b, "introduce_asked"), 1);
	assert_int_equal(wire_counter(hub, "introduce_made"), 1);
	assert_int_equal(wire_counter(a, "introduce_told"), 1);
	assert_true(reaches(b, a));
	assert_int_equal(a->inbox.messages, 1);
	assert_int_equal(wire_send(a, b, 64, "back", 4), TAPI_OK);
	wire_run(wire, 1 * S);
	assert_int_equal(b->inbox.messages, 1);
	wire_run(wire, 1800 * S); // and kept open by themselves
	assert_int_equal(wire_send(a, b, 64, "still", 5), TAPI_OK);
	wire_run(wire, 1 * S);
	assert_int_equal(b->inbox.messages, 2);
	wire_free(wire);
}

static void test_punch(void **state)
{
	(void)state;
	punch(&OPEN, &CONE);
}

static void test_punch_sealed(void **state)
{
	(void)state;
	punch(&OPEN_SEALED, &CONE_SEALED);
}

// Without anybody's help the PINGs of one end are lost at the other's NAT.
static void test_alone(void **state)
{
	struct wire *wire = wire_new(61);
	struct wire_node *hub = wire_node_add(wire, &OPEN), *a = wire_node_add(wire, &CONE),
			 *b = wire_node_add(wire, &ALONE), *c = wire_node_add(wire, &CONE);

	(void)state;
	meet(wire, a, hub);
	meet(wire, b, hub);
	wire_introduce(b, a, WIRE_ANY);
	assert_int_equal(wire_send(b, a, 64, "x", 1), TAPI_OK);
	wire_run(wire, 5 * S);
	assert_false(reaches(b, a));
	assert_int_equal(wire_counter(b, "introduce_asked"), 0);
	assert_int_equal(wire_counter(a, "introduce_told"), 0);
	// c asks, but b does not listen.
	meet(wire, c, hub);
	wire_introduce(c, b, WIRE_ANY);
	assert_int_equal(wire_send(c, b, 64, "x", 1), TAPI_OK);
	wire_run(wire, 5 * S);
	assert_int_equal(wire_counter(hub, "introduce_made"), 1);
	assert_int_equal(wire_counter(b, "introduce_refused"), 1);
	assert_int_equal(wire_counter(b, "introduce_told"), 0);
	assert_false(reaches(c, b));
	wire_free(wire);
}

static size_t ask(uint8_t *out, uint8_t what, const struct tapi_peer_id *whom)
{
	uint8_t *p = tapi_put16(tapi_put16(out, 40), TAPI_TYPE_INTRODUCE);

	*p++ = what;
	*p++ = 0;
	tapi_put(tapi_put16(p, 0), whom->octets, 32);
	return 40;
}

static void throw(struct wire * wire, const struct wire_node *from, struct wire_node *to,
	const uint8_t *message, uint32_t size)
{
	uint32_t crc = (uint32_t)crc32(0, message, size);

	wire_forge(wire, WIRE_UDP, from->ip, to, &from->identity.id, message, size, false, &crc);
}

struct kept {
	uint8_t octets[TAPI_HELO_BYTES_MAX];
	uint32_t size;
};

static bool keep(void *context, const uint8_t *octets, size_t length)
{
	struct kept *kept = context;

	memcpy(kept->octets, octets, length);
	kept->size = (uint32_t)length;
	return false;
}

// In a peer's name, but not sealed: nobody is reported.
static void test_clear(void **state)
{
	struct wire *wire = wire_new(64);
	struct wire_node *hub = wire_node_add(wire, &OPEN_SEALED),
			 *a = wire_node_add(wire, &CONE_SEALED),
			 *b = wire_node_add(wire, &CONE_SEALED);
	uint8_t message[40];
	uint64_t dropped;

	(void)state;
	meet(wire, a, hub);
	meet(wire, b, hub);
	dropped = wire_counter(hub, "clear_dropped");
	ask(message, 1, &a->identity.id);
	throw(wire, b, hub, message, sizeof(message));
	wire_run(wire, 1 * S);
	assert_int_equal(wire_counter(hub, "clear_dropped"), dropped + 1);
	assert_int_equal(wire_counter(hub, "introduce_made"), 0);
	wire_free(wire);
}

// Who says that it lives at a third party's address, too, is introduced with those where it was
// found alone.
static void test_third_party(void **state)
{
	struct wire *wire = wire_new(62);
	struct wire_node *hub = wire_node_add(wire, &OPEN), *a = wire_node_add(wire, &CONE),
			 *liar = wire_node_add(wire, &CONE);
	const struct wire_seen *seen = wire_third_party(wire, WIRE_UDP, 0x0a630001);
	uint32_t home = liar->ip;
	struct tapi_peer_info info;
	uint8_t message[40];
	struct kept kept;

	(void)state;
	meet(wire, a, hub);
	meet(wire, liar, hub);
	liar->ip = 0x0a630001; // what it signs; it stays where it is
	tapi_core_own_helos(liar->core, keep, &kept);
	liar->ip = home;
	ask(message, 1, &a->identity.id);
	for (unsigned i = 0; i < 6; i++) {
		throw(wire, liar, hub, kept.octets, kept.size);
		wire_run(wire, 1 * S);
		throw(wire, liar, hub, message, sizeof(message));
		wire_run(wire, 70 * S); // a PING to one address each 60 s
	}
	assert_int_equal(tapi_core_peer(hub->core, &liar->identity.id, &info), TAPI_OK);
	assert_int_equal(info.addresses, 2); // the hub knows both
	assert_int_equal(wire_counter(hub, "introduce_made"), 6);
	assert_int_equal(wire_counter(a, "introduce_told"), 6);
	assert_int_equal(tapi_core_peer(a->core, &liar->identity.id, &info), TAPI_OK);
	assert_int_equal(info.addresses, 1);
	assert_int_equal(seen->messages, 0);
	wire_free(wire);
}

// Strangers are not listened to, nor is what is malformed; of a peer, eight at once.
static void test_limits(void **state)
{
	struct wire *wire = wire_new(63);
	struct wire_node *hub = wire_node_add(wire, &OPEN), *a = wire_node_add(wire, &CONE),
			 *b = wire_node_add(wire, &CONE);
	uint8_t message[40];
	uint32_t crc;

	(void)state;
	meet(wire, a, hub);
	meet(wire, b, hub);
	// nobody is reported itself, nor of who is not known
	ask(message, 2, &hub->identity.id);
	throw(wire, hub, a, message, sizeof(message));
	wire_run(wire, 1 * S);
	assert_int_equal(wire_counter(a, "introduce_refused"), 1);
	memset(message + 8, 7, 32);
	throw(wire, hub, a, message, sizeof(message));
	wire_run(wire, 1 * S);
	assert_int_equal(wire_counter(a, "introduce_refused"), 2);
	assert_int_equal(wire_counter(a, "introduce_told"), 0);
	ask(message, 1, &a->identity.id);
	crc = (uint32_t)crc32(0, message, sizeof(message));
	wire_forge(wire, WIRE_UDP, 0x0a630002, hub, &b->identity.id, message, 40, false, &crc);
	wire_run(wire, 1 * S);
	assert_int_equal(wire_counter(hub, "introduce_refused"), 1);
	assert_int_equal(wire_counter(hub, "introduce_made"), 0);
	for (unsigned i = 0; i < 20; i++)
		throw(wire, b, hub, message, sizeof(message));
	wire_run(wire, 1 * S);
	assert_int_equal(wire_counter(hub, "introduce_made"), 8);
	assert_int_equal(wire_counter(hub, "introduce_refused"), 13);
	assert_in_range(wire_counter(a, "introduce_told"), 1, 8);
	assert_true(wire_counter(a, "ping_sent_address") <= 2); // one to the hub, one to b
	ask(message, 3, &a->identity.id);
	throw(wire, b, hub, message, sizeof(message));
	wire_run(wire, 1 * S);
	assert_int_equal(wire_counter(hub, "malformed"), 1);
	wire_free(wire);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_punch),
		cmocka_unit_test(test_punch_sealed),
		cmocka_unit_test(test_alone),
		cmocka_unit_test(test_clear),
		cmocka_unit_test(test_third_party),
		cmocka_unit_test(test_limits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
