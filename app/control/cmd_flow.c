// SPDX-License-Identifier: BSD-3-Clause
// flow-list, flow-show, trace.
#include <stdlib.h>
#include <string.h>

#include "selection.h"
#include "tick.h"

// Matches are kept per lcore, so that lists come in the same order again: lcore by lcore.
struct flow_list {
	struct selection selection;
	unsigned n_lcores;
	uint64_t matched;
	uint64_t seen;
	bool no_memory;
	struct kept {
		uint32_t n;
		uint32_t capacity;
		struct flow_record *records;
	} kept[LCORES_MAX];
};

static void list_free(void *state)
{
	struct flow_list *list = state;

	for (unsigned i = 0; i < list->n_lcores; i++)
		free(list->kept[i].records);
	selection_free(&list->selection);
	free(list);
}

static void keep(struct flow_list *list, struct kept *kept, const struct flow_record *record)
{
	struct flow_record *grown;

	// What stands behind offset + limit of one lcore cannot be on the page.
	if (kept->n >= list->selection.offset + list->selection.limit)
		return;
	if (kept->n == kept->capacity) {
		uint32_t capacity = kept->capacity ? kept->capacity * 2 : 64;

		grown = realloc(kept->records, capacity * sizeof *grown);
		if (!grown) {
			list->no_memory = true;
			return;
		}
		kept->records = grown;
		kept->capacity = capacity;
	}
	kept->records[kept->n++] = *record;
}

static void list_page(void *ctx, unsigned lcore, const struct query *query, bool last)
{
	struct flow_list *list = ((struct request *)ctx)->state;
	const struct flow_record *records = query->out;

	(void)last;
	list->seen += query->n;
	for (uint32_t i = 0; i < query->n; i++) {
		const struct flow_record *record = &records[i];

		if (!selection_has(&list->selection, record->app, record->ends.address[HALF_C2S],
			    record->ends.address[HALF_S2C]))
			continue;
		list->matched++;
		keep(list, &list->kept[lcore], record);
	}
}

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

static json_t *flow_json(const struct control_context *context, const struct flow_record *record)
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
	put_text(&object, "action", action_word(record->action));
	put_rule(&object, context, record->rule_uid);
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

static void list_end(void *ctx, const char *error)
{
	struct request *request = ctx;
	struct flow_list *list = request->state;
	uint32_t skip = list->selection.offset, left = list->selection.limit;
	json_t *message, *flows;

	request->inquiry = NULL;
	if (error || list->no_memory) {
		request_fail(request, "%s", error ? error : "no memory for the list");
		return;
	}
	message = json_object();
	flows = json_array();
	for (unsigned lcore = 0; lcore < list->n_lcores; lcore++) {
		const struct kept *kept = &list->kept[lcore];

		for (uint32_t i = 0; i < kept->n && left; i++) {
			if (skip) {
				skip--;
				continue;
			}
			left--;
			if (json_array_append_new(
				    flows, flow_json(request->context, &kept->records[i])) < 0)
				put_json(&message, "flows", NULL); // no memory: gives up
		}
	}
	put_number(&message, "total", list->seen);
	put_number(&message, "matched", list->matched);
	put_number(&message, "offset", list->selection.offset);
	put_json(&message, "flows", flows);
	request_ok(request, message);
}

void cmd_flow_list(struct request *request, json_t *arguments)
{
	struct selection selection;
	struct flow_list *list;

	if (!selection_read(request, arguments, &selection))
		return;
	list = calloc(1, sizeof *list);
	if (!list) {
		selection_free(&selection);
		request_fail(request, "no memory for the list");
		return;
	}
	list->selection = selection;
	list->n_lcores = request->context->dp->n_lcores;
	request->state = list;
	request->state_free = list_free;
	request_ask(request,
		&(struct inquiry_question){
			.type = QUERY_FLOWS, .page = list_page, .end = list_end, .ctx = request});
}

struct one_flow {
	bool found;
	struct flow_record record;
	uint64_t flow_id;
	uint64_t traced;
	bool trace_on;
};

static bool read_flow_id(struct request *request, json_int_t flow_id)
{
	if (flow_id > 0)
		return true;
	request_fail(request, "flow_id is a positive number, as flow-list and events show it");
	return false;
}

static struct one_flow *one_flow_new(struct request *request, json_int_t flow_id)
{
	struct one_flow *one = calloc(1, sizeof *one);

	if (!one) {
		request_fail(request, "no memory");
		return NULL;
	}
	one->flow_id = (uint64_t)flow_id;
	request->state = one;
	request->state_free = free;
	return one;
}

static void show_page(void *ctx, unsigned lcore, const struct query *query, bool last)
{
	struct one_flow *one = ((struct request *)ctx)->state;

	(void)lcore;
	(void)last;
	if (query->n) {
		one->found = true;
		one->record = ((const struct flow_record *)query->out)[0];
	}
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

static void fail_no_flow(struct request *request, uint64_t flow_id)
{
	request_fail(request, "no flow %llu: it has ended, or was never here",
		(unsigned long long)flow_id);
}

static void show_end(void *ctx, const char *error)
{
	struct request *request = ctx;
	struct one_flow *one = request->state;
	json_t *message;
	char id[32];

	request->inquiry = NULL;
	if (error) {
		request_fail(request, "%s", error);
		return;
	}
	if (!one->found) {
		fail_no_flow(request, one->flow_id);
		return;
	}
	message = flow_json(request->context, &one->record);
	put_number(&message, "data_pkts", one->record.n_data_pkts);
	community_id(&one->record.ends, one->record.l4_proto, id, sizeof id);
	put_text(&message, "community_id", id);
	if (one->record.l4_proto == IPPROTO_TCP) {
		put_tcp_half(&message, "tcp_toserver", &one->record, HALF_C2S);
		put_tcp_half(&message, "tcp_toclient", &one->record, HALF_S2C);
	}
	request_ok(request, message);
}

void cmd_flow_show(struct request *request, json_t *arguments)
{
	json_int_t flow_id;
	json_error_t error;

	if (json_unpack_ex(arguments, &error, JSON_STRICT, "{s:I}", "flow_id", &flow_id) < 0) {
		request_fail_arguments(request, error.text);
		return;
	}
	if (!read_flow_id(request, flow_id) || !one_flow_new(request, flow_id))
		return;
	request_ask(request, &(struct inquiry_question){.type = QUERY_FLOWS,
				     .flow_id = (uint64_t)flow_id,
				     .page = show_page,
				     .end = show_end,
				     .ctx = request});
}

static void trace_page(void *ctx, unsigned lcore, const struct query *query, bool last)
{
	struct one_flow *one = ((struct request *)ctx)->state;

	(void)lcore;
	(void)last;
	one->traced += query->total;
}

static void trace_end(void *ctx, const char *error)
{
	struct request *request = ctx;
	struct one_flow *one = request->state;
	json_t *message;

	request->inquiry = NULL;
	if (error) {
		request_fail(request, "%s", error);
		return;
	}
	if (!one->traced) {
		fail_no_flow(request, one->flow_id);
		return;
	}
	message = json_object();
	put_number(&message, "flow_id", one->flow_id);
	put_bool(&message, "trace", one->trace_on);
	request_ok(request, message);
}

void cmd_trace(struct request *request, json_t *arguments)
{
	json_int_t flow_id;
	json_error_t error;
	struct one_flow *one;
	int on;

	if (json_unpack_ex(arguments, &error, JSON_STRICT, "{s:I, s:b}", "flow_id", &flow_id, "on",
		    &on) < 0) {
		request_fail_arguments(request, error.text);
		return;
	}
	if (!read_flow_id(request, flow_id))
		return;
	one = one_flow_new(request, flow_id);
	if (!one)
		return;
	one->trace_on = on;
	request_ask(request, &(struct inquiry_question){.type = QUERY_TRACE,
				     .trace_on = on,
				     .flow_id = (uint64_t)flow_id,
				     .page = trace_page,
				     .end = trace_end,
				     .ctx = request});
}
