// SPDX-License-Identifier: BSD-3-Clause
// Interfaces that were made again: the launcher is asked for sockets on them (again.h), one port at
// a time, and its answer waited for as an event: nothing here waits for the launcher.
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "machine/again_port.h"
#include "process/launcher.h"
#include "base/log.h"
#include "machine/port_link_inside.h"
#include "machine/port_plan.h"
#include "pipeline/vocab/tick.h"

#define WAIT_MAX_S 30
#define SLOW_NS    NS_PER_S

void port_again_hurry(struct one *one)
{
	one->retry_ns = 0;
	one->wait_s = 1;
	one->reported = false;
}

static const char *hint_of(const struct one *one, uint32_t step, int error, char *out, size_t room)
{
	*out = '\0';
	if (step == AGAIN_PROGRAM && error == -EBUSY)
		snprintf(out, room, " (another XDP program is on it: ip link set dev %s xdp off)",
			one->interface);
	else if (step == AGAIN_SOCKET && error == -EBUSY)
		snprintf(out, room, " (another program has its queue: ss -a --xdp -p)");
	else if (step == AGAIN_MAKE && error == -EEXIST)
		snprintf(out, room, " (somebody else has made one of that name: ip link del %s)",
			one->interface);
	return out;
}

static void report_failure(const struct one *one, uint32_t step, int error)
{
	static const char *const steps[AGAIN_STEPS_MAX] = {
		[AGAIN_FIND] = "find it",
		[AGAIN_SOCKET] = "open a socket on it",
		[AGAIN_PROMISCUOUS] = "make it promiscuous",
		[AGAIN_PROGRAM] = "put an XDP program on it",
		[AGAIN_MAKE] = "make it",
		[AGAIN_SET_UP] = "set it up",
		[AGAIN_TAKE] = "hand over what it has opened there",
	};
	const char *is = one->kind == AGAIN_TAP ? "gone" : "there again";
	char hint[160];

	if (error == -EPIPE)
		log_error("port \"%s\": interface %s is %s, but the launcher, which would open it, "
			  "has died: restart the gateway",
			one->port->name, one->interface, is);
	else
		log_error(
			"port \"%s\": interface %s is %s, but the launcher cannot %s: %s%s; it is "
			"tried again after 1, 2, 4 ... %d s",
			one->port->name, one->interface, is,
			step < AGAIN_STEPS_MAX ? steps[step] : steps[AGAIN_FIND], strerror(-error),
			hint_of(one, step, error, hint, sizeof(hint)), WAIT_MAX_S);
}

static void failed(struct one *one, uint32_t step, int error, uint64_t now_ns)
{
	if (!one->reported || error != one->error || step != one->step)
		report_failure(one, step, error);
	one->reported = true;
	one->error = error;
	one->step = step;
	one->port->restart |= error == -EPIPE;
	one->retry_ns = now_ns + one->wait_s * NS_PER_S;
	one->wait_s = RTE_MIN(one->wait_s * 2, (unsigned)WAIT_MAX_S);
}

// What the interface does not take is dropped before it (tx_oversize), not lost behind it.
static void set_max_frame(const struct one *one, uint32_t mtu)
{
	uint32_t longest = RTE_MIN(one->max_frame, mtu + PORT_L2_BYTES);

	__atomic_store_n(&one->port->max_frame, longest, __ATOMIC_RELAXED);
	if (longest < one->max_frame)
		log_warning("port \"%s\": interface %s has an MTU of %u, the one before it had %u: "
			    "longer packets are dropped (tx_oversize); to mend it: ip link set %s "
			    "mtu %u, and restart the gateway",
			one->port->name, one->interface, mtu, one->max_frame - PORT_L2_BYTES,
			one->interface, one->max_frame - PORT_L2_BYTES);
}

static void take_up(
	struct port_links *links, struct one *one, struct again_sockets *sockets, uint64_t now_ns)
{
	struct port *port = one->port;
	struct again *again = NULL;
	uint32_t mtu = sockets->answer.mtu;
	int rc = again_take(sockets, port->pool, port->again, &again);

	if (rc < 0) {
		failed(one, AGAIN_TAKE, rc, now_ns);
		return;
	}
	if (mtu)
		set_max_frame(one, mtu);
	__atomic_store_n(&port->again, again, __ATOMIC_RELEASE);
	__atomic_store_n(&port->receive, again_receive, __ATOMIC_RELEASE);
	one->token = rte_rcu_qsbr_start(links->context->dp->qsbr);
	one->send = again_transmit;
	one->ifindex = again_ifindex(again);
	memcpy(one->called, one->interface, sizeof(one->called));
	one->there = 0;
	one->listed = true; // by a list that is under way
	one->again = true;
	one->retry_ns = now_ns + one->wait_s * NS_PER_S; // should it be gone already
	link_watch_want(&links->watch);                  // how it stands
}

static void answered(evutil_socket_t fd, short what, void *ctx)
{
	struct port_links *links = ctx;
	uint64_t now_ns = links->context->now_ns();
	struct again_sockets sockets;
	struct one *one;
	int rc;

	(void)fd;
	(void)what;
	while ((rc = launcher_answer(links->launcher, &links->request, &sockets)) != -EAGAIN) {
		one = links->asking;
		links->asking = NULL;
		if (one && rc < 0)
			failed(one, AGAIN_FIND, rc, now_ns);
		else if (one && sockets.answer.error)
			failed(one, sockets.answer.step, sockets.answer.error, now_ns);
		else if (one)
			take_up(links, one, &sockets, now_ns);
		if (rc < 0) { // its end is readable for ever
			event_del(links->answers);
			return;
		}
		again_close(&sockets);
	}
	port_again_tick(links, now_ns);
	port_links_ask(links);
}

static void ask(struct port_links *links, struct one *one, uint64_t now_ns)
{
	links->request.port = one->port->index;
	links->request.sequence++;
	int rc = launcher_ask(links->launcher, &links->request);
	if (rc < 0) {
		failed(one, AGAIN_FIND, rc, now_ns);
		return;
	}
	links->asking = one;
	links->asked_ns = now_ns;
	links->slow = false;
}

static bool is_due(struct one *one, uint64_t now_ns)
{
	if (!*one->interface || one->ifindex || again_has_before(one->port->again) ||
		now_ns < one->retry_ns)
		return false;
	if (one->kind == AGAIN_TAP)
		return true;
	if (one->there && one->kind == AGAIN_NONE && !one->reported) {
		one->reported = true;
		log_error("port \"%s\": interface %s is there again; its driver cannot take it up: "
			  "restart the gateway",
			one->port->name, one->interface);
	}
	return one->there && one->kind != AGAIN_NONE;
}

// Their order goes round: none waits for ever for others.
static void ask_next(struct port_links *links, uint64_t now_ns)
{
	for (unsigned i = 0; i < links->n && !links->asking; i++) {
		struct one *one = &links->ports[links->next++ % links->n];

		if (is_due(one, now_ns))
			ask(links, one, now_ns);
	}
}

static void look_at_offloads(const struct one *one)
{
	if (one->port->again && again_has_offloads(one->port->again))
		log_warning("port \"%s\": interface %s hands over packets whose checksums or "
			    "segments are left to hardware; they are dropped: ethtool -K %s rx off "
			    "tx off tso off gso off gro off, likewise at its other end",
			one->port->name, one->called, one->called);
}

void port_again_tick(struct port_links *links, uint64_t now_ns)
{
	struct rte_rcu_qsbr *qsbr = links->context->dp->qsbr;

	for (unsigned i = 0; i < links->n; i++) {
		const struct one *one = &links->ports[i];

		if (again_has_before(one->port->again) &&
			rte_rcu_qsbr_check(qsbr, one->token, false))
			again_free_before(one->port->again);
		look_at_offloads(one);
	}
	if (links->asking && !links->slow && now_ns - links->asked_ns >= SLOW_NS) {
		links->slow = true;
		log_warning("port \"%s\": the launcher, which would open interface %s, has not "
			    "answered for a second; it is waited for",
			links->asking->port->name, links->asking->interface);
	}
	ask_next(links, now_ns);
}

int port_again_start(struct port_links *links)
{
	int fd = launcher_fd(links->launcher);

	if (fd < 0)
		return 0;
	links->answers = event_new(links->context->base, fd, EV_READ | EV_PERSIST, answered, links);
	return links->answers && event_add(links->answers, NULL) == 0 ? 0 : -ENOMEM;
}

void port_again_end(struct port_links *links)
{
	if (links->answers)
		event_free(links->answers);
	links->answers = NULL;
}
