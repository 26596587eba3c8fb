// SPDX-License-Identifier: BSD-3-Clause
// Follows the interfaces of the network namespace over rtnetlink.
#include "machine/link_watch.h"

#include <errno.h>
#include <net/if.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "base/netlink.h"

#define DATAGRAM   32768
#define WATCH_ROOM (1 << 20)
#ifndef IFF_LOWER_UP
#define IFF_LOWER_UP 0x10000 // <linux/if.h>, which <net/if.h> excludes
#endif

int link_watch_open(struct link_watch *watch)
{
	struct sockaddr_nl address = {.nl_family = AF_NETLINK, .nl_groups = RTMGRP_LINK};
	socklen_t length = sizeof(address);
	int room = WATCH_ROOM;

	*watch = (struct link_watch){.wanted = true};
	watch->fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE);
	if (watch->fd < 0)
		return -errno;
	setsockopt(watch->fd, SOL_SOCKET, SO_RCVBUF, &room, sizeof(room));
	if (bind(watch->fd, (const struct sockaddr *)&address, sizeof(address)) < 0 ||
		getsockname(watch->fd, (struct sockaddr *)&address, &length) < 0) {
		int rc = -errno;
		link_watch_close(watch);
		return rc;
	}
	watch->self = address.nl_pid;
	return 0;
}

void link_watch_close(struct link_watch *watch)
{
	if (watch->fd >= 0)
		close(watch->fd);
	watch->fd = -1;
}

void link_watch_want(struct link_watch *watch)
{
	watch->wanted = true;
}

bool link_watch_ask(struct link_watch *watch)
{
	struct {
		struct nlmsghdr header;
		struct ifinfomsg info;
	} request = {.header = {.nlmsg_len = sizeof(request),
			     .nlmsg_type = RTM_GETLINK,
			     .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP,
			     .nlmsg_seq = watch->sequence + 1}};

	if (!watch->wanted || watch->listing ||
		send(watch->fd, &request, sizeof(request), 0) < 0) // tried again
		return false;
	watch->sequence++;
	watch->listing = true;
	watch->wanted = false;
	return true;
}

static void report_link(const struct nlmsghdr *header, const char *message, bool listed,
	link_news_fn *report, void *ctx)
{
	const size_t begin = NLMSG_LENGTH(sizeof(struct ifinfomsg));
	struct link_news news = {.gone = header->nlmsg_type == RTM_DELLINK, .listed = listed};
	struct ifinfomsg info;
	struct rtattr head;
	const char *value;
	size_t length;

	if (header->nlmsg_len < begin)
		return;
	memcpy(&info, message + NLMSG_HDRLEN, sizeof(info));
	// A bridge that lets go of its port says RTM_DELLINK, too, as family AF_BRIDGE.
	if (info.ifi_family != AF_UNSPEC)
		return;
	news.ifindex = (unsigned)info.ifi_index;
	news.up = info.ifi_flags & IFF_UP;
	news.carrier = info.ifi_flags & IFF_LOWER_UP;
	struct netlink_attributes walk = {
		message + NLMSG_ALIGN(begin), header->nlmsg_len - (uint32_t)NLMSG_ALIGN(begin)};
	while (netlink_next(&walk, &head, &value, &length)) {
		if (head.rta_type == IFLA_IFNAME && length && length <= sizeof(news.name))
			memcpy(news.name, value, length);
	}
	news.name[sizeof(news.name) - 1] = '\0';
	report(ctx, &news);
}

// One message; of a list that is not the last one only its news count.
static void take(struct link_watch *watch, const struct nlmsghdr *header, const char *message,
	link_news_fn *report, void *ctx, bool *whole)
{
	bool of_list = watch->listing && header->nlmsg_pid == watch->self &&
		       header->nlmsg_seq == watch->sequence;

	if (of_list && header->nlmsg_flags & NLM_F_DUMP_INTR)
		watch->wanted = true; // it changed while it was written
	switch (header->nlmsg_type) {
	case RTM_NEWLINK:
	case RTM_DELLINK:
		report_link(
			header, message, of_list && header->nlmsg_flags & NLM_F_MULTI, report, ctx);
		break;
	case NLMSG_DONE:
		if (!of_list)
			break;
		watch->listing = false;
		*whole = !watch->wanted;
		break;
	case NLMSG_ERROR: // EBUSY: an earlier one is under way
		watch->wanted |= of_list;
		watch->listing &= !of_list;
		break;
	default: break;
	}
}

int link_watch_read(struct link_watch *watch, link_news_fn *report, void *ctx, bool *whole)
{
	static char datagram[DATAGRAM];
	struct nlmsghdr header;

	for (;;) {
		ssize_t n = recv(watch->fd, datagram, sizeof(datagram), MSG_DONTWAIT);

		if (n < 0 && errno == ENOBUFS) { // so many at once that some were lost
			watch->wanted = true;
			*whole = false;
			continue;
		}
		if (n < 0)
			return errno == EAGAIN || errno == EINTR ? 0 : -errno;
		for (size_t at = 0; at + sizeof(header) <= (size_t)n;) {
			memcpy(&header, datagram + at, sizeof(header));
			if (header.nlmsg_len < sizeof(header) || header.nlmsg_len > (size_t)n - at)
				break;
			take(watch, &header, datagram + at, report, ctx, whole);
			at += NLMSG_ALIGN(header.nlmsg_len);
		}
		if (!n)
			return 0;
	}
}
