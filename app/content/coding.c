// SPDX-License-Identifier: BSD-3-Clause
// Content codings by their names, and what all of them have in common: where they end, and that an
// end stays one.
#include "content/coding/codec.h"

#include <assert.h>
#include <stdalign.h>
#include <string.h>
#include <strings.h>

static const struct codec *const codecs[] = {
	[CODING_GZIP] = &codec_gzip,
	[CODING_DEFLATE] = &codec_deflate,
	[CODING_BR] = &codec_br,
	[CODING_ZSTD] = &codec_zstd,
	[CODING_UNKNOWN] = NULL,
};

struct coding {
	struct content_memory *memory;
	const struct codec *codec;
	enum coding_state state;
	alignas(max_align_t) uint8_t kept[]; // of the codec
};

static const struct {
	const char *word;
	enum coding_kind kind;
} rows[] = {
	{"gzip", CODING_GZIP},
	{"x-gzip", CODING_GZIP},
	{"deflate", CODING_DEFLATE},
	{"br", CODING_BR},
	{"zstd", CODING_ZSTD},
	{"identity", CODING_IDENTITY},
};
#define ROWS (sizeof(rows) / sizeof(*rows))

enum coding_kind coding_find(const uint8_t *word, uint32_t length)
{
	for (size_t i = 0; i < ROWS; i++)
		if (strlen(rows[i].word) == length &&
			!strncasecmp(rows[i].word, (const char *)word, length))
			return rows[i].kind;
	return CODING_UNKNOWN;
}

bool coding_begins(const uint8_t *word, uint32_t length)
{
	for (size_t i = 0; i < ROWS; i++)
		if (length < strlen(rows[i].word) &&
			!strncasecmp(rows[i].word, (const char *)word, length))
			return true;
	return false;
}

struct coding *coding_open(struct content_memory *memory, enum coding_kind kind)
{
	const struct codec *codec = codecs[kind];
	struct coding *coding;

	if (!codec)
		return NULL;
	coding = content_take(memory, sizeof(*coding) + codec->bytes);
	if (!coding)
		return NULL;
	memset(coding, 0, sizeof(*coding) + codec->bytes);
	coding->memory = memory;
	coding->codec = codec;
	if (codec->open(coding->kept, memory))
		return coding;
	content_give(memory, coding);
	return NULL;
}

void coding_close(struct coding *coding)
{
	if (!coding)
		return;
	coding->codec->close(coding->kept);
	content_give(coding->memory, coding);
}

enum coding_state coding_feed(struct coding *coding, const uint8_t *in, uint32_t *in_length,
	uint8_t *out, uint32_t *out_length, bool last)
{
	uint8_t nothing = 0;
	struct coding_io io = {
		.in = *in_length ? in : &nothing,
		.out = *out_length ? out : &nothing,
		.in_left = *in_length,
		.out_left = *out_length,
		.last = last,
	};

	if (coding->state == CODING_GOES_ON || coding->state == CODING_STARVED) {
		coding->state = coding->codec->feed(coding->kept, &io);
		assert(coding->state != CODING_GOES_ON || !io.in_left || !io.out_left);
		if (coding->state == CODING_GOES_ON && last && !io.in_left && io.out_left)
			coding->state = CODING_BROKEN;
	}
	*in_length -= io.in_left;
	*out_length -= io.out_left;
	return coding->state;
}
