// SPDX-License-Identifier: BSD-3-Clause
// The deny list: defaults, longest prefix, both families, ports, peers and their time (TA6, TA17).
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <arpa/inet.h>
#include <cmocka.h>

#include "lib/tapi/tapi_vectors.h"
#include "transportapi/base/acl.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static struct tapi_acl *made(const char *members)
{
	struct tapi_error error = {""};
	struct tapi_acl *acl = NULL;
	struct tapi_conf *conf;
	char *text = NULL;

	assert_true(asprintf(&text, "{\"acl\": {%s}}", members) > 0);
	conf = tapi_conf_parse(text, &error);
	free(text);
	if (!conf || tapi_acl_new(&acl, conf, &error))
		fail_msg("%s", error.text);
	tapi_conf_free(conf); // nothing of it is needed any more
	return acl;
}

static struct tapi_source source_of(const char *address, uint16_t port)
{
	struct tapi_source source = {.family = strchr(address, ':') ? 6 : 4, .port = port};

	assert_int_equal(
		inet_pton(source.family == 6 ? AF_INET6 : AF_INET, address, source.address), 1);
	return source;
}

static bool denied(const struct tapi_acl *acl, const char *address)
{
	struct tapi_source source = source_of(address, 2086);
	enum tapi_result result = tapi_acl_address(acl, &source, true);

	assert_true(result == TAPI_OK || result == TAPI_EACL);
	// what is said of IPv4 is said of it in IPv6's clothes
	if (source.family == 4) {
		struct tapi_source dressed = {.family = 6, .port = 2086};

		memset(dressed.address + 10, 0xff, 2);
		memcpy(dressed.address + 12, source.address, 4);
		assert_int_equal(tapi_acl_address(acl, &dressed, true), result);
	}
	return result == TAPI_EACL;
}

struct expectation {
	const char *address;
	bool denied;
};

static void expect(const char *members, const struct expectation *all, size_t count)
{
	struct tapi_acl *acl = made(members);

	for (size_t i = 0; i < count; i++)
		if (denied(acl, all[i].address) != all[i].denied)
			fail_msg("{%s}: %s is%s denied", members, all[i].address,
				all[i].denied ? " not" : "");
	tapi_acl_free(acl);
}

static void test_defaults(void **state)
{
	static const struct expectation all[] = {
		{"0.0.0.0", true},
		{"0.255.255.255", true},
		{"1.0.0.0", false},
		{"126.255.255.255", false},
		{"127.0.0.0", true},
		{"127.255.255.255", true},
		{"128.0.0.0", false},
		{"169.253.255.255", false},
		{"169.254.0.0", true},
		{"169.254.255.255", true},
		{"169.255.0.0", false},
		{"192.0.1.255", false},
		{"192.0.2.0", true},
		{"192.0.2.255", true},
		{"192.0.3.0", false},
		{"223.255.255.255", false},
		{"224.0.0.0", true},
		{"239.1.2.3", true},
		{"240.0.0.0", true},
		{"255.255.255.255", true},
		{"10.1.2.3", false},
		{"192.168.1.1", false},
		{"::", true},
		{"::1", true},
		{"::2", false},
		{"fe7f:ffff::1", false},
		{"fe80::1", true},
		{"febf:ffff::1", true},
		{"fec0::1", false},
		{"feff::1", false},
		{"ff00::", true},
		{"ff02::fb", true},
		{"fd00::1", false},
		{"2001:db8::1", false},
	};

	(void)state;
	expect("", all, COUNT(all));
}

static void test_local_and_private(void **state)
{
	static const struct expectation with_local[] = {{"127.0.0.1", false},
		{"127.255.0.1", false}, {"::1", false}, {"::", true}, {"0.0.0.1", true},
		{"169.254.0.1", true}};
	static const struct expectation no_private[] = {{"9.255.255.255", false},
		{"10.0.0.0", true}, {"10.255.255.255", true}, {"11.0.0.0", false},
		{"172.15.255.255", false}, {"172.16.0.0", true}, {"172.31.255.255", true},
		{"172.32.0.0", false}, {"192.167.255.255", false}, {"192.168.0.0", true},
		{"192.168.255.255", true}, {"192.169.0.0", false}, {"100.63.255.255", false},
		{"100.64.0.0", true}, {"100.127.255.255", true}, {"100.128.0.0", false},
		{"fbff::1", false}, {"fc00::1", true}, {"fdff:ffff::1", true}, {"fe00::1", false}};
	static const struct expectation one_private[] = {
		{"10.1.2.3", false}, {"10.2.0.1", true}, {"fd00:1::1", false}, {"fd00:2::1", true}};
	static const struct expectation still_denied[] = {
		{"127.0.0.1", true}, {"127.0.0.2", false}, {"::1", true}};

	(void)state;
	expect("\"local\": true", with_local, COUNT(with_local));
	expect("\"private\": false", no_private, COUNT(no_private));
	expect("\"private\": false, \"allow\": [\"10.1.0.0/16\", \"fd00:1::/32\"]", one_private,
		COUNT(one_private));
	// what is denied by name stays denied
	expect("\"local\": true, \"deny\": [\"127.0.0.1\", \"::1\"]", still_denied,
		COUNT(still_denied));
}

// The paper's example, and what the longest prefix says.
static void test_longest(void **state)
{
	static const struct expectation paper[] = {{"10.0.0.0", true}, {"10.255.255.255", true},
		{"9.255.255.255", false}, {"11.0.0.0", false}};
	static const struct expectation nested[] = {{"10.0.0.1", true}, {"10.1.0.1", false},
		{"10.1.2.1", true}, {"10.1.2.3", false}, {"10.1.3.1", false}, {"10.2.0.1", true},
		{"2001:db8::1", true}, {"2001:db8:1::1", false}, {"2001:db8:1::2", true},
		{"2001:db9::1", false}};
	static const struct expectation lifted[] = {{"192.0.2.7", false}, {"169.254.7.1", false},
		{"169.254.8.1", true}, {"224.0.0.1", true}, {"fe80::7", false}, {"fe80::8", true}};
	static const struct expectation all4[] = {
		{"1.2.3.4", true}, {"8.8.8.8", false}, {"2001:db8::1", false}, {"127.0.0.1", true}};
	static const struct expectation all6[] = {
		{"2001:db8::1", true}, {"1.2.3.4", false}, {"2001:db8::2", false}};
	static const struct expectation dressed[] = {
		{"10.1.2.3", true}, {"10.1.2.4", false}, {"11.0.0.1", true}, {"12.0.0.1", false}};
	static const struct expectation wide[] = {
		{"127.0.0.1", true}, {"0.0.0.1", true}, {"1.2.3.4", false}};

	(void)state;
	expect("\"deny\": [\"10.0.0.0/8\"]", paper, COUNT(paper));
	expect("\"deny\": [\"10.1.2.0/24\", \"10.0.0.0/8\", \"2001:db8::/32\", \"2001:db8:1::2\"],"
	       "\"allow\": [\"10.1.2.3\", \"10.1.0.0/16\", \"2001:db8:1::/48\"]",
		nested, COUNT(nested));
	// a default gives way to the same prefix, or a longer one
	expect("\"allow\": [\"192.0.2.0/24\", \"169.254.7.0/24\", \"fe80::7/128\"]", lifted,
		COUNT(lifted));
	// and not to a shorter one
	expect("\"allow\": [\"0.0.0.0/0\"]", wide, COUNT(wide));
	expect("\"deny\": [\"0.0.0.0/0\"], \"allow\": [\"8.0.0.0/8\"]", all4, COUNT(all4));
	expect("\"deny\": [\"::/0\"], \"allow\": [\"2001:db8::2\"]", all6, COUNT(all6));
	expect("\"deny\": [\"::ffff:10.1.2.3\", \"::ffff:11.0.0.0/104\"]", dressed, COUNT(dressed));
}

static void test_ports(void **state)
{
	static const uint16_t never[] = {0, 19, 53, 111, 123, 137, 161, 389, 1900, 5353, 11211};
	struct tapi_acl *acl = made("\"deny_ports\": [25, 65535, 53]");
	unsigned count = 0;

	(void)state;
	for (unsigned port = 0; port < 65536; port++) {
		struct tapi_source source = source_of("1.2.3.4", (uint16_t)port);
		bool listed = port == 25 || port == 65535;

		for (unsigned i = 0; i < COUNT(never); i++)
			listed = listed || never[i] == port;
		assert_int_equal(
			tapi_acl_address(acl, &source, true), listed ? TAPI_EACL : TAPI_OK);
		assert_int_equal(tapi_acl_address(acl, &source, false), TAPI_OK);
		count += listed;
	}
	assert_int_equal(count, COUNT(never) + 2);
	tapi_acl_free(acl);
}

static void test_families(void **state)
{
	struct tapi_acl *acl = made("\"deny\": [\"0.0.0.0/0\", \"::/0\"]");
	struct tapi_source source = {.family = 0};

	(void)state;
	assert_int_equal(tapi_acl_address(acl, &source, true), TAPI_OK);
	source.family = 5; // nobody's
	assert_int_equal(tapi_acl_address(acl, &source, false), TAPI_EACL);
	tapi_acl_free(acl);
	acl = made("");
	source.address[0] = 0x20;
	assert_int_equal(tapi_acl_address(acl, &source, false), TAPI_EACL);
	source.family = 6;
	assert_int_equal(tapi_acl_address(acl, &source, false), TAPI_OK);
	tapi_acl_free(acl);
	tapi_acl_free(NULL);
}

static void test_peers(void **state)
{
	const uint64_t until = UINT64_C(1800000000) * 1000000; // 2027-01-15T08:00:00Z
	struct tapi_acl *acl =
		made("\"deny_peers\": [\"" ID_1 "\", \"" PUBLIC_1 " 2027-01-15T08:00:00Z\","
		     "\"" SEED_2 " 2027-01-15T07:00:00Z\", \"" SEED_2 " 2027-01-15T08:00:00Z\","
		     "\"" SEED_2 " 2027-01-15T06:00:00Z\"]");
	struct tapi_peer_id id;

	(void)state;
	assert_int_equal(tapi_peer_id_parse(&id, ID_1), TAPI_OK);
	assert_int_equal(tapi_acl_peer(acl, &id, 0), TAPI_EACL);
	assert_int_equal(tapi_acl_peer(acl, &id, UINT64_MAX - 1), TAPI_EACL);
	id.octets[31] ^= 1;
	assert_int_equal(tapi_acl_peer(acl, &id, 0), TAPI_OK);
	assert_int_equal(tapi_peer_id_parse(&id, PUBLIC_1), TAPI_OK);
	assert_int_equal(tapi_acl_peer(acl, &id, until - 1), TAPI_EACL);
	assert_int_equal(tapi_acl_peer(acl, &id, until), TAPI_OK);
	// named more than once: the longest counts
	assert_int_equal(tapi_peer_id_parse(&id, SEED_2), TAPI_OK);
	assert_int_equal(tapi_acl_peer(acl, &id, until - 1), TAPI_EACL);
	assert_int_equal(tapi_acl_peer(acl, &id, until), TAPI_OK);
	tapi_acl_free(acl);
}

static void test_refused(void **state)
{
	static const struct {
		const char *members, *error;
	} bad[] = {
		{"\"deny\": [\"1.2.3.4\",\n\"1.2.3\"]",
			"configuration:2: acl.deny[1]: \"1.2.3\" is no address"},
		{"\"deny\": [\"\"]", "acl.deny[0]: \"\" is no address"},
		{"\"allow\": [\"/8\"]", "acl.allow[0]: \"/8\" is no address"},
		{"\"deny\": [\"1.2.3.4/33\"]", "has no prefix length from 0 to 32"},
		{"\"deny\": [\"1.2.3.4/\"]", "has no prefix length from 0 to 32"},
		{"\"deny\": [\"1.2.3.4/-1\"]", "has no prefix length from 0 to 32"},
		{"\"deny\": [\"1.2.3.4/ 8\"]", "has no prefix length from 0 to 32"},
		{"\"deny\": [\"1.2.3.4/8x\"]", "has no prefix length from 0 to 32"},
		{"\"deny\": [\"1.2.3.4/99999999999999999999\"]", "from 0 to 32"},
		{"\"deny\": [\"::/129\"]", "has no prefix length from 0 to 128"},
		{"\"deny\": [\"fe80::1%eth0\"]", "is no address"}, // a scope means nothing here
		{"\"deny\": [\"example.org\"]", "is no address"},
		{"\"deny\": [\"0000000000000000000000000000000000000000000000000000000000000001"
		 "\"]", // as long as no address is
			"is no address"},
		{"\"deny\": [\"0000000000000000000000000000000000000000000000000000000000000001"
		 "/8\"]",
			"is no address"},
		{"\"deny\": [\"10.1.2.3/8\"]", "has bits behind its prefix: write 10.0.0.0/8"},
		{"\"deny\": [\"1.2.3.255/30\"]", "has bits behind its prefix: write 1.2.3.252/30"},
		{"\"deny\": [\"2001:db8::1/33\"]", "write 2001:db8::/33"},
		{"\"deny\": [\"::ffff:0:0/95\"]", "write ::fffe:0:0/95"}, // half of it is no IPv4
		{"\"deny\": [\"1.2.3.4\", \"10.0.0.0/8\"],\n\"allow\": [\"1.0.0.0/8\", "
		 "\"10.0.0.0/8\"]",
			"configuration:2: acl.allow[1]: the same network stands in deny[1]"},
		{"\"deny\": [\"::/0\"], \"allow\": [\"::/0\"]", "acl.allow[0]: the same network"},
		{"\"deny\": [\"192.0.2.0/24\"], \"allow\": [\"192.0.2.0/24\"]", "the same network"},
		{"\"denied\": []", "acl.denied: no such key; the nearest is \"deny\""},
		{"\"deny_ports\": [65536]", "acl.deny_ports[0]: 65536 is not from 0 to 65535"},
		{"\"deny_peers\": [\"12\"]", "acl.deny_peers[0]: \"12\" does not begin with"},
		{"\"deny_peers\": [\"" ID_1 "0\"]", "does not begin with the 64 hex digits"},
		{"\"deny_peers\": [\"" ID_1 " \"]", "\"\" is no time"},
		{"\"deny_peers\": [\"" ID_1 " 2027-01-31\"]", "\"2027-01-31\" is no time"},
		{"\"deny_peers\": [\"" ID_1 " 2027-02-30T00:00:00Z\"]", "is no time"},
		{"\"deny_peers\": [\"" ID_1 " 2027-1-31T00:00:00Z\"]", "is no time"},
		{"\"deny_peers\": [\"" ID_1 " 2027-01-31T24:00:00Z\"]", "is no time"},
		{"\"deny_peers\": [\"" ID_1 " 2027-01-31T00:00:00Zx\"]", "is no time"},
		{"\"deny_peers\": [\"" ID_1 " 1969-01-31T00:00:00Z\"]", "is no time"},
		{"\"local\": 1", "acl.local: has to be true or false"},
	};

	(void)state;
	for (unsigned i = 0; i < COUNT(bad); i++) {
		struct tapi_error error = {""};
		struct tapi_acl *acl = NULL;
		struct tapi_conf *conf;
		char *text = NULL;

		assert_true(asprintf(&text, "{\"acl\": {%s}}", bad[i].members) > 0);
		conf = tapi_conf_parse(text, &error);
		assert_non_null(conf);
		assert_int_equal(tapi_acl_new(&acl, conf, &error), TAPI_ECONF);
		assert_null(acl);
		if (!strstr(error.text, bad[i].error))
			fail_msg("%s: not \"%s\"", error.text, bad[i].error);
		assert_int_equal(tapi_acl_new(&acl, conf, NULL), TAPI_ECONF);
		tapi_conf_free(conf);
		free(text);
	}
}

// What a list of prefixes says of one address, read from the front: the reference.
static bool denied_slowly(const uint32_t *prefixes, const uint8_t *lengths, const bool *allow,
	unsigned n, uint32_t ip)
{
	int best = -1;
	bool answer = false;

	for (unsigned i = 0; i < n; i++) {
		uint32_t bits = lengths[i] ? UINT32_MAX << (32 - lengths[i]) : 0;

		if ((ip & bits) == prefixes[i] && lengths[i] >= best) {
			// of two about the same network, allow; there are none in the lists
			best = lengths[i];
			answer = !allow[i];
		}
	}
	return answer;
}

// 20,000 networks, against the reference; in no time, since nothing here is quadratic.
static void test_many(void **state)
{
	enum { N = 20000 };
	static uint32_t prefixes[N];
	static uint8_t lengths[N];
	static bool allow[N];
	char *lists[2] = {NULL, NULL}, *members = NULL;
	size_t sizes[2];
	FILE *out[2] = {open_memstream(&lists[0], &sizes[0]), open_memstream(&lists[1], &sizes[1])};
	uint64_t draw = 88172645463325252;
	struct tapi_acl *acl;
	clock_t begin;

	(void)state;
	for (unsigned i = 0; i < N; i++) {
		draw ^= draw << 13, draw ^= draw >> 7, draw ^= draw << 17;
		lengths[i] = (uint8_t)(9 + draw % 24);
		// inside 8.0.0.0/5, so that many lie in one another; the same network, one list
		prefixes[i] = (0x08000000 | ((uint32_t)(draw >> 20) & 0x07ffffff)) &
			      UINT32_MAX << (32 - lengths[i]);
		allow[i] = (prefixes[i] * 2654435761u + lengths[i] * 40503u) >> 13 & 1;
		fprintf(out[allow[i]], "%s\"%u.%u.%u.%u/%u\"", ftell(out[allow[i]]) ? "," : "",
			prefixes[i] >> 24, prefixes[i] >> 16 & 255, prefixes[i] >> 8 & 255,
			prefixes[i] & 255, lengths[i]);
	}
	fclose(out[0]);
	fclose(out[1]);
	assert_true(asprintf(&members, "\"deny\": [%s], \"allow\": [%s]", lists[0], lists[1]) > 0);
	begin = clock();
	acl = made(members);
	assert_true(clock() - begin < 2 * CLOCKS_PER_SEC);
	for (unsigned i = 0; i < 2000; i++) {
		struct tapi_source source = {.family = 4};
		uint32_t ip;

		draw ^= draw << 13, draw ^= draw >> 7, draw ^= draw << 17;
		ip = i % 2 ? prefixes[draw % N] | (uint32_t)(draw >> 40) % 4
			   : 0x08000000 | ((uint32_t)draw & 0x07ffffff);
		for (unsigned octet = 0; octet < 4; octet++)
			source.address[octet] = (uint8_t)(ip >> (24 - 8 * octet));
		// 10.0.0.0/8 is in it, and private networks are good
		assert_int_equal(tapi_acl_address(acl, &source, false) == TAPI_EACL,
			denied_slowly(prefixes, lengths, allow, N, ip));
	}
	tapi_acl_free(acl);
	free(members);
	free(lists[0]);
	free(lists[1]);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_defaults),
		cmocka_unit_test(test_local_and_private),
		cmocka_unit_test(test_longest),
		cmocka_unit_test(test_ports),
		cmocka_unit_test(test_families),
		cmocka_unit_test(test_peers),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
