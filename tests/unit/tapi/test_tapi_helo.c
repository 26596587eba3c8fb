// SPDX-License-Identifier: BSD-3-Clause
// HELO: the wire as it is written down, what has no such shape, signature and expiry (TA7).
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "lib/tapi/tapi_vectors.h"
#include "transportapi/proto/helo.h"
#include "transportapi/base/wire.h"

#define HOUR_US (3600 * UINT64_C(1000000))

static uint8_t wire[TAPI_HELO_BYTES_MAX];
static size_t wire_length;

static int vector(void **state)
{
	(void)state;
	wire_length = from_hex(wire, sizeof(wire), HELO_HEX);
	return 0;
}

// What was signed elsewhere is read, is good, is made the same by us.
static void test_known(void **state)
{
	struct tapi_identity identity;
	struct tapi_helo helo, own;
	struct tapi_peer_id id;
	uint8_t out[TAPI_HELO_BYTES_MAX], hash[TAPI_ADDRESS_HASH_BYTES], want[16];
	size_t used;

	(void)state;
	identity_of(&identity, SEED_1);
	assert_int_equal(tapi_helo_decode(&helo, wire, wire_length, &used), TAPI_OK);
	assert_int_equal(used, wire_length);
	assert_int_equal(helo.protocol, 17);
	assert_int_equal(helo.flags, TAPI_HELO_NATED);
	assert_int_equal(helo.mtu, 1200);
	assert_true(helo.expires_us == WALL_US + HOUR_US);
	assert_int_equal(helo.seq, 7);
	assert_int_equal(helo.address_size, 6);
	assert_memory_equal(helo.address, "\xc0\x00\x02\x01\x08\x26", 6);
	assert_int_equal(tapi_helo_check(&helo, WALL_US, false), TAPI_OK);
	tapi_helo_peer(&helo, &id);
	assert_true(tapi_peer_id_equal(&id, &identity.id));
	tapi_helo_address_hash(&helo, hash);
	from_hex(want, sizeof(want), ADDRESS_HASH_HEX);
	assert_memory_equal(hash, want, sizeof(want));

	own = helo;
	memset(own.public_key, 0, sizeof(own.public_key));
	memset(own.signature, 0, sizeof(own.signature));
	tapi_helo_sign(&own, &identity);
	assert_int_equal(tapi_helo_encode(&own, out, sizeof(out)), wire_length);
	assert_memory_equal(out, wire, wire_length);
	assert_int_equal(tapi_helo_encode(&own, out, wire_length), wire_length);
	assert_int_equal(tapi_helo_encode(&own, out, wire_length - 1), 0);
}

// Any bit that flips: no shape, or no signature.
static void test_flips(void **state)
{
	unsigned malformed = 0, forged = 0;

	(void)state;
	for (size_t bit = 0; bit < 8 * wire_length; bit++) {
		uint8_t *exact = malloc(wire_length);
		struct tapi_helo helo;
		size_t used;

		assert_non_null(exact);
		memcpy(exact, wire, wire_length);
		exact[bit / 8] ^= (uint8_t)(1u << bit % 8);
		if (tapi_helo_decode(&helo, exact, wire_length, &used)) {
			malformed++;
		} else {
			enum tapi_result result = tapi_helo_check(&helo, WALL_US, false);

			// a bit of the expiry may be reported first
			assert_true(result == TAPI_ESIG ||
				    (result == TAPI_EEXPIRED && bit / 8 >= 12 && bit / 8 < 20));
			forged++;
		}
		free(exact);
	}
	// size, type, version, address_size, the zeros; and one bit from udp's 17 is NAT's 1
	assert_int_equal(malformed, 8 * (2 + 2 + 1 + 2 + 2) + 1);
	assert_int_equal(forged, 8 * wire_length - malformed);
}

static void test_cut(void **state)
{
	struct tapi_helo helo;
	size_t used;

	(void)state;
	for (size_t length = 0; length < wire_length; length++) {
		uint8_t *exact = malloc(length ? length : 1);

		assert_non_null(exact);
		memcpy(exact, wire, length);
		assert_int_equal(tapi_helo_decode(&helo, exact, length, &used), TAPI_EFORMAT);
		free(exact);
	}
	// one that says of itself how long it is may be followed by others
	memcpy(wire + wire_length, wire, wire_length);
	assert_int_equal(tapi_helo_decode(&helo, wire, 2 * wire_length, &used), TAPI_OK);
	assert_int_equal(used, wire_length);
}

// Sizes, and the protocol that has no address.
static void test_sizes(void **state)
{
	struct tapi_identity identity;
	struct tapi_helo helo = {.protocol = 17, .expires_us = WALL_US}, out;
	uint8_t octets[TAPI_HELO_BYTES_MAX];
	size_t used;

	(void)state;
	identity_of(&identity, SEED_1);
	for (unsigned n = 0; n <= TAPI_ADDRESS_BYTES; n++) {
		helo.address_size = (uint16_t)n;
		if (n)
			helo.address[n - 1] = (uint8_t)n;
		tapi_helo_sign(&helo, &identity);
		assert_int_equal(tapi_helo_encode(&helo, octets, sizeof(octets)), 128 + n);
		assert_int_equal(tapi_helo_decode(&out, octets, 128 + n, &used), TAPI_OK);
		assert_memory_equal(out.address, helo.address, n);
		assert_int_equal(tapi_helo_check(&out, WALL_US, false), TAPI_OK);
	}
	helo.address_size = TAPI_ADDRESS_BYTES + 1;
	tapi_helo_sign(&helo, &identity);
	assert_int_equal(tapi_helo_encode(&helo, octets, sizeof(octets)), 0);
	assert_int_equal(tapi_helo_check(&helo, WALL_US, false), TAPI_ESIG);
	helo.protocol = TAPI_PROTOCOL_NAT;
	helo.address_size = 1;
	assert_int_equal(tapi_helo_encode(&helo, octets, sizeof(octets)), 0);
	helo.address_size = 0;
	tapi_helo_sign(&helo, &identity);
	assert_int_equal(tapi_helo_encode(&helo, octets, sizeof(octets)), 128);
	assert_int_equal(tapi_helo_decode(&out, octets, 128, &used), TAPI_OK);
	assert_int_equal(tapi_helo_check(&out, WALL_US, false), TAPI_OK);
	helo.protocol = 0;
	assert_int_equal(tapi_helo_encode(&helo, octets, sizeof(octets)), 0);
	tapi_put16(octets + 6, 0);
	assert_int_equal(tapi_helo_decode(&out, octets, 128, &used), TAPI_EFORMAT);
	// one with an address of 193 octets, as another implementation might make it
	memset(wire, 0, sizeof(wire));
	uint8_t longer[TAPI_HELO_BYTES_MAX + 1] = {0};

	memcpy(longer, octets, 128);
	tapi_put16(longer, sizeof(longer));
	tapi_put16(longer + 6, 17);
	tapi_put16(longer + 124, TAPI_ADDRESS_BYTES + 1);
	assert_int_equal(tapi_helo_decode(&out, longer, sizeof(longer), &used), TAPI_EFORMAT);
}

// Flags that nobody knows yet are carried, and signed like the rest.
static void test_flags(void **state)
{
	struct tapi_identity identity;
	struct tapi_helo helo = {.protocol = 17, .flags = 0xff, .expires_us = WALL_US}, out;
	uint8_t octets[TAPI_HELO_BYTES_MAX];
	size_t used;

	(void)state;
	identity_of(&identity, SEED_1);
	tapi_helo_sign(&helo, &identity);
	assert_int_equal(tapi_helo_encode(&helo, octets, sizeof(octets)), 128);
	assert_int_equal(tapi_helo_decode(&out, octets, 128, &used), TAPI_OK);
	assert_int_equal(out.flags, 0xff);
	assert_int_equal(tapi_helo_check(&out, WALL_US, false), TAPI_OK);
	out.flags = 0x7f;
	assert_int_equal(tapi_helo_check(&out, WALL_US, false), TAPI_ESIG);
}

static enum tapi_result at(uint64_t expires_us, uint64_t wall_us, bool high_latency)
{
	struct tapi_identity identity;
	struct tapi_helo helo = {.protocol = 17, .expires_us = expires_us};

	identity_of(&identity, SEED_1);
	tapi_helo_sign(&helo, &identity);
	return tapi_helo_check(&helo, wall_us, high_latency);
}

static void test_expiry(void **state)
{
	const uint64_t skew = HOUR_US / 6, day = 24 * HOUR_US;

	(void)state;
	assert_int_equal(at(WALL_US, WALL_US, false), TAPI_OK);
	assert_int_equal(at(WALL_US - skew, WALL_US, false), TAPI_OK);
	assert_int_equal(at(WALL_US - skew - 1, WALL_US, false), TAPI_EEXPIRED);
	assert_int_equal(at(0, WALL_US, false), TAPI_EEXPIRED);
	assert_int_equal(at(WALL_US + day + skew, WALL_US, false), TAPI_OK);
	assert_int_equal(at(WALL_US + day + skew + 1, WALL_US, false), TAPI_EEXPIRED);
	assert_int_equal(at(WALL_US + day + skew + 1, WALL_US, true), TAPI_OK);
	assert_int_equal(at(WALL_US + 7 * day + skew, WALL_US, true), TAPI_OK);
	assert_int_equal(at(WALL_US + 7 * day + skew + 1, WALL_US, true), TAPI_EEXPIRED);
	assert_int_equal(at(WALL_US - skew - 1, WALL_US, true), TAPI_EEXPIRED);
	assert_int_equal(at(UINT64_MAX, WALL_US, true), TAPI_EEXPIRED);
	// a clock that stands at its beginning, or end, wraps nothing
	assert_int_equal(at(1, 0, false), TAPI_OK);
	assert_int_equal(at(UINT64_MAX, UINT64_MAX, false), TAPI_OK);
	assert_int_equal(at(0, UINT64_MAX, false), TAPI_EEXPIRED);
}

// Signed by one, in the name of another.
static void test_other_key(void **state)
{
	struct tapi_identity one, two;
	struct tapi_helo helo = {.protocol = 17, .expires_us = WALL_US};

	(void)state;
	identity_of(&one, SEED_1);
	identity_of(&two, SEED_2);
	tapi_helo_sign(&helo, &one);
	memcpy(helo.public_key, two.public_key, sizeof(helo.public_key));
	assert_int_equal(tapi_helo_check(&helo, WALL_US, false), TAPI_ESIG);
	// keys under which anything is signed
	memset(helo.public_key, 0, sizeof(helo.public_key));
	memset(helo.signature, 0, sizeof(helo.signature));
	assert_int_equal(tapi_helo_check(&helo, WALL_US, false), TAPI_ESIG);
	helo.public_key[0] = helo.signature[0] = 1;
	assert_int_equal(tapi_helo_check(&helo, WALL_US, false), TAPI_ESIG);
}

static void test_address_hash(void **state)
{
	struct tapi_helo a = {.protocol = 17, .address_size = 2, .address = {1, 2}}, b = a;
	uint8_t one[TAPI_ADDRESS_HASH_BYTES], two[TAPI_ADDRESS_HASH_BYTES];

	(void)state;
	b.seq = 9;
	b.address[2] = 7; // beyond its size
	tapi_helo_address_hash(&a, one);
	tapi_helo_address_hash(&b, two);
	assert_memory_equal(one, two, sizeof(one));
	b.protocol = 6;
	tapi_helo_address_hash(&b, two);
	assert_memory_not_equal(one, two, sizeof(one));
	b = a;
	b.address_size = 1;
	tapi_helo_address_hash(&b, two);
	assert_memory_not_equal(one, two, sizeof(one));
	b.address_size = UINT16_MAX; // nothing beyond the array is read
	tapi_helo_address_hash(&b, two);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_known, vector),
		cmocka_unit_test_setup(test_flips, vector),
		cmocka_unit_test_setup(test_cut, vector),
		cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_flags),
		cmocka_unit_test(test_expiry),
		cmocka_unit_test(test_other_key),
		cmocka_unit_test(test_address_hash),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
