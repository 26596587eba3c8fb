// SPDX-License-Identifier: BSD-3-Clause
// The way of content from a data lcore to its one reader: records in an arena, their places over a
// ring, and back over another. A reader that stands still costs records, which are counted, and no
// packet.
//
// The arena is a memfd, sealed against growing and shrinking, so that a process that is given it
// cannot make the gateway fault. Pages that nobody wrote cost nothing.
#ifndef SLUICE_CONTENT_CHANNEL_H
#define SLUICE_CONTENT_CHANNEL_H

#include <stdbool.h>
#include "pipeline/content/record.h"

#define CONTENT_CHANNEL_RECORDS 4095u       // that are out at a time
#define CONTENT_PAGE_BYTES      (32u << 10) // of a record of BYTES, its head included

struct content_channel;

// Control core, before the data lcores run. NULL: no memory. `bytes` of arena.
struct content_channel *content_channel_new(unsigned lcore, size_t bytes, int socket);
void content_channel_free(struct content_channel *channel); // NULL is allowed

// The lcore that owns it. NULL: no room now (counted). Zeroed up to `bytes`.
struct content_record *content_record_new(struct content_channel *channel, uint32_t bytes);
// The same for bytes of files and packets, of which no line is written: counted apart.
struct content_record *content_part_new(struct content_channel *channel, uint32_t bytes);
void content_record_send(struct content_channel *channel, struct content_record *record);
void content_record_drop(struct content_channel *channel, struct content_record *record);

// The reader: the next record, or NULL; each is given back.
const struct content_record *content_channel_next(struct content_channel *channel);
void content_channel_done(struct content_channel *channel, const struct content_record *record);

// The reader: what it reads cannot be written, or can be again. The lcore asks.
void content_channel_fail(struct content_channel *channel, bool fails);
bool content_channel_is_failing(const struct content_channel *channel);

// Any core.
struct content_channel_use {
	uint64_t sent, lost;        // records of files, ends and messages; those that found no room
	uint64_t parts, parts_lost; // records of bytes and packets
	uint64_t arena_bytes, arena_used, arena_peak;
};
void content_channel_look(const struct content_channel *channel, struct content_channel_use *use);

#endif
