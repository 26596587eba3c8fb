// SPDX-License-Identifier: BSD-3-Clause
// Content codings (RFC 9110 section 8.4.1, RFC 7932, RFC 8878) as a stream: gzip of several
// members, deflate with or without zlib's header, br, zstd. Memory comes from content_memory alone.
#ifndef SLUICE_CONTENT_CODING_H
#define SLUICE_CONTENT_CODING_H

#include <stdbool.h>
#include <stdint.h>
#include "content/memory.h"

// br, zstd: windows up to 4 MiB; a stream whose header states more is CODING_BROKEN, however long
// its content is. With what the libraries add, a window of 4 MiB takes a block of 8 MiB.
#define CODING_WINDOW_LOG_MAX 22

enum coding_kind {
	CODING_IDENTITY, // needs no struct coding
	CODING_GZIP,     // also x-gzip
	CODING_DEFLATE,  // RFC 1950; RFC 1951 alone is what some servers send
	CODING_BR,
	CODING_ZSTD,
	CODING_UNKNOWN,
};

// The word of a Content-Encoding or Transfer-Encoding list, in any case, without blanks.
enum coding_kind coding_find(const uint8_t *word, uint32_t length);
// The word of one that is not CODING_UNKNOWN begins so, and goes on.
bool coding_begins(const uint8_t *word, uint32_t length);

struct coding;

// NULL: no memory, or a kind that has none (identity, unknown). The memory must live as long as
// what is opened. gzip and deflate take here all that they ever need (41 KiB); br and zstd take the
// rest when a header says how much.
struct coding *coding_open(struct content_memory *memory, enum coding_kind kind);
void coding_close(struct coding *coding); // NULL is allowed

enum coding_state {
	CODING_GOES_ON, // all input was taken, or the room for output was used up
	CODING_END,     // its last byte was told; what follows in the input is not its own
	CODING_BROKEN,  // not of this kind, or damaged: what was told before was good
	CODING_STARVED, // no memory. zstd: nothing is lost, it can be asked again. br: it stays so
};

// Decodes *in_length bytes at `in` into *out_length bytes of room at `out`; both are set to what
// was taken and told. `in` and `out` may be NULL where they have no bytes. What was not taken has
// to be given again. While room is left over, nothing that was decoded is held back; where it was
// used up, there may be more without any input. Behind a member of gzip, or a frame of zstd,
// another may follow: CODING_END is told only by `last`, where the caller has no more input. Bytes
// behind the last member that begin no other are CODING_BROKEN. deflate and br end by themselves.
// What ends too early, or never began, is CODING_BROKEN by `last`, once all input was taken and
// room is left over: who waits for the end has to give room. CODING_END and CODING_BROKEN stay. The
// work of a call is bounded by *in_length and *out_length, beside one block of zstd (128 KiB) or
// one window of br that may be decoded ahead. How much is told before CODING_BROKEN may depend on
// how the input was cut: br does not tell what it decoded in the call in which it breaks, and zstd
// not the block.
enum coding_state coding_feed(struct coding *coding, const uint8_t *in, uint32_t *in_length,
	uint8_t *out, uint32_t *out_length, bool last);

#endif
