// SPDX-License-Identifier: BSD-3-Clause
// Encodes, signs and verifies HELO messages.
#include "transportapi/proto/helo.h"

#include <assert.h>
#include <sodium.h>
#include <string.h>

#include "transportapi/base/wire.h"

#define VERSION      1
#define SIGNATURE_AT 60u
#define SIZES_AT     (SIGNATURE_AT + TAPI_SIGNATURE_BYTES)
#define DAY_US       (24 * 3600 * UINT64_C(1000000))
#define SIGNED_MAX   (sizeof(label) + TAPI_HELO_BYTES_MAX)

static const char label[] = "sluice-helo-v1"; // its NUL is signed, too

static_assert(SIZES_AT + 4 == TAPI_HELO_FIXED_BYTES, "the wire is as helo.h says");

static bool has_shape(const struct tapi_helo *helo)
{
	if (!helo->protocol || helo->address_size > TAPI_ADDRESS_BYTES)
		return false;
	return helo->protocol != TAPI_PROTOCOL_NAT || !helo->address_size;
}

size_t tapi_helo_encode(const struct tapi_helo *helo, uint8_t *out, size_t room)
{
	size_t size = TAPI_HELO_FIXED_BYTES + (size_t)helo->address_size;
	uint8_t *at = out;

	if (!has_shape(helo) || size > room)
		return 0;
	at = tapi_put16(at, (uint16_t)size);
	at = tapi_put16(at, TAPI_TYPE_HELO);
	*at++ = VERSION;
	*at++ = helo->flags;
	at = tapi_put16(at, helo->protocol);
	at = tapi_put32(at, helo->mtu);
	at = tapi_put64(at, helo->expires_us);
	at = tapi_put64(at, helo->seq);
	at = tapi_put(at, helo->public_key, sizeof(helo->public_key));
	at = tapi_put(at, helo->signature, sizeof(helo->signature));
	at = tapi_put16(at, helo->address_size);
	at = tapi_put16(at, 0);
	tapi_put(at, helo->address, helo->address_size);
	return size;
}

enum tapi_result tapi_helo_decode(
	struct tapi_helo *out, const uint8_t *octets, size_t length, size_t *used)
{
	size_t size;

	if (length < TAPI_HELO_FIXED_BYTES)
		return TAPI_EFORMAT;
	size = tapi_get16(octets);
	if (size > length || tapi_get16(octets + 2) != TAPI_TYPE_HELO || octets[4] != VERSION)
		return TAPI_EFORMAT;
	*out = (struct tapi_helo){
		.flags = octets[5],
		.protocol = tapi_get16(octets + 6),
		.mtu = tapi_get32(octets + 8),
		.expires_us = tapi_get64(octets + 12),
		.seq = tapi_get64(octets + 20),
		.address_size = tapi_get16(octets + SIZES_AT),
	};
	if (!has_shape(out) || size != TAPI_HELO_FIXED_BYTES + (size_t)out->address_size ||
		tapi_get16(octets + SIZES_AT + 2) != 0)
		return TAPI_EFORMAT;
	memcpy(out->public_key, octets + 28, sizeof(out->public_key));
	memcpy(out->signature, octets + SIGNATURE_AT, sizeof(out->signature));
	memcpy(out->address, octets + TAPI_HELO_FIXED_BYTES, out->address_size);
	*used = size;
	return TAPI_OK;
}

// What is signed: the label, and the wire without the signature. 0: it has no shape.
static size_t signed_octets(const struct tapi_helo *helo, uint8_t out[SIGNED_MAX])
{
	uint8_t wire[TAPI_HELO_BYTES_MAX];
	size_t size = tapi_helo_encode(helo, wire, sizeof(wire));
	uint8_t *at = out;

	if (!size)
		return 0;
	at = tapi_put(at, label, sizeof(label));
	at = tapi_put(at, wire, SIGNATURE_AT);
	at = tapi_put(at, wire + SIZES_AT, size - SIZES_AT);
	return (size_t)(at - out);
}

void tapi_helo_sign(struct tapi_helo *helo, const struct tapi_identity *identity)
{
	uint8_t octets[SIGNED_MAX];
	size_t length;

	memcpy(helo->public_key, identity->public_key, sizeof(helo->public_key));
	memset(helo->signature, 0, sizeof(helo->signature));
	length = signed_octets(helo, octets);
	if (length)
		crypto_sign_detached(helo->signature, NULL, octets, length, identity->secret_key);
}

enum tapi_result tapi_helo_check(const struct tapi_helo *helo, uint64_t wall_us, bool high_latency)
{
	uint64_t most = TAPI_SKEW_US + (high_latency ? 7 * DAY_US : DAY_US);
	uint8_t octets[SIGNED_MAX];
	size_t length;

	// the clock costs nothing, the curve does
	if (helo->expires_us < wall_us && wall_us - helo->expires_us > TAPI_SKEW_US)
		return TAPI_EEXPIRED;
	if (helo->expires_us > wall_us && helo->expires_us - wall_us > most)
		return TAPI_EEXPIRED;
	length = signed_octets(helo, octets);
	if (!length ||
		crypto_sign_verify_detached(helo->signature, octets, length, helo->public_key) != 0)
		return TAPI_ESIG;
	return TAPI_OK;
}

void tapi_helo_peer(const struct tapi_helo *helo, struct tapi_peer_id *out)
{
	tapi_peer_id_of(out, helo->public_key);
}

void tapi_helo_address_hash(const struct tapi_helo *helo, uint8_t out[TAPI_ADDRESS_HASH_BYTES])
{
	uint8_t octets[2 + TAPI_ADDRESS_BYTES];
	size_t length = helo->address_size;

	if (length > TAPI_ADDRESS_BYTES) // no HELO that was decoded
		length = TAPI_ADDRESS_BYTES;
	tapi_put16(octets, helo->protocol);
	memcpy(octets + 2, helo->address, length);
	crypto_generichash(out, TAPI_ADDRESS_HASH_BYTES, octets, 2 + length, NULL, 0);
}
