// SPDX-License-Identifier: BSD-3-Clause
// The commands flow-reset and flow-allow: the lcore that has the flow acts; who allows a blocked
// one lets the connections of its ends pass on all lcores.
#include <stdlib.h>
#include <string.h>

#include "control/ctl/arguments.h"
#include "pipeline/vocab/tick.h"
#include "pipeline/cache/conn_cache.h"
#include "pipeline/query.h"

#define ALLOW_DEFAULT_S 300 // of a blocked flow's ends
#define ALLOW_MAX_S     86400

struct operation {
	uint64_t flow_id;
	uint64_t ttl_s; // 0: not said
	unsigned cache; // enum cache_mode
	bool allow;
	bool found;
	bool too_many;
	uint64_t resets;
	struct flow_record record; // as it was before
};

static void operation_page(void *ctx, unsigned lcore, const struct query *query, bool last)
{
	struct operation *operation = ((struct request *)ctx)->state;

	(void)lcore;
	(void)last;
	if (!query->n)
		return;
	operation->found = true;
	operation->record = ((const struct flow_record *)query->out)[0];
	operation->resets = query->aside;
	operation->too_many = operation->allow && !query->total;
}

static const char *was_word(const struct flow_record *record)
{
	if (record->lru_class == FLOW_CLASS_BLOCKED)
		return "condemned";
	return record->lru_class < FLOW_CLASS_BLOCKED ? "embryonic" : "flow";
}

static void report(struct request *request, const struct operation *operation)
{
	const struct flow_record *record = &operation->record;
	struct event event = {
		.now_ns = request->context->now_ns(),
		.flow_id = record->flow_id,
		.generation = reload_generation(request->context->reload),
		.type = EVENT_OPERATOR,
		.lcore = record->lcore,
		.in_port = PORT_NONE,
		.l4_proto = record->l4_proto,
		.n_vlan = record->n_vlan,
		.vlan = {record->vlan[0], record->vlan[1]},
		.app = record->app,
		.signature = record->signature,
		.confidence = record->confidence,
		.ends = record->ends,
		.operation = {.command =
				      operation->allow ? OPERATOR_FLOW_ALLOW : OPERATOR_FLOW_RESET,
			.cache_mode = (uint8_t)operation->cache,
			.resets = (uint32_t)operation->resets,
			.ttl_s = operation->ttl_s,
			.blocked = record->lru_class == FLOW_CLASS_BLOCKED},
	};

	if (request->context->sink)
		sink_event(request->context->sink, &event);
}

static void answer(struct request *request)
{
	const struct operation *operation = request->state;
	json_t *message = json_object();

	report(request, operation);
	put_number(&message, "flow_id", operation->flow_id);
	put_text(&message, "was", was_word(&operation->record));
	if (operation->allow && operation->ttl_s)
		put_number(&message, "ttl_s", operation->ttl_s);
	if (!operation->allow) {
		static const char *const words[] = {"none", "tuple", "peer"};

		put_number(&message, "resets", operation->resets);
		put_text(&message, "cache", words[operation->cache]);
	}
	request_ok(request, message);
}

static void permit_end(struct request *request, const char *error)
{
	if (error)
		request_fail(request,
			"%s; the flow is forgotten, but its ends may be blocked again", error);
	else
		answer(request);
}

// The key is that of the connection cache: the client's next port is another.
static void permit(struct request *request)
{
	struct operation *operation = request->state;
	const struct flow_record *record = &operation->record;
	uint64_t now_ns = request->context->now_ns();

	if (!operation->ttl_s)
		operation->ttl_s = ALLOW_DEFAULT_S;
	struct conn_entry entry = {
		.key = {.port = record->ends.port[HALF_S2C],
			.realm = record->realm,
			.l4_proto = record->l4_proto,
			.from_inside = !!(record->flags & FLOW_C2S_INSIDE),
			.mode = CACHE_TUPLE},
		.created_ns = now_ns,
		.expires_ns = now_ns + operation->ttl_s * NS_PER_S,
		.flow_id = record->flow_id,
		.app = record->app,
		.confidence = record->confidence,
		.flags = CONN_ENTRY_OPERATOR | CONN_ENTRY_FIXED | CONN_ENTRY_ALLOWED,
	};

	memcpy(entry.key.initiator, record->ends.address[HALF_C2S], 16);
	memcpy(entry.key.responder, record->ends.address[HALF_S2C], 16);
	request_ask(request, &(struct inquiry_question){.type = QUERY_CACHE_PUT, .entry = entry},
		permit_end);
}

static void operation_end(struct request *request, const char *error)
{
	const struct operation *operation = request->state;
	bool blocked = operation->record.lru_class == FLOW_CLASS_BLOCKED;

	// one lcore may stand still while another has acted
	if (error && !operation->found)
		request_fail(request, "%s", error);
	else if (!operation->found)
		request_fail(request, "no flow %llu: it has ended, or was never here",
			(unsigned long long)operation->flow_id);
	else if (operation->too_many)
		request_fail(request,
			"flow %llu: too many flows are allowed for a time; allow it without ttl_s",
			(unsigned long long)operation->flow_id);
	else if (blocked && !operation->allow)
		request_fail(request, "flow %llu is condemned already: its packets are dropped",
			(unsigned long long)operation->flow_id);
	else if (blocked)
		permit(request);
	else
		answer(request);
}

static void run(struct request *request, const struct operation *read)
{
	struct operation *operation = malloc(sizeof *operation);

	if (!operation) {
		request_fail(request, "no memory");
		return;
	}
	*operation = *read;
	request->state = operation;
	request->state_free = free;
	request_ask(request,
		&(struct inquiry_question){
			.type = operation->allow ? QUERY_FLOW_ALLOW : QUERY_FLOW_RESET,
			.flow_id = operation->flow_id,
			.cache = (uint8_t)operation->cache,
			.ttl_ns = operation->ttl_s * NS_PER_S,
			.page = operation_page},
		operation_end);
}

COMMAND(flow_reset, "flow-reset", "flow_id, cache", "tears a flow down, at both ends")
{
	static const char *const modes[] = {
		[CACHE_NONE] = "none", [CACHE_TUPLE] = "tuple", [CACHE_PEER] = "peer", NULL};
	struct operation operation = {.cache = CACHE_NONE};

	if (arguments_known(request, arguments) &&
		argument_flow_id(request, arguments, &operation.flow_id) &&
		argument_word(request, arguments, "cache", modes, &operation.cache))
		run(request, &operation);
}

COMMAND(flow_allow, "flow-allow", "flow_id, ttl_s", "lets a flow pass, whatever the policy says")
{
	struct operation operation = {.allow = true};

	if (arguments_known(request, arguments) &&
		argument_flow_id(request, arguments, &operation.flow_id) &&
		argument_number(request, arguments, "ttl_s", 1, ALLOW_MAX_S, &operation.ttl_s))
		run(request, &operation);
}
