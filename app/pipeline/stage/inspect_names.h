// SPDX-License-Identifier: BSD-3-Clause
// Names that a client asks for behind what classification reads: in a head of more than 2 KiB, and
// in each later request of a kept-alive HTTP connection (classify/names/follow.h). Done where the
// policy in force enforces rules on applications and names of hosts are known (the policy's own, or
// those of the signature files). Such a connection stays under inspection; a request that asks for
// another application's name has its flow decided again. The owning lcore only.
#ifndef SLUICE_INSPECT_NAMES_H
#define SLUICE_INSPECT_NAMES_H

#include "pipeline/stage/inspect.h"

// A span of a TCP flow, before anybody else reads it. False: no place is free for the beginning of
// a head, and the policy wants it looked at: the span is not taken.
bool inspect_names(struct inspection *in, const struct span *span);
// Classification has said what it has: a name that was found beyond it counts more than a carrier.
// True: `verdict` changed.
bool inspect_names_merge(struct inspection *in, struct classify_verdict *verdict);
// Classification has read a name of this application, which is refused, and found something else
// that is not: the name counts.
void inspect_names_first(struct inspection *in, uint16_t name, struct classify_verdict *verdict);
// The flow is known, and a request asked for something else.
void inspect_names_apply(struct inspection *in);

#endif
