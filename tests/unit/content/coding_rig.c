// SPDX-License-Identifier: BSD-3-Clause
// Encoders of the libraries, and a decoder in pieces (coding_rig.h).
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <brotli/encode.h>
#include <zlib.h>
#include <zstd.h>

#include "coding_rig.h"

#define REGION    (32u << 20)
#define ROOM_MOST 65536u

uint32_t random_below(uint64_t *seed, uint32_t n)
{
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(*seed >> 33) % n;
}

uint64_t memory_used(const struct content_memory *memory)
{
	struct content_memory_use use;

	content_memory_look(memory, &use);
	return use.used;
}

enum coding_kind kind_of(enum form form)
{
	static const enum coding_kind kinds[FORMS] = {
		[FORM_GZIP] = CODING_GZIP,
		[FORM_ZLIB] = CODING_DEFLATE,
		[FORM_RAW] = CODING_DEFLATE,
		[FORM_BR] = CODING_BR,
		[FORM_ZSTD] = CODING_ZSTD,
	};

	return kinds[form];
}

static uint8_t *block(size_t length)
{
	uint8_t *at = malloc(length ? length : 1);

	assert_non_null(at);
	return at;
}

struct octets octets_of(const void *at, size_t length)
{
	struct octets copy = {block(length), length};

	if (length)
		memcpy(copy.at, at, length);
	return copy;
}

struct octets octets_join(struct octets first, struct octets second)
{
	struct octets both = {block(first.length + second.length), first.length + second.length};

	memcpy(both.at, first.at, first.length);
	memcpy(both.at + first.length, second.at, second.length);
	return both;
}

void octets_free(struct octets octets)
{
	free(octets.at);
}

static size_t deflate_all(const struct encoding *encoding, struct octets plain, struct octets room)
{
	static const int bits[FORMS] = {[FORM_GZIP] = 31, [FORM_ZLIB] = 15, [FORM_RAW] = -15};
	z_stream stream = {0};

	assert_int_equal(deflateInit2(&stream, encoding->level, Z_DEFLATED, bits[encoding->form], 8,
				 Z_DEFAULT_STRATEGY),
		Z_OK);
	stream.next_in = plain.at;
	stream.avail_in = (uInt)plain.length;
	stream.next_out = room.at;
	stream.avail_out = (uInt)room.length;
	assert_int_equal(deflate(&stream, Z_FINISH), Z_STREAM_END);
	deflateEnd(&stream);
	return stream.total_out;
}

static size_t zstd_all(const struct encoding *encoding, struct octets plain, struct octets room)
{
	ZSTD_CCtx *context = ZSTD_createCCtx();
	size_t length;

	assert_non_null(context);
	ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, encoding->level);
	ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, encoding->checksum);
	if (encoding->window_log) { // it is then stated: the length of the content is not
		ZSTD_CCtx_setParameter(context, ZSTD_c_windowLog, encoding->window_log);
		ZSTD_CCtx_setParameter(context, ZSTD_c_contentSizeFlag, 0);
	}
	length = ZSTD_compress2(context, room.at, room.length, plain.at, plain.length);
	assert_false(ZSTD_isError(length));
	ZSTD_freeCCtx(context);
	return length;
}

struct octets encode(const struct encoding *encoding, struct octets plain)
{
	struct octets coded = {NULL, plain.length + plain.length / 8 + 1024};

	coded.at = block(coded.length);
	switch (encoding->form) {
	case FORM_BR:
		assert_true(BrotliEncoderCompress(encoding->level,
			encoding->window_log ? encoding->window_log : BROTLI_DEFAULT_WINDOW,
			BROTLI_MODE_GENERIC, plain.length, plain.at, &coded.length, coded.at));
		break;
	case FORM_ZSTD: coded.length = zstd_all(encoding, plain, coded); break;
	default: coded.length = deflate_all(encoding, plain, coded); break;
	}
	return coded;
}

struct octets plain_of(enum texture texture, size_t length, uint64_t seed)
{
	static const char *const words[] = {"the ", "gateway ", "reads ", "what ", "others ",
		"wrote", ", and ", "then ", "tells ", "it.\n"};
	struct octets plain = {block(length), length};
	size_t at = 0;

	memset(plain.at, 0, length);
	while (texture != TEXTURE_ZEROS && at < length) {
		const char *word = words[random_below(&seed, 10)];

		if (texture == TEXTURE_NOISE || random_below(&seed, 20) == 0) {
			plain.at[at++] = (uint8_t)random_below(&seed, 256);
			continue;
		}
		for (; *word && at < length; word++)
			plain.at[at++] = (uint8_t)*word;
	}
	return plain;
}

// Ends where its block ends: what is read or written beyond is noticed.
static uint8_t *at_end(struct octets room, size_t length)
{
	return length ? room.at + room.length - length : NULL;
}

static void append(struct outcome *outcome, size_t *room, const uint8_t *at, size_t length)
{
	struct octets *told = &outcome->told;

	if (told->length + length > *room) {
		*room = 2 * (told->length + length);
		told->at = realloc(told->at, *room);
		assert_non_null(told->at);
	}
	if (length)
		memcpy(told->at + told->length, at, length);
	told->length += length;
}

struct outcome decode(struct coding *coding, struct octets coded, const struct cuts *cuts)
{
	uint32_t room_most = cuts->out ? cuts->out : ROOM_MOST;
	size_t piece_most = cuts->in && cuts->in < coded.length ? cuts->in : coded.length;
	struct octets piece = {block(piece_most), piece_most}, room = {block(room_most), room_most};
	struct outcome outcome = {CODING_GOES_ON, {block(0), 0}, 0};
	uint64_t seed = cuts->seed;
	size_t told_room = 0;
	unsigned idle = 0;

	while (outcome.state == CODING_GOES_ON) {
		size_t left = coded.length - outcome.taken;
		uint32_t given = (uint32_t)(piece_most < left ? piece_most : left);
		uint32_t wanted = room_most;

		if (seed) {
			given = random_below(&seed, given + 1);
			wanted = random_below(&seed, wanted + 1);
		}
		uint32_t taken = given, told = wanted;
		bool last = given == left && (!cuts->late || !left);
		uint8_t *in = at_end(piece, given), *out = at_end(room, wanted);

		if (given)
			memcpy(in, coded.at + outcome.taken, given);
		outcome.state = coding_feed(coding, in, &taken, out, &told, last);
		assert_true(taken <= given && told <= wanted);
		if (outcome.state == CODING_GOES_ON) {
			assert_true(taken == given || told == wanted);
			assert_false(last && taken == given && told < wanted);
		}
		idle = taken || told ? 0 : idle + 1;
		assert_true(idle < 100); // where a seed gives neither input nor room
		append(&outcome, &told_room, out, told);
		outcome.taken += taken;
	}
	octets_free(piece);
	octets_free(room);
	return outcome;
}

struct outcome decode_whole(enum coding_kind kind, struct octets coded, const struct cuts *cuts)
{
	static struct content_memory *memory;
	struct coding *coding;
	struct outcome outcome;

	if (!memory)
		memory = content_memory_new(REGION, 0);
	assert_non_null(memory);
	coding = coding_open(memory, kind);
	assert_non_null(coding);
	outcome = decode(coding, coded, cuts);
	coding_close(coding);
	assert_int_equal(memory_used(memory), 0);
	return outcome;
}

void expect_decoded(enum coding_kind kind, struct octets coded, const struct cuts *cuts,
	enum coding_state state, struct octets plain)
{
	struct outcome outcome = decode_whole(kind, coded, cuts);

	assert_int_equal(outcome.state, state);
	assert_int_equal(outcome.told.length, plain.length);
	assert_true(memcmp(outcome.told.at, plain.at, plain.length) == 0);
	octets_free(outcome.told);
}
