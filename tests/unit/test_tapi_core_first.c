// SPDX-License-Identifier: BSD-3-Clause
// Two cores: HELO, PING, PONG, messages both ways, and what travels together.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "tapi_wire.h"

#define S 1000000u

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
	assert_memory_equal(b->inbox.last, "hello", 5);
	assert_int_equal(a->inbox.reachable, 1);
	assert_int_equal(tapi_core_peer(a->core, &b->identity.id, &info), TAPI_OK);
	assert_int_equal(info.validated, 2);
	assert_string_equal(info.transport, "vudp");
	assert_string_equal(info.address, "vudp://10.0.0.2:2086");
	assert_non_null(strstr(info.reason, "cheapest of"));
	// The other way, over the session that came in, once it was validated itself.
	assert_int_equal(wire_send(b, a, 65, "answer", 6), TAPI_OK);
	wire_run(wire, 2 * S);
	assert_int_equal(a->inbox.messages, 1);
	assert_int_equal(a->inbox.last_type, 65);
	assert_memory_equal(a->inbox.last, "answer", 6);
	assert_int_equal(a->inbox.unvalidated, 0);
	wire_free(wire);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_two_cores),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
