// SPDX-License-Identifier: BSD-3-Clause
// One flow's way to a verdict, with signatures of the test's own: fasttrack stands for any
// application without a verifier, soulseek for one whose verifier asks for more.
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include "lib/classify/classify_rig.h"

static struct signature signature(const char *id, const char *app, uint8_t l4, const char *pattern)
{
	struct signature s = {
		.app = app_find(app),
		.l4 = l4,
		.halves = 3,
		.confidence = CONFIDENCE_DPI,
		.dotall = true,
	};

	snprintf(s.id, sizeof(s.id), "%s", id);
	snprintf(s.pattern, sizeof(s.pattern), "%s", pattern);
	return s;
}

#define PIERCE "\x05\0\0\0\0ABCD"
#define SHARES "\x04\0\0\0\x04\0\0\0"

enum {
	MORE,
	ABC,
	MAYBE,
	LATE,
	MIDDLE,
	LONG,
	ANSWER,
	DATAGRAM,
	N_SIGNATURES,
};

static struct rig *make(unsigned n_states)
{
	struct signature set[N_SIGNATURES] = {
		[MORE] = signature("more", "soulseek", IPPROTO_TCP, "^\\x05\\x00\\x00\\x00\\x00"),
		[ABC] = signature("abc", "fasttrack", IPPROTO_TCP, "^abc"),
		[MAYBE] = signature("maybe", "gnutella", IPPROTO_TCP, "^a"),
		[LATE] = signature("late", "fasttrack", IPPROTO_TCP, "^x{2000}y"),
		[MIDDLE] = signature("middle", "fasttrack", IPPROTO_TCP, "middle"),
		[LONG] = signature("long", "fasttrack", IPPROTO_TCP, "^long"),
		[ANSWER] = signature("answer", "fasttrack", IPPROTO_TCP, "^answer"),
		[DATAGRAM] = signature("datagram", "fasttrack", IPPROTO_UDP, "^datagram"),
	};

	set[MORE].verify = true;
	set[MAYBE].confidence = CONFIDENCE_PARTIAL;
	set[MIDDLE].midstream = true;
	set[LONG].min_length = 8;
	set[ANSWER].halves = 1 << HALF_S2C;
	return rig_new_with(set, N_SIGNATURES, n_states);
}

static void test_first_packet_takes_no_state(void **state)
{
	struct rig *rig = make(1);
	struct rig_flow flow = rig_flow(rig, IPPROTO_TCP, 40000, 50000);

	(void)state;
	rig_feed(&flow, 0, LITERAL("abcdef"));
	assert_true(flow.verdict.final);
	assert_int_equal(flow.verdict.signature, ABC);
	assert_int_equal(flow.verdict.confidence, CONFIDENCE_DPI);
	assert_int_equal(flow.verdict.n_data_pkts, 1);
	assert_int_equal(classifier_states_free(rig->classifier), 1);
	assert_int_equal(rig->work.scans, 1);
	// final is final: no more work
	rig_feed(&flow, 0, LITERAL("abcdef"));
	assert_int_equal(rig->work.scans, 1);
	// an unknown one takes its state with the first payload, not before
	struct rig_flow unknown = rig_flow(rig, IPPROTO_TCP, 40000, 50000);

	rig_feed(&unknown, 0, "", 0);
	assert_int_equal(classifier_states_free(rig->classifier), 1);
	rig_feed(&unknown, 0, LITERAL("?"));
	assert_int_equal(classifier_states_free(rig->classifier), 0);
	rig_end(&unknown);
	assert_int_equal(unknown.state, CLASSIFY_NO_STATE);
	rig_free(rig);
}

static void test_prefix_grows(void **state)
{
	struct rig *rig = make(1);
	struct rig_flow flow = rig_flow(rig, IPPROTO_TCP, 40000, 50000);

	(void)state;
	rig_feed(&flow, 0, LITERAL("q"));
	rig_end(&flow);
	flow = rig_flow(rig, IPPROTO_TCP, 40000, 50000);
	rig_feed(&flow, 1, LITERAL("an"));
	rig_feed(&flow, 0, LITERAL("z"));
	rig_feed(&flow, 1, LITERAL("swer"));
	assert_int_equal(flow.verdict.signature, ANSWER);
	assert_int_equal(flow.verdict.n_data_pkts, 3);
	// in the other half it is no answer
	assert_string_equal(rig_first(rig, IPPROTO_TCP, HALF_C2S, LITERAL("answer")), "gnutella");
	// a span that repeats known bytes adds only the others
	struct rig_flow again = rig_flow(rig, IPPROTO_TCP, 40000, 50000);

	rig_feed(&again, 1, LITERAL("answ"));
	rig_feed_span(&again, (struct span){.offset64 = 2,
				      .unchecked = (const uint8_t *)"swer",
				      .extent = 4,
				      .half = 1});
	assert_int_equal(again.verdict.signature, ANSWER);
	rig_free(rig);
}

static void test_min_length(void **state)
{
	struct rig *rig = make(1);
	struct rig_flow flow = rig_flow(rig, IPPROTO_TCP, 40000, 50000);

	(void)state;
	rig_feed(&flow, 0, LITERAL("long"));
	assert_string_equal(rig_app(&flow), "");
	rig_feed(&flow, 0, LITERAL("er.."));
	assert_string_equal(rig_app(&flow), "fasttrack");
	rig_free(rig);
}

static void test_partial_then_better(void **state)
{
	struct rig *rig = make(1);
	struct rig_flow flow = rig_flow(rig, IPPROTO_TCP, 40000, 50000);

	(void)state;
	rig_feed(&flow, 0, LITERAL("ab"));
	assert_string_equal(rig_app(&flow), "gnutella");
	assert_int_equal(flow.verdict.confidence, CONFIDENCE_PARTIAL);
	assert_false(flow.verdict.final);
	rig_feed(&flow, 0, LITERAL("c"));
	assert_string_equal(rig_app(&flow), "fasttrack");
	assert_int_equal(flow.verdict.n_data_pkts, 2);
	assert_true(flow.verdict.final);
	// without better, the partial answer stays at the end of the budget
	flow = rig_flow(rig, IPPROTO_TCP, 40000, 1214);
	for (unsigned i = 0; i < CLASSIFY_BUDGET_PKTS; i++)
		rig_feed(&flow, 0, LITERAL("a"));
	assert_true(flow.verdict.final && flow.verdict.gaveup);
	assert_string_equal(rig_app(&flow), "gnutella");
	assert_int_equal(flow.verdict.n_data_pkts, 1);
	rig_free(rig);
}

static void test_more_is_asked_again(void **state)
{
	struct rig *rig = make(1);
	struct rig_flow flow = rig_flow(rig, IPPROTO_TCP, 40000, 50000);

	(void)state;
	rig_feed(&flow, 0, LITERAL(PIERCE));
	assert_string_equal(rig_app(&flow), "");
	// the other half's packet does not confuse it
	rig_feed(&flow, 1, LITERAL("?"));
	assert_string_equal(rig_app(&flow), "");
	rig_feed(&flow, 0, LITERAL(SHARES));
	assert_string_equal(rig_app(&flow), "soulseek");
	assert_int_equal(flow.verdict.n_data_pkts, 3);
	// refused: counted
	flow = rig_flow(rig, IPPROTO_TCP, 40000, 50000);
	rig_feed(&flow, 0, LITERAL(PIERCE "\xff\xff\xff\xff\xff\xff\xff\xff"));
	assert_string_equal(rig_app(&flow), "");
	assert_int_equal(rig->work.refused, 1);
	rig_end(&flow);
	rig_free(rig);
}

// While a more specific signature asks for more, an answer is given but not final.
static void test_specific_holds_open(void **state)
{
	struct signature set[2] = {
		signature("specific", "soulseek", IPPROTO_TCP, "^\\x05\\x00\\x00\\x00\\x00"),
		signature("carrier", "fasttrack", IPPROTO_TCP, "^\\x05"),
	};
	struct rig_flow flow;
	struct rig *rig;

	(void)state;
	set[0].verify = true;
	for (unsigned reversed = 0; reversed < 2; reversed++) {
		// by rank where there is one: a reload changes indices, not ranks
		const struct signature swapped[2] = {set[1], set[0]};

		set[0].rank = 3;
		set[1].rank = 5;
		rig = rig_new_with(reversed ? swapped : set, 2, 1);
		flow = rig_flow(rig, IPPROTO_TCP, 40000, 50000);
		rig_feed(&flow, 0, LITERAL(PIERCE));
		assert_string_equal(rig_app(&flow), "fasttrack");
		assert_false(flow.verdict.final);
		rig_feed(&flow, 0, LITERAL(SHARES));
		assert_string_equal(rig_app(&flow), "soulseek");
		assert_true(flow.verdict.final);
		assert_int_equal(flow.verdict.n_data_pkts, 2);
		flow = rig_flow(rig, IPPROTO_TCP, 40000, 50000);
		rig_feed(&flow, 0, LITERAL(PIERCE));
		rig_feed(&flow, 0, LITERAL("\xff\xff\xff\xff\xff\xff\xff\xff"));
		assert_string_equal(rig_app(&flow), "fasttrack");
		assert_true(flow.verdict.final);
		assert_int_equal(flow.verdict.n_data_pkts, 1);
		rig_free(rig);
	}
}

// A carrier that was surer gives way to what rides on it, also when that is found later.
static void test_carrier_gives_way(void **state)
{
	struct signature set[2] = {
		signature("carried", "soulseek", IPPROTO_TCP, "^\\x05\\x00\\x00\\x00\\x00"),
		signature("carrier", "http", IPPROTO_TCP, "^\\x05"),
	};
	struct rig_flow flow;
	struct rig *rig;

	(void)state;
	assert_true(app_get(app_find("http"))->carrier);
	set[0].verify = true;
	rig = rig_new_with(set, 2, 1);
	flow = rig_flow(rig, IPPROTO_TCP, 40000, 50000);
	rig_feed(&flow, 0, LITERAL(PIERCE));
	assert_string_equal(rig_app(&flow), "http");
	flow.verdict.confidence = CONFIDENCE_VERIFIED;
	rig_feed(&flow, 0, LITERAL(SHARES));
	assert_string_equal(rig_app(&flow), "soulseek");
	assert_int_equal(flow.verdict.confidence, CONFIDENCE_DPI);
	assert_true(flow.verdict.final);
	rig_free(rig);
}

static void test_budget(void **state)
{
	struct rig *rig = make(1);
	struct rig_flow flow = rig_flow(rig, IPPROTO_TCP, 40000, 1214);
	static const uint8_t zeros[CLASSIFY_PREFIX_BYTES];

	(void)state;
	for (unsigned i = 1; i < CLASSIFY_BUDGET_PKTS; i++)
		rig_feed(&flow, i & 1, LITERAL("?"));
	assert_false(flow.verdict.final);
	rig_feed(&flow, 0, LITERAL("?"));
	assert_true(flow.verdict.final && flow.verdict.gaveup);
	assert_int_equal(flow.verdict.app, app_find("fasttrack"));
	assert_int_equal(flow.verdict.confidence, CONFIDENCE_PORT);
	assert_int_equal(flow.verdict.signature, UINT16_MAX);
	// bytes: both prefixes full
	flow = rig_flow(rig, IPPROTO_TCP, 40000, 50000);
	rig_feed(&flow, 0, zeros, sizeof(zeros));
	assert_false(flow.verdict.final);
	rig_feed(&flow, 1, zeros, sizeof(zeros));
	assert_true(flow.verdict.final && flow.verdict.gaveup);
	assert_int_equal(flow.verdict.app, APP_NONE);
	rig_free(rig);
}

static void test_prefix_end(void **state)
{
	struct rig *rig = make(1);
	struct rig_flow flow = rig_flow(rig, IPPROTO_TCP, 40000, 50000);
	uint8_t bytes[3000];

	(void)state;
	memset(bytes, 'x', sizeof(bytes));
	bytes[2000] = 'y';
	assert_string_equal(rig_first(rig, IPPROTO_TCP, 0, bytes, sizeof(bytes)), "fasttrack");
	rig_feed(&flow, 0, bytes, 1500);
	rig_feed(&flow, 0, bytes + 1500, 1500);
	assert_string_equal(rig_app(&flow), "fasttrack");
	// beyond the prefix nothing is looked at
	bytes[2000] = 'x';
	memcpy(bytes + 2500, "middle", 6);
	flow = rig_flow(rig, IPPROTO_TCP, 40000, 50000);
	rig_feed(&flow, 0, bytes, sizeof(bytes));
	assert_string_equal(rig_app(&flow), "");
	rig_end(&flow);
	rig_free(rig);
}

static void test_no_state_left(void **state)
{
	struct rig *rig = make(1);
	struct rig_flow first = rig_flow(rig, IPPROTO_TCP, 40000, 50000), second = first,
			third = first;

	(void)state;
	rig_feed(&first, 0, LITERAL("?"));
	rig_feed(&second, 0, LITERAL("?"));
	assert_true(second.verdict.final && second.verdict.nomem && !second.verdict.gaveup);
	// what its first packet decides needs none
	rig_feed(&third, 0, LITERAL("abc"));
	assert_string_equal(rig_app(&third), "fasttrack");
	rig_end(&first);
	rig_free(rig);
}

static void test_gap(void **state)
{
	struct rig *rig = make(1);
	struct rig_flow flow = rig_flow(rig, IPPROTO_TCP, 40000, 50000);

	(void)state;
	// what follows the hole would complete the pattern
	rig_feed(&flow, 1, LITERAL("an"));
	rig_feed_span(
		&flow, (struct span){.offset64 = 2, .extent = 2, .half = 1, .flags = SPAN_GAP});
	rig_feed_span(&flow, (struct span){.offset64 = 4,
				     .unchecked = (const uint8_t *)"swer",
				     .extent = 4,
				     .half = 1});
	assert_string_equal(rig_app(&flow), "gnutella"); // from the a, still
	// the other half is not touched by it
	rig_feed(&flow, 0, LITERAL("abc"));
	assert_string_equal(rig_app(&flow), "fasttrack");
	// at the very beginning: what follows may lie anywhere, where this one is not looked for
	flow = rig_flow(rig, IPPROTO_TCP, 40000, 50000);
	rig_feed_span(&flow, (struct span){.extent = 7, .flags = SPAN_GAP});
	rig_feed_span(&flow,
		(struct span){.offset64 = 7, .unchecked = (const uint8_t *)"abc", .extent = 3});
	assert_string_equal(rig_app(&flow), "");
	rig_end(&flow);
	rig_free(rig);
}

static void test_midstream(void **state)
{
	struct rig *rig = make(1);
	struct rig_flow flow = rig_flow(rig, IPPROTO_TCP, 40000, 50000);

	(void)state;
	flow.midstream = true;
	rig_feed(&flow, 0, LITERAL("abc"));
	assert_string_equal(rig_app(&flow), "");
	rig_feed(&flow, 0, LITERAL(" in the middle"));
	assert_int_equal(flow.verdict.signature, MIDDLE);
	// the span says it as well as the flow
	flow = rig_flow(rig, IPPROTO_TCP, 40000, 50000);
	rig_feed_span(&flow,
		(struct span){
			.unchecked = (const uint8_t *)"abc", .extent = 3, .flags = SPAN_MIDSTREAM});
	assert_string_equal(rig_app(&flow), "");
	rig_end(&flow);
	rig_free(rig);
}

static void test_datagrams(void **state)
{
	struct rig *rig = make(1);
	struct rig_flow flow = rig_flow(rig, IPPROTO_UDP, 40000, 1214);

	(void)state;
	for (unsigned i = 1; i < CLASSIFY_BUDGET_PKTS; i++) {
		rig_feed(&flow, i & 1, LITERAL("data"));
		assert_int_equal(flow.state, CLASSIFY_NO_STATE); // nobody remembers anything
	}
	assert_false(flow.verdict.final);
	rig_feed(&flow, 0, LITERAL("gram"));
	assert_true(flow.verdict.gaveup); // datagrams are not joined
	assert_int_equal(flow.verdict.confidence, CONFIDENCE_PORT);
	flow = rig_flow(rig, IPPROTO_UDP, 40000, 1214);
	rig_feed(&flow, 0, LITERAL("?"));
	rig_feed(&flow, 1, LITERAL("datagram"));
	assert_string_equal(rig_app(&flow), "fasttrack");
	assert_int_equal(flow.verdict.n_data_pkts, 2);
	rig_free(rig);
}

// An application that was expected (from another flow) gives way to what the payload says.
// A datagram that is too short for a signature neither asks its verifier nor ends its wait for the
// answer.
static void test_short_datagram_between(void **state)
{
	struct signature set[1] = {
		signature("ping", "mumble", IPPROTO_UDP, "^\\x00\\x00\\x00\\x00")};
	static const uint8_t ping[12] = {[4] = 1, [11] = 9}, stray[3] = {0, 0, 0};
	static const uint8_t pong[24] = {0, 1, 4, 0, 1, [11] = 9, [15] = 1, [19] = 5};

	(void)state;
	set[0].verify = true;
	set[0].min_length = 12;
	struct rig *rig = rig_new_with(set, 1, 1);
	struct rig_flow flow = rig_flow(rig, IPPROTO_UDP, 40000, 40001);

	rig_feed(&flow, HALF_S2C, stray, sizeof(stray)); // alone it is nothing
	assert_int_equal(classifier_states_free(rig->classifier), 1);
	rig_feed(&flow, HALF_C2S, ping, sizeof(ping));
	rig_feed(&flow, HALF_S2C, stray, sizeof(stray));
	rig_feed(&flow, HALF_C2S, stray, sizeof(stray));
	assert_string_equal(rig_app(&flow), "");
	rig_feed(&flow, HALF_S2C, pong, sizeof(pong));
	assert_string_equal(rig_app(&flow), "mumble");
	assert_true(flow.verdict.final);
	rig_end(&flow);
	rig_free(rig);
}

static void test_expected(void **state)
{
	struct rig *rig = make(1);
	struct rig_flow flow = rig_flow(rig, IPPROTO_TCP, 40000, 1214);

	(void)state;
	flow.verdict.app = app_find("gnutella");
	flow.verdict.confidence = CONFIDENCE_CACHE;
	struct rig_flow unknown = flow;

	rig_feed(&flow, 0, LITERAL("abc"));
	assert_string_equal(rig_app(&flow), "fasttrack");
	for (unsigned i = 0; i < CLASSIFY_BUDGET_PKTS; i++)
		rig_feed(&unknown, 0, LITERAL("?"));
	assert_int_equal(unknown.verdict.app, app_find("gnutella"));
	assert_int_equal(unknown.verdict.confidence, CONFIDENCE_CACHE);
	rig_free(rig);
}

struct lines {
	char text[4000];
};

static void on_line(void *ctx, unsigned half, const uint8_t *bytes, uint32_t length)
{
	struct lines *lines = ctx;
	size_t n = strlen(lines->text);

	snprintf(lines->text + n, sizeof(lines->text) - n, "%u:%.*s;", half,
		(int)(length < 20 ? length : 20), (const char *)bytes);
}

static void feed_line(struct decoder_state *decoder, struct lines *lines, unsigned half,
	const char *text, uint8_t flags)
{
	const struct span span = {.unchecked = (const uint8_t *)text,
		.extent = (uint32_t)strlen(text),
		.half = (uint8_t)half,
		.flags = flags};

	decoder_lines(decoder, &span, on_line, lines);
}

static void test_lines(void **state)
{
	static struct decoder_state decoder;
	struct lines lines = {""};
	char longest[APP_LINE_BYTES + 1];

	(void)state;
	feed_line(&decoder, &lines, 0, "one\r\ntwo\nth", 0);
	feed_line(&decoder, &lines, 1, "other\r", 0);
	feed_line(&decoder, &lines, 0, "ree\r\n\r\nfour", 0);
	feed_line(&decoder, &lines, 1, "\n", 0);
	assert_string_equal(lines.text, "0:one;0:two;0:three;0:;1:other;");
	lines.text[0] = '\0';
	feed_line(&decoder, &lines, 0, "lost", SPAN_GAP);
	feed_line(&decoder, &lines, 0, "rest\nfive\n", 0);
	assert_string_equal(lines.text, "0:five;");
	lines.text[0] = '\0';
	memset(longest, 'x', sizeof(longest));
	longest[sizeof(longest) - 1] = '\0';
	feed_line(&decoder, &lines, 0, longest, 0);
	feed_line(&decoder, &lines, 0, "y\nsix\n", 0);
	assert_string_equal(lines.text, "0:six;");
	lines.text[0] = '\0';
	feed_line(&decoder, &lines, 0, longest, 0);
	feed_line(&decoder, &lines, 0, "\n", 0);
	assert_string_equal(lines.text, "0:xxxxxxxxxxxxxxxxxxxx;");
}

static void expect_step(const struct classify_step *step, uint16_t signature, uint8_t answer,
	uint8_t confidence, const void *bytes, unsigned n_bytes, unsigned matched_to)
{
	assert_int_equal(step->kind, CLASSIFY_STEP_SIGNATURE);
	assert_int_equal(step->signature, signature);
	assert_int_equal(step->answer, answer);
	assert_int_equal(step->confidence, confidence);
	assert_int_equal(step->matched_to, matched_to);
	assert_int_equal(step->n_bytes, n_bytes);
	assert_memory_equal(step->bytes, bytes, n_bytes);
}

// What led to the verdict can be reported: which bytes, whose word, how sure.
static void test_steps(void **state)
{
	struct rig *rig = make(1);
	struct rig_flow flow = rig_flow(rig, IPPROTO_TCP, 40000, 50000);
	const struct classify_work none = {0};
	const struct classify_step *last;

	(void)state;
	rig_feed(&flow, 1, LITERAL("0123456789 the middle of it"));
	assert_int_equal(rig->work.n_steps, 1);
	expect_step(&rig->work.steps[0], MIDDLE, CLASSIFY_NO_VERIFIER, CONFIDENCE_DPI,
		LITERAL("56789 the middle"), 21);
	assert_int_equal(rig->work.steps[0].half, 1);
	assert_int_equal(rig->work.steps[0].looked_at, 27);
	assert_int_equal(rig->work.steps[0].app, app_find("fasttrack"));

	// asked three times: that it still wants more is reported once, then what it says in the
	// end
	rig->work = none;
	flow = rig_flow(rig, IPPROTO_TCP, 40000, 50000);
	rig_feed(&flow, 0, LITERAL(PIERCE));
	rig_feed(&flow, 1, LITERAL("?"));
	rig_feed(&flow, 0, LITERAL(SHARES));
	assert_true(flow.verdict.final);
	assert_int_equal(rig->work.n_steps, 2);
	expect_step(&rig->work.steps[0], MORE, VERIFY_MORE, CONFIDENCE_NONE,
		LITERAL("\x05\0\0\0\0"), 5);
	assert_int_equal(rig->work.steps[0].looked_at, 9);
	expect_step(
		&rig->work.steps[1], MORE, VERIFY_DPI, CONFIDENCE_DPI, LITERAL("\x05\0\0\0\0"), 5);
	assert_int_equal(rig->work.steps[1].looked_at, 17);

	// refused; then the port's guess at the end of the budget
	rig->work = none;
	flow = rig_flow(rig, IPPROTO_TCP, 40000, 6881);
	rig_feed(&flow, 0, LITERAL(PIERCE "\xff\xff\xff\xff\xff\xff\xff\xff"));
	assert_int_equal(rig->work.n_steps, 1);
	expect_step(
		&rig->work.steps[0], MORE, VERIFY_NO, CONFIDENCE_NONE, LITERAL("\x05\0\0\0\0"), 5);
	rig->work = none;
	for (unsigned i = 0; i < CLASSIFY_BUDGET_PKTS; i++)
		rig_feed(&flow, 1, LITERAL("?"));
	assert_true(flow.verdict.gaveup);
	last = &rig->work.steps[rig->work.n_steps - 1];
	assert_int_equal(last->kind, CLASSIFY_STEP_PORT);
	assert_int_equal(last->app, app_find("bittorrent"));
	assert_int_equal(last->confidence, CONFIDENCE_PORT);
	// no more than there is room for
	assert_true(rig->work.n_steps <= CLASSIFY_STEPS_MAX);
	rig_end(&flow);
	rig_free(rig);
}

// Eight verifiers at most are asked again. What more signatures want more is not remembered, and
// nothing else is forgotten or made up for it: here nine, with numbers above 200.
static void test_more_than_can_wait(void **state)
{
	enum { N = 210, FIRST = 200 };
	static struct signature set[N];
	char text[32];

	(void)state;
	for (unsigned i = 0; i < N; i++) {
		snprintf(text, sizeof(text), "^never%u", i);
		set[i] = signature(text, i < FIRST ? "fasttrack" : "soulseek", IPPROTO_TCP,
			i < FIRST ? text : "^\\x05\\x00\\x00\\x00\\x00");
		set[i].verify = i >= FIRST;
	}
	struct rig *rig = rig_new_with(set, N - 1, 1);
	struct rig_flow flow = rig_flow(rig, IPPROTO_TCP, 40000, 50000);

	rig_feed(&flow, 0, LITERAL(PIERCE));
	assert_int_equal(rig->work.n_steps, CLASSIFY_STEPS_MAX); // each says that it wants more
	rig->work = (struct classify_work){0};
	rig_feed(&flow, 1, LITERAL("?"));
	assert_int_equal(rig->work.n_steps, 0); // that the eight still do is no news
	assert_int_equal(rig->work.refused, 0);
	assert_string_equal(rig_app(&flow), "");
	rig_feed(&flow, 0, LITERAL(SHARES));
	assert_string_equal(rig_app(&flow), "soulseek");
	assert_true(flow.verdict.signature >= FIRST);
	rig_free(rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_first_packet_takes_no_state),
		cmocka_unit_test(test_prefix_grows),
		cmocka_unit_test(test_min_length),
		cmocka_unit_test(test_partial_then_better),
		cmocka_unit_test(test_more_is_asked_again),
		cmocka_unit_test(test_specific_holds_open),
		cmocka_unit_test(test_carrier_gives_way),
		cmocka_unit_test(test_budget),
		cmocka_unit_test(test_prefix_end),
		cmocka_unit_test(test_no_state_left),
		cmocka_unit_test(test_gap),
		cmocka_unit_test(test_midstream),
		cmocka_unit_test(test_datagrams),
		cmocka_unit_test(test_short_datagram_between),
		cmocka_unit_test(test_expected),
		cmocka_unit_test(test_steps),
		cmocka_unit_test(test_lines),
		cmocka_unit_test(test_more_than_can_wait),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
