// SPDX-License-Identifier: BSD-3-Clause
// Reads lists of hashes, and finds files in them.
#include "scan/hash_list.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "pipeline/vocab/octets.h"

#define HEX (2 * SCAN_SHA256)

struct row {
	uint8_t sha256[SCAN_SHA256];
	uint32_t name; // offset in `names`
};

struct hashes {
	struct row *rows; // sorted
	char *names;      // each with its end; the first is ""
	size_t names_bytes, names_room;
	uint32_t n, room;
};

struct scan_lists {
	pthread_mutex_t mutex;
	char *allow_path, *deny_path; // NULL: none
	struct hashes allow, deny;    // under the mutex
};

static void hashes_free(struct hashes *hashes)
{
	free(hashes->rows);
	free(hashes->names);
	*hashes = (struct hashes){0};
}

static bool grow(void **at, size_t size)
{
	void *larger = realloc(*at, size);

	if (larger)
		*at = larger;
	return larger != NULL;
}

// The offset of a copy, as it may be a verdict's name; UINT32_MAX: no memory.
static uint32_t put_name(struct hashes *hashes, const char *text)
{
	size_t room = hashes->names_room ? hashes->names_room * 2 : 4096;

	if (hashes->names_bytes + SCAN_NAME_MAX > hashes->names_room) {
		if (!grow((void **)&hashes->names, room))
			return UINT32_MAX;
		hashes->names_room = room;
	}
	uint32_t at = (uint32_t)hashes->names_bytes;

	scan_wire_text(hashes->names + at, SCAN_NAME_MAX, text);
	hashes->names_bytes += strlen(hashes->names + at) + 1;
	return at;
}

static bool put(struct hashes *hashes, const uint8_t sha256[SCAN_SHA256], const char *text)
{
	uint32_t room = hashes->room ? hashes->room * 2 : 256;
	uint32_t name = *text ? put_name(hashes, text) : 0;

	if (name == UINT32_MAX)
		return false;
	if (hashes->n == hashes->room) {
		if (!grow((void **)&hashes->rows, room * sizeof(hashes->rows[0])))
			return false;
		hashes->room = room;
	}
	hashes->rows[hashes->n].name = name;
	memcpy(hashes->rows[hashes->n++].sha256, sha256, SCAN_SHA256);
	return true;
}

static int by_hash(const void *a, const void *b)
{
	return memcmp(a, b, SCAN_SHA256);
}

// ---- a file ----

static bool read_hash(const char *line, uint8_t sha256[SCAN_SHA256])
{
	for (unsigned i = 0; i < SCAN_SHA256; i++) {
		int high = octets_hex((uint8_t)line[2 * i]);
		int low = high < 0 ? -1 : octets_hex((uint8_t)line[2 * i + 1]);

		if (low < 0)
			return false;
		sha256[i] = (uint8_t)(high << 4 | low);
	}
	return true;
}

// What sha256sum writes between hash and name: two blanks, or a blank and '*' of --binary. A line
// that begins with '\' has escapes in its name; they stay.
static const char *name_of(const char *line)
{
	while (*line == ' ' || *line == '\t')
		line++;
	return *line == '*' ? line + 1 : line;
}

// 0: the line is read, or there is nothing in it.
static int read_line(struct hashes *hashes, char *line, const char **why)
{
	uint8_t sha256[SCAN_SHA256];

	line[strcspn(line, "\r\n")] = '\0';
	line += strspn(line, " \t");
	if (!*line || *line == '#')
		return 0;
	line += *line == '\\';
	*why = "is no line of sha256sum: write 64 hex digits, blanks, and a name or nothing; '#' "
	       "begins a comment";
	if (!read_hash(line, sha256) || !strchr(" \t", line[HEX]))
		return -EINVAL;
	*why = "is one hash too many: a list has at most 1,000,000";
	if (hashes->n == SCAN_LIST_MAX)
		return -E2BIG;
	*why = "no memory";
	return put(hashes, sha256, name_of(line + HEX)) ? 0 : -ENOMEM;
}

static int read_lines(
	FILE *file, const char *path, struct hashes *hashes, char *err, size_t err_len)
{
	static const char too_long[] =
		"is longer than a hash and a path: write a line for each hash";
	char line[SCAN_LIST_LINE];
	const char *why = too_long;
	unsigned number = 0;
	int rc = 0;

	while (!rc && fgets(line, sizeof(line), file)) {
		size_t length = strlen(line);

		number++;
		why = too_long;
		rc = length + 1 == sizeof(line) && line[length - 1] != '\n'
			     ? -EINVAL
			     : read_line(hashes, line, &why);
	}
	if (rc)
		snprintf(err, err_len, "%s:%u: %s", path, number, why);
	if (!rc && ferror(file)) {
		rc = -EIO;
		snprintf(err, err_len, "%s: cannot be read: %s", path, strerror(EIO));
	}
	return rc;
}

static int read_file(const char *path, struct hashes *hashes, char *err, size_t err_len)
{
	if (put_name(hashes, "") == UINT32_MAX) {
		snprintf(err, err_len, "%s: no memory", path ? path : "lists of hashes");
		return -ENOMEM;
	}
	FILE *file = path ? fopen(path, "re") : NULL;

	if (!file && path) {
		int error = errno;

		snprintf(err, err_len, "%s: %s; make the file (it may be empty), or remove its key",
			path, strerror(error));
		return -error;
	}
	int rc = file ? read_lines(file, path, hashes, err, err_len) : 0;

	if (file)
		fclose(file);
	if (!rc && hashes->n)
		qsort(hashes->rows, hashes->n, sizeof(hashes->rows[0]), by_hash);
	return rc;
}

// ---- both ----

// The caller frees both, whatever is returned.
static int read_both(const struct scan_lists *lists, struct hashes *allow, struct hashes *deny,
	char *err, size_t err_len)
{
	int rc = read_file(lists->allow_path, allow, err, err_len);

	return rc ? rc : read_file(lists->deny_path, deny, err, err_len);
}

int scan_lists_check(const struct scan_lists *lists, char *err, size_t err_len)
{
	struct hashes allow = {0}, deny = {0};
	int rc = read_both(lists, &allow, &deny, err, err_len);

	hashes_free(&allow);
	hashes_free(&deny);
	return rc;
}

int scan_lists_read(struct scan_lists *lists, char *err, size_t err_len)
{
	struct hashes allow = {0}, deny = {0};
	int rc = read_both(lists, &allow, &deny, err, err_len);

	if (!rc) {
		struct hashes was[] = {lists->allow, lists->deny};

		pthread_mutex_lock(&lists->mutex);
		lists->allow = allow;
		lists->deny = deny;
		pthread_mutex_unlock(&lists->mutex);
		allow = was[0];
		deny = was[1];
	}
	hashes_free(&allow);
	hashes_free(&deny);
	return rc;
}

static bool has_path(const char *path)
{
	return path && *path;
}

int scan_lists_new(
	const char *allow, const char *deny, struct scan_lists **out, char *err, size_t err_len)
{
	struct scan_lists *lists = calloc(1, sizeof(*lists));
	int rc = lists ? 0 : -ENOMEM;

	snprintf(err, err_len, "lists of hashes: no memory");
	if (lists) {
		pthread_mutex_init(&lists->mutex, NULL);
		lists->allow_path = has_path(allow) ? strdup(allow) : NULL;
		lists->deny_path = has_path(deny) ? strdup(deny) : NULL;
		if ((has_path(allow) && !lists->allow_path) ||
			(has_path(deny) && !lists->deny_path))
			rc = -ENOMEM;
	}
	if (!rc)
		rc = scan_lists_read(lists, err, err_len);
	if (rc < 0) {
		scan_lists_free(lists);
		return rc;
	}
	*out = lists;
	return 0;
}

void scan_lists_free(struct scan_lists *lists)
{
	if (!lists)
		return;
	hashes_free(&lists->allow);
	hashes_free(&lists->deny);
	free(lists->allow_path);
	free(lists->deny_path);
	pthread_mutex_destroy(&lists->mutex);
	free(lists);
}

void scan_lists_count(struct scan_lists *lists, uint32_t *allow, uint32_t *deny)
{
	pthread_mutex_lock(&lists->mutex);
	*allow = lists->allow.n;
	*deny = lists->deny.n;
	pthread_mutex_unlock(&lists->mutex);
}

bool scan_lists_are_empty(struct scan_lists *lists)
{
	uint32_t allow, deny;

	scan_lists_count(lists, &allow, &deny);
	return !allow && !deny;
}

static const struct row *find(const struct hashes *hashes, const uint8_t sha256[SCAN_SHA256])
{
	return hashes->n
		       ? bsearch(sha256, hashes->rows, hashes->n, sizeof(hashes->rows[0]), by_hash)
		       : NULL;
}

bool scan_lists_find(
	struct scan_lists *lists, const uint8_t sha256[SCAN_SHA256], struct scan_known *out)
{
	pthread_mutex_lock(&lists->mutex);
	const struct row *denied = find(&lists->deny, sha256);
	bool found = denied || find(&lists->allow, sha256);

	*out = (struct scan_known){.value = denied ? SCAN_INFECTED : SCAN_CLEAN};
	if (denied) {
		const char *name = lists->deny.names + denied->name;

		scan_wire_text(out->name, sizeof(out->name), *name ? name : "listed");
	}
	pthread_mutex_unlock(&lists->mutex);
	return found;
}
