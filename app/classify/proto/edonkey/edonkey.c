// SPDX-License-Identifier: BSD-3-Clause
// Recognizes eDonkey and eMule over TCP and UDP, and Kad (both generations). Layouts as eMule and
// aMule write them; all integers little endian.
#include <netinet/in.h>
#include "classify/app_proto.h"
#include "classify/proto/edonkey/exchange.h"
#include "classify/proto/edonkey/peers.h"
#include "classify/proto/edonkey/shape.h"
#include "classify/proto/edonkey/tag.h"
#include "classify/proto/edonkey/emule_cloak.h"
#include "classify/proto/edonkey/kad_message.h"
#include "classify/proto/bittorrent/mse.h"
#include "pipeline/vocab/octets.h"

// ---- TCP ----

struct frame {
	uint8_t proto, opcode;
	uint32_t length;             // of the payload behind the opcode
	struct edonkey_reader known; // as much of it as is here
	bool whole;
};

static bool frame_next(struct edonkey_reader *in, struct frame *frame)
{
	uint32_t length;

	if (in->left < EDONKEY_FRAME_HEADER)
		return false;
	frame->proto = in->at[0];
	length = octets_le32(in->at + 1);
	if ((frame->proto != EDONKEY_ED2K && frame->proto != EDONKEY_EMULE &&
		    frame->proto != EDONKEY_PACKED) ||
		!length || length > EDONKEY_FRAME_MAX)
		return false;
	frame->opcode = in->at[5];
	frame->length = length - 1;
	frame->known.at = in->at + EDONKEY_FRAME_HEADER;
	frame->known.left = in->left - EDONKEY_FRAME_HEADER;
	frame->whole = frame->known.left >= frame->length;
	if (frame->whole)
		frame->known.left = frame->length;
	edonkey_skip(in, EDONKEY_FRAME_HEADER + frame->known.left);
	return true;
}

// User hash, client id, port, tags: what a hello, its answer and a server login have in common.
static enum verify identity(struct edonkey_reader in)
{
	uint32_t tags;

	if (!edonkey_skip(&in, 16 + 4 + 2) || in.left < 4)
		return VERIFY_NO;
	tags = octets_le32(in.at);
	edonkey_skip(&in, 4);
	return tags >= 1 && tags <= 64 && edonkey_skip_tags(&in, tags) ? VERIFY_YES : VERIFY_NO;
}

// eMule's information: its version, that of the protocol, tags.
static enum verify information(struct edonkey_reader in)
{
	uint32_t tags;

	if (in.left < 6 || in.at[1] != 1)
		return VERIFY_NO;
	tags = octets_le32(in.at + 2);
	edonkey_skip(&in, 6);
	return tags >= 1 && tags <= 64 && edonkey_skip_tags(&in, tags) ? VERIFY_YES : VERIFY_NO;
}

static bool ed2k_size_good(uint8_t opcode, uint32_t length)
{
	switch (opcode) {
	case 0x14: // get server list
	case 0x16: // search
	case 0x1c: // callback request
	case 0x21: // more results
	case 0x32: // shared folders
	case 0x33: // search results
	case 0x34: // server status
	case 0x38: // server message
	case 0x41: // server identification
	case 0x42: // found sources
	case 0x44: // found sources, obfuscated
	case 0x4a: // shared files wanted
	case 0x4b: // shared files
	case 0x4e: // chat
	case 0x54: // start upload
	case 0x59: // file name
	case 0x15: // offer files
	case 0x19: // get sources
	case 0x50: // file status
	case 0x52: // hash set
	case 0x5c: // queue rank
	case 0x5d: // shared directories
	case 0x46: // part
		return true;
	case 0x40: // id change
		return length == 4 || length == 8 || length == 12 || length == 16 || length == 20;
	case 0x47: // parts wanted: hash, 3 starts, 3 ends
		return length == 40;
	case 0x48: // no such file
	case 0x4f: // set file id
	case 0x51: // hash set wanted
		return length == 16;
	case 0x58: // file wanted
		return length >= 16;
	case 0x49: // end of download
		return length == 16;
	case 0x55: // upload accepted
	case 0x56: // cancel
	case 0x57: // out of parts
		return length == 0;
	default: return false;
	}
}

static bool emule_size_good(uint8_t opcode, uint32_t length)
{
	switch (opcode) {
	case 0x01: // information
	case 0x02:
	case 0x40: // packed part
	case 0x60: // queue ranking
	case 0x61: // file description
	case 0x81: // sources wanted
	case 0x82:
	case 0x83:
	case 0x84:
	case 0x85: // public key
	case 0x86: // signature
	case 0x90: // preview
	case 0x91:
	case 0x92: // several requests in one
	case 0x93:
	case 0x9e: // hash set of AICH
	case 0xa1: // 64-bit parts
	case 0xa2:
	case 0xa3:
	case 0xa4:
	case 0xa5: // chat captcha
	case 0xa6:
	case 0xa7:
	case 0xa8:
	case 0xa9: return true;
	case 0x87: // secure identification: state and challenge
		return length == 5;
	case 0x9b: // AICH root hash
	case 0x9c:
	case 0x9d: return length >= 16;
	default: return false;
	}
}

enum {
	TIMES = 3, // blocks in one request
};

static uint64_t number(const uint8_t *at, bool wide)
{
	return wide ? octets_le32(at) | (uint64_t)octets_le32(at + 4) << 32 : octets_le32(at);
}

// A part: hash, start, end, and the bytes between them.
static bool part_good(const struct frame *frame, bool wide)
{
	uint32_t n = wide ? 8 : 4, head = EDONKEY_HASH + 2 * n;

	if (frame->known.left < head)
		return false;
	uint64_t start = number(frame->known.at + EDONKEY_HASH, wide);
	uint64_t end = number(frame->known.at + EDONKEY_HASH + n, wide);

	return end > start && end - start <= EDONKEY_BLOCK_MAX && !(end >> EDONKEY_SIZE_BITS) &&
	       frame->length == head + (end - start);
}

// Some of a packed part: hash, start, how long all of it is. It is no longer than the block that it
// was made of.
static bool packed_part_good(const struct frame *frame, bool wide)
{
	uint32_t n = wide ? 8 : 4, head = EDONKEY_HASH + n + 4;

	if (frame->known.left < head || frame->length <= head)
		return false;
	uint32_t all = octets_le32(frame->known.at + EDONKEY_HASH + n);

	return all <= EDONKEY_BLOCK_MAX && frame->length - head <= all &&
	       !(number(frame->known.at + EDONKEY_HASH, wide) >> EDONKEY_SIZE_BITS) &&
	       edonkey_is_hash(frame->known.at);
}

// Parts wanted: hash, three starts, three ends; what is not used is twice 0.
static bool wants_good(const struct frame *frame, bool wide)
{
	uint32_t n = wide ? 8 : 4, used = 0;
	const uint8_t *starts = frame->known.at + EDONKEY_HASH, *ends = starts + TIMES * n;

	if (!frame->whole || frame->length != EDONKEY_HASH + 2 * TIMES * n)
		return false;
	for (unsigned i = 0; i < TIMES; i++) {
		uint64_t start = number(starts + i * n, wide), end = number(ends + i * n, wide);

		if (end < start || end - start > EDONKEY_BLOCK_MAX || end >> EDONKEY_SIZE_BITS)
			return false;
		used += end > start;
	}
	return used > 0;
}

// Text in any code page: no control characters but those of lines.
static bool is_words(const uint8_t *at, uint32_t length)
{
	for (uint32_t i = 0; i < length; i++)
		if (at[i] < ' ' && at[i] != '\t' && at[i] != '\r' && at[i] != '\n')
			return false;
	return true;
}

// Frames whose length and content belong together, one of which is a hint where nothing else is
// said: a file's hash alone, with its name, with a bit for each of its parts; a server's words.
static bool tells_much(const struct frame *frame)
{
	const struct edonkey_reader *in = &frame->known;
	uint32_t length = frame->length;

	if (!frame->whole || length < 3)
		return false;
	if (frame->proto == EDONKEY_ED2K && frame->opcode == 0x38) {
		return length > 8 && octets_le16(in->at) + 2u == length &&
		       is_words(in->at + 2, length - 2);
	}
	if (length < EDONKEY_HASH || !edonkey_is_hash(in->at))
		return false;
	if (frame->proto == EDONKEY_EMULE)
		return length == EDONKEY_HASH && (frame->opcode == 0x81 || frame->opcode == 0x9e);
	if (frame->proto != EDONKEY_ED2K)
		return false;
	switch (frame->opcode) {
	case 0x48:
	case 0x49:
	case 0x4f:
	case 0x51:
	case 0x54:
	case 0x58: return length == EDONKEY_HASH;
	case 0x50: // how many parts (0: all are here), their bits
		return length >= 18 && length == 18 + (octets_le16(in->at + 16) + 7u) / 8;
	case 0x59: // name
		return length > 18 && length == 18u + octets_le16(in->at + 16);
	default: return false;
	}
}

static bool zlib_good(const struct edonkey_reader *in)
{
	return in->left >= 2 && (in->at[0] & 15) == 8 && octets_be16(in->at) % 31 == 0;
}

// What one frame says by itself. MORE: fits, but proves little.
static enum verify judge_frame(const struct frame *frame)
{
	const struct edonkey_reader *in = &frame->known;

	if (frame->proto == EDONKEY_PACKED)
		return zlib_good(in) && frame->length >= 8 ? VERIFY_MORE : VERIFY_NO;
	if (frame->proto == EDONKEY_EMULE && frame->whole &&
		(frame->opcode == 1 || frame->opcode == 2))
		return information(*in);
	if (frame->proto == EDONKEY_EMULE) {
		bool wide = frame->opcode != 0x40;

		if (frame->opcode == 0x40 || frame->opcode == 0xa1)
			return packed_part_good(frame, wide)    ? VERIFY_DPI
			       : in->left < 28 && !frame->whole ? VERIFY_MORE
								: VERIFY_NO;
		if ((frame->opcode == 0xa2 && part_good(frame, true)) ||
			(frame->opcode == 0xa3 && wants_good(frame, true)))
			return VERIFY_DPI;
		return emule_size_good(frame->opcode, frame->length) ? VERIFY_MORE : VERIFY_NO;
	}
	if (frame->opcode == 0x01 || frame->opcode == 0x4c) {
		struct edonkey_reader body = *in;

		// a hello to a client begins with the length of the hash, a login does not
		if (frame->opcode == 0x01 && in->left && in->at[0] == 16)
			edonkey_skip(&body, 1);
		if (!frame->whole)
			return frame->length >= 27 && frame->length < 1024 ? VERIFY_MORE
									   : VERIFY_NO;
		return identity(body);
	}
	if (!ed2k_size_good(frame->opcode, frame->length))
		return VERIFY_NO;
	if (frame->opcode == 0x46 && in->left < 24 && !frame->whole)
		return VERIFY_MORE;
	if (frame->opcode == 0x46)
		return part_good(frame, false) ? VERIFY_DPI : VERIFY_NO;
	if (frame->opcode == 0x47 && frame->whole)
		return wants_good(frame, false) ? VERIFY_DPI : VERIFY_NO;
	if (in->left >= 2 && (frame->opcode == 0x4e || frame->opcode == 0x38) &&
		octets_le16(in->at) + 2u != frame->length)
		return VERIFY_NO;
	return VERIFY_MORE;
}

// A hello proves itself; other frames have to come in a chain, each where the last one ended.
static enum verify verify_tcp(const struct probe *probe)
{
	struct edonkey_reader in = {probe->bytes, probe->length};
	struct frame frame;
	unsigned chain = 0;
	bool much = false;

	while (frame_next(&in, &frame)) {
		enum verify answer = judge_frame(&frame);

		if (answer != VERIFY_MORE)
			return answer;
		if (!frame.whole)
			return VERIFY_MORE;
		if (++chain == 3)
			return VERIFY_DPI;
		much |= tells_much(&frame);
	}
	// the next frame has not begun, or is none of ours
	if (!in.left && much)
		return VERIFY_PARTIAL;
	return in.left < EDONKEY_FRAME_HEADER ? VERIFY_MORE : VERIFY_NO;
}

// ---- UDP to servers (0xe3) and between clients (0xc5) ----

// What a server says of itself without being asked here: name and description, each behind its
// length, or, to a challenge whose lower half is 0xf0ff, tags.
static bool description_good(struct edonkey_reader in)
{
	if (in.left >= 8 && octets_le16(in.at) == 0xf0ff) {
		uint32_t tags = octets_le32(in.at + 4);

		edonkey_skip(&in, 8);
		return tags && tags <= 16 && edonkey_skip_tags(&in, tags) && !in.left;
	}
	for (unsigned i = 0; i < 2; i++) {
		uint32_t length = in.left < 2 ? 0 : octets_le16(in.at);

		edonkey_skip(&in, 2);
		if (!length || length > in.left)
			return false;
		if (!is_words(in.at, length))
			return false;
		edonkey_skip(&in, length);
	}
	return !in.left;
}

#define RESULT_TAGS 32 // no more are believed

// A result: hash, client, port, how many tags, tags; the next one begins with its opcode.
static bool result_good(struct edonkey_reader in)
{
	if (in.left < 26 || !edonkey_is_hash(in.at))
		return false;
	uint32_t tags = octets_le32(in.at + 22);

	edonkey_skip(&in, 26);
	if (!tags || tags > RESULT_TAGS || !edonkey_skip_tags(&in, tags))
		return false;
	return !in.left || (in.left > 2 && in.at[0] == EDONKEY_ED2K && in.at[1] == 0x99);
}

static enum verify verify_server(const struct probe *probe)
{
	const uint8_t *at = probe->bytes + 2;
	uint32_t left = probe->length - 2, challenge;

	switch (probe->bytes[1]) {
	case 0x96: // status: eMule's challenge has 0x55aa above, older ones send less
		if (left != 4)
			return VERIFY_NO;
		edonkey_remember(probe, 0x96, octets_le32(at));
		return octets_le16(at + 2) == 0x55aa ? VERIFY_DPI : VERIFY_MORE;
	case 0x97: // its answer repeats the challenge
		if (left < 12)
			return VERIFY_NO;
		if (edonkey_asked(probe, 0x96, &challenge))
			return challenge == octets_le32(at) ? VERIFY_YES : VERIFY_NO;
		// users and files, then numbers of 32 bits, in newer ones two ports of 16 as well
		return octets_le16(at + 2) == 0x55aa && left % 4 == 0 && left <= 44 && !at[7] &&
				       octets_le32(at + 4) <= octets_le32(at + 8)
			       ? VERIFY_DPI
			       : VERIFY_NO;
	case 0xa2: // description
		if (left != 4)
			return VERIFY_NO;
		edonkey_remember(probe, 0xa2, octets_le32(at));
		return octets_le16(at) == 0xf0ff ? VERIFY_DPI : VERIFY_MORE;
	case 0xa3: // its answer
		if (left >= 8 && edonkey_asked(probe, 0xa2, &challenge) &&
			(challenge & 0xffff) == 0xf0ff)
			return challenge == octets_le32(at) ? VERIFY_YES : VERIFY_NO;
		return description_good((struct edonkey_reader){at, left}) ? VERIFY_DPI : VERIFY_NO;
	case 0x98: // search
	case 0x92:
	case 0x90:
		if (left < 3)
			return VERIFY_NO;
		edonkey_remember(probe, 0x98, 0);
		return VERIFY_MORE;
	case 0x99: // results: hash, client, port, tags
		if (left >= 26 && edonkey_asked(probe, 0x98, &challenge) &&
			octets_le32(at + 22) - 1 < RESULT_TAGS)
			return VERIFY_YES;
		return result_good((struct edonkey_reader){at, left}) ? VERIFY_DPI : VERIFY_NO;
	case 0x9a: // sources: hashes
	case 0x94: // the same with sizes
		if (left < 16 || left % 4)
			return VERIFY_NO;
		edonkey_remember(probe, 0x9a, octets_le32(at));
		return VERIFY_MORE;
	case 0x9b: // found: hash, how many, addresses
		if (left >= 17 && edonkey_asked(probe, 0x9a, &challenge) &&
			challenge == octets_le32(at) && left >= 17u + 6u * at[16])
			return VERIFY_YES;
		return left >= 23 && left == 17u + 6u * at[16] && edonkey_is_hash(at)
			       ? edonkey_twice(probe)
			       : VERIFY_NO;
	default: return VERIFY_NO;
	}
}

// Behind the hash: nothing in old clients, else how many sources are known that have all of it, in
// newer ones after how many parts there are and a bit for each.
static bool reask_good(const uint8_t *at, uint32_t left)
{
	if (left == EDONKEY_HASH || left == 18)
		return true;
	return left >= 20 && left == 20 + (octets_le16(at + EDONKEY_HASH) + 7u) / 8;
}

// A number of 16 bits; newer clients say before it how many parts there are, and a bit for each.
static bool rank_good(const uint8_t *at, uint32_t left)
{
	return left == 2 || (left >= 4 && left == 4 + (octets_le16(at) + 7u) / 8);
}

// Which of its octets are not by chance (eMule's CPreferences, aMule's SetUserHash).
static bool is_user_hash(const uint8_t *at)
{
	return at[5] == 14 && at[14] == 111;
}

static enum verify verify_client(const struct probe *probe)
{
	const uint8_t *at = probe->bytes + 2;
	uint32_t left = probe->length - 2, ignored;

	switch (probe->bytes[1]) {
	case 0x90: // still waiting for this file: hash and more
		if (left < EDONKEY_HASH || !reask_good(at, left) || !edonkey_is_hash(at))
			return VERIFY_NO;
		edonkey_remember(probe, 0x90, 0);
		return edonkey_twice(probe);
	case 0x91: // your rank
		return rank_good(at, left) && edonkey_asked(probe, 0x90, &ignored) ? VERIFY_YES
										   : VERIFY_NO;
	case 0x92: // not here
	case 0x93: // queue full
		return !left && edonkey_asked(probe, 0x90, &ignored) ? VERIFY_YES : VERIFY_NO;
	case 0x94: // asking again by another: his id in Kad, then as 0x90
		return left >= 32 && edonkey_is_hash(at) && edonkey_is_hash(at + 16) &&
				       reask_good(at + 16, left - 16)
			       ? edonkey_twice(probe)
			       : VERIFY_NO;
	case 0x95: // connect to me: TCP port, user hash, options
		return left == 19 && octets_le16(at) && is_user_hash(at + 2) ? VERIFY_DPI
									     : VERIFY_NO;
	default: return VERIFY_NO;
	}
}

static enum verify verify(const struct probe *probe)
{
	if (probe->l4_proto == IPPROTO_TCP)
		return verify_tcp(probe);
	if (probe->length < 2)
		return VERIFY_NO;
	switch (probe->bytes[0]) {
	case EDONKEY_KAD: return kad_verify(probe);
	case EDONKEY_KAD_PACKED: return kad_verify_packed(probe);
	case EDONKEY_ED2K: return verify_server(probe);
	case EDONKEY_EMULE: return verify_client(probe);
	default: return VERIFY_NO;
	}
}

static enum verify shape_tcp(const struct probe *probe)
{
	// each follows the flights by itself
	enum verify server = mse_emule_shape(probe, &probe->memo->word[0]);
	enum verify client = edonkey_shape(probe);

	return server == VERIFY_PARTIAL ? server : client;
}

const struct app_proto app_proto_edonkey = {
	.name = "edonkey",
	.title = "eDonkey, eMule and Kad",
	.group = "file-sharing",
	.category = APP_CATEGORY_P2P,
	.verify = verify,
	.shape_tcp = shape_tcp,
	.disguised = edonkey_disguised,
	.uncloaks = emule_cloak_opens,
	.decodes_for_others = true,
	.decode = edonkey_peers_stream,
	.decode_datagram = edonkey_peers_datagram,
	.tcp_ports = {4661, 4662},
	.udp_ports = {4665, 4672},
};
