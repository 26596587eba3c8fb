// SPDX-License-Identifier: BSD-3-Clause
// What decoders report of chat messages: held against the policy, changed, and recorded.
#include <string.h>
#include "pipeline/content/grounds.h"
#include "pipeline/content/report_work.h"
#include "pipeline/flow/facts.h"

// The whole of a message so far.
static struct content_text gather(struct feeding *feeding, const struct content_message *message)
{
	struct flow_content *flow = feeding->flow;
	unsigned half = message->half & 1;
	uint32_t *length = &flow->text_length[half];

	if (!message->continued)
		*length = 0;
	if (!message->goes_on && !*length)
		return message->text;
	if (!flow->text[half])
		flow->text[half] = content_take(feeding->content->memory, CONTENT_TEXT_BYTES);
	if (!flow->text[half]) {
		report_unrecorded(feeding, half);
		report_refuse_unseen(feeding); // a keyword that is cut here is not found
		return message->text;
	}
	uint32_t here = RTE_MIN(message->text.length, CONTENT_TEXT_BYTES - *length);
	uint32_t from = message->text.length - here;

	if (from) { // the newest bytes are looked at
		uint32_t keeps = from < CONTENT_TEXT_BYTES ? CONTENT_TEXT_BYTES - from : 0;

		keeps = RTE_MIN(keeps, *length);
		memmove(flow->text[half], flow->text[half] + (*length - keeps), keeps);
		*length = keeps;
		here = RTE_MIN(message->text.length, CONTENT_TEXT_BYTES - keeps);
		from = message->text.length - here;
	}
	if (here)
		memcpy(flow->text[half] + *length, message->text.bytes + from, here);
	*length += here;
	return (struct content_text){flow->text[half], *length};
}

// The keyword or regex by which the entry that the record is about matched, as the policy has it.
static struct content_text matched(const struct feeding *feeding,
	const struct content_verdict *verdict, const struct content_hits *hits)
{
	const struct policy *policy = feeding->lcore->policy;
	const char *word = NULL;

	if (hits && verdict->rule != RULE_DEFAULT)
		word = content_message_matched(policy, hits, verdict->rule, verdict->entry);
	else if (hits && verdict->monitored != RULE_DEFAULT)
		word = content_message_matched(
			policy, hits, verdict->monitored, verdict->monitored_entry);
	return (struct content_text){(const uint8_t *)word, word ? (uint32_t)strlen(word) : 0};
}

static void record_message(struct feeding *feeding, const struct content_message *message,
	struct content_text text, const struct content_verdict *verdict,
	const struct content_hits *hits)
{
	struct content_text texts[] = {
		message->from, message->to, text, matched(feeding, verdict, hits)};
	uint32_t length = report_length_of(texts, RTE_DIM(texts));
	struct content_record *record = content_record_new(feeding->content->channel, length);

	if (!record) {
		report_unrecorded(feeding, message->half);
		return;
	}
	record->kind = CONTENT_RECORD_MESSAGE;
	record->half = message->half;
	record->length = length;
	record->goes_on = message->goes_on;
	record->stored = verdict->store;
	report_identify(feeding, record, verdict);
	report_put_texts(record, texts, RTE_DIM(texts));
	content_record_send(feeding->content->channel, record);
	report_if_unwritten(feeding, message->half);
}

// What the policy says of the message, and was done: where it should be changed and cannot be, its
// flow is reset.
static struct content_verdict judge_message(struct feeding *feeding,
	const struct content_message *message, const struct message_facts *facts,
	const struct content_hits *hits)
{
	struct lcore *lcore = feeding->lcore;
	struct content_verdict verdict;
	struct flow_ends ends;
	struct decide_input input;

	report_input(feeding, &ends, &input);
	verdict = content_message_verdict(lcore->policy, &input, facts, hits);
	if (!message->goes_on || content_action_enforces(verdict.action))
		grounds_message(feeding, message->half, facts, hits, &verdict);
	if (!content_action_edits(verdict.action))
		return verdict;
	if (content_message_edit(feeding, message, &verdict, facts, hits)) {
		lcore->stats.content_edited++;
	} else {
		lcore->stats.content_edit_late++;
		verdict.action = CONTENT_ACTION_RESET;
	}
	return verdict;
}

void report_message(void *ctx, const struct content_message *message)
{
	struct feeding *feeding = ctx;
	struct flow_content *flow = feeding->flow;
	struct lcore *lcore = feeding->lcore;
	struct content_text text = gather(feeding, message);
	struct content_verdict verdict = {.rule = RULE_DEFAULT, .monitored = RULE_DEFAULT};
	const struct content_hits *hits = NULL;

	report_next_item(feeding);
	lcore->stats.content_messages += !message->goes_on;
	if (!message->goes_on)
		report_count(&content_tally_of(lcore, flow->ref, message->half)->messages);
	if (flow->asks.chat) {
		const struct message_facts facts = {
			.text = text.bytes,
			.length = text.length,
			.from = message->from,
			.to = message->to,
			.upload = report_is_upload(feeding, message->half),
			.to_is_list = message->to_is_list,
		};

		hits = content_message_hits(lcore->policy, lcore->index, &facts);
		lcore->stats.content_scans += hits ? hits->scans : 0;
		verdict = judge_message(feeding, message, &facts, hits);
	}
	bool enforced = content_action_enforces(verdict.action);

	if (enforced || (!message->goes_on && (lcore->dp->extracts || verdict.audit ||
						      verdict.rule != RULE_DEFAULT ||
						      verdict.monitored != RULE_DEFAULT)))
		record_message(feeding, message, text, &verdict, hits);
	if (enforced && !content_action_edits(verdict.action))
		report_refuse(feeding, verdict.rule, report_action_of(verdict.action));
	if (!message->goes_on)
		flow->text_length[message->half & 1] = 0;
}
