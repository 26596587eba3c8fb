// SPDX-License-Identifier: BSD-3-Clause
// Memory runs out at each place where it can, one after the other. A program that uses this is
// linked as `starved` says (rig/meson.build): the functions of starved.c then stand in the place
// of the C library's and DPDK's. jansson is given them by starved_begin.
#ifndef SLUICE_TEST_STARVED_H
#define SLUICE_TEST_STARVED_H

#include <stdbool.h>

enum starved_outcome {
	STARVED_DONE, // what was asked for, complete: the step has looked at it
	STARVED_TOLD, // it was refused, and whoever asked knows
};

// Before anything is made of jansson's.
void starved_begin(void);

// Runs `step` with its first request for memory refused, then with its second ... until none was;
// how many there were. Nothing that a run of it asks for may be left behind, unless `keeps`, and
// without a refusal it must be STARVED_DONE.
unsigned starved_run(enum starved_outcome (*step)(void *ctx), void *ctx);
unsigned starved_run_keeps(enum starved_outcome (*step)(void *ctx), void *ctx);

// Inside a step: what follows is not the code under test and gets all that it asks for, and ends
// of that. What was held before may be given back.
void starved_pause(void);
void starved_resume(void);
bool starved_now(void); // the refusal has happened

#endif
