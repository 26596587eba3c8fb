// SPDX-License-Identifier: BSD-3-Clause
// Info dictionaries of torrents (BEP 3, 47, 52): read twice, to measure and to build, without
// memory of their own. Pure; any core.
#ifndef SLUICE_BITTORRENT_INFO_H
#define SLUICE_BITTORRENT_INFO_H

#include "content/torrents.h"

#define INFO_DEPTH_MAX 100 // components of a path; libtorrent reads no deeper

struct info_measure {
	uint64_t size, piece_bytes;
	uint32_t n_files, n_pieces;
	uint32_t text_bytes;
	bool v1, v2; // which versions it has; a hybrid both
	bool ambiguous;
};

// TORRENT_LEARNED: it can be built. TORRENT_BROKEN, TORRENT_TOO_BIG: it cannot.
enum torrent_learned info_measure(
	const uint8_t *info, uint32_t length, struct info_measure *measure);
// Bytes of the block that info_build fills: at most CONTENT_BLOCK_MAX.
size_t info_bytes(const struct info_measure *measure);
// Of what was measured. `block`: aligned to 16; the torrent is at its beginning, and does not refer
// to `info`. Its ids are the caller's to set.
struct torrent *info_build(
	const uint8_t *info, uint32_t length, const struct info_measure *measure, void *block);

#endif
