// SPDX-License-Identifier: BSD-3-Clause
// What a client says in the Initial packets of QUIC, put together in the order of its CRYPTO
// stream: version 1 (RFC 9000, RFC 9001), version 2 (RFC 9369), the drafts from 22 on, Google's
// with Initial packets (Q050, T050, T051). Packets that are coalesced, frames in any order and size
// over any number of datagrams. No heap; a flow's memory is bounded, and so is its work: at most
// QUIC_TRIES_MAX packets of a flow are opened.
#ifndef SLUICE_QUIC_INITIAL_H
#define SLUICE_QUIC_INITIAL_H

#include "hello_parts.h"
#include "quic_keys.h"
#include "text.h"

#define QUIC_TRIES_MAX 8

struct quic_flow { // zeroed at first
	struct quic_keys keys;
	uint32_t version; // of the keys; 0: none yet
	uint8_t cid[QUIC_CID_MAX];
	uint8_t cid_length;
	uint8_t n_tries;  // packets that were tried to be opened
	uint8_t n_opened; // those that were
};

// A datagram of the client's. True: more of its CRYPTO stream is in `parts`.
bool quic_initial_feed(struct quic_crypto *crypto, struct quic_flow *flow,
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
