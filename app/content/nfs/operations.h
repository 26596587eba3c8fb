// SPDX-License-Identifier: BSD-3-Clause
// What calls and replies of NFS change: names of handles, reads that wait, uploads that end.
#ifndef SLUICE_CONTENT_NFS_OPERATIONS_H
#define SLUICE_CONTENT_NFS_OPERATIONS_H

#include "content/nfs/fields.h"

enum nfs3_procedure { // RFC 1813 3
	NFS3_LOOKUP = 3,
	NFS3_READ = 6,
	NFS3_WRITE = 7,
	NFS3_CREATE = 8,
	NFS3_READDIRPLUS = 17,
	NFS3_COMMIT = 21,
};
#define NFS4_COMPOUND 1 // the one procedure of version 4, beside NULL

enum nfs4_op { // RFC 7530 16, RFC 7862 15
	NFS4_CLOSE = 4,
	NFS4_GETATTR = 9,
	NFS4_GETFH = 10,
	NFS4_LOOKUP = 15,
	NFS4_LOOKUPP = 16,
	NFS4_OPEN = 18,
	NFS4_PUTFH = 22,
	NFS4_PUTPUBFH = 23,
	NFS4_PUTROOTFH = 24,
	NFS4_READ = 25,
	NFS4_READDIR = 26,
	NFS4_RESTOREFH = 31,
	NFS4_SAVEFH = 32,
	NFS4_WRITE = 38,
	NFS4_READ_PLUS = 68,
};

struct nfs_turn {
	struct nfs_session *session;
	struct nfs_half *half;
	struct content_turn *turn;
	uint8_t side;     // whose sender sends it: calls are those of HALF_C2S
	bool again;       // an xid that waits was used again, for something else
	bool full;        // a table has no room
	bool encrypted;   // what follows
	bool not_decoded; // what its reply will have
};

// The head of a call or reply is read: what is read of the rest.
void nfs_take_head(struct nfs_turn *turn);
// An operation, or an entry, is read. False: no memory, and nothing has changed.
bool nfs_take_operation(struct nfs_turn *turn);
// A block of a file comes: whose it is, and where in it. False: no memory. *file NULL: nobody's.
bool nfs_take_block(struct nfs_turn *turn, struct nfs_file **file, uint64_t *offset);
// Nothing follows of the call or reply.
void nfs_take_end(struct nfs_turn *turn);

#endif
