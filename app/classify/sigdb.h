// SPDX-License-Identifier: BSD-3-Clause
// Inside app/classify: how the classifier asks the signature databases (sigdb.c), and how those
// are kept on disk (sigdb_cache.c).
#ifndef SLUICE_SIGDB_H
#define SLUICE_SIGDB_H

#include <hs.h>
#include "classify/classify.h"

// One Hyperscan block database for each L4 protocol and half: a flow is held only against what
// its half may say. NULL where no signature is.
enum {
	SIGDB_PARTS = 4,
};

struct sigdb {
	const struct sigdb *base; // NULL: this is one; else `signatures` stand beside its own
	hs_database_t *parts[SIGDB_PARTS];
	struct signature *signatures;
	unsigned n;
};

struct sigdb_hit {
	uint16_t signature; // index
	uint16_t to;        // where its first match ended, in what was scanned
};

// Hyperscan 5.4 loads up to 32 octets beyond its input (avx512vbmi_hs_scan, fat teddy; VectorCamp/
// vectorscan issue 322; its other vector engines do by less): these are read, never matched, but at
// the end of mapped memory they end the program. So many can be read behind everything that is
// scanned: no page is smaller than SIGDB_PAGE, and what ends nearer to the end of one is copied.
#define SIGDB_SLACK 64
#define SIGDB_PAGE  4096u

struct sigdb_scratch {
	const struct sigdb *db; // a scratch is good for the database it was made for, only
	hs_scratch_t *hs;
	unsigned n_hits;
	unsigned room;
	unsigned first;  // index of the first signature of what is being scanned
	uint64_t copied; // scans of an input that ended near the end of a page
	// Such an input, at the end of its room; SIGDB_SLACK zeros follow.
	uint8_t copy[CLASSIFY_PREFIX_BYTES + SIGDB_SLACK];
	struct sigdb_hit hits[]; // each signature at most once, in no order
};

// Scans one piece of a half, of which the first CLASSIFY_PREFIX_BYTES count; the hits are in
// `scratch` until the next scan. False: Hyperscan failed, or the scratch belongs to another
// database; there are no hits then. Data lcores.
bool sigdb_scan(const struct sigdb *db, struct sigdb_scratch *scratch, uint8_t l4_proto,
	unsigned half, const uint8_t *bytes, uint32_t length);

// What a serialized database depends on, as bytes (free it); NULL: no memory.
uint8_t *sigdb_cache_key(const struct signature *signatures, unsigned n, size_t *length);
// True if `dir` holds databases of exactly this key: they are in `parts` then.
bool sigdb_cache_read(
	const char *dir, const uint8_t *key, size_t key_len, hs_database_t *parts[SIGDB_PARTS]);
// Best effort; a reader sees the old file, the new one, or none.
void sigdb_cache_write(const char *dir, const uint8_t *key, size_t key_len,
	hs_database_t *const parts[SIGDB_PARTS]);

#endif
