// SPDX-License-Identifier: BSD-3-Clause
// What the machine leaves for a core, and what an operator is told of it.
#include "transportapi/core_internal.h"

void tapi_core_descriptors(struct tapi_core *core)
{
	struct tapi_budget *budget = &core->budget;
	uint64_t rlimit;
	uint32_t open;

	tapi_budget_descriptors(budget, &rlimit, &open);
	if (budget->descriptors_wanted <= budget->descriptors_max) {
		core->descriptors_told = 0;
		return;
	}
	if (core->descriptors_told == budget->descriptors_wanted)
		return;
	core->descriptors_told = budget->descriptors_wanted;
	tapi_core_log(core, LOG_WARNING,
		"max_sessions of tcp and unix may come to %u descriptors, and the system allows "
		"this "
		"process %llu (RLIMIT_NOFILE; %u are open, some are kept): there will be %u "
		"sessions at "
		"a time, beyond that the longest unused ends; raise LimitNOFILE (ulimit -n), or "
		"lower "
		"max_sessions",
		budget->descriptors_wanted, (unsigned long long)rlimit, open,
		budget->descriptors_max);
}
