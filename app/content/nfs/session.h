// SPDX-License-Identifier: BSD-3-Clause
// What is kept of a connection of NFS: names of handles, calls that wait for their replies, files
// that come. Tables are bounded.
#ifndef SLUICE_CONTENT_NFS_SESSION_H
#define SLUICE_CONTENT_NFS_SESSION_H

#include "content/content.h"
#include "content/placed.h"

#define NFS_HANDLE_BYTES  128  // RFC 7530 2.1; of version 3 at most 64
#define NFS_NAME_BYTES    255  // servers take no longer ones; of one the end is read
#define NFS_FILES_MAX     1024 // handles; of more the one that was used least recently is forgotten
#define NFS_BUCKETS       256
#define NFS_CALLS_MAX     512
#define NFS_TRANSFERS_MAX 6 // files that come at a time; the pipeline has room for 8 of a flow

struct nfs_file {
	struct nfs_file *newer, *older; // in the table, by use
	struct nfs_file *next;          // of its bucket
	uint32_t refs;                  // of calls, transfers and current handles
	bool listed;                    // in the table, by its handle
	bool created;                   // by a call that was seen: it was empty
	bool name_cut;
	uint16_t fh, name; // lengths
	uint64_t size;     // CONTENT_SIZE_UNKNOWN
	uint8_t handle_bytes[NFS_HANDLE_BYTES];
	uint8_t name_bytes[];
};

struct nfs_transfer {
	struct nfs_file *file; // NULL: none
	uint8_t half;
	struct content_placed placed;
};

struct nfs_table {
	struct nfs_file *buckets[NFS_BUCKETS];
	struct nfs_file *newest, *oldest;
	uint32_t n;
	struct nfs_transfer transfers[NFS_TRANSFERS_MAX]; // used most recently first
};

enum nfs_call_kind {
	NFS_CALL_BIND, // the reply has the handle of a name
	NFS_CALL_ATTR, // ... the size
	NFS_CALL_READ,
	NFS_CALL_LIST, // ... handles and names
};

// A call, or an operation of one (version 4), whose reply is read.
struct nfs_call {
	uint64_t offset; // READ
	struct nfs_file *file;
	uint32_t xid;
	uint32_t count;
	uint16_t op; // index in the compound; 0 of version 3
	uint8_t kind;
	uint8_t version;
	bool integrity; // RPCSEC_GSS: a length and a number stand before the results
};

struct nfs_session {
	struct nfs_table *table; // NULL: nothing was needed yet
	struct nfs_call *calls;
	uint32_t n_calls, room;
	uint32_t files; // of the flow
};

// ---- files ----
// Room for files; false: no memory.
bool nfs_table_room(struct nfs_session *session, struct content_turn *turn);
// One that is in no table yet, with a reference of the caller's. NULL: no memory.
struct nfs_file *nfs_file_new(struct content_turn *turn, struct content_text name);
struct nfs_file *nfs_file_hold(struct nfs_file *file);
void nfs_file_drop(struct content_turn *turn, struct nfs_file *file);      // NULL is allowed
bool nfs_file_is_same(const struct nfs_file *a, const struct nfs_file *b); // by their names
// Most recently used then. NULL: not known.
struct nfs_file *nfs_file_find(struct nfs_session *session, struct content_text fh);
// This is its handle: what was known under it is forgotten, but for a file that is the same.
void nfs_file_bind(struct nfs_session *session, struct content_turn *turn, struct nfs_file *file,
	struct content_text fh);

// ---- calls ----
// Room for one more; false: no memory.
bool nfs_call_room(struct nfs_session *session, struct content_turn *turn);
// Behind nfs_call_room; takes a reference of its file. *full: the oldest was forgotten for it.
void nfs_call_add(struct nfs_session *session, struct content_turn *turn,
	const struct nfs_call *call, bool *full);
// The call, or the operation, of that kind; NULL: none waits.
struct nfs_call *nfs_call_of(
	const struct nfs_session *session, uint32_t xid, unsigned op, unsigned kind);
struct nfs_call *nfs_call_any(const struct nfs_session *session, uint32_t xid);
// All of the call is over.
void nfs_calls_done(struct nfs_session *session, struct content_turn *turn, uint32_t xid);

// ---- transfers ----
// NULL: it does not come.
struct nfs_transfer *nfs_transfer_of(
	struct nfs_session *session, const struct nfs_file *file, unsigned half);
// A block of it comes, at that offset of the half: the transfer that takes it, told if it is new.
struct nfs_transfer *nfs_transfer_begin(struct nfs_session *session, struct content_turn *turn,
	struct nfs_file *file, unsigned half, uint64_t offset, uint32_t length, uint64_t at64);
void nfs_transfer_end(
	struct content_turn *turn, struct nfs_transfer *transfer, enum content_end end);

// Ends what is open, and gives back all memory.
void nfs_session_over(struct nfs_session *session, struct content_turn *turn);

#endif
