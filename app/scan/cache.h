// SPDX-License-Identifier: BSD-3-Clause
// Verdicts of whole files, by the SHA-256 of their bytes and the digest of what the engine knows: a
// file that comes again costs no scan, and a new database makes all that was known unknown. And who
// scans which file now, so that one that comes meanwhile waits for that verdict.
//
// One for all scan lcores, under a mutex that is held for some lookups of a table; data lcores
// never see it. Bounded by entries (the one that was used longest ago goes) and by age: an engine
// reads hostile files, and what one made it say is not believed for ever.
//
// Kept are verdicts that depend on the file alone: clean, infected, and unscanned for too_big,
// too_deep, encrypted or format; `limit` for a minute, as it may have been the machine's.
//
// Of a file in flight one asker is the owner: it has it scanned, and says so (scan_cache_over). If
// no verdict comes of that, another asker is the next owner. A file that has cost SCAN_CACHE_TRIES
// scans is told as it ended, to everybody who asks within SCAN_CACHE_FAILED_NS.
#ifndef SLUICE_SCAN_CACHE_H
#define SLUICE_SCAN_CACHE_H

#include <stddef.h>
#include "pipeline/vocab/tick.h"
#include "scan/job.h"
#include "scan/wire.h"

#define SCAN_SHA256          32
#define SCAN_CACHE_ASKERS    64
#define SCAN_CACHE_TRIES     3
#define SCAN_CACHE_LIMIT_NS  (60 * NS_PER_S)
#define SCAN_CACHE_FAILED_NS NS_PER_S

struct scan_cache;

struct scan_key {
	uint8_t sha256[SCAN_SHA256];
	uint8_t digest[SCAN_WIRE_DIGEST]; // of database, limits and options
};

struct scan_known {
	uint8_t value;  // enum scan_value
	uint8_t reason; // enum scan_reason
	char name[SCAN_NAME_MAX];
};

enum scan_cache_answer {
	SCAN_CACHE_KNOWN, // the verdict is there
	SCAN_CACHE_OWN,   // it is the asker's to have scanned, and to tell of
	SCAN_CACHE_WAIT,  // it is in flight: ask again when there is news
	SCAN_CACHE_FULL,  // everything is in flight: have it scanned, and tell nobody
};

struct scan_cache_use {
	uint64_t evicted;        // verdicts that made room before their time
	uint32_t entries, limit; // verdicts that are remembered; how many can be
};

// `entries` at least 1. NULL: no memory.
struct scan_cache *scan_cache_new(uint32_t entries, uint64_t age_ns);
void scan_cache_free(struct scan_cache *cache); // NULL is allowed; no asker is left
// An asker: one scan lcore's. Its number; -ENOSPC, or -errno of its eventfd.
int scan_cache_join(struct scan_cache *cache);
void scan_cache_leave(struct scan_cache *cache, int asker);
// Becomes readable when there is news; for poll().
int scan_cache_descriptor(const struct scan_cache *cache, int asker);
// A file that the asker waits for may be known now, or its to scan. Once for each news.
bool scan_cache_news(struct scan_cache *cache, int asker);

enum scan_cache_answer scan_cache_ask(struct scan_cache *cache, int asker,
	const struct scan_key *key, uint64_t now_ns, struct scan_known *out);
// What was the asker's is over: `known` as it was told, whoever waits has news. `tried`: an engine
// was given the file. `under`: the digest under which that was; NULL: nobody can tell, and it is
// not kept. It is another one than the key's when a new database came meanwhile: then it is kept
// under that one, and who waits asks anew.
void scan_cache_over(struct scan_cache *cache, const struct scan_key *key,
	const struct scan_known *known, bool tried, const uint8_t *under, uint64_t now_ns);

void scan_cache_look(struct scan_cache *cache, struct scan_cache_use *use); // any thread

#endif
