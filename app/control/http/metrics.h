// SPDX-License-Identifier: BSD-3-Clause
// The families of /metrics (docs/metrics.md lists them), in groups. Names follow the counters':
// `received_pkts` of struct stats is sluice_received_pkts_total. Labels are lcore, port, side,
// reason, verdict, app, rule_id, pool and what sluice_build_info says: all bounded, none an
// address. Control core only.
#ifndef SLUICE_METRICS_H
#define SLUICE_METRICS_H

#include "control/http/site.h"
#include "control/http/metrics_text.h"
#include "control/stats/counters.h"

// The rows as families, named with the prefix: of each of `n` structs of `size` bytes that stand at
// `counted`, under its labels.
void metrics_put_rows(struct metrics *m, const char *prefix, const struct counter *rows, unsigned n,
	char (*labels)[METRICS_LABELS_MAX], const void *counted, size_t size);
// Buckets of a histogram: a bound at each power of two nanoseconds from the first to the last.
void metrics_doublings(struct metrics *m, const char *labels, const struct histogram *histogram,
	unsigned first_shift, unsigned last_shift);
void metrics_put_lcores(struct metrics *m, const struct control_context *context);
void metrics_put_ports(struct metrics *m, const struct control_context *context);
void metrics_put_policy(struct metrics *m, const struct control_context *context);
void metrics_put_apps(struct metrics *m, const struct control_context *context);
void metrics_put_rules(struct metrics *m, const struct control_context *context);
void metrics_put_scan(struct metrics *m, const struct control_context *context);
void metrics_put_program(struct metrics *m, const struct http_site *site);

#endif
