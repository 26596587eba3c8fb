// SPDX-License-Identifier: BSD-3-Clause
// Finds out what a file store has, folder by folder, some files at a time; then lets go what is too
// old.
#include "audit/store_work.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum kind {
	KIND_FILE,
	KIND_SIDECAR,
	KIND_FOREIGN,
};

// What a name in folder "ab" is: 64 digits that begin with its name, or those of a sidecar.
static enum kind kind_of(unsigned folder, const char *name, uint8_t sha256[32])
{
	static const char digits[] = "0123456789";

	if (!store_hash_read(name, sha256) || sha256[0] != folder)
		return KIND_FOREIGN;
	const char *at = name + 64;
	if (!*at)
		return KIND_FILE;
	for (unsigned i = 0; i < 2; i++) {
		size_t n = *at == '.' ? strspn(at + 1, digits) : 0;
		if (!n)
			return KIND_FOREIGN;
		at += 1 + n;
	}
	return strcmp(at, ".json") == 0 ? KIND_SIDECAR : KIND_FOREIGN;
}

struct store_entry *store_entry_of(struct store *store, const uint8_t sha256[32], int64_t time_s)
{
	uint32_t number = store_index_find(&store->index, sha256);

	if (number == STORE_NONE)
		number = store_index_add(&store->index, sha256, time_s);
	if (number == STORE_NONE) {
		store_fail(store, -ENOMEM);
		return NULL;
	}
	return &store->index.entries[number];
}

static void count(struct store *store, const char *name)
{
	struct store_counters *counters = &store->counters;
	uint8_t sha256[32];
	struct stat st;
	enum kind kind = kind_of(store->walked, name, sha256);

	if (fstatat(dirfd(store->walk), name, &st, AT_SYMLINK_NOFOLLOW) != 0)
		return;
	if (kind == KIND_FOREIGN || !S_ISREG(st.st_mode)) {
		counters->foreign_files++;
		return;
	}
	struct store_entry *entry = store_entry_of(store, sha256, st.st_mtime);
	if (!entry)
		return;
	if (kind == KIND_FILE) {
		entry->file_bytes = (uint64_t)st.st_size;
		entry->has_file = true;
	} else {
		entry->side_bytes += (uint64_t)st.st_size;
		entry->sidecars++;
	}
	if (entry->time_s < st.st_mtime)
		entry->time_s = st.st_mtime;
	counters->used_bytes += (uint64_t)st.st_size;
	counters->used_files++;
}

// One name of the folder at hand, or the next folder.
static void walk_on(struct store *store)
{
	char name[8];

	if (!store->walk) {
		snprintf(name, sizeof(name), "%02x", store->walked);
		int fd = store_open_folder(store, name);
		store->walk = fd < 0 ? NULL : fdopendir(fd);
		if (store->walk)
			return;
		if (fd >= 0)
			close(fd);
		else if (fd != -ENOENT)
			store_fail(store, fd);
		store->walked++;
		return;
	}
	struct dirent *entry = readdir(store->walk);
	if (!entry) {
		closedir(store->walk);
		store->walk = NULL;
		store->walked++;
	} else if (entry->d_name[0] != '.') {
		count(store, entry->d_name);
	}
}

bool store_is_counted(struct store *store, const uint8_t sha256[32])
{
	unsigned folder = sha256[0];

	while (folder == store->walked && store->walk)
		walk_on(store);
	return folder < store->walked;
}

static bool is_too_old(const struct store *store, uint64_t now_s)
{
	uint32_t oldest = store->index.oldest;

	return store->limits.age_s && oldest != STORE_NONE &&
	       store->index.entries[oldest].time_s + (int64_t)store->limits.age_s < (int64_t)now_s;
}

bool store_step(struct store *store, uint64_t now_s, unsigned work)
{
	struct store_counters *counters = &store->counters;

	for (; work && store->walked < STORE_FOLDERS && store->folder >= 0; work--)
		walk_on(store);
	if (counters->walking && store->walked == STORE_FOLDERS) {
		int rc = store_index_sort(&store->index);
		if (rc < 0)
			store_fail(store, rc);
		counters->walking = false;
	}
	if (counters->walking)
		return true;
	for (; work && is_too_old(store, now_s); work--) {
		if (store_evict(store) < 0)
			return false; // not at once again
		counters->aged++;
	}
	return is_too_old(store, now_s);
}
