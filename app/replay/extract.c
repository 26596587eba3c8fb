// SPDX-License-Identifier: BSD-3-Clause
// Files out of captures.
#include "replay/extract.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <openssl/evp.h>
#include "base/address_text.h"
#include "classify/app_proto.h"
#include "pipeline/content/record.h"
#include "pipeline/vocab/sizes.h"

#define SHA256_BYTES 32
#define BUCKETS      1024 // of open files

struct file {
	struct file *next;
	uint64_t number;
	unsigned lcore;
	int fd; // -1: its bytes are elsewhere
	char temporary[32];
	char *name;
	char app[32];
	char flow[2 * ADDRESS_TEXT_BYTES + 16];
	uint64_t from; // offset in the file of the first byte that came
};

struct extract {
	int folder;
	FILE *rows;
	const char *capture;
	struct file *open[BUCKETS];
	uint64_t n;
	int error;
	const char *why;
};

static void failed(struct extract *extract, int error, const char *why)
{
	if (extract->error)
		return;
	extract->error = error;
	extract->why = why;
}

struct extract *extract_new(const char *folder, char *err, size_t err_len)
{
	struct extract *extract = calloc(1, sizeof *extract);
	int rows = -1;

	if (!extract) {
		snprintf(err, err_len, "no memory");
		return NULL;
	}
	if (mkdir(folder, 0750) < 0 && errno != EEXIST)
		goto failed;
	extract->folder = open(folder, O_DIRECTORY | O_RDONLY | O_CLOEXEC);
	if (extract->folder < 0)
		goto failed;
	rows = openat(extract->folder, "files.csv", O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0640);
	if (rows < 0)
		goto failed;
	extract->rows = fdopen(rows, "w");
	if (!extract->rows)
		goto failed;
	fprintf(extract->rows, "pcap,flow,app,name,from,size,sha256,type,state\n");
	return extract;
failed:
	if (errno == EEXIST)
		snprintf(err, err_len, "%s/files.csv is there already: name an empty folder",
			folder);
	else
		snprintf(err, err_len, "%s: %s", folder, strerror(errno));
	if (rows >= 0)
		close(rows);
	free(extract);
	return NULL;
}

void extract_input(struct extract *extract, const char *capture)
{
	extract->capture = capture;
}

static struct file **place_of(struct extract *extract, unsigned lcore, uint64_t number)
{
	struct file **at = &extract->open[(number * LCORES_MAX + lcore) % BUCKETS];

	while (*at && ((*at)->number != number || (*at)->lcore != lcore))
		at = &(*at)->next;
	return at;
}

static void flow_text(const struct event *event, struct file *file)
{
	char from[ADDRESS_TEXT_BYTES], to[ADDRESS_TEXT_BYTES];

	address_text(event->ends.address[HALF_C2S], from);
	address_text(event->ends.address[HALF_S2C], to);
	snprintf(file->flow, sizeof file->flow, "%s:%u>%s:%u", from, event->ends.port[HALF_C2S], to,
		event->ends.port[HALF_S2C]);
}

static void begin(struct extract *extract, unsigned lcore, const struct content_record *record)
{
	struct content_text name = content_record_text(record, RECORD_NAME);
	const struct app_proto *app = app_get(record->event.app);
	struct file **at = place_of(extract, lcore, record->file), *file;

	if (record->elsewhere || !record->stored || *at)
		return;
	file = calloc(1, sizeof *file);
	if (!file || !(file->name = strndup((const char *)name.bytes, name.length))) {
		free(file);
		failed(extract, -ENOMEM, "no memory");
		return;
	}
	file->number = record->file;
	file->lcore = lcore;
	file->from = record->range_from;
	snprintf(file->app, sizeof file->app, "%s", app ? app->name : "unknown");
	flow_text(&record->event, file);
	snprintf(file->temporary, sizeof file->temporary, "part.%" PRIu64, ++extract->n);
	file->fd = openat(extract->folder, file->temporary,
		O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0640);
	if (file->fd < 0)
		failed(extract, -errno, "a file cannot be made");
	*at = file;
}

static void add(struct extract *extract, unsigned lcore, const struct content_record *record)
{
	struct file *file = *place_of(extract, lcore, record->file);
	const uint8_t *bytes = record->bytes;
	uint64_t at = record->at;
	uint32_t left = record->length;

	while (file && file->fd >= 0 && left) {
		ssize_t n = pwrite(file->fd, bytes, left, (off_t)at);

		if (n <= 0) {
			failed(extract, n ? -errno : -EIO, "a file cannot be written");
			return;
		}
		bytes += n;
		at += (uint64_t)n;
		left -= (uint32_t)n;
	}
}

static bool digest(int fd, uint64_t *size, char hex[2 * SHA256_BYTES + 1])
{
	EVP_MD_CTX *ctx = EVP_MD_CTX_new();
	uint8_t buffer[16384], sum[SHA256_BYTES];
	ssize_t n = -1;
	bool good = ctx && EVP_DigestInit_ex(ctx, EVP_sha256(), NULL) == 1;

	*size = 0;
	while (good && (n = pread(fd, buffer, sizeof buffer, (off_t)*size)) > 0) {
		good = EVP_DigestUpdate(ctx, buffer, (size_t)n) == 1;
		*size += (uint64_t)n;
	}
	good = good && !n && EVP_DigestFinal_ex(ctx, sum, NULL) == 1;
	EVP_MD_CTX_free(ctx);
	for (unsigned i = 0; good && i < SHA256_BYTES; i++)
		snprintf(hex + 2 * i, 3, "%02x", sum[i]);
	return good;
}

static void put_quoted(FILE *out, const char *text)
{
	fputc('"', out);
	for (; *text; text++) {
		if (*text == '"')
			fputc('"', out);
		fputc((unsigned char)*text < ' ' ? '?' : *text, out);
	}
	fputc('"', out);
}

static void end(struct extract *extract, unsigned lcore, const struct content_record *record)
{
	struct file **at = place_of(extract, lcore, record->file), *file = *at;
	char hex[2 * SHA256_BYTES + 1] = "";
	uint64_t size = 0;

	if (!file)
		return;
	*at = file->next;
	if (file->fd < 0 || !digest(file->fd, &size, hex) ||
		renameat(extract->folder, file->temporary, extract->folder, hex) < 0)
		failed(extract, -EIO, "a file cannot be read again");
	if (file->fd >= 0)
		close(file->fd);
	put_quoted(extract->rows, extract->capture ? extract->capture : "");
	fprintf(extract->rows, ",%s,%s,", file->flow, file->app);
	put_quoted(extract->rows, file->name);
	fprintf(extract->rows, ",%" PRIu64 ",%" PRIu64 ",%s,%s,%s\n", file->from, size, hex,
		file_type_word(record->file_type),
		record->lost ? "LOST" : content_end_word(record->end));
	free(file->name);
	free(file);
}

void extract_see(void *ctx, unsigned lcore, const struct content_record *record)
{
	switch (record->kind) {
	case CONTENT_RECORD_FILE: begin(ctx, lcore, record); break;
	case CONTENT_RECORD_BYTES: add(ctx, lcore, record); break;
	case CONTENT_RECORD_END: end(ctx, lcore, record); break;
	}
}

int extract_end(struct extract *extract, const char **why)
{
	int error;

	for (unsigned i = 0; i < BUCKETS; i++)
		for (struct file *file; (file = extract->open[i]);) {
			extract->open[i] = file->next;
			if (file->fd >= 0)
				close(file->fd);
			unlinkat(extract->folder, file->temporary, 0);
			free(file->name);
			free(file);
		}
	if (fclose(extract->rows))
		failed(extract, -errno, "files.csv cannot be written");
	close(extract->folder);
	error = extract->error;
	*why = extract->why;
	free(extract);
	return error;
}
