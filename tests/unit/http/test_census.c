// SPDX-License-Identifier: BSD-3-Clause
// Hosts and users of the page: what is summed, what is kept when there are more than places, and
// that live flows are asked for only while somebody looks.
#include "lib/control/control_world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "control/http/census.h"
#include "lib/control/fake_control.h"
#include "control/ctl/flow_group.h"
#include "control/http/site.h"
#include "pipeline/vocab/tick.h"

#define ROWS  64
#define SHOWN 25 // of each order

struct stand {
	struct world world;
	struct inquiries *inquiries;
	struct census census;
};

static void stand_new(struct stand *stand)
{
	world_new(&stand->world);
	assert_int_equal(inquiries_new(stand->world.context.base, stand->world.context.dp, now_ns,
				 &stand->inquiries),
		0);
	memset(&stand->census, 0, sizeof stand->census);
	assert_int_equal(
		census_start(&stand->census, &stand->world.context, stand->inquiries, ROWS), 0);
}

static void stand_free(struct stand *stand)
{
	census_stop(&stand->census);
	inquiries_free(stand->inquiries);
	world_free(&stand->world);
}

static struct group_by_key host_key(const char *text)
{
	struct flow_ends ends = fake_ends(text, 1, "192.0.2.1", 1);
	struct group_by_key key;

	memcpy(key.bytes, ends.address[0], sizeof key.bytes);
	return key;
}

static const struct census_row *host(struct stand *stand, const char *text)
{
	struct group_by_key key = host_key(text);

	return census_find(&stand->census.hosts, &stand->census, &key);
}

static struct flow_record record(const char *inside, uint16_t app, uint64_t bytes)
{
	static uint64_t ids;

	return (struct flow_record){.flow_id = ++ids,
		.ends = fake_ends(inside, 4000, "192.0.2.7", 443),
		.flags = FLOW_C2S_INSIDE,
		.app = app,
		.l4_proto = 6,
		.lru_class = FLOW_CLASS_TCP,
		.heard = EVENT_OF_BOTH,
		.pkts = {1, 1},
		.bytes = {bytes, 10 * bytes},
		.rate_bytes_s = bytes};
}

static struct event event(enum event_type type, const char *inside, uint16_t app)
{
	return (struct event){.now_ns = now_ns(),
		.type = (uint8_t)type,
		.in_port = 0, // lan
		.app = app,
		.action = type == EVENT_ALERT ? ACTION_RESET : ACTION_PASS,
		.rule_uid = 1,
		.flow_id = 77,
		.l4_proto = 6,
		.ends = fake_ends(inside, 4000, "192.0.2.7", 6881)};
}

static void groups_are_no_hosts(void **state)
{
	static const char *const groups[] = {
		"224.0.0.251", "239.1.2.3", "255.255.255.255", "ff02::16"};
	static const char *const hosts[] = {"223.255.255.255", "fe80::1"};
	struct stand stand;

	(void)state;
	stand_new(&stand);
	for (unsigned i = 0; i < 4; i++) {
		struct event ended = event(EVENT_FLOW, groups[i], 2);
		struct flow_record live = record(groups[i], 2, 100);

		census_see(&stand.census, &ended);
		census_add(&stand.census, &live);
		assert_null(host(&stand, groups[i]));
	}
	for (unsigned i = 0; i < 2; i++) {
		struct flow_record live = record(hosts[i], 2, 100);

		census_add(&stand.census, &live);
		assert_non_null(host(&stand, hosts[i]));
	}
	stand_free(&stand);
}

static void what_lives_and_what_has_ended_is_summed(void **state)
{
	struct stand stand;
	struct flow_record live = record("10.0.0.7", 2, 100), inbound = record("10.0.0.7", 1, 5);
	struct event ended = event(EVENT_FLOW, "10.0.0.7", 2);
	struct group_by_key anna = flow_group_number_key(2);
	struct census_use use;

	(void)state;
	stand_new(&stand);
	live.user_uid = ended.user_uid = 2;
	ended.flow.bytes[HALF_C2S] = 7;
	ended.flow.bytes[HALF_S2C] = 9000;
	inbound.ends = fake_ends("192.0.2.9", 4000, "10.0.0.7", 22);
	inbound.flags = 0;
	census_begin(&stand.census);
	census_add(&stand.census, &live);
	census_add(&stand.census, &inbound);
	// nothing of a count is shown before its end
	assert_int_equal(census_row_use(host(&stand, "10.0.0.7")).flows, 0);
	census_publish(&stand.census);
	use = census_row_use(host(&stand, "10.0.0.7"));
	assert_int_equal(use.flows, 2);
	assert_int_equal(use.bytes[0], 100 + 50); // from the host, whoever began
	assert_int_equal(use.bytes[1], 1000 + 5);
	assert_int_equal(use.rate_bytes_s, 105);
	assert_null(host(&stand, "192.0.2.9"));
	// What ends is counted when its flow no longer lives.
	census_see(&stand.census, &ended);
	assert_int_equal(census_row_use(host(&stand, "10.0.0.7")).flows, 2);
	census_begin(&stand.census);
	census_publish(&stand.census);
	use = census_row_use(host(&stand, "10.0.0.7"));
	assert_int_equal(use.flows, 1);
	assert_int_equal(use.bytes[0], 7);
	assert_int_equal(use.bytes[1], 9000);
	assert_int_equal(census_row_live(host(&stand, "10.0.0.7")).flows, 0);
	const struct census_row *user = census_find(&stand.census.users, &stand.census, &anna);

	assert_non_null(user);
	assert_int_equal(census_row_use(user).bytes[1], 9000);
	assert_int_equal(stand.census.users.n, 1); // nobody's flows make no user
	stand_free(&stand);
}

// A flow that ends while a count runs is counted once, whether the count has met it or not.
static void what_ends_during_a_count_is_counted_once(void **state)
{
	struct stand stand;
	struct flow_record met = record("10.0.0.7", 2, 100), late = record("10.0.0.7", 2, 100);
	struct event met_end = event(EVENT_FLOW, "10.0.0.7", 2), late_end = met_end;
	struct census_use use;

	(void)state;
	stand_new(&stand);
	met_end.flow.bytes[0] = late_end.flow.bytes[0] = 100;
	met_end.flow.bytes[1] = late_end.flow.bytes[1] = 1000;
	census_begin(&stand.census);
	census_add(&stand.census, &met);
	census_add(&stand.census, &late);
	census_publish(&stand.census);
	// In the next count one ends behind it, the other before it comes there.
	census_begin(&stand.census);
	census_add(&stand.census, &met);
	census_see(&stand.census, &met_end);
	census_see(&stand.census, &late_end);
	census_publish(&stand.census);
	use = census_row_use(host(&stand, "10.0.0.7"));
	assert_int_equal(use.flows, 2);
	assert_int_equal(use.bytes[0], 200);
	assert_int_equal(use.bytes[1], 2000);
	assert_int_equal(census_row_live(host(&stand, "10.0.0.7")).flows, 1);
	for (unsigned i = 0; i < 2; i++) {
		census_begin(&stand.census);
		census_publish(&stand.census);
		use = census_row_use(host(&stand, "10.0.0.7"));
		assert_int_equal(use.flows, 2);
		assert_int_equal(use.bytes[1], 2000);
		assert_int_equal(census_row_live(host(&stand, "10.0.0.7")).flows, 0);
	}
	// One that begins and ends within a count that has met it.
	census_begin(&stand.census);
	census_add(&stand.census, &met);
	census_see(&stand.census, &met_end);
	census_publish(&stand.census);
	assert_int_equal(census_row_use(host(&stand, "10.0.0.7")).flows, 3);
	census_begin(&stand.census);
	census_publish(&stand.census);
	assert_int_equal(census_row_use(host(&stand, "10.0.0.7")).flows, 3);
	stand_free(&stand);
}

static void what_was_blocked_is_kept_by_peer(void **state)
{
	struct stand stand;
	struct event reset = event(EVENT_ALERT, "10.0.0.7", 1), other = reset, would = reset,
		     passes = reset, from_outside = reset;
	const struct census_row *row;

	(void)state;
	stand_new(&stand);
	other.ends = fake_ends("10.0.0.7", 4000, "192.0.2.8", 6881);
	would.mode = MODE_MONITOR;
	passes.action = ACTION_PASS;
	from_outside.ends = fake_ends("192.0.2.99", 4000, "10.0.0.7", 6881);
	from_outside.in_port = 1; // wan
	for (unsigned i = 0; i < 3; i++)
		census_see(&stand.census, &reset);
	census_see(&stand.census, &other);
	census_see(&stand.census, &would);
	census_see(&stand.census, &passes);
	census_see(&stand.census, &from_outside);
	row = host(&stand, "10.0.0.7");
	assert_int_equal(row->blocked, 5);
	assert_int_equal(row->monitored, 1);
	assert_int_equal(row->apps[0].blocked, 5);
	assert_int_equal(row->blocks[0].count, 3);
	assert_int_equal(row->blocks[0].rule_uid, 1);
	assert_int_equal(row->blocks[1].count, 1);
	assert_true(row->blocks[2].monitor);
	assert_false(row->blocks[3].outbound);
	assert_int_equal(row->blocks[4].count, 0);
	for (unsigned i = 0; i < 20; i++) { // the latest stay
		reset.now_ns += NS_PER_S;
		reset.ends.port[HALF_S2C] = (uint16_t)(7000 + i);
		census_see(&stand.census, &reset);
	}
	for (unsigned i = 0; i < CENSUS_BLOCKS; i++)
		assert_in_range(row->blocks[i].port, 7000 + 20 - CENSUS_BLOCKS, 7019);
	for (unsigned i = 0; i < 20; i++) { // before what would only have been blocked
		would.now_ns = reset.now_ns + i * NS_PER_S;
		would.ends.port[HALF_S2C] = (uint16_t)(8000 + i);
		census_see(&stand.census, &would);
	}
	for (unsigned i = 0; i < CENSUS_BLOCKS; i++)
		assert_false(row->blocks[i].monitor);
	would.ends = fake_ends("10.0.0.8", 4000, "192.0.2.7", 6881);
	for (unsigned i = 0; i < 20; i++) {
		would.ends.port[HALF_S2C] = (uint16_t)(8000 + i);
		would.now_ns += NS_PER_S;
		census_see(&stand.census, &would);
	}
	row = host(&stand, "10.0.0.8");
	for (unsigned i = 0; i < CENSUS_BLOCKS; i++)
		assert_in_range(row->blocks[i].port, 8000 + 20 - CENSUS_BLOCKS, 8019);
	reset.ends = fake_ends("10.0.0.8", 4000, "192.0.2.7", 7000);
	reset.now_ns = now_ns(); // also when it is older
	census_see(&stand.census, &reset);
	unsigned kept = 0;

	for (unsigned i = 0; i < CENSUS_BLOCKS; i++)
		kept += !row->blocks[i].monitor;
	assert_int_equal(kept, 1);
	stand_free(&stand);
}

// Of those who have passed nothing as many are shown as of any order: the most blocked.
static void the_most_blocked_are_shown(void **state)
{
	struct stand stand;
	struct text text = {0};
	(void)state;

	stand_new(&stand);
	const struct http_site site = {.context = &stand.world.context, .census = &stand.census};

	for (unsigned i = 1; i <= ROWS; i++) {
		char inside[16];

		snprintf(inside, sizeof inside, "10.0.0.%u", i);
		struct event blocked = event(EVENT_ALERT, inside, 1);

		for (unsigned k = 0; k < i; k++)
			census_see(&stand.census, &blocked);
	}
	assert_int_equal(api_hosts(&site, &text), 0);
	json_t *root = json_loadb(text.bytes, text.length, 0, NULL), *row;
	json_t *rows = json_object_get(root, "hosts");
	size_t at;

	assert_int_equal(json_array_size(rows), SHOWN);
	json_array_foreach (rows, at, row) {
		const json_t *block = json_array_get(json_object_get(row, "blocks"), 0);

		assert_true(number(row, "blocked") > ROWS - SHOWN);
		assert_string_equal(json_string_value(json_object_get(block, "proto")), "TCP");
	}
	json_decref(root);
	text_free(&text);
	stand_free(&stand);
}

static void many_applications_are_summed_as_others(void **state)
{
	struct stand stand;
	uint64_t bytes = 0;

	(void)state;
	stand_new(&stand);
	for (uint16_t round = 0; round < 2; round++) {
		census_begin(&stand.census);
		for (uint16_t app = 1; app <= 40; app++) {
			struct flow_record live = record("10.0.0.7", app, app);
			struct event ended = event(EVENT_FLOW, "10.0.0.7", app);

			ended.flow.bytes[0] = app;
			bytes += app;
			census_see(&stand.census, &ended);
			if (round)
				census_add(&stand.census, &live);
		}
		census_publish(&stand.census);
	}
	census_begin(&stand.census);
	for (uint16_t app = 1; app <= 40; app++) {
		struct flow_record live = record("10.0.0.7", app, app);

		census_add(&stand.census, &live);
	}
	census_publish(&stand.census);
	const struct census_row *row = host(&stand, "10.0.0.7");

	assert_int_equal(row->n_apps, CENSUS_APPS);
	assert_int_equal(row->apps[CENSUS_APPS - 1].app, UINT16_MAX);
	assert_int_equal(census_row_use(row).bytes[0], bytes + 40 * 41 / 2);
	assert_int_equal(census_row_use(row).flows, 80 + 40);
	for (unsigned i = 0; i < CENSUS_FLOWS; i++) // the fastest
		assert_in_range(row->flows[i].rate_bytes_s, 41 - CENSUS_FLOWS, 40);
	stand_free(&stand);
}

static void address(char out[16], unsigned i)
{
	snprintf(out, 16, "10.%u.%u.%u", 1 + i / 62500, i / 250 % 250, 1 + i % 250);
}

// What one end alone has sent takes no more than half, and nobody's place.
static void forged_hosts_take_nobodys_place(void **state)
{
	struct stand stand;
	char text[16];

	(void)state;
	stand_new(&stand);
	for (unsigned i = 0; i < 10000; i++) {
		struct event forged;

		address(text, i);
		forged = event(i % 2 ? EVENT_ALERT : EVENT_FLOW, text, 1);
		forged.heard = EVENT_UNHEARD;
		census_see(&stand.census, &forged);
		struct flow_record alone = record(text, 1, 1000);

		alone.heard = EVENT_UNHEARD; // a SYN, and the SYN-ACK of whom it was sent to
		census_add(&stand.census, &alone);
	}
	assert_int_equal(stand.census.hosts.n, ROWS / 2);
	assert_int_equal(stand.census.hosts.evicted, 0);
	assert_int_equal(stand.census.hosts.unheard, 2 * (10000 - ROWS / 2));
	stand_free(&stand);
}

// The large one and the blocked one stay, whoever comes, and everybody can still be found.
static void the_large_stay(void **state)
{
	struct stand stand;
	struct event blocked = event(EVENT_ALERT, "10.200.0.2", 1),
		     large = event(EVENT_FLOW, "10.200.0.1", 2);
	char text[16];

	(void)state;
	stand_new(&stand);
	large.flow.bytes[1] = 1000000000;
	census_see(&stand.census, &large);
	for (unsigned i = 0; i < 50; i++)
		census_see(&stand.census, &blocked);
	for (unsigned i = 0; i < 5000; i++) {
		struct event small;

		address(text, i);
		small = event(EVENT_FLOW, text, 2);
		small.flow.bytes[0] = 100 + i % 7;
		census_see(&stand.census, &small);
		assert_non_null(host(&stand, text));
	}
	assert_int_equal(stand.census.hosts.n, ROWS);
	assert_int_equal(stand.census.hosts.evicted, 5000 + 2 - ROWS);
	assert_non_null(host(&stand, "10.200.0.1"));
	assert_non_null(host(&stand, "10.200.0.2"));
	for (uint32_t i = 0; i < ROWS; i++)
		assert_ptr_equal(census_find(&stand.census.hosts, &stand.census,
					 &stand.census.hosts.rows[i].key),
			&stand.census.hosts.rows[i]);
	// A day later they are nobody any more.
	clock_offset_ns += 25 * 3600 * NS_PER_S;
	for (unsigned i = 5000; i < 5000 + 4 * ROWS; i++) {
		address(text, i);
		struct event small = event(EVENT_FLOW, text, 2);

		small.flow.bytes[0] = 100;
		census_see(&stand.census, &small);
	}
	assert_null(host(&stand, "10.200.0.1"));
	clock_offset_ns = 0;
	stand_free(&stand);
}

static void turns(struct stand *stand, unsigned ms)
{
	for (uint64_t end = now_ns() + ms * NS_PER_MS; now_ns() < end;)
		turn(&stand->world);
}

// No count without somebody who looks; one who looks gets them, and not more often than due.
static void counts_only_while_somebody_looks(void **state)
{
	struct stand stand;
	uint64_t first;

	(void)state;
	stand_new(&stand);
	turns(&stand, 100);
	assert_int_equal(stand.census.counted_ns, 0);
	census_want(&stand.census);
	for (unsigned i = 0; i < 5000 && !stand.census.counted_ns; i++)
		turns(&stand, 1);
	first = stand.census.counted_ns;
	assert_int_not_equal(first, 0);
	assert_int_equal(stand.census.hosts.n, 1); // of the fake lcores
	assert_int_equal(census_row_live(&stand.census.hosts.rows[0]).flows, 2 * FLOWS);
	for (unsigned i = 0; i < 50; i++) { // a crowd that looks
		census_want(&stand.census);
		turns(&stand, 10);
	}
	if (stand.census.counted_ns != first) // on a machine where 500 turns take as long as that
		assert_true(stand.census.counted_ns - first >= (CENSUS_EVERY_MS - 100) * NS_PER_MS);
	for (unsigned i = 0; i < 5000 && stand.census.counted_ns == first; i++)
		turns(&stand, 1);
	assert_in_range(stand.census.counted_ns - first, (CENSUS_EVERY_MS - 100) * NS_PER_MS,
		60 * NS_PER_S);
	assert_int_equal(census_row_live(&stand.census.hosts.rows[0]).flows, 2 * FLOWS);
	first = stand.census.counted_ns;
	clock_offset_ns += (CENSUS_WANTED_S + 1) * NS_PER_S; // nobody has looked since
	turns(&stand, CENSUS_EVERY_MS + 500);
	assert_int_equal(stand.census.counted_ns, first);
	clock_offset_ns = 0;
	stand_free(&stand);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(groups_are_no_hosts),
		cmocka_unit_test(what_lives_and_what_has_ended_is_summed),
		cmocka_unit_test(what_ends_during_a_count_is_counted_once),
		cmocka_unit_test(what_was_blocked_is_kept_by_peer),
		cmocka_unit_test(the_most_blocked_are_shown),
		cmocka_unit_test(many_applications_are_summed_as_others),
		cmocka_unit_test(forged_hosts_take_nobodys_place),
		cmocka_unit_test(the_large_stay),
		cmocka_unit_test(counts_only_while_somebody_looks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
