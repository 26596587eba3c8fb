// SPDX-License-Identifier: BSD-3-Clause
// Changes chat messages on their way: takes one out, or blanks what matched in it.
//
// Nothing changes its length: each byte is overwritten with the one that the message's protocol
// lets stand for nothing. What has left already cannot be changed, and what is yet to come is not
// waited for (a window could be full of it): then the answer is no, and the caller resets the flow.
#include <netinet/in.h>
#include "pipeline/content/edit.h"
#include "pipeline/flow/table.h"

static_assert(CONTENT_MASKS_MAX <= EDITS_MAX, "the places of one message find room");

static bool blank(
	struct feeding *feeding, const struct content_message *message, uint64_t from, uint64_t to)
{
	const struct stream_edit one = {
		.offset64 = from,
		.length = (uint32_t)(to - from),
		.fill = message->blank,
		.keeps_lines = message->keeps_lines,
	};

	return to > from && to - from <= UINT32_MAX &&
	       content_edit(feeding, message->half, &one, 1);
}

// What matched, where the text lies in the stream as it was reported; else the whole text.
static bool mask(struct feeding *feeding, const struct content_message *message,
	const struct content_verdict *verdict, const struct message_facts *facts,
	const struct content_hits *hits)
{
	struct content_range ranges[CONTENT_MASKS_MAX];
	struct stream_edit edits[CONTENT_MASKS_MAX];
	unsigned n = content_mask(
		feeding->lcore->policy, verdict, facts, hits, ranges, CONTENT_MASKS_MAX);

	if (!message->verbatim || !n || message->ends64 - message->begins64 != facts->length)
		return blank(feeding, message, message->begins64, message->ends64);
	for (unsigned i = 0; i < n; i++) {
		if (ranges[i].to > facts->length || ranges[i].from >= ranges[i].to)
			return blank(feeding, message, message->begins64, message->ends64);
		edits[i] = (struct stream_edit){
			.offset64 = message->begins64 + ranges[i].from,
			.length = ranges[i].to - ranges[i].from,
			.fill = message->blank,
			.keeps_lines = message->keeps_lines,
		};
	}
	return content_edit(feeding, message->half, edits, n);
}

bool content_message_edit(struct feeding *feeding, const struct content_message *message,
	const struct content_verdict *verdict, const struct message_facts *facts,
	const struct content_hits *hits)
{
	const struct flow *flow = flow_at(feeding->lcore->flows, feeding->flow->ref);

	if (flow->flags & FLOW_ALLOWED)
		return false;
	if (flow->l4_proto != IPPROTO_TCP) { // a datagram is a message: it is lost as a whole
		feeding->flow->drops_datagram = true;
		return true;
	}
	if (message->goes_on || message->continued || !message->blank)
		return false;
	if (message->in_pieces)
		return blank(feeding, message, message->unit64, message->unit_ends64);
	if (verdict->action == CONTENT_ACTION_MASK)
		return mask(feeding, message, verdict, facts, hits);
	return blank(feeding, message, message->unit64, message->unit_ends64) ||
	       blank(feeding, message, message->begins64, message->ends64);
}
