// SPDX-License-Identifier: BSD-3-Clause
// POP3: RFC 1939, RFC 2449 (CAPA), RFC 2595 (STLS), RFC 5034 (AUTH).
#include "classify/app_proto.h"
#include "classify/dialogue.h"
#include "classify/handshake/tls_record.h"

static const char *const verbs[] = {"APOP", "AUTH", "CAPA", "DELE", "LIST", "NOOP", "PASS", "QUIT",
	"RETR", "RSET", "STAT", "STLS", "TOP", "UIDL", "USER", "UTF8", "XTND", NULL};
// Of these neither FTP nor any other has one.
static const char *const own_verbs[] = {"APOP", "CAPA", "STLS", "TOP", "UIDL", "XTND", NULL};
static const char *const greetings[] = {"POP", "mail", "Dovecot", "Courier", "Cyrus", NULL};

// RFC 8314 7.2: port 995 is POP3 inside TLS from the first byte.
#define PORT_POP3S 995

static bool is_reply(struct text half)
{
	return text_begins(half, "+OK") || text_begins(half, "-ERR");
}

// RFC 1939 7: "<1896.697170952@dbc.mtview.ca.us>" at the end of the greeting allows APOP.
static bool has_timestamp(struct text meta)
{
	text_take(&meta, '<');
	if (!text_contains_byte(meta, '>'))
		return false;
	struct text stamp = text_take(&meta, '>'), left = text_take(&stamp, '@');

	return left.length && stamp.length && text_is_printable(left) && text_is_printable(stamp) &&
	       !text_contains_byte(left, ' ') && !text_contains_byte(stamp, ' ');
}

// RFC 1939 5, the reply to RETR of most servers: "+OK 120 octets". 88 bits.
static bool counts_octets(struct text meta)
{
	struct text ok = text_take(&meta, ' '), number = text_take(&meta, ' ');

	return text_is(ok, "+OK") && text_is_number(number) && text_is(meta, "octets");
}

// A server's first line, where its client has not been seen.
static enum verify verify_meta(const struct probe *probe, struct text meta)
{
	if (!text_is_printable(meta))
		return VERIFY_NO;
	if (contains_any(meta, greetings) || has_timestamp(meta))
		return VERIFY_DPI;
	return probe->one_sided && counts_octets(meta) ? VERIFY_ALONE : VERIFY_MORE;
}

static enum verify verify(const struct probe *probe)
{
	struct dialogue dialogue = dialogue_of(probe, is_reply);
	struct text rest, verb = dialogue_verb(dialogue.client, &rest), meta;

	if (tls_wraps(probe))
		return tls_wrapped(probe, PORT_POP3S);
	if (dialogue.server.length >= 4 && !is_reply(dialogue.server))
		return VERIFY_NO;
	if (verb.length) {
		if (!text_is_among(verb, verbs) || !text_is_printable(rest))
			return VERIFY_NO;
		if (!dialogue.server.length && probe->one_sided)
			return dialogue_alone(dialogue_lines(dialogue.client, verbs, own_verbs));
		return is_reply(dialogue.server) ? VERIFY_YES : VERIFY_MORE;
	}
	// Somebody who talks first, but not in lines: a key-value store's "+OK" is an answer.
	if (dialogue.client.length)
		return dialogue.client.at[0] == '*' ? VERIFY_NO : VERIFY_MORE;
	if (!text_take_line(&dialogue.server, &meta))
		return VERIFY_MORE;
	return verify_meta(probe, meta);
}

const struct app_proto app_proto_pop3 = {
	.name = "pop3",
	.title = "POP3 (mail)",
	.group = "mail",
	.category = APP_CATEGORY_MAIL,
	.verify = verify,
	.alpns = {"pop3"},
	.tcp_ports = {110, 995},
};
