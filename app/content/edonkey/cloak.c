// SPDX-License-Identifier: BSD-3-Clause
// Opens a disguise: RC4 with keys of the hash, half by half.
#include "content/edonkey/cloak.h"

#include "content/memory.h"
#include "pipeline/vocab/octets.h"
#include "pipeline/vocab/rc4_md5.h"

enum {
	MARKER = 1,
	RANDOM = 4,
	MAGIC_BYTES = 4,
	KEY_DROP = 1024,
	HEAD_ASKS = MAGIC_BYTES + 3, // methods, the best, padding
	HEAD_ANSWERS = MAGIC_BYTES + 2,
	LOSE_MAX = 1 << 20, // the cipher goes on over so many bytes, and no more
};
#define MAGIC 0x835e6fc4u

struct cloaked_half {
	struct rc4 rc4;
	uint8_t head[HEAD_ASKS];
	uint8_t n_head;
	uint8_t padding; // that is yet to come
	bool open;
};

struct ed2k_cloak {
	struct cloaked_half halves[2];
	struct rc4 behind; // what was opened last, and how much that was
	uint32_t opened;
	uint8_t user[16];
	uint8_t first[MARKER + RANDOM];
	uint8_t n_first;
};

bool ed2k_cloak_open(const struct ed2k_turn *to, const struct endpoint_secret *secret)
{
	struct ed2k_cloak *cloak = content_take(to->turn->memory, sizeof(*cloak));

	if (!cloak)
		return false;
	memset(cloak, 0, sizeof(*cloak));
	memcpy(cloak->user, secret->user, sizeof(cloak->user));
	to->session->cloak = cloak;
	return true;
}

void ed2k_cloak_close(const struct ed2k_turn *to)
{
	content_give(to->turn->memory, to->session->cloak);
	to->session->cloak = NULL;
}

// The hash, who sends, and what is of chance.
static void make_keys(struct ed2k_cloak *cloak)
{
	static const uint8_t who[2] = {[HALF_C2S] = 34, [HALF_S2C] = 203};
	uint8_t material[16 + 1 + RANDOM], key[16];

	for (unsigned half = 0; half < 2; half++) {
		memcpy(material, cloak->user, 16);
		material[16] = who[half];
		memcpy(material + 17, cloak->first + MARKER, RANDOM);
		md5_block(material, sizeof(material), key);
		rc4_key(&cloak->halves[half].rc4, key, sizeof(key));
		rc4_stream(&cloak->halves[half].rc4, NULL, NULL, KEY_DROP);
	}
}

static bool takes_first(struct ed2k_cloak *cloak, unsigned side, uint8_t byte)
{
	if (side != HALF_C2S || cloak->n_first == sizeof(cloak->first))
		return false;
	cloak->first[cloak->n_first++] = byte;
	if (cloak->n_first == sizeof(cloak->first))
		make_keys(cloak);
	return true;
}

// One encrypted byte before the frames. False: it is not what the key says.
static bool take_head(struct cloaked_half *half, unsigned side, uint8_t byte)
{
	const uint8_t want = side == HALF_C2S ? HEAD_ASKS : HEAD_ANSWERS;

	rc4_stream(&half->rc4, &byte, &byte, 1);
	if (half->n_head < want) {
		half->head[half->n_head++] = byte;
		if (half->n_head == want)
			half->padding = byte;
	} else {
		half->padding--;
	}
	half->open = half->n_head == want && !half->padding;
	return half->n_head != MAGIC_BYTES || octets_le32(half->head) == MAGIC;
}

enum ed2k_cloaked ed2k_cloak_next(const struct ed2k_turn *to, const uint8_t *bytes, uint32_t length,
	uint32_t *taken, uint8_t out[ED2K_CLOAK_STEP], uint32_t *n)
{
	struct ed2k_cloak *cloak = to->session->cloak;
	struct cloaked_half *half = &cloak->halves[to->side];

	if (!half->open) {
		*taken = 1;
		if (takes_first(cloak, to->side, bytes[0]))
			return ED2K_CLOAK_HEAD;
		if (cloak->n_first < sizeof(cloak->first) || !take_head(half, to->side, bytes[0]))
			return ED2K_CLOAK_OTHER;
		return ED2K_CLOAK_HEAD;
	}
	*n = length < ED2K_CLOAK_STEP ? length : ED2K_CLOAK_STEP;
	cloak->behind = half->rc4; // the half's goes on when it is known how far
	cloak->opened = *n;
	rc4_stream(&cloak->behind, bytes, out, *n);
	return ED2K_CLOAK_BYTES;
}

void ed2k_cloak_took(const struct ed2k_turn *to, uint32_t n)
{
	struct ed2k_cloak *cloak = to->session->cloak;

	if (n == cloak->opened)
		cloak->halves[to->side].rc4 = cloak->behind;
	else
		rc4_stream(&cloak->halves[to->side].rc4, NULL, NULL, n);
}

bool ed2k_cloak_lose(const struct ed2k_turn *to, uint64_t length)
{
	struct cloaked_half *half = &to->session->cloak->halves[to->side];

	if (!half->open || length > LOSE_MAX)
		return false;
	rc4_stream(&half->rc4, NULL, NULL, (uint32_t)length);
	return true;
}
