// SPDX-License-Identifier: BSD-3-Clause
// Content ids that somebody names: held against the operator's list and the policy's.
#include <string.h>
#include "content/charset.h"
#include "pipeline/content/report_work.h"
#include "pipeline/vocab/octets.h"

// What the operator has blocked is refused under a policy that enforces anything, and else
// reported: then no packet is changed. No rule says so.
static bool is_blocked(
	const struct lcore *lcore, const struct content_id *id, struct content_verdict *verdict)
{
	if (!lcore->blocked_ids || !content_id_set_find(lcore->blocked_ids, id))
		return false;
	*verdict = (struct content_verdict){
		.action = CONTENT_ACTION_RESET, .rule = RULE_DEFAULT, .monitored = RULE_DEFAULT};
	if (!lcore->policy->enforces)
		verdict->action = CONTENT_ACTION_MONITOR;
	return true;
}

// What it names was found to be infected.
static bool is_condemned(struct feeding *feeding, const struct content_id *id,
	const struct content_file *file, struct content_verdict *verdict)
{
	if (!report_remembers(feeding))
		return false;
	const struct refused_marks marks = refused_marks_of_id(feeding->lcore, id);

	return report_refused_before(feeding, file, &marks, verdict);
}

void report_id(void *ctx, const struct content_id *id, unsigned half)
{
	struct feeding *feeding = ctx;
	struct flow_content *flow = feeding->flow;
	struct lcore *lcore = feeding->lcore;
	struct file_facts facts = {.size = CONTENT_SIZE_UNKNOWN, .id = id, .claim = true};
	const struct content_file file = {
		.half = (uint8_t)half, .elsewhere = true, .size = CONTENT_SIZE_UNKNOWN};
	struct content_verdict verdict;

	if (flow->refused)
		return;
	lcore->stats.content_ids++;
	report_next_item(feeding);
	bool blocked = is_blocked(lcore, id, &verdict);

	if (!blocked)
		verdict = report_ask_file(feeding, NULL, &facts, NULL, 0);
	bool again = !blocked && is_condemned(feeding, id, &file, &verdict);

	if (flow->each_for_itself) // that each torrent is audited does not mean every question
		verdict.audit = false;
	if (blocked || report_is_recorded(&verdict))
		report_record_file(feeding, &file, &verdict, id, false, again ? HOW_AGAIN : 0);
	if (!report_refuses(&verdict))
		return;
	report_refuse(feeding, verdict.rule, report_action_of(verdict.action));
	lcore->stats.content_ids_refused += flow->refused;
}

// That files are audited does not mean every file that a search has found.
void report_listed(struct feeding *feeding, const struct content_file *file)
{
	struct file_facts facts = {
		.name = file->name.bytes,
		.length = file->name.length,
		.size = file->size,
		.id = file->whole ? &file->whole->id : NULL,
		.upload = report_is_upload(feeding, file->half),
	};
	struct content_verdict verdict;

	if (feeding->flow->refused)
		return;
	report_next_item(feeding);
	verdict = report_ask_file(feeding, NULL, &facts, NULL, 0);
	verdict.audit = false;
	if (report_is_recorded(&verdict))
		report_record_file(feeding, file, &verdict, NULL, false, 0);
	if (report_refuses(&verdict))
		report_refuse(feeding, verdict.rule, report_action_of(verdict.action));
}

// ---- trackers over HTTP (BEP 3, BEP 48): "?info_hash=%..&info_hash=%..." ----

static bool decode_byte(struct content_text *text, uint8_t *byte)
{
	uint32_t taken = 1;
	int escaped;

	if (!text->length)
		return false;
	*byte = text->bytes[0];
	if (*byte == '%' && text->length >= 3 && (escaped = text_hex_pair(text->bytes + 1)) >= 0) {
		*byte = (uint8_t)escaped;
		taken = 3;
	}
	text->bytes += taken;
	text->length -= taken;
	return true;
}

static bool take_name(struct content_text *text, const char *name)
{
	uint8_t byte;

	for (; *name; name++)
		if (!decode_byte(text, &byte) || byte != (uint8_t)*name)
			return false;
	return text->length && text->bytes[0] == '=';
}

// The bytes of a value: 20 of them, or the 32 of version 2. Some servers read '+' as a blank:
// `plus` is what it stands for.
static bool decode_hash(struct content_text text, uint8_t plus, uint8_t bytes[CONTENT_ID_BYTES])
{
	uint32_t n = 0;
	uint8_t byte;

	while (n < CONTENT_ID_BYTES && text.length) {
		bool is_plus = text.bytes[0] == '+';

		if (!decode_byte(&text, &byte))
			break;
		bytes[n++] = is_plus ? plus : byte;
	}
	return !text.length && (n == CONTENT_ID_BT_WIRE || n == CONTENT_ID_BYTES);
}

static void take_parameter(struct feeding *feeding, struct content_text parameter, unsigned half)
{
	uint8_t bytes[CONTENT_ID_BYTES];
	struct content_id id;

	if (!take_name(&parameter, "info_hash"))
		return;
	parameter.bytes++;
	parameter.length--;
	if (!decode_hash(parameter, '+', bytes))
		return;
	id = content_id_of(CONTENT_ID_BTIH, bytes);
	report_id(feeding, &id, half);
	if (!memchr(parameter.bytes, '+', parameter.length))
		return;
	decode_hash(parameter, ' ', bytes);
	id = content_id_of(CONTENT_ID_BTIH, bytes);
	report_id(feeding, &id, half);
}

void report_ids_of_request(struct feeding *feeding, const struct content_file *request)
{
	const uint8_t *end = request->path.bytes + request->path.length;
	const uint8_t *at = request->path.length
				    ? memchr(request->path.bytes, '?', request->path.length)
				    : NULL;

	while (at && at < end) {
		const uint8_t *from = at + 1;
		const uint8_t *next = from < end ? memchr(from, '&', (size_t)(end - from)) : NULL;
		struct content_text parameter = {from, (uint32_t)((next ? next : end) - from)};

		take_parameter(feeding, parameter, !request->half);
		at = next;
	}
}
