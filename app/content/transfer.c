// SPDX-License-Identifier: BSD-3-Clause
// Paths and labels of files that another flow carries.
#include "content/transfer.h"

// The end of what is longer than `max`, and no part of a character of UTF-8 at its beginning.
static struct content_text end_of(struct content_text text, uint32_t max)
{
	if (text.length <= max)
		return text;
	text.bytes += text.length - max;
	text.length = max;
	for (unsigned i = 0; i < 3 && text.length && (text.bytes[0] & 0xc0) == 0x80; i++) {
		text.bytes++;
		text.length--;
	}
	return text;
}

struct content_path content_path_of(struct content_text path)
{
	struct content_path parts = {.folder = path};
	uint32_t i = path.length;

	while (i && path.bytes[i - 1] != '/' && path.bytes[i - 1] != '\\')
		i--;
	parts.folder.length = i;
	if (i < path.length) {
		parts.name = (struct content_text){path.bytes + i, path.length - i};
		parts.cut = parts.name.length > CONTENT_NAME_BYTES;
		parts.name = end_of(parts.name, CONTENT_NAME_BYTES);
	}
	return parts;
}

struct content_file content_file_of_path(struct content_text path, struct content_text user)
{
	struct content_path parts = content_path_of(path);

	return (struct content_file){
		.name_source = parts.name.length ? CONTENT_NAME_COMMAND : CONTENT_NAME_NONE,
		.name_cut = parts.cut,
		.name = parts.name,
		.path = parts.folder,
		.user = user,
		.size = CONTENT_SIZE_UNKNOWN,
	};
}

void content_label_file(struct transfer_label *label, struct content_text path)
{
	struct content_text end = end_of(path, sizeof(label->file) - 1);

	label->begins_cut = end.length < path.length;
	transfer_text_set(label->file, sizeof(label->file), end.bytes, end.length);
}

void content_raw_open(struct content_raw *raw, const struct content_turn *turn,
	struct content_file *what, uint32_t *files, uint64_t begins64)
{
	const struct content_sink *sink = turn->sink;

	what->id = ++*files;
	what->begins64 = begins64;
	*raw = (struct content_raw){.begins64 = begins64, .id = what->id};
	raw->wanted = sink->file(sink->ctx, what) == CONTENT_WANT_DATA;
}

uint32_t content_raw_put(
	struct content_raw *raw, struct content_turn *turn, const uint8_t *bytes, uint32_t length)
{
	const struct content_sink *sink = turn->sink;

	if (raw->wanted && length > turn->output)
		length = turn->output;
	if (raw->wanted && length) {
		sink->bytes(sink->ctx, raw->id, raw->at, bytes, length);
		turn->output -= length;
	}
	raw->at += length;
	return length;
}

void content_raw_lose(struct content_raw *raw, uint64_t length)
{
	raw->at += length;
	raw->damaged = true;
}

void content_raw_end(struct content_raw *raw, const struct content_turn *turn, enum content_end end,
	uint64_t ends64)
{
	const struct content_sink *sink = turn->sink;

	if (!raw->id)
		return;
	if (end == CONTENT_END_CLOSED && raw->damaged)
		end = CONTENT_END_TRUNCATED;
	sink->end(sink->ctx, raw->id, end, ends64);
	raw->id = 0;
	raw->wanted = false;
}

struct content_file content_announced_file(
	const struct transfer_label *label, unsigned half, bool first)
{
	struct content_text none = {NULL, 0};
	struct content_file file = content_file_of_path(none, none);

	file.half = (uint8_t)half;
	if (!label || !(label->what == TRANSFER_NOT_SAID ? first : label->half == half))
		return file;
	file = content_file_of_path(content_label_text(label->file, sizeof(label->file)),
		content_label_text(label->user, sizeof(label->user)));
	file.half = (uint8_t)half;
	file.announced = true;
	file.name_cut |= label->begins_cut && !file.path.length;
	if (label->size)
		file.size = label->size;
	file.range_from = label->range_from;
	file.partial = label->range_from;
	return file;
}
