// SPDX-License-Identifier: BSD-3-Clause
// A million connects, associates and disconnects in random order, with messages, silence, limits
// that are hit and servers that stop between them, over the real transports, two of each in this
// process (TA13). Held: references are as counted here; a session ends once, and not while it is
// held unless its medium failed; nothing is left behind: sessions, memory, descriptors.
//
// How many: the rows below; SLUICE_LONG=1: a million over each. SLUICE_SEED=N: another order.
#include <dirent.h>
#include <event2/event.h>
#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include "operations.h"
#include "transportapi/base/acl.h"
#include "transportapi/proto/helo.h"
#include "transportapi/transport/registry.h"

enum { NODES = 2, LIVE_MAX = 400, MILLION = 1000000, MS = 1000, SLACK_BYTES = 256 };

#define FEW    "\"max_sessions\": 150"
#define LOCAL  FEW ", \"max_half_open\": 40, \"stale_s\": 20, \"connect_timeout_s\": 5"
#define LIMITS LOCAL ", \"max_per_source\": 100"
#define UDP    FEW ", \"max_per_source\": 100, \"stale_s\": 20"
#define CHAOS                                                                \
	"\"chaos\": {\"below\": \"udp\", \"seed\": 3, \"drop_ppm\": 50000, " \
	"\"duplicate_ppm\": 50000, \"reorder_ppm\": 50000, \"jitter_ms\": 100}"

static const struct row {
	const char *name, *transport;
	const char *conf[NODES];
	const char *address; // where nobody advertises one
	unsigned operations;
} rows[] = {
	{"null", "null", {"\"null\": {" FEW "}", "\"null\": {" FEW "}"}, "null:x", MILLION},
	{"chaos over null", "chaos",
		{"\"null\": {" FEW "}, \"chaos\": {\"below\": \"null\", \"seed\": 3}",
			"\"null\": {" FEW "}, \"chaos\": {\"below\": \"null\", \"seed\": 4}"},
		"chaos+null:x", MILLION / 2},
	{"udp", "udp",
		{"\"udp\": {\"bind\": [\"127.0.0.1\"], \"port\": 0, " UDP "}",
			"\"udp\": {\"bind\": [\"127.0.0.2\"], \"port\": 0, " UDP "}"},
		NULL, MILLION},
	{"chaos over udp", "chaos",
		{"\"udp\": {\"bind\": [\"127.0.0.1\"], \"port\": 0, " UDP "}, " CHAOS,
			"\"udp\": {\"bind\": [\"127.0.0.2\"], \"port\": 0, " UDP "}, " CHAOS},
		NULL, MILLION / 2},
	{"unix", "unix",
		{"\"unix\": {\"path\": \"/tmp/tapi_model_%d_a\", " LOCAL "}",
			"\"unix\": {\"path\": \"/tmp/tapi_model_%d_b\", " LOCAL "}"},
		NULL, MILLION / 20},
	{"tcp", "tcp",
		{"\"tcp\": {\"bind\": [\"127.0.0.1\"], \"port\": 0, " LIMITS "}",
			"\"tcp\": {\"nat\": true, " LIMITS "}"},
		NULL, MILLION / 20},
};

// A session as its core knows it.
struct known {
	struct tapi_session *session;
	unsigned references;
	bool inbound;
	unsigned place; // in node->live
};

struct node {
	struct world *world;
	struct tapi_core_api core;
	struct tapi_peer_id id;
	struct tapi_conf *conf;
	struct tapi_acl *acl;
	const struct tapi_conf *conf_in_force;
	const struct tapi_acl *acl_in_force;
	struct tapi_loaded loaded;
	struct tapi_transport_api *api;
	struct known *live[LIVE_MAX];
	unsigned n_live;
	const char *inside; // the method that runs and may not call back
};

struct counts {
	uint64_t connects, associates, disconnects, messages, came, stale, evicted, failed;
};

struct world {
	struct event_base *base;
	struct node nodes[NODES];
	struct tapi_helo helo; // of node 0
	uint64_t now, random;
	struct counts counts;
	char log[256];
};

static uint64_t on_now(void *context)
{
	const struct node *node = context;

	return node->world->now;
}

static void on_random(void *context, void *octets, size_t length)
{
	struct node *node = context;

	for (size_t i = 0; i < length; i++)
		((uint8_t *)octets)[i] = (uint8_t)operations_below(&node->world->random, 256);
}

__attribute__((format(printf, 3, 4))) static void on_log(
	void *context, int priority, const char *format, ...)
{
	struct node *node = context;
	va_list arguments;

	(void)priority;
	va_start(arguments, format);
	vsnprintf(node->world->log, sizeof(node->world->log), format, arguments);
	va_end(arguments);
}

static struct known *know(struct node *node, struct tapi_session *session, bool inbound)
{
	struct known *known = calloc(1, sizeof(*known));

	assert_non_null(known);
	assert_true(node->n_live < LIVE_MAX); // the limits of the configuration hold
	*known = (struct known){.session = session, .inbound = inbound, .place = node->n_live};
	known->references = inbound ? 0 : 1;
	node->live[node->n_live++] = known;
	session->user = known;
	return known;
}

static void let_go(struct node *node, struct known *known)
{
	node->live[known->place] = node->live[--node->n_live];
	node->live[known->place]->place = known->place;
	free(known);
}

static void on_receive(void *context, const struct tapi_message_pack *pack)
{
	struct node *node = context;

	assert_null(node->inside);
	node->world->counts.came++;
	if (pack->session && !pack->session->user)
		know(node, pack->session, true);
}

static void on_session_down(void *context, struct tapi_session *session, enum tapi_down why)
{
	struct node *node = context;
	struct known *known = session->user;
	struct counts *counts = &node->world->counts;

	assert_null(node->inside);
	counts->stale += why == TAPI_DOWN_STALE;
	counts->evicted += why == TAPI_DOWN_LIMIT;
	counts->failed += why == TAPI_DOWN_ERROR;
	if (!known)
		return; // came in, and never said anything
	assert_ptr_equal(known->session, session);
	if (why == TAPI_DOWN_STALE || why == TAPI_DOWN_LIMIT)
		assert_int_equal(known->references, 0); // who is held is not thrown out
	let_go(node, known);
}

static void node_load(struct node *node, const struct row *row, unsigned index)
{
	struct tapi_error error = {0};
	char sections[1024], text[1100];

	// Where a row has a %d, it is a file that no other run has.
	snprintf(sections, sizeof(sections), row->conf[index], (int)getpid());
	snprintf(text, sizeof(text), "{\"acl\": {\"local\": true}, %s}", sections);
	node->conf = tapi_conf_parse(text, &error);
	if (!node->conf || tapi_acl_new(&node->acl, node->conf, &error) != TAPI_OK)
		fail_msg("%s: %s", text, error.text);
	node->conf_in_force = node->conf;
	node->acl_in_force = node->acl;
	memset(&node->id, 17 * (int)(index + 1), sizeof(node->id));
	node->core = (struct tapi_core_api){
		.version = TAPI_VERSION,
		.my_identity = &node->id,
		.core = node,
		.receive = on_receive,
		.session_down = on_session_down,
		.base = node->world->base,
		.now_us = on_now,
		.random = on_random,
		.log = on_log,
		.conf = &node->conf_in_force,
		.acl = &node->acl_in_force,
	};
	if (tapi_transport_load(&node->loaded, row->transport, NULL, false, &node->core, &error) !=
		TAPI_OK)
		fail_msg("%s: %s; %s", row->name, error.text, node->world->log);
	node->api = node->loaded.api;
	if (node->api->start_server(node->api) != TAPI_OK)
		fail_msg("%s: %s", row->name, node->world->log);
}

static void find_helo(struct world *world, const struct row *row)
{
	struct tapi_transport_api *api = world->nodes[0].api;
	size_t size = sizeof(world->helo.address);

	world->helo = (struct tapi_helo){.protocol = api->protocol, .mtu = api->mtu};
	if (!row->address) {
		assert_int_equal(api->create_helo(api, 0, &world->helo), TAPI_OK);
		return;
	}
	assert_int_equal(
		api->string_to_address(api, row->address, world->helo.address, &size), TAPI_OK);
	world->helo.address_size = (uint16_t)size;
}

static void connect_one(struct world *world, struct node *node)
{
	struct tapi_session *session = NULL;
	enum tapi_result result;

	if (node->n_live >= LIVE_MAX / 2)
		return;
	node->inside = "connect";
	result = node->api->connect(node->api, &world->helo, &session);
	node->inside = NULL;
	world->counts.connects++;
	if (result == TAPI_ELIMIT)
		return;
	if (result != TAPI_OK)
		fail_msg("connect: %s; %s", tapi_result_name(result), world->log);
	if (session->user) // the medium has one session for a pair of addresses
		((struct known *)session->user)->references++;
	else
		know(node, session, false);
}

static void send_one(struct world *world, struct node *node, struct known *known)
{
	static const uint8_t message[100];
	const uint32_t size = operations_below(&world->random, sizeof(message));

	node->inside = "send";
	node->api->send(node->api, known->session, message, size, false, 0);
	node->inside = NULL;
	world->counts.messages++;
}

static void associate_one(struct world *world, struct node *node, struct known *known)
{
	enum tapi_result result;

	node->inside = "associate";
	result = node->api->associate(node->api, known->session);
	node->inside = NULL;
	known->references += result == TAPI_OK;
	world->counts.associates++;
	if (result != TAPI_OK && result != TAPI_EDOWN && result != TAPI_EUNIDIR)
		fail_msg("associate: %s; %s", tapi_result_name(result), world->log);
}

static void disconnect_one(struct world *world, struct node *node, struct known *known)
{
	enum tapi_result result;

	node->inside = "disconnect";
	result = node->api->disconnect(node->api, known->session);
	node->inside = NULL;
	world->counts.disconnects++;
	assert_true((known->references > 0) == (result == TAPI_OK));
	if (known->references && --known->references == 0 && !known->inbound)
		let_go(node, known); // ended, and nothing more is said of it
}

static void pass_time(struct world *world, uint64_t us)
{
	world->now += us;
	event_base_loop(world->base, EVLOOP_NONBLOCK);
	for (unsigned i = 0; i < NODES; i++)
		world->nodes[i].api->turn(world->nodes[i].api, world->now);
}

static void restart(struct world *world, const struct row *row, struct node *node)
{
	assert_int_equal(node->api->stop_server(node->api), TAPI_OK);
	assert_int_equal(node->n_live, 0);
	assert_int_equal(node->api->start_server(node->api), TAPI_OK);
	find_helo(world, row); // another port
}

static void agree(struct node *node)
{
	const struct tapi_transport_stats *stats = node->api->stats(node->api);
	struct tapi_session_info info;

	assert_true(stats->sessions_opened + stats->sessions_accepted - stats->sessions_closed <=
		    LIVE_MAX);
	for (unsigned i = 0; i < node->n_live; i++) {
		node->api->session_info(node->api, node->live[i]->session, &info);
		assert_int_equal(info.references, node->live[i]->references);
		assert_true(info.inbound == node->live[i]->inbound);
	}
}

static void operate(struct world *world, const struct row *row, unsigned *left)
{
	struct node *node = &world->nodes[operations_below(&world->random, NODES)];
	struct known *known =
		node->n_live ? node->live[operations_below(&world->random, node->n_live)] : NULL;
	const uint32_t what = operations_below(&world->random, 1000);
	const uint32_t connects = *left / 1024 % 2 ? 500 : 100; // it fills, and it empties

	if (what < connects && *left) {
		connect_one(world, &world->nodes[1]);
		--*left;
	} else if (what < connects + 100 && *left && known) {
		associate_one(world, node, known);
		--*left;
	} else if (what < 800 && *left && known) {
		disconnect_one(world, node, known);
		--*left;
	} else if (what < 900 && known) {
		send_one(world, node, known);
	} else if (what < 995) {
		pass_time(world, operations_below(&world->random, 100) * MS);
	} else if (what < 999) {
		pass_time(world, operations_below(&world->random, 30000) * MS);
		agree(&world->nodes[0]);
		agree(&world->nodes[1]);
	} else if (operations_below(&world->random, 10) == 0) {
		restart(world, row, node);
	}
}

static void run(const struct row *row, struct world *world, unsigned operations)
{
	const struct tapi_transport_stats *stats;

	world->base = event_base_new(); // keeps what it once needed per descriptor
	assert_non_null(world->base);
	for (unsigned i = 0; i < NODES; i++) {
		world->nodes[i].world = world;
		node_load(&world->nodes[i], row, i);
	}
	find_helo(world, row);
	while (operations)
		operate(world, row, &operations);
	for (unsigned i = 0; i < NODES; i++) {
		struct node *node = &world->nodes[i];

		assert_int_equal(node->api->stop_server(node->api), TAPI_OK);
		assert_int_equal(node->n_live, 0);
		stats = node->api->stats(node->api);
		assert_int_equal(
			stats->sessions_opened + stats->sessions_accepted, stats->sessions_closed);
	}
	for (unsigned i = 0; i < NODES; i++) {
		tapi_transport_unload(&world->nodes[i].loaded);
		tapi_acl_free(world->nodes[i].acl);
		tapi_conf_free(world->nodes[i].conf);
	}
	event_base_free(world->base);
}

static unsigned descriptors(void)
{
	DIR *folder = opendir("/proc/self/fd");
	unsigned n = 0;

	assert_non_null(folder);
	while (readdir(folder))
		n++;
	closedir(folder);
	return n;
}

static uint64_t heap_bytes(void)
{
	struct mallinfo2 info = mallinfo2(); // all 0 under ASan, which tells leaks itself

	return info.uordblks + info.hblkhd;
}

static void run_row(const struct row *row)
{
	const char *seed = getenv("SLUICE_SEED");
	unsigned operations = getenv("SLUICE_LONG") ? MILLION : row->operations;
	struct world *world = calloc(1, sizeof(*world));
	struct timespec from, to;
	struct counts counts;
	uint64_t heap;
	unsigned open;
	double seconds;

	assert_non_null(world);
	world->random = (seed ? strtoull(seed, NULL, 0) : 1) * 0x9e3779b97f4a7c15 | 1;
	world->now = 1;
	run(row, world, 20000); // what is made once is made now
	heap = heap_bytes();
	open = descriptors();
	memset(&world->counts, 0, sizeof(world->counts));
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &from);
	run(row, world, operations);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &to);
	counts = world->counts;
	seconds = (double)(to.tv_sec - from.tv_sec) + (double)(to.tv_nsec - from.tv_nsec) * 1e-9;
	print_message("%s: %llu connects, %llu associates, %llu disconnects, %llu of %llu "
		      "messages came; ended: %llu stale, %llu evicted, %llu failed; %.1f s of CPU; "
		      "heap %+lld octets, descriptors %+d\n",
		row->name, (unsigned long long)counts.connects,
		(unsigned long long)counts.associates, (unsigned long long)counts.disconnects,
		(unsigned long long)counts.came, (unsigned long long)counts.messages,
		(unsigned long long)counts.stale, (unsigned long long)counts.evicted,
		(unsigned long long)counts.failed, seconds, (long long)(heap_bytes() - heap),
		(int)descriptors() - (int)open);
	assert_true(counts.connects + counts.associates + counts.disconnects == operations);
	assert_true((long long)(heap_bytes() - heap) < SLACK_BYTES);
	assert_int_equal(descriptors(), open);
	free(world);
}

static void nothing_is_left_of_a_million_sessions(void **state)
{
	(void)state;
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		run_row(&rows[i]);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_is_left_of_a_million_sessions),
	};

	// malloc's own cache of freed pieces counts as used: without it the heap is exact.
	if (argc == 1 && !getenv("GLIBC_TUNABLES")) {
		setenv("GLIBC_TUNABLES", "glibc.malloc.tcache_count=0", 1);
		execv("/proc/self/exe", argv);
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
