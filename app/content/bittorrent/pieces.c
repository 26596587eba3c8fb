// SPDX-License-Identifier: BSD-3-Clause
// Blocks of pieces: which files of the torrent they lie in, and where. Where the files are not
// known the first piece alone has a place: it begins the payload. Where another one lies only the
// length of pieces says, which no message does.
#include "content/bittorrent/peer.h"

#include <string.h>
#include "content/content_id.h"
#include "content/memory.h"

#define UNIT_BYTES    16384u     // that are asked for at a time
#define UNITS_MAX     (1u << 20) // of a file; of more nobody counts which have come
#define BITS          64u
#define WHOLE_UNKNOWN UINT32_MAX
#define PADDINGS      4 // one behind the other: who makes torrents writes one

// Units of the payload, of which a file has the parts that lie in it.
struct units {
	uint64_t bytes; // of one
	uint64_t first;
	uint64_t n;
};

static const struct torrent_file *file_of(const struct peer *peer, const struct peer_file *open)
{
	return open->index == PEER_UNNAMED ? NULL : &peer->work->torrent->files[open->index];
}

// The largest power of two that divides a piece: blocks begin there.
static struct units units_of(const struct torrent *torrent, const struct torrent_file *file)
{
	uint64_t bytes = torrent->piece_bytes & -torrent->piece_bytes;

	bytes = bytes < UNIT_BYTES ? bytes : UNIT_BYTES;
	uint64_t first = file->from / bytes;

	return (struct units){bytes, first, (file->from + file->size - 1) / bytes - first + 1};
}

// ---- the files that are open ----

static void seen_note(struct peer_work *work, uint32_t index, uint32_t item)
{
	if (item)
		work->seen[work->n_seen++ % PEER_SEEN_MAX] = (struct peer_seen){index, item};
}

// What comes of a file again is reported by the number that it had, while that is kept.
static uint32_t seen_find(const struct peer_work *work, uint32_t index)
{
	for (unsigned i = 0; i < PEER_OPEN_MAX; i++)
		if (work->open[i].id && work->open[i].index == index)
			return work->open[i].item;
	for (unsigned i = 0; i < PEER_SEEN_MAX; i++)
		if (work->seen[i].item && work->seen[i].index == index)
			return work->seen[i].item;
	return 0;
}

static void end_file(struct peer *peer, const struct content_turn *turn, struct peer_file *open)
{
	bool whole = !open->missing;

	turn->sink->end(turn->sink->ctx, open->id,
		whole ? CONTENT_END_CLOSED : CONTENT_END_TRUNCATED, open->ends64);
	content_give(turn->memory, open->units);
	seen_note(peer->work, open->index, open->item);
	*open = (struct peer_file){0};
}

void peer_files_end(struct peer *peer, const struct content_turn *turn)
{
	for (unsigned half = 0; half < 2; half++)
		if (peer->halves[half].phase == PEER_BLOCK)
			peer_block_end(peer, half, turn);
	for (unsigned i = 0; i < PEER_OPEN_MAX; i++)
		if (peer->work->open[i].id)
			end_file(peer, turn, &peer->work->open[i]);
}

static struct peer_file *find_open(struct peer_work *work, unsigned half, uint32_t index)
{
	for (unsigned i = 0; i < PEER_OPEN_MAX; i++)
		if (work->open[i].id && work->open[i].index == index && work->open[i].half == half)
			return &work->open[i];
	return NULL;
}

static struct peer_file *free_place(struct peer *peer, const struct content_turn *turn)
{
	struct peer_file *oldest = peer->work->open;

	for (unsigned i = 0; i < PEER_OPEN_MAX; i++) {
		struct peer_file *open = &peer->work->open[i];

		if (!open->id)
			return open;
		if (open->used < oldest->used)
			oldest = open;
	}
	end_file(peer, turn, oldest);
	return oldest;
}

// ---- what is said of a file ----

struct names {
	uint8_t path[CONTENT_NAME_BYTES];
	char hash[CONTENT_ID_TEXT];
	struct content_whole whole;
};

// Of a text that is too long its end.
static struct content_text end_of(const uint8_t *bytes, uint32_t length, bool *cut)
{
	uint32_t over = length > CONTENT_NAME_BYTES ? length - CONTENT_NAME_BYTES : 0;

	*cut |= over;
	return (struct content_text){bytes + over, length - over};
}

// What is at hand, behind it `more`: the last bytes of both.
static uint32_t append(uint8_t *path, uint32_t at, const uint8_t *more, uint32_t length)
{
	uint32_t keep = length < CONTENT_NAME_BYTES ? CONTENT_NAME_BYTES - length : 0;

	if (length > CONTENT_NAME_BYTES) {
		more += length - CONTENT_NAME_BYTES;
		length = CONTENT_NAME_BYTES;
	}
	if (at > keep) {
		memmove(path, path + at - keep, keep);
		at = keep;
	}
	if (length)
		memcpy(path + at, more, length);
	return at + length;
}

static void name_by_hash(
	struct content_file *file, struct names *names, const struct content_id *id)
{
	const struct content_id key = content_id_key(id);
	const char *text = strchr(content_id_print(&key, names->hash), ':') + 1;

	file->name = (struct content_text){(const uint8_t *)text, (uint32_t)strlen(text)};
}

static void name_by_torrent(struct content_file *file, struct names *names,
	const struct torrent *torrent, const struct torrent_file *found)
{
	const uint8_t *path = torrent->texts + found->name;
	uint32_t at = found->name_length, folder = 0;
	bool cut = false;

	while (at && path[at - 1] != '/')
		at--;
	file->name = end_of(path + at, found->name_length - at, &cut);
	file->name_cut = cut || (found->cut && !at);
	if (torrent->folder_length) {
		folder = append(
			names->path, 0, torrent->texts + torrent->folder, torrent->folder_length);
		folder = append(names->path, folder, (const uint8_t *)"/", 1);
	}
	folder = append(names->path, folder, path, at);
	file->path = (struct content_text){names->path, folder};
	if (found->alias_length) {
		file->n_aliases = 1;
		file->aliases[0] = (struct content_alias){
			end_of(torrent->texts + found->alias, found->alias_length, &cut),
			CONTENT_NAME_OFFER};
	}
	if (!file->name.length)
		name_by_hash(file, names, &torrent->id);
}

// Behind the file, up to the next one.
static uint64_t padding_of(const struct torrent *torrent, const struct torrent_file *found)
{
	const struct torrent_file *end = torrent->files + torrent->n_files;
	uint64_t bytes = 0;

	for (unsigned i = 0; i < PADDINGS && ++found < end && found->padding; i++)
		bytes += found->size;
	return bytes;
}

static struct content_whole whole_of(
	const struct torrent *torrent, const struct torrent_file *found)
{
	return (struct content_whole){
		.id = torrent->id,
		.size = torrent->size,
		.file_from = found->from,
		.padding = padding_of(torrent, found),
		.piece_bytes = torrent->piece_bytes,
		.pieces = torrent->pieces,
		.n_pieces = torrent->n_pieces,
		.digest = CONTENT_DIGEST_SHA1,
	};
}

static void describe(const struct peer *peer, unsigned half, uint32_t index,
	struct content_file *file, struct names *names)
{
	const struct torrent *torrent = peer->work->torrent;

	*file = (struct content_file){
		.half = (uint8_t)half,
		.name_source = CONTENT_NAME_OFFER,
		.scattered = true,
		.whole = &names->whole,
		.size = CONTENT_SIZE_UNKNOWN,
	};
	if (index != PEER_UNNAMED) {
		file->size = torrent->files[index].size;
		names->whole = whole_of(torrent, &torrent->files[index]);
		name_by_torrent(file, names, torrent, &torrent->files[index]);
		return;
	}
	const struct peer_half *mine = &peer->halves[half];
	const struct content_id *id = mine->has_id ? &mine->id : &peer->halves[!half].id;

	names->whole = (struct content_whole){.id = *id, .size = CONTENT_SIZE_UNKNOWN};
	file->partial = true; // of the payload, which may be many files
	name_by_hash(file, names, id);
}

// ---- opening ----

// What counts its bytes; NULL with *missing 0: there is no memory.
static uint64_t *take_units(
	const struct peer *peer, const struct content_turn *turn, uint32_t index, uint32_t *missing)
{
	uint64_t *bits;

	*missing = WHOLE_UNKNOWN;
	if (index == PEER_UNNAMED)
		return NULL;
	const struct torrent *torrent = peer->work->torrent;
	uint64_t n = units_of(torrent, &torrent->files[index]).n;

	if (n > UNITS_MAX)
		return NULL;
	*missing = (uint32_t)n;
	if (n <= BITS)
		return NULL;
	size_t bytes = (n + BITS - 1) / BITS * sizeof(*bits);

	bits = content_take(turn->memory, bytes);
	if (bits)
		memset(bits, 0, bytes);
	else
		*missing = 0;
	return bits;
}

// NULL: there is no memory.
static struct peer_file *open_file(struct peer *peer, unsigned half,
	const struct content_turn *turn, uint32_t index, uint64_t at64)
{
	struct peer_work *work = peer->work;
	struct content_file file;
	struct names names;
	uint32_t missing;
	uint64_t *units = take_units(peer, turn, index, &missing);

	if (!missing)
		return NULL;
	uint32_t item = seen_find(work, index);
	struct peer_file *open = free_place(peer, turn);

	*open = (struct peer_file){.ends64 = at64,
		.units = units,
		.missing = missing,
		.index = index,
		.id = ++work->files,
		.item = item,
		.used = ++work->clock,
		.half = (uint8_t)half};
	describe(peer, half, index, &file, &names);
	file.id = open->id;
	file.begins64 = at64;
	file.item = &open->item;
	open->wanted = turn->sink->file(turn->sink->ctx, &file) == CONTENT_WANT_DATA;
	return open;
}

// ---- which bytes have come ----

static bool set_bit(struct peer_file *open, uint64_t bit)
{
	uint64_t *word = open->units ? &open->units[bit / BITS] : &open->few;
	uint64_t mask = (uint64_t)1 << bit % BITS;
	bool was = *word & mask;

	*word |= mask;
	return !was;
}

// The units of the file that lie in [from, to) of the payload have come.
static void count_run(struct peer *peer, struct peer_file *open, uint64_t from, uint64_t to)
{
	const struct torrent *torrent = peer->work->torrent;
	const struct torrent_file *file = file_of(peer, open);

	if (!file || open->missing == WHOLE_UNKNOWN)
		return;
	struct units units = units_of(torrent, file);
	uint64_t ends = file->from + file->size;
	uint64_t first = from <= file->from ? units.first : (from + units.bytes - 1) / units.bytes;
	uint64_t behind = to >= ends ? units.first + units.n : to / units.bytes;

	for (uint64_t i = first; i < behind; i++)
		open->missing -= set_bit(open, i - units.first);
}

// What came of the block up to here without a gap is counted; a file that is whole ends.
static void end_run(struct peer *peer, struct peer_half *mine, const struct content_turn *turn,
	unsigned half, uint32_t index)
{
	struct peer_file *open = find_open(peer->work, half, index);

	if (open && mine->at > mine->run_from)
		count_run(peer, open, mine->run_from, mine->at);
	mine->run_from = mine->at;
	if (open && !open->missing)
		end_file(peer, turn, open);
}

// ---- blocks ----

// The last file that begins at that place or before it; files without bytes lie before it.
static uint32_t index_at(const struct torrent *torrent, uint64_t at)
{
	uint32_t low = 0, high = torrent->n_files;

	while (high - low > 1) {
		uint32_t middle = low + (high - low) / 2;

		if (torrent->files[middle].from <= at)
			low = middle;
		else
			high = middle;
	}
	return low;
}

// Where the block is. False: in no file; *length is how many bytes that holds for.
static bool place(
	const struct peer *peer, const struct peer_half *mine, uint32_t *index, uint64_t *length)
{
	const struct torrent *torrent = peer->work->torrent;

	*index = PEER_UNNAMED;
	*length = UINT64_MAX;
	if (!mine->mapped)
		return true;
	if (mine->at >= torrent->size)
		return false;
	*index = index_at(torrent, mine->at);
	const struct torrent_file *file = &torrent->files[*index];
	uint64_t ends = file->from + file->size;

	if (mine->at < ends) {
		*length = ends - mine->at;
		return !file->padding;
	}
	// files of version 2 begin pieces of their own
	*length = (*index + 1 < torrent->n_files ? file[1].from : torrent->size) - mine->at;
	return false;
}

void peer_block_begin(
	struct peer *peer, unsigned half, struct content_turn *turn, uint32_t index, uint32_t begin)
{
	struct peer_half *mine = &peer->halves[half];
	struct peer_work *work = peer->work;

	peer_learn_torrent(peer, half, turn);
	mine->block_files = 0;
	mine->mapped = work->torrent;
	if (mine->mapped) {
		struct peer_file *unnamed = find_open(work, half, PEER_UNNAMED);

		if (unnamed)
			end_file(peer, turn, unnamed);
		mine->at = index * work->torrent->piece_bytes + begin;
	} else {
		mine->at = index ? UINT64_MAX : begin; // no place is known
	}
	mine->run_from = mine->at;
}

// The file at hand; NULL: see *fed.
static struct peer_file *file_at(struct peer *peer, unsigned half, struct content_turn *turn,
	uint32_t index, uint64_t at64, enum content_fed *fed)
{
	struct peer_half *mine = &peer->halves[half];
	struct peer_file *open = find_open(peer->work, half, index);

	*fed = CONTENT_FED;
	if (open)
		return open;
	if (mine->block_files == PEER_BLOCK_FILES) {
		turn->sink->note(turn->sink->ctx, CONTENT_NOTE_TOO_MANY_REQUESTS, half, at64);
		mine->block_files++;
	}
	if (mine->block_files > PEER_BLOCK_FILES)
		return NULL;
	open = open_file(peer, half, turn, index, at64);
	if (open)
		mine->block_files++;
	*fed = open ? CONTENT_FED : CONTENT_NO_MEMORY;
	return open;
}

// Clients that know no padding (BEP 47) store it as a file, by its name; others take it for zeros.
static void look_at_padding(struct peer *peer, unsigned half, const struct content_turn *turn,
	uint32_t index, const uint8_t *bytes, uint32_t length)
{
	struct peer_work *work = peer->work;
	uint64_t at = peer->halves[half].at;
	uint32_t i = 0;

	if (work->padded || index == PEER_UNNAMED)
		return;
	const struct torrent_file *file = &work->torrent->files[index];

	if (!file->padding || at - file->from >= file->size)
		return;
	while (i < length && !bytes[i])
		i++;
	work->padded = i < length;
	if (work->padded)
		turn->sink->note(
			turn->sink->ctx, CONTENT_NOTE_TWO_NAMES, half, peer_at64(peer, half, i));
}

static void pass(struct peer_half *mine, uint32_t n, uint32_t *taken)
{
	*taken += n;
	if (mine->at != UINT64_MAX)
		mine->at += n;
}

enum content_fed peer_block_take(struct peer *peer, unsigned half, struct content_turn *turn,
	const uint8_t *bytes, uint32_t length, uint32_t *taken)
{
	struct peer_half *mine = &peer->halves[half];
	uint32_t index, n = length;
	enum content_fed fed = CONTENT_FED;
	uint64_t here, at64 = peer_at64(peer, half, 0);
	bool in_file = place(peer, mine, &index, &here);
	struct peer_file *open = in_file ? file_at(peer, half, turn, index, at64, &fed) : NULL;

	if (fed != CONTENT_FED)
		return fed;
	n = here < n ? (uint32_t)here : n;
	if (!open) {
		look_at_padding(peer, half, turn, index, bytes, n);
		pass(mine, n, taken);
		mine->run_from = mine->at;
		return CONTENT_FED;
	}
	bool told = open->wanted && mine->at != UINT64_MAX;

	if (told && n > turn->output)
		n = turn->output;
	if (!n)
		return CONTENT_MORE;
	if (told) {
		uint64_t from = mine->mapped ? peer->work->torrent->files[index].from : 0;

		turn->sink->bytes(turn->sink->ctx, open->id, mine->at - from, bytes, n);
		turn->output -= n;
	}
	open->used = ++peer->work->clock;
	open->ends64 = at64 + n;
	pass(mine, n, taken);
	if (n == here)
		end_run(peer, mine, turn, half, index);
	return CONTENT_FED;
}

// What was lost is in no run.
void peer_block_lose(
	struct peer *peer, unsigned half, const struct content_turn *turn, uint64_t length)
{
	struct peer_half *mine = &peer->halves[half];

	peer_block_end(peer, half, turn);
	if (mine->at != UINT64_MAX)
		mine->at += length;
	mine->run_from = mine->at;
}

void peer_block_end(struct peer *peer, unsigned half, const struct content_turn *turn)
{
	struct peer_half *mine = &peer->halves[half];

	if (!mine->mapped || mine->at == mine->run_from)
		return;
	end_run(peer, mine, turn, half, index_at(peer->work->torrent, mine->at - 1));
}
