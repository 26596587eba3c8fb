// SPDX-License-Identifier: BSD-3-Clause
// Names, texts and beginnings of files: a form is UTF-8, its own form, and begins as it is cut;
// what is decoded fits where it may be written in place; a type that is found stays. The first
// octet says of which charset the rest is, the second how much room there is.
#include "content/file_type.h"
#include "content/name_text.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

#define INPUT_MAX 2048
// Compatibility decomposition and charsets: U+FDFA becomes 33 bytes of 3, and Latin 1's U+00BC 5
// of 1.
#define FORM_MAX (16 * INPUT_MAX)

typedef uint32_t normalize(enum text_charset charset, const uint8_t *bytes, uint32_t length,
	uint8_t *out, uint32_t size, bool *cut);

static uint8_t whole[FORM_MAX], again[FORM_MAX];

static void check(bool holds)
{
	if (!holds)
		abort();
}

static uint8_t *block(size_t size)
{
	uint8_t *exact = malloc(size ? size : 1);

	check(exact);
	return exact;
}

static bool is_utf8(const uint8_t *bytes, uint32_t length)
{
	const struct text_source source = {.bytes = bytes, .length = length};

	return charset_guess(&source) == CHARSET_UTF8;
}

static void check_form(normalize *function, enum text_charset charset, const uint8_t *bytes,
	uint32_t length, uint32_t size)
{
	bool cut;
	uint32_t n = function(charset, bytes, length, whole, sizeof(whole), &cut);

	check(!cut && is_utf8(whole, n));
	// escapes are undone once
	if (function == text_normalize || !memchr(whole, '%', n)) {
		uint32_t same = function(CHARSET_UTF8, whole, n, again, sizeof(again), &cut);

		check(!cut && same == n && !memcmp(whole, again, n));
	}
	uint8_t *out = block(size);
	uint32_t part = function(charset, bytes, length, out, size, &cut);

	check(part <= size && part <= n && !memcmp(out, whole, part) && is_utf8(out, part));
	check(cut == (n > size) && (cut || part == n));
	if (function == name_normalize) {
		struct name_parts parts = name_split(out, part);

		check(parts.base + parts.base_length == part);
		check(parts.extension + parts.extension_length == part);
		check(parts.extension >= parts.base);
	}
	free(out);
}

static void check_decoded(const uint8_t *bytes, uint32_t length, uint32_t size)
{
	uint8_t *in = block(length), *out = block(length), *room = block(size);
	uint32_t n = text_decode_percent(bytes, length, out);

	memcpy(in, bytes, length);
	check(n <= length && text_decode_percent(in, length, in) == n && !memcmp(in, out, n));
	n = text_decode_entities(bytes, length, out);
	memcpy(in, bytes, length);
	check(n <= length && text_decode_entities(in, length, in) == n && !memcmp(in, out, n));

	n = text_decode_words(bytes, length, whole, sizeof(whole));
	check(is_utf8(whole, n));
	uint32_t part = text_decode_words(bytes, length, room, size);

	check(part <= size && part <= n && !memcmp(room, whole, part) && is_utf8(room, part));
	n = text_decode_extended(bytes, length, whole, sizeof(whole));
	part = text_decode_extended(bytes, length, room, size);
	check(part <= size && part <= n && !memcmp(room, whole, part) && is_utf8(room, part));
	free(in);
	free(out);
	free(room);
}

static void check_type(const uint8_t *bytes, uint32_t length)
{
	file_type last = 0;

	for (uint32_t n = 0; n <= length && n <= FILE_TYPE_BYTES + 60; n += 1 + n / 16) {
		uint8_t *exact = block(n);

		memcpy(exact, bytes, n);
		file_type type = file_type_find(exact, n, false),
			  all = file_type_find(exact, n, true);

		check(type <= file_type_count() && all <= file_type_count());
		check(!last || type == last);
		// a text's last character may be cut by the bytes that are looked at alone
		check(!type || type == all || n == FILE_TYPE_BYTES);
		last = type;
		free(exact);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	if (len < 2 || len > INPUT_MAX)
		return 0;
	enum text_charset charset = bytes[0] % CHARSET_UNKNOWN;
	uint32_t size = bytes[1], length = (uint32_t)len - 2;

	bytes += 2;
	check_form(text_normalize, charset, bytes, length, size);
	check_form(name_normalize, charset, bytes, length, size);
	check_decoded(bytes, length, size);
	check_type(bytes, length);
	return 0;
}
