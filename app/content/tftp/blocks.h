// SPDX-License-Identifier: BSD-3-Clause
// The numbers of TFTP's blocks in one direction. A receiver takes them in their order and no other
// (RFC 1350, RFC 7440 section 4): so does this, and what comes again or too early counts for
// nothing. A block that was lost before it came here shows when one behind it is acknowledged.
#ifndef SLUICE_CONTENT_TFTP_BLOCKS_H
#define SLUICE_CONTENT_TFTP_BLOCKS_H

#include <stdbool.h>
#include <stdint.h>

struct tftp_blocks {
	uint64_t done;   // blocks that came, or were lost
	uint64_t ahead;  // the last one that came too early, counted as `done`; 0: none
	bool rollover_1; // behind block 65535 comes 1, not 0
};

// From the block that is expected to `number`: 0 is that one, below came before.
static inline int32_t tftp_blocks_distance(const struct tftp_blocks *blocks, uint16_t number)
{
	int32_t period = blocks->rollover_1 ? 65535 : 65536;
	int32_t next = (int32_t)(blocks->done % (uint32_t)period) + 1;
	int32_t distance = (number - next) % period;

	if (distance < -period / 2)
		distance += period;
	if (distance > period / 2)
		distance -= period;
	return distance;
}

// Whether a block of this number is the next.
static inline bool tftp_blocks_take(struct tftp_blocks *blocks, uint16_t number)
{
	int32_t distance = tftp_blocks_distance(blocks, number);

	if (distance > 0 && blocks->done + (uint32_t)distance + 1 > blocks->ahead)
		blocks->ahead = blocks->done + (uint32_t)distance + 1;
	if (distance)
		return false;
	blocks->done++;
	return true;
}

// How many blocks the receiver has, that did not come here.
static inline uint64_t tftp_blocks_acknowledge(struct tftp_blocks *blocks, uint16_t number)
{
	int32_t distance = tftp_blocks_distance(blocks, number);

	if (distance < 0 || blocks->done + (uint32_t)distance + 1 > blocks->ahead)
		return 0;
	blocks->done += (uint32_t)distance + 1;
	return (uint32_t)distance + 1;
}

#endif
