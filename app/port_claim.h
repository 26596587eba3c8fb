// SPDX-License-Identifier: BSD-3-Clause
// One gateway for each device. Not every driver refuses a second one: over af_packet both would
// forward every frame. A claim is a name in the kernel, of the interface or the PCI address, that
// goes with its process. Control core.
#ifndef SLUICE_PORT_CLAIM_H
#define SLUICE_PORT_CLAIM_H

#include <sys/types.h>
#include "gateway.h"

struct port_claims { // zeroed: none
	unsigned n;
	int fds[GATEWAY_PORTS_MAX];
};

// Claims every port of `gateway` that stands for something outside of us. -EADDRINUSE with a
// message if another gateway has one of them. Other failures are no reason not to start: they are
// logged.
int port_claims_take(
	const struct gateway *gateway, struct port_claims *claims, char *err, size_t err_len);
// Now and then: lets go of those who asked.
void port_claims_tick(const struct port_claims *claims);
void port_claims_drop(struct port_claims *claims);
// The gateway that has claimed `device`; 0: none, or ourselves. Only root and our own user are
// believed: anybody can take a name.
pid_t port_claim_holder(const char *device);

#endif
