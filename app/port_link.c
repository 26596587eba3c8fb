// SPDX-License-Identifier: BSD-3-Clause
#include "port_link.h"

#include <errno.h>
#include <net/if.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <rte_ethdev.h>
#include "again_port.h"
#include "eal_args.h"
#include "link.h"
#include "log.h"
#include "port.h"
#include "tick.h"
#include "tx.h"

#define LIST_PATIENCE_MS 2000
#define RETRY_NS         NS_PER_S

struct one { // a port
	struct port *port;
	char interface[IF_NAMESIZE]; // of the kernel; "": its driver knows
	unsigned ifindex;            // that its sockets hang on; 0: it is gone
	uint64_t since_ns;           // of the state that it is in
	_Atomic bool removed;        // set in EAL's interrupt thread
	bool listed;                 // by the list that comes in
	port_send_fn *send;          // while it has a link
	// Once it is gone:
	enum again_kind kind; // how it can be taken up
	unsigned there;       // another one of its name; 0: none
	uint64_t retry_ns;    // not before
	bool told;            // why it cannot be
	bool again;           // it was, and that has not been told
	struct again *old;    // not in use any more, but an lcore may be in it
	uint64_t token;       // of qsbr, when none is
};

struct port_links {
	const struct control_context *context;
	struct launcher *launcher;
	int fd;
	struct event *event;
	bool listed; // the kernel has told how each was at the start
	bool changed;
	unsigned n;
	struct one ports[PORTS_MAX];
};

static void say(const struct one *one, enum port_link link)
{
	const char *name = one->port->name, *interface = one->interface;

	switch (link) {
	case PORT_LINK_UNKNOWN: break;
	case PORT_LINK_UP:
		log_notice("port \"%s\": link up%s%s", name,
			one->again ? ", on another interface of the name " : "",
			one->again ? interface : "");
		break;
	case PORT_LINK_DOWN:
		log_warning("port \"%s\": link down; nothing passes until it is up", name);
		break;
	case PORT_LINK_DISABLED:
		log_warning("port \"%s\": link down, interface %s is set down; nothing passes "
			    "until it is up: ip link set %s up",
			name, interface, interface);
		break;
	case PORT_LINK_GONE:
		if (*interface)
			log_error("port \"%s\": link down, interface %s is gone; nothing passes "
				  "until it is there again",
				name, interface);
		else
			log_error("port \"%s\": link down, its device was removed; nothing passes "
				  "until the gateway is restarted with it in its place",
				name);
		break;
	}
}

static void set_link(struct port_links *links, struct one *one, enum port_link link)
{
	struct port *port = one->port;
	enum port_link before = port->link;
	uint64_t now_ns = links->context->now_ns();

	if (link == before)
		return;
	__atomic_store_n(
		&port->send, link == PORT_LINK_UP ? one->send : tx_no_link, __ATOMIC_RELEASE);
	port->link = link;
	say(one, link);
	links->changed = true;
	if (before == PORT_LINK_UNKNOWN) {
		one->since_ns = now_ns;
		if (link == PORT_LINK_UP)
			return; // as it should be
	}
	bool up = link == PORT_LINK_UP;
	if (up != (before == PORT_LINK_UP))
		port->link_changes++;
	struct link_report report = {.port = port->name,
		.interface = *one->interface ? one->interface : NULL,
		.link = link,
		.down_ns = up ? now_ns - one->since_ns : 0,
		.again = up && one->again};
	if (up || before <= PORT_LINK_UP)
		one->since_ns = now_ns;
	if (up)
		one->again = false;
	if (links->context->sink)
		sink_link_event(links->context->sink, now_ns, &report);
}

static void gone(struct port_links *links, struct one *one)
{
	one->ifindex = 0;
	one->retry_ns = 0;
	one->told = false;
	set_link(links, one, PORT_LINK_GONE);
}

static void heard(void *ctx, const struct link_news *news)
{
	struct port_links *links = ctx;

	for (unsigned i = 0; i < links->n; i++) {
		struct one *one = &links->ports[i];
		bool named = *one->interface && strcmp(news->name, one->interface) == 0;

		if (!*one->interface)
			continue;
		if (one->ifindex && news->ifindex == one->ifindex) {
			one->listed = true;
			if (news->gone)
				gone(links, one);
			else
				set_link(links, one,
					!news->up        ? PORT_LINK_DISABLED
					: !news->carrier ? PORT_LINK_DOWN
							 : PORT_LINK_UP);
		} else if (news->gone && news->ifindex == one->there) {
			one->there = 0;
		} else if (named && !news->gone) {
			if (one->ifindex) // its end was among news that were lost
				gone(links, one);
			one->there = news->ifindex;
		}
	}
}

static void ask_list(struct port_links *links)
{
	int rc = link_watch_ask(links->fd);

	if (rc < 0 && rc != -EBUSY) // a list is under way, and will tell
		log_warning("links of the ports: %s", strerror(-rc));
}

static void take_news(struct port_links *links)
{
	bool done = false;
	int rc = link_watch_read(links->fd, heard, links, &done);

	if (rc == -ENOBUFS) // so many at once that some were lost
		ask_list(links);
	else if (rc < 0)
		log_warning("links of the ports: %s", strerror(-rc));
	for (unsigned i = 0; done && i < links->n; i++) {
		struct one *one = &links->ports[i];

		if (*one->interface && one->ifindex && !one->listed)
			gone(links, one); // the kernel does not name it
		one->listed = false;
	}
	links->listed |= done;
}

// Another interface has its name, or, of a tap, can be made.
static void take_up(struct port_links *links, struct one *one, uint64_t now_ns)
{
	struct port *port = one->port;
	struct again_sockets sockets = {0};
	struct again *again = NULL;
	int rc = launcher_again(links->launcher, port->index, &sockets);

	one->retry_ns = now_ns + RETRY_NS;
	if (!rc)
		rc = again_take(&sockets, port->pool, port->again, &again);
	again_close(&sockets);
	if (rc < 0) {
		if (!one->told)
			log_error(
				"port \"%s\": interface %s is there again, but cannot be taken up: "
				"%s; it is tried again, or restart the gateway",
				port->name, one->interface, strerror(-rc));
		one->told = true;
		return;
	}
	one->old = port->again;
	__atomic_store_n(&port->again, again, __ATOMIC_RELEASE);
	__atomic_store_n(&port->receive, again_receive, __ATOMIC_RELEASE);
	one->token = rte_rcu_qsbr_start(links->context->dp->qsbr);
	one->send = again_transmit;
	one->ifindex = again_ifindex(again);
	one->there = 0;
	one->listed = true; // by a list that is under way
	one->again = true;
	ask_list(links); // how it stands
}

static void take_up_all(struct port_links *links, uint64_t now_ns)
{
	struct rte_rcu_qsbr *qsbr = links->context->dp->qsbr;

	for (unsigned i = 0; i < links->n; i++) {
		struct one *one = &links->ports[i];

		if (one->old && rte_rcu_qsbr_check(qsbr, one->token, false)) {
			again_free(one->old);
			one->old = NULL;
		}
		if (!*one->interface || one->ifindex || one->old || now_ns < one->retry_ns)
			continue;
		if (one->kind == AGAIN_TAP || (one->there && one->kind != AGAIN_NONE)) {
			take_up(links, one, now_ns);
		} else if (one->there && !one->told) {
			one->told = true;
			log_error(
				"port \"%s\": interface %s is there again; its driver cannot take "
				"it up: restart the gateway",
				one->port->name, one->interface);
		}
	}
}

static void readable(evutil_socket_t fd, short what, void *ctx)
{
	struct port_links *links = ctx;

	(void)fd;
	(void)what;
	take_news(links);
	take_up_all(links, links->context->now_ns());
}

static int removed(uint16_t port_id, enum rte_eth_event_type type, void *ctx, void *ret)
{
	struct one *one = ctx;

	(void)port_id;
	(void)type;
	(void)ret;
	atomic_store(&one->removed, true);
	return 0;
}

static void ask_driver(struct port_links *links, struct one *one)
{
	struct rte_eth_link link;

	if (one->removed || rte_eth_dev_is_removed(one->port->port_id))
		set_link(links, one, PORT_LINK_GONE);
	else if (rte_eth_link_get_nowait(one->port->port_id, &link) == 0)
		set_link(links, one,
			link.link_status == RTE_ETH_LINK_UP ? PORT_LINK_UP : PORT_LINK_DOWN);
}

// Of hardware with a kernel driver beside it (mlx5) its own driver knows best.
static void find_interface(struct one *one, const struct gateway_port *wanted)
{
	struct rte_eth_dev_info info;

	if (device_type_of(wanted->device) == DEVICE_VIRTUAL &&
		rte_eth_dev_info_get(one->port->port_id, &info) == 0 && info.if_index &&
		if_indextoname(info.if_index, one->interface))
		one->ifindex = info.if_index;
	else
		one->interface[0] = '\0';
}

// The first list, before anything is forwarded.
static void wait_for_list(struct port_links *links)
{
	struct pollfd pollfd = {.fd = links->fd, .events = POLLIN};

	while (!links->listed && poll(&pollfd, 1, LIST_PATIENCE_MS) > 0)
		take_news(links);
}

static int listen_to_kernel(struct port_links *links, char *err, size_t err_len)
{
	links->fd = link_watch_open();
	if (links->fd < 0) {
		snprintf(err, err_len, "links of the ports: netlink: %s", strerror(-links->fd));
		return links->fd;
	}
	wait_for_list(links);
	links->event =
		event_new(links->context->base, links->fd, EV_READ | EV_PERSIST, readable, links);
	if (links->event && event_add(links->event, NULL) == 0)
		return 0;
	snprintf(err, err_len, "no memory");
	return -ENOMEM;
}

int port_links_new(const struct control_context *context, struct launcher *launcher,
	struct port_links **out, char *err, size_t err_len)
{
	struct port_links *links = calloc(1, sizeof(*links));
	bool watched = false;

	if (!links) {
		snprintf(err, err_len, "no memory");
		return -ENOMEM;
	}
	*out = links;
	links->fd = -1;
	links->context = context;
	links->launcher = launcher;
	links->n = context->dp->n_ports;
	for (unsigned i = 0; i < links->n; i++) {
		struct one *one = &links->ports[i];

		one->port = &context->dp->ports[i];
		one->send = port_ethdev_send;
		one->kind = again_kind_of(context->gateway->ports[i].device);
		find_interface(one, &context->gateway->ports[i]);
		watched |= *one->interface != '\0';
		rte_eth_dev_callback_register(
			one->port->port_id, RTE_ETH_EVENT_INTR_RMV, removed, one);
	}
	if (watched) {
		int rc = listen_to_kernel(links, err, err_len);
		if (rc < 0)
			return rc;
	}
	port_links_tick(links, context->now_ns());
	return 0;
}

bool port_links_tick(struct port_links *links, uint64_t now_ns)
{
	bool changed;

	for (unsigned i = 0; i < links->n; i++) {
		struct one *one = &links->ports[i];

		if (!*one->interface)
			ask_driver(links, one);
	}
	take_up_all(links, now_ns);
	changed = links->changed;
	links->changed = false;
	return changed;
}

void port_links_free(struct port_links *links)
{
	if (!links)
		return;
	for (unsigned i = 0; i < links->n; i++) {
		struct one *one = &links->ports[i];

		rte_eth_dev_callback_unregister(
			one->port->port_id, RTE_ETH_EVENT_INTR_RMV, removed, one);
		again_free(one->old);
	}
	if (links->event)
		event_free(links->event);
	if (links->fd >= 0)
		close(links->fd);
	free(links);
}
