// SPDX-License-Identifier: BSD-3-Clause
// What lines say: who the client is, what people write, that TLS begins.
#include "content/irc/session.h"

#include "content/http/text.h"
#include "content/irc/text.h"

void irc_note(const struct irc_turn *turn, enum content_note note)
{
	const struct content_sink *sink = turn->turn->sink;
	uint64_t *noted = &turn->session->noted[turn->half];

	if (!(*noted & CONTENT_NOTE_BIT(note)))
		sink->note(sink->ctx, note, turn->half, turn->begin64);
	*noted |= CONTENT_NOTE_BIT(note);
}

static struct content_text own_nick(const struct irc_session *session)
{
	return (struct content_text){session->own, session->own_length};
}

void irc_set_own(struct irc_session *session, struct content_text nick)
{
	if (!nick.length || (nick.length == 1 && nick.bytes[0] == '*'))
		return;
	if (nick.length > sizeof(session->own))
		nick.length = sizeof(session->own);
	session->own_length = (uint8_t)nick.length;
	memcpy(session->own, nick.bytes, nick.length);
}

// Over DCC CHAT one end has a name: the server of the connection, who has offered it.
static struct content_text sender_of(const struct irc_turn *turn, const struct irc_line *line)
{
	const struct content_text nobody = {NULL, 0};

	if (turn->chat)
		return turn->half == HALF_S2C ? own_nick(turn->session) : nobody;
	if (line->what->from != IRC_FROM_SENDER)
		return irc_param(line, line->what->from);
	return turn->half == HALF_C2S ? own_nick(turn->session) : irc_nick_of(line->prefix);
}

// Servers allow fewer targets than are looked at (ISUPPORT: TARGMAX, MAXTARGETS).
static void bound_parties(const struct irc_turn *turn, struct content_text to)
{
	unsigned n = 1;

	for (uint32_t i = 0; i < to.length; i++)
		n += to.bytes[i] == ',';
	if (n > CONTENT_PARTIES_MAX)
		irc_note(turn, CONTENT_NOTE_HEAD_TOO_LONG);
}

static struct content_text receiver_of(const struct irc_turn *turn, const struct irc_line *line)
{
	if (turn->chat && turn->half == HALF_C2S)
		return own_nick(turn->session);
	return irc_param(line, line->what->to);
}

// `plain` is what bytes [from, to) of the line read as.
static void put_message(const struct irc_turn *turn, const struct irc_line *line,
	struct irc_told *told, struct content_text plain, uint32_t from, uint32_t to)
{
	const struct content_sink *sink = turn->turn->sink;
	const struct content_message message = {
		.half = turn->half,
		.goes_on = !turn->whole,
		.continued = told->open,
		.blank = ' ',
		.to_is_list = line->what->to_is_list,
		.verbatim = plain.length == to - from,
		.from = sender_of(turn, line),
		.to = receiver_of(turn, line),
		.text = plain,
		.begins64 = turn->line64 + from,
		.ends64 = turn->line64 + to,
		.unit64 = turn->begin64,
		.unit_ends64 = turn->line64 + turn->bytes.length,
	};

	if (message.to_is_list && !told->open)
		bound_parties(turn, message.to);
	sink->message(sink->ctx, &message);
	told->open = true;
	told->end = (uint16_t)to;
}

static struct irc_piece piece_of(
	const struct irc_turn *turn, const struct irc_line *line, uint32_t from)
{
	return (struct irc_piece){
		.bytes = http_text_from(turn->bytes, from),
		.ctcp = line->what->has_ctcp,
		.last = turn->whole,
	};
}

// The text of a whole line as irssi reads it, if that is not what was told.
static void tell_again(const struct irc_turn *turn, const struct irc_line *line)
{
	struct irc_piece piece = piece_of(turn, line, line->text_at);
	uint8_t most[IRC_LINE_BYTES], irssi[IRC_LINE_BYTES];
	struct irc_told told = {0};
	uint32_t length;

	if (!irc_text_is_read_twice(piece.bytes))
		return;
	length = irc_text_plain(&piece, most);
	piece.part = IRC_OUTSIDE;
	piece.reading = IRC_READ_IRSSI;
	struct content_text plain = {irssi, irc_text_plain(&piece, irssi)};

	if (plain.length && !http_same(plain, (struct content_text){most, length}))
		put_message(turn, line, &told, plain, line->text_at + piece.from,
			line->text_at + piece.to);
}

static void tell_piece(
	const struct irc_turn *turn, const struct irc_line *line, struct irc_told *told)
{
	uint32_t at = told->to ? told->to : line->text_at;
	struct irc_piece piece = piece_of(turn, line, at);
	struct content_text plain = piece.bytes;
	uint8_t room[IRC_LINE_BYTES];

	piece.part = told->part;
	if (piece.part == IRC_UNTOLD || irc_text_has_codes(plain)) {
		plain = (struct content_text){room, irc_text_plain(&piece, room)};
	} else {
		piece.from = 0;
		piece.to = piece.taken = plain.length;
	}
	told->to = (uint16_t)(at + piece.taken);
	told->part = piece.part;
	if (plain.length)
		put_message(turn, line, told, plain, at + piece.from, at + piece.to);
	else if (turn->whole && told->open)
		put_message(turn, line, told, plain, told->end, told->end);
}

void irc_tell(const struct irc_turn *turn, struct irc_told *told)
{
	struct irc_line line;

	if (turn->chat)
		irc_line_read_chat(&line);
	else
		irc_line_read(turn->bytes, &line);
	if (!line.what || !line.has_text)
		return;
	tell_piece(turn, &line, told);
	if (turn->whole)
		tell_again(turn, &line);
}

// The client's nick, which it does not say with what it sends: as it asks for it, then as the
// server addresses it in replies (RFC 2812 5: their first parameter), or says that it was changed.
static void learn_nick(const struct irc_turn *turn, const struct irc_line *line)
{
	struct irc_session *session = turn->session;
	struct content_text nick = irc_param(line, 0);

	if (turn->half == HALF_C2S) {
		if (http_is(line->verb, "nick") && !session->welcomed)
			irc_set_own(session, nick);
	} else if (http_is(line->verb, "nick")) {
		if (http_same(irc_nick_of(line->prefix), own_nick(session)))
			irc_set_own(session, nick);
	} else if (line->verb.length == 3 && octets_digit(line->verb.bytes[0]) &&
		   (!session->welcomed || http_is(line->verb, "001"))) {
		irc_set_own(session, nick);
		session->welcomed |= http_is(line->verb, "001") || line->verb.bytes[0] == '3';
	}
}

// draft: STARTTLS, answered by 670 (or 691): what was asked for begins behind the reply.
static bool take_starttls(const struct irc_turn *turn, const struct irc_line *line)
{
	struct irc_session *session = turn->session;
	const struct content_sink *sink = turn->turn->sink;

	if (turn->half == HALF_C2S) {
		session->starttls |= http_is(line->verb, "starttls");
		return true;
	}
	if (session->starttls && http_is(line->verb, "691"))
		session->starttls = false;
	if (!session->starttls || !http_is(line->verb, "670"))
		return true;
	sink->note(
		sink->ctx, CONTENT_NOTE_OPAQUE_TLS, turn->half, turn->line64 + turn->bytes.length);
	return false;
}

bool irc_take_line(const struct irc_turn *turn)
{
	struct irc_line line;
	bool goes_on = true;

	if (turn->chat) {
		irc_line_read_chat(&line);
	} else {
		irc_line_read(turn->bytes, &line);
		learn_nick(turn, &line);
		goes_on = take_starttls(turn, &line);
	}
	if (line.what && line.what->has_ctcp && line.has_text)
		dcc_take(turn, &turn->session->dcc, http_text_from(turn->bytes, line.text_at),
			sender_of(turn, &line));
	return goes_on;
}
