// SPDX-License-Identifier: BSD-3-Clause
// Parses filters of lists, and formats what the entries of lists have in common.
#include "control/ctl/list_filter.h"

#include "base/address_text.h"
#include "control/ctl/arguments.h"
#include "control/event/eve.h"
#include "pipeline/wire/realm.h"

bool list_filter_read(struct request *request, json_t *arguments, struct filter *filter)
{
	uint64_t limit = 100, offset = 0;

	*filter = (struct filter){.has_app = argument_given(arguments, "app")};
	if (!arguments_known(request, arguments) ||
		!argument_app(request, arguments, "app", &filter->app) ||
		!argument_number(request, arguments, "limit", 1, LIST_FILTER_LIMIT_MAX, &limit) ||
		!argument_number(
			request, arguments, "offset", 0, LIST_FILTER_OFFSET_MAX, &offset) ||
		!argument_hosts(request, arguments, "host", &filter->hosts, &filter->has_host)) {
		list_filter_free(filter);
		return false;
	}
	filter->limit = (uint32_t)limit;
	filter->offset = (uint32_t)offset;
	return true;
}

void list_filter_free(struct filter *filter)
{
	address_set_free(&filter->hosts);
}

bool list_filter_matches(
	const struct filter *filter, uint16_t app, const uint8_t one[16], const uint8_t other[16])
{
	if (filter->has_app && app != filter->app)
		return false;
	return !filter->has_host || address_set_has(&filter->hosts, one) ||
	       address_set_has(&filter->hosts, other);
}

void put_address(json_t **parent, const char *key, const uint8_t address[16])
{
	char text[ADDRESS_TEXT_BYTES];

	address_text(address, text);
	put_text(parent, key, text);
}

void put_proto(json_t **parent, uint8_t l4_proto)
{
	char number[4];

	put_text(parent, "proto", eve_proto(l4_proto, number));
}

void put_app(json_t **parent, const struct control_context *context, uint16_t app,
	uint8_t confidence, uint16_t signature, unsigned decided_pkts)
{
	const struct sigdb *db = reload_sigdb(context->reload);
	const struct app_proto *proto = app_names_get(reload_apps(context->reload), app);
	json_t *object;

	if (!proto)
		return;
	object = json_object();
	put_text(parent, "app_proto", proto->name);
	put_text(&object, "name", proto->name);
	put_text(&object, "category", app_category_word(proto->category));
	if (proto->group)
		put_text(&object, "group", proto->group);
	if (confidence != CONFIDENCE_NONE) // not kept of a blocked flow
		put_text(&object, "confidence", confidence_word(confidence));
	if (decided_pkts)
		put_number(&object, "decided_pkts", decided_pkts);
	if (db && sigdb_get(db, signature))
		put_text(&object, "signature", sigdb_get(db, signature)->id);
	put_json(parent, "app", object);
}

void put_rule(json_t **parent, const struct control_context *context, uint32_t uid)
{
	const char *id = uid ? rule_names_get(context->names, uid) : NULL;

	if (id)
		put_text(parent, "rule", id);
}

void put_user(json_t **parent, const struct control_context *context, uint32_t uid)
{
	const char *name = uid ? rule_names_get(context->names, uid) : NULL;

	if (name)
		put_text(parent, "user", name);
}

void put_realm(json_t **parent, uint32_t realm)
{
	int session = realm_session(realm);
	uint16_t tags[2];
	unsigned n = realm_tags(realm, tags);

	if (n > 0)
		put_number(parent, "vlan", tags[0]);
	if (n > 1)
		put_number(parent, "inner_vlan", tags[1]);
	if (session >= 0)
		put_number(parent, "pppoe_session", (uint64_t)session);
	if (realm & REALM_HASHED)
		put_number(parent, "realm", realm);
}

void put_time(json_t **parent, const char *key, uint64_t ns)
{
	char stamp[40];

	eve_timestamp(ns, stamp, sizeof stamp);
	put_text(parent, key, stamp);
}
