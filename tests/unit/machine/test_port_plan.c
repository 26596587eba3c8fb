// SPDX-License-Identifier: BSD-3-Clause
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <string.h>
#include "machine/port_plan.h"

static struct port_plan plan;
static char err[256];

static struct port_wish wish(uint16_t n_lcores)
{
	return (struct port_wish){
		.device_mtu = 1500, .rx_desc = 1024, .tx_desc = 512, .n_lcores = n_lcores};
}

// A NIC that has everything (like i40e), and a virtual device that has nothing.
static struct rte_eth_dev_info nic(void)
{
	return (struct rte_eth_dev_info){
		.driver_name = "net_i40e",
		.min_mtu = 68,
		.max_mtu = 9702,
		.max_rx_pktlen = 9728,
		.max_rx_queues = 64,
		.max_tx_queues = 64,
		.hash_key_size = 52,
		.flow_type_rss_offloads = RTE_ETH_RSS_IP | RTE_ETH_RSS_TCP | RTE_ETH_RSS_L2_PAYLOAD,
		.rx_offload_capa = RTE_ETH_RX_OFFLOAD_CHECKSUM | RTE_ETH_RX_OFFLOAD_SCATTER |
				   RTE_ETH_RX_OFFLOAD_VLAN_STRIP,
		.tx_offload_capa =
			RTE_ETH_TX_OFFLOAD_MULTI_SEGS | RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE,
	};
}

static struct rte_eth_dev_info virtual(const char *driver, uint16_t queues)
{
	return (struct rte_eth_dev_info){
		.driver_name = driver,
		.min_mtu = 68,
		.max_mtu = UINT16_MAX,
		.max_rx_pktlen = UINT32_MAX,
		.max_rx_queues = queues,
		.max_tx_queues = queues,
	};
}

static int make(struct port_wish w, struct rte_eth_dev_info info)
{
	return port_plan_make(&w, &info, RTE_MBUF_DEFAULT_BUF_SIZE, &plan, err, sizeof(err));
}

static void test_nothing_offered_nothing_asked(void **state)
{
	(void)state;
	assert_int_equal(make(wish(3), virtual("net_something", 8)), 0);
	assert_int_equal(plan.conf.rxmode.offloads, 0);
	assert_int_equal(plan.conf.txmode.offloads, 0);
	assert_int_equal(plan.conf.rxmode.mq_mode, RTE_ETH_MQ_RX_NONE);
	assert_int_equal(plan.n_rxq, 1); // no RSS: one lcore receives and hands off
	assert_int_equal(plan.n_txq, 3);
	assert_false(plan.rss);
}

static void test_rss_is_symmetric_and_masked(void **state)
{
	(void)state;
	assert_int_equal(make(wish(3), nic()), 0);
	assert_true(plan.rss);
	assert_int_equal(plan.n_rxq, 3);
	assert_int_equal(plan.conf.rx_adv_conf.rss_conf.rss_hf, RTE_ETH_RSS_IP | RTE_ETH_RSS_TCP);
	assert_int_equal(plan.conf.rx_adv_conf.rss_conf.rss_key_len, 52);
	// Symmetric under Toeplitz: the key repeats after 16 bits.
	for (int i = 0; i < 52; i++)
		assert_int_equal(plan.rss_key[i], i % 2 ? 0x5a : 0x6d);
	// One lcore needs no spreading.
	assert_int_equal(make(wish(1), nic()), 0);
	assert_false(plan.rss);
	assert_int_equal(plan.conf.rxmode.mq_mode, RTE_ETH_MQ_RX_NONE);
}

static void test_who_can_tells_of_its_removal(void **state)
{
	const uint32_t flags = RTE_ETH_DEV_INTR_RMV, none = 0;
	struct rte_eth_dev_info info = nic();

	(void)state;
	assert_int_equal(make(wish(3), info), 0);
	assert_false(plan.conf.intr_conf.rmv);
	info.dev_flags = &none;
	assert_int_equal(make(wish(3), info), 0);
	assert_false(plan.conf.intr_conf.rmv);
	info.dev_flags = &flags;
	assert_int_equal(make(wish(3), info), 0);
	assert_true(plan.conf.intr_conf.rmv);
}

static void test_offloads_never_wanted(void **state)
{
	(void)state;
	assert_int_equal(make(wish(1), nic()), 0);
	// VLAN tags are part of the frame; FAST_FREE excludes chains and several pools.
	assert_int_equal(plan.conf.rxmode.offloads, RTE_ETH_RX_OFFLOAD_CHECKSUM);
	assert_int_equal(plan.conf.txmode.offloads, RTE_ETH_TX_OFFLOAD_MULTI_SEGS);
	struct rte_eth_dev_info info = nic();
	info.driver_name = "net_virtio"; // "good" there includes "not filled in yet"
	assert_int_equal(make(wish(1), info), 0);
	assert_int_equal(plan.conf.rxmode.offloads, 0);
}

static void test_mtu_by_driver(void **state)
{
	(void)state;
	struct rte_eth_dev_info info = nic(); // overhead 26: two tags are in it
	assert_int_equal(make(wish(1), info), 0);
	assert_int_equal(plan.max_frame, 1522);
	assert_int_equal(plan.conf.rxmode.mtu, 1500);
	info.max_mtu = 9710; // overhead 18, as ixgbe: room for the tags must be asked for
	assert_int_equal(make(wish(1), info), 0);
	assert_int_equal(plan.conf.rxmode.mtu, 1508);
	info.max_mtu = 1500;
	info.max_rx_pktlen = 1518;
	assert_int_equal(make(wish(1), info), 0);
	assert_int_equal(plan.conf.rxmode.mtu, 1500);
	assert_true(plan.vlan_short);
	// A kernel interface's MTU is seen by others: exactly what was asked.
	struct port_wish w = wish(1);
	w.kernel_interface = true;
	w.mtu = 1400;
	info.max_mtu = 3000;
	info.max_rx_pktlen = 3018;
	assert_int_equal(make(w, info), 0);
	assert_int_equal(plan.conf.rxmode.mtu, 1400);
	w.mtu = 3001;
	assert_int_equal(make(w, info), -ERANGE);
	assert_non_null(strstr(err, "3000"));
	w.mtu = 67;
	assert_int_equal(make(w, info), -ERANGE);
}

static void test_mtu_of_memif(void **state)
{
	(void)state;
	// ethdev refuses what max_rx_pktlen does not hold, whatever max_mtu says.
	struct rte_eth_dev_info info = virtual("net_memif", 256);
	info.max_rx_pktlen = 1518;
	assert_int_equal(make(wish(1), info), 0);
	assert_int_equal(plan.conf.rxmode.mtu, 1500);
	assert_int_equal(plan.max_frame, 1522);
	assert_false(plan.vlan_short); // it chains buffers: nothing is too long
}

static void test_jumbo(void **state)
{
	(void)state;
	struct port_wish w = wish(1);
	struct rte_eth_dev_info info = nic();
	w.mtu = 9000;
	assert_int_equal(port_plan_data_room(&w, &info), 0); // it scatters
	assert_int_equal(make(w, info), 0);
	assert_true(plan.conf.rxmode.offloads & RTE_ETH_RX_OFFLOAD_SCATTER);
	info.rx_offload_capa = 0;
	uint32_t room = port_plan_data_room(&w, &info);
	assert_int_equal(room, RTE_PKTMBUF_HEADROOM + 9000 + 22 + 4);
	assert_int_equal(make(w, info), -EMSGSIZE);
	assert_int_equal(port_plan_make(&w, &info, room, &plan, err, sizeof(err)), 0);
	assert_int_equal(plan.conf.rxmode.offloads, 0);
	// A driver that chains by itself needs neither.
	info = virtual("net_pcap", 1);
	assert_int_equal(port_plan_data_room(&w, &info), 0);
	assert_int_equal(make(w, info), 0);
}

static void test_queues_by_driver(void **state)
{
	(void)state;
	// Every queue of an af_xdp device carries packets, whether or not there is a lcore for it.
	assert_int_equal(make(wish(1), virtual("net_af_xdp", 4)), 0);
	assert_int_equal(plan.n_rxq, 4);
	assert_int_equal(plan.n_txq, 1);
	struct rte_eth_dev_info info = virtual("net_tap", 16);
	info.flow_type_rss_offloads = RTE_ETH_RSS_IP;
	struct port_wish w = wish(3);
	assert_int_equal(make(w, info), 0);
	assert_int_equal(plan.n_rxq, 3);
	assert_int_equal(plan.n_txq, 3);
	w.queues = 2;
	assert_int_equal(make(w, info), 0);
	assert_int_equal(plan.n_rxq, 2);
	assert_int_equal(plan.n_txq, 2);
	assert_int_equal(make(wish(3), virtual("net_memif", 256)), 0);
	assert_int_equal(plan.n_rxq, 1);
	assert_int_equal(plan.n_txq, 1);
	w = wish(8);
	assert_int_equal(make(w, virtual("net_something", 2)), 0);
	assert_int_equal(plan.n_txq, 2); // fewer send queues than lcores
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing_offered_nothing_asked),
		cmocka_unit_test(test_rss_is_symmetric_and_masked),
		cmocka_unit_test(test_who_can_tells_of_its_removal),
		cmocka_unit_test(test_offloads_never_wanted),
		cmocka_unit_test(test_mtu_by_driver),
		cmocka_unit_test(test_mtu_of_memif),
		cmocka_unit_test(test_jumbo),
		cmocka_unit_test(test_queues_by_driver),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
