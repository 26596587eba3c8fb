// SPDX-License-Identifier: BSD-3-Clause
// What lasts and what ends: stop and start, known peers, reload (TA17), denials, references (TA13),
// gossip, votes on our address (TA28), HELOs reported again, and applications that do things at the
// worst moment.
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

#include "lib/tapi/tapi_wire.h"

#include "transportapi/base/wire.h"

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

static void test_stop_start(void **state)
{
	struct wire *wire = wire_new(40);
	struct wire_node *a = wire_node_add(wire, &PLAIN), *b = wire_node_add(wire, &PLAIN);
	struct tapi_outgoing outgoing = {.type = 64, .body = "x", .length = 1};
	struct tapi_peer_info info;

	(void)state;
	meet(wire, a, b);
	for (int i = 0; i < 3; i++) {
		uint64_t got = b->inbox.messages;

		tapi_core_stop(a->core);
		assert_int_equal(wire_sessions(a, WIRE_UDP), 0);
		assert_int_equal(wire_sessions(a, WIRE_TCP), 0);
		// by us, before the transports stop: none of them ended under us
		assert_int_equal(wire_counter(a, "connects") + wire_counter(a, "associates"),
			wire_counter(a, "disconnects"));
		assert_int_equal(tapi_core_send(a->core, &b->identity.id, &outgoing), TAPI_EDOWN);
		wire_run(wire, 5 * S);
		wire_node_restart(a);
		tapi_core_peer(a->core, &b->identity.id, &info);
		assert_int_equal(info.validated, 0); // it begins anew
		assert_int_equal(info.addresses, 2);
		assert_int_equal(wire_send(a, b, 64, "x", 1), TAPI_OK);
		wire_run(wire, 2 * S);
		assert_int_equal(b->inbox.messages, got + 1);
	}
	wire_free(wire);
}

// TA26's neighbour: who we know outlives us; the friends need not be asked again.
static void test_known_peers(void **state)
{
	char folder[] = "/tmp/tapi_core_XXXXXX", path[64], core[256];
	struct wire *wire = wire_new(41);
	struct wire_node_options options = {.core = core};
	struct wire_node *a, *b = wire_node_add(wire, &PLAIN), *c = wire_node_add(wire, &PLAIN), *d;
	struct tapi_peer_info info;

	(void)state;
	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/peers", folder);
	snprintf(core, sizeof(core),
		QUICK ", \"store_s\": 60, \"store_soon_s\": 60, \"known_peers\": \"%s\"", path);
	a = wire_node_add(wire, &options);
	meet(wire, a, b);
	wire_introduce(a, c, WIRE_ANY); // never asked
	wire_run(wire, 30 * S);
	assert_int_not_equal(access(path, F_OK), 0);
	wire_run(wire, 31 * S);
	assert_int_equal(access(path, F_OK), 0); // while it runs
	assert_int_equal(wire_counter(a, "stored"), 1);
	wire_run(wire, 600 * (uint64_t)S);
	assert_int_equal(wire_counter(a, "stored"), 1); // nothing changed
	tapi_core_stop(a->core);
	d = wire_node_add(wire, &options); // another process with this file
	assert_int_equal(tapi_core_peer(d->core, &b->identity.id, &info), TAPI_OK);
	assert_int_equal(info.addresses, 2);
	assert_int_equal(info.validated, 0);
	assert_int_equal(tapi_core_peer(d->core, &c->identity.id, &info), TAPI_ENOADDR);
	assert_int_equal(wire_send(d, b, 64, "known", 5), TAPI_OK);
	wire_run(wire, 2 * S);
	assert_memory_equal(b->inbox.last, "known", 5);
	// The last word is written at the end, whatever store_s says.
	unlink(path);
	snprintf(core, sizeof(core), QUICK ", \"store_s\": 86400, \"known_peers\": \"%s\"", path);
	d = wire_node_add(wire, &options);
	meet(wire, d, b);
	assert_int_not_equal(access(path, F_OK), 0);
	tapi_core_stop(d->core);
	assert_int_equal(access(path, F_OK), 0);
	wire_free(wire);
	unlink(path);
	rmdir(folder);
}

// Who was not needed for hours is lost when the PONG's time is over; nothing else is due then.
static void test_silence_ends_validity(void **state)
{
	struct wire *wire = wire_new(46);
	struct wire_node_options hours = {.core = QUICK ", \"pong_valid_s\": 10800"};
	struct wire_node *a = wire_node_add(wire, &PLAIN), *b = wire_node_add(wire, &hours);
	struct tapi_peer_info info;

	(void)state;
	meet(wire, a, b);
	wire_run(wire, 10797 * (uint64_t)S);
	tapi_core_peer(a->core, &b->identity.id, &info);
	assert_int_equal(info.validated, 2);
	assert_int_equal(a->inbox.lost, 0);
	wire_run(wire, 3 * S);
	assert_int_equal(a->inbox.lost, 1);
	wire_free(wire);
}

// TA17.
static void test_reload(void **state)
{
	struct wire *wire = wire_new(42);
	struct wire_node *a = wire_node_add(wire, &PLAIN), *b = wire_node_add(wire, &PLAIN),
			 *c = wire_node_add(wire, &PLAIN);
	struct wire_node_options denied = {
		.core = QUICK, .sections = "\"acl\": {\"deny\": [\"10.0.0.3/32\"]}"};
	struct wire_node_options wrong = {.core = QUICK ", \"queue_msgs\": 1",
		.sections = "\"acl\": {\"deny\": [\"10.0.0.3/32\"]}, \"vtcp\": {\"stale_s\": 0}"};
	struct wire_node_options short_queue = {.core = QUICK ", \"queue_msgs\": 2"};
	struct wire_node_options others = {.transports = "\"vudp\"", .core = QUICK};
	struct wire_node_options unknown = {.core = QUICK ", \"no_such_key\": 1"};
	struct tapi_error error;
	struct tapi_peer_info info;
	uint64_t batches;

	(void)state;
	meet(wire, a, b);
	meet(wire, a, c);
	tapi_core_peer(a->core, &b->identity.id, &info);
	assert_int_equal(info.sessions, 2);
	// Refused as a whole: of a transport, of the core, of the document.
	assert_int_equal(wire_node_reload(a, &wrong, &error), TAPI_ECONF);
	assert_non_null(strstr(error.text, "vtcp"));
	assert_int_equal(wire_node_reload(a, &others, &error), TAPI_ECONF);
	assert_int_equal(wire_node_reload(a, &unknown, &error), TAPI_ECONF);
	wire_run(wire, 10 * MS);
	tapi_core_peer(a->core, &c->identity.id, &info);
	assert_int_equal(info.sessions, 2); // nor has who would be denied lost one
	for (int i = 0; i < 2; i++)         // queue_msgs is what it was
		assert_int_equal(wire_send(a, b, 64, "x", 1), TAPI_OK);
	wire_run(wire, 10 * MS);
	// The second transport does not take who is denied: nobody is.
	a->refuses = 4;
	assert_int_equal(wire_node_reload(a, &denied, &error), TAPI_ECONF);
	assert_non_null(strstr(error.text, "vtcp"));
	assert_int_equal(wire_sessions(a, WIRE_TCP), 2); // of c, too, as before
	batches = b->inbox.messages;

	assert_int_equal(wire_node_reload(a, &denied, &error), TAPI_OK);
	wire_run(wire, 10 * MS);
	tapi_core_peer(a->core, &b->identity.id, &info);
	assert_int_equal(info.sessions, 2); // not touched
	tapi_core_peer(a->core, &c->identity.id, &info);
	assert_int_equal(info.sessions, 0);
	assert_int_equal(info.addresses, 0);
	assert_string_equal(
		info.reason, "no validated path is left: section acl denies its addresses now");
	assert_int_equal(wire_send(a, c, 64, "x", 1), TAPI_ENOADDR);
	assert_int_equal(wire_send(a, b, 64, "x", 1), TAPI_OK);
	wire_run(wire, 10 * MS);
	assert_int_equal(b->inbox.messages, batches + 1);
	// c's addresses are refused now, and its messages are not heard.
	wire_introduce(a, c, WIRE_ANY);
	assert_int_equal(wire_counter(a, "helo_denied"), 2);
	wire_introduce(c, a, WIRE_ANY);
	batches = a->inbox.messages;
	wire_send(c, a, 64, "x", 1);
	wire_run(wire, 5 * S);
	assert_int_equal(a->inbox.messages, batches);
	// Limits of peers that are known change with it.
	assert_int_equal(wire_node_reload(a, &short_queue, &error), TAPI_OK);
	wire_no_room(a, WIRE_UDP, true);
	assert_int_equal(wire_send(a, b, 64, "x", 1), TAPI_OK);
	assert_int_equal(wire_send(a, b, 64, "x", 1), TAPI_OK);
	assert_int_equal(wire_send(a, b, 64, "x", 1), TAPI_DROPPED);
	wire_no_room(a, WIRE_UDP, false);
	wire_run(wire, 1 * S);
	// Allowed again.
	assert_int_equal(wire_node_reload(a, &PLAIN, &error), TAPI_OK);
	meet(wire, a, c);
	tapi_core_peer(a->core, &c->identity.id, &info);
	assert_int_equal(info.validated, 2);
	wire_free(wire);
}

static void test_deny_peer(void **state)
{
	struct wire *wire = wire_new(43);
	struct wire_node *a = wire_node_add(wire, &PLAIN), *b = wire_node_add(wire, &PLAIN);
	uint64_t epoch = UINT64_C(1800000000000000), got;
	struct tapi_peer_info info;

	(void)state;
	meet(wire, a, b);
	wire_send(b, a, 64, "x", 1);
	wire_run(wire, 1 * S);
	assert_int_equal(a->inbox.messages, 1);
	assert_int_equal(tapi_core_deny_peer(a->core, &b->identity.id,
				 epoch + wire_now(wire) + 60 * (uint64_t)S),
		TAPI_OK);
	wire_poke(a);
	assert_int_equal(tapi_core_peer(a->core, &b->identity.id, &info), TAPI_ENOADDR);
	assert_int_equal(wire_send(a, b, 64, "x", 1), TAPI_EACL);
	got = a->inbox.messages;
	for (int i = 0; i < 50; i++) {
		wire_send(b, a, 64, "x", 1);
		wire_run(wire, 1 * S);
	}
	assert_int_equal(a->inbox.messages, got);
	assert_true(wire_counter(a, "received_denied") > 0);
	wire_introduce(a, b, WIRE_ANY);
	assert_true(wire_counter(a, "helo_denied") > 0);
	wire_run(wire, 15 * S); // its time is over
	meet(wire, a, b);
	assert_int_equal(tapi_core_peer(a->core, &b->identity.id, &info), TAPI_OK);
	assert_int_equal(info.validated, 2);
	wire_free(wire);
}

// Who of thousands fell silent, and where: the log says so.
static void test_lost_is_told(void **state)
{
	struct wire *wire = wire_new(53);
	struct wire_node *a = wire_node_add(wire, &PLAIN), *b = wire_node_add(wire, &PLAIN);
	char who[TAPI_PEER_TEXT_BYTES], line[160];

	(void)state;
	wire_introduce(a, b, WIRE_UDP);
	assert_int_equal(wire_send(a, b, 64, "x", 1), TAPI_OK);
	wire_run(wire, 1 * S);
	a->hark = "given up";
	wire_block(wire, WIRE_UDP, b->ip, 0, true);
	for (int i = 0; i < 10; i++) {
		wire_send(a, b, 64, "x", 1);
		wire_run(wire, 1 * S);
	}
	tapi_peer_id_text(&b->identity.id, who);
	snprintf(line, sizeof(line), "core: peer %.16s: vudp: vudp:", who);
	if (strncmp(a->heard, line, strlen(line)) != 0 ||
		strstr(a->heard, " does not answer any more: given up") == NULL)
		fail_msg("%s", a->heard);
	wire_free(wire);
}

// TA13: what came in and is not answered is not closed at once, but when it is stale; what is
// answered lives on, until both are silent.
static void test_references(void **state)
{
	struct wire *wire = wire_new(44);
	struct wire_node_options natted = {.core = QUICK, .nated = {true, true, true}};
	struct wire_node_options shortly = {.core = QUICK ", \"linger_s\": 5"};
	struct wire_node_options tcp = {.transports = "\"vtcp\"", .core = QUICK};
	struct wire_node *a = wire_node_add(wire, &tcp), *b = wire_node_add(wire, &tcp), *c, *d, *n;

	(void)state;
	meet(wire, a, b);
	assert_int_equal(wire_sessions(b, WIRE_TCP), 1);
	assert_int_equal(wire_counter(b, "associates"), 1); // b tells its HELOs on it
	wire_run(wire, 30 * S);
	assert_int_equal(wire_sessions(b, WIRE_TCP), 1);
	wire_run(wire, 600 * (uint64_t)S);
	assert_int_equal(wire_sessions(a, WIRE_TCP), 0);
	assert_int_equal(wire_sessions(b, WIRE_TCP), 0);
	// Validated, and not the one in use: given back after linger_s.
	c = wire_node_add(wire, &shortly);
	d = wire_node_add(wire, &PLAIN);
	meet(wire, c, d);
	assert_int_equal(wire_sessions(c, WIRE_TCP), 1);
	for (int i = 0; i < 7; i++) {
		wire_send(c, d, 64, "x", 1);
		wire_run(wire, 1 * S);
	}
	assert_int_equal(wire_sessions(c, WIRE_TCP), 0);
	assert_int_equal(wire_sessions(c, WIRE_UDP), 1);
	// Nobody can call n: its sessions are kept up while it runs, the one to fall back to, too.
	n = wire_node_add(wire, &natted);
	meet(wire, n, d);
	wire_run(wire, 3600 * (uint64_t)S);
	assert_int_equal(wire_sessions(n, WIRE_TCP), 1);
	assert_int_equal(wire_sessions(n, WIRE_UDP), 1);
	assert_int_equal(wire_send(d, n, 64, "still there", 11), TAPI_OK);
	wire_run(wire, 1 * S);
	assert_int_equal(n->inbox.messages, 1);
	wire_free(wire);
}

// TA28: an address that a NAT keeps for us lets in whom we went to lately. What was said to nobody
// else would close it: each path is asked often enough, and none given back.
static void test_kept_open(void **state)
{
	struct wire *wire = wire_new(49);
	struct wire_node_options cone = {
		.transports = "\"vudp\"", .core = QUICK, .cone = {true, true, true}};
	struct wire_node *n = wire_node_add(wire, &cone), *d = wire_node_add(wire, &PLAIN);
	struct tapi_peer_info info;

	(void)state;
	meet(wire, n, d);
	assert_int_equal(tapi_core_peer(d->core, &n->identity.id, &info), TAPI_OK);
	assert_int_equal(info.addresses, 1); // it is advertised all the same
	assert_string_equal(info.transport, "vudp");
	for (int i = 0; i < 6; i++) {
		uint64_t pings = wire_counter(n, "ping_sent");

		wire_run(wire, 600 * (uint64_t)S);
		assert_in_range(wire_counter(n, "ping_sent") - pings, 600 / 20 - 6, 600 / 15);
		assert_int_equal(wire_sessions(n, WIRE_UDP), 1);
	}
	assert_int_equal(wire_send(d, n, 64, "still there", 11), TAPI_OK);
	wire_run(wire, 1 * S);
	assert_int_equal(n->inbox.messages, 1);
	wire_free(wire);
}

// Only who was validated is passed on, and at most `advertise` of them.
static void test_gossip(void **state)
{
	struct wire *wire = wire_new(45);
	struct wire_node *hub = wire_node_add(wire, &PLAIN), *peers[8], *late, *dead;
	struct wire_node_options silent = {.core = QUICK ", \"advertise\": 0"};
	struct tapi_peer_info info;
	unsigned known = 0;

	(void)state;
	dead = wire_node_add(wire, &PLAIN);
	wire_block(wire, WIRE_ANY, dead->ip, 0, true);
	wire_introduce(hub, dead, WIRE_ANY);
	wire_send(hub, dead, 64, "x", 1);
	for (int i = 0; i < 8; i++) {
		peers[i] = wire_node_add(wire, &PLAIN);
		wire_introduce(hub, peers[i], WIRE_ANY);
		wire_send(hub, peers[i], 64, "x", 1);
		wire_run(wire, 1 * S);
	}
	late = wire_node_add(wire, &PLAIN);
	wire_introduce(late, hub, WIRE_ANY);
	wire_send(late, hub, 64, "x", 1);
	wire_run(wire, 2 * S);
	for (int i = 0; i < 8; i++)
		known += tapi_core_peer(late->core, &peers[i]->identity.id, &info) == TAPI_OK;
	assert_in_range(known, 1, 3);
	assert_int_equal(tapi_core_peer(late->core, &dead->identity.id, &info), TAPI_ENOADDR);
	wire_free(wire);

	// Of a peer that is reached by udp alone: that address, and not the other.
	wire = wire_new(45);
	hub = wire_node_add(wire, &PLAIN);
	peers[0] = wire_node_add(wire, &PLAIN);
	wire_block(wire, WIRE_TCP, hub->ip, peers[0]->ip, true);
	meet(wire, hub, peers[0]);
	late = wire_node_add(wire, &PLAIN);
	meet(wire, late, hub);
	assert_int_equal(tapi_core_peer(late->core, &peers[0]->identity.id, &info), TAPI_OK);
	assert_int_equal(info.addresses, 1);
	wire_block(wire, WIRE_UDP, late->ip, peers[0]->ip, true);
	wire_send(late, peers[0], 64, "x", 1);
	wire_run(wire, 5 * S);
	tapi_core_peer(late->core, &peers[0]->identity.id, &info);
	assert_int_equal(info.validated, 0);
	wire_free(wire);

	wire = wire_new(46);
	hub = wire_node_add(wire, &silent);
	for (int i = 0; i < 3; i++) {
		peers[i] = wire_node_add(wire, &PLAIN);
		meet(wire, peers[i], hub);
	}
	assert_int_equal(wire_counter(hub, "gossip_sent"), 0);
	assert_int_equal(
		tapi_core_peer(peers[0]->core, &peers[1]->identity.id, &info), TAPI_ENOADDR);
	wire_free(wire);
}

// TA28: three of n say the same; two do not suffice, and what one says of another address is
// another word.
static void test_observed(void **state)
{
	struct wire *wire = wire_new(47);
	struct wire_node *a = wire_node_add(wire, &PLAIN), *others[5];
	struct tapi_source seen;
	uint32_t old = a->ip;

	(void)state;
	for (int i = 0; i < 5; i++) {
		assert_false(tapi_core_observed(a->core, WIRE_PROTOCOL + WIRE_UDP, &seen));
		if (i == 2) { // two have seen the old address, and are not asked again
			for (int j = 0; j < 2; j++)
				tapi_core_forget(a->core, &others[j]->identity.id);
			wire_move(a, 0x0a090901);
		}
		others[i] = wire_node_add(wire, &PLAIN);
		meet(wire, a, others[i]);
	}
	assert_true(tapi_core_observed(a->core, WIRE_PROTOCOL + WIRE_UDP, &seen));
	assert_int_equal(seen.family, 4);
	assert_int_not_equal(tapi_get32(seen.address), old);
	assert_int_equal(tapi_get32(seen.address), a->ip);
	assert_int_equal(seen.port, WIRE_PORT);
	assert_false(tapi_core_observed(a->core, WIRE_PROTOCOL + WIRE_RAW, &seen));
	// After a while nobody's word stands.
	wire_run(wire, 4000 * (uint64_t)S);
	assert_false(tapi_core_observed(a->core, WIRE_PROTOCOL + WIRE_UDP, &seen));
	wire_free(wire);
}

// Our HELOs are signed anew in time, and who is in touch hears of it.
static void test_helos_renewed(void **state)
{
	struct wire *wire = wire_new(48);
	struct wire_node_options shortly = {.core = QUICK ", \"helo_lifetime_s\": 600"};
	struct wire_node *a = wire_node_add(wire, &shortly), *b = wire_node_add(wire, &shortly);
	struct tapi_peer_info info;

	(void)state;
	meet(wire, a, b);
	for (int i = 0; i < 100; i++) {
		wire_send(a, b, 64, "x", 1);
		wire_send(b, a, 64, "x", 1);
		wire_run(wire, 30 * S);
	}
	tapi_core_peer(a->core, &b->identity.id, &info);
	assert_int_equal(info.addresses, 2);
	assert_int_equal(a->inbox.lost, 0);
	assert_int_equal(b->inbox.messages, 101);
	wire_free(wire);
}

static void test_text(void **state)
{
	struct wire *wire = wire_new(49);
	struct wire_node *a = wire_node_add(wire, &PLAIN), *b = wire_node_add(wire, &PLAIN);
	struct tapi_error error;
	char text[2048];
	size_t length = tapi_core_own_helos_text(b->core, text, sizeof(text));

	(void)state;
	assert_true(length > 300 && length == strlen(text));
	assert_int_equal(strncmp(text, "sluice-helo:", 12), 0);
	assert_int_equal(tapi_core_own_helos_text(b->core, text, 100), 0);
	assert_int_equal(tapi_core_own_helos_text(b->core, text, sizeof(text)), length);
	assert_int_equal(tapi_core_add_helos_text(a->core, text, &error), TAPI_OK);
	wire_poke(a);
	assert_int_equal(wire_send(a, b, 64, "by text", 7), TAPI_OK);
	wire_run(wire, 1 * S);
	assert_int_equal(b->inbox.messages, 1);
	text[200] = text[200] == 'A' ? 'B' : 'A';
	assert_int_not_equal(tapi_core_add_helos_text(b->core, "hello", &error), TAPI_OK);
	assert_non_null(strstr(error.text, "sluice-helo:"));
	text[length - 40] = '\0'; // cut
	assert_int_not_equal(tapi_core_add_helos_text(a->core, text, &error), TAPI_OK);
	wire_free(wire);
}

// A receiver that forgets, denies or answers its very sender; a watcher that forgets who comes.
static struct wire_node *rash_node, *rash_peer;
static unsigned rash_calls;

static void rash_receive(void *context, const struct tapi_incoming *incoming)
{
	struct tapi_outgoing outgoing = {.type = 65, .body = "?", .length = 1};
	struct tapi_peer_id sender = *incoming->sender;

	(void)context;
	switch (rash_calls++ % 4) {
	case 0: tapi_core_forget(rash_node->core, &sender); break;
	case 1:
		tapi_core_send(rash_node->core, &sender, &outgoing);
		tapi_core_deny_peer(rash_node->core, &sender, 1); // over at once
		break;
	case 2:
		tapi_core_forget(rash_node->core, &sender);
		wire_introduce(rash_node, rash_peer, WIRE_ANY);
		tapi_core_send(rash_node->core, &sender, &outgoing);
		break;
	default: tapi_core_send(rash_node->core, &sender, &outgoing);
	}
}

static void rash_watch(void *context, enum tapi_peer_event what, const struct tapi_peer_info *info)
{
	(void)context;
	if (what == TAPI_PEER_REACHABLE && rash_calls++ % 3 == 0)
		tapi_core_forget(rash_node->core, &info->id);
}

static void test_rash_application(void **state)
{
	struct wire *wire = wire_new(50);
	struct wire_node *a = wire_node_add(wire, &PLAIN), *b = wire_node_add(wire, &PLAIN);

	(void)state;
	rash_node = b;
	rash_peer = a;
	rash_calls = 0;
	tapi_core_receive(b->core, 64, rash_receive, NULL);
	tapi_core_watch(b->core, rash_watch, NULL);
	wire_introduce(a, b, WIRE_ANY);
	for (int i = 0; i < 300; i++) {
		// Several in one payload.
		for (int j = 0; j < 5; j++)
			wire_send(a, b, 64, "trouble", 7);
		wire_run(wire, 97 * MS);
		if (i % 50 == 49)
			wire_run(wire, 70 * S);
	}
	assert_true(rash_calls > 1000);
	assert_true(a->inbox.messages > 10);
	wire_free(wire);
}

static void test_stats(void **state)
{
	struct wire *wire = wire_new(51);
	struct wire_node *a = wire_node_add(wire, &PLAIN), *b = wire_node_add(wire, &PLAIN);
	json_t *root, *core, *peer;
	char *text;

	(void)state;
	meet(wire, a, b);
	text = tapi_core_stats_json(a->core, true);
	assert_non_null(text);
	root = json_loads(text, 0, NULL);
	assert_non_null(root);
	core = json_object_get(root, "core");
	assert_int_equal(json_integer_value(json_object_get(core, "send_accepted")), 1);
	assert_int_equal(json_integer_value(json_object_get(core, "reachable")), 1);
	assert_int_equal(json_array_size(json_object_get(root, "transports")), 2);
	peer = json_array_get(json_object_get(root, "peers"), 0);
	assert_string_equal(json_string_value(json_object_get(peer, "transport")), "vudp");
	assert_non_null(json_object_get(json_object_get(root, "queues"), "dropped_pool"));
	assert_non_null(json_object_get(json_object_get(root, "fragments"), "whole"));
	json_decref(root);
	free(text);
	text = tapi_core_stats_json(a->core, false);
	assert_null(strstr(text, "\"peers\":["));
	free(text);
	wire_free(wire);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stop_start),
		cmocka_unit_test(test_known_peers),
		cmocka_unit_test(test_reload),
		cmocka_unit_test(test_silence_ends_validity),
		cmocka_unit_test(test_deny_peer),
		cmocka_unit_test(test_lost_is_told),
		cmocka_unit_test(test_references),
		cmocka_unit_test(test_kept_open),
		cmocka_unit_test(test_gossip),
		cmocka_unit_test(test_observed),
		cmocka_unit_test(test_helos_renewed),
		cmocka_unit_test(test_text),
		cmocka_unit_test(test_rash_application),
		cmocka_unit_test(test_stats),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
