// SPDX-License-Identifier: BSD-3-Clause
// Tables of a connection: files by their handles, calls, transfers.
#include "content/nfs/session.h"

#include "content/memory.h"

#define CALLS_FIRST 32

// ---- files ----

static struct nfs_file **bucket_of(struct nfs_table *table, struct content_text fh)
{
	uint32_t hash = 2166136261u;

	for (uint32_t i = 0; i < fh.length; i++)
		hash = (hash ^ fh.bytes[i]) * 16777619u;
	return &table->buckets[(hash ^ hash >> 16) % NFS_BUCKETS];
}

static struct content_text handle_of(const struct nfs_file *file)
{
	return (struct content_text){file->handle_bytes, file->fh};
}

bool nfs_table_room(struct nfs_session *session, struct content_turn *turn)
{
	if (session->table)
		return true;
	session->table = content_take(turn->memory, sizeof(*session->table));
	if (session->table)
		memset(session->table, 0, sizeof(*session->table));
	return session->table;
}

struct nfs_file *nfs_file_new(struct content_turn *turn, struct content_text name)
{
	struct nfs_file *file = content_take(turn->memory, sizeof(*file) + name.length);

	if (!file)
		return NULL;
	*file = (struct nfs_file){
		.refs = 1, .name = (uint16_t)name.length, .size = CONTENT_SIZE_UNKNOWN};
	if (name.length)
		memcpy(file->name_bytes, name.bytes, name.length);
	return file;
}

struct nfs_file *nfs_file_hold(struct nfs_file *file)
{
	if (file)
		file->refs++;
	return file;
}

void nfs_file_drop(struct content_turn *turn, struct nfs_file *file)
{
	if (file && !--file->refs)
		content_give(turn->memory, file);
}

static void link_newest(struct nfs_table *table, struct nfs_file *file)
{
	file->newer = NULL;
	file->older = table->newest;
	if (table->newest)
		table->newest->newer = file;
	else
		table->oldest = file;
	table->newest = file;
}

static void unlink_use(struct nfs_table *table, struct nfs_file *file)
{
	if (file->newer)
		file->newer->older = file->older;
	else
		table->newest = file->older;
	if (file->older)
		file->older->newer = file->newer;
	else
		table->oldest = file->newer;
}

// Out of the table, which held it.
static void unlist(struct nfs_table *table, struct content_turn *turn, struct nfs_file *file)
{
	struct nfs_file **at = bucket_of(table, handle_of(file));

	while (*at && *at != file)
		at = &(*at)->next;
	if (!*at)
		return;
	*at = file->next;
	unlink_use(table, file);
	file->listed = false;
	table->n--;
	nfs_file_drop(turn, file);
}

struct nfs_file *nfs_file_find(struct nfs_session *session, struct content_text fh)
{
	struct nfs_file *file;

	if (!session->table || !fh.length)
		return NULL;
	file = *bucket_of(session->table, fh);
	while (file &&
		(file->fh != fh.length || memcmp(file->handle_bytes, fh.bytes, fh.length) != 0))
		file = file->next;
	if (file) {
		unlink_use(session->table, file);
		link_newest(session->table, file);
	}
	return file;
}

bool nfs_file_is_same(const struct nfs_file *a, const struct nfs_file *b)
{
	return a->name == b->name && !memcmp(a->name_bytes, b->name_bytes, a->name);
}

void nfs_file_bind(struct nfs_session *session, struct content_turn *turn, struct nfs_file *file,
	struct content_text fh)
{
	struct nfs_table *table = session->table;
	struct nfs_file *known = nfs_file_find(session, fh);

	if (!fh.length || fh.length > NFS_HANDLE_BYTES || known == file || file->listed)
		return;
	if (known && nfs_file_is_same(known, file)) {
		if (file->size != CONTENT_SIZE_UNKNOWN)
			known->size = file->size;
		known->created |= file->created;
		return;
	}
	if (known)
		unlist(table, turn, known);
	if (table->n >= NFS_FILES_MAX)
		unlist(table, turn, table->oldest);
	file->fh = (uint16_t)fh.length;
	memcpy(file->handle_bytes, fh.bytes, fh.length);
	struct nfs_file **at = bucket_of(table, fh);

	file->next = *at;
	*at = nfs_file_hold(file);
	link_newest(table, file);
	file->listed = true;
	table->n++;
}

// ---- calls ----

bool nfs_call_room(struct nfs_session *session, struct content_turn *turn)
{
	uint32_t room = session->room ? 2 * session->room : CALLS_FIRST;
	struct nfs_call *larger;

	if (session->n_calls < session->room || session->room == NFS_CALLS_MAX)
		return true;
	larger = content_take(turn->memory, room * sizeof(*larger));
	if (!larger)
		return false;
	if (session->n_calls)
		memcpy(larger, session->calls, session->n_calls * sizeof(*larger));
	content_give(turn->memory, session->calls);
	session->calls = larger;
	session->room = room;
	return true;
}

// Replies come mostly in the order of calls: the others stay in it.
static void remove_call(struct nfs_session *session, struct content_turn *turn, uint32_t at)
{
	struct nfs_call *call = &session->calls[at];

	nfs_file_drop(turn, call->file);
	session->n_calls--;
	memmove(call, call + 1, (session->n_calls - at) * sizeof(*call));
}

void nfs_call_add(struct nfs_session *session, struct content_turn *turn,
	const struct nfs_call *call, bool *full)
{
	*full = session->n_calls == NFS_CALLS_MAX;
	if (*full)
		remove_call(session, turn, 0);
	nfs_file_hold(call->file);
	session->calls[session->n_calls++] = *call;
}

struct nfs_call *nfs_call_of(
	const struct nfs_session *session, uint32_t xid, unsigned op, unsigned kind)
{
	for (uint32_t i = 0; i < session->n_calls; i++) {
		struct nfs_call *call = &session->calls[i];

		if (call->xid == xid && call->op == op && call->kind == kind)
			return call;
	}
	return NULL;
}

struct nfs_call *nfs_call_any(const struct nfs_session *session, uint32_t xid)
{
	for (uint32_t i = 0; i < session->n_calls; i++)
		if (session->calls[i].xid == xid)
			return &session->calls[i];
	return NULL;
}

void nfs_calls_done(struct nfs_session *session, struct content_turn *turn, uint32_t xid)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < session->n_calls; i++) {
		if (session->calls[i].xid == xid)
			nfs_file_drop(turn, session->calls[i].file);
		else
			session->calls[kept++] = session->calls[i];
	}
	session->n_calls = kept;
}

// ---- transfers ----

struct nfs_transfer *nfs_transfer_of(
	struct nfs_session *session, const struct nfs_file *file, unsigned half)
{
	struct nfs_transfer *transfer = session->table ? session->table->transfers : NULL;

	for (unsigned i = 0; file && transfer && i < NFS_TRANSFERS_MAX; i++, transfer++)
		if (transfer->file == file && transfer->half == half)
			return transfer;
	return NULL;
}

void nfs_transfer_end(
	struct content_turn *turn, struct nfs_transfer *transfer, enum content_end end)
{
	content_placed_end(&transfer->placed, turn, end);
	nfs_file_drop(turn, transfer->file);
	transfer->file = NULL;
}

// The one that is used first; one that is free, or was used least recently.
static struct nfs_transfer *use(struct nfs_table *table, struct nfs_transfer *at)
{
	struct nfs_transfer used = *at;

	memmove(table->transfers + 1, table->transfers,
		(size_t)(at - table->transfers) * sizeof(*at));
	table->transfers[0] = used;
	return table->transfers;
}

static struct nfs_transfer *find_place(struct nfs_table *table, struct content_turn *turn)
{
	struct nfs_transfer *at = table->transfers;

	while (at < table->transfers + NFS_TRANSFERS_MAX - 1 && at->file)
		at++;
	if (at->file)
		nfs_transfer_end(turn, at, CONTENT_END_TRUNCATED);
	return at;
}

// What is read begins with the lowest part that was asked for; what is written to a file that was
// made here, with its first byte.
static uint64_t begins_at(const struct nfs_session *session, const struct nfs_file *file,
	unsigned half, uint64_t offset)
{
	if (half == HALF_C2S)
		return file->created ? 0 : offset;
	for (uint32_t i = 0; i < session->n_calls; i++) {
		const struct nfs_call *call = &session->calls[i];

		if (call->kind == NFS_CALL_READ && call->file == file && call->offset < offset)
			offset = call->offset;
	}
	return offset;
}

struct nfs_transfer *nfs_transfer_begin(struct nfs_session *session, struct content_turn *turn,
	struct nfs_file *file, unsigned half, uint64_t offset, uint32_t length, uint64_t at64)
{
	struct nfs_transfer *transfer = nfs_transfer_of(session, file, half);
	struct content_file what = {
		.half = (uint8_t)half,
		.name_source = file->name ? CONTENT_NAME_COMMAND : CONTENT_NAME_NONE,
		.name_cut = file->name_cut,
		.name = {file->name_bytes, file->name},
		.size = half == HALF_S2C ? file->size : CONTENT_SIZE_UNKNOWN,
	};

	if (transfer && content_placed_takes(&transfer->placed, offset, length)) {
		transfer = use(session->table, transfer);
	} else {
		if (transfer)
			nfs_transfer_end(turn, transfer, CONTENT_END_TRUNCATED);
		transfer = use(session->table, find_place(session->table, turn));
		transfer->file = nfs_file_hold(file);
		transfer->half = (uint8_t)half;
		content_placed_open(&transfer->placed, turn, &what, &session->files, at64,
			begins_at(session, file, half, offset));
		file->created = false; // what comes behind it is a part
	}
	content_placed_begin(&transfer->placed, offset, length);
	return transfer;
}

void nfs_session_over(struct nfs_session *session, struct content_turn *turn)
{
	struct nfs_table *table = session->table;

	for (unsigned i = 0; table && i < NFS_TRANSFERS_MAX; i++)
		if (table->transfers[i].file)
			nfs_transfer_end(turn, &table->transfers[i], CONTENT_END_TRUNCATED);
	while (session->n_calls)
		nfs_file_drop(turn, session->calls[--session->n_calls].file);
	while (table && table->oldest)
		unlist(table, turn, table->oldest);
	content_give(turn->memory, session->calls);
	content_give(turn->memory, table);
	*session = (struct nfs_session){.files = session->files};
}
