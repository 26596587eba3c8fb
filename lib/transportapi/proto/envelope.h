// SPDX-License-Identifier: BSD-3-Clause
// What stands before a message on transports of datagrams (udp, raw-ip): 40 octets, network order.
//
//   u16 size (of all), u8 ver=1, u8 flags (bit 0 isEncrypted) | u32 crc | sender[32]
//
// The sender is in every message (TA11); crc and flag are carried (TA12).
#ifndef TRANSPORTAPI_ENVELOPE_H
#define TRANSPORTAPI_ENVELOPE_H

#include "transportapi/base/transport.h"

#define TAPI_ENVELOPE_BYTES    40
#define TAPI_ENVELOPE_SIZE_MAX UINT16_MAX // of all

TAPI_EXPORT void tapi_envelope_encode(uint8_t out[TAPI_ENVELOPE_BYTES],
	const struct tapi_peer_id *sender, uint32_t message_size, bool is_encrypted, uint32_t crc);
// Fills in sender, message, size, is_encrypted and crc; TAPI_EFORMAT: drop and count.
TAPI_EXPORT enum tapi_result tapi_envelope_decode(
	struct tapi_message_pack *out, const uint8_t *datagram, size_t length);

#endif
