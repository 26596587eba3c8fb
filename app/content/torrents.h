// SPDX-License-Identifier: BSD-3-Clause
// What is known of torrents by their info dictionaries (BEP 3, 52), which peers send each other
// (BEP 9), or a server sends as a .torrent: names and sizes of the files, and digests of the
// pieces. The info hash proves all of it. Flows on any data lcore learn and ask; who keeps it is
// behind these functions.
#ifndef SLUICE_CONTENT_TORRENTS_H
#define SLUICE_CONTENT_TORRENTS_H

#include "content/content.h"

#define TORRENT_INFO_MAX (8u << 20) // bytes of an info dictionary that is read
#define TORRENT_PATH_MAX 4096       // bytes of a path that are kept

struct torrent_file {
	uint64_t from, size;        // in the payload
	uint32_t name, name_length; // in `texts`: the path in the folder, components divided by '/'
	uint32_t alias, alias_length; // another last component, by which some programs go; or 0
	bool padding;                 // BEP 47: nobody's file
	bool cut;                     // the path was longer: its beginning is missing
};

// Constant while somebody holds it.
struct torrent {
	struct content_id id;   // SHA-1 of the info dictionary; of version 2 alone its SHA-256
	struct content_id also; // has_also: a hybrid's SHA-256
	bool has_also;
	bool ambiguous;        // programs may store other files than these
	uint64_t size;         // of the payload
	uint64_t piece_bytes;  // at least 1
	const uint8_t *pieces; // digests (SHA-1); NULL: version 2 alone, whose layers are not in it
	uint32_t n_pieces, n_files;
	const struct torrent_file *files; // by order of `from`
	const uint8_t *texts;
	uint32_t folder, folder_length; // in `texts`; of several files
};

// What became of an info dictionary.
enum torrent_learned {
	TORRENT_LEARNED, // it is known, now or before
	TORRENT_OTHER,   // it is not that of the id
	TORRENT_BROKEN,  // clients read none in it, or different ones
	TORRENT_TOO_BIG, // more files, or longer names, than are kept of one
	TORRENT_FULL,    // there is no room
};

struct content_torrents {
	// NULL: it is not known. Else it is held until `release`.
	const struct torrent *(*hold)(void *ctx, const struct content_id *id);
	void (*release)(void *ctx, const struct torrent *torrent);
	// An info dictionary as it was sent. It is kept under the ids that it proves by itself, if
	// it proves `of` (NULL: any).
	enum torrent_learned (*learn)(
		void *ctx, const struct content_id *of, const uint8_t *info, uint32_t length);
	void *ctx;
};

#endif
