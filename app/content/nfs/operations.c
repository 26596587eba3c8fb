// SPDX-License-Identifier: BSD-3-Clause
// What calls and replies of NFS change.
#include "content/nfs/operations.h"

#define CALL 0

static struct content_text handle_of(const struct nfs_values *values)
{
	return (struct content_text){values->handle_bytes, values->fh};
}

// ---- calls ----

static bool is_same(const struct nfs_call *a, const struct nfs_call *b)
{
	if (a->offset != b->offset || a->count != b->count)
		return false;
	return a->file == b->file || (a->file && b->file && a->kind == NFS_CALL_BIND &&
					     nfs_file_is_same(a->file, b->file));
}

// A call under an xid that waits is the same one again, or which of them is answered is not known.
static bool is_repeated(struct nfs_turn *turn, const struct nfs_call *call)
{
	const struct nfs_call *old;

	if (!turn->half->repeats)
		return false;
	old = nfs_call_of(turn->session, call->xid, call->op, call->kind);
	if (old && is_same(old, call)) {
		turn->half->repeated = true;
		return true;
	}
	nfs_calls_done(turn->session, turn->turn, call->xid);
	turn->half->repeats = false;
	turn->again = true;
	return false;
}

// What waits for its reply. False: no memory.
static bool wait_for(struct nfs_turn *turn, unsigned kind, struct nfs_file *file)
{
	const struct nfs_values *values = &turn->half->values;
	const struct nfs_call call = {
		.offset = values->offset,
		.file = file,
		.xid = values->xid,
		.count = values->count,
		.op = values->index,
		.kind = (uint8_t)kind,
		.version = values->version,
		.integrity = values->integrity,
	};
	bool full;

	if (!nfs_call_room(turn->session, turn->turn))
		return false;
	if (is_repeated(turn, &call))
		return true;
	nfs_call_add(turn->session, turn->turn, &call, &full);
	turn->full |= full;
	return true;
}

static struct nfs_file *new_file(struct nfs_turn *turn)
{
	const struct nfs_values *values = &turn->half->values;
	struct nfs_file *file =
		nfs_file_new(turn->turn, (struct content_text){values->name_bytes, values->name});

	if (file) {
		file->name_cut = values->name_cut;
		file->created = values->makes;
	}
	return file;
}

// The file of a handle; one that nobody has named here has no name. A reference is the caller's.
static struct nfs_file *file_of(struct nfs_turn *turn, struct content_text fh)
{
	struct nfs_file *file;

	if (!nfs_table_room(turn->session, turn->turn))
		return NULL;
	file = nfs_file_hold(nfs_file_find(turn->session, fh));
	if (file)
		return file;
	file = nfs_file_new(turn->turn, (struct content_text){NULL, 0});
	if (file)
		nfs_file_bind(turn->session, turn->turn, file, fh);
	return file;
}

static bool call_name(struct nfs_turn *turn)
{
	struct nfs_file *file;
	bool done;

	turn->half->values.makes = turn->half->values.op == NFS3_CREATE;
	if (!nfs_table_room(turn->session, turn->turn))
		return false;
	file = new_file(turn);
	if (!file)
		return false;
	done = wait_for(turn, NFS_CALL_BIND, file);
	nfs_file_drop(turn->turn, file);
	return done;
}

static bool call_read(struct nfs_turn *turn)
{
	struct nfs_file *file = file_of(turn, handle_of(&turn->half->values));
	bool done = file && wait_for(turn, NFS_CALL_READ, file);

	nfs_file_drop(turn->turn, file);
	return done;
}

// What was written is whole as far as it goes.
static void end_upload(struct nfs_turn *turn, const struct nfs_file *file)
{
	struct nfs_transfer *transfer = nfs_transfer_of(turn->session, file, HALF_C2S);

	if (transfer)
		nfs_transfer_end(turn->turn, transfer,
			content_placed_is_one(&transfer->placed) ? CONTENT_END_CLOSED
								 : CONTENT_END_TRUNCATED);
}

static bool take_call3(struct nfs_turn *turn)
{
	switch (turn->half->values.op) {
	case NFS3_LOOKUP:
	case NFS3_CREATE: return call_name(turn);
	case NFS3_READ: return call_read(turn);
	case NFS3_READDIRPLUS:
		return nfs_table_room(turn->session, turn->turn) &&
		       wait_for(turn, NFS_CALL_LIST, NULL);
	case NFS3_COMMIT:
		end_upload(turn, nfs_file_find(turn->session, handle_of(&turn->half->values)));
		return true;
	default: return true;
	}
}

// ---- operations of a compound ----

static void set_current(struct nfs_turn *turn, struct nfs_file *file)
{
	nfs_file_drop(turn->turn, turn->half->current);
	turn->half->current = file;
}

// The name is that of the current handle from here on.
static bool op_name(struct nfs_turn *turn)
{
	struct nfs_file *file;

	if (turn->half->values.op == NFS4_OPEN && !turn->half->values.name)
		return true; // by a handle
	if (!nfs_table_room(turn->session, turn->turn))
		return false;
	file = new_file(turn);
	if (file)
		set_current(turn, file);
	return file;
}

static bool op_handle(struct nfs_turn *turn)
{
	struct nfs_file *file = file_of(turn, handle_of(&turn->half->values));

	if (file)
		set_current(turn, file);
	return file;
}

static void op_save(struct nfs_turn *turn)
{
	nfs_file_drop(turn->turn, turn->half->saved);
	turn->half->saved = nfs_file_hold(turn->half->current);
}

// What its result says is of the current handle.
static bool op_waits(struct nfs_turn *turn)
{
	struct nfs_file *current = turn->half->current;

	switch (turn->half->values.op) {
	case NFS4_READDIR: return wait_for(turn, NFS_CALL_LIST, NULL);
	case NFS4_GETFH: return !current || wait_for(turn, NFS_CALL_BIND, current);
	case NFS4_GETATTR: return !current || wait_for(turn, NFS_CALL_ATTR, current);
	case NFS4_READ: return !current || wait_for(turn, NFS_CALL_READ, current);
	default: return true;
	}
}

static bool take_op(struct nfs_turn *turn)
{
	struct nfs_half *half = turn->half;

	switch (half->values.op) {
	case NFS4_PUTFH: return op_handle(turn);
	case NFS4_LOOKUPP:
	case NFS4_PUTPUBFH:
	case NFS4_PUTROOTFH: set_current(turn, NULL); break;
	case NFS4_LOOKUP:
	case NFS4_OPEN: return op_name(turn);
	case NFS4_SAVEFH: op_save(turn); break;
	case NFS4_RESTOREFH: set_current(turn, nfs_file_hold(half->saved)); break;
	case NFS4_READ_PLUS: turn->not_decoded = true; break;
	case NFS4_CLOSE: end_upload(turn, half->current); break;
	default: return op_waits(turn);
	}
	return true;
}

// ---- replies ----

static bool bind(struct nfs_turn *turn, struct nfs_call *call)
{
	const struct nfs_values *values = &turn->half->values;

	if (!call || !call->file || !turn->session->table)
		return true;
	if (values->size != CONTENT_SIZE_UNKNOWN)
		call->file->size = values->size;
	if (values->fh)
		nfs_file_bind(turn->session, turn->turn, call->file, handle_of(values));
	return true;
}

// An entry of a directory, which may have its handle.
static bool list(struct nfs_turn *turn)
{
	struct nfs_values *values = &turn->half->values;
	struct nfs_file *file;

	if (values->fh && values->name && turn->session->table) {
		file = new_file(turn);
		if (!file)
			return false;
		file->size = values->size;
		nfs_file_bind(turn->session, turn->turn, file, handle_of(values));
		nfs_file_drop(turn->turn, file);
	}
	values->fh = values->name = 0;
	values->size = CONTENT_SIZE_UNKNOWN;
	return true;
}

static bool take_result(struct nfs_turn *turn)
{
	const struct nfs_values *values = &turn->half->values;
	const struct nfs_session *session = turn->session;
	struct nfs_call *call;

	if (values->version == 3)
		return values->op == NFS3_READDIRPLUS
			       ? list(turn)
			       : bind(turn, nfs_call_of(session, values->xid, 0, NFS_CALL_BIND));
	switch (values->op) {
	case NFS4_READDIR: return list(turn);
	case NFS4_GETFH:
		return bind(turn, nfs_call_of(session, values->xid, values->index, NFS_CALL_BIND));
	case NFS4_GETATTR:
		call = nfs_call_of(session, values->xid, values->index, NFS_CALL_ATTR);
		if (call && call->file && values->size != CONTENT_SIZE_UNKNOWN)
			call->file->size = values->size;
		return true;
	default: return true;
	}
}

bool nfs_take_operation(struct nfs_turn *turn)
{
	const struct nfs_values *values = &turn->half->values;

	if (values->type != CALL)
		return take_result(turn);
	return values->version == 3 ? take_call3(turn) : take_op(turn);
}

// ---- heads ----

static void head_of_call(struct nfs_turn *turn)
{
	struct nfs_half *half = turn->half;
	struct nfs_values *values = &half->values;

	half->repeats = nfs_call_any(turn->session, values->xid);
	half->repeated = false;
	half->format = NULL;
	if (values->privacy) {
		turn->encrypted = true;
	} else if (values->version == 3) {
		half->format = nfs_procedure_arguments(values->op);
	} else if (values->op == NFS4_COMPOUND) {
		half->format = "o4R";
	}
	nfs_field_begin(half);
}

static void head_of_reply(struct nfs_turn *turn)
{
	static const char *const formats[] = {
		[NFS_CALL_BIND] = "SH!", [NFS_CALL_READ] = "SACED", [NFS_CALL_LIST] = "SA8L"};
	struct nfs_half *half = turn->half;
	struct nfs_values *values = &half->values;
	const struct nfs_call *call = nfs_call_any(turn->session, values->xid);

	half->format = NULL;
	if (call) {
		values->version = call->version;
		values->integrity = call->integrity;
		values->op = call->kind == NFS_CALL_LIST ? NFS3_READDIRPLUS : 0;
		half->format = call->version == 4 ? "4oR" : formats[call->kind];
		if (call->version == 3 && call->kind == NFS_CALL_BIND)
			half->format = call->file->created ? "SIA!" : "SHA!";
	}
	nfs_field_begin(half);
}

void nfs_take_head(struct nfs_turn *turn)
{
	struct nfs_half *half = turn->half;
	bool calls = half->values.type == CALL;

	if (calls != (turn->side == HALF_C2S)) { // callbacks
		half->format = NULL;
		nfs_field_begin(half);
	} else if (calls) {
		head_of_call(turn);
	} else {
		head_of_reply(turn);
	}
	if (half->format && half->values.integrity) // a length and a number
		half->lead += 8;
}

// ---- blocks ----

static bool block_written(struct nfs_turn *turn, struct nfs_file **file)
{
	struct nfs_half *half = turn->half;

	if (half->values.version == 4) {
		*file = nfs_file_hold(half->current);
		return true;
	}
	*file = file_of(turn, handle_of(&half->values));
	return *file;
}

bool nfs_take_block(struct nfs_turn *turn, struct nfs_file **file, uint64_t *offset)
{
	const struct nfs_values *values = &turn->half->values;
	const struct nfs_call *call;

	*file = NULL;
	*offset = values->offset;
	if (values->type == CALL)
		return block_written(turn, file);
	call = nfs_call_of(turn->session, values->xid, values->index, NFS_CALL_READ);
	if (!call || !call->file)
		return true;
	*file = nfs_file_hold(call->file);
	*offset = call->offset;
	if (values->version == 3 && values->size != CONTENT_SIZE_UNKNOWN)
		call->file->size = values->size;
	return true;
}

void nfs_take_end(struct nfs_turn *turn)
{
	struct nfs_half *half = turn->half;

	set_current(turn, NULL);
	nfs_file_drop(turn->turn, half->saved);
	half->saved = NULL;
	if (half->repeats && !half->repeated) {
		nfs_calls_done(turn->session, turn->turn, half->values.xid);
		turn->again = true;
	}
	half->repeats = false;
	if (turn->side == HALF_S2C && half->values.type != CALL)
		nfs_calls_done(turn->session, turn->turn, half->values.xid);
}
