// SPDX-License-Identifier: BSD-3-Clause
// Lines of the older protocol (NMDC): "$Command parameters", and what people say on hubs.
#include "content/directconnect/session.h"
#include "content/http/text.h"

#define SR_END 0x05 // between the parts of a result

// Takes the text up to `byte`, and the byte; false: it is not there.
static bool take_until(struct content_text *rest, uint8_t byte, struct content_text *part)
{
	uint32_t n = http_until(*rest, byte);
	bool found = n < rest->length;

	*part = (struct content_text){rest->bytes, n};
	*rest = http_text_from(*rest, found ? n + 1 : n);
	return found;
}

// What follows the command's word and a blank.
static bool is_command(struct content_text text, const char *word, struct content_text *rest)
{
	uint32_t n = (uint32_t)strlen(word);

	if (!octets_begin(text.bytes, text.length, word) ||
		(text.length > n && text.bytes[n] != ' '))
		return false;
	*rest = http_text_from(text, n + 1);
	return true;
}

// ---- hubs ----

// "<nick> text"; of other lines clients show all.
static void take_chat(const struct dc_line *line, struct content_text text,
	struct content_text from, struct content_text to)
{
	struct content_text rest = text, nick;

	if (rest.length && rest.bytes[0] == '<') {
		rest = http_text_from(rest, 1);
		bool named = take_until(&rest, '>', &nick);

		if (!named && line->stage == DC_GOES_ON)
			return; // where the text begins is not known
		if (named) {
			if (rest.length && rest.bytes[0] == ' ')
				rest = http_text_from(rest, 1);
			text = rest;
			if (!from.length)
				from = nick;
		}
	}
	dc_message(line, from, to, text, false, ' ');
}

// "$To: bob From: alice $<alice> text"
static void take_private(const struct dc_line *line, struct content_text rest)
{
	struct content_text to, from, word;

	if (!dc_word(&rest, &to) || !dc_word(&rest, &word) || !http_is(word, "from:") ||
		!dc_word(&rest, &from))
		return;
	take_until(&rest, '$', &word);
	take_chat(line, rest, from, to);
}

// "$MCTo: bob $alice text", to one on the hub, shown among what all say
static void take_private_main(const struct dc_line *line, struct content_text rest)
{
	struct content_text to, from;

	if (!dc_word(&rest, &to) || !take_until(&rest, '$', &from) || !dc_word(&rest, &from))
		return;
	take_chat(line, http_text_from(rest, 1), from, to);
}

// "alice dir\file 0x05 size free/slots 0x05 TTH:... (hub) [0x05 bob]"; of a folder there is no
// size, and it is two parts.
static void take_result(const struct dc_line *line, struct content_text rest)
{
	struct dc_result result = {.size = CONTENT_SIZE_UNKNOWN};
	struct content_text numbers, hub, size;

	if (!take_until(&rest, ' ', &result.user) || !take_until(&rest, SR_END, &result.path) ||
		!take_until(&rest, SR_END, &numbers))
		return;
	take_until(&rest, SR_END, &hub);
	if (!take_until(&numbers, ' ', &size) || !http_number(size, &result.size))
		return;
	if (http_begins(hub, "tth:")) {
		hub = http_text_from(hub, 4);
		take_until(&hub, ' ', &result.tth);
	}
	dc_found(line, &result);
}

// "Hub:nick F?T?0?9?TTH:..." and, shorter, "$SA ROOT nick"
static void take_search(const struct dc_line *line, struct content_text rest)
{
	struct content_text part;

	for (unsigned i = 0; i < 4; i++)
		if (!take_until(&rest, '?', &part))
			return;
	if (http_begins(rest, "tth:"))
		dc_sought(line, http_text_from(rest, 4));
}

// ---- clients ----

// "$Get dir\file$1", where the first byte is 1
static enum content_fed take_get(const struct dc_line *line, struct content_text rest)
{
	struct dc_wanted wanted = {.bytes = CONTENT_SIZE_UNKNOWN};
	struct content_text number = rest;
	uint32_t at = rest.length;

	while (at && rest.bytes[at - 1] != '$')
		at--;
	number = http_text_from(rest, at);
	// some write the length behind it: "$Get file$1$100"
	if (!at || !http_number(number, &wanted.from))
		return CONTENT_FED;
	wanted.name = (struct content_text){rest.bytes, at - 1};
	if (wanted.from)
		wanted.from--;
	return dc_wishes(line, &wanted);
}

// "$UGetZBlock 0 -1 files.xml.bz2"
static enum content_fed take_block(
	const struct dc_line *line, struct content_text rest, bool packed)
{
	struct dc_wanted wanted = {.packed = packed};
	struct content_text from, bytes;

	if (!dc_word(&rest, &from) || !dc_word(&rest, &bytes) || !http_number(from, &wanted.from) ||
		!dc_number(bytes, &wanted.bytes))
		return CONTENT_FED;
	wanted.name = http_text_from(rest, 1);
	return dc_wishes(line, &wanted);
}

// "$FileLength 1000": of the whole file
static void take_file_length(const struct dc_line *line, struct content_text rest)
{
	struct dc_half *half = &line->state->halves[line->half];
	const struct dc_wish *wish = &line->state->halves[!line->half].wish;
	struct content_text word;

	if (!wish->name)
		return;
	if (!dc_word(&rest, &word) || !http_number(word, &half->length_said) ||
		half->length_said < wish->from) {
		dc_note(line, CONTENT_NOTE_BAD_LENGTH);
		half->mode = DC_LOST;
		return;
	}
	half->mode = DC_AWAITS;
}

static enum content_fed take_send(const struct dc_line *line)
{
	struct dc_half *sender = &line->state->halves[!line->half];
	const struct dc_wish *wish = &line->state->halves[line->half].wish;

	if (sender->mode != DC_AWAITS || !wish->name)
		return CONTENT_FED;
	return dc_grants(line, !line->half, sender->length_said - wish->from, sender->length_said);
}

// "$Sending 1000": so many bytes, unpacked
static enum content_fed take_sending(const struct dc_line *line, struct content_text rest)
{
	struct dc_half *half = &line->state->halves[line->half];
	const struct dc_wish *wish = &line->state->halves[!line->half].wish;
	struct content_text word;
	uint64_t bytes = wish->bytes;

	if (!wish->name)
		return CONTENT_FED;
	if ((dc_word(&rest, &word) && !http_number(word, &bytes)) ||
		bytes > INT64_MAX - wish->from) {
		dc_note(line, CONTENT_NOTE_BAD_LENGTH);
		half->mode = DC_LOST;
		return CONTENT_FED;
	}
	return dc_grants(line, line->half, bytes,
		wish->bytes == CONTENT_SIZE_UNKNOWN ? wish->from + bytes : CONTENT_SIZE_UNKNOWN);
}

// ---- what a command is ----

// What was asked for does not come.
static bool is_refusal(struct content_text text)
{
	static const char *const words[] = {"$Canceled", "$Error", "$Failed", "$MaxedOut"};
	struct content_text rest;

	for (unsigned i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (is_command(text, words[i], &rest))
			return true;
	return false;
}

// Who takes the other end for a hub takes no file from it.
static bool sends_file(const struct dc_line *line)
{
	return dc_receiver(line) != DC_ROLE_HUB;
}

static enum content_fed take_of_client(
	const struct dc_line *line, struct content_text text, bool *known)
{
	struct content_text rest;

	*known = true;
	if (is_command(text, "$ADCGET", &rest)) {
		dc_asked(line, rest);
		return CONTENT_FED;
	}
	if (is_command(text, "$ADCSND", &rest))
		return sends_file(line) ? dc_sends(line, rest) : CONTENT_FED;
	if (is_command(text, "$Get", &rest))
		return take_get(line, rest);
	if (is_command(text, "$UGetBlock", &rest))
		return take_block(line, rest, false);
	if (is_command(text, "$UGetZBlock", &rest) || is_command(text, "$GetZBlock", &rest))
		return take_block(line, rest, true);
	if (is_command(text, "$FileLength", &rest)) {
		if (sends_file(line))
			take_file_length(line, rest);
		return CONTENT_FED;
	}
	if (is_command(text, "$Send", &rest))
		return take_send(line);
	if (is_command(text, "$Sending", &rest))
		return sends_file(line) ? take_sending(line, rest) : CONTENT_FED;
	if (is_refusal(text)) {
		dc_wish_drop(&line->state->halves[!line->half], line->turn->memory);
		return CONTENT_FED;
	}
	*known = is_command(text, "$MyNick", &rest) || is_command(text, "$Direction", &rest);
	return CONTENT_FED;
}

static bool take_of_hub(const struct dc_line *line, struct content_text text)
{
	static const char *const others[] = {"$HubName", "$Hello", "$ValidateNick", "$MyINFO",
		"$NickList", "$OpList", "$GetNickList", "$HubTopic", "$ConnectToMe",
		"$RevConnectToMe", "$Quit", "$UserCommand"};
	struct content_text rest, tth;

	if (is_command(text, "$To:", &rest)) {
		take_private(line, rest);
	} else if (is_command(text, "$MCTo:", &rest)) {
		take_private_main(line, rest);
	} else if (is_command(text, "$SR", &rest)) {
		take_result(line, rest);
	} else if (is_command(text, "$Search", &rest)) {
		take_search(line, rest);
	} else if (is_command(text, "$SA", &rest) || is_command(text, "$SP", &rest)) {
		if (dc_word(&rest, &tth))
			dc_sought(line, tth);
	} else {
		for (unsigned i = 0; i < sizeof(others) / sizeof(*others); i++)
			if (is_command(text, others[i], &rest))
				return true;
		return false;
	}
	return true;
}

// Behind a gap bytes of a file may look like chat.
static bool may_be_chat(const struct dc_line *line)
{
	const struct dc_state *state = line->state;

	if (dc_receiver(line) == DC_ROLE_UNKNOWN && state->has_gap)
		return state->halves[line->half].role == DC_ROLE_HUB;
	return dc_receiver(line) != DC_ROLE_CLIENT;
}

void dc_nmdc_begins(const struct dc_line *line)
{
	struct content_text text = line->text, rest, none = {NULL, 0};

	if (text.bytes[0] == '$' && is_command(text, "$To:", &rest))
		take_private(line, rest);
	else if (text.bytes[0] == '$' && is_command(text, "$MCTo:", &rest))
		take_private_main(line, rest);
	else if (text.bytes[0] != '$' &&
		 (line->state->halves[line->half].open || may_be_chat(line)))
		take_chat(line, text, none, none);
}

enum content_fed dc_nmdc_line(const struct dc_line *line)
{
	struct content_text text = line->text, rest, none = {NULL, 0};
	bool known;

	if (text.bytes[0] != '$') {
		if (may_be_chat(line))
			take_chat(line, text, none, none);
		return CONTENT_FED;
	}
	if (is_command(text, "$ZOn", &rest) && dc_receiver(line) != DC_ROLE_CLIENT) {
		dc_note(line, CONTENT_NOTE_OPAQUE_COMPRESSED);
		line->state->halves[line->half].mode = DC_LOST;
		return CONTENT_FED;
	}
	enum content_fed fed = take_of_client(line, text, &known);

	if (known)
		dc_says(line, DC_ROLE_CLIENT);
	else if (take_of_hub(line, text))
		dc_says(line, DC_ROLE_HUB);
	return fed;
}
