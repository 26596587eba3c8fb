// SPDX-License-Identifier: BSD-3-Clause
// How the files and messages of a live flow stand from outside: its state, what is open in it, why
// it was refused, and what its event says in the end. Through the real path, policies and decoders.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include "lib/pipeline/explained.h"
#include "pipeline/event/flow_event.h"

#define FILES                                                                          \
	"'rules':[{'id':'first','match':{'app':['ftp']},'action':'pass'},"             \
	"{'id':'files','match':{},'transfers':[{'extension':['iso'],'action':'pass'}," \
	"{'name':['*.exe'],'action':'%s'},{'type':['executable'],'action':'%s'}],"     \
	"'audit':{'transfers':true}}]"
#define GET "GET /tools/%s HTTP/1.1\r\nHost: files.example\r\n\r\n"

static struct gate *files_gate(const char *action)
{
	struct lcore_limits limits = pipe_limits();
	char policy[1024];

	limits.content = (struct content_limits){.flows = 64,
		.source_pct = 10,
		.turn_bytes = 65536,
		.memory_bytes = 8 << 20,
		.arena_bytes = 8 << 20};
	snprintf(policy, sizeof policy, FILES, action, action);
	return gate_new_with(1, &limits, policy);
}

static struct gate_tcp get(struct gate *gate, uint16_t port, const char *name)
{
	struct gate_tcp tcp = gate_connect(gate, 1, port, 80);
	char text[1024];
	int n = snprintf(text, sizeof text, GET, name);

	gate_send(gate, &tcp, false, text, (size_t)n);
	return tcp;
}

static void answer(struct gate *gate, struct gate_tcp *tcp, const char *body, size_t length)
{
	char text[2048];
	int n = snprintf(text, sizeof text, "HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n%.*s",
		(int)length, body);

	gate_send(gate, tcp, true, text, (size_t)n);
}

static json_t *content_of(struct gate *gate, json_t **shown)
{
	json_t *list = gate_ok(gate, "flow-list", "");
	char text[64];

	snprintf(text, sizeof text, "'flow_id':%lld",
		(long long)explained_number(
			json_array_get(json_object_get(list, "flows"), 0), "flow_id"));
	json_decref(list);
	*shown = gate_ok(gate, "flow-show", text);
	return json_object_get(*shown, "content");
}

static void expect_state(struct gate *gate, const char *state, unsigned files)
{
	json_t *list = gate_ok(gate, "flow-list", "");
	const json_t *content =
		json_object_get(json_array_get(json_object_get(list, "flows"), 0), "content");

	assert_string_equal(explained_text(content, "state"), state);
	assert_int_equal(explained_number(content, "files"), files);
	json_decref(list);
}

static void the_three_states(void **state)
{
	struct gate *gate = files_gate("reset");
	struct gate_tcp tcp = gate_connect(gate, 1, 40001, 80);
	json_t *shown;
	(void)state;

	// a connection without payload has nothing to say; one byte does not name an application
	gate_send(gate, &tcp, false, "G", 1);
	expect_state(gate, "initial", 0);
	gate->pipe->now_ns += 3 * NS_PER_S;
	static const char rest[] = "ET /tools/paper HTTP/1.1\r\nHost: files.example\r\n\r\n";

	gate_send(gate, &tcp, false, rest, sizeof rest - 1);
	// its type is not known before its bytes are there
	answer(gate, &tcp, "not an executable", 4);
	expect_state(gate, "processing", 1);
	gate->pipe->now_ns += 2 * NS_PER_S;
	json_t *content = content_of(gate, &shown), *file;

	assert_string_equal(explained_text(content, "decoder"), "http");
	assert_int_equal(explained_number(content, "for_ms"), 2000);
	assert_int_equal(explained_number(content, "files_pending"), 1);
	assert_int_equal(explained_number(json_object_get(content, "spent_ms"), "initial"), 3000);
	assert_int_equal(
		explained_number(json_object_get(content, "spent_ms"), "processing"), 2000);
	assert_int_equal(json_array_size(json_object_get(content, "open")), 1);
	file = json_array_get(json_object_get(content, "open"), 0);
	assert_string_equal(explained_text(file, "filename"), "paper");
	assert_string_equal(explained_text(file, "direction"), "to_client");
	assert_string_equal(explained_text(file, "verdict"), "pending");
	assert_null(json_object_get(file, "type"));
	assert_int_equal(explained_number(file, "size"), 5000);
	assert_int_equal(explained_number(file, "bytes"), 4);
	assert_int_equal(explained_number(file, "for_ms"), 2000);
	json_decref(shown);
	// enough of it to know that it is none
	char text[1200];

	memset(text, 'x', sizeof text);
	for (unsigned i = 0; i < 2; i++)
		gate_send(gate, &tcp, true, text, sizeof text);
	content = content_of(gate, &shown);
	assert_string_equal(explained_text(content, "state"), "receiving");
	file = json_array_get(json_object_get(content, "open"), 0);
	assert_string_equal(explained_text(file, "verdict"), "pass");
	assert_int_equal(explained_number(file, "bytes"), 2404);
	assert_int_equal(explained_number(content, "files_pending"), 0);
	json_decref(shown);
	json_t *told = explained_by_ends(gate, 1, ",'src_port':40001");
	json_t *same = explained_by_id(gate, (uint64_t)explained_number(told, "flow_id"));

	content = json_object_get(json_object_get(same, "flow"), "content");
	assert_int_equal(json_array_size(json_object_get(content, "open")), 1);
	json_decref(same);
	json_decref(told);
	gate->pipe->now_ns += NS_PER_S;
	pipe_turns(gate->pipe);
	flow_end_some(gate->pipe->dp.lcores[0], FLOW_STEP_SHUTDOWN, 8);
	json_t *event = gate_event(gate, "flow");

	content = json_object_get(event, "content");
	assert_string_equal(explained_text(content, "state"), "receiving");
	assert_int_equal(explained_number(content, "files"), 1);
	assert_int_equal(explained_number(content, "refused"), 0);
	assert_int_equal(explained_number(json_object_get(content, "spent_ms"), "initial"), 3000);
	assert_int_equal(explained_number(json_object_get(content, "spent_ms"), "receiving"), 1000);
	json_decref(event);
	gate_free(gate);
}

static void a_refused_name_is_explained(void **state)
{
	struct gate *gate = files_gate("reset");
	struct gate_tcp tcp = get(gate, 40001, "a-name-that-is-lger-than-what-evidence-keeps.exe");
	(void)state;

	answer(gate, &tcp, "MZ", 2);
	json_t *told = explained_by_ends(gate, 1, "");

	explained_expect_piece(told, "content", 0,
		"rule=files entry=rules[1].transfers[1] matched=*.exe did=reset mode=enforce "
		"half=to_client");
	explained_expect_piece(
		told, "content_name", 0, "filename=ger-than-what-evidence-keeps.exe cut=true");
	assert_non_null(strstr(explained_text(told, "verdict"),
		"Reset by rule \"files\" (generation 1): transfer of "
		"\"...ger-than-what-evidence-keeps.exe\" matched rules[1].transfers[1] (name "
		"*.exe); item "));
	// the file has one number, here and in the alert
	json_t *event = gate_event(gate, "alert"), *content;
	char item[64];

	snprintf(item, sizeof item, "item_id=%s", explained_text(event, "item_id"));
	assert_true(strlen(item) > strlen("item_id=0-0"));
	explained_expect_piece(told, "content_name", 0, item);
	assert_non_null(strstr(explained_text(told, "verdict"), strchr(item, '=') + 1));
	json_decref(event);
	json_decref(told);
	event = gate_event(gate, "flow");

	content = json_object_get(event, "content");
	assert_int_equal(explained_number(content, "files"), 1);
	assert_int_equal(explained_number(content, "refused"), 1);
	json_decref(event);
	gate_free(gate);
}

static void a_refused_type_is_explained(void **state)
{
	struct gate *gate = files_gate("drop");
	struct gate_tcp tcp = get(gate, 40001, "harmless.bin");
	char exe[1400] = "MZ\x90";
	(void)state;

	memcpy(exe + 128, "PE\0\0", 4);
	exe[60] = (char)128;
	char head[] = "HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n";

	gate_send(gate, &tcp, true, head, sizeof head - 1);
	gate_send(gate, &tcp, true, exe, sizeof exe);
	json_t *told = explained_by_ends(gate, 1, "");

	explained_expect_piece(told, "content", 0, "entry=rules[1].transfers[2] did=drop");
	if (!strstr(explained_text(told, "verdict"), "Dropped by rule \"files\" (generation 1): "
						     "transfer of \"harmless.bin\" matched "
						     "rules[1].transfers[2] (type "))
		fail_msg("%s", explained_text(told, "verdict"));
	json_decref(told);
	gate_free(gate);
}

// In monitor mode it passes, and the explanation says what would have been; of many files of one
// flow the first are enough.
static void monitored_files_are_bounded(void **state)
{
	struct gate *gate = files_gate("monitor");
	struct gate_tcp tcp = gate_connect(gate, 1, 40001, 80);
	(void)state;

	for (unsigned i = 0; i < 12; i++) {
		char text[256];
		int n = snprintf(text, sizeof text, GET, "a.exe");
		static const char reply[] = "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nM";

		gate_send(gate, &tcp, false, text, (size_t)n);
		gate_send(gate, &tcp, true, reply, sizeof reply - 1);
	}
	json_t *told = explained_by_ends(gate, 1, ""), *shown, *piece;
	unsigned pieces = 0;
	size_t i;

	json_array_foreach (json_object_get(told, "evidence"), i, piece)
		pieces += !strcmp(explained_text(piece, "what"), "content");
	assert_int_equal(pieces, 8);
	json_decref(told);
	json_t *content = content_of(gate, &shown);

	assert_int_equal(explained_number(content, "files"), 12);
	assert_int_equal(explained_number(content, "monitored"), 12);
	assert_int_equal(explained_number(content, "refused"), 0);
	json_decref(shown);
	gate_free(gate);
}

static void what_hosts_may_differ_on_is_explained(void **state)
{
	struct gate *gate = files_gate("reset");
	struct gate_tcp tcp = gate_connect(gate, 1, 40001, 80);
	static const char head[] = "GET /a HTTP/1.1\r\nHost: x\r\n folded\r\n\r\n";
	(void)state;

	gate_send(gate, &tcp, false, head, sizeof head - 1);
	json_t *told = explained_by_ends(gate, 1, "");

	explained_expect_piece(told, "content_note", 0,
		"rule=files note=folded_header half=to_server item_id=(none)");
	if (!strstr(explained_text(told, "verdict"),
		    "hosts may read it differently (folded_header) in what the client sent"))
		fail_msg("%s", explained_text(told, "verdict"));
	json_decref(told);
	json_t *event = gate_event(gate, "flow");
	const json_t *content = json_object_get(event, "content");

	assert_string_equal(explained_text(content, "note_toserver"), "folded_header");
	assert_string_equal(json_string_value(json_array_get(json_object_get(content, "notes"), 0)),
		"ambiguous");
	json_decref(event);
	gate_free(gate);
}

// Nothing is asked of it: nothing is said of it.
static void a_flow_without_rules_for_content_has_none(void **state)
{
	struct gate *gate = gate_new(1, "'default':'pass'");
	struct gate_tcp tcp = get(gate, 40001, "setup.exe");
	json_t *shown;
	(void)state;

	answer(gate, &tcp, "MZ", 2);
	assert_null(content_of(gate, &shown));
	json_decref(shown);
	flow_end_some(gate->pipe->dp.lcores[0], FLOW_STEP_SHUTDOWN, 8);
	json_t *event = gate_event(gate, "flow");

	assert_null(json_object_get(event, "content"));
	json_decref(event);
	gate_free(gate);
}

// A sender's bytes: no control leaves, what is no UTF-8 is replaced, and the end of a long name is
// what is shown.
static void names_are_shown_safely(void **state)
{
	struct gate *gate = files_gate("reset");
	char name[301], text[512];
	json_t *shown;
	(void)state;

	memset(name, 'n', sizeof name);
	memcpy(name + 280, "\xe2\x80\xae[2J\xff\xc3\xa9.pdf", 14);
	struct gate_tcp tcp = get(gate, 40001, "");
	int n = snprintf(text, sizeof text,
		"HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n"
		"Content-Disposition: attachment; filename=\"%s\"\r\n\r\nab",
		name);

	gate_send(gate, &tcp, true, text, (size_t)n);
	json_t *content = content_of(gate, &shown);
	const json_t *file = json_array_get(json_object_get(content, "open"), 0);
	const char *told = explained_text(file, "filename");

	assert_true(json_is_true(json_object_get(file, "filename_cut")));
	assert_int_equal(told[0], 'n');
	if (!strstr(told, "\xef\xbf\xbd[2J\xef\xbf\xbd\xc3\xa9.pdf"))
		fail_msg("%s", told);
	json_decref(shown);
	gate_free(gate);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_three_states),
		cmocka_unit_test(a_refused_name_is_explained),
		cmocka_unit_test(a_refused_type_is_explained),
		cmocka_unit_test(monitored_files_are_bounded),
		cmocka_unit_test(what_hosts_may_differ_on_is_explained),
		cmocka_unit_test(a_flow_without_rules_for_content_has_none),
		cmocka_unit_test(names_are_shown_safely),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
