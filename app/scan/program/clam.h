// SPDX-License-Identifier: BSD-3-Clause
// Calls libclamav, and nothing else does. Loaded by the parent, used by its children, which have
// the same pages until one writes to them.
#ifndef SLUICE_SCAN_PROGRAM_CLAM_H
#define SLUICE_SCAN_PROGRAM_CLAM_H

#include "scan/program/settings.h"
#include "scan/program/verdict.h"

struct cl_engine;

struct scan_clam {
	struct cl_engine *engine; // NULL: none
	bool opens_rar;
	uint32_t signatures;
	uint64_t db_version; // highest of its files; 0: custom files alone
	uint64_t db_time_s;  // of its newest file
	uint64_t max_bytes;  // of one file
	uint8_t digest[32];  // SHA-256 over files, limits, options and libclamav's version
};

// Loads the folder of `settings`. 0; -EAGAIN: files changed meanwhile; -ENOENT: there are no
// signatures; -EINVAL: libclamav refuses them. With a message.
int scan_clam_load(
	struct scan_clam *clam, const struct scan_settings *settings, char *err, size_t err_len);
void scan_clam_free(struct scan_clam *clam);
const char *scan_clam_version(void); // libclamav's

// In a child: where to unpack. 0, -EINVAL.
int scan_clam_set_tmp(struct scan_clam *clam, const char *folder);
// Everything that libclamav loads when it first needs it, loaded now.
void scan_clam_touch(struct scan_clam *clam);
// What is in a file of `n` bytes, at least one.
void scan_clam_scan(
	struct scan_clam *clam, const uint8_t *bytes, size_t n, struct scan_outcome *out);

#endif
