// SPDX-License-Identifier: BSD-3-Clause
// Telegram: MTProto over TCP, calls over UDP.
// core.telegram.org/mtproto/mtproto-transports: the client begins with 0xef (abridged: lengths in
// one octet, or 0x7f and three, by four), 0xeeeeeeee (intermediate: 32 bits, little endian) or
// 0xdddddddd (padded intermediate); "full" begins with its length and sequence number 0. Keys are
// agreed on in clear (key id 0: req_pq, req_pq_multi); with a key, key id and all else is random.
// The obfuscated transport is random from its first octet: it is opened where no signature has
// found anything (app/classify/handshake/mtproto.h). Intermediate: 44 bits with the length.
// Abridged with a key: 8 bits and lengths that fit on both sides, or on the client's and a port of
// Telegram's: a hint. Calls (libtgvoip, VoIPController.cpp; tgcalls, ReflectorPort.cpp): a tag of
// 128 bits, 12 octets 0xff, then what is asked: four of 0xff, and no more; -2 and a number of 64
// bits; or the relay's answer, by its constructor. Silence of G.711 in RTP has such octets, too,
// but more of them.
#include <netinet/in.h>
#include "classify/app_proto.h"
#include "classify/text.h"

#define REQ_PQ       0x60469778
#define REQ_PQ_MULTI 0xbe7e8ef1
#define REQ_DH       0xd712e4be
#define MESSAGE_MIN  40 // key id, message key or id, one block
#define MESSAGE_MAX  (1u << 20)
#define CLEAR_HEAD   24 // key id, message id, length, constructor
#define CALL_KIND    28 // of a call's datagram: offset
#define CALL_BYTES   32

// A message in clear: the first of a key exchange. More if its head is not here yet.
static enum verify verify_clear(struct text message)
{
	if (message.length < CLEAR_HEAD)
		return VERIFY_MORE;
	uint32_t constructor = octets_le32(message.at + 20);

	if (octets_be32(message.at) || octets_be32(message.at + 4))
		return VERIFY_NO;
	return constructor == REQ_PQ || constructor == REQ_PQ_MULTI || constructor == REQ_DH
		       ? VERIFY_YES
		       : VERIFY_NO;
}

// Takes the length of an abridged message. False: it is not here, or too long or short.
static bool take_abridged(struct text *rest, uint32_t *length)
{
	uint32_t head = 1, words;

	if (!rest->length)
		return false;
	words = rest->at[0] & 0x7f; // the top bit asks for a quick acknowledgement
	if (words == 0x7f) {
		head = 4;
		if (rest->length < head)
			return false;
		words = octets_le32(rest->at) >> 8;
	}
	*length = 4 * words;
	*rest = text_from(*rest, head);
	return *length && *length <= MESSAGE_MAX;
}

// Messages up to the end of what is here.
static bool is_abridged_chain(struct text rest)
{
	uint32_t length;

	if (!rest.length)
		return false;
	while (rest.length) {
		if (!take_abridged(&rest, &length) || length > rest.length)
			return false;
		rest = text_from(rest, length);
	}
	return true;
}

// core.telegram.org/mtproto/transports: TCP 80, 443 and 5222; 25 of older clients.
static bool is_port(uint16_t port)
{
	return port == 80 || port == 443 || port == 5222 || port == 25;
}

static enum verify verify_abridged(const struct probe *probe, struct text rest)
{
	struct text message = rest;
	uint32_t length;

	if (!message.length)
		return VERIFY_MORE;
	if (!take_abridged(&message, &length))
		return rest.length < 4 ? VERIFY_MORE : VERIFY_NO;
	if (message.length >= 8 && !octets_be32(message.at) && !octets_be32(message.at + 4))
		return verify_clear(message);
	if (length < MESSAGE_MIN)
		return VERIFY_NO;
	struct text peer = {probe->peer, probe->peer_length};

	if (!is_abridged_chain(rest))
		return VERIFY_MORE;
	return is_abridged_chain(peer) || (!peer.length && is_port(probe->dport)) ? VERIFY_PARTIAL
										  : VERIFY_MORE;
}

static enum verify verify_intermediate(struct text rest, bool padded)
{
	if (rest.length < 4)
		return VERIFY_MORE;
	uint32_t length = octets_le32(rest.at) & 0x7fffffff;

	return length >= MESSAGE_MIN && length <= MESSAGE_MAX && (padded || length % 4 == 0)
		       ? VERIFY_DPI
		       : VERIFY_NO;
}

static enum verify verify_call(struct text call)
{
	if (call.length < CALL_BYTES)
		return VERIFY_NO;
	switch (octets_be32(call.at + CALL_KIND)) {
	case 0xffffffff: return call.length == CALL_BYTES ? VERIFY_DPI : VERIFY_NO;
	case 0xfeffffff: return call.length == CALL_BYTES + 8 ? VERIFY_DPI : VERIFY_NO;
	default: return VERIFY_DPI; // the pattern knows the answers
	}
}

static enum verify verify(const struct probe *probe)
{
	struct text half = probe_text(probe);

	if (probe->l4_proto == IPPROTO_UDP)
		return verify_call(half);
	if (!half.length)
		return VERIFY_NO;
	switch (half.at[0]) {
	case 0xef: return verify_abridged(probe, text_from(half, 1));
	case 0xee:
	case 0xdd: return verify_intermediate(text_from(half, 4), half.at[0] == 0xdd);
	default: // full: length, sequence number, message
		return half.length < 8 ? VERIFY_MORE : verify_clear(text_from(half, 8));
	}
}

const struct app_proto app_proto_telegram = {
	.name = "telegram",
	.title = "Telegram",
	.group = "chat",
	.category = APP_CATEGORY_IM,
	.verify = verify,
};
