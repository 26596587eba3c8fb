// SPDX-License-Identifier: BSD-3-Clause
// The messages between the gateway and the scanner: a sound one of each kind is taken, and every
// single byte of it that is another is either refused or means what it says.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "scan/wire.h"

#define ARENA (1u << 20)
#define ID    0x0102030405060708u

static struct scan_wire_request request(void)
{
	struct scan_wire_request request = {
		.bytes = SCAN_PAGE + 100,
		.flags = SCAN_WIRE_WHOLE,
		.n_extents = 2,
		.extents = {{3, SCAN_PAGE}, {9, 100}},
	};

	scan_wire_head_set(&request.head, SCAN_WIRE_REQUEST, ID);
	return request;
}

static struct scan_wire_verdict verdict(enum scan_value value)
{
	struct scan_wire_verdict verdict = {.scan_ns = 1000, .value = (uint8_t)value};

	scan_wire_head_set(&verdict.head, SCAN_WIRE_VERDICT, ID);
	if (value == SCAN_INFECTED)
		scan_wire_text(verdict.name, sizeof(verdict.name), "Test.Name-1");
	if (value == SCAN_UNSCANNED)
		verdict.reason = SCAN_REASON_ENCRYPTED;
	return verdict;
}

static struct scan_wire_control control(enum scan_wire_kind kind)
{
	struct scan_wire_control control = {.pid = 77, .signatures = 23};

	scan_wire_head_set(&control.head, kind, 5);
	return control;
}

static void sound_messages_are_taken(void **state)
{
	static const enum scan_value values[] = {
		SCAN_CLEAN, SCAN_UNSCANNED, SCAN_ERROR, SCAN_INFECTED};
	struct scan_wire_request asked = request();

	(void)state;
	assert_null(scan_wire_check_request(&asked, sizeof(asked), ARENA));
	for (unsigned i = 0; i < 4; i++) {
		struct scan_wire_verdict told = verdict(values[i]);

		assert_null(scan_wire_check_verdict(&told, sizeof(told), ID));
	}
	for (unsigned kind = SCAN_WIRE_BORN; kind < SCAN_WIRE_KINDS_MAX; kind++) {
		struct scan_wire_control said = control(kind);

		assert_int_equal(!scan_wire_check_control(&said, sizeof(said), true),
			kind == SCAN_WIRE_REPLACE);
		assert_int_equal(!scan_wire_check_control(&said, sizeof(said), false),
			kind != SCAN_WIRE_REPLACE);
	}
}

static void other_lengths_are_refused(void **state)
{
	uint8_t room[sizeof(struct scan_wire_request) + 1] = {0};
	struct scan_wire_request asked = request();

	(void)state;
	memcpy(room, &asked, sizeof(asked));
	for (size_t n = 0; n <= sizeof(room); n++) {
		assert_int_equal(!scan_wire_check_request(room, n, ARENA), n == sizeof(asked));
		assert_non_null(scan_wire_check_verdict(room, n, ID));
		assert_non_null(scan_wire_check_control(room, n, false));
	}
}

// Every byte of a request, with every other value: what is still taken is a request for other
// bytes of the arena, or under another number.
static void no_changed_byte_of_a_request_leads_out_of_the_arena(void **state)
{
	(void)state;
	for (size_t at = 0; at < sizeof(struct scan_wire_request); at++) {
		for (unsigned value = 0; value < 256; value++) {
			struct scan_wire_request asked = request(), same = asked;

			((uint8_t *)&asked)[at] = (uint8_t)value;
			if (scan_wire_check_request(&asked, sizeof(asked), ARENA))
				continue;
			uint64_t sum = 0;

			assert_true(asked.n_extents == 2 && asked.head.id);
			for (unsigned i = 0; i < asked.n_extents; i++) {
				sum += asked.extents[i].bytes;
				assert_true((uint64_t)asked.extents[i].page * SCAN_PAGE +
						    asked.extents[i].bytes <=
					    ARENA);
			}
			assert_int_equal(sum, same.bytes);
			asked.head.id = same.head.id;
			asked.flags = same.flags;
			asked.extents[0].page = same.extents[0].page;
			asked.extents[1].page = same.extents[1].page;
			assert_memory_equal(&asked, &same, sizeof(asked)); // nothing else changed
		}
	}
}

static void a_verdict_is_for_its_request_and_says_one_thing(void **state)
{
	struct scan_wire_verdict told = verdict(SCAN_INFECTED);

	(void)state;
	assert_non_null(scan_wire_check_verdict(&told, sizeof(told), ID + 1));
	told.head.id = 0;
	assert_non_null(scan_wire_check_verdict(&told, sizeof(told), 0)); // none is out
	told = verdict(SCAN_INFECTED);
	told.name[0] = 0; // no name, and bytes behind its end
	assert_non_null(scan_wire_check_verdict(&told, sizeof(told), ID));
	memset(told.name, 0, sizeof(told.name));
	assert_non_null(scan_wire_check_verdict(&told, sizeof(told), ID));
	memset(told.name, 'a', sizeof(told.name)); // no end
	assert_non_null(scan_wire_check_verdict(&told, sizeof(told), ID));
	told = verdict(SCAN_INFECTED);
	told.name[4] = '\n';
	assert_non_null(scan_wire_check_verdict(&told, sizeof(told), ID));
	told = verdict(SCAN_CLEAN);
	told.name[0] = 'x';
	assert_non_null(scan_wire_check_verdict(&told, sizeof(told), ID));
	told = verdict(SCAN_CLEAN);
	told.reason = SCAN_REASON_LIMIT;
	assert_non_null(scan_wire_check_verdict(&told, sizeof(told), ID));
	told = verdict(SCAN_UNSCANNED);
	told.reason = SCAN_REASON_NONE;
	assert_non_null(scan_wire_check_verdict(&told, sizeof(told), ID));
	told.reason = SCAN_REASONS_MAX;
	assert_non_null(scan_wire_check_verdict(&told, sizeof(told), ID));
	told = verdict(SCAN_TIMEOUT); // a child does not judge that of itself
	assert_non_null(scan_wire_check_verdict(&told, sizeof(told), ID));
	told.value = SCAN_VALUES_MAX;
	assert_non_null(scan_wire_check_verdict(&told, sizeof(told), ID));
}

static void control_messages_name_a_child_and_can_be_printed(void **state)
{
	struct scan_wire_control said = control(SCAN_WIRE_BORN);

	(void)state;
	said.pid = 1;
	assert_non_null(scan_wire_check_control(&said, sizeof(said), false));
	said.pid = -1; // kill(-1) would be everybody
	assert_non_null(scan_wire_check_control(&said, sizeof(said), false));
	said = control(SCAN_WIRE_GONE);
	said.head.id = 0;
	assert_non_null(scan_wire_check_control(&said, sizeof(said), false));
	said = control(SCAN_WIRE_FAILED);
	said.head.id = 0;
	scan_wire_text(said.text, sizeof(said.text), "no \x1b[31mdatabase\n");
	assert_string_equal(said.text, "no ?[31mdatabase?");
	assert_null(scan_wire_check_control(&said, sizeof(said), false));
	said.text[3] = '\x1b';
	assert_non_null(scan_wire_check_control(&said, sizeof(said), false));
	said = control(SCAN_WIRE_REQUEST);
	assert_non_null(scan_wire_check_control(&said, sizeof(said), false));
}

static void a_text_is_cut_where_its_room_ends(void **state)
{
	char out[8];

	(void)state;
	scan_wire_text(out, sizeof(out), "0123456789");
	assert_string_equal(out, "0123456");
	scan_wire_text(out, sizeof(out), "a");
	assert_memory_equal(out, "a\0\0\0\0\0\0\0", 8);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sound_messages_are_taken),
		cmocka_unit_test(other_lengths_are_refused),
		cmocka_unit_test(no_changed_byte_of_a_request_leads_out_of_the_arena),
		cmocka_unit_test(a_verdict_is_for_its_request_and_says_one_thing),
		cmocka_unit_test(control_messages_name_a_child_and_can_be_printed),
		cmocka_unit_test(a_text_is_cut_where_its_room_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
