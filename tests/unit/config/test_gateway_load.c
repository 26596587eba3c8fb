// SPDX-License-Identifier: BSD-3-Clause
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>
#include "lib/control/error_list.h"
#include "config/gateway.h"

// Tests are written with ' for ".
static char *quoted(const char *text)
{
	char *copy = strdup(text);

	assert_non_null(copy);
	for (char *c = copy; *c; c++)
		if (*c == '\'')
			*c = '"';
	return copy;
}

#define HEAD                                                                               \
	"{'schema_version':1,'ports':[{'name':'lan','device':'net_ring0'},"                \
	"{'name':'wan','device':'net_ring1'}],'pairs':[{'inside':'lan','outside':'wan'}]," \
	"'lcores':{'data':[1]}"
#define MINIMAL HEAD "}"

static struct gateway *good_set(const char *text, char *const *sets, unsigned n)
{
	struct config_errors errors = {0};
	struct gateway *gateway = NULL;
	char *json = quoted(text);
	int rc = gateway_parse(json, "g.json", sets, n, &gateway, &errors);

	expect_count(&errors, 0);
	assert_int_equal(rc, 0);
	assert_non_null(gateway);
	free(json);
	return gateway;
}

static struct gateway *good(const char *text)
{
	return good_set(text, NULL, 0);
}

static struct config_errors bad_set(const char *text, char *const *sets, unsigned n)
{
	struct config_errors errors = {0};
	struct gateway *gateway = NULL;
	char *json = quoted(text);

	assert_int_equal(gateway_parse(json, "g.json", sets, n, &gateway, &errors), -EINVAL);
	assert_null(gateway);
	assert_true(errors.n > 0);
	free(json);
	return errors;
}

// One error with these words.
#define BAD(text, ...)                                                 \
	do {                                                           \
		struct config_errors errors_ = bad_set(text, NULL, 0); \
		EXPECT_LINE(&errors_, __VA_ARGS__);                    \
		expect_count(&errors_, 1);                             \
		config_errors_free(&errors_);                          \
	} while (0)

static void test_defaults(void **state)
{
	struct gateway *gateway = good(MINIMAL);

	(void)state;
	assert_int_equal(gateway->n_ports, 2);
	assert_string_equal(gateway->ports[0].name, "lan");
	assert_string_equal(gateway->ports[1].device, "net_ring1");
	assert_int_equal(gateway->ports[0].rx_desc, 2048);
	assert_int_equal(gateway->ports[0].mtu, 0);
	assert_int_equal(gateway->ports[0].queues, 0);
	assert_int_equal(gateway->n_pairs, 1);
	assert_string_equal(gateway->pairs[0].outside, "wan");
	assert_int_equal(gateway->n_data, 1);
	assert_int_equal(gateway->data_cpus[0], 1);
	assert_int_equal(gateway->n_scan, 0);
	assert_int_equal(gateway->control_cpu, 0);
	assert_true(gateway->memory.hugepages);
	assert_int_equal(gateway->limits.flows, 1048576);
	assert_int_equal(gateway->stats_interval_s, 10);
	assert_int_equal(gateway->drain_s, 2);
	assert_int_equal(gateway->signature_cache_days, 30);
	assert_false(gateway->idle_sleep);
	assert_int_equal(gateway->vlan, GATEWAY_VLAN_SEPARATE);
	assert_true(gateway->flow_events);
	assert_true(gateway->drop_events);
	assert_true(gateway->greeting_events);
	assert_int_equal(gateway->limits.greetings, 65536);
	assert_string_equal(gateway->paths.control, "/run/sluice/control.sock");
	assert_null(gateway->paths.pidfile);
	assert_null(gateway->control_group);
	gateway_free(gateway);
	gateway_free(NULL);
}

static void test_all_keys(void **state)
{
	struct gateway *gateway = good(
		"{'$schema':'x','schema_version':1,'eal':['--no-pci','-v'],"
		"'ports':[{'name':'a','device':'0000:3b:00.0','mtu':9000,'rx_desc':2048,"
		"'tx_desc':512,'queues':4},{'name':'b','device':'0000:3b:00.1'}],"
		"'pairs':[{'inside':'b','outside':'a','mode':'bridge'}],"
		"'lcores':{'data':[1,1,2],'scan':[0],'control':3},"
		"'memory':{'mbufs':4096,'hugepages':false,'mb':256},"
		"'limits':{'flows':2048,'embryos':4096,'classifying':128,'conn_cache':64,"
		"'expectations':65,'endpoints':66,'names':0,'greetings':0,'evidence':2000,'tcp_s':"
		"1,'tcp_closing_"
		"s':2,'udp_s':3,'udp_"
		"one_way_s':4,"
		"'embryonic_s':5,'stateless_s':6,'condemned_s':7},"
		"'elephant':{'mbit_s':0,'seconds':9},"
		"'reassembly':{'memory_mb':3,'tracked':77,'half_kb':128,'held':99,'half_held':9,"
		"'hold_ms':700,'fast_pass':false},"
		"'stall':{'after_ms':700,'policy':'open'},'debug':true,"
		"'scan':{'engine':'null','flows':70,'timeout_ms':20,'on_timeout':'pass',"
		"'script':[{'half':'s2c','after_bytes':4294967295,'every':true,"
		"'verdict':'never','delay_ms':8}]},"
		"'paths':{'events':'-','control':'c','signatures':'s','cache':null,"
		"'pidfile':'p'},'control_group':'adm','stats_interval_s':0,'drain_s':1,'vlan':'"
		"shared',"
		"'idle_sleep':true,'flow_events':false,'drop_events':false,'greeting_events':"
		"false}");

	(void)state;
	assert_int_equal(gateway->n_eal, 2);
	assert_string_equal(gateway->eal[1], "-v");
	assert_int_equal(gateway->ports[0].mtu, 9000);
	assert_int_equal(gateway->ports[0].rx_desc, 2048);
	assert_int_equal(gateway->ports[0].tx_desc, 512);
	assert_int_equal(gateway->ports[0].queues, 4);
	assert_string_equal(gateway->pairs[0].inside, "b");
	assert_int_equal(gateway->n_data, 3);
	assert_int_equal(gateway->data_cpus[1], 1);
	assert_int_equal(gateway->n_scan, 1);
	assert_int_equal(gateway->control_cpu, 3);
	assert_int_equal(gateway->memory.mbufs, 4096);
	assert_false(gateway->memory.hugepages);
	assert_int_equal(gateway->memory.mb, 256);
	assert_int_equal(gateway->limits.expectations, 65);
	assert_int_equal(gateway->limits.endpoints, 66);
	assert_int_equal(gateway->limits.names, 0);
	assert_int_equal(gateway->limits.greetings, 0);
	assert_int_equal(gateway->limits.evidence, 2000);
	assert_int_equal(gateway->limits.condemned_s, 7);
	assert_int_equal(gateway->limits.tcp_s, 1);
	assert_int_equal(gateway->elephant.mbit_s, 0);
	assert_int_equal(gateway->elephant.seconds, 9);
	assert_int_equal(gateway->reassembly.memory_mb, 3);
	assert_int_equal(gateway->reassembly.tracked, 77);
	assert_int_equal(gateway->reassembly.half_kb, 128);
	assert_int_equal(gateway->reassembly.held, 99);
	assert_int_equal(gateway->reassembly.half_held, 9);
	assert_int_equal(gateway->reassembly.hold_ms, 700);
	assert_false(gateway->reassembly.fast_pass);
	assert_int_equal(gateway->stall.after_ms, 700);
	assert_int_equal(gateway->stall.policy, STALL_OPEN);
	assert_int_equal(gateway->scan.engine, SCAN_ENGINE_NULL);
	assert_int_equal(gateway->scan.flows, 70);
	assert_int_equal(gateway->scan.timeout_ms, 20);
	assert_int_equal(gateway->scan.on_timeout, SCAN_FAILURE_PASS);
	assert_int_equal(gateway->scan.on_error, SCAN_FAILURE_RESET);
	assert_int_equal(gateway->scan.n_script, 1);
	assert_int_equal(gateway->scan.script[0].half, HALF_S2C);
	assert_int_equal(gateway->scan.script[0].after_bytes, UINT32_MAX);
	assert_int_equal(gateway->scan.script[0].verdict, SCAN_SCRIPT_NEVER);
	assert_int_equal(gateway->scan.script[0].delay_ms, 8);
	assert_true(gateway->scan.script[0].every);
	assert_true(gateway->debug);
	assert_null(gateway->paths.cache);
	assert_string_equal(gateway->paths.pidfile, "p");
	assert_string_equal(gateway->control_group, "adm");
	assert_int_equal(gateway->stats_interval_s, 0);
	assert_true(gateway->idle_sleep);
	assert_int_equal(gateway->vlan, GATEWAY_VLAN_SHARED);
	assert_false(gateway->drop_events);
	assert_false(gateway->greeting_events);
	gateway_free(gateway);
}

static void test_types_ranges_unknown(void **state)
{
	(void)state;
	BAD(HEAD ",'limits':{'flowz':1024}}", "g.json: $.limits.flowz: ", "unknown key",
		"did you mean \"flows\"?");
	BAD(HEAD ",'xyzzy':1}", "$.xyzzy", "unknown key", "known here: schema_version, eal");
	BAD(HEAD ",'limits':{'flows':'many'}}", "$.limits.flows", "expected an integer",
		"a string (\"many\")");
	BAD(HEAD ",'limits':{'flows':1.5}}", "$.limits.flows", "expected an integer", "1.5");
	BAD(HEAD ",'limits':{'flows':1023}}", "$.limits.flows", "1023 is out of range",
		"1024 to 268435456");
	BAD(HEAD ",'limits':{'flows':-1}}", "$.limits.flows", "-1 is out of range");
	BAD(HEAD ",'elephant':{'seconds':0}}", "$.elephant.seconds", "0 is out of range");
	BAD(HEAD ",'stall':{'policy':'opne'}}", "$.stall.policy", "did you mean \"open\"");
	BAD(HEAD ",'scan':{'engine':'clam'}}", "$.scan.engine", "none", "null");
	BAD(HEAD ",'scan':{'engine':'null'}}", "$.scan.script", "there is none");
	BAD(HEAD ",'scan':{'script':[{'half':'c2s','after_bytes':1,'verdict':'clean'}]}}",
		"$.scan.script", "set $.scan.engine to it");
	BAD(HEAD ",'scan':{'engine':'null','script':[{'half':'c2s','verdict':'clean'}]}}",
		"$.scan.script[0]", "after_bytes");
	BAD(HEAD ",'scan':{'engine':'null','script':[{'half':'c2s','after_bytes':0,"
		 "'verdict':'clean'}]}}",
		"$.scan.script[0].after_bytes", "0 is out of range");
	BAD(HEAD ",'limits':[]}", "$.limits", "expected an object", "an array");
	BAD(HEAD ",'idle_sleep':0}", "$.idle_sleep", "expected true or false", "an integer (0)");
	BAD(HEAD ",'drain_s':61}", "$.drain_s", "0 to 60");
	BAD(HEAD ",'signature_cache_days':3651}", "$.signature_cache_days", "0 to 3650");
	BAD(HEAD ",'drain_s':1e30}", "$.drain_s", "out of range");
	BAD(HEAD ",'eal':'x'}", "$.eal", "expected an array");
	BAD(HEAD ",'eal':['a',7]}", "$.eal[1]", "expected a string");
	BAD(HEAD ",'paths':{'events':''}}", "$.paths.events", "must not be empty");
	BAD(HEAD ",'paths':{'events':null}}", "$.paths.events", "expected a string, got null");
	BAD(HEAD ",'memory':{'mb':1}}", "$.memory.mb", "64 to 1048576");
	BAD("[]", "g.json: $: expected an object, got an array");
}

static void test_reals_that_are_integers(void **state)
{
	struct gateway *gateway = good(HEAD ",'limits':{'flows':2e3},'drain_s':3.0}");

	(void)state;
	assert_int_equal(gateway->limits.flows, 2000);
	assert_int_equal(gateway->drain_s, 3);
	gateway_free(gateway);
}

#define PORTS(list) "{'schema_version':1,'lcores':{'data':[1]}," list "}"
#define PORT(name)  "{'name':'" name "','device':'net_" name "'}"

static void test_ports_and_pairs(void **state)
{
	(void)state;
	BAD(PORTS("'ports':[" PORT("lan") "," PORT(
		    "wan") "],"
			   "'pairs':[{'inside':'lan','outside':'wam'}]"),
		"$.pairs[0].outside", "no port is named \"wam\"", "did you mean \"wan\"?");
	BAD(PORTS("'ports':[" PORT("lan") "," PORT(
		    "wan") "],"
			   "'pairs':[{'inside':'lan','outside':'uplink'}]"),
		"$.pairs[0].outside", "no port is named \"uplink\": add it to $.ports");
	BAD(PORTS("'ports':[" PORT("a") "," PORT("b") "],'pairs':[{'inside':'a','outside':'a'}]"),
		"$.pairs[0]", "the same port \"a\"");
	BAD(PORTS("'ports':[" PORT("a") "," PORT("b") "," PORT(
		    "c") "],"
			 "'pairs':[{'inside':'a','outside':'b'},{'inside':'b','outside':'c'}]"),
		"$.pairs[1]", "port \"b\" is in $.pairs[0] already");
	BAD(PORTS("'ports':[" PORT("a") "," PORT("b") "," PORT(
		    "c") "],"
			 "'pairs':[{'inside':'a','outside':'b'}]"),
		"$.ports[2]", "\"c\" is in no pair");
	BAD(PORTS("'ports':[" PORT("a") "],'pairs':[{'inside':'a','outside':'b'}]"), "$.ports",
		"2 or more entries expected, got 1");
	BAD(PORTS("'ports':[" PORT("a") ",{'name':'a','device':'net_x'}," PORT(
		    "b") "],"
			 "'pairs':[{'inside':'a','outside':'b'}]"),
		"$.ports[1]", "\"a\" is taken by $.ports[0]");
	BAD(PORTS("'ports':[{'name':'a','device':'d0,iface=x'},{'name':'b','device':'d0'}],"
		  "'pairs':[{'inside':'a','outside':'b'}]"),
		"$.ports[1]", "device \"d0\" is port \"a\" already");
	BAD(PORTS("'ports':[" PORT("a") "," PORT("b") "],'pairs':[]"), "$.pairs",
		"1 or more entries");
	BAD(PORTS("'ports':[" PORT("a") ",{'name':'b'}],'pairs':[{'inside':'a','outside':'b'}]"),
		"$.ports[1]", "\"device\" is missing");
	BAD(PORTS("'ports':[" PORT("a") ",{'name':'b','device':'net b'}],"
					"'pairs':[{'inside':'a','outside':'b'}]"),
		"$.ports[1].device", "\"net b\" is not a device");
	BAD(PORTS("'ports':[" PORT("a") "," PORT(
		    "b") "],"
			 "'pairs':[{'inside':'a','outside':'b','mode':'route'}]"),
		"$.pairs[0].mode", "\"route\" is not one of bridge");
}

static void test_all_errors_are_told(void **state)
{
	struct config_errors errors = bad_set(
		"{'schema_version':2,'prots':[],'ports':[{'name':'LAN','device':'x'},"
		"{'name':'wan','device':'y','mtu':10}],'pairs':[{'inside':'lan','outside':'wan'}],"
		"'lcores':{'data':[],'control':-1}}",
		NULL, 0);

	(void)state;
	EXPECT_LINE(&errors, "$.schema_version", "expected 1", "an integer (2)");
	EXPECT_LINE(&errors, "$.prots", "did you mean \"ports\"?");
	EXPECT_LINE(&errors, "$.ports[0].name", "\"LAN\" is not a name", "lower-case");
	EXPECT_LINE(&errors, "$.ports[1].mtu", "68 to 9702");
	EXPECT_LINE(&errors, "$.pairs[0].inside", "no port is named \"lan\"");
	EXPECT_LINE(&errors, "$.lcores.data", "1 or more entries");
	EXPECT_LINE(&errors, "$.lcores.control", "0 to 1023");
	expect_count(&errors, 7);
	config_errors_free(&errors);
	errors = bad_set("{}", NULL, 0);
	EXPECT_LINE(&errors, "g.json: $: key \"schema_version\" is missing");
	EXPECT_LINE(&errors, "\"ports\" is missing");
	EXPECT_LINE(&errors, "\"pairs\" is missing");
	EXPECT_LINE(&errors, "\"lcores\" is missing");
	expect_count(&errors, 4);
	config_errors_free(&errors);
}

static void test_syntax(void **state)
{
	(void)state;
	BAD("{\n  'ports': [}", "g.json: line 2, column", "not JSON");
	BAD("", "g.json: empty");
	BAD(" \n\t", "g.json: empty");
	BAD(MINIMAL "x", "line 1", "end of file expected");
	BAD(HEAD ",'drain_s':1,'drain_s':2}", "line 1", "duplicate object key", "drain_s");
}

// A duplicate key does not hide what else is wrong.
static void test_duplicate_and_more(void **state)
{
	struct config_errors errors =
		bad_set(HEAD ",'drain_s':1,\n'drain_s':2,'idle_sleep':3}", NULL, 0);

	(void)state;
	EXPECT_LINE(&errors, "line 2", "duplicate object key");
	EXPECT_LINE(&errors, "$.idle_sleep");
	expect_count(&errors, 2);
	config_errors_free(&errors);
}

static void test_overrides(void **state)
{
	char *sets[] = {(char[]){"limits.flows=4096"}, (char[]){"paths.events=-"},
		(char[]){"ports.1.device=net_af_xdp0,iface=gB"}, (char[]){"lcores.data=[2,3]"},
		(char[]){"lcores.data.0=5"}, (char[]){"paths.cache=null"},
		(char[]){"idle_sleep=true"}};
	char *wrong[] = {(char[]){"limits.flowz=1"}, (char[]){"nonsense"}, (char[]){"=1"},
		(char[]){"ports.7.mtu=1500"}, (char[]){"drain_s.x=1"},
		(char[]){"limits.flows=lots"}};
	struct gateway *gateway = good_set(MINIMAL, sets, 7);
	struct config_errors errors;

	(void)state;
	assert_int_equal(gateway->limits.flows, 4096);
	assert_string_equal(gateway->paths.events, "-");
	assert_string_equal(gateway->ports[1].device, "net_af_xdp0,iface=gB");
	assert_int_equal(gateway->n_data, 2);
	assert_int_equal(gateway->data_cpus[0], 5);
	assert_null(gateway->paths.cache);
	assert_true(gateway->idle_sleep);
	gateway_free(gateway);
	errors = bad_set(HEAD ",'drain_s':1}", wrong, 6);
	EXPECT_LINE(&errors, "$.limits.flowz", "did you mean");
	EXPECT_LINE(&errors, "--set: \"nonsense\"", "KEY=VALUE");
	EXPECT_LINE(&errors, "--set: \"=1\"", "KEY=VALUE");
	EXPECT_LINE(&errors, "--set: \"ports.7.mtu=1500\"", "no such key");
	EXPECT_LINE(&errors, "--set: \"drain_s.x=1\"", "no such key");
	EXPECT_LINE(&errors, "$.limits.flows", "a string (\"lots\")");
	expect_count(&errors, 6);
	config_errors_free(&errors);
}

static void test_dump_reads_back(void **state)
{
	char *sets[] = {(char[]){"limits.flows=4096"}, (char[]){"eal=[\"--no-pci\"]"},
		(char[]){"paths.pidfile=/p"}, (char[]){"lcores.scan=[0]"},
		(char[]){"ports.0.mtu=9000"}};
	struct gateway *gateway = good_set(MINIMAL, sets, 5), *again;
	char *text = gateway_dump(gateway), *second;

	(void)state;
	assert_non_null(text);
	assert_non_null(strstr(text, "\"udp_s\": 300"));
	again = good(text);
	second = gateway_dump(again);
	assert_string_equal(text, second);
	assert_null(gateway_restart_difference(gateway, again));
	free(text);
	free(second);
	gateway_free(gateway);
	gateway_free(again);
}

static void test_difference_names_the_key(void **state)
{
	static const char *const changes[][2] = {
		{"limits.udp_s=7", "limits.udp_s"},
		{"elephant.mbit_s=7", "elephant.mbit_s"},
		{"stall.policy=open", "stall.policy"},
		{"scan.flows=77", "scan.flows"},
		{"scan={\"engine\":\"null\",\"script\":[{\"half\":\"c2s\","
		 "\"after_bytes\":1,\"verdict\":\"clean\"}]}",
			"scan.script"},
		{"debug=true", "debug"},
		{"eal=[\"x\"]", "eal"},
		{"ports.0.mtu=9000", "ports[].mtu"},
		{"ports.1.device=z", "ports[].device"},
		{"lcores.data=[1,1]", "lcores.data"},
		{"lcores.scan=[1]", "lcores.scan"},
		{"lcores.control=1", "lcores.control"},
		{"memory.hugepages=false", "memory.hugepages"},
		{"paths.pidfile=x", "paths.pidfile"},
		{"paths.events=y", "paths.events"},
		{"control_group=z", "control_group"},
		{"idle_sleep=true", "idle_sleep"},
		{"pairs.0={\"inside\":\"wan\",\"outside\":\"lan\"}", "pairs[].inside"},
	};
	struct gateway *now = good(MINIMAL);

	(void)state;
	for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
		char *set = strdup(changes[i][0]);
		struct gateway *then = good_set(MINIMAL, &set, 1);
		const char *name = gateway_restart_difference(now, then);

		assert_non_null(name);
		assert_string_equal(name, changes[i][1]);
		gateway_free(then);
		free(set);
	}
	gateway_free(now);
}

static struct config_errors load_fails(const char *path, int rc)
{
	struct config_errors errors = {0};
	struct gateway *gateway = NULL;

	assert_int_equal(gateway_load(path, NULL, 0, &gateway, &errors), rc);
	assert_null(gateway);
	expect_count(&errors, 1);
	return errors;
}

static void test_files(void **state)
{
	char path[] = "/tmp/test_gateway_XXXXXX";
	struct config_errors errors = load_fails("/nonexistent/g.json", -ENOENT);
	struct gateway *gateway;
	int fd = mkstemp(path);
	char *text = quoted(MINIMAL);

	(void)state;
	EXPECT_LINE(&errors, "/nonexistent/g.json: cannot read: No such file");
	config_errors_free(&errors);
	errors = load_fails("/tmp", -EISDIR);
	EXPECT_LINE(&errors, "/tmp: cannot read: Is a directory");
	config_errors_free(&errors);
	errors = load_fails("/dev/null", -ENODEV);
	EXPECT_LINE(&errors, "/dev/null: cannot read: not a regular file");
	config_errors_free(&errors);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	assert_int_equal(gateway_load(path, NULL, 0, &gateway, &errors), 0);
	gateway_free(gateway);
	assert_int_equal(ftruncate(fd, (16 << 20) + 1), 0);
	errors = load_fails(path, -EFBIG);
	EXPECT_LINE(&errors, "longer than 16 MiB");
	config_errors_free(&errors);
	close(fd);
	unlink(path);
	assert_int_equal(mkfifo(path, 0600), 0);
	errors = load_fails(path, -ENODEV); // and does not wait for a writer
	config_errors_free(&errors);
	unlink(path);
	free(text);
}

// What comes from the file can neither forge lines nor break the JSON of an event.
static void test_messages_are_printable(void **state)
{
	struct config_errors errors = {0};

	(void)state;
	config_error_add(&errors, "f", "$.x", "%s", "a\nb\033[31m\x7f\xc3\xa9\xc3");
	assert_string_equal(errors.lines[0], "f: $.x: a\\x0ab\\x1b[31m\\x7f\xc3\xa9\\xc3");
	config_error_add(&errors, "f", "", "\xed\xa0\x80 \xf0\x9f\x98\x80 \xc0\x80");
	assert_string_equal(errors.lines[1], "f: \\xed\\xa0\\x80 \xf0\x9f\x98\x80 \\xc0\\x80");
	config_error_add(&errors, "f", "", "%02000d", 0); // what it quotes has no end
	assert_in_range(strlen(errors.lines[2]), 900, 1100);
	for (unsigned i = 3; i < CONFIG_ERRORS_MAX + 5; i++)
		config_error_add(&errors, "", "", "x");
	assert_int_equal(errors.n, CONFIG_ERRORS_MAX);
	assert_int_equal(errors.dropped, 5);
	config_errors_free(&errors);
	assert_int_equal(errors.n, 0);
}

static void test_hook_and_user(void **state)
{
	struct gateway *gateway = good(HEAD "}");
	struct gateway *other = good(HEAD
		",'hook':{'command':['/bin/x','--card','0'],'heartbeat':true},'user':'sluice'}");
	char *dump = gateway_dump(other);

	(void)state;
	assert_int_equal(gateway->hook.n_command, 0);
	assert_int_equal(gateway->hook.timeout_s, 5);
	assert_true(gateway->sandbox);
	assert_null(gateway->user);
	assert_int_equal(other->hook.n_command, 3);
	assert_string_equal(other->hook.command[2], "0");
	assert_non_null(strstr(dump, "\"--card\""));
	assert_string_equal(gateway_restart_difference(gateway, other), "hook.command");
	free(dump);
	gateway_free(other);
	gateway_free(gateway);
	BAD(HEAD ",'hook':{'command':['bypass']}}", "$.hook.command[0]", "full path");
	BAD(HEAD ",'hook':{'command':[]}}", "$.hook.command");
	BAD(HEAD ",'hook':{'command':['/x'],'timeout_s':0}}", "$.hook.timeout_s");
	BAD(HEAD ",'group':'adm'}", "$.group", "name \"user\"");
}

#define LINK(text) HEAD ",'impairment':{'to_inside':{" text "}}}"

static void test_impairment(void **state)
{
	struct gateway *gateway = good(MINIMAL), *other;
	char text[200];

	(void)state;
	assert_false(gateway_impairs(gateway));
	assert_int_equal(gateway->impairment.limit, 16384);
	other = good(LINK("'delay_ms':0.5,'jitter_ms':0.25,'loss':{'p':1e-3}"));
	assert_true(gateway_impairs(other));
	assert_string_equal(gateway_restart_difference(gateway, other), "impairment.to_inside");
	gateway_impairment_text(other, text, sizeof text);
	assert_string_equal(text, "to the inside: delay 0.5 ms +- 0.25 ms loss 0.1 %");
	gateway_free(other);
	// A place and a seed alone disturb nobody.
	other = good(HEAD ",'impairment':{'at':'tx','seed':9}}");
	assert_false(gateway_impairs(other));
	assert_string_equal(gateway_restart_difference(gateway, other), "impairment.at");
	gateway_free(other);
	gateway_free(gateway);
	// What does nothing, or cannot be.
	BAD(LINK("'corrupt':1.01"), "$.impairment.to_inside.corrupt", "expected 0 to 1");
	BAD(LINK("'jitter_ms':2,'delay_ms':1"), "$.impairment.to_inside", "more than delay_ms 1");
	BAD(LINK("'reorder':0.5"), "$.impairment.to_inside", "set delay_ms");
	BAD(LINK("'queue_ms':5"), "$.impairment.to_inside", "set rate_mbit");
	BAD(LINK("'loss':{'p':0.1,'r':0.5}"), "$.impairment.to_inside.loss.r", "bernoulli");
	BAD(LINK("'loss':{'model':'gilbert_elliott','p':0.1}"), "$.impairment.to_inside.loss",
		"needs r");
	BAD(LINK("'loss':{'model':'gilbert_elliott','p':0.1,'r':1e-6}"),
		"$.impairment.to_inside.loss", "never ends a burst");
	BAD(LINK("'loss':{'model':'gilbert'}"), "$.impairment.to_inside.loss.model",
		"gilbert_elliott");
}

static void test_http_stays_at_home(void **state)
{
	struct gateway *gateway = good(HEAD ",'http':{'listen':'unix:/run/s.sock'}}");

	(void)state;
	assert_string_equal(gateway->http.listen, "unix:/run/s.sock");
	gateway_free(gateway);
	gateway = good(MINIMAL);
	assert_null(gateway->http.listen);
	gateway_free(gateway);
	gateway = good(HEAD ",'http':{'listen':'0.0.0.0:9111','allow_remote':true}}");
	gateway_free(gateway);
	BAD(HEAD ",'http':{'listen':'0.0.0.0:9111'}}", "$.http.listen", "\"allow_remote\": true",
		"other machines");
	BAD(HEAD ",'http':{'listen':'localhost'}}", "$.http.listen", "no place to listen at");
	gateway = good(HEAD ",'http':{'listen':'127.0.0.1:9111','token_file':'/etc/t'}}");
	assert_string_equal(gateway->http.token_file, "/etc/t");
	gateway_free(gateway);
	BAD(HEAD ",'http':{'listen':'0.0.0.0:9111','allow_remote':true,'token_file':'/t'}}",
		"$.http.token_file", "in clear");
	BAD(HEAD ",'http':{'token_file':'/t'}}", "$.http.token_file", "no page");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_hook_and_user),
		cmocka_unit_test(test_impairment),
		cmocka_unit_test(test_http_stays_at_home),
		cmocka_unit_test(test_defaults),
		cmocka_unit_test(test_all_keys),
		cmocka_unit_test(test_types_ranges_unknown),
		cmocka_unit_test(test_reals_that_are_integers),
		cmocka_unit_test(test_ports_and_pairs),
		cmocka_unit_test(test_all_errors_are_told),
		cmocka_unit_test(test_syntax),
		cmocka_unit_test(test_duplicate_and_more),
		cmocka_unit_test(test_overrides),
		cmocka_unit_test(test_dump_reads_back),
		cmocka_unit_test(test_difference_names_the_key),
		cmocka_unit_test(test_files),
		cmocka_unit_test(test_messages_are_printable),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
