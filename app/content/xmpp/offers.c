// SPDX-License-Identifier: BSD-3-Clause
// Files that stanzas offer by name (XEP-0096 stream initiation, XEP-0234 Jingle, XEP-0447 sharing,
// XEP-0363 upload), and where their bytes will go (XEP-0065 and XEP-0260, SOCKS5 bytestreams).
#include <string.h>
#include "content/http/text.h"
#include "content/transfer.h"
#include "content/xmpp/stream.h"
#include "pipeline/vocab/xmpp_offer.h"

static uint32_t session_in(struct content_text id)
{
	return xmpp_session_of(id.bytes, id.length);
}

static struct content_text value_of(const struct xmpp_turn *to, enum xmpp_attribute attribute)
{
	return xml_value_of(&to->half->work->reader, attribute);
}

static bool is_offered(const struct xmpp_turn *to)
{
	return to->state->offer && to->state->offer == to->half->session;
}

// A session begins to offer: what is said of a file from here on is of it.
static void offer(const struct xmpp_turn *to, struct content_text session)
{
	to->state->offer = to->half->session = session_in(session);
	to->half->work->offers = true;
	xmpp_label_clear_file(&to->state->label);
}

// Of the server's half `from` is the server's word.
void xmpp_offers_stanza(const struct xmpp_turn *to)
{
	struct transfer_label *label = &to->state->label;
	struct content_text from = value_of(to, XMPP_ATTRIBUTE_FROM);

	to->half->session = 0;
	if (to->side == HALF_S2C)
		transfer_text_set(label->user, sizeof(label->user), from.bytes, from.length);
}

static void expect(const struct xmpp_turn *to)
{
	const struct content_turn *turn = to->turn;
	const struct xmpp_party *own = &to->state->own;
	struct content_text host = value_of(to, XMPP_ATTRIBUTE_HOST);
	struct expectation expect = {.app = turn->data_app, .label = to->state->label};
	uint64_t port;

	if (!turn->others || !turn->others->expect || !turn->ends ||
		!http_number(value_of(to, XMPP_ATTRIBUTE_PORT), &port) ||
		!xmpp_expect(&expect, turn->ends, to->side, host.bytes, host.length, port))
		return;
	if (to->side == HALF_C2S)
		transfer_text_set(
			expect.label.user, sizeof(expect.label.user), own->bytes, own->length);
	if (!is_offered(to))
		xmpp_label_clear_file(&expect.label);
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

static void name_label(const struct xmpp_turn *to)
{
	const struct xmpp_file *file = &to->half->work->file;
	struct transfer_label *label = &to->state->label;

	if (!is_offered(to) || !to->half->work->offers)
		return;
	content_label_file(label, (struct content_text){file->name, file->length});
	label->size = file->size == CONTENT_SIZE_UNKNOWN ? 0 : file->size;
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

// Who offers, sends; who asks for a slot, too.
static void report(const struct xmpp_turn *to)
{
	const struct xmpp_work *work = to->half->work;
	const struct content_sink *sink = to->turn->sink;
	struct content_text name = {work->file.name, work->file.length};
	struct content_file file = content_file_of_path(name, xmpp_party_text(&work->from[0]));

	if (!name.length)
		return;
	if (!file.user.length && to->side == HALF_C2S)
		file.user = xmpp_party_text(&to->state->own);
	if (file.name.length)
		file.name_source = CONTENT_NAME_OFFER;
	file.name_cut |= work->file.cut;
	file.id = ++to->state->files;
	file.half = to->side ^ work->file.answered;
	file.elsewhere = true;
	file.size = work->file.size;
	sink->file(sink->ctx, &file);
}

static void begin_jingle(const struct xmpp_turn *to)
{
	struct content_text action = value_of(to, XMPP_ATTRIBUTE_ACTION);
	struct content_text session = value_of(to, XMPP_ATTRIBUTE_SID);

	if (http_is(action, "session-initiate"))
		offer(to, session);
	else
		to->half->session = session_in(session);
	if (http_is(action, "content-add"))
		to->half->work->offers = true;
}

static void begin_request(const struct xmpp_turn *to)
{
	struct xmpp_work *work = to->half->work;

	if (!http_begins(value_of(to, XMPP_ATTRIBUTE_XMLNS), "urn:xmpp:http:upload"))
		return;
	begin_file(to);
	set_name(&work->file, value_of(to, XMPP_ATTRIBUTE_FILENAME),
		work->reader.values[XMPP_ATTRIBUTE_FILENAME].cut);
	work->file.answered = false;
}

void xmpp_offers_start(const struct xmpp_turn *to, enum xmpp_kind kind)
{
	struct xmpp_work *work = to->half->work;

	switch (kind) {
	case XMPP_SI: offer(to, value_of(to, XMPP_ATTRIBUTE_ID)); break;
	case XMPP_JINGLE: begin_jingle(to); break;
	case XMPP_SHARING: work->offers = true; break;
	case XMPP_CONTENT:
		// who answers will send (XEP-0234 section 6.1)
		work->file.answered = http_is(value_of(to, XMPP_ATTRIBUTE_SENDERS), "responder");
		break;
	case XMPP_QUERY:
		if (http_begins(value_of(to, XMPP_ATTRIBUTE_XMLNS),
			    "http://jabber.org/protocol/bytestreams"))
			to->half->session = session_in(value_of(to, XMPP_ATTRIBUTE_SID));
		break;
	case XMPP_FILE:
		begin_file(to);
		if (work->file.length)
			name_label(to);
		break;
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
	name_label(to);
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
