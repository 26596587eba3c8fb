// SPDX-License-Identifier: BSD-3-Clause
// Formats the state of a flow's content, and the files that are open in it.
#include "control/ctl/content_json.h"

#include <string.h>
#include "base/utf8.h"
#include "content/content.h"
#include "content/file_type.h"
#include "control/ctl/list_filter.h"
#include "pipeline/policy/content_rules.h"
#include "pipeline/vocab/tick.h"

#define TEXT_BYTES_MAX 1024

void content_json_put_bytes(json_t **parent, const char *key, const void *bytes, size_t length)
{
	static const char replacement[] = "\xef\xbf\xbd";
	char text[3 * TEXT_BYTES_MAX];
	const uint8_t *at = bytes;
	size_t n = 0;

	length = length < TEXT_BYTES_MAX ? length : TEXT_BYTES_MAX;
	for (size_t i = 0; i < length;) {
		uint32_t character = 0;
		size_t taken = utf8_take(at + i, length - i, &character);
		bool shown = taken && !utf8_is_control(character);

		memcpy(text + n, shown ? (const char *)at + i : replacement, shown ? taken : 3);
		n += shown ? taken : 3;
		i += taken ? taken : 1;
	}
	put_json(parent, key, json_stringn(text, n));
}

static uint64_t ms_since(uint64_t now_ns, uint64_t then_ns)
{
	return now_ns > then_ns ? (now_ns - then_ns) / NS_PER_MS : 0;
}

static void put_notes(json_t **object, const struct content_tally seen[2])
{
	uint8_t marks = seen[0].marks | seen[1].marks;
	json_t *list;

	if (!marks)
		return;
	list = json_array();
	for (unsigned mark = 0; list && mark < CONTENT_MARKS_MAX; mark++)
		if (marks & 1u << mark)
			put_item(&list, json_string(content_mark_word(mark)));
	put_json(object, "notes", list);
	for (unsigned half = 0; half < 2; half++)
		if (seen[half].note)
			put_text(object, half ? "note_toclient" : "note_toserver",
				content_note_word(seen[half].note - 1u));
}

static json_t *file_json(const struct control_context *context, const struct flow_record *record,
	const struct content_look_file *file)
{
	bool to_server = file->upload == !!(record->flags & FLOW_C2S_INSIDE);
	json_t *object = json_object();

	put_number(&object, "file_id", file->id);
	if (file->name_length)
		content_json_put_bytes(&object, "filename", file->name, file->name_length);
	if (file->name_cut)
		put_bool(&object, "filename_cut", true);
	put_text(&object, "direction", to_server ? "to_server" : "to_client");
	if (file->size != CONTENT_SIZE_UNKNOWN)
		put_number(&object, "size", file->size & INT64_MAX);
	if (file->range_from)
		put_number(&object, "range_from", file->range_from & INT64_MAX);
	put_number(&object, "bytes", file->bytes & INT64_MAX);
	if (file->type_known)
		put_text(&object, "type", file_type_word(file->type));
	put_text(&object, "verdict", file->pending ? "pending" : content_action_word(file->action));
	if (!file->pending && file->action != CONTENT_ACTION_PASS)
		put_text(&object, "mode", file->mode == MODE_MONITOR ? "monitor" : "enforce");
	if (!file->pending)
		put_rule(&object, context, file->rule_uid);
	put_time(&object, "since", file->since_ns);
	put_number(&object, "for_ms", ms_since(context->now_ns(), file->since_ns));
	if (file->lost)
		put_number(&object, "not_recorded", file->lost & INT64_MAX);
	put_bool(&object, "recorded", file->recorded);
	put_bool(&object, "stored", file->stored);
	return object;
}

static void put_look(json_t **object, const struct control_context *context,
	const struct flow_record *record, const struct content_look *look)
{
	json_t *files = json_array(), *spent = json_object();

	if (look->began_ns) {
		put_time(object, "began", look->began_ns);
		for (unsigned state = 0; state < CONTENT_STATES_MAX; state++)
			put_number(&spent, content_state_word(state),
				look->spent_ns[state] / NS_PER_MS);
		put_json(object, "spent_ms", spent);
	} else {
		json_decref(spent);
	}
	for (unsigned half = 0; half < 2; half++)
		if (look->text_length[half])
			put_number(object,
				half ? "message_bytes_toclient" : "message_bytes_toserver",
				look->text_length[half]);
	for (uint32_t i = 0; i < look->n_files && i < CONTENT_LOOK_FILES; i++)
		put_item(&files, file_json(context, record, &look->files[i]));
	put_json(object, "open", files);
}

void content_json_put(json_t **flow, const struct control_context *context,
	const struct flow_record *record, const struct content_look *look)
{
	const struct content_brief *brief = &record->content;
	const struct content_tally *seen = brief->seen;
	json_t *object;

	if (!brief->is)
		return;
	object = json_object();
	put_text(&object, "state", content_state_word(brief->state));
	if (brief->decoder)
		put_text(&object, "decoder", brief->decoder);
	put_number(&object, "for_ms", ms_since(context->now_ns(), brief->since_ns));
	put_number(&object, "files", seen[0].files + (uint64_t)seen[1].files);
	put_number(&object, "messages", seen[0].messages + (uint64_t)seen[1].messages);
	put_number(&object, "refused", seen[0].refused + (uint64_t)seen[1].refused);
	put_number(&object, "monitored", seen[0].monitored + (uint64_t)seen[1].monitored);
	put_number(&object, "files_open", brief->n_files);
	put_number(&object, "files_pending", brief->n_pending);
	if (brief->refused)
		put_rule(&object, context, brief->rule_uid);
	put_notes(&object, seen);
	if (look)
		put_look(&object, context, record, look);
	put_json(flow, "content", object);
}
