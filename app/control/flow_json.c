// SPDX-License-Identifier: BSD-3-Clause
#include "flow_json.h"

#include <netinet/in.h>

#include "flow_filter.h"
#include "selection.h"
#include "tick.h"

static const char *class_word(uint8_t lru_class)
{
	static const char *const words[] = {
		"embryonic", "stateless", "condemned", "tcp", "tcp_closing", "udp_one_way", "udp"};

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
			json_array_append_new(list, json_string(words[i].word));
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
		json_array_append_new(list, json_integer(record->vlan[i]));
	put_json(parent, "vlan", list);
}

static uint64_t seconds_since(uint64_t now_ns, uint64_t then_ns)
{
	return now_ns > then_ns ? (now_ns - then_ns) / NS_PER_S : 0;
}

json_t *flow_json(const struct control_context *context, const struct flow_record *record)
{
	bool ports = record->l4_proto == IPPROTO_TCP || record->l4_proto == IPPROTO_UDP ||
		     record->l4_proto == IPPROTO_SCTP;
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

static void put_tcp_half(
	json_t **parent, const char *key, const struct flow_record *record, enum half half)
{
	json_t *object = json_object();

	put_number(&object, "tcp_flags", record->tcp_flags[half]);
	put_number(&object, "next", record->next[half]);
	put_number(&object, "released", record->released[half]);
	put_number(&object, "acked", record->acked[half]);
	put_json(parent, key, object);
}

json_t *flow_json_whole(const struct control_context *context, const struct flow_record *record)
{
	json_t *object = flow_json(context, record);
	char id[32];

	put_number(&object, "data_pkts", record->n_data_pkts);
	community_id(&record->ends, record->l4_proto, id, sizeof id);
	put_text(&object, "community_id", id);
	if (record->l4_proto == IPPROTO_TCP) {
		put_tcp_half(&object, "tcp_toserver", record, HALF_C2S);
		put_tcp_half(&object, "tcp_toclient", record, HALF_S2C);
	}
	return object;
}
