// SPDX-License-Identifier: BSD-3-Clause
// What each decoder learns from the conversations of golden/decoder_conversations.txt, and which of
// their octets that rests on: it is decoded again with one octet changed, and with less of it. What
// is learned, and a letter for each octet and length, are held against decoder_octets.txt:
//
//   .  the same, whatever the octet is     1-9, A-C  so many of the changes teach something else
//
// "cut" (+: something else) leaves out less and less of the end, "pieces" the stream in pieces of 1
// to 16 octets, which should teach the same. The number behind "else" sums up what all of these
// taught. SLUICE_WRITE=1 writes the file again; its diff is to be meant.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "classify/classify.h"
#include "lib/classify/canned_requests.h"
#include "pipeline/vocab/address.h"

#define TALK_MAX 4096
#define CHANGES  12

struct talk {
	const char *app;
	bool datagram, v6;
	uint8_t bytes[TALK_MAX], half[TALK_MAX]; // of each octet
	size_t n;
	size_t piece; // at most so many octets at a time; 0: all that one side says
};

struct learned {
	char text[16384];
	size_t n;
	struct asked asked;
};

static struct classifier *classifier;

static void put(struct learned *learned, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
static void put(struct learned *learned, const char *format, ...)
{
	size_t room = sizeof(learned->text) - learned->n;
	va_list arguments;
	int n;

	va_start(arguments, format);
	n = vsnprintf(learned->text + learned->n, room, format, arguments);
	va_end(arguments);
	learned->n += (size_t)n < room ? (size_t)n : room - 1;
}

static void put_octets(struct learned *learned, const void *octets, size_t n)
{
	for (size_t i = 0; i < n; i++)
		put(learned, "%02x", ((const uint8_t *)octets)[i]);
}

static void put_address(struct learned *learned, const uint8_t address[16])
{
	char text[INET6_ADDRSTRLEN];

	put(learned, " %s", inet_ntop(AF_INET6, address, text, sizeof(text)));
}

static void put_label(struct learned *learned, const struct transfer_label *label)
{
	put(learned, " '%s' what %u half %u%s%s '%s' size %llu from %llu\n", label->user,
		label->what, label->half, label->begins_cut ? " cut" : "",
		label->coded ? " coded" : "", label->file, (unsigned long long)label->size,
		(unsigned long long)label->range_from);
}

static void endpoint(void *ctx, const struct learned_endpoint *of)
{
	put(ctx, "   endpoint");
	put_address(ctx, of->address);
	put(ctx, " %u proto %u from %u half %u secret ", of->port, of->l4_proto, of->from,
		of->half);
	put_octets(ctx, &of->secret, sizeof(of->secret));
	put(ctx, "\n");
}

static void name(void *ctx, const struct learned_name *of)
{
	put(ctx, "   name %.*s", (int)of->length, of->name);
	if (of->alias)
		put(ctx, " alias %.*s", (int)of->alias_length, of->alias);
	put_address(ctx, of->address);
	put(ctx, " ttl %u\n", of->ttl_s);
}

static void expect(void *ctx, const struct expectation *of)
{
	put(ctx, "   expect");
	put_address(ctx, of->address);
	put_address(ctx, of->peer);
	put(ctx, " %u %s proto %u as %u%s ttl %u", of->port, app_get(of->app)->name, of->l4_proto,
		of->as, of->amends ? " amends" : "", of->ttl_s);
	put_label(ctx, &of->label);
}

static void transfer(void *ctx, const struct transfer_label *label)
{
	put(ctx, "   transfer");
	put_label(ctx, label);
}

static void decode(const struct talk *talk, size_t n, struct learned *learned)
{
	const struct decoder_sink sink = {.ctx = learned,
		.expect = expect,
		.endpoint = endpoint,
		.name = name,
		.transfer = transfer,
		.asked = &learned->asked};
	struct flow_ends ends = {.port = {40000, 50000}};
	uint32_t state = CLASSIFY_NO_STATE;
	uint64_t offset[2] = {0};

	for (unsigned half = 0; half < 2; half++) {
		memcpy(ends.address[half], "\0\0\0\0\0\0\0\0\0\0\xff\xff\x0a\0\0\7", 16);
		if (talk->v6)
			memset(ends.address[half], 0x20, 12);
		ends.address[half][15] = (uint8_t)(7 + 15 * half);
	}
	learned->n = 0;
	learned->text[0] = '\0';
	canned_requests(classifier, talk->app, &ends, &learned->asked);
	for (size_t at = 0, here; at < n; at += here) {
		for (here = 1; at + here < n && talk->half[at + here] == talk->half[at];)
			if (++here == talk->piece + 1) {
				here--;
				break;
			}
		uint8_t *exact = malloc(here); // of exact size, for AddressSanitizer

		assert_non_null(exact);
		memcpy(exact, talk->bytes + at, here);
		const struct span span = {.offset64 = offset[talk->half[at]],
			.unchecked = exact,
			.extent = (uint32_t)here,
			.half = talk->half[at],
			.flags = talk->datagram ? SPAN_DATAGRAM : 0};
		int rc = decoder_feed(classifier, app_find(talk->app), &ends, &span, &state, &sink);

		free(exact);
		offset[talk->half[at]] += here;
		if (rc == DECODER_DONE)
			break;
	}
	classify_end(classifier, &state);
}

static uint64_t others; // what all others have taught

static bool differs(const struct talk *talk, size_t n, const struct learned *base)
{
	static struct learned now;

	decode(talk, n, &now);
	for (size_t i = 0; i < now.n; i++)
		others = (others ^ (uint8_t)now.text[i]) * 1099511628211u;
	return now.n != base->n || memcmp(now.text, base->text, now.n) != 0;
}

static void put_talk(FILE *out, const char *head, struct talk *talk)
{
	static struct learned base;

	others = 14695981039346656037u;
	decode(talk, talk->n, &base);
	fprintf(out, "%s\n%s octets ", head, base.text);
	for (size_t i = 0; i < talk->n; i++) {
		uint8_t was = talk->bytes[i];
		const uint8_t changed[CHANGES] = {(uint8_t)(was + 1), (uint8_t)(was - 1), 0, 0xff,
			was ^ 0x01, was ^ 0x02, was ^ 0x04, was ^ 0x08, was ^ 0x10, was ^ 0x20,
			was ^ 0x40, was ^ 0x80};
		unsigned differ = 0;

		for (unsigned k = 0; k < CHANGES; k++) {
			talk->bytes[i] = changed[k];
			differ += differs(talk, talk->n, &base);
		}
		talk->bytes[i] = was;
		fputc(".123456789ABC"[differ], out);
	}
	fprintf(out, "\n cut    ");
	for (size_t n = 1; n <= talk->n; n++)
		fputc(differs(talk, n, &base) ? '+' : '.', out);
	if (!talk->datagram) {
		fprintf(out, "\n pieces ");
		for (talk->piece = 1; talk->piece <= 16; talk->piece++)
			fputc(differs(talk, talk->n, &base) ? '+' : '.', out);
		talk->piece = 0;
	}
	fprintf(out, "\n else   %08x\n", (unsigned)(others ^ others >> 32));
}

static unsigned digit(char c)
{
	static const char digits[] = "0123456789abcdef";
	const char *at = c ? strchr(digits, c) : NULL;

	assert_non_null(at);
	return (unsigned)(at - digits);
}

// "app udp >160301 <00": who speaks, and what.
static void parse_talk(char *words, struct talk *talk)
{
	char *word;

	talk->app = strsep(&words, " ");
	talk->datagram = talk->v6 = false;
	talk->n = talk->piece = 0;
	while ((word = strsep(&words, " \n"))) {
		uint8_t half = *word == '<';

		talk->datagram |= !strcmp(word, "udp");
		talk->v6 |= !strcmp(word, "v6");
		if (*word != '>' && *word != '<')
			continue;
		for (word++; *word; word += 2) {
			assert_true(talk->n < TALK_MAX);
			talk->half[talk->n] = half;
			talk->bytes[talk->n++] = (uint8_t)(digit(word[0]) << 4 | digit(word[1]));
		}
	}
}

static char *whole_file(const char *path)
{
	char *text = NULL;
	size_t room = 0;
	FILE *in = fopen(path, "r");

	assert_non_null(in);
	assert_true(getdelim(&text, &room, 0, in) > 0);
	fclose(in);
	return text;
}

// The first line that differs, and what it is of.
static void compare(const char *is, const char *wanted)
{
	const char *head = is;

	while (*is) {
		size_t n = strcspn(is, "\n");

		if (*is != ' ')
			head = is;
		if (strncmp(is, wanted, n + 1) != 0)
			fail_msg("%.*s\n  is  %.*s\n  was %.*s\nif that is meant, or it is new: "
				 "SLUICE_WRITE=1 writes the file again",
				(int)strcspn(head, "\n"), head, (int)n, is,
				(int)strcspn(wanted, "\n"), wanted);
		is += n + 1;
		wanted += n + 1;
	}
	assert_int_equal(*wanted, 0);
}

static void what_decoders_learn(void **state)
{
	static struct talk talk;
	char *listed = whole_file(LISTED), *lines = listed, *line, *text = NULL, *wanted;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	(void)state;
	classifier = classifier_new(4, 0, -1);
	assert_non_null(classifier);
	while ((line = strsep(&lines, "\n"))) {
		const char *head = strsep(&line, " ");

		if (!*head || *head == '#')
			continue;
		parse_talk(line, &talk);
		put_talk(out, head, &talk);
	}
	fclose(out);
	assert_int_equal(classifier_states_free(classifier), classifier_states_max(classifier));
	classifier_free(classifier);
	free(listed);
	if (getenv("SLUICE_WRITE")) {
		out = fopen(EXPECTED, "w");
		assert_non_null(out);
		fwrite(text, 1, size, out);
		fclose(out);
	}
	wanted = whole_file(EXPECTED);
	compare(text, wanted);
	free(wanted);
	free(text);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_decoders_learn),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
