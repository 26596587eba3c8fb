// SPDX-License-Identifier: BSD-3-Clause
// The folder of packet files: names, its quota, what is in the way. That tshark reads them is held
// by golden/audit.test.
#include "audit/packet_file.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "unit/audit/rig.h"

#define SECOND UINT64_C(1000000000)
#define AT     (UINT64_C(1700000000) * SECOND) // 2023-11-14T22:13:20

static struct packet_folder *folder_open(const char *path, uint64_t bytes)
{
	struct packet_folder *folder;
	char err[256] = "";

	if (packet_folder_open(path, bytes, "test", &folder, err, sizeof(err)))
		fail_msg("%s", err);
	return folder;
}

// An incident of one packet.
static struct packet_file_result incident(
	struct packet_folder *folder, uint64_t at_ns, uint64_t flow_id, uint32_t length)
{
	struct packet_file *file = packet_file_begin(folder, "comment", 1);
	struct packet_file_result result;
	char *frame = calloc(1, length);

	assert_non_null(file);
	packet_file_add(file, at_ns, frame, length, length, NULL);
	packet_file_end(file, flow_id, &result);
	free(frame);
	return result;
}

static unsigned count(const char *path)
{
	DIR *dir = opendir(path);
	unsigned n = 0;

	assert_non_null(dir);
	for (struct dirent *entry; (entry = readdir(dir));)
		n += entry->d_name[0] != '.';
	closedir(dir);
	return n;
}

static void names_are_date_and_flow(void **state)
{
	struct packet_folder *folder = folder_open(*state, 0);

	assert_string_equal(incident(folder, AT, 77, 60).name, "20231114T221320Z-77.pcapng");
	assert_string_equal(incident(folder, AT, 77, 60).name, "20231114T221320Z-77-2.pcapng");
	assert_string_equal(
		incident(folder, AT + 41 * SECOND, UINT64_C(9223372036854775807), 60).name,
		"20231114T221401Z-9223372036854775807.pcapng");
	packet_folder_close(folder);
}

static void the_oldest_go(void **state)
{
	struct packet_folder *folder = folder_open(*state, 10000);
	struct packet_folder_counters counters;
	char first[64];

	for (unsigned i = 0; i < 20; i++) {
		struct packet_file_result result = incident(folder, AT + i * SECOND, i, 2000);

		assert_int_equal(result.error, 0);
		if (!i)
			memcpy(first, result.name, sizeof(first));
	}
	packet_folder_look(folder, &counters);
	assert_int_equal(counters.written, 20);
	assert_in_range(counters.used_bytes, 6000, 10000);
	assert_int_equal(counters.removed, 20 - count(*state));
	assert_int_equal(access(rig_path(*state, first), F_OK), -1);
	packet_folder_close(folder);
	folder = folder_open(*state, 10000); // the next gateway counts what is there
	packet_folder_look(folder, &counters);
	assert_in_range(counters.used_bytes, 6000, 10000);
	packet_folder_close(folder);
}

static void what_is_not_ours_stays(void **state)
{
	struct packet_folder *folder;
	char other[5000] = "";

	rig_write(rig_path(*state, "0.pcapng"), other, sizeof(other));
	rig_write(rig_path(*state, "20231114T221320Z-77.pcap"), other, sizeof(other));
	folder = folder_open(*state, 5000);
	for (unsigned i = 0; i < 10; i++)
		assert_int_equal(incident(folder, AT + i * SECOND, i, 2000).error, 0);
	assert_int_equal(access(rig_path(*state, "0.pcapng"), F_OK), 0);
	assert_int_equal(access(rig_path(*state, "20231114T221320Z-77.pcap"), F_OK), 0);
	packet_folder_close(folder);
}

static void what_is_too_long_is_not_written(void **state)
{
	struct packet_folder *folder = folder_open(*state, 1000);
	struct packet_folder_counters counters;
	struct packet_file_result result = incident(folder, AT, 1, 2000);

	assert_int_equal(result.error, EFBIG);
	assert_string_equal(result.name, "");
	packet_folder_look(folder, &counters);
	assert_int_equal(counters.errors, 1);
	assert_int_equal(counters.written, 0);
	assert_int_equal(count(*state), 0);
	packet_folder_close(folder);
}

static void a_link_is_not_followed(void **state)
{
	struct packet_folder *folder = folder_open(*state, 0);
	const char *victim = rig_path(*state, "victim");
	size_t length;

	rig_write(victim, "kept", 4);
	assert_int_equal(symlink(victim, rig_path(*state, "20231114T221320Z-77.pcapng")), 0);
	assert_string_equal(incident(folder, AT, 77, 60).name, "20231114T221320Z-77-2.pcapng");
	char *kept = rig_read(victim, &length);
	assert_string_equal(kept, "kept");
	free(kept);
	packet_folder_close(folder);
}

static void a_folder_that_is_none(void **state)
{
	struct packet_folder *folder;
	char err[256] = "";

	rig_write(rig_path(*state, "file"), "", 0);
	assert_int_equal(
		packet_folder_open(rig_path(*state, "file"), 0, "test", &folder, err, sizeof(err)),
		-ENOTDIR);
	assert_non_null(strstr(err, "file"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(names_are_date_and_flow, rig_setup, rig_teardown),
		cmocka_unit_test_setup_teardown(the_oldest_go, rig_setup, rig_teardown),
		cmocka_unit_test_setup_teardown(what_is_not_ours_stays, rig_setup, rig_teardown),
		cmocka_unit_test_setup_teardown(
			what_is_too_long_is_not_written, rig_setup, rig_teardown),
		cmocka_unit_test_setup_teardown(a_link_is_not_followed, rig_setup, rig_teardown),
		cmocka_unit_test_setup_teardown(a_folder_that_is_none, rig_setup, rig_teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
