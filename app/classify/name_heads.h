// SPDX-License-Identifier: BSD-3-Clause
// Inside app/classify: the pool of heads that are not here to their end (names_follow.h).
#ifndef SLUICE_NAME_HEADS_H
#define SLUICE_NAME_HEADS_H

#include "names_follow.h"

// 0: none is free; with `leaves_half` also if taking one would leave less than half of all free.
// The octets are undefined.
uint32_t name_head_acquire(struct name_heads *heads, bool leaves_half);
uint8_t *name_head_at(struct name_heads *heads, uint32_t ref);
void name_head_release(struct name_heads *heads, uint32_t ref);

#endif
