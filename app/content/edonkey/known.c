// SPDX-License-Identifier: BSD-3-Clause
// Keeps what is known of files, and reports their names.
#include "content/edonkey/known.h"

#include "content/memory.h"

bool ed2k_known_ready(const struct ed2k_turn *to)
{
	const size_t bytes = ED2K_KNOWN * sizeof(struct ed2k_known);
	struct ed2k_session *session = to->session;

	if (session->known)
		return true;
	session->known = content_take(to->turn->memory, bytes);
	if (session->known)
		memset(session->known, 0, bytes);
	return session->known;
}

void ed2k_known_give(const struct ed2k_turn *to)
{
	content_give(to->turn->memory, to->session->known);
	to->session->known = NULL;
}

static bool is_open(const struct ed2k_session *session, const struct ed2k_known *known)
{
	const struct ed2k_transfer *transfer = &session->halves[known->half].transfer;

	return transfer->id && !memcmp(transfer->hash, known->hash, EDONKEY_HASH);
}

// Whether the file may go for another one, rather than `best`.
static bool goes_before(const struct ed2k_session *session, const struct ed2k_known *known,
	const struct ed2k_known *best, bool listed)
{
	if (known->used && (is_open(session, known) || (listed && !known->listed)))
		return false;
	if (!best)
		return true;
	if (known->used && best->used && known->listed != best->listed)
		return known->listed;
	return known->used < best->used;
}

struct ed2k_known *ed2k_known_claim(
	const struct ed2k_turn *to, const uint8_t *hash, unsigned half, bool listed)
{
	struct ed2k_session *session = to->session;
	struct ed2k_known *best = NULL;

	for (unsigned i = 0; i < ED2K_KNOWN; i++) {
		struct ed2k_known *known = &session->known[i];

		if (known->used && known->half == half &&
			!memcmp(known->hash, hash, EDONKEY_HASH)) {
			known->listed &= listed;
			known->used = ++session->uses;
			return known;
		}
		if (goes_before(session, known, best, listed))
			best = known;
	}
	if (!best)
		return NULL;
	*best = (struct ed2k_known){.size = CONTENT_SIZE_UNKNOWN,
		.used = ++session->uses,
		.half = (uint8_t)half,
		.listed = listed};
	memcpy(best->hash, hash, EDONKEY_HASH);
	return best;
}

// Digests prove the parts of the file that they are of; a file of one part is proved by its id.
static void prove(const struct ed2k_half *half, struct content_whole *whole)
{
	const struct ed2k_hashes *hashes = &half->hashes;

	whole->piece_bytes = EDONKEY_PART_BYTES;
	whole->digest = CONTENT_DIGEST_MD4;
	if (whole->size && whole->size < EDONKEY_PART_BYTES) {
		whole->pieces = whole->id.bytes;
		whole->n_pieces = 1;
		return;
	}
	if (!hashes->digests || memcmp(hashes->hash, whole->id.bytes, EDONKEY_HASH) != 0)
		return;
	whole->pieces = hashes->digests;
	whole->n_pieces = hashes->n;
	if (whole->size == CONTENT_SIZE_UNKNOWN)
		return;
	if (hashes->n != whole->size / EDONKEY_PART_BYTES + 1)
		whole->n_pieces = 0;
	else if (!(whole->size % EDONKEY_PART_BYTES)) // the last one is of an empty part
		whole->n_pieces--;
}

struct content_file ed2k_known_file(
	const struct ed2k_turn *to, struct ed2k_known *known, struct content_whole *whole)
{
	const struct ed2k_half *half = &to->session->halves[known->half];

	*whole = (struct content_whole){
		.id = content_id_of(CONTENT_ID_ED2K, known->hash), .size = known->size};
	prove(half, whole);
	return (struct content_file){
		.id = ++to->session->files,
		.half = known->half,
		.name_source = known->name_length ? CONTENT_NAME_OFFER : CONTENT_NAME_NONE,
		.name_cut = known->name_cut,
		.scattered = true,
		.name = {known->name, known->name_length},
		.user = {half->nick, half->nick_length},
		.whole = whole,
		.size = known->size,
		.begins64 = to->at64,
		.item = &known->item,
	};
}

// The end of what is longer than there is room for, and no part of a character at its beginning.
static struct content_text end_of(struct content_text name)
{
	if (name.length <= ED2K_NAME_BYTES)
		return name;
	name.bytes += name.length - ED2K_NAME_BYTES;
	name.length = ED2K_NAME_BYTES;
	for (unsigned i = 0; i < 3 && (name.bytes[0] & 0xc0) == 0x80; i++) {
		name.bytes++;
		name.length--;
	}
	return name;
}

void ed2k_known_name(
	const struct ed2k_turn *to, struct ed2k_known *known, struct content_text name, bool cut)
{
	const struct content_sink *sink = to->turn->sink;
	struct content_text kept = end_of(name);
	bool same =
		kept.length == known->name_length && !memcmp(kept.bytes, known->name, kept.length);
	struct content_whole whole;
	struct content_file file;

	if (!kept.length)
		return;
	known->name_cut = cut || kept.length < name.length;
	known->name_length = (uint16_t)kept.length;
	memmove(known->name, kept.bytes, kept.length);
	if (known->listed || (known->told && same))
		return;
	known->told = true;
	file = ed2k_known_file(to, known, &whole);
	file.elsewhere = true;
	sink->file(sink->ctx, &file);
}
