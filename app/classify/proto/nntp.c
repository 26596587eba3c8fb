// SPDX-License-Identifier: BSD-3-Clause
// NNTP, the protocol of network news (RFC 3977). The greeting is "200" or "201"; what follows it is
// free text, so a word of it or the client's verb must say that news are read here.
#include "classify/app_proto.h"
#include "classify/dialogue.h"

static const char *const verbs[] = {"ARTICLE", "AUTHINFO", "BODY", "CAPABILITIES", "CHECK", "DATE",
	"GROUP", "HDR", "HEAD", "IHAVE", "LISTGROUP", "MODE", "NEWGROUPS", "NEWNEWS", "OVER",
	"POST", "STAT", "TAKETHIS", "XHDR", "XOVER", "XZVER", NULL};
static const char *const weak_verbs[] = {"HELP", "LIST", "QUIT", NULL};
static const char *const own_words[] = {"NNTP", "news", "Usenet", "InterNetNews", "NNRP", NULL};

static enum verify verify_greeting(struct text server)
{
	unsigned code = text_reply_code(server);

	if (code != 200 && code != 201)
		return VERIFY_NO;
	return contains_any(dialogue_greeting(server), own_words) ? VERIFY_DPI : VERIFY_MORE;
}

static enum verify verify(const struct probe *probe)
{
	struct dialogue dialogue = dialogue_of(probe, is_coded_reply);
	struct text rest, verb = dialogue_verb(dialogue.client, &rest);

	if (dialogue.server.length < 4)
		return VERIFY_MORE;
	enum verify meta = verify_greeting(dialogue.server);

	if (meta == VERIFY_NO || !verb.length)
		return meta;
	// HTTP has methods of these names, but a target and a version after them.
	if (text_contains(rest, "HTTP/"))
		return VERIFY_NO;
	if (text_is_among(verb, verbs))
		return VERIFY_YES;
	return text_is_among(verb, weak_verbs) ? meta : VERIFY_NO;
}

const struct app_proto app_proto_nntp = {
	.name = "nntp",
	.title = "NNTP (news)",
	.group = "mail",
	.category = APP_CATEGORY_MAIL,
	.verify = verify,
	.alpns = {"nntp"},
	.tcp_ports = {119, 433},
};
