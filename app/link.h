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
	bool up;            // likewise (IFF_UP)
	bool carrier;
};

// What the kernel says of an interface, unasked.
struct link_news {
	unsigned ifindex;
	char name[16]; // IF_NAMESIZE
	bool gone;     // or has left this network namespace
	bool up;       // as an administrator wants it
	bool carrier;
};
typedef void link_news_fn(void *ctx, const struct link_news *news);

// A socket that hears of every interface of this network namespace, first how each is now; -errno.
// Opened before the sandbox, it goes on working behind it.
int link_watch_open(void);
// Takes what has come; does not wait. `done` is set when the list of how they are now has ended. 0;
// -ENOBUFS: news were lost, ask again; other -errno.
int link_watch_read(int fd, link_news_fn *tell, void *ctx, bool *done);
// How each is now, once more: comes by link_watch_read. 0 or -errno.
int link_watch_ask(int fd);

// 0 (also for an interface that is not there) or -errno.
int link_query(const char *name, struct link_state *out);
// Takes the program off that link_query found. 0 or -errno.
int link_xdp_detach(const struct link_state *link);
int link_promiscuous_clear(const struct link_state *link);
int link_promiscuous_set(const struct link_state *link);
// Puts a program on an interface that has none. `flags`: XDP_FLAGS_* of a mode, or 0.
int link_xdp_attach(unsigned ifindex, int program, uint32_t flags);
// Sets it up; mtu 0: as it is.
int link_up(unsigned ifindex, uint32_t mtu);

#endif
