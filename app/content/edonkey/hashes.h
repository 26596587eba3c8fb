// SPDX-License-Identifier: BSD-3-Clause
// Digests of a file's parts, as one client asks another for them. The file's id is the digest of
// them all, and proves them.
#ifndef SLUICE_CONTENT_EDONKEY_HASHES_H
#define SLUICE_CONTENT_EDONKEY_HASHES_H

#include "content/edonkey/session.h"

// File and number of the digests are in the reader's field.
void ed2k_hashes_begin(const struct ed2k_turn *to);
enum content_fed ed2k_hashes_take(
	const struct ed2k_turn *to, const uint8_t *bytes, uint32_t length, uint32_t *used);
// Those that are not whole are forgotten.
void ed2k_hashes_drop(const struct ed2k_turn *to);
// So are those that were kept.
void ed2k_hashes_give(const struct ed2k_turn *to);

#endif
