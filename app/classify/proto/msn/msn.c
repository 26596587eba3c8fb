// SPDX-License-Identifier: BSD-3-Clause
// MSN Messenger: MSNP2..MSNP21 to notification servers and switchboards (port 1863, or inside
// HTTP to a gateway), MSNFTP, and direct connections of the peer-to-peer file transfer.
// draft-movva-msn-messenger-protocol-00 and the community's description of MSNP.
//
// Commands are three letters, a transaction id and words; payload commands end with a length.
// A command is believed if the words after it have the form that it demands.
#include "classify/app_proto.h"
#include "classify/proto/msn/offers.h"
#include "classify/text.h"

#define WORDS_MAX 6

struct command {
	struct text name;
	struct text words[WORDS_MAX];
	unsigned n;
};

enum weight {
	NOT_MSN,
	WEAK,
	STRONG,
};

static struct command command_of(struct text line)
{
	struct command command = {.name = text_take(&line, ' ')};

	while (line.length && command.n < WORDS_MAX)
		command.words[command.n++] = text_take(&line, ' ');
	return command;
}

static bool has_id(const struct command *command)
{
	return command->n >= 1 && command->words[0].length <= 10 &&
	       text_is_number(command->words[0]);
}

// SIP has a BYE, too, of "sip:a@b.example".
static bool is_account(struct text word)
{
	return word.length >= 6 && !text_contains_byte(word, ':') &&
	       text_contains_byte(word, '@') && text_contains_byte(word, '.');
}

static bool is_endpoint(struct text word)
{
	struct text address = text_take(&word, ':');
	uint64_t port;

	return text_contains_byte(address, '.') && text_number(word, UINT16_MAX, &port);
}

static bool is_version(struct text word)
{
	return text_begins(word, "MSNP") && text_is_number(text_from(word, 4));
}

static bool is_status(struct text word)
{
	static const char *const states[] = {
		"NLN", "FLN", "HDN", "BSY", "IDL", "BRB", "AWY", "PHN", "LUN", NULL};

	return text_is_among(word, states);
}

// Words that say their own length, the last of the line.
static bool ends_with_length(const struct command *command)
{
	uint64_t length;

	return command->n >= 2 && text_number(command->words[command->n - 1], 1u << 20, &length);
}

// VER 1 MSNP8 CVR0; or, at the head of a file transfer, VER MSNFTP.
static bool check_ver(const struct command *c)
{
	if (c->n >= 1 && text_is(c->words[0], "MSNFTP"))
		return true;
	return has_id(c) && c->n >= 2 && is_version(c->words[1]);
}

// CVR 2 0x0409 winnt 5.1 i386 MSNMSGR 6.0 MSMSGS account; the answer has versions and addresses.
static bool check_cvr(const struct command *c)
{
	return has_id(c) && c->n >= 4 &&
	       (text_begins(c->words[1], "0x") || text_contains_byte(c->words[1], '.'));
}

// USR 5 TWN I account; USR 1 account ticket; USR 1 OK account name.
static bool check_usr(const struct command *c)
{
	static const char *const ways[] = {"TWN", "MD5", "SSO", "OK", "CTP", "SHA", NULL};

	return has_id(c) && c->n >= 3 &&
	       (is_account(c->words[1]) || text_is_among(c->words[1], ways));
}

// ANS 1 account ticket session; ANS 1 OK
static bool check_ans(const struct command *c)
{
	return has_id(c) && ((c->n >= 4 && is_account(c->words[1])) ||
				    (c->n == 2 && text_is(c->words[1], "OK")));
}

// IRO 1 1 2 account name: the n-th of m who are in the conversation.
static bool check_iro(const struct command *c)
{
	return has_id(c) && c->n >= 5 && text_is_number(c->words[1]) &&
	       text_is_number(c->words[2]) && is_account(c->words[3]);
}

static bool check_cal(const struct command *c)
{
	return has_id(c) && c->n >= 2 &&
	       (is_account(c->words[1]) || text_is(c->words[1], "RINGING"));
}

static bool check_account_first(const struct command *c) // JOI account name; BYE account
{
	return c->n >= 1 && is_account(c->words[0]);
}

// MSG 4 N 133; MSG account name 133
static bool check_msg(const struct command *c)
{
	if (!ends_with_length(c) || c->n < 3)
		return false;
	return is_account(c->words[0]) || text_is(c->words[0], "Hotmail") ||
	       (has_id(c) && c->words[1].length == 1 &&
		       text_contains_byte(
			       (struct text){(const uint8_t *)"UNADuad", 7}, c->words[1].at[0]));
}

static bool check_xfr(const struct command *c) // XFR 3 NS 1.2.3.4:1863 0 ...; XFR 15 SB
{
	if (!has_id(c) || c->n < 2)
		return false;
	return (text_is(c->words[1], "NS") || text_is(c->words[1], "SB")) &&
	       (c->n == 2 || is_endpoint(c->words[2]));
}

static bool check_rng(const struct command *c) // RNG 1175 1.2.3.4:1863 CKI ticket account name
{
	return has_id(c) && c->n >= 5 && is_endpoint(c->words[1]) && text_is(c->words[2], "CKI");
}

static bool check_status(const struct command *c) // CHG 9 NLN 0; ILN 9 NLN account; NLN NLN account
{
	return (c->n >= 2 && has_id(c) && is_status(c->words[1])) ||
	       (c->n >= 2 && is_status(c->words[0]) && is_account(c->words[1]));
}

static bool check_list(
	const struct command *c) // SYN 8 0; LST ...; ADC, ADD, REM with a list's name
{
	static const char *const lists[] = {"FL", "AL", "BL", "RL", "PL", NULL};

	return c->n >= 3 && has_id(c) && text_is_among(c->words[1], lists);
}

static bool check_payload(const struct command *c) // UUX 8 53; UBX account 53; GCF 0 1209
{
	return ends_with_length(c) && (has_id(c) || is_account(c->words[0]));
}

static const struct form {
	const char *name;
	bool (*check)(const struct command *command);
	enum weight weight;
} forms[] = {
	{"VER", check_ver, STRONG},
	{"CVR", check_cvr, STRONG},
	{"USR", check_usr, STRONG},
	{"ANS", check_ans, STRONG},
	{"IRO", check_iro, STRONG},
	{"CAL", check_cal, STRONG},
	{"JOI", check_account_first, STRONG},
	{"BYE", check_account_first, STRONG},
	{"FLN", check_account_first, STRONG},
	{"MSG", check_msg, STRONG},
	{"XFR", check_xfr, STRONG},
	{"RNG", check_rng, STRONG},
	{"CHG", check_status, STRONG},
	{"ILN", check_status, STRONG},
	{"NLN", check_status, STRONG},
	{"ADC", check_list, STRONG},
	{"ADD", check_list, STRONG},
	{"REM", check_list, STRONG},
	{"UUX", check_payload, WEAK},
	{"UBX", check_payload, WEAK},
	{"GCF", check_payload, WEAK},
	{"SYN", has_id, WEAK},
	{"CHL", has_id, WEAK},
	{"QRY", has_id, WEAK},
	{"BLP", has_id, WEAK},
	{"PRP", has_id, WEAK},
	{"LSG", has_id, WEAK},
	{"ACK", has_id, WEAK},
	{"NAK", has_id, WEAK},
	{"INF", has_id, WEAK},
	{"URL", has_id, WEAK},
	{"QNG", has_id, WEAK},
};

static enum weight weigh(struct text line)
{
	struct command command = command_of(line);

	if (!text_is_printable(line))
		return NOT_MSN;
	if (!command.n) // PNG and OUT stand alone
		return text_is(command.name, "PNG") || text_is(command.name, "OUT") ? WEAK
										    : NOT_MSN;
	for (unsigned i = 0; i < sizeof(forms) / sizeof(forms[0]); i++)
		if (text_is(command.name, forms[i].name))
			return forms[i].check(&command) ? forms[i].weight : NOT_MSN;
	return NOT_MSN;
}

// A direct connection begins with length 4 and "foo\0", then framed messages of 48 bytes and more.
static bool is_direct(struct text half)
{
	return half.length >= 8 && !memcmp(half.at, "\4\0\0\0foo\0", 8);
}

// The first line of a half; a conversation of two weak ones (PNG, QNG 45) is good, too.
static enum verify verify(const struct probe *probe)
{
	unsigned weak = 0, refused = 0;

	for (unsigned half = 0; half < 2; half++) {
		struct text rest = text_of(probe, half), line;

		if (is_direct(rest))
			return VERIFY_YES;
		if (!text_take_line(&rest, &line))
			continue;
		switch (weigh(line)) {
		case STRONG: return VERIFY_YES;
		case WEAK: weak++; break;
		case NOT_MSN: refused++; break;
		}
	}
	if (refused)
		return VERIFY_NO;
	return weak == 2 ? VERIFY_DPI : VERIFY_MORE;
}

const struct app_proto app_proto_msn = {
	.name = "msn",
	.title = "MSN Messenger",
	.group = "chat",
	.category = APP_CATEGORY_IM,
	.verify = verify,
	.decode = msn_offers_decode,
	.tcp_ports = {1863},
};
