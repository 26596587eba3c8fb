// SPDX-License-Identifier: BSD-3-Clause
// Community ID v1 against published vectors (github.com/corelight/community-id-spec) and libcrypto,
// and EVE timestamps against gmtime.
#include "control/event/sink.h"

#include <openssl/evp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "lib/control/fake_control.h"
#include "pipeline/vocab/tick.h"

struct vector {
	const char *a;
	uint16_t a_port;
	const char *b;
	uint16_t b_port;
	uint8_t proto;
	const char *id;
};

static void assert_vector(const struct vector *v)
{
	struct flow_ends ends = fake_ends(v->a, v->a_port, v->b, v->b_port);
	char id[32];

	community_id(&ends, v->proto, id, sizeof id);
	assert_string_equal(id, v->id);
}

static void published_vectors(void **state)
{
	static const struct vector vectors[] = {
		{"128.232.110.120", 34855, "66.35.250.204", 80, 6,
			"1:LQU9qZlK+B5F3KDmev6m5PMibrg="},
		{"66.35.250.204", 80, "128.232.110.120", 34855, 6,
			"1:LQU9qZlK+B5F3KDmev6m5PMibrg="},
	};

	(void)state;
	for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++)
		assert_vector(&vectors[i]);
}

// The same from the specification's words, with another SHA-1 and another base64.
static void reference(const struct flow_ends *ends, uint8_t proto, bool v4, bool swap, bool ports,
	char *out, size_t size)
{
	uint8_t text[64], digest[EVP_MAX_MD_SIZE];
	unsigned char base64[64];
	size_t n = 2, skip = v4 ? 12 : 0;
	unsigned length;

	memset(text, 0, sizeof text);
	for (unsigned i = 0; i < 2; i++) {
		memcpy(text + n, ends->address[swap ? !i : i] + skip, 16 - skip);
		n += 16 - skip;
	}
	text[n++] = proto;
	n++;
	for (unsigned i = 0; ports && i < 2; i++) {
		text[n++] = (uint8_t)(ends->port[swap ? !i : i] >> 8);
		text[n++] = (uint8_t)ends->port[swap ? !i : i];
	}
	assert_int_equal(EVP_Digest(text, n, digest, &length, EVP_sha1(), NULL), 1);
	EVP_EncodeBlock(base64, digest, (int)length);
	snprintf(out, size, "1:%s", (char *)base64);
}

static void random_flows_agree_with_libcrypto(void **state)
{
	struct flow_ends ends;
	char id[32], expected[80];

	(void)state;
	srandom(1);
	for (unsigned round = 0; round < 2000; round++) {
		bool v4 = round % 2, swap;
		uint8_t proto = round % 3 ? 6 : 17;
		size_t skip = v4 ? 12 : 0;

		for (unsigned h = 0; h < 2; h++) {
			for (unsigned i = 0; i < 16; i++)
				ends.address[h][i] = (uint8_t)random();
			if (v4) {
				memset(ends.address[h], 0, 10);
				memset(ends.address[h] + 10, 0xff, 2);
			}
			ends.port[h] = (uint16_t)random();
		}
		if (round % 5 == 0) // equal addresses: ports decide
			memcpy(ends.address[1], ends.address[0], 16);
		swap = memcmp(ends.address[0] + skip, ends.address[1] + skip, 16 - skip) > 0;
		if (!memcmp(ends.address[0], ends.address[1], 16))
			swap = ends.port[0] > ends.port[1];
		community_id(&ends, proto, id, sizeof id);
		reference(&ends, proto, v4, swap, true, expected, sizeof expected);
		assert_string_equal(id, expected);
	}
}

static void icmp_asks_and_answers_share_an_id(void **state)
{
	struct flow_ends ask = fake_ends("192.0.2.9", 8, "192.0.2.1", 0);
	struct flow_ends answer = fake_ends("192.0.2.1", 0, "192.0.2.9", 8);
	struct flow_ends one_way = fake_ends("192.0.2.9", 3, "192.0.2.1", 1);
	char a[32], b[32], expected[80];

	(void)state;
	community_id(&ask, 1, a, sizeof a);
	community_id(&answer, 1, b, sizeof b);
	assert_string_equal(a, b);
	// Unreachable: no answer exists, the ends keep their order.
	community_id(&one_way, 1, a, sizeof a);
	reference(&one_way, 1, true, false, true, expected, sizeof expected);
	assert_string_equal(a, expected);
}

static void protocols_without_ports_hash_none(void **state)
{
	struct flow_ends ends = fake_ends("192.0.2.1", 7, "192.0.2.9", 9);
	char id[32], expected[80];

	(void)state;
	community_id(&ends, 47, id, sizeof id);
	reference(&ends, 47, true, false, false, expected, sizeof expected);
	assert_string_equal(id, expected);
}

static void timestamps(void **state)
{
	char stamp[40], date[32], expected[64];

	(void)state;
	eve_timestamp(1695017621ull * NS_PER_S + 532140999, stamp, sizeof stamp);
	assert_string_equal(stamp, "2023-09-18T06:13:41.532140+0000");
	for (uint64_t s = 0; s < 17000000000ull; s += 86399ull * 97) {
		time_t t = (time_t)s;
		struct tm tm;

		gmtime_r(&t, &tm);
		strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%S", &tm);
		snprintf(expected, sizeof expected, "%s.000000+0000", date);
		eve_timestamp(s * NS_PER_S, stamp, sizeof stamp);
		assert_string_equal(stamp, expected);
	}
	eve_timestamp(0, stamp, 5);
	assert_string_equal(stamp, "1970");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(published_vectors),
		cmocka_unit_test(random_flows_agree_with_libcrypto),
		cmocka_unit_test(icmp_asks_and_answers_share_an_id),
		cmocka_unit_test(protocols_without_ports_hash_none),
		cmocka_unit_test(timestamps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
