// SPDX-License-Identifier: BSD-3-Clause
// What the launcher opens for ports whose interface was made again, and what it leaves of them.
#include "lib/rig/launched.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "machine/again_port.h"
#include "process/link.h"

static int answer_within(struct launcher *launcher, const struct again_request *request, int ms,
	struct again_sockets *out)
{
	struct pollfd pollfd = {.fd = launcher_fd(launcher), .events = POLLIN};
	int rc;

	while ((rc = launcher_answer(launcher, request, out)) == -EAGAIN &&
		poll(&pollfd, 1, ms) > 0)
		;
	return rc;
}

// What comes of it: an error of ours, or that of the answer.
static int asked(struct launcher *launcher, uint8_t port, struct again_sockets *out)
{
	static uint32_t sequence;
	struct again_request request = {.port = port, .sequence = ++sequence};
	int rc = launcher_ask(launcher, &request);

	*out = (struct again_sockets){0};
	if (!rc)
		rc = answer_within(launcher, &request, 5000, out);
	return rc ? rc : out->answer.error;
}

static bool is_bound_to(int fd, const char *interface)
{
	struct sockaddr_ll address;
	socklen_t length = sizeof address;

	return getsockname(fd, (struct sockaddr *)&address, &length) == 0 &&
	       address.sll_ifindex == (int)if_nametoindex(interface);
}

// The interface of that port and no other, whoever asks.
static void asks_for_sockets(struct launcher *launcher)
{
	struct again_sockets sockets;

	if (asked(launcher, 0, &sockets) != -ENOTSUP || sockets.n_fds)
		_exit(10); // its driver has none
	if (asked(launcher, 1, &sockets) != -ENODEV || sockets.n_fds)
		_exit(11); // the interface is not there
	if (asked(launcher, 3, &sockets) != -EINVAL || sockets.n_fds)
		_exit(12); // there is no such port
	if (geteuid() == 0) {
		if (asked(launcher, 2, &sockets) || sockets.n_fds != 1 ||
			sockets.answer.kind != AGAIN_PACKET || !sockets.answer.mtu)
			_exit(13);
		if (!is_bound_to(sockets.fds[0], "lo"))
			_exit(14);
		again_close(&sockets);
	}
	launcher_end(launcher, false);
	if (asked(launcher, 2, &sockets) != -EPIPE)
		_exit(15);
}

static void sockets_are_those_of_a_port(void **state)
{
	static const char *const devices[] = {
		"net_pcap0,iface=lo", "net_af_xdp0,iface=sluice-none", "net_af_packet0,iface=lo"};

	(void)state;
	for (unsigned i = 0; i < 3; i++)
		snprintf(gateway.ports[i].device, sizeof gateway.ports[i].device, "%s", devices[i]);
	gateway.n_ports = 3;
	hook_script("true", 0755);
	assert_int_equal(gateway_lives(asks_for_sockets), 0);
	gateway.n_ports = 0;
}

static unsigned n_open(void)
{
	unsigned n = 0;

	for (int fd = 0; fd < 256; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

// Answers that come late: of another port, of an earlier request. None is taken for the one that is
// waited for, and none is left open.
static void answers_come_late(struct launcher *launcher)
{
	struct again_request first = {.port = 0, .sequence = 1},
			     second = {.port = 1, .sequence = 2},
			     third = {.port = 1, .sequence = 3}, other = {.port = 0, .sequence = 3};
	struct again_sockets sockets;
	unsigned before = n_open();

	kill(launcher->pid, SIGSTOP);
	launcher_ask(launcher, &first);
	launcher_ask(launcher, &second);
	launcher_ask(launcher, &third);
	if (launcher_answer(launcher, &third, &sockets) != -EAGAIN)
		_exit(10);
	kill(launcher->pid, SIGCONT);
	if (answer_within(launcher, &third, 5000, &sockets) || sockets.answer.error ||
		sockets.n_fds != 1 || !is_bound_to(sockets.fds[0], "slc-b"))
		_exit(11);
	if (n_open() != before + 1)
		_exit(12);
	again_close(&sockets);
	launcher_ask(launcher, &third);
	if (answer_within(launcher, &other, 300, &sockets) != -EAGAIN || n_open() != before)
		_exit(13); // it has come, and is of another port
}

static uint64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

// A late answer is not the end of the cleaning, for which the last call waits.
static void ends_with_an_answer_under_way(struct launcher *launcher)
{
	struct again_request request = {.port = 0, .sequence = 1};

	kill(launcher->pid, SIGSTOP);
	launcher_ask(launcher, &request);
	kill(launcher->pid, SIGCONT);
	usleep(200000); // it has come
	kill(launcher->pid, SIGSTOP);
	if (fork() == 0) {
		usleep(300000);
		kill(launcher->pid, SIGCONT);
		_exit(0);
	}
	uint64_t begin_ms = now_ms();
	launcher_end(launcher, false);
	if (now_ms() < begin_ms + 250)
		_exit(10);
}

static void late_answers_are_dropped(void **state)
{
	static const char *const devices[] = {
		"net_af_packet0,iface=lo", "net_af_packet1,iface=slc-b"};

	(void)state;
	if (geteuid() != 0)
		skip();
	assert_int_equal(system("ip link add slc-b type veth"), 0);
	for (unsigned i = 0; i < 2; i++)
		snprintf(gateway.ports[i].device, sizeof gateway.ports[i].device, "%s", devices[i]);
	gateway.n_ports = 2;
	hook_script("true", 0755);
	int late = gateway_lives(answers_come_late);
	int ends = gateway_lives(ends_with_an_answer_under_way);
	gateway.n_ports = 0;
	assert_int_equal(system("ip link del slc-b"), 0);
	assert_int_equal(late, 0);
	assert_int_equal(ends, 0);
}

// Two taps of the driver's own naming; one is deleted, and one of a third name is somebody else's.
static void asks_for_taps(struct launcher *launcher)
{
	struct launcher_ports ports = {.interface = {"slc-t0", "slc-t1", "slc-t2", "slc-t3"}},
			      later = {.interface = {"slc-t1", "slc-t0", "lo"}};
	struct again_sockets first, second;

	launcher_report_ports(launcher, &ports);
	launcher_report_ports(launcher, &later); // whoever has taken over the gateway
	if (asked(launcher, 1, &first) || first.answer.ifindex != if_nametoindex("slc-t1") ||
		if_nametoindex("slc-t0"))
		_exit(10);
	if (asked(launcher, 1, &second) != -EEXIST || second.n_fds) // ours, but it is there
		_exit(11);
	if (asked(launcher, 2, &second) != -EEXIST || second.n_fds ||
		second.answer.step != AGAIN_MAKE)
		_exit(12);
	if (asked(launcher, 3, &second) != -EEXIST || second.n_fds)
		_exit(14);
	again_close(&first);
	if (if_nametoindex("slc-t1"))
		_exit(13);
}

static void a_tap_is_its_own_and_never_joined(void **state)
{
	(void)state;
	if (geteuid() != 0 || access("/dev/net/tun", R_OK | W_OK) < 0)
		skip();
	assert_int_equal(system("ip tuntap add slc-t2 mode tap multi_queue && "
				"ip tuntap add slc-t3 mode tap"),
		0);
	for (unsigned i = 0; i < 4; i++)
		snprintf(gateway.ports[i].device, sizeof gateway.ports[i].device, "net_tap%u", i);
	gateway.n_ports = 4;
	hook_script("true", 0755);
	int code = gateway_lives(asks_for_taps);
	gateway.n_ports = 0;
	assert_int_equal(system("ip link del slc-t2; ip link del slc-t3"), 0);
	assert_int_equal(code, 0);
}

static bool shows(const char *interface, const char *what)
{
	char command[128];

	snprintf(command, sizeof command, "ip -d link show %s | grep -q '%s'", interface, what);
	return system(command) == 0;
}

// The kernel lets a queue go some time after its socket was closed.
static int asked_in_time(struct launcher *launcher, uint8_t port, struct again_sockets *out)
{
	int rc = asked(launcher, port, out);

	for (unsigned i = 0; i < 300 && rc == -EBUSY; i++) {
		usleep(10000);
		rc = asked(launcher, port, out);
	}
	return rc;
}

// Who has taken over the gateway could send by any interface through such a socket.
static bool has_packet_socket(const struct again_sockets *sockets)
{
	int domain;
	socklen_t length = sizeof domain;

	for (unsigned i = 0; i < sockets->n_fds; i++) {
		if (getsockopt(sockets->fds[i], SOL_SOCKET, SO_DOMAIN, &domain, &length) == 0 &&
			domain == AF_PACKET)
			return true;
	}
	return false;
}

// The program ends with what was handed over: a port that lets it go, or an answer that nobody
// takes, is in nobody's way. Promiscuous mode is the launcher's, once and no longer than it lives.
static void asks_for_xdp(struct launcher *launcher)
{
	struct again_sockets first, second;
	struct again *again = NULL;

	if (asked(launcher, 0, &first) || first.n_fds != 1 + AGAIN_EXTRAS)
		_exit(10);
	if (!shows("slc-x", "prog/xdp") || !shows("slc-x", "promiscuity 1"))
		_exit(11);
	if (has_packet_socket(&first))
		_exit(17);
	if (asked(launcher, 0, &second) != -EBUSY || second.n_fds ||
		second.answer.step != AGAIN_SOCKET)
		_exit(12); // while the first is open, which goes on
	if (!shows("slc-x", "promiscuity 1"))
		_exit(18);
	again_close(&first);
	if (asked_in_time(launcher, 0, &second) || again_take(&second, NULL, NULL, &again))
		_exit(13);
	if (again_ifindex(again) != if_nametoindex("slc-x") || !shows("slc-x", "prog/xdp"))
		_exit(14);
	again_let_go(again);
	if (shows("slc-x", "prog/xdp") || !shows("slc-x", "promiscuity 1"))
		_exit(15);
	again_free(again);
	if (asked_in_time(launcher, 0, &first) || !shows("slc-x", "prog/xdp") ||
		!shows("slc-x", "promiscuity 1"))
		_exit(16);
	raise(SIGKILL); // with the answer in its hands
}

static void nothing_outlives_what_was_handed_over(void **state)
{
	(void)state;
	if (geteuid() != 0)
		skip();
	assert_int_equal(system("ip link add slc-x type veth && ip link set slc-x up"), 0);
	snprintf(
		gateway.ports[0].device, sizeof gateway.ports[0].device, "net_af_xdp0,iface=slc-x");
	gateway.n_ports = 1;
	hook_script("true", 0755);
	int code = gateway_lives(asks_for_xdp);
	gone_within(pidfile, 3000);
	gateway.n_ports = 0;
	bool left = shows("slc-x", "prog/xdp") || shows("slc-x", "promiscuity 1");
	assert_int_equal(system("ip link del slc-x"), 0);
	assert_int_equal(code, -SIGKILL);
	assert_false(left);
}

// Renamed while it was ours, another in its place: ours is what is cleaned.
static void renames(struct launcher *launcher)
{
	struct launcher_ports ports = {0};

	if (system("ip link set slc-p promisc on"))
		_exit(10);
	launcher_report_ports(launcher, &ports);
	usleep(200000);
	if (system("ip link set slc-p name slc-old && ip link add slc-p type veth && "
		   "ip link set slc-p promisc on"))
		_exit(11);
	struct again_sockets sockets;
	asked(launcher, 0, &sockets);
	asked(launcher, 0, &sockets);
	raise(SIGKILL);
}

static void what_was_renamed_is_cleaned(void **state)
{
	(void)state;
	if (geteuid() != 0)
		skip();
	assert_int_equal(system("ip link add slc-p type veth"), 0);
	snprintf(
		gateway.ports[0].device, sizeof gateway.ports[0].device, "net_af_xdp0,iface=slc-p");
	gateway.n_ports = 1;
	hook_script("true", 0755);
	int code = gateway_lives(renames);
	gone_within(pidfile, 3000);
	gateway.n_ports = 0;
	int old = system("ip link show slc-old | grep -q PROMISC");
	int new = system("ip link show slc-p | grep -q PROMISC");
	assert_int_equal(system("ip link del slc-old; ip link del slc-p"), 0);
	assert_int_equal(code, -SIGKILL);
	assert_int_not_equal(old, 0);
	assert_int_equal(new, 0); // an administrator's
}

static void the_longest_name_is_read(void **state)
{
	static const char name[] = "slc-fifteen-chr";
	struct link_state found;
	char command[64];

	(void)state;
	assert_int_equal(strlen(name), IF_NAMESIZE - 1);
	if (geteuid() != 0)
		skip();
	snprintf(command, sizeof command, "ip link add %s type veth", name);
	assert_int_equal(system(command), 0);
	int rc = link_query(name, &found);
	snprintf(command, sizeof command, "ip link del %s", name);
	assert_int_equal(system(command), 0);
	assert_int_equal(rc, 0);
	assert_string_equal(found.name, name);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sockets_are_those_of_a_port),
		cmocka_unit_test(late_answers_are_dropped),
		cmocka_unit_test(a_tap_is_its_own_and_never_joined),
		cmocka_unit_test(nothing_outlives_what_was_handed_over),
		cmocka_unit_test(what_was_renamed_is_cleaned),
		cmocka_unit_test(the_longest_name_is_read),
	};

	return cmocka_run_group_tests(tests, launched_begin, launched_end);
}
