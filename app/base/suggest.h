// SPDX-License-Identifier: BSD-3-Clause
// "Did you mean": the candidate that is nearest to a mistyped word. Pure; control core.
#ifndef SLUICE_SUGGEST_H
#define SLUICE_SUGGEST_H

struct suggestion {
	const char *word; // borrowed, as are the candidates
	const char *best;
	unsigned distance;
};

struct suggestion suggest_for(const char *word);
void suggest_offer(struct suggestion *suggestion, const char *candidate);
// The best candidate if it is near enough to be meant (a third of the letters), or NULL.
const char *suggest_get(const struct suggestion *suggestion);

#endif
