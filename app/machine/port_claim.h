// SPDX-License-Identifier: BSD-3-Clause
// One gateway for each device. Not every driver refuses a second one: over af_packet both would
// forward every frame. A claim is a name in the kernel, of the interface or the PCI address, that
// goes with its process. Control core.
#ifndef SLUICE_PORT_CLAIM_H
#define SLUICE_PORT_CLAIM_H

#include <stdbool.h>
#include <stddef.h>
#include "config/gateway.h"

#define PORT_CLAIM_EACH 3 // interfaces of a device: iface, rx_iface, tx_iface
#define PORT_CLAIM_WHO  128

struct port_claims { // zeroed: none
	unsigned n;
	int fds[PORT_CLAIM_EACH * GATEWAY_PORTS_MAX];
};

// Claims every port of `gateway` that stands for something outside of us. -EADDRINUSE with a
// message if another gateway has one of them. Other failures are no reason not to start: they are
// logged.
int port_claims_take(
	const struct gateway *gateway, struct port_claims *claims, char *err, size_t err_len);
// Now and then: lets go of those who asked.
void port_claims_tick(const struct port_claims *claims);
void port_claims_drop(struct port_claims *claims);
// Whether another gateway has claimed `device`, and who that is. Only root and our own user are
// believed (held_name.h): who else takes its name keeps nobody from starting.
bool port_claim_held(const char *device, char *who, size_t who_len);

#endif
