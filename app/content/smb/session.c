// SPDX-License-Identifier: BSD-3-Clause
// Tables of a connection: files that are open, shares, requests.
#include "content/smb/session.h"

#include "content/charset.h"
#include "content/memory.h"

#define PENDING_FIRST 32

// ---- files that are open ----

// Takes it out of its place and puts it first.
static struct smb_open *use(struct smb_session *session, struct smb_open **at)
{
	struct smb_open *open = *at;

	if (!open)
		return NULL;
	*at = open->next;
	open->next = session->opens;
	session->opens = open;
	return open;
}

struct smb_open *smb_open_by_id(struct smb_session *session, const uint8_t *id)
{
	struct smb_open **at = &session->opens;

	while (*at && !((*at)->bound && !memcmp((*at)->id, id, SMB_ID_BYTES)))
		at = &(*at)->next;
	return use(session, at);
}

struct smb_open *smb_open_by_number(struct smb_session *session, uint32_t number)
{
	struct smb_open **at = &session->opens;

	while (*at && (*at)->number != number)
		at = &(*at)->next;
	return use(session, at);
}

static void give(struct content_turn *turn, struct smb_open *open)
{
	for (unsigned half = 0; half < 2; half++) {
		if (open->placed[half])
			content_placed_end(open->placed[half], turn, CONTENT_END_TRUNCATED);
		content_give(turn->memory, open->placed[half]);
	}
	content_give(turn->memory, open);
}

void smb_open_free(
	struct smb_session *session, struct content_turn *turn, const struct smb_open *open)
{
	struct smb_open **at = &session->opens;

	while (*at && *at != open)
		at = &(*at)->next;
	if (!*at)
		return;
	struct smb_open *gone = *at;

	*at = gone->next;
	session->n_opens--;
	give(turn, gone);
}

static void forget_oldest(struct smb_session *session, struct content_turn *turn)
{
	struct smb_open *last = session->opens;

	while (last && last->next)
		last = last->next;
	if (last)
		smb_open_free(session, turn, last);
}

// Bytes in UTF-8 of text in UTF-16; written where there is room.
static uint32_t convert(struct content_text text, uint8_t *to, uint32_t size)
{
	struct text_out out = {.bytes = to, .size = size};

	charset_text(&out, CHARSET_UTF16LE, text.bytes, text.length);
	return size ? out.written : (uint32_t)out.length;
}

static void append(struct smb_open *open, uint32_t *at, struct content_text text)
{
	if (text.length)
		memmove(open->texts + *at, text.bytes, text.length);
	*at += text.length;
}

// The share, then the folders of the path, of which the end is kept.
static void put_texts(struct smb_open *open, const struct smb_tree *tree, struct content_text path)
{
	struct content_path parts = content_path_of(path);
	struct content_text folder = parts.folder;
	uint32_t share = tree ? tree->share : 0, at = 0;
	uint32_t room = CONTENT_NAME_BYTES - share;

	if (folder.length > room) {
		folder.bytes += folder.length - room;
		folder.length = room;
	}
	open->host = tree ? tree->host : 0;
	open->path = (uint16_t)(share + folder.length);
	open->name = (uint16_t)parts.name.length;
	open->name_cut |= parts.cut;
	if (tree)
		append(open, &at, (struct content_text){tree->texts, tree->host + share});
	append(open, &at, folder);
	append(open, &at, parts.name);
}

struct smb_open *smb_open_new(struct smb_session *session, struct content_turn *turn,
	const struct smb_tree *tree, struct content_text path, bool *full)
{
	uint32_t length = convert(path, NULL, 0);
	uint32_t ahead = tree ? tree->host + tree->share : 0u;
	// the path is converted behind where it will stand
	struct smb_open *open =
		content_take(turn->memory, sizeof(*open) + ahead + 2 * (size_t)length);

	if (!open)
		return NULL;
	*full = session->n_opens >= SMB_OPENS_MAX;
	if (*full)
		forget_oldest(session, turn);
	memset(open, 0, sizeof(*open));
	open->number = ++session->last_open;
	open->size = open->to_be = CONTENT_SIZE_UNKNOWN;
	uint8_t *converted = open->texts + ahead + length;

	convert(path, converted, length);
	put_texts(open, tree, (struct content_text){converted, length});
	open->next = session->opens;
	session->opens = open;
	session->n_opens++;
	return open;
}

struct content_placed *smb_placed_of(
	struct content_turn *turn, struct smb_open *open, unsigned half)
{
	struct content_placed *placed = open->placed[half];

	if (placed)
		return placed;
	placed = content_take(turn->memory, sizeof(*placed));
	if (placed)
		memset(placed, 0, sizeof(*placed));
	open->placed[half] = placed;
	return placed;
}

// What is read begins with the first part that was asked for, whichever comes first. What is
// written to a new file is of it from its beginning on; else it is a part.
uint64_t smb_begins_at(const struct smb_session *session, const struct smb_open *open,
	unsigned half, uint64_t offset)
{
	const struct smb_pending *pending = session->pending;

	if (half == HALF_C2S)
		return open->size ? offset : 0;
	for (uint32_t i = 0; i < session->n_pending; i++)
		if (pending[i].kind == SMB_PENDING_READ && pending[i].open == open->number &&
			pending[i].offset < offset)
			offset = pending[i].offset;
	return offset;
}

void smb_make_way(struct smb_session *session, struct content_turn *turn)
{
	struct content_placed *last = NULL;
	unsigned n = 0;

	for (struct smb_open *open = session->opens; open; open = open->next)
		for (unsigned half = 0; half < 2; half++) {
			if (!open->placed[half] || !content_placed_is_open(open->placed[half]))
				continue;
			last = open->placed[half];
			n++;
		}
	if (n >= SMB_TRANSFERS_MAX)
		content_placed_end(last, turn, CONTENT_END_TRUNCATED);
}

struct content_file smb_file_of(const struct smb_open *open, unsigned half)
{
	const uint8_t *at = open->texts;

	return (struct content_file){
		.half = (uint8_t)half,
		.name_source = open->name ? CONTENT_NAME_COMMAND : CONTENT_NAME_NONE,
		.name_cut = open->name_cut,
		.host = {at, open->host},
		.path = {at + open->host, open->path},
		.name = {at + open->host + open->path, open->name},
		.size = half == HALF_S2C ? open->size : open->to_be,
	};
}

// ---- shares ----

struct smb_tree *smb_tree_by_id(const struct smb_session *session, uint32_t id)
{
	struct smb_tree *tree = session->trees;

	while (tree && !(tree->bound && tree->id == id))
		tree = tree->next;
	return tree;
}

struct smb_tree *smb_tree_asked_as(const struct smb_session *session, uint64_t message)
{
	struct smb_tree *tree = session->trees;

	while (tree && (tree->bound || tree->asked_as != message))
		tree = tree->next;
	return tree;
}

static void forget_last_tree(struct smb_session *session, struct content_turn *turn)
{
	struct smb_tree **at = &session->trees;

	while (*at && (*at)->next)
		at = &(*at)->next;
	if (!*at)
		return;
	content_give(turn->memory, *at);
	*at = NULL;
	session->n_trees--;
}

// "\\server\share" as the name of the server and "\share\"; what is longer has no server.
static void put_share(struct smb_tree *tree, struct content_text path)
{
	uint32_t at = 0, host = 0;

	while (at < path.length && path.bytes[at] == '\\')
		at++;
	while (at + host < path.length && path.bytes[at + host] != '\\')
		host++;
	if (host > SMB_HOST_BYTES || path.length - at - host >= SMB_SHARE_BYTES)
		return;
	tree->host = (uint16_t)host;
	tree->share = (uint16_t)(path.length - at - host);
	memmove(tree->texts, path.bytes + at, path.length - at);
	tree->texts[host + tree->share++] = '\\';
}

struct smb_tree *smb_tree_new(
	struct smb_session *session, struct content_turn *turn, struct content_text path)
{
	uint32_t length = convert(path, NULL, 0);
	struct smb_tree *tree = content_take(turn->memory, sizeof(*tree) + length + 1);

	if (!tree)
		return NULL;
	if (session->n_trees >= SMB_TREES_MAX)
		forget_last_tree(session, turn);
	memset(tree, 0, sizeof(*tree));
	convert(path, tree->texts, length);
	put_share(tree, (struct content_text){tree->texts, length});
	tree->next = session->trees;
	session->trees = tree;
	session->n_trees++;
	return tree;
}

// ---- requests ----

bool smb_pending_room(struct smb_session *session, struct content_turn *turn)
{
	uint32_t room = session->room ? 2 * session->room : PENDING_FIRST;
	struct smb_pending *larger;

	if (session->n_pending < session->room || session->room == SMB_PENDING_MAX)
		return true;
	larger = content_take(turn->memory, room * sizeof(*larger));
	if (!larger)
		return false;
	if (session->n_pending)
		memcpy(larger, session->pending, session->n_pending * sizeof(*larger));
	content_give(turn->memory, session->pending);
	session->pending = larger;
	session->room = room;
	return true;
}

bool smb_pending_add(struct smb_session *session, const struct smb_pending *pending, bool *full)
{
	struct smb_pending *same = smb_pending_of(session, pending->message);

	*full = false;
	if (same) {
		*same = *pending;
		return false;
	}
	if (session->n_pending == SMB_PENDING_MAX) {
		*full = true;
		smb_pending_done(session, session->pending);
	}
	session->pending[session->n_pending++] = *pending;
	return !*full;
}

struct smb_pending *smb_pending_of(const struct smb_session *session, uint64_t message)
{
	for (uint32_t i = 0; i < session->n_pending; i++)
		if (session->pending[i].message == message)
			return &session->pending[i];
	return NULL;
}

// Answers come mostly in the order of requests: the others stay in it.
void smb_pending_done(struct smb_session *session, struct smb_pending *pending)
{
	uint32_t behind = session->n_pending - 1 - (uint32_t)(pending - session->pending);

	session->n_pending--;
	memmove(pending, pending + 1, behind * sizeof(*pending));
}

void smb_session_over(struct smb_session *session, struct content_turn *turn)
{
	while (session->opens) {
		struct smb_open *open = session->opens;

		session->opens = open->next;
		give(turn, open);
	}
	while (session->trees)
		forget_last_tree(session, turn);
	content_give(turn->memory, session->pending);
	*session = (struct smb_session){.files = session->files, .last_open = session->last_open};
}
