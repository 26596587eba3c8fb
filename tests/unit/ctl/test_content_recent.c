// SPDX-License-Identifier: BSD-3-Clause
// The transfers and chat verdicts that are kept: how many, which end belongs to which, what of them
// is shown, and how `transfers` and `chat` choose.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "content/file_type.h"
#include "control/content/recent.h"
#include "control/ctl/recent_json.h"
#include "lib/pipeline/explained.h"
#include "pipeline/policy/content_rules.h"
#include "pipeline/vocab/tick.h"

static struct content_record *record_new(
	enum content_record_kind kind, const char *const *texts, unsigned n)
{
	size_t bytes = 0;

	for (unsigned i = 0; i < n; i++)
		bytes += strlen(texts[i]);
	struct content_record *record = calloc(1, sizeof *record + bytes);

	assert_non_null(record);
	record->kind = (uint8_t)kind;
	record->length = (uint32_t)bytes;
	record->half = HALF_S2C;
	record->size = 1000;
	record->event.type = kind == CONTENT_RECORD_MESSAGE ? EVENT_CHAT : EVENT_FILE;
	record->event.l4_proto = 6;
	for (unsigned i = 0, at = 0; i < n; i++) {
		record->texts[i] = (uint16_t)strlen(texts[i]);
		memcpy(record->bytes + at, texts[i], strlen(texts[i]));
		at += (unsigned)strlen(texts[i]);
	}
	return record;
}

static struct content_record *file_new(uint64_t flow_id, uint64_t id, const char *name)
{
	struct content_record *record = record_new(CONTENT_RECORD_FILE,
		(const char *const[]){name, "", "files.example", "", "anna", ""}, 6);

	record->event.flow_id = flow_id;
	record->id = id;
	return record;
}

static void add(struct content_recent *recent, const struct content_record *record)
{
	struct content_item item;

	content_item_of(record, &item);
	content_recent_add(recent, &record->event, &item);
}

static void add_file(struct content_recent *recent, uint64_t flow_id, uint64_t id, const char *name)
{
	struct content_record *record = file_new(flow_id, id, name);

	add(recent, record);
	free(record);
}

static void texts_are_kept_as_records_have_them(void **state)
{
	const struct redact_rules rules = {REDACT_OMIT, REDACT_MASK, REDACT_MASK};
	struct content_record *file = file_new(1, 1, "M\u00fcller.pdf");
	struct content_record *message = record_new(
		CONTENT_RECORD_MESSAGE, (const char *const[]){"anna", "bob", "secret"}, 3);
	struct content_item item;

	(void)state;
	content_item_of(file, &item);
	content_item_redact(&item, &rules);
	assert_int_equal(item.name.length, 10);
	assert_memory_equal(item.name_bytes, "******.pdf", 10);
	assert_int_equal(item.from.length, 4);
	assert_memory_equal(item.from_bytes, "****", 4);
	assert_int_equal(item.to.length, strlen("files.example")); // a server
	content_item_of(message, &item);
	content_item_redact(&item, &rules);
	assert_int_equal(item.text.length, 0);
	assert_memory_equal(item.to_bytes, "***", 3);
	content_item_of(message, &item);
	content_item_redact(&item, &(struct redact_rules){0});
	assert_memory_equal(item.text_bytes, "secret", 6);
	free(file);
	free(message);
}

static void end_file(
	struct content_recent *recent, uint64_t flow_id, uint64_t id, enum content_action action)
{
	struct content_record *began = file_new(flow_id, id, "x");
	struct content_record ended = {.size = 77, .at = 5, .end = CONTENT_END_CLOSED};
	struct event event = began->event;
	struct content_item item;

	ended.action = (uint8_t)action;
	event.type = EVENT_FILEINFO;
	content_item_end(began, &ended, NULL, &item);
	content_recent_add(recent, &event, &item);
	free(began);
}

static void the_newest_are_kept(void **state)
{
	struct content_recent *recent = content_recent_new(3);
	(void)state;

	assert_null(content_recent_at(recent, RECENT_TRANSFERS, 0));
	for (unsigned i = 1; i <= 5; i++)
		add_file(recent, i, 1, "a");
	assert_int_equal(content_recent_seen(recent, RECENT_TRANSFERS), 5);
	assert_int_equal(content_recent_seen(recent, RECENT_CHAT), 0);
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(
			content_recent_at(recent, RECENT_TRANSFERS, i)->event.flow_id, 5 - i);
	assert_null(content_recent_at(recent, RECENT_TRANSFERS, 3));
	assert_null(content_recent_at(recent, RECENT_CHAT, 0));
	content_recent_free(recent);
	recent = content_recent_new(0); // none are wanted
	add_file(recent, 1, 1, "a");
	assert_null(content_recent_at(recent, RECENT_TRANSFERS, 0));
	content_recent_free(recent);
}

static void an_end_finds_its_transfer(void **state)
{
	struct content_recent *recent = content_recent_new(1000);
	unsigned found = 0;
	(void)state;

	for (unsigned i = 0; i < 3000; i++)
		add_file(recent, 1000 + i / 3, 1 + i % 3, "a");
	end_file(recent, 1000, 1, CONTENT_ACTION_PASS); // kept no longer: of nobody else either
	end_file(recent, 1999, 9, CONTENT_ACTION_PASS); // never was
	for (unsigned i = 0; i < 1000; i++)
		found += content_recent_at(recent, RECENT_TRANSFERS, i)->item.ended_ns != 0;
	assert_int_equal(found, 0);
	for (unsigned i = 2000; i < 3000; i++)
		end_file(recent, 1000 + i / 3, 1 + i % 3, CONTENT_ACTION_PASS);
	for (unsigned i = 0; i < 1000; i++) {
		const struct recent_entry *entry = content_recent_at(recent, RECENT_TRANSFERS, i);

		found += entry->item.ended_ns == 5 && entry->item.bytes == 77;
	}
	assert_int_equal(found, 1000);
	content_recent_free(recent);
}

// What a file is, is known when its first bytes have come: the verdict may be later than the
// record.
static void a_late_verdict_counts(void **state)
{
	struct content_recent *recent = content_recent_new(4);
	(void)state;

	add_file(recent, 7, 1, "harmless.bin");
	assert_false(content_recent_at(recent, RECENT_TRANSFERS, 0)->item.refused);
	end_file(recent, 7, 1, CONTENT_ACTION_RESET);
	const struct content_item *item = &content_recent_at(recent, RECENT_TRANSFERS, 0)->item;

	assert_true(item->refused);
	assert_int_equal(item->action, CONTENT_ACTION_RESET);
	content_recent_free(recent);
}

static void scanned(struct content_recent *recent, uint64_t at_s, uint64_t flow_id,
	const struct scan_result *av)
{
	struct content_record *began = file_new(flow_id, 1, "slow.iso");
	struct content_record ended = {.size = 77, .at = 5, .av = *av};
	struct event event = began->event;
	struct content_item item;

	event.type = EVENT_FILEINFO;
	event.now_ns = at_s * NS_PER_S;
	content_item_end(began, &ended, NULL, &item);
	content_recent_add(recent, &event, &item);
	free(began);
}

static void ran(struct content_recent *recent, uint64_t at_s, uint64_t flow_id, uint64_t run_ms)
{
	scanned(recent, at_s, flow_id,
		&(struct scan_result){
			.known = true, .value = SCAN_CLEAN, .run_ns = run_ms * NS_PER_MS});
}

// As many as there is room for, by the time that their scan took; one that never ended, by what
// was waited for it. An hour later they are of no interest.
static void the_slowest_are_kept_for_an_hour(void **state)
{
	struct content_recent *recent = content_recent_new(0); // these are, also if no others are
	const struct recent_entry *entry;
	uint64_t last_ns = UINT64_MAX;
	(void)state;

	scanned(recent, 100, 7, &(struct scan_result){.value = SCAN_CLEAN}); // was not scanned
	scanned(recent, 100, 8,
		&(struct scan_result){.known = true, .value = SCAN_UNSCANNED, .hold_ns = 99});
	assert_null(content_recent_slow(recent, 100 * NS_PER_S, 0));
	for (uint64_t i = 1; i <= 40; i++) // 17 is no divisor of 41: in no order
		ran(recent, 100 + i, i, i * 17 % 41);
	for (unsigned i = 0; i < RECENT_SLOW_MAX; i++) {
		entry = content_recent_slow(recent, 200 * NS_PER_S, i);
		assert_int_equal(entry->item.av.run_ns, (40 - i) * NS_PER_MS);
		assert_int_equal(entry->event.flow_id * 17 % 41, 40 - i);
		assert_true(entry->item.av.run_ns < last_ns);
		last_ns = entry->item.av.run_ns;
	}
	assert_null(content_recent_slow(recent, 200 * NS_PER_S, RECENT_SLOW_MAX));
	scanned(recent, 3000, 1000,
		&(struct scan_result){
			.known = true, .value = SCAN_TIMEOUT, .hold_ns = 10 * NS_PER_S});
	ran(recent, 3000, 1001, 1); // faster than all of them
	assert_int_equal(content_recent_slow(recent, 3000 * NS_PER_S, 0)->event.flow_id, 1000);
	assert_null(content_recent_slow(recent, 3000 * NS_PER_S, RECENT_SLOW_MAX));
	assert_int_equal(content_recent_slow(recent, 3750 * NS_PER_S, 0)->event.flow_id, 1000);
	assert_null(content_recent_slow(recent, 3750 * NS_PER_S, 1)); // the others are too old
	ran(recent, 3750, 1002, 1);                                   // and have made room
	assert_int_equal(content_recent_slow(recent, 3750 * NS_PER_S, 1)->event.flow_id, 1002);
	assert_null(content_recent_slow(recent, 6600 * NS_PER_S, 1));
	assert_null(content_recent_slow(recent, 7350 * NS_PER_S, 0));
	content_recent_free(recent);
}

static void long_texts_are_cut(void **state)
{
	char name[400], text[3000];
	(void)state;

	memset(name, 'n', sizeof name - 1);
	memcpy(name + sizeof name - 5, ".exe", 5);
	memset(text, 't', sizeof text - 1);
	text[sizeof text - 1] = 0;
	struct content_record *file = file_new(1, 1, name);
	struct content_record *message =
		record_new(CONTENT_RECORD_MESSAGE, (const char *const[]){name, "bob", text}, 3);
	struct content_item item;

	content_item_of(file, &item);
	assert_int_equal(item.name.length, RECENT_NAME_BYTES);
	assert_true(item.name.cut);
	assert_memory_equal(item.name_bytes + RECENT_NAME_BYTES - 4, ".exe", 4);
	content_item_of(message, &item);
	assert_int_equal(item.text.length, RECENT_TEXT_BYTES);
	assert_true(item.text.cut);
	assert_int_equal(item.from.length, RECENT_PARTY_BYTES);
	assert_int_equal(item.to.length, 3);
	assert_false(item.to.cut);
	free(file);
	free(message);
}

#define TWO_RULES                                                                      \
	"'users':{'anna':['10.0.0.1']},'rules':["                                      \
	"{'id':'files','match':{},'transfers':[{'name':['*.exe'],'action':'reset'}]}," \
	"{'id':'watch','match':{},'chat':[{'keyword':['x'],'action':'monitor'}]}]"

static uint32_t uid_of(const struct gate *gate, const char *id)
{
	const struct policy *policy = reload_policy(gate->context.reload);

	for (uint32_t i = 0; i < policy->n_rules; i++)
		if (!strcmp(policy->rules[i].id, id))
			return policy->rules[i].uid;
	fail_msg("no rule %s", id);
	return 0;
}

static void end_at(struct event *event, uint8_t client)
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};

	for (unsigned half = 0; half < 2; half++) {
		memcpy(event->ends.address[half], mapped, 12);
		memcpy(event->ends.address[half] + 12,
			(const uint8_t[]){10, 0, 0, half ? 200 : client}, 4);
	}
	event->ends.port[HALF_C2S] = 40000;
	event->ends.port[HALF_S2C] = 80;
}

static struct gate *filled(void)
{
	struct gate *gate = gate_new(1, TWO_RULES);
	const struct policy *policy = reload_policy(gate->context.reload);
	static const char *const names[] = {"one.txt", "setup.exe", "<script>\x1b\xff.pdf"};

	gate->context.recent = content_recent_new(10);
	for (unsigned i = 0; i < 3; i++) {
		struct content_record *file = file_new(100 + i, 1, names[i]);

		end_at(&file->event, (uint8_t)(i + 1));
		file->event.app = app_find(i ? "http" : "ftp");
		if (i == 0)
			file->event.user_uid = policy->users.users[0].uid;
		if (i == 1) {
			file->action = CONTENT_ACTION_RESET;
			file->event.rule_uid = uid_of(gate, "files");
		}
		add(gate->context.recent, file);
		free(file);
	}
	struct content_record *message = record_new(CONTENT_RECORD_MESSAGE,
		(const char *const[]){"anna", "#room", "x marks the spot"}, 3);

	end_at(&message->event, 1);
	message->action = CONTENT_ACTION_DROP_MESSAGE;
	message->rule_mode = MODE_MONITOR;
	message->event.rule_uid = uid_of(gate, "watch");
	add(gate->context.recent, message);
	free(message);
	return gate;
}

static void gate_end(struct gate *gate)
{
	content_recent_free(gate->context.recent);
	gate_free(gate);
}

// "setup.exe one.txt": which names come, in which order.
static void expect_names(struct gate *gate, const char *arguments, const char *names)
{
	json_t *message = gate_ok(gate, "transfers", arguments), *item;
	char text[256] = "";
	size_t i;

	json_array_foreach (json_object_get(message, "transfers"), i, item)
		snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s", i ? " " : "",
			explained_text(item, "filename"));
	assert_string_equal(text, names);
	json_decref(message);
}

static void transfers_are_chosen(void **state)
{
	struct gate *gate = filled();
	(void)state;

	expect_names(gate, "", "<script>\xef\xbf\xbd\xef\xbf\xbd.pdf setup.exe one.txt");
	expect_names(gate, "'refused':true", "setup.exe");
	expect_names(gate, "'rule':'files'", "setup.exe");
	expect_names(gate, "'rule':'watch'", "");
	expect_names(gate, "'app':'ftp'", "one.txt");
	expect_names(gate, "'host':'10.0.0.2'", "setup.exe");
	expect_names(gate, "'user':'anna'", "one.txt");
	expect_names(gate, "'limit':1,'offset':1", "setup.exe");
	gate_nok(gate, "transfers", "'user':'nobody'", "nobody");
	gate_nok(gate, "transfers", "'rule':'none-such'", "none-such");
	gate_nok(gate, "transfers", "'refused':1", "refused");
	gate_nok(gate, "transfers", "'sort':'size'", "takes host, user");
	json_t *message = gate_ok(gate, "transfers", "'refused':true");
	const json_t *item = json_array_get(json_object_get(message, "transfers"), 0);

	assert_int_equal(explained_number(message, "seen"), 3);
	assert_int_equal(explained_number(message, "matched"), 1);
	assert_string_equal(explained_text(item, "rule"), "files");
	assert_string_equal(explained_text(item, "action"), "reset");
	assert_string_equal(explained_text(item, "mode"), "enforce");
	assert_string_equal(explained_text(item, "src_ip"), "10.0.0.2");
	assert_string_equal(explained_text(item, "host"), "files.example");
	assert_string_equal(explained_text(item, "login"), "anna");
	assert_int_equal(explained_number(item, "size"), 1000);
	assert_null(json_object_get(item, "state"));
	json_decref(message);
	gate_end(gate);
}

static void chat_verdicts_are_listed(void **state)
{
	struct gate *gate = filled();
	(void)state;

	json_t *message = gate_ok(gate, "chat", "'rule':'watch'");
	const json_t *item = json_array_get(json_object_get(message, "messages"), 0);

	assert_string_equal(explained_text(item, "text"), "x marks the spot");
	assert_string_equal(explained_text(item, "from"), "anna");
	assert_string_equal(explained_text(item, "to"), "#room");
	assert_string_equal(explained_text(item, "mode"), "monitor");
	assert_true(json_is_false(json_object_get(item, "refused")));
	json_decref(message);
	message = gate_ok(gate, "chat", "'refused':true");
	assert_int_equal(explained_number(message, "matched"), 0);
	json_decref(message);
	gate_end(gate);
}

// Without the switch nothing that a sender wrote leaves the gateway.
static void names_can_be_left_out(void **state)
{
	struct gate *gate = filled();
	(void)state;

	for (unsigned kind = 0; kind < RECENT_KINDS; kind++) {
		json_t *item = recent_json(&gate->context,
			content_recent_at(gate->context.recent, (enum recent_kind)kind, 0),
			(enum recent_kind)kind, false);
		char *text = json_dumps(item, JSON_ENSURE_ASCII);

		assert_null(strstr(text, "script"));
		assert_null(strstr(text, "anna"));
		assert_null(strstr(text, "spot"));
		assert_null(strstr(text, "files.example"));
		assert_non_null(strstr(text, "10.0.0.200"));
		free(text);
		json_decref(item);
	}
	gate_end(gate);
}

static void a_gateway_that_keeps_none_lists_none(void **state)
{
	struct gate *gate = gate_new(1, "'default':'pass'");
	(void)state;

	expect_names(gate, "", "");
	gate_free(gate);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(texts_are_kept_as_records_have_them),
		cmocka_unit_test(the_newest_are_kept),
		cmocka_unit_test(an_end_finds_its_transfer),
		cmocka_unit_test(a_late_verdict_counts),
		cmocka_unit_test(the_slowest_are_kept_for_an_hour),
		cmocka_unit_test(long_texts_are_cut),
		cmocka_unit_test(transfers_are_chosen),
		cmocka_unit_test(chat_verdicts_are_listed),
		cmocka_unit_test(names_can_be_left_out),
		cmocka_unit_test(a_gateway_that_keeps_none_lists_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
