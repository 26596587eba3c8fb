// SPDX-License-Identifier: BSD-3-Clause
// A file that is looked at: what is kept of it, with all of its names, and its end.
#include <string.h>
#include "pipeline/content/report_work.h"

#define OWED_AT_ONCE 16 // ends of files that are sent late, in one turn

static void put_text(uint8_t *to, struct content_text text, uint32_t length)
{
	if (length)
		memcpy(to, text.bytes, length);
}

static uint32_t aliases_bytes(const struct content_file *reported)
{
	uint32_t bytes = 0;

	for (unsigned i = 0; i < reported->n_aliases; i++)
		bytes += reported->aliases[i].name.length;
	return bytes;
}

static void put_aliases(struct open_file *file, const struct content_file *reported, uint8_t *at)
{
	file->n_aliases = reported->n_aliases;
	for (unsigned i = 0; i < reported->n_aliases; i++) {
		struct content_text name = reported->aliases[i].name;

		put_text(at, name, name.length);
		file->aliases[i] =
			(struct content_alias){{at, name.length}, reported->aliases[i].source};
		at += name.length;
	}
}

struct content_text report_kept(const struct open_file *file, enum kept_text which)
{
	const uint8_t *at = file->texts;

	for (unsigned i = 0; i < which; i++)
		at += file->kept[i];
	return (struct content_text){at, file->kept[which]};
}

struct open_file *report_open_file(struct feeding *feeding, const struct content_file *reported,
	const struct refused_marks *marks, bool matters)
{
	static const uint32_t most[] = {
		[KEPT_NAME] = CONTENT_NAME_BYTES,
		[KEPT_PATH] = CONTENT_NAME_BYTES,
		[KEPT_HOST] = CONTENT_HOST_KEPT,
		[KEPT_METHOD] = CONTENT_METHOD_BYTES,
		[KEPT_AGENT] = CONTENT_AGENT_BYTES,
	};
	const struct content_text texts[KEPT_TEXTS] = {
		reported->name, reported->path, reported->host, reported->method, reported->agent};
	struct open_file *file = NULL;
	uint32_t length = aliases_bytes(reported);

	for (unsigned i = 0; i < KEPT_TEXTS; i++)
		length += RTE_MIN(texts[i].length, most[i]);
	if (feeding->flow->n_files < CONTENT_OPEN_MAX)
		file = content_take(feeding->content->memory, sizeof(*file) + length);
	if (!file) {
		if (matters)
			report_unrecorded(feeding, reported->half);
		return NULL;
	}
	memset(file, 0, sizeof(*file));
	file->id = reported->id;
	file->item = feeding->flow->item;
	file->size = reported->size;
	file->range_from = reported->range_from;
	file->since_ns = feeding->lcore->now_ns;
	file->upload = report_is_upload(feeding, reported->half);
	file->marks = *marks;
	file->half = reported->half;
	file->name_source = reported->name_source;
	file->name_cut = reported->name_cut;
	file->partial = reported->partial;
	file->is_http = reported->is_http;
	file->scattered = reported->scattered;
	file->status = reported->status;
	if (reported->whole) {
		file->has_id = true;
		file->content_id = reported->whole->id;
	}
	if (reported->half == HALF_S2C)
		file->answer = report_answer(feeding, HALF_S2C);
	length = 0;
	for (unsigned i = 0; i < KEPT_TEXTS; i++) {
		file->kept[i] = (uint16_t)RTE_MIN(texts[i].length, most[i]);
		put_text(file->texts + length, texts[i], file->kept[i]);
		length += file->kept[i];
	}
	put_aliases(file, reported, file->texts + length);
	file->next = feeding->flow->files;
	feeding->flow->files = file;
	feeding->flow->n_files++;
	return file;
}

struct content_file report_name_as(
	const struct content_file *reported, const struct file_facts *facts)
{
	struct content_file shown = *reported;

	for (unsigned i = 0; i < reported->n_aliases; i++) {
		if (facts->name != reported->aliases[i].name.bytes)
			continue;
		shown.name = reported->aliases[i].name;
		shown.name_source = reported->aliases[i].source;
		shown.name_cut = false;
	}
	return shown;
}

struct file_facts report_facts_of(const struct open_file *file)
{
	return (struct file_facts){
		.name = file->texts,
		.length = file->kept[KEPT_NAME],
		.size = file->size,
		.so_far = file->range_from + file->bytes,
		.type = file->type,
		.type_known = file->type_known,
		.upload = file->upload,
		.id = file->has_id ? &file->content_id : NULL,
	};
}

void report_record_late(struct feeding *feeding, struct open_file *file,
	const struct content_verdict *verdict, const struct file_facts *facts)
{
	struct content_file what = {
		.id = file->id,
		.half = file->half,
		.name_source = file->name_source,
		.name_cut = file->name_cut,
		.partial = file->partial,
		.name = report_kept(file, KEPT_NAME),
		.path = report_kept(file, KEPT_PATH),
		.host = report_kept(file, KEPT_HOST),
		.method = report_kept(file, KEPT_METHOD),
		.agent = report_kept(file, KEPT_AGENT),
		.status = file->status,
		.is_http = file->is_http,
		.size = file->size,
		.range_from = file->range_from,
		.n_aliases = file->n_aliases,
	};

	memcpy(what.aliases, file->aliases, sizeof(what.aliases));
	what = report_name_as(&what, facts);
	file->number = report_record_file(feeding, &what, verdict, facts->id, false, 0);
}

// False: there is no room for its record.
static bool record_end(struct content *content, const struct open_file *file)
{
	struct content_record *record =
		file->number ? content_record_new(content->channel, 0) : NULL;

	if (!record)
		return !file->number;
	record->kind = CONTENT_RECORD_END;
	record->at = file->ended_ns;
	record->file = file->number;
	record->size = file->bytes;
	record->reached = file->reached;
	record->lost = file->lost;
	record->end = file->end;
	record->action = file->action;
	record->rule_mode = file->mode;
	record->rule_uid = file->rule_uid;
	record->file_type = file->type;
	record->av = file->av;
	content_record_send(content->channel, record);
	return true;
}

void content_file_over(struct content *content, struct open_file *file)
{
	if (!record_end(content, file)) {
		file->next = content->owed;
		content->owed = file;
		return;
	}
	content_give(content->memory, file);
}

// The reader keeps what has begun until its end: an end that found no room is sent later.
void content_report_owed(struct content *content)
{
	struct open_file *file;

	for (unsigned i = 0; i < OWED_AT_ONCE && (file = content->owed); i++) {
		if (!record_end(content, file))
			return;
		content->owed = file->next;
		content_give(content->memory, file);
	}
}
