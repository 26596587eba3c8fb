// SPDX-License-Identifier: BSD-3-Clause
// A TCP receiver of one half, as hosts differ: the reference that stories (two_ends.h) hold what
// leaves the gateway against. It reads frames as they are on the wire.
#ifndef SLUICE_TEST_RECEIVER_H
#define SLUICE_TEST_RECEIVER_H

#include <stdbool.h>
#include <stdint.h>

#define RECEIVER_ROOM 8192 // bytes of the half that it keeps

// What hosts differ in; a receiver has any of these. Of RECEIVER_LAST and _BSD the latter counts.
enum {
	RECEIVER_LAST =
		1 << 0, // of overlaps in the queue, what comes last wins; else what was there
	RECEIVER_BSD = 1 << 1,    // what begins first wins
	RECEIVER_FAR = 1 << 2,    // packets with a TTL below 5 do not get there
	RECEIVER_PAWS = 1 << 3,   // RFC 7323
	RECEIVER_LAX = 1 << 4,    // takes payload without ACK
	RECEIVER_RESET = 1 << 5,  // a RST anywhere in the window ends it, not only the exact one
	RECEIVER_URGENT = 1 << 6, // takes the urgent byte out of the stream
	RECEIVER_NARROW = 1 << 7, // nothing beyond the window it has said
	RECEIVERS = 1 << 8,
};

struct receiver {
	unsigned traits;
	uint32_t first; // sequence number of offset 0
	bool takes_syn_data;
	bool gone;       // reset
	uint32_t next;   // bytes delivered
	uint32_t window; // end of the window it has said (RECEIVER_NARROW)
	bool has_time;
	uint32_t time;
	bool misled; // an urgent byte was taken out
	uint8_t bytes[RECEIVER_ROOM];
	bool has[RECEIVER_ROOM];
	uint32_t begun[RECEIVER_ROOM]; // offset at which the segment began that the byte is from
};

// A TCP segment of a frame (Ethernet, IPv4 or IPv6, no tags).
struct wire_segment {
	uint32_t seq, ack, time, echo;
	uint16_t window;
	uint8_t flags, ttl;
	bool has_time, good_checksum;
	const uint8_t *payload;
	uint32_t length;
};
struct wire_segment wire_segment(const uint8_t *frame, uint32_t length);

void receiver_begin(
	struct receiver *receiver, unsigned traits, uint32_t first, bool takes_syn_data);
void receiver_take(struct receiver *receiver, const struct wire_segment *segment);

#endif
