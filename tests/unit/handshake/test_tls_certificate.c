// SPDX-License-Identifier: BSD-3-Clause
// The name in a server's certificate: from either place, in records cut anywhere, and not from what
// is broken, another message, or encrypted.
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "classify/handshake/tls_certificate.h"

struct der {
	uint8_t bytes[1900];
	uint32_t length;
};

static void put(struct der *to, const void *bytes, size_t length)
{
	assert_true(to->length + length <= sizeof(to->bytes));
	memcpy(to->bytes + to->length, bytes, length);
	to->length += (uint32_t)length;
}

static void put_value(struct der *to, uint8_t tag, const void *bytes, uint32_t length)
{
	const uint8_t header[] = {tag, 0x82, (uint8_t)(length >> 8), (uint8_t)length};
	const uint8_t small[] = {tag, (uint8_t)length};

	put(to, length < 128 ? small : header, length < 128 ? sizeof(small) : sizeof(header));
	put(to, bytes, length);
}

static void put_der(struct der *to, uint8_t tag, const struct der *content)
{
	put_value(to, tag, content->bytes, content->length);
}

static struct der name_of(const char *common_name)
{
	struct der pair = {.length = 0}, sequence = {.length = 0}, set = {.length = 0};
	struct der country = {.length = 0};

	put(&country, "\x31\x0b\x30\x09\x06\x03\x55\x04\x06\x13\x02XX", 13);
	if (!common_name)
		return country;
	put_value(&pair, 6, "\x55\x04\x03", 3);
	put_value(&pair, 12, common_name, (uint32_t)strlen(common_name));
	put_der(&sequence, 0x30, &pair);
	put_der(&set, 0x31, &sequence);
	put(&country, set.bytes, set.length);
	return country;
}

static struct der alternatives_of(const char *first, const char *second)
{
	struct der names = {.length = 0}, list = {.length = 0}, extension = {.length = 0};
	struct der extensions = {.length = 0}, all = {.length = 0}, out = {.length = 0};

	put_value(&names, 0x81, "mail@host.example", 17);
	put_value(&names, 0x82, first, (uint32_t)strlen(first));
	put_value(&names, 0x82, second, (uint32_t)strlen(second));
	put_der(&list, 0x30, &names);
	put_value(&extension, 6, "\x55\x1d\x0f", 3); // key usage
	put_value(&extension, 4, "\x03\x02\x05\xa0", 4);
	put_der(&extensions, 0x30, &extension);
	extension.length = 0;
	put_value(&extension, 6, "\x55\x1d\x11", 3);
	put_value(&extension, 1, "\xff", 1);
	put_der(&extension, 4, &list);
	put_der(&extensions, 0x30, &extension);
	put_der(&all, 0x30, &extensions);
	put_der(&out, 0xa3, &all);
	return out;
}

// A server's flight in one record: its hello, its certificate, and the next message.
static struct der flight(const char *common_name, const struct der *behind, uint8_t first)
{
	struct der issuer = name_of("issuer.other.example"), subject = name_of(common_name);
	struct der tbs = {.length = 0}, inner = {.length = 0}, certificate = {.length = 0};
	struct der out = {.length = 0}, messages = {.length = 0};
	uint8_t hello[4 + 38] = {2, 0, 0, 38, 3, 3}, key[200] = {0};

	put(&tbs, "\xa0\x03\x02\x01\x02\x02\x01\x07\x30\x00", 10);
	put_der(&tbs, 0x30, &issuer);
	put(&tbs, "\x30\x00", 2);
	put_der(&tbs, 0x30, &subject);
	put_value(&tbs, 0x30, key, sizeof(key));
	if (behind)
		put(&tbs, behind->bytes, behind->length);
	put_der(&inner, 0x30, &tbs);
	put_value(&inner, 0x30, "", 0);
	put_der(&certificate, 0x30, &inner);
	put(&messages, hello, sizeof(hello));
	for (unsigned i = 0; i < 3; i++) {
		uint32_t length = certificate.length + 6 - 3 * i;

		if (i == 0)
			put(&messages, &first, 1);
		put(&messages, (uint8_t[]){0, (uint8_t)(length >> 8), (uint8_t)length}, 3);
	}
	put(&messages, certificate.bytes, certificate.length);
	put(&messages, "\x0e\x00\x00\x00", 4);
	put(&out,
		(uint8_t[]){0x16, 3, 3, (uint8_t)(messages.length >> 8), (uint8_t)messages.length},
		5);
	put(&out, messages.bytes, messages.length);
	return out;
}

// In a block of exact size.
static enum host_seen look(const uint8_t *bytes, uint32_t length, struct host_name *name)
{
	uint8_t *exact = malloc(length ? length : 1);

	assert_non_null(exact);
	memcpy(exact, bytes, length);
	enum host_seen seen = tls_certificate_name((struct text){exact, length}, name);

	free(exact);
	return seen;
}

static void assert_name(const struct der *half, const char *expected)
{
	struct host_name name;
	enum host_seen seen = look(half->bytes, half->length, &name);

	assert_int_equal(seen == HOST_FOUND, expected != NULL);
	if (!expected)
		return;
	assert_int_equal(name.length, strlen(expected));
	assert_memory_equal(name.bytes, expected, name.length);
}

static void names_are_found(void **state)
{
	struct der names = alternatives_of("*.chat.example", "other.example");
	struct der half = flight("www.chat.example", &names, 11);

	(void)state;
	assert_name(&half, "www.chat.example");
	half = flight("*.chat.example", NULL, 11);
	assert_name(&half, "chat.example");
	half = flight("Chat, Inc.", &names, 11);
	assert_name(&half, "chat.example");
	half = flight(NULL, &names, 11);
	assert_name(&half, "chat.example");
	names = alternatives_of("no name", "other.example");
	half = flight("localhost", &names, 11);
	assert_name(&half, NULL);
	half = flight(NULL, NULL, 11);
	assert_name(&half, NULL);
	half = flight("www.chat.example", NULL, 12); // another message
	assert_name(&half, NULL);
}

static void parts_are_waited_for(void **state)
{
	struct der names = alternatives_of("*.chat.example", "other.example");

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		struct der half = flight(i ? "www.chat.example" : NULL, &names, 11);
		bool found = false;

		for (uint32_t length = 0; length < half.length; length++) {
			struct host_name name;
			enum host_seen seen = look(half.bytes, length, &name);

			assert_true(seen == HOST_FOUND || (!found && seen == HOST_MORE));
			found = seen == HOST_FOUND;
		}
		assert_true(found);
		// in two records
		for (uint32_t cut = 1; cut + 5 < half.length; cut++) {
			struct der two = {.length = 0};
			uint32_t rest = half.length - 5 - cut;

			put(&two, (uint8_t[]){0x16, 3, 3, (uint8_t)(cut >> 8), (uint8_t)cut}, 5);
			put(&two, half.bytes + 5, cut);
			put(&two, (uint8_t[]){0x16, 3, 3, (uint8_t)(rest >> 8), (uint8_t)rest}, 5);
			put(&two, half.bytes + 5 + cut, rest);
			assert_name(&two, i ? "www.chat.example" : "chat.example");
		}
	}
}

static void what_is_encrypted_is_not_waited_for(void **state)
{
	static const uint8_t modern[] = {0x16, 3, 3, 0, 6, 2, 0, 0, 2, 3, 3, 0x14, 3, 3, 0, 1, 1};
	static const uint8_t alert[] = {0x15, 3, 3, 0, 2, 2, 40};
	struct host_name name;

	(void)state;
	assert_int_equal(look(modern, 11, &name), HOST_MORE);
	assert_int_equal(look(modern, sizeof(modern), &name), HOST_NONE);
	assert_int_equal(look(alert, sizeof(alert), &name), HOST_NONE);
}

static void noise_is_survived(void **state)
{
	struct der names = alternatives_of("*.chat.example", "other.example");
	struct der good = flight("www.chat.example", &names, 11);
	uint32_t seed = 7;

	(void)state;
	for (unsigned round = 0; round < 20000; round++) {
		struct der bad = good;
		struct host_name name;

		for (unsigned i = 0; i <= round % 4; i++) {
			seed = seed * 1664525u + 1013904223u;
			bad.bytes[5 + (seed >> 8) % (bad.length - 5)] = (uint8_t)(seed >> 24);
		}
		if (look(bad.bytes, bad.length, &name) == HOST_FOUND)
			assert_true(name.length > 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_are_found),
		cmocka_unit_test(parts_are_waited_for),
		cmocka_unit_test(what_is_encrypted_is_not_waited_for),
		cmocka_unit_test(noise_is_survived),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
