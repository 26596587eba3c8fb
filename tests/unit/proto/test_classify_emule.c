// SPDX-License-Identifier: BSD-3-Clause
// What eDonkey and Kad in clear tell of others, and eMule's obfuscation between clients by its
// shape.
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "lib/classify/canned_requests.h"
#include "lib/classify/classify_rig.h"
#include "classify/proto/edonkey/shape.h"

static struct rig *rig;

// ---- what is reported: a line each, "HOST:PORT/PROTO by FROM of HALF" ----

static char told[32768];

static void hear(void *ctx, const struct learned_endpoint *endpoint)
{
	size_t at = strlen(told);
	const uint8_t *a = endpoint->address;

	(void)ctx;
	snprintf(told + at, sizeof(told) - at, "%u.%u.%u.%u:%u/%u by %u of %u\n", a[12], a[13],
		a[14], a[15], endpoint->port, endpoint->l4_proto, endpoint->from, endpoint->half);
}

static struct asked asked; // requests that the answers of this file are to
static const struct decoder_sink sink = {.endpoint = hear, .asked = &asked};
static const struct flow_ends ends = {
	.address = {{[10] = 0xff, 0xff, 192, 0, 2, 1}, {[10] = 0xff, 0xff, 198, 51, 100, 2}},
	.port = {40000, 4672},
};

// A copy of exact size, so that a sanitizer sees one octet too far.
static int feed(uint32_t *state, uint8_t l4, unsigned half, uint64_t offset64, const void *bytes,
	size_t length, uint8_t flags)
{
	uint8_t *exact = malloc(length ? length : 1);
	int rc;

	assert_non_null(exact);
	memcpy(exact, bytes, length);
	const struct span span = {
		.offset64 = offset64,
		.unchecked = flags & SPAN_GAP ? NULL : exact,
		.extent = (uint32_t)length,
		.half = (uint8_t)half,
		.flags = (uint8_t)(flags | (l4 == IPPROTO_UDP ? SPAN_DATAGRAM : 0)),
	};
	rc = decoder_feed(rig->classifier, app_find("edonkey"), &ends, &span, state, &sink);
	free(exact);
	return rc;
}

static const char *datagram(const void *bytes, size_t length)
{
	uint32_t state = CLASSIFY_NO_STATE;

	told[0] = 0;
	canned_requests(rig->classifier, "edonkey", &ends, &asked);
	feed(&state, IPPROTO_UDP, HALF_S2C, 0, bytes, length, 0);
	assert_int_equal(state, CLASSIFY_NO_STATE);
	return told;
}

static const char *stream(const void *bytes, size_t length, size_t piece)
{
	uint32_t state = CLASSIFY_NO_STATE;

	told[0] = 0;
	canned_requests(rig->classifier, "edonkey", &ends, &asked);
	for (size_t at = 0; at < length; at += piece)
		feed(&state, IPPROTO_TCP, HALF_S2C, at, (const uint8_t *)bytes + at,
			length - at < piece ? length - at : piece, 0);
	classify_end(rig->classifier, &state);
	return told;
}

#define ID "abcdefghij012345"
#define CONTACT_1         \
	ID "\x01\0\0\x0b" \
	   "\x40\x12"     \
	   "\x36\x12\x08" // 11.0.0.1, 4672, 4662
#define CONTACT_2         \
	ID "\x02\0\0\x0b" \
	   "\x41\x12\x37\x12\x08"
#define SELF   "198.51.100.2:4672/17 by 0 of 1\n"
#define TOLD_1 "11.0.0.1:4672/17 by 0 of 1\n11.0.0.1:4662/6 by 0 of 1\n"
#define TOLD_2 "11.0.0.2:4673/17 by 0 of 1\n11.0.0.2:4663/6 by 0 of 1\n"

static void kad_nodes_list_contacts(void **state)
{
	(void)state;
	assert_string_equal(
		datagram(LITERAL("\xe4\x29" ID "\x02" CONTACT_1 CONTACT_2)), TOLD_1 TOLD_2 SELF);
	// it lists fewer than it says, and the last one is not whole
	assert_string_equal(datagram(LITERAL("\xe4\x29" ID "\xff" CONTACT_1 "abc")), TOLD_1 SELF);
	assert_string_equal(datagram(LITERAL("\xe4\x09" ID "\x36\x12\x08\x01\0" CONTACT_2)),
		"198.51.100.2:4662/6 by 0 of 1\n" TOLD_2 SELF);
	assert_string_equal(datagram(LITERAL("\xe4\x19" ID "\x36\x12\x08\0")),
		"198.51.100.2:4662/6 by 0 of 1\n" SELF);
	assert_string_equal(datagram(LITERAL("\xe4\x61\x40\x12")), SELF);
	// who asks may be anybody
	assert_string_equal(datagram(LITERAL("\xe4\x11" ID "\x36\x12\x08\0")), "");
	assert_string_equal(datagram(LITERAL("\xe4\x60")), "");
	// compressed, or none of Kad's: nothing
	assert_string_equal(datagram(LITERAL("\xe5\x29" ID "\x01" CONTACT_1)), "");
	assert_string_equal(datagram(LITERAL("\xe4")), "");
}

#define TAG_ADDRESS "\x03\x01\0\xfe\x03\0\0\x0b"
#define TAG_PORT    "\x08\x01\0\xfd\x36\x12"
#define TAG_UDP     "\x08\x01\0\xfc\x40\x12"
#define TAG_NAME    "\x02\x04\0name\x03\0abc"

static void kad_searches_find_sources(void **state)
{
	static const char found[] =
		"\xe4\x3b" ID ID "\x02\0" ID "\x04" TAG_NAME TAG_ADDRESS TAG_PORT TAG_UDP ID
		"\x01" TAG_PORT; // who hides its address is nobody

	(void)state;
	assert_string_equal(datagram(LITERAL(found)),
		"11.0.0.3:4662/6 by 0 of 1\n11.0.0.3:4672/17 by 0 of 1\n" SELF);
	for (size_t cut = 0; cut < sizeof(found) - 1; cut++)
		datagram(found, cut);
}

#define HASH   \
	"\xab" \
	"bcdefghijklmnop"
#define NO_TAGS "\0\0\0\0"

static void clients_and_servers_tell_over_tcp(void **state)
{
	static const char ports[] = "\xe3\x26\0\0\0\x4c" HASH "\x01\0\0\0\x36\x12\x02\0\0\0"
				    "\x83\xf9\x40\x12\x41\x12" // Kad's 4673, eMule's 4672
				    "\x11\x01\0\x01x";
	static const char hello[] =
		"\xe3\x22\0\0\0\x01\x10" HASH "\x01\0\0\0\x36\x12" NO_TAGS "\0\0\0\0\0\0";
	static const char answer[] =
		"\xe3\x21\0\0\0\x4c" HASH "\x01\0\0\0\x36\x12" NO_TAGS "\0\0\0\0\0\0";
	static const char found[] =
		"\xe3\x1e\0\0\0\x42" HASH "\x02\x0b\0\0\x04\x36\x12\x07\0\0\0\x36\x12";
	static const char hidden[] = "\xe3\x30\0\0\0\x44" HASH "\x02\x0b\0\0\x04\x36\x12\x83" HASH
				     "\x0b\0\0\x05\x36\x12\x01";
	static const char listed[] =
		"\xc5\x1f\0\0\0\x82" HASH "\x01\0\x0b\0\0\x06\x36\x12\0\0\0\0\0\0";
	static const char later[] =
		"\xc5\x31\0\0\0\x84\x04" HASH "\x01\0\x07\0\0\x0b\x36\x12\0\0\0\0\0\0" HASH "\x03";
	static const char all[] =
		"\xe3\x05\0\0\0\x46"
		"abcd\xc5\x01\0\0\0\x01"
		"\xe3\x1e\0\0\0\x42" HASH "\x02\x0b\0\0\x04\x36\x12\x07\0\0\0\x36\x12";

	(void)state;
	for (size_t piece = 1; piece < 60; piece += 7) {
		assert_string_equal(
			stream(LITERAL(hello), piece), "198.51.100.2:4662/6 by 3 of 1\n");
		assert_string_equal(
			stream(LITERAL(answer), piece), "198.51.100.2:4662/6 by 3 of 1\n");
		assert_string_equal(stream(LITERAL(ports), piece),
			"198.51.100.2:4662/6 by 3 of 1\n198.51.100.2:4673/17 by 3 of 1\n"
			"198.51.100.2:4672/17 by 3 of 1\n");
		// an id below 2^24 is no address
		assert_string_equal(stream(LITERAL(found), piece), "11.0.0.4:4662/6 by 1 of 1\n");
		assert_string_equal(stream(LITERAL(hidden), piece),
			"11.0.0.4:4662/6 by 1 of 1\n11.0.0.5:4662/6 by 1 of 1\n");
		assert_string_equal(stream(LITERAL(listed), piece), "11.0.0.6:4662/6 by 2 of 1\n");
		assert_string_equal(stream(LITERAL(later), piece), "11.0.0.7:4662/6 by 2 of 1\n");
		assert_string_equal(stream(LITERAL(all), piece), "11.0.0.4:4662/6 by 1 of 1\n");
	}
	assert_string_equal(stream(LITERAL("GET / HTTP/1.1\r\n\r\n"), 3), "");
}

// A hole in a part that nobody wants does no harm; any other loses the frames.
static void holes_are_survived_where_they_can_be(void **state)
{
	static const char part[] = "\xe3\x65\0\0\0\x46"; // 100 follow
	static const char found[] = "\xe3\x18\0\0\0\x42" HASH "\x01\x0b\0\0\x04\x36\x12";
	uint8_t nothing[106] = {0};
	uint32_t slot = CLASSIFY_NO_STATE;

	(void)state;
	for (unsigned hole = 100; hole <= 106; hole += 6) {
		told[0] = 0;
		feed(&slot, IPPROTO_TCP, HALF_S2C, 0, LITERAL(part), 0);
		feed(&slot, IPPROTO_TCP, HALF_S2C, 6, nothing, hole, SPAN_GAP);
		feed(&slot, IPPROTO_TCP, HALF_S2C, 6 + hole, LITERAL(found), 0);
		assert_string_equal(told, hole == 100 ? "11.0.0.4:4662/6 by 1 of 1\n" : "");
		classify_end(rig->classifier, &slot);
		slot = CLASSIFY_NO_STATE;
	}
}

static uint64_t seed = 1;

static uint8_t chance(void) // splitmix64
{
	uint64_t z = (seed += 0x9e3779b97f4a7c15ull);

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return (uint8_t)(z >> 56);
}

static void fill(uint8_t *bytes, size_t length)
{
	for (size_t i = 0; i < length; i++)
		bytes[i] = chance();
}

static void liars_are_bounded(void **state)
{
	uint8_t bytes[2048];

	(void)state;
	for (unsigned i = 0; i < 20000; i++) {
		static const uint8_t proto[] = {0xe3, 0xc5, 0xe4}, kad[] = {0x09, 0x11, 0x29, 0x3b};
		static const uint8_t tcp[] = {0x01, 0x4c, 0x42, 0x44, 0x82, 0x84};
		size_t length = 1 + chance() * 7u;

		fill(bytes, length);
		bytes[0] = proto[i % 3];
		bytes[1] = kad[chance() & 3];
		datagram(bytes, length);
		if (length > 6) {
			bytes[1] = (uint8_t)(length - 5);
			bytes[2] = (uint8_t)((length - 5) >> 8);
			bytes[3] = bytes[4] = 0;
			bytes[5] = tcp[i % 6];
		}
		stream(bytes, length, 1 + chance());
	}
	// of one message no more than 128 endpoints
	memcpy(bytes, "\xe4\x29" ID "\xff", 19);
	for (unsigned i = 0; 19 + 25 * (i + 1) < sizeof(bytes); i++)
		memcpy(bytes + 19 + 25 * i, CONTACT_1, 25);
	unsigned lines = 0;

	for (const char *at = datagram(bytes, sizeof(bytes)); *at; at++)
		lines += *at == '\n';
	assert_int_equal(lines, 128);
}

// ---- the shape ----

// Flights of chance of these lengths, client first, each in segments of `piece`; the application.
static const char *flights(uint16_t port, const unsigned lengths[4], unsigned piece, int first)
{
	struct rig_flow flow = rig_flow(rig, IPPROTO_TCP, 40000, port);
	uint8_t bytes[1460];
	static char app[32];

	for (unsigned i = 0; i < 4; i++) {
		fill(bytes, lengths[i]);
		if (!i && first >= 0)
			bytes[0] = (uint8_t)first;
		else if (!i)
			bytes[0] |= 1, bytes[0] &= 0x1f; // no marker
		for (unsigned at = 0; at < lengths[i] && !flow.verdict.final; at += piece)
			rig_feed(&flow, i & 1, bytes + at,
				lengths[i] - at < piece ? lengths[i] - at : piece);
	}
	snprintf(app, sizeof(app), "%s", rig_app(&flow));
	if (app[0])
		assert_int_equal(flow.verdict.confidence, CONFIDENCE_PARTIAL);
	rig_end(&flow);
	return app;
}

static unsigned times(uint16_t port, const unsigned lengths[4], unsigned piece, int first)
{
	unsigned n = 0;

	for (unsigned i = 0; i < 100; i++)
		n += !strcmp(flights(port, lengths, piece, first), "edonkey");
	return n;
}

static void obfuscation_between_clients_is_partial(void **state)
{
	static const unsigned shapes[][4] = {{12, 6, 94, 93}, {266, 95, 176, 175},
		{60, 260, 100, 133}, {100, 36, 100, 99}, {40, 200, 120, 600}};

	(void)state;
	for (unsigned i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
		assert_in_range(times(4662, shapes[i], 1460, -1), 90, 100);
		assert_in_range(times(4662, shapes[i], 100, -1), 90, 100);
	}
}

static void what_is_not_of_this_shape(void **state)
{
	static const unsigned others[][4] = {{11, 6, 94, 93}, {267, 50, 94, 93}, {60, 5, 94, 93},
		{60, 261, 94, 93}, {60, 60, 93, 93}, {60, 60, 177, 93}, {60, 60, 94, 79},
		{150, 150, 100, 100}}; // that may be MSE as well

	(void)state;
	for (unsigned i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		assert_int_equal(times(4662, others[i], 1460, -1), 0);
	static const unsigned good[4] = {60, 60, 100, 100};

	assert_int_equal(times(1023, good, 1460, -1), 0);
	assert_int_equal(times(4662, good, 1460, 0xe3), 0); // it would be in clear
	// what is short and has few values is no chance
	struct rig_flow flow = rig_flow(rig, IPPROTO_TCP, 40000, 4662);
	uint8_t bytes[100] = {1, 0, 0, 0, 5, 0, 2, 0, 0, 9, 0, 0};

	rig_feed(&flow, 0, bytes, 12);
	fill(bytes, sizeof(bytes));
	rig_feed(&flow, 1, bytes, 20);
	rig_feed(&flow, 0, bytes, 100);
	rig_feed(&flow, 1, bytes, 99);
	assert_string_equal(rig_app(&flow), "");
	rig_end(&flow);
}

static bool hidden(uint8_t l4, const uint8_t *bytes, uint32_t length, uint64_t offset64)
{
	const struct span span = {.unchecked = bytes, .extent = length, .offset64 = offset64};

	return edonkey_disguised(&span, l4);
}

static void known_endpoints_are_sent_what_looks_like_chance(void **state)
{
	uint8_t bytes[300];

	(void)state;
	fill(bytes, sizeof(bytes));
	bytes[0] = 0x11;
	assert_true(hidden(IPPROTO_TCP, bytes, 12, 0));
	assert_true(hidden(IPPROTO_TCP, bytes, 266, 0));
	assert_false(hidden(IPPROTO_TCP, bytes, 267, 0));
	assert_false(hidden(IPPROTO_TCP, bytes, 100, 1));
	assert_true(hidden(IPPROTO_UDP, bytes, 18, 0));
	assert_false(hidden(IPPROTO_UDP, bytes, 9, 0));
	assert_false(
		hidden(IPPROTO_UDP, (const uint8_t *)"hello, hello, hello, hello, hello", 33, 0));
	bytes[0] = 0xe4;
	assert_false(hidden(IPPROTO_UDP, bytes, 18, 0));
}

static int setup(void **state)
{
	(void)state;
	rig = rig_new();
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	rig_free(rig);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kad_nodes_list_contacts),
		cmocka_unit_test(kad_searches_find_sources),
		cmocka_unit_test(clients_and_servers_tell_over_tcp),
		cmocka_unit_test(holes_are_survived_where_they_can_be),
		cmocka_unit_test(liars_are_bounded),
		cmocka_unit_test(obfuscation_between_clients_is_partial),
		cmocka_unit_test(what_is_not_of_this_shape),
		cmocka_unit_test(known_endpoints_are_sent_what_looks_like_chance),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
