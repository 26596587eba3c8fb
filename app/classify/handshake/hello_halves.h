// SPDX-License-Identifier: BSD-3-Clause
// Inside app/classify: where the hellos of a datagram flow are kept, one for each half that asks.
// The first lies in the flow's state; a second state is taken only while the other half asks, too,
// which few flows ever see. So what is forged in one half's name costs a state more, and takes
// nothing from the other half's.
#ifndef SLUICE_HELLO_HALVES_H
#define SLUICE_HELLO_HALVES_H

#include "classify/states.h"

// The hello of that half that goes on; NULL: none does. `state`: the flow's, or NULL.
struct datagram_hello *halves_kept(
	struct classifier *classifier, struct state *state, unsigned half);
// The same, or an empty one to read the datagram at hand with: the classifier's own if the flow has
// no state, or has the other half's in it.
struct datagram_hello *halves_open(
	struct classifier *classifier, struct state *state, unsigned half);
// What became of both after a datagram of `half`, which `hello` was opened for: one that goes on is
// kept beside the other, what is over gives its place back. False: no state is free to keep it in.
// A flow without a state takes one as all do (job_keep).
bool halves_settle(struct classifier *classifier, struct state *state, unsigned half,
	struct datagram_hello *hello);
// The flow's state is given back, or loses its hellos.
void halves_end(struct classifier *classifier, struct state *state);

#endif
