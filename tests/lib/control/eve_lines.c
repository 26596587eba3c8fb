// SPDX-License-Identifier: BSD-3-Clause
#include "eve_lines.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include "pipeline/event/event.h"

json_t *lines_read(const char *path)
{
	json_t *list = json_array();
	FILE *file = fopen(path, "r");
	char *line = NULL;
	size_t size = 0;
	ssize_t n;

	assert_non_null(file);
	while ((n = getline(&line, &size, file)) > 0) {
		json_error_t error;
		json_t *object;

		assert_int_equal(line[n - 1], '\n');
		object = json_loads(line, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &error);
		if (!object)
			fail_msg("%s: %s", error.text, line);
		json_array_append_new(list, object);
	}
	free(line);
	fclose(file);
	return list;
}

json_t *at(json_t *object, const char *path)
{
	char copy[64], *part = copy, *dot;

	snprintf(copy, sizeof copy, "%s", path);
	while ((dot = strchr(part, '.'))) {
		*dot = '\0';
		object = json_object_get(object, part);
		part = dot + 1;
	}
	return json_object_get(object, part);
}

void has_text(json_t *object, const char *path, const char *text)
{
	const char *value = json_string_value(at(object, path));

	if (!value || strcmp(value, text) != 0)
		fail_msg("%s is %s, not %s", path, value ? value : "absent", text);
}

void has_number(json_t *object, const char *path, json_int_t number)
{
	json_t *value = at(object, path);

	if (!json_is_integer(value) || json_integer_value(value) != number)
		fail_msg("%s is %lld, not %lld", path, (long long)json_integer_value(value),
			(long long)number);
}

void has_not(json_t *object, const char *path)
{
	if (at(object, path))
		fail_msg("%s is there", path);
}

struct event event_of(enum event_type type)
{
	return (struct event){
		.now_ns = T0,
		.flow_id = 1234567890123,
		.generation = 7,
		.pcap_cnt = 42,
		.type = (uint8_t)type,
		.lcore = 1,
		.in_port = 0,
		.l4_proto = 6,
		.half = HALF_S2C,
		.action = ACTION_RESET,
		.mode = MODE_ENFORCE,
		.confidence = CONFIDENCE_VERIFIED,
		.n_vlan = 2,
		.vlan = {100, 4000},
		.n_data_pkts = 1,
		.app = 1,
		.signature = UINT16_MAX,
		.rule_uid = 1,
		.ends = fake_ends("10.0.0.1", 50000, "192.0.2.200", 6881),
	};
}
