// SPDX-License-Identifier: BSD-3-Clause
// An entry of the connection cache as the control socket shows it. NULL: no memory.
#ifndef SLUICE_CACHE_JSON_H
#define SLUICE_CACHE_JSON_H

#include "pipeline/cache/conn_cache.h"
#include "control/ctl/command.h"

json_t *cache_entry_json(const struct control_context *context, const struct conn_entry *entry);

#endif
