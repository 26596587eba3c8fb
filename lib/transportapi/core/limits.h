// SPDX-License-Identifier: BSD-3-Clause
// Bounds of one core: quotas of peers, file descriptors, and the share of strangers in a rate.
#ifndef TRANSPORTAPI_CORE_LIMITS_H
#define TRANSPORTAPI_CORE_LIMITS_H

#include "transportapi/base/limit.h"
#include "transportapi/base/table.h"

struct tapi_core;
struct tapi_peer;

struct tapi_quota { // by tapi_core_quota: it outlives the peer
	struct tapi_peer_id id;
	uint64_t in_rate, out_rate;
	UT_hash_handle hh;
};

void tapi_quota_again(struct tapi_peer *peer); // what was set for it before it was evicted
void tapi_quotas_free(struct tapi_core *core);
void tapi_core_descriptors(struct tapi_core *core); // at the start, after a reload

// Signatures and answers cost time that a flood of strangers must not take from those who are
// known: the last half of a bucket is for these.
static inline uint64_t tapi_core_share(const struct tapi_bucket *bucket, bool known)
{
	return known ? 1 : bucket->burst / 2 + 1;
}
static inline bool tapi_core_may(struct tapi_bucket *bucket, bool known, uint64_t now_us)
{
	return tapi_bucket_when(bucket, tapi_core_share(bucket, known), now_us) <= now_us &&
	       tapi_bucket_take(bucket, 1, now_us);
}

#endif
