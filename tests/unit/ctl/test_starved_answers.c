// SPDX-License-Identifier: BSD-3-Clause
// What the control core answers, with memory refused at each place where it is asked for: a command
// is answered once, with all of its answer or with NOK and why; a document of the page is whole or
// there is none; nothing is left behind, and the gateway goes on.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include "control/event/recent_verdicts.h"
#include "control/http/census.h"
#include "control/http/document.h"
#include "control/stats/rates.h"
#include "lib/pipeline/explained.h"
#include "lib/rig/starved.h"

#define POLICY                                                                                 \
	"'users':{'alice':['10.0.0.1','fd00::1'],'bob':['10.0.0.3/32']},"                      \
	"'address_sets':{'staff':{'comment':'ours','addresses':['10.0.0.0/24','fd00::/64']}}," \
	"'time_zone':'Europe/Berlin',"                                                         \
	"'time_windows':{'night':{'days':['mon'],'from':'22:00','to':'06:00'}},"               \
	"'applications':[{'id':'lab','sni':['lab.example'],'networks':['192.0.2.0/24'],"       \
	"'regex':[{'pattern':'^LAB/[0-9]','protocol':'tcp'}]}],"                               \
	"'conn_cache':{'exempt':['10.9.0.0/16']},"                                             \
	"'rules':[{'id':'no-p2p','match':{'app':['bittorrent'],'min_confidence':'dpi',"        \
	"'user':['alice']},'action':'reset','cache':'tuple'},"                                 \
	"{'id':'told','match':{'app':['bittorrent']},'action':'drop','mode':'monitor'},"       \
	"{'id':'b','match':{'app':['lab'],'source':['staff'],'time':['night']},"               \
	"'action':'reset'}]"

int __real_event_add(struct event *timer, const struct timeval *delay);
int __wrap_event_add(struct event *timer, const struct timeval *delay);

// Between two looks at the lcores nobody has to wait.
int __wrap_event_add(struct event *timer, const struct timeval *delay)
{
	static const struct timeval none;
	bool is_look = delay && !delay->tv_sec && delay->tv_usec <= 2000;

	return __real_event_add(timer, is_look ? &none : delay);
}

static struct gate *gate;
static struct rates rates;
static struct recent_verdicts recent_verdicts;
static struct census census;
static struct http_counts counts;
static struct http_site site = {.rates = &rates,
	.recent_verdicts = &recent_verdicts,
	.counts = &counts,
	.census = &census,
	.actions = true};

static void see(void *ctx, const struct event *event)
{
	(void)ctx;
	recent_verdicts_add(&recent_verdicts, event);
	census_see(&census, event);
}

static int begin(void **state)
{
	(void)state;
	gate = gate_new(2, POLICY);
	site.context = &gate->context;
	assert_int_equal(rates_start(&rates, &gate->context), 0);
	assert_int_equal(census_start(&census, &gate->context, gate->inquiries, 64), 0);
	sink_listen(gate->context.sink, see, NULL);
	for (uint16_t port = 1; port < 6; port++) {
		struct gate_tcp tcp = gate_connect(gate, port, (uint16_t)(41000 + port), 6881);

		gate_send(gate, &tcp, false, gate_handshake, HANDSHAKE_BYTES);
	}
	sink_drain(gate->context.sink, 0);
	rates_sample(&rates);
	rates_sample(&rates);
	return 0;
}

static int end(void **state)
{
	(void)state;
	census_stop(&census);
	rates_stop(&rates);
	gate_free(gate);
	return 0;
}

// Numbers move on; members, entries and words stay.
static bool same_form(const json_t *a, const json_t *b, char *where, size_t size)
{
	const char *key;
	json_t *value;
	size_t i;

	if (json_typeof(a) != json_typeof(b)) {
		// a flag, a number that is not there yet
		return !json_is_object(a) && !json_is_array(a) && !json_is_string(a) &&
		       !json_is_string(b) && !json_is_object(b) && !json_is_array(b);
	}
	if (json_is_array(a)) {
		if (json_array_size(a) != json_array_size(b))
			return false;
		json_array_foreach (a, i, value)
			if (!same_form(value, json_array_get(b, i), where, size))
				return false;
	}
	if (json_is_object(a)) {
		if (json_object_size(a) != json_object_size(b))
			return false;
		json_object_foreach ((json_t *)(uintptr_t)a, key, value) {
			const json_t *other = json_object_get(b, key);

			if (other && same_form(value, other, where, size))
				continue;
			if (!*where)
				snprintf(where, size, "%s", key);
			return false;
		}
	}
	return true;
}

struct question {
	const char *command, *arguments;
	bool changes; // the gateway: another answer the next time
	char line[512];
	json_t *wanted; // of the first time
};

static void answered(void *ctx, json_t *reply)
{
	json_t **taken = ctx;

	starved_pause();
	assert_null(*taken); // once
	*taken = reply ? reply : json_null();
	starved_resume();
}

static json_t *run_line(const char *line)
{
	json_t *reply = NULL;
	struct request request = {
		.context = &gate->context,
		.inquiries = gate->inquiries,
		.answer = answered,
		.ctx = &reply,
	};

	starved_resume();
	command_run(&request, line, strlen(line));
	for (unsigned turns = 0; request_is_open(&request); turns++) {
		assert_true(turns < 200000);
		pipe_turns(gate->pipe);
		event_base_loop(gate->context.base, EVLOOP_ONCE | EVLOOP_NONBLOCK);
	}
	starved_pause();
	assert_non_null(reply);
	return reply;
}

// The text of a refusal has the reason: it stands in a message, or in the first of its errors.
static bool says_memory(const json_t *reply)
{
	const json_t *message = json_object_get(reply, "message");
	const json_t *errors = json_object_get(message, "errors");
	char text[2048] = "";
	size_t n = json_dumpb(message, text, sizeof(text) - 1, JSON_ENCODE_ANY);

	(void)n;
	return strstr(text, "memory") ||
	       json_integer_value(json_object_get(message, "errors_dropped")) ||
	       (errors && !json_array_size(errors));
}

static enum starved_outcome ask(void *ctx)
{
	struct question *question = ctx;
	json_t *reply = run_line(question->line), *message = json_object_get(reply, "message");
	const char *said = json_string_value(json_object_get(reply, "return"));
	enum starved_outcome outcome = STARVED_DONE;
	char where[64] = "";

	if (json_is_null(reply)) {
		assert_true(starved_now());
		outcome = STARVED_TOLD;
	} else if (!strcmp(said, "NOK")) {
		if (!starved_now() || !question->wanted ||
			(!question->changes && !says_memory(reply)))
			fail_msg("%s: %s", question->line, json_dumps(reply, 0));
		outcome = STARVED_TOLD;
	} else if (!question->wanted) {
		question->wanted = json_incref(message);
	} else if (!question->changes &&
		   !same_form(message, question->wanted, where, sizeof(where))) {
		fail_msg("%s: not all of it: %s", question->line, where);
	}
	json_decref(reply);
	starved_resume();
	return outcome;
}

static void a_command_is_answered_whole_or_not(void **state)
{
	static struct question questions[] = {
		{"help", "", false, "", NULL},
		{"version", "", false, "", NULL},
		{"stats", "", false, "", NULL},
		{"stages", "", false, "", NULL},
		{"log-level", "", false, "", NULL},
		{"flow-list", "", false, "", NULL},
		{"flow-list", "'host':'10.0.0.1','sort':'bytes','limit':1", false, "", NULL},
		{"flow-list", "'user':'alice'", false, "", NULL},
		{"flow-list", "'group':'user'", false, "", NULL},
		{"flow-list", "'group':'app'", false, "", NULL},
		{"explain", "'src_ip':'10.0.0.1','dest_ip':'10.0.0.2'", false, "", NULL},
		{"explain", "'host':'10.0.0.1'", false, "", NULL},
		{"explain", "'user':'alice'", false, "", NULL},
		{"explain", "'rule':'no-p2p'", false, "", NULL},
		{"top", "", false, "", NULL},
		{"top", "'by':'user'", false, "", NULL},
		{"top", "'by':'host','side':'inside'", false, "", NULL},
		{"top", "'by':'rule'", false, "", NULL},
		{"cache-list", "", false, "", NULL},
		{"endpoint-list", "", false, "", NULL},
		{"name-list", "", false, "", NULL},
		{"policy-show", "", false, "", NULL},
	};

	(void)state;
	for (unsigned i = 0; i < RTE_DIM(questions); i++) {
		struct question *question = &questions[i];
		char *at = question->line;

		snprintf(question->line, sizeof(question->line),
			"{'command':'%s','arguments':{%s}}", question->command,
			question->arguments);
		while ((at = strchr(at, '\'')))
			*at = '"';
		assert_int_equal(ask(question), STARVED_DONE);
		assert_true(starved_run(ask, question) > 2);
		json_decref(question->wanted);
	}
}

struct page {
	const struct http_place *place;
	size_t lines;
	json_t *wanted;
};

static size_t lines_of(const struct http_document *document)
{
	size_t n = 0;

	for (size_t i = 0; i < document->length; i++)
		n += document->bytes[i] == '\n';
	return n;
}

static enum starved_outcome make(void *ctx)
{
	struct http_documents documents = {.site = &site};
	struct page *page = ctx;
	struct http_document *document = http_document_get(&documents, page->place);
	enum starved_outcome outcome = document ? STARVED_DONE : STARVED_TOLD;
	char where[64] = "";
	json_t *json;

	starved_pause();
	if (!document) {
		assert_true(starved_now());
	} else if (strcmp(page->place->type, "application/json") == 0) {
		json = json_loadb(document->bytes, document->length, 0, NULL);
		assert_non_null(json);
		if (!page->wanted)
			page->wanted = json_incref(json);
		else if (!same_form(json, page->wanted, where, sizeof(where)))
			fail_msg("%s: not all of it: %s", page->place->path, where);
		json_decref(json);
	} else {
		if (!page->lines)
			page->lines = lines_of(document);
		assert_int_equal(lines_of(document), page->lines);
	}
	starved_resume();
	http_document_put(document);
	http_documents_free(&documents);
	return outcome;
}

static void a_document_is_whole_or_not(void **state)
{
	static const char *const paths[] = {"/api/summary.json", "/api/apps.json",
		"/api/verdicts.json", "/api/cache.json", "/api/health.json", "/api/hosts.json",
		"/api/users.json", "/metrics"};

	(void)state;
	for (unsigned i = 0; i < RTE_DIM(paths); i++) {
		struct http_request request = {0};
		struct page page = {0};

		snprintf(request.path, sizeof(request.path), "%s", paths[i]);
		page.place = http_place_find(&request);
		assert_non_null(page.place);
		assert_int_equal(make(&page), STARVED_DONE);
		assert_true(starved_run(make, &page) > 2);
		json_decref(page.wanted);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_command_is_answered_whole_or_not),
		cmocka_unit_test(a_document_is_whole_or_not),
	};

	starved_begin();
	return cmocka_run_group_tests(tests, begin, end);
}
