// SPDX-License-Identifier: BSD-3-Clause
// Files that a datagram of eDonkey, eMule or Kad names, whoever sends it: sources wanted or found,
// what is searched for by its id, what is published, what a search has found. Nothing is kept
// between datagrams. One data lcore.
#ifndef SLUICE_CONTENT_EDONKEY_DATAGRAM_H
#define SLUICE_CONTENT_EDONKEY_DATAGRAM_H

#include "content/content.h"

#define ED2K_DATAGRAM_MAX (64u << 10) // bytes that a compressed one is unpacked to

// It may be one, as far as its first octet says.
static inline bool ed2k_is_datagram(const uint8_t *bytes, uint32_t length)
{
	return length > 2 &&
	       (bytes[0] == 0xe3 || bytes[0] == 0xc5 || bytes[0] == 0xe4 || bytes[0] == 0xe5);
}

// Calls sink->id for each id, and sink->file (`elsewhere`, by name, size and id) for each file that
// has a name; nothing else of the sink. They are claims: bytes at the places where ids stand.
// `memory` is asked for what a compressed one needs, and has it back. False: it had none, and
// nothing was told.
bool ed2k_datagram(const struct span *datagram, struct content_memory *memory,
	const struct content_sink *sink);

#endif
