// SPDX-License-Identifier: BSD-3-Clause
// FTP control connections: RFC 959, RFC 2228 (AUTH), RFC 2389 (FEAT), RFC 2428 (EPRT, EPSV). The
// decoder tells where the data connection will be.
#include <arpa/inet.h>
#include <netinet/in.h>
#include "classify/app_proto.h"
#include "classify/dialogue.h"
#include "classify/handshake/tls_record.h"
#include "pipeline/vocab/ftp_place.h"

// RFC 4217 leaves it unnamed, IANA does not: port 990 is FTP inside TLS from the first byte.
#define PORT_FTPS  990
#define DATA_TTL_S 60

static const char *const own_words[] = {"FTP", "FileZilla", "Serv-U", NULL};
static const char *const foreign_words[] = {"SMTP", "LMTP", "NNTP", NULL};
// Not IRC's USER and POP3's PASS: those are in both lists of verbs, the replies tell them apart.
static const char *const own_verbs[] = {"ABOR", "ACCT", "ADAT", "ALLO", "APPE", "CCC", "CDUP",
	"CLNT", "CWD", "EPRT", "EPSV", "FEAT", "HOST", "LANG", "LPRT", "LPSV", "MDTM", "MFMT",
	"MKD", "MLSD", "MLST", "NLST", "PASV", "PBSZ", "PORT", "PROT", "PWD", "REIN", "REST", "RMD",
	"RNFR", "RNTO", "SITE", "SMNT", "STOR", "STOU", "STRU", "SYST", "TYPE", "XCRC", "XCWD",
	"XMKD", "XPWD", "XRMD", NULL};
static const char *const shared_verbs[] = {"DELE", "HELP", "LIST", "MODE", "NOOP", "OPTS", "PASS",
	"QUIT", "RETR", "SIZE", "STAT", "USER", NULL};
static const char *const auth_ways[] = {
	"TLS", "SSL", "TLS-C", "TLS-P", "GSSAPI", "KERBEROS_V4", NULL};

// RFC 959 4.2.2: codes that SMTP and NNTP do not have in answer to these verbs.
static bool is_own_code(unsigned code)
{
	static const uint16_t codes[] = {125, 150, 212, 213, 215, 226, 227, 228, 229, 230, 232, 234,
		257, 331, 332, 350, 426};

	for (unsigned i = 0; i < sizeof(codes) / sizeof(codes[0]); i++)
		if (codes[i] == code)
			return true;
	return false;
}

static enum verify verify_greeting(struct text meta)
{
	unsigned code = text_reply_code(meta);

	if (is_own_code(code))
		return VERIFY_MORE;
	if (code != 220 && code != 120 && code != 421 && code != 530)
		return VERIFY_NO;
	if (contains_any(meta, foreign_words))
		return contains_any(meta, own_words) ? VERIFY_MORE : VERIFY_NO;
	return contains_any(meta, own_words) ? VERIFY_DPI : VERIFY_MORE;
}

// A word that only FTP has, or one that it shares with mail protocols whose replies look unlike.
static bool is_verb(struct text verb, struct text rest)
{
	if (text_is(verb, "AUTH"))
		return text_is_among(rest, auth_ways);
	return text_is_among(verb, own_verbs) || text_is_among(verb, shared_verbs);
}

// RFC 4217 4: TLS begins behind AUTH, after the server's reply.
static bool begins_tls(struct text half)
{
	return half.length > TLS_RECORD_BYTES && half.at[0] == TLS_HANDSHAKE && half.at[1] == 3;
}

// A client that is seen alone: two commands, one of which only FTP has, or AUTH with TLS behind it.
// 64 bits.
static enum verify verify_client_alone(struct text client)
{
	unsigned known = 0, own = 0;
	struct text line;

	while (text_take_line(&client, &line)) {
		struct text rest = line, verb = text_take_word(&rest);
		bool auth = text_is(verb, "AUTH");

		if (!is_verb(verb, rest) || !text_is_printable(rest))
			return VERIFY_MORE;
		if (auth && begins_tls(client))
			return VERIFY_ALONE;
		own += auth || text_is_among(verb, own_verbs);
		known++;
	}
	return known >= 2 && own ? VERIFY_ALONE : VERIFY_MORE;
}

// A server that is seen alone: a greeting, then a whole reply with a code that neither mail nor
// news has. 64 bits.
static enum verify verify_server_alone(struct text server)
{
	struct text greeting = dialogue_greeting(server);
	unsigned code = text_reply_code(server);
	struct text rest = text_from(server, greeting.length), next;

	return (code == 220 || code == 120) && text_take_line(&rest, &next) &&
			       is_coded_reply(next) && is_own_code(text_reply_code(next))
		       ? VERIFY_ALONE
		       : VERIFY_MORE;
}

// The server's greeting. Where it does not name the protocol and the server is seen alone, its next
// reply counts, too.
static enum verify verify_server(const struct probe *probe, struct text server)
{
	enum verify answer = verify_greeting(dialogue_greeting(server));

	return answer == VERIFY_MORE && probe->one_sided ? verify_server_alone(server) : answer;
}

// A command, and what the server has said to it, if that was seen.
static enum verify verify_command(
	const struct probe *probe, const struct dialogue *dialogue, struct text verb)
{
	if (!dialogue->server.length && probe->one_sided)
		return verify_client_alone(dialogue->client);
	if (dialogue->server.length < 4)
		return text_is_among(verb, own_verbs) && probe->n_data_pkts > 1 ? VERIFY_PARTIAL
										: VERIFY_MORE;
	// QUIT, HELP and NOOP are SMTP's as well: leave those to the greeting's words.
	if (text_is(verb, "QUIT") || text_is(verb, "HELP") || text_is(verb, "NOOP"))
		return verify_greeting(dialogue_greeting(dialogue->server));
	return text_reply_code(dialogue->server) < 200 ||
			       verify_greeting(dialogue_greeting(dialogue->server)) != VERIFY_NO
		       ? VERIFY_YES
		       : VERIFY_NO;
}

static enum verify verify(const struct probe *probe)
{
	struct dialogue dialogue = dialogue_of(probe, is_coded_reply);
	struct text rest, verb = dialogue_verb(dialogue.client, &rest);

	if (tls_wraps(probe))
		return tls_wrapped(probe, PORT_FTPS);
	if (dialogue.server.length >= 4 && !is_coded_reply(dialogue.server))
		return VERIFY_NO;
	if (!verb.length)
		return dialogue.server.length < 4 ? VERIFY_MORE
						  : verify_server(probe, dialogue.server);
	if (!is_verb(verb, rest) || !text_is_printable(rest))
		return VERIFY_NO;
	return verify_command(probe, &dialogue, verb);
}

enum {                // in the memo
	MEMO_PORT,    // of the data connection that was announced last; 0: there is none
	MEMO_HALF,    // who listens there
	MEMO_ASKED,   // for a size: the next 213 is one
	MEMO_PASSIVE, // how often the client has asked the server to listen, unanswered
	MEMO_OTHER,   // another's address (IPv4) that the listener has named; 0: none
};

struct decoding {
	struct decoder_state *state;
	const struct flow_ends *ends;
	const struct decoder_sink *sink;
};

// The data connection that was announced last, and what is known of it by now.
static void report(const struct decoding *decoding, bool again)
{
	const struct decoder_state *state = decoding->state;
	unsigned half = state->memo.word[MEMO_HALF] & 1;
	struct expectation expect = {
		.port = (uint16_t)state->memo.word[MEMO_PORT],
		.l4_proto = IPPROTO_TCP,
		.app = app_find("ftp-data"),
		.as = EXPECTED_FTP_DATA,
		.amends = again,
		.ttl_s = DATA_TTL_S,
		.label = state->label,
	};

	if (!expect.port)
		return;
	if (!expect.label.file[0]) // a listing
		expect.label.size = 0;
	memcpy(expect.address, decoding->ends->address[half], 16);
	memcpy(expect.peer, decoding->ends->address[!half], 16);
	decoding->sink->expect(decoding->sink->ctx, &expect);
	if (!state->memo.word[MEMO_OTHER])
		return;
	expect.claimed = true;
	memset(expect.address, 0, 10);
	memset(expect.address + 10, 0xff, 2);
	memcpy(expect.address + 12, &state->memo.word[MEMO_OTHER], 4);
	decoding->sink->expect(decoding->sink->ctx, &expect);
}

static bool is_v4(const uint8_t address[16])
{
	static const uint8_t mapped[12] = {[10] = 0xff, 0xff};

	return !memcmp(address, mapped, sizeof(mapped));
}

// A third party's address is how ports are scanned and firewalls opened through FTP (RFC 2577 3):
// most programs connect to the end that has named it instead, some obey. Of IPv6 it is left out.
static uint32_t other_of(const struct flow_ends *ends, const uint8_t address[16])
{
	uint32_t other;

	if (!is_v4(address) || !address[12] || !is_v4(ends->address[0]) ||
		!memcmp(address, ends->address[0], 16) || !memcmp(address, ends->address[1], 16))
		return 0;
	memcpy(&other, address + 12, sizeof(other));
	return other;
}

// `half` will listen at `port`, of its own address (`address` NULL), or has named that one.
static void expect(
	const struct decoding *decoding, unsigned half, const uint8_t *address, uint16_t port)
{
	struct decoder_state *state = decoding->state;

	state->memo.word[MEMO_PORT] = port;
	state->memo.word[MEMO_HALF] = half;
	state->memo.word[MEMO_OTHER] = address ? other_of(decoding->ends, address) : 0;
	memset(state->label.file, 0, sizeof(state->label.file)); // of the one before
	report(decoding, false);
}

static void expect_place(
	const struct decoding *decoding, unsigned half, const struct ftp_place *place)
{
	uint8_t address[16] = {[10] = 0xff, [11] = 0xff};

	memcpy(address + 12, place->address, 4);
	if (place->port)
		expect(decoding, half, place->named ? address : NULL, place->port);
}

static bool parse_address(struct text protocol, struct text word, uint8_t address[16])
{
	char text[INET6_ADDRSTRLEN];

	if (!word.length || word.length >= sizeof(text))
		return false;
	memcpy(text, word.at, word.length);
	text[word.length] = '\0';
	memset(address, 0, 16);
	if (text_is(protocol, "2"))
		return inet_pton(AF_INET6, text, address) == 1;
	memset(address + 10, 0xff, 2);
	return text_is(protocol, "1") && inet_pton(AF_INET, text, address + 12) == 1;
}

// "|1|132.235.1.2|6275|" (RFC 2428 2); the delimiter is the sender's choice.
static void decode_extended(const struct decoding *decoding, unsigned half, struct text rest)
{
	uint8_t delimiter, address[16];
	uint64_t port;

	if (rest.length < 5 || rest.at[0] < 33 || rest.at[0] > 126 || octets_digit(rest.at[0]))
		return;
	delimiter = rest.at[0];
	rest = text_from(rest, 1);
	struct text protocol = text_take(&rest, delimiter), host = text_take(&rest, delimiter);

	if (!text_contains_byte(rest, delimiter) ||
		!text_number(text_take(&rest, delimiter), UINT16_MAX, &port))
		return;
	if (!host.length)
		expect(decoding, half, NULL, (uint16_t)port);
	else if (parse_address(protocol, host, address))
		expect(decoding, half, address, (uint16_t)port);
}

// "150 Opening BINARY mode data connection for file (1234 bytes)": not in any RFC, and usual.
static void decode_opening(const struct decoding *decoding, struct text rest)
{
	struct transfer_label *label = &decoding->state->label;
	uint64_t size;

	while (text_contains_byte(rest, '(')) {
		text_take(&rest, '(');
		struct text inside = rest, number = text_take_word(&inside);

		if (!text_begins(inside, "byte") || !text_number(number, INT64_MAX, &size))
			continue;
		label->size = size;
		report(decoding, true);
		return;
	}
}

// RFC 3659 4: the answer to SIZE. That of MDTM has the same code, and 14 digits.
static void decode_size(const struct decoding *decoding, struct text rest)
{
	uint64_t size;

	if (decoding->state->memo.word[MEMO_ASKED] && text_number(rest, INT64_MAX, &size))
		decoding->state->label.size = size;
	decoding->state->memo.word[MEMO_ASKED] = 0;
}

// The name of a file; a listing has none.
static void decode_transfer(const struct decoding *decoding, struct text verb, struct text name)
{
	static const char *const files[] = {"RETR", "STOR", "APPE", "STOU", NULL};
	struct transfer_label *label = &decoding->state->label;

	if (!text_is_among(verb, files))
		return;
	if (!text_is(verb, "RETR"))
		label->size = 0; // of what is there already, if anything is
	transfer_text_set(label->file, sizeof(label->file), name.at, name.length);
	report(decoding, true);
}

// The server listens because the client has asked it to. Of a reply in several lines the last
// counts; where programs differ in what it names, the first reading does.
static void decode_passive(const struct decoding *decoding, unsigned code, struct text rest)
{
	uint32_t *asked = &decoding->state->memo.word[MEMO_PASSIVE];
	const struct ftp_place place = ftp_place_reply(code, rest.at, rest.length);

	if (!*asked || (!place.port && (code < 227 || code > 229)))
		return;
	--*asked;
	expect_place(decoding, HALF_S2C, &place);
}

static void decode_reply(const struct decoding *decoding, unsigned half, struct text line)
{
	unsigned code = text_reply_code(line);
	struct text rest = text_from(line, 4);

	if (line.length < 5 || line.at[3] != ' ' || half != HALF_S2C)
		return;
	if (code == 150 || code == 125)
		decode_opening(decoding, rest);
	if (code == 213)
		decode_size(decoding, rest);
	if (code == 226)
		decoding->state->label.size = 0;
	if (code / 100 == 2)
		decode_passive(decoding, code, rest);
}

static void decode_port(const struct decoding *decoding, struct ftp_place place)
{
	expect_place(decoding, HALF_C2S, &place);
}

static void decode_line(void *ctx, unsigned half, const uint8_t *bytes, uint32_t length)
{
	const struct decoding *decoding = ctx;
	struct text line = {bytes, length}, verb, rest = line;

	if (text_reply_code(line)) {
		decode_reply(decoding, half, line);
		return;
	}
	if (half != HALF_C2S)
		return;
	verb = text_take_word(&rest);
	if (text_is(verb, "PORT"))
		decode_port(decoding, ftp_place_host_port(rest.at, rest.length));
	else if (text_is(verb, "LPRT"))
		decode_port(decoding, ftp_place_long(rest.at, rest.length));
	else if (text_is(verb, "EPRT"))
		decode_extended(decoding, half, rest);
	else if (text_is(verb, "USER"))
		transfer_text_set(decoding->state->label.user, sizeof(decoding->state->label.user),
			rest.at, rest.length);
	else if (text_is(verb, "PASV") || text_is(verb, "EPSV") || text_is(verb, "LPSV"))
		decoding->state->memo.word[MEMO_PASSIVE]++;
	else if (text_is(verb, "SIZE"))
		decoding->state->memo.word[MEMO_ASKED] = 1;
	else
		decode_transfer(decoding, verb, rest);
}

static void decode(struct decoder_state *state, const struct span *span,
	const struct flow_ends *ends, const struct decoder_sink *sink)
{
	struct decoding decoding = {state, ends, sink};

	decoder_lines(state, span, decode_line, &decoding);
}

const struct app_proto app_proto_ftp = {
	.name = "ftp",
	.title = "FTP",
	.group = "file-transfer",
	.category = APP_CATEGORY_FILE,
	.verify = verify,
	.decode = decode,
	.alpns = {"ftp"},
	.tcp_ports = {21, 990},
};
