// SPDX-License-Identifier: BSD-3-Clause
// Queues of four peers in one pool against arrays that are searched from end to end: what is sent,
// in which order, what expires, who gives way, and that each message is counted where it ended.
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "operations.h"
#include "transportapi/core/queue.h"

enum { QUEUES = 4, MSGS = 6, BYTES = 600, POOL = 1900, ITEMS = 200, SEEDS = 3000, STEPS = 150 };
enum kind { PUT, SEND, LOOK, WAIT, CLEAR, LIMIT };

struct step {
	uint8_t kind, queue, priority, encrypted;
	uint16_t length, mtu;
	uint32_t deadline; // from now; 0: none
	uint32_t wait;
};

struct entry { // of the model
	uint32_t serial, size;
	unsigned priority;
	bool encrypted;
	uint64_t deadline, queued;
};

struct line { // one queue of the model, in order of arrival
	struct entry entries[ITEMS];
	unsigned n;
	uint64_t given, sent, expired, full, pool, too_big, forgotten;
};

struct world {
	struct line lines[QUEUES];
	struct tapi_queue_pool pool;
	struct tapi_queue queues[QUEUES];
	uint64_t now;
	uint32_t serial;
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
	uint32_t kind = operations_below(random, 100);

	(void)index;
	step->kind = kind < 60   ? PUT
		     : kind < 80 ? SEND
		     : kind < 85 ? LOOK
		     : kind < 98 ? WAIT
				 : CLEAR;
	if (operations_below(random, 40) == 0)
		step->kind = LIMIT;
	step->queue = (uint8_t)(operations_below(random, 3) ? operations_below(random, QUEUES) : 0);
	step->priority = (uint8_t)operations_below(random, TAPI_PRIORITIES + 1);
	step->encrypted = operations_below(random, 8) == 0;
	step->length = (uint16_t)(operations_below(random, 4) ? operations_below(random, 120)
							      : operations_below(random, 900));
	step->mtu = (uint16_t)operations_below(random, 500);
	step->deadline = operations_below(random, 2) ? 0 : operations_below(random, 300);
	step->wait = operations_below(random, 100);
}

static void print(const void *operation)
{
	const struct step *s = operation;
	static const char *const names[] = {"put", "send", "look", "wait", "clear", "limit"};

	fprintf(stderr, "%s queue %u: priority %u%s, %u octets, mtu %u, deadline %u, wait %u",
		names[s->kind], s->queue, s->priority, s->encrypted ? " encrypted" : "", s->length,
		s->mtu, s->deadline, s->wait);
}

static uint64_t memory(const struct line *line, unsigned below) // of priorities below that
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < line->n; i++)
		if (line->entries[i].priority < below)
			sum += line->entries[i].size + TAPI_ITEM_EXTRA_BYTES;
	return sum;
}

static uint64_t octets(const struct line *line)
{
	return memory(line, TAPI_PRIORITIES) - line->n * TAPI_ITEM_EXTRA_BYTES;
}

static uint64_t all_memory(const struct world *world)
{
	uint64_t sum = 0;

	for (unsigned q = 0; q < QUEUES; q++)
		sum += memory(&world->lines[q], TAPI_PRIORITIES);
	return sum;
}

static void out(struct line *line, unsigned at)
{
	memmove(&line->entries[at], &line->entries[at + 1],
		(line->n - at - 1) * sizeof(line->entries[0]));
	line->n--;
}

// In order of arrival: the first of the lowest priority, or of the highest.
static unsigned least(const struct line *line)
{
	unsigned at = 0;

	for (unsigned i = 1; i < line->n; i++)
		if (line->entries[i].priority < line->entries[at].priority)
			at = i;
	return at;
}

static unsigned foremost(const struct line *line)
{
	unsigned at = 0;

	for (unsigned i = 1; i < line->n; i++)
		if (line->entries[i].priority > line->entries[at].priority)
			at = i;
	return at;
}

static void expire(struct line *line, uint64_t now)
{
	for (unsigned i = line->n; i-- > 0;)
		if (line->entries[i].deadline <= now) {
			out(line, i);
			line->expired++;
		}
}

static bool fits(unsigned msgs, uint64_t bytes, uint32_t size)
{
	return msgs < MSGS && (msgs == 0 || bytes + size <= BYTES);
}

static bool put(struct world *world, const struct step *step)
{
	const uint32_t size = step->length + 4u, serial = world->serial++;
	const unsigned priority = step->priority < 4 ? step->priority : 3;
	const uint64_t deadline = step->deadline ? world->now + step->deadline : UINT64_MAX;
	const uint64_t need = size + TAPI_ITEM_EXTRA_BYTES;
	struct line *own = &world->lines[step->queue];
	uint64_t lost[QUEUES], kept_bytes = 0, own_memory, low;
	unsigned kept = 0, loser = QUEUES, losers = 0;
	enum tapi_result result;
	uint8_t body[1000];

	for (unsigned i = 0; i < step->length; i++)
		body[i] = (uint8_t)(serial >> 8 * (i % 4));
	for (unsigned q = 0; q < QUEUES; q++)
		lost[q] = world->queues[q].counters.dropped_pool;
	result = tapi_queue_put(&world->queues[step->queue], (uint16_t)serial, body, step->length,
		step->priority, step->encrypted, serial, deadline, world->now);
	for (unsigned q = 0; q < QUEUES; q++) {
		lost[q] = world->queues[q].counters.dropped_pool - lost[q];
		if (lost[q]) {
			loser = q;
			losers++;
		}
	}

	expire(own, world->now);
	own->given++;
	for (unsigned i = 0; i < own->n; i++)
		if (own->entries[i].priority >= priority) {
			kept++;
			kept_bytes += own->entries[i].size;
		}
	if (!fits(kept, kept_bytes, size)) {
		own->full++;
		MUST(world, result == TAPI_DROPPED && losers == 0);
		return true;
	}
	own_memory = memory(own, TAPI_PRIORITIES);
	low = memory(own, priority);
	if (result == TAPI_DROPPED) { // by the pool, and rightly
		own->pool++;
		MUST(world, losers == 1 && loser == step->queue && lost[loser] == 1);
		MUST(world, all_memory(world) - low + need > world->pool.bytes_max);
		for (unsigned q = 0; q < QUEUES; q++)
			MUST(world, need > world->pool.bytes_max || q == step->queue ||
					    memory(&world->lines[q], TAPI_PRIORITIES) * 7 / 8 <=
						    own_memory + need);
		return true;
	}
	MUST(world, result == TAPI_OK && losers <= 1);
	if (losers && loser != step->queue) {
		const uint64_t held = memory(&world->lines[loser], TAPI_PRIORITIES);

		MUST(world, held > own_memory + need);
		for (unsigned q = 0; q < QUEUES; q++)
			MUST(world, memory(&world->lines[q], TAPI_PRIORITIES) * 7 / 8 <= held);
	}
	while (!fits(own->n, octets(own), size)) {
		MUST(world, own->entries[least(own)].priority < priority);
		out(own, least(own));
		own->full++;
	}
	for (; all_memory(world) + need > world->pool.bytes_max; lost[loser]--) {
		struct line *line;

		MUST(world, losers && lost[loser] && world->lines[loser].n);
		line = &world->lines[loser];
		MUST(world, line != own || line->entries[least(line)].priority < priority);
		out(line, least(line));
		line->pool++;
	}
	MUST(world, !losers || lost[loser] == 0); // no more than needed
	MUST(world, own->n < ITEMS);
	own->entries[own->n++] = (struct entry){.serial = serial,
		.size = size,
		.priority = priority,
		.encrypted = step->encrypted,
		.deadline = deadline,
		.queued = world->now};
	return true;
}

static bool same(struct world *world, const struct entry *entry, const uint8_t *message)
{
	MUST(world, (uint32_t)(message[0] << 8 | message[1]) == entry->size);
	MUST(world, (uint32_t)(message[2] << 8 | message[3]) == (entry->serial & 0xffff));
	for (uint32_t i = 4; i < entry->size; i++)
		MUST(world, message[i] == (uint8_t)(entry->serial >> 8 * (i % 4)));
	return true;
}

static bool send(struct world *world, const struct step *step, bool take)
{
	struct tapi_queue *queue = &world->queues[step->queue];
	struct line *line = &world->lines[step->queue], rest;
	struct tapi_batch batch;
	uint8_t *octets_out = malloc(step->mtu + 1u); // exact, for ASan
	uint32_t size, at = 0;
	unsigned n = 0;
	bool good = true;

	if (!octets_out)
		abort();
	size = tapi_queue_batch(queue, octets_out, step->mtu, world->now, &batch);
	expire(line, world->now);
	rest = *line;
	while (good && at < size && rest.n) {
		const unsigned i = foremost(&rest);

		good = same(world, &rest.entries[i], &octets_out[at]) &&
		       (!rest.entries[i].encrypted || (batch.msgs == 1 && batch.is_encrypted &&
							      batch.crc == rest.entries[i].serial));
		at += rest.entries[i].size;
		out(&rest, i);
		n++;
	}
	free(octets_out);
	if (!good)
		return false;
	MUST(world, at == size && n == batch.msgs && size <= step->mtu);
	if (!n && rest.n) { // too long, and only then nothing
		const unsigned i = foremost(&rest);

		MUST(world, batch.too_long && rest.entries[i].size > step->mtu);
		MUST(world, same(world, &rest.entries[i], batch.too_long->message));
		if (take && step->wait % 2) {
			tapi_queue_sent_parts(queue, batch.too_long);
			out(line, i);
			line->sent++;
		} else if (take) {
			tapi_queue_drop(queue, batch.too_long);
			out(line, i);
			line->too_big++;
		}
		return true;
	}
	MUST(world, !batch.too_long);
	if (n && rest.n) { // as many as fit
		const struct entry *next = &rest.entries[foremost(&rest)];

		MUST(world, batch.full && (batch.is_encrypted || next->encrypted ||
						  size + next->size > step->mtu));
	}
	if (take) {
		tapi_queue_sent(queue, &batch);
		*line = rest;
		line->sent += n;
	}
	return true;
}

static bool agree(struct world *world)
{
	struct tapi_queue_counters sum = {0};

	for (unsigned q = 0; q < QUEUES; q++) {
		const struct tapi_queue_counters *c = &world->queues[q].counters;
		const struct line *line = &world->lines[q];
		uint64_t first = UINT64_MAX, oldest = UINT64_MAX;

		for (unsigned i = 0; i < line->n; i++) {
			if (line->entries[i].deadline < first)
				first = line->entries[i].deadline;
			if (line->entries[i].queued < oldest)
				oldest = line->entries[i].queued;
		}
		MUST(world, world->queues[q].msgs == line->n);
		MUST(world, world->queues[q].bytes == octets(line));
		MUST(world, world->queues[q].holder.bytes == memory(line, TAPI_PRIORITIES));
		MUST(world, tapi_queue_deadline(&world->queues[q]) == first);
		MUST(world, tapi_queue_oldest(&world->queues[q]) == oldest);
		MUST(world, c->queued == line->given && c->taken == line->sent);
		MUST(world, c->expired == line->expired && c->dropped_full == line->full);
		MUST(world, c->dropped_pool == line->pool && c->dropped_memory == 0);
		MUST(world, c->dropped_too_big == line->too_big);
		MUST(world, c->dropped_forgotten == line->forgotten);
		MUST(world, c->queued == c->taken + c->expired + c->dropped_full + c->dropped_pool +
						 c->dropped_too_big + c->dropped_forgotten +
						 line->n);
#define X(name, help) sum.name += c->name;
		TAPI_QUEUE_COUNTERS(X)
#undef X
	}
	MUST(world, memcmp(&sum, &world->pool.counters, sizeof(sum)) == 0);
	MUST(world, world->pool.bytes == all_memory(world));
	MUST(world, world->pool.bytes <= world->pool.bytes_max && world->pool.bytes_max <= POOL);
	return true;
}

static void clear(struct world *world, unsigned q)
{
	tapi_queue_clear(&world->queues[q]);
	world->lines[q].forgotten += world->lines[q].n;
	world->lines[q].n = 0;
}

// The pool gets smaller, or as it was: one message after the other goes, of a queue that held about
// the most.
static bool limit(struct world *world, const struct step *step)
{
	const uint64_t bytes_max = step->wait % 2 ? POOL : POOL * step->wait / 100;
	uint64_t lost[QUEUES], most = 0, last_size = 0;

	for (unsigned q = 0; q < QUEUES; q++) {
		lost[q] = world->queues[q].counters.dropped_pool;
		if (memory(&world->lines[q], TAPI_PRIORITIES) > most)
			most = memory(&world->lines[q], TAPI_PRIORITIES);
	}
	tapi_queue_pool_limit(&world->pool, bytes_max);
	for (unsigned q = 0; q < QUEUES; q++) {
		struct line *line = &world->lines[q];
		uint64_t last = most;

		for (lost[q] = world->queues[q].counters.dropped_pool - lost[q]; lost[q];
			lost[q]--) {
			MUST(world, line->n);
			last = memory(line, TAPI_PRIORITIES);
			if (line->entries[least(line)].size > last_size)
				last_size = line->entries[least(line)].size;
			out(line, least(line));
			line->pool++;
		}
		for (unsigned other = 0; other < QUEUES; other++)
			MUST(world, world->queues[other].holder.bytes * 7 / 8 <= last);
	}
	// Not one more than needed.
	MUST(world,
		!last_size || all_memory(world) + last_size + TAPI_ITEM_EXTRA_BYTES > bytes_max);
	return true;
}

static uint64_t seen_pool, seen_full, seen_expired, seen_too_big, seen_sent;

static bool run(const void *operations, unsigned n, char why[WHY_BYTES])
{
	const struct step *steps = operations;
	struct world *world = calloc(1, sizeof(*world));
	bool good = true;

	if (!world)
		abort();
	world->why = why;
	world->now = 1;
	tapi_queue_pool_init(&world->pool, POOL);
	for (unsigned q = 0; q < QUEUES; q++)
		tapi_queue_init(&world->queues[q], &world->pool, MSGS, BYTES);
	for (unsigned i = 0; i < n && good; i++) {
		switch ((enum kind)steps[i].kind) {
		case PUT: good = put(world, &steps[i]); break;
		case SEND: good = send(world, &steps[i], true); break;
		case LOOK: good = send(world, &steps[i], false); break;
		case WAIT:
			world->now += steps[i].wait;
			tapi_queue_expire(&world->queues[steps[i].queue], world->now);
			expire(&world->lines[steps[i].queue], world->now);
			break;
		case CLEAR: clear(world, steps[i].queue); break;
		case LIMIT: good = limit(world, &steps[i]); break;
		}
		good = good && agree(world);
	}
	for (unsigned q = 0; q < QUEUES; q++)
		clear(world, q);
	good = good && agree(world);
	seen_pool += world->pool.counters.dropped_pool;
	seen_full += world->pool.counters.dropped_full;
	seen_expired += world->pool.counters.expired;
	seen_too_big += world->pool.counters.dropped_too_big;
	seen_sent += world->pool.counters.taken;
	free(world);
	return good;
}

static void queues_are_as_the_model_has_them(void **state)
{
	const struct operations kind = {.name = "queues",
		.size = sizeof(struct step),
		.most = STEPS,
		.make = make,
		.run = run,
		.print = print};

	(void)state;
	assert_int_equal(operations_campaign(&kind, SEEDS), 0);
	printf("sent %llu, expired %llu, dropped: queue full %llu, memory full %llu, too big "
	       "%llu\n",
		(unsigned long long)seen_sent, (unsigned long long)seen_expired,
		(unsigned long long)seen_full, (unsigned long long)seen_pool,
		(unsigned long long)seen_too_big);
	if (!getenv("SLUICE_SEED")) // each end was met, often
		assert_true(seen_pool > SEEDS && seen_full > SEEDS && seen_expired > SEEDS &&
			    seen_too_big > SEEDS && seen_sent > SEEDS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(queues_are_as_the_model_has_them),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
