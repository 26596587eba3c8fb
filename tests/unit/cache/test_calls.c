// SPDX-License-Identifier: BSD-3-Clause
// Calls through the packet path: media that SIP announces are known with their second packet,
// others with their third, and none takes a state of the classifier; Discord's voice servers are
// learned where both ends have spoken, and media to them are Discord's. And Kad's nodes, though its
// request alone is a hint.
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include "lib/classify/classify_rig.h"
#include "lib/pipeline/pipe.h"
#include "pipeline/flow/table.h"

#define CLIENT 7
#define OTHER  8
#define SERVER 22

static struct rig *rig;

static struct signature signature(const char *id, const char *app, const char *pattern, bool verify)
{
	struct signature s = {.app = app_find(app),
		.l4 = IPPROTO_UDP,
		.halves = 3,
		.confidence = CONFIDENCE_DPI,
		.verify = verify,
		.dotall = true};

	snprintf(s.id, sizeof(s.id), "%s", id);
	snprintf(s.pattern, sizeof(s.pattern), "%s", pattern);
	return s;
}

static struct pipe *new_pipe(void)
{
	struct pipe *pipe = pipe_new(1, NULL);

	pipe_signatures(pipe, rig->db);
	return pipe;
}

static void say(
	struct pipe *pipe, struct pipe_packet ends, unsigned half, const void *bytes, size_t length)
{
	ends.proto = IPPROTO_UDP;
	ends.from_outside = half == HALF_S2C;
	ends.payload = bytes;
	ends.payload_length = (uint16_t)length;
	pipe_run(pipe, 0, &ends);
	pipe_turns(pipe);
}

// The flow with that client's port.
static const struct flow *flow_of(struct pipe *pipe, const struct pipe_packet *ends)
{
	struct flow_table *flows = pipe->dp.lcores[0]->flows;

	for (uint32_t i = 0; i < flow_table_usage(flows).flows_max; i++)
		if (flow_at(flows, i)->gen &&
			flow_cold_at(flows, i)->ends.port[HALF_C2S] == ends->sport)
			return flow_at(flows, i);
	fail_msg("there is no flow from port %u", ends->sport);
	return NULL;
}

static void rtp(struct pipe *pipe, struct pipe_packet ends, unsigned half, unsigned n)
{
	uint8_t bytes[172] = {0x80, 0, 0, (uint8_t)n, 0, 0, (uint8_t)n, 0, 1, 2, 3, (uint8_t)half};

	say(pipe, ends, half, bytes, sizeof(bytes));
}

static void must_be(struct pipe *pipe, const struct pipe_packet *ends, const char *app, int sure)
{
	const struct flow *flow = flow_of(pipe, ends);

	assert_int_equal(flow->app, sure ? app_find(app) : APP_NONE);
	assert_int_equal(flow->confidence, sure);
	assert_int_equal(flow->classify_state, CLASSIFY_NO_STATE);
}

static void media_that_nobody_announced(void **state)
{
	static const struct pipe_packet ends = {
		.client = CLIENT, .server = SERVER, .sport = 20000, .dport = 20002};
	static const int sure[] = {CONFIDENCE_NONE, CONFIDENCE_PARTIAL, CONFIDENCE_DPI};
	struct pipe *pipe = new_pipe();

	(void)state;
	for (unsigned n = 0; n < 3; n++) {
		rtp(pipe, ends, HALF_C2S, n);
		must_be(pipe, &ends, "rtp", sure[n]);
	}
	pipe_free(pipe);
}

#define SDP(last)                                                                           \
	"Call-ID: 1@a\r\nContent-Type: application/sdp\r\n\r\nv=0\r\nc=IN IP4 10.0.0." last \
	"\r\nm=audio 6000 RTP/AVP 0\r\n"

static void media_that_sip_announces(void **state)
{
	static const struct pipe_packet sip = {
		.client = CLIENT, .server = SERVER, .sport = 5060, .dport = 5060};
	static const struct pipe_packet media = {
		.client = CLIENT, .server = SERVER, .sport = 7000, .dport = 6000};
	static const struct pipe_packet reports = {
		.client = CLIENT, .server = SERVER, .sport = 7001, .dport = 6001};
	struct pipe *pipe = new_pipe();
	struct event event;

	(void)state;
	say(pipe, sip, HALF_C2S, LITERAL("INVITE sip:al@example.net SIP/2.0\r\n" SDP("7")));
	say(pipe, sip, HALF_S2C, LITERAL("SIP/2.0 200 OK\r\n" SDP("22")));
	assert_int_equal(pipe_stats(pipe).expectations_told, 2);
	say(pipe, media, HALF_C2S, LITERAL("keeps the way open"));
	must_be(pipe, &media, "rtp", CONFIDENCE_CACHE);
	rtp(pipe, media, HALF_C2S, 1); // a header that fits is no proof
	must_be(pipe, &media, "rtp", CONFIDENCE_PARTIAL);
	rtp(pipe, media, HALF_C2S, 2);
	must_be(pipe, &media, "rtp", CONFIDENCE_DPI);
	say(pipe, reports, HALF_C2S, LITERAL("\x80\xc9\x00\x01\1\2\3\0"));
	must_be(pipe, &reports, "rtp", CONFIDENCE_DPI);
	assert_false(pipe_event(pipe, 0, EVENT_TRANSFER, &event)); // a call is none
	pipe_free(pipe);
}

// Of one datagram so much is believed, and nothing of one that is no message of SIP.
static void announcements_are_bounded(void **state)
{
	static const struct pipe_packet sip = {
		.client = CLIENT, .server = SERVER, .sport = 5060, .dport = 5060};
	struct pipe *pipe = new_pipe();
	char many[1400] = "SIP/2.0 200 OK\r\nCall-ID: 1@a\r\nv=0\r\nc=IN IP4 10.0.0.22\r\n";

	(void)state;
	for (unsigned i = 0; i < 60; i++)
		snprintf(many + strlen(many), 22, "m=a %u RTP/AVP\r\n", 2000 + 2 * i);
	say(pipe, sip, HALF_C2S,
		LITERAL("INVITE sip:al@example.net SIP/2.0\r\nCall-ID: 1@a\r\n\r\n"));
	say(pipe, sip, HALF_S2C, strchr(many, 'v'), strlen(strchr(many, 'v')));
	assert_int_equal(pipe_stats(pipe).expectations_told, 0);
	say(pipe, sip, HALF_S2C, many, strlen(many));
	const struct stats stats = pipe_stats(pipe); // one client has a share of what is kept

	assert_int_equal(stats.expectations_told + stats.expectations_refused, 16);
	pipe_free(pipe);
}

static void ask_discord(struct pipe *pipe, struct pipe_packet ends, bool is_answered)
{
	uint8_t ask[74] = {0, 1, 0, 70, 0, 0, 0, 9}, answer[74] = {0, 2, 0, 70, 0, 0, 0, 9};

	memcpy(answer + 8, "10.0.0.7", 8);
	say(pipe, ends, HALF_C2S, ask, sizeof(ask));
	if (is_answered)
		say(pipe, ends, HALF_S2C, answer, sizeof(answer));
}

static void voice_servers_of_discord(void **state)
{
	static const struct pipe_packet asks = {
		.client = CLIENT, .server = SERVER, .sport = 20000, .dport = 50001};
	static const struct pipe_packet later = {
		.client = OTHER, .server = SERVER, .sport = 20001, .dport = 50001};
	static const struct pipe_packet beside = {
		.client = OTHER, .server = SERVER, .sport = 20002, .dport = 50002};
	static const struct pipe_packet noise = {
		.client = OTHER, .server = SERVER, .sport = 20003, .dport = 50001};

	(void)state;
	for (unsigned is_answered = 0; is_answered < 2; is_answered++) {
		struct pipe *pipe = new_pipe();

		ask_discord(pipe, asks, is_answered);
		must_be(pipe, &asks, "discord", CONFIDENCE_VERIFIED);
		assert_int_equal(pipe_stats(pipe).endpoints_learned, is_answered);
		for (unsigned n = 0; n < 3; n++) {
			rtp(pipe, later, HALF_C2S, n);
			rtp(pipe, beside, HALF_C2S, n);
		}
		must_be(pipe, &later, is_answered ? "discord" : "rtp",
			is_answered ? CONFIDENCE_CACHE : CONFIDENCE_DPI);
		must_be(pipe, &beside, "rtp", CONFIDENCE_DPI);
		assert_int_equal(pipe_stats(pipe).endpoints_wrong, 0);
		say(pipe, noise, HALF_C2S, LITERAL("no media at all"));
		must_be(pipe, &noise, "", CONFIDENCE_NONE);
		pipe_free(pipe);
	}
}

#define TARGET  "abcdefghij012345"
#define CONTACT TARGET "\x01\0\0\x0b\x40\x12\x36\x12\x08"

// A node of Kad that is asked where its request alone is a hint: its answer is one all the same,
// and to that request.
static void who_answers_a_hint(void **state)
{
	static const struct {
		const char *asked;
		unsigned learned; // the contact over UDP and TCP, who answers
	} rows[] = {{TARGET, 3}, {"bcdefghij0123456", 0}};
	static const struct pipe_packet ends = {
		.client = CLIENT, .server = SERVER, .sport = 20000, .dport = 20002};

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		struct pipe *pipe = new_pipe();
		char request[36];

		snprintf(request, sizeof(request), "\xe4\x21\x02%s" TARGET, rows[i].asked);
		say(pipe, ends, HALF_C2S, request, sizeof(request) - 1);
		assert_int_equal(flow_of(pipe, &ends)->confidence, CONFIDENCE_PARTIAL);
		say(pipe, ends, HALF_S2C, LITERAL("\xe4\x29" TARGET "\x01" CONTACT));
		must_be(pipe, &ends, "edonkey", CONFIDENCE_VERIFIED);
		assert_int_equal(pipe_stats(pipe).endpoints_learned, rows[i].learned);
		pipe_free(pipe);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(media_that_nobody_announced),
		cmocka_unit_test(media_that_sip_announces),
		cmocka_unit_test(announcements_are_bounded),
		cmocka_unit_test(voice_servers_of_discord),
		cmocka_unit_test(who_answers_a_hint),
	};
	const struct signature signatures[] = {
		signature("sip", "sip", "^(INVITE|SIP/2)", false),
		signature("discord", "discord", "^\\x00[\\x01\\x02]\\x00\\x46", true),
		signature("kad", "edonkey", "^\\xe4[\\x21\\x29]", true),
	};
	int failed;

	rig = rig_new_with(signatures, 3, 16);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	rig_free(rig);
	return failed;
}
