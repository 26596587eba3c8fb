// SPDX-License-Identifier: BSD-3-Clause
// Where a receiver's window ends is what both SYNs say (RFC 7323 section 2): a segment beyond it is
// taken by nobody, so it is neither inspected nor delivered under a policy that enforces.
#include <netinet/tcp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "lib/pipeline/pipe.h"

#define CLIENT 1000u // first octets
#define SERVER 9000u
#define WINDOW 1000u

static const uint8_t scale_7[] = {1, 3, 3, 7};
static const uint8_t scale_250[] = {1, 3, 3, 250}; // taken as 14 (RFC 7323 section 2.3)

static struct pipe *enforcing(void)
{
	struct pipe *pipe = pipe_new(1, NULL);
	struct policy *policy = pipe_policy(pipe);

	pipe_rule_app(policy, 1, ACTION_DROP, "bittorrent");
	pipe_publish(pipe, policy);
	return pipe;
}

static unsigned syn(struct pipe *pipe, bool server, const uint8_t *option)
{
	return pipe_run(pipe, 0,
		&(struct pipe_packet){
			.from_outside = server,
			.tcp_flags = server ? TH_SYN | TH_ACK : TH_SYN,
			.seq = server ? SERVER - 1 : CLIENT - 1,
			.ack = server ? CLIENT : 0,
			.options = option,
			.options_length = option ? 4 : 0,
		});
}

// Of one octet; the answer: did it leave?
static bool leaves(struct pipe *pipe, bool server, uint32_t seq, uint32_t ack)
{
	return pipe_run(pipe, 0,
		       &(struct pipe_packet){
			       .from_outside = server,
			       .seq = seq,
			       .ack = ack,
			       .window = WINDOW,
			       .payload = "x",
			       .payload_length = 1,
		       }) == 1;
}

// A request, whose segment says the client's window; then octets at the window's ends.
static void expect_edge(struct pipe *pipe, uint32_t edge)
{
	assert_true(leaves(pipe, false, CLIENT, SERVER));
	assert_true(leaves(pipe, true, SERVER + edge, CLIENT + 1));
	assert_false(leaves(pipe, true, SERVER + edge + 1, CLIENT + 1));
	assert_int_equal(pipe_stats(pipe).dropped_pkts[DROP_NOT_TAKEN], 1);
	pipe_free(pipe);
}

static void without_the_option_windows_are_not_scaled(void **state)
{
	struct pipe *pipe = enforcing();

	(void)state;
	syn(pipe, false, NULL);
	syn(pipe, true, NULL);
	expect_edge(pipe, WINDOW);
}

static void one_end_without_it_is_enough(void **state)
{
	struct pipe *pipe = enforcing();

	(void)state;
	syn(pipe, false, scale_7);
	syn(pipe, true, NULL);
	expect_edge(pipe, WINDOW);
	pipe = enforcing();
	syn(pipe, false, NULL);
	syn(pipe, true, scale_7);
	expect_edge(pipe, WINDOW);
}

static void both_with_it_scale_each_its_own(void **state)
{
	struct pipe *pipe = enforcing();

	(void)state;
	syn(pipe, false, scale_7);
	syn(pipe, true, scale_250);
	expect_edge(pipe, WINDOW << 7);
}

static void more_than_14_is_14(void **state)
{
	struct pipe *pipe = enforcing();

	(void)state;
	syn(pipe, false, scale_250);
	syn(pipe, true, scale_7);
	expect_edge(pipe, WINDOW << 14);
}

static void unknown_is_14(void **state)
{
	struct pipe *pipe = enforcing();

	(void)state;
	assert_true(leaves(pipe, true, SERVER, CLIENT));
	assert_true(leaves(pipe, false, CLIENT, SERVER));
	assert_true(leaves(pipe, true, SERVER + (WINDOW << 14), CLIENT + 1));
	assert_false(leaves(pipe, true, SERVER + (WINDOW << 14) + 1, CLIENT + 1));
	pipe_free(pipe);
}

// The SYN-ACK takes the first of two SYNs: what the second said holds for nobody.
static void of_another_syn_than_was_taken_it_is_unknown(void **state)
{
	struct pipe *pipe = enforcing();

	(void)state;
	syn(pipe, false, NULL);
	pipe_run(pipe, 0, &(struct pipe_packet){.tcp_flags = TH_SYN, .seq = CLIENT + 5000});
	syn(pipe, true, scale_7);
	expect_edge(pipe, WINDOW << 14);
}

// TCP Fast Open: the request rides on the SYN, so the flow is there before the SYN-ACK.
static void with_octets_on_the_syn_the_answer_says_it(void **state)
{
	struct pipe *pipe = enforcing();

	(void)state;
	pipe_run(pipe, 0,
		&(struct pipe_packet){
			.tcp_flags = TH_SYN,
			.seq = CLIENT - 1,
			.options = scale_7,
			.options_length = 4,
			.payload = "x",
			.payload_length = 1,
		});
	pipe_run(pipe, 0,
		&(struct pipe_packet){
			.from_outside = true,
			.tcp_flags = TH_SYN | TH_ACK,
			.seq = SERVER - 1,
			.ack = CLIENT + 1,
		});
	assert_true(leaves(pipe, false, CLIENT + 1, SERVER));
	assert_true(leaves(pipe, true, SERVER + WINDOW, CLIENT + 2));
	assert_false(leaves(pipe, true, SERVER + WINDOW + 1, CLIENT + 2));
	pipe_free(pipe);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_the_option_windows_are_not_scaled),
		cmocka_unit_test(one_end_without_it_is_enough),
		cmocka_unit_test(both_with_it_scale_each_its_own),
		cmocka_unit_test(more_than_14_is_14),
		cmocka_unit_test(unknown_is_14),
		cmocka_unit_test(of_another_syn_than_was_taken_it_is_unknown),
		cmocka_unit_test(with_octets_on_the_syn_the_answer_says_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
