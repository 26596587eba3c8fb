// SPDX-License-Identifier: BSD-3-Clause
#define OPENSSL_SUPPRESS_DEPRECATED
#include "lib/content/fake_torrents.h"

#include <openssl/sha.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "content/bittorrent/info.h"

#define TORRENTS 8

static struct {
	struct torrent *torrent;
	struct content_id believed; // of one that is not proved
	unsigned held;
} known[TORRENTS];
static unsigned n_known;
static bool believes;

static bool is_of(unsigned i, const struct content_id *id)
{
	const struct torrent *torrent = known[i].torrent;
	const struct content_id first = content_id_key(&torrent->id);
	const struct content_id also = content_id_key(&torrent->also);

	return content_id_same(&first, id) || (torrent->has_also && content_id_same(&also, id)) ||
	       content_id_same(&known[i].believed, id);
}

static const struct torrent *hold(void *ctx, const struct content_id *id)
{
	const struct content_id key = content_id_key(id);

	(void)ctx;
	for (unsigned i = 0; i < n_known; i++) {
		if (!is_of(i, &key))
			continue;
		known[i].held++;
		return known[i].torrent;
	}
	return NULL;
}

static void release(void *ctx, const struct torrent *torrent)
{
	(void)ctx;
	for (unsigned i = 0; i < n_known; i++) {
		if (known[i].torrent == torrent && known[i].held--)
			return;
	}
	fprintf(stderr, "a torrent is given back that is not held\n");
	abort();
}

static struct content_id digest_of(bool sha256, const uint8_t *info, uint32_t length)
{
	uint8_t digest[SHA256_DIGEST_LENGTH];

	if (sha256)
		SHA256(info, length, digest);
	else
		SHA1(info, length, digest);
	return content_id_of(sha256 ? CONTENT_ID_BTMH : CONTENT_ID_BTIH, digest);
}

static enum torrent_learned learn(
	void *ctx, const struct content_id *of, const uint8_t *info, uint32_t length)
{
	const struct content_id v1 = digest_of(false, info, length);
	const struct content_id v2 = digest_of(true, info, length), key = content_id_key(&v2);
	struct info_measure measure;

	(void)ctx;
	if (of && !believes && !content_id_same(of, &v1) && !content_id_same(of, &key))
		return TORRENT_OTHER;
	enum torrent_learned learned = info_measure(info, length, &measure);

	if (learned != TORRENT_LEARNED)
		return learned;
	if (n_known == TORRENTS)
		return TORRENT_FULL;
	size_t bytes = info_bytes(&measure);
	struct torrent *torrent = aligned_alloc(16, (bytes + 15) & ~(size_t)15);

	if (!torrent)
		abort();
	info_build(info, length, &measure, torrent);
	torrent->id = measure.v1 ? v1 : v2;
	torrent->has_also = measure.v1 && measure.v2;
	torrent->also = v2;
	known[n_known].torrent = torrent;
	known[n_known].held = 0;
	known[n_known].believed = of && believes ? *of : torrent->id;
	n_known++;
	return TORRENT_LEARNED;
}

struct content_torrents fake_torrents(void)
{
	return (struct content_torrents){.hold = hold, .release = release, .learn = learn};
}

void fake_torrents_reset(void)
{
	for (unsigned i = 0; i < n_known; i++) {
		if (known[i].held) {
			fprintf(stderr, "a torrent is still held\n");
			abort();
		}
		free(known[i].torrent);
	}
	n_known = 0;
}

void fake_torrents_believe(bool believe)
{
	believes = believe;
}
