// SPDX-License-Identifier: BSD-3-Clause
// Calls and replies of ONC RPC (RFC 5531) as they come, field by field (XDR, RFC 4506): formats say
// which fields follow, and what is kept of them. A field takes a few bytes at a time; what is long
// is passed over, or, of a file, passed on.
//
//   4 8 s    so many bytes, or a stateid (16): passed over
//   o b      opaque; a bitmap: passed over
//   N H      opaque: a name, a handle
//   O C E    offset, count, whether the file ends: kept
//   A I      attributes of version 3, a handle, if they are there
//   B V      a bitmap, and the attributes that it names, of version 4
//   D        opaque: a file's bytes
//   S        a status: behind one that is not 0 nothing follows
//   L l      another entry of a directory follows, of version 3 or 4
//   h k r a  parts of the head of a call or reply; c: its credentials
//   %        ... which is read: what follows is said then (nfs/operations.h)
//   R P p    how many operations; the next one of a call, of a reply
//   T M K    of OPEN: whether it makes a file, how, what is claimed; G Y: delegations
//   Q W      what CREATE makes; whose lock
//   !        the operation, or the entry, is read (nfs/operations.h)
#ifndef SLUICE_CONTENT_NFS_FIELDS_H
#define SLUICE_CONTENT_NFS_FIELDS_H

#include "content/nfs/session.h"

#define NFS_KEPT_BYTES  255 // of one field
#define NFS_ATTRS_BYTES 192 // of attributes of version 4, that are read

// What was read of the call, or reply, at hand.
struct nfs_values {
	uint64_t offset;
	uint64_t size; // CONTENT_SIZE_UNKNOWN: not there
	uint32_t xid;
	uint32_t count;
	uint32_t bitmap;   // its first word
	uint16_t fh, name; // lengths
	uint16_t op;       // number of the operation, or the procedure
	uint16_t index;    // in the compound
	uint8_t version, type;
	bool integrity, privacy;
	bool name_cut;
	bool eof;
	bool makes; // a file
	uint8_t handle_bytes[NFS_HANDLE_BYTES];
	uint8_t name_bytes[NFS_NAME_BYTES];
};

enum nfs_phase {
	NFS_PHASE_FIRST, // the field's first bytes: a length, a number
	NFS_PHASE_BODY,
	NFS_PHASE_PAD,
};

struct nfs_half {
	uint32_t fragment; // bytes of it that follow
	bool in_record, last, is_datagram;
	uint8_t mark[4]; // of the next fragment
	uint32_t n_mark;
	bool repeats;       // a call whose xid waits already
	bool repeated;      // ... and is the same
	bool wrong;         // a field told something that cannot be
	const char *format; // NULL: nothing more of the record is read
	uint8_t phase;      // enum nfs_phase
	uint64_t lead;      // bytes that are passed over
	uint32_t want, have;
	uint32_t pad;                     // behind the body
	uint32_t left;                    // of the block
	uint32_t ops;                     // of a compound, that follow
	struct nfs_file *current, *saved; // of a compound's call
	struct nfs_file *file;            // whose block comes; NULL: nobody's
	uint64_t noted;                   // a bit for each note that was told
	struct nfs_values values;
	uint8_t kept[NFS_KEPT_BYTES];
};

// A field begins, or its next phase: what is wanted of it.
void nfs_field_begin(struct nfs_half *half);
// All that was wanted is kept, and nothing is to be passed over. True: the field is over.
bool nfs_field_take(struct nfs_half *half);
// The next field.
void nfs_field_next(struct nfs_half *half);
// Fields of an operation's arguments, and of its results; NULL: what follows is not known.
const char *nfs_op_arguments(uint32_t op);
const char *nfs_op_results(uint32_t op);
// ... of a procedure of version 3.
const char *nfs_procedure_arguments(uint32_t procedure);

#endif
