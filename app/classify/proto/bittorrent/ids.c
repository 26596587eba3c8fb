// SPDX-License-Identifier: BSD-3-Clause
// Finds the torrents that a datagram names.
#include "classify/proto/bittorrent/ids.h"

#include "pipeline/vocab/bencode.h"
#include "classify/text.h"

struct found {
	struct content_id *ids;
	unsigned n, room;
};

static void add(struct found *found, const uint8_t *hash)
{
	if (found->n < found->room)
		found->ids[found->n] = content_id_of(CONTENT_ID_BTIH, hash);
	found->n++;
}

// A string of hashes, one behind the other.
static void add_all(struct found *found, const uint8_t *at, uint32_t length)
{
	for (; length >= CONTENT_ID_BT_WIRE; at += CONTENT_ID_BT_WIRE, length -= CONTENT_ID_BT_WIRE)
		add(found, at);
}

// The next value of that key in the dictionary, in which the cursor is; of a key that comes twice
// receivers take either.
static bool next_value(struct bencode *in, const char *key, struct bencode *value)
{
	const uint8_t *name;
	uint32_t length;

	while (bencode_key(in, &name, &length)) {
		*value = *in;
		if (!bencode_skip(in))
			in->at = in->end; // what is here of it may be read all the same
		if (length == strlen(key) && !memcmp(name, key, length))
			return true;
	}
	return false;
}

static bool enter(struct bencode *in)
{
	return in->at < in->end && *in->at++ == 'd';
}

static void find_strings(struct found *found, struct bencode in, const char *part, const char *key)
{
	struct bencode inner, value;
	const uint8_t *text;
	uint32_t length;

	if (!enter(&in))
		return;
	while (next_value(&in, part, &inner)) {
		if (!enter(&inner))
			continue;
		while (next_value(&inner, key, &value))
			if (bencode_string(&value, &text, &length))
				add_all(found, text, length);
	}
}

static void from_dht(struct found *found, const uint8_t *bytes, uint32_t length)
{
	const struct bencode message = {bytes, bytes + length};

	find_strings(found, message, "a", "info_hash");
	find_strings(found, message, "r", "samples");
}

// Behind the connection's id: action, transaction, then the hashes.
static void from_tracker(struct found *found, const uint8_t *at, uint32_t length)
{
	enum { ANNOUNCE = 1, SCRAPE = 2, HASHES_FROM = 16, ANNOUNCE_BYTES = 98 };

	if (length < HASHES_FROM)
		return;
	if (octets_be32(at + 8) == ANNOUNCE && length >= ANNOUNCE_BYTES)
		add(found, at + HASHES_FROM);
	else if (octets_be32(at + 8) == SCRAPE)
		add_all(found, at + HASHES_FROM, length - HASHES_FROM);
}

// Data (type 0, version 1): 20 bytes, then extensions, each of which says what the next one is.
static void from_utp(struct found *found, const uint8_t *at, uint32_t length)
{
	enum { HEADER = 20, HASH_FROM = 28 };
	static const char lead[] = "\x13"
				   "BitTorrent protocol";
	uint32_t next = HEADER;
	uint8_t extension;

	if (length < HEADER || at[0] != 0x01)
		return;
	extension = at[1];
	while (extension) { // each takes two bytes at least
		if (length - next < 2 || length - next - 2 < at[next + 1])
			return;
		extension = at[next];
		next += 2 + at[next + 1];
	}
	if (length - next >= HASH_FROM + CONTENT_ID_BT_WIRE &&
		!memcmp(at + next, lead, sizeof(lead) - 1))
		add(found, at + next + HASH_FROM);
}

unsigned bittorrent_datagram_ids(const struct span *datagram, struct content_id *ids, unsigned room)
{
	const struct text text = span_text(datagram);
	struct found found = {.ids = ids, .room = room};

	if (!text.length)
		return 0;
	if (text.at[0] == 'd') {
		from_dht(&found, text.at, text.length);
		return found.n;
	}
	from_utp(&found, text.at, text.length);
	from_tracker(&found, text.at, text.length);
	return found.n;
}
