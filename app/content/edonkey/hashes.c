// SPDX-License-Identifier: BSD-3-Clause
// Gathers digests of parts, and keeps those that the id proves.
#include "content/edonkey/hashes.h"

#include "content/edonkey/md4.h"
#include "content/edonkey/reader.h"
#include "content/memory.h"
#include "pipeline/vocab/octets.h"

static_assert(MD4_BYTES == EDONKEY_HASH, "a digest of a part is as long as an id");

void ed2k_hashes_begin(const struct ed2k_turn *to)
{
	struct ed2k_reader *reader = &to->half->reader;
	uint32_t n = octets_le16(reader->field + EDONKEY_HASH);

	memcpy(reader->hash, reader->field, EDONKEY_HASH);
	reader->left = n * MD4_BYTES;
	reader->step = ED2K_STEP_HASHES;
	if (!n || n > ED2K_HASHES_MAX || to->rest < reader->left)
		ed2k_rest(reader);
}

static bool is_proved(const struct ed2k_reader *reader, uint32_t length)
{
	uint8_t digest[MD4_BYTES];
	struct md4 md4;

	md4_begin(&md4);
	md4_add(&md4, reader->hashes, length);
	md4_end(&md4, digest);
	return !memcmp(digest, reader->hash, MD4_BYTES);
}

static void keep(const struct ed2k_turn *to, uint32_t length)
{
	struct ed2k_reader *reader = &to->half->reader;
	struct ed2k_hashes *kept = &to->half->hashes;

	if (!is_proved(reader, length))
		return;
	content_give(to->turn->memory, kept->digests);
	kept->digests = reader->hashes;
	kept->n = length / MD4_BYTES;
	memcpy(kept->hash, reader->hash, EDONKEY_HASH);
	reader->hashes = NULL;
}

// Digests of large files need much: who has no room for them does without.
enum content_fed ed2k_hashes_take(
	const struct ed2k_turn *to, const uint8_t *bytes, uint32_t length, uint32_t *used)
{
	struct ed2k_reader *reader = &to->half->reader;
	uint32_t all = octets_le16(reader->field + EDONKEY_HASH) * (uint32_t)MD4_BYTES;
	uint32_t here = length < reader->left ? length : reader->left;

	if (!reader->hashes &&
		(all < CONTENT_BLOCK_LARGE || !content_memory_is_scarce(to->turn->memory)))
		reader->hashes = content_take(to->turn->memory, all);
	if (!reader->hashes && all < CONTENT_BLOCK_LARGE)
		return CONTENT_NO_MEMORY;
	if (!reader->hashes) {
		ed2k_rest(reader);
		return CONTENT_FED;
	}
	memcpy(reader->hashes + (all - reader->left), bytes, here);
	reader->left -= here;
	*used += here;
	if (reader->left)
		return CONTENT_FED;
	keep(to, all);
	ed2k_hashes_drop(to);
	ed2k_rest(reader);
	return CONTENT_FED;
}

void ed2k_hashes_drop(const struct ed2k_turn *to)
{
	content_give(to->turn->memory, to->half->reader.hashes);
	to->half->reader.hashes = NULL;
}

void ed2k_hashes_give(const struct ed2k_turn *to)
{
	content_give(to->turn->memory, to->half->hashes.digests);
	to->half->hashes.digests = NULL;
}
