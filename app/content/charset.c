// SPDX-License-Identifier: BSD-3-Clause
// Bytes to code points, by a state of a few bytes for each charset.
#include "content/charset.h"
#include "pipeline/vocab/octets.h"

#include <string.h>
#include <strings.h>
#include <utf8proc.h>

#define REPLACEMENT 0xfffd

static const struct {
	const char *name;
	enum text_charset charset;
} names[] = {
	{"utf-8", CHARSET_UTF8},
	{"utf8", CHARSET_UTF8},
	{"us-ascii", CHARSET_LATIN1},
	{"ascii", CHARSET_LATIN1},
	{"iso-8859-1", CHARSET_LATIN1},
	{"iso8859-1", CHARSET_LATIN1},
	{"latin1", CHARSET_LATIN1},
	{"windows-1252", CHARSET_LATIN1},
	{"cp1252", CHARSET_LATIN1},
	{"iso-8859-15", CHARSET_LATIN9},
	{"iso8859-15", CHARSET_LATIN9},
	{"latin-9", CHARSET_LATIN9},
	{"utf-16", CHARSET_UTF16},
	{"utf-16le", CHARSET_UTF16LE},
	{"utf-16be", CHARSET_UTF16BE},
};

// windows-1252 from 0x80 on (https://encoding.spec.whatwg.org/index-windows-1252.txt)
static const uint16_t windows[32] = {0x20ac, 0x81, 0x201a, 0x192, 0x201e, 0x2026, 0x2020, 0x2021,
	0x2c6, 0x2030, 0x160, 0x2039, 0x152, 0x8d, 0x17d, 0x8f, 0x90, 0x2018, 0x2019, 0x201c,
	0x201d, 0x2022, 0x2013, 0x2014, 0x2dc, 0x2122, 0x161, 0x203a, 0x153, 0x9d, 0x17e, 0x178};

enum text_charset charset_by_name(const uint8_t *name, uint32_t length)
{
	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strlen(names[i].name) == length &&
			!strncasecmp(names[i].name, (const char *)name, length))
			return names[i].charset;
	return CHARSET_UNKNOWN;
}

bool charset_has_ascii(const uint8_t *name, uint32_t length)
{
	static const char *const begins[] = {"utf-8", "utf8", "us-ascii", "ascii", "iso-8859-",
		"iso8859-", "latin", "windows-", "cp125", "koi8-", "gb", "big5", "euc-",
		"shift_jis", "sjis", "ks_c_5601", "tis-620", "macintosh"};

	for (unsigned i = 0; i < sizeof(begins) / sizeof(begins[0]); i++)
		if (strlen(begins[i]) <= length &&
			!strncasecmp(begins[i], (const char *)name, strlen(begins[i])))
			return true;
	return !length;
}

int text_hex_pair(const uint8_t *digits)
{
	int high = octets_hex(digits[0]), low = octets_hex(digits[1]);

	return high < 0 || low < 0 ? -1 : high << 4 | low;
}

int text_source_next(struct text_source *source)
{
	uint32_t left = source->length - source->at;
	int escaped = -1;

	if (!left)
		return -1;
	uint8_t byte = source->bytes[source->at++];

	if (source->percent && byte == '%' && left >= 3)
		escaped = text_hex_pair(source->bytes + source->at);
	if (escaped < 0)
		return byte;
	source->at += 2;
	return escaped;
}

static bool begins(const struct text_source *source, const char *with)
{
	size_t n = strlen(with);

	return source->length - source->at >= n && !memcmp(source->bytes + source->at, with, n);
}

enum text_charset charset_guess(const struct text_source *source)
{
	struct text_source read = *source;
	struct charset_decoder decoder;
	int32_t points[2];
	int byte;

	if (begins(source, "\xff\xfe"))
		return CHARSET_UTF16LE;
	if (begins(source, "\xfe\xff"))
		return CHARSET_UTF16BE;
	if (begins(source, "\xef\xbb\xbf"))
		return CHARSET_UTF8;
	charset_begin(&decoder, CHARSET_UTF8);
	while (!decoder.invalid && (byte = text_source_next(&read)) >= 0)
		charset_push(&decoder, (uint8_t)byte, points);
	charset_end(&decoder, points);
	return decoder.invalid ? CHARSET_LATIN1 : CHARSET_UTF8;
}

void charset_begin(struct charset_decoder *decoder, enum text_charset charset)
{
	*decoder = (struct charset_decoder){
		.charset = charset,
		.big = charset == CHARSET_UTF16BE || charset == CHARSET_UTF16,
	};
}

static int32_t invalid(struct charset_decoder *decoder)
{
	decoder->invalid = true;
	return REPLACEMENT;
}

static bool utf8_begins(struct charset_decoder *decoder, uint8_t byte)
{
	decoder->low = 0x80;
	decoder->high = 0xbf;
	if (byte >= 0xc2 && byte <= 0xdf) {
		decoder->need = 1;
		decoder->point = byte & 0x1f;
	} else if (byte >= 0xe0 && byte <= 0xef) {
		decoder->need = 2;
		decoder->point = byte & 0xf;
		decoder->low = byte == 0xe0 ? 0xa0 : 0x80;  // no overlong forms
		decoder->high = byte == 0xed ? 0x9f : 0xbf; // no surrogates
	} else if (byte >= 0xf0 && byte <= 0xf4) {
		decoder->need = 3;
		decoder->point = byte & 7;
		decoder->low = byte == 0xf0 ? 0x90 : 0x80;
		decoder->high = byte == 0xf4 ? 0x8f : 0xbf; // nothing above U+10FFFF
	} else {
		return false;
	}
	return true;
}

static unsigned push_utf8(struct charset_decoder *decoder, uint8_t byte, int32_t points[2])
{
	unsigned n = 0;

	if (decoder->need) {
		if (byte >= decoder->low && byte <= decoder->high) {
			decoder->low = 0x80;
			decoder->high = 0xbf;
			decoder->point = decoder->point << 6 | (byte & 0x3f);
			if (--decoder->need)
				return 0;
			points[0] = decoder->point;
			return 1;
		}
		decoder->need = 0;
		points[n++] = invalid(decoder);
	}
	if (byte < 0x80)
		points[n++] = byte;
	else if (!utf8_begins(decoder, byte))
		points[n++] = invalid(decoder);
	return n;
}

static unsigned push_utf16(struct charset_decoder *decoder, uint8_t byte, int32_t points[2])
{
	unsigned n = 0;

	decoder->odd = !decoder->odd;
	if (decoder->odd) {
		decoder->first = byte;
		return 0;
	}
	int32_t unit = decoder->big ? decoder->first << 8 | byte : byte << 8 | decoder->first;

	// each piece may begin with a mark; U+FFFE is no character
	if (decoder->charset == CHARSET_UTF16 && (unit == 0xfeff || unit == 0xfffe)) {
		decoder->big ^= unit == 0xfffe;
		return 0;
	}
	if (decoder->point) {
		int32_t surrogate = decoder->point;

		decoder->point = 0;
		if ((unit & 0xfc00) == 0xdc00) {
			points[0] = 0x10000 + ((surrogate & 0x3ff) << 10) + (unit & 0x3ff);
			return 1;
		}
		points[n++] = invalid(decoder);
	}
	if ((unit & 0xfc00) == 0xd800)
		decoder->point = unit;
	else
		points[n++] = (unit & 0xfc00) == 0xdc00 ? invalid(decoder) : unit;
	return n;
}

static int32_t latin9(uint8_t byte)
{
	switch (byte) {
	case 0xa4: return 0x20ac;
	case 0xa6: return 0x160;
	case 0xa8: return 0x161;
	case 0xb4: return 0x17d;
	case 0xb8: return 0x17e;
	case 0xbc: return 0x152;
	case 0xbd: return 0x153;
	case 0xbe: return 0x178;
	default: return byte;
	}
}

unsigned charset_push(struct charset_decoder *decoder, uint8_t byte, int32_t points[2])
{
	switch (decoder->charset) {
	case CHARSET_UTF16:
	case CHARSET_UTF16LE:
	case CHARSET_UTF16BE: return push_utf16(decoder, byte, points);
	case CHARSET_LATIN9: points[0] = latin9(byte); return 1;
	case CHARSET_LATIN1:
		points[0] = byte >= 0x80 && byte < 0xa0 ? windows[byte - 0x80] : byte;
		return 1;
	default: return push_utf8(decoder, byte, points);
	}
}

unsigned charset_end(struct charset_decoder *decoder, int32_t points[2])
{
	bool is_utf8 = decoder->charset == CHARSET_UTF8;
	unsigned n = 0;

	if (is_utf8 ? decoder->need != 0 : decoder->point != 0)
		points[n++] = invalid(decoder);
	if (decoder->odd)
		points[n++] = invalid(decoder);
	decoder->need = 0;
	decoder->point = 0;
	decoder->odd = false;
	return n;
}

void text_out_put(struct text_out *out, int32_t point)
{
	uint8_t coded[4];
	uint32_t n = (uint32_t)utf8proc_encode_char(point, coded);

	// once something did not fit `length` is beyond `size`, and nothing fits
	if (out->length + n <= out->size) {
		memcpy(out->bytes + out->length, coded, n);
		out->written = (uint32_t)out->length + n;
	}
	out->length += n;
}

void charset_text(
	struct text_out *out, enum text_charset charset, const uint8_t *bytes, uint32_t length)
{
	struct charset_decoder decoder;
	int32_t points[2];

	charset_begin(&decoder, charset);
	for (uint32_t i = 0; i <= length; i++) {
		unsigned n = i < length ? charset_push(&decoder, bytes[i], points)
					: charset_end(&decoder, points);

		for (unsigned j = 0; j < n; j++)
			text_out_put(out, points[j]);
	}
}

uint32_t charset_utf16_until_nul(const uint8_t *bytes, uint32_t length)
{
	for (uint32_t i = 0; i + 1 < length; i += 2)
		if (!bytes[i] && !bytes[i + 1])
			return i;
	return length;
}
