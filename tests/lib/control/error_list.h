// SPDX-License-Identifier: BSD-3-Clause
// Assertions on struct config_errors. Include after cmocka.h.
#ifndef SLUICE_ERROR_LIST_H
#define SLUICE_ERROR_LIST_H

#include <stdio.h>
#include <string.h>
#include "config/error.h"

// One line has all of the words; fails with every line there is.
static inline void expect_line(const struct config_errors *errors, const char *const *words)
{
	for (size_t i = 0; i < errors->n; i++) {
		size_t w = 0;

		while (words[w] && strstr(errors->lines[i], words[w]))
			w++;
		if (!words[w])
			return;
	}
	for (size_t w = 0; words[w]; w++)
		print_error("wanted: %s\n", words[w]);
	for (size_t i = 0; i < errors->n; i++)
		print_error("line: %s\n", errors->lines[i]);
	fail();
}

#define EXPECT_LINE(errors, ...) expect_line(errors, (const char *const[]){__VA_ARGS__, NULL})

static inline void expect_count(const struct config_errors *errors, size_t n)
{
	if (errors->n == n)
		return;
	print_error("%zu errors wanted, %zu found\n", n, errors->n);
	for (size_t i = 0; i < errors->n; i++)
		print_error("line: %s\n", errors->lines[i]);
	fail();
}

#endif
