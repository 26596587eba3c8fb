// SPDX-License-Identifier: BSD-3-Clause
// Who the gateway becomes once its ports are open (gateway.json `user`, `group`), and what it then
// must be able to write. Control core only.
#ifndef SLUICE_IDENTITY_H
#define SLUICE_IDENTITY_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include "gateway.h"

struct identity { // zeroed: stays who it is
	bool change;
	uid_t uid;
	gid_t gid;
	char user[65];
	char group[65];
};

// Looks both up, and whether we may become them. 0; -ENOENT, -EPERM with a message.
int identity_find(
	const char *user, const char *group, struct identity *out, char *err, size_t err_len);
// Makes the folders of events, control socket, cache and state that are not there, and an event
// file, and gives them to `identity`. What exists stays whose it is, but for an event file of
// root's. Before anybody else makes them. Failures are left to whoever opens the file.
void identity_prepare(const struct identity *identity, const struct gateway *gateway);
// A socket that was made meanwhile; with its group, or without.
void identity_give(const struct identity *identity, const char *path, bool group);
// After privileges_drop, in the user's place: a warning with the way out for each file that a
// reload, a rotation or a compilation will not be able to use.
void identity_check(const struct identity *identity, const struct gateway *gateway,
	const char *gateway_path, const char *policy_path);

#endif
