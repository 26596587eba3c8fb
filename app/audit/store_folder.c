// SPDX-License-Identifier: BSD-3-Clause
// The folder of a file store: names of digits, made and removed without following a link.
#include "audit/store_work.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "audit/record.h"

void store_fail(struct store *store, int rc)
{
	store->counters.errors++;
	store->counters.error = -rc;
}

void store_tmp_name(uint64_t number, char out[STORE_NAME_MAX])
{
	snprintf(out, STORE_NAME_MAX, "tmp/%016" PRIx64, number);
}

void store_place_name(const char *sha256, char out[STORE_NAME_MAX])
{
	snprintf(out, STORE_NAME_MAX, "%.2s/%.64s", sha256, sha256);
}

void store_side_name(const char *sha256, uint64_t now_s, uint64_t id, char out[STORE_NAME_MAX])
{
	snprintf(out, STORE_NAME_MAX, "%.2s/%.64s.%" PRIu64 ".%" PRIu64 ".json", sha256, sha256,
		now_s, id);
}

bool store_hash_read(const char *hex, uint8_t out[32])
{
	if (strnlen(hex, 64) < 64 || !audit_is_hex(hex, 64))
		return false;
	for (unsigned i = 0; i < 64; i++) {
		uint8_t digit = (uint8_t)(hex[i] <= '9' ? hex[i] - '0' : hex[i] - 'a' + 10);
		out[i / 2] = (uint8_t)(i % 2 ? out[i / 2] | digit : digit << 4);
	}
	return true;
}

int store_open_folder(const struct store *store, const char *name)
{
	int fd = openat(
		store->folder, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);

	return fd < 0 ? -errno : fd;
}

// The folder and what a name has behind the slash: openat(2) looks at the last part alone, so that
// a link in the place of the folder must be found first.
static int folder_of(const struct store *store, const char *name, bool make, const char **last)
{
	char folder[8];

	*last = strchr(name, '/') + 1;
	snprintf(folder, sizeof(folder), "%.*s", (int)(*last - 1 - name), name);
	int fd = store_open_folder(store, folder);
	if (fd != -ENOENT || !make)
		return fd;
	if (mkdirat(store->folder, folder, store->limits.owner_only ? 0700 : 0750) != 0 &&
		errno != EEXIST)
		return -errno;
	return store_open_folder(store, folder);
}

int store_tmp_create(struct store *store, uint64_t *number)
{
	mode_t mode = store->limits.owner_only ? 0600 : 0640;
	char name[STORE_NAME_MAX];
	const char *last;
	int fd;

	do {
		*number = store->next_tmp++;
		store_tmp_name(*number, name);
		int folder = folder_of(store, name, true, &last);
		if (folder < 0)
			return folder;
		fd = openat(folder, last, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode);
		int rc = fd < 0 ? -errno : fd;
		close(folder);
		fd = rc;
	} while (fd == -EEXIST);
	return fd;
}

int store_move(struct store *store, uint64_t tmp, const char *name)
{
	char from[STORE_NAME_MAX];
	const char *last, *from_last;
	int rc = 0;

	store_tmp_name(tmp, from);
	int folder = folder_of(store, name, true, &last);
	if (folder < 0)
		return folder;
	int from_folder = folder_of(store, from, false, &from_last);
	if (from_folder < 0)
		rc = from_folder;
	else if (renameat(from_folder, from_last, folder, last) != 0)
		rc = -errno;
	if (from_folder >= 0)
		close(from_folder);
	close(folder);
	return rc;
}

int store_open_file(const struct store *store, const char *name)
{
	const char *last;
	int folder = folder_of(store, name, false, &last);

	if (folder < 0)
		return folder;
	int fd = openat(folder, last, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	int rc = fd < 0 ? -errno : fd;
	close(folder);
	return rc;
}

static bool is_tmp_name(const char *name)
{
	return strnlen(name, 17) == 16 && audit_is_hex(name, 16);
}

int store_remove_tmp_files(struct store *store)
{
	int fd = store_open_folder(store, "tmp");
	DIR *folder = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;

	if (!folder) {
		int rc = fd < 0 ? fd : -errno;
		if (fd >= 0)
			close(fd);
		return rc == -ENOENT ? 0 : rc;
	}
	int rc = 0;
	while ((entry = readdir(folder)))
		if (is_tmp_name(entry->d_name) && unlinkat(fd, entry->d_name, 0) != 0)
			rc = -errno;
	closedir(folder);
	return rc;
}

static int unlink_sidecars(int fd, const char *hash)
{
	int again = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *folder = again < 0 ? NULL : fdopendir(again);
	struct dirent *entry;
	int rc = 0;

	if (!folder) {
		rc = -errno;
		if (again >= 0)
			close(again);
		return rc;
	}
	while ((entry = readdir(folder)))
		if (strncmp(entry->d_name, hash, 64) == 0 && entry->d_name[64] == '.' &&
			unlinkat(again, entry->d_name, 0) != 0)
			rc = -errno;
	closedir(folder);
	return rc;
}

int store_unlink(struct store *store, const uint8_t sha256[32], bool sidecars)
{
	char hash[65], name[STORE_NAME_MAX];
	const char *last;

	audit_hex(sha256, 32, hash);
	store_place_name(hash, name);
	int folder = folder_of(store, name, false, &last);
	if (folder < 0)
		return folder == -ENOENT ? 0 : folder;
	int rc = unlinkat(folder, last, 0) != 0 && errno != ENOENT ? -errno : 0;
	if (rc == 0 && sidecars)
		rc = unlink_sidecars(folder, hash);
	close(folder);
	return rc;
}
