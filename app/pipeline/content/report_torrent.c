// SPDX-License-Identifier: BSD-3-Clause
// .torrent files that pass: what they list is learned, so that the files of the torrent are known
// when peers send them. They are gathered while they come, as far as there is memory.
#include <string.h>
#include <strings.h>
#include "content/memory.h"
#include "pipeline/content/report_work.h"
#include "pipeline/content/torrents.h"

#define FIRST_BYTES (16u << 10)
#define FILE_MAX    CONTENT_BLOCK_MAX

static const char media_type[] = "application/x-bittorrent";
static const char extension[] = ".torrent";

static bool is_said(const struct content_file *reported)
{
	const struct content_text *type = &reported->type, *name = &reported->name;
	const uint32_t ending = sizeof(extension) - 1;

	if (type->length >= sizeof(media_type) - 1 &&
		!strncasecmp((const char *)type->bytes, media_type, sizeof(media_type) - 1))
		return true;
	return name->length >= ending &&
	       !strncasecmp((const char *)name->bytes + name->length - ending, extension, ending);
}

bool report_learns(const struct feeding *feeding, const struct content_file *reported)
{
	return feeding->content->torrents.hold && !reported->elsewhere && !reported->partial &&
	       !reported->scattered && is_said(reported);
}

static void stop(struct feeding *feeding, struct open_file *file)
{
	content_give(feeding->content->memory, file->gathered);
	file->gathered = NULL;
	file->learns = LEARNS_NOT;
}

static bool have_room(struct feeding *feeding, struct open_file *file, uint64_t bytes)
{
	uint64_t room = RTE_MAX((uint64_t)file->gathered_room, (uint64_t)FIRST_BYTES);

	if (bytes <= file->gathered_room)
		return true;
	while (room < bytes)
		room *= 2;
	// what others need is not for what one flow sends
	bool may = room <= FILE_MAX && (room < CONTENT_BLOCK_LARGE ||
					       !content_memory_is_scarce(feeding->content->memory));
	uint8_t *larger = may ? content_take(feeding->content->memory, (size_t)room) : NULL;

	if (!larger)
		return false;
	if (file->gathered_bytes)
		memcpy(larger, file->gathered, file->gathered_bytes);
	content_give(feeding->content->memory, file->gathered);
	file->gathered = larger;
	file->gathered_room = (uint32_t)room;
	return true;
}

static void gather(
	struct feeding *feeding, struct open_file *file, const uint8_t *bytes, uint32_t length)
{
	if (!have_room(feeding, file, (uint64_t)file->gathered_bytes + length)) {
		feeding->lcore->stats.torrents_unread++;
		stop(feeding, file);
		return;
	}
	memcpy(file->gathered + file->gathered_bytes, bytes, length);
	file->gathered_bytes += length;
}

void report_learn_bytes(struct feeding *feeding, struct open_file *file, uint64_t at,
	const uint8_t *bytes, uint32_t length)
{
	// found out by its first bytes, which are kept
	if (file->learns == LEARNS_BY_TYPE && file->type == feeding->content->torrent_type &&
		feeding->content->torrents.hold && !file->partial && !file->scattered &&
		at <= file->head_length) {
		file->learns = LEARNS;
		if (at)
			gather(feeding, file, file->head, (uint32_t)at);
	}
	if (file->learns == LEARNS && at == file->gathered_bytes)
		gather(feeding, file, bytes, length);
	else if (file->learns == LEARNS)
		stop(feeding, file);
}

void report_learn_end(struct feeding *feeding, struct open_file *file)
{
	if (file->gathered && file->end == CONTENT_END_CLOSED)
		torrents_learn_file(feeding->lcore, file->gathered, file->gathered_bytes);
	stop(feeding, file);
}
