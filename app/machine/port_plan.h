// SPDX-License-Identifier: BSD-3-Clause
// What to ask of a port's driver: every request is masked by what rte_eth_dev_info_get says that it
// has. Pure: from a device's description to a configuration, nothing is called.
#ifndef SLUICE_PORT_PLAN_H
#define SLUICE_PORT_PLAN_H

#include <stdbool.h>
#include <stdint.h>
#include <rte_ethdev.h>

// A frame may carry two VLAN tags above its MTU: 14 + 2 * 4 bytes.
#define PORT_L2_BYTES 22u

struct port_wish {
	uint32_t mtu;        // gateway.json; 0: device_mtu
	uint32_t device_mtu; // what the device has now
	uint16_t queues;     // gateway.json; 0: as many as lcores and the device allow
	uint16_t rx_desc;
	uint16_t tx_desc;
	uint16_t n_lcores;
	bool kernel_interface; // the device is a front of a kernel interface (af_xdp, tap ...)
};

struct port_plan {
	struct rte_eth_conf conf;
	uint8_t rss_key[64];
	uint16_t n_rxq;
	uint16_t n_txq;
	uint16_t rx_desc;
	uint16_t tx_desc;
	uint32_t mtu;       // of IP, as the wish says
	uint32_t max_frame; // bytes without CRC
	bool rss;           // the NIC spreads flows over the queues, both directions alike
	bool vlan_short;    // the device has no room for two tags at this MTU
};

// Bytes that a receive mbuf must hold (with headroom) for this device and MTU; 0: any size will do,
// the driver chains segments.
uint32_t port_plan_data_room(const struct port_wish *wish, const struct rte_eth_dev_info *info);
// `data_room`: of the receive pool, with headroom. -ERANGE (MTU), -EMSGSIZE (a frame does not fit
// the mbufs) with a message that names neither port nor file: the caller does.
int port_plan_make(const struct port_wish *wish, const struct rte_eth_dev_info *info,
	uint32_t data_room, struct port_plan *plan, char *err, size_t err_len);

#endif
