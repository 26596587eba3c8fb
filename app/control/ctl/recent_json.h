// SPDX-License-Identifier: BSD-3-Clause
// A transfer or chat verdict that is kept (control/content/recent.h) as the control socket and the
// live page show it. NULL: no memory.
#ifndef SLUICE_RECENT_JSON_H
#define SLUICE_RECENT_JSON_H

#include "control/content/recent.h"
#include "control/ctl/command.h"

// `names`: with names, parties and text; else without anything that a sender wrote.
json_t *recent_json(const struct control_context *context, const struct recent_entry *entry,
	enum recent_kind kind, bool names);

#endif
