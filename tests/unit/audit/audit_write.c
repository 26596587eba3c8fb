// SPDX-License-Identifier: BSD-3-Clause
// audit_write PATH [FILE_BYTES]: appends each line of standard input, a JSON object, to the audit
// log at PATH, one second after the other from a fixed time on. Prints the head.
#include "unit/audit/rig.h"

#include <stdio.h>

int main(int argc, char **argv)
{
	struct audit_log_options options = {
		.path = argc > 1 ? argv[1] : "", .software = "sluice 0.1.0"};
	static char line[AUDIT_LINE_MAX + 2], err[256], head[AUDIT_HEX_BYTES];
	struct audit_log *log;
	uint64_t now_us = NOW_US;

	memset(options.id, 0x5a, sizeof(options.id));
	options.file_bytes = argc > 2 ? strtoull(argv[2], NULL, 10) : 0;
	if (audit_log_open(&options, now_us, &log, err, sizeof(err)) < 0) {
		fprintf(stderr, "%s: %s\n", options.path, err);
		return 1;
	}
	while (fgets(line, sizeof(line), stdin)) {
		size_t length = strcspn(line, "\n");
		now_us += 1000000;
		if (audit_log_append(log, line, length, now_us) < 0)
			fprintf(stderr, "lost: %s", line);
	}
	audit_log_head(log, head);
	audit_log_close(log, now_us);
	puts(head);
	return 0;
}
