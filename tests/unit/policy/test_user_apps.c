// SPDX-License-Identifier: BSD-3-Clause
// The tables of user-defined applications against naive references on random names, ports and
// networks. The seed is printed; SLUICE_SEED sets it.
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <netinet/in.h>
#include <cmocka.h>
#include "pipeline/policy/policy.h"
#include "classify/user_apps.h"

static unsigned seed;

static unsigned below(unsigned n)
{
	return (unsigned)(random() % n);
}

// Few labels, so that names are each other's suffixes often.
static void random_name(char *out, unsigned labels_max)
{
	static const char *const labels[] = {"a", "b", "aa", "wiki", "badwiki", "example", "x-1"};
	unsigned n = 1 + below(labels_max);

	for (unsigned i = 0; i < n; i++)
		out = stpcpy(stpcpy(out, i ? "." : ""), labels[below(7)]);
}

struct suffixes {
	unsigned n;
	char text[300][64];
	uint16_t app[300];
	bool shared[300];
};

// The longest that is the name, or ends it behind a dot; the first of equals.
static uint16_t naive(const struct suffixes *suffixes, const char *name, bool shared)
{
	uint16_t app = APP_NONE;
	size_t best = 0, length = strlen(name);

	for (unsigned i = 0; i < suffixes->n; i++) {
		size_t n = strlen(suffixes->text[i]);

		if (n > length || n <= best || strcmp(name + length - n, suffixes->text[i]) != 0 ||
			(n < length && name[length - n - 1] != '.'))
			continue;
		best = n;
		app = suffixes->shared[i] == shared ? suffixes->app[i] : APP_NONE;
	}
	return app;
}

static void hosts_as_the_reference_has_them(void **state)
{
	unsigned hits = 0;

	(void)state;
	for (unsigned round = 0; round < 60; round++) {
		struct user_apps *apps = user_apps_new();
		struct suffixes suffixes = {.n = below(301)};

		for (unsigned i = 0; i < suffixes.n; i++) {
			random_name(suffixes.text[i], 4);
			suffixes.app[i] = (uint16_t)(40 + below(20));
			suffixes.shared[i] = !below(4);
			assert_int_equal((suffixes.shared[i] ? user_apps_add_shared_host
							     : user_apps_add_host)(
						 apps, suffixes.app[i], suffixes.text[i]),
				0);
		}
		for (unsigned i = 0; i < 500; i++) {
			char name[80], shown[82];

			random_name(name, 6);
			uint16_t expected = naive(&suffixes, name, false);

			hits += expected != APP_NONE;
			snprintf(shown, sizeof shown, "%s%s", name, below(2) ? "." : "");
			for (char *c = shown; *c; c++)
				if (*c >= 'a' && below(2))
					*c = (char)(*c - 'a' + 'A');
			assert_int_equal(user_apps_of_host(apps, (const uint8_t *)shown,
						 (uint32_t)strlen(shown)),
				expected);
			assert_int_equal(user_apps_of_shared_host(apps, (const uint8_t *)shown,
						 (uint32_t)strlen(shown)),
				naive(&suffixes, name, true));
		}
		for (unsigned i = 0; i < suffixes.n; i++) {
			uint16_t app;

			assert_string_equal(user_apps_host(apps, i, &app), suffixes.text[i]);
			assert_int_equal(app, suffixes.app[i]);
		}
		assert_int_equal(user_apps_n_hosts(apps), suffixes.n);
		user_apps_free(apps);
	}
	assert_true(hits > 5000); // else nothing was tried
}

static uint16_t of(const struct user_apps *apps, const char *name)
{
	return user_apps_of_host(apps, (const uint8_t *)name, (uint32_t)strlen(name));
}

static void hosts_have_bounds(void **state)
{
	struct user_apps *apps = user_apps_new();
	char name[300], longest[USER_HOST_NAME_MAX + 2];

	(void)state;
	assert_false(user_apps_have_hosts(NULL));
	assert_false(user_apps_have_hosts(apps));
	assert_int_equal(of(NULL, "a"), APP_NONE);
	assert_int_equal(of(apps, "a"), APP_NONE);
	memset(longest, 'a', sizeof longest);
	longest[USER_HOST_NAME_MAX + 1] = 0;
	assert_int_equal(user_apps_add_host(apps, 50, longest), -EINVAL);
	assert_int_equal(user_apps_add_host(apps, 50, ""), -EINVAL);
	longest[USER_HOST_NAME_MAX] = 0;
	assert_int_equal(user_apps_add_host(apps, 50, longest), 0);
	assert_int_equal(of(apps, longest), 50);
	for (unsigned i = 1; i < USER_HOSTS_MAX; i++) {
		snprintf(name, sizeof name, "h%u.example", i);
		assert_int_equal(user_apps_add_host(apps, (uint16_t)(40 + i % 7), name), 0);
	}
	assert_int_equal(user_apps_add_host(apps, 50, "one.more"), -ENOSPC);
	assert_int_equal(of(apps, "one.more"), APP_NONE);
	for (unsigned i = 1; i < USER_HOSTS_MAX; i++) {
		snprintf(name, sizeof name, "x.h%u.example", i);
		assert_int_equal(of(apps, name), 40 + i % 7);
	}
	memset(name, 'a', sizeof name); // longer than any name may be
	assert_int_equal(user_apps_of_host(apps, (const uint8_t *)name, sizeof name), APP_NONE);
	assert_int_equal(of(apps, ""), APP_NONE);
	assert_int_equal(of(apps, "."), APP_NONE);
	assert_int_equal(of(apps, "..h1.example"), 41);
	user_apps_free(apps);
}

static void the_first_has_a_port(void **state)
{
	struct user_apps *apps = user_apps_new();

	(void)state;
	assert_int_equal(user_apps_of_port(NULL, IPPROTO_TCP, 25), APP_NONE);
	assert_int_equal(user_apps_of_port(apps, IPPROTO_TCP, 25), APP_NONE);
	assert_int_equal(user_apps_add_ports(apps, 40, IPPROTO_TCP, 6000, 6063), 0);
	assert_int_equal(user_apps_add_ports(apps, 41, IPPROTO_TCP, 0, 65535), 0);
	assert_int_equal(user_apps_add_ports(apps, 42, IPPROTO_UDP, 65535, 65535), 0);
	assert_int_equal(user_apps_of_port(apps, IPPROTO_TCP, 5999), 41);
	assert_int_equal(user_apps_of_port(apps, IPPROTO_TCP, 6000), 40);
	assert_int_equal(user_apps_of_port(apps, IPPROTO_TCP, 6063), 40);
	assert_int_equal(user_apps_of_port(apps, IPPROTO_TCP, 6064), 41);
	assert_int_equal(user_apps_of_port(apps, IPPROTO_TCP, 65535), 41);
	assert_int_equal(user_apps_of_port(apps, IPPROTO_UDP, 65535), 42);
	assert_int_equal(user_apps_of_port(apps, IPPROTO_UDP, 6000), APP_NONE);
	user_apps_free(apps);
}

static void places_are_the_documents(void **state)
{
	struct user_apps *apps = user_apps_new();

	(void)state;
	user_apps_add(apps, 77);
	user_apps_add(apps, 40);
	user_apps_add(apps, 77);
	assert_int_equal(user_apps_place(apps, 77), 0);
	assert_int_equal(user_apps_place(apps, 40), 1);
	assert_int_equal(user_apps_place(apps, 41), UINT32_MAX);
	assert_int_equal(user_apps_place(apps, APPS_MAX), UINT32_MAX);
	assert_int_equal(user_apps_place(NULL, 40), UINT32_MAX);
	user_apps_free(apps);
}

static void address_of(unsigned value, bool v6, uint8_t out[16])
{
	memset(out, 0, 16);
	if (!v6) {
		out[10] = out[11] = 0xff;
		out[12] = 10;
	} else {
		out[0] = 0x20;
	}
	out[14] = (uint8_t)(value >> 8);
	out[15] = (uint8_t)value;
}

static void random_set(struct address_set *set)
{
	unsigned n = below(6);
	char text[64];

	for (unsigned i = 0; i < n; i++) {
		unsigned bits = below(11), value = below(1024) >> bits << bits;

		snprintf(text, sizeof text, "10.0.%u.%u/%u", value >> 8, value & 255, 32 - bits);
		assert_int_equal(address_set_add(set, text), 0);
		snprintf(text, sizeof text, "2000::%x/%u", value, 128 - bits);
		if (below(2))
			assert_int_equal(address_set_add(set, text), 0);
	}
	address_set_seal(set);
}

static void networks_as_the_reference_has_them(void **state)
{
	(void)state;
	for (unsigned round = 0; round < 200; round++) {
		struct app_networks networks = {0};
		struct address_set sets[8] = {0};
		unsigned n = 1 + below(8);

		for (unsigned i = 0; i < n; i++) {
			random_set(&sets[i]);
			assert_int_equal(
				app_networks_add(&networks, &sets[i], (uint16_t)(40 + i)), 0);
		}
		for (unsigned family = 0; family < 2; family++) {
			for (uint32_t i = 0; i < networks.n[family]; i++) {
				const struct app_network *range = &networks.ranges[family][i];

				assert_true(memcmp(range->first, range->last, 16) <= 0);
				assert_true(!i || memcmp(range[-1].last, range->first, 16) < 0);
			}
		}
		for (unsigned value = 0; value < 1100; value++) {
			uint8_t address[16];
			uint16_t expected;

			for (unsigned v6 = 0; v6 < 2; v6++) {
				address_of(value, v6, address);
				expected = APP_NONE;
				for (unsigned i = n; i; i--)
					if (address_set_has(&sets[i - 1], address))
						expected = (uint16_t)(40 + i - 1);
				assert_int_equal(app_networks_find(&networks, address), expected);
			}
		}
		for (unsigned i = 0; i < n; i++)
			address_set_free(&sets[i]);
		app_networks_free(&networks);
	}
}

// The ends of the address space, and a network of IPv6 that looks as if it held IPv4's.
static void networks_at_the_ends(void **state)
{
	struct app_networks networks = {0};
	struct address_set some = {0}, all = {0};
	uint8_t last6[16], v4[16];

	(void)state;
	memset(last6, 0xff, sizeof last6);
	address_of(1, false, v4);
	assert_true(app_networks_empty(&networks));
	assert_int_equal(app_networks_find(&networks, v4), APP_NONE);
	assert_int_equal(address_set_add(&some, "255.255.255.255"), 0);
	assert_int_equal(address_set_add(&some, "::"), 0);
	address_set_seal(&some);
	assert_int_equal(address_set_add(&all, "::/0"), 0);
	address_set_seal(&all);
	assert_int_equal(app_networks_add(&networks, &some, 40), 0);
	assert_int_equal(app_networks_add(&networks, &all, 41), 0);
	assert_int_equal(app_networks_find(&networks, last6), 41);
	assert_int_equal(app_networks_find(&networks, (uint8_t[16]){0}), 40);
	assert_int_equal(app_networks_find(&networks, (uint8_t[16]){[15] = 1}), 41);
	assert_int_equal(app_networks_find(&networks, v4), APP_NONE);
	assert_int_equal(address_set_add(&all, "0.0.0.0/0"), 0);
	address_set_seal(&all);
	assert_int_equal(app_networks_add(&networks, &all, 42), 0);
	assert_int_equal(app_networks_find(&networks, v4), 42);
	memset(v4 + 12, 0xff, 4);
	assert_int_equal(app_networks_find(&networks, v4), 40);
	assert_int_equal(app_networks_find(&networks, last6), 41);
	address_set_free(&some);
	address_set_free(&all);
	app_networks_free(&networks);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hosts_as_the_reference_has_them),
		cmocka_unit_test(hosts_have_bounds),
		cmocka_unit_test(the_first_has_a_port),
		cmocka_unit_test(places_are_the_documents),
		cmocka_unit_test(networks_as_the_reference_has_them),
		cmocka_unit_test(networks_at_the_ends),
	};
	const char *wanted = getenv("SLUICE_SEED");

	seed = wanted ? (unsigned)strtoul(wanted, NULL, 0) : 20230918;
	printf("seed %u\n", seed);
	srandom(seed);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
