// SPDX-License-Identifier: BSD-3-Clause
// A ClientHello: what is read of it, in any number of pieces and records; JA3 and JA4 against the
// example of FoxIO's description, and against libcrypto.
#include <assert.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <openssl/evp.h>
#include "classify/handshake/tls_hello.h"
#include "classify/handshake/tls_server.h"

struct message {
	uint8_t bytes[4096];
	uint32_t length;
};

static void put(struct message *to, const void *bytes, size_t length)
{
	assert_true(to->length + length <= sizeof(to->bytes));
	memcpy(to->bytes + to->length, bytes, length);
	to->length += (uint32_t)length;
}

static void put_number(struct message *to, unsigned width, uint32_t value)
{
	for (unsigned i = width; i-- > 0;)
		put(to, &(uint8_t){(uint8_t)(value >> 8 * i)}, 1);
}

static void put_list(struct message *to, unsigned width, const uint16_t *values, size_t n)
{
	put_number(to, width, (uint32_t)(2 * n));
	for (size_t i = 0; i < n; i++)
		put_number(to, 2, values[i]);
}

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define LIST(...)    ((const uint16_t[]){__VA_ARGS__}), COUNT(((const uint16_t[]){__VA_ARGS__}))

static void put_body(struct message *to, uint16_t type, const struct message *body)
{
	put_number(to, 2, type);
	put_number(to, 2, body->length);
	put(to, body->bytes, body->length);
}

static void put_name(struct message *to, const char *name)
{
	struct message body = {.length = 0};

	put_number(&body, 2, (uint32_t)strlen(name) + 3);
	put_number(&body, 1, 0);
	put_number(&body, 2, (uint32_t)strlen(name));
	put(&body, name, strlen(name));
	put_body(to, 0, &body);
}

static void put_alpn(struct message *to, const char *first, const char *second)
{
	struct message body = {.length = 0};

	put_number(&body, 2, (uint32_t)(strlen(first) + strlen(second)) + 2);
	put_number(&body, 1, (uint32_t)strlen(first));
	put(&body, first, strlen(first));
	put_number(&body, 1, (uint32_t)strlen(second));
	put(&body, second, strlen(second));
	put_body(to, 16, &body);
}

// A hello around these extensions; none if NULL.
static struct message hello_of(enum tls_carrier carrier, uint16_t version, const uint16_t *ciphers,
	size_t n_ciphers, const struct message *extensions)
{
	struct message body = {.length = 0}, hello = {.length = 0};

	put_number(&body, 2, version);
	for (unsigned i = 0; i < 32; i++)
		put_number(&body, 1, i);
	put_number(&body, 1, 4);
	put(&body, "sess", 4);
	if (carrier == TLS_OVER_DATAGRAMS) {
		put_number(&body, 1, 6);
		put(&body, "cookie", 6);
	}
	put_list(&body, 2, ciphers, n_ciphers);
	put(&body, "\x01\x00", 2);
	if (extensions) {
		put_number(&body, 2, extensions->length);
		put(&body, extensions->bytes, extensions->length);
	}
	put_number(&hello, 1, 1);
	put_number(&hello, 3, body.length);
	put(&hello, body.bytes, body.length);
	return hello;
}

// The example of FoxIO's description: Chrome, with GREASE wherever it puts it, in an order of its
// own.
static struct message chrome(enum tls_carrier carrier, const char *name)
{
	static const uint16_t opaque[] = {
		0x001b, 0x0033, 0x4469, 0x0017, 0x0005, 0x0023, 0x0012, 0xff01, 0x0015, 0x1a1a};
	const struct message nothing = {.length = 0};
	struct message extensions = {.length = 0}, body = {.length = 0};

	put_body(&extensions, 0x8a8a, &nothing);
	put_alpn(&extensions, "h2", "http/1.1");
	put_list(&body, 2, LIST(0x0403, 0x0804, 0x0401, 0x0503, 0x0805, 0x0501, 0x0806, 0x0601));
	put_body(&extensions, 13, &body);
	body.length = 0;
	put_list(&body, 1, LIST(0x2a2a, 0x0303, 0x0304));
	put_body(&extensions, 43, &body);
	body.length = 0;
	put_list(&body, 2, LIST(0x3a3a, 0x001d, 0x0017, 0x0018));
	put_body(&extensions, 10, &body);
	body.length = 0;
	put(&body, "\x01\x00", 2);
	put_body(&extensions, 11, &body);
	body.length = 0;
	put(&body, "\x05", 1);
	put(&body, "other", 5);
	put_body(&extensions, 45, &body);
	if (name)
		put_name(&extensions, name);
	for (unsigned i = 0; i < COUNT(opaque); i++)
		put_body(&extensions, opaque[i], &nothing);
	return hello_of(carrier, 0x0303,
		LIST(0x5a5a, 0x1301, 0x1302, 0x1303, 0xc02b, 0xc02f, 0xc02c, 0xc030, 0xcca9, 0xcca8,
			0xc013, 0xc014, 0x009c, 0x009d, 0x002f, 0x0035),
		&extensions);
}

// In a block of exact size: AddressSanitizer sees one byte too far.
static enum tls_hello_seen read_exactly(
	const uint8_t *bytes, uint32_t length, enum tls_carrier carrier, struct tls_hello *hello)
{
	uint8_t *exact = malloc(length ? length : 1);

	assert_non_null(exact);
	memcpy(exact, bytes, length);
	enum tls_hello_seen seen = tls_hello_read((struct text){exact, length}, carrier, hello);

	if (seen == TLS_HELLO_WHOLE) {
		char text[TLS_JA3_TEXT_BYTES], a[TLS_JA4_A_BYTES + 1];

		static_assert(sizeof(text) >= TLS_JA4_TEXT_BYTES, "one buffer for all");
		tls_hello_ja3_text(hello, text);
		tls_hello_ja4_a(hello, a);
		tls_hello_ja4_b(hello, text);
		tls_hello_ja4_c(hello, text);
	}
	free(exact);
	return seen;
}

static struct tls_hello whole(const struct message *message, enum tls_carrier carrier)
{
	struct tls_hello hello;

	assert_int_equal(
		tls_hello_read((struct text){message->bytes, message->length}, carrier, &hello),
		TLS_HELLO_WHOLE);
	return hello;
}

static void assert_text(struct text text, const char *expected)
{
	assert_int_equal(text.length, strlen(expected));
	assert_memory_equal(text.at, expected, text.length);
}

static void hexadecimal(
	const EVP_MD *kind, const char *text, uint32_t length, unsigned digits, char *to)
{
	uint8_t digest[EVP_MAX_MD_SIZE];

	assert_int_equal(EVP_Digest(text, length, digest, NULL, kind, NULL), 1);
	for (unsigned i = 0; i < digits / 2; i++)
		snprintf(to + 2 * i, 3, "%02x", digest[i]);
}

static void fields_are_read(void **state)
{
	struct message message = chrome(TLS_OVER_TCP, "www.chat.example");
	struct tls_hello hello = whole(&message, TLS_OVER_TCP);

	(void)state;
	assert_text(hello.name, "www.chat.example");
	assert_true(hello.asks_name);
	assert_text(tls_hello_protocol(&hello), "h2");
	assert_int_equal(hello.legacy_version, 0x0303);
	assert_int_equal(tls_hello_version(&hello), 0x0304);
	assert_int_equal(hello.ciphers.length, 32);
	assert_int_equal(hello.groups.length, 8);
	assert_int_equal(hello.formats.length, 1);
	assert_int_equal(hello.signatures.length, 16);

	message = hello_of(TLS_OVER_TCP, 0x0301, LIST(0x0035, 0x002f), NULL);
	hello = whole(&message, TLS_OVER_TCP);
	assert_false(hello.asks_name);
	assert_int_equal(hello.name.length, 0);
	assert_int_equal(tls_hello_version(&hello), 0x0301);
	assert_int_equal(tls_hello_protocol(&hello).length, 0);
}

static void fingerprints_are_those_described(void **state)
{
	struct message message = chrome(TLS_OVER_TCP, "www.chat.example");
	struct tls_hello hello = whole(&message, TLS_OVER_TCP);
	char text[TLS_JA3_TEXT_BYTES], a[TLS_JA4_A_BYTES + 1], b[13], c[13], md5[33];
	uint32_t length;

	(void)state;
	assert_true(tls_hello_ja4_a(&hello, a));
	assert_string_equal(a, "t13d1516h2");
	length = tls_hello_ja4_b(&hello, text);
	hexadecimal(EVP_sha256(), text, length, 12, b);
	assert_string_equal(b, "8daaf6152771");
	length = tls_hello_ja4_c(&hello, text);
	hexadecimal(EVP_sha256(), text, length, 12, c);
	assert_string_equal(c, "e5627efa2ab1"); // FoxIO: same types, without GREASE

	message = chrome(TLS_OVER_QUIC, NULL);
	hello = whole(&message, TLS_OVER_QUIC);
	assert_true(tls_hello_ja4_a(&hello, a));
	assert_string_equal(a, "q13i1515h2");

	// The example of salesforce/ja3, of a hello with all five lists.
	struct message extensions = {.length = 0}, body = {.length = 0};

	put_name(&extensions, "a.example");
	put_list(&body, 2, LIST(23, 24, 25));
	put_body(&extensions, 10, &body);
	body.length = 0;
	put(&body, "\x01\x00", 2);
	put_body(&extensions, 11, &body);
	message = hello_of(TLS_OVER_TCP, 769,
		LIST(47, 53, 5, 10, 49161, 49162, 49171, 49172, 50, 56, 19, 4), &extensions);
	hello = whole(&message, TLS_OVER_TCP);
	length = tls_hello_ja3_text(&hello, text);
	assert_string_equal(
		text, "769,47-53-5-10-49161-49162-49171-49172-50-56-19-4,0-10-11,23-24-25,0");
	hexadecimal(EVP_md5(), text, length, 32, md5);
	assert_string_equal(md5, "ada70206e40642a3e4461f35503241d5");

	message = hello_of(TLS_OVER_TCP, 769, LIST(4, 5, 10, 9, 100, 98, 3, 6, 19, 18, 99), NULL);
	hello = whole(&message, TLS_OVER_TCP);
	length = tls_hello_ja3_text(&hello, text);
	assert_string_equal(text, "769,4-5-10-9-100-98-3-6-19-18-99,,,");
	hexadecimal(EVP_md5(), text, length, 32, md5);
	assert_string_equal(md5, "de350869b8c85de67a350c8d186f11e6");
	assert_true(tls_hello_ja4_a(&hello, a));
	assert_string_equal(a, "t10i110000");
	assert_int_equal(tls_hello_ja4_c(&hello, text), 0);
}

static void odd_protocols_have_hexadecimal_ends(void **state)
{
	static const struct {
		const char *protocol, *letters;
	} rows[] = {
		{"h3", "h3"},
		{"http/1.1", "h1"},
		{"h", "hh"},
		{"\xab", "ab"},
		{"\xab\xcd", "ad"},
		{"\x30\xab", "3b"},
		{"\x30\x31\xab\xcd", "3d"},
		{"\x30\xab\xcd\x31", "01"},
		{"-x", "28"},
	};

	(void)state;
	for (unsigned i = 0; i < COUNT(rows); i++) {
		struct message extensions = {.length = 0};
		char a[TLS_JA4_A_BYTES + 1];

		put_alpn(&extensions, rows[i].protocol, "other");
		struct message message = hello_of(TLS_OVER_TCP, 0x0303, LIST(0x1301), &extensions);
		struct tls_hello hello = whole(&message, TLS_OVER_TCP);

		assert_true(tls_hello_ja4_a(&hello, a));
		assert_string_equal(a + 8, rows[i].letters);
	}
}

static void datagrams_have_a_cookie_and_other_versions(void **state)
{
	struct message extensions = {.length = 0}, body = {.length = 0};
	char a[TLS_JA4_A_BYTES + 1];
	struct tls_hello hello;

	(void)state;
	put_list(&body, 1, LIST(0xfefd, 0xfefc));
	put_body(&extensions, 43, &body);
	put_name(&extensions, "turn.example");
	struct message message =
		hello_of(TLS_OVER_DATAGRAMS, 0xfefd, LIST(0xc02b, 0x1301), &extensions);

	hello = whole(&message, TLS_OVER_DATAGRAMS);
	assert_text(hello.name, "turn.example");
	assert_int_equal(tls_hello_version(&hello), 0xfefc);
	assert_true(tls_hello_ja4_a(&hello, a));
	assert_string_equal(a, "dd3d020200");
}

static void a_part_is_a_part(void **state)
{
	static const enum tls_carrier carriers[] = {TLS_OVER_TCP, TLS_OVER_QUIC};
	struct tls_hello hello;

	(void)state;
	for (unsigned i = 0; i < COUNT(carriers); i++) {
		struct message message = chrome(carriers[i], "www.chat.example");
		bool named = false;

		for (uint32_t length = 0; length < message.length; length++) {
			assert_int_equal(read_exactly(message.bytes, length, carriers[i], &hello),
				TLS_HELLO_MORE);
			assert_true(hello.name.length || !named); // once seen it stays
			assert_true(!hello.name.length || hello.name.length == 16);
			named = hello.name.length;
		}
		assert_true(named); // before the end: other extensions follow
		assert_int_equal(read_exactly(message.bytes, message.length, carriers[i], &hello),
			TLS_HELLO_WHOLE);
	}
}

static void a_long_last_extension_is_not_waited_for(void **state)
{
	struct message extensions = {.length = 0}, ticket = {.length = 1500};
	struct tls_hello hello;

	(void)state;
	memset(ticket.bytes, 7, ticket.length);
	put_name(&extensions, "a.example");
	put_body(&extensions, 41, &ticket);
	struct message message = hello_of(TLS_OVER_TCP, 0x0303, LIST(0x1301), &extensions);
	uint32_t body = message.length - ticket.length;

	assert_int_equal(
		read_exactly(message.bytes, body - 1, TLS_OVER_TCP, &hello), TLS_HELLO_MORE);
	assert_int_equal(read_exactly(message.bytes, body, TLS_OVER_TCP, &hello), TLS_HELLO_WHOLE);
	// but for one that tells something
	extensions.length = 0;
	put_body(&extensions, 41, &ticket);
	put_name(&extensions, "a.example");
	message = hello_of(TLS_OVER_TCP, 0x0303, LIST(0x1301), &extensions);
	for (uint32_t cut = 1; cut < 15; cut++)
		assert_int_equal(
			read_exactly(message.bytes, message.length - cut, TLS_OVER_TCP, &hello),
			TLS_HELLO_MORE);
}

static void records_are_joined_however_cut(void **state)
{
	struct message message = chrome(TLS_OVER_TCP, "www.chat.example");
	uint8_t moved[4096];
	struct tls_hello hello;
	struct text joined;

	(void)state;
	for (uint32_t first = 1; first < message.length; first++) {
		struct message half = {.length = 0};
		uint32_t sizes[] = {first, (message.length - first) / 2, 0};

		sizes[2] = message.length - sizes[0] - sizes[1];
		for (unsigned i = 0, at = 0; i < COUNT(sizes); at += sizes[i++]) {
			if (!sizes[i])
				continue;
			put(&half, "\x16\x03\x01", 3);
			put_number(&half, 2, sizes[i]);
			put(&half, message.bytes + at, sizes[i]);
		}
		assert_true(tls_hello_join(
			(struct text){half.bytes, half.length}, true, moved, &joined));
		assert_int_equal(joined.length, message.length);
		assert_memory_equal(joined.at, message.bytes, message.length);
		assert_int_equal(tls_hello_read(joined, TLS_OVER_TCP, &hello), TLS_HELLO_WHOLE);
		// of a part, the part
		assert_true(
			tls_hello_join((struct text){half.bytes, first + 5}, true, moved, &joined));
		assert_int_equal(joined.length, first);
	}
	struct message half = {.length = 0};

	// an alert in its midst is passed over, one behind it is not
	put(&half, "\x16\x03\x01\x00\x02\x01\x00\x15\x03\x01\x00\x02\x01\x64", 14);
	assert_true(tls_hello_join((struct text){half.bytes, half.length}, true, moved, &joined));
	assert_int_equal(joined.length, 2);
	put(&half, "\x16\x03\x09\x00\x02\x00\x00\x14\x03\x01\x00\x01\x01", 13);
	assert_false(tls_hello_join((struct text){half.bytes, half.length}, true, moved, &joined));
	assert_int_equal(joined.length, 4);
	assert_false(
		tls_hello_join((struct text){(const uint8_t *)"GET / H", 7}, true, moved, &joined));
}

// OpenSSL 3.0 takes any from TLS 1.0 on, Go any where there is a list of versions.
static void any_version_is_read(void **state)
{
	static const uint16_t versions[] = {
		0, 0x0002, 0x0300, 0x0305, 0x03ff, 0x7f00, 0xfefd, 0xffff};

	(void)state;
	for (unsigned i = 0; i < COUNT(versions); i++) {
		struct message message = chrome(TLS_OVER_TCP, "www.chat.example");

		message.bytes[4] = (uint8_t)(versions[i] >> 8);
		message.bytes[5] = (uint8_t)versions[i];
		struct tls_hello hello = whole(&message, TLS_OVER_TCP);

		assert_text(hello.name, "www.chat.example");
	}
}

static void broken_ones_are_refused(void **state)
{
	struct message extensions = {.length = 0}, good;
	struct tls_hello hello;
	static const struct {
		uint32_t at;
		uint8_t value;
	} wrong[] = {
		{0, 2},   // another message
		{1, 1},   // a length that does not end with the last list
		{3, 33},  // too short for its fixed fields
		{38, 33}, // session id
		{38, 32}, // session id: the rest does not fit
		{44, 3},  // an odd number of bytes of ciphers
		{44, 0},  // none
		{47, 0},  // no compression method
		{50, 99}, // extensions longer than the message
		{54, 99}, // an extension longer than their list
	};

	(void)state;
	put_name(&extensions, "a.example");
	good = hello_of(TLS_OVER_TCP, 0x0303, LIST(0x1301), &extensions);
	assert_int_equal(good.bytes[44], 2);
	assert_int_equal(good.bytes[47], 1);
	whole(&good, TLS_OVER_TCP);
	for (unsigned i = 0; i < COUNT(wrong); i++) {
		struct message bad = good;

		bad.bytes[wrong[i].at] = wrong[i].value;
		assert_int_equal(read_exactly(bad.bytes, bad.length, TLS_OVER_TCP, &hello) ==
					 TLS_HELLO_WHOLE,
			false);
	}
}

// A hello that ends where a list should begin is broken, not cut: what follows is another message.
static void a_hello_ends_where_it_says(void **state)
{
	static const struct {
		const char *end; // behind the session id
		unsigned length;
	} rows[] = {{"", 0}, {"\0", 1}, {"\0\2\x13\1", 4}, {"\0\2\x13\1\1", 5},
		{"\0\2\x13\1\1\0\0", 7}};
	(void)state;

	for (unsigned i = 0; i < COUNT(rows); i++) {
		struct message body = {.length = 0}, hello = {.length = 0};
		struct tls_hello read;

		put_number(&body, 2, 0x0303);
		for (unsigned k = 0; k < 33; k++) // with an empty session id
			put_number(&body, 1, 0);
		put(&body, rows[i].end, rows[i].length);
		put_number(&hello, 1, 1);
		put_number(&hello, 3, body.length);
		put(&hello, body.bytes, body.length);
		put(&hello, "\x0b\0\0\4\0\2\x13\1\1\0\0\0", 12);
		assert_int_equal(read_exactly(hello.bytes, hello.length, TLS_OVER_TCP, &read),
			TLS_HELLO_NONE);
	}
}

static void too_many_have_no_fingerprint(void **state)
{
	uint16_t many[TLS_LIST_MAX + 1];
	char text[TLS_JA3_TEXT_BYTES], a[TLS_JA4_A_BYTES + 1];

	(void)state;
	for (unsigned i = 0; i < COUNT(many); i++)
		many[i] = (uint16_t)(65535 - 16 * i);
	struct message message = hello_of(TLS_OVER_TCP, 0x0303, many, TLS_LIST_MAX, NULL);
	struct tls_hello hello = whole(&message, TLS_OVER_TCP);

	assert_true(tls_hello_ja4_a(&hello, a));
	assert_string_equal(a, "t12i990000");
	assert_int_equal(tls_hello_ja4_b(&hello, text), 5 * TLS_LIST_MAX - 1);
	assert_int_equal(strlen(text), 5 * TLS_LIST_MAX - 1);
	assert_true(tls_hello_ja3_text(&hello, text) > 5 * TLS_LIST_MAX);
	message = hello_of(TLS_OVER_TCP, 0x0303, many, TLS_LIST_MAX + 1, NULL);
	hello = whole(&message, TLS_OVER_TCP);
	assert_false(tls_hello_ja4_a(&hello, a));
	assert_int_equal(tls_hello_ja4_b(&hello, text), 0);
	assert_int_equal(tls_hello_ja3_text(&hello, text), 0);
}

// RFC 8446 4.1.2 and 4.1.3: a session id has at most 32 bytes.
static void a_session_id_has_32_bytes(void **state)
{
	(void)state;
	for (unsigned length = 31; length <= 34; length++) {
		struct message hello = {.length = 0}, body = {.length = 0};
		struct tls_server_hello answer;
		struct tls_hello read;

		put_number(&body, 2, 0x0303);
		for (unsigned i = 0; i < 32; i++)
			put_number(&body, 1, i);
		put_number(&body, 1, length);
		for (unsigned i = 0; i < length; i++)
			put_number(&body, 1, i);
		struct message server = body;

		put_list(&body, 2, LIST(0x1301));
		put(&body, "\x01\x00", 2);
		put_number(&hello, 1, 1);
		put_number(&hello, 3, body.length);
		put(&hello, body.bytes, body.length);
		assert_int_equal(read_exactly(hello.bytes, hello.length, TLS_OVER_TCP, &read),
			length <= 32 ? TLS_HELLO_WHOLE : TLS_HELLO_NONE);
		put(&server, "\x13\x01\x00", 3);
		assert_int_equal(
			tls_server_hello_read((struct text){server.bytes, server.length}, &answer),
			length <= 32);
	}
}

static void noise_is_survived(void **state)
{
	struct message good = chrome(TLS_OVER_TCP, "www.chat.example");
	uint32_t seed = 1;

	(void)state;
	for (unsigned round = 0; round < 20000; round++) {
		struct message bad = good;
		struct tls_hello hello;

		for (unsigned i = 0; i < 1 + round % 4; i++) {
			seed = seed * 1664525u + 1013904223u;
			bad.bytes[(seed >> 8) % bad.length] = (uint8_t)(seed >> 24);
		}
		enum tls_hello_seen seen =
			read_exactly(bad.bytes, bad.length, TLS_OVER_TCP, &hello);

		assert_true(hello.name.length <= bad.length);
		assert_true(seen <= TLS_HELLO_WHOLE);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fields_are_read),
		cmocka_unit_test(fingerprints_are_those_described),
		cmocka_unit_test(odd_protocols_have_hexadecimal_ends),
		cmocka_unit_test(datagrams_have_a_cookie_and_other_versions),
		cmocka_unit_test(a_part_is_a_part),
		cmocka_unit_test(a_long_last_extension_is_not_waited_for),
		cmocka_unit_test(records_are_joined_however_cut),
		cmocka_unit_test(any_version_is_read),
		cmocka_unit_test(broken_ones_are_refused),
		cmocka_unit_test(a_hello_ends_where_it_says),
		cmocka_unit_test(too_many_have_no_fingerprint),
		cmocka_unit_test(a_session_id_has_32_bytes),
		cmocka_unit_test(noise_is_survived),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
