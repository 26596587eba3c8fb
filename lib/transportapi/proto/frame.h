// SPDX-License-Identifier: BSD-3-Clause
// Messages in a stream of octets (tcp, unix). Network order:
//
//   WELCOME  u16 size=48, u16 type=4 | u8 ver=1, u8 0, u16 0 | sender[32] | nonce[8]
//   frame    u32 size (of the message), u16 flags (bit 0 isEncrypted), u16 0 | u32 crc | message
//
// Each direction is one WELCOME (TA11), then frames.
//
// The reader takes octets in pieces of any size; what is beyond the mtu, or malformed (a version,
// flag or reserved field that is not known), ends the stream. A frame of size 0 is a message of no
// octets, and is given on: whether that means anything is the core's to say.
#ifndef TRANSPORTAPI_FRAME_H
#define TRANSPORTAPI_FRAME_H

#include "transportapi/base/transport.h"

#define TAPI_WELCOME_BYTES       48
#define TAPI_FRAME_HEAD_BYTES    12
#define TAPI_WELCOME_NONCE_BYTES 8

TAPI_EXPORT void tapi_welcome_encode(uint8_t out[TAPI_WELCOME_BYTES],
	const struct tapi_peer_id *sender, const uint8_t nonce[TAPI_WELCOME_NONCE_BYTES]);
TAPI_EXPORT void tapi_frame_encode(
	uint8_t out[TAPI_FRAME_HEAD_BYTES], uint32_t message_size, bool is_encrypted, uint32_t crc);

struct tapi_frame_reader {
	uint32_t mtu;
	bool welcomed; // sender and nonce are known
	struct tapi_peer_id sender;
	uint8_t nonce[TAPI_WELCOME_NONCE_BYTES];
	uint8_t *rest; // heap: the start of a unit that is not whole yet; grows as octets come, and
		       // is no more when they have
	size_t rest_length, rest_room;
};

TAPI_EXPORT void tapi_frame_reader_init(struct tapi_frame_reader *reader, uint32_t mtu);
TAPI_EXPORT void tapi_frame_reader_free(struct tapi_frame_reader *reader);
// Calls `whole` for each message that `octets` completes, in order, with sender, message, size,
// is_encrypted and crc filled in; `whole` returns false to stop the reader (its owner may be gone:
// nothing of the reader is touched after; TAPI_OK comes back). TAPI_EFORMAT, TAPI_ETOOBIG,
// TAPI_ENOMEM: close the stream; what was whole before has been given. Whole frames inside `octets`
// are not copied.
TAPI_EXPORT enum tapi_result tapi_frame_reader_feed(struct tapi_frame_reader *reader,
	const uint8_t *octets, size_t length,
	bool (*whole)(void *context, struct tapi_message_pack *pack), void *context);

#endif
