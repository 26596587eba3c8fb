// SPDX-License-Identifier: BSD-3-Clause
// Ports: ethdev bring-up from what the driver can do (STYLE traps 2, 7; FEATURES A1, A10, A11).
// Control core, before the lcores start and after they stopped.
#ifndef SLUICE_PORT_H
#define SLUICE_PORT_H

#include "gateway.h"
#include "lcore.h"

// Finds, configures (not starts) every port of the configuration, fills dp->ports with peers,
// queues and offloads, deals rx queues to lcores (dp->lcores[]->rx) and tx queues likewise.
// Symmetric RSS key where the driver has RSS; else one rx queue, and software handoff.
int ports_configure(struct dataplane *dp, const struct gateway *gateway,
	struct rte_mempool *const pools[], char *err, size_t err_len);
int ports_start(struct dataplane *dp, char *err, size_t err_len);
void ports_stop_receive(struct dataplane *dp);
void ports_close(struct dataplane *dp);
// mbufs that the configuration needs: receive and send rings, caches, bursts, rings.
uint32_t ports_mbufs_needed(const struct gateway *gateway);

#endif
