// SPDX-License-Identifier: BSD-3-Clause
// The table of TCP states with their transitions.
#include <netinet/tcp.h>
#include "reassembly/tcp_state.h"

struct transition {
	uint8_t from, event, to;
};
#define EDGE(from, event, to)                                       \
	{                                                           \
		TCP_STATE_##from, TCP_EVENT_##event, TCP_STATE_##to \
	}

// What is not here changes nothing.
static const struct transition transitions[] = {
	EDGE(SYN_SENT, ANSWERED, SYN_RECV),
	EDGE(SYN_SENT, USED, ESTABLISHED), // on the SYN (RFC 7413), or the answer passed elsewhere
	EDGE(SYN_RECV, USED, ESTABLISHED),

	EDGE(SYN_SENT, FIN_C2S, FIN_WAIT1), // closed without payload
	EDGE(SYN_SENT, FIN_S2C, CLOSE_WAIT), EDGE(SYN_RECV, FIN_C2S, FIN_WAIT1),
	EDGE(SYN_RECV, FIN_S2C, CLOSE_WAIT), EDGE(ESTABLISHED, FIN_C2S, FIN_WAIT1),
	EDGE(ESTABLISHED, FIN_S2C, CLOSE_WAIT),

	EDGE(FIN_WAIT1, ACKED_C2S, FIN_WAIT2),
	EDGE(FIN_WAIT1, FIN_S2C,
		CLOSING), // acknowledged with the same segment: see the caller's order
	EDGE(FIN_WAIT2, FIN_S2C, TIME_WAIT), EDGE(CLOSE_WAIT, FIN_C2S, LAST_ACK),
	EDGE(CLOSING, ACKED_C2S, TIME_WAIT),
	EDGE(CLOSING, ACKED_S2C, LAST_ACK), // of the two, the initiator's is still due
	EDGE(LAST_ACK, ACKED_C2S, CLOSED), EDGE(TIME_WAIT, ACKED_S2C, CLOSED),

	EDGE(SYN_SENT, RST, RESET), // a port that is closed
	EDGE(SYN_RECV, RST, RESET), EDGE(ESTABLISHED, RST, RESET), EDGE(FIN_WAIT1, RST, RESET),
	EDGE(FIN_WAIT2, RST, RESET), EDGE(CLOSE_WAIT, RST, RESET), EDGE(LAST_ACK, RST, RESET),
	EDGE(CLOSING, RST, RESET), EDGE(TIME_WAIT, RST, RESET),
	EDGE(RESET, GOES_ON,
		ESTABLISHED), // it was forged, or challenged in vain (RFC 5961 section 3)
};

enum tcp_state tcp_state_next(enum tcp_state state, enum tcp_event event)
{
	for (unsigned i = 0; i < sizeof(transitions) / sizeof(transitions[0]); i++)
		if (transitions[i].from == state && transitions[i].event == event)
			return transitions[i].to;
	return state;
}

enum tcp_state tcp_state_of_flags(const uint8_t tcp_flags[2])
{
	enum tcp_state state = TCP_STATE_SYN_SENT;

	if (tcp_flags[1] & TH_SYN)
		state = tcp_state_next(state, TCP_EVENT_ANSWERED);
	if (tcp_flags[0] & TH_ACK || !((tcp_flags[0] | tcp_flags[1]) & TH_SYN))
		state = tcp_state_next(state, TCP_EVENT_USED);
	if (tcp_flags[0] & TH_FIN)
		state = tcp_state_next(state, TCP_EVENT_FIN_C2S);
	if (tcp_flags[1] & TH_FIN)
		state = tcp_state_next(state, TCP_EVENT_FIN_S2C);
	if ((tcp_flags[0] | tcp_flags[1]) & TH_RST)
		state = tcp_state_next(state, TCP_EVENT_RST);
	return state;
}

bool tcp_state_is_closing(enum tcp_state state)
{
	return state >= TCP_STATE_LAST_ACK;
}
