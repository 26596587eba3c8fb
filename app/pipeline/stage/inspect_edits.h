// SPDX-License-Identifier: BSD-3-Clause
// Whether messages of a flow may be changed on their way: then its bytes leave in order, and its
// packets are ours alone. The owning lcore only.
#ifndef SLUICE_INSPECT_EDITS_H
#define SLUICE_INSPECT_EDITS_H

#include "pipeline/stage/inspect.h"

// Before a segment is given to its track, under a policy that changes messages and of a track that
// was edited before. False: the packet cannot be made ours; it is to be dropped, and comes again.
bool inspect_edits(struct inspection *in, struct tcp_track *track);

#endif
