// SPDX-License-Identifier: BSD-3-Clause
// BitTorrent's peer wire, with gaps and ends anywhere, and torrents that are learned meanwhile or
// before (lib/content/records.h). Whatever is sent as a torrent's metadata is taken for it.
#include "content/decoders.h"
#include "lib/content/fake_torrents.h"
#include "lib/content/records.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	fake_torrents_believe(true);
	return records_fuzz(&content_bittorrent, bytes, len);
}
