// SPDX-License-Identifier: BSD-3-Clause
// Conversations as octets, for the targets of tests/fuzz. The first two say how it is fed
// (records_fuzz); then come records: what it is (SPAN_*, half in the highest bit,
// RECORD_ANNOUNCED, RECORD_TORRENT), its length in two octets, its bytes, of a gap none.
#ifndef RECORDS_H
#define RECORDS_H

#include <stddef.h>
#include <stdio.h>
#include "lib/content/conversation.h"

// Bytes are a label: what; half, then bits for `begins_cut` and `coded`; size and range in two
// octets each; the file's name.
#define RECORD_ANNOUNCED 0x40
// Bytes are an info dictionary that is learned elsewhere (fake_torrents.h).
#define RECORD_TORRENT 0x20

void records_write(const struct conversation *conversation, FILE *file);
// What is told does not depend on pieces, budgets or memory that was refused, and all memory is
// given back (feed.c). Ends the program where it is not so.
int records_fuzz(const struct content_decoder *decoder, const uint8_t *bytes, size_t len);

#endif
