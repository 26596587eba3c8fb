// SPDX-License-Identifier: BSD-3-Clause
// Room for the content of flows, of one data lcore if nothing else is said.
#ifndef SLUICE_CONTENT_LIMITS_H
#define SLUICE_CONTENT_LIMITS_H

#include <stdint.h>

struct content_limits {
	uint32_t flows;          // that are decoded at a time; 0: none
	uint32_t source_pct;     // of them, for one source, while they are scarce (places.h)
	uint32_t turn_bytes;     // that decoders may report in one turn
	uint64_t memory_bytes;   // of decoders
	uint64_t arena_bytes;    // of records
	uint32_t refused;        // files that are remembered as refused
	uint32_t refused_s;      // for so long
	uint64_t torrents_bytes; // of torrents, for all lcores together; 0: none are kept
	uint64_t packet_bytes;   // of the newest packets, for incidents; 0: none are kept
};

#endif
