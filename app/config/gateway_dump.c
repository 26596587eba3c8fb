// SPDX-License-Identifier: BSD-3-Clause
// A gateway's configuration changed by --set, written, compared.
#include <string.h>
#include "config/gateway_fields.h"

#define OVERRIDE_KEY_MAX 256

static void override_error(const struct json_doc *doc, const char *set, const char *what)
{
	config_error_add(doc->errors, "--set", "", "\"%s\": %s", set, what);
}

// The place in an array: "0" .. n-1. Returns false if `word` is none.
static bool array_index(const json_t *array, const char *word, size_t *index)
{
	size_t value = 0;

	if (!*word || strlen(word) > 4)
		return false;
	for (; *word; word++) {
		if (*word < '0' || *word > '9')
			return false;
		value = value * 10 + (size_t)(*word - '0');
	}
	*index = value;
	return value < json_array_size(array);
}

static json_t *override_value(const char *text)
{
	json_t *value =
		json_loads(text, JSON_DECODE_ANY | JSON_REJECT_DUPLICATES, &(json_error_t){0});

	return value ? value : json_string(text);
}

// One step down; missing objects are made. NULL: `word` leads nowhere.
static json_t *override_step(json_t *node, const char *word)
{
	json_t *next = NULL;
	size_t index;

	if (json_is_array(node))
		return array_index(node, word, &index) ? json_array_get(node, index) : NULL;
	if (!json_is_object(node))
		return NULL;
	next = json_object_get(node, word);
	if (next)
		return next;
	return json_object_set_new(node, word, json_object()) < 0 ? NULL
								  : json_object_get(node, word);
}

void gateway_override(const struct json_doc *doc, const char *set)
{
	const char *equals = strchr(set, '=');
	char key[OVERRIDE_KEY_MAX], *word = key, *dot;
	json_t *node = doc->root;
	size_t index;
	int rc = -1;

	if (!equals || equals == set || (size_t)(equals - set) >= sizeof key) {
		override_error(doc, set, "expected KEY=VALUE, as in limits.flows=100000");
		return;
	}
	memcpy(key, set, (size_t)(equals - set));
	key[equals - set] = 0;
	while (node && (dot = strchr(word, '.'))) {
		*dot = 0;
		node = override_step(node, word);
		word = dot + 1;
	}
	if (json_is_object(node) && *word)
		rc = json_object_set_new(node, word, override_value(equals + 1));
	else if (json_is_array(node) && array_index(node, word, &index))
		rc = json_array_set_new(node, index, override_value(equals + 1));
	if (rc < 0)
		override_error(doc, set,
			"no such key: dots go down into objects, numbers into arrays, as in "
			"ports.0.mtu=9000");
}

static int put(json_t *object, const char *key, json_t *value)
{
	return json_object_set_new(object, key, value); // fails for NULL
}

static json_t *cpus_json(const unsigned *cpus, unsigned n)
{
	json_t *array = json_array();

	for (unsigned i = 0; array && i < n; i++) {
		if (json_array_append_new(array, json_integer(cpus[i])) < 0) {
			json_decref(array);
			return NULL;
		}
	}
	return array;
}

static json_t *ports_json(const struct gateway *gateway)
{
	json_t *array = json_array();

	for (unsigned i = 0; array && i < gateway->n_ports; i++) {
		const struct gateway_port *port = &gateway->ports[i];
		json_t *object =
			json_pack("{s:s, s:s}", "name", port->name, "device", port->device);
		json_t *rest = json_fields_dump(gateway_port_fields, port);
		int rc = object && rest ? json_object_update(object, rest) : -1;

		json_decref(rest);
		if (rc < 0) {
			json_decref(object);
			json_decref(array);
			return NULL;
		}
		json_array_append_new(array, object);
	}
	return array;
}

static json_t *pairs_json(const struct gateway *gateway)
{
	json_t *array = json_array();

	for (unsigned i = 0; array && i < gateway->n_pairs; i++) {
		const struct gateway_pair *pair = &gateway->pairs[i];

		if (json_array_append_new(
			    array, json_pack("{s:s, s:s, s:s}", "inside", pair->inside, "outside",
					   pair->outside, "mode", gateway_pair_modes[0])) < 0) {
			json_decref(array);
			return NULL;
		}
	}
	return array;
}

static json_t *words_json(char *const *words, unsigned n)
{
	json_t *array = json_array();

	for (unsigned i = 0; array && i < n; i++) {
		if (json_array_append_new(array, json_string(words[i])) < 0) {
			json_decref(array);
			return NULL;
		}
	}
	return array;
}

char *gateway_dump(const struct gateway *gateway)
{
	json_t *root = json_object(), *lcores = json_object(), *rest, *impairment;
	char *text = NULL;
	int rc;

	rc = put(lcores, "data", cpus_json(gateway->data_cpus, gateway->n_data));
	rc |= put(lcores, "scan", cpus_json(gateway->scan_cpus, gateway->n_scan));
	rc |= put(lcores, "control", json_integer(gateway->control_cpu));
	rc |= put(root, "schema_version", json_integer(1));
	rc |= put(root, "eal", words_json(gateway->eal, gateway->n_eal));
	rc |= put(root, "ports", ports_json(gateway));
	rc |= put(root, "pairs", pairs_json(gateway));
	rc |= put(root, "lcores", lcores);
	rest = json_fields_dump(gateway_fields, gateway);
	rc |= rest ? json_object_update(root, rest) : -1;
	json_decref(rest);
	rc |= put(json_object_get(root, "scan"), "script", gateway_scan_script_json(gateway));
	impairment = json_object_get(root, "impairment");
	rc |= put(impairment, "to_inside", gateway_link_json(&gateway->impairment.to_inside));
	rc |= put(impairment, "to_outside", gateway_link_json(&gateway->impairment.to_outside));
	rc |= put(json_object_get(root, "hook"), "command",
		gateway->hook.n_command ? words_json(gateway->hook.command, gateway->hook.n_command)
					: json_null());
	if (!rc)
		text = json_dumps(root, JSON_INDENT(2) | JSON_REAL_PRECISION(15));
	json_decref(root);
	return text;
}

static bool same_words(char *const *a, unsigned n_a, char *const *b, unsigned n_b)
{
	if (n_a != n_b)
		return false;
	for (unsigned i = 0; i < n_a; i++)
		if (strcmp(a[i], b[i]) != 0)
			return false;
	return true;
}

static const char *ports_difference(const struct gateway *a, const struct gateway *b)
{
	if (a->n_ports != b->n_ports)
		return "ports";
	for (unsigned i = 0; i < a->n_ports; i++) {
		const struct gateway_port *x = &a->ports[i], *y = &b->ports[i];
		const struct json_field *field;

		if (strcmp(x->name, y->name) != 0)
			return "ports[].name";
		if (strcmp(x->device, y->device) != 0)
			return "ports[].device";
		field = json_fields_difference(gateway_port_fields, x, y);
		if (field)
			return field->name;
	}
	return NULL;
}

static const char *pairs_difference(const struct gateway *a, const struct gateway *b)
{
	if (a->n_pairs != b->n_pairs)
		return "pairs";
	for (unsigned i = 0; i < a->n_pairs; i++) {
		if (strcmp(a->pairs[i].inside, b->pairs[i].inside) != 0)
			return "pairs[].inside";
		if (strcmp(a->pairs[i].outside, b->pairs[i].outside) != 0)
			return "pairs[].outside";
	}
	return NULL;
}

static bool same_cpus(const unsigned *a, unsigned n_a, const unsigned *b, unsigned n_b)
{
	return n_a == n_b && memcmp(a, b, n_a * sizeof *a) == 0;
}

const char *gateway_restart_difference(const struct gateway *now, const struct gateway *then)
{
	const struct json_field *field;
	const char *name;

	if (!same_words(now->eal, now->n_eal, then->eal, then->n_eal))
		return "eal";
	if (!same_words(now->hook.command, now->hook.n_command, then->hook.command,
		    then->hook.n_command))
		return "hook.command";
	name = gateway_scan_difference(now, then);
	if (!name)
		name = ports_difference(now, then);
	if (!name)
		name = pairs_difference(now, then);
	if (name)
		return name;
	if (!same_cpus(now->data_cpus, now->n_data, then->data_cpus, then->n_data))
		return "lcores.data";
	if (!same_cpus(now->scan_cpus, now->n_scan, then->scan_cpus, then->n_scan))
		return "lcores.scan";
	if (now->control_cpu != then->control_cpu)
		return "lcores.control";
	name = gateway_impairment_difference(now, then);
	if (name)
		return name;
	field = json_fields_difference(gateway_fields, now, then);
	return field ? field->name : NULL;
}
