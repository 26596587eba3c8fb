// SPDX-License-Identifier: BSD-3-Clause
// Descriptors of Gnutella 0.4 and 0.6: files in hits, ids in queries, PUSH. Nothing is kept but the
// head of one, and of its body what is read at once: a query, or a record of a hit.
#include <netinet/in.h>

#include "content/gnutella/session.h"
#include "content/http/text.h"
#include "content/transfer.h"
#include "pipeline/vocab/octets.h"

enum {
	TYPE_PUSH = 0x40,
	TYPE_QUERY = 0x80,
	TYPE_HIT = 0x81,
	AT_TYPE = 16,
	AT_LENGTH = 19,
	HIT_BYTES = 11,   // number of records, port u16, IPv4 4, speed u32
	RECORD_BYTES = 8, // index u32, size u32
	PUSH_BYTES = 26,  // servent 16, index u32, IPv4 4, port u16 LE
	PUSH_PORT_MIN = 1024,
	PUSH_TTL_S = 120,
};

void gnutella_descriptors_begin(struct gnutella_half *half)
{
	half->head_length = 0;
	half->length = half->left = 0;
	half->part = GNUTELLA_PART_SKIPPED;
}

// A few bytes may unpack to thousands.
static void charge(const struct gnutella_turn *turn)
{
	if (gnutella_half_of(turn)->unpacked)
		content_charge(turn->turn, CONTENT_TOLD_BYTES);
}

// A hit's record: index, size, name NUL, extensions NUL.
static void report_record(const struct gnutella_turn *turn)
{
	const struct gnutella_half *half = gnutella_half_of(turn);
	const struct content_sink *sink = turn->turn->sink;
	struct content_text path = {half->kept + RECORD_BYTES, half->name_ends - RECORD_BYTES - 1u};
	struct content_text rest = {
		half->kept + half->name_ends, half->length - half->name_ends - 1u};
	struct content_text nobody = {NULL, 0};
	struct gnutella_extension extension;

	gnutella_extension_read(rest, &extension);
	struct content_whole whole = {.size = octets_le32(half->kept + 4)};

	if (extension.has_size)
		whole.size = extension.size;
	urn_report(&extension.ids, sink, turn->half);
	const struct content_id *id = urn_main(&extension.ids);
	struct content_file file = content_file_of_path(path, nobody);

	if (!file.name.length && !id)
		return;
	if (id) {
		whole.id = *id;
		file.whole = &whole;
	}
	file.id = ++turn->state->files;
	file.half = (uint8_t)turn->half;
	file.name_source = file.name.length ? CONTENT_NAME_OFFER : CONTENT_NAME_NONE;
	file.elsewhere = true;
	file.size = whole.size;
	file.begins64 = turn->state->streams[turn->half].at64;
	sink->file(sink->ctx, &file);
}

// Minimum speed u16, words NUL, extensions (NUL).
static void report_query(const struct gnutella_turn *turn)
{
	const struct gnutella_half *half = gnutella_half_of(turn);
	struct content_text body = {half->kept, half->length};
	struct gnutella_extension extension;

	body = http_text_from(body, 2);
	body = http_text_from(body, http_until(body, 0) + 1);
	gnutella_extension_read((struct content_text){body.bytes, http_until(body, 0)}, &extension);
	urn_report(&extension.ids, turn->turn->sink, turn->half);
}

// Who is asked to connect is the end that reads it; who asks may name itself, or whom it passes it
// on for. Connections that are not packed are read for it by app/classify.
static void report_push(const struct gnutella_turn *turn)
{
	const struct gnutella_half *half = gnutella_half_of(turn);
	const struct content_turn *to = turn->turn;
	const uint8_t *at = half->kept;

	if (!half->coding || half->length < PUSH_BYTES || !to->others || !to->others->expect ||
		!to->ends)
		return;
	struct expectation expect = {
		.address = {[10] = 0xff, 0xff, at[20], at[21], at[22], at[23]},
		.port = octets_le16(at + 24),
		.l4_proto = IPPROTO_TCP,
		.app = to->data_app,
		.as = EXPECTED_GNUTELLA_PUSH,
		.ttl_s = PUSH_TTL_S,
	};

	if (expect.port < PUSH_PORT_MIN ||
		!memcmp(expect.address, to->ends->address[!turn->half], 16))
		return;
	if (memcmp(expect.address, to->ends->address[turn->half], 16) != 0)
		memcpy(expect.peer, to->ends->address[!turn->half], 16);
	to->others->expect(to->others->ctx, &expect);
}

static void begin_body(const struct gnutella_turn *turn)
{
	struct gnutella_half *half = gnutella_half_of(turn);

	half->left = octets_le32(half->head + AT_LENGTH);
	half->length = 0;
	switch (half->head[AT_TYPE]) {
	case TYPE_HIT: half->part = GNUTELLA_PART_HIT; break;
	case TYPE_QUERY:
	case TYPE_PUSH: half->part = GNUTELLA_PART_KEPT; break;
	default: half->part = GNUTELLA_PART_SKIPPED; break;
	}
	if (half->left <= GNUTELLA_BODY_MAX)
		return;
	gnutella_note(turn, CONTENT_NOTE_BAD_LENGTH);
	half->phase = GNUTELLA_LOST;
}

static void end_body(const struct gnutella_turn *turn)
{
	struct gnutella_half *half = gnutella_half_of(turn);

	if (half->part == GNUTELLA_PART_KEPT)
		charge(turn);
	if (half->part == GNUTELLA_PART_KEPT && half->head[AT_TYPE] == TYPE_QUERY)
		report_query(turn);
	else if (half->part == GNUTELLA_PART_KEPT)
		report_push(turn);
	gnutella_descriptors_begin(half);
}

// Of a record up to its end, or all that is here. How many bytes were taken.
static uint32_t take_record(const struct gnutella_turn *turn, const uint8_t *bytes, uint32_t length)
{
	struct gnutella_half *half = gnutella_half_of(turn);
	uint32_t n = RECORD_BYTES > half->length ? RECORD_BYTES - half->length : 0;

	if (!n) { // a text, up to its NUL
		const uint8_t *end = memchr(bytes, 0, length);

		n = end ? (uint32_t)(end - bytes) + 1 : length;
	}
	n = n < length ? n : length;
	if (n > GNUTELLA_KEPT - half->length) {
		gnutella_note(turn, CONTENT_NOTE_HEAD_TOO_LONG);
		half->part = GNUTELLA_PART_SKIPPED;
		return n;
	}
	memcpy(half->kept + half->length, bytes, n);
	half->length += n;
	if (half->length <= RECORD_BYTES || half->kept[half->length - 1])
		return n;
	if (!half->name_ends) {
		half->name_ends = (uint16_t)half->length;
		return n;
	}
	charge(turn);
	report_record(turn);
	half->length = half->name_ends = 0;
	if (!--half->records) // what follows is of the servent
		half->part = GNUTELLA_PART_SKIPPED;
	return n;
}

// How many bytes of the body were taken.
static uint32_t take_body(const struct gnutella_turn *turn, const uint8_t *bytes, uint32_t length)
{
	struct gnutella_half *half = gnutella_half_of(turn);
	uint32_t n = 0, room = GNUTELLA_KEPT - half->length;

	switch (half->part) {
	case GNUTELLA_PART_KEPT:
		n = room < length ? room : length;
		memcpy(half->kept + half->length, bytes, n);
		half->length += n;
		return length;
	case GNUTELLA_PART_HIT:
		if (content_gather(half->kept, &half->length, HIT_BYTES, bytes, length, &n)) {
			half->records = half->kept[0];
			half->part = half->records ? GNUTELLA_PART_RECORDS : GNUTELLA_PART_SKIPPED;
			half->length = half->name_ends = 0;
		}
		return n;
	case GNUTELLA_PART_RECORDS: return take_record(turn, bytes, length);
	default: return length;
	}
}

uint32_t gnutella_descriptors(
	const struct gnutella_turn *turn, const uint8_t *bytes, uint32_t length)
{
	struct gnutella_half *half = gnutella_half_of(turn);
	uint32_t at = 0;

	while (at < length && half->phase != GNUTELLA_LOST &&
		(turn->turn->output || !half->unpacked)) {
		uint32_t have = half->head_length, here = length - at;

		if (have < GNUTELLA_HEAD) {
			bool all = content_gather(
				half->head, &have, GNUTELLA_HEAD, bytes + at, here, &at);

			half->head_length = (uint8_t)have;
			if (all)
				begin_body(turn);
		} else {
			uint32_t n =
				take_body(turn, bytes + at, here < half->left ? here : half->left);

			at += n;
			half->left -= n;
		}
		if (half->head_length == GNUTELLA_HEAD && !half->left)
			end_body(turn);
	}
	return at;
}

uint64_t gnutella_descriptors_lose(const struct gnutella_turn *turn, uint64_t length)
{
	struct gnutella_half *half = gnutella_half_of(turn);
	uint32_t lost = length < half->left ? (uint32_t)length : half->left;

	if (half->head_length < GNUTELLA_HEAD)
		return 0;
	half->part = GNUTELLA_PART_SKIPPED;
	half->left -= lost;
	if (!half->left)
		end_body(turn);
	return lost;
}
