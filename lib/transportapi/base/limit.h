// SPDX-License-Identifier: BSD-3-Clause
// Rates (TA29): a token bucket, and a bounded memory of what was done to whom and when.
#ifndef TRANSPORTAPI_LIMIT_H
#define TRANSPORTAPI_LIMIT_H

#include "transportapi/base/transport.h"

// Bytes <= rate x t + burst, exactly. Rate 0: no limit. Full at first. A clock that goes back fills
// nothing until it is where it was.
struct tapi_bucket {
	uint64_t rate_per_s, burst;
	uint64_t level;     // tokens x 1,000,000
	uint64_t filled_us; // level is of this time
};

TAPI_EXPORT void tapi_bucket_init(
	struct tapi_bucket *bucket, uint64_t rate_per_s, uint64_t burst, uint64_t now_us);
// Takes all of `tokens`, or none.
TAPI_EXPORT bool tapi_bucket_take(struct tapi_bucket *bucket, uint64_t tokens, uint64_t now_us);
// When `tokens` can be taken; now_us if now, UINT64_MAX if they are more than the burst.
TAPI_EXPORT uint64_t tapi_bucket_when(
	const struct tapi_bucket *bucket, uint64_t tokens, uint64_t now_us);
// What is in it stays, up to the new burst.
TAPI_EXPORT void tapi_bucket_change(
	struct tapi_bucket *bucket, uint64_t rate_per_s, uint64_t burst, uint64_t now_us);

// "At most `most` per key in `window_us`", for keys of the wire: PINGs per address and per /24
// (/48); in any window, wherever it begins. Bounded: when full, the oldest key is forgotten only if
// its window has passed; else the answer is no. 8 x most octets per key: `most` is small.
struct tapi_rate_map;
struct tapi_rate_map *tapi_rate_map_new(uint32_t most, uint64_t window_us, uint32_t keys_max);
void tapi_rate_map_free(struct tapi_rate_map *map);
bool tapi_rate_map_take(struct tapi_rate_map *map, const void *key, size_t length, uint64_t now_us);
uint64_t tapi_rate_map_when( // now_us if now
	struct tapi_rate_map *map, const void *key, size_t length, uint64_t now_us);
uint32_t tapi_rate_map_count(const struct tapi_rate_map *map);

#endif
