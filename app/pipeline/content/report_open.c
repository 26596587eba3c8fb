// SPDX-License-Identifier: BSD-3-Clause
// A file that is looked at: what is kept of it, with all of its names.
#include <string.h>
#include "pipeline/content/report_work.h"

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

struct open_file *report_open_file(struct feeding *feeding, const struct content_file *reported,
	const struct refused_marks *marks)
{
	struct open_file *file = NULL;
	uint32_t name = RTE_MIN(reported->name.length, (uint32_t)CONTENT_NAME_BYTES);
	uint32_t path = RTE_MIN(reported->path.length, (uint32_t)CONTENT_NAME_BYTES);
	uint32_t host = RTE_MIN(reported->host.length, (uint32_t)CONTENT_HOST_KEPT);

	if (feeding->flow->n_files < CONTENT_OPEN_MAX)
		file = content_take(feeding->content->memory,
			sizeof(*file) + name + path + host + aliases_bytes(reported));
	if (!file) {
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
	file->name_length = name;
	file->path_length = path;
	file->host_length = host;
	put_text(file->name, reported->name, name);
	put_text(file->name + name, reported->path, path);
	put_text(file->name + name + path, reported->host, host);
	put_aliases(file, reported, file->name + name + path + host);
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
