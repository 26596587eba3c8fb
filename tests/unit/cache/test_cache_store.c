// SPDX-License-Identifier: BSD-3-Clause
// The connection cache over restarts: real replicas, real files, a clock that the test owns.
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/stat.h>
#include <cmocka.h>
#include "lib/pipeline/pipe.h"
#include "control/cache/file.h"
#include "control/cache/store.h"
#include "base/log.h"

#define LCORES 3

static struct pipe *gw; // the gateway of the test: its clock has no argument
static uint64_t clock_ns = 1700000000ull * NS_PER_S; // between two gateways

static uint64_t pipe_clock(void)
{
	return gw->now_ns;
}

struct world {
	char dir[40];
	struct control_context context;
	struct cache_store *store;
};

static void gateway_start(struct world *w, const char *rule_id)
{
	struct sink_options options = {.source = "pcap"};
	char err[256] = "";
	struct policy *policy;

	gw = pipe_new(LCORES, NULL);
	gw->now_ns = clock_ns;
	w->context = (struct control_context){.base = event_base_new(),
		.dp = &gw->dp,
		.names = rule_names_new(),
		.now_ns = pipe_clock};
	// numbers are others after a restart: only names last
	rule_names_intern(w->context.names, "some-other");
	policy = pipe_policy(gw);
	struct rule *rule =
		pipe_rule(policy, rule_names_intern(w->context.names, rule_id), ACTION_DROP);

	rule->has_source = true;
	rule->cache = CACHE_TUPLE;
	assert_int_equal(address_set_add(&rule->source, "10.0.0.1"), 0);
	address_set_seal(&rule->source);
	pipe_publish(gw, policy);
	assert_int_equal(
		sink_new(&options, &gw->dp, w->context.names, &w->context.sink, err, sizeof err),
		0);
	assert_int_equal(
		reload_new(&gw->dp, w->context.names, "/nonexistent", NULL, &w->context.reload), 0);
	int rc = cache_store_new(&w->context, w->dir, &w->store, err, sizeof err);

	if (rc)
		fail_msg("%s", err);
	assert_int_equal(cache_store_start(w->store), 0);
}

// `orderly`: SIGTERM; else it dies where it stands.
static void gateway_end(struct world *w, bool orderly)
{
	const struct policy *policy = gw->dp.policy;

	cache_store_free(w->store, orderly);
	reload_free(w->context.reload);
	gw->dp.policy = policy; // which the pipe has made, not `reload`
	sink_free(w->context.sink);
	rule_names_free(w->context.names);
	event_base_free(w->context.base);
	clock_ns = gw->now_ns;
	pipe_free(gw);
}

// The control loop and the lcores, for about `ms` of real time: timers are libevent's.
static void go(struct world *w, unsigned ms)
{
	for (unsigned i = 0; i < ms; i++) {
		pipe_turns(gw);
		sink_drain(w->context.sink, 0);
		event_base_loop(w->context.base, EVLOOP_NONBLOCK);
		usleep(1000);
	}
}

static struct cache_store_stats stats(const struct world *w)
{
	return *cache_store_stats(w->store);
}

static unsigned syn(unsigned lcore, uint32_t server, uint16_t sport)
{
	struct pipe_packet packet = {
		.server = server, .sport = sport, .dport = 80, .tcp_flags = TH_SYN};

	// another lcore may own the flow; what it learns is told to the others
	unsigned out = pipe_run(gw, lcore, &packet) + pipe_turns(gw);

	return out + pipe_turns(gw);
}

static struct world world_new(void)
{
	struct world w = {.dir = "/tmp/test_cache_store.XXXXXX"};

	assert_non_null(mkdtemp(w.dir));
	return w;
}

static void file_of(const struct world *w, const char *name, char out[80])
{
	snprintf(out, 80, "%s/%s", w->dir, name);
}

static void world_free(struct world *w)
{
	static const char *const names[] = {
		"conn-cache.jsonl", "conn-cache.journal", "conn-cache.journal.old"};
	char path[80];

	for (unsigned i = 0; i < 3; i++) {
		file_of(w, names[i], path);
		unlink(path);
	}
	assert_int_equal(rmdir(w->dir), 0); // nothing else was left
}

static void blocked_peers_stay_blocked(bool orderly)
{
	struct world w = world_new();

	gateway_start(&w, "no-sharing");
	for (uint32_t server = 2; server < 12; server++)
		assert_int_equal(syn(0, server, 1000), 0);
	go(&w, 80);
	gateway_end(&w, orderly);

	gateway_start(&w, "no-sharing");
	assert_int_equal(stats(&w).restored, 10);
	for (unsigned lcore = 0; lcore < LCORES; lcore++)
		for (uint32_t server = 2; server < 12; server++)
			assert_int_equal(syn(lcore, server, (uint16_t)(2000 + lcore)), 0);
	pipe_turns(gw);
	assert_int_equal(pipe_stats(gw).cache_hits, 10 * LCORES);
	gateway_end(&w, true);
	world_free(&w);
}

static void an_orderly_stop_forgets_nothing(void **state)
{
	(void)state;
	blocked_peers_stay_blocked(true);
}

static void a_crash_forgets_nothing(void **state)
{
	(void)state;
	blocked_peers_stay_blocked(false);
}

// An allowance is kept in the cache, too: out of the file it would come back as a block.
static void what_is_allowed_comes_back_as_no_block(void **state)
{
	struct world w = world_new();

	(void)state;
	gateway_start(&w, "no-sharing");
	assert_int_equal(syn(0, 2, 1000), 0);
	go(&w, 80);
	gateway_end(&w, true);

	gateway_start(&w, "no-sharing");
	assert_int_equal(stats(&w).restored, 1);
	pipe_turns(gw); // they have the policy
	for (unsigned lcore = 0; lcore < LCORES; lcore++) {
		struct conn_entry entry;
		uint32_t cursor = 0;

		assert_int_equal(
			conn_cache_read(gw->dp.lcores[lcore]->conn_cache, &cursor, &entry, 1), 1);
		entry.flags = CONN_ENTRY_OPERATOR | CONN_ENTRY_FIXED | CONN_ENTRY_ALLOWED;
		assert_true(conn_cache_put(gw->dp.lcores[lcore], &entry));
	}
	gateway_end(&w, true);

	gateway_start(&w, "no-sharing");
	assert_int_equal(stats(&w).restored, 0);
	gateway_end(&w, true);
	world_free(&w);
}

// What a power failure leaves: the last line of the journal is half there.
static void half_a_line_spoils_no_other(void **state)
{
	struct world w = world_new();
	char path[80];

	(void)state;
	gateway_start(&w, "no-sharing");
	assert_int_equal(syn(0, 2, 1000), 0);
	go(&w, 80);
	gateway_end(&w, false);
	file_of(&w, "conn-cache.journal", path);
	FILE *file = fopen(path, "a");
	fputs("{\"src_ip\":\"10.0.0.1\",\"dest", file);
	fclose(file);

	gateway_start(&w, "no-sharing");
	assert_int_equal(stats(&w).restored, 1);
	assert_int_equal(syn(0, 3, 1000), 0);
	go(&w, 80);
	gateway_end(&w, false); // before the next writing

	gateway_start(&w, "no-sharing");
	assert_int_equal(stats(&w).restored, 2);
	gateway_end(&w, true);
	world_free(&w);
}

static void a_rule_that_is_gone_blocks_nobody(void **state)
{
	struct world w = world_new();

	(void)state;
	gateway_start(&w, "old-rule");
	assert_int_equal(syn(0, 7, 1000), 0);
	go(&w, 80);
	gateway_end(&w, true);
	gateway_start(&w, "new-rule");
	assert_int_equal(stats(&w).restored, 1);
	struct policy *policy = pipe_policy(gw); // no rule at all

	pipe_publish(gw, policy);
	assert_int_equal(syn(0, 7, 1001), 1);
	assert_int_equal(pipe_stats(gw).cache_healed, 1);
	gateway_end(&w, true);
	world_free(&w);
}

static void ends_and_births_outlive_a_restart(void **state)
{
	struct world w = world_new();

	(void)state;
	gateway_start(&w, "r");
	gw->policy->conn_cache.ttl_s = 100;
	assert_int_equal(syn(0, 7, 1000), 0);
	pipe_advance(gw, 60);
	assert_int_equal(syn(0, 8, 1000), 0);
	go(&w, 80);
	gateway_end(&w, true);
	clock_ns += 50 * NS_PER_S; // 110 s after the first, 50 s after the second
	gateway_start(&w, "r");
	assert_int_equal(stats(&w).restored, 1);
	pipe_turns(gw);
	assert_int_equal(pipe_stats(gw).cache_entries, LCORES);
	pipe_advance(gw, 49);
	assert_int_equal(pipe_stats(gw).cache_entries, LCORES);
	pipe_advance(gw, 2);
	assert_int_equal(pipe_stats(gw).cache_entries, 0);
	gateway_end(&w, true);
	world_free(&w);
}

static void what_is_flushed_stays_forgotten(void **state)
{
	struct world w = world_new();
	char path[80];
	struct stat st;

	(void)state;
	gateway_start(&w, "r");
	for (uint32_t server = 2; server < 12; server++)
		syn(0, server, 1000);
	go(&w, 80);
	for (unsigned i = 0; i < LCORES; i++)
		conn_cache_flush(gw->dp.lcores[i], 1000);
	w.context.cache_removals++; // as the command does
	go(&w, 400);
	assert_int_equal(stats(&w).writings, 1);
	assert_int_equal(stats(&w).written, 0);
	syn(0, 20, 1000);
	go(&w, 80);
	file_of(&w, "conn-cache.journal.old", path);
	assert_int_equal(stat(path, &st), -1);
	gateway_end(&w, false);
	gateway_start(&w, "r");
	assert_int_equal(stats(&w).restored, 1);
	gateway_end(&w, true);
	world_free(&w);
}

static void writings_put_the_journal_together(void **state)
{
	struct world w = world_new();
	char path[80];
	struct stat st;

	(void)state;
	gateway_start(&w, "r");
	gw->policy->conn_cache.ttl_s = 3000;
	for (uint32_t server = 2; server < 62; server++)
		syn(0, server, 1000);
	go(&w, 80);
	file_of(&w, "conn-cache.jsonl", path);
	assert_int_equal(stat(path, &st), -1); // not yet
	pipe_advance(gw, CACHE_STORE_INTERVAL_S + 1);
	go(&w, 400);
	assert_int_equal(stats(&w).writings, 1);
	assert_int_equal(stats(&w).written, 60);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	file_of(&w, "conn-cache.journal", path);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_size, 0);
	// nothing new, no writing; a hit has moved an end, so that there is one
	pipe_advance(gw, CACHE_STORE_INTERVAL_S + 1);
	go(&w, 150);
	assert_int_equal(stats(&w).writings, 1);
	syn(1, 5, 1001);
	pipe_advance(gw, CACHE_STORE_INTERVAL_S + 1);
	go(&w, 400);
	assert_int_equal(stats(&w).writings, 2);
	gateway_end(&w, false);
	gateway_start(&w, "r");
	assert_int_equal(stats(&w).restored, 60);
	gateway_end(&w, true);
	world_free(&w);
}

static void strange_files_cost_their_lines_only(void **state)
{
	static const char *const lines[] = {
		"{\"src_ip\":\"10.0.0.1\",\"dest_ip\":\"192.0.2.1\",\"dest_port\":80,\"proto\":6,"
		"\"mode\":\"tuple\",\"zone\":\"inside\",\"rule\":\"r\",\"confidence\":\"none\","
		"\"created_ns\":1,\"expires_ns\":9000000000000000000,\"hits\":0,"
		"\"saved_bytes\":0}\n",
		"\n", "{}\n", "[1,2]\n", "{\"src_ip\":\"10.0.0.1\"}\n", "\xff\xfe\n",
		// a port that is none, an application that is none
		"{\"src_ip\":\"10.0.0.1\",\"dest_ip\":\"192.0.2.1\",\"dest_port\":80000,"
		"\"proto\":6,\"mode\":\"tuple\",\"zone\":\"inside\",\"confidence\":\"none\","
		"\"created_ns\":1,\"expires_ns\":9000000000000000000,\"hits\":0,"
		"\"saved_bytes\":0}\n",
		"{\"src_ip\":\"10.0.0.1\",\"dest_ip\":\"192.0.2.9\",\"dest_port\":80,\"proto\":6,"
		"\"mode\":\"tuple\",\"zone\":\"inside\",\"app\":\"nobody-knows\","
		"\"confidence\":\"dpi\",\"created_ns\":1,"
		"\"expires_ns\":9000000000000000000,\"hits\":0,\"saved_bytes\":0}\n",
		"{\"src_ip\":\"10.0.0.1\",\"dest_ip\":\"2001:db8::1\",\"dest", // torn
	};
	struct world w = world_new();
	struct cache_read read = {0};
	struct rule_names *names = rule_names_new();
	char path[80];
	FILE *file;

	(void)state;
	file_of(&w, "conn-cache.jsonl", path);
	file = fopen(path, "w");
	for (unsigned i = 0; i < 5000; i++)
		fputc('x', file); // a line that is too long
	fputc('\n', file);
	for (unsigned i = 0; i < sizeof lines / sizeof lines[0]; i++)
		fputs(lines[i], file);
	fclose(file);
	assert_int_equal(cache_file_read(path, names, NULL, 5, &read), 0);
	assert_int_equal(read.list.n, 1);
	assert_int_equal(read.unknown, 1);
	assert_int_equal(read.lines, 10);
	assert_int_equal(read.bad, 8);
	conn_list_free(&read.list);
	assert_int_equal(cache_file_read("/nonexistent/file", names, NULL, 5, &read), 0);
	assert_true(cache_file_read(w.dir, names, NULL, 5, &read) < 0); // a folder
	file_of(&w, "conn-cache.journal", path);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(cache_file_read(path, names, NULL, 5, &read), -EINVAL); // does not wait
	unlink(path);
	rule_names_free(names);
	gateway_start(&w, "r");
	assert_int_equal(stats(&w).restored, 1);
	gateway_end(&w, true);
	world_free(&w);
}

static struct conn_entry random_entry(unsigned *seed)
{
	struct conn_entry entry = {.created_ns = 1000 + (uint64_t)rand_r(seed),
		.hits = (uint64_t)rand_r(seed),
		.saved_bytes = (uint64_t)rand_r(seed) << 20,
		.app = (uint16_t)(rand_r(seed) % 3),
		.confidence = (uint8_t)(rand_r(seed) % (CONFIDENCE_VERIFIED + 1))};
	bool v6 = rand_r(seed) % 2, peer = rand_r(seed) % 4 == 0;

	entry.expires_ns = entry.created_ns + 1 + (uint64_t)rand_r(seed);
	for (unsigned i = 0; i < 16; i++) {
		entry.key.initiator[i] = (uint8_t)(rand_r(seed) % 255 + 1);
		entry.key.responder[i] = (uint8_t)(rand_r(seed) % 255 + 1);
	}
	if (!v6) {
		memset(entry.key.initiator, 0, 10);
		memset(entry.key.responder, 0, 10);
		memset(entry.key.initiator + 10, 0xff, 2);
		memset(entry.key.responder + 10, 0xff, 2);
	}
	entry.key.mode = peer ? CACHE_PEER : CACHE_TUPLE;
	entry.key.port = peer ? 0 : (uint16_t)rand_r(seed);
	entry.key.l4_proto = peer ? 0 : IPPROTO_UDP;
	switch (rand_r(seed) % 4) { // realms that are reported
	case 0: break;
	case 1: entry.key.realm = (uint32_t)(rand_r(seed) % 4095 + 1); break;
	case 2: entry.key.realm = (uint32_t)(rand_r(seed) % 4095 + 1) << 12 | 7; break;
	case 3: entry.key.realm = REALM_PPPOE | (uint32_t)(rand_r(seed) % 65536) << 12 | 9; break;
	}
	entry.key.from_inside = rand_r(seed) % 2 != 0;
	entry.flags = (uint8_t)(rand_r(seed) % 4); // by hand, fixed
	return entry;
}

// A tunnel's is a number that the next process does not know.
static void entries_of_tunnels_are_not_written(void **state)
{
	struct cache_line line = {0};
	char text[CACHE_LINE_MAX];

	(void)state;
	assert_true(cache_line_write(&line, text, sizeof text) > 0);
	line.entry.key.realm = REALM_HASHED | 1;
	assert_int_equal(cache_line_write(&line, text, sizeof text), 0);
}

static void entries_survive_the_file_as_they_are(void **state)
{
	enum { N = 500 };
	struct world w = world_new();
	static struct cache_line lines[N];
	struct cache_read read = {0};
	struct rule_names *names = rule_names_new();
	uint32_t uid = rule_names_intern(names, "r \"quoted\"");
	unsigned seed = 7;
	char path[80];

	(void)state;
	file_of(&w, "conn-cache.jsonl", path);
	for (unsigned i = 0; i < N; i++) {
		lines[i].entry = random_entry(&seed);
		lines[i].entry.rule_uid = i % 5 ? uid : 0;
		lines[i].rule = i % 5 ? "r \"quoted\"" : NULL;
		lines[i].app = lines[i].entry.app ? app_get(lines[i].entry.app)->name : NULL;
	}
	assert_int_equal(cache_file_write(path, lines, N), 0);
	assert_int_equal(cache_file_read(path, names, NULL, 500, &read), 0);
	assert_int_equal(read.list.n, N);
	for (unsigned i = 0; i < N; i++) {
		const struct conn_entry *a = &lines[i].entry, *b = &read.list.entries[i];

		assert_memory_equal(&a->key, &b->key, sizeof a->key);
		// a startup that is to come: the clock was set back
		assert_int_equal(b->created_ns, a->created_ns > 500 ? 500 : a->created_ns);
		assert_int_equal(a->expires_ns, b->expires_ns);
		assert_int_equal(a->hits, b->hits);
		assert_int_equal(a->saved_bytes, b->saved_bytes);
		assert_int_equal(a->app, b->app);
		assert_int_equal(a->confidence, b->confidence);
		assert_int_equal(a->rule_uid, b->rule_uid);
		assert_int_equal(a->flags, b->flags);
	}
	// the same keys again, with other hits: the later lines hold; then the latest to end
	for (unsigned i = 0; i < N; i++)
		lines[i].entry.hits = 77;
	assert_int_equal(cache_file_write(path, lines, N), 0);
	assert_int_equal(cache_file_read(path, names, NULL, 500, &read), 0);
	cache_read_settle(&read, N / 2);
	assert_int_equal(read.list.n, N / 2);
	for (unsigned i = 0; i < read.list.n; i++) {
		assert_int_equal(read.list.entries[i].hits, 77);
		if (i)
			assert_true(read.list.entries[i - 1].expires_ns <=
				    read.list.entries[i].expires_ns);
	}
	uint64_t first = read.list.entries[0].expires_ns;
	unsigned later = 0;

	for (unsigned i = 0; i < N; i++)
		later += lines[i].entry.expires_ns >= first;
	assert_int_equal(later, N / 2);
	conn_list_free(&read.list);
	rule_names_free(names);
	world_free(&w);
}

static void a_folder_that_cannot_be_used_is_told(void **state)
{
	struct control_context context = {0};
	struct cache_store *store;
	char err[256] = "";

	(void)state;
	assert_true(cache_store_new(&context, "/nonexistent/a/b", &store, err, sizeof err) < 0);
	assert_non_null(strstr(err, "paths.state"));
	assert_true(cache_store_new(&context, "/etc/passwd", &store, err, sizeof err) < 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_orderly_stop_forgets_nothing),
		cmocka_unit_test(a_crash_forgets_nothing),
		cmocka_unit_test(half_a_line_spoils_no_other),
		cmocka_unit_test(what_is_allowed_comes_back_as_no_block),
		cmocka_unit_test(a_rule_that_is_gone_blocks_nobody),
		cmocka_unit_test(ends_and_births_outlive_a_restart),
		cmocka_unit_test(what_is_flushed_stays_forgotten),
		cmocka_unit_test(writings_put_the_journal_together),
		cmocka_unit_test(strange_files_cost_their_lines_only),
		cmocka_unit_test(entries_of_tunnels_are_not_written),
		cmocka_unit_test(entries_survive_the_file_as_they_are),
		cmocka_unit_test(a_folder_that_cannot_be_used_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
