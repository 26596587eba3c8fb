// SPDX-License-Identifier: BSD-3-Clause
// flow-list and top over random flows of two lcores, against sums and orders made the simple way.
#include "lib/control/control_world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "pipeline/vocab/app_id.h"
#include "pipeline/vocab/tick.h"
#include "pipeline/flow/expect.h"
#include "pipeline/query.h"

#define N (2 * FLOWS)

static struct flow_record flows[N];
static uint64_t seed;

static uint64_t chance(uint64_t n)
{
	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return (seed >> 33) % n;
}

static void address(uint8_t out[16], uint8_t net, uint8_t host)
{
	static const uint8_t mapped[16] = {[10] = 0xff, [11] = 0xff, [12] = 10};

	memcpy(out, mapped, 16);
	out[14] = net;
	out[15] = host;
}

static void flows_make(void)
{
	static const uint8_t protos[] = {6, 17, 1};

	seed = (uint64_t)time(NULL);
	print_message("seed %llu\n", (unsigned long long)seed);
	for (unsigned i = 0; i < N; i++) {
		struct flow_record *flow = &flows[i];

		*flow = (struct flow_record){
			.flow_id = chance(UINT32_MAX) << 13 | i, // each once
			.start_ns = now_ns() - chance(1000) * NS_PER_S,
			.pkts = {chance(20), chance(3)},
			.bytes = {chance(1000), chance(100) * 10000},
			.rate_bytes_s = chance(3) ? chance(5000) : 0,
			.rule_uid = (uint32_t)chance(2),
			.user_uid = chance(3) ? 2 : 0, // uid of the only user
			.app = (uint16_t)chance(3),
			.confidence = (uint8_t)chance(CONFIDENCE_VERIFIED + 1),
			.flags = (uint16_t)((chance(2) ? FLOW_C2S_INSIDE : 0) |
					    (chance(9) ? 0 : FLOW_ELEPHANT)),
			.action = (uint8_t)chance(3),
			.l4_proto = protos[chance(3)],
			.lru_class = (uint8_t)chance(FLOW_CLASS_MAX),
			.lcore = (uint8_t)(i / FLOWS),
			.signature = UINT16_MAX,
		};
		flow->last_ns = flow->start_ns + chance(100) * NS_PER_MS;
		address(flow->ends.address[0], 0, (uint8_t)chance(20));
		address(flow->ends.address[1], 1, (uint8_t)chance(200));
		flow->ends.port[0] = (uint16_t)(1000 + chance(50));
		flow->ends.port[1] = (uint16_t)(1 + chance(100));
	}
}

static void flow_of(unsigned lcore, uint64_t number, struct flow_record *record)
{
	*record = flows[lcore * FLOWS + number];
}

static void open_world(struct world *w)
{
	world_new(w);
	flows_make();
	w->lcores.flow = flow_of;
}

static json_t *asked(struct world *w, const char *command, const char *arguments)
{
	char line[512];

	snprintf(line, sizeof line, "{\"command\":\"%s\",\"arguments\":{%s}}", command, arguments);
	json_t *reply = ask(w, line);

	if (!is_ok(reply))
		fail_msg("%s: %s", line, json_string_value(message(reply)));
	return reply;
}

static const char *text(json_t *object, const char *key)
{
	const char *value = json_string_value(json_object_get(object, key));

	return value ? value : "";
}

static uint64_t bytes_of(const struct flow_record *flow)
{
	return flow->bytes[0] + flow->bytes[1];
}

// What a filter says, the simple way.
static bool is_app_1(const struct flow_record *flow)
{
	return flow->app == 1;
}
static bool is_unknown(const struct flow_record *flow)
{
	return flow->app == APP_NONE;
}
static bool is_p2p(const struct flow_record *flow)
{
	return flow->app == 1; // bittorrent; the other fake one is http
}
static bool has_port_80(const struct flow_record *flow)
{
	return flow->ends.port[0] == 80 || flow->ends.port[1] == 80;
}
static bool has_host(const struct flow_record *flow)
{
	return flow->ends.address[0][15] == 7;
}
static bool is_udp(const struct flow_record *flow)
{
	return flow->l4_proto == 17;
}
static bool has_rule(const struct flow_record *flow)
{
	return flow->rule_uid == 1;
}
static bool is_of_anna(const struct flow_record *flow)
{
	return flow->user_uid;
}
static bool is_of_nobody(const struct flow_record *flow)
{
	return !flow->user_uid;
}
static bool is_default(const struct flow_record *flow)
{
	return flow->rule_uid == 0;
}
static bool is_blocked(const struct flow_record *flow)
{
	return flow->lru_class == FLOW_CLASS_BLOCKED;
}
static bool is_closed(const struct flow_record *flow)
{
	return flow->lru_class == FLOW_CLASS_TCP_CLOSING;
}
static bool is_new(const struct flow_record *flow)
{
	return !is_blocked(flow) && !is_closed(flow) && !(flow->pkts[0] && flow->pkts[1]);
}
static bool is_established(const struct flow_record *flow)
{
	return !is_blocked(flow) && !is_closed(flow) && !is_new(flow);
}
static bool is_reset(const struct flow_record *flow)
{
	return flow->action == ACTION_RESET;
}
static bool is_sure(const struct flow_record *flow)
{
	return flow->confidence == CONFIDENCE_DPI || flow->confidence == CONFIDENCE_VERIFIED;
}
static bool is_inbound(const struct flow_record *flow)
{
	return !(flow->flags & FLOW_C2S_INSIDE);
}
static bool is_large(const struct flow_record *flow)
{
	return bytes_of(flow) >= 500000;
}
static bool is_elephant(const struct flow_record *flow)
{
	return flow->flags & FLOW_ELEPHANT;
}
static bool is_no_elephant(const struct flow_record *flow)
{
	return !is_elephant(flow);
}
static bool is_udp_inbound_large(const struct flow_record *flow)
{
	return is_udp(flow) && is_inbound(flow) && is_large(flow);
}

static void each_filter_selects(void **state)
{
	static const struct {
		const char *arguments;
		bool (*has)(const struct flow_record *flow);
	} cases[] = {
		{"\"app\":\"bittorrent\"", is_app_1},
		{"\"app\":\"unknown\"", is_unknown},
		{"\"category\":\"p2p\"", is_p2p},
		{"\"port\":80", has_port_80},
		{"\"host\":\"10.0.0.7\"", has_host},
		{"\"proto\":\"UDP\"", is_udp},
		{"\"proto\":\"udp\"", is_udp},
		{"\"proto\":17", is_udp},
		{"\"proto\":\"17\"", is_udp},
		{"\"rule\":\"no-bittorrent\"", has_rule},
		{"\"rule\":\"default\"", is_default},
		{"\"user\":\"anna\"", is_of_anna},
		{"\"user\":\"(none)\"", is_of_nobody},
		{"\"state\":\"new\"", is_new},
		{"\"state\":\"established\"", is_established},
		{"\"state\":\"closed\"", is_closed},
		{"\"state\":\"condemned\"", is_blocked},
		{"\"action\":\"reset\"", is_reset},
		{"\"confidence\":\"dpi\"", is_sure},
		{"\"direction\":\"inbound\"", is_inbound},
		{"\"min_bytes\":500000", is_large},
		{"\"elephant\":true", is_elephant},
		{"\"elephant\":false", is_no_elephant},
		{"\"proto\":\"UDP\",\"direction\":\"inbound\",\"min_bytes\":500000",
			is_udp_inbound_large},
	};
	struct world w;

	(void)state;
	open_world(&w);
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		json_t *reply = asked(&w, "flow-list", cases[i].arguments);
		json_t *list = json_object_get(message(reply), "flows");
		uint64_t expected = 0, first = 0;

		for (unsigned k = 0; k < N; k++) {
			if (!cases[i].has(&flows[k]))
				continue;
			if (!expected++)
				first = flows[k].flow_id;
		}
		print_message("%s: %llu\n", cases[i].arguments, (unsigned long long)expected);
		assert_int_equal(number(message(reply), "matched"), expected);
		assert_int_equal(number(message(reply), "total"), N);
		assert_int_equal(json_array_size(list), expected < 100 ? expected : 100);
		// unsorted, the first is the first of the first lcore
		if (expected)
			assert_int_equal(number(json_array_get(list, 0), "flow_id"), first);
		json_decref(reply);
	}
	world_free(&w);
}

static unsigned sorted_by;
static bool ascending;
static const char *const sorts[] = {"bytes", "packets", "rate", "age", "idle", "start"};

static uint64_t sort_value(const struct flow_record *flow)
{
	switch (sorted_by) {
	case 0: return bytes_of(flow);
	case 1: return flow->pkts[0] + flow->pkts[1];
	case 2: return flow->rate_bytes_s;
	case 3: return UINT64_MAX - flow->start_ns; // oldest first
	case 4: return UINT64_MAX - flow->last_ns;
	default: return flow->start_ns;
	}
}

static int compare(const void *a, const void *b)
{
	const struct flow_record *x = a, *y = b;
	uint64_t left = sort_value(x), right = sort_value(y);

	if (left != right)
		return (left < right) == ascending ? -1 : 1;
	return x->flow_id < y->flow_id ? -1 : 1;
}

static void lists_are_sorted_over_all_lcores(void **state)
{
	static struct flow_record sorted[N];
	static const unsigned pages[][2] = {{0, 1}, {0, 10}, {37, 100}, {N - 3, 10}, {N, 5}};
	struct world w;
	char arguments[128];

	(void)state;
	open_world(&w);
	for (sorted_by = 0; sorted_by < 6; sorted_by++) {
		for (unsigned order = 0; order < 2; order++) {
			ascending = order;
			memcpy(sorted, flows, sizeof sorted);
			qsort(sorted, N, sizeof sorted[0], compare);
			for (size_t p = 0; p < sizeof pages / sizeof pages[0]; p++) {
				snprintf(arguments, sizeof arguments,
					"\"sort\":\"%s\",\"order\":\"%s\",\"offset\":%u,\"limit\":"
					"%u",
					sorts[sorted_by], order ? "asc" : "desc", pages[p][0],
					pages[p][1]);
				json_t *reply = asked(&w, "flow-list", arguments);
				json_t *list = json_object_get(message(reply), "flows");
				unsigned left = N - pages[p][0];

				assert_int_equal(json_array_size(list),
					left < pages[p][1] ? left : pages[p][1]);
				for (unsigned i = 0; i < json_array_size(list); i++)
					assert_int_equal(number(json_array_get(list, i), "flow_id"),
						sorted[pages[p][0] + i].flow_id);
				json_decref(reply);
			}
		}
	}
	world_free(&w);
}

struct sums {
	char key[64];
	uint64_t flows, rate, bytes;
};
static struct sums table[512];
static unsigned n_sums;

static void sum_up(const char *key, const struct flow_record *flow)
{
	unsigned i = 0;

	while (i < n_sums && strcmp(table[i].key, key))
		i++;
	if (i == n_sums) {
		table[n_sums] = (struct sums){0};
		snprintf(table[n_sums++].key, sizeof table[0].key, "%s", key);
	}
	table[i].flows++;
	table[i].rate += flow->rate_bytes_s;
	table[i].bytes += bytes_of(flow);
}

static void sum_all(const char *by, const char *side)
{
	static const char *const apps[] = {"unknown", "bittorrent", "http"};
	static const char *const categories[] = {"unknown", "p2p", "web"};
	char host[2][32];

	n_sums = 0;
	for (unsigned i = 0; i < N; i++) {
		unsigned inside = !(flows[i].flags & FLOW_C2S_INSIDE);

		for (unsigned k = 0; k < 2; k++)
			snprintf(host[k], sizeof host[k], "10.0.%u.%u",
				flows[i].ends.address[k][14], flows[i].ends.address[k][15]);
		if (!strcmp(by, "app"))
			sum_up(apps[flows[i].app], &flows[i]);
		else if (!strcmp(by, "category"))
			sum_up(categories[flows[i].app], &flows[i]);
		else if (!strcmp(by, "rule"))
			sum_up(flows[i].rule_uid ? "no-bittorrent" : "default", &flows[i]);
		else if (!strcmp(by, "user"))
			sum_up(flows[i].user_uid ? "anna" : "(none)", &flows[i]);
		if (!strcmp(by, "host") && strcmp(side, "outside"))
			sum_up(host[inside], &flows[i]);
		if (!strcmp(by, "host") && strcmp(side, "inside"))
			sum_up(host[!inside], &flows[i]);
	}
}

static uint64_t sums_value(const struct sums *sums, const char *order)
{
	return !strcmp(order, "rate") ? sums->rate : *order == 'b' ? sums->bytes : sums->flows;
}

static void expect_top(struct world *w, const char *by, const char *side, const char *order)
{
	char arguments[128];

	snprintf(arguments, sizeof arguments, "\"by\":\"%s\",\"order\":\"%s\",\"limit\":1000%s%s%s",
		by, order, *side ? ",\"side\":\"" : "", side, *side ? "\"" : "");
	json_t *reply = asked(w, "top", arguments), *rows = json_object_get(message(reply), "rows");
	uint64_t before = UINT64_MAX;

	sum_all(by, *side ? side : "inside");
	assert_int_equal(number(message(reply), "keys"), n_sums);
	assert_int_equal(json_array_size(rows), n_sums);
	assert_int_equal(number(message(reply), "matched"), N);
	for (unsigned i = 0; i < n_sums; i++) {
		json_t *row = json_array_get(rows, i);
		unsigned k = 0;

		while (k < n_sums && strcmp(table[k].key, text(row, "key")))
			k++;
		if (k == n_sums)
			fail_msg("%s: no such key", text(row, "key"));
		assert_int_equal(number(row, "flows"), table[k].flows);
		assert_int_equal(number(row, "rate_bytes_s"), table[k].rate);
		assert_int_equal(number(row, "bytes"), table[k].bytes);
		assert_true(sums_value(&table[k], order) <= before);
		before = sums_value(&table[k], order);
	}
	json_decref(reply);
}

static void top_sums_what_a_loop_sums(void **state)
{
	static const char *const orders[] = {"rate", "bytes", "flows"};
	struct world w;

	(void)state;
	open_world(&w);
	for (unsigned i = 0; i < 3; i++) {
		expect_top(&w, "app", "", orders[i]);
		expect_top(&w, "category", "", orders[i]);
		expect_top(&w, "rule", "", orders[i]);
		expect_top(&w, "user", "", orders[i]);
		expect_top(&w, "host", "", orders[i]);
		expect_top(&w, "host", "outside", orders[i]);
		expect_top(&w, "host", "both", orders[i]);
	}
	world_free(&w);
}

static void top_flows_are_the_fastest(void **state)
{
	static struct flow_record sorted[N];
	struct world w;

	(void)state;
	open_world(&w);
	sorted_by = 2;
	ascending = false;
	memcpy(sorted, flows, sizeof sorted);
	qsort(sorted, N, sizeof sorted[0], compare);
	json_t *reply = asked(&w, "top", "\"limit\":7"), *rows;
	char key[24];
	uint64_t rate = 0;

	rows = json_object_get(message(reply), "rows");
	assert_int_equal(json_array_size(rows), 7);
	for (unsigned i = 0; i < 7; i++) {
		snprintf(key, sizeof key, "%llu", (unsigned long long)sorted[i].flow_id);
		assert_string_equal(text(json_array_get(rows, i), "key"), key);
		assert_int_equal(number(json_array_get(rows, i), "bytes"), bytes_of(&sorted[i]));
		assert_int_equal(
			number(json_array_get(rows, i), "rate_bytes_s"), sorted[i].rate_bytes_s);
	}
	for (unsigned i = 0; i < N; i++)
		rate += flows[i].rate_bytes_s;
	assert_int_equal(number(message(reply), "rate_bytes_s"), rate);
	json_decref(reply);
	// the filters are those of lists
	reply = asked(&w, "top", "\"by\":\"app\",\"proto\":\"UDP\"");
	uint64_t udp = 0;

	for (unsigned i = 0; i < N; i++)
		udp += is_udp(&flows[i]);
	assert_int_equal(number(message(reply), "matched"), udp);
	json_decref(reply);
	world_free(&w);
}

// Groups are of all that match, each flow says which is its own, and the best comes first.
static void lists_are_grouped(void **state)
{
	static const char *const groups[] = {"host", "user", "app", "rule", "category"};
	struct world w;
	char arguments[128];

	(void)state;
	open_world(&w);
	for (size_t g = 0; g < sizeof groups / sizeof groups[0]; g++) {
		uint64_t before = UINT64_MAX;

		snprintf(arguments, sizeof arguments,
			"\"group\":\"%s\",\"sort\":\"%s\",\"limit\":500", groups[g],
			g % 2 ? "rate" : "bytes");
		json_t *reply = asked(&w, "flow-list", arguments);
		json_t *rows = json_object_get(message(reply), "groups");
		json_t *list = json_object_get(message(reply), "flows");

		sum_all(groups[g], "inside");
		assert_string_equal(text(message(reply), "group"), groups[g]);
		assert_int_equal(number(message(reply), "group_keys"), n_sums);
		assert_int_equal(json_array_size(rows), n_sums);
		for (unsigned i = 0; i < n_sums; i++) {
			json_t *row = json_array_get(rows, i);
			const char *key = text(row, "key");
			unsigned k = 0;

			while (k < n_sums && strcmp(table[k].key, key))
				k++;
			assert_true(k < n_sums);
			assert_int_equal(number(row, "flows"), table[k].flows);
			assert_int_equal(number(row, "bytes"), table[k].bytes);
			assert_true(sums_value(&table[k], g % 2 ? "rate" : "bytes") <= before);
			before = sums_value(&table[k], g % 2 ? "rate" : "bytes");
		}
		assert_int_equal(json_array_size(list), 500);
		for (unsigned i = 0; i < 500 && !strcmp(groups[g], "user"); i++) {
			const char *user = text(json_array_get(list, i), "user");

			assert_string_equal(
				text(json_array_get(list, i), "group"), *user ? user : "(none)");
		}
		json_decref(reply);
	}
	json_t *reply = asked(&w, "flow-list", "\"limit\":1");

	assert_null(json_object_get(message(reply), "groups"));
	json_decref(reply);
	world_free(&w);
}

static void wrong_arguments_are_refused(void **state)
{
	static const char *const cases[][3] = {
		{"flow-list", "\"sort\":\"size\"", "bytes, packets, rate"},
		{"flow-list", "\"order\":\"asc\"", "sort"},
		{"flow-list", "\"sort\":\"bytes\",\"order\":\"up\"", "desc"},
		{"flow-list", "\"port\":0", "1 to 65535"},
		{"flow-list", "\"port\":65536", "65535"},
		{"flow-list", "\"port\":-1", "65535"},
		{"flow-list", "\"port\":80.5", "port"},
		{"flow-list", "\"proto\":\"quic\"", "quic"},
		{"flow-list", "\"proto\":\"300\"", "300"},
		{"flow-list", "\"proto\":255", "254"},
		{"flow-list", "\"proto\":\"\"", "protocol"},
		{"flow-list", "\"rule\":\"nosuch\"", "nosuch"},
		{"flow-list", "\"rule\":7", "text"},
		{"flow-list", "\"state\":\"dead\"", "condemned"},
		{"flow-list", "\"action\":\"block\"", "reset"},
		{"flow-list", "\"confidence\":\"high\"", "verified"},
		{"flow-list", "\"direction\":\"up\"", "inbound"},
		{"flow-list", "\"min_bytes\":-5", "min_bytes"},
		{"flow-list", "\"elephant\":\"yes\"", "true or false"},
		{"flow-list", "\"category\":\"games\"", "p2p"},
		{"flow-list", "\"offset\":100001", "100000"},
		{"flow-list", "\"\":1", "none of them"},
		{"flow-list", "\"por\":1", "none of them"},
		{"flow-list", "\"port, proto\":1", "none of them"},
		{"flow-list", "\"by\":\"app\"", "none of them"},
		{"flow-list", "\"user\":\"bert\"", "no user \"bert\""},
		{"flow-list", "\"group\":\"flow\"", "host, user, app"},
		{"top", "\"group\":\"app\"", "none of them"},
		{"top", "\"by\":\"user\",\"side\":\"inside\"", "host"},
		{"top", "\"by\":\"port\"", "category"},
		{"top", "\"order\":\"flows\"", "rate or bytes"},
		{"top", "\"by\":\"app\",\"side\":\"inside\"", "host"},
		{"top", "\"by\":\"host\",\"side\":\"left\"", "both"},
		{"top", "\"limit\":1001", "1000"},
		{"top", "\"offset\":1", "none of them"},
		{"top", "\"host\":\"10.0.0.0/33\"", "10.0.0.0/33"},
		{"top", "\"host\":\"10.0.0.1/8\"", "prefix"},
	};
	struct world w;
	char line[256];

	(void)state;
	open_world(&w);
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		snprintf(line, sizeof line, "{\"command\":\"%s\",\"arguments\":{%s}}", cases[i][0],
			cases[i][1]);
		asks_nok(&w, line, cases[i][2]);
	}
	world_free(&w);
}

// What has no ports does not say that they are 0; TCP and UDP say theirs.
static void flows_have_the_ports_of_their_protocol(void **state)
{
	struct world w;
	size_t i;

	(void)state;
	open_world(&w);
	json_t *reply = asked(&w, "flow-list", "\"limit\":1000"), *row;

	json_array_foreach (json_object_get(message(reply), "flows"), i, row) {
		bool icmp = !strcmp(text(row, "proto"), "ICMP");

		assert_int_equal(json_object_get(row, "src_port") == NULL, icmp);
		assert_int_equal(json_object_get(row, "dest_port") == NULL, icmp);
	}
	assert_true(i > 100);
	json_decref(reply);
	world_free(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(flows_have_the_ports_of_their_protocol),
		cmocka_unit_test(each_filter_selects),
		cmocka_unit_test(lists_are_sorted_over_all_lcores),
		cmocka_unit_test(top_sums_what_a_loop_sums),
		cmocka_unit_test(top_flows_are_the_fastest),
		cmocka_unit_test(lists_are_grouped),
		cmocka_unit_test(wrong_arguments_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
