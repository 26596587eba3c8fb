// SPDX-License-Identifier: BSD-3-Clause
// The log: levels, one line per message whatever is in it, and its three manners.
#include "base/log.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char seen[8192];

// What `write` puts on standard error, which is a file meanwhile.
static void capture(void (*start)(void), void (*write)(void))
{
	char path[] = "/tmp/test_log.XXXXXX";
	int fd = mkstemp(path), old = dup(STDERR_FILENO);
	ssize_t n;

	assert_true(fd >= 0);
	dup2(fd, STDERR_FILENO);
	start();
	write();
	dup2(old, STDERR_FILENO);
	n = pread(fd, seen, sizeof seen - 1, 0);
	assert_true(n >= 0);
	seen[n] = '\0';
	close(old);
	close(fd);
	unlink(path);
}

static void start_plain(void)
{
	unsetenv("JOURNAL_STREAM");
	log_start(0);
}

static void start_verbose(void)
{
	unsetenv("JOURNAL_STREAM");
	log_start(7);
}

static void start_journal(void)
{
	char stream[64];
	struct stat st;

	assert_int_equal(fstat(STDERR_FILENO, &st), 0);
	snprintf(stream, sizeof stream, "%llu:%llu", (unsigned long long)st.st_dev,
		(unsigned long long)st.st_ino);
	setenv("JOURNAL_STREAM", stream, 1);
	log_start(0);
}

static void all_levels(void)
{
	errno = EBUSY;
	log_error("an error %d", 1);
	log_warning("a warning");
	log_notice("a notice");
	log_info("an info");
	log_debug("a debug");
	assert_int_equal(errno, EBUSY);
}

static void levels(void **state)
{
	(void)state;
	capture(start_plain, all_levels);
	assert_non_null(strstr(seen, "sluice: error: an error 1\n"));
	assert_non_null(strstr(seen, "sluice: notice: a notice\n"));
	assert_null(strstr(seen, "an info"));
	assert_true(seen[0] == '2'); // a year: files get time stamps
	capture(start_verbose, all_levels);
	assert_non_null(strstr(seen, "sluice: debug: a debug\n"));
	assert_int_equal(log_level_find("warning"), LOG_LEVEL_WARNING);
	assert_int_equal(log_level_find("loud"), -1);
	assert_string_equal(log_level_word(LOG_LEVEL_INFO), "info");
}

static void the_journal_gets_priorities(void **state)
{
	(void)state;
	capture(start_journal, all_levels);
	assert_string_equal(seen, "<3>an error 1\n<4>a warning\n<5>a notice\n");
	// Our standard error is no more what the service manager connected.
	setenv("JOURNAL_STREAM", "1:2", 1);
	capture(start_plain, all_levels);
	assert_null(strstr(seen, "<3>"));
}

static void hostile_words(void)
{
	char text[5000];

	memset(text, 'x', sizeof text - 1);
	text[sizeof text - 1] = '\0';
	log_error("a\nsluice: error: forged\x1b[2J\x7f");
	log_error("%s", text);
}

static void a_message_is_one_line(void **state)
{
	char *second;

	(void)state;
	capture(start_journal, hostile_words);
	assert_memory_equal(seen, "<3>a?sluice: error: forged?[2J?\n<3>xxx", 38);
	second = strchr(seen, '\n') + 1;
	assert_in_range(strlen(second), 1000, 2048);
	assert_ptr_equal(strchr(second, '\n'), second + strlen(second) - 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(levels),
		cmocka_unit_test(the_journal_gets_priorities),
		cmocka_unit_test(a_message_is_one_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
