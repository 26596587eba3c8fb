// SPDX-License-Identifier: BSD-3-Clause
// What a datagram flow has shown of media so far (media.h). The flow's, of its owner.
#ifndef SLUICE_MEDIA_MEMO_H
#define SLUICE_MEDIA_MEMO_H

#include <assert.h>
#include <stdint.h>

#define MEDIA_STREAMS 2 // of a half, at once: voice and picture

#define MEDIA_MOVED 0x80
struct media_stream {
	uint32_t source; // SSRC
	uint32_t stamp;
	uint16_t number;
	uint8_t kind; // payload type; MEDIA_MOVED: its time stamps have gone on
	uint8_t n;    // packets that continue one another, saturating; 0: free
};

struct media_reports {
	uint32_t source;
	uint16_t index; // of SRTCP
	uint8_t n;
	uint8_t tag; // octets behind the index
};

// Zeroed when a flow begins; of a datagram flow, and nobody else's.
struct media_memo {
	struct media_stream stream[2][MEDIA_STREAMS];
	struct media_reports reports[2];
};
static_assert(sizeof(struct media_memo) == 64, "one cache line of a flow's cold part");

#endif
