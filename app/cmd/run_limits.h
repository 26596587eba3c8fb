// SPDX-License-Identifier: BSD-3-Clause
// What one data lcore gets of the limits of gateway.json.
#ifndef SLUICE_RUN_LIMITS_H
#define SLUICE_RUN_LIMITS_H

#include "config/gateway.h"
#include "pipeline/limits.h"
#include "control/event/sink.h"

// `seed`: of all hash tables (run_seed).
struct lcore_limits run_limits(const struct gateway *gateway, const struct hash_seed *seed);
// A seed that nobody knows, of the kernel. 0, or -errno.
int run_seed(struct hash_seed *seed);

// Whether another lcore has the CPU of data lcore `index`, too.
bool run_shares_cpu(const struct gateway *gateway, unsigned index);

// What its event sink is reported. Names are the gateway's.
struct redact_rules run_redact(const struct gateway *gateway);
struct sink_options run_sink_options(const struct gateway *gateway);

// A gateway that loses packets on purpose must not be taken for a broken one, nor be forgotten:
// says so in the log if the impairment is on.
void run_warn_impaired(const struct gateway *gateway);

#endif
