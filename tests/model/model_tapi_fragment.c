// SPDX-License-Identifier: BSD-3-Clause
// Parts of messages of three peers, in any order, again, overlapping, contradicting one another,
// too late and too many, against a model with a mark per octet. Held: what comes out is what was
// cut, octet by octet, once its last octet came and not before; who is discarded, and why; memory
// within its bound, and about what was taken in.
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "operations.h"
#include "transportapi/proto/fragment.h"
#include "transportapi/base/wire.h"

enum { PEERS = 3, POOL = 60000, SEEDS = 300, STEPS = 250, PAGE = 1024, EXPIRY = 2000 };
enum kind { PART, REST, WAIT, CLEAR, MALFORMED, LIMIT };

struct step {
	uint8_t kind, peer, id, variant, other_total, other_crc;
	uint32_t at, length; // of a million: where in the message
	uint32_t wait;
};

struct message { // not whole yet, of the model
	uint32_t id, total, crc;
	bool encrypted;
	uint64_t expires;
	uint8_t *have; // 0: nothing; 1 + variant
};

struct peer {
	struct message messages[TAPI_ASSEMBLIES_MAX + 1]; // oldest first
	unsigned n;
	struct tapi_assemblies real;
};

struct world {
	struct peer peers[PEERS];
	struct tapi_fragment_pool pool;
	struct tapi_fragment_counters counters; // the model's
	uint64_t now;
	char *why;
};

#define MUST(world, what)                                                                  \
	do {                                                                               \
		if (!(what)) {                                                             \
			snprintf((world)->why, WHY_BYTES, "line %d: %s", __LINE__, #what); \
			return false;                                                      \
		}                                                                          \
	} while (0)

static void make(void *operation, unsigned index, uint64_t *random)
{
	struct step *step = operation;
	uint32_t kind = operations_below(random, 1000);

	(void)index;
	step->kind = kind < 720   ? PART
		     : kind < 860 ? REST
		     : kind < 985 ? WAIT
		     : kind < 990 ? CLEAR
				  : MALFORMED;
	if (operations_below(random, 50) == 0)
		step->kind = LIMIT;
	step->peer = (uint8_t)operations_below(random, PEERS);
	step->id = (uint8_t)(operations_below(random, 3) ? operations_below(random, 6)
							 : operations_below(random, 40));
	step->variant = operations_below(random, 40) == 0;
	step->other_total = operations_below(random, 100) == 0;
	step->other_crc = operations_below(random, 100) == 0;
	step->at = operations_below(random, 3) ? operations_below(random, 10) * 100000
					       : operations_below(random, 1000000);
	step->length = operations_below(random, 2) ? 100000 : operations_below(random, 400000);
	step->wait = operations_below(random, 8) ? operations_below(random, 100)
						 : operations_below(random, EXPIRY);
}

static void print(const void *operation)
{
	const struct step *s = operation;
	static const char *const names[] = {"part", "rest", "wait", "clear", "malformed", "limit"};

	fprintf(stderr, "%s of peer %u, message %u, variant %u%s%s: at %u, length %u, wait %u",
		names[s->kind], s->peer, s->id, s->variant, s->other_total ? ", other total" : "",
		s->other_crc ? ", other crc" : "", s->at, s->length, s->wait);
}

static uint32_t total_of(uint32_t id)
{
	static const uint32_t totals[] = {
		3000, 1500, 9000, 5, 12000, 1024, 2049, 30000, 70000, 262144, 100, 131072};

	return totals[id % (sizeof(totals) / sizeof(totals[0]))];
}

static uint32_t wire_id(uint32_t id) // around the wrap
{
	return id - 17;
}

static uint8_t octet(uint32_t id, uint32_t total, unsigned variant, uint32_t at)
{
	const uint32_t size = total > UINT16_MAX ? 0 : total;

	switch (at) {
	case 0: return (uint8_t)(size >> 8);
	case 1: return (uint8_t)size;
	case 2: return 0;
	case 3: return 99;
	default: return (uint8_t)((at * 2654435761u >> 11) + id + (variant ? 0x55 : 0));
	}
}

static void forget(struct peer *peer, unsigned at)
{
	free(peer->messages[at].have);
	memmove(&peer->messages[at], &peer->messages[at + 1],
		(peer->n - at - 1) * sizeof(peer->messages[0]));
	peer->n--;
}

static void expire(struct world *world, struct peer *peer)
{
	for (unsigned i = peer->n; i-- > 0;)
		if (peer->messages[i].expires <= world->now) {
			forget(peer, i);
			world->counters.expired++;
		}
}

// Room among the peer's own: as the header says.
static bool own_room(struct world *world, struct peer *peer, uint32_t id, uint32_t total)
{
	for (;;) {
		unsigned oldest = peer->n, count = 0;
		uint64_t bytes = 0, kept = 0;

		for (unsigned i = 0; i < peer->n; i++) {
			const bool older = (int32_t)(id - peer->messages[i].id) > 0;

			bytes += peer->messages[i].total;
			kept += older ? 0 : peer->messages[i].total;
			count += !older;
			if (older && (oldest == peer->n || id - peer->messages[i].id >
								   id - peer->messages[oldest].id))
				oldest = i;
		}
		if (peer->n < TAPI_ASSEMBLIES_MAX && bytes + total <= TAPI_ASSEMBLY_BYTES_MAX)
			return true;
		if (count >= TAPI_ASSEMBLIES_MAX || kept + total > TAPI_ASSEMBLY_BYTES_MAX)
			return false;
		forget(peer, oldest);
		world->counters.dropped_full++;
	}
}

static struct message *begin(struct world *world, struct peer *peer, uint32_t id, uint32_t total,
	const struct step *step)
{
	struct message *message = &peer->messages[peer->n++];

	*message = (struct message){
		.id = wire_id(id),
		.total = total,
		.encrypted = id % 3 == 0,
		.crc = id + step->other_crc,
		.expires = world->now + EXPIRY,
		.have = calloc(1, total),
	};
	if (!message->have)
		abort();
	world->counters.started++;
	return message;
}

// Who lost messages for want of memory, and was that right?
static bool losses(struct world *world, struct peer *own, const uint64_t held[PEERS],
	uint64_t pool_before, uint64_t need_most)
{
	for (unsigned p = 0; p < PEERS; p++) {
		struct peer *peer = &world->peers[p];

		if (peer == own)
			continue;
		MUST(world, peer->real.count <= peer->n);
		if (peer->real.count == peer->n)
			continue;
		MUST(world, pool_before + need_most > world->pool.bytes_max);
		MUST(world, held[p] > held[own - world->peers]);
		while (peer->n > peer->real.count) { // the oldest first
			forget(peer, 0);
			world->counters.dropped_full++;
		}
	}
	return true;
}

static bool part(struct world *world, const struct step *step, uint32_t id, uint32_t total,
	uint32_t at, uint32_t length)
{
	struct peer *peer = &world->peers[step->peer];
	const bool encrypted = id % 3 == 0;
	const uint32_t crc = id + step->other_crc, size = length + TAPI_FRAGMENT_HEAD_BYTES;
	const uint64_t pool_before = world->pool.bytes;
	uint64_t held[PEERS], need_most, refused = world->pool.counters.refused;
	uint8_t *octets = malloc(size), *p = octets;
	struct message *message = NULL;
	struct tapi_whole whole;
	enum tapi_result result;
	uint32_t fresh = 0, missing = 0;
	bool good = true;

	if (!octets)
		abort();
	for (unsigned i = 0; i < PEERS; i++)
		held[i] = world->peers[i].real.holder.bytes;
	p = tapi_put32(tapi_put16(tapi_put16(p, (uint16_t)size), 5), wire_id(id));
	p = tapi_put32(tapi_put32(p, total), at);
	for (uint32_t i = 0; i < length; i++)
		*p++ = octet(id, total, step->variant, at + i);
	result = tapi_fragment_take(&peer->real, octets, size, encrypted,
		encrypted ? crc : (uint32_t)world->now, world->now, EXPIRY, &whole);
	free(octets);

	world->counters.parts++;
	expire(world, peer);
	for (unsigned i = 0; i < peer->n && !message; i++)
		if (peer->messages[i].id == wire_id(id))
			message = &peer->messages[i];
	need_most = ((length - 1) / PAGE + 2) * (PAGE + 200);
	if (!message)
		need_most += 200 + (total / PAGE + 1) * sizeof(void *);
	if (message && (message->total != total || (encrypted && message->crc != crc))) {
		world->counters.conflict++;
		MUST(world, result == TAPI_EFORMAT && !whole.message);
		forget(peer, (unsigned)(message - peer->messages));
		return true;
	}
	if (!message && !own_room(world, peer, wire_id(id), total)) {
		world->counters.refused++;
		MUST(world, result == TAPI_DROPPED);
		return true;
	}
	if (!losses(world, peer, held, pool_before, need_most))
		return false;
	if (result == TAPI_DROPPED) { // for want of memory, and rightly
		MUST(world, pool_before + need_most > world->pool.bytes_max);
		for (unsigned i = 0; i < PEERS; i++)
			MUST(world, i == step->peer || need_most > world->pool.bytes_max ||
					    world->peers[i].real.holder.bytes * 7 / 8 <=
						    held[step->peer] + need_most);
		if (world->pool.counters.refused > refused) {
			MUST(world, !message);
			world->counters.refused++;
			return true;
		}
		if (!message)
			world->counters.started++;
		else
			forget(peer, (unsigned)(message - peer->messages));
		world->counters.dropped_full++;
		return true;
	}
	if (!message)
		message = begin(world, peer, id, total, step);
	for (uint32_t i = at; i < at + length; i++) {
		const uint8_t had = message->have[i];

		if (had && octet(id, total, had - 1u, i) != octet(id, total, step->variant, i))
			good = false;
		fresh += !had;
		message->have[i] = 1 + step->variant;
	}
	if (!good) {
		world->counters.conflict++;
		MUST(world, result == TAPI_EFORMAT && !whole.message);
		forget(peer, (unsigned)(message - peer->messages));
		return true;
	}
	world->counters.duplicate += !fresh;
	MUST(world, result == TAPI_OK);
	for (uint32_t i = 0; i < total; i++)
		missing += !message->have[i];
	MUST(world, (missing == 0) == (whole.message != NULL));
	if (!whole.message)
		return true;
	world->counters.whole++;
	for (uint32_t i = 0; i < total && good; i++)
		good = whole.message[i] == octet(id, total, message->have[i] - 1u, i);
	free(whole.message);
	MUST(world, good && whole.size == total && whole.is_encrypted == encrypted);
	MUST(world, whole.crc == (encrypted ? message->crc : 0));
	forget(peer, (unsigned)(message - peer->messages));
	return true;
}

static bool one_part(struct world *world, const struct step *step)
{
	uint32_t total = total_of(step->id) - step->other_total;
	uint32_t at = (uint32_t)((uint64_t)total * step->at / 1000000);
	uint32_t length = (uint32_t)((uint64_t)total * step->length / 1000000) + 1;

	if (length > total - at)
		length = total - at;
	return part(world, step, step->id, total, at, length > 30000 ? 30000 : length);
}

// What is missing, in pieces of any length, from the middle on.
static bool rest(struct world *world, const struct step *step)
{
	uint32_t total = total_of(step->id), each = 1 + total / (1 + step->length % 9);

	if (each > 30000)
		each = 30000;
	for (uint32_t n = (total + each - 1) / each, i = 0; i < n; i++) {
		uint32_t at = (i + n / 2) % n * each;

		if (!part(world, step, step->id, total, at, total - at < each ? total - at : each))
			return false;
	}
	return true;
}

static bool malformed(struct world *world, const struct step *step)
{
	uint8_t octets[40] = {0, 40, 0, 5};
	struct tapi_whole whole;

	tapi_put32(&octets[8], step->at % 40);
	tapi_put32(&octets[12], step->at % 3 ? 17 + step->at % 24 : UINT32_MAX - step->at % 30);
	expire(world, &world->peers[step->peer]);
	world->counters.parts++;
	world->counters.malformed++;
	MUST(world, tapi_fragment_take(&world->peers[step->peer].real, octets, sizeof(octets),
			    false, 0, world->now, EXPIRY, &whole) == TAPI_EFORMAT);
	return true;
}

// `closely`: with a look at each octet.
static bool agree(struct world *world, bool closely)
{
	uint64_t memory = 0;

	for (unsigned p = 0; p < PEERS; p++) {
		const struct peer *peer = &world->peers[p];
		uint64_t totals = 0, least = 0, most = 0;

		MUST(world, peer->real.count == peer->n);
		for (unsigned i = 0; i < peer->n; i++) {
			const struct message *m = &peer->messages[i];

			totals += m->total;
			most += 200 + (m->total / PAGE + 1) * sizeof(void *);
			for (uint32_t at = 0; closely && at < m->total; at += PAGE)
				for (uint32_t k = at; k < at + PAGE && k < m->total; k++)
					if (m->have[k]) { // a page is there when an octet is
						least += PAGE;
						most += PAGE + 200;
						break;
					}
		}
		MUST(world, peer->real.bytes == totals && totals <= TAPI_ASSEMBLY_BYTES_MAX);
		MUST(world, peer->real.holder.bytes >= least);
		MUST(world, !closely || peer->real.holder.bytes <= most);
		memory += peer->real.holder.bytes;
	}
	MUST(world, world->pool.bytes == memory && memory <= world->pool.bytes_max);
	MUST(world, memcmp(&world->counters, &world->pool.counters, sizeof(world->counters)) == 0);
	return true;
}

static bool turn(struct world *world, const struct step *step)
{
	struct peer *peer = &world->peers[step->peer];
	uint64_t next, soonest = UINT64_MAX;

	world->now += step->wait;
	next = tapi_fragment_turn(&peer->real, world->now);
	expire(world, peer);
	for (unsigned i = 0; i < peer->n; i++)
		if (peer->messages[i].expires < soonest)
			soonest = peer->messages[i].expires;
	MUST(world, next == soonest);
	return true;
}

// The pool gets smaller, or as it was: the oldest go.
static bool limit(struct world *world, const struct step *step)
{
	const uint64_t bytes_max = step->wait % 2 ? POOL : POOL * (step->wait % 100) / 100;
	const uint64_t before = world->pool.bytes;

	tapi_fragment_pool_limit(&world->pool, bytes_max);
	for (unsigned p = 0; p < PEERS; p++) {
		struct peer *peer = &world->peers[p];

		MUST(world, peer->real.count <= peer->n);
		MUST(world, peer->real.count == peer->n || before > bytes_max);
		while (peer->n > peer->real.count) {
			forget(peer, 0);
			world->counters.dropped_full++;
		}
	}
	return true;
}

static void clear(struct world *world, struct peer *peer)
{
	tapi_assemblies_clear(&peer->real);
	world->counters.dropped_forgotten += peer->n;
	while (peer->n)
		forget(peer, 0);
}

static struct tapi_fragment_counters seen;

static bool run(const void *operations, unsigned n, char why[WHY_BYTES])
{
	const struct step *steps = operations;
	struct world *world = calloc(1, sizeof(*world));
	bool good = true;

	if (!world)
		abort();
	world->why = why;
	world->now = 1;
	tapi_fragment_pool_init(&world->pool, POOL);
	for (unsigned p = 0; p < PEERS; p++)
		tapi_assemblies_init(&world->peers[p].real, &world->pool);
	for (unsigned i = 0; i < n && good; i++) {
		switch ((enum kind)steps[i].kind) {
		case PART: good = one_part(world, &steps[i]); break;
		case REST: good = rest(world, &steps[i]); break;
		case WAIT: good = turn(world, &steps[i]); break;
		case CLEAR: clear(world, &world->peers[steps[i].peer]); break;
		case MALFORMED: good = malformed(world, &steps[i]); break;
		case LIMIT: good = limit(world, &steps[i]); break;
		}
		good = good && agree(world, i % 8 == 0);
	}
	for (unsigned p = 0; p < PEERS; p++)
		clear(world, &world->peers[p]);
	good = good && agree(world, true) && world->pool.bytes == 0;
#define X(name, help) seen.name += world->counters.name;
	TAPI_FRAGMENT_COUNTERS(X)
#undef X
	free(world);
	return good;
}

static void fragments_are_as_the_model_has_them(void **state)
{
	const struct operations kind = {.name = "fragments",
		.size = sizeof(struct step),
		.most = STEPS,
		.make = make,
		.run = run,
		.print = print};

	(void)state;
	assert_int_equal(operations_campaign(&kind, SEEDS), 0);
#define X(name, help) printf("%s %llu ", #name, (unsigned long long)seen.name);
	TAPI_FRAGMENT_COUNTERS(X)
#undef X
	printf("\n");
	if (getenv("SLUICE_SEED"))
		return;
	seen.dropped_memory = SEEDS; // the system's; not met here
#define X(name, help) assert_true(seen.name >= SEEDS);
	TAPI_FRAGMENT_COUNTERS(X)
#undef X
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fragments_are_as_the_model_has_them),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
