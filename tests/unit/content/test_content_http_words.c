// SPDX-License-Identifier: BSD-3-Clause
// Words of requests that are changed on their way: what a server gets of them, in whatever pieces
// they come, where nothing can be changed that has come before the piece at hand.
#include "content/decoders.h"
#include "content/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MESSAGE 1024
#define PIECES  (MESSAGE + 1)

static struct {
	struct content_memory *memory;
	const struct content_decoder *decoder;
	void *state;
	char wire[MESSAGE]; // as it leaves
	uint64_t from, to;  // of the piece at hand
	uint64_t at64[2];
	unsigned parts, codings, late, unsure, notes, asked_parts;
} rig;

static void on_asked(void *ctx, const struct content_file *file)
{
	(void)ctx;
	rig.asked_parts += file->partial;
}

static enum content_want on_file(void *ctx, const struct content_file *file)
{
	(void)ctx, (void)file;
	return CONTENT_WANT_NAME;
}

static void on_id(void *ctx, const struct content_id *id, unsigned half)
{
	(void)ctx, (void)id, (void)half;
}

static void on_bytes(void *ctx, uint32_t id, uint64_t at, const uint8_t *bytes, uint32_t length)
{
	(void)ctx, (void)id, (void)at, (void)bytes, (void)length;
}

static void on_end(void *ctx, uint32_t id, enum content_end end, uint64_t ends64)
{
	(void)ctx, (void)id, (void)end, (void)ends64;
}

static void on_message(void *ctx, const struct content_message *message)
{
	(void)ctx, (void)message;
}

static bool on_word(void *ctx, const struct content_word *word)
{
	(void)ctx;
	assert_int_equal(word->half, HALF_C2S);
	rig.unsure += word->unsure;
	if (word->unsure)
		return false;
	if (word->last64 < rig.from || word->last64 >= rig.to) {
		rig.late++;
		return false;
	}
	rig.parts += word->kind == CONTENT_WORD_PART;
	rig.codings += word->kind == CONTENT_WORD_CODING;
	assert_int_not_equal(rig.wire[word->last64], word->other);
	rig.wire[word->last64] = (char)word->other;
	return true;
}

static void on_note(void *ctx, enum content_note note, unsigned half, uint64_t at64)
{
	(void)ctx, (void)note, (void)half, (void)at64;
	rig.notes++;
}

static const struct content_sink sink = {
	on_asked, on_file, on_id, on_bytes, on_end, on_message, on_word, on_note, NULL};

static void begin_with(const struct content_decoder *decoder)
{
	struct content_memory *memory = rig.memory;

	memset(&rig, 0, sizeof(rig));
	rig.memory = memory ? memory : content_memory_new(1, -1);
	rig.decoder = decoder;
	rig.state = calloc(1, decoder->state_bytes);
	assert_non_null(rig.state);
}

static void begin(void)
{
	begin_with(&content_http);
}

static void end(void)
{
	struct content_turn turn = {.sink = &sink, .memory = rig.memory};

	struct content_memory_use use;

	rig.decoder->over(rig.state, &turn);
	free(rig.state);
	content_memory_look(rig.memory, &use);
	assert_int_equal(use.used, 0);
}

static void feed(unsigned half, const char *bytes, size_t length, uint8_t flags)
{
	struct content_turn turn = {.sink = &sink, .memory = rig.memory, .output = UINT32_MAX};
	char *exact = malloc(length);
	const struct span span = {.offset64 = rig.at64[half],
		.unchecked = (uint8_t *)exact,
		.extent = (uint32_t)length,
		.half = (uint8_t)half,
		.flags = flags};

	assert_non_null(exact);
	memcpy(exact, bytes, length);
	if (half == HALF_C2S) {
		rig.from = rig.at64[half];
		rig.to = rig.from + length;
		memcpy(rig.wire + rig.from, bytes, length);
	}
	enum content_fed fed = rig.decoder->feed(rig.state, &span, &turn);

	assert_true(fed == CONTENT_FED || rig.decoder == &content_http_first);
	rig.at64[half] += length;
	free(exact);
}

// `cuts`: a bit for each place, from the second byte on, at which a piece begins.
static void send_cut(const char *text, const bool cuts[MESSAGE])
{
	size_t length = strlen(text), from = 0;

	assert_true(length < MESSAGE);
	for (size_t to = 1; to <= length; to++) {
		if (to < length && !cuts[to])
			continue;
		feed(HALF_C2S, text + from, to - from, 0);
		from = to;
	}
}

static void in_one_piece(const char *text, const char *leaves)
{
	const bool none[MESSAGE] = {0};

	begin();
	send_cut(text, none);
	if (strcmp(rig.wire, leaves)) {
		print_error("sent:\n%s\nleft:\n%s\n", text, rig.wire);
		fail();
	}
	assert_int_equal(rig.late, 0);
	end();
}

#define HEAD "GET /setup.exe HTTP/1.1\r\nHost: h.example\r\n"

static const struct {
	const char *sent, *leaves;
} requests[] = {
	{HEAD "Range: bytes=1-\r\n\r\n", HEAD "Rangx: bytes=1-\r\n\r\n"},
	{HEAD "RANGE:bytes=1-\r\nIf-Range: \"x\"\r\n\r\n",
		HEAD "RANGx:bytes=1-\r\nIf-Range: \"x\"\r\n\r\n"},
	{HEAD "range : bytes=1-\r\n\r\n", HEAD "rangx : bytes=1-\r\n\r\n"},
	{HEAD "rAnGe\t \t:\tbytes=1-\r\n\r\n", HEAD "rAnGx\t \t:\tbytes=1-\r\n\r\n"},
	{HEAD "Range: bytes=1-\r\nRange: bytes=2-\r\nX: y\r\nrange: bytes=3-\r\n\r\n",
		HEAD "Rangx: bytes=1-\r\nRangx: bytes=2-\r\nX: y\r\nrangx: bytes=3-\r\n\r\n"},
	{HEAD "Request-Range: bytes=1-\r\n\r\n", HEAD "Request-Rangx: bytes=1-\r\n\r\n"},
	{HEAD "Range: bytes=1-\n\n", HEAD "Rangx: bytes=1-\n\n"},
	{"\r\n" HEAD "Range:\r\n\r\n" HEAD "Range: bytes=1-\r\n\r\n",
		"\r\n" HEAD "Rangx:\r\n\r\n" HEAD "Rangx: bytes=1-\r\n\r\n"},
	// neither names that begin or end so, nor values, nor bodies
	{HEAD "Range-Unit: x\r\nX-Range: y\r\nRanges: Range: z\r\nX: Range\r\n\r\n",
		HEAD "Range-Unit: x\r\nX-Range: y\r\nRanges: Range: z\r\nX: Range\r\n\r\n"},
	{"POST /Range: HTTP/1.1\r\nContent-Length: 18\r\n\r\n\r\nRange: bytes=1-\r\n",
		"POST /Range: HTTP/1.1\r\nContent-Length: 18\r\n\r\n\r\nRange: bytes=1-\r\n"},
	{"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"
	 "9\r\n\r\nRange: \r\n0\r\nRange: x\r\n\r\n" HEAD "Range: x\r\n\r\n",
		"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"
		"9\r\n\r\nRange: \r\n0\r\nRange: x\r\n\r\n" HEAD "Rangx: x\r\n\r\n"},
	{HEAD "Accept-Encoding: gzip, deflate, br, zstd, identity, x-gzip\r\n\r\n",
		HEAD "Accept-Encoding: gzip, deflate, br, zstd, identity, x-gzip\r\n\r\n"},
	{HEAD "accept-encoding:compress,x-compress;q=0.5,gzip;q=1.0, exi ;q=0,pack200-gzip\r\n\r\n",
		HEAD "accept-encoding:compresx,x-compresx;q=0.5,gzip;q=1.0, exx ;q=0,"
		     "pack200-gzix\r\n\r\n"},
	{HEAD "Accept-Encoding: dcb,dcz, *;q=0.1, identity;q=0\r\n\r\n",
		HEAD "Accept-Encoding: dcx,dcx, x;q=0.1, identity;q=0\r\n\r\n"},
	{HEAD "Accept-Encoding: *\r\n\r\n", HEAD "Accept-Encoding: x\r\n\r\n"},
	{HEAD "Accept-Encoding: lynx, GZip, Br;Q=1;x=compress, gzip2\r\n\r\n",
		HEAD "Accept-Encoding: lyny, GZip, Br;Q=1;x=compress, gzipx\r\n\r\n"},
	{HEAD "Accept-Encoding: a-very-long-word-that-nobody-knows,,gzip br compress\r\n\r\n", HEAD
		"Accept-Encoding: a-very-long-word-that-nobody-knowx,,gzip br compresx\r\n\r\n"},
	{HEAD "Accept-Encoding: compress\r\nAccept-Encoding: compress\r\n\r\n",
		HEAD "Accept-Encoding: compresx\r\nAccept-Encoding: compresx\r\n\r\n"},
	{HEAD "TE: trailers, deflate;q=0.5, compress, chunked\r\n\r\n",
		HEAD "TE: trailers, deflate;q=0.5, compresx, chunked\r\n\r\n"},
	{HEAD "Accept-Encoding: chunked\r\nAccept: compress\r\nAccept-Encodings: exi\r\n\r\n", HEAD
		"Accept-Encoding: chunkex\r\nAccept: compress\r\nAccept-Encodings: exi\r\n\r\n"},
};
#define REQUESTS (sizeof(requests) / sizeof(*requests))

static void words_are_changed_by_one_byte(void **state)
{
	(void)state;
	for (unsigned i = 0; i < REQUESTS; i++)
		in_one_piece(requests[i].sent, requests[i].leaves);
}

// A field that a server would obey, in `text`.
static bool asks_part(const char *text)
{
	for (const char *at = text; (at = strchr(at, '\n')); at++)
		if (!strncasecmp(at + 1, "range", 5) && strchr(" \t:", at[6]))
			return true;
	return strcasestr(text, "\nrequest-range") != NULL;
}

static bool is_a_coding_that_is_not_decoded(const char *word, size_t length)
{
	static const char *const codings[] = {"compress", "x-compress", "exi", "pack200-gzip",
		"dcb", "dcz", "*", "lynx", "gzip2", "a-very-long-word-that-nobody-knows"};

	for (unsigned i = 0; i < sizeof(codings) / sizeof(*codings); i++)
		if (strlen(codings[i]) == length && !strncasecmp(word, codings[i], length))
			return true;
	return false;
}

static bool asks_coding(const char *text)
{
	const char *at = text;

	while ((at = strcasestr(at, "\naccept-encoding:"))) {
		at += strlen("\naccept-encoding:");
		while (*at != '\r') {
			size_t length = strcspn(at, ",; \r");

			if (is_a_coding_that_is_not_decoded(at, length))
				return true;
			at += length;
			if (*at == ';')
				at += strcspn(at, ",\r");
			at += strspn(at, ", ");
		}
	}
	return false;
}

// What a body is stays so; of heads only letters of words are changed.
static void is_sound(const char *sent)
{
	bool post = !strncmp(sent, "POST", 4);

	assert_int_equal(strlen(sent), strlen(rig.wire));
	if (!post && (asks_part(rig.wire) || asks_coding(rig.wire))) {
		print_error("sent:\n%s\nleft:\n%s\n", sent, rig.wire);
		fail();
	}
	for (size_t i = 0; sent[i]; i++)
		assert_true(sent[i] == rig.wire[i] || ((rig.wire[i] == 'x' || rig.wire[i] == 'y') &&
							      !strchr("\r\n:,;= \t", sent[i])));
	assert_int_equal(rig.asked_parts, 0);
}

static void every_cut_has_them_changed(void **state)
{
	(void)state;
	for (unsigned i = 0; i < REQUESTS; i++)
		for (size_t cut = 1; cut < strlen(requests[i].sent); cut++) {
			bool cuts[MESSAGE] = {0};

			cuts[cut] = true;
			begin();
			send_cut(requests[i].sent, cuts);
			is_sound(requests[i].sent);
			assert_int_equal(rig.late, 0);
			end();
		}
}

static void so_have_two_cuts_and_pieces_of_every_size(void **state)
{
	uint64_t seed = 1;
	(void)state;

	for (unsigned i = 0; i < REQUESTS; i++)
		for (unsigned n = 0; n < 400; n++) {
			bool cuts[MESSAGE] = {0};

			for (size_t at = 1; at < strlen(requests[i].sent); at++) {
				seed = seed * 6364136223846793005u + 1442695040888963407u;
				cuts[at] = n < 20 ? at % (n + 1) == 0 : seed >> 33 & 1;
			}
			begin();
			send_cut(requests[i].sent, cuts);
			is_sound(requests[i].sent);
			assert_int_equal(rig.late, 0);
			end();
		}
}

// A beginning of a word that is known stays, as it is none by itself; what is decoded stays in
// every cut.
static void what_is_decoded_stays(void **state)
{
	static const char sent[] = HEAD "Accept-Encoding: gzip, deflate;q=0.5, br, zstd, x-gzip, "
					"identity;q=0\r\nTE: trailers, gzip, chunked\r\n\r\n";
	(void)state;

	for (size_t size = 1; size < 12; size++) {
		bool cuts[MESSAGE];

		for (size_t at = 0; at < MESSAGE; at++)
			cuts[at] = at % size == 0;
		begin();
		send_cut(sent, cuts);
		assert_string_equal(rig.wire, sent);
		end();
	}
}

// A name that goes on behind the cut becomes one that nobody knows, too: it is not known then that
// it goes on.
static void a_name_that_is_cut_there_is_changed(void **state)
{
	static const char sent[] = HEAD "Range-Unit: items\r\n\r\n";
	bool cuts[MESSAGE] = {0};
	(void)state;

	cuts[strlen(HEAD "Range")] = true;
	begin();
	send_cut(sent, cuts);
	assert_string_equal(rig.wire, HEAD "Rangx-Unit: items\r\n\r\n");
	end();
}

// The decoder goes on as the server: it has not been asked for a part.
static void a_part_behind_it_is_what_nobody_asked_for(void **state)
{
	static const char part[] = "HTTP/1.1 206 Partial\r\nContent-Length: 1\r\n"
				   "Content-Range: bytes 1-1/2\r\n\r\nx";
	const bool none[MESSAGE] = {0};
	(void)state;

	begin();
	send_cut(HEAD "Range: bytes=1-\r\n\r\n", none);
	assert_int_equal(rig.parts, 1);
	feed(HALF_S2C, part, strlen(part), 0);
	assert_int_equal(rig.notes, 1);
	end();
}

// What is found behind lost messages may be a part of a body: it is reported, and the sink is told.
static void what_was_looked_for_is_unsure(void **state)
{
	static const char sent[] = "some bytes of a body\r\n" HEAD "Range: bytes=1-\r\n\r\n" HEAD
				   "Range: bytes=1-\r\n\r\n";
	(void)state;

	begin();
	feed(HALF_C2S, sent, strlen(sent), SPAN_MIDSTREAM);
	assert_int_equal(rig.unsure, 1);
	assert_int_equal(rig.parts, 1); // of the one behind it
	end();
	begin(); // met midway, but where a request begins
	feed(HALF_C2S, sent + 22, strlen(sent + 22), SPAN_MIDSTREAM);
	assert_int_equal(rig.unsure, 0);
	assert_int_equal(rig.parts, 2);
	end();
}

// It looks at the head of the first request alone, and is over behind it.
static void a_first_request_is_changed_before_anybody_knows_what_it_is(void **state)
{
	(void)state;
	for (unsigned i = 0; i < REQUESTS; i++) {
		const char *sent = requests[i].sent, *ends = strstr(sent, "\r\n\r\n");
		size_t head = ends ? (size_t)(ends - sent) : strlen(sent);

		for (size_t cut = 1; cut <= strlen(sent); cut++) {
			bool cuts[MESSAGE] = {0};

			cuts[cut] = true;
			begin_with(&content_http_first);
			send_cut(sent, cuts);
			if (cut >= head || cut < 3) // no word is cut
				assert_memory_equal(rig.wire, requests[i].leaves, head);
			assert_string_equal(rig.wire + head, sent + head);
			assert_int_equal(rig.late + rig.notes, 0);
			rig.wire[head] = 0;
			assert_false(asks_part(rig.wire));
			end();
		}
	}
	begin_with(&content_http_first); // what is missing ends it
	feed(HALF_C2S, HEAD, strlen(HEAD), 0);
	rig.at64[HALF_C2S]++;
	feed(HALF_C2S, "Range: x\r\n", 10, 0);
	assert_int_equal(rig.parts, 0);
	end();
	begin_with(&content_http_first); // and what the server says
	feed(HALF_C2S, HEAD, strlen(HEAD), 0);
	feed(HALF_S2C, "HTTP/1.1 400 No\r\n\r\n", 19, 0);
	feed(HALF_C2S, "Range: x\r\n", 10, 0);
	assert_int_equal(rig.parts, 0);
	end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(words_are_changed_by_one_byte),
		cmocka_unit_test(every_cut_has_them_changed),
		cmocka_unit_test(so_have_two_cuts_and_pieces_of_every_size),
		cmocka_unit_test(what_is_decoded_stays),
		cmocka_unit_test(a_name_that_is_cut_there_is_changed),
		cmocka_unit_test(a_part_behind_it_is_what_nobody_asked_for),
		cmocka_unit_test(what_was_looked_for_is_unsure),
		cmocka_unit_test(a_first_request_is_changed_before_anybody_knows_what_it_is),
	};

	return cmocka_run_group_tests_name("content_http_words", tests, NULL, NULL);
}
