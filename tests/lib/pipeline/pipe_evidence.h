// SPDX-License-Identifier: BSD-3-Clause
// Questions to the lcores of a pipe, as the control core asks them.
#ifndef SLUICE_TEST_PIPE_EVIDENCE_H
#define SLUICE_TEST_PIPE_EVIDENCE_H

#include "pipe.h"
#include "pipeline/event/evidence.h"
#include "pipeline/query.h"

// Posts the question to one lcore and lets the lcores take turns until it is answered; a question
// of pages is continued as long as there is room.
void pipe_ask(struct pipe *pipe, unsigned lcore, struct query *query);
// Evidence of a flow (or by `filter`) on all lcores, oldest first by lcore; at most `max`.
unsigned pipe_evidence(struct pipe *pipe, const struct evidence_filter *filter,
	struct evidence *out, unsigned max);
// The only live flow or stub, on any lcore; fails the test if there are more or none.
struct flow_record pipe_only_flow(struct pipe *pipe);

#endif
