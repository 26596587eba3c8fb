// SPDX-License-Identifier: BSD-3-Clause
// Reads requests of DCC, tells of files by their names, and where their connections will be. Who
// may be named is as in app/classify/proto/irc.c: a client itself; of others, and by others, that
// this client will connect there.
#include "content/irc/dcc.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include "content/http/text.h"
#include "content/irc/ctcp.h"
#include "content/irc/session.h"

#define M_QUOTE   0x10 // low-level quoting of CTCP
#define DCC_TTL_S 120

struct request {
	const struct irc_turn *turn;
	struct dcc_offers *offers;
	struct content_text from;
	struct content_text name;
	uint8_t address[16];
	bool has_address;
	bool tls;
	uint16_t port;
	uint64_t number; // size, or offset
	bool has_number;
	struct content_text token; // empty: none
};

static uint32_t hash_of(struct content_text text)
{
	uint32_t hash = 2166136261u;

	for (uint32_t i = 0; i < text.length; i++)
		hash = (hash ^ text.bytes[i]) * 16777619u;
	return hash;
}

static void skip_blanks(struct content_text *rest)
{
	while (rest->length && rest->bytes[0] == ' ')
		*rest = http_text_from(*rest, 1);
}

static struct content_text take_word(struct content_text *rest)
{
	struct content_text word = *rest;

	word.length = http_until(*rest, ' ');
	*rest = http_text_from(*rest, word.length);
	skip_blanks(rest);
	return word;
}

// A decimal number (IPv4), or a text of IPv4 or IPv6.
static bool read_address(struct content_text word, uint8_t address[16])
{
	char text[INET6_ADDRSTRLEN];
	uint64_t number;

	memset(address, 0, 10);
	memset(address + 10, 0xff, 2);
	if (http_number(word, &number)) {
		for (unsigned i = 0; i < 4; i++)
			address[12 + i] = (uint8_t)(number >> (24 - 8 * i));
		return number <= UINT32_MAX;
	}
	if (!word.length || word.length >= sizeof(text))
		return false;
	memcpy(text, word.bytes, word.length);
	text[word.length] = '\0';
	return inet_pton(AF_INET, text, address + 12) == 1 ||
	       inet_pton(AF_INET6, text, address) == 1;
}

// 0.0.0.0/8
static bool is_of_no_host(const uint8_t address[16])
{
	static const uint8_t mapped[13] = {[10] = 0xff, 0xff, 0};

	return !memcmp(address, mapped, sizeof(mapped));
}

static bool read_port(struct content_text word, uint16_t *port)
{
	uint64_t number;

	if (!http_number(word, &number) || number > UINT16_MAX)
		return false;
	*port = (uint16_t)number;
	return true;
}

// What follows a name: an address and a port, or the port alone; then a number, which may be left
// out where nothing follows; then a token. False: it is nothing of the kind.
static bool read_place(struct request *request, struct content_text rest, bool has_address)
{
	struct content_text word;

	if (has_address && !read_address(take_word(&rest), request->address))
		return false;
	if (!read_port(take_word(&rest), &request->port))
		return false;
	// Of a place that nobody is to connect to any number may be the address.
	if (has_address && request->port && is_of_no_host(request->address))
		return false;
	request->has_address = has_address;
	word = take_word(&rest);
	request->has_number = http_number(word, &request->number);
	request->token = take_word(&rest);
	return request->has_number || !word.length;
}

static bool read_size(struct request *request, struct content_text rest)
{
	request->has_number = http_number(take_word(&rest), &request->number);
	return request->has_number && !rest.length;
}

enum form {
	FORM_ADDRESS, // address port [number [token]]
	FORM_PORT,    // port number [token]
	FORM_NUMBER,
};

static bool read_rest(struct request *request, enum form form, struct content_text rest)
{
	skip_blanks(&rest);
	return form == FORM_NUMBER ? read_size(request, rest)
				   : read_place(request, rest, form == FORM_ADDRESS);
}

// A name in quotes: up to the first one behind which the rest is as it should be.
static bool read_quoted(struct request *request, enum form form, struct content_text text)
{
	for (uint32_t i = 1; i < text.length; i++) {
		struct content_text rest = http_text_from(text, i + 1);

		if (text.bytes[i] != '"' || (rest.length && rest.bytes[0] != ' '))
			continue;
		request->name = (struct content_text){text.bytes + 1, i - 1};
		if (read_rest(request, form, rest))
			return true;
	}
	return false;
}

// Some clients do not quote blanks: the name ends at the first blank behind which the rest is as it
// should be.
static bool read_bare(struct request *request, enum form form, struct content_text text)
{
	for (uint32_t i = 1; i < text.length; i++) {
		if (text.bytes[i] != ' ' || text.bytes[i - 1] == ' ')
			continue;
		request->name = (struct content_text){text.bytes, i};
		if (read_rest(request, form, http_text_from(text, i)))
			return true;
	}
	return false;
}

// Of what is not as it should be some clients take all but the last three words.
static void read_wrong(struct request *request, struct content_text text)
{
	struct content_text name = text;

	for (unsigned word = 0; word < 3 && name.length; word++) {
		while (name.length && name.bytes[name.length - 1] != ' ')
			name.length--;
		while (name.length && name.bytes[name.length - 1] == ' ')
			name.length--;
	}
	request->name = name.length ? name : take_word(&text);
	request->has_address = request->has_number = false;
	request->token.length = request->port = 0;
}

static bool read_request(struct request *request, enum form form, struct content_text text)
{
	struct content_text *name = &request->name;
	bool found = text.length && text.bytes[0] == '"' && read_quoted(request, form, text);

	if (!found)
		found = read_bare(request, form, text);
	if (!found)
		read_wrong(request, text);
	if (name->length > 1 && name->bytes[0] == '"' && name->bytes[name->length - 1] == '"') {
		*name = http_text_from(*name, 1);
		name->length--;
	}
	return found;
}

// `out` has room for all of it.
static struct content_text unquote(struct content_text name, uint8_t *out)
{
	uint32_t n = 0;

	if (http_until(name, M_QUOTE) == name.length)
		return name;
	for (uint32_t i = 0; i < name.length; i++) {
		uint8_t byte = name.bytes[i];

		if (byte == M_QUOTE && i + 1 < name.length) {
			byte = name.bytes[++i];
			byte = byte == '0' ? 0 : byte == 'n' ? '\n' : byte == 'r' ? '\r' : byte;
		}
		out[n++] = byte;
	}
	return (struct content_text){out, n};
}

// Reports where `offer` will be carried, if the one who says so may.
static void report(const struct request *request, struct dcc_offer *offer, bool amends)
{
	const struct irc_turn *turn = request->turn;
	const struct content_turn *to = turn->turn;
	struct expectation *expect = &offer->expect;

	if (!to->others || !to->others->expect || !to->ends)
		return;
	if (!amends) {
		if (!request->has_address || request->port < DCC_PORT_MIN)
			return;
		// A client, or who speaks without a server between, may name itself alone. What
		// comes through the server may be of any other user, but this client is who would
		// connect.
		if (turn->half == HALF_C2S || turn->chat) {
			if (memcmp(request->address, to->ends->address[turn->half], 16) != 0)
				return;
		} else {
			memcpy(expect->peer, to->ends->address[HALF_C2S], 16);
		}
		memcpy(expect->address, request->address, 16);
		expect->port = request->port;
		expect->app = to->data_app;
		expect->l4_proto = IPPROTO_TCP;
		expect->as = EXPECTED_DCC;
		expect->ttl_s = DCC_TTL_S;
	}
	expect->amends = amends;
	if (expect->port)
		to->others->expect(to->others->ctx, expect);
}

static struct dcc_offer *offer_new(const struct request *request)
{
	struct dcc_offers *offers = request->offers;
	struct dcc_offer *offer = &offers->offers[offers->next];

	offers->next = (uint8_t)((offers->next + 1) % DCC_OFFERS);
	if (offer->used)
		offers->forgot[offer->half & 1] = true;
	*offer = (struct dcc_offer){
		.name = hash_of(request->name),
		.token = request->token.length ? hash_of(request->token) : 0,
		.port = request->port,
		.half = request->turn->half,
		.used = true,
		.awaited = !request->port,
	};
	offer->expect.label.coded = request->tls;
	transfer_text_set(offer->expect.label.user, sizeof(offer->expect.label.user),
		request->from.bytes, request->from.length);
	return offer;
}

static void label_file(struct transfer_label *label, const struct request *request, unsigned half)
{
	label->what = TRANSFER_FILE;
	label->half = (uint8_t)half;
	label->coded = request->tls;
	content_label_file(label, request->name);
}

// `half`: of the session, whose sender has the file. `item`: the number that it was told by before,
// or 0. Returns its number in records.
static uint32_t tell_file(const struct request *request, unsigned half, struct content_text user,
	uint64_t size, uint64_t from, uint32_t item)
{
	const struct irc_turn *turn = request->turn;
	const struct content_sink *sink = turn->turn->sink;
	struct content_file file = content_file_of_path(request->name, user);

	file.id = ++turn->session->files;
	file.half = (uint8_t)half;
	file.elsewhere = true;
	file.size = size;
	file.range_from = from;
	file.partial = from;
	file.item = &item;
	sink->file(sink->ctx, &file);
	return item;
}

// An offer of the other side that this one answers with where it listens.
static struct dcc_offer *answered(const struct request *request, bool by_token)
{
	for (unsigned i = 0; i < DCC_OFFERS; i++) {
		struct dcc_offer *offer = &request->offers->offers[i];

		if (offer->used && offer->awaited && offer->half != request->turn->half &&
			offer->name == hash_of(request->name) &&
			(!by_token ||
				(request->token.length && offer->token == hash_of(request->token))))
			return offer;
	}
	return NULL;
}

// It is of no offer that is remembered. If it is of one that was forgotten, which end has the file,
// and where it goes on, is not known.
static void note_forgotten(const struct request *request, unsigned half)
{
	if (request->offers->forgot[half])
		irc_note(request->turn, CONTENT_NOTE_TOO_MANY_REQUESTS);
}

// The side that connects has the file.
static void take_answer(const struct request *request, struct dcc_offer *offer)
{
	struct transfer_label *label = &offer->expect.label;

	offer->awaited = false;
	offer->port = request->port;
	label_file(label, request, HALF_C2S);
	report(request, offer, false);
}

static void take_send(struct request *request, struct content_text text)
{
	struct dcc_offer *offer = NULL;
	bool found = read_request(request, FORM_ADDRESS, text);
	uint8_t room[IRC_LINE_BYTES];

	request->name = unquote(request->name, room);
	if (found && request->port)
		offer = answered(request, true);
	if (offer) {
		take_answer(request, offer);
		return;
	}
	if (found && request->port && request->token.length)
		note_forgotten(request, !request->turn->half);
	uint32_t item = tell_file(request, request->turn->half, request->from,
		request->has_number ? request->number : CONTENT_SIZE_UNKNOWN, 0, 0);
	if (!found)
		return;
	offer = offer_new(request);
	offer->expect.item = item;
	offer->expect.label.size = request->has_number ? request->number : 0;
	label_file(&offer->expect.label, request, HALF_S2C);
	report(request, offer, false);
}

static void take_rsend(struct request *request, struct content_text text)
{
	struct dcc_offer *offer;
	bool found = read_request(request, FORM_NUMBER, text);
	uint8_t room[IRC_LINE_BYTES];

	request->name = unquote(request->name, room);
	uint32_t item = tell_file(request, request->turn->half, request->from,
		found ? request->number : CONTENT_SIZE_UNKNOWN, 0, 0);
	offer = offer_new(request);
	offer->expect.item = item;
	offer->expect.label.size = found ? request->number : 0;
}

static void take_recv(struct request *request, struct content_text text)
{
	const struct content_text nobody = {NULL, 0};
	struct dcc_offer *offer;
	bool found = read_request(request, FORM_ADDRESS, text);
	uint8_t room[IRC_LINE_BYTES];
	uint64_t from = request->has_number ? request->number : 0;

	request->name = unquote(request->name, room);
	offer = answered(request, false);
	uint32_t item = offer ? offer->expect.item : 0;
	if (!offer || from)
		item = tell_file(
			request, !request->turn->half, nobody, CONTENT_SIZE_UNKNOWN, from, item);
	if (!found)
		return;
	if (!offer) {
		request->from = nobody;
		offer = offer_new(request);
	}
	offer->expect.item = item;
	offer->expect.label.range_from = from;
	take_answer(request, offer);
}

// Where they differ, it is of no offer.
static struct dcc_offer *resumed(const struct request *request, unsigned half)
{
	for (unsigned i = 0; i < DCC_OFFERS; i++) {
		struct dcc_offer *offer = &request->offers->offers[i];

		if (!offer->used || offer->half != half || offer->port != request->port)
			continue;
		if (request->port ||
			(request->token.length && offer->token == hash_of(request->token)))
			return offer;
	}
	return NULL;
}

static struct dcc_offer *read_resumed(
	struct request *request, struct content_text text, unsigned half)
{
	return read_request(request, FORM_PORT, text) && request->has_number
		       ? resumed(request, half)
		       : NULL;
}

// The receiver asks, the sender grants: either alone changes nothing.
static void take_resume(struct request *request, struct content_text text)
{
	struct dcc_offer *offer = read_resumed(request, text, !request->turn->half);

	if (!offer)
		return;
	offer->asked = true;
	offer->resume = request->number;
}

static void take_accept(struct request *request, struct content_text text)
{
	struct dcc_offer *offer = read_resumed(request, text, request->turn->half);

	if (!offer && request->has_number)
		note_forgotten(request, request->turn->half);
	if (!offer || !offer->asked || offer->resume != request->number)
		return;
	offer->asked = false;
	offer->expect.label.range_from = request->number;
	report(request, offer, true);
}

static void take_chat(struct request *request, struct content_text text)
{
	struct dcc_offer offer = {0};

	if (!read_request(request, FORM_ADDRESS, text))
		return;
	offer.expect.label.what = TRANSFER_CHAT;
	offer.expect.label.half = HALF_S2C;
	offer.expect.label.coded = request->tls;
	transfer_text_set(offer.expect.label.user, sizeof(offer.expect.label.user),
		request->from.bytes, request->from.length);
	report(request, &offer, false);
}

static const struct verb {
	const char *lower;
	void (*take)(struct request *request, struct content_text text);
} verbs[] = {
	{"resume", take_resume},
	{"accept", take_accept},
	{"send", take_send},
	{"rsend", take_rsend},
	{"recv", take_recv},
	{"chat", take_chat},
};
#define PREFIXES 2 // of a verb, at most

// S: inside TLS, T: without acknowledgements. Takes one off.
static bool take_prefix(struct content_text *word, bool *tls)
{
	if (!http_begins(*word, "s") && !http_begins(*word, "t"))
		return false;
	*tls |= http_begins(*word, "s");
	*word = http_text_from(*word, 1);
	return true;
}

enum dcc_verb_is dcc_verb(struct content_text word)
{
	bool begins = false, tls = false;

	for (unsigned prefix = 0; prefix <= PREFIXES; prefix++) {
		for (unsigned i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++) {
			if (http_is(word, verbs[i].lower))
				return DCC_VERB;
			begins |= irc_begins_word(word, verbs[i].lower);
		}
		if (!take_prefix(&word, &tls))
			break;
	}
	return begins ? DCC_VERB_BEGINS : DCC_NO_VERB;
}

static void take_request(struct request *request, struct content_text text)
{
	struct content_text verb = take_word(&text);

	for (unsigned prefix = 0; prefix <= PREFIXES; prefix++) {
		for (unsigned i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++) {
			if (http_is(verb, verbs[i].lower)) {
				verbs[i].take(request, text);
				return;
			}
		}
		if (!take_prefix(&verb, &request->tls))
			return;
	}
}

void dcc_take(const struct irc_turn *turn, struct dcc_offers *offers, struct content_text text,
	struct content_text from)
{
	unsigned n = 0;

	for (;;) {
		uint32_t at = http_until(text, CTCP);

		if (at == text.length)
			return;
		text = http_text_from(text, at + 1);
		if (!http_begins(text, "dcc "))
			continue;
		if (n++ == DCC_IN_LINE) {
			irc_note(turn, CONTENT_NOTE_BAD_LINE);
			return;
		}
		struct request request = {.turn = turn, .offers = offers, .from = from};
		struct content_text rest = {text.bytes, http_until(text, CTCP)};

		rest = http_text_from(rest, 4);
		skip_blanks(&rest);
		while (rest.length && rest.bytes[rest.length - 1] == ' ')
			rest.length--;
		take_request(&request, rest);
	}
}
