// SPDX-License-Identifier: BSD-3-Clause
// The writer of captures, read back by the reader.
#include "replay/capture.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define NS_PER_S 1000000000ull

static void the_reader_reads_what_the_writer_wrote(void **state)
{
	char path[] = "/tmp/test_capture.XXXXXX", err[CAPTURE_ERROR_LEN] = "";
	static uint8_t large[CAPTURE_RECORD_MAX_BYTES + 10];
	int fd = mkstemp(path);

	(void)state;
	assert_true(fd >= 0);
	close(fd);
	memset(large, 0x5a, sizeof large);
	for (int nano = 0; nano < 2; nano++) {
		uint64_t ts_ns = 1500000000 * NS_PER_S + 123456789;
		struct capture_writer_counters counters;
		struct capture_writer *writer;
		struct capture_record rec;
		struct capture *cap;

		assert_int_equal(capture_writer_open(path, 113, nano, &writer, err, sizeof err), 0);
		for (uint32_t i = 0; i < 100; i++) { // more than one buffer
			rec = (struct capture_record){ts_ns + i, 60000 + i, 70000, 113, large};
			assert_int_equal(capture_writer_write(writer, &rec), 0);
			rec.linktype = 1;
			assert_int_equal(capture_writer_write(writer, &rec), 0);
		}
		rec = (struct capture_record){ts_ns, sizeof large, sizeof large, 113, large};
		assert_int_equal(capture_writer_write(writer, &rec), 0);
		rec = (struct capture_record){UINT64_MAX, 0, 0, 113, NULL};
		assert_int_equal(capture_writer_write(writer, &rec), 0);
		capture_writer_counters_get(writer, &counters);
		assert_int_equal(counters.records, 102);
		assert_int_equal(counters.other_linktype, 100);
		assert_int_equal(counters.cut, 1);
		assert_int_equal(capture_writer_close(writer, err, sizeof err), 0);

		assert_int_equal(capture_open(path, &cap, err, sizeof err), 0);
		assert_int_equal(capture_is_nano(cap), nano);
		for (uint32_t i = 0; i < 100; i++) {
			assert_int_equal(capture_next(cap, &rec), 1);
			assert_int_equal(rec.ts_ns, nano ? ts_ns + i : (ts_ns + i) / 1000 * 1000);
			assert_int_equal(rec.caplen, 60000 + i);
			assert_int_equal(rec.len, 70000);
			assert_int_equal(rec.linktype, 113);
			assert_memory_equal(rec.bytes, large, rec.caplen);
		}
		assert_int_equal(capture_next(cap, &rec), 1);
		assert_int_equal(rec.caplen, CAPTURE_RECORD_MAX_BYTES);
		assert_int_equal(rec.len, sizeof large);
		assert_int_equal(capture_next(cap, &rec), 1);
		assert_int_equal(rec.ts_ns / NS_PER_S, UINT32_MAX);
		assert_int_equal(capture_next(cap, &rec), 0);
		capture_close(cap);
	}
	unlink(path);
}

static void the_writer_says_that_the_disk_is_full(void **state)
{
	char err[CAPTURE_ERROR_LEN] = "";
	struct capture_writer *writer;
	struct capture_record rec = {.linktype = 1};

	(void)state;
	assert_int_equal(
		capture_writer_open("/proc/nonexistent/o", 1, false, &writer, err, sizeof err),
		-ENOENT);
	assert_non_null(strstr(err, "/proc/nonexistent/o: cannot create"));
	assert_null(writer);
	if (access("/dev/full", W_OK) != 0)
		skip();
	assert_int_equal(capture_writer_open("/dev/full", 1, false, &writer, err, sizeof err), 0);
	assert_int_equal(capture_writer_write(writer, &rec), 0); // still in the buffer
	assert_int_equal(capture_writer_close(writer, err, sizeof err), -ENOSPC);
	assert_non_null(strstr(err, "/dev/full: cannot write: No space"));
	assert_int_equal(capture_writer_close(NULL, err, sizeof err), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_reader_reads_what_the_writer_wrote),
		cmocka_unit_test(the_writer_says_that_the_disk_is_full),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
