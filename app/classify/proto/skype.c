// SPDX-License-Identifier: BSD-3-Clause
// Skype: the peers' protocol over UDP and the login over TCP of the years up to 2017, and the hosts
// of its service.
// A datagram is an object id (16 bits), a type, then by type (Biondi and Desclaux, "Silver Needle
// in the Skype", 2006; Ehlert and Petgang, "Analysis and Signature of Skype VoIP Session Traffic",
// 2006; Baset and Schulzrinne, 2004; Bock's OpenSkype):
//   2 objects: initialization vector 32 bits, checksum 32 bits, RC4
//   5, 7 the checksum was wrong (the peer did not know its own public address): that address, a
//        seed of 32 bits; 11 bytes in all, under the id that it answers
// The first datagram to a peer is a probe of type 2 with a short list of objects: 18 bytes or a
// little more. One probe is 8 bits of evidence and an encrypted look, no proof: a hint (partial;
// some 8 of 100,000 datagrams of random bytes and length). With the answer 38 bits are fixed.
// A probe goes to one peer: to a group, or to all, none is sent. It has no length: where one seems
// to stand in front, another protocol is likelier (ASN.1's SNMP and CLDAP, all that is framed), and
// the hint waits for the answer; of Skype's own probes that is one in 80, by chance.
//
// The login over TCP looks like TLS: the client begins with the head of a handshake record without
// content, the server with that of a record of data (Baset and Schulzrinne, "An Analysis of the
// Skype Peer-to-Peer Internet Telephony Protocol", 2006, login server). No server of TLS sends data
// first: 80 bits, if the client's next record is neither a hello nor empty, too.
#include <netinet/in.h>
#include "classify/app_proto.h"
#include "classify/text.h"
#include "pipeline/vocab/address.h"

#define PROBE_MIN   18
#define PROBE_MAX   48
#define ANSWER      11
#define TYPE        2 // offset
#define OBJECTS     2
#define FIRST_FREE  1024
#define REMEMBERED  0x10000 // in the memo, with the id
#define TYPE_BITS   0x8f    // the rest of the octet varies
#define LENGTHS_END 8       // lengths stand before it

// What RC4 makes: hardly any octet twice. Text, and records with zeros, are far from that.
static bool looks_encrypted(const uint8_t *at, uint32_t length)
{
	uint64_t seen[4] = {0};
	uint32_t distinct = 0;

	for (uint32_t i = 0; i < length; i++) {
		uint64_t bit = 1ULL << (at[i] & 63);

		distinct += !(seen[at[i] >> 6] & bit);
		seen[at[i] >> 6] |= bit;
	}
	return 4 * distinct >= 3 * length;
}

// Clients and supernodes listen on a port above 1023, and as a way through firewalls on 80 or 443.
static bool is_port(uint16_t port)
{
	return port >= FIRST_FREE || port == 80 || port == 443;
}

static bool is_length(uint32_t number, uint32_t length, uint32_t behind)
{
	return number == length || number == length - behind;
}

// Of 16 bits in either order, the datagram's or of what follows; of 8 bits, which fit by chance
// more often, of what follows alone, and where a length stands first or behind a type.
static bool has_length(const uint8_t *at, uint32_t length)
{
	for (uint32_t i = 0; i < LENGTHS_END; i++)
		if (is_length(octets_be16(at + i), length, i + 2) ||
			is_length(octets_le16(at + i), length, i + 2))
			return true;
	for (uint32_t i = 0; i <= TYPE + 1; i++)
		if (i != TYPE && at[i] == length - i - 1)
			return true;
	return false;
}

// 224.0.0.0/4, 255.255.255.255 (RFC 5771, RFC 919), ff00::/8 (RFC 4291 2.7).
static bool is_to_many(const uint8_t address[16])
{
	if (!address_is_mapped(address))
		return address[0] == 0xff;
	return address[12] >> 4 == 0xe || octets_be32(address + 12) == UINT32_MAX;
}

static enum verify verify_probe(const struct probe *probe)
{
	if (probe->n_data_pkts != 1 || probe->half != HALF_C2S || probe->length < PROBE_MIN ||
		probe->length > PROBE_MAX || probe->bytes[TYPE] != OBJECTS)
		return VERIFY_NO;
	if (!is_port(probe->sport) || !is_port(probe->dport) ||
		is_to_many(probe->ends->address[HALF_S2C]) ||
		!looks_encrypted(probe->bytes + TYPE + 1, probe->length - TYPE - 1))
		return VERIFY_NO;
	probe->memo->word[0] = REMEMBERED | octets_be16(probe->bytes);
	return has_length(probe->bytes, probe->length) ? VERIFY_MORE : VERIFY_PARTIAL;
}

#define LOGIN       5 // what each side says first
#define NEXT_TYPE   (LOGIN + 5)
#define NEXT_LENGTH (LOGIN + 3)
#define TLS_HELLO   1

// `half` begins with these octets, as far as it goes.
static bool begins_login(struct text half, uint8_t type)
{
	const uint8_t login[LOGIN] = {type, 3, 1, 0, 0};

	return !half.length || !memcmp(half.at, login, half.length < LOGIN ? half.length : LOGIN);
}

static enum verify verify_login(const struct probe *probe)
{
	struct text client = text_of(probe, HALF_C2S), server = text_of(probe, HALF_S2C);

	if (!begins_login(client, 0x16) || !begins_login(server, 0x17) ||
		(client.length > NEXT_TYPE && client.at[NEXT_TYPE] == TLS_HELLO) ||
		(client.length >= NEXT_TYPE && !octets_be16(client.at + NEXT_LENGTH)))
		return VERIFY_NO;
	return client.length < LOGIN || server.length < LOGIN ? VERIFY_MORE : VERIFY_YES;
}

static enum verify verify(const struct probe *probe)
{
	if (probe->l4_proto == IPPROTO_TCP)
		return verify_login(probe);
	if (probe->length != ANSWER)
		return verify_probe(probe);
	uint8_t type = probe->bytes[TYPE] & TYPE_BITS;
	bool answers = probe->memo->word[0] == (REMEMBERED | octets_be16(probe->bytes));

	return probe->half == HALF_S2C && answers && (type == 5 || type == 7) ? VERIFY_DPI
									      : VERIFY_NO;
}

const struct app_proto app_proto_skype = {
	.name = "skype",
	.title = "Skype",
	.group = "chat",
	.category = APP_CATEGORY_IM,
	.verify = verify,
};
