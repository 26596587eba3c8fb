// SPDX-License-Identifier: BSD-3-Clause
// What the core does with parts of messages (TA16): those that are lost cost memory for 10 s and no
// longer, and what others send in a peer's name does not get into what the peer says.
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <zlib.h>

#include "lib/tapi/tapi_wire.h"
#include "transportapi/base/budget.h"
#include "transportapi/core/state.h"
#include "transportapi/proto/fragment.h"
#include "transportapi/base/wire.h"

#define MS   1000u
#define S    1000000u
#define LONG 60000

static struct wire *wire;
static struct wire_node *a, *b;
static uint8_t body[LONG];
static struct {
	unsigned parts, spoil; // seen; which one arrives spoilt: 1, 2, ...; 0: none
	uint32_t id;           // of the last one
} tap;

static void on_wire(void *context, enum wire_kind kind, uint32_t from_ip, uint32_t to_ip,
	uint8_t *message, uint32_t size)
{
	(void)context;
	(void)kind;
	(void)to_ip;
	if (from_ip != a->ip || size < TAPI_FRAGMENT_HEAD_BYTES ||
		tapi_get16(&message[2]) != TAPI_TYPE_FRAGMENT)
		return;
	tap.id = tapi_get32(&message[4]);
	if (++tap.parts == tap.spoil)
		message[size - 1] ^= 1;
}

static int setup(void **state)
{
	const struct wire_node_options options = {.transports = "\"vudp\""};

	(void)state;
	memset(&tap, 0, sizeof(tap));
	for (unsigned i = 0; i < LONG; i++)
		body[i] = (uint8_t)(i * 7 + i / 251);
	wire = wire_new(1);
	a = wire_node_add(wire, &options);
	b = wire_node_add(wire, &options);
	wire_introduce(a, b, WIRE_ANY);
	wire_introduce(b, a, WIRE_ANY);
	wire_send(a, b, 64, "hello", 5);
	wire_run(wire, S);
	wire_send(b, a, 64, "hello", 5);
	wire_run(wire, 100 * S); // its clock is not near 0
	assert_true(a->inbox.messages == 1 && b->inbox.messages == 1);
	b->inbox.unvalidated = 0; // the first word of all may be
	wire_tap(wire, on_wire, NULL);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	wire_free(wire);
	return 0;
}

static uint64_t of(struct wire_node *node, const char *object, const char *name)
{
	char *stats = tapi_core_stats_json(node->core, false), wanted[64], *at;
	uint64_t value;

	assert_non_null(stats);
	snprintf(wanted, sizeof(wanted), "\"%s\":{", object);
	at = strstr(stats, wanted);
	assert_non_null(at);
	snprintf(wanted, sizeof(wanted), "\"%s\":", name);
	at = strstr(at, wanted);
	assert_non_null(at);
	value = strtoull(at + strlen(wanted), NULL, 10);
	free(stats);
	return value;
}

static uint64_t of_fragments(const char *name)
{
	return of(b, "fragments", name);
}

static void a_lost_part_costs_memory_for_ten_seconds(void **state)
{
	(void)state;
	tap.spoil = 7;
	assert_int_equal(wire_send(a, b, 66, body, LONG), TAPI_OK);
	wire_run(wire, 9900 * MS);
	assert_int_equal(wire_counter(b, "crc_bad"), 1);
	assert_in_range(of_fragments("bytes"), LONG - 1500, LONG + LONG / 4);
	wire_run(wire, 200 * MS);
	assert_int_equal(of_fragments("bytes"), 0);
	assert_int_equal(of_fragments("expired"), 1);
	assert_int_equal(b->inbox.messages, 1);
	// and the next message is not held up by it
	assert_int_equal(wire_send(a, b, 66, body, LONG), TAPI_OK);
	wire_run(wire, S);
	assert_int_equal(b->inbox.last_length, LONG);
	assert_int_equal(of_fragments("bytes"), 0);
}

// `n` octets of nonsense at `offset` of the message that is under way, from another address.
static void forge(uint32_t offset, uint32_t n)
{
	uint8_t part[1400], *p = part;
	uint32_t crc;

	p = tapi_put16(tapi_put16(p, (uint16_t)(n + TAPI_FRAGMENT_HEAD_BYTES)), TAPI_TYPE_FRAGMENT);
	p = tapi_put32(tapi_put32(tapi_put32(p, tap.id), LONG + 4), offset);
	memset(p, 0xee, n);
	crc = (uint32_t)crc32(0, part, n + TAPI_FRAGMENT_HEAD_BYTES);
	wire_forge(wire, WIRE_UDP, 0x0a090909, b, &a->identity.id, part,
		n + TAPI_FRAGMENT_HEAD_BYTES, false, &crc);
}

static void what_others_send_in_its_name_stays_outside(void **state)
{
	(void)state;
	wire_latency(wire, WIRE_UDP, 1 * MS, 50 * MS);
	for (uint32_t round = 1; round <= 5; round++) {
		uint64_t before = b->inbox.messages, strange = b->inbox.unvalidated;

		tap.parts = 0;
		assert_int_equal(wire_send(a, b, 66, body, LONG), TAPI_OK);
		while (tap.parts < 20)
			wire_run(wire, 100);
		wire_run(wire, 10 * MS); // some have arrived
		assert_true(of_fragments("bytes") > 0);
		assert_int_equal(b->inbox.messages, before);
		for (uint32_t at = 0; at < LONG; at += 10 * 1000)
			forge(at, 1000);
		wire_run(wire, 2 * S);
		assert_int_equal(b->inbox.messages, before + 1);
		assert_int_equal(b->inbox.last_length, LONG);
		assert_memory_equal(b->inbox.last, body, LONG);
		assert_int_equal(b->inbox.unvalidated, strange);
	}
	wire_run(wire, 20 * S);
	assert_int_equal(of_fragments("bytes"), 0);
	assert_int_equal(of_fragments("expired") + of_fragments("dropped_full"), 5); // the nonsense
}

// A peer that was never heard of may begin with a long message.
static void a_stranger_may_send_a_long_message(void **state)
{
	const struct wire_node_options options = {.transports = "\"vudp\""};
	struct wire_node *c = wire_node_add(wire, &options);
	uint64_t before = b->inbox.messages, strange = b->inbox.unvalidated;

	(void)state;
	wire_latency(wire, WIRE_UDP, 20 * MS, 20 * MS);
	wire_introduce(c, b, WIRE_ANY);
	assert_int_equal(wire_send(c, b, 66, body, LONG), TAPI_OK);
	wire_run(wire, S);
	assert_int_equal(b->inbox.messages, before + 1);
	assert_memory_equal(b->inbox.last, body, LONG);
	assert_int_equal(wire_send(c, b, 66, body, LONG), TAPI_OK);
	wire_run(wire, S);
	assert_int_equal(b->inbox.messages, before + 2);
	assert_in_range(
		b->inbox.unvalidated - strange, 0, 1); // the second one is known to be its own
}

// A reload may leave less memory than is in use: what is beyond goes at once.
static void less_memory_for_what_waits(void **state)
{
	struct wire_node_options options = {
		.transports = "\"vudp\"", .core = "\"queue_msgs\": 1000, \"queue_bytes\": 1000000"};
	struct tapi_error error;

	(void)state;
	assert_int_equal(wire_node_reload(a, &options, &error), TAPI_OK);
	wire_block(wire, WIRE_ANY, a->ip, b->ip, true);
	wire_no_room(a, WIRE_UDP, true);
	for (unsigned i = 0; i < 100; i++)
		assert_int_equal(wire_send(a, b, 66, body, 1000), TAPI_OK);
	assert_in_range(of(a, "queues", "bytes"), 100 * 1000, 100 * 1200);
	options.core = "\"queue_msgs\": 1000, \"queue_bytes\": 1000000, "
		       "\"queue_total_bytes\": 20000";
	assert_int_equal(wire_node_reload(a, &options, &error), TAPI_OK);
	assert_in_range(of(a, "queues", "bytes"), 17000, 20000);
	assert_int_equal(wire_send(a, b, 66, body, 10000), TAPI_DROPPED);
	assert_int_equal(of(a, "queues", "queued"),
		of(a, "queues", "taken") + of(a, "queues", "dropped_pool") + 18);

	wire_no_room(a, WIRE_UDP, false);
	wire_block(wire, WIRE_ANY, a->ip, b->ip, false);
	tap.spoil = 3;
	assert_int_equal(wire_send(b, a, 66, body, 1), TAPI_OK);
	assert_int_equal(wire_node_reload(b, &options, &error), TAPI_OK);
	wire_run(wire, S);
	assert_int_equal(wire_send(a, b, 66, body, LONG / 4), TAPI_OK);
	wire_run(wire, S);
	assert_in_range(of_fragments("bytes"), 10000, LONG);
	options.core = "\"fragment_total_bytes\": 1024";
	assert_int_equal(wire_node_reload(b, &options, &error), TAPI_OK);
	assert_int_equal(of_fragments("bytes"), 0);
	assert_int_equal(of_fragments("dropped_full"), 1);
}

// As a stream does whose socket took half of a frame: memory is full in the middle of a send.
static void fills_memory(void *context, enum wire_kind kind, uint32_t from_ip, uint32_t to_ip,
	uint8_t *message, uint32_t size)
{
	struct tapi_budget *budget = &a->core->budget;

	(void)context;
	(void)kind;
	(void)to_ip;
	if (from_ip != a->ip || size < 4 || tapi_get16(&message[2]) != TAPI_TYPE_FRAGMENT)
		return;
	tap.parts++;
	tapi_budget_hold(budget, budget->bytes_max, 0);
	tapi_budget_fit(budget);
	tapi_budget_hold(budget, 0, budget->bytes_max);
}

// Who gives way for it may be the message that is being sent.
static void memory_is_full_meanwhile(void **state)
{
	(void)state;
	wire_tap(wire, fills_memory, NULL);
	wire_send(a, b, 64, body, LONG);
	wire_run(wire, S);
	assert_true(tap.parts > 40);
	assert_int_equal(b->inbox.messages, 2);
	assert_int_equal(b->inbox.last_length, LONG);
	assert_memory_equal(b->inbox.last, body, LONG);
	assert_int_equal(a->core->queue_pool.bytes, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			a_lost_part_costs_memory_for_ten_seconds, setup, teardown),
		cmocka_unit_test_setup_teardown(
			what_others_send_in_its_name_stays_outside, setup, teardown),
		cmocka_unit_test_setup_teardown(
			a_stranger_may_send_a_long_message, setup, teardown),
		cmocka_unit_test_setup_teardown(less_memory_for_what_waits, setup, teardown),
		cmocka_unit_test_setup_teardown(memory_is_full_meanwhile, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
