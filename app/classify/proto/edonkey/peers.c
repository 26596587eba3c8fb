// SPDX-License-Identifier: BSD-3-Clause
// Layouts as eMule and aMule write them (their sources: KademliaUDPListener, UpDownClient,
// DownloadClient, ServerSocket); numbers are little endian. An address is its four octets in their
// order where it stands for an eDonkey id, and the other way round where it is a number: in Kad,
// and in lists of sources from version 3 on.
#include "classify/proto/edonkey/peers.h"
#include <netinet/in.h>
#include <string.h>
#include "classify/proto/edonkey/tag.h"
#include "classify/text.h"
#include "pipeline/vocab/edonkey_wire.h"

// One message, and who says it.
struct speaker {
	const struct flow_ends *ends;
	const struct decoder_sink *sink;
	unsigned half;
	unsigned reported;
	enum learned_from from;
	struct endpoint_secret secret; // of whom is reported next
};

static void report(struct speaker *speaker, const uint8_t address[16], uint16_t port, uint8_t l4)
{
	struct learned_endpoint endpoint = {
		.port = port,
		.l4_proto = l4,
		.from = (uint8_t)speaker->from,
		.half = (uint8_t)speaker->half,
		.secret = speaker->secret,
	};

	if (!port || speaker->reported == EDONKEY_PEERS_PER_MESSAGE || !speaker->sink->endpoint)
		return;
	memcpy(endpoint.address, address, sizeof(endpoint.address));
	speaker->reported++;
	speaker->sink->endpoint(speaker->sink->ctx, &endpoint);
}

// Keys of the obfuscation (emule_cloak.h): a node's id, a client's hash. NULL: not said.
static void know(struct speaker *speaker, const uint8_t *node, const uint8_t *user)
{
	speaker->secret =
		(struct endpoint_secret){.has_node = node != NULL, .has_user = user != NULL};
	if (node)
		memcpy(speaker->secret.node, node, 16);
	if (user)
		memcpy(speaker->secret.user, user, 16);
}

static void report_v4(
	struct speaker *speaker, const uint8_t *at, bool reversed, uint16_t port, uint8_t l4)
{
	uint8_t address[16] = {[10] = 0xff, [11] = 0xff};

	for (unsigned i = 0; i < 4; i++)
		address[12 + i] = at[reversed ? 3 - i : i];
	report(speaker, address, port, l4);
}

static void report_self(struct speaker *speaker, uint16_t port, uint8_t l4)
{
	report(speaker, speaker->ends->address[speaker->half], port, l4);
}

// ---- Kad ----

enum {
	KAD_CONTACT = 25, // id, address, UDP port, TCP port, version or type
};

static void kad_contacts(struct speaker *speaker, struct edonkey_reader in, unsigned n)
{
	for (; n && in.left >= KAD_CONTACT; n--, edonkey_skip(&in, KAD_CONTACT)) {
		know(speaker, in.at, NULL);
		report_v4(speaker, in.at + 16, true, octets_le16(in.at + 20), IPPROTO_UDP);
		know(speaker, NULL, NULL);
		report_v4(speaker, in.at + 16, true, octets_le16(in.at + 22), IPPROTO_TCP);
	}
}

enum {                               // names of tags of one octet
	TAG_CLIENT_UDP_PORTS = 0xf9, // of a hello: Kad's and eMule's
	TAG_SOURCE_UDP_PORT = 0xfc,
	TAG_SOURCE_PORT = 0xfd,
	TAG_SOURCE_ADDRESS = 0xfe,
};

struct source {
	uint32_t address; // host order; 0: not said
	uint16_t port, udp_port;
};

static void note_source(struct source *source, const struct edonkey_tag *tag)
{
	if (!tag->is_number)
		return;
	switch (tag->name) {
	case TAG_SOURCE_ADDRESS: source->address = tag->number; break;
	case TAG_SOURCE_PORT: source->port = (uint16_t)tag->number; break;
	case TAG_SOURCE_UDP_PORT: source->udp_port = (uint16_t)tag->number; break;
	default: break;
	}
}

// Who has a file: how many, then as often an id and tags.
static void kad_sources(struct speaker *speaker, struct edonkey_reader in)
{
	unsigned n = in.left >= 2 ? octets_le16(in.at) : 0;

	for (edonkey_skip(&in, 2); n && in.left >= 17; n--) {
		struct source source = {0};
		struct edonkey_tag tag;
		unsigned tags = in.at[16];

		edonkey_skip(&in, 17);
		for (; tags; tags--) {
			if (!edonkey_tag_take(&in, &tag))
				return;
			note_source(&source, &tag);
		}
		if (!source.address)
			continue;
		const uint8_t address[4] = {(uint8_t)(source.address >> 24),
			(uint8_t)(source.address >> 16), (uint8_t)(source.address >> 8),
			(uint8_t)source.address};

		report_v4(speaker, address, false, source.port, IPPROTO_TCP);
		report_v4(speaker, address, false, source.udp_port, IPPROTO_UDP);
	}
}

// Requests, their answers, and where each has the target that the answer repeats (-1: there is
// none).
static const struct kad_exchange {
	uint8_t request, answer;
	int8_t request_target, answer_target;
} exchanges[] = {
	{0x01, 0x09, -1, -1},                    // bootstrap
	{0x11, 0x19, -1, -1},                    // hello
	{0x19, 0x22, -1, -1},                    // that it was received
	{0x20, 0x28, 1, 0},                      // who is near
	{0x21, 0x29, 1, 0}, {0x33, 0x3b, 0, 16}, // searches: by word, for sources, for notes
	{0x34, 0x3b, 0, 16}, {0x35, 0x3b, 0, 16},
	{0x43, 0x4b, 0, 0}, // published: words, a source, a note
	{0x44, 0x4b, 0, 0}, {0x45, 0x4b, 0, 0}, {0x50, 0x58, -1, -1}, // am I behind a firewall
	{0x53, 0x58, -1, -1}, {0x60, 0x61, -1, -1},                   // ping
};

enum {
	ASKED_KAD = 0x100, // asked.h: and the answer's opcode
	ASKED_SOURCES = 0x200,
	TARGET = 16,
};

static bool target_of(const struct edonkey_reader *in, int offset, const uint8_t **at, uint32_t *n)
{
	*at = offset < 0 ? NULL : in->at + offset;
	*n = offset < 0 ? 0 : TARGET;
	return offset < 0 || in->left >= (uint32_t)offset + TARGET;
}

// A message may be both: the answer to a hello is acknowledged.
static bool kad_answers(struct speaker *speaker, uint8_t opcode, struct edonkey_reader in)
{
	struct asked *asked = speaker->sink->asked;
	bool answers = false, reported = false;
	const uint8_t *target;
	uint32_t n;

	for (unsigned i = 0; i < sizeof(exchanges) / sizeof(exchanges[0]); i++) {
		const struct kad_exchange *of = &exchanges[i];

		if (of->request == opcode && target_of(&in, of->request_target, &target, &n))
			asked_note(asked, speaker->half, ASKED_KAD | of->answer, target, n);
		if (of->answer != opcode || reported ||
			!target_of(&in, of->answer_target, &target, &n))
			continue;
		reported = true; // the others of this answer have its form
		answers = asked_answers(asked, speaker->half, ASKED_KAD | opcode, target, n);
	}
	return answers;
}

static void kad(struct speaker *speaker, uint8_t opcode, struct edonkey_reader in)
{
	speaker->from = LEARNED_DHT;
	if (!kad_answers(speaker, opcode, in))
		return;
	switch (opcode) {
	case 0x09: // who else there is: id, TCP port, version, how many
		if (in.left < 21)
			return;
		report_self(speaker, octets_le16(in.at + 16), IPPROTO_TCP);
		kad_contacts(speaker, (struct edonkey_reader){in.at + 21, in.left - 21},
			octets_le16(in.at + 19));
		break;
	case 0x19: // a hello's answer: id, TCP port
		if (in.left >= 20)
			report_self(speaker, octets_le16(in.at + 16), IPPROTO_TCP);
		break;
	case 0x28: // who is near: target, how many
	case 0x29:
		if (in.left >= 17)
			kad_contacts(speaker, (struct edonkey_reader){in.at + 17, in.left - 17},
				in.at[16]);
		break;
	case 0x3b: // what was searched for: who answers, target
		if (in.left >= 32)
			kad_sources(speaker, (struct edonkey_reader){in.at + 32, in.left - 32});
		break;
	default: break;
	}
	// who speaks Kad listens on the port that it speaks from
	bool says_id = ((opcode == 0x09 || opcode == 0x19) && in.left >= 20) ||
		       (opcode == 0x22 && in.left >= TARGET);

	know(speaker, says_id ? in.at : NULL, NULL);
	report_self(speaker, speaker->ends->port[speaker->half], IPPROTO_UDP);
}

// ---- lists of sources ----

#define LOW_ID_END 0x1000000u // below: no address, a number that the server gave

static bool is_high(const uint8_t *at, bool reversed)
{
	return octets_le32(at) >= LOW_ID_END && at[reversed ? 3 : 0];
}

// A file's hash: sources of it were asked for.
static void ask_sources(struct speaker *speaker, struct edonkey_reader in, uint32_t skip)
{
	if (edonkey_skip(&in, skip) && in.left >= TARGET)
		asked_note(speaker->sink->asked, speaker->half, ASKED_SOURCES, in.at, TARGET);
}

static bool answers_sources(struct speaker *speaker, const struct edonkey_reader *in)
{
	return in->left >= TARGET &&
	       asked_answers(speaker->sink->asked, speaker->half, ASKED_SOURCES, in->at, TARGET);
}

// Of a server: a file's hash, how many, and of each its id and port; obfuscated, an octet of
// options, and a hash if that has the high bit.
static void server_sources(struct speaker *speaker, struct edonkey_reader in, bool options)
{
	unsigned n = in.left >= 17 ? in.at[16] : 0;

	if (!answers_sources(speaker, &in))
		return;
	speaker->from = LEARNED_TRACKER;
	uint32_t fixed = options ? 7 : 6;

	for (edonkey_skip(&in, 17); n && in.left >= fixed; n--) {
		const uint8_t *source = in.at;
		bool has_user = options && source[6] & 0x80;

		if (!edonkey_skip(&in, fixed + (has_user ? 16u : 0u)))
			return;
		know(speaker, NULL, has_user ? source + 7 : NULL);
		if (is_high(source, false))
			report_v4(speaker, source, false, octets_le16(source + 4), IPPROTO_TCP);
	}
}

// Of a client: a file's hash, how many, and of each its id and port, its server and that one's
// port; then, as the version has it, a hash and an octet of options.
static void client_sources(struct speaker *speaker, struct edonkey_reader in)
{
	unsigned n = in.left >= 18 ? octets_le16(in.at + 16) : 0;
	uint32_t step;

	if (!n || !answers_sources(speaker, &in) || !edonkey_skip(&in, 18) || in.left % n)
		return;
	step = in.left / n;
	if (step != 12 && step != 28 && step != 29)
		return;
	speaker->from = LEARNED_PEX;
	// of the two versions that have a hash, only the later one's ids are numbers: a list with
	// options is of that, of one without nobody can tell
	for (; n && step != 28; n--, edonkey_skip(&in, step))
		if (is_high(in.at, step == 29))
			report_v4(speaker, in.at, step == 29, octets_le16(in.at + 4), IPPROTO_TCP);
}

// ---- TCP ----

enum {                   // words of the memo, by half
	WORD_SKIP = 0,   // octets of the frame at hand that nobody wants
	WORD_BROKEN = 2, // cannot be followed any more
};

// A client's hello, behind the length of its hash if it is one to a client: hash, id, port, how
// many tags.
static void hello(struct speaker *speaker, struct edonkey_reader in, bool answer)
{
	speaker->from = LEARNED_PEER;
	if (!answer && in.left && in.at[0] == 16)
		edonkey_skip(&in, 1);
	if (in.left < 26)
		return;
	know(speaker, NULL, in.at);
	report_self(speaker, octets_le16(in.at + 20), IPPROTO_TCP);
	uint32_t tags = octets_le32(in.at + 22);

	edonkey_skip(&in, 26);
	for (struct edonkey_tag tag; tags && edonkey_tag_take(&in, &tag); tags--)
		if (tag.is_number && tag.name == TAG_CLIENT_UDP_PORTS) {
			report_self(speaker, (uint16_t)(tag.number >> 16), IPPROTO_UDP);
			report_self(speaker, (uint16_t)tag.number, IPPROTO_UDP);
		}
}

static bool is_wanted(uint8_t proto, uint8_t opcode)
{
	static const uint8_t emule[] = {0x81, 0x82, 0x83, 0x84, 0x92, 0xa4, 0xa8};
	static const uint8_t ed2k[] = {0x01, 0x4c, 0x19, 0x23, 0x42, 0x44};

	if (proto == EDONKEY_EMULE)
		return memchr(emule, opcode, sizeof(emule));
	return proto == EDONKEY_ED2K && memchr(ed2k, opcode, sizeof(ed2k));
}

// Between clients: requests for sources (0x83: version and options in front), alone or among
// others about a file (0x92, 0xa4, 0xa8: with an octet of options in front of the hash);
// the later form of the answer has its version in front.
static void emule_frame(struct speaker *speaker, uint8_t opcode, struct edonkey_reader in)
{
	switch (opcode) {
	case 0x81:
	case 0x92:
	case 0xa4: ask_sources(speaker, in, 0); break;
	case 0x83: ask_sources(speaker, in, 3); break;
	case 0xa8: ask_sources(speaker, in, 1); break;
	case 0x84:
		if (!edonkey_skip(&in, 1))
			return;
		client_sources(speaker, in);
		break;
	case 0x82: client_sources(speaker, in); break;
	default: break;
	}
}

static void frame(struct speaker *speaker, uint8_t proto, uint8_t opcode, struct edonkey_reader in)
{
	if (proto == EDONKEY_EMULE) {
		emule_frame(speaker, opcode, in);
		return;
	}
	switch (opcode) {
	case 0x19:
	case 0x23: ask_sources(speaker, in, 0); break;
	case 0x01: hello(speaker, in, false); break;
	case 0x4c: hello(speaker, in, true); break;
	case 0x42: server_sources(speaker, in, false); break;
	case 0x44: server_sources(speaker, in, true); break;
	default: break;
	}
}

// A piece of a frame; the number of octets that were used.
static uint32_t gather(
	struct decoder_state *state, struct speaker *speaker, const uint8_t *bytes, uint32_t length)
{
	unsigned half = speaker->half;
	uint32_t kept = state->line_length[half], used = 0, whole, here;
	uint8_t *line = state->line[half];

	while (used < length && kept < EDONKEY_FRAME_HEADER)
		line[kept++] = bytes[used++];
	state->line_length[half] = (uint16_t)kept;
	if (kept < EDONKEY_FRAME_HEADER)
		return used;
	whole = octets_le32(line + 1);
	if (!whole || whole > EDONKEY_FRAME_MAX ||
		(line[0] != EDONKEY_ED2K && line[0] != EDONKEY_EMULE &&
			line[0] != EDONKEY_PACKED)) {
		state->memo.word[WORD_BROKEN + half] = true;
		return length;
	}
	whole += EDONKEY_FRAME_HEADER - 1;
	if (!is_wanted(line[0], line[5]) || whole > APP_LINE_BYTES) {
		state->memo.word[WORD_SKIP + half] = whole - kept;
		state->line_length[half] = 0;
		return used;
	}
	here = length - used < whole - kept ? length - used : whole - kept;
	memcpy(line + kept, bytes + used, here);
	state->line_length[half] = (uint16_t)(kept + here);
	if (kept + here == whole) {
		frame(speaker, line[0], line[5],
			(struct edonkey_reader){
				line + EDONKEY_FRAME_HEADER, whole - EDONKEY_FRAME_HEADER});
		state->line_length[half] = 0;
	}
	return used + here;
}

// A hole inside of what nobody wants does no harm.
static void gap(struct decoder_state *state, const struct span *span)
{
	unsigned half = span->half & 1;
	uint32_t *word = state->memo.word;

	if (state->line_length[half] || span->extent > word[WORD_SKIP + half])
		word[WORD_BROKEN + half] = true;
	else
		word[WORD_SKIP + half] -= span->extent;
}

void edonkey_peers_stream(struct decoder_state *state, const struct span *span,
	const struct flow_ends *ends, const struct decoder_sink *sink)
{
	unsigned half = span->half & 1;
	struct speaker speaker = {.ends = ends, .sink = sink, .half = half};
	uint32_t *word = state->memo.word, at = 0;
	const struct text bytes = span_text(span);

	if (span->flags & SPAN_MIDSTREAM || span->offset64 > EDONKEY_STREAM_BYTES64)
		word[WORD_BROKEN + half] = true;
	if (span_is_gap(span))
		gap(state, span);
	else
		while (at < bytes.length && !word[WORD_BROKEN + half]) {
			uint32_t *left = &word[WORD_SKIP + half], rest = bytes.length - at;
			uint32_t unwanted = *left < rest ? *left : rest;

			*left -= unwanted;
			at += unwanted;
			if (at < bytes.length)
				at += gather(state, &speaker, bytes.at + at, bytes.length - at);
		}
	state->done = word[WORD_BROKEN] && word[WORD_BROKEN + 1];
}

// ---- UDP ----

// A server is asked for sources of several files: hashes, each with its size in the later forms.
static void ask_server(struct speaker *speaker, uint8_t opcode, struct edonkey_reader in)
{
	uint32_t step = opcode == 0x94 ? TARGET + 4 : TARGET;

	if (opcode != 0x9a && opcode != 0x94)
		return;
	for (unsigned n = 0; n < ASKED_MAX && in.left >= TARGET; n++) {
		bool large = opcode == 0x94 && in.left >= step && !octets_le32(in.at + TARGET);

		ask_sources(speaker, in, 0);
		if (!edonkey_skip(&in, step + (large ? 8 : 0)))
			return;
	}
}

bool edonkey_peers_datagram(
	const struct span *span, const struct flow_ends *ends, const struct decoder_sink *sink)
{
	struct speaker speaker = {.ends = ends, .sink = sink, .half = span->half & 1};
	const struct text message = span_text(span);

	if (message.length < 2)
		return true;
	const struct edonkey_reader in = {message.at + 2, message.length - 2};

	if (message.at[0] == EDONKEY_KAD)
		kad(&speaker, message.at[1], in);
	else if (message.at[0] == EDONKEY_ED2K && message.at[1] == 0x9b) // a server's answer
		server_sources(&speaker, in, false);
	else if (message.at[0] == EDONKEY_ED2K)
		ask_server(&speaker, message.at[1], in);
	return true;
}
