// SPDX-License-Identifier: BSD-3-Clause
// Direct Connect as hubs and clients speak it: chat, searches, transfers of NMDC and ADC.
#include "content/decoders.h"
#include "lib/content/conversation.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdio.h>
#include <zlib.h>

#define LOCK  "$Lock EXTENDEDPROTOCOLABCABCABCABCABCABC Pk=DCPLUSPLUS0.674|"
#define ROOT  "LWPNACQDBZRYXW3VHJVCJ64QBZNGHOHHHZWCLNQ"
#define ROOT2 "7ZO4ZDSUOCZSCBEMRB55SKYYOFTJTKMDRQTZQKI"
#define HI_C  "$MyNick alice|" LOCK
#define HI_S  "$MyNick bob|" LOCK "$Supports ADCGet TTHF ZLIG |$Direction Upload 1|$Key x|"
#define ASK_C "$Supports ADCGet TTHF ZLIG |$Direction Download 2|$Key x|"

static const struct conversation hubs[] = {
	{"a hub of NMDC",
		{SAID_S(LOCK "$HubName lab|"), SAID_C("$Key x|$ValidateNick alice|"),
			SAID_S("$Hello alice|"),
			SAID_C("$MyINFO $ALL alice <++ V:0.674>$ $DSL\1$$0$|<alice> hello all|"),
			SAID_S("$NickList alice$$bob$$|<bob> hi|is in the room|"),
			SAID_C("$To: bob From: alice $<alice> psst|"),
			SAID_S("$To: alice From: bob $<bob> a&#36;b&#124;c &amp; d|"),
			SAID_S("$MCTo: alice $bob quietly|")},
		"message c2s from=alice 78+9 of 70+17 text=hello all\n"
		"message s2c from=bob 115+2 of 109+8 text=hi\n"
		"message s2c 118+14 of 118+14 text=is in the room\n"
		"message c2s from=alice to=bob 118+4 of 88+34 text=psst\n"
		"message s2c from=bob to=alice 161+22 of 133+50 text=a$b|c & d\n"
		"message s2c from=bob to=alice 202+7 of 184+25 text=quietly\n"},
	{"before anything is said of a hub",
		{SAID_S("<Hub-Security> full|\r\n<Hub> \r\nmore|"), SAID_C("|<x>|<y> |* z waves|")},
		"message s2c from=Hub-Security 15+4 of 0+19 text=full\n"
		"message s2c 20+14 of 20+14 text=\\0d\\0a<Hub> \\0d\\0amore\n"
		"message c2s 10+9 of 10+9 text=* z waves\n"},
	{"searches and their results",
		{SAID_C("$ValidateNick a|$Search Hub:a F?T?0?9?TTH:" ROOT
			"|$Search 1.2.3.4:5 F?T?0?1?some$file|$SA " ROOT2 " a|"),
			SAID_S("$SR bob dir\\sub\\a b.exe\5"
			       "1000 1/3\5TTH:" ROOT " (1.2.3.4:411)|"
			       "$SR bob dir\\old.exe\5"
			       "7 1/3\5Hub name (1.2.3.4)\5a|"
			       "$SR bob dir\\folder\5"
			       "1/3\5TTH: (1.2.3.4)|$SR bob x\5 9 1|$SR|$SR bob|")},
		"id c2s tth:" ROOT "\n"
		"id c2s tth:" ROOT2 "\n"
		"id s2c tth:" ROOT "\n"
		"file 1 s2c offer elsewhere name=a b.exe path=dir\\5csub\\5c user=bob size=1000 "
		"whole=tth:" ROOT "\n"
		"file 2 s2c offer elsewhere name=old.exe path=dir\\5c user=bob size=7\n"},
	{"a result over UDP",
		{SAID_DATAGRAM_C("$SR bob a.exe\5"
				 "1 1/3\5TTH:" ROOT " (1.2.3.4:411)|"),
			SAID_DATAGRAM_C("$SR bob a."),
			SAID_DATAGRAM_C("URES CIDCID FNx/b.exe SI2 TR" ROOT " SL1\n")},
		"id c2s tth:" ROOT "\n"
		"file 1 c2s offer elsewhere name=a.exe user=bob size=1 whole=tth:" ROOT "\n"
		"id c2s tth:" ROOT "\n"
		"file 2 c2s offer elsewhere name=b.exe path=x/ user=CIDCID size=2 whole=tth:" ROOT
		"\n"},
	{"a hub of ADC",
		{SAID_C("HSUP ADBASE ADTIGR\n"), SAID_S("ISUP ADBASE\nISID AAAB\nIINF NIlab\n"),
			SAID_C("BINF AAAB NIalice\\sb SL3\n"),
			SAID_S("BINF AAAB NIalice\\sb\nBINF AAAC NIbob\n"),
			SAID_C("BMSG AAAB hello\\sall\\\\\n"),
			SAID_S("EMSG AAAC AAAB psst PMAAAC\nIMSG welcome\nFMSG AAAC +TCP4 -NAT0 "
			       "hm\n"),
			SAID_C("\n\nDMSG AAAB AAAX to\\nyou ME1\nBMSG AAAB\nBMSG\nBMSGX y\n"),
			SAID_C("FSCH AAAB +TCP4 TR" ROOT " TO1\n"),
			SAID_S("DRES AAAC AAAB FNd/a\\sb.exe SI5 SL1 TR" ROOT
			       " TO1\nDRES AAAC AAAB FNd/ SI5\n")},
		"message c2s from=alice b 54+12 of 44+22 blank=0a text=hello all\\5c\n"
		"message s2c from=bob to=alice b 85+4 of 70+26 blank=0a text=psst\n"
		"message s2c 102+7 of 97+12 blank=0a text=welcome\n"
		"message s2c from=bob 132+2 of 110+24 blank=0a text=hm\n"
		"message c2s from=alice b to=AAAX 84+7 of 69+26 blank=0a text=to\\0ayou\n"
		"id c2s tth:" ROOT "\n"
		"id s2c tth:" ROOT "\n"
		"file 1 s2c offer elsewhere name=a b.exe path=d/ user=bob size=5 whole=tth:" ROOT
		"\n"},
	{"compressed from there on",
		{SAID_S(LOCK), SAID_C("$ValidateNick a|"), SAID_S("$Hello a|$ZOn|x\x9c<b> hi|"),
			SAID_C("<a> hi|")},
		"note s2c compressed @69\n"
		"message c2s from=a 20+2 of 16+6 text=hi\n"},
	{"a gap, behind which chat goes on",
		{SAID_S(LOCK "$HubName lab|"), SAID_C("$ValidateNick a|<a> h"),
			SAID_GAP(HALF_C2S, 9), SAID_C("i|<a> you|"), SAID_FIN(HALF_C2S),
			SAID_FIN(HALF_S2C)},
		"message c2s from=a 20+1 of 16+5 text=h\n"
		"message c2s from=a 36+3 of 32+7 text=you\n"},
	{"lines that go on: a nick, an escape, an entity, and what breaks off",
		{SAID_S(LOCK "$HubName lab|"), SAID_C("$ValidateNick a|<a> x &amp; y|<a> &am"),
			SAID_FIN(HALF_C2S), SAID_S("<bob> it goes|$To: a From: bob $<bob> no e"),
			SAID_GAP(HALF_S2C, 3), SAID_S("|<bo"), SAID_FIN(HALF_S2C)},
		"message c2s from=a 20+9 of 16+13 text=x & y\n"
		"message s2c from=bob 79+7 of 73+13 text=it goes\n"
		"message s2c from=bob to=a 111+4 of 87+28 text=no e\n"},
	{"... of ADC",
		{SAID_C("HSUP ADBASE\n"),
			SAID_S("ISUP ADBASE\nBMSG AAAB a\\sb\\\\ ME1\nBMSG AAAB c\\"),
			SAID_GAP(HALF_S2C, 3), SAID_S("\nBINF AAAB NIx\nBMSG AAAB")},
		"message s2c from=AAAB 22+6 of 12+20 blank=0a text=a b\\5c\n"
		"message s2c from=AAAB 43+2 of 33+12 blank=0a text=c\\5c\n"},
	{"joined",
		{SAID_MIDSTREAM(HALF_S2C, "o|<bob> no|$Hello x|<bob> hi|"),
			SAID_MIDSTREAM(HALF_C2S, "lo|<a> no|$MyINFO $ALL a|<a> hi|")},
		"message s2c from=bob 1026+2 of 1020+8 text=hi\n"
		"message c2s from=a 1007+2 of 1003+6 text=no\n"
		"message c2s from=a 1029+2 of 1025+6 text=hi\n"},
	{"ADC, joined", {SAID_MIDSTREAM(HALF_S2C, "SG x|y\nBMSG AAAC hi\n")},
		"message s2c from=AAAC 1017+2 of 1007+12 blank=0a text=hi\n"},
};

static const struct conversation transfers[] = {
	{"by the root of its tree, all of it",
		{SAID_C(HI_C), SAID_S(HI_S), SAID_C(ASK_C "$ADCGET file TTH/" ROOT " 0 -1|"),
			SAID_S("$ADCSND file TTH/" ROOT " 0 9|some|file$MaxedOut|"),
			SAID_C("$ADCGET file TTH/" ROOT2 " 65536 65536 ZL1|"),
			SAID_S("$ADCSND file TTH/" ROOT2 " 65536 65536|ab")},
		"id c2s tth:" ROOT "\n"
		"file 1 s2c none path=TTH/" ROOT " size=9 whole=tth:" ROOT "\n"
		"end 1 CLOSED 188+9 some|file\n"
		"id c2s tth:" ROOT2 "\n"
		"file 2 s2c none path=TTH/" ROOT2 " whole=tth:" ROOT2 " from=65536\n"
		"end 2 TRUNCATED 276+2 ab\n"},
	{"its last part, and an end that no part has",
		{SAID_C(HI_C "$ADCGET file TTH/" ROOT " 65536 -1|"), SAID_S("$MyNick bob|"),
			SAID_S("$ADCSND file TTH/" ROOT " 65536 2|ab"),
			SAID_C("$ADCGET file TTH/" ROOT " 0 3|"),
			SAID_S("$ADCSND file TTH/" ROOT " 0 3|abc")},
		"id c2s tth:" ROOT "\n"
		"file 1 s2c none path=TTH/" ROOT " size=65538 whole=tth:" ROOT
		"/unknown from=65536\n"
		"end 1 CLOSED 77+2 ab\n"
		"id c2s tth:" ROOT "\n"
		"file 2 s2c none path=TTH/" ROOT " size=3 whole=tth:" ROOT "\n"
		"end 2 CLOSED 140+3 abc\n"},
	{"by its path, a list, leaves of a tree, and what is no root",
		{SAID_C(HI_C "$ADCGET file /dir/a\\ b.exe 0 -1|"),
			SAID_S("$MyNick bob|$ADCSND file /dir/a\\ b.exe 0 2|ab"),
			SAID_C("$ADCGET tthl TTH/" ROOT " 0 -1|"),
			SAID_S("$ADCSND tthl TTH/" ROOT " 0 5|a|$b|$ADCSND file TTH/ABC 0 1|x"
			       "$ADCSND file files.xml.bz2 0 4|BZh9$ADCSND list / 0 6|<xml/>"),
			SAID_FIN(HALF_S2C)},
		"file 1 s2c command name=a b.exe path=/dir/ size=2\n"
		"end 1 CLOSED 43+2 ab\n"
		"file 2 s2c none path=TTH/ABC size=1\n"
		"end 2 CLOSED 136+1 x\n"
		"file 3 s2c command name=files.xml.bz2 size=4\n"
		"end 3 CLOSED 168+4 BZh9\n"
		"file 4 s2c none path=/ size=6\n"
		"end 4 CLOSED 191+6 <xml/>\n"},
	{"ADC, the other way round",
		{SAID_C("CSUP ADBASE ADTIGR ADBZIP ADZLIG\n"), SAID_S("CSUP ADBASE\nCINF IDX\n"),
			SAID_C("CINF IDY TO1\n"), SAID_S("CGET file TTH/" ROOT " 0 -1\n"),
			SAID_C("CSND file TTH/" ROOT
			       " 0 3\nabcCSND file d/a\\sb.exe 0 1\nxCMSG hi\n")},
		"id s2c tth:" ROOT "\n"
		"file 1 c2s none path=TTH/" ROOT " size=3 whole=tth:" ROOT "\n"
		"end 1 CLOSED 104+3 abc\n"
		"file 2 c2s command name=a b.exe path=d/ size=1\n"
		"end 2 CLOSED 132+1 x\n"
		"message c2s 138+2 of 133+7 blank=0a text=hi\n"},
	{"in the older way",
		{SAID_C(HI_C "$Get dir\\a$b.exe$1|"), SAID_S("$MyNick bob|$FileLength 5|"),
			SAID_C("$Send|"), SAID_S("ab|cd"), SAID_C("$Get dir\\c.exe$3|"),
			SAID_S("$FileLength 5|"), SAID_C("$Send|"), SAID_S("xyz$Canceled|")},
		"file 1 s2c command name=a$b.exe path=dir\\5c size=5\n"
		"end 1 CLOSED 26+5 ab|cd\n"
		"file 2 s2c command name=c.exe path=dir\\5c size=5 from=2\n"
		"end 2 CLOSED 45+3 xyz\n"},
	{"by blocks, and what is refused",
		{SAID_C(HI_C "$UGetBlock 0 -1 files.xml|"), SAID_S("$MyNick bob|$Sending 3|abc"),
			SAID_C("$Get a.exe$1|"), SAID_S("$FileLength 5|$Error no|$Sending 1|"),
			SAID_C("$UGetBlock 1 2 b c.exe|"),
			SAID_S("$Sending|yz$Failed x|$Sending 1|")},
		"file 1 s2c command name=files.xml size=3\n"
		"end 1 CLOSED 23+3 abc\n"
		"file 2 s2c command name=b c.exe from=1\n"
		"end 2 CLOSED 70+2 yz\n"},
	{"a part of no bytes",
		{SAID_C(HI_C), SAID_S("$MyNick b|$ADCSND file x.exe 0 0|$ADCSND file y.exe 0 1|y")},
		"file 1 s2c command name=x.exe from=0\n"
		"end 1 CLOSED 33+0\n"
		"file 2 s2c command name=y.exe size=1\n"
		"end 2 CLOSED 56+1 y\n"},
	{"lengths that are none",
		{SAID_C(HI_C), SAID_S("$MyNick b|$ADCSND file x.exe 0 -1|abc$ADCSND file y 0 1|y"),
			SAID_C("$ADCSND file x.exe 1 9223372036854775807|a$ADCSND file y 0 1|y")},
		"note s2c bad_length @10\n"
		"note c2s bad_length @74\n"},
	{"a length beyond all, and one that is not there",
		{SAID_C("CSUP ADBASE\nCSND file x 0 99999999999999999999\nab\n"),
			SAID_S("CSUP ADBASE\nCSND file x 0\nab\n")},
		"note c2s bad_length @12\n"
		"note s2c bad_length @12\n"},
	{"a gap in a file, beyond its end, and before one",
		{SAID_C(HI_C), SAID_S("$MyNick bob|$ADCSND file a.exe 0 9|ab"),
			SAID_GAP(HALF_S2C, 3), SAID_S("cdef$ADCSND file b.exe 0 3|"),
			SAID_GAP(HALF_S2C, 9), SAID_S("x|<b> y|$ADCSND file c.exe 0 1|z")},
		"file 1 s2c command name=a.exe size=9\n"
		"end 1 TRUNCATED 35+9 lost=3 ab___cdef\n"
		"file 2 s2c command name=b.exe size=3\n"
		"end 2 TRUNCATED 67+3\n"
		"note s2c lost @70\n"
		"file 3 s2c command name=c.exe size=1\n"
		"end 3 CLOSED 107+1 z\n"},
	{"a hub that says it is a client, and the other way round",
		{SAID_C("$ValidateNick a|"),
			SAID_S("$MyNick b|$ADCSND file x 0 9|<b> hi|<b> you|")},
		"message s2c from=b 33+2 of 29+6 text=hi\n"
		"message s2c from=b 40+3 of 36+7 text=you\n"},
	{"a client that says it is a hub",
		{SAID_C("$MyNick a|"), SAID_S("$Hello b|<b> hi|$ADCSND file x.exe 0 1|y")},
		"file 1 s2c command name=x.exe size=1\n"
		"end 1 CLOSED 39+1 y\n"},
};

// ---- in one stream of zlib ----

static uint8_t packed[4096];

static uint32_t pack(const void *bytes, uint32_t length)
{
	uLongf n = sizeof(packed);

	assert_int_equal(compress2(packed, &n, bytes, length, 9), Z_OK);
	return (uint32_t)n;
}

static void check_packed(
	const char *what, uint32_t bytes, uint32_t told, const char *behind, const char *expected)
{
	char head[128];

	snprintf(head, sizeof(head), "$MyNick b|$ADCSND file a.exe 0 %u ZL1|", told);
	struct conversation conversation = {what,
		{SAID_C(HI_C "$ADCGET file a.exe 0 -1 ZL1|"),
			SAID_BYTES(HALF_S2C, 0, (uint32_t)strlen(head), head),
			SAID_BYTES(HALF_S2C, 0, bytes, packed),
			SAID_BYTES(HALF_S2C, 0, (uint32_t)strlen(behind), behind)},
		expected};

	conversations_check(&content_directconnect, &conversation, 1);
}

static void test_packed(void **state)
{
	static const char text[] = "some text, some text, some text";
	uint32_t n = pack(text, sizeof(text) - 1);
	char expected[512];

	(void)state;
	snprintf(expected, sizeof(expected),
		"file 1 s2c command name=a.exe size=31\n"
		"end 1 CLOSED 38+%u %s\n"
		"file 2 s2c command name=b.exe size=1\n"
		"end 2 CLOSED %u+1 y\n",
		n, text, 38 + n + 23);
	check_packed("all of it", n, 31, "$ADCSND file b.exe 0 1|y", expected);
	check_packed("more than was said", n, 20, "$ADCSND file b.exe 0 1|y",
		"file 1 s2c command name=a.exe size=20\n"
		"note s2c coding_lies @38\n"
		"end 1 ERROR 38+0 some text, some text\n");
	snprintf(expected, sizeof(expected),
		"file 1 s2c command name=a.exe size=40\n"
		"note s2c coding_lies @38\n"
		"end 1 ERROR 38+0 %s\n",
		text);
	check_packed("it ends early", n, 40, "$ADCSND file b.exe 0 1|y", expected);
	snprintf(expected, sizeof(expected),
		"file 1 s2c command name=a.exe size=31\n"
		"end 1 TRUNCATED 38+%u %s\n",
		n - 2, text);
	check_packed("it is cut", n - 2, 31, "", expected);
	memset(packed, 0xff, 16);
	check_packed("it is none", 16, 31, "$ADCSND file b.exe 0 1|y",
		"file 1 s2c command name=a.exe size=31\n"
		"note s2c coding_lies @38\n"
		"end 1 ERROR 38+0\n");
}

// A stream that gives a thousand times what it is: no more is told than was said, nor in a turn
// than its budget (transcript.c).
static void test_bomb(void **state)
{
	static uint8_t zeros[1 << 20];
	uint32_t n = pack(zeros, sizeof(zeros));

	(void)state;
	check_packed("a bomb", n, 4096, "",
		"file 1 s2c command name=a.exe size=4096\n"
		"note s2c coding_lies @40\n"
		"end 1 ERROR 40+0 (4096) b93a0c83ce3b6325\n");
}

// A line without an end costs what a line may have, and no more.
static void test_long_line(void **state)
{
	static char line[3 * CONTENT_TEXT_BYTES];
	struct conversation conversation = {"a line without end",
		{SAID_C("$ValidateNick a|<a> "), SAID_BYTES(HALF_C2S, 0, sizeof(line), line),
			SAID_C("|<a> hi|$MyINFO "), SAID_BYTES(HALF_C2S, 0, sizeof(line), line),
			SAID_C("|<a> you|")},
		"note c2s head_too_long @16\n"
		"message c2s from=a 20+8188 of 16+8192 text=(8188)..xxxxxxxx\n"
		"message c2s from=a 24601+2 of 24597+6 text=hi\n"
		"message c2s from=a 49193+3 of 49189+7 text=you\n"};

	(void)state;
	memset(line, 'x', sizeof(line));
	conversations_check(&content_directconnect, &conversation, 1);
}

#define TEST(table)                                                                     \
	static void test_##table(void **state)                                          \
	{                                                                               \
		(void)state;                                                            \
		conversations_check(                                                    \
			&content_directconnect, table, sizeof(table) / sizeof(*table)); \
	}
TEST(hubs)
TEST(transfers)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_hubs),
		cmocka_unit_test(test_transfers),
		cmocka_unit_test(test_packed),
		cmocka_unit_test(test_bomb),
		cmocka_unit_test(test_long_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
