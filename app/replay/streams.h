// SPDX-License-Identifier: BSD-3-Clause
// What `sluice replay --streams` writes: a row for each half of a TCP flow that carried bytes, with
// the SHA-256 of those that inspection consumed. It listens at the tap (stream_tap.h), so it says
// what classification and the decoders were given, not what a capture holds.
// Replay's one thread only; memory is the heap's, one row for each half and its list of gaps.
#ifndef SLUICE_REPLAY_STREAMS_H
#define SLUICE_REPLAY_STREAMS_H

#include <stdint.h>
#include <stdio.h>
#include "pipeline/event/stream_tap.h"

struct streams;

// For lcores 0 .. n_lcores - 1, each with up to `flows` flows. NULL: no memory.
struct streams *streams_new(unsigned n_lcores, uint32_t flows);
void streams_free(struct streams *streams); // NULL: nothing

const struct stream_tap *streams_tap(const struct streams *streams);

// Rows that begin from now on are of the capture `name`, which is borrowed.
void streams_input(struct streams *streams, const char *name);

// CSV: pcap,flow,isn,bytes,dup,conflict,gaps,sha256; rows in the order in which they began. A half
// that only lost bytes has none. 0, -EIO if `out` takes no more, or what went wrong before:
// -ENOMEM, -EILSEQ (bytes were reported that do not follow those before: a defect of the gateway).
int streams_write(const struct streams *streams, FILE *out);
// The same to a file, "-" being standard output; `*why` says what went wrong.
int streams_save(const struct streams *streams, const char *path, const char **why);

#endif
