// SPDX-License-Identifier: BSD-3-Clause
// The life of a flow as a table: the states of an entry, the steps between them, and a reason for
// each edge. README.md has the same table with the places where steps are made.
//
// An entry is in two states at once, each with steps of its own: what it is (FREE to LATE), and who
// has the last word on it (POLICY to FOUND). No field holds them: they are what its pool, its
// time-out class and its flags say. The flags of FLOW_STEPS are written here alone; FLOW_FOUND and
// FLOW_LATE are so only of blocked stubs, other entries have other flags in their places.
//
// What the table does not have is a defect: an assertion ends a build with assertions; another one
// takes the step, and the flags are written. The owning lcore only.
#ifndef SLUICE_FLOW_STATES_H
#define SLUICE_FLOW_STATES_H

#include <assert.h>
#include "pipeline/flow/flow.h"

// X(state, what it is)
#define FLOW_LIVES(X)                                                                         \
	X(FREE, "no entry")                                                                   \
	X(STUB, "no payload yet")                                                             \
	X(UNCONFIRMED, "a stub on the tuple of a blocked flow: no SYN-ACK has taken its SYN") \
	X(UNDECIDED, "a flow that is being classified")                                       \
	X(CLASSIFIED, "a flow whose application is settled; its packets are inspected")       \
	X(FINAL, "a flow that is decided for good; its packets take the fast path")           \
	X(BLOCKED, "a stub that drops everything (condemned)")                                \
	X(LATE, "the same, after packets that still came were noted")                         \
	X(POLICY, "the policy decides")                                                       \
	X(ALLOWED, "the operator lets it pass, whatever the policy says")                     \
	X(OPERATOR, "the operator's allowance is over, or he has reset it")                   \
	X(FOUND, "the scan engine has found something; no policy says otherwise")

enum flow_life {
#define X(state, what) FLOW_LIFE_##state,
	FLOW_LIVES(X)
#undef X
		FLOW_LIFE_MAX
};

// X(step, flags that it sets, flags that it clears). Steps from ALLOW on are of the last word.
#define FLOW_STEPS(X)                              \
	X(ADMIT, 0, 0)                             \
	X(DOUBT, FLOW_UNCONFIRMED, 0)              \
	X(CONFIRM, 0, FLOW_UNCONFIRMED)            \
	X(PROMOTE, 0, 0)                           \
	X(CLASSIFY, FLOW_APP_FINAL, 0)             \
	X(SETTLE, FLOW_FINAL, 0)                   \
	X(LOOK_AGAIN, 0, FLOW_FINAL)               \
	X(REVIEW, 0, FLOW_FINAL)                   \
	X(ANEW, 0, FLOW_APP_FINAL | FLOW_FINAL)    \
	X(BLOCK, 0, 0)                             \
	X(NOTE_LATE, FLOW_LATE, 0)                 \
	X(TIMEOUT, 0, 0)                           \
	X(CLOSE, 0, 0)                             \
	X(EVICT, 0, 0)                             \
	X(SHUTDOWN, 0, 0)                          \
	X(REUSE, 0, 0)                             \
	X(REFUSE, 0, 0)                            \
	X(REPRIEVE, 0, 0)                          \
	X(LAPSE, 0, 0)                             \
	X(NEW_SYN, 0, 0)                           \
	X(RELEASE, 0, 0)                           \
	X(ALLOW, FLOW_ALLOWED, FLOW_OPERATOR)      \
	X(EXPIRE, FLOW_OPERATOR, FLOW_ALLOWED)     \
	X(RESUME, 0, FLOW_ALLOWED | FLOW_OPERATOR) \
	X(RESET, FLOW_OPERATOR, FLOW_ALLOWED)      \
	X(FIND, FLOW_FOUND, 0)

enum flow_step {
#define X(step, set, clear) FLOW_STEP_##step,
	FLOW_STEPS(X)
#undef X
		FLOW_STEPS_MAX
};

#define FLOW_EDGES_OF_STUBS(X, step, to, reason) \
	X(STUB, step, to, reason)                \
	X(UNCONFIRMED, step, to, reason)
#define FLOW_EDGES_OF_FLOWS(X, step, to, reason) \
	X(UNDECIDED, step, to, reason)           \
	X(CLASSIFIED, step, to, reason)          \
	X(FINAL, step, to, reason)
#define FLOW_EDGES_OF_BLOCKED(X, step, to, reason) \
	X(BLOCKED, step, to, reason)               \
	X(LATE, step, to, reason)
#define FLOW_EDGES_OF_ALL(X, step, to, reason)   \
	FLOW_EDGES_OF_STUBS(X, step, to, reason) \
	FLOW_EDGES_OF_FLOWS(X, step, to, reason) \
	FLOW_EDGES_OF_BLOCKED(X, step, to, reason)

// X(from, step, to, reason)
#define FLOW_EDGES(X)                                                                              \
	X(FREE, ADMIT, STUB, "the first packet of a key")                                          \
	X(STUB, DOUBT, UNCONFIRMED, "it began with a SYN on the tuple of a blocked flow")          \
	X(UNCONFIRMED, CONFIRM, STUB, "both ends are heard: it is a new connection")               \
	FLOW_EDGES_OF_STUBS(X, PROMOTE, UNDECIDED, "its first payload, or a FIN ahead of it")      \
	X(UNDECIDED, CLASSIFY, CLASSIFIED, "its application is settled, or no longer asked for")   \
	X(CLASSIFIED, SETTLE, FINAL, "it passes, and nothing wants more of it")                    \
	X(FINAL, LOOK_AGAIN, CLASSIFIED, "datagrams: its other end may be of another application") \
	X(FINAL, REVIEW, CLASSIFIED, "the policy has changed, or an allowance has ended")          \
	FLOW_EDGES_OF_FLOWS(X, ANEW, UNDECIDED, "what was read of it does not count")              \
	FLOW_EDGES_OF_STUBS(X, BLOCK, BLOCKED, "by a rule, or by the operator")                    \
	FLOW_EDGES_OF_FLOWS(X, BLOCK, BLOCKED, "by a rule, a scan's verdict, or the operator")     \
	X(BLOCKED, NOTE_LATE, LATE, "a packet of the old flow was dropped")                        \
	FLOW_EDGES_OF_ALL(X, TIMEOUT, FREE, "nothing came for the time of its class")              \
	FLOW_EDGES_OF_FLOWS(X, CLOSE, FREE, "FIN of both halves or a RST, and the short time-out") \
	FLOW_EDGES_OF_ALL(X, EVICT, FREE, "there is no room: another needs its place")             \
	FLOW_EDGES_OF_ALL(X, SHUTDOWN, FREE, "the gateway ends")                                   \
	FLOW_EDGES_OF_FLOWS(X, REUSE, FREE, "its ends have made a new handshake on its tuple")     \
	FLOW_EDGES_OF_STUBS(X, REFUSE, FREE, "a rule blocks it, and one end alone is heard")       \
	FLOW_EDGES_OF_FLOWS(X, REFUSE, FREE, "it is blocked, and one end alone is heard")          \
	FLOW_EDGES_OF_BLOCKED(X, REPRIEVE, FREE, "the policy does not block it any more")          \
	FLOW_EDGES_OF_BLOCKED(X, LAPSE, FREE, "a packet came when its time was over")              \
	FLOW_EDGES_OF_BLOCKED(X, NEW_SYN, FREE, "a SYN: perhaps of a new connection")              \
	FLOW_EDGES_OF_BLOCKED(X, RELEASE, FREE, "the operator allows what comes next")             \
	X(POLICY, ALLOW, ALLOWED, "by the operator, for it or in the connection cache")            \
	X(ALLOWED, ALLOW, ALLOWED, "once more")                                                    \
	X(OPERATOR, ALLOW, ALLOWED, "once more, before the policy has decided")                    \
	X(ALLOWED, EXPIRE, OPERATOR, "the allowance of a flow has ended")                          \
	X(ALLOWED, RESUME, POLICY, "the allowance of a stub has ended")                            \
	X(OPERATOR, RESUME, POLICY, "the flow is decided again")                                   \
	X(POLICY, RESET, OPERATOR, "by the operator")                                              \
	X(ALLOWED, RESET, OPERATOR, "by the operator, who had allowed it")                         \
	X(OPERATOR, RESET, OPERATOR, "by the operator, before the policy has decided")             \
	X(POLICY, FIND, FOUND, "a scan's verdict has blocked it")                                  \
	X(OPERATOR, FIND, FOUND, "a scan's verdict has blocked it before the policy decided")

// FLOW_LIFE_MAX: the table has no such edge.
enum flow_life flow_life_next(enum flow_life from, enum flow_step step);

// The state that `step` begins in.
enum flow_life flow_life_of(const struct flow *flow, enum flow_step step);
enum flow_life flow_life_of_stub(const struct flow_stub *stub, enum flow_step step);

// The step itself: of an entry in the state `from`, whose flags these are. What turns a stub into a
// flow, or ends an entry, writes no flags: its caller does the rest. Returns the state behind it.
enum flow_life flow_life_move(enum flow_life from, enum flow_step step, uint16_t *flags);

static inline bool flow_step_has_flags(enum flow_step step)
{
	static const uint16_t flags[] = {
#define X(step, set, clear) (set) | (clear),
		FLOW_STEPS(X)
#undef X
	};
	return flags[step];
}

static inline void flow_life_step(struct flow *flow, enum flow_step step)
{
	enum flow_life to = flow_life_move(flow_life_of(flow, step), step, &flow->flags);

	assert(!flow_step_has_flags(step) || flow_life_of(flow, step) == to);
	(void)to;
}

static inline void flow_life_step_stub(struct flow_stub *stub, enum flow_step step)
{
	enum flow_life to = flow_life_move(flow_life_of_stub(stub, step), step, &stub->flags);

	assert(!flow_step_has_flags(step) || flow_life_of_stub(stub, step) == to);
	(void)to;
}

// Unless it is final.
static inline void flow_life_settle(struct flow *flow)
{
	if (!(flow->flags & FLOW_FINAL))
		flow_life_step(flow, FLOW_STEP_SETTLE);
}

// What an entry's record says that ends by that step.
enum flow_end flow_end_of(enum flow_step step);

#endif
