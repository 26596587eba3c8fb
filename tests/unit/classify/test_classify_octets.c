// SPDX-License-Identifier: BSD-3-Clause
// Which octets of a conversation its verdict rests on. Each conversation of fuzz/corpus/classify
// and of golden/classify_conversations.txt is classified again with one octet of it changed, with
// one packet cut short, longer, or sent as two segments; the outcome is a letter, and all letters
// are held against classify_octets.txt:
//
//   .  the same, whatever the octet is       -  no longer known, whatever it is
//   1-B  so many of the changes lose it      ?  a change makes it another application
//   ~  as sure, or as soon, it is not        +  what is learned from it differs
//
// A line is a packet (> of the client, < of the server), "cut" the same for each length of it,
// "len" the same with the lengths in it that agree: what is within is cut, not what it is in,
// "two" for each length of the first of two segments (how TCP is segmented is no evidence), "long"
// for zeros behind it (`longer`). "whole" is of put_whole(). Behind the name is what it is, how
// sure, and a sum of what is learned from it. A verifier that becomes looser takes strangers for
// its application, a stricter one lets go of its own: either is to be meant. SLUICE_WRITE=1 writes
// the file again.
#include <dirent.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "lib/classify/classify_rig.h"

#define INPUT_MAX   65536
#define PACKETS_MAX 8
#define OCTETS_MAX  256 // of a packet that are changed: what is behind them is a body
#define CHANGES     12
#define LENGTHS_MAX 64 // lengths are looked for in so many octets

static const size_t longer[] = {1, 2, 3, 4, 8, 64};

enum form {
	FORM_CUT,  // to `at` octets
	FORM_LEN,  // the same, and lengths in it agree
	FORM_TWO,  // the second segment begins at `at`
	FORM_LONG, // with `at` zeros behind it
};

struct conversation {
	uint8_t bytes[INPUT_MAX];
	size_t length;
	unsigned formed; // the packet that has another form; 1: the first ...; 0: none has
	enum form form;
	size_t at;
};

// What is learned, as one number.
struct outcome {
	uint16_t app;
	uint8_t confidence;
	bool final;
	uint8_t n_data_pkts;
	uint64_t learned;
};

static void add(void *ctx, const void *bytes, size_t n)
{
	uint64_t *sum = ctx;

	for (size_t i = 0; i < n; i++)
		*sum = (*sum ^ ((const uint8_t *)bytes)[i]) * 1099511628211u;
}

static void expect(void *ctx, const struct expectation *of)
{
	add(ctx, &of->app, sizeof(of->app));
	add(ctx, "expects", 7);
}

static void endpoint(void *ctx, const struct learned_endpoint *of)
{
	add(ctx, &of->port, sizeof(of->port));
	add(ctx, of->half ? "server" : "client", 6);
}

static void name(void *ctx, const struct learned_name *of)
{
	add(ctx, of->name, of->length);
}

struct run {
	struct rig *rig;
	struct rig_flow flow;
	uint32_t decoder_state;
	struct decoder_sink sink;
	bool decoded;
};

static void feed(struct run *run, unsigned half, const uint8_t *payload, size_t length)
{
	struct rig_flow *flow = &run->flow;
	bool decode = flow->verdict.final;

	if (!length)
		return;
	rig_feed(flow, half, payload, length);
	if (run->decoded || !(decode || flow->verdict.final) || !app_has_decoder(flow->verdict.app))
		return;
	const struct span span = {.unchecked = payload,
		.extent = (uint32_t)length,
		.half = (uint8_t)half,
		.flags = flow->l4 == IPPROTO_UDP ? SPAN_DATAGRAM : 0};

	run->decoded = decoder_feed(run->rig->classifier, flow->verdict.app, &flow->ends, &span,
			       &run->decoder_state, &run->sink) == DECODER_DONE;
}

static uint32_t read_number(const uint8_t *at, unsigned width, bool little)
{
	uint32_t value = 0;

	for (unsigned i = 0; i < width; i++)
		value = value << 8 | at[little ? width - 1 - i : i];
	return value;
}

static void put_number(uint8_t *at, unsigned width, bool little, uint32_t value)
{
	for (unsigned i = 0; i < width; i++, value >>= 8)
		at[little ? i : width - 1 - i] = (uint8_t)value;
}

// A number that says how many octets are behind it, or how many there are, is one of those that are
// left. Wide ones first: a narrow one may be their end.
static void agree(uint8_t *bytes, size_t was, size_t left)
{
	bool taken[LENGTHS_MAX] = {false};

	for (unsigned kind = 0; kind < 5; kind++) {
		unsigned width = kind < 2 ? 4 : kind < 4 ? 2 : 1;
		bool little = kind & 1;

		for (size_t at = 0; at + width <= left && at + width <= LENGTHS_MAX; at++) {
			uint32_t value = read_number(bytes + at, width, little);

			if (taken[at] || taken[at + width - 1] || value < was - left ||
				(value != was - at - width && value != was))
				continue;
			put_number(bytes + at, width, little, value - (uint32_t)(was - left));
			memset(taken + at, true, width);
		}
	}
}

static void feed_formed(struct run *run, const struct conversation *talk, unsigned half,
	const uint8_t *payload, size_t length)
{
	static uint8_t grown[2 * INPUT_MAX];
	size_t at = talk->at;

	if (talk->form == FORM_LONG) {
		memcpy(grown, payload, length);
		memset(grown + length, 0, at);
		feed(run, half, grown, length + at);
		return;
	}
	at = at < length ? at : length;
	if (talk->form == FORM_LEN) {
		memcpy(grown, payload, at);
		agree(grown, length, at);
		feed(run, half, grown, at);
		return;
	}
	feed(run, half, payload, at);
	if (talk->form == FORM_TWO)
		feed(run, half, payload + at, length - at);
}

static struct outcome classify(struct rig *rig, const struct conversation *talk)
{
	const uint8_t *bytes = talk->bytes, *at = bytes + 1, *end = bytes + talk->length;
	struct outcome outcome = {0};
	struct asked asked = {0};
	struct run run = {
		.rig = rig,
		.flow = rig_flow(rig, bytes[0] & 1 ? IPPROTO_UDP : IPPROTO_TCP, 40000,
			bytes[0] & 4 ? 53 : 50000),
		.decoder_state = CLASSIFY_NO_STATE,
		.sink = {.ctx = &outcome.learned,
			.expect = expect,
			.endpoint = endpoint,
			.name = name,
			.asked = &asked},
	};
	const struct classify_verdict *verdict = &run.flow.verdict;

	run.flow.midstream = bytes[0] & 2 && run.flow.l4 == IPPROTO_TCP;
	for (unsigned packet = 1; end - at >= 3; packet++) {
		size_t length = (size_t)at[1] << 8 | at[2], left = (size_t)(end - at) - 3;
		const uint8_t *payload = at + 3;
		unsigned half = at[0] & 1;

		length = length < left ? length : left;
		at = payload + length;
		if (packet == talk->formed)
			feed_formed(&run, talk, half, payload, length);
		else
			feed(&run, half, payload, length);
	}
	classify_end(rig->classifier, &run.decoder_state);
	outcome.app = verdict->confidence >= CONFIDENCE_PARTIAL ? verdict->app : APP_NONE;
	outcome.confidence = verdict->confidence;
	outcome.final = verdict->final;
	outcome.n_data_pkts = verdict->n_data_pkts;
	rig_end(&run.flow);
	return outcome;
}

static char letter(const struct outcome *base, const struct outcome *changed, unsigned n)
{
	unsigned lost = 0, other = 0, less = 0, learned = 0;

	for (unsigned i = 0; i < n; i++) {
		const struct outcome *one = &changed[i];

		lost += base->app && !one->app;
		other += one->app && one->app != base->app;
		less += one->confidence != base->confidence || one->final != base->final ||
			one->n_data_pkts != base->n_data_pkts;
		learned += one->learned != base->learned;
	}
	if (other)
		return '?';
	if (lost)
		return lost >= n ? '-' : "0123456789AB"[lost];
	return less ? '~' : learned ? '+' : '.';
}

static void put_octets(FILE *out, struct rig *rig, struct conversation *talk, size_t at, size_t n)
{
	struct outcome base = classify(rig, talk), changed[CHANGES];

	for (size_t i = at; i < at + n; i++) {
		uint8_t was = talk->bytes[i];
		const uint8_t others[CHANGES] = {(uint8_t)(was + 1), (uint8_t)(was - 1), 0, 0xff,
			was ^ 0x01, was ^ 0x02, was ^ 0x04, was ^ 0x08, was ^ 0x10, was ^ 0x20,
			was ^ 0x40, was ^ 0x80};

		for (unsigned k = 0; k < CHANGES; k++) {
			talk->bytes[i] = others[k];
			changed[k] = classify(rig, talk);
		}
		talk->bytes[i] = was;
		fputc(letter(&base, changed, CHANGES), out);
	}
	fputc('\n', out);
}

static char form_letter(struct rig *rig, struct conversation *talk, const struct outcome *base,
	enum form form, size_t at)
{
	struct outcome changed;

	talk->form = form;
	talk->at = at;
	changed = classify(rig, talk);
	return letter(base, &changed, 1);
}

// A line of letters for each length up to `n`, by `form`.
static void put_form(char *line, struct rig *rig, struct conversation *talk,
	const struct outcome *base, enum form form, size_t n)
{
	for (size_t at = 1; at <= n; at++)
		*line++ = form_letter(rig, talk, base, form, at);
	*line = '\0';
}

static void put_forms(FILE *out, struct rig *rig, struct conversation *talk,
	const struct outcome *base, char side, size_t n)
{
	char cut[OCTETS_MAX + 1], line[OCTETS_MAX + 1];

	put_form(cut, rig, talk, base, FORM_CUT, n);
	fprintf(out, " %c cut %s\n", side, cut);
	put_form(line, rig, talk, base, FORM_LEN, n);
	if (strcmp(line, cut) != 0) // there are lengths in it
		fprintf(out, " %c len %s\n", side, line);
	if (!(talk->bytes[0] & 1)) { // no datagram
		put_form(line, rig, talk, base, FORM_TWO, n);
		fprintf(out, " %c two %s\n", side, line);
	}
	fprintf(out, " %c long ", side);
	for (unsigned i = 0; i < sizeof(longer) / sizeof(longer[0]); i++)
		fputc(form_letter(rig, talk, base, FORM_LONG, longer[i]), out);
	fputc('\n', out);
}

static size_t packet_bytes(const struct conversation *talk, size_t at)
{
	size_t length = (size_t)talk->bytes[at + 1] << 8 | talk->bytes[at + 2];
	size_t left = talk->length - at - 3;

	return 3 + (length < left ? length : left);
}

// As a whole: of the other half, picked up late or from its start, over the other protocol, of the
// other port, without its first packet, and with that twice.
static void put_whole(
	FILE *out, struct rig *rig, const struct conversation *talk, const struct outcome *base)
{
	static struct conversation other;
	struct outcome changed;
	size_t first = packet_bytes(talk, 1);

	fprintf(out, " whole ");
	for (unsigned i = 0; i < 6; i++) {
		other = *talk;
		for (size_t at = 1; i == 0 && at + 3 <= other.length;
			at += packet_bytes(&other, at))
			other.bytes[at] ^= 1;
		if (i >= 1 && i < 4)
			other.bytes[0] ^= i == 1 ? 2 : i == 2 ? 1 : 4;
		if (i == 4) {
			other.length -= first;
			memmove(other.bytes + 1, talk->bytes + 1 + first, other.length - 1);
		}
		if (i == 5 && other.length + first <= INPUT_MAX) {
			memcpy(other.bytes + 1 + first, talk->bytes + 1, talk->length - 1);
			other.length += first;
		}
		changed = classify(rig, &other);
		fputc(letter(base, &changed, 1), out);
	}
	fputc('\n', out);
}

static void put_conversation(
	FILE *out, struct rig *rig, const char *name, struct conversation *talk)
{
	struct outcome base = classify(rig, talk);
	size_t at = 1;

	fprintf(out, "%s: %s", name, base.app ? app_get(base.app)->name : "unknown");
	if (base.app)
		fprintf(out, " %s%s, packet %u", confidence_word(base.confidence),
			base.final ? "" : " so far", base.n_data_pkts);
	if (base.learned)
		fprintf(out, ", learned %04x", (unsigned)(base.learned >> 48));
	fputc('\n', out);
	put_whole(out, rig, talk, &base);
	for (unsigned packet = 1; packet <= PACKETS_MAX && at + 3 <= talk->length; packet++) {
		size_t bytes = packet_bytes(talk, at);
		size_t n = bytes - 3 < OCTETS_MAX ? bytes - 3 : OCTETS_MAX;
		char side = talk->bytes[at] & 1 ? '<' : '>';

		fprintf(out, " %c     ", side);
		put_octets(out, rig, talk, at + 3, n);
		talk->formed = packet;
		put_forms(out, rig, talk, &base, side, n);
		talk->formed = 0;
		at += bytes;
	}
}

static bool read_conversation(const char *file, struct conversation *talk)
{
	char path[512];
	FILE *in;

	snprintf(path, sizeof(path), CORPUS "/%s", file);
	in = fopen(path, "rb");
	assert_non_null(in);
	talk->formed = 0;
	talk->length = fread(talk->bytes, 1, sizeof(talk->bytes), in);
	fclose(in);
	return talk->length > 4 && !(talk->bytes[0] & 8); // 8: of a policy's applications
}

static int digit(char c)
{
	static const char digits[] = "0123456789abcdef";
	const char *at = c ? strchr(digits, c) : NULL;

	return at ? (int)(at - digits) : -1;
}

// ">16030100 <..." behind the name: as the corpus has it.
static void parse_conversation(char *words, struct conversation *talk)
{
	char *word;

	*talk = (struct conversation){.length = 1};
	while ((word = strsep(&words, " \n"))) {
		uint8_t *packet = talk->bytes + talk->length;
		size_t n = 0;

		talk->bytes[0] |= !strcmp(word, "udp")         ? 1
				  : !strcmp(word, "midstream") ? 2
				  : !strcmp(word, "dns")       ? 4
							       : 0;
		if (*word != '>' && *word != '<')
			continue;
		packet[0] = *word++ == '<';
		for (; digit(word[0]) >= 0 && digit(word[1]) >= 0; word += 2)
			packet[3 + n++] = (uint8_t)(digit(word[0]) << 4 | digit(word[1]));
		assert_int_equal(*word, 0);
		packet[1] = (uint8_t)(n >> 8);
		packet[2] = (uint8_t)n;
		talk->length += 3 + n;
	}
}

static void put_listed(FILE *out, struct rig *rig, struct conversation *talk)
{
	char *line = NULL;
	size_t room = 0;
	FILE *in = fopen(LISTED, "r");

	assert_non_null(in);
	while (getline(&line, &room, in) > 0) {
		char *words = line, *name = strsep(&words, " ");

		if (*name == '#')
			continue;
		parse_conversation(words, talk);
		put_conversation(out, rig, name, talk);
	}
	free(line);
	fclose(in);
}

static int visible(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

static int by_octets(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

// The first line that differs, and the conversation that it is of.
static void tell_difference(const char *is, const char *wanted)
{
	const char *head = is;

	for (;;) {
		size_t n = strcspn(is, "\n");

		if (*is != ' ')
			head = is;
		if (!is[n] || strncmp(is, wanted, n + 1) != 0)
			break;
		is += n + 1;
		wanted += n + 1;
	}
	fail_msg("%.*s\n  is  %.*s\n  was %.*s\n"
		 "if that is meant, or its conversation is new: SLUICE_WRITE=1 writes the file "
		 "again",
		(int)strcspn(head, "\n"), head, (int)strcspn(is, "\n"), is,
		(int)strcspn(wanted, "\n"), wanted);
}

static char *whole_file(const char *path)
{
	size_t room = 1 << 20, n;
	char *text = calloc(1, room);
	FILE *in = fopen(path, "r");

	assert_non_null(text);
	assert_non_null(in);
	n = fread(text, 1, room - 1, in);
	assert_true(n < room - 1);
	fclose(in);
	return text;
}

static void octets_that_matter(void **state)
{
	static struct conversation talk;
	struct rig *rig = rig_new();
	struct dirent **files;
	char *text = NULL, *wanted;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	int n = scandir(CORPUS, &files, visible, by_octets);

	(void)state;
	assert_true(n > 100);
	for (int i = 0; i < n; i++) {
		if (read_conversation(files[i]->d_name, &talk))
			put_conversation(out, rig, files[i]->d_name, &talk);
		free(files[i]);
	}
	free(files);
	put_listed(out, rig, &talk);
	fclose(out);
	rig_free(rig);
	if (getenv("SLUICE_WRITE")) {
		out = fopen(EXPECTED, "w");
		assert_non_null(out);
		fwrite(text, 1, size, out);
		fclose(out);
	}
	wanted = whole_file(EXPECTED);
	if (strcmp(text, wanted) != 0)
		tell_difference(text, wanted);
	free(wanted);
	free(text);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(octets_that_matter),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
