// SPDX-License-Identifier: BSD-3-Clause
// Looks up the steps of a flow's life, and writes the flags that mean its states.
#include "pipeline/flow/states.h"

// The state behind each edge, from 1; 0: there is none.
static const uint8_t behind[FLOW_LIFE_MAX][FLOW_STEPS_MAX] = {
#define X(from, step, to, reason) [FLOW_LIFE_##from][FLOW_STEP_##step] = FLOW_LIFE_##to + 1,
	FLOW_EDGES(X)
#undef X
};

static const struct {
	uint16_t set, clear;
} flags_of[FLOW_STEPS_MAX] = {
#define X(step, set, clear) {(set), (clear)},
	FLOW_STEPS(X)
#undef X
};

enum flow_life flow_life_next(enum flow_life from, enum flow_step step)
{
	unsigned to = behind[from][step];

	return to ? to - 1 : FLOW_LIFE_MAX;
}

static enum flow_life last_word(uint16_t flags)
{
	if (flags & FLOW_ALLOWED)
		return FLOW_LIFE_ALLOWED;
	return flags & FLOW_OPERATOR ? FLOW_LIFE_OPERATOR : FLOW_LIFE_POLICY;
}

enum flow_life flow_life_of(const struct flow *flow, enum flow_step step)
{
	if (step >= FLOW_STEP_ALLOW)
		return last_word(flow->flags);
	if (!flow->gen)
		return FLOW_LIFE_FREE;
	if (flow->flags & FLOW_FINAL)
		return FLOW_LIFE_FINAL;
	return flow->flags & FLOW_APP_FINAL ? FLOW_LIFE_CLASSIFIED : FLOW_LIFE_UNDECIDED;
}

enum flow_life flow_life_of_stub(const struct flow_stub *stub, enum flow_step step)
{
	bool blocked = stub->lru_class == FLOW_CLASS_BLOCKED;

	if (step >= FLOW_STEP_ALLOW)
		return blocked && stub->flags & FLOW_FOUND ? FLOW_LIFE_FOUND
							   : last_word(stub->flags);
	if (!stub->gen)
		return FLOW_LIFE_FREE;
	if (blocked)
		return stub->flags & FLOW_LATE ? FLOW_LIFE_LATE : FLOW_LIFE_BLOCKED;
	return stub->flags & FLOW_UNCONFIRMED ? FLOW_LIFE_UNCONFIRMED : FLOW_LIFE_STUB;
}

enum flow_life flow_life_move(enum flow_life from, enum flow_step step, uint16_t *flags)
{
	enum flow_life to = flow_life_next(from, step);

	assert(to != FLOW_LIFE_MAX);
	*flags = (uint16_t)((*flags & ~flags_of[step].clear) | flags_of[step].set);
	return to;
}

enum flow_end flow_end_of(enum flow_step step)
{
	switch (step) {
	case FLOW_STEP_TIMEOUT: return FLOW_END_TIMEOUT;
	case FLOW_STEP_SHUTDOWN: return FLOW_END_SHUTDOWN;
	case FLOW_STEP_CLOSE:
	case FLOW_STEP_REUSE: return FLOW_END_CLOSED;
	default: return FLOW_END_FORCED;
	}
}
