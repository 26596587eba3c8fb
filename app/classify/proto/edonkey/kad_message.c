// SPDX-License-Identifier: BSD-3-Clause
// Kad's messages (eMule, kademlia/net; aMule, protocol/kad and kad2), of both generations.
#include "classify/proto/edonkey/kad_message.h"
#include "classify/proto/edonkey/exchange.h"
#include "classify/proto/edonkey/tag.h"
#include "pipeline/vocab/octets.h"

enum {
	KAD_CONTACT = 25, // id, address, two ports, version or type
	KAD_VERSION_MAX = 16,
	KAD_TYPE_MAX = 4, // in the first generation
};

static bool contacts_good(const uint8_t *at, uint32_t left, uint32_t n)
{
	if (!n || n > 200 || left != n * KAD_CONTACT)
		return false;
	for (uint32_t i = 0; i < n; i++) {
		const uint8_t *contact = at + i * KAD_CONTACT;

		if (contact[24] > KAD_VERSION_MAX || !octets_le16(contact + 20))
			return false;
	}
	return true;
}

// A contact that is all: id, address, ports for UDP and TCP, type. Who has its own port in it is
// no NAT's client, and proves it.
static enum verify contact_alone(const struct probe *probe, const uint8_t *at)
{
	if (!edonkey_is_hash(at) || at[24] > KAD_TYPE_MAX || !octets_le16(at + 20) ||
		!octets_le16(at + 22))
		return VERIFY_NO;
	return octets_le16(at + 20) == probe->sport || octets_le16(at + 20) == probe->dport
		       ? VERIFY_DPI
		       : edonkey_twice(probe);
}

// Id, TCP port, version, tags.
static bool kad_hello_good(struct edonkey_reader in)
{
	uint8_t tags;

	if (in.left < 20 || !octets_le16(in.at + 16) || in.at[18] > KAD_VERSION_MAX)
		return false;
	tags = in.at[19];
	edonkey_skip(&in, 20);
	return tags <= 16 && edonkey_skip_tags(&in, tags) && !in.left;
}

// How many, then as often: id, tags. Nothing may be left.
static bool kad_entries_good(struct edonkey_reader in)
{
	uint16_t n;

	if (in.left < 2)
		return false;
	n = octets_le16(in.at);
	edonkey_skip(&in, 2);
	for (unsigned i = 0; i < n; i++) {
		if (in.left < 17)
			return false;
		uint8_t tags = in.at[16];

		edonkey_skip(&in, 17);
		if (!tags || !edonkey_skip_tags(&in, tags))
			return false;
	}
	return n && !in.left;
}

// One source: its id, tags.
static bool kad_source_good(struct edonkey_reader in)
{
	uint8_t tags;

	if (in.left < 17)
		return false;
	tags = in.at[16];
	edonkey_skip(&in, 17);
	return tags && edonkey_skip_tags(&in, tags) && !in.left;
}

static enum verify kad_request(const struct probe *probe, uint8_t opcode, uint32_t token)
{
	edonkey_remember(probe, opcode, token);
	return VERIFY_MORE;
}

static enum verify kad_answer(const struct probe *probe, uint8_t opcode, uint32_t token)
{
	uint32_t expected;

	return edonkey_asked(probe, opcode, &expected) && expected == token ? VERIFY_YES
									    : VERIFY_NO;
}

// Where length and fields tell Kad from anything else, one datagram is enough; short ones count
// only as a request with its answer.
enum verify kad_verify(const struct probe *probe)
{
	const uint8_t *at = probe->bytes + 2;
	uint32_t left = probe->length - 2;

	switch (probe->bytes[1]) {
	case 0x00: // bootstrap of the first generation: who asks
	case 0x10: // hello
	case 0x18: // its answer
		return left == KAD_CONTACT ? contact_alone(probe, at) : VERIFY_NO;
	case 0x08: // bootstrap's answer: contacts
		return left >= 2 && contacts_good(at + 2, left - 2, octets_le16(at)) ? VERIFY_YES
										     : VERIFY_NO;
	case 0x30: // search: target, more to it
	case 0x32: // search for notes: target
		if (left < EDONKEY_HASH || !edonkey_is_hash(at))
			return VERIFY_NO;
		return kad_request(probe, 0x38, octets_le32(at));
	case 0x38: // results: target, how many
	case 0x3a: return left >= 18 ? kad_answer(probe, 0x38, octets_le32(at)) : VERIFY_NO;
	case 0x40: // publish: target, how many, entries
		if (left < 36 || !edonkey_is_hash(at) || !edonkey_is_hash(at + 18))
			return VERIFY_NO;
		return kad_request(probe, 0x48, octets_le32(at));
	case 0x48: // its answer: target, load
		return left == 16 || left == 17 ? kad_answer(probe, 0x48, octets_le32(at))
						: VERIFY_NO;
	case 0x01: // bootstrap
		return left ? VERIFY_NO : kad_request(probe, 0x01, 0);
	case 0x09: // its answer: id, port, version, contacts
		return left >= 21 && contacts_good(at + 21, left - 21, octets_le16(at + 19))
			       ? VERIFY_YES
			       : VERIFY_NO;
	case 0x11: // hello
	case 0x19: // its answer
		return kad_hello_good((struct edonkey_reader){at, left}) ? VERIFY_YES : VERIFY_NO;
	case 0x20:
	case 0x21: // route: how many contacts, target, receiver; 22 bits and a length
		if (left != 33 || (at[0] != 2 && at[0] != 4 && at[0] != 11) ||
			!edonkey_is_hash(at + 1) || !edonkey_is_hash(at + 17))
			return VERIFY_NO;
		return probe->memo->word[4]++ ? VERIFY_DPI : VERIFY_PARTIAL;
	case 0x28:
	case 0x29: // its answer: target, contacts
		if (left < 17)
			return VERIFY_NO;
		if (left == 17 && !at[16])
			return VERIFY_PARTIAL;
		return contacts_good(at + 17, left - 17, at[16]) ? VERIFY_YES : VERIFY_NO;
	case 0x33: // search by word
	case 0x34: // search for sources: target, from, size
	case 0x35: // search for notes: target, size
		return (probe->bytes[1] == 0x33 && left >= 18) ||
				       (probe->bytes[1] == 0x34 && left == 26) ||
				       (probe->bytes[1] == 0x35 && left == 24)
			       ? kad_request(probe, 0x3b, octets_le32(at))
			       : VERIFY_NO;
	case 0x3b: // results: sender, target, entries
		if (left >= 34 && kad_entries_good((struct edonkey_reader){at + 32, left - 32}))
			return VERIFY_YES;
		return left >= 36 ? kad_answer(probe, 0x3b, octets_le32(at + 16)) : VERIFY_NO;
	case 0x43: // publish words: target, entries
		return left >= 18 && kad_entries_good((struct edonkey_reader){at + 16, left - 16})
			       ? VERIFY_YES
			       : VERIFY_NO;
	case 0x44: // publish a source: target, source
	case 0x45: // publish a note: the same
		return left >= 33 && kad_source_good((struct edonkey_reader){at + 16, left - 16})
			       ? VERIFY_YES
			       : VERIFY_NO;
	case 0x22: // the hello's answer was heard: id, no tags
		return left == 17 && !at[16] && edonkey_is_hash(at) ? edonkey_twice(probe)
								    : VERIFY_NO;
	case 0x4b: // published: target, load in percent, options
		return (left == 17 || (left == 18 && at[17] <= 1)) && at[16] <= 100 &&
				       edonkey_is_hash(at)
			       ? edonkey_twice(probe)
			       : VERIFY_NO;
	case 0x51: // who stands in for me: my id, my user hash, TCP port
	case 0x52: // call me back: the same of who is asked, the file
	case 0x5a: // the answer to 0x51, options behind it in newer ones
		return (left == 34 || (left == 35 && probe->bytes[1] == 0x5a)) &&
				       edonkey_is_hash(at) && edonkey_is_hash(at + 16) &&
				       octets_le16(at + 32)
			       ? edonkey_twice(probe)
			       : VERIFY_NO;
	case 0x50: // am I behind a firewall: TCP port
		return left == 2 ? kad_request(probe, 0x58, 0) : VERIFY_NO;
	case 0x53: // the same with hash and options
		return left == 19 ? kad_request(probe, 0x58, 0) : VERIFY_NO;
	case 0x58: // your address
		return left == 4 ? kad_answer(probe, 0x58, 0) : VERIFY_NO;
	case 0x60: // ping
		return left ? VERIFY_NO : kad_request(probe, 0x60, probe->sport);
	case 0x61: // pong: the port that the ping came from
		return left == 2 ? kad_answer(probe, 0x60, octets_le16(at)) : VERIFY_NO;
	default: return VERIFY_NO;
	}
}

// What compress2 of zlib begins with: a window of 32 KiB, no dictionary, a first block that is the
// last one, too (it holds 16,384 symbols at least), not merely stored, and with no more codes than
// there are (RFC 1950 2.2, RFC 1951 3.2.3, 3.2.7).
static bool zlib_whole(const struct edonkey_reader *in)
{
	uint8_t block = in->at[2];

	return in->at[0] == 0x78 && octets_be16(in->at) % 31 == 0 && !(in->at[1] & 0x20) &&
	       ((block & 7) == 3 || ((block & 7) == 5 && block >> 3 <= 29));
}

enum verify kad_verify_packed(const struct probe *probe)
{
	const struct edonkey_reader in = {probe->bytes + 2, probe->length - 2};

	switch (probe->bytes[1]) {
	case 0x08:
	case 0x09:
	case 0x28:
	case 0x29:
	case 0x33:
	case 0x38:
	case 0x3a:
	case 0x3b:
	case 0x40:
	case 0x43:
	case 0x44:
	case 0x45:
		// 28 bits: a hint, two of them more
		if (in.left < 16 || !zlib_whole(&in))
			return VERIFY_NO;
		return probe->memo->word[5]++ ? VERIFY_DPI : VERIFY_PARTIAL;
	default: return VERIFY_NO;
	}
}
