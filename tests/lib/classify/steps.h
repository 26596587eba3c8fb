// SPDX-License-Identifier: BSD-3-Clause
// Work, counted without a clock: basic blocks that code compiled with -fsanitize-coverage=trace-pc
// runs through (the library classify_counted), and one for each 8 octets that the C library copies,
// compares or searches for it.
#ifndef SLUICE_TEST_STEPS_H
#define SLUICE_TEST_STEPS_H

#include <stdint.h>

extern uint64_t steps;

#endif
