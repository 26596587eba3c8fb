// SPDX-License-Identifier: BSD-3-Clause
// Configures, starts and stops ethdev ports.
#include "machine/port.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>
#include <rte_cycles.h>
#include <rte_dev.h>
#include <rte_ethdev.h>
#include "machine/again_port.h"
#include "machine/eal.h"
#include "config/eal_args.h"
#include "base/log.h"
#include "machine/port_plan.h"
#include "machine/preflight.h"

#define RX_DESC_DEFAULT 2048 // shorter rings lose packets when a lcore shares its CPU
#define TX_DESC_DEFAULT 1024
#define INJECT_RING     1024 // an upper bound of what the control core may have under way
#define POOL_CACHE      256
#define AF_XDP_RING     2048 // ETH_AF_XDP_DFLT_NUM_DESCS of the driver

static uint16_t ethdev_receive(void *ctx, uint16_t queue, struct rte_mbuf **pkts, uint16_t n)
{
	return rte_eth_rx_burst(((const struct port *)ctx)->port_id, queue, pkts, n);
}

uint16_t port_ethdev_send(void *ctx, uint16_t queue, struct rte_mbuf **pkts, uint16_t n)
{
	return rte_eth_tx_burst(((const struct port *)ctx)->port_id, queue, pkts, n);
}

// The driver of AF_XDP does not count what found its receive ring full; the interface does.
static uint64_t lost_read(struct port *port)
{
	char text[32] = "";

	if (port->lost_fd >= 0 && pread(port->lost_fd, text, sizeof(text) - 1, 0) > 0)
		port->lost_most = RTE_MAX(port->lost_most, strtoull(text, NULL, 10));
	return port->lost_most;
}

// Kept open: once the gateway has given up its rights it may not look there any more.
static void lost_open(struct port *port)
{
	struct rte_eth_dev_info info;
	char name[IF_NAMESIZE], path[96];

	port->lost_fd = -1;
	if (rte_eth_dev_info_get(port->port_id, &info) || strcmp(info.driver_name, "net_af_xdp") ||
		!if_indextoname(info.if_index, name))
		return;
	snprintf(path, sizeof(path), "/sys/class/net/%s/statistics/rx_dropped", name);
	port->lost_fd = open(path, O_RDONLY | O_CLOEXEC);
	port->lost_start = lost_read(port);
}

static void ethdev_counters(void *ctx, struct port_counters *out)
{
	struct port *port = ctx;
	struct rte_eth_stats stats;
	struct rte_eth_link link;

	memset(out, 0, sizeof(*out));
	if (rte_eth_stats_get(port->port_id, &stats) == 0) {
		out->rx_pkts = stats.ipackets;
		out->tx_pkts = stats.opackets;
		out->rx_bytes = stats.ibytes;
		out->tx_bytes = stats.obytes;
		out->rx_missed = stats.imissed;
		uint64_t lost = lost_read(port);

		if (lost > port->lost_start + out->rx_missed) // what the driver counts is in it
			out->rx_missed = lost - port->lost_start;
		out->rx_errors = stats.ierrors;
		out->rx_nombuf = stats.rx_nombuf;
		out->tx_errors = stats.oerrors;
	}
	if (port->again)
		again_counters(port->again, out);
	out->link = port->link;
	out->link_changes = port->link_changes;
	out->restart = port->restart;
	out->link_up = port->link == PORT_LINK_UP;
	if (rte_eth_link_get_nowait(port->port_id, &link) == 0) {
		if (port->link == PORT_LINK_UNKNOWN)
			out->link_up = link.link_status == RTE_ETH_LINK_UP;
		out->speed_mbps =
			link.link_speed == RTE_ETH_SPEED_NUM_UNKNOWN ? 0 : link.link_speed;
	}
}

// "port lan (net_af_xdp0,iface=gA)": how every message begins.
static int fail(
	const struct gateway_port *wanted, int error, char *err, size_t err_len, const char *what)
{
	char lines[1024];

	eal_log_recall(lines, sizeof(lines));
	snprintf(err, err_len, "port \"%s\" (%s): %s%s%s%s", wanted->name, wanted->device, what,
		lines[0] ? " [dpdk: " : "", lines, lines[0] ? "]" : "");
	return error;
}

static int attach_one(struct dataplane *dp, const struct gateway_port *wanted, struct port *port,
	char *err, size_t err_len)
{
	char name[RTE_ETH_NAME_MAX_LEN], what[512];

	device_name_of(wanted->device, name, sizeof(name));
	eal_log_forget();
	if (device_type_of(wanted->device) == DEVICE_VIRTUAL) {
		int rc = rte_dev_probe(wanted->device);
		if (rc < 0 && rc != -EEXIST) {
			device_describe_missing(wanted, dp->n_ports, what, sizeof(what));
			return fail(wanted, rc == -EACCES ? rc : -ENODEV, err, err_len, what);
		}
	}
	if (rte_eth_dev_get_port_by_name(name, &port->port_id) < 0) {
		device_describe_missing(wanted, dp->n_ports, what, sizeof(what));
		return fail(wanted, -ENODEV, err, err_len, what);
	}
	for (unsigned i = 0; i < dp->n_ports; i++) {
		if (dp->ports[i].port_id == port->port_id) {
			snprintf(what, sizeof(what), "the device name %s is used twice", name);
			return fail(wanted, -EBUSY, err, err_len, what);
		}
	}
	return 0;
}

static int find_port(const struct gateway *gateway, const char *name)
{
	for (unsigned i = 0; i < gateway->n_ports; i++) {
		if (strcmp(gateway->ports[i].name, name) == 0)
			return (int)i;
	}
	return -1;
}

int ports_attach(struct dataplane *dp, const struct gateway *gateway, char *err, size_t err_len)
{
	dp->n_ports = 0;
	for (unsigned i = 0; i < gateway->n_ports; i++) {
		struct port *port = &dp->ports[i];
		memset(port, 0, sizeof(*port));
		snprintf(port->name, sizeof(port->name), "%s", gateway->ports[i].name);
		port->index = (uint8_t)i;
		port->peer = PORT_NONE;
		port->ctx = port;
		port->receive = ethdev_receive;
		port->send = port_ethdev_send;
		port->counters = ethdev_counters;
		port->lost_fd = -1;
		int rc = attach_one(dp, &gateway->ports[i], port, err, err_len);
		if (rc)
			return rc;
		port->one_way = gateway->ports[i].one_way;
		lost_open(port);
		dp->n_ports++;
	}
	for (unsigned i = 0; i < gateway->n_pairs; i++) {
		int inside = find_port(gateway, gateway->pairs[i].inside);
		int outside = find_port(gateway, gateway->pairs[i].outside);
		if (inside < 0 || outside < 0) { // gateway_load has checked it
			snprintf(
				err, err_len, "pairs[%u] names a port that is not in \"ports\"", i);
			return -ENODEV;
		}
		dp->ports[inside].peer = (uint8_t)outside;
		dp->ports[inside].inside = true;
		dp->ports[outside].peer = (uint8_t)inside;
	}
	return 0;
}

// ethdev does not know the MTU of the kernel interface behind a virtual device: ask the kernel.
static uint32_t kernel_mtu(unsigned if_index)
{
	struct ifreq request;
	uint32_t mtu = 0;

	memset(&request, 0, sizeof(request));
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return 0;
	if (if_indextoname(if_index, request.ifr_name) && ioctl(fd, SIOCGIFMTU, &request) == 0 &&
		request.ifr_mtu > 0)
		mtu = (uint32_t)request.ifr_mtu;
	close(fd);
	return mtu;
}

static int describe(const struct dataplane *dp, const struct gateway *gateway, unsigned index,
	struct port_wish *wish, struct rte_eth_dev_info *info)
{
	const struct gateway_port *wanted = &gateway->ports[index];
	uint16_t port_id = dp->ports[index].port_id, mtu = 0;
	int rc = rte_eth_dev_info_get(port_id, info);

	if (rc)
		return rc;
	*wish = (struct port_wish){
		.mtu = wanted->mtu,
		.queues = wanted->queues,
		.rx_desc = wanted->rx_desc ? wanted->rx_desc : RX_DESC_DEFAULT,
		.tx_desc = wanted->tx_desc ? wanted->tx_desc : TX_DESC_DEFAULT,
		.n_lcores = (uint16_t)gateway->n_data,
		.kernel_interface =
			info->if_index && device_type_of(wanted->device) == DEVICE_VIRTUAL,
	};
	if (wish->kernel_interface)
		wish->device_mtu = kernel_mtu(info->if_index);
	if (!wish->device_mtu && rte_eth_dev_get_mtu(port_id, &mtu) == 0)
		wish->device_mtu = mtu;
	if (!wish->device_mtu)
		wish->device_mtu = RTE_ETHER_MTU;
	return 0;
}

uint16_t ports_data_room(const struct dataplane *dp, const struct gateway *gateway)
{
	uint32_t room = RTE_MBUF_DEFAULT_BUF_SIZE; // 2 KiB and headroom

	for (unsigned i = 0; i < dp->n_ports; i++) {
		struct rte_eth_dev_info info;
		struct port_wish wish;
		if (describe(dp, gateway, i, &wish, &info) == 0)
			room = RTE_MAX(room, port_plan_data_room(&wish, &info));
	}
	return (uint16_t)RTE_MIN(room, (uint32_t)UINT16_MAX);
}

uint32_t ports_mbufs_needed(const struct gateway *gateway)
{
	uint32_t n = gateway->n_data, mbufs = 0;

	for (unsigned i = 0; i < gateway->n_ports; i++) {
		const struct gateway_port *port = &gateway->ports[i];
		uint32_t queues = port->queues ? port->queues : n;
		uint32_t rx = port->rx_desc ? port->rx_desc : RX_DESC_DEFAULT;
		uint32_t tx = port->tx_desc ? port->tx_desc : TX_DESC_DEFAULT;
		char text[16];
		device_driver_of(port->device, text, sizeof(text));
		if (strcmp(text, "net_af_xdp") == 0) {
			// As many queues as the device was given, whatever the lcores are.
			if (!port->queues)
				queues = device_arg_of(
						 port->device, "queue_count", text, sizeof(text))
						 ? (uint32_t)strtoul(text, NULL, 10)
						 : 1;
			// Its fill and completion rings hold mbufs too, whatever we ask for.
			rx += AF_XDP_RING;
			tx += AF_XDP_RING;
		}
		mbufs += queues * (rx + tx);
		mbufs += n * TX_BUFFER;
	}
	// A handoff ring and a send ring from each lcore to each other one.
	mbufs += n * (n - 1) * 2 * HANDOFF_RING;
	mbufs += n * (POOL_CACHE * 2 + 2 * BURST) + n * INJECT_RING;
	mbufs += n * gateway->fragments.packets;
	if (gateway_impairs(gateway))
		mbufs += n * gateway->impairment.limit;
	return mbufs + mbufs / 8;
}

static int setup_queues(struct port *port, const struct port_plan *plan,
	struct rte_mempool *const pools[], const char **what)
{
	int socket = rte_eth_dev_socket_id(port->port_id);
	struct rte_mempool *pool = socket >= 0 && pools[socket] ? pools[socket] : NULL;

	for (int i = 0; !pool && i < RTE_MAX_NUMA_NODES; i++)
		pool = pools[i];
	port->pool = pool;
	*what = "a receive queue could not be made: another program has the device, or it is not "
		"up to this configuration (af_xdp: ss -a --xdp -p shows whose socket it is)";
	for (uint16_t q = 0; q < plan->n_rxq; q++) {
		int rc = rte_eth_rx_queue_setup(
			port->port_id, q, plan->rx_desc, (unsigned)socket, NULL, pool);
		if (rc)
			return rc;
	}
	*what = "a send queue could not be made";
	for (uint16_t q = 0; q < plan->n_txq; q++) {
		int rc = rte_eth_tx_queue_setup(
			port->port_id, q, plan->tx_desc, (unsigned)socket, NULL);
		if (rc)
			return rc;
	}
	return 0;
}

static int configure_one(struct dataplane *dp, const struct gateway *gateway, unsigned index,
	struct rte_mempool *const pools[], uint32_t data_room, char *err, size_t err_len)
{
	const struct gateway_port *wanted = &gateway->ports[index];
	struct port *port = &dp->ports[index];
	struct rte_eth_dev_info info;
	struct port_wish wish;
	struct port_plan plan;
	char text[384];
	const char *what = "it could not be configured";

	eal_log_forget();
	if (describe(dp, gateway, index, &wish, &info))
		return fail(wanted, -ENODEV, err, err_len, "the device is gone");
	int rc = port_plan_make(&wish, &info, data_room, &plan, text, sizeof(text));
	if (rc)
		return fail(wanted, rc, err, err_len, text);
	rc = rte_eth_dev_configure(port->port_id, plan.n_rxq, plan.n_txq, &plan.conf);
	if (rc)
		return fail(wanted, -EIO, err, err_len, what);
	if (wanted->mtu) {
		rc = rte_eth_dev_set_mtu(port->port_id, (uint16_t)plan.conf.rxmode.mtu);
		if (rc && rc != -ENOTSUP)
			return fail(wanted, -ERANGE, err, err_len, "the MTU could not be set");
	}
	rte_eth_dev_adjust_nb_rx_tx_desc(port->port_id, &plan.rx_desc, &plan.tx_desc);
	rc = setup_queues(port, &plan, pools, &what);
	if (rc) {
		snprintf(text, sizeof(text), "%s (%s)", what, strerror(-rc));
		return fail(wanted, rc == -EACCES ? rc : -EBUSY, err, err_len, text);
	}
	port->n_rxq = plan.n_rxq;
	port->n_txq = plan.n_txq;
	port->max_frame = plan.max_frame;
	if (plan.rss && info.reta_size && (!dp->reta_size || info.reta_size < dp->reta_size))
		dp->reta_size = info.reta_size; // owners are dealt as NICs deal (owner.h)
	for (unsigned i = 0; i < LCORES_MAX; i++) {
		// The first n_txq lcores own a queue each; the others send through one of them.
		port->tx_queue[i] = i < plan.n_txq ? (uint16_t)i : UINT16_MAX;
		port->tx_lcore[i] = (uint8_t)(i % RTE_MIN(plan.n_txq, dp->n_lcores));
	}
	if (plan.vlan_short)
		log_warning("port \"%s\": no room for two VLAN tags above an MTU of %u; the device "
			    "takes at most %u",
			port->name, plan.mtu, info.max_mtu);
	int socket = rte_eth_dev_socket_id(port->port_id);
	log_info("port \"%s\": %s, driver %s, MTU %u, %u rx and %u tx queues of %u and %u, %s, "
		 "socket %d",
		port->name, wanted->device, info.driver_name, plan.mtu, plan.n_rxq, plan.n_txq,
		plan.rx_desc, plan.tx_desc,
		plan.rss ? "symmetric RSS" : "no RSS: lcores share by handoff", socket);
	return 0;
}

int ports_configure(struct dataplane *dp, const struct gateway *gateway,
	struct rte_mempool *const pools[], char *err, size_t err_len)
{
	uint32_t data_room = ports_data_room(dp, gateway);

	for (unsigned i = 0; i < dp->n_ports; i++) {
		int rc = configure_one(dp, gateway, i, pools, data_room, err, err_len);
		if (rc)
			return rc;
	}
	for (unsigned i = 0; i < dp->n_ports; i++) {
		const struct port *port = &dp->ports[i];
		const struct port *peer = port->peer == PORT_NONE ? NULL : &dp->ports[port->peer];
		if (peer && port->max_frame > peer->max_frame)
			log_warning("port \"%s\" has a larger MTU than \"%s\": frames of more than "
				    "%u bytes will be dropped (tx_oversize)",
				port->name, peer->name, peer->max_frame);
		if (!peer)
			log_warning("port \"%s\" belongs to no pair: what it receives is dropped "
				    "(no_pair)",
				port->name);
	}
	return 0;
}

int ports_assign_rx_queues(struct dataplane *dp, char *err, size_t err_len)
{
	unsigned next = 0;

	for (unsigned i = 0; i < dp->n_ports; i++) {
		const struct port *port = &dp->ports[i];
		for (uint16_t q = 0; q < port->n_rxq; q++) {
			// Queue q of every RSS port to lcore q: the key is symmetric, so both
			// directions of a flow arrive there. Single queues go round.
			unsigned index = port->n_rxq > 1 ? q : next++;
			struct lcore *lcore = dp->lcores[index % dp->n_lcores];
			if (lcore->n_rx == RX_QUEUES_MAX) {
				snprintf(err, err_len,
					"port \"%s\": more than %d receive queues for one data "
					"lcore: set \"queues\" of the ports, or add lcores",
					port->name, RX_QUEUES_MAX);
				return -ERANGE;
			}
			lcore->rx[lcore->n_rx++] =
				(struct rx_queue){.port = port->index, .queue = q};
		}
	}
	return 0;
}

int ports_start(struct dataplane *dp, char *err, size_t err_len)
{
	char lines[1024];

	for (unsigned i = 0; i < dp->n_ports; i++) {
		const struct port *port = &dp->ports[i];
		eal_log_forget();
		int rc = rte_eth_dev_start(port->port_id);
		if (rc) {
			eal_log_recall(lines, sizeof(lines));
			snprintf(err, err_len, "port \"%s\" did not start: %s [dpdk: %s]",
				port->name, strerror(-rc), lines);
			return rc == -EACCES ? rc : -EIO;
		}
		// A bridge takes what is not addressed to it. Some virtual devices have no such
		// filter, and no such call.
		rc = rte_eth_promiscuous_enable(port->port_id);
		if (rc && rc != -ENOTSUP) {
			snprintf(err, err_len,
				"port \"%s\" cannot be made promiscuous (%s), and a bridge needs "
				"it",
				port->name, strerror(-rc));
			return rc == -EACCES ? rc : -EIO;
		}
	}
	return 0;
}

void ports_close(struct dataplane *dp)
{
	// What was accepted by the drivers is counted as sent: let it leave.
	if (dp->n_ports)
		rte_delay_us_sleep(5000);
	for (unsigned i = 0; i < dp->n_ports; i++) {
		rte_eth_dev_stop(dp->ports[i].port_id);
		rte_eth_dev_close(dp->ports[i].port_id);
		again_free(dp->ports[i].again);
		dp->ports[i].again = NULL;
		if (dp->ports[i].lost_fd >= 0)
			close(dp->ports[i].lost_fd);
	}
	dp->n_ports = 0;
}
