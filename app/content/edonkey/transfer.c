// SPDX-License-Identifier: BSD-3-Clause
// Opens files with the first byte that comes of them, and puts parts and blocks into their places.
#include "content/edonkey/transfer.h"

#include "content/edonkey/known.h"
#include "content/edonkey/reader.h"
#include "content/memory.h"
#include "pipeline/vocab/octets.h"

#define OUT_BYTES  4096                       // that are decoded at a time
#define PACKED_MAX (EDONKEY_BLOCK_MAX + 1024) // some compress what becomes longer by that
#define MAX_SIZE   (UINT64_C(1) << EDONKEY_SIZE_BITS)

static uint64_t number(const uint8_t *at, bool wide)
{
	return wide ? ed2k_le64(at) : octets_le32(at);
}

static void forget_block(struct ed2k_block *block)
{
	coding_close(block->coding);
	*block = (struct ed2k_block){0};
}

void ed2k_transfer_end(const struct ed2k_turn *to, unsigned half, bool said)
{
	struct ed2k_transfer *transfer = &to->session->halves[half].transfer;
	const struct content_sink *sink = to->turn->sink;
	bool all = transfer->bytes >= transfer->size && transfer->reached == transfer->size;
	bool closed = !transfer->damaged && (said || all);

	for (unsigned i = 0; i < ED2K_BLOCKS; i++)
		forget_block(&transfer->blocks[i]);
	if (transfer->id)
		sink->end(sink->ctx, transfer->id,
			closed ? CONTENT_END_CLOSED : CONTENT_END_TRUNCATED, transfer->ends64);
	*transfer = (struct ed2k_transfer){0};
}

void ed2k_transfer_close(const struct ed2k_turn *to, unsigned side)
{
	struct ed2k_half *half = &to->session->halves[side];

	if (half->mode == ED2K_BODY && half != to->half)
		half->transfer.closing = true;
	else
		ed2k_transfer_end(to, side, true);
}

static bool is_of(const struct ed2k_transfer *transfer, const uint8_t *hash)
{
	return transfer->id && !memcmp(transfer->hash, hash, EDONKEY_HASH);
}

// Behind the file, as far as somebody has said where that is, or any file.
static uint64_t end_of(const struct ed2k_turn *to)
{
	const struct ed2k_reader *reader = &to->half->reader;
	const struct ed2k_known *known = to->session->known;

	uint64_t size = CONTENT_SIZE_UNKNOWN;

	if (is_of(&to->half->transfer, reader->hash))
		size = to->half->transfer.size;
	else
		for (unsigned i = 0; known && i < ED2K_KNOWN; i++)
			if (known[i].used && known[i].half == to->side &&
				!memcmp(known[i].hash, reader->hash, EDONKEY_HASH))
				size = known[i].size;
	return size < MAX_SIZE ? size : MAX_SIZE;
}

static void refuse(const struct ed2k_turn *to)
{
	ed2k_note(to, CONTENT_NOTE_BAD_LENGTH);
	ed2k_rest(&to->half->reader);
}

// File, where it begins, where it ends; all of it is in the frame, or no client takes it.
void ed2k_part_begin(const struct ed2k_turn *to, bool wide)
{
	struct ed2k_reader *reader = &to->half->reader;
	const uint8_t *range = reader->field + EDONKEY_HASH;
	uint64_t start = number(range, wide), end = number(range + (wide ? 8 : 4), wide);
	bool whole = to->rest == ED2K_REST_UNKNOWN || to->rest == end - start;

	memcpy(reader->hash, reader->field, EDONKEY_HASH);
	if (end <= start || end - start > EDONKEY_FRAME_MAX || !whole || end > end_of(to)) {
		refuse(to);
		return;
	}
	reader->at = start;
	reader->left = (uint32_t)(end - start);
	reader->step = ED2K_STEP_DATA;
}

// File, where the block begins, how long all of it is compressed.
void ed2k_block_begin(const struct ed2k_turn *to, bool wide)
{
	struct ed2k_reader *reader = &to->half->reader;
	const uint8_t *start = reader->field + EDONKEY_HASH;
	uint32_t all = octets_le32(start + (wide ? 8 : 4));

	memcpy(reader->hash, reader->field, EDONKEY_HASH);
	reader->at = number(start, wide);
	if (all > PACKED_MAX || (to->rest != ED2K_REST_UNKNOWN && to->rest > all) ||
		reader->at > end_of(to)) {
		refuse(to);
		return;
	}
	reader->step = ED2K_STEP_BLOCK;
}

// The digests have gone with the report.
static void forget_hashes(const struct ed2k_turn *to, const uint8_t *hash)
{
	struct ed2k_hashes *hashes = &to->half->hashes;

	if (!hashes->digests || memcmp(hashes->hash, hash, EDONKEY_HASH) != 0)
		return;
	content_give(to->turn->memory, hashes->digests);
	hashes->digests = NULL;
}

// False: no memory.
static bool open_file(const struct ed2k_turn *to)
{
	struct ed2k_transfer *transfer = &to->half->transfer;
	const struct content_sink *sink = to->turn->sink;
	const uint8_t *hash = to->half->reader.hash;
	struct content_whole whole;
	struct ed2k_known *known;

	if (is_of(transfer, hash))
		return true;
	if (!ed2k_known_ready(to))
		return false;
	ed2k_transfer_end(to, to->side, true);
	known = ed2k_known_claim(to, hash, to->side, false);
	const struct content_file file = ed2k_known_file(to, known, &whole);

	memcpy(transfer->hash, hash, EDONKEY_HASH);
	transfer->id = file.id;
	transfer->size = file.size;
	transfer->ends64 = to->at64;
	transfer->wanted = sink->file(sink->ctx, &file) == CONTENT_WANT_DATA;
	forget_hashes(to, hash);
	return true;
}

static void came(struct ed2k_transfer *transfer, uint64_t at, uint32_t length)
{
	transfer->bytes += length;
	if (transfer->reached < at + length)
		transfer->reached = at + length;
}

enum content_fed ed2k_part_take(
	const struct ed2k_turn *to, const uint8_t *bytes, uint32_t length, uint32_t *used)
{
	struct ed2k_reader *reader = &to->half->reader;
	struct ed2k_transfer *transfer = &to->half->transfer;
	const struct content_sink *sink = to->turn->sink;
	uint32_t here = length < reader->left ? length : reader->left;

	if (!open_file(to))
		return CONTENT_NO_MEMORY;
	if (transfer->wanted && here > to->turn->output)
		here = to->turn->output;
	if (!here)
		return CONTENT_MORE;
	if (transfer->wanted) {
		sink->bytes(sink->ctx, transfer->id, reader->at, bytes, here);
		to->turn->output -= here;
	}
	came(transfer, reader->at, here);
	transfer->ends64 = to->at64 + (to->plain ? here : 0);
	reader->at += here;
	reader->left -= here;
	*used += here;
	if (!reader->left)
		ed2k_rest(reader);
	return CONTENT_FED;
}

void ed2k_part_lose(const struct ed2k_turn *to, uint64_t length)
{
	struct ed2k_reader *reader = &to->half->reader;

	if (is_of(&to->half->transfer, reader->hash))
		to->half->transfer.damaged = true;
	reader->left -= length < reader->left ? (uint32_t)length : reader->left;
	reader->at += length;
	if (!reader->left)
		ed2k_rest(reader);
}

// ---- compressed ----

static struct ed2k_block *find_block(struct ed2k_transfer *transfer, uint64_t from)
{
	for (unsigned i = 0; i < ED2K_BLOCKS; i++)
		if (transfer->blocks[i].used && transfer->blocks[i].from == from)
			return &transfer->blocks[i];
	return NULL;
}

// A block that begins takes the place of the one that was used longest ago. NULL: no memory.
static struct ed2k_block *block_at(const struct ed2k_turn *to, uint64_t from)
{
	struct ed2k_transfer *transfer = &to->half->transfer;
	struct ed2k_block *block = find_block(transfer, from), *oldest = transfer->blocks;
	struct coding *coding = NULL;

	if (block) {
		block->used = ++transfer->blocks_used;
		return block;
	}
	coding = coding_open(to->turn->memory, CODING_DEFLATE);
	if (!coding)
		return NULL;
	for (unsigned i = 1; i < ED2K_BLOCKS; i++)
		if (transfer->blocks[i].used < oldest->used)
			oldest = &transfer->blocks[i];
	if (oldest->coding) {
		transfer->damaged = true;
		ed2k_note(to, CONTENT_NOTE_TOO_MANY_REQUESTS);
	}
	forget_block(oldest);
	*oldest = (struct ed2k_block){
		.coding = coding, .from = from, .used = ++transfer->blocks_used};
	return oldest;
}

// What follows of the block is not read, without a word.
static void give_up(const struct ed2k_turn *to, struct ed2k_block *block)
{
	coding_close(block->coding);
	block->coding = NULL;
	block->ahead = false;
	to->half->transfer.damaged = true;
	ed2k_rest(&to->half->reader);
}

// Up to where nobody takes more of it. False: there are more.
static bool put_block(
	const struct ed2k_turn *to, struct ed2k_block *block, const uint8_t *bytes, uint32_t length)
{
	struct ed2k_transfer *transfer = &to->half->transfer;
	const struct content_sink *sink = to->turn->sink;
	uint64_t at = block->from + block->told, end = end_of(to);
	uint32_t here = length;

	if (here > EDONKEY_BLOCK_MAX - block->told)
		here = EDONKEY_BLOCK_MAX - block->told;
	if (here > end - at)
		here = (uint32_t)(end - at);
	if (here) {
		sink->bytes(sink->ctx, transfer->id, at, bytes, here);
		to->turn->output -= here;
		came(transfer, at, here);
		block->told += here;
	}
	if (here < length)
		ed2k_note(to, block->told < EDONKEY_BLOCK_MAX ? CONTENT_NOTE_BAD_LENGTH
							      : CONTENT_NOTE_BOMB);
	return here == length;
}

// `fed` of the bytes have been given to the coding; where it may have more to tell than there was
// room for, the last of them is not taken yet.
static enum content_fed wait_for_room(struct ed2k_block *block, uint32_t fed, uint32_t *used)
{
	block->ahead = fed;
	*used += fed ? fed - 1 : 0;
	return CONTENT_MORE;
}

static enum content_fed decode(const struct ed2k_turn *to, struct ed2k_block *block,
	const uint8_t *bytes, uint32_t length, uint32_t *used)
{
	bool more = block->ahead;
	uint32_t fed = more;
	uint8_t out[OUT_BYTES];

	while (more || fed < length) {
		uint32_t room = to->turn->output < OUT_BYTES ? to->turn->output : OUT_BYTES;
		uint32_t in = length - fed, told = room;

		if (!room)
			return wait_for_room(block, fed, used);
		enum coding_state state =
			coding_feed(block->coding, bytes + fed, &in, out, &told, false);

		fed += in;
		more = told == room;
		if (!put_block(to, block, out, told)) {
			give_up(to, block);
			break;
		}
		if (state == CODING_BROKEN) {
			ed2k_note(to, CONTENT_NOTE_CODING_LIES);
			give_up(to, block);
			break;
		}
		if (state == CODING_END) { // asked for again, it begins anew
			forget_block(block);
			ed2k_rest(&to->half->reader);
			*used += length;
			return CONTENT_FED;
		}
	}
	block->ahead = false;
	*used += length;
	return CONTENT_FED;
}

enum content_fed ed2k_block_take(
	const struct ed2k_turn *to, const uint8_t *bytes, uint32_t length, uint32_t *used)
{
	struct ed2k_transfer *transfer = &to->half->transfer;
	struct ed2k_reader *reader = &to->half->reader;
	struct ed2k_block *block;
	enum content_fed fed = CONTENT_FED;

	if (!open_file(to))
		return CONTENT_NO_MEMORY;
	if (!transfer->wanted) {
		ed2k_rest(reader);
		return CONTENT_FED;
	}
	block = block_at(to, reader->at);
	if (!block)
		return CONTENT_NO_MEMORY;
	if (to->plain) // of the frame: how much of it is the block's own need not be known
		transfer->ends64 = to->at64 + to->rest;
	if (block->coding)
		fed = decode(to, block, bytes, length, used);
	else
		ed2k_rest(reader);
	return fed;
}

void ed2k_block_lose(const struct ed2k_turn *to)
{
	struct ed2k_transfer *transfer = &to->half->transfer;
	struct ed2k_block *block = NULL;

	if (is_of(transfer, to->half->reader.hash)) {
		transfer->damaged = true;
		block = find_block(transfer, to->half->reader.at);
	}
	if (block)
		give_up(to, block);
	ed2k_rest(&to->half->reader);
}
