// SPDX-License-Identifier: BSD-3-Clause
// Pattern files of l7-filter: whatever the text, it is refused with a reason and its line, or its
// expression is translated to printable text that Hyperscan takes or refuses with a reason.
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>
#include "classify/classify.h"
#include "config_check.h"
#include "control/policy/l7_pattern.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static unsigned lines_of(const uint8_t *bytes, size_t len)
{
	unsigned n = 1;

	for (size_t i = 0; i < len; i++)
		n += bytes[i] == '\n';
	return n;
}

static void told(const char *err)
{
	if (!err[0])
		abort();
}

static void translated(const struct l7_file *file)
{
	struct signature signature = {
		.id = "l7",
		.app = 1,
		.l4 = IPPROTO_TCP,
		.halves = 3,
		.confidence = CONFIDENCE_PARTIAL,
		.caseless = file->caseless,
		.dotall = true,
	};
	char err[256] = "";

	if (l7_translate(file, signature.pattern, sizeof(signature.pattern), err, sizeof(err)) <
		0) {
		told(err);
		return;
	}
	if (strnlen(signature.pattern, sizeof(signature.pattern)) == sizeof(signature.pattern))
		abort();
	for (const char *c = signature.pattern; *c; c++)
		if (*c < ' ' || *c > '~')
			abort();
	err[0] = 0;
	if (sigdb_check_pattern(&signature, err, sizeof(err)) < 0)
		told(err);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	static int fd = -1;
	static char path[32];
	struct l7_file file = {0};
	char err[256] = "";
	unsigned line = 0;

	if (fd < 0) {
		fd = memfd_create("l7", 0);
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	}
	if (fd < 0 || ftruncate(fd, 0) || pwrite(fd, bytes, len, 0) != (ssize_t)len)
		abort();
	if (l7_file_read(path, &file, &line, err, sizeof(err)) < 0) {
		told(err);
		if (line > lines_of(bytes, len))
			abort();
		return 0;
	}
	if (!file.name[0] || !memchr(file.name, 0, sizeof(file.name)) || !file.pattern)
		abort();
	translated(&file);
	l7_file_free(&file);
	return 0;
}
