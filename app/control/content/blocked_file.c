// SPDX-License-Identifier: BSD-3-Clause
// Writes and reads the operator's list of content ids.
#include "control/content/blocked_file.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "content/content_id.h"
#include "pipeline/vocab/tick.h"

static char *line_of(const struct blocked_id *entry)
{
	char text[CONTENT_ID_TEXT], *line;
	json_t *object = json_pack("{s:s, s:I, s:I}", "id", content_id_print(&entry->id, text),
		"added", (json_int_t)(entry->added_ns / NS_PER_S), "expires",
		(json_int_t)(entry->expires_ns / NS_PER_S));

	if (object && entry->comment)
		json_object_set_new(object, "comment", json_string(entry->comment));
	line = object ? json_dumps(object, JSON_COMPACT | JSON_ENSURE_ASCII) : NULL;
	json_decref(object);
	return line;
}

int blocked_file_text(const struct blocked_id *entries, size_t n, char **text, size_t *length)
{
	FILE *out = open_memstream(text, length);
	int rc = 0;

	if (!out)
		return -ENOMEM;
	for (size_t i = 0; i < n && !rc; i++) {
		char *line = line_of(&entries[i]);

		if (!line || fprintf(out, "%s\n", line) < 0)
			rc = -ENOMEM;
		free(line);
	}
	if (fclose(out))
		rc = -ENOMEM;
	return rc;
}

static int sync_folder(const char *path)
{
	char folder[PATH_MAX];
	int fd, rc = 0;

	snprintf(folder, sizeof folder, "%s", path);
	fd = open(dirname(folder), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (fsync(fd) < 0)
		rc = -errno;
	close(fd);
	return rc;
}

static int write_all(int fd, const char *text, size_t length)
{
	while (length) {
		ssize_t n = write(fd, text, length);

		if (n < 0 && errno != EINTR)
			return -errno;
		if (n > 0) {
			text += n;
			length -= (size_t)n;
		}
	}
	return fsync(fd) < 0 ? -errno : 0;
}

int blocked_file_write(const char *path, const char *text, size_t length)
{
	char tmp[PATH_MAX];

	if (snprintf(tmp, sizeof tmp, "%s.new", path) >= (int)sizeof tmp)
		return -ENAMETOOLONG;
	int fd = open(tmp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);

	if (fd < 0)
		return -errno;
	int rc = write_all(fd, text, length);

	if (close(fd) < 0 && !rc)
		rc = -errno;
	if (!rc && rename(tmp, path) < 0)
		rc = -errno;
	if (rc) {
		unlink(tmp);
		return rc;
	}
	return sync_folder(path);
}

// 1: read; 0: it has ended; -1: none of ours.
static int take_line(const char *line, size_t length, uint64_t now_ns, struct blocked_id *entry)
{
	struct content_id ids[CONTENT_ID_LINK_IDS];
	json_t *object = json_loadb(line, length, JSON_REJECT_DUPLICATES, NULL);
	const char *id = json_string_value(json_object_get(object, "id")), *why;
	const char *comment = json_string_value(json_object_get(object, "comment"));
	json_int_t added = json_integer_value(json_object_get(object, "added"));
	json_int_t expires = json_integer_value(json_object_get(object, "expires"));
	int taken = -1;

	if (id && added >= 0 && expires >= 0 && expires < (json_int_t)(INT64_MAX / NS_PER_S) &&
		added < (json_int_t)(INT64_MAX / NS_PER_S) &&
		content_id_parse(id, (uint32_t)strlen(id), ids, &why) == 1 &&
		(!comment || strlen(comment) <= BLOCKED_COMMENT_MAX)) {
		*entry = (struct blocked_id){.id = ids[0],
			.added_ns = (uint64_t)added * NS_PER_S,
			.expires_ns = (uint64_t)expires * NS_PER_S,
			.comment = comment ? strdup(comment) : NULL};
		taken = !expires || entry->expires_ns > now_ns;
	}
	json_decref(object);
	return taken;
}

int blocked_file_read(const char *path, uint64_t now_ns,
	bool (*one)(void *ctx, const struct blocked_id *entry), void *ctx, uint64_t *bad)
{
	char line[BLOCKED_LINE_MAX];
	FILE *in = fopen(path, "re");
	bool skips = false;
	int rc = 0;

	if (!in)
		return errno == ENOENT ? 0 : -errno;
	while (fgets(line, sizeof line, in)) {
		struct blocked_id entry = {0};
		size_t length = strlen(line);
		bool whole = length && line[length - 1] == '\n', rest = skips;

		skips = !whole;
		if (rest)
			continue; // of a line that is too long, which was counted
		int taken = whole ? take_line(line, length - 1, now_ns, &entry) : -1;

		if (taken < 0 || (taken && !one(ctx, &entry)))
			++*bad;
		free(entry.comment);
	}
	if (ferror(in))
		rc = -EIO;
	fclose(in);
	return rc;
}
