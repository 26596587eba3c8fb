// SPDX-License-Identifier: BSD-3-Clause
// The command audit-show: the head of the audit log, and what became of the records for it.
#include <string.h>

#include "control/ctl/command.h"

static json_t *log_json(const struct content_reader_counters *counters)
{
	const struct audit_log_counters *log = &counters->log;
	json_t *message = json_object();
	uint64_t settled = log->records + log->lost;

	put_text(&message, "head", counters->head);
	put_number(&message, "seq", counters->head_seq);
	put_number(&message, "offered", counters->offered);
	put_number(&message, "written", log->records);
	put_number(&message, "lost", log->lost);
	put_number(
		&message, "waiting", counters->offered > settled ? counters->offered - settled : 0);
	put_number(&message, "own_lines", log->own_lines);
	put_number(&message, "bytes", log->bytes);
	put_number(&message, "rotations", log->rotations);
	put_number(&message, "sync_errors", log->sync_errors);
	if (log->error)
		put_text(&message, "error", strerror(log->error));
	return message;
}

static json_t *store_json(const struct store_counters *store)
{
	json_t *message = json_object();

	put_number(&message, "files", store->used_files);
	put_number(&message, "bytes", store->used_bytes);
	put_number(&message, "stored", store->stored);
	put_number(&message, "duplicates", store->duplicates);
	put_number(&message, "evicted", store->evicted);
	put_number(&message, "aged", store->aged);
	put_number(&message, "refused", store->refused);
	put_number(&message, "errors", store->errors);
	put_number(&message, "quarantined", store->quarantined);
	put_number(&message, "removed", store->removed);
	if (store->error)
		put_text(&message, "error", strerror(store->error));
	return message;
}

static json_t *quarantine_json(const struct store_counters *quarantine)
{
	json_t *message = json_object();

	put_number(&message, "files", quarantine->used_files);
	put_number(&message, "bytes", quarantine->used_bytes);
	put_number(&message, "evicted", quarantine->evicted);
	put_number(&message, "aged", quarantine->aged);
	put_number(&message, "refused", quarantine->refused);
	put_number(&message, "errors", quarantine->errors);
	if (quarantine->error)
		put_text(&message, "error", strerror(quarantine->error));
	return message;
}

static json_t *evidence_json(const struct packet_folder_counters *evidence)
{
	json_t *message = json_object();

	put_number(&message, "written", evidence->written);
	put_number(&message, "removed", evidence->removed);
	put_number(&message, "bytes", evidence->used_bytes);
	put_number(&message, "errors", evidence->errors);
	if (evidence->error)
		put_text(&message, "error", strerror(evidence->error));
	return message;
}

COMMAND(audit_show, "audit-show", "", "the head of the audit log, and what it lacks")
{
	const struct gateway *gateway = request->context->gateway;
	struct content_reader_counters counters;
	json_t *message;

	if (json_object_size(arguments)) {
		request_fail_arguments(request, "none expected");
		return;
	}
	if (!request->context->content) {
		request_fail(request, "nothing reads files and messages yet");
		return;
	}
	content_reader_look(request->context->content, &counters);
	message = json_object();
	if (gateway && gateway->paths.audit) {
		json_t *log = log_json(&counters);

		put_text(&log, "path", gateway->paths.audit);
		put_json(&message, "log", log);
	}
	put_json(&message, "store", store_json(&counters.store));
	if (gateway && gateway->paths.quarantine)
		put_json(&message, "quarantine", quarantine_json(&counters.quarantine));
	if (gateway && gateway->paths.evidence)
		put_json(&message, "evidence", evidence_json(&counters.evidence));
	request_ok(request, message);
}
