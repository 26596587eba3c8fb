// SPDX-License-Identifier: BSD-3-Clause
// The capture reader: whatever the file, records lie inside it, and reading ends.
#include "replay/capture.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	char err[CAPTURE_ERROR_LEN];
	struct capture_record rec;
	struct capture *cap;
	size_t records = 0;
	int rc;

	if (capture_open_memory("fuzz", bytes, len, &cap, err, sizeof err) < 0)
		return 0;
	while ((rc = capture_next(cap, &rec)) > 0) {
		// A record costs at least a header of 12 octets.
		if (++records > len / 12 || rec.bytes < bytes || rec.caplen > len ||
			rec.bytes > bytes + len - rec.caplen)
			abort();
	}
	if (rc < 0 && !capture_error(cap)[0])
		abort();
	capture_close(cap);
	return 0;
}
