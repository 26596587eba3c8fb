// SPDX-License-Identifier: BSD-3-Clause
// XMPP's streams where they begin anew, change to what is no XML, lack bytes, or are not what XML
// allows; and limits that a hostile sender meets.
#include "content/decoders.h"
#include "lib/content/conversation.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define STREAM "<stream:stream xmlns:stream='http://etherx.jabber.org/streams'>"
#define M(n)   "<message from='a@x'><body>" n "</body></message>"

static const struct conversation streams[] = {
	{"streams that begin anew, and end",
		{SAID_S("<?xml version=\"1.0\" encoding=\"UTF-8\" ?>" STREAM
			"<stream:features><mechanisms/></stream:features>" STREAM M("1") " " M(
				"2") "</stream:stream>")},
		"message s2c from=a@x 239+1 of 213+44 text=1\n"
		"message s2c from=a@x 284+1 of 258+44 text=2\n"},
	{"STARTTLS",
		{SAID_C("<starttls/>"),
			SAID_S("<proceed xmlns='urn:ietf:params:xml:ns:xmpp-tls'/>"),
			SAID_C("\x16\x03\x01\x02<message><body>x</body></message>")},
		"note s2c tls @50\n"},
	{"XML behind STARTTLS is read", {SAID_S("<proceed/>"), SAID_C(M("1")), SAID_S(M("2"))},
		"note s2c tls @10\n"
		"message c2s from=a@x 26+1 of 0+44 text=1\n"
		"message s2c from=a@x 36+1 of 10+44 text=2\n"},
	{"STARTTLS that fails, and a client's own word",
		{SAID_C("<proceed/><compressed/>"), SAID_S("<failure/>"), SAID_C(M("1")),
			SAID_S("<iq><proceed/></iq>")},
		"message c2s from=a@x 49+1 of 23+44 text=1\n"},
	{"compression",
		{SAID_C("<compress><method>zlib</method></compress>"),
			SAID_S("<compressed xmlns='http://jabber.org/protocol/compress'/>"),
			SAID_C("x\xda<message>")},
		"note s2c compressed @57\n"},
	{"TLS from the first byte", {SAID_C("\x16\x03\x01\x02"), SAID_S(M("1"))},
		"note c2s tls @0\n"},
	{"TLS whose beginning was not seen", {SAID_C(" \x16\x03\x01\x02"), SAID_S(M("1"))},
		"note c2s tls @1\n"},
	{"another protocol on its port", {SAID_C("\x05\x01\x00"), SAID_S(M("1"))}, ""},
	{"... of letters", {SAID_C("WA\2\1"), SAID_S(M("1"))}, ""},
	{"framing of WebSocket",
		{SAID_C("<open xmlns='urn:ietf:params:xml:ns:xmpp-framing' to='x'/>" M(
			"1") "<close xmlns='urn:ietf:params:xml:ns:xmpp-framing' />")},
		"message c2s from=a@x 84+1 of 58+44 text=1\n"},
	{"the end of a flow", {SAID_S("<message from='a@x'><body>half")},
		"message s2c from=a@x 26+4 of 0+30 blank=00 text=half\n"},
};

static const struct conversation losses[] = {
	{"in the middle, of a tag, a text, an element",
		{SAID_MIDSTREAM(HALF_S2C, "to='x'>aha<body>no</body></message>" M("1")),
			SAID_MIDSTREAM(HALF_C2S, "</x><iq><a/></iq></iq>" M("2"))},
		"message s2c from=a@x 1061+1 of 1035+44 text=1\n"
		"message c2s from=a@x 1048+1 of 1022+44 text=2\n"},
	{"a gap in a text, and what is forwarded goes on",
		{SAID_S("<message from='a@x'><body>ab"), SAID_GAP(HALF_S2C, 10),
			SAID_S("yz</body></message><received><forwarded>" M(
				"1") "</forwarded></received></message>" M("2"))},
		"message s2c from=a@x 26+2 of 0+28 blank=00 text=ab\n"
		"message s2c from=a@x 104+1 of 78+44 text=1\n"
		"message s2c from=a@x 181+1 of 155+44 text=2\n"},
	{"a gap in a tag, and between stanzas",
		{SAID_S("<message fr"), SAID_GAP(HALF_S2C, 10), SAID_S("'>" M("1")),
			SAID_GAP(HALF_S2C, 7), SAID_S(M("2"))},
		"message s2c from=a@x 49+1 of 23+44 text=1\n"
		"message s2c from=a@x 100+1 of 74+44 text=2\n"},
	{"what looks like a stanza is none",
		{SAID_MIDSTREAM(
			HALF_S2C, "<messages><message-x/><x:iqq>< message> <<presence/>" M("1"))},
		"message s2c from=a@x 1078+1 of 1052+44 text=1\n"},
	{"a stream that begins anew behind a gap, with a prefix",
		{SAID_GAP(HALF_S2C, 10),
			SAID_S("x>" STREAM "<c:message from='a@x'><c:body>1</c:body></c:message>")},
		"message s2c from=a@x 105+1 of 75+52 text=1\n"},
	{"encrypted in the middle",
		{SAID_MIDSTREAM(HALF_S2C, "\x17\x03\x03<message>"), SAID_C(M("1"))},
		"note s2c tls @1000\n"},
	{"no text in the middle", {SAID_MIDSTREAM(HALF_S2C, "abc\x01<message>"), SAID_C(M("1"))},
		"note s2c upgrade @1003\n"},
	{"a gap at the first byte of another charset",
		{SAID_C("\xff"), SAID_GAP(HALF_C2S, 3), SAID_C(M("1"))},
		"message c2s from=a@x 30+1 of 4+44 text=1\n"},
};

// Of each kind the first in a half is noted.
static const struct conversation faults[] = {
	{"a comment", {SAID_S("<iq><!-- <message><body>x</body></message> --></iq>" M("1"))},
		"note s2c bad_xml @6\n"
		"message s2c 24+1 of 9+33 text=x\n"
		"message s2c from=a@x 77+1 of 51+44 text=1\n"},
	{"a document type", {SAID_S("<!DOCTYPE x [<!ENTITY a 'b'>]>" M("1"))},
		"note s2c bad_xml @1\n"
		"message s2c from=a@x 56+1 of 30+44 text=1\n"},
	{"an instruction", {SAID_S("<?php x?>" M("1"))},
		"note s2c bad_xml @5\n"
		"message s2c from=a@x 35+1 of 9+44 text=1\n"},
	{"an instruction in a stanza, and a declaration",
		{SAID_S("<iq><?x?></iq>" M("1") "<iq><?xml version='1.0'?></iq>")},
		"note s2c bad_xml @5\n"
		"message s2c from=a@x 40+1 of 14+44 text=1\n"},
	{"another encoding", {SAID_S("<?xml encoding='iso-8859-1'?>" M("1"))},
		"note s2c bad_xml @29\n"
		"message s2c from=a@x 55+1 of 29+44 text=1\n"},
	{"an entity that XML has not", {SAID_S("<message><body>a&nbsp;b</body></message>" M("1"))},
		"note s2c bad_xml @21\n"
		"message s2c 15+1 of 0+21 blank=00 text=a\n"
		"message s2c from=a@x 66+1 of 40+44 text=1\n"},
	{"an ampersand", {SAID_S("<iq>a & b</iq>" M("1"))},
		"note s2c bad_xml @7\n"
		"message s2c from=a@x 40+1 of 14+44 text=1\n"},
	{"references to no character",
		{SAID_S("<iq>&#0;</iq>" M("1")),
			SAID_C("<iq>&#xD800;</iq>" M(
				"2") "<iq>&#x110000;</iq>"
				     "<iq>&#;</iq><iq>&#xg;</iq><iq>&#00000000000065;</iq><iq>&;</"
				     "iq>" M("3"))},
		"note s2c bad_xml @7\n"
		"message s2c from=a@x 39+1 of 13+44 text=1\n"
		"note c2s bad_xml @11\n"
		"message c2s from=a@x 43+1 of 17+44 text=2\n"
		"message c2s from=a@x 169+1 of 143+44 text=3\n"},
	{"ends of other elements", {SAID_S("<message><body>ab</x></message>" M("1"))},
		"note s2c bad_xml @20\n"
		"message s2c 15+2 of 0+20 blank=00 text=ab\n"
		"message s2c from=a@x 57+1 of 31+44 text=1\n"},
	{"an end too many", {SAID_S("<iq></iq></iq>" M("1"))},
		"note s2c bad_xml @14\n"
		"message s2c from=a@x 40+1 of 14+44 text=1\n"},
	{"elements in a text", {SAID_S("<message><body>ab<i>cd</i>ef</body></message>")},
		"note s2c bad_xml @20\n"
		"message s2c 15+13 of 0+45 text=abcdef\n"},
	{"attributes that are none",
		{SAID_S("<message a=b>" M("1")),
			SAID_C("<message from='a' from='b'>" M("2") "<message a='<x'>" M(
				"3") "<message a='b'c='d'>" M("4"))},
		"note s2c bad_xml @11\n"
		"message s2c from=a@x 39+1 of 13+44 text=1\n"
		"note c2s bad_xml @23\n"
		"message c2s from=a@x 53+1 of 27+44 text=2\n"
		"message c2s from=a@x 113+1 of 87+44 text=3\n"
		"message c2s from=a@x 177+1 of 151+44 text=4\n"},
	{"text between stanzas", {SAID_S("<iq/>text" M("1"))},
		"note s2c bad_xml @5\n"
		"message s2c from=a@x 35+1 of 9+44 text=1\n"},
	{"UTF-16, from the first byte", {SAID_C("\xff\xfe<\0m\0"), SAID_S(M("1"))},
		"note c2s bad_xml @1\n"
		"note c2s upgrade @3\n"},
	{"UTF-16 without a mark", {SAID_C("\0<\0m"), SAID_S(M("1"))},
		"note c2s bad_xml @1\n"
		"note c2s upgrade @2\n"},
	{"a mark of UTF-8", {SAID_C("\xef\xbb\xbf" M("1"))},
		"note c2s bad_xml @1\n"
		"message c2s from=a@x 29+1 of 3+44 text=1\n"},
	{"NUL in a text", {SAID_S("<message><body>a\0b</body></message>")},
		"note s2c bad_xml @16\n"
		"message s2c 15+1 of 0+16 blank=00 text=a\n"
		"note s2c upgrade @16\n"},
	{"a control character in CDATA", {SAID_S("<iq><![CDATA[\1")},
		"note s2c bad_xml @13\n"
		"note s2c upgrade @13\n"},
	{"a control character in a value", {SAID_C("<iq a='\2")},
		"note c2s bad_xml @7\n"
		"note c2s upgrade @7\n"},
	{"what only begins like CDATA", {SAID_S("<iq><![CDATE[x]]></iq>" M("1"))},
		"note s2c bad_xml @11\n"
		"message s2c from=a@x 48+1 of 22+44 text=1\n"},
};

#define TAG    "<abcdefg>"
#define TAG8   TAG TAG TAG TAG TAG TAG TAG TAG
#define END    "</abcdefg>"
#define END8   END END END END END END END END
#define TEN    "0123456789"
#define LONG   TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN
#define LONGER LONG LONG LONG LONG LONG LONG LONG LONG LONG LONG
#define NINE_K LONGER LONGER LONGER LONGER LONGER LONGER LONGER LONGER LONGER

static const struct conversation limits[] = {
	{"elements inside of elements",
		{SAID_S("<message from='a@x'>" TAG8 TAG8 TAG8 TAG8 TAG8 TAG8 TAG8 TAG8
			"<body>x</body>" END8 END8 END8 END8 END8 END8 END8 END8
			"<body>1</body></message>" M("2"))},
		"note s2c head_too_long @596\n"
		"message s2c from=a@x 1256+1 of 0+1274 text=1\n"
		"message s2c from=a@x 1300+1 of 1274+44 text=2\n"},
	{"messages inside of messages",
		{SAID_S("<message from='a@x'><message from='b@x'><message from='c@x'>"
			"<message from='d@x'><message from='e@x'><body>5</body></message></message>"
			"<body>3</body></message></message><body>1</body></message>")},
		"note s2c head_too_long @100\n"
		"message s2c from=e@x 106+1 of 0+140 blank=00 text=5\n"
		"message s2c from=c@x 140+1 of 0+174 blank=00 text=3\n"
		"message s2c from=a@x 174+1 of 0+192 text=1\n"},
	{"a tag that is too long, with an address behind",
		{SAID_S("<message a='" NINE_K "' from='a@x'><body>1</body></message>" M("2"))},
		"note s2c head_too_long @8192\n"
		"message s2c from=a@x 9031+1 of 0+9049 text=1\n"
		"message s2c from=a@x 9075+1 of 9049+44 text=2\n"},
	{"a name that is too long",
		{SAID_S("<message from='a@x'><a" LONG LONG " b" LONG "='" LONG
			"'/><body>1</body></message>")},
		"message s2c from=a@x 435+1 of 0+453 text=1\n"},
};

#define TEST(table)                                                                        \
	static void test_##table(void **state)                                             \
	{                                                                                  \
		(void)state;                                                               \
		conversations_check(&content_xmpp, table, sizeof(table) / sizeof(*table)); \
	}
TEST(streams)
TEST(losses)
TEST(faults)
TEST(limits)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_streams),
		cmocka_unit_test(test_losses),
		cmocka_unit_test(test_faults),
		cmocka_unit_test(test_limits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
