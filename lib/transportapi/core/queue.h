// SPDX-License-Identifier: BSD-3-Clause
// Messages that wait for one peer (TA16): by priority, and inside one in order of arrival; each
// with a deadline. Bounded by messages and octets: where a queue is full, its messages of lower
// priority give way, lowest and oldest first; if they do not suffice, the new one is refused. One
// message alone may be longer than the octets of its queue.
//
// The memory of all queues is bounded by the pool (TA29): where that is full, the peer that holds
// most gives way, lowest priority and oldest first (fair drop). If the one that wants to queue
// would hold most itself, its own messages of lower priority give way, or the new one is refused.
// The same holds for the budget of the core (budget.h), where others than queues may hold most.
//
// Costs do not depend on the number of peers; deadlines are kept in a heap per queue.
//
// Shape of a message: u16 size, u16 type, body, in network order. The size field is of the whole
// message; where that is more than UINT16_MAX it is 0, and the message travels in fragments only
// (fragment.h): the fragment's `total` says how long it is.
#ifndef TRANSPORTAPI_QUEUE_H
#define TRANSPORTAPI_QUEUE_H

#include <sys/queue.h>

#include "transportapi/base/budget.h"
#include "transportapi/proto/fragment.h"
#include "transportapi/base/memory_accounting.h"
#include "transportapi/base/transport.h"

#define TAPI_PRIORITIES 4 // 0 is the lowest

// Each message given to put() ends in one of them: queued == the others and what waits.
#define TAPI_QUEUE_COUNTERS(X)                                                  \
	X(queued, "messages given to the queue")                                \
	X(taken, "of these, sent")                                              \
	X(expired, "of these, dropped at their deadline")                       \
	X(dropped_full, "of these, dropped because the peer's queue was full")  \
	X(dropped_pool, "of these, dropped because the memory of all was full") \
	X(dropped_too_big, "of these, longer than a message or a path can be")  \
	X(dropped_memory, "of these, dropped because the system had no memory") \
	X(dropped_forgotten, "of these, dropped because their peer was forgotten")

struct tapi_queue_counters {
#define X(name, help) uint64_t name;
	TAPI_QUEUE_COUNTERS(X)
#undef X
};

struct tapi_item {
	TAILQ_ENTRY(tapi_item) next;
	uint64_t deadline_us; // UINT64_MAX: none
	uint64_t queued_us;
	uint32_t place; // in the heap of deadlines
	uint32_t crc;   // of the plain text, where is_encrypted
	uint32_t size;  // of the message, its head of 4 octets included
	// The core's, zeros at startup: how far it has come in sending it in fragments.
	uint32_t part_id, part_offset;
	uint8_t priority;
	bool is_encrypted; // never batched with others
	bool part_sealed;  // the core's, as part_id: its parts go sealed
	uint8_t message[];
};
TAILQ_HEAD(tapi_item_list, tapi_item);

// What an item takes of the pool besides its message: its head, and malloc's.
#define TAPI_ITEM_EXTRA_BYTES (sizeof(struct tapi_item) + 16)

struct tapi_queue_pool {                     // of one core
	uint64_t bytes, bytes_max;           // of memory
	struct tapi_queue_counters counters; // of all its queues
	struct tapi_budget *budget;          // of the core; NULL: none
	struct tapi_budget_share share;
};

struct tapi_queue {
	struct tapi_queue_pool *pool;
	struct tapi_item_list items[TAPI_PRIORITIES];
	uint32_t msgs_of[TAPI_PRIORITIES];
	uint64_t bytes_of[TAPI_PRIORITIES];
	uint32_t msgs, msgs_max;
	uint64_t bytes, bytes_max; // of messages, heads included
	struct tapi_memory_user holder;
	struct tapi_item **deadlines; // a heap, soonest first: those that have one
	uint32_t n_deadlines, deadlines_room;
	struct tapi_queue_counters counters;
};

void tapi_queue_pool_init(struct tapi_queue_pool *pool, uint64_t bytes_max);
// Its memory is part of the budget, too, until it is left by the budget's owner.
void tapi_queue_pool_join(struct tapi_queue_pool *pool, struct tapi_budget *budget);
// Another bound (a reload): what is beyond it is dropped_pool at once, of those that hold most.
void tapi_queue_pool_limit(struct tapi_queue_pool *pool, uint64_t bytes_max);
void tapi_queue_init(struct tapi_queue *queue, struct tapi_queue_pool *pool, uint32_t msgs_max,
	uint64_t bytes_max);
// What waits is dropped_forgotten; the queue is as after init.
void tapi_queue_clear(struct tapi_queue *queue);

// Copies; writes the head. `length` is of the body, at most TAPI_MESSAGE_BYTES_MAX - 4:
// TAPI_ETOOBIG. TAPI_DROPPED: there was room for nothing of this priority. A refused message has
// cost nobody else a message. All of it is counted.
enum tapi_result tapi_queue_put(struct tapi_queue *queue, uint16_t type, const void *body,
	size_t length, unsigned priority, bool is_encrypted, uint32_t crc, uint64_t deadline_us,
	uint64_t now_us);

struct tapi_batch {
	uint32_t size, msgs;
	uint32_t app_msgs; // of these, of the application: TAPI_TYPE_USER and more
	bool is_encrypted;
	uint32_t crc; // of an encrypted one
	struct tapi_item *too_long;
	bool full; // nothing that waits or comes could be added: send it now
};
// The next batch of at most `mtu` octets into `out`: messages in order of priority, one after
// another; an encrypted one alone. Expired ones are dropped on the way. Octets written; 0: nothing
// is there, or the first is longer than `mtu` or UINT16_MAX: batch->too_long has it then. It is
// sent in fragments, as far as the transport takes them (part_id, part_offset), and taken off by
// tapi_queue_sent_parts(), or given up by tapi_queue_drop(). The items stay until
// tapi_queue_sent(): for a batch that the transport did not take, nothing is to be done. Between
// batch() and sent() nothing else is asked of any queue of the pool.
uint32_t tapi_queue_batch(struct tapi_queue *queue, uint8_t *out, uint32_t mtu, uint64_t now_us,
	struct tapi_batch *batch);
void tapi_queue_sent(struct tapi_queue *queue, const struct tapi_batch *batch);
void tapi_queue_sent_parts(struct tapi_queue *queue, struct tapi_item *item); // counts as taken
void tapi_queue_drop(struct tapi_queue *queue, struct tapi_item *item);       // dropped_too_big
// Drops what expired (deadline <= now); how many.
uint32_t tapi_queue_expire(struct tapi_queue *queue, uint64_t now_us);
// When the first one expires; UINT64_MAX: never. When the oldest was queued: UINT64_MAX if none is.
uint64_t tapi_queue_deadline(const struct tapi_queue *queue);
uint64_t tapi_queue_oldest(const struct tapi_queue *queue);

#endif
