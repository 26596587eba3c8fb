// SPDX-License-Identifier: BSD-3-Clause
// Reads and checks the arguments of a control command.
#include "control/ctl/arguments.h"

#include <errno.h>
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "control/event/eve.h"

static bool is_listed(const char *list, const char *key)
{
	size_t length = strlen(key);

	if (!length || strpbrk(key, ", "))
		return false;
	for (const char *at = list; (at = strstr(at, key)); at += length) {
		bool begins = at == list || at[-1] == ' ';

		if (begins && (at[length] == ',' || !at[length]))
			return true;
	}
	return false;
}

bool arguments_known(struct request *request, const json_t *arguments)
{
	const char *key;
	json_t *value;
	char text[128];

	// jansson's iterators want an object that may be changed
	json_object_foreach ((json_t *)(uintptr_t)arguments, key, value) {
		if (is_listed(request->command->arguments, key))
			continue;
		snprintf(text, sizeof text, "\"%.64s\" is none of them", key);
		request_fail_arguments(request, text);
		return false;
	}
	return true;
}

bool argument_given(const json_t *arguments, const char *key)
{
	return json_object_get(arguments, key) != NULL;
}

bool argument_text(
	struct request *request, const json_t *arguments, const char *key, const char **out)
{
	const json_t *value = json_object_get(arguments, key);

	if (!value)
		return true;
	if (!json_is_string(value)) {
		request_fail(request, "%s: expected a text", key);
		return false;
	}
	*out = json_string_value(value);
	return true;
}

bool argument_number(struct request *request, const json_t *arguments, const char *key,
	uint64_t min, uint64_t max, uint64_t *out)
{
	const json_t *value = json_object_get(arguments, key);
	json_int_t number = json_integer_value(value);

	if (!value)
		return true;
	if (!json_is_integer(value) || number < 0 || (uint64_t)number < min ||
		(uint64_t)number > max) {
		request_fail(request, "%s is a number, %llu to %llu", key, (unsigned long long)min,
			(unsigned long long)max);
		return false;
	}
	*out = (uint64_t)number;
	return true;
}

bool argument_flag(struct request *request, const json_t *arguments, const char *key, bool *out)
{
	const json_t *value = json_object_get(arguments, key);

	if (!value)
		return true;
	if (!json_is_boolean(value)) {
		request_fail(request, "%s is true or false", key);
		return false;
	}
	*out = json_is_true(value);
	return true;
}

bool argument_word(struct request *request, const json_t *arguments, const char *key,
	const char *const *words, unsigned *out)
{
	const char *text = NULL;
	char list[256] = "";
	size_t length = 0;

	if (!argument_text(request, arguments, key, &text))
		return false;
	if (!text)
		return true;
	for (unsigned i = 0; words[i]; i++) {
		if (!strcmp(words[i], text)) {
			*out = i;
			return true;
		}
		int n = snprintf(
			list + length, sizeof list - length, "%s%s", i ? ", " : "", words[i]);

		if (n > 0 && (size_t)n < sizeof list - length)
			length += (size_t)n;
	}
	request_fail(request, "%s: \"%.64s\" is none of %s", key, text, list);
	return false;
}

bool argument_address(
	struct request *request, const json_t *arguments, const char *key, uint8_t out[16])
{
	const char *text = NULL;
	uint8_t address[16] = {[10] = 0xff, [11] = 0xff};

	if (!argument_text(request, arguments, key, &text))
		return false;
	if (!text)
		return true;
	if (inet_pton(AF_INET, text, address + 12) != 1 &&
		inet_pton(AF_INET6, text, address) != 1) {
		request_fail(
			request, "%s: \"%.64s\" is no address (10.0.0.1, 2001:db8::1)", key, text);
		return false;
	}
	memcpy(out, address, 16);
	return true;
}

// IP has no protocol 255 (reserved), nor would 0 be one of a flow.
#define PROTO_MAX 254

static bool proto_named(const char *text, uint8_t *out)
{
	char number[4];

	for (unsigned proto = 1; proto <= PROTO_MAX; proto++) {
		if (strcasecmp(eve_proto((uint8_t)proto, number), text) == 0) {
			*out = (uint8_t)proto;
			return true;
		}
	}
	return false;
}

bool argument_hosts(struct request *request, const json_t *arguments, const char *key,
	struct address_set *out, bool *given)
{
	const char *text = NULL;

	if (!argument_text(request, arguments, key, &text))
		return false;
	*given = text != NULL;
	int rc = text ? address_set_add(out, text) : 0;

	if (!rc) {
		address_set_seal(out);
		return true;
	}
	if (rc == -ERANGE)
		request_fail(request, "%s: \"%.64s\" has bits beyond its prefix", key, text);
	else if (rc == -ENOMEM)
		request_fail(request, "no memory");
	else
		request_fail(request,
			"%s: \"%.64s\" is neither an address nor a network "
			"(10.0.0.1, 10.0.0.0/8, 2001:db8::/32)",
			key, text);
	return false;
}

bool argument_proto(struct request *request, const json_t *arguments, const char *key, uint8_t *out)
{
	const json_t *value = json_object_get(arguments, key);
	uint64_t number = 0;

	if (json_is_integer(value)) {
		if (!argument_number(request, arguments, key, 1, PROTO_MAX, &number))
			return false;
		*out = (uint8_t)number;
		return true;
	}
	const char *text = NULL;
	char copy[8];

	if (!argument_text(request, arguments, key, &text))
		return false;
	if (!text || proto_named(text, out))
		return true;
	// "6": the number of one that has a name
	snprintf(copy, sizeof copy, "%.7s", text);
	char *end;
	unsigned long n = strtoul(copy, &end, 10);

	if (copy[0] >= '1' && copy[0] <= '9' && !*end && n <= PROTO_MAX) {
		*out = (uint8_t)n;
		return true;
	}
	request_fail(request, "%s: \"%.64s\" is no protocol (TCP, UDP, ICMP, 47)", key, text);
	return false;
}

bool argument_flow_id(struct request *request, const json_t *arguments, uint64_t *out)
{
	const json_t *value = json_object_get(arguments, "flow_id");

	if (!value) {
		request_fail_arguments(request, "flow_id is missing");
		return false;
	}
	if (!json_is_integer(value) || json_integer_value(value) <= 0) {
		request_fail(
			request, "flow_id is a positive number, as flow-list and events show it");
		return false;
	}
	*out = (uint64_t)json_integer_value(value);
	return true;
}

bool argument_app(struct request *request, const json_t *arguments, const char *key, uint16_t *out)
{
	const char *name = NULL;

	if (!argument_text(request, arguments, key, &name))
		return false;
	*out = APP_NONE;
	if (!name || !strcmp(name, "unknown"))
		return true;
	*out = app_names_find(reload_apps(request->context->reload), name);
	if (*out != APP_NONE)
		return true;
	request_fail(request,
		"%s: no application \"%.64s\"; `sluice apps` and the policy's applications list "
		"them, "
		"\"unknown\" is for flows without one",
		key, name);
	return false;
}
