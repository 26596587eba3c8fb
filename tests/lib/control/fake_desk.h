// SPDX-License-Identifier: BSD-3-Clause
// Scan lcores by script, as the control core sees them: what they tell never changes, and a file
// that is tested is infected where it holds "EVIL".
#ifndef SLUICE_FAKE_DESK_H
#define SLUICE_FAKE_DESK_H

#include "control/stats/scan_desk.h"
#include "control/stats/scan_reloads.h"

#define FAKE_DESK_BYTES  (1u << 20) // of a file at most
#define FAKE_DESK_TIME_S 1700000000 // of the newest signature

struct fake_desk {
	struct scan_desk desk;
	struct scan_config config;
	struct scan_reloads reloads;
	struct scan_status status[2];
	struct scan_files_use use; // of data lcore 0; the others have none
	int refuses;               // begin and run say so; 0
	unsigned looks;            // before the verdict is there
	unsigned drops;
	// the file at hand
	uint64_t number, bytes, have;
	bool runs;
	uint8_t file[FAKE_DESK_BYTES];
};

// One scan lcore is ready, the other has failed. New signatures were refused 90 s after the last
// that were taken; one may ask for others.
void fake_desk_init(struct fake_desk *fake);

#endif
