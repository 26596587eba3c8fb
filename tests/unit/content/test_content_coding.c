// SPDX-License-Identifier: BSD-3-Clause
// What the libraries' encoders write is read again, however it is cut; what is cut off, damaged or
// followed by other bytes is not taken for whole.
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "coding_rig.h"

#define COUNT(rows) (sizeof(rows) / sizeof(*(rows)))

static const struct encoding encodings[] = {
	{FORM_GZIP, 1, 0, false},
	{FORM_GZIP, 6, 0, false},
	{FORM_GZIP, 9, 0, false},
	{FORM_ZLIB, 0, 0, false},
	{FORM_ZLIB, 6, 0, false},
	{FORM_RAW, 0, 0, false},
	{FORM_RAW, 1, 0, false},
	{FORM_RAW, 9, 0, false},
	{FORM_BR, 0, 0, false},
	{FORM_BR, 1, 10, false},
	{FORM_BR, 5, 16, false},
	{FORM_BR, 9, 17, false},
	{FORM_BR, 5, CODING_WINDOW_LOG_MAX, false},
	{FORM_ZSTD, -5, 0, false},
	{FORM_ZSTD, 1, 0, true},
	{FORM_ZSTD, 3, 10, true},
	{FORM_ZSTD, 3, CODING_WINDOW_LOG_MAX, false},
	{FORM_ZSTD, 19, 0, true},
};

static void expect(const struct outcome *outcome, enum coding_state state, struct octets plain)
{
	assert_int_equal(outcome->state, state);
	assert_int_equal(outcome->told.length, plain.length);
	assert_true(memcmp(outcome->told.at, plain.at, plain.length) == 0);
}

static void expect_whole(const struct encoding *row, struct octets coded, const struct cuts *cuts,
	struct octets plain)
{
	struct outcome outcome = decode_whole(kind_of(row->form), coded, cuts);

	expect(&outcome, CODING_END, plain);
	assert_int_equal(outcome.taken, coded.length);
	octets_free(outcome.told);
}

static void each_kind_is_read_in_any_pieces(void **state)
{
	static const size_t lengths[] = {0, 1, 300, 40000, 300000};
	static const struct cuts cuts[] = {
		{0, 0, 0, false},
		{0, 0, 0, true},
		{1, 4096, 0, false},
		{1, 1, 0, true},
		{0, 1, 0, false},
		{7, 7, 0, false},
		{4096, 4096, 0, false},
		{1448, 7, 0, true},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(encodings); i++)
		for (size_t l = 0; l < COUNT(lengths); l++)
			for (enum texture texture = TEXTURE_TEXT; texture <= TEXTURE_ZEROS;
				texture++) {
				struct octets plain = plain_of(texture, lengths[l], l + 1);
				struct octets coded = encode(&encodings[i], plain);

				// the longest by each cut for some, by one for all
				for (size_t c = 0; c < COUNT(cuts); c++)
					if (lengths[l] < 100000 || c == i % COUNT(cuts))
						expect_whole(&encodings[i], coded, &cuts[c], plain);
				octets_free(coded);
				octets_free(plain);
			}
}

static void random_pieces(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(encodings); i++)
		for (uint64_t seed = 1; seed <= 30; seed++) {
			uint64_t length = seed;
			struct octets plain =
				plain_of(seed % 3, random_below(&length, 60000), seed);
			struct octets coded = encode(&encodings[i], plain);
			struct cuts cuts = {1u << seed % 14, 1u << seed % 11, seed, seed & 1};

			expect_whole(&encodings[i], coded, &cuts, plain);
			octets_free(coded);
			octets_free(plain);
		}
}

static void is_prefix(struct octets part, struct octets plain)
{
	assert_true(part.length <= plain.length);
	assert_memory_equal(part.at, plain.at, part.length);
}

static void what_is_cut_off_is_broken(void **state)
{
	static const struct cuts cuts[] = {{0, 0, 0, false}, {1, 1, 0, true}, {5, 64, 0, false}};
	struct octets plain = plain_of(TEXTURE_TEXT, 1500, 1);

	(void)state;
	for (size_t i = 0; i < COUNT(encodings); i++) {
		struct octets coded = encode(&encodings[i], plain);
		size_t most = 0;

		for (size_t length = 0; length < coded.length; length++)
			for (size_t c = 0; c < COUNT(cuts); c++) {
				struct octets cut = octets_of(coded.at, length);
				struct outcome outcome =
					decode_whole(kind_of(encodings[i].form), cut, &cuts[c]);

				assert_int_equal(outcome.state, CODING_BROKEN);
				is_prefix(outcome.told, plain);
				if (outcome.told.length > most)
					most = outcome.told.length;
				octets_free(outcome.told);
				octets_free(cut);
			}
		// all of it but what the last of its blocks holds
		assert_true(encodings[i].form == FORM_ZSTD || most >= plain.length - 300);
		octets_free(coded);
	}
	octets_free(plain);
}

// Where there is a checksum, no damage is taken for good.
static void damage_is_noticed(void **state)
{
	struct octets plain = plain_of(TEXTURE_TEXT, 800, 2);
	unsigned ended = 0, broken = 0;

	(void)state;
	for (size_t i = 0; i < COUNT(encodings); i++) {
		const struct encoding *row = &encodings[i];
		struct octets coded = encode(row, plain);
		bool sums = row->form == FORM_GZIP || row->form == FORM_ZLIB || row->checksum;

		for (size_t bit = 0; bit < coded.length * 8; bit++) {
			const struct cuts cuts = {
				bit % 3 ? 1 + (uint32_t)bit % 40 : 0, 0, 0, false};
			struct outcome outcome;

			coded.at[bit / 8] ^= (uint8_t)(1u << bit % 8);
			outcome = decode_whole(kind_of(row->form), coded, &cuts);
			if (outcome.state == CODING_END)
				ended++;
			else
				broken++;
			if (sums && outcome.state == CODING_END)
				expect(&outcome, CODING_END, plain); // a date, a name
			octets_free(outcome.told);
			coded.at[bit / 8] ^= (uint8_t)(1u << bit % 8);
		}
		octets_free(coded);
	}
	assert_true(broken > ended && ended > 100);
	octets_free(plain);
}

// deflate and br know their end, and leave what follows; gzip and zstd take it for their own.
static void what_follows(void **state)
{
	static const struct cuts cuts[] = {{0, 0, 0, false}, {1, 1, 0, false}, {3, 0, 0, true}};
	struct octets plain = plain_of(TEXTURE_TEXT, 3000, 3);
	struct octets other = octets_of("\0\0\0\0 other bytes", 16);

	(void)state;
	for (size_t i = 0; i < COUNT(encodings); i++)
		for (size_t c = 0; c < COUNT(cuts); c++) {
			enum coding_kind kind = kind_of(encodings[i].form);
			struct octets coded = encode(&encodings[i], plain);
			struct octets all = octets_join(coded, other);
			struct outcome outcome = decode_whole(kind, all, &cuts[c]);

			if (kind == CODING_DEFLATE || kind == CODING_BR) {
				expect(&outcome, CODING_END, plain);
				assert_int_equal(outcome.taken, coded.length);
			} else {
				expect(&outcome, CODING_BROKEN, plain);
			}
			octets_free(outcome.told);
			octets_free(all);
			octets_free(coded);
		}
	octets_free(plain);
	octets_free(other);
}

static void an_end_stays(void **state)
{
	struct content_memory *memory = content_memory_new(1, 0);
	struct octets plain = plain_of(TEXTURE_TEXT, 100, 4);

	(void)state;
	for (size_t i = 0; i < COUNT(encodings); i++)
		for (unsigned broken = 0; broken < 2; broken++) {
			struct coding *coding = coding_open(memory, kind_of(encodings[i].form));
			struct octets coded = encode(&encodings[i], plain);
			struct octets cut = {coded.at, coded.length - broken};
			struct outcome outcome = decode(coding, cut, &(struct cuts){0});
			uint8_t room[16];

			assert_int_equal(outcome.state, broken ? CODING_BROKEN : CODING_END);
			for (unsigned again = 0; again < 3; again++) {
				uint32_t in = (uint32_t)cut.length, out = sizeof(room);

				assert_int_equal(
					coding_feed(coding, cut.at, &in, room, &out, again),
					outcome.state);
				assert_int_equal(in, 0);
				assert_int_equal(out, 0);
			}
			octets_free(outcome.told);
			octets_free(coded);
			coding_close(coding);
		}
	assert_int_equal(memory_used(memory), 0);
	octets_free(plain);
	content_memory_free(memory);
}

struct walk {
	struct coding *coding;
	struct octets coded, plain;
	size_t taken, told;
};

static enum coding_state feed(struct walk *walk, uint32_t in, uint32_t room)
{
	uint8_t out[2];
	bool last = walk->taken + in == walk->coded.length;
	enum coding_state state = coding_feed(walk->coding,
		in ? walk->coded.at + walk->taken : NULL, &in, room ? out : NULL, &room, last);

	assert_true(walk->told + room <= walk->plain.length);
	assert_memory_equal(out, walk->plain.at + walk->told, room);
	walk->taken += in;
	walk->told += room;
	return state;
}

// Neither input nor room, one without the other, any number of times: nothing breaks of it.
static void nothing_is_nothing(void **state)
{
	struct content_memory *memory = content_memory_new(1, 0);
	struct octets plain = plain_of(TEXTURE_TEXT, 5000, 5);

	(void)state;
	for (size_t i = 0; i < COUNT(encodings); i++) {
		struct walk walk = {coding_open(memory, kind_of(encodings[i].form)),
			encode(&encodings[i], plain), plain, 0, 0};
		enum coding_state told = CODING_GOES_ON;

		assert_non_null(walk.coding);
		while (told == CODING_GOES_ON) {
			size_t before = walk.taken + walk.told;

			for (unsigned again = 0; again < 40; again++)
				assert_int_equal(feed(&walk, 0, 0), CODING_GOES_ON);
			for (unsigned again = 0; again < 40 && told == CODING_GOES_ON; again++)
				told = feed(&walk, walk.taken < walk.coded.length, 0);
			for (unsigned again = 0; again < 40 && told == CODING_GOES_ON; again++)
				told = feed(&walk, 0, 2);
			if (told == CODING_GOES_ON)
				told = feed(&walk, walk.taken < walk.coded.length, 2);
			assert_true(walk.taken + walk.told > before || told != CODING_GOES_ON);
		}
		assert_int_equal(told, CODING_END);
		assert_int_equal(walk.told, plain.length);
		assert_int_equal(walk.taken, walk.coded.length);
		octets_free(walk.coded);
		coding_close(walk.coding);
	}
	octets_free(plain);
	content_memory_free(memory);
}

static void words_of_kinds(void **state)
{
	static const struct {
		const char *word;
		enum coding_kind kind;
	} rows[] = {{"gzip", CODING_GZIP}, {"x-gzip", CODING_GZIP}, {"X-GZip", CODING_GZIP},
		{"deflate", CODING_DEFLATE}, {"Deflate", CODING_DEFLATE}, {"br", CODING_BR},
		{"BR", CODING_BR}, {"zstd", CODING_ZSTD}, {"identity", CODING_IDENTITY},
		{"", CODING_UNKNOWN}, {"b", CODING_UNKNOWN}, {"brr", CODING_UNKNOWN},
		{" gzip", CODING_UNKNOWN}, {"gzi", CODING_UNKNOWN}, {"compress", CODING_UNKNOWN},
		{"x-deflate", CODING_UNKNOWN}, {"gz\1p", CODING_UNKNOWN}, {"[\\", CODING_UNKNOWN}};
	struct content_memory *memory = content_memory_new(1, 0);

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct octets exact = octets_of(rows[i].word, strlen(rows[i].word));

		assert_int_equal(coding_find(exact.at, (uint32_t)exact.length), rows[i].kind);
		octets_free(exact);
	}
	assert_null(coding_open(memory, CODING_IDENTITY));
	assert_null(coding_open(memory, CODING_UNKNOWN));
	coding_close(NULL);
	assert_int_equal(memory_used(memory), 0);
	content_memory_free(memory);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_kind_is_read_in_any_pieces),
		cmocka_unit_test(random_pieces),
		cmocka_unit_test(what_is_cut_off_is_broken),
		cmocka_unit_test(damage_is_noticed),
		cmocka_unit_test(what_follows),
		cmocka_unit_test(an_end_stays),
		cmocka_unit_test(nothing_is_nothing),
		cmocka_unit_test(words_of_kinds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
