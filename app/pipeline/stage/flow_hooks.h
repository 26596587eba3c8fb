// SPDX-License-Identifier: BSD-3-Clause
// What the pipeline does when the flow table ends an entry (flow/table.h).
#ifndef SLUICE_FLOW_HOOKS_H
#define SLUICE_FLOW_HOOKS_H

#include "pipeline/flow/table.h"

extern const struct flow_hooks flow_hooks;

#endif
