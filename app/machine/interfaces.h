// SPDX-License-Identifier: BSD-3-Clause
// The kernel's interfaces, and what this machine uses them for: so that nobody takes away the one
// that he is logged in by. Control side; asks the kernel, changes nothing.
#ifndef SLUICE_INTERFACES_H
#define SLUICE_INTERFACES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define INTERFACES_MAX 512

struct interface {
	unsigned index;
	char name[16];    // IF_NAMESIZE
	unsigned part_of; // index of the bridge or bond that it is a part of; 0: none
	unsigned lower;   // of the one that it stands on (VLAN, macvlan ...); 0: none
	uint32_t mtu;
	bool up; // as an administrator set it
	bool carrier;
	bool xdp;           // a program hangs on it
	bool default_route; // one leads through it
	char address[64];   // the first that is not link-local, "10.0.0.1/24"; "": none
};
struct interfaces {
	unsigned n;
	struct interface items[INTERFACES_MAX];
};

// Of this network namespace. 0 or -errno.
int interfaces_read(struct interfaces *out);
const struct interface *interfaces_find(const struct interfaces *interfaces, const char *name);
// What the machine would lose with it, for a sentence: "the default route and 10.0.0.1/24 (by
// bond0)"; addresses and routes of what stands on it count. False: nothing.
bool interfaces_carries(
	const struct interfaces *interfaces, const char *name, char *out, size_t out_len);

#endif
