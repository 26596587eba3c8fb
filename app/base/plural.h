// SPDX-License-Identifier: BSD-3-Clause
// The form of a word that goes with a number: "1 flow was", "2 flows were". Pure, for any core.
#ifndef SLUICE_PLURAL_H
#define SLUICE_PLURAL_H

#include <stdint.h>

static inline const char *plural(uint64_t n, const char *one, const char *many)
{
	return n == 1 ? one : many;
}

#endif
