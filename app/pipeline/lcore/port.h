// SPDX-License-Identifier: BSD-3-Clause
// A port as the data path sees it: its queues, its pair, its driver's counters and its link.
#ifndef SLUICE_PIPELINE_PORT_H
#define SLUICE_PIPELINE_PORT_H

#include <stdbool.h>
#include <stdint.h>
#include "pipeline/vocab/sizes.h"

#define PORTS_MAX     32
#define RX_QUEUES_MAX 32  // polled by one lcore
#define TX_BUFFER     256 // packets that a port has not accepted yet
#define PORT_NONE     UINT8_MAX

struct again;
struct rte_mbuf;
struct rte_mempool;

// What becomes of what is sent to a port; of what its driver, or the kernel, says.
enum port_link {
	PORT_LINK_UNKNOWN, // nobody has asked yet
	PORT_LINK_UP,
	PORT_LINK_DOWN,     // no carrier
	PORT_LINK_DISABLED, // the kernel's interface is set down
	PORT_LINK_GONE,     // the interface, or the device, is not there any more
};
static inline const char *port_link_word(enum port_link link)
{
	static const char *const words[] = {"unknown", "up", "no_carrier", "disabled", "gone"};
	return words[link];
}

// What a driver counts. X(name, help): its key in `sluicectl stats`; with sluice_port_ in metrics.
#define PORT_COUNTERS(X)                                                                        \
	X(rx_pkts, "packets received by the port")                                              \
	X(rx_bytes, "bytes received by the port")                                               \
	X(tx_pkts, "packets sent by the port")                                                  \
	X(tx_bytes, "bytes sent by the port")                                                   \
	X(rx_missed, "packets lost by the port: its ring was full") /* the lcore is too slow */ \
	X(rx_nombuf, "receptions that found the buffer pool empty")                             \
	X(rx_errors, "packets received with errors")                                            \
	X(tx_errors, "packets that the port failed to send")

struct port_counters { // and the link
#define X(name, help) uint64_t name;
	PORT_COUNTERS(X)
#undef X
	uint32_t speed_mbps; // 0: unknown
	bool link_up;
	enum port_link link;
	bool restart;          // it is gone, and only a restart mends it
	uint64_t link_changes; // between up and one of the others
};

typedef uint16_t port_send_fn(void *ctx, uint16_t queue, struct rte_mbuf **pkts, uint16_t n);
typedef uint16_t port_receive_fn(void *ctx, uint16_t queue, struct rte_mbuf **pkts, uint16_t n);

// A port as the data path sees it. Written by app/machine/port.c before the lcores start, then
// constant, but for `send`, `receive`, which the control core changes with the link (port_link.h).
// Replay's two "ports" write captures.
struct port {
	char name[32];
	uint16_t port_id; // ethdev
	uint8_t index;    // in dataplane.ports
	uint8_t peer;     // out port of packets that come in here, or PORT_NONE
	bool inside;
	bool one_way; // of flows that come in here the other direction takes another path
	uint16_t n_rxq;
	uint16_t n_txq;
	uint32_t max_frame;            // bytes, without CRC
	bool tx_ip_cksum, tx_l4_cksum; // offloads that the driver has; else in software
	// Sends n packets; returns how many were accepted (those are no longer ours).
	port_send_fn *send;
	port_receive_fn *receive;
	// What the driver says; control core only. NULL: nothing (replay).
	void (*counters)(void *ctx, struct port_counters *out);
	int lost_fd;         // af_xdp: where the kernel counts what found the ring full; or -1
	uint64_t lost_start; // and what it had counted before us
	uint64_t
		lost_most; // the most that it has counted: an interface that is gone counts nothing
	enum port_link link; // control core only, as the next two
	uint64_t link_changes;
	bool restart;             // PORT_LINK_GONE: only a restart gives it a link again
	struct again *again;      // what receive and send go by when the driver is dead (again.h)
	struct rte_mempool *pool; // that its driver receives into
	void *ctx;
	// Per lcore: the tx queue it owns, or UINT16_MAX and then the lcore that sends for it.
	uint16_t tx_queue[LCORES_MAX];
	uint8_t tx_lcore[LCORES_MAX];
};

// What its driver says now; false, and zeroes: it says nothing.
static inline bool port_read(const struct port *port, struct port_counters *out)
{
	*out = (struct port_counters){0};
	if (port->counters)
		port->counters(port->ctx, out);
	return port->counters;
}

struct rx_queue {
	uint8_t port; // index
	uint16_t queue;
};

struct tx_buffer {
	uint16_t n;
	struct rte_mbuf *pkts[TX_BUFFER];
};

#endif
