// SPDX-License-Identifier: BSD-3-Clause
// Info dictionaries of torrents: what can be measured is built within the block that was measured,
// without a reference to the dictionary; files lie behind each other, and texts within their room.
#include <stdlib.h>
#include <string.h>
#include "content/bittorrent/info.h"
#include "content/memory.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static void holds(bool what)
{
	if (!what)
		abort();
}

static void check_text(const struct info_measure *measure, uint32_t at, uint32_t length)
{
	holds(at <= measure->text_bytes && length <= measure->text_bytes - at);
	holds(length <= TORRENT_PATH_MAX);
}

static void check_files(const struct torrent *torrent, const struct info_measure *measure)
{
	uint64_t at = 0;

	for (uint32_t i = 0; i < torrent->n_files; i++) {
		const struct torrent_file *file = &torrent->files[i];

		holds(file->from >= at && file->size <= torrent->size);
		at = file->from + file->size;
		holds(at >= file->from && at <= torrent->size);
		check_text(measure, file->name, file->name_length);
		check_text(measure, file->alias, file->alias_length);
	}
	check_text(measure, torrent->folder, torrent->folder_length);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	struct info_measure measure;
	uint8_t *exact;

	if (len > UINT16_MAX)
		return 0;
	exact = malloc(len ? len : 1);
	holds(exact);
	if (len)
		memcpy(exact, bytes, len);
	if (info_measure(exact, (uint32_t)len, &measure) == TORRENT_LEARNED) {
		size_t room = info_bytes(&measure);
		uint8_t *block = aligned_alloc(16, (room + 15) & ~(size_t)15);

		holds(block && room <= CONTENT_BLOCK_MAX);
		const struct torrent *torrent = info_build(exact, (uint32_t)len, &measure, block);

		memset(exact, 0xff, len);
		holds(torrent->n_files == measure.n_files && torrent->size == measure.size);
		holds(torrent->piece_bytes && (measure.v1 || measure.v2));
		holds(!torrent->n_pieces == !torrent->pieces);
		check_files(torrent, &measure);
		holds(torrent->texts + measure.text_bytes <= block + room);
		free(block);
	}
	free(exact);
	return 0;
}
