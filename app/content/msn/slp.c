// SPDX-License-Identifier: BSD-3-Clause
// MSNSLP: INVITE names a session and what it brings; bodies about transports say where a client
// listens. What kind of session it is, EUF-GUID says: a file, whose Context has its size and its
// name in UTF-16, or a picture (emoticon, wink), whose Context is an object in XML and which the
// one who is invited sends.
#include "content/base64.h"
#include "content/charset.h"
#include "content/msn/command.h"
#include "content/msn/fields.h"

#define CONTEXT_FIXED 20 // octets before the name
#define CONTEXT_BYTES 1200
#define NAME_BYTES    CONTENT_NAME_BYTES
#define LINE_BYTES    256 // of one that is turned round

#define GUID_FILE   "{5d3e02ab-6190-11d3-bbbb-00c04f795683}"
#define GUID_OBJECT "{a4268eec-fec5-49e5-95c3-f126696bdbf6}"

static uint32_t decode(struct content_text text, uint8_t *out, uint32_t room)
{
	struct base64_stream stream = {0};
	uint8_t rest[2];
	uint32_t taken, n = base64_decode(&stream, text.bytes, text.length, &taken, out, room);

	if (taken == text.length && room - n >= sizeof(rest)) {
		uint32_t more = base64_finish(&stream, rest);

		memcpy(out + n, rest, more);
		n += more;
	}
	return n;
}

// Up to its NUL. Surrogates that are alone become U+FFFD.
static struct content_text utf16(struct content_text text, uint8_t *out, uint32_t room)
{
	struct text_out to = {.bytes = out, .size = room};

	charset_text(
		&to, CHARSET_UTF16LE, text.bytes, charset_utf16_until_nul(text.bytes, text.length));
	return (struct content_text){out, to.written};
}

struct offer {
	struct content_text name, alias, user;
	uint64_t size;
	bool object;
	uint8_t names[2][NAME_BYTES];
};

// Length u32, version u32, size u64, type u32, name; little endian.
static bool read_file(struct content_text context, struct offer *offer)
{
	uint8_t bytes[CONTEXT_BYTES];
	uint32_t n = decode(context, bytes, sizeof(bytes));

	if (n < CONTEXT_FIXED + 2)
		return false;
	offer->size = octets_le32(bytes + 8) | (uint64_t)octets_le32(bytes + 12) << 32;
	offer->name = utf16((struct content_text){bytes + CONTEXT_FIXED, n - CONTEXT_FIXED},
		offer->names[0], NAME_BYTES);
	return offer->name.length;
}

// The value of ` name="value"`.
static struct content_text attribute(struct content_text xml, const char *name)
{
	struct content_text nothing = {NULL, 0};
	const uint8_t *at = memmem(xml.bytes, xml.length, name, strlen(name));

	if (!at)
		return nothing;
	xml = http_text_from(xml, (uint32_t)(at - xml.bytes) + (uint32_t)strlen(name));
	return msn_take(&xml, '"');
}

static struct content_text keep(struct content_text text, uint8_t *out)
{
	if (text.length > NAME_BYTES)
		text.length = NAME_BYTES;
	if (text.length)
		memcpy(out, text.bytes, text.length);
	return (struct content_text){out, text.length};
}

// <msnobj Creator="a@b" Size="1" Type="3" Location="TFR1.dat" Friendly="base64 of UTF-16" .../>
static bool read_object(const struct msn_turn *to, struct content_text context, struct offer *offer)
{
	uint8_t bytes[CONTEXT_BYTES], wide[NAME_BYTES];
	struct content_text xml = {bytes, decode(context, bytes, sizeof(bytes))};
	struct content_text friendly = attribute(xml, " Friendly=\"");
	uint64_t size;

	offer->object = true;
	if (http_number(attribute(xml, " Size=\""), &size))
		offer->size = size;
	offer->name = keep(attribute(xml, " Location=\""), offer->names[0]);
	offer->alias = utf16((struct content_text){wide, decode(friendly, wide, sizeof(wide))},
		offer->names[1], NAME_BYTES);
	// who sends it is the other end
	offer->user = to->side == HALF_S2C
			      ? (struct content_text){to->state->own, to->state->own_length}
			      : (struct content_text){NULL, 0};
	return offer->name.length;
}

// A second INVITE with the number of a session of which nothing has come: names that differ.
static bool renames(const struct msn_session *session, struct content_text name)
{
	struct transfer_label label = {0};

	content_label_file(&label, name);
	return session && session->label.file[0] &&
	       memcmp(label.file, session->label.file, sizeof(label.file)) != 0;
}

// Of a session whose bytes are coming nothing changes: who receives goes on with it.
static void take_offer(
	const struct msn_turn *to, struct content_text text, uint64_t id, struct offer *offer)
{
	struct msn_session *session = msn_session_of(to, (uint32_t)id);
	struct msn_session again = {0};
	unsigned half = offer->object ? !to->side : to->side;

	if (renames(session, offer->name) &&
		(session->raw.id || !(session->base + session->raw.at)))
		msn_note(to, CONTENT_NOTE_TWO_NAMES, to->half->begin64);
	session = session && session->raw.id ? &again : msn_session_new(to, session, (uint32_t)id);
	session->call = msn_hash(msn_head_field(text, "call-id"));
	session->label.half = (uint8_t)half;
	session->label.size = offer->size <= INT64_MAX ? offer->size : 0;
	transfer_text_set(session->label.user, sizeof(session->label.user), offer->user.bytes,
		offer->user.length);
	msn_tell_offer(to, half, offer->name, offer->alias, &session->label, &session->item);
}

static void take_invite(const struct msn_turn *to, struct content_text text, bool cut)
{
	struct content_text guid = msn_head_field(text, "euf-guid");
	struct content_text context = msn_head_field(text, "context");
	struct offer offer = {0};
	uint64_t id;
	bool named;

	if (to->half->kept)
		offer.user = msn_parties_of(to).from;
	if (!http_number(msn_head_field(text, "sessionid"), &id) || id > UINT32_MAX)
		id = 0;
	named = http_is(guid, GUID_OBJECT) ? read_object(to, context, &offer)
					   : read_file(context, &offer);
	if (!named && cut)
		msn_note(to, CONTENT_NOTE_HEAD_TOO_LONG, to->half->begin64);
	if (named && id && (http_is(guid, GUID_FILE) || http_is(guid, GUID_OBJECT)))
		take_offer(to, text, id, &offer);
}

// "10.0.0.1:4321 192.0.2.1:4321"
static void take_endpoints(const struct msn_turn *to, struct content_text words,
	const struct msn_session *session, const struct transfer_label *label)
{
	for (unsigned i = 0; i < 4 && words.length; i++) {
		struct content_text word = msn_word(&words), host = msn_take(&word, ':');
		struct msn_places places = {0};

		msn_places_add(&places, host);
		msn_expect(
			to, &places, word, EXPECTED_MSN_DIRECT, label, session ? session->item : 0);
	}
}

// Later clients turn some lines round. The first of both that is there.
static struct content_text either(
	struct content_text text, const char *name, const char *turned, uint8_t room[LINE_BYTES])
{
	struct content_text value = msn_head_field(text, name);

	if (value.length)
		return value;
	value = msn_head_field(text, turned);
	if (value.length > LINE_BYTES)
		value.length = LINE_BYTES;
	for (uint32_t i = 0; i < value.length; i++)
		room[i] = value.bytes[value.length - 1 - i];
	return (struct content_text){room, value.length};
}

static void take_places(const struct msn_turn *to, struct content_text text)
{
	struct msn_session *session =
		msn_session_by_call(to, msn_hash(msn_head_field(text, "call-id")));
	struct transfer_label label = {0};
	struct msn_places places = {0};
	uint8_t room[LINE_BYTES];

	if (session) { // the sender of this listens
		label = session->label;
		label.half = session->label.half == to->side ? HALF_S2C : HALF_C2S;
	}
	msn_places_add(&places, either(text, "ipv4internal-addrs", "srdda-lanretni4vpi", room));
	msn_places_add(&places, either(text, "ipv4external-addrs", "srdda-lanretxe4vpi", room));
	msn_expect(to, &places, either(text, "ipv4internal-port", "trop-lanretni4vpi", room),
		EXPECTED_MSN_DIRECT, &label, session ? session->item : 0);
	msn_expect(to, &places, either(text, "ipv4external-port", "trop-lanretxe4vpi", room),
		EXPECTED_MSN_DIRECT, &label, session ? session->item : 0);
	take_endpoints(to,
		either(text, "ipv4internal-addrsandports", "stropdnasrdda-lanretni4vpi", room),
		session, &label);
	take_endpoints(to,
		either(text, "ipv4external-addrsandports", "stropdnasrdda-lanretxe4vpi", room),
		session, &label);
}

void msn_slp_take(const struct msn_turn *to, struct content_text text, bool cut)
{
	if (http_begins(text, "invite ") && msn_head_field(text, "euf-guid").length)
		take_invite(to, text, cut);
	take_places(to, text);
}
