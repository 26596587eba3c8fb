// SPDX-License-Identifier: BSD-3-Clause
// Makes pcapng files of packets, and keeps their folder within its quota.
#include "audit/packet_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "audit/digest.h"

#define SUFFIX         ".pcapng"
#define DATE_LENGTH    16 // 20260723T081500Z
#define SAME_NAME_MAX  100
#define FILE_BYTES_MAX (8u << 20)

#define BLOCK_SECTION   0x0a0d0d0au
#define BLOCK_INTERFACE 1u
#define BLOCK_PACKET    6u
#define SECTION_MAGIC   0x1a2b3c4du
#define OPTION_COMMENT  1
#define OPTION_SOFTWARE 4
#define OPTION_TSRESOL  9

struct packet_folder {
	int fd;
	uint64_t quota;
	const char *software;
	struct packet_folder_counters counters;
};

struct packet_file {
	struct packet_folder *folder;
	uint64_t newest_ns;
	unsigned packets;
	bool failed; // no memory, or too long
	size_t used, room;
	uint8_t *bytes;
};

// Blocks

static bool reserve(struct packet_file *file, size_t more)
{
	size_t room = file->room ? file->room : 16384;

	if (file->failed)
		return false;
	while (room - file->used < more && room <= FILE_BYTES_MAX)
		room *= 2;
	if (room > FILE_BYTES_MAX) {
		file->failed = true;
		return false;
	}
	uint8_t *bytes = room == file->room ? file->bytes : realloc(file->bytes, room);
	if (!bytes) {
		file->failed = true;
		return false;
	}
	file->bytes = bytes;
	file->room = room;
	return true;
}

// Padded to four bytes.
static void put(struct packet_file *file, const void *bytes, size_t length)
{
	size_t padded = (length + 3) & ~(size_t)3;

	if (!reserve(file, padded))
		return;
	memset(file->bytes + file->used, 0, padded);
	if (length)
		memcpy(file->bytes + file->used, bytes, length);
	file->used += padded;
}

static void put32(struct packet_file *file, uint32_t value)
{
	put(file, &value, sizeof(value)); // in the machine's order, as SECTION_MAGIC says
}

static void put_option(struct packet_file *file, uint16_t code, const void *value, size_t length)
{
	const uint16_t head[2] = {code, (uint16_t)length};

	put(file, head, sizeof(head));
	put(file, value, length);
}

static void put_text(struct packet_file *file, uint16_t code, const char *text)
{
	size_t length = text ? strnlen(text, UINT16_MAX) : 0;

	if (length)
		put_option(file, code, text, length);
}

static size_t block_begin(struct packet_file *file, uint32_t type)
{
	size_t at = file->used;

	put32(file, type);
	put32(file, 0);
	return at;
}

static void block_end(struct packet_file *file, size_t at)
{
	put_option(file, 0, NULL, 0);

	uint32_t length = (uint32_t)(file->used - at + sizeof(length));

	put32(file, length);
	if (!file->failed)
		memcpy(file->bytes + at + sizeof(length), &length, sizeof(length));
}

struct packet_file *packet_file_begin(
	struct packet_folder *folder, const char *comment, uint16_t link_type)
{
	struct packet_file *file = calloc(1, sizeof(*file));
	const uint8_t nanoseconds = 9;

	if (!file) {
		folder->counters.errors++;
		folder->counters.error = ENOMEM;
		return NULL;
	}
	file->folder = folder;
	size_t at = block_begin(file, BLOCK_SECTION);
	put32(file, SECTION_MAGIC);
	put32(file, 1); // version 1.0
	put32(file, UINT32_MAX);
	put32(file, UINT32_MAX); // the section's length is not told
	put_text(file, OPTION_COMMENT, comment);
	put_text(file, OPTION_SOFTWARE, folder->software);
	block_end(file, at);
	at = block_begin(file, BLOCK_INTERFACE);
	put32(file, link_type);
	put32(file, 0); // no snap length
	put_option(file, OPTION_TSRESOL, &nanoseconds, sizeof(nanoseconds));
	block_end(file, at);
	return file;
}

void packet_file_add(struct packet_file *file, uint64_t at_ns, const void *frame, uint32_t length,
	uint32_t wire_bytes, const char *comment)
{
	size_t at = block_begin(file, BLOCK_PACKET);

	put32(file, 0); // the only interface
	put32(file, (uint32_t)(at_ns >> 32));
	put32(file, (uint32_t)at_ns);
	put32(file, length);
	put32(file, wire_bytes);
	put(file, frame, length);
	put_text(file, OPTION_COMMENT, comment);
	block_end(file, at);
	file->packets++;
	if (at_ns > file->newest_ns)
		file->newest_ns = at_ns;
}

void packet_file_drop(struct packet_file *file)
{
	if (!file)
		return;
	free(file->bytes);
	free(file);
}

// The folder

static bool is_ours(const char *name)
{
	size_t length = strlen(name);
	const char *at = name + DATE_LENGTH;

	if (length <= DATE_LENGTH + strlen(SUFFIX) || length >= 64 || name[8] != 'T' ||
		name[DATE_LENGTH - 1] != 'Z' || *at++ != '-' ||
		strcmp(name + length - strlen(SUFFIX), SUFFIX) != 0)
		return false;
	for (unsigned i = 0; i < DATE_LENGTH - 1; i++)
		if (i != 8 && (name[i] < '0' || name[i] > '9'))
			return false;
	return true;
}

// What the folder has: the sum of its files, and the oldest one's name.
static int look_around(const struct packet_folder *folder, uint64_t *bytes, char oldest[64])
{
	int fd = openat(folder->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;
	struct stat st;

	*bytes = 0;
	oldest[0] = '\0';
	if (!dir) {
		int rc = -errno;

		if (fd >= 0)
			close(fd);
		return rc;
	}
	while ((entry = readdir(dir))) {
		if (!is_ours(entry->d_name) ||
			fstatat(folder->fd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) ||
			!S_ISREG(st.st_mode))
			continue;
		*bytes += (uint64_t)st.st_size;
		if (!*oldest || strcmp(entry->d_name, oldest) < 0)
			snprintf(oldest, 64, "%.63s", entry->d_name);
	}
	closedir(dir);
	return 0;
}

int packet_folder_open(const char *path, uint64_t bytes, const char *software,
	struct packet_folder **out, char *err, size_t err_len)
{
	struct packet_folder *folder = calloc(1, sizeof(*folder));
	char oldest[64];
	int rc = -ENOMEM;

	if (folder) {
		*folder = (struct packet_folder){.quota = bytes, .software = software};
		(void)mkdir(path, 0750); // else opening says what is wrong
		folder->fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		rc = folder->fd < 0 ? -errno
				    : look_around(folder, &folder->counters.used_bytes, oldest);
	}
	if (rc < 0) {
		snprintf(err, err_len, "%s: the folder for evidence cannot be used: %s", path,
			strerror(-rc));
		packet_folder_close(folder);
		return rc;
	}
	*out = folder;
	return 0;
}

void packet_folder_close(struct packet_folder *folder)
{
	if (!folder)
		return;
	if (folder->fd >= 0)
		close(folder->fd);
	free(folder);
}

void packet_folder_look(const struct packet_folder *folder, struct packet_folder_counters *out)
{
	*out = folder->counters;
}

static int make_room(struct packet_folder *folder, uint64_t bytes)
{
	struct packet_folder_counters *counters = &folder->counters;
	char oldest[64];

	if (!folder->quota || counters->used_bytes + bytes <= folder->quota)
		return 0;
	if (bytes > folder->quota)
		return -EFBIG;
	for (;;) { // somebody else may have removed some
		int rc = look_around(folder, &counters->used_bytes, oldest);

		if (rc < 0 || counters->used_bytes + bytes <= folder->quota)
			return rc;
		if (!*oldest || unlinkat(folder->fd, oldest, 0))
			return -ENOSPC;
		counters->removed++;
	}
}

static int create(const struct packet_folder *folder, const struct packet_file *file,
	uint64_t flow_id, char name[64])
{
	time_t seconds = (time_t)(file->newest_ns / 1000000000);
	char date[DATE_LENGTH + 1];
	int fd = -1;
	struct tm tm;

	gmtime_r(&seconds, &tm);
	strftime(date, sizeof(date), "%Y%m%dT%H%M%SZ", &tm);
	for (unsigned n = 1; n < SAME_NAME_MAX && fd < 0; n++) {
		char again[16] = "";

		if (n > 1)
			snprintf(again, sizeof(again), "-%u", n);
		snprintf(name, 64, "%s-%" PRIu64 "%s" SUFFIX, date, flow_id, again);
		fd = openat(folder->fd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
			0640);
		if (fd < 0 && errno != EEXIST)
			break;
	}
	return fd < 0 ? -errno : fd;
}

static int write_all(int fd, const uint8_t *bytes, size_t length)
{
	for (size_t at = 0; at < length;) {
		ssize_t n = write(fd, bytes + at, length - at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? -errno : -ENOSPC;
		at += (size_t)n;
	}
	return 0;
}

static int store(struct packet_file *file, uint64_t flow_id, char name[64])
{
	struct packet_folder *folder = file->folder;
	int rc = file->failed ? -ENOMEM : make_room(folder, file->used);
	int fd = rc < 0 ? rc : create(folder, file, flow_id, name);

	if (fd < 0)
		return fd;
	rc = write_all(fd, file->bytes, file->used);
	if (close(fd) && !rc)
		rc = -errno;
	if (rc < 0)
		(void)unlinkat(folder->fd, name, 0);
	return rc;
}

void packet_file_end(struct packet_file *file, uint64_t flow_id, struct packet_file_result *result)
{
	struct packet_folder_counters *counters = &file->folder->counters;
	struct file_digests digests = {0};
	struct file_digest *digest = file_digest_new();

	*result = (struct packet_file_result){.packets = file->packets, .bytes = file->used};
	int rc = store(file, flow_id, result->name);
	result->error = -rc;
	if (rc < 0) {
		result->name[0] = '\0';
		counters->errors++;
		counters->error = -rc;
	} else {
		counters->written++;
		counters->used_bytes += file->used;
	}
	if (digest && !file->failed) {
		file_digest_add(digest, file->bytes, file->used);
		file_digest_end(digest, &digests);
		memcpy(result->sha256, digests.sha256, sizeof(result->sha256));
	}
	if (digest)
		file_digest_free(digest);
	packet_file_drop(file);
}
