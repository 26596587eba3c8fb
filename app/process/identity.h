// SPDX-License-Identifier: BSD-3-Clause
// Who the gateway becomes once its ports are open (gateway.json `user`, `group`), and what it then
// must be able to write. Control core only.
#ifndef SLUICE_IDENTITY_H
#define SLUICE_IDENTITY_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include "config/gateway.h"

struct identity { // zeroed: stays who it is
	bool change;
	uid_t uid;
	gid_t gid;
	char user[65];
	char group[65];
	char folder[256]; // whose owner it is, as no user was named; "": it was
};

// Looks both up, and whether we may become them. 0; -ENOENT, -EPERM with a message.
int identity_find(
	const char *user, const char *group, struct identity *out, char *err, size_t err_len);
// Of `gateway`: its user; where none is named and root starts it, the owner of the folders of
// events, state and cache, if that is one system user: of a service, whose files root would spoil
// and, without its capabilities, could not read. User "root" stays root.
int identity_choose(const struct gateway *gateway, struct identity *out, char *err, size_t err_len);
// Makes the folders of events, control socket, cache and state that are not there, and an event
// file, and gives them to `identity`. So it does with what a start as root has left there: files of
// ours that are root's, and their folder, if it is root's and nothing else is in it. Otherwise what
// exists stays whose it is. Before anybody else makes them. Failures are left to whoever opens the
// file.
void identity_prepare(const struct identity *identity, const struct gateway *gateway);
// A socket that was made meanwhile; with its group, or without.
void identity_give(const struct identity *identity, const char *path, bool group);
// After privileges_drop, in the user's place (or root's, without capabilities): a warning with the
// way out for each file that a reload, a rotation or a compilation will not be able to use.
void identity_check(const struct identity *identity, const struct gateway *gateway,
	const char *gateway_path, const char *policy_path);

#endif
