// SPDX-License-Identifier: BSD-3-Clause
// Time, as every stage sees it: nanoseconds since the Unix epoch, read once per loop and passed
// as an argument (`uint64_t now_ns`). On a port it is the wall clock at start plus the TSC since
// then, so it never steps; in replay it is the capture's own time. No stage reads a clock.
#ifndef SLUICE_TICK_H
#define SLUICE_TICK_H

// rte_cycles.h has an NS_PER_S too, of type int: included first, so that ours, 64 bits wide, stays.
#include <rte_cycles.h>
#undef NS_PER_S
#define NS_PER_US 1000ull
#define NS_PER_MS 1000000ull
#define NS_PER_S  1000000000ull

#endif
