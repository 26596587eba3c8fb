// SPDX-License-Identifier: BSD-3-Clause
// Files that decoders report, to the scan engine (scan/files.h), and what becomes of them by its
// verdicts.
#include <netinet/in.h>
#include <string.h>
#include "pipeline/content/report_work.h"
#include "pipeline/event/flow_event.h"
#include "pipeline/scan/parts.h"
#include "reassembly/tcp_track.h"

static const struct scan_result busy = {
	.known = true, .value = SCAN_UNSCANNED, .reason = SCAN_REASON_BUSY};

static const struct rule *rule_of(const struct feeding *feeding)
{
	uint32_t index = feeding->flow->asks.scan_rule;

	return index == RULE_DEFAULT ? NULL : &feeding->lcore->policy->rules[index];
}

bool report_scans(const struct feeding *feeding, const struct content_file *reported)
{
	const struct rule *rule = rule_of(feeding);

	if (likely(!rule) || feeding->flow->refused || reported->elsewhere ||
		feeding->lcore->dp->extracts)
		return false;
	bool upload = report_is_upload(feeding, reported->half);
	uint8_t direction = rule->content->scan.direction;

	return direction == CONTENT_ANY || (direction == CONTENT_UPLOAD) == upload;
}

static enum scan_policy policy_of(const struct rule_scan *rule, const struct scan_result *result)
{
	return result->value == SCAN_UNSCANNED ? rule->on_unscanned[result->reason]
					       : rule->on[result->value];
}

// The newest bytes of the half wait no longer for a file that is not scanned any more.
static void open_gate(const struct feeding *feeding, unsigned half)
{
	struct lcore *lcore = feeding->lcore;
	uint32_t track = flow_cold_at(lcore->flows, feeding->flow->ref)->track;

	if (track && !scan_files_stand(lcore, feeding->flow->ref, half))
		track_gate(lcore->tracker, track_at(lcore->tracker, track), half, TRACK_GATE_NONE);
}

// Whoever waits for the file is told, where nothing of it has left.
static void notice(struct feeding *feeding, const struct open_file *file, const struct rule *rule,
	unsigned value)
{
	struct content_answer answer =
		file->half == HALF_S2C ? file->answer : report_answer(feeding, HALF_C2S);

	report_notice(feeding, rule, &answer,
		value == SCAN_INFECTED ? CONTENT_NOTICE_INFECTED : CONTENT_NOTICE_UNSCANNED);
}

// There is a result without a job: what the policy says of it. Its alert is all that is told of
// that. True: the flow is refused for it.
static bool judge(struct feeding *feeding, unsigned half, const struct item_id *item,
	const struct content_id *id, const struct scan_result *result, uint64_t bytes)
{
	const struct rule *rule = rule_of(feeding);
	enum scan_policy policy = policy_of(&rule->content->scan, result);
	struct scan_verdict verdict = {
		.job = {.to64 = bytes, .submitted_ns = feeding->lcore->now_ns},
		.value = result->value,
		.reason = result->reason,
	};
	bool was = feeding->flow->refused;

	memcpy(verdict.name, result->name, sizeof(verdict.name));

	if (policy == SCAN_POLICY_PASS)
		return false;
	flow_event_scan_of(feeding->lcore, feeding->flow->ref, half, &verdict,
		&(struct flow_event_rule){
			.uid = rule->uid,
			.item = *item,
			.action = policy == SCAN_POLICY_RESET ? ACTION_RESET : ACTION_PASS,
			.mode = rule->mode,
			.id = id,
		});
	if (policy != SCAN_POLICY_RESET || rule->mode != MODE_ENFORCE)
		return false;
	feeding->flow->item = *item;
	report_refuse(feeding, feeding->flow->asks.scan_rule, ACTION_RESET);
	feeding->flow->told = feeding->flow->refused && !was;
	return feeding->flow->told;
}

static const struct content_id *id_of(const struct open_file *file)
{
	return file->has_id ? &file->content_id : NULL;
}

// The file was not looked at, or had nothing to look at; or what it is a part of is known.
static void settle(struct feeding *feeding, struct open_file *file)
{
	const struct rule *rule = rule_of(feeding);

	open_gate(feeding, file->half);
	if (!rule || file->av.value == SCAN_CLEAN || file->av.told ||
		!judge(feeding, file->half, &file->item, id_of(file), &file->av, file->bytes))
		return;
	if (file->av.value == SCAN_INFECTED &&
		flow_both_heard(flow_at(feeding->lcore->flows, feeding->flow->ref)))
		refused_files_learn(feeding->lcore, feeding->content->refused, &file->marks,
			rule->uid, CONTENT_ACTION_RESET);
	notice(feeding, file, rule, file->av.value);
	file->action = CONTENT_ACTION_RESET;
	file->rule_uid = rule->uid;
}

// Of a part what its file has from there on; 0: nobody says.
static uint64_t to_come(const struct open_file *file)
{
	return file->size != CONTENT_SIZE_UNKNOWN && file->size > file->range_from
		       ? file->size - file->range_from
		       : 0;
}

void report_scan_unseen(struct feeding *feeding, const struct content_file *reported)
{
	const struct item_id item = feeding->flow->item;
	struct content_answer answer = report_answer(feeding, reported->half);

	feeding->lcore->stats.content_nomem++;
	feeding->lcore->stats.scan_files_full++;
	if (judge(feeding, reported->half, &item, NULL, &busy, 0))
		report_notice(feeding, rule_of(feeding), &answer, CONTENT_NOTICE_UNSCANNED);
}

bool content_scan_leaves(struct lcore *lcore, uint32_t ref)
{
	struct flow_content flow = {.ref = ref};
	struct feeding feeding = {.lcore = lcore, .content = lcore->content, .flow = &flow};
	bool refuses = false;

	for (unsigned half = 0; half < 2; half++) {
		if (!scan_files_hold(lcore, ref, half))
			continue;
		lcore->stats.scan_evicted++;
		flow.asks = content_asks_of(lcore, ref);
		if (rule_of(&feeding))
			refuses |= judge(&feeding, half, &flow.item, NULL, &busy, 0);
	}
	return refuses;
}

// What names the file beyond this transfer, so that others bring parts of it, too. Of HTTP it is
// what the server says of it (its strong ETag, and the size), and names nothing of another server;
// or an id, against which a client of Gnutella holds the file, and a browser does not. What is no
// part needs no others.
static bool is_in_parts(const struct feeding *feeding, const struct open_file *file,
	const struct content_file *reported, struct content_whole *own, struct swarm_file *what)
{
	const struct refused_marks *marks = &file->marks;

	if (!scan_parts_are_joined(feeding->lcore))
		return false;
	what->whole = reported->whole;
	what->of_sender = !reported->whole;
	what->trusting = reported->whole && reported->is_http;
	if (reported->whole) {
		if (reported->whole->size == CONTENT_SIZE_UNKNOWN) // other parts do not know it
			what->size = CONTENT_SIZE_UNKNOWN;
		return !reported->is_http || file->partial;
	}
	if (!file->partial || !file->is_http || file->half != HALF_S2C || !marks->validator ||
		!marks->path)
		return false;
	*own = (struct content_whole){.size = file->size, .id = {.kind = CONTENT_ID_KINDS_MAX}};
	memcpy(own->id.bytes, &marks->validator, sizeof(marks->validator));
	memcpy(own->id.bytes + sizeof(marks->validator), &marks->path, sizeof(marks->path));
	what->whole = own;
	return true;
}

static uint32_t begin(
	struct feeding *feeding, struct open_file *file, const struct content_file *reported)
{
	const struct rule *rule = rule_of(feeding);
	const struct flow *flow = flow_at(feeding->lcore->flows, feeding->flow->ref);
	struct scan_begin begin = {
		.owner = file,
		.rule = &rule->content->scan,
		.size = to_come(file),
		.ref = feeding->flow->ref,
		.rule_uid = rule->uid,
		.item = file->item,
		.half = file->half,
		.enforces = rule->mode == MODE_ENFORCE && !(flow->flags & FLOW_ALLOWED),
	};
	struct content_whole own;
	struct swarm_file what = {.size = file->size, .max_bytes = begin.rule->max_bytes};

	file->in_parts = is_in_parts(feeding, file, reported, &own, &what);
	if (!file->in_parts)
		return scan_file_begin(feeding->lcore, &begin, &file->av);
	if (what.size == CONTENT_SIZE_UNKNOWN)
		begin.size = 0;
	return scan_part_begin(feeding->lcore, &begin,
		&(struct scan_part){.file = &what, .from = file->range_from}, &file->av);
}

void report_scan_begin(
	struct feeding *feeding, struct open_file *file, const struct content_file *reported)
{
	const struct rule_scan *scan = &rule_of(feeding)->content->scan;
	const struct flow *flow = flow_at(feeding->lcore->flows, feeding->flow->ref);
	bool too_big = !scan->windows && file->size != CONTENT_SIZE_UNKNOWN &&
		       file->size > scan->max_bytes && (!reported->whole || reported->is_http);

	if (flow->l4_proto != IPPROTO_TCP || too_big)
		file->av = (struct scan_result){
			.known = true,
			.value = SCAN_UNSCANNED,
			.reason = too_big ? SCAN_REASON_TOO_BIG : SCAN_REASON_PROTOCOL,
		};
	else
		file->scan = begin(feeding, file, reported);
	if (file->scan && !file->av.known)
		return;
	feeding->lcore->stats.scan_unscanned++;
	settle(feeding, file);
}

void report_scan_bytes(struct feeding *feeding, struct open_file *file, uint64_t at,
	const uint8_t *bytes, uint32_t length)
{
	bool goes_on =
		file->in_parts
			? scan_part_add(feeding->lcore, file->scan, at, bytes, length, &file->av)
			: scan_file_add(feeding->lcore, file->scan, at, bytes, length, &file->av);

	if (goes_on)
		return;
	file->scan = 0;
	settle(feeding, file);
}

// Whether what was decoded, and so scanned, is what every receiver has: not if its coding is
// broken, if it is a part of a file, or where programs read its half in different ways, or we do
// not read all of it.
static bool is_doubtful(const struct lcore *lcore, uint32_t ref, const struct open_file *file)
{
	const unsigned doubts =
		1u << CONTENT_MARK_AMBIGUOUS | 1u << CONTENT_MARK_LIMIT | 1u << CONTENT_MARK_LOST;

	return file->end == CONTENT_END_ERROR || (file->is_part && !file->in_parts) ||
	       content_tally_of(lcore, ref, file->half)->marks & doubts;
}

// That nothing was found in what was decoded says then nothing of what was received.
static bool doubt(struct scan_result *result)
{
	if (!result->known || result->value != SCAN_CLEAN)
		return false;
	result->value = SCAN_UNSCANNED;
	result->reason = SCAN_REASON_PROTOCOL;
	result->told = false;
	return true;
}

bool report_scan_end(struct feeding *feeding, struct open_file *file)
{
	file->doubtful = is_doubtful(feeding->lcore, feeding->flow->ref, file);
	if (file->in_parts ? scan_part_end(feeding->lcore, file->scan, &file->av)
			   : scan_file_end(feeding->lcore, file->scan, &file->av))
		return true;
	file->scan = 0;
	if (file->doubtful)
		doubt(&file->av);
	settle(feeding, file);
	return false;
}

void report_scan_drop(struct feeding *feeding, struct open_file *file)
{
	scan_file_drop(feeding->lcore, file->scan);
	file->scan = 0;
	if (is_doubtful(feeding->lcore, feeding->flow->ref, file))
		doubt(&file->av);
	open_gate(feeding, file->half);
}

// Whether the policy in force still has files of the flow scanned, and refuses any for it.
static bool is_scanned(const struct lcore *lcore, uint32_t ref)
{
	struct content_asks asks = content_asks_of(lcore, ref);

	return asks.scan_rule != RULE_DEFAULT &&
	       lcore->policy->rules[asks.scan_rule].mode == MODE_ENFORCE;
}

// Whoever asks for it again is refused at once.
static void remember(struct lcore *lcore, const struct scan_told *told)
{
	const struct scan_verdict *verdict = told->verdict;
	struct refused_files *refused = lcore->content->refused;

	if (!told->is_here || !flow_both_heard(flow_at(lcore->flows, told->ref)))
		return;
	if (told->owner)
		refused_files_learn(
			lcore, refused, &told->owner->marks, told->rule_uid, CONTENT_ACTION_RESET);
	if (verdict->hashed)
		refused_files_learn_digests(lcore, refused, verdict->sha1, verdict->sha256,
			told->rule_uid, CONTENT_ACTION_RESET);
}

static void alert(
	struct lcore *lcore, const struct scan_told *told, enum scan_policy policy, bool refuses)
{
	bool would = policy == SCAN_POLICY_RESET;

	flow_event_scan_of(lcore, told->ref, told->half, told->verdict,
		&(struct flow_event_rule){
			.uid = told->rule_uid,
			.item = told->item,
			.action = would ? ACTION_RESET : ACTION_PASS,
			.mode = would && !refuses ? MODE_MONITOR : MODE_ENFORCE,
			.id = told->owner ? id_of(told->owner) : NULL,
		});
}

static void notice_told(struct lcore *lcore, const struct scan_told *told)
{
	struct feeding feeding = {.lcore = lcore,
		.content = lcore->content,
		.flow = content_flow_of(lcore, told->ref)};
	const struct rule *rule = policy_rule_by_uid(lcore->policy, told->rule_uid);

	if (told->owner && feeding.flow && rule && rule->content)
		notice(&feeding, told->owner, rule, told->result.value);
}

static void tell_owner(struct lcore *lcore, const struct scan_told *told, bool refuses)
{
	struct open_file *file = told->owner;

	file->av = told->result;
	if (refuses) {
		file->action = CONTENT_ACTION_RESET;
		file->rule_uid = told->rule_uid;
	}
	if (told->over)
		file->scan = 0;
	if (told->ended)
		content_file_over(lcore->content, file);
}

static bool obey(struct lcore *lcore, const struct scan_told *told)
{
	enum scan_policy policy = policy_of(told->rule, &told->result);
	bool bad = told->result.value != SCAN_CLEAN && policy != SCAN_POLICY_PASS;
	bool refuses = bad && policy == SCAN_POLICY_RESET && told->enforces && told->is_here &&
		       is_scanned(lcore, told->ref);

	if (refuses && told->result.value == SCAN_INFECTED)
		remember(lcore, told);
	if (bad && told->is_here && !told->result.told)
		alert(lcore, told, policy, refuses);
	if (refuses)
		notice_told(lcore, told);
	if (told->owner)
		tell_owner(lcore, told, refuses);
	return refuses;
}

bool content_scan_told(struct lcore *lcore, const struct scan_told *told)
{
	const struct open_file *file = told->ended ? told->owner : NULL;
	struct scan_told said = *told;
	struct scan_verdict verdict = *told->verdict;

	if (told->condemned) {
		if (lcore->content)
			refused_files_learn_id(lcore, lcore->content->refused, told->id,
				told->rule_uid, CONTENT_ACTION_RESET);
		return false;
	}
	if (!file)
		return obey(lcore, told);
	// What came behind its end may have shown it, too.
	if ((file->doubtful || (told->is_here && is_doubtful(lcore, told->ref, file))) &&
		doubt(&said.result)) {
		verdict.value = said.result.value;
		verdict.reason = said.result.reason;
	}
	said.verdict = &verdict;
	return obey(lcore, &said);
}
