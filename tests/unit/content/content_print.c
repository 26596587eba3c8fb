// SPDX-License-Identifier: BSD-3-Clause
// Prints what app/content makes of things, for scripts: `content_print text` and `name` read lines
// of hexadecimal digits and print the forms of these bytes in the same way; `content_print type
// FILE...` prints what each file is by its first bytes.
#include "content/file_type.h"
#include "content/name_text.h"

#include <stdio.h>
#include <string.h>

#define LINE_MAX_BYTES 4096

static void print_form(bool is_name, const uint8_t *bytes, uint32_t length)
{
	uint8_t out[LINE_MAX_BYTES * 12];
	bool cut;
	uint32_t n = is_name ? name_normalize(CHARSET_UTF8, bytes, length, out, sizeof(out), &cut)
			     : text_normalize(CHARSET_UTF8, bytes, length, out, sizeof(out), &cut);

	for (uint32_t i = 0; i < n; i++)
		printf("%02x", out[i]);
	printf("%s\n", cut ? " cut" : "");
}

static int print_forms(bool is_name)
{
	static char line[2 * LINE_MAX_BYTES + 2];
	static uint8_t bytes[LINE_MAX_BYTES];

	while (fgets(line, sizeof(line), stdin)) {
		uint32_t n = 0;
		unsigned value;

		while (sscanf(line + 2 * n, "%2x", &value) == 1)
			bytes[n++] = (uint8_t)value;
		print_form(is_name, bytes, n);
	}
	return 0;
}

static int print_type(const char *path)
{
	uint8_t bytes[FILE_TYPE_BYTES];
	FILE *file = fopen(path, "rb");

	if (!file) {
		perror(path);
		return 1;
	}
	uint32_t n = (uint32_t)fread(bytes, 1, sizeof(bytes), file);
	file_type type = file_type_find(bytes, n, n < sizeof(bytes));

	fclose(file);
	printf("%s %s\n", file_type_word(type), file_type_group(type));
	return 0;
}

int main(int argc, char **argv)
{
	int failed = 0;

	if (argc == 2 && (!strcmp(argv[1], "text") || !strcmp(argv[1], "name")))
		return print_forms(argv[1][0] == 'n');
	if (argc < 3 || strcmp(argv[1], "type")) {
		fprintf(stderr, "usage: content_print text | name | type FILE...\n");
		return 2;
	}
	for (int i = 2; i < argc; i++)
		failed |= print_type(argv[i]);
	return failed;
}
