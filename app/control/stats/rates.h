// SPDX-License-Identifier: BSD-3-Clause
// How it goes, second by second: the live page's curves, applications' and lcores' rates, and
// which counters of trouble have grown lately. Sampled once a second on the control core's loop,
// so that a page that is opened sees the last minutes at once. Control core only.
#ifndef SLUICE_RATES_H
#define SLUICE_RATES_H

#include "control/stats/alarm_counters.h"

#define RATES_SAMPLES  300 // seconds
#define RATES_WINDOW_S 60

enum {             // of a sample
	RATES_IN,  // from outside ports
	RATES_OUT, // from inside ports
};

struct rates_sample { // per second; what the ports received, what was not sent on
	uint64_t bytes[2];
	uint64_t pkts[2];
	uint64_t dropped_pkts;
};

// A counter that should rest. While it has grown within RATES_WINDOW_S, `lately` is by how much.
struct rates_watch {
	uint64_t last;
	uint64_t lately;
	uint64_t grown_ns; // 0: never
};

struct rates {
	struct control_context *context;
	struct event *timer;
	uint64_t sampled_ns; // 0: not yet
	unsigned n;          // samples taken, at most RATES_SAMPLES
	unsigned next;
	struct rates_sample samples[RATES_SAMPLES];
	uint64_t app_bytes[APPS_MAX]; // at the last sample, all lcores and directions
	uint64_t app_bytes_s[APPS_MAX];
	uint64_t lcore_pkts[LCORES_MAX];
	uint64_t lcore_pkts_s[LCORES_MAX];
	struct port_counters ports[PORTS_MAX];
	struct rates_watch missed[PORTS_MAX], nombuf[PORTS_MAX], port_errors[PORTS_MAX];
	struct rates_watch watches[ALARM_COUNTERS_MAX];
	unsigned unbalanced_s; // seconds in a row without traffic that the ledger did not close
	uint64_t dropped;      // at the last sample
};

// Starts the sampling. -ENOMEM.
int rates_start(struct rates *rates, struct control_context *context);
void rates_stop(struct rates *rates); // may be called without a start
// One sample, for its timer and for tests.
void rates_sample(struct rates *rates);
// By how much it has grown within RATES_WINDOW_S; 0: not.
uint64_t rates_grown_by(const struct rates *rates, const struct rates_watch *watch);
// Sums of an application over the lcores.
struct app_usage rates_app(const struct dataplane *dp, unsigned app);

#endif
