// SPDX-License-Identifier: BSD-3-Clause
// What rules on content write (globs, extensions, keywords) as patterns over the normal form of
// names and texts (content/name_text.h, classify/text_set.h). Pure; control core.
#ifndef SLUICE_CONTENT_PATTERN_H
#define SLUICE_CONTENT_PATTERN_H

#include <stdbool.h>
#include <stddef.h>

#define CONTENT_FORM_ROOM  16384 // of any pattern that the limits allow
#define CONTENT_REGEX_ROOM 65536

// Each: 0, or -EINVAL with why not, to go behind the text: "is ...".

// `*` any characters, `?` one, `[a-z]` one of these, `[!a-z]` one of the others, `\` before a
// character takes it as it is. All of the text is meant, from its beginning to its end. `file`: of
// the last component of a file's name.
int content_glob(const char *text, bool file, char *regex, size_t room, const char **why);
// "exe", "tar.gz": the end of a name behind a dot.
int content_extension(const char *text, char *regex, size_t room, const char **why);
int content_keyword(const char *text, char *form, size_t room, const char **why);

#endif
