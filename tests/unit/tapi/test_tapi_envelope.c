// SPDX-License-Identifier: BSD-3-Clause
// The head of a datagram, octet by octet (TA11, TA12), and what is refused.
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "transportapi/proto/envelope.h"

// A message of 3 octets from 00 01 .. 1f.
static const uint8_t wanted[TAPI_ENVELOPE_BYTES + 3] = {
	0x00,
	0x2b, // 43
	0x01, // version
	0x01, // encrypted
	0x89,
	0xab,
	0xcd,
	0xef, // crc
	0,
	1,
	2,
	3,
	4,
	5,
	6,
	7,
	8,
	9,
	10,
	11,
	12,
	13,
	14,
	15,
	16,
	17,
	18,
	19,
	20,
	21,
	22,
	23,
	24,
	25,
	26,
	27,
	28,
	29,
	30,
	31,
	'a',
	'b',
	'c',
};

static struct tapi_peer_id somebody(void)
{
	struct tapi_peer_id id;

	for (unsigned i = 0; i < sizeof(id.octets); i++)
		id.octets[i] = (uint8_t)i;
	return id;
}

static void octets_are_as_documented(void **state)
{
	struct tapi_peer_id sender = somebody();
	uint8_t out[TAPI_ENVELOPE_BYTES];

	(void)state;
	tapi_envelope_encode(out, &sender, 3, true, 0x89abcdef);
	assert_memory_equal(out, wanted, sizeof(out));
	tapi_envelope_encode(out, &sender, TAPI_ENVELOPE_SIZE_MAX - TAPI_ENVELOPE_BYTES, false, 0);
	assert_memory_equal(out, "\xff\xff\x01\x00\x00\x00\x00\x00", 8);
}

// Exactly as long as it is, on the heap: AddressSanitizer sees one octet too far.
static enum tapi_result decode(struct tapi_message_pack *pack, const uint8_t *octets, size_t length)
{
	static uint8_t *exact;
	enum tapi_result result;

	free(exact);
	exact = malloc(length ? length : 1);
	assert_non_null(exact);
	if (length > 0)
		memcpy(exact, octets, length);
	result = tapi_envelope_decode(pack, exact, length);
	if (result != TAPI_OK) {
		free(exact);
		exact = NULL;
	}
	return result;
}

static void flag_and_crc_are_carried(void **state)
{
	struct tapi_peer_id sender = somebody();
	struct tapi_message_pack pack = {.session = (void *)&sender, .source.port = 7};
	uint8_t plain[sizeof(wanted)];

	(void)state;
	assert_int_equal(decode(&pack, wanted, sizeof(wanted)), TAPI_OK);
	assert_true(pack.is_encrypted);
	assert_int_equal(pack.crc, 0x89abcdef); // not that of "abc", and nobody minds here
	assert_memory_equal(pack.sender.octets, sender.octets, sizeof(sender.octets));
	assert_int_equal(pack.size, 3);
	assert_memory_equal(pack.message, "abc", 3);
	// Not the envelope's to say.
	assert_ptr_equal(pack.session, &sender);
	assert_int_equal(pack.source.port, 7);

	memcpy(plain, wanted, sizeof(plain));
	plain[3] = 0;
	assert_int_equal(decode(&pack, plain, sizeof(plain)), TAPI_OK);
	assert_false(pack.is_encrypted);
	assert_int_equal(pack.crc, 0x89abcdef);
	decode(&pack, NULL, 0); // frees
}

static void each_wrong_octet_is_refused(void **state)
{
	struct tapi_message_pack pack;
	uint8_t bad[sizeof(wanted) + 1];

	(void)state;
	for (size_t length = 0; length < sizeof(wanted); length++) // cut
		assert_int_equal(decode(&pack, wanted, length), TAPI_EFORMAT);
	memcpy(bad, wanted, sizeof(wanted));
	bad[sizeof(wanted)] = 0; // something behind it
	assert_int_equal(decode(&pack, bad, sizeof(bad)), TAPI_EFORMAT);
	for (unsigned place = 0; place < 4; place++) {
		for (unsigned value = 0; value < 256; value++) {
			bool right = value == wanted[place] || (place == 3 && value == 0);

			memcpy(bad, wanted, sizeof(wanted));
			bad[place] = (uint8_t)value;
			assert_int_equal(
				decode(&pack, bad, sizeof(wanted)), right ? TAPI_OK : TAPI_EFORMAT);
		}
	}
	// An envelope around nothing is one.
	memcpy(bad, wanted, sizeof(wanted));
	bad[1] = TAPI_ENVELOPE_BYTES;
	assert_int_equal(decode(&pack, bad, TAPI_ENVELOPE_BYTES), TAPI_OK);
	assert_int_equal(pack.size, 0);
	decode(&pack, NULL, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(octets_are_as_documented),
		cmocka_unit_test(flag_and_crc_are_carried),
		cmocka_unit_test(each_wrong_octet_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
