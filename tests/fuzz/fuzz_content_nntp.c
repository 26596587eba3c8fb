// SPDX-License-Identifier: BSD-3-Clause
// Connections of network news with their articles, with gaps and ends anywhere
// (lib/content/records.h).
#include "content/decoders.h"
#include "lib/content/records.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	return records_fuzz(&content_nntp, bytes, len);
}
