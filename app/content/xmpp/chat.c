// SPDX-License-Identifier: BSD-3-Clause
// Gathers the text of a message, and reports it: whole where the stanza is in one piece, else in
// parts as soon as they are here. Elements are lines, with a line feed between them that the stream
// does not have.
#include <string.h>
#include "content/charset.h"
#include "content/xmpp/stream.h"

// `behind64`: where the stanza ends, or as far as it is known. White space may stand for a stanza
// that is whole, and not for a part of it.
static void report(const struct xmpp_turn *to, uint32_t length, bool goes_on, uint64_t behind64)
{
	struct xmpp_work *work = to->half->work;
	struct xmpp_chat *chat = &work->chat;
	const struct content_sink *sink = to->turn->sink;
	struct content_message message = {
		.half = to->side,
		.goes_on = goes_on,
		.continued = chat->told,
		.verbatim = !chat->decoded && !chat->in_pieces,
		.in_pieces = chat->in_pieces,
		.blank = goes_on || !work->reader.depth ? ' ' : 0,
		.from = xmpp_party_text(&work->from[chat->level]),
		.to = xmpp_party_text(&work->to[chat->level]),
		.text = {chat->text, length},
		.begins64 = chat->begins64,
		.ends64 = chat->ends64 - (chat->length - length),
		.unit64 = work->unit64,
		.unit_ends64 = behind64,
	};
	// what is not said is as the server will see it, or as it sends it
	struct content_text own = xmpp_party_text(&to->state->own);

	if (to->side == HALF_C2S && !message.from.length)
		message.from = own;
	if (to->side == HALF_S2C && !message.to.length)
		message.to = own;
	sink->message(sink->ctx, &message);
	chat->told = goes_on;
	chat->in_pieces = chat->decoded = false;
}

// All but what `keeps` says; that is a run of its own then.
static void put_out(const struct xmpp_turn *to, uint32_t keeps)
{
	struct xmpp_chat *chat = &to->half->work->chat;
	uint32_t length = chat->length - keeps;

	if (!length)
		return;
	report(to, length, true, to->half->at64);
	if (keeps)
		memmove(chat->text, chat->text + length, keeps);
	chat->begins64 = chat->ends64 - keeps;
	chat->length = keeps;
}

void xmpp_chat_flush(const struct xmpp_turn *to)
{
	struct xmpp_work *work = to->half->work;

	if (work)
		put_out(to, charset_unfinished(work->chat.text, work->chat.length));
}

static void finish(const struct xmpp_turn *to, uint64_t behind64)
{
	struct xmpp_chat *chat = &to->half->work->chat;

	if (chat->length || chat->told) {
		if (!chat->length)
			chat->begins64 = chat->ends64;
		report(to, chat->length, false, behind64);
	}
	chat->length = 0;
	chat->told = chat->separated = false;
}

void xmpp_chat_finish(const struct xmpp_turn *to)
{
	finish(to, to->half->at64);
}

// Text that does not follow on what is here.
static void begin_run(const struct xmpp_turn *to, uint64_t begins64)
{
	struct xmpp_chat *chat = &to->half->work->chat;

	if (!chat->length)
		chat->begins64 = begins64;
	else
		chat->in_pieces = true;
	chat->ends64 = begins64;
	if (chat->separated && (chat->told || chat->length)) {
		chat->text[chat->length++] = '\n';
		chat->decoded = true;
	}
	chat->separated = false;
}

void xmpp_chat_put(const struct xmpp_turn *to, const struct xml_token *token)
{
	struct xmpp_work *work = to->half->work;
	struct xmpp_chat *chat = &work->chat;
	uint64_t at64 = to->half->at64 - token->back - token->raw;
	bool as_it_is = token->raw == token->length;
	uint8_t level =
		(uint8_t)(work->messages < XMPP_LEVELS ? work->messages - 1 : XMPP_LEVELS - 1);

	if (level != chat->level)
		finish(to, at64);
	chat->level = level;
	if (sizeof(chat->text) - chat->length < sizeof(work->reader.point) + 1)
		put_out(to, charset_unfinished(chat->text, chat->length));
	if (!chat->length || chat->ends64 != at64)
		begin_run(to, at64);
	chat->decoded |= !as_it_is;
	for (uint32_t done = 0; done < token->length;) {
		if (sizeof(chat->text) == chat->length)
			put_out(to, charset_unfinished(chat->text, chat->length));
		uint32_t here = (uint32_t)sizeof(chat->text) - chat->length;

		if (here > token->length - done)
			here = token->length - done;
		memcpy(chat->text + chat->length, token->text + done, here);
		chat->length += here;
		chat->ends64 += as_it_is ? here : token->raw;
		done += here;
	}
}
