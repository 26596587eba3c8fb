// SPDX-License-Identifier: BSD-3-Clause
// Any octets as parts of messages of three peers in a small pool. An input is records:
//
//   u8 bits: 0-1 peer, 2 encrypted, 3 raw, 4-7 time that passes (eighths of the expiry)
//   raw:     u16 n | n octets, given as they are
//   else     u8 id, u16 total, u16 offset, u8 length, u8 fill: a part that fits its message
//
// Held: each octet of a message that comes out whole was given for that place; its own head says
// what it is; memory stays in its bound and is all given back; every message is counted once.
#include <stdlib.h>
#include <string.h>

#include "transportapi/proto/fragment.h"
#include "transportapi/base/wire.h"

#define PEERS     3u
#define PARTS_MAX 1500u
#define EXPIRY    800u
#define POOL      20000u

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

struct given {
	unsigned peer;
	uint32_t length;
	uint8_t *octets; // with the head
};

struct world {
	struct tapi_fragment_pool pool;
	struct tapi_assemblies peers[PEERS];
	struct given given[PARTS_MAX];
	unsigned n;
	uint64_t now;
};

static void must(bool good)
{
	if (!good)
		abort();
}

// Each octet of it was in a part for that place.
static void check_whole(const struct world *world, const struct tapi_whole *whole)
{
	const struct given *last = &world->given[world->n - 1];
	uint8_t *seen = calloc(1, whole->size);

	must(seen && whole->size >= 4 && whole->size <= TAPI_MESSAGE_BYTES_MAX);
	must(tapi_get16(whole->message) == (whole->size > UINT16_MAX ? 0 : whole->size));
	for (unsigned i = 0; i < world->n; i++) {
		const struct given *g = &world->given[i];
		uint32_t at;

		if (g->peer != last->peer || g->length <= TAPI_FRAGMENT_HEAD_BYTES ||
			memcmp(&g->octets[4], &last->octets[4], 8) != 0)
			continue;
		at = tapi_get32(&g->octets[12]);
		for (uint32_t k = TAPI_FRAGMENT_HEAD_BYTES; k < g->length && at < whole->size;
			k++, at++)
			seen[at] |= whole->message[at] == g->octets[k];
	}
	for (uint32_t i = 0; i < whole->size; i++)
		must(seen[i]);
	free(seen);
}

static void check_counts(const struct world *world)
{
	const struct tapi_fragment_counters *c = &world->pool.counters;
	uint64_t memory = 0, waiting = 0;

	for (unsigned i = 0; i < PEERS; i++) {
		must(world->peers[i].count <= TAPI_ASSEMBLIES_MAX);
		must(world->peers[i].bytes <= TAPI_ASSEMBLY_BYTES_MAX);
		must((world->peers[i].count == 0) == (world->peers[i].holder.bytes == 0));
		memory += world->peers[i].holder.bytes;
		waiting += world->peers[i].count;
	}
	must(memory == world->pool.bytes && memory <= POOL);
	must(c->started == c->whole + c->conflict + c->expired + c->dropped_full +
				   c->dropped_memory + c->dropped_forgotten + waiting);
	must(c->duplicate + c->malformed + c->refused <= c->parts);
}

// Takes `octets`, which are the heap's.
static void give(struct world *world, unsigned bits, uint8_t *octets, uint32_t length)
{
	const unsigned peer = (bits & 3) % PEERS;
	const bool encrypted = bits & 4;
	struct tapi_whole whole;
	enum tapi_result result;

	world->now += (uint64_t)(bits >> 4) * EXPIRY / 8;
	world->given[world->n++] = (struct given){.peer = peer, .length = length, .octets = octets};
	result = tapi_fragment_take(&world->peers[peer], octets, length, encrypted, length % 2,
		world->now, EXPIRY, &whole);
	must(!whole.message || result == TAPI_OK);
	if (whole.message) {
		must(whole.is_encrypted == encrypted);
		check_whole(world, &whole);
		free(whole.message);
	}
	check_counts(world);
}

static uint8_t *part_make(const uint8_t *record, uint32_t *length)
{
	const uint32_t total = tapi_get16(&record[1]), offset = tapi_get16(&record[3]);
	uint8_t *octets, *p;

	*length = TAPI_FRAGMENT_HEAD_BYTES + record[5];
	octets = malloc(*length);
	must(octets);
	p = tapi_put16(tapi_put16(octets, (uint16_t)*length), TAPI_TYPE_FRAGMENT);
	p = tapi_put32(tapi_put32(tapi_put32(p, record[0] - 8u), total), offset);
	for (uint32_t at = offset; at < offset + record[5]; at++)
		switch (at) {
		case 0: *p++ = (uint8_t)(total >> 8); break;
		case 1: *p++ = (uint8_t)total; break;
		case 2: *p++ = 0; break;
		case 3: *p++ = 99; break;
		default: *p++ = (uint8_t)(at * 7 + at / 256 + record[6]);
		}
	return octets;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	struct world *world = calloc(1, sizeof(*world));

	must(world);
	tapi_fragment_pool_init(&world->pool, POOL);
	for (unsigned i = 0; i < PEERS; i++)
		tapi_assemblies_init(&world->peers[i], &world->pool);
	while (len >= 8 && world->n < PARTS_MAX) {
		const unsigned bits = bytes[0];
		uint32_t length;
		uint8_t *octets;

		if (!(bits & 8)) {
			octets = part_make(bytes + 1, &length);
			bytes += 8;
			len -= 8;
		} else {
			length = tapi_get16(bytes + 1);
			bytes += 3;
			len -= 3;
			length = length < len ? length : (uint32_t)len;
			octets = malloc(length ? length : 1);
			must(octets);
			memcpy(octets, bytes, length);
			bytes += length;
			len -= length;
		}
		give(world, bits, octets, length);
	}
	for (unsigned i = 0; i < PEERS; i++)
		tapi_fragment_turn(&world->peers[i], world->now += EXPIRY);
	check_counts(world);
	must(world->pool.bytes == 0);
	for (unsigned i = 0; i < world->n; i++)
		free(world->given[i].octets);
	free(world);
	return 0;
}
