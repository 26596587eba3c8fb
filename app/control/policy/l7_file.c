// SPDX-License-Identifier: BSD-3-Clause
// Reads one .pat file: l7_pattern.h has its format.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "control/policy/l7_pattern.h"

#define USERSPACE_PATTERN "userspace pattern="
#define USERSPACE_FLAGS   "userspace flags="

struct reading {
	struct l7_file *file;
	char *userspace;
	unsigned userspace_line;
	bool extended, caseless, other_flags;
};

static bool begins(const char *line, const char *word)
{
	return !strncmp(line, word, strlen(word));
}

static char *copy(const char *text)
{
	size_t size = strlen(text) + 1;
	char *copied = malloc(size);

	if (copied)
		memcpy(copied, text, size);
	return copied;
}

static void take_flags(struct reading *r, char *words)
{
	char *rest = words, *word;

	r->extended = r->caseless = r->other_flags = false;
	while ((word = strsep(&rest, " \t"))) {
		if (!strcmp(word, "REG_EXTENDED"))
			r->extended = true;
		else if (!strcmp(word, "REG_ICASE"))
			r->caseless = true;
		else if (*word && strcmp(word, "REG_NOSUB") != 0)
			r->other_flags = true;
	}
}

// NULL: fine.
static const char *take_line(struct reading *r, char *line, unsigned number)
{
	struct l7_file *file = r->file;

	if (begins(line, USERSPACE_PATTERN)) {
		free(r->userspace);
		r->userspace = copy(line + strlen(USERSPACE_PATTERN));
		r->userspace_line = number;
		return r->userspace ? NULL : "no memory";
	}
	if (begins(line, USERSPACE_FLAGS)) {
		take_flags(r, line + strlen(USERSPACE_FLAGS));
		return NULL;
	}
	if (!file->name[0]) {
		if (strlen(line) >= sizeof(file->name))
			return "a name that is too long";
		if (strpbrk(line, " \t\"\\"))
			return "this should be a name, without blanks";
		snprintf(file->name, sizeof(file->name), "%s", line);
		file->name_line = number;
		return NULL;
	}
	if (file->pattern)
		return "one line too many: a file has a name, a pattern and lines that begin "
		       "with \"userspace \"";
	file->pattern = copy(line);
	file->pattern_line = number;
	file->caseless = true;
	return file->pattern ? NULL : "no memory";
}

static const char *finish(struct reading *r)
{
	struct l7_file *file = r->file;

	if (!file->name[0])
		return "no name and no pattern";
	if (file->pattern)
		return NULL;
	if (!r->userspace)
		return "a name without a pattern";
	if (!r->extended || r->other_flags)
		return "only a userspace pattern, with flags that are not REG_EXTENDED, "
		       "REG_ICASE, REG_NOSUB";
	file->pattern = r->userspace;
	file->pattern_line = r->userspace_line;
	file->posix = true;
	file->caseless = r->caseless;
	r->userspace = NULL;
	return NULL;
}

int l7_file_read(const char *path, struct l7_file *file, unsigned *line, char *err, size_t err_len)
{
	struct reading r = {.file = file, .extended = true, .caseless = true};
	const char *wrong = NULL;
	char *text = NULL;
	size_t room = 0;
	ssize_t length;
	FILE *in = fopen(path, "r");

	memset(file, 0, sizeof(*file));
	*line = 0;
	if (!in) {
		snprintf(err, err_len, "%s", strerror(errno));
		return -errno;
	}
	while (!wrong && (length = getline(&text, &room, in)) >= 0) {
		++*line;
		while (length && (text[length - 1] == '\n' || text[length - 1] == '\r'))
			text[--length] = '\0';
		if (strlen(text) != (size_t)length)
			wrong = "a NUL byte: not a pattern file";
		else if (length > L7_LINE_MAX)
			wrong = "a line that is too long";
		else if (length && text[0] != '#' && strspn(text, " \t") != (size_t)length)
			wrong = take_line(&r, text, *line);
	}
	if (!wrong && ferror(in))
		wrong = "reading failed";
	if (!wrong) {
		*line = file->name[0] ? file->name_line : 0;
		wrong = finish(&r);
	}
	free(text);
	free(r.userspace);
	fclose(in);
	if (!wrong)
		return 0;
	snprintf(err, err_len, "%s", wrong);
	l7_file_free(file);
	return -EINVAL;
}

void l7_file_free(struct l7_file *file)
{
	free(file->pattern);
	file->pattern = NULL;
}
