// SPDX-License-Identifier: BSD-3-Clause
// PING and PONG: the wire, padding, and every PONG that is no answer (TA8, TA9).
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "lib/tapi/tapi_vectors.h"
#include "transportapi/proto/ping.h"
#include "transportapi/base/wire.h"

#define MINUTE_US (60 * UINT64_C(1000000))

static uint8_t ping_wire[TAPI_PING_BYTES_MAX], pong_wire[TAPI_PONG_BYTES];
static size_t ping_length;
static struct tapi_ping ping;
static struct tapi_pong pong;
static struct tapi_identity target, pinger;

static int vectors(void **state)
{
	(void)state;
	identity_of(&target, SEED_1);
	identity_of(&pinger, SEED_2);
	ping_length = from_hex(ping_wire, sizeof(ping_wire), PING_HEX);
	if (from_hex(pong_wire, sizeof(pong_wire), PONG_HEX) != TAPI_PONG_BYTES)
		return -1;
	return tapi_ping_decode(&ping, ping_wire, ping_length) ||
	       tapi_pong_decode(&pong, pong_wire, sizeof(pong_wire));
}

static void test_known(void **state)
{
	static const struct tapi_source observed = {4, {203, 0, 113, 9}, 4242};
	uint8_t out[TAPI_PING_BYTES_MAX], hash[TAPI_ADDRESS_HASH_BYTES];
	struct tapi_pong own;

	(void)state;
	assert_true(tapi_peer_id_equal(&ping.target, &target.id));
	for (uint8_t i = 0; i < TAPI_CHALLENGE_BYTES; i++)
		assert_int_equal(ping.challenge[i], i);
	assert_int_equal(ping.protocol, 17);
	assert_int_equal(ping.n_helos, 1);
	assert_int_equal(tapi_helo_check(&ping.helos[0], WALL_US, false), TAPI_OK);
	tapi_helo_address_hash(&ping.helos[0], hash);
	assert_memory_equal(ping.address_hash, hash, sizeof(hash));
	assert_int_equal(tapi_ping_encode(&ping, out, sizeof(out)), ping_length);
	assert_memory_equal(out, ping_wire, ping_length);

	assert_int_equal(tapi_pong_check(&pong, &ping, &pinger.id, WALL_US), TAPI_OK);
	assert_int_equal(pong.observed.family, 4);
	assert_int_equal(pong.observed.port, 4242);
	assert_memory_equal(pong.observed.address, observed.address, 16);
	assert_true(pong.valid_until_us == WALL_US + MINUTE_US);
	tapi_pong_sign(&own, &ping, &pinger.id, &observed, WALL_US + MINUTE_US, &target);
	assert_int_equal(tapi_pong_encode(&own, out, sizeof(out)), TAPI_PONG_BYTES);
	assert_memory_equal(out, pong_wire, TAPI_PONG_BYTES);
	assert_int_equal(tapi_pong_encode(&own, out, TAPI_PONG_BYTES - 1), 0);
}

// Any bit of a PONG that flips: no shape, or no signature.
static void test_pong_flips(void **state)
{
	unsigned malformed = 0;

	(void)state;
	for (size_t bit = 0; bit < 8 * sizeof(pong_wire); bit++) {
		uint8_t *exact = malloc(sizeof(pong_wire));
		struct tapi_pong got;

		assert_non_null(exact);
		memcpy(exact, pong_wire, sizeof(pong_wire));
		exact[bit / 8] ^= (uint8_t)(1u << bit % 8);
		if (tapi_pong_decode(&got, exact, sizeof(pong_wire))) {
			malformed++;
		} else {
			enum tapi_result result = tapi_pong_check(&got, &ping, &pinger.id, WALL_US);

			assert_true(result == TAPI_ESIG ||
				    (result == TAPI_EEXPIRED && bit / 8 >= 88 && bit / 8 < 96));
		}
		free(exact);
	}
	// size, type, what stands after the family, the 12 octets that IPv4 leaves; and of the 8
	// families that are one bit from 4, only 6 is one (0 would have no port)
	assert_int_equal(malformed, 8 * (2 + 2 + 1 + 12) + 7);
}

// A PING whose bits flip is another question: the PONG to one does not answer the other.
static void test_ping_flips(void **state)
{
	(void)state;
	for (size_t bit = 8 * 4; bit < 8 * 88; bit++) {
		struct tapi_ping got;
		struct tapi_pong answer;

		ping_wire[bit / 8] ^= (uint8_t)(1u << bit % 8);
		if (tapi_ping_decode(&got, ping_wire, ping_length) == TAPI_OK &&
			(bit / 8 < 68 || bit / 8 >= 72)) {
			tapi_pong_sign(&answer, &got, &pinger.id, &pong.observed,
				WALL_US + MINUTE_US, &target);
			assert_int_equal(tapi_pong_check(&answer, &ping, &pinger.id, WALL_US),
				bit / 8 >= 36 && bit / 8 < 68 ? TAPI_OK : TAPI_ESIG);
		}
		ping_wire[bit / 8] ^= (uint8_t)(1u << bit % 8);
	}
}

// Fabricated ones (TA9).
static void test_fabricated(void **state)
{
	struct tapi_ping other = ping;
	struct tapi_pong answer;
	struct tapi_identity third;
	const uint64_t until = WALL_US + MINUTE_US;

	(void)state;
	identity_of(&third, PUBLIC_1); // any 32 octets are a seed
	// an old challenge: the answer to another PING to the same peer
	other.challenge[31] ^= 1;
	tapi_pong_sign(&answer, &other, &pinger.id, &pong.observed, until, &target);
	assert_int_equal(tapi_pong_check(&answer, &other, &pinger.id, WALL_US), TAPI_OK);
	assert_int_equal(tapi_pong_check(&answer, &ping, &pinger.id, WALL_US), TAPI_ESIG);
	// the same with the challenge put right, by somebody on the way
	memcpy(answer.challenge, ping.challenge, sizeof(answer.challenge));
	assert_int_equal(tapi_pong_check(&answer, &ping, &pinger.id, WALL_US), TAPI_ESIG);
	// another peer answers, in its own name, and in that of the one who was asked
	tapi_pong_sign(&answer, &ping, &pinger.id, &pong.observed, until, &third);
	assert_int_equal(tapi_pong_check(&answer, &ping, &pinger.id, WALL_US), TAPI_ESIG);
	memcpy(answer.public_key, target.public_key, sizeof(answer.public_key));
	assert_int_equal(tapi_pong_check(&answer, &ping, &pinger.id, WALL_US), TAPI_ESIG);
	// an answer to somebody else's PING, who had the same challenge
	tapi_pong_sign(&answer, &ping, &third.id, &pong.observed, until, &target);
	assert_int_equal(tapi_pong_check(&answer, &ping, &third.id, WALL_US), TAPI_OK);
	assert_int_equal(tapi_pong_check(&answer, &ping, &pinger.id, WALL_US), TAPI_ESIG);
	// at another address
	other = ping;
	other.address_hash[0] ^= 1;
	tapi_pong_sign(&answer, &other, &pinger.id, &pong.observed, until, &target);
	assert_int_equal(tapi_pong_check(&answer, &ping, &pinger.id, WALL_US), TAPI_ESIG);
	// no signature at all
	answer = pong;
	memset(answer.signature, 0, sizeof(answer.signature));
	assert_int_equal(tapi_pong_check(&answer, &ping, &pinger.id, WALL_US), TAPI_ESIG);
}

static void test_expiry(void **state)
{
	struct tapi_pong answer;
	static const struct {
		uint64_t until, wall;
		enum tapi_result result;
	} times[] = {
		{WALL_US, WALL_US - 1, TAPI_OK},
		{WALL_US, WALL_US, TAPI_EEXPIRED}, // nothing is left of it
		{WALL_US, WALL_US + 1, TAPI_EEXPIRED},
		{0, WALL_US, TAPI_EEXPIRED},
		{0, UINT64_MAX, TAPI_EEXPIRED},
		{UINT64_MAX, UINT64_MAX, TAPI_EEXPIRED},
		{UINT64_MAX, 0, TAPI_OK},
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
		tapi_pong_sign(&answer, &ping, &pinger.id, &pong.observed, times[i].until, &target);
		assert_int_equal(tapi_pong_check(&answer, &ping, &pinger.id, times[i].wall),
			times[i].result);
	}
	// one that was good stays good for its time only: a replay after it is refused
	assert_int_equal(
		tapi_pong_check(&pong, &ping, &pinger.id, WALL_US + MINUTE_US), TAPI_EEXPIRED);
}

// With 0 to 4 HELOs, in any room: the answer is never longer than the question.
static void test_padding(void **state)
{
	const size_t fixed = 88, helo = ping_length - fixed;

	(void)state;
	for (unsigned n = 0; n <= TAPI_PING_HELOS_MAX; n++) {
		struct tapi_ping many = ping, got;

		many.n_helos = n;
		for (unsigned i = 0; i < n; i++)
			many.helos[i] = ping.helos[0];
		for (size_t room = 0; room <= fixed + 5 * helo; room++) {
			uint8_t *out = malloc(room ? room : 1);
			size_t size;

			assert_non_null(out);
			size = tapi_ping_encode(&many, out, room);
			if (room < TAPI_PONG_BYTES) {
				assert_int_equal(size, 0);
			} else {
				unsigned fit = (unsigned)((room - fixed) / helo);
				size_t want = fixed + (fit < n ? fit : n) * helo;

				assert_int_equal(
					size, want < TAPI_PONG_BYTES ? TAPI_PONG_BYTES : want);
				assert_int_equal(tapi_ping_decode(&got, out, size), TAPI_OK);
				assert_int_equal(got.n_helos, fit < n ? fit : n);
			}
			free(out);
		}
	}
	// the largest there is
	struct tapi_ping most = ping;
	uint8_t out[TAPI_PING_BYTES_MAX];

	most.n_helos = TAPI_PING_HELOS_MAX;
	for (unsigned i = 0; i < TAPI_PING_HELOS_MAX; i++)
		most.helos[i] =
			(struct tapi_helo){.protocol = 6, .address_size = TAPI_ADDRESS_BYTES};
	assert_int_equal(tapi_ping_encode(&most, out, sizeof(out)), TAPI_PING_BYTES_MAX);
	assert_int_equal(tapi_ping_decode(&most, out, sizeof(out)), TAPI_OK);
	most.n_helos = TAPI_PING_HELOS_MAX + 1;
	assert_int_equal(tapi_ping_encode(&most, out, sizeof(out)), 0);
}

// Not as long as they say, or as they have to be.
static void test_malformed(void **state)
{
	uint8_t octets[TAPI_PING_BYTES_MAX + 64] = {0};
	struct tapi_ping got;
	struct tapi_pong answer;
	size_t size;

	(void)state;
	for (size_t length = 0; length < ping_length; length++) {
		uint8_t *exact = malloc(length ? length : 1);

		assert_non_null(exact);
		memcpy(exact, ping_wire, length);
		assert_int_equal(tapi_ping_decode(&got, exact, length), TAPI_EFORMAT);
		if (length >= 4) {
			tapi_put16(exact, (uint16_t)length);
			assert_int_equal(tapi_ping_decode(&got, exact, length), TAPI_EFORMAT);
		}
		free(exact);
	}
	for (size_t length = 0; length < sizeof(pong_wire); length++) {
		uint8_t *exact = malloc(length ? length : 1);

		assert_non_null(exact);
		memcpy(exact, pong_wire, length);
		if (length >= 4)
			tapi_put16(exact, (uint16_t)length);
		assert_int_equal(tapi_pong_decode(&answer, exact, length), TAPI_EFORMAT);
		free(exact);
	}
	memcpy(octets, pong_wire, sizeof(pong_wire));
	tapi_put16(octets, TAPI_PONG_BYTES + 1);
	assert_int_equal(tapi_pong_decode(&answer, octets, TAPI_PONG_BYTES + 1), TAPI_EFORMAT);
	// octets behind the last HELO, also zeros: a PING is as long as it has to be
	memset(octets, 0, sizeof(octets));
	memcpy(octets, ping_wire, ping_length);
	tapi_put16(octets, (uint16_t)(ping_length + 1));
	assert_int_equal(tapi_ping_decode(&got, octets, ping_length + 1), TAPI_EFORMAT);
	// padding that is none
	ping.n_helos = 0;
	size = tapi_ping_encode(&ping, octets, sizeof(octets));
	assert_int_equal(size, TAPI_PONG_BYTES);
	for (size_t i = 88; i < size; i++) {
		assert_int_equal(octets[i], 0);
		octets[i] = 1;
		assert_int_equal(tapi_ping_decode(&got, octets, size), TAPI_EFORMAT);
		octets[i] = 0;
	}
	assert_int_equal(tapi_ping_decode(&got, octets, size), TAPI_OK);
	// more HELOs than there may be, more than there are
	tapi_put16(octets + 70, TAPI_PING_HELOS_MAX + 1);
	assert_int_equal(tapi_ping_decode(&got, octets, size), TAPI_EFORMAT);
	tapi_put16(octets + 70, 1);
	assert_int_equal(tapi_ping_decode(&got, octets, size), TAPI_EFORMAT);
	// five that are there: there is no place for the fifth
	tapi_put16(octets + 70, TAPI_PING_HELOS_MAX + 1);
	for (unsigned i = 0; i <= TAPI_PING_HELOS_MAX; i++)
		tapi_helo_encode(&ping.helos[0], octets + 88 + (size_t)i * 134, 134);
	tapi_put16(octets, 88 + 5 * 134);
	assert_int_equal(tapi_ping_decode(&got, octets, 88 + 5 * 134), TAPI_EFORMAT);
	tapi_put16(octets + 70, TAPI_PING_HELOS_MAX);
	tapi_put16(octets, 88 + 4 * 134);
	assert_int_equal(tapi_ping_decode(&got, octets, 88 + 4 * 134), TAPI_OK);
}

// Protocol 0: the session itself is asked after, there is no address.
static void test_session_ping(void **state)
{
	uint8_t octets[TAPI_PING_BYTES_MAX];
	struct tapi_ping got;
	size_t size;

	(void)state;
	ping.protocol = 0;
	assert_int_equal(tapi_ping_encode(&ping, octets, sizeof(octets)), 0);
	memset(ping.address_hash, 0, sizeof(ping.address_hash));
	size = tapi_ping_encode(&ping, octets, sizeof(octets));
	assert_int_equal(size, ping_length);
	assert_int_equal(tapi_ping_decode(&got, octets, size), TAPI_OK);
	octets[72] = 1;
	assert_int_equal(tapi_ping_decode(&got, octets, size), TAPI_EFORMAT);
}

// What the other end saw: each family, and what has no such shape.
static void test_observed(void **state)
{
	static const struct {
		struct tapi_source source;
		unsigned says; // octets of the address
	} sources[] = {
		{{4, {192, 0, 2, 1}, 2086}, 4},
		{{6, {0x20, 1, 0xd, 0xb8, [15] = 1}, 65535}, 16},
		{{0, {0}, 0}, 0},
		{{4, {192, 0, 2, 1, 7, 7}, 0}, 4}, // what stands behind IPv4 is not sent
		{{0, {1, 2}, 9}, 0},
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(sources) / sizeof(sources[0]); i++) {
		static const uint8_t zeros[16];
		struct tapi_pong answer, got;
		uint8_t octets[TAPI_PONG_BYTES];
		unsigned says = sources[i].says;

		tapi_pong_sign(
			&answer, &ping, &pinger.id, &sources[i].source, WALL_US + 1, &target);
		tapi_pong_encode(&answer, octets, sizeof(octets));
		assert_int_equal(tapi_pong_decode(&got, octets, sizeof(octets)), TAPI_OK);
		assert_int_equal(tapi_pong_check(&got, &ping, &pinger.id, WALL_US), TAPI_OK);
		assert_int_equal(got.observed.family, sources[i].source.family);
		assert_int_equal(got.observed.port, says ? sources[i].source.port : 0);
		assert_memory_equal(got.observed.address, sources[i].source.address, says);
		assert_memory_equal(got.observed.address + says, zeros, 16 - says);
		if (!says) { // nowhere has no port, and no address
			octets[71] = 1;
			assert_int_equal(
				tapi_pong_decode(&got, octets, sizeof(octets)), TAPI_EFORMAT);
			octets[71] = 0;
			octets[72] = 1;
			assert_int_equal(
				tapi_pong_decode(&got, octets, sizeof(octets)), TAPI_EFORMAT);
		}
		for (unsigned family = 0; family < 256; family++) {
			octets[68] = (uint8_t)family;
			if (family != 0 && family != 4 && family != 6)
				assert_int_equal(tapi_pong_decode(&got, octets, sizeof(octets)),
					TAPI_EFORMAT);
		}
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_known, vectors),
		cmocka_unit_test_setup(test_pong_flips, vectors),
		cmocka_unit_test_setup(test_ping_flips, vectors),
		cmocka_unit_test_setup(test_fabricated, vectors),
		cmocka_unit_test_setup(test_expiry, vectors),
		cmocka_unit_test_setup(test_padding, vectors),
		cmocka_unit_test_setup(test_malformed, vectors),
		cmocka_unit_test_setup(test_session_ping, vectors),
		cmocka_unit_test_setup(test_observed, vectors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
