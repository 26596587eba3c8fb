// SPDX-License-Identifier: BSD-3-Clause
// The only function that says "block". Pure: no state, no counters, no clock.
#ifndef SLUICE_DECIDE_H
#define SLUICE_DECIDE_H

#include "pipeline/policy/policy.h"

// What is known of the flow when it is decided.
struct decide_input {
	const struct flow_ends *ends;
	uint16_t app;
	uint16_t carrier; // of it, or itself, as far as payload proves it; APP_NONE
	uint8_t confidence;
	uint8_t carrier_confidence;
	uint8_t l4_proto;
	uint8_t n_vlan;
	bool app_final;   // no better application will come
	bool ports_known; // false for later fragments: rules with ports cannot match
	bool c2s_from_inside;
	uint16_t vlan[2];
	uint64_t windows; // time windows that are open, bits of policy->times
	const uint8_t
		*mac; // of the inside end; NULL: not known, rules that ask for it do not match
	uint8_t dscp;
};

#define RULE_DEFAULT UINT32_MAX // the policy's `default` decided

struct decision {
	uint8_t action;     // enum action, after monitor mode
	uint8_t cache;      // enum cache_mode, of the deciding rule
	bool final;         // a better application would not change it
	uint32_t rule;      // index in policy->rules, or RULE_DEFAULT
	uint32_t monitored; // would_block: the first monitor rule, or RULE_DEFAULT for the default
	bool would_block;   // but for monitor mode, monitored_action
	uint8_t monitored_action;
	uint32_t unsure; // first rule before the deciding one that names the application, but asks
			 // for more confidence; or RULE_DEFAULT
};

// How a rule's match stands with a flow.
enum rule_match {
	RULE_MATCHES_NOT,
	RULE_MATCHES_PERHAPS, // an application that is not final may make it
	RULE_MATCHES,
};
// `user`: of the flow, policy_user(); any if no rule asks for one.
enum rule_match rule_matches(
	const struct rule *rule, const struct decide_input *input, uint32_t user);

// First match wins. A rule without action (`only_content`) is passed over. A rule in monitor mode
// is noted and passed over. A rule that needs the application while none is final is undecidable:
// what follows is only tentative, the answer is PASS and `final` is false (classification has a
// hard budget, so this ends).
struct decision decide(const struct policy *policy, const struct decide_input *input);

// Of a packet that its sender sends about a flow of others (an ICMP error): the first rule that
// matches the packet's own ends (`input`), blocks, and names the sender, by an address or as a
// user, or either end (`host`); RULE_DEFAULT: none, or one that passes comes first. Other rules say
// who may begin a flow, which such a packet does not. `flow_from_inside` is of who began the flow:
// that is the direction.
uint32_t decide_sender(
	const struct policy *policy, const struct decide_input *input, bool flow_from_inside);

#endif
