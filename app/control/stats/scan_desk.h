// SPDX-License-Identifier: BSD-3-Clause
// What the control core may ask of the scan lcores, and of data lcores about files under scan;
// whoever starts the core fills it (cmd/run_scan_desk.c). Control core only.
#ifndef SLUICE_SCAN_DESK_H
#define SLUICE_SCAN_DESK_H

#include "pipeline/scan/files.h"
#include "scan/engine.h"

struct scan_desk {
	const struct scan_config *config;
	unsigned n; // scan lcores
	void *ctx;
	// False: its engine has nothing to tell.
	bool (*status)(void *ctx, unsigned index, struct scan_status *out);
	// Of a data lcore. False: it has no files under scan.
	bool (*files)(void *ctx, unsigned lcore, struct scan_files_use *out);
	// A file of the control core's: as the functions of scan/trial.h.
	int (*begin)(void *ctx, uint64_t bytes, uint64_t now_ns, uint64_t *number);
	int (*add)(void *ctx, uint64_t number, uint64_t at, const uint8_t *bytes, size_t length,
		uint64_t now_ns);
	int (*run)(void *ctx, uint64_t number, uint64_t now_ns, unsigned *worker);
	int (*verdict)(void *ctx, uint64_t number, uint64_t now_ns, struct scan_verdict *out);
	void (*drop)(void *ctx, uint64_t number);
};

#endif
