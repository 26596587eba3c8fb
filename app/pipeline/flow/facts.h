// SPDX-License-Identifier: BSD-3-Clause
// What is known of a flow, as decide() is asked. The owning lcore only.
#ifndef SLUICE_FLOW_FACTS_H
#define SLUICE_FLOW_FACTS_H

#include "pipeline/policy/decide.h"

struct lcore;

// Of a flow, not a stub. The input points to `ends` and into the flow: it is good until that
// changes.
void flow_decide_input(const struct lcore *lcore, uint32_t ref, struct flow_ends *ends,
	struct decide_input *input);
// ... as the content of a flow is asked about: of one whose application is not known, but claimed
// (expectation.h), it is that one.
void flow_content_input(const struct lcore *lcore, uint32_t ref, struct flow_ends *ends,
	struct decide_input *input);

#endif
