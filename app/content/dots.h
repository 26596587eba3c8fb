// SPDX-License-Identifier: BSD-3-Clause
// Blocks of lines that a dot ends (RFC 5321 section 4.5.2, RFC 3977 section 3.1.1): dots that begin
// lines are taken off, and CR LF "." CR LF ends the block. What only some hosts take for its end
// (LF
// "." LF, CR "." CR and mixtures) is told. Pure; any core.
#ifndef SLUICE_CONTENT_DOTS_H
#define SLUICE_CONTENT_DOTS_H

#include <stdbool.h>
#include <stdint.h>

enum dots_begun {    // what has ended the line before
	DOTS_MIDDLE, // nothing: in a line
	DOTS_AFTER_CRLF,
	DOTS_AFTER_LF,
	DOTS_AFTER_CR,
};

struct dots {
	uint64_t dot64; // of a dot that may end the block
	uint8_t begun;  // enum dots_begun
	uint8_t held;   // at the beginning of a line: '.', and CR behind it
	bool odd;       // a dot behind another line end than CR LF
};

enum dots_what {
	DOTS_BYTES, // *length bytes are the block's: dots_advance() over those that were taken
	DOTS_TAKE,  // one byte is the protocol's, and done with
	DOTS_CR,    // the CR before the bytes is the block's: then dots_cr_taken()
	DOTS_END,   // one byte, of the line that ends the block: then dots_begin() for another
};

void dots_begin(struct dots *dots);
// Bytes were lost.
void dots_lose(struct dots *dots);
// What to do with the bytes at `at64`, at least one.
enum dots_what dots_next(struct dots *dots, const uint8_t *bytes, uint32_t available, uint64_t at64,
	uint32_t *length);
// True: there was such an end, at *odd64.
bool dots_cr_taken(struct dots *dots, uint64_t *odd64);
bool dots_advance(
	struct dots *dots, const uint8_t *bytes, uint32_t length, uint64_t at64, uint64_t *odd64);

#endif
