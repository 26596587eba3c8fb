// SPDX-License-Identifier: BSD-3-Clause
// Files on their way into the store: digested while they come in order, put in their place when
// they end.
#include "audit/store_work.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/directory.h"

#define READ_BYTES (64 * 1024)

static int open_folder(struct store *store, const char *folder)
{
	if (mkdir(folder, store->limits.owner_only ? 0700 : 0750) != 0 && errno != EEXIST &&
		errno != EROFS)
		return -errno;
	store->folder =
		open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC | directory_follow_flag(folder));
	if (store->folder < 0)
		return -errno;
	if (flock(store->folder, LOCK_EX | LOCK_NB) != 0)
		return errno == EWOULDBLOCK ? -EBUSY : -errno;
	int rc = store_remove_tmp_files(store);
	if (rc < 0) // a read-only folder: it may have files that somebody asks for
		store_fail(store, rc);
	return 0;
}

int store_open(const char *folder, const struct store_limits *limits, struct store **out, char *err,
	size_t err_len)
{
	struct store *store = calloc(1, sizeof(*store));
	int rc = store ? 0 : -ENOMEM;

	*out = NULL;
	if (store) {
		store->folder = -1;
		store->limits = *limits;
		store_index_init(&store->index);
		store->counters.walking = folder != NULL;
		if (folder)
			rc = open_folder(store, folder);
	}
	if (rc < 0) {
		snprintf(err, err_len, "%s",
			rc == -EBUSY ? "another process stores files there" : strerror(-rc));
		store_close(store);
		return rc;
	}
	*out = store;
	return 0;
}

void store_close(struct store *store)
{
	if (!store)
		return;
	while (store->open)
		store_abort(store->open);
	if (store->walk)
		closedir(store->walk);
	if (store->folder >= 0)
		close(store->folder);
	store_index_free(&store->index);
	free(store);
}

void store_look(const struct store *store, struct store_counters *out)
{
	*out = store->counters;
}

void store_drop_tmp(struct store_file *file)
{
	char name[STORE_NAME_MAX];

	if (file->fd < 0)
		return;
	close(file->fd);
	file->fd = -1;
	store_tmp_name(file->tmp, name);
	int folder = store_open_folder(file->store, "tmp");
	int rc = folder;
	if (folder >= 0) {
		rc = unlinkat(folder, name + 4, 0) != 0 ? -errno : 0;
		close(folder);
	}
	if (rc < 0)
		store_fail(file->store, rc);
	store_release(file->store, file->charged, 1);
	file->charged = 0;
}

static int fail_file(struct store_file *file, int rc)
{
	if (!file->error) {
		file->error = -rc;
		if (rc == -EDQUOT || rc == -EFBIG || rc == -EMFILE)
			file->store->counters.refused++;
		else
			store_fail(file->store, rc);
	}
	store_drop_tmp(file);
	return rc;
}

static void open_tmp(struct store_file *file)
{
	struct store *store = file->store;

	if (store->folder < 0)
		return;
	if (store->limits.open_files && store->counters.open_files > store->limits.open_files) {
		fail_file(file, -EMFILE);
		return;
	}
	if (!store_charge(store, 0, 1)) {
		fail_file(file, -EDQUOT);
		return;
	}
	file->fd = store_tmp_create(store, &file->tmp);
	if (file->fd < 0) {
		store_release(store, 0, 1);
		int rc = file->fd;
		file->fd = -1;
		fail_file(file, rc);
	}
}

struct store_file *store_begin(struct store *store)
{
	struct store_file *file = calloc(1, sizeof(*file));

	if (!file)
		return NULL;
	file->digest = file_digest_new();
	if (!file->digest) {
		free(file);
		return NULL;
	}
	file->store = store;
	file->fd = -1;
	file->next = store->open;
	if (store->open)
		store->open->previous = file;
	store->open = file;
	store->counters.open_files++;
	open_tmp(file);
	return file;
}

static void free_file(struct store_file *file)
{
	struct store *store = file->store;

	if (file->previous)
		file->previous->next = file->next;
	else
		store->open = file->next;
	if (file->next)
		file->next->previous = file->previous;
	store->counters.open_files--;
	ranges_free(&file->ranges);
	file_digest_free(file->digest);
	free(file);
}

void store_abort(struct store_file *file)
{
	store_drop_tmp(file);
	free_file(file);
}

static int write_at(int fd, const uint8_t *bytes, size_t length, uint64_t offset)
{
	while (length) {
		ssize_t n = pwrite(fd, bytes, length, (off_t)offset);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? -errno : -ENOSPC;
		bytes += n;
		length -= (size_t)n;
		offset += (uint64_t)n;
	}
	return 0;
}

int store_write(struct store_file *file, uint64_t offset, const void *bytes, size_t length)
{
	const uint8_t *at = bytes;
	uint64_t end;

	if (__builtin_add_overflow(offset, length, &end) || end > INT64_MAX) {
		file->unknown = true;
		return fail_file(file, -EFBIG);
	}
	if (end <= file->digested) // nothing new
		return -file->error;
	if (offset < file->digested) {
		at += file->digested - offset;
		offset = file->digested;
	}
	length = (size_t)(end - offset);
	int rc = ranges_add(&file->ranges, offset, end);
	if (rc < 0) {
		file->unknown = true;
		return fail_file(file, rc);
	}
	if (offset == file->digested) {
		file_digest_add(file->digest, at, length);
		file->digested = end;
	}
	if (file->fd < 0)
		return -file->error;
	if (file->store->limits.file_bytes && end > file->store->limits.file_bytes)
		return fail_file(file, -EFBIG);
	if (end > file->charged) {
		if (!store_charge(file->store, end - file->charged, 0))
			return fail_file(file, -EDQUOT);
		file->charged = end;
	}
	rc = write_at(file->fd, at, length, offset);
	return rc < 0 ? fail_file(file, rc) : 0;
}

// What came out of order is digested as it is in the file: gaps are zeros.
static int digest_rest(struct store_file *file, uint64_t size)
{
	uint8_t bytes[READ_BYTES];

	while (file->digested < size) {
		ssize_t n = pread(file->fd, bytes, sizeof(bytes), (off_t)file->digested);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? -errno : -EIO;
		file_digest_add(file->digest, bytes, (size_t)n);
		file->digested += (uint64_t)n;
	}
	return 0;
}

// Its time is that of the last transfer: what decides who goes first, also after a restart.
static void set_time(int folder, const char *name, uint64_t now_s)
{
	const struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = (time_t)now_s}};

	(void)utimensat(folder, name, times, AT_SYMLINK_NOFOLLOW);
}

static bool is_there(const struct store *store, const char *name, uint64_t size, uint64_t now_s)
{
	const char folder[3] = {name[0], name[1], '\0'};
	int fd = store_open_folder(store, folder);
	struct stat st;

	if (fd < 0)
		return false;
	// A file of another size is what a power cut left of it: it is written once more.
	bool there = fstatat(fd, name + 3, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode) &&
		     (uint64_t)st.st_size == size;
	if (there)
		set_time(fd, name + 3, now_s);
	close(fd);
	return there;
}

// The entry of a hash in a folder that is counted, as the newest one; NULL: the walk will find it.
static struct store_entry *newest_entry(
	struct store *store, const uint8_t sha256[32], uint64_t now_s)
{
	struct store_index *index = &store->index;

	if (!store_is_counted(store, sha256) || !store_entry_of(store, sha256, (int64_t)now_s))
		return NULL;
	uint32_t number = store_index_find(index, sha256);
	store_index_touch(index, number, (int64_t)now_s);
	return &index->entries[number];
}

// The file at hand is that of the hash now, and what it had of the limits is the entry's.
static void enter(struct store_file *file, const uint8_t sha256[32], uint64_t now_s)
{
	struct store *store = file->store;
	struct store_entry *entry = newest_entry(store, sha256, now_s);

	if (entry && entry->has_file) // of another size, or somebody removed it
		store_release(store, entry->file_bytes, 1);
	if (entry) {
		entry->has_file = true;
		entry->file_bytes = file->charged;
	} else {
		store_release(store, file->charged, 1);
	}
	file->charged = 0;
	close(file->fd);
	file->fd = -1;
}

// A file of `size` bytes, all digested, to its place.
static int place(struct store_file *file, uint64_t now_s, struct store_result *result)
{
	struct store *store = file->store;
	char name[STORE_NAME_MAX];
	uint8_t sha256[32];

	if (!store_hash_read(result->digests.sha256, sha256))
		return -EINVAL;
	store_place_name(result->digests.sha256, name);
	result->duplicate = is_there(store, name, result->size, now_s);
	if (result->duplicate) {
		store_drop_tmp(file);
		(void)newest_entry(store, sha256, now_s);
		store->counters.duplicates++;
	} else {
		const struct timespec times[2] = {
			{.tv_nsec = UTIME_OMIT}, {.tv_sec = (time_t)now_s}};
		(void)futimens(file->fd, times);
		int rc = store_move(store, file->tmp, name);
		if (rc < 0)
			return rc;
		enter(file, sha256, now_s);
		store->counters.stored++;
	}
	result->stored = true;
	memcpy(result->path, name, sizeof(result->path));
	return 0;
}

// What came, and its digests.
static void close_digests(
	struct store_file *file, enum store_state state, struct store_result *result)
{
	*result = (struct store_result){.state = state};
	result->size = ranges_end(&file->ranges);
	result->gaps = file->unknown || file->ranges.bytes != result->size;
	if (file->fd >= 0) {
		int rc = digest_rest(file, result->size);
		if (rc < 0)
			fail_file(file, rc);
	}
	result->digested = file->digested == result->size && !file->unknown;
	if (result->digested)
		file_digest_end(file->digest, &result->digests);
}

void store_end(struct store_file *file, enum store_state state, uint64_t now_s,
	struct store_result *result)
{
	close_digests(file, state, result);
	if (file->fd >= 0 && state != STORE_ERROR) {
		int rc = place(file, now_s, result);
		if (rc < 0)
			fail_file(file, rc);
	}
	result->error = file->error;
	store_abort(file);
}

void store_end_infected(struct store_file *file, enum store_state state, uint64_t now_s,
	struct store *quarantine, struct store_result *result)
{
	close_digests(file, state, result);
	if (result->digested && state != STORE_ERROR)
		store_withdraw(file, quarantine, now_s, result);
	result->error = file->error;
	store_abort(file);
}

// Written as a whole, or not at all: by way of tmp/.
static int write_note(
	struct store *store, const char *name, const char *json, size_t length, uint64_t now_s)
{
	const struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = (time_t)now_s}};
	char tmp[STORE_NAME_MAX];
	uint64_t number;
	int fd = store_tmp_create(store, &number);

	if (fd < 0)
		return fd;
	int rc = write_at(fd, (const uint8_t *)json, length, 0);
	(void)futimens(fd, times);
	close(fd);
	if (rc == 0)
		rc = store_move(store, number, name);
	if (rc < 0) {
		store_tmp_name(number, tmp);
		int folder = store_open_folder(store, "tmp");
		if (folder >= 0) {
			(void)unlinkat(folder, tmp + 4, 0);
			close(folder);
		}
	}
	return rc;
}

// Where it is the file itself that would have to go there is no room.
static bool charge_note(struct store *store, const uint8_t sha256[32], size_t length)
{
	if (!store_charge(store, length, 1))
		return false;
	if (!store_is_counted(store, sha256) ||
		store_index_find(&store->index, sha256) != STORE_NONE)
		return true;
	store_release(store, length, 1);
	return false;
}

int store_note(struct store *store, const struct store_result *result, uint64_t now_s, uint64_t id,
	const char *json, size_t length)
{
	char name[STORE_NAME_MAX];
	uint8_t sha256[32];

	if (!(result->stored || result->quarantined) ||
		!store_hash_read(result->digests.sha256, sha256))
		return -EINVAL;
	if (!charge_note(store, sha256, length)) {
		store->counters.refused++;
		return -EDQUOT;
	}
	store_side_name(result->digests.sha256, now_s, id, name);
	int rc = write_note(store, name, json, length, now_s);
	struct store_entry *entry = rc == 0 ? newest_entry(store, sha256, now_s) : NULL;
	if (entry) {
		entry->sidecars++;
		entry->side_bytes += length;
	} else {
		store_release(store, length, 1);
	}
	if (rc < 0)
		store_fail(store, rc);
	else
		store->counters.sidecars++;
	return rc;
}
