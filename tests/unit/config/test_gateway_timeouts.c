// SPDX-License-Identifier: BSD-3-Clause
// The time-outs that gateway.json falls back to are those of the flow table.
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>
#include "pipeline/flow/flow.h"
#include "config/gateway.h"

static void test_defaults(void **state)
{
	const uint64_t *normal = flow_timeouts_default.normal_ns;
	struct gateway *gateway = calloc(1, sizeof *gateway);

	(void)state;
	assert_non_null(gateway);
	assert_int_equal(gateway_defaults(gateway), 0);
	assert_int_equal(gateway->limits.embryonic_s * NS_PER_S, normal[FLOW_CLASS_EMBRYONIC]);
	assert_int_equal(gateway->limits.stateless_s * NS_PER_S, normal[FLOW_CLASS_STATELESS]);
	assert_int_equal(gateway->limits.condemned_s * NS_PER_S, normal[FLOW_CLASS_BLOCKED]);
	assert_int_equal(gateway->limits.tcp_s * NS_PER_S, normal[FLOW_CLASS_TCP]);
	assert_int_equal(gateway->limits.tcp_unheard_s * NS_PER_S, normal[FLOW_CLASS_TCP_UNHEARD]);
	assert_int_equal(gateway->limits.tcp_closing_s * NS_PER_S, normal[FLOW_CLASS_TCP_CLOSING]);
	assert_int_equal(gateway->limits.udp_one_way_s * NS_PER_S, normal[FLOW_CLASS_UDP_ONE_WAY]);
	assert_int_equal(gateway->limits.udp_s * NS_PER_S, normal[FLOW_CLASS_UDP]);
	gateway_free(gateway);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_defaults)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
