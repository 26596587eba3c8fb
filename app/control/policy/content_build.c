// SPDX-License-Identifier: BSD-3-Clause
// Collects the patterns of all rules on content, and compiles them.
#include "control/policy/content_build.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "control/policy/content_pattern.h"

struct list {
	struct text_pattern *patterns; // their texts are owned
	const char **words;            // as the document has them
	char **paths;                  // where it has them; owned
	uint32_t n, room;
};

struct content_build {
	struct list lists[CONTENT_SETS];
	uint32_t n_globs, n_regexes, n_keywords;
	char text[CONTENT_REGEX_ROOM];
};

static bool grow(struct list *list)
{
	uint32_t room = list->room ? 2 * list->room : 64;
	struct text_pattern *patterns;
	const char **words;
	char **paths;

	if (list->n < list->room)
		return true;
	patterns = reallocarray(list->patterns, room, sizeof *patterns);
	if (patterns)
		list->patterns = patterns;
	words = reallocarray(list->words, room, sizeof *words);
	if (words)
		list->words = words;
	paths = reallocarray(list->paths, room, sizeof *paths);
	if (paths)
		list->paths = paths;
	if (!patterns || !words || !paths)
		return false;
	list->room = room;
	return true;
}

static void add(struct content_build *build, const struct json_at *at, struct content_item item,
	const char *text)
{
	struct list *list = &build->lists[item.set];
	char path[JSON_PATH_MAX], *of_text, *of_path;

	of_text = strdup(text);
	of_path = strdup(json_at_path(at, path, sizeof path));
	if (!of_text || !of_path || !grow(list)) {
		json_at_error(at, "no memory");
		free(of_text);
		free(of_path);
		return;
	}
	list->patterns[list->n] = (struct text_pattern){
		.text = of_text,
		.owner = CONTENT_OWNER(item.entry, item.key),
		.regex = item.key != CONTENT_KEY_KEYWORD,
	};
	list->words[list->n] = item.word;
	list->paths[list->n++] = of_path;
}

// One more of its kind; false: told.
static bool count(const struct json_at *at, uint32_t *n, uint32_t max, const char *what)
{
	if (++*n == max + 1) // told once
		json_at_error(at, "more than %u %s in all rules: write fewer", max, what);
	return *n <= max;
}

static void add_regex(
	struct content_build *build, const struct json_at *at, const struct content_item *item)
{
	char message[256];

	if (!count(at, &build->n_regexes, CONTENT_REGEXES_MAX, "regexes"))
		return;
	if (text_set_check(item->word, message, sizeof message) < 0)
		json_at_error(
			at, "\"%.64s\" is no regex that can be used: %s", item->word, message);
	else
		add(build, at, *item, item->word);
}

void content_build_add(
	struct content_build **built, const struct json_at *at, struct content_item item)
{
	struct content_build *build = *built ? *built : calloc(1, sizeof *build);
	const char *why = NULL;

	if (!build) {
		json_at_error(at, "no memory");
		return;
	}
	*built = build;
	if (item.key == CONTENT_KEY_REGEX) {
		add_regex(build, at, &item);
		return;
	}
	if (item.key == CONTENT_KEY_KEYWORD) {
		if (!count(at, &build->n_keywords, CONTENT_KEYWORDS_MAX, "keywords"))
			return;
		content_keyword(item.word, build->text, CONTENT_KEYWORD_MAX + 1, &why);
	} else {
		if (!count(at, &build->n_globs, CONTENT_GLOBS_MAX, "globs and extensions"))
			return;
		if (item.key == CONTENT_KEY_EXTENSION)
			content_extension(item.word, build->text, sizeof build->text, &why);
		else
			content_glob(item.word, item.key == CONTENT_KEY_NAME, build->text,
				sizeof build->text, &why);
	}
	if (why)
		json_at_error(at, "\"%.64s\" %s", item.word, why);
	else
		add(build, at, item, build->text);
}

static int compile(const struct list *list, const struct json_doc *doc, const char *what,
	struct text_set **out)
{
	struct text_set_error error;
	int rc;

	if (!list->n)
		return 0;
	rc = text_set_new(list->patterns, list->n, out, &error);
	if (rc < 0)
		config_error_add(doc->errors, doc->file,
			error.pattern < list->n ? list->paths[error.pattern] : "$.rules",
			"the patterns of %s cannot be compiled: %s", what, error.message);
	return rc;
}

int content_build_end(const struct content_build *build, const struct json_doc *doc,
	struct content_rules *content)
{
	const struct list *names, *texts;
	int rc;

	if (!build)
		return 0;
	names = &build->lists[CONTENT_SET_NAMES];
	texts = &build->lists[CONTENT_SET_TEXTS];
	content->name_words = calloc(names->n + 1, sizeof *content->name_words);
	content->text_words = calloc(texts->n + 1, sizeof *content->text_words);
	if (!content->name_words || !content->text_words) {
		config_error_add(doc->errors, doc->file, "$.rules", "no memory");
		return -ENOMEM;
	}
	if (names->n)
		memcpy(content->name_words, names->words, names->n * sizeof *names->words);
	if (texts->n)
		memcpy(content->text_words, texts->words, texts->n * sizeof *texts->words);
	rc = compile(names, doc, "names", &content->names);
	if (!rc)
		rc = compile(texts, doc, "chat", &content->texts);
	if (!rc)
		rc = compile(
			&build->lists[CONTENT_SET_PARTIES], doc, "from and to", &content->parties);
	return rc;
}

void content_build_free(struct content_build *build)
{
	if (!build)
		return;
	for (unsigned set = 0; set < CONTENT_SETS; set++) {
		struct list *list = &build->lists[set];

		for (uint32_t i = 0; i < list->n; i++) {
			free((char *)(uintptr_t)list->patterns[i].text);
			free(list->paths[i]);
		}
		free(list->patterns);
		free(list->words);
		free(list->paths);
	}
	free(build);
}
