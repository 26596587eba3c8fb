// SPDX-License-Identifier: BSD-3-Clause
// What is bounded: heads, lines, requests without an answer, the search for a message, and the
// memory of all of it.
#include "content/decoders.h"
#include "content/memory.h"
#include "lib/content/conversation.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define HEAD_BYTES   (256u << 10)
#define SEARCH_BYTES (1u << 20)
#define RESPONSE     "HTTP/1.1 200 OK\r\n"

static uint8_t *filled(const char *with, uint32_t length)
{
	size_t n = strlen(with);
	uint8_t *bytes = malloc(length);

	assert_non_null(bytes);
	for (uint32_t i = 0; i < length; i++)
		bytes[i] = (uint8_t)with[i % n];
	return bytes;
}

static void check_filled(const char *name, unsigned half, const char *before, const char *with,
	uint32_t length, const char *after, const char *expected)
{
	uint8_t *bytes = filled(with, length);
	const struct said parts[] = {SAID_BYTES(half, 0, (uint32_t)strlen(before), before),
		SAID_BYTES(half, 0, length, bytes),
		SAID_BYTES(half, 0, (uint32_t)strlen(after), after)};
	struct conversation conversation = {.name = name, .expected = expected};
	unsigned n = 0;

	for (unsigned i = 0; i < 3; i++)
		if (parts[i].length)
			conversation.said[n++] = parts[i];
	conversations_check(&content_http, &conversation, 1);
	free(bytes);
}

static void heads_have_an_end(void **state)
{
	const uint32_t head = HEAD_BYTES - sizeof(RESPONSE "\r\n\r\n") + 1;

	(void)state;
	check_filled("a line that is not needed", HALF_S2C, RESPONSE, "X", HEAD_BYTES, "",
		"note s2c head_too_long @262144\n");
	check_filled("lines that are not needed", HALF_C2S, "GET / HTTP/1.1\r\n", "X: y\r\n",
		HEAD_BYTES, "", "note c2s head_too_long @262144\n");
	check_filled("the longest head", HALF_S2C, RESPONSE, "X:", head, "\r\n\r\nbody",
		"file 1 s2c none\nend 1 TRUNCATED 262144+4 body\n");
	check_filled("a head that is one byte longer", HALF_S2C, RESPONSE, "X:", head + 1,
		"\r\n\r\nbody", "note s2c head_too_long @262144\n");
	check_filled("a needed line", HALF_S2C, RESPONSE "Content-Type:", "x", 8193, "\r\n\r\n",
		"note s2c head_too_long @8222\n");
	check_filled("the longest needed line", HALF_S2C, RESPONSE "Content-Type:", "x", 8192,
		"\r\n\r\nbody",
		"file 1 s2c none "
		"type=xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
		"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\nend 1 TRUNCATED 8226+4 body\n");
	check_filled("a request line", HALF_C2S, "GET /", "x", 9000, " HTTP/1.1\r\n\r\n",
		"note c2s head_too_long @8192\n");
	check_filled("a trailer", HALF_S2C, RESPONSE "Transfer-Encoding: chunked\r\n\r\n0\r\n",
		"X: y\r\n", HEAD_BYTES + 1, "",
		"file 1 s2c none\nnote s2c head_too_long @262194\nend 1 TRUNCATED 47+262147\n");
	check_filled("a part's head", HALF_C2S,
		"POST /f HTTP/1.1\r\nContent-Type: multipart/form-data; boundary=B\r\n"
		"Content-Length: 300000\r\n\r\n--B\r\n",
		"X: y\r\n", HEAD_BYTES + 1, "", "note c2s head_too_long @262240\n");
	check_filled("an extension", HALF_S2C, RESPONSE "Transfer-Encoding: chunked\r\n\r\n1;", "x",
		HEAD_BYTES, "\r\na\r\n0\r\n\r\n",
		"file 1 s2c none\nnote s2c bad_chunk @16432\nend 1 ERROR 47+16385\n");
	check_filled("the longest extension", HALF_S2C,
		RESPONSE "Transfer-Encoding: chunked\r\n\r\n1;", "x", 16382, "\r\na\r\n0\r\n\r\n",
		"file 1 s2c none\nend 1 CLOSED 47+16394 a\n");
	check_filled("empty lines have none", HALF_S2C, "", "\r\n", HEAD_BYTES + 2,
		RESPONSE "Content-Length: 1\r\n\r\na",
		"file 1 s2c none size=1\nend 1 CLOSED 262184+1 a\n");
}

static void the_search_has_an_end(void **state)
{
	(void)state;
	check_filled("no message", HALF_C2S, "\x01", "no message\r\n", SEARCH_BYTES + 1, "",
		"note c2s bad_line @0\nnote c2s lost @1048576\n");
	check_filled("a message in time", HALF_S2C, "\x01", "HTTP/1.\n", SEARCH_BYTES - 32,
		RESPONSE "Content-Length: 1\r\n\r\na",
		"note s2c bad_line @0\nfile 1 s2c none size=1\nend 1 CLOSED 1048583+1 a\n");
}

static void pipelines_have_an_end(void **state)
{
	static const char request[] = "GET /n HTTP/1.1\r\n\r\n";
	const uint32_t length = sizeof(request) - 1;

	(void)state;
	check_filled("64 requests", HALF_C2S, "", request, 64 * length, "", "");
	check_filled("65 requests", HALF_C2S, "", request, 65 * length, "",
		"note c2s too_many_requests @1216\n");
}

struct told {
	unsigned files;
};

static void on_asked(void *ctx, const struct content_file *file)
{
	(void)ctx, (void)file;
}

static enum content_want on_file(void *ctx, const struct content_file *file)
{
	(void)file;
	((struct told *)ctx)->files++;
	return CONTENT_WANT_DATA;
}

static void on_bytes(void *ctx, uint32_t id, uint64_t at, const uint8_t *bytes, uint32_t length)
{
	(void)ctx, (void)id, (void)at, (void)bytes, (void)length;
}

static void on_id(void *ctx, const struct content_id *id, unsigned half)
{
	(void)ctx, (void)id, (void)half;
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
	(void)ctx, (void)word;
	return false;
}

static void on_note(void *ctx, enum content_note note, unsigned half, uint64_t at64)
{
	(void)ctx, (void)note, (void)half, (void)at64;
}

static struct content_memory *memory;

static void feed(
	void *decoder, unsigned half, uint64_t *offset64, const void *bytes, uint32_t length)
{
	static struct told told;
	const struct content_sink sink = {
		on_asked, on_file, on_id, on_bytes, on_end, on_message, on_word, on_note, &told};
	struct content_turn turn = {.sink = &sink, .memory = memory, .output = UINT32_MAX};
	const struct span span = {
		.offset64 = *offset64, .unchecked = bytes, .extent = length, .half = (uint8_t)half};

	assert_int_equal(content_http.feed(decoder, &span, &turn), CONTENT_FED);
	*offset64 += length;
}

static struct content_memory_use use_of(void)
{
	struct content_memory_use use;

	content_memory_look(memory, &use);
	return use;
}

static void an_idle_connection_costs_its_state(void **state)
{
	static const char request[] = "GET /n HTTP/1.1\r\nHost: h\r\n\r\n";
	static const char response[] = RESPONSE "Content-Length: 9\r\n\r\nbody";
	uint64_t offsets64[2] = {0, 0};
	void *decoder = aligned_alloc(16, (content_http.state_bytes + 15u) & ~15u);
	uint8_t *lines = filled("Cookie: chocolate\r\n", 19 * 1000);

	(void)state;
	memory = content_memory_new(1, -1);
	assert_non_null(decoder);
	assert_in_range(content_http.state_bytes, 1, 1024);
	memset(decoder, 0, content_http.state_bytes);
	feed(decoder, HALF_C2S, &offsets64[0], request, 20);
	assert_int_equal(use_of().used, 1024);
	feed(decoder, HALF_C2S, &offsets64[0], lines, 0);
	feed(decoder, HALF_C2S, &offsets64[0], request + 20, sizeof(request) - 1 - 20);
	assert_int_equal(use_of().used, 256); // what the response will answer
	feed(decoder, HALF_S2C, &offsets64[1], RESPONSE, sizeof(RESPONSE) - 1);
	feed(decoder, HALF_S2C, &offsets64[1], lines, 19 * 1000);
	feed(decoder, HALF_S2C, &offsets64[1], response + sizeof(RESPONSE) - 1,
		sizeof(response) - sizeof(RESPONSE));
	assert_int_equal(
		use_of().used, 0); // in a body that is not coded, and then between messages
	feed(decoder, HALF_S2C, &offsets64[1], "tails", 5);
	assert_int_equal(use_of().used, 0);
	assert_int_equal(use_of().peak, 1024 + 256);
	content_memory_free(memory);
	free(decoder);
	free(lines);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(heads_have_an_end),
		cmocka_unit_test(the_search_has_an_end),
		cmocka_unit_test(pipelines_have_an_end),
		cmocka_unit_test(an_idle_connection_costs_its_state),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
