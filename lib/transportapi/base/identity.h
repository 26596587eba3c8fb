// SPDX-License-Identifier: BSD-3-Clause
// Who a peer is: an Ed25519 key pair (RFC 8032), and the BLAKE2b-256 of its public half (TA26).
#ifndef TRANSPORTAPI_IDENTITY_H
#define TRANSPORTAPI_IDENTITY_H

#include "transportapi/base/transport.h"

#define TAPI_PUBLIC_KEY_BYTES 32
#define TAPI_SECRET_KEY_BYTES 64 // libsodium's: seed and public key
#define TAPI_SIGNATURE_BYTES  64
#define TAPI_SEED_BYTES       32
#define TAPI_PEER_TEXT_BYTES  65 // hex, with its NUL

struct tapi_identity {
	struct tapi_peer_id id;
	uint8_t public_key[TAPI_PUBLIC_KEY_BYTES];
	uint8_t secret_key[TAPI_SECRET_KEY_BYTES];
};

struct tapi_error { // for people: what, where, what to do
	char text[320];
};

// Fills it in; `error` may be NULL.
TAPI_EXPORT void tapi_error_format(struct tapi_error *error, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

// From 32 octets of chance (tests give their own).
TAPI_EXPORT void tapi_identity_from_seed(
	struct tapi_identity *out, const uint8_t seed[TAPI_SEED_BYTES]);
// Reads `path`, or makes it, mode 0600 and at once whole, where it is absent. Refused: a file that
// others may read, a file of another length, a public key that does not fit.
TAPI_EXPORT enum tapi_result tapi_identity_load(
	struct tapi_identity *out, const char *path, struct tapi_error *error);
TAPI_EXPORT void tapi_identity_wipe(struct tapi_identity *identity);

TAPI_EXPORT void tapi_peer_id_of(
	struct tapi_peer_id *out, const uint8_t public_key[TAPI_PUBLIC_KEY_BYTES]);
TAPI_EXPORT bool tapi_peer_id_equal(const struct tapi_peer_id *a, const struct tapi_peer_id *b);
TAPI_EXPORT void tapi_peer_id_text(const struct tapi_peer_id *id, char out[TAPI_PEER_TEXT_BYTES]);
TAPI_EXPORT enum tapi_result tapi_peer_id_parse(struct tapi_peer_id *out, const char *text);

#endif
