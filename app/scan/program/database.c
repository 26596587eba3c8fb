// SPDX-License-Identifier: BSD-3-Clause
// Lists a folder of signatures, and makes its digest.
#include "scan/program/database.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

// libclamav loads files by these endings, and passes over others.
static const struct {
	const char *ending;
	bool lines;   // text, a signature a line
	bool detects; // not only a list of what is no finding, or of settings
} endings[] = {
	{".cvd", false, true},
	{".cld", false, true},
	{".cud", false, true},
	{".cbc", false, true},
	{".db", true, true},
	{".hdb", true, true},
	{".hdu", true, true},
	{".hsb", true, true},
	{".hsu", true, true},
	{".mdb", true, true},
	{".mdu", true, true},
	{".msb", true, true},
	{".msu", true, true},
	{".ndb", true, true},
	{".ndu", true, true},
	{".ldb", true, true},
	{".ldu", true, true},
	{".sdb", true, true},
	{".zmd", true, true},
	{".rmd", true, true},
	{".cdb", true, true},
	{".idb", true, true},
	{".pdb", true, true},
	{".gdb", true, true},
	{".imp", true, true},
	{".ioc", true, true},
	{".yar", true, true},
	{".yara", true, true},
	{".wdb", true, false},
	{".fp", true, false},
	{".sfp", true, false},
	{".ign", true, false},
	{".ign2", true, false},
	{".ftm", true, false},
	{".cfg", true, false},
	{".crb", true, false},
	{".cat", true, false},
	{".pwdb", true, false},
	{".info", true, false},
};
#define N_ENDINGS (sizeof(endings) / sizeof(endings[0]))

static size_t ending_of(const char *name)
{
	const char *dot = strrchr(name, '.');
	size_t i = 0;

	while (i < N_ENDINGS && (!dot || strcmp(dot, endings[i].ending) != 0))
		i++;
	return i;
}

static int by_name(const void *a, const void *b)
{
	const struct scan_database_file *one = a, *other = b;

	return strcmp(one->name, other->name);
}

static int failed(
	const char *folder, const char *name, const char *what, int rc, char *err, size_t len)
{
	snprintf(err, len, "%s%s%s: %s", folder, name ? "/" : "", name ? name : "", what);
	return rc;
}

static int ends_with_line(int fd, off_t bytes)
{
	char last;

	return !bytes || (pread(fd, &last, 1, bytes - 1) == 1 && last == '\n');
}

static int take(struct scan_database *database, int folder_fd, const char *folder, const char *name,
	char *err, size_t len)
{
	size_t ending = ending_of(name);
	struct stat st;

	if (ending == N_ENDINGS || strlen(name) >= sizeof(database->files[0].name))
		return 0;
	int fd = openat(folder_fd, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	if (fd < 0)
		return failed(folder, name, strerror(errno), -errno, err, len);
	int rc = fstat(fd, &st) ? -errno : 0;

	if (!rc && S_ISREG(st.st_mode)) {
		if (database->n == SCAN_DATABASE_FILES_MAX)
			rc = failed(folder, NULL, "more than 1024 files", -E2BIG, err, len);
		else if (endings[ending].lines && !ends_with_line(fd, st.st_size))
			rc = failed(folder, name,
				"it ends within a line: it is still being written (or end its last "
				"line)",
				-EAGAIN, err, len);
		else {
			struct scan_database_file *file = &database->files[database->n++];

			snprintf(file->name, sizeof(file->name), "%s", name);
			file->bytes = (uint64_t)st.st_size;
			file->inode = st.st_ino;
			file->mtime_ns = (uint64_t)st.st_mtim.tv_sec * 1000000000u +
					 (uint64_t)st.st_mtim.tv_nsec;
			database->detecting += endings[ending].detects && st.st_size;
		}
	} else if (rc)
		failed(folder, name, strerror(-rc), rc, err, len);
	close(fd);
	return rc;
}

int scan_database_list(struct scan_database *database, const char *folder, char *err, size_t len)
{
	DIR *dir = opendir(folder);
	int rc = 0;

	memset(database, 0, sizeof(*database));
	if (!dir)
		return failed(folder, NULL, strerror(errno), -errno, err, len);
	for (const struct dirent *entry; !rc && (entry = readdir(dir));)
		rc = take(database, dirfd(dir), folder, entry->d_name, err, len);
	closedir(dir);
	qsort(database->files, database->n, sizeof(database->files[0]), by_name);
	return rc;
}

static uint64_t mixed(uint64_t hash, const void *bytes, size_t n)
{
	for (size_t i = 0; i < n; i++)
		hash = (hash ^ ((const uint8_t *)bytes)[i]) * 1099511628211ull; // FNV-1a
	return hash;
}

// A sum over the files, so that their order is nothing.
uint64_t scan_database_mark(const char *folder)
{
	const uint64_t begin = 14695981039346656037ull;
	DIR *dir = opendir(folder);
	uint64_t mark = dir ? 0 : mixed(begin, &errno, sizeof(errno));

	for (const struct dirent *entry; dir && (entry = readdir(dir));) {
		struct stat st;

		if (ending_of(entry->d_name) == N_ENDINGS ||
			fstatat(dirfd(dir), entry->d_name, &st, 0))
			continue;
		const uint64_t numbers[] = {(uint64_t)st.st_size, (uint64_t)st.st_ino, st.st_mode,
			(uint64_t)st.st_mtim.tv_sec, (uint64_t)st.st_mtim.tv_nsec};

		mark += mixed(mixed(begin, entry->d_name, strlen(entry->d_name) + 1), numbers,
			sizeof(numbers));
	}
	if (dir)
		closedir(dir);
	return mark;
}

bool scan_database_same(const struct scan_database *a, const struct scan_database *b)
{
	return a->n == b->n && !memcmp(a->files, b->files, a->n * sizeof(a->files[0]));
}

uint64_t scan_database_time_s(const struct scan_database *database)
{
	uint64_t newest = 0;

	for (unsigned i = 0; i < database->n; i++)
		if (database->files[i].mtime_ns > newest)
			newest = database->files[i].mtime_ns;
	return newest / 1000000000u;
}

static int digest_file(EVP_MD_CTX *sum, const char *folder, const struct scan_database_file *file)
{
	static uint8_t part[1 << 16];
	char path[4096];
	ssize_t n;

	snprintf(path, sizeof(path), "%s/%s", folder, file->name);
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	// The name with its end and the length keep two folders apart that differ in where a file
	// ends.
	int rc = EVP_DigestUpdate(sum, file->name, strlen(file->name) + 1) &&
				 EVP_DigestUpdate(sum, &file->bytes, sizeof(file->bytes))
			 ? 0
			 : -EIO;

	while (!rc && (n = read(fd, part, sizeof(part))) != 0) {
		if (n < 0)
			rc = -errno;
		else if (!EVP_DigestUpdate(sum, part, (size_t)n))
			rc = -EIO;
	}
	close(fd);
	return rc;
}

int scan_database_digest(const struct scan_database *database, const char *folder,
	const void *options, size_t n_options, uint8_t out[32], char *err, size_t len)
{
	EVP_MD_CTX *sum = EVP_MD_CTX_new();
	int rc = sum && EVP_DigestInit_ex(sum, EVP_sha256(), NULL) &&
				 EVP_DigestUpdate(sum, options, n_options)
			 ? 0
			 : -ENOMEM;

	for (unsigned i = 0; i < database->n && !rc; i++)
		rc = digest_file(sum, folder, &database->files[i]);
	if (!rc && !EVP_DigestFinal_ex(sum, out, NULL))
		rc = -EIO;
	EVP_MD_CTX_free(sum);
	if (rc)
		failed(folder, NULL, strerror(-rc), rc, err, len);
	return rc;
}
