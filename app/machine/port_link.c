// SPDX-License-Identifier: BSD-3-Clause
// Determines whether ports have a link, and reports changes.
#include "machine/port_link.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <rte_ethdev.h>
#include "machine/again_port.h"
#include "config/eal_args.h"
#include "base/log.h"
#include "machine/port.h"
#include "machine/port_link_inside.h"
#include "pipeline/vocab/tick.h"
#include "pipeline/egress/tx.h"

#define LIST_PATIENCE_MS 2000
#define LIST_POLL_MS     100
#define TOLD_A_SECOND    12 // changes of a port: each way six times

static void say(const struct one *one, enum port_link link)
{
	const char *name = one->port->name, *interface = one->called;

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
				name, one->interface);
		else
			log_error("port \"%s\": link down, its device was removed; nothing passes "
				  "until the gateway is restarted with it in its place",
				name);
		break;
	}
}

// How it is now, with what was not reported before.
static void report(struct port_links *links, struct one *one, uint64_t now_ns)
{
	const struct port *port = one->port;
	bool up = port->link == PORT_LINK_UP;
	struct link_report report = {.port = port->name,
		.interface = *one->called ? one->called : NULL,
		.link = port->link,
		.down_ns = up ? one->down_ns : 0,
		.again = up && one->again,
		.left_out = one->left_out};

	say(one, port->link);
	if (one->left_out)
		log_notice("port \"%s\": %" PRIu64 " changes of its link before this one were left "
			   "out",
			port->name, one->left_out);
	one->left_out = 0;
	one->n_reported++;
	if (up)
		one->again = false;
	if (links->context->sink)
		sink_link_event(links->context->sink, now_ns, &report);
}

// Of a link that flaps only so much is reported in a second, and at its end how it is.
static void report_changes(struct port_links *links, struct one *one, bool changed, uint64_t now_ns)
{
	if (now_ns - one->second_ns >= NS_PER_S) {
		one->second_ns = now_ns;
		one->n_reported = 0;
		if (one->left_out && !changed) {
			one->left_out--; // that which is reported now
			report(links, one, now_ns);
		}
	}
	if (changed && one->n_reported < TOLD_A_SECOND)
		report(links, one, now_ns);
	else if (changed)
		one->left_out++;
}

static void set_link(struct port_links *links, struct one *one, enum port_link link)
{
	struct port *port = one->port;
	enum port_link before = port->link;
	uint64_t now_ns = links->context->now_ns();
	bool up = link == PORT_LINK_UP;

	if (link == before)
		return;
	__atomic_store_n(&port->send, up ? one->send : tx_no_link, __ATOMIC_RELEASE);
	port->link = link;
	port->restart = link == PORT_LINK_GONE && (!*one->interface || one->kind == AGAIN_NONE);
	links->changed = true;
	if (before == PORT_LINK_UNKNOWN) {
		one->since_ns = now_ns;
		if (up) { // as it should be
			say(one, link);
			return;
		}
	}
	if (up != (before == PORT_LINK_UP))
		port->link_changes++;
	if (up)
		one->down_ns = now_ns - one->since_ns;
	if (up || before <= PORT_LINK_UP)
		one->since_ns = now_ns;
	report_changes(links, one, true, now_ns);
}

static void gone(struct port_links *links, struct one *one)
{
	one->ifindex = 0;
	if (one->port->link != PORT_LINK_GONE) // else what was taken up is gone already
		port_again_hurry(one);
	if (one->port->again)
		again_let_go(one->port->again);
	set_link(links, one, PORT_LINK_GONE);
}

// Its sockets stay on it, whatever it is called.
static void note_name(struct one *one, const char *name)
{
	if (!*name || strcmp(one->called, name) == 0)
		return;
	memcpy(one->called, name, sizeof(one->called));
	if (strcmp(name, one->interface) != 0)
		log_notice("port \"%s\": its interface %s is called %s now; the port stays on it "
			   "until a restart",
			one->port->name, one->interface, name);
}

static void heard_of_its_own(
	struct port_links *links, struct one *one, const struct link_news *news)
{
	one->listed |= news->listed;
	if (news->gone) {
		gone(links, one);
		return;
	}
	note_name(one, news->name);
	set_link(links, one,
		!news->up        ? PORT_LINK_DISABLED
		: !news->carrier ? PORT_LINK_DOWN
				 : PORT_LINK_UP);
}

static void heard_of_another(
	struct port_links *links, struct one *one, const struct link_news *news)
{
	if (!news->gone && strcmp(news->name, one->interface) == 0) {
		if (news->ifindex != one->there && one->kind != AGAIN_TAP)
			port_again_hurry(one);
		one->there = news->ifindex;
		one->there_listed = true; // a list under way may have passed its place
		// Has it gone, and that was among news that were lost, or has it another name?
		if (one->ifindex && !news->listed)
			link_watch_want(&links->watch);
	} else if (news->ifindex == one->there) {
		one->there = 0;
		if (one->reported && one->error == -EEXIST) // in a tap's way
			port_again_hurry(one);
	}
}

static void heard(void *ctx, const struct link_news *news)
{
	struct port_links *links = ctx;

	for (unsigned i = 0; i < links->n; i++) {
		struct one *one = &links->ports[i];

		if (!*one->interface)
			continue;
		if (one->ifindex && news->ifindex == one->ifindex)
			heard_of_its_own(links, one, news);
		else
			heard_of_another(links, one, news);
	}
}

void port_links_ask(struct port_links *links)
{
	if (!link_watch_ask(&links->watch))
		return;
	for (unsigned i = 0; i < links->n; i++)
		links->ports[i].listed = links->ports[i].there_listed = false;
}

// By a whole list: what it does not name is not there.
static void judge(struct port_links *links)
{
	for (unsigned i = 0; i < links->n; i++) {
		struct one *one = &links->ports[i];

		if (one->there && !one->there_listed)
			one->there = 0;
		if (*one->interface && one->ifindex && !one->listed)
			gone(links, one);
	}
	links->listed = true;
}

static void take_news(struct port_links *links)
{
	bool whole = false;
	int rc = link_watch_read(&links->watch, heard, links, &whole);

	if (rc < 0)
		log_warning("links of the ports: %s", strerror(-rc));
	if (whole)
		judge(links);
	port_links_ask(links);
}

static void readable(evutil_socket_t fd, short what, void *ctx)
{
	struct port_links *links = ctx;

	(void)fd;
	(void)what;
	take_news(links);
	port_again_tick(links, links->context->now_ns());
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
		if_indextoname(info.if_index, one->interface)) {
		one->ifindex = info.if_index;
		memcpy(one->called, one->interface, sizeof(one->called));
	} else {
		one->interface[0] = '\0';
	}
}

// The first list, before anything is forwarded.
static void wait_for_list(struct port_links *links)
{
	struct pollfd pollfd = {.fd = links->watch.fd, .events = POLLIN};

	port_links_ask(links);
	for (unsigned ms = 0; !links->listed && ms < LIST_PATIENCE_MS; ms += LIST_POLL_MS) {
		poll(&pollfd, 1, LIST_POLL_MS);
		take_news(links);
	}
}

static int listen_to_kernel(struct port_links *links, char *err, size_t err_len)
{
	int rc = link_watch_open(&links->watch);

	if (rc < 0) {
		snprintf(err, err_len, "links of the ports: netlink: %s", strerror(-rc));
		return rc;
	}
	wait_for_list(links);
	links->event = event_new(
		links->context->base, links->watch.fd, EV_READ | EV_PERSIST, readable, links);
	if (links->event && event_add(links->event, NULL) == 0 && port_again_start(links) == 0)
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
	links->watch.fd = -1;
	links->context = context;
	links->launcher = launcher;
	links->n = context->dp->n_ports;
	for (unsigned i = 0; i < links->n; i++) {
		struct one *one = &links->ports[i];

		one->port = &context->dp->ports[i];
		one->send = port_ethdev_send;
		one->max_frame = one->port->max_frame;
		one->wait_s = 1;
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
		report_changes(links, one, false, now_ns);
	}
	port_links_ask(links);
	port_again_tick(links, now_ns);
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
	}
	if (links->event)
		event_free(links->event);
	link_watch_close(&links->watch);
	port_again_end(links);
	free(links);
}
