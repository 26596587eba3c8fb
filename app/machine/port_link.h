// SPDX-License-Identifier: BSD-3-Clause
// Whether the ports have a link, and what follows from it. A driver that is a front of a kernel
// interface (af_xdp, af_packet, tap, pcap) says "up" whatever becomes of it: of these the kernel is
// asked, by netlink, which tells of every change at once. Of others the driver is asked ten times a
// second, and hardware tells when it is pulled out.
//
// A port without a link takes nothing (tx_no_link): what is sent to it is dropped, by reason
// link_down, not counted as sent. The change is reported in the log, as an event `link`, in the
// counters and by the alarm `ports_down`.
// An interface that is made again is taken up by sockets of the launcher (again.h).
//
// Owned by run.c; control core only.
#ifndef SLUICE_PORT_LINK_H
#define SLUICE_PORT_LINK_H

#include "control/ctl/socket.h"
#include "process/launcher.h"

struct port_links;

// After the ports were started, before the sandbox and before any lcore runs. Tells of ports that
// have no link. -errno with a message.
int port_links_new(const struct control_context *context, struct launcher *launcher,
	struct port_links **out, char *err, size_t err_len);
// Ten times a second. True: a link has changed since the last call.
bool port_links_tick(struct port_links *links, uint64_t now_ns);
// With every lcore gone, before ports_close. NULL is allowed.
void port_links_free(struct port_links *links);

#endif
