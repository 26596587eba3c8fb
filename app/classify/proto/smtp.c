// SPDX-License-Identifier: BSD-3-Clause
// SMTP (RFC 5321) and LMTP (RFC 2033). "220 " alone is also FTP's greeting: the words of the
// greeting decide, or else the client's first verb.
#include "classify/app_proto.h"
#include "classify/dialogue.h"
#include "classify/handshake/tls_record.h"

static const char *const own_words[] = {"SMTP", "LMTP", "Postfix", "Sendmail", "Exim",
	"Microsoft Exchange", "mailer", "spam", NULL};
static const char *const foreign_words[] = {"FTP", "FileZilla", "NNTP", NULL};
static const char *const hello_verbs[] = {"EHLO", "HELO", "LHLO", NULL};
static const char *const other_verbs[] = {
	"MAIL", "RCPT", "DATA", "RSET", "VRFY", "EXPN", "NOOP", "QUIT", "STARTTLS", "BDAT", NULL};

// RFC 8314 7.3: port 465 is SMTP inside TLS from the first byte.
#define PORT_SUBMISSIONS 465

static enum verify verify_greeting(struct text meta)
{
	unsigned code = text_reply_code(meta);

	if (code != 220 && code != 421 && code != 554)
		return VERIFY_NO;
	if (contains_any(meta, foreign_words))
		return contains_any(meta, own_words) ? VERIFY_MORE : VERIFY_NO;
	return contains_any(meta, own_words) ? VERIFY_DPI : VERIFY_MORE;
}

// MAIL FROM:<a@b>, RCPT TO:<c@d> (RFC 5321 4.1.1.2, 4.1.1.3): nobody else says it so.
static bool is_envelope(struct text verb, struct text rest)
{
	return (text_is(verb, "MAIL") && text_begins(rest, "FROM:")) ||
	       (text_is(verb, "RCPT") && text_begins(rest, "TO:"));
}

// Takes the header of an HTTP message, its empty line included, off `half`. False: not whole yet.
static bool skip_http_header(struct text *half)
{
	struct text line;

	while (text_take_line(half, &line))
		if (!line.length)
			return true;
	return false;
}

static bool tunnel_granted(struct text server)
{
	text_take(&server, ' ');
	return text_begins(server, "2");
}

static enum verify verify_dialogue(struct dialogue dialogue)
{
	struct text rest, verb = dialogue_verb(dialogue.client, &rest);
	bool answered = is_coded_reply(dialogue.server);

	if (dialogue.server.length >= 4 && !answered)
		return VERIFY_NO;
	if (!verb.length)
		return dialogue.server.length < 4
			       ? VERIFY_MORE
			       : verify_greeting(dialogue_greeting(dialogue.server));
	if (is_envelope(verb, rest))
		return answered ? VERIFY_YES : VERIFY_DPI;
	if (text_is_among(verb, hello_verbs) && text_is_printable(rest)) {
		if (answered)
			return VERIFY_YES;
		return rest.length ? VERIFY_DPI : VERIFY_MORE;
	}
	// AUTH with a mechanism is SMTP's, AUTH TLS is FTP's.
	if (text_is_among(verb, other_verbs) || text_is(verb, "AUTH"))
		return answered ? verify_greeting(dialogue_greeting(dialogue.server)) : VERIFY_MORE;
	return VERIFY_NO;
}

// Mail through an HTTP proxy (RFC 9110 9.3.6): a tunnel to port 25 or 587, granted, and then what
// the mail server says. Until then it is a request to a proxy.
static enum verify verify_tunnel(struct text client, struct text server)
{
	if (!skip_http_header(&client))
		return VERIFY_MORE;
	if (server.length < 12)
		return VERIFY_MORE;
	if (!text_begins(server, "HTTP/1.") || !tunnel_granted(server))
		return VERIFY_NO;
	return skip_http_header(&server) ? verify_dialogue((struct dialogue){client, server})
					 : VERIFY_MORE;
}

static enum verify verify(const struct probe *probe)
{
	struct text client = text_of(probe, HALF_C2S);

	if (tls_wraps(probe))
		return tls_wrapped(probe, PORT_SUBMISSIONS);
	if (text_begins(client, "CONNECT "))
		return verify_tunnel(client, text_of(probe, HALF_S2C));
	return verify_dialogue(dialogue_of(probe, is_coded_reply));
}

const struct app_proto app_proto_smtp = {
	.name = "smtp",
	.title = "SMTP (mail)",
	.group = "mail",
	.category = APP_CATEGORY_MAIL,
	.verify = verify,
	.tcp_ports = {25, 465, 587},
};
