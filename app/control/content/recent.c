// SPDX-License-Identifier: BSD-3-Clause
// Two rings of entries, and a table that finds the transfer of a file that ends.
#include "control/content/recent.h"

#include <stdlib.h>
#include <string.h>
#include "pipeline/policy/content_rules.h"

#define PROBES 8 // places of the table that are looked at; who finds none there is not found

struct content_recent {
	uint32_t max, mask;
	uint64_t seen[RECENT_KINDS];
	struct recent_entry *entries[RECENT_KINDS];
	uint64_t *table; // mask + 1 of sequence numbers of transfers; 0: free
	unsigned n_slow;
	struct recent_entry slow[RECENT_SLOW_MAX]; // the slowest first
};

static void copy(const struct content_record *record, enum content_record_text which, bool end,
	uint8_t *to, uint16_t room, struct recent_text *text)
{
	struct content_text from = content_record_text(record, which);
	uint32_t n = from.length < room ? from.length : room;

	if (n)
		memcpy(to, from.bytes + (end ? from.length - n : 0), n);
	text->length = (uint16_t)n;
	text->cut = n < from.length;
}

static void copy_file(const struct content_record *record, struct content_item *item)
{
	copy(record, RECORD_NAME, true, item->name_bytes, RECENT_NAME_BYTES, &item->name);
	copy(record, RECORD_USER, false, item->from_bytes, RECENT_PARTY_BYTES, &item->from);
	copy(record, RECORD_HOST, false, item->to_bytes, RECENT_PARTY_BYTES, &item->to);
	item->name.cut |= record->name_cut;
}

void content_item_of(const struct content_record *record, struct content_item *item)
{
	bool message = record->kind == CONTENT_RECORD_MESSAGE;

	*item = (struct content_item){
		.file = message ? 0 : record->id,
		.size = record->size,
		.half = record->half,
		.action = record->action,
		.mode = record->rule_mode,
		.refused = record->rule_mode == MODE_ENFORCE &&
			   content_action_enforces(record->action),
		.elsewhere = record->elsewhere,
		.partial = record->partial,
		.stored = record->stored,
		.goes_on = record->goes_on,
	};
	if (!message) {
		copy_file(record, item);
		return;
	}
	copy(record, RECORD_FROM, false, item->from_bytes, RECENT_PARTY_BYTES, &item->from);
	copy(record, RECORD_TO, false, item->to_bytes, RECENT_PARTY_BYTES, &item->to);
	copy(record, RECORD_TEXT, false, item->text_bytes, RECENT_TEXT_BYTES, &item->text);
}

void content_item_end(const struct content_record *began, const struct content_record *ended,
	const struct store_result *result, struct content_item *item)
{
	content_item_of(began, item);
	if (ended->action != CONTENT_ACTION_PASS) { // it was not known when it began
		item->action = ended->action;
		item->mode = ended->rule_mode;
		item->refused =
			ended->rule_mode == MODE_ENFORCE && content_action_enforces(ended->action);
	}
	item->bytes = ended->size;
	item->not_recorded = ended->lost;
	item->ended_ns = ended->at;
	item->end = ended->end;
	item->type = ended->file_type;
	item->stored = result && result->stored;
	item->quarantined = result && result->quarantined;
	item->av = ended->av;
	item->has_sha256 = result && result->digested && !ended->lost;
	if (item->has_sha256)
		memcpy(item->sha256, result->digests.sha256, sizeof item->sha256);
}

static void redact(uint8_t *bytes, struct recent_text *text, bool name, enum redact how)
{
	uint8_t masked[REDACT_ROOM];

	if (how == REDACT_OMIT)
		text->length = 0;
	if (how != REDACT_MASK)
		return;
	text->length = (uint16_t)redact_mask(bytes, text->length, name, masked);
	memcpy(bytes, masked, text->length);
}

void content_item_redact(struct content_item *item, const struct redact_rules *rules)
{
	redact(item->name_bytes, &item->name, true, rules->names);
	redact(item->from_bytes, &item->from, false, rules->users);
	if (!item->file) // of a file it is a server's name
		redact(item->to_bytes, &item->to, false, rules->users);
	redact(item->text_bytes, &item->text, false, rules->text);
}

struct content_recent *content_recent_new(uint32_t max)
{
	struct content_recent *recent = calloc(1, sizeof *recent);
	uint32_t places = 16;

	if (!recent)
		return NULL;
	recent->max = max < CONTENT_RECENT_MAX ? max : CONTENT_RECENT_MAX;
	while (places < 4 * recent->max)
		places *= 2;
	recent->mask = places - 1;
	recent->table = calloc(places, sizeof *recent->table);
	for (unsigned kind = 0; kind < RECENT_KINDS; kind++)
		recent->entries[kind] =
			calloc(recent->max + 1, sizeof *recent->entries[kind]); // never 0
	if (recent->table && recent->entries[0] && recent->entries[1])
		return recent;
	content_recent_free(recent);
	return NULL;
}

void content_recent_free(struct content_recent *recent)
{
	if (!recent)
		return;
	for (unsigned kind = 0; kind < RECENT_KINDS; kind++)
		free(recent->entries[kind]);
	free(recent->table);
	free(recent);
}

static struct recent_entry *entry_of(
	const struct content_recent *recent, enum recent_kind kind, uint64_t seq)
{
	if (!seq || seq > recent->seen[kind] || recent->seen[kind] - seq >= recent->max)
		return NULL;
	return &recent->entries[kind][seq % recent->max];
}

static uint64_t place_of(uint64_t flow_id, uint64_t file)
{
	uint64_t hash = (flow_id ^ file * 0x9e3779b97f4a7c15u) * 0xff51afd7ed558ccdu;

	return hash ^ hash >> 32;
}

// A place that is free, or whose transfer is no longer kept; else that of the oldest.
static void table_put(struct content_recent *recent, const struct recent_entry *entry)
{
	uint64_t at = place_of(entry->event.flow_id, entry->item.file);
	uint64_t *best = &recent->table[at & recent->mask];

	for (unsigned i = 0; i < PROBES; i++) {
		uint64_t *place = &recent->table[(at + i) & recent->mask];

		if (*place < *best)
			best = place;
	}
	*best = entry->seq;
}

static struct recent_entry *table_find(
	const struct content_recent *recent, uint64_t flow_id, uint64_t file)
{
	uint64_t at = place_of(flow_id, file);

	for (unsigned i = 0; i < PROBES; i++) {
		struct recent_entry *entry =
			entry_of(recent, RECENT_TRANSFERS, recent->table[(at + i) & recent->mask]);

		if (entry && entry->event.flow_id == flow_id && entry->item.file == file)
			return entry;
	}
	return NULL;
}

// Of one that nobody has answered in time: how long it was waited for.
static uint64_t slowness_ns(const struct content_item *item)
{
	if (!item->av.known)
		return 0;
	return item->av.value == SCAN_TIMEOUT ? item->av.hold_ns : item->av.run_ns;
}

static bool is_of_late(const struct recent_entry *entry, uint64_t now_ns)
{
	return now_ns < entry->event.now_ns + RECENT_SLOW_NS;
}

static void forget_slow(struct content_recent *recent, uint64_t now_ns)
{
	unsigned n = 0;

	for (unsigned i = 0; i < recent->n_slow; i++) {
		if (!is_of_late(&recent->slow[i], now_ns))
			continue;
		if (n != i)
			recent->slow[n] = recent->slow[i];
		n++;
	}
	recent->n_slow = n;
}

static void add_slow(
	struct content_recent *recent, const struct event *event, const struct content_item *item)
{
	uint64_t its_ns = slowness_ns(item);
	unsigned at = 0;

	if (!its_ns)
		return;
	forget_slow(recent, event->now_ns);
	while (at < recent->n_slow && slowness_ns(&recent->slow[at].item) >= its_ns)
		at++;
	if (at == RECENT_SLOW_MAX)
		return;
	recent->n_slow += recent->n_slow < RECENT_SLOW_MAX;
	memmove(recent->slow + at + 1, recent->slow + at,
		(recent->n_slow - 1 - at) * sizeof(recent->slow[0]));
	recent->slow[at] = (struct recent_entry){.event = *event, .item = *item};
}

const struct recent_entry *content_recent_slow(
	const struct content_recent *recent, uint64_t now_ns, unsigned i)
{
	for (unsigned at = 0; at < recent->n_slow; at++)
		if (is_of_late(&recent->slow[at], now_ns) && i-- == 0)
			return &recent->slow[at];
	return NULL;
}

void content_recent_add(
	struct content_recent *recent, const struct event *event, const struct content_item *item)
{
	enum recent_kind kind = event->type == EVENT_CHAT ? RECENT_CHAT : RECENT_TRANSFERS;
	struct recent_entry *entry;

	if (event->type == EVENT_FILEINFO)
		add_slow(recent, event, item);
	if (!recent->max)
		return;
	if (event->type == EVENT_FILEINFO) {
		entry = table_find(recent, event->flow_id, item->file);
		if (!entry)
			return;
		entry->item = *item;
		entry->event.rule_uid = event->rule_uid;
		return;
	}
	entry = &recent->entries[kind][++recent->seen[kind] % recent->max];
	entry->seq = recent->seen[kind];
	entry->event = *event;
	entry->item = *item;
	if (kind == RECENT_TRANSFERS)
		table_put(recent, entry);
}

uint64_t content_recent_seen(const struct content_recent *recent, enum recent_kind kind)
{
	return recent->seen[kind];
}

const struct recent_entry *content_recent_at(
	const struct content_recent *recent, enum recent_kind kind, uint32_t i)
{
	return i < recent->seen[kind] ? entry_of(recent, kind, recent->seen[kind] - i) : NULL;
}
