// SPDX-License-Identifier: BSD-3-Clause
// What messages of SMB 2 and 3 say, and what changes by them.
#include "content/smb/message.h"

#include "pipeline/vocab/octets.h"

#define STATUS_PENDING  0x103u
#define STATUS_OVERFLOW 0x80000005u // of a pipe: there is more
#define STATUS_EOF      0xc0000011u

#define FLAG_ASYNC   0x02u
#define FLAG_RELATED 0x04u

#define ATTRIBUTE_DIRECTORY 0x10u
#define OPTION_DIRECTORY    0x01u
#define SHARE_DISK          0x01u

#define INFO_FILE         1
#define INFO_END_OF_FILE  20 // [MS-FSCC] 2.4.14
#define END_OF_FILE_BYTES 8

static uint64_t le64(const uint8_t *at)
{
	return octets_le32(at) | (uint64_t)octets_le32(at + 4) << 32;
}

struct smb_head smb_head_read(const uint8_t *at)
{
	struct smb_head head = {
		.status = octets_le32(at + 8),
		.command = octets_le16(at + 12),
		.flags = octets_le32(at + 16),
		.next = octets_le32(at + 20),
		.message = le64(at + 24),
	};

	if (!(head.flags & FLAG_ASYNC))
		head.tree = octets_le32(at + 36);
	return head;
}

static bool is_good(const struct smb_head *head)
{
	return !head->status || head->status == STATUS_OVERFLOW;
}

uint32_t smb_fixed_bytes(unsigned half, const struct smb_head *head)
{
	bool asks = half == HALF_C2S;

	switch (head->command) {
	case SMB_TREE_CONNECT: return asks ? 8 : 4;
	case SMB_CREATE: return asks ? 56 : is_good(head) ? 80 : 4;
	case SMB_CLOSE: return asks ? 24 : 4;
	case SMB_READ: return asks ? 48 : is_good(head) ? 16 : 4;
	case SMB_WRITE: return asks ? 48 : 0;
	case SMB_SET_INFO: return asks ? 32 : 0;
	default: return 0;
	}
}

static bool is_related(const struct smb_turn *turn)
{
	return turn->head.flags & FLAG_RELATED;
}

// The file that a request is about. NULL: not known.
static struct smb_open *find_open(struct smb_turn *turn, const uint8_t *id)
{
	static const uint8_t previous[SMB_ID_BYTES] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
		0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
	struct smb_open *open;

	if (is_related(turn) && !memcmp(id, previous, SMB_ID_BYTES))
		open = smb_open_by_number(turn->session, turn->chain->open);
	else
		open = smb_open_by_id(turn->session, id);
	turn->chain->open = open ? open->number : 0;
	return open;
}

// ... One that nobody has opened here, as another connection has, or nobody has seen it, has no
// name. NULL: no memory.
static struct smb_open *open_of(struct smb_turn *turn, const uint8_t *id)
{
	struct smb_open *open = find_open(turn, id);
	bool full = false;

	if (open)
		return open;
	open = smb_open_new(turn->session, turn->turn, NULL, (struct content_text){NULL, 0}, &full);
	if (!open)
		return NULL;
	memcpy(open->id, id, SMB_ID_BYTES);
	open->bound = true;
	turn->full |= full;
	turn->chain->open = open->number;
	return open;
}

static void wait_for(struct smb_turn *turn, struct smb_pending pending)
{
	bool full;

	pending.message = turn->head.message;
	if (smb_pending_add(turn->session, &pending, &full))
		return;
	turn->full |= full;
	turn->again |= !full;
}

// ---- requests ----

// The end of what is too long.
static void gather(struct smb_part *part, uint8_t kind, uint32_t at, uint32_t length, uint32_t max)
{
	part->kind = kind;
	part->cut = length > max;
	part->at = part->cut ? at + length - max : at;
	part->length = part->cut ? max : length;
}

static void ask_tree(const uint8_t *body, struct smb_part *part)
{
	gather(part, SMB_PART_SHARE, octets_le16(body + 4), octets_le16(body + 6),
		2 * SMB_UNITS_MAX);
}

static void ask_create(const uint8_t *body, struct smb_part *part)
{
	gather(part, SMB_PART_NAME, octets_le16(body + 44), octets_le16(body + 46),
		2 * SMB_UNITS_MAX);
	part->directory = octets_le32(body + 40) & OPTION_DIRECTORY;
}

static bool ask_close(struct smb_turn *turn, const uint8_t *body)
{
	struct smb_open *open;

	if (!smb_pending_room(turn->session, turn->turn))
		return false;
	open = find_open(turn, body + 8);
	if (!open)
		return true;
	struct content_placed *placed = open->placed[HALF_C2S];

	if (placed)
		content_placed_end(placed, turn->turn,
			content_placed_is_one(placed) ? CONTENT_END_CLOSED : CONTENT_END_TRUNCATED);
	wait_for(turn, (struct smb_pending){.kind = SMB_PENDING_CLOSE, .open = open->number});
	return true;
}

static bool ask_read(struct smb_turn *turn, const uint8_t *body)
{
	struct smb_open *open;

	if (!smb_pending_room(turn->session, turn->turn))
		return false;
	open = open_of(turn, body + 16);
	if (!open || !smb_placed_of(turn->turn, open, HALF_S2C))
		return false;
	wait_for(turn, (struct smb_pending){.kind = SMB_PENDING_READ,
			       .open = open->number,
			       .offset = le64(body + 8),
			       .length = octets_le32(body + 4)});
	return true;
}

static bool ask_write(struct smb_turn *turn, const uint8_t *body, struct smb_part *part)
{
	struct smb_open *open = open_of(turn, body + 16);

	if (!open || !smb_placed_of(turn->turn, open, HALF_C2S))
		return false;
	*part = (struct smb_part){.kind = SMB_PART_BLOCK,
		.at = octets_le16(body + 2),
		.length = octets_le32(body + 4),
		.open = open->number,
		.offset = le64(body + 8)};
	return true;
}

static void ask_set_info(struct smb_turn *turn, const uint8_t *body, struct smb_part *part)
{
	const struct smb_open *open;

	if (body[2] != INFO_FILE || body[3] != INFO_END_OF_FILE ||
		octets_le32(body + 4) != END_OF_FILE_BYTES)
		return;
	open = find_open(turn, body + 16);
	if (!open)
		return;
	gather(part, SMB_PART_SIZE, octets_le16(body + 8), END_OF_FILE_BYTES, END_OF_FILE_BYTES);
	part->open = open->number;
}

// ---- answers ----

static void answer_tree(struct smb_turn *turn, const uint8_t *body)
{
	struct smb_tree *tree = smb_tree_asked_as(turn->session, turn->head.message);

	if (!tree || !is_good(&turn->head))
		return;
	tree->bound = true;
	tree->id = turn->head.tree;
	tree->is_disk = body[2] == SHARE_DISK;
}

static void answer_create(
	struct smb_turn *turn, const struct smb_pending *pending, const uint8_t *body)
{
	struct smb_open *open = smb_open_by_number(turn->session, pending->open), *other;

	if (!open)
		return;
	if (!is_good(&turn->head) || octets_le32(body + 56) & ATTRIBUTE_DIRECTORY) {
		smb_open_free(turn->session, turn->turn, open);
		return;
	}
	other = smb_open_by_id(turn->session, body + 64);
	if (other && other != open) // its CLOSE was not seen
		smb_open_free(turn->session, turn->turn, other);
	memcpy(open->id, body + 64, SMB_ID_BYTES);
	open->bound = true;
	open->size = le64(body + 48);
}

static void answer_read(struct smb_turn *turn, const struct smb_pending *pending,
	const uint8_t *body, struct smb_part *part)
{
	struct smb_open *open = smb_open_by_number(turn->session, pending->open);
	struct content_placed *placed = open ? open->placed[HALF_S2C] : NULL;

	if (!placed)
		return;
	if (turn->head.status == STATUS_EOF && placed->size == CONTENT_SIZE_UNKNOWN &&
		content_placed_reaches(placed, pending->offset))
		content_placed_end(placed, turn->turn, CONTENT_END_CLOSED);
	if (!is_good(&turn->head))
		return;
	*part = (struct smb_part){.kind = SMB_PART_BLOCK,
		.at = body[2],
		.length = octets_le32(body + 4),
		.open = open->number,
		.offset = pending->offset};
	part->more_than_asked = part->length > pending->length;
	part->last = part->length < pending->length;
}

// What waits for it has its answer, but for one that says that it will come.
static void answer(struct smb_turn *turn, const uint8_t *body, struct smb_part *part)
{
	struct smb_session *session = turn->session;
	struct smb_pending *at, pending;
	struct smb_open *open;

	if (turn->head.status == STATUS_PENDING)
		return;
	if (turn->head.command == SMB_TREE_CONNECT) {
		answer_tree(turn, body);
		return;
	}
	at = smb_pending_of(session, turn->head.message);
	if (!at)
		return;
	pending = *at;
	if (pending.kind == SMB_PENDING_READ && turn->head.command == SMB_READ)
		answer_read(turn, &pending, body, part);
	else if (pending.kind == SMB_PENDING_CREATE && turn->head.command == SMB_CREATE)
		answer_create(turn, &pending, body);
	else if (pending.kind == SMB_PENDING_CLOSE && is_good(&turn->head)) {
		open = smb_open_by_number(session, pending.open);
		if (open)
			smb_open_free(session, turn->turn, open);
	}
	// its offset says where the transfer begins: it stays until the block has come
	if (part->kind != SMB_PART_BLOCK)
		smb_pending_done(session, at);
}

bool smb_take_fixed(struct smb_turn *turn, const uint8_t *body, struct smb_part *part)
{
	if (turn->half == HALF_S2C) {
		answer(turn, body, part);
		return true;
	}
	switch (turn->head.command) {
	case SMB_TREE_CONNECT: ask_tree(body, part); return true;
	case SMB_CREATE:
		turn->chain->open = 0;
		ask_create(body, part);
		return true;
	case SMB_CLOSE: return ask_close(turn, body);
	case SMB_READ: return ask_read(turn, body);
	case SMB_WRITE: return ask_write(turn, body, part);
	case SMB_SET_INFO: ask_set_info(turn, body, part); return true;
	default: return true;
	}
}

// ---- what was gathered ----

static bool take_share(struct smb_turn *turn, struct content_text gathered)
{
	struct smb_tree *tree = smb_tree_new(turn->session, turn->turn, gathered);

	if (!tree)
		return false;
	tree->asked_as = turn->head.message;
	return true;
}

static bool take_name(
	struct smb_turn *turn, const struct smb_part *part, struct content_text gathered)
{
	uint32_t id = is_related(turn) ? turn->chain->tree : turn->head.tree;
	const struct smb_tree *tree = smb_tree_by_id(turn->session, id);
	struct smb_open *open;
	bool full = false;

	turn->chain->open = 0;
	if (part->directory)
		return true;
	if (!smb_pending_room(turn->session, turn->turn))
		return false;
	open = smb_open_new(turn->session, turn->turn, tree, gathered, &full);
	if (!open)
		return false;
	open->ignored = tree && !tree->is_disk;
	open->name_cut |= part->cut && !open->path;
	open->created_as = turn->head.message;
	turn->full |= full;
	turn->chain->open = open->number;
	wait_for(turn, (struct smb_pending){.kind = SMB_PENDING_CREATE, .open = open->number});
	return true;
}

static void take_size(struct smb_turn *turn, uint32_t number, const uint8_t *at)
{
	struct smb_open *open = smb_open_by_number(turn->session, number);
	struct content_placed *placed = open ? open->placed[HALF_C2S] : NULL;

	if (!open || (placed && content_placed_is_open(placed)))
		return;
	open->to_be = le64(at);
}

bool smb_take_part(struct smb_turn *turn, const struct smb_part *part, struct content_text gathered)
{
	switch (part->kind) {
	case SMB_PART_SHARE: return take_share(turn, gathered);
	case SMB_PART_NAME: return take_name(turn, part, gathered);
	case SMB_PART_SIZE: take_size(turn, part->open, gathered.bytes); return true;
	default: return true;
	}
}
