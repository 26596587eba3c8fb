// SPDX-License-Identifier: BSD-3-Clause
// A ClientHello in every form that servers answer (asked: OpenSSL 3.0, GnuTLS 3.7, Go 1.26; the
// namespace test "receivers" asks again): the name in it is found, in one segment and byte by byte.
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "lib/classify/classify_rig.h"
#include "classify/handshake/tls_record.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static struct rig *rig;

struct flight {
	uint8_t bytes[CLASSIFY_PREFIX_BYTES];
	size_t length;
};

static void put(struct flight *to, const void *bytes, size_t length)
{
	assert_true(to->length + length <= sizeof(to->bytes));
	memcpy(to->bytes + to->length, bytes, length);
	to->length += length;
}

static void put_record(
	struct flight *to, uint8_t type, uint16_t version, const void *bytes, size_t length)
{
	const uint8_t head[] = {type, (uint8_t)(version >> 8), (uint8_t)version,
		(uint8_t)(length >> 8), (uint8_t)length};

	put(to, head, sizeof(head));
	put(to, bytes, length);
}

static size_t make_hello(const char *name, uint16_t version, uint8_t *out)
{
	static const uint8_t middle[] = {0, 0, 2, 0x13, 0x01, 1, 0};
	size_t n = strlen(name), at = 4;

	out[at++] = (uint8_t)(version >> 8);
	out[at++] = (uint8_t)version;
	memset(out + at, 0x5a, 32);
	at += 32;
	memcpy(out + at, middle, sizeof(middle));
	at += sizeof(middle);
	const uint8_t extension[] = {0, (uint8_t)(n + 9), 0, 0, 0, (uint8_t)(n + 5), 0,
		(uint8_t)(n + 3), 0, 0, (uint8_t)n};

	memcpy(out + at, extension, sizeof(extension));
	at += sizeof(extension);
	memcpy(out + at, name, n);
	at += n;
	out[0] = 1;
	out[1] = 0;
	out[2] = (uint8_t)((at - 4) >> 8);
	out[3] = (uint8_t)(at - 4);
	return at;
}

struct form {
	const char *what;
	uint16_t record;  // version
	uint16_t hello;   // version
	unsigned pieces;  // records are of so many bytes; 0: one
	unsigned n_first; // records in front of each
	uint8_t first;    // their type
	uint8_t n_bytes;  // their content
	uint8_t content[2];
};

// Each is answered with a ServerHello by one of the servers above.
static const struct form taken[] = {
	{"as specified", 0x0301, 0x0303, 0, 0, 0, 0, {0}},
	{"record version 3.5", 0x0305, 0x0303, 0, 0, 0, 0, {0}},
	{"record version 3.9", 0x0309, 0x0303, 0, 0, 0, 0, {0}},
	{"record version 3.255", 0x03ff, 0x0303, 0, 0, 0, 0, {0}},
	{"record version 2.0 (Go)", 0x0200, 0x0303, 0, 0, 0, 0, {0}},
	{"record version 4.0 (Go)", 0x0400, 0x0303, 0, 0, 0, 0, {0}},
	{"record version 0 (Go)", 0x0000, 0x0303, 0, 0, 0, 0, {0}},
	{"hello version 3.5", 0x0301, 0x0305, 0, 0, 0, 0, {0}},
	{"hello version 3.255", 0x0301, 0x03ff, 0, 0, 0, 0, {0}},
	{"hello version 4.0", 0x0301, 0x0400, 0, 0, 0, 0, {0}},
	{"hello version 255.255", 0x0301, 0xffff, 0, 0, 0, 0, {0}},
	{"hello version 2.0 (Go)", 0x0301, 0x0200, 0, 0, 0, 0, {0}},
	{"both odd", 0x03ff, 0x7f00, 0, 0, 0, 0, {0}},
	{"records of 1 byte", 0x0301, 0x0303, 1, 0, 0, 0, {0}},
	{"records of 1 byte, version 3.9", 0x0309, 0x03ff, 1, 0, 0, 0, {0}},
	{"records of 3 bytes", 0x0301, 0x0303, 3, 0, 0, 0, {0}},
	{"records of 5 bytes", 0x0301, 0x0303, 5, 0, 0, 0, {0}},
	{"an empty record first", 0x0301, 0x0303, 0, 1, TLS_HANDSHAKE, 0, {0}},
	{"32 empty records first", 0x0301, 0x0303, 0, 32, TLS_HANDSHAKE, 0, {0}},
	{"an empty one before each", 0x0301, 0x0303, 10, 1, TLS_HANDSHAKE, 0, {0}},
	{"empty ones of version 3.9", 0x0309, 0x03ff, 10, 2, TLS_HANDSHAKE, 0, {0}},
	{"an empty ChangeCipherSpec first", 0x0301, 0x0303, 0, 1, TLS_CHANGE_CIPHER, 0, {0}},
	{"ChangeCipherSpec first (GnuTLS)", 0x0301, 0x0303, 0, 1, TLS_CHANGE_CIPHER, 1, {1}},
	{"ChangeCipherSpec between", 0x0301, 0x0303, 30, 1, TLS_CHANGE_CIPHER, 1, {1}},
	{"a warning first (Go)", 0x0301, 0x0303, 0, 1, TLS_ALERT, 2, {1, 100}},
	{"four warnings first (Go)", 0x0301, 0x0303, 0, 4, TLS_ALERT, 2, {1, 90}},
	{"a warning between (Go)", 0x0301, 0x0303, 30, 1, TLS_ALERT, 2, {1, 100}},
};

static struct flight flight_of(const struct form *form, const char *name)
{
	struct flight flight = {.length = 0};
	uint8_t hello[400];
	size_t length = make_hello(name, form->hello, hello);
	size_t size = form->pieces ? form->pieces : length;

	for (size_t at = 0; at < length; at += size) {
		size_t here = length - at < size ? length - at : size;

		for (unsigned i = 0; i < form->n_first; i++)
			put_record(
				&flight, form->first, form->record, form->content, form->n_bytes);
		put_record(&flight, TLS_HANDSHAKE, form->record, hello + at, here);
	}
	return flight;
}

static void assert_found(const struct form *form, const char *name, const char *app, size_t step)
{
	const struct flight flight = flight_of(form, name);
	struct rig_flow flow = rig_flow(rig, IPPROTO_TCP, 40000, 443);

	for (size_t at = 0; at < flight.length && !flow.verdict.final; at += step)
		rig_feed(&flow, HALF_C2S, flight.bytes + at,
			flight.length - at < step ? flight.length - at : step);
	if (!flow.verdict.final) // asks for no name of ours: then its server's counts
		rig_feed(&flow, HALF_S2C, "\x15\x03\x03\x00\x02\x02\x28", 7);
	if (strcmp(rig_app(&flow), app))
		fail_msg("%s, %zu bytes a segment: '%s', not %s", form->what, step, rig_app(&flow),
			app);
	rig_end(&flow);
}

static void names_in_every_form_are_found(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(taken); i++) {
		assert_found(&taken[i], "web.whatsapp.com", "whatsapp", CLASSIFY_PREFIX_BYTES);
		assert_found(&taken[i], "web.whatsapp.com", "whatsapp", 64);
		assert_found(&taken[i], "web.whatsapp.com", "whatsapp", 8);
		assert_found(&taken[i], "other.example", "tls", CLASSIFY_PREFIX_BYTES);
		assert_found(&taken[i], "other.example", "tls", 64);
	}
}

// A mail client inside TLS says no more than its port: nor does the version of its record matter.
static void mail_inside_odd_records_is_mail(void **state)
{
	static const struct {
		uint16_t port;
		const char *app;
	} ports[] = {{465, "smtp"}, {993, "imap"}, {995, "pop3"}, {990, "ftp"}};

	(void)state;
	for (size_t i = 0; i < COUNT(ports); i++)
		for (size_t j = 0; j < COUNT(taken); j++) {
			const struct flight flight = flight_of(&taken[j], "mail.example");
			struct rig_flow flow = rig_flow(rig, IPPROTO_TCP, 40000, ports[i].port);

			rig_feed(&flow, HALF_C2S, flight.bytes, flight.length);
			if (strcmp(rig_app(&flow), ports[i].app))
				fail_msg("%s to port %u: '%s'", taken[j].what, ports[i].port,
					rig_app(&flow));
			rig_end(&flow);
		}
}

// The SSL 2 form, which OpenSSL 3.0 still answers, whatever version it asks for.
static void ssl2_of_any_version_is_tls(void **state)
{
	static const uint16_t versions[] = {0x0002, 0x0300, 0x0303, 0x0309, 0x03ff};

	(void)state;
	for (size_t i = 0; i < COUNT(versions); i++) {
		uint8_t hello[2 + 9 + 3 + 32] = {0x80, 44, 1, (uint8_t)(versions[i] >> 8),
			(uint8_t)versions[i], 0, 3, 0, 0, 0, 32, 0, 0xc0, 0x2f};

		assert_string_equal(
			rig_first(rig, IPPROTO_TCP, HALF_C2S, hello, sizeof(hello)), "tls");
		hello[10] = 31; // the lengths do not add up
		assert_string_equal(
			rig_first(rig, IPPROTO_TCP, HALF_C2S, hello, sizeof(hello)), "");
	}
}

// What no server answers is no TLS by its first bytes alone.
static void what_only_looks_like_records_is_none(void **state)
{
	static const struct {
		const char *bytes;
		size_t length;
	} others[] = {
		{LITERAL("\x16\x03\x09\x00\x05"
			 "hello")},
		{LITERAL("\x17\x03\x09\x00\x05"
			 "hello\x16\x03\x01")},
		{LITERAL("\x14\x00\x00\x00\x01\x07\x15\x01\x02\x00")},
		{LITERAL("\x16\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00")},
		{LITERAL("\x15\x0f\xff\xff\xff\xff\xff\xff")},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(others); i++)
		assert_string_equal(
			rig_first(rig, IPPROTO_TCP, HALF_C2S, others[i].bytes, others[i].length),
			"");
	rig_random(rig, IPPROTO_TCP, "\x16\x03\x09", 3, "tls");
	rig_random(rig, IPPROTO_TCP, "\x14\x00", 2, "tls");
	rig_random(rig, IPPROTO_TCP, "\x80\x2c\x01", 3, "tls");
}

static int set_up(void **state)
{
	(void)state;
	rig = rig_new();
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	rig_free(rig);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_in_every_form_are_found),
		cmocka_unit_test(mail_inside_odd_records_is_mail),
		cmocka_unit_test(ssl2_of_any_version_is_tls),
		cmocka_unit_test(what_only_looks_like_records_is_none),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
