// SPDX-License-Identifier: BSD-3-Clause
// Pattern files of l7-filter (`NAME.pat`, the format that kP2PADM reads, too) as signatures of
// ours.
//
// A file: comments (#) and blank lines; the application's name; its regular expression; then, if
// they are there, `userspace pattern=` and `userspace flags=`. The expression is one of Henry
// Spencer's first library (V8): | ( ) * + ? . ^ $ [ ] and a backslash that makes any character
// literal; \xHH is a byte; there are no classes such as \d, and no {n,m}. It is matched without
// regard to case, over what is left of both directions when NUL bytes are taken out. The
// userspace pattern (POSIX extended) is read only where the other is missing.
// Source: l7-filter's pattern writing HOWTO. Pure but for l7_file_read; control side.
#ifndef SLUICE_L7_PATTERN_H
#define SLUICE_L7_PATTERN_H

#include <stdbool.h>
#include <stddef.h>

#define L7_NAME_MAX 40
#define L7_LINE_MAX 16384

struct l7_file {
	char name[L7_NAME_MAX];
	char *pattern; // as written; free it with l7_file_free
	unsigned name_line, pattern_line;
	bool posix; // the userspace one: with {n,m}
	bool caseless;
};

// -errno if the file cannot be read, -EINVAL if it is none; `err` says why, `*line` where (0: the
// whole file).
int l7_file_read(const char *path, struct l7_file *file, unsigned *line, char *err, size_t err_len);
void l7_file_free(struct l7_file *file);

// The expression as Hyperscan takes it, for flags i (if caseless) and s. NUL bytes that the sender
// put beside binary bytes are allowed for, as l7-filter never sees them; text has none. -EINVAL and
// a reason if it cannot be said.
int l7_translate(const struct l7_file *file, char *out, size_t room, char *err, size_t err_len);

// Our name of an application that l7-protocols calls otherwise; NULL: it has none.
const char *l7_alias(const char *name);
// The table itself: name and alias in turn, NULL at its end.
const char *const *l7_aliases(void);

#endif
