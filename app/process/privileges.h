// SPDX-License-Identifier: BSD-3-Clause
// Giving up rights, in every thread, for good. Control core only.
//
//   start        privileges_limit: no new rights by execve, for threads made later too
//   ports open   privileges_drop: the user's ids and groups, no capability at all
//
// No driver needs a capability for what it does while packets move (docs/operating.md has the
// table); what they need to give a port back is the launcher's work.
#ifndef SLUICE_PRIVILEGES_H
#define SLUICE_PRIVILEGES_H

#include "process/identity.h"

// Before EAL makes threads, after the launcher was forked: they inherit it. Empties the bounding
// set where that is allowed, and sets no_new_privs. 0 or -errno with a message.
int privileges_limit(char *err, size_t err_len);
// Becomes `identity` (if it is a change), drops all capabilities of all threads, and reads back
// from /proc that it is so. 0 or -errno with a message: then the gateway must not go on.
int privileges_drop(const struct identity *identity, char *err, size_t err_len);

#endif
