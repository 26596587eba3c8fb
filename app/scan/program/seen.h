// SPDX-License-Identifier: BSD-3-Clause
// Which parts of a file libclamav came to, and which it cannot open although it says "clean": the
// engine reports each layer (the file, what it unpacked of it, and so on) and each member that an
// archive has. Pure; fed by the engine's callbacks.
#ifndef SLUICE_SCAN_PROGRAM_SEEN_H
#define SLUICE_SCAN_PROGRAM_SEEN_H

#include <stddef.h>
#include "scan/program/verdict.h"

#define SCAN_SEEN_LEVELS 128 // deeper than libclamav's highest limit of recursion

struct scan_seen {
	bool opens_rar; // libclamunrar is loaded
	// Members of archives that have bytes and are not encrypted, and how many of them became
	// layers. Fewer: the engine could not unpack one (a method that it does not have).
	uint32_t announced, met;
	uint32_t level; // of the layer that was reported last
	uint32_t last;  // member that was announced last, from 1; 0: none of this layer
	bool archive[SCAN_SEEN_LEVELS]; // what announces its members is open at that level
};

void scan_seen_begin(struct scan_seen *seen, bool opens_rar);
// A layer at `level` (0: the file itself) of the engine's type "CL_TYPE_...".
void scan_seen_layer(struct scan_seen *seen, struct scan_facts *facts, const char *type,
	uint32_t level, const uint8_t *bytes, size_t n);
// An archive of type `container` has a member.
void scan_seen_member(struct scan_seen *seen, struct scan_facts *facts, const char *container,
	uint64_t size, bool encrypted, uint32_t position);
void scan_seen_end(const struct scan_seen *seen, struct scan_facts *facts);

#endif
