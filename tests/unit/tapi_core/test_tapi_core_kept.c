// SPDX-License-Identifier: BSD-3-Clause
// What a core keeps of its peers, and tells of them: which addresses where there are too many, the
// file of known peers soon after a new one, quotas over an eviction, LOST at every end, and all
// peers page by page.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <jansson.h>
#include <zlib.h>

#include "lib/tapi/tapi_wire.h"

#include "transportapi/core/helo.h"
#include "transportapi/core/peer.h"
#include "transportapi/core/state.h"
#include "transportapi/base/wire.h"

#define S     1000000u
#define MS    1000u
#define EPOCH UINT64_C(1800000000000000) // wall clock at virtual time 0 (tapi_wire)
#define QUICK "\"ping_address_s\": 1, \"ping_prefix_per_min\": 1000, \"ping_per_s\": 1000"

static const struct wire_node_options PLAIN = {.core = QUICK};

static void meet(struct wire *wire, struct wire_node *a, struct wire_node *b)
{
	wire_introduce(a, b, WIRE_ANY);
	assert_int_equal(wire_send(a, b, 64, "x", 1), TAPI_OK);
	wire_run(wire, 1 * S);
}

static enum tapi_result add(struct wire *wire, struct wire_node *to,
	const struct tapi_identity *identity, int kind, uint32_t ip, uint64_t seq)
{
	uint8_t octets[TAPI_HELO_BYTES_MAX];
	struct tapi_helo helo = {
		.protocol = (uint16_t)(WIRE_PROTOCOL + kind),
		.mtu = 1432,
		.expires_us = EPOCH + wire_now(wire) + 3600 * (uint64_t)S,
		.seq = EPOCH + seq,
		.address_size = 6,
	};

	tapi_put16(tapi_put32(helo.address, ip), WIRE_PORT);
	tapi_helo_sign(&helo, identity);
	return tapi_core_add_helo(
		to->core, octets, tapi_helo_encode(&helo, octets, sizeof(octets)));
}

// Of this kind, and whether it has the one of `ip`.
static unsigned kept(
	const struct wire_node *at, const struct tapi_peer_id *id, int kind, uint32_t ip, bool *has)
{
	const struct tapi_peer *peer = tapi_peer_find(at->core, id);
	struct tapi_helo helo;
	unsigned n = 0;

	*has = false;
	assert_non_null(peer);
	for (const struct tapi_address *each = peer->addresses; each; each = each->next) {
		assert_true(tapi_address_helo(each, &helo));
		n += helo.protocol == WIRE_PROTOCOL + kind;
		*has |= helo.protocol == WIRE_PROTOCOL + kind && tapi_get32(helo.address) == ip;
	}
	return n;
}

// Twelve of one transport and one of the other: the one stays, wherever it stands; of the twelve
// the first ones; and what its owner signs later takes the place of what he signed before.
static void test_addresses_of_each_kind(void **state)
{
	for (unsigned place = 0; place < 3; place++) {
		struct wire *wire = wire_new(300);
		struct wire_node *a = wire_node_add(wire, &PLAIN);
		const uint8_t seed[TAPI_SEED_BYTES] = {77};
		struct tapi_identity m;
		bool has;

		tapi_identity_from_seed(&m, seed);
		for (unsigned i = 0; i < 13; i++)
			add(wire, a, &m, i == place * 6 ? WIRE_TCP : WIRE_UDP, 0x0a000100 + i, 1);
		assert_int_equal(kept(a, &m.id, WIRE_TCP, 0x0a000100 + place * 6, &has), 1);
		assert_true(has);
		assert_int_equal(kept(a, &m.id, WIRE_UDP, 0x0a000101, &has), 7);
		assert_true(has);
		kept(a, &m.id, WIRE_UDP, 0x0a00010b, &has);
		assert_false(has);
		assert_int_equal(wire_counter(a, "helo_left_out"), 5);
		assert_int_equal(add(wire, a, &m, WIRE_UDP, 0x0a000200, 2), TAPI_OK);
		assert_int_equal(kept(a, &m.id, WIRE_UDP, 0x0a000200, &has), 7);
		assert_true(has);
		assert_int_equal(kept(a, &m.id, WIRE_TCP, 0, &has), 1);
		wire_free(wire);
	}
	(void)state;
}

// What is validated gives way to nothing that is only reported.
static void test_validated_stay(void **state)
{
	struct wire *wire = wire_new(301);
	struct wire_node *a = wire_node_add(wire, &PLAIN), *b = wire_node_add(wire, &PLAIN);
	struct tapi_peer_info info;
	bool has;

	(void)state;
	meet(wire, a, b);
	for (unsigned i = 0; i < 40; i++)
		add(wire, a, &b->identity, i % 2 ? WIRE_UDP : WIRE_TCP, 0x0a000900 + i,
			100 * S + i);
	assert_int_equal(kept(a, &b->identity.id, WIRE_UDP, b->ip, &has), 4);
	assert_true(has);
	assert_int_equal(kept(a, &b->identity.id, WIRE_TCP, b->ip, &has), 4);
	assert_true(has);
	tapi_core_peer(a->core, &b->identity.id, &info);
	assert_int_equal(info.validated, 2);
	wire_free(wire);
}

static void test_known_soon(void **state)
{
	char folder[] = "/tmp/tapi_kept_XXXXXX", path[64], core[256];
	struct wire *wire = wire_new(302);
	struct wire_node_options options = {.core = core};
	struct wire_node *a, *others[9];

	(void)state;
	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/peers", folder);
	snprintf(core, sizeof(core), QUICK ", \"store_s\": 86400, \"known_peers\": \"%s\"", path);
	a = wire_node_add(wire, &options);
	for (unsigned i = 0; i < 9; i++)
		others[i] = wire_node_add(wire, &PLAIN);
	meet(wire, a, others[0]);
	assert_int_equal(wire_counter(a, "stored"), 0);
	wire_run(wire, 10 * S);
	assert_int_equal(wire_counter(a, "stored"), 1);
	assert_int_equal(access(path, F_OK), 0); // who is killed now knows it the next time
	wire_run(wire, 3600 * (uint64_t)S);
	assert_int_equal(wire_counter(a, "stored"), 1); // nothing new
	// One each second, for 8 s: not each time.
	for (unsigned i = 1; i < 9; i++)
		meet(wire, a, others[i]);
	wire_run(wire, 20 * S);
	assert_int_equal(wire_counter(a, "stored"), 2);
	wire_free(wire);
	unlink(path);
	rmdir(folder);
}

// A policy's word on a peer is not undone by a flood of names.
static void test_quota_outlives_eviction(void **state)
{
	struct wire *wire = wire_new(303);
	struct wire_node_options few = {.core = QUICK ", \"max_peers\": 4"};
	struct wire_node *a = wire_node_add(wire, &few), *b = wire_node_add(wire, &PLAIN);
	const struct tapi_peer_id *id = &b->identity.id;
	uint8_t chat[4] = {0, 4, 0, 64};
	uint32_t crc = (uint32_t)crc32(0, chat, sizeof(chat));
	struct tapi_peer_info info;

	(void)state;
	wire_forge(wire, WIRE_UDP, 0x0a630009, a, id, chat, sizeof(chat), false, &crc);
	wire_run(wire, 10 * MS);
	assert_int_equal(tapi_core_quota(a->core, id, 7000, 8000), TAPI_OK);
	for (uint32_t i = 0; i < 20; i++) {
		struct tapi_peer_id other = {{1}};

		memcpy(&other.octets[4], &i, sizeof(i));
		wire_forge(
			wire, WIRE_UDP, 0x0a640000 + i, a, &other, chat, sizeof(chat), false, &crc);
		wire_run(wire, 1 * MS);
	}
	assert_int_equal(tapi_core_peer(a->core, id, &info), TAPI_ENOADDR);
	assert_int_equal(tapi_core_quota(a->core, id, 7000, 9000), TAPI_OK); // it can be changed
	meet(wire, a, b);
	assert_int_equal(tapi_core_peer(a->core, id, &info), TAPI_OK);
	assert_int_equal(info.in_rate, 7000);
	assert_int_equal(info.out_rate, 9000);
	assert_int_equal(tapi_core_quota(a->core, id, TAPI_QUOTA_CONFIGURED, TAPI_QUOTA_CONFIGURED),
		TAPI_OK);
	tapi_core_peer(a->core, id, &info);
	assert_int_equal(info.in_rate, 0);
	tapi_core_forget(a->core, id);
	assert_int_equal(tapi_core_quota(a->core, id, 1, 1), TAPI_ENOADDR);
	wire_free(wire);
}

static void forget_again(
	void *context, enum tapi_peer_event what, const struct tapi_peer_info *info)
{
	struct wire_node *node = context;

	if (what != TAPI_PEER_LOST)
		return;
	node->inbox.lost++;
	snprintf(node->inbox.event.reason, sizeof(node->inbox.event.reason), "%s", info->reason);
	tapi_core_forget(node->core, &info->id); // at the worst moment
}

// Whatever ends it, who watches is reported, once, and why.
static void test_lost_at_every_end(void **state)
{
	struct wire *wire = wire_new(304);
	struct wire_node *a = wire_node_add(wire, &PLAIN), *others[4];

	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		others[i] = wire_node_add(wire, &PLAIN);
		meet(wire, a, others[i]);
	}
	tapi_core_forget(a->core, &others[0]->identity.id);
	assert_int_equal(a->inbox.lost, 1);
	assert_string_equal(a->inbox.event.reason, "the program has forgotten it");
	tapi_core_forget(a->core, &others[0]->identity.id);
	assert_int_equal(a->inbox.lost, 1);
	tapi_core_watch(a->core, forget_again, a);
	tapi_core_deny_peer(a->core, &others[1]->identity.id, 0);
	assert_int_equal(a->inbox.lost, 2);
	assert_string_equal(a->inbox.event.reason, "the program denies it");
	tapi_core_stop(a->core);
	assert_int_equal(a->inbox.lost, 4);
	assert_string_equal(a->inbox.event.reason, "the core stops");
	assert_int_equal(a->core->n_peers, 0);
	wire_node_restart(a);
	wire_free(wire);
}

static unsigned ids_of(const char *text, char (*out)[TAPI_PEER_TEXT_BYTES], unsigned room)
{
	json_t *root = json_loads(text, 0, NULL), *peers = json_object_get(root, "peers"), *peer;
	unsigned n = 0;
	size_t i;

	json_array_foreach (peers, i, peer) {
		assert_true(n < room);
		snprintf(out[n++], sizeof(out[0]), "%s",
			json_string_value(json_object_get(peer, "peer")));
	}
	json_decref(root);
	return n;
}

// Page by page it is what the whole is; who stays is there once, whoever comes and goes meanwhile.
static void test_pages(void **state)
{
	enum { PEERS = 1000, ROOM = 1400 };
	static char whole[ROOM][TAPI_PEER_TEXT_BYTES], paged[ROOM][TAPI_PEER_TEXT_BYTES];
	struct wire_node_options many = {.core = QUICK ", \"max_peers\": 2000"};
	struct wire *wire = wire_new(305);
	struct wire_node *a = wire_node_add(wire, &many);
	struct tapi_stats_cursor cursor = {.after = 0};
	unsigned n = 0, pages = 0, kept_n = 0;
	char *text;

	(void)state;
	for (unsigned i = 0; i < PEERS; i++) {
		struct tapi_peer_id id = {{9, (uint8_t)i, (uint8_t)(i >> 8)}};

		assert_non_null(tapi_peer_get(a->core, &id));
	}
	text = tapi_core_stats_json(a->core, true);
	assert_int_equal(ids_of(text, whole, ROOM), PEERS);
	free(text);
	for (; !cursor.done; pages++) {
		text = tapi_core_stats_peers_json(a->core, &cursor, 64);
		n += ids_of(text, &paged[n], 64);
		free(text);
	}
	assert_int_equal(pages, 16);
	assert_int_equal(n, PEERS);
	assert_memory_equal(whole, paged, PEERS * sizeof(whole[0]));
	// No more than 256, whoever asks.
	cursor = (struct tapi_stats_cursor){.after = 0};
	text = tapi_core_stats_peers_json(a->core, &cursor, 100000);
	assert_int_equal(ids_of(text, paged, ROOM), 256);
	free(text);
	// After each page the last one of it goes, and another comes.
	cursor = (struct tapi_stats_cursor){.after = 0};
	for (n = 0, pages = 0; !cursor.done; pages++) {
		struct tapi_peer_id id = {{8, (uint8_t)pages}};

		text = tapi_core_stats_peers_json(a->core, &cursor, 100);
		n += ids_of(text, &paged[n], 100);
		free(text);
		tapi_core_forget(a->core, &cursor.last);
		if (pages < 3)
			assert_non_null(tapi_peer_get(a->core, &id));
	}
	for (unsigned i = 0; i < PEERS; i++)
		for (unsigned j = 0; j < n; j++)
			kept_n += strcmp(whole[i], paged[j]) == 0;
	assert_int_equal(kept_n, PEERS);
	assert_int_equal(n, PEERS + 3);
	wire_free(wire);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_addresses_of_each_kind),
		cmocka_unit_test(test_validated_stay),
		cmocka_unit_test(test_known_soon),
		cmocka_unit_test(test_quota_outlives_eviction),
		cmocka_unit_test(test_lost_at_every_end),
		cmocka_unit_test(test_pages),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
