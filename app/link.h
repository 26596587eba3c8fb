// SPDX-License-Identifier: BSD-3-Clause
// What an af_xdp port leaves on the kernel's interface: its XDP program and promiscuous mode. Asked
// and undone over rtnetlink, for whoever has CAP_NET_ADMIN when the gateway has not any more.
#ifndef SLUICE_LINK_H
#define SLUICE_LINK_H

#include <stdbool.h>
#include <stdint.h>

struct link_state {
	unsigned ifindex;   // 0: there is no such interface
	uint32_t xdp_id;    // of the program on it; 0: none
	uint32_t xdp_flags; // XDP_FLAGS_*: the mode in which it hangs there
	bool promiscuous;   // as an administrator set it (IFF_PROMISC)
};

// 0 (also for an interface that is not there) or -errno.
int link_query(const char *name, struct link_state *out);
// Takes the program off that link_query found. 0 or -errno.
int link_xdp_detach(const struct link_state *link);
int link_promiscuous_clear(const struct link_state *link);

#endif
