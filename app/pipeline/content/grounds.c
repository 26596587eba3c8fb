// SPDX-License-Identifier: BSD-3-Clause
// Writes evidence of what entries of rules matched.
#include <string.h>
#include "pipeline/content/grounds.h"
#include "pipeline/event/evidence.h"
#include "pipeline/event/flow_event.h"

// What the verdict is about: the entry that refuses, else the one in monitor mode.
struct ground {
	uint32_t rule, entry;
	uint8_t action; // enum content_action
	bool enforces;
};

static bool ground_of(
	const struct feeding *feeding, const struct content_verdict *verdict, struct ground *ground)
{
	if (verdict->undecided || feeding->flow->refused ||
		flow_at(feeding->lcore->flows, feeding->flow->ref)->flags & FLOW_ALLOWED)
		return false;
	*ground = (struct ground){
		.rule = verdict->rule,
		.entry = verdict->entry,
		.action = verdict->action,
		.enforces = content_action_enforces(verdict->action),
	};
	if (!ground->enforces && verdict->monitored != RULE_DEFAULT)
		*ground = (struct ground){
			.rule = verdict->monitored,
			.entry = verdict->monitored_entry,
			.action = verdict->monitored_action,
		};
	return ground->rule != RULE_DEFAULT && ground->action != CONTENT_ACTION_PASS;
}

static void count(const struct feeding *feeding, unsigned half, bool enforces)
{
	struct content_tally *seen = content_tally_of(feeding->lcore, feeding->flow->ref, half);
	uint8_t *counter = enforces ? &seen->refused : &seen->monitored;

	*counter = (uint8_t)(*counter + (*counter < UINT8_MAX));
}

static bool may_record(struct flow_content *flow, const struct ground *ground)
{
	bool ends = ground->enforces && ground->action != CONTENT_ACTION_MASK &&
		    ground->action != CONTENT_ACTION_DROP_MESSAGE;

	if (flow->n_grounds >= CONTENT_GROUNDS_MAX && !ends)
		return false;
	flow->n_grounds = (uint8_t)(flow->n_grounds + (flow->n_grounds < UINT8_MAX));
	return true;
}

static void set_text(struct evidence *evidence, const void *bytes, uint32_t length, bool end)
{
	uint32_t n = RTE_MIN(length, (uint32_t)EVIDENCE_TEXT_BYTES);

	if (n)
		memcpy(evidence->content.text, (const uint8_t *)bytes + (end ? length - n : 0), n);
	evidence->n_bytes = (uint8_t)n;
	if (n < length)
		evidence->flags |= EVIDENCE_IS_CUT;
}

static struct evidence *piece(const struct feeding *feeding, enum evidence_kind kind, unsigned half,
	const struct ground *ground)
{
	struct lcore *lcore = feeding->lcore;
	const struct flow *flow = flow_at(lcore->flows, feeding->flow->ref);
	struct event about = {0};

	flow_event_identify(lcore, feeding->flow->ref, &about);
	struct evidence *evidence = evidence_add(lcore, kind, about.flow_id);

	evidence->rule_uid =
		ground->rule == RULE_DEFAULT ? 0 : lcore->policy->rules[ground->rule].uid;
	evidence->app = flow->app;
	evidence->detail = ground->action;
	evidence->confidence = ground->enforces ? MODE_ENFORCE : MODE_MONITOR;
	evidence->half = (uint8_t)half;
	evidence->content.rule = (uint16_t)RTE_MIN(ground->rule, (uint32_t)UINT16_MAX);
	evidence->content.entry = (uint16_t)ground->entry;
	return evidence;
}

static void record(const struct feeding *feeding, unsigned half, const struct ground *ground,
	const struct evidence_content *entry, const char *pattern, struct content_text name)
{
	struct evidence *evidence = piece(feeding, EVIDENCE_CONTENT, half, ground);

	evidence->content.type = entry->type;
	evidence->content.keys = entry->keys;
	evidence->content.is = entry->is;
	set_text(evidence, pattern, pattern ? (uint32_t)strlen(pattern) : 0, false);
	evidence = piece(feeding, EVIDENCE_CONTENT_NAME, half, ground);
	evidence->content.item = feeding->flow->item;
	evidence->content.is = entry->is;
	set_text(evidence, name.bytes, name.length, true);
}

void grounds_file(const struct feeding *feeding, const struct file_facts *facts,
	const struct content_hits *hits, const struct content_verdict *verdict)
{
	const struct lcore *lcore = feeding->lcore;
	struct ground ground;

	if (!ground_of(feeding, verdict, &ground))
		return;
	bool inside = flow_at(lcore->flows, feeding->flow->ref)->flags & FLOW_C2S_INSIDE;
	unsigned half = facts->upload == inside ? HALF_C2S : HALF_S2C;
	const struct transfer_entry *entry =
		&lcore->policy->rules[ground.rule].content->transfers[ground.entry];
	const struct evidence_content about = {
		.type = facts->type,
		.keys = entry->keys,
		.is = (uint8_t)((entry->has_type ? EVIDENCE_ENTRY_TYPE : 0) |
				(entry->has_size ? EVIDENCE_ENTRY_SIZE : 0)),
	};

	count(feeding, half, ground.enforces);
	if (may_record(feeding->flow, &ground))
		record(feeding, half, &ground, &about,
			content_file_matched(lcore->policy, hits, ground.rule, ground.entry),
			(struct content_text){facts->name, facts->length});
}

void grounds_message(const struct feeding *feeding, unsigned half,
	const struct message_facts *facts, const struct content_hits *hits,
	const struct content_verdict *verdict)
{
	const struct policy *policy = feeding->lcore->policy;
	struct ground ground;

	if (!ground_of(feeding, verdict, &ground))
		return;
	const struct chat_entry *entry = &policy->rules[ground.rule].content->chats[ground.entry];
	const struct evidence_content about = {.keys = entry->keys, .is = EVIDENCE_ENTRY_MESSAGE};

	count(feeding, half, ground.enforces);
	if (may_record(feeding->flow, &ground))
		record(feeding, half, &ground, &about,
			content_message_matched(policy, hits, ground.rule, ground.entry),
			facts->from);
}

void grounds_note(const struct feeding *feeding, enum content_note note, unsigned half,
	uint64_t at64, uint32_t rule)
{
	const struct ground ground = {
		.rule = rule, .action = CONTENT_ACTION_RESET, .enforces = true};

	if (feeding->flow->refused)
		return;
	struct evidence *evidence = piece(feeding, EVIDENCE_CONTENT_NOTE, half, &ground);

	memset(&evidence->content, 0, sizeof(evidence->content));
	evidence->content.item = feeding->flow->item;
	evidence->detail = (uint8_t)note;
	evidence->confidence = 0;
	evidence->content.at64 = at64;
}
