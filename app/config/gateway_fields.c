// SPDX-License-Identifier: BSD-3-Clause
// The table of the keys of gateway.json, with their types, bounds and defaults.
#include "config/gateway_fields.h"

const char *const gateway_pair_modes[] = {"bridge", NULL};

// Every key of gateway.json is read once, before the ports start: none is live.
const struct json_field gateway_memory_fields[] = {GATEWAY_MEMORY_ROWS JSON_FIELD_END};
const struct json_field gateway_limits_fields[] = {GATEWAY_LIMITS_ROWS JSON_FIELD_END};
const struct json_field gateway_fragments_fields[] = {GATEWAY_FRAGMENTS_ROWS JSON_FIELD_END};
const struct json_field gateway_content_fields[] = {GATEWAY_CONTENT_ROWS JSON_FIELD_END};
const struct json_field gateway_elephant_fields[] = {GATEWAY_ELEPHANT_ROWS JSON_FIELD_END};
const struct json_field gateway_events_fields[] = {GATEWAY_EVENTS_ROWS JSON_FIELD_END};
const struct json_field gateway_reassembly_fields[] = {GATEWAY_REASSEMBLY_ROWS JSON_FIELD_END};
const struct json_field gateway_stall_fields[] = {GATEWAY_STALL_ROWS JSON_FIELD_END};
const struct json_field gateway_scan_fields[] = {GATEWAY_SCAN_ROWS JSON_FIELD_END};
const struct json_field gateway_impairment_fields[] = {GATEWAY_IMPAIRMENT_ROWS JSON_FIELD_END};
const struct json_field gateway_paths_fields[] = {GATEWAY_PATHS_ROWS JSON_FIELD_END};
const struct json_field gateway_http_fields[] = {GATEWAY_HTTP_ROWS JSON_FIELD_END};
const struct json_field gateway_hook_fields[] = {GATEWAY_HOOK_ROWS JSON_FIELD_END};
const struct json_field gateway_fields[] = {GATEWAY_ROWS JSON_FIELD_END};

static const char *const loss_models[] = {[GATEWAY_LOSS_BERNOULLI] = "bernoulli",
	[GATEWAY_LOSS_GILBERT_ELLIOTT] = "gilbert_elliott",
	NULL};

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
