// SPDX-License-Identifier: BSD-3-Clause
// The text of /metrics: OpenMetrics 1.0 (its specification, "Text format"), or Prometheus' classic
// text format 0.0.4, by the same calls. Control core only.
//
//   metrics_family(m, "sluice_sent_pkts", METRIC_COUNTER, NULL, "packets accepted by a driver");
//   metrics_u64(m, "lcore=\"0\"", 17);
//
// A family's samples follow its head. Names are given without _total.
#ifndef SLUICE_METRICS_TEXT_H
#define SLUICE_METRICS_TEXT_H

#include "base/text.h"

#define METRICS_LABELS_MAX 256 // bytes of the labels of one sample

enum metric_type {
	METRIC_COUNTER,
	METRIC_GAUGE,
	METRIC_INFO,
	METRIC_HISTOGRAM,
};

struct metrics { // {.openmetrics = ...} is an empty one
	struct text text;
	bool openmetrics;
	const char *name; // of the family in hand
	enum metric_type type;
};

// `unit` is the name's last word where it is one ("seconds", "bytes"), or NULL.
void metrics_family(struct metrics *m, const char *name, enum metric_type type, const char *unit,
	const char *help);
// `labels` as they stand between the braces; NULL: none.
void metrics_u64(struct metrics *m, const char *labels, uint64_t value);
void metrics_i64(struct metrics *m, const char *labels, int64_t value);
void metrics_seconds(struct metrics *m, const char *labels, uint64_t ns);
void metrics_info(struct metrics *m, const char *labels);
// One histogram: bucket by bucket, their counts cumulated by the caller; `le_ns` UINT64_MAX is
// +Inf and the count of all. Then the sum.
void metrics_bucket(struct metrics *m, const char *labels, uint64_t le_ns, uint64_t count);
void metrics_sum_seconds(struct metrics *m, const char *labels, uint64_t ns, uint64_t count);
void metrics_end(struct metrics *m);

// Appends KEY="VALUE" (escaped) to `out`, after a comma if it is not empty. What does not fit is
// left out whole; false then.
bool metrics_label(char out[METRICS_LABELS_MAX], const char *key, const char *value);

#endif
