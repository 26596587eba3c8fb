// SPDX-License-Identifier: BSD-3-Clause
// Digests over the extents of a file, by libcrypto.
#include "scan/hasher.h"

#include <errno.h>
#include <stdlib.h>
#include <openssl/evp.h>

struct scan_hasher {
	const struct scan_arena *arena;
	const struct scan_extents *extents;
	EVP_MD_CTX *context;
	EVP_MD *kinds[2]; // enum scan_hash
	uint32_t extent, at;
};

struct scan_hasher *scan_hasher_new(const struct scan_arena *arena)
{
	struct scan_hasher *hasher = calloc(1, sizeof(*hasher));

	if (!hasher)
		return NULL;
	hasher->arena = arena;
	hasher->context = EVP_MD_CTX_new();
	hasher->kinds[SCAN_HASH_SHA1] = EVP_MD_fetch(NULL, "SHA1", NULL);
	hasher->kinds[SCAN_HASH_SHA256] = EVP_MD_fetch(NULL, "SHA256", NULL);
	if (hasher->context && hasher->kinds[0] && hasher->kinds[1])
		return hasher;
	scan_hasher_free(hasher);
	return NULL;
}

void scan_hasher_free(struct scan_hasher *hasher)
{
	if (!hasher)
		return;
	EVP_MD_CTX_free(hasher->context);
	EVP_MD_free(hasher->kinds[0]);
	EVP_MD_free(hasher->kinds[1]);
	free(hasher);
}

bool scan_hasher_begin(struct scan_hasher *hasher, enum scan_hash hash, const struct scan_job *job)
{
	hasher->extents = scan_arena_extents(hasher->arena, job);
	hasher->extent = 0;
	hasher->at = hasher->extents ? hasher->extents->lead : 0;
	return hasher->extents &&
	       EVP_DigestInit_ex2(hasher->context, hasher->kinds[hash], NULL) == 1;
}

int scan_hasher_go(struct scan_hasher *hasher, size_t *bytes, uint8_t *out)
{
	const struct scan_extents *extents = hasher->extents;
	size_t left = *bytes;

	while (left && hasher->extent < extents->n) {
		const struct scan_extent *extent = &extents->extent[hasher->extent];
		const uint8_t *from = hasher->arena->base + (size_t)extent->page * SCAN_PAGE;
		size_t here = extent->bytes - hasher->at;

		if (here > left)
			here = left;
		if (EVP_DigestUpdate(hasher->context, from + hasher->at, here) != 1)
			return -EIO;
		left -= here;
		hasher->at += (uint32_t)here;
		if (hasher->at == extent->bytes) {
			hasher->extent++;
			hasher->at = 0;
		}
	}
	*bytes -= left;
	if (hasher->extent < extents->n)
		return 0;
	return EVP_DigestFinal_ex(hasher->context, out, NULL) == 1 ? 1 : -EIO;
}
