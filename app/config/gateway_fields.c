// SPDX-License-Identifier: BSD-3-Clause
// The table of the keys of gateway.json, with their types, bounds and defaults.
#include "config/gateway_fields.h"

const char *const gateway_pair_modes[] = {"bridge", NULL};
static const char *const vlan_words[] = {
	[GATEWAY_VLAN_SEPARATE] = "separate", [GATEWAY_VLAN_SHARED] = "shared", NULL};

// Every key of gateway.json is read once, before the ports start: none is live.
const struct json_field gateway_fields[] = {
	{.name = "$schema", .kind = JSON_KIND_IGNORE},
	{.name = "schema_version",
		.kind = JSON_KIND_READ,
		.read = json_read_schema_version,
		.required = true},
	{.name = "eal", .kind = JSON_KIND_READ, .read = gateway_read_eal},
	{.name = "ports", .kind = JSON_KIND_READ, .read = gateway_read_ports, .required = true},
	{.name = "pairs", .kind = JSON_KIND_READ, .read = gateway_read_pairs, .required = true},
	{.name = "lcores", .kind = JSON_KIND_READ, .read = gateway_read_lcores, .required = true},
	{.name = "memory", .kind = JSON_KIND_READ, .read = gateway_read_memory},
	{.name = "limits", .kind = JSON_KIND_READ, .read = gateway_read_limits},
	{.name = "fragments", .kind = JSON_KIND_READ, .read = gateway_read_fragments},
	{.name = "elephant", .kind = JSON_KIND_READ, .read = gateway_read_elephant},
	{.name = "events", .kind = JSON_KIND_READ, .read = gateway_read_events},
	{.name = "reassembly", .kind = JSON_KIND_READ, .read = gateway_read_reassembly},
	{.name = "stall", .kind = JSON_KIND_READ, .read = gateway_read_stall},
	{.name = "scan", .kind = JSON_KIND_READ, .read = gateway_read_scan},
	{.name = "impairment", .kind = JSON_KIND_READ, .read = gateway_read_impairment},
	{.name = "paths", .kind = JSON_KIND_READ, .read = gateway_read_paths},
	{.name = "http", .kind = JSON_KIND_READ, .read = gateway_read_http},
	{.name = "hook", .kind = JSON_KIND_READ, .read = gateway_read_hook},
	{.name = "user",
		.kind = JSON_KIND_STRING,
		.offset = offsetof(struct gateway, user),
		.min = 1,
		.max = 64,
		.nullable = true},
	{.name = "group",
		.kind = JSON_KIND_STRING,
		.offset = offsetof(struct gateway, group),
		.min = 1,
		.max = 64,
		.nullable = true},
	{.name = "sandbox",
		.kind = JSON_KIND_FLAG,
		.offset = offsetof(struct gateway, sandbox),
		.fallback = true},
	{.name = "control_group",
		.kind = JSON_KIND_STRING,
		.offset = offsetof(struct gateway, control_group),
		.min = 1,
		.max = 64,
		.nullable = true},
	{.name = "stats_interval_s",
		.kind = JSON_KIND_U32,
		.offset = offsetof(struct gateway, stats_interval_s),
		.max = 86400,
		.fallback = 10},
	{.name = "signature_cache_days",
		.kind = JSON_KIND_U32,
		.offset = offsetof(struct gateway, signature_cache_days),
		.max = 3650,
		.fallback = 30},
	{.name = "drain_s",
		.kind = JSON_KIND_U32,
		.offset = offsetof(struct gateway, drain_s),
		.max = 60,
		.fallback = 2},
	{.name = "vlan",
		.kind = JSON_KIND_WORD,
		.offset = offsetof(struct gateway, vlan),
		.words = vlan_words,
		.fallback = GATEWAY_VLAN_SEPARATE},
	{.name = "debug", .kind = JSON_KIND_FLAG, .offset = offsetof(struct gateway, debug)},
	{.name = "idle_sleep",
		.kind = JSON_KIND_FLAG,
		.offset = offsetof(struct gateway, idle_sleep)},
	{.name = "flow_events",
		.kind = JSON_KIND_FLAG,
		.offset = offsetof(struct gateway, flow_events),
		.fallback = true},
	{.name = "drop_events",
		.kind = JSON_KIND_FLAG,
		.offset = offsetof(struct gateway, drop_events),
		.fallback = true},
	{.name = "greeting_events",
		.kind = JSON_KIND_FLAG,
		.offset = offsetof(struct gateway, greeting_events),
		.fallback = true},
	JSON_FIELD_END,
};

const struct json_field gateway_memory_fields[] = {
	{.name = "memory.mbufs",
		.kind = JSON_KIND_U32,
		.offset = offsetof(struct gateway, memory.mbufs),
		.min = 1024,
		.max = 67108864,
		.zero = true},
	{.name = "memory.hugepages",
		.kind = JSON_KIND_FLAG,
		.offset = offsetof(struct gateway, memory.hugepages),
		.fallback = true},
	{.name = "memory.mb",
		.kind = JSON_KIND_U32,
		.offset = offsetof(struct gateway, memory.mb),
		.min = 64,
		.max = 1048576,
		.zero = true},
	JSON_FIELD_END,
};

#define COUNT(key, low, high, value)                                                         \
	{                                                                                    \
		.name = "limits." #key, .kind = JSON_KIND_U32,                               \
		.offset = offsetof(struct gateway, limits.key), .min = (low), .max = (high), \
		.fallback = (value)                                                          \
	}

// The time-outs are those of flow_timeouts_default (app/pipeline/flow/table.c); a test says so.
const struct json_field gateway_limits_fields[] = {
	COUNT(flows, 1024, 268435456, 1048576),
	COUNT(embryos, 1024, 268435456, 1048576),
	COUNT(classifying, 64, 16777216, 65536),
	COUNT(heads, 16, 1048576, 4096),
	COUNT(conn_cache, 64, 16777216, 65536),
	COUNT(expectations, 64, 1048576, 16384),
	COUNT(endpoints, 0, 1048576, 32768),
	COUNT(names, 0, 1048576, 32768),
	COUNT(greetings, 0, 16777216, 65536),
	COUNT(evidence, 1024, 16777216, 65536),
	COUNT(source_pct, 1, 100, 10),
	COUNT(tcp_s, 1, 604800, 7440),
	COUNT(tcp_unheard_s, 1, 3600, 30),
	COUNT(tcp_closing_s, 1, 3600, 15),
	COUNT(udp_s, 1, 86400, 300),
	COUNT(udp_one_way_s, 1, 86400, 30),
	COUNT(embryonic_s, 1, 3600, 30),
	COUNT(stateless_s, 1, 3600, 30),
	COUNT(condemned_s, 1, 120, 120),
	JSON_FIELD_END,
};

#define FRAGMENTS(key, low, high, value)                                                        \
	{                                                                                       \
		.name = "fragments." #key, .kind = JSON_KIND_U32,                               \
		.offset = offsetof(struct gateway, fragments.key), .min = (low), .max = (high), \
		.fallback = (value)                                                             \
	}

const struct json_field gateway_fragments_fields[] = {
	FRAGMENTS(datagrams, 16, 65536, 1024),
	FRAGMENTS(packets, 64, 262144, 4096),
	FRAGMENTS(per_datagram, 2, 1024, 128),
	FRAGMENTS(timeout_ms, 100, 120000, 30000),
	JSON_FIELD_END,
};

const struct json_field gateway_elephant_fields[] = {
	{.name = "elephant.mbit_s",
		.kind = JSON_KIND_U32,
		.offset = offsetof(struct gateway, elephant.mbit_s),
		.max = 1000000,
		.fallback = 100},
	{.name = "elephant.seconds",
		.kind = JSON_KIND_U32,
		.offset = offsetof(struct gateway, elephant.seconds),
		.min = 1,
		.max = 240,
		.fallback = 5},
	JSON_FIELD_END,
};

#define EVENTS(key, low, high, value)                                                        \
	{                                                                                    \
		.name = "events." #key, .kind = JSON_KIND_U32,                               \
		.offset = offsetof(struct gateway, events.key), .min = (low), .max = (high), \
		.fallback = (value)                                                          \
	}

const struct json_field gateway_events_fields[] = {
	EVENTS(per_s, 0, 1000000, 5000),
	EVENTS(source_per_s, 0, 1000000, 500),
	EVENTS(file_mb, 0, 1048576, 1024),
	EVENTS(files, 1, 100, 4),
	JSON_FIELD_END,
};

#define REASSEMBLY(key, low, high, value)                                                        \
	{                                                                                        \
		.name = "reassembly." #key, .kind = JSON_KIND_U32,                               \
		.offset = offsetof(struct gateway, reassembly.key), .min = (low), .max = (high), \
		.fallback = (value)                                                              \
	}

const struct json_field gateway_reassembly_fields[] = {
	REASSEMBLY(memory_mb, 1, 1048576, 64),
	REASSEMBLY(tracked, 64, 16777216, 65536),
	REASSEMBLY(half_kb, 64, 1048576, 16384),
	REASSEMBLY(held, 16, 1048576, 4096),
	REASSEMBLY(half_held, 4, 65536, 512),
	REASSEMBLY(hold_ms, 100, 600000, 30000),
	{.name = "reassembly.fast_pass",
		.kind = JSON_KIND_FLAG,
		.offset = offsetof(struct gateway, reassembly.fast_pass),
		.fallback = true},
	JSON_FIELD_END,
};

static const char *const stall_policies[] = {
	[STALL_CLOSED] = "closed", [STALL_OPEN] = "open", NULL};

const struct json_field gateway_stall_fields[] = {
	{.name = "stall.after_ms",
		.kind = JSON_KIND_U32,
		.offset = offsetof(struct gateway, stall.after_ms),
		.min = 200,
		.max = 60000,
		.fallback = 500},
	{.name = "stall.policy",
		.kind = JSON_KIND_WORD,
		.offset = offsetof(struct gateway, stall.policy),
		.words = stall_policies,
		.fallback = STALL_CLOSED},
	JSON_FIELD_END,
};

static const char *const impairment_places[] = {
	[GATEWAY_IMPAIR_RX] = "rx", [GATEWAY_IMPAIR_TX] = "tx", NULL};
static const char *const impairment_keys[] = {
	[GATEWAY_FLOW_KEY_SERVICE] = "service", [GATEWAY_FLOW_KEY_TUPLE] = "tuple", NULL};
static const char *const loss_models[] = {[GATEWAY_LOSS_BERNOULLI] = "bernoulli",
	[GATEWAY_LOSS_GILBERT_ELLIOTT] = "gilbert_elliott",
	NULL};

const struct json_field gateway_impairment_fields[] = {
	{.name = "impairment.at",
		.kind = JSON_KIND_WORD,
		.offset = offsetof(struct gateway, impairment.at),
		.words = impairment_places},
	{.name = "impairment.seed",
		.kind = JSON_KIND_U32,
		.offset = offsetof(struct gateway, impairment.seed),
		.max = UINT32_MAX,
		.fallback = 1},
	{.name = "impairment.flow_key",
		.kind = JSON_KIND_WORD,
		.offset = offsetof(struct gateway, impairment.flow_key),
		.words = impairment_keys},
	{.name = "impairment.limit",
		.kind = JSON_KIND_U32,
		.offset = offsetof(struct gateway, impairment.limit),
		.min = 64,
		.max = 1048576,
		.fallback = 16384},
	{.name = "impairment.to_inside", .kind = JSON_KIND_READ, .read = gateway_read_to_inside},
	{.name = "impairment.to_outside", .kind = JSON_KIND_READ, .read = gateway_read_to_outside},
	JSON_FIELD_END,
};

#define NUMBER(key, member, high, value)                                        \
	{                                                                       \
		.name = "impairment.to_*." key, .kind = JSON_KIND_NUMBER,       \
		.offset = offsetof(struct gateway_link, member), .max = (high), \
		.fallback = (value)                                             \
	}

const struct json_field gateway_link_fields[] = {
	NUMBER("delay_ms", delay_ms, 10000, 0),
	NUMBER("jitter_ms", jitter_ms, 10000, 0),
	NUMBER("rate_mbit", rate_mbit, 100000, 0),
	NUMBER("queue_ms", queue_ms, 10000, 50),
	NUMBER("reorder", reorder, 1, 0),
	NUMBER("duplicate", duplicate, 1, 0),
	NUMBER("corrupt", corrupt, 1, 0),
	{.name = "impairment.to_*.loss", .kind = JSON_KIND_READ, .read = gateway_read_loss},
	JSON_FIELD_END,
};

const struct json_field gateway_loss_fields[] = {
	{.name = "impairment.to_*.loss.model",
		.kind = JSON_KIND_WORD,
		.offset = offsetof(struct gateway_link, loss.model),
		.words = loss_models},
	NUMBER("loss.p", loss.p, 1, 0),
	NUMBER("loss.r", loss.r, 1, 1),
	NUMBER("loss.h", loss.h, 1, 0),
	NUMBER("loss.k", loss.k, 1, 1),
	JSON_FIELD_END,
};

#define PATH(key, value, may_be_null)                                                 \
	{                                                                             \
		.name = "paths." #key, .kind = JSON_KIND_STRING,                      \
		.offset = offsetof(struct gateway, paths.key), .min = 1, .max = 1023, \
		.fallback_text = (value), .nullable = (may_be_null)                   \
	}

const struct json_field gateway_paths_fields[] = {
	PATH(events, "/var/log/sluice/eve.json", false),
	PATH(control, "/run/sluice/control.sock", false),
	PATH(signatures, "/usr/share/sluice/signatures", false),
	PATH(cache, "/var/cache/sluice", true),
	PATH(state, NULL, true),
	PATH(pidfile, NULL, true),
	JSON_FIELD_END,
};

const struct json_field gateway_http_fields[] = {
	{.name = "http.listen",
		.kind = JSON_KIND_STRING,
		.offset = offsetof(struct gateway, http.listen),
		.min = 1,
		.max = 255,
		.nullable = true},
	{.name = "http.allow_remote",
		.kind = JSON_KIND_FLAG,
		.offset = offsetof(struct gateway, http.allow_remote)},
	{.name = "http.token_file",
		.kind = JSON_KIND_STRING,
		.offset = offsetof(struct gateway, http.token_file),
		.min = 1,
		.max = 1023,
		.nullable = true},
	{.name = "http.hosts",
		.kind = JSON_KIND_U32,
		.offset = offsetof(struct gateway, http.hosts),
		.min = 64,
		.max = 16384,
		.fallback = 4096},
	JSON_FIELD_END,
};

const struct json_field gateway_hook_fields[] = {
	{.name = "hook.command", .kind = JSON_KIND_READ, .read = gateway_read_hook_command},
	{.name = "hook.timeout_s",
		.kind = JSON_KIND_U32,
		.offset = offsetof(struct gateway, hook.timeout_s),
		.min = 1,
		.max = 60,
		.fallback = 5},
	{.name = "hook.heartbeat",
		.kind = JSON_KIND_FLAG,
		.offset = offsetof(struct gateway, hook.heartbeat)},
	JSON_FIELD_END,
};

const struct json_field gateway_port_fields[] = {
	{.name = "ports[].name",
		.kind = JSON_KIND_READ,
		.read = gateway_read_port_name,
		.required = true},
	{.name = "ports[].device",
		.kind = JSON_KIND_READ,
		.read = gateway_read_port_device,
		.required = true},
	{.name = "ports[].mtu",
		.kind = JSON_KIND_U32,
		.offset = offsetof(struct gateway_port, mtu),
		.min = 68, // RFC 791: every module must forward 68 octets
		.max = 9702,
		.zero = true},
	{.name = "ports[].rx_desc",
		.kind = JSON_KIND_U16,
		.offset = offsetof(struct gateway_port, rx_desc),
		.min = 64,
		.max = 32768,
		.fallback = 2048},
	{.name = "ports[].tx_desc",
		.kind = JSON_KIND_U16,
		.offset = offsetof(struct gateway_port, tx_desc),
		.min = 64,
		.max = 32768,
		.fallback = 1024},
	{.name = "ports[].queues",
		.kind = JSON_KIND_U16,
		.offset = offsetof(struct gateway_port, queues),
		.max = GATEWAY_LCORES_MAX},
	{.name = "ports[].one_way",
		.kind = JSON_KIND_FLAG,
		.offset = offsetof(struct gateway_port, one_way)},
	JSON_FIELD_END,
};

const struct json_field gateway_pair_fields[] = {
	{.name = "pairs[].inside",
		.kind = JSON_KIND_READ,
		.read = gateway_read_pair_inside,
		.required = true},
	{.name = "pairs[].outside",
		.kind = JSON_KIND_READ,
		.read = gateway_read_pair_outside,
		.required = true},
	{.name = "pairs[].mode", .kind = JSON_KIND_READ, .read = gateway_read_pair_mode},
	JSON_FIELD_END,
};

const struct json_field gateway_lcores_fields[] = {
	{.name = "lcores.data",
		.kind = JSON_KIND_READ,
		.read = gateway_read_data_cpus,
		.required = true},
	{.name = "lcores.scan", .kind = JSON_KIND_READ, .read = gateway_read_scan_cpus},
	{.name = "lcores.control", .kind = JSON_KIND_READ, .read = gateway_read_control_cpu},
	JSON_FIELD_END,
};
