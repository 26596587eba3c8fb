// SPDX-License-Identifier: BSD-3-Clause
// Parses command lines by a table of options, and prints its help.
#include "base/options.h"

#include <stdio.h>
#include <string.h>

#define WORD_MAX  64
#define ROWS_MAX  64
#define HELP_LEFT 30

// Edits (insert, delete, replace, swap of neighbours) from a to b; the optimal string alignment.
static unsigned edits(const char *a, const char *b)
{
	unsigned rows[3][WORD_MAX + 1];
	size_t la = strnlen(a, WORD_MAX), lb = strnlen(b, WORD_MAX);

	for (size_t j = 0; j <= lb; j++)
		rows[0][j] = (unsigned)j;
	for (size_t i = 1; i <= la; i++) {
		unsigned *now = rows[i % 3], *last = rows[(i - 1) % 3];
		const unsigned *before = rows[(i + 1) % 3];
		now[0] = (unsigned)i;
		for (size_t j = 1; j <= lb; j++) {
			unsigned cost = last[j - 1] + (a[i - 1] != b[j - 1]);
			if (last[j] + 1 < cost)
				cost = last[j] + 1;
			if (now[j - 1] + 1 < cost)
				cost = now[j - 1] + 1;
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
				before[j - 2] + 1 < cost)
				cost = before[j - 2] + 1;
			now[j] = cost;
		}
	}
	return rows[la % 3][lb];
}

const char *nearest_word(const char *word, const char *const *words)
{
	const char *best = NULL;
	unsigned best_edits = 0;

	for (; *words; words++) {
		unsigned n = edits(word, *words);
		if (strlen(word) >= 3 && strncmp(word, *words, strlen(word)) == 0)
			n = 1; // the beginning of it
		if (!best || n < best_edits) {
			best = *words;
			best_edits = n;
		}
	}
	// Up to two slips in a short word, three in a long one: beyond it is another word.
	unsigned limit = strlen(word) > 8 ? 3 : strlen(word) > 3 ? 2 : 1;
	return best && best_edits <= limit ? best : NULL;
}

void options_help(const struct option_command *command)
{
	printf("Usage: %s\n\n%s\n\nOptions:\n", command->usage, command->summary);
	for (const struct option_row *row = command->rows; row->name; row++) {
		char left[80];
		snprintf(left, sizeof(left), "%c%c%s --%s%s%s", row->letter ? '-' : ' ',
			row->letter ? row->letter : ' ', row->letter ? "," : " ", row->name,
			row->arg ? " " : "", row->arg ? row->arg : "");
		printf("  %-*s %s\n", HELP_LEFT, left, row->help);
	}
	printf("  %-*s %s\n", HELP_LEFT, "-h, --help", "this text");
	if (command->notes)
		printf("\n%s\n", command->notes);
}

static int usage_error(const struct option_command *command)
{
	fprintf(stderr, "Try 'sluice %s --help'.\n", command->name);
	return EXIT_CODE_USAGE;
}

static int unknown(const struct option_command *command, const char *name)
{
	const char *words[ROWS_MAX + 2];
	unsigned n = 0;

	for (const struct option_row *row = command->rows; row->name && n < ROWS_MAX; row++)
		words[n++] = row->name;
	words[n++] = "help";
	words[n] = NULL;

	const char *near = nearest_word(name, words);
	fprintf(stderr, "sluice %s: unknown option --%s", command->name, name);
	if (near)
		fprintf(stderr, "; did you mean --%s?", near);
	fprintf(stderr, "\n");
	return usage_error(command);
}

// Stores one option; `value` is NULL for options without argument.
static int store(const struct option_command *command, const struct option_row *row, char *value)
{
	switch (row->type) {
	case OPTION_FLAG: *(bool *)row->target = true; break;
	case OPTION_COUNT: ++*(int *)row->target; break;
	case OPTION_TEXT: *(const char **)row->target = value; break;
	case OPTION_LIST: {
		struct option_list *list = row->target;
		if (list->n == OPTION_LIST_MAX) {
			fprintf(stderr, "sluice %s: --%s is given more than %d times\n",
				command->name, row->name, OPTION_LIST_MAX);
			return usage_error(command);
		}
		list->items[list->n++] = value;
		break;
	}
	}
	return -1;
}

static int no_argument(const struct option_command *command, const struct option_row *row)
{
	fprintf(stderr, "sluice %s: --%s needs an argument: --%s %s\n", command->name, row->name,
		row->name, row->arg);
	return usage_error(command);
}

// "--name", "--name=value", "--name value". *i is moved to the last argument used.
static int parse_long(const struct option_command *command, int argc, char **argv, int *i)
{
	char *name = argv[*i] + 2;
	char *equals = strchr(name, '=');
	size_t length = equals ? (size_t)(equals - name) : strlen(name);
	char word[WORD_MAX];

	snprintf(word, sizeof(word), "%.*s", (int)(length < WORD_MAX ? length : WORD_MAX), name);
	if (strcmp(word, "help") == 0) {
		options_help(command);
		return EXIT_CODE_OK;
	}
	const struct option_row *row = command->rows;
	while (row->name && strcmp(row->name, word) != 0)
		row++;
	if (!row->name)
		return unknown(command, word);
	if (!row->arg) {
		if (!equals)
			return store(command, row, NULL);
		fprintf(stderr, "sluice %s: --%s takes no argument\n", command->name, row->name);
		return usage_error(command);
	}
	if (equals)
		return store(command, row, equals + 1);
	if (*i + 1 == argc)
		return no_argument(command, row);
	return store(command, row, argv[++*i]);
}

// "-v", "-vv", "-cFILE", "-c FILE".
static int parse_short(const struct option_command *command, int argc, char **argv, int *i)
{
	for (char *letter = argv[*i] + 1; *letter; letter++) {
		if (*letter == 'h') {
			options_help(command);
			return EXIT_CODE_OK;
		}
		const struct option_row *row = command->rows;
		while (row->name && row->letter != *letter)
			row++;
		if (!row->name) {
			fprintf(stderr, "sluice %s: unknown option -%c\n", command->name, *letter);
			return usage_error(command);
		}
		if (row->arg) {
			if (letter[1])
				return store(command, row, letter + 1);
			if (*i + 1 == argc)
				return no_argument(command, row);
			return store(command, row, argv[++*i]);
		}
		int status = store(command, row, NULL);
		if (status >= 0)
			return status;
	}
	return -1;
}

// The option that a file was to be named by: -p for a policy, -c for the rest of JSON. 0: none.
static char letter_for(const struct option_command *command, const char *word)
{
	const char *end = strrchr(word, '.');
	char wanted = strstr(word, "policy") ? 'p' : 'c';

	if (!end || strcmp(end, ".json") != 0)
		return 0;
	for (const struct option_row *row = command->rows; row->name; row++) {
		if (row->letter == wanted)
			return wanted;
	}
	return 0;
}

int options_parse(const struct option_command *command, int argc, char **argv, char ***operands,
	int *n_operands, char ***rest, int *n_rest)
{
	int n = 0;

	*operands = argv + 1;
	*rest = argv + argc;
	*n_rest = 0;
	for (int i = 1; i < argc; i++) {
		char *arg = argv[i];
		int status = -1;
		if (strcmp(arg, "--") == 0) {
			*rest = argv + i + 1;
			*n_rest = argc - i - 1;
			break;
		}
		if (arg[0] == '-' && arg[1] == '-')
			status = parse_long(command, argc, argv, &i);
		else if (arg[0] == '-' && arg[1])
			status = parse_short(command, argc, argv, &i);
		else
			(*operands)[n++] = arg; // n <= i - 1: never beyond what is read
		if (status >= 0)
			return status;
	}
	*n_operands = n;
	if (n && !command->takes_operands) {
		const char *word = (*operands)[0];
		char letter = letter_for(command, word);

		fprintf(stderr, "sluice %s: unexpected argument \"%s\"", command->name, word);
		if (letter)
			fprintf(stderr, "; did you mean -%c %s?", letter, word);
		fputc('\n', stderr);
		return usage_error(command);
	}
	return -1;
}
