// SPDX-License-Identifier: BSD-3-Clause
// Telegram's obfuscated transport, made as core.telegram.org/mtproto/mtproto-transports says it is,
// with the counter mode of libcrypto: each tag and data centre, what no client draws, other first
// octets, cuts, the limit, no heap.
#include <netinet/in.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "classify/handshake/mtproto.h"
#include "lib/classify/classify_rig.h"

static struct rig *rig;
static uint64_t random_state = 0x2545f4914f6cdd1d;
static unsigned long n_allocated;

static void *counted_malloc(size_t n, const char *file, int line)
{
	(void)file;
	(void)line;
	n_allocated++;
	return malloc(n);
}

static void *counted_realloc(void *at, size_t n, const char *file, int line)
{
	(void)file;
	(void)line;
	n_allocated++;
	return realloc(at, n);
}

static void counted_free(void *at, const char *file, int line)
{
	(void)file;
	(void)line;
	free(at);
}

static void draw(uint8_t *bytes, size_t length)
{
	for (size_t i = 0; i < length; i++) {
		random_state = random_state * 6364136223846793005 + 1442695040888963407;
		bytes[i] = (uint8_t)(random_state >> 56);
	}
}

// The client's 64 octets: the last eight are replaced by what the stream makes of tag and centre.
static void seal(uint8_t first[static MTPROTO_BYTES], uint32_t tag, int16_t centre)
{
	uint8_t clear[MTPROTO_BYTES], sealed[MTPROTO_BYTES];
	EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
	int length;

	memcpy(clear, first, sizeof(clear));
	for (unsigned i = 0; i < 4; i++)
		clear[56 + i] = (uint8_t)(tag >> 8 * (3 - i));
	clear[60] = (uint8_t)centre;
	clear[61] = (uint8_t)((uint16_t)centre >> 8);
	assert_true(EVP_EncryptInit_ex(ctx, EVP_aes_256_ctr(), NULL, first + 8, first + 40));
	assert_true(EVP_EncryptUpdate(ctx, sealed, &length, clear, sizeof(clear)));
	memcpy(first + 56, sealed + 56, 8);
	EVP_CIPHER_CTX_free(ctx);
}

static void hello(uint8_t first[static MTPROTO_BYTES], uint32_t tag, int16_t centre)
{
	do
		draw(first, MTPROTO_BYTES);
	while (first[0] == 0xef);
	seal(first, tag, centre);
}

static int sure_of(const uint8_t *bytes, size_t length, const char **app)
{
	struct rig_flow flow = rig_flow(rig, IPPROTO_TCP, 40000, 443);

	rig_feed(&flow, HALF_C2S, bytes, length);
	rig_end(&flow);
	*app = rig_app(&flow);
	return flow.verdict.confidence;
}

static void test_tags(void **state)
{
	static const uint32_t tags[] = {0xefefefef, 0xeeeeeeee, 0xdddddddd};
	static const int16_t centres[] = {1, 2, 5, -1, -4, 203, -203, 10001, 10003, -10002};
	static const int16_t others[] = {0, 6, -6, 202, 204, 1000, 9999, 10000, 10006, INT16_MIN};
	uint8_t first[MTPROTO_BYTES];
	const char *app;

	(void)state;
	for (unsigned t = 0; t < 3; t++) {
		for (unsigned i = 0; i < sizeof(centres) / sizeof(centres[0]); i++) {
			hello(first, tags[t], centres[i]);
			assert_int_equal(sure_of(first, sizeof(first), &app), CONFIDENCE_DPI);
			assert_string_equal(app, "telegram");
		}
		for (unsigned i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
			hello(first, tags[t], others[i]);
			assert_int_equal(sure_of(first, sizeof(first), &app), CONFIDENCE_PARTIAL);
			assert_string_equal(app, "telegram");
		}
	}
	for (unsigned i = 0; i < 4; i++) {
		hello(first, 0xefefefef ^ 1u << 8 * i, 2);
		sure_of(first, sizeof(first), &app);
		assert_string_equal(app, "");
	}
	// what the tag depends on
	for (unsigned i = 8; i < 60; i++) {
		hello(first, 0xeeeeeeee, 2);
		first[i] ^= 0x55;
		sure_of(first, sizeof(first), &app);
		assert_string_equal(app, "");
	}
	// a counter whose last octets overflow
	draw(first, sizeof(first));
	first[0] = 1;
	memset(first + 44, 0xff, 12);
	seal(first, 0xdddddddd, 2);
	assert_int_equal(sure_of(first, sizeof(first), &app), CONFIDENCE_DPI);
}

static void test_pieces(void **state)
{
	uint8_t first[200];
	const char *app;

	(void)state;
	hello(first, 0xeeeeeeee, -2);
	draw(first + MTPROTO_BYTES, sizeof(first) - MTPROTO_BYTES);
	for (size_t cut = 0; cut < MTPROTO_BYTES; cut++) {
		struct rig_flow flow = rig_flow(rig, IPPROTO_TCP, 40000, 443);

		rig_feed(&flow, HALF_C2S, first, cut);
		assert_string_equal(rig_app(&flow), "");
		rig_feed(&flow, HALF_C2S, first + cut, sizeof(first) - cut);
		assert_string_equal(rig_app(&flow), "telegram");
		assert_int_equal(flow.verdict.confidence, CONFIDENCE_DPI);
		rig_end(&flow);
	}
	// the server's, or what is no beginning
	struct rig_flow flow = rig_flow(rig, IPPROTO_TCP, 40000, 443);

	rig_feed(&flow, HALF_S2C, first, sizeof(first));
	assert_string_equal(rig_app(&flow), "");
	rig_end(&flow);
	flow = rig_flow(rig, IPPROTO_TCP, 40000, 443);
	flow.midstream = true;
	rig_feed(&flow, HALF_C2S, first, sizeof(first));
	assert_string_equal(rig_app(&flow), "");
	rig_end(&flow);
	assert_int_equal(sure_of(first, sizeof(first), &app), CONFIDENCE_DPI);
}

// In a connection it is tried once, and never where another word stands first.
static void test_tried(void **state)
{
	static const char words[][5] = {"HEAD", "POST", "GET ", "OPTI", "\xee\xee\xee\xee",
		"\xdd\xdd\xdd\xdd", "\x16\x03\x01\x02", "\xef\1\2\3"};
	struct mtproto_opener *opener = mtproto_opener_new();
	struct rig_flow flow = rig_flow(rig, IPPROTO_TCP, 40000, 443);
	uint8_t first[MTPROTO_BYTES], noise[400];
	uint32_t tried = rig->work.mtproto_tried;

	(void)state;
	draw(noise, sizeof(noise));
	noise[0] = 1;
	for (unsigned i = 0; i < 8; i++)
		rig_feed(&flow, HALF_C2S, noise + 50 * i, 50);
	rig_end(&flow);
	assert_int_equal(rig->work.mtproto_tried - tried, 1);
	for (unsigned i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		draw(first, sizeof(first));
		memcpy(first, words[i], 4);
		seal(first, 0xeeeeeeee, 2);
		assert_int_equal(mtproto_open(opener, first, 0), MTPROTO_FORBIDDEN);
	}
	draw(first, sizeof(first));
	memset(first + 4, 0, 4);
	seal(first, 0xeeeeeeee, 2);
	assert_int_equal(mtproto_open(opener, first, 0), MTPROTO_FORBIDDEN);
	mtproto_opener_free(opener);
}

static void test_limit(void **state)
{
	struct mtproto_opener *opener = mtproto_opener_new();
	uint8_t first[MTPROTO_BYTES];
	unsigned long before;

	(void)state;
	hello(first, 0xeeeeeeee, 2);
	before = n_allocated;
	for (unsigned i = 0; i < MTPROTO_PER_S; i++)
		assert_int_equal(mtproto_open(opener, first, 7), MTPROTO_CENTRE);
	assert_int_equal(mtproto_open(opener, first, 7), MTPROTO_LIMITED);
	assert_int_equal(mtproto_open(opener, first, 8), MTPROTO_CENTRE);
	assert_int_equal(n_allocated, before);
	mtproto_opener_free(opener);
}

static void test_chance(void **state)
{
	struct mtproto_opener *opener = mtproto_opener_new();
	uint8_t first[MTPROTO_BYTES];

	(void)state;
	for (unsigned i = 0; i < 1000000; i++) {
		draw(first, sizeof(first));
		assert_true(mtproto_open(opener, first, i) < MTPROTO_CENTRE);
	}
	mtproto_opener_free(opener);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tags),
		cmocka_unit_test(test_pieces),
		cmocka_unit_test(test_tried),
		cmocka_unit_test(test_limit),
		cmocka_unit_test(test_chance),
	};
	int failed;

	if (!CRYPTO_set_mem_functions(counted_malloc, counted_realloc, counted_free))
		return 1;
	rig = rig_new_with(NULL, 0, 16); // nothing else is known
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	rig_free(rig);
	return failed;
}
