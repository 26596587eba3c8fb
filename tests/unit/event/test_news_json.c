// SPDX-License-Identifier: BSD-3-Clause
// What events say of files and messages, and what they leave out when texts are redacted.
#include "control/content/news_json.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "control/event/eve.h"
#include "lib/control/eve_lines.h"

static const struct redact_rules keep;

// A record with these texts.
static struct content_record *record_of(uint8_t kind, const char *const *texts, unsigned n)
{
	struct content_record *record = calloc(1, sizeof(*record) + 1024);

	record->kind = kind;
	for (unsigned i = 0; i < n; i++) {
		record->texts[i] = (uint16_t)strlen(texts[i]);
		memcpy(record->bytes + record->length, texts[i], record->texts[i]);
		record->length += record->texts[i];
	}
	return record;
}

static struct content_record *a_file(void)
{
	static const char *const texts[] = {
		"my diary.exe", "/home/ann/my diary.exe", "files.example", "text/plain", "ann", ""};

	return record_of(CONTENT_RECORD_FILE, texts, 6);
}

static struct content_record *a_message(void)
{
	static const char *const texts[] = {"ann", "bob", "meet me at 8", "at 8"};

	return record_of(CONTENT_RECORD_MESSAGE, texts, 4);
}

static json_t *parsed(const struct json_out *out)
{
	json_t *object = json_loadb(out->start, json_out_length(out), 0, NULL);

	assert_false(out->full);
	assert_non_null(object);
	return object;
}

static json_t *transfer(const struct redact_rules *redact)
{
	static char buffer[4096];
	struct content_record *record = a_file();
	struct json_out out;

	json_out_init(&out, buffer, sizeof(buffer));
	news_put_transfer(record, redact, &out);
	free(record);
	return parsed(&out);
}

static json_t *chat(const struct redact_rules *redact)
{
	static char buffer[4096];
	struct content_record *record = a_message();
	struct json_out out;

	json_out_init(&out, buffer, sizeof(buffer));
	news_put_chat(record, redact, &out);
	free(record);
	return parsed(&out);
}

static void all_is_kept_unless_told(void **state)
{
	json_t *object = transfer(&keep);

	(void)state;
	has_text(object, "filename", "my diary.exe");
	has_text(object, "path", "/home/ann/my diary.exe");
	has_text(object, "host", "files.example");
	has_text(object, "user", "ann");
	json_decref(object);
	object = chat(&keep);
	has_text(object, "from", "ann");
	has_text(object, "to", "bob");
	has_text(object, "text", "meet me at 8");
	has_text(object, "matched", "at 8");
	json_decref(object);
}

// Of HTTP an object stands beside the file's, as Suricata has it.
static void http_stands_beside_a_file(void **state)
{
	static const struct redact_rules names = {.names = REDACT_MASK};
	static const char *const texts[] = {
		"a.exe", "/x/a.exe?v=1", "files.example", "text/plain", "", "", "GET", "curl/8.0"};
	struct content_record *record = record_of(CONTENT_RECORD_FILE, texts, 8);
	struct content_record ended = {.kind = CONTENT_RECORD_END};

	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		char buffer[4096] = "{\"file\":";
		struct json_out out;

		record->is_http = i > 0;
		record->status = i > 1 ? 200 : 0;
		json_out_init(&out, buffer + strlen(buffer), sizeof(buffer) - 16);
		if (i % 2)
			news_put_transfer(record, i > 2 ? &names : &keep, &out);
		else
			news_put_fileinfo(record, &ended, NULL, &keep, &out);
		memcpy(out.at, "}", 2);
		json_t *line = json_loads(buffer, 0, NULL), *http = json_object_get(line, "http");

		assert_non_null(line);
		assert_true(json_is_object(json_object_get(line, "file")));
		assert_int_equal(json_object_size(http), i == 0 ? 0 : i == 1 ? 5 : 6);
		if (i) {
			has_text(http, "hostname", "files.example");
			has_text(http, "http_method", "GET");
			has_text(http, "http_user_agent", "curl/8.0");
			has_text(http, "http_content_type", "text/plain");
			has_text(http, "url", i > 2 ? "************" : "/x/a.exe?v=1");
		}
		assert_int_equal(
			json_integer_value(json_object_get(http, "status")), i > 1 ? 200 : 0);
		json_decref(line);
	}
	free(record);
}

static void each_kind_is_masked_by_itself(void **state)
{
	static const struct redact_rules text = {.text = REDACT_MASK};
	static const struct redact_rules names = {.names = REDACT_MASK};
	static const struct redact_rules users = {.users = REDACT_MASK};
	json_t *object = chat(&text);

	(void)state;
	has_text(object, "text", "************");
	has_text(object, "matched", "****");
	has_text(object, "from", "ann");
	json_decref(object);
	object = transfer(&names);
	has_text(object, "filename", "********.exe");
	has_text(object, "path", "******************.exe");
	has_text(object, "user", "ann");
	json_decref(object);
	object = chat(&users);
	has_text(object, "from", "***");
	has_text(object, "to", "***");
	has_text(object, "text", "meet me at 8");
	json_decref(object);
	object = transfer(&users);
	has_text(object, "user", "***");
	has_text(object, "filename", "my diary.exe");
	json_decref(object);
}

static void each_kind_is_left_out_by_itself(void **state)
{
	static const struct redact_rules all = {
		.text = REDACT_OMIT, .names = REDACT_OMIT, .users = REDACT_OMIT};
	static const struct redact_rules text = {.text = REDACT_OMIT};
	json_t *object = transfer(&all);

	(void)state;
	has_not(object, "filename");
	has_not(object, "path");
	has_not(object, "user");
	has_text(object, "host", "files.example");
	json_decref(object);
	object = chat(&all);
	has_not(object, "from");
	has_not(object, "to");
	has_not(object, "text");
	has_text(object, "direction", "to_server");
	json_decref(object);
	object = chat(&text);
	has_text(object, "from", "ann");
	json_decref(object);
}

static void an_end_is_redacted_as_its_beginning(void **state)
{
	static const struct redact_rules names = {.names = REDACT_MASK};
	static char buffer[4096];
	struct content_record *began = a_file(), ended = {.end = CONTENT_END_CLOSED};
	struct json_out out;

	(void)state;
	json_out_init(&out, buffer, sizeof(buffer));
	news_put_fileinfo(began, &ended, NULL, &names, &out);
	free(began);
	json_t *object = parsed(&out);

	has_text(object, "filename", "********.exe");
	json_decref(object);
}

// Who looked, with what, and how long each part took; of a file that nobody looked at, why.
static void what_the_virus_engine_said(void **state)
{
	static const struct scan_result results[] = {
		{.known = true,
			.value = SCAN_INFECTED,
			.by = SCAN_BY_CLAMAV,
			.db_version = 27001,
			.queue_ns = 2000000,
			.run_ns = 40000000,
			.hold_ns = 45000000,
			.name = "Test.Eicar"},
		{.known = true, .value = SCAN_UNSCANNED, .reason = SCAN_REASON_BUSY},
		{.value = SCAN_INFECTED, .name = "not.yet"},
	};
	json_t *av[3];

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		static char buffer[4096];
		struct content_record *began = a_file(), ended = {.av = results[i]};
		struct json_out out;

		json_out_init(&out, buffer, sizeof(buffer));
		news_put_fileinfo(began, &ended, NULL, &keep, &out);
		free(began);
		json_t *object = parsed(&out);

		av[i] = json_incref(json_object_get(object, "av"));
		json_decref(object);
	}
	assert_int_equal(json_object_size(av[0]), 7);
	has_text(av[0], "engine", "clamav");
	has_number(av[0], "db_version", 27001);
	has_text(av[0], "verdict", "infected");
	has_text(av[0], "signature", "Test.Eicar");
	has_number(av[0], "queue_ms", 2);
	has_number(av[0], "scan_ms", 40);
	has_number(av[0], "hold_ms", 45);
	has_text(av[1], "verdict", "unscanned");
	has_text(av[1], "reason", "busy");
	has_not(av[1], "engine");
	has_not(av[1], "db_version");
	has_not(av[1], "signature");
	assert_null(av[2]);
	json_decref(av[0]);
	json_decref(av[1]);
}

static void packets_that_could_not_be_written(void **state)
{
	static char buffer[1024];
	struct packet_file_result result = {
		.name = "20231114T221320Z-77.pcapng", .packets = 3, .bytes = 900};
	struct json_out out;

	(void)state;
	json_out_init(&out, buffer, sizeof(buffer));
	news_put_evidence(&result, &out);
	json_t *object = parsed(&out);

	has_text(object, "file", "20231114T221320Z-77.pcapng");
	has_number(object, "packets", 3);
	has_not(object, "error");
	json_decref(object);
	result.name[0] = '\0';
	result.error = ENOSPC;
	json_out_init(&out, buffer, sizeof(buffer));
	news_put_evidence(&result, &out);
	object = parsed(&out);
	has_text(object, "error", strerror(ENOSPC));
	has_not(object, "file");
	json_decref(object);
}

static void announced_transfers_are_redacted_too(void **state)
{
	struct event event = event_of(EVENT_TRANSFER);
	struct dataplane *dp = fake_dataplane_new(1, false);
	const struct eve_names names = {
		.dp = dp, .redact = {.names = REDACT_MASK, .users = REDACT_OMIT}};
	static char buffer[EVE_LINE_MAX];
	struct json_out out;

	(void)state;
	snprintf(event.transfer.file, sizeof(event.transfer.file), "my diary.exe");
	snprintf(event.transfer.user, sizeof(event.transfer.user), "ann");
	event.rule_uid = 0;
	json_out_init(&out, buffer, sizeof(buffer));
	eve_render(&names, &event, NULL, &out);
	json_t *object = parsed(&out);

	has_text(object, "transfer.filename", "********.exe");
	has_not(object, "transfer.user");
	json_decref(object);
	fake_dataplane_free(dp);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_is_kept_unless_told),
		cmocka_unit_test(each_kind_is_masked_by_itself),
		cmocka_unit_test(http_stands_beside_a_file),
		cmocka_unit_test(each_kind_is_left_out_by_itself),
		cmocka_unit_test(an_end_is_redacted_as_its_beginning),
		cmocka_unit_test(what_the_virus_engine_said),
		cmocka_unit_test(packets_that_could_not_be_written),
		cmocka_unit_test(announced_transfers_are_redacted_too),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
