// SPDX-License-Identifier: BSD-3-Clause
// Lives of connections, as words of events.
#include <netinet/tcp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "reassembly/tcp_state.h"

static enum tcp_state live(enum tcp_state state, const enum tcp_event *events, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		state = tcp_state_next(state, events[i]);
	return state;
}
#define LIVE(from, ...)                                   \
	live(from, (const enum tcp_event[]){__VA_ARGS__}, \
		sizeof((const enum tcp_event[]){__VA_ARGS__}) / sizeof(enum tcp_event))

static void the_initiator_closes_first(void **state)
{
	(void)state;
	assert_int_equal(
		LIVE(TCP_STATE_SYN_SENT, TCP_EVENT_ANSWERED, TCP_EVENT_USED, TCP_EVENT_FIN_C2S),
		TCP_STATE_FIN_WAIT1);
	assert_int_equal(LIVE(TCP_STATE_FIN_WAIT1, TCP_EVENT_ACKED_C2S), TCP_STATE_FIN_WAIT2);
	assert_int_equal(LIVE(TCP_STATE_FIN_WAIT2, TCP_EVENT_FIN_S2C), TCP_STATE_TIME_WAIT);
	assert_int_equal(LIVE(TCP_STATE_TIME_WAIT, TCP_EVENT_ACKED_S2C), TCP_STATE_CLOSED);
}

static void the_responder_closes_first(void **state)
{
	(void)state;
	assert_int_equal(LIVE(TCP_STATE_ESTABLISHED, TCP_EVENT_FIN_S2C, TCP_EVENT_ACKED_S2C,
				 TCP_EVENT_FIN_C2S),
		TCP_STATE_LAST_ACK);
	assert_int_equal(LIVE(TCP_STATE_LAST_ACK, TCP_EVENT_ACKED_C2S), TCP_STATE_CLOSED);
}

static void both_close_at_once(void **state)
{
	(void)state;
	assert_int_equal(LIVE(TCP_STATE_ESTABLISHED, TCP_EVENT_FIN_C2S, TCP_EVENT_FIN_S2C),
		TCP_STATE_CLOSING);
	assert_int_equal(LIVE(TCP_STATE_CLOSING, TCP_EVENT_ACKED_C2S, TCP_EVENT_ACKED_S2C),
		TCP_STATE_CLOSED);
	assert_int_equal(LIVE(TCP_STATE_CLOSING, TCP_EVENT_ACKED_S2C, TCP_EVENT_ACKED_C2S),
		TCP_STATE_CLOSED);
}

// What was reset and goes on was not obeyed: the long time-out is its own again.
static void a_reset_that_nobody_obeyed(void **state)
{
	(void)state;
	assert_true(tcp_state_is_closing(LIVE(TCP_STATE_ESTABLISHED, TCP_EVENT_RST)));
	assert_int_equal(LIVE(TCP_STATE_RESET, TCP_EVENT_USED), TCP_STATE_RESET);
	assert_int_equal(LIVE(TCP_STATE_RESET, TCP_EVENT_GOES_ON), TCP_STATE_ESTABLISHED);
	assert_int_equal(LIVE(TCP_STATE_CLOSED, TCP_EVENT_GOES_ON), TCP_STATE_CLOSED);
}

static void the_short_time_out_is_for_both_closed(void **state)
{
	static const bool closing[TCP_STATES_MAX] = {
		[TCP_STATE_LAST_ACK] = true,
		[TCP_STATE_CLOSING] = true,
		[TCP_STATE_TIME_WAIT] = true,
		[TCP_STATE_CLOSED] = true,
		[TCP_STATE_RESET] = true,
	};
	(void)state;

	for (unsigned i = 0; i < TCP_STATES_MAX; i++)
		assert_int_equal(tcp_state_is_closing(i), closing[i]);
}

static void flags_alone_tell_a_state(void **state)
{
	static const struct {
		uint8_t flags[2];
		const char *word;
	} cases[] = {
		{{TH_SYN, 0}, "syn_sent"},
		{{TH_SYN, TH_SYN | TH_ACK}, "syn_recv"},
		{{TH_SYN | TH_ACK, TH_SYN | TH_ACK}, "established"},
		{{TH_ACK, TH_ACK}, "established"}, // midstream
		{{TH_SYN | TH_ACK | TH_FIN, TH_SYN | TH_ACK}, "fin_wait1"},
		{{TH_SYN, TH_RST | TH_ACK}, "closed"},
	};
	(void)state;

	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_string_equal(
			tcp_state_word(tcp_state_of_flags(cases[i].flags)), cases[i].word);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_initiator_closes_first),
		cmocka_unit_test(the_responder_closes_first),
		cmocka_unit_test(both_close_at_once),
		cmocka_unit_test(a_reset_that_nobody_obeyed),
		cmocka_unit_test(the_short_time_out_is_for_both_closed),
		cmocka_unit_test(flags_alone_tell_a_state),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
