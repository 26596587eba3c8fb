// SPDX-License-Identifier: BSD-3-Clause
// Takes a file in which something was found out of a store, into another one if there is one.
#include "audit/store_work.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define READ_BYTES (64 * 1024)

// The first `size` bytes of `fd`. 0 or -errno.
static int copy(int fd, uint64_t size, struct store_file *into)
{
	uint8_t bytes[READ_BYTES];
	uint64_t at = 0;
	int rc = 0;

	while (at < size && rc == 0) {
		uint64_t left = size - at;
		ssize_t n = pread(
			fd, bytes, left < sizeof(bytes) ? (size_t)left : sizeof(bytes), (off_t)at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? -errno : -EIO;
		rc = store_write(into, at, bytes, (size_t)n);
		at += (uint64_t)n;
	}
	return rc;
}

// A copy, not a rename: the two may be on different disks, and its mode and limits are another's.
static bool lock_away(struct store *quarantine, int fd, uint64_t now_s, struct store_result *result)
{
	struct store_file *file = store_begin(quarantine);
	struct store_result kept;

	if (!file)
		return false;
	if (copy(fd, result->size, file) < 0) { // of the disk that is read, or counted by the write
		if (!file->error)
			store_fail(quarantine, -EIO);
		store_abort(file);
		return false;
	}
	store_end(file, result->state, now_s, &kept);
	// Its name is the hash of what was written: a copy that somebody changed has another.
	if (!kept.stored || strcmp(kept.digests.sha256, result->digests.sha256) != 0)
		return false;
	memcpy(result->path, kept.path, sizeof(result->path));
	return true;
}

// What came before under this hash, sidecars with it.
static int remove_earlier(struct store *store, const uint8_t sha256[32])
{
	// A folder that was not walked yet: its entry is not made, if the file is gone by then.
	bool counted = store_is_counted(store, sha256);
	int rc = store_unlink(store, sha256, true);
	uint32_t number = rc == 0 && counted ? store_index_find(&store->index, sha256) : STORE_NONE;

	if (number != STORE_NONE)
		store_forget(store, number);
	return rc;
}

static bool is_file_of(int fd, uint64_t size)
{
	struct stat st;

	return fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && (uint64_t)st.st_size == size;
}

void store_withdraw(struct store_file *file, struct store *quarantine, uint64_t now_s,
	struct store_result *result)
{
	struct store *store = file->store;
	char name[STORE_NAME_MAX];
	uint8_t sha256[32];

	if (store->folder < 0 || !store_hash_read(result->digests.sha256, sha256))
		return;
	store_place_name(result->digests.sha256, name);
	int earlier = store_open_file(store, name); // also where this transfer found no room
	int fd = file->fd >= 0 ? file->fd : earlier;
	bool had = fd >= 0;
	if (had && quarantine && is_file_of(fd, result->size))
		result->quarantined = lock_away(quarantine, fd, now_s, result);
	int rc = remove_earlier(store, sha256);
	if (earlier >= 0)
		close(earlier);
	store_drop_tmp(file);
	if (rc < 0) {
		store_fail(store, rc);
		result->stored = earlier >= 0;
	}
	if (result->quarantined)
		store->counters.quarantined++;
	else if (had && !result->stored)
		store->counters.removed++;
}
