// SPDX-License-Identifier: BSD-3-Clause
// Finds the files of an audit log, puts them in order and gives them to the chain.
#include "audit/verify.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define READ_BYTES (64 * 1024)

struct found {
	char *path;
	uint64_t seq; // of its first line; UINT64_MAX: unknown, which is found last
};

struct finds {
	struct found *files;
	unsigned n, room;
};

static int open_file(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
		return fd;
	close(fd);
	return -EINVAL;
}

// The number of the first line, as far as its frame can be read.
static uint64_t first_seq(const char *path)
{
	char line[AUDIT_FRAME_MAX] = "";
	struct audit_frame frame;
	int fd = open_file(path);

	if (fd < 0)
		return UINT64_MAX;
	ssize_t n = read(fd, line, sizeof(line) - 1);
	close(fd);
	char *quote = n > 0 ? memchr(line, '"', (size_t)n) : NULL;
	for (unsigned i = 0; quote && i < 5; i++) // of "seq", "prev", and of the hash
		quote = strchr(quote + 1, '"');
	if (!quote)
		return UINT64_MAX;
	quote[1] = '}';
	return audit_frame_read(line, (size_t)(quote + 2 - line), &frame) ? UINT64_MAX : frame.seq;
}

static int add(struct finds *finds, const char *folder, const char *name)
{
	if (finds->n == finds->room) {
		unsigned room = finds->room ? 2 * finds->room : 16;
		struct found *more = realloc(finds->files, room * sizeof(*more));
		if (!more)
			return -ENOMEM;
		finds->files = more;
		finds->room = room;
	}
	struct found *file = &finds->files[finds->n];
	if (asprintf(&file->path, "%s%s%s", folder ? folder : "", folder ? "/" : "", name) < 0)
		return -ENOMEM;
	file->seq = first_seq(file->path);
	finds->n++;
	return 0;
}

static bool is_log_name(const char *name)
{
	static const char log[] = "audit.log";
	size_t n = sizeof(log) - 1;

	if (strncmp(name, log, n) != 0)
		return false;
	return !name[n] ||
	       (name[n] == '.' && name[n + 1] && !name[n + 1 + strspn(name + n + 1, "0123456789")]);
}

static int add_folder(struct finds *finds, const char *path, DIR *folder)
{
	struct dirent *entry;
	unsigned before = finds->n;
	int rc = 0;

	while (rc == 0 && (entry = readdir(folder)))
		if (is_log_name(entry->d_name))
			rc = add(finds, path, entry->d_name);
	return rc == 0 && finds->n == before ? -ENOENT : rc;
}

static int by_seq(const void *a, const void *b)
{
	const struct found *one = a, *other = b;

	if (one->seq != other->seq)
		return one->seq < other->seq ? -1 : 1;
	return strcmp(one->path, other->path);
}

static int feed_file(struct audit_chain *chain, const char *path)
{
	char bytes[READ_BYTES];
	int fd = open_file(path);
	ssize_t n = 0;

	if (fd < 0)
		return fd;
	audit_chain_file(chain, path);
	while ((n = read(fd, bytes, sizeof(bytes))) > 0 || (n < 0 && errno == EINTR))
		if (n > 0)
			audit_chain_feed(chain, bytes, (size_t)n);
	int rc = n < 0 ? -errno : 0;
	close(fd);
	audit_chain_file_end(chain);
	return rc;
}

static void say(char *err, size_t err_len, const char *path, int rc)
{
	snprintf(err, err_len, "%s: %s", path,
		rc == -EINVAL ? "it is neither a file nor a folder" : strerror(-rc));
}

static int find(struct finds *finds, const char *path, char *err, size_t err_len)
{
	DIR *folder = opendir(path);
	int rc;

	if (folder) {
		rc = add_folder(finds, path, folder);
		closedir(folder);
		if (rc == -ENOENT) {
			snprintf(err, err_len, "%s: there is no audit.log in this folder", path);
			return rc;
		}
	} else {
		rc = errno == ENOTDIR ? add(finds, NULL, path) : -errno;
	}
	if (rc < 0)
		say(err, err_len, path, rc);
	return rc;
}

int audit_verify(
	char *const *paths, unsigned n_paths, struct audit_chain *chain, char *err, size_t err_len)
{
	struct finds finds = {0};
	int rc = 0;

	for (unsigned i = 0; i < n_paths && rc == 0; i++)
		rc = find(&finds, paths[i], err, err_len);
	if (rc == 0 && finds.n)
		qsort(finds.files, finds.n, sizeof(*finds.files), by_seq);
	for (unsigned i = 0; i < finds.n && rc == 0; i++) {
		rc = feed_file(chain, finds.files[i].path);
		if (rc < 0)
			say(err, err_len, finds.files[i].path, rc);
	}
	for (unsigned i = 0; i < finds.n; i++)
		free(finds.files[i].path);
	free(finds.files);
	return rc;
}
