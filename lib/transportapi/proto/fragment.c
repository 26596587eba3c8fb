// SPDX-License-Identifier: BSD-3-Clause
// A message is gathered in pages, each with a bit per octet: memory grows with what came in, and a
// part costs what it is long, whatever came before it.
#include "transportapi/proto/fragment.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "transportapi/base/wire.h"

enum { PAGE = 1024, WORDS = PAGE / 64, MALLOC_EXTRA = 16 };

struct page {
	uint64_t have[WORDS];
	uint8_t octets[PAGE];
};

struct tapi_assembly {
	struct tapi_assembly *next; // younger
	uint32_t msg_id, total, received, crc;
	bool is_encrypted;
	uint64_t expires_us, memory;
	struct page *pages[];
};

struct part {
	uint32_t msg_id, total, offset, length;
	const uint8_t *octets;
};

static uint32_t pages_of(uint32_t total)
{
	return (total + PAGE - 1) / PAGE;
}

static void hold(
	struct tapi_assemblies *all, struct tapi_assembly *assembly, uint64_t more, uint64_t less)
{
	assembly->memory += more - less;
	all->pool->bytes += more - less;
	tapi_budget_hold(all->pool->budget, more, less);
	tapi_memory_set(&all->pool->share.memory, &all->holder, all->holder.bytes + more - less);
}

static void discard(struct tapi_assemblies *all, struct tapi_assembly *assembly)
{
	struct tapi_assembly **at = &all->first;

	while (*at != assembly)
		at = &(*at)->next;
	*at = assembly->next;
	all->count--;
	all->bytes -= assembly->total;
	hold(all, assembly, 0, assembly->memory);
	for (uint32_t i = 0; i < pages_of(assembly->total); i++)
		free(assembly->pages[i]);
	free(assembly);
}

void tapi_fragment_pool_init(struct tapi_fragment_pool *pool, uint64_t bytes_max)
{
	*pool = (struct tapi_fragment_pool){.bytes_max = bytes_max};
}

static struct tapi_assemblies *assemblies_of(struct tapi_memory_user *holder)
{
	return (struct tapi_assemblies *)(void *)((uint8_t *)holder -
						  offsetof(struct tapi_assemblies, holder));
}

static void share_cut(struct tapi_memory_user *largest)
{
	struct tapi_assemblies *all = assemblies_of(largest);

	all->pool->counters.dropped_full++;
	discard(all, all->first);
}

void tapi_fragment_pool_join(struct tapi_fragment_pool *pool, struct tapi_budget *budget)
{
	pool->budget = budget;
	pool->share.cut = share_cut;
	tapi_budget_join(budget, &pool->share);
}

void tapi_fragment_pool_limit(struct tapi_fragment_pool *pool, uint64_t bytes_max)
{
	pool->bytes_max = bytes_max;
	while (pool->bytes > bytes_max)
		share_cut(tapi_memory_largest(&pool->share.memory));
}

void tapi_assemblies_init(struct tapi_assemblies *all, struct tapi_fragment_pool *pool)
{
	*all = (struct tapi_assemblies){.pool = pool};
}

void tapi_assemblies_clear(struct tapi_assemblies *all)
{
	while (all->first) {
		all->pool->counters.dropped_forgotten++;
		discard(all, all->first);
	}
}

uint32_t tapi_fragment_make(uint8_t *out, uint32_t mtu, uint32_t msg_id, const uint8_t *message,
	uint32_t total, uint32_t offset, uint32_t *next_offset)
{
	uint32_t size = mtu < UINT16_MAX ? mtu : UINT16_MAX;
	uint8_t *p = out;

	if (size <= TAPI_FRAGMENT_HEAD_BYTES || offset >= total) {
		*next_offset = offset;
		return 0;
	}
	if (size - TAPI_FRAGMENT_HEAD_BYTES > total - offset)
		size = total - offset + TAPI_FRAGMENT_HEAD_BYTES;
	p = tapi_put16(p, (uint16_t)size);
	p = tapi_put16(p, TAPI_TYPE_FRAGMENT);
	p = tapi_put32(p, msg_id);
	p = tapi_put32(p, total);
	p = tapi_put32(p, offset);
	tapi_put(p, &message[offset], size - TAPI_FRAGMENT_HEAD_BYTES);
	*next_offset = offset + size - TAPI_FRAGMENT_HEAD_BYTES;
	return size;
}

static bool part_read(struct part *out, const uint8_t *octets, uint32_t length)
{
	if (length <= TAPI_FRAGMENT_HEAD_BYTES || tapi_get16(octets) != length ||
		tapi_get16(&octets[2]) != TAPI_TYPE_FRAGMENT)
		return false;
	*out = (struct part){
		.msg_id = tapi_get32(&octets[4]),
		.total = tapi_get32(&octets[8]),
		.offset = tapi_get32(&octets[12]),
		.length = length - TAPI_FRAGMENT_HEAD_BYTES,
		.octets = &octets[TAPI_FRAGMENT_HEAD_BYTES],
	};
	return out->total >= TAPI_MESSAGE_HEAD_BYTES && out->total <= TAPI_MESSAGE_BYTES_MAX &&
	       out->offset < out->total && out->length <= out->total - out->offset;
}

bool tapi_assemblies_wait_for(
	const struct tapi_assemblies *all, const uint8_t *octets, uint32_t length)
{
	const struct tapi_assembly *a = all->first;
	struct part part;

	if (!a || !part_read(&part, octets, length))
		return false;
	while (a && a->msg_id != part.msg_id)
		a = a->next;
	return a != NULL;
}

// The message's own head has to say what `total` says, and fragments are not nested.
static bool head_fits(const uint8_t *message, uint32_t total)
{
	return tapi_get16(message) == (total > UINT16_MAX ? 0 : total) &&
	       tapi_get16(&message[2]) != TAPI_TYPE_FRAGMENT;
}

static uint64_t mask_of(uint32_t from, uint32_t to) // of one word
{
	return (to - from == 64 ? UINT64_MAX : (UINT64_C(1) << (to - from)) - 1) << from;
}

// `length` octets into the page at `from`: false if they contradict what is there. *fresh: how many
// of them were not there.
static bool page_fill(
	struct page *page, uint32_t from, const uint8_t *octets, uint32_t length, uint32_t *fresh)
{
	uint32_t to = from + length;

	while (from < to) {
		uint32_t word = from / 64, end = (word + 1) * 64 < to ? (word + 1) * 64 : to;
		uint64_t mask = mask_of(from % 64, end - word * 64), had = page->have[word] & mask;

		if (had == mask) {
			if (memcmp(&page->octets[from], octets, end - from) != 0)
				return false;
		} else {
			for (uint64_t left = had; left; left &= left - 1) {
				uint32_t at = word * 64 + (uint32_t)__builtin_ctzll(left);

				if (page->octets[at] != octets[at - from])
					return false;
			}
			memcpy(&page->octets[from], octets, end - from);
			page->have[word] |= mask;
			*fresh += (uint32_t)__builtin_popcountll(mask & ~had);
		}
		octets += end - from;
		from = end;
	}
	return true;
}

// The largest holder loses its oldest messages, unless `all` would be it: false then.
static bool room_in_pool(struct tapi_assemblies *all, uint64_t need)
{
	struct tapi_fragment_pool *pool = all->pool;
	struct tapi_memory_user *most;
	struct tapi_assemblies *victim;

	if (pool->bytes + need <= pool->bytes_max)
		return tapi_budget_room(pool->budget, all->holder.bytes, need);
	most = tapi_memory_largest(&pool->share.memory);
	if (need > pool->bytes_max || !most || most == &all->holder ||
		most->bytes <= all->holder.bytes + need)
		return false;
	victim = assemblies_of(most);
	while (pool->bytes + need > pool->bytes_max) { // it holds more than `need`
		pool->counters.dropped_full++;
		discard(victim, victim->first);
	}
	return tapi_budget_room(pool->budget, all->holder.bytes, need);
}

// Room among the peer's own messages: those with an older msg_id give way.
static bool room_in_peer(struct tapi_assemblies *all, const struct part *part)
{
	unsigned count = all->count;
	uint64_t bytes = all->bytes;

	for (struct tapi_assembly *a = all->first; a; a = a->next)
		if ((int32_t)(part->msg_id - a->msg_id) > 0) {
			count--;
			bytes -= a->total;
		}
	if (count + 1 > TAPI_ASSEMBLIES_MAX || bytes + part->total > TAPI_ASSEMBLY_BYTES_MAX)
		return false;
	while (all->count + 1 > TAPI_ASSEMBLIES_MAX ||
		all->bytes + part->total > TAPI_ASSEMBLY_BYTES_MAX) {
		struct tapi_assembly *oldest = NULL;

		for (struct tapi_assembly *a = all->first; a; a = a->next) {
			uint32_t age = part->msg_id - a->msg_id;

			if ((int32_t)age > 0 && (!oldest || age > part->msg_id - oldest->msg_id))
				oldest = a;
		}
		all->pool->counters.dropped_full++;
		discard(all, oldest);
	}
	return true;
}

static enum tapi_result start(
	struct tapi_assemblies *all, const struct part *part, struct tapi_assembly **out)
{
	size_t size = sizeof(struct tapi_assembly) + pages_of(part->total) * sizeof(struct page *);
	struct tapi_assembly *fresh, **at = &all->first;

	*out = NULL;
	if (!room_in_peer(all, part) || !room_in_pool(all, size + MALLOC_EXTRA)) {
		all->pool->counters.refused++;
		return TAPI_DROPPED;
	}
	fresh = calloc(1, size);
	if (!fresh) {
		all->pool->counters.refused++;
		return TAPI_ENOMEM;
	}
	fresh->msg_id = part->msg_id;
	fresh->total = part->total;
	while (*at)
		at = &(*at)->next;
	*at = fresh;
	all->count++;
	all->bytes += part->total;
	all->pool->counters.started++;
	hold(all, fresh, size + MALLOC_EXTRA, 0);
	*out = fresh;
	return TAPI_OK;
}

static enum tapi_result pages_get(
	struct tapi_assemblies *all, struct tapi_assembly *assembly, const struct part *part)
{
	const uint64_t each = sizeof(struct page) + MALLOC_EXTRA;
	uint32_t first = part->offset / PAGE, last = (part->offset + part->length - 1) / PAGE;
	uint64_t need = 0;

	for (uint32_t i = first; i <= last; i++)
		need += assembly->pages[i] ? 0 : each;
	if (need && !room_in_pool(all, need))
		return TAPI_DROPPED;
	for (uint32_t i = first; i <= last; i++) {
		if (assembly->pages[i])
			continue;
		assembly->pages[i] = malloc(sizeof(struct page));
		if (!assembly->pages[i])
			return TAPI_ENOMEM;
		memset(assembly->pages[i]->have, 0, sizeof(assembly->pages[i]->have));
		hold(all, assembly, each, 0);
	}
	return TAPI_OK;
}

static bool pages_fill(struct tapi_assembly *assembly, const struct part *part, uint32_t *fresh)
{
	for (uint32_t done = 0; done < part->length;) {
		uint32_t at = part->offset + done, n = PAGE - at % PAGE;

		if (n > part->length - done)
			n = part->length - done;
		if (!page_fill(
			    assembly->pages[at / PAGE], at % PAGE, &part->octets[done], n, fresh))
			return false;
		done += n;
	}
	return true;
}

static enum tapi_result finish(
	struct tapi_assemblies *all, struct tapi_assembly *assembly, struct tapi_whole *whole)
{
	uint32_t total = assembly->total;
	uint8_t *message;

	if (!head_fits(assembly->pages[0]->octets, total)) {
		all->pool->counters.conflict++;
		return TAPI_EFORMAT;
	}
	message = malloc(total);
	if (!message) {
		all->pool->counters.dropped_memory++;
		return TAPI_ENOMEM;
	}
	for (uint32_t at = 0; at < total; at += PAGE)
		memcpy(&message[at], assembly->pages[at / PAGE]->octets,
			total - at < PAGE ? total - at : PAGE);
	all->pool->counters.whole++;
	*whole = (struct tapi_whole){
		.message = message,
		.size = total,
		.is_encrypted = assembly->is_encrypted,
		.crc = assembly->crc,
	};
	return TAPI_OK;
}

enum tapi_result tapi_fragment_take(struct tapi_assemblies *all, const uint8_t *octets,
	uint32_t length, bool is_encrypted, uint32_t crc, uint64_t now_us, uint64_t for_us,
	struct tapi_whole *whole)
{
	struct tapi_fragment_counters *counters = &all->pool->counters;
	struct tapi_assembly *assembly;
	struct part part;
	enum tapi_result result;
	uint32_t fresh = 0;

	*whole = (struct tapi_whole){0};
	counters->parts++;
	tapi_fragment_turn(all, now_us);
	if (!part_read(&part, octets, length)) {
		counters->malformed++;
		return TAPI_EFORMAT;
	}
	for (assembly = all->first; assembly; assembly = assembly->next)
		if (assembly->msg_id == part.msg_id)
			break;
	if (!assembly) {
		result = start(all, &part, &assembly);
		if (result)
			return result;
		assembly->is_encrypted = is_encrypted;
		assembly->crc = is_encrypted ? crc : 0;
		assembly->expires_us = now_us + for_us;
	} else if (assembly->total != part.total || assembly->is_encrypted != is_encrypted ||
		   (is_encrypted && assembly->crc != crc)) {
		counters->conflict++;
		discard(all, assembly);
		return TAPI_EFORMAT;
	}
	result = pages_get(all, assembly, &part);
	if (result) { // it cannot become whole any more
		if (result == TAPI_ENOMEM)
			counters->dropped_memory++;
		else
			counters->dropped_full++;
		discard(all, assembly);
		return result;
	}
	if (!pages_fill(assembly, &part, &fresh)) {
		counters->conflict++;
		discard(all, assembly);
		return TAPI_EFORMAT;
	}
	if (!fresh)
		counters->duplicate++;
	assembly->received += fresh;
	if (assembly->received < assembly->total)
		return TAPI_OK;
	result = finish(all, assembly, whole);
	discard(all, assembly);
	return result;
}

uint64_t tapi_fragment_turn(struct tapi_assemblies *all, uint64_t now_us)
{
	uint64_t soonest = UINT64_MAX;
	struct tapi_assembly *next;

	for (struct tapi_assembly *a = all->first; a; a = next) {
		next = a->next;
		if (a->expires_us <= now_us) {
			all->pool->counters.expired++;
			discard(all, a);
		} else if (a->expires_us < soonest) {
			soonest = a->expires_us;
		}
	}
	return soonest;
}
