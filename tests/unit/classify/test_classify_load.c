// SPDX-License-Identifier: BSD-3-Clause
// All signatures of the tree, compiled from nothing and taken from the cache: both classify alike,
// and the second is not compiled. How long each took is printed as JSON (docs/performance.md); the
// CPU time, which a busy machine makes little longer, is held to what is promised: 10 s and 0.5 s.
#include <dirent.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>
#include "lib/classify/classify_rig.h"

static double now_s(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void remove_folder(const char *dir)
{
	struct dirent **names;
	int n = scandir(dir, &names, NULL, NULL);

	for (int i = 0; i < n; i++) {
		char path[512];

		snprintf(path, sizeof(path), "%s/%s", dir, names[i]->d_name);
		unlink(path); // "." and ".." are none of it
		free(names[i]);
	}
	if (n >= 0)
		free(names);
	rmdir(dir);
}

// The database takes the place of the rig's own for one look.
static void classifies(struct rig *rig, struct sigdb *db)
{
	struct sigdb *own = rig->db;
	struct edition *edition = rig->edition;

	rig->db = db;
	assert_int_equal(edition_new(db, 1, &rig->edition), 0);
	assert_string_equal(rig_first(rig, IPPROTO_TCP, HALF_C2S,
				    LITERAL("GET / HTTP/1.1\r\nHost: a.example\r\n\r\n")),
		"http");
	assert_string_equal(rig_first(rig, IPPROTO_TCP, HALF_C2S,
				    LITERAL("\x13"
					    "BitTorrent protocol\0\0\0\0\0\0\0\0"
					    "aaaaaaaaaaaaaaaaaaaabbbbbbbbbbbbbbbbbbbb")),
		"bittorrent");
	edition_free(rig->edition);
	rig->db = own;
	rig->edition = edition;
}

static void test_cold_and_cached(void **state)
{
	char dir[] = "/tmp/test_classify_load_XXXXXX", err[512];
	struct rig *rig = rig_new();
	static const double promised_s[2] = {10, 0.5};
	double took[2], cpu[2];

	(void)state;
	assert_non_null(mkdtemp(dir));
	for (unsigned warm = 0; warm < 2; warm++) {
		struct sigdb *db;
		double began = now_s(CLOCK_MONOTONIC), cpu_began = now_s(CLOCK_PROCESS_CPUTIME_ID);
		bool from_cache;

		assert_int_equal(sigdb_new(rig->signatures, rig->n_signatures, dir, &db,
					 &from_cache, err, sizeof(err)),
			0);
		took[warm] = now_s(CLOCK_MONOTONIC) - began;
		cpu[warm] = now_s(CLOCK_PROCESS_CPUTIME_ID) - cpu_began;
		assert_true(cpu[warm] < promised_s[warm]);
		assert_int_equal(from_cache, warm);
		assert_int_equal(sigdb_count(db), rig->n_signatures);
		classifies(rig, db);
		sigdb_free(db);
	}
	printf("{\"signatures\": %u, \"compiled_s\": %.3f, \"compiled_cpu_s\": %.3f, "
	       "\"from_cache_s\": %.4f, \"from_cache_cpu_s\": %.4f}\n",
		rig->n_signatures, took[0], cpu[0], took[1], cpu[1]);
	remove_folder(dir);
	rig_free(rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cold_and_cached),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
