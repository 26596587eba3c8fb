// SPDX-License-Identifier: BSD-3-Clause
// Replay's own tables and files, with memory refused at each place where it is asked for: whoever
// asked is told, what was there stays, and nothing is left behind.
#include "replay/capture.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/rig/starved.h"
#include "pipeline/vocab/pkt.h"
#include "replay/packet.h"
#include "replay/table.h"

#define RECORDS 3u
#define FLOWS   3000u // the tables grow twice

static uint8_t file[24 + RECORDS * (16 + 60)];
static char path[] = "/tmp/test_starved_replay.XXXXXX";

static void file_make(void)
{
	const uint32_t head[6] = {0xa1b2c3d4, 4u << 16 | 2, 0, 0, 65535, 1};

	memcpy(file, head, sizeof(head));
	for (uint32_t i = 0; i < RECORDS; i++) {
		const uint32_t record[4] = {i + 1, 0, 60, 60};

		memcpy(file + 24 + i * 76, record, sizeof(record));
	}
}

static unsigned records_of(struct capture *cap)
{
	struct capture_record record;
	unsigned n = 0;

	while (capture_next(cap, &record) == 1)
		n += record.caplen == 60 && record.ts_ns == (n + 1) * UINT64_C(1000000000);
	return n;
}

static enum starved_outcome memory_step(void *ctx)
{
	char err[CAPTURE_ERROR_LEN] = "";
	struct capture *cap;
	int rc = capture_open_memory("t.pcap", file, sizeof(file), &cap, err, sizeof(err));

	(void)ctx;
	if (rc) {
		assert_int_equal(rc, -ENOMEM);
		assert_null(cap);
		assert_non_null(strstr(err, "t.pcap"));
		return STARVED_TOLD;
	}
	assert_int_equal(records_of(cap), RECORDS);
	capture_close(cap);
	return STARVED_DONE;
}

// A pipe, which is read into memory.
static enum starved_outcome pipe_step(void *ctx)
{
	char err[CAPTURE_ERROR_LEN] = "", name[32];
	struct capture *cap;
	int ends[2], rc;

	(void)ctx;
	assert_int_equal(pipe(ends), 0);
	assert_int_equal(write(ends[1], file, sizeof(file)), sizeof(file));
	close(ends[1]);
	snprintf(name, sizeof(name), "/dev/fd/%d", ends[0]);
	rc = capture_open(name, &cap, err, sizeof(err));
	close(ends[0]);
	if (rc) {
		assert_int_equal(rc, -ENOMEM);
		assert_null(cap);
		assert_non_null(strstr(err, name));
		return STARVED_TOLD;
	}
	assert_int_equal(records_of(cap), RECORDS);
	capture_close(cap);
	return STARVED_DONE;
}

static enum starved_outcome writer_step(void *ctx)
{
	const struct capture_record record = {
		.caplen = 60, .len = 60, .linktype = 1, .bytes = file, .ts_ns = 1};
	char err[CAPTURE_ERROR_LEN] = "";
	struct capture_writer *writer;
	int rc = capture_writer_open(path, 1, true, &writer, err, sizeof(err));

	(void)ctx;
	if (rc) {
		assert_int_equal(rc, -ENOMEM);
		assert_null(writer);
		assert_non_null(strstr(err, path));
		return STARVED_TOLD;
	}
	assert_int_equal(capture_writer_write(writer, &record), 0);
	assert_int_equal(capture_writer_close(writer, err, sizeof(err)), 0);
	return STARVED_DONE;
}

static enum starved_outcome table_step(void *ctx)
{
	struct replay_table table;
	enum starved_outcome outcome = STARVED_DONE;
	uint8_t key[REPLAY_KEY_BYTES] = {0};
	int rc = replay_table_init(&table);

	(void)ctx;
	if (rc) {
		assert_int_equal(rc, -ENOMEM);
		return STARVED_TOLD;
	}
	for (uint32_t i = 0; i < FLOWS; i++) {
		struct replay_entry *entry;
		bool made = false;

		memcpy(key, &i, sizeof(i));
		entry = replay_table_get(&table, key, &made);
		if (!entry) {
			outcome = STARVED_TOLD; // and the next one asks again
			entry = replay_table_get(&table, key, &made);
		}
		assert_non_null(entry);
		assert_true(made);
		entry->value[0] = i + 1;
	}
	for (uint32_t i = 0; i < FLOWS; i++) {
		memcpy(key, &i, sizeof(i));
		assert_int_equal(replay_table_find(&table, key)->value[0], i + 1);
	}
	replay_table_fini(&table);
	return outcome;
}

static enum starved_outcome sides_step(void *ctx)
{
	struct replay_sides *sides = replay_sides_new(NULL);
	struct replay_offload *offload;

	(void)ctx;
	if (!sides)
		return STARVED_TOLD;
	offload = replay_offload_new();
	replay_sides_free(sides);
	if (!offload)
		return STARVED_TOLD;
	replay_offload_free(offload);
	return STARVED_DONE;
}

static void captures(void **state)
{
	(void)state;
	assert_true(starved_run(memory_step, NULL) >= 1);
	assert_true(starved_run(pipe_step, NULL) >= 2);
}

static void written_captures(void **state)
{
	int fd = mkstemp(path);

	(void)state;
	assert_true(fd >= 0);
	close(fd);
	assert_true(starved_run(writer_step, NULL) >= 1);
	unlink(path);
}

static void tables(void **state)
{
	(void)state;
	assert_true(starved_run(table_step, NULL) >= 3);
	assert_true(starved_run(sides_step, NULL) >= 4);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(captures),
		cmocka_unit_test(written_captures),
		cmocka_unit_test(tables),
	};

	file_make();
	starved_begin();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
