// SPDX-License-Identifier: BSD-3-Clause
// The decoder of POP3 (RFC 1939, 2449, 2595, 5034): commands, which may be pipelined, and their
// answers, in the order of the commands. The mails that RETR and TOP bring go on as they are, but
// for the dots that stand for themselves; nothing else of an answer is kept.
#include <assert.h>

#include "content/decoders.h"
#include "content/http/text.h"
#include "content/mail.h"
#include "content/stream.h"

#define LINE_BYTES 255  // RFC 2449 section 4; more of a command changes nothing
#define QUEUE      256  // commands that are not answered
#define TLS        0x16 // a handshake record

enum pop3_command {
	POP3_OTHER, // an answer of one line
	POP3_LINES, // ... of several, if it is good
	POP3_MAIL,
	POP3_AUTH,
	POP3_STLS,
};

enum pop3_answer {
	POP3_AT_LINE, // its first byte
	POP3_AT_SECOND,
	POP3_IN_LINE,
	POP3_BODY, // lines up to "."
};

// Where in a line of several the next byte stands.
enum pop3_place {
	POP3_BEGIN,
	POP3_MIDDLE,
	POP3_DOT,    // behind a dot that began it
	POP3_DOT_CR, // ... and CR
};

struct pop3_state {
	struct content_stream streams[2];
	struct content_mail mail;
	uint64_t body64; // where the lines of an answer begin
	uint64_t cr64;   // of the CR behind a dot
	uint32_t files;
	uint16_t queue_at, queue_n;
	uint8_t queue[QUEUE];
	uint8_t answer;  // enum pop3_answer
	uint8_t place;   // enum pop3_place
	uint8_t command; // that is answered
	bool greeted;
	bool plus, ok; // the answer at hand: "+", "+O"
	bool opens;    // a mail is to be opened
	bool owes_cr;  // of the mail
	bool bare;     // the line before ended in LF alone
	bool noted_bare;
	bool over;
	uint8_t before; // the byte of the mail that came last
	uint8_t user_length, line_length;
	uint8_t user[CONTENT_PARTY_BYTES];
	uint8_t line[LINE_BYTES]; // of the client
};
static_assert(sizeof(struct pop3_state) <= 1024, "a connection that is idle costs little");

static struct mime_about about_of(struct pop3_state *state)
{
	return (struct mime_about){
		.half = HALF_S2C, .to = {state->user, state->user_length}, .files = &state->files};
}

static void end_all(struct pop3_state *state, struct content_turn *turn)
{
	const struct mime_about about = about_of(state);

	content_mail_close(&state->mail, turn, &about);
	state->over = true;
}

static enum content_fed stop(struct pop3_state *state, struct content_turn *turn, unsigned half,
	enum content_note what, uint64_t at64)
{
	turn->sink->note(turn->sink->ctx, what, half, at64);
	end_all(state, turn);
	return CONTENT_OVER;
}

// ---- commands ----

static const struct {
	const char *verb;
	uint8_t command;
	uint8_t with; // ... that has arguments
} verbs[] = {
	{"apop", POP3_OTHER, POP3_OTHER},
	{"auth", POP3_LINES, POP3_AUTH},
	{"capa", POP3_LINES, POP3_LINES},
	{"dele", POP3_OTHER, POP3_OTHER},
	{"list", POP3_LINES, POP3_OTHER},
	{"noop", POP3_OTHER, POP3_OTHER},
	{"pass", POP3_OTHER, POP3_OTHER},
	{"quit", POP3_OTHER, POP3_OTHER},
	{"retr", POP3_MAIL, POP3_MAIL},
	{"rset", POP3_OTHER, POP3_OTHER},
	{"stat", POP3_OTHER, POP3_OTHER},
	{"stls", POP3_STLS, POP3_STLS},
	{"top", POP3_MAIL, POP3_MAIL},
	{"uidl", POP3_LINES, POP3_OTHER},
	{"user", POP3_OTHER, POP3_OTHER},
	{"utf8", POP3_OTHER, POP3_OTHER},
};

static bool is_in_auth(const struct pop3_state *state)
{
	return state->queue_n && state->queue[state->queue_at] == POP3_AUTH;
}

// False: no command; while credentials are exchanged they are lines without a verb.
static bool find(const struct pop3_state *state, struct content_text line, uint8_t *command)
{
	struct content_text verb = {line.bytes, http_until(line, ' ')};
	bool with = http_trim(http_text_from(line, verb.length)).length;

	*command = POP3_OTHER;
	for (unsigned i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++) {
		if (!http_is(verb, verbs[i].verb))
			continue;
		*command = with ? verbs[i].with : verbs[i].command;
		return true;
	}
	return !is_in_auth(state);
}

static void take_user(struct pop3_state *state, struct content_text line)
{
	struct content_text user;

	if (!http_begins(line, "user "))
		return;
	user = http_trim(http_text_from(line, 5));
	state->user_length =
		(uint8_t)(user.length < sizeof(state->user) ? user.length : sizeof(state->user));
	if (user.length)
		memcpy(state->user, user.bytes, state->user_length);
}

// False: too many wait.
static bool take_command(struct pop3_state *state)
{
	struct content_text line = {state->line, state->line_length};
	uint8_t command;

	while (line.length && line.bytes[line.length - 1] == '\r')
		line.length--;
	state->line_length = 0;
	if (!find(state, line, &command))
		return true;
	take_user(state, line);
	if (state->queue_n == QUEUE)
		return false;
	state->queue[(state->queue_at + state->queue_n++) % QUEUE] = command;
	return true;
}

static enum content_fed take_client(struct pop3_state *state, struct content_turn *turn,
	const uint8_t *bytes, uint32_t length, uint32_t *taken)
{
	uint64_t at64 = state->streams[HALF_C2S].at64;

	if (!at64 && bytes[0] == TLS) {
		end_all(state, turn);
		return CONTENT_OVER;
	}
	for (uint32_t i = 0; i < length; i++) {
		++*taken;
		if (bytes[i] != '\n' && state->line_length < LINE_BYTES)
			state->line[state->line_length++] = bytes[i];
		if (bytes[i] == '\n' && !take_command(state))
			return stop(
				state, turn, HALF_C2S, CONTENT_NOTE_TOO_MANY_REQUESTS, at64 + i);
	}
	return CONTENT_FED;
}

// ---- answers ----

// One that goes on asks for more credentials.
static bool goes_on(const struct pop3_state *state)
{
	return state->command == POP3_AUTH && state->plus && !state->ok;
}

// What begins with "+" is good, whatever follows; "O" tells "+OK" from a question.
static void take_byte(struct pop3_state *state, uint8_t byte)
{
	if (state->answer == POP3_AT_LINE) {
		state->command = POP3_OTHER;
		if (state->greeted && state->queue_n)
			state->command = state->queue[state->queue_at];
		state->plus = byte == '+';
		state->ok = false;
		state->answer = POP3_AT_SECOND;
	} else if (state->answer == POP3_AT_SECOND) {
		state->ok = byte == 'O' || byte == 'o';
		state->answer = POP3_IN_LINE;
	}
}

static void end_line(struct pop3_state *state)
{
	state->answer = POP3_AT_LINE;
	if (goes_on(state))
		return;
	if (state->greeted && state->queue_n) {
		state->queue_at = (uint16_t)((state->queue_at + 1) % QUEUE);
		state->queue_n--;
	}
	state->greeted = true;
	if (!state->plus || (state->command != POP3_LINES && state->command != POP3_MAIL))
		return;
	state->answer = POP3_BODY;
	state->place = POP3_BEGIN;
	state->bare = false;
	state->opens = state->command == POP3_MAIL;
}

// ---- lines up to "." ----

static void note_bare(struct pop3_state *state, const struct content_turn *turn, uint64_t at64)
{
	if (!state->noted_bare)
		turn->sink->note(turn->sink->ctx, CONTENT_NOTE_BARE_LF, HALF_S2C, at64);
	state->noted_bare = true;
}

// Programs that read lines take LF alone for an end of one, others do not.
static void end_body(struct pop3_state *state, const struct content_turn *turn, uint64_t at64)
{
	if (state->bare)
		note_bare(state, turn, at64);
	state->answer = POP3_AT_LINE;
	content_mail_end(&state->mail, state->mail.ends64, true);
}

// Up to a dot that begins a line.
static uint32_t run_of(const uint8_t *bytes, uint32_t length)
{
	uint32_t at = 0;

	while (at < length) {
		const uint8_t *lf = memchr(bytes + at, '\n', length - at);

		at = lf ? (uint32_t)(lf - bytes) + 1 : length;
		if (lf && at < length && bytes[at] == '.')
			break;
	}
	return at;
}

static enum content_fed take_run(struct pop3_state *state, struct content_turn *turn,
	const struct mime_about *about, const uint8_t *bytes, uint32_t length, uint64_t at64,
	uint32_t *taken)
{
	uint32_t run = run_of(bytes, length), n = 0;
	enum content_fed fed = CONTENT_FED;

	if (state->mail.mime)
		fed = content_mail_put(&state->mail, turn, about, at64, bytes, run, &n);
	else
		n = run;
	*taken += n;
	if (!n)
		return fed;
	state->place = bytes[n - 1] == '\n' ? POP3_BEGIN : POP3_MIDDLE;
	if (state->place == POP3_BEGIN)
		state->bare = (n > 1 ? bytes[n - 2] : state->before) != '\r';
	state->before = bytes[n - 1];
	return fed;
}

// The next byte, or run of bytes, of the lines.
static enum content_fed take_body(struct pop3_state *state, struct content_turn *turn,
	const struct mime_about *about, const uint8_t *bytes, uint32_t length, uint64_t at64,
	uint32_t *taken)
{
	switch (state->place) {
	case POP3_BEGIN:
		if (bytes[0] != '.')
			break;
		++*taken;
		state->place = POP3_DOT;
		return CONTENT_FED;
	case POP3_DOT:
		if (bytes[0] != '\r' && bytes[0] != '\n') { // it stood for itself
			state->place = POP3_MIDDLE;
			break;
		}
		++*taken;
		state->place = POP3_DOT_CR;
		state->cr64 = at64;
		if (bytes[0] == '\n') {
			state->bare = true;
			end_body(state, turn, at64);
		}
		return CONTENT_FED;
	case POP3_DOT_CR:
		if (bytes[0] == '\n') {
			++*taken;
			end_body(state, turn, at64);
			return CONTENT_FED;
		}
		state->place = POP3_MIDDLE;
		state->before = '\r';
		state->owes_cr = state->mail.mime;
		return CONTENT_FED;
	default: break;
	}
	return take_run(state, turn, about, bytes, length, at64, taken);
}

// What is owed before the next byte.
static enum content_fed settle(struct pop3_state *state, struct content_turn *turn)
{
	const struct mime_about about = about_of(state);
	enum content_fed fed = content_mail_settle(&state->mail, turn, &about);
	uint32_t n = 0;

	if (fed != CONTENT_FED)
		return fed;
	if (state->opens) {
		if (!content_mail_open(&state->mail, turn, &about))
			return CONTENT_NO_MEMORY;
		state->mail.ends64 = state->body64;
		state->opens = false;
	}
	if (state->owes_cr) {
		fed = content_mail_put(
			&state->mail, turn, &about, state->cr64, (const uint8_t *)"\r", 1, &n);
		state->owes_cr = !n;
	}
	return fed;
}

static enum content_fed take_server(struct pop3_state *state, struct content_turn *turn,
	const uint8_t *bytes, uint32_t length, uint32_t *taken)
{
	const struct mime_about about = about_of(state);
	uint64_t at64 = state->streams[HALF_S2C].at64;
	enum content_fed fed = CONTENT_FED;
	uint32_t i;

	while (fed == CONTENT_FED && (i = *taken) < length) {
		if (state->answer == POP3_BODY) {
			fed = take_body(
				state, turn, &about, bytes + i, length - i, at64 + i, taken);
		} else if (bytes[i] != '\n') {
			take_byte(state, bytes[i]);
			++*taken;
		} else {
			++*taken;
			end_line(state);
			state->body64 = at64 + *taken;
			if (state->plus && state->command == POP3_STLS)
				return stop(state, turn, HALF_S2C, CONTENT_NOTE_OPAQUE_TLS,
					state->body64);
		}
		if (fed == CONTENT_FED)
			fed = settle(state, turn);
	}
	return fed;
}

// ---- the decoder ----

static enum content_fed take(void *of, unsigned side, struct content_turn *turn,
	const uint8_t *bytes, uint32_t length, uint32_t *taken)
{
	return side == HALF_C2S ? take_client(of, turn, bytes, length, taken)
				: take_server(of, turn, bytes, length, taken);
}

// A mail goes on behind a gap; what else is lost may be an answer, or a command.
static enum content_fed lose(void *of, unsigned side, struct content_turn *turn, uint64_t length)
{
	struct pop3_state *state = of;
	const struct mime_about about = about_of(state);
	uint64_t at64 = state->streams[side].at64;

	if (side == HALF_C2S || state->answer != POP3_BODY)
		return stop(state, turn, side, CONTENT_NOTE_LOST, at64);
	content_mail_lose(&state->mail, turn, &about, at64);
	state->mail.ends64 = at64 + length;
	state->place = POP3_MIDDLE;
	state->before = 0;
	return CONTENT_FED;
}

static enum content_fed feed(void *of, const struct span *span, struct content_turn *turn)
{
	static const struct content_reader reader = {.take = take, .lose = lose};
	struct pop3_state *state = of;
	const struct mime_about about = about_of(state);
	enum content_fed fed;

	if (state->over) {
		turn->taken = span->extent;
		return CONTENT_OVER;
	}
	fed = settle(state, turn);
	if (fed == CONTENT_FED)
		fed = content_stream_feed(state->streams, &reader, state, span, turn);
	content_mail_flush(&state->mail, turn, &about);
	return fed;
}

static void over(void *of, struct content_turn *turn)
{
	end_all(of, turn);
}

const struct content_decoder content_pop3 = {
	.app = "pop3",
	.state_bytes = sizeof(struct pop3_state),
	.finds = CONTENT_FINDS_FILES | CONTENT_FINDS_CHAT | CONTENT_FINDS_OPAQUE,
	.feed = feed,
	.over = over,
};
