// SPDX-License-Identifier: BSD-3-Clause
// Which flows or cache entries a list is to show, and what they have in common as JSON.
#ifndef SLUICE_LIST_FILTER_H
#define SLUICE_LIST_FILTER_H

#include "control/ctl/command.h"

#define LIST_FILTER_LIMIT_MAX 1000
// Of cache-list and what is like it: every replica's best (offset + limit) are sorted in one turn
// of the control core. With 16 lcores that takes 0.1 s.
#define LIST_FILTER_OFFSET_MAX 10000

struct filter {
	uint32_t limit;
	uint32_t offset;
	bool has_app;
	bool has_host;
	uint16_t app;
	struct address_set hosts; // either end
};

// Reads app, host, limit and offset. False: it is answered already.
bool list_filter_read(struct request *request, json_t *arguments, struct filter *filter);
void list_filter_free(struct filter *filter);
bool list_filter_matches(
	const struct filter *filter, uint16_t app, const uint8_t one[16], const uint8_t other[16]);

void put_address(json_t **parent, const char *key, const uint8_t address[16]);
void put_proto(json_t **parent, uint8_t l4_proto);
// "app_proto" and "app", as events have them.
void put_app(json_t **parent, const struct control_context *context, uint16_t app,
	uint8_t confidence, uint16_t signature, unsigned decided_pkts);
void put_rule(json_t **parent, const struct control_context *context, uint32_t uid);
void put_user(json_t **parent, const struct control_context *context, uint32_t uid);
// "vlan", "inner_vlan", "pppoe_session"; "realm" of one that is a hash: a number, the same for all
// that is in it. Nothing of an untagged network.
void put_realm(json_t **parent, uint32_t realm);
void put_time(json_t **parent, const char *key, uint64_t ns);

#endif
