// SPDX-License-Identifier: BSD-3-Clause
// What decoders report of files: held against the policy, and recorded for the reader.
#include <string.h>
#include "content/file_type.h"
#include "pipeline/content/grounds.h"
#include "pipeline/content/incident.h"
#include "pipeline/content/report_work.h"
#include "pipeline/event/flow_event.h"
#include "pipeline/flow/facts.h"
#include "pipeline/flow/table.h"

// Nobody can have a file remembered but who has really been heard to send or to take it.
static bool may_remember(const struct feeding *feeding)
{
	return flow_both_heard(flow_at(feeding->lcore->flows, feeding->flow->ref));
}

// `marks` NULL: the file is not remembered anew. What is refused by memory alone is not, so that a
// file that was replaced is judged again in the end.
static void obey_file(struct feeding *feeding, const struct content_verdict *verdict,
	const struct refused_marks *marks, const struct content_answer *answer)
{
	struct lcore *lcore = feeding->lcore;
	bool was = feeding->flow->refused;

	if (!report_refuses(verdict))
		return;
	report_refuse(feeding, verdict->rule, report_action_of(verdict->action));
	if (!was && feeding->flow->refused && feeding->flow->action == ACTION_RESET &&
		verdict->rule != RULE_DEFAULT)
		report_notice(feeding, &lcore->policy->rules[verdict->rule], answer,
			marks ? CONTENT_NOTICE_TRANSFER : CONTENT_NOTICE_AGAIN);
	if (marks && feeding->flow->refused && verdict->rule != RULE_DEFAULT &&
		may_remember(feeding))
		refused_files_learn(lcore, feeding->content->refused, marks,
			report_uid_of(lcore, verdict->rule), verdict->action);
}

// What is wanted of a file whose transfer has this number (0: was not recorded).
static enum content_want follow(struct feeding *feeding, const struct content_file *reported,
	const struct content_verdict *verdict, const struct refused_marks *marks, uint64_t number,
	bool stored)
{
	struct open_file *file = NULL;
	bool scans = report_scans(feeding, reported), learns = report_learns(feeding, reported);
	bool matters = scans || number || verdict->undecided || verdict->ask_again;

	if (!reported->elsewhere && (matters || learns))
		file = report_open_file(feeding, reported, marks, matters);
	if (!file) {
		if (verdict->undecided && !reported->elsewhere)
			report_refuse_unseen(feeding);
		else if (scans)
			report_scan_unseen(feeding, reported);
		return CONTENT_WANT_NAME;
	}
	file->number = number;
	report_note_verdict(feeding, file, verdict);
	file->stored = stored && number;
	file->learns = learns ? LEARNS : LEARNS_BY_TYPE;
	if (scans)
		report_scan_begin(feeding, file, reported);
	return CONTENT_WANT_DATA;
}

// It may be refused, or others may bring parts of it.
static struct refused_marks marks_of(
	const struct feeding *feeding, const struct content_file *reported)
{
	if (!feeding->flow->asks.enforces && !report_scans(feeding, reported))
		return (struct refused_marks){0};
	return refused_marks_of(feeding->lcore, feeding->flow->ref, reported);
}

static struct file_facts facts_of(
	const struct feeding *feeding, const struct content_file *reported)
{
	return (struct file_facts){
		.name = reported->name.bytes,
		.length = reported->name.length,
		.size = reported->size,
		.so_far = reported->range_from,
		.upload = report_is_upload(feeding, reported->half),
		.id = reported->whole ? &reported->whole->id : NULL,
	};
}

static enum content_want report_file(void *ctx, const struct content_file *reported)
{
	struct feeding *feeding = ctx;
	struct lcore *lcore = feeding->lcore;
	bool extracts = lcore->dp->extracts;
	struct file_facts facts = facts_of(feeding, reported);

	if (reported->fields && !extracts)
		return CONTENT_WANT_NAME;
	// a response with a head, or a request whose head was read to its end
	if (reported->is_http && (reported->status || reported->half == HALF_C2S))
		feeding->flow->speaks = true;
	report_file_item(feeding, reported);
	struct content_verdict verdict =
		report_ask_file(feeding, NULL, &facts, reported->aliases, reported->n_aliases);
	struct content_file shown = report_name_as(reported, &facts);
	struct refused_marks marks = marks_of(feeding, reported);
	uint64_t number = 0;

	lcore->stats.content_files++;
	report_count(&content_tally_of(lcore, feeding->flow->ref, reported->half)->files);
	bool noted = report_was_noted(feeding, reported->half, &verdict);
	bool again = report_refused_before(feeding, reported, &marks, &verdict);
	bool stored = !report_refuses(&verdict) && (extracts || verdict.store);

	if (extracts || stored || report_is_recorded(&verdict) || report_scans(feeding, reported))
		number = report_record_file(
			feeding, &shown, &verdict, facts.id, stored, again ? HOW_AGAIN : 0);
	struct content_answer answer = report_answer(feeding, reported->half);

	obey_file(feeding, &verdict, again || noted ? NULL : &marks, &answer);
	return follow(feeding, reported, &verdict, &marks, number, stored);
}

// What was refused before is refused at its request, before the server has said a word.
static void report_asked(void *ctx, const struct content_file *reported)
{
	struct feeding *feeding = ctx;
	struct file_facts facts = facts_of(feeding, reported);

	if (feeding->flow->asks.ids || report_remembers(feeding))
		report_ids_of_request(feeding, reported);
	if (feeding->flow->refused || !report_remembers(feeding))
		return;
	report_next_item(feeding);
	struct content_verdict verdict = report_ask_file(feeding, NULL, &facts, NULL, 0);
	struct refused_marks marks = refused_marks_of(feeding->lcore, feeding->flow->ref, reported);

	if (!report_refused_before(feeding, reported, &marks, &verdict))
		return;
	report_record_file(feeding, reported, &verdict, NULL, false, HOW_REQUESTED | HOW_AGAIN);
	struct content_answer answer = report_answer(feeding, HALF_C2S);

	obey_file(feeding, &verdict, NULL, &answer);
}

static struct open_file *open_at(const struct feeding *feeding, uint32_t id)
{
	struct open_file *file = feeding->flow->files;

	while (file && file->id != id)
		file = file->next;
	return file;
}

static void page_send(struct content *content, struct open_file *file)
{
	if (file->page)
		content_record_send(content->channel, file->page);
	file->page = NULL;
}

static void keep(struct feeding *feeding, struct open_file *file, uint64_t at, const uint8_t *bytes,
	uint32_t length)
{
	const uint32_t room = CONTENT_PAGE_BYTES - (uint32_t)sizeof(struct content_record);
	struct content *content = feeding->content;

	while (length) {
		if (file->page &&
			(file->page->length == room || file->page->at + file->page->length != at))
			page_send(content, file);
		if (!file->page) {
			file->page = content_part_new(content->channel, room);
			if (!file->page) {
				if (!file->lost)
					report_unrecorded(feeding, file->half);
				file->lost += length;
				return;
			}
			file->page->kind = CONTENT_RECORD_BYTES;
			file->page->file = file->number;
			file->page->at = at;
		}
		uint32_t here = RTE_MIN(length, room - file->page->length);

		memcpy(file->page->bytes + file->page->length, bytes, here);
		file->page->length += here;
		at += here;
		bytes += here;
		length -= here;
	}
}

// `before`: bytes of the file that came ahead of those at hand. Where all of these are in its head
// a rule can still have it kept.
static void ask_again(struct feeding *feeding, struct open_file *file, uint64_t before)
{
	struct file_facts facts = report_facts_of(file);

	feeding->flow->item = file->item;
	struct content_verdict verdict =
		report_ask_file(feeding, file, &facts, file->aliases, file->n_aliases);

	report_note_verdict(feeding, file, &verdict);
	if (!file->number && (verdict.store || report_is_recorded(&verdict)))
		report_record_late(feeding, file, &verdict, &facts);
	if (file->number && verdict.store && !file->stored && !report_refuses(&verdict) &&
		before <= file->head_length) {
		file->stored = true;
		keep(feeding, file, 0, file->head, (uint32_t)before);
	}
	struct content_answer answer =
		file->half == HALF_S2C ? file->answer : report_answer(feeding, HALF_C2S);

	obey_file(feeding, &verdict, &file->marks, &answer);
}

// The file's first bytes say its type; a part that is not its beginning has none. Of an upload the
// client alone says where a part lies.
static void find_type(struct open_file *file, bool whole)
{
	if (file->type_known)
		return;
	if (!file->range_from || file->half == HALF_C2S)
		file->type = file_type_find(file->head, file->head_length, whole);
	file->type_known = file->type || whole || file->head_length == FILE_TYPE_BYTES;
}

static void report_bytes(void *ctx, uint32_t id, uint64_t at, const uint8_t *bytes, uint32_t length)
{
	struct feeding *feeding = ctx;
	struct open_file *file = open_at(feeding, id);

	if (!file)
		return;
	if (at == file->head_length && file->head_length < FILE_TYPE_BYTES) {
		uint32_t here = RTE_MIN(length, FILE_TYPE_BYTES - file->head_length);

		memcpy(file->head + file->head_length, bytes, here);
		file->head_length += here;
	}
	bool knew = file->type_known;
	uint64_t before = file->bytes;

	file->bytes += length;
	file->reached = RTE_MAX(file->reached, at + length);
	find_type(file, false);
	if (file->undecided || (file->asks && file->type_known != knew))
		ask_again(feeding, file, before);
	if (file->stored && !feeding->flow->refused)
		keep(feeding, file, at, bytes, length);
	if (file->learns != LEARNS_NOT)
		report_learn_bytes(feeding, file, at, bytes, length);
	if (file->scan && !feeding->flow->refused)
		report_scan_bytes(feeding, file, at, bytes, length);
}

static void close_file(
	struct feeding *feeding, struct open_file *file, enum content_end end, bool asks)
{
	struct content *content = feeding->content;

	find_type(file, true);
	file->is_part = file->partial && (file->range_from || file->bytes != file->size);
	if (asks && (file->undecided || file->asks) && end == CONTENT_END_CLOSED) {
		if (!file->scattered) // else bytes may have come twice, and others never
			file->size = file->range_from + file->bytes;
		ask_again(feeding, file, file->bytes);
	}
	page_send(content, file);
	file->ended_ns = feeding->lcore->now_ns;
	file->end = (uint8_t)end;
	report_learn_end(feeding, file);
	feeding->flow->n_files--;
	if (file->scan && asks && !feeding->flow->refused && report_scan_end(feeding, file))
		return;
	if (file->scan)
		report_scan_drop(feeding, file);
	content_file_over(content, file);
}

static void report_end(void *ctx, uint32_t id, enum content_end end, uint64_t ends64)
{
	struct feeding *feeding = ctx;
	struct open_file **at = &feeding->flow->files;

	(void)ends64;
	while (*at && (*at)->id != id)
		at = &(*at)->next;
	if (!*at)
		return;
	struct open_file *file = *at;

	*at = file->next;
	close_file(feeding, file, end, true);
}

const struct content_sink content_report = {
	.asked = report_asked,
	.file = report_file,
	.bytes = report_bytes,
	.end = report_end,
	.message = report_message,
	.word = report_word,
	.note = report_note,
	.id = report_id,
};

void content_report_over(struct lcore *lcore, struct flow_content *flow)
{
	struct feeding feeding = {.lcore = lcore, .content = lcore->content, .flow = flow};
	struct open_file *file;

	while ((file = flow->files)) {
		flow->files = file->next;
		close_file(&feeding, file, CONTENT_END_TRUNCATED, false);
	}
	for (unsigned half = 0; half < 2; half++) {
		content_give(lcore->content->memory, flow->text[half]);
		flow->text[half] = NULL;
		flow->text_length[half] = 0;
	}
}
