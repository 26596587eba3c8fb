// SPDX-License-Identifier: BSD-3-Clause
#include <arpa/inet.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "lib/control/fake_apps.h"
#include "pipeline/policy/policy.h"

static bool has(const struct address_set *set, const char *text)
{
	uint8_t address[16] = {[10] = 0xff, [11] = 0xff};

	if (inet_pton(AF_INET, text, address + 12) != 1)
		assert_int_equal(inet_pton(AF_INET6, text, address), 1);
	return address_set_has(set, address);
}

static void test_edges(void **state)
{
	struct address_set set = {0};

	(void)state;
	assert_int_equal(address_set_add(&set, "10.0.0.0/8"), 0);
	assert_int_equal(address_set_add(&set, "192.0.2.1"), 0);
	assert_int_equal(address_set_add(&set, "2001:db8::/33"), 0);
	assert_int_equal(address_set_add(&set, "fe80::1"), 0);
	address_set_seal(&set);
	assert_true(has(&set, "10.0.0.0"));
	assert_true(has(&set, "10.255.255.255"));
	assert_false(has(&set, "9.255.255.255"));
	assert_false(has(&set, "11.0.0.0"));
	assert_true(has(&set, "192.0.2.1"));
	assert_false(has(&set, "192.0.2.0"));
	assert_false(has(&set, "192.0.2.2"));
	assert_true(has(&set, "2001:db8::"));
	assert_true(has(&set, "2001:db8:7fff:ffff:ffff:ffff:ffff:ffff"));
	assert_false(has(&set, "2001:db8:8000::"));
	assert_false(has(&set, "2001:db7:ffff:ffff:ffff:ffff:ffff:ffff"));
	assert_true(has(&set, "fe80::1"));
	assert_false(has(&set, "fe80::2"));
	address_set_free(&set);
	assert_false(has(&set, "10.0.0.1"));
}

static void test_whole_families(void **state)
{
	struct address_set set = {0};

	(void)state;
	assert_int_equal(address_set_add(&set, "0.0.0.0/0"), 0);
	address_set_seal(&set);
	assert_true(has(&set, "0.0.0.0"));
	assert_true(has(&set, "255.255.255.255"));
	assert_false(has(&set, "::1"));
	address_set_free(&set);
	assert_int_equal(address_set_add(&set, "::/0"), 0);
	address_set_seal(&set);
	assert_true(has(&set, "::"));
	assert_true(has(&set, "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"));
	assert_false(has(&set, "10.0.0.1"));
	address_set_free(&set);
}

static void test_mapped_means_ipv4(void **state)
{
	struct address_set set = {0};

	(void)state;
	assert_int_equal(address_set_add(&set, "::ffff:198.51.100.0/120"), 0);
	address_set_seal(&set);
	assert_int_equal(set.n_v6, 0);
	assert_true(has(&set, "198.51.100.255"));
	assert_false(has(&set, "198.51.101.0"));
	address_set_free(&set);
}

static void test_bad_text(void **state)
{
	static const char *const bad[] = {"", "/", "10.0.0.0/", "10.0.0.0/33", "10.0.0.0/-1",
		"10.0.0.0/+8", "10.0.0.0/08", "10.0.0.0/8 ", " 10.0.0.0/8", "10.0.0/8",
		"10.0.0.256", "2001:db8::/129", "2001:db8::1::2", "10.0.0.0/8/8", "staff",
		"10.0.0.0/4294967304", "0x0a.0.0.1",
		"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"};
	static const char *const host_bits[] = {"10.0.0.1/8", "192.0.2.1/31", "2001:db8::1/32",
		"0.0.0.1/0", "::1/0", "fe80::3/127"};
	struct address_set set = {0};

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		assert_int_equal(address_set_add(&set, bad[i]), -EINVAL);
	for (size_t i = 0; i < sizeof host_bits / sizeof *host_bits; i++)
		assert_int_equal(address_set_add(&set, host_bits[i]), -ERANGE);
	assert_int_equal(set.n_v4 + set.n_v6, 0);
	address_set_free(&set);
}

static void test_seal_merges(void **state)
{
	struct address_set set = {0};

	(void)state;
	address_set_add(&set, "10.0.1.0/24");
	address_set_add(&set, "10.0.0.0/24");   // touches
	address_set_add(&set, "10.0.0.128/25"); // inside
	address_set_add(&set, "255.255.255.255");
	address_set_add(&set, "2001:db8::/64");
	address_set_add(&set, "2001:db8:0:1::/64");
	address_set_add(&set, "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff");
	address_set_add(&set, "ffff:ffff:ffff:ffff:ffff:ffff:ffff:fffe");
	address_set_seal(&set);
	assert_int_equal(set.n_v4, 2);
	assert_int_equal(set.v4[0].first, 0x0a000000);
	assert_int_equal(set.v4[0].last, 0x0a0001ff);
	assert_int_equal(set.n_v6, 2);
	assert_true(has(&set, "2001:db8:0:1:ffff:ffff:ffff:ffff"));
	assert_false(has(&set, "2001:db8:0:2::"));
	address_set_free(&set);
}

// Against the definition: an address is in the set if it is in one of the blocks.
static void test_random_blocks(void **state)
{
	struct {
		uint32_t network;
		uint32_t mask;
	} blocks[200];
	struct address_set set = {0}, copy = {0};
	uint64_t seed = 0x9e3779b97f4a7c15;

	(void)state;
	for (size_t i = 0; i < 200; i++) {
		char text[40];
		unsigned prefix;
		struct in_addr be;

		seed = seed * 6364136223846793005u + 1442695040888963407u;
		prefix = 8 + (unsigned)(seed >> 60) + (unsigned)(seed >> 59 & 1) * 8;
		blocks[i].mask = ~(uint32_t)((1ull << (32 - prefix)) - 1);
		// few networks, so that they nest, touch and overlap
		blocks[i].network = ((uint32_t)(seed >> 20) & 0x0303ffff) & blocks[i].mask;
		be.s_addr = htonl(blocks[i].network);
		snprintf(text, sizeof text, "%s/%u", inet_ntoa(be), prefix);
		assert_int_equal(address_set_add(&set, text), 0);
	}
	address_set_seal(&set);
	for (uint32_t i = 1; i < set.n_v4; i++)
		assert_true(set.v4[i].first > set.v4[i - 1].last + 1);
	assert_int_equal(address_set_merge(&copy, &set), 0);
	assert_int_equal(address_set_add(&copy, "192.0.2.1"), 0);
	address_set_seal(&copy);
	for (unsigned round = 0; round < 20000; round++) {
		uint32_t address;
		uint8_t mapped[16] = {[10] = 0xff, [11] = 0xff};
		bool want = false;

		seed = seed * 6364136223846793005u + 1442695040888963407u;
		address = (uint32_t)(seed >> 20) & 0x0707ffff;
		for (size_t i = 0; i < 200; i++)
			want |= (address & blocks[i].mask) == blocks[i].network;
		for (unsigned i = 0; i < 4; i++)
			mapped[12 + i] = (uint8_t)(address >> (24 - 8 * i));
		assert_int_equal(address_set_has(&set, mapped), want);
		assert_int_equal(address_set_has(&copy, mapped), want);
	}
	assert_true(has(&copy, "192.0.2.1"));
	address_set_free(&set);
	address_set_free(&copy);
}

static void test_policy_free(void **state)
{
	struct policy *policy = calloc(1, sizeof *policy);

	(void)state;
	policy->rules = calloc(2, sizeof *policy->rules);
	policy->by_uid = calloc(2, sizeof *policy->by_uid);
	policy->n_rules = 2;
	policy->rules[0].uid = 9;
	policy->rules[1].uid = 3;
	policy->by_uid[0] = &policy->rules[1];
	policy->by_uid[1] = &policy->rules[0];
	address_set_add(&policy->rules[1].source, "10.0.0.0/8");
	address_set_add(&policy->conn_cache.exempt, "2001:db8::/32");
	assert_ptr_equal(policy_rule_by_uid(policy, 9), &policy->rules[0]);
	assert_ptr_equal(policy_rule_by_uid(policy, 3), &policy->rules[1]);
	assert_null(policy_rule_by_uid(policy, 4));
	assert_null(policy_rule_by_uid(policy, 0));
	policy_free(policy);
	policy_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_edges),
		cmocka_unit_test(test_whole_families),
		cmocka_unit_test(test_mapped_means_ipv4),
		cmocka_unit_test(test_bad_text),
		cmocka_unit_test(test_seal_merges),
		cmocka_unit_test(test_random_blocks),
		cmocka_unit_test(test_policy_free),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
