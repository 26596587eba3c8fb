// SPDX-License-Identifier: BSD-3-Clause
// Many schedules against one gateway; what fails is cut down to what still fails, and printed.
#ifndef SLUICE_MODEL_STREAM_CAMPAIGN_H
#define SLUICE_MODEL_STREAM_CAMPAIGN_H

#include "stream_world.h"

struct stream_campaign {
	const char *name;
	uint64_t first, n; // seeds
	bool observe;
	bool plain; // only schedules in which nothing is held, one-sided or midstream
};

// True: all were as the law wants it; their tally and time are printed. Else the first that was not
// is printed, cut down, and the seed that shows it again.
bool stream_campaign_run(
	const struct stream_gateway *gateway, const struct stream_campaign *campaign);
// The first seed that fails, cut down into `schedule`; 0: none does. `why` as of the cut one.
uint64_t stream_campaign_find(const struct stream_gateway *gateway,
	const struct stream_campaign *campaign, struct stream_schedule *schedule, char *why,
	size_t size);

#endif
