// SPDX-License-Identifier: BSD-3-Clause
// eDonkey and eMule over TCP and UDP, and Kad (both generations). Layouts as eMule and aMule
// write them; all integers little endian.
#include <netinet/in.h>
#include "app_proto.h"
#include "edonkey_peers.h"
#include "edonkey_shape.h"
#include "edonkey_tag.h"
#include "emule_cloak.h"
#include "mse.h"
#include "octets.h"

enum {
	PROTO_ED2K = 0xe3,
	PROTO_EMULE = 0xc5,
	PROTO_PACKED = 0xd4, // zlib behind the opcode
	PROTO_KAD = 0xe4,
	PROTO_KAD_PACKED = 0xe5,
};

// ---- tags: how hellos, logins and Kad hellos end ----

static bool skip_tags(struct edonkey_reader *in, uint32_t n)
{
	struct edonkey_tag tag;

	for (uint32_t i = 0; i < n; i++)
		if (!edonkey_tag_take(in, &tag))
			return false;
	return true;
}

// ---- TCP ----

enum {
	FRAME_HEADER = 6, // protocol, length of the rest, opcode
	FRAME_MAX = 2 << 20,
};

struct frame {
	uint8_t proto, opcode;
	uint32_t length;             // of the payload behind the opcode
	struct edonkey_reader known; // as much of it as is here
	bool whole;
};

static bool frame_next(struct edonkey_reader *in, struct frame *frame)
{
	uint32_t length;

	if (in->left < FRAME_HEADER)
		return false;
	frame->proto = in->at[0];
	length = octets_le32(in->at + 1);
	if ((frame->proto != PROTO_ED2K && frame->proto != PROTO_EMULE &&
		    frame->proto != PROTO_PACKED) ||
		!length || length > FRAME_MAX)
		return false;
	frame->opcode = in->at[5];
	frame->length = length - 1;
	frame->known.at = in->at + FRAME_HEADER;
	frame->known.left = in->left - FRAME_HEADER;
	frame->whole = frame->known.left >= frame->length;
	if (frame->whole)
		frame->known.left = frame->length;
	edonkey_skip(in, FRAME_HEADER + frame->known.left);
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
	return tags >= 1 && tags <= 64 && skip_tags(&in, tags) ? VERIFY_YES : VERIFY_NO;
}

// eMule's information: its version, that of the protocol, tags.
static enum verify information(struct edonkey_reader in)
{
	uint32_t tags;

	if (in.left < 6 || in.at[1] != 1)
		return VERIFY_NO;
	tags = octets_le32(in.at + 2);
	edonkey_skip(&in, 6);
	return tags >= 1 && tags <= 64 && skip_tags(&in, tags) ? VERIFY_YES : VERIFY_NO;
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

// A part: hash, start, end, and the bytes between them.
static bool part_good(const struct frame *frame)
{
	uint32_t start, end;

	if (frame->known.left < 24)
		return false;
	start = octets_le32(frame->known.at + 16);
	end = octets_le32(frame->known.at + 20);
	return end > start && end - start <= 184320 && frame->length == 24 + (end - start);
}

static bool zlib_good(const struct edonkey_reader *in)
{
	return in->left >= 2 && (in->at[0] & 15) == 8 && octets_be16(in->at) % 31 == 0;
}

// What one frame says by itself. MORE: fits, but proves little.
static enum verify judge_frame(const struct frame *frame)
{
	const struct edonkey_reader *in = &frame->known;

	if (frame->proto == PROTO_PACKED)
		return zlib_good(in) && frame->length >= 8 ? VERIFY_MORE : VERIFY_NO;
	if (frame->proto == PROTO_EMULE && frame->whole &&
		(frame->opcode == 1 || frame->opcode == 2))
		return information(*in);
	if (frame->proto == PROTO_EMULE)
		return emule_size_good(frame->opcode, frame->length) ? VERIFY_MORE : VERIFY_NO;
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
	if (frame->opcode == 0x46)
		return part_good(frame) ? VERIFY_DPI : VERIFY_NO;
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

	while (frame_next(&in, &frame)) {
		enum verify answer = judge_frame(&frame);

		if (answer != VERIFY_MORE)
			return answer;
		if (!frame.whole)
			return VERIFY_MORE;
		if (++chain == 3)
			return VERIFY_DPI;
	}
	// the next frame has not begun, or is none of ours
	return in.left < FRAME_HEADER ? VERIFY_MORE : VERIFY_NO;
}

// ---- UDP: exchanges ----

// The last request of each half: opcode and what its answer has to repeat.
static void remember(const struct probe *probe, uint8_t opcode, uint32_t token)
{
	unsigned half = probe->half & 1;

	probe->memo->word[2 * half] = 0x100u | opcode;
	probe->memo->word[2 * half + 1] = token;
}

static bool asked(const struct probe *probe, uint8_t opcode, uint32_t *token)
{
	unsigned other = !(probe->half & 1);

	*token = probe->memo->word[2 * other + 1];
	return probe->memo->word[2 * other] == (0x100u | opcode);
}

// ---- Kad ----

enum {
	KAD_CONTACT = 25, // id, address, two ports, version or type
	KAD_VERSION_MAX = 16,
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

// Id, TCP port, version, tags.
static bool kad_hello_good(struct edonkey_reader in)
{
	uint8_t tags;

	if (in.left < 20 || !octets_le16(in.at + 16) || in.at[18] > KAD_VERSION_MAX)
		return false;
	tags = in.at[19];
	edonkey_skip(&in, 20);
	return tags <= 16 && skip_tags(&in, tags) && !in.left;
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
		if (!tags || !skip_tags(&in, tags))
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
	return tags && skip_tags(&in, tags) && !in.left;
}

static enum verify kad_request(const struct probe *probe, uint8_t opcode, uint32_t token)
{
	remember(probe, opcode, token);
	return VERIFY_MORE;
}

static enum verify kad_answer(const struct probe *probe, uint8_t opcode, uint32_t token)
{
	uint32_t expected;

	return asked(probe, opcode, &expected) && expected == token ? VERIFY_YES : VERIFY_NO;
}

// Where length and fields tell Kad from anything else, one datagram is enough; short ones count
// only as a request with its answer.
static enum verify verify_kad(const struct probe *probe)
{
	const uint8_t *at = probe->bytes + 2;
	uint32_t left = probe->length - 2;

	switch (probe->bytes[1]) {
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
	case 0x21: // route: how many contacts, target, receiver
		return left == 33 && (at[0] == 2 || at[0] == 4 || at[0] == 11) ? VERIFY_DPI
									       : VERIFY_NO;
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

static enum verify verify_kad_packed(const struct probe *probe)
{
	const struct edonkey_reader in = {probe->bytes + 2, probe->length - 2};

	switch (probe->bytes[1]) {
	case 0x09:
	case 0x28:
	case 0x29:
	case 0x33:
	case 0x3b:
	case 0x43:
	case 0x44:
	case 0x45: return in.left >= 16 && zlib_good(&in) ? VERIFY_DPI : VERIFY_NO;
	default: return VERIFY_NO;
	}
}

// ---- UDP to servers (0xe3) and between clients (0xc5) ----

static enum verify verify_server(const struct probe *probe)
{
	const uint8_t *at = probe->bytes + 2;
	uint32_t left = probe->length - 2, challenge;

	switch (probe->bytes[1]) {
	case 0x96: // status: eMule's challenge has 0x55aa above, older ones send less
		if (left != 4)
			return VERIFY_NO;
		remember(probe, 0x96, octets_le32(at));
		return octets_le16(at + 2) == 0x55aa ? VERIFY_DPI : VERIFY_MORE;
	case 0x97: // its answer repeats the challenge
		return left >= 12 && asked(probe, 0x96, &challenge) && challenge == octets_le32(at)
			       ? VERIFY_YES
			       : VERIFY_NO;
	case 0xa2: // description
		if (left != 4)
			return VERIFY_NO;
		remember(probe, 0xa2, octets_le32(at));
		return octets_le16(at) == 0xf0ff ? VERIFY_DPI : VERIFY_MORE;
	case 0xa3: // its answer
		return left >= 8 && asked(probe, 0xa2, &challenge) ? VERIFY_YES : VERIFY_NO;
	case 0x98: // search
	case 0x92:
	case 0x90:
		if (left < 3)
			return VERIFY_NO;
		remember(probe, 0x98, 0);
		return VERIFY_MORE;
	case 0x99: // results: hash, client, port, tags
		return left >= 26 && asked(probe, 0x98, &challenge) ? VERIFY_YES : VERIFY_NO;
	case 0x9a: // sources: hashes
	case 0x94: // the same with sizes
		if (left < 16 || left % 4)
			return VERIFY_NO;
		remember(probe, 0x9a, octets_le32(at));
		return VERIFY_MORE;
	case 0x9b: // found: hash, how many, addresses
		return left >= 17 && asked(probe, 0x9a, &challenge) ? VERIFY_YES : VERIFY_NO;
	default: return VERIFY_NO;
	}
}

static enum verify verify_client(const struct probe *probe)
{
	uint32_t left = probe->length - 2, ignored;

	switch (probe->bytes[1]) {
	case 0x90: // still waiting for this file: hash and more
		if (left < 16)
			return VERIFY_NO;
		remember(probe, 0x90, 0);
		return VERIFY_MORE;
	case 0x91: // your rank
		return (left == 2 || (left >= 4 && left < 64)) && asked(probe, 0x90, &ignored)
			       ? VERIFY_YES
			       : VERIFY_NO;
	case 0x92: // not here
	case 0x93: // queue full
		return !left && asked(probe, 0x90, &ignored) ? VERIFY_YES : VERIFY_NO;
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
	case PROTO_KAD: return verify_kad(probe);
	case PROTO_KAD_PACKED: return verify_kad_packed(probe);
	case PROTO_ED2K: return verify_server(probe);
	case PROTO_EMULE: return verify_client(probe);
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
