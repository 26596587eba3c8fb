// SPDX-License-Identifier: BSD-3-Clause
// What libclamav's results and names are worth: nothing that was not looked at in whole is clean.
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <clamav.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>
#include "scan/program/verdict.h"
#include "scan/wire.h"

static const struct row {
	int result;
	const char *names[3]; // in the order in which the engine told them
	enum scan_value value;
	enum scan_reason reason;
	const char *name;
} rows[] = {
	{CL_CLEAN, {0}, SCAN_CLEAN, SCAN_REASON_NONE, ""},
	{CL_VIRUS, {"Eicar-Test"}, SCAN_INFECTED, SCAN_REASON_NONE, "Eicar-Test"},
	// A limit for which the engine has no word.
	{CL_VIRUS, {0}, SCAN_UNSCANNED, SCAN_REASON_LIMIT, ""},
	{CL_VIRUS, {""}, SCAN_UNSCANNED, SCAN_REASON_LIMIT, ""},
	{CL_VIRUS, {"Heuristics.Limits.Exceeded.MaxFileSize"}, SCAN_UNSCANNED, SCAN_REASON_TOO_BIG,
		""},
	{CL_VIRUS, {"Heuristics.Limits.Exceeded.MaxRecursion"}, SCAN_UNSCANNED,
		SCAN_REASON_TOO_DEEP, ""},
	{CL_VIRUS, {"Heuristics.Limits.Exceeded.MaxFiles"}, SCAN_UNSCANNED, SCAN_REASON_LIMIT, ""},
	{CL_VIRUS, {"Heuristics.Limits.Exceeded.MaxScanSize"}, SCAN_UNSCANNED, SCAN_REASON_LIMIT,
		""},
	{CL_VIRUS, {"Heuristics.Limits.Exceeded.MaxScanTime"}, SCAN_UNSCANNED, SCAN_REASON_LIMIT,
		""},
	{CL_VIRUS, {"Heuristics.Limits.Exceeded.EmailHeaders"}, SCAN_UNSCANNED, SCAN_REASON_LIMIT,
		""},
	{CL_VIRUS, {"Heuristics.Limits.Exceeded"}, SCAN_UNSCANNED, SCAN_REASON_LIMIT, ""},
	{CL_VIRUS, {"Heuristics.XZ.DicSizeLimit"}, SCAN_UNSCANNED, SCAN_REASON_LIMIT, ""},
	{CL_VIRUS, {"Heuristics.Encrypted.Zip"}, SCAN_UNSCANNED, SCAN_REASON_ENCRYPTED, ""},
	{CL_VIRUS, {"Heuristics.Encrypted.PDF"}, SCAN_UNSCANNED, SCAN_REASON_ENCRYPTED, ""},
	{CL_VIRUS, {"Heuristics.Broken.Executable"}, SCAN_UNSCANNED, SCAN_REASON_FORMAT, ""},
	// Heuristics that tell of something hostile.
	{CL_VIRUS, {"Heuristics.Phishing.Email.SpoofedDomain"}, SCAN_INFECTED, SCAN_REASON_NONE,
		"Heuristics.Phishing.Email.SpoofedDomain"},
	{CL_VIRUS, {"Heuristics.Zip.OverlappingFiles"}, SCAN_INFECTED, SCAN_REASON_NONE,
		"Heuristics.Zip.OverlappingFiles"},
	// Custom signatures that are named as if they were not.
	{CL_VIRUS, {"Heuristics.Encrypted.Zip.UNOFFICIAL"}, SCAN_INFECTED, SCAN_REASON_NONE,
		"Heuristics.Encrypted.Zip.UNOFFICIAL"},
	// A signature beats limits, before and after; the first is named.
	{CL_VIRUS, {"Heuristics.Limits.Exceeded.MaxFiles", "A", "B"}, SCAN_INFECTED,
		SCAN_REASON_NONE, "A"},
	{CL_CLEAN, {"A", "Heuristics.Encrypted.Zip"}, SCAN_INFECTED, SCAN_REASON_NONE, "A"},
	{CL_ETIMEOUT, {"A"}, SCAN_INFECTED, SCAN_REASON_NONE, "A"},
	// The engine told of a limit and then said clean.
	{CL_CLEAN, {"Heuristics.Limits.Exceeded.MaxFiles"}, SCAN_UNSCANNED, SCAN_REASON_LIMIT, ""},
	// Of several reasons the one that can be changed.
	{CL_VIRUS, {"Heuristics.Encrypted.Zip", "Heuristics.Limits.Exceeded.MaxRecursion"},
		SCAN_UNSCANNED, SCAN_REASON_TOO_DEEP, ""},
	{CL_VIRUS, {"Heuristics.Encrypted.Zip", "Heuristics.Broken.Executable"}, SCAN_UNSCANNED,
		SCAN_REASON_ENCRYPTED, ""},
	// Results that are not reported outside of libclamav, if they are.
	{CL_EMAXREC, {0}, SCAN_UNSCANNED, SCAN_REASON_TOO_DEEP, ""},
	{CL_EMAXSIZE, {0}, SCAN_UNSCANNED, SCAN_REASON_TOO_BIG, ""},
	{CL_EMAXFILES, {0}, SCAN_UNSCANNED, SCAN_REASON_LIMIT, ""},
	{CL_ETIMEOUT, {0}, SCAN_UNSCANNED, SCAN_REASON_LIMIT, ""},
	{CL_EFORMAT, {0}, SCAN_UNSCANNED, SCAN_REASON_FORMAT, ""},
	{CL_EPARSE, {0}, SCAN_UNSCANNED, SCAN_REASON_FORMAT, ""},
	{CL_EUNPACK, {0}, SCAN_UNSCANNED, SCAN_REASON_FORMAT, ""},
	{CL_EMEM, {0}, SCAN_ERROR, SCAN_REASON_NONE, ""},
	{CL_EMAP, {0}, SCAN_ERROR, SCAN_REASON_NONE, ""},
	{CL_EREAD, {0}, SCAN_ERROR, SCAN_REASON_NONE, ""},
	{CL_ETMPFILE, {0}, SCAN_ERROR, SCAN_REASON_NONE, ""},
	{CL_BREAK, {0}, SCAN_ERROR, SCAN_REASON_NONE, ""},
	{CL_ERROR, {0}, SCAN_ERROR, SCAN_REASON_NONE, ""},
};

static void a_row_gives_its_verdict(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct scan_facts facts = {0};
		struct scan_outcome out;

		for (unsigned n = 0; n < 3 && rows[i].names[n]; n++)
			scan_facts_name(&facts, rows[i].names[n]);
		scan_verdict_make(rows[i].result, &facts, &out);
		if (out.value != rows[i].value || out.reason != rows[i].reason ||
			strcmp(out.name, rows[i].name) != 0)
			fail_msg("row %zu: %s %s \"%s\"", i, scan_value_word(out.value),
				scan_reason_word(out.reason), out.name);
	}
}

static void only_success_is_clean(void **state)
{
	(void)state;
	for (int result = 1; result <= CL_ELAST_ERROR + 10; result++) {
		struct scan_facts facts = {0};
		struct scan_outcome out;

		scan_verdict_make(result, &facts, &out);
		assert_int_not_equal(out.value, SCAN_CLEAN);
	}
}

static void every_reason_keeps_clean_away(void **state)
{
	(void)state;
	for (int reason = SCAN_REASON_TOO_BIG; reason <= SCAN_REASON_LIMIT; reason++) {
		struct scan_facts facts = {0};
		struct scan_outcome out;

		scan_facts_reason(&facts, (enum scan_reason)reason);
		scan_verdict_make(CL_CLEAN, &facts, &out);
		assert_int_equal(out.value, SCAN_UNSCANNED);
		assert_int_equal(out.reason, reason);
	}
}

// What leaves here is what the gateway accepts.
static void a_name_is_cut_for_the_wire(void **state)
{
	char name[201];
	struct scan_facts facts = {0};
	struct scan_outcome out;
	struct scan_wire_verdict message = {0};

	(void)state;
	memset(name, 'N', sizeof(name) - 1);
	name[sizeof(name) - 1] = 0;
	name[3] = '\n';
	name[4] = '\x80';
	scan_facts_name(&facts, name);
	scan_verdict_make(CL_VIRUS, &facts, &out);
	assert_int_equal(strlen(out.name), SCAN_NAME_MAX - 1);
	assert_memory_equal(out.name, "NNN??N", 6);
	scan_wire_head_set(&message.head, SCAN_WIRE_VERDICT, 7);
	message.value = (uint8_t)out.value;
	memcpy(message.name, out.name, sizeof(message.name));
	assert_null(scan_wire_check_verdict(&message, sizeof(message), 7));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_row_gives_its_verdict),
		cmocka_unit_test(only_success_is_clean),
		cmocka_unit_test(every_reason_keeps_clean_away),
		cmocka_unit_test(a_name_is_cut_for_the_wire),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
