// SPDX-License-Identifier: BSD-3-Clause
// Which live flows are meant: the filters that flow-list and top share (docs/control-socket.md,
// "Lists of flows"). All that are given must hold.
#ifndef SLUICE_FLOW_FILTER_H
#define SLUICE_FLOW_FILTER_H

#include "control/ctl/command.h"
#include "pipeline/query.h"
#include "pipeline/policy/address_set.h"

#define FLOW_FILTER_ARGUMENTS                                                                  \
	"app, category, host, user, port, proto, rule, state, action, confidence, direction, " \
	"min_bytes, "                                                                          \
	"elephant"

struct flow_filter {
	bool has_app, has_category, has_host, has_user, has_rule, has_state, has_action,
		has_direction, has_elephant;
	bool elephant;
	uint8_t l4_proto;   // 0: any
	uint8_t confidence; // at least
	uint16_t app;
	uint16_t port; // 0: any
	unsigned category;
	unsigned state;     // enum flow_state_word
	unsigned action;    // enum action
	unsigned direction; // 0 outbound, 1 inbound
	uint32_t rule_uid;
	uint32_t user_uid; // 0: addresses that are no user's
	uint64_t min_bytes;
	struct address_set hosts; // owned
	const struct app_names *apps;
};

// False: it is answered already, and nothing is left to free.
bool flow_filter_read(struct request *request, const json_t *arguments, struct flow_filter *filter);
// The uid of a rule, or of "default", 0. False: it is answered already.
bool flow_filter_rule(struct request *request, const char *id, uint32_t *out);
// The uid of a user of the policy in force. False: it is answered already.
bool flow_filter_user(struct request *request, const char *name, uint32_t *out);
void flow_filter_free(struct flow_filter *filter);
bool flow_filter_has(const struct flow_filter *filter, const struct flow_record *record);

// EVE's word for how far a flow has come.
enum flow_state_word flow_record_state(const struct flow_record *record);
const char *flow_state_text(enum flow_state_word state);

#endif
