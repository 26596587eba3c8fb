// SPDX-License-Identifier: BSD-3-Clause
// Fields of each procedure and operation (fields.h): RFC 1813 3.3; RFC 7530 16, RFC 8881 18, RFC
// 7862 15. What is not listed ends what is read of a compound: the rest of it is passed over.
#include "content/nfs/fields.h"

#include "content/nfs/operations.h"

struct op {
	const char *arguments, *results;
};

static const struct op ops[] = {
	[3] = {"4", "S44"},                   // ACCESS
	[NFS4_CLOSE] = {"4s!", "Ss"},         // 4
	[5] = {"84", "S8"},                   // COMMIT
	[6] = {"Q", "S488b"},                 // CREATE: no regular file
	[7] = {"8", "S"},                     // DELEGPURGE
	[8] = {"s", "S"},                     // DELEGRETURN
	[NFS4_GETATTR] = {"b!", "SBV!"},      // 9
	[NFS4_GETFH] = {"!", "SH!"},          // 10
	[11] = {"o", "S488"},                 // LINK
	[12] = {"4488W", "Ss"},               // LOCK
	[13] = {"4888o", "S"},                // LOCKT
	[14] = {"44s88", "Ss"},               // LOCKU
	[NFS4_LOOKUP] = {"N!", "S"},          // 15
	[16] = {"!", "S"},                    // LOOKUPP
	[17] = {"bo", "S"},                   // NVERIFY
	[NFS4_OPEN] = {"4448oT", "Ss4884bG"}, // 18
	[19] = {"4", "S"},                    // OPENATTR
	[20] = {"s4", "Ss"},                  // OPEN_CONFIRM
	[21] = {"s444", "Ss"},                // OPEN_DOWNGRADE
	[NFS4_PUTFH] = {"H!", "S"},           // 22
	[23] = {"!", "S"},                    // PUTPUBFH
	[24] = {"!", "S"},                    // PUTROOTFH
	[NFS4_READ] = {"sOC!", "SED"},        // 25
	[NFS4_READDIR] = {"8844b!", "S8l"},   // 26
	[27] = {"", "So"},                    // READLINK
	[28] = {"o", "S488"},                 // REMOVE
	[29] = {"oo", "S488488"},             // RENAME
	[30] = {"8", "S"},                    // RENEW
	[NFS4_RESTOREFH] = {"!", "S"},        // 31
	[NFS4_SAVEFH] = {"!", "S"},           // 32
	[34] = {"sbo", "Sb"},                 // SETATTR
	[35] = {"8o4oo4", "S88"},             // SETCLIENTID
	[36] = {"88", "S"},                   // SETCLIENTID_CONFIRM
	[37] = {"bo", "S"},                   // VERIFY
	[NFS4_WRITE] = {"sO4D", "S448"},      // 38
	[39] = {"8o", "S"},                   // RELEASE_LOCKOWNER
	[44] = {"s", "S"},                    // DESTROY_SESSION
	[45] = {"s", "S"},                    // FREE_STATEID
	[52] = {"4", NULL},                   // SECINFO_NO_NAME
	[53] = {"s4444", "Ss44444"},          // SEQUENCE
	[57] = {"8", "S"},                    // DESTROY_CLIENTID
	[58] = {"4", "S"},                    // RECLAIM_COMPLETE
	[59] = {"s88", "S"},                  // ALLOCATE
	[62] = {"s88", "S"},                  // DEALLOCATE
	[63] = {"s88b", "Ssb"},               // IO_ADVISE
	[NFS4_READ_PLUS] = {"sOC!", NULL},    // 68
	[69] = {"s84", "S48"},                // SEEK
	[71] = {"ss888", "S"},                // CLONE
};

static const struct op *op_of(uint32_t op)
{
	return op < sizeof(ops) / sizeof(ops[0]) ? &ops[op] : NULL;
}

const char *nfs_op_arguments(uint32_t op)
{
	return op_of(op) ? op_of(op)->arguments : NULL;
}

const char *nfs_op_results(uint32_t op)
{
	return op_of(op) ? op_of(op)->results : NULL;
}

const char *nfs_procedure_arguments(uint32_t procedure)
{
	switch (procedure) {
	case NFS3_LOOKUP:
	case NFS3_CREATE: return "oN!";
	case NFS3_READ: return "HOC!";
	case NFS3_WRITE: return "HOC4D";
	case NFS3_READDIRPLUS: return "!";
	case NFS3_COMMIT: return "H!";
	default: return NULL;
	}
}
