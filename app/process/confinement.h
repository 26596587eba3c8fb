// SPDX-License-Identifier: BSD-3-Clause
// The steps by which `sluice run` gives up its rights, in their order (docs/operating.md):
//
//   confinement_begin   before EAL: the launcher is forked, files are made for the user
//   confinement_ports   the ports are taken
//   confinement_enter   everything is open, no lcore runs yet: user, capabilities, sandbox
//   confinement_end     last of all: the launcher cleans up
//
// Control core only.
#ifndef SLUICE_CONFINEMENT_H
#define SLUICE_CONFINEMENT_H

#include "process/identity.h"
#include "process/launcher.h"
#include "pipeline/lcore/lcore.h"
#include "process/sandbox.h"

struct confinement { // zeroed
	const struct gateway *gateway;
	const char *gateway_path;
	const char *policy_path;
	struct identity identity;
	struct launcher launcher;
};

// Paths are borrowed. `eal`: options after "--". -1, or an exit code and a message.
int confinement_begin(struct confinement *confinement, const struct gateway *gateway,
	const char *gateway_path, const char *policy_path, char *const *eal, unsigned n_eal,
	char *err, size_t err_len);
void confinement_ports(struct confinement *confinement, const struct dataplane *dp);
int confinement_enter(struct confinement *confinement, char *err, size_t err_len);
void confinement_end(struct confinement *confinement, bool badly);

#endif
