// SPDX-License-Identifier: BSD-3-Clause
// Formats each kind of event as a line of EVE JSON.
#include "control/event/eve.h"

#include <inttypes.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "base/address_text.h"
#include "content/content_id.h"
#include "scan/job.h"

void eve_head(struct json_out *out, uint64_t now_ns, const char *type)
{
	char stamp[40];

	eve_timestamp(now_ns, stamp, sizeof stamp);
	json_out_open(out, NULL, '{');
	json_out_string(out, "timestamp", stamp);
	json_out_string(out, "event_type", type);
}

const char *eve_rule(const struct eve_names *names, uint32_t uid)
{
	const char *id = uid ? rule_names_get(names->rules, uid) : "default";

	return id ? id : "?";
}

// Alert, drop and anomaly speak of a packet; the other types of the flow, from its initiator.
static bool is_of_packet(const struct event *event)
{
	return event->type == EVENT_ALERT || event->type == EVENT_DROP ||
	       event->type == EVENT_INVALID || event->type == EVENT_ANOMALY;
}

static void put_ends(const struct event *event, struct json_out *out)
{
	static const struct flow_ends none;
	const struct flow_ends *ends = &event->ends;
	unsigned from = is_of_packet(event) && event->half == HALF_S2C ? HALF_S2C : HALF_C2S;
	bool v4 = address_is_v4(ends->address[0]) && address_is_v4(ends->address[1]);
	bool cache = event->type == EVENT_CONNCACHE;
	bool icmp = event->l4_proto == IPPROTO_ICMP || event->l4_proto == IPPROTO_ICMPV6;
	char id[32], number[4];

	if (!memcmp(ends->address, none.address, sizeof none.address))
		return; // a frame that is not IP, or whose addresses could not be read
	json_out_address(out, "src_ip", ends->address[from]);
	// The cache's key has no initiator's port, and in mode peer neither port nor protocol.
	if (eve_has_ports(event->l4_proto) && !cache)
		json_out_u64(out, "src_port", ends->port[from]);
	json_out_address(out, "dest_ip", ends->address[!from]);
	if (eve_has_ports(event->l4_proto))
		json_out_u64(out, "dest_port", ends->port[!from]);
	if (event->l4_proto || !cache)
		json_out_string(out, "proto", eve_proto(event->l4_proto, number));
	if (icmp && !cache)
		json_out_u64(out, "icmp_type", ends->port[HALF_C2S]);
	json_out_u64(out, "ip_v", v4 ? 4 : 6);
	if (cache)
		return;
	community_id(ends, event->l4_proto, id, sizeof id);
	json_out_text(out, "community_id", id, strlen(id));
}

void eve_item_text(const struct item_id *item, char text[EVE_ITEM_ID_BYTES])
{
	text[0] = 0;
	if (item->number && item->flow_id)
		snprintf(text, EVE_ITEM_ID_BYTES, "%" PRIu64 "-%" PRIu32, item->flow_id & INT64_MAX,
			item->number);
}

void eve_item_id(const struct event *event, char text[EVE_ITEM_ID_BYTES])
{
	bool has_item = event->type == EVENT_ALERT || event->type == EVENT_FILE ||
			event->type == EVENT_FILEINFO || event->type == EVENT_CHAT ||
			event->type == EVENT_EVIDENCE;

	text[0] = 0;
	if (has_item)
		eve_item_text(&event->alert.item, text);
}

static void put_item_id(const struct event *event, struct json_out *out)
{
	char text[EVE_ITEM_ID_BYTES];

	eve_item_id(event, text);
	if (*text)
		json_out_string(out, "item_id", text);
}

void eve_head_of_flow(struct json_out *out, const struct event *event, const char *type)
{
	eve_head(out, event->now_ns, type);
	json_out_u64(out, "flow_id", event->flow_id & INT64_MAX);
	put_item_id(event, out);
	put_ends(event, out);
}

static void put_app(const struct eve_names *names, const struct event *event, struct json_out *out)
{
	const struct app_proto *app = app_names_get(names->apps, event->app);
	const struct app_proto *carrier = app_names_get(names->apps, event->carrier);
	const struct signature *signature = NULL;

	if (!app) {
		// Suricata's word for "we looked, and do not know".
		if (event->type == EVENT_FLOW && event->flow.gaveup)
			json_out_string(out, "app_proto", "failed");
		return;
	}
	if (names->sigdb)
		signature = sigdb_get(names->sigdb, event->signature);
	json_out_string(out, "app_proto", app->name);
	json_out_open(out, "app", '{');
	json_out_string(out, "name", app->name);
	json_out_string(out, "category", app_category_word(app->category));
	if (app->group)
		json_out_string(out, "group", app->group);
	json_out_string(out, "confidence", confidence_word(event->confidence));
	if (carrier)
		json_out_string(out, "carrier", carrier->name);
	if (event->learned)
		json_out_string(out, "learned_from", learned_from_word(event->learned - 1u));
	// payload has no pattern: what is known of it is its form
	bool by_shape = event->confidence == CONFIDENCE_PARTIAL && event->signature == UINT16_MAX;

	if (event->shaped || by_shape)
		json_out_bool(out, "shape", true);
	if (event->n_data_pkts) // unknown to the cache
		json_out_u64(out, "decided_pkts", event->n_data_pkts);
	if (signature)
		json_out_string(out, "signature", signature->id);
	json_out_close(out, '}');
}

// What happened to the packet: Suricata's `verdict`, beside alert and drop.
static void put_verdict(const struct event *event, struct json_out *out)
{
	bool blocked = event->type == EVENT_DROP ||
		       (event->mode == MODE_ENFORCE && action_blocks(event->action));

	json_out_open(out, "verdict", '{');
	json_out_string(out, "action", blocked ? "drop" : "alert");
	if (blocked && event->type == EVENT_ALERT && event->action == ACTION_RESET) {
		json_out_open(out, "reject", '[');
		json_out_string(
			out, NULL, event->l4_proto == IPPROTO_TCP ? "tcp-reset" : "icmp-prohib");
		json_out_close(out, ']');
		json_out_string(out, "reject_target",
			event->l4_proto == IPPROTO_TCP ? "both" : "to_client");
	}
	json_out_close(out, '}');
}

// The verdict of the scan engine that blocked the flow.
static void put_scan(const struct event *event, struct json_out *out)
{
	json_out_open(out, "scan", '{');
	json_out_string(out, "verdict", scan_value_word(event->alert.value));
	if (event->alert.value == SCAN_UNSCANNED)
		json_out_string(out, "reason", scan_reason_word(event->alert.reason));
	if (event->alert.name[0])
		json_out_text(out, "name", event->alert.name,
			strnlen(event->alert.name, sizeof event->alert.name));
	if (event->alert.has_id) {
		char id[CONTENT_ID_TEXT];

		json_out_string(out, "content_id", content_id_print(&event->alert.id, id));
	}
	json_out_u64(out, "offset", event->alert.from64 & INT64_MAX);
	json_out_u64(out, "length", (event->alert.to64 - event->alert.from64) & INT64_MAX);
	json_out_u64(out, "hold_ms", event->alert.held_ns / NS_PER_MS);
	json_out_close(out, '}');
}

static void put_alert(
	const struct eve_names *names, const struct event *event, struct json_out *out)
{
	const struct app_proto *app = app_names_get(names->apps, event->app);
	bool blocked = event->mode == MODE_ENFORCE && action_blocks(event->action);

	json_out_open(out, "alert", '{');
	json_out_string(out, "action", blocked ? "blocked" : "allowed");
	json_out_u64(out, "gid", 1);
	json_out_u64(out, "signature_id", event->rule_uid);
	json_out_u64(out, "rev", event->generation);
	json_out_string(out, "signature", eve_rule(names, event->rule_uid));
	json_out_string(out, "category", app ? app_category_word(app->category) : "address");
	json_out_u64(out, "severity", blocked ? 2 : 3);
	json_out_string(out, "rule_action", action_word(event->action));
	json_out_string(out, "rule_mode", event->mode == MODE_MONITOR ? "monitor" : "enforce");
	json_out_close(out, '}');
	put_verdict(event, out);
	if (event->alert.scanned)
		put_scan(event, out);
}

static void put_time(struct json_out *out, const char *key, uint64_t ns)
{
	char stamp[40];

	eve_timestamp(ns, stamp, sizeof stamp);
	json_out_text(out, key, stamp, strlen(stamp));
}

static void put_conncache(const struct event *event, struct json_out *out)
{
	static const char *const actions[] = {"add", "hit", "expire", "heal", "evict", "del"};
	static const char *const modes[] = {"none", "tuple", "peer"};

	json_out_open(out, "conncache", '{');
	json_out_string(
		out, "action", event->reason <= CONNCACHE_REMOVE ? actions[event->reason] : "?");
	json_out_string(out, "mode",
		event->conncache.cache_mode <= CACHE_PEER ? modes[event->conncache.cache_mode]
							  : "?");
	put_time(out, "created", event->conncache.created_ns);
	put_time(out, "expires", event->conncache.expires_ns);
	json_out_u64(out, "hits", event->conncache.hits);
	json_out_u64(out, "saved_bytes", event->conncache.saved_bytes);
	if (event->conncache.by_hand)
		json_out_string(out, "reason", "operator");
	json_out_close(out, '}');
}

static void put_operator(const struct event *event, struct json_out *out)
{
	static const char *const commands[] = {
		[OPERATOR_FLOW_RESET] = "flow-reset",
		[OPERATOR_FLOW_ALLOW] = "flow-allow",
		[OPERATOR_CACHE_EXEMPT] = "cache-exempt",
		[OPERATOR_CONTENT_ADD] = "content-add",
		[OPERATOR_CONTENT_DEL] = "content-del",
		[OPERATOR_CONTENT_FLUSH] = "content-flush",
	};
	static const char *const modes[] = {"none", "tuple", "peer"};
	uint8_t command = event->operation.command;

	json_out_open(out, "operator", '{');
	json_out_string(out, "command", command < OPERATOR_COMMANDS_MAX ? commands[command] : "?");
	if (command == OPERATOR_CACHE_EXEMPT) {
		json_out_text(out, "address", event->operation.text,
			strnlen(event->operation.text, sizeof event->operation.text));
		json_out_bool(out, "on", event->operation.on);
	}
	if (command == OPERATOR_CONTENT_ADD || command == OPERATOR_CONTENT_DEL)
		json_out_text(out, "content_id", event->operation.text,
			strnlen(event->operation.text, sizeof event->operation.text));
	if (command == OPERATOR_FLOW_RESET) {
		json_out_u64(out, "resets", event->operation.resets);
		json_out_string(out, "cache",
			event->operation.cache_mode <= CACHE_PEER
				? modes[event->operation.cache_mode]
				: "?");
	}
	if (command == OPERATOR_FLOW_ALLOW)
		json_out_bool(out, "condemned", event->operation.blocked);
	if (event->operation.ttl_s)
		json_out_u64(out, "ttl_s", event->operation.ttl_s);
	json_out_close(out, '}');
}

static void put_transfer(
	const struct redact_rules *redact, const struct event *event, struct json_out *out)
{
	const struct transfer_label *label = &event->transfer;
	const char *user = label->user, *file = label->file;

	json_out_open(out, "transfer", '{');
	if (*user)
		json_out_redacted(out, "user", (const uint8_t *)user,
			strnlen(user, sizeof label->user), redact->users);
	if (*file)
		json_out_redacted_name(out, "filename", (const uint8_t *)file,
			strnlen(file, sizeof label->file), redact->names);
	if (label->size)
		json_out_u64(out, "size", label->size & INT64_MAX);
	json_out_close(out, '}');
}

// The flow that announced this one.
static void put_expected(const struct event *event, struct json_out *out)
{
	if (!event->expected_as)
		return;
	json_out_open(out, "expected", '{');
	json_out_string(out, "as", expected_as_word(event->expected_as - 1u));
	json_out_u64(out, "parent", event->parent & INT64_MAX);
	json_out_close(out, '}');
}

// Suricata's `anomaly`: of a stream, or of the defragmenter.
static void put_anomaly(const struct event *event, struct json_out *out)
{
	static const struct {
		const char *type, *word;
	} words[] = {
#define X(symbol, type, word) {type, word},
		ANOMALIES(X)
#undef X
	};
	bool known = event->reason < ANOMALIES_MAX;

	json_out_open(out, "anomaly", '{');
	json_out_string(out, "type", known ? words[event->reason].type : "?");
	json_out_string(out, "event", known ? words[event->reason].word : "?");
	json_out_u64(out, "offset", event->anomaly.offset);
	json_out_u64(out, "bytes", event->anomaly.bytes);
	json_out_close(out, '}');
}

// And of what the decoder could not take.
static void put_invalid(const struct event *event, struct json_out *out)
{
	json_out_open(out, "anomaly", '{');
	json_out_string(out, "type", "decode");
	json_out_string(out, "event", drop_reason_word(event->reason));
	if (event->reason == DROP_UNSUPPORTED)
		json_out_string(out, "cause", unsupported_word(event->drop.cause));
	json_out_close(out, '}');
}

static const char *type_word(const struct event *event)
{
	static const char *const words[] = {
		[EVENT_FLOW] = "flow",
		[EVENT_ALERT] = "alert",
		[EVENT_DROP] = "drop",
		[EVENT_CONNCACHE] = "conncache",
		[EVENT_INVALID] = "anomaly",
		[EVENT_ANOMALY] = "anomaly",
		[EVENT_ELEPHANT] = "elephant",
		[EVENT_TRACE] = "trace",
		[EVENT_OPERATOR] = "operator",
		[EVENT_TRANSFER] = "transfer",
		[EVENT_FILE] = "transfer",
		[EVENT_FILEINFO] = "fileinfo",
		[EVENT_CHAT] = "chat",
		[EVENT_EVIDENCE] = "evidence",
		[EVENT_HANDSHAKE_META] = "?", // by its kind
		[EVENT_HANDSHAKE_META_MORE] = "?",
	};

	if (event->type == EVENT_HANDSHAKE_META)
		return eve_handshake_meta_word(event->meta.kind);
	return event->type < EVENT_TYPES_MAX ? words[event->type] : "?";
}

static bool names_rule(const struct event *event)
{
	if (event->rule_uid)
		return true;
	// Blocked by the policy's default, which has no uid.
	return event->type == EVENT_ALERT ||
	       (event->type == EVENT_DROP && event->reason == DROP_RULE) ||
	       (event->type == EVENT_FLOW && action_blocks(event->action) &&
		       event->flow.by_hand != FLOW_OPERATOR_RESET);
}

// What the events of all types have; the object stays open.
static void put_common(
	const struct eve_names *names, const struct event *event, struct json_out *out)
{
	const struct dataplane *dp = names->dp;
	const char *user;

	eve_head(out, event->now_ns, type_word(event));
	if (event->flow_id)
		json_out_u64(out, "flow_id", event->flow_id & INT64_MAX);
	put_item_id(event, out);
	if (event->in_port < dp->n_ports)
		json_out_string(out, "in_iface", dp->ports[event->in_port].name);
	if (event->pcap_cnt)
		json_out_u64(out, "pcap_cnt", event->pcap_cnt);
	if (event->n_vlan) {
		json_out_open(out, "vlan", '[');
		for (unsigned i = 0; i < event->n_vlan && i < 2; i++)
			json_out_u64(out, NULL, event->vlan[i]);
		json_out_close(out, ']');
	}
	put_ends(event, out);
	if (names->source)
		json_out_string(out, "pkt_src", names->source);
	put_app(names, event, out);
	put_expected(event, out);
	if (is_of_packet(event))
		json_out_string(
			out, "direction", event->half == HALF_S2C ? "to_client" : "to_server");
	json_out_u64(out, "generation", event->generation);
	json_out_u64(out, "lcore", event->lcore);
	user = event->user_uid ? rule_names_get(names->rules, event->user_uid) : NULL;
	if (user)
		json_out_string(out, "user", user);
	if (names_rule(event))
		json_out_string(out, "rule", eve_rule(names, event->rule_uid));
}

void eve_render_object(const struct eve_names *names, const struct event *event, const char *json,
	size_t length, struct json_out *out)
{
	put_common(names, event, out);
	json_out_raw(out, type_word(event), json, length);
	json_out_close(out, '}');
	json_out_newline(out);
}

void eve_render(const struct eve_names *names, const struct event *event,
	const struct handshake_record *meta, struct json_out *out)
{
	put_common(names, event, out);
	switch (event->type) {
	case EVENT_FLOW:
	case EVENT_ELEPHANT: eve_flow(event, out); break;
	case EVENT_ALERT: put_alert(names, event, out); break;
	case EVENT_DROP:
		eve_drop(event, out);
		put_verdict(event, out);
		break;
	case EVENT_CONNCACHE: put_conncache(event, out); break;
	case EVENT_INVALID: put_invalid(event, out); break;
	case EVENT_ANOMALY: put_anomaly(event, out); break;
	case EVENT_OPERATOR: put_operator(event, out); break;
	case EVENT_TRANSFER: put_transfer(&names->redact, event, out); break;
	case EVENT_TRACE:
		json_out_open(out, "trace", '{');
		json_out_text(out, "text", event->trace.text,
			strnlen(event->trace.text, sizeof event->trace.text));
		json_out_u64(out, "packet", event->trace.packet);
		json_out_u64(out, "frame_length", event->trace.frame_length);
		json_out_u64(out, "payload_length", event->trace.payload_len);
		json_out_close(out, '}');
		break;
	default: break;
	}
	if (meta)
		eve_handshake(meta, out);
	json_out_close(out, '}');
	json_out_newline(out);
}
