// SPDX-License-Identifier: BSD-3-Clause
// Flows by what they have in common: the host, user, application, rule or category that they are
// counted under (flow-list, top). Control core only.
#ifndef SLUICE_FLOW_GROUP_H
#define SLUICE_FLOW_GROUP_H

#include "control/ctl/command.h"
#include "control/stats/group_by.h"
#include "pipeline/query.h"

#define FLOW_GROUP_NO_USER "(none)" // of addresses that are no user's

enum flow_group {
	FLOW_GROUP_HOST,
	FLOW_GROUP_USER,
	FLOW_GROUP_APP,
	FLOW_GROUP_RULE,
	FLOW_GROUP_CATEGORY,
	FLOW_GROUPS_MAX
};
#define FLOW_GROUP_WORDS "host", "user", "app", "rule", "category"

// Of a host: the address of that end.
struct group_by_key flow_group_key(enum flow_group by, const struct app_names *apps,
	const struct flow_record *record, enum half end);
// Of what has a number: a user or a rule by its uid.
struct group_by_key flow_group_number_key(uint32_t number);
// The end that is inside.
enum half flow_group_inside(const struct flow_record *record);
// The key as text, under `name`.
void flow_group_put(json_t **parent, const char *name, const struct control_context *context,
	enum flow_group by, const struct group_by_key *key);
// Flows, bytes, rate and packets of a row.
void flow_group_put_sums(json_t **parent, const struct group_by_row *sums);

enum flow_group_order { FLOW_GROUP_BY_RATE, FLOW_GROUP_BY_BYTES, FLOW_GROUP_BY_FLOWS };
// The best `limit` keys as a list of {"key", sums}; what was not told apart comes last as
// "other". Where what is asked for is the same, more bytes come first.
json_t *flow_group_rows(const struct control_context *context, enum flow_group by,
	enum flow_group_order order, uint32_t limit, const struct group_by *group_by);

#endif
