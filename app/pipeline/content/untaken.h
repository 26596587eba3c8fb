// SPDX-License-Identifier: BSD-3-Clause
// Bytes that a decoder has read and that were not taken: a later part of their segment found no
// room, so the segment is dropped and its sender repeats it. What is repeated is not decoded again.
// It must be what was decoded, as who repeats it can write other bytes (a name that is refused).
// The owning data lcore only.
#ifndef SLUICE_CONTENT_UNTAKEN_H
#define SLUICE_CONTENT_UNTAKEN_H

#include "pipeline/lcore/lcore.h"
#include "pipeline/vocab/span.h"
#include "reassembly/q2.h"

// `span`: bytes of a segment, in `bytes`, which the flow's consumers were given and did not take.
void content_untaken(
	struct lcore *lcore, uint32_t ref, const struct span *span, struct payload bytes);
// Before the next bytes of that half are given to its consumers. Where these are not what was read,
// or less of it, the flow is noted as ambiguous (resent_differs), and refused if a rule may refuse
// something of it.
void content_come_again(
	struct lcore *lcore, uint32_t ref, const struct span *span, struct payload bytes);

#endif
