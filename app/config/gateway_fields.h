// SPDX-License-Identifier: BSD-3-Clause
// The keys of gateway.json as rows: what gateway_load reads, gateway_dump writes, and
// gateway_restart_difference compares. config/schema/gateway.schema.json says the same to others;
// unit/gateway_load and cli/schema hold them together.
// gateway_restart_difference compares. Rows of keys that are one value are made of
// config/schema/gateway.schema.json (gateway_keys.py); for the others tests/cli/schema holds both
// together.
#ifndef SLUICE_GATEWAY_FIELDS_H
#define SLUICE_GATEWAY_FIELDS_H

#include "config/gateway.h"
#include "config/json_strict.h"

// "bridge", the only mode of a pair.
extern const char *const gateway_pair_modes[];

// Targets and contexts: struct gateway but for the last five.
extern const struct json_field gateway_fields[];
extern const struct json_field gateway_impairment_fields[];
extern const struct json_field gateway_lcores_fields[];
extern const struct json_field gateway_port_fields[];   // struct gateway_port
extern const struct json_field gateway_pair_fields[];   // struct gateway_pair
extern const struct json_field gateway_script_fields[]; // struct scan_script
extern const struct json_field gateway_link_fields[];   // struct gateway_link
extern const struct json_field gateway_loss_fields[];   // the same

// Applies one "KEY=VALUE" of --set to the tree, before it is read and checked (gateway_dump.c).
void gateway_override(const struct json_doc *doc, const char *set);

// Readers of the rows that are no scalars (gateway_load.c).
void gateway_read_eal(const struct json_at *at, void *ctx);
void gateway_read_ports(const struct json_at *at, void *ctx);
void gateway_read_pairs(const struct json_at *at, void *ctx);
void gateway_read_lcores(const struct json_at *at, void *ctx);
// gateway_scan.c.
void gateway_read_scan_script(const struct json_at *at, void *ctx);
json_t *gateway_scan_script_json(const struct gateway *gateway);
const char *gateway_scan_difference(const struct gateway *a, const struct gateway *b);
void gateway_check_scan(const struct json_doc *doc, const struct gateway *gateway);
void gateway_read_impairment_to_inside(const struct json_at *at, void *ctx);
void gateway_read_impairment_to_outside(const struct json_at *at, void *ctx);
void gateway_read_loss(const struct json_at *at, void *ctx);
void gateway_read_hook_command(const struct json_at *at, void *ctx);
void gateway_read_data_cpus(const struct json_at *at, void *ctx);
void gateway_read_scan_cpus(const struct json_at *at, void *ctx);
void gateway_read_control_cpu(const struct json_at *at, void *ctx);
void gateway_read_port_name(const struct json_at *at, void *ctx);
void gateway_read_port_device(const struct json_at *at, void *ctx);
void gateway_read_pair_inside(const struct json_at *at, void *ctx);
void gateway_read_pair_outside(const struct json_at *at, void *ctx);
void gateway_read_pair_mode(const struct json_at *at, void *ctx);

// The impairment (gateway_impairment.c): fallbacks, dump, the first key that differs.
int gateway_impairment_default(struct gateway *gateway);
json_t *gateway_link_json(const struct gateway_link *link);
const char *gateway_impairment_difference(const struct gateway *a, const struct gateway *b);

#endif
