// SPDX-License-Identifier: BSD-3-Clause
// Reads the command line, and either checks a database or runs the scan parent.
#include "scan/program/program.h"

#include <stdio.h>
#include <time.h>
#include "scan/program/parent.h"

static int check(const struct scan_settings *settings)
{
	struct scan_clam clam;
	char err[512];

	if (scan_clam_load(&clam, settings, err, sizeof(err))) {
		fprintf(stderr, "sluice-scan: %s\n", err);
		return 1;
	}
	uint64_t now = (uint64_t)time(NULL), age = now > clam.db_time_s ? now - clam.db_time_s : 0;

	printf("%s: %u signatures, version %llu, %llu days and %llu hours old; libclamav %s%s\n",
		settings->database, clam.signatures, (unsigned long long)clam.db_version,
		(unsigned long long)(age / 86400), (unsigned long long)(age % 86400 / 3600),
		scan_clam_version(), clam.opens_rar ? "" : ", which does not open RAR");
	scan_clam_free(&clam);
	return 0;
}

int scan_program(int argc, char **argv, scan_look_fn *look)
{
	struct scan_settings settings;
	int rc = scan_settings_parse(&settings, argc, argv);

	if (rc >= 0)
		return rc;
	return settings.check ? check(&settings) : scan_parent_run(&settings, look);
}
