// SPDX-License-Identifier: BSD-3-Clause
// Keeps the numbers of signatures over reloads: flows and events carry a signature's index, and
// outlive the set it came from. Control core only.
#ifndef SLUICE_SIGNATURE_ORDER_H
#define SLUICE_SIGNATURE_ORDER_H

#include "classify.h"

// Reorders `now` in place so that an id that was in `before` stands at its old index again, if
// that index still exists; new ids fill the places of those that went. -ENOMEM: order unchanged.
int signature_order_keep(
	const struct signature *before, unsigned n_before, struct signature *now, unsigned n_now);
// Same signatures, same order: the compiled database can be shared.
bool signature_order_same(
	const struct signature *a, unsigned n_a, const struct signature *b, unsigned n_b);

#endif
