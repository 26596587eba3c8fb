// SPDX-License-Identifier: BSD-3-Clause
// Files and ids that were refused before, and stay refused.
#include "pipeline/content/report_work.h"
#include "pipeline/flow/facts.h"

// The rule that refused the file before is still in force, may still refuse files, and is for this
// flow, too.
static bool still_holds(const struct feeding *feeding, uint32_t uid, uint32_t *index)
{
	const struct policy *policy = feeding->lcore->policy;
	const struct rule *rule = policy_rule_by_uid(policy, uid);
	struct flow_ends ends;
	struct decide_input input;

	if (!rule || !rule->content || !rule->content->enforces ||
		(!rule->content->n_transfers && !rule->content->has_scan))
		return false;
	report_input(feeding, &ends, &input);
	*index = (uint32_t)(rule - policy->rules);
	return rule_matches(rule, &input,
		       policy->asks_user ? policy_user(policy, &ends, input.c2s_from_inside)
					 : USER_NONE) == RULE_MATCHES;
}

bool report_remembers(const struct feeding *feeding)
{
	return feeding->flow->asks.enforces &&
	       !refused_files_are_empty(feeding->content->refused, feeding->lcore->now_ns);
}

// A file that the policy does not decide about by what is known of it so far, but was refused
// before: the verdict is the one that it had. False: it was not.
bool report_refused_before(struct feeding *feeding, const struct content_file *reported,
	const struct refused_marks *marks, struct content_verdict *verdict)
{
	const struct refused_slot *slot = NULL;
	uint32_t rule;

	if (verdict->rule == RULE_DEFAULT && report_remembers(feeding))
		slot = refused_files_find(
			feeding->lcore, feeding->content->refused, marks, reported->partial);
	if (!slot || !still_holds(feeding, slot->rule_uid, &rule))
		return false;
	*verdict = (struct content_verdict){.action = slot->action,
		.rule = rule,
		.monitored = RULE_DEFAULT,
		.redact = verdict->redact};
	feeding->lcore->stats.refused_files_again++;
	return true;
}
