// SPDX-License-Identifier: BSD-3-Clause
#include "explained.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

json_t *explained_by_id(struct gate *gate, uint64_t flow_id)
{
	char text[64];

	snprintf(text, sizeof(text), "'flow_id':%llu", (unsigned long long)flow_id);
	return gate_ok(gate, "explain", text);
}

// Of the ends 10.0.0.CLIENT and 10.0.0.2.
json_t *explained_by_ends(struct gate *gate, uint32_t client, const char *more)
{
	char text[128];

	snprintf(text, sizeof(text), "'src_ip':'10.0.0.%u','dest_ip':'10.0.0.2'%s", client, more);
	return gate_ok(gate, "explain", text);
}

const char *explained_text(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : "(none)";
}

json_int_t explained_number(const json_t *object, const char *key)
{
	return json_integer_value(json_object_get(object, key));
}

void explained_expect_verdict(const json_t *explained, const char *outcome, const char *verdict)
{
	assert_string_equal(explained_text(explained, "verdict"), verdict);
	assert_string_equal(explained_text(explained, "outcome"), outcome);
}

// "flow_made signature decision": which, and in which order.
void explained_expect_evidence(const json_t *explained, const char *words)
{
	const json_t *list = json_object_get(explained, "evidence");
	char text[1024] = "";
	size_t i;
	json_t *piece;

	json_array_foreach (list, i, piece) {
		size_t length = strlen(text);

		snprintf(text + length, sizeof(text) - length, "%s%s", i ? " " : "",
			explained_text(piece, "what"));
		if (i)
			assert_true(strcmp(explained_text(json_array_get(list, i - 1), "at"),
					    explained_text(piece, "at")) <= 0);
	}
	assert_string_equal(text, words);
}

// The n-th piece (from 0) of that kind.
const json_t *explained_piece(const json_t *explained, const char *what, unsigned n)
{
	size_t i;
	json_t *piece;

	json_array_foreach (json_object_get(explained, "evidence"), i, piece) {
		if (!strcmp(explained_text(piece, "what"), what) && !n--)
			return piece;
	}
	fail_msg("no %s", what);
	return NULL;
}

// Members of a piece: "rule=no-p2p action=reset generation=1 final=true".
void explained_expect_piece(
	const json_t *explained, const char *what, unsigned n, const char *members)
{
	const json_t *piece = explained_piece(explained, what, n);
	char copy[512], *save = NULL;

	snprintf(copy, sizeof(copy), "%s", members);
	for (char *word = strtok_r(copy, " ", &save); word; word = strtok_r(NULL, " ", &save)) {
		char *value = strchr(word, '='), have[64] = "(none)";
		const json_t *member;

		*value++ = '\0';
		member = json_object_get(piece, word);
		if (json_is_string(member))
			snprintf(have, sizeof(have), "%s", json_string_value(member));
		else if (json_is_integer(member))
			snprintf(have, sizeof(have), "%lld", json_integer_value(member));
		else if (json_is_boolean(member))
			snprintf(have, sizeof(have), "%s", json_is_true(member) ? "true" : "false");
		if (strcmp(have, value))
			fail_msg("%s: %s is %s, not %s", what, word, have, value);
	}
}

void explained_handshake(struct gate *gate, uint32_t client, uint16_t sport)
{
	struct gate_tcp tcp = gate_connect(gate, client, sport, 6999);

	gate_send(gate, &tcp, false, gate_handshake, HANDSHAKE_BYTES);
}
