// SPDX-License-Identifier: BSD-3-Clause
// Calls, meetings, peers and other forms without TLS. Of each: the conversation as clients have it,
// cut anywhere, each octet that counts changed, random bytes.
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "lib/peers/classify_talk.h"

static struct rig *rig;

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define TALK(l4_word, port, list, app_name)                                             \
	&(const struct talk)                                                            \
	{                                                                               \
		.rig = rig, .packets = list, .n = COUNT(list), .l4 = IPPROTO_##l4_word, \
		.dport = port, .app = app_name                                          \
	}

static void test_zoom(void **state)
{
	static const struct packet hello[] = {SAYS(C2S,
						      "\x01\x00\x02"
						      "0123456789abcdef",
						      107),
		SAYS(C2S, "\x03\x00\x00\x00\x01", 13),
		SAYS(S2C,
			"\x02\x00\x01"
			"0123456789abcdef",
			35)};
	// audio through a server: its frame of 8, the media frame of 19, RTP
#define AUDIO(sequence)                                                                    \
	"\x05\x00\x01\x00\x00\x00\x00\x00\x0f\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00" \
	"\x00\x00\x00\x00\x00\x00\x00\x90\x70" sequence "\x00\x00\x10\x00\x01\x02\x03\x04"
#define VIDEO(sequence)                                                                \
	"\x10\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00" \
	"\x00\x02\x00\x01\x03\x90\x62" sequence "\x00\x00\x10\x00\x01\x02\x03\x05"
	static const struct packet server[] = {
		SAYS(C2S, AUDIO("\x00\x01"), 120), SAYS(C2S, AUDIO("\x00\x03"), 130)};
	static const struct packet peers[] = {SAYS(C2S, VIDEO("\xff\xff"), 1100),
		SAYS(S2C, VIDEO("\x20\x00"), 1100), SAYS(C2S, VIDEO("\x00\x00"), 900)};
	const struct talk *talk = TALK(UDP, 8801, hello, "zoom");

	(void)state;
	talk_means(talk, 35);
	talk_hangs_on(talk, 0, OFFSETS(0, 1, 2, 3, 18));
	talk_hangs_on(talk, 2, OFFSETS(0, 1, 2, 3, 18));
	// from one side alone
	static const struct packet asks[] = {SAYS(C2S,
		"\x01\x00\x02"
		"0123456789abcdef\0\0\0\0\0\0\0\2\0\x7a\0\x2a\0\x7a\0\x2a\0\0\0\x40",
		107)};
	static const struct packet answers[] = {ZEROS(S2C,
		"\x02\x00\x01"
		"0123456789abcdef\0\x5a\x0e\x3e\0\x7a\0\x2a",
		35)};

	talk_means(TALK(UDP, 8801, asks, "zoom"), 103);
	talk_hangs_on(TALK(UDP, 8801, asks, "zoom"), 0, OFFSETS(0, 1, 2, 19, 25, 28, 32, 35));
	talk_means(TALK(UDP, 8801, answers, "zoom"), 35);
	talk_hangs_on(TALK(UDP, 8801, answers, "zoom"), 0, OFFSETS(0, 1, 2, 27, 34));
	talk = TALK(UDP, 8801, server, "zoom");
	talk_means(talk, 39);
	talk_hangs_on(talk, 0, OFFSETS(0, 7, 8, 27, 28, 35, 38));
	talk_hangs_on(talk, 1, OFFSETS(7, 8, 27, 28, 29, 35, 38));
	talk = TALK(UDP, 40001, peers, "zoom");
	talk_means(talk, 36);
	talk_hangs_on(talk, 2, OFFSETS(0, 24, 25, 26, 32));
	rig_random(rig, IPPROTO_UDP, LITERAL("\x05\x00\x01\x00\x00\x00\x00\x00\x0f"), "zoom");
	rig_random(rig, IPPROTO_UDP, LITERAL("\x02\x00\x01"), "zoom");
}

#define PEER_HEAD        \
	"\x1f\x02\x01\0" \
	"abcdefghijklmnopqrst"
#define PEER_GUID    \
	"\0\0\0\x24" \
	"0A1B2C3D-4e5f-6071-8293-a4b5c6d7e8f9"

// The frame that looks for the other peer, and what is none.
static void test_zoom_peer(void **state)
{
	static const struct packet frame[] = {SAYS(C2S,
		PEER_HEAD "\0\0\0\x0b"
			  "192.0.2.141" PEER_GUID "\0\0\0\0",
		83)};
	static const struct packet longest[] = {SAYS(S2C,
		PEER_HEAD "\0\0\0\x0f"
			  "255.100.249.250" PEER_GUID "\0\0\0\0",
		87)};
	static const struct packet shortest[] = {SAYS(C2S,
		PEER_HEAD "\0\0\0\x07"
			  "1.2.3.4" PEER_GUID "\0\0\0\0",
		79)};
	static const struct packet bad[] = {SAYS(C2S,
						    PEER_HEAD "\0\0\0\x0b"
							      "192.0.2.256" PEER_GUID "\0\0\0\0",
						    83),
		SAYS(C2S,
			PEER_HEAD "\0\0\0\x0b"
				  "192.0.2..41" PEER_GUID "\0\0\0\0",
			83),
		SAYS(C2S,
			PEER_HEAD "\0\0\0\x0b"
				  "192.0.2141." PEER_GUID "\0\0\0\0",
			83),
		SAYS(C2S,
			PEER_HEAD "\0\0\0\x0b"
				  "192.0.2.1.1" PEER_GUID "\0\0\0\0",
			83),
		SAYS(C2S,
			PEER_HEAD "\0\0\0\x0b"
				  "192.0.2.14a" PEER_GUID "\0\0\0\0",
			83),
		SAYS(C2S,
			PEER_HEAD "\0\0\0\x0a"
				  "192.0.2.141" PEER_GUID "\0\0\0\0",
			83),
		SAYS(C2S,
			PEER_HEAD "\0\0\0\x0b"
				  "192.0.2.141" PEER_GUID "\0\0\0\0\0",
			84),
		SAYS(C2S,
			PEER_HEAD "\1\0\0\x0b"
				  "192.0.2.141" PEER_GUID "\0\0\0\0",
			83)};

	(void)state;
	talk_means(TALK(UDP, 40001, frame, "zoom"), 83);
	talk_means(TALK(UDP, 40001, longest, "zoom"), 87);
	talk_means(TALK(UDP, 40001, shortest, "zoom"), 79);
	talk_hangs_on(TALK(UDP, 40001, frame, "zoom"), 0,
		OFFSETS(0, 1, 2, 3, 24, 27, 28, 31, 38, 39, 42, 44, 50, 51, 66, 78, 79, 82));
	for (unsigned i = 0; i < COUNT(bad); i++) {
		const struct talk talk = {.rig = rig,
			.packets = &bad[i],
			.n = 1,
			.l4 = IPPROTO_UDP,
			.dport = 40001,
			.app = "zoom"};

		assert_string_equal(talk_after(&talk, UINT32_MAX, -1, -1), "");
	}
	rig_random(rig, IPPROTO_UDP,
		LITERAL(PEER_HEAD "\0\0\0\x07"
				  "1.2.3.4\0\0\0\x24"),
		"zoom");
}

static void test_mumble(void **state)
{
	static const struct packet ping[] = {SAYS(C2S,
						     "\0\0\0\0"
						     "12345678",
						     12),
		SAYS(S2C,
			"\0\x01\x03\x04"
			"12345678\0\0\0\x02\0\0\0\x64\0\x01\x19\x40",
			24)};
	const struct talk *talk = TALK(UDP, 40001, ping, "mumble");

	(void)state;
	talk_means(talk, 24);
	talk_hangs_on(talk, 0, OFFSETS(0, 3, 4, 11));
	talk_hangs_on(talk, 1, OFFSETS(0, 4, 11, 12));
	// one side alone, on Mumble's port
	static const struct packet alone[] = {SAYS(C2S,
		"\0\0\0\0"
		"12345678",
		12)};
	static const struct packet answer[] = {SAYS(S2C,
		"\0\x01\x03\x04"
		"12345678\0\0\0\x02\0\0\0\x64\0\x01\x19\x40",
		24)};

	talk_means(TALK(UDP, 64738, alone, "mumble"), 12);
	talk_hangs_on(TALK(UDP, 64738, alone, "mumble"), 0, OFFSETS(0, 1, 2, 3));
	assert_string_equal(talk_after(TALK(UDP, 40001, alone, "mumble"), 1, -1, -1), "");
	talk_means(TALK(UDP, 64738, answer, "mumble"), 24);
	talk_hangs_on(TALK(UDP, 64738, answer, "mumble"), 0, OFFSETS(0, 12, 16));
	assert_string_equal(talk_after(TALK(UDP, 40001, answer, "mumble"), 1, -1, -1), "");
	assert_string_equal(rig_first(rig, IPPROTO_TCP, HALF_S2C,
				    LITERAL("\x16\x03\x03\x02\x00\x0b"
					    "0\x82"
					    "Murmur Autogenerated Certificate v2")),
		"mumble");
	rig_random(rig, IPPROTO_UDP, LITERAL("\0\0\0\0"), "mumble");
}

static void test_teamspeak(void **state)
{
	static const struct packet init[] = {SAYS(C2S, "TS3INIT1\x00\x65\x00", 34)};
	static const struct packet login[] = {SAYS(C2S,
		"\xf4\xbe\x03\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x12\x34\x56\x78"
		"\x09TeamSpeak",
		180)};
	static const struct packet list[] = {SAYS(C2S, "\x01\x80\x84\x01", 4),
		SAYS(S2C, "\x01\x80\x84\x01\x7c\x65\xd9\xa7", 8),
		SAYS(C2S, "\x01\x81\x84\x02\x7c\x65\xd9\xa7\x03\x27\x20", 16)};
	const struct talk *talk = TALK(UDP, 9987, init, "teamspeak");

	(void)state;
	talk_means(talk, 11);
	talk_hangs_on(talk, 0, OFFSETS(0, 3, 7));
	talk = TALK(UDP, 8767, login, "teamspeak");
	talk_means(talk, 30);
	talk_hangs_on(talk, 0, OFFSETS(0, 1, 2, 3, 20, 29));
	talk = TALK(UDP, 2010, list, "teamspeak");
	talk_means(talk, 9);
	talk_hangs_on(talk, 0, OFFSETS(0, 1, 2, 3));
	talk_hangs_on(talk, 1, OFFSETS(0, 1, 2, 3, 4, 7));
	talk_hangs_on(talk, 2, OFFSETS(0, 3, 4, 7));
	rig_random(rig, IPPROTO_UDP, LITERAL("\x01\x80\x84\x01"), "teamspeak");
	rig_random(rig, IPPROTO_UDP, LITERAL("\xf4\xbe\x03\x00"), "teamspeak");
}

static int sure_of(const struct packet *packets, unsigned n)
{
	struct rig_flow flow = rig_flow(rig, IPPROTO_UDP, 40000, 40001);

	for (unsigned i = 0; i < n; i++)
		rig_feed(&flow, packets[i].half, talk_bytes(&packets[i], i), packets[i].length);
	rig_end(&flow);
	return flow.verdict.confidence;
}

// Connections of TeamSpeak whose beginning was not seen.
static void test_teamspeak_midway(void **state)
{
	// version 3: MAC, number, client, type; the server has no client's id
#define MAC "\x91\x0e\x5a\xd3\x44\x27\xb8\x6c"
	static const struct packet pong[] = {SAYS(C2S, MAC "\x10\x92\x00\x05\x84", 13),
		SAYS(S2C, "voice, sealed", 90), SAYS(S2C, MAC "\x0f\x3e\x84", 11),
		SAYS(S2C, MAC "\x0f\x3f\x85\x10\x92", 13)};
	static const struct packet server[] = {SAYS(C2S, MAC "\xff\xff\x84", 11),
		SAYS(S2C, MAC "\x10\x92\x00\x05\x84", 13),
		SAYS(S2C, MAC "\x10\x93\x00\x05\x85\xff\xff", 15)};
	static const struct packet pings[] = {SAYS(S2C, MAC "\xff\xff\x84", 11),
		SAYS(C2S, MAC "\x10\x92\x00\x05\x84", 13), SAYS(S2C, MAC "\0\0\x84", 11)};
	const struct talk *talk = TALK(UDP, 9987, pong, "teamspeak");

	(void)state;
	talk_means(talk, 13);
	assert_int_equal(sure_of(pong, COUNT(pong)), CONFIDENCE_VERIFIED);
	talk_hangs_on(talk, 0, OFFSETS(0, 7, 8, 9, 12));
	talk_hangs_on(talk, 3, OFFSETS(0, 7, 10, 11, 12));
	talk = TALK(UDP, 40001, server, "teamspeak");
	talk_means(talk, 15);
	talk_hangs_on(talk, 2, OFFSETS(0, 7, 12, 13, 14));
	talk = TALK(UDP, 40001, pings, "teamspeak");
	talk_means(talk, 11);
	talk_hangs_on(talk, 0, OFFSETS(0, 8, 9, 10));
	talk_hangs_on(talk, 2, OFFSETS(0, 7, 8, 9, 10));
	// eight octets that stay and a number that grows: others have them, too
	assert_int_equal(sure_of(pings, COUNT(pings)), CONFIDENCE_PARTIAL);
#undef MAC
	// version 2: the CRC is over all of it
	static const struct packet alive[] = {SAYS(C2S,
		"\xf4\xbe\x01\x00\x44\x33\x22\x11\x07\x00\x00\x00\x01\x00\x00\x00\x17\x05\xcf\xeb",
		20)};
	static const struct packet leaves[] = {SAYS(S2C,
		"\xf0\xbe\x2c\x01\x44\x33\x22\x11\x07\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00"
		"\xc5\xc2\x2d\x46\x61\x62",
		26)};
	static const struct packet voice[] = {
		SAYS(C2S, "\xf2\xbe\x00\x0c\x44\x33\x22\x11\x07\0\0\0\x01\0", 120),
		SAYS(S2C, "\xf3\xbe\x00\x0c\x45\x33\x22\x11\x08\0\0\0\x01\0", 120),
		SAYS(C2S, "\xf1\xbe\0\0\x44\x33\x22\x11\x07\0\0\0\x09\0\0\0", 16)};

	talk = TALK(UDP, 8767, alive, "teamspeak");
	talk_means(talk, 20);
	talk_hangs_on(talk, 0, OFFSETS(0, 1, 2, 4, 12, 16, 19));
	talk = TALK(UDP, 40001, leaves, "teamspeak");
	talk_means(talk, 26);
	talk_hangs_on(talk, 0, OFFSETS(0, 1, 3, 4, 20, 23, 24, 25));
	talk = TALK(UDP, 40001, voice, "teamspeak");
	talk_means(talk, 16);
	talk_hangs_on(talk, 0, OFFSETS(0, 1, 2, 4, 7, 8, 11));
	talk_hangs_on(talk, 2, OFFSETS(0, 1, 4, 7, 8, 11));
	assert_int_equal(sure_of(voice, COUNT(voice)), CONFIDENCE_PARTIAL); // class and length
	static const struct packet more[] = {
		SAYS(C2S, "\xf2\xbe\x00\x0c\x44\x33\x22\x11\x07\0\0\0\x01\0", 120),
		SAYS(C2S, "\xf2\xbe\x00\x0c\x44\x33\x22\x11\x07\0\0\0\x02\0", 120)};

	assert_int_equal(sure_of(more, COUNT(more)), CONFIDENCE_DPI);
	rig_random(rig, IPPROTO_UDP, LITERAL("\xf4\xbe\x01\x00"), "teamspeak");
	rig_random(rig, IPPROTO_UDP, LITERAL("\xf2\xbe\x00"), "teamspeak");
	rig_random(rig, IPPROTO_UDP, LITERAL(""), "teamspeak");
}

// RTP and RTCP are nobody's, but for where they go.
static const char *rtp_with(const uint8_t v4[4], const struct packet *packets, unsigned n)
{
	struct rig_flow flow = rig_flow(rig, IPPROTO_UDP, 11320, 23044);

	flow.ends.address[HALF_S2C][10] = flow.ends.address[HALF_S2C][11] = 0xff;
	memcpy(flow.ends.address[HALF_S2C] + 12, v4, 4);
	for (unsigned i = 0; i < n; i++)
		rig_feed(&flow, packets[i].half, talk_bytes(&packets[i], i), packets[i].length);
	assert_true(flow.verdict.confidence <= CONFIDENCE_PARTIAL);
	rig_end(&flow);
	return strcmp(rig_app(&flow), "rtp") != 0 ? rig_app(&flow) : "";
}

static void test_kakaotalk_call(void **state)
{
	static const struct packet rtp[] = {
		SAYS(C2S, "\x80\x61\x00\x10\0\0\x10\0\x5a\x01\x02\x03", 74),
		SAYS(S2C, "\x80\x61\xff\xf0\0\0\x10\0\x6b\x01\x02\x03", 74),
		SAYS(C2S, "\x80\x61\x00\x11\0\0\x20\0\x5a\x01\x02\x03", 74)};
	static const struct packet rtcp[] = {ZEROS(S2C, "\x81\xc8\x00\x0c\x6b\x01\x02\x03", 52)};
	static const struct packet odd[] = {ZEROS(S2C, "\x81\xc8\x00\x0d\x6b\x01\x02\x03", 52)};
	static const uint8_t relay[4] = {1, 201, 7, 9}, other[4] = {1, 202, 7, 9};
	struct packet jump[COUNT(rtp)], stream[COUNT(rtp)];

	(void)state;
	memcpy(jump, rtp, sizeof(rtp));
	memcpy(stream, rtp, sizeof(rtp));
	jump[2].text = "\x80\x61\x00\x60\0\0\x20\0\x5a\x01\x02\x03";
	stream[2].text = "\x80\x61\x00\x11\0\0\x20\0\x5a\x01\x02\x04";
	assert_string_equal(rtp_with(relay, rtp, 3), "kakaotalk");
	assert_string_equal(rtp_with(relay, rtp, 2), "");
	assert_string_equal(rtp_with(other, rtp, 3), "");
	assert_string_equal(rtp_with(relay, jump, 3), "");
	assert_string_equal(rtp_with(relay, stream, 3), "");
	assert_string_equal(rtp_with(relay, rtcp, 1), "kakaotalk");
	assert_string_equal(rtp_with(other, rtcp, 1), "");
	assert_string_equal(rtp_with(relay, odd, 1), "");
	// sealed: behind what is its length says, a bit and an index, and the tag
	static const struct packet sealed[] = {ZEROS(S2C,
		"\x81\xc8\x00\x0c\x6b\x01\x02\x03"
		"0123456789abcdef0123456789abcdef0123456789ab"
		"\x80\0\0\x01",
		66)};
	static const struct packet bare[] = {ZEROS(S2C, "\x81\xc8\x00\x0c\x6b\x01\x02\x03", 66)};

	assert_string_equal(rtp_with(relay, sealed, 1), "kakaotalk");
	assert_string_equal(rtp_with(other, sealed, 1), "");
	assert_string_equal(rtp_with(relay, bare, 1), "");
}

static void test_imo(void **state)
{
	static const struct packet report[] = {SAYS(C2S, "\x09\x02\xdc\x9a\x02\0\0\0\0\0", 10)};
	static const struct packet longer[] = {SAYS(C2S, "\x09\x02\xdc\x9a\x02\0\0\0\0\0", 11)};
	static const struct packet echo[] = {SAYS(S2C, "\x09\x03\xdc\x9a\x02\0\0\0\0\0", 10)};
	static const struct packet later[] = {
		SAYS(C2S, "\0\x09\x03\xdc\x9a\x02\x33\x9c\x01\0\0", 11)};
	const struct talk *talk = TALK(UDP, 57604, report, "imo");

	(void)state;
	talk_means(talk, 10);
	talk_hangs_on(talk, 0, OFFSETS(0, 1, 7, 9));
	assert_string_equal(talk_after(TALK(UDP, 57604, longer, "imo"), 0, -1, -1), "");
	// a report that came back; one behind a zero, its time since 1970
	talk_means(TALK(UDP, 57604, echo, "imo"), 10);
	talk_means(TALK(UDP, 57604, later, "imo"), 11);
	talk_hangs_on(TALK(UDP, 57604, later, "imo"), 0, OFFSETS(0, 1, 2, 8, 10));
	rig_random(rig, IPPROTO_UDP, LITERAL("\x09\x02"), "imo");
}

static void test_ppstream(void **state)
{
	static const struct packet peer[] = {SAYS(C2S,
		"\x6c\x00\x44\xb1\x71"
		"12345678\x00\x00\x01\x00\x03\x00\x00\x00",
		108)};
	static const struct packet all[] = {SAYS(C2S,
		"\x54\x00\x44\xb1\x71"
		"12345678\x00\x00\x01\x00\xff\xff\xff\xff",
		88)};
	static const struct packet server[] = {
		ZEROS(C2S, "\x58\x00\x55\x72\x71\0\0\0\0\xe2\x90\xb2\xfc\x07", 88)};
	static const struct packet third[] = {ZEROS(C2S, "\x1e\x00\x43\x12\x34\xff\x00\x01", 36)};
	const struct talk *talk = TALK(UDP, 40001, peer, "ppstream"); // its own port says more

	(void)state;
	talk_means(talk, 102); // 102 and 104 octets have that length without a head
	talk_hangs_on(talk, 0, OFFSETS(0, 1, 2, 3, 4, 13, 15, 17, 20));
	talk_means(TALK(UDP, 17788, all, "ppstream"), 84);
	talk = TALK(UDP, 40001, server, "ppstream");
	talk_means(talk, 88);
	talk_hangs_on(talk, 0, OFFSETS(0, 1, 2, 3, 4, 5, 8, 14, 20));
	talk = TALK(UDP, 17788, third, "ppstream");
	talk_means(talk, 30);
	talk_hangs_on(talk, 0, OFFSETS(0, 2, 5, 6, 7, 8, 14));
	rig_random(rig, IPPROTO_UDP, LITERAL("\x6c\x00\x44\xb1\x71"), "ppstream");
}

static void test_tox(void **state)
{
	static const struct packet nodes[] = {SAYS(C2S,
						      "\x02"
						      "0123456789abcdef0123456789abcdef",
						      113),
		SAYS(S2C,
			"\x04"
			"ABCDEFGHIJKLMNOPABCDEFGHIJKLMNOP",
			57 + 25 + 39),
		SAYS(C2S,
			"\x00"
			"0123456789abcdef0123456789abcdef",
			82)};
	const struct talk *talk = TALK(UDP, 33445, nodes, "tox");

	(void)state;
	talk_means(talk, 82);
	talk_hangs_on(talk, 0, OFFSETS(0, 1, 4, 8));
	talk_hangs_on(talk, 2, OFFSETS(0, 1, 4, 8));
	rig_random(rig, IPPROTO_UDP, LITERAL("\x02"), "tox");
}

static void test_threema(void **state)
{
	static const struct packet login[] = {SAYS(C2S, "", 48), SAYS(S2C, "", 80),
		SAYS(C2S, "", 191), SAYS(S2C, "", 32), SAYS(C2S, "\x24\x00", 38)};
	static const struct packet old[] = {SAYS(C2S, "", 48), SAYS(S2C, "", 80),
		SAYS(C2S, "", 144), SAYS(S2C, "", 32), SAYS(S2C, "\x10\x00", 18)};
	static const struct packet others[][3] = {
		{SAYS(C2S, "", 47), SAYS(S2C, "", 80), SAYS(C2S, "", 144)},
		{SAYS(C2S, "", 48), SAYS(S2C, "", 81), SAYS(C2S, "", 144)},
		{SAYS(C2S, "", 48), SAYS(S2C, "", 80), SAYS(C2S, "", 143)}};
	const struct talk *talk = TALK(TCP, 5222, login, "threema");

	(void)state;
	talk_means(talk, 38);
	talk_hangs_on(talk, 4, OFFSETS(0, 1));
	talk = TALK(TCP, 443, old, "threema");
	talk_means(talk, 18);
	talk_hangs_on(talk, 4, OFFSETS(0, 1));
	for (unsigned i = 0; i < COUNT(others); i++) {
		struct packet five[COUNT(login)];

		memcpy(five, login, sizeof(five));
		memcpy(five, others[i], sizeof(others[i]));
		assert_string_equal(talk_after(TALK(TCP, 5222, five, "threema"), 9, -1, -1), "");
	}
	rig_random(rig, IPPROTO_TCP, LITERAL(""), "threema");
}

static void test_wechat(void **state)
{
#define HELLO     "\x16\xf1\x04\x01\x6e\x00\x00\x01\x6a\x01\x03\xf1\x02\xc0\x2b\x00\xa8"
#define EARLY     "\x19\xf1\x03\x00\xa1\x00\x00\x00\x9d\x01\x04\xf1\x01\x00\xa8"
#define LONG_LINK "\x00\x00\x00\x10\x00\x10\x00\x01\x00\x00\x00\x06\xff\xff\xff\xff"
	static const struct packet hello[] = {SAYS(C2S, HELLO, sizeof(HELLO) - 1)};
	static const struct packet noop[] = {SAYS(C2S, LONG_LINK, 16)};

	(void)state;
	rig_cuts(rig, IPPROTO_TCP, HALF_C2S, LITERAL(HELLO), "wechat");
	rig_cuts(rig, IPPROTO_TCP, HALF_C2S, LITERAL(EARLY), "wechat");
	rig_cuts(rig, IPPROTO_TCP, HALF_C2S, LITERAL(LONG_LINK), "wechat");
	talk_hangs_on(
		TALK(TCP, 8080, hello, "wechat"), 0, OFFSETS(0, 1, 2, 3, 4, 5, 7, 8, 9, 10, 11));
	talk_hangs_on(TALK(TCP, 8080, noop, "wechat"), 0, OFFSETS(0, 4, 5, 6, 7, 8));
	assert_string_equal(rig_first(rig, IPPROTO_TCP, HALF_C2S,
				    LITERAL("POST /mmtls/00a1b2c3 HTTP/1.1\r\n"
					    "Upgrade: mmtls\r\n\r\n")),
		"wechat");
	assert_string_not_equal(rig_first(rig, IPPROTO_TCP, HALF_C2S,
					LITERAL("POST /mmtls/doc.html HTTP/1.1\r\n\r\n")),
		"wechat");
	rig_random(rig, IPPROTO_TCP, LITERAL("\x16\xf1\x04"), "wechat");
	rig_random(rig, IPPROTO_TCP, LITERAL("\x00\x00\x00\x10\x00\x10"), "wechat");
}

static void test_single_signatures(void **state)
{
	static const struct packet dingtalk[] = {SAYS(C2S,
		"\x10\x64\x87\x80\x01\x00\x01\x00\x02\x00\x02"
		"dk\x03\x00\x20",
		104)};
	static const struct packet kakaotalk[] = {
		SAYS(C2S, "\x00\x01\x00\x00\x0e\x00\x00\x00\x02\x00\x00\x00", 268)};
	static const struct packet loco[] = {ZEROS(C2S,
		"\x01\x00\x00\x00\x00\x00"
		"GETCONF\x00\x00\x00\x00\x00\x40",
		86)};
	static const struct packet jami[] = {SAYS(C2S,
		"\x85\xa1"
		"a\x82\xa2id\xc4\x14"
		"0123456789abcdefghij\xa6target\xc4\x14"
		"0123456789abcdefghij\xa1q\xa4"
		"find\xa1t\xce\x01\x02\x03\x04\xa1y\xa1q\xa1v\xa4RNG1",
		98)};

	(void)state;
	talk_means(TALK(TCP, 443, dingtalk, "dingtalk"), 15);
	talk_hangs_on(TALK(TCP, 443, dingtalk, "dingtalk"), 0, OFFSETS(0, 2, 3, 5, 11, 13));
	talk_means(TALK(TCP, 443, kakaotalk, "kakaotalk"), 16);
	talk_hangs_on(TALK(TCP, 443, kakaotalk, "kakaotalk"), 0, OFFSETS(1, 2, 4, 5, 8, 9));
	talk_means(TALK(TCP, 443, loco, "kakaotalk"), 22);
	talk_hangs_on(TALK(TCP, 443, loco, "kakaotalk"), 0, OFFSETS(6, 12, 20, 21));
	talk_means(TALK(UDP, 4222, jami, "jami"), 80);
	talk_hangs_on(TALK(UDP, 4222, jami, "jami"), 0, OFFSETS(0, 1));
	rig_random(rig, IPPROTO_TCP, LITERAL("\x00\x01\x00\x00"), "kakaotalk");
	rig_random(rig, IPPROTO_UDP,
		LITERAL("\x85\xa1"
			"a"),
		"jami");
}

// Media do not say whose they are: a report behind an application's hint does not end the look.
static void test_beside_a_hint(void **state)
{
	static const uint8_t relay[8] = {0xb6, 7, 0, 4}; // LINE's
	static const uint8_t reports[] = {
		0x80, 0xc9, 0, 1, 1, 2, 3, 4, 0x80, 0xc9, 0, 1, 1, 2, 3, 4};
	struct rig_flow flow = rig_flow(rig, IPPROTO_UDP, 40000, 29070);

	(void)state;
	rig_feed(&flow, HALF_C2S, relay, sizeof(relay));
	assert_string_equal(rig_app(&flow), "line");
	assert_int_equal(flow.verdict.confidence, CONFIDENCE_PARTIAL);
	rig_feed(&flow, HALF_C2S, reports, sizeof(reports));
	assert_false(flow.verdict.final);
	rig_feed(&flow, HALF_C2S, relay, sizeof(relay));
	assert_string_equal(rig_app(&flow), "line");
	assert_int_equal(flow.verdict.confidence, CONFIDENCE_DPI);
	rig_end(&flow);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_zoom),
		cmocka_unit_test(test_zoom_peer),
		cmocka_unit_test(test_mumble),
		cmocka_unit_test(test_teamspeak),
		cmocka_unit_test(test_teamspeak_midway),
		cmocka_unit_test(test_kakaotalk_call),
		cmocka_unit_test(test_imo),
		cmocka_unit_test(test_ppstream),
		cmocka_unit_test(test_tox),
		cmocka_unit_test(test_threema),
		cmocka_unit_test(test_wechat),
		cmocka_unit_test(test_single_signatures),
		cmocka_unit_test(test_beside_a_hint),
	};
	int failed;

	rig = rig_new();
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	rig_free(rig);
	return failed;
}
