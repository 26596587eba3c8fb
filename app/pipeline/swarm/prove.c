// SPDX-License-Identifier: BSD-3-Clause
// Proves pieces, and files whose id is a digest of them: on scan lcores, a few KiB at a time, which
// are copied under the object's lock and digested without it.
#include "pipeline/swarm/swarm_work.h"

#include <string.h>
#include <openssl/evp.h>
#include "content/edonkey/md4.h"
#include "pipeline/vocab/pages.h"

#define TURN_BYTES (1u << 20) // that a scan lcore digests in a turn: about a millisecond
#define TRIES_MAX  4          // of what changes while it is read
#define PART       9728000u   // eDonkey: a file's id is the digest of those of its parts

struct swarm_reader {
	EVP_MD_CTX *context;
	EVP_MD *sha1, *sha256;
	struct object *object; // NULL: it has none
	uint32_t piece;        // + 1; 0: the whole
	uint64_t at, from, to;
	uint64_t size;
	enum { BY_SHA1, BY_SHA256, BY_MD4, BY_ED2K } by;
	struct md4 md4, parts;
	uint64_t in_part;
	uint8_t part[MD4_BYTES]; // digest of the last one
	uint8_t bytes[STEP];
};

static void reader_free(struct swarm_reader *reader)
{
	if (!reader)
		return;
	EVP_MD_CTX_free(reader->context);
	EVP_MD_free(reader->sha1);
	EVP_MD_free(reader->sha256);
	munmap(reader, sizeof(*reader));
}

static struct swarm_reader *reader_new(void)
{
	struct swarm_reader *reader = pages_new(sizeof(*reader), -1);

	if (!reader)
		return NULL;
	reader->context = EVP_MD_CTX_new();
	reader->sha1 = EVP_MD_fetch(NULL, "SHA1", NULL);
	reader->sha256 = EVP_MD_fetch(NULL, "SHA256", NULL);
	if (reader->context && reader->sha1 && reader->sha256)
		return reader;
	reader_free(reader);
	return NULL;
}

bool prove_new(struct swarm *swarm)
{
	for (unsigned i = 0; i < swarm->limits.n_workers; i++)
		if (!(swarm->readers[i] = reader_new()))
			return false;
	return true;
}

void prove_free(struct swarm *swarm)
{
	for (unsigned i = 0; i < swarm->limits.n_workers; i++)
		reader_free(swarm->readers[i]);
}

// ---- pieces that become whole ----

static uint32_t length_of(const struct object *object, uint32_t piece)
{
	uint64_t from = piece * object->piece_bytes;

	return (uint32_t)swarm_min(object->piece_bytes, object->size - from);
}

static void append(struct swarm *swarm, struct object *object, uint32_t piece)
{
	object->pieces[piece].state = PIECE_WHOLE;
	object->pieces[piece].next = 0;
	if (object->last_whole)
		object->pieces[object->last_whole - 1].next = piece + 1;
	else
		object->first_whole = piece + 1;
	object->last_whole = piece + 1;
	verify_push(swarm, object);
}

void prove_came(
	struct swarm *swarm, struct object *object, uint64_t from, uint32_t fresh, bool differs)
{
	if (!object->n_pieces) {
		object->doubted |= differs;
		object->whole_dirty |= differs || fresh;
		return;
	}
	uint32_t index = (uint32_t)(from / object->piece_bytes);
	struct piece *piece = &object->pieces[index];

	piece->present += fresh;
	piece->doubted |= differs;
	piece->dirty |= differs;
	if (piece->state == PIECE_PARTLY && piece->present == length_of(object, index))
		append(swarm, object, index);
}

// ---- what is read ----

static bool digest_begin(struct swarm_reader *reader)
{
	md4_begin(&reader->md4);
	md4_begin(&reader->parts);
	reader->in_part = 0;
	reader->at = reader->from;
	if (reader->by == BY_SHA1)
		return EVP_DigestInit_ex2(reader->context, reader->sha1, NULL) == 1;
	if (reader->by == BY_SHA256)
		return EVP_DigestInit_ex2(reader->context, reader->sha256, NULL) == 1;
	return true;
}

static void part_ends(struct swarm_reader *reader)
{
	md4_end(&reader->md4, reader->part);
	md4_add(&reader->parts, reader->part, sizeof(reader->part));
	md4_begin(&reader->md4);
	reader->in_part = 0;
}

static void digest_add(struct swarm_reader *reader, const uint8_t *bytes, uint32_t length)
{
	if (reader->by == BY_SHA1 || reader->by == BY_SHA256) {
		EVP_DigestUpdate(reader->context, bytes, length);
		return;
	}
	while (length) {
		uint32_t here = length;

		if (reader->by == BY_ED2K && reader->size >= PART)
			here = (uint32_t)swarm_min(length, PART - reader->in_part);
		md4_add(&reader->md4, bytes, here);
		reader->in_part += here;
		bytes += here;
		length -= here;
		if (reader->by == BY_ED2K && reader->size >= PART && reader->in_part == PART)
			part_ends(reader);
	}
}

// Of a file of whole parts there are two ids in use: one counts an empty part behind them.
static bool is_ed2k(struct swarm_reader *reader, const uint8_t *expected)
{
	uint8_t digest[MD4_BYTES];
	struct md4 parts = reader->parts;

	if (reader->size < PART) {
		md4_end(&reader->md4, digest);
		return !memcmp(digest, expected, sizeof(digest));
	}
	if (!reader->in_part) {
		md4_end(&parts, digest);
		if (!memcmp(reader->size == PART ? reader->part : digest, expected, sizeof(digest)))
			return true;
	}
	part_ends(reader);
	md4_end(&reader->parts, digest);
	return !memcmp(digest, expected, sizeof(digest));
}

static bool digest_is(struct swarm_reader *reader, const uint8_t *expected)
{
	uint8_t digest[EVP_MAX_MD_SIZE];

	switch (reader->by) {
	case BY_SHA1:
	case BY_SHA256:
		return EVP_DigestFinal_ex(reader->context, digest, NULL) == 1 &&
		       !memcmp(digest, expected, reader->by == BY_SHA1 ? 20 : 32);
	case BY_MD4: md4_end(&reader->md4, digest); return !memcmp(digest, expected, MD4_BYTES);
	case BY_ED2K: return is_ed2k(reader, expected);
	}
	return false;
}

// The first piece that no job reads, as it may have to be thrown away. False: there is none.
static bool take_piece(struct swarm *swarm, struct swarm_reader *reader, struct object *object)
{
	uint32_t *at = &object->first_whole, before = 0;

	for (; *at; before = *at, at = &object->pieces[*at - 1].next) {
		uint32_t index = *at - 1;
		struct piece *piece = &object->pieces[index];
		uint64_t from = index * object->piece_bytes;

		if (phase_is_read(swarm, object, from, from + length_of(object, index)))
			continue;
		if (object->last_whole == *at)
			object->last_whole = before;
		*at = piece->next;
		piece->state = PIECE_READ;
		piece->dirty = false;
		reader->piece = index + 1;
		reader->from = from;
		reader->to = from + length_of(object, index);
		reader->by = object->digest == CONTENT_DIGEST_MD4 ? BY_MD4 : BY_SHA1;
		return true;
	}
	return false;
}

static bool take_whole(struct swarm *swarm, struct swarm_reader *reader, struct object *object)
{
	if (object->whole != WHOLE_DUE || !object->files)
		return false;
	object->whole = WHOLE_READ;
	object->whole_dirty = false;
	reader->piece = 0;
	reader->from = 0;
	reader->to = file_end(&swarm->files[object->files]);
	reader->by = object->id.kind == CONTENT_ID_ED2K   ? BY_ED2K
		     : object->id.kind == CONTENT_ID_SHA1 ? BY_SHA1
							  : BY_SHA256;
	return true;
}

static bool begin(struct swarm *swarm, struct swarm_reader *reader)
{
	struct object *object = verify_pop(swarm);

	if (!object)
		return false;
	swarm_lock(&object->lock);
	bool taken = take_piece(swarm, reader, object) || take_whole(swarm, reader, object);

	if (taken && (object->first_whole || object->whole == WHOLE_DUE))
		verify_push(swarm, object);
	swarm_unlock(&object->lock);
	if (!taken) {
		atomic_fetch_sub(&object->refs, 1);
		return true; // another object may have something
	}
	reader->object = object;
	reader->size = reader->to - reader->from;
	digest_begin(reader);
	return true;
}

// ---- what comes of it ----

static void throw_away(struct swarm *swarm, struct object *object, struct piece *piece,
	const struct swarm_reader *reader)
{
	swarm_count(&swarm->bad);
	*piece = (struct piece){.present = piece->padding, .padding = piece->padding};
	space_clear(object, reader->from, reader->to);
	phase_settle_range(swarm, object, reader->from, reader->to, true);
}

static void piece_read(struct swarm *swarm, struct swarm_reader *reader)
{
	struct object *object = reader->object;
	uint32_t index = reader->piece - 1;
	struct piece *piece = &object->pieces[index];
	uint32_t length = object->digest == CONTENT_DIGEST_MD4 ? 16 : 20;
	bool is_it = digest_is(reader, object->digests + (size_t)index * length);

	if (piece->state != PIECE_READ)
		return; // it was forgotten meanwhile
	if (piece->dirty && ++piece->tries < TRIES_MAX) {
		append(swarm, object, index);
		return;
	}
	if (piece->dirty || !is_it) {
		throw_away(swarm, object, piece, reader);
		return;
	}
	piece->state = PIECE_PROVEN;
	piece->doubted = false;
	swarm_count(&swarm->proven);
	phase_settle_range(swarm, object, reader->from, reader->to, false);
}

static void whole_read(struct swarm *swarm, struct swarm_reader *reader)
{
	struct object *object = reader->object;
	bool is_it = digest_is(reader, object->id.bytes);

	if (object->whole != WHOLE_READ)
		return;
	if (object->whole_dirty && ++object->whole_tries < TRIES_MAX)
		object->whole = WHOLE_OPEN;
	else
		object->whole = is_it && !object->whole_dirty ? WHOLE_PROVEN : WHOLE_WRONG;
	if (object->whole == WHOLE_PROVEN)
		swarm_count(&swarm->proven);
	if (object->whole == WHOLE_WRONG)
		swarm_count(&swarm->bad);
	phase_settle_range(swarm, object, reader->from, reader->to, false);
}

static void step(struct swarm *swarm, struct swarm_reader *reader)
{
	struct object *object = reader->object;
	uint32_t length = (uint32_t)swarm_min(STEP, reader->to - reader->at);

	swarm_lock(&object->lock);
	space_read(object, reader->at, reader->bytes, length);
	swarm_unlock(&object->lock);
	digest_add(reader, reader->bytes, length);
	reader->at += length;
	if (reader->at < reader->to)
		return;
	swarm_lock(&object->lock);
	if (reader->piece)
		piece_read(swarm, reader);
	else
		whole_read(swarm, reader);
	swarm_unlock(&object->lock);
	reader->object = NULL;
	atomic_fetch_sub(&object->refs, 1);
}

bool swarm_work(void *arg, unsigned worker, uint64_t now_ns)
{
	struct swarm *swarm = arg;
	struct swarm_reader *reader = swarm->readers[worker % swarm->limits.n_workers];
	bool any = false;

	(void)now_ns;
	for (uint32_t left = TURN_BYTES; left >= STEP; left -= STEP) {
		if (!reader->object && !begin(swarm, reader))
			break;
		any = true;
		if (reader->object)
			step(swarm, reader);
	}
	return any;
}
