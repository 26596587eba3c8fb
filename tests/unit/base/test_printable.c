// SPDX-License-Identifier: BSD-3-Clause
// Text from the wire in what is written: whatever a host puts into a name, no writer emits a
// character that drives a terminal, turns the order of reading, or ends a line. A table of
// characters against a table of writers. (JSON that jansson writes is ASCII, which tools/lint
// holds; sluicectl's output: cli/sluicectl.test.)
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>
#include "config/error.h"
#include "base/json_out.h"
#include "base/log.h"
#include "base/utf8.h"

static char written[4096];

static void write_event(const char *text)
{
	struct json_out out;

	json_out_init(&out, written, sizeof(written) - 1);
	json_out_text(&out, "sni", text, strlen(text));
	assert_false(out.full);
	*out.at = '\0';
}

static void write_log(const char *text)
{
	char path[] = "/tmp/test_printable.XXXXXX";
	int fd = mkstemp(path), old = dup(STDERR_FILENO);

	assert_true(fd >= 0);
	dup2(fd, STDERR_FILENO);
	unsetenv("JOURNAL_STREAM");
	log_start(0);
	log_error("the host %s", text);
	dup2(old, STDERR_FILENO);
	ssize_t n = pread(fd, written, sizeof(written) - 1, 0);

	assert_true(n > 0 && written[n - 1] == '\n');
	written[n - 1] = '\0'; // the end of the line is ours
	close(old);
	close(fd);
	unlink(path);
}

static void write_config_error(const char *text)
{
	struct config_errors errors = {0};

	config_error_add(&errors, "policy.json", "$.rules", "no such host: %s", text);
	snprintf(written, sizeof(written), "%s", errors.lines[0]);
	config_errors_free(&errors);
}

static const struct writer {
	const char *name;
	void (*write)(const char *text);
} writers[] = {
	{"event", write_event},
	{"log", write_log},
	{"config error", write_config_error},
};

static size_t encode(uint32_t c, char out[5])
{
	size_t n = 0;

	if (c < 0x80) {
		out[n++] = (char)c;
	} else if (c < 0x800) {
		out[n++] = (char)(0xc0 | c >> 6);
		out[n++] = (char)(0x80 | (c & 0x3f));
	} else if (c < 0x10000) {
		out[n++] = (char)(0xe0 | c >> 12);
		out[n++] = (char)(0x80 | (c >> 6 & 0x3f));
		out[n++] = (char)(0x80 | (c & 0x3f));
	} else {
		out[n++] = (char)(0xf0 | c >> 18);
		out[n++] = (char)(0x80 | (c >> 12 & 0x3f));
		out[n++] = (char)(0x80 | (c >> 6 & 0x3f));
		out[n++] = (char)(0x80 | (c & 0x3f));
	}
	out[n] = '\0';
	return n;
}

static void assert_harmless(const char *who)
{
	size_t left = strlen(written);

	for (const uint8_t *at = (const uint8_t *)written; left;) {
		uint32_t c = 0;
		size_t n = utf8_take(at, left, &c);

		if (!n || utf8_is_control(c))
			fail_msg("%s writes U+%04X: %s", who, c, written);
		at += n;
		left -= n;
	}
}

static const uint32_t controls[][2] = {
	{0x01, 0x1f}, {0x7f, 0x9f}, // C0, DEL, C1: 0x9b is a CSI of one octet
	{0x61c, 0x61c}, {0x200e, 0x200f}, {0x202a, 0x202e}, {0x2066, 0x2069}, // bidi
	{0x2028, 0x2029},                                                     // separators
};

static void no_writer_emits_a_control(void **state)
{
	(void)state;
	for (unsigned w = 0; w < sizeof(writers) / sizeof(writers[0]); w++)
		for (unsigned r = 0; r < sizeof(controls) / sizeof(controls[0]); r++)
			for (uint32_t c = controls[r][0]; c <= controls[r][1]; c++) {
				char character[5], text[64];

				encode(c, character);
				snprintf(text, sizeof(text), "a%sb.example", character);
				writers[w].write(text);
				assert_harmless(writers[w].name);
				assert_null(strstr(written, character));
				assert_non_null(strstr(written, "b.example"));
			}
}

static void no_writer_emits_what_is_no_utf8(void **state)
{
	static const char *const wrong[] = {"\x80", "\xc0\x8a", "\xc1\xbf", "\xe0\x80\x8a",
		"\xe2\x80", "\xed\xa0\x80", "\xf0\x80\x80\x8a", "\xf4\x90\x80\x80",
		"\xf8\x88\x80\x80\x80", "\xff", "\xe2\x80\x1b", "\xc2\x1b[2J"};
	char text[64];
	(void)state;

	for (unsigned w = 0; w < sizeof(writers) / sizeof(writers[0]); w++)
		for (unsigned i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
			snprintf(text, sizeof(text), "a%sb.example", wrong[i]);
			writers[w].write(text);
			assert_harmless(writers[w].name);
			snprintf(text, sizeof(text), "b.example%s", wrong[i]); // at the end
			writers[w].write(text);
			assert_harmless(writers[w].name);
		}
}

// Names of other scripts are names.
static void what_can_be_read_stays(void **state)
{
	static const uint32_t letters[] = {0xa0, 0xe9, 0x3b1, 0x416, 0x5d0, 0x627, 0x4e2d, 0x2027,
		0x202f, 0x2065, 0x206a, 0xfffd, 0x1f600};
	char character[5];
	(void)state;

	for (unsigned w = 0; w < sizeof(writers) / sizeof(writers[0]); w++)
		for (unsigned i = 0; i < sizeof(letters) / sizeof(letters[0]); i++) {
			encode(letters[i], character);
			writers[w].write(character);
			assert_non_null(strstr(written, character));
		}
}

// What is written still says which character it was, where the form has a way to.
static void an_event_keeps_what_the_character_was(void **state)
{
	(void)state;
	write_event("\xe2\x80\xae"
		    "gpj.exe\xc2\x9b"
		    "2J\x7f\xe2");
	assert_non_null(strstr(written, "\"\\u202egpj.exe\\u009b2J\\u007f\\ufffd\""));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_writer_emits_a_control),
		cmocka_unit_test(no_writer_emits_what_is_no_utf8),
		cmocka_unit_test(what_can_be_read_stays),
		cmocka_unit_test(an_event_keeps_what_the_character_was),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
