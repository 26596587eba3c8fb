// SPDX-License-Identifier: BSD-3-Clause
// Inserts, finds and removes the copies and held packets of a half.
#include <string.h>
#include <rte_branch_prediction.h>
#include "reassembly/q2.h"

static int segment_order(const struct segment *a, const struct segment *b)
{
	return (a->start > b->start) - (a->start < b->start);
}

RB_GENERATE_INTERNAL(segment_tree, segment, node, segment_order, static __attribute__((unused)))

void q2_init(struct q2 *q2)
{
	*q2 = (struct q2){0};
	RB_INIT(&q2->tree);
	TAILQ_INIT(&q2->held);
}

static void count_copies(struct q2 *q2, struct slab *slab, int change)
{
	bool before = q2->n_copies;

	q2->n_copies += (uint32_t)change;
	slab->copies += (uint32_t)change;
	slab->copiers += (uint32_t)((q2->n_copies > 0) - before);
}

static void forget(struct q2 *q2, struct slab *slab, struct segment *segment)
{
	if (segment == q2->last)
		q2->last = RB_PREV(segment_tree, &q2->tree, segment);
	RB_REMOVE(segment_tree, &q2->tree, segment);
	q2->n_blocks--;
	if (unlikely(segment->original != NULL)) {
		q2->n_blocks--;
		slab_put(slab, segment->original);
	}
	count_copies(q2, slab, -(segment->kind == SEGMENT_COPY));
	slab_put(slab, segment);
}

// The part of a frame from `at` on that lies in one mbuf segment.
static uint8_t *piece(struct payload from, uint32_t *length)
{
	struct rte_mbuf *m = from.m;

	while (m && from.at >= m->data_len) {
		from.at -= m->data_len;
		m = m->next;
	}
	if (!m) {
		*length = 0;
		return NULL;
	}
	*length = m->data_len - from.at;
	return rte_pktmbuf_mtod_offset(m, uint8_t *, from.at);
}

static void copy_out(uint8_t *to, struct payload from, uint32_t length)
{
	uint32_t here;

	while (length) {
		const uint8_t *bytes = piece(from, &here);

		if (here > length)
			here = length;
		if (!here) { // pkt_len promises more than the segments hold: parse has refused it
			memset(to, 0, length);
			return;
		}
		memcpy(to, bytes, here);
		to += here;
		from.at += here;
		length -= here;
	}
}

void q2_keep(struct q2 *q2, struct slab *slab, enum segment_kind kind, uint64_t start,
	struct payload from, uint32_t length)
{
	// what ends where this begins: the last one, or the one before the hole at hand
	struct segment *before = q2->last;

	if (before && before->start > start) {
		struct segment probe = {.start = start};
		struct segment *behind = RB_NFIND(segment_tree, &q2->tree, &probe);

		before = behind ? RB_PREV(segment_tree, &q2->tree, behind) : q2->last;
	}
	if (before && before->kind == kind && before->start + before->length == start) {
		uint32_t room = (uint32_t)SEGMENT_BYTES - before->length;
		uint32_t n = length < room ? length : room;

		copy_out(before->bytes + before->length, from, n);
		before->length += n;
		start += n;
		from.at += n;
		length -= n;
	}
	while (length) {
		struct segment *segment = slab_take(slab);
		uint32_t n = length < SEGMENT_BYTES ? length : (uint32_t)SEGMENT_BYTES;

		if (!segment)
			return; // the caller has asked
		segment->start = start;
		segment->length = n;
		segment->kind = (uint8_t)kind;
		segment->ahead = 0;
		segment->original = NULL;
		copy_out(segment->bytes, from, n);
		RB_INSERT(segment_tree, &q2->tree, segment);
		if (!q2->last || q2->last->start < start)
			q2->last = segment;
		q2->n_blocks++;
		count_copies(q2, slab, kind == SEGMENT_COPY);
		// the next to be kept is mostly as long
		slab_fetch(slab, (uint32_t)sizeof(struct segment) + n);
		start += n;
		from.at += n;
		length -= n;
	}
}

struct segment *q2_at(struct q2 *q2, uint64_t offset)
{
	struct segment *at = RB_ROOT(&q2->tree), *found = NULL;

	if (!q2->last || q2->last->start + q2->last->length <= offset)
		return NULL;
	if (q2->last->start <= offset)
		return q2->last;
	while (at) {
		if (at->start + at->length > offset) {
			found = at;
			at = RB_LEFT(at, node);
		} else {
			at = RB_RIGHT(at, node);
		}
	}
	return found;
}

struct segment *q2_after(struct segment *segment)
{
	return RB_NEXT(segment_tree, NULL, segment);
}

void q2_sent(struct q2 *q2, struct slab *slab, struct segment *segment)
{
	if (segment->kind != SEGMENT_COPY)
		return;
	segment->kind = SEGMENT_SENT;
	segment->ahead = segment->length;
	count_copies(q2, slab, -1);
}

uint64_t q2_left_ahead(struct q2 *q2, uint64_t offset)
{
	const struct segment *kept;

	while ((kept = q2_at(q2, offset)) && kept->kind == SEGMENT_SENT && kept->start <= offset &&
		offset < kept->start + kept->ahead)
		offset = kept->start + kept->ahead;
	return offset;
}

void q2_forget(struct q2 *q2, struct slab *slab, uint64_t offset, unsigned budget)
{
	struct segment *first = RB_MIN(segment_tree, &q2->tree);

	while (first && budget-- && first->start + first->length <= offset) {
		struct segment *next = RB_NEXT(segment_tree, &q2->tree, first);

		forget(q2, slab, first);
		first = next;
	}
}

void q2_forget_copies(struct q2 *q2, struct slab *slab)
{
	struct segment *segment = q2->n_copies ? RB_MIN(segment_tree, &q2->tree) : NULL;

	while (segment && q2->n_copies) {
		struct segment *next = RB_NEXT(segment_tree, &q2->tree, segment);

		if (segment->kind == SEGMENT_COPY)
			forget(q2, slab, segment);
		segment = next;
	}
}

static bool is_original(const struct segment *kept, uint32_t at, uint8_t byte)
{
	const struct segment *original = kept->original;

	return original && at < original->length && original->bytes[at] == byte;
}

// `length` bytes with those that are kept from `at` on.
static void compare(struct q2_compared *result, const struct segment *kept, uint32_t at,
	struct payload bytes, uint32_t length, bool rewrite)
{
	uint32_t here;

	result->known += length;
	while (length) {
		uint8_t *seen = piece(bytes, &here);

		if (here > length)
			here = length;
		if (!here)
			return;
		if (memcmp(seen, kept->bytes + at, here)) {
			for (uint32_t i = 0; i < here; i++) {
				if (seen[i] == kept->bytes[at + i])
					continue;
				if (is_original(kept, at + i, seen[i]))
					result->edited++;
				else if (!result->differ++)
					result->first = kept->start + at + i;
				if (rewrite)
					seen[i] = kept->bytes[at + i];
			}
		}
		at += here;
		bytes.at += here;
		length -= here;
	}
}

struct q2_compared q2_compare(
	struct q2 *q2, uint64_t start, struct payload bytes, uint32_t length, bool rewrite)
{
	struct q2_compared result = {0};
	uint64_t end = start + length;

	for (struct segment *at = q2_at(q2, start); at && at->start < end; at = q2_after(at)) {
		uint64_t from = at->start > start ? at->start : start;
		uint64_t until = at->start + at->length < end ? at->start + at->length : end;
		struct payload here = {bytes.m, bytes.at + (uint32_t)(from - start)};

		compare(&result, at, (uint32_t)(from - at->start), here, (uint32_t)(until - from),
			rewrite);
	}
	return result;
}

bool q2_hold(struct q2 *q2, struct slab *slab, uint64_t start, struct payload bytes,
	uint32_t length, enum hold_place place)
{
	struct segment *segment = slab_take(slab), *before = NULL;

	if (!segment)
		return false;
	segment->start = start;
	segment->length = length;
	segment->kind = SEGMENT_HELD;
	segment->m = bytes.m;
	segment->at = bytes.at;
	if (place != HOLD_FIRST)
		before = TAILQ_LAST(&q2->held, held_list);
	while (before && place == HOLD_BY_OFFSET && before->start > start)
		before = TAILQ_PREV(before, held_list, link);
	if (before)
		TAILQ_INSERT_AFTER(&q2->held, before, segment, link);
	else
		TAILQ_INSERT_HEAD(&q2->held, segment, link);
	if (!q2->n_held++ || q2->held_end < start + length)
		q2->held_end = start + length;
	return true;
}

struct segment *q2_held_covers(const struct q2 *q2, uint64_t start, uint32_t length)
{
	struct segment *held;

	if (!q2->n_held || q2->held_end < start + length)
		return NULL;
	TAILQ_FOREACH_REVERSE(held, &q2->held, held_list, link)
	{
		if (held->start <= start && held->start + held->length >= start + length)
			return held;
	}
	return NULL;
}

struct rte_mbuf *q2_unhold(struct q2 *q2, struct slab *slab, struct segment *held)
{
	if (!held)
		return NULL;
	struct rte_mbuf *m = held->m;

	TAILQ_REMOVE(&q2->held, held, link);
	q2->n_held--;
	slab_put(slab, held);
	return m;
}

// `a`, which lies at this offset, with `b`.
static void differ(struct q2_compared *result, uint64_t at, struct payload a, struct payload b,
	uint32_t length)
{
	uint32_t here_a, here_b;

	result->known += length;
	while (length) {
		const uint8_t *pa = piece(a, &here_a), *pb = piece(b, &here_b);
		uint32_t here = here_a < here_b ? here_a : here_b;

		if (here > length)
			here = length;
		if (!here)
			break;
		if (memcmp(pa, pb, here))
			for (uint32_t i = 0; i < here; i++)
				if (pa[i] != pb[i] && !result->differ++)
					result->first = at + i;
		at += here;
		a.at += here;
		b.at += here;
		length -= here;
	}
}

struct q2_compared q2_held_compare(
	const struct q2 *q2, uint64_t start, struct payload bytes, uint32_t length)
{
	uint64_t end = start + length, done = start, newest = 0;
	struct q2_compared result = {0};
	const struct segment *held;

	if (!q2->n_held || q2->held_end <= start)
		return result; // it goes on where they end
	TAILQ_FOREACH (held, &q2->held, link) {
		uint64_t until =
			held->start + held->length < end ? held->start + held->length : end;
		uint64_t from = held->start > start ? held->start : start;

		// by offset, others have had these bytes, too: the same; not so as they came
		if (held->start >= newest && from < done)
			from = done;
		if (held->start > newest)
			newest = held->start;
		if (until <= from)
			continue;
		struct payload ours = {bytes.m, bytes.at + (uint32_t)(from - start)};
		struct payload theirs = {held->m, held->at + (uint32_t)(from - held->start)};

		differ(&result, from, ours, theirs, (uint32_t)(until - from));
		if (done < until)
			done = until;
	}
	return result;
}

void q2_held_order(struct q2 *q2)
{
	struct segment *at = TAILQ_FIRST(&q2->held), *next, *before;

	for (; at; at = next) {
		next = TAILQ_NEXT(at, link);
		before = TAILQ_PREV(at, held_list, link);
		if (!before || before->start <= at->start)
			continue;
		TAILQ_REMOVE(&q2->held, at, link);
		while (before && before->start > at->start)
			before = TAILQ_PREV(before, held_list, link);
		if (before)
			TAILQ_INSERT_AFTER(&q2->held, before, at, link);
		else
			TAILQ_INSERT_HEAD(&q2->held, at, link);
	}
}
