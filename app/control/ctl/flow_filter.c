// SPDX-License-Identifier: BSD-3-Clause
// Parses filters of live flows and matches flows against them.
#include "control/ctl/flow_filter.h"

#include <string.h>

#include "control/ctl/arguments.h"
#include "control/ctl/flow_group.h"
#include "pipeline/query.h"
#include "pipeline/policy/policy.h"

static const char *const state_words[] = {
	[FLOW_STATE_NEW] = "new",
	[FLOW_STATE_ESTABLISHED] = "established",
	[FLOW_STATE_CLOSED] = "closed",
	[FLOW_STATE_BLOCKED] = "condemned",
	NULL,
};
static const char *const action_words[] = {"pass", "drop", "reset", NULL};
static const char *const direction_words[] = {"outbound", "inbound", NULL};

enum flow_state_word flow_record_state(const struct flow_record *record)
{
	if (record->lru_class == FLOW_CLASS_BLOCKED)
		return FLOW_STATE_BLOCKED;
	if (record->lru_class == FLOW_CLASS_TCP_CLOSING)
		return FLOW_STATE_CLOSED;
	return record->pkts[HALF_C2S] && record->pkts[HALF_S2C] ? FLOW_STATE_ESTABLISHED
								: FLOW_STATE_NEW;
}

const char *flow_state_text(enum flow_state_word state)
{
	return state <= FLOW_STATE_BLOCKED ? state_words[state] : "?";
}

bool flow_filter_rule(struct request *request, const char *id, uint32_t *out)
{
	if (!strcmp(id, "default")) {
		*out = 0;
		return true;
	}
	*out = rule_names_find(request->context->names, id);
	if (*out)
		return true;
	request_fail(request,
		"rule: no policy since the start had a rule \"%.64s\"; \"default\" is for flows "
		"that no rule decided",
		id);
	return false;
}

bool flow_filter_user(struct request *request, const char *name, uint32_t *out)
{
	const struct policy *policy = reload_policy(request->context->reload);
	uint32_t user = policy ? user_map_named(&policy->users, name) : USER_NONE;

	if (user != USER_NONE) {
		*out = policy->users.users[user].uid;
		return true;
	}
	request_fail(request, "user: the policy in force has no user \"%.64s\"", name);
	return false;
}

static bool read_user(struct request *request, const json_t *arguments, struct flow_filter *filter)
{
	const char *name = NULL;

	if (!argument_text(request, arguments, "user", &name))
		return false;
	filter->has_user = name;
	return !name || !strcmp(name, FLOW_GROUP_NO_USER) ||
	       flow_filter_user(request, name, &filter->user_uid);
}

static bool read_confidence(
	struct request *request, const json_t *arguments, struct flow_filter *filter)
{
	const char *words[CONFIDENCE_VERIFIED + 2] = {0};
	unsigned confidence = 0;

	for (unsigned i = 0; i <= CONFIDENCE_VERIFIED; i++)
		words[i] = confidence_word((enum confidence)i);
	if (!argument_word(request, arguments, "confidence", words, &confidence))
		return false;
	filter->confidence = (uint8_t)confidence;
	return true;
}

static bool read_category(
	struct request *request, const json_t *arguments, struct flow_filter *filter)
{
	const char *words[APP_CATEGORY_OTHER + 2] = {0};

	for (unsigned i = 0; i <= APP_CATEGORY_OTHER; i++)
		words[i] = app_category_word((enum app_category)i);
	filter->has_category = argument_given(arguments, "category");
	return argument_word(request, arguments, "category", words, &filter->category);
}

static bool read_all(struct request *request, const json_t *arguments, struct flow_filter *filter)
{
	const char *rule = NULL;
	uint64_t port = 0;

	filter->has_app = argument_given(arguments, "app");
	filter->has_state = argument_given(arguments, "state");
	filter->has_action = argument_given(arguments, "action");
	filter->has_direction = argument_given(arguments, "direction");
	filter->has_elephant = argument_given(arguments, "elephant");
	if (!argument_app(request, arguments, "app", &filter->app) ||
		!read_category(request, arguments, filter) ||
		!argument_hosts(request, arguments, "host", &filter->hosts, &filter->has_host) ||
		!read_user(request, arguments, filter) ||
		!argument_number(request, arguments, "port", 1, UINT16_MAX, &port) ||
		!argument_proto(request, arguments, "proto", &filter->l4_proto) ||
		!argument_text(request, arguments, "rule", &rule) ||
		!argument_word(request, arguments, "state", state_words, &filter->state) ||
		!argument_word(request, arguments, "action", action_words, &filter->action) ||
		!read_confidence(request, arguments, filter) ||
		!argument_word(
			request, arguments, "direction", direction_words, &filter->direction) ||
		!argument_number(
			request, arguments, "min_bytes", 0, INT64_MAX, &filter->min_bytes) ||
		!argument_flag(request, arguments, "elephant", &filter->elephant))
		return false;
	filter->port = (uint16_t)port;
	filter->has_rule = rule;
	return !rule || flow_filter_rule(request, rule, &filter->rule_uid);
}

bool flow_filter_read(struct request *request, const json_t *arguments, struct flow_filter *filter)
{
	*filter = (struct flow_filter){.apps = reload_apps(request->context->reload)};
	if (read_all(request, arguments, filter))
		return true;
	flow_filter_free(filter);
	return false;
}

void flow_filter_free(struct flow_filter *filter)
{
	address_set_free(&filter->hosts);
}

static bool has_category(const struct flow_filter *filter, uint16_t app)
{
	const struct app_proto *proto = app_names_get(filter->apps, app);

	return proto && proto->category == (enum app_category)filter->category;
}

bool flow_filter_has(const struct flow_filter *filter, const struct flow_record *record)
{
	const struct flow_ends *ends = &record->ends;
	bool inbound = !(record->flags & FLOW_C2S_INSIDE);

	if (filter->has_app && record->app != filter->app)
		return false;
	if (filter->l4_proto && record->l4_proto != filter->l4_proto)
		return false;
	if (filter->port && ends->port[0] != filter->port && ends->port[1] != filter->port)
		return false;
	if (filter->has_rule && record->rule_uid != filter->rule_uid)
		return false;
	if (filter->has_user && record->user_uid != filter->user_uid)
		return false;
	if (filter->has_state && flow_record_state(record) != filter->state)
		return false;
	if (filter->has_action && record->action != filter->action)
		return false;
	if (record->confidence < filter->confidence)
		return false;
	if (filter->has_direction && inbound != filter->direction)
		return false;
	if (record->bytes[0] + record->bytes[1] < filter->min_bytes)
		return false;
	if (filter->has_elephant && !!(record->flags & FLOW_ELEPHANT) != filter->elephant)
		return false;
	if (filter->has_category && !has_category(filter, record->app))
		return false;
	return !filter->has_host || address_set_has(&filter->hosts, ends->address[0]) ||
	       address_set_has(&filter->hosts, ends->address[1]);
}
