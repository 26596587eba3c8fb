// SPDX-License-Identifier: BSD-3-Clause
// DNS over UDP and TCP (RFC 1035 4; 4.2.2 for the length before a message in TCP). No pattern
// exists for two random bytes and flags: the message is walked from its header to its last byte,
// which no other protocol's datagram survives. Multicast DNS and LLMNR have the same form; their
// ports tell them apart, and they are not DNS to a policy.
#include <netinet/in.h>
#include "classify/app_proto.h"
#include "classify/dns_answer.h"
#include "classify/text.h"
#include "pipeline/vocab/address.h"

#define HEADER_BYTES 12
#define NAME_MAX     255 // RFC 1035 2.3.4
#define RECORDS_MAX  64  // looked at; the rest of a long answer is taken on trust
#define NETBIOS_NAME 32
#define PORT_NETBIOS 137
#define PORT_MDNS    5353
#define PORT_LLMNR   5355

// Skips a name: labels up to 63, ended by the root or by a pointer backwards (RFC 1035 4.1.4).
static bool skip_name(struct text message, uint32_t *at)
{
	uint32_t begin = *at, i = *at;

	while (i < message.length && i - begin <= NAME_MAX) {
		uint8_t length = message.at[i];

		if (!length) {
			*at = i + 1;
			return true;
		}
		if (length >= 0xc0) {
			if (i + 2 > message.length || (octets_be16(message.at + i) & 0x3fff) >= i)
				return false;
			*at = i + 2;
			return true;
		}
		if (length > 63)
			return false;
		i += 1u + length;
	}
	return false;
}

// Classes: IN, CH, HS, NONE, ANY (RFC 6895 3.2); the type is anything but 0.
static bool is_class(uint16_t class)
{
	return (class >= 1 && class <= 4) || class == 254 || class == 255;
}

static bool skip_question(struct text message, uint32_t *at)
{
	if (!skip_name(message, at) || message.length - *at < 4)
		return false;
	bool good = octets_be16(message.at + *at) && is_class(octets_be16(message.at + *at + 2));

	*at += 4;
	return good;
}

static bool skip_record(struct text message, uint32_t *at)
{
	if (!skip_name(message, at) || message.length - *at < 10)
		return false;
	const uint8_t *fields = message.at + *at;
	uint32_t length = 10u + octets_be16(fields + 8);

	// OPT (RFC 6891) uses the class for a size.
	if (length > message.length - *at ||
		(octets_be16(fields) != 41 && !is_class(octets_be16(fields + 2))))
		return false;
	*at += length;
	return true;
}

// `cut`: the message goes on behind what is here.
static bool is_message(struct text message, bool cut)
{
	uint16_t flags, questions, answers, records;
	uint32_t at = HEADER_BYTES, opcode;

	if (message.length < HEADER_BYTES + 5)
		return false;
	flags = octets_be16(message.at + 2);
	questions = octets_be16(message.at + 4);
	answers = octets_be16(message.at + 6);
	opcode = flags >> 11 & 15;
	records = (uint16_t)(answers + octets_be16(message.at + 8) + octets_be16(message.at + 10));
	// QUERY, STATUS, NOTIFY, UPDATE; the reserved bit is 0; a question is one (RFC 9619).
	if ((opcode != 0 && opcode != 2 && opcode != 4 && opcode != 5) || flags & 0x40 ||
		questions != 1)
		return false;
	// A query says no result, and brings no answers but in updates and notifications.
	if (!(flags & 0x8000) && (flags & 0x000f || flags & 0x0080 || (!opcode && answers)))
		return false;
	if (!skip_question(message, &at))
		return false;
	for (unsigned i = 0; i < records && i < RECORDS_MAX; i++)
		if (!skip_record(message, &at))
			return cut || flags & 0x0200; // or truncated by the server (TC)
	return at == message.length || cut || records > RECORDS_MAX || flags & 0x0200;
}

static bool is_port_of(const struct probe *probe, uint16_t port)
{
	return probe->sport == port || probe->dport == port;
}

// RFC 1002 4.2.1: a name of NetBIOS is 16 octets as 32 letters from A to P, its types are NB and
// NBSTAT.
static bool is_netbios(struct text message)
{
	uint32_t end = HEADER_BYTES + 1 + NETBIOS_NAME;

	if (message.length < end + 5 || message.at[HEADER_BYTES] != NETBIOS_NAME)
		return false;
	for (uint32_t i = HEADER_BYTES + 1; i < end; i++)
		if (message.at[i] < 'A' || message.at[i] > 'P')
			return false;
	uint16_t type = octets_be16(message.at + end + 1);

	return !message.at[end] && (type == 0x20 || type == 0x21);
}

// RFC 6762 3, RFC 4795 2: a group is asked by others alone.
static bool is_to_group(const struct probe *probe)
{
	const uint8_t *to = probe->ends->address[!(probe->half & 1)];

	return to[0] == 0xff || (address_is_mapped(to) && (to[12] & 0xf0) == 0xe0);
}

static enum verify shape_udp(const struct probe *probe)
{
	if (probe->length < HEADER_BYTES + 5 || probe->bytes[4] || probe->bytes[5] != 1)
		return VERIFY_NO;
	if (is_port_of(probe, PORT_MDNS) || is_port_of(probe, PORT_LLMNR) ||
		is_port_of(probe, PORT_NETBIOS))
		return VERIFY_NO;
	struct text message = probe_text(probe);

	return !is_netbios(message) && !is_to_group(probe) && is_message(message, false)
		       ? VERIFY_YES
		       : VERIFY_NO;
}

static enum verify shape_tcp(const struct probe *probe)
{
	if (probe->midstream || probe->length < 2 + HEADER_BYTES + 5 || probe->bytes[6] ||
		probe->bytes[7] != 1)
		return VERIFY_NO;
	struct text message = text_from(probe_text(probe), 2);
	uint32_t length = octets_be16(probe->bytes);
	bool cut = message.length < length;

	if (length < HEADER_BYTES + 5)
		return VERIFY_NO;
	if (!cut)
		message.length = length;
	return is_message(message, cut) ? (cut ? VERIFY_DPI : VERIFY_YES) : VERIFY_NO;
}

const struct app_proto app_proto_dns = {
	.name = "dns",
	.title = "DNS",
	.group = "name-service",
	.category = APP_CATEGORY_NETWORK,
	.shape_tcp = shape_tcp,
	.shape_udp = shape_udp,
	.decodes_for_others = true,
	.decode = dns_answer_stream,
	.decode_datagram = dns_answer_datagram,
	.tcp_ports = {53},
	.udp_ports = {53},
};
