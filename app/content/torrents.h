// SPDX-License-Identifier: BSD-3-Clause
// What is known of torrents by their info dictionaries (BEP 3, 52), which peers send each other
// (BEP 9), or a server sends as a .torrent: names and sizes of the files, and digests of the
// pieces. The info hash proves all of it. Flows on any data lcore learn and ask; who keeps it is
// behind these functions.
#ifndef SLUICE_CONTENT_TORRENTS_H
#define SLUICE_CONTENT_TORRENTS_H

#include "content/content.h"

struct torrent_file {
	uint64_t from, size;        // in the payload
	uint32_t name, name_length; // in `texts`: the path, components divided by '/'
	bool padding;               // BEP 47: nobody's file
};

// Constant while somebody holds it.
struct torrent {
	struct content_id id; // by which it was learned
	uint64_t size;        // of the payload
	uint64_t piece_bytes;
	const uint8_t *pieces; // digests; NULL: version 2 alone, whose layers are not in it
	uint32_t n_pieces, n_files;
	const struct torrent_file *files; // by order of `from`
	const uint8_t *texts;
};

struct content_torrents {
	// NULL: it is not known. Else it is held until `release`.
	const struct torrent *(*hold)(void *ctx, const struct content_id *id);
	void (*release)(void *ctx, const struct torrent *torrent);
	// An info dictionary as it was sent. It is kept under the ids that it proves by itself, if
	// there is room; false: it is none, or there is no room.
	bool (*learn)(void *ctx, const uint8_t *info, uint32_t length);
	void *ctx;
};

#endif
