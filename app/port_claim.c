// SPDX-License-Identifier: BSD-3-Clause
#include "port_claim.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include "eal_args.h"
#include "log.h"

// In the abstract namespace, which is the network namespace's, as interfaces are. 0: a device that
// is nobody else's (rings, capture files).
static socklen_t name_of(const char *device, struct sockaddr_un *out)
{
	char what[64];

	if (device_type_of(device) == DEVICE_PCI)
		device_name_of(device, what, sizeof(what));
	else if (!device_interface_of(device, what, sizeof(what)))
		return 0;
	*out = (struct sockaddr_un){.sun_family = AF_UNIX};
	int n = snprintf(out->sun_path + 1, sizeof(out->sun_path) - 1, "sluice-port-%s", what);
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
}

static pid_t holder_of(const struct sockaddr_un *name, socklen_t length)
{
	struct ucred holder = {0};
	socklen_t room = sizeof(holder);
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return 0;
	if (connect(fd, (const struct sockaddr *)name, length) < 0 ||
		getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &holder, &room) < 0)
		holder.pid = 0;
	close(fd);
	bool believed = holder.uid == 0 || holder.uid == geteuid();
	return holder.pid == getpid() || !believed ? 0 : holder.pid;
}

pid_t port_claim_holder(const char *device)
{
	struct sockaddr_un name;
	socklen_t length = name_of(device, &name);

	return length ? holder_of(&name, length) : 0;
}

static int claim(
	const struct gateway_port *port, struct port_claims *claims, char *err, size_t err_len)
{
	struct sockaddr_un name;
	socklen_t length = name_of(port->device, &name);

	if (!length)
		return 0;
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int rc = fd < 0 ? -errno : 0;
	if (!rc && bind(fd, (const struct sockaddr *)&name, length) < 0)
		rc = -errno;
	// Whoever connects reads who we are from the kernel; nothing is said.
	if (!rc && listen(fd, SOMAXCONN) < 0)
		rc = -errno;
	if (!rc) {
		claims->fds[claims->n++] = fd;
		return 0;
	}
	if (fd >= 0)
		close(fd);
	pid_t holder = rc == -EADDRINUSE ? holder_of(&name, length) : 0;
	if (holder) {
		snprintf(err, err_len,
			"port \"%s\": another gateway (process %d) has %s: stop it, or name "
			"another "
			"device",
			port->name, (int)holder, port->device);
		return -EADDRINUSE;
	}
	log_warning("port \"%s\": %s cannot be claimed: %s; a second gateway would not be refused",
		port->name, port->device, strerror(-rc));
	return 0;
}

int port_claims_take(
	const struct gateway *gateway, struct port_claims *claims, char *err, size_t err_len)
{
	int rc = 0;

	for (unsigned i = 0; i < gateway->n_ports && !rc; i++)
		rc = claim(&gateway->ports[i], claims, err, err_len);
	return rc;
}

void port_claims_tick(const struct port_claims *claims)
{
	for (unsigned i = 0; i < claims->n; i++) {
		for (int fd; (fd = accept4(claims->fds[i], NULL, NULL, SOCK_CLOEXEC)) >= 0;)
			close(fd);
	}
}

void port_claims_drop(struct port_claims *claims)
{
	while (claims->n)
		close(claims->fds[--claims->n]);
}
