// SPDX-License-Identifier: BSD-3-Clause
// Which rules' attributes apply to a flow, and what their entries say of a file or message.
#include "pipeline/policy/content_rules.h"

enum answer { NO, PERHAPS, YES };

// The rules that apply, in order.
struct walk {
	const struct policy *policy;
	const struct decide_input *input;
	uint32_t user;
	uint32_t at;   // the next to look at
	bool over;     // a rule has decided
	bool may_over; // a rule may have, once the application is final
	bool perhaps;  // of the rule at hand: that it applies is not sure
};

static struct walk walk_begin(const struct policy *policy, const struct decide_input *input)
{
	return (struct walk){
		.policy = policy,
		.input = input,
		.user = policy->asks_user ? policy_user(policy, input->ends, input->c2s_from_inside)
					  : USER_NONE,
	};
}

// As decide() says: what it passes over, the search for attributes passes over, too.
static bool rule_decides(const struct rule *rule)
{
	return !rule->only_content && (rule->mode == MODE_ENFORCE || rule->action == ACTION_PASS);
}

// The next rule that says something of content; false: there is none.
static bool walk_next(struct walk *walk, uint32_t *index)
{
	while (!walk->over && walk->at < walk->policy->n_rules) {
		const struct rule *rule = &walk->policy->rules[walk->at++];
		enum rule_match match = rule_matches(rule, walk->input, walk->user);

		if (match == RULE_MATCHES_NOT)
			continue;
		walk->perhaps = walk->may_over || match == RULE_MATCHES_PERHAPS;
		if (rule_decides(rule)) {
			walk->over = match == RULE_MATCHES;
			walk->may_over |= match == RULE_MATCHES_PERHAPS;
		}
		if (rule->content) {
			*index = walk->at - 1;
			return true;
		}
	}
	return false;
}

// Of an entry of `rule`.
static uint8_t action_under(const struct rule *rule, uint8_t written)
{
	return rule->mode == MODE_MONITOR && content_action_enforces(written)
		       ? CONTENT_ACTION_MONITOR
		       : written;
}

void rule_content_settle(struct rule *rule)
{
	struct rule_content *content = rule->content;

	if (!content)
		return;
	content->edits = false;
	content->needs_bytes = content->has_scan && rule->mode == MODE_ENFORCE;
	// parts of a file that is scanned say nothing of the file
	content->asks_whole = content->has_ranges ? content->whole : content->has_scan;
	content->edits_parts = content->asks_whole && rule->mode == MODE_ENFORCE;
	content->closes = content->audit_closes == CONTENT_YES && rule->mode == MODE_ENFORCE;
	content->enforces = content->edits_parts || content->needs_bytes ||
			    (content->has_opaque && content->opaque != ACTION_PASS &&
				    rule->mode == MODE_ENFORCE);
	for (uint32_t i = 0; i < content->n_transfers; i++) {
		struct transfer_entry *entry = &content->transfers[i];

		entry->action = action_under(rule, entry->written);
		content->enforces |= content_action_enforces(entry->action);
		content->needs_bytes |= (entry->has_type || entry->has_size) &&
					content_action_enforces(entry->action);
		content->asks_type |= entry->has_type;
		content->asks_ids |= entry->has_id;
		content->stores_files |= entry->store == CONTENT_YES;
	}
	for (uint32_t i = 0; i < content->n_chats; i++) {
		struct chat_entry *entry = &content->chats[i];

		entry->action = action_under(rule, entry->written);
		content->enforces |= content_action_enforces(entry->action);
		content->edits |= content_action_edits(entry->action);
	}
}

// The first rule that has a flag says what it is.
static void flag_take(uint8_t *flag, uint8_t of_rule)
{
	if (*flag == CONTENT_UNSET)
		*flag = of_rule;
}

static void closes_take(struct content_asks *asks, uint8_t *flag, const struct policy *policy,
	const struct walk *walk, uint32_t index)
{
	const struct rule_content *content = policy->rules[index].content;

	// as with `opaque`, monitor mode is passed over
	if (*flag != CONTENT_UNSET || (content->audit_closes == CONTENT_YES && !content->closes))
		return;
	if (!walk->perhaps)
		*flag = content->audit_closes;
	if (!content->closes || asks->closes)
		return;
	asks->closes = true;
	asks->closing_rule = index;
}

static void opaque_take(struct content_asks *asks, const struct policy *policy, uint32_t index)
{
	const struct rule *rule = &policy->rules[index];

	if (!rule->content->has_opaque || asks->opaque_rule != RULE_DEFAULT)
		return;
	if (rule->mode == MODE_ENFORCE || rule->content->opaque == ACTION_PASS) {
		asks->opaque = rule->content->opaque;
		asks->opaque_rule = index;
	} else if (asks->opaque_monitored == RULE_DEFAULT) {
		asks->opaque_monitored = index;
	}
}

// The first rule that has it, or has files scanned, says what holds; in monitor mode "whole" is
// passed over. "whole" of one that may not apply counts as long as none that does is before it.
static void ranges_take(
	struct content_asks *asks, const struct policy *policy, const struct walk *walk, bool *said)
{
	const struct rule_content *content = policy->rules[walk->at - 1].content;

	if (*said || (!content->has_ranges && !content->has_scan) ||
		content->asks_whole != content->edits_parts)
		return;
	*said = !walk->perhaps;
	if (!content->asks_whole || asks->whole)
		return;
	asks->whole = true;
	asks->ranges_rule = walk->at - 1;
}

// The first rule that has it says how files are scanned.
static void scan_take(
	struct content_asks *asks, const struct policy *policy, const struct walk *walk)
{
	if (policy->rules[walk->at - 1].content->has_scan && asks->scan_rule == RULE_DEFAULT)
		asks->scan_rule = walk->at - 1;
}

struct content_asks content_asks(const struct policy *policy, const struct decide_input *input)
{
	struct content_asks asks = content_asks_nothing();
	uint8_t transfers = CONTENT_UNSET, chat = CONTENT_UNSET, files = CONTENT_UNSET;
	uint8_t closes = CONTENT_UNSET;
	struct walk walk = walk_begin(policy, input);
	bool ranges_said = false;
	uint32_t index;

	while (policy->content && walk_next(&walk, &index)) {
		const struct rule_content *content = policy->rules[index].content;

		asks.undecided |= walk.perhaps;
		asks.plain |= content->needs_bytes;
		ranges_take(&asks, policy, &walk, &ranges_said);
		scan_take(&asks, policy, &walk);
		asks.transfers |= content->n_transfers > 0;
		asks.chat |= content->n_chats > 0;
		asks.type |= content->asks_type;
		asks.ids |= content->asks_ids;
		if (content->enforces && !asks.enforces)
			asks.enforcing_rule = index;
		asks.enforces |= content->enforces;
		asks.edits |= content->edits;
		asks.store_files |= content->stores_files;
		closes_take(&asks, &closes, policy, &walk, index);
		if (walk.perhaps) {
			asks.audit_transfers |= content->audit_transfers == CONTENT_YES;
			asks.audit_chat |= content->audit_chat == CONTENT_YES;
			asks.store_files |= content->audit_files == CONTENT_YES;
			continue;
		}
		flag_take(&transfers, content->audit_transfers);
		flag_take(&chat, content->audit_chat);
		flag_take(&files, content->audit_files);
		opaque_take(&asks, policy, index);
	}
	asks.audit_transfers |= transfers == CONTENT_YES;
	asks.audit_chat |= chat == CONTENT_YES;
	asks.store_files |= files == CONTENT_YES;
	asks.transfers |= asks.audit_transfers || asks.store_files || asks.whole ||
			  asks.scan_rule != RULE_DEFAULT;
	asks.chat |= asks.audit_chat;
	return asks;
}

// A verdict that is being found.
struct search {
	struct content_verdict verdict;
	uint32_t outcomes;                    // 1 << action of each that is possible
	bool found;                           // the entry that decides
	bool perhaps;                         // something is not known yet
	uint8_t entry_stores, stores, audits; // enum content_flag
	uint8_t monitor_stores;               // the same, of the first entry in monitor mode
	struct content_redaction strictest;   // of rules that may apply
};

static struct search search_begin(void)
{
	return (struct search){
		.verdict = {.rule = RULE_DEFAULT, .monitored = RULE_DEFAULT},
	};
}

// What both kinds of entry have.
struct entry {
	uint8_t action, written, store;
	uint32_t rule, number;
};

// True: this is the one that decides.
static bool search_entry(
	struct search *search, const struct walk *walk, enum answer answer, struct entry entry)
{
	struct content_verdict *verdict = &search->verdict;
	bool monitors = entry.action == CONTENT_ACTION_MONITOR;

	if (answer == NO)
		return false;
	if (answer == PERHAPS || walk->perhaps) {
		search->perhaps = true;
		if (!monitors)
			search->outcomes |= 1u << entry.action;
		return false;
	}
	if (monitors) {
		if (verdict->monitored == RULE_DEFAULT) {
			verdict->monitored = entry.rule;
			verdict->monitored_entry = entry.number;
			verdict->monitored_action = entry.written;
			search->monitor_stores = entry.store;
		}
		return false;
	}
	search->outcomes |= 1u << entry.action;
	search->found = true;
	search->entry_stores = entry.store;
	verdict->action = entry.action;
	verdict->rule = entry.rule;
	verdict->entry = entry.number;
	return true;
}

static void stricter(uint8_t *redact, uint8_t than)
{
	if (than > *redact)
		*redact = than;
}

// Of rules that may apply the strictest counts: what was masked too much can be had, what was
// written cannot be taken back.
static void search_redact(
	struct search *search, const struct walk *walk, const struct content_redaction *of)
{
	struct content_redaction *redact = &search->verdict.redact, *may = &search->strictest;

	if (walk->perhaps) {
		search->perhaps |= of->text || of->names || of->users;
		may->at_least |= of->text || of->names || of->users;
		stricter(&may->text, of->text);
		stricter(&may->names, of->names);
		stricter(&may->users, of->users);
		return;
	}
	flag_take(&redact->text, of->text);
	flag_take(&redact->names, of->names);
	flag_take(&redact->users, of->users);
}

static void search_audit(
	struct search *search, const struct walk *walk, uint8_t audits, uint8_t stores)
{
	if (walk->perhaps) {
		search->perhaps |= audits != CONTENT_UNSET || stores != CONTENT_UNSET;
		return;
	}
	flag_take(&search->audits, audits);
	flag_take(&search->stores, stores);
}

static struct content_verdict search_end(struct search *search)
{
	struct content_verdict *verdict = &search->verdict;

	if (!search->found)
		search->outcomes |= 1u << CONTENT_ACTION_PASS;
	verdict->undecided = (search->outcomes & (search->outcomes - 1)) != 0;
	if (verdict->undecided) {
		verdict->action = CONTENT_ACTION_PASS;
		verdict->rule = RULE_DEFAULT;
		verdict->entry = 0;
		search->entry_stores = CONTENT_UNSET;
	}
	verdict->ask_again = verdict->undecided ||
			     (search->perhaps && !content_action_enforces(verdict->action));
	flag_take(&search->monitor_stores, search->entry_stores);
	flag_take(&search->monitor_stores, search->stores);
	verdict->store = search->monitor_stores == CONTENT_YES;
	verdict->audit = search->audits == CONTENT_YES;
	stricter(&verdict->redact.text, search->strictest.text);
	stricter(&verdict->redact.names, search->strictest.names);
	stricter(&verdict->redact.users, search->strictest.users);
	verdict->redact.at_least = search->strictest.at_least;
	return *verdict;
}

static bool direction_holds(uint8_t direction, bool upload)
{
	return direction == CONTENT_ANY || (direction == CONTENT_UPLOAD) == upload;
}

static enum answer type_holds(const struct transfer_entry *entry, const struct file_facts *facts)
{
	if (!facts->type && !facts->type_known)
		return PERHAPS;
	return facts->type < CONTENT_TYPES_ROOM &&
			       entry->types[facts->type / 64] >> facts->type % 64 & 1
		       ? YES
		       : NO;
}

static enum answer size_holds(const struct transfer_entry *entry, const struct file_facts *facts)
{
	if (facts->size != CONTENT_SIZE_UNKNOWN)
		return facts->size >= entry->size_min && facts->size <= entry->size_max ? YES : NO;
	if (facts->so_far > entry->size_max)
		return NO;
	return facts->so_far >= entry->size_min && entry->size_max == UINT64_MAX ? YES : PERHAPS;
}

static bool id_holds(const struct policy *policy, const struct transfer_entry *entry,
	const struct content_id *id)
{
	for (uint32_t i = 0; id && i < entry->n_id_sets; i++)
		if (content_id_set_find(policy->ids[entry->id_sets[i]].set, id))
			return true;
	return false;
}

static enum answer file_holds(const struct policy *policy, const struct transfer_entry *entry,
	const struct file_facts *facts, const struct content_hits *hits)
{
	enum answer type = YES, size = YES;

	if (entry->has_id ? !id_holds(policy, entry, facts->id) : facts->claim)
		return NO;
	if (!facts->claim && !direction_holds(entry->direction, facts->upload))
		return NO;
	if (entry->keys & ~content_hits_keys(hits, entry->index))
		return NO;
	if (entry->has_type)
		type = type_holds(entry, facts);
	if (entry->has_size)
		size = size_holds(entry, facts);
	return type < size ? type : size;
}

struct content_verdict content_file_verdict(const struct policy *policy,
	const struct decide_input *input, const struct file_facts *facts,
	const struct content_hits *hits)
{
	struct walk walk = walk_begin(policy, input);
	struct search search = search_begin();
	uint32_t index;

	while (hits && walk_next(&walk, &index)) {
		const struct rule_content *content = policy->rules[index].content;

		for (uint32_t i = 0; i < content->n_transfers && !search.found; i++) {
			const struct transfer_entry *entry = &content->transfers[i];

			search_entry(&search, &walk, file_holds(policy, entry, facts, hits),
				(struct entry){
					entry->action, entry->written, entry->store, index, i});
		}
		search_audit(&search, &walk, content->audit_transfers, content->audit_files);
		search_redact(&search, &walk, &content->redact);
	}
	return search_end(&search);
}

static enum answer message_holds(const struct chat_entry *entry, const struct message_facts *facts,
	const struct content_hits *hits)
{
	if (!direction_holds(entry->direction, facts->upload))
		return NO;
	return entry->keys & ~content_hits_keys(hits, entry->index) ? NO : YES;
}

struct content_verdict content_message_verdict(const struct policy *policy,
	const struct decide_input *input, const struct message_facts *facts,
	const struct content_hits *hits)
{
	struct walk walk = walk_begin(policy, input);
	struct search search = search_begin();
	uint32_t index;

	while (hits && walk_next(&walk, &index)) {
		const struct rule_content *content = policy->rules[index].content;

		for (uint32_t i = 0; i < content->n_chats && !search.found; i++) {
			const struct chat_entry *entry = &content->chats[i];

			search_entry(&search, &walk, message_holds(entry, facts, hits),
				(struct entry){
					entry->action, entry->written, entry->store, index, i});
		}
		search_audit(&search, &walk, content->audit_chat, content->audit_chat);
		search_redact(&search, &walk, &content->redact);
	}
	return search_end(&search);
}

// Adds one at its place, or to what it overlaps or touches. False: there is no room.
static bool range_add(
	struct content_range *ranges, unsigned *n, unsigned room, struct content_range range)
{
	unsigned at = 0, end;

	while (at < *n && ranges[at].to < range.from)
		at++;
	for (end = at; end < *n && ranges[end].from <= range.to; end++) {
		if (ranges[end].from < range.from)
			range.from = ranges[end].from;
		if (ranges[end].to > range.to)
			range.to = ranges[end].to;
	}
	if (end == at && *n == room)
		return false;
	if (end == at) {
		for (unsigned i = *n; i > at; i--)
			ranges[i] = ranges[i - 1];
		++*n;
	} else {
		for (unsigned i = end; i < *n; i++)
			ranges[at + 1 + i - end] = ranges[i];
		*n -= end - at - 1;
	}
	ranges[at] = range;
	return true;
}

// Where the entry's keywords stand in the form; 0: that does not say what to blank.
static unsigned keyword_ranges(const struct chat_entry *entry, const struct content_hits *hits,
	struct content_range *ranges, unsigned room)
{
	unsigned n = 0;

	if (hits->two_readings || hits->found.more || entry->keys & CONTENT_KEY_REGEX)
		return 0;
	for (uint32_t i = 0; i < hits->found.n; i++) {
		const struct text_hit *hit = &hits->found.hits[i];

		if (hit->owner == CONTENT_OWNER(entry->index, CONTENT_KEY_KEYWORD) &&
			!range_add(ranges, &n, room, (struct content_range){hit->from, hit->to}))
			return 0;
	}
	return n;
}

unsigned content_mask(const struct policy *policy, const struct content_verdict *verdict,
	const struct message_facts *facts, const struct content_hits *hits,
	struct content_range *ranges, unsigned room)
{
	struct content_range form[CONTENT_MASKS_MAX], raw[CONTENT_MASKS_MAX];
	unsigned n, n_raw = 0;

	if (verdict->rule == RULE_DEFAULT || !room)
		return 0;
	n = keyword_ranges(&policy->rules[verdict->rule].content->chats[verdict->entry], hits, form,
		room < CONTENT_MASKS_MAX ? room : CONTENT_MASKS_MAX);
	if (!n) {
		ranges[0] = (struct content_range){0, facts->length};
		return 1;
	}
	text_origin(CHARSET_UTF8, facts->text, facts->length, form, raw, n);
	for (unsigned i = 0; i < n; i++) // several places of the form may be one character
		range_add(ranges, &n_raw, room, raw[i]);
	return n_raw;
}
