// SPDX-License-Identifier: BSD-3-Clause
// From bytes to a JSON tree: files, syntax, duplicate keys.
#include "config/json_strict.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int file_error(const char *file, struct config_errors *errors, int err)
{
	const char *way_out = "";

	switch (err) {
	case ENOENT: way_out = "; check the path"; break;
	case EACCES:
		way_out = "; let this user read it (a gateway in its sandbox reads only the "
			  "folders of its gateway.json, policy and signatures)";
		break;
	case EISDIR: way_out = "; name the file in it"; break;
	}
	config_error_add(errors, file, "", "cannot read: %s%s", strerror(err), way_out);
	return -err;
}

static int open_regular(const char *file, struct config_errors *errors)
{
	struct stat st;
	// Without O_NONBLOCK a named pipe would stop the control core for ever.
	int fd = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	if (fd < 0)
		return file_error(file, errors, errno);
	if (fstat(fd, &st) < 0) {
		int err = errno;

		close(fd);
		return file_error(file, errors, err);
	}
	if (S_ISREG(st.st_mode))
		return fd;
	close(fd);
	if (S_ISDIR(st.st_mode))
		return file_error(file, errors, EISDIR);
	config_error_add(errors, file, "", "cannot read: not a regular file");
	return -ENODEV;
}

// The whole file, to free().
static int read_all(const char *file, char **out, size_t *len, struct config_errors *errors)
{
	size_t size = 0, used = 0;
	char *text = NULL;
	int fd = open_regular(file, errors), rc = 0;

	if (fd < 0)
		return fd;
	for (;;) {
		ssize_t n;

		if (used == size) { // it may grow while we read: do not trust its size
			char *grown = realloc(text, size ? size * 2 : 65536);

			if (!grown) {
				rc = file_error(file, errors, ENOMEM);
				break;
			}
			text = grown;
			size = size ? size * 2 : 65536;
		}
		n = read(fd, text + used, size - used);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			rc = file_error(file, errors, errno);
		if (n <= 0)
			break;
		used += (size_t)n;
		if (used > JSON_FILE_MAX) {
			config_error_add(errors, file, "", "longer than %u MiB: refused",
				JSON_FILE_MAX >> 20);
			rc = -EFBIG;
			break;
		}
	}
	close(fd);
	if (rc < 0) {
		free(text);
		return rc;
	}
	*out = text;
	*len = used;
	return 0;
}

static bool is_blank(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (!strchr(" \t\r\n", text[i]) || !text[i])
			return false;
	return true;
}

int json_doc_parse(struct json_doc *doc, const char *text, size_t len, const char *file,
	struct config_errors *errors)
{
	json_error_t error;

	*doc = (struct json_doc){.file = file, .errors = errors};
	if (is_blank(text, len)) {
		config_error_add(errors, file, "", "empty: a JSON object is expected");
		return -EINVAL;
	}
	doc->root = json_loadb(text, len, JSON_REJECT_DUPLICATES, &error);
	if (!doc->root && json_error_code(&error) == json_error_duplicate_key) {
		// Told with its place; then read on, so that the other errors are reported as well.
		config_error_add(errors, file, "", "line %d, column %d: %s: keep one of them",
			error.line, error.column, error.text);
		doc->root = json_loadb(text, len, 0, &error);
	}
	if (doc->root)
		return 0;
	if (!error.text[0]) // jansson says nothing of this one
		return file_error(file, errors, ENOMEM);
	config_error_add(errors, file, "", "line %d, column %d: not JSON: %s", error.line,
		error.column, error.text);
	return -EINVAL;
}

int json_doc_read(struct json_doc *doc, const char *file, struct config_errors *errors)
{
	char *text;
	size_t len;
	int rc;

	*doc = (struct json_doc){.file = file, .errors = errors};
	rc = read_all(file, &text, &len, errors);
	if (rc < 0)
		return rc;
	rc = json_doc_parse(doc, text, len, file, errors);
	free(text);
	return rc;
}

void json_doc_free(struct json_doc *doc)
{
	json_decref(doc->root);
	doc->root = NULL;
}
