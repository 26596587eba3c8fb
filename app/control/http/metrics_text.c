// SPDX-License-Identifier: BSD-3-Clause
// Writes families and samples in the text formats of OpenMetrics and Prometheus.
#include "control/http/metrics_text.h"

#include <string.h>

static const char *type_word(const struct metrics *m, enum metric_type type)
{
	switch (type) {
	case METRIC_COUNTER: return "counter";
	case METRIC_HISTOGRAM: return "histogram";
	case METRIC_INFO: return m->openmetrics ? "info" : "gauge"; // the classic format has none
	case METRIC_GAUGE: break;
	}
	return "gauge";
}

// What a sample's name has beyond its family's.
static const char *suffix(enum metric_type type)
{
	return type == METRIC_COUNTER ? "_total" : type == METRIC_INFO ? "_info" : "";
}

static void put_head(struct metrics *m, const char *word, const char *text)
{
	text_put(&m->text, "# ", 2);
	text_string(&m->text, word);
	text_put(&m->text, " ", 1);
	text_string(&m->text, m->name);
	if (!m->openmetrics) // there a family is named like its samples
		text_string(&m->text, suffix(m->type));
	text_put(&m->text, " ", 1);
	text_string(&m->text, text);
	text_put(&m->text, "\n", 1);
}

void metrics_family(struct metrics *m, const char *name, enum metric_type type, const char *unit,
	const char *help)
{
	m->name = name;
	m->type = type;
	put_head(m, "TYPE", type_word(m, type));
	if (unit && m->openmetrics)
		put_head(m, "UNIT", unit);
	put_head(m, "HELP", help);
}

static void sample(struct metrics *m, const char *end, const char *labels)
{
	text_string(&m->text, m->name);
	text_string(&m->text, end);
	if (labels && *labels) {
		text_put(&m->text, "{", 1);
		text_string(&m->text, labels);
		text_put(&m->text, "}", 1);
	}
	text_put(&m->text, " ", 1);
}

void metrics_u64(struct metrics *m, const char *labels, uint64_t value)
{
	sample(m, suffix(m->type), labels);
	text_u64(&m->text, value);
	text_put(&m->text, "\n", 1);
}

void metrics_i64(struct metrics *m, const char *labels, int64_t value)
{
	sample(m, suffix(m->type), labels);
	text_i64(&m->text, value);
	text_put(&m->text, "\n", 1);
}

void metrics_seconds(struct metrics *m, const char *labels, uint64_t ns)
{
	sample(m, suffix(m->type), labels);
	text_seconds(&m->text, ns);
	text_put(&m->text, "\n", 1);
}

void metrics_info(struct metrics *m, const char *labels)
{
	metrics_u64(m, labels, 1);
}

void metrics_bucket(struct metrics *m, const char *labels, uint64_t le_ns, uint64_t count)
{
	text_string(&m->text, m->name);
	text_string(&m->text, "_bucket{");
	if (labels && *labels) {
		text_string(&m->text, labels);
		text_put(&m->text, ",", 1);
	}
	text_string(&m->text, "le=\"");
	if (le_ns == UINT64_MAX)
		text_string(&m->text, "+Inf");
	else
		text_seconds(&m->text, le_ns);
	if (le_ns % 1000000000 == 0) // OpenMetrics: a float, "1.0"
		text_string(&m->text, ".0");
	text_string(&m->text, "\"} ");
	text_u64(&m->text, count);
	text_put(&m->text, "\n", 1);
}

void metrics_sum_seconds(struct metrics *m, const char *labels, uint64_t ns, uint64_t count)
{
	sample(m, "_count", labels);
	text_u64(&m->text, count);
	text_put(&m->text, "\n", 1);
	sample(m, "_sum", labels);
	text_seconds(&m->text, ns);
	text_put(&m->text, "\n", 1);
}

void metrics_end(struct metrics *m)
{
	if (m->openmetrics)
		text_string(&m->text, "# EOF\n");
}

bool metrics_label(char out[METRICS_LABELS_MAX], const char *key, const char *value)
{
	size_t start = strlen(out), at = start, end = METRICS_LABELS_MAX - 1; // its NUL
	size_t key_length = strlen(key);

	if (end - at < key_length + 4)
		return false;
	if (at)
		out[at++] = ',';
	memcpy(out + at, key, key_length);
	at += key_length;
	out[at++] = '=';
	out[at++] = '"';
	for (; *value; value++) {
		bool escaped = *value == '"' || *value == '\\' || *value == '\n';

		if (end - at < 3) {
			out[start] = '\0';
			return false;
		}
		if (escaped)
			out[at++] = '\\';
		out[at++] = *value == '\n' ? 'n' : *value;
	}
	out[at++] = '"';
	out[at] = '\0';
	return true;
}
