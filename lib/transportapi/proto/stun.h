// SPDX-License-Identifier: BSD-3-Clause
// What our datagrams look like from outside: STUN (RFC 8489), binding requests alone, without
// credentials. This file is the octets; who is asked and when is stun_client.h.
//
//   u16 type, u16 length of what follows these 20 | u32 0x2112a442 | id[12]
//   | attributes: u16 type, u16 length, value, padding to 4
//
// A request of ours has one attribute, FINGERPRINT (14.7); an answer may have any that need not be
// understood, XOR-MAPPED-ADDRESS (14.2) or MAPPED-ADDRESS (14.1), and if it has FINGERPRINT, that
// has to be right and the last. No datagram is both this and an envelope (envelope.h): one whose
// size is the type of an answer, 257 or 273, and whose version is 1 would be 276 octets or more.
#ifndef TRANSPORTAPI_STUN_H
#define TRANSPORTAPI_STUN_H

#include "transportapi/base/transport.h"

#define TAPI_STUN_ID_BYTES      12
#define TAPI_STUN_REQUEST_BYTES 28
#define TAPI_STUN_PORT          3478

enum tapi_stun_kind {
	TAPI_STUN_MAPPED,  // `mapped` is what the server saw
	TAPI_STUN_REFUSED, // an error response; `code` as in 14.8, 0: it had none
	TAPI_STUN_UNKNOWN, // has what we had to understand and do not (6.3.3)
};

struct tapi_stun_answer {
	enum tapi_stun_kind kind;
	uint8_t id[TAPI_STUN_ID_BYTES];
	unsigned code;
	struct tapi_source mapped;
};

TAPI_EXPORT void tapi_stun_request(
	uint8_t out[TAPI_STUN_REQUEST_BYTES], const uint8_t id[TAPI_STUN_ID_BYTES]);
// By its head alone: whether this is meant to be STUN (5). Nothing else of it was looked at.
TAPI_EXPORT bool tapi_stun_is(const uint8_t *octets, size_t length);
// TAPI_EFORMAT: a length that does not fit, a wrong FINGERPRINT, not an answer to a binding
// request, or a success without an address.
TAPI_EXPORT enum tapi_result tapi_stun_decode(
	struct tapi_stun_answer *out, const uint8_t *octets, size_t length);

#endif
