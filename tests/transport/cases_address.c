// SPDX-License-Identifier: BSD-3-Clause
// Addresses: create_helo (TA5), verify_helo (TA6, TA27), and their text.
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "rows.h"

#define OWN_MAX 64

static void own_addresses(void **state)
{
	struct row_pair pair;
	struct tapi_helo helo, again;
	enum tapi_result result = TAPI_OK;
	char text[TAPI_TEXT_BYTES];
	unsigned n = 0;

	(void)state;
	row_pair_begin(&pair);
	for (; n < OWN_MAX; n++) {
		uint8_t address[TAPI_ADDRESS_BYTES];
		size_t size = sizeof(address);

		memset(&helo, 0xee, sizeof(helo));
		result = pair.a->api->create_helo(pair.a->api, n, &helo);
		if (result != TAPI_OK)
			break;
		assert_int_equal(helo.protocol, row->protocol);
		assert_in_range(helo.mtu, 1, pair.a->api->mtu);
		assert_in_range(helo.address_size, 0, TAPI_ADDRESS_BYTES);
		// The same again, as long as nothing changes.
		memset(&again, 0xee, sizeof(again));
		assert_int_equal(pair.a->api->create_helo(pair.a->api, n, &again), TAPI_OK);
		assert_memory_equal(&helo, &again, sizeof(helo));
		// What one end makes, the other accepts.
		assert_int_equal(pair.b->api->verify_helo(pair.b->api, &helo), TAPI_OK);
		// Text and back.
		assert_int_equal(
			pair.b->api->address_to_string(pair.b->api, &helo, text, sizeof(text)),
			TAPI_OK);
		assert_ptr_equal(strstr(text, row->scheme), text);
		assert_int_equal(
			pair.b->api->string_to_address(pair.b->api, text, address, &size), TAPI_OK);
		assert_int_equal(size, helo.address_size);
		assert_memory_equal(address, helo.address, size);
		// No room: said, and nothing is written beyond.
		for (size_t room = 0; room <= strlen(text); room++) {
			char *small = malloc(room + 1);

			assert_non_null(small);
			small[room] = 0x7e;
			assert_int_not_equal(
				pair.b->api->address_to_string(pair.b->api, &helo, small, room),
				TAPI_OK);
			assert_int_equal(small[room], 0x7e);
			free(small);
		}
		if (helo.address_size > 0) {
			size = helo.address_size - 1u;
			assert_int_not_equal(
				pair.b->api->string_to_address(pair.b->api, text, address, &size),
				TAPI_OK);
		}
	}
	assert_int_equal(result, TAPI_ENOADDR); // ends the list
	if (row_is(TAPI_SEND_ONLY))
		assert_int_equal(n, 0);
	else
		assert_int_not_equal(n, 0);
	row_pair_end(&pair);
}

// Behind NAT nothing is advertised, and what goes out goes out (TA5).
static void send_only_still_sends(void **state)
{
	struct row_pair pair;
	struct tapi_helo helo = {0};

	(void)state;
	if (!row_has(ROW_NAT) && !row_is(TAPI_SEND_ONLY))
		skip();
	row_pair_begin_as(&pair, NULL,
		&(struct row_wish){.extra = row_has(ROW_NAT) ? "\"nat\": true" : NULL});
	assert_int_equal(pair.b->api->create_helo(pair.b->api, 0, &helo), TAPI_ENOADDR);
	assert_int_equal(rig_send(pair.out, 1, 100), TAPI_OK);
	if (!row_has(ROW_SILENT))
		assert_true(rig_until_arrivals(pair.a, 1));
	row_pair_end(&pair);
}

static enum tapi_result verify(struct rig_node *node, const struct tapi_helo *helo)
{
	// Of its size on the heap, so that a step beyond the address is seen.
	struct tapi_helo *own = malloc(sizeof(*own));
	enum tapi_result result;

	assert_non_null(own);
	*own = *helo;
	result = node->api->verify_helo(node->api, own);
	free(own);
	return result;
}

// Octets that are no address: refused by verify_helo, by connect, and as text.
static void refused(struct rig_node *node, const struct tapi_helo *helo, enum tapi_result wanted)
{
	struct rig_session *session;
	enum tapi_result result = verify(node, helo);

	if (result != wanted)
		fail_msg("an address of %u octets, %02x...: %s, wanted %s", helo->address_size,
			helo->address[0], tapi_result_name(result), tapi_result_name(wanted));
	assert_int_equal(rig_connect(node, helo, &session), wanted);
}

static void wrong_sizes(void **state)
{
	struct row_pair pair;
	struct tapi_helo good, bad;

	(void)state;
	row_pair_begin(&pair);
	good = row_helo(pair.b, pair.a);
	if (row->family) {
		for (uint16_t size = 0; size <= TAPI_ADDRESS_BYTES; size++) {
			if (size == good.address_size)
				continue;
			bad = good;
			bad.address_size = size;
			// A shorter or longer address may be one of the other family, by its
			// size alone; of zeros it is none.
			memset(bad.address, 0, sizeof(bad.address));
			refused(pair.b, &bad, verify(pair.b, &bad));
			assert_int_not_equal(verify(pair.b, &bad), TAPI_OK);
		}
	} else {
		bad = good;
		bad.address_size = 0;
		refused(pair.b, &bad, TAPI_EADDR);
		memset(bad.address, 'x', sizeof(bad.address));
		bad.address_size = TAPI_ADDRESS_BYTES; // beyond what a path or a word may have
		refused(pair.b, &bad, TAPI_EADDR);
	}
	row_pair_end(&pair);
}

// Text of addresses of the Internet that nobody may be told to send to (TA27, TA6).
static void wrong_internet_addresses(void **state)
{
	static const char *const hosts[] = {"0.0.0.0", "255.255.255.255", "224.0.0.1", "[::]",
		"[ff02::1]", "[fe80::1]", "[fe80::1%lo]", "[::ffff:127.0.0.1]", "localhost",
		"1.2.3", "1.2.3.4.5", "256.1.1.1", "[1:2:3]", "", "1.2.3.4/8", " 1.2.3.4",
		"1.2.3.4 "};
	struct row_pair pair;
	struct tapi_helo helo;
	char scheme[32];
	bool has_port;

	(void)state;
	if (!row->family)
		skip();
	row_pair_begin(&pair);
	helo = row_helo(pair.b, pair.a);
	has_port = helo.address_size == 6 || helo.address_size == 18;
	snprintf(scheme, sizeof(scheme), "%.*s",
		(int)(strstr(row->scheme, "://") + 3 - row->scheme), row->scheme);
	for (size_t i = 0; i < sizeof(hosts) / sizeof(hosts[0]); i++) {
		char text[96];
		struct tapi_helo bad = helo;
		size_t size = sizeof(bad.address);

		snprintf(text, sizeof(text), "%s%s%s", scheme, hosts[i], has_port ? ":4701" : "");
		if (pair.b->api->string_to_address(pair.b->api, text, bad.address, &size) ==
			TAPI_OK) {
			bad.address_size = (uint16_t)size;
			if (verify(pair.b, &bad) == TAPI_OK)
				fail_msg("%s is accepted", text);
		}
	}
	if (has_port) {
		struct tapi_helo bad = helo;

		bad.address[bad.address_size - 2] = 0;
		bad.address[bad.address_size - 1] = 0; // port 0
		refused(pair.b, &bad, TAPI_EADDR);
		bad.address[bad.address_size - 1] = 53; // denied by default
		refused(pair.b, &bad, TAPI_EACL);
	}
	row_pair_end(&pair);
}

static void wrong_texts(void **state)
{
	static const char *const texts[] = {"", ":", "//", "udp", "mailto:a@b", "x://127.0.0.1:1",
		"chaos+", "chaos+chaos+", "null:", "unix:", "null", "\xff\xfe"};
	struct rig rig;
	struct rig_node *a;
	uint8_t address[TAPI_ADDRESS_BYTES];
	char longest[2048];

	(void)state;
	rig_init(&rig, 1);
	a = row_node(&rig, 0, NULL);
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		size_t size = sizeof(address);

		if (a->api->string_to_address(a->api, texts[i], address, &size) == TAPI_OK)
			fail_msg("\"%s\" is an address", texts[i]);
	}
	memset(longest, '1', sizeof(longest));
	memcpy(longest, row->scheme, strlen(row->scheme));
	longest[sizeof(longest) - 1] = 0;
	{
		size_t size = sizeof(address);

		assert_int_not_equal(
			a->api->string_to_address(a->api, longest, address, &size), TAPI_OK);
	}
	rig_end(&rig);
}

// Whatever octets come: an answer that is one of three, and text that leads back.
static void random_addresses(void **state)
{
	struct rig rig;
	struct rig_node *a;
	unsigned accepted = 0;

	(void)state;
	rig_init(&rig, 4711);
	a = row_node(&rig, 0, NULL);
	for (unsigned i = 0; i < 20000; i++) {
		struct tapi_helo helo = {.protocol = a->api->protocol};
		enum tapi_result result;
		char text[TAPI_TEXT_BYTES];
		uint8_t back[TAPI_ADDRESS_BYTES];
		size_t size = sizeof(back);

		helo.address_size =
			(uint16_t)(rig_random(&rig) % (i & 1 ? 24 : TAPI_ADDRESS_BYTES + 1));
		for (unsigned j = 0; j < sizeof(helo.address); j++)
			helo.address[j] = (uint8_t)(rig_random(&rig) >> (i & 2 ? 33 : 40));
		if (i & 4)
			for (unsigned j = 0; j < helo.address_size; j++)
				helo.address[j] = (uint8_t)('a' + helo.address[j] % 26);
		if (i & 8)
			helo.address[0] = '/';
		result = verify(a, &helo);
		assert_true(result == TAPI_OK || result == TAPI_EADDR || result == TAPI_EACL);
		if (result == TAPI_EADDR)
			continue;
		accepted++;
		assert_int_equal(
			a->api->address_to_string(a->api, &helo, text, sizeof(text)), TAPI_OK);
		assert_int_equal(a->api->string_to_address(a->api, text, back, &size), TAPI_OK);
		assert_int_equal(size, helo.address_size);
		assert_memory_equal(back, helo.address, size);
	}
	assert_true(accepted > 20); // else this looked at nothing
	rig_end(&rig);
}

static bool has_bad_source(void *context)
{
	return rig_stats(context)->bad_source > 0;
}

// The deny list of the configuration, and not a packet is sent to find out (TA6).
static void deny_list(void **state)
{
	struct row_pair pair;
	struct tapi_helo helo_a, helo_b;
	struct rig_session *session;
	char acl[64];

	(void)state;
	if (!row_has(ROW_ACL))
		skip();
	// All of them: who has several addresses may call from any.
	snprintf(acl, sizeof(acl), "\"deny\": [\"%s\"]",
		strchr(row->family, ':') ? "fd00::/16" : "127.0.0.0/8");
	rig_init(&pair.rig, 1);
	pair.a = row_node(&pair.rig, 0, NULL);
	pair.b = row_node(&pair.rig, 1, &(struct row_wish){.acl = acl});
	helo_a = rig_helo(pair.a, 0);
	helo_b = rig_helo(pair.b, 0);
	refused(pair.b, &helo_a, TAPI_EACL);
	assert_int_equal(verify(pair.a, &helo_b), TAPI_OK);
	// What comes from there is not delivered, and counted. (A stream ends without a word.)
	assert_int_equal(rig_connect(pair.a, &helo_b, &session), TAPI_OK);
	assert_int_equal(rig_send(session, 1, 100), TAPI_OK);
	assert_true(rig_until(&pair.rig, has_bad_source, pair.b));
	rig_pump(&pair.rig, 20);
	assert_int_equal(pair.b->n_arrivals, 0);
	assert_int_equal(pair.b->n_downs, 0);
	row_pair_end(&pair);
}

int cases_address(void)
{
	const struct CMUnitTest tests[] = {
		CASE(own_addresses),
		CASE(send_only_still_sends),
		CASE(wrong_sizes),
		CASE(wrong_internet_addresses),
		CASE(wrong_texts),
		CASE(random_addresses),
		CASE(deny_list),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
