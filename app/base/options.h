// SPDX-License-Identifier: BSD-3-Clause
// Command-line options of all commands, from one table per command: parsing, help and the
// suggestion for a mistyped name come from the same rows. Control side, libc only.
#ifndef SLUICE_OPTIONS_H
#define SLUICE_OPTIONS_H

#include <stdbool.h>

// Exit codes of the program (sysexits).
enum exit_code {
	EXIT_CODE_OK = 0,
	EXIT_CODE_FAILURE = 1,
	EXIT_CODE_USAGE = 2,
	EXIT_CODE_UNAVAILABLE = 69, // device, hugepages
	EXIT_CODE_PERMISSION = 77,
	EXIT_CODE_CONFIG = 78,
};

enum option_type {
	OPTION_FLAG,  // target: bool *
	OPTION_COUNT, // target: int *, one more each time
	OPTION_TEXT,  // target: const char **, the last one wins
	OPTION_LIST,  // target: struct option_list *
};

#define OPTION_LIST_MAX 64
struct option_list {
	char *items[OPTION_LIST_MAX]; // borrowed from argv
	unsigned n;
};

struct option_row {
	char letter;      // 0: none
	const char *name; // without the dashes; NULL ends the table
	const char *arg;  // its argument's name in the help; NULL: takes none
	enum option_type type;
	void *target;
	const char *help;
};

struct option_command {
	const char *name;    // "run"
	const char *usage;   // "sluice run -c FILE [options] [-- EAL options]"
	const char *summary; // what it does, in a sentence or two
	const struct option_row *rows;
	const char *notes; // printed below the options; NULL: none
	bool takes_operands;
};

// Reads argv[1..argc-1]. Returns -1 to go on, or an exit code: 0 after --help (printed to
// standard output), 2 after a usage error (printed to standard error, with the nearest name).
// Operands (arguments that are no options) are moved to the front: *operands points at the first
// of *n_operands. What follows a "--" is *rest.
int options_parse(const struct option_command *command, int argc, char **argv, char ***operands,
	int *n_operands, char ***rest, int *n_rest);
void options_help(const struct option_command *command);

// The word of `words` (NULL-terminated) that is nearest to `word`, or NULL if none is near.
const char *nearest_word(const char *word, const char *const *words);

#endif
