// SPDX-License-Identifier: BSD-3-Clause
// What is reported entries of the connection cache that the operator makes: the journal is written
// from it, so that an entry comes back after a restart as it was.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>
#include "lib/pipeline/explained.h"

static struct event told[4];
static unsigned n_told;

static void hear(void *ctx, const struct event *event)
{
	(void)ctx;
	if (event->type == EVENT_CONNCACHE && n_told < RTE_DIM(told))
		told[n_told++] = *event;
}

static void expect_told(const struct event *event, const struct conn_entry *entry)
{
	assert_int_equal(event->reason, CONNCACHE_ADD);
	assert_memory_equal(event->ends.address[HALF_C2S], entry->key.initiator, 16);
	assert_memory_equal(event->ends.address[HALF_S2C], entry->key.responder, 16);
	assert_int_equal(event->ends.port[HALF_S2C], entry->key.port);
	assert_int_equal(event->l4_proto, entry->key.l4_proto);
	assert_int_equal(event->conncache.cache_mode, entry->key.mode);
	assert_int_equal(event->conncache.from_inside, entry->key.from_inside);
	assert_int_equal(event->conncache.realm, entry->key.realm);
	assert_int_equal(event->conncache.created_ns, entry->created_ns);
	assert_int_equal(event->conncache.expires_ns, entry->expires_ns);
	assert_int_equal(event->conncache.by_hand, !!(entry->flags & CONN_ENTRY_OPERATOR));
	assert_int_equal(event->conncache.fixed, !!(entry->flags & CONN_ENTRY_FIXED));
	assert_int_equal(event->app, entry->app);
	assert_int_equal(event->confidence, entry->confidence);
	assert_int_equal(event->rule_uid, entry->rule_uid);
}

static void what_is_told_of_an_entry_is_what_lcores_have(void **state)
{
	static const char *const added[] = {
		"'src_ip':'10.0.0.1','dest_ip':'10.0.0.2','dest_port':80,'ttl_s':100",
		"'src_ip':'10.0.0.4','dest_ip':'10.0.0.2','app':'bittorrent'",
		("'src_ip':'fd00::1','dest_ip':'fd00::2','dest_port':53,'proto':'UDP','rule':'r',"
		 "'zone':'outside','vlan':7"),
	};
	struct gate *gate =
		gate_new(1, "'rules':[{'id':'r','match':{'source':['10.0.0.1']},'action':'drop'}]");
	struct conn_entry entries[4];
	uint32_t cursor = 0;
	(void)state;

	n_told = 0;
	assert_int_equal(sink_listen(gate->context.sink, hear, NULL), 0);
	for (unsigned i = 0; i < RTE_DIM(added); i++)
		json_decref(gate_ok(gate, "cache-add", added[i]));
	assert_int_equal(n_told, RTE_DIM(added));
	assert_int_equal(conn_cache_read(gate->pipe->dp.lcores[0]->conn_cache, &cursor, entries,
				 RTE_DIM(entries)),
		RTE_DIM(added));
	for (unsigned i = 0; i < n_told; i++) {
		const struct conn_entry *entry = NULL;

		for (unsigned at = 0; at < n_told; at++)
			if (!memcmp(entries[at].key.initiator, told[i].ends.address[HALF_C2S], 16))
				entry = &entries[at];
		assert_non_null(entry);
		expect_told(&told[i], entry);
	}
	assert_true(told[0].conncache.fixed);
	assert_false(told[1].conncache.fixed);
	gate_free(gate);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_told_of_an_entry_is_what_lcores_have),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
