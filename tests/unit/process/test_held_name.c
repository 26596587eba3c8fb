// SPDX-License-Identifier: BSD-3-Clause
// Names that gateways hold in the kernel, and what somebody else's process on them can do: nothing.
#include "process/held_name.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>
#include "machine/port_claim.h"

#define NOBODY 65534
#define ASKERS 200

static struct gateway gateway;
static struct port_claims claims;
static char err[256], log_text[4096];

static int attach_as(int type, const char *name, bool by_bind)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, type | SOCK_NONBLOCK, 0);
	size_t length = strlen(name);

	memcpy(address.sun_path + 1, name, length);
	socklen_t total = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + length);
	int rc = by_bind ? bind(fd, (struct sockaddr *)&address, total)
			 : connect(fd, (struct sockaddr *)&address, total);
	if (rc == 0)
		return fd;
	close(fd);
	return -1;
}

static int attach(const char *name, bool by_bind)
{
	return attach_as(SOCK_SEQPACKET, name, by_bind);
}

// A process that sits on a name and never accepts: bound alone, or with as many who ask as there is
// room for.
struct squatter {
	pid_t pid;
	int end;
};

static struct squatter squatter(const char *name, uid_t uid, bool listens)
{
	int ready[2], ends[2];
	char byte;

	assert_int_equal(pipe(ready) | pipe(ends), 0);
	pid_t pid = fork();
	if (pid == 0) {
		close(ends[1]);
		if (setuid(uid))
			_exit(1);
		int fd = attach(name, true);
		if (fd < 0 || (listens && listen(fd, 0)))
			_exit(2);
		while (listens && attach(name, false) >= 0)
			;
		if (write(ready[1], "", 1) != 1)
			_exit(3);
		_exit(read(ends[0], &byte, 1) < 0);
	}
	close(ready[1]);
	close(ends[0]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	return (struct squatter){pid, ends[1]};
}

static void ends(const struct squatter *squatter)
{
	close(squatter->end);
	assert_int_equal(waitpid(squatter->pid, NULL, 0), squatter->pid);
}

// What it logs is in log_text.
static int claims_take(void)
{
	FILE *file = tmpfile();
	int before = dup(STDERR_FILENO);

	assert_non_null(file);
	dup2(fileno(file), STDERR_FILENO);
	int rc = port_claims_take(&gateway, &claims, err, sizeof(err));
	dup2(before, STDERR_FILENO);
	close(before);
	rewind(file);
	log_text[fread(log_text, 1, sizeof(log_text) - 1, file)] = '\0';
	fclose(file);
	return rc;
}

static void ports(const char *first, const char *second)
{
	const char *devices[] = {first, second};

	gateway = (struct gateway){0};
	for (unsigned i = 0; i < 2 && devices[i]; i++) {
		struct gateway_port *port = &gateway.ports[gateway.n_ports++];
		snprintf(port->name, sizeof(port->name), "port%u", i);
		snprintf(port->device, sizeof(port->device), "%s", devices[i]);
	}
}

static void who_connects_in_a_loop_does_not_keep_us(void **state)
{
	struct pollfd askers[ASKERS];
	struct name_holder holder;
	int fd = held_name_take("sluice-test", &holder);

	(void)state;
	assert_true(fd >= 0);
	for (unsigned i = 0; i < ASKERS; i++) {
		askers[i] = (struct pollfd){.fd = attach("sluice-test", false)};
		assert_true(askers[i].fd >= 0);
	}
	held_name_tick(fd);
	assert_int_equal(poll(askers, ASKERS, 0), 64);
	for (unsigned i = 0; i < 3; i++)
		held_name_tick(fd);
	assert_int_equal(poll(askers, ASKERS, 0), ASKERS);
	for (unsigned i = 0; i < ASKERS; i++)
		close(askers[i].fd);
	close(fd);
}

static void a_name_of_nobody_is_free(void **state)
{
	struct name_holder holder;

	(void)state;
	assert_false(held_name_find("sluice-test", &holder));
	int fd = held_name_take("sluice-test", &holder);
	assert_true(held_name_find("sluice-test", &holder));
	assert_true(holder.believed);
	assert_int_equal(holder.pid, getpid());
	assert_int_equal(held_name_take("sluice-test", &holder), -EADDRINUSE);
	assert_int_equal(holder.pid, getpid());
	close(fd);
	assert_false(held_name_find("sluice-test", &holder));
}

// Between its bind and its listen, and while more ask than it can answer, it is a gateway, too.
static void is_found_though_silent(const char *interface, bool listens)
{
	char who[PORT_CLAIM_WHO], device[64], name[64];
	uid_t us = geteuid();

	snprintf(device, sizeof(device), "net_af_packet0,iface=%s", interface);
	snprintf(name, sizeof(name), "sluice-port-%s", interface);
	ports(device, NULL);
	// Each type of socket has names of its own, so that a stranger can have this one beside it.
	assert_true(us != 0 || seteuid(NOBODY) == 0);
	int beside = attach_as(SOCK_DGRAM, name, true);
	assert_true(seteuid(us) == 0 && beside >= 0);
	struct squatter gateway_before = squatter(name, us, listens);
	assert_int_equal(claims_take(), -EADDRINUSE);
	assert_non_null(strstr(err, "port \"port0\": another gateway (of user"));
	assert_non_null(strstr(err, "cannot be told"));
	assert_true(port_claim_held(device, who, sizeof(who)));
	ends(&gateway_before);
	assert_false(port_claim_held(device, who, sizeof(who)));
	close(beside);
}

static void a_gateway_that_does_not_answer_is_one(void **state)
{
	static const char *const interfaces[] = {"gA", "gD"}; // listed in unlike order

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		is_found_though_silent(interfaces[i], false);
		is_found_though_silent(interfaces[i], true);
	}
}

static void a_stranger_keeps_nobody_from_starting(void **state)
{
	char who[PORT_CLAIM_WHO];

	(void)state;
	if (geteuid() != 0)
		skip();
	ports("net_af_packet0,iface=gA", NULL);
	for (unsigned listens = 0; listens < 2; listens++) {
		struct squatter stranger = squatter("sluice-port-gA", NOBODY, listens);
		assert_int_equal(claims_take(), 0);
		assert_int_equal(claims.n, 0);
		assert_non_null(strstr(log_text, "somebody without rights sits on its name"));
		assert_false(port_claim_held(gateway.ports[0].device, who, sizeof(who)));
		ends(&stranger);
	}
}

static void one_that_ends_meanwhile_is_no_holder(void **state)
{
	(void)state;
	ports("net_af_packet0,iface=gA", NULL);
	struct squatter short_lived = squatter("sluice-port-gA", geteuid(), false);
	pid_t pid = fork();
	if (pid == 0) {
		usleep(30000);
		_exit(kill(short_lived.pid, SIGKILL));
	}
	assert_int_equal(claims_take(), 0);
	assert_int_equal(claims.n, 1);
	port_claims_drop(&claims);
	waitpid(pid, NULL, 0);
	ends(&short_lived);
}

static void two_ports_of_ours_are_no_news(void **state)
{
	(void)state;
	ports("net_af_packet0,iface=gA", "net_af_packet1,iface=gA");
	assert_int_equal(claims_take(), 0);
	assert_int_equal(claims.n, 1);
	assert_string_equal(log_text, "");
	port_claims_drop(&claims);
}

static void each_interface_of_a_device_is_claimed(void **state)
{
	(void)state;
	ports("net_pcap0,rx_iface=gA,tx_iface=gB", NULL);
	struct squatter another = squatter("sluice-port-gB", geteuid(), false);
	assert_int_equal(claims_take(), -EADDRINUSE);
	port_claims_drop(&claims);
	ends(&another);
	assert_int_equal(claims_take(), 0);
	assert_int_equal(claims.n, 2);
	port_claims_drop(&claims);
}

static int begin(void **state)
{
	(void)state;
	return geteuid() == 0 ? unshare(CLONE_NEWNET) : 0; // names are of the namespace
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_connects_in_a_loop_does_not_keep_us),
		cmocka_unit_test(a_name_of_nobody_is_free),
		cmocka_unit_test(a_gateway_that_does_not_answer_is_one),
		cmocka_unit_test(a_stranger_keeps_nobody_from_starting),
		cmocka_unit_test(one_that_ends_meanwhile_is_no_holder),
		cmocka_unit_test(two_ports_of_ours_are_no_news),
		cmocka_unit_test(each_interface_of_a_device_is_claimed),
	};
	return cmocka_run_group_tests(tests, begin, NULL);
}
