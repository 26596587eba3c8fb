// SPDX-License-Identifier: BSD-3-Clause
// Messages and requests that are changed on their way, in the packet path: what cannot be changed,
// and what becomes of edits when the policy changes. (Segmentations and retransmissions:
// tests/golden/content_edit.test and content_request.test, tests/model/model_stream.c.)
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <cmocka.h>
#include "lib/pipeline/pipe_control.h"
#include "pipeline/content/state.h"

#define IP 14 // of a frame

#define DROPS                                                                            \
	"'rules':[{'id':'talk','match':{},'chat':[{'keyword':['secret'],'action':'drop-" \
	"message'}]}]"
#define MASKS "'rules':[{'id':'talk','match':{},'chat':[{'keyword':['secret'],'action':'mask'}]}]"
#define OTHER "'rules':[{'id':'other','match':{'app':['bittorrent']},'action':'reset'}]"

#define WHOLE "'rules':[{'id':'files','match':{},'ranges':'whole'}]"

static const char ask[] = "GET /a.bin HTTP/1.1\r\nHost: h\r\nRange: bytes=1-\r\n\r\n";
static const char changed[] = "GET /a.bin HTTP/1.1\r\nHost: h\r\nRangx: bytes=1-\r\n\r\n";
static const char line[] = "PRIVMSG #c :the secret word\r\n";
static const char masked[] = "PRIVMSG #c :the        word\r\n";

static struct gate *gate_with(const char *policy)
{
	struct lcore_limits limits = pipe_limits();

	limits.content = (struct content_limits){.flows = 8,
		.source_pct = 10,
		.turn_bytes = 64u << 10,
		.memory_bytes = 1,
		.arena_bytes = 1};
	return gate_new_with(1, &limits, policy);
}

static void let_go(struct gate *gate)
{
	pipe_advance(gate->pipe, 2000);
	gate_free(gate);
}

static struct gate_tcp talk(struct gate *gate, uint16_t sport)
{
	static const char login[] = "NICK anna\r\nUSER anna 0 * :Anna\r\n";
	static const char welcome[] = ":irc.example 001 anna :Welcome anna!a@h\r\n";
	struct gate_tcp tcp = gate_connect(gate, 1, sport, 6667);

	assert_int_equal(gate_send(gate, &tcp, false, login, strlen(login)), 1);
	assert_int_equal(gate_send(gate, &tcp, true, welcome, strlen(welcome)), 1);
	return tcp;
}

// Of the `n` frames that came out last.
static bool has(const struct gate *gate, unsigned n, const char *text)
{
	for (unsigned i = 0; i < n; i++)
		if (memmem(gate->pipe->sent[i].frame, gate->pipe->sent[i].length, text,
			    strlen(text)))
			return true;
	return false;
}

static void leaves_as(struct gate *gate, const struct pipe_packet *packet, const char *text)
{
	unsigned n = gate_run(gate, packet);

	assert_int_equal(n, 1);
	assert_true(has(gate, n, text));
}

static struct pipe_packet packet_of(const struct gate_tcp *tcp, const char *text)
{
	return (struct pipe_packet){.client = tcp->client,
		.sport = tcp->sport,
		.dport = tcp->dport,
		.seq = tcp->seq[0],
		.ack = tcp->seq[1],
		.payload = text,
		.payload_length = (uint16_t)strlen(text)};
}

// ---- a datagram ----

// Each datagram is a message.
static enum content_fed feed_datagram(
	void *state, const struct span *span, struct content_turn *turn)
{
	const struct content_message message = {.half = span->half,
		.text = {span_bytes(span), span_length(span)},
		.begins64 = span->offset64,
		.ends64 = span->offset64 + span->extent,
		.unit64 = span->offset64,
		.unit_ends64 = span->offset64 + span->extent};
	(void)state;

	turn->taken = span->extent;
	turn->sink->message(turn->sink->ctx, &message);
	return CONTENT_FED;
}

static void over(void *state, struct content_turn *turn)
{
	(void)state;
	(void)turn;
}

static const struct content_decoder datagrams = {.app = "tftp",
	.state_bytes = 16,
	.finds = CONTENT_FINDS_CHAT,
	.feed = feed_datagram,
	.over = over};

static unsigned sends_datagram(struct gate *gate, const char *name)
{
	static const char mode[] = "octet";
	char payload[64] = {0, 1};
	size_t length = strlen(name) + 1;

	memcpy(payload + 2, name, length);
	memcpy(payload + 2 + length, mode, sizeof(mode));
	length += 2 + sizeof(mode);
	const struct pipe_packet packet = {.proto = IPPROTO_UDP,
		.sport = 40000,
		.dport = 69,
		.payload = payload,
		.payload_length = (uint16_t)length};

	return gate_run(gate, &packet);
}

static void a_datagram_with_a_message_to_drop_or_mask_does_not_leave(void **state)
{
	static const char *const policies[] = {DROPS, MASKS};
	(void)state;

	for (unsigned i = 0; i < 2; i++) {
		struct gate *gate = gate_with(policies[i]);
		struct lcore *lcore = gate->pipe->dp.lcores[0];
		uint64_t dropped = lcore->stats.dropped_pkts[DROP_RULE];

		lcore->content->decoder_of[app_find("tftp")] = &datagrams;
		assert_int_equal(sends_datagram(gate, "harmless"), 1);
		assert_int_equal(sends_datagram(gate, "a secret"), 0);
		assert_int_equal(sends_datagram(gate, "harmless"), 1);
		assert_int_equal(lcore->stats.dropped_pkts[DROP_RULE], dropped + 1);
		assert_int_equal(lcore->stats.content_edited, 1);
		assert_int_equal(lcore->stats.content_refused, 0);
		let_go(gate);
	}
}

// ---- what cannot be changed ----

static uint16_t sum_of(const uint8_t *bytes, unsigned length)
{
	uint32_t sum = 0;

	for (unsigned i = 0; i < length; i += 2)
		sum += (uint32_t)(bytes[i] << 8 | bytes[i + 1]);
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)~sum;
}

// Bytes [from, to) of the IP payload of `frame`, as a fragment.
static unsigned sends_fragment(
	struct gate *gate, const uint8_t *frame, unsigned from, unsigned to, bool more)
{
	uint8_t fragment[512];
	unsigned length = IP + 20 + to - from;

	memcpy(fragment, frame, IP + 20);
	memcpy(fragment + IP + 20, frame + IP + 20 + from, to - from);
	uint16_t words[] = {
		htons((uint16_t)(length - IP)), htons((uint16_t)(from / 8 | (more ? 0x2000 : 0)))};

	memcpy(fragment + IP + 2, &words[0], 2);
	memcpy(fragment + IP + 6, &words[1], 2);
	memset(fragment + IP + 10, 0, 2);
	uint16_t sum = htons(sum_of(fragment + IP, 20));

	memcpy(fragment + IP + 10, &sum, 2);
	return pipe_run_frame(gate->pipe, 0, fragment, length, false, 1);
}

static void in_fragments(struct gate *gate, struct pipe_packet packet)
{
	uint8_t frame[512];

	packet.ip_id = 7;
	unsigned length = pipe_build(&packet, frame, sizeof(frame));

	assert_int_equal(sends_fragment(gate, frame, 0, 32, true), 0);
	sends_fragment(gate, frame, 32, length - IP - 20, false);
}

static void a_line_in_fragments_has_its_flow_reset(void **state)
{
	struct gate *gate = gate_with(MASKS);
	struct gate_tcp tcp = talk(gate, 40001);
	(void)state;

	in_fragments(gate, packet_of(&tcp, line));
	assert_false(has(gate, gate->pipe->n_sent, "word"));
	assert_int_equal(pipe_stats(gate->pipe).content_edit_late, 1);
	assert_int_equal(pipe_stats(gate->pipe).content_edited, 0);
	assert_int_equal(pipe_stats(gate->pipe).content_refused, 1);
	assert_true(pipe_stats(gate->pipe).resets_sent >= 2);
	let_go(gate);
}

static void so_has_a_request_for_a_part(void **state)
{
	struct gate *gate = gate_with(WHOLE);
	struct gate_tcp tcp = gate_connect(gate, 1, 40001, 80);
	(void)state;

	in_fragments(gate, packet_of(&tcp, ask));
	assert_false(has(gate, gate->pipe->n_sent, "a.bin"));
	assert_int_equal(pipe_stats(gate->pipe).content_ranges_late, 1);
	assert_int_equal(pipe_stats(gate->pipe).content_ranges, 0);
	assert_int_equal(pipe_stats(gate->pipe).content_refused, 1);
	assert_true(pipe_stats(gate->pipe).resets_sent >= 2);
	let_go(gate);
}

// Its head comes in two segments, and what it is is known with the second one.
static void nor_does_one_that_left_in_fragments_go_on(void **state)
{
	struct gate *gate = gate_with(WHOLE);
	struct gate_tcp tcp = gate_connect(gate, 1, 40001, 80);
	static const char more[] = "X: y\r\n\r\n";
	char first[sizeof(ask)];
	(void)state;

	snprintf(first, sizeof(first), "%.*s", (int)strlen(ask) - 2, ask);
	in_fragments(gate, packet_of(&tcp, first));
	assert_int_equal(pipe_stats(gate->pipe).content_ranges_late, 0);
	tcp.seq[0] += (uint32_t)strlen(first);
	gate_send(gate, &tcp, false, more, strlen(more));
	assert_false(has(gate, 1, more));
	assert_int_equal(pipe_stats(gate->pipe).content_ranges_late, 1);
	assert_int_equal(pipe_stats(gate->pipe).content_refused, 1);
	let_go(gate);
}

static void a_request_over_several_buffers_is_changed(void **state)
{
	struct gate *gate = gate_with(WHOLE);
	struct gate_tcp tcp = gate_connect(gate, 1, 40001, 80);
	struct pipe_packet packet = packet_of(&tcp, ask);
	(void)state;

	packet.segments = 7;
	leaves_as(gate, &packet, changed);
	assert_int_equal(pipe_stats(gate->pipe).content_ranges, 1);
	let_go(gate);
}

// Several mbuf segments are one packet.
static void a_line_over_several_buffers_is_masked(void **state)
{
	struct gate *gate = gate_with(MASKS);
	struct gate_tcp tcp = talk(gate, 40001);
	struct pipe_packet packet = packet_of(&tcp, line);
	(void)state;

	packet.segments = 7;
	leaves_as(gate, &packet, masked);
	let_go(gate);
}

// ---- policies that come and go ----

static void what_was_edited_stays_so_under_other_rules(void **state)
{
	struct gate *gate = gate_with(MASKS);
	struct gate_tcp tcp = talk(gate, 40001);
	const struct pipe_packet packet = packet_of(&tcp, line);
	(void)state;

	leaves_as(gate, &packet, masked);
	gate_policy(gate, OTHER); // it enforces still
	leaves_as(gate, &packet, masked);
	tcp.seq[0] += (uint32_t)strlen(line);
	// once its receiver has it, what is sent next is as it comes
	assert_int_equal(gate_send(gate, &tcp, true, ":s PING x\r\n", 11), 1);
	assert_int_equal(gate_send(gate, &tcp, false, line, strlen(line)), 1);
	assert_true(has(gate, 1, line));
	let_go(gate);
}

static void rules_that_edit_take_the_fast_pass_from_their_flows_alone(void **state)
{
	struct gate *gate = gate_with(MASKS);
	struct gate_tcp tcp = talk(gate, 40001);
	struct pipe_packet packet = packet_of(&tcp, "PRIVMSG #c :ahead\r\n");
	(void)state;

	packet.seq += 100;
	// held; what it acknowledges is said in its place
	assert_false(has(gate, gate_run(gate, &packet), "ahead"));
	assert_int_equal(pipe_stats(gate->pipe).tcp_held_pkts, 1);
	gate_policy(gate, OTHER);
	packet.seq += 100;
	// it leaves at once, and what was held with it or in the turn behind it
	assert_true(gate_run(gate, &packet) >= 1);
	pipe_turns(gate->pipe);
	assert_int_equal(gate->pipe->dp.lcores[0]->tracker->n_held, 0);
	assert_int_equal(pipe_stats(gate->pipe).tcp_copied_pkts, 2);
	let_go(gate);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_datagram_with_a_message_to_drop_or_mask_does_not_leave),
		cmocka_unit_test(a_line_in_fragments_has_its_flow_reset),
		cmocka_unit_test(so_has_a_request_for_a_part),
		cmocka_unit_test(nor_does_one_that_left_in_fragments_go_on),
		cmocka_unit_test(a_request_over_several_buffers_is_changed),
		cmocka_unit_test(a_line_over_several_buffers_is_masked),
		cmocka_unit_test(what_was_edited_stays_so_under_other_rules),
		cmocka_unit_test(rules_that_edit_take_the_fast_pass_from_their_flows_alone),
	};

	return cmocka_run_group_tests_name("content_edit", tests, NULL, NULL);
}
