// SPDX-License-Identifier: BSD-3-Clause
// Keeps the numbers of signatures over reloads: flows and events carry a signature's index, and
// outlive the set it came from. Control core only.
#ifndef SLUICE_SIGNATURE_ORDER_H
#define SLUICE_SIGNATURE_ORDER_H

#include "classify/classify.h"

// So many ids that went keep their place (signature_is_gone), for what still names them; beyond
// that, new ids take the first of those places.
#define SIGNATURES_GONE_MAX 1024

// Reorders `*now`, an array to free() that may be made anew, so that an id that was in `before`
// stands at its old index again and an id that went stays there as gone. -ENOMEM: unchanged.
int signature_order_keep(
	const struct signature *before, unsigned n_before, struct signature **now, unsigned *n_now);
// Same signatures, same order: the compiled database can be shared.
bool signature_order_same(
	const struct signature *a, unsigned n_a, const struct signature *b, unsigned n_b);

#endif
