// SPDX-License-Identifier: BSD-3-Clause
// The operator's list of content ids, through the commands and the real packet path: what it does
// to packets, that it outlives a restart, its end, its bound, its file.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <netinet/in.h>
#include <cmocka.h>
#include "lib/pipeline/explained.h"

#define ID     "0123456789abcdef0123"
#define BTIH   "btih:3031323334353637383961626364656630313233" // the same bytes
#define QUERY  "d1:ad2:id20:abcdefghij01234567899:info_hash20:" ID "e1:q9:get_peers1:t2:aa1:y1:qe"
#define POLICY "'rules':[{'id':'x','match':{'ports':['9']},'action':'drop'}]"

static char folder[] = "/tmp/sluice-ids-XXXXXX";

static struct gate *begin(const char *policy)
{
	struct lcore_limits limits = pipe_limits();

	limits.content = (struct content_limits){.flows = 16,
		.source_pct = 10,
		.turn_bytes = 65536,
		.memory_bytes = 8 << 20,
		.arena_bytes = 8 << 20,
		.refused = 16,
		.refused_s = 60};
	struct gate *gate = gate_new_with(2, &limits, policy);

	assert_int_equal(blocked_ids_new(gate->context.dp, folder, gate->context.now_ns(),
				 &gate->context.blocked),
		0);
	return gate;
}

static void end(struct gate *gate)
{
	blocked_ids_free(gate->context.blocked);
	gate->context.blocked = NULL;
	gate_free(gate);
}

static bool passes(struct gate *gate)
{
	static uint16_t sport = 30000;
	const struct pipe_packet packet = {.proto = IPPROTO_UDP,
		.sport = ++sport,
		.dport = 6881,
		.payload = QUERY,
		.payload_length = sizeof(QUERY) - 1};

	return gate_run(gate, &packet) == 1;
}

static int number(struct gate *gate, const char *command, const char *arguments, const char *key)
{
	json_t *message = gate_ok(gate, command, arguments);
	int value = (int)explained_number(message, key);

	json_decref(message);
	return value;
}

static void what_is_listed_does_not_leave(void **state)
{
	struct gate *gate = begin(POLICY);
	(void)state;

	assert_true(passes(gate));
	gate_nok(gate, "content-add", "", "id is missing");
	gate_nok(gate, "content-add", "'id':'btih:12'", "is no btih");
	gate_nok(gate, "content-add", "'id':'" BTIH "','ttl_s':0", "ttl_s");
	gate_nok(gate, "content-del", "'id':'" BTIH "'", "not in the list");
	assert_int_equal(number(gate, "content-add", "'id':'magnet:?xt=urn:" BTIH "'", "added"), 1);
	assert_int_equal(
		number(gate, "content-add", "'id':'" BTIH "','comment':'Ticket 5'", "added"), 0);
	assert_false(passes(gate));
	assert_true(pipe_stats(gate->pipe).content_ids_refused == 1);
	json_t *list = gate_ok(gate, "content-list", ""), *entries, *entry;

	entries = json_object_get(list, "entries");
	entry = json_array_get(entries, 0);
	assert_int_equal(json_array_size(entries), 1);
	assert_string_equal(json_string_value(json_object_get(entry, "id")), BTIH);
	assert_string_equal(json_string_value(json_object_get(entry, "comment")), "Ticket 5");
	json_decref(list);
	assert_int_equal(number(gate, "content-del", "'id':'" BTIH "'", "deleted"), 1);
	assert_true(passes(gate));
	assert_int_equal(number(gate, "content-add", "'id':'" BTIH "'", "total"), 1);
	assert_int_equal(number(gate, "content-flush", "", "deleted"), 1);
	assert_true(passes(gate));
	end(gate);
}

// No packet is changed under a policy that enforces nothing, and the answer says so.
static void it_asks_for_a_policy_that_enforces(void **state)
{
	struct gate *gate = begin("'mode':'monitor'," POLICY);
	(void)state;

	json_t *added = gate_ok(gate, "content-add", "'id':'" BTIH "'");

	assert_true(json_is_false(json_object_get(added, "enforced")));
	json_decref(added);
	assert_true(passes(gate));
	assert_int_equal(pipe_stats(gate->pipe).content_ids, 1);
	json_decref(gate_ok(gate, "content-flush", ""));
	end(gate);
}

static void written(struct gate *gate, uint64_t times)
{
	const struct blocked_counters *counters = blocked_ids_counters(gate->context.blocked);

	for (unsigned i = 0; i < 5000 && counters->written < times; i++) {
		blocked_ids_step(gate->context.blocked, gate->context.now_ns());
		usleep(1000);
	}
	assert_int_equal(counters->written, times);
}

static void it_outlives_a_restart(void **state)
{
	struct gate *gate = begin(POLICY);
	char path[PATH_MAX];
	struct stat st;
	FILE *file;
	(void)state;

	json_decref(gate_ok(gate, "content-add", "'id':'" BTIH "','comment':'a \\'b\\''"));
	json_decref(gate_ok(
		gate, "content-add", "'id':'ed2k:0123456789abcdef0123456789abcdef','ttl_s':5"));
	written(gate, 1);
	snprintf(path, sizeof path, "%s/%s", folder, BLOCKED_FILE);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	end(gate);
	// a torn line and a foreign one cost themselves
	file = fopen(path, "a");
	assert_non_null(file);
	fputs("{\"id\":\"md5:1\"}\n{\"id\":\"btih:", file);
	assert_int_equal(fclose(file), 0);
	gate = begin(POLICY);
	assert_int_equal(blocked_ids_counters(gate->context.blocked)->restored, 2);
	assert_int_equal(blocked_ids_counters(gate->context.blocked)->bad, 2);
	assert_false(passes(gate));
	assert_int_equal(number(gate, "content-list", "", "matched"), 2);
	// one ends by itself
	blocked_ids_step(gate->context.blocked, gate->context.now_ns() + 6 * NS_PER_S);
	assert_int_equal(number(gate, "content-list", "", "matched"), 1);
	assert_int_equal(number(gate, "content-list", "", "expired"), 1);
	assert_false(passes(gate));
	json_decref(gate_ok(gate, "content-flush", ""));
	end(gate); // writes
	gate = begin(POLICY);
	assert_int_equal(blocked_ids_counters(gate->context.blocked)->restored, 0);
	assert_true(passes(gate));
	end(gate);
}

static void it_is_bounded(void **state)
{
	char path[PATH_MAX];
	(void)state;

	snprintf(path, sizeof path, "%s/%s", folder, BLOCKED_FILE);
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	for (unsigned i = 0; i < BLOCKED_IDS_MAX; i++)
		fprintf(file, "{\"id\":\"btih:%040x\",\"added\":1,\"expires\":0}\n", i);
	assert_int_equal(fclose(file), 0);
	struct gate *gate = begin(POLICY);

	assert_int_equal(number(gate, "content-list", "", "matched"), BLOCKED_IDS_MAX);
	gate_nok(gate, "content-add", "'id':'" BTIH "'", "full");
	assert_int_equal(number(gate, "content-list", "", "refused"), 1);
	assert_true(passes(gate));
	assert_int_equal(number(gate, "content-flush", "", "deleted"), BLOCKED_IDS_MAX);
	end(gate);
	unlink(path);
}

static int remove_folder(void **state)
{
	(void)state;
	return rmdir(folder);
}

static void what_was_done_is_told(void **state)
{
	struct gate *gate = begin(POLICY);
	static const char first[] = "btih:00112233445566778899aabbccddeeff00112233";
	char text[128];
	(void)state;

	snprintf(text, sizeof(text), "'id':'%s','ttl_s':60", first);
	json_decref(gate_ok(gate, "content-add", text));
	json_t *event = gate_event(gate, "operator");
	const json_t *word = json_object_get(event, "operator");

	assert_string_equal(explained_text(word, "command"), "content-add");
	assert_string_equal(explained_text(word, "content_id"), first);
	assert_int_equal(explained_number(word, "ttl_s"), 60);
	json_decref(event);
	snprintf(text, sizeof(text), "'id':'%s'", first);
	json_decref(gate_ok(gate, "content-del", text));
	event = gate_event(gate, "operator");
	word = json_object_get(event, "operator");
	assert_string_equal(explained_text(word, "command"), "content-del");
	assert_string_equal(explained_text(word, "content_id"), first);
	json_decref(event);
	end(gate);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_done_is_told),
		cmocka_unit_test(what_is_listed_does_not_leave),
		cmocka_unit_test(it_asks_for_a_policy_that_enforces),
		cmocka_unit_test(it_outlives_a_restart),
		cmocka_unit_test(it_is_bounded),
	};

	if (!mkdtemp(folder))
		return 1;
	return cmocka_run_group_tests(tests, NULL, remove_folder);
}
