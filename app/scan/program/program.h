// SPDX-License-Identifier: BSD-3-Clause
// The whole program sluice-scan, as a function: tests give it another way to look at files.
#ifndef SLUICE_SCAN_PROGRAM_PROGRAM_H
#define SLUICE_SCAN_PROGRAM_PROGRAM_H

#include "scan/program/child.h"

int scan_program(int argc, char **argv, scan_look_fn *look);

#endif
