// SPDX-License-Identifier: BSD-3-Clause
// A frame whose message is compressed (zlib, RFC 1950).
#ifndef SLUICE_CONTENT_EDONKEY_PACKED_H
#define SLUICE_CONTENT_EDONKEY_PACKED_H

#include "content/edonkey/session.h"

// False: no memory.
bool ed2k_packed_open(const struct ed2k_turn *to);
// Bytes of the frame, at least one. Adds to *used.
enum content_fed ed2k_packed_take(
	struct ed2k_turn *to, const uint8_t *bytes, uint32_t length, uint32_t *used);
// The frame is over. `cut`: by what we have not seen.
void ed2k_packed_close(const struct ed2k_turn *to, bool cut);

#endif
