// SPDX-License-Identifier: BSD-3-Clause
// Formats a live flow as JSON for the control socket.
#include "control/ctl/flow_json.h"
#include "control/ctl/content_json.h"
#include "base/address_text.h"

#include <netinet/in.h>
#include <string.h>

#include "control/event/eve.h"
#include "control/ctl/flow_filter.h"
#include "control/ctl/list_filter.h"
#include "pipeline/vocab/tick.h"
#include "pipeline/flow/expect.h"
#include "pipeline/query.h"

static const char *class_word(uint8_t lru_class)
{
#define X(symbol, word, rank) word,
	static const char *const words[] = {FLOW_CLASSES(X)};
#undef X

	return lru_class < FLOW_CLASS_MAX ? words[lru_class] : "?";
}

static void put_flags(json_t **parent, uint16_t flags)
{
	static const struct {
		uint16_t flag;
		const char *word;
	} words[] = {
		{FLOW_MIDSTREAM, "midstream"},
		{FLOW_APP_FINAL, "app_final"},
		{FLOW_FINAL, "final"},
		{FLOW_TRACE, "trace"},
		{FLOW_GAVEUP, "gaveup"},
		{FLOW_MONITORED, "monitored"},
		{FLOW_DECODED, "decoded"},
		{FLOW_NOMEM, "no_state"},
		{FLOW_ELEPHANT, "elephant"},
		{FLOW_ALLOWED, "allowed"},
		{FLOW_OPERATOR, "operator"},
	};
	json_t *list = json_array();

	for (size_t i = 0; list && i < sizeof words / sizeof words[0]; i++) {
		if (flags & words[i].flag)
			put_item(&list, json_string(words[i].word));
	}
	put_json(parent, "flags", list);
}

static void put_vlans(json_t **parent, const struct flow_record *record)
{
	json_t *list;

	if (!record->n_vlan)
		return;
	list = json_array();
	for (unsigned i = 0; list && i < record->n_vlan && i < 2; i++)
		put_item(&list, json_integer(record->vlan[i]));
	put_json(parent, "vlan", list);
}

static uint64_t seconds_since(uint64_t now_ns, uint64_t then_ns)
{
	return now_ns > then_ns ? (now_ns - then_ns) / NS_PER_S : 0;
}

static void put_frame(json_t **parent, const struct flow_record *record)
{
	char text[MAC_TEXT_SIZE];

	if (record->has_mac)
		put_text(parent, "mac", mac_text(record->mac, text));
	put_number(parent, "dscp", record->dscp);
}

static json_t *flow_members(const struct control_context *context, const struct flow_record *record)
{
	bool ports = eve_has_ports(record->l4_proto);
	uint64_t now_ns = context->now_ns();
	json_t *object = json_object();

	put_number(&object, "flow_id", record->flow_id & INT64_MAX);
	put_number(&object, "lcore", record->lcore);
	put_proto(&object, record->l4_proto);
	put_address(&object, "src_ip", record->ends.address[HALF_C2S]);
	if (ports)
		put_number(&object, "src_port", record->ends.port[HALF_C2S]);
	put_address(&object, "dest_ip", record->ends.address[HALF_S2C]);
	if (ports)
		put_number(&object, "dest_port", record->ends.port[HALF_S2C]);
	put_vlans(&object, record);
	put_frame(&object, record);
	put_app(&object, context, record->app, record->confidence, record->signature,
		record->decided_pkts);
	put_text(&object, "state", class_word(record->lru_class));
	put_text(&object, "state_word", flow_state_text(flow_record_state(record)));
	put_text(&object, "direction", record->flags & FLOW_C2S_INSIDE ? "outbound" : "inbound");
	put_text(&object, "action", action_word(record->action));
	put_rule(&object, context, record->rule_uid);
	put_user(&object, context, record->user_uid);
	put_number(&object, "generation", record->generation);
	put_time(&object, "start", record->start_ns);
	put_number(&object, "age_s", seconds_since(now_ns, record->start_ns));
	put_number(&object, "idle_s", seconds_since(now_ns, record->last_ns));
	put_number(&object, "pkts_toserver", record->pkts[HALF_C2S]);
	put_number(&object, "pkts_toclient", record->pkts[HALF_S2C]);
	put_number(&object, "bytes_toserver", record->bytes[HALF_C2S]);
	put_number(&object, "bytes_toclient", record->bytes[HALF_S2C]);
	put_number(&object, "rate_bytes_s", record->rate_bytes_s);
	put_flags(&object, record->flags);
	return object;
}

json_t *flow_json(const struct control_context *context, const struct flow_record *record)
{
	json_t *object = flow_members(context, record);

	content_json_put(&object, context, record, NULL);
	return object;
}

static void put_bits(json_t **parent, uint8_t bits)
{
	static const char *const words[] = {
#define X(symbol, word) word,
		STREAM_LOOKS(X)
#undef X
	};
	json_t *list = json_array();

	for (unsigned bit = 0; list && bit < STREAM_LOOKS_MAX; bit++) {
		if (bits & 1 << bit)
			put_item(&list, json_string(words[bit]));
	}
	put_json(parent, "is", list);
}

static uint64_t ms_since(uint64_t now_ns, uint64_t then_ns)
{
	return now_ns > then_ns ? (now_ns - then_ns) / 1000000 : 0;
}

// What held segments wait for.
static const char *waits_for(const struct stream_look *look)
{
	if (look->bits & 1 << STREAM_LOOK_PROCESSING)
		return look->job_ns ? "scan" : "job";
	return look->bits & 1 << STREAM_LOOK_RELEASING ? "release" : "hole";
}

static void put_counts(json_t **parent, const struct stream_look *look, uint64_t now_ns)
{
	const struct {
		const char *key;
		const struct stream_count *count;
	} rows[] = {{"copies", &look->copies}, {"sent", &look->sent}, {"held", &look->held}};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		json_t *object = json_object();

		put_number(&object, "segments", rows[i].count->segments);
		put_number(&object, "bytes", rows[i].count->bytes);
		if (rows[i].count == &look->copies)
			put_number(&object, "holes", look->holes);
		if (rows[i].count == &look->held && look->held.segments) {
			put_number(&object, "for_ms", ms_since(now_ns, look->held_ns));
			put_text(&object, "waits_for", waits_for(look));
		}
		put_json(parent, rows[i].key, object);
	}
}

// Offsets count bytes of the half; the numbers beside them are TCP's.
static void put_look(json_t **parent, const struct stream_look *look, uint64_t now_ns)
{
	put_bits(parent, look->bits);
	put_number(parent, "next_offset", look->next);
	put_number(parent, "released_offset", look->released);
	put_number(parent, "acked_offset", look->acked);
	if (look->has_window)
		put_number(parent, "window", look->window);
	put_counts(parent, look, now_ns);
	if (look->job_ns)
		put_number(parent, "job_ms", ms_since(now_ns, look->job_ns));
}

// As in the flow's event.
static void put_report(json_t **parent, const struct stream_half_report *of)
{
	put_number(parent, "gaps", of->gaps);
	put_number(parent, "gap_bytes", of->gap_bytes);
	put_number(parent, "conflict_bytes", of->conflict_bytes);
	put_number(parent, "dup_bytes", of->duplicate_bytes);
	put_number(parent, "copied_kb", of->copied_kb);
	put_number(parent, "held_pkts", of->held_pkts);
	put_number(parent, "held_ms", of->held_cs * UINT64_C(10));
}

static void put_tcp_half(json_t **parent, const char *key, const struct flow_record *record,
	const struct flow_look *look, enum half half, uint64_t now_ns)
{
	json_t *object = json_object();

	put_number(&object, "tcp_flags", record->tcp_flags[half]);
	put_number(&object, "next", record->next[half]);
	put_number(&object, "released", record->released[half]);
	put_number(&object, "acked", record->acked[half]);
	if (look && look->tracked)
		put_look(&object, &look->half[half], now_ns);
	if (look)
		put_report(&object, &look->report.half[half]);
	put_json(parent, key, object);
}

static void put_targets(json_t **parent, const char *key, uint8_t targets)
{
	json_t *list;

	if (!targets)
		return;
	list = json_array();
	for (unsigned target = 0; list && target < STREAM_TARGETS_MAX; target++) {
		if (targets & 1 << target)
			put_item(&list, json_string(stream_target_word(target)));
	}
	put_json(parent, key, list);
}

// Off the wire: what is no UTF-8 is shown without its foreign letters.
static void put_name(json_t **parent, const char *key, const char *text, size_t size)
{
	char copy[TRANSFER_FILE_BYTES];
	size_t n = strnlen(text, RTE_MIN(size, sizeof copy - 1));
	json_t *value = json_stringn(text, n);

	if (!n) {
		json_decref(value);
		return;
	}
	for (size_t i = 0; i < n; i++)
		copy[i] = text[i];
	for (size_t i = 0; !value && i < n; i++) {
		if (copy[i] & 0x80)
			copy[i] = '?';
	}
	put_json(parent, key, value ? value : json_stringn(copy, n));
}

static void put_expected(json_t **parent, const struct expected *expected)
{
	const struct transfer_label *label = &expected->what.label;
	json_t *object;

	if (!expected->parent)
		return;
	object = json_object();
	put_text(&object, "as", expected_as_word(expected->what.as));
	put_number(&object, "parent", expected->parent & INT64_MAX);
	put_name(&object, "user", label->user, sizeof label->user);
	put_name(&object, "filename", label->file, sizeof label->file);
	if (label->size)
		put_number(&object, "size", label->size & INT64_MAX);
	put_json(parent, "expected", object);
}

json_t *flow_json_whole(const struct control_context *context, const struct flow_record *record,
	const struct flow_look *look, const struct content_look *content)
{
	json_t *object = flow_members(context, record);
	uint64_t now_ns = context->now_ns();
	char id[32];

	put_number(&object, "data_pkts", record->n_data_pkts);
	community_id(&record->ends, record->l4_proto, id, sizeof id);
	put_text(&object, "community_id", id);
	content_json_put(&object, context, record, content);
	if (look) {
		put_expected(&object, &look->expected);
		put_targets(&object, "room_ended_dropped", look->report.dropped);
		put_targets(&object, "law_waived", look->report.passed);
		put_targets(&object, "room_ended_ignored", look->report.ignored);
	}
	if (record->l4_proto == IPPROTO_TCP) {
		if (look)
			put_bool(&object, "tracked", look->tracked);
		put_tcp_half(&object, "tcp_toserver", record, look, HALF_C2S, now_ns);
		put_tcp_half(&object, "tcp_toclient", record, look, HALF_S2C, now_ns);
	}
	return object;
}
