// SPDX-License-Identifier: BSD-3-Clause
// Content codings of any bytes: the first octet tells the kind, how much memory there is and how
// input and room are cut, the second is the seed of the cuts. Held, besides what the sanitizers
// see: each call goes on or says why not, an end stays, all memory is given back, and what is told
// does not depend on the cuts: the same where it ends, a common beginning where it breaks.
#include <stdlib.h>
#include <string.h>
#include "content/coding.h"

#define TOLD_MOST  (1u << 20) // more is not asked for
#define REGION     (48u << 20)
#define IDLE_MOST  64 // calls one after the other, for which a seed gave neither input nor room
#define ROOM_MOST  4096u
#define PIECE_MOST 512u

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

struct run {
	uint8_t *told;
	uint32_t length, taken;
	enum coding_state state;
};

static void must(bool good)
{
	if (!good)
		abort();
}

static uint32_t random_below(uint64_t *seed, uint32_t n)
{
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(*seed >> 33) % n;
}

static uint64_t used(const struct content_memory *memory)
{
	struct content_memory_use use;

	content_memory_look(memory, &use);
	return use.used;
}

static void expect_end(
	struct coding *coding, enum coding_state state, const uint8_t *in, uint32_t n)
{
	uint8_t out[8];
	uint32_t room = sizeof(out);

	must(coding_feed(coding, in, &n, out, &room, true) == state);
	must(n == 0 && room == 0);
}

// seed 0: all input, and as much room as there ever is
static struct run run(struct coding *coding, const uint8_t *in, uint32_t n, uint64_t seed)
{
	struct run run = {malloc(TOLD_MOST), 0, 0, CODING_GOES_ON};
	unsigned idle = 0;

	must(run.told);
	while (run.state == CODING_GOES_ON && run.length < TOLD_MOST) {
		uint32_t given = n - run.taken, wanted = TOLD_MOST - run.length;

		if (seed) {
			given = random_below(&seed, given < PIECE_MOST ? given + 1 : PIECE_MOST);
			wanted = random_below(&seed, wanted < ROOM_MOST ? wanted + 1 : ROOM_MOST);
		}
		uint32_t taken = given, told = wanted;
		bool last = given == n - run.taken && (!seed || random_below(&seed, 2));

		run.state = coding_feed(coding, given ? in + run.taken : NULL, &taken,
			wanted ? run.told + run.length : NULL, &told, last);
		must(taken <= given && told <= wanted);
		run.taken += taken;
		run.length += told;
		if (run.state == CODING_GOES_ON) {
			must(taken == given || told == wanted);
			must(!last || taken < given || told == wanted);
		}
		idle = taken || told ? 0 : idle + 1;
		must(idle < IDLE_MOST);
	}
	if (run.state == CODING_END || run.state == CODING_BROKEN)
		expect_end(coding, run.state, in + run.taken, n - run.taken);
	return run;
}

static void agree(const struct run *one, const struct run *other, enum coding_kind kind)
{
	uint32_t both = one->length < other->length ? one->length : other->length;

	must(both == 0 || memcmp(one->told, other->told, both) == 0);
	if (one->state == CODING_STARVED || other->state == CODING_STARVED)
		return;
	// what breaks behind what was asked for is not seen
	if (one->length == TOLD_MOST || other->length == TOLD_MOST)
		return;
	must(one->state == other->state);
	if (one->state == CODING_END)
		must(one->length == other->length && one->taken == other->taken);
	else if (kind == CODING_GZIP || kind == CODING_DEFLATE)
		must(one->length == other->length);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	static const enum coding_kind kinds[] = {
		CODING_GZIP, CODING_DEFLATE, CODING_BR, CODING_ZSTD};
	static struct content_memory *plenty, *little;
	struct run runs[2];

	if (len < 2)
		return 0;
	if (!plenty) {
		plenty = content_memory_new(REGION, 0);
		little = content_memory_new(1, 0);
		must(plenty && little);
	}
	enum coding_kind kind = kinds[bytes[0] & 3];
	bool short_of_memory = bytes[0] & 4;
	void *blocks[8] = {NULL};

	// of 8 MiB some hundreds of KiB are left
	for (unsigned n = 0; short_of_memory && n < 8; n++)
		blocks[n] = content_take(little, (4u << 20) >> (bytes[0] & 8 ? n : n / 2));
	for (unsigned i = 0; i < 2; i++) {
		struct content_memory *memory = short_of_memory && i ? little : plenty;
		uint64_t before = used(memory);
		struct coding *coding = coding_open(memory, kind);

		must(coding || short_of_memory);
		runs[i] = (struct run){NULL, 0, 0, CODING_STARVED};
		if (coding)
			runs[i] = run(coding, bytes + 2, (uint32_t)len - 2, i ? bytes[1] + 1u : 0);
		coding_close(coding);
		must(used(memory) == before);
	}
	agree(&runs[0], &runs[1], kind);
	must(runs[0].state != CODING_STARVED);
	for (unsigned n = 0; n < 8; n++)
		content_give(little, blocks[n]);
	free(runs[0].told);
	free(runs[1].told);
	return 0;
}
