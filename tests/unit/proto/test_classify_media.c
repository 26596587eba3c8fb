// SPDX-License-Identifier: BSD-3-Clause
// Media of calls as RFC 3550, 3711 and 5761 have them: voice, pictures, reports, sealed or not;
// each octet that counts, each step that is too far, each truncation; what resembles them; no
// state.
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "classify/media.h"
#include "lib/peers/classify_talk.h"

static struct rig *rig;

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

struct rtp {
	uint8_t first;
	uint8_t kind;
	uint16_t number;
	uint32_t stamp;
	uint32_t source;
};

static const struct rtp voice = {0x80, 0x08, 0xfffe, 0xffffff60, 0x5a010203};

static void put16(uint8_t *at, uint32_t value)
{
	at[0] = (uint8_t)(value >> 8);
	at[1] = (uint8_t)value;
}

static void put32(uint8_t *at, uint32_t value)
{
	put16(at, value >> 16);
	put16(at + 2, value);
}

static void put(uint8_t *at, const struct rtp *packet)
{
	at[0] = packet->first;
	at[1] = packet->kind;
	put16(at + 2, packet->number);
	put32(at + 4, packet->stamp);
	put32(at + 8, packet->source);
}

static void say(struct rig_flow *flow, unsigned half, const struct rtp *packet, size_t length)
{
	uint8_t bytes[200];

	for (unsigned i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(i * 151u + packet->number);
	put(bytes, packet);
	rig_feed(flow, half, bytes, length);
}

static struct rig_flow begin(void)
{
	return rig_flow(rig, IPPROTO_UDP, 40000, 40002);
}

static int confidence(struct rig_flow *flow)
{
	return *rig_app(flow) ? flow->verdict.confidence : CONFIDENCE_NONE;
}

// Three packets of a half, `numbers` and `stamps` on each time: how sure it is after each.
static int sure_after(unsigned n, unsigned numbers, uint32_t stamps)
{
	struct rig_flow flow = begin();
	struct rtp packet = voice;
	int sure;

	for (unsigned i = 0; i < n; i++) {
		say(&flow, HALF_C2S, &packet, 172);
		assert_int_equal(flow.state, CLASSIFY_NO_STATE);
		packet.number = (uint16_t)(packet.number + numbers);
		packet.stamp += stamps;
	}
	sure = confidence(&flow);
	assert_string_equal(rig_app(&flow), sure ? "rtp" : "");
	rig_end(&flow);
	return sure;
}

static void test_voice(void **state)
{
	(void)state;
	assert_int_equal(sure_after(1, 1, 160), CONFIDENCE_NONE);
	assert_int_equal(sure_after(2, 1, 160), CONFIDENCE_PARTIAL);
	assert_int_equal(sure_after(3, 1, 160), CONFIDENCE_DPI); // over both ends of the numbers
	assert_int_equal(sure_after(3, 64, 160), CONFIDENCE_DPI);
	assert_int_equal(sure_after(9, 65, 160), CONFIDENCE_NONE);
	assert_int_equal(sure_after(9, 0, 160), CONFIDENCE_NONE);
	assert_int_equal(sure_after(3, 1, 16), CONFIDENCE_DPI);
	assert_int_equal(sure_after(9, 1, 15), CONFIDENCE_NONE);
	assert_int_equal(sure_after(3, 1, 1u << 22), CONFIDENCE_DPI); // silence
	assert_int_equal(sure_after(9, 1, (1u << 22) + 1), CONFIDENCE_NONE);
	assert_int_equal(sure_after(9, 1, 0), CONFIDENCE_NONE); // a counter, and else nothing
	assert_int_equal(sure_after(9, 1, 0u - 90000), CONFIDENCE_NONE); // time never goes on
	assert_int_equal(sure_after(9, 1, 0u - (1u << 18)), CONFIDENCE_NONE);
}

// With one octet of the third packet changed, or its end cut.
static const char *third(unsigned offset, uint8_t with, size_t length, int *sure)
{
	struct rig_flow flow = begin();
	struct rtp packet = voice;
	uint8_t bytes[172] = {0};

	for (unsigned i = 0; i < 3; i++, packet.number++, packet.stamp += 160) {
		put(bytes, &packet);
		if (i == 2)
			bytes[offset] ^= with;
		rig_feed(&flow, HALF_S2C, bytes, i == 2 ? length : sizeof(bytes));
	}
	*sure = confidence(&flow);
	rig_end(&flow);
	return rig_app(&flow);
}

static void test_octets(void **state)
{
	static const struct {
		unsigned offset;
		uint8_t with;
	} wrong[] = {{0, 0xc0}, {0, 0x40}, {0, 0x80}, {1, 0x01}, {1, 0x48}, {2, 0x01}, {2, 0x80},
		{4, 0x80}, {8, 1}, {9, 1}, {10, 1}, {11, 1}};
	int sure;

	(void)state;
	assert_string_equal(third(100, 1, 172, &sure), "rtp");
	assert_int_equal(sure, CONFIDENCE_DPI);
	for (unsigned i = 0; i < COUNT(wrong); i++) {
		third(wrong[i].offset, wrong[i].with, 172, &sure);
		assert_true(sure < CONFIDENCE_DPI);
	}
	for (size_t length = 0; length <= 12; length++) {
		third(100, 1, length, &sure);
		assert_true(sure < CONFIDENCE_DPI);
	}
	third(100, 1, 13, &sure);
	assert_int_equal(sure, CONFIDENCE_DPI);
	third(1, 0x80, 172, &sure); // the marker
	assert_int_equal(sure, CONFIDENCE_DPI);
	third(0, 0x2f, 172, &sure); // padding, which may be sealed; contributors
	assert_int_equal(sure, CONFIDENCE_DPI);
	third(0, 0x2f, 12 + 60, &sure);
	assert_true(sure < CONFIDENCE_DPI);
}

// An extension of `words` in packets of `length`.
static int sure_with_extension(unsigned words, size_t length)
{
	struct rig_flow flow = begin();
	struct rtp packet = voice;
	uint8_t bytes[172] = {0};
	int sure;

	packet.first = 0x90;
	put16(bytes + 14, words);
	for (unsigned i = 0; i < 3; i++, packet.number++, packet.stamp += 960) {
		put(bytes, &packet);
		rig_feed(&flow, HALF_C2S, bytes, length);
	}
	sure = confidence(&flow);
	rig_end(&flow);
	return sure;
}

static void test_extension(void **state)
{
	(void)state;
	assert_int_equal(sure_with_extension(2, 25), CONFIDENCE_DPI);
	assert_int_equal(sure_with_extension(2, 24), CONFIDENCE_NONE);
	assert_int_equal(sure_with_extension(0xffff, 172), CONFIDENCE_NONE);
	for (size_t length = 12; length < 17; length++)
		assert_int_equal(sure_with_extension(0, length), CONFIDENCE_NONE);
}

// A picture takes several packets of one time; voice goes on between them; others come late.
static void test_pictures(void **state)
{
	struct rig_flow flow = begin();
	struct rtp picture = {0x80, 96, 100, 9000, 0x11223344},
		   sound = {0x80, 111, 7, 5, 0x55667788};

	(void)state;
	for (unsigned i = 0; i < 3; i++, picture.number++)
		say(&flow, HALF_C2S, &picture, 180);
	assert_int_equal(confidence(&flow), CONFIDENCE_NONE);
	say(&flow, HALF_C2S, &sound, 90);
	picture.stamp += 3000;
	say(&flow, HALF_C2S, &picture, 180);
	assert_int_equal(confidence(&flow), CONFIDENCE_DPI);
	rig_end(&flow);
	// two sources in turn
	flow = begin();
	for (unsigned i = 0; i < 3; i++) {
		picture.number++, picture.stamp += 3000;
		sound.number++, sound.stamp += 960;
		say(&flow, HALF_C2S, &picture, 180);
		say(&flow, HALF_C2S, &sound, 90);
	}
	assert_int_equal(confidence(&flow), CONFIDENCE_DPI);
	assert_int_equal(flow.verdict.n_data_pkts, 3);
	rig_end(&flow);
	// one that comes late, or twice, proves nothing; a tone between two does not
	flow = begin();
	struct rtp late = sound, tone = sound;

	say(&flow, HALF_C2S, &sound, 90);
	late.number--, late.stamp -= 960;
	say(&flow, HALF_C2S, &late, 90);
	say(&flow, HALF_C2S, &sound, 90);
	assert_int_equal(confidence(&flow), CONFIDENCE_NONE);
	tone.kind = 101, tone.number++, tone.stamp += 960;
	say(&flow, HALF_C2S, &tone, 16);
	assert_int_equal(confidence(&flow), CONFIDENCE_NONE);
	tone.kind = sound.kind, tone.number++, tone.stamp += 960;
	say(&flow, HALF_C2S, &tone, 90);
	assert_int_equal(confidence(&flow), CONFIDENCE_PARTIAL);
	rig_end(&flow);
	// one of each half is not two of one
	flow = begin();
	for (unsigned i = 0; i < 8; i++) {
		sound.number++, sound.stamp += 960, sound.source++;
		say(&flow, i & 1, &sound, 90);
	}
	assert_int_equal(confidence(&flow), CONFIDENCE_NONE);
	rig_end(&flow);
}

#define SENDER(source)                                                               \
	"\x80\xc8\x00\x06" source "\xe0\x01\x02\x03\x04\x05\x06\x07\x00\x00\x10\x00" \
	"\x00\x00\x00\x10\x00\x00\x0a\x00"
#define NAMED(source) "\x81\xca\x00\x03" source "\x01\x04me@a\x00\x00"
#define GONE(source)  "\x81\xcb\x00\x01" source
#define A             "\x5a\x01\x02\x03"
#define B             "\x6b\x01\x02\x03"

static int sure_of(const void *bytes, size_t length)
{
	struct rig_flow flow = begin();
	int sure;

	rig_feed(&flow, HALF_C2S, bytes, length);
	sure = confidence(&flow);
	assert_string_equal(rig_app(&flow), sure ? "rtp" : "");
	rig_end(&flow);
	return sure;
}

static void test_reports(void **state)
{
	static const char all[] = SENDER(A) NAMED(A) GONE(A);
	static const unsigned ends[] = {28, 44, 52};

	(void)state;
	assert_int_equal(sure_of(LITERAL(SENDER(A))), CONFIDENCE_PARTIAL);
	assert_int_equal(sure_of(LITERAL("\x80\xc9\x00\x01" A)), CONFIDENCE_PARTIAL);
	assert_int_equal(sure_of(LITERAL(SENDER(A) NAMED(A))), CONFIDENCE_DPI);
	assert_int_equal(sure_of(LITERAL(SENDER(A) NAMED(B))), CONFIDENCE_PARTIAL);
	assert_int_equal(sure_of(LITERAL(NAMED(A))), CONFIDENCE_NONE);
	assert_int_equal(sure_of(LITERAL("\x80\xc9\x00\x01\0\0\0\0")), CONFIDENCE_NONE);
	for (size_t length = 0; length < sizeof(all); length++) {
		bool ends_here = length == ends[0] || length == ends[1] || length == ends[2];

		assert_int_equal(sure_of(all, length) != CONFIDENCE_NONE, ends_here);
	}
	// more blocks than fit, another version, another kind
	assert_int_equal(sure_of(LITERAL("\x81\xc9\x00\x01" A)), CONFIDENCE_NONE);
	assert_int_equal(sure_of(LITERAL("\x40\xc9\x00\x01" A)), CONFIDENCE_NONE);
	assert_int_equal(sure_of(LITERAL("\x80\xc7\x00\x01" A)), CONFIDENCE_NONE);
	assert_int_equal(sure_of(LITERAL("\x80\xd0\x00\x01" A)), CONFIDENCE_NONE);
	assert_int_equal(sure_of(LITERAL("\x80\xc9\x00\x02" A)), CONFIDENCE_NONE);
	// a second one of that source; of another
	struct rig_flow flow = begin();

	rig_feed(&flow, HALF_C2S, LITERAL("\x80\xc9\x00\x01" A));
	rig_feed(&flow, HALF_C2S, LITERAL("\x80\xc9\x00\x01" B));
	assert_int_equal(confidence(&flow), CONFIDENCE_PARTIAL);
	rig_feed(&flow, HALF_C2S, LITERAL("\x80\xc9\x00\x01" B));
	assert_int_equal(confidence(&flow), CONFIDENCE_DPI);
	rig_end(&flow);
}

// One packet, and a report of its source, of its receiver, of neither.
static int sure_with(unsigned half, const void *report, size_t length)
{
	struct rig_flow flow = begin();
	int sure;

	say(&flow, HALF_C2S, &voice, 172);
	rig_feed(&flow, half, report, length);
	sure = confidence(&flow);
	rig_end(&flow);
	return sure;
}

static void test_report_of_stream(void **state)
{
#define RECEIVED(of) "\x81\xc9\x00\x07" B of "\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0\0\0\0\0\0"
	(void)state;
	assert_int_equal(sure_with(HALF_C2S, LITERAL(SENDER(A))), CONFIDENCE_DPI);
	assert_int_equal(sure_with(HALF_C2S, LITERAL(SENDER(B))), CONFIDENCE_PARTIAL);
	assert_int_equal(sure_with(HALF_S2C, LITERAL(RECEIVED(A))), CONFIDENCE_DPI);
	assert_int_equal(sure_with(HALF_S2C, LITERAL(RECEIVED(B))), CONFIDENCE_PARTIAL);
	// sealed: its head alone is in clear
	assert_int_equal(sure_with(HALF_C2S, LITERAL("\x80\xc8\x00\x06" A
						     "sealed sealed sealed sealed sealed")),
		CONFIDENCE_DPI);
	assert_int_equal(sure_with(HALF_C2S, LITERAL("\x80\xc8\x00\x06" B
						     "sealed sealed sealed sealed sealed")),
		CONFIDENCE_NONE);
	assert_int_equal(
		sure_with(HALF_C2S, LITERAL("\x80\xc8\x00\x06" A "sealed sealed sealed sealed")),
		CONFIDENCE_NONE);
}

// SRTCP: 20 octets sealed, with GCM the tag of 16, the bit and the index, a tag of so many octets.
static int sure_sealed(unsigned n, uint32_t index, unsigned step, unsigned tag)
{
	struct rig_flow flow = begin();
	uint8_t report[8 + 20 + 16 + 4] = "\x80\xc8\x00\x06" B "sealed sealed sealed";
	unsigned at = tag ? 28 : 28 + 16;
	int sure;

	memset(report + 28, 0x31, sizeof(report) - 28);
	for (unsigned i = 0; i < n; i++, index += step) {
		put32(report + at, index);
		rig_feed(&flow, HALF_C2S, report, at + 4 + tag);
		assert_int_equal(flow.state, CLASSIFY_NO_STATE);
	}
	sure = confidence(&flow);
	rig_end(&flow);
	return sure;
}

static void test_sealed(void **state)
{
	static const unsigned tags[] = {0, 4, 10};

	(void)state;
	for (unsigned i = 0; i < COUNT(tags); i++) {
		assert_int_equal(sure_sealed(1, 0x80000001, 1, tags[i]), CONFIDENCE_NONE);
		assert_int_equal(sure_sealed(2, 0x80000001, 1, tags[i]), CONFIDENCE_PARTIAL);
		assert_int_equal(sure_sealed(3, 0x80000001, 1, tags[i]), CONFIDENCE_DPI);
	}
	assert_int_equal(sure_sealed(3, 0x80000001, 16, 10), CONFIDENCE_DPI);
	assert_int_equal(sure_sealed(5, 0x80000001, 17, 10), CONFIDENCE_NONE);
	assert_int_equal(sure_sealed(5, 0x80000001, 0, 10), CONFIDENCE_NONE);
	assert_int_equal(sure_sealed(5, 0x00000001, 1, 10), CONFIDENCE_NONE);
	assert_int_equal(sure_sealed(5, 0x80010000, 1, 10), CONFIDENCE_NONE);
	assert_int_equal(sure_sealed(5, 0x80000001, 1, 9), CONFIDENCE_NONE);
}

// What STUN has opened is the media's when they come, and stays so when STUN goes on beside them.
static void test_opened(void **state)
{
	static const char stun[] = "\x00\x01\x00\x00\x21\x12\xa4\x42"
				   "ABCDEFGHIJKL";
	struct rig_flow flow = begin();
	struct rtp packet = voice;

	(void)state;
	rig_feed(&flow, HALF_C2S, LITERAL(stun));
	assert_string_equal(rig_app(&flow), "stun");
	for (unsigned i = 0; i < 2; i++, packet.number++, packet.stamp += 160)
		say(&flow, HALF_C2S, &packet, 172);
	assert_string_equal(rig_app(&flow), "rtp");
	rig_feed(&flow, HALF_S2C, LITERAL(stun));
	assert_string_equal(rig_app(&flow), "rtp");
	assert_int_equal(flow.verdict.confidence, CONFIDENCE_PARTIAL);
	say(&flow, HALF_C2S, &packet, 172);
	assert_int_equal(flow.verdict.confidence, CONFIDENCE_DPI);
	rig_end(&flow);
}

static uint64_t random_state = 0x9e3779b97f4a7c15;

static uint32_t draw(void)
{
	random_state = random_state * 6364136223846793005 + 1442695040888963407;
	return (uint32_t)(random_state >> 32);
}

// What others begin with 0x80 to 0xbf, or have where RTP has its fields: `form` makes the n-th of a
// half of a flow of its own.
typedef size_t form(uint8_t *bytes, unsigned n, uint32_t of_flow);

static void fill(uint8_t *bytes, size_t length)
{
	for (size_t i = 0; i < length; i += 4)
		put32(bytes + i, draw());
}

static size_t form_chance(uint8_t *bytes, unsigned n, uint32_t of_flow)
{
	(void)n;
	(void)of_flow;
	fill(bytes, 1200);
	bytes[0] = (uint8_t)(0x80 | (bytes[0] & 0x3f));
	return 1 + draw() % 1200;
}

static size_t form_dns(uint8_t *bytes, unsigned n, uint32_t of_flow)
{
	fill(bytes, 12);
	put16(bytes, 0x8000u | (of_flow + n)); // ids that count
	memcpy(bytes + 2,
		"\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\x03www\x07"
		"example\x00\x00\x01\x00\x01",
		27);
	return 29;
}

static size_t form_quic(uint8_t *bytes, unsigned n, uint32_t of_flow)
{
	(void)n;
	fill(bytes, 1200);
	bytes[0] = (uint8_t)(0x40 | (bytes[0] & 0x3f));
	put32(bytes + 1, of_flow);
	put32(bytes + 5, ~of_flow);
	return 30 + draw() % 1170;
}

static size_t form_channel(uint8_t *bytes, unsigned n, uint32_t of_flow)
{
	struct rtp packet = voice; // inside of TURN's

	packet.number = (uint16_t)n;
	packet.stamp = of_flow + 160 * n;
	put32(bytes, 0x400000b4);
	fill(bytes + 4, 180);
	put(bytes + 4, &packet);
	return 184;
}

static size_t form_raknet(uint8_t *bytes, unsigned n, uint32_t of_flow)
{
	fill(bytes, 300);
	bytes[0] = 0x84; // frames, number of 24 bits, little endian
	put32(bytes + 1, 0);
	bytes[1] = (uint8_t)n;
	bytes[2] = (uint8_t)of_flow;
	bytes[4] = 0x60; // reliable, length in bits, number, order
	put16(bytes + 5, 2304);
	memset(bytes + 7, 0, 7);
	bytes[7] = bytes[10] = (uint8_t)n;
	return 302;
}

// ENet (games of many makers): peer, time in ms, a command, its channel, its number, a length.
static size_t form_enet(uint8_t *bytes, unsigned n, uint32_t of_flow)
{
	fill(bytes, 100);
	put16(bytes, 0x8000 | (of_flow & 0xf));
	put16(bytes + 2, of_flow + 17 * n);
	put16(bytes + 4, 0x8600);
	put16(bytes + 6, n);
	put16(bytes + 8, 88);
	put16(bytes + 10, 0x0102);
	return 100;
}

// IAX2's full frames: call numbers, time stamp, numbers of 8 bits.
static size_t form_iax(uint8_t *bytes, unsigned n, uint32_t of_flow)
{
	put32(bytes, 0x80010000 | (of_flow & 0x7fff));
	put32(bytes + 4, 20 * n);
	put32(bytes + 8, n << 24 | 0x000206);
	fill(bytes + 12, 160);
	return 172;
}

// A name of 64 bits that stays, behind a kind and a counter.
static size_t form_session(uint8_t *bytes, unsigned n, uint32_t of_flow)
{
	fill(bytes, 100);
	put16(bytes, 0x9010);
	put16(bytes + 2, n);
	put32(bytes + 4, of_flow);
	put32(bytes + 8, ~of_flow);
	return 100;
}

// OpenVPN's kinds, as the first five bits.
static size_t form_openvpn(uint8_t *bytes, unsigned n, uint32_t of_flow)
{
	fill(bytes, 200);
	bytes[0] = n ? 0x48 : 0x38;
	put32(bytes + 1, of_flow);
	put32(bytes + 4, n);
	return 200;
}

static void test_others(void **state)
{
	static form *const forms[] = {form_chance, form_dns, form_quic, form_channel, form_raknet,
		form_enet, form_iax, form_session, form_openvpn};

	(void)state;
	for (unsigned f = 0; f < COUNT(forms); f++)
		for (unsigned run = 0; run < 500; run++) {
			struct rig_flow flow = rig_flow(rig, IPPROTO_UDP, 40000, 40002);
			uint32_t of_flow = draw();

			for (unsigned n = 0; n < 10; n++) {
				uint8_t bytes[1204];
				size_t length = forms[f](bytes, n, of_flow);

				rig_feed(&flow, draw() & 1, bytes, length);
				assert_string_not_equal(rig_app(&flow), "rtp");
			}
			rig_end(&flow);
		}
}

// The same without the rest of the classifier, a million of them, in flows of ten.
static void test_chance(void **state)
{
	uint8_t bytes[1204];
	unsigned claims = 0;

	(void)state;
	for (unsigned run = 0; run < 100000; run++) {
		struct media_memo memo = {0};

		for (unsigned n = 0; n < 10; n++) {
			const struct text datagram = {bytes, 1 + draw() % 1200};

			fill(bytes, 64);
			bytes[0] = (uint8_t)(0x80 | (bytes[0] & 0x3f));
			if (run & 1) // half of them as reports begin
				bytes[1] = (uint8_t)(200 + bytes[1] % 8);
			claims += media_look(&memo, n & 1, datagram, false) > MEDIA_SEALED;
		}
	}
	assert_int_equal(claims, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_voice),
		cmocka_unit_test(test_octets),
		cmocka_unit_test(test_extension),
		cmocka_unit_test(test_pictures),
		cmocka_unit_test(test_reports),
		cmocka_unit_test(test_report_of_stream),
		cmocka_unit_test(test_sealed),
		cmocka_unit_test(test_opened),
		cmocka_unit_test(test_others),
		cmocka_unit_test(test_chance),
	};
	const struct signature stun = {
		.id = "stun",
		.app = app_find("stun"),
		.l4 = IPPROTO_UDP,
		.halves = 3,
		.verify = true,
		.min_length = 20,
		.pattern = "^[\\x00-\\x03]..[\\x00\\x04\\x08\\x0c]",
		.dotall = true,
	};
	int failed;

	rig = rig_new_with(&stun, 1, 16);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	rig_free(rig);
	return failed;
}
