// SPDX-License-Identifier: BSD-3-Clause
// Flows of random octets, both protocols, 1 to 1,500 octets a packet, on the ports of every
// application; half of them begin with the first octets of a signature, and go on at random. None
// may be claimed with CONFIDENCE_DPI or more, and 10 in a million with CONFIDENCE_PARTIAL. What MSE
// and eMule send is random octets as well, of certain lengths, and Skype's first datagram has 8
// bits that are fixed: these are hints, no more than partial, and counted apart. Prints JSON: the
// seed, and who claims what. 20,000 flows, SLUICE_LONG=1 a million, SLUICE_SEED=N others.
#include <inttypes.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "lib/classify/classify_rig.h"
#include "model/random_octets.h"
#include "model/sample_pattern.h"

#define FLOWS        20000u
#define FLOWS_LONG   1000000u
#define PAYLOAD_MAX  1500u
#define MILLION      1000000u
#define PARTIAL_MAX  10u // in a million
#define BITS_GIVEN   16u // of a pattern, at the front of a flow: at most so many
#define BITS_LEFT    32u // and that chance has to add: at least so many
#define CLAIMANTS    256u
#define NO_SIGNATURE UINT16_MAX

// Who claims.
struct claimant {
	uint16_t app, signature, begun; // `begun`: whose first octets the flow had
	uint8_t confidence, l4;
	uint32_t n;
};

static struct {
	struct rig *rig;
	uint16_t ports[2][16 * APPS_MAX]; // 0 TCP, 1 UDP
	unsigned n_ports[2];
	struct claimant claimants[CLAIMANTS];
	unsigned n_claimants;
	uint32_t sure, partial, hints; // flows that are claimed
} world;

static void take_ports(void)
{
	for (uint16_t app = 1; app <= app_count(); app++) {
		const struct app_proto *proto = app_get(app);
		const uint16_t *lists[2] = {proto->tcp_ports, proto->udp_ports};

		for (unsigned udp = 0; udp < 2; udp++)
			for (unsigned i = 0; i < 8 && lists[udp][i]; i++)
				world.ports[udp][world.n_ports[udp]++] = lists[udp][i];
	}
}

static uint16_t any_port(bool udp)
{
	return below(2) ? world.ports[udp][below(world.n_ports[udp])]
			: (uint16_t)(1 + below(65535));
}

// How many octets of the sample may stand at the front: they prove nothing yet, nor does chance
// make up what is left. Of the rest of a pattern that has a verifier nothing is known: it counts as
// enough.
static unsigned front(const struct sample *sample, const struct signature *signature)
{
	unsigned left = 0, given = 0, k = 0;

	for (unsigned i = 0; i < sample->n; i++)
		left += sample->bits[i];
	for (; k < sample->n && given + sample->bits[k] <= BITS_GIVEN; k++) {
		left -= sample->bits[k];
		if (left < BITS_LEFT && !signature->verify)
			break;
		given += sample->bits[k];
	}
	return below(k + 1);
}

// The first octets of any signature of that protocol and half; returns its index.
static uint16_t begin(uint8_t *payload, uint32_t *length, uint8_t l4, unsigned half)
{
	struct sample sample = {.below = below};
	const struct rig *rig = world.rig;
	unsigned which;

	do
		which = below(rig->n_signatures);
	while (rig->signatures[which].l4 != l4 || !(rig->signatures[which].halves & 1 << half));
	const struct signature *signature = &rig->signatures[which];

	sample.dotall = signature->dotall;
	sample_pattern(&sample, signature->pattern);
	unsigned k = front(&sample, signature);

	if (*length < k)
		*length = k;
	memcpy(payload, sample.at, k);
	return (uint16_t)which;
}

static const char *id_of(uint16_t signature)
{
	return signature == NO_SIGNATURE ? "" : world.rig->signatures[signature].id;
}

static void count(const struct rig_flow *flow, uint16_t begun)
{
	const struct classify_verdict *verdict = &flow->verdict;
	bool hint = verdict->signature == NO_SIGNATURE ||
		    !strcmp(id_of(verdict->signature), "skype-probe");

	if (verdict->app == APP_NONE || verdict->confidence < CONFIDENCE_PARTIAL)
		return;
	if (verdict->confidence > CONFIDENCE_PARTIAL)
		world.sure++;
	else if (hint)
		world.hints++;
	else
		world.partial++;
	const struct claimant new = {verdict->app, verdict->signature, hint ? NO_SIGNATURE : begun,
		verdict->confidence, flow->l4, 1};

	for (unsigned i = 0; i < world.n_claimants; i++) {
		struct claimant *c = &world.claimants[i];

		if (c->app == new.app && c->signature == new.signature && c->begun == new.begun &&
			c->confidence == new.confidence && c->l4 == new.l4) {
			c->n++;
			return;
		}
	}
	if (world.n_claimants < CLAIMANTS)
		world.claimants[world.n_claimants++] = new;
}

static void one_flow(bool begins)
{
	uint8_t l4 = below(2) ? IPPROTO_TCP : IPPROTO_UDP, payload[PAYLOAD_MAX + 8];
	bool udp = l4 == IPPROTO_UDP;
	struct rig_flow flow = rig_flow(world.rig, l4,
		below(8) ? (uint16_t)(1024 + below(64512)) : any_port(udp), any_port(udp));
	unsigned n = 1 + below(10), half = below(8) ? HALF_C2S : HALF_S2C;
	uint16_t begun = NO_SIGNATURE;
	bool heard[2] = {false, false};

	for (unsigned i = 0; i < 2; i++) {
		memset(flow.ends.address[i] + 10, 0xff, 2);
		fill(flow.ends.address[i] + 12, 4);
	}
	for (unsigned i = 0; i < n && !flow.verdict.final; i++) {
		uint32_t length = 1 + below(below(4) ? PAYLOAD_MAX : 64);

		fill(payload, length);
		if (begins && (udp || !heard[half])) {
			fill(payload, length < 64 ? 64 : length);
			begun = begin(payload, &length, l4, half);
		}
		heard[half] = true;
		rig_feed(&flow, half, payload, length);
		half ^= below(2);
	}
	rig_end(&flow);
	count(&flow, begun);
}

static void report(uint64_t number, uint32_t flows)
{
	printf("{\n  \"seed\": %" PRIu64 ", \"flows\": %u, \"dpi\": %u, \"partial\": %u, "
	       "\"hints\": %u,\n  \"claims\": [\n",
		number, flows, world.sure, world.partial, world.hints);
	for (unsigned i = 0; i < world.n_claimants; i++) {
		const struct claimant *c = &world.claimants[i];

		printf("    {\"app\": \"%s\", \"by\": \"%s\", \"l4\": \"%s\", \"begun\": \"%s\", "
		       "\"confidence\": \"%s\", \"flows\": %u}%s\n",
			app_get(c->app)->name, id_of(c->signature),
			c->l4 == IPPROTO_TCP ? "tcp" : "udp", id_of(c->begun),
			confidence_word((enum confidence)c->confidence), c->n,
			i + 1 < world.n_claimants ? "," : "");
	}
	printf("  ]\n}\n");
}

static void run(uint64_t number, uint32_t flows)
{
	world.sure = world.partial = world.hints = 0;
	world.n_claimants = 0;
	seed_random(number);
	for (uint32_t i = 0; i < flows; i++)
		one_flow(i & 1);
}

static void nobody_claims_them(void **state)
{
	const char *given = getenv("SLUICE_SEED");
	uint32_t flows = getenv("SLUICE_LONG") ? FLOWS_LONG : FLOWS;
	uint64_t number = given ? strtoull(given, NULL, 0) : 18;

	(void)state;
	run(number, flows);
	report(number, flows);
	assert_int_equal(world.sure, 0);
	// Of 20,000 flows a fifth of one: one may be chance (18 % at that rate), two are not (2 %).
	if (world.partial > 1 + (uint64_t)PARTIAL_MAX * (flows - FLOWS) / MILLION)
		fail_msg("%u of %u flows are claimed in part", world.partial, flows);
}

// Each pattern is understood: what is made of it as a whole is a hit of its own signature.
static void samples_match(void **state)
{
	(void)state;
	seed_random(1);
	for (unsigned i = 0; i < world.rig->n_signatures; i++) {
		struct signature alone = world.rig->signatures[i];
		struct sample sample = {.below = below, .dotall = alone.dotall};

		alone.verify = false;
		alone.min_length = 0;
		alone.confidence = CONFIDENCE_DPI;
		struct rig *rig = rig_new_with(&alone, 1, 16);
		struct rig_flow flow = rig_flow(rig, alone.l4, 40000, 40001);

		sample_pattern(&sample, alone.pattern);
		rig_feed(&flow, alone.halves & 1 << HALF_C2S ? HALF_C2S : HALF_S2C, sample.at,
			sample.n);
		if (flow.verdict.app != alone.app || flow.verdict.confidence < CONFIDENCE_DPI)
			fail_msg("%s: no hit of %s", alone.id, alone.pattern);
		rig_end(&flow);
		rig_free(rig);
	}
}

// The measure measures: signatures of four bits are seen.
static void a_bad_signature_is_seen(void **state)
{
	struct rig *right = world.rig;
	struct signature bad[2] = {{.l4 = IPPROTO_TCP}, {.l4 = IPPROTO_UDP}};

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		bad[i].halves = 3;
		bad[i].confidence = CONFIDENCE_DPI;
		bad[i].app = app_find("bittorrent");
		bad[i].dotall = true;
		snprintf(bad[i].id, sizeof(bad[i].id), "bad-%u", i);
		memcpy(bad[i].pattern, "^[\\x00-\\x0f]", sizeof("^[\\x00-\\x0f]"));
	}
	world.rig = rig_new_with(bad, 2, 16);
	run(1, 400);
	assert_true(world.sure > 0);
	rig_free(world.rig);
	world.rig = right;
}

static int setup(void **state)
{
	(void)state;
	world.rig = rig_new();
	take_ports();
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	rig_free(world.rig);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(samples_match),
		cmocka_unit_test(nobody_claims_them),
		cmocka_unit_test(a_bad_signature_is_seen),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
