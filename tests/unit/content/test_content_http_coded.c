// SPDX-License-Identifier: BSD-3-Clause
// Bodies that are coded: decoded in whichever pieces they come, told as they are where the coding
// is not known, and ended where it is none.
#include "content/decoders.h"
#include "lib/content/conversation.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <zlib.h>

#define TEXT "The quick brown fox jumps over the lazy dog. The quick brown fox jumps again."
#define GAP  7
#define FORM                                                                         \
	"--B\r\nContent-Disposition: form-data; filename=a.exe\r\n\r\nMZ\r\n--B\r\n" \
	"Content-Disposition: form-data; filename=b\r\n\r\n\r\n--\r\n--B--\r\n"

struct bytes {
	uint8_t *at;
	uint32_t length;
};

static struct bytes coded(int window_bits, struct bytes plain)
{
	z_stream stream = {.next_in = plain.at, .avail_in = plain.length};

	assert_int_equal(
		deflateInit2(&stream, 9, Z_DEFLATED, window_bits, 9, Z_DEFAULT_STRATEGY), Z_OK);
	uint32_t room = (uint32_t)deflateBound(&stream, plain.length) + 64;
	struct bytes out = {malloc(room), 0};

	assert_non_null(out.at);
	stream.next_out = out.at;
	stream.avail_out = room;
	assert_int_equal(deflate(&stream, Z_FINISH), Z_STREAM_END);
	out.length = room - stream.avail_out;
	deflateEnd(&stream);
	return out;
}

static struct bytes plain(const char *text)
{
	return (struct bytes){(uint8_t *)strdup(text), (uint32_t)strlen(text)};
}

static struct bytes gzip(struct bytes bytes)
{
	struct bytes out = coded(15 + 16, bytes);

	free(bytes.at);
	return out;
}

static struct bytes deflated(struct bytes bytes)
{
	struct bytes out = coded(15, bytes);

	free(bytes.at);
	return out;
}

static struct bytes first(struct bytes bytes, uint32_t length)
{
	bytes.length = length;
	return bytes;
}

static struct bytes followed(struct bytes bytes, const char *more, uint32_t length)
{
	bytes.at = realloc(bytes.at, bytes.length + length);
	assert_non_null(bytes.at);
	memcpy(bytes.at + bytes.length, more, length);
	bytes.length += length;
	return bytes;
}

// A byte of it is another one.
static struct bytes damaged(struct bytes bytes, uint32_t i)
{
	bytes.at[i] ^= 0x55;
	return bytes;
}

struct row {
	const char *name;
	const char *head; // without the field of its length, up to the empty line
	bool chunked;     // in chunks of 20 bytes
	bool closed;      // ends with the connection
	uint8_t half;
	uint32_t gap_at; // in the body: GAP bytes are lost; 0: none
	const char *expected;
};

static struct bytes in_chunks(struct bytes body)
{
	struct bytes out = {malloc(2 * body.length + 100), 0};

	assert_non_null(out.at);
	for (uint32_t at = 0; at < body.length; at += 20) {
		uint32_t n = body.length - at < 20 ? body.length - at : 20;

		out.length += (uint32_t)snprintf((char *)out.at + out.length, 8, "%x\r\n", n);
		memcpy(out.at + out.length, body.at + at, n);
		memcpy(out.at + out.length + n, "\r\n", 2);
		out.length += n + 2;
	}
	memcpy(out.at + out.length, "0\r\n\r\n", 5);
	out.length += 5;
	free(body.at);
	return out;
}

static void check(const struct row *row, struct bytes body)
{
	static const char *const starts[] = {"POST /f.bin HTTP/1.1\r\n", "HTTP/1.1 "};
	char head[512], length[64] = "";

	if (row->chunked)
		body = in_chunks(body);
	else if (!row->closed)
		snprintf(length, sizeof(length), "Content-Length: %u\r\n", body.length);
	int n = snprintf(head, sizeof(head), "%s%s%s\r\n", starts[row->half], row->head, length);
	struct conversation conversation = {.name = row->name, .expected = row->expected};
	uint32_t gap = row->gap_at ? GAP : 0;

	conversation.said[0] = (struct said)SAID_BYTES(row->half, 0, (uint32_t)n, head);
	conversation.said[1] =
		(struct said)SAID_BYTES(row->half, 0, gap ? row->gap_at : body.length, body.at);
	if (gap) {
		conversation.said[2] = (struct said)SAID_GAP(row->half, gap);
		conversation.said[3] = (struct said)SAID_BYTES(
			row->half, 0, body.length - row->gap_at - gap, body.at + row->gap_at + gap);
	}
	conversation.said[gap ? 4 : 2] = (struct said)SAID_FIN(row->half);
	conversations_check(&content_http, &conversation, 1);
	free(body.at);
}

static void codings_are_undone(void **state)
{
	static const struct row rows[] = {
		{"gzip", "200 OK\r\nContent-Encoding: gzip\r\n", .half = HALF_S2C,
			.expected = "file 1 s2c none\n"
				    "end 1 CLOSED 63+73 The quick brown fox jumps over the lazy "
				    "dog. The quick brown fox jumps again.\n"},
		{"gzip in chunks",
			"200 OK\r\nContent-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n",
			.half = HALF_S2C, .chunked = true,
			.expected = "file 1 s2c none\n"
				    "end 1 CLOSED 71+101 The quick brown fox jumps over the lazy "
				    "dog. The quick brown fox jumps again.\n"},
		{"gzip as a transfer coding", "200 OK\r\nTransfer-Encoding: gzip, chunked\r\n",
			.half = HALF_S2C, .chunked = true,
			.expected = "file 1 s2c none\n"
				    "end 1 CLOSED 53+101 The quick brown fox jumps over the lazy "
				    "dog. The quick brown fox jumps again.\n"},
		{"gzip until the end", "200 OK\r\nContent-Encoding: identity, gzip\r\n",
			.half = HALF_S2C, .closed = true,
			.expected = "file 1 s2c none\n"
				    "end 1 CLOSED 53+73 The quick brown fox jumps over the lazy "
				    "dog. The quick brown fox jumps again.\n"},
		{"gzip in a request", "Content-Encoding: gzip\r\n",
			.expected = "file 1 c2s path name=f.bin path=/f.bin\n"
				    "end 1 CLOSED 68+73 The quick brown fox jumps over the lazy "
				    "dog. The quick brown fox jumps again.\n"},
	};
	static const struct row deflate = {"deflate, then gzip",
		"200 OK\r\nContent-Encoding: deflate, gzip\r\n", .half = HALF_S2C,
		.expected = "file 1 s2c none\n"
			    "end 1 CLOSED 72+84 The quick brown fox jumps over the lazy dog. The "
			    "quick brown fox jumps again.\n"};
	static const struct row both = {"deflate, then gzip for the transfer",
		"200 OK\r\nTransfer-Encoding: gzip, chunked\r\nContent-Encoding: deflate\r\n",
		.half = HALF_S2C, .chunked = true,
		.expected = "file 1 s2c none\n"
			    "end 1 CLOSED 80+118 The quick brown fox jumps over the lazy dog. The "
			    "quick brown fox jumps again.\n"};
	static const struct row form = {"a form",
		"Content-Type: multipart/form-data; boundary=B\r\nContent-Encoding: gzip\r\n",
		.expected = "file 1 c2s header name=a.exe path=/f.bin\n"
			    "end 1 CLOSED 115+0 MZ\n"
			    "file 2 c2s header name=b path=/f.bin\n"
			    "end 2 CLOSED 115+0 \\0d\\0a--\n"};
	static const struct row open_form = {"a form that is not closed",
		"Content-Type: multipart/form-data; boundary=B\r\nContent-Encoding: gzip\r\n",
		.expected = "file 1 c2s header name=a.exe path=/f.bin\n"
			    "end 1 CLOSED 115+0 MZ\n"
			    "file 2 c2s header name=b path=/f.bin\n"
			    "note c2s bad_multipart @115\n"
			    "end 2 TRUNCATED 115+0 \\0d\\0a--\\0d\\0a-\n"};

	(void)state;
	for (unsigned i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		check(&rows[i], gzip(plain(TEXT)));
	check(&deflate, gzip(deflated(plain(TEXT))));
	check(&both, gzip(deflated(plain(TEXT))));
	check(&form, gzip(plain(FORM)));
	check(&open_form, gzip(first(plain(FORM), sizeof(FORM) - 1 - 6)));
}

static void codings_that_are_not_known_stay(void **state)
{
	static const struct row unknown = {"unknown", "200 OK\r\nContent-Encoding: foo\r\n",
		.half = HALF_S2C,
		.expected = "file 1 s2c none\n"
			    "note s2c coding_unknown @61\n"
			    "end 1 CLOSED 61+8 as it is\n"};
	static const struct row three = {"three in a row",
		"200 OK\r\nContent-Encoding: gzip, gzip, gzip\r\n", .half = HALF_S2C,
		.expected = "file 1 s2c none\n"
			    "note s2c coding_unknown @74\n"
			    "end 1 CLOSED 74+8 as it is\n"};
	static const struct row form = {"a form that cannot be read",
		"Content-Type: multipart/form-data; boundary=B\r\nContent-Encoding: foo\r\n",
		.expected = "file 1 c2s path name=f.bin path=/f.bin type=multipart/form-data\n"
			    "note c2s coding_unknown @114\n"
			    "end 1 CLOSED 114+12 --B\\0d\\0a\\0d\\0a--B--\n"};
	static const struct row range = {"a range of what is coded",
		"206 P\r\nContent-Encoding: gzip\r\nContent-Range: bytes 5-9/20\r\n",
		.half = HALF_S2C,
		.expected = "file 1 s2c none from=5\n"
			    "note s2c coding_unknown @90\n"
			    "end 1 CLOSED 90+5 coded\n"};

	static const struct row no_coding = {"words that are no codings",
		"200 OK\r\nContent-Encoding: UTF-8, aws-chunked\r\n", .half = HALF_S2C,
		.expected = "file 1 s2c none size=8\n"
			    "end 1 CLOSED 76+8 as it is\n"};
	static const struct row beside = {"a word that is none beside a coding",
		"200 OK\r\nContent-Encoding: gzip, none\r\n", .half = HALF_S2C,
		.expected = "file 1 s2c none\n"
			    "note s2c coding_unknown @68\n"
			    "end 1 CLOSED 68+8 as it is\n"};

	(void)state;
	check(&no_coding, plain("as it is"));
	check(&beside, plain("as it is"));
	check(&unknown, plain("as it is"));
	check(&three, plain("as it is"));
	check(&form, plain("--B\r\n\r\n--B--"));
	check(&range, plain("coded"));
}

static void codings_that_lie_end(void **state)
{
	static const struct row none = {"none", "200 OK\r\nContent-Encoding: gzip\r\n",
		.half = HALF_S2C,
		.expected = "file 1 s2c none\n"
			    "note s2c coding_lies @62\n"
			    "end 1 ERROR 62+0\n"};
	static const struct row sum = {"a sum that is wrong",
		"200 OK\r\nContent-Encoding: gzip\r\n", .half = HALF_S2C,
		.expected = "file 1 s2c none\n"
			    "note s2c coding_lies @63\n"
			    "end 1 ERROR 63+0 text\n"};
	static const struct row inner = {"the inner one of two",
		"200 OK\r\nContent-Encoding: deflate, gzip\r\n", .half = HALF_S2C,
		.expected = "file 1 s2c none\n"
			    "note s2c coding_lies @72\n"
			    "end 1 ERROR 72+0\n"};
	static const struct row outer = {"the outer one of two",
		"200 OK\r\nContent-Encoding: deflate, gzip\r\n", .half = HALF_S2C,
		.expected = "file 1 s2c none\n"
			    "note s2c coding_lies @72\n"
			    "end 1 ERROR 72+0 The quick brown fox jumps over the lazy dog. The "
			    "quick brown fox jumps again.\n"};
	static const struct row cut = {"cut off", "200 OK\r\nContent-Encoding: gzip\r\n",
		.half = HALF_S2C,
		.expected = "file 1 s2c none\n"
			    "end 1 TRUNCATED 63+0 text\n"};
	static const struct row early = {"cut off before its first byte",
		"200 OK\r\nContent-Encoding: gzip\r\n", .half = HALF_S2C,
		.expected = "file 1 s2c none\n"
			    "note s2c coding_lies @63\n"
			    "end 1 ERROR 63+0\n"};
	static const struct row padded = {"zeros behind the end",
		"200 OK\r\nContent-Encoding: gzip\r\n", .half = HALF_S2C,
		.expected = "file 1 s2c none\n"
			    "end 1 CLOSED 63+28 more\n"};
	static const struct row hidden = {"a member behind zeros",
		"200 OK\r\nContent-Encoding: gzip\r\n", .half = HALF_S2C,
		.expected = "file 1 s2c none\n"
			    "note s2c coding_lies @63\n"
			    "end 1 ERROR 63+0 more\n"};
	static const struct row empty_chunked = {"nothing at all, in chunks",
		"302 F\r\nContent-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n",
		.half = HALF_S2C, .chunked = true,
		.expected = "file 1 s2c none\n"
			    "end 1 CLOSED 70+0\n"};
	static const struct row closed = {"cut off by the end of the connection",
		"200 OK\r\nContent-Encoding: gzip\r\n", .half = HALF_S2C, .closed = true,
		.expected = "file 1 s2c none\n"
			    "end 1 TRUNCATED 43+0 text\n"};
	static const struct row range = {"the beginning of what is coded",
		"206 P\r\nContent-Encoding: gzip\r\nContent-Range: bytes 0-9/90\r\n",
		.half = HALF_S2C,
		.expected = "file 1 s2c none from=0\n"
			    "end 1 TRUNCATED 91+0 text\n"};
	static const struct row behind = {"bytes behind the end",
		"200 OK\r\nContent-Encoding: gzip\r\n", .half = HALF_S2C,
		.expected = "file 1 s2c none\n"
			    "note s2c coding_lies @63\n"
			    "end 1 ERROR 63+0 more\n"};
	static const struct row behind_deflate = {"bytes behind the end of deflate",
		"200 OK\r\nContent-Encoding: deflate\r\n", .half = HALF_S2C,
		.expected = "file 1 s2c none\n"
			    "note s2c coding_lies @66\n"
			    "end 1 ERROR 66+0 more\n"};
	struct bytes more = gzip(plain("more")), outer_bytes = gzip(deflated(plain(TEXT)));

	(void)state;
	check(&none, plain("no gzip"));
	check(&sum, damaged(gzip(plain("text")), 16));
	check(&inner, gzip(plain("no deflate")));
	check(&outer, damaged(outer_bytes, outer_bytes.length - 6));
	check(&cut, first(gzip(plain("text")), 15));
	check(&early, first(gzip(plain("text")), 10));
	check(&padded, followed(gzip(plain("more")), "\0\0\0\0", 4));
	check(&hidden, followed(gzip(plain("more")), "\0\x1f", 2));
	check(&empty_chunked, plain(""));
	check(&closed, first(gzip(plain("text")), 15));
	check(&range, first(gzip(plain("text")), 15));
	more.at = realloc(more.at, more.length + 4);
	memcpy(more.at + more.length, "tail", 4);
	check(&behind, first(more, more.length + 4));
	more = deflated(plain("more"));
	more.at = realloc(more.at, more.length + 4);
	memcpy(more.at + more.length, "tail", 4);
	check(&behind_deflate, first(more, more.length + 4));
}

static void gaps_end_what_is_coded(void **state)
{
	static const struct row gap = {"in gzip", "200 OK\r\nContent-Encoding: gzip\r\n",
		.half = HALF_S2C, .gap_at = 30,
		.expected = "file 1 s2c none\n"
			    "end 1 TRUNCATED 63+30 The quick brown fox\n"};
	static const struct row form = {"in a form",
		"Content-Type: multipart/form-data; boundary=B\r\nContent-Encoding: gzip\r\n",
		.gap_at = 70,
		.expected = "file 1 c2s header name=a.exe path=/f.bin\n"
			    "end 1 TRUNCATED 115+70 MZ\n"};

	(void)state;
	check(&gap, gzip(plain(TEXT)));
	check(&form, gzip(plain(FORM)));
}

// 64 MiB of zeros are 64 KiB of gzip, and those are some hundred bytes.
static void bombs_end(void **state)
{
	static struct transcript whole, pieces;
	struct bytes zeros = {calloc(64, 1 << 20), 64 << 20};
	struct bytes bomb = gzip(gzip(zeros));
	const struct conversation conversation = {
		.said = {SAID_S("HTTP/1.1 200 OK\r\nContent-Encoding: gzip, gzip\r\n\r\n"),
			SAID_BYTES(HALF_S2C, 0, bomb.length, bomb.at), SAID_S("tail"),
			SAID_FIN(HALF_S2C)}};

	(void)state;
	conversation_feed(&content_http, &conversation,
		&(struct feeding){.want = CONTENT_WANT_DATA, .budget = UINT32_MAX}, &whole);
	assert_int_equal(whole.told, 16 << 20);
	assert_non_null(strstr(whole.text, "\nnote s2c bomb @49\nend 1 ERROR 49+0 "));
	conversation_feed(&content_http, &conversation,
		&(struct feeding){.want = CONTENT_WANT_DATA, .budget = 5000, .piece = 7}, &pieces);
	assert_string_equal(pieces.text, whole.text);
	free(bomb.at);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(codings_are_undone),
		cmocka_unit_test(codings_that_are_not_known_stay),
		cmocka_unit_test(codings_that_lie_end),
		cmocka_unit_test(gaps_end_what_is_coded),
		cmocka_unit_test(bombs_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
