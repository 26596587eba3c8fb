// SPDX-License-Identifier: BSD-3-Clause
// Each row of the tables in app/pipeline is shown by the control socket, /metrics and DPDK's
// telemetry, under its name and with its own number: nothing is left out, or given another's.
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <rte_telemetry.h>

#include "control/ctl/telemetry.h"
#include "control/http/metrics.h"
#include "control/stats/sum.h"
#include "lib/control/control_world.h"

// What an lcore counts besides STATS_COUNTERS and STATS_GAUGES, by where it is shown.
#define MORE_JSON(X)        \
	X(fragments_held)   \
	X(datagrams_held)   \
	X(flows_active)     \
	X(elephants_active) \
	X(embryos_active)   \
	X(cache_entries)
#define MORE_TELEMETRY(X) \
	X(held_pkts)      \
	X(flows_active)   \
	X(embryos_active) \
	X(cache_entries)
#define MORE_METRICS(X)         \
	X(held_pkts, "")        \
	X(fragments_held, "")   \
	X(datagrams_held, "")   \
	X(flows_active, "")     \
	X(elephants_active, "") \
	X(embryos_active, "")   \
	X(cache_entries, "")    \
	X(loops, "_total")      \
	X(busy_loops, "_total")
#define TIMES(X)                               \
	X("lcore_busy_seconds_total", busy_ns) \
	X("lcore_loop_seconds_total", loop_ns) \
	X("lcore_heartbeat_timestamp_seconds", heartbeat_ns)

static struct world world;
static struct port_counters counted;
static json_t *dict; // what telemetry was told last
static telemetry_cb tel_stats, tel_lcores;

// DPDK's, for want of EAL.

int rte_telemetry_register_cmd(const char *command, telemetry_cb call, const char *help)
{
	(void)help;
	if (strcmp(command, "/sluice/stats") == 0)
		tel_stats = call;
	if (strcmp(command, "/sluice/lcores") == 0)
		tel_lcores = call;
	return 0;
}

static json_t *nested; // the object that is being filled, inside of `dict`

static json_t **object_of(const struct rte_tel_data *out)
{
	return out == (void *)&nested ? &nested : &dict;
}

struct rte_tel_data *rte_tel_data_alloc(void)
{
	assert_null(nested);
	return (struct rte_tel_data *)(void *)&nested;
}

void rte_tel_data_free(struct rte_tel_data *out)
{
	json_decref(*object_of(out));
	*object_of(out) = NULL;
}

int rte_tel_data_start_dict(struct rte_tel_data *out)
{
	json_t **object = object_of(out);

	json_decref(*object);
	*object = json_object();
	return 0;
}

int rte_tel_data_add_dict_u64(struct rte_tel_data *out, const char *name, uint64_t value)
{
	assert_null(json_object_get(*object_of(out), name));
	return json_object_set_new(*object_of(out), name, json_integer((json_int_t)value));
}

int rte_tel_data_add_dict_container(
	struct rte_tel_data *out, const char *name, struct rte_tel_data *inner, int keep)
{
	json_t *object = *object_of(inner);

	(void)keep;
	*object_of(inner) = NULL;
	assert_null(json_object_get(*object_of(out), name));
	return json_object_set_new(*object_of(out), name, object);
}

int rte_tel_data_add_dict_int(struct rte_tel_data *out, const char *name, int value)
{
	return rte_tel_data_add_dict_u64(out, name, (uint64_t)value);
}

static void read_port(void *ctx, struct port_counters *out)
{
	*out = *(const struct port_counters *)ctx;
}

// No two words of an lcore are the same, nor those of two lcores.
static int begin(void **state)
{
	struct dataplane *dp;
	uint64_t next = 1000;

	(void)state;
	world_new(&world);
	dp = world.context.dp;
	for (unsigned i = 0; i < dp->n_lcores; i++) {
		uint64_t *words = (uint64_t *)&dp->lcores[i]->stats;

		for (size_t w = 0; w < sizeof(struct stats) / sizeof *words; w++)
			words[w] = next += 7 + i;
	}
#define X(name, help) counted.name = next += 7;
	PORT_COUNTERS(X)
#undef X
	dp->ports[0].counters = read_port;
	dp->ports[0].ctx = &counted;
	assert_int_equal(telemetry_start(&world.context), 0);
	return 0;
}

static int end(void **state)
{
	(void)state;
	telemetry_stop();
	json_decref(dict);
	dict = NULL;
	world_free(&world);
	return 0;
}

static void has(const json_t *object, const char *key, uint64_t value)
{
	const json_t *number = json_object_get(object, key);

	if (!json_is_integer(number) || (uint64_t)json_integer_value(number) != value)
		fail_msg("%s is not %" PRIu64, key, value);
}

static void the_control_socket_shows_each(void **state)
{
	json_t *root = stats_json(world.context.dp, 0);
	json_t *port = json_array_get(json_object_get(root, "ports"), 0);
	json_t *dropped = json_object_get(root, "dropped");
	struct stats stats[3];

	(void)state;
	stats_sum(world.context.dp, &stats[2], NULL);
	for (unsigned i = 0; i < 3; i++) {
		json_t *of = i < 2 ? json_array_get(json_object_get(root, "lcores"), i) : root;
		json_t *counters = json_object_get(of, "counters");

		if (i < 2)
			stats_lcore(world.context.dp->lcores[i], &stats[i]);
#define X(name, help) has(counters, #name, stats[i].name);
		STATS_COUNTERS(X)
		STATS_GAUGES(X)
#undef X
#define X(name) has(counters, #name, stats[i].name);
		MORE_JSON(X)
#undef X
	}
	for (unsigned i = 0; i < DROP_REASONS_MAX; i++)
		has(dropped, drop_reason_word(i), stats[2].dropped_pkts[i]);
#define X(name, help) has(port, #name, counted.name);
	PORT_COUNTERS(X)
#undef X
	json_decref(root);
}

static void telemetry_shows_each(void **state)
{
	static const char *const lcores[] = {"0", "1", NULL};
	struct stats stats;

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		if (lcores[i]) {
			stats_lcore(world.context.dp->lcores[i], &stats);
			assert_int_equal(tel_lcores("/sluice/lcores", lcores[i], NULL), 0);
		} else {
			stats_sum(world.context.dp, &stats, NULL);
			assert_int_equal(tel_stats("/sluice/stats", NULL, NULL), 0);
		}
#define X(name, help) has(dict, #name, stats.name);
		STATS_COUNTERS(X)
		STATS_GAUGES(X)
#undef X
#define X(name) has(dict, #name, stats.name);
		MORE_TELEMETRY(X)
#undef X
		for (unsigned k = 0; k < DROP_REASONS_MAX; k++)
			has(json_object_get(dict, "dropped_pkts"), drop_reason_word(k),
				stats.dropped_pkts[k]);
		// what is beyond it, DPDK leaves out
		assert_in_range(json_object_size(dict), 1, RTE_TEL_MAX_DICT_ENTRIES);
	}
}

static void has_text(const struct text *text, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
static void has_text(const struct text *text, const char *format, ...)
{
	char wanted[512];
	va_list args;

	va_start(args, format);
	vsnprintf(wanted, sizeof wanted, format, args);
	va_end(args);
	if (!memmem(text->bytes, text->length, wanted, strlen(wanted)))
		fail_msg("/metrics has no %s", wanted);
}

static void metrics_show_each(void **state)
{
	struct metrics m = {.openmetrics = true};
	struct stats stats[2];
	struct text seconds;

	(void)state;
	metrics_put_ports(&m, &world.context);
	metrics_put_lcores(&m, &world.context);
	assert_false(m.text.failed);
	for (unsigned i = 0; i < 2; i++) {
		stats_lcore(world.context.dp->lcores[i], &stats[i]);
		for (unsigned k = 0; k < DROP_REASONS_MAX; k++)
			has_text(&m.text,
				"sluice_dropped_pkts_total{lcore=\"%u\",reason=\"%s\"} %" PRIu64
				"\n",
				i, drop_reason_word(k), stats[i].dropped_pkts[k]);
#define X(name, suffix) \
	has_text(&m.text, "sluice_" #name suffix "{lcore=\"%u\"} %" PRIu64 "\n", i, stats[i].name);
		MORE_METRICS(X)
#undef X
#define X(name, member)                                                                   \
	seconds = (struct text){0};                                                       \
	text_seconds(&seconds, stats[i].member);                                          \
	has_text(&m.text, "sluice_" name "{lcore=\"%u\"} %.*s\n", i, (int)seconds.length, \
		seconds.bytes);                                                           \
	text_free(&seconds);
		TIMES(X)
#undef X
	}
#define FAMILY(name, type, suffix, help)                                                          \
	has_text(&m.text,                                                                         \
		"# TYPE sluice_%s %s\n# HELP sluice_%s %s\n"                                      \
		"sluice_%s%s{lcore=\"0\"} %" PRIu64 "\nsluice_%s%s{lcore=\"1\"} %" PRIu64 "\n# ", \
		#name, type, #name, help, #name, suffix, stats[0].name, #name, suffix,            \
		stats[1].name);
#define X(name, help) FAMILY(name, "counter", "_total", help)
	STATS_COUNTERS(X)
#undef X
#define X(name, help) FAMILY(name, "gauge", "", help)
	STATS_GAUGES(X)
#undef X
#define X(name, help)                                                               \
	has_text(&m.text,                                                           \
		"# HELP sluice_port_%s %s\n"                                        \
		"sluice_port_%s_total{port=\"lan\",side=\"inside\"} %" PRIu64 "\n", \
		#name, help, #name, counted.name);
	PORT_COUNTERS(X)
#undef X
	text_free(&m.text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(the_control_socket_shows_each, begin, end),
		cmocka_unit_test_setup_teardown(telemetry_shows_each, begin, end),
		cmocka_unit_test_setup_teardown(metrics_show_each, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
