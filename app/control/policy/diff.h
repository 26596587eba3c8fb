// SPDX-License-Identifier: BSD-3-Clause
// What differs between two policies as their dumps say it (policy_dump): effective values, so that
// another spelling of the same is no difference. Lists whose entries have an id (rules,
// applications) are compared by id, and their order counts. Any thread.
#ifndef SLUICE_POLICY_DIFF_H
#define SLUICE_POLICY_DIFF_H

#include <jansson.h>
#include <stdbool.h>

#define POLICY_DIFF_LIST_MAX  100 // entries of a list, and users' names, that are written out
#define POLICY_DIFF_NAMES_MAX 100

// {"same", "keys", "rules", "applications", "users"}, as docs/control-socket.md says. NULL: no
// memory.
json_t *policy_diff(const json_t *old, const json_t *new);

#endif
