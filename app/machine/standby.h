// SPDX-License-Identifier: BSD-3-Clause
// The standby: a thread that does a stalled data lcore's input and output. Made at
// the start if inspection is to fail open, asleep until it is needed. It forwards what comes,
// uninspected (bypass.h), while it holds the lcore's lease (lease.h), and gives it back as soon as
// the lcore wants it.
//
// Called by the control core. Locks and sleeps are allowed here: it is not a data lcore.
#ifndef SLUICE_STANDBY_H
#define SLUICE_STANDBY_H

#include <stdbool.h>
#include <stddef.h>
#include "pipeline/lcore/lcore.h"

struct standby;

// After the lcores' queues were dealt, their rings connected, and EAL started; dp->clock_ns is set.
// dp->qsbr has room for reader n_lcores. Signals are blocked in the thread as they are in the
// caller. -ENOMEM, or -errno of the thread, with a message.
int standby_new(struct dataplane *dp, struct standby **out, char *err, size_t err_len);
// From now on the standby forwards for `lcore`. False: the lcore holds its lease, so it stands
// still inside a driver, and nobody else may touch its queues.
bool standby_take(struct standby *standby, unsigned lcore);
bool standby_has(const struct standby *standby, unsigned lcore);
// Sends what is in the rings of the lcores that it still has, gives them back, ends the thread.
// dp->stopping is set. NULL is allowed.
void standby_free(struct standby *standby);

#endif
