// SPDX-License-Identifier: BSD-3-Clause
// The control socket: what commands answer, and what hostile clients cost.
#include "control_socket.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "control_client.h"
#include "fake_control.h"
#include "inquiry.h"
#include "tick.h"

#define FLOWS 1300 // per lcore: three pages

static uint64_t clock_offset_ns; // tests own the clock

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return 1695017621ull * NS_PER_S + (uint64_t)ts.tv_sec * NS_PER_S + (uint64_t)ts.tv_nsec +
	       clock_offset_ns;
}

struct world {
	struct control_context context;
	struct control_socket *socket;
	struct query *held[2]; // taken by a lcore that stands still
	bool stalled[2];
	unsigned flushes;
	unsigned n_flows; // per lcore
	uint64_t traced;
	char dir[40];
	char path[64];
};

static void world_open(struct world *w)
{
	char err[256] = "";

	if (control_socket_new(&w->context, w->path, NULL, &w->socket, err, sizeof err))
		fail_msg("%s", err);
}

static void world_new(struct world *w)
{
	struct config_errors errors = {0};

	*w = (struct world){.dir = "/tmp/test_control.XXXXXX", .n_flows = FLOWS};
	assert_non_null(mkdtemp(w->dir));
	snprintf(w->path, sizeof w->path, "%s/control.sock", w->dir);
	fake_signatures = "ab";
	clock_offset_ns = 0;
	w->context.dp = fake_dataplane_new(2, true);
	w->context.names = rule_names_new();
	w->context.base = event_base_new();
	w->context.now_ns = now_ns;
	w->context.started_ns = now_ns();
	assert_int_equal(
		reload_new(w->context.dp, w->context.names, "signatures", NULL, &w->context.reload),
		0);
	assert_int_equal(reload_load(w->context.reload, "/etc/policy.json", 1, &errors), 0);
	world_open(w);
}

static void world_free(struct world *w)
{
	control_socket_free(w->socket);
	assert_int_equal(access(w->path, F_OK), -1);
	reload_free(w->context.reload);
	rule_names_free(w->context.names);
	event_base_free(w->context.base);
	fake_dataplane_free(w->context.dp);
	rmdir(w->dir);
}

// What a data lcore does with a query, bounded as there.

static void answer_flows(struct world *w, unsigned lcore, struct query *query)
{
	struct flow_record *out = query->out;

	for (; query->cursor < w->n_flows; query->cursor++) {
		uint64_t id = lcore * 10000 + query->cursor + 1;

		if (query->n == query->max)
			return;
		if (query->flow_id && query->flow_id != id)
			continue;
		query->total++;
		out[query->n++] = (struct flow_record){
			.flow_id = id,
			.start_ns = now_ns() - 5 * NS_PER_S,
			.last_ns = now_ns(),
			.pkts = {3, 4},
			.bytes = {300, 4000000000},
			.ends = fake_ends(query->cursor % 10 ? "10.0.0.1" : "2001:db8::5", 1000,
				"192.0.2.1", 80),
			.rule_uid = 1,
			.app = query->cursor % 100 ? APP_NONE : 1,
			.signature = 0,
			.confidence = CONFIDENCE_DPI,
			.action = ACTION_RESET,
			.l4_proto = 6,
			.lcore = (uint8_t)lcore,
			.lru_class = FLOW_CLASS_TCP,
		};
	}
}

static void answer_cache(unsigned lcore, struct query *query)
{
	struct conn_entry *out = query->out;

	// Lcore 0 knows entries 0..599, lcore 1 300..899: 900 different ones.
	for (; query->cursor < 600 && query->n < query->max; query->cursor++) {
		unsigned number = (unsigned)query->cursor + lcore * 300;
		struct flow_ends ends = fake_ends("10.0.0.1", 0, "192.0.2.7", 0);
		struct conn_entry *entry = &out[query->n++];

		*entry = (struct conn_entry){.created_ns = number + 1,
			.expires_ns = now_ns() + 60 * NS_PER_S,
			.hits = 2,
			.saved_bytes = 100,
			.rule_uid = 1,
			.app = 1};
		memcpy(entry->key.initiator, ends.address[0], 16);
		memcpy(entry->key.responder, ends.address[1], 16);
		entry->key.port = (uint16_t)number;
		entry->key.l4_proto = 6;
		entry->key.mode = CACHE_TUPLE;
	}
	query->total = 600;
}

static void lcore_turn(struct world *w, unsigned lcore)
{
	struct query *query = w->held[lcore];
	void *next;

	if (w->stalled[lcore]) {
		if (!query && rte_ring_dequeue(w->context.dp->lcores[lcore]->queries, &next) == 0)
			w->held[lcore] = next; // taken, and then nothing
		return;
	}
	rte_rcu_qsbr_quiescent(w->context.dp->qsbr, lcore);
	if (!query) {
		if (rte_ring_dequeue(w->context.dp->lcores[lcore]->queries, &next))
			return;
		query = next;
	}
	w->held[lcore] = NULL;
	if (query->type == QUERY_FLOWS)
		answer_flows(w, lcore, query);
	else if (query->type == QUERY_CACHE)
		answer_cache(lcore, query);
	else if (query->type == QUERY_TRACE)
		query->total = query->flow_id == 77 && lcore == 1, w->traced += query->total;
	else
		query->total = 600, w->flushes++;
	atomic_store(&query->done, true);
}

static void turn(struct world *w)
{
	event_base_loop(w->context.base, EVLOOP_NONBLOCK);
	lcore_turn(w, 0);
	lcore_turn(w, 1);
}

static int client(struct world *w)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);

	snprintf(address.sun_path, sizeof address.sun_path, "%s", w->path);
	assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof address), 0);
	return fd;
}

// Sends all of it while the gateway runs; false if the gateway closed meanwhile.
static bool put(struct world *w, int fd, const char *text, size_t length)
{
	for (size_t at = 0; at < length;) {
		ssize_t n = send(fd, text + at, length - at, MSG_NOSIGNAL);

		if (n < 0 && errno != EAGAIN)
			return false;
		at += n > 0 ? (size_t)n : 0;
		turn(w);
	}
	return true;
}

// The next line, or NULL when the gateway closed; fails after 20 s.
static json_t *get(struct world *w, int fd)
{
	static char line[4 << 20];
	uint64_t end = now_ns() + clock_offset_ns + 20 * NS_PER_S;
	size_t length = 0;
	json_t *object;

	while (length < sizeof line) {
		ssize_t n = recv(fd, line + length, 1, 0);

		if (n == 0 || (n < 0 && errno != EAGAIN))
			return NULL;
		if (n < 0) {
			struct pollfd pollfd = {.fd = fd, .events = POLLIN};

			turn(w);
			poll(&pollfd, 1, 1);
			if (now_ns() > end)
				fail_msg("no answer");
			continue;
		}
		if (line[length] != '\n') {
			length++;
			continue;
		}
		object = json_loadb(line, length, JSON_REJECT_DUPLICATES, NULL);
		assert_non_null(object);
		return object;
	}
	fail_msg("an endless line");
	return NULL;
}

static bool is_ok(json_t *reply)
{
	return !strcmp(json_string_value(json_object_get(reply, "return")), "OK");
}

static json_t *message(json_t *reply)
{
	return json_object_get(reply, "message");
}

static json_int_t number(json_t *object, const char *key)
{
	json_t *value = json_object_get(object, key);

	if (!json_is_integer(value))
		fail_msg("no number %s", key);
	return json_integer_value(value);
}

static json_t *ask(struct world *w, const char *line)
{
	int fd = client(w);
	json_t *reply;

	assert_true(put(w, fd, line, strlen(line)));
	assert_true(put(w, fd, "\n", 1));
	reply = get(w, fd);
	assert_non_null(reply);
	close(fd);
	return reply;
}

static void asks_ok(struct world *w, const char *line)
{
	json_t *reply = ask(w, line);

	if (!is_ok(reply))
		fail_msg("%s: %s", line, json_string_value(message(reply)));
	json_decref(reply);
}

// NOK, and the message holds `word`.
static void asks_nok(struct world *w, const char *line, const char *word)
{
	json_t *reply = ask(w, line);
	const char *text = json_string_value(message(reply));

	assert_false(is_ok(reply));
	if (!text || !strstr(text, word))
		fail_msg("%s: \"%s\" has no \"%s\"", line, text ? text : "(object)", word);
	json_decref(reply);
}

static void simple_commands(void **state)
{
	struct world w;
	json_t *reply;

	(void)state;
	world_new(&w);
	w.context.dp->lcores[0]->stats.received_pkts = 9;
	reply = ask(&w, "{\"command\":\"stats\"}");
	assert_int_equal(number(message(reply), "received"), 9);
	assert_int_equal(number(json_object_get(message(reply), "policy"), "generation"), 1);
	json_decref(reply);
	reply = ask(&w, "{\"command\":\"version\",\"arguments\":{}}");
	assert_string_equal(
		json_string_value(json_object_get(message(reply), "version")), SLUICE_VERSION);
	json_decref(reply);
	reply = ask(&w, "{\"command\":\"help\"}");
	assert_true(json_array_size(message(reply)) >= 12);
	json_decref(reply);
	asks_ok(&w, "{\"command\":\"log-level\",\"arguments\":{\"level\":\"debug\"}}");
	asks_ok(&w, "{\"command\":\"log-level\",\"arguments\":{\"level\":\"notice\"}}");
	asks_nok(&w, "{\"command\":\"log-level\",\"arguments\":{\"level\":\"loud\"}}", "loud");
	world_free(&w);
}

static void wrong_lines_are_answered(void **state)
{
	struct world w;

	(void)state;
	world_new(&w);
	asks_nok(&w, "garbage", "JSON");
	asks_nok(&w, "\xff\xfe\x01", "JSON");
	asks_nok(&w, "[]", "command");
	asks_nok(&w, "{}", "command");
	asks_nok(&w, "{\"command\":1}", "command");
	asks_nok(&w, "{\"command\":\"stats\",\"command\":\"stats\"}", "JSON");
	asks_nok(&w, "{\"command\":\"stats\",\"argument\":{}}", "argument");
	asks_nok(&w, "{\"command\":\"stats\",\"arguments\":[]}", "object");
	asks_nok(&w, "{\"command\":\"stats\",\"arguments\":{\"x\":1}}", "none");
	asks_nok(&w, "{\"command\":\"reboot\"}", "help");
	asks_nok(&w, "{\"command\":\"flow-list\",\"arguments\":{\"limit\":0}}", "limit");
	asks_nok(&w, "{\"command\":\"flow-list\",\"arguments\":{\"limit\":\"9\"}}", "limit");
	asks_nok(&w, "{\"command\":\"flow-list\",\"arguments\":{\"app\":\"nosuch\"}}", "nosuch");
	asks_nok(&w, "{\"command\":\"flow-list\",\"arguments\":{\"host\":\"10.0.0.300\"}}",
		"10.0.0.300");
	asks_nok(&w, "{\"command\":\"flow-list\",\"arguments\":{\"host\":\"10.0.0.1/8\"}}",
		"prefix");
	asks_nok(&w, "{\"command\":\"flow-show\"}", "flow_id");
	asks_nok(&w, "{\"command\":\"flow-show\",\"arguments\":{\"flow_id\":-1}}", "positive");
	asks_nok(&w, "{\"command\":\"trace\",\"arguments\":{\"flow_id\":1}}", "on");
	asks_nok(&w, "{\"command\":\"policy-check\",\"arguments\":{\"path\":\"p.json\"}}",
		"absolute");
	world_free(&w);
}

static void flows_page_by_page(void **state)
{
	struct world w;
	json_t *reply, *flows, *flow;

	(void)state;
	world_new(&w);
	reply = ask(
		&w, "{\"command\":\"flow-list\",\"arguments\":{\"limit\":1000,\"offset\":1000}}");
	assert_true(is_ok(reply));
	assert_int_equal(number(message(reply), "total"), 2 * FLOWS);
	assert_int_equal(number(message(reply), "matched"), 2 * FLOWS);
	flows = json_object_get(message(reply), "flows");
	assert_int_equal(json_array_size(flows), 1000);
	// 1300 of lcore 0, of which 1000 are skipped, then lcore 1's.
	assert_int_equal(number(json_array_get(flows, 0), "flow_id"), 1001);
	assert_int_equal(number(json_array_get(flows, 300), "flow_id"), 10001);
	json_decref(reply);

	reply = ask(&w, "{\"command\":\"flow-list\",\"arguments\":{\"app\":\"bittorrent\","
			"\"host\":\"2001:db8::/32\"}}");
	assert_int_equal(number(message(reply), "matched"), 26);
	flow = json_array_get(json_object_get(message(reply), "flows"), 0);
	assert_string_equal(json_string_value(json_object_get(flow, "src_ip")), "2001:db8::5");
	assert_string_equal(json_string_value(json_object_get(flow, "rule")), "no-bittorrent");
	assert_string_equal(
		json_string_value(json_object_get(json_object_get(flow, "app"), "signature")),
		"sig-a");
	assert_int_equal(number(flow, "bytes_toclient"), 4000000000);
	assert_int_equal(number(flow, "age_s"), 5);
	json_decref(reply);
	reply = ask(&w, "{\"command\":\"flow-list\",\"arguments\":{\"app\":\"unknown\","
			"\"host\":\"192.0.2.1\",\"limit\":1}}");
	assert_int_equal(number(message(reply), "matched"), 2 * (FLOWS - 13));
	json_decref(reply);
	world_free(&w);
}

static void one_flow(void **state)
{
	struct world w;
	json_t *reply;

	(void)state;
	world_new(&w);
	reply = ask(&w, "{\"command\":\"flow-show\",\"arguments\":{\"flow_id\":10007}}");
	assert_true(is_ok(reply));
	assert_int_equal(number(message(reply), "flow_id"), 10007);
	assert_int_equal(number(message(reply), "lcore"), 1);
	assert_non_null(json_object_get(message(reply), "tcp_toclient"));
	json_decref(reply);
	asks_nok(
		&w, "{\"command\":\"flow-show\",\"arguments\":{\"flow_id\":5000}}", "no flow 5000");
	asks_ok(&w, "{\"command\":\"trace\",\"arguments\":{\"flow_id\":77,\"on\":true}}");
	assert_int_equal(w.traced, 1);
	asks_nok(&w, "{\"command\":\"trace\",\"arguments\":{\"flow_id\":78,\"on\":true}}", "78");
	world_free(&w);
}

static void the_cache_is_merged_over_lcores(void **state)
{
	struct world w;
	json_t *reply, *entries;

	(void)state;
	world_new(&w);
	reply = ask(&w, "{\"command\":\"cache-list\",\"arguments\":{\"limit\":1000}}");
	assert_int_equal(number(message(reply), "matched"), 900);
	entries = json_object_get(message(reply), "entries");
	assert_int_equal(json_array_size(entries), 900);
	assert_int_equal(number(json_array_get(entries, 0), "dest_port"), 899); // newest
	assert_int_equal(number(json_array_get(entries, 0), "hits"), 2);
	assert_int_equal(number(json_array_get(entries, 400), "hits"), 4); // on both lcores
	json_decref(reply);
	asks_nok(&w, "{\"command\":\"cache-list\",\"arguments\":{\"offset\":-1}}", "offset");
	reply = ask(&w, "{\"command\":\"cache-flush\"}");
	assert_int_equal(number(message(reply), "flushed"), 600);
	assert_int_equal(w.flushes, 2);
	json_decref(reply);
	world_free(&w);
}

static void a_policy(void **state)
{
	struct world w;
	json_t *reply;

	(void)state;
	world_new(&w);
	reply = ask(&w, "{\"command\":\"policy-show\"}");
	assert_string_equal(
		json_string_value(json_object_get(message(reply), "path")), "/etc/policy.json");
	assert_int_equal(number(json_object_get(message(reply), "policy"), "schema_version"), 1);
	json_decref(reply);
	asks_ok(&w, "{\"command\":\"policy-check\",\"arguments\":{\"path\":\"/etc/good.json\"}}");
	reply = ask(
		&w, "{\"command\":\"policy-check\",\"arguments\":{\"path\":\"/etc/bad.json\"}}");
	assert_false(is_ok(reply));
	assert_int_equal(json_array_size(json_object_get(message(reply), "errors")), 2);
	json_decref(reply);
	assert_int_equal(reload_generation(w.context.reload), 1);
	world_free(&w);
}

static void a_reload_answers_after_the_last_lcore(void **state)
{
	struct world w;
	json_t *reply;
	char byte;
	int fd;

	(void)state;
	world_new(&w);
	w.stalled[1] = true;
	fd = client(&w);
	assert_true(put(&w, fd, "{\"command\":\"policy-reload\"}\n", 28));
	for (unsigned i = 0; i < 50; i++) {
		turn(&w);
		usleep(1000);
	}
	assert_int_equal(reload_generation(w.context.reload), 2);
	assert_int_equal(recv(fd, &byte, 1, 0), -1); // published, not yet in force everywhere
	w.stalled[1] = false;
	reply = get(&w, fd);
	assert_true(is_ok(reply));
	assert_int_equal(number(message(reply), "generation"), 2);
	assert_int_equal(reload_freed(w.context.reload), 1);
	json_decref(reply);
	close(fd);

	reply = ask(
		&w, "{\"command\":\"policy-reload\",\"arguments\":{\"path\":\"/etc/bad.json\"}}");
	assert_false(is_ok(reply));
	assert_int_equal(json_array_size(json_object_get(message(reply), "errors")), 2);
	assert_int_equal(reload_generation(w.context.reload), 2);
	json_decref(reply);

	w.stalled[0] = true;
	fd = client(&w);
	assert_true(put(&w, fd, "{\"command\":\"policy-reload\"}\n", 28));
	turn(&w);
	clock_offset_ns = 11 * NS_PER_S;
	reply = get(&w, fd);
	assert_false(is_ok(reply));
	json_decref(reply);
	close(fd);
	world_free(&w);
}

static void a_silent_lcore_is_told_and_keeps_its_memory(void **state)
{
	struct world w;
	struct query *kept;
	json_t *reply;
	int fd;

	(void)state;
	world_new(&w);
	w.stalled[1] = true;
	fd = client(&w);
	assert_true(put(&w, fd, "{\"command\":\"flow-list\"}\n", 24));
	for (unsigned i = 0; i < 20; i++)
		turn(&w);
	clock_offset_ns = (INQUIRY_SILENCE_MS + 100) * NS_PER_MS;
	reply = get(&w, fd);
	assert_false(is_ok(reply));
	assert_non_null(strstr(json_string_value(message(reply)), "data lcore 1"));
	json_decref(reply);
	close(fd);
	// It wakes up, and writes where it was told to.
	kept = w.held[1];
	assert_non_null(kept);
	((struct flow_record *)kept->out)[kept->max - 1].flow_id = 1;
	w.stalled[1] = false;
	for (unsigned i = 0; i < 700; i++) {
		turn(&w);
		usleep(1000);
	}
	asks_ok(&w, "{\"command\":\"flow-list\"}");
	world_free(&w);
}

static void a_client_that_leaves_early_costs_nothing(void **state)
{
	struct world w;
	int fd;

	(void)state;
	world_new(&w);
	w.stalled[0] = w.stalled[1] = true;
	for (unsigned i = 0; i < 40; i++) {
		fd = client(&w);
		assert_true(put(&w, fd, "{\"command\":\"flow-list\"}\n", 24));
		close(fd);
		turn(&w);
	}
	w.stalled[0] = w.stalled[1] = false;
	for (unsigned i = 0; i < 200; i++) {
		turn(&w);
		usleep(1000);
	}
	asks_ok(&w, "{\"command\":\"flow-list\"}");
	world_free(&w);
}

static void lines_in_pieces_and_in_a_bundle(void **state)
{
	static const char text[] = "{\"command\":\"version\"}\r\n\n{\"command\":\"flow-list\"}\n"
				   "{\"command\":\"help\"}\n";
	struct world w;
	json_t *reply;
	int fd;

	(void)state;
	world_new(&w);
	fd = client(&w);
	for (size_t i = 0; i + 1 < sizeof text; i++)
		assert_true(put(&w, fd, text + i, 1));
	for (unsigned i = 0; i < 3; i++) {
		reply = get(&w, fd);
		assert_true(is_ok(reply));
		json_decref(reply);
	}
	// All at once, and the client's side is closed behind the last: all are answered.
	assert_true(put(&w, fd, text, sizeof text - 1));
	shutdown(fd, SHUT_WR);
	for (unsigned i = 0; i < 3; i++) {
		reply = get(&w, fd);
		assert_non_null(reply);
		assert_true(is_ok(reply));
		json_decref(reply);
	}
	assert_null(get(&w, fd)); // and then the gateway closes
	close(fd);
	world_free(&w);
}

static void a_line_of_a_megabyte_is_refused(void **state)
{
	struct world w;
	char *text = malloc(1 << 20);
	json_t *reply;
	int fd;

	(void)state;
	world_new(&w);
	memset(text, 'a', 1 << 20);
	fd = client(&w);
	assert_false(put(&w, fd, text, 1 << 20));
	reply = get(&w, fd);
	assert_non_null(reply);
	assert_non_null(strstr(json_string_value(message(reply)), "too long"));
	json_decref(reply);
	assert_null(get(&w, fd));
	close(fd);
	asks_ok(&w, "{\"command\":\"version\"}");
	free(text);
	world_free(&w);
}

static void deep_nesting_is_refused(void **state)
{
	struct world w;
	char text[60001];

	(void)state;
	world_new(&w);
	memset(text, '[', sizeof text - 1);
	text[sizeof text - 1] = '\0';
	asks_nok(&w, text, "JSON");
	world_free(&w);
}

static void beyond_the_cap_clients_are_turned_away(void **state)
{
	enum { MANY = 200 };
	unsigned turned_away = 0, waiting = 0;
	struct world w;
	int fds[MANY];

	(void)state;
	world_new(&w);
	for (unsigned i = 0; i < MANY; i++) {
		fds[i] = client(&w);
		turn(&w);
	}
	for (unsigned i = 0; i < 20; i++)
		turn(&w);
	for (unsigned i = 0; i < MANY; i++) {
		char byte;
		ssize_t n = recv(fds[i], &byte, 1, 0);

		turned_away += n == 1;
		waiting += n < 0 && errno == EAGAIN;
	}
	assert_int_equal(waiting, CONTROL_CLIENTS_MAX);
	assert_int_equal(turned_away, MANY - CONTROL_CLIENTS_MAX);
	for (unsigned i = 0; i < MANY; i++)
		close(fds[i]);
	for (unsigned i = 0; i < 20; i++)
		turn(&w);
	asks_ok(&w, "{\"command\":\"version\"}");
	world_free(&w);
}

static void a_slow_reader_blocks_nobody(void **state)
{
	static const char line[] = "{\"command\":\"flow-list\",\"arguments\":{\"limit\":1000}}\n";
	struct world w;
	unsigned asked = 0;
	uint64_t end;
	int fd;

	(void)state;
	world_new(&w);
	fd = client(&w);
	// Asks on and on, and never reads: soon nothing more is taken from it.
	end = now_ns() + NS_PER_S / 2;
	while (now_ns() < end) {
		ssize_t n = send(fd, line, sizeof line - 1, MSG_NOSIGNAL);

		asked += n > 0;
		turn(&w);
	}
	assert_true(asked > 100);
	assert_true(asked < 200000);
	asks_ok(&w, "{\"command\":\"version\"}");
	close(fd);
	world_free(&w);
}

static void half_a_line_is_not_waited_for_for_ever(void **state)
{
	struct world w;
	json_t *reply;
	int fd;

	(void)state;
	if (!getenv("SLUICE_TEST_SLOW"))
		skip();
	world_new(&w);
	fd = client(&w);
	assert_true(put(&w, fd, "{\"command\"", 10));
	reply = get(&w, fd); // after CONTROL_LINE_S
	assert_non_null(strstr(json_string_value(message(reply)), "in time"));
	json_decref(reply);
	assert_null(get(&w, fd));
	close(fd);
	world_free(&w);
}

static void the_place_of_the_socket(void **state)
{
	struct control_socket *second = NULL;
	char err[256] = "", long_path[300];
	struct world w;
	struct stat st;
	int fd;

	(void)state;
	world_new(&w);
	assert_int_equal(stat(w.path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0660);
	assert_int_equal(control_socket_new(&w.context, w.path, NULL, &second, err, sizeof err),
		-EADDRINUSE);
	assert_non_null(strstr(err, "another gateway"));
	asks_ok(&w, "{\"command\":\"version\"}"); // the first one's is still there
	control_socket_free(w.socket);

	// What a killed gateway leaves behind is replaced.
	fd = socket(AF_UNIX, SOCK_STREAM, 0);
	struct sockaddr_un address = {.sun_family = AF_UNIX};

	snprintf(address.sun_path, sizeof address.sun_path, "%s", w.path);
	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
	close(fd);
	world_open(&w);
	asks_ok(&w, "{\"command\":\"version\"}");
	control_socket_free(w.socket);

	// A file is not.
	close(open(w.path, O_CREAT | O_WRONLY, 0600));
	assert_int_equal(
		control_socket_new(&w.context, w.path, NULL, &second, err, sizeof err), -EEXIST);
	unlink(w.path);
	memset(long_path, 'x', sizeof long_path - 1);
	long_path[0] = '/';
	long_path[sizeof long_path - 1] = '\0';
	assert_int_equal(control_socket_new(&w.context, long_path, NULL, &second, err, sizeof err),
		-ENAMETOOLONG);
	assert_int_equal(
		control_socket_new(&w.context, w.path, "no-such-group", &second, err, sizeof err),
		-ENOENT);
	assert_non_null(strstr(err, "no-such-group"));
	assert_int_equal(access(w.path, F_OK), -1);
	world_open(&w);
	world_free(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(simple_commands),
		cmocka_unit_test(wrong_lines_are_answered),
		cmocka_unit_test(flows_page_by_page),
		cmocka_unit_test(one_flow),
		cmocka_unit_test(the_cache_is_merged_over_lcores),
		cmocka_unit_test(a_policy),
		cmocka_unit_test(a_reload_answers_after_the_last_lcore),
		cmocka_unit_test(a_silent_lcore_is_told_and_keeps_its_memory),
		cmocka_unit_test(a_client_that_leaves_early_costs_nothing),
		cmocka_unit_test(lines_in_pieces_and_in_a_bundle),
		cmocka_unit_test(a_line_of_a_megabyte_is_refused),
		cmocka_unit_test(deep_nesting_is_refused),
		cmocka_unit_test(beyond_the_cap_clients_are_turned_away),
		cmocka_unit_test(a_slow_reader_blocks_nobody),
		cmocka_unit_test(half_a_line_is_not_waited_for_for_ever),
		cmocka_unit_test(the_place_of_the_socket),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
