// SPDX-License-Identifier: BSD-3-Clause
// policy.json: whatever the text, it is refused with reasons or gives a policy whose parts are in
// order and whose dump reads back to itself.
#include <stdint.h>
#include "config_check.h"
#include "control/policy/load.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static void set_check(const struct address_set *set)
{
	for (uint32_t i = 0; i < set->n_v4; i++)
		if (set->v4[i].first > set->v4[i].last ||
			(i && set->v4[i].first <= set->v4[i - 1].last))
			abort();
	for (uint32_t i = 0; i < set->n_v6; i++)
		if (memcmp(set->v6[i].first, set->v6[i].last, 16) > 0 ||
			(i && memcmp(set->v6[i].first, set->v6[i - 1].last, 16) <= 0))
			abort();
}

static void policy_check(const struct policy *policy, struct rule_names *names)
{
	struct config_errors errors = {0};
	struct policy *again = NULL;
	char *first = policy_dump(policy, names), *second;

	for (uint32_t i = 0; i < policy->n_rules; i++) {
		const struct rule *rule = &policy->rules[i];

		set_check(&rule->source);
		set_check(&rule->destination);
		if (policy_rule_by_uid(policy, rule->uid) != rule ||
			strcmp(rule_names_get(names, rule->uid), rule->id) != 0)
			abort();
	}
	set_check(&policy->conn_cache.exempt);
	if (!first || policy_parse(first, "dump", names, &again, &errors) < 0)
		abort();
	second = policy_dump(again, names);
	if (!second || strcmp(first, second) != 0)
		abort();
	free(first);
	free(second);
	policy_free(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	struct config_errors errors = {0};
	struct rule_names *names = rule_names_new();
	struct policy *policy = NULL;
	char *text = text_of(bytes, len);
	int rc = policy_parse(text, "fuzz", names, &policy, &errors);

	errors_check(&errors, rc, policy);
	if (policy)
		policy_check(policy, names);
	policy_free(policy);
	config_errors_free(&errors);
	rule_names_free(names);
	free(text);
	return 0;
}
