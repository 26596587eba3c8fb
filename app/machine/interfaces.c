// SPDX-License-Identifier: BSD-3-Clause
// Lists the kernel's interfaces with their addresses and routes, and what they are used for.
#include "machine/interfaces.h"

#include <arpa/inet.h>
#include <linux/if_addr.h>
#include <linux/if_link.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include "base/netlink.h"

#ifndef IFF_LOWER_UP
#define IFF_LOWER_UP 0x10000 // <linux/if.h>, which <net/if.h> excludes
#endif

static struct interface *by_index(struct interfaces *interfaces, unsigned index)
{
	for (unsigned i = 0; index && i < interfaces->n; i++) {
		if (interfaces->items[i].index == index)
			return &interfaces->items[i];
	}
	return NULL;
}

const struct interface *interfaces_find(const struct interfaces *interfaces, const char *name)
{
	for (unsigned i = 0; i < interfaces->n; i++) {
		if (strcmp(interfaces->items[i].name, name) == 0)
			return &interfaces->items[i];
	}
	return NULL;
}

static uint32_t number(const char *value, size_t length)
{
	uint32_t number = 0;

	if (length >= sizeof(number))
		memcpy(&number, value, sizeof(number));
	return number;
}

// The other end of a pair is not what it stands on.
static bool is_pair(struct netlink_attributes info)
{
	struct rtattr head;
	const char *value;
	size_t length;

	while (netlink_next(&info, &head, &value, &length)) {
		if (head.rta_type == IFLA_INFO_KIND)
			return strncmp(value, "veth", length) == 0 ||
			       strncmp(value, "netkit", length) == 0;
	}
	return false;
}

static bool has_program(struct netlink_attributes xdp)
{
	struct rtattr head;
	const char *value;
	size_t length;

	while (netlink_next(&xdp, &head, &value, &length)) {
		if (head.rta_type == IFLA_XDP_ATTACHED && length >= 1)
			return value[0] != XDP_ATTACHED_NONE;
	}
	return false;
}

static void take_link(void *ctx, unsigned short type, const char *body, size_t length)
{
	struct interfaces *out = ctx;
	struct ifinfomsg info;
	struct rtattr head;
	const char *value;
	size_t begin = NLMSG_ALIGN(sizeof(info)), value_length;
	bool elsewhere = false;

	if (type != RTM_NEWLINK || length < begin || out->n == INTERFACES_MAX)
		return;
	memcpy(&info, body, sizeof(info));
	struct interface *interface = &out->items[out->n++];
	*interface = (struct interface){.index = (unsigned)info.ifi_index,
		.up = info.ifi_flags & IFF_UP,
		.carrier = info.ifi_flags & IFF_LOWER_UP};
	struct netlink_attributes attributes = {body + begin, length - begin};
	while (netlink_next(&attributes, &head, &value, &value_length)) {
		switch (head.rta_type & NLA_TYPE_MASK) {
		case IFLA_IFNAME:
			snprintf(interface->name, sizeof(interface->name), "%.*s",
				(int)value_length, value);
			break;
		case IFLA_MTU: interface->mtu = number(value, value_length); break;
		case IFLA_MASTER: interface->part_of = number(value, value_length); break;
		case IFLA_LINK: interface->lower = number(value, value_length); break;
		case IFLA_LINK_NETNSID: elsewhere = true; break;
		case IFLA_LINKINFO:
			elsewhere |= is_pair((struct netlink_attributes){value, value_length});
			break;
		case IFLA_XDP:
			interface->xdp =
				has_program((struct netlink_attributes){value, value_length});
			break;
		default: break;
		}
	}
	if (elsewhere || interface->lower == interface->index)
		interface->lower = 0;
}

static void take_address(void *ctx, unsigned short type, const char *body, size_t length)
{
	struct interfaces *out = ctx;
	struct ifaddrmsg info;
	struct rtattr head;
	const char *value, *address = NULL;
	size_t begin = NLMSG_ALIGN(sizeof(info)), value_length;
	char text[INET6_ADDRSTRLEN];

	if (type != RTM_NEWADDR || length < begin)
		return;
	memcpy(&info, body, sizeof(info));
	struct interface *interface = by_index(out, info.ifa_index);
	size_t want = info.ifa_family == AF_INET ? 4 : 16;
	// What every interface has that is up says nothing of its use.
	if (!interface || interface->address[0] || info.ifa_scope >= RT_SCOPE_LINK ||
		(info.ifa_family != AF_INET && info.ifa_family != AF_INET6))
		return;
	struct netlink_attributes attributes = {body + begin, length - begin};
	while (netlink_next(&attributes, &head, &value, &value_length)) {
		// Of a point-to-point link IFA_ADDRESS is the other end's.
		if (value_length == want &&
			(head.rta_type == IFA_LOCAL || (head.rta_type == IFA_ADDRESS && !address)))
			address = value;
	}
	if (address && inet_ntop(info.ifa_family, address, text, sizeof(text)))
		snprintf(interface->address, sizeof(interface->address), "%s/%u", text,
			info.ifa_prefixlen);
}

static void leads_through(struct interfaces *out, unsigned index)
{
	struct interface *interface = by_index(out, index);

	if (interface)
		interface->default_route = true;
}

static void take_route(void *ctx, unsigned short type, const char *body, size_t length)
{
	struct rtmsg info;
	struct rtattr head;
	struct rtnexthop hop;
	const char *value;
	size_t begin = NLMSG_ALIGN(sizeof(info)), value_length;

	if (type != RTM_NEWROUTE || length < begin)
		return;
	memcpy(&info, body, sizeof(info));
	if (info.rtm_dst_len || info.rtm_type != RTN_UNICAST ||
		(info.rtm_family != AF_INET && info.rtm_family != AF_INET6))
		return;
	struct netlink_attributes attributes = {body + begin, length - begin};
	while (netlink_next(&attributes, &head, &value, &value_length)) {
		if (head.rta_type == RTA_OIF)
			leads_through(ctx, number(value, value_length));
		while (head.rta_type == RTA_MULTIPATH && value_length >= sizeof(hop)) {
			memcpy(&hop, value, sizeof(hop));
			leads_through(ctx, (unsigned)hop.rtnh_ifindex);
			size_t step = NLMSG_ALIGN(hop.rtnh_len);
			if (hop.rtnh_len < sizeof(hop) || step >= value_length)
				break;
			value += step;
			value_length -= step;
		}
	}
}

int interfaces_read(struct interfaces *out)
{
	out->n = 0;
	int rc = netlink_list(RTM_GETLINK, take_link, out);
	if (!rc)
		rc = netlink_list(RTM_GETADDR, take_address, out);
	if (!rc)
		rc = netlink_list(RTM_GETROUTE, take_route, out);
	return rc;
}

// Whether `upper` is `lower`, or stands on it, over however many others.
static bool stands_on(const struct interfaces *interfaces, const struct interface *upper,
	const struct interface *lower, unsigned depth)
{
	if (upper == lower)
		return true;
	for (unsigned i = 0; depth && i < interfaces->n; i++) {
		const struct interface *between = &interfaces->items[i];
		if (between != upper &&
			(upper->lower == between->index || between->part_of == upper->index) &&
			stands_on(interfaces, between, lower, depth - 1))
			return true;
	}
	return false;
}

bool interfaces_carries(
	const struct interfaces *interfaces, const char *name, char *out, size_t out_len)
{
	const struct interface *lower = interfaces_find(interfaces, name);
	const struct interface *route = NULL, *address = NULL;

	for (unsigned i = 0; lower && i < interfaces->n; i++) {
		const struct interface *upper = &interfaces->items[i];
		if ((!upper->default_route && !upper->address[0]) ||
			!stands_on(interfaces, upper, lower, 8))
			continue;
		route = upper->default_route && !route ? upper : route;
		address = upper->address[0] && (!address || upper == route) ? upper : address;
	}
	if (!route && !address)
		return false;
	if (route && address != route)
		address = NULL;
	const struct interface *by = route ? route : address;
	snprintf(out, out_len, "%s%s%s%s%s%s", route ? "the default route" : "",
		route && address ? " and " : "", address ? "the address " : "",
		address ? address->address : "", by != lower ? ", by " : "",
		by != lower ? by->name : "");
	return true;
}
