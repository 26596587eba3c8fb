// SPDX-License-Identifier: BSD-3-Clause
// Messages that wait for one peer (TA16): by priority, and inside one in order of arrival; each
// with a deadline. Bounded by messages and octets; the total of all queues is bounded by the pool
// (TA29): where it is full, the peer that holds most gives way, lowest priority and oldest first
// (fair drop).
#ifndef TRANSPORTAPI_QUEUE_H
#define TRANSPORTAPI_QUEUE_H

#include <sys/queue.h>

#include "transportapi/transport.h"

#define TAPI_PRIORITIES 4 // 0 is the lowest

struct tapi_queue_counters {
	uint64_t queued, taken, expired, dropped_full, dropped_pool;
};

struct tapi_item {
	TAILQ_ENTRY(tapi_item) next;
	uint64_t deadline_us; // UINT64_MAX: none
	uint64_t queued_us;
	uint32_t crc;  // of the plain text, where is_encrypted
	uint32_t size; // of the message, its head of 4 octets included
	uint8_t priority;
	bool is_encrypted; // never batched with others
	uint8_t message[];
};
TAILQ_HEAD(tapi_item_list, tapi_item);

struct tapi_queue_pool { // of one core
	uint64_t bytes, bytes_max;
	struct tapi_queue_list *holders; // the queues that hold something
	struct tapi_queue_counters counters;
};

struct tapi_queue {
	struct tapi_queue_pool *pool;
	struct tapi_item_list items[TAPI_PRIORITIES];
	uint32_t msgs, msgs_max;
	uint64_t bytes, bytes_max;
	TAILQ_ENTRY(tapi_queue) holder;
	struct tapi_queue_counters counters;
};
TAILQ_HEAD(tapi_queue_list, tapi_queue);

enum tapi_result tapi_queue_pool_init(struct tapi_queue_pool *pool, uint64_t bytes_max);
void tapi_queue_pool_end(struct tapi_queue_pool *pool);
void tapi_queue_init(struct tapi_queue *queue, struct tapi_queue_pool *pool, uint32_t msgs_max,
	uint64_t bytes_max);
void tapi_queue_clear(struct tapi_queue *queue);

// Copies; writes the head {size, type}. `length` is of the body: at most UINT16_MAX - 4 without
// fragmentation. TAPI_DROPPED: there was room for nothing of this priority; counted.
enum tapi_result tapi_queue_put(struct tapi_queue *queue, uint16_t type, const void *body,
	size_t length, unsigned priority, bool is_encrypted, uint32_t crc, uint64_t deadline_us,
	uint64_t now_us);
// The next batch of at most `mtu` octets into `out`: messages in order of priority, one after
// another; an encrypted one alone. Expired ones are dropped and counted on the way. Octets written;
// 0: nothing is there, or the first is longer than `mtu`: *too_long has it then, and
// tapi_queue_drop takes it off. The items stay until tapi_queue_sent() (the transport took them) or
// tapi_queue_keep().
struct tapi_batch {
	uint32_t size, msgs;
	bool is_encrypted;
	uint32_t crc; // of an encrypted one
	struct tapi_item *too_long;
	bool full; // the next one would not have fitted
};
uint32_t tapi_queue_batch(struct tapi_queue *queue, uint8_t *out, uint32_t mtu, uint64_t now_us,
	struct tapi_batch *batch);
void tapi_queue_sent(struct tapi_queue *queue, const struct tapi_batch *batch);
void tapi_queue_drop(struct tapi_queue *queue, struct tapi_item *item);
// When the first one expires; UINT64_MAX: never. When the oldest was queued: UINT64_MAX if none is.
uint64_t tapi_queue_deadline(const struct tapi_queue *queue);
uint64_t tapi_queue_oldest(const struct tapi_queue *queue);

#endif
