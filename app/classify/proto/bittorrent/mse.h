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
// eMule's obfuscation towards servers (client's sources: EncryptedStreamSocket) exchanges keys of
// the same size, but with little padding, which tells it apart:
//
//   1 A -> B  an octet that is no protocol's marker, the key, and 0..15 of padding: 97..112
//   2 B -> A  the key; encrypted: 4 of magic, 1, 1, 1, and 0..15 of padding: 103..118
//   3 A -> B  encrypted: 4 of magic, 1, 1, padding; and the login, in the same frame: 6 of header,
//             26 before its tags. eMule holds the handshake's end back for it (its state
//             "delayed sending"): a short third flight is of another protocol, Skype's for one
#ifndef SLUICE_MSE_H
#define SLUICE_MSE_H

#include "classify/app_proto.h"

#define MSE_KEY_BYTES   96
#define MSE_PAD_MAX     512
#define MSE_THIRD_BYTES 56 // at least
#define MSE_PORT_FIRST  1024
#define MSE_EMULE_THIRD (6 + 6 + 26) // at least

// A flight that may be the first or second.
bool mse_is_flight(const uint8_t *bytes, uint32_t length);
// It begins with what may be a key. Receivers (transmission) take padding of any length and value:
// enough where somebody has named the endpoint.
bool mse_begins(const uint8_t *bytes, uint32_t length);
// The shapes; `word` of the memo is its own.
enum verify mse_shape(const struct probe *probe, uint32_t *word);
enum verify mse_emule_shape(const struct probe *probe, uint32_t *word);

#endif
