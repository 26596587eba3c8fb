// SPDX-License-Identifier: BSD-3-Clause
// Hashes the bytes that inspection consumed of each half, for `--streams`.
#include "replay/streams.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <openssl/evp.h>
#include "base/address_text.h"
#include "pipeline/flow/table.h"
#include "pipeline/lcore/lcore.h"

#define SHA256_BYTES 32
#define ROOM_FIRST   16

struct gap {
	uint64_t offset;
	uint64_t length;
};

struct row {
	const char *pcap;
	struct flow_ends ends;
	uint8_t half;
	bool midstream;
	uint64_t next;  // offset of the byte that comes next
	uint64_t bytes; // in the digest
	uint64_t dup;
	uint64_t conflict;
	struct gap *gaps;
	size_t n_gaps; // the last may have nothing behind it yet
	size_t gaps_room;
	EVP_MD_CTX *digest; // NULL: nothing has come yet, or the flow is over
	uint8_t sha256[SHA256_BYTES];
};

struct streams {
	struct stream_tap tap;
	const char *pcap;
	struct row **rows;
	size_t n_rows;
	size_t rows_room;
	int error; // the first
	unsigned n_lcores;
	uint32_t flows;         // per lcore
	struct row *(*open)[2]; // by lcore and flow, then half; NULL: it has not begun
};

static void failed(struct streams *streams, int error)
{
	if (!streams->error)
		streams->error = error;
}

// One more element has room in *array; false: no memory, and nothing changed.
static bool make_room(void **array, size_t n, size_t *room, size_t size)
{
	size_t want = *room ? 2 * *room : ROOM_FIRST;
	void *grown;

	if (n < *room)
		return true;
	grown = reallocarray(*array, want, size);
	if (!grown)
		return false;
	*array = grown;
	*room = want;
	return true;
}

static struct row **open_of(struct streams *streams, const struct lcore *lcore, uint32_t ref)
{
	if (lcore->index >= streams->n_lcores || ref >= streams->flows)
		return NULL;
	return streams->open[(size_t)lcore->index * streams->flows + ref];
}

static struct row *row_new(
	struct streams *streams, const struct lcore *lcore, uint32_t ref, unsigned half)
{
	struct row *row = calloc(1, sizeof *row);

	if (!row || !make_room((void **)&streams->rows, streams->n_rows, &streams->rows_room,
			    sizeof(struct row *))) {
		free(row);
		failed(streams, -ENOMEM);
		return NULL;
	}
	row->pcap = streams->pcap;
	row->ends = flow_cold_at(lcore->flows, ref)->ends;
	row->half = (uint8_t)half;
	streams->rows[streams->n_rows++] = row;
	return row;
}

// The row of a half; NULL: no memory.
static struct row *row_of(
	struct streams *streams, const struct lcore *lcore, uint32_t ref, unsigned half)
{
	struct row **open = open_of(streams, lcore, ref);

	if (!open) {
		failed(streams, -EILSEQ);
		return NULL;
	}
	if (!open[half])
		open[half] = row_new(streams, lcore, ref, half);
	return open[half];
}

static bool digest_begin(struct row *row)
{
	if (!row->digest)
		row->digest = EVP_MD_CTX_new();
	return row->digest && EVP_DigestInit_ex(row->digest, EVP_sha256(), NULL) == 1;
}

static bool gap_add(struct row *row, const struct span *span)
{
	struct gap *last = row->n_gaps ? &row->gaps[row->n_gaps - 1] : NULL;

	if (last && last->offset + last->length == span->offset64) {
		last->length += span->extent;
		return true;
	}
	if (!make_room((void **)&row->gaps, row->n_gaps, &row->gaps_room, sizeof(struct gap)))
		return false;
	row->gaps[row->n_gaps++] = (struct gap){span->offset64, span->extent};
	return true;
}

static bool bytes_add(struct row *row, const struct span *span)
{
	if (!row->digest && !digest_begin(row))
		return false;
	row->bytes += span_length(span);
	return EVP_DigestUpdate(row->digest, span_bytes(span), span_length(span)) == 1;
}

// The half began anew: what it had reported is void.
static void row_restart(struct row *row)
{
	row->next = row->bytes = row->dup = row->conflict = 0;
	row->n_gaps = 0;
	EVP_MD_CTX_free(row->digest);
	row->digest = NULL;
}

static void see_span(void *ctx, const struct lcore *lcore, uint32_t ref, const struct span *span)
{
	struct streams *streams = ctx;
	struct row *row = row_of(streams, lcore, ref, span->half);

	if (!row)
		return;
	if (span->offset64 == 0 && row->next != 0)
		row_restart(row);
	if (span->offset64 != row->next)
		failed(streams, -EILSEQ);
	row->next = span->offset64 + span->extent;
	row->midstream = span->flags & SPAN_MIDSTREAM;
	if (!(span_is_gap(span) ? gap_add(row, span) : bytes_add(row, span)))
		failed(streams, -ENOMEM);
}

static void see_overlap(void *ctx, const struct lcore *lcore, uint32_t ref, unsigned half,
	uint32_t bytes, uint32_t conflict)
{
	struct row *row = row_of(ctx, lcore, ref, half);

	if (!row)
		return;
	row->dup += bytes;
	row->conflict += conflict;
}

static void row_end(struct streams *streams, struct row *row)
{
	if (row->digest && EVP_DigestFinal_ex(row->digest, row->sha256, NULL) != 1)
		failed(streams, -ENOMEM);
	EVP_MD_CTX_free(row->digest);
	row->digest = NULL;
	// a hole with nothing behind it is the end of what was seen
	if (row->n_gaps &&
		row->gaps[row->n_gaps - 1].offset + row->gaps[row->n_gaps - 1].length == row->next)
		row->n_gaps--;
}

static void see_end(void *ctx, const struct lcore *lcore, uint32_t ref)
{
	struct streams *streams = ctx;
	struct row **open = open_of(streams, lcore, ref);

	for (unsigned half = 0; open && half < 2; half++) {
		if (open[half])
			row_end(streams, open[half]);
		open[half] = NULL;
	}
}

struct streams *streams_new(unsigned n_lcores, uint32_t flows)
{
	struct streams *streams = calloc(1, sizeof *streams);

	if (!streams)
		return NULL;
	streams->open = calloc((size_t)n_lcores * flows, sizeof *streams->open);
	if (!streams->open) {
		free(streams);
		return NULL;
	}
	streams->n_lcores = n_lcores;
	streams->flows = flows;
	streams->pcap = "";
	streams->tap = (struct stream_tap){
		.ctx = streams,
		.span = see_span,
		.overlap = see_overlap,
		.end = see_end,
	};
	return streams;
}

void streams_free(struct streams *streams)
{
	if (!streams)
		return;
	for (size_t i = 0; i < streams->n_rows; i++) {
		EVP_MD_CTX_free(streams->rows[i]->digest);
		free(streams->rows[i]->gaps);
		free(streams->rows[i]);
	}
	free(streams->rows);
	free(streams->open);
	free(streams);
}

const struct stream_tap *streams_tap(const struct streams *streams)
{
	return &streams->tap;
}

void streams_input(struct streams *streams, const char *name)
{
	streams->pcap = name;
}

// RFC 4180: quoted where a reader would take it for more than one field.
static void write_field(const char *text, FILE *out)
{
	if (!strpbrk(text, ",\"\r\n")) {
		fputs(text, out);
		return;
	}
	fputc('"', out);
	for (; *text; text++) {
		if (*text == '"')
			fputc('"', out);
		fputc(*text, out);
	}
	fputc('"', out);
}

static void write_row(const struct row *row, FILE *out)
{
	char from[ADDRESS_TEXT_BYTES], to[ADDRESS_TEXT_BYTES];

	address_text(row->ends.address[row->half], from);
	address_text(row->ends.address[!row->half], to);
	write_field(row->pcap, out);
	fprintf(out, ",%s:%u>%s:%u,%s,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",", from,
		row->ends.port[row->half], to, row->ends.port[!row->half],
		row->midstream ? "midstream" : "syn", row->bytes, row->dup, row->conflict);
	for (size_t i = 0; i < row->n_gaps; i++)
		fprintf(out, "%s%" PRIu64 "+%" PRIu64, i ? ";" : "", row->gaps[i].offset,
			row->gaps[i].length);
	fputc(',', out);
	for (unsigned i = 0; i < SHA256_BYTES; i++)
		fprintf(out, "%02x", row->sha256[i]);
	fputc('\n', out);
}

int streams_write(const struct streams *streams, FILE *out)
{
	fputs("pcap,flow,isn,bytes,dup,conflict,gaps,sha256\n", out);
	for (size_t i = 0; i < streams->n_rows; i++)
		if (streams->rows[i]->bytes)
			write_row(streams->rows[i], out);
	if (fflush(out) != 0 || ferror(out))
		return -EIO;
	return streams->error;
}

int streams_save(const struct streams *streams, const char *path, const char **why)
{
	FILE *out = strcmp(path, "-") == 0 ? stdout : fopen(path, "w");
	int rc = out ? streams_write(streams, out) : -errno;

	if (out && out != stdout && fclose(out) != 0 && rc == 0)
		rc = -EIO;
	*why = rc == -EILSEQ ? "bytes were inspected out of their order; please report it"
			     : strerror(-rc);
	return rc;
}
