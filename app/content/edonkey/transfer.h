// SPDX-License-Identifier: BSD-3-Clause
// What a half brings of a file: parts as they are and compressed blocks, in any order.
#ifndef SLUICE_CONTENT_EDONKEY_TRANSFER_H
#define SLUICE_CONTENT_EDONKEY_TRANSFER_H

#include "content/edonkey/session.h"

// The head of a message that brings a part is in the reader's field; `wide`: its offsets have 64
// bits. What its bytes are is the reader's next step.
void ed2k_part_begin(const struct ed2k_turn *to, bool wide);
void ed2k_block_begin(const struct ed2k_turn *to, bool wide);
// Its bytes, at least one. Adds to *used.
enum content_fed ed2k_part_take(
	const struct ed2k_turn *to, const uint8_t *bytes, uint32_t length, uint32_t *used);
enum content_fed ed2k_block_take(
	const struct ed2k_turn *to, const uint8_t *bytes, uint32_t length, uint32_t *used);
// So many of them will never come.
void ed2k_part_lose(const struct ed2k_turn *to, uint64_t length);
void ed2k_block_lose(const struct ed2k_turn *to);

// What `half` brings has ended. `said`: by its protocol, not by the end of the stream.
void ed2k_transfer_end(const struct ed2k_turn *to, unsigned half, bool said);
// The receiver of `half` is through with it: it ends at once, or with the frame at hand.
void ed2k_transfer_close(const struct ed2k_turn *to, unsigned half);

#endif
