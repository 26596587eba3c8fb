// SPDX-License-Identifier: BSD-3-Clause
// STUN octets, with the vectors of RFC 5769 (whose fingerprints hold for RFC 8489, too), and who is
// asked when, in virtual time (TA28).
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <zlib.h>

#include <cmocka.h>

#include "transportapi/transport/stun_client.h"
#include "transportapi/transport/udp.h"
#include "transportapi/base/wire.h"

#define MS UINT64_C(1000)
#define S  UINT64_C(1000000)

static const uint8_t ID[12] = {
	0xb7, 0xe7, 0xa7, 0x01, 0xbc, 0x34, 0xd6, 0x86, 0xfa, 0x87, 0xdf, 0xae};

// RFC 5769, 2.1 to 2.3.
static const uint8_t REQUEST[] = {0x00, 0x01, 0x00, 0x58, 0x21, 0x12, 0xa4, 0x42, 0xb7, 0xe7, 0xa7,
	0x01, 0xbc, 0x34, 0xd6, 0x86, 0xfa, 0x87, 0xdf, 0xae, 0x80, 0x22, 0x00, 0x10, 0x53, 0x54,
	0x55, 0x4e, 0x20, 0x74, 0x65, 0x73, 0x74, 0x20, 0x63, 0x6c, 0x69, 0x65, 0x6e, 0x74, 0x00,
	0x24, 0x00, 0x04, 0x6e, 0x00, 0x01, 0xff, 0x80, 0x29, 0x00, 0x08, 0x93, 0x2f, 0xf9, 0xb1,
	0x51, 0x26, 0x3b, 0x36, 0x00, 0x06, 0x00, 0x09, 0x65, 0x76, 0x74, 0x6a, 0x3a, 0x68, 0x36,
	0x76, 0x59, 0x20, 0x20, 0x20, 0x00, 0x08, 0x00, 0x14, 0x9a, 0xea, 0xa7, 0x0c, 0xbf, 0xd8,
	0xcb, 0x56, 0x78, 0x1e, 0xf2, 0xb5, 0xb2, 0xd3, 0xf2, 0x49, 0xc1, 0xb5, 0x71, 0xa2, 0x80,
	0x28, 0x00, 0x04, 0xe5, 0x7a, 0x3b, 0xcf};
static const uint8_t ANSWER4[] = {0x01, 0x01, 0x00, 0x3c, 0x21, 0x12, 0xa4, 0x42, 0xb7, 0xe7, 0xa7,
	0x01, 0xbc, 0x34, 0xd6, 0x86, 0xfa, 0x87, 0xdf, 0xae, 0x80, 0x22, 0x00, 0x0b, 0x74, 0x65,
	0x73, 0x74, 0x20, 0x76, 0x65, 0x63, 0x74, 0x6f, 0x72, 0x20, 0x00, 0x20, 0x00, 0x08, 0x00,
	0x01, 0xa1, 0x47, 0xe1, 0x12, 0xa6, 0x43, 0x00, 0x08, 0x00, 0x14, 0x2b, 0x91, 0xf5, 0x99,
	0xfd, 0x9e, 0x90, 0xc3, 0x8c, 0x74, 0x89, 0xf9, 0x2a, 0xf9, 0xba, 0x53, 0xf0, 0x6b, 0xe7,
	0xd7, 0x80, 0x28, 0x00, 0x04, 0xc0, 0x7d, 0x4c, 0x96};
static const uint8_t ANSWER6[] = {0x01, 0x01, 0x00, 0x48, 0x21, 0x12, 0xa4, 0x42, 0xb7, 0xe7, 0xa7,
	0x01, 0xbc, 0x34, 0xd6, 0x86, 0xfa, 0x87, 0xdf, 0xae, 0x80, 0x22, 0x00, 0x0b, 0x74, 0x65,
	0x73, 0x74, 0x20, 0x76, 0x65, 0x63, 0x74, 0x6f, 0x72, 0x20, 0x00, 0x20, 0x00, 0x14, 0x00,
	0x02, 0xa1, 0x47, 0x01, 0x13, 0xa9, 0xfa, 0xa5, 0xd3, 0xf1, 0x79, 0xbc, 0x25, 0xf4, 0xb5,
	0xbe, 0xd2, 0xb9, 0xd9, 0x00, 0x08, 0x00, 0x14, 0xa3, 0x82, 0x95, 0x4e, 0x4b, 0xe6, 0x7b,
	0xf1, 0x17, 0x84, 0xc9, 0x7c, 0x82, 0x92, 0xc2, 0x75, 0xbf, 0xe3, 0xed, 0x41, 0x80, 0x28,
	0x00, 0x04, 0xc8, 0xfb, 0x0b, 0x4c};

static void test_vectors(void **state)
{
	static const uint8_t v6[16] = {0x20, 0x01, 0x0d, 0xb8, 0x12, 0x34, 0x56, 0x78, 0x00, 0x11,
		0x22, 0x33, 0x44, 0x55, 0x66, 0x77};
	struct tapi_stun_answer answer;

	(void)state;
	assert_int_equal(tapi_stun_decode(&answer, ANSWER4, sizeof(ANSWER4)), TAPI_OK);
	assert_int_equal(answer.kind, TAPI_STUN_MAPPED);
	assert_memory_equal(answer.id, ID, sizeof(ID));
	assert_int_equal(answer.mapped.family, 4);
	assert_int_equal(answer.mapped.port, 32853);
	assert_memory_equal(answer.mapped.address, ((uint8_t[]){192, 0, 2, 1}), 4);

	assert_int_equal(tapi_stun_decode(&answer, ANSWER6, sizeof(ANSWER6)), TAPI_OK);
	assert_int_equal(answer.mapped.family, 6);
	assert_int_equal(answer.mapped.port, 32853);
	assert_memory_equal(answer.mapped.address, v6, 16);

	assert_true(tapi_stun_is(REQUEST, sizeof(REQUEST))); // well-formed, but we serve nobody
	assert_int_equal(tapi_stun_decode(&answer, REQUEST, sizeof(REQUEST)), TAPI_EFORMAT);
}

// Each bit that the fingerprint covers is looked at; no length but the right one is taken.
static void test_damage(void **state)
{
	struct tapi_stun_answer answer;
	uint8_t octets[sizeof(ANSWER4) + 4];

	(void)state;
	for (size_t bit = 0; bit < sizeof(ANSWER4) * 8; bit++) {
		memcpy(octets, ANSWER4, sizeof(ANSWER4));
		octets[bit / 8] ^= (uint8_t)(1u << bit % 8);
		// A bit of the fingerprint's own head makes it none, and none is needed.
		if (tapi_stun_decode(&answer, octets, sizeof(ANSWER4)) == TAPI_OK) {
			assert_in_range(bit / 8, sizeof(ANSWER4) - 8, sizeof(ANSWER4) - 7);
			assert_int_equal(answer.mapped.port, 32853);
		}
	}
	memcpy(octets, ANSWER4, sizeof(ANSWER4));
	for (size_t length = 0; length < sizeof(ANSWER4); length++)
		assert_int_equal(tapi_stun_decode(&answer, octets, length), TAPI_EFORMAT);
	memset(octets + sizeof(ANSWER4), 0, 4);
	assert_int_equal(tapi_stun_decode(&answer, octets, sizeof(octets)), TAPI_EFORMAT);
	tapi_put16(octets + 2, sizeof(octets) - 20); // behind the fingerprint
	assert_int_equal(tapi_stun_decode(&answer, octets, sizeof(octets)), TAPI_EFORMAT);
}

static void test_request(void **state)
{
	uint8_t octets[TAPI_STUN_REQUEST_BYTES];
	struct tapi_stun_answer answer;

	(void)state;
	tapi_stun_request(octets, ID);
	assert_memory_equal(octets, "\0\x01\0\x08\x21\x12\xa4\x42", 8);
	assert_memory_equal(octets + 8, ID, sizeof(ID));
	assert_memory_equal(octets + 20, "\x80\x28\0\x04", 4);
	assert_int_equal(tapi_get32(octets + 24), (uint32_t)crc32(0, octets, 20) ^ 0x5354554eu);
	assert_int_equal(tapi_stun_decode(&answer, octets, sizeof(octets)), TAPI_EFORMAT);
}

// Hand-made answers, attribute by attribute.
struct made {
	uint8_t octets[256];
	size_t n;
};

static struct made made(uint16_t type, const uint8_t *id)
{
	struct made out = {.n = 20};

	tapi_put32(tapi_put16(out.octets, type) + 2, 0x2112a442u);
	memcpy(out.octets + 8, id, 12);
	return out;
}

static void add(struct made *to, uint16_t type, const void *value, uint16_t length)
{
	tapi_put(tapi_put16(tapi_put16(to->octets + to->n, type), length), value, length);
	to->n += 4 + ((size_t)length + 3) / 4 * 4;
	tapi_put16(to->octets + 2, (uint16_t)(to->n - 20));
}

static void add_address(
	struct made *to, uint16_t type, const struct tapi_source *source, bool xored)
{
	size_t n = source->family == 4 ? 4 : 16;
	uint8_t value[20] = {0, source->family == 4 ? 1 : 2};

	tapi_put16(value + 2, (uint16_t)(source->port ^ (xored ? 0x2112 : 0)));
	for (size_t i = 0; i < n; i++)
		value[4 + i] = source->address[i] ^ (xored ? to->octets[4 + i] : 0);
	add(to, type, value, (uint16_t)(4 + n));
}

static void seal(struct made *to)
{
	uint8_t value[4];

	tapi_put16(to->octets + 2, (uint16_t)(to->n - 20 + 8)); // as it will be
	tapi_put32(value, (uint32_t)crc32(0, to->octets, (unsigned)to->n) ^ 0x5354554eu);
	add(to, 0x8028, value, 4);
}

static struct tapi_source v4(uint8_t last, uint16_t port)
{
	return (struct tapi_source){.family = 4, .address = {198, 51, 100, last}, .port = port};
}

static enum tapi_result decode(struct tapi_stun_answer *out, const struct made *from)
{
	return tapi_stun_decode(out, from->octets, from->n);
}

static void test_attributes(void **state)
{
	struct tapi_source plain = v4(1, 1000), real = v4(2, 2000);
	struct tapi_stun_answer answer;
	struct made one = made(0x0101, ID);

	(void)state;
	assert_int_equal(decode(&answer, &one), TAPI_EFORMAT); // no address
	add_address(&one, 0x0001, &plain, false);
	assert_int_equal(decode(&answer, &one), TAPI_OK);
	assert_true(tapi_inet_equal(&answer.mapped, &plain));
	add_address(&one, 0x0020, &real, true); // stands before the plain one, wherever it is
	assert_int_equal(decode(&answer, &one), TAPI_OK);
	assert_true(tapi_inet_equal(&answer.mapped, &real));
	add_address(&one, 0x0020, &plain, true); // the first counts
	add(&one, 0x8022, "coturn", 6);          // SOFTWARE, padded
	add(&one, 0x0004, "\0\x01\0\0\0\0\0\0", 8);
	seal(&one);
	assert_int_equal(decode(&answer, &one), TAPI_OK);
	assert_true(tapi_inet_equal(&answer.mapped, &real));

	one = made(0x0101, ID); // after MESSAGE-INTEGRITY nothing counts
	add(&one, 0x0008, "01234567890123456789", 20);
	add_address(&one, 0x0020, &real, true);
	assert_int_equal(decode(&answer, &one), TAPI_EFORMAT);

	one = made(0x0101, ID); // what has to be understood, and is not
	add_address(&one, 0x0020, &real, true);
	add(&one, 0x7fff, "", 0);
	assert_int_equal(decode(&answer, &one), TAPI_OK);
	assert_int_equal(answer.kind, TAPI_STUN_UNKNOWN);

	for (uint16_t length = 0; length < 24; length++) { // each length of the value but 8
		uint8_t value[24] = {0, 1};

		one = made(0x0101, ID);
		add(&one, 0x0020, value, length);
		assert_int_equal(decode(&answer, &one), length == 8 ? TAPI_OK : TAPI_EFORMAT);
	}
	one = made(0x0101, ID); // an attribute that goes beyond the end
	add_address(&one, 0x0020, &real, true);
	tapi_put16(one.octets + 22, 12);
	assert_int_equal(decode(&answer, &one), TAPI_EFORMAT);

	one = made(0x0111, ID);
	add(&one, 0x0009, "\0\0\x04\x14", 4);
	assert_int_equal(decode(&answer, &one), TAPI_OK);
	assert_int_equal(answer.kind, TAPI_STUN_REFUSED);
	assert_int_equal(answer.code, 420);
	one = made(0x0111, ID);
	add(&one, 0x0009, "\0\0\x04", 3);
	assert_int_equal(decode(&answer, &one), TAPI_EFORMAT);
}

// The client: servers that are functions of this file, and a clock.

struct stage {
	struct tapi_stun stun;
	struct tapi_core_api core;
	struct tapi_transport_stats stats;
	struct tapi_stun_settings settings;
	uint64_t now_us;
	uint8_t chance;
	unsigned n;            // requests, of all
	uint64_t sent_us[64];  // each
	struct tapi_source to; // the last
	uint8_t last[28];      // the last
	unsigned lines;        // of the log
	char log[512];         // the last
	bool answers;          // each server says `said` at once ...
	struct tapi_source said[TAPI_STUN_SERVERS_MAX];
	unsigned changes;
};

static void on_random(void *core, void *octets, size_t length)
{
	struct stage *stage = core;

	memset(octets, ++stage->chance, length);
}

__attribute__((format(printf, 3, 4))) static void on_log(
	void *core, int priority, const char *format, ...)
{
	struct stage *stage = core;
	va_list arguments;

	(void)priority;
	stage->lines++;
	va_start(arguments, format);
	vsnprintf(stage->log, sizeof(stage->log), format, arguments);
	va_end(arguments);
}

static void on_send(
	void *context, const struct tapi_source *server, const void *octets, size_t length)
{
	struct stage *stage = context;

	assert_int_equal(length, sizeof(stage->last));
	stage->sent_us[stage->n++ % 64] = stage->now_us;
	stage->to = *server;
	memcpy(stage->last, octets, length);
}

static void begin(struct stage *stage, unsigned servers)
{
	*stage = (struct stage){.now_us = 1000 * S};
	stage->core = (struct tapi_core_api){.core = stage, .random = on_random, .log = on_log};
	stage->stun.core = &stage->core;
	stage->stun.stats = &stage->stats;
	stage->stun.send = on_send;
	stage->stun.context = stage;
	stage->settings.refresh_us = 20 * S;
	stage->settings.servers.n = servers;
	for (unsigned i = 0; i < servers; i++)
		stage->settings.servers.address[i] = v4((uint8_t)(100 + i), 3478);
	tapi_stun_use(&stage->stun, &stage->settings, stage->now_us);
}

static bool answer_as(struct stage *stage, const struct tapi_source *from, const uint8_t *id,
	const struct tapi_source *mapped)
{
	struct made one = made(0x0101, id);

	add_address(&one, 0x0020, mapped, true);
	seal(&one);
	return tapi_stun_take(&stage->stun, from, one.octets, one.n, stage->now_us);
}

// Turns as they are wished for, up to a time.
static void run(struct stage *stage, uint64_t for_us)
{
	uint64_t until_us = stage->now_us + for_us, next_us;

	for (;;) {
		unsigned before = stage->n;

		stage->changes += tapi_stun_turn(&stage->stun, stage->now_us, &next_us);
		for (unsigned i = 0; stage->answers && stage->n > before && i < stage->stun.n; i++)
			if (stage->stun.at[i].sent != 0 && stage->said[i].family != 0)
				stage->changes += answer_as(stage, &stage->stun.at[i].address,
					stage->stun.at[i].id, &stage->said[i]);
		tapi_stun_turn(&stage->stun, stage->now_us, &next_us);
		if (next_us > until_us)
			break;
		assert_true(next_us > stage->now_us);
		stage->now_us = next_us;
	}
	stage->now_us = until_us;
}

// RFC 8489, 6.2.1: at 0, 0.5, 1.5, 3.5, 7.5, 15.5 and 31.5 s, given up at 39.5 s.
static void test_repeats(void **state)
{
	static const uint64_t at_ms[] = {0, 500, 1500, 3500, 7500, 15500, 31500};
	struct stage stage;
	uint8_t first[28];

	(void)state;
	begin(&stage, 1);
	run(&stage, 100 * MS);
	assert_int_equal(stage.n, 1);
	memcpy(first, stage.last, sizeof(first));
	run(&stage, 39 * S);
	assert_int_equal(stage.n, 7);
	for (unsigned i = 0; i < 7; i++)
		assert_int_equal(stage.sent_us[i] - stage.sent_us[0], at_ms[i] * MS);
	assert_memory_equal(stage.last, first, sizeof(first)); // one transaction
	assert_int_equal(stage.stats.stun_unanswered, 0);
	run(&stage, 1 * S);
	assert_int_equal(stage.stats.stun_unanswered, 1);
	assert_int_equal(stage.stats.stun_sent, 7);

	// The next one later, and another: 20, 40, 80 ... 900 s after the end of the last.
	run(&stage, 18 * S);
	assert_int_equal(stage.n, 7);
	run(&stage, 1500 * MS);
	assert_int_equal(stage.n, 8);
	assert_memory_not_equal(stage.last + 8, first + 8, 12);
	run(&stage, 3600 * S);
	stage.n = 0;
	run(&stage, 7200 * S);
	assert_in_range(stage.n, 7 * 7, 7 * 8 + 7); // each 939.5 s
}

static void test_refresh(void **state)
{
	struct stage stage;

	(void)state;
	begin(&stage, 1);
	stage.answers = true;
	stage.said[0] = v4(7, 4000);
	run(&stage, 200 * S);
	assert_in_range(stage.n, 10, 11); // each 20 s: a NAT forgets after 30
	assert_int_equal(stage.stats.stun_answers, stage.n);
	assert_true(tapi_inet_equal(&stage.stun.agreed[0], &stage.said[0]));
	assert_int_equal(stage.changes, 1); // reported once
	assert_int_equal(stage.lines, 1);
	assert_non_null(strstr(stage.log, "198.51.100.7:4000"));

	stage.said[0] = v4(8, 4001); // the NAT has another address
	run(&stage, 20 * S);
	assert_int_equal(stage.changes, 2);
	assert_true(tapi_inet_equal(&stage.stun.agreed[0], &stage.said[0]));
	assert_int_equal(stage.stats.nat_changes, 2);

	stage.answers = false; // gone: it stands for five minutes after its last word
	run(&stage, 270 * S);
	assert_int_equal(stage.stun.agreed[0].family, 4);
	run(&stage, 40 * S);
	assert_int_equal(stage.stun.agreed[0].family, 0);
	assert_int_equal(stage.changes, 3);
}

// Each hour is often enough for a router without NAT on the way: what was said stands until the
// next answer, and is not forgotten and reported anew each time.
static void test_seldom(void **state)
{
	struct stage stage;

	(void)state;
	begin(&stage, 1);
	stage.settings.refresh_us = 3600 * S;
	tapi_stun_use(&stage.stun, &stage.settings, stage.now_us);
	stage.answers = true;
	stage.said[0] = v4(7, 4000);
	run(&stage, 5 * 3600 * S);
	assert_true(tapi_inet_equal(&stage.stun.agreed[0], &stage.said[0]));
	assert_int_equal(stage.changes, 1);
	assert_int_equal(stage.stats.nat_changes, 1);
	stage.answers = false;
	run(&stage, 2 * 3600 * S);
	assert_int_equal(stage.stun.agreed[0].family, 0);
}

// k of n: one of three may lie, or be away; two that differ are no majority of two.
static void test_agree(void **state)
{
	struct tapi_source real = v4(7, 4000), lie = v4(66, 53000);
	struct stage stage;

	(void)state;
	begin(&stage, 3);
	stage.answers = true;
	stage.said[0] = lie;
	run(&stage, 1 * S);
	assert_int_equal(stage.stun.agreed[0].family, 0); // one alone of three
	stage.said[1] = real;
	run(&stage, 60 * S);
	assert_int_equal(stage.stun.agreed[0].family, 0);
	stage.said[2] = real;
	run(&stage, 60 * S);
	assert_true(tapi_inet_equal(&stage.stun.agreed[0], &real));
	assert_int_equal(stage.changes, 1);

	begin(&stage, 2); // a NAT with a mapping per destination
	stage.answers = true;
	stage.said[0] = v4(7, 4000);
	stage.said[1] = v4(7, 4001);
	run(&stage, 300 * S);
	assert_int_equal(stage.stun.agreed[0].family, 0);
	assert_int_equal(stage.changes, 0);
	assert_int_equal(stage.lines, 1); // once
	assert_non_null(strstr(stage.log, "each STUN server sees another address"));
}

// What nobody asked for changes nothing: another id, another source, an answer twice.
static void test_forged(void **state)
{
	struct tapi_source lie = v4(66, 53000), real = v4(7, 4000), server, elsewhere;
	struct stage stage;
	uint8_t wrong[12];

	(void)state;
	begin(&stage, 1);
	run(&stage, 100 * MS);
	server = stage.to;
	memcpy(wrong, stage.last + 8, 12);
	wrong[11] ^= 1;
	assert_false(answer_as(&stage, &server, wrong, &lie));
	elsewhere = server;
	elsewhere.port++;
	assert_false(answer_as(&stage, &elsewhere, stage.last + 8, &lie));
	elsewhere = server;
	elsewhere.address[3]++;
	assert_false(answer_as(&stage, &elsewhere, stage.last + 8, &lie));
	assert_int_equal(stage.stats.stun_bad, 3);
	assert_int_equal(stage.stun.agreed[0].family, 0);
	assert_true(answer_as(&stage, &server, stage.last + 8, &real)); // it waited for this
	assert_false(answer_as(&stage, &server, stage.last + 8, &lie)); // over
	assert_int_equal(stage.stats.stun_bad, 4);
	assert_int_equal(stage.stats.stun_answers, 1);
	assert_true(tapi_inet_equal(&stage.stun.agreed[0], &real));
}

// An answer that refuses, or has no address that could be one, ends the transaction: later again.
static void test_useless(void **state)
{
	struct tapi_source none = v4(7, 0);
	struct stage stage;
	struct made one;

	(void)state;
	begin(&stage, 1);
	run(&stage, 100 * MS);
	one = made(0x0111, stage.last + 8);
	add(&one, 0x0009, "\0\0\x03\0", 4);      // 300, try alternate
	add_address(&one, 0x8023, &none, false); // and who: not followed
	assert_false(tapi_stun_take(&stage.stun, &stage.to, one.octets, one.n, stage.now_us));
	assert_int_equal(stage.stats.stun_bad, 1);
	assert_non_null(strstr(stage.log, "error 300"));
	run(&stage, 19 * S);
	assert_int_equal(stage.n, 1);
	run(&stage, 1200 * MS);
	assert_int_equal(stage.n, 2);
	assert_true(tapi_inet_equal(&stage.to, &stage.settings.servers.address[0]));
	assert_false(answer_as(&stage, &stage.to, stage.last + 8, &none)); // port 0
	assert_int_equal(stage.stun.agreed[0].family, 0);
	assert_int_equal(stage.lines, 1); // a server that goes on so is not reported again
}

// A reload: who stays goes on as it was, who comes is asked, who is gone has no voice.
static void test_reload(void **state)
{
	struct tapi_source real = v4(7, 4000);
	struct stage stage;

	(void)state;
	begin(&stage, 1);
	stage.answers = true;
	stage.said[0] = real;
	run(&stage, 1 * S);
	assert_int_equal(stage.n, 1);
	tapi_stun_use(&stage.stun, &stage.settings, stage.now_us);
	run(&stage, 10 * S);
	assert_int_equal(stage.n, 1); // as it was
	assert_true(tapi_inet_equal(&stage.stun.agreed[0], &real));
	stage.settings.servers.n = 0;
	tapi_stun_use(&stage.stun, &stage.settings, stage.now_us);
	run(&stage, 60 * S);
	assert_int_equal(stage.n, 1);
	assert_int_equal(stage.stun.agreed[0].family, 0);
	assert_int_equal(stage.changes, 2);
}

static void test_conf(void **state)
{
	static const struct {
		const char *list, *wrong; // NULL: good
	} rows[] = {
		{"\"198.51.100.1\", \"198.51.100.1:3479\", \"[2001:db8::1]:5000\"", NULL},
		{"\"stun.example.org\"", "names are not looked up"},
		{"\"198.51.100.1:0\"", "is no address"},
		{"\"fe80::1\"", "is no address"},
		{"\"127.0.0.1\"", "denied by section acl"},
		{"\"198.51.100.1:53\"", "denied by section acl"},
		{"\"198.51.100.1\", \"198.51.100.1:3478\"", "one voice"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct tapi_stun_settings settings;
		struct tapi_error error = {0};
		struct tapi_conf *conf;
		struct tapi_acl *acl;
		enum tapi_result result;
		char text[256];

		snprintf(text, sizeof(text), "{\"udp\": {\"stun\": [%s]}}", rows[i].list);
		conf = tapi_conf_parse(text, &error);
		assert_non_null(conf);
		assert_int_equal(tapi_acl_new(&acl, conf, &error), TAPI_OK);
		result =
			tapi_stun_settings_read(&settings, conf, "udp", tapi_udp_keys, acl, &error);
		if (rows[i].wrong) {
			assert_int_equal(result, TAPI_ECONF);
			assert_non_null(strstr(error.text, "udp.stun["));
			assert_non_null(strstr(error.text, rows[i].wrong));
		} else {
			assert_int_equal(result, TAPI_OK);
			assert_int_equal(settings.servers.n, 3);
			assert_int_equal(settings.servers.address[0].port, 3478);
			assert_int_equal(settings.servers.address[2].port, 5000);
			assert_int_equal(settings.refresh_us, 20 * S);
		}
		tapi_acl_free(acl);
		tapi_conf_free(conf);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_vectors),
		cmocka_unit_test(test_damage),
		cmocka_unit_test(test_request),
		cmocka_unit_test(test_attributes),
		cmocka_unit_test(test_repeats),
		cmocka_unit_test(test_refresh),
		cmocka_unit_test(test_seldom),
		cmocka_unit_test(test_agree),
		cmocka_unit_test(test_forged),
		cmocka_unit_test(test_useless),
		cmocka_unit_test(test_reload),
		cmocka_unit_test(test_conf),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
