// SPDX-License-Identifier: BSD-3-Clause
// Verdicts on packets, decisions on flows, and the closed list of reasons for a drop.
#ifndef SLUICE_VERDICT_H
#define SLUICE_VERDICT_H

#include <stdbool.h>

// What a stage says of one packet.
enum verdict {
	VERDICT_PASS,     // goes on to the next stage
	VERDICT_SEND,     // nothing left to look at: straight to tx
	VERDICT_DROP,     // freed with the context's drop reason
	VERDICT_CONSUMED, // ends here on purpose: freed by the loop
	VERDICT_TAKEN,    // moved into a keeper, or sent already: no longer the loop's
};

// What the policy says of a flow or packet. Order is meaningless; names are the policy's words.
enum action {
	ACTION_PASS,
	ACTION_DROP,
	ACTION_RESET, // TCP: RST to both ends; UDP: drop, with a rate-limited ICMP unreachable
	ACTION_SCAN,  // passes, inspected to its end and given to the scan engine
};

// The rest lets packets pass.
static inline bool action_blocks(enum action action)
{
	return action == ACTION_DROP || action == ACTION_RESET;
}

enum mode {
	MODE_ENFORCE,
	MODE_MONITOR, // logs what it would have done
};

// How sure a classification is; rising. A rule's min_confidence compares these.
enum confidence {
	CONFIDENCE_NONE,
	CONFIDENCE_PORT,     // by port number alone
	CONFIDENCE_IP,       // by address list
	CONFIDENCE_CACHE,    // learned from another flow (expectation, endpoint cache)
	CONFIDENCE_PARTIAL,  // shape, or one side of an exchange
	CONFIDENCE_DPI,      // payload matched a signature
	CONFIDENCE_VERIFIED, // and a verifier checked the protocol's structure
};

// Every drop has exactly one of these. X(symbol, word used in events, metrics and statistics).
#define DROP_REASONS(X)                                                                            \
	X(RULE, "rule")                       /* the policy says drop or reset for this flow */    \
	X(CONN_CACHE, "conn_cache")           /* a blocked peer came back */                       \
	X(BLOCKED, "condemned")               /* packet of a flow that was reset or dropped */     \
	X(MALFORMED, "malformed")             /* no host accepts it, and invalid.malformed=drop */ \
	X(UNSUPPORTED, "unsupported")         /* we gave up on it, and invalid.unsupported=drop */ \
	X(BAD_CHECKSUM, "bad_checksum")       /* L4 checksum wrong, and invalid.malformed=drop */  \
	X(NOT_TAKEN, "not_taken")             /* refused by the tracker on an enforced flow */     \
	X(MIDSTREAM, "midstream")             /* no SYN was seen, and tcp.midstream=drop */        \
	X(CONFLICT, "conflict")               /* other bytes than were sent before */              \
	X(STREAM_MEMORY, "stream_memory")     /* no memory for the copy that the law wants */      \
	X(STREAM_LIMIT, "stream_limit")       /* its half keeps as much as it may */               \
	X(HELD_LIMIT, "held_limit")           /* as many segments are held as may be */            \
	X(HELD_TIMEOUT, "held_timeout")       /* held for too long; it will be sent again */       \
	X(HELD_CLOSED, "held_closed")         /* held when its connection was reset or blocked */  \
	X(UNCLASSIFIED, "unclassified")       /* no classifier state was free to look at it */     \
	X(ICMP_ERROR, "icmp_error")           /* no packet of its flow can have caused it */       \
	X(ICMP_REDIRECT, "icmp_redirect")     /* icmp.redirect of the policy */                    \
	X(ICMP_LIMIT, "icmp_limit")           /* more ICMP errors than icmp.errors_per_s */        \
	X(ETHERTYPE, "ethertype")             /* the per-ethertype policy */                       \
	X(NO_PAIR, "no_pair")                 /* came in on a port that belongs to no pair */      \
	X(TX_FULL, "tx_full")                 /* the driver did not accept it */                   \
	X(LINK_DOWN, "link_down")             /* the out port has no link */                       \
	X(TX_OVERSIZE, "tx_oversize")         /* longer than the out port's frame */               \
	X(HANDOFF_FULL, "handoff_full")       /* ring to another lcore full */                     \
	X(INFECTED, "infected")               /* held, and the scan engine found something */      \
	X(UNSCANNED, "unscanned")             /* held, and no verdict came: scan.on_error ... */   \
	X(FLOW_TABLE_FULL, "flow_table_full") /* no entry could be made for it */                  \
	X(FRAGMENT_DUPLICATE, "fragment_duplicate") /* the same fragment is held already */        \
	X(FRAGMENT_OVERLAP, "fragment_overlap")     /* its datagram has two of the same bytes */   \
	X(FRAGMENT_INVALID, "fragment_invalid")     /* its datagram's lengths contradict */        \
	X(FRAGMENT_TIMEOUT, "fragment_timeout")     /* its datagram was never whole */             \
	X(FRAGMENT_LIMIT, "fragment_limit")         /* no room to put its datagram together */     \
	X(IMPAIRED_LOSS, "impaired_loss")   /* the impairment stage loses it, as reported */       \
	X(IMPAIRED_LIMIT, "impaired_limit") /* no room on the impaired link or its line */         \
	X(SHUTDOWN, "shutdown")             /* still held when the drain ended */

enum drop_reason {
#define X(symbol, word) DROP_##symbol,
	DROP_REASONS(X)
#undef X
		DROP_REASONS_MAX
};

static inline const char *drop_reason_word(enum drop_reason reason)
{
	static const char *const words[] = {
#define X(symbol, word) word,
		DROP_REASONS(X)
#undef X
	};
	return reason < DROP_REASONS_MAX ? words[reason] : "?";
}

static inline const char *confidence_word(enum confidence confidence)
{
	static const char *const words[] = {
		"none", "port", "ip", "cache", "partial", "dpi", "verified"};
	return confidence <= CONFIDENCE_VERIFIED ? words[confidence] : "?";
}

static inline const char *action_word(enum action action)
{
	static const char *const words[] = {"pass", "drop", "reset", "scan"};
	return action <= ACTION_SCAN ? words[action] : "?";
}

#endif
