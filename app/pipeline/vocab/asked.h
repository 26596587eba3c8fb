// SPDX-License-Identifier: BSD-3-Clause
// For decoders: the requests that a flow has seen, by what their answers repeat (a
// transaction's number, a question, a target). Decoders learn of endpoints, names and flows to come
// from answers to these alone: who did not see the request cannot make one (docs/architecture.md,
// one-sided evidence). One per flow, of the lcore that owns it; zeroed when the flow begins. No
// clock: the newest ASKED_MAX requests count, and answers to one may be several.
#ifndef SLUICE_ASKED_H
#define SLUICE_ASKED_H

#include <stdbool.h>
#include <stdint.h>
#include "pipeline/vocab/fault.h"

#define ASKED_MAX 16
// Answers to nothing, after which a flow teaches nothing more: transactions of 16 bits cannot be
// guessed with so few.
#define ASKED_WRONG_MAX 64

struct asked {
	uint32_t token[ASKED_MAX]; // 0: none
	uint8_t next;              // where the next one goes
	uint8_t wrong;             // saturating
	uint8_t answered;          // bit 1 << half: it has answered the other one
};

// Never 0. `kind` tells apart what may have the same bytes; `half`: who asks.
static inline uint32_t asked_token(
	unsigned half, uint16_t kind, const uint8_t *bytes, uint32_t length)
{
	uint64_t hash = 0xcbf29ce484222325u ^ ((uint64_t)kind << 1 | (half & 1));

	for (uint32_t i = 0; i <= length; i++) // FNV-1a; the length ends it
		hash = (hash ^ (i < length ? bytes[i] : length)) * 0x100000001b3u;
	return (uint32_t)(hash ^ hash >> 32) | 1;
}

static inline bool asked_has(const struct asked *asked, uint32_t token)
{
	for (unsigned i = 0; i < ASKED_MAX; i++)
		if (asked->token[i] == token)
			return true;
	return false;
}

// `half` asks. NULL: nobody keeps requests.
static inline void asked_note(
	struct asked *asked, unsigned half, uint16_t kind, const uint8_t *bytes, uint32_t length)
{
	uint32_t token = asked_token(half, kind, bytes, length);

	if (!asked || asked_has(asked, token))
		return;
	asked->token[asked->next] = token;
	asked->next = (uint8_t)((asked->next + 1) % ASKED_MAX);
}

// `half` answers: whether the other one has asked.
static inline bool asked_answers(
	struct asked *asked, unsigned half, uint16_t kind, const uint8_t *bytes, uint32_t length)
{
	if (FAULT(UNASKED))
		return true;
	if (!asked || asked->wrong >= ASKED_WRONG_MAX)
		return false;
	if (!asked_has(asked, asked_token(!half, kind, bytes, length))) {
		asked->wrong++;
		return false;
	}
	asked->answered |= (uint8_t)(1u << (half & 1));
	return true;
}

#endif
