// SPDX-License-Identifier: BSD-3-Clause
// Matches a flow against the rules of a policy and selects the action.
#include "pipeline/policy/decide.h"

static bool ports_match(const struct rule *rule, const struct decide_input *input)
{
	uint16_t port = input->ends->port[HALF_S2C];

	for (unsigned i = 0; i < rule->n_ports; i++)
		if (port >= rule->ports[i].first && port <= rule->ports[i].last)
			return true;
	return false;
}

static bool vlans_match(const struct rule *rule, const struct decide_input *input)
{
	for (unsigned i = 0; i < rule->n_vlans; i++)
		for (unsigned tag = 0; tag < input->n_vlan; tag++)
			if (rule->vlans[i] == input->vlan[tag])
				return true;
	return false;
}

static bool frame_matches(const struct rule *rule, const struct decide_input *input)
{
	if (rule->has_mac && (!input->mac || !mac_set_has(&rule->mac, input->mac)))
		return false;
	return !rule->dscps || rule->dscps >> input->dscp & 1;
}

// Everything of a match but the application.
static inline __attribute__((always_inline)) bool static_match(
	const struct rule *rule, const struct decide_input *input, uint32_t user)
{
	if (!rule_is_open(rule, input->windows))
		return false;
	if (rule->has_user && !rule_has_user(rule, user))
		return false;
	if (rule->direction != DIRECTION_ANY &&
		(rule->direction == DIRECTION_OUTBOUND) != input->c2s_from_inside)
		return false;
	if (rule->l4_proto && rule->l4_proto != input->l4_proto)
		return false;
	if (rule->n_ports && (!input->ports_known || !ports_match(rule, input)))
		return false;
	if (rule->n_vlans && !vlans_match(rule, input))
		return false;
	if (rule->has_source && !address_set_has(&rule->source, input->ends->address[HALF_C2S]))
		return false;
	if (rule->has_destination &&
		!address_set_has(&rule->destination, input->ends->address[HALF_S2C]))
		return false;
	if (rule->has_host && !rule_has_host(rule, input->ends))
		return false;
	return !rule->asks_frame || frame_matches(rule, input);
}

// The application, as sure as the rule asks for it. Where that is a guess, payload has proven no
// more than its carrier, and a rule on the carrier matches, too.
static bool app_matches(const struct rule *rule, const struct decide_input *input)
{
	if (app_set_has(&rule->apps, input->app) && input->confidence >= rule->min_confidence)
		return true;
	return input->confidence < CONFIDENCE_DPI && input->carrier != APP_NONE &&
	       app_set_has(&rule->apps, input->carrier) &&
	       input->carrier_confidence >= rule->min_confidence;
}

enum rule_match rule_matches(
	const struct rule *rule, const struct decide_input *input, uint32_t user)
{
	if (!static_match(rule, input, user))
		return RULE_MATCHES_NOT;
	if (!rule->has_app || app_matches(rule, input))
		return RULE_MATCHES;
	return input->app_final ? RULE_MATCHES_NOT : RULE_MATCHES_PERHAPS;
}

struct decision decide(const struct policy *policy, const struct decide_input *input)
{
	struct decision decision = {
		.action = policy->default_action,
		.final = true,
		.rule = RULE_DEFAULT,
		.monitored = RULE_DEFAULT,
		.unsure = RULE_DEFAULT,
	};

	uint32_t user = policy->asks_user ? policy_user(policy, input->ends, input->c2s_from_inside)
					  : USER_NONE;

	for (uint32_t i = 0; i < policy->n_rules; i++) {
		const struct rule *rule = &policy->rules[i];

		if (rule->only_content || !static_match(rule, input, user))
			continue;
		if (rule->has_app && !app_matches(rule, input)) {
			if (app_set_has(&rule->apps, input->app) && decision.unsure == RULE_DEFAULT)
				decision.unsure = i;
			// a better application may still come
			if (!input->app_final)
				decision.final = false;
			continue;
		}
		if (rule->mode == MODE_MONITOR && rule->action != ACTION_PASS) {
			if (!decision.would_block && decision.final) {
				decision.would_block = true;
				decision.monitored = i;
				decision.monitored_action = rule->action;
			}
			continue;
		}
		decision.action = rule->action;
		decision.cache = rule->cache;
		decision.rule = i;
		break;
	}
	if (!decision.final) {
		// An earlier rule may yet match: what was found holds only if that one does not.
		decision.action = ACTION_PASS;
		decision.cache = CACHE_NONE;
		decision.rule = RULE_DEFAULT;
	} else if (decision.rule == RULE_DEFAULT && policy->mode == MODE_MONITOR &&
		   decision.action != ACTION_PASS) {
		if (!decision.would_block) {
			decision.would_block = true;
			decision.monitored_action = decision.action;
		}
		decision.action = ACTION_PASS;
	}
	return decision;
}

uint32_t decide_sender(
	const struct policy *policy, const struct decide_input *input, bool flow_from_inside)
{
	uint32_t user = policy->asks_user ? policy_user(policy, input->ends, input->c2s_from_inside)
					  : USER_NONE;
	struct decide_input of_flow = *input;

	of_flow.c2s_from_inside = flow_from_inside;
	for (uint32_t i = 0; i < policy->n_rules; i++) {
		const struct rule *rule = &policy->rules[i];
		bool names = rule->has_source || rule->has_host ||
			     ((rule->has_user || rule->has_mac) && input->c2s_from_inside);

		if (rule->has_app || rule->only_content || !static_match(rule, &of_flow, user))
			continue;
		if (!action_blocks(rule->action))
			return RULE_DEFAULT;
		if (names && rule->mode == MODE_ENFORCE)
			return i;
	}
	return RULE_DEFAULT;
}
