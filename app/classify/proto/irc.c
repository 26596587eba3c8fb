// SPDX-License-Identifier: BSD-3-Clause
// IRC: RFC 1459, RFC 2812 (client), RFC 7194 (TLS, not seen here), IRCv3 message tags, CAP and the
// way to TLS in the same connection (tls 3.1).
// Single words prove little ("USER", "PASS" and "QUIT" are FTP's and POP3's, too), so each line is
// weighed: the forms that only IRC has decide, the others must come together.
#include <arpa/inet.h>
#include <netinet/in.h>
#include "classify/app_proto.h"
#include "classify/text.h"

#define LINES_MAX 16

enum weight {
	NOT_IRC,
	WEAK,   // other protocols say it, too
	USUAL,  // IRC's own word, but a short line
	STRONG, // IRC's form, in full
};

// RFC 2812 2.3: a command is letters or three digits; what follows a blank and ':' is one word.
static unsigned params_of(struct text rest)
{
	unsigned n = 0;

	while (rest.length) {
		n++;
		if (rest.at[0] == ':')
			break;
		text_take_word(&rest);
	}
	return n;
}

static bool is_nick_char(uint8_t c)
{
	return text_is_letter(c) || octets_digit(c) || strchr("-[]\\`_^{|}", c) || c >= 0x80;
}

static bool is_nick(struct text word)
{
	if (!word.length || word.length > 64 || !word.at[0])
		return false;
	for (uint32_t i = 0; i < word.length; i++)
		if (!word.at[i] || !is_nick_char(word.at[i]))
			return false;
	return !octets_digit(word.at[0]) && word.at[0] != '-';
}

static bool is_channel(struct text word)
{
	return word.length > 1 && word.at[0] && strchr("#&+!", word.at[0]);
}

static bool is_command(struct text word)
{
	for (uint32_t i = 0; i < word.length; i++)
		if (!text_is_letter(word.at[i]))
			return false;
	return word.length >= 3;
}

static bool is_numeric(struct text word)
{
	return word.length == 3 && text_is_number(word);
}

static const char *const commands[] = {"ACCOUNT", "AUTHENTICATE", "AWAY", "BATCH", "CAP", "CHGHOST",
	"ERROR", "INVITE", "JOIN", "KICK", "KILL", "MODE", "NICK", "NOTICE", "PART", "PING", "PONG",
	"PRIVMSG", "QUIT", "SERVER", "SETNAME", "TAGMSG", "TOPIC", "WALLOPS", NULL};

// RFC 2812 2.3: prefix = servername / ( nickname [ [ "!" user ] "@" host ] )
// The answers to STARTTLS (IRCv3, tls: RPL_STARTTLS, ERR_STARTTLS) come before the client has a
// name: servers leave out the target, and some the prefix.
static bool is_starttls(struct text command, struct text rest)
{
	return (text_is(command, "670") || text_is(command, "691")) &&
	       text_contains(rest, "STARTTLS");
}

static enum weight weigh_prefixed(struct text prefix, struct text command, struct text rest)
{
	bool from_user = text_contains_byte(prefix, '!') && text_contains_byte(prefix, '@');
	bool from_server = text_contains_byte(prefix, '.');

	if (prefix.length < 2 || !text_is_printable(prefix))
		return NOT_IRC;
	if (is_numeric(command)) // a reply names its target, then says something
		return params_of(rest) >= 2 || is_starttls(command, rest) ? STRONG : USUAL;
	if (!text_is_among(command, commands))
		return NOT_IRC;
	return (from_user || from_server || is_nick(text_from(prefix, 1))) && rest.length ? STRONG
											  : NOT_IRC;
}

static enum weight weigh_target(struct text rest)
{
	struct text target = text_take_word(&rest);

	if (is_channel(target))
		return STRONG;
	return rest.length > 1 && rest.at[0] == ':' ? STRONG : WEAK;
}

static enum weight weigh_cap(struct text rest)
{
	static const char *const verbs[] = {
		"LS", "LIST", "REQ", "ACK", "NAK", "END", "NEW", "DEL", NULL};

	return text_is_among(text_take_word(&rest), verbs) ? STRONG : NOT_IRC;
}

static enum weight weigh_notice(struct text rest)
{
	struct text target = text_take_word(&rest);

	if (!rest.length || (rest.at[0] != ':' && rest.at[0] != '*'))
		return NOT_IRC;
	return text_is(target, "AUTH") || text_is(target, "*") || is_channel(target) ? STRONG
										     : USUAL;
}

// Control characters that do occur: CTCP's, and those of bold, colour, reset, monospace, reverse,
// italics, strikethrough and underline.
static bool is_text(struct text line)
{
	for (uint32_t i = 0; i < line.length; i++)
		if (line.at[i] < ' ' &&
			(!line.at[i] || !strchr("\1\2\3\4\t\x0f\x11\x16\x1d\x1e\x1f", line.at[i])))
			return false;
	return true;
}

static enum weight weigh(struct text line)
{
	struct text rest = line, command;

	if (!line.length) // empty lines are ignored by all servers
		return WEAK;
	if (!is_text(line))
		return NOT_IRC;
	if (rest.at[0] == '@') { // IRCv3 message tags
		text_take_word(&rest);
		if (!rest.length || rest.at[0] != ':')
			return NOT_IRC;
	}
	if (rest.at[0] == ':') {
		struct text prefix = text_take_word(&rest);

		command = text_take_word(&rest);
		return weigh_prefixed(prefix, command, rest);
	}
	command = text_take_word(&rest);
	if (is_starttls(command, rest))
		return STRONG;
	if (!is_command(command))
		return NOT_IRC;
	if (text_is(command, "USER")) // RFC 2812 3.1.3: four; FTP's and POP3's have one
		return params_of(rest) >= 4 ? STRONG : params_of(rest) == 3 ? USUAL : NOT_IRC;
	if (text_is(command, "NICK"))
		return is_nick(text_take_word(&rest)) ? USUAL : NOT_IRC;
	if (text_is(command, "CAP"))
		return weigh_cap(rest);
	if (text_is(command, "NOTICE"))
		return weigh_notice(rest);
	if (text_is(command, "JOIN"))
		return is_channel(rest)                   ? STRONG
		       : rest.length && rest.at[0] == ':' ? USUAL
							  : NOT_IRC;
	if (text_is(command, "PRIVMSG"))
		return weigh_target(rest);
	if (text_is(command, "ERROR"))
		return text_begins(rest, ":Closing Link") ? STRONG : WEAK;
	if (text_is(command, "PING") || text_is(command, "PONG")) // speed tests number theirs
		return text_is_number(rest) ? WEAK : rest.length ? USUAL : NOT_IRC;
	if (text_is(command, "MODE") && text_is(rest, "READER")) // RFC 3977 5.3: NNTP
		return NOT_IRC;
	// SMTP, NNTP and ManageSieve have a STARTTLS, too: the server's numeric decides.
	if (text_is(command, "PASS") || text_is(command, "QUIT") || text_is(command, "STARTTLS"))
		return WEAK;
	return text_is_among(command, commands) ? USUAL : NOT_IRC;
}

struct tally {
	unsigned strong;
	unsigned usual;
	bool refused;
};

static void weigh_half(struct text half, struct tally *tally)
{
	struct text line;

	for (unsigned n = 0; n < LINES_MAX && text_take_line(&half, &line); n++) {
		switch (weigh(line)) {
		case STRONG: tally->strong++; break;
		case USUAL: tally->usual++; break;
		case WEAK: break;
		case NOT_IRC: tally->refused = true; return;
		}
	}
}

// An unknown word in one line (a server's own command) does not undo what was strong before it.
static enum verify verify(const struct probe *probe)
{
	struct tally tally = {0};

	weigh_half(text_of(probe, HALF_C2S), &tally);
	weigh_half(text_of(probe, HALF_S2C), &tally);
	if (tally.strong)
		return VERIFY_YES;
	if (tally.refused)
		return VERIFY_NO;
	if (tally.usual >= 2)
		return VERIFY_DPI;
	return tally.usual ? VERIFY_PARTIAL : VERIFY_MORE;
}

// What shows a session of IRC whatever line it began with: the client's NICK and USER, without both
// of which no server lets it speak (RFC 2812 3.1), and how servers begin: a reply or a notice from
// a name, NOTICE, PING, ERROR. Byte by byte, as lines may come in any pieces.
enum overhear_at {
	AT_LINE, // before its first word
	AT_TAGS,
	AT_PREFIX,
	AT_BLANK, // behind the prefix
	AT_WORD,
	AT_TEXT, // behind a word that ':' must follow
	AT_REST,
};
enum { HEARD_NICK = 1, HEARD_USER = 2, HEARD_PREFIX = 4 };
static const char *const heard_words[] = {"nick", "user", "notice", "ping", "error", "###"};
enum { WORD_NICK, WORD_USER, WORD_NOTICE, WORD_PING, WORD_ERROR, WORD_NUMERIC };
#define WORDS     (sizeof(heard_words) / sizeof(heard_words[0]))
#define ALL_WORDS ((1u << WORDS) - 1)

static bool word_goes_on(const char *word, uint8_t pos, uint8_t byte)
{
	if (pos >= strlen(word))
		return false;
	return word[pos] == '#' ? octets_digit(byte) : octets_lower(byte) == (uint8_t)word[pos];
}

// The word has ended at a blank.
static enum verify overhear_word(struct app_overheard *overheard, unsigned half)
{
	unsigned word = 0;

	overheard->at = AT_REST;
	while (word < WORDS &&
		!(overheard->may & 1u << word && strlen(heard_words[word]) == overheard->pos))
		word++;
	if (half == HALF_C2S) {
		overheard->seen |= word == WORD_NICK   ? HEARD_NICK
				   : word == WORD_USER ? HEARD_USER
						       : 0;
		return (overheard->seen & (HEARD_NICK | HEARD_USER)) == (HEARD_NICK | HEARD_USER)
			       ? VERIFY_YES
			       : VERIFY_MORE;
	}
	if (word <= WORD_USER || word == WORDS)
		return VERIFY_NO;
	if (word == WORD_NUMERIC)
		return overheard->seen & HEARD_PREFIX ? VERIFY_YES : VERIFY_NO;
	if (word == WORD_NOTICE || overheard->seen & HEARD_PREFIX)
		return VERIFY_YES;
	overheard->at = AT_TEXT;
	return VERIFY_MORE;
}

static enum verify overhear_in_word(struct app_overheard *overheard, unsigned half, uint8_t byte)
{
	unsigned may = overheard->may;

	if (byte == ' ')
		return overhear_word(overheard, half);
	for (unsigned word = 0; word < WORDS; word++)
		if (!word_goes_on(heard_words[word], overheard->pos, byte))
			may &= ~(1u << word);
	overheard->may = may & ALL_WORDS;
	overheard->pos = (overheard->pos + 1u) & 0xfu;
	if (may)
		return VERIFY_MORE;
	overheard->at = AT_REST;
	return half == HALF_C2S ? VERIFY_MORE : VERIFY_NO;
}

static enum verify overhear_line_end(struct app_overheard *overheard, unsigned half)
{
	bool empty = overheard->at == AT_LINE;

	overheard->at = AT_LINE;
	overheard->seen &= HEARD_NICK | HEARD_USER;
	return half == HALF_C2S || empty ? VERIFY_MORE : VERIFY_NO;
}

// Tags and the prefix end at a blank.
static void overhear_before_word(struct app_overheard *overheard, uint8_t byte)
{
	if (byte == ' ')
		overheard->at = overheard->at == AT_TAGS ? AT_LINE : AT_BLANK;
}

static void overhear_mark(struct app_overheard *overheard, uint8_t byte)
{
	overheard->at = byte == ':' ? AT_PREFIX : AT_TAGS;
	if (byte == ':')
		overheard->seen |= HEARD_PREFIX;
}

static enum verify overhear_byte(struct app_overheard *overheard, unsigned half, uint8_t byte)
{
	if (byte == '\r' || byte == '\n')
		return overhear_line_end(overheard, half);
	switch (overheard->at) {
	case AT_TAGS:
	case AT_PREFIX: overhear_before_word(overheard, byte); return VERIFY_MORE;
	case AT_TEXT: return byte == ' ' ? VERIFY_MORE : byte == ':' ? VERIFY_YES : VERIFY_NO;
	case AT_REST: return VERIFY_MORE;
	case AT_WORD: return overhear_in_word(overheard, half, byte);
	default: break;
	}
	if (byte == ' ')
		return VERIFY_MORE;
	if (overheard->at == AT_LINE && (byte == ':' || byte == '@')) {
		overhear_mark(overheard, byte);
		return VERIFY_MORE;
	}
	overheard->at = AT_WORD;
	overheard->pos = 0;
	overheard->may = ALL_WORDS;
	return overhear_in_word(overheard, half, byte);
}

static enum verify overhear(
	struct app_overheard *overheard, unsigned half, const uint8_t *bytes, uint32_t length)
{
	enum verify answer = VERIFY_MORE;

	for (uint32_t i = 0; i < length && answer == VERIFY_MORE; i++)
		answer = overhear_byte(overheard, half, bytes[i]);
	return answer;
}

// CTCP DCC (irchelp.org's description of the protocol): "\x01DCC SEND name address port [size]\x01"
// or CHAT; the name may be quoted, the address is a decimal IPv4 number or an IPv6 text. Port 0 is
// the passive form: the answer will carry the port. The offer is relayed, so the server's copy
// (seen by the receiver) and the sender's own are both good.
#define DCC_TTL_S 120

static bool dcc_address(struct text word, uint8_t address[16])
{
	uint64_t number;
	char text[INET6_ADDRSTRLEN];

	if (text_number(word, UINT32_MAX, &number)) {
		memset(address, 0, 10);
		memset(address + 10, 0xff, 2);
		for (unsigned i = 0; i < 4; i++)
			address[12 + i] = (uint8_t)(number >> (24 - 8 * i));
		return number != 0;
	}
	if (word.length >= sizeof(text) || !text_contains_byte(word, ':'))
		return false;
	memcpy(text, word.at, word.length);
	text[word.length] = '\0';
	return inet_pton(AF_INET6, text, address) == 1;
}

struct decoding {
	struct decoder_state *state;
	const struct flow_ends *ends;
	const struct decoder_sink *sink;
};

static void name_user(struct decoder_state *state, struct text nick)
{
	if (is_nick(nick))
		transfer_text_set(
			state->label.user, sizeof(state->label.user), nick.at, nick.length);
}

// The client's own name, which it does not say with what it sends: as it asked for it, then as the
// server welcomes it (RFC 2812 5.1: 001), or says that it was changed.
static void note_nick(struct decoder_state *state, unsigned half, struct text line)
{
	struct text prefix = {line.at, 0}, verb, own;

	if (line.length && line.at[0] == ':') {
		prefix = text_take_word(&line);
		prefix = text_from(text_take(&prefix, '!'), 1);
	}
	verb = text_take_word(&line);
	if (line.length && line.at[0] == ':')
		line = text_from(line, 1);
	own = (struct text){
		(const uint8_t *)state->label.user, (uint32_t)strlen(state->label.user)};
	if (text_is(verb, "NICK") &&
		(half == HALF_C2S ? !own.length
				  : own.length && own.length == prefix.length &&
					    !memcmp(own.at, prefix.at, own.length)))
		name_user(state, text_take_word(&line));
	else if (half == HALF_S2C && text_is(verb, "001"))
		name_user(state, text_take_word(&line));
}

// Behind the prefix and the target: of a message that a user sends, who he is.
static struct text sender_of(struct text line)
{
	struct text none = {line.at, 0};

	if (line.length && line.at[0] == '@')
		text_take_word(&line);
	if (!line.length || line.at[0] != ':')
		return none;
	line = text_from(line, 1);
	return text_contains_byte(line, '!') ? text_take(&line, '!') : none;
}

static struct text take_file_name(struct text *rest)
{
	if (rest->at[0] != '"')
		return text_take_word(rest);
	text_take(rest, '"');
	struct text name = text_take(rest, '"');

	while (rest->length && rest->at[0] == ' ')
		*rest = text_from(*rest, 1);
	return name;
}

static void label(const struct decoding *decoding, unsigned half, struct text line,
	struct text name, struct text size, struct transfer_label *label)
{
	struct text sender = sender_of(line);

	if (half == HALF_C2S)
		*label = decoding->state->label;
	else if (is_nick(sender))
		transfer_text_set(label->user, sizeof(label->user), sender.at, sender.length);
	transfer_text_set(label->file, sizeof(label->file), name.at, name.length);
	if (!text_number(size, INT64_MAX, &label->size))
		label->size = 0;
}

static void decode_line(void *ctx, unsigned half, const uint8_t *bytes, uint32_t length)
{
	static const char *const sends[] = {"SEND", "TSEND", "SSEND", NULL};
	const struct decoding *decoding = ctx;
	struct text line = {bytes, length}, rest = line, verb, name;
	struct expectation expect = {
		.l4_proto = IPPROTO_TCP, .as = EXPECTED_DCC, .ttl_s = DCC_TTL_S};
	uint64_t port;

	note_nick(decoding->state, half, line);
	text_take(&rest, 0x01);
	rest = text_take(&rest, 0x01);
	if (!text_is(text_take_word(&rest), "DCC"))
		return;
	verb = text_take_word(&rest);
	if (!rest.length || (!text_is_among(verb, sends) && !text_is(verb, "CHAT")))
		return;
	name = take_file_name(&rest);
	if (!dcc_address(text_take_word(&rest), expect.address))
		return;
	if (!text_number(text_take_word(&rest), UINT16_MAX, &port) || port < 1024)
		return;
	// What our side offers must be its own address, or one client could name another host. What
	// comes through the server may be of any other user, but this client is who would connect.
	if (half == HALF_C2S && memcmp(expect.address, decoding->ends->address[HALF_C2S], 16))
		return;
	if (half == HALF_S2C)
		memcpy(expect.peer, decoding->ends->address[HALF_C2S], 16);
	if (text_is(verb, "CHAT"))
		name.length = rest.length = 0;
	label(decoding, half, line, name, text_take_word(&rest), &expect.label);
	if (text_is(verb, "CHAT"))
		expect.label.what = TRANSFER_CHAT;
	expect.port = (uint16_t)port;
	expect.app = app_find("irc");
	decoding->sink->expect(decoding->sink->ctx, &expect);
}

static void decode(struct decoder_state *state, const struct span *span,
	const struct flow_ends *ends, const struct decoder_sink *sink)
{
	struct decoding decoding = {state, ends, sink};

	decoder_lines(state, span, decode_line, &decoding);
}

const struct app_proto app_proto_irc = {
	.name = "irc",
	.title = "IRC",
	.group = "chat",
	.category = APP_CATEGORY_IM,
	.verify = verify,
	.overhear = overhear,
	.decode = decode,
	.alpns = {"irc"},
	.tcp_ports = {6667, 6660, 6665, 6666, 6668, 6669, 7000, 194},
};
