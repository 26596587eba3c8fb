// SPDX-License-Identifier: BSD-3-Clause
// Where media of calls will go: SDP in SIP over UDP and TCP, candidates of Jingle, and the voice
// servers of Discord. Each whole, in pieces, cut short, and with lies in it.
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "lib/classify/classify_rig.h"

static struct rig *rig;
static char told[2000]; // a line each: "ADDRESS:PORT from PEER"
static struct asked requests;

static void put(const char *text)
{
	size_t at = strlen(told);

	snprintf(told + at, sizeof(told) - at, "%s", text);
}

static void put_address(const uint8_t address[16])
{
	char text[40];

	if (address[10] == 0xff)
		snprintf(text, sizeof(text), "%u.%u.%u.%u", address[12], address[13], address[14],
			address[15]);
	else
		snprintf(text, sizeof(text), address[0] ? "six" : "any");
	put(text);
}

static void hear(void *ctx, const struct expectation *expectation)
{
	char text[40];

	(void)ctx;
	put_address(expectation->address);
	snprintf(text, sizeof(text), ":%u from ", expectation->port);
	put(text);
	put_address(expectation->peer);
	put("\n");
	assert_int_equal(expectation->l4_proto, IPPROTO_UDP);
	assert_int_equal(expectation->as, EXPECTED_MEDIA);
	assert_int_equal(expectation->app, app_find("rtp"));
	assert_false(expectation->claimed);
	assert_true(expectation->ttl_s > 0 && expectation->ttl_s <= 300);
}

static void hear_endpoint(void *ctx, const struct learned_endpoint *endpoint)
{
	char text[40];

	(void)ctx;
	put_address(endpoint->address);
	snprintf(text, sizeof(text), ":%u of %u\n", endpoint->port, endpoint->half);
	put(text);
	assert_int_equal(endpoint->l4_proto, IPPROTO_UDP);
}

static const struct decoder_sink sink = {
	.expect = hear, .endpoint = hear_endpoint, .asked = &requests};
// 10.0.0.7 and 192.0.2.22
static const struct flow_ends ends = {
	.address = {{[10] = 0xff, 0xff, 10, 0, 0, 7}, {[10] = 0xff, 0xff, 192, 0, 2, 22}},
	.port = {40000, 50060},
};

struct feed {
	const char *app;
	uint32_t state;
	uint64_t offset[2];
};

static void feed(struct feed *feed, unsigned half, uint8_t flags, const void *bytes, size_t length)
{
	uint8_t *exact = malloc(length ? length : 1);
	const struct span span = {.offset64 = feed->offset[half],
		.unchecked = exact,
		.extent = (uint32_t)length,
		.half = (uint8_t)half,
		.flags = flags};

	assert_non_null(exact);
	memcpy(exact, bytes, length);
	feed->offset[half] += length;
	decoder_feed(rig->classifier, app_find(feed->app), &ends, &span, &feed->state, &sink);
	free(exact);
}

static const char *datagram(const char *app, unsigned half, const void *bytes, size_t length)
{
	struct feed one = {.app = app};

	told[0] = 0;
	feed(&one, half, SPAN_DATAGRAM, bytes, length);
	assert_int_equal(one.state, CLASSIFY_NO_STATE);
	return told;
}

static const char *stream(const char *app, unsigned half, const char *text, size_t piece)
{
	struct feed one = {.app = app};
	size_t length = strlen(text);

	told[0] = 0;
	for (size_t at = 0; at < length; at += piece)
		feed(&one, half, 0, text + at, length - at < piece ? length - at : piece);
	classify_end(rig->classifier, &one.state);
	return told;
}

#define INVITE                                                \
	"INVITE sip:al@example.net SIP/2.0\r\n"               \
	"Via: SIP/2.0/UDP 10.0.0.7:5060\r\nm: <sip:me@x>\r\n" \
	"c: application/sdp\r\n\r\n"
#define BODY                                                      \
	"v=0\r\no=- 1 1 IN IP4 10.0.0.7\r\ns=-\r\n"               \
	"c=IN IP4 10.0.0.7\r\nt=0 0\r\n"                          \
	"m=audio 49170/2 RTP/AVP 0 8\r\na=rtpmap:0 PCMU/8000\r\n" \
	"m=video 0 RTP/AVP 31\r\n"                                \
	"m=video 51372 UDP/TLS/RTP/SAVPF 96\r\na=rtcp:53020\r\n"
#define TOLD                        \
	"10.0.0.7:49170 from any\n" \
	"10.0.0.7:49171 from any\n" \
	"10.0.0.7:51372 from any\n" \
	"10.0.0.7:51373 from any\n" \
	"10.0.0.7:53020 from any\n"

#define ANSWER "SIP/2.0 200 OK\ncall-id:  7@there\n"
#define OTHER  "SIP/2.0 200 OK\ni: 8@there\n"

// Each end asks the other one, who may then answer that call.
static void both_ask(void)
{
	memset(&requests, 0, sizeof(requests));
	for (unsigned half = 0; half < 2; half++)
		assert_string_equal(datagram("sip", half,
					    LITERAL("OPTIONS sip:k SIP/2.0\r\n"
						    "Call-ID: 7@there\r\n\r\n")),
			"");
}

static void sdp_says_where(void **state)
{
	static const char all[] = ANSWER BODY;

	(void)state;
	both_ask();
	assert_string_equal(datagram("sip", HALF_C2S, LITERAL(ANSWER BODY)), TOLD);
	assert_string_equal(datagram("sip", HALF_C2S, LITERAL(INVITE BODY)), ""); // a request
	assert_string_equal(datagram("sip", HALF_C2S, LITERAL(OTHER BODY)), "");  // nobody asked
	memset(requests.token, 0, sizeof(requests.token));
	assert_string_equal(datagram("sip", HALF_C2S, LITERAL(ANSWER BODY)), "");
	both_ask();
	for (size_t cut = 0; cut < sizeof(all); cut++)
		datagram("sip", HALF_C2S, all, cut); // the sanitizers look on
	for (size_t piece = 1; piece < 60; piece++)
		assert_string_equal(stream("sip", HALF_C2S, INVITE BODY, piece), TOLD);
	// the media's own address; an address that comes behind
	assert_string_equal(
		datagram("sip", HALF_S2C,
			LITERAL(ANSWER "v=0\nm=audio 6000 RTP/AVP 0\nc=IN IP4 192.0.2.22/127\n")),
		"192.0.2.22:6000 from any\n192.0.2.22:6001 from any\n");
	// somebody else's: only who hears it may go there
	assert_string_equal(
		datagram("sip", HALF_S2C,
			LITERAL(ANSWER "v=0\nc=IN IP4 198.51.100.9\nm=audio 6000 RTP/AVP 0\n")),
		"198.51.100.9:6000 from 10.0.0.7\n198.51.100.9:6001 from 10.0.0.7\n");
	// one's own from who speaks, of which nothing can come
	assert_string_equal(
		datagram("sip", HALF_S2C,
			LITERAL(ANSWER "v=0\nc=IN IP4 10.0.0.7\nm=audio 6000 RTP/AVP 0\n")),
		"");
	assert_string_equal(
		datagram("sip", HALF_S2C,
			LITERAL(ANSWER "v=0\nc=IN IP6 2001:db8::9\nm=audio 6000 RTP/AVP 0\n")),
		"six:6000 from 10.0.0.7\nsix:6001 from 10.0.0.7\n");
}

static void sdp_that_says_nothing(void **state)
{
	static const char *const bodies[] = {
		ANSWER "v=0\nm=audio 6000 RTP/AVP 0\n", // no address
		ANSWER "v=0\nc=IN IP4 example.net\nm=audio 6000 RTP/AVP 0\n",
		ANSWER "v=0\nc=IN IP5 10.0.0.7\nm=audio 6000 RTP/AVP 0\n",
		ANSWER "v=0\nc=NO IP4 10.0.0.7\nm=audio 6000 RTP/AVP 0\n",
		ANSWER "v=0\nc=IN IP4 10.0.0.7\nm=audio 0 RTP/AVP 0\n",
		ANSWER "v=0\nc=IN IP4 10.0.0.7\nm=audio 1022 RTP/AVP 0\n",
		ANSWER "v=0\nc=IN IP4 10.0.0.7\nm=audio 65535 RTP/AVP 0\n",
		ANSWER "v=0\nc=IN IP4 10.0.0.7\nm=audio 70000 RTP/AVP 0\n",
		ANSWER "v=0\nc=IN IP4 10.0.0.7\nm=audio x RTP/AVP 0\n",
		ANSWER "v=0\nc=IN IP4 10.0.0.7\nm=image 6000 udptl t38\n",
		ANSWER "v=0\nc=IN IP4 10.0.0.7\nm=message 6000 TCP/MSRP *\n",
		ANSWER "v=0\nc=IN IP4 10.0.0.7\na=rtcp:6001\n",            // of no media
		ANSWER "c=IN IP4 10.0.0.7\nv=0\nm=audio 6000 RTP/AVP 0\n", // of another description
		ANSWER "c=IN IP4\nm=\nm\n=\n",
	};

	(void)state;
	both_ask();
	assert_string_equal(datagram("sip", HALF_C2S, LITERAL(BODY)), ""); // no message of SIP
	for (unsigned i = 0; i < sizeof(bodies) / sizeof(bodies[0]); i++)
		assert_string_equal(datagram("sip", HALF_C2S, bodies[i], strlen(bodies[i])), "");
	assert_string_equal(
		datagram("sip", HALF_C2S,
			LITERAL(ANSWER "v=0\nc=IN IP4 10.0.0.7\nm=audio 6000 RTP/AVP 0\n"
				       "a=rtcp:7001 IN IP4 10.0.0.8\n")),
		"10.0.0.7:6000 from any\n10.0.0.7:6001 from any\n10.0.0.8:7001 from 192.0.2.22\n");
}

static void jingle_says_where(void **state)
{
#define CANDIDATE(ip, port, more) \
	"<candidate component='1' id='a' ip='" ip "' port='" port "' " more "type='host'/>"
	(void)state;
	for (size_t piece = 1; piece < 60; piece++)
		assert_string_equal(
			stream("xmpp", HALF_C2S,
				"<iq type='set'><jingle action='session-initiate' sid='a1'>"
				"<transport "
				"xmlns='urn:xmpp:jingle:transports:ice-udp:1'>" CANDIDATE(
					"10.0.0.7", "8998", "protocol='udp' ")
					CANDIDATE("10.0.0.7", "9000", "protocol='tcp' ") CANDIDATE(
						"10.0.0.7", "900", "protocol='udp' ")
						CANDIDATE("192.0.2.3", "45664", "protocol='udp' ")
							CANDIDATE("10.0.0.7", "13540",
								"") "</transport></jingle></iq>",
				piece),
			"10.0.0.7:8998 from any\n192.0.2.3:45664 from 10.0.0.7\n"
			"10.0.0.7:13540 from any\n");
	assert_string_equal(
		stream("xmpp", HALF_S2C, CANDIDATE("10.0.0.9", "8998", "protocol='udp' "), 1000),
		"10.0.0.9:8998 from 10.0.0.7\n");
}

// Type, length, SSRC, address, port.
static void discovery(uint8_t out[static 74], uint8_t type, uint8_t source, const char *address)
{
	memset(out, 0, 74);
	out[1] = type;
	out[3] = 70;
	out[7] = source;
	memcpy(out + 8, address, strlen(address));
	out[72] = 0xc3;
}

static void discord_servers(void **state)
{
	struct feed one = {.app = "discord"};
	uint8_t ask[74], answer[74];

	(void)state;
	memset(&requests, 0, sizeof(requests));
	told[0] = 0;
	discovery(ask, 1, 9, "");
	discovery(answer, 2, 8, "10.0.0.7");
	feed(&one, HALF_S2C, SPAN_DATAGRAM, answer, 74); // nobody has asked
	feed(&one, HALF_C2S, SPAN_DATAGRAM, ask, 74);
	feed(&one, HALF_S2C, SPAN_DATAGRAM, answer, 74); // to another question
	feed(&one, HALF_C2S, SPAN_DATAGRAM, answer, 74); // by who has asked
	discovery(answer, 2, 9, "10.0.0.7");
	for (size_t cut = 0; cut < 74; cut++)
		feed(&one, HALF_S2C, SPAN_DATAGRAM, answer, cut);
	discovery(answer, 2, 9, "voice");
	feed(&one, HALF_S2C, SPAN_DATAGRAM, answer, 74);
	assert_string_equal(told, "");
	discovery(answer, 2, 9, "10.0.0.7");
	feed(&one, HALF_S2C, SPAN_DATAGRAM, answer, 74);
	assert_string_equal(told, "192.0.2.22:50060 of 1\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sdp_says_where),
		cmocka_unit_test(sdp_that_says_nothing),
		cmocka_unit_test(jingle_says_where),
		cmocka_unit_test(discord_servers),
	};
	int failed;

	rig = rig_new_with(NULL, 0, 16);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	rig_free(rig);
	return failed;
}
