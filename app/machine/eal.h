// SPDX-License-Identifier: BSD-3-Clause
// EAL start-up: arguments from the configuration, and what its failures mean for an operator.
// The only room that knows rte_eal.h. Control core.
#ifndef SLUICE_EAL_H
#define SLUICE_EAL_H

#include <signal.h>
#include <stddef.h>
#include "config/gateway.h"

// Starts EAL with the configuration's arguments plus `extra` (after `--` on the command line).
// Every signal is blocked in EAL's threads; the caller's mask is as it was.
// Returns an exit code (sysexits): 0, or 69 (device, hugepages), 77 (permission),
// 78 (configuration) with a message that names the way out. `mb`: memory for --no-huge when
// gateway.json leaves it open.
int eal_start(const struct gateway *gateway, char *const *extra, unsigned n_extra, unsigned mb,
	char *err, size_t err_len);
// For replay: no hugepages, no files, no PCI, no root; `mb` of memory, one lcore.
int eal_start_private(unsigned mb, char *err, size_t err_len);
void eal_stop(void);

// DPDK's own log lines go through ours: to be seen with -v, and the last of them are kept because
// its return codes seldom say what went wrong. The text of the lines since the last call of
// eal_log_forget, newest last, on one line; "" if none.
void eal_log_forget(void);
void eal_log_recall(char *out, size_t out_len);
// From here on its lines are for -vv: drivers that close their ports complain of what the launcher
// does for them.
void eal_log_closing(void);

// Every signal that can be blocked with sense: not the synchronous faults.
void signals_blockable(sigset_t *set);

#endif
