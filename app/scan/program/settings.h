// SPDX-License-Identifier: BSD-3-Clause
// The command line of sluice-scan: one table gives parsing, bounds and help.
#ifndef SLUICE_SCAN_PROGRAM_SETTINGS_H
#define SLUICE_SCAN_PROGRAM_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>
#include "scan/engine.h"

#define SCAN_CHILDREN_MAX 64 // one for each scan lcore
#define SCAN_PLACES       2

struct scan_settings {
	bool check;           // load the database, say what is in it, and end
	const char *database; // folder
	const char *tmp;      // folder, in which each child has one of its own
	const char *user;     // children become it; NULL: they stay who the parent is
	int arena;            // descriptor
	unsigned n_controls;
	int controls[SCAN_CHILDREN_MAX]; // descriptors
	uint64_t tmp_mb;                 // what one child may unpack at once
	uint64_t memory_mb;              // what one child may take beside what it was forked with
	uint64_t jobs;                   // after these a child is replaced
	uint64_t place;                  // of two parents at a time, each has folders of its own
	uint64_t watch_s; // how often the folder of signatures is looked at; 0: never
	uint64_t max_scan_ms, max_file_mb, max_scan_mb, max_recursion, max_files; // of one file
};

// -1: go on. Otherwise the exit code: 0 after --help or --version, 2 after a mistake, which was
// told on standard error.
int scan_settings_parse(struct scan_settings *settings, int argc, char **argv);

#endif
