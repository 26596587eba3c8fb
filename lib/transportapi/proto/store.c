// SPDX-License-Identifier: BSD-3-Clause
// The file, numbers in network order:
//
//   "transportapi peers 1\n"
//   records  u16 size of the HELO | u64 validated_us | the HELO, as on the wire | u32 CRC-32
//   end      u16 0                | u64 how many records there are            | u32 CRC-32
//
// A CRC-32 (zlib's) is of all that stands before it but for other CRCs: a record that was moved or
// taken out is damage, too.
#include "transportapi/proto/store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "transportapi/base/atomic_file.h"
#include "transportapi/base/wire.h"

#define HEAD             "transportapi peers 1\n"
#define HEAD_BYTES       (sizeof(HEAD) - 1)
#define RECORD_BYTES     10u // before the HELO
#define CRC_BYTES        4u
#define RECORD_BYTES_MAX (RECORD_BYTES + TAPI_HELO_BYTES_MAX)

struct reader {
	FILE *in;
	uint32_t crc;
	uint64_t at; // octets read
};

// All of `length` octets, into the checksum too.
static bool get(struct reader *reader, uint8_t *out, size_t length)
{
	if (fread(out, 1, length, reader->in) != length)
		return false;
	reader->crc = (uint32_t)crc32(reader->crc, out, (uInt)length);
	reader->at += length;
	return true;
}

static bool get_crc(struct reader *reader)
{
	uint32_t crc = reader->crc;
	uint8_t octets[CRC_BYTES];
	bool good = get(reader, octets, sizeof(octets)) && tapi_get32(octets) == crc;

	reader->crc = crc;
	return good;
}

enum found {
	FOUND_RECORD,
	FOUND_END,
	FOUND_DAMAGE,
};

static enum found get_record(struct reader *reader, unsigned count, struct tapi_store_record *out)
{
	uint8_t head[RECORD_BYTES], helo[TAPI_HELO_BYTES_MAX];
	size_t size, used;

	if (!get(reader, head, sizeof(head)))
		return FOUND_DAMAGE;
	size = tapi_get16(head);
	out->validated_us = tapi_get64(head + 2);
	if (!size) {
		bool whole =
			get_crc(reader) && out->validated_us == count && fgetc(reader->in) == EOF;

		return whole ? FOUND_END : FOUND_DAMAGE;
	}
	if (size > sizeof(helo) || !get(reader, helo, size) || !get_crc(reader))
		return FOUND_DAMAGE;
	if (tapi_helo_decode(&out->helo, helo, size, &used) != TAPI_OK || used != size)
		return FOUND_DAMAGE;
	return FOUND_RECORD;
}

static enum tapi_result read_records(FILE *in, const char *path, unsigned most,
	void (*each)(void *context, const struct tapi_store_record *record), void *context,
	struct tapi_error *error)
{
	struct reader reader = {.in = in, .crc = (uint32_t)crc32(0, NULL, 0)};
	uint8_t head[HEAD_BYTES];

	if (!get(&reader, head, sizeof(head)) || memcmp(head, HEAD, sizeof(head)) != 0) {
		tapi_error_format(
			error, "%s: holds no peers: it was not written by this, or is cut", path);
		return TAPI_EFORMAT;
	}
	for (unsigned count = 0; count < most; count++) {
		struct tapi_store_record record;
		uint64_t begin = reader.at;
		enum found found = get_record(&reader, count, &record);

		if (found == FOUND_END)
			return TAPI_OK;
		if (found == FOUND_DAMAGE) {
			tapi_error_format(error,
				"%s: damaged from octet %llu on: %u peers before it were read, the "
				"others are forgotten",
				path, (unsigned long long)begin, count);
			return TAPI_EFORMAT;
		}
		each(context, &record);
	}
	return TAPI_OK;
}

enum tapi_result tapi_store_read(const char *path, unsigned most,
	void (*each)(void *context, const struct tapi_store_record *record), void *context,
	struct tapi_error *error)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	enum tapi_result result;
	struct stat st;
	FILE *in;

	if (fd < 0 && errno == ENOENT)
		return TAPI_OK;
	if (fd < 0) {
		tapi_error_format(error, "%s: cannot be read: %s", path, strerror(errno));
		return TAPI_ESYS;
	}
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
		tapi_error_format(error, "%s: is no regular file", path);
		close(fd);
		return TAPI_ESYS;
	}
	in = fdopen(fd, "r");
	if (!in) {
		tapi_error_format(error, "%s: out of memory", path);
		close(fd);
		return TAPI_ENOMEM;
	}
	result = read_records(in, path, most, each, context, error);
	fclose(in);
	return result;
}

struct tapi_store_writer {
	FILE *out;
	char *path, *fresh; // fresh takes the place of path
	uint64_t count;
	uint32_t crc;
};

static void put(struct tapi_store_writer *writer, const uint8_t *octets, size_t length)
{
	fwrite(octets, 1, length, writer->out); // commit asks ferror()
	writer->crc = (uint32_t)crc32(writer->crc, octets, (uInt)length);
}

static void put_crc(struct tapi_store_writer *writer)
{
	uint8_t octets[CRC_BYTES];

	tapi_put32(octets, writer->crc);
	fwrite(octets, 1, sizeof(octets), writer->out);
}

static void writer_free(struct tapi_store_writer *writer)
{
	if (writer->out)
		fclose(writer->out);
	free(writer->path);
	free(writer->fresh);
	free(writer);
}

enum tapi_result tapi_store_begin(
	struct tapi_store_writer **out, const char *path, struct tapi_error *error)
{
	struct tapi_store_writer *writer = calloc(1, sizeof(*writer));
	int fd;

	*out = NULL;
	if (writer)
		writer->path = strdup(path);
	if (!writer || !writer->path || asprintf(&writer->fresh, "%s.new", path) < 0) {
		tapi_error_format(error, "%s: out of memory", path);
		if (writer) {
			writer->fresh = NULL;
			writer_free(writer);
		}
		return TAPI_ENOMEM;
	}
	// what a crash left; O_EXCL then follows no link that somebody put there
	unlink(writer->fresh);
	fd = open(writer->fresh, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd >= 0 && fchmod(fd, 0600) == 0)
		writer->out = fdopen(fd, "w");
	if (!writer->out) {
		tapi_error_format(
			error, "%s: cannot be written: %s", writer->fresh, strerror(errno));
		if (fd >= 0) {
			close(fd);
			unlink(writer->fresh);
		}
		writer_free(writer);
		return TAPI_ESYS;
	}
	writer->crc = (uint32_t)crc32(0, NULL, 0);
	put(writer, (const uint8_t *)HEAD, HEAD_BYTES);
	*out = writer;
	return TAPI_OK;
}

enum tapi_result tapi_store_add(
	struct tapi_store_writer *writer, const struct tapi_store_record *record)
{
	uint8_t octets[RECORD_BYTES_MAX];
	size_t size = tapi_helo_encode(&record->helo, octets + RECORD_BYTES, TAPI_HELO_BYTES_MAX);

	if (!size)
		return TAPI_EFORMAT;
	tapi_put64(tapi_put16(octets, (uint16_t)size), record->validated_us);
	put(writer, octets, RECORD_BYTES + size);
	put_crc(writer);
	writer->count++;
	return ferror(writer->out) ? TAPI_ESYS : TAPI_OK;
}

enum tapi_result tapi_store_commit(struct tapi_store_writer *writer, struct tapi_error *error)
{
	uint8_t end[RECORD_BYTES];
	bool good;

	tapi_put64(tapi_put16(end, 0), writer->count);
	put(writer, end, sizeof(end));
	put_crc(writer);
	errno = EIO; // where ferror() alone remembers it
	good = !ferror(writer->out) && fflush(writer->out) == 0 && fsync(fileno(writer->out)) == 0;
	if (good)
		good = rename(writer->fresh, writer->path) == 0;
	if (good) {
		tapi_atomic_file_sync(writer->path);
	} else {
		tapi_error_format(error, "%s: cannot be written: %s; what was there stays",
			writer->path, strerror(errno));
		unlink(writer->fresh);
	}
	writer_free(writer);
	return good ? TAPI_OK : TAPI_ESYS;
}
