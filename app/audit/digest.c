// SPDX-License-Identifier: BSD-3-Clause
// Three digests over the same bytes, by OpenSSL.
#include "audit/digest.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/evp.h>

#include "audit/record.h"

enum { MD5, SHA1, SHA256, KINDS };

struct file_digest {
	EVP_MD_CTX *of[KINDS]; // NULL: not allowed
};

struct file_digest *file_digest_new(void)
{
	const EVP_MD *const kinds[KINDS] = {EVP_md5(), EVP_sha1(), EVP_sha256()};
	struct file_digest *digest = calloc(1, sizeof(*digest));

	if (!digest)
		return NULL;
	for (unsigned i = 0; i < KINDS; i++) {
		digest->of[i] = EVP_MD_CTX_new();
		if (digest->of[i] && EVP_DigestInit_ex(digest->of[i], kinds[i], NULL) == 1)
			continue;
		EVP_MD_CTX_free(digest->of[i]);
		digest->of[i] = NULL;
	}
	if (!digest->of[SHA256]) {
		file_digest_free(digest);
		return NULL;
	}
	return digest;
}

void file_digest_add(struct file_digest *digest, const void *bytes, size_t length)
{
	for (unsigned i = 0; i < KINDS; i++)
		if (digest->of[i])
			EVP_DigestUpdate(digest->of[i], bytes, length);
}

void file_digest_end(struct file_digest *digest, struct file_digests *out)
{
	char *const texts[KINDS] = {out->md5, out->sha1, out->sha256};
	uint8_t bytes[EVP_MAX_MD_SIZE];
	unsigned n;

	*out = (struct file_digests){0};
	for (unsigned i = 0; i < KINDS; i++)
		if (digest->of[i] && EVP_DigestFinal_ex(digest->of[i], bytes, &n) == 1)
			audit_hex(bytes, n, texts[i]);
}

void file_digest_free(struct file_digest *digest)
{
	if (!digest)
		return;
	for (unsigned i = 0; i < KINDS; i++)
		EVP_MD_CTX_free(digest->of[i]);
	free(digest);
}
