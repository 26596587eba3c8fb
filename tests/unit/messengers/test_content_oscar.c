// SPDX-License-Identifier: BSD-3-Clause
// OSCAR: what people write to each other and in rooms, files that are offered, and OFT.
#include "content/decoders.h"
#include "content/markup.h"
#include "lib/content/made.h"

#define SEND     4, 6
#define COMES    4, 7
#define LOGIN    0x17, 2
#define SENDFILE "\x09\x46\x13\x43\x4c\x7f\x11\xd1\x82\x22\x44\x45\x53\x54\0\0"
#define RELAY    "\x09\x46\x13\x49\x4c\x7f\x11\xd1\x82\x22\x44\x45\x53\x54\0\0"

// What stands behind a length that is known when it ends: where that is, and of how many octets.
static struct {
	uint32_t at[8];
	uint8_t octets[8];
	unsigned n;
} open_lengths;

static void length_begin(unsigned octets)
{
	open_lengths.at[open_lengths.n] = made.length;
	open_lengths.octets[open_lengths.n++] = (uint8_t)octets;
	made_put_be(0, octets);
}

static void length_end(void)
{
	uint32_t at = open_lengths.at[--open_lengths.n];
	unsigned octets = open_lengths.octets[open_lengths.n];
	uint32_t length = made.length - at - octets;

	for (unsigned i = 0; i < octets; i++)
		made.bytes[at + i] = (uint8_t)(length >> 8 * (octets - 1 - i));
}

static void name(const char *text)
{
	length_begin(1);
	made_put_text(text);
	length_end();
}

static void tlv_begin(uint16_t type)
{
	made_put_be(type, 2);
	length_begin(2);
}

static void tlv(uint16_t type, const void *bytes, size_t length)
{
	tlv_begin(type);
	made_put(bytes, length);
	length_end();
}

static void snac_begin(uint16_t family, uint16_t subtype)
{
	made_put("*\2\1\2", 4);
	length_begin(2);
	made_put_be(family, 2);
	made_put_be(subtype, 2);
	made_put_be(0, 6);
}

// Up to the TLVs; of what comes there are two of the sender.
static void icbm_begin(unsigned half, unsigned channel, const char *peer)
{
	snac_begin(4, half == HALF_C2S ? 6 : 7);
	made_put("cookie..", 8);
	made_put_be(channel, 2);
	name(peer);
	if (half != HALF_S2C)
		return;
	made_put_be(0, 2);
	made_put_be(2, 2);
	tlv(1, "\0\x10", 2);
	tlv(2, "more", 4); // not a text
}

static void fragment(uint16_t charset, const void *text, size_t length)
{
	made_put("\1\1", 2);
	length_begin(2);
	made_put_be(charset, 2);
	made_put_be(0, 2);
	made_put(text, length);
	length_end();
}

static void say_login(void)
{
	uint32_t from = made.length;

	snac_begin(LOGIN);
	tlv(1, "anna", 4);
	length_end();
	made_say(HALF_C2S, from);
}

static void say_text(unsigned half, uint16_t charset, const void *text, size_t length)
{
	uint32_t from = made.length;

	icbm_begin(half, 1, "bob");
	tlv_begin(2);
	made_put("\5\1\0\1\1", 5);
	fragment(charset, text, length);
	length_end();
	tlv(6, "", 0);
	length_end();
	made_say(half, from);
}
#define SAY_TEXT(half, charset, text) say_text(half, charset, text, sizeof(text) - 1)

static void check(const char *expected)
{
	made_check(&content_oscar, expected);
}

static void test_texts(void **unused)
{
	(void)unused;
	made_begin("both ways, in each charset, with markup");
	say_login();
	SAY_TEXT(HALF_C2S, 0, "plain words");
	SAY_TEXT(HALF_S2C, 3, "caf\xe9");
	SAY_TEXT(HALF_S2C, 2, "\0h\0i\xd8\x3d\xde\x80\xd8\x01");
	SAY_TEXT(HALF_C2S, 0,
		"<HTML><BODY BGCOLOR=\"#f>f\">blue<!-- x --><B>bird</B> a &lt; b<BR>x "
		"<y></BODY></HTML>");
	SAY_TEXT(HALF_S2C, 2, "\0<\0b\0>\0b\0l\0<\0/\0b\0>\0u\0e");
	check("message c2s from=anna to=bob 71+11 of 71+11 text=plain words\n"
	      "message s2c from=bob to=anna 65+4 of 65+4 text=caf\\e9\n"
	      "message s2c from=bob to=anna 138+10 of 138+10 text=hi\\f0\\9f\\9a\\80\\ef\\bf\\bd\n"
	      "message c2s from=anna to=bob 133+84 of 133+84 text=bluebird a < b x <y>\n"
	      "message s2c from=bob to=anna 217+22 of 217+22 text=blue\n");
	made_begin("several fragments are one text, in whatever charsets");
	{
		uint32_t from = made.length;

		icbm_begin(HALF_S2C, 1, "bob");
		tlv_begin(2);
		fragment(0, "blue", 4);
		fragment(2, "\0b\0i", 4);
		fragment(0, "rd", 2);
		length_end();
		length_end();
		made_say(HALF_S2C, from);
	}
	check("message s2c from=bob 16+70 of 16+70 blank=00 text=bluebird\n");
	made_begin("lengths that lie");
	{
		uint32_t from = made.length;

		icbm_begin(HALF_S2C, 1, "bob");
		made_put("\0\2\0\x0e\1\1\0\x20\0\0\0\0words!", 18);
		made_put("\0\2\0\x20", 4);
		length_end();
		made_say(HALF_S2C, from);
		made_say(HALF_C2S, made.length);
	}
	check("note s2c bad_length @0\n"
	      "message s2c from=bob 60+6 of 60+6 text=words!\n");
}

static void test_others(void **unused)
{
	uint32_t from;

	(void)unused;
	made_begin("channel 4, an ICQ client's text, and what waited");
	say_login();
	from = made.length;
	icbm_begin(HALF_S2C, 4, "12345");
	tlv(5, "\x39\x30\0\0\1\0\6\0hello\0", 14);
	length_end();
	icbm_begin(HALF_S2C, 2, "12345");
	tlv_begin(5);
	made_put_be(0, 2);
	made_put("cookie.1" RELAY, 24);
	tlv(0x0a, "\0\1", 2);
	tlv(0x2711, "\4\0abcd\2\0xy\1\0\0\0\1\0\x09\0good day\0\0\0\0\0\xff\xff\xff\0", 33);
	length_end();
	length_end();
	snac_begin(0x15, 3);
	tlv(1, "\x24\0\1\0\0\0\x41\0\2\0\x39\x30\0\0\xd0\7\1\1\1\1\1\0\7\0you are", 31);
	length_end();
	made_say(HALF_S2C, from);
	check("message s2c from=12345 to=anna 62+5 of 62+5 text=hello\n"
	      "message s2c from=12345 to=anna 176+8 of 176+8 text=good day\n"
	      "message s2c from=12345 to=anna 235+7 of 235+7 text=you are\n");
	made_begin("a room");
	say_login();
	from = made.length;
	snac_begin(0x0e, 2);
	made_put_be(4, 2);
	name("lake");
	length_end();
	snac_begin(0x0e, 6);
	made_put("cookie..\0\3", 10);
	tlv_begin(3);
	name("bob");
	made_put("\0\0\0\0", 4);
	length_end();
	tlv_begin(5);
	tlv(2, "us-ascii", 8);
	tlv(1, "<b>in</b>", 9);
	length_end();
	length_end();
	made_say(HALF_S2C, from);
	from = made.length;
	snac_begin(0x0e, 5);
	made_put("cookie..\0\3", 10);
	tlv(1, "", 0);
	tlv_begin(5);
	tlv(2, "unicode-2-0", 11);
	tlv(1, "\0o\0u\0t", 6);
	length_end();
	length_end();
	made_say(HALF_C2S, from);
	check("message s2c from=bob to=lake 81+9 of 81+9 text=in\n"
	      "message c2s from=anna to=lake 77+6 of 77+6 text=out\n");
	made_begin("frames without text; ICQ's sign-on says who it is");
	from = made.length;
	made_put("*\1\0\0\0\x0b\0\0\0\1\0\1\0\3"
		 "777",
		17);
	snac_begin(4, 0x14);
	made_put("cookie..\0\1", 10);
	name("bob");
	made_put_be(2, 2);
	length_end();
	snac_begin(0x13, 6);
	made_put("words", 5);
	length_end();
	made_put("*\5\0\0\0\0", 6);
	made_say(HALF_C2S, from);
	SAY_TEXT(HALF_C2S, 0, "hi");
	check("message c2s from=777 to=bob 123+2 of 123+2 text=hi\n");
}

static void test_frames(void **unused)
{
	uint32_t from;

	(void)unused;
	made_begin("a frame with something before its fields; garbage; and a gap: the next one is "
		   "looked for");
	from = made.length;
	snac_begin(COMES);
	made.bytes[made.length - 6] = 0x80;
	made_put("\0\3abc", 5);
	made_put("cookie..\0\1", 10);
	name("bob");
	made_put_be(0, 2);
	made_put_be(0, 2);
	tlv_begin(2);
	fragment(0, "one", 3);
	length_end();
	length_end();
	made_put_text("*x**\2 GARBAGE");
	made_say(HALF_S2C, from);
	SAY_TEXT(HALF_S2C, 0, "two");
	made_add((struct said)SAID_GAP(HALF_S2C, 20));
	from = made.length;
	made_put_text("of a frame");
	made_say(HALF_S2C, from);
	SAY_TEXT(HALF_S2C, 0, "three");
	check("message s2c from=bob 51+3 of 51+3 text=one\n"
	      "note s2c bad_line @54\n"
	      "message s2c from=bob 132+3 of 132+3 text=two\n"
	      "message s2c from=bob 234+5 of 234+5 text=three\n");
	made_begin("a gap in a frame of which the length is known");
	from = made.length;
	made_put("*\2\0\0\0\x40\0\4\0\7\0\0\0\0\0\0cookie", 22);
	made_say(HALF_S2C, from);
	made_add((struct said)SAID_GAP(HALF_S2C, 0x40 - 16));
	SAY_TEXT(HALF_S2C, 0, "next");
	check("message s2c from=bob 135+4 of 135+4 text=next\n");
}

static void say_proposal(unsigned half, const char *cookie, uint16_t sequence, const char *address,
	const char *file, uint16_t more)
{
	uint32_t from = made.length;

	icbm_begin(half, 2, "bob");
	tlv_begin(5);
	made_put_be(0, 2);
	made_put(cookie, 8);
	made_put(SENDFILE, 16);
	tlv_begin(0x0a);
	made_put_be(sequence, 2);
	length_end();
	tlv(3, address, 4);
	tlv(2, "\x0a\0\0\x08", 4);
	tlv(5, "\x14\x46", 2); // 5190
	if (more)
		tlv(more, "", 0);
	if (file) {
		tlv_begin(0x2711);
		made_put_be(1, 2);
		made_put_be(1, 2);
		made_put_be(9, 4);
		made_put_text(file);
		made_put_be(0, 1);
		length_end();
	}
	length_end();
	length_end();
	made_say(half, from);
}
#define SELF  "\x0a\0\0\1"
#define OTHER "\x0a\0\0\x09"

static void test_offers(void **unused)
{
	(void)unused;
	made_begin("of either end, and who may not be named");
	say_login();
	say_proposal(HALF_C2S, "cookie.1", 1, SELF, "mine.exe", 0);
	say_proposal(HALF_S2C, "cookie.2", 1, OTHER, "theirs.exe", 0);
	say_proposal(HALF_C2S, "cookie.3", 1, OTHER, "x.exe", 0);
	say_proposal(HALF_S2C, "cookie.4", 1, SELF, "y.exe", 0);
	check("file 1 c2s offer elsewhere name=mine.exe user=anna size=9\n"
	      "expect 10.0.0.1:5190 from any as oft l4=6 app=8 file s2c name=mine.exe user=anna "
	      "size=9\n"
	      "file 2 s2c offer elsewhere name=theirs.exe user=bob size=9\n"
	      "expect 10.0.0.9:5190 from 10.0.0.1 as oft l4=6 app=8 file s2c name=theirs.exe "
	      "user=bob size=9\n"
	      "file 3 c2s offer elsewhere name=x.exe user=anna size=9\n"
	      "file 4 s2c offer elsewhere name=y.exe user=bob size=9\n");
	made_begin("who receives listens, and then both go to a proxy");
	say_login();
	say_proposal(HALF_S2C, "cookie.2", 1, OTHER, "theirs.exe", 0);
	say_proposal(HALF_C2S, "cookie.2", 2, SELF, NULL, 0);
	say_proposal(HALF_S2C, "cookie.2", 3, OTHER, NULL, 0x10);
	say_proposal(HALF_C2S, "cookie.5", 2, SELF, "unheard.exe", 0);
	check("file 1 s2c offer elsewhere name=theirs.exe user=bob size=9\n"
	      "expect 10.0.0.9:5190 from 10.0.0.1 as oft l4=6 app=8 file s2c name=theirs.exe "
	      "user=bob size=9\n"
	      "expect 10.0.0.1:5190 from any as oft l4=6 app=8 file c2s name=theirs.exe user=bob "
	      "size=9\n"
	      "expect 10.0.0.8:5190 from 10.0.0.1 as oft l4=6 app=8 file s2c name=theirs.exe "
	      "user=bob size=9\n"
	      "file 2 s2c offer elsewhere name=unheard.exe user=bob size=9\n"
	      "expect 10.0.0.1:5190 from any as oft l4=6 app=8 file c2s name=unheard.exe user=bob "
	      "size=9\n");
	made_begin("a name in UTF-16, and several files");
	{
		uint32_t from = made.length;

		icbm_begin(HALF_S2C, 2, "bob");
		tlv_begin(5);
		made_put_be(0, 2);
		made_put("cookie.9" SENDFILE, 24);
		tlv(0x2711, "\0\2\0\3\0\0\1\0\xd8\x3d\xde\x80\0.\0e\0\0", 18);
		tlv(0x2712, "unicode-2-0", 11);
		tlv(0x0c, "look at <b>this</b>", 19);
		length_end();
		length_end();
		made_say(HALF_S2C, from);
	}
	check("file 1 s2c offer elsewhere name=\\f0\\9f\\9a\\80.e user=bob\n"
	      "message s2c from=bob 119+19 of 119+19 text=look at this\n");
}

// The head of OFT.
static void put_oft(uint16_t type, uint32_t size, uint32_t received, const char *file,
	size_t length, uint16_t charset)
{
	uint8_t head[256] = "OFT2\1";

	head[6] = (uint8_t)(type >> 8);
	head[7] = (uint8_t)type;
	head[35] = (uint8_t)size;
	head[63] = (uint8_t)received;
	head[189] = (uint8_t)charset;
	memcpy(head + 192, file, length);
	made_put(head, sizeof(head));
}

static void say_oft(
	unsigned half, uint16_t type, uint32_t size, uint32_t received, const char *file)
{
	uint32_t from = made.length;

	put_oft(type, size, received, file, strlen(file), 0);
	made_say(half, from);
}

static void say_bytes(unsigned half, const char *text)
{
	uint32_t from = made.length;

	made_put_text(text);
	made_say(half, from);
}

static const struct transfer_label label = {
	.what = TRANSFER_FILE, .half = HALF_S2C, .file = "a.exe", .user = "bob", .size = 9};

static void test_oft(void **unused)
{
	uint32_t from;

	(void)unused;
	made_begin("two files and an empty one, in turn");
	made_add((struct said)SAID_ANNOUNCED(label));
	say_oft(HALF_S2C, 0x0101, 9, 0, "a.exe");
	say_oft(HALF_C2S, 0x0202, 9, 0, "a.exe");
	say_bytes(HALF_S2C, "all of it");
	say_oft(HALF_C2S, 0x0204, 9, 9, "a.exe");
	say_oft(HALF_S2C, 0x0101, 0, 0, "none");
	from = made.length;
	put_oft(0x0101, 5, 0, "\0d\0\1\1\0\0b", 8,
		2); // U+0100: its zero and the next one are no end
	made_put_text("OFT2.");
	made_say(HALF_S2C, from);
	check("file 1 s2c offer name=a.exe user=bob size=9\n"
	      "end 1 CLOSED 256+9 all of it\n"
	      "file 2 s2c offer name=none user=bob size=0\n"
	      "end 2 CLOSED 521+0\n"
	      "file 3 s2c offer name=\\c4\\80b path=d/ user=bob size=5\n"
	      "end 3 CLOSED 777+5 OFT2.\n");
	made_begin("under another name than was offered");
	made_add((struct said)SAID_ANNOUNCED(label));
	say_oft(HALF_S2C, 0x0101, 9, 0, "b.txt");
	say_bytes(HALF_S2C, "all");
	made_add((struct said)SAID_GAP(HALF_S2C, 3));
	say_bytes(HALF_S2C, " it");
	check("file 1 s2c offer name=b.txt or=a.exe user=bob size=9\n"
	      "end 1 TRUNCATED 256+9 lost=3 all___ it\n");
	made_begin("resumed; then what is no head");
	say_oft(HALF_C2S, 0x0101, 9, 0, "a");
	say_oft(HALF_S2C, 0x0205, 9, 4, "a");
	say_oft(HALF_C2S, 0x0106, 9, 4, "a");
	say_oft(HALF_S2C, 0x0207, 9, 4, "a");
	say_bytes(HALF_C2S, "of it");
	say_bytes(HALF_C2S, "and more");
	check("file 1 c2s offer name=a size=9 from=4\n"
	      "end 1 CLOSED 512+5 of it\n"
	      "note c2s bad_line @517\n");
	made_begin("through a proxy, and an end before its own");
	from = made.length;
	made_put("\0\x0e\4\x4a\0\5\0\0\0\0\2\x20"
		 "more",
		16);
	put_oft(0x0101, 9, 0, "a", 1, 0);
	made_put_text("all");
	made_say(HALF_C2S, from);
	made_add((struct said)SAID_FIN(HALF_C2S));
	check("file 1 c2s offer name=a size=9\n"
	      "end 1 TRUNCATED 272+0 all\n");
	made_begin("lengths of heads, offsets beyond the end");
	say_oft(HALF_S2C, 0x0106, 4, 9, "a");
	say_bytes(HALF_S2C, "OFT2\xff\xff\1\1");
	check("note s2c bad_length @0\n"
	      "file 1 s2c offer name=a size=4 from=4\n"
	      "end 1 CLOSED 256+0\n"
	      "note s2c bad_line @256\n");
	made_begin("direct messages");
	from = made.length;
	{
		uint8_t head[76] = {'O', 'D', 'C', '2', 0, 76, 0, 1, 0, 6};

		head[31] = 32;
		memcpy(head + 44, "bob", 3);
		made_put(head, sizeof(head));
		made_put_text("<b>hi</b> there<BINARY>xy</DATA>");
		head[31] = 0;
		made_put(head, sizeof(head));
	}
	made_say(HALF_S2C, from);
	check("message s2c from=bob 76+15 of 76+15 text=hi there\n");
}

static void plain(enum markup_kind kind, const char *text, const char *expected)
{
	uint8_t out[256];
	uint32_t n = markup_plain(kind, (const uint8_t *)text, (uint32_t)strlen(text), out);

	assert_int_equal(n, strlen(expected));
	assert_memory_equal(out, expected, n);
}

static void test_markup(void **unused)
{
	(void)unused;
	plain(MARKUP_HTML, "<b>a</B>", "a");
	plain(MARKUP_HTML, "a<br>b<P>c", "a b c");
	plain(MARKUP_HTML, "a<!-- > -->b<!--c", "ab<!--c");
	plain(MARKUP_HTML, "a<font face='>'>b<font x='>c",
		"ab"
		"c");
	plain(MARKUP_HTML, "1 < 2 <3 <word> &amp; <", "1 < 2 <3 <word> & <");
	plain(MARKUP_HTML, "<b", "<b");
	plain(MARKUP_YAHOO, "\033[1mbl\033[#ff0000mue<font size='10'>bird</font> &lt;",
		"bluebird &lt;");
	plain(MARKUP_YAHOO, "<#00ff00>a<blue>b<FADE #1,#2>c\033[", "abc\033[");
	plain(MARKUP_YAHOO, "<ding>", "<ding>");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_texts),
		cmocka_unit_test(test_others),
		cmocka_unit_test(test_frames),
		cmocka_unit_test(test_offers),
		cmocka_unit_test(test_oft),
		cmocka_unit_test(test_markup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
