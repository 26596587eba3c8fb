// SPDX-License-Identifier: BSD-3-Clause
// When an end counts as heard (both_ends.h), and that nobody is heard by what comes in on the wrong
// side.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <cmocka.h>
#include "lib/pipeline/pipe_evidence.h"
#include "pipeline/flow/table.h"
#include "pipeline/event/event.h"
#include "pipeline/query.h"
#include "pipeline/policy/policy.h"

#define C2S 1u
#define S2C 2u

// Flows and stubs that live; `heard`: of the last one, C2S and S2C.
static unsigned entries(const struct pipe *pipe, unsigned *heard)
{
	const struct flow_table *table = pipe->dp.lcores[0]->flows;
	unsigned n = 0;

	for (uint32_t i = 0; i < table->flow_pool.size; i++)
		if (table->flows[i].gen) {
			*heard = (table->flows[i].seen[0] & SEEN_HEARD ? C2S : 0) |
				 (table->flows[i].seen[1] & SEEN_HEARD ? S2C : 0);
			n++;
		}
	for (uint32_t i = 0; i < table->stub_pool.size; i++)
		if (table->stubs[i].gen) {
			*heard = table->stubs[i].heard & STUB_BOTH_HEARD;
			n++;
		}
	return n;
}

struct line { // a packet, and who is heard after it
	bool server;
	bool astray; // comes in on the other side
	uint8_t tcp_flags;
	uint32_t seq, ack;
	const char *text;
	unsigned heard;
};

#define SYN                                            \
	{                                              \
		false, false, TH_SYN, 1000, 0, NULL, 0 \
	}
#define SYN_ACK                                                     \
	{                                                           \
		true, false, TH_SYN | TH_ACK, 5000, 1001, NULL, S2C \
	}
#define ALL (C2S | S2C)
#define STRAY(flags, seq, ack)                        \
	{                                             \
		false, true, flags, seq, ack, NULL, 0 \
	}

struct talk {
	const char *name;
	unsigned entries; // in the end
	struct line lines[8];
};

static const struct talk talks[] = {
	{"handshake", 1, {SYN, SYN_ACK, {false, false, TH_ACK, 1001, 5001, NULL, ALL}}},
	{"handshake whose last part has payload", 1,
		{SYN, SYN_ACK, {false, false, TH_ACK, 1001, 5001, "GET", ALL}}},
	{"the SYN-ACK is of another number", 1,
		{SYN, {true, false, TH_SYN | TH_ACK, 5000, 1002, NULL, 0},
			{true, false, TH_SYN | TH_ACK, 5000, 1002, NULL, 0},
			{false, false, TH_ACK, 1001, 5001, NULL, 0}}},
	{"one of another number before the SYN-ACK and behind it", 1,
		{SYN, {true, false, TH_SYN | TH_ACK, 9000, 7001, NULL, 0}, SYN_ACK,
			{true, false, TH_SYN | TH_ACK, 9000, 7001, NULL, S2C},
			{false, false, TH_ACK, 1001, 5001, NULL, ALL}}},
	{"the SYN-ACK is of the first of two SYNs", 1,
		{SYN, {false, false, TH_SYN, 3000, 0, NULL, 0},
			{true, false, TH_SYN | TH_ACK, 5000, 1001, NULL, 0},
			{false, false, TH_ACK, 1001, 5001, NULL, C2S}}},
	{"the client acknowledges another number", 1,
		{SYN, SYN_ACK, {false, false, TH_ACK, 1001, 5002, NULL, S2C},
			{false, false, TH_ACK, 1001, 6001, "GET", S2C}}},
	{"the server speaks first", 1,
		{SYN, SYN_ACK, {true, false, TH_ACK, 5001, 1001, "220 a", S2C},
			{false, false, TH_ACK, 1001, 5006, NULL, ALL}}},
	{"payload on the SYN", 1, {{false, false, TH_SYN, 1000, 0, "GET", 0}}},
	{"a segment without a connection", 1, {{false, false, TH_ACK, 1001, 5001, "GET", 0}}},
	{"one side of a connection only", 1,
		{{false, false, TH_ACK, 1001, 5001, "GET", 0},
			{false, false, TH_ACK, 1004, 5901, "x", 0}}},
	{"midstream, each acknowledges the other", 1,
		{{false, false, TH_ACK, 1001, 5001, "GET", 0},
			{true, false, TH_ACK, 5001, 1004, "200", S2C},
			{false, false, TH_ACK, 1004, 5004, NULL, ALL}}},
	{"midstream, acknowledging what did not pass", 1,
		{{false, false, TH_ACK, 1001, 5001, "GET", 0},
			{true, false, TH_ACK, 5001, 1005, "200", 0},
			{true, false, TH_ACK, 5004, 1001, "200", 0},
			{true, false, TH_ACK, 5007, 1005, "x", 0}}},
	{"a SYN as the client, from the other side", 2,
		{STRAY(TH_SYN, 1000, 0), {true, false, TH_SYN | TH_ACK, 5000, 1001, NULL, 0}}},
	{"all that the client says, from the other side", 2,
		{SYN, SYN_ACK, {false, true, TH_ACK, 1001, 5001, NULL, S2C}}},
	{"a forged SYN before a handshake", 2,
		{STRAY(TH_SYN, 7000, 0), SYN, SYN_ACK,
			{false, false, TH_ACK, 1001, 5001, NULL, ALL}}},
};

static struct pipe_packet packet_of(const struct line *line)
{
	return (struct pipe_packet){
		.from_outside = line->server,
		.seq = line->seq,
		.ack = line->ack,
		.tcp_flags = line->tcp_flags,
		.payload = line->text,
		.payload_length = line->text ? (uint16_t)strlen(line->text) : 0,
	};
}

// Of the flow that lines which are not astray belong to.
static unsigned heard_of_flow(const struct pipe *pipe)
{
	const struct flow_table *table = pipe->dp.lcores[0]->flows;

	for (uint32_t i = 0; i < table->flow_pool.size; i++)
		if (table->flows[i].gen && table->flows[i].flags & FLOW_C2S_INSIDE)
			return (table->flows[i].seen[0] & SEEN_HEARD ? C2S : 0) |
			       (table->flows[i].seen[1] & SEEN_HEARD ? S2C : 0);
	for (uint32_t i = 0; i < table->stub_pool.size; i++)
		if (table->stubs[i].gen && table->stubs[i].flags & FLOW_C2S_INSIDE)
			return table->stubs[i].heard & STUB_BOTH_HEARD;
	return 0;
}

// So does the control core, which asks for the flows.
static bool is_recorded(struct pipe *pipe, unsigned heard)
{
	struct flow_record records[4];
	struct query query = {.type = QUERY_FLOWS, .out = records, .max = 4};

	pipe_ask(pipe, 0, &query);
	for (unsigned i = 0; i < query.n; i++) {
		if (records[i].flags & FLOW_C2S_INSIDE)
			return records[i].heard == (heard == ALL ? EVENT_OF_BOTH : EVENT_UNHEARD);
	}
	return heard == 0; // no such flow
}

static void tell(const struct talk *talk, bool v6)
{
	struct pipe *pipe = pipe_new(1, NULL);
	unsigned heard = 0;

	for (unsigned i = 0; i < 8 && talk->lines[i].tcp_flags; i++) {
		const struct line *line = &talk->lines[i];
		struct pipe_packet packet = packet_of(line);
		uint8_t frame[256];

		packet.v6 = v6;
		unsigned length = pipe_build(&packet, frame, sizeof(frame));

		assert_int_equal(
			pipe_run_frame(pipe, 0, frame, length, line->server != line->astray, 1), 1);
		if (heard_of_flow(pipe) != line->heard)
			fail_msg("%s: packet %u: heard %u, want %u", talk->name, i,
				heard_of_flow(pipe), line->heard);
		if (!is_recorded(pipe, line->heard))
			fail_msg("%s: packet %u: its record", talk->name, i);
	}
	if (entries(pipe, &heard) != talk->entries)
		fail_msg("%s: %u entries", talk->name, entries(pipe, &heard));
	pipe_free(pipe);
}

static void an_end_is_heard_by_what_it_acknowledges(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(talks) / sizeof(talks[0]); i++) {
		tell(&talks[i], false);
		tell(&talks[i], true);
	}
}

static void one_side_is_enough_on_a_port_that_is_one_way(void **state)
{
	struct pipe *pipe = pipe_new(1, NULL);
	struct pipe_packet get = {.seq = 1001, .ack = 5001, .payload = "GET", .payload_length = 3};
	unsigned heard = 0;
	(void)state;

	pipe->dp.ports[PIPE_INSIDE].one_way = true;
	pipe_run(pipe, 0, &get);
	assert_int_equal(entries(pipe, &heard), 1);
	assert_int_equal(heard, C2S | S2C);
	pipe_free(pipe);
}

static void client_and_server(struct pipe *pipe, double pause)
{
	struct pipe_packet packet = {.seq = 1000, .tcp_flags = TH_SYN};

	pipe_run(pipe, 0, &packet);
	packet = (struct pipe_packet){
		.from_outside = true, .seq = 5000, .ack = 1001, .tcp_flags = TH_SYN | TH_ACK};
	pipe_run(pipe, 0, &packet);
	packet = (struct pipe_packet){.seq = 1001, .ack = 5001, .tcp_flags = TH_ACK};
	pipe_run(pipe, 0, &packet);
	for (double past = 0; past < pause; past += 10) {
		pipe_advance(pipe, 10);
		pipe_turns(pipe);
	}
}

static bool is_seen_from_its_start(struct pipe *pipe)
{
	struct pipe_packet first = {.seq = 1001,
		.ack = 5001,
		.payload = "\x13"
			   "BitTorrent protocol\0\0\0\0\0\0\0\0",
		.payload_length = 28};
	struct policy *policy = pipe_policy(pipe);

	pipe_rule_app(policy, 7, ACTION_DROP, "bittorrent");
	pipe_publish(pipe, policy);
	unsigned left = pipe_run(pipe, 0, &first);

	return !left && !pipe_stats(pipe).flows_midstream && pipe_stats(pipe).cache_learned == 1;
}

// A completed handshake is an established connection, however long its first byte takes.
static void a_silent_connection_is_not_midstream(void **state)
{
	static const double pauses[] = {10, 40, 600, 7000};
	(void)state;

	for (unsigned i = 0; i < 4; i++) {
		struct pipe *pipe = pipe_new(1, NULL);

		client_and_server(pipe, pauses[i]);
		if (!is_seen_from_its_start(pipe))
			fail_msg("after %.0f s", pauses[i]);
		pipe_free(pipe);
	}
}

// Nor one whose lcore has stood still meanwhile, if its next byte is its first.
static void nor_is_one_whose_next_byte_is_its_first(void **state)
{
	struct pipe *pipe = pipe_new(1, NULL);
	(void)state;

	client_and_server(pipe, 10);
	atomic_store(&pipe->dp.lcores[0]->unseen_until_ns, pipe->now_ns);
	pipe_advance(pipe, 1);
	assert_true(is_seen_from_its_start(pipe));
	pipe_free(pipe);
}

// What is half open goes when its time is over, and so does what an end has closed.
static void a_handshake_that_is_not_complete_is_forgotten(void **state)
{
	struct pipe *pipe = pipe_new(1, NULL);
	struct pipe_packet packet = {.sport = 7, .seq = 1000, .tcp_flags = TH_SYN};
	unsigned heard;
	(void)state;

	pipe_run(pipe, 0, &packet);
	packet = (struct pipe_packet){.sport = 7,
		.from_outside = true,
		.seq = 5000,
		.ack = 1001,
		.tcp_flags = TH_SYN | TH_ACK};
	pipe_run(pipe, 0, &packet);
	client_and_server(pipe, 0);
	assert_int_equal(entries(pipe, &heard), 2);
	pipe_advance(pipe, 40);
	pipe_turns(pipe);
	assert_int_equal(entries(pipe, &heard), 1);
	packet = (struct pipe_packet){.seq = 0x12345678, .tcp_flags = TH_RST}; // forged
	pipe_run(pipe, 0, &packet);
	pipe_advance(pipe, 40);
	pipe_turns(pipe);
	assert_int_equal(entries(pipe, &heard), 1);
	packet.seq = 1001;
	pipe_run(pipe, 0, &packet);
	pipe_advance(pipe, 40);
	pipe_turns(pipe);
	assert_int_equal(entries(pipe, &heard), 0);
	pipe_free(pipe);
}

// Forged as the server, in its own zone, by somebody who does not see the client's number.
static void a_forged_syn_ack_costs_the_client_nothing(void **state)
{
	static const struct pipe_packet honest[] = {
		{.seq = 1000, .tcp_flags = TH_SYN},
		{.from_outside = true, .seq = 5000, .ack = 1001, .tcp_flags = TH_SYN | TH_ACK},
		{.seq = 1001, .ack = 5001, .tcp_flags = TH_ACK},
		{.seq = 1001, .ack = 5001, .payload = "hello", .payload_length = 5},
		{.from_outside = true,
			.seq = 5001,
			.ack = 1006,
			.payload = "hello",
			.payload_length = 5},
	};
	const struct pipe_packet forged = {
		.from_outside = true, .seq = 77777, .ack = 88888, .tcp_flags = TH_SYN | TH_ACK};
	(void)state;

	for (unsigned behind = 0; behind < 2; behind++)
		for (unsigned v6 = 0; v6 < 2; v6++) {
			struct pipe *pipe = pipe_new(1, NULL);
			struct policy *policy = pipe_policy(pipe);

			pipe_rule_app(policy, 7, ACTION_DROP, "bittorrent");
			pipe_publish(pipe, policy);
			for (unsigned i = 0; i < 5; i++) {
				struct pipe_packet packet = honest[i], other = forged;

				packet.v6 = other.v6 = v6;
				if (pipe_run(pipe, 0, &packet) != 1)
					fail_msg("packet %u, forged behind %u", i, behind);
				if (i == behind)
					assert_int_equal(pipe_run(pipe, 0, &other), 0);
			}
			assert_int_equal(pipe_stats(pipe).dropped_pkts[DROP_NOT_TAKEN], 1);
			pipe_free(pipe);
		}
}

// Forged as the server; the client's host answers, and opens a connection of its own later.
static void a_forged_syn_and_its_reset_cost_the_next_connection_nothing(void **state)
{
	static const struct pipe_packet before[] = {
		{.from_outside = true, .seq = 70000, .tcp_flags = TH_SYN},
		{.seq = 0, .ack = 70001, .tcp_flags = TH_RST | TH_ACK},
	};
	static const struct pipe_packet honest[] = {
		{.seq = 1000, .tcp_flags = TH_SYN},
		{.from_outside = true, .seq = 5000, .ack = 1001, .tcp_flags = TH_SYN | TH_ACK},
		{.seq = 1001, .ack = 5001, .tcp_flags = TH_ACK},
		{.seq = 1001, .ack = 5001, .payload = "hello", .payload_length = 5},
		{.from_outside = true,
			.seq = 5001,
			.ack = 1006,
			.payload = "hello",
			.payload_length = 5},
		{.seq = 1006, .ack = 5006, .tcp_flags = TH_ACK},
	};
	(void)state;

	for (unsigned pause = 0; pause < 3; pause++) {
		struct pipe *pipe = pipe_new(1, NULL);
		struct policy *policy = pipe_policy(pipe);

		pipe_rule_app(policy, 7, ACTION_DROP, "bittorrent");
		pipe_publish(pipe, policy);
		for (unsigned i = 0; i < 2; i++)
			pipe_run(pipe, 0, &before[i]);
		for (unsigned s = 0; s < 12 * pause; s++) {
			pipe_advance(pipe, 1);
			pipe_turns(pipe);
		}
		for (unsigned i = 0; i < 6; i++)
			if (pipe_run(pipe, 0, &honest[i]) != 1)
				fail_msg("packet %u, %u s later", i, 12 * pause);
		pipe_free(pipe);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_end_is_heard_by_what_it_acknowledges),
		cmocka_unit_test(one_side_is_enough_on_a_port_that_is_one_way),
		cmocka_unit_test(a_silent_connection_is_not_midstream),
		cmocka_unit_test(nor_is_one_whose_next_byte_is_its_first),
		cmocka_unit_test(a_handshake_that_is_not_complete_is_forgotten),
		cmocka_unit_test(a_forged_syn_ack_costs_the_client_nothing),
		cmocka_unit_test(a_forged_syn_and_its_reset_cost_the_next_connection_nothing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
