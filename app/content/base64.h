// SPDX-License-Identifier: BSD-3-Clause
// Base64 as a stream (RFC 4648; RFC 2045 section 6.8). Pure; any core.
#ifndef SLUICE_CONTENT_BASE64_H
#define SLUICE_CONTENT_BASE64_H

#include <stdbool.h>
#include <stdint.h>

// Zeroed at first.
struct base64_stream {
	uint32_t bits;  // of the quantum at hand
	uint8_t digits; // 0 to 3 of it
	uint8_t pads;   // '=' behind them
	bool foreign;   // bytes that are no digits, white space or padding were skipped
	bool behind;    // digits stood behind padding: receivers stop there, or go on
};

// Decodes up to `room` bytes of output; *taken: how many of `in` were read. White space is skipped,
// and so is what is foreign. Padding ends a quantum; what follows begins another one.
uint32_t base64_decode(struct base64_stream *stream, const uint8_t *in, uint32_t length,
	uint32_t *taken, uint8_t *out, uint32_t room);
// Bytes of a last quantum without its padding: at most 2. A digit alone has none.
uint32_t base64_finish(struct base64_stream *stream, uint8_t out[2]);

#endif
