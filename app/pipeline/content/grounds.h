// SPDX-License-Identifier: BSD-3-Clause
// Why a file or message was refused, or would have been: evidence for `explain`, and counts for the
// flow's event. Of a flow at most CONTENT_GROUNDS_MAX entries become evidence, and always the one
// that ends it. The owning data lcore only.
#ifndef SLUICE_CONTENT_GROUNDS_H
#define SLUICE_CONTENT_GROUNDS_H

#include "pipeline/content/state.h"

#define CONTENT_GROUNDS_MAX 8

// A verdict that is final: nothing is kept of one that is pending, or lets pass.
void grounds_file(const struct feeding *feeding, const struct file_facts *facts,
	const struct content_hits *hits, const struct content_verdict *verdict);
void grounds_message(const struct feeding *feeding, unsigned half,
	const struct message_facts *facts, const struct content_hits *hits,
	const struct content_verdict *verdict);
// The flow is refused for it, by that rule.
void grounds_note(const struct feeding *feeding, enum content_note note, unsigned half,
	uint64_t at64, uint32_t rule);

#endif
