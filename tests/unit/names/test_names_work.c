// SPDX-License-Identifier: BSD-3-Clause
// A packet of many names: what the rules say of an application is asked once, not for each of them.
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <cmocka.h>
#include "lib/peers/names_talk.h"
#include "pipeline/stage/packet_rules.h"

#define MOST 8 // names of three applications

static unsigned asked;

// The linker puts these in the place of calls, by --wrap.
bool __real_packet_app_is_blocked(struct lcore *lcore, const struct packet_ctx *ctx, uint16_t app,
	enum confidence confidence);
bool __wrap_packet_app_is_blocked(struct lcore *lcore, const struct packet_ctx *ctx, uint16_t app,
	enum confidence confidence);

bool __wrap_packet_app_is_blocked(
	struct lcore *lcore, const struct packet_ctx *ctx, uint16_t app, enum confidence confidence)
{
	asked++;
	return __real_packet_app_is_blocked(lcore, ctx, app, confidence);
}

static void many_names_are_asked_for_once(void **state)
{
	static const char *const names[] = {
		"Host:a@b\n", "Host:allowed.example\n", "x://b@c ", "GET x://allowed.example "};
	(void)state;

	for (unsigned i = 0; i < 4; i++) {
		struct names_talk c = names_talk_begin(1400);
		char text[1400];
		size_t n = 0, length = strlen(names[i]);

		names_talk_open(&c);
		names_talk_say(&c, HALF_C2S, FIRST, sizeof(FIRST) - 1);
		names_talk_say(&c, HALF_C2S, "\n", 1); // a line's end that servers differ in
		for (; n + length < sizeof(text) - 40; n += length)
			memcpy(text + n, names[i], length);
		n += (size_t)snprintf(
			text + n, sizeof(text) - n, " HTTP/1.1\r\nHost: plain.example\r\n\r\n");
		asked = 0;
		names_talk_say(&c, HALF_C2S, text, n);
		if (!asked || asked > MOST)
			fail_msg("%s: rules were asked %u times", names[i], asked);
		assert_false(c.reset);
		names_talk_say(&c, HALF_C2S, BLOCKED, sizeof(BLOCKED) - 1);
		assert_true(c.reset);
		names_talk_end(&c);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(many_names_are_asked_for_once),
	};

	return cmocka_run_group_tests(tests, names_talk_setup, names_talk_teardown);
}
