// SPDX-License-Identifier: BSD-3-Clause
// Edit distance between words, to suggest the right one for a mistyped one.
#include "base/suggest.h"
#include <ctype.h>
#include <limits.h>
#include <string.h>

#define NEAREST_WORD_MAX 64

static unsigned least(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

// Letters inserted, left out, changed or swapped with their neighbour; case does not count.
static unsigned distance(const char *a, const char *b)
{
	size_t la = strlen(a), lb = strlen(b);
	unsigned rows[3][NEAREST_WORD_MAX + 1];

	if (la > NEAREST_WORD_MAX || lb > NEAREST_WORD_MAX)
		return UINT_MAX;
	for (unsigned j = 0; j <= lb; j++)
		rows[0][j] = j;
	for (unsigned i = 1; i <= la; i++) {
		unsigned *row = rows[i % 3], *above = rows[(i + 2) % 3], *top = rows[(i + 1) % 3];

		row[0] = i;
		for (unsigned j = 1; j <= lb; j++) {
			int x = tolower((unsigned char)a[i - 1]),
			    y = tolower((unsigned char)b[j - 1]);

			row[j] = least(above[j - 1] + (x != y), least(above[j], row[j - 1]) + 1);
			if (i > 1 && j > 1 && x != y && x == tolower((unsigned char)b[j - 2]) &&
				y == tolower((unsigned char)a[i - 2]))
				row[j] = least(row[j], top[j - 2] + 1);
		}
	}
	return rows[la % 3][lb];
}

struct suggestion suggest_for(const char *word)
{
	return (struct suggestion){.word = word, .distance = UINT_MAX};
}

void suggest_offer(struct suggestion *suggestion, const char *candidate)
{
	unsigned d = distance(suggestion->word, candidate);

	if (d < suggestion->distance) {
		suggestion->distance = d;
		suggestion->best = candidate;
	}
}

const char *suggest_get(const struct suggestion *suggestion)
{
	size_t len = strlen(suggestion->word);

	return suggestion->best && suggestion->distance <= (len < 6 ? 2 : len / 3) &&
			       suggestion->distance < len
		       ? suggestion->best
		       : NULL;
}
