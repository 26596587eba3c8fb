// SPDX-License-Identifier: BSD-3-Clause
// Finds the state in which a half of a datagram flow keeps its hello.
#include "classify/handshake/hello_halves.h"

static struct state *beside(struct classifier *classifier, const struct look *look)
{
	return state_at(classifier, look->beside, STATE_BESIDE);
}

struct datagram_hello *halves_kept(
	struct classifier *classifier, struct state *state, unsigned half)
{
	if (!state || !half_asks(&state->look, half))
		return NULL;
	if (state->hello.half == half)
		return &state->hello;
	struct state *second = beside(classifier, &state->look);

	return second ? &second->hello : NULL;
}

struct datagram_hello *halves_open(
	struct classifier *classifier, struct state *state, unsigned half)
{
	struct datagram_hello *hello = halves_kept(classifier, state, half);

	if (hello)
		return hello;
	hello = state && !half_asks(&state->look, !half) ? &state->hello : &classifier->hello;
	SHOW(hello, sizeof(*hello));
	datagram_hello_clear(hello);
	hello->half = (uint8_t)half;
	return hello;
}

static bool keep_beside(
	struct classifier *classifier, struct state *state, const struct datagram_hello *hello)
{
	struct state *second = state_take(classifier, STATE_BESIDE, &state->look.beside);

	if (!second)
		return false;
	SHOW(&second->hello, sizeof(second->hello));
	second->hello = *hello;
	return true;
}

bool halves_settle(struct classifier *classifier, struct state *state, unsigned half,
	struct datagram_hello *hello)
{
	if (!state)
		return true;
	if (hello == &classifier->hello && half_asks(&state->look, half) &&
		!keep_beside(classifier, state, hello)) {
		state->look.host[half] = HOST_LOOKED_AT;
		return false;
	}
	struct state *second = beside(classifier, &state->look);

	if (!second || (half_asks(&state->look, 0) && half_asks(&state->look, 1)))
		return true;
	if (half_asks(&state->look, second->hello.half))
		state->hello = second->hello;
	halves_end(classifier, state);
	return true;
}

void classify_refused(struct classifier *classifier, uint32_t ref, unsigned half)
{
	struct datagram_hello *hello =
		halves_kept(classifier, state_at(classifier, ref, STATE_CLASSIFY), half);

	if (hello)
		hello->named = false;
}

void halves_end(struct classifier *classifier, struct state *state)
{
	struct state *second = beside(classifier, &state->look);

	if (second)
		SHOW(second->bytes, sizeof(second->bytes));
	state_give(classifier, &state->look.beside);
}
