// SPDX-License-Identifier: BSD-3-Clause
// What commands and replies change of a session.
#include "content/ftp/session.h"

#include "content/http/text.h"
#include "pipeline/vocab/octets.h"
#include "content/transfer.h"

enum { // what a command brings over the data connection
	UPLOAD = 1 << 0,
	APPENDS = 1 << 1,
	LISTS = 1 << 2,
	NAMES_LATER = 1 << 3, // in the reply
};

static const struct verb {
	const char *lower;
	unsigned does;
} transfers[] = {
	{"retr", 0},
	{"stor", UPLOAD},
	{"appe", UPLOAD | APPENDS},
	{"stou", UPLOAD | NAMES_LATER},
	{"list", LISTS},
	{"nlst", LISTS},
	{"mlsd", LISTS},
};

static void skip_blanks(struct content_text *rest)
{
	while (rest->length && http_is_blank(rest->bytes[0]))
		*rest = http_text_from(*rest, 1);
}

// Telnet's commands (RFC 959 3.6.1 sends them before ABOR) are no part of a verb.
static void skip_telnet(struct content_text *rest)
{
	while (rest->length >= 2 && rest->bytes[0] == 0xff)
		*rest = http_text_from(*rest,
			rest->bytes[1] >= 0xfb && rest->bytes[1] != 0xff && rest->length > 2 ? 3
											     : 2);
}

static struct content_text take_word(struct content_text *rest)
{
	struct content_text word;

	skip_blanks(rest);
	word = *rest;
	for (word.length = 0;
		word.length < rest->length && !http_is_blank(rest->bytes[word.length]);
		word.length++)
		;
	*rest = http_text_from(*rest, word.length);
	skip_blanks(rest);
	return word;
}

static struct content_text user_of(const struct ftp_session *session)
{
	return (struct content_text){session->user, session->user_length};
}

static void take_user(struct ftp_session *session, struct content_text name)
{
	transfer_text_set(
		session->label.user, sizeof(session->label.user), name.bytes, name.length);
	if (name.length > sizeof(session->user))
		name.length = sizeof(session->user);
	session->user_length = (uint8_t)name.length;
	if (name.length)
		memcpy(session->user, name.bytes, name.length);
}

static bool is_of_size(const struct ftp_session *session, struct content_text name)
{
	struct content_text of = {session->size_of, session->size_of_length};

	return session->size && http_same(of, name);
}

static void ask_size(struct ftp_session *session, struct content_text name)
{
	session->size = 0;
	session->size_asked = name.length && name.length <= sizeof(session->size_of);
	if (!session->size_asked)
		return;
	session->size_of_length = (uint16_t)name.length;
	memcpy(session->size_of, name.bytes, name.length);
}

static void ask_rest(struct ftp_session *session, struct content_text word)
{
	session->rest_state = http_number(word, &session->rest) ? FTP_REST_ASKED : FTP_REST_NONE;
}

static void ask_mode(struct ftp_session *session, struct content_text word)
{
	session->mode_asked = word.length == 1 ? octets_lower(word.bytes[0]) : 0;
}

static void ask_auth(struct ftp_session *session, struct content_text way)
{
	bool tls = http_begins(way, "tls") || http_begins(way, "ssl");

	session->auth = tls ? FTP_AUTH_TLS : FTP_AUTH_OTHER;
}

// Where the file goes on: REST holds for the next transfer alone; who appends to a file has asked
// for its size.
static uint64_t take_range(struct ftp_session *session, unsigned does, struct content_text name)
{
	uint64_t from = session->rest_state == FTP_REST_NONE ? 0 : session->rest;

	session->rest_state = FTP_REST_NONE;
	if (does & APPENDS && is_of_size(session, name))
		return session->size;
	return from;
}

// The data connection is of the first command that asks for one and is not refused. Which of them
// that will be is not known before they are answered: of a listing and a file it is the file.
static void hold(struct ftp_session *session)
{
	session->held = true;
	session->since = 1;
	session->before = session->unanswered ? session->unanswered - 1 : 0;
}

// 220 greets; 1yz says that all before has been answered. A data connection serves once.
static void count_answer(struct ftp_session *session, unsigned code)
{
	if (code < 200 && session->held) {
		session->unanswered = session->since;
		session->before = 0;
	}
	if (code < 200 || code == 220 || !session->unanswered)
		return;
	session->unanswered--;
	if (session->before) {
		session->before--;
	} else if (session->held) {
		session->held = false;
		if (code < 300)
			session->port = 0;
	}
}

static void set_label(const struct ftp_turn *turn, const struct content_file *file, bool later,
	struct content_text name)
{
	struct ftp_session *session = turn->session;
	struct transfer_label *label = &session->label, second = {.user = ""};
	bool held = session->held && label->what == TRANSFER_FILE;

	hold(session);
	content_label_file(&second, name);
	if (held && memcmp(second.file, label->file, sizeof(second.file)) != 0)
		ftp_note(turn, CONTENT_NOTE_TWO_NAMES);
	if (held)
		return;
	session->unnamed = later && !name.length;
	session->sender = file->half;
	session->item = *file->item;
	label->what = TRANSFER_FILE;
	label->size = file->size == CONTENT_SIZE_UNKNOWN ? 0 : file->size;
	label->range_from = file->range_from;
	content_label_file(label, name);
	ftp_report(turn, true);
}

static void take_transfer(const struct ftp_turn *turn, unsigned does, struct content_text name)
{
	struct ftp_session *session = turn->session;
	const struct content_sink *sink = turn->turn->sink;
	struct content_file file = content_file_of_path(name, user_of(session));
	uint32_t item = 0;

	file.item = &item;
	file.id = ++session->files;
	file.half = does & UPLOAD ? HALF_C2S : HALF_S2C;
	file.elsewhere = true;
	file.range_from = take_range(session, does, name);
	file.partial = file.range_from;
	if (!(does & UPLOAD) && is_of_size(session, name))
		file.size = session->size;
	sink->file(sink->ctx, &file);
	if (session->label.coded)
		ftp_note(turn, CONTENT_NOTE_CODING_UNKNOWN);
	set_label(turn, &file, does & NAMES_LATER, name);
}

static void take_listing(const struct ftp_turn *turn)
{
	struct ftp_session *session = turn->session;
	struct transfer_label *label = &session->label;

	if (session->held)
		return;
	hold(session);
	session->sender = HALF_S2C;
	session->item = 0;
	label->what = TRANSFER_LISTING;
	label->size = label->range_from = 0;
	content_label_file(label, (struct content_text){NULL, 0});
	ftp_report(turn, true);
}

// REIN: as if the connection had just been opened.
static void take_again(struct ftp_session *session)
{
	take_user(session, (struct content_text){NULL, 0});
	session->label.coded = false;
	session->rest_state = FTP_REST_NONE;
}

static void take_port(const struct ftp_turn *turn, struct ftp_place place)
{
	if (place.port)
		ftp_expect_place(turn, HALF_C2S, &place);
}

static void take_other(
	const struct ftp_turn *turn, struct content_text verb, struct content_text rest)
{
	struct ftp_session *session = turn->session;

	if (http_is(verb, "port"))
		take_port(turn, ftp_place_host_port(rest.bytes, rest.length));
	else if (http_is(verb, "lprt"))
		take_port(turn, ftp_place_long(rest.bytes, rest.length));
	else if (http_is(verb, "eprt"))
		ftp_expect_extended(turn, HALF_C2S, rest);
	else if (http_is(verb, "pasv") || http_is(verb, "epsv") || http_is(verb, "lpsv"))
		session->passive++;
	else if (http_is(verb, "user"))
		take_user(session, rest);
	else if (http_is(verb, "size"))
		ask_size(session, rest);
	else if (http_is(verb, "rest"))
		ask_rest(session, take_word(&rest));
	else if (http_is(verb, "mode"))
		ask_mode(session, take_word(&rest));
	else if (http_is(verb, "auth"))
		ask_auth(session, take_word(&rest));
	else if (http_is(verb, "rein"))
		take_again(session);
}

static void take_command(const struct ftp_turn *turn, struct content_text line)
{
	skip_telnet(&line);
	struct content_text rest = line, verb = take_word(&rest);

	for (unsigned i = 0; i < sizeof(transfers) / sizeof(transfers[0]); i++) {
		const struct verb *transfer = &transfers[i];

		if (!http_is(verb, transfer->lower))
			continue;
		if (transfer->does & LISTS)
			take_listing(turn);
		else
			take_transfer(turn, transfer->does, rest);
		return;
	}
	take_other(turn, verb, rest);
}

// Three digits, then a blank, '-' (more lines follow) or nothing (RFC 959 4.2). 0: it is none.
static unsigned reply_code(struct content_text line)
{
	unsigned code = 0;

	if (line.length < 3 || (line.length > 3 && line.bytes[3] != ' ' && line.bytes[3] != '-'))
		return 0;
	for (unsigned i = 0; i < 3; i++) {
		if (!octets_digit(line.bytes[i]))
			return 0;
		code = 10 * code + (line.bytes[i] - (unsigned)'0');
	}
	return code;
}

// "150 Opening BINARY mode data connection for file (1234 bytes)": not in any RFC, and usual.
static bool opening_size(struct content_text rest, uint64_t *size)
{
	uint32_t at, digits;

	while ((at = http_until(rest, '(')) < rest.length) {
		struct content_text number = rest = http_text_from(rest, at + 1);

		for (digits = 0; digits < rest.length && octets_digit(rest.bytes[digits]); digits++)
			;
		number.length = digits;
		rest = http_text_from(rest, digits);
		if (!rest.length || !http_is_blank(rest.bytes[0]))
			continue;
		skip_blanks(&rest);
		if (http_begins(rest, "byte") && http_number(number, size))
			return true;
	}
	return false;
}

// "150 FILE: name" (RFC 1123 4.1.2.9): what STOU has stored it as.
static bool opening_name(struct ftp_session *session, struct content_text rest)
{
	if (!session->unnamed || !http_begins(rest, "file:"))
		return false;
	session->unnamed = false;
	rest = http_text_from(rest, 5);
	skip_blanks(&rest);
	content_label_file(&session->label, rest);
	return true;
}

static void take_opening(const struct ftp_turn *turn, struct content_text rest)
{
	struct transfer_label *label = &turn->session->label;
	uint64_t size;
	bool named = opening_name(turn->session, rest), sized = opening_size(rest, &size);

	if (sized)
		label->size = size;
	if (named || sized)
		ftp_report(turn, true);
}

// What a line of a reply names, where the client has asked the server to listen. Clients differ in
// which line counts, if there are several: the last is what most go by.
static void gather_place(struct ftp_session *session, unsigned code, struct content_text rest)
{
	struct ftp_place place;

	if (!session->passive)
		return;
	place = ftp_place_reply(code, rest.bytes, rest.length);
	ftp_place_merge(&place, &session->so_far);
	session->so_far = place;
}

// The server listens because the client has asked it to.
static void take_passive_reply(const struct ftp_turn *turn, unsigned code, struct content_text rest)
{
	struct ftp_session *session = turn->session;

	gather_place(session, code, rest);
	const struct ftp_place place = session->so_far;

	if (!session->passive || (!place.port && (code < 227 || code > 229)))
		return;
	session->passive--;
	if (place.port)
		ftp_expect_place(turn, HALF_S2C, &place);
}

// RFC 3659 4: the answer to SIZE. That of MDTM has the same code, and 14 digits.
static void take_size(struct ftp_session *session, struct content_text rest)
{
	if (session->size_asked && !http_number(rest, &session->size))
		session->size = 0;
	session->size_asked = 0;
}

// What was asked for and is settled by any reply of its kind.
static void take_outcome(struct ftp_session *session, unsigned code)
{
	if (code == 350 && session->rest_state == FTP_REST_ASKED)
		session->rest_state = FTP_REST_GRANTED;
	if (code == 200 && session->mode_asked)
		session->label.coded = session->mode_asked != 's';
	if (code == 200 || code >= 400)
		session->mode_asked = 0;
	if (code < 400)
		return;
	session->size_asked = 0;
	session->auth = FTP_AUTH_NONE;
	if (session->rest_state == FTP_REST_ASKED)
		session->rest_state = FTP_REST_NONE;
}

// RFC 4217 4, RFC 2228 3: what was asked for begins behind the reply.
static bool take_protection(const struct ftp_turn *turn, enum ftp_auth way, enum content_note note)
{
	if (turn->session->auth != way)
		return false;
	ftp_note(turn, note);
	return true;
}

static bool take_last_line(const struct ftp_turn *turn, struct content_text rest, unsigned code)
{
	struct ftp_session *session = turn->session;

	session->goes_on = false;
	take_outcome(session, code);
	count_answer(session, code);
	if (code / 100 == 2)
		take_passive_reply(turn, code, rest);
	session->so_far = (struct ftp_place){0};
	if (!session->unanswered && !session->lost) // whatever was said to PASV
		session->passive = 0;
	switch (code) {
	case 125:
	case 150: take_opening(turn, rest); break;
	case 213: take_size(session, rest); break;
	case 226: session->label.size = 0; break;
	case 234: return !take_protection(turn, FTP_AUTH_TLS, CONTENT_NOTE_OPAQUE_TLS);
	case 235: return !take_protection(turn, FTP_AUTH_OTHER, CONTENT_NOTE_OPAQUE_UPGRADE);
	default: break;
	}
	return true;
}

// `code` 0: it has none, as lines inside of a reply may.
static bool take_reply(const struct ftp_turn *turn, struct content_text line, unsigned code)
{
	struct ftp_session *session = turn->session;

	if (code && (line.length == 3 || line.bytes[3] == ' '))
		return take_last_line(turn, http_text_from(line, 4), code);
	session->goes_on |= code != 0;
	if (session->goes_on)
		gather_place(session, code, code ? http_text_from(line, 4) : line);
	return true;
}

bool ftp_take_line(const struct ftp_turn *turn, struct content_text line)
{
	unsigned code = reply_code(line);

	if (turn->half == HALF_S2C)
		return take_reply(turn, line, code);
	if (!code)
		take_command(turn, line);
	return true;
}
