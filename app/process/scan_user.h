// SPDX-License-Identifier: BSD-3-Clause
// Who reads hostile files: the user that children of the virus scanner become (gateway.json
// scan.user). Control side.
#ifndef SLUICE_SCAN_USER_H
#define SLUICE_SCAN_USER_H

#include <stdbool.h>
#include <stddef.h>

#define SCAN_USER_OWN  "sluice-scan" // the package makes it
#define SCAN_USER_TEXT 512

// Whether this process may have its children become somebody else (CAP_SETUID, CAP_SETGID).
bool scan_user_can_change(void);

// `named`: as the operator says; NULL: `own`, if there is such a user and `can_change`.
// 0: `*user` is who they become; NULL: nobody else, and `text` says why, what then keeps a hostile
// file from the gateway, and how to have more. -ENOENT, -EPERM: `named` cannot be had, and `text`
// says what to do.
int scan_user_choose(const char *named, const char *own, bool can_change, const char **user,
	char *text, size_t text_len);

#endif
