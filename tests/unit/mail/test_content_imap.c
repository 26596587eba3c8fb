// SPDX-License-Identifier: BSD-3-Clause
// IMAP as clients and servers speak it: literals, mails that are fetched whole and in parts, mails
// that are appended, compression, and what lies about sizes.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <zlib.h>

#include "content/decoders.h"
#include "lib/content/conversation.h"

#include <cmocka.h>

#define HELLO SAID_S("* OK [CAPABILITY IMAP4rev1] Dovecot ready.\r\n")
#define LOGIN SAID_C("1 LOGIN \"bob\" secret\r\n"), SAID_S("1 OK in\r\n")
// 41 octets
#define MAIL "From: a@x\r\nTo: b@y\r\nSubject: s\r\n\r\nhello\r\n"
// 172 octets
#define FILE_MAIL                                                                \
	"From: a@x\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n"         \
	"--b\r\n\r\nhello\r\n--b\r\nContent-Type: image/png; name=\"a.png\"\r\n" \
	"Content-Transfer-Encoding: base64\r\n\r\niVBORw0KGgo=\r\n--b--\r\n"

static const struct conversation fetches[] = {
	{"curl reads a mail",
		{HELLO, SAID_C("A001 CAPABILITY\r\n"),
			SAID_S("* CAPABILITY IMAP4rev1\r\nA001 OK\r\n"), LOGIN,
			SAID_C("A003 SELECT INBOX\r\n"),
			SAID_S("* 1 EXISTS\r\nA003 OK [READ-WRITE] done\r\n"),
			SAID_C("A004 FETCH 1 BODY[]\r\n"),
			SAID_S("* 1 FETCH (FLAGS (\\Seen) BODY[] {41}\r\n" MAIL
			       ")\r\nA004 OK done\r\n")},
		"message s2c from=a@x to=bob 192+1 of 192+1 text=s\n"
		"message s2c from=a@x to=bob 197+5 of 197+5 text=hello\n"},
	{"a file, behind other items, and the next message",
		{HELLO, LOGIN, SAID_C("2 UID FETCH 1:2 (UID RFC822.SIZE RFC822)\r\n"),
			SAID_S("* 1 FETCH (ENVELOPE (\"(\" NIL {3}\r\na)b \"\\\"(\") UID 7 "
			       "RFC822.SIZE 200 RFC822 {172}\r\n" FILE_MAIL " X {1}\r\n)y)\r\n"),
			SAID_S("* 2 FETCH (UID 8 RFC822 {41}\r\n" MAIL ")\r\n2 OK\r\n")},
		"message s2c from=a@x to=bob 197+5 of 197+5 text=hello\n"
		"file 1 s2c header name=a.png type=image/png user=a@x\n"
		"end 1 CLOSED 285+12 \\89PNG\\0d\\0a\\1a\\0a\n"
		"message s2c from=a@x to=bob 378+1 of 378+1 text=s\n"
		"message s2c from=a@x to=bob 383+5 of 383+5 text=hello\n"},
	{"what is no mail",
		{HELLO, LOGIN, SAID_C("2 FETCH 1 (BODY.PEEK[HEADER.FIELDS (SUBJECT TO)])\r\n"),
			SAID_S("* 1 FETCH (BODY[HEADER.FIELDS (SUBJECT TO)] {14}\r\nSubject: "
			       "s\r\n\r\n)\r\n"),
			SAID_S("* LIST () \"/\" {8}\r\nBODY[] {5\r\n* 2 FETCH (BODY[] NIL "
			       "BODY[2.HEADER] {2}\r\n\r\n)\r\n"),
			SAID_S("* 1 EXPUNGE\r\n* 3 FETCH BODY[] {2}\r\nab\r\n")},
		""},
	{"a quoted string",
		{HELLO, LOGIN, SAID_C("2 FETCH 1 RFC822\r\n"),
			SAID_S("* 1 FETCH (RFC822 \"Subject: a\\\"b\\\\c\" UID 9)\r\n")},
		"message s2c to=bob 72+0 of 72+0 blank=00 text=a\"b\\5cc\n"},
	{"parts of one mail, in order",
		{HELLO, LOGIN, SAID_C("2 UID FETCH 7 (BODY.PEEK[]<0.20>)\r\n"),
			SAID_S("* 1 FETCH (UID 7 BODY[]<0> {20}\r\nFrom: a@x\r\nTo: b@y\r\n)\r\n2 "
			       "OK\r\n"),
			SAID_C("3 UID FETCH 7 (BODY.PEEK[]<20.20>)\r\n"),
			SAID_S("* 1 FETCH (UID 7 BODY[]<20> {20}\r\nSubject: "
			       "s\r\n\r\nhey \r\n)\r\n3 "
			       "OK\r\n"),
			SAID_C("4 UID FETCH 7 (BODY.PEEK[]<40.20>)\r\n"),
			SAID_S("* 1 FETCH (UID 7 BODY[]<40> {4}\r\nlo\r\n)\r\n4 OK\r\n")},
		"message s2c from=a@x to=bob 158+1 of 158+1 text=s\n"
		"message s2c from=a@x to=bob 163+50 of 163+50 blank=00 text=hey \\0d\\0alo\n"},
	{"parts of one mail, out of order",
		{HELLO, LOGIN, SAID_C("2 FETCH 7 BODY[]<20.20>\r\n"),
			SAID_S("* 7 FETCH (BODY[]<20> {20}\r\nSubject: s\r\n\r\nhey \r\n)\r\n2 "
			       "OK\r\n")},
		"note s2c coding_unknown @81\n"
		"message s2c to=bob 90+1 of 90+1 text=s\n"
		"message s2c to=bob 95+4 of 95+4 text=hey \n"},
};

static const struct conversation parts[] = {
	{"a part with its head",
		{HELLO, LOGIN, SAID_C("2 FETCH 1 (BODY[2.MIME] BODY[2])\r\n"),
			SAID_S("* 1 FETCH (BODY[2.MIME] {74}\r\nContent-Type: image/png; "
			       "name=a.png\r\nContent-Transfer-Encoding: base64\r\n\r\n "
			       "BODY[2] {12}\r\niVBORw0KGgo=)\r\n")},
		"file 1 s2c header name=a.png type=image/png\n"
		"end 1 CLOSED 172+0 \\89PNG\\0d\\0a\\1a\\0a\n"},
	{"a part without it, and one of another message",
		{HELLO, LOGIN, SAID_C("2 FETCH 1 BODY[2]\r\n"),
			SAID_S("* 1 FETCH (BODY[2.MIME] {28}\r\nContent-Type: image/png\r\n\r\nX"),
			SAID_S(")\r\n* 2 FETCH (BODY[2] {5}\r\nhello)\r\n")},
		"note s2c coding_unknown @138\n"
		"message s2c to=bob 138+5 of 138+5 text=hello\n"},
	{"a text with its head, and without",
		{HELLO, LOGIN, SAID_C("2 FETCH 1 (RFC822.HEADER RFC822.TEXT)\r\n"),
			SAID_S("* 1 FETCH (RFC822.HEADER {14}\r\nSubject: s\r\n\r\n RFC822.TEXT "
			       "{7}\r\nhello\r\n)\r\n"),
			SAID_S("* 2 FETCH (BODY[TEXT] {7}\r\nworld\r\n)\r\n")},
		"message s2c to=bob 116+0 of 116+0 blank=00 text=s\n"
		"message s2c to=bob 116+0 of 116+0 blank=00 text=hello\n"
		"note s2c coding_unknown @153\n"
		"message s2c to=bob 153+5 of 153+5 text=world\n"},
	{"decoded by the server",
		{HELLO, LOGIN, SAID_C("2 FETCH 1 BINARY[2]\r\n"),
			SAID_S("* 1 FETCH (BINARY[2] ~{4}\r\nMZ\0\1)\r\n")},
		"file 1 s2c none type=application/octet-stream\n"
		"end 1 CLOSED 80+0 MZ\\00\\01\n"},
};

#define TEXT_PART "(\"text\" \"plain\" (\"charset\" \"utf-8\") NIL NIL \"7bit\" 7 1 NIL NIL NIL)"
#define FILE_PART                                                                             \
	"(\"image\" \"png\" (\"name\" \"a(.png\") NIL NIL \"base64\" 12 NIL (\"attachment\" " \
	"(\"filename\" {5}\r\na.png)) NIL)"
#define FORWARDED                                                                                 \
	"(\"message\" \"rfc822\" NIL NIL NIL \"7bit\" 99 (\"d\" \"(\" NIL) (" TEXT_PART FILE_PART \
	" \"mixed\") 9 NIL NIL)"

static const struct conversation structures[] = {
	{"parts as the structure says",
		{HELLO, LOGIN, SAID_C("2 FETCH 1 BODYSTRUCTURE\r\n"),
			SAID_S("* 1 FETCH (BODYSTRUCTURE (" TEXT_PART FILE_PART
			       " \"mixed\" (\"boundary\" \"b\")) UID 7)\r\n2 OK\r\n"),
			SAID_C("3 FETCH 1 (BODY[1] BODY[2])\r\n"),
			SAID_S("* 1 FETCH (BODY[1] {7}\r\nhello\r\n BODY[2] "
			       "{12}\r\niVBORw0KGgo=)\r\n3 OK\r\n"),
			SAID_S("* 1 FETCH (BODY[3] {4}\r\nmore BODY[2.1] {4}\r\nmore)\r\n")},
		"message s2c to=bob 311+0 of 311+0 blank=00 text=hello\n"
		"file 1 s2c header name=a(.png or=a.png type=image/png\n"
		"end 1 CLOSED 333+0 \\89PNG\\0d\\0a\\1a\\0a\n"
		"note s2c coding_unknown @378\n"
		"message s2c to=bob 378+4 of 378+4 text=more\n"
		"file 2 s2c header name=a(.png or=a.png type=image/png\n"
		"end 2 CLOSED 398+0 \\9a\\8a\\de\n"},
	{"a mail that is one part, and one within another",
		{HELLO, LOGIN,
			SAID_S("* 1 FETCH (BODY " FILE_PART
			       ")\r\n* 2 FETCH (BODYSTRUCTURE (" TEXT_PART FORWARDED
			       " \"mixed\"))\r\n"),
			SAID_S("* 2 FETCH (BODY[2.2] {12}\r\niVBORw0KGgo=)\r\n* 1 FETCH (BODY[1] "
			       "{12}\r\niVBORw0KGgo=)\r\n")},
		"file 1 s2c header name=a(.png or=a.png type=image/png\n"
		"end 1 CLOSED 548+0 \\89PNG\\0d\\0a\\1a\\0a\n"
		"file 2 s2c header name=a(.png or=a.png type=image/png\n"
		"end 2 CLOSED 588+0 \\89PNG\\0d\\0a\\1a\\0a\n"},
	{"another mailbox",
		{HELLO, LOGIN, SAID_S("* 1 FETCH (BODYSTRUCTURE " FILE_PART ")\r\n"),
			SAID_C("2 SELECT b\r\n"),
			SAID_S("2 OK\r\n* 1 FETCH (BODY[1] {5}\r\nhello)\r\n")},
		"note s2c coding_unknown @211\n"
		"message s2c to=bob 211+5 of 211+5 text=hello\n"},
	{"structures that are none",
		{HELLO, LOGIN,
			SAID_S("* 1 FETCH (BODYSTRUCTURE (((\"a\" \"b\r\n* 2 FETCH (BODYSTRUCTURE "
			       "(\"a\" {99}\r\n\"b\")) X)\r\n* 3 FETCH (BODY ())\r\n"),
			SAID_S("                                                                "
			       "                    \r\n* 1 FETCH (BODY[1] {5}\r\nhello BODY[1.1] "
			       "{1}\r\na BODY[99999999999999999999] {1}\r\nb)\r\n* 3 FETCH "
			       "(BODY[1] "
			       "{1}\r\nc)\r\n")},
		"note s2c coding_unknown @266\n"
		"message s2c to=bob 266+5 of 266+5 text=hello\n"
		"message s2c to=bob 287+1 of 287+1 text=a\n"
		"message s2c to=bob 321+1 of 321+1 text=b\n"
		"message s2c to=bob 349+1 of 349+1 text=c\n"},
};

static const struct conversation uploads[] = {
	{"a mail is appended, the mailbox in a literal, two at a time",
		{HELLO, LOGIN, SAID_C("2 APPEND {4}\r\n"), SAID_S("+ go\r\n"),
			SAID_C("Sent (\\Seen) \"1-Jan-2024\" {41}\r\n"), SAID_S("+ go\r\n"),
			SAID_C(MAIL " () {41}\r\n"), SAID_S("+ go\r\n"), SAID_C(MAIL "\r\n"),
			SAID_S("2 OK\r\n"), SAID_C("3 NOOP\r\n"), SAID_S("3 OK\r\n")},
		"message c2s from=a@x to=b@y 97+1 of 97+1 text=s\n"
		"message c2s from=a@x to=b@y 102+5 of 102+5 text=hello\n"
		"message c2s from=a@x to=b@y 148+1 of 148+1 text=s\n"
		"message c2s from=a@x to=b@y 153+5 of 153+5 text=hello\n"},
	{"pipelined, without a question",
		{HELLO, LOGIN,
			SAID_C("2 append Sent {41+}\r\n" MAIL "\r\n3 NOOP\r\n4 APPEND Sent UTF8 "
			       "(~{41+}\r\n" MAIL ")\r\n5 LOGOUT\r\n"),
			SAID_S("2 OK\r\n3 OK\r\n4 OK\r\n* BYE\r\n5 OK\r\n")},
		"message c2s from=a@x to=b@y 72+1 of 72+1 text=s\n"
		"message c2s from=a@x to=b@y 77+5 of 77+5 text=hello\n"
		"message c2s from=a@x to=b@y 151+1 of 151+1 text=s\n"
		"message c2s from=a@x to=b@y 156+5 of 156+5 text=hello\n"},
	{"the server refuses the literal",
		{HELLO, LOGIN, SAID_C("2 APPEND Sent {41}\r\n"), SAID_S("2 NO too much\r\n"),
			SAID_C("3 APPEND Sent {41}\r\n"), SAID_S("+ go\r\n"), SAID_C(MAIL "\r\n"),
			SAID_S("3 OK\r\n")},
		"message c2s from=a@x to=b@y 91+1 of 91+1 text=s\n"
		"message c2s from=a@x to=b@y 96+5 of 96+5 text=hello\n"},
	{"of mails that the server has",
		{HELLO, LOGIN,
			SAID_C("2 APPEND Sent CATENATE (URL \"/INBOX;UID=1\" TEXT "
			       "{2+}\r\nab)\r\n")},
		"note c2s coding_unknown @45\n"
		"note c2s bad_line @78\n"
		"message c2s 76+2 of 76+2 text=ab\n"},
};

static const struct conversation lies[] = {
	{"a literal in text for people",
		{HELLO, LOGIN, SAID_S("* OK hello {9}\r\n* 1 FETCH (RFC822 {41}\r\n" MAIL ")\r\n")},
		"note s2c bad_line @69\n"
		"message s2c from=a@x to=bob 122+1 of 122+1 text=s\n"
		"message s2c from=a@x to=bob 127+5 of 127+5 text=hello\n"},
	{"a literal that is larger than anything",
		{HELLO, LOGIN, SAID_S("* 1 FETCH (RFC822 {99999999999999999999}\r\n" MAIL ")\r\n")},
		"note s2c bad_length @95\n"},
	{"a literal that is shorter than its mail",
		{HELLO, LOGIN, SAID_S("* 1 FETCH (RFC822 {15}\r\n" MAIL ")\r\n2 OK\r\n")}, ""},
	{"braces that announce nothing",
		{HELLO, LOGIN,
			SAID_S("* 1 FETCH (X {}\r\n {5 }\r\n{+}\r\n\"{5}\"\r\n"
			       "{5} RFC822 {41}\r\n" MAIL ")\r\n")},
		"note s2c bad_line @106\n"},
	{"a mail of no octets", {HELLO, LOGIN, SAID_S("* 1 FETCH (RFC822 {0}\r\n)\r\n")}, ""},
	{"a mail that breaks off",
		{HELLO, LOGIN,
			SAID_S("* 1 FETCH (BODY[] {999}\r\nContent-Type: image/png; "
			       "name=a.png\r\n\r\n\x89PNG")},
		"file 1 s2c header name=a.png type=image/png\n"
		"end 1 TRUNCATED 117+4 \\89PNG\n"},
};

static const struct conversation unreadable[] = {
	{"STARTTLS, asked for twice",
		{HELLO, SAID_C("a STARTTLS\r\n"), SAID_S("a BAD no\r\n"), SAID_C("b starttls\r\n"),
			SAID_S("* OK hm\r\nb OK go\r\n"), SAID_C("\x16\x03\x01")},
		"note s2c tls @72\n"},
	{"TLS from the first byte", {SAID_C("\x16\x03\x01\x02"), SAID_S("\x16\x03\x03\x02")}, ""},
	{"credentials are nobody's commands",
		{HELLO, SAID_C("a AUTHENTICATE PLAIN\r\n"), SAID_S("+ \r\n"),
			SAID_C("AGJvYgBzZWNyZXQ=\r\n"), SAID_S("a OK\r\n"),
			SAID_S("* 1 FETCH (RFC822 {41}\r\n" MAIL ")\r\n")},
		"message s2c from=a@x to=b@y 107+1 of 107+1 text=s\n"
		"message s2c from=a@x to=b@y 112+5 of 112+5 text=hello\n"},
	{"a gap in a mail",
		{HELLO, LOGIN, SAID_S("* 1 FETCH (RFC822 {41}\r\nSubject: s\r\n\r\nhello "),
			SAID_GAP(HALF_S2C, 21),
			SAID_S(")\r\n* 2 FETCH (RFC822 {41}\r\n" MAIL ")\r\n")},
		"message s2c to=bob 86+1 of 86+1 text=s\n"
		"message s2c to=bob 91+6 of 91+6 text=hello \n"
		"note s2c lost @97\n"
		"message s2c from=a@x to=bob 174+1 of 174+1 text=s\n"
		"message s2c from=a@x to=bob 179+5 of 179+5 text=hello\n"},
	{"a gap that goes on behind it",
		{HELLO, LOGIN, SAID_S("* 1 FETCH (RFC822 {41}\r\nSubject: s\r\n\r\nhello "),
			SAID_GAP(HALF_S2C, 23), SAID_S("* 2 FETCH (RFC822 {41}\r\n" MAIL ")\r\n")},
		"message s2c to=bob 86+1 of 86+1 text=s\n"
		"message s2c to=bob 91+6 of 91+6 text=hello \n"
		"note s2c lost @97\n"
		"note s2c lost @118\n"},
	{"a gap in a line", {HELLO, LOGIN, SAID_GAP(HALF_C2S, 9)}, "note c2s lost @22\n"},
};

#define TEST(table)                                                                        \
	static void test_##table(void **state)                                             \
	{                                                                                  \
		(void)state;                                                               \
		conversations_check(&content_imap, table, sizeof(table) / sizeof(*table)); \
	}
TEST(fetches)
TEST(parts)
TEST(structures)
TEST(uploads)
TEST(lies)
TEST(unreadable)

// ---- compression (RFC 4978) ----

static uint8_t packed[2][70000];

static uint32_t deflate_raw(unsigned half, const void *bytes, uint32_t n, int flush)
{
	z_stream stream = {0};

	assert_int_equal(deflateInit2(&stream, 9, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY), Z_OK);
	stream.next_in = (Bytef *)(uintptr_t)bytes;
	stream.avail_in = n;
	stream.next_out = packed[half];
	stream.avail_out = sizeof(packed[half]);
	deflate(&stream, flush);
	deflateEnd(&stream);
	return (uint32_t)(sizeof(packed[half]) - stream.avail_out);
}

static void check_packed(const char *name, uint32_t client, uint32_t server, const char *expected)
{
	struct conversation conversation = {.name = name,
		.said = {HELLO, LOGIN, SAID_C("2 COMPRESS DEFLATE\r\n"), SAID_S("2 OK go\r\n")},
		.expected = expected};

	conversation.said[5] = (struct said)SAID_BYTES(HALF_C2S, 0, client, packed[0]);
	conversation.said[6] = (struct said)SAID_BYTES(HALF_S2C, 0, server, packed[1]);
	conversations_check(&content_imap, &conversation, 1);
}

static void test_compressed(void **state)
{
	static const char asked[] = "3 FETCH 1 RFC822\r\n4 APPEND Sent {41+}\r\n" MAIL "\r\n";
	static const char got[] = "* 1 FETCH (RFC822 {172}\r\n" FILE_MAIL ")\r\n3 OK\r\n";

	(void)state;
	check_packed("compressed", deflate_raw(0, asked, sizeof(asked) - 1, Z_SYNC_FLUSH),
		deflate_raw(1, got, sizeof(got) - 1, Z_SYNC_FLUSH),
		"message c2s from=a@x to=b@y 42+0 of 42+0 blank=00 text=s\n"
		"message c2s from=a@x to=b@y 42+0 of 42+0 blank=00 text=hello\n"
		"message s2c from=a@x to=bob 62+0 of 62+0 blank=00 text=hello\n"
		"file 1 s2c header name=a.png type=image/png user=a@x\n"
		"end 1 CLOSED 62+0 \\89PNG\\0d\\0a\\1a\\0a\n");
	check_packed("compressed, and it ends", deflate_raw(0, asked, sizeof(asked) - 1, Z_FINISH),
		deflate_raw(1, got, sizeof(got) - 1, Z_SYNC_FLUSH),
		"message c2s from=a@x to=b@y 42+0 of 42+0 blank=00 text=s\n"
		"message c2s from=a@x to=b@y 42+0 of 42+0 blank=00 text=hello\n"
		"message s2c from=a@x to=bob 62+0 of 62+0 blank=00 text=hello\n"
		"file 1 s2c header name=a.png type=image/png user=a@x\n"
		"end 1 CLOSED 62+0 \\89PNG\\0d\\0a\\1a\\0a\n");
	memset(packed[1], 0xff, 9);
	check_packed("not compressed at all", deflate_raw(0, "", 0, Z_SYNC_FLUSH), 9,
		"note s2c coding_lies @62\n");
}

// A megabyte and more of nothing for each kilobyte.
static void test_bomb(void **state)
{
	static char zeros[8u << 20];

	(void)state;
	memset(zeros, ' ', sizeof(zeros));
	check_packed("a bomb", deflate_raw(0, "", 0, Z_SYNC_FLUSH),
		deflate_raw(1, zeros, sizeof(zeros), Z_SYNC_FLUSH), "note s2c bomb @62\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fetches),
		cmocka_unit_test(test_parts),
		cmocka_unit_test(test_structures),
		cmocka_unit_test(test_uploads),
		cmocka_unit_test(test_lies),
		cmocka_unit_test(test_unreadable),
		cmocka_unit_test(test_compressed),
		cmocka_unit_test(test_bomb),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
