// SPDX-License-Identifier: BSD-3-Clause
// "applications" as JSON again.
#include <netinet/in.h>
#include "control/policy/fields.h"

static json_t *regex_json(const struct signature *signature)
{
	const char *direction = signature->halves == 1 << HALF_C2S   ? "to_server"
				: signature->halves == 1 << HALF_S2C ? "to_client"
								     : "both";

	return json_pack("{s:s, s:s, s:s, s:b, s:i}", "pattern", signature->pattern, "protocol",
		signature->l4 == IPPROTO_UDP ? "udp" : "tcp", "direction", direction, "caseless",
		signature->caseless, "min_length", signature->min_length);
}

static json_t *regexes_json(const struct policy *policy, const struct user_app *user)
{
	json_t *array = json_array();
	int rc = array ? 0 : -1;

	for (uint32_t i = 0; i < user->n_signatures && !rc; i++)
		rc = json_array_append_new(
			array, regex_json(&policy->user_signatures[user->first_signature + i]));
	if (!rc)
		return array;
	json_decref(array);
	return NULL;
}

static json_t *hosts_json(const struct policy *policy, const struct user_app *user)
{
	json_t *array = json_array();
	int rc = array ? 0 : -1;
	uint16_t app;

	for (uint32_t i = 0; i < user->n_hosts && !rc; i++)
		rc = json_array_append_new(array,
			json_string(user_apps_host(policy->user_apps, user->first_host + i, &app)));
	if (!rc)
		return array;
	json_decref(array);
	return NULL;
}

static json_t *ports_json(const struct user_app *user)
{
	json_t *object = json_object();
	int rc = object ? 0 : -1;

	for (unsigned udp = 0; udp < 2 && !rc; udp++)
		if (user->n_ports[udp])
			rc = json_object_set_new(object, udp ? "udp" : "tcp",
				policy_ports_json(user->ports[udp], user->n_ports[udp]));
	if (!rc)
		return object;
	json_decref(object);
	return NULL;
}

static json_t *application_json(const struct policy *policy, const struct user_app *user)
{
	json_t *object = json_pack("{s:s, s:s}", "id", user->name, "category",
		app_category_word((enum app_category)user->category));
	int rc = object ? 0 : -1;

	if (user->title)
		rc |= json_object_set_new(object, "title", json_string(user->title));
	if (user->group)
		rc |= json_object_set_new(object, "group", json_string(user->group));
	if (user->n_signatures)
		rc |= json_object_set_new(object, "regex", regexes_json(policy, user));
	if (user->n_ports[0] || user->n_ports[1])
		rc |= json_object_set_new(object, "ports", ports_json(user));
	if (user->n_hosts)
		rc |= json_object_set_new(object, "sni", hosts_json(policy, user));
	if (user->has_networks)
		rc |= json_object_set_new(
			object, "networks", policy_list_json(policy, &user->networks));
	if (!rc)
		return object;
	json_decref(object);
	return NULL;
}

json_t *policy_applications_json(const struct policy *policy)
{
	json_t *array = json_array();
	int rc = array ? 0 : -1;

	for (uint32_t i = 0; i < policy->n_applications && !rc; i++)
		rc = json_array_append_new(
			array, application_json(policy, &policy->applications[i]));
	if (!rc)
		return array;
	json_decref(array);
	return NULL;
}
