// SPDX-License-Identifier: BSD-3-Clause
// What is counted, row by row (README.md): whoever shows counters goes through a table and formats
// its rows. Tables end with {0}; they are constant, any thread may read them.
#ifndef SLUICE_COUNTERS_H
#define SLUICE_COUNTERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum counter_shown {           // by what
	COUNTER_JSON = 1,      // `sluicectl stats`, stats events, replay's --stats
	COUNTER_METRICS = 2,   // /metrics
	COUNTER_TELEMETRY = 4, // DPDK's socket
	COUNTER_EVERYWHERE = COUNTER_JSON | COUNTER_METRICS | COUNTER_TELEMETRY,
};

enum counter_unit {
	COUNTER_PLAIN,
	COUNTER_BYTES, // named so in the metric's unit, too
	COUNTER_NS,    // seconds in metrics
};

struct counter {
	const char *name; // the key; with a prefix in metrics
	const char *help;
	size_t offset; // of its uint64_t in what is counted in, or of an array of `n`
	enum counter_shown shown;
	enum counter_unit unit;
	bool gauge;
	// Of an array, for instance "reason" and drop_reason_word.
	unsigned n;
	const char *label;
	const char *(*word)(unsigned at);
};

#define COUNTER_END          \
	{                    \
		.name = NULL \
	}

extern const struct counter lcore_counters[]; // of struct stats
extern const struct counter port_counters[];  // of struct port_counters
extern const struct counter app_counters[];   // of struct app_usage

// The row after `last` (NULL: the first) that is shown there, or NULL.
const struct counter *counter_next(
	const struct counter *rows, const struct counter *last, enum counter_shown shown);
// `at` is below `n`, or 0 where the row is of no array. A lcore may write it meanwhile.
uint64_t counter_value(const struct counter *row, const void *counted, unsigned at);

#endif
