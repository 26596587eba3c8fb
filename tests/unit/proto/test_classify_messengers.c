// SPDX-License-Identifier: BSD-3-Clause
// The messengers' own forms, without TLS: exchanges of datagrams and first words over TCP. Of each:
// the conversation as clients have it, cut anywhere, each octet that counts changed, random bytes.
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

static void test_skype(void **state)
{
	static const struct packet answered[] = {
		SAYS(C2S, "\x7c\x21\x02", 28), SAYS(S2C, "\x7c\x21\x47", 11)};
	static const struct packet probes[] = {SAYS(C2S, "\x7c\x21\x02", 18),
		SAYS(C2S, "\x7c\x21\x02", 17), SAYS(C2S, "\x7c\x21\x02", 49),
		SAYS(C2S,
			"\x7c\x21\x02"
			"aaaabbbbaaaabbbb",
			19)};
	struct rig_flow flow = rig_flow(rig, IPPROTO_UDP, 40000, 40001);

	(void)state;
	rig_feed(&flow, HALF_C2S, talk_bytes(&probes[0], 1), 18);
	assert_string_equal(rig_app(&flow), "skype");
	assert_int_equal(flow.verdict.confidence, CONFIDENCE_PARTIAL);
	assert_false(flow.verdict.final);
	rig_feed(&flow, HALF_S2C,
		"\x7c\x22\x07"
		"abcdefgh",
		11); // another id
	rig_feed(&flow, HALF_C2S,
		"\x7c\x21\x07"
		"abcdefgh",
		11); // the same half
	rig_feed(&flow, HALF_S2C,
		"\x7c\x21\x07"
		"abcdefghi",
		12);
	assert_int_equal(flow.verdict.confidence, CONFIDENCE_PARTIAL);
	rig_feed(&flow, HALF_S2C,
		"\x7c\x21\x05"
		"abcdefgh",
		11);
	assert_int_equal(flow.verdict.confidence, CONFIDENCE_DPI);
	rig_end(&flow);

	flow = rig_flow(rig, IPPROTO_UDP, 40000, 40001);
	for (unsigned i = 0; i < 2; i++)
		rig_feed(&flow, answered[i].half, talk_bytes(&answered[i], i), answered[i].length);
	assert_int_equal(flow.verdict.confidence, CONFIDENCE_DPI);
	assert_int_equal(flow.verdict.n_data_pkts, 1);
	rig_end(&flow);

	for (unsigned i = 1; i < COUNT(probes); i++) // short, long, text
		assert_string_equal(rig_first(rig, IPPROTO_UDP, HALF_C2S, talk_bytes(&probes[i], 1),
					    probes[i].length),
			"");
	assert_string_equal(
		rig_first(rig, IPPROTO_UDP, HALF_S2C, talk_bytes(&probes[0], 1), 18), "");
	flow = rig_flow(rig, IPPROTO_UDP, 40000, 161); // a service's port
	rig_feed(&flow, HALF_C2S, talk_bytes(&probes[0], 1), 18);
	assert_string_equal(rig_app(&flow), "");
	rig_end(&flow);
	flow = rig_flow(rig, IPPROTO_UDP, 40000, 40001); // not the first datagram
	rig_feed(&flow, HALF_C2S, "hello", 5);
	rig_feed(&flow, HALF_C2S, talk_bytes(&probes[0], 1), 18);
	assert_string_equal(rig_app(&flow), "");
	rig_end(&flow);
}

// Probes that another protocol's length explains, or that go to many at once.
static void test_skype_refusals(void **state)
{
	static const struct packet lengths[] = {SAYS(C2S, "\x7c\x21\x02", 28), // none: the hint
		SAYS(C2S, "\x1b\x21\x02", 28), SAYS(C2S, "\x30\x1a\x02", 28),
		SAYS(C2S, "\x7c\x21\x02\x18", 28), SAYS(C2S, "\x00\x1c\x02", 28),
		SAYS(C2S, "\x1c\x00\x02", 28), SAYS(C2S, "\x00\x1a\x02", 28),
		SAYS(C2S, "\x7c\x21\x02\x00\x17", 28), SAYS(C2S, "\x7c\x21\x02\x71\x16\x00", 28),
		SAYS(C2S, "\x7c\x21\x02\x71\x81\x93\x00\x1c", 28)};
	static const struct {
		uint8_t address[16];
		bool many;
	} to[] = {{{[10] = 0xff, 0xff, 192, 0, 2, 7}, false},
		{{[10] = 0xff, 0xff, 223, 255, 255, 255}, false},
		{{[10] = 0xff, 0xff, 224, 0, 0, 1}, true},
		{{[10] = 0xff, 0xff, 239, 255, 255, 250}, true},
		{{[10] = 0xff, 0xff, 240, 0, 0, 1}, false},
		{{[10] = 0xff, 0xff, 255, 255, 255, 255}, true},
		{{0x20, 1, 0xd, 0xb8, [15] = 1}, false}, {{0xff, 2, [15] = 0xfb}, true}};
	struct rig_flow flow;

	(void)state;
	for (unsigned i = 0; i < COUNT(lengths); i++) {
		const uint8_t *bytes = talk_bytes(&lengths[i], 1);

		flow = rig_flow(rig, IPPROTO_UDP, 40000, 40001);
		rig_feed(&flow, HALF_C2S, bytes, 28);
		assert_string_equal(rig_app(&flow), i ? "" : "skype");
		// the answer knows better
		const uint8_t answer[11] = {bytes[0], bytes[1], 0x47, 1, 2, 3, 4, 5, 6, 7, 8};

		rig_feed(&flow, HALF_S2C, answer, sizeof(answer));
		assert_string_equal(rig_app(&flow), "skype");
		assert_int_equal(flow.verdict.confidence, CONFIDENCE_DPI);
		rig_end(&flow);
	}
	for (unsigned i = 0; i < COUNT(to); i++) {
		flow = rig_flow(rig, IPPROTO_UDP, 40000, 40001);
		memcpy(flow.ends.address[HALF_S2C], to[i].address, 16);
		rig_feed(&flow, HALF_C2S, talk_bytes(&lengths[0], 1), 28);
		assert_string_equal(rig_app(&flow), to[i].many ? "" : "skype");
		rig_end(&flow);
	}
	for (unsigned cut = 0; cut < 18; cut++)
		assert_string_equal(
			rig_first(rig, IPPROTO_UDP, HALF_C2S, talk_bytes(&lengths[0], 1), cut), "");
}

static void test_qq(void **state)
{
	// log out, number 1,444,875,387, 32 octets of TEA
#define LOG_OUT                                        \
	"\x02\x3b\x0b\x00\x01\x00\x23\x56\x1f\x0c\x7b" \
	"abcdefghabcdefghabcdefghabcdefgh\x03"
	// a login with keys before the blocks: 10 octets
#define LOG_IN                                         \
	"\x02\x37\x13\x08\x25\x00\x23\x56\x1f\x0c\x7b" \
	"abcdefghij\x03"
	static const struct packet out[] = {SAYS(C2S, LOG_OUT, sizeof(LOG_OUT) - 1)};
	static const struct packet twice[] = {
		SAYS(C2S, LOG_IN, sizeof(LOG_IN) - 1), SAYS(S2C, LOG_IN, sizeof(LOG_IN) - 1)};
	static const struct packet frame[] = {SAYS(C2S,
		"\x28\0\0\0\x0a\0\0\0\x14"
		"0123456789abcdefghijabcdefghij\x29",
		40)};
	static const struct packet voice[] = {SAYS(C2S, "\x02\0\x48\0", 72)};
	const struct talk *talk = TALK(UDP, 8000, out, "qq");
	char tcp[sizeof(LOG_OUT) + 1] = {0, sizeof(LOG_OUT) + 1};

	(void)state;
	talk_means(talk, sizeof(LOG_OUT) - 1);
	talk_hangs_on(talk, 0, OFFSETS(0, 1, 3, sizeof(LOG_OUT) - 2));
	talk = TALK(UDP, 8000, twice, "qq");
	talk_means(talk, sizeof(LOG_IN) - 1);
	talk_hangs_on(talk, 1, OFFSETS(0, 7, 8, 9, 10));
	memcpy(tcp + 2, LOG_OUT, sizeof(LOG_OUT) - 1);
	rig_cuts(rig, IPPROTO_TCP, HALF_C2S, tcp, sizeof(tcp), "qq");
	rig_cuts(rig, IPPROTO_TCP, HALF_S2C, tcp, sizeof(tcp), "qq");
	tcp[1]--;
	assert_string_equal(rig_first(rig, IPPROTO_TCP, HALF_C2S, tcp, sizeof(tcp)), "");
	talk_means(TALK(UDP, 8000, frame, "qq"), 40);
	talk_hangs_on(TALK(UDP, 8000, frame, "qq"), 0, OFFSETS(0, 1, 2, 4, 5, 8, 39));
	talk_means(TALK(UDP, 8000, voice, "qq"), 66); // 66 octets may have that length, too
	talk_hangs_on(TALK(UDP, 8000, voice, "qq"), 0, OFFSETS(0, 1, 2, 3));
	rig_cuts(rig, IPPROTO_TCP, HALF_C2S,
		LITERAL("\x28\0\0\0\x30\0\x01\0\0\x0a\x2c\x08\x01\x12\x0a"
			"1234567890"),
		"qq");
	rig_random(rig, IPPROTO_UDP, LITERAL("\x28\0\0\0"), "qq");
	rig_random(rig, IPPROTO_UDP, LITERAL(""), "qq");
	rig_random(rig, IPPROTO_TCP, LITERAL("\x01\x00"), "qq");
}

static void test_discord(void **state)
{
	static const struct packet ask[] = {ZEROS(C2S, "\x00\x01\x00\x46\x00\x02\x4b\x18", 74)};
	static const struct packet answer[] = {ZEROS(S2C,
		"\x00\x02\x00\x46\x00\x02\x4b\x18"
		"192.0.2.17",
		74)};
	static const struct packet alive[] = {SAYS(C2S, "\x13\x37\xca\xfe\x09\x01\x00\x00", 8)};
	const struct talk *talk = TALK(UDP, 50004, ask, "discord");

	(void)state;
	talk_means(talk, 74);
	talk_hangs_on(talk, 0, OFFSETS(0, 1, 2, 3, 8, 40, 71));
	assert_string_equal(talk_after(talk, 0, 72, -1), "discord"); // the server's port
	talk = TALK(UDP, 50004, answer, "discord");
	talk_means(talk, 74);
	talk_hangs_on(talk, 0, OFFSETS(0, 1, 3, 9, 60, 71));
	talk = TALK(UDP, 50004, alive, "discord");
	talk_means(talk, 8);
	talk_hangs_on(talk, 0, OFFSETS(0, 1, 2, 3, 7));
	// the counter in the other order
	static const struct packet other[] = {SAYS(C2S, "\x13\x37\xca\xfe\x00\x00\x01\x09", 8)};

	talk = TALK(UDP, 50004, other, "discord");
	talk_means(talk, 8);
	talk_hangs_on(talk, 0, OFFSETS(0, 1, 2, 3, 4));
	// until 2021: without type and length
	static const struct packet old[] = {ZEROS(C2S, "\x00\x02\x4b\x18", 70),
		ZEROS(S2C,
			"\x00\x02\x4b\x18"
			"192.0.2.17\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"
			"\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x5c\x01",
			70)};

	talk = TALK(UDP, 50004, old, "discord");
	talk_means(talk, 70);
	talk_hangs_on(talk, 1, OFFSETS(5, 6, 7, 11, 40, 67));
	// numbers in such a field that are no address
	static const char *const numbers[] = {"20211205", "1.2.3", "1.2.3.4.5", "1920.0.2.1",
		"192..2.1", "192.0.2.", "192.0.2.1711"};

	for (unsigned i = 0; i < COUNT(numbers); i++) {
		uint8_t told[70] = "\x00\x02\x4b\x18";

		memcpy(told + 4, numbers[i], strlen(numbers[i]));
		memcpy(told + 68, "\x5c\x01", 2);
		assert_string_equal(rig_first(rig, IPPROTO_UDP, HALF_S2C, told, sizeof(told)), "");
	}
	rig_random(rig, IPPROTO_UDP, LITERAL("\x00\x02\x00\x46"), "discord");
	rig_random(rig, IPPROTO_UDP, LITERAL("\x13\x37"), "discord");
}

static void test_line(void **state)
{
	static const struct packet hello[] = {SAYS(C2S, "\xdb\x51\x03\x7f\x06\x02", 853)};
	static const struct packet media[] = {SAYS(C2S, "\xd0\x9c\xff\xff\x18\x6e", 160),
		SAYS(S2C, "\x01\x02\x03", 3), SAYS(C2S, "\xd0\x10\x00\x00", 20)};
	static const struct packet alive[] = {SAYS(S2C, "\xb6\x07\x00\x04", 8)};
	static const struct packet relay[] = {SAYS(C2S, "\xb6\x18\x00\x6a", 110)};
	const struct talk *talk = TALK(UDP, 29070, hello, "line");

	(void)state;
	talk_means(talk, 853);
	talk_hangs_on(talk, 0, OFFSETS(0, 1, 4, 5));
	talk = TALK(UDP, 29070, media, "line");
	talk_means(talk, 20);
	talk_hangs_on(talk, 0, OFFSETS(0, 1, 2, 3));
	talk_hangs_on(talk, 2, OFFSETS(0, 1, 2, 3));
	talk_means(TALK(UDP, 29070, alive, "line"), 8);
	talk_hangs_on(TALK(UDP, 29070, alive, "line"), 0, OFFSETS(0, 1, 2, 3));
	talk_means(TALK(UDP, 29070, relay, "line"), 110);
	static const struct packet longer[] = {SAYS(C2S, "\xb6\x13\x00\x06", 46)};

	talk_means(TALK(UDP, 29070, longer, "line"), 46);
	talk_hangs_on(TALK(UDP, 29070, longer, "line"), 0, OFFSETS(0, 1, 2, 3));
	rig_random(rig, IPPROTO_UDP, LITERAL("\xd8"), "line");
	rig_random(rig, IPPROTO_UDP, LITERAL("\xb6"), "line");
}

static void test_viber(void **state)
{
	static const struct packet call[] = {
		SAYS(C2S, "\xed\xf6\x01\x00\x05\x00\xac\x19\x35\x8c\x8f\x64\xe4\x47", 257),
		SAYS(C2S, "\xed\xf6\x11\x00\x01", 18),
		SAYS(S2C, "\xed\xf6\x0c\x00\x01\x00\xac\x19\x35\x8c\x8f\x64\xe4\x47", 76)};
	static const struct packet ping[] = {
		SAYS(C2S, "\x05\xb8\x19\x00\x35\x18\xf5\x18\x98\x64\xe4\x47", 34),
		SAYS(S2C, "\x05\xb8\x1a\x00\x35\x18\xf5\x18\x98\x64\xe4\x47", 20)};
	// kinds that tell the time: is the way there, it is, and who asks and answers with one
#define TIME "\xb3\x39\x92\x91\x63\x01\x00\x00"
	static const struct packet way[] = {SAYS(C2S, "\xed\xf6\x09\x00" TIME, 20)};
	static const struct packet there[] = {SAYS(S2C, "\xed\xf6\x0b\x00" TIME, 34)};
	static const struct packet asks[] = {SAYS(C2S,
		"\xed\xf6\x01\x00\x05\x00"
		"0123456789abcdef0123456789ab" TIME,
		257)};
	static const struct packet says[] = {SAYS(S2C,
		"\xed\xf6\x0c\x00\x01\x00"
		"0123456789abcd" TIME,
		76)};
	static const struct packet hint[] = {SAYS(C2S, "\x05\xb8\x03\x00", 12)};
	static const struct packet chat[] = {
		SAYS(C2S, "\x60\x00\xad\xd4\xdc\x17\xfc\xff\x03\x80\x59\x00\x0a", 96)};
	static const struct packet late[] = {// the first frame is not alone
		SAYS(C2S, "\x20\x00\xad\xd4\xdc\x17\xfc\xff\x03\x80\x59\x00\x0a", 96),
		SAYS(S2C, "\x16\x00\x76\x05\x03\x80\xad\xd4\xdc\x17\x5c\x00", 22)};
	const struct talk *talk = TALK(UDP, 7985, call, "viber");

	(void)state;
	talk_means(talk, 20);
	talk_hangs_on(talk, 0, OFFSETS(0, 1, 2, 3, 4, 6, 13));
	talk_hangs_on(talk, 2, OFFSETS(0, 1, 2, 3, 6, 13));
	talk = TALK(UDP, 40001, ping, "viber");
	talk_means(talk, 20);
	assert_string_equal(
		talk_after(TALK(UDP, 7987, ping, "viber"), 1, 0, -1), "viber"); // a hint
	talk_hangs_on(talk, 1, OFFSETS(0, 2, 3, 4, 11));
	talk_means(TALK(UDP, 40001, way, "viber"), 20);
	talk_hangs_on(TALK(UDP, 40001, way, "viber"), 0, OFFSETS(2, 3, 9, 10, 11));
	talk_means(TALK(UDP, 40001, there, "viber"), 34);
	talk_means(TALK(UDP, 40001, asks, "viber"), 42);
	talk_hangs_on(TALK(UDP, 40001, asks, "viber"), 0, OFFSETS(2, 3, 4, 5, 39, 40, 41));
	talk_means(TALK(UDP, 40001, says, "viber"), 28);
	talk_hangs_on(TALK(UDP, 40001, says, "viber"), 0, OFFSETS(2, 3, 25, 26, 27));
	talk_means(TALK(UDP, 7985, hint, "viber"), 12);
	assert_string_equal(talk_after(TALK(UDP, 40001, hint, "viber"), 1, -1, -1), "");
	rig_cuts(rig, IPPROTO_TCP, HALF_C2S, talk_bytes(chat, 0), 96, "viber");
	talk = TALK(TCP, 4244, chat, "viber");
	talk_means(talk, 96);
	talk_hangs_on(talk, 0, OFFSETS(0, 1, 6, 7, 8, 9));
	talk = TALK(TCP, 4244, late, "viber");
	talk_means(talk, 12);
	talk_hangs_on(talk, 1, OFFSETS(4, 5, 6, 9));
	rig_random(rig, IPPROTO_UDP, LITERAL("\xed\xf6\x01\x00\x05\x00"), "viber");
}

// Sealed frames of a connection whose beginning was not seen: two of 40 and 24 octets, plain or in
// records of `record`, octet `odd` of it all changed (-1: none).
static const char *frames_after(uint16_t port, const char *record, unsigned number, unsigned step,
	int odd, size_t cut, int *confidence)
{
	static const uint8_t lengths[] = {40, 24};
	const size_t head = strlen(record);
	uint8_t bytes[128];
	size_t n = 0;
	struct rig_flow flow = rig_flow(rig, IPPROTO_TCP, 40000, port);

	for (unsigned i = 0; i < 2; i++) {
		const unsigned counter = (number + i * step) & 0xffff;
		const uint8_t frame[] = {
			lengths[i], 0, (uint8_t)counter, (uint8_t)(counter >> 8), 0, 0};

		if (head) {
			memcpy(bytes + n, record, head);
			bytes[n + 3] = 0;
			bytes[n + 4] = lengths[i];
			n += head + 2;
		}
		memset(bytes + n, 0xb3, lengths[i]);
		memcpy(bytes + n, frame, sizeof(frame));
		n += lengths[i];
	}
	if (odd >= 0)
		bytes[odd] ^= 0x05;
	flow.midstream = true;
	rig_feed(&flow, HALF_S2C, bytes, cut < n ? cut : n);
	rig_end(&flow);
	*confidence = flow.verdict.confidence;
	return rig_app(&flow);
}

static void test_viber_frames(void **state)
{
	static const char *const records[] = {"", "\x17\x03\x01", "\x17\x03\x03"};
	static const int heads[] = {0, 1, 2, 3, 4, 5}, in_record[] = {3, 4, 5, 6, 9, 10};
	int sure;

	(void)state;
	for (unsigned i = 0; i < COUNT(records); i++) {
		const size_t whole = i ? 2 * 5 + 64 : 64, least = i ? 45 + 11 : 40 + 11;
		const char *record = records[i];

		assert_string_equal(frames_after(4244, record, 10, 1, -1, whole, &sure), "viber");
		assert_int_equal(sure, CONFIDENCE_DPI);
		assert_string_equal(
			frames_after(5242, record, 0xffff, 1, -1, whole, &sure), "viber");
		// elsewhere a hint, which a carrier outweighs
		assert_string_equal(
			frames_after(443, record, 10, 1, -1, whole, &sure), i ? "tls" : "viber");
		assert_true(i || sure == CONFIDENCE_PARTIAL);
		for (size_t cut = 0; cut <= whole; cut++)
			assert_int_equal(
				!strcmp(frames_after(4244, record, 7, 1, -1, cut, &sure), "viber"),
				cut >= least);
		assert_string_not_equal(
			frames_after(4244, record, 10, 0, -1, whole, &sure), "viber");
		assert_string_not_equal(
			frames_after(4244, record, 10, 2, -1, whole, &sure), "viber");
		assert_string_not_equal(
			frames_after(4244, record, 10, 0xffff, -1, whole, &sure), "viber");
		for (unsigned at = 0; at < COUNT(heads); at++) {
			const int odd = i ? in_record[at] : heads[at];

			assert_string_not_equal(
				frames_after(4244, record, 10, 1, odd, whole, &sure), "viber");
			if (i || at > 1) // of the second one any length will do
				assert_string_not_equal(frames_after(4244, record, 10, 1,
								odd + (i ? 45 : 40), whole, &sure),
					"viber");
		}
	}
}

// RTP with the silence of G.711: after any four samples, too, and as short as it may be.
static void test_silence(void)
{
	uint8_t rtp[12 + 160];

	for (unsigned first = 0; first <= 16; first += 4)
		for (size_t length = 32; length <= sizeof(rtp); length += 4) {
			struct rig_flow flow = rig_flow(rig, IPPROTO_UDP, 40000, 40002);

			memset(rtp, 0xff, sizeof(rtp));
			memcpy(rtp, "\x80\x00\x12\x34\0\0\1\0\x5a\1\2\3", 12);
			memset(rtp + 12, 0x7e, first);
			if (length == 32 && first <= 4)
				continue; // 20 samples in a packet: the relay's question in all of
					  // it
			rig_feed(&flow, HALF_C2S, rtp, length);
			rig_end(&flow);
			assert_string_not_equal(rig_app(&flow), "telegram");
		}
}

static void test_telegram(void **state)
{
#define TAG  "0123456789abcdef"
#define SETS "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"
	static const struct packet call[] = {SAYS(C2S, TAG SETS "\xfe\xff\xff\xff", 40)};
	// abridged: 40 octets, in clear, req_pq_multi
#define CLEAR                                \
	"\xef\x0a\0\0\0\0\0\0\0\0"           \
	"ABCDEFGH\x14\0\0\0\xf1\x8e\x7e\xbe" \
	"0123456789abcdef"
#define FULL                                 \
	"\x34\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0" \
	"ABCDEFGH\x14\0\0\0\x78\x97\x46\x60" \
	"0123456789abcdef"
	static const struct packet keyed[] = {SAYS(C2S, "\xef\x0f", 62), SAYS(S2C, "\x0c", 49)};
	static const struct packet alone[] = {SAYS(C2S, "\xef\x0f", 62)};
	const struct talk *talk = TALK(UDP, 533, call, "telegram");

	(void)state;
	talk_means(talk, 40);
	talk_hangs_on(talk, 0, OFFSETS(16, 20, 27, 28, 31));
	static const struct packet relays[] = {SAYS(C2S, TAG SETS "\xff\xff\xff\xff", 32)};
	static const struct packet told[] = {SAYS(S2C, TAG SETS "\xc7\x72\x15\xc0", 64)};

	talk = TALK(UDP, 533, relays, "telegram");
	talk_means(talk, 32);
	talk_hangs_on(talk, 0, OFFSETS(16, 27, 28, 31));
	talk = TALK(UDP, 533, told, "telegram");
	talk_means(talk, 32);
	talk_hangs_on(talk, 0, OFFSETS(16, 27, 28, 31));
	test_silence();
	rig_cuts(rig, IPPROTO_TCP, HALF_C2S, LITERAL(CLEAR), "telegram");
	rig_cuts(rig, IPPROTO_TCP, HALF_C2S, LITERAL("\xee\xee\xee\xee\x28\0\0\0"), "telegram");
	rig_cuts(rig, IPPROTO_TCP, HALF_C2S, LITERAL("\xdd\xdd\xdd\xdd\x2b\0\0\0"), "telegram");
	rig_cuts(rig, IPPROTO_TCP, HALF_C2S, LITERAL(FULL), "telegram");
	assert_string_equal(rig_first(rig, IPPROTO_TCP, HALF_S2C, LITERAL(CLEAR)), "");
	assert_string_equal( // not by four; too long
		rig_first(rig, IPPROTO_TCP, HALF_C2S, LITERAL("\xee\xee\xee\xee\x29\0\0\0")), "");
	assert_string_equal(
		rig_first(rig, IPPROTO_TCP, HALF_C2S, LITERAL("\xee\xee\xee\xee\x28\0\x20\0")), "");
	// one side alone, and a port of Telegram's
	assert_string_equal(
		rig_first(rig, IPPROTO_TCP, HALF_C2S, talk_bytes(&keyed[0], 0), 61), "");
	talk_means(TALK(TCP, 443, alone, "telegram"), 0);
	talk_hangs_on(TALK(TCP, 443, alone, "telegram"), 0, OFFSETS(0, 1));
	talk = TALK(TCP, 4430, keyed, "telegram");
	talk_means(talk, 49);
	talk_hangs_on(talk, 0, OFFSETS(0, 1));
	talk_hangs_on(talk, 1, OFFSETS(0));
	rig_random(rig, IPPROTO_TCP, LITERAL("\xef\x00"), "telegram");
	rig_random(rig, IPPROTO_UDP, LITERAL("\xff\xff\xff\xff"), "telegram");
}

static void test_whatsapp(void **state)
{
#define KEY "0123456789abcdef0123456789abcdef"
#define ROUTED                                   \
	"ED\x00\x01\x00\x00\x04\x08\x05\x08\x02" \
	"WA\x06\x03\x00\x00\x24\x12\x22\x0a\x20" KEY
#define PLAIN "WA\x02\x01\x00\x00\xee\x12\xeb\x01\x0a\x20" KEY
#define OLD   "WA\x01\x05\x00\x00\x1a\xf8\x05\x01"
	static const struct packet routed[] = {SAYS(C2S, ROUTED, sizeof(ROUTED) - 1)};
	static const struct packet plain[] = {SAYS(C2S, PLAIN, sizeof(PLAIN) - 1)};

	(void)state;
	rig_cuts(rig, IPPROTO_TCP, HALF_C2S, LITERAL(ROUTED), "whatsapp");
	rig_cuts(rig, IPPROTO_TCP, HALF_C2S, LITERAL(PLAIN), "whatsapp");
	rig_cuts(rig, IPPROTO_TCP, HALF_C2S, LITERAL(OLD), "whatsapp");
	talk_hangs_on(TALK(TCP, 443, plain, "whatsapp"), 0, OFFSETS(0, 1, 2, 3, 4, 5, 7, 10, 11));
	talk_hangs_on(TALK(TCP, 443, routed, "whatsapp"), 0, OFFSETS(0, 1, 2, 3, 4, 11, 12));
	assert_string_equal(rig_first(rig, IPPROTO_TCP, HALF_S2C, LITERAL(OLD)), "");
	// the server's side alone
#define ANSWER "\0\x01\x5e\x1a\xdb\x02\x0a\x20" KEY
	static const struct packet answer[] = {SAYS(S2C, ANSWER, sizeof(ANSWER) - 1)};

	rig_cuts(rig, IPPROTO_TCP, HALF_S2C, LITERAL(ANSWER), "whatsapp");
	talk_hangs_on(TALK(TCP, 443, answer, "whatsapp"), 0, OFFSETS(0, 1, 2, 3, 4, 6, 7));
	assert_string_equal(rig_first(rig, IPPROTO_TCP, HALF_C2S, LITERAL(ANSWER)), "");
	rig_random(rig, IPPROTO_TCP, LITERAL("WA\x02\x01"), "whatsapp");
	rig_random(rig, IPPROTO_TCP, LITERAL("ED\x00\x01\x00\x00"), "whatsapp");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_skype),
		cmocka_unit_test(test_skype_refusals),
		cmocka_unit_test(test_qq),
		cmocka_unit_test(test_discord),
		cmocka_unit_test(test_line),
		cmocka_unit_test(test_viber),
		cmocka_unit_test(test_viber_frames),
		cmocka_unit_test(test_telegram),
		cmocka_unit_test(test_whatsapp),
	};
	int failed;

	rig = rig_new();
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	rig_free(rig);
	return failed;
}
