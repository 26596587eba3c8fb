// SPDX-License-Identifier: BSD-3-Clause
// Files that are not looked at, as there is no room or no engine, or as their flow is evicted: what
// the rule says of them is done, and told once.
#include "lib/pipeline/scan_gate.h"
#include "pipeline/flow/table.h"

#define AUDITS "'unscanned':{'busy':'audit','no_engine':'audit'}"

// The content of the one flow that has any.
static struct flow_content *content_at(const struct gate *gate)
{
	struct content *content = lcore_of(gate)->content;

	for (uint32_t i = 1; i <= content->n_touched; i++)
		if (content->flows[i].decoder)
			return &content->flows[i];
	fail_msg("no flow is decoded");
	return NULL;
}

// The alerts of a rule, all of which are to have this reason.
static unsigned alerts(struct gate *gate, const char *reason)
{
	unsigned n = 0;
	json_t *alert;

	for (; (alert = gate_event(gate, "alert")); n++) {
		const json_t *scan = json_object_get(alert, "scan");

		assert_non_null(scan);
		assert_string_equal(json_string_value(json_object_get(scan, "reason")), reason);
		json_decref(alert);
	}
	return n;
}

// A flow has no room for another file: its rule says what becomes of that, as of any `busy`.
static void no_room_for_a_file(void **state)
{
	(void)state;
	for (unsigned audits = 0; audits < 2; audits++) {
		struct gate *gate = world(audits ? SCANS(AUDITS) : SCANS(""));
		struct gate_tcp tcp;
		struct left left = {0};

		assert_true(asks(gate, &tcp, 42000, "a.txt"));
		content_at(gate)->n_files = CONTENT_OPEN_MAX;
		says(gate, &tcp, HEAD(8) "harmless", &left);
		content_at(gate)->n_files = 0;
		passes(gate, 0.1, &left);
		assert_int_equal(has(&left, "harmless"), audits);
		assert_int_equal(!!left.resets, !audits);
		assert_int_equal(stats(gate).scan_files_full, 1);
		assert_int_equal(alerts(gate, "busy"), 1);
		gives_up(gate, &tcp);
		world_free(gate);
	}
}

static void one_alert_without_a_job(void **state)
{
	struct gate *gate = gate_with_places(8, SCANS("")); // no engine
	struct gate_tcp tcp;
	struct left left = {0};

	(void)state;
	assert_true(asks(gate, &tcp, 42000, "a.txt"));
	says(gate, &tcp, HEAD(8) "harmless", &left);
	assert_false(has(&left, "harmless"));
	assert_int_equal(alerts(gate, "no_engine"), 1);
	assert_int_equal(stats(gate).flows_condemned, 1);
	assert_int_equal(stats(gate).dropped_pkts[DROP_UNSCANNED], 1);
	assert_int_equal(stats(gate).dropped_pkts[DROP_RULE], 0);
	gate_free(gate);
}

// What is sent again would come of a flow whose beginning is not known, and pass.
static void evicted_while_its_file_waits(void **state)
{
	(void)state;
	for (unsigned audits = 0; audits < 2; audits++) {
		struct gate *gate = world(audits ? SCANS(AUDITS) : SCANS(""));
		struct lcore *lcore = lcore_of(gate);
		struct gate_tcp tcp;
		struct left left = {0};

		assert_true(asks(gate, &tcp, 42000, "a.txt"));
		says(gate, &tcp, HEAD(8) EVIL, &left);
		flow_end_entry(lcore, content_at(gate)->ref, FLOW_STEP_EVICT);
		passes(gate, 0.005, &left);
		assert_int_equal(left.resets >= 2, !audits);
		assert_int_equal(left.length, 0);
		assert_int_equal(stats(gate).scan_evicted, 1);
		assert_int_equal(alerts(gate, "busy"), 1);
		gives_up(gate, &tcp);
		world_free(gate);
	}
	// no file waits: nobody is reset
	struct gate *gate = world(SCANS(""));
	struct gate_tcp tcp;
	struct left left = {0};

	assert_true(asks(gate, &tcp, 42000, "a.txt"));
	says(gate, &tcp, HEAD(8) "harmless", &left);
	passes(gate, 1, &left);
	assert_true(has(&left, "harmless"));
	flow_end_entry(lcore_of(gate), content_at(gate)->ref, FLOW_STEP_EVICT);
	passes(gate, 0.005, &left);
	assert_int_equal(left.resets, 0);
	assert_int_equal(stats(gate).scan_evicted, 0);
	world_free(gate);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_room_for_a_file),
		cmocka_unit_test(one_alert_without_a_job),
		cmocka_unit_test(evicted_while_its_file_waits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
