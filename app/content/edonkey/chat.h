// SPDX-License-Identifier: BSD-3-Clause
// What people, and servers, write: told in parts, as it comes.
#ifndef SLUICE_CONTENT_EDONKEY_CHAT_H
#define SLUICE_CONTENT_EDONKEY_CHAT_H

#include "content/edonkey/session.h"

// A text of so many bytes, as it says of itself, is what follows. Where it is all that follows, and
// says otherwise, it is what follows.
void ed2k_chat_begin(const struct ed2k_turn *to, uint32_t bytes);
enum content_fed ed2k_chat_take(
	const struct ed2k_turn *to, const uint8_t *bytes, uint32_t length, uint32_t *used);
// A text of which some was told ends, though it is not whole.
void ed2k_chat_end(const struct ed2k_turn *to);

#endif
