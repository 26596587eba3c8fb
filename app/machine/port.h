// SPDX-License-Identifier: BSD-3-Clause
// Ports: ethdev bring-up from what the driver can do.
// Control core, before the lcores start and after they stopped. All functions return 0 or -errno
// with a message that names the port, the device and the way out: -ENODEV, -EBUSY, -EACCES, -EPERM,
// -ERANGE, -ENOMEM, -EIO.
#ifndef SLUICE_PORT_H
#define SLUICE_PORT_H

#include "config/gateway.h"
#include "pipeline/lcore/lcore.h"

// Finds (PCI) or makes (virtual) every port's device; sets dp->n_ports and in each port name,
// index, peer, inside, port_id, ctx, receive, send, counters.
int ports_attach(struct dataplane *dp, const struct gateway *gateway, char *err, size_t err_len);
// Data room of receive mbufs, headroom included: large enough for every port's frame, unless its
// driver chains segments. After ports_attach.
uint16_t ports_data_room(const struct dataplane *dp, const struct gateway *gateway);
// mbufs that the configuration needs: receive and send rings, caches, bursts, rings.
// An upper bound: every lcore with a queue of its own on every port. No DPDK call.
uint32_t ports_mbufs_needed(const struct gateway *gateway);
// Configures every port and its queues: symmetric RSS where the driver has it, else the queues that
// it has and software handoff. pools[socket]. Sets n_rxq, n_txq, max_frame, tx_queue, tx_lcore.
// dp->n_lcores is set.
int ports_configure(struct dataplane *dp, const struct gateway *gateway,
	struct rte_mempool *const pools[], char *err, size_t err_len);
// Deals the rx queues to the lcores (dp->lcores[]->rx), after lcore_new.
int ports_assign_rx_queues(struct dataplane *dp, char *err, size_t err_len);
// From here packets arrive. Promiscuous.
int ports_start(struct dataplane *dp, char *err, size_t err_len);
// Stops and removes all: the drivers' queues are given time to empty first. Receiving ends earlier,
// by dp->stopping.
void ports_close(struct dataplane *dp);

// A port's send while it has a link.
uint16_t port_ethdev_send(void *ctx, uint16_t queue, struct rte_mbuf **pkts, uint16_t n);

#endif
