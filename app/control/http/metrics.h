// SPDX-License-Identifier: BSD-3-Clause
// The families of /metrics (docs/metrics.md lists them), in groups. Names follow the counters':
// `received_pkts` of struct stats is sluice_received_pkts_total. Labels are lcore, port, side,
// reason, app, rule_id, pool and what sluice_build_info says: all bounded, none an address.
// Control core only.
#ifndef SLUICE_METRICS_H
#define SLUICE_METRICS_H

#include "control/http/site.h"
#include "control/http/metrics_text.h"

void metrics_put_lcores(struct metrics *m, const struct control_context *context);
void metrics_put_ports(struct metrics *m, const struct control_context *context);
void metrics_put_policy(struct metrics *m, const struct control_context *context);
void metrics_put_apps(struct metrics *m, const struct control_context *context);
void metrics_put_rules(struct metrics *m, const struct control_context *context);
void metrics_put_program(struct metrics *m, const struct http_site *site);

#endif
