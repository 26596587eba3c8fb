// SPDX-License-Identifier: BSD-3-Clause
// Mails that never end, or go deeper than anybody reads: a note, and one block of memory.
#include "content/decoders.h"
#include "content/mime/mime.h"
#include "lib/content/conversation.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define MOST (4u << 20)

struct mail {
	uint32_t length;
	char *bytes;
};

static struct transcript got;

static void add(struct mail *mail, const char *text, unsigned times)
{
	uint32_t length = (uint32_t)strlen(text);

	for (unsigned i = 0; i < times; i++) {
		assert_true(mail->length + length <= MOST);
		memcpy(mail->bytes + mail->length, text, length);
		mail->length += length;
	}
}

static struct mail mail_new(const char *text)
{
	struct mail mail = {.bytes = malloc(MOST)};

	assert_non_null(mail.bytes);
	add(&mail, text, 1);
	return mail;
}

// What is told of it, in pieces of any size; the mail's memory is one block.
static void check(struct mail *mail, bool ends, const char *expected)
{
	struct conversation conversation = {"",
		{SAID_S("220 x\r\n"), SAID_C("DATA\r\n"), SAID_S("354 go\r\n"),
			SAID_BYTES(HALF_C2S, 0, mail->length, mail->bytes)},
		""};

	if (ends)
		conversation.said[4] = (struct said)SAID_C("\r\n.\r\n");
	for (uint32_t piece = 0; piece <= 1460; piece += 730) {
		const struct feeding feeding = {
			.piece = piece, .budget = UINT32_MAX, .want = CONTENT_WANT_DATA};
		uint32_t blocks = conversation_feed(&content_smtp, &conversation, &feeding, &got);

		if (strcmp(got.text, expected) != 0)
			fail_msg("in pieces of %u: got\n%sinstead of\n%s", piece, got.text,
				expected);
		assert_int_equal(blocks, 1);
	}
	free(mail->bytes);
}

static void test_deep(void **state)
{
	struct mail mail = mail_new("");
	char part[128];

	(void)state;
	for (unsigned i = 0; i < 10000; i++) {
		snprintf(part, sizeof(part),
			"Content-Type: multipart/mixed; boundary=b%u.\r\n\r\n--b%u.\r\n", i, i);
		add(&mail, part, 1);
	}
	add(&mail,
		"\r\nhello\r\n--b99.\r\n\r\n"
		"in reach",
		1);
	check(&mail, true,
		"note c2s too_deep @5635\n"
		"message c2s 597805+8 of 597805+8 text=in reach\n");
}

static void test_long_boundaries(void **state)
{
	struct mail mail = mail_new("");
	char part[512];

	(void)state;
	for (unsigned i = 0; i < 20; i++) {
		snprintf(part, sizeof(part),
			"Content-Type: multipart/mixed; boundary=%0190u\r\n\r\n--%0190u\r\n", i, i);
		add(&mail, part, 1);
	}
	check(&mail, true, "note c2s too_deep @7088\n");
	mail = mail_new("Content-Type: multipart/mixed; boundary=");
	add(&mail, "x", 201);
	add(&mail, "\r\n\r\nhello", 1);
	check(&mail, true,
		"note c2s bad_multipart @20\n"
		"message c2s 251+5 of 251+5 text=hello\n");
}

static void test_mails_within(void **state)
{
	struct mail mail = mail_new("");

	(void)state;
	add(&mail, "Content-Type: message/rfc822\r\n\r\n", 10000);
	add(&mail, "\r\nhello", 1);
	check(&mail, true, "message c2s 320008+5 of 320008+5 text=hello\n");
}

static void test_heads(void **state)
{
	struct mail mail = mail_new("Content-Type: text/plain;");

	(void)state;
	add(&mail, " 0123456789", 1000);
	add(&mail, "\r\n\r\nhello", 1);
	check(&mail, true,
		"note c2s head_too_long @20\n"
		"message c2s 11035+5 of 11035+5 text=hello\n");
	mail = mail_new("");
	add(&mail, "X-Field: and so on\r\n folded\r\n", 100000);
	check(&mail, false, "");
	mail = mail_new("X: ");
	add(&mail, "0123456789", 200000);
	check(&mail, false, "");
	mail = mail_new("");
	add(&mail, "0123456789", 20);
	check(&mail, false,
		"note c2s bad_line @134\nmessage c2s 6+200 of 6+200 text=(200)..23456789\n");
}

static void test_lines(void **state)
{
	static const char head[] = "Content-Transfer-Encoding: quoted-printable\r\n"
				   "Content-Disposition: attachment\r\n\r\n";
	struct mail mail = mail_new(head);

	(void)state;
	add(&mail, "=41 \t", 200000);
	check(&mail, false,
		"file 1 c2s none\nend 1 TRUNCATED 86+1000000 (599998) 3305f15eb6eb30da\n");
	mail = mail_new(head);
	add(&mail, "          ", 100000);
	check(&mail, false,
		"file 1 c2s none\nend 1 TRUNCATED 86+1000000 (999936) 63662d84e2b44b25\n");
	mail = mail_new("\r\n=ybegin line=128 size=1000000 name=a\r\n");
	add(&mail, "0123456789", 100000);
	check(&mail, false,
		"message c2s 8+38 of 8+38 text==ybegin line=128 size=1000000 name=a\\0d\\0a\n"
		"file 1 c2s header name=a size=1000000\n"
		"end 1 TRUNCATED 46+1000000 (1000000) eb98f4cf04708de5\n");
	mail = mail_new("\r\nbegin 644 a\r\n");
	add(&mail, "0123456789", 100000);
	check(&mail, false,
		"message c2s 8+13 of 8+13 text=begin 644 a\\0d\\0a\n"
		"file 1 c2s header name=a\n"
		"end 1 TRUNCATED 21+1000000\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_deep),
		cmocka_unit_test(test_long_boundaries),
		cmocka_unit_test(test_mails_within),
		cmocka_unit_test(test_heads),
		cmocka_unit_test(test_lines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
