// SPDX-License-Identifier: BSD-3-Clause
// Writes packets to a pcap file.
#include "replay/capture.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BUFFER_BYTES    (1u << 20)
#define MAGIC_MICRO     0xa1b2c3d4u
#define MAGIC_NANO      0xa1b23c4du
#define VERSION_MAJOR   2u
#define VERSION_MINOR   4u
#define FILE_HEAD_BYTES 24u
#define REC_HEAD_BYTES  16u

struct capture_writer {
	int fd;
	int broken; // first -errno
	bool nano;
	uint16_t linktype;
	struct capture_writer_counters counters;
	char *path;
	size_t used;
	uint8_t buffer[BUFFER_BYTES];
};

static void put16(uint8_t *p, uint16_t v)
{
	p[0] = (uint8_t)v;
	p[1] = (uint8_t)(v >> 8);
}

static void put32(uint8_t *p, uint32_t v)
{
	put16(p, (uint16_t)v);
	put16(p + 2, (uint16_t)(v >> 16));
}

static void flush(struct capture_writer *writer)
{
	size_t at = 0;

	while (!writer->broken && at < writer->used) {
		ssize_t n = write(writer->fd, writer->buffer + at, writer->used - at);

		if (n > 0)
			at += (size_t)n;
		else if (n == 0 || errno != EINTR)
			writer->broken = n == 0 ? -EIO : -errno;
	}
	writer->used = 0;
}

// Every piece is smaller than the buffer: a record is at most a quarter of it.
static void append(struct capture_writer *writer, const void *bytes, size_t len)
{
	if (len > sizeof writer->buffer - writer->used)
		flush(writer);
	if (len > 0)
		memcpy(writer->buffer + writer->used, bytes, len);
	writer->used += len;
}

int capture_writer_open(const char *path, uint16_t linktype, bool nano, struct capture_writer **out,
	char *err, size_t err_len)
{
	struct capture_writer *writer = calloc(1, sizeof *writer);
	uint8_t head[FILE_HEAD_BYTES] = {0};
	int rc = -ENOMEM;

	*out = NULL;
	if (!writer)
		goto fail;
	writer->nano = nano;
	writer->linktype = linktype;
	writer->path = strdup(path);
	if (!writer->path)
		goto fail;
	writer->fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (writer->fd < 0) {
		rc = -errno;
		goto fail;
	}
	put32(head, nano ? MAGIC_NANO : MAGIC_MICRO);
	put16(head + 4, VERSION_MAJOR);
	put16(head + 6, VERSION_MINOR);
	put32(head + 16, CAPTURE_RECORD_MAX_BYTES);
	put32(head + 20, linktype);
	append(writer, head, sizeof head);
	*out = writer;
	return 0;
fail:
	snprintf(err, err_len, "%.300s: cannot create: %s", path, strerror(-rc));
	if (writer)
		free(writer->path);
	free(writer);
	return rc;
}

int capture_writer_write(struct capture_writer *writer, const struct capture_record *rec)
{
	uint32_t caplen = rec->caplen;
	uint64_t s = rec->ts_ns / 1000000000u;
	uint32_t ns = (uint32_t)(rec->ts_ns % 1000000000u);
	uint8_t head[REC_HEAD_BYTES];

	if (writer->broken)
		return writer->broken;
	if (rec->linktype != writer->linktype) {
		writer->counters.other_linktype++;
		return 0;
	}
	if (caplen > CAPTURE_RECORD_MAX_BYTES) {
		caplen = CAPTURE_RECORD_MAX_BYTES;
		writer->counters.cut++;
	}
	put32(head, s > UINT32_MAX ? UINT32_MAX : (uint32_t)s);
	put32(head + 4, writer->nano ? ns : ns / 1000);
	put32(head + 8, caplen);
	put32(head + 12, rec->len);
	append(writer, head, sizeof head);
	append(writer, rec->bytes, caplen);
	writer->counters.records++;
	return writer->broken;
}

void capture_writer_counters_get(
	const struct capture_writer *writer, struct capture_writer_counters *out)
{
	*out = writer->counters;
}

int capture_writer_close(struct capture_writer *writer, char *err, size_t err_len)
{
	int rc;

	if (!writer)
		return 0;
	flush(writer);
	// Network file systems report a full disk only here.
	if (close(writer->fd) < 0 && !writer->broken)
		writer->broken = -errno;
	rc = writer->broken;
	if (rc < 0)
		snprintf(err, err_len, "%.300s: cannot write: %s", writer->path, strerror(-rc));
	free(writer->path);
	free(writer);
	return rc;
}
