// SPDX-License-Identifier: BSD-3-Clause
// Telegram's obfuscated transport (core.telegram.org/mtproto/mtproto-transports, "Transport
// obfuscation"). The client begins with 64 octets that look like chance: octets 8 to 39 are a key
// and 40 to 55 a counter of AES-256-CTR; what it makes of the last eight is the transport's tag,
// four times 0xef, 0xee or 0xdd, then the number of the data centre, 16 bits, little endian,
// negative for media, 10,000 more for the test servers. The key is in clear: whoever sees the 64
// octets can open them. To an MTProxy it is hashed with a secret first, and nothing is to be seen.
//
// A `mtproto_opener` holds the context. It is made in the control core and belongs to one data
// lcore; only *_new and *_free allocate (a unit test counts).
#ifndef SLUICE_MTPROTO_H
#define SLUICE_MTPROTO_H

#include <stdbool.h>
#include <stdint.h>

#define MTPROTO_BYTES 64

// Openings in a second, of one lcore: one costs less than a microsecond, and is tried once for a
// TCP connection that nothing else knows. Beyond, connections stay unknown (MTPROTO_LIMITED).
#define MTPROTO_PER_S 10000

struct mtproto_opener;
struct mtproto_opener *mtproto_opener_new(void); // NULL: no memory, or a libcrypto without AES
void mtproto_opener_free(struct mtproto_opener *opener);

enum mtproto_seen {
	MTPROTO_FORBIDDEN, // begins as no client's first octets do: not opened
	MTPROTO_LIMITED,   // not opened: as many were in this second as may be
	MTPROTO_NOTHING,
	MTPROTO_TAG,    // 30 bits
	MTPROTO_CENTRE, // and a data centre that there is: 43 bits
};
// `second`: any count of seconds.
enum mtproto_seen mtproto_open(
	struct mtproto_opener *opener, const uint8_t first[static MTPROTO_BYTES], uint32_t second);

#endif
