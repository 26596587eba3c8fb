// SPDX-License-Identifier: BSD-3-Clause
// All problems of a configuration, each with its place: a check prints every one, not the first.
#ifndef SLUICE_CONFIG_ERROR_H
#define SLUICE_CONFIG_ERROR_H

#include <stddef.h>

struct config_errors {
	char **lines; // "policy.json: $.rules[3].action: \"rest\" is not one of pass, drop, reset"
	size_t n;
	size_t dropped;  // beyond CONFIG_ERRORS_MAX
	char **warnings; // the same of what is allowed, and probably not meant
	size_t n_warnings;
};
#define CONFIG_ERRORS_MAX 200

// `path` is a JSON path ("$.rules[3].action") or "" for the whole file. Never fails: out of
// memory is counted in `dropped`.
void config_error_add(struct config_errors *errors, const char *file, const char *path,
	const char *format, ...) __attribute__((format(printf, 4, 5)));
// The same for a warning, which refuses nothing. Out of memory, and beyond CONFIG_ERRORS_MAX, it is
// lost.
void config_warning_add(struct config_errors *errors, const char *file, const char *path,
	const char *format, ...) __attribute__((format(printf, 4, 5)));
void config_errors_free(struct config_errors *errors);

#endif
