// SPDX-License-Identifier: BSD-3-Clause
// Where signatures are when nobody says it. Control side.
#ifndef SLUICE_SIGNATURES_PATH_H
#define SLUICE_SIGNATURES_PATH_H

#include <stddef.h>

// `name` in the folder of the file `path`.
void path_beside(const char *path, const char *name, char *out, size_t out_len);
// signatures/ beside the policy; else config/signatures of the source tree, for a program that runs
// from its build folder; else those that are installed.
void signatures_path_default(const char *policy_path, char *out, size_t out_len);

#endif
