// SPDX-License-Identifier: BSD-3-Clause
// Encodes binding requests of STUN and parses their responses.
#include "transportapi/proto/stun.h"

#include <zlib.h>

#include "transportapi/base/wire.h"

#define HEAD_BYTES      20
#define COOKIE          0x2112a442u
#define FINGERPRINT_XOR 0x5354554eu

#define TYPE_REQUEST 0x0001
#define TYPE_SUCCESS 0x0101
#define TYPE_ERROR   0x0111

enum { // RFC 8489, 18.3
	MAPPED_ADDRESS = 0x0001,
	SOURCE_ADDRESS = 0x0004, // of RFC 3489, as CHANGED_ADDRESS: servers tell them still
	CHANGED_ADDRESS = 0x0005,
	USERNAME = 0x0006,
	MESSAGE_INTEGRITY = 0x0008,
	ERROR_CODE = 0x0009,
	UNKNOWN_ATTRIBUTES = 0x000a,
	REALM = 0x0014,
	NONCE = 0x0015,
	MESSAGE_INTEGRITY_SHA256 = 0x001c,
	PASSWORD_ALGORITHM = 0x001d,
	USERHASH = 0x001e,
	XOR_MAPPED_ADDRESS = 0x0020,
	OPTIONAL = 0x8000, // from here on nobody has to understand it
	FINGERPRINT = 0x8028,
};

static uint32_t fingerprint(const uint8_t *octets, size_t before)
{
	return (uint32_t)crc32(0, octets, (unsigned)before) ^ FINGERPRINT_XOR;
}

void tapi_stun_request(uint8_t out[TAPI_STUN_REQUEST_BYTES], const uint8_t id[TAPI_STUN_ID_BYTES])
{
	uint8_t *p =
		tapi_put16(tapi_put16(out, TYPE_REQUEST), TAPI_STUN_REQUEST_BYTES - HEAD_BYTES);

	p = tapi_put(tapi_put32(p, COOKIE), id, TAPI_STUN_ID_BYTES);
	p = tapi_put16(tapi_put16(p, FINGERPRINT), 4);
	tapi_put32(p, fingerprint(out, HEAD_BYTES));
}

bool tapi_stun_is(const uint8_t *octets, size_t length)
{
	return length >= HEAD_BYTES && (octets[0] & 0xc0) == 0 && tapi_get32(octets + 4) == COOKIE;
}

// u8 0, u8 family, u16 port, address. `mask`: cookie and id, or zeros.
static bool address_decode(
	struct tapi_source *out, const uint8_t *value, uint16_t length, const uint8_t mask[16])
{
	size_t bytes = length == 8 ? 4 : 16;

	if (!(length == 8 && value[1] == 1) && !(length == 20 && value[1] == 2))
		return false;
	*out = (struct tapi_source){.family = bytes == 4 ? 4 : 6};
	out->port = (uint16_t)(tapi_get16(value + 2) ^ tapi_get16(mask));
	for (size_t i = 0; i < bytes; i++)
		out->address[i] = value[4 + i] ^ mask[i];
	return true;
}

struct reading {
	struct tapi_stun_answer *out;
	const uint8_t *octets;
	struct tapi_source plain, xored; // the first of each; family 0: none
	bool sealed;                     // MESSAGE-INTEGRITY: what follows does not count (9.1)
	bool unknown, has_code;
};

// false: malformed.
static bool attribute(struct reading *at, uint16_t type, const uint8_t *value, uint16_t length)
{
	static const uint8_t none[16];

	if (at->sealed)
		return true;
	switch (type) {
	case XOR_MAPPED_ADDRESS:
		return at->xored.family != 0 ||
		       address_decode(&at->xored, value, length, at->octets + 4);
	case MAPPED_ADDRESS:
		return at->plain.family != 0 || address_decode(&at->plain, value, length, none);
	case ERROR_CODE:
		if (length < 4)
			return false;
		if (!at->has_code)
			at->out->code = (value[2] & 7u) * 100u + value[3];
		at->has_code = true;
		return true;
	case MESSAGE_INTEGRITY: // we have no key to ask it with
		at->sealed = true;
		return length == 20;
	case MESSAGE_INTEGRITY_SHA256:
		at->sealed = true;
		return length >= 16 && length <= 32 && length % 4 == 0;
	case SOURCE_ADDRESS:
	case CHANGED_ADDRESS:
	case USERNAME:
	case UNKNOWN_ATTRIBUTES:
	case REALM:
	case NONCE:
	case PASSWORD_ALGORITHM:
	case USERHASH: return true;
	default: at->unknown |= type < OPTIONAL; return true;
	}
}

static bool attributes(struct reading *at, size_t length)
{
	size_t place = HEAD_BYTES;

	while (place < length) {
		const uint8_t *head = at->octets + place;
		uint16_t type, bytes;

		if (length - place < 4)
			return false;
		type = tapi_get16(head);
		bytes = tapi_get16(head + 2);
		if (((size_t)bytes + 3) / 4 * 4 > length - place - 4)
			return false;
		if (type == FINGERPRINT)
			return bytes == 4 && place + 8 == length &&
			       tapi_get32(head + 4) == fingerprint(at->octets, place);
		if (!attribute(at, type, head + 4, bytes))
			return false;
		place += 4 + ((size_t)bytes + 3) / 4 * 4;
	}
	return true;
}

enum tapi_result tapi_stun_decode(
	struct tapi_stun_answer *out, const uint8_t *octets, size_t length)
{
	struct reading at = {.out = out, .octets = octets};
	uint16_t type;

	*out = (struct tapi_stun_answer){.kind = TAPI_STUN_MAPPED};
	if (!tapi_stun_is(octets, length) || length % 4 != 0 ||
		tapi_get16(octets + 2) != length - HEAD_BYTES)
		return TAPI_EFORMAT;
	type = tapi_get16(octets);
	if (type != TYPE_SUCCESS && type != TYPE_ERROR)
		return TAPI_EFORMAT;
	memcpy(out->id, octets + 8, sizeof(out->id));
	if (!attributes(&at, length))
		return TAPI_EFORMAT;
	if (type == TYPE_ERROR) {
		out->kind = TAPI_STUN_REFUSED;
		return TAPI_OK;
	}
	out->code = 0;
	if (at.unknown) {
		out->kind = TAPI_STUN_UNKNOWN;
		return TAPI_OK;
	}
	// What is not masked may have been rewritten on the way by a NAT that means well.
	out->mapped = at.xored.family != 0 ? at.xored : at.plain;
	return out->mapped.family != 0 ? TAPI_OK : TAPI_EFORMAT;
}
