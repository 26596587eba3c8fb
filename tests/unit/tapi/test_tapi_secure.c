// SPDX-License-Identifier: BSD-3-Clause
// The handshake between two identities, its keys, and what is sealed with them (TA26), without a
// core: known answers, every altered octet, the wrong identities, the replay window.
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "lib/tapi/tapi_vectors.h"
#include "lib/tapi/tapi_vectors_secure.h"
#include "transportapi/proto/secure.h"
#include "transportapi/base/wire.h"

#define INDEX_1 0x01020304
#define INDEX_2 0x05060708

static struct tapi_identity one, two, three;
static struct tapi_static static_1, static_2, static_3;
static uint8_t ephemeral_1[TAPI_KEY_BYTES], ephemeral_2[TAPI_KEY_BYTES];
static const uint8_t hello[] = {0, 9, 0, 64, 'h', 'e', 'l', 'l', 'o'};

static int begin(void **state)
{
	(void)state;
	identity_of(&one, SEED_1);
	identity_of(&two, SEED_2);
	memset(ephemeral_1, 3, sizeof(ephemeral_1));
	tapi_identity_from_seed(&three, ephemeral_1);
	for (uint8_t i = 0; i < TAPI_KEY_BYTES; i++) {
		ephemeral_1[i] = i;
		ephemeral_2[i] = (uint8_t)(i + TAPI_KEY_BYTES);
	}
	return !tapi_static_of(&static_1, &one) || !tapi_static_of(&static_2, &two) ||
	       !tapi_static_of(&static_3, &three);
}

static void agree(struct tapi_keys *first, struct tapi_keys *second)
{
	struct tapi_initiation initiation;
	uint8_t answer[TAPI_RESPOND_BYTES];
	struct tapi_secure_message heard;

	assert_int_equal(tapi_secure_initiate(&initiation, &one, &static_1, two.public_key,
				 ephemeral_1, INDEX_1, WALL_US),
		TAPI_OK);
	assert_int_equal(tapi_secure_parse(&heard, &two, &static_2, &one.id, initiation.message,
				 TAPI_INITIATE_BYTES),
		TAPI_OK);
	assert_int_equal(
		tapi_secure_respond(&heard, ephemeral_2, INDEX_2, answer, second), TAPI_OK);
	assert_int_equal(
		tapi_secure_finish(&initiation, &static_1, answer, sizeof(answer), first), TAPI_OK);
}

static void test_known(void **state)
{
	uint8_t initiate[TAPI_INITIATE_BYTES], respond[TAPI_RESPOND_BYTES], key[TAPI_KEY_BYTES];
	uint8_t answer[TAPI_RESPOND_BYTES], sealed[64], known[64], out[64];
	struct tapi_initiation initiation;
	struct tapi_keys first, second;
	struct tapi_opened opened;
	struct tapi_secure_message heard;
	uint32_t n;

	(void)state;
	assert_int_equal(from_hex(initiate, sizeof(initiate), INITIATE_HEX), sizeof(initiate));
	assert_int_equal(from_hex(respond, sizeof(respond), RESPOND_HEX), sizeof(respond));
	assert_int_equal(tapi_secure_initiate(&initiation, &one, &static_1, two.public_key,
				 ephemeral_1, INDEX_1, WALL_US),
		TAPI_OK);
	assert_memory_equal(initiation.message, initiate, sizeof(initiate));
	assert_int_equal(
		tapi_secure_parse(&heard, &two, &static_2, &one.id, initiate, sizeof(initiate)),
		TAPI_OK);
	assert_true(heard.stamp == WALL_US);
	assert_int_equal(heard.there, INDEX_1);
	assert_memory_equal(heard.public_key, one.public_key, sizeof(heard.public_key));
	assert_int_equal(
		tapi_secure_respond(&heard, ephemeral_2, INDEX_2, answer, &second), TAPI_OK);
	assert_memory_equal(answer, respond, sizeof(respond));
	assert_int_equal(
		tapi_secure_finish(&initiation, &static_1, respond, sizeof(respond), &first),
		TAPI_OK);
	from_hex(key, sizeof(key), KEY_OF_1_HEX);
	assert_memory_equal(first.send, key, sizeof(key));
	assert_memory_equal(second.receive, key, sizeof(key));
	from_hex(key, sizeof(key), KEY_OF_2_HEX);
	assert_memory_equal(first.receive, key, sizeof(key));
	assert_memory_equal(second.send, key, sizeof(key));
	assert_true(first.initiator && !second.initiator);

	n = tapi_seal(&first, hello, sizeof(hello), false, 0, sealed);
	assert_int_equal(n, from_hex(known, sizeof(known), SEALED_OF_1_HEX));
	assert_memory_equal(sealed, known, n);
	assert_int_equal(tapi_open(&second, sealed, n, out, &opened), TAPI_OK);
	assert_int_equal(opened.size, sizeof(hello));
	assert_memory_equal(opened.payload, hello, sizeof(hello));
	assert_false(opened.is_encrypted);
	n = tapi_seal(&second, hello, sizeof(hello), true, 0xcafe, sealed);
	assert_int_equal(n, sizeof(hello) + TAPI_SEALED_BYTES);
	assert_int_equal(n, from_hex(known, sizeof(known), SEALED_OF_2_HEX));
	assert_memory_equal(sealed, known, n);
	assert_int_equal(tapi_open(&first, sealed, n, out, &opened), TAPI_OK);
	assert_true(opened.is_encrypted);
	assert_int_equal(opened.crc, 0xcafe);
	assert_memory_equal(opened.payload, hello, sizeof(hello));
}

// One bit of any octet, and any other length: refused, and nothing of it is learned.
static void test_altered(void **state)
{
	uint8_t wrong[TAPI_INITIATE_BYTES + 1], answer[TAPI_RESPOND_BYTES + 1], sealed[64], out[64];
	struct tapi_initiation initiation;
	struct tapi_keys first, second, keys;
	struct tapi_opened opened;
	struct tapi_secure_message heard, other;
	uint32_t n;

	(void)state;
	assert_int_equal(tapi_secure_initiate(&initiation, &one, &static_1, two.public_key,
				 ephemeral_1, INDEX_1, WALL_US),
		TAPI_OK);
	assert_int_equal(tapi_secure_parse(&heard, &two, &static_2, &one.id, initiation.message,
				 TAPI_INITIATE_BYTES),
		TAPI_OK);
	assert_int_equal(
		tapi_secure_respond(&heard, ephemeral_2, INDEX_2, answer, &second), TAPI_OK);
	assert_int_equal(
		tapi_secure_finish(&initiation, &static_1, answer, TAPI_RESPOND_BYTES, &first),
		TAPI_OK);
	memcpy(wrong, initiation.message, TAPI_INITIATE_BYTES);
	for (unsigned i = 0; i < TAPI_INITIATE_BYTES; i++) {
		wrong[i] ^= (uint8_t)(1 << i % 7);
		assert_int_not_equal(tapi_secure_parse(&other, &two, &static_2, &one.id, wrong,
					     TAPI_INITIATE_BYTES),
			TAPI_OK);
		wrong[i] = initiation.message[i];
	}
	for (uint32_t size = 0; size <= sizeof(wrong); size++)
		if (size != TAPI_INITIATE_BYTES)
			assert_int_equal(
				tapi_secure_parse(&other, &two, &static_2, &one.id, wrong, size),
				TAPI_EFORMAT);
	for (unsigned i = 0; i < TAPI_RESPOND_BYTES; i++) {
		answer[i] ^= (uint8_t)(1 << i % 7);
		assert_int_not_equal(tapi_secure_finish(&initiation, &static_1, answer,
					     TAPI_RESPOND_BYTES, &keys),
			TAPI_OK);
		answer[i] ^= (uint8_t)(1 << i % 7);
	}
	for (uint32_t size = 0; size <= sizeof(answer); size++)
		if (size != TAPI_RESPOND_BYTES)
			assert_int_equal(
				tapi_secure_finish(&initiation, &static_1, answer, size, &keys),
				TAPI_EFORMAT);
	n = tapi_seal(&first, hello, sizeof(hello), false, 0, sealed);
	for (unsigned i = 0; i < n; i++) {
		sealed[i] ^= (uint8_t)(1 << i % 7);
		assert_int_not_equal(tapi_open(&second, sealed, n, out, &opened), TAPI_OK);
		sealed[i] ^= (uint8_t)(1 << i % 7);
	}
	for (uint32_t size = 0; size < n; size++)
		assert_int_equal(tapi_open(&second, sealed, size, out, &opened), TAPI_EFORMAT);
	assert_int_equal(tapi_open(&second, sealed, n, out, &opened), TAPI_OK);
	assert_int_equal(tapi_open(&second, sealed, n, out, &opened), TAPI_DROPPED);
}

// Each for another than it was made for, and sent back to who made it.
static void test_not_for_us(void **state)
{
	struct tapi_initiation initiation;
	uint8_t zero_point[TAPI_PUBLIC_KEY_BYTES] = {1}, sealed[64], out[64], answer[60];
	struct tapi_keys first, second, keys;
	struct tapi_opened opened;
	struct tapi_secure_message heard;
	uint32_t n;

	(void)state;
	assert_int_equal(tapi_secure_initiate(&initiation, &one, &static_1, two.public_key,
				 ephemeral_1, INDEX_1, WALL_US),
		TAPI_OK);
	assert_int_equal(tapi_secure_parse(&heard, &three, &static_3, &one.id, initiation.message,
				 TAPI_INITIATE_BYTES),
		TAPI_ESIG);
	assert_int_equal(tapi_secure_parse(&heard, &two, &static_2, &three.id, initiation.message,
				 TAPI_INITIATE_BYTES),
		TAPI_ESIG);
	assert_int_equal(tapi_secure_parse(&heard, &one, &static_1, &two.id, initiation.message,
				 TAPI_INITIATE_BYTES),
		TAPI_ESIG);
	// Three says that it is one, and proves that it holds the key of three.
	three.id = one.id;
	assert_int_equal(tapi_secure_initiate(&initiation, &three, &static_3, two.public_key,
				 ephemeral_1, INDEX_1, WALL_US),
		TAPI_OK);
	assert_int_equal(tapi_secure_parse(&heard, &two, &static_2, &one.id, initiation.message,
				 TAPI_INITIATE_BYTES),
		TAPI_ESIG);
	// And with one's public key, too: it lacks one's secret.
	memcpy(three.public_key, one.public_key, sizeof(three.public_key));
	assert_int_equal(tapi_secure_initiate(&initiation, &three, &static_3, two.public_key,
				 ephemeral_1, INDEX_1, WALL_US),
		TAPI_OK);
	assert_int_equal(tapi_secure_parse(&heard, &two, &static_2, &one.id, initiation.message,
				 TAPI_INITIATE_BYTES),
		TAPI_ESIG);
	// And that it is two, whom one called.
	assert_int_equal(tapi_secure_initiate(&initiation, &one, &static_1, two.public_key,
				 ephemeral_1, INDEX_1, WALL_US),
		TAPI_OK);
	assert_int_equal(tapi_secure_parse(&heard, &two, &static_2, &one.id, initiation.message,
				 TAPI_INITIATE_BYTES),
		TAPI_OK);
	memset(heard.chain, 7, sizeof(heard.chain));
	assert_int_equal(
		tapi_secure_respond(&heard, ephemeral_2, INDEX_2, answer, &second), TAPI_OK);
	assert_int_equal(tapi_secure_finish(&initiation, &static_1, answer, sizeof(answer), &keys),
		TAPI_ESIG);
	// Points that agree with everybody.
	assert_int_equal(tapi_secure_initiate(&initiation, &one, &static_1, zero_point, ephemeral_1,
				 INDEX_1, WALL_US),
		TAPI_ESIG);
	memset(heard.ephemeral, 0, sizeof(heard.ephemeral));
	assert_int_equal(
		tapi_secure_respond(&heard, ephemeral_2, INDEX_2, answer, &second), TAPI_ESIG);

	agree(&first, &second);
	n = tapi_seal(&first, hello, sizeof(hello), false, 0, sealed);
	first.here = INDEX_2; // even where the index would be ours
	assert_int_equal(tapi_open(&first, sealed, n, out, &opened), TAPI_ESIG);
	assert_int_equal(tapi_open(&second, sealed, n, out, &opened), TAPI_OK);
}

// Against a list of all that came: what is new and not overtaken by 2048 is taken, once.
static void test_window(void **state)
{
	enum { COUNTERS = 30000 };
	uint8_t *came = calloc(COUNTERS, 1);
	struct tapi_window window = {.next = 0};
	uint64_t chance = 88172645463325252u, highest = 0, any = 0;

	(void)state;
	assert_non_null(came);
	for (unsigned i = 0; i < 200000; i++) {
		uint64_t counter;
		bool may;

		chance ^= chance << 13;
		chance ^= chance >> 7;
		chance ^= chance << 17;
		// Around the highest; seldom far ahead.
		counter = highest + chance % 64 - (chance >> 20) % (i % 3 ? 80 : 2300);
		if ((chance >> 40) % 997 == 0)
			counter += chance % 5000;
		if (counter >= COUNTERS || (int64_t)counter < 0)
			continue;
		may = came[counter] == 0 &&
		      (any == 0 || counter > highest || highest - counter < TAPI_WINDOW_COUNTERS);
		if (tapi_window_may(&window, counter) != may)
			fail_msg("counter %u of %u", (unsigned)counter, (unsigned)highest);
		if (!may)
			continue;
		tapi_window_take(&window, counter);
		came[counter] = 1;
		any = 1;
		highest = counter > highest ? counter : highest;
		if (highest > COUNTERS - 100) {
			memset(&window, 0, sizeof(window));
			memset(came, 0, COUNTERS);
			highest = any = 0;
		}
	}
	free(came);
	assert_false(tapi_window_may(&window, UINT64_MAX)); // the next would be 0 again
	window.next = UINT64_MAX - 1;
	assert_true(tapi_window_may(&window, UINT64_MAX - 1));
}

// A peer that has the keys, and writes what no peer of ours does.
static void test_inside(void **state)
{
	struct tapi_keys first, second;
	uint8_t sealed[64], out[64], plain[5] = {2}, nonce[12] = {0}, head[16];
	struct tapi_opened opened;

	(void)state;
	agree(&first, &second);
	for (unsigned i = 0; i < 3; i++) { // a flag nobody knows; a crc cut short; nothing at all
		unsigned long long n;
		uint32_t length = i == 0 ? 5 : i == 1 ? 4 : 1;

		plain[0] = i == 0 ? 2 : i == 1 ? 1 : 0;
		tapi_put64(tapi_put32(tapi_put16(tapi_put16(head, (uint16_t)(32 + length)),
					      TAPI_TYPE_SEALED),
				   INDEX_2),
			i);
		memcpy(sealed, head, sizeof(head));
		nonce[4] = (uint8_t)i;
		crypto_aead_chacha20poly1305_ietf_encrypt(&sealed[16], &n, plain, length, head,
			sizeof(head), NULL, nonce, first.send);
		assert_int_equal(tapi_open(&second, sealed, 32 + length, out, &opened),
			i < 2 ? TAPI_EFORMAT : TAPI_OK);
	}
	assert_int_equal(opened.size, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_known),
		cmocka_unit_test(test_altered),
		cmocka_unit_test_setup(test_not_for_us, begin),
		cmocka_unit_test_setup(test_window, begin),
		cmocka_unit_test(test_inside),
	};

	return cmocka_run_group_tests(tests, begin, NULL);
}
