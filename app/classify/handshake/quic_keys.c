// SPDX-License-Identifier: BSD-3-Clause
// There is no heap here: a cipher's context that keeps its algorithm is set up again in place, but
// libcrypto 3.0 makes a digest's anew each time, and its HKDF takes copies of what it is given. So
// HKDF (RFC 5869) is written out over the plain functions of SHA-256, which libcrypto keeps,
// although it calls them old.
#define OPENSSL_SUPPRESS_DEPRECATED
#include <openssl/evp.h>
#include <openssl/sha.h>
#include <stdlib.h>
#include <string.h>
#include "classify/handshake/quic_keys.h"

#define SALT_BYTES 20

struct quic_crypto {
	EVP_CIPHER *ecb;
	EVP_CIPHER *gcm;
	EVP_CIPHER_CTX *header; // AES-128-ECB, without padding
	EVP_CIPHER_CTX *packet; // AES-128-GCM
};

struct quic_version {
	uint32_t first; // to `last`
	uint32_t last;
	const uint8_t *salt;
};

// RFC 9001 5.2, RFC 9369 3.3.1; draft-ietf-quic-tls 22, 23 to 28, 29 to 32, and 33 with the salt of
// version 1; Google's Q050, T050 and T051 (quiche, crypto_utils.cc); Facebook's mvfst took the
// salts of the drafts that it followed.
static const uint8_t salt_1[SALT_BYTES] = {0x38, 0x76, 0x2c, 0xf7, 0xf5, 0x59, 0x34, 0xb3, 0x4d,
	0x17, 0x9a, 0xe6, 0xa4, 0xc8, 0x0c, 0xad, 0xcc, 0xbb, 0x7f, 0x0a};
static const uint8_t salt_2[SALT_BYTES] = {0x0d, 0xed, 0xe3, 0xde, 0xf7, 0x00, 0xa6, 0xdb, 0x81,
	0x93, 0x81, 0xbe, 0x6e, 0x26, 0x9d, 0xcb, 0xf9, 0xbd, 0x2e, 0xd9};
static const uint8_t salt_2_draft[SALT_BYTES] = {0xa7, 0x07, 0xc2, 0x03, 0xa5, 0x9b, 0x47, 0x18,
	0x4a, 0x1d, 0x62, 0xca, 0x57, 0x04, 0x06, 0xea, 0x7a, 0xe3, 0xe5, 0xd3};
static const uint8_t salt_draft_29[SALT_BYTES] = {0xaf, 0xbf, 0xec, 0x28, 0x99, 0x93, 0xd2, 0x4c,
	0x9e, 0x97, 0x86, 0xf1, 0x9c, 0x61, 0x11, 0xe0, 0x43, 0x90, 0xa8, 0x99};
static const uint8_t salt_draft_23[SALT_BYTES] = {0xc3, 0xee, 0xf7, 0x12, 0xc7, 0x2e, 0xbb, 0x5a,
	0x11, 0xa7, 0xd2, 0x43, 0x2b, 0xb4, 0x63, 0x65, 0xbe, 0xf9, 0xf5, 0x02};
static const uint8_t salt_draft_22[SALT_BYTES] = {0x7f, 0xbc, 0xdb, 0x0e, 0x7c, 0x66, 0xbb, 0xe9,
	0x19, 0x3a, 0x96, 0xcd, 0x21, 0x51, 0x9e, 0xbd, 0x7a, 0x02, 0x64, 0x4a};
static const uint8_t salt_q050[SALT_BYTES] = {0x50, 0x45, 0x74, 0xef, 0xd0, 0x66, 0xfe, 0x2f, 0x9d,
	0x94, 0x5c, 0xfc, 0xdb, 0xd3, 0xa7, 0xf0, 0xd3, 0xb5, 0x6b, 0x45};
static const uint8_t salt_t050[SALT_BYTES] = {0x7f, 0xf5, 0x79, 0xe5, 0xac, 0xd0, 0x72, 0x91, 0x55,
	0x80, 0x30, 0x4c, 0x43, 0xa2, 0x36, 0x7c, 0x60, 0x48, 0x83, 0x10};
static const uint8_t salt_t051[SALT_BYTES] = {0x7a, 0x4e, 0xde, 0xf4, 0xe7, 0xcc, 0xee, 0x5f, 0xa4,
	0x50, 0x6c, 0x19, 0x12, 0x4f, 0xc8, 0xcc, 0xda, 0x6e, 0x03, 0x3d};

static const struct quic_version versions[] = {
	{0x00000001, 0x00000001, salt_1},
	{QUIC_VERSION_2, QUIC_VERSION_2, salt_2},
	{QUIC_VERSION_2_DRAFT, QUIC_VERSION_2_DRAFT, salt_2_draft},
	{0xff000021, 0xff000022, salt_1},
	{0xff00001d, 0xff000020, salt_draft_29},
	{0xff000017, 0xff00001c, salt_draft_23},
	{0xff000016, 0xff000016, salt_draft_22},
	{0xfaceb001, 0xfaceb001, salt_draft_22},
	{0xfaceb002, 0xfaceb002, salt_draft_23},
	{0xfaceb00e, 0xfaceb00e, salt_draft_23},
	{QUIC_VERSION_Q050, QUIC_VERSION_Q050, salt_q050},
	{0x54303530, 0x54303530, salt_t050},
	{0x54303531, 0x54303531, salt_t051},
};

static const uint8_t *salt_of(uint32_t version)
{
	for (unsigned i = 0; i < sizeof(versions) / sizeof(versions[0]); i++)
		if (version >= versions[i].first && version <= versions[i].last)
			return versions[i].salt;
	return NULL;
}

bool quic_version_known(uint32_t version)
{
	return salt_of(version) != NULL;
}

void quic_crypto_free(struct quic_crypto *crypto)
{
	if (!crypto)
		return;
	EVP_CIPHER_CTX_free(crypto->packet);
	EVP_CIPHER_CTX_free(crypto->header);
	EVP_CIPHER_free(crypto->gcm);
	EVP_CIPHER_free(crypto->ecb);
	free(crypto);
}

// Both ciphers are set up once with any key, so that a data lcore's is never the first.
static bool set_up(struct quic_crypto *crypto)
{
	static const uint8_t any[16];

	crypto->ecb = EVP_CIPHER_fetch(NULL, "AES-128-ECB", NULL);
	crypto->gcm = EVP_CIPHER_fetch(NULL, "AES-128-GCM", NULL);
	crypto->header = EVP_CIPHER_CTX_new();
	crypto->packet = EVP_CIPHER_CTX_new();
	return crypto->ecb && crypto->gcm && crypto->header && crypto->packet &&
	       EVP_EncryptInit_ex2(crypto->header, crypto->ecb, any, NULL, NULL) &&
	       EVP_CIPHER_CTX_set_padding(crypto->header, 0) &&
	       EVP_DecryptInit_ex2(crypto->packet, crypto->gcm, any, any, NULL);
}

struct quic_crypto *quic_crypto_new(void)
{
	struct quic_crypto *crypto = calloc(1, sizeof(*crypto));

	if (crypto && !set_up(crypto)) {
		quic_crypto_free(crypto);
		return NULL;
	}
	return crypto;
}

static void sha256(const uint8_t pad[static SHA256_CBLOCK], const uint8_t *bytes, size_t length,
	uint8_t out[static SHA256_DIGEST_LENGTH])
{
	SHA256_CTX ctx;

	SHA256_Init(&ctx);
	SHA256_Update(&ctx, pad, SHA256_CBLOCK);
	SHA256_Update(&ctx, bytes, length);
	SHA256_Final(out, &ctx);
}

// RFC 2104; `key` is no longer than a block.
static void hmac(const uint8_t *key, unsigned key_length, const uint8_t *bytes, size_t length,
	uint8_t out[static SHA256_DIGEST_LENGTH])
{
	uint8_t inner[SHA256_CBLOCK], outer[SHA256_CBLOCK], digest[SHA256_DIGEST_LENGTH];

	for (unsigned i = 0; i < SHA256_CBLOCK; i++) {
		uint8_t octet = i < key_length ? key[i] : 0;

		inner[i] = octet ^ 0x36;
		outer[i] = octet ^ 0x5c;
	}
	sha256(inner, bytes, length, digest);
	sha256(outer, digest, sizeof(digest), out);
}

// RFC 8446 7.1, HKDF-Expand-Label without a context; at most one digest long.
static void expand(const uint8_t secret[static SHA256_DIGEST_LENGTH], const char *label,
	uint8_t *out, unsigned length)
{
	uint8_t info[32] = {0, (uint8_t)length}, digest[SHA256_DIGEST_LENGTH];
	size_t n = strlen(label);

	info[2] = (uint8_t)(6 + n);
	memcpy(info + 3, "tls13 ", 6);
	memcpy(info + 9, label, n);
	info[9 + n] = 0;
	info[10 + n] = 1; // the counter of HKDF-Expand
	hmac(secret, SHA256_DIGEST_LENGTH, info, 11 + n, digest);
	memcpy(out, digest, length);
}

bool quic_keys_derive(uint32_t version, enum quic_side side, const uint8_t *cid,
	unsigned cid_length, struct quic_keys *keys)
{
	bool second = quic_is_version_2(version);
	const uint8_t *salt = salt_of(version);
	uint8_t initial[SHA256_DIGEST_LENGTH], secret[SHA256_DIGEST_LENGTH];

	if (!salt)
		return false;
	hmac(salt, SALT_BYTES, cid, cid_length, initial);
	expand(initial, side == QUIC_CLIENT ? "client in" : "server in", secret, sizeof(secret));
	expand(secret, second ? "quicv2 key" : "quic key", keys->key, sizeof(keys->key));
	expand(secret, second ? "quicv2 iv" : "quic iv", keys->iv, sizeof(keys->iv));
	expand(secret, second ? "quicv2 hp" : "quic hp", keys->header, sizeof(keys->header));
	return true;
}

bool quic_header_mask(struct quic_crypto *crypto, const struct quic_keys *keys,
	const uint8_t sample[static QUIC_SAMPLE_BYTES], uint8_t mask[static QUIC_MASK_BYTES])
{
	uint8_t block[QUIC_SAMPLE_BYTES];
	int length;

	if (!EVP_EncryptInit_ex2(crypto->header, NULL, keys->header, NULL, NULL) ||
		!EVP_EncryptUpdate(crypto->header, block, &length, sample, QUIC_SAMPLE_BYTES))
		return false;
	memcpy(mask, block, QUIC_MASK_BYTES);
	return true;
}

bool quic_open(struct quic_crypto *crypto, const struct quic_keys *keys, uint64_t number,
	const uint8_t *header, uint32_t header_length, const uint8_t *sealed, uint32_t length,
	uint8_t *out)
{
	uint8_t nonce[sizeof(keys->iv)], tag[QUIC_TAG_BYTES];
	uint32_t inside = length - QUIC_TAG_BYTES;
	int n;

	memcpy(nonce, keys->iv, sizeof(nonce));
	for (unsigned i = 0; i < 8; i++)
		nonce[sizeof(nonce) - 1 - i] ^= (uint8_t)(number >> (8 * i));
	memcpy(tag, sealed + inside, sizeof(tag));
	return EVP_DecryptInit_ex2(crypto->packet, NULL, keys->key, nonce, NULL) &&
	       EVP_DecryptUpdate(crypto->packet, NULL, &n, header, (int)header_length) &&
	       EVP_DecryptUpdate(crypto->packet, out, &n, sealed, (int)inside) &&
	       EVP_CIPHER_CTX_ctrl(crypto->packet, EVP_CTRL_AEAD_SET_TAG, sizeof(tag), tag) &&
	       EVP_DecryptFinal_ex(crypto->packet, out + inside, &n) > 0;
}
