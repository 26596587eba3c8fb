// SPDX-License-Identifier: BSD-3-Clause
// Selects offloads, queues and descriptors from what a driver offers.
#include "machine/port_plan.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

// What rte_eth_dev_info does not tell of some drivers.
enum {
	// Without RSS, but packets arrive on every queue that the device was made with.
	QUIRK_ALL_QUEUES = 1 << 0,
	// Receive and send queues must be equal in number (ring: queue i is read where it was
	// sent).
	QUIRK_PAIRED_QUEUES = 1 << 1,
	// The peer decides how many queues are alive; a dead one falls back to queue 0 without a
	// lock: use one.
	QUIRK_ONE_QUEUE = 1 << 2,
	// Chains segments whatever the offloads say.
	QUIRK_CHAINS = 1 << 3,
	// "Good" also stands for a checksum that the sender left to the wire; forwarded as it is,
	// it would be wrong there. We verify ourselves.
	QUIRK_CHECKSUM_PARTIAL = 1 << 4,
};
static const struct {
	const char *driver;
	unsigned quirks;
} drivers[] = {
	{"net_af_xdp", QUIRK_ALL_QUEUES},
	{"net_af_packet", QUIRK_ALL_QUEUES},
	{"net_pcap", QUIRK_ALL_QUEUES | QUIRK_CHAINS},
	{"net_ring", QUIRK_PAIRED_QUEUES | QUIRK_CHAINS},
	{"net_null", QUIRK_CHAINS},
	{"net_tap", QUIRK_PAIRED_QUEUES},
	{"net_memif", QUIRK_ONE_QUEUE | QUIRK_CHAINS},
	{"net_virtio", QUIRK_CHECKSUM_PARTIAL},
	{"net_virtio_user", QUIRK_CHECKSUM_PARTIAL},
	{"net_vhost", QUIRK_CHECKSUM_PARTIAL},
};

#define RSS_FUNCTIONS (RTE_ETH_RSS_IP | RTE_ETH_RSS_TCP | RTE_ETH_RSS_UDP | RTE_ETH_RSS_SCTP)

static unsigned quirks_of(const struct rte_eth_dev_info *info)
{
	for (size_t i = 0; info->driver_name && i < sizeof(drivers) / sizeof(drivers[0]); i++) {
		if (strcmp(info->driver_name, drivers[i].driver) == 0)
			return drivers[i].quirks;
	}
	return 0;
}

static uint16_t at_most(uint16_t a, uint16_t b)
{
	return a < b ? a : b;
}

static uint32_t wished_mtu(const struct port_wish *wish)
{
	return wish->mtu ? wish->mtu : wish->device_mtu;
}

static bool scatters(const struct rte_eth_dev_info *info)
{
	return info->rx_offload_capa & RTE_ETH_RX_OFFLOAD_SCATTER;
}

uint32_t port_plan_data_room(const struct port_wish *wish, const struct rte_eth_dev_info *info)
{
	if (scatters(info) || quirks_of(info) & QUIRK_CHAINS)
		return 0;
	return RTE_PKTMBUF_HEADROOM + wished_mtu(wish) + PORT_L2_BYTES + RTE_ETHER_CRC_LEN;
}

static void plan_queues(
	const struct port_wish *wish, const struct rte_eth_dev_info *info, struct port_plan *plan)
{
	unsigned quirks = quirks_of(info);
	uint64_t rss_hf = info->flow_type_rss_offloads & RSS_FUNCTIONS;
	uint16_t rx = 1, tx = at_most(wish->n_lcores, info->max_tx_queues);

	if (quirks & QUIRK_ALL_QUEUES)
		rx = info->max_rx_queues;
	else if (rss_hf || quirks & QUIRK_PAIRED_QUEUES)
		rx = at_most(wish->n_lcores, info->max_rx_queues);
	if (wish->queues) {
		rx = at_most(rx, wish->queues);
		tx = at_most(tx, wish->queues);
	} else if (quirks & QUIRK_ONE_QUEUE) {
		rx = tx = 1;
	}
	if (quirks & QUIRK_PAIRED_QUEUES)
		rx = tx = at_most(rx, tx);
	plan->n_rxq = rx ? rx : 1;
	plan->n_txq = tx ? tx : 1;
	if (plan->n_rxq > 1 && rss_hf) {
		// 6D5A repeated makes Toeplitz symmetric: both directions of a flow meet.
		size_t length = info->hash_key_size ? info->hash_key_size : 40;
		if (length > sizeof(plan->rss_key))
			length = sizeof(plan->rss_key);
		for (size_t i = 0; i < length; i++)
			plan->rss_key[i] = i % 2 ? 0x5a : 0x6d;
		plan->rss = true;
		plan->conf.rxmode.mq_mode = RTE_ETH_MQ_RX_RSS;
		plan->conf.rx_adv_conf.rss_conf.rss_hf = rss_hf;
		plan->conf.rx_adv_conf.rss_conf.rss_key = plan->rss_key;
		plan->conf.rx_adv_conf.rss_conf.rss_key_len = (uint8_t)length;
	}
}

// Drivers mean different things by MTU: ixgbe adds 18 bytes, ice 26, others take it for the whole
// frame. max_rx_pktlen - max_mtu tells which; we ask for the frame that we want.
static int plan_mtu(const struct port_wish *wish, const struct rte_eth_dev_info *info,
	struct port_plan *plan, char *err, size_t err_len)
{
	uint32_t overhead = RTE_ETHER_HDR_LEN + RTE_ETHER_CRC_LEN;
	uint32_t mtu = wished_mtu(wish);
	uint32_t max = info->max_mtu ? info->max_mtu : UINT16_MAX;

	if (info->max_mtu != UINT16_MAX && info->max_rx_pktlen > info->max_mtu)
		overhead = info->max_rx_pktlen - info->max_mtu;
	if (info->max_rx_pktlen > overhead && info->max_rx_pktlen - overhead < max)
		max = info->max_rx_pktlen - overhead; // memif: no limit by one, 1518 by the other
	if (mtu > max || mtu < info->min_mtu) {
		snprintf(err, err_len, "MTU %u, but the device takes %u to %u", mtu, info->min_mtu,
			max);
		return -ERANGE;
	}
	plan->mtu = mtu;
	plan->max_frame = mtu + PORT_L2_BYTES;

	uint32_t driver_mtu = mtu;
	uint32_t frame = plan->max_frame + RTE_ETHER_CRC_LEN;
	// A kernel interface has room for a tag above its MTU, and its MTU is seen by others.
	if (!wish->kernel_interface && frame > mtu + overhead)
		driver_mtu = frame - overhead;
	if (driver_mtu > max) {
		driver_mtu = max;
		plan->vlan_short = !(quirks_of(info) & QUIRK_CHAINS);
	}
	plan->conf.rxmode.mtu = driver_mtu;
	return 0;
}

int port_plan_make(const struct port_wish *wish, const struct rte_eth_dev_info *info,
	uint32_t data_room, struct port_plan *plan, char *err, size_t err_len)
{
	unsigned quirks = quirks_of(info);
	uint64_t rx = RTE_ETH_RX_OFFLOAD_CHECKSUM;

	memset(plan, 0, sizeof(*plan));
	plan->rx_desc = wish->rx_desc;
	plan->tx_desc = wish->tx_desc;
	plan_queues(wish, info, plan);
	int rc = plan_mtu(wish, info, plan, err, err_len);
	if (rc)
		return rc;

	uint32_t room = data_room - RTE_PKTMBUF_HEADROOM;
	bool long_frames = plan->max_frame + RTE_ETHER_CRC_LEN > room;
	if (long_frames && port_plan_data_room(wish, info) > data_room) {
		snprintf(err, err_len,
			"frames of %u bytes do not fit mbufs of %u, and the driver does not "
			"scatter "
			"them",
			plan->max_frame, room);
		return -EMSGSIZE;
	}
	if (long_frames)
		rx |= RTE_ETH_RX_OFFLOAD_SCATTER;
	if (quirks & QUIRK_CHECKSUM_PARTIAL)
		rx &= ~(uint64_t)RTE_ETH_RX_OFFLOAD_CHECKSUM;
	plan->conf.rxmode.offloads = rx & info->rx_offload_capa;
	plan->conf.intr_conf.rmv =
		info->dev_flags && *info->dev_flags & RTE_ETH_DEV_INTR_RMV; // port_link.h
	// No checksum offload is asked for in sending: what we forward has its checksum, what we
	// make is small, and the fast send paths of several drivers end with that request. Chains
	// come in by any port, so every port that can takes them. FAST_FREE excludes both chains
	// and more than one pool.
	plan->conf.txmode.offloads = RTE_ETH_TX_OFFLOAD_MULTI_SEGS & info->tx_offload_capa;
	return 0;
}
