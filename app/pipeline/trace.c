// SPDX-License-Identifier: BSD-3-Clause
#include <stdio.h>
#include "flow_event.h"
#include "trace.h"

void trace_stage(
	struct lcore *lcore, const struct walk *walk, const char *stage, enum verdict verdict)
{
	static const char *const words[] = {"next", "send", "drop", "taken"};
	struct event event = {.type = EVENT_TRACE};

	if (walk->ref != FLOW_REF_NONE)
		flow_event_identify(lcore, walk->ref, &event);
	event.half = (uint8_t)walk->half;
	snprintf(event.trace.text, sizeof(event.trace.text), "%s: %s%s%s", stage, words[verdict],
		verdict == VERDICT_DROP ? " " : "",
		verdict == VERDICT_DROP ? drop_reason_word(walk->reason) : "");
	event_send(lcore, &event);
}
