// SPDX-License-Identifier: BSD-3-Clause
// Objects by their id, files of them, and who of them makes room for others.
#include "pipeline/swarm/swarm_work.h"

#include <string.h>
#include <rte_common.h>
#include "pipeline/vocab/pages.h"
#include "pipeline/vocab/tick.h"

#define TURN_MAX  8  // objects that a turn looks at
#define EVICT_MAX 32 // ... and who needs room
#define LOOKS     16 // in the age of an object
#define LOOK_NS   (100 * NS_PER_MS)

// ---- the table ----

static size_t bytes_of(const struct swarm *swarm)
{
	return (swarm->limits.files + 1) * (sizeof(struct object) + sizeof(struct file)) +
	       (swarm->mask + 1) * sizeof(uint32_t);
}

bool table_new(struct swarm *swarm)
{
	uint32_t n = swarm->limits.files;

	swarm->mask = rte_align32pow2(n) - 1;
	uint8_t *at = pages_new(bytes_of(swarm), -1);

	if (!at)
		return false;
	swarm->objects = (void *)at;
	swarm->files = (void *)(at + (n + 1) * sizeof(struct object));
	swarm->buckets = (void *)(at + (n + 1) * (sizeof(struct object) + sizeof(struct file)));
	for (uint32_t i = 1; i < n; i++) {
		swarm->objects[i].next_free = i + 1;
		swarm->files[i].next = i + 1;
	}
	swarm->free_object = swarm->free_file = 1;
	return true;
}

void table_free(struct swarm *swarm)
{
	if (swarm->objects)
		munmap(swarm->objects, bytes_of(swarm));
}

static uint32_t *bucket_of(const struct swarm *swarm, const struct content_id *id, uint64_t size)
{
	uint64_t words[6] = {[4] = id->kind, [5] = size};

	memcpy(words, id->bytes, sizeof(id->bytes));
	return &swarm->buckets[hash_words(swarm->limits.seed, words, 6) & swarm->mask];
}

static void lru_remove(struct swarm *swarm, struct object *object)
{
	if (object->lru_prev)
		swarm->objects[object->lru_prev].lru_next = object->lru_next;
	else
		swarm->lru_first = object->lru_next;
	if (object->lru_next)
		swarm->objects[object->lru_next].lru_prev = object->lru_prev;
	else
		swarm->lru_last = object->lru_prev;
}

static void lru_append(struct swarm *swarm, struct object *object)
{
	uint32_t number = swarm_number_of(swarm, object);

	object->lru_prev = swarm->lru_last;
	object->lru_next = NONE;
	if (swarm->lru_last)
		swarm->objects[swarm->lru_last].lru_next = number;
	else
		swarm->lru_first = number;
	swarm->lru_last = number;
}

static void unhook(struct swarm *swarm, struct object *object)
{
	uint32_t *at = bucket_of(swarm, &object->id, object->size);

	if (!object->hooked)
		return;
	while (*at != swarm_number_of(swarm, object))
		at = &swarm->objects[*at].next_in_bucket;
	*at = object->next_in_bucket;
	object->hooked = false;
}

void table_unhook(struct swarm *swarm, struct object *object)
{
	swarm_lock(&swarm->lock);
	unhook(swarm, object);
	swarm_unlock(&swarm->lock);
}

// ---- objects that go ----

static bool lacks_anything(const struct swarm *swarm, const struct object *object)
{
	for (uint32_t i = object->files; i; i = swarm->files[i].next)
		if (swarm->files[i].phase == PHASE_OPEN && swarm->files[i].present)
			return true;
	return false;
}

// Nobody refers to it. Under the swarm's lock.
static void drop(struct swarm *swarm, struct object *object)
{
	uint32_t number;

	unhook(swarm, object);
	lru_remove(swarm, object);
	if (lacks_anything(swarm, object))
		swarm_count(&swarm->forgotten);
	while ((number = object->files)) {
		object->files = swarm->files[number].next;
		swarm->files[number].next = swarm->free_file;
		swarm->free_file = number;
		atomic_fetch_sub(&swarm->n_files, 1);
	}
	space_free(swarm, object);
	content_give(swarm->memory, object->chunks);
	content_give(swarm->memory, object->pieces);
	content_give(swarm->memory, object->digests);
	object->next_free = swarm->free_object;
	swarm->free_object = swarm_number_of(swarm, object);
}

static bool is_idle(const struct object *object)
{
	return !atomic_load(&object->refs) && !object->in_verify;
}

// Under the swarm's lock.
static bool evict(struct swarm *swarm)
{
	bool any = false;

	for (unsigned i = 0; i < EVICT_MAX && swarm->lru_first && !any; i++) {
		struct object *object = &swarm->objects[swarm->lru_first];

		if (is_idle(object)) {
			drop(swarm, object);
			any = true;
		} else {
			lru_remove(swarm, object);
			lru_append(swarm, object);
		}
	}
	return any;
}

bool table_evict(struct swarm *swarm)
{
	swarm_lock(&swarm->lock);
	bool any = evict(swarm);

	swarm_unlock(&swarm->lock);
	return any;
}

// What came cannot be compared any more with what those who have it open bring next. Where no
// pieces say which bytes are right what they brought stays in doubt, and others begin anew.
static void doubt_open(struct swarm *swarm, struct object *object)
{
	uint32_t opens = 0;

	for (uint32_t i = object->files; i; i = swarm->files[i].next)
		opens += atomic_load(&swarm->files[i].opens);
	object->doubted = opens && !object->n_pieces;
	if (object->doubted)
		unhook(swarm, object);
}

// Those who have it open bring nothing: what came is forgotten, and they begin anew. Under both
// locks.
static void forget(struct swarm *swarm, struct object *object)
{
	for (uint32_t i = object->files; i; i = swarm->files[i].next) {
		struct file *file = &swarm->files[i];

		if (file->job_out || file->phase == PHASE_WHOLE)
			return;
	}
	if (!object->units || object->in_verify || object->first_whole)
		return;
	swarm_count(&swarm->forgotten);
	space_free(swarm, object);
	for (uint32_t i = 0; i < object->n_pieces; i++)
		object->pieces[i] = (struct piece){
			.present = object->pieces[i].padding, .padding = object->pieces[i].padding};
	doubt_open(swarm, object);
	if (object->whole != WHOLE_NONE)
		object->whole = WHOLE_OPEN;
	for (uint32_t i = object->files; i; i = swarm->files[i].next) {
		struct file *file = &swarm->files[i];

		if (file->phase == PHASE_INFECTED || file->proven)
			continue;
		file->present = file->reached = file->early_present = 0;
		file->phase = PHASE_OPEN;
		file->early = EARLY_OPEN;
		file->sealed = false;
	}
}

static void look_at_age(struct swarm *swarm, struct object *object, uint64_t now_ns)
{
	bool old = now_ns >= atomic_load(&object->last_ns) + swarm->limits.age_ns;

	if (is_idle(object) && (old || !object->hooked)) {
		drop(swarm, object);
		return;
	}
	if (old && swarm_try(&object->lock)) {
		if (!object->condemned)
			forget(swarm, object);
		swarm_unlock(&object->lock);
	}
	lru_remove(swarm, object);
	lru_append(swarm, object);
}

void swarm_turn(struct swarm *swarm, uint64_t now_ns)
{
	if (now_ns < atomic_load_explicit(&swarm->next_look_ns, memory_order_relaxed) ||
		!swarm_try(&swarm->lock))
		return;
	uint64_t later_ns = swarm->limits.age_ns / LOOKS;
	uint32_t first = swarm->lru_first;

	atomic_store(&swarm->next_look_ns, now_ns + RTE_MIN(later_ns, (uint64_t)LOOK_NS));
	for (unsigned i = 0; i < TURN_MAX && swarm->lru_first; i++) {
		look_at_age(swarm, &swarm->objects[swarm->lru_first], now_ns);
		if (swarm->lru_first == first)
			break; // all were looked at
	}
	swarm_unlock(&swarm->lock);
}

// ---- objects that come ----

static uint8_t shift_of(uint64_t size, uint64_t max_bytes)
{
	uint64_t file = swarm_min(size, max_bytes);
	uint8_t shift = CHUNK_SHIFT;

	while (shift < CHUNK_SHIFT_MAX &&
		(file >> shift > CHUNKS_OF_FILE ||
			(size != CONTENT_SIZE_UNKNOWN && size >> shift > CHUNKS_MAX / 8)))
		shift++;
	return shift;
}

static bool id_is_digest(const struct content_whole *whole, const struct content_id *id)
{
	return !whole->file_from && (id->kind == CONTENT_ID_SHA1 || id->kind == CONTENT_ID_SHA256 ||
					    id->kind == CONTENT_ID_ED2K);
}

// Digests of pieces that can be checked here (of version 2 of BitTorrent they are roots of trees).
static bool has_pieces(const struct content_whole *whole)
{
	return whole->pieces && whole->n_pieces && whole->n_pieces <= PIECES_MAX &&
	       whole->piece_bytes && whole->piece_bytes <= UINT32_MAX / 2 &&
	       whole->digest != CONTENT_DIGEST_SHA256 && whole->size != CONTENT_SIZE_UNKNOWN &&
	       (whole->size - 1) / whole->piece_bytes + 1 == whole->n_pieces;
}

static const uint8_t digest_lengths[] = {
#define X(symbol, bytes) bytes,
	CONTENT_DIGESTS(X)
#undef X
};

static void take_pieces(
	struct swarm *swarm, struct object *object, const struct content_whole *whole)
{
	uint32_t n = whole->n_pieces;
	size_t length = digest_lengths[whole->digest];

	object->digests = content_take(swarm->memory, n * length);
	object->pieces = content_take(swarm->memory, n * sizeof(object->pieces[0]));
	if (!object->digests || !object->pieces)
		return; // then nothing is proven
	memcpy(object->digests, whole->pieces, n * length);
	memset(object->pieces, 0, n * sizeof(object->pieces[0]));
	object->n_pieces = n;
	object->piece_bytes = whole->piece_bytes;
	object->digest = whole->digest;
}

static void begin(struct object *object, const struct swarm_file *what, const struct content_id *id)
{
	*object = (struct object){.id = *id,
		.size = what->whole->size,
		.of_sender = what->of_sender,
		.trusting = what->trusting,
		// two files may have been made to have one MD4
		.compares = what->trusting || id->kind == CONTENT_ID_ED2K};
	object->shift = shift_of(object->size, what->max_bytes);
}

// Under the swarm's lock.
static struct object *make(struct swarm *swarm, const struct swarm_file *what,
	const struct content_id *id, uint64_t now_ns)
{
	uint64_t size = swarm_min(what->whole->size, CONTENT_SIZE_UNKNOWN - 1);
	struct object *object = &swarm->objects[swarm->free_object];
	uint32_t next = object->next_free;

	if (!swarm->free_object)
		return NULL;
	begin(object, what, id);
	if (what->whole->size == CONTENT_SIZE_UNKNOWN)
		size = what->max_bytes;
	uint64_t n_chunks = ((size - 1) >> object->shift) + 1;

	object->next_free = next;
	if (n_chunks > CHUNKS_MAX)
		return NULL;
	object->chunks = content_take(swarm->memory, n_chunks * sizeof(object->chunks[0]));
	if (!object->chunks)
		return NULL;
	memset(object->chunks, 0, n_chunks * sizeof(object->chunks[0]));
	object->n_chunks = (uint32_t)n_chunks;
	if (has_pieces(what->whole))
		take_pieces(swarm, object, what->whole);
	if (!object->n_pieces && !what->of_sender && id_is_digest(what->whole, id))
		object->whole = WHOLE_OPEN;
	swarm->free_object = next;
	object->last_ns = now_ns;
	uint32_t *bucket = bucket_of(swarm, id, object->size);

	object->next_in_bucket = *bucket;
	*bucket = swarm_number_of(swarm, object);
	object->hooked = true;
	lru_append(swarm, object);
	return object;
}

static struct object *find(
	struct swarm *swarm, const struct swarm_file *what, const struct content_id *id)
{
	uint32_t number = *bucket_of(swarm, id, what->whole->size);

	for (; number; number = swarm->objects[number].next_in_bucket) {
		struct object *object = &swarm->objects[number];

		if (content_id_same(&object->id, id) && object->size == what->whole->size &&
			object->of_sender == what->of_sender && object->trusting == what->trusting)
			return object;
	}
	return NULL;
}

// It is referred to. NULL: no room.
static struct object *object_of(struct swarm *swarm, const struct swarm_file *what, uint64_t now_ns)
{
	const struct content_id id = content_id_key(&what->whole->id);

	if (!swarm_lock_within(&swarm->lock, SWARM_YIELDS))
		return NULL;
	struct object *object = find(swarm, what, &id);

	if (!object)
		object = make(swarm, what, &id, now_ns);
	if (!object && evict(swarm))
		object = make(swarm, what, &id, now_ns);
	if (object)
		atomic_fetch_add(&object->refs, 1);
	swarm_unlock(&swarm->lock);
	return object;
}

// ---- files ----

static uint32_t take_file(struct swarm *swarm)
{
	swarm_lock(&swarm->lock);
	if (!swarm->free_file)
		evict(swarm);
	uint32_t number = swarm->free_file;

	if (number) {
		swarm->free_file = swarm->files[number].next;
		atomic_fetch_add(&swarm->n_files, 1);
	}
	swarm_unlock(&swarm->lock);
	return number;
}

// Of the object's own files one that nobody has open, and that has its verdict.
static uint32_t reuse_file(struct swarm *swarm, struct object *object)
{
	for (uint32_t *at = &object->files; *at; at = &swarm->files[*at].next) {
		uint32_t number = *at;
		struct file *file = &swarm->files[number];

		if (atomic_load(&file->refs) || file->phase != PHASE_KNOWN)
			continue;
		*at = file->next;
		return number;
	}
	return NONE;
}

// What a file that was there before had proven may be gone.
static void recount(struct object *object, const struct file *file)
{
	uint64_t end = file->from + file_end(file);

	for (uint64_t i = object->n_pieces ? file->from / object->piece_bytes : UINT64_MAX;
		i < object->n_pieces && i * object->piece_bytes < end; i++) {
		struct piece *piece = &object->pieces[i];
		uint64_t from = i * object->piece_bytes;
		uint64_t present = piece->padding +
				   space_count(object, from,
					   swarm_min(object->size, from + object->piece_bytes));

		if (piece->state == PIECE_PROVEN && present != piece->present) {
			piece->present = (uint32_t)present;
			piece->state = PIECE_PARTLY;
		}
	}
}

// Zeros that nobody sends belong to the piece that the file ends in.
static void pad(struct object *object, const struct file *file, uint64_t padding)
{
	uint64_t end = file->from + file->size;

	if (!object->n_pieces || !file->size || padding > object->size - end)
		return;
	struct piece *piece = &object->pieces[(end - 1) / object->piece_bytes];
	uint64_t piece_end = ((end - 1) / object->piece_bytes + 1) * object->piece_bytes;
	uint64_t n = swarm_min(padding, piece_end - end);

	if (piece->state != PIECE_PARTLY || piece->padding)
		return;
	piece->padding = (uint32_t)n;
	piece->present += (uint32_t)n;
}

static uint32_t make_file(
	struct swarm *swarm, struct object *object, const struct swarm_file *what, bool edges)
{
	uint32_t number = take_file(swarm);

	if (!number)
		number = reuse_file(swarm, object);
	if (!number)
		return NONE;
	struct file *file = &swarm->files[number];
	uint32_t was = file->changes ? (uint32_t)file->changes + 1 : 0;

	*file = (struct file){.object = swarm_number_of(swarm, object),
		.next = object->files,
		.from = what->whole->file_from,
		.size = what->size,
		.max_bytes = what->max_bytes,
		.changes = was,
		.edges = edges};
	if (what->size != CONTENT_SIZE_UNKNOWN) {
		if (!edges)
			file->present = space_count(object, file->from, file->from + file->size);
		file->early_present = (uint32_t)space_count(
			object, file->from, file->from + swarm_min(SWARM_EARLY_BYTES, file->size));
		if (!edges)
			recount(object, file);
		pad(object, file, what->whole->padding);
	}
	object->files = number;
	return number;
}

static bool is_sound(const struct swarm_file *what)
{
	const struct content_whole *whole = what->whole;

	if (whole->size == CONTENT_SIZE_UNKNOWN)
		return !whole->file_from && what->size == CONTENT_SIZE_UNKNOWN && what->max_bytes;
	return whole->size && what->size && what->size <= whole->size &&
	       whole->file_from <= whole->size - what->size;
}

// Its file, open once more; NONE: there is no place, or `*differs`: it is of another size.
static uint32_t open_file(struct swarm *swarm, struct object *object, const struct swarm_file *what,
	bool too_big, bool *differs)
{
	swarm_lock(&object->lock);
	uint32_t at = object->files;

	while (at && swarm->files[at].from != what->whole->file_from)
		at = swarm->files[at].next;
	if (!at && (!too_big || object->n_pieces))
		at = make_file(swarm, object, what, too_big);
	*differs = at && swarm->files[at].size != what->size;
	if (*differs)
		at = NONE;
	if (at) {
		atomic_fetch_add(&swarm->files[at].refs, 1);
		atomic_fetch_add(&swarm->files[at].opens, 1);
	}
	swarm_unlock(&object->lock);
	return at;
}

enum scan_reason swarm_open(
	struct swarm *swarm, const struct swarm_file *what, uint64_t now_ns, uint32_t *number)
{
	bool too_big = what->size != CONTENT_SIZE_UNKNOWN && what->size > what->max_bytes, differs;

	*number = NONE;
	if (!is_sound(what))
		return SCAN_REASON_PROTOCOL;
	if (too_big && !has_pieces(what->whole))
		return SCAN_REASON_TOO_BIG;
	struct object *object = object_of(swarm, what, now_ns);

	if (!object)
		return too_big ? SCAN_REASON_TOO_BIG : SCAN_REASON_BUSY;
	*number = open_file(swarm, object, what, too_big, &differs);
	if (*number)
		return swarm->files[*number].edges ? SCAN_REASON_TOO_BIG : SCAN_REASON_NONE;
	atomic_fetch_sub(&object->refs, 1);
	if (differs)
		return SCAN_REASON_PROTOCOL;
	return too_big ? SCAN_REASON_TOO_BIG : SCAN_REASON_BUSY;
}

void swarm_close(struct swarm *swarm, uint32_t number)
{
	struct file *file = &swarm->files[number];
	struct object *object = &swarm->objects[file->object];

	atomic_fetch_sub(&file->opens, 1);
	atomic_fetch_sub(&file->refs, 1);
	atomic_fetch_sub(&object->refs, 1);
}

bool swarm_is_shared(const struct swarm *swarm, uint32_t number)
{
	return atomic_load(&swarm->files[number].opens) > 1;
}
