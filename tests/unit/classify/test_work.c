// SPDX-License-Identifier: BSD-3-Clause
// What a packet costs is bounded by its octets and by what is kept of its flow, whatever its octets
// are and however they are cut: work is counted in steps (steps.h), not in time. Each reader gets
// what is worst for readers that begin again: one octet, two or three in turns, words of its
// protocol, alone and behind an honest beginning, in segments of each size.
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "lib/classify/classify_rig.h"
#include "lib/classify/steps.h"
#include "pipeline/vocab/asked.h"
#include "classify/handshake/metadata_read.h"
#include "pipeline/vocab/hash_seed.h"
#include "classify/names/host_name.h"
#include "classify/names/follow.h"
#include "classify/text.h"

#define SAID_BYTES 20000
#define SPAN_MAX   9000

// Octets that stand for kinds: letters, marks, blanks, ends of lines, controls, binary.
static const uint8_t octets[] = {'a', 'G', ':', ' ', '\t', '\v', '\r', '\n', '/', '@', '(', '<',
	'&', 'd', 'i', '1', '"', '.', ',', 0, 1, 0x16, 0x85, 0xa0, 0xff};

static const char *const words[] = {"\v\r", "\r ", "x\r", "\r\r:", " \r:", "a b://", "GET ",
	"((GET http://b/ HTTP/1.1 ", "CONNECT ", "CONNEC", "Host:\r", "Host: a@b:", "HTTP/",
	" HTTP/1.1", "a:b\r\n", "\n ", "0\r\n\r\n", "\x16\3\1\0\1\1", "\x16\3\1\0\0",
	"\x16\3\1\0\2\0\0", "\x17\3\3\0\1x", "\x14\3\3\0\1\1", "<a ", "<a>", "</a>", "<a b='", "&#",
	"d1:a", "li1e", "9:", "PRIVMSG #a :b\r\n", "* OK\r\n", "\xe3\1\0\0\0", "\xc0\x0c", "xX://",
	"hosT", "hos", NULL};

static const char *const begins[] = {"", "GET / HTTP/1.1\r\n",
	"GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n",
	"GET / HTTP/1.1\r\nX:", "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", "GET /",
	"HTTP/1.1 200 OK\r\n", "<?xml version='1.0'?><stream:stream xmlns='jabber:client' ",
	"NICK a\r\nUSER a b c :d\r\n", "d1:ad2:id20:", "\x16\3\1\x1f\x40\1\0\x1f\x3c\3\3",
	"VER 1 MSNP8 CVR0\r\n", "220 a ESMTP\r\n", "* OK IMAP4rev1\r\n", "\xe3\x20\0\0\0\1\x10",
	"GNUTELLA CONNECT/0.6\r\n", "$Lock EXTENDEDPROTOCOL Pk=a|", NULL};

static const size_t cuts[] = {1, 2, 7, 60, 1400, SPAN_MAX};

// What is said, and how it is cut.
struct speech {
	char name[128];
	uint8_t bytes[SAID_BYTES];
	size_t length, cut;
};

static void repeat(struct speech *said, size_t from, size_t to, const char *word, size_t length)
{
	for (size_t i = from; i < to; i++)
		said->bytes[i] = (uint8_t)word[(i - from) % length];
}

// The filler of number `n`. False: there are no more.
static bool fill(struct speech *said, unsigned n, char *name, size_t room)
{
	size_t n_octets = sizeof(octets), n_words = sizeof(words) / sizeof(words[0]) - 1;
	size_t begin = strlen(name);
	char pair[2];

	if (n < n_octets * n_octets) {
		pair[0] = (char)octets[n / n_octets];
		pair[1] = (char)octets[n % n_octets];
		snprintf(
			name + begin, room - begin, "%02x%02x", (uint8_t)pair[0], (uint8_t)pair[1]);
		repeat(said, said->length, SAID_BYTES, pair, 2);
		return true;
	}
	n -= (unsigned)(n_octets * n_octets);
	if (n >= n_words)
		return false;
	size_t length = strlen(words[n]) ? strlen(words[n]) : 5;

	// records have zeros in them
	if (words[n][0] == '\x16' || words[n][0] == '\x17' || words[n][0] == '\x14')
		length = words[n][4] || words[n][3] ? 6 : 5;
	snprintf(name + begin, room - begin, "word %u", n);
	repeat(said, said->length, SAID_BYTES, words[n], length);
	return true;
}

// Behind the filler, where readers have kept as much as they do: another octet each time.
static void spoil(struct speech *said, size_t every)
{
	static const char marks[] = {':', ' ', '\n', '\r', '(', 'x'};
	unsigned n = 0;

	for (size_t i = 8190; every && i < SAID_BYTES; i += every)
		said->bytes[i] = (uint8_t)marks[n++ % sizeof(marks)];
}

struct reader {
	const char *name;
	uint64_t per_octet, per_span; // steps, at most
	uint32_t kept;                // octets that it may keep and look at for a span
	void *(*open)(void);
	void (*feed)(void *reader, const uint8_t *bytes, size_t length);
	void (*close)(void *reader);
};

static uint64_t worst;
static char worst_name[256];

static void measure(const struct reader *of, const struct speech *said)
{
	void *reader = of->open();

	for (size_t at = 0; at < SAID_BYTES; at += said->cut) {
		size_t length = SAID_BYTES - at < said->cut ? SAID_BYTES - at : said->cut;
		uint64_t most = of->per_span + of->per_octet * (length + of->kept), before = steps;

		of->feed(reader, said->bytes + at, length);
		uint64_t took = steps - before;

		if (took * 1000 / most > worst) {
			worst = took * 1000 / most;
			snprintf(worst_name, sizeof(worst_name), "%s: %s at %zu: %llu steps",
				of->name, said->name, at, (unsigned long long)took);
		}
	}
	of->close(reader);
}

static void all(const struct reader *of, unsigned step)
{
	static struct speech said;

	worst = 0;
	for (unsigned b = 0; begins[b]; b++)
		for (unsigned n = b % step;; n += step) {
			snprintf(said.name, sizeof(said.name), "%u ", b);
			said.length = begins[b][0] == '\x16' ? 11 : strlen(begins[b]);
			memcpy(said.bytes, begins[b], said.length);
			if (!fill(&said, n, said.name, sizeof(said.name)))
				break;
			said.cut = cuts[(n / step + b) % (sizeof(cuts) / sizeof(cuts[0]))];
			snprintf(said.name + strlen(said.name), 20, " by %zu", said.cut);
			spoil(&said, n % 3 * 501);
			measure(of, &said);
		}
	if (getenv("WORK"))
		print_message("%s: %u per mille\n", worst_name, (unsigned)worst);
	if (worst > 1000)
		fail_msg("%s: %u per mille of the bound", worst_name, (unsigned)worst);
}

// Names over a TCP connection, in whole and with its server's answers.

struct names {
	struct names_follow follow;
	uint64_t said;
	unsigned half;
};

static struct name_heads *heads;

static void found(void *ctx, const struct host_name *name, bool also)
{
	(void)ctx;
	(void)name;
	(void)also;
}

static void *names_open(void)
{
	return calloc(1, sizeof(struct names));
}

static void names_feed(void *reader, const uint8_t *bytes, size_t length)
{
	static const struct flow_ends ends;
	const struct name_user user = {.ends = &ends, .inside = true};
	struct names *names = reader;
	const struct span span = {.offset64 = names->said,
		.unchecked = bytes,
		.extent = (uint32_t)length,
		.half = (uint8_t)names->half};

	assert_true(names_follow_feed(heads, &names->follow, &span, &user, found, NULL));
	names->said += length;
}

static void names_close(void *reader)
{
	struct names *names = reader;

	names_follow_end(heads, &names->follow);
	free(names);
}

static void *answers_open(void)
{
	static const char request[] = "GET / HTTP/1.1\r\nHost: x\r\nUpgrade: x\r\n\r\n";
	struct names *names = names_open();

	names_feed(names, (const uint8_t *)request, sizeof(request) - 1);
	names->half = HALF_S2C;
	return names;
}

static void names_cost_what_comes(void **state)
{
	static const struct reader client = {
		"names", 80, 600, NAME_HEAD_BYTES, names_open, names_feed, names_close};
	static const struct reader server = {
		"answers", 40, 400, 0, answers_open, names_feed, names_close};
	(void)state;

	heads = name_heads_new(1, &HASH_SEED_FIXED);
	all(&client, 2);
	all(&server, 4);
	name_heads_free(heads);
}

// A hello of many extensions, in records of one octet: by segments.
static void records_cost_what_comes(void **state)
{
	static uint8_t hello[8000] = {1, 0, 0x1f, 0x3c, 3, 3}, octets_of[sizeof(hello) * 6];
	static const size_t at = 6 + 32 + 1;
	(void)state;

	memcpy(hello + at, "\0\2\x13\1\1\0\x1f\x11", 8);
	for (size_t i = at + 8; i + 4 <= sizeof(hello); i += 4)
		memcpy(hello + i, "\x30\0\0\0", 4);
	for (size_t i = 0; i < sizeof(hello); i++) {
		memcpy(octets_of + 6 * i, "\x16\3\1\0\1", 5);
		octets_of[6 * i + 5] = hello[i];
	}
	heads = name_heads_new(1, &HASH_SEED_FIXED);
	for (size_t cut = 1; cut < 10000; cut = cut * 7 + 1) {
		struct names *names = names_open();

		for (size_t i = 0; i < sizeof(octets_of); i += cut) {
			size_t length = sizeof(octets_of) - i < cut ? sizeof(octets_of) - i : cut;
			uint64_t before = steps;

			names_feed(names, octets_of + i, length);
			if (steps - before > 600 + 30 * (length + NAME_HEAD_BYTES))
				fail_msg("%zu octets at %zu: %llu steps", length, i,
					(unsigned long long)(steps - before));
		}
		assert_int_equal(names->follow.hellos, 1);
		names_close(names);
	}
	name_heads_free(heads);
}

// A flow that is classified, with all that looks at its prefix; then its decoder.

static struct rig *rig;
static unsigned direction, l4;
static void *flow_open(void)
{
	struct rig_flow *flow = malloc(sizeof(*flow));

	assert_non_null(flow);
	*flow = rig_flow(rig, (uint8_t)l4, 40000, l4 == IPPROTO_UDP ? 53 : 80);
	return flow;
}

static void flow_feed(void *reader, const uint8_t *bytes, size_t length)
{
	struct rig_flow *flow = reader;

	rig->work.n_steps = 0;
	rig_feed(flow, direction, bytes, length);
}

static void flow_close(void *reader)
{
	rig_end(reader);
	free(reader);
}

static void classification_costs_what_comes(void **state)
{
	static const struct reader stream = {
		"stream", 20, 8000, 2 * CLASSIFY_PREFIX_BYTES, flow_open, flow_feed, flow_close};
	static const struct reader datagrams = {
		"datagrams", 20, 8000, 0, flow_open, flow_feed, flow_close};
	(void)state;

	rig = rig_new();
	for (unsigned i = 0; i < 4; i++) {
		direction = i & 1;
		l4 = i < 2 ? IPPROTO_TCP : IPPROTO_UDP;
		all(i < 2 ? &stream : &datagrams, 7);
	}
	rig_free(rig);
}

// Each application's decoder.

static struct classifier *classifier;
static uint16_t app;

struct decoding {
	uint32_t ref;
	uint64_t said;
	bool done;
};

static void no_expectation(void *ctx, const struct expectation *expectation)
{
	(void)ctx;
	(void)expectation;
}

static void no_endpoint(void *ctx, const struct learned_endpoint *endpoint)
{
	(void)ctx;
	(void)endpoint;
}

static void no_name(void *ctx, const struct learned_name *name)
{
	(void)ctx;
	(void)name;
}

static void no_transfer(void *ctx, const struct transfer_label *label)
{
	(void)ctx;
	(void)label;
}

static void *decoder_open(void)
{
	return calloc(1, sizeof(struct decoding));
}

static void decoding_feed(void *reader, const uint8_t *bytes, size_t length)
{
	static const struct flow_ends ends;
	struct asked asked = {0};
	const struct decoder_sink sink = {
		no_expectation, no_endpoint, no_name, no_transfer, NULL, &asked};
	struct decoding *decoding = reader;
	const struct span span = {.offset64 = decoding->said,
		.unchecked = bytes,
		.extent = (uint32_t)length,
		.flags = l4 == IPPROTO_UDP ? SPAN_DATAGRAM : 0,
		.half = (uint8_t)direction};

	decoding->said += length;
	if (!decoding->done)
		decoding->done = decoder_feed(classifier, app, &ends, &span, &decoding->ref, &sink);
}

static void decoding_close(void *reader)
{
	struct decoding *decoding = reader;

	classify_end(classifier, &decoding->ref);
	free(decoding);
}

static void decoders_cost_what_comes(void **state)
{
	(void)state;

	classifier = classifier_new(4, 0, -1);
	for (unsigned i = 0; i < 4 * app_count(); i++) {
		app = (uint16_t)(i / 4 + 1);
		direction = i & 1;
		l4 = i & 2 ? IPPROTO_UDP : IPPROTO_TCP;
		const struct reader decoder = {app_get(app)->name, 30, 1500,
			l4 == IPPROTO_UDP ? 0 : APP_LINE_BYTES, decoder_open, decoding_feed,
			decoding_close};

		if (l4 == IPPROTO_UDP ? app_get(app)->decode_datagram != NULL
				      : app_get(app)->decode != NULL)
			all(&decoder, 29);
	}
	classifier_free(classifier);
}

// What is reported a flow's beginning.

static void handshake_meta_feed(void *reader, const uint8_t *bytes, size_t length)
{
	struct handshake_meta meta;
	const struct text half = {
		bytes, length < CLASSIFY_PREFIX_BYTES ? (uint32_t)length : CLASSIFY_PREFIX_BYTES};

	(void)reader;
	handshake_meta_of_client(half, &meta);
	handshake_meta_of_server(half, &meta);
}

static void *nothing_open(void)
{
	return NULL;
}

static void nothing_close(void *reader)
{
	(void)reader;
}

static void greetings_cost_what_comes(void **state)
{
	static const struct reader reader = {
		"greeting", 25, 4000, 0, nothing_open, handshake_meta_feed, nothing_close};
	(void)state;

	all(&reader, 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_cost_what_comes),
		cmocka_unit_test(records_cost_what_comes),
		cmocka_unit_test(classification_costs_what_comes),
		cmocka_unit_test(decoders_cost_what_comes),
		cmocka_unit_test(greetings_cost_what_comes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
