// SPDX-License-Identifier: BSD-3-Clause
// Puts members into objects, and gives the object up when memory runs out.
#include "config/json_put.h"

void put_json(json_t **parent, const char *key, json_t *value)
{
	if (!*parent) {
		json_decref(value);
		return;
	}
	if (json_object_set_new(*parent, key, value) < 0) {
		json_decref(*parent);
		*parent = NULL;
	}
}

void put_item(json_t **list, json_t *value)
{
	if (!*list) {
		json_decref(value);
		return;
	}
	if (json_array_append_new(*list, value) < 0) {
		json_decref(*list);
		*list = NULL;
	}
}

void put_number(json_t **parent, const char *key, uint64_t value)
{
	put_json(parent, key, json_integer((json_int_t)value));
}

void put_text(json_t **parent, const char *key, const char *value)
{
	json_t *text = json_string(value);

	put_json(parent, key, text ? text : json_string("?"));
}

void put_bool(json_t **parent, const char *key, bool value)
{
	put_json(parent, key, json_boolean(value));
}
