// SPDX-License-Identifier: BSD-3-Clause
// The plain functions, for the reason that quic_keys.c gives: libcrypto 3.0 takes heap for each
// digest by EVP.
#define OPENSSL_SUPPRESS_DEPRECATED
#include "digest.h"
#include <openssl/md5.h>
#include <openssl/sha.h>

void digest_md5(const void *bytes, size_t length, uint8_t out[static DIGEST_MD5_BYTES])
{
	MD5_CTX ctx;

	MD5_Init(&ctx);
	MD5_Update(&ctx, bytes, length);
	MD5_Final(out, &ctx);
}

void digest_sha256(const void *bytes, size_t length, uint8_t out[static DIGEST_SHA256_BYTES])
{
	SHA256_CTX ctx;

	SHA256_Init(&ctx);
	SHA256_Update(&ctx, bytes, length);
	SHA256_Final(out, &ctx);
}
