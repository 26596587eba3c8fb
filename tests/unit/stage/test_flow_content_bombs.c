// SPDX-License-Identifier: BSD-3-Clause
// What costs a decoder much, through the packet path: a file that decodes to a thousand times what
// came, a gigabyte of header, chunk extensions without end. Each is counted, memory keeps its
// bounds, no turn tells more than its budget, and neighbours leave in the turn in which they came.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <netinet/tcp.h>
#include <cmocka.h>
#include <zlib.h>
#include "lib/pipeline/pipe_control.h"
#include "pipeline/content/state.h"
#include "reassembly/tcp_track.h"

#define TURN_BYTES    (64u << 10)
#define MEMORY_BYTES  (8u << 20)
#define GIGABYTE      (1u << 30)
#define BEYOND_LIMITS (512u << 10) // of heads and lines

#define REFUSES                                                                                 \
	"'rules':[{'id':'no-exe','match':{},'transfers':[{'name':['*.exe'],'action':'reset'}]," \
	"'audit':{'transfers':true,'files':true}}]"
#define LOGS "'rules':[{'id':'log','match':{},'audit':{'transfers':true,'files':true}}]"

static struct gate *gate_with(const char *policy)
{
	struct lcore_limits limits = pipe_limits();

	limits.content = (struct content_limits){.flows = 8,
		.source_pct = 10,
		.turn_bytes = TURN_BYTES,
		.memory_bytes = MEMORY_BYTES,
		.arena_bytes = MEMORY_BYTES};
	return gate_new_with(1, &limits, policy);
}

static struct lcore *lcore_of(const struct gate *gate)
{
	return gate->pipe->dp.lcores[0];
}

static struct gate_tcp asks(struct gate *gate, uint16_t sport)
{
	static const char request[] = "GET /f.txt HTTP/1.1\r\nHost: a.example\r\n\r\n";
	struct gate_tcp tcp = gate_connect(gate, 1, sport, 80);

	assert_int_equal(gate_send(gate, &tcp, false, request, sizeof(request) - 1), 1);
	return tcp;
}

static unsigned says(struct gate *gate, struct gate_tcp *tcp, const char *text)
{
	return gate_send(gate, tcp, true, text, strlen(text));
}

// What the server has sent so far is acknowledged: its window stays open.
static void hears(struct gate *gate, const struct gate_tcp *tcp)
{
	const struct pipe_packet packet = {.client = tcp->client,
		.sport = tcp->sport,
		.dport = tcp->dport,
		.seq = tcp->seq[0],
		.ack = tcp->seq[1],
		.tcp_flags = TH_ACK};

	gate_run(gate, &packet);
}

// Bytes that were recorded since the last call, and their records given back.
static uint64_t recorded(struct gate *gate)
{
	struct content_channel *channel = content_channel_of(lcore_of(gate));
	const struct content_record *record;
	uint64_t bytes = 0;

	while ((record = content_channel_next(channel))) {
		bytes += record->kind == CONTENT_RECORD_BYTES ? record->length : 0;
		content_channel_done(channel, record);
	}
	return bytes;
}

static void memory_has_bounds(const struct gate *gate)
{
	struct content_memory_use use;

	content_memory_look(lcore_of(gate)->content->memory, &use);
	assert_int_equal(use.bytes, MEMORY_BYTES);
	assert_int_equal(use.failed, 0);
	assert_in_range(use.peak, 0, 2u << 20);
}

// Zeros coded by gzip, `times` over.
static uint8_t *bomb(size_t zeros, unsigned times, size_t *length)
{
	uint8_t *in = calloc(1, zeros), *out = NULL;

	assert_non_null(in);
	*length = zeros;
	for (unsigned i = 0; i < times; i++) {
		z_stream z = {.next_in = in, .avail_in = (unsigned)*length};

		assert_int_equal(deflateInit2(&z, 9, Z_DEFLATED, 31, 8, 0), Z_OK);
		z.avail_out = (unsigned)deflateBound(&z, *length);
		out = malloc(z.avail_out);
		assert_non_null(out);
		z.next_out = out;
		assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
		*length = z.total_out;
		deflateEnd(&z);
		free(in);
		in = out;
	}
	return out;
}

// The neighbour is answered at once; how many turns until the bomb's connection lets its segment
// go.
static unsigned beside(struct gate *gate, uint16_t sport, bool *told_too_much)
{
	struct gate_tcp neighbour = asks(gate, sport);
	unsigned turns = 0;

	assert_int_equal(
		says(gate, &neighbour, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nfine!"), 1);
	while (turns < 5000 && !gate->pipe->n_sent) {
		recorded(gate);
		pipe_turns(gate->pipe);
		*told_too_much |= recorded(gate) > TURN_BYTES + CONTENT_PAGE_BYTES;
		turns++;
	}
	return turns;
}

static void a_coded_megabyte_takes_turns(void **state)
{
	struct gate *gate = gate_with(REFUSES);
	struct gate_tcp tcp = asks(gate, 41000);
	bool too_much = false;
	char head[128];
	size_t length;
	uint8_t *coded = bomb(1400000, 1, &length);

	(void)state;
	assert_true(length > 1000 && length < 1450);
	snprintf(head, sizeof(head),
		"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %zu\r\n\r\n", length);
	assert_int_equal(says(gate, &tcp, head), 1);
	recorded(gate);
	assert_int_equal(gate_send(gate, &tcp, true, coded, length), 0); // it waits
	assert_in_range(recorded(gate), 1, 3 * TURN_BYTES);              // of gate_send's turns
	unsigned turns = beside(gate, 42000, &too_much);

	assert_in_range(turns, 8, 40);
	assert_false(too_much);
	assert_int_equal(pipe_stats(gate->pipe).content_refused, 0); // it is allowed, and whole
	memory_has_bounds(gate);
	free(coded);
	gate_free(gate);
}

// A segment that is half decoded waits too long and is dropped: what its sender repeats is decoded
// from where it was left, each byte once, and it cannot be something else. Where its receiver says
// that it has it all the same the rest is missing, and the flow does not go on.
static void half_a_segment_is_dropped(void **state)
{
	enum { SAME, OTHER, GAP, CASES };

	for (unsigned what = 0; what < CASES; what++) {
		struct gate *gate = gate_with(REFUSES);
		struct gate_tcp tcp = asks(gate, 41000);
		uint64_t told = 0;
		char head[128];
		size_t length;
		uint8_t *coded = bomb(1400000, 1, &length);

		(void)state;
		snprintf(head, sizeof(head),
			"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: "
			"%zu\r\n\r\n",
			length + (what == GAP ? 300 : 0));
		assert_int_equal(says(gate, &tcp, head), 1);
		hears(gate, &tcp);
		assert_int_equal(gate_send(gate, &tcp, true, coded, length), 0);
		told += recorded(gate);
		assert_in_range(told, 1, 1000000);
		// a turn that gets to it holds it anew: as if none had for so long
		assert_true(track_age(lcore_of(gate)->tracker, gate->pipe->now_ns + 31 * NS_PER_S,
				    16) >= 1);
		if (what == GAP) {
			pipe_turns(gate->pipe);
			assert_int_equal(says(gate, &tcp, "ahead of it"), 1);
			assert_int_equal(pipe_stats(gate->pipe).tcp_gaps, 0);
			hears(gate, &tcp);
			assert_int_equal(pipe_stats(gate->pipe).tcp_gaps, 1);
			says(gate, &tcp, "and so on");
			assert_int_equal(pipe_stats(gate->pipe).content_refused, 1);
			assert_int_equal(pipe_stats(gate->pipe).content_ambiguous, 1);
		} else {
			tcp.seq[1] -= (uint32_t)length;
			coded[20] ^= what == OTHER;
			gate_send(gate, &tcp, true, coded, length);
			for (unsigned turn = 0; turn < 40; turn++) {
				told += recorded(gate);
				pipe_turns(gate->pipe);
			}
			assert_int_equal(pipe_stats(gate->pipe).content_refused, what == OTHER);
			assert_int_equal(pipe_stats(gate->pipe).content_ambiguous, what == OTHER);
			if (what == SAME)
				assert_int_equal(told, 1400000);
		}
		assert_int_equal(pipe_unaccounted(gate->pipe), 0);
		free(coded);
		gate_free(gate);
	}
}

static void a_bomb_is_refused(void **state)
{
	struct gate *gate = gate_with(REFUSES);
	struct gate_tcp tcp = asks(gate, 41000);
	bool too_much = false;
	char head[160];
	size_t length;
	uint8_t *coded = bomb(200u << 20, 2, &length);

	(void)state;
	assert_true(length < 1450);
	snprintf(head, sizeof(head),
		"HTTP/1.1 200 OK\r\nContent-Encoding: gzip, gzip\r\nContent-Length: %zu\r\n\r\n",
		length);
	assert_int_equal(says(gate, &tcp, head), 1);
	gate_send(gate, &tcp, true, coded, length);
	beside(gate, 42000, &too_much);
	assert_false(too_much);
	assert_int_equal(pipe_stats(gate->pipe).content_refused, 1);
	assert_int_equal(pipe_stats(gate->pipe).content_ambiguous, 1);
	memory_has_bounds(gate);
	free(coded);
	gate_free(gate);
}

// Where nothing may be refused its segment leaves at once, and it is decoded no longer.
static void a_bomb_that_is_only_recorded_ends_decoding(void **state)
{
	struct gate *gate = gate_with(LOGS);
	struct gate_tcp tcp = asks(gate, 41000), neighbour = asks(gate, 42000);
	struct content_channel_use use;
	char head[160];
	size_t length;
	uint8_t *coded = bomb(200u << 20, 2, &length);

	(void)state;
	snprintf(head, sizeof(head),
		"HTTP/1.1 200 OK\r\nContent-Encoding: gzip, gzip\r\nContent-Length: %zu\r\n\r\n",
		length);
	assert_int_equal(says(gate, &tcp, head), 1);
	assert_int_equal(gate_send(gate, &tcp, true, coded, length), 1);
	assert_true(pipe_stats(gate->pipe).content_lost >= 1);
	content_channel_look(content_channel_of(lcore_of(gate)), &use);
	assert_in_range(recorded(gate), 1u << 20, 5u << 20);
	assert_int_equal(
		says(gate, &neighbour, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nfine!"), 1);
	assert_int_equal(recorded(gate), 5);
	memory_has_bounds(gate);
	free(coded);
	gate_free(gate);
}

// A gigabyte of it, said by one who does not listen to the reset; and a neighbour meanwhile.
static void goes_on_for_ever(const char *policy, const char *begin, bool refused)
{
	struct gate *gate = gate_with(policy);
	struct gate_tcp tcp = asks(gate, 41000);
	bool too_much = false;
	char line[1401];

	memset(line, 'x', sizeof(line) - 1);
	line[sizeof(line) - 1] = '\0';
	memcpy(line, "X-Header: ", 10);
	memcpy(line + sizeof(line) - 3, "\r\n", 2);
	if (strstr(begin, "chunked"))
		memset(line, 'x', sizeof(line) - 1);
	says(gate, &tcp, begin);
	unsigned left = 0;

	for (uint64_t sent = 0; sent < GIGABYTE; sent += sizeof(line) - 1) {
		unsigned frames = says(gate, &tcp, line);

		hears(gate, &tcp);
		if (sent < BEYOND_LIMITS)
			continue;
		assert_int_equal(pipe_stats(gate->pipe).content_ambiguous, 1);
		assert_int_equal(pipe_stats(gate->pipe).content_refused, refused);
		left += frames;
		if (refused && sent > 2 * BEYOND_LIMITS)
			break; // the flow is condemned: nothing of it is looked at
	}
	assert_true(refused ? !left : left > 0);
	beside(gate, 42000, &too_much);
	assert_int_equal(pipe_stats(gate->pipe).content_ambiguous, 1); // once
	assert_int_equal(pipe_stats(gate->pipe).content_ambiguous_refused, refused);
	memory_has_bounds(gate);
	gate_free(gate);
}

static void a_header_without_end(void **state)
{
	(void)state;
	goes_on_for_ever(REFUSES, "HTTP/1.1 200 OK\r\n", true);
	goes_on_for_ever(LOGS, "HTTP/1.1 200 OK\r\n", false);
}

static void a_chunk_extension_without_end(void **state)
{
	static const char begin[] = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;";

	(void)state;
	goes_on_for_ever(REFUSES, begin, true);
	goes_on_for_ever(LOGS, begin, false);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_coded_megabyte_takes_turns),
		cmocka_unit_test(half_a_segment_is_dropped),
		cmocka_unit_test(a_bomb_is_refused),
		cmocka_unit_test(a_bomb_that_is_only_recorded_ends_decoding),
		cmocka_unit_test(a_header_without_end),
		cmocka_unit_test(a_chunk_extension_without_end),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
