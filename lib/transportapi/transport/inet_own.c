// SPDX-License-Identifier: BSD-3-Clause
// Reads the addresses to listen on, and derives those to advertise.
#include "transportapi/transport/inet_own.h"

#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <string.h>

static bool is_any(const struct tapi_source *address)
{
	static const uint8_t none[16];

	return memcmp(address->address, none, address->family == 6 ? 16 : 4) == 0;
}

static bool list_add(struct tapi_inet_list *list, const struct tapi_source *address)
{
	for (unsigned i = 0; i < list->n; i++)
		if (tapi_inet_equal(&list->address[i], address))
			return true;
	if (list->n == TAPI_INET_LIST_MAX)
		return false;
	list->address[list->n++] = *address;
	return true;
}

static bool has_key(const struct tapi_conf_key *keys, const char *name)
{
	for (; keys->name; keys++)
		if (strcmp(keys->name, name) == 0)
			return true;
	return false;
}

enum tapi_result tapi_inet_binds(struct tapi_inet_list *out, const struct tapi_conf *conf,
	const char *section, const struct tapi_conf_key *keys, struct tapi_error *error)
{
	const bool has_port = has_key(keys, "port");
	const uint16_t port = has_port ? (uint16_t)tapi_conf_uint(conf, section, keys, "port") : 0;
	const bool v6 = tapi_conf_bool(conf, section, keys, "ipv6");
	const char *text;

	out->n = 0;
	for (unsigned i = 0; (text = tapi_conf_item(conf, section, "bind", i)); i++) {
		struct tapi_source address;

		if (tapi_inet_parse_endpoint(&address, text, port) || (!has_port && address.port))
			return tapi_conf_wrong(conf, section, "bind", (int)i, error, "\"%.64s\" %s",
				text,
				has_port ? "is no address (192.0.2.1, 192.0.2.1:4000, "
					   "[2001:db8::1]:4000)"
					 : "is no address (192.0.2.1, 2001:db8::1)");
		if (address.family == 6 && !v6)
			return tapi_conf_wrong(conf, section, "bind", (int)i, error, "\"%.64s\" %s",
				text, "needs \"ipv6\": true");
		if (!list_add(out, &address))
			return tapi_conf_wrong(conf, section, "bind", (int)i, error, "\"%.64s\" %s",
				text, "is one address too many");
	}
	if (!out->n) {
		list_add(out, &(struct tapi_source){.family = 4, .port = port});
		if (v6)
			list_add(out, &(struct tapi_source){.family = 6, .port = port});
	}
	return TAPI_OK;
}

static void add_interfaces(struct tapi_inet_list *out, const struct tapi_source *any,
	const struct tapi_acl *acl, bool has_port)
{
	struct ifaddrs *all;

	if (getifaddrs(&all))
		return;
	for (const struct ifaddrs *at = all; at; at = at->ifa_next) {
		struct tapi_source address;
		socklen_t length;

		if (!at->ifa_addr || !(at->ifa_flags & IFF_UP))
			continue;
		length = at->ifa_addr->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6)
							     : sizeof(struct sockaddr_in);
		if (!tapi_inet_from_sockaddr(&address, at->ifa_addr, length) ||
			address.family != any->family)
			continue;
		address.port = any->port;
		if (!tapi_inet_check(&address, has_port) &&
			!tapi_acl_address(acl, &address, has_port))
			list_add(out, &address); // more than the list holds: the first ones
	}
	freeifaddrs(all);
}

enum tapi_result tapi_inet_own(struct tapi_inet_list *out, const struct tapi_conf *conf,
	const char *section, const struct tapi_inet_list *bound, const struct tapi_acl *acl,
	bool has_port, struct tapi_error *error)
{
	const char *text;

	out->n = 0;
	for (unsigned i = 0; (text = tapi_conf_item(conf, section, "advertise", i)); i++) {
		struct tapi_source address;

		if (tapi_inet_parse_endpoint(&address, text, 0) || is_any(&address) ||
			(!has_port && address.port))
			return tapi_conf_wrong(conf, section, "advertise", (int)i, error,
				"\"%.64s\" %s", text,
				has_port ? "is no address (192.0.2.1, 192.0.2.1:4000, "
					   "[2001:db8::1]:4000)"
					 : "is no address (192.0.2.1, 2001:db8::1)");
		for (unsigned j = 0; has_port && !address.port && j < bound->n; j++)
			if (bound->address[j].family == address.family)
				address.port = bound->address[j].port;
		if (has_port && !address.port)
			return tapi_conf_wrong(conf, section, "advertise", (int)i, error,
				"\"%.64s\" %s", text,
				"has no port, and nothing of its family is bound: say "
				"ADDRESS:PORT");
		if (!list_add(out, &address))
			return tapi_conf_wrong(conf, section, "advertise", (int)i, error,
				"\"%.64s\" %s", text, "is one address too many");
	}
	if (out->n)
		return TAPI_OK;
	for (unsigned i = 0; i < bound->n; i++) {
		if (is_any(&bound->address[i]))
			add_interfaces(out, &bound->address[i], acl, has_port);
		else if (!tapi_inet_check(&bound->address[i], has_port))
			list_add(out, &bound->address[i]);
	}
	return TAPI_OK;
}
