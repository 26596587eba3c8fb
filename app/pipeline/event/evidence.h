// SPDX-License-Identifier: BSD-3-Clause
// What led to the fate of each flow, for `sluicectl explain`: a bounded ring of small records per
// data lcore, written at the few moments that matter and never for a packet of a decided flow. TCP
// is silent until it carries payload or is blocked, so that a flood of SYNs overwrites nothing.
// What has no flow (connection cache, invalid packets) is identified by its ends and written at
// most EVIDENCE_LOOSE_PER_S times a second.
//
// Owner: the data lcore; the control core asks by queries (query.h) and gets copies. The oldest
// record is overwritten and counted. Words: docs/control-socket.md.
#ifndef SLUICE_EVIDENCE_H
#define SLUICE_EVIDENCE_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include "classify/classify.h"
#include "pipeline/vocab/item_id.h"

#define EVIDENCE_BYTES       16
#define EVIDENCE_LOOSE_PER_S 100 // per lcore

// X(symbol, word). What `detail` and the other members are is said beside each.
#define EVIDENCE_KINDS(X)                                                                         \
	X(FLOW_MADE, "flow_made")       /* enum evidence_made; ends */                            \
	X(EXPECTED, "expected")         /* app, confidence; enum expected_as + 1; offset: flow */ \
	X(SIGNATURE, "signature")       /* enum verify or CLASSIFY_NO_VERIFIER; bytes */          \
	X(SHAPE, "shape")               /* enum verify; bytes */                                  \
	X(PORT_GUESS, "port_guess")     /* app, confidence; length: the port */                   \
	X(LEARNED, "learned")           /* app, confidence; enum learned_from; offset: flow */    \
	X(USER_APP, "user_app")         /* app, confidence; enum evidence_by; bytes */            \
	X(GIVE_UP, "give_up")           /* 1: packets, 0: bytes; length: data packets */          \
	X(NO_STATE, "no_state")         /* 1: dropped */                                          \
	X(DECODER, "decoder")           /* app */                                                 \
	X(GAP, "gap")                   /* half, offset, length */                                \
	X(CONFLICT, "conflict")         /* half, offset; length: bytes that differed */           \
	X(TOO_UNSURE, "too_unsure")     /* the confidence that rule_uid asks for */               \
	X(MONITOR, "monitor")           /* enum action that rule_uid would have taken; ends */    \
	X(DECISION, "decision")         /* enum action; flags; signature; ends if it blocks */    \
	X(SCAN_JOB, "scan_job")         /* half, offset, length: the first part given */          \
	X(SCAN_VERDICT, "scan_verdict") /* enum scan_value; half, offset, length; bytes */        \
	X(CONTENT, "content")           /* content: what an entry matched, and by what */         \
	X(CONTENT_NAME, "content_name") /* content: the file's name, or who wrote; behind it */   \
	X(CONTENT_NOTE, "content_note") /* enum content_note; half, offset; refused by it */      \
	X(RESETS, "resets")             /* length: packets sent; 1: and its client has a page */  \
	X(CACHE_LEARNED, "cache_learned") /* enum cache_mode; ends */                             \
	X(CACHE_EXEMPT, "cache_exempt")   /* enum cache_mode; ends */                             \
	X(CACHE_HIT, "cache_hit")         /* enum cache_mode; ends; flow: of who taught it */     \
	X(CACHE_REVOKED, "cache_healed")  /* enum cache_mode; ends */                             \
	X(CACHE_PASSED, "cache_passed")   /* ends: allowed by the operator */                     \
	X(BLOCKED, "condemned")           /* 1: answered */                                       \
	X(REPRIEVED, "reprieved")         /* */                                                   \
	X(INVALID, "invalid")             /* enum drop_reason; ends if they could be read */      \
	X(DROPPED, "dropped")             /* enum drop_reason; ends if it has no flow */          \
	X(OPERATOR, "operator")           /* enum evidence_command */                             \
	X(ENDED, "ended")                 /* enum flow_end */

enum evidence_kind {
#define X(symbol, word) EVIDENCE_##symbol,
	EVIDENCE_KINDS(X)
#undef X
		EVIDENCE_KINDS_MAX
};

enum evidence_made {
	EVIDENCE_MADE_SYN,
	EVIDENCE_MADE_MIDSTREAM,
	EVIDENCE_MADE_DATAGRAM,
	EVIDENCE_MADE_OTHER,
};

// How a user-defined application was recognised; by a pattern it is a signature.
enum evidence_by {
	EVIDENCE_BY_PORT,    // length: the port
	EVIDENCE_BY_HOST,    // the name asked for; bytes: its end
	EVIDENCE_BY_ADDRESS, // of the responder
};

enum evidence_command {
	EVIDENCE_FLOW_RESET,
	EVIDENCE_FLOW_ALLOW,
	EVIDENCE_ALLOW_EXPIRED,
};

enum {                                 // struct evidence.flags
	EVIDENCE_HAS_ENDS = 1 << 0,    // `ends` is set
	EVIDENCE_IS_FINAL = 1 << 1,    // decision: nothing better would change it
	EVIDENCE_IS_AGAIN = 1 << 2,    // decision: after a reload
	EVIDENCE_WAS_DROPPED = 1 << 3, // invalid: it did not leave
	EVIDENCE_WAS_PASSED = 1 << 4,  // cache hit: learn-only let it through
	EVIDENCE_IS_ALLOWED = 1 << 5,  // decision: the operator's word stands above the policy
	EVIDENCE_OF_DATAGRAM = 1 << 6, // bytes: of one datagram, not of the half
	EVIDENCE_IS_CUT = 1 << 7,      // content: the text was longer
};

#define EVIDENCE_TEXT_BYTES 32

// What an entry of a rule's "transfers" or "chat" matched. `detail`: what was done, enum
// content_action, after monitor mode; `confidence`: enum mode of the rule; `n_bytes`: of `text`.
struct evidence_content {
	union {
		struct {
			uint16_t rule, entry; // places in the policy's list, and in the rule's
			uint16_t type;        // of a file, as far as it was known (file_type)
			uint8_t keys;         // enum content_key of the entry
			uint8_t is;           // EVIDENCE_ENTRY_*
		};
		uint64_t at64; // CONTENT_NOTE: offset in the half
	};
	struct item_id item;            // CONTENT_NAME, CONTENT_NOTE: as its records have it
	char text[EVIDENCE_TEXT_BYTES]; // CONTENT: the pattern's beginning; CONTENT_NAME: the
					// name's end. Not terminated
};
enum {
	EVIDENCE_ENTRY_MESSAGE = 1 << 0, // an entry of "chat"
	EVIDENCE_ENTRY_TYPE = 1 << 1,    // it asks for a type
	EVIDENCE_ENTRY_SIZE = 1 << 2,    // ... for a size
};

struct evidence {
	uint64_t at_ns;
	uint64_t flow_id; // 0: none
	uint32_t generation;
	uint32_t rule_uid;  // 0: the default, or no rule
	uint16_t app;       // APP_NONE: none
	uint16_t signature; // UINT16_MAX: none
	uint8_t kind;       // enum evidence_kind
	uint8_t detail;
	uint8_t confidence; // enum confidence
	uint8_t half;
	uint8_t flags; // EVIDENCE_*
	uint8_t l4_proto;
	uint8_t n_bytes; // in `bytes`
	uint8_t lcore;   // filled in when it is read
	uint16_t vlan;   // outermost tag | 1 << 15, or 0
	uint8_t pad[2];
	union {
		struct flow_ends ends;
		struct {
			uint64_t offset;               // of `bytes` in the half
			uint32_t length;               // of what matched, from `offset` on
			uint32_t looked_at;            // bytes that were given to the verifier
			uint8_t bytes[EVIDENCE_BYTES]; // the last of those that matched
		};
		struct evidence_content content;
	};
};
static_assert(sizeof(struct evidence) == 96, "one and a half cache lines");

struct evidence_log {
	struct evidence *records;
	uint32_t size;
	uint32_t at;      // next to be written
	uint64_t written; // ever; record n lies at n % size
	uint64_t loose_window_ns;
	uint32_t loose_in_window;
};

struct lcore;
union flow_key;
struct rte_mbuf;

// NULL: no memory.
struct evidence_log *evidence_log_new(uint32_t records, int socket);
void evidence_log_free(struct evidence_log *log);
// Records that newer ones have overwritten.
static inline uint64_t evidence_overwritten(const struct evidence_log *log)
{
	return log->written > log->size ? log->written - log->size : 0;
}

// All below: the owning lcore only.

// The next record, with time, generation, kind and flow set and the rest zero; to be filled at
// once.
struct evidence *evidence_add(struct lcore *lcore, enum evidence_kind kind, uint64_t flow_id);
// The same for what has no flow; NULL: more than EVIDENCE_LOOSE_PER_S, counted.
struct evidence *evidence_add_loose(struct lcore *lcore, enum evidence_kind kind);
// Ends, protocol and VLAN of a flow or stub; or of a packet, whose sender stands for the initiator.
void evidence_set_ref(struct evidence *evidence, const struct lcore *lcore, uint32_t ref);
void evidence_set_packet(struct evidence *evidence, struct rte_mbuf *m);
// What one call of the classifier found.
void evidence_steps(struct lcore *lcore, uint64_t flow_id, const struct span *span,
	const struct classify_work *work);

// What a question is after: some flows, or what has such ends or such a rule.
#define EVIDENCE_FLOWS_MAX 16
enum evidence_scope {
	EVIDENCE_SCOPE_ENDS, // both, in either direction; parts that are 0 match all
	EVIDENCE_SCOPE_HOST, // ends.address[0] is one of the ends, ends.port[0] the port of one
	EVIDENCE_SCOPE_USER, // an address of user_uid is one of the ends
	EVIDENCE_SCOPE_RULE, // rule_uid decided, or would have; 0: the policy's default
};
struct evidence_filter {
	uint64_t flow_ids[EVIDENCE_FLOWS_MAX]; // flow_ids[0] is not 0: these flows; 0 ends the list
	struct flow_ends ends;
	uint32_t user_uid;
	uint32_t rule_uid;
	uint8_t scope; // enum evidence_scope
	uint8_t l4_proto;
};
bool evidence_matches(const struct lcore *lcore, const struct evidence *evidence,
	const struct evidence_filter *filter);
// The part that is not about flow_ids, for whatever has ends and a rule. The owning lcore only.
bool evidence_filter_has(const struct lcore *lcore, const struct evidence_filter *filter,
	const struct flow_ends *ends, uint8_t l4_proto, uint32_t rule_uid);

static inline const char *evidence_word(enum evidence_kind kind)
{
	static const char *const words[] = {
#define X(symbol, word) word,
		EVIDENCE_KINDS(X)
#undef X
	};
	return kind < EVIDENCE_KINDS_MAX ? words[kind] : "?";
}

#endif
