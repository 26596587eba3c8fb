// SPDX-License-Identifier: BSD-3-Clause
// What a consumer of a stream sees (ARCHITECTURE section 4). Producers: app/reassembly for TCP,
// the pipeline itself for datagrams. Consumers: classify and the decoders.
#ifndef SLUICE_SPAN_H
#define SLUICE_SPAN_H

#include <stdint.h>

// The two halves of a flow. c2s is what the initiator sends.
enum half {
	HALF_C2S = 0,
	HALF_S2C = 1,
};

enum {
	SPAN_GAP = 1 << 0,       // `length` bytes were never seen; bytes == NULL; told once
	SPAN_MIDSTREAM = 1 << 1, // offset 0 is not the first byte of the connection
	SPAN_DATAGRAM = 1 << 2,  // a whole UDP payload; offset64 counts bytes of earlier datagrams
	SPAN_FIN = 1 << 3,       // nothing follows in this half (length may be 0)
};

struct span {
	uint64_t offset64;    // of the first byte, in this half
	const uint8_t *bytes; // borrowed: valid during the call only
	uint32_t length;
	uint8_t half; // enum half
	uint8_t flags;
};

#endif
