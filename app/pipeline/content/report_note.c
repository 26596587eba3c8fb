// SPDX-License-Identifier: BSD-3-Clause
// What decoders could not follow, or hosts may read in several ways: a flow that rules refuse
// anything of is refused for it. Decoders say so ahead of the file whose head it is about, or while
// the file goes on: alert, evidence and the file's records have the same number then.
#include "pipeline/content/grounds.h"
#include "pipeline/content/incident.h"
#include "pipeline/content/report_work.h"

// The file that the half carries.
static struct open_file *open_of(const struct feeding *feeding, unsigned half)
{
	struct open_file *file = feeding->flow->files;

	while (file && file->half != half)
		file = file->next;
	return file;
}

static struct content_verdict verdict_of(const struct flow_content *flow)
{
	return (struct content_verdict){
		.action = flow->action == ACTION_DROP ? CONTENT_ACTION_DROP : CONTENT_ACTION_RESET,
		.rule = flow->rule,
		.monitored = RULE_DEFAULT};
}

static void refuse(struct feeding *feeding, enum content_note note, unsigned half, uint64_t at64,
	uint32_t rule, enum action action)
{
	struct flow_content *flow = feeding->flow;
	struct open_file *file = open_of(feeding, half);
	bool was = flow->refused;

	flow->item = file ? file->item : (struct item_id){0};
	grounds_note(feeding, note, half, at64, rule);
	flow->file_to_come |= !was && !file && feeding->decodes;
	flow->noted_half = (uint8_t)half;
	report_refuse(feeding, rule, action);
	flow->file_to_come &= flow->refused;
	if (!file || was || !flow->refused)
		return;
	const struct content_verdict verdict = verdict_of(flow);
	const struct file_facts facts = report_facts_of(file);

	report_note_verdict(feeding, file, &verdict);
	if (!file->number)
		report_record_late(feeding, file, &verdict, &facts);
}

void report_note(void *ctx, enum content_note note, unsigned half, uint64_t at64)
{
	struct feeding *feeding = ctx;
	struct lcore *lcore = feeding->lcore;
	struct flow_content *flow = feeding->flow;
	bool was = flow->refused;

	flow->item = (struct item_id){0};
	content_tally_of(lcore, flow->ref, half)->note = (uint8_t)(note + 1);
	if (content_note_is_ambiguous(note) || content_note_is_limit(note)) {
		content_mark(lcore, flow->ref, half,
			content_note_is_limit(note) ? CONTENT_MARK_LIMIT : CONTENT_MARK_AMBIGUOUS);
		lcore->stats.content_ambiguous++;
		if (!flow->asks.enforces)
			return;
		refuse(feeding, note, half, at64, flow->asks.enforcing_rule, ACTION_RESET);
		lcore->stats.content_ambiguous_refused += flow->refused && !was;
	} else if (content_note_is_opaque(note)) {
		content_mark(lcore, flow->ref, half, CONTENT_MARK_OPAQUE);
		lcore->stats.content_opaque++;
		if (flow->asks.opaque != ACTION_PASS)
			refuse(feeding, note, half, at64, flow->asks.opaque_rule,
				flow->asks.opaque);
	} else if (note == CONTENT_NOTE_LOST) {
		content_mark(lcore, flow->ref, half, CONTENT_MARK_LOST);
	}
}

void report_opaque_again(struct feeding *feeding)
{
	struct flow_content *flow = feeding->flow;

	for (unsigned half = 0; half < 2 && flow->asks.opaque != ACTION_PASS; half++) {
		const struct content_tally *seen =
			content_tally_of(feeding->lcore, flow->ref, half);

		if (seen->marks & 1u << CONTENT_MARK_OPAQUE && seen->note)
			refuse(feeding, (enum content_note)(seen->note - 1), half, 0,
				flow->asks.opaque_rule, flow->asks.opaque);
	}
}

static void tell(struct feeding *feeding)
{
	struct flow_content *flow = feeding->flow;

	flow->file_to_come = false;
	incident_tell(feeding->lcore, flow->ref, report_uid_of(feeding->lcore, flow->rule),
		&flow->refused_item);
}

bool report_was_noted(struct feeding *feeding, unsigned half, struct content_verdict *verdict)
{
	struct flow_content *flow = feeding->flow;
	struct content_redaction redact = verdict->redact;

	if (!flow->file_to_come || half != flow->noted_half)
		return false;
	flow->refused_item = flow->item;
	tell(feeding);
	*verdict = verdict_of(flow);
	verdict->redact = redact;
	return true;
}

void report_notes_over(struct feeding *feeding)
{
	feeding->decodes = false;
	if (feeding->flow->file_to_come)
		tell(feeding);
}
