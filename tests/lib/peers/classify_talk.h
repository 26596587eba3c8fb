// SPDX-License-Identifier: BSD-3-Clause
// Conversations of a few packets for tests of the classifier: fed whole, with the last datagram
// cut, with single octets changed. Payload lies in exact heap blocks (the rig).
#ifndef SLUICE_TEST_CLASSIFY_TALK_H
#define SLUICE_TEST_CLASSIFY_TALK_H

#include <stdbool.h>
#include "lib/classify/classify_rig.h"

#define TALK_BYTES_MAX 1200

// One packet: `text`, then octets without a pattern (or zeros) up to `length`.
struct packet {
	enum half half;
	const char *text;
	uint16_t known;
	uint16_t length;
	bool zeros;
};

#define SAYS(half, text, length)                                   \
	{                                                          \
		HALF_##half, text, sizeof(text) - 1, length, false \
	}
#define ZEROS(half, text, length)                                 \
	{                                                         \
		HALF_##half, text, sizeof(text) - 1, length, true \
	}

struct talk {
	struct rig *rig;
	const struct packet *packets;
	unsigned n;
	uint8_t l4;
	uint16_t dport;
	const char *app;
};

// The n-th packet's octets; valid until the next call.
const uint8_t *talk_bytes(const struct packet *packet, unsigned n);
// The application after the conversation; packet `odd` has octet `offset` changed, or is cut to
// `cut` octets (-1: not).
const char *talk_after(const struct talk *talk, unsigned odd, int offset, int cut);
// The conversation is `app`, known with its last packet and not before; a last datagram of less
// than `least` octets says nothing (0: not tried).
void talk_means(const struct talk *talk, unsigned least);
// With any of these octets of that packet changed, it is not `app`.
void talk_hangs_on(const struct talk *talk, unsigned packet, const int offsets[], unsigned n);

#define OFFSETS(...) (const int[]){__VA_ARGS__}, sizeof((const int[]){__VA_ARGS__}) / sizeof(int)

#endif
