// SPDX-License-Identifier: BSD-3-Clause
// Formats a connection cache entry as JSON for the control socket.
#include "control/ctl/cache_json.h"

#include "control/ctl/list_filter.h"
#include "pipeline/vocab/tick.h"

static void put_entry_user(
	json_t **parent, const struct control_context *context, const struct conn_key *key)
{
	const struct policy *policy = reload_policy(context->reload);
	const uint8_t *inside = key->from_inside ? key->initiator : key->responder;
	uint32_t user = policy ? user_map_find(&policy->users, inside) : USER_NONE;

	if (user != USER_NONE)
		put_text(parent, "user", policy->users.users[user].name);
}

json_t *cache_entry_json(const struct control_context *context, const struct conn_entry *entry)
{
	uint64_t now_ns = context->now_ns();
	json_t *object = json_object();

	put_address(&object, "src_ip", entry->key.initiator);
	put_address(&object, "dest_ip", entry->key.responder);
	if (entry->key.mode == CACHE_TUPLE) {
		put_number(&object, "dest_port", entry->key.port);
		put_proto(&object, entry->key.l4_proto);
	}
	put_text(&object, "mode", entry->key.mode == CACHE_PEER ? "peer" : "tuple");
	put_text(&object, "zone", entry->key.from_inside ? "inside" : "outside");
	put_realm(&object, entry->key.realm);
	put_app(&object, context, entry->app, entry->confidence, UINT16_MAX, 0);
	put_rule(&object, context, entry->rule_uid);
	put_entry_user(&object, context, &entry->key);
	if (entry->flow_id) // of the flow that taught it; not kept over restarts
		put_number(&object, "flow_id", entry->flow_id & INT64_MAX);
	if (!entry->rule_uid || entry->flags & CONN_ENTRY_OPERATOR)
		put_bool(&object, "operator", true);
	if (entry->flags & CONN_ENTRY_ALLOWED)
		put_bool(&object, "allowed", true);
	put_time(&object, "created", entry->created_ns);
	put_time(&object, "expires", entry->expires_ns);
	put_number(&object, "ttl_s",
		entry->expires_ns > now_ns ? (entry->expires_ns - now_ns) / NS_PER_S : 0);
	put_number(&object, "hits", entry->hits);
	put_number(&object, "saved_bytes", entry->saved_bytes);
	return object;
}
