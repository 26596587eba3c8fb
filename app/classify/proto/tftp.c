// SPDX-License-Identifier: BSD-3-Clause
// TFTP, transfer of files over UDP (RFC 1350). A request is opcode 1 or 2, file name, mode, then
// options in pairs (RFC 2347), all ended by NUL, to the last byte. The server answers from a port
// of its own: the decoder tells where that flow will arrive. Seen without its request, it is known
// by what it says: an acknowledgment of options (opcode 6) names them; data (3) and acknowledgments
// (4) go in lock step.
#include <netinet/in.h>
#include "classify/app_proto.h"
#include "classify/text.h"

#define BLOCK_MAX  65464 // RFC 2348
#define REPLY_S    60
#define LOCK_STEPS 2 // blocks that were acknowledged before lock step is believed

enum opcode {
	READ_REQUEST = 1,
	WRITE_REQUEST = 2,
	DATA = 3,
	ACK = 4,
	OPTIONS_ACK = 6,
};

static const char *const modes[] = {"octet", "netascii", "mail", NULL};
// RFC 2348, 2349, 7440; the others are asked for by boot loaders.
static const char *const options[] = {
	"blksize", "timeout", "tsize", "windowsize", "blksize2", "utimeout", "rollover", NULL};

static bool is_request(struct text rest)
{
	struct text name, mode;
	unsigned words = 0;

	if (rest.length < 9 || rest.at[rest.length - 1])
		return false;
	rest = text_from(rest, 2);
	name = text_take(&rest, 0);
	mode = text_take(&rest, 0);
	if (!name.length || !text_is_printable(name) || !text_is_among(mode, modes))
		return false;
	for (; rest.length; words++)
		if (!text_is_printable(text_take(&rest, 0)))
			return false;
	return words % 2 == 0;
}

static bool is_options_ack(struct text rest)
{
	unsigned pairs = 0;

	if (rest.length < 6 || rest.at[rest.length - 1])
		return false;
	for (rest = text_from(rest, 2); rest.length; pairs++) {
		struct text name = text_take(&rest, 0), value = text_take(&rest, 0);

		if (!text_is_among(name, options) || !text_is_number(value))
			return false;
	}
	return pairs > 0;
}

// memo: [0] the last block sent, plus one (0: none); [1] the half that sends; [2] the last block
// that was acknowledged; [3] the size of a full block; [4] the leave to send was given (block 0
// acknowledged), a step like any other.
static enum verify lock_step(const struct probe *probe, uint16_t opcode)
{
	uint32_t *word = probe->memo->word, block;

	if (probe->length < 4)
		return VERIFY_NO;
	block = octets_be16(probe->bytes + 2);
	if (opcode == ACK) {
		if (probe->length != 4)
			return VERIFY_NO;
		// 0 answers a write request or options, before the first block.
		if (!word[0]) {
			word[4] = 1;
			word[1] = !probe->half;
			return block ? VERIFY_NO : VERIFY_MORE;
		}
		if (probe->half == word[1] || block + 1 < word[0] || block + 1 > word[0])
			return block + 2 == word[0] ? VERIFY_MORE : VERIFY_NO;
		word[2] = block;
		return word[2] + word[4] >= LOCK_STEPS ? VERIFY_DPI : VERIFY_MORE;
	}
	if (probe->length - 4 > BLOCK_MAX)
		return VERIFY_NO;
	if (block + 1 == word[0] && probe->half == word[1])
		return VERIFY_MORE; // sent again
	// The next one: of the same half, behind full blocks only, each acknowledged.
	if (block != (word[0] ? word[0] : 1) || ((word[0] || word[4]) && probe->half != word[1]) ||
		(block > 1 && word[2] != block - 1) || (block > 1 && probe->length > word[3]))
		return VERIFY_NO;
	if (block == 1)
		word[3] = probe->length;
	word[0] = block + 1;
	word[1] = probe->half;
	return VERIFY_MORE;
}

static enum verify verify(const struct probe *probe)
{
	struct text rest = probe_text(probe);
	uint16_t opcode = rest.length >= 4 ? octets_be16(rest.at) : 0;

	switch (opcode) {
	case READ_REQUEST:
	case WRITE_REQUEST: return is_request(rest) ? VERIFY_YES : VERIFY_NO;
	case OPTIONS_ACK: return is_options_ack(rest) ? VERIFY_YES : VERIFY_NO;
	case DATA:
	case ACK: return lock_step(probe, opcode);
	default: return VERIFY_NO;
	}
}

// A request from the initiator: the answer comes to its port, from any of the server's (RFC 1350
// 4).
static void decode(struct decoder_state *state, const struct span *span,
	const struct flow_ends *ends, const struct decoder_sink *sink)
{
	struct text rest = span_text(span);
	struct expectation expect = {
		.port = ends->port[HALF_C2S],
		.l4_proto = IPPROTO_UDP,
		.app = app_find("tftp"),
		.as = EXPECTED_TFTP,
		.ttl_s = REPLY_S,
	};

	(void)state;
	if (span->half != HALF_C2S || span_is_gap(span) || rest.length < 4 || !expect.port)
		return;
	uint16_t opcode = octets_be16(rest.at);

	if ((opcode != READ_REQUEST && opcode != WRITE_REQUEST) || !is_request(rest))
		return;
	memcpy(expect.address, ends->address[HALF_C2S], 16);
	memcpy(expect.peer, ends->address[HALF_S2C], 16);
	rest = text_from(rest, 2);
	struct text name = text_take(&rest, 0);

	transfer_text_set(expect.label.file, sizeof(expect.label.file), name.at, name.length);
	sink->expect(sink->ctx, &expect);
}

const struct app_proto app_proto_tftp = {
	.name = "tftp",
	.title = "TFTP",
	.group = "file-transfer",
	.category = APP_CATEGORY_FILE,
	.verify = verify,
	.decode = decode,
	.udp_ports = {69},
};
