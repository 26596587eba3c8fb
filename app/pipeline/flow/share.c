// SPDX-License-Identifier: BSD-3-Clause
// Counts entries by source in a count-min sketch.
#include "pipeline/flow/share.h"

bool flow_share_full(const struct flow_shares *shares, struct flow_share share)
{
	return shares->count[0][share.at[0]] >= shares->most &&
	       shares->count[1][share.at[1]] >= shares->most;
}

void flow_share_add(struct flow_shares *shares, struct flow_share share)
{
	for (unsigned row = 0; row < 2; row++)
		shares->count[row][share.at[row]]++;
}

void flow_share_sub(struct flow_shares *shares, struct flow_share share)
{
	for (unsigned row = 0; row < 2; row++)
		shares->count[row][share.at[row]]--;
}
