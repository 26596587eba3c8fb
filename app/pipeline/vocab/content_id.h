// SPDX-License-Identifier: BSD-3-Clause
// Content ids: digests by which peer-to-peer protocols name a file, or a torrent.
#ifndef SLUICE_CONTENT_ID_H
#define SLUICE_CONTENT_ID_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

// X(symbol, word, bytes).
#define CONTENT_ID_KINDS(X)                                                     \
	X(BTIH, "btih", 20)     /* info hash of a torrent, version 1 (BEP 3) */ \
	X(BTMH, "btmh", 32)     /* ... version 2 (BEP 52), a SHA-256 */         \
	X(ED2K, "ed2k", 16)     /* eDonkey */                                   \
	X(SHA1, "sha1", 20)     /* Gnutella, urn:sha1 */                        \
	X(TTH, "tth", 24)       /* root of a tree of Tiger, urn:tree:tiger */   \
	X(SHA256, "sha256", 32) /* of the file's bytes */                       \
	X(KZHASH, "kzhash", 20) /* FastTrack: MD5 of its beginning, and a sum */

enum content_id_kind {
#define X(symbol, word, bytes) CONTENT_ID_##symbol,
	CONTENT_ID_KINDS(X)
#undef X
		CONTENT_ID_KINDS_MAX
};

#define CONTENT_ID_BYTES   32
#define CONTENT_ID_BT_WIRE 20 // of a version 2 hash, in handshakes, trackers and the DHT (BEP 52)

struct content_id {
	uint8_t kind;                    // enum content_id_kind
	uint8_t bytes[CONTENT_ID_BYTES]; // 0 behind its length
};

static inline uint32_t content_id_length(const struct content_id *id)
{
	static const uint8_t lengths[] = {
#define X(symbol, word, bytes) bytes,
		CONTENT_ID_KINDS(X)
#undef X
	};
	return id->kind < CONTENT_ID_KINDS_MAX ? lengths[id->kind] : 0;
}

static inline struct content_id content_id_of(enum content_id_kind kind, const uint8_t *bytes)
{
	struct content_id id = {.kind = (uint8_t)kind};

	memcpy(id.bytes, bytes, content_id_length(&id));
	return id;
}

// The form in which ids are compared: of both versions of BitTorrent the 20 bytes that the wire
// has.
static inline struct content_id content_id_key(const struct content_id *id)
{
	return id->kind == CONTENT_ID_BTMH ? content_id_of(CONTENT_ID_BTIH, id->bytes) : *id;
}

static inline bool content_id_same(const struct content_id *a, const struct content_id *b)
{
	return a->kind == b->kind && !memcmp(a->bytes, b->bytes, sizeof(a->bytes));
}

#endif
