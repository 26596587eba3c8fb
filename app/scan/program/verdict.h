// SPDX-License-Identifier: BSD-3-Clause
// What libclamav's answer to one file is worth: a verdict of job.h. The engine says "clean" in many
// cases in which it has not looked; here is the table of them.
#ifndef SLUICE_SCAN_PROGRAM_VERDICT_H
#define SLUICE_SCAN_PROGRAM_VERDICT_H

#include "scan/job.h"

// What was seen while one file was scanned. Zero at its beginning.
struct scan_facts {
	uint32_t reasons;              // bit `enum scan_reason`: a part was not looked at
	char signature[SCAN_NAME_MAX]; // the first that was found; "": none
};

struct scan_outcome {
	enum scan_value value;
	enum scan_reason reason;
	char name[SCAN_NAME_MAX]; // of SCAN_INFECTED, as the wire wants it
};

// The engine has a name for something: a signature, or one of its own for what it could not do.
// NULL and "" (a limit was exceeded, and the engine does not say which) are allowed.
void scan_facts_name(struct scan_facts *facts, const char *name);
void scan_facts_reason(struct scan_facts *facts, enum scan_reason reason);

// `result`: a cl_error_t. A signature beats everything; then what was not looked at; and only an
// engine that has reported neither that nor an error says clean.
void scan_verdict_make(int result, const struct scan_facts *facts, struct scan_outcome *out);

#endif
