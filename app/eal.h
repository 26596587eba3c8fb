// SPDX-License-Identifier: BSD-3-Clause
// EAL start-up: arguments from the configuration, and what its failures mean for an operator.
// The only room that knows rte_eal.h.
#ifndef SLUICE_EAL_H
#define SLUICE_EAL_H

#include <stddef.h>
#include "gateway.h"

// Starts EAL with the configuration's arguments plus `extra` (after `--` on the command line).
// Every signal is blocked in EAL's threads. Returns an exit code (sysexits, CONVENTIONS): 0, or 69
// (device, hugepages), 77 (permission), 78 (configuration) with a message that names the way out.
int eal_start(const struct gateway *gateway, char *const *extra, unsigned n_extra, char *err,
	size_t err_len);
// For replay: no hugepages, no files, no PCI, no root; `mb` of memory, one lcore.
int eal_start_private(unsigned mb, char *err, size_t err_len);
void eal_stop(void);

#endif
