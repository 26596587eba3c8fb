// SPDX-License-Identifier: BSD-3-Clause
// Reads and removes XDP programs and promiscuous mode over rtnetlink.
#include "process/link.h"

#include <errno.h>
#include <linux/if_link.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>
#include "base/netlink.h"

#define REPLY_BYTES 16384
#ifndef IFF_LOWER_UP
#define IFF_LOWER_UP 0x10000 // <linux/if.h>, which <net/if.h> excludes
#endif

struct request {
	struct nlmsghdr header;
	struct ifinfomsg info;
	char attributes[64];
};

static void put(struct request *request, struct rtattr *parent, unsigned short type,
	const void *value, unsigned short length)
{
	struct rtattr *attribute =
		(struct rtattr *)(void *)((char *)request + NLMSG_ALIGN(request->header.nlmsg_len));

	attribute->rta_type = type;
	attribute->rta_len = (unsigned short)RTA_LENGTH(length);
	if (length)
		memcpy(RTA_DATA(attribute), value, length);
	request->header.nlmsg_len =
		NLMSG_ALIGN(request->header.nlmsg_len) + (uint32_t)RTA_ALIGN(attribute->rta_len);
	if (parent)
		parent->rta_len = (unsigned short)(parent->rta_len + RTA_ALIGN(attribute->rta_len));
}

static struct request request_make(unsigned short type, unsigned short flags, unsigned ifindex)
{
	return (struct request){
		.header = {.nlmsg_len = NLMSG_LENGTH(sizeof(struct ifinfomsg)),
			.nlmsg_type = type,
			.nlmsg_flags = (unsigned short)(NLM_F_REQUEST | flags),
			.nlmsg_seq = 1},
		.info = {.ifi_family = AF_UNSPEC, .ifi_index = (int)ifindex},
	};
}

// Sends, and takes the answer's first datagram. Its length, or -errno.
static ssize_t ask(const struct request *request, char *reply, size_t room)
{
	struct timeval patience = {.tv_sec = 1};
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	ssize_t n;

	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	n = send(fd, request, request->header.nlmsg_len, 0);
	if (n >= 0)
		n = recv(fd, reply, room, 0);
	if (n < 0)
		n = -errno;
	close(fd);
	return n;
}

// The error of an answer that is an acknowledgement.
static int acknowledged(const char *reply, ssize_t n)
{
	struct nlmsghdr header;
	int error;

	if (n < 0)
		return (int)n;
	if ((size_t)n < NLMSG_HDRLEN + sizeof(error))
		return -EPROTO;
	memcpy(&header, reply, sizeof(header));
	memcpy(&error, reply + NLMSG_HDRLEN, sizeof(error)); // first of struct nlmsgerr
	return header.nlmsg_type == NLMSG_ERROR ? error : -EPROTO;
}

static void read_xdp(struct netlink_attributes walk, struct link_state *out)
{
	struct rtattr head;
	const char *value;
	size_t length;
	uint8_t mode = 0;

	while (netlink_next(&walk, &head, &value, &length)) {
		if (head.rta_type == IFLA_XDP_ATTACHED && length >= 1)
			memcpy(&mode, value, 1);
		else if (head.rta_type == IFLA_XDP_PROG_ID && length >= 4)
			memcpy(&out->xdp_id, value, 4);
	}
	out->xdp_flags = mode == XDP_ATTACHED_SKB   ? XDP_FLAGS_SKB_MODE
			 : mode == XDP_ATTACHED_DRV ? XDP_FLAGS_DRV_MODE
			 : mode == XDP_ATTACHED_HW  ? XDP_FLAGS_HW_MODE
						    : 0;
	if (!out->xdp_flags)
		out->xdp_id = 0; // none, or several: not ours to judge
}

int link_query_index(unsigned ifindex, struct link_state *out)
{
	const size_t begin = NLMSG_LENGTH(sizeof(struct ifinfomsg));
	static char reply[REPLY_BYTES];
	struct nlmsghdr header;
	struct ifinfomsg info;
	struct rtattr head;
	const char *value;
	size_t length;

	*out = (struct link_state){.ifindex = ifindex};
	struct request request = request_make(RTM_GETLINK, 0, ifindex);
	ssize_t n = ask(&request, reply, sizeof(reply));
	if (n < (ssize_t)sizeof(header))
		return n < 0 ? (int)n : -EPROTO;
	memcpy(&header, reply, sizeof(header));
	if (header.nlmsg_type != RTM_NEWLINK || (size_t)n < begin)
		return acknowledged(reply, n);
	memcpy(&info, reply + NLMSG_HDRLEN, sizeof(info));
	out->promiscuous = info.ifi_flags & IFF_PROMISC;
	out->up = info.ifi_flags & IFF_UP;
	out->carrier = info.ifi_flags & IFF_LOWER_UP;
	struct netlink_attributes walk = {
		reply + NLMSG_ALIGN(begin), (size_t)n - NLMSG_ALIGN(begin)};
	while (netlink_next(&walk, &head, &value, &length)) {
		if ((head.rta_type & NLA_TYPE_MASK) == IFLA_XDP)
			read_xdp((struct netlink_attributes){value, length}, out);
		else if (head.rta_type == IFLA_IFNAME && length && length <= sizeof(out->name))
			memcpy(out->name, value, length);
	}
	out->name[sizeof(out->name) - 1] = '\0';
	return 0;
}

int link_query(const char *name, struct link_state *out)
{
	unsigned ifindex = if_nametoindex(name);

	*out = (struct link_state){0};
	return ifindex ? link_query_index(ifindex, out) : 0;
}

static int xdp_set(unsigned ifindex, int program, uint32_t flags)
{
	struct request request = request_make(RTM_SETLINK, NLM_F_ACK, ifindex);
	char reply[1024];

	struct rtattr *nest =
		(struct rtattr *)(void *)((char *)&request + NLMSG_ALIGN(request.header.nlmsg_len));
	put(&request, NULL, IFLA_XDP | NLA_F_NESTED, NULL, 0);
	put(&request, nest, IFLA_XDP_FD, &program, sizeof(program));
	put(&request, nest, IFLA_XDP_FLAGS, &flags, sizeof(flags));
	return acknowledged(reply, ask(&request, reply, sizeof(reply)));
}

int link_xdp_detach(const struct link_state *link)
{
	return xdp_set(link->ifindex, -1, link->xdp_flags);
}

static int flags_set(unsigned ifindex, unsigned change, unsigned flags, uint32_t mtu)
{
	struct request request = request_make(RTM_SETLINK, NLM_F_ACK, ifindex);
	char reply[1024];

	request.info.ifi_change = change;
	request.info.ifi_flags = flags;
	if (mtu)
		put(&request, NULL, IFLA_MTU, &mtu, sizeof(mtu));
	return acknowledged(reply, ask(&request, reply, sizeof(reply)));
}

int link_promiscuous_clear(const struct link_state *link)
{
	return flags_set(link->ifindex, IFF_PROMISC, 0, 0);
}

int link_up(unsigned ifindex, uint32_t mtu)
{
	return flags_set(ifindex, IFF_UP, IFF_UP, mtu);
}
