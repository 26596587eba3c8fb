// SPDX-License-Identifier: BSD-3-Clause
// Prints the ledger at the end of `sluice run`, and reports packets that are not accounted for.
#include "cmd/run_ledger.h"

#include <inttypes.h>
#include <stdio.h>
#include "base/log.h"
#include "pipeline/loop.h"
#include "control/stats/sum.h"

// The gauges are of each lcore's last turn: one that stands still has not told what it has since.
static void hold_now(const struct dataplane *dp, struct ledger *ledger)
{
	uint64_t held = 0;

	for (unsigned i = 0; i < dp->n_lcores; i++)
		held += pipeline_held(dp->lcores[i]);
	ledger->unaccounted += (int64_t)(ledger->held - held);
	ledger->held = held;
}

void run_ledger_print(const struct dataplane *dp, bool lost)
{
	struct stats sum;
	struct ledger ledger;
	char reasons[1024] = "";
	size_t used = 0;

	stats_sum(dp, &sum, &ledger);
	if (lost)
		hold_now(dp, &ledger);
	for (unsigned i = 0; i < DROP_REASONS_MAX && used < sizeof(reasons); i++) {
		if (sum.dropped_pkts[i])
			used += (size_t)snprintf(reasons + used, sizeof(reasons) - used,
				"%s%s %" PRIu64, used ? ", " : " (", drop_reason_word(i),
				sum.dropped_pkts[i]);
	}
	log_notice("received %" PRIu64 ", injected %" PRIu64 ", sent %" PRIu64 ", dropped %" PRIu64
		   "%s%s, held %" PRIu64 ", consumed %" PRIu64 ", unaccounted %" PRId64,
		ledger.received, ledger.injected, ledger.sent, ledger.dropped, reasons,
		used ? ")" : "", ledger.held, ledger.consumed, ledger.unaccounted);
	if (ledger.unaccounted)
		log_error("the packet ledger does not close: please report this");
	if (sum.events_lost)
		log_warning("%" PRIu64 " events were lost to a full ring", sum.events_lost);
}
