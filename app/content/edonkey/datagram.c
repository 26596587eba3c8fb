// SPDX-License-Identifier: BSD-3-Clause
// Reads datagrams as eMule and aMule write them (their sources: KademliaUDPListener,
// ClientUDPSocket, UDPSocket). Kad's numbers of 128 bits are four of 32 bits, the highest first,
// each little endian: of a file's id the octets of each four stand the other way round.
#include "content/edonkey/datagram.h"

#include "content/coding.h"
#include "content/edonkey/reader.h"
#include "content/memory.h"
#include "pipeline/vocab/octets.h"

struct reading {
	const uint8_t *at;
	uint32_t left;
	const struct content_sink *sink;
	unsigned half;
	bool of_kad;
};

static bool skip(struct reading *in, uint32_t n)
{
	if (in->left < n)
		return false;
	in->at += n;
	in->left -= n;
	return true;
}

static struct content_id id_at(const struct reading *in, uint32_t from)
{
	uint8_t hash[EDONKEY_HASH];

	memcpy(hash, in->at + from, EDONKEY_HASH);
	for (unsigned i = 0; in->of_kad && i < EDONKEY_HASH; i++)
		hash[i] = in->at[from + (i ^ 3)];
	return content_id_of(CONTENT_ID_ED2K, hash);
}

static void tell_id(const struct reading *in, uint32_t from)
{
	if (in->left < from + EDONKEY_HASH)
		return;
	const struct content_id id = id_at(in, from);

	in->sink->id(in->sink->ctx, &id, in->half);
}

// ---- tags ----

// What tags say of a file.
struct facts {
	struct content_text name;
	uint64_t size;
};

static uint64_t number(const uint8_t *at, uint32_t bytes)
{
	uint64_t value = 0;

	for (; bytes; bytes--)
		value = value << 8 | at[bytes - 1];
	return value;
}

static void take_value(
	struct facts *facts, uint8_t name, uint8_t type, const uint8_t *at, uint32_t bytes)
{
	if (name == EDONKEY_NAME && edonkey_is_string(type))
		facts->name = (struct content_text){at, bytes};
	else if (name == EDONKEY_SIZE && edonkey_is_number(type))
		facts->size = number(at, bytes);
	else if (name == EDONKEY_SIZE_HIGH && edonkey_is_number(type) &&
		 facts->size != CONTENT_SIZE_UNKNOWN)
		facts->size = (facts->size & UINT32_MAX) | number(at, bytes) << 32;
}

// False: it is not whole, or where it ends cannot be known.
static bool take_tag(struct reading *in, struct facts *facts)
{
	uint8_t type = in->left ? in->at[0] : 0, name = 0;
	uint32_t length = 1, bytes;

	if (!skip(in, 1))
		return false;
	if (!(type & EDONKEY_TAG_SHORT_NAME)) {
		length = in->left < 2 ? 0 : octets_le16(in->at);
		skip(in, 2);
	}
	if (!length || in->left < length)
		return false;
	name = length == 1 ? in->at[0] : 0;
	skip(in, length);
	type &= (uint8_t)~EDONKEY_TAG_SHORT_NAME;
	bytes = edonkey_value_bytes(type);
	length = edonkey_value_length_bytes(type);
	if (in->left < length || (!bytes && !length))
		return false;
	bytes = length ? (uint32_t)number(in->at, length) : bytes;
	skip(in, length);
	if (in->left < bytes)
		return false;
	take_value(facts, name, type, in->at, bytes);
	return skip(in, bytes);
}

// An entry: its id, and so many tags. False: what follows cannot be found.
static bool take_tags(struct reading *in, const struct content_id *id, uint32_t n)
{
	struct facts facts = {.size = CONTENT_SIZE_UNKNOWN};
	bool whole = true;

	for (; n && whole; n--)
		whole = take_tag(in, &facts);
	if (!facts.name.length)
		return whole;
	const struct content_whole of = {.id = *id, .size = facts.size};
	bool cut = facts.name.length > CONTENT_NAME_BYTES;
	uint32_t from = cut ? facts.name.length - CONTENT_NAME_BYTES : 0;
	const struct content_file file = {.half = (uint8_t)in->half,
		.name_source = CONTENT_NAME_OFFER,
		.name_cut = cut,
		.elsewhere = true,
		.name = {facts.name.bytes + from, facts.name.length - from},
		.whole = &of,
		.size = facts.size};

	in->sink->file(in->sink->ctx, &file);
	return whole;
}

// ---- Kad ----

// Entries: how many, then as often an id and tags.
static void take_entries(struct reading *in)
{
	uint32_t n = in->left < 2 ? 0 : octets_le16(in->at);

	for (skip(in, 2); n && in->left > EDONKEY_HASH; n--) {
		const struct content_id id = id_at(in, 0);
		uint32_t tags = in->at[EDONKEY_HASH];

		in->sink->id(in->sink->ctx, &id, in->half);
		skip(in, EDONKEY_HASH + 1);
		if (!take_tags(in, &id, tags))
			return;
	}
}

// A file, of which somebody says something: who he is, tags.
static void take_note(struct reading *in)
{
	if (in->left <= 2 * EDONKEY_HASH)
		return;
	const struct content_id id = id_at(in, 0);
	uint32_t tags = in->at[2 * EDONKEY_HASH];

	skip(in, 2 * EDONKEY_HASH + 1);
	take_tags(in, &id, tags);
}

// Where the number stands that a message is about, and what follows.
static const struct kad_row {
	uint8_t opcode, target;
	uint8_t entries; // where they begin; 0: there are none
	bool note;       // it says something of the file
} kad_rows[] = {
	{0x20, 1, 0, false},                      // who is near: what for, whom
	{0x21, 1, 0, false}, {0x28, 0, 0, false}, // the answer
	{0x29, 0, 0, false}, {0x30, 0, 0, false}, // searches
	{0x32, 0, 0, false}, {0x33, 0, 0, false}, {0x34, 0, 0, false}, {0x35, 0, 0, false},
	{0x38, 0, 16, false},                        // found
	{0x3a, 0, 16, false}, {0x3b, 16, 32, false}, // ... and who says so
	{0x40, 0, 16, false},                        // published: under a word
	{0x43, 0, 16, false}, {0x42, 0, 0, true},    // a note, a source
	{0x44, 0, 0, true}, {0x45, 0, 0, true}, {0x48, 0, 0, false}, {0x4b, 0, 0, false},
	{0x52, 16, 0, false}, // call me back: whom, for which file
};

static void from_kad(struct reading *in, uint8_t opcode)
{
	const struct kad_row *row = kad_rows;
	unsigned n = sizeof(kad_rows) / sizeof(kad_rows[0]);

	while (n && row->opcode != opcode) {
		row++;
		n--;
	}
	if (!n)
		return;
	in->of_kad = true;
	tell_id(in, row->target);
	if (row->note)
		take_note(in);
	else if (row->entries && skip(in, row->entries))
		take_entries(in);
}

// What the second generation sends of itself when it is longer than 200 bytes.
static bool from_packed_kad(struct reading *in, uint8_t opcode, struct content_memory *memory)
{
	struct coding *coding = coding_open(memory, CODING_DEFLATE);
	uint8_t *out = coding ? content_take(memory, ED2K_DATAGRAM_MAX) : NULL;
	uint32_t length = in->left, told = ED2K_DATAGRAM_MAX;

	if (out) {
		struct reading inner = *in;

		coding_feed(coding, in->at, &length, out, &told, false);
		inner.at = out;
		inner.left = told;
		from_kad(&inner, opcode);
	}
	content_give(memory, out);
	coding_close(coding);
	return out;
}

// ---- servers, and between clients ----

// Hashes, each with its size in the later form.
static void take_hashes(struct reading *in, bool sized)
{
	while (in->left >= EDONKEY_HASH) {
		bool wide = sized && in->left >= EDONKEY_HASH + 4 &&
			    !octets_le32(in->at + EDONKEY_HASH);

		tell_id(in, 0);
		if (!skip(in, EDONKEY_HASH + (sized ? 4u : 0) + (wide ? 8u : 0)))
			return;
	}
}

// Results of a search, sources of a file: each behind the first has a head of its own.
static void take_results(struct reading *in, bool sources)
{
	const uint32_t head = sources ? EDONKEY_HASH + 1 : EDONKEY_HASH + 10;

	while (in->left >= head) {
		const struct content_id id = id_at(in, 0);
		uint32_t n = sources ? in->at[EDONKEY_HASH] : octets_le32(in->at + head - 4);

		in->sink->id(in->sink->ctx, &id, in->half);
		skip(in, head);
		if (!(sources ? skip(in, 6 * n) : take_tags(in, &id, n)) || !skip(in, 2))
			return;
	}
}

static void from_server(struct reading *in, uint8_t opcode)
{
	switch (opcode) {
	case 0x94: take_hashes(in, true); break;
	case 0x9a: take_hashes(in, false); break;
	case 0x99: take_results(in, false); break;
	case 0x9b: take_results(in, true); break;
	default: break;
	}
}

bool ed2k_datagram(
	const struct span *datagram, struct content_memory *memory, const struct content_sink *sink)
{
	const uint8_t *bytes = span_bytes(datagram);
	struct reading in = {.sink = sink, .half = datagram->half & 1};

	if (!ed2k_is_datagram(bytes, span_length(datagram)))
		return true;
	in.at = bytes + 2;
	in.left = span_length(datagram) - 2;
	switch (bytes[0]) {
	case EDONKEY_KAD: from_kad(&in, bytes[1]); break;
	case EDONKEY_KAD_PACKED: return from_packed_kad(&in, bytes[1], memory);
	case EDONKEY_ED2K: from_server(&in, bytes[1]); break;
	case EDONKEY_EMULE: // does it still wait for this file; the same by another one
		if (bytes[1] == 0x90)
			tell_id(&in, 0);
		else if (bytes[1] == 0x94)
			tell_id(&in, EDONKEY_HASH);
		break;
	default: break;
	}
	return true;
}
