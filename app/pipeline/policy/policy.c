// SPDX-License-Identifier: BSD-3-Clause
// Looks up what a policy has, and frees it.
#include "pipeline/policy/content_rules.h"
#include <stdlib.h>

const struct rule *policy_rule_by_uid(const struct policy *policy, uint32_t uid)
{
	uint32_t low = 0, high = policy->n_rules;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (policy->by_uid[middle]->uid < uid)
			low = middle + 1;
		else
			high = middle;
	}
	return low < policy->n_rules && policy->by_uid[low]->uid == uid ? policy->by_uid[low]
									: NULL;
}

static void user_app_clear(struct user_app *user)
{
	free(user->name);
	free(user->title);
	free(user->group);
	free(user->ports[0]);
	free(user->ports[1]);
	address_set_free(&user->networks);
}

bool rule_has_host(const struct rule *rule, const struct flow_ends *ends)
{
	return address_set_has(&rule->host, ends->address[HALF_C2S]) ||
	       address_set_has(&rule->host, ends->address[HALF_S2C]);
}

bool rule_has_user(const struct rule *rule, uint32_t user)
{
	uint32_t low = 0, high = rule->n_users;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (rule->users[middle] < user)
			low = middle + 1;
		else
			high = middle;
	}
	return low < rule->n_users && rule->users[low] == user;
}

void policy_free(struct policy *policy)
{
	if (!policy)
		return;
	for (uint32_t i = 0; i < policy->n_rules; i++) {
		address_set_free(&policy->rules[i].source);
		address_set_free(&policy->rules[i].destination);
		address_set_free(&policy->rules[i].host);
		mac_set_free(&policy->rules[i].mac);
		free(policy->rules[i].comment);
		free(policy->rules[i].users);
		rule_content_free(policy->rules[i].content);
	}
	content_rules_free(policy->content);
	for (uint32_t i = 0; i < policy->n_ids; i++) {
		free(policy->ids[i].name);
		content_id_set_free(policy->ids[i].set);
	}
	free(policy->ids);
	for (uint32_t i = 0; i < policy->n_applications; i++)
		user_app_clear(&policy->applications[i]);
	for (uint32_t i = 0; i < policy->n_notes; i++) {
		free(policy->notes[i].name);
		free(policy->notes[i].comment);
		address_set_free(&policy->notes[i].addresses);
		mac_set_free(&policy->notes[i].macs);
	}
	free(policy->notes);
	free(policy->applications);
	user_apps_free(policy->user_apps);
	app_networks_free(&policy->app_networks);
	free(policy->user_signatures);
	free(policy->rules);
	free(policy->by_uid);
	address_set_free(&policy->conn_cache.exempt);
	timetable_free(&policy->times);
	user_map_free(&policy->users);
	for (unsigned i = 0; i < LCORES_MAX; i++)
		free(policy->counts[i]);
	free(policy);
}
