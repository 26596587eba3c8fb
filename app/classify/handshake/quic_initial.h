// SPDX-License-Identifier: BSD-3-Clause
// What a client says in the Initial packets of QUIC, put together in the order of its CRYPTO
// stream: version 1 (RFC 9000, RFC 9001), version 2 (RFC 9369), the drafts from 22 on, Google's
// with Initial packets (Q050, T050, T051). Packets that are coalesced, frames in any order and size
// over any number of datagrams. No heap; a flow's memory is bounded, and so is the work for one
// datagram: QUIC_PACKETS_MAX packets of it, each opened twice at most.
//
// What counts is what a server would take. Each connection of the flow, told apart by the id and
// the version that its keys come from, has a collection of its own: that of the last one that
// began. What a server must discard is no evidence, and neither ends nor fills a collection: a
// datagram below QUIC_DATAGRAM_MIN octets (RFC 9000 14.1; Google's clients acknowledge in such, and
// what has no part of a hello hides none), packets that these keys do not open
// (5.2), other versions (5.2.2).
//
// `QUIC_REFUSED` is returned for what no client sends that wants to be understood, so that a caller
// who asks for the name lets it not pass: two contents of one place in the CRYPTO stream; packets
// of a connection whose hello was not whole when the next one began; packets that nothing opens
// while a hello is awaited; a part of a hello in a datagram that is too small; a server's answer to
// a hello that is not whole here.
#ifndef SLUICE_QUIC_INITIAL_H
#define SLUICE_QUIC_INITIAL_H

#include "classify/handshake/hello_parts.h"
#include "classify/handshake/quic_keys.h"
#include "classify/text.h"

#define QUIC_DATAGRAM_MIN 1200 // RFC 9000 14.1: with an Initial packet of a client
#define QUIC_PACKETS_MAX  8    // of one datagram
#define QUIC_LEFT_MAX     4    // connections of a flow that were left before their hello was whole

enum quic_seen {
	QUIC_NOTHING, // nothing that a server takes
	QUIC_TAKEN,   // opened; more of the CRYPTO stream may be in the parts
	QUIC_BEGUN,   // the same, of another connection than before: the parts are its own
	QUIC_REFUSED,
};

enum quic_answer {
	QUIC_NO_ANSWER,
	QUIC_ANSWERED,       // the server has taken the hello
	QUIC_ASKED_AGAIN,    // it asks for another one (HelloRetryRequest): the parts begin anew
			     // behind the first
	QUIC_ANSWER_REFUSED, // it has taken a hello that is not whole here
};

struct quic_flow { // zeroed at first
	struct quic_keys keys;
	uint64_t left[QUIC_LEFT_MAX]; // hashes of the ids of connections that were left
	uint32_t version;             // of the keys; 0: none yet
	uint16_t base;                // where the message at hand begins in the CRYPTO stream
	uint16_t answer_base;         // and its answer in the server's
	uint8_t cid[QUIC_CID_MAX];
	uint8_t cid_length;
	uint8_t n_left;
	bool whole;       // the message at hand is; set by who reads the parts
	uint8_t n_tries;  // packets of the last datagram that were tried to be opened
	uint8_t n_opened; // those that were
};

// A datagram of the client's. `serves`: this side has answered the other one's connection, so that
// what nothing opens is no more than an answer, too.
enum quic_seen quic_initial_feed(struct quic_crypto *crypto, struct quic_flow *flow,
	struct hello_parts *parts, bool serves, struct text datagram);
// A datagram of its server's. What `n_opened` counts afterwards, only who has seen the client's
// first packet can have sealed.
enum quic_answer quic_initial_answer(struct quic_crypto *crypto, struct quic_flow *flow,
	struct hello_parts *parts, struct text datagram);

// Google's own from Q050 on: frames have other numbers, and Q050 carries no TLS (quiche).
static inline bool quic_is_google(uint32_t version)
{
	return version >> 24 == 'Q' || version >> 24 == 'T';
}

// RFC 9000 16. False: it is not here in full.
static inline bool quic_take_varint(struct text *rest, uint64_t *value)
{
	if (!rest->length || rest->length < 1u << (rest->at[0] >> 6))
		return false;
	uint32_t length = 1u << (rest->at[0] >> 6);

	*value = rest->at[0] & 0x3f;
	for (uint32_t i = 1; i < length; i++)
		*value = *value << 8 | rest->at[i];
	*rest = text_from(*rest, length);
	return true;
}

// Takes a connection id behind the byte of its length. False: none, or too long.
static inline bool quic_take_cid(struct text *rest, struct text *cid)
{
	if (!rest->length || rest->at[0] > QUIC_CID_MAX || rest->length < 1u + rest->at[0])
		return false;
	*cid = (struct text){rest->at + 1, rest->at[0]};
	*rest = text_from(*rest, 1u + rest->at[0]);
	return true;
}

// Types of long headers. Version 2 turns those of version 1 by one (RFC 9369 3.2).
enum quic_type {
	QUIC_INITIAL,
	QUIC_ZERO_RTT,
	QUIC_HANDSHAKE,
	QUIC_RETRY,
};

static inline enum quic_type quic_type_of(uint8_t first, uint32_t version)
{
	unsigned type = first >> 4 & 3;

	return quic_is_version_2(version) ? (type + 3) & 3 : type;
}

#endif
