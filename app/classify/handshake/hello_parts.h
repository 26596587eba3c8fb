// SPDX-License-Identifier: BSD-3-Clause
// A handshake message that comes in parts, in any order: QUIC's CRYPTO frames (RFC 9000 19.6),
// fragments of DTLS (RFC 6347 4.2.3). Bounded: what lies beyond HELLO_PARTS_BYTES is left out. Of
// parts that overlap the first to come is kept; whether they agree is said. Pure.
#ifndef SLUICE_HELLO_PARTS_H
#define SLUICE_HELLO_PARTS_H

#include <stdbool.h>
#include <stdint.h>

#define HELLO_PARTS_BYTES 3520 // of a message; with keys and marks it fits a flow's state

struct hello_parts {
	uint64_t here[HELLO_PARTS_BYTES / 64]; // one bit for each byte that has come
	uint8_t bytes[HELLO_PARTS_BYTES];
};

void hello_parts_clear(struct hello_parts *parts); // also before first use
// True: something new has come.
bool hello_parts_add(
	struct hello_parts *parts, uint64_t offset, const uint8_t *bytes, uint32_t length);
// Whether these bytes are those that came before them in the same place, as far as any did.
bool hello_parts_agree(
	const struct hello_parts *parts, uint64_t offset, const uint8_t *bytes, uint32_t length);
// So many bytes from the first one on are here.
uint32_t hello_parts_length(const struct hello_parts *parts);

#endif
