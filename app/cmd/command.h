// SPDX-License-Identifier: BSD-3-Clause
// What the commands share: how configuration errors are printed, and where files are by default.
#ifndef SLUICE_COMMAND_H
#define SLUICE_COMMAND_H

#include <stddef.h>
#include "config/error.h"

#define COMMAND_PATH_MAX 4096

int apps_main(int argc, char **argv);    // `sluice apps`
int import_main(int argc, char **argv);  // `sluice import`
int verify_main(int argc, char **argv);  // `sluice verify`
int version_main(int argc, char **argv); // `sluice version`

// Every error, one line each, to standard error; frees them. Returns EXIT_CODE_CONFIG.
int config_errors_print(struct config_errors *errors);
// policy.json beside gateway.json: what `run` takes without -p.
void policy_path_default(const char *gateway_path, char *out, size_t out_len);

#endif
