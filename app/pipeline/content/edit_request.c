// SPDX-License-Identifier: BSD-3-Clause
// Changes requests on their way, so that whole files are answered in codings that are decoded here:
// fields that ask for parts get a name that no server knows (`ranges`), and codings that we cannot
// undo become words that none knows.
//
// Of each word one byte is changed, the last one, which is at hand whenever the word is known
// (content/content.h): nothing is held, and nothing has left. Where it has all the same (bytes that
// were classified before there was a decoder; packets that cannot be changed), a request for a part
// has its flow reset. A coding stays then: what is answered in it is refused as one that is not
// known.
#include "pipeline/content/edit.h"
#include "pipeline/content/grounds.h"
#include "pipeline/content/report_work.h"

static bool change(struct feeding *feeding, const struct content_word *word)
{
	const struct stream_edit one = {.offset64 = word->last64, .length = 1, .fill = word->other};

	if (word->unsure || !content_edit(feeding, word->half, &one, 1))
		return false;
	content_mark(feeding->lcore, feeding->flow->ref, word->half, CONTENT_MARK_EDITED);
	return true;
}

// It was looked at before its flow had a decoder, and changed.
static bool was_changed(const struct flow_content *flow, const struct content_word *word)
{
	return !flow->scouts && word->kind == CONTENT_WORD_PART &&
	       word->last64 < flow->scouted.until64 && !flow->scouted.late;
}

static void refuse(struct feeding *feeding, const struct content_word *word)
{
	const struct flow_content *flow = feeding->flow;

	feeding->lcore->stats.content_ranges_late++;
	content_tally_of(feeding->lcore, flow->ref, word->half)->note = CONTENT_NOTE_PART_ASKED + 1;
	grounds_note(
		feeding, CONTENT_NOTE_PART_ASKED, word->half, word->last64, flow->asks.ranges_rule);
	report_refuse(feeding, flow->asks.ranges_rule, ACTION_RESET);
}

bool report_word(void *ctx, const struct content_word *word)
{
	struct feeding *feeding = ctx;
	struct stats *stats = &feeding->lcore->stats;
	struct flow_content *flow = feeding->flow;
	bool part = word->kind == CONTENT_WORD_PART;

	if (was_changed(flow, word))
		return true;
	flow->scouted.late |= flow->scouts && part && !flow->asks.whole;
	if (flow->refused || !(part ? flow->asks.whole : flow->asks.plain) ||
		flow_at(feeding->lcore->flows, flow->ref)->flags & FLOW_ALLOWED)
		return false;
	if (change(feeding, word)) {
		stats->content_ranges += part;
		stats->content_codings += !part;
		return true;
	}
	if (flow->scouts) // which rule applies is not known: who has a decoder refuses it
		flow->scouted.late |= part;
	else if (part)
		refuse(feeding, word);
	return false;
}
