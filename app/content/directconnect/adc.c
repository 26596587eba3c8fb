// SPDX-License-Identifier: BSD-3-Clause
// Lines of ADC: a letter for who gets it, three for what it is, parameters.
#include "content/directconnect/session.h"
#include "content/http/text.h"

// A blank line says nothing to anybody; a blank would be a parameter's end.
#define BLANK '\n'

struct adc_line {
	const struct dc_line *line;
	struct content_text from, to; // SIDs; may be empty
	struct content_text rest;     // parameters
};

// ---- nicks, which users of a hub have said with their SID ----

static struct dc_nick *slot_of(struct dc_nick *nicks, const uint8_t sid[4])
{
	return &nicks[(sid[0] * 3u + sid[1] * 7u + sid[2] * 31u + sid[3]) % DC_NICKS];
}

static struct content_text nick_of(const struct dc_state *state, struct content_text sid)
{
	const struct dc_nick *slot;

	if (!state->nicks || sid.length != 4)
		return sid;
	slot = slot_of(state->nicks, sid.bytes);
	if (!slot->length || memcmp(slot->sid, sid.bytes, 4) != 0)
		return sid;
	return (struct content_text){slot->nick, slot->length};
}

static enum content_fed take_info(const struct adc_line *adc)
{
	struct dc_state *state = adc->line->state;
	struct content_text rest = adc->rest, word, nick = {NULL, 0};
	uint8_t bytes[DC_LINE_BYTES];

	while (dc_word(&rest, &word))
		if (word.length > 2 && !memcmp(word.bytes, "NI", 2))
			nick = http_text_from(word, 2);
	if (!nick.length || adc->from.length != 4)
		return CONTENT_FED;
	if (!state->nicks) {
		state->nicks =
			content_take(adc->line->turn->memory, DC_NICKS * sizeof(*state->nicks));
		if (!state->nicks)
			return CONTENT_NO_MEMORY;
		memset(state->nicks, 0, DC_NICKS * sizeof(*state->nicks));
	}
	struct dc_nick *slot = slot_of(state->nicks, adc->from.bytes);
	uint32_t n = dc_unescape(nick, bytes);

	memcpy(slot->sid, adc->from.bytes, 4);
	slot->length = (uint8_t)(n < DC_NICK_BYTES ? n : DC_NICK_BYTES);
	memcpy(slot->nick, bytes, slot->length);
	return CONTENT_FED;
}

// ---- what is said ----

static void take_message(const struct adc_line *adc)
{
	const struct dc_state *state = adc->line->state;
	struct content_text rest = adc->rest, text;

	if (dc_word(&rest, &text))
		dc_message(adc->line, nick_of(state, adc->from), nick_of(state, adc->to), text,
			true, BLANK);
}

// "FNdir/file SI100 TRroot"
static void take_result(const struct adc_line *adc)
{
	struct dc_result result = {.size = CONTENT_SIZE_UNKNOWN};
	struct content_text rest = adc->rest, word;
	uint8_t path[DC_LINE_BYTES];

	while (dc_word(&rest, &word)) {
		struct content_text value = http_text_from(word, 2);

		if (word.length <= 2)
			continue;
		if (!memcmp(word.bytes, "FN", 2))
			result.path = (struct content_text){path, dc_unescape(value, path)};
		else if (!memcmp(word.bytes, "TR", 2))
			result.tth = value;
		else if (!memcmp(word.bytes, "SI", 2) && !http_number(value, &result.size))
			result.size = CONTENT_SIZE_UNKNOWN;
	}
	result.user = nick_of(adc->line->state, adc->from);
	dc_found(adc->line, &result);
}

static void take_search(const struct adc_line *adc)
{
	struct content_text rest = adc->rest, word;

	while (dc_word(&rest, &word))
		if (word.length > 2 && !memcmp(word.bytes, "TR", 2))
			dc_sought(adc->line, http_text_from(word, 2));
}

// ---- what a line is ----

// B, F: who sends it; D, E: also who gets it; U: the sender's CID.
static bool take_head(struct adc_line *adc)
{
	struct content_text word;

	switch (adc->line->text.bytes[0]) {
	case 'B':
	case 'U': return dc_word(&adc->rest, &adc->from);
	case 'D':
	case 'E': return dc_word(&adc->rest, &adc->from) && dc_word(&adc->rest, &adc->to);
	case 'F':
		if (!dc_word(&adc->rest, &adc->from))
			return false;
		while (adc->rest.length > 1 &&
			(adc->rest.bytes[1] == '+' || adc->rest.bytes[1] == '-'))
			dc_word(&adc->rest, &word);
		return true;
	default: return true; // C, H, I
	}
}

static enum content_fed take_of_client(const struct adc_line *adc, const uint8_t *command)
{
	if (!memcmp(command, "GET", 3))
		dc_asked(adc->line, adc->rest);
	else if (!memcmp(command, "SND", 3) && dc_receiver(adc->line) != DC_ROLE_HUB)
		return dc_sends(adc->line, adc->rest);
	return CONTENT_FED;
}

static enum content_fed take_of_hub(const struct adc_line *adc, const uint8_t *command)
{
	if (!memcmp(command, "INF", 3))
		return take_info(adc);
	if (!memcmp(command, "ZON", 3) && dc_receiver(adc->line) != DC_ROLE_CLIENT) {
		dc_note(adc->line, CONTENT_NOTE_OPAQUE_COMPRESSED);
		adc->line->state->halves[adc->line->half].mode = DC_LOST;
	}
	return CONTENT_FED;
}

void dc_adc_begins(const struct dc_line *line)
{
	struct adc_line adc = {.line = line, .rest = http_text_from(line->text, 4)};
	bool chat = line->state->halves[line->half].open || line->text.bytes[0] == 'C' ||
		    dc_receiver(line) != DC_ROLE_CLIENT;

	if (chat && line->text.length > 4 && line->text.bytes[4] == ' ' &&
		!memcmp(line->text.bytes + 1, "MSG", 3) && take_head(&adc))
		take_message(&adc);
}

enum content_fed dc_adc_line(const struct dc_line *line)
{
	struct adc_line adc = {.line = line, .rest = http_text_from(line->text, 4)};
	const uint8_t *command = line->text.bytes + 1;
	bool client = line->text.bytes[0] == 'C';

	if (line->text.length < 4 || (line->text.length > 4 && line->text.bytes[4] != ' '))
		return CONTENT_FED;
	dc_says(line, client ? DC_ROLE_CLIENT : DC_ROLE_HUB);
	if (!take_head(&adc))
		return CONTENT_FED;
	if (!memcmp(command, "RES", 3))
		take_result(&adc);
	else if (!memcmp(command, "SCH", 3))
		take_search(&adc);
	else if (!memcmp(command, "MSG", 3) && (client || dc_receiver(line) != DC_ROLE_CLIENT))
		take_message(&adc);
	return client ? take_of_client(&adc, command) : take_of_hub(&adc, command);
}
