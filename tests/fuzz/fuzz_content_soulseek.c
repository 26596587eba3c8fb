// SPDX-License-Identifier: BSD-3-Clause
// Connections of Soulseek, with gaps and ends anywhere (lib/content/records.h).
#include "content/decoders.h"
#include "lib/content/records.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	return records_fuzz(&content_soulseek, bytes, len);
}
