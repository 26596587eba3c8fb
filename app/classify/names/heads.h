// SPDX-License-Identifier: BSD-3-Clause
// Inside app/classify: the pool of heads that are not here to their end (classify/names/follow.h).
// When it is full the place that was taken first goes to another flow, in this order:
//
//   of a flow that is not heard, for one that is
//   after NAME_HEAD_REST_S, for anybody
//   at once, from a source that has more places, for one that has less
//
// so that neither one host nor many can keep all of them. Half of the places are for flows that are
// heard and came from the inside. The flow that loses its place is NAMES_DISPLACED: it must not say
// the rest of what nobody has the beginning of.
#ifndef SLUICE_NAME_HEADS_H
#define SLUICE_NAME_HEADS_H

#include "classify/names/follow.h"

#define NAME_HEAD_REST_S 10 // longer than a line takes that is sent at once, whatever the line

// A place for `owner`, which has none. 0: none is to be had. The octets are undefined.
uint32_t name_head_acquire(
	struct name_heads *heads, struct names_follow *owner, const struct name_user *user);
uint8_t *name_head_at(struct name_heads *heads, uint32_t ref);
void name_head_release(struct name_heads *heads, uint32_t ref);

#endif
