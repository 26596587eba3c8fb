// SPDX-License-Identifier: BSD-3-Clause
// Encodes, signs and verifies PING and PONG messages.
#include "transportapi/proto/ping.h"

#include <assert.h>
#include <sodium.h>
#include <string.h>

#include "transportapi/base/wire.h"

static_assert(TAPI_PING_BYTES_MAX <= UINT16_MAX, "its size is 16 bits on the wire");

#define PING_FIXED_BYTES (4 + 32 + 32 + 4 + TAPI_ADDRESS_HASH_BYTES)
#define OBSERVED_BYTES   20
#define SIGNED_BYTES                                                                           \
	(sizeof(label) + TAPI_CHALLENGE_BYTES + TAPI_PEER_ID_BYTES + TAPI_ADDRESS_HASH_BYTES + \
		OBSERVED_BYTES + 8)

static const char label[] = "sluice-pong-v1"; // its NUL is signed, too

static bool is_zero(const uint8_t *octets, size_t length)
{
	return sodium_is_zero(octets, length) == 1;
}

size_t tapi_ping_encode(const struct tapi_ping *ping, uint8_t *out, size_t room)
{
	uint16_t n_helos = 0;
	size_t size = PING_FIXED_BYTES;
	uint8_t *at = out;

	if (room < TAPI_PONG_BYTES || ping->n_helos > TAPI_PING_HELOS_MAX)
		return 0;
	if (!ping->protocol && !is_zero(ping->address_hash, sizeof(ping->address_hash)))
		return 0;
	for (unsigned i = 0; i < ping->n_helos; i++) {
		size_t used = tapi_helo_encode(&ping->helos[i], out + size, room - size);

		size += used;
		n_helos = (uint16_t)(n_helos + (used != 0));
	}
	if (size < TAPI_PONG_BYTES) {
		memset(out + size, 0, TAPI_PONG_BYTES - size);
		size = TAPI_PONG_BYTES;
	}
	at = tapi_put16(at, (uint16_t)size);
	at = tapi_put16(at, TAPI_TYPE_PING);
	at = tapi_put(at, ping->challenge, sizeof(ping->challenge));
	at = tapi_put(at, ping->target.octets, sizeof(ping->target.octets));
	at = tapi_put16(at, ping->protocol);
	at = tapi_put16(at, n_helos);
	tapi_put(at, ping->address_hash, sizeof(ping->address_hash));
	return size;
}

enum tapi_result tapi_ping_decode(struct tapi_ping *out, const uint8_t *octets, size_t length)
{
	size_t at = PING_FIXED_BYTES;

	if (length < TAPI_PONG_BYTES || tapi_get16(octets) != length ||
		tapi_get16(octets + 2) != TAPI_TYPE_PING)
		return TAPI_EFORMAT;
	memcpy(out->challenge, octets + 4, sizeof(out->challenge));
	memcpy(out->target.octets, octets + 36, sizeof(out->target.octets));
	out->protocol = tapi_get16(octets + 68);
	out->n_helos = tapi_get16(octets + 70);
	memcpy(out->address_hash, octets + 72, sizeof(out->address_hash));
	if (out->n_helos > TAPI_PING_HELOS_MAX)
		return TAPI_EFORMAT;
	if (!out->protocol && !is_zero(out->address_hash, sizeof(out->address_hash)))
		return TAPI_EFORMAT;
	for (unsigned i = 0; i < out->n_helos; i++) {
		size_t used;

		if (tapi_helo_decode(&out->helos[i], octets + at, length - at, &used))
			return TAPI_EFORMAT;
		at += used;
	}
	// padding: zeros, and up to the length of a PONG only
	if (!is_zero(octets + at, length - at) || (at < length && length != TAPI_PONG_BYTES))
		return TAPI_EFORMAT;
	return TAPI_OK;
}

// Octets of the address that say something.
static size_t address_bytes(const struct tapi_source *source)
{
	return source->family == 4 ? 4 : source->family == 6 ? 16 : 0;
}

static uint8_t *put_observed(uint8_t *at, const struct tapi_source *observed)
{
	size_t length = address_bytes(observed);

	memset(at, 0, OBSERVED_BYTES);
	if (length) {
		at[0] = observed->family;
		tapi_put16(at + 2, observed->port);
		memcpy(at + 4, observed->address, length);
	}
	return at + OBSERVED_BYTES;
}

static enum tapi_result get_observed(struct tapi_source *out, const uint8_t *at)
{
	size_t length;

	*out = (struct tapi_source){.family = at[0], .port = tapi_get16(at + 2)};
	length = address_bytes(out);
	memcpy(out->address, at + 4, length);
	if (out->family && !length)
		return TAPI_EFORMAT;
	if (at[1] || (!out->family && out->port) || !is_zero(at + 4 + length, 16 - length))
		return TAPI_EFORMAT;
	return TAPI_OK;
}

size_t tapi_pong_encode(const struct tapi_pong *pong, uint8_t *out, size_t room)
{
	uint8_t *at = out;

	if (room < TAPI_PONG_BYTES)
		return 0;
	at = tapi_put16(at, TAPI_PONG_BYTES);
	at = tapi_put16(at, TAPI_TYPE_PONG);
	at = tapi_put(at, pong->challenge, sizeof(pong->challenge));
	at = tapi_put(at, pong->public_key, sizeof(pong->public_key));
	at = put_observed(at, &pong->observed);
	at = tapi_put64(at, pong->valid_until_us);
	tapi_put(at, pong->signature, sizeof(pong->signature));
	return TAPI_PONG_BYTES;
}

enum tapi_result tapi_pong_decode(struct tapi_pong *out, const uint8_t *octets, size_t length)
{
	if (length != TAPI_PONG_BYTES || tapi_get16(octets) != length ||
		tapi_get16(octets + 2) != TAPI_TYPE_PONG)
		return TAPI_EFORMAT;
	memcpy(out->challenge, octets + 4, sizeof(out->challenge));
	memcpy(out->public_key, octets + 36, sizeof(out->public_key));
	out->valid_until_us = tapi_get64(octets + 88);
	memcpy(out->signature, octets + 96, sizeof(out->signature));
	return get_observed(&out->observed, octets + 68);
}

static void signed_octets(uint8_t out[SIGNED_BYTES], const struct tapi_pong *pong,
	const struct tapi_peer_id *pinger, const uint8_t address_hash[TAPI_ADDRESS_HASH_BYTES])
{
	uint8_t *at = out;

	at = tapi_put(at, label, sizeof(label));
	at = tapi_put(at, pong->challenge, sizeof(pong->challenge));
	at = tapi_put(at, pinger->octets, sizeof(pinger->octets));
	at = tapi_put(at, address_hash, TAPI_ADDRESS_HASH_BYTES);
	at = put_observed(at, &pong->observed);
	tapi_put64(at, pong->valid_until_us);
}

void tapi_pong_sign(struct tapi_pong *out, const struct tapi_ping *ping,
	const struct tapi_peer_id *pinger, const struct tapi_source *observed,
	uint64_t valid_until_us, const struct tapi_identity *identity)
{
	uint8_t octets[SIGNED_BYTES];

	memcpy(out->challenge, ping->challenge, sizeof(out->challenge));
	memcpy(out->public_key, identity->public_key, sizeof(out->public_key));
	out->observed = *observed;
	out->valid_until_us = valid_until_us;
	signed_octets(octets, out, pinger, ping->address_hash);
	crypto_sign_detached(out->signature, NULL, octets, sizeof(octets), identity->secret_key);
}

enum tapi_result tapi_pong_check(const struct tapi_pong *pong, const struct tapi_ping *ping,
	const struct tapi_peer_id *pinger, uint64_t wall_us)
{
	uint8_t octets[SIGNED_BYTES];
	struct tapi_peer_id sender;

	// what costs least first; the challenge is the secret of who pings
	if (sodium_memcmp(pong->challenge, ping->challenge, sizeof(pong->challenge)) != 0)
		return TAPI_ESIG;
	if (pong->valid_until_us <= wall_us)
		return TAPI_EEXPIRED;
	tapi_peer_id_of(&sender, pong->public_key);
	if (!tapi_peer_id_equal(&sender, &ping->target))
		return TAPI_ESIG;
	signed_octets(octets, pong, pinger, ping->address_hash);
	if (crypto_sign_verify_detached(
		    pong->signature, octets, sizeof(octets), pong->public_key) != 0)
		return TAPI_ESIG;
	return TAPI_OK;
}
