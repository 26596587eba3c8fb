// SPDX-License-Identifier: BSD-3-Clause
// What the closed and the open loop of tp_rtt share.
#ifndef TP_RTT_H
#define TP_RTT_H

#include "tp.h"

enum { TP_SIZES_MOST = 1024, TP_COUNT_MOST = 10000000 };

struct tp_rtt_options {
	struct tp_transport transport;
	uint32_t size[TP_SIZES_MOST];
	unsigned sizes;
	uint32_t count, total, rounds, warm_up, row_seconds, lost_most, rate;
	int timeout_ms, client_cpu, server_cpu;
	bool samples;
	struct in_addr address;
	const char *client_ns, *server_ns;
};

struct tp_rtt_row {
	uint32_t count, lost_most; // asked for
	uint32_t samples, lost;    // what became of them
	uint64_t late, wall_ns, cpu_ns, cpu_server_ns;
	uint64_t *sample_ns; // room for `count`
	char control[17];    // congestion control in force, "" of datagrams
};

// Sends row->count messages when their time comes, whatever became of those before; a sample is the
// time from when its message was due until it came back. Adds to row->sample_ns, row->samples,
// row->lost. 0, -EINTR at the deadline, or -errno.
int tp_open_loop(const struct tp_rtt_options *options, struct tp_end *end, uint32_t size,
	struct tp_rtt_row *row);

#endif
