// SPDX-License-Identifier: BSD-3-Clause
// What the tests of the audit log share: a folder of their own, the log in it, and its lines.
#ifndef SLUICE_TEST_AUDIT_RIG_H
#define SLUICE_TEST_AUDIT_RIG_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "audit/log.h"
#include "audit/verify.h"

#define NOW_US 1700000000000000u // 2023-11-14T22:13:20

// A new folder under /tmp for each test, as *state; removed with all in it.
int rig_setup(void **state);
int rig_teardown(void **state);
// FOLDER/NAME; 64 of them live at a time.
const char *rig_path(const char *folder, const char *name);

struct audit_log *rig_open(const char *folder, uint64_t file_bytes);
int rig_try_open(const char *folder, const struct audit_log_options *more, struct audit_log **out,
	char *err, size_t err_len);
// {"n":<n>}
int rig_append(struct audit_log *log, unsigned n);
void rig_append_many(struct audit_log *log, unsigned n);

// The whole file; NUL behind it. Freed by the caller.
char *rig_read(const char *path, size_t *length);
void rig_write(const char *path, const char *bytes, size_t length);
// How many of its lines there are with the text in it.
unsigned rig_count(const char *path, const char *text);

struct rig_faults {
	unsigned n;
	struct {
		char file[256];
		uint64_t line, seq;
		char what[400];
	} at[8];
};
// Verifies the folder, with a head or NULL; the return value is that of audit_verify.
int rig_verify(const char *path, const char *anchor, struct rig_faults *faults,
	struct audit_summary *summary);
// The log in the folder has no fault; its last number.
uint64_t rig_is_good(const char *folder);

#endif
