// SPDX-License-Identifier: BSD-3-Clause
// Reads the command line of sluice-scan.
#include "scan/program/settings.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define USAGE_ERROR 2

enum kind { TEXT, DESCRIPTORS, NUMBER };

struct row {
	const char *name, *arg, *help;
	enum kind kind;
	size_t at;
	uint64_t min, max, normal; // of NUMBER
};

#define AT(field) offsetof(struct scan_settings, field)

// MAX_FILESIZE and MAX_SCANSIZE of libclamav do not go beyond 2 GiB in all of its parsers.
static const struct row rows[] = {
	{"database", "DIR", "the folder of signatures", TEXT, AT(database), 0, 0, 0},
	{"arena", "FD", "the memory of files under scan: a sealed memfd", DESCRIPTORS, AT(arena), 0,
		1, 0},
	{"control", "FD[,FD...]", "a SOCK_SEQPACKET socket to each scan lcore", DESCRIPTORS,
		AT(controls), 0, SCAN_CHILDREN_MAX, 0},
	{"tmp", "DIR", "where files are unpacked", TEXT, AT(tmp), 0, 0, 0},
	{"tmp-mb", "N", "what a child may unpack at once", NUMBER, AT(tmp_mb), 1, 65536, 512},
	{"memory-mb", "N", "memory of a child, beside the database", NUMBER, AT(memory_mb), 16,
		65536, 1024},
	{"jobs", "N", "files after which a child is replaced", NUMBER, AT(jobs), 1, 1000000, 1000},
	{"place", "N", "of two that run beside each other, each has folders of its own", NUMBER,
		AT(place), 0, SCAN_PLACES - 1, 0},
	{"watch-s", "N", "seconds between looks at the database for changes; 0: none", NUMBER,
		AT(watch_s), 0, 3600, 0},
	{"user", "NAME", "children become it (needs root)", TEXT, AT(user), 0, 0, 0},
	{"max-scan-ms", "N", "time for one file", NUMBER, AT(max_scan_ms), 10, 600000, 10000},
	{"max-file-mb", "N", "size of a file, and of one in an archive", NUMBER, AT(max_file_mb), 1,
		SCAN_FILE_MAX >> 20, 100},
	{"max-scan-mb", "N", "bytes unpacked of one file, all together", NUMBER, AT(max_scan_mb), 1,
		2000, 400},
	{"max-recursion", "N", "archives in archives", NUMBER, AT(max_recursion), 1, 100, 17},
	{"max-files", "N", "files in one archive", NUMBER, AT(max_files), 1, 1000000, 10000},
};
#define N_ROWS (sizeof(rows) / sizeof(rows[0]))

static void help(void)
{
	puts("usage: sluice-scan --database DIR --arena FD --control FD[,FD...] --tmp DIR "
	     "[options]\n"
	     "       sluice-scan --check --database DIR\n\n"
	     "Scans files for a gateway, which starts it: docs/scanning.md. With --check it loads "
	     "the\n"
	     "signatures, prints what they are, and ends: 0, or 1 if they cannot be used.\n");
	for (size_t i = 0; i < N_ROWS; i++) {
		char left[40];

		snprintf(left, sizeof(left), "--%s %s", rows[i].name, rows[i].arg);
		printf("  %-24s %s", left, rows[i].help);
		if (rows[i].kind == NUMBER)
			printf(": %llu to %llu, default %llu", (unsigned long long)rows[i].min,
				(unsigned long long)rows[i].max,
				(unsigned long long)rows[i].normal);
		putchar('\n');
	}
	puts("  --help, --version");
}

static int wrong(const char *name, const char *what, const char *value)
{
	fprintf(stderr, "sluice-scan: --%s: %s: \"%s\"; see --help\n", name, what, value);
	return USAGE_ERROR;
}

// True: digits and nothing else, and not beyond `max`.
static bool number(const char *text, size_t len, uint64_t max, uint64_t *out)
{
	*out = 0;
	if (!len || len > 18)
		return false;
	for (size_t i = 0; i < len; i++) {
		if (text[i] < '0' || text[i] > '9')
			return false;
		*out = *out * 10 + (uint64_t)(text[i] - '0');
	}
	return *out <= max;
}

static int descriptors(struct scan_settings *settings, const struct row *row, const char *value)
{
	int *out = (int *)(void *)((char *)settings + row->at);
	unsigned n = 0;

	for (const char *at = value;; at++) {
		size_t len = strcspn(at, ",");
		uint64_t fd;

		if (n == row->max)
			return wrong(row->name, "too many descriptors", value);
		if (!number(at, len, 1 << 20, &fd) || fd < 3 || fcntl((int)fd, F_GETFD) < 0)
			return wrong(row->name, "not an open descriptor behind 2", value);
		out[n++] = (int)fd;
		at += len;
		if (!*at)
			break;
	}
	if (row->at == AT(controls))
		settings->n_controls = n;
	return 0;
}

static int take(struct scan_settings *settings, const struct row *row, const char *value)
{
	void *field = (char *)settings + row->at;

	switch (row->kind) {
	case TEXT:
		if (!value[0])
			return wrong(row->name, "is empty", value);
		memcpy(field, &value, sizeof(value));
		return 0;
	case DESCRIPTORS: return descriptors(settings, row, value);
	case NUMBER: break;
	}
	uint64_t n;

	if (!number(value, strlen(value), row->max, &n) || n < row->min) {
		fprintf(stderr, "sluice-scan: --%s: a number from %llu to %llu, not \"%s\"\n",
			row->name, (unsigned long long)row->min, (unsigned long long)row->max,
			value);
		return USAGE_ERROR;
	}
	memcpy(field, &n, sizeof(n));
	return 0;
}

static const struct row *find(const char *word)
{
	for (size_t i = 0; i < N_ROWS; i++)
		if (!strncmp(word, "--", 2) && !strcmp(word + 2, rows[i].name))
			return &rows[i];
	return NULL;
}

static int missing(const struct scan_settings *settings)
{
	const char *what = !settings->database     ? "database"
			   : settings->check       ? NULL
			   : settings->arena < 0   ? "arena"
			   : !settings->n_controls ? "control"
			   : !settings->tmp        ? "tmp"
						   : NULL;

	if (!what)
		return -1;
	fprintf(stderr, "sluice-scan: --%s is missing; see --help\n", what);
	return USAGE_ERROR;
}

int scan_settings_parse(struct scan_settings *settings, int argc, char **argv)
{
	*settings = (struct scan_settings){.arena = -1};
	for (size_t i = 0; i < N_ROWS; i++)
		if (rows[i].kind == NUMBER)
			memcpy((char *)settings + rows[i].at, &rows[i].normal, sizeof(uint64_t));
	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--help")) {
			help();
			return 0;
		}
		if (!strcmp(argv[i], "--version")) {
			puts("sluice-scan " SCAN_PROGRAM_VERSION);
			return 0;
		}
		if (!strcmp(argv[i], "--check")) {
			settings->check = true;
			continue;
		}
		const struct row *row = find(argv[i]);

		if (!row || i + 1 == argc) {
			fprintf(stderr, "sluice-scan: %s \"%s\"; see --help\n",
				row ? "nothing follows" : "unknown option", argv[i]);
			return USAGE_ERROR;
		}
		int rc = take(settings, row, argv[++i]);

		if (rc)
			return rc;
	}
	return missing(settings);
}
