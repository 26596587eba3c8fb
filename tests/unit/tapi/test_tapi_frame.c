// SPDX-License-Identifier: BSD-3-Clause
// Messages in a stream: octets as they are on the wire, every way to cut them, and what ends it.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "transportapi/proto/frame.h"

#define MTU     1000u
#define TOLD    8u
#define ROOM    4096u
#define SENDERS 0x40u // the sender's octets are 0x40, 0x41 ...

struct told {
	unsigned n, stop_at; // stop_at: this many, then no more; 0: all
	struct {
		uint32_t size, crc;
		bool is_encrypted;
		uint8_t first, last;
	} message[TOLD];
	struct tapi_frame_reader *reader;
	const uint8_t *fed; // messages have to lie here: not copied
	size_t fed_length;
	bool frees;
};

static void sender_fill(struct tapi_peer_id *id)
{
	for (unsigned i = 0; i < sizeof(id->octets); i++)
		id->octets[i] = (uint8_t)(SENDERS + i);
}

static bool tell(void *context, struct tapi_message_pack *pack)
{
	struct told *told = context;
	struct tapi_peer_id sender;

	sender_fill(&sender);
	assert_memory_equal(pack->sender.octets, sender.octets, sizeof(sender.octets));
	assert_null(pack->session);
	assert_non_null(pack->message);
	assert_in_range(told->n, 0, TOLD - 1);
	if (told->fed) {
		assert_true(pack->message >= told->fed);
		assert_true(pack->message + pack->size <= told->fed + told->fed_length);
	}
	if (told->frees) // as a session does that ends inside receive()
		tapi_frame_reader_free(told->reader);
	told->message[told->n].size = pack->size;
	told->message[told->n].crc = pack->crc;
	told->message[told->n].is_encrypted = pack->is_encrypted;
	told->message[told->n].first = pack->size ? pack->message[0] : 0;
	told->message[told->n].last = pack->size ? pack->message[pack->size - 1] : 0;
	return ++told->n != told->stop_at;
}

static size_t add_welcome(uint8_t *out)
{
	static const uint8_t nonce[TAPI_WELCOME_NONCE_BYTES] = {1, 2, 3, 4, 5, 6, 7, 8};
	struct tapi_peer_id sender;

	sender_fill(&sender);
	tapi_welcome_encode(out, &sender, nonce);
	return TAPI_WELCOME_BYTES;
}

// The message is size octets: `mark`, ..., mark + 1.
static size_t add_frame(uint8_t *out, uint32_t size, bool is_encrypted, uint32_t crc, uint8_t mark)
{
	tapi_frame_encode(out, size, is_encrypted, crc);
	memset(out + TAPI_FRAME_HEAD_BYTES, mark, size);
	if (size)
		out[TAPI_FRAME_HEAD_BYTES + size - 1] = (uint8_t)(mark + 1);
	return TAPI_FRAME_HEAD_BYTES + size;
}

// WELCOME and four messages: 5 octets, none, the mtu, 1.
static size_t make_stream(uint8_t out[ROOM])
{
	size_t n = add_welcome(out);

	n += add_frame(out + n, 5, false, 0x01020304, 'a');
	n += add_frame(out + n, 0, true, 0xffffffff, 'b');
	n += add_frame(out + n, MTU, true, 0, 'c');
	return n + add_frame(out + n, 1, false, 7, 'd');
}

static void check_stream(const struct told *told)
{
	assert_int_equal(told->n, 4);
	assert_int_equal(told->message[0].size, 5);
	assert_int_equal(told->message[0].crc, 0x01020304);
	assert_false(told->message[0].is_encrypted);
	assert_int_equal(told->message[0].first, 'a');
	assert_int_equal(told->message[0].last, 'b');
	assert_int_equal(told->message[1].size, 0);
	assert_int_equal(told->message[1].crc, 0xffffffff);
	assert_true(told->message[1].is_encrypted);
	assert_int_equal(told->message[2].size, MTU);
	assert_int_equal(told->message[2].crc, 0);
	assert_true(told->message[2].is_encrypted);
	assert_int_equal(told->message[2].first, 'c');
	assert_int_equal(told->message[2].last, 'd');
	assert_int_equal(told->message[3].size, 1);
	assert_int_equal(told->message[3].crc, 7);
	assert_int_equal(told->message[3].first, 'e');
}

// Feeds a heap block of the exact size, which is gone after.
static enum tapi_result feed(
	struct tapi_frame_reader *reader, const uint8_t *octets, size_t n, struct told *told)
{
	uint8_t *exact = malloc(n ? n : 1);
	enum tapi_result result;

	assert_non_null(exact);
	memcpy(exact, octets, n);
	result = tapi_frame_reader_feed(reader, exact, n, tell, told);
	free(exact);
	return result;
}

// TA11, TA12: what the wire has is written down here, octet for octet.
static void test_octets(void **state)
{
	static const uint8_t welcome[] = {0, 48, 0, 4, 1, 0, 0, 0, 0x40, 0x41, 0x42, 0x43, 0x44,
		0x45, 0x46, 0x47, 0x48, 0x49, 0x4a, 0x4b, 0x4c, 0x4d, 0x4e, 0x4f, 0x50, 0x51, 0x52,
		0x53, 0x54, 0x55, 0x56, 0x57, 0x58, 0x59, 0x5a, 0x5b, 0x5c, 0x5d, 0x5e, 0x5f, 1, 2,
		3, 4, 5, 6, 7, 8};
	static const uint8_t plain[] = {0, 0, 0x12, 0x34, 0, 0, 0, 0, 0xde, 0xad, 0xbe, 0xef};
	static const uint8_t encrypted[] = {0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0};
	uint8_t out[TAPI_WELCOME_BYTES];

	(void)state;
	assert_int_equal(sizeof(welcome), add_welcome(out));
	assert_memory_equal(out, welcome, sizeof(welcome));
	tapi_frame_encode(out, 0x1234, false, 0xdeadbeef);
	assert_memory_equal(out, plain, sizeof(plain));
	tapi_frame_encode(out, 0x10000, true, 0);
	assert_memory_equal(out, encrypted, sizeof(encrypted));
}

static void test_at_once(void **state)
{
	struct tapi_frame_reader reader;
	uint8_t stream[ROOM];
	const size_t n = make_stream(stream);
	struct told told = {.fed = stream, .fed_length = n};

	(void)state;
	tapi_frame_reader_init(&reader, MTU);
	assert_false(reader.welcomed);
	assert_int_equal(tapi_frame_reader_feed(&reader, stream, n, tell, &told), TAPI_OK);
	check_stream(&told);
	assert_true(reader.welcomed);
	assert_int_equal(reader.nonce[7], 8);
	assert_null(reader.rest); // nothing was copied, nothing is kept
	assert_int_equal(tapi_frame_reader_feed(&reader, stream, 0, tell, &told), TAPI_OK);
	tapi_frame_reader_free(&reader);
}

// Cut once at every octet, and in pieces of every size.
static void test_every_split(void **state)
{
	uint8_t stream[ROOM];
	const size_t n = make_stream(stream);

	(void)state;
	for (size_t cut = 0; cut <= n; cut++) {
		struct tapi_frame_reader reader;
		struct told told = {0};

		tapi_frame_reader_init(&reader, MTU);
		assert_int_equal(feed(&reader, stream, cut, &told), TAPI_OK);
		assert_int_equal(feed(&reader, stream + cut, n - cut, &told), TAPI_OK);
		check_stream(&told);
		assert_null(reader.rest);
		tapi_frame_reader_free(&reader);
	}
	for (size_t piece = 1; piece <= n; piece++) {
		struct tapi_frame_reader reader;
		struct told told = {0};

		tapi_frame_reader_init(&reader, MTU);
		for (size_t at = 0; at < n; at += piece) {
			const size_t length = piece < n - at ? piece : n - at;

			assert_int_equal(feed(&reader, stream + at, length, &told), TAPI_OK);
			// memory follows what came, not what was claimed
			assert_true(reader.rest_room <= 2 * reader.rest_length + 64);
			assert_true(reader.rest_room <= MTU + TAPI_FRAME_HEAD_BYTES);
		}
		check_stream(&told);
		tapi_frame_reader_free(&reader);
	}
}

static void test_claim_allocates_nothing(void **state)
{
	struct tapi_frame_reader reader;
	struct told told = {0};
	uint8_t stream[ROOM];
	const size_t welcome = add_welcome(stream);

	(void)state;
	tapi_frame_reader_init(&reader, 1u << 30);
	tapi_frame_encode(stream + welcome, 1u << 30, false, 0);
	assert_int_equal(
		feed(&reader, stream, welcome + TAPI_FRAME_HEAD_BYTES + 1, &told), TAPI_OK);
	assert_int_equal(reader.rest_length, TAPI_FRAME_HEAD_BYTES + 1);
	assert_in_range(reader.rest_room, 1, 64);
	assert_int_equal(told.n, 0);
	tapi_frame_reader_free(&reader);
}

// Octet `at` of the stream is set to `value`: the result, wherever it is cut, and how many messages
// came before.
static void check_bad(size_t at, uint8_t value, enum tapi_result expected, unsigned messages)
{
	uint8_t stream[ROOM];
	const size_t n = make_stream(stream);

	assert_int_not_equal(stream[at], value);
	stream[at] = value;
	for (size_t cut = 0; cut <= n; cut++) {
		struct tapi_frame_reader reader;
		struct told told = {0};
		enum tapi_result result;

		tapi_frame_reader_init(&reader, MTU);
		result = feed(&reader, stream, cut, &told);
		if (!result)
			result = feed(&reader, stream + cut, n - cut, &told);
		assert_int_equal(result, expected);
		assert_int_equal(told.n, messages);
		tapi_frame_reader_free(&reader);
	}
}

static void test_malformed(void **state)
{
	const size_t first = TAPI_WELCOME_BYTES, second = first + TAPI_FRAME_HEAD_BYTES + 5,
		     third = second + TAPI_FRAME_HEAD_BYTES;

	(void)state;
	check_bad(0, 1, TAPI_EFORMAT, 0); // size of the WELCOME
	check_bad(1, 47, TAPI_EFORMAT, 0);
	check_bad(3, 1, TAPI_EFORMAT, 0); // its type
	check_bad(4, 2, TAPI_EFORMAT, 0); // its version
	check_bad(5, 1, TAPI_EFORMAT, 0); // reserved
	check_bad(7, 1, TAPI_EFORMAT, 0);
	check_bad(first, 1, TAPI_ETOOBIG, 0);
	check_bad(third + 3, (uint8_t)(MTU + 1), TAPI_ETOOBIG, 2);
	check_bad(second + 5, 2, TAPI_EFORMAT, 1); // flags
	check_bad(second + 4, 0x80, TAPI_EFORMAT, 1);
	check_bad(second + 7, 1, TAPI_EFORMAT, 1);
}

// TA11: a second WELCOME is no frame, whatever the mtu of a transport.
static void test_welcome_twice(void **state)
{
	struct tapi_frame_reader reader;
	struct told told = {0};
	uint8_t stream[ROOM];
	size_t n = add_welcome(stream);

	(void)state;
	n += add_welcome(stream + n);
	tapi_frame_reader_init(&reader, 32768);
	assert_int_equal(feed(&reader, stream, n, &told), TAPI_ETOOBIG);
	assert_int_equal(told.n, 0);
	tapi_frame_reader_free(&reader);
}

// The session ends inside receive(): the message is readable to the end, the reader is not touched.
static void test_stop(void **state)
{
	uint8_t stream[ROOM];
	const size_t n = make_stream(stream);

	(void)state;
	for (unsigned stop = 1; stop <= 4; stop++)
		for (size_t piece = 1; piece <= n; piece += 7) {
			struct tapi_frame_reader *reader = malloc(sizeof(*reader));
			struct told told = {.stop_at = stop, .reader = reader};

			assert_non_null(reader);
			tapi_frame_reader_init(reader, MTU);
			for (size_t at = 0; at < n && told.n < stop; at += piece) {
				told.frees = told.n + 1 == stop && piece < 8;
				assert_int_equal(feed(reader, stream + at,
							 piece < n - at ? piece : n - at, &told),
					TAPI_OK);
			}
			assert_int_equal(told.n, stop);
			tapi_frame_reader_free(reader);
			free(reader);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_octets),
		cmocka_unit_test(test_at_once),
		cmocka_unit_test(test_every_split),
		cmocka_unit_test(test_claim_allocates_nothing),
		cmocka_unit_test(test_malformed),
		cmocka_unit_test(test_welcome_twice),
		cmocka_unit_test(test_stop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
