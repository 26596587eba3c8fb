// SPDX-License-Identifier: BSD-3-Clause
// A connection in eMule's disguise between two clients, of which the user hash of who is connected
// to is known: it is no secret, and all keys follow from it (aMule's EncryptedStreamSocket).
//
//   who connects    an octet that is no protocol's, 4 of chance; encrypted: 4 of magic, methods,
//                   the best of them, how much padding, padding; then frames
//   who answers     encrypted: 4 of magic, a method, how much padding, padding; then frames
#ifndef SLUICE_CONTENT_EDONKEY_CLOAK_H
#define SLUICE_CONTENT_EDONKEY_CLOAK_H

#include "content/edonkey/session.h"

#define ED2K_CLOAK_STEP 512u // bytes that are opened at a time

// False: no memory.
bool ed2k_cloak_open(const struct ed2k_turn *to, const struct endpoint_secret *secret);
void ed2k_cloak_close(const struct ed2k_turn *to);

enum ed2k_cloaked {
	ED2K_CLOAK_HEAD,  // `taken` bytes of what comes before frames
	ED2K_CLOAK_BYTES, // of frames: `n` in `out`
	ED2K_CLOAK_OTHER, // the hash is not the key
};
// The next bytes of a half, at least one. What was opened counts when ed2k_cloak_took() has said
// how much of it was taken.
enum ed2k_cloaked ed2k_cloak_next(const struct ed2k_turn *to, const uint8_t *bytes, uint32_t length,
	uint32_t *taken, uint8_t out[ED2K_CLOAK_STEP], uint32_t *n);
void ed2k_cloak_took(const struct ed2k_turn *to, uint32_t n);
// So many bytes will never come. False: what follows cannot be opened.
bool ed2k_cloak_lose(const struct ed2k_turn *to, uint64_t length);

#endif
