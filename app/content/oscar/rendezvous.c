// SPDX-License-Identifier: BSD-3-Clause
// What ICBM proposes on channel 2: files, whose name, number and size are in TLV 0x2711, and where
// the proposer listens; texts of ICQ clients; what is written beside an invitation.
#include <netinet/in.h>

#include "content/charset.h"
#include "content/memory.h"
#include "content/oscar/oscar.h"
#include "content/oscar/tlv.h"

#define CAPABILITY_BYTES 16
#define HEAD_BYTES       (2 + 8 + CAPABILITY_BYTES)
#define CHARSET_RAW      0xffff

enum {
	TLV_PROXY = 2,
	TLV_ADDRESS = 3,
	TLV_SEEN_ADDRESS = 4,
	TLV_PORT = 5,
	TLV_SEQUENCE = 0x0a,
	TLV_WORDS = 0x0c,
	TLV_BY_PROXY = 0x10,
	TLV_WHAT = 0x2711,
	TLV_CHARSET = 0x2712,
};

// 0946xxxx-4C7F-11D1-8222-444553540000
static bool is_capability(const uint8_t *at, uint16_t which)
{
	static const uint8_t rest[] = {
		0x4c, 0x7f, 0x11, 0xd1, 0x82, 0x22, 0x44, 0x45, 0x53, 0x54, 0, 0};

	return octets_be16(at) == 0x0946 && octets_be16(at + 2) == which &&
	       !memcmp(at + 4, rest, sizeof(rest));
}

struct proposal {
	const struct oscar_turn *to;
	const struct oscar_snac *snac;
	struct content_text from, peer;
	const uint8_t *cookie;
	struct content_text tlvs;
};

static struct oscar_offer *offer_of(const struct proposal *proposal)
{
	struct oscar_offers *offers = proposal->to->state->offers;

	for (unsigned i = 0; i < OSCAR_OFFERS; i++)
		if (offers->offers[i].used &&
			!memcmp(offers->offers[i].cookie, proposal->cookie, 8))
			return &offers->offers[i];
	return NULL;
}

static struct oscar_offer *offer_new(const struct proposal *proposal, unsigned half)
{
	struct oscar_offers *offers = proposal->to->state->offers;
	struct oscar_offer *offer = offer_of(proposal);

	if (!offer) {
		offer = &offers->offers[offers->next];
		offers->next = (uint8_t)((offers->next + 1) % OSCAR_OFFERS);
	}
	*offer = (struct oscar_offer){.used = true, .half = (uint8_t)half};
	memcpy(offer->cookie, proposal->cookie, 8);
	return offer;
}

static struct content_text name_of(
	const struct proposal *proposal, struct content_text name, uint8_t *room, uint32_t size)
{
	struct content_text charset = oscar_tlv_find(proposal->tlvs, TLV_CHARSET);
	struct text_out out = {.bytes = room, .size = size};

	if (!http_begins(charset, "unicode") && !http_begins(charset, "utf-16")) {
		name.length = http_until(name, 0);
		return name;
	}
	charset_text(&out, CHARSET_UTF16BE, name.bytes,
		charset_utf16_until_nul(name.bytes, name.length));
	return (struct content_text){room, out.written};
}

// Of several files the name says which ("*.exe"), or is a folder's; the size is that of all.
static void tell_offer(const struct proposal *proposal, struct oscar_offer *offer,
	struct content_text name, uint64_t size)
{
	const struct oscar_turn *to = proposal->to;
	const struct content_sink *sink = to->turn->sink;
	struct content_text user = offer->half == to->side ? proposal->from : proposal->peer;
	struct content_file file = content_file_of_path(name, user);

	offer->label.what = TRANSFER_FILE;
	offer->label.size = size;
	transfer_text_set(offer->label.user, sizeof(offer->label.user), user.bytes, user.length);
	content_label_file(&offer->label, name);
	if (file.name.length)
		file.name_source = CONTENT_NAME_OFFER;
	file.id = ++to->state->files;
	file.half = offer->half;
	file.elsewhere = true;
	if (size)
		file.size = size;
	file.item = &offer->item;
	sink->file(sink->ctx, &file);
}

// Kind u16 (2: several), number of files u16, their size u32, name.
static struct oscar_offer *take_offer(const struct proposal *proposal, uint16_t sequence)
{
	const struct oscar_turn *to = proposal->to;
	struct content_text what = oscar_tlv_find(proposal->tlvs, TLV_WHAT), name;
	unsigned half = sequence == 2 ? !to->side : to->side;
	struct oscar_offer *offer = offer_of(proposal);
	uint8_t room[CONTENT_NAME_BYTES];

	if (what.length < 8 || (offer && sequence > 1))
		return offer;
	name = name_of(proposal, http_text_from(what, 8), room, sizeof(room));
	offer = offer_new(proposal, half);
	bool one = octets_be16(what.bytes) != 2 && octets_be16(what.bytes + 2) <= 1;

	tell_offer(proposal, offer, name, one ? octets_be32(what.bytes + 4) : 0);
	return offer;
}

static void expect(const struct proposal *proposal, const struct oscar_offer *offer,
	struct content_text address, uint16_t port, unsigned half, bool proxy)
{
	const struct oscar_turn *to = proposal->to;
	const struct content_turn *turn = to->turn;
	struct expectation what = {
		.address = {[10] = 0xff, [11] = 0xff},
		.port = port,
		.l4_proto = IPPROTO_TCP,
		.app = turn->data_app,
		.as = EXPECTED_OFT,
		.ttl_s = OSCAR_TTL_S,
	};
	const uint8_t *client = turn->ends->address[HALF_C2S];

	if (address.length != 4 || port < OSCAR_PORT_MIN || !address.bytes[0])
		return;
	memcpy(what.address + 12, address.bytes, 4);
	bool own = !memcmp(what.address, client, 16);

	// the client names itself; of others it is the client who will connect
	if (proxy ? own : own != (to->side == HALF_C2S))
		return;
	if (!own)
		memcpy(what.peer, client, 16);
	if (offer) {
		what.label = offer->label;
		what.item = offer->item;
	}
	what.label.half = (uint8_t)half;
	turn->others->expect(turn->others->ctx, &what);
}

// The proposer listens, or has gone to a proxy, to which the other one goes then.
static void take_places(const struct proposal *proposal, const struct oscar_offer *offer)
{
	const struct oscar_turn *to = proposal->to;
	struct content_text port = oscar_tlv_find(proposal->tlvs, TLV_PORT);
	struct content_text places[] = {oscar_tlv_find(proposal->tlvs, TLV_ADDRESS),
		oscar_tlv_find(proposal->tlvs, TLV_SEEN_ADDRESS)};
	struct content_text rest = proposal->tlvs;
	struct oscar_tlv tlv;
	bool proxy = false;
	unsigned sender = offer ? offer->half : to->side;

	if (!to->turn->others || !to->turn->others->expect || !to->turn->ends || port.length != 2)
		return;
	while (oscar_tlv_next(&rest, &tlv))
		proxy |= tlv.type == TLV_BY_PROXY;
	if (proxy) { // whose file it is sends it as the client of the proxy, or gets it
		expect(proposal, offer, oscar_tlv_find(proposal->tlvs, TLV_PROXY),
			octets_be16(port.bytes), sender == HALF_C2S ? HALF_C2S : HALF_S2C, true);
		return;
	}
	for (unsigned i = 0; i < 2; i++)
		if (!i || !http_same(places[0], places[1]))
			expect(proposal, offer, places[i], octets_be16(port.bytes),
				sender == to->side ? HALF_S2C : HALF_C2S, false);
}

static bool take_file(const struct proposal *proposal)
{
	const struct oscar_turn *to = proposal->to;
	struct content_text number = oscar_tlv_find(proposal->tlvs, TLV_SEQUENCE);
	struct oscar_state *state = to->state;

	if (!state->offers) {
		state->offers = content_take(to->turn->memory, sizeof(*state->offers));
		if (!state->offers)
			return false;
		memset(state->offers, 0, sizeof(*state->offers));
	}
	take_places(
		proposal, take_offer(proposal, number.length == 2 ? octets_be16(number.bytes) : 1));
	return true;
}

static void tell_text(const struct proposal *proposal, struct content_text bytes)
{
	const struct oscar_text text = {.snac = proposal->snac,
		.from = proposal->from,
		.to = proposal->peer,
		.bytes = bytes,
		.charset = CHARSET_RAW};

	oscar_text_tell(proposal->to, &text);
}

// Two blocks, each behind its length u16; type u8, flags u8, status u16, priority u16, length u16;
// little endian; the text, NUL.
static void take_icq(const struct proposal *proposal)
{
	struct content_text rest = oscar_tlv_find(proposal->tlvs, TLV_WHAT);

	for (unsigned block = 0; block < 2; block++) {
		if (rest.length < 2)
			return;
		rest = http_text_from(rest, 2u + octets_le16(rest.bytes));
	}
	if (rest.length < 8)
		return;
	uint32_t length = octets_le16(rest.bytes + 6);

	rest = http_text_from(rest, 8);
	if (rest.length > length)
		rest.length = length;
	rest.length = http_until(rest, 0);
	tell_text(proposal, rest);
}

bool oscar_rendezvous_take(const struct oscar_turn *to, const struct oscar_snac *snac,
	struct content_text value, struct content_text from, struct content_text peer)
{
	struct proposal proposal = {to, snac, from, peer, NULL, {NULL, 0}};

	if (value.length < HEAD_BYTES || octets_be16(value.bytes)) // accepted, or called off
		return true;
	proposal.cookie = value.bytes + 2;
	proposal.tlvs = http_text_from(value, HEAD_BYTES);
	if (is_capability(value.bytes + 10, 0x1343) && !take_file(&proposal))
		return false;
	if (is_capability(value.bytes + 10, 0x1349))
		take_icq(&proposal);
	tell_text(&proposal, oscar_tlv_find(proposal.tlvs, TLV_WORDS));
	return true;
}
