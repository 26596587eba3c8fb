// SPDX-License-Identifier: BSD-3-Clause
// Collects configuration errors and formats them with their place.
#include "config/error.h"
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/utf8.h"

#define LINE_BYTES_MAX 1024 // where a line that quotes too much is cut

// A line holds words of the file that is wrong: they must not move a terminal's cursor or forge a
// second line, and they go into JSON events, which are UTF-8.
static size_t printable_copy(char *out, const char *text)
{
	static const char hex[] = "0123456789abcdef";
	size_t n = 0;

	while (*text && n < LINE_BYTES_MAX) {
		unsigned char c = (unsigned char)*text;
		uint32_t character = 0;
		size_t len = utf8_take((const uint8_t *)text, strnlen(text, 4), &character);

		if (len && !utf8_is_control(character)) {
			if (out)
				memcpy(out + n, text, len);
			n += len;
			text += len;
			continue;
		}
		text++;
		if (out) {
			out[n] = '\\';
			out[n + 1] = 'x';
			out[n + 2] = hex[c >> 4];
			out[n + 3] = hex[c & 15];
		}
		n += 4;
	}
	if (*text) {
		if (out)
			memcpy(out + n, "...", 3);
		n += 3;
	}
	if (out)
		out[n] = 0;
	return n;
}

static char *printable(const char *text)
{
	char *out = malloc(printable_copy(NULL, text) + 1);

	if (out)
		printable_copy(out, text);
	return out;
}

static char *line_make(const char *file, const char *path, const char *format, va_list args)
{
	char *message = NULL, *raw = NULL, *line = NULL;
	const char *place = path ? path : "";

	if (vasprintf(&message, format, args) < 0)
		return NULL;
	if (asprintf(&raw, "%s%s%s%s%s", file ? file : "", file && *file ? ": " : "", place,
		    *place ? ": " : "", message) >= 0) {
		line = printable(raw);
		free(raw);
	}
	free(message);
	return line;
}

// Takes `line`; false: there is no room for it.
static bool line_add(char ***lines, size_t *n, char *line)
{
	char **grown =
		line && *n < CONFIG_ERRORS_MAX ? realloc(*lines, (*n + 1) * sizeof **lines) : NULL;

	if (!grown) {
		free(line);
		return false;
	}
	*lines = grown;
	grown[(*n)++] = line;
	return true;
}

void config_error_add(
	struct config_errors *errors, const char *file, const char *path, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	if (!line_add(&errors->lines, &errors->n, line_make(file, path, format, args)))
		errors->dropped++;
	va_end(args);
}

void config_warning_add(
	struct config_errors *errors, const char *file, const char *path, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	line_add(&errors->warnings, &errors->n_warnings, line_make(file, path, format, args));
	va_end(args);
}

void config_errors_free(struct config_errors *errors)
{
	for (size_t i = 0; i < errors->n; i++)
		free(errors->lines[i]);
	for (size_t i = 0; i < errors->n_warnings; i++)
		free(errors->warnings[i]);
	free(errors->lines);
	free(errors->warnings);
	*errors = (struct config_errors){0};
}
