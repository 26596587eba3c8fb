// SPDX-License-Identifier: BSD-3-Clause
// A gateway runs for months: what is asked of it, and what it loads, leaves nothing in its heap.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <cmocka.h>
#include "lib/pipeline/explained.h"
#include "lib/rig/heap.h"

#define POLICY                                                                                \
	"'users':{'alice':['10.0.0.1','fd00::1'],'bob':['10.0.0.3/32']},"                     \
	"'address_sets':{'staff':['10.0.0.0/24','10.0.2.0/24','fd00::/64']},"                 \
	"'time_zone':'Europe/Berlin',"                                                        \
	"'time_windows':{'night':{'days':['mon'],'from':'22:00','to':'06:00'}},"              \
	"'applications':[{'id':'lab','sni':['lab.example'],'networks':['192.0.2.0/24'],"      \
	"'regex':[{'pattern':'^LAB/[0-9]','protocol':'tcp'}]}],"                              \
	"'conn_cache':{'exempt':['staff']},"                                                  \
	"'rules':[{'id':'a','match':{'user':['bob']},'action':'drop'},"                       \
	"{'id':'b','match':{'app':['lab','bittorrent'],'source':['staff'],'time':['night']}," \
	"'action':'reset'},"                                                                  \
	"{'id':'c','match':{'app':['edonkey']},'action':'drop','mode':'monitor'}]"

static struct gate *gate;

static int begin(void **state)
{
	(void)state;
	gate = gate_new(1, POLICY);
	for (uint16_t port = 1; port < 4; port++) {
		struct gate_tcp tcp = gate_connect(gate, port, (uint16_t)(41000 + port), 6881);

		gate_send(gate, &tcp, false, gate_handshake, HANDSHAKE_BYTES);
	}
	return 0;
}

static int end(void **state)
{
	(void)state;
	gate_free(gate);
	return 0;
}

struct question {
	const char *command, *arguments;
};

static void ask(void *ctx)
{
	const struct question *question = ctx;

	json_decref(gate_ask(gate, question->command, question->arguments));
}

static void a_command_leaves_nothing(void **state)
{
	static const struct question questions[] = {
		{"help", ""},
		{"version", ""},
		{"stats", ""},
		{"stages", ""},
		{"log-level", "'level':'no'"},
		{"flow-list", ""},
		{"flow-list", "'host':'10.0.0.1','sort':'bytes','limit':1"},
		{"flow-list", "'group':'user'"},
		{"flow-list", "'user':'alice'"},
		{"flow-list", "'app':'no'"},
		{"flow-show", "'flow_id':7"},
		{"explain", "'src_ip':'10.0.0.1','dest_ip':'10.0.0.2'"},
		{"explain", "'host':'10.0.0.3'"},
		{"explain", "'user':'alice'"},
		{"explain", "'rule':'a'"},
		{"top", ""},
		{"top", "'by':'user'"},
		{"trace", "'flow_id':7,'on':true"},
		{"trace-read", ""},
		{"cache-list", ""},
		{"cache-add", "'src_ip':'10.0.1.1','dest_ip':'10.0.1.2','dest_port':80"},
		{"cache-del", "'src_ip':'10.0.1.1','dest_ip':'10.0.1.2'"},
		{"cache-exempt", "'address':'10.0.1.1','on':true"},
		{"cache-flush", ""},
		{"endpoint-list", ""},
		{"content-add", "'id':'btih:0'"},
		{"content-list", ""},
		{"name-list", ""},
		{"policy-show", ""},
		{"policy-check", "'path':'/nonexistent'"},
		{"policy-check", ""},
		{"policy-diff", ""},
		{"policy-reload", ""},
		{"scan-reload", ""},
		{"no-such", ""},
	};
	(void)state;

	for (unsigned i = 0; i < RTE_DIM(questions); i++) {
		struct question question = questions[i];
		size_t left = heap_leak(ask, &question);

		if (left)
			fail_msg("%s {%s}: %zu bytes each time", question.command,
				question.arguments, left);
	}
}

static void load(void *ctx)
{
	gate_policy(gate, ctx);
}

static void a_reload_leaves_nothing(void **state)
{
	char policy[] = POLICY;
	(void)state;

	assert_int_equal(heap_leak(load, policy), 0);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_command_leaves_nothing, begin, end),
		cmocka_unit_test_setup_teardown(a_reload_leaves_nothing, begin, end),
	};

	(void)argc;
	heap_begin(argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
