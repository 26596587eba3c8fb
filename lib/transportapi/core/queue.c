// SPDX-License-Identifier: BSD-3-Clause
// A put decides before it changes anything: memory is taken, room is known to suffice, and only
// then others give way. So a refused message costs nobody anything.
#include "transportapi/core/queue.h"

#include <stdlib.h>
#include <string.h>

#include "transportapi/core/core.h"
#include "transportapi/base/wire.h"

enum { DEADLINES_FIRST = 8 };

#define COUNT(queue, counter)                      \
	do {                                       \
		(queue)->counters.counter++;       \
		(queue)->pool->counters.counter++; \
	} while (0)

static uint64_t memory_of(const struct tapi_item *item)
{
	return item->size + TAPI_ITEM_EXTRA_BYTES;
}

static void deadline_set(struct tapi_queue *queue, uint32_t place, struct tapi_item *item)
{
	queue->deadlines[place] = item;
	item->place = place;
}

// Finds the place of `item`, for which `place` is free.
static void deadline_settle(struct tapi_queue *queue, uint32_t place, struct tapi_item *item)
{
	struct tapi_item **heap = queue->deadlines;

	for (; place > 0; place = (place - 1) / 2) {
		if (heap[(place - 1) / 2]->deadline_us <= item->deadline_us)
			break;
		deadline_set(queue, place, heap[(place - 1) / 2]);
	}
	for (;;) {
		uint32_t child = 2 * place + 1;

		if (child + 1 < queue->n_deadlines &&
			heap[child + 1]->deadline_us < heap[child]->deadline_us)
			child++;
		if (child >= queue->n_deadlines || heap[child]->deadline_us >= item->deadline_us)
			break;
		deadline_set(queue, place, heap[child]);
		place = child;
	}
	deadline_set(queue, place, item);
}

static bool deadlines_grow(struct tapi_queue *queue)
{
	struct tapi_item **heap;
	uint32_t room = queue->deadlines_room ? 2 * queue->deadlines_room : DEADLINES_FIRST;

	if (queue->n_deadlines < queue->deadlines_room)
		return true;
	heap = realloc(queue->deadlines, room * sizeof(struct tapi_item *));
	if (!heap)
		return false;
	queue->deadlines = heap;
	queue->deadlines_room = room;
	return true;
}

static void deadline_remove(struct tapi_queue *queue, struct tapi_item *item)
{
	struct tapi_item *last = queue->deadlines[--queue->n_deadlines];

	if (last != item)
		deadline_settle(queue, item->place, last);
}

static void deadlines_shrink(struct tapi_queue *queue) // a burst is over
{
	if (queue->n_deadlines == 0 && queue->deadlines_room > DEADLINES_FIRST) {
		free(queue->deadlines);
		queue->deadlines = NULL;
		queue->deadlines_room = 0;
	}
}

static void hold(struct tapi_queue *queue, uint64_t more, uint64_t less)
{
	queue->pool->bytes += more - less;
	tapi_budget_hold(queue->pool->budget, more, less);
	tapi_memory_set(
		&queue->pool->share.memory, &queue->holder, queue->holder.bytes + more - less);
}

static void take_off(struct tapi_queue *queue, struct tapi_item *item)
{
	TAILQ_REMOVE(&queue->items[item->priority], item, next);
	if (item->deadline_us != UINT64_MAX)
		deadline_remove(queue, item);
	queue->msgs--;
	queue->msgs_of[item->priority]--;
	queue->bytes -= item->size;
	queue->bytes_of[item->priority] -= item->size;
	hold(queue, 0, memory_of(item));
	free(item);
}

static struct tapi_item *least(const struct tapi_queue *queue) // lowest priority, oldest
{
	for (unsigned p = 0; p < TAPI_PRIORITIES; p++)
		if (!TAILQ_EMPTY(&queue->items[p]))
			return TAILQ_FIRST(&queue->items[p]);
	return NULL;
}

static struct tapi_item *foremost(const struct tapi_queue *queue) // highest priority, oldest
{
	for (unsigned p = TAPI_PRIORITIES; p-- > 0;)
		if (!TAILQ_EMPTY(&queue->items[p]))
			return TAILQ_FIRST(&queue->items[p]);
	return NULL;
}

static struct tapi_item *following(const struct tapi_queue *queue, const struct tapi_item *item)
{
	struct tapi_item *next = TAILQ_NEXT(item, next);

	for (unsigned p = item->priority; !next && p-- > 0;)
		next = TAILQ_FIRST(&queue->items[p]);
	return next;
}

void tapi_queue_pool_init(struct tapi_queue_pool *pool, uint64_t bytes_max)
{
	*pool = (struct tapi_queue_pool){.bytes_max = bytes_max};
}

static struct tapi_queue *queue_of(struct tapi_memory_user *holder)
{
	return (struct tapi_queue *)(void *)((uint8_t *)holder -
					     offsetof(struct tapi_queue, holder));
}

static void share_cut(struct tapi_memory_user *largest)
{
	struct tapi_queue *queue = queue_of(largest);

	COUNT(queue, dropped_pool);
	take_off(queue, least(queue));
}

void tapi_queue_pool_join(struct tapi_queue_pool *pool, struct tapi_budget *budget)
{
	pool->budget = budget;
	pool->share.cut = share_cut;
	tapi_budget_join(budget, &pool->share);
}

void tapi_queue_pool_limit(struct tapi_queue_pool *pool, uint64_t bytes_max)
{
	pool->bytes_max = bytes_max;
	while (pool->bytes > bytes_max)
		share_cut(tapi_memory_largest(&pool->share.memory));
}

void tapi_queue_init(struct tapi_queue *queue, struct tapi_queue_pool *pool, uint32_t msgs_max,
	uint64_t bytes_max)
{
	*queue = (struct tapi_queue){.pool = pool, .msgs_max = msgs_max, .bytes_max = bytes_max};
	for (unsigned p = 0; p < TAPI_PRIORITIES; p++)
		TAILQ_INIT(&queue->items[p]);
}

void tapi_queue_clear(struct tapi_queue *queue)
{
	while (queue->msgs) {
		COUNT(queue, dropped_forgotten);
		take_off(queue, least(queue));
	}
	free(queue->deadlines);
	queue->deadlines = NULL;
	queue->deadlines_room = 0;
}

uint32_t tapi_queue_expire(struct tapi_queue *queue, uint64_t now_us)
{
	uint32_t n = 0;

	while (queue->n_deadlines && queue->deadlines[0]->deadline_us <= now_us) {
		COUNT(queue, expired);
		take_off(queue, queue->deadlines[0]);
		n++;
	}
	deadlines_shrink(queue);
	return n;
}

static bool fits(const struct tapi_queue *queue, uint32_t msgs, uint64_t bytes, uint32_t size)
{
	return msgs < queue->msgs_max && (msgs == 0 || bytes + size <= queue->bytes_max);
}

// What the queue has below `priority`.
static void lower(
	const struct tapi_queue *queue, unsigned priority, uint32_t *msgs, uint64_t *bytes)
{
	*msgs = 0;
	*bytes = 0;
	for (unsigned p = 0; p < priority; p++) {
		*msgs += queue->msgs_of[p];
		*bytes += queue->bytes_of[p];
	}
}

// Is there room, when those of lower priority, and where the pool is full *victim, give way?
static bool plan(struct tapi_queue *queue, uint32_t size, unsigned priority,
	struct tapi_queue **victim, bool *pool_full)
{
	const struct tapi_queue_pool *pool = queue->pool;
	uint64_t need = size + TAPI_ITEM_EXTRA_BYTES, low_bytes;
	uint32_t low_msgs;
	struct tapi_memory_user *most;

	lower(queue, priority, &low_msgs, &low_bytes);
	*victim = NULL;
	*pool_full = false;
	if (!fits(queue, queue->msgs - low_msgs, queue->bytes - low_bytes, size))
		return false;
	if (pool->bytes + need <= pool->bytes_max)
		return true;
	*pool_full = true;
	if (need > pool->bytes_max)
		return false;
	most = tapi_memory_largest(&pool->share.memory);
	if (most && most != &queue->holder && most->bytes > queue->holder.bytes + need) {
		// It holds more than what is wanted: it alone suffices.
		*victim = queue_of(most);
		return true;
	}
	*victim = queue;
	return pool->bytes + need - pool->bytes_max <= low_bytes + low_msgs * TAPI_ITEM_EXTRA_BYTES;
}

// The same of the budget. Others that hold more have given way when this is true.
static bool room_in_budget(struct tapi_queue *queue, uint32_t size, unsigned priority)
{
	struct tapi_budget *budget = queue->pool->budget;
	const uint64_t need = size + TAPI_ITEM_EXTRA_BYTES;
	uint64_t low_bytes;
	uint32_t low_msgs;

	if (tapi_budget_room(budget, queue->holder.bytes, need))
		return true;
	lower(queue, priority, &low_msgs, &low_bytes);
	if (need > budget->bytes_max || budget->bytes + need - budget->bytes_max >
						low_bytes + low_msgs * TAPI_ITEM_EXTRA_BYTES)
		return false;
	while (tapi_budget_over(budget, need)) {
		COUNT(queue, dropped_pool);
		take_off(queue, least(queue));
	}
	return true;
}

static bool room(struct tapi_queue *queue, uint32_t size, unsigned priority,
	struct tapi_queue **victim, bool *pool_full)
{
	if (!plan(queue, size, priority, victim, pool_full))
		return false;
	if (!tapi_budget_over(queue->pool->budget, size + TAPI_ITEM_EXTRA_BYTES))
		return true;
	*pool_full = true;
	// Who gave way there may be whom the plan was made of.
	return room_in_budget(queue, size, priority) &&
	       plan(queue, size, priority, victim, pool_full);
}

static void give_way(struct tapi_queue *queue, struct tapi_queue *victim, uint32_t size)
{
	const struct tapi_queue_pool *pool = queue->pool;

	while (!fits(queue, queue->msgs, queue->bytes, size)) {
		COUNT(queue, dropped_full);
		take_off(queue, least(queue));
	}
	while (pool->bytes + size + TAPI_ITEM_EXTRA_BYTES > pool->bytes_max) {
		COUNT(victim, dropped_pool);
		take_off(victim, least(victim));
	}
}

enum tapi_result tapi_queue_put(struct tapi_queue *queue, uint16_t type, const void *body,
	size_t length, unsigned priority, bool is_encrypted, uint32_t crc, uint64_t deadline_us,
	uint64_t now_us)
{
	struct tapi_queue *victim;
	struct tapi_item *item;
	uint32_t size;
	uint8_t *p;
	bool pool_full;

	tapi_queue_expire(queue, now_us);
	COUNT(queue, queued);
	if (length > TAPI_MESSAGE_BYTES_MAX - TAPI_MESSAGE_HEAD_BYTES) {
		COUNT(queue, dropped_too_big);
		return TAPI_ETOOBIG;
	}
	size = (uint32_t)length + TAPI_MESSAGE_HEAD_BYTES;
	if (priority >= TAPI_PRIORITIES)
		priority = TAPI_PRIORITIES - 1;
	if (!room(queue, size, priority, &victim, &pool_full)) {
		if (pool_full)
			COUNT(queue, dropped_pool);
		else
			COUNT(queue, dropped_full);
		return TAPI_DROPPED;
	}
	item = malloc(sizeof(*item) + size);
	if (!item || (deadline_us != UINT64_MAX && !deadlines_grow(queue))) {
		free(item);
		COUNT(queue, dropped_memory);
		return TAPI_ENOMEM;
	}
	*item = (struct tapi_item){
		.deadline_us = deadline_us,
		.queued_us = now_us,
		.crc = crc,
		.size = size,
		.priority = (uint8_t)priority,
		.is_encrypted = is_encrypted,
	};
	p = tapi_put16(item->message, size > UINT16_MAX ? 0 : (uint16_t)size);
	p = tapi_put16(p, type);
	if (length)
		memcpy(p, body, length);

	give_way(queue, victim, size);
	if (deadline_us != UINT64_MAX) {
		queue->n_deadlines++;
		deadline_settle(queue, queue->n_deadlines - 1, item);
	}
	TAILQ_INSERT_TAIL(&queue->items[priority], item, next);
	queue->msgs++;
	queue->msgs_of[priority]++;
	queue->bytes += size;
	queue->bytes_of[priority] += size;
	hold(queue, memory_of(item), 0);
	return TAPI_OK;
}

uint32_t tapi_queue_batch(struct tapi_queue *queue, uint8_t *out, uint32_t mtu, uint64_t now_us,
	struct tapi_batch *batch)
{
	struct tapi_item *item;

	*batch = (struct tapi_batch){0};
	tapi_queue_expire(queue, now_us);
	for (item = foremost(queue); item; item = following(queue, item)) {
		if (item->size > mtu - batch->size || item->size > UINT16_MAX) {
			if (!batch->msgs)
				batch->too_long = item;
			batch->full = true;
			break;
		}
		if (item->is_encrypted && batch->msgs) {
			batch->full = true;
			break;
		}
		memcpy(&out[batch->size], item->message, item->size);
		batch->size += item->size;
		batch->msgs++;
		batch->app_msgs += tapi_get16(&item->message[2]) >= TAPI_TYPE_USER;
		if (item->is_encrypted) {
			batch->is_encrypted = true;
			batch->crc = item->crc;
			batch->full = true;
			break;
		}
	}
	if (batch->msgs && mtu - batch->size < TAPI_MESSAGE_HEAD_BYTES)
		batch->full = true;
	return batch->size;
}

void tapi_queue_sent(struct tapi_queue *queue, const struct tapi_batch *batch)
{
	for (uint32_t i = 0; i < batch->msgs && queue->msgs; i++) {
		COUNT(queue, taken);
		take_off(queue, foremost(queue));
	}
	deadlines_shrink(queue);
}

void tapi_queue_sent_parts(struct tapi_queue *queue, struct tapi_item *item)
{
	COUNT(queue, taken);
	take_off(queue, item);
}

void tapi_queue_drop(struct tapi_queue *queue, struct tapi_item *item)
{
	COUNT(queue, dropped_too_big);
	take_off(queue, item);
}

uint64_t tapi_queue_deadline(const struct tapi_queue *queue)
{
	return queue->n_deadlines ? queue->deadlines[0]->deadline_us : UINT64_MAX;
}

uint64_t tapi_queue_oldest(const struct tapi_queue *queue)
{
	uint64_t oldest = UINT64_MAX;

	for (unsigned p = 0; p < TAPI_PRIORITIES; p++) {
		const struct tapi_item *item = TAILQ_FIRST(&queue->items[p]);

		if (item && item->queued_us < oldest)
			oldest = item->queued_us;
	}
	return oldest;
}
