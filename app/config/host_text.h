// SPDX-License-Identifier: BSD-3-Clause
// Names of hosts in documents, as suffixes: "wiki.example" stands for all names below it, too.
// Control core only.
#ifndef SLUICE_HOST_TEXT_H
#define SLUICE_HOST_TEXT_H

#include "config/json_strict.h"
#include "classify/user_apps.h"

#define HOST_TEXT_BYTES (USER_HOST_NAME_MAX + 2)

// As user_apps_add_host() takes it: lower case, no dot at either end. False: reported.
bool host_want_suffix(const struct json_at *at, char host[HOST_TEXT_BYTES]);

#endif
