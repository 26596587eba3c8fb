// SPDX-License-Identifier: BSD-3-Clause
// The documents of /api, whole: each member of docs/metrics.md has its own number, and no other.
#include "lib/control/control_world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <rte_mempool.h>

#include "control/event/recent_verdicts.h"
#include "control/http/site.h"
#include "control/stats/rates.h"
#include "lib/control/fake_control.h"
#include "pipeline/limits.h"
#include "pipeline/vocab/tick.h"

#define NOW_NS (1695017621ull * NS_PER_S + 532140000)

static struct world world;
static struct rates rates;
static struct recent_verdicts recent;
static struct http_site site;
static struct port_counters counted[2];
static struct rte_mempool pools[2];

// DPDK's, for want of EAL.
unsigned rte_mempool_avail_count(const struct rte_mempool *pool)
{
	return pool->size - 10;
}

static uint64_t stopped_clock(void)
{
	return NOW_NS;
}

static void read_port(void *ctx, struct port_counters *out)
{
	*out = *(const struct port_counters *)ctx;
}

static void count_lcore(struct lcore *lcore, unsigned i)
{
	struct stats *stats = &lcore->stats;
	uint64_t more = 1000 * i;

	stats->flows_active = 11 + more;
	stats->embryos_active = 12 + more;
	stats->flows_condemned = 13 + more;
	stats->monitor_hits = 14 + more;
	stats->received_pkts = 5015 + more;
	stats->received_bytes = 16 + more;
	stats->sent_pkts = 17 + more;
	stats->cache_hits = 18 + more;
	stats->cache_saved_bytes = 19 + more;
	stats->cache_learned = 20 + more;
	stats->cache_expired = 21 + more;
	stats->cache_evicted = 22 + more;
	stats->cache_entries = 23 + 7 * (1 - i);
	stats->events_lost = 24 + more;
	stats->busy_permille = 25 + 7 * i;
	stats->heartbeat_ns = NOW_NS - (26 + i) * NS_PER_MS;
	stats->dropped_pkts[DROP_RULE] = 27 + more;
	for (unsigned app = 1; app < 3; app++)
		lcore->apps[app] = (struct app_usage){
			.pkts = {100 * app + 1 + more, 100 * app + 2 + more},
			.bytes = {100 * app + 3 + more, 100 * app + 4 + more},
			.flows = 100 * app + 5 + more,
			.flows_active = 100 * app + 6 + more,
			.flows_blocked = 100 * app + 7 + more,
		};
}

// Any one of what makes an application worth a row.
static void count_little(struct dataplane *dp)
{
	dp->lcores[0]->apps[3].pkts[HALF_S2C] = 1;
	dp->lcores[1]->apps[4].flows_blocked = 1;
}

static void count_ports(struct dataplane *dp)
{
	for (unsigned i = 0; i < 2; i++) {
		counted[i] = (struct port_counters){
			.rx_pkts = 31 + 100 * i,
			.tx_pkts = 32 + 100 * i,
			.rx_missed = 33 + 100 * i,
			.rx_nombuf = 34 + 100 * i,
			.rx_errors = 35 + 100 * i,
			.tx_errors = 36 + 100 * i,
			.speed_mbps = 37 + 100 * i,
			.link_up = i == 0,
		};
		dp->ports[i].counters = read_port;
		dp->ports[i].ctx = &counted[i];
		rates.ports[i] = counted[i];
		pools[i].size = 41 + 100 * i;
		snprintf(pools[i].name, sizeof pools[i].name, "pool%u", i);
		dp->lcores[i]->pool = &pools[i];
	}
}

static void sample_rates(void)
{
	rates.context = &world.context;
	rates.sampled_ns = NOW_NS - 51 * NS_PER_MS;
	rates.n = 2;
	rates.next = 1; // the older one is at the end of the ring
	rates.samples[RATES_SAMPLES - 1] = (struct rates_sample){{52, 53}, {54, 55}, 56};
	rates.samples[0] = (struct rates_sample){{57, 58}, {59, 60}, 61};
	rates.app_bytes_s[1] = 62;
	rates.lcore_pkts_s[0] = 63;
	rates.lcore_pkts_s[1] = 64;
}

static struct event verdict(uint64_t flow_id)
{
	return (struct event){
		.type = EVENT_ALERT,
		.now_ns = NOW_NS - flow_id * NS_PER_MS,
		.flow_id = flow_id,
		.generation = 71,
		.app = 1,
		.confidence = CONFIDENCE_VERIFIED,
		.action = ACTION_RESET,
		.mode = flow_id == 72 ? MODE_ENFORCE : MODE_MONITOR,
		.l4_proto = 6,
		.rule_uid = flow_id == 72 ? rule_names_intern(world.context.names, "no-p2p") : 0,
		.ends = fake_ends("10.0.0.1", 40001, "2001:db8::1", 6881),
	};
}

static void remember(void)
{
	struct event event = verdict(72);

	recent_verdicts_add(&recent, &event);
	event = verdict(73);
	event.confidence = CONFIDENCE_NONE;
	event.app = APP_NONE;
	event.l4_proto = 1; // which has no ports
	recent_verdicts_add(&recent, &event);
	for (uint64_t i = 0; i < 2; i++) {
		event = verdict(74 + i);
		event.type = EVENT_CONNCACHE;
		event.ends.port[HALF_S2C] += (uint16_t)i;
		event.conncache.cache_mode = i ? CACHE_TUPLE : CACHE_PEER;
		event.conncache.from_inside = i == 1;
		event.conncache.by_hand = i == 1;
		event.conncache.expires_ns = NOW_NS + (76 + i) * NS_PER_MS;
		recent_verdicts_add(&recent, &event);
	}
	recent.entries[0].hits = 1;
}

static int begin(void **state)
{
	struct dataplane *dp;

	(void)state;
	world_new(&world);
	rates = (struct rates){0};
	recent = (struct recent_verdicts){0};
	world.context.now_ns = stopped_clock;
	world.context.started_ns = NOW_NS - 81 * NS_PER_S;
	world.context.cache_flushed_ns = 0;
	world.context.sink = world.sink;
	dp = world.context.dp;
	for (unsigned i = 0; i < dp->n_lcores; i++)
		count_lcore(dp->lcores[i], i);
	count_little(dp);
	count_ports(dp);
	sample_rates();
	remember();
	site = (struct http_site){
		.context = &world.context, .rates = &rates, .recent_verdicts = &recent};
	return 0;
}

static int end(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 2; i++)
		world.context.dp->lcores[i]->pool = NULL;
	world_free(&world);
	return 0;
}

// The document, but what other tests hold: its members in their order; ' stands for ".
static void is(int (*document)(const struct http_site *, struct text *), const char *quoted)
{
	char *wanted = strdup(quoted), *told;
	struct text text = {0};
	json_t *root;

	assert_non_null(wanted);
	for (char *at = wanted; *at; at++)
		if (*at == '\'')
			*at = '"';
	assert_int_equal(document(&site, &text), 0);
	root = json_loadb(text.bytes, text.length, JSON_REJECT_DUPLICATES, NULL);
	json_object_del(root, "attention");
	json_object_del(root, "dropped");
	told = json_dumps(root, JSON_COMPACT);
	assert_non_null(told);
	if (strcmp(told, wanted) != 0)
		fail_msg("is  %s\nnot %s", told, wanted);
	free(told);
	json_decref(root);
	text_free(&text);
	free(wanted);
}

static void the_summary(void **state)
{
	(void)state;
	is(api_summary,
		"{'now_ms':1695017621532,'version':'0.1.0','actions':false,'uptime_s':81,"
		"'policy':{'generation':1,'path':'/etc/policy.json','loaded_ms':0,'failures':0,"
		"'rules':1,'monitor':false,'enforces':false},'flows_active':1022,"
		"'embryos_active':1024,'flows_blocked':1026,'monitor_hits':1028,"
		"'received_pkts':11030,'received_bytes':1032,'sent_pkts':1034,'history':{"
		"'end_ms':1695017621481,'step_ms':1000,'in_bits_s':[416,456],'out_bits_s':[424,"
		"464],'in_pkts_s':[54,59],'out_pkts_s':[55,60],'dropped_pkts_s':[56,61]}}");
	site.actions = true;
	world.context.started_ns = NOW_NS + 1; // a clock that was set back
	is(api_summary,
		"{'now_ms':1695017621532,'version':'0.1.0','actions':true,'uptime_s':0,"
		"'policy':{'generation':1,'path':'/etc/policy.json','loaded_ms':0,'failures':0,"
		"'rules':1,'monitor':false,'enforces':false},'flows_active':1022,"
		"'embryos_active':1024,'flows_blocked':1026,'monitor_hits':1028,"
		"'received_pkts':11030,'received_bytes':1032,'sent_pkts':1034,'history':{"
		"'end_ms':1695017621481,'step_ms':1000,'in_bits_s':[416,456],'out_bits_s':[424,"
		"464],'in_pkts_s':[54,59],'out_pkts_s':[55,60],'dropped_pkts_s':[56,61]}}");
}

static void applications(void **state)
{
	(void)state;
	is(api_apps,
		"{'now_ms':1695017621532,'apps':[{'app':'bittorrent','title':'BitTorrent',"
		"'category':'p2p','flows_active':1212,'flows':1210,'flows_blocked':1214,"
		"'bytes_to_server':1206,'bytes_to_client':1208,'pkts':2406,'bits_s':496},{"
		"'app':'http','title':'HTTP','category':'web','flows_active':1412,'flows':1410,"
		"'flows_blocked':1414,'bytes_to_server':1406,'bytes_to_client':1408,"
		"'pkts':2806,'bits_s':0},{'app':'','title':'Unknown','category':'',"
		"'flows_active':0,'flows':0,'flows_blocked':0,'bytes_to_server':0,"
		"'bytes_to_client':0,'pkts':1,'bits_s':0},{'app':'','title':'Unknown',"
		"'category':'','flows_active':0,'flows':0,'flows_blocked':1,"
		"'bytes_to_server':0,'bytes_to_client':0,'pkts':0,'bits_s':0}]}");
}

static void verdicts(void **state)
{
	(void)state;
	is(api_verdicts,
		"{'now_ms':1695017621532,'seen':2,'verdicts':[{'time_ms':1695017621459,"
		"'app':'','title':'Unknown','category':'','rule':'','client':{'ip':'10.0.0.1'},"
		"'server':{'ip':'2001:db8::1'},'proto':'ICMP','seq':2,'flow_id':73,"
		"'action':'reset','monitor':true,'generation':71},{'time_ms':1695017621460,"
		"'app':'bittorrent','title':'BitTorrent','category':'p2p',"
		"'confidence':'verified','rule':'no-p2p','client':{'ip':'10.0.0.1',"
		"'port':40001},'server':{'ip':'2001:db8::1','port':6881},'proto':'TCP','seq':1,"
		"'flow_id':72,'action':'reset','monitor':false,'generation':71}]}");
}

static void the_cache(void **state)
{
	(void)state;
	is(api_cache,
		"{'now_ms':1695017621532,'entries':30,'capacity':0,'hits':1036,"
		"'saved_bytes':1038,'learned':1040,'expired':1042,'evicted':1044,'recent':[{"
		"'time_ms':1695017621457,'app':'bittorrent','title':'BitTorrent',"
		"'category':'p2p','confidence':'verified','rule':'','client':{'ip':'10.0.0.1'},"
		"'server':{'ip':'2001:db8::1','port':6882},'proto':'TCP','seq':2,"
		"'mode':'tuple','zone':'inside','expires_ms':1695017621609,'hit':false,"
		"'operator':true,'state':'live'},{'time_ms':1695017621458,'app':'bittorrent',"
		"'title':'BitTorrent','category':'p2p','confidence':'verified','rule':'',"
		"'client':{'ip':'10.0.0.1'},'server':{'ip':'2001:db8::1','port':6881},"
		"'proto':'TCP','seq':1,'mode':'peer','zone':'outside',"
		"'expires_ms':1695017621608,'hit':true,'state':'live'}]}");
	world.context.cache_flushed_ns = NOW_NS - 75 * NS_PER_MS; // when the second one was learned
	is(api_cache,
		"{'now_ms':1695017621532,'entries':30,'capacity':0,'hits':1036,"
		"'saved_bytes':1038,'learned':1040,'expired':1042,'evicted':1044,'recent':[{"
		"'time_ms':1695017621457,'app':'bittorrent','title':'BitTorrent',"
		"'category':'p2p','confidence':'verified','rule':'','client':{'ip':'10.0.0.1'},"
		"'server':{'ip':'2001:db8::1','port':6882},'proto':'TCP','seq':2,"
		"'mode':'tuple','zone':'inside','expires_ms':1695017621609,'hit':false,"
		"'operator':true,'state':'removed'},{'time_ms':1695017621458,"
		"'app':'bittorrent','title':'BitTorrent','category':'p2p',"
		"'confidence':'verified','rule':'','client':{'ip':'10.0.0.1'},'server':{"
		"'ip':'2001:db8::1','port':6881},'proto':'TCP','seq':1,'mode':'peer',"
		"'zone':'outside','expires_ms':1695017621608,'hit':true,'state':'live'}]}");
}

static void health(void **state)
{
	(void)state;
	is(api_health,
		"{'now_ms':1695017621532,'lcores':[{'lcore':0,'busy_permille':25,"
		"'silent_ms':26,'pkts_s':63,'flows_active':11,'events_lost':24},{'lcore':1,"
		"'busy_permille':32,'silent_ms':27,'pkts_s':64,'flows_active':1011,"
		"'events_lost':1024}],'ports':[{'name':'lan','side':'inside','up':true,"
		"'speed_mbps':37,'rx_pkts':31,'tx_pkts':32,'rx_missed':33,'rx_nombuf':34,"
		"'errors':71},{'name':'wan','side':'outside','up':false,'speed_mbps':137,"
		"'rx_pkts':131,'tx_pkts':132,'rx_missed':133,'rx_nombuf':134,'errors':271}],"
		"'pools':[{'name':'pool0','size':41,'free':31},{'name':'pool1','size':141,"
		"'free':131}],'unaccounted':8942,'events':{'written':0,'failed':0,'limited':0,"
		"'limited_unheard':0,'lost':1048},'policy':{'generation':1,"
		"'path':'/etc/policy.json','loaded_ms':0,'failures':0,'rules':1,"
		"'monitor':false,'enforces':false}}");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(the_summary, begin, end),
		cmocka_unit_test_setup_teardown(applications, begin, end),
		cmocka_unit_test_setup_teardown(verdicts, begin, end),
		cmocka_unit_test_setup_teardown(the_cache, begin, end),
		cmocka_unit_test_setup_teardown(health, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
