// SPDX-License-Identifier: BSD-3-Clause
// Reads policy.json into `struct policy`. Control core only. Strict as gateway.h says; ids of rules
// are interned to uids that outlive a policy, so that counters and cache entries keep their rule.
#ifndef SLUICE_POLICY_LOAD_H
#define SLUICE_POLICY_LOAD_H

#include "control/policy/app_names.h"
#include "config/error.h"
#include "pipeline/policy/policy.h"

struct rule_names; // uid <-> id, grows for ever, owned by the control core
struct rule_names *rule_names_new(void);
void rule_names_free(struct rule_names *names);
uint32_t rule_names_intern(struct rule_names *names, const char *id);     // 0: no memory
uint32_t rule_names_find(const struct rule_names *names, const char *id); // 0: never seen
const char *rule_names_get(const struct rule_names *names, uint32_t uid); // NULL: unknown
// Applications that policies have defined live with them.
struct app_names *rule_names_apps(const struct rule_names *names);

// A policy without generation, sigdb and scratch: those are set at publication. The defaults of
// absent keys are those of policy_default(). -EINVAL with everything in `errors`, -errno: `names`
// is as before then.
int policy_load(const char *path, struct rule_names *names, struct policy **out,
	struct config_errors *errors);
int policy_parse(const char *text, const char *file, struct rule_names *names, struct policy **out,
	struct config_errors *errors);
// The same rules under the numbers of other names; a policy that nobody uses yet. -ENOMEM.
int policy_intern(struct policy *policy, struct rule_names *names);
void policy_default(struct policy *policy);
// The policy as JSON text (what `sluicectl policy show` prints), to free().
char *policy_dump(const struct policy *policy, const struct rule_names *names);

#endif
