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

// A file of 2 MiB of the flow. 0: there was no memory for all of it.
static uint32_t file_of(struct lcore *lcore, uint32_t ref)
{
	static uint8_t bytes[1 << 20];
	struct scan_result result;
	const struct scan_begin begin = {
		.rule = &lcore->policy->rules[0].content->scan, .ref = ref, .half = HALF_S2C};
	uint32_t number = scan_file_begin(lcore, &begin, &result);

	assert_true(number);
	for (uint64_t at = 0; at < 2 * sizeof(bytes); at += sizeof(bytes))
		if (!scan_file_add(lcore, number, at, bytes, sizeof(bytes), &result)) {
			assert_int_equal(result.reason, SCAN_REASON_BUSY);
			return 0;
		}
	return number;
}

// While three quarters of the arena are taken, one source has a quarter of it.
static void one_source_leaves_memory_to_others(void **state)
{
	struct gate *gate = world_of(SCANS(""), 64, 8, 32u << 20);
	struct lcore *lcore = lcore_of(gate);
	uint32_t ref[2] = {0}, number[16], n = 0;
	struct gate_tcp tcp[2];

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		tcp[i] = gate_connect(gate, i + 1, 42000, 80);
		gate_send(gate, &tcp[i], false, "GET / HTTP/1.1\r\n\r\n", 18);
		ref[i] = lcore->content->flows[i + 1].ref;
	}
	assert_true(ref[0] != ref[1]);
	while ((number[n] = file_of(lcore, ref[0])))
		assert_true(++n < 16);
	assert_in_range(n, 4, 7); // of a file as much again may not be filled
	for (unsigned i = 0; i < 2; i++)
		assert_true((number[n++] = file_of(lcore, ref[1])));
	assert_int_equal(file_of(lcore, ref[0]), 0);
	for (unsigned i = 0; i < n; i++)
		scan_file_drop(lcore, number[i]);
	for (unsigned i = 0; i < 2; i++)
		gives_up(gate, &tcp[i]);
	world_free(gate);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_room_for_a_file),
		cmocka_unit_test(one_alert_without_a_job),
		cmocka_unit_test(evicted_while_its_file_waits),
		cmocka_unit_test(one_source_leaves_memory_to_others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
