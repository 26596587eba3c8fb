// SPDX-License-Identifier: BSD-3-Clause
// `sluice run`: startup and death of the gateway, in order.
#ifndef SLUICE_RUN_H
#define SLUICE_RUN_H

int run_main(int argc, char **argv);   // argv[0] is "run"
int check_main(int argc, char **argv); // `sluice check`: validates everything, prints every error

#endif
