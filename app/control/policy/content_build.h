// SPDX-License-Identifier: BSD-3-Clause
// Patterns of rules on content, collected while policy.json is read, and compiled in the end.
#ifndef SLUICE_CONTENT_BUILD_H
#define SLUICE_CONTENT_BUILD_H

#include "config/json_strict.h"
#include "pipeline/policy/content_rules.h"

// Of all rules. Compiling takes about 1 ms for each glob, extension and plain regex.
#define CONTENT_GLOBS_MAX   2000 // "name", "extension", "from", "to"
#define CONTENT_REGEXES_MAX 256

enum content_set { CONTENT_SET_NAMES, CONTENT_SET_TEXTS, CONTENT_SET_PARTIES, CONTENT_SETS };

struct content_build;

// `word` is of the entry, and outlives what is built. A pattern that is wrong, or one too many, is
// told, and left out.
struct content_item {
	enum content_set set;
	uint32_t entry; // index among those of all rules
	enum content_key key;
	const char *word;
};
void content_build_add(
	struct content_build **build, const struct json_at *at, struct content_item item);
// Into policy->content; NULL: there are no patterns. Errors of patterns are told by their paths.
// -errno.
int content_build_end(const struct content_build *build, const struct json_doc *doc,
	struct content_rules *content);
void content_build_free(struct content_build *build); // NULL is allowed

#endif
