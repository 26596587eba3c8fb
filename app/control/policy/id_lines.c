// SPDX-License-Identifier: BSD-3-Clause
// Reads files of content ids, a line at a time.
#include "control/policy/id_lines.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

static bool is_blank(char byte)
{
	return byte == ' ' || byte == '\t' || byte == '\r';
}

unsigned id_line_parse(const char *line, uint32_t length,
	struct content_id ids[CONTENT_ID_LINK_IDS], const char **wrong)
{
	uint32_t end = 0;
	unsigned n;

	*wrong = NULL;
	while (length && is_blank(*line)) {
		line++;
		length--;
	}
	if (!length || *line == '#')
		return 0;
	// a link may hold '#', and blanks in a name: a comment has a blank before it
	while (end < length && !(line[end] == '#' && end && is_blank(line[end - 1])))
		end++;
	while (end && is_blank(line[end - 1]))
		end--;
	n = content_id_parse(line, end, ids, wrong);
	if (n)
		*wrong = NULL;
	return n;
}

int id_lines_read(const char *path, id_line_fn *one, void *ctx)
{
	FILE *in = fopen(path, "re");
	char *text = NULL;
	size_t room = 0;
	unsigned line = 0;
	ssize_t length;
	bool on = true;
	int rc = 0;

	if (!in)
		return -errno;
	while (on && (length = getline(&text, &room, in)) >= 0) {
		struct content_id ids[CONTENT_ID_LINK_IDS];
		const char *wrong;
		char told[160];
		unsigned n;

		if (length && text[length - 1] == '\n')
			length--;
		line++;
		n = id_line_parse(
			text, (uint32_t)(length < UINT16_MAX ? length : UINT16_MAX), ids, &wrong);
		if (wrong)
			snprintf(told, sizeof told, "this %s", wrong);
		if (n || wrong)
			on = one(ctx, line, ids, n, n ? NULL : told);
	}
	if (ferror(in))
		rc = -EIO;
	free(text);
	fclose(in);
	return rc;
}
