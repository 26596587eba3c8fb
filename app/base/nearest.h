// SPDX-License-Identifier: BSD-3-Clause
// "Did you mean": the candidate that is nearest to a mistyped word. Pure; control core.
#ifndef SLUICE_NEAREST_H
#define SLUICE_NEAREST_H

struct nearest {
	const char *word; // borrowed, as are the candidates
	const char *best;
	unsigned distance;
};

struct nearest nearest_to(const char *word);
void nearest_offer(struct nearest *nearest, const char *candidate);
// The best candidate if it is near enough to be meant (a third of the letters), or NULL.
const char *nearest_get(const struct nearest *nearest);

#endif
