// SPDX-License-Identifier: BSD-3-Clause
// What is kept of a connection of SMB 2 and 3: shares that were connected, files that are open,
// requests that wait for their answers. Tables are bounded.
#ifndef SLUICE_CONTENT_SMB_SESSION_H
#define SLUICE_CONTENT_SMB_SESSION_H

#include "content/content.h"
#include "content/placed.h"

#define SMB_OPENS_MAX     256 // files; of more the one that was used least recently is forgotten
#define SMB_TREES_MAX     32  // shares
#define SMB_PENDING_MAX   512 // requests
#define SMB_TRANSFERS_MAX 6   // files that come at a time; the pipeline has room for 8 of a flow
#define SMB_ID_BYTES      16  // a file id: persistent and volatile part
#define SMB_HOST_BYTES    255
#define SMB_SHARE_BYTES   255
#define SMB_UNITS_MAX     2048 // of UTF-16, of a path; of one that is longer the end is read

struct smb_open {
	struct smb_open *next; // used less recently
	uint32_t number;       // of the connection, from 1
	bool bound;            // its id is known
	bool ignored;          // a named pipe, or a printer
	bool name_cut;
	bool grown;                       // its size is what the client has said that it will be
	uint8_t id[SMB_ID_BYTES];         // by the answer to CREATE
	uint64_t created_as;              // MessageId of CREATE
	uint64_t size;                    // CONTENT_SIZE_UNKNOWN; when it was opened
	uint64_t to_be;                   // ... as the client sets it before it writes
	struct content_placed *placed[2]; // what the sender of each half sends; NULL: nothing did
	uint16_t host, path, name;        // lengths of `texts`
	uint8_t texts[];
};

struct smb_tree {
	struct smb_tree *next;
	uint64_t asked_as; // MessageId
	uint32_t id;
	bool bound;
	bool is_disk;
	uint16_t host, share; // lengths of `texts`: "server", "\share\"
	uint8_t texts[];
};

enum smb_pending_kind {
	SMB_PENDING_CREATE,
	SMB_PENDING_READ,
	SMB_PENDING_CLOSE,
	SMB_PENDING_TREE,
};

struct smb_pending {
	uint64_t message; // MessageId
	uint64_t offset;  // READ
	uint32_t length;
	uint32_t open; // number; 0: none
	uint8_t kind;  // enum smb_pending_kind
};

struct smb_session {
	struct smb_open *opens; // most recently used first
	struct smb_tree *trees;
	struct smb_pending *pending; // NULL: none was needed yet
	uint32_t n_opens, n_trees, n_pending, room;
	uint32_t last_open; // number
	uint32_t files;     // of the flow
};

// ---- files that are open ----
// NULL: not known. Found is most recently used.
struct smb_open *smb_open_by_id(struct smb_session *session, const uint8_t *id);
struct smb_open *smb_open_by_number(struct smb_session *session, uint32_t number);
// `path` in UTF-16; `tree` may be NULL. *full: one was forgotten for it. NULL: no memory.
struct smb_open *smb_open_new(struct smb_session *session, struct content_turn *turn,
	const struct smb_tree *tree, struct content_text path, bool *full);
void smb_open_free(
	struct smb_session *session, struct content_turn *turn, const struct smb_open *open);
// What the sender of a half sends of it; made if need be. NULL: no memory.
struct content_placed *smb_placed_of(
	struct content_turn *turn, struct smb_open *open, unsigned half);
// Where a transfer begins whose first block that comes is at `offset`.
uint64_t smb_begins_at(const struct smb_session *session, const struct smb_open *open,
	unsigned half, uint64_t offset);
// A file begins on that half: one of too many others ends.
void smb_make_way(struct smb_session *session, struct content_turn *turn);
struct content_file smb_file_of(const struct smb_open *open, unsigned half);

// ---- shares ----
struct smb_tree *smb_tree_by_id(const struct smb_session *session, uint32_t id);
struct smb_tree *smb_tree_asked_as(const struct smb_session *session, uint64_t message);
// `path` in UTF-16: "\\server\share". NULL: no memory.
struct smb_tree *smb_tree_new(
	struct smb_session *session, struct content_turn *turn, struct content_text path);

// ---- requests ----
// Room for one more; false: no memory.
bool smb_pending_room(struct smb_session *session, struct content_turn *turn);
// Behind smb_pending_room. False: another one waits under this MessageId, which it replaces, or
// there are too many (*full), of which the oldest is forgotten.
bool smb_pending_add(struct smb_session *session, const struct smb_pending *pending, bool *full);
// NULL: nothing waits for it.
struct smb_pending *smb_pending_of(const struct smb_session *session, uint64_t message);
void smb_pending_done(struct smb_session *session, struct smb_pending *pending);

// Ends what is open, and gives back all memory.
void smb_session_over(struct smb_session *session, struct content_turn *turn);

#endif
