// SPDX-License-Identifier: BSD-3-Clause
// Writes what records of content say as JSON objects.
#include "control/content/news_json.h"

#include <string.h>
#include "content/content_id.h"
#include "pipeline/policy/content_rules.h"

static void put(struct json_out *out, const char *key, const struct content_record *record,
	enum content_record_text which)
{
	struct content_text text = content_record_text(record, which);

	if (text.length)
		json_out_text(out, key, (const char *)text.bytes, text.length);
}

static void put_name(struct json_out *out, const char *key, const struct content_record *record,
	enum content_record_text which, enum redact how)
{
	struct content_text text = content_record_text(record, which);

	if (text.length)
		json_out_redacted_name(out, key, text.bytes, text.length, how);
}

static void put_redacted(struct json_out *out, const char *key, const struct content_record *record,
	enum content_record_text which, enum redact how)
{
	struct content_text text = content_record_text(record, which);

	if (text.length)
		json_out_redacted(out, key, text.bytes, text.length, how);
}

static void put_verdict(const struct content_record *record, struct json_out *out)
{
	if (record->action == CONTENT_ACTION_PASS)
		return;
	json_out_string(out, "action", content_action_word(record->action));
	json_out_string(out, "mode", record->rule_mode == MODE_MONITOR ? "monitor" : "enforce");
}

static void put_file(const struct content_record *record, const struct redact_rules *redact,
	struct json_out *out)
{
	char id[CONTENT_ID_TEXT];

	json_out_u64(out, "file_id", record->id);
	put_name(out, "filename", record, RECORD_NAME, redact->names);
	if (record->name_cut)
		json_out_bool(out, "filename_cut", true);
	json_out_string(out, "source", content_name_source_word(record->name_source));
	if (record->has_id)
		json_out_string(out, "content_id", content_id_print(&record->content_id, id));
	put_name(out, "path", record, RECORD_PATH, redact->names);
	put(out, "host", record, RECORD_HOST);
	put(out, "content_type", record, RECORD_TYPE);
	put_redacted(out, "user", record, RECORD_USER, redact->users);
	json_out_string(out, "direction", record->half == HALF_S2C ? "to_client" : "to_server");
}

// Beside the object, as Suricata has it: the request, and the response that brings the file.
static void put_http(const struct content_record *record, const struct redact_rules *redact,
	struct json_out *out)
{
	if (!record->is_http)
		return;
	json_out_open(out, "http", '{');
	put(out, "hostname", record, RECORD_HOST);
	put_name(out, "url", record, RECORD_PATH, redact->names);
	put(out, "http_method", record, RECORD_METHOD);
	put(out, "http_user_agent", record, RECORD_AGENT);
	put(out, "http_content_type", record, RECORD_TYPE);
	if (record->status)
		json_out_u64(out, "status", record->status);
	json_out_close(out, '}');
}

void news_put_transfer(const struct content_record *record, const struct redact_rules *redact,
	struct json_out *out)
{
	json_out_open(out, NULL, '{');
	put_file(record, redact, out);
	if (record->size != CONTENT_SIZE_UNKNOWN)
		json_out_u64(out, "size", record->size & INT64_MAX);
	if (record->partial)
		json_out_u64(out, "range_from", record->range_from & INT64_MAX);
	if (record->elsewhere)
		json_out_bool(out, "announced", true);
	if (record->requested)
		json_out_bool(out, "requested", true);
	if (record->again)
		json_out_bool(out, "again", true);
	put_verdict(record, out);
	json_out_close(out, '}');
	put_http(record, redact, out);
}

// Suricata's words: offsets in the whole file of the first byte of a part, and of the last that
// came.
static void put_part(const struct content_record *began, const struct content_record *ended,
	struct json_out *out)
{
	if (!began->partial)
		return;
	json_out_u64(out, "start", began->range_from & INT64_MAX);
	if (ended->reached)
		json_out_u64(out, "end", (began->range_from + ended->reached - 1) & INT64_MAX);
	if (began->size != CONTENT_SIZE_UNKNOWN)
		json_out_u64(out, "file_size", began->size & INT64_MAX);
}

// What the virus engine said.
static void put_av(const struct scan_result *av, struct json_out *out)
{
	if (!av->known)
		return;
	json_out_open(out, "av", '{');
	json_out_string(out, "verdict", scan_value_word(av->value));
	if (av->value == SCAN_UNSCANNED)
		json_out_string(out, "reason", scan_reason_word(av->reason));
	if (av->value == SCAN_INFECTED)
		json_out_text(out, "signature", av->name, strnlen(av->name, sizeof av->name));
	if (av->source)
		json_out_string(out, "source", scan_source_word(av->source));
	json_out_u64(out, "scan_ms", av->run_ns / NS_PER_MS);
	json_out_u64(out, "queue_ms", av->queue_ns / NS_PER_MS);
	json_out_u64(out, "hold_ms", av->hold_ns / NS_PER_MS);
	if (av->by != SCAN_BY_NOBODY) {
		json_out_string(out, "engine", scan_by_word(av->by));
		json_out_u64(out, "db_version", av->db_version);
	}
	json_out_close(out, '}');
}

void news_put_fileinfo(const struct content_record *began, const struct content_record *ended,
	const struct store_result *result, const struct redact_rules *redact, struct json_out *out)
{
	bool whole = ended->end == CONTENT_END_CLOSED && !ended->lost;

	json_out_open(out, NULL, '{');
	put_file(began, redact, out);
	json_out_string(out, "state", content_end_word(ended->end));
	json_out_bool(out, "gaps", result && result->gaps);
	json_out_u64(out, "size", ended->size & INT64_MAX);
	put_part(began, ended, out);
	json_out_string(out, "type", file_type_word(ended->file_type));
	json_out_string(out, "type_group", file_type_group(ended->file_type));
	if (ended->lost)
		json_out_u64(out, "not_recorded", ended->lost & INT64_MAX);
	if (result && result->digested && !ended->lost) {
		json_out_string(out, "md5", result->digests.md5);
		json_out_string(out, "sha1", result->digests.sha1);
		json_out_string(out, "sha256", result->digests.sha256);
	}
	json_out_bool(out, "stored", result && result->stored);
	if (result && result->quarantined)
		json_out_bool(out, "quarantined", true);
	put_av(&ended->av, out);
	if (!whole)
		json_out_bool(out, "whole", false);
	put_verdict(ended->action != CONTENT_ACTION_PASS ? ended : began, out);
	json_out_close(out, '}');
	put_http(began, redact, out);
}

void news_put_chat(const struct content_record *record, const struct redact_rules *redact,
	struct json_out *out)
{
	json_out_open(out, NULL, '{');
	put_redacted(out, "from", record, RECORD_FROM, redact->users);
	put_redacted(out, "to", record, RECORD_TO, redact->users);
	put_redacted(out, "text", record, RECORD_TEXT, redact->text);
	put_redacted(out, "matched", record, RECORD_MATCHED, redact->text);
	json_out_string(out, "direction", record->half == HALF_S2C ? "to_client" : "to_server");
	if (record->goes_on)
		json_out_bool(out, "goes_on", true);
	put_verdict(record, out);
	json_out_close(out, '}');
}

void news_put_evidence(const struct packet_file_result *result, struct json_out *out)
{
	json_out_open(out, NULL, '{');
	if (*result->name)
		json_out_string(out, "file", result->name);
	else
		json_out_string(out, "error", strerror(result->error));
	json_out_u64(out, "packets", result->packets);
	json_out_u64(out, "bytes", result->bytes);
	if (*result->sha256)
		json_out_string(out, "sha256", result->sha256);
	json_out_close(out, '}');
}
