// SPDX-License-Identifier: BSD-3-Clause
// What clients of P2P networks say where the beginning was not seen, one side is not heard, or an
// older or rarer client speaks: text, and BitTorrent. Octets from the specifications, not from
// captures.
#include "lib/classify/classify_forms.h"

#define TTH "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567ABCDEFG"

static void test_directconnect(void **state)
{
	static const struct form forms[] = {
		FORM("$Lock EXTENDEDPROTOCOL_hub Pk=PtokaX|$HubName A hub|"),
		FORM("$MyNick alice|$Lock EXTENDEDPROTOCOLABC Pk=DCPLUSPLUS0.868|"),
		FORM("$Supports UserCommand NoGetINFO NoHello UserIP2 TTHSearch |"),
		FORM("$Key 4\xd1\xc0\x11\xb0\x10\x03|$ValidateNick alice|"),
		FORM("$HubName A hub of ours|"),
		FORM("$Hello alice|"),
		FORM("$ValidateNick alice|"),
		FORM("$GetNickList|$MyINFO $ALL alice a client$ $0.005\x01$$0$|"),
		FORM("$GetINFO alice bob|"),
		FORM("$Get files\\song.mp3$1|"),
		FORM("$FileLength 123456|"),
		FORM("$ListLen 4000|"),
		FORM("$MaxedOut|"),
		FORM("$UGetBlock 0 -1 files.xml.bz2|"),
		FORM("$To: bob From: alice $<alice> hello|"),
		FORM("$SR alice dir\\song.mp3\005123 1/2\005TTH:" TTH " (192.0.2.1:411)|"),
		FORM("$SA " TTH " 192.0.2.7:3000|"),
		FORM("$Search [2001:db8::7]:412 F?T?0?9?TTH:" TTH "|"),
		FORM("$ConnectToMe bob [2001:db8::7]:412|"),
		FORM("$UserCommand 1 3 Hub\\Rules$<%[mynick]> !rules&#124;|"),
		FORM("HSUP ADBASE ADTIGR\n"),
		FORM("CGET file TTH/" TTH " 0 -1\n"),
		FORM("CSND file TTH/" TTH " 0 1000\n"),
		FORM("CINF ID" TTH " TO12345\n"),
		FORM("DCTM ABCD EFGH ADC/1.0 3000 12345\n"),
		FORM("FSCH ABCD +TCP4-NAT0 ANsong TO12\n"),
		FORM("BMSG ABCD hello\n"),
		FORM("DSTA ABCD EFGH 153 No\\sslots TO12\n"),
		FORM("DRES ABCD EFGH SI1234 SL3 FN/a/song.mp3\n"),
		FORM("CRES FN/a/song.mp3 SI1234 SL3\n"),
	};
	static const struct form others[] = {
		FORM("$Hello |"),
		FORM("$HOME is set\n"),
		FORM("$Get the files|"),
		FORM("$Search for it T?T?0?1?x|"),
		FORM("$MaxedOut\n"),
		FORM("$1.50 | and more\n"),
		FORM("$Version|"),
		FORM("DATA ABCD EFGH\n"),
		FORM("BMSG abcd hello\n"),
		FORM("CGET http://www.example/\n"),
		FORM("DMSG ABCD EFG1 hello\n"),
		// words of a text that begin like messages
		FORM("ESTA CASA ROJA NO ES GRANDE\n"),
		FORM("ERES TODO PARA MI\n"),
		FORM("CRES CENT MOON\n"),
	};

	(void)state;
	STREAM(forms, "directconnect");
	NEVER(others, "directconnect");
}

#define SHA1 "PLSTHIPQGSSZTS5FJUPAKUZWUGYQYPFB"

static void test_gnutella(void **state)
{
	static const struct form forms[] = {
		FORM("GNUTELLA CONNECT/0.6\r\nUser-Agent: x\r\n\r\n"),
		FORM("GNUTELLA/0.6 200 OK\r\nUser-Agent: x\r\n\r\n"),
		FORM("GNUTELLA OK\n\n"),
		FORM("GIV 36:809BC12168A1852CFF5D7A785833F600/a name.avi\n\n"),
		FORM("PUSH guid:809BC12168A1852CFF5D7A785833F600\r\n\r\n"),
		FORM("GET / HTTP/1.1\r\nAccept: application/x-gnutella2\r\nHost: x\r\n\r\n"),
		FORM("GET / HTTP/1.1\r\nHost: x\r\nUser-Agent: Shareaza 2.7.10.2\r\n\r\n"),
		FORM("GET /uri-res/N2R?urn:sha1:" SHA1 " HTTP/1.1\r\nHost: x\r\n\r\n"),
		FORM("GET /gwc.php?client=LIME&version=4.9&hostfile=1 HTTP/1.1\r\n\r\n"),
		FORM("GET /cache?get=1&net=gnutella2&client=RAZA2.7 HTTP/1.1\r\n\r\n"),
		FORM("GET /skulls.php?ping=1&net=gnutella&client=GTKG&version=1 HTTP/1.0\r\n\r\n"),
	};
	static const struct form answers[] = {
		FORM("HTTP/1.1 200 OK\r\nServer: gtk-gnutella/1.2.2 (2022; GTK2)\r\n\r\n"),
		FORM("HTTP/1.1 503 Busy\r\nDate: x\r\nServer: LimeWire/4.18\r\n\r\n"),
		FORM("HTTP/1.1 200 OK\r\nContent-Type: application/x-gnutella-packets\r\n\r\n"),
	};
	static const struct form others[] = {
		FORM("PUSH guid:none\r\n\r\n"),
		FORM("GNUTELLA is a network\r\n"),
		FORM("HTTP/1.1 200 OK\r\nServer: Apache\r\nX-About: LimeWire/4.18\r\n\r\n"),
		FORM("HTTP/1.1 200 OK\r\nServer: Apache\r\n\r\nServer: LimeWire/4.18\r\n\r\n"),
		// a page that tells of the protocol
		FORM("HTTP/1.1 200 OK\r\nServer: Apache\r\n\r\n<pre>\r\nX-Gnutella-Servent-ID: "
		     "1\r\n"),
		FORM("GET /gwc.php?hostfile=1 HTTP/1.1\r\nHost: www.example\r\n\r\n"),
		FORM("GET /a?client=LIME&q=hostfile HTTP/1.1\r\nHost: www.example\r\n\r\n"),
		FORM("GET /a?client=firefox&net=gnutella HTTP/1.1\r\nHost: www.example\r\n\r\n"),
	};

	(void)state;
	STREAM(forms, "gnutella");
	WHOLE(answers, "gnutella");
	NEVER(others, "gnutella");
}

static void test_fasttrack(void **state)
{
	static const struct form forms[] = {
		FORM("GIVE 710878939\r\n\r\n"),
		FORM("GET /.hash=11ebbd69ec5fd57fab6dfd6fdd1e6df36f551763 HTTP/1.1\r\n\r\n"),
		FORM("GET /.supernode HTTP/1.1\r\nHost: x\r\n\r\n"),
		FORM("GET /1/a.mp3 HTTP/1.1\r\nUser-Agent: PeerEnabler/3.0\r\n\r\n"),
	};
	static const struct form answers[] = {
		FORM("HTTP/1.1 200 OK\r\nServer: KazaaClient Nov  3 2002\r\n\r\n"),
	};
	static const struct form others[] = {
		FORM("GIVE 1 of them\r\n\r\n"),
		FORM("GET /.supernodes HTTP/1.1\r\nHost: www.example\r\n\r\n"),
		FORM("HTTP/1.1 200 OK\r\nServer: Apache\r\n\r\n<pre>\r\nServer: KazaaClient Nov"
		     "\r\n"),
		FORM("GET /q?PeerEnabler/3 HTTP/1.1\r\nHost: www.example\r\n\r\n"),
	};

	(void)state;
	STREAM(forms, "fasttrack");
	WHOLE(answers, "fasttrack");
	NEVER(others, "fasttrack");
}

#define FID "0123456789abcdef0123456789ABCDEF01234567"

static void test_bittorrent_http(void **state)
{
	static const struct form forms[] = {
		FORM("GET /data?fid=" FID "&size=1000 HTTP/1.1\r\nHost: x\r\n\r\n"),
		FORM("GET /a HTTP/1.1\r\nUser-Agent: qBittorrent v3.2.3\r\n\r\n"),
		FORM("GET /a HTTP/1.1\r\nHost: x\r\nUser-Agent: Deluge 1.3.15\r\n\r\n"),
		FORM("GET /a HTTP/1.1\r\nHost: x\r\nUser-Agent: uTorrentMac/1870\r\n\r\n"),
		FORM("GET /a HTTP/1.1\r\nHost: x\r\nUser-Agent: BitComet/1.59\r\n\r\n"),
	};
	static const struct form answers[] = {
		FORM("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\nd8:completei3e10:"
		     "incompletei1e8:intervali1800e5:peers0:e"),
		FORM("HTTP/1.0 200 OK\r\n\r\nd8:intervali1800e5:peers0:e"),
		FORM("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
		     "1b\r\nd8:intervali1800e5:peers0:e\r\n0\r\n\r\n"),
		FORM("HTTP/1.0 200 OK\r\n\r\nd5:filesd20:aaaaaaaaaaaaaaaaaaaad8:completei1eeee"),
	};
	static const struct form others[] = {
		FORM("GET /data?fid=12&size=1000 HTTP/1.1\r\nHost: www.example\r\n\r\n"),
		FORM("HTTP/1.1 200 OK\r\n\r\nd8:announce"),
		FORM("HTTP/1.1 200 OK\r\nX-Body: d8:intervali1800e\r\n\r\nhello"),
		FORM("HTTP/1.1 200 OK\r\n\r\n<p>d8:intervali1800e5:peers0:e"),
		FORM("GET /a HTTP/1.1\r\nHost: x\r\nUser-Agent: Mozilla/5.0 Deluge 1.3\r\n\r\n"),
	};

	(void)state;
	STREAM(forms, "bittorrent");
	WHOLE(answers, "bittorrent");
	NEVER(others, "bittorrent");
}

#define ID8    "\xa1\x5f\x33\x90\x0b\xc4\x72\xe8"
#define COUNTS "\0\0\0\0\x12\x34\x56\x78\0\0\0\0\0\x01\0\0" ZERO8
#define TAIL   "\0\0\0\0\x5a\x01\xc3\x77\xff\xff\xff\xff\x1a\xe1"
// Azureus: protocol, vendor, network, protocol of the originator, address and port, instance, time
#define AZUREUS_END                                    \
	"\x33\0\0\0\0\0\x33\x04\xc0\0\x02\x07\x1a\xe1" \
	"\x10\x20\x30\x40\0\0\x01\x4c\x11\x22\x33\x44\0"

static void test_bittorrent_datagrams(void **state)
{
	static const struct form forms[] = {
		// uTP of version 0 and 1, and behind the head of SOCKS (RFC 1928 7)
		FORM(ID8 ID8 "\x28\0\0\x01\0\x01\0\x13"
			     "BitTorrent protocol\0\0\0\0\0\x10\0\x05" HASH20),
		FORM("\0\0\0\x01\xc0\0\x02\x07\x1a\xe1\x01\0\x12\x34" ID8
		     "\0\x10\0\0\0\x02\0\x01\x13"
		     "BitTorrent protocol\0\0\0\0\0\x10\0\x05" HASH20),
		FORM("BSYNC\0d2:la6:\xc0\0\x02\x07\x1a\xe1"
		     "1:m4:ping4:peer20:" HASH20 "5:share32:" HASH16 HASH16 "e"),
	};
	// the peer id without dashes; with and without options (BEP 41)
	char announce[98 + 4] = ID8 "\0\0\0\x01\x12\x34\x56\x78" HASH20
				    "M7-10-5--ABCDEFGHIJK" COUNTS "\0\0\0\x02" TAIL "\x02\x02/a";
	const struct form announces[] = {{announce, 98}, {announce, 102}};
	static const struct form answers[] = {
		FORM("\0\0\0\x01\x12\x34\x56\x78\0\0\x07\x08\0\0\0\x02\0\0\0\x05"
		     "\xc0\0\x02\x07\x1a\xe1\xc0\0\x02\x09\x1a\xe1"),
		FORM(ID8 "\0\0\x04\0\x12\x34\x56\x78" AZUREUS_END),
		FORM(ID8 "\0\0\x04\x06\x12\x34\x56\x78" AZUREUS_END HASH20),
		FORM("\0\0\x04\x01\x12\x34\x56\x78" ID8 "\x33\0\0\0\0\x01\x10\x20\x30\x40\0"),
		FORM("\0\0\x04\x07\x12\x34\x56\x78" ID8 "\x34\xff\0\0\0\0\x10\x20\x30\x40\0"),
	};
	static const struct form others[] = {
		FORM("BSYNC\0hello world"),
		// no interval; no peer has port 0; half a peer; a small number where one of chance
		// is
		FORM("\0\0\0\x01\x12\x34\x56\x78\0\0\0\x08\0\0\0\x02\0\0\0\x05\xc0\0\x02\x07\x1a"
		     "\xe1"),
		FORM("\0\0\0\x01\x12\x34\x56\x78\0\0\x07\x08\0\0\0\x02\0\0\0\x05\xc0\0\x02\x07\0"
		     "\0"),
		FORM("\0\0\0\x01\x12\x34\x56\x78\0\0\x07\x08\0\0\0\x02\0\0\0\x05\xc0\0\x02\x07\x1a"
		     "\xe1x"),
		// more peers than there are
		FORM("\0\0\0\x01\x12\x34\x56\x78\0\0\x07\x08\0\0\0\x01\0\0\0\0\xc0\0\x02\x07\x1a"
		     "\xe1\xc0\0\x02\x09\x1a\xe1"),
		// a DNS query with EDNS, padded (RFC 1035 4.1.1, RFC 6891 6.1.2, RFC 7830)
		FORM("\x12\x34\x01\0\0\x01\0\0\0\0\0\x01\x1e"
		     "abcdefghijklmnopqrstuvwxyz0123\x07"
		     "example\0\0\x01\0\x01\0\0\x29\x04\xd0\0\0\0\0\0\x24\0\x0c\0\x20" ZERO8 ZERO8
				ZERO8 ZERO8),
		FORM("\0\0\0\x01\0\0\0\x09\0\0\x07\x08\0\0\0\x02\0\0\0\x05\xc0\0\x02\x07\x1a\xe1"),
		// a connection id without its bit; another action; another vendor; no address
		FORM("\x21\x5f\x33\x90\x0b\xc4\x72\xe8\0\0\x04\0\x12\x34\x56\x78" AZUREUS_END),
		FORM(ID8 "\0\0\x05\0\x12\x34\x56\x78" AZUREUS_END),
		FORM(ID8 "\0\0\x04\0\x12\x34\x56\x78\x33\x05" AZUREUS_END),
		FORM("\0\0\x04\x01\x12\x34\x56\x78" ID8 "\x33\0\0\x01\0\x01\x10\x20\x30\x40\0"),
	};

	(void)state;
	DATAGRAMS(forms, "bittorrent");
	DATAGRAMS(announces, "bittorrent");
	DATAGRAMS(answers, "bittorrent");
	NO_DATAGRAMS(others, "bittorrent");
	// too many bytes, no such event, no port, a hash that is none
	static const struct {
		size_t at;
		uint8_t octet;
	} broken[] = {{56, 1}, {64, 3}, {72, 1}, {83, 4}, {80, 1}, {92, 1}, {11, 2}};

	for (size_t i = 0; i < N_OF(broken); i++) {
		char wrong[98];

		memcpy(wrong, announce, sizeof(wrong));
		wrong[broken[i].at] = (char)broken[i].octet;
		assert_string_not_equal(
			rig_first(rig, IPPROTO_UDP, 0, wrong, sizeof(wrong)), "bittorrent");
	}
	memset(announce + 16, 'a', 20);
	assert_string_not_equal(rig_first(rig, IPPROTO_UDP, 0, announce, 98), "bittorrent");
	rig_random(rig, IPPROTO_UDP, LITERAL("\0\0\0\x01"), "bittorrent");
	rig_random(rig, IPPROTO_UDP, LITERAL(ID8 "\0\0\0\x01"), "bittorrent");
}

// Messages that are seen from the middle, with a keep-alive between them (BEP 3).
static void test_bittorrent_messages(void **state)
{
#define HAVE "\0\0\0\x05\x04\0\0\x01\x02"
#define KEEP "\0\0\0\0"
	static const struct form forms[] = {
		FORM(HAVE HAVE HAVE HAVE HAVE KEEP HAVE),
		FORM("chance" KEEP "\0\0\0\x0d\x06\0\0\0\x07\0\0\x40\0\0\0\x40\0" KEEP
		     "\0\0\0\x0d\x06\0\0\0\x07\0\0\x80\0\0\0\x40\0"),
	};
	static const struct form others[] = {
		FORM(KEEP KEEP KEEP KEEP KEEP KEEP KEEP KEEP),
		FORM(HAVE HAVE HAVE HAVE HAVE KEEP KEEP HAVE),
		FORM(HAVE HAVE HAVE HAVE HAVE KEEP "none of it"),
	};

	(void)state;
	for (size_t i = 0; i < N_OF(forms); i++)
		for (size_t cut = 1; cut <= forms[i].length; cut++)
			assert_string_equal(first_midstream(&forms[i], 1, cut), "bittorrent");
	NEVER(others, "bittorrent");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_directconnect),
		cmocka_unit_test(test_gnutella),
		cmocka_unit_test(test_fasttrack),
		cmocka_unit_test(test_bittorrent_http),
		cmocka_unit_test(test_bittorrent_datagrams),
		cmocka_unit_test(test_bittorrent_messages),
	};

	rig = rig_new();
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	rig_free(rig);
	return failed;
}
