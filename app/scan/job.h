// SPDX-License-Identifier: BSD-3-Clause
// What a data lcore asks of a scan engine, and what it is reported. Both travel by value over rings
// (scan_link.h); nothing in them points anywhere. Whoever receives a verdict holds its job against
// what it waits for: the flow may have ended since, and its place in the table may be another's.
// What does not match in every part is counted and thrown away.
//
// A job is about a part of a stream (no bytes given: a script decides), or about a file, whose
// bytes lie in the arena (arena.h).
#ifndef SLUICE_SCAN_JOB_H
#define SLUICE_SCAN_JOB_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

#define SCAN_NAME_MAX    64 // of what was found, with its end; a longer name is cut
#define SCAN_EXTENTS_MAX 128
#define SCAN_PAGE        4096u
#define SCAN_FILE_MAX    (256u << 20) // bytes of one job

enum scan_value { // the worse the higher
	SCAN_CLEAN,
	SCAN_UNSCANNED, // not looked at, or not in whole: `reason` says why
	SCAN_ERROR,     // the engine cannot tell, or could not take the job
	SCAN_TIMEOUT,   // it did not tell in time
	SCAN_INFECTED,  // `name` says what was found
	SCAN_VALUES_MAX
};

enum scan_reason { // why a file is unscanned
	SCAN_REASON_NONE,
	SCAN_REASON_TOO_BIG,   // beyond the bytes that the rule, or the engine, scans of a file
	SCAN_REASON_TOO_DEEP,  // archives in archives beyond the engine's limit
	SCAN_REASON_ENCRYPTED, // the engine has no key
	SCAN_REASON_FORMAT,    // a format that the engine cannot open, or that is broken
	SCAN_REASON_LIMIT, // another limit of the engine: files in an archive, time, bytes unpacked
	SCAN_REASON_PROTOCOL, // the carrier cannot be held (datagrams), or its bytes were not whole
	SCAN_REASON_BUSY,     // no room: arena, jobs, files of one source
	SCAN_REASON_NO_ENGINE, // none is loaded, or one without signatures
	SCAN_REASONS_MAX
};

static inline const char *scan_value_word(enum scan_value value)
{
	static const char *const words[] = {"clean", "unscanned", "error", "timeout", "infected"};

	static_assert(sizeof(words) / sizeof(words[0]) == SCAN_VALUES_MAX, "a word each");
	return value < SCAN_VALUES_MAX ? words[value] : "?";
}

static inline const char *scan_reason_word(enum scan_reason reason)
{
	static const char *const words[] = {"none", "too_big", "too_deep", "encrypted", "format",
		"limit", "protocol", "busy", "no_engine"};

	static_assert(sizeof(words) / sizeof(words[0]) == SCAN_REASONS_MAX, "a word each");
	return reason < SCAN_REASONS_MAX ? words[reason] : "?";
}

enum scan_source {        // where a verdict is from
	SCAN_SOURCE_NONE, // nobody has looked at the file
	SCAN_SOURCE_ENGINE,
	SCAN_SOURCE_CACHE, // of the same file, scanned before, or just then for another asker
	SCAN_SOURCE_LIST,  // of hashes (gateway.json: scan.allow, scan.deny)
	SCAN_SOURCES_MAX
};

static inline const char *scan_source_word(enum scan_source source)
{
	static const char *const words[] = {"none", "engine", "cache", "list"};

	static_assert(sizeof(words) / sizeof(words[0]) == SCAN_SOURCES_MAX, "a word each");
	return source < SCAN_SOURCES_MAX ? words[source] : "?";
}

enum scan_by { // engines
	SCAN_BY_NOBODY,
	SCAN_BY_NULL,
	SCAN_BY_CLAMAV,
	SCAN_BY_MAX
};

static inline const char *scan_by_word(enum scan_by by)
{
	static const char *const words[] = {"none", "null", "clamav"};

	static_assert(sizeof(words) / sizeof(words[0]) == SCAN_BY_MAX, "a word each");
	return by < SCAN_BY_MAX ? words[by] : "?";
}

// A piece of a file in the arena: it begins at a page, and each but the last is of whole pages, so
// that they can be mapped side by side.
struct scan_extent {
	uint32_t page;  // of SCAN_PAGE bytes, from the arena's beginning
	uint32_t bytes; // at least 1
};

// The bytes of a file job, in the arena. Constant from the job's submission to its verdict.
struct scan_extents {
	uint32_t n;    // at least 1
	uint32_t lead; // bytes of the first extent, less than a page, that are not the file's
	struct scan_extent extent[SCAN_EXTENTS_MAX];
};

#define SCAN_JOB_FILE  1 // `extents` and `bytes` say what to look at
#define SCAN_JOB_WHOLE 2 // the file ends with them: not only its beginning, or a window of it
#define SCAN_JOB_SWARM 4 // `file` is one that several flows bring (pipeline/swarm)

struct scan_job {
	uint64_t id;           // of its data lcore: 1, 2, ...
	uint64_t from64, to64; // offsets in the half, of a file job in the file: [from64, to64)
	uint64_t submitted_ns;
	uint64_t deadline_ns; // after that nobody waits for the verdict
	uint64_t extents;     // offset in the arena of the struct scan_extents
	uint32_t flow;        // index in the lcore's flow pool
	uint32_t generation;  // of that entry
	uint32_t trigger;     // what the engine's trigger said
	uint32_t file;        // in the lcore's pool of files under scan
	uint8_t lcore;        // data lcore
	uint8_t half;         // enum half
	uint8_t flags;        // SCAN_JOB_*
	uint8_t pad[5];
};
static_assert(sizeof(struct scan_job) == 72, "a job");

struct scan_verdict {
	struct scan_job job; // as it was submitted
	uint64_t taken_ns;   // when the engine began with it; done_ns: it did not; 0: nobody knows
	uint64_t done_ns;    // when the engine was through with it
	char name[SCAN_NAME_MAX];
	uint32_t parent; // number of the scan parent whose child was given the file; 0: none was
	uint32_t db_version; // of its signatures, the highest of their files; 0: custom ones alone
	uint8_t value;       // enum scan_value
	uint8_t reason;      // enum scan_reason; of SCAN_UNSCANNED
	uint8_t source;      // enum scan_source
	uint8_t by;          // enum scan_by: who has looked at all that was asked
	bool hashed; // of SCAN_INFECTED: digests of the bytes of the job, which was a whole file
	uint8_t sha256[32];
	uint8_t sha1[20];
	uint8_t pad[7];
};
static_assert(sizeof(struct scan_verdict) == 224, "a verdict");
static_assert(sizeof(struct scan_verdict) % 4 == 0, "rte_ring_elem wants multiples of 4");

// The same question: all that names it.
static inline bool scan_job_same(const struct scan_job *a, const struct scan_job *b)
{
	return a->id == b->id && a->lcore == b->lcore && a->flow == b->flow &&
	       a->generation == b->generation && a->half == b->half && a->file == b->file &&
	       a->flags == b->flags;
}

#endif
