// SPDX-License-Identifier: BSD-3-Clause
// What clients of P2P networks say where the beginning was not seen, one side is not heard, or an
// older or rarer client speaks. Octets from the specifications, not from captures.
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "classify_rig.h"

static struct rig *rig;

struct form {
	const char *text;
	size_t length;
};

#define FORM(text)                       \
	{                                \
		(text), sizeof(text) - 1 \
	}
#define N_OF(forms) (sizeof(forms) / sizeof((forms)[0]))

static const char *first_midstream(const struct form *form, unsigned half, size_t cut)
{
	struct rig_flow flow = rig_flow(rig, IPPROTO_TCP, 40000, 40001);
	const char *found;

	flow.midstream = true;
	rig_feed(&flow, half, form->text, cut);
	if (cut < form->length)
		rig_feed(&flow, half, form->text + cut, form->length - cut);
	found = rig_app(&flow);
	rig_end(&flow);
	return found;
}

// The first bytes of a connection, or of what is seen of it, said by either side, in one segment
// or in two cut anywhere.
static void check_stream(const struct form *forms, size_t n, const char *app, bool cuts)
{
	for (size_t i = 0; i < n; i++) {
		for (unsigned half = 0; half < 2; half++) {
			const char *found =
				rig_first(rig, IPPROTO_TCP, half, forms[i].text, forms[i].length);

			if (strcmp(found, app))
				fail_msg("%s, not %s (%u): %.60s", found, app, half, forms[i].text);
			for (size_t cut = cuts ? 1 : forms[i].length; cut <= forms[i].length;
				cut++) {
				found = first_midstream(&forms[i], half, cut);
				if (strcmp(found, app))
					fail_msg("%s, not %s (midstream %u, cut at %zu): %.60s",
						found, app, half, cut, forms[i].text);
			}
		}
	}
}

static void check_never(const struct form *forms, size_t n, const char *app)
{
	for (size_t i = 0; i < n; i++)
		for (unsigned half = 0; half < 2; half++) {
			if (!strcmp(rig_first(
					    rig, IPPROTO_TCP, half, forms[i].text, forms[i].length),
				    app) ||
				!strcmp(first_midstream(&forms[i], half, forms[i].length), app))
				fail_msg("%s in %zu (%u): %.60s", app, i, half, forms[i].text);
		}
}

#define STREAM(forms, app) check_stream(forms, N_OF(forms), app, true)
// Answers of HTTP: the status line alone says what the carrier is.
#define WHOLE(forms, app) check_stream(forms, N_OF(forms), app, false)
#define NEVER(forms, app) check_never(forms, N_OF(forms), app)

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

// One datagram of either side.
static void check_datagrams(const struct form *forms, size_t n, const char *app)
{
	for (size_t i = 0; i < n; i++)
		for (unsigned half = 0; half < 2; half++) {
			const char *found =
				rig_first(rig, IPPROTO_UDP, half, forms[i].text, forms[i].length);

			if (strcmp(found, app))
				fail_msg("%s, not %s: datagram %zu", found, app, i);
			for (size_t cut = 0; cut < forms[i].length; cut++) // reads no further
				rig_first(rig, IPPROTO_UDP, half, forms[i].text, cut);
		}
}

static void check_no_datagrams(const struct form *forms, size_t n, const char *app)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(rig_first(rig, IPPROTO_UDP, 0, forms[i].text, forms[i].length), app))
			fail_msg("%s: datagram %zu", app, i);
}

#define DATAGRAMS(forms, app)    check_datagrams(forms, N_OF(forms), app)
#define NO_DATAGRAMS(forms, app) check_no_datagrams(forms, N_OF(forms), app)

#define ID8    "\xa1\x5f\x33\x90\x0b\xc4\x72\xe8"
#define HASH16 "\x9b\x12\xe0\x47\x5d\xa8\x31\xfc\x66\x0d\xb3\x94\x2a\x7e\xc1\x58"
#define HASH20 HASH16 "\x03\xf7\x89\x4e"
#define ZERO8  "\0\0\0\0\0\0\0\0"
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

#define USER_HASH "\x9b\x12\xe0\x47\x5d\x0e\x31\xfc\x66\x0d\xb3\x94\x2a\x7e\x6f\x58"
#define CONTACT   HASH16 "\x07\x02\0\xc0\x40\x12\x36\x12\x02"
#define BLOCKS    "\0\0\0\0\0\xd0\x02\0\0\0\0\0\0\xd0\x02\0\0\xa0\x05\0\0\0\0\0" // 2 blocks of 184,320
#define BLOCKS64                                                   \
	"\0\0\0\0\x01\0\0\0\0\xd0\x02\0\x01\0\0\0\0\0\0\0\0\0\0\0" \
	"\0\xd0\x02\0\x01\0\0\0\0\xa0\x05\0\x01\0\0\0\0\0\0\0\0\0\0\0"

static void test_edonkey(void **state)
{
	// one frame, from the middle, of either side
	static const struct form forms[] = {
		// a packed part of which 20 octets are here, of a file of more than 4 GiB, too
		FORM("\xc5\x2d\0\0\0\x40" HASH16 "\0\0\x01\0\0\x20\0\0" HASH20),
		FORM("\xc5\x31\0\0\0\xa1" HASH16 "\0\0\x01\0\x02\0\0\0\0\x20\0\0" HASH20),
		FORM("\xc5\x25\0\0\0\xa2" HASH16 "\0\0\x01\0\x02\0\0\0\x04\0\x01\0\x02\0\0\0data"),
		FORM("\xe3\x29\0\0\0\x47" HASH16 BLOCKS),
		FORM("\xc5\x41\0\0\0\xa3" HASH16 BLOCKS64),
		// hints: a hash, a name, bits of 9 parts, a server's words
		FORM("\xe3\x11\0\0\0\x4f" HASH16),
		FORM("\xe3\x11\0\0\0\x54" HASH16),
		FORM("\xe3\x1b\0\0\0\x59" HASH16 "\x08\0song.mp3"),
		FORM("\xe3\x15\0\0\0\x50" HASH16 "\x09\0\xff\x01"),
		FORM("\xe3\x0f\0\0\0\x38\x0c\0hello there."),
	};
	static const struct form others[] = {
		// more than there is of it; too large a block; a start behind the end
		FORM("\xc5\x2d\0\0\0\x40" HASH16 "\0\0\x01\0\x10\0\0\0" HASH20),
		FORM("\xc5\x2d\0\0\0\x40" HASH16 "\0\0\x01\0\0\0\x20\0" HASH20),
		FORM("\xe3\x29\0\0\0\x47" HASH16
		     "\0\0\0\0\0\xd0\x02\0\0\0\0\0\0\xd0\x03\0\0\xa0\x05\0\0\0\0\0"),
		FORM("\xe3\x29\0\0\0\x47" HASH16
		     "\x01\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"),
		FORM("\xe3\x29\0\0\0\x47" HASH16 ZERO8 ZERO8 ZERO8),
		// no hash, another length of the name, words that are none
		FORM("\xe3\x11\0\0\0\x4f" ZERO8 ZERO8),
		FORM("\xe3\x1b\0\0\0\x59" HASH16 "\x09\0song.mp3"),
		FORM("\xe3\x0f\0\0\0\x38\x0c\0hello\0there."),
		FORM("\xe3\x0f\0\0\0\x38\x0b\0hello there."),
	};

	(void)state;
	STREAM(forms, "edonkey");
	NEVER(others, "edonkey");
	rig_random(rig, IPPROTO_TCP, LITERAL("\xc5\x2d\0"), "edonkey");
	rig_random(rig, IPPROTO_TCP, LITERAL("\xe3\x29\0\0\0\x47"), "edonkey");
}

static void test_edonkey_datagrams(void **state)
{
	static const struct form forms[] = {
		// Kad of the first generation: bootstrap's answer
		FORM("\xe4\x08\x02\0" CONTACT CONTACT),
		FORM("\xe5\x08\x78\xda\x65" HASH16),
		FORM("\xe5\x40\x78\x9c\x65" HASH16),
		// servers' answers alone: status, description (both forms), result
		FORM("\xe3\x97\x12\x34\xaa\x55\x10\x27\0\0\x40\x42\x0f\0"),
		FORM("\xe3\xa3\x08\0a server\x09\0its words"),
		FORM("\xe3\xa3\xff\xf0\x12\x34\x01\0\0\0\x02\x01\0\x01\x04\0name"),
		FORM("\xe3\x99" HASH16 "\x07\x02\0\xc0\x36\x12\x01\0\0\0\x02\x01\0\x01\x04\0name"),
		// clients: connect to me
		FORM("\xc5\x95\x36\x12" USER_HASH "\x07"),
	};
	// opcode and length alone: nothing, twice a hint
	static const struct form weak[] = {
		// Kad of the first generation: bootstrap, hello, its answer
		FORM("\xe4\0" CONTACT),
		FORM("\xe4\x10" CONTACT),
		FORM("\xe4\x18" CONTACT),
		FORM("\xe4\x22" HASH16 "\0"),
		FORM("\xe4\x4b" HASH16 "\x07"),
		FORM("\xe4\x4b" HASH16 "\x07\x01"),
		FORM("\xe4\x51" HASH16 USER_HASH "\x36\x12"),
		FORM("\xe4\x52" HASH16 HASH16 "\x36\x12"),
		FORM("\xe4\x5a" HASH16 USER_HASH "\x36\x12\x03"),
		FORM("\xe3\x9b" HASH16 "\x02\x07\x02\0\xc0\x36\x12\x09\x02\0\xc0\x36\x12"),
		FORM("\xc5\x90" HASH16),
		FORM("\xc5\x90" HASH16 "\x09\0\xff\x01\x03\0"),
		FORM("\xc5\x94" HASH16 USER_HASH "\x03\0"),
	};
	static const struct form others[] = {
		FORM("\xe4\x10" HASH16 "\x07\x02\0\xc0\x40\x12\x36\x12\x05"), // a type that is none
		FORM("\xe4\x10" HASH16 "\x07\x02\0\xc0\0\0\x36\x12\x02"),     // no port
		FORM("\xe4\x10" ZERO8 ZERO8 "\x07\x02\0\xc0\x40\x12\x36\x12\x02"),
		FORM("\xe4\x08\x03\0" CONTACT CONTACT),
		FORM("\xe4\x22" HASH16 "\x01"),
		FORM("\xe4\x4b" HASH16 "\x65"),
		FORM("\xe4\x52" HASH16 ZERO8 ZERO8 "\x36\x12"),
		FORM("\xe5\x08\x78\xda\x61" HASH16), // a block that is stored
		FORM("\xe5\x08\x58\x85\x65" HASH16), // a window that nobody has
		FORM("\xe3\x97\x12\x34\xaa\x56\x10\x27\0\0\x40\x42\x0f\0"),
		FORM("\xe3\x97\x12\x34\xaa\x55\x40\x42\x0f\0\x10\x27\0\0"), // more users than files
		FORM("\xe3\xa3\x08\0a server\x08\0its words"),
		FORM("\xe3\x9b" HASH16 "\x03\x07\x02\0\xc0\x36\x12\x09\x02\0\xc0\x36\x12"),
		FORM("\xc5\x90" HASH16 "\x09\0\xff\x03\0"),
		FORM("\xc5\x95\x36\x12" HASH16 "\x07"),
	};
	static const char search[] = "\xe4\x30" HASH16 "\0", found[] = "\xe4\x38" HASH16 "\x01\0";
	static const char publish[] = "\xe4\x40" HASH16 "\x01\0" HASH16 "\x01\0",
			  published[] = "\xe4\x48" HASH16 "\x01";
	static const struct form exchanges[][2] = {
		{FORM(search), FORM(found)},
		{FORM(publish), FORM(published)},
	};

	(void)state;
	DATAGRAMS(forms, "edonkey");
	NO_DATAGRAMS(others, "edonkey");
	NO_DATAGRAMS(weak, "edonkey");
	for (size_t i = 0; i < N_OF(weak); i++) {
		struct rig_flow flow = rig_flow(rig, IPPROTO_UDP, 40000, 40001);

		for (unsigned n = 0; n < 2; n++)
			rig_feed(&flow, 0, weak[i].text, weak[i].length);
		assert_string_equal(rig_app(&flow), "edonkey");
		assert_int_equal(flow.verdict.confidence, CONFIDENCE_PARTIAL);
		rig_end(&flow);
	}
	for (size_t i = 0; i < N_OF(exchanges); i++) {
		struct rig_flow flow = rig_flow(rig, IPPROTO_UDP, 40000, 40001);

		rig_feed(&flow, 0, exchanges[i][0].text, exchanges[i][0].length);
		assert_string_equal(rig_app(&flow), "");
		rig_feed(&flow, 1, exchanges[i][1].text, exchanges[i][1].length);
		assert_string_equal(rig_app(&flow), "edonkey");
		rig_end(&flow);
		// the answer alone is none
		assert_string_equal(rig_first(rig, IPPROTO_UDP, 1, exchanges[i][1].text,
					    exchanges[i][1].length),
			"");
	}
	// a port of its own proves a contact
	struct rig_flow own = rig_flow(rig, IPPROTO_UDP, 0x1240, 40001);

	rig_feed(&own, 0, LITERAL("\xe4\x10" CONTACT));
	assert_int_equal(own.verdict.confidence, CONFIDENCE_DPI);
	rig_end(&own);
	static const char *const begin[] = {
		"\xe4\x10", "\xe4\x4b", "\xe4\x51", "\xe3\x9b", "\xc5\x90"};

	for (size_t i = 0; i < N_OF(begin); i++)
		rig_random(rig, IPPROTO_UDP, begin[i], 2, "edonkey");
}

#define MD5     "9e8d841b85194ee7f744743a8f23d4a8"
#define SEARCH  "\x31\0\0\0\x05\0\0\0alice\x2a\0\0\0\x09\0\0\0some song"
#define CONNECT "\x05\0\0\0alice\x01\0\0\0P"

static void test_soulseek(void **state)
{
	static const struct form forms[] = {
		// the server's answers to a login
		FORM("\x35\0\0\0\x01\0\0\0\x01\x04\0\0\0hi\r\n\x07\x02\0\xc0\x20\0\0\0" MD5),
		FORM("\x36\0\0\0\x01\0\0\0\x01\x04\0\0\0hi\r\n\x07\x02\0\xc0\x20\0\0\0" MD5 "\x01"),
		FORM("\x14\0\0\0\x01\0\0\0\0\x0b\0\0\0INVALIDPASS"),
		// from the middle: searches, from the server and handed down; the tree
		FORM("\x23\0\0\0\x5d\0\0\0\x03" SEARCH),
		FORM("\x1f\0\0\0\x03" SEARCH),
		FORM("\x05\0\0\0\x04\0\0\0\0\x1f\0\0\0\x03" SEARCH),
		FORM("\x05\0\0\0\x04\x02\0\0\0\x0a\0\0\0\x05\x05\0\0\0alice"),
		// connect to: from the server, and to it
		FORM("\x1f\0\0\0\x12\0\0\0" CONNECT "\x07\x02\0\xc0\xba\x08\0\0\x2a\0\0\0\0"),
		FORM("\x16\0\0\0\x12\0\0\0\x2a\0\0\0" CONNECT),
		// between peers: packed results, files
		FORM("\x18\0\0\0\x09\0\0\0\x78\x9c\x65" HASH16 "\0"),
		FORM("\x19\0\0\0\x2b\0\0\0\x11\0\0\0@@abc\\A\\song.flac"),
		FORM("\x1d\0\0\0\x2c\0\0\0\x11\0\0\0@@abc\\A\\song.flac\x03\0\0\0"),
		FORM("\x29\0\0\0\x28\0\0\0\x01\0\0\0\x2a\0\0\0\x11\0\0\0@@abc\\A\\song.flac"
		     "\0\0\x10\0\0\0\0\0"),
		FORM("\x23\0\0\0\x32\0\0\0\x11\0\0\0@@abc\\A\\song.flac\x06\0\0\0Banned"),
		// what comes behind the first message in the distributed network
		FORM("\x05\0\0\0\0ABCD\x05\0\0\0\x04\0\0\0\0"),
		FORM("\x13\0\0\0\x01\x05\0\0\0alice\x01\0\0\0D\0\0\0\0"),
	};
	static const struct form others[] = {
		FORM("\x35\0\0\0\x01\0\0\0\x01\x04\0\0\0hi\r\n\x07\x02\0\xc0\x20\0\0\0" HASH16
				HASH16),
		FORM("\x14\0\0\0\x01\0\0\0\0\x0b\0\0\0\0NVALIDPASS"),
		FORM("\x24\0\0\0\x5d\0\0\0\x03" SEARCH "x"),
		FORM("\x20\0\0\0\x03" SEARCH "x"),
		FORM("\x05\0\0\0\x04\x02\0\0\0\x0a\0\0\0\x05\x06\0\0\0alice"),
		FORM("\x1f\0\0\0\x12\0\0\0\x05\0\0\0alice\x01\0\0\0X\x07\x02\0\xc0\xba\x08\0\0\x2a"
		     "\0\0\0\0"),
		FORM("\x18\0\0\0\x09\0\0\0\x78\x9b\x65" HASH16 "\0"),
		FORM("\x19\0\0\0\x2b\0\0\0\x11\0\0\0@@abc/A/song.flac"), // no folder
		FORM("\x1a\0\0\0\x2b\0\0\0\x11\0\0\0@@abc\\A\\song.flac!"),
	};

	(void)state;
	STREAM(forms, "soulseek");
	NEVER(others, "soulseek");
	rig_random(rig, IPPROTO_TCP, LITERAL("\x23\0\0\0\x5d\0\0\0\x03\x31"), "soulseek");
	rig_random(rig, IPPROTO_TCP, LITERAL("\x19\0\0\0\x2b\0\0\0"), "soulseek");
	rig_random(rig, IPPROTO_TCP, LITERAL("\x05\0\0\0\x04"), "soulseek");
}

// Soulseek's obfuscation: a key, turned right by 31 bits before each four octets (aioslsk's
// description, with its example).
static size_t obfuscate(uint8_t *out, uint32_t key, const char *text, size_t length)
{
	memcpy(out, &key, 4);
	for (size_t i = 0; i < length; i++) {
		if (i % 4 == 0)
			key = key >> 31 | key << 1;
		out[4 + i] = (uint8_t)((uint8_t)text[i] ^ key >> 8 * (i % 4));
	}
	return 4 + length;
}

static void test_soulseek_obfuscated(void **state)
{
	static const char init[] = "\x13\0\0\0\x01\x05\0\0\0alice\x01\0\0\0P\x2a\0\0\0";
	static const char pierce[] = "\x05\0\0\0\0ABCD";
	static const char wrong[] = "\x13\0\0\0\x01\x06\0\0\0alice\x01\0\0\0P\x2a\0\0\0";
	uint8_t bytes[64];
	size_t length = obfuscate(bytes, 0x4aee9414, "\x08\0\0\0\x79\0\0\0\xe8\x03\0\0", 12);

	(void)state;
	assert_memory_equal(
		bytes, "\x14\x94\xee\x4a\x20\x28\xdd\x95\x28\x50\xba\x2b\x4a\xa3\x74\x57", length);
	for (uint32_t key = 1; key; key *= 2) {
		length = obfuscate(bytes, key ^ 0x5a17c396, init, sizeof(init) - 1);
		rig_cuts(rig, IPPROTO_TCP, 0, bytes, length, "soulseek");
		length = obfuscate(bytes, key ^ 0x5a17c396, pierce, sizeof(pierce) - 1);
		assert_string_equal(rig_first(rig, IPPROTO_TCP, 0, bytes, length), "soulseek");
		length = obfuscate(bytes, key ^ 0x5a17c396, wrong, sizeof(wrong) - 1);
		assert_string_not_equal(rig_first(rig, IPPROTO_TCP, 0, bytes, length), "soulseek");
	}
	rig_random(rig, IPPROTO_TCP, LITERAL(""), "soulseek");
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
		cmocka_unit_test(test_edonkey),
		cmocka_unit_test(test_edonkey_datagrams),
		cmocka_unit_test(test_soulseek),
		cmocka_unit_test(test_soulseek_obfuscated),
	};

	rig = rig_new();
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	rig_free(rig);
	return failed;
}
