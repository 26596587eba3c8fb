// SPDX-License-Identifier: BSD-3-Clause
// The table that app_list.py makes of all applications: by id, [0] is none.
#ifndef SLUICE_APP_PROTO_TABLE_H
#define SLUICE_APP_PROTO_TABLE_H

#include <assert.h>
#include "classify/app_proto.h"

extern const struct app_proto *const app_proto_table[];
extern const uint16_t app_proto_count; // without [0]

#endif
