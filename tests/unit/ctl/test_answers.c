// SPDX-License-Identifier: BSD-3-Clause
// What the commands of the control socket answer, whole, of a gateway whose traffic and clock are
// always the same: golden/control_answers.txt. SLUICE_WRITE=1 writes it again; its diff is to be
// meant, as scripts read these members.
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "lib/control/fake_desk.h"
#include "lib/pipeline/explained.h"
#include "pipeline/vocab/tick.h"

#define POLICY                                                                             \
	"'users':{'alice':['10.0.0.1','fd00::1'],'bob':['10.0.0.3/32']},"                  \
	"'address_sets':{'staff':{'comment':'ours','addresses':['10.0.0.0/24',"            \
	"'10.0.2.0/24','fd00::/64']}},"                                                    \
	"'time_zone':'Europe/Berlin',"                                                     \
	"'time_windows':{'night':{'days':['mon'],'from':'22:00','to':'06:00'}},"           \
	"'applications':[{'id':'lab','sni':['lab.example'],'networks':['192.0.2.0/24'],"   \
	"'regex':[{'pattern':'^LAB/[0-9]','protocol':'tcp'}]}],"                           \
	"'conn_cache':{'exempt':['10.9.0.0/16']},"                                         \
	"'rules':[{'id':'no-p2p','comment':'as agreed','match':{'app':['bittorrent'],"     \
	"'min_confidence':'dpi','user':['alice']},'action':'reset','cache':'tuple'},"      \
	"{'id':'told','match':{'app':['bittorrent']},'action':'drop','mode':'monitor'},"   \
	"{'id':'no-lab','match':{'app':['lab'],'source':['staff']},'action':'drop'},"      \
	"{'id':'at-night','match':{'category':['web'],'time':['night'],'ports':[80,8080]," \
	"'protocol':'tcp'},'action':'reset'}]"

#define OTHER_POLICY                                                                        \
	"'rules':[{'id':'no-p2p','match':{'app':['bittorrent']},'action':'drop'},"          \
	"{'id':'no-web','match':{'category':['web'],'destination':['10.0.0.2']},'action':'" \
	"reset'}]"

struct question {
	const char *command, *arguments; // ids of flows are those of the answers to flow-list
};

static const struct question questions[] = {
	{"stats", ""},
	{"log-level", ""},
	{"log-level", "'level':'no'"},
	{"flow-list", ""},
	{"flow-list", "'host':'10.0.0.1'"},
	{"flow-list", "'host':'10.0.0.0/29','sort':'bytes','order':'asc','limit':2"},
	{"flow-list", "'limit':1,'offset':1"},
	{"flow-list", "'user':'alice'"},
	{"flow-list", "'app':'bittorrent','state':'condemned'"},
	{"flow-list", "'category':'web','direction':'outbound'"},
	{"flow-list", "'rule':'no-lab'"},
	{"flow-list", "'action':'pass','min_bytes':200"},
	{"flow-list", "'port':80,'proto':'tcp'"},
	{"flow-list", "'confidence':'verified'"},
	{"flow-list", "'group':'user'"},
	{"flow-list", "'group':'app'"},
	{"flow-list", "'group':'host'"},
	{"flow-list", "'group':'rule'"},
	{"flow-list", "'app':'bitorrent'"},
	{"flow-list", "'limit':0"},
	{"flow-show", "'flow_id':7"},
	{"flow-show", "'flow_id':1344717905086079"},
	{"top", ""},
	{"top", "'by':'user'"},
	{"top", "'by':'app','order':'bytes'"},
	{"top", "'by':'host','side':'inside'"},
	{"top", "'by':'host','side':'outside','limit':1"},
	{"top", "'by':'rule'"},
	{"top", "'by':'moon'"},
	{"explain", "'host':'10.0.0.1'"},
	{"explain", "'src_ip':'10.0.0.1','dest_ip':'10.0.0.2'"},
	{"explain", "'src_ip':'10.0.0.4','dest_ip':'10.0.0.2','dest_port':80,'proto':'tcp'"},
	{"explain", "'host':'10.0.0.9'"},
	{"explain", "'user':'alice'"},
	{"explain", "'user':'bob'"},
	{"explain", "'rule':'no-lab'"},
	{"explain", "'rule':'told'"},
	{"explain", "'rule':'no'"},
	{"cache-list", ""},
	{"cache-list", "'host':'10.0.0.1','limit':1"},
	{"cache-add", "'src_ip':'10.0.1.1','dest_ip':'10.0.1.2','dest_port':80,'ttl_s':90"},
	{"cache-add", "'src_ip':'10.0.1.1','dest_ip':'10.0.1.3','mode':'peer','app':'edonkey'"},
	{"cache-add", "'src_ip':'10.0.1.1','dest_ip':'10.0.1.3','mode':'peer','dest_port':1"},
	{"cache-add", "'src_ip':'10.0.1.1','dest_ip':'fd00::1'"},
	{"cache-exempt", "'address':'10.0.1.1','on':true,'ttl_s':60"},
	{"cache-exempt", "'address':'10.0.1.7','on':false"},
	{"cache-list", ""},
	{"cache-del", "'src_ip':'10.0.1.1','dest_ip':'10.0.1.2','dest_port':80"},
	{"cache-del", "'src_ip':'10.0.1.1','dest_ip':'10.0.1.2'"},
	{"cache-flush", ""},
	{"cache-list", ""},
	{"endpoint-list", ""},
	{"name-list", ""},
	{"scan-show", ""},
	{"scan-test-begin", "'bytes':0"},
	{"scan-test-begin", "'bytes':5"},
	{"scan-test-add", "'test':1,'at':0,'base64':'eEVJTA'"},
	{"scan-test-add", "'test':1,'at':0,'base64':'eEVWSUw='"},
	{"scan-test-run", "'test':1"},
	{"policy-show", ""},
	{"policy-check", "'path':'/nonexistent'"},
	{"policy-diff", ""},
	{"explain", "'flow_id':1344717905086079"},
	{"trace", "'flow_id':7,'on':true"},
	{"trace", "'flow_id':1450599193155113,'on':true"},
	{"trace-read", "'flow_id':1450599193155113"},
	{"trace", "'flow_id':1450599193155113,'on':false"},
	{"scan-reload", ""},
	{"no-such", ""},
	{"stats", "'more':1"},
};

static struct gate *gate;

static void pass_ms(uint64_t ms)
{
	gate->pipe->now_ns += ms * NS_PER_MS;
	pipe_turns(gate->pipe);
}

static void traffic(void)
{
	static const char ask[] = "GET /index.html HTTP/1.1\r\nHost: www.example\r\n\r\n";
	static const char page[] = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
	static const char lab[] = "LAB/1 hello\r\n";

	for (uint32_t host = 1; host < 4; host += 2) {
		struct gate_tcp tcp = gate_connect(gate, host, (uint16_t)(41000 + host), 6881);

		pass_ms(7);
		gate_send(gate, &tcp, false, gate_handshake, HANDSHAKE_BYTES);
		gate_send(gate, &tcp, true, gate_handshake, HANDSHAKE_BYTES);
		pass_ms(100);
		gate_connect(gate, host, (uint16_t)(42000 + host), 6881); // of the cache
		pass_ms(1000);
	}
	struct gate_tcp web = gate_connect(gate, 4, 41004, 80);
	gate_send(gate, &web, false, ask, sizeof(ask) - 1);
	pass_ms(30);
	gate_send(gate, &web, true, page, sizeof(page) - 1);
	pass_ms(500);
	struct gate_tcp own = gate_connect(gate, 5, 41005, 7000);
	gate_send(gate, &own, false, lab, sizeof(lab) - 1);
	pass_ms(2000);
	gate_connect(gate, 6, 41006, 443); // has said nothing yet
}

// What is counted is unit/counters' to hold, and how often a loop turns depends on the machine.
static void forget(json_t *of, const char *member)
{
	const char *key;
	json_t *value;
	size_t i;

	json_object_del(of, member);
	json_object_foreach (of, key, value)
		forget(value, member);
	json_array_foreach (of, i, value)
		forget(value, member);
}

// Where the test's files are is another folder each time.
static void put_answer(FILE *out, json_t *reply)
{
	forget(reply, "counters");
	forget(reply, "loops");

	char *text = json_dumps(reply, JSON_INDENT(1) | JSON_SORT_KEYS), *at;
	size_t n = strlen(gate->dir);

	assert_non_null(text);
	while ((at = strstr(text, gate->dir)))
		memmove(at, at + n, strlen(at + n) + 1);
	fprintf(out, "%s\n", text);
	free(text);
}

static void ask_all(FILE *out)
{
	for (unsigned i = 0; i < RTE_DIM(questions); i++) {
		json_t *reply = gate_ask(gate, questions[i].command, questions[i].arguments);

		fprintf(out, "# %s {%s}\n", questions[i].command, questions[i].arguments);
		put_answer(out, reply);
		json_decref(reply);
	}
}

// The first line that differs, and the question that it is of.
static void compare(const char *is, const char *wanted)
{
	const char *head = is;

	while (*is) {
		size_t n = strcspn(is, "\n");

		if (*is == '#')
			head = is;
		if (strncmp(is, wanted, n + 1) != 0)
			fail_msg("%.*s\n  is  %.*s\n  was %.*s\nif that is meant: SLUICE_WRITE=1 "
				 "writes golden/control_answers.txt again",
				(int)strcspn(head, "\n"), head, (int)n, is,
				(int)strcspn(wanted, "\n"), wanted);
		is += n + 1;
		wanted += n + 1;
	}
	assert_int_equal(*wanted, 0);
}

static void every_member_has_its_value(void **state)
{
	char *text = NULL, *wanted = NULL;
	size_t size, room = 0;
	FILE *out = open_memstream(&text, &size), *file;
	static struct fake_desk desk;

	(void)state;
	gate = gate_new(2, POLICY);
	traffic();
	ask_all(out);
	gate_policy(gate, OTHER_POLICY); // which judges the flows that are there
	fake_desk_init(&desk);
	gate->context.scan = &desk.desk;
	gate->context.scan_reloads = &desk.reloads;
	pass_ms(1000);
	ask_all(out);
	fclose(out);
	gate_free(gate);
	if (getenv("SLUICE_WRITE")) {
		file = fopen(EXPECTED, "w");
		assert_non_null(file);
		fwrite(text, 1, size, file);
		fclose(file);
	}
	file = fopen(EXPECTED, "r");
	assert_non_null(file);
	assert_true(getdelim(&wanted, &room, 0, file) > 0);
	fclose(file);
	compare(text, wanted);
	free(wanted);
	free(text);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_member_has_its_value),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
