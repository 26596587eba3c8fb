// SPDX-License-Identifier: BSD-3-Clause
// `sluice apps --explain NAME`: how an application is known, or why it cannot be.
#ifndef SLUICE_EXPLAIN_H
#define SLUICE_EXPLAIN_H

#include <stdbool.h>

// NAME is an application's id or title, or a name that people ask for ("Snowflake"); letters of
// either case. Prints to standard output, as text or as one JSON object; what is unknown to
// standard error, with the nearest name. Returns an exit code.
int explain_application(const char *name, bool json);

#endif
