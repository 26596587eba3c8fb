// SPDX-License-Identifier: BSD-3-Clause
// Messages of Soulseek (Nicotine+'s SLSKPROTOCOL): code u32 LE; strings with their length before
// them as u32 LE.
#include <netinet/in.h>

#include "content/http/text.h"
#include "content/soulseek/session.h"
#include "pipeline/vocab/octets.h"

#define TRANSFER_TTL_S 120
#define UPLOAD         1 // direction of a transfer request: its sender has the file

enum {
	SERVER_LOGIN = 1,
	SERVER_SAY = 13,     // in a room
	SERVER_MESSAGE = 22, // to a user
	SERVER_ADMIN = 66,
	SERVER_TICKER = 116,
	SERVER_USERS = 149,  // a message to several users
	SERVER_PUBLIC = 152, // what is said in rooms that the client is not in
	PEER_TRANSFER = 40,
	PEER_QUEUE = 43,
};

bool soulseek_number(struct content_text *rest, uint32_t *number)
{
	if (rest->length < 4)
		return false;
	*number = octets_le32(rest->bytes);
	*rest = http_text_from(*rest, 4);
	return true;
}

bool soulseek_string(struct content_text *rest, struct content_text *string)
{
	uint32_t length;

	if (!soulseek_number(rest, &length) || length > rest->length)
		return false;
	*string = (struct content_text){rest->bytes, length};
	*rest = http_text_from(*rest, length);
	return true;
}

static struct content_text at_most(struct content_text text)
{
	if (text.length > CONTENT_PARTY_BYTES)
		text.length = CONTENT_PARTY_BYTES;
	return text;
}

// A string, or what there is of one.
static bool take_text(struct content_text *rest, struct content_text *text, bool *all)
{
	uint32_t length;

	if (!soulseek_number(rest, &length))
		return false;
	*all = length <= rest->length;
	*text = (struct content_text){rest->bytes, *all ? length : rest->length};
	return true;
}

struct said {
	const struct soulseek_turn *turn;
	struct content_text message; // behind its length
	struct content_text from, to;
	bool whole;
};

// The text stands at the beginning of `rest`; what was reported of it before is left out. A length
// stands before it: what is blanked stays as long, and nothing around it can be.
static void report(const struct said *said, struct content_text rest)
{
	const struct content_sink *sink = said->turn->turn->sink;
	struct soulseek_half *half = &said->turn->state->halves[said->turn->half];
	struct content_text text;
	bool all;

	if (half->said || !take_text(&rest, &text, &all))
		return;
	text = http_text_from(text, half->told);
	bool ends = all || said->whole;
	uint64_t begins64 = half->message64 + 4 + (uint64_t)(text.bytes - said->message.bytes);
	const struct content_message message = {
		.half = (uint8_t)said->turn->half,
		.goes_on = !ends,
		.continued = half->open,
		.verbatim = true,
		.blank = ' ',
		.from = at_most(said->from),
		.to = at_most(said->to),
		.text = text,
		.begins64 = begins64,
		.ends64 = begins64 + text.length,
		.unit64 = begins64 - half->told,
		.unit_ends64 = begins64 + text.length,
	};

	half->said = ends;
	if (!text.length && !(ends && half->open))
		return;
	half->told += text.length;
	half->open = !ends;
	sink->message(sink->ctx, &message);
}

static void take_login(struct soulseek_state *state, struct content_text rest)
{
	struct content_text user;

	if (!soulseek_string(&rest, &user))
		return;
	state->user_length = (uint8_t)(user.length < SOULSEEK_USER ? user.length : SOULSEEK_USER);
	if (state->user_length)
		memcpy(state->user, user.bytes, state->user_length);
}

static void from_client(struct said *said, uint32_t code, struct content_text rest)
{
	struct soulseek_state *state = said->turn->state;
	uint32_t users;

	said->from = (struct content_text){state->user, state->user_length};
	switch (code) {
	case SERVER_LOGIN:
		if (said->whole)
			take_login(state, rest);
		break;
	case SERVER_SAY:
	case SERVER_MESSAGE:
	case SERVER_TICKER:
		if (soulseek_string(&rest, &said->to))
			report(said, rest);
		break;
	case SERVER_USERS:
		if (!soulseek_number(&rest, &users))
			break;
		while (users && soulseek_string(&rest, &said->to))
			users--;
		if (!users)
			report(said, rest);
		break;
	default: break;
	}
}

static void from_server(struct said *said, uint32_t code, struct content_text rest)
{
	struct soulseek_state *state = said->turn->state;
	uint32_t number;

	said->to = (struct content_text){state->user, state->user_length};
	switch (code) {
	case SERVER_SAY:
	case SERVER_PUBLIC:
		if (soulseek_string(&rest, &said->to) && soulseek_string(&rest, &said->from))
			report(said, rest);
		break;
	case SERVER_MESSAGE: // its number, when it was sent
		if (soulseek_number(&rest, &number) && soulseek_number(&rest, &number) &&
			soulseek_string(&rest, &said->from))
			report(said, rest);
		break;
	case SERVER_ADMIN: report(said, rest); break;
	default: break;
	}
}

void soulseek_server_message(
	const struct soulseek_turn *turn, struct content_text message, bool whole)
{
	struct said said = {.turn = turn, .message = message, .whole = whole};
	struct content_text rest = message;
	uint32_t code;

	if (!soulseek_number(&rest, &code))
		return;
	if (turn->half == HALF_C2S)
		from_client(&said, code, rest);
	else
		from_server(&said, code, rest);
}

void soulseek_offer(const struct soulseek_turn *turn, struct content_text path,
	struct content_text user, uint64_t size)
{
	const struct content_sink *sink = turn->turn->sink;
	struct content_file file = content_file_of_path(path, at_most(user));

	if (!file.name.length)
		return;
	file.id = ++turn->state->files;
	file.half = (uint8_t)turn->half;
	file.name_source = CONTENT_NAME_OFFER;
	file.elsewhere = true;
	file.size = size;
	file.begins64 = turn->state->streams[turn->half].at64;
	sink->file(sink->ctx, &file);
}

// Who has the file connects to who wants it. Where that end has accepted this connection, it will
// accept the other one at the same port.
static void announce(const struct soulseek_turn *turn, struct content_text path, uint64_t size)
{
	const struct content_turn *to = turn->turn;

	if (turn->half != HALF_C2S || !to->others || !to->others->expect || !to->ends)
		return;
	struct expectation expect = {
		.port = to->ends->port[HALF_S2C],
		.l4_proto = IPPROTO_TCP,
		.app = to->data_app,
		.as = EXPECTED_SOULSEEK_FILE,
		.ttl_s = TRANSFER_TTL_S,
		.label = {.what = TRANSFER_FILE, .half = HALF_C2S, .size = size},
	};

	memcpy(expect.address, to->ends->address[HALF_S2C], 16);
	memcpy(expect.peer, to->ends->address[HALF_C2S], 16);
	content_label_file(&expect.label, path);
	to->others->expect(to->others->ctx, &expect);
}

static void take_transfer(const struct soulseek_turn *turn, struct content_text rest)
{
	struct content_text path, nobody = {NULL, 0};
	uint32_t direction, token, low, high;

	if (!soulseek_number(&rest, &direction) || !soulseek_number(&rest, &token) ||
		!soulseek_string(&rest, &path))
		return;
	if (direction != UPLOAD || !soulseek_number(&rest, &low))
		return;
	if (!soulseek_number(&rest, &high)) // the first clients had 32 bits
		high = 0;
	uint64_t size = (uint64_t)high << 32 | low;

	soulseek_offer(turn, path, nobody, size);
	announce(turn, path, size);
}

// What is wanted: of the other end.
static void take_wanted(const struct soulseek_turn *turn, struct content_text rest)
{
	const struct content_sink *sink = turn->turn->sink;
	struct content_text path, nobody = {NULL, 0};

	if (!soulseek_string(&rest, &path))
		return;
	struct content_file file = content_file_of_path(path, nobody);

	file.half = (uint8_t)!turn->half;
	sink->asked(sink->ctx, &file);
}

void soulseek_peer_message(const struct soulseek_turn *turn, struct content_text message)
{
	struct content_text rest = message;
	uint32_t code;

	if (!soulseek_number(&rest, &code))
		return;
	if (code == PEER_TRANSFER)
		take_transfer(turn, rest);
	else if (code == PEER_QUEUE)
		take_wanted(turn, rest);
}
