// SPDX-License-Identifier: BSD-3-Clause
// The pool of unfinished request heads and hellos, and who gives up a place when it is full.
#include "classify/names/heads.h"
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include "classify/app_proto.h"
#include "pipeline/vocab/address.h"
#include "pipeline/vocab/hash_seed.h"
#include "pipeline/vocab/pages.h"

#define SOURCE_SLOTS 1024 // a power of two, for each of two rows
#define LOOK_AT      16   // places that were taken first, of each kind
#define REST_NS      (NAME_HEAD_REST_S * UINT64_C(1000000000))

enum kind {
	KIND_UNHEARD, // anybody may have sent it
	KIND_OUTSIDE, // who began the flow, from wherever he has addresses
	KIND_INSIDE,
	KINDS,
};

struct place {
	struct names_follow *owner; // NULL: free
	uint64_t since_ns;
	uint32_t source;     // hash of it
	uint32_t prev, next; // by since_ns, of its kind; free: `next` alone
	uint8_t kind;
};

// Pages are touched when a place is used first; the free list is last in, first out. Place 0 is
// none.
struct name_heads {
	uint8_t (*bytes)[NAME_HEAD_BYTES];
	struct place *places;
	struct hash_seed seed;
	uint64_t displaced;
	unsigned n, n_free, n_of[KINDS];
	uint32_t free, first[KINDS], last[KINDS];
	// Places of a source: never too low, by chance too high (as pipeline/flow/share.h).
	uint32_t count[2][SOURCE_SLOTS];
};

struct name_heads *name_heads_new(unsigned n, const struct hash_seed *seed)
{
	struct name_heads *heads = calloc(1, sizeof(*heads));

	if (!heads)
		return NULL;
	heads->places = calloc((size_t)n + 1, sizeof(*heads->places));
	heads->bytes = pages_new((size_t)(n ? n : 1) * NAME_HEAD_BYTES, -1);
	heads->n = heads->n_free = n;
	if (!heads->places || !heads->bytes) {
		name_heads_free(heads);
		return NULL;
	}
	heads->seed = *seed;
	for (unsigned i = 0; i < n; i++)
		heads->places[i + 1].next = i + 1 < n ? i + 2 : 0;
	heads->free = n ? 1 : 0;
	return heads;
}

void name_heads_free(struct name_heads *heads)
{
	if (!heads)
		return;
	if (heads->bytes)
		munmap(heads->bytes, (size_t)(heads->n ? heads->n : 1) * NAME_HEAD_BYTES);
	free(heads->places);
	free(heads);
}

unsigned name_heads_left(const struct name_heads *heads)
{
	return heads->n_free;
}

uint64_t name_heads_displaced(const struct name_heads *heads)
{
	return heads->displaced;
}

static uint32_t source_of(const struct name_heads *heads, const struct name_user *user)
{
	uint64_t words[2];

	address_source(user->ends->address[HALF_C2S], words);
	return hash_words(&heads->seed, words, 2);
}

static uint32_t *count_of(struct name_heads *heads, uint32_t source, unsigned row)
{
	return &heads->count[row][(row ? source >> 16 : source) % SOURCE_SLOTS];
}

static unsigned places_of(struct name_heads *heads, uint32_t source)
{
	unsigned a = *count_of(heads, source, 0), b = *count_of(heads, source, 1);

	return a < b ? a : b;
}

static void give_back(struct name_heads *heads, uint32_t ref)
{
	struct place *place = &heads->places[ref];

	for (unsigned row = 0; row < 2; row++)
		--*count_of(heads, place->source, row);
	if (place->prev)
		heads->places[place->prev].next = place->next;
	else
		heads->first[place->kind] = place->next;
	if (place->next)
		heads->places[place->next].prev = place->prev;
	else
		heads->last[place->kind] = place->prev;
	heads->n_of[place->kind]--;
	place->owner = NULL;
	place->next = heads->free;
	heads->free = ref;
	heads->n_free++;
}

static uint32_t take(struct name_heads *heads, struct names_follow *owner,
	const struct name_user *user, enum kind kind, uint32_t source)
{
	uint32_t ref = heads->free, last = heads->last[kind];
	struct place *place = &heads->places[ref];

	heads->free = place->next;
	heads->n_free--;
	heads->n_of[kind]++;
	*place = (struct place){.owner = owner,
		.since_ns = user->now_ns,
		.source = source,
		.prev = last,
		.kind = (uint8_t)kind};
	if (last)
		heads->places[last].next = ref;
	else
		heads->first[kind] = ref;
	heads->last[kind] = ref;
	for (unsigned row = 0; row < 2; row++)
		++*count_of(heads, source, row);
	return ref;
}

// Of a kind, what the newcomer may take; 0: nothing.
static uint32_t place_of(
	struct name_heads *heads, enum kind of, enum kind kind, uint32_t source, uint64_t now_ns)
{
	unsigned own = places_of(heads, source), n = 0;

	for (uint32_t ref = heads->first[of]; ref && n < LOOK_AT; n++) {
		const struct place *place = &heads->places[ref];

		if ((of == KIND_UNHEARD && kind != KIND_UNHEARD) ||
			now_ns - place->since_ns >= REST_NS ||
			places_of(heads, place->source) > own + 1)
			return ref;
		ref = place->next;
	}
	return 0;
}

static bool displace(
	struct name_heads *heads, enum kind kind, uint32_t source, uint64_t now_ns, enum kind up_to)
{
	// what is not heard displaces nothing that is
	enum kind last = kind == KIND_UNHEARD ? KIND_UNHEARD : up_to;

	for (enum kind of = KIND_UNHEARD; of <= last; of++) {
		uint32_t ref = place_of(heads, of, kind, source, now_ns);
		struct names_follow *owner = heads->places[ref].owner;

		if (!ref)
			continue;
		owner->phase = NAMES_DISPLACED;
		owner->head = 0;
		owner->kept = 0;
		heads->displaced++;
		give_back(heads, ref);
		return true;
	}
	return false;
}

uint32_t name_head_acquire(
	struct name_heads *heads, struct names_follow *owner, const struct name_user *user)
{
	enum kind kind = user->unheard ? KIND_UNHEARD : user->inside ? KIND_INSIDE : KIND_OUTSIDE;
	uint32_t source = source_of(heads, user);
	unsigned n_lower = heads->n_of[KIND_UNHEARD] + heads->n_of[KIND_OUTSIDE];
	bool has_half = kind == KIND_UNHEARD
				? heads->n_free <= heads->n / 2
				: kind == KIND_OUTSIDE && n_lower >= heads->n - heads->n / 2;

	if ((has_half || !heads->n_free) &&
		!displace(heads, kind, source, user->now_ns, has_half ? KIND_OUTSIDE : KIND_INSIDE))
		return 0;
	return take(heads, owner, user, kind, source);
}

uint8_t *name_head_at(struct name_heads *heads, uint32_t ref)
{
	return heads->bytes[ref - 1];
}

void name_head_release(struct name_heads *heads, uint32_t ref)
{
	if (!ref)
		return;
	assert(heads->places[ref].owner); // else two flows would write to one place
	give_back(heads, ref);
}
