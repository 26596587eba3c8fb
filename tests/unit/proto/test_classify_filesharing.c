// SPDX-License-Identifier: BSD-3-Clause
// Gnutella, FastTrack, Soulseek, Direct Connect, Syncthing.
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "lib/classify/classify_rig.h"

static struct rig *rig;

struct sample {
	uint8_t l4, half;
	const char *text;
	size_t length;
	const char *app; // "": must not be `not_app`
	const char *not_app;
};

#define TCP(half, text, app)                                         \
	{                                                            \
		IPPROTO_TCP, half, text, sizeof(text) - 1, app, NULL \
	}
#define UDP(half, text, app)                                         \
	{                                                            \
		IPPROTO_UDP, half, text, sizeof(text) - 1, app, NULL \
	}
#define NOT_TCP(half, text, app)                                   \
	{                                                          \
		IPPROTO_TCP, half, text, sizeof(text) - 1, "", app \
	}
#define NOT_UDP(half, text, app)                                   \
	{                                                          \
		IPPROTO_UDP, half, text, sizeof(text) - 1, "", app \
	}

static void check(const struct sample *samples, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const struct sample *s = &samples[i];
		const char *found = rig_first(rig, s->l4, s->half, s->text, s->length);

		if (!*s->app) {
			if (!strcmp(found, s->not_app))
				fail_msg("%s in: %.60s", found, s->text);
			continue;
		}
		if (strcmp(found, s->app))
			fail_msg("%s, not %s: %.60s", found, s->app, s->text);
		if (s->l4 == IPPROTO_UDP)
			rig_cuts(rig, s->l4, s->half, s->text, s->length, s->app);
	}
}

#define CHECK(samples) check(samples, sizeof(samples) / sizeof((samples)[0]))

#define GUID   "\xa7\x45\x31\x02\x89\x21\x3e\xe4\x7e\x64\x9b\xba\xc3\x02\xeb\x3a"
#define MODERN "\xa7\x45\x31\x02\x89\x21\x3e\xe4\xff\x64\x9b\xba\xc3\x02\xeb\0"

static void test_gnutella(void **state)
{
	static const struct sample samples[] = {
		TCP(0, "GNUTELLA CONNECT/0.6\r\nUser-Agent: x\r\n\r\n", "gnutella"),
		TCP(1, "GNUTELLA/0.6 503 Full\r\n", "gnutella"),
		TCP(1, "GNUTELLA OK\n\n", "gnutella"),
		TCP(0, "GIV 36:809BC12168A1852CFF5D7A785833F600/a name.avi\n\n", "gnutella"),
		TCP(0, "GET /uri-res/N2R?urn:sha1:PLSTHIPQGSSZTS5FJUPAKUZWUGYQYPFB HTTP/1.1\r\n",
			"gnutella"),
		TCP(0, "GET /gnutella/thex/v1?urn:tree:tiger/:3WMU HTTP/1.1\r\n", "gnutella"),
		TCP(0, "GET /get/2468/Foobar.mp3 HTTP/1.1\r\nUser-Agent: LimeWire/4.0\r\n\r\n",
			"gnutella"),
		TCP(1,
			"HTTP/1.1 206 Partial\r\nServer: x\r\nX-Gnutella-Content-URN: "
			"urn:sha1:x\r\n\r\n",
			"gnutella"),
		// a path like Gnutella's on a web server; the words in a file's name only
		NOT_TCP(0, "GET /get/2468/Foobar.mp3 HTTP/1.1\r\nHost: www.example\r\n\r\n",
			"gnutella"),
		NOT_TCP(0, "GET /get/1/gnutella.zip HTTP/1.1\r\nHost: www.example\r\n\r\n",
			"gnutella"),
		NOT_TCP(0, "GET /get/1/name HTTP/1.0\r\n\r\n", "gnutella"),
		NOT_TCP(0, "GET /gnutella/index.html HTTP/1.1\r\nHost: www.example\r\n\r\n",
			"gnutella"),
		NOT_TCP(0, "GET /uri-res/N2R?urn:sha1:short HTTP/1.1\r\n\r\n", "gnutella"),
		NOT_TCP(0, "GIV 36:nothex/name\n\n", "gnutella"),
	};
	static const struct sample datagrams[] = {
		UDP(0, GUID "\x44\0\0\x08\0\0\0\x05GTKG\0\0!", "gnutella"),
		UDP(0, GUID "\x31\x01\0\x08\0\0\0GTKG\x07\0\x01\0", "gnutella"),
		UDP(0, GUID "\x01\x01\0\x0e\0\0\0abcdefghijklmn", "gnutella"),
		UDP(0, GUID "\0\x01\0\x09\0\0\0\xc3\x82SCPA\x01\0\0", "gnutella"),
		UDP(0, MODERN "\0\x01\0\0\0\0\0", "gnutella"),
		UDP(0, "GND\x10\x3e\x92\x01\x01T\x0bQKRP\x06RNA]/\xe2\x35\tp", "gnutella"),
		UDP(1, "GND\0\x3e\x92\x01\0", "gnutella"),
		UDP(0, "GND\x11\x3e\x92\x01\x01\x78\x9c\x4b", "gnutella"),
		UDP(0, "GND\x11\x3e\x92\x02\x03\x01\x02\x03", "gnutella"),
		// another length; a type that does not exist; padding; a ping without marks; no
		// vendor
		NOT_UDP(0, GUID "\x44\0\0\x09\0\0\0\x05GTKG\0\0!", "gnutella"),
		NOT_UDP(0, GUID "\x45\0\0\x08\0\0\0\x05GTKG\0\0!", "gnutella"),
		NOT_UDP(0, GUID "\x44\0\0\x08\0\0\0\x05gtkg\0\0!", "gnutella"),
		NOT_UDP(0, "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", "gnutella"),
		NOT_UDP(0, "abcdabcdabcdabcd\0\x01\0\0\0\0\0", "gnutella"),
		// part 2 of 1; an acknowledgement with content; no name
		NOT_UDP(0, "GND\x11\x3e\x92\x01\x01\x78\x9d\x4b", "gnutella"), // no zlib
		NOT_UDP(0, "GND\x11\x3e\x92\x01\x01\x88\x1c\x4b", "gnutella"),
		NOT_UDP(0, "GND\x11\x3e\x92\x01\x01\x78\x9c", "gnutella"),
		NOT_UDP(0, "GND\0\x3e\x92\x02\x01T\x0bQKRP\x06RNA", "gnutella"),
		NOT_UDP(0, "GND\0\x3e\x92\x01\0more", "gnutella"),
		NOT_UDP(0, "GND\0\x3e\x92\x01\x01T\x0bqkrP\x06RNA", "gnutella"),
	};
	struct rig_flow flow = rig_flow(rig, IPPROTO_TCP, 40000, 6346);

	(void)state;
	CHECK(samples);
	for (size_t i = 0; i < sizeof(datagrams) / sizeof(datagrams[0]); i++) {
		const struct sample *s = &datagrams[i];

		// the length is in the datagram: whatever is cut off, it is none
		assert_string_equal(rig_first(rig, s->l4, s->half, s->text, s->length), s->app);
		for (size_t cut = 0; cut < s->length && s->text[0] != 'G'; cut++)
			assert_string_equal(rig_first(rig, s->l4, s->half, s->text, cut), "");
		for (size_t cut = 0; cut < s->length; cut++)
			rig_first(rig, s->l4, s->half, s->text, cut);
	}
	// the head in two segments
	rig_feed(&flow, 0, LITERAL("GET /get/24/Some "));
	rig_feed(&flow, 0, LITERAL("Name.asf HTTP/1.0\r\nUser-Agent: BearShare 2.2.6\r\n\r\n"));
	assert_string_equal(rig_app(&flow), "gnutella");
	assert_int_equal(flow.verdict.n_data_pkts, 2);
	rig_random(rig, IPPROTO_UDP, LITERAL("GND"), "never");
	rig_random(rig, IPPROTO_UDP, LITERAL(GUID "\x80\x01\0"), "gnutella");
	rig_random(rig, IPPROTO_UDP, LITERAL(""), "gnutella");
}

static void test_fasttrack(void **state)
{
	static const struct sample samples[] = {
		TCP(0, "GET /.hash=11ebbd69ec5fd57fab6dfd6fdd1e6df36f551763 HTTP/1.1\r\n",
			"fasttrack"),
		TCP(0, "GIVE 710878939\r\n\r\n", "fasttrack"),
		TCP(0, "GET /20408/Song.mp3 HTTP/1.1\r\nX-Kazaa-Username: a\r\n\r\n", "fasttrack"),
		TCP(1, "HTTP/1.1 200 OK\r\nX-KazaaTag: 4=x\r\n\r\n", "fasttrack"),
		TCP(0, "GET /1/a HTTP/1.1\r\nUserAgent: KazaaClient Nov  3 2002\r\n\r\n",
			"fasttrack"),
		UDP(0, "\x27\0\0\0\x29\x80KaZaA\0", "fasttrack"),
		NOT_TCP(0, "GET /.hash=index HTTP/1.1\r\n\r\n", "fasttrack"),
		NOT_TCP(0, "GIVE me 1\r\n\r\n", "fasttrack"),
		NOT_TCP(0, "GIVE 1\r\n", "fasttrack"),
		NOT_TCP(0, "GET /search?q=X-Kazaa- HTTP/1.1\r\nHost: a.example\r\n\r\n",
			"fasttrack"),
		NOT_UDP(0, "\x27\0\0\0\x29\x80KaZoA\0", "fasttrack"),
	};

	(void)state;
	CHECK(samples);
	rig_random(rig, IPPROTO_UDP, LITERAL("\x27"), "fasttrack");
}

static const char login[] =
	"\x43\0\0\0\x01\0\0\0\x05\0\0\0alice\x06\0\0\0secret\xa0\0\0\0\x20\0\0\0"
	"9e8d841b85194ee7f744743a8f23d4a8\x01\0\0\0";
static const char peer[] = "\x13\0\0\0\x01\x05\0\0\0alice\x01\0\0\0F\x01\x02\x03\x04";

static void test_soulseek(void **state)
{
	static const struct sample samples[] = {
		TCP(0, "\x1b\0\0\0\x01\0\0\0\x05\0\0\0alice\x06\0\0\0secret\x9d\0\0\0", "soulseek"),
		TCP(0, "\x05\0\0\0\0ABCD\x04\0\0\0\x04\0\0\0", "soulseek"),
		NOT_TCP(0, "\x05\0\0\0\0ABCD", "soulseek"),
		NOT_TCP(0, "\x05\0\0\0\0ABCD\x04\0\0\0\x07\0\0\0", "soulseek"),
		// a user that is no text; lengths that do not add up; a hash that is none
		NOT_TCP(0, "\x1b\0\0\0\x01\0\0\0\x05\0\0\0al\1ce\x06\0\0\0secret\x9d\0\0\0",
			"soulseek"),
		NOT_TCP(0, "\x1d\0\0\0\x01\0\0\0\x05\0\0\0alice\x06\0\0\0secret\x9d\0\0\0",
			"soulseek"),
		NOT_TCP(0, "\x13\0\0\0\x01\x06\0\0\0alice\x01\0\0\0F\x01\x02\x03\x04", "soulseek"),
		NOT_TCP(0, "\x13\0\0\0\x01\x05\0\0\0alice\x01\0\0\0X\x01\x02\x03\x04", "soulseek"),
	};
	char broken[sizeof(login)];

	(void)state;
	CHECK(samples);
	rig_cuts(rig, IPPROTO_TCP, 0, login, sizeof(login) - 1, "soulseek");
	rig_cuts(rig, IPPROTO_TCP, 0, LITERAL(peer), "soulseek");
	memcpy(broken, login, sizeof(login));
	broken[40] = 'x';
	assert_string_equal(rig_first(rig, IPPROTO_TCP, 0, broken, sizeof(broken) - 1), "");
	rig_random(rig, IPPROTO_TCP, LITERAL("\x48\0\0\0\x01\0\0\0\x05\0\0\0"), "soulseek");
	rig_random(rig, IPPROTO_TCP, LITERAL("\x05\0\0\0\0"), "soulseek");
}

static void test_directconnect(void **state)
{
	static const char lock[] = "$Lock EXTENDEDPROTOCOLABCABC Pk=DCPLUSPLUS0.674ABC|";
	static const struct sample samples[] = {
		TCP(1, "$Lock abcdefghijklmnopqrstuvwxyz|", "directconnect"),
		TCP(0, "$MyNick alice|$Lock EXTENDEDPROTOCOL Pk=x|", "directconnect"),
		TCP(0, "$MyNick alice|", "directconnect"),
		TCP(0, "$Supports UserCommand NoGetINFO |$Key x|", "directconnect"),
		TCP(0, "HSUP ADBASE ADTIGR\n", "directconnect"),
		TCP(1, "ISUP ADBAS0 ADTIGR\n", "directconnect"),
		TCP(0, "CSUP ADBASE ADTIGR ADBZIP\n", "directconnect"),
		UDP(0, "URES ABCDEFGHIJKLMNOPQRSTUVWXYZ234567ABCDEFG SI1 SL3\n", "directconnect"),
		UDP(0,
			"$SR alice dir\\file.txt\x05"
			"437 3/4\x05Hub (1.2.3.4:411)|",
			"directconnect"),
		NOT_TCP(1, "$Lock abc|", "directconnect"),
		NOT_TCP(1, "$Lock with a blank and no key|", "directconnect"),
		NOT_TCP(0, "$MyNick |", "directconnect"),
		NOT_TCP(0, "SUP ADBASE\n", "directconnect"),
		NOT_TCP(0, "HSUP adbase\n", "directconnect"),
		NOT_UDP(0, "URES abcdefghijklmnopqrstuvwxyz234567ABCDEFG SI1\n", "directconnect"),
	};

	(void)state;
	CHECK(samples);
	rig_cuts(rig, IPPROTO_TCP, 1, LITERAL(lock), "directconnect");
	rig_random(rig, IPPROTO_TCP, LITERAL("$Lock "), "directconnect");
	rig_random(rig, IPPROTO_TCP, LITERAL("HSUP "), "directconnect");
}

static void test_syncthing(void **state)
{
	static const struct sample samples[] = {
		UDP(0,
			"\x2e\xa7\xd9\x0b\x0a\x20"
			"0123456789abcdef0123456789abcdef\x12\x01x",
			"syncthing"),
		NOT_UDP(0,
			"\x2e\xa7\xd9\x0b\x0a\x21"
			"0123456789abcdef0123456789abcdef",
			"syncthing"),
	};

	(void)state;
	CHECK(samples);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_gnutella),
		cmocka_unit_test(test_fasttrack),
		cmocka_unit_test(test_soulseek),
		cmocka_unit_test(test_directconnect),
		cmocka_unit_test(test_syncthing),
	};

	rig = rig_new();
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	rig_free(rig);
	return failed;
}
