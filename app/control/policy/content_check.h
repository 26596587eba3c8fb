// SPDX-License-Identifier: BSD-3-Clause
// Rules whose keys on files and messages can never act, as no application that they match is
// decoded: an error. Where a part of them is decoded, a warning says which are not.
#ifndef SLUICE_CONTENT_CHECK_H
#define SLUICE_CONTENT_CHECK_H

#include "config/error.h"
#include "control/policy/app_tables.h"

void policy_check_content(const struct policy *policy, const struct app_tables *tables,
	const char *file, struct config_errors *errors);

#endif
