// SPDX-License-Identifier: BSD-3-Clause
// Messages and offers in XMPP's stanzas: whose they are, what a person reads of them, and where
// they lie in the stream.
#include "content/decoders.h"
#include "lib/content/conversation.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define OPEN_C                                                                        \
	SAID_C("<?xml version='1.0'?><stream:stream to='chat.example' version='1.0' " \
	       "xmlns='jabber:client' xmlns:stream='http://etherx.jabber.org/streams'>")
#define TO_BOB "<message to='bob@chat.example' type='chat'>"
#define BODY   "<body>hi</body></message>"

static const struct conversation messages[] = {
	{"a message", {SAID_C(TO_BOB BODY)},
		"message c2s to=bob@chat.example 49+2 of 0+68 text=hi\n"},
	{"of each type",
		{SAID_S("<message from='a@x' type='normal'>" BODY "<message from='a@x'>" BODY
			"<message from='a@x' type='headline'>" BODY
			"<message from='a@x' type='error'>" BODY)},
		"message s2c from=a@x 40+2 of 0+59 text=hi\n"
		"message s2c from=a@x 85+2 of 59+45 text=hi\n"
		"message s2c from=a@x 146+2 of 104+61 text=hi\n"
		"message s2c from=a@x 204+2 of 165+58 text=hi\n"},
	{"a room",
		{SAID_C("<message to='room@rooms.example' type='groupchat'>" BODY),
			SAID_S("<message from='room@rooms.example/alice' to='bob@chat.example/lab' "
			       "type='groupchat'><body xml:lang='en'>hello &lt;all&gt;</body>"
			       "</message>")},
		"message c2s to=room@rooms.example 56+2 of 0+75 text=hi\n"
		"message s2c from=room@rooms.example/alice to=bob@chat.example/lab 104+17 of 0+138 "
		"text=hello <all>\n"},
	{"two languages and a subject",
		{SAID_S("<message from='a@x'><subject>Art</subject><body>love</body><body "
			"xml:lang='cs'>l\xc3\xa1ska</body><thread>t</thread></message>")},
		"message s2c from=a@x 29+56 of 0+120 text=Art\\0alove\\0al\\c3\\a1ska\n"},
	{"XHTML-IM",
		{SAID_S("<message from='a@x'><html xmlns='http://jabber.org/protocol/xhtml-im'>"
			"<body xmlns='http://www.w3.org/1999/xhtml'><p>se<b>cre</b>t</p><p>two<br/>"
			"<i>three</i></p></body></html></message>")},
		"message s2c from=a@x 116+36 of 0+184 text=secret\\0atwo\\0athree\n"},
	{"entities and CDATA",
		{SAID_S("<message from='a@x'><body>&#115;e&#x63;r&#101;t "
			"k<![CDATA[ey<b>]]&amp;]]]]>&lt;&apos;&quot;&#x1F600;</body></message>")},
		"message s2c from=a@x 26+74 of 0+117 text=secret "
		"key<b>]]&amp;]]<'\"\\f0\\9f\\98\\80\n"},
	{"entities in addresses", {SAID_S("<message from='o&apos;neil@x' to=\"b&amp;c@y\">" BODY)},
		"message s2c from=o'neil@x to=b&c@y 51+2 of 0+70 text=hi\n"},
	{"a carbon of what another client of ours sent, and one that it got",
		{SAID_S("<message from='me@x' to='me@x/1'><sent xmlns='urn:xmpp:carbons:2'>"
			"<forwarded xmlns='urn:xmpp:forward:0'><message to='al@y' from='me@x/2'>"
			"<body>one</body></message></forwarded></sent></message>"),
			SAID_S("<message from='me@x' to='me@x/1'><received "
			       "xmlns='urn:xmpp:carbons:2'><forwarded><message to='me@x/2' "
			       "from='al@y'><body>two</body></message></forwarded></received>"
			       "</message>")},
		"message s2c from=me@x/2 to=al@y 143+3 of 0+192 text=one\n"
		"message s2c from=al@y to=me@x/2 312+3 of 192+173 text=two\n"},
	{"a message that quotes two, with a text of its own",
		{SAID_S("<message from='a@x'><body>see</body><forwarded><message from='b@x'>"
			"<body>1</body></message></forwarded><forwarded><message from='c@x'>"
			"<body>2</body></message></forwarded><subject>end</subject></message>")},
		"message s2c from=a@x 26+3 of 0+67 blank=00 text=see\n"
		"message s2c from=b@x 73+1 of 0+134 blank=00 text=1\n"
		"message s2c from=c@x 140+1 of 0+179 blank=00 text=2\n"
		"message s2c from=a@x 179+3 of 0+202 text=end\n"},
	{"a correction, an address, typing as it goes, an invitation",
		{SAID_S("<message from='a@x'><body>right</body><replace id='1'/></message>"
			"<message from='a@x'><x xmlns='jabber:x:oob'><url>http://x/y</url>"
			"<desc>look</desc></x></message>"
			"<message from='a@x'><rtt><t p='1'>let</t></rtt></message>"
			"<message from='a@x'><x><invite to='b@x'><reason>come</reason></invite></x>"
			"</message>")},
		"message s2c from=a@x 26+5 of 0+65 text=right\n"
		"message s2c from=a@x 114+26 of 65+96 text=http://x/y\\0alook\n"
		"message s2c from=a@x 195+3 of 161+57 text=let\n"
		"message s2c from=a@x 266+4 of 218+84 text=come\n"},
	{"nothing to read",
		{SAID_S("<message from='a@x'><composing/></message><message from='a@x'><body/>"
			"<subject></subject></message><message><x><reason>no</reason></x>"
			"<event><body>no</body></event></message> \n\t<iq><body>no</body></iq>"
			"<presence><status>no</status></presence>")},
		""},
	{"names with prefixes",
		{SAID_S("<c:message xmlns:c='jabber:client' x:from='no@x' from='a@x'><c:body>hi"
			"</c:body></c:message>")},
		"message s2c from=a@x 68+2 of 0+91 text=hi\n"},
	{"blanks in tags, either quote, a bracket in an address",
		{SAID_S("<message\n from = \"a@x/'>\"\tto\n=\n'b@y' ><body\n>hi</body\n></message "
			">")},
		"message s2c from=a@x/'> to=b@y 45+2 of 0+66 text=hi\n"},
	{"characters of UTF-8 wherever they are cut",
		{SAID_S("<message from='a@x'><body>\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80</body>"
			"</message>")},
		"message s2c from=a@x 26+9 of 0+52 text=\\c3\\a9\\e2\\82\\ac\\f0\\9f\\98\\80\n"},
	{"bytes that are no UTF-8 are reported as they are",
		{SAID_S("<message from='a@x'><body>caf\xe9</body></message>")},
		"message s2c from=a@x 26+4 of 0+47 text=caf\\e9\n"},
};

#define TEN      "0123456789"
#define HUNDRED  TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN
#define THOUSAND HUNDRED HUNDRED HUNDRED HUNDRED HUNDRED HUNDRED HUNDRED HUNDRED HUNDRED HUNDRED

static const struct conversation longer[] = {
	{"longer than is reported at once",
		{SAID_S("<message from='a@x'><body>" THOUSAND THOUSAND HUNDRED
			"&#x1F600;abcdefgh</body></message>")},
		"message s2c from=a@x 26+2117 of 0+2160 text=(2112)..abcdefgh\n"},
	{"a long nick, and a room that is too long",
		{SAID_S("<message from='r@x/" HUNDRED HUNDRED "'>" BODY
			"<message from='" HUNDRED HUNDRED "@x'>" BODY)},
		"message s2c from=(128)..67890123 227+2 of 0+246 text=hi\n"
		"note s2c head_too_long @465\n"
		"message s2c from=(128)..01234567 471+2 of 246+244 text=hi\n"},
};

// Who the client is.
static const struct conversation identities[] = {
	{"bound by its server",
		{OPEN_C, SAID_S("<?xml version='1.0'?><stream:stream from='chat.example'>"),
			SAID_S("<iq type='result' id='b'><bind xmlns='urn:ietf:params:xml:ns:xmpp-"
			       "bind'><jid>anna@chat.example/lab</jid></bind></iq>"),
			SAID_C(TO_BOB BODY), SAID_S("<message from='x@y' to='other@z'>" BODY),
			SAID_C("<message>" BODY), SAID_S("<message from='bob@chat.example'>" BODY)},
		"message c2s from=anna@chat.example/lab to=bob@chat.example 187+2 of 138+68 "
		"text=hi\n"
		"message s2c from=x@y to=other@z 211+2 of 172+58 text=hi\n"
		"message c2s from=anna@chat.example/lab 221+2 of 206+34 text=hi\n"
		"message s2c from=bob@chat.example to=anna@chat.example/lab 269+2 of 230+58 "
		"text=hi\n"},
	{"whom the server writes to",
		{SAID_S("<iq to='anna@chat.example/1'/>"), SAID_C(TO_BOB BODY),
			SAID_S("<presence to='chat.example'/>"), SAID_C(TO_BOB BODY)},
		"message c2s from=anna@chat.example/1 to=bob@chat.example 49+2 of 0+68 text=hi\n"
		"message c2s from=anna@chat.example/1 to=bob@chat.example 117+2 of 68+68 "
		"text=hi\n"},
	{"who logs in by PLAIN, until the server says another",
		{OPEN_C,
			SAID_C("<auth xmlns='urn:ietf:params:xml:ns:xmpp-sasl' mechanism='PLAIN'>"
			       "AGFubmEAc2VjcmV0</auth>"),
			SAID_S("<success/>"), OPEN_C, SAID_C(TO_BOB BODY),
			SAID_S("<iq to='bea@chat.example'/>"), SAID_C(TO_BOB BODY)},
		"message c2s from=anna@chat.example to=bob@chat.example 413+2 of 364+68 text=hi\n"
		"message c2s from=bea@chat.example to=bob@chat.example 481+2 of 432+68 text=hi\n"},
	{"who acts as another, by PLAIN",
		{OPEN_C, SAID_C("<auth mechanism='PLAIN'>am9lQHgAYW5uYQBzZWNyZXQ=</auth>"),
			SAID_C(TO_BOB BODY)},
		"message c2s from=joe@x to=bob@chat.example 242+2 of 193+68 text=hi\n"},
	{"PLAIN that is none, another mechanism, and what the client binds itself to",
		{OPEN_C, SAID_C("<auth mechanism='PLAIN'>YWJj</auth><auth mechanism='SCRAM-SHA-1'>"
				"AGFubmEAc2VjcmV0</auth><auth mechanism='PLAIN'>AAA=</auth>"
				"<iq><bind><jid>root@x</jid></bind></iq>" TO_BOB BODY)},
		"message c2s to=bob@chat.example 349+2 of 300+68 text=hi\n"},
};

#define BYTESTREAMS "xmlns='http://jabber.org/protocol/bytestreams'"
#define FROM_AL     "<iq from='al@b.example/y' to='me@a.example/x' type='set'>"

// As the decoder of app/classify tells it (test_classify_offers.c).
static const struct conversation offers[] = {
	{"stream initiation, and by Jingle",
		{SAID_S("<iq type='result' to='me@a.example/x' id='bind'/>"),
			SAID_C("<iq type='set' to='al@b.example/y' id='1'><si id='s1' "
			       "profile='http://jabber.org/protocol/si/profile/"
			       "file-transfer'><file "
			       "name='my &gt; file.txt' size='77'><desc>x</desc></file></si></iq>"),
			SAID_S("<message from='c@d' to='me@a.example/x'><body>a > b</body>"
			       "</message>"),
			SAID_C("<iq type='set' to='al@b.example/y' id='2'><query " BYTESTREAMS
			       " sid='s1' mode='tcp'><streamhost jid='me@a.example/x' "
			       "host='10.0.0.1' port='8010'/><streamhost jid='proxy' "
			       "host=\"10.0.0.99\" port='5000'/><streamhost jid='named' "
			       "host='proxy.example' port='5000'/></query></iq>"),
			SAID_S(FROM_AL
				"<jingle xmlns='urn:xmpp:jingle:1' action='session-initiate' "
				"sid='j2'><content name='f'><description "
				"xmlns='urn:xmpp:jingle:apps:file-transfer:5'><file><name>f.iso"
				"</name><media-type>x</media-type><size>4096</size></file>"
				"</description><transport sid='vj'><candidate cid='1' "
				"host='2001:db8::9' port='5086' type='direct'/></transport>"
				"</content></jingle></iq>"),
			SAID_C("<iq to='al@b.example/y' type='set'><jingle action='session-accept' "
			       "sid='j2'><content><description><file><name>f.iso</name></file>"
			       "</description><transport><candidate host='10.0.0.1' port='5087'/>"
			       "</transport></content></jingle></iq>"),
			SAID_S("<iq from='al@b.example/y' type='set'><query " BYTESTREAMS
			       " sid='other'><streamhost host='10.0.0.98' port='5088'/></query>"
			       "</iq>")},
		"file 1 c2s offer elsewhere name=my > file.txt user=me@a.example/x size=77\n"
		"message s2c from=c@d to=me@a.example/x 95+5 of 49+68 text=a > b\n"
		"expect 10.0.0.1:8010 from any as socks5 l4=6 app=8 file s2c name=my > file.txt "
		"user=me@a.example/x size=77\n"
		"expect 10.0.0.99:5000 from 10.0.0.1 as socks5 l4=6 app=8 file c2s name=my > "
		"file.txt "
		"user=me@a.example/x size=77\n"
		"file 2 s2c offer elsewhere name=f.iso user=al@b.example/y size=4096\n"
		"expect 2001:db8:0:0:0:0:0:9:5086 from 10.0.0.1 as socks5 l4=6 app=8 file s2c "
		"name=f.iso "
		"user=al@b.example/y size=4096\n"
		"expect 10.0.0.1:5087 from any as socks5 l4=6 app=8 file c2s name=f.iso "
		"user=me@a.example/x "
		"size=4096\n"
		"expect 10.0.0.98:5088 from 10.0.0.1 as socks5 l4=6 app=8 user=al@b.example/y\n"},
	{"hosts that nobody may name",
		{SAID_S("<iq><streamhost host='10.0.0.99' port='443'/>"
			"<streamhost host='10.0.0.1' port='5000'/>"
			"<streamhost host='10.0.0.999' port='5000'/>"
			"<streamhost host='10.0.0.99' port='70000'/>"
			"<streamhost host='10.0.0.99' port='-1'/><streamhost host='10.0.0.99'/>"
			"<a b=\"&lt;streamhost host='10.0.0.99' port='5000'/>\"/></iq>")},
		""},
	{"an upload by HTTP, as it was and as it is",
		{SAID_C("<iq to='up.x'><request xmlns='urn:xmpp:http:upload:0' "
			"filename='tr&#232;s.exe' size='23456'/></iq>"
			"<iq><request xmlns='urn:xmpp:http:upload'><filename>a/b.jpg</filename>"
			"<size>9</size></request></iq>"
			"<message><request xmlns='urn:xmpp:receipts'/></message>")},
		"file 1 c2s offer elsewhere name=tr\\c3\\a8s.exe size=23456\n"
		"file 2 c2s offer elsewhere name=b.jpg path=a/ size=9\n"},
	{"a file that is asked for, and one in a message",
		{SAID_S(FROM_AL "<jingle action='session-initiate' sid='1'><content "
				"senders='responder'><description><file><name>x.exe</name></file>"
				"</description></content></jingle></iq>"
				"<message from='a@x'><file-sharing><file><media-type>image/png"
				"</media-type><name>p.png</name><size>no</size></file>"
				"</file-sharing></message>")},
		"file 1 c2s offer elsewhere name=x.exe user=al@b.example/y\n"
		"file 2 s2c offer elsewhere name=p.png user=a@x\n"},
	{"the end of a long name is kept",
		{SAID_S(FROM_AL "<si id='1'><file name='" THOUSAND HUNDRED ".exe'/></si></iq>"),
			SAID_S(FROM_AL
				"<jingle action='content-add' sid='1'><file><name>" THOUSAND HUNDRED
				".scr</name></file></jingle></iq>")},
		"file 1 s2c offer elsewhere name=(848)..6789.exe cut user=al@b.example/y\n"
		"file 2 s2c offer elsewhere name=(848)..6789.scr cut user=al@b.example/y\n"},
	{"a second name of a file, and a file inside of one",
		{SAID_S(FROM_AL "<jingle action='session-initiate' sid='1'><file><name>x.exe</name>"
				"<name>y.txt</name></file></jingle></iq>"),
			SAID_C("<iq><jingle action='session-initiate' sid='2'><file>"
			       "<name>x.exe</name><file><name>y.txt</name></file></file></jingle></"
			       "iq>")},
		"note s2c two_names @129\n"
		"file 1 s2c offer elsewhere name=y.txt user=al@b.example/y\n"
		"note c2s two_names @76\n"
		"file 2 c2s offer elsewhere name=y.txt user=me@a.example/x\n"},
	{"a number that is longer than any",
		{SAID_C("<iq><request "
			"xmlns='urn:xmpp:http:upload'><filename>a</filename><size>" THOUSAND
			"</size></request></iq>")},
		"note c2s head_too_long @1077\n"
		"file 1 c2s offer elsewhere name=a\n"},
	{"no name, and files that are no offer",
		{SAID_C("<iq><si id='1'><file size='1'/></si></iq><iq><file name='a'/></iq>"
			"<iq><name>b</name></iq>")},
		""},
};

#define TEST(table)                                                                        \
	static void test_##table(void **state)                                             \
	{                                                                                  \
		(void)state;                                                               \
		conversations_check(&content_xmpp, table, sizeof(table) / sizeof(*table)); \
	}
TEST(messages)
TEST(longer)
TEST(identities)
TEST(offers)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_messages),
		cmocka_unit_test(test_longer),
		cmocka_unit_test(test_identities),
		cmocka_unit_test(test_offers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
