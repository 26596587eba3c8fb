// SPDX-License-Identifier: BSD-3-Clause
// The name in a hello of DTLS, in the forms that servers take (asked: OpenSSL 3.0, GnuTLS 3.7),
// with a policy's own application at wiki.example.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <netinet/in.h>
#include <cmocka.h>
#include "lib/classify/classify_rig.h"
#include "lib/packet/quic_craft.h"
#include "classify/user_apps.h"

#define WIKI ((uint16_t)(app_count() + 1))

static struct rig *make(void)
{
	struct rig *rig = rig_new();
	struct user_apps *user = user_apps_new();

	user_apps_add(user, WIKI);
	assert_int_equal(user_apps_add_host(user, WIKI, "wiki.example"), 0);
	rig_user_take(rig, user, NULL, 0);
	return rig;
}

// A fragment of a hello in a record.
static size_t put_part(uint16_t version, uint8_t number, const uint8_t *body, size_t length,
	size_t offset, size_t part, uint8_t *out)
{
	const uint8_t head[25] = {22, (uint8_t)(version >> 8), (uint8_t)version, 0, 0, 0, 0, 0, 0,
		0, number, (uint8_t)((part + 12) >> 8), (uint8_t)(part + 12), 1, 0,
		(uint8_t)(length >> 8), (uint8_t)length, 0, number, 0, (uint8_t)(offset >> 8),
		(uint8_t)offset, 0, (uint8_t)(part >> 8), (uint8_t)part};

	memcpy(out, head, sizeof(head));
	memcpy(out + sizeof(head), body + offset, part);
	return sizeof(head) + part;
}

static size_t make_body(const char *name, uint16_t version, uint8_t *body)
{
	uint8_t hello[512];
	size_t length = quic_hello(name, 0, hello) - 4;

	memcpy(body, hello + 4, 35);
	body[0] = (uint8_t)(version >> 8);
	body[1] = (uint8_t)version;
	body[35] = 0; // no cookie
	memcpy(body + 36, hello + 4 + 35, length - 35);
	return length + 1;
}

// Asked: OpenSSL 3.0 (o), GnuTLS 3.7 (g).
static void forms_that_servers_take(void **state)
{
	static const struct {
		uint16_t record, hello;
		uint8_t first[16];
		size_t first_length, part;
	} forms[] = {
		{0xfefd, 0xfefd, {0}, 0, 0}, {0xfe00, 0xfefd, {0}, 0, 0},                   // o, g
		{0x0303, 0xfefd, {0}, 0, 0},                                                // g
		{0x0000, 0xfefd, {0}, 0, 0},                                                // g
		{0xfefd, 0xfe00, {0}, 0, 0},                                                // o, g
		{0xfefd, 0x0303, {0}, 0, 0},                                                // o, g
		{0xfefd, 0xffff, {0}, 0, 0},                                                // o, g
		{0xfefd, 0xfefd, {20, 0xfe, 0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1}, 14, 0}, // o
		{0xfefd, 0xfefd, {22, 0xfe, 0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, 13, 0},    // o
		{0xfefd, 0xfefd, {0}, 0, 1},                                                // o, g
		{0xfefd, 0xfefd, {0}, 0, 40},                                               // o, g
	};
	struct rig *rig = make();

	(void)state;
	for (unsigned i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		struct rig_flow flow = rig_flow(rig, IPPROTO_UDP, 40000, 4433);
		uint8_t body[512], out[1500];
		size_t length = make_body("en.wiki.example", forms[i].hello, body);
		size_t part = forms[i].part ? forms[i].part : length;

		for (size_t at = 0; at < length; at += part) {
			size_t here = length - at < part ? length - at : part;

			memcpy(out, forms[i].first, forms[i].first_length);
			rig_feed(&flow, HALF_C2S, out,
				forms[i].first_length + put_part(forms[i].record, 0, body, length,
								at, here,
								out + forms[i].first_length));
		}
		if (flow.verdict.app != WIKI)
			fail_msg("form %u: '%s'", i, rig_app(&flow));
		rig_end(&flow);
	}
	rig_free(rig);
}

// Behind a cookie, and when the ports are used again, another hello counts.
static void hellos_one_after_the_other(void **state)
{
	static const uint8_t server_hello[] = {22, 0xfe, 0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 14, 2, 0,
		0, 2, 0, 0, 0, 0, 0, 0, 0, 2, 0xfe, 0xfd};
	struct rig *rig = make();
	struct rig_flow flow = rig_flow(rig, IPPROTO_UDP, 40000, 4433);
	uint8_t body[512], out[1500];
	size_t length = make_body("other.example", 0xfefd, body);

	(void)state;
	rig_feed(&flow, HALF_C2S, out, put_part(0xfefd, 0, body, length, 0, length, out));
	assert_string_equal(rig_app(&flow), "dtls");
	length = make_body("en.wiki.example", 0xfefd, body);
	rig_feed(&flow, HALF_C2S, out, put_part(0xfefd, 1, body, length, 0, 60, out));
	rig_feed(&flow, HALF_C2S, out, put_part(0xfefd, 1, body, length, 60, length - 60, out));
	assert_int_equal(flow.verdict.app, WIKI);
	rig_feed(&flow, HALF_S2C, server_hello, sizeof(server_hello));
	assert_int_equal(flow.state, CLASSIFY_NO_STATE);
	length = make_body("other.example", 0xfefd, body);
	rig_feed(&flow, HALF_C2S, out, put_part(0xfefd, 0, body, length, 0, 60, out));
	rig_feed(&flow, HALF_S2C, server_hello, sizeof(server_hello));
	assert_true(flow.refused); // not whole
	body[50] ^= 1;
	rig_feed(&flow, HALF_C2S, out, put_part(0xfefd, 0, body, length, 0, length, out));
	assert_true(flow.refused); // another in the same place
	body[50] ^= 1;
	rig_feed(&flow, HALF_C2S, out, put_part(0xfefd, 0, body, length, 0, length, out));
	assert_string_equal(rig_app(&flow), "dtls");
	rig_end(&flow);
	rig_free(rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(forms_that_servers_take),
		cmocka_unit_test(hellos_one_after_the_other),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
