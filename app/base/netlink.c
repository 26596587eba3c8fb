// SPDX-License-Identifier: BSD-3-Clause
// Reads attributes and dumps of rtnetlink.
#include "base/netlink.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#define DATAGRAM_BYTES 32768 // the kernel's own limit for a part of a list

bool netlink_next(struct netlink_attributes *attributes, struct rtattr *head, const char **value,
	size_t *length)
{
	if (attributes->left < sizeof(*head))
		return false;
	memcpy(head, attributes->at, sizeof(*head));
	if (head->rta_len < sizeof(*head) || head->rta_len > attributes->left)
		return false;
	*value = attributes->at + RTA_LENGTH(0);
	*length = head->rta_len - RTA_LENGTH(0);
	size_t step = RTA_ALIGN(head->rta_len);
	step = step < attributes->left ? step : attributes->left;
	attributes->at += step;
	attributes->left -= step;
	return true;
}

// 1: there is more to come.
static int take(const char *datagram, size_t length, netlink_object_fn *report, void *ctx)
{
	struct nlmsghdr header;
	int error;

	for (size_t at = 0; at + sizeof(header) <= length;) {
		memcpy(&header, datagram + at, sizeof(header));
		if (header.nlmsg_len < sizeof(header) || header.nlmsg_len > length - at)
			return -EPROTO;
		if (header.nlmsg_type == NLMSG_DONE)
			return 0;
		if (header.nlmsg_type == NLMSG_ERROR) {
			if (header.nlmsg_len < NLMSG_LENGTH(sizeof(error)))
				return -EPROTO;
			memcpy(&error, datagram + at + NLMSG_HDRLEN, sizeof(error));
			return error ? error : -EPROTO;
		}
		report(ctx, header.nlmsg_type, datagram + at + NLMSG_HDRLEN,
			header.nlmsg_len - NLMSG_HDRLEN);
		at += NLMSG_ALIGN(header.nlmsg_len);
	}
	return 1;
}

int netlink_dump(int protocol, const struct nlmsghdr *request, netlink_object_fn *report, void *ctx)
{
	static char datagram[DATAGRAM_BYTES];
	struct timeval patience = {.tv_sec = 1};
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, protocol);
	int rc = 1;

	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	if (send(fd, request, request->nlmsg_len, 0) < 0)
		rc = -errno;
	while (rc == 1) {
		ssize_t n = recv(fd, datagram, sizeof(datagram), 0);
		rc = n < 0 ? -errno : take(datagram, (size_t)n, report, ctx);
	}
	close(fd);
	return rc;
}

// The kernel complains of what is longer than the header of the request's family.
static size_t family_bytes(unsigned short type)
{
	return type == RTM_GETLINK   ? sizeof(struct ifinfomsg)
	       : type == RTM_GETADDR ? sizeof(struct ifaddrmsg)
				     : sizeof(struct rtmsg);
}

int netlink_list(unsigned short type, netlink_object_fn *report, void *ctx)
{
	struct {
		struct nlmsghdr header;
		union {
			struct ifinfomsg link;
			struct ifaddrmsg address;
			struct rtmsg route;
		} family; // zeroed it means all
	} request = {.header = {.nlmsg_len = (uint32_t)NLMSG_LENGTH(family_bytes(type)),
			     .nlmsg_type = type,
			     .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP,
			     .nlmsg_seq = 1}};

	return netlink_dump(NETLINK_ROUTE, &request.header, report, ctx);
}
