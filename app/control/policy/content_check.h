// SPDX-License-Identifier: BSD-3-Clause
// Rules whose keys on files and messages can never act, as no application that they match is
// decoded: an error. Where a part of them is decoded, a warning says which are not; others say
// what else keeps such a key from doing what its author thinks. Control core, or the builder's
// thread.
#ifndef SLUICE_CONTENT_CHECK_H
#define SLUICE_CONTENT_CHECK_H

#include "config/error.h"
#include "control/policy/app_tables.h"

void policy_check_content(const struct policy *policy, const struct app_tables *tables,
	const char *file, struct config_errors *errors);

// What gateway.json gives records a place in.
struct content_kept {
	bool known; // there is a gateway.json: else nothing is said
	bool audit; // paths.audit
	bool files; // paths.files
};
// Warns of rules that ask for more than is kept.
void policy_check_kept(const struct policy *policy, const struct content_kept *kept,
	const char *file, struct config_errors *errors);

#endif
