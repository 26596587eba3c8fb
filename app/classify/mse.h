// SPDX-License-Identifier: BSD-3-Clause
// Inside app/classify: Message Stream Encryption of BitTorrent (MSE/PE, "Message Stream Encryption"
// of the Vuze wiki, 2006). Its handshake is made to have no pattern; what is left is its shape:
//
//   1 A -> B  Ya, 96 octets (768-bit Diffie-Hellman), and 0..512 of padding
//   2 B -> A  Yb, the same
//   3 A -> B  two hashes of 20; encrypted: 8 zeros, 4, 2, padding, 2, first payload: 56 and more
//
// All of it looks like chance. A waits for B's key, so flights do not overlap. That is PARTIAL and
// no more: other protocols hide the same way. What is on a port below 1024 is left alone: clients
// do not listen there, and most that speaks in riddles there is something else.
// eMule's obfuscation of servers has the same key sizes; its third flight is 6..21 octets.
#ifndef SLUICE_MSE_H
#define SLUICE_MSE_H

#include "app_proto.h"

#define MSE_KEY_BYTES   96
#define MSE_PAD_MAX     512
#define MSE_THIRD_BYTES 56 // at least
#define MSE_PORT_FIRST  1024

// A flight that may be the first or second.
bool mse_is_flight(const uint8_t *bytes, uint32_t length);
// The shape; `word` of the memo is its own.
enum verify mse_shape(const struct probe *probe, uint32_t *word);

#endif
