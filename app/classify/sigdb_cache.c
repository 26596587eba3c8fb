// SPDX-License-Identifier: BSD-3-Clause
// Compiled databases on disk, so that a start does not wait for the compiler. A file is believed
// only if everything it depends on is in it and equal, and nobody else could have written it: a
// database is as good as code. What is wrong with a file is not worth a word, the databases are
// compiled again then. Control core only.
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "classify/sigdb.h"
#include "generated/sigdb_code.h"

#define CACHE_MAGIC      0x31424453554c5353ull // this layout; any change of it changes the number
#define CACHE_MAX        (256u << 20)
#define CACHE_NAME       "sigdb-"
#define CACHE_NAME_BYTES 48
#define DAY_S            86400
#define LEFT_OVER_S      3600 // a file that is being written is younger than that

struct cache_head {
	uint64_t magic;
	uint64_t key_len;
	uint64_t part_len[SIGDB_PARTS]; // 0: no database
	uint64_t sum;                   // FNV-1a over key and parts
};

static uint64_t fnv1a(uint64_t sum, const uint8_t *bytes, size_t length)
{
	for (size_t i = 0; i < length; i++)
		sum = (sum ^ bytes[i]) * 0x100000001b3ull;
	return sum;
}

#define FNV_START 0xcbf29ce484222325ull

// The code that made it, as another one may compile something else of the same signatures; version
// and CPU, because a database runs only where it was compiled for; then what was compiled. The
// index of a signature is its place, so the order is part of the key.
uint8_t *sigdb_cache_key(const struct signature *signatures, unsigned n, size_t *length)
{
	hs_platform_info_t platform = {0};
	char *text = NULL;
	FILE *out = open_memstream(&text, length);

	if (!out)
		return NULL;
	hs_populate_platform(&platform);
	fprintf(out, SIGDB_CODE "\n%s\n%u %llx\n%u\n", hs_version(), platform.tune,
		platform.cpu_features, n);
	for (unsigned i = 0; i < n; i++) {
		const struct signature *s = &signatures[i];

		fprintf(out, "%u %u %d%d %zu %s\n", s->l4, s->halves, s->caseless, s->dotall,
			strlen(s->pattern), s->pattern);
	}
	if (fclose(out)) {
		free(text);
		return NULL;
	}
	return (uint8_t *)text;
}

static int cache_path(char path[PATH_MAX], const char *dir, const uint8_t *key, size_t key_len,
	const char *suffix)
{
	int n = snprintf(path, PATH_MAX, "%s/" CACHE_NAME "%016llx%s", dir,
		(unsigned long long)fnv1a(FNV_START, key, key_len), suffix);

	return n > 0 && n < PATH_MAX ? 0 : -1;
}

// Written by us or by root, and by nobody else since. Root does not believe the user that it
// becomes later: Hyperscan reads what is in the file with root's rights.
static bool is_trusted(const struct stat *file)
{
	return S_ISREG(file->st_mode) && !(file->st_mode & (S_IWGRP | S_IWOTH)) &&
	       (file->st_uid == geteuid() || file->st_uid == 0);
}

// The time of its last use is its age.
static uint8_t *read_file(const char *path, size_t *length)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	struct stat st;
	uint8_t *bytes = NULL;

	if (fd < 0)
		return NULL;
	if (!fstat(fd, &st) && is_trusted(&st) && st.st_size > 0 && st.st_size <= CACHE_MAX)
		bytes = malloc((size_t)st.st_size);
	if (bytes)
		futimens(fd, NULL);
	*length = 0;
	while (bytes && *length < (size_t)st.st_size) {
		ssize_t n = read(fd, bytes + *length, (size_t)st.st_size - *length);

		if (n <= 0) {
			free(bytes);
			bytes = NULL;
		} else {
			*length += (size_t)n;
		}
	}
	close(fd);
	return bytes;
}

static bool head_good(const struct cache_head *head, const uint8_t *bytes, size_t length,
	const uint8_t *key, size_t key_len)
{
	uint64_t room = length - sizeof(*head);

	if (head->magic != CACHE_MAGIC || head->key_len != key_len || key_len > room)
		return false;
	room -= key_len;
	for (unsigned part = 0; part < SIGDB_PARTS; part++) {
		if (head->part_len[part] > room)
			return false;
		room -= head->part_len[part];
	}
	return !room && !memcmp(bytes + sizeof(*head), key, key_len) &&
	       head->sum == fnv1a(FNV_START, bytes + sizeof(*head), length - sizeof(*head));
}

bool sigdb_cache_read(
	const char *dir, const uint8_t *key, size_t key_len, hs_database_t *parts[SIGDB_PARTS])
{
	char path[PATH_MAX];
	struct cache_head head;
	size_t length;
	uint8_t *bytes;
	bool good = false;

	if (cache_path(path, dir, key, key_len, ""))
		return false;
	bytes = read_file(path, &length);
	if (!bytes)
		return false;
	if (length >= sizeof(head)) {
		memcpy(&head, bytes, sizeof(head));
		good = head_good(&head, bytes, length, key, key_len);
	}
	size_t at = sizeof(head) + key_len;

	for (unsigned part = 0; good && part < SIGDB_PARTS; part++) {
		size_t size = (size_t)head.part_len[part];

		if (size && hs_deserialize_database((const char *)bytes + at, size, &parts[part]) !=
				    HS_SUCCESS)
			good = false;
		at += size;
	}
	for (unsigned part = 0; !good && part < SIGDB_PARTS; part++) {
		hs_free_database(parts[part]);
		parts[part] = NULL;
	}
	free(bytes);
	return good;
}

static bool write_all(int fd, const void *bytes, size_t length)
{
	const char *at = bytes;

	while (length) {
		ssize_t n = write(fd, at, length);

		if (n <= 0)
			return false;
		at += n;
		length -= (size_t)n;
	}
	return true;
}

void sigdb_cache_write(const char *dir, const uint8_t *key, size_t key_len,
	hs_database_t *const parts[SIGDB_PARTS])
{
	struct cache_head head = {.magic = CACHE_MAGIC, .key_len = key_len};
	char path[PATH_MAX], temporary[PATH_MAX];
	char *serial[SIGDB_PARTS] = {0};
	size_t size[SIGDB_PARTS] = {0};
	bool good = true;
	int fd;

	head.sum = fnv1a(FNV_START, key, key_len);
	for (unsigned part = 0; good && part < SIGDB_PARTS; part++) {
		if (!parts[part])
			continue;
		good = hs_serialize_database(parts[part], &serial[part], &size[part]) == HS_SUCCESS;
		if (!good)
			break;
		head.part_len[part] = size[part];
		head.sum = fnv1a(head.sum, (const uint8_t *)serial[part], size[part]);
	}
	good = good && !cache_path(path, dir, key, key_len, "") &&
	       !cache_path(temporary, dir, key, key_len, ".XXXXXX");
	fd = good ? mkostemp(temporary, O_CLOEXEC) : -1;
	if (fd >= 0) {
		good = write_all(fd, &head, sizeof(head)) && write_all(fd, key, key_len);
		for (unsigned part = 0; good && part < SIGDB_PARTS; part++)
			good = write_all(fd, serial[part], size[part]);
		// What root writes stays root's, so that root's next start believes it. The
		// service's user reads it, and removes it, as the folder is its own.
		good = good && !fchmod(fd, 0644) && !fsync(fd);
		close(fd);
		if (!good || rename(temporary, path))
			unlink(temporary);
	}
	for (unsigned part = 0; part < SIGDB_PARTS; part++)
		free(serial[part]);
}

struct cached {
	char name[CACHE_NAME_BYTES];
	int64_t used_s;
	int64_t bytes;
	bool in_force;
	bool left_over; // half written, by a gateway that ended meanwhile
};

// "sigdb-" and 16 digits; behind them, for what is being written, a dot and six characters.
static bool is_ours(const char *name, bool *temporary)
{
	size_t digits = strspn(name + strlen(CACHE_NAME), "0123456789abcdef");
	const char *rest = name + strlen(CACHE_NAME) + digits;

	*temporary = *rest;
	return digits == 16 && (!*rest || (*rest == '.' && strlen(rest) == 7));
}

// The name of a database's file; "" if there is none.
static void name_of(const struct sigdb *db, char name[CACHE_NAME_BYTES])
{
	size_t key_len;
	uint8_t *key = db ? sigdb_cache_key(db->signatures, db->n, &key_len) : NULL;

	name[0] = 0;
	if (key)
		snprintf(name, CACHE_NAME_BYTES, CACHE_NAME "%016llx",
			(unsigned long long)fnv1a(FNV_START, key, key_len));
	free(key);
}

static int by_use(const void *a, const void *b)
{
	const struct cached *x = a, *y = b;

	return (x->used_s < y->used_s) - (x->used_s > y->used_s);
}

// The files of the cache, the newest first. -errno.
static int cache_list(DIR *open_dir, const struct sigdb *db, struct cached **out, size_t *n)
{
	char in_force[2][CACHE_NAME_BYTES];
	const struct dirent *entry;
	struct cached *list = NULL;
	struct stat st;
	bool temporary;

	name_of(db, in_force[0]);
	name_of(db ? db->base : NULL, in_force[1]);

	*n = 0;
	while ((entry = readdir(open_dir))) {
		if (strncmp(entry->d_name, CACHE_NAME, strlen(CACHE_NAME)) ||
			!is_ours(entry->d_name, &temporary) ||
			fstatat(dirfd(open_dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) ||
			!S_ISREG(st.st_mode))
			continue;
		struct cached *grown = reallocarray(list, *n + 1, sizeof(*list));

		if (!grown) {
			free(list);
			return -ENOMEM;
		}
		list = grown;
		list[*n] = (struct cached){
			.used_s = st.st_mtime, .bytes = st.st_size, .left_over = temporary};
		snprintf(list[*n].name, sizeof(list[*n].name), "%.40s", entry->d_name);
		list[*n].in_force =
			!strcmp(entry->d_name, in_force[0]) || !strcmp(entry->d_name, in_force[1]);
		(*n)++;
	}
	if (*n)
		qsort(list, *n, sizeof(*list), by_use);
	*out = list;
	return 0;
}

int sigdb_cache_prune(const char *dir, const struct sigdb *db, unsigned days, int64_t now_s)
{
	struct cached *list = NULL;
	DIR *open_dir = opendir(dir);
	int64_t bytes = 0, kept = 0;
	int failed = 0;
	size_t n;

	if (!open_dir)
		return -errno;
	int rc = cache_list(open_dir, db, &list, &n);

	for (size_t i = 0; !rc && i < n; i++) {
		struct cached *file = &list[i];
		int64_t age_s = now_s - file->used_s;
		bool old = file->left_over ? age_s > LEFT_OVER_S
					   : days && age_s > (int64_t)days * DAY_S;

		if (file->in_force) // other gateways that share the folder see that it is used
			utimensat(dirfd(open_dir), file->name, NULL, AT_SYMLINK_NOFOLLOW);
		if (!file->in_force && (old || kept == SIGDB_CACHE_FILES ||
					       bytes + file->bytes > SIGDB_CACHE_BYTES)) {
			failed += unlinkat(dirfd(open_dir), file->name, 0) < 0 && errno != ENOENT;
			continue;
		}
		kept++;
		bytes += file->bytes;
	}
	free(list);
	closedir(open_dir);
	return rc ? rc : failed;
}
