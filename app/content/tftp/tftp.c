// SPDX-License-Identifier: BSD-3-Clause
// The decoder of TFTP: requests, which are answered from a port of the server's own, and the blocks
// there, or here where a server keeps to its port. Bytes are as on the wire (netascii has CR LF).
#include <assert.h>
#include <netinet/in.h>

#include "content/decoders.h"
#include "content/http/text.h"
#include "content/tftp/blocks.h"
#include "content/tftp/request.h"
#include "content/transfer.h"

#define REPLY_S        60
#define BLKSIZE        512 // RFC 1350
#define REQUEST_BYTES  512 // RFC 2347 allows no more
#define HEAD_BYTES     4   // opcode, number of the block
#define ERROR_WRONG_ID 5   // ends nothing (RFC 1350 section 4)

// What the sender of one half sends.
struct tftp_transfer {
	struct content_raw raw;
	struct tftp_blocks blocks;
	uint64_t total;  // bytes so far, of blocks that were lost, too
	uint64_t ends64; // behind the last of them
	uint64_t rest64; // a block is told from there on, when `waits`
	bool waits;      // for budget
	bool last;       // the block is short
	bool begun;      // a file was told
};

struct tftp_state {
	struct tftp_transfer transfers[2];
	struct transfer_label label; // of what is asked for in this flow
	uint32_t item;               // ... its number in records
	uint64_t tsize;              // in the acknowledgment of options
	uint32_t blksize;            // there; 0: there was none
	uint32_t files;
	uint16_t request_length; // 0: none was seen
	bool noted;
	uint8_t request[REQUEST_BYTES]; // the last one
};
static_assert(sizeof(struct tftp_state) <= 1024, "a flow costs little");

static uint16_t be16(const uint8_t *at)
{
	return (uint16_t)(at[0] << 8 | at[1]);
}

static void end_all(struct tftp_state *state, const struct content_turn *turn)
{
	for (unsigned i = 0; i < 2; i++)
		content_raw_end(&state->transfers[i].raw, turn, CONTENT_END_TRUNCATED,
			state->transfers[i].ends64);
}

// A request from the initiator: the answer comes to its port, from any of the server's (RFC 1350
// 4). Who may be named is as in app/classify/proto/tftp.c.
static void expect(const struct tftp_state *state, const struct content_turn *turn, bool writes)
{
	const struct flow_ends *ends = turn->ends;
	struct expectation expect = {
		.l4_proto = IPPROTO_UDP,
		.app = turn->data_app,
		.as = EXPECTED_TFTP,
		.ttl_s = REPLY_S,
		.item = state->item,
		.label = state->label,
	};

	if (!ends || !ends->port[HALF_C2S] || !turn->others || !turn->others->expect)
		return;
	expect.port = ends->port[HALF_C2S];
	expect.label.half = writes ? HALF_S2C : HALF_C2S; // the server begins it
	memcpy(expect.address, ends->address[HALF_C2S], 16);
	memcpy(expect.peer, ends->address[HALF_S2C], 16);
	turn->others->expect(turn->others->ctx, &expect);
}

// Whether the same was asked before, and is not over: it was lost, or the answer.
static bool is_again(const struct tftp_state *state, struct content_text datagram)
{
	for (unsigned i = 0; i < 2; i++)
		if (state->transfers[i].begun && !state->transfers[i].raw.id)
			return false;
	return datagram.length == state->request_length &&
	       !memcmp(datagram.bytes, state->request, datagram.length);
}

static void begin(struct tftp_state *state, const struct content_turn *turn,
	const struct tftp_request *request, bool writes)
{
	struct content_file file =
		content_file_of_path(request->name, (struct content_text){NULL, 0});

	end_all(state, turn);
	memset(state->transfers, 0, sizeof(state->transfers));
	state->blksize = 0;
	file.id = ++state->files;
	file.half = writes ? HALF_C2S : HALF_S2C;
	file.elsewhere = true;
	if (writes) // who reads asks for it with 0
		file.size = request->options.tsize;
	state->item = 0;
	file.item = &state->item;
	turn->sink->file(turn->sink->ctx, &file);
	state->label = (struct transfer_label){.what = TRANSFER_FILE, .half = file.half};
	state->label.size = file.size == CONTENT_SIZE_UNKNOWN ? 0 : file.size;
	content_label_file(&state->label, request->name);
}

static void take_request(struct tftp_state *state, const struct span *span,
	const struct content_turn *turn, struct content_text datagram)
{
	bool writes = be16(datagram.bytes) == TFTP_WRQ;
	struct tftp_request request;
	bool is_one = tftp_request_read(http_text_from(datagram, 2), &request);

	if (!(is_one && request.strict) && !state->noted) {
		turn->sink->note(turn->sink->ctx, CONTENT_NOTE_BAD_LINE, HALF_C2S, span->offset64);
		state->noted = true;
	}
	if (!is_one)
		return;
	if (!is_again(state, datagram)) {
		begin(state, turn, &request, writes);
		state->request_length =
			datagram.length <= REQUEST_BYTES ? (uint16_t)datagram.length : 0;
		memcpy(state->request, datagram.bytes, state->request_length);
	}
	if (request.strict)
		expect(state, turn, writes);
}

static bool is_requested(const struct tftp_state *state)
{
	return state->label.what != TRANSFER_NOT_SAID;
}

// Of the server, before the first block.
static void take_options(struct tftp_state *state, unsigned side, const struct content_turn *turn,
	struct content_text rest)
{
	unsigned server = is_requested(state) ? HALF_S2C : turn->announced ? HALF_C2S : side;
	struct tftp_options options;

	if (side != server || state->transfers[0].total || state->transfers[1].total)
		return;
	options = tftp_options_read(rest);
	state->blksize = options.blksize ? options.blksize : BLKSIZE;
	state->tsize = options.tsize == CONTENT_SIZE_UNKNOWN ? 0 : options.tsize;
	for (unsigned i = 0; i < 2; i++)
		state->transfers[i].blocks.rollover_1 = options.rollover_1;
}

// The first block of a file, or of what goes on behind its end.
static void open_file(
	struct tftp_state *state, unsigned side, const struct content_turn *turn, uint64_t begins64)
{
	struct tftp_transfer *transfer = &state->transfers[side];
	bool first = !state->transfers[0].begun && !state->transfers[1].begun;
	struct content_file file = content_announced_file(
		is_requested(state) ? &state->label : turn->announced, side, first);

	if (file.announced && is_requested(state)) { // here, not by another flow
		file.announced = false;
		file.item = &state->item;
	}
	if (file.size == CONTENT_SIZE_UNKNOWN && state->tsize)
		file.size = state->tsize;
	if (transfer->begun) {
		file.range_from += transfer->total;
		file.partial = true;
	}
	content_raw_open(&transfer->raw, turn, &file, &state->files, begins64);
	if (!transfer->begun && transfer->total)
		content_raw_lose(&transfer->raw, transfer->total);
	transfer->begun = true;
}

// Of a block, what was not told yet.
static enum content_fed put(
	struct tftp_transfer *transfer, const struct span *span, struct content_turn *turn)
{
	uint32_t length = span_length(span);

	turn->taken += content_raw_put(
		&transfer->raw, turn, span_bytes(span) + turn->taken, length - turn->taken);
	transfer->ends64 = transfer->rest64 = span->offset64 + turn->taken;
	transfer->waits = turn->taken < length;
	if (transfer->waits)
		return CONTENT_MORE;
	if (transfer->last)
		content_raw_end(&transfer->raw, turn, CONTENT_END_CLOSED, transfer->ends64);
	return CONTENT_FED;
}

static enum content_fed take_block(
	struct tftp_state *state, const struct span *span, struct content_turn *turn)
{
	unsigned side = span->half & 1;
	struct tftp_transfer *transfer = &state->transfers[side];
	uint32_t length = span_length(span) - HEAD_BYTES;

	if (!tftp_blocks_take(&transfer->blocks, be16(span_bytes(span) + 2))) {
		turn->taken = span->extent;
		return CONTENT_FED;
	}
	// one that is longer than agreed: the acknowledgment of options was not seen
	if (!state->blksize)
		state->blksize = length > BLKSIZE ? length : BLKSIZE;
	transfer->last = length < state->blksize;
	turn->taken = HEAD_BYTES;
	if (!transfer->raw.id)
		open_file(state, side, turn, span->offset64 + HEAD_BYTES);
	transfer->total += length;
	return put(transfer, span, turn);
}

static void take_acknowledgment(struct tftp_state *state, unsigned side, uint16_t number)
{
	struct tftp_transfer *transfer = &state->transfers[!side];
	uint64_t lost = tftp_blocks_acknowledge(&transfer->blocks, number) *
			(state->blksize ? state->blksize : BLKSIZE);

	transfer->total += lost;
	if (lost && transfer->raw.id)
		content_raw_lose(&transfer->raw, lost);
}

static enum content_fed take_datagram(
	struct tftp_state *state, const struct span *span, struct content_turn *turn)
{
	struct content_text datagram = {span_bytes(span), span_length(span)};
	unsigned side = span->half & 1;

	switch (be16(datagram.bytes)) {
	case TFTP_RRQ:
	case TFTP_WRQ:
		if (side == HALF_C2S)
			take_request(state, span, turn, datagram);
		break;
	case TFTP_DATA: return take_block(state, span, turn);
	case TFTP_ACK: take_acknowledgment(state, side, be16(datagram.bytes + 2)); break;
	case TFTP_ERROR:
		if (be16(datagram.bytes + 2) != ERROR_WRONG_ID)
			end_all(state, turn);
		break;
	case TFTP_OACK: take_options(state, side, turn, http_text_from(datagram, 2)); break;
	default: break;
	}
	turn->taken = span->extent;
	return CONTENT_FED;
}

static enum content_fed feed(void *of, const struct span *span, struct content_turn *turn)
{
	struct tftp_state *state = of;
	struct tftp_transfer *transfer = &state->transfers[span->half & 1];

	if (transfer->waits && span_length(span) &&
		span->offset64 + turn->taken == transfer->rest64)
		return put(transfer, span, turn);
	transfer->waits = false;
	if (span->flags & SPAN_DATAGRAM && !turn->taken && span_length(span) >= HEAD_BYTES)
		return take_datagram(state, span, turn);
	turn->taken = span->extent;
	return CONTENT_FED;
}

static void over(void *of, struct content_turn *turn)
{
	end_all(of, turn);
}

const struct content_decoder content_tftp = {
	.app = "tftp",
	.state_bytes = sizeof(struct tftp_state),
	.finds = CONTENT_FINDS_FILES,
	.feed = feed,
	.over = over,
};
