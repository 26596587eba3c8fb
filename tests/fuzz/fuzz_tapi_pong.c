// SPDX-License-Identifier: BSD-3-Clause
// PING and PONG of any content. Held, besides what the sanitizers see: what is decoded encodes to
// the same octets; the answer to a PING is never longer than it, answers it, and answers no other;
// no PONG is good that the one who was asked did not sign (tapi_vectors.h has the only one).
#include <stdlib.h>
#include <string.h>

#include "lib/tapi/tapi_vectors.h"
#include "transportapi/proto/ping.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static struct tapi_identity target, pinger;
static struct tapi_ping known_ping;
static uint8_t known_pong[TAPI_PONG_BYTES];

static void must(bool good)
{
	if (!good)
		abort();
}

static void begin(void)
{
	uint8_t octets[TAPI_PING_BYTES_MAX];
	size_t length = from_hex(octets, sizeof(octets), PING_HEX);

	identity_of(&target, SEED_1);
	identity_of(&pinger, SEED_2);
	must(tapi_ping_decode(&known_ping, octets, length) == TAPI_OK);
	must(from_hex(known_pong, sizeof(known_pong), PONG_HEX) == TAPI_PONG_BYTES);
}

static void answer(const struct tapi_ping *ping, size_t length)
{
	const struct tapi_source observed = {6, {0x20, 1, 0xd, 0xb8, [15] = 1}, 2086};
	struct tapi_ping own = *ping, other;
	struct tapi_pong pong, back;
	uint8_t octets[TAPI_PONG_BYTES];

	own.target = target.id;
	tapi_pong_sign(&pong, &own, &pinger.id, &observed, WALL_US + 1, &target);
	must(tapi_pong_encode(&pong, octets, sizeof(octets)) == TAPI_PONG_BYTES);
	must(length >= TAPI_PONG_BYTES);
	must(tapi_pong_decode(&back, octets, sizeof(octets)) == TAPI_OK);
	must(tapi_pong_check(&back, &own, &pinger.id, WALL_US) == TAPI_OK);
	must(tapi_pong_check(&back, &own, &target.id, WALL_US) == TAPI_ESIG);
	other = own;
	other.challenge[length % TAPI_CHALLENGE_BYTES] ^= 1;
	must(tapi_pong_check(&back, &other, &pinger.id, WALL_US) == TAPI_ESIG);
	other = own;
	other.address_hash[length % TAPI_ADDRESS_HASH_BYTES] ^= 1;
	must(tapi_pong_check(&back, &other, &pinger.id, WALL_US) == TAPI_ESIG);
	other = own;
	other.target = pinger.id;
	must(tapi_pong_check(&back, &other, &pinger.id, WALL_US) == TAPI_ESIG);
}

static void take_ping(const uint8_t *bytes, size_t len)
{
	uint8_t out[TAPI_PING_BYTES_MAX];
	struct tapi_ping ping;

	if (tapi_ping_decode(&ping, bytes, len) != TAPI_OK)
		return;
	must(len >= TAPI_PONG_BYTES && len <= TAPI_PING_BYTES_MAX);
	must(tapi_ping_encode(&ping, out, len) == len && memcmp(out, bytes, len) == 0);
	must(tapi_ping_encode(&ping, out, len - 1) < len);
	answer(&ping, len);
}

static void take_pong(const uint8_t *bytes, size_t len)
{
	uint8_t out[TAPI_PONG_BYTES];
	struct tapi_ping ping = known_ping;
	struct tapi_pong pong;

	if (tapi_pong_decode(&pong, bytes, len) != TAPI_OK)
		return;
	must(len == TAPI_PONG_BYTES);
	must(tapi_pong_encode(&pong, out, len) == len && memcmp(out, bytes, len) == 0);
	// as deep as it goes: the challenge and the key are not what it fails by
	memcpy(ping.challenge, pong.challenge, sizeof(ping.challenge));
	tapi_peer_id_of(&ping.target, pong.public_key);
	if (tapi_pong_check(&pong, &ping, &pinger.id, WALL_US) == TAPI_OK)
		must(memcmp(bytes, known_pong, len) == 0);
	if (tapi_pong_check(&pong, &known_ping, &pinger.id, WALL_US) == TAPI_OK)
		must(memcmp(bytes, known_pong, len) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	if (!known_pong[0] && !known_pong[1])
		begin();
	take_ping(bytes, len);
	take_pong(bytes, len);
	return 0;
}
