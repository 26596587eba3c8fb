// SPDX-License-Identifier: BSD-3-Clause
// IMAP4rev1 and rev2: RFC 3501, RFC 9051. The server greets with "* OK", "* PREAUTH" or "* BYE";
// a command is a tag that the client makes up, then a verb; its answer bears the same tag.
#include "classify/app_proto.h"
#include "classify/dialogue.h"
#include "classify/handshake/tls_record.h"

static const char *const verbs[] = {"APPEND", "AUTHENTICATE", "CAPABILITY", "CHECK", "CLOSE",
	"COMPRESS", "COPY", "CREATE", "DELETE", "ENABLE", "EXAMINE", "EXPUNGE", "FETCH",
	"GETQUOTAROOT", "ID", "IDLE", "LIST", "LOGIN", "LOGOUT", "LSUB", "MOVE", "NAMESPACE",
	"NOOP", "RENAME", "SEARCH", "SELECT", "SORT", "STARTTLS", "STATUS", "STORE", "SUBSCRIBE",
	"THREAD", "UID", "UNSELECT", "UNSUBSCRIBE", "XLIST", NULL};
static const char *const untagged[] = {"OK", "NO", "BAD", "BYE", "PREAUTH", "CAPABILITY", "FLAGS",
	"LIST", "LSUB", "SEARCH", "STATUS", NULL};
static const char *const greetings[] = {"IMAP", "[CAPABILITY", "Dovecot", "Courier", NULL};

// RFC 8314 7.1: port 993 is IMAP inside TLS from the first byte.
#define PORT_IMAPS 993

// "* OK text", "* 12 EXISTS"
static bool is_untagged(struct text half)
{
	struct text word;

	if (!text_begins(half, "* "))
		return false;
	half = text_from(half, 2);
	word = text_take(&half, ' ');
	return text_is_number(word) || text_is_among(word, untagged);
}

// RFC 3501 9: tag = 1*<any ASTRING-CHAR except "+">; clients use a few letters and digits.
static bool is_tag(struct text word)
{
	if (!word.length || word.length > 20)
		return false;
	for (uint32_t i = 0; i < word.length; i++)
		if (!text_is_letter(word.at[i]) && !octets_digit(word.at[i]) && word.at[i] != '.' &&
			word.at[i] != '-' && word.at[i] != '_')
			return false;
	return true;
}

// "A1 OK done", which is a reply only where the client has used the tag.
static bool answers(struct text server, struct text tag)
{
	static const char *const ends[] = {"OK", "NO", "BAD", NULL};
	struct text line, word;

	while (text_take_line(&server, &line)) {
		word = text_take(&line, ' ');
		if (word.length == tag.length && !memcmp(word.at, tag.at, tag.length))
			return text_is_among(text_take(&line, ' '), ends);
	}
	return false;
}

static enum verify verify_dialogue(struct dialogue dialogue)
{
	struct text rest, tag = dialogue_verb(dialogue.client, &rest), line;
	bool replies = is_untagged(dialogue.server);

	if (tag.length) {
		if (!is_tag(tag) || !text_is_among(text_take_word(&rest), verbs))
			return VERIFY_NO;
		if (replies || answers(dialogue.server, tag))
			return VERIFY_YES;
		return dialogue.server.length >= 4 ? VERIFY_NO : VERIFY_MORE;
	}
	if (!replies)
		return dialogue.server.length >= 4 ? VERIFY_NO : VERIFY_MORE;
	if (!text_take_line(&dialogue.server, &line))
		return VERIFY_MORE;
	if (!text_is_printable(line))
		return VERIFY_NO;
	return contains_any(line, greetings) ? VERIFY_DPI : VERIFY_MORE;
}

// A client that is heard alone: two commands, with tags that are not the same (RFC 3501 2.2.1).
static bool are_commands(struct text client)
{
	struct text line, before = {client.at, 0};
	unsigned n = 0;

	while (text_take_line(&client, &line)) {
		struct text tag = text_take(&line, ' ');
		bool same = tag.length == before.length && !memcmp(tag.at, before.at, tag.length);

		if (!is_tag(tag) || same || !text_is_among(text_take_word(&line), verbs))
			return false;
		before = tag;
		n++;
	}
	return n >= 2;
}

static enum verify verify(const struct probe *probe)
{
	struct dialogue dialogue = dialogue_of(probe, is_untagged);
	enum verify answer;

	if (tls_wraps(probe))
		return tls_wrapped(probe, PORT_IMAPS);
	if (!dialogue.server.length && probe->one_sided && are_commands(dialogue.client))
		return VERIFY_ALONE;
	answer = verify_dialogue(dialogue);
	// A tagged answer tells the server from the client only by the client's command.
	if (answer == VERIFY_NO && probe->midstream)
		answer = verify_dialogue((struct dialogue){dialogue.server, dialogue.client});
	return answer;
}

const struct app_proto app_proto_imap = {
	.name = "imap",
	.title = "IMAP (mail)",
	.group = "mail",
	.category = APP_CATEGORY_MAIL,
	.verify = verify,
	.alpns = {"imap"},
	.tcp_ports = {143, 993},
};
