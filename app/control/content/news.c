// SPDX-License-Identifier: BSD-3-Clause
// News of content as lines: to the event sink, and to the audit log. Control core.
#include <stdlib.h>
#include "control/content/reader.h"
#include "control/event/sink.h"

unsigned content_news_drain(struct content_reader *reader, struct sink *sink)
{
	struct content_news *news;
	unsigned n = 0;

	for (; sink_has_room(sink) && (news = content_reader_take(reader)); n++) {
		size_t length = 0;

		content_recent_add(content_reader_recent(reader), &news->event, &news->item);
		char *line =
			sink_object_event(sink, &news->event, news->json, news->length, &length);

		if (line && news->audit)
			content_reader_log(reader, line, length);
		free(line);
		free(news);
	}
	return n;
}
