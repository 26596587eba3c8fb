// SPDX-License-Identifier: BSD-3-Clause
// Claims devices, so that no second gateway uses them.
#include "machine/port_claim.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "config/eal_args.h"
#include "process/held_name.h"
#include "base/log.h"

// Of what `device` stands for outside of us the `nth`; false: there is none (rings, capture files).
static bool name_of(const char *device, unsigned nth, char *out, size_t out_len)
{
	char what[64];

	if (device_type_of(device) == DEVICE_PCI && !nth)
		device_name_of(device, what, sizeof(what));
	else if (!device_nth_interface_of(device, nth, what, sizeof(what)))
		return false;
	snprintf(out, out_len, "sluice-port-%s", what);
	return true;
}

// Another gateway, as far as it is believed to be one.
static bool is_another(const struct name_holder *holder, char *who, size_t who_len)
{
	if (!holder->believed || holder->pid == getpid())
		return false;
	if (holder->pid)
		snprintf(who, who_len, "process %d", (int)holder->pid);
	else
		snprintf(who, who_len,
			"of user %u, whose process cannot be told: in another PID namespace, or "
			"too busy to answer",
			(unsigned)holder->uid);
	return true;
}

bool port_claim_held(const char *device, char *who, size_t who_len)
{
	struct name_holder holder;
	char name[96];

	for (unsigned nth = 0; name_of(device, nth, name, sizeof(name)); nth++) {
		if (held_name_find(name, &holder) && is_another(&holder, who, who_len))
			return true;
	}
	return false;
}

static int claim(const struct gateway_port *port, const char *name, struct port_claims *claims,
	char *err, size_t err_len)
{
	struct name_holder holder;
	char who[PORT_CLAIM_WHO];
	int fd = held_name_take(name, &holder);

	if (fd >= 0) {
		claims->fds[claims->n++] = fd;
		return 0;
	}
	if (fd == -EADDRINUSE && holder.pid == getpid())
		return 0; // of another port of ours
	if (fd == -EADDRINUSE && is_another(&holder, who, sizeof(who))) {
		snprintf(err, err_len,
			"port \"%s\": another gateway (%s) has %s: stop it, or name another "
			"device",
			port->name, who, port->device);
		return fd;
	}
	log_warning("port \"%s\": %s cannot be claimed: %s; a second gateway would not be refused",
		port->name, port->device,
		fd == -EADDRINUSE ? "somebody without rights sits on its name" : strerror(-fd));
	return 0;
}

int port_claims_take(
	const struct gateway *gateway, struct port_claims *claims, char *err, size_t err_len)
{
	char name[96];
	int rc = 0;

	for (unsigned i = 0; i < gateway->n_ports && !rc; i++) {
		const struct gateway_port *port = &gateway->ports[i];

		for (unsigned nth = 0; !rc && name_of(port->device, nth, name, sizeof(name)); nth++)
			rc = claim(port, name, claims, err, err_len);
	}
	return rc;
}

void port_claims_tick(const struct port_claims *claims)
{
	for (unsigned i = 0; i < claims->n; i++)
		held_name_tick(claims->fds[i]);
}

void port_claims_drop(struct port_claims *claims)
{
	while (claims->n)
		close(claims->fds[--claims->n]);
}
