// SPDX-License-Identifier: BSD-3-Clause
// Connections in eMule's disguise: opened by the user hash of who is connected to, and else opaque.
#include "content/decoders.h"
#include "lib/content/ed2k_frames.h"
#include "pipeline/vocab/rc4_md5.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define USER "abcde\x0eghijklmn\x6fp"

static const struct endpoint_secret known = {.user = USER, .has_user = 1};
static const struct endpoint_secret wrong = {.user = "bbcde\x0eghijklmn\x6fp", .has_user = 1};
static const struct endpoint_secret no_user = {.node = USER, .has_node = 1};

struct stream {
	struct rc4 rc4;
	uint8_t bytes[4096];
	uint32_t length;
};

static void begin(struct stream *stream, uint8_t who)
{
	uint8_t material[] = USER "?abcd", key[16];

	material[16] = who;
	md5_block(material, sizeof(material) - 1, key);
	rc4_key(&stream->rc4, key, sizeof(key));
	rc4_stream(&stream->rc4, NULL, NULL, 1024);
	stream->length = 0;
}

static void hide(struct stream *stream, const char *bytes, uint32_t length)
{
	assert_true(stream->length + length <= sizeof(stream->bytes));
	rc4_stream(&stream->rc4, (const uint8_t *)bytes, stream->bytes + stream->length, length);
	stream->length += length;
}

#define HIDE(stream, text) hide(stream, text, sizeof(text) - 1)

static struct stream asks, answers;

// `padding` of both: what comes before their frames.
static void shake_hands(unsigned padding)
{
	char pad[256] = {0};

	begin(&asks, 34);
	memcpy(asks.bytes, "Xabcd", 5);
	asks.length = 5;
	HIDE(&asks, "\xc4\x6f\x5e\x83\0\0");
	pad[0] = (char)padding;
	hide(&asks, pad, padding + 1);
	begin(&answers, 203);
	HIDE(&answers, "\xc4\x6f\x5e\x83\0");
	hide(&answers, pad, padding + 1);
}

static void check(const char *name, const struct endpoint_secret *secret, const char *expected)
{
	static const struct endpoint_secret none;
	const struct conversation conversation = {name,
		{{.secret = secret ? secret : &none},
			SAID_BYTES(HALF_C2S, 0, asks.length, asks.bytes),
			SAID_BYTES(HALF_S2C, 0, answers.length, answers.bytes)},
		expected};

	conversations_check(&content_edonkey, &conversation, 1);
}

#define NAME_A E("\x1b", "\x59") A "\x08\0film.avi"
#define PART_A E("\x1c", "\x46") A "\0\0\0\0\3\0\0\0abc"
#define SENT   E("\x01", "\x57")

static void frames_are_opened(void **state)
{
	(void)state;
	shake_hands(0);
	HIDE(&asks, E("\x11", "\x58") A);
	HIDE(&answers, NAME_A PART_A SENT);
	check("without padding", &known,
		"id c2s " OF_A "id s2c " OF_A "file 1 s2c offer elsewhere name=film.avi whole=" OF_A
		"file 2 s2c offer name=film.avi whole=" OF_A "end 2 CLOSED 68+3 abc\n");
	shake_hands(200);
	HIDE(&asks, E("\x08", "\x4e") "\5\0hello");
	HIDE(&answers, P("\x28", "\x93") "x\x9c"
					 "30426153\xb7\xb0LLJNIM\x8b\xe4`H\xcb\xcc\xc9\xd5K,"
					 "\xcb\x0c`b`\x06\0\x82h\x08/" PART_A SENT);
	check("with padding: chat, a compressed frame", &known,
		"message c2s 220+5 of 220+5 blank=00 text=hello\nid s2c " OF_A
		"file 1 s2c offer elsewhere name=film.avi whole=" OF_A
		"file 2 s2c offer name=film.avi whole=" OF_A "end 2 CLOSED 281+3 abc\n");
}

static void it_goes_on_behind_a_gap(void **state)
{
	(void)state;
	shake_hands(0);
	HIDE(&answers, E("\x1e", "\x46") A "\0\0\0\0\5\0\0\0abcde" PART_A SENT);
	const uint32_t gap = 6 + 6 + 24 + 2;
	const struct conversation conversation = {"a gap in a part",
		{SAID_SECRET(known), SAID_BYTES(HALF_C2S, 0, asks.length, asks.bytes),
			SAID_BYTES(HALF_S2C, 0, gap, answers.bytes), SAID_GAP(HALF_S2C, 2),
			SAID_BYTES(HALF_S2C, 0, answers.length - gap - 2, answers.bytes + gap + 2)},
		"id s2c " OF_A "file 1 s2c none whole=" OF_A "end 1 TRUNCATED 36+38 abc_e\n"};

	conversations_check(&content_edonkey, &conversation, 1);
	const struct conversation before = {"a gap before there are frames",
		{SAID_SECRET(known), SAID_BYTES(HALF_C2S, 0, 3, asks.bytes), SAID_GAP(HALF_C2S, 2),
			SAID_BYTES(HALF_S2C, 0, answers.length, answers.bytes)},
		"note c2s lost @0\nnote s2c encrypted @0\n"};

	conversations_check(&content_edonkey, &before, 1);
}

static void without_the_key_it_is_opaque(void **state)
{
	(void)state;
	shake_hands(7);
	HIDE(&asks, E("\x11", "\x58") A);
	HIDE(&answers, NAME_A);
	check("another's hash", &wrong, "note c2s encrypted @0\n");
	check("no user hash", &no_user, "note c2s encrypted @0\n");
	check("nothing", NULL, "note c2s encrypted @0\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(frames_are_opened),
		cmocka_unit_test(it_goes_on_behind_a_gap),
		cmocka_unit_test(without_the_key_it_is_opaque),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
