// SPDX-License-Identifier: BSD-3-Clause
// The memory of decoders: all of it is content_memory's, none of it malloc's; where there is none,
// it is said, and can be mended; what grows without end grows in its bounds.
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <brotli/decode.h>
#include <brotli/encode.h>
#include <zlib.h>
#include <zstd.h>

#include "coding_rig.h"
#include "lib/rig/sanitized.h"

#define COUNT(rows) (sizeof(rows) / sizeof(*(rows)))
#define MIB         ((size_t)1 << 20)

// Requests of the whole process, its libraries included.
static unsigned long requests;

#if SANITIZED
#include <sanitizer/allocator_interface.h>

static void requested(const volatile void *at, size_t bytes)
{
	(void)at;
	(void)bytes;
	requests++;
}

static void released(const volatile void *at)
{
	(void)at;
}

static void count_requests(void)
{
	assert_true(__sanitizer_install_malloc_and_free_hooks(requested, released));
}
#else
// In the place of the C library's, for all that is loaded: its free() takes what these give.
void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t n, size_t bytes);
void *__libc_realloc(void *at, size_t bytes);

__attribute__((visibility("default"))) void *malloc(size_t bytes)
{
	requests++;
	return __libc_malloc(bytes);
}

__attribute__((visibility("default"))) void *calloc(size_t n, size_t bytes)
{
	requests++;
	return __libc_calloc(n, bytes);
}

__attribute__((visibility("default"))) void *realloc(void *at, size_t bytes)
{
	requests++;
	return __libc_realloc(at, bytes);
}

static void count_requests(void)
{
}
#endif

static const struct encoding encodings[] = {
	{FORM_GZIP, 6, 0, false},
	{FORM_ZLIB, 6, 0, false},
	{FORM_RAW, 6, 0, false},
	{FORM_BR, 5, 0, false},
	{FORM_BR, 9, 16, false},
	{FORM_ZSTD, 3, 0, true},
	{FORM_ZSTD, 3, 20, false},
};

// Without a request of its own; false where another byte than those of `plain` is told.
static bool decode_quietly(
	struct coding *coding, struct octets coded, struct octets plain, enum coding_state *state)
{
	static uint8_t room[3000];
	size_t taken = 0, at = 0;

	do {
		uint32_t in = (uint32_t)(coded.length - taken), out = sizeof(room);

		if (in > 1448)
			in = 1448;
		*state = coding_feed(
			coding, coded.at + taken, &in, room, &out, taken + in == coded.length);
		if (out > plain.length - at || memcmp(room, plain.at + at, out) != 0)
			return false;
		taken += in;
		at += out;
	} while (*state == CODING_GOES_ON);
	return at == plain.length || *state != CODING_END;
}

static void the_counter_counts(void **state)
{
	unsigned long before = requests;
	z_stream stream = {0};
	BrotliDecoderState *brotli;
	ZSTD_DCtx *zstd;

	(void)state;
	assert_int_equal(inflateInit(&stream), Z_OK);
	inflateEnd(&stream);
	assert_true(requests > before);
	before = requests;
	brotli = BrotliDecoderCreateInstance(NULL, NULL, NULL);
	assert_non_null(brotli);
	BrotliDecoderDestroyInstance(brotli);
	assert_true(requests > before);
	before = requests;
	zstd = ZSTD_createDCtx();
	assert_non_null(zstd);
	ZSTD_freeDCtx(zstd);
	assert_true(requests > before);
}

static void nothing_is_of_the_heap(void **state)
{
	struct content_memory *memory = content_memory_new(4 * CONTENT_BLOCK_MAX, 0);
	struct octets plain = plain_of(TEXTURE_TEXT, 400000, 1);

	(void)state;
	for (size_t i = 0; i < COUNT(encodings); i++)
		for (unsigned damaged = 0; damaged < 2; damaged++) {
			struct octets coded = encode(&encodings[i], plain);
			unsigned long before = requests;
			struct coding *coding = coding_open(memory, kind_of(encodings[i].form));
			enum coding_state told;

			if (damaged)
				memset(coded.at + coded.length / 2, 0xff, 50);
			assert_non_null(coding);
			bool good = decode_quietly(coding, coded, plain, &told);

			coding_close(coding);
			assert_int_equal(requests, before);
			assert_true(good || damaged);
			assert_true(damaged || told == CODING_END);
			assert_int_equal(memory_used(memory), 0);
			octets_free(coded);
		}
	octets_free(plain);
	content_memory_free(memory);
}

// libzstd reads them with what malloc() gives.
static void frames_of_old_are_not_of_the_heap(void **state)
{
	struct content_memory *memory = content_memory_new(1, 0);
	uint8_t frame[64] = {0, 0xb5, 0x2f, 0xfd};

	(void)state;
	for (uint8_t magic = 0x1e; magic <= 0x27; magic++) {
		struct coding *coding = coding_open(memory, CODING_ZSTD);
		unsigned long before = requests;
		uint8_t room[64];
		uint32_t in = sizeof(frame), out = sizeof(room);

		frame[0] = magic;
		assert_int_equal(coding_feed(coding, frame, &in, room, &out, false), CODING_BROKEN);
		coding_close(coding);
		assert_int_equal(requests, before);
	}
	assert_int_equal(memory_used(memory), 0);
	content_memory_free(memory);
}

// Blocks of a size that are taken until there are no more, the last of them given back first.
struct hoard {
	struct content_memory *memory;
	void *blocks[CONTENT_BLOCK_MAX / CONTENT_BLOCK_MIN];
	size_t n;
};

static void hoard_all(struct hoard *hoard)
{
	void *block;

	while ((block = content_take(hoard->memory, CONTENT_BLOCK_MIN)))
		hoard->blocks[hoard->n++] = block;
}

static void give_some(struct hoard *hoard, size_t n)
{
	while (n-- > 0 && hoard->n > 0)
		content_give(hoard->memory, hoard->blocks[--hoard->n]);
}

// With any amount of memory a decoder is made, or it is not, and then nothing is kept.
static void opened_whole_or_not(void **state)
{
	static struct hoard hoard;
	static const enum coding_kind kinds[] = {
		CODING_GZIP, CODING_DEFLATE, CODING_BR, CODING_ZSTD};

	(void)state;
	for (size_t i = 0; i < COUNT(kinds); i++) {
		unsigned refused = 0, opened = 0;

		hoard.memory = content_memory_new(1, 0);
		hoard_all(&hoard);
		while (!opened || hoard.n > CONTENT_BLOCK_MAX / CONTENT_BLOCK_MIN - 4096) {
			uint64_t before = memory_used(hoard.memory);
			struct coding *coding = coding_open(hoard.memory, kinds[i]);

			if (coding)
				opened++;
			else
				refused++;
			assert_true(coding || !opened);
			coding_close(coding);
			assert_int_equal(memory_used(hoard.memory), before);
			give_some(&hoard, 16);
		}
		assert_true(refused > 1);
		give_some(&hoard, hoard.n);
		assert_int_equal(memory_used(hoard.memory), 0);
		content_memory_free(hoard.memory);
	}
}

// gzip and deflate have all that they need once they are open.
static void inflate_never_starves(void **state)
{
	static struct hoard hoard;
	struct octets plain = plain_of(TEXTURE_TEXT, 200000, 1);

	(void)state;
	for (size_t i = 0; encodings[i].form <= FORM_RAW; i++) {
		struct octets coded = encode(&encodings[i], plain);
		struct coding *coding;
		enum coding_state told;

		hoard.memory = content_memory_new(1, 0);
		coding = coding_open(hoard.memory, kind_of(encodings[i].form));
		hoard_all(&hoard);
		assert_true(decode_quietly(coding, coded, plain, &told));
		assert_int_equal(told, CODING_END);
		coding_close(coding);
		give_some(&hoard, hoard.n);
		assert_int_equal(memory_used(hoard.memory), 0);
		content_memory_free(hoard.memory);
		octets_free(coded);
	}
	octets_free(plain);
}

// Three frames, each of which needs more than the one before: each asks, and is asked again.
static void zstd_goes_on_when_memory_is_back(void **state)
{
	static struct hoard hoard;
	struct octets plain = plain_of(TEXTURE_TEXT, 3000, 1), all = octets_of("", 0);
	uint8_t room[1000];
	unsigned starved = 0;
	size_t taken = 0, told = 0;
	enum coding_state now = CODING_GOES_ON;
	struct coding *coding;

	(void)state;
	for (int log = 16; log <= 20; log += 2) {
		struct octets one = encode(&(struct encoding){FORM_ZSTD, 1, log, true}, plain);
		struct octets both;

		one.at[5] = (uint8_t)((log - 10) << 3); // as large as it was allowed to be
		both = octets_join(all, one);
		octets_free(all);
		octets_free(one);
		all = both;
	}
	hoard.memory = content_memory_new(1, 0);
	coding = coding_open(hoard.memory, CODING_ZSTD);
	hoard_all(&hoard);
	while (now != CODING_END) {
		uint32_t in = taken < all.length, out = sizeof(room);

		now = coding_feed(
			coding, all.at + taken, &in, room, &out, taken + in == all.length);
		taken += in;
		assert_memory_equal(room, plain.at + told % plain.length, out);
		told += out;
		assert_int_not_equal(now, CODING_BROKEN);
		if (now == CODING_STARVED) {
			in = out = 0; // nothing changes by asking
			assert_int_equal(
				coding_feed(coding, NULL, &in, NULL, &out, false), CODING_STARVED);
			give_some(&hoard, 512);
			starved++;
		}
	}
	assert_int_equal(told, 3 * plain.length);
	assert_in_range(starved, 3, 100);
	coding_close(coding);
	give_some(&hoard, hoard.n);
	assert_int_equal(memory_used(hoard.memory), 0);
	content_memory_free(hoard.memory);
	octets_free(all);
	octets_free(plain);
}

// What is refused for its window is not taken for another shortage.
static void zstd_tells_shortage_from_damage(void **state)
{
	static struct hoard hoard;
	static const uint8_t frames[] = "\x28\xb5\x2f\xfd\x00\x50\x01\x00\x00"
					"\x28\xb5\x2f\xfd\x00\x61\x01\x00\x00";
	uint8_t room[1];
	uint32_t in = sizeof(frames) - 1, out = sizeof(room), taken;
	struct coding *coding;

	(void)state;
	hoard.memory = content_memory_new(1, 0);
	coding = coding_open(hoard.memory, CODING_ZSTD);
	hoard_all(&hoard);
	assert_int_equal(coding_feed(coding, frames, &in, room, &out, false), CODING_STARVED);
	assert_in_range(in, 6, 9);
	give_some(&hoard, hoard.n);
	taken = in;
	in = (uint32_t)sizeof(frames) - 1 - taken, out = sizeof(room);
	assert_int_equal(coding_feed(coding, frames + taken, &in, room, &out, true), CODING_BROKEN);
	coding_close(coding);
	assert_int_equal(memory_used(hoard.memory), 0);
	content_memory_free(hoard.memory);
}

// What was told is good; then it is starved for good, and gives back all. With more, it comes
// further.
static void br_starves_for_good(void **state)
{
	static struct hoard hoard;
	struct octets plain = plain_of(TEXTURE_TEXT, 300000, 1);
	struct octets coded = encode(&(struct encoding){FORM_BR, 5, 0, false}, plain);
	enum coding_state told = CODING_STARVED;
	unsigned starved = 0;

	(void)state;
	hoard.memory = content_memory_new(1, 0);
	hoard_all(&hoard);
	while (told != CODING_END && hoard.n) {
		struct coding *coding;

		give_some(&hoard, 64);
		coding = coding_open(hoard.memory, CODING_BR);
		if (!coding)
			continue;
		assert_true(decode_quietly(coding, coded, plain, &told));
		if (told == CODING_STARVED) {
			uint32_t in = 0, out = 0;

			assert_int_equal(
				coding_feed(coding, NULL, &in, NULL, &out, false), CODING_STARVED);
			starved++;
		}
		coding_close(coding);
		assert_int_equal(memory_used(hoard.memory), hoard.n * CONTENT_BLOCK_MIN);
	}
	assert_int_equal(told, CODING_END);
	assert_in_range(starved, 2, 1000);
	give_some(&hoard, hoard.n);
	content_memory_free(hoard.memory);
	octets_free(coded);
	octets_free(plain);
}

// Zeros, `total` of them, and no byte else; the peak of memory.
static uint64_t expect_zeros(enum coding_kind kind, struct octets coded, uint64_t total)
{
	static const uint8_t zeros[65536];
	static uint8_t room[65536];
	struct content_memory *memory = content_memory_new(2 * CONTENT_BLOCK_MAX, 0);
	struct coding *coding = coding_open(memory, kind);
	enum coding_state state = CODING_GOES_ON;
	struct content_memory_use use;
	uint64_t told = 0;
	size_t taken = 0;

	assert_non_null(coding);
	while (state == CODING_GOES_ON) {
		uint32_t in = (uint32_t)(coded.length - taken), out = sizeof(room);

		state = coding_feed(coding, coded.at + taken, &in, room, &out, true);
		assert_true(memcmp(room, zeros, out) == 0);
		taken += in;
		told += out;
	}
	assert_int_equal(state, CODING_END);
	assert_int_equal(told, total);
	coding_close(coding);
	content_memory_look(memory, &use);
	assert_int_equal(use.used, 0);
	content_memory_free(memory);
	return use.peak;
}

// Blocks that are whole to themselves, one as often as is asked for, then an empty one that is
// final.
static struct octets zeros_deflated(size_t piece, unsigned times)
{
	struct octets plain = plain_of(TEXTURE_ZEROS, piece, 1), coded = {malloc(4 * MIB), 0};
	z_stream stream = {0};

	assert_non_null(coded.at);
	assert_int_equal(deflateInit2(&stream, 9, Z_DEFLATED, -15, 9, Z_DEFAULT_STRATEGY), Z_OK);
	stream.next_in = plain.at;
	stream.avail_in = (uInt)plain.length;
	stream.next_out = coded.at;
	stream.avail_out = MIB;
	assert_int_equal(deflate(&stream, Z_FULL_FLUSH), Z_OK);
	assert_true((stream.total_out + 1) * times < 4 * MIB);
	for (unsigned n = 0; n < times; n++)
		memmove(coded.at + n * stream.total_out, coded.at, stream.total_out);
	memcpy(coded.at + times * stream.total_out, "\3", 2);
	coded.length = times * stream.total_out + 2;
	deflateEnd(&stream);
	octets_free(plain);
	return coded;
}

static struct octets zeros_br(size_t piece, unsigned times)
{
	struct octets plain = plain_of(TEXTURE_ZEROS, piece, 1), coded = {malloc(MIB), 0};
	BrotliEncoderState *encoder = BrotliEncoderCreateInstance(NULL, NULL, NULL);
	size_t room = MIB;
	uint8_t *out = coded.at;

	assert_non_null(out);
	BrotliEncoderSetParameter(encoder, BROTLI_PARAM_QUALITY, 2);
	BrotliEncoderSetParameter(encoder, BROTLI_PARAM_LGWIN, CODING_WINDOW_LOG_MAX);
	for (unsigned n = 0; n <= times; n++) {
		size_t left = n < times ? piece : 0;
		const uint8_t *in = plain.at;

		do
			assert_true(BrotliEncoderCompressStream(encoder,
				n < times ? BROTLI_OPERATION_PROCESS : BROTLI_OPERATION_FINISH,
				&left, &in, &room, &out, NULL));
		while (left);
	}
	assert_true(BrotliEncoderIsFinished(encoder));
	BrotliEncoderDestroyInstance(encoder);
	coded.length = MIB - room;
	octets_free(plain);
	return coded;
}

// One frame of the widest window, 128 KiB of zeros in each 4 bytes.
static struct octets zeros_zstd(uint64_t total)
{
	static const uint8_t head[] = {
		0x28, 0xb5, 0x2f, 0xfd, 0, (CODING_WINDOW_LOG_MAX - 10) << 3};
	uint64_t blocks = total >> 17;
	struct octets coded = {malloc(sizeof(head) + blocks * 4 + 3), sizeof(head)};

	assert_non_null(coded.at);
	memcpy(coded.at, head, sizeof(head));
	for (uint64_t n = 0; n < blocks; n++, coded.length += 4)
		memcpy(coded.at + coded.length, "\2\0\x10", 4);
	memcpy(coded.at + coded.length, "\1\0", 3);
	coded.length += 3;
	return coded;
}

static void bombs_keep_within_memory(void **state)
{
	uint64_t total = 1024 * MIB;
	struct octets coded = zeros_deflated(16 * MIB, 64);

	(void)state;
	assert_in_range(expect_zeros(CODING_DEFLATE, coded, total), 40000, 41 * 1024 + 512);
	octets_free(coded);
	coded = zeros_zstd(total);
	assert_in_range(expect_zeros(CODING_ZSTD, coded, total), 1, 8 * MIB + 256 * 1024);
	octets_free(coded);
	total /= 4; // its encoder is slow
	coded = zeros_br(16 * MIB, 16);
	assert_in_range(expect_zeros(CODING_BR, coded, total), 1, 13 * MIB);
	octets_free(coded);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_counter_counts),
		cmocka_unit_test(nothing_is_of_the_heap),
		cmocka_unit_test(frames_of_old_are_not_of_the_heap),
		cmocka_unit_test(opened_whole_or_not),
		cmocka_unit_test(inflate_never_starves),
		cmocka_unit_test(zstd_goes_on_when_memory_is_back),
		cmocka_unit_test(zstd_tells_shortage_from_damage),
		cmocka_unit_test(br_starves_for_good),
		cmocka_unit_test(bombs_keep_within_memory),
	};

	count_requests();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
