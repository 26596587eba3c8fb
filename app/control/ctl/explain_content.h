// SPDX-License-Identifier: BSD-3-Clause
// What evidence says of files and messages: which entry of which rule matched what, by what.
// Control core only.
#ifndef SLUICE_EXPLAIN_CONTENT_H
#define SLUICE_EXPLAIN_CONTENT_H

#include "control/ctl/explain.h"

#define EXPLAIN_CONTENT_MAX 512

// "transfer of \"setup.exe\" matched rules[0].transfers[1] (name *.exe)", of the last piece of the
// flow with that mode; `decision` not NULL: of its rule. False: there is none.
bool explain_content(const struct explain_facts *facts, enum mode mode,
	const struct evidence *decision, char out[EXPLAIN_CONTENT_MAX]);
// The members of a piece of one of the kinds EVIDENCE_CONTENT*.
void explain_content_put(json_t **object, const struct evidence *evidence);

#endif
