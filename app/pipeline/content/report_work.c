// SPDX-License-Identifier: BSD-3-Clause
// What the files that take what decoders report share: the policy's verdict, a record, a refusal.
#include <string.h>
#include "pipeline/content/grounds.h"
#include "pipeline/content/incident.h"
#include "pipeline/content/report_work.h"
#include "pipeline/event/flow_event.h"
#include "pipeline/flow/expect.h"
#include "pipeline/flow/facts.h"

// The inside end sends that half.
bool report_is_upload(const struct feeding *feeding, unsigned half)
{
	bool from_inside =
		flow_at(feeding->lcore->flows, feeding->flow->ref)->flags & FLOW_C2S_INSIDE;

	return from_inside == (half == HALF_C2S);
}

void report_input(const struct feeding *feeding, struct flow_ends *ends, struct decide_input *input)
{
	const struct flow_content *flow = feeding->flow;

	flow_content_input(feeding->lcore, flow->ref, ends, input);
	if (!flow->early || !flow->speaks)
		return;
	uint16_t app = app_find(flow->decoder->app);

	if (input->app != APP_NONE && input->app != app)
		return;
	input->app = app;
	if (input->confidence < CONFIDENCE_DPI)
		input->confidence = CONFIDENCE_DPI;
}

void report_next_item(struct feeding *feeding)
{
	feeding->content->items += feeding->content->items == UINT32_MAX ? 2 : 1; // 0 is none
	feeding->flow->item = (struct item_id){
		incident_flow_id(feeding->lcore, feeding->flow->ref), feeding->content->items};
}

void report_file_item(struct feeding *feeding, const struct content_file *file)
{
	const struct flow_cold *cold = flow_cold_at(feeding->lcore->flows, feeding->flow->ref);
	const struct expected *expected = expect_at(feeding->lcore->expect, cold->expected);

	if (file->announced && expected && expected->what.item) {
		feeding->flow->item = (struct item_id){expected->parent, expected->what.item};
		return;
	}
	if (file->item && *file->item) {
		feeding->flow->item = (struct item_id){
			incident_flow_id(feeding->lcore, feeding->flow->ref), *file->item};
		return;
	}
	report_next_item(feeding);
	if (file->item)
		*file->item = feeding->flow->item.number;
}

void report_refuse(struct feeding *feeding, uint32_t rule, enum action action)
{
	struct flow_content *flow = feeding->flow;

	if (flow->refused || flow_at(feeding->lcore->flows, flow->ref)->flags & FLOW_ALLOWED)
		return;
	flow->refused = true;
	flow->rule = rule;
	flow->refused_item = flow->item;
	flow->action = (uint8_t)action;
	feeding->lcore->stats.content_refused++;
	if (flow->file_to_come) // then it is told with that
		return;
	incident_tell(feeding->lcore, flow->ref, report_uid_of(feeding->lcore, rule), &flow->item);
}

static void close_unrecorded(struct feeding *feeding, unsigned half)
{
	struct flow_content *flow = feeding->flow;
	struct lcore *lcore = feeding->lcore;

	content_mark(lcore, flow->ref, half, CONTENT_MARK_UNRECORDED);
	if (!flow->asks.closes || flow->refused)
		return;
	grounds_note(feeding, CONTENT_NOTE_UNRECORDED, half, 0, flow->asks.closing_rule);
	report_refuse(feeding, flow->asks.closing_rule, ACTION_RESET);
	lcore->stats.content_lost_closed += flow->refused;
}

void report_unrecorded(struct feeding *feeding, unsigned half)
{
	feeding->lcore->stats.content_lost++;
	close_unrecorded(feeding, half);
}

void report_if_unwritten(struct feeding *feeding, unsigned half)
{
	if (unlikely(content_channel_is_failing(feeding->content->channel)))
		close_unrecorded(feeding, half);
}

void report_refuse_unseen(struct feeding *feeding)
{
	const struct content_asks *asks = &feeding->flow->asks;

	if (!asks->enforces)
		return;
	feeding->lcore->stats.content_nomem++;
	report_refuse(feeding, asks->enforcing_rule, ACTION_RESET);
}

enum action report_action_of(enum content_action action)
{
	return action == CONTENT_ACTION_DROP ? ACTION_DROP : ACTION_RESET;
}

uint32_t report_uid_of(const struct lcore *lcore, uint32_t rule)
{
	return rule == RULE_DEFAULT ? 0 : lcore->policy->rules[rule].uid;
}

// What a record says of its flow and of the rule.
void report_identify(const struct feeding *feeding, struct content_record *record,
	const struct content_verdict *verdict)
{
	struct lcore *lcore = feeding->lcore;
	bool monitored = verdict->rule == RULE_DEFAULT && verdict->monitored != RULE_DEFAULT;

	flow_event_identify(lcore, feeding->flow->ref, &record->event);
	event_stamp(lcore, &record->event);
	record->event.alert.item = feeding->flow->item;
	record->event.half = record->half;
	record->redact = verdict->redact;
	record->action = monitored ? verdict->monitored_action : verdict->action;
	record->rule_mode = monitored ? MODE_MONITOR : MODE_ENFORCE;
	record->rule_uid = report_uid_of(lcore, monitored ? verdict->monitored : verdict->rule);
	if (record->rule_uid)
		record->event.rule_uid = record->rule_uid;
}

void report_put_texts(struct content_record *record, const struct content_text *texts, unsigned n)
{
	uint8_t *at = record->bytes;

	for (unsigned i = 0; i < n; i++) {
		if (texts[i].length)
			memcpy(at, texts[i].bytes, texts[i].length);
		record->texts[i] = (uint16_t)texts[i].length;
		at += texts[i].length;
	}
}

uint32_t report_length_of(struct content_text *texts, unsigned n)
{
	uint32_t length = 0;

	for (unsigned i = 0; i < n; i++) {
		texts[i].length = RTE_MIN(texts[i].length, (uint32_t)CONTENT_TEXT_BYTES);
		length += texts[i].length;
	}
	return length;
}

uint64_t report_record_file(struct feeding *feeding, const struct content_file *file,
	const struct content_verdict *verdict, const struct content_id *id, bool stored,
	unsigned how)
{
	struct content_text texts[RECORD_TEXTS_MAX] = {file->name, file->path, file->host,
		file->type, file->user, file->validator, file->method, file->agent};
	uint32_t length = report_length_of(texts, RTE_DIM(texts));
	struct content_record *record = content_record_new(feeding->content->channel, length);

	if (!record) {
		report_unrecorded(feeding, file->half);
		return 0;
	}
	record->kind = CONTENT_RECORD_FILE;
	record->half = file->half;
	record->length = length;
	record->file = ++feeding->content->files;
	record->size = file->size;
	record->range_from = file->range_from;
	record->id = file->id;
	record->name_source = file->name_source;
	record->name_cut = file->name_cut;
	record->is_http = file->is_http;
	record->status = file->status;
	record->partial = file->partial;
	record->elsewhere = file->elsewhere;
	if (id) {
		record->has_id = true;
		record->content_id = *id;
	}
	record->requested = how & HOW_REQUESTED;
	record->again = how & HOW_AGAIN;
	record->stored = stored;
	report_identify(feeding, record, verdict);
	report_put_texts(record, texts, RTE_DIM(texts));
	content_record_send(feeding->content->channel, record);
	report_if_unwritten(feeding, file->half);
	return feeding->content->files;
}

void report_note_verdict(const struct feeding *feeding, struct open_file *file,
	const struct content_verdict *verdict)
{
	bool monitored = verdict->rule == RULE_DEFAULT && verdict->monitored != RULE_DEFAULT;

	file->undecided = verdict->undecided;
	file->asks = verdict->ask_again;
	file->action = monitored ? verdict->monitored_action : verdict->action;
	file->mode = monitored ? MODE_MONITOR : MODE_ENFORCE;
	file->rule_uid =
		report_uid_of(feeding->lcore, monitored ? verdict->monitored : verdict->rule);
}

// It is the one that the file had before.
static bool is_noted(const struct feeding *feeding, const struct open_file *file,
	const struct content_verdict *verdict)
{
	struct open_file now;

	if (!file)
		return false;
	report_note_verdict(feeding, &now, verdict);
	return now.action == file->action && now.mode == file->mode &&
	       now.rule_uid == file->rule_uid;
}

// How much a verdict keeps back.
static unsigned strictness(const struct content_verdict *verdict)
{
	if (report_refuses(verdict))
		return 3;
	if (verdict->undecided)
		return 2;
	return verdict->monitored != RULE_DEFAULT || verdict->store;
}

struct content_verdict report_ask_file(const struct feeding *feeding, const struct open_file *file,
	struct file_facts *facts, const struct content_alias *aliases, unsigned n_aliases)
{
	struct lcore *lcore = feeding->lcore;
	const struct policy *policy = lcore->policy;
	struct content_verdict nothing = {.rule = RULE_DEFAULT, .monitored = RULE_DEFAULT};
	struct flow_ends ends;
	struct decide_input input;

	if (!feeding->flow->asks.transfers)
		return nothing;
	report_input(feeding, &ends, &input);
	const struct content_hits *hits = content_file_hits(policy, lcore->index, facts);

	lcore->stats.content_scans += hits ? hits->scans : 0;
	struct content_verdict verdict = content_file_verdict(policy, &input, facts, hits);
	struct file_facts also = *facts;

	for (unsigned i = 0; i < n_aliases; i++) {
		also.name = aliases[i].name.bytes;
		also.length = aliases[i].name.length;
		hits = content_file_hits(policy, lcore->index, &also);
		const struct content_verdict other =
			content_file_verdict(policy, &input, &also, hits);

		if (strictness(&other) <= strictness(&verdict))
			continue;
		verdict = other;
		*facts = also;
	}
	if (is_noted(feeding, file, &verdict))
		return verdict;
	if (n_aliases) // those of the name that counts
		hits = content_file_hits(policy, lcore->index, facts);
	grounds_file(feeding, facts, hits, &verdict);
	return verdict;
}

bool report_refuses(const struct content_verdict *verdict)
{
	return !verdict->undecided && content_action_enforces(verdict->action);
}

// A record of the file is asked for, or an entry did something with it.
bool report_is_recorded(const struct content_verdict *verdict)
{
	return verdict->audit || verdict->monitored != RULE_DEFAULT ||
	       (verdict->rule != RULE_DEFAULT && verdict->action != CONTENT_ACTION_PASS);
}
