// SPDX-License-Identifier: BSD-3-Clause
// Flows that say nothing: uniform, ASCII, compressed and encrypted payloads of 1 to 1,460 bytes in
// both directions, TCP and UDP, from their start or joined midway, any ports. At most 10 in a
// million may be claimed with CONFIDENCE_DPI or more. Pairs of the shape of MSE's handshake are
// random bytes as well, and apart: what is claimed of them, and how surely, is reported as a rate.
// Prints JSON: flows and claims of each kind, and who claims what. 50,000 flows, SLUICE_LONG=1 a
// million, SLUICE_SEED=N others.
#include <inttypes.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <zlib.h>
#include "lib/classify/classify_rig.h"
#include "model/random_octets.h"

#define FLOWS              50000u
#define FLOWS_LONG         1000000u
#define CLAIMS_PER_MILLION 10u
#define PAYLOAD_MAX        1460u
#define POOL_BYTES         (4u << 20)
#define CLAIMANTS_MAX      256u

enum kind {
	KIND_UNIFORM,
	KIND_ASCII,
	KIND_COMPRESSED,
	KIND_ENCRYPTED, // records of a length field and uniform bytes
	KIND_MSE,       // its first flights: a key and padding, each way
	KINDS,
};

static const char *const kind_names[KINDS] = {
	"uniform", "ascii", "compressed", "encrypted", "mse_shaped"};

struct tally {
	uint32_t flows;
	uint32_t sure;    // CONFIDENCE_DPI or more
	uint32_t partial; // CONFIDENCE_PARTIAL
};

// Who claims: an application by a signature, or a shape.
struct claimant {
	uint16_t app, signature;
	uint8_t kind, confidence, l4;
	uint32_t n;
};

static struct {
	struct rig *rig;
	uint8_t *text;       // words, and what they are compressed to
	uint8_t *compressed; // raw, zlib and gzip streams, one after the other
	uint32_t n_compressed;
	uint32_t starts[4096]; // where they begin
	unsigned n_starts;
	struct tally tallies[KINDS];
	struct claimant claimants[CLAIMANTS_MAX];
	unsigned n_claimants;
} world;

static void fill_ascii(uint8_t *at, uint32_t length)
{
	uint32_t line = below(2) ? 20 + below(60) : UINT32_MAX; // with lines or without

	for (uint32_t i = 0; i < length; i++)
		at[i] = i % line == line - 1 ? '\n' : (uint8_t)(' ' + below(95));
}

static void write_text(uint8_t *at, uint32_t length)
{
	static const char *const words[] = {"the ", "of ", "and ", "a ", "in ", "\n", "report ",
		"<p>", "</p>", "value=", "0, ", "\"name\": ", "return ", "1999 ", "\r\n", "error "};

	for (uint32_t i = 0; i < length;) {
		const char *word = words[below(sizeof(words) / sizeof(words[0]))];
		uint32_t n = (uint32_t)strlen(word);

		for (uint32_t j = 0; j < n && i < length; j++)
			at[i++] = (uint8_t)word[j];
		if (i < length)
			at[i++] = (uint8_t)('a' + below(26));
	}
}

// Raw deflate, zlib and gzip of texts of any length, one behind the other.
static void compress_pool(void)
{
	static const int wrappers[] = {-MAX_WBITS, MAX_WBITS, MAX_WBITS + 16};

	write_text(world.text, POOL_BYTES);
	while (world.n_compressed < POOL_BYTES - (64u << 10) && world.n_starts < 4096) {
		uint32_t length = 500 + below(32000);
		z_stream z = {0};

		assert_int_equal(deflateInit2(&z, 1 + (int)below(9), Z_DEFLATED, wrappers[below(3)],
					 8, Z_DEFAULT_STRATEGY),
			Z_OK);
		z.next_in = world.text + below(POOL_BYTES - length);
		z.avail_in = length;
		z.next_out = world.compressed + world.n_compressed;
		z.avail_out = POOL_BYTES - world.n_compressed;
		assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
		world.starts[world.n_starts++] = world.n_compressed;
		world.n_compressed += (uint32_t)z.total_out;
		deflateEnd(&z);
	}
}

// A stream from its beginning in one half, anything of the pool in the other.
static void fill_compressed(uint8_t *at, uint32_t length, bool from_start)
{
	uint32_t place = from_start ? world.starts[below(world.n_starts)]
				    : below(world.n_compressed - PAYLOAD_MAX);

	if (place > world.n_compressed - PAYLOAD_MAX)
		place = 0;
	memcpy(at, world.compressed + place, length);
}

// Records whose length stands before them in two or four bytes, as protocols that are encrypted
// from their first byte have them; or nothing but cipher text.
static void fill_encrypted(uint8_t *at, uint32_t length, unsigned width)
{
	fill(at, length);
	if (!width || length <= width)
		return;
	uint32_t rest = length - width;

	memset(at, 0, width);
	at[width - 2] = (uint8_t)(rest >> 8);
	at[width - 1] = (uint8_t)rest;
}

static void count(enum kind kind, const struct rig_flow *flow)
{
	struct tally *tally = &world.tallies[kind];
	uint8_t confidence = flow->verdict.confidence;

	tally->flows++;
	if (flow->verdict.app == APP_NONE || confidence < CONFIDENCE_PARTIAL)
		return;
	tally->sure += confidence >= CONFIDENCE_DPI;
	tally->partial += confidence == CONFIDENCE_PARTIAL;
	for (unsigned i = 0; i < CLAIMANTS_MAX; i++) {
		struct claimant *c = &world.claimants[i];

		if (i == world.n_claimants)
			*c = (struct claimant){flow->verdict.app, flow->verdict.signature,
				(uint8_t)kind, confidence, flow->l4, 0};
		else if (c->app != flow->verdict.app || c->signature != flow->verdict.signature ||
			 c->kind != kind || c->confidence != confidence || c->l4 != flow->l4)
			continue;
		if (i == world.n_claimants)
			world.n_claimants++;
		c->n++;
		return;
	}
}

static struct rig_flow new_flow(uint8_t l4)
{
	struct rig_flow flow = rig_flow(world.rig, l4, (uint16_t)(1024 + below(64512)),
		(uint16_t)(1 + below(below(4) ? 65535 : 1024)));

	for (unsigned half = 0; half < 2; half++) {
		memset(flow.ends.address[half] + 10, 0xff, 2);
		fill(flow.ends.address[half] + 12, 4);
	}
	return flow;
}

static void one_flow(enum kind kind)
{
	struct rig_flow flow = new_flow(below(2) ? IPPROTO_TCP : IPPROTO_UDP);
	unsigned n = 1 + below(10), half = HALF_C2S, width = 2 * below(3);
	uint8_t payload[PAYLOAD_MAX + 8];

	flow.midstream = flow.l4 == IPPROTO_TCP && !below(8);
	for (unsigned i = 0; i < n && !flow.verdict.final; i++) {
		uint32_t length = 1 + below(PAYLOAD_MAX);

		switch (kind) {
		case KIND_ASCII: fill_ascii(payload, length); break;
		case KIND_COMPRESSED: fill_compressed(payload, length, !below(2)); break;
		case KIND_ENCRYPTED: fill_encrypted(payload, length, width); break;
		default: fill(payload, length); break;
		}
		rig_feed(&flow, half, payload, length);
		if (below(2))
			half = !half;
	}
	rig_end(&flow);
	count(kind, &flow);
}

// 96 bytes of key and up to 512 of padding each way, cut as TCP may cut them, then more.
static void one_mse(void)
{
	struct rig_flow flow = new_flow(IPPROTO_TCP);
	uint8_t payload[PAYLOAD_MAX];

	for (unsigned half = 0; half < 2 && !flow.verdict.final; half++) {
		uint32_t length = 96 + below(513);
		uint32_t first = below(2) ? length : 1 + below(length);

		fill(payload, length);
		rig_feed(&flow, half, payload, first);
		if (first < length && !flow.verdict.final)
			rig_feed(&flow, half, payload + first, length - first);
	}
	for (unsigned i = 0; i < 4 && !flow.verdict.final; i++) {
		uint32_t length = 56 + below(700);

		fill(payload, length);
		rig_feed(&flow, i & 1, payload, length);
	}
	rig_end(&flow);
	count(KIND_MSE, &flow);
}

static void report(uint64_t seed)
{
	printf("{\n  \"seed\": %" PRIu64 ",\n  \"kinds\": {\n", seed);
	for (unsigned i = 0; i < KINDS; i++) {
		const struct tally *t = &world.tallies[i];

		printf("    \"%s\": {\"flows\": %u, \"dpi\": %u, \"partial\": %u, "
		       "\"partial_per_million\": %.1f}%s\n",
			kind_names[i], t->flows, t->sure, t->partial, 1e6 * t->partial / t->flows,
			i + 1 < KINDS ? "," : "");
	}
	printf("  },\n  \"claims\": [\n");
	for (unsigned i = 0; i < world.n_claimants; i++) {
		const struct claimant *c = &world.claimants[i];
		const struct signature *signature = sigdb_get(world.rig->db, c->signature);

		printf("    {\"app\": \"%s\", \"by\": \"%s\", \"l4\": \"%s\", \"kind\": \"%s\", "
		       "\"confidence\": \"%s\", \"flows\": %u}%s\n",
			app_get(c->app)->name, signature ? signature->id : "shape",
			c->l4 == IPPROTO_TCP ? "tcp" : "udp", kind_names[c->kind],
			confidence_word((enum confidence)c->confidence), c->n,
			i + 1 < world.n_claimants ? "," : "");
	}
	printf("  ]\n}\n");
}

static void test_random_payloads(void **state)
{
	const char *given = getenv("SLUICE_SEED");
	uint32_t n = getenv("SLUICE_LONG") ? FLOWS_LONG : FLOWS, sure = 0;
	uint64_t seed = given ? strtoull(given, NULL, 0) : 20;

	(void)state;
	seed_random(seed);
	compress_pool();
	for (uint32_t i = 0; i < n; i++)
		one_flow(i % KIND_MSE);
	for (uint32_t i = 0; i < n / 10; i++)
		one_mse();
	report(seed);
	for (unsigned i = 0; i < KIND_MSE; i++)
		sure += world.tallies[i].sure;
	// of 50,000 it would be half a flow
	if (sure > (n >= FLOWS_LONG ? CLAIMS_PER_MILLION : 1))
		fail_msg("%u of %u random flows are claimed", sure, n);
	// what is only shaped like MSE is never sure
	assert_int_equal(world.tallies[KIND_MSE].sure, 0);
}

// The measure measures: a signature that any byte can have is counted.
static void test_a_bad_signature_is_seen(void **state)
{
	struct rig *right = world.rig;
	struct signature bad = {.l4 = IPPROTO_TCP, .halves = 3, .confidence = CONFIDENCE_DPI};

	(void)state;
	memset(world.tallies, 0, sizeof(world.tallies));
	world.n_claimants = 0;
	memcpy(bad.id, "bad", sizeof("bad"));
	memcpy(bad.pattern, "^[\\x00-\\x3f]", sizeof("^[\\x00-\\x3f]"));
	bad.app = app_find("bittorrent");
	bad.dotall = true;
	world.rig = rig_new_with(&bad, 1, 16);
	for (unsigned i = 0; i < 400; i++)
		one_flow(KIND_UNIFORM);
	assert_in_range(world.tallies[KIND_UNIFORM].sure, 20, 300);
	rig_free(world.rig);
	world.rig = right;
}

static int setup(void **state)
{
	(void)state;
	world.rig = rig_new();
	world.text = malloc(POOL_BYTES);
	world.compressed = malloc(POOL_BYTES);
	return world.text && world.compressed ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	rig_free(world.rig);
	free(world.text);
	free(world.compressed);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random_payloads),
		cmocka_unit_test(test_a_bad_signature_is_seen),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
