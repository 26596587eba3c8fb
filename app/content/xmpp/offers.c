// SPDX-License-Identifier: BSD-3-Clause
// Files that stanzas offer by name (XEP-0096 stream initiation, XEP-0234 Jingle, XEP-0447 sharing,
// XEP-0363 upload), and where their bytes will go (XEP-0065 and XEP-0260, SOCKS5 bytestreams;
// XEP-0047 and XEP-0261, in band).
#include <string.h>
#include "content/http/text.h"
#include "content/transfer.h"
#include "content/xmpp/stream.h"
#include "pipeline/vocab/xmpp_offer.h"

static void expect_label(const struct xmpp_turn *to, struct expectation *expect,
	const struct xmpp_transfer *transfer)
{
	static const uint8_t anybody[16] = {0};
	struct transfer_label *label = &expect->label;
	struct content_text user = to->side == HALF_C2S ? xmpp_party_text(&to->state->own)
							: xmpp_party_text(&to->half->work->from[0]);
	// the one that is said to connect is the client, or anybody to it
	bool client_connects = memcmp(expect->peer, anybody, sizeof(anybody)) != 0;

	transfer_text_set(label->user, sizeof(label->user), user.bytes, user.length);
	if (!transfer || !transfer->offered)
		return;
	label->what = TRANSFER_FILE;
	label->half = client_connects == (transfer->half == HALF_C2S) ? HALF_C2S : HALF_S2C;
	content_label_file(label, (struct content_text){transfer->name, transfer->length});
	label->begins_cut |= transfer->cut;
	label->size = transfer->size == CONTENT_SIZE_UNKNOWN ? 0 : transfer->size;
	label->range_from = transfer->range_from;
	expect->item = transfer->item;
}

static void expect(const struct xmpp_turn *to)
{
	const struct content_turn *turn = to->turn;
	struct content_text host = xmpp_value(to, XMPP_ATTRIBUTE_HOST);
	struct expectation expect = {.app = turn->data_app};
	uint64_t port;

	if (!turn->others || !turn->others->expect || !turn->ends ||
		!http_number(xmpp_value(to, XMPP_ATTRIBUTE_PORT), &port) ||
		!xmpp_expect(&expect, turn->ends, to->side, host.bytes, host.length, port))
		return;
	expect_label(to, &expect, to->half->work->transfer);
	turn->others->expect(turn->others->ctx, &expect);
}

static void set_name(struct xmpp_file *file, struct content_text name, bool cut)
{
	file->length = (uint16_t)name.length;
	file->cut = cut;
	if (name.length)
		memcpy(file->name, name.bytes, name.length);
}

static void set_size(struct xmpp_file *file, struct content_text size)
{
	if (!http_number(size, &file->size))
		file->size = CONTENT_SIZE_UNKNOWN;
}

// A file inside of another one takes its place: the other's name is told nowhere.
static void begin_file(const struct xmpp_turn *to)
{
	struct xmpp_work *work = to->half->work;
	const struct xml_value *name = &work->reader.values[XMPP_ATTRIBUTE_NAME];

	if (work->in_file)
		xmpp_note(to, CONTENT_NOTE_TWO_NAMES, to->half->at64);
	work->in_file = true;
	set_name(&work->file, xml_value_of(&work->reader, XMPP_ATTRIBUTE_NAME), name->cut);
	set_size(&work->file, xml_value_of(&work->reader, XMPP_ATTRIBUTE_SIZE));
}

static void remember(struct xmpp_transfer *transfer, const struct xmpp_file *file, unsigned half)
{
	transfer->offered = true;
	transfer->half = (uint8_t)half;
	transfer->size = file->size;
	transfer->cut = file->cut;
	transfer->length = file->length;
	memcpy(transfer->name, file->name, file->length);
}

// Who offers, sends; who asks for a slot, too.
static void report(const struct xmpp_turn *to)
{
	const struct xmpp_work *work = to->half->work;
	const struct content_sink *sink = to->turn->sink;
	struct content_text name = {work->file.name, work->file.length};
	struct content_file file = content_file_of_path(name, xmpp_sender(to));
	struct xmpp_transfer *transfer = work->offers ? work->transfer : NULL;

	file.half = to->side ^ work->file.answered;
	if (transfer)
		remember(transfer, &work->file, file.half);
	if (!name.length)
		return;
	if (file.name.length)
		file.name_source = CONTENT_NAME_OFFER;
	file.name_cut |= work->file.cut;
	file.id = ++to->state->files;
	file.elsewhere = true;
	file.size = work->file.size;
	if (transfer) {
		file.range_from = transfer->range_from;
		file.partial = transfer->partial;
		file.item = &transfer->item;
	}
	sink->file(sink->ctx, &file);
}

bool xmpp_offers_begins(const struct xmpp_turn *to, enum xmpp_kind kind)
{
	const struct xmpp_work *work = to->half->work;

	if (work->answers || work->fails || work->reader.depth < 2)
		return false;
	switch (kind) {
	case XMPP_SI: return true;
	case XMPP_CONTENT: return work->jingle && work->offers;
	case XMPP_OPEN:
	case XMPP_BLOCK: return xmpp_value_hash(to, XMPP_ATTRIBUTE_SID);
	default: return false;
	}
}

static struct xmpp_transfer *known(const struct xmpp_turn *to, enum xmpp_kind kind)
{
	if (kind == XMPP_CONTENT)
		return xmpp_transfer_of_content(
			to, to->half->work->session, xmpp_value_hash(to, XMPP_ATTRIBUTE_NAME));
	return xmpp_transfer_of_sid(
		to, xmpp_value_hash(to, kind == XMPP_SI ? XMPP_ATTRIBUTE_ID : XMPP_ATTRIBUTE_SID));
}

bool xmpp_offers_room(const struct xmpp_turn *to)
{
	enum xmpp_kind kind = xmpp_kind_of(xml_name_of(&to->half->work->reader));

	return !xmpp_offers_begins(to, kind) || known(to, kind) || xmpp_transfers_take_spare(to);
}

// An offer: one of that name begins again with it.
static void offer(const struct xmpp_turn *to, enum xmpp_kind kind)
{
	struct xmpp_work *work = to->half->work;
	struct xmpp_transfer *before = known(to, kind), *transfer;

	transfer = before ? xmpp_transfer_begin_anew(to, before) : xmpp_transfer_begin(to);
	transfer->request = work->id;
	if (kind == XMPP_SI) {
		transfer->sid = transfer->session = xmpp_value_hash(to, XMPP_ATTRIBUTE_ID);
	} else {
		transfer->session = work->session;
		transfer->content = xmpp_value_hash(to, XMPP_ATTRIBUTE_NAME);
	}
	work->transfer = transfer;
}

static void begin_si(const struct xmpp_turn *to)
{
	struct xmpp_work *work = to->half->work;

	if (work->answers)
		work->transfer = xmpp_transfer_answered(to);
	if (!xmpp_offers_begins(to, XMPP_SI))
		return;
	work->offers = true;
	offer(to, XMPP_SI);
}

static void begin_jingle(const struct xmpp_turn *to)
{
	struct xmpp_work *work = to->half->work;
	struct content_text action = xmpp_value(to, XMPP_ATTRIBUTE_ACTION);
	struct xmpp_transfer *transfer;

	if (work->answers || work->fails)
		return;
	work->jingle = true;
	work->session = xmpp_value_hash(to, XMPP_ATTRIBUTE_SID);
	work->offers = http_is(action, "session-initiate") || http_is(action, "content-add");
	if (!http_is(action, "session-terminate"))
		return;
	while ((transfer = xmpp_transfer_of_session(to, work->session)))
		xmpp_transfer_end(to, transfer, XMPP_ENDS_OVER);
}

static void begin_content(const struct xmpp_turn *to)
{
	struct xmpp_work *work = to->half->work;

	// who answers will send (XEP-0234 section 6.1)
	work->file.answered = http_is(xmpp_value(to, XMPP_ATTRIBUTE_SENDERS), "responder");
	if (!work->jingle)
		return;
	if (xmpp_offers_begins(to, XMPP_CONTENT)) {
		offer(to, XMPP_CONTENT);
		return;
	}
	work->transfer = known(to, XMPP_CONTENT);
	if (!work->transfer)
		work->transfer = xmpp_transfer_of_session(to, work->session);
}

// Where the stream of a file is, from here on.
static void begin_transport(const struct xmpp_turn *to)
{
	struct xmpp_work *work = to->half->work;
	uint64_t sid = xmpp_value_hash(to, XMPP_ATTRIBUTE_SID), size;

	if (!work->jingle || !sid)
		return;
	if (!work->transfer)
		work->transfer = xmpp_transfer_of_sid(to, sid);
	if (!work->transfer)
		return;
	work->transfer->sid = sid;
	if (http_number(xmpp_value(to, XMPP_ATTRIBUTE_BLOCK_SIZE), &size) && size <= UINT16_MAX)
		work->transfer->block_size = (uint32_t)size;
}

static void begin_stream(const struct xmpp_turn *to, enum xmpp_kind kind)
{
	struct xmpp_work *work = to->half->work;

	if (kind == XMPP_CLOSE ? work->answers || work->fails : !xmpp_offers_begins(to, kind))
		return;
	work->transfer = known(to, kind);
	if (!work->transfer && kind != XMPP_CLOSE) {
		work->transfer = xmpp_transfer_begin(to);
		work->transfer->sid = xmpp_value_hash(to, XMPP_ATTRIBUTE_SID);
		if (to->state->transfers.forgot)
			xmpp_note(to, CONTENT_NOTE_TOO_MANY_REQUESTS, to->half->at64);
	}
	xmpp_inband_start(to, kind);
}

static void begin_range(const struct xmpp_turn *to)
{
	struct xmpp_transfer *transfer = to->half->work->transfer;
	uint64_t number;

	if (!transfer || !to->half->work->in_file)
		return;
	if (http_number(xmpp_value(to, XMPP_ATTRIBUTE_OFFSET), &number)) {
		transfer->range_from = number;
		transfer->partial = number;
	}
	transfer->partial |= xmpp_value(to, XMPP_ATTRIBUTE_LENGTH).length;
}

static void begin_request(const struct xmpp_turn *to)
{
	struct xmpp_work *work = to->half->work;

	if (work->jingle) // version 3: the file that is asked for is inside
		work->file.answered = true;
	if (!http_begins(xmpp_value(to, XMPP_ATTRIBUTE_XMLNS), "urn:xmpp:http:upload"))
		return;
	begin_file(to);
	set_name(&work->file, xmpp_value(to, XMPP_ATTRIBUTE_FILENAME),
		work->reader.values[XMPP_ATTRIBUTE_FILENAME].cut);
	work->file.answered = false;
}

void xmpp_offers_start(const struct xmpp_turn *to, enum xmpp_kind kind)
{
	struct xmpp_work *work = to->half->work;

	switch (kind) {
	case XMPP_SI: begin_si(to); break;
	case XMPP_JINGLE: begin_jingle(to); break;
	case XMPP_SHARING: work->offers = true; break;
	case XMPP_CONTENT: begin_content(to); break;
	case XMPP_TRANSPORT: begin_transport(to); break;
	case XMPP_QUERY:
		if (http_begins(xmpp_value(to, XMPP_ATTRIBUTE_XMLNS),
			    "http://jabber.org/protocol/bytestreams"))
			work->transfer = known(to, kind);
		break;
	case XMPP_FILE: begin_file(to); break;
	case XMPP_RANGE: begin_range(to); break;
	case XMPP_OPEN:
	case XMPP_BLOCK:
	case XMPP_CLOSE: begin_stream(to, kind); break;
	case XMPP_REQUEST: begin_request(to); break;
	case XMPP_STREAMHOST:
	case XMPP_CANDIDATE: expect(to); break;
	default: break;
	}
}

void xmpp_offers_field(const struct xmpp_turn *to, enum xmpp_kind kind)
{
	struct xmpp_work *work = to->half->work;
	struct content_text text = {work->field, work->field_length};

	if (kind == XMPP_SIZE)
		set_size(&work->file, text);
}

void xmpp_offers_end(const struct xmpp_turn *to, enum xmpp_kind kind)
{
	struct xmpp_work *work = to->half->work;

	if ((kind != XMPP_FILE && kind != XMPP_REQUEST) || !work->in_file)
		return;
	work->in_file = false;
	if (work->offers || kind == XMPP_REQUEST)
		report(to);
}
