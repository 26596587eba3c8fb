// SPDX-License-Identifier: BSD-3-Clause
// The state of a TCP connection as a gateway sees it between its ends: transitions as data. States
// bear the names of RFC 9293 section 3.3.2 as its initiator would have them; the gateway is
// reported by segments that it believes. Pure; any lcore.
#ifndef SLUICE_TCP_STATE_H
#define SLUICE_TCP_STATE_H

#include <stdbool.h>
#include <stdint.h>

// X(symbol, word in events). The order is that of a connection's life.
#define TCP_STATES(X)                                                                       \
	X(SYN_SENT, "syn_sent")       /* the initiator's SYN was seen */                    \
	X(SYN_RECV, "syn_recv")       /* the responder's SYN was */                         \
	X(ESTABLISHED, "established") /* payload, or picked up midstream */                 \
	X(FIN_WAIT1, "fin_wait1")     /* the initiator has closed */                        \
	X(FIN_WAIT2, "fin_wait2")     /* and the responder knows */                         \
	X(CLOSE_WAIT, "close_wait")   /* the responder has closed */                        \
	X(LAST_ACK, "last_ack")       /* then the initiator, after it knew */               \
	X(CLOSING, "closing")         /* both, neither knowing of the other's */            \
	X(TIME_WAIT, "time_wait")     /* both have, and all is acknowledged but the last */ \
	X(CLOSED, "closed")           /* nothing more is due */                             \
	X(RESET, "closed")            /* by a RST: its receiver may not have obeyed it */

enum tcp_state {
#define X(symbol, word) TCP_STATE_##symbol,
	TCP_STATES(X)
#undef X
		TCP_STATES_MAX
};

enum tcp_event {
	TCP_EVENT_ANSWERED, // the responder's SYN
	TCP_EVENT_USED,     // payload of either, or the initiator has acknowledged the answer
	TCP_EVENT_FIN_C2S,  // in the window
	TCP_EVENT_FIN_S2C,
	TCP_EVENT_ACKED_C2S, // the FIN of the initiator was acknowledged
	TCP_EVENT_ACKED_S2C,
	TCP_EVENT_RST,     // in the window
	TCP_EVENT_GOES_ON, // payload was acknowledged that had not been
	TCP_EVENTS_MAX
};

// Of a connection of which only flags were noted, by half (the initiator's first).
enum tcp_state tcp_state_of_flags(const uint8_t tcp_flags[2]);
enum tcp_state tcp_state_next(enum tcp_state state, enum tcp_event event);
static inline const char *tcp_state_word(enum tcp_state state)
{
	static const char *const words[] = {
#define X(symbol, word) word,
		TCP_STATES(X)
#undef X
	};
	return state < TCP_STATES_MAX ? words[state] : "?";
}
// Both ends have closed, or one has reset it: the short time-out.
bool tcp_state_is_closing(enum tcp_state state);

#endif
