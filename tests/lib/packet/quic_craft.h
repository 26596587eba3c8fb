// SPDX-License-Identifier: BSD-3-Clause
// Initial packets of QUIC for tests, sealed by libcrypto itself.
#ifndef SLUICE_TEST_QUIC_CRAFT_H
#define SLUICE_TEST_QUIC_CRAFT_H

#include <stddef.h>
#include "classify/handshake/quic_keys.h"

struct quic_packet {
	uint32_t version;
	const uint8_t *cid; // of the receiver; the sender has none
	unsigned cid_length;
	const uint8_t *keyed; // the id that the keys are from; NULL: `cid`
	unsigned keyed_length;
	uint32_t number;
	unsigned number_length; // 1..4
	const uint8_t *token;
	unsigned token_length;
	bool of_server;
	size_t padded_to; // at least so long, frames of padding in front of the tag
};

// Returns the packet's length in `out`, which is large enough.
size_t quic_seal(
	const struct quic_packet *packet, const uint8_t *frames, size_t length, uint8_t *out);
// A CRYPTO frame of that type (6; Google's 8), at `out`; returns its length.
size_t quic_crypto_frame(
	uint8_t type, uint32_t offset, const uint8_t *bytes, size_t length, uint8_t *out);
// A ClientHello with this server name and ALPN "h3", `filler` bytes of an extension that nobody
// knows in front of it; returns its length.
size_t quic_hello(const char *name, size_t filler, uint8_t *out);

#endif
