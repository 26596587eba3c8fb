// SPDX-License-Identifier: BSD-3-Clause
// The classifier without a gateway: flows in, verdicts out. Driven by classify_harness.py.
//
// Input, little endian, one record after the other; the first byte is its type:
//   'S' signature: u8 l4, halves, confidence, bits (1 verify, 2 midstream, 4 caseless, 8 dotall),
//   fixed bits,
//       u16 min_length, then id, application and pattern, each u16 length and bytes
//   'H' a host of an application: application and suffix, each u16 length and bytes; 'h' a shared
//       one
//   'G' end of signatures
//   'F' a flow begins: u32 id, u8 l4, bits (1 midstream, 2 initiator inside), u16 sport, dport,
//       address of the initiator and of the responder, 16 bytes each (IPv4: mapped)
//   'P' payload: u32 id, u8 half, flags (1 new data packet, 2 gap), u64 offset, u32 length, bytes
//   'E' a flow ends: u32 id
// Output: for each flow that ended, "id app confidence n_data_pkts signature how".
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "classify/classify.h"

#define FLOWS_MAX 65536

struct tool_flow {
	struct flow_ends ends;
	struct classify_verdict verdict;
	struct media_memo media;
	uint32_t state;
	uint32_t decoder_state;
	uint8_t l4;
	uint8_t bits;
	uint8_t n;
	bool used;
	bool decoded; // its decoder has seen enough
};

static struct signature *signatures;
static unsigned n_signatures;
static struct tool_flow *flows;
static struct user_apps *hosts; // of the files

static void die(const char *what)
{
	fprintf(stderr, "classify_tool: %s\n", what);
	exit(1);
}

static void take(void *to, size_t length)
{
	if (length && fread(to, length, 1, stdin) != 1)
		die("input ends inside a record");
}

static uint64_t number(unsigned width)
{
	uint8_t bytes[8] = {0};
	uint64_t value = 0;

	take(bytes, width);
	for (unsigned i = width; i-- > 0;)
		value = value << 8 | bytes[i];
	return value;
}

static void text(char *to, size_t room)
{
	size_t length = number(2);

	if (length >= room)
		die("text too long");
	take(to, length);
	to[length] = '\0';
}

static void read_signature(void)
{
	struct signature *s;
	char app[64];
	unsigned bits;

	signatures = realloc(signatures, (n_signatures + 1) * sizeof(*s));
	if (!signatures)
		die("no memory");
	s = &signatures[n_signatures++];
	memset(s, 0, sizeof(*s));
	s->l4 = (uint8_t)number(1);
	s->halves = (uint8_t)number(1);
	s->confidence = (uint8_t)number(1);
	bits = (unsigned)number(1);
	s->verify = bits & 1;
	s->midstream = bits & 2;
	s->caseless = bits & 4;
	s->dotall = bits & 8;
	s->bits = (uint8_t)number(1);
	s->min_length = (uint16_t)number(2);
	text(s->id, sizeof(s->id));
	text(app, sizeof(app));
	text(s->pattern, sizeof(s->pattern));
	s->app = app_find(app);
	if (s->app == APP_NONE)
		fprintf(stderr, "classify_tool: %s: application \"%s\" is not built\n", s->id, app);
	if (s->app == APP_NONE)
		n_signatures--;
}

static void read_host(bool shared)
{
	char name[64], suffix[USER_HOST_NAME_MAX + 1];
	uint16_t app;

	text(name, sizeof(name));
	text(suffix, sizeof(suffix));
	app = app_find(name);
	if (app == APP_NONE)
		fprintf(stderr, "classify_tool: %s: application \"%s\" is not built\n", suffix,
			name);
	else if ((shared ? user_apps_add_shared_host : user_apps_add_host)(hosts, app, suffix))
		die("a host cannot be added");
}

static struct tool_flow *flow_of(uint32_t id)
{
	if (id >= FLOWS_MAX)
		die("flow id too large");
	return &flows[id];
}

static void begin(void)
{
	struct tool_flow *flow = flow_of((uint32_t)number(4));

	memset(flow, 0, sizeof(*flow));
	flow->used = true;
	flow->l4 = (uint8_t)number(1);
	flow->bits = (uint8_t)number(1);
	flow->ends.port[HALF_C2S] = (uint16_t)number(2);
	flow->ends.port[HALF_S2C] = (uint16_t)number(2);
	take(flow->ends.address[HALF_C2S], 16);
	take(flow->ends.address[HALF_S2C], 16);
}

static void end(struct classifier *classifier, const struct sigdb *db)
{
	uint32_t id = (uint32_t)number(4);
	struct tool_flow *flow = flow_of(id);
	const struct classify_verdict *v = &flow->verdict;
	const struct app_proto *proto = app_get(v->app);
	const struct signature *s = v->signature == UINT16_MAX ? NULL : sigdb_get(db, v->signature);

	if (!flow->used)
		die("end of no flow");
	flow->used = false;
	printf("%u %s %s %u %s %s\n", id, proto ? proto->name : "-",
		confidence_word((enum confidence)v->confidence), v->n_data_pkts,
		s && proto ? s->id : "-",
		v->nomem    ? "nomem"
		: v->gaveup ? "gaveup"
		: v->final  ? "final"
			    : "open");
	classify_end(classifier, &flow->state);
	classify_end(classifier, &flow->decoder_state);
}

static void expect(void *ctx, const struct expectation *expectation)
{
	const struct app_proto *proto = app_get(expectation->app);

	(void)ctx;
	fprintf(stderr, "expect %s port %u\n", proto ? proto->name : "-", expectation->port);
}

static void payload(struct classifier *classifier, const struct edition *edition)
{
	struct tool_flow *flow = flow_of((uint32_t)number(4));
	struct span span = {.half = (uint8_t)number(1)};
	const struct decoder_sink sink = {.expect = expect};
	unsigned flags = (unsigned)number(1);
	struct classify_work work = {0};
	uint8_t *bytes = NULL;

	span.offset64 = number(8);
	span.extent = (uint32_t)number(4);
	span.flags = (uint8_t)((flags & 2 ? SPAN_GAP : 0) |
			       (flow->l4 == IPPROTO_UDP ? SPAN_DATAGRAM : 0));
	if (!(flags & 2)) {
		bytes = malloc(span.extent); // of exact size, for AddressSanitizer
		take(bytes, span.extent);
	}
	span.unchecked = bytes;
	if (flags & 1 && flow->n < UINT8_MAX)
		flow->n++;
	const struct classify_flow about = {
		.ends = &flow->ends,
		.l4_proto = flow->l4,
		.n_data_pkts = flow->n,
		.midstream = flow->bits & 1,
		.either_began = flow->bits & 1,
		.c2s_from_inside = flow->bits & 2,
		.media = flow->l4 == IPPROTO_UDP ? &flow->media : NULL,
	};

	bool decode = flow->verdict.final;

	classify_feed(
		classifier, edition, hosts, &about, &span, &flow->state, &flow->verdict, &work);
	decode |= flow->verdict.final;
	if (decode && !flow->decoded && app_has_decoder(flow->verdict.app))
		flow->decoded =
			DECODER_DONE == decoder_feed(classifier, flow->verdict.app, &flow->ends,
						&span, &flow->decoder_state, &sink);
	free(bytes);
}

// classify_tool [CACHE_DIR]
int main(int argc, char **argv)
{
	struct classifier *classifier = classifier_new(FLOWS_MAX, 0, -1);
	struct edition *edition;
	struct sigdb *db;
	char err[512];
	int type;

	flows = calloc(FLOWS_MAX, sizeof(*flows));
	hosts = user_apps_new();
	if (!flows || !classifier || !hosts)
		die("no memory");
	while ((type = getchar()) == 'S' || type == 'H' || type == 'h')
		if (type == 'S')
			read_signature();
		else
			read_host(type == 'h');
	if (type != 'G')
		die("no signatures");
	if (sigdb_new(signatures, n_signatures, argc > 1 ? argv[1] : NULL, &db, NULL, err,
		    sizeof(err)))
		die(err);
	if (edition_new(db, 1, &edition))
		die("no memory for the edition");
	while ((type = getchar()) != EOF) {
		switch (type) {
		case 'F': begin(); break;
		case 'P': payload(classifier, edition); break;
		case 'E': end(classifier, db); break;
		default: die("unknown record");
		}
	}
	if (classifier_states_free(classifier) != classifier_states_max(classifier))
		die("states are still taken at the end");
	edition_free(edition);
	sigdb_free(db);
	classifier_free(classifier);
	user_apps_free(hosts);
	free(signatures);
	free(flows);
	return 0;
}
