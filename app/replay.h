// SPDX-License-Identifier: BSD-3-Clause
// `sluice replay`: captures through the same pipeline_run under a virtual clock (CONVENTIONS).
#ifndef SLUICE_REPLAY_H
#define SLUICE_REPLAY_H

int replay_main(int argc, char **argv); // argv[0] is "replay"; returns an exit code

#endif
