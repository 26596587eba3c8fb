// SPDX-License-Identifier: BSD-3-Clause
// Prints what the capture reader reads, for comparisons: per record, little-endian,
// u64 ts_ns, u32 caplen, u32 len, u16 link type, then caplen bytes.
// Exit 0: read to the end; 3: a broken file (the message is on stderr); 1: cannot open.
#include "replay/capture.h"

#include <stdio.h>

int main(int argc, char **argv)
{
	char err[CAPTURE_ERROR_LEN];
	struct capture_record rec;
	struct capture *cap;
	int rc;

	if (argc != 2) {
		fprintf(stderr, "usage: capture_dump FILE\n");
		return 2;
	}
	if (capture_open(argv[1], &cap, err, sizeof err) < 0) {
		fprintf(stderr, "%s\n", err);
		return 1;
	}
	while ((rc = capture_next(cap, &rec)) > 0) {
		fwrite(&rec.ts_ns, sizeof rec.ts_ns, 1, stdout);
		fwrite(&rec.caplen, sizeof rec.caplen, 1, stdout);
		fwrite(&rec.len, sizeof rec.len, 1, stdout);
		fwrite(&rec.linktype, sizeof rec.linktype, 1, stdout);
		fwrite(rec.bytes, 1, rec.caplen, stdout);
	}
	if (rc < 0)
		fprintf(stderr, "%s\n", capture_error(cap));
	capture_close(cap);
	return rc < 0 ? 3 : 0;
}
