// SPDX-License-Identifier: BSD-3-Clause
// Reading of netlink: attributes, and lists of all there is of a kind. Control side.
#ifndef SLUICE_NETLINK_H
#define SLUICE_NETLINK_H

#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <stdbool.h>
#include <stddef.h>

// Attributes one after the other; the kernel's macros cannot do it with const.
struct netlink_attributes {
	const char *at;
	size_t left;
};
bool netlink_next(struct netlink_attributes *attributes, struct rtattr *head, const char **value,
	size_t *length);

// One object of a list; `body` is what follows the header, `length` bytes.
typedef void netlink_object_fn(void *ctx, unsigned short type, const char *body, size_t length);
// All objects that a dump's `request` to `protocol` (NETLINK_ROUTE ...) lists. 0 or -errno.
int netlink_dump(
	int protocol, const struct nlmsghdr *request, netlink_object_fn *report, void *ctx);
// All objects that the request `type` (RTM_GETLINK ...) lists in this network namespace, of all
// address families. 0 or -errno.
int netlink_list(unsigned short type, netlink_object_fn *report, void *ctx);

#endif
