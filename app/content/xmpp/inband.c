// SPDX-License-Identifier: BSD-3-Clause
// Files in band (XEP-0047, XEP-0261): blocks of base64 inside of stanzas, numbered modulo 2^16 for
// each half. They are decoded as they come; nothing of a block is kept.
//
// A receiver must refuse a block whose number is not the next one, or that is longer than was
// agreed on; not each does, and base64 that is not as it should be is read in several ways. Of a
// stream that nobody has opened or offered a file without a name is told.
#include <assert.h>
#include <string.h>
#include "content/http/text.h"
#include "content/xmpp/stream.h"

#define DECODED_BYTES 3072 // at once

static struct xmpp_band *band_at_hand(const struct xmpp_turn *to)
{
	struct xmpp_work *work = to->half->work;

	return work && work->transfer ? &work->transfer->bands[to->side] : NULL;
}

static void begin_stream(const struct xmpp_turn *to)
{
	struct xmpp_transfer *transfer = to->half->work->transfer;
	uint64_t size;

	for (unsigned half = 0; half < 2; half++)
		if (transfer->bands[half].blocks) // it runs already
			xmpp_note(to, CONTENT_NOTE_BAD_CHUNK, to->half->at64);
	if (http_number(xmpp_value(to, XMPP_ATTRIBUTE_BLOCK_SIZE), &size) && size <= UINT16_MAX)
		transfer->block_size = (uint32_t)size;
}

// Blocks before this one that are not here, or were lost inside; a number that is none.
static void number_block(const struct xmpp_turn *to, struct xmpp_band *band)
{
	uint64_t number = 0;
	bool given =
		http_number(xmpp_value(to, XMPP_ATTRIBUTE_SEQ), &number) && number <= UINT16_MAX;
	uint16_t missing = given ? (uint16_t)(number - band->blocks) : 0;
	bool lost = band->gap && missing <= INT16_MAX;

	if (!given || (missing && !lost))
		xmpp_note(to, CONTENT_NOTE_BAD_CHUNK, to->half->at64);
	band->blocks += missing;
	if (lost && (missing || band->torn)) {
		uint64_t at = band->blocks * band->full;

		band->raw.damaged = true;
		band->raw.at = at > band->raw.at ? at : band->raw.at;
	}
	band->gap = band->torn = false;
	band->blocks++;
}

static void begin_block(const struct xmpp_turn *to)
{
	struct xmpp_band *band = band_at_hand(to);

	number_block(to, band);
	band->base64 = (struct base64_stream){0};
	band->bytes = 0;
}

void xmpp_inband_start(const struct xmpp_turn *to, enum xmpp_kind kind)
{
	const struct xmpp_transfer *transfer = to->half->work->transfer;

	if (!transfer)
		return;
	switch (kind) {
	case XMPP_OPEN: begin_stream(to); break;
	case XMPP_BLOCK: begin_block(to); break;
	default: xmpp_transfer_end(to, transfer, XMPP_ENDS_CLOSED); break;
	}
}

static bool in_block(const struct xmpp_turn *to)
{
	const struct xmpp_work *work = to->half->work;
	uint32_t depth = work ? work->reader.depth : 0;

	return depth && depth <= XML_DEPTH && work->roles[depth - 1] == XMPP_ROLE_BLOCK;
}

// Four digits are three bytes, and three may be there; padding gives no more than digits would. A
// byte alone gives three at most, which are held (XMPP_HELD_BYTES).
uint32_t xmpp_inband_may_read(const struct xmpp_turn *to, uint32_t length)
{
	uint32_t quanta = to->turn->output / 3;
	uint32_t most = quanta < 2 ? 1 : (quanta < UINT16_MAX ? quanta - 1 : UINT16_MAX) * 4;

	if (!in_block(to))
		return length;
	if (!to->turn->output)
		return 0;
	return length < most ? length : most;
}

static void open_file(const struct xmpp_turn *to, struct xmpp_band *band, uint64_t begins64)
{
	struct xmpp_transfer *transfer = to->half->work->transfer;
	bool said = transfer->offered && transfer->half == to->side;
	struct content_text name = {transfer->name, said ? transfer->length : 0u};
	struct content_file file = content_file_of_path(name, xmpp_sender(to));
	const struct content_raw before = band->raw;

	file.half = to->side;
	if (file.name.length)
		file.name_source = CONTENT_NAME_OFFER;
	if (said) {
		file.name_cut |= transfer->cut;
		file.size = transfer->size;
		file.range_from = transfer->range_from;
		file.partial = transfer->partial;
		file.item = &transfer->item;
	}
	content_raw_open(&band->raw, to->turn, &file, &to->state->files, begins64);
	band->raw.damaged = before.damaged;
	band->raw.at = before.at;
}

static void tell(
	const struct xmpp_turn *to, struct xmpp_band *band, const uint8_t *bytes, uint32_t length)
{
	uint32_t n = content_raw_put(&band->raw, to->turn, bytes, length);
	struct xmpp_half *half = to->half;

	band->bytes += length <= UINT32_MAX - band->bytes ? length : 0;
	assert(length - n <= sizeof(half->held) && !half->n_held);
	half->n_held = (uint8_t)(length - n);
	if (half->n_held)
		memcpy(half->held, bytes + n, half->n_held);
}

void xmpp_inband_put(const struct xmpp_turn *to, const struct xml_token *token)
{
	struct xmpp_band *band = band_at_hand(to);
	uint64_t behind64 = to->half->at64 - token->back;
	uint8_t out[DECODED_BYTES];

	if (!band)
		return;
	if (!band->raw.id)
		open_file(to, band, behind64 - token->raw);
	band->ends64 = behind64;
	for (uint32_t done = 0, taken; done < token->length; done += taken) {
		uint32_t n = base64_decode(&band->base64, token->text + done, token->length - done,
			&taken, out, sizeof(out));

		if (n)
			tell(to, band, out, n);
	}
}

void xmpp_inband_end(const struct xmpp_turn *to)
{
	struct xmpp_band *band = band_at_hand(to);
	uint8_t last[2];

	if (!band)
		return;
	const struct xmpp_transfer *transfer = to->half->work->transfer;
	bool odd = band->base64.digits || band->base64.foreign || band->base64.behind;
	uint32_t n = base64_finish(&band->base64, last);

	if (n)
		tell(to, band, last, n);
	if (odd)
		xmpp_note(to, CONTENT_NOTE_CODING_LIES, to->half->at64);
	if (transfer->block_size && band->bytes > transfer->block_size)
		xmpp_note(to, CONTENT_NOTE_BAD_CHUNK, to->half->at64);
	if (!band->full)
		band->full = band->bytes;
}

void xmpp_inband_lose(const struct xmpp_turn *to)
{
	struct xmpp_transfers *transfers = &to->state->transfers;
	struct xmpp_band *torn = in_block(to) ? band_at_hand(to) : NULL;

	for (unsigned i = 0; i < XMPP_TRANSFERS; i++)
		if (transfers->all[i])
			transfers->all[i]->bands[to->side].gap = true;
	if (torn)
		torn->torn = torn->raw.damaged = true;
	to->half->n_held = 0;
}

bool xmpp_inband_flush(const struct xmpp_turn *to)
{
	struct xmpp_half *half = to->half;
	struct xmpp_band *band = band_at_hand(to);
	uint32_t n;

	if (!half->n_held)
		return true;
	if (!band) {
		half->n_held = 0;
		return true;
	}
	n = content_raw_put(&band->raw, to->turn, half->held, half->n_held);
	half->n_held = (uint8_t)(half->n_held - n);
	memmove(half->held, half->held + n, half->n_held);
	return !half->n_held;
}
