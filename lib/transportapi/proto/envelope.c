// SPDX-License-Identifier: BSD-3-Clause
// Encodes and checks the header of datagrams.
#include "transportapi/proto/envelope.h"

#include "transportapi/base/wire.h"

#define ENVELOPE_VERSION   1
#define ENVELOPE_ENCRYPTED 1u // the one flag

void tapi_envelope_encode(uint8_t out[TAPI_ENVELOPE_BYTES], const struct tapi_peer_id *sender,
	uint32_t message_size, bool is_encrypted, uint32_t crc)
{
	uint8_t *p = tapi_put16(out, (uint16_t)(TAPI_ENVELOPE_BYTES + message_size));

	*p++ = ENVELOPE_VERSION;
	*p++ = is_encrypted ? ENVELOPE_ENCRYPTED : 0;
	p = tapi_put32(p, crc);
	tapi_put(p, sender->octets, TAPI_PEER_ID_BYTES);
}

// The size has to be the datagram's to the octet: what is cut off, or has something behind it, was
// not sent by one of us.
enum tapi_result tapi_envelope_decode(
	struct tapi_message_pack *out, const uint8_t *datagram, size_t length)
{
	if (length < TAPI_ENVELOPE_BYTES || length > TAPI_ENVELOPE_SIZE_MAX ||
		tapi_get16(datagram) != length || datagram[2] != ENVELOPE_VERSION ||
		(datagram[3] & ~ENVELOPE_ENCRYPTED) != 0)
		return TAPI_EFORMAT;
	out->is_encrypted = datagram[3] & ENVELOPE_ENCRYPTED;
	out->crc = tapi_get32(datagram + 4);
	memcpy(out->sender.octets, datagram + 8, TAPI_PEER_ID_BYTES);
	out->message = datagram + TAPI_ENVELOPE_BYTES;
	out->size = (uint32_t)length - TAPI_ENVELOPE_BYTES;
	return TAPI_OK;
}
