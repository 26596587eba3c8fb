// SPDX-License-Identifier: BSD-3-Clause
// reload_configuration (TA17): what is still allowed lives on, what is wrong changes nothing.
#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "rows.h"

static const char *denies(unsigned node)
{
	static char acl[64];

	snprintf(acl, sizeof(acl), "\"deny\": [\"%s%u/%s\"]", row->family, node + 1,
		strchr(row->family, ':') ? "128" : "32");
	return acl;
}

static void same_again(void **state)
{
	struct row_pair pair;

	(void)state;
	row_pair_begin(&pair);
	assert_int_equal(rig_send(pair.out, 1, 100), TAPI_OK);
	for (unsigned i = 0; i < 5; i++) {
		assert_int_equal(rig_reload(pair.a, row_conf(0, NULL)), TAPI_OK);
		assert_int_equal(rig_reload(pair.b, row_conf(1, NULL)), TAPI_OK);
		rig_pump(&pair.rig, 2);
		assert_int_equal(rig_send(pair.out, 10 + i, 100), TAPI_OK);
	}
	if (!row_has(ROW_SILENT))
		assert_true(rig_until_arrivals(pair.a, 6));
	assert_int_equal(pair.a->n_downs + pair.b->n_downs, 0);
	row_pair_end(&pair);
}

// Two sessions, one of which is denied: that one ends, and not inside the reload.
static void denied_ones_end(void **state)
{
	struct row_pair pair;
	struct rig_node *c;
	struct rig_session *to_c;
	struct tapi_helo helo_a, helo_c;

	(void)state;
	if (!row_has(ROW_ACL))
		skip();
	row_pair_begin(&pair);
	c = row_node(&pair.rig, 2, NULL);
	helo_a = rig_helo(pair.a, 0);
	helo_c = rig_helo(c, 0);
	assert_int_equal(rig_connect(pair.b, &helo_c, &to_c), TAPI_OK);
	assert_int_equal(rig_send(pair.out, 1, 100), TAPI_OK);
	assert_int_equal(rig_send(to_c, 1, 100), TAPI_OK);
	assert_true(rig_until_arrivals(pair.a, 1));
	assert_true(rig_until_arrivals(c, 1));
	assert_int_equal(
		rig_reload(pair.b, row_conf(1, &(struct row_wish){.acl = denies(0)})), TAPI_OK);
	// At once nothing goes there any more, though its end is reported later.
	if (pair.out->session)
		assert_int_equal(rig_send(pair.out, 2, 100), TAPI_EDOWN);
	assert_true(rig_until_down(pair.out));
	assert_int_equal(pair.out->why, TAPI_DOWN_DENIED);
	assert_false(to_c->down);
	assert_int_equal(rig_send(to_c, 3, 100), TAPI_OK);
	assert_true(rig_until_arrivals(c, 2));
	assert_int_equal(rig_connect(pair.b, &helo_a, &pair.out), TAPI_EACL);
	assert_int_equal(pair.b->api->verify_helo(pair.b->api, &helo_a), TAPI_EACL);
	// Allowed again.
	assert_int_equal(rig_reload(pair.b, row_conf(1, NULL)), TAPI_OK);
	assert_int_equal(rig_connect(pair.b, &helo_a, &pair.out), TAPI_OK);
	assert_int_equal(rig_send(pair.out, 4, 100), TAPI_OK);
	assert_true(rig_until_arrivals(pair.a, 2));
	row_pair_end(&pair);
}

static void denied_inbound_ends(void **state)
{
	struct row_pair pair;
	struct rig_session *in;
	struct tapi_session_info info;
	char acl[96], address[64];

	(void)state;
	if (!row_has(ROW_ACL) || !row_is(TAPI_BIDIRECTIONAL))
		skip();
	row_pair_begin(&pair);
	in = row_pair_meet(&pair);
	assert_int_equal(rig_associate(in), TAPI_OK);
	rig_info(in, &info); // b may have called from any of its addresses
	assert_non_null(inet_ntop(info.source.family == 4 ? AF_INET : AF_INET6, info.source.address,
		address, sizeof(address)));
	snprintf(acl, sizeof(acl), "\"deny\": [\"%s/%u\"]", address,
		info.source.family == 4 ? 32 : 128);
	assert_int_equal(rig_reload(pair.a, row_conf(0, &(struct row_wish){.acl = acl})), TAPI_OK);
	assert_true(rig_until_down(in));
	assert_int_equal(in->why, TAPI_DOWN_DENIED);
	rig_send(pair.out, 2, 100);
	rig_pump(&pair.rig, 20);
	assert_null(rig_arrival(pair.a, 2));
	row_pair_end(&pair);
}

static void wrong_ones_change_nothing(void **state)
{
	static const char *const wrong[] = {"\"no_such_key\": 1", "\"max_sessions\": \"many\"",
		"\"max_sessions\": 0", "\"stale_s\": -1"};
	struct row_pair pair;

	(void)state;
	row_pair_begin(&pair);
	assert_int_equal(rig_send(pair.out, 1, 100), TAPI_OK);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct row_wish wish = {.extra = wrong[i],
			// Not taken over either: all or nothing.
			.acl = row_has(ROW_ACL) ? denies(0) : NULL};

		pair.rig.log[0] = 0;
		assert_int_equal(rig_reload(pair.b, row_conf(1, &wish)), TAPI_ECONF);
		assert_true(pair.rig.log[0] != 0);
		rig_pump(&pair.rig, 2);
		assert_false(pair.out->down);
		assert_int_equal(rig_send(pair.out, 2 + (uint32_t)i, 100), TAPI_OK);
	}
	if (!row_has(ROW_SILENT))
		assert_true(rig_until_arrivals(pair.a, 5));
	row_pair_end(&pair);
}

// A limit that is lowered holds from then on.
static void limits_follow(void **state)
{
	struct row_pair pair;
	struct rig_session *second;
	struct tapi_helo helo;

	(void)state;
	row_pair_begin(&pair);
	helo = row_helo(pair.b, pair.a);
	assert_int_equal(
		rig_reload(pair.b, row_conf(1, &(struct row_wish){.extra = "\"max_sessions\": 1"})),
		TAPI_OK);
	assert_int_equal(rig_connect(pair.b, &helo, &second), TAPI_ELIMIT);
	assert_int_equal(rig_reload(pair.b, row_conf(1, NULL)), TAPI_OK);
	assert_int_equal(rig_connect(pair.b, &helo, &second), TAPI_OK);
	row_pair_end(&pair);
}

// The core looks at the cost anew with each choice; what wraps another follows it.
static void cost_follows(void **state)
{
	struct row_pair pair;

	(void)state;
	row_pair_begin(&pair);
	assert_int_equal(
		rig_reload(pair.b, row_conf(1, &(struct row_wish){.extra = "\"cost\": 777"})),
		TAPI_OK);
	assert_int_equal(pair.b->api->cost, 777);
	assert_int_equal(rig_reload(pair.b, row_conf(1, NULL)), TAPI_OK);
	assert_int_equal(pair.b->api->cost, row->cost);
	row_pair_end(&pair);
}

int cases_reload(void)
{
	const struct CMUnitTest tests[] = {
		CASE(same_again),
		CASE(denied_ones_end),
		CASE(denied_inbound_ends),
		CASE(wrong_ones_change_nothing),
		CASE(limits_follow),
		CASE(cost_follows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
