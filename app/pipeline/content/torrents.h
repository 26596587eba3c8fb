// SPDX-License-Identifier: BSD-3-Clause
// The torrents that flows of any data lcore have brought, for those of all others
// (content/torrents.h). One store for all lcores, under a lock that is held for the steps of a
// table alone: digests are made, and dictionaries read, outside of it. A torrent that a flow holds
// stays; of the others the one that was asked for longest ago goes for a new one.
#ifndef SLUICE_PIPELINE_TORRENTS_H
#define SLUICE_PIPELINE_TORRENTS_H

#include "content/torrents.h"
#include "pipeline/vocab/hash_seed.h"

#define TORRENTS_MAX 4096

struct lcore;
struct torrents;

// Control core. The first lcore makes it, with `bytes` for torrents (0: there is none), the others
// share it; the last one that leaves frees it. False: no memory.
bool torrents_join(
	struct torrents **shared, uint64_t bytes, const struct hash_seed *seed, int socket);
void torrents_leave(struct torrents **shared);

// What decoders of the lcore are given; counters are the lcore's.
struct content_torrents torrents_for(struct lcore *lcore);
// A .torrent: the info dictionaries in it.
void torrents_learn_file(struct lcore *lcore, const uint8_t *bytes, uint32_t length);

#endif
