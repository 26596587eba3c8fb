// SPDX-License-Identifier: BSD-3-Clause
// Gnutella 0.4 and 0.6, Gnutella2, and the transfers of both, which are HTTP.
#include "classify/app_proto.h"
#include "classify/proto/gnutella/push.h"
#include "pipeline/vocab/octets.h"

// ---- transfers: GET /get/<index>/<name> (Gnutella 0.4, section "File Downloads") ----

// Any web server may have such a path, so the head has to name a client or a header of Gnutella.
static bool head_of_gnutella(const uint8_t *head, uint32_t length)
{
	static const char *const marks[] = {
		"\r\nX-Gnutella-",
		"\r\nX-Queue: ",
		"\r\nX-Features: ",
		"\r\nReferrer: Gnutella",
		"gnutella",
		"Gnutella",
		"Gnucleus",
		"BearShare",
		"LimeWire",
		"FrostWire",
		"Shareaza",
		"Morpheus",
		"XoloX",
		"Phex",
		"Cabos",
		"Acquisition",
		"Gnotella",
		"Gnutizen",
	};

	for (unsigned i = 0; i < sizeof(marks) / sizeof(marks[0]); i++)
		if (octets_have(head, length, marks[i]))
			return true;
	return false;
}

static enum verify verify_get(const struct probe *probe)
{
	const uint8_t *line_end = memchr(probe->bytes, '\n', probe->length);
	const uint8_t *head_end = memmem(probe->bytes, probe->length, "\r\n\r\n", 4);
	uint32_t line = line_end ? (uint32_t)(line_end - probe->bytes) : probe->length;
	uint32_t head = head_end ? (uint32_t)(head_end - probe->bytes) : probe->length;

	// the name in the request line is the user's text and proves nothing
	// without any header the head ends before the line does
	if (line < head && head_of_gnutella(probe->bytes + line, head - line))
		return VERIFY_YES;
	return head_end ? VERIFY_NO : VERIFY_MORE;
}

// ---- UDP of Gnutella2: "GND", flags, sequence u16, part, how many parts (0: acknowledgement) ----

enum {
	GND_HEADER = 8,
	GND_DEFLATE = 1,
};

// RFC 1950 2.2: deflate, with a window of 32 KiB at most, and a check of five bits.
static bool is_zlib(const uint8_t *at, uint32_t length)
{
	return length > 2 && (at[0] & 15) == 8 && at[0] >> 4 <= 7 && octets_be16(at) % 31 == 0;
}

static enum verify verify_gnd(const struct probe *probe)
{
	const uint8_t *at = probe->bytes;
	uint32_t length = probe->length, name;

	if (length < GND_HEADER || !at[6])
		return VERIFY_NO;
	if (!at[7])
		return length == GND_HEADER ? VERIFY_DPI : VERIFY_NO;
	if (at[6] > at[7])
		return VERIFY_NO;
	if (at[6] > 1) // no more is known of a later part: 28 bits
		return VERIFY_PARTIAL;
	if (at[3] & GND_DEFLATE)
		return is_zlib(at + GND_HEADER, length - GND_HEADER) ? VERIFY_DPI : VERIFY_NO;
	// a packet: control, its length, a name in capitals
	if (length < GND_HEADER + 1)
		return VERIFY_NO;
	at += GND_HEADER;
	name = (at[0] >> 3 & 7u) + 1;
	if (length - GND_HEADER < 1u + (at[0] >> 6) + name)
		return VERIFY_NO;
	at += 1 + (at[0] >> 6);
	for (uint32_t i = 0; i < name; i++)
		if (!octets_upper(at[i]) && !octets_digit(at[i]))
			return VERIFY_NO;
	return VERIFY_YES;
}

static enum verify verify(const struct probe *probe)
{
	if (octets_begin(probe->bytes, probe->length, "G") && probe->length > 3 &&
		(!memcmp(probe->bytes, "GND", 3) || !memcmp(probe->bytes, "GTA", 3)))
		return verify_gnd(probe);
	return verify_get(probe);
}

// ---- descriptors in datagrams: GUID, type, ttl, hops, length u32 LE of what follows ----

enum {
	DESCRIPTOR = 23,
	TYPE_PING = 0x00,
	TYPE_PONG = 0x01,
	TYPE_BYE = 0x02,
	TYPE_VENDOR = 0x31,
	TYPE_VENDOR_STANDARD = 0x32,
	TYPE_ROUTES = 0x30,
	TYPE_PUSH = 0x40,
	TYPE_RELIABLE = 0x41, // LimeWire's transfers over UDP, from behind firewalls
	TYPE_DHT = 0x44,
	TYPE_QUERY = 0x80,
	TYPE_HIT = 0x81,
};

// What a GUID is not: the same byte all over (padding).
static bool guid_good(const uint8_t *at)
{
	return memcmp(at, at + 1, 15) != 0;
}

// Chance, as RFC-Gnutella 2.2.1 wants it: numbers and padding have fewer different octets.
static bool guid_random(const uint8_t *at)
{
	uint64_t seen[4] = {0};
	int n = 0;

	for (unsigned i = 0; i < 16; i++)
		seen[at[i] >> 6] |= 1ULL << (at[i] & 63);
	for (unsigned i = 0; i < 4; i++)
		n += __builtin_popcountll(seen[i]);
	return n >= 12;
}

static bool vendor_good(const uint8_t *at)
{
	return octets_upper(at[0]) && octets_upper(at[1]) && octets_upper(at[2]) &&
	       octets_upper(at[3]);
}

// The length has to be exactly what is there: with the type that is more than 32 bits of proof.
// An empty payload proves less: marks of modern GUIDs are asked for, or an id of chance.
static enum verify shape_udp(const struct probe *probe)
{
	const uint8_t *at = probe->bytes;
	uint32_t body;

	if (probe->length < DESCRIPTOR || octets_le32(at + 19) != probe->length - DESCRIPTOR)
		return VERIFY_NO;
	body = probe->length - DESCRIPTOR;
	if (!guid_good(at) || (at[16] != TYPE_DHT && (at[17] > 15 || at[18] > 15)))
		return VERIFY_NO;
	switch (at[16]) {
	case TYPE_PING:
		if (body)
			return at[DESCRIPTOR] == 0xc3 ? VERIFY_YES : VERIFY_NO; // GGEP
		if (at[8] == 0xff && !at[15] && at[17] + at[18])
			return VERIFY_DPI;
		// an older client's: 56 bits are fixed behind an id of chance
		return at[17] && at[17] <= 7 && !at[18] && guid_random(at) ? VERIFY_PARTIAL
									   : VERIFY_NO;
	case TYPE_PONG: return body >= 14 ? VERIFY_DPI : VERIFY_NO;
	case TYPE_BYE: return body >= 3 ? VERIFY_DPI : VERIFY_NO;
	case TYPE_VENDOR:
	case TYPE_VENDOR_STANDARD:
		return body >= 8 && (vendor_good(at + DESCRIPTOR) || !octets_be32(at + DESCRIPTOR))
			       ? VERIFY_YES
			       : VERIFY_NO;
	case TYPE_PUSH: return body >= 26 ? VERIFY_DPI : VERIFY_NO;
	case TYPE_RELIABLE: // connection, kind and how much of it is here (12 at most), sequence
		return at[17] == 1 && !at[18] && at[1] >> 4 <= 4 && (at[1] & 15) <= 12 ? VERIFY_DPI
										       : VERIFY_NO;
	case TYPE_QUERY: return body >= 3 ? VERIFY_DPI : VERIFY_NO;
	case TYPE_HIT: return body >= 27 ? VERIFY_DPI : VERIFY_NO;
	case TYPE_DHT: // opcode, vendor, its version (Mojito)
		return body >= 7 && at[DESCRIPTOR] >= 1 && at[DESCRIPTOR] <= 10 &&
				       vendor_good(at + DESCRIPTOR + 1)
			       ? VERIFY_YES
			       : VERIFY_NO;
	default: return VERIFY_NO;
	}
}

// ---- connections whose handshake was not seen, where they are not compressed ----

// How long a descriptor is in all that begins here; 0: it is none.
static uint32_t descriptor_length(const uint8_t *at)
{
	uint32_t body = octets_le32(at + 19);

	if (at[17] > 15 || at[18] > 15 || !(at[17] + at[18]) || body > 1 << 16 || !guid_random(at))
		return 0;
	switch (at[16]) {
	case TYPE_PING: return DESCRIPTOR + body;
	case TYPE_PONG: return body >= 14 ? DESCRIPTOR + body : 0;
	case TYPE_BYE:
	case TYPE_ROUTES:
	case TYPE_QUERY: return body >= 3 ? DESCRIPTOR + body : 0;
	case TYPE_VENDOR:
	case TYPE_VENDOR_STANDARD: return body >= 8 ? DESCRIPTOR + body : 0;
	case TYPE_PUSH: return body >= 26 ? DESCRIPTOR + body : 0;
	case TYPE_HIT: return body >= 27 ? DESCRIPTOR + body : 0;
	default: return 0;
	}
}

// Names of packets at the root (g2.doxu.org, "Packet index").
static const char *const roots[] = {"CRAWLA", "CRAWLR", "HAW", "HUBS", "KHL", "KHLA", "KHLR", "LNI",
	"PI", "PO", "PUSH", "Q2", "QA", "QH2", "QHT", "QKA", "QKR", "UPROC", "UPROD", "HURN"};

// Gnutella2: control (how many octets the length has, how many letters the name, flags), length
// (little endian unless a flag says else), name. How long it is in all; 0: it is none.
static uint32_t packet_length(const uint8_t *at, uint32_t left)
{
	uint32_t n = at[0] >> 6, name = (at[0] >> 3 & 7u) + 1, length = 0;

	if (left < 1 + n + name || at[0] & 3)
		return 0;
	for (uint32_t i = 0; i < n; i++)
		length |= (uint32_t)at[1 + i] << 8 * i;
	if (n && !at[n]) // no octet that says nothing
		return 0;
	for (unsigned i = 0; i < sizeof(roots) / sizeof(roots[0]); i++)
		if (strlen(roots[i]) == name && !memcmp(at + 1 + n, roots[i], name))
			return 1 + n + name + length;
	return 0;
}

// One after the other, each where the last one ended: two are enough, or one that ends where the
// segment does.
static enum verify shape_tcp(const struct probe *probe)
{
	uint32_t at = 0, n = 0, letters = 0;

	if (!probe->midstream || probe->length < 8)
		return VERIFY_NO;
	for (; n < 2 && probe->length - at >= DESCRIPTOR; n++) {
		uint32_t length = descriptor_length(probe->bytes + at);

		if (!length || length > probe->length - at)
			break;
		at += length;
	}
	if (n)
		return n == 2 ? VERIFY_DPI : at == probe->length ? VERIFY_PARTIAL : VERIFY_NO;
	while (at < probe->length && letters < 8) {
		uint32_t length = packet_length(probe->bytes + at, probe->length - at);

		if (!length || length > probe->length - at)
			return VERIFY_NO;
		letters += (probe->bytes[at] >> 3 & 7u) + 1;
		at += length;
		n++;
	}
	return n >= 2 && letters >= 5 ? VERIFY_DPI : VERIFY_NO;
}

const struct app_proto app_proto_gnutella = {
	.name = "gnutella",
	.title = "Gnutella and Gnutella2",
	.group = "file-sharing",
	.category = APP_CATEGORY_P2P,
	.speaks_http = true,
	.verify = verify,
	.decode = gnutella_push_decode,
	.decode_datagram = gnutella_push_datagram,
	.shape_tcp = shape_tcp,
	.shape_udp = shape_udp,
	.tcp_ports = {6346, 6347},
	.udp_ports = {6346, 6347},
};
