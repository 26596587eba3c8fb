// SPDX-License-Identifier: BSD-3-Clause
// What has to hold over days: known peers over several restarts and a full disk, quotas over a
// reload, our HELOs however often they are asked for, and counters that add up.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>
#include <zlib.h>

#include "lib/tapi/tapi_wire.h"

#include "transportapi/core/peer.h"
#include "transportapi/core/state.h"
#include "transportapi/core/timer.h"

#define S     1000000u
#define MS    1000u
#define QUICK "\"ping_address_s\": 1, \"ping_prefix_per_min\": 1000, \"ping_per_s\": 1000"

static const struct wire_node_options PLAIN = {.core = QUICK};

static void meet(struct wire *wire, struct wire_node *a, struct wire_node *b)
{
	wire_introduce(a, b, WIRE_ANY);
	assert_int_equal(wire_send(a, b, 64, "x", 1), TAPI_OK);
	wire_run(wire, 1 * S);
}

// Who was known and not needed in one life of the program is known in the next.
static void test_known_for_long(void **state)
{
	char folder[] = "/tmp/tapi_core_XXXXXX", path[64], core[256];
	struct wire *wire = wire_new(90);
	struct wire_node_options options = {.core = core};
	struct wire_node *a, *b = wire_node_add(wire, &PLAIN), *c = wire_node_add(wire, &PLAIN);
	struct tapi_peer_info info;

	(void)state;
	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/peers", folder);
	snprintf(core, sizeof(core), QUICK ", \"known_peers\": \"%s\"", path);
	a = wire_node_add(wire, &options);
	meet(wire, a, b);
	tapi_core_stop(a->core);
	a = wire_node_add(wire, &options);
	meet(wire, a, c);
	tapi_core_stop(a->core);
	a = wire_node_add(wire, &options);
	assert_int_equal(tapi_core_peer(a->core, &c->identity.id, &info), TAPI_OK);
	assert_int_equal(tapi_core_peer(a->core, &b->identity.id, &info), TAPI_OK);
	assert_int_equal(info.addresses, 2);
	assert_int_equal(info.validated, 0);
	wire_free(wire);
	unlink(path);
	rmdir(folder);
}

// The folder is not there yet, or the disk is full: it is written when that is over.
static void test_stored_later(void **state)
{
	char folder[] = "/tmp/tapi_core_XXXXXX", path[64], core[256];
	struct wire *wire = wire_new(91);
	struct wire_node_options options = {.core = core};
	struct wire_node *a, *b = wire_node_add(wire, &PLAIN);

	(void)state;
	assert_non_null(mkdtemp(folder));
	rmdir(folder);
	snprintf(path, sizeof(path), "%s/peers", folder);
	snprintf(core, sizeof(core), QUICK ", \"store_s\": 60, \"known_peers\": \"%s\"", path);
	a = wire_node_add(wire, &options);
	meet(wire, a, b);
	wire_run(wire, 100 * S);
	assert_int_equal(wire_counter(a, "stored"), 0);
	assert_int_equal(mkdir(folder, 0700), 0);
	wire_run(wire, 60 * S);
	assert_int_equal(wire_counter(a, "stored"), 1);
	assert_int_equal(access(path, F_OK), 0);
	wire_free(wire);
	unlink(path);
	rmdir(folder);
}

// in_rate and out_rate are live: they hold for those who are here, but for whom the policy gave one
// of its own.
static void test_rates_reloaded(void **state)
{
	struct wire *wire = wire_new(92);
	struct wire_node_options rates = {
		.core = QUICK ", \"in_rate\": 100000, \"out_rate\": 200000"};
	struct wire_node *a = wire_node_add(wire, &PLAIN), *b = wire_node_add(wire, &PLAIN),
			 *c = wire_node_add(wire, &PLAIN);
	struct tapi_peer_info info;
	struct tapi_error error;

	(void)state;
	meet(wire, a, b);
	meet(wire, a, c);
	assert_int_equal(tapi_core_quota(a->core, &c->identity.id, 7000, 8000), TAPI_OK);
	assert_int_equal(wire_node_reload(a, &rates, &error), TAPI_OK);
	tapi_core_peer(a->core, &b->identity.id, &info);
	assert_int_equal(info.in_rate, 100000);
	assert_int_equal(info.out_rate, 200000);
	tapi_core_peer(a->core, &c->identity.id, &info);
	assert_int_equal(info.in_rate, 7000);
	assert_int_equal(info.out_rate, 8000);
	assert_int_equal(wire_node_reload(a, &PLAIN, &error), TAPI_OK);
	tapi_core_peer(a->core, &b->identity.id, &info);
	assert_int_equal(info.in_rate, 0);
	wire_free(wire);
}

static bool look(void *context, const uint8_t *octets, size_t length)
{
	(void)octets;
	*(size_t *)context += length;
	return true;
}

// A page that shows our HELOs each minute must not keep peers from hearing of the new ones.
static void test_helos_looked_at(void **state)
{
	struct wire *wire = wire_new(93);
	struct wire_node_options options = {.core = QUICK ", \"helo_lifetime_s\": 600"};
	struct wire_node *a = wire_node_add(wire, &options), *b = wire_node_add(wire, &PLAIN);
	struct tapi_peer_info info;
	size_t seen = 0;

	(void)state;
	meet(wire, a, b);
	for (int i = 0; i < 60; i++) {
		tapi_core_own_helos(a->core, look, &seen);
		wire_run(wire, 60 * (uint64_t)S);
		assert_int_equal(tapi_core_peer(b->core, &a->identity.id, &info), TAPI_OK);
		assert_int_equal(info.addresses, 2);
	}
	assert_true(seen != 0);
	wire_free(wire);
}

// Not cut, and the path in use was closed meanwhile: the mtu that counts is that of the way it
// would go, and what does not fit there goes by the other.
static void test_whole_after_a_pause(void **state)
{
	struct wire *wire = wire_new(94);
	struct wire_node_options options = {
		.core = QUICK ", \"fragment\": false, \"idle_close_s\": 5, \"linger_s\": 5"};
	struct wire_node *a = wire_node_add(wire, &options), *b = wire_node_add(wire, &options);
	static const uint8_t body[8000];
	enum tapi_result result = TAPI_DROPPED;

	(void)state;
	meet(wire, a, b);
	wire_run(wire, 100 * S);
	assert_int_equal(wire_sessions(a, WIRE_UDP) + wire_sessions(a, WIRE_TCP), 0);
	// The stream connects first: the application is reported, and tries again.
	for (int i = 0; i < 10 && result == TAPI_DROPPED; i++) {
		result = wire_send(a, b, 64, body, sizeof(body));
		wire_run(wire, 100 * MS);
	}
	assert_int_equal(result, TAPI_OK);
	wire_run(wire, 1 * S);
	assert_int_equal(b->inbox.last_length, sizeof(body));
	assert_int_equal(wire_counter(a, "dropped_too_big"), 0);
	wire_free(wire);
}

// The same for what waited while there was no way yet: it does not fit the way that is found first.
static void test_whole_at_first(void **state)
{
	struct wire *wire = wire_new(100);
	struct wire_node_options options = {.core = QUICK ", \"fragment\": false"};
	struct wire_node_options udp = {
		.transports = "\"vudp\"", .core = QUICK ", \"fragment\": false"};
	struct wire_node *a = wire_node_add(wire, &options), *b = wire_node_add(wire, &options),
			 *c = wire_node_add(wire, &udp);
	static const uint8_t body[8000];

	(void)state;
	wire_introduce(a, b, WIRE_ANY);
	assert_int_equal(wire_send(a, b, 65, body, sizeof(body)), TAPI_OK);
	assert_int_equal(wire_send(a, b, 64, "x", 1), TAPI_OK);
	wire_run(wire, 1 * S);
	assert_int_equal(b->inbox.messages, 2);
	assert_int_equal(b->inbox.bytes, sizeof(body) + 1);
	assert_int_equal(wire_counter(a, "sent_by_size"), 1);
	assert_int_equal(wire_counter(a, "sent_msgs"), 2);
	assert_int_equal(wire_counter(a, "dropped_too_big"), 0);
	// No way ever takes it: it is in nobody's way for long.
	wire_introduce(a, c, WIRE_ANY);
	assert_int_equal(wire_send(a, c, 65, body, sizeof(body)), TAPI_OK);
	assert_int_equal(wire_send(a, c, 64, "x", 1), TAPI_OK);
	wire_run(wire, 2 * S);
	assert_int_equal(c->inbox.messages, 1);
	assert_int_equal(wire_counter(a, "dropped_too_big"), 1);
	wire_free(wire);
}

static void deny_it(void *context, const struct tapi_incoming *incoming)
{
	struct wire_node *node = context;

	node->test = (void *)((uintptr_t)node->test + 1); // a count
	assert_int_equal(tapi_core_deny_peer(node->core, incoming->sender, 0), TAPI_OK);
}

// Who is denied is not heard any more, not even the rest of what it just said.
static void test_denied_in_the_middle(void **state)
{
	struct wire *wire = wire_new(95);
	struct wire_node *a = wire_node_add(wire, &PLAIN), *b = wire_node_add(wire, &PLAIN);
	uint8_t three[12] = {0, 4, 0, 70, 0, 4, 0, 70, 0, 4, 0, 70};
	uint32_t crc = (uint32_t)crc32(0, three, sizeof(three));

	(void)state;
	meet(wire, a, b);
	tapi_core_receive(b->core, 70, deny_it, b);
	wire_forge(wire, WIRE_UDP, a->ip, b, &a->identity.id, three, sizeof(three), false, &crc);
	wire_run(wire, 1 * S);
	assert_ptr_equal(b->test, (void *)1);
	assert_int_equal(wire_counter(b, "received_denied"), 1);
	wire_free(wire);
}

// sent_msgs is of the application alone: what was accepted was sent, once.
static void test_sent_adds_up(void **state)
{
	struct wire *wire = wire_new(96);
	struct wire_node *a = wire_node_add(wire, &PLAIN), *b = wire_node_add(wire, &PLAIN);
	static const uint8_t body[40000];
	struct tapi_peer_info info;

	(void)state;
	meet(wire, a, b);
	for (int i = 0; i < 300; i++) {
		wire_send(a, b, 64, body, i % 10 == 0 ? sizeof(body) : 10);
		wire_run(wire, 1 * S);
	}
	assert_int_equal(wire_counter(a, "send_accepted"), 301);
	assert_int_equal(wire_counter(a, "sent_msgs"), 301);
	tapi_core_peer(a->core, &b->identity.id, &info);
	assert_int_equal(info.sent_msgs, 301);
	assert_int_equal(b->inbox.messages, 301);
	wire_free(wire);
}

// Who is denied by a reload is lost, and the application hears of it as of any other.
static void test_denied_by_reload(void **state)
{
	struct wire *wire = wire_new(97);
	struct wire_node *a = wire_node_add(wire, &PLAIN), *b = wire_node_add(wire, &PLAIN),
			 *c = wire_node_add(wire, &PLAIN);
	char id[TAPI_PEER_TEXT_BYTES], sections[256];
	struct wire_node_options denied = {.core = QUICK, .sections = sections};
	struct tapi_error error;

	(void)state;
	meet(wire, a, b);
	meet(wire, a, c);
	tapi_peer_id_text(&b->identity.id, id);
	snprintf(sections, sizeof(sections), "\"acl\": {\"deny_peers\": [\"%s\"]}", id);
	assert_int_equal(wire_node_reload(a, &denied, &error), TAPI_OK);
	wire_run(wire, 1 * S);
	assert_int_equal(wire_counter(a, "peers_lost"), 1);
	assert_int_equal(a->inbox.lost, 1);
	assert_memory_equal(&a->inbox.event.id, &b->identity.id, sizeof(b->identity.id));
	wire_free(wire);
}

// max_peers and helos_per_peer are live: what is beyond them goes, whoever can be reached stays.
static void test_fewer_after_reload(void **state)
{
	struct wire *wire = wire_new(98);
	struct wire_node_options fewer = {
		.core = QUICK ", \"max_peers\": 5, \"helos_per_peer\": 1"};
	struct wire_node *a = wire_node_add(wire, &PLAIN), *b = wire_node_add(wire, &PLAIN),
			 *c = wire_node_add(wire, &PLAIN);
	uint8_t chat[4] = {0, 4, 0, 64};
	uint32_t crc = (uint32_t)crc32(0, chat, sizeof(chat));
	struct tapi_peer_info info;
	struct tapi_error error;

	(void)state;
	meet(wire, a, b);
	wire_introduce(a, c, WIRE_ANY);
	for (uint32_t i = 0; i < 40; i++) {
		struct tapi_peer_id id = {{1}};

		memcpy(&id.octets[4], &i, sizeof(i));
		wire_forge(wire, WIRE_UDP, 0x0a640000 + i, a, &id, chat, sizeof(chat), false, &crc);
		wire_run(wire, 1 * MS);
	}
	assert_int_equal(a->core->n_peers, 42);
	assert_int_equal(wire_node_reload(a, &fewer, &error), TAPI_OK);
	wire_run(wire, 1 * S);
	assert_int_equal(a->core->n_peers, 5);
	assert_int_equal(tapi_core_peer(a->core, &b->identity.id, &info), TAPI_OK);
	assert_string_equal(info.transport, "vudp");
	assert_int_equal(tapi_core_peer(a->core, &c->identity.id, &info), TAPI_OK);
	assert_int_equal(info.addresses, 1);
	wire_free(wire);
}

// A clock that goes on while the core works, as real ones do.
static uint64_t (*still)(void *context);
static uint64_t ticks;

static uint64_t ticking(void *context)
{
	return still(context) + ++ticks;
}

struct errand {
	struct wire_node *at;
	const struct tapi_peer_id *to;
};

static void run_errand(void *context, const struct tapi_incoming *incoming)
{
	const struct errand *errand = context;

	(void)incoming;
	tapi_core_send(errand->at->core, errand->to, &(struct tapi_outgoing){.type = 64});
}

// A peer has its turn for another reason, and in the same turn of the core, before that, a receiver
// wants to send to it. By the core's clock this is later than the turn began; it counts.
static void test_wanted_in_a_turn(void **state)
{
	struct wire *wire = wire_new(99);
	struct wire_node *a = wire_node_add(wire, &PLAIN), *b = wire_node_add(wire, &PLAIN),
			 *c = wire_node_add(wire, &PLAIN);
	struct errand errand = {a, &b->identity.id};
	uint8_t chat[4] = {0, 4, 0, 71};
	uint32_t crc = (uint32_t)crc32(0, chat, sizeof(chat));

	(void)state;
	tapi_core_receive(a->core, 71, run_errand, &errand);
	wire_introduce(a, b, WIRE_ANY);
	wire_run(wire, 1 * S);
	still = a->core->options.now_us;
	a->core->options.now_us = ticking;
	wire_forge(wire, WIRE_UDP, c->ip, a, &c->identity.id, chat, sizeof(chat), false, &crc);
	// B's turn is due when the message is taken, as for a HELO that came.
	for (int i = 0; i < 2000 && wire_counter(a, "received_msgs") == 0; i++) {
		tapi_timer_at(
			a->core, &tapi_peer_find(a->core, &b->identity.id)->timer, wire_now(wire));
		wire_run(wire, 1 * MS);
	}
	assert_int_equal(wire_counter(a, "received_msgs"), 1);
	wire_run(wire, 5 * S);
	assert_int_equal(b->inbox.messages, 1);
	a->core->options.now_us = still;
	wire_free(wire);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_known_for_long),
		cmocka_unit_test(test_stored_later),
		cmocka_unit_test(test_rates_reloaded),
		cmocka_unit_test(test_helos_looked_at),
		cmocka_unit_test(test_whole_after_a_pause),
		cmocka_unit_test(test_whole_at_first),
		cmocka_unit_test(test_denied_in_the_middle),
		cmocka_unit_test(test_sent_adds_up),
		cmocka_unit_test(test_denied_by_reload),
		cmocka_unit_test(test_fewer_after_reload),
		cmocka_unit_test(test_wanted_in_a_turn),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
