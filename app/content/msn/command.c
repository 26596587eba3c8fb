// SPDX-License-Identifier: BSD-3-Clause
// Which commands have a payload, who takes part in a conversation, and what a payload's head says.
#include "content/msn/command.h"

#include "content/msn/fields.h"

enum whose {
	NOBODY,
	FIRST,  // JOI account nick
	SECOND, // CAL id account
	FOURTH, // IRO id n m account nick
};

// `least`: words with which its last one is the length of a payload; 0: it has none.
static const struct form {
	const char *name;
	uint8_t least, sections, names;
	bool always; // it has a length
} forms[] = {
	{"ADL", 2, 0, NOBODY, false},
	{"ANS", 0, 0, NOBODY, false},
	{"BYE", 0, 0, FIRST, false},
	{"CAL", 0, 0, SECOND, false},
	{"CHG", 0, 0, NOBODY, false},
	{"CHL", 0, 0, NOBODY, false},
	{"CVR", 0, 0, NOBODY, false},
	{"DEL", 2, 0, NOBODY, false},
	{"FLN", 0, 0, NOBODY, false},
	{"FQY", 2, 0, NOBODY, false},
	{"GCF", 2, 0, NOBODY, false},
	{"ILN", 0, 0, NOBODY, false},
	{"IPG", 1, 0, NOBODY, true},
	{"IRO", 0, 0, FOURTH, false},
	{"JOI", 0, 0, FIRST, false},
	{"MSG", 2, 1, NOBODY, true},
	{"NFY", 2, 0, NOBODY, true},
	{"NLN", 0, 0, NOBODY, false},
	{"NOT", 1, 0, NOBODY, true},
	{"OUT", 0, 0, NOBODY, false},
	{"PAG", 2, 0, NOBODY, false},
	{"PNG", 0, 0, NOBODY, false},
	{"PUT", 2, 0, NOBODY, false},
	{"QNG", 0, 0, NOBODY, false},
	{"QRY", 3, 0, NOBODY, false},
	{"RML", 2, 0, NOBODY, false},
	{"RNG", 0, 0, NOBODY, false},
	{"SDC", 3, 0, NOBODY, false},
	{"SDG", 2, 3, NOBODY, false},
	{"SYN", 0, 0, NOBODY, false},
	{"UBM", 3, 1, NOBODY, true},
	{"UBN", 3, 0, NOBODY, true},
	{"UBX", 2, 0, NOBODY, true},
	{"USR", 0, 0, NOBODY, false},
	{"UUM", 3, 1, NOBODY, false},
	{"UUN", 3, 0, NOBODY, false},
	{"UUX", 2, 0, NOBODY, false},
	{"VER", 0, 0, NOBODY, false},
	{"XFR", 0, 0, NOBODY, false},
};
// An error: its number, the transaction, and the length of what says more.
static const struct form error = {"", 2, 0, NOBODY, false};
static const struct form other = {"", 0, 0, NOBODY, false};

static bool is_name(struct content_text name)
{
	for (uint32_t i = 0; i < name.length; i++)
		if (!octets_upper(name.bytes[i]) && !octets_digit(name.bytes[i]))
			return false;
	return name.length == 3;
}

// *known: it is one of the list.
static const struct form *form_of(struct content_text name, bool *known)
{
	*known = true;
	for (unsigned i = 0; i < sizeof(forms) / sizeof(forms[0]); i++)
		if (octets_begin(name.bytes, name.length, forms[i].name))
			return &forms[i];
	*known = false;
	return octets_digit(name.bytes[0]) ? &error : &other;
}

void msn_command_read(struct content_text line, struct msn_command *command)
{
	uint64_t length = 0;

	*command = (struct msn_command){.name = msn_take(&line, ' ')};
	command->is = is_name(command->name);
	if (!command->is)
		return;
	const struct form *form = form_of(command->name, &command->known);

	for (struct content_text word = msn_word(&line); word.length; word = msn_word(&line)) {
		if (command->n < MSN_WORDS)
			command->words[command->n] = word;
		command->last = word;
		command->n++;
	}
	command->names = form->names != NOBODY;
	if (!form->least)
		return;
	bool has = command->n >= form->least && http_number(command->last, &length);

	command->bad_length = length > MSN_PAYLOAD_BYTES || (form->always && !has);
	if (!has || command->bad_length)
		return;
	command->payload = (uint32_t)length;
	command->sections = form->sections;
}

static struct content_text word_at(const struct msn_command *command, unsigned at)
{
	return at < command->n && at < MSN_WORDS ? command->words[at]
						 : (struct content_text){NULL, 0};
}

static struct content_text own_of(const struct msn_state *state)
{
	return (struct content_text){state->own, state->own_length};
}

// Who is logged in: the first word that is an account.
static void set_own(const struct msn_turn *to, const struct msn_command *command)
{
	struct msn_state *state = to->state;

	for (unsigned i = 1; i < command->n && i < MSN_WORDS; i++) {
		struct content_text account = msn_account(command->words[i]);

		if (!msn_is_account(account) || account.length > sizeof(state->own))
			continue;
		memcpy(state->own, account.bytes, account.length);
		state->own_length = (uint8_t)account.length;
		return;
	}
}

// Where an account stands among those who take part; their length if it does not.
static uint32_t place_of(const struct msn_people *people, struct content_text account)
{
	struct content_text rest = {people->parties, people->length};

	while (rest.length) {
		const uint8_t *at = rest.bytes;

		if (http_same(msn_take(&rest, ','), account))
			return (uint32_t)(at - people->parties);
	}
	return people->length;
}

static void join(const struct msn_turn *to, struct content_text account)
{
	struct msn_people *people = to->state->people;
	uint32_t comma = people->length > 0;

	if (!msn_is_account(account) || http_same(account, own_of(to->state)) ||
		http_until(account, ',') < account.length ||
		place_of(people, account) < people->length)
		return;
	if (people->length + comma + account.length > MSN_PARTIES_BYTES) {
		msn_note(to, CONTENT_NOTE_HEAD_TOO_LONG, to->half->begin64);
		return;
	}
	if (comma)
		people->parties[people->length++] = ',';
	memcpy(people->parties + people->length, account.bytes, account.length);
	people->length += (uint16_t)account.length;
}

static void leave(struct msn_people *people, struct content_text account)
{
	uint32_t at = place_of(people, account), end = at + account.length + 1;

	if (at == people->length)
		return;
	if (end > people->length) { // the last one: the comma before it goes, too
		people->length = (uint16_t)(at ? at - 1 : 0);
		return;
	}
	memmove(people->parties + at, people->parties + end, people->length - end);
	people->length -= (uint16_t)(end - at);
}

static void take_party(const struct msn_turn *to, const struct msn_command *command)
{
	bool known;
	const struct form *form = form_of(command->name, &known);
	unsigned at = form->names == FIRST ? 0 : form->names == SECOND ? 1 : 3;
	struct content_text account = msn_account(word_at(command, at));

	// of one that was joined it is not sure who is the client
	if (!to->state->streams[to->side].joined &&
		(form->names == SECOND) != (to->side == HALF_C2S))
		return;
	if (http_is(command->name, "bye"))
		leave(to->state->people, account);
	else
		join(to, account);
}

void msn_command_obey(const struct msn_turn *to, const struct msn_command *command)
{
	if (command->names)
		take_party(to, command);
	else if (http_is(command->name, "ver") && http_is(word_at(command, 0), "msnftp"))
		to->state->ftp |= !to->half->begin64;
	else if (http_is(command->name, "usr") ||
		 (http_is(command->name, "ans") && to->side == HALF_C2S))
		set_own(to, command);
}

static struct content_text line_of(const struct msn_half *half)
{
	return (struct content_text){half->kept, half->line};
}

// "1:a@b.example;epid={...}" of MSNP21.
static struct content_text routed(struct content_text value)
{
	if (value.length > 1 && octets_digit(value.bytes[0])) {
		uint32_t colon = http_until(value, ':');

		value = http_text_from(value, colon < value.length ? colon + 1 : 0);
	}
	return msn_account(value);
}

// The client's words begin with the number of a transaction, those of others with their account.
static bool is_by_server(const struct msn_command *command)
{
	uint64_t number;

	return !http_number(word_at(command, 0), &number);
}

struct msn_parties msn_parties_of(const struct msn_turn *to)
{
	const struct msn_people *people = to->state->people;
	struct msn_parties parties = {0};
	struct msn_command command;

	msn_command_read(line_of(to->half), &command);
	if (http_is(command.name, "sdg")) {
		struct content_text head = {to->half->kept + to->half->line, to->half->head};

		parties.from = routed(msn_head_field(head, "from"));
		parties.to = routed(msn_head_field(head, "to"));
	} else if (is_by_server(&command)) {
		parties.from = msn_account(word_at(&command, 0));
		parties.to = own_of(to->state);
	} else {
		parties.from = own_of(to->state);
		if (http_is(command.name, "uum"))
			parties.to = msn_account(word_at(&command, 1));
		else if (people)
			parties.to = (struct content_text){people->parties, people->length};
		parties.to_is_list = http_until(parties.to, ',') < parties.to.length;
	}
	if (parties.from.length > CONTENT_PARTY_BYTES)
		parties.from.length = CONTENT_PARTY_BYTES;
	if (!parties.to_is_list && parties.to.length > CONTENT_PARTY_BYTES)
		parties.to.length = CONTENT_PARTY_BYTES;
	return parties;
}

struct content_text msn_head_field(struct content_text head, const char *lower)
{
	struct content_text name, value;

	while (head.length)
		if (msn_field(msn_line(&head), &name, &value) && http_is(name, lower))
			return value;
	return (struct content_text){NULL, 0};
}

static enum msn_mime mime_by(struct content_text type)
{
	if (http_begins(type, "text/plain"))
		return MSN_MIME_TEXT;
	if (http_begins(type, "text/x-msmsgsinvite"))
		return MSN_MIME_INVITE;
	return http_begins(type, "application/x-msnmsgrp2p") ? MSN_MIME_P2P : MSN_MIME_OTHER;
}

// A chunk behind the first has no type: it is text, as other things are not sent so.
enum msn_mime msn_mime_of(const struct msn_turn *to, struct content_text head)
{
	enum msn_mime mime = MSN_MIME_OTHER;
	struct content_text rest = head, name, value, line;
	unsigned types = 0;

	while (rest.length) {
		line = msn_line(&rest);
		if (line.length && http_is_blank(line.bytes[0]))
			msn_note(to, CONTENT_NOTE_FOLDED_HEADER, to->half->begin64);
		if (!msn_field(line, &name, &value) || !http_is(name, "content-type"))
			continue;
		if (types++ && mime_by(value) != mime) // some take the first, some the last
			msn_note(to, CONTENT_NOTE_BAD_LINE, to->half->begin64);
		if (mime == MSN_MIME_OTHER)
			mime = mime_by(value);
	}
	if (!types && msn_head_field(head, "chunk").length &&
		msn_head_field(head, "message-id").length)
		return MSN_MIME_TEXT;
	return mime;
}
