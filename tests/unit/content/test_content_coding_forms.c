// SPDX-License-Identifier: BSD-3-Clause
// Forms of each coding that its document allows, forbids or leaves to the reader: members and their
// headers, deflate with and without one, frames, windows.
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <zlib.h>

#include "coding_rig.h"

#define COUNT(rows) (sizeof(rows) / sizeof(*(rows)))
#define OCTETS(literal)                                              \
	(struct octets)                                              \
	{                                                            \
		(uint8_t *)(uintptr_t)(literal), sizeof(literal) - 1 \
	}

static const struct octets none = {(uint8_t *)(uintptr_t) "", 0};
static const struct cuts some_cuts[] = {
	{0, 0, 0, false},
	{1, 1, 0, true},
	{7, 4096, 0, false},
	{20, 9, 3, true},
};

static void expect(
	enum coding_kind kind, struct octets coded, enum coding_state state, struct octets plain)
{
	for (size_t c = 0; c < COUNT(some_cuts); c++)
		expect_decoded(kind, coded, &some_cuts[c], state, plain);
}

static void append(struct octets *all, struct octets more)
{
	struct octets both = octets_join(*all, more);

	octets_free(*all);
	*all = both;
}

#define FIELD_EXTRA   1u
#define FIELD_NAME    2u
#define FIELD_COMMENT 4u
#define FIELD_HCRC    8u

// A member whose header has those fields.
static struct octets member(struct octets plain, unsigned fields)
{
	uint8_t extra[300] = "extra", name[] = "name.txt", comment[] = "a comment";
	gz_header header = {.extra_len = sizeof(extra), .time = 1, .os = 3};
	z_stream stream = {0};
	struct octets coded = octets_of(extra, 0);

	header.extra = fields & FIELD_EXTRA ? extra : NULL;
	header.name = fields & FIELD_NAME ? name : NULL;
	header.comment = fields & FIELD_COMMENT ? comment : NULL;
	header.hcrc = !!(fields & FIELD_HCRC);
	assert_int_equal(deflateInit2(&stream, 6, Z_DEFLATED, 31, 8, Z_DEFAULT_STRATEGY), Z_OK);
	assert_int_equal(deflateSetHeader(&stream, &header), Z_OK);
	coded.at = realloc(coded.at, plain.length + 2000);
	assert_non_null(coded.at);
	stream.next_in = plain.at;
	stream.avail_in = (uInt)plain.length;
	stream.next_out = coded.at;
	stream.avail_out = (uInt)plain.length + 2000;
	assert_int_equal(deflate(&stream, Z_FINISH), Z_STREAM_END);
	coded.length = stream.total_out;
	deflateEnd(&stream);
	return coded;
}

static void members_with_all_fields(void **state)
{
	struct octets coded = octets_of("", 0), plain = octets_of("", 0);

	(void)state;
	for (unsigned fields = 0; fields < 16; fields++) {
		struct octets text = plain_of(TEXTURE_TEXT, fields % 5 ? fields * 50 : 0, fields);
		struct octets one = member(text, fields);

		expect(CODING_GZIP, one, CODING_END, text);
		append(&coded, one);
		append(&plain, text);
		octets_free(one);
		octets_free(text);
	}
	expect(CODING_GZIP, coded, CODING_END, plain);
	for (unsigned n = 0; n < 500; n++) { // members of nothing
		struct octets one = member(none, 0);

		append(&coded, one);
		octets_free(one);
	}
	expect(CODING_GZIP, coded, CODING_END, plain);
	append(&coded, OCTETS("\x1f")); // begins another, perhaps
	expect(CODING_GZIP, coded, CODING_BROKEN, plain);
	append(&coded, OCTETS("\x8b\x08"));
	expect(CODING_GZIP, coded, CODING_BROKEN, plain);
	coded.length -= 3;
	append(&coded, OCTETS("\0\0\0\0\0\0\0\0")); // padding, as of a block
	expect(CODING_GZIP, coded, CODING_END, plain);
	octets_free(coded);
	octets_free(plain);
}

// `last` decides: a member may follow for as long as there may be input.
static void end_is_told_by_the_last(enum coding_kind kind, struct octets one, size_t text)
{
	struct content_memory *memory = content_memory_new(1, 0);
	struct coding *coding = coding_open(memory, kind);
	uint8_t room[1000];
	uint32_t in, out;

	assert_non_null(coding);
	for (unsigned times = 0; times < 3; times++) {
		in = (uint32_t)one.length, out = sizeof(room);
		assert_int_equal(
			coding_feed(coding, one.at, &in, room, &out, false), CODING_GOES_ON);
		assert_int_equal(in, one.length);
		assert_int_equal(out, text);
	}
	in = out = 0;
	assert_int_equal(coding_feed(coding, NULL, &in, NULL, &out, true), CODING_END);
	coding_close(coding);
	content_memory_free(memory);
}

static void another_may_follow(void **state)
{
	struct octets text = plain_of(TEXTURE_TEXT, 500, 1);
	struct octets one = member(text, FIELD_NAME);
	struct octets frame = encode(&(struct encoding){FORM_ZSTD, 3, 0, true}, text);

	(void)state;
	end_is_told_by_the_last(CODING_GZIP, one, text.length);
	end_is_told_by_the_last(CODING_ZSTD, frame, text.length);
	octets_free(frame);
	octets_free(one);
	octets_free(text);
}

static void wrong_members(void **state)
{
	struct octets text = plain_of(TEXTURE_TEXT, 400, 1);
	static const struct {
		int at; // from the end, where it is less than 0
		uint8_t flip;
		bool told; // all of the text
	} rows[] = {
		{0, 1, false},    // ID1
		{1, 1, false},    // ID2
		{2, 1, false},    // CM
		{3, 0x20, false}, // reserved flags
		{3, 0x80, false},
		{4, 1, false},  // a date, which CRC16 notices
		{14, 1, false}, // in the name
		{-8, 1, true},  // CRC32
		{-5, 0x80, true},
		{-4, 1, true}, // ISIZE
		{-1, 0x80, true},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct octets coded = member(text, FIELD_NAME | FIELD_HCRC);
		struct octets first = member(text, 0), two, twice = octets_join(text, text);

		coded.at[(rows[i].at < 0 ? (int)coded.length : 0) + rows[i].at] ^= rows[i].flip;
		expect(CODING_GZIP, coded, CODING_BROKEN, rows[i].told ? text : none);
		two = octets_join(first, coded);
		expect(CODING_GZIP, two, CODING_BROKEN, rows[i].told ? twice : text);
		octets_free(two);
		octets_free(twice);
		octets_free(first);
		octets_free(coded);
	}
	octets_free(text);
}

static void deflate_by_its_header(void **state)
{
	static const struct encoding zlib = {FORM_ZLIB, 6, 0, false}, raw = {FORM_RAW, 6, 0, false};
	struct octets text = plain_of(TEXTURE_TEXT, 900, 1);
	struct octets coded = encode(&zlib, text), bare;

	(void)state;
	expect(CODING_DEFLATE, coded, CODING_END, text);
	bare = octets_of(coded.at + 2, coded.length - 6);
	expect(CODING_DEFLATE, bare, CODING_END, text);
	coded.at[coded.length - 1] ^= 1; // ADLER32
	expect(CODING_DEFLATE, coded, CODING_BROKEN, text);
	octets_free(coded);
	octets_free(bare);

	coded = encode(&raw, text);
	expect(CODING_DEFLATE, coded, CODING_END, text);
	octets_free(coded);
	expect(CODING_DEFLATE, OCTETS("\x03\x00"), CODING_END, none); // the shortest there is
	expect(CODING_DEFLATE, OCTETS("\x78\x9c\x03\x00\x00\x00\x00\x01"), CODING_END, none);
	expect(CODING_DEFLATE, OCTETS("\x18\x19\x03\x00\x00\x00\x00\x01"), CODING_END, none);
	expect(CODING_DEFLATE, OCTETS("\x78\xbb\x00\x00\x00\x01\x03\x00\x00\x00\x00\x01"),
		CODING_BROKEN, none); // FDICT
	expect(CODING_DEFLATE, OCTETS("\x78\x9d\x03\x00\x00\x00\x00\x01"), CODING_BROKEN, none);
	expect(CODING_DEFLATE, OCTETS("\x88\x1c\x03\x00\x00\x00\x00\x01"), CODING_BROKEN, none);
	// stored blocks behind bits that are not zero: nearly a header
	expect(CODING_DEFLATE, OCTETS("\x78\x05\x00\xfa\xffhello\x03\x00"), CODING_END,
		OCTETS("hello"));
	expect(CODING_DEFLATE, OCTETS("\x88\x1c\x00\xe3\xfftwenty-eight bytes, no codes\x03\x00"),
		CODING_END, OCTETS("twenty-eight bytes, no codes"));
	expect(CODING_DEFLATE, OCTETS("\x78"), CODING_BROKEN, none);
	expect(CODING_DEFLATE, OCTETS("\x07"), CODING_BROKEN, none);
	octets_free(text);
}

// What is repeated from nearly a window before is found there.
static void windows_up_to_the_cap(void **state)
{
	static const struct encoding rows[] = {{FORM_BR, 5, CODING_WINDOW_LOG_MAX, false},
		{FORM_ZSTD, 3, CODING_WINDOW_LOG_MAX, false}, {FORM_GZIP, 9, 0, false}};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		size_t window = rows[i].form == FORM_GZIP ? 32768 - 300 : (4u << 20) - 5000;
		struct octets noise = plain_of(TEXTURE_NOISE, 20000, 1);
		struct octets zeros = plain_of(TEXTURE_ZEROS, window - noise.length, 1);
		struct octets first = octets_join(noise, zeros), plain = octets_join(first, noise);
		struct octets coded = encode(&rows[i], plain);

		assert_in_range(coded.length, noise.length, noise.length + noise.length / 4);
		expect_decoded(kind_of(rows[i].form), coded, &some_cuts[0], CODING_END, plain);
		expect_decoded(kind_of(rows[i].form), coded, &(struct cuts){50000, 50000, 1, false},
			CODING_END, plain);
		octets_free(coded);
		octets_free(plain);
		octets_free(first);
		octets_free(zeros);
		octets_free(noise);
	}
}

static void windows_beyond_the_cap(void **state)
{
	struct octets text = plain_of(TEXTURE_TEXT, 600, 1);
	struct octets much = plain_of(TEXTURE_ZEROS, (4u << 20) + 1, 1), coded;

	(void)state;
	for (int log = 10; log <= 24; log++) {
		bool allowed = log <= CODING_WINDOW_LOG_MAX;

		for (enum form form = FORM_BR; form <= FORM_ZSTD; form++) {
			coded = encode(&(struct encoding){form, 1, log, false}, text);
			// a small frame may state less than it was allowed
			if (form == FORM_ZSTD)
				coded.at[5] = (uint8_t)((log - 10) << 3);
			expect(kind_of(form), coded, allowed ? CODING_END : CODING_BROKEN,
				allowed ? text : none);
			octets_free(coded);
		}
	}
	// 0x11 begins a large window, which is not of RFC 7932
	expect(CODING_BR, OCTETS("\x11\x18\x03"), CODING_BROKEN, none);
	expect(CODING_ZSTD, OCTETS("\x28\xb5\x2f\xfd\x00\x60\x01\x00\x00"), CODING_END, none);
	expect(CODING_ZSTD, OCTETS("\x28\xb5\x2f\xfd\x00\x61\x01\x00\x00"), CODING_BROKEN, none);
	// a single segment: the content is the window
	for (unsigned more = 0; more < 2; more++) {
		struct octets plain = {much.at, much.length - 1 + more};
		uint8_t head[] = {0x28, 0xb5, 0x2f, 0xfd, 0xa0, (uint8_t)more, 0, 0x40, 0};

		coded = octets_of(head, sizeof(head));
		for (unsigned block = 0; block < 32; block++)
			append(&coded, OCTETS("\x02\x00\x10\x00")); // 128 KiB of zeros
		append(&coded, more ? OCTETS("\x0b\x00\x00\x00") : OCTETS("\x01\x00\x00"));
		expect_decoded(CODING_ZSTD, coded, &some_cuts[0], more ? CODING_BROKEN : CODING_END,
			more ? none : plain);
		octets_free(coded);
	}
	octets_free(much);
	octets_free(text);
}

static void frames(void **state)
{
	static const struct encoding sums = {FORM_ZSTD, 3, 0, true},
				     wide = {FORM_ZSTD, 3, 20, false};
	struct octets text = plain_of(TEXTURE_TEXT, 5000, 1), twice = octets_join(text, text);
	struct octets first = encode(&sums, text), second = encode(&wide, text);
	struct octets empty = encode(&sums, none), coded = octets_of("", 0);
	struct octets skippable = OCTETS("\x5a\x2a\x4d\x18\x05\0\0\0hello");
	struct octets skip_none = OCTETS("\x50\x2a\x4d\x18\0\0\0\0");

	(void)state;
	append(&coded, skippable);
	expect(CODING_ZSTD, coded, CODING_END, none);
	append(&coded, first);
	append(&coded, skip_none);
	append(&coded, empty);
	append(&coded, second);
	append(&coded, skip_none);
	expect(CODING_ZSTD, coded, CODING_END, twice);
	append(&coded, skippable);
	expect(CODING_ZSTD, coded, CODING_END, twice);
	for (unsigned cut = 1; cut < 13; cut++) {
		coded.length--;
		expect(CODING_ZSTD, coded, CODING_BROKEN, twice);
	}
	octets_free(coded);

	first.at[first.length - 1] ^= 1; // the checksum
	coded = octets_join(second, first);
	for (size_t c = 0; c < COUNT(some_cuts); c++) {
		struct outcome outcome = decode_whole(CODING_ZSTD, coded, &some_cuts[c]);

		assert_int_equal(outcome.state, CODING_BROKEN);
		assert_true(outcome.told.length >= text.length);
		assert_memory_equal(outcome.told.at, twice.at, outcome.told.length);
		octets_free(outcome.told);
	}
	octets_free(coded);
	octets_free(first);
	octets_free(second);
	octets_free(empty);
	octets_free(twice);
	octets_free(text);
}

// A dictionary nobody has; frames older than the format; a reserved bit.
static void frames_that_nobody_reads(void **state)
{
	uint8_t legacy[] = {
		0, 0xb5, 0x2f, 0xfd, 0x00, 0x00, 0x00, 0xc0, 0x00, 0x00, 0xc0, 0x00, 0x00};

	(void)state;
	expect(CODING_ZSTD, OCTETS("\x28\xb5\x2f\xfd\x01\x58\x07\x01\x00\x00"), CODING_BROKEN,
		none);
	expect(CODING_ZSTD, OCTETS("\x28\xb5\x2f\xfd\x08\x58\x01\x00\x00"), CODING_BROKEN, none);
	expect(CODING_ZSTD, OCTETS("\x28\xb5\x2f\xfd\x00\x58\x07\x00\x00"), CODING_BROKEN, none);
	for (uint8_t magic = 0x1e; magic <= 0x27; magic++) {
		legacy[0] = magic;
		expect(CODING_ZSTD, (struct octets){legacy, sizeof(legacy)}, CODING_BROKEN, none);
	}
}

// Of several blocks, those before the one that is damaged are told, also where all came at once.
static void blocks_before_the_damage(void **state)
{
	struct octets noise = plain_of(TEXTURE_NOISE, 600000, 1);
	struct octets coded = encode(&(struct encoding){FORM_ZSTD, 1, 0, false}, noise);
	size_t block = 128 * 1024, header = coded.length - noise.length - 5 * 3;

	(void)state;
	coded.at[header + 3 * (3 + block)] |= 6; // the fourth block: its type is reserved
	for (size_t c = 0; c < COUNT(some_cuts); c++)
		expect_decoded(CODING_ZSTD, coded, &some_cuts[c], CODING_BROKEN,
			(struct octets){noise.at, 3 * block});
	octets_free(coded);
	octets_free(noise);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(members_with_all_fields),
		cmocka_unit_test(another_may_follow),
		cmocka_unit_test(wrong_members),
		cmocka_unit_test(deflate_by_its_header),
		cmocka_unit_test(windows_up_to_the_cap),
		cmocka_unit_test(windows_beyond_the_cap),
		cmocka_unit_test(frames),
		cmocka_unit_test(frames_that_nobody_reads),
		cmocka_unit_test(blocks_before_the_damage),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
