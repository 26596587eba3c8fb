// SPDX-License-Identifier: BSD-3-Clause
// What it costs to decode the body of an HTTP response (README.md): the gateway's decoder, which
// gets it in segments and tells a sink of it, beside the library that undoes the coding, which gets
// it in one piece, in turns. Prints one JSON object.
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <brotli/decode.h>
#include <brotli/encode.h>
#include <zlib.h>
#include <zstd.h>
#include "content/coding.h"
#include "content/decoders.h"
#include "content/memory.h"

#define ASKS         "GET /file.bin HTTP/1.1\r\nHost: a.example\r\n\r\n"
#define SEGMENT      1460u
#define OUT_BYTES    65536u      // of room that the library gets
#define MEMORY_BYTES (32u << 20) // for the decoder
#define TURN_BYTES   (64u << 10) // as `content.turn_kb` of the gateway's default
#define ROUNDS_MAX   100

struct bytes {
	uint8_t *at;
	size_t length;
};

// What a way has told of a body.
struct told {
	uint64_t bytes;
	uint64_t digest; // 0: not asked for
	bool ended;
};

struct coding_row {
	const char *word;
	const char *library;
	size_t (*bound)(size_t plain);
	size_t (*encode)(const struct bytes *plain, struct bytes *room);
	// Gets the body in pieces of `piece` bytes.
	void (*undo)(const struct bytes *body, size_t piece, uint8_t *out, bool digest,
		struct told *told);
};

static _Noreturn void die(const char *what)
{
	fprintf(stderr, "bench_codings: %s\n", what);
	exit(1);
}

static void *room_of(size_t bytes)
{
	void *room = aligned_alloc(64, (bytes + 63) / 64 * 64);

	if (!room)
		die("no memory");
	return room;
}

static void tell(struct told *told, const uint8_t *bytes, size_t length, bool digest)
{
	told->bytes += length;
	if (digest)
		told->digest = crc32_z(told->digest, bytes, length);
}

// gzip, by zlib

static size_t gzip_bound(size_t plain)
{
	return compressBound(plain) + 64;
}

static size_t gzip_encode(const struct bytes *plain, struct bytes *room)
{
	z_stream stream = {.next_in = plain->at,
		.avail_in = (uInt)plain->length,
		.next_out = room->at,
		.avail_out = (uInt)room->length};

	if (deflateInit2(&stream, 6, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY) != Z_OK ||
		deflate(&stream, Z_FINISH) != Z_STREAM_END)
		die("zlib did not encode");
	deflateEnd(&stream);
	return stream.total_out;
}

static void gzip_undo(
	const struct bytes *body, size_t piece, uint8_t *out, bool digest, struct told *told)
{
	z_stream stream = {0};
	int state = Z_OK;

	if (inflateInit2(&stream, 16 + MAX_WBITS) != Z_OK)
		die("zlib did not begin");
	for (size_t at = 0; at < body->length && state == Z_OK; at += piece) {
		stream.next_in = body->at + at;
		stream.avail_in = (uInt)(body->length - at < piece ? body->length - at : piece);
		do {
			stream.next_out = out;
			stream.avail_out = OUT_BYTES;
			state = inflate(&stream, Z_NO_FLUSH);
			tell(told, out, OUT_BYTES - stream.avail_out, digest);
		} while (state == Z_OK && !stream.avail_out);
		if (state == Z_BUF_ERROR)
			state = Z_OK;
	}
	told->ended = state == Z_STREAM_END;
	inflateEnd(&stream);
}

// br, by libbrotlidec

static size_t br_bound(size_t plain)
{
	return BrotliEncoderMaxCompressedSize(plain);
}

static size_t br_encode(const struct bytes *plain, struct bytes *room)
{
	size_t length = room->length;

	if (!BrotliEncoderCompress(
		    5, 20, BROTLI_MODE_TEXT, plain->length, plain->at, &length, room->at))
		die("brotli did not encode");
	return length;
}

static void br_undo(
	const struct bytes *body, size_t piece, uint8_t *out, bool digest, struct told *told)
{
	BrotliDecoderState *decoder = BrotliDecoderCreateInstance(NULL, NULL, NULL);
	BrotliDecoderResult state = BROTLI_DECODER_RESULT_NEEDS_MORE_INPUT;

	if (!decoder)
		die("brotli did not begin");
	for (size_t at = 0; at < body->length && state == BROTLI_DECODER_RESULT_NEEDS_MORE_INPUT;
		at += piece) {
		const uint8_t *in = body->at + at;
		size_t left = body->length - at < piece ? body->length - at : piece;

		do {
			uint8_t *to = out;
			size_t room = OUT_BYTES;

			state = BrotliDecoderDecompressStream(
				decoder, &left, &in, &room, &to, NULL);
			tell(told, out, OUT_BYTES - room, digest);
		} while (state == BROTLI_DECODER_RESULT_NEEDS_MORE_OUTPUT);
	}
	told->ended = state == BROTLI_DECODER_RESULT_SUCCESS;
	BrotliDecoderDestroyInstance(decoder);
}

// zstd, by libzstd

static size_t zstd_bound(size_t plain)
{
	return ZSTD_compressBound(plain);
}

static size_t zstd_encode(const struct bytes *plain, struct bytes *room)
{
	size_t length = ZSTD_compress(room->at, room->length, plain->at, plain->length, 3);

	if (ZSTD_isError(length))
		die("zstd did not encode");
	return length;
}

static void zstd_undo(
	const struct bytes *body, size_t piece, uint8_t *out, bool digest, struct told *told)
{
	ZSTD_DCtx *context = ZSTD_createDCtx();
	size_t state = 1;

	if (!context)
		die("zstd did not begin");
	for (size_t at = 0; at < body->length && state && !ZSTD_isError(state); at += piece) {
		ZSTD_inBuffer in = {
			body->at + at, body->length - at < piece ? body->length - at : piece, 0};
		ZSTD_outBuffer to;

		do {
			to = (ZSTD_outBuffer){out, OUT_BYTES, 0};
			state = ZSTD_decompressStream(context, &to, &in);
			tell(told, out, to.pos, digest);
		} while (
			state && !ZSTD_isError(state) && (in.pos < in.size || to.pos == OUT_BYTES));
	}
	told->ended = !state;
	ZSTD_freeDCtx(context);
}

static const struct coding_row rows[] = {
	{"gzip", "zlib", gzip_bound, gzip_encode, gzip_undo},
	{"br", "libbrotlidec", br_bound, br_encode, br_undo},
	{"zstd", "libzstd", zstd_bound, zstd_encode, zstd_undo},
};
#define ROWS (sizeof(rows) / sizeof(*rows))

// The gateway's decoder, and the sink that counts what it tells.

struct taker {
	struct told *told;
	bool digest;
	unsigned notes;
};

static void take_asked(void *ctx, const struct content_file *file)
{
	(void)ctx;
	(void)file;
}

static enum content_want take_file(void *ctx, const struct content_file *file)
{
	(void)ctx;
	(void)file;
	return CONTENT_WANT_DATA;
}

static void take_id(void *ctx, const struct content_id *id, unsigned half)
{
	(void)ctx;
	(void)id;
	(void)half;
}

static void take_bytes(void *ctx, uint32_t id, uint64_t at, const uint8_t *bytes, uint32_t length)
{
	struct taker *taker = ctx;

	(void)id;
	(void)at;
	tell(taker->told, bytes, length, taker->digest);
}

static void take_end(void *ctx, uint32_t id, enum content_end end, uint64_t ends64)
{
	struct taker *taker = ctx;

	(void)id;
	(void)ends64;
	taker->told->ended = end == CONTENT_END_CLOSED;
}

static void take_message(void *ctx, const struct content_message *message)
{
	(void)ctx;
	(void)message;
}

static bool take_word(void *ctx, const struct content_word *word)
{
	(void)ctx;
	(void)word;
	return false;
}

static void take_note(void *ctx, enum content_note note, unsigned half, uint64_t at64)
{
	struct taker *taker = ctx;

	(void)note;
	(void)half;
	(void)at64;
	taker->notes++;
}

static void feed(void *state, struct content_turn *turn, unsigned half, uint64_t offset64,
	const uint8_t *bytes, uint32_t length)
{
	const struct span span = {
		.offset64 = offset64, .unchecked = bytes, .extent = length, .half = (uint8_t)half};
	enum content_fed fed;

	turn->taken = 0;
	do {
		turn->output = TURN_BYTES;
		fed = content_http.feed(state, &span, turn);
	} while (fed == CONTENT_MORE);
	if (fed != CONTENT_FED)
		die("the decoder did not take the response");
}

static void decode(const struct bytes *head, const struct bytes *body,
	struct content_memory *memory, bool digest, struct told *told)
{
	static _Alignas(64) uint8_t state[4096];
	struct taker taker = {.told = told, .digest = digest};
	const struct content_sink sink = {
		.asked = take_asked,
		.file = take_file,
		.id = take_id,
		.bytes = take_bytes,
		.end = take_end,
		.message = take_message,
		.word = take_word,
		.note = take_note,
		.ctx = &taker,
	};
	struct content_turn turn = {.sink = &sink, .memory = memory};

	if (content_http.state_bytes > sizeof(state))
		die("the decoder's state is larger");
	memset(state, 0, content_http.state_bytes);
	feed(state, &turn, HALF_C2S, 0, (const uint8_t *)ASKS, sizeof(ASKS) - 1);
	feed(state, &turn, HALF_S2C, 0, head->at, (uint32_t)head->length);
	for (size_t at = 0; at < body->length; at += SEGMENT)
		feed(state, &turn, HALF_S2C, head->length + at, body->at + at,
			(uint32_t)(body->length - at < SEGMENT ? body->length - at : SEGMENT));
	content_http.over(state, &turn);
	if (taker.notes)
		die("the decoder had something to remark");
}

// What is measured. Named for callgrind's --toggle-collect, so these stay functions.
#if defined(__has_attribute) && __has_attribute(noipa)
#define APART __attribute__((noipa))
#else
#define APART __attribute__((noinline))
#endif
struct work {
	const struct coding_row *row;
	struct bytes plain, head, body;
	struct content_memory *memory;
	void *region;
	uint8_t *out;
	bool digest;
};

APART void codings_gateway(const struct work *work, struct told *told);
APART void codings_gateway(const struct work *work, struct told *told)
{
	decode(&work->head, &work->body, work->memory, work->digest, told);
}

APART void codings_library(const struct work *work, struct told *told);
APART void codings_library(const struct work *work, struct told *told)
{
	work->row->undo(&work->body, work->body.length, work->out, work->digest, told);
}

// The library alone with what a packet path has: a segment at a time.
APART void codings_segments(const struct work *work, struct told *told);
APART void codings_segments(const struct work *work, struct told *told)
{
	work->row->undo(&work->body, SEGMENT, work->out, work->digest, told);
}

static const struct {
	const char *name;
	void (*run)(const struct work *work, struct told *told);
} ways[] = {
	{"gateway", codings_gateway},
	{"library", codings_library},
	{"segments", codings_segments},
};
#define WAYS (sizeof(ways) / sizeof(*ways))

static double run(const struct work *work, unsigned way, uint64_t digest)
{
	struct timespec from, to;
	struct told told = {0};

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &from);
	ways[way].run(work, &told);
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &to);
	if (!told.ended || told.bytes != work->plain.length || told.digest != digest)
		die("the body was not decoded as it was");
	return (double)(to.tv_sec - from.tv_sec) + (double)(to.tv_nsec - from.tv_nsec) / 1e9;
}

// A page that a program made: words of some thousand, in markup that repeats.
static void fill(struct bytes *plain)
{
	uint64_t x = 0x9e3779b97f4a7c15ull;
	size_t at = 0;

	while (at < plain->length) {
		char text[96];

		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		unsigned word = (unsigned)(x >> 40) % 3000, kind = (unsigned)x % 16;
		int length = snprintf(text, sizeof(text),
			kind == 0   ? "</p>\n<p class=\"c%u\">"
			: kind == 1 ? "<a href=\"/item/%u\">"
			: kind == 2 ? "<td>%u</td>"
				    : "%c%c%c%x ",
			kind > 2 ? 'a' + word % 26 : word, 'a' + word / 26 % 26, 'e' + word % 7,
			word * 2654435761u >> 20);
		size_t n =
			(size_t)length < plain->length - at ? (size_t)length : plain->length - at;

		memcpy(plain->at + at, text, n);
		at += n;
	}
}

static void prepare(struct work *work, const struct coding_row *row, size_t bytes)
{
	work->row = row;
	work->plain = (struct bytes){room_of(bytes), bytes};
	fill(&work->plain);
	work->body.length = row->bound(bytes);
	work->body.at = room_of(work->body.length);
	work->body.length = row->encode(&work->plain, &work->body);
	work->head.at = room_of(256);
	work->head.length = (size_t)snprintf((char *)work->head.at, 256,
		"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Encoding: %s\r\n"
		"Content-Length: %zu\r\n\r\n",
		row->word, work->body.length);
	size_t room = content_memory_round(MEMORY_BYTES);

	work->region = room_of(room);
	work->memory = content_memory_over(work->region, room);
	work->out = room_of(OUT_BYTES);
	if (!work->memory)
		die("no memory for the decoder");
}

// In turns: forwards in one round, backwards in the next.
static void measure(struct work *work, unsigned rounds)
{
	static double seconds[WAYS][ROUNDS_MAX];
	uint64_t digest = crc32_z(0, work->plain.at, work->plain.length);

	work->digest = true;
	for (unsigned way = 0; way < WAYS; way++)
		run(work, way, digest);
	work->digest = false;
	for (unsigned round = 0; round < rounds; round++)
		for (unsigned i = 0; i < WAYS; i++) {
			unsigned way = round & 1 ? (unsigned)WAYS - 1 - i : i;

			seconds[way][round] = run(work, way, 0);
		}
	printf("{\"coding\": \"%s\", \"library\": \"%s\", \"bytes\": %zu, \"coded\": %zu, "
	       "\"segment\": %u, \"seconds\": {",
		work->row->word, work->row->library, work->plain.length, work->body.length,
		SEGMENT);
	for (unsigned way = 0; way < WAYS; way++) {
		printf("%s\"%s\": [", way ? ", " : "", ways[way].name);
		for (unsigned round = 0; round < rounds; round++)
			printf("%s%.9f", round ? ", " : "", seconds[way][round]);
		printf("]");
	}
	printf("}}\n");
}

static const char usage[] =
	"usage: bench_codings --coding gzip|br|zstd [--kilobytes N] [--rounds N | --once WAY]\n\n"
	"Seconds of CPU for one body by each way; --once: one way once, for callgrind\n"
	"(gateway, library, segments).\n";

static const struct coding_row *row_of(const char *word)
{
	for (unsigned i = 0; word && i < ROWS; i++)
		if (!strcmp(rows[i].word, word))
			return &rows[i];
	return NULL;
}

static unsigned number(const char *text, unsigned most)
{
	char *end;
	unsigned long value = strtoul(text, &end, 10);

	if (*end || end == text || !value || value > most)
		die("not a number in its bounds");
	return (unsigned)value;
}

static unsigned way_of(const char *name)
{
	for (unsigned way = 0; way < WAYS; way++)
		if (!strcmp(ways[way].name, name))
			return way;
	die("no such way");
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{"coding", required_argument, NULL, 'c'},
		{"kilobytes", required_argument, NULL, 'k'},
		{"rounds", required_argument, NULL, 'r'},
		{"once", required_argument, NULL, 'o'},
		{0},
	};
	const struct coding_row *row = NULL;
	const char *once = NULL;
	unsigned rounds = 5, kilobytes = 16384;
	struct work work = {0};
	int option;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (option) {
		case 'c': row = row_of(optarg); break;
		case 'k': kilobytes = number(optarg, 1 << 20); break;
		case 'r': rounds = number(optarg, ROUNDS_MAX); break;
		case 'o': once = optarg; break;
		default: row = NULL; break;
		}
	}
	if (!row || optind != argc) {
		fputs(usage, stderr);
		return 2;
	}
	prepare(&work, row, (size_t)kilobytes << 10);
	if (once)
		run(&work, way_of(once), 0);
	else
		measure(&work, rounds);
	content_memory_free(work.memory);
	free(work.region);
	free(work.plain.at);
	free(work.body.at);
	free(work.head.at);
	free(work.out);
	return 0;
}
