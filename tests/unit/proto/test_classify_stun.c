// SPDX-License-Identifier: BSD-3-Clause
// STUN and TURN, and the applications that their attributes are of.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <netinet/in.h>
#include <cmocka.h>
#include "lib/classify/classify_rig.h"
#include "classify/stun_message.h"
#include "classify/user_apps.h"

#define COOKIE "\x21\x12\xa4\x42"
#define ID     "abcdefghijkl"
#define OLD_ID "0123456789abcdef" // RFC 3489: 16 bytes

// RFC 5769 2.1: a request with everything.
static const char sample[] =
	"\x00\x01\x00\x58" COOKIE "\xb7\xe7\xa7\x01\xbc\x34\xd6\x86\xfa\x87\xdf\xae"
	"\x80\x22\x00\x10STUN test client"
	"\x00\x24\x00\x04\x6e\x00\x01\xff"
	"\x80\x29\x00\x08\x93\x2f\xf9\xb1\x51\x26\x3b\x36"
	"\x00\x06\x00\x09"
	"evtj:h6vY   "
	"\x00\x08\x00\x14\x9a\xea\xa7\x0c\xbf\xd8\xcb\x56\x78\x1e\xf2\xb5\xb2\xd3\xf2\x49\xc1\xb5"
	"\x71\xa2"
	"\x80\x28\x00\x04\xe5\x7a\x3b\xcf";

struct message {
	uint8_t bytes[600];
	size_t length;
};

static struct message message(uint16_t type, const char *id, size_t id_length)
{
	struct message m = {.length = STUN_HEADER_BYTES};

	m.bytes[0] = (uint8_t)(type >> 8);
	m.bytes[1] = (uint8_t)type;
	memcpy(m.bytes + STUN_HEADER_BYTES - id_length, id, id_length);
	if (id_length == 12)
		memcpy(m.bytes + 4, COOKIE, 4);
	return m;
}

static void put(struct message *m, uint16_t type, const void *value, size_t length)
{
	uint8_t *at = m->bytes + m->length;

	at[0] = (uint8_t)(type >> 8);
	at[1] = (uint8_t)type;
	at[2] = (uint8_t)(length >> 8);
	at[3] = (uint8_t)length;
	memset(at + 4, 0, (length + 3) & ~(size_t)3);
	memcpy(at + 4, value, length);
	m->length += 4 + ((length + 3) & ~(size_t)3);
	m->bytes[2] = (uint8_t)((m->length - STUN_HEADER_BYTES) >> 8);
	m->bytes[3] = (uint8_t)(m->length - STUN_HEADER_BYTES);
}

static const char *first(struct rig *rig, const struct message *m)
{
	return rig_first(rig, IPPROTO_UDP, HALF_C2S, m->bytes, m->length);
}

// A message with a cookie and one attribute more.
static const char *with(
	struct rig *rig, uint16_t type, uint16_t attribute, const void *value, size_t length)
{
	struct message m = message(type, ID, 12);

	put(&m, 0x0019, "\x11\0\0\0", 4);
	put(&m, attribute, value, length);
	return first(rig, &m);
}

static void test_sample(void **state)
{
	struct rig *rig = rig_new();
	struct rig_flow flow = rig_flow(rig, IPPROTO_UDP, 40000, 50000);
	uint8_t bytes[sizeof(sample)];
	struct stun_message parsed;

	(void)state;
	rig_feed(&flow, 0, LITERAL(sample));
	assert_string_equal(rig_app(&flow), "stun");
	assert_int_equal(flow.verdict.confidence, CONFIDENCE_VERIFIED);
	assert_int_equal(flow.verdict.n_data_pkts, 1);
	assert_false(flow.verdict.final); // what it opens may follow
	rig_end(&flow);
	assert_true(stun_read((struct text){(const uint8_t *)sample, sizeof(sample) - 1}, &parsed));
	assert_int_equal(stun_fingerprint(&parsed), STUN_FINGERPRINT_RIGHT);
	// any bit of it is under the fingerprint
	for (size_t at = 20; at < sizeof(sample) - 9; at++) {
		memcpy(bytes, sample, sizeof(sample));
		bytes[at] ^= 0x10;
		if (!stun_read((struct text){bytes, sizeof(sample) - 1}, &parsed))
			continue; // its attributes no longer add up
		assert_int_equal(stun_fingerprint(&parsed), STUN_FINGERPRINT_WRONG);
	}
	rig_cuts(rig, IPPROTO_UDP, 0, LITERAL(sample), "stun");
	rig_random(rig, IPPROTO_UDP, LITERAL("\0\1\0\x58"), "stun");
	rig_random(rig, IPPROTO_UDP, sample, 8, "stun");
	rig_free(rig);
}

static void test_stream(void **state)
{
	struct rig *rig = rig_new();
	uint8_t framed[2 + sizeof(sample)] = {0, sizeof(sample) - 1};

	(void)state;
	memcpy(framed + 2, sample, sizeof(sample) - 1);
	assert_string_equal(rig_first(rig, IPPROTO_TCP, 0, LITERAL(sample)), "stun");
	assert_string_equal(rig_first(rig, IPPROTO_TCP, 0, framed, sizeof(framed) - 1), "stun");
	framed[1]++; // a frame of another length
	assert_string_equal(rig_first(rig, IPPROTO_TCP, 0, framed, sizeof(framed) - 1), "");
	rig_cuts(rig, IPPROTO_TCP, 0, LITERAL(sample), "stun");
	rig_free(rig);
}

// Lengths that do not add up, bits that must be clear, no cookie.
static void test_refused(void **state)
{
	static const struct {
		size_t at;
		uint8_t octet;
	} wrong[] = {{0, 0x40}, {0, 0x80}, {3, 0x57}, {3, 0x5c}, {4, 0x20}, {23, 0x11}, {23, 0xff}};
	struct rig *rig = rig_new();

	(void)state;
	for (unsigned i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		uint8_t bytes[sizeof(sample)];

		memcpy(bytes, sample, sizeof(sample));
		bytes[wrong[i].at] = wrong[i].octet;
		assert_string_equal(rig_first(rig, IPPROTO_UDP, 0, bytes, sizeof(sample) - 1), "");
	}
	rig_free(rig);
}

static void test_classic(void **state)
{
	struct rig *rig = rig_new();
	struct message m = message(STUN_BINDING, OLD_ID, 16);
	struct rig_flow flow = rig_flow(rig, IPPROTO_UDP, 40000, 3478);

	(void)state;
	// a request without attributes: on its port, and not for sure
	assert_string_equal(first(rig, &m), "");
	rig_feed(&flow, 0, m.bytes, m.length);
	assert_string_equal(rig_app(&flow), "stun");
	assert_int_equal(flow.verdict.confidence, CONFIDENCE_PARTIAL);
	rig_end(&flow);
	put(&m, STUN_CHANGE_REQUEST, "\0\0\0\6", 4);
	assert_string_equal(first(rig, &m), "stun");
	m = message(STUN_BINDING, OLD_ID, 16);
	put(&m, STUN_CHANGE_REQUEST, "\0\0\0\7", 4);
	assert_string_equal(first(rig, &m), "");
	m = message(STUN_BINDING_ANSWER, OLD_ID, 16);
	put(&m, STUN_MAPPED_ADDRESS, "\0\1\x12\x34\x0a\0\0\1", 8);
	put(&m, STUN_CHANGED_ADDRESS, "\0\1\x0d\x97\x0a\0\0\2", 8);
	assert_string_equal(first(rig, &m), "stun");
	rig_cuts(rig, IPPROTO_UDP, 0, m.bytes, m.length, "stun");
	put(&m, 0x0077, "what", 4);
	assert_string_equal(first(rig, &m), "");
	m = message(STUN_BINDING_ANSWER, OLD_ID, 16);
	put(&m, STUN_MAPPED_ADDRESS, "\0\3\x12\x34\x0a\0\0\1", 8);
	assert_string_equal(first(rig, &m), "");
	m = message(0x0104, OLD_ID, 16);
	put(&m, STUN_OLD_COOKIE, "\x72\xc6\x4b\xc6", 4);
	assert_string_equal(first(rig, &m), "stun");
	rig_random(rig, IPPROTO_UDP, LITERAL("\1\1\0\x0c"), "stun");
	rig_free(rig);
}

static void test_makers(void **state)
{
	static const uint8_t value[64];
	struct rig *rig = rig_new();

	(void)state;
	assert_string_equal(with(rig, STUN_ALLOCATE, 0x8008, "\0\0\0\6", 4), "teams");
	assert_string_equal(with(rig, STUN_BINDING, 0x8054, "1", 1), "teams");
	assert_string_equal(with(rig, STUN_BINDING_ANSWER, 0x8070, "\0\0\0\3", 4), "teams");
	assert_string_equal(with(rig, STUN_BINDING, 0x8095, value, 8), "teams");
	assert_string_equal(with(rig, STUN_ALLOCATE, 0x4000, value, 60), "whatsapp");
	assert_string_equal(with(rig, STUN_ALLOCATE, 0x4001, value, 60), "whatsapp");
	assert_string_equal(with(rig, 0x0103, 0x4002, value, 8), "whatsapp");
	assert_string_equal(with(rig, STUN_BINDING, 0xc003, value, 12), "webex");
	// of another length or method, or of libwebrtc: nobody's
	assert_string_equal(with(rig, STUN_BINDING, 0x8070, value, 8), "stun");
	assert_string_equal(with(rig, STUN_BINDING, 0x8095, value, 4), "stun");
	assert_string_equal(with(rig, STUN_BINDING, 0x4000, value, 60), "stun");
	assert_string_equal(with(rig, STUN_ALLOCATE, 0x4000, value, 4), "stun");
	assert_string_equal(with(rig, STUN_BINDING, 0x4001, value, 60), "stun");
	assert_string_equal(with(rig, STUN_ALLOCATE, 0x4001, value, 4), "stun");
	assert_string_equal(with(rig, STUN_BINDING, 0xc057, "\0\3\0\x0a", 4), "stun");
	rig_free(rig);
}

static void test_zoom(void **state)
{
	struct rig *rig = rig_new();
	struct message m = message(STUN_BINDING, OLD_ID, 16);

	(void)state;
	put(&m, 0x0101, "01234567890123456789", 20);
	assert_string_equal(first(rig, &m), "zoom");
	rig_cuts(rig, IPPROTO_UDP, 0, m.bytes, m.length, "zoom");
	m.bytes[30] = 'x';
	assert_string_equal(first(rig, &m), "");
	m = message(STUN_SECRET, OLD_ID, 16);
	put(&m, 0x0103, "\0\1\xff\x75\x50\xb4\xdc\xef", 8);
	assert_string_equal(first(rig, &m), "zoom");
	put(&m, 0x0103, "\0\1\xff\x75\x50\xb4\xdc\xef", 8);
	assert_string_equal(first(rig, &m), "");
	rig_free(rig);
}

static void test_realms(void **state)
{
	struct rig *rig = rig_new();
	struct user_apps *user = user_apps_new();
	uint16_t wiki = (uint16_t)(app_count() + 1);
	struct message m = message(0x0113, ID, 12);
	struct rig_flow flow = rig_flow(rig, IPPROTO_UDP, 40000, 3478);

	(void)state;
	assert_string_equal(with(rig, 0x0113, STUN_REALM, LITERAL("turner.facebook")), "messenger");
	assert_string_equal(with(rig, 0x0113, STUN_REALM, LITERAL("viber.com")), "viber");
	assert_string_equal(with(rig, 0x0113, STUN_REALM, LITERAL("turn.signal.org")), "signal");
	assert_string_equal(with(rig, 0x0113, STUN_REALM, LITERAL("notviber.com")), "stun");
	assert_string_equal(with(rig, 0x0113, STUN_REALM, LITERAL("viber.com.example")), "stun");
	assert_string_equal(with(rig, 0x0113, STUN_REALM, "", 0), "stun");
	// it is a name as any other: a policy's own application
	user_apps_add(user, wiki);
	assert_int_equal(user_apps_add_host(user, wiki, "wiki.example"), 0);
	rig_user_take(rig, user, NULL, 0);
	put(&m, STUN_REALM, LITERAL("turn.wiki.example"));
	rig_feed(&flow, 1, m.bytes, m.length);
	assert_int_equal(flow.verdict.app, wiki);
	assert_true(flow.verdict.final);
	rig_free(rig);
}

// DTLS behind it is what the flow is; and a flow that has nothing but STUN ends with its budget.
static void test_what_follows(void **state)
{
	static const char dtls[] = "\x16\xfe\xfd\0\0\0\0\0\0\0\0\0\x10"
				   "\1\0\0\4\0\0\0\0\0\0\0\4abcd";
	struct rig *rig = rig_new();
	struct rig_flow flow = rig_flow(rig, IPPROTO_UDP, 40000, 50000);

	(void)state;
	rig_feed(&flow, 0, LITERAL(sample));
	rig_feed(&flow, 1, LITERAL(sample));
	assert_string_equal(rig_app(&flow), "stun");
	rig_feed(&flow, 0, LITERAL(dtls));
	assert_string_equal(rig_app(&flow), "dtls");
	assert_int_equal(flow.verdict.n_data_pkts, 3);
	assert_true(flow.verdict.final);
	flow = rig_flow(rig, IPPROTO_UDP, 40000, 50000);
	for (unsigned i = 0; i < CLASSIFY_BUDGET_PKTS; i++) {
		assert_false(flow.verdict.final);
		rig_feed(&flow, i & 1, LITERAL(sample));
	}
	assert_true(flow.verdict.final);
	assert_string_equal(rig_app(&flow), "stun");
	assert_int_equal(flow.verdict.confidence, CONFIDENCE_VERIFIED);
	assert_int_equal(flow.verdict.n_data_pkts, 1);
	rig_free(rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sample),
		cmocka_unit_test(test_stream),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_classic),
		cmocka_unit_test(test_makers),
		cmocka_unit_test(test_zoom),
		cmocka_unit_test(test_realms),
		cmocka_unit_test(test_what_follows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
