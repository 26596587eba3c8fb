// SPDX-License-Identifier: BSD-3-Clause
// Reloads of the signatures that files are looked at with: what has become of them, and how one is
// asked for. Whoever starts the core fills it (cmd/run_scan.c). Control core only.
#ifndef SLUICE_SCAN_RELOADS_H
#define SLUICE_SCAN_RELOADS_H

#include <stdbool.h>
#include <stdint.h>

struct scan_reloads {
	void *ctx;
	// Reads the lists of hashes again, begins to load signatures, and does not wait for that.
	// NULL, or why neither is done; the text holds until it is called again.
	const char *(*ask)(void *ctx);
	bool is_sequential; // scan.reload
	bool is_loading;    // one is under way
	uint64_t taken;     // signatures that came into force, the first ones too
	uint64_t refused;   // those that did not
	uint64_t taken_ns;  // when the last ones did; 0: none yet
	uint64_t refused_ns;
	char refusal[192]; // why the last ones did not
};

#endif
