// SPDX-License-Identifier: BSD-3-Clause
// Counter mode makes of octets 48 to 63 what the block cipher makes of the counter, three on: one
// block is all that is needed. The context is set up again in place (quic_keys.c).
#include "classify/handshake/mtproto.h"
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>
#include "pipeline/vocab/octets.h"

#define KEY_AT     8
#define COUNTER_AT 40
#define TAG_AT     56
#define CENTRE_AT  60
#define BLOCK      16

struct mtproto_opener {
	EVP_CIPHER *cipher;
	EVP_CIPHER_CTX *ctx; // AES-256-ECB, without padding
	uint32_t second;
	uint32_t opened; // in that second
};

void mtproto_opener_free(struct mtproto_opener *opener)
{
	if (!opener)
		return;
	EVP_CIPHER_CTX_free(opener->ctx);
	EVP_CIPHER_free(opener->cipher);
	free(opener);
}

struct mtproto_opener *mtproto_opener_new(void)
{
	static const uint8_t any[32];
	struct mtproto_opener *opener = calloc(1, sizeof(*opener));

	if (!opener)
		return NULL;
	opener->cipher = EVP_CIPHER_fetch(NULL, "AES-256-ECB", NULL);
	opener->ctx = EVP_CIPHER_CTX_new();
	// set up once with any key, so that a data lcore's is never the first
	if (!opener->cipher || !opener->ctx ||
		!EVP_EncryptInit_ex2(opener->ctx, opener->cipher, any, NULL, NULL) ||
		!EVP_CIPHER_CTX_set_padding(opener->ctx, 0)) {
		mtproto_opener_free(opener);
		return NULL;
	}
	return opener;
}

// What a client draws again: it would be taken for HTTP, TLS, or one of the transports in clear.
static bool is_forbidden(const uint8_t first[static MTPROTO_BYTES])
{
	static const uint8_t words[][4] = {"HEAD", "POST", "GET ", "OPTI", {0xee, 0xee, 0xee, 0xee},
		{0xdd, 0xdd, 0xdd, 0xdd}, {0x16, 0x03, 0x01, 0x02}};

	for (unsigned i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (!memcmp(first, words[i], sizeof(words[i])))
			return true;
	return first[0] == 0xef || !octets_be32(first + 4);
}

static bool is_limited(struct mtproto_opener *opener, uint32_t second)
{
	if (opener->second != second) {
		opener->second = second;
		opener->opened = 0;
	}
	return opener->opened++ >= MTPROTO_PER_S;
}

// Data centres 1 to 5, and 203, of the CDN (help.getConfig).
static bool is_centre(int number)
{
	if (number < 0)
		number = -number;
	if (number > 10000)
		number -= 10000;
	return (number >= 1 && number <= 5) || number == 203;
}

enum mtproto_seen mtproto_open(
	struct mtproto_opener *opener, const uint8_t first[static MTPROTO_BYTES], uint32_t second)
{
	uint8_t counter[BLOCK], block[BLOCK], clear[MTPROTO_BYTES - TAG_AT];
	uint32_t carry = MTPROTO_BYTES / BLOCK - 1;
	int length;

	if (is_forbidden(first))
		return MTPROTO_FORBIDDEN;
	if (is_limited(opener, second))
		return MTPROTO_LIMITED;
	memcpy(counter, first + COUNTER_AT, BLOCK);
	for (unsigned i = BLOCK; i-- > 0 && carry; carry >>= 8) {
		carry += counter[i];
		counter[i] = (uint8_t)carry;
	}
	if (!EVP_EncryptInit_ex2(opener->ctx, NULL, first + KEY_AT, NULL, NULL) ||
		!EVP_EncryptUpdate(opener->ctx, block, &length, counter, BLOCK))
		return MTPROTO_NOTHING;
	for (unsigned i = 0; i < sizeof(clear); i++)
		clear[i] = first[TAG_AT + i] ^ block[TAG_AT % BLOCK + i];
	uint32_t tag = octets_be32(clear);

	if (tag != 0xefefefef && tag != 0xeeeeeeee && tag != 0xdddddddd)
		return MTPROTO_NOTHING;
	return is_centre((int16_t)octets_le16(&clear[CENTRE_AT - TAG_AT])) ? MTPROTO_CENTRE
									   : MTPROTO_TAG;
}
