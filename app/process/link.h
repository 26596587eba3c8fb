// SPDX-License-Identifier: BSD-3-Clause
// What an af_xdp port leaves on the kernel's interface: its XDP program and promiscuous mode. Asked
// and undone over rtnetlink, for whoever has CAP_NET_ADMIN when the gateway has not any more.
#ifndef SLUICE_LINK_H
#define SLUICE_LINK_H

#include <stdbool.h>
#include <stdint.h>

struct link_state {
	unsigned ifindex;   // 0: there is no such interface
	char name[16];      // IF_NAMESIZE
	uint32_t xdp_id;    // of the program on it; 0: none
	uint32_t xdp_flags; // XDP_FLAGS_*: the mode in which it hangs there
	bool promiscuous;   // as an administrator set it (IFF_PROMISC)
	bool up;            // likewise (IFF_UP)
	bool carrier;
};

// 0 (also for an interface that is not there) or -errno.
int link_query(const char *name, struct link_state *out);
// Whatever its name is now. -ENODEV: it is not there.
int link_query_index(unsigned ifindex, struct link_state *out);
// Takes the program off that link_query found. 0 or -errno.
int link_xdp_detach(const struct link_state *link);
int link_promiscuous_clear(const struct link_state *link);
// Sets it up; mtu 0: as it is.
int link_up(unsigned ifindex, uint32_t mtu);

#endif
