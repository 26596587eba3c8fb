// SPDX-License-Identifier: BSD-3-Clause
// The frames of many connections that leave a pipe: in which turn, and with which bytes. For tests
// that hold two runs side by side: one in which others are held, and one in which nothing is.
#ifndef SLUICE_DEPARTURES_H
#define SLUICE_DEPARTURES_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "lib/pipeline/pipe.h"

#define DEPARTURES_MAX 60000 // frames of a run

struct departure {
	uint32_t turn;
	uint32_t at, length; // of its bytes in `bytes`
};

struct departures {
	struct departure frame[DEPARTURES_MAX];
	unsigned n;
	uint8_t *bytes;
	size_t used, room;
};

static inline struct departures *departures_new(void)
{
	struct departures *departures = calloc(1, sizeof(*departures));

	assert_non_null(departures);
	return departures;
}

static inline void departures_free(struct departures *departures)
{
	free(departures->bytes);
	free(departures);
}

// The client's number is the last word of its address (pipe.h); IPv4, no tags.
static inline uint32_t departures_client(const struct pipe_sent *sent)
{
	const uint8_t *client = sent->frame + (sent->port == PIPE_OUTSIDE ? 26 : 30);

	return client[3];
}

static inline void departures_note(
	struct departures *departures, const struct pipe_sent *sent, unsigned turn)
{
	if (departures->used + sent->length > departures->room) {
		departures->room = 2 * departures->room + (1 << 20);
		departures->bytes = realloc(departures->bytes, departures->room);
		assert_non_null(departures->bytes);
	}
	assert_true(departures->n < DEPARTURES_MAX);
	departures->frame[departures->n++] =
		(struct departure){turn, (uint32_t)departures->used, sent->length};
	memcpy(departures->bytes + departures->used, sent->frame, sent->length);
	departures->used += sent->length;
}

// Every frame of either run left in the same turn of the other, octet by octet.
static inline void departures_equal(const struct departures *a, const struct departures *b)
{
	assert_int_equal(a->n, b->n);
	for (unsigned i = 0; i < a->n; i++) {
		assert_int_equal(a->frame[i].turn, b->frame[i].turn);
		assert_int_equal(a->frame[i].length, b->frame[i].length);
		assert_memory_equal(
			a->bytes + a->frame[i].at, b->bytes + b->frame[i].at, a->frame[i].length);
	}
}

#endif
